/* rows_conv.c - the naive 11x11 convolution, written by index with a value outside, over a 4096 x 4096 image. */
#include "bench.h"
#include "kernels.h"
#include <math.h>

enum { SIDE = 4096 };

typedef struct conv_row {
    bench_stream s; /* img, out: [SIDE, SIDE] as [SIDE*SIDE] */
    wf_array *img, *out, *ker;
    float *ker_at;
} conv_row;

static void weft(void *data)
{
    conv_row *r = data;
    wf_graph *g = wf_begin(r->s.b->ctx, .shape = WF_SHAPE(SIDE, SIDE), .name = "convolve");
    wf_val i = wf_index(g, 0), j = wf_index(g, 1), sum = WF_V(0);
    for (int y = 0; y < CONV_K; ++y)
        for (int x = 0; x < CONV_K; ++x) {
            wf_val pixel = wf_read_or(g, r->img, 0, wf_add(i, y - CONV_HALO), wf_add(j, x - CONV_HALO));
            sum = wf_fma(pixel, wf_read(g, r->ker, y, x), sum);
        }
    wf_write(g, r->out, sum, i, j);
    bench_ok(r->s.b, wf_run(g), r->s.b->ctx, "wf_run");
}

/* The same from a copy of each block's window in scratch memory. */
static void weft_scratch(void *data)
{
    enum { BLOCK = 64, WINDOW = BLOCK + CONV_K - 1 };
    conv_row *r = data;
    wf_graph *g =
        wf_begin(r->s.b->ctx, .shape = WF_SHAPE(SIDE, SIDE), .block = WF_SHAPE(BLOCK, BLOCK), .name = "tiled");
    wf_array *tile = wf_scratch(g, WF_F32, WF_SHAPE(WINDOW, WINDOW), false);
    wf_section(g, WF_SECTION_INIT);
    wf_val y0 = wf_sub(wf_mul(wf_block_id(g, 0), BLOCK), CONV_HALO), y, x;
    wf_val x0 = wf_sub(wf_mul(wf_block_id(g, 1), BLOCK), CONV_HALO);
    WF_FOR (g, y, 0, WINDOW, 1) {
        WF_FOR (g, x, 0, WINDOW, 1) {
            wf_write(g, tile, wf_read_or(g, r->img, 0, wf_add(y0, y), wf_add(x0, x)), y, x);
        }
        WF_END(g);
    }
    WF_END(g);
    wf_section(g, WF_SECTION_CALL);
    wf_val i = wf_index(g, 0), j = wf_index(g, 1), sum = WF_V(0);
    wf_val top = wf_sub(i, wf_mul(wf_block_id(g, 0), BLOCK)), left = wf_sub(j, wf_mul(wf_block_id(g, 1), BLOCK));
    for (int k = 0; k < CONV_K * CONV_K; ++k)
        sum = wf_fma(wf_read(g, tile, wf_add(top, k / CONV_K), wf_add(left, k % CONV_K)),
                     wf_read(g, r->ker, k / CONV_K, k % CONV_K), sum);
    wf_write(g, r->out, sum, i, j);
    bench_ok(r->s.b, wf_run(g), r->s.b->ctx, "wf_run");
}

typedef void conv_fn(float *out, const float *img, const float *ker, int64_t h, int64_t w, int64_t lo, int64_t hi);
static conv_fn *const plain = plain_conv, *const fast = fast_conv, *const best = best_conv;

static void part(void *data, const void *how, int part, int parts)
{
    const conv_row *r = data;
    const bench_range at = bench_split(SIDE, 32, part, parts);
    (*(conv_fn *const *)how)(r->s.at[1], r->s.at[0], r->ker_at, SIDE, SIDE, at.lo, at.hi);
}

static double reference(const conv_row *r, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t y = 0; y < CONV_K; ++y)
        for (int64_t x = 0; x < CONV_K; ++x) {
            int64_t iy = i + y - CONV_HALO, ix = j + x - CONV_HALO;
            if (iy >= 0 && iy < SIDE && ix >= 0 && ix < SIDE)
                sum += (double)r->s.at[0][iy * SIDE + ix] * (double)r->ker_at[y * CONV_K + x];
        }
    return sum;
}

/* The border whole, and some of the interior. */
static bool check(void *data, char *why, size_t cap)
{
    const conv_row *r = data;
    for (int64_t i = 0; i < SIDE; ++i)
        for (int64_t j = 0; j < SIDE; ++j) {
            bool edge = i < 40 || j < 40 || i >= SIDE - 40 || j >= SIDE - 40;
            if (!edge && (i * 7 + j) % 61)
                continue;
            double want = reference(r, i, j), got = (double)r->s.at[1][i * SIDE + j];
            if (fabs(got - want) <= 1e-5 * fabs(want))
                continue;
            snprintf(why, cap, "pixel [%lld, %lld] is %.9g, not %.9g", (long long)i, (long long)j, got, want);
            return false;
        }
    return true;
}

static const bench_kind kind = { sizeof(conv_row), bench_spoil_results, check, NULL };

static void setup(bench *b, bench_case *c, void (*by_weft)(void *data))
{
    conv_row *r = bench_stream_data(b, c, &kind, (int64_t)SIDE * SIDE, 1, 1, 0.5f, 1.5f);
    if (!r)
        return;
    r->img = bench_keep(c, wf_view_reshape(r->s.array[0], WF_SHAPE(SIDE, SIDE)));
    r->out = bench_keep(c, wf_view_reshape(r->s.array[1], WF_SHAPE(SIDE, SIDE)));
    r->ker = bench_keep(c, wf_empty(b->ctx, WF_F32, WF_SHAPE(CONV_K, CONV_K)));
    r->ker_at = bench_memory(b, r->ker);
    for (int k = 0; r->ker_at && k < CONV_K * CONV_K; ++k)
        r->ker_at[k] = 0.1f + bench_random(77, (uint64_t)k);
    bench_add(c, "weft", "", by_weft);
    bench_add_parts(c, "plain", "", part, &plain);
    bench_add_parts(c, "plain fast-math", "", part, &fast);
    if (bench_best_available())
        bench_add_parts(c, "best", "packed blocks, register tiles", part, &best);
}

static void setup_index(bench *b, bench_case *c) { setup(b, c, weft); }
static void setup_scratch(bench *b, bench_case *c) { setup(b, c, weft_scratch); }
const bench_row bench_conv_scratch_4096 = { "conv_scratch_4096",
                                            "the same by windows of 64 x 64 blocks in scratch",
                                            "ms",
                                            1e3,
                                            "below 2 by index",
                                            setup_scratch,
                                            NULL };
const bench_row bench_conv_4096 = { "conv_4096",
                                    "11x11 convolution by index, 4096 x 4096, zero outside",
                                    "ms",
                                    1e3,
                                    "<= 35 ms, and <= 25 ms as a stretch",
                                    setup_index,
                                    NULL };
