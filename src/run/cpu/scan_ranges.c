/* scan_ranges.c - see scan_ranges.h: a range of elements becomes boxes of the stage's loops. */
#include "run/cpu/scan_ranges.h"

/* Runs the elements first .. end - 1 of the sub-array over which the loops from axis d on run. */
static void run_from(const wf__ranged *f, int d, int64_t *lo, int64_t *hi, int64_t first, int64_t end)
{
    const int64_t *extent = f->stage->extent;
    int rank = f->stage->lowered.rank;
    int64_t size = 1;
    for (int k = d + 1; k < rank; ++k)
        size *= extent[k];
    while (first < end) {
        int64_t next;
        lo[d] = first / size;
        if (first % size == 0 && end - first >= size) { /* whole rows of axis d */
            hi[d] = end / size;
            next = hi[d] * size;
            for (int k = d + 1; k < rank; ++k)
                lo[k] = 0, hi[k] = extent[k];
            f->entry(&f->call, lo, hi, NULL);
        } else {
            int64_t begin = lo[d] * size;
            hi[d] = lo[d] + 1;
            next = end < begin + size ? end : begin + size;
            run_from(f, d + 1, lo, hi, first - begin, next - begin);
        }
        first = next;
    }
}

void wf__run_range(const wf__ranged *ranged, char *base, int64_t first, int64_t end)
{
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK];
    wf__mem mem[WF__MOST_FUSED];
    wf__ranged moved = *ranged;
    uint32_t slots = ranged->stage->lowered.slot_n;
    memcpy(mem, ranged->call.mem, slots * sizeof *mem);
    for (uint32_t s = 0; s < slots; ++s)
        if (ranged->stage->mem[s].object == ranged->object)
            mem[s].base = base;
    moved.call.mem = mem;
    run_from(&moved, 0, lo, hi, first, end);
}
