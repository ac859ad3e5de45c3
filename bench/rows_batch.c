/* rows_batch.c - a histogram of 128 bins for each of 4096 rows of 4096 values: accumulated, and by hand in scratch
 * memory of each row's block (examples/06_histogram.c). */
#include "bench.h"
#include "kernels.h"
#include <string.h>

enum { SIDE = 4096, BINS = HISTOGRAM_BINS };

typedef struct batch_row {
    bench_stream s;
    wf_array *in, *hist; /* f32 [SIDE, SIDE], i32 [SIDE, BINS] */
    int32_t *hist_at;
} batch_row;

static wf_val bin_of(wf_val x) { return wf_cast(wf_mul(wf_mul(wf_add(x, 1), 0.5), BINS), WF_I32); }

static void clear(void *data)
{
    batch_row *r = data;
    memset(r->hist_at, 0, sizeof(int32_t) * SIDE * BINS);
}

static void accumulated(void *data)
{
    batch_row *r = data;
    clear(r);
    wf_graph *g = wf_begin(r->s.b->ctx, .shape = WF_SHAPE(SIDE, SIDE));
    wf_accumulate(g, WF_JOIN_ADD, r->hist, 1, wf_index(g, 0), bin_of(wf_in(g, r->in)));
    bench_ok(r->s.b, wf_run(g), r->s.b->ctx, "wf_run");
}

static void by_block(void *data)
{
    batch_row *r = data;
    clear(r);
    wf_graph *g = wf_begin(r->s.b->ctx, .shape = WF_SHAPE(SIDE, SIDE), .reduce = WF_AXES(1));
    wf_array *mine = wf_scratch(g, WF_I32, WF_SHAPE(BINS), true);
    wf_accumulate(g, WF_JOIN_ADD, mine, 1, bin_of(wf_in(g, r->in)));
    wf_section(g, WF_SECTION_DEINIT);
    wf_barrier(g);
    wf_val i;
    WF_FOR (g, i, wf_thread_id(g, -1), BINS, wf_block_size(g, -1)) {
        wf_accumulate(g, WF_JOIN_ADD, r->hist, wf_read(g, mine, i), wf_index(g, 0), i);
    }
    WF_END(g);
    bench_ok(r->s.b, wf_run(g), r->s.b->ctx, "wf_run");
}

typedef void histogram_fn(int64_t *count, const float *x, int64_t lo, int64_t hi);
static histogram_fn *const plain = plain_histogram, *const four = plain_blocks_histogram;

static void part(void *data, const void *how, int part, int parts)
{
    const batch_row *r = data;
    const bench_range at = bench_split(SIDE, 1, part, parts);
    int64_t count[BINS];
    for (int64_t i = at.lo; i < at.hi; ++i) {
        memset(count, 0, sizeof count);
        (*(histogram_fn *const *)how)(count, r->s.at[0], i * SIDE, (i + 1) * SIDE);
        for (int b = 0; b < BINS; ++b)
            r->hist_at[i * BINS + b] = (int32_t)count[b];
    }
}

static bool check(void *data, char *why, size_t cap)
{
    const batch_row *r = data;
    for (int64_t i = 0; i < SIDE; ++i) {
        int32_t want[BINS] = { 0 };
        for (int64_t k = 0; k < SIDE; ++k)
            ++want[(int)((r->s.at[0][i * SIDE + k] + 1) * 0.5f * BINS)];
        if (memcmp(want, r->hist_at + i * BINS, sizeof want) != 0) {
            snprintf(why, cap, "the histogram of row %lld is wrong", (long long)i);
            return false;
        }
    }
    return true;
}

static const bench_kind kind = { sizeof(batch_row), clear, check, NULL };

static void setup(bench *b, bench_case *c, const char *how, void (*weft)(void *data))
{
    batch_row *r = bench_stream_data(b, c, &kind, (int64_t)SIDE * SIDE, 1, 0, -1, 1);
    if (!r)
        return;
    /* multiples of 2^-20, which no rounding moves to another bin */
    for (int64_t i = 0; i < r->s.n; ++i)
        r->s.at[0][i] = (float)(int32_t)(r->s.at[0][i] * 0x1p20f) * 0x1p-20f;
    r->in = bench_keep(c, wf_view_reshape(r->s.array[0], WF_SHAPE(SIDE, SIDE)));
    r->hist = bench_keep(c, wf_empty(b->ctx, WF_I32, WF_SHAPE(SIDE, BINS)));
    r->hist_at = bench_memory(b, r->hist);
    bench_add(c, "weft", how, weft);
    bench_add_parts(c, "plain", "", part, &plain);
    bench_add_parts(c, "best", "four counts for each bin", part, &four);
}

static void setup_accumulated(bench *b, bench_case *c) { setup(b, c, "accumulated", accumulated); }
static void setup_by_block(bench *b, bench_case *c) { setup(b, c, "scratch", by_block); }
const bench_row bench_histogram_rows = {
    "histogram_rows", "128 bins of each of 4096 rows of 4096", "ms", 1e3, "<= best C", setup_accumulated, NULL
};
const bench_row bench_histogram_scratch = {
    "histogram_scratch", "the same in scratch of a block for each row", "ms", 1e3, "<= best C", setup_by_block, NULL
};
