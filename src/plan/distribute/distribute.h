/* distribute.h - recordings whose arrays are distributed over ranks: which points each rank runs, and which elements it
 * needs.
 *
 * Each rank runs the points whose results it needs: those of its blocks of the arrays that are written, and of the
 * temporary arrays that later stages read (regions.c). So ranks exchange elements before the first stage alone, but for
 * gathers, stages in which they ask each other for elements (gathers.c), and join reductions. Points of the first stages
 * may run while these elements are on their way (overlap.c). Before the regions are found, cuts.c finds the axes of a stage
 * that are divided at all, for the choice of loops.
 */
#ifndef WEFT_PLAN_DISTRIBUTE_H
#define WEFT_PLAN_DISTRIBUTE_H
#include "ir/analyse/ranges.h"
#include "plan/passes.h"

/* Sets cut[k] for the axes of an object as in wf__temp, and *grid. Returns false if no axis is cut. */
bool wf__object_cut(const wf__planning *p, uint32_t object, uint8_t cut[WF_MAX_RANK], uint32_t *grid);
/* cuts.c: notes the axes of stage s along which ranks divide its points. except: [nodes] loads that do not count; NULL = all
 * do. False = out of memory. */
bool wf__find_cuts(wf__planning *p, uint32_t s, const uint8_t *except);
bool wf__is_written(const wf__plan *plan, uint32_t object); /* regions.c: true if a stage writes the object */
/* True if each rank has a block of the object, an array of the recording. */
static inline bool wf__is_distributed(const wf__planning *p, uint32_t object)
{
    return object < p->plan->objects && p->bind[object].dist;
}
/* True if regions of the object matter: it is distributed, or a temporary of which ranks may have parts. */
static inline bool wf__has_regions(const wf__planning *p, uint32_t object)
{
    return object >= p->plan->objects ? !p->plan->temp[object - p->plan->objects].tally : wf__is_distributed(p, object);
}
/* Fails because of what node r of the stage does to its array. Returns false. */
bool wf__fail_store(wf__planning *p, const wf__stage *stage, wf__ref r, const char *why);

/* Returns the object itself, or that of which it is an image; then moves the box of elements to those of that one. */
static inline uint32_t wf__of_image(const wf__planning *p, uint32_t object, wf__box *box)
{
    const wf__temp *temp = object < p->plan->objects ? NULL : &p->plan->temp[object - p->plan->objects];
    if (!temp || !temp->image_of)
        return object;
    for (int k = 0; box && k < temp->shape.rank; ++k)
        if (temp->image_axes >> k & 1) {
            box->lo[k] -= temp->shape.dim[k] / 3;
            box->hi[k] -= temp->shape.dim[k] / 3;
        }
    return temp->image_of - 1;
}

/* Sets the box of points in loops for one along the axes of the space, or an empty one without `any`. */
static inline void wf__points_to_loops(const wf__stage *stage, const wf__box *points, bool any, wf__box *loops)
{
    memset(loops, 0, sizeof *loops);
    for (int k = 0; k < stage->lowered.rank && any; ++k) {
        const int axis = stage->division.first[k];
        loops->lo[k] = axis < 0 ? 0 : points->lo[axis] * stage->division.inner[k];
        loops->hi[k] = axis < 0 ? 1 : points->hi[axis] * stage->division.inner[k];
    }
}

/* ---- indices.c ---- */
static inline wf__range wf__range_of_points(const wf__box *b, int axis)
{
    return (wf__range){ b->lo[axis], b->hi[axis] - 1, true };
}
/* Sets the bounds of all integers of a stage over a box of its points. range: [nodes]. False = out of memory. */
bool wf__find_ranges(const wf__planning *p, const wf__stage *stage, const wf__box *points, wf__range *range);

/* ---- reads.c ---- */
/* Sets the elements of its object that load r of these points touches; of an image, its own. range: the bounds of integers
 * over the points (wf__find_ranges). Returns false, with the plan's error set, if an index along a divided axis has no
 * bounds. */
bool wf__read_of_points(wf__planning *p, const wf__stage *stage, const wf__box *points, const wf__range *range,
                        wf__ref r, wf__box *out);
extern const char wf__advice_unknown[]; /* the end of messages about indices that ranks do not know */

