/* copy.c - boxes of elements in memory: their layout, and copies between layouts. */
#include "dist/dist.h"

wf__box wf__block_of(const wf_array *a, int rank)
{
    wf__box block = { { 0 }, { 0 } };
    wf_dist_range(&a->distributed->dist, rank, block.lo, block.hi);
    return block;
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

wf__elements wf__elements_of(const wf_array *a) { return (wf__elements){ (uintptr_t)a->base, a->stride }; }

wf__elements wf__elements_shifted(wf__elements e, const int64_t *shift, int rank, size_t size)
{
    for (int d = 0; d < rank; ++d)
        e.base -= (uintptr_t)(shift[d] * e.stride[d]) * size;
    return e;
}

wf__elements wf__elements_packed(char *memory, const wf__box *box, int rank, size_t size, int64_t *stride)
{
    const int64_t origin = wf__box_strides(box, rank, stride);
    return (wf__elements){ (uintptr_t)memory + (uintptr_t)origin * size, stride };
}
