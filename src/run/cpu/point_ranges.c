/* point_ranges.c - see point_ranges.h. */
#include "run/cpu/point_ranges.h"
#include "run/cpu/boxes.h"

static wf__point_array array_of(const wf__run *run, const wf__stage *stage, uint32_t object)
{
    uint32_t s = 0;
    while (stage->mem[s].object != object)
        ++s;
    const size_t size = wf__size(stage->lowered.slot[s].dtype);
    return (wf__point_array){ .base = (char *)((uintptr_t)run->base[object] + (uintptr_t)stage->mem[s].offset * size),
                              .stride = stage->mem[s].stride,
                              .size = size };
}

wf__points wf__points_of(const wf__run *run, const wf__stage *stage)
{
    wf__points p = { .stage = stage,
                     .at = array_of(run, stage, stage->gather->at),
                     .value = array_of(run, stage, stage->gather->to),
                     .lo = wf__own_begin(stage),
                     .hi = wf__own_end(stage),
                     .n = 1 };
    for (int d = 0; d < stage->lowered.rank; ++d)
        p.n *= wf__greatest(p.hi[d] - p.lo[d], 0);
    return p;
}

int64_t wf__points_cut(wf__points *p, int64_t first, int64_t range)
{
    p->first = first;
    p->range = range;
    p->ranges = (p->n + range - 1) / range;
    return first + p->ranges;
}

static char *address(const wf__point_array *a, const int64_t *index, int rank)
{
    int64_t offset = 0;
    for (int d = 0; d < rank; ++d)
        offset += index[d] * a->stride[d];
    return (char *)((uintptr_t)a->base + (uintptr_t)offset * a->size);
}

uint64_t wf__point_number(const wf__points *p, int64_t i)
{
    uint64_t number = 0, points = 1;
    for (int d = p->stage->lowered.rank - 1; d >= 0; --d) {
        const int64_t n = p->hi[d] - p->lo[d];
        number += (uint64_t)(p->lo[d] + i % n) * points;
        points *= (uint64_t)p->stage->extent[d];
        i /= n;
    }
    return number;
}

void wf__points_walk(const wf__points *p, int64_t range, wf__walk_row *row, void *user)
{
    const int rank = p->stage->lowered.rank, lane = rank - 1;
    const int64_t begin = (range - p->first) * p->range, end = wf__least(begin + p->range, p->n);
    int64_t index[WF_MAX_RANK];
    for (int64_t d = lane, rest = begin; d >= 0; --d) {
        const int64_t n = p->hi[d] - p->lo[d];
        index[d] = p->lo[d] + rest % n;
        rest /= n;
    }
    for (int64_t from = begin; from < end;) {
        const int64_t n = wf__least(p->hi[lane] - index[lane], end - from);
        row(user, from - begin, n, address(&p->at, index, rank), address(&p->value, index, rank));
        from += n;
        index[lane] = p->lo[lane];
        for (int d = lane - 1; d >= 0 && ++index[d] >= p->hi[d]; --d)
            index[d] = p->lo[d];
    }
}
