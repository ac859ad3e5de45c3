/* A histogram for each row of an array, in two ways: by wf_accumulate, which chooses private copies or atomic
 * operations by size; and in the scratch memory of the row's block, which a section after the points adds up. */
#include "weft/weft.h"
#include <stdio.h>
#include <string.h>

/* in: f32 [n, w], in [0, 1); hist: i32 [n, bins] */
static wf_status histogram(wf_context *ctx, const wf_array *in, wf_array *hist, int bins)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(in));
    wf_val bin = wf_cast(wf_mul(wf_in(g, in), bins), WF_I32);
    wf_accumulate(g, WF_JOIN_ADD, hist, 1, wf_index(g, 0), wf_clamp(bin, 0, bins - 1));
    return wf_run(g);
}

static wf_status histogram_by_block(wf_context *ctx, const wf_array *in, wf_array *hist, int bins)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(in), .reduce = WF_AXES(1));
    wf_array *mine = wf_scratch(g, WF_I32, WF_SHAPE(bins), true);
    wf_val bin = wf_cast(wf_mul(wf_in(g, in), bins), WF_I32), i;
    wf_accumulate(g, WF_JOIN_ADD, mine, 1, wf_clamp(bin, 0, bins - 1));

    wf_section(g, WF_SECTION_DEINIT);
    wf_barrier(g);
    WF_FOR (g, i, wf_thread_id(g, -1), bins, wf_block_size(g, -1)) {
        wf_accumulate(g, WF_JOIN_ADD, hist, wf_read(g, mine, i), wf_index(g, 0), i);
    }
    WF_END(g);
    return wf_run(g);
}

int main(void)
{
    enum { N = 4, W = 100003, BINS = 128 };
    static float values[N * W];
    static int32_t hist[N * BINS], want[N * BINS];
    for (int i = 0; i < N * W; ++i) {
        values[i] = (float)(i * 7919LL % 65536) / 65536;
        ++want[i / W * BINS + (int)(values[i] * BINS)];
    }
    wf_context *ctx = wf_context_new(NULL);
    wf_array *in = wf_wrap(ctx, values, WF_F32, WF_SHAPE(N, W), NULL, NULL);
    wf_array *out = wf_wrap(ctx, hist, WF_I32, WF_SHAPE(N, BINS), NULL, NULL);
    wf_status status = WF_OK;
    int wrong = 0;
    for (int way = 0; way < 2 && status == WF_OK; ++way) {
        memset(hist, 0, sizeof hist);
        status = way ? histogram_by_block(ctx, in, out, BINS) : histogram(ctx, in, out, BINS);
        for (int k = 0; k < N * BINS; ++k)
            wrong += hist[k] != want[k];
    }
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    printf("histogram: %d values, %d bins wrong\n", N * W, wrong);
    wf_release(in);
    wf_release(out);
    wf_context_free(ctx);
    return !(status == WF_OK && wrong == 0);
}
