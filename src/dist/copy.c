/* copy.c - boxes of elements: their sets, and copies between layouts. */
#include "dist/dist.h"

bool wf__box_is_empty(const wf__box *box, int rank)
{
    for (int d = 0; d < rank; ++d)
        if (box->lo[d] >= box->hi[d])
            return true;
    return false;
}

wf__box wf__box_meet(const wf__box *a, const wf__box *b, int rank)
{
    wf__box both = *a;
    for (int d = 0; d < rank; ++d) {
        both.lo[d] = a->lo[d] > b->lo[d] ? a->lo[d] : b->lo[d];
        both.hi[d] = a->hi[d] < b->hi[d] ? a->hi[d] : b->hi[d];
    }
    return both;
}

wf__box wf__box_hull(const wf__box *a, const wf__box *b, int rank)
{
    if (wf__box_is_empty(b, rank))
        return *a;
    if (wf__box_is_empty(a, rank))
        return *b;
    wf__box hull = *a;
    for (int d = 0; d < rank; ++d) {
        hull.lo[d] = a->lo[d] < b->lo[d] ? a->lo[d] : b->lo[d];
        hull.hi[d] = a->hi[d] > b->hi[d] ? a->hi[d] : b->hi[d];
    }
    return hull;
}

bool wf__box_within(const wf__box *inner, const wf__box *outer, int rank)
{
    bool within = true;
    for (int d = 0; d < rank; ++d)
        within = within && inner->lo[d] >= outer->lo[d] && inner->hi[d] <= outer->hi[d];
    return within || wf__box_is_empty(inner, rank);
}

size_t wf__box_elements(const wf__box *box, int rank)
{
    size_t n = 1;
    if (wf__box_is_empty(box, rank))
        return 0;
    for (int d = 0; d < rank; ++d)
        n *= (size_t)(box->hi[d] - box->lo[d]);
    return n;
}

int64_t wf__box_strides(const wf__box *box, int rank, int64_t *stride)
{
    int64_t step = 1, origin = 0;
    for (int d = rank - 1; d >= 0; --d) {
        int64_t n = box->hi[d] - box->lo[d];
        stride[d] = step;
        origin -= box->lo[d] * step;
        step *= n > 0 ? n : 1;
    }
    return origin;
}

void wf__box_copy(const wf__box *box, int rank, size_t size, wf__elements from, wf__elements to)
{
    int64_t index[WF_MAX_RANK], last = rank - 1;
    if (wf__box_is_empty(box, rank))
        return;
    memcpy(index, box->lo, sizeof index);
    bool rows = rank > 0 && from.stride[last] == 1 && to.stride[last] == 1;
    size_t run = rows ? (size_t)(box->hi[last] - box->lo[last]) * size : size;
    for (int d = 0; d >= 0;) {
        uintptr_t source = from.base, target = to.base;
        for (int k = 0; k < rank; ++k) {
            source += (uintptr_t)(index[k] * from.stride[k]) * size;
            target += (uintptr_t)(index[k] * to.stride[k]) * size;
        }
        memcpy((void *)target, (const void *)source, run);
        for (d = rank - 1 - rows; d >= 0 && ++index[d] >= box->hi[d]; --d)
            index[d] = box->lo[d];
    }
}
