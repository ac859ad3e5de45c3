/* box.h - boxes of indices, of points or of elements: tests and sets of them. */
#ifndef WEFT_PLAN_BOX_H
#define WEFT_PLAN_BOX_H
#include "base/base.h"
#include "weft/dist.h"

/* The indices lo[d] <= i < hi[d] of each axis. The box is empty if lo[d] >= hi[d] along an axis. */
typedef struct wf__box {
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK];
} wf__box;

static inline int64_t wf__least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t wf__greatest(int64_t a, int64_t b) { return a > b ? a : b; }

/* True if ranks divide the axis: it has several blocks, some of which may be empty. */
static inline bool wf__dist_cuts(const wf_dist *dist, int axis)
{
    return dist->grid[axis] > 1 && dist->shape.dim[axis] > 1;
}

static inline bool wf__box_is_empty(const wf__box *box, int rank)
{
    for (int d = 0; d < rank; ++d)
        if (box->lo[d] >= box->hi[d])
            return true;
    return false;
}

static inline size_t wf__box_elements(const wf__box *box, int rank)
{
    size_t n = 1;
    if (wf__box_is_empty(box, rank))
        return 0;
    for (int d = 0; d < rank; ++d)
        n *= (size_t)(box->hi[d] - box->lo[d]);
    return n;
}

/* True for an empty `inner`. */
static inline bool wf__box_within(const wf__box *inner, const wf__box *outer, int rank)
{
    bool within = true;
    for (int d = 0; d < rank; ++d)
        within = within && inner->lo[d] >= outer->lo[d] && inner->hi[d] <= outer->hi[d];
    return within || wf__box_is_empty(inner, rank);
}

static inline wf__box wf__box_meet(const wf__box *a, const wf__box *b, int rank)
{
    wf__box both = *a;
    for (int d = 0; d < rank; ++d) {
        both.lo[d] = wf__greatest(a->lo[d], b->lo[d]);
        both.hi[d] = wf__least(a->hi[d], b->hi[d]);
    }
    return both;
}

/* Returns the smallest box around both; an empty box has no part in it. */
static inline wf__box wf__box_hull(const wf__box *a, const wf__box *b, int rank)
{
    if (wf__box_is_empty(b, rank))
        return *a;
    if (wf__box_is_empty(a, rank))
        return *b;
    wf__box hull = *a;
    for (int d = 0; d < rank; ++d) {
        hull.lo[d] = wf__least(a->lo[d], b->lo[d]);
        hull.hi[d] = wf__greatest(a->hi[d], b->hi[d]);
    }
    return hull;
}
#endif
