/* scan_ranges.c - a range of elements as boxes of loops. */
#include "run/cpu/scan_ranges.h"

/* Elements first .. end - 1 of what the loops from d on run over. */
static void run_from(const wf__feed *f, int d, int64_t *lo, int64_t *hi, int64_t first, int64_t end)
{
    const int64_t *extent = f->stage->extent;
    int rank = f->stage->body.rank;
    int64_t size = 1;
    for (int k = d + 1; k < rank; ++k)
        size *= extent[k];
    while (first < end) {
        int64_t next;
        lo[d] = first / size;
        if (first % size == 0 && end - first >= size) { /* whole steps */
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

void wf__feed_run(const wf__feed *feed, char *base, int64_t first, int64_t end)
{
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK];
    wf__mem mem[WF__MOST_FUSED];
    wf__feed moved = *feed;
    uint32_t slots = feed->stage->body.slot_n;
    memcpy(mem, feed->call.mem, slots * sizeof *mem);
    for (uint32_t s = 0; s < slots; ++s)
        if (feed->stage->mem[s].object == feed->object)
            mem[s].base = base;
    moved.call.mem = mem;
    run_from(&moved, 0, lo, hi, first, end);
}
