/* needs.h - sets of elements as a few boxes, and what each rank needs of a distributed array as such sets. */
#ifndef WEFT_PLAN_NEEDS_H
#define WEFT_PLAN_NEEDS_H
#include "plan/box.h"
#include <stdatomic.h>

/* ---- sets of elements, while a plan is made ---- */
enum { WF__BOXES_ROOM = 32, WF__MOST_BOXES = 16 };
typedef struct wf__boxes { /* boxes that may overlap */
    uint32_t n;
    wf__box box[WF__BOXES_ROOM];
} wf__boxes;
void wf__boxes_add(wf__boxes *set, const wf__box *box, int rank);
/* Returns the smallest box around the set; an empty box of zeros for an empty set. */
wf__box wf__boxes_hull(const wf__boxes *set, int rank);
/* Cuts the set into boxes that do not overlap. These depend on its elements alone, not on the boxes that were added in any
 * order. A set of more than WF__MOST_BOXES becomes the box around it. */
void wf__boxes_cut(wf__boxes *set, int rank);

/* ---- what ranks need of an array ---- */
typedef struct wf__needs { /* for each rank, a set of boxes that do not overlap */
    atomic_int refs;
    int ranks, rank; /* rank: of the array */
    uint32_t n, cap;
    wf__box *box; /* [n] */
    struct wf__need {
        uint32_t first, count;
    } of_rank[];
} wf__needs;
wf__needs *wf__needs_new(int ranks, int rank); /* nothing is needed; NULL = out of memory */
wf__needs *wf__needs_retain(wf__needs *needs);
void wf__needs_release(wf__needs *needs); /* NULL is allowed */
/* Sets what one rank needs to what wf__boxes_cut has left, once for each rank. False = out of memory. */
bool wf__needs_set(wf__needs *needs, int of, const wf__boxes *set);
static inline const wf__box *wf__needs_of(const wf__needs *needs, int of, uint32_t *count)
{
    *count = needs->of_rank[of].count;
    return *count ? needs->box + needs->of_rank[of].first : NULL;
}
/* Returns the smallest box around what a rank needs; an empty box if it needs nothing. */
wf__box wf__needs_hull(const wf__needs *needs, int of);
bool wf__needs_equal(const wf__needs *a, const wf__needs *b);
/* True if each rank needs no other elements than in `of`, needs of the same array. */
bool wf__needs_within(const wf__needs *needs, const wf__needs *of);
#endif
