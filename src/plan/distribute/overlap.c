/* overlap.c - the points of a stage that touch no elements of distributed arrays but those of this rank's blocks. The rank
 * may run them while it waits for elements of other ranks. A box of such points grows from the middle of the rank's points,
 * along one axis after the other. Rows along the lanes stay whole, unless they are all that there is, since boxes of few
 * lanes at the ends of many rows would take longer than the messages.
 */
#include "plan/distribute/distribute.h"

typedef struct growing {
    wf__planning *p;
    const wf__stage *stage;
    const uint8_t *live;
    wf__range *range;
} growing;

/* True for an object of which ranks fetch elements, or an image of one. */
static bool is_fetched(const growing *g, uint32_t object)
{
    return wf__is_distributed(g->p, wf__of_image(g->p, object, NULL));
}

/* True if these elements of an object are all in this rank's block. */
static bool has_elements(const growing *g, uint32_t object, wf__box elements)
{
    wf__box block = { { 0 }, { 0 } };
    object = wf__of_image(g->p, object, &elements);
    wf_dist_range(g->p->bind[object].dist, g->p->rec->group->rank, block.lo, block.hi);
    return wf__box_within(&elements, &block, g->p->bind[object].rank);
}

/* Sets *inside to whether the points touch elements of this rank's blocks alone. Returns false if the plan has failed. */
static bool find_inside(const growing *g, const wf__box *points, bool *inside)
{
    const wf__ir *ir = &g->stage->recorded;
    *inside = true;
    if (!wf__find_ranges(g->p, g->stage, points, g->range))
        return false;
    for (wf__ref r = 1; r < ir->n && *inside; ++r) {
        const wf__node *n = &ir->node[r];
        wf__box elements;
        if (!g->live[r] || (n->op != WF__LOAD && n->op != WF__STORE) || !is_fetched(g, ir->slot[n->a].object))
            continue;
        if (n->op == WF__STORE) {
            const wf__places places = wf__places_of_store(g->p, g->stage, n);
            wf__elements_stored(&places, points, &g->p->all[ir->slot[n->a].object], &elements);
        } else if (!wf__read_of_points(g->p, g->stage, points, g->range, r, &elements))
            return false;
        *inside = has_elements(g, ir->slot[n->a].object, elements);
    }
    return true;
}

/* Moves one end of the box from where it is as far towards `to` as the points stay inside. end: &box->lo[axis] or
 * &box->hi[axis]. */
static bool grow(const growing *g, wf__box *box, int64_t *end, int64_t to)
{
    int64_t good = *end, bad = to + (to < good ? -1 : 1);
    bool inside;
    *end = to; /* most ends have no neighbour */
    while (find_inside(g, box, &inside)) {
        *(inside ? &good : &bad) = *end;
        if (good == to || good + 1 == bad || good - 1 == bad) {
            *end = good;
            return true;
        }
        *end = good + (bad - good) / 2;
    }
    return false;
}

/* True if the bits of the results depend neither on the order of points nor on the boxes that these are cut into. */
static bool is_map(const wf__stage *stage)
{
    const wf__ir *ir = &stage->recorded;
    bool is = !stage->gather && !ir->red_n && !stage->copies.n && !stage->promises.updates &&
              !stage->partition.one_box_per_block && !stage->partition.block_param && !stage->division.tallies &&
              !stage->division.joins_copies;
    for (wf__ref r = 1; r < ir->n && is; ++r)
        is = !wf__op_is_store(ir->node[r].op) || ir->node[r].op == WF__STORE;
    return is;
}

bool wf__find_overlap(wf__planning *p, wf__stage *stage, const wf__box *points, const uint8_t *live, wf__range *range)
{
    const growing g = { p, stage, live, range };
    const int lane = stage->lowered.rank - 1;
    wf__box *out = &stage->division.interior, inner;
    bool inside;
    if (!points || !is_map(stage))
        return true;
    inner = *points;
    for (int k = 0; k <= lane; ++k) {
        const int axis = stage->division.first[k];
        if (axis < 0 || (k == lane && lane > 0))
            continue;
        inner.lo[axis] += (inner.hi[axis] - inner.lo[axis]) / 2;
        inner.hi[axis] = inner.lo[axis] + 1;
    }
    if (!find_inside(&g, &inner, &inside))
        return false;
    if (!inside)
        return true;
    for (int k = 0; k <= lane; ++k) {
        const int axis = stage->division.first[k];
        if (axis >= 0 && (k < lane || lane == 0) &&
            (!grow(&g, &inner, &inner.lo[axis], points->lo[axis]) ||
             !grow(&g, &inner, &inner.hi[axis], points->hi[axis])))
            return false;
    }
    wf__points_to_loops(stage, &inner, true, out);
    const wf__box *window = &stage->division.window;
    const double part = (double)wf__box_elements(out, lane + 1) / (double)wf__box_elements(window, lane + 1);
    if (part * (double)stage->partition.work < WF__OVERLAPPED_WORK)
        memset(out, 0, sizeof *out);
    return true;
}