/* ---- overlap.c ---- */
/* Sets the points of a stage that this rank may run while elements of other ranks are on their way (wf__division).
 * points: those that it runs; NULL = none. live: [nodes] the nodes that its effects need. range: [nodes] scratch.
 * False = the plan has failed. */
bool wf__find_overlap(wf__planning *p, wf__stage *stage, const wf__box *points, const uint8_t *live, wf__range *range);

/* ---- gathers.c ---- */
/* Returns why load r, at an index without bounds, is no gather; NULL = it is one. */
const char *wf__why_not_gathered(const wf__planning *p, const wf__stage *stage, wf__ref r);
/* Lets the elements of stage s, a gather, take over the memory of its positions, where these have the same place and size, and
 * no later stage uses them. */
void wf__gather_in_place(wf__plan *plan, uint32_t s);
/* Gives a new stage over the points of another one its views. False = out of memory. */
bool wf__share_views(wf__stage *stage, const wf__stage *with);
/* The elements that a rank gives to the others. */
wf__box wf__gathered_block(const wf__gathered *g, int rank);
/* Returns the blocks of an object that ranks divide. NULL = out of memory. */
wf__gathered *wf__gathered_new(const wf__planning *p, uint32_t from);
/* The dtype of positions in an array. */
unsigned wf__position_dtype(const wf__bind *b);

/* ---- ordinary.c ---- */
/* Makes accumulations into arrays that each rank has a stage of their own, before or after what else stage s does, unless both
 * need what the other one writes. False = failure. */
bool wf__part_tallies(wf__planning *p, uint32_t s);

/* ---- accumulations.c ---- */
/* True if each point of the stage runs on the rank that has the element which node n joins, an accumulation. */
bool wf__joins_own(const wf__planning *p, const wf__stage *stage, const wf__node *n);

/* ---- stores.c ---- */
enum { WF__ANYWHERE = -2 };
typedef struct wf__places {      /* where the points of a stage store, along each axis of the array */
    int axis[WF_MAX_RANK];       /* axis of the space that the index goes along; -1 = none; WF__ANYWHERE = any index */
    int64_t offset[WF_MAX_RANK]; /* index minus that of the point, or the index */
    int unknown;                 /* an axis that ranks divide, and where the index may be any; -1 = none */
} wf__places;
wf__places wf__places_of_store(const wf__planning *p, const wf__stage *stage, const wf__node *n);
/* Sets the points that may store elements of a box. False = there are none. */
bool wf__points_that_store(const wf__stage *stage, const wf__places *at, const wf__box *elements, int rank,
                           wf__box *points);
/* Sets the elements of array b that the points may store. */
void wf__elements_stored(const wf__places *at, const wf__box *points, const wf__bind *b, wf__box *elements);

/* ---- shares.c ---- */
/* Sets the points that are a rank's own: those whose results it gives to a reduction that ranks join, those that
 * accumulate, or those that it scans. */
void wf__find_share(const wf__planning *p, const wf__stage *stage, int rank, wf__box *out);
/* Widens points to whole boxes and groups of lanes where these fix the order of joins. */
void wf__widen_to_units(const wf__stage *stage, wf__box *points);

/* ---- scans.c ---- */
/* True if ranks divide the axis of a stage that scans, so that they may pass carries on. */
bool wf__divides_scan(const wf__stage *stage);
/* Sets the points that a rank scans. need: the elements of the result that it needs; NULL = none. Returns false if they are
 * not among the points, which happens where ranks pass carries on. */
bool wf__scan_points(const wf__planning *p, const wf__stage *stage, int rank, const wf__box *need, wf__box *points);
/* Finds the ranks from which and to which this rank passes carries. */
void wf__scan_neighbours(const wf__planning *p, wf__stage *stage);

/* ---- tallies.c: arrays that each rank has, and that ranks accumulate into ---- */
/* True if node n accumulates into such an array. */
bool wf__is_tally(const wf__planning *p, const wf__ir *ir, const wf__node *n);
/* Finds the tallies of the stages whose points ranks divide. */
bool wf__find_tallies(wf__planning *p);

/* True if the stage reduces axes along which ranks divide its points: they join the results. */
static inline bool wf__reduces_divided(const wf__stage *stage)
{
    return stage->recorded.red_n &&
           (stage->reduce.axes ? stage->reduce.axes & stage->division.axes : stage->division.axes);
}
#endif
