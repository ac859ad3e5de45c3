/* Masked sum (f64) and maximum (f32) in one pass over mixed dtypes, with built-in joins. */
#include "weft/weft.h"
#include <math.h>
#include <stdio.h>

static wf_status masked(wf_context *ctx, const wf_array *array, const wf_array *mask, double *sum_out, float *max_out)
{
    wf_array *s = wf_empty(ctx, WF_F64, WF_SCALAR), *m = wf_empty(ctx, WF_F32, WF_SCALAR);
    wf_graph *g = wf_begin(ctx, .reduce = WF_ALL_AXES); /* element by element: the shape is the operands' */
    wf_var sum = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD), max = wf_reduced(g, WF_F32, -INFINITY, WF_JOIN_MAX);
    wf_val v = wf_in(g, array), inside = wf_gt(wf_in(g, mask), 0);
    wf_inc(sum, wf_select(inside, v, 0)); /* widened by the variable */
    wf_set(max, wf_max(max, wf_select(inside, v, -INFINITY)));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, s, sum);
    wf_out(g, m, max);
    wf_status status = wf_run(g);
    if (status == WF_OK)
        status = wf_download(s, sum_out, sizeof *sum_out);
    if (status == WF_OK)
        status = wf_download(m, max_out, sizeof *max_out);
    wf_release(s);
    wf_release(m);
    return status;
}

int main(void)
{
    enum { H = 211, W = 307 };
    static float values[H * W];
    static uint8_t inside[H * W];
    double want_sum = 0, sum = 0;
    float want_max = -INFINITY, max = 0;
    for (int i = 0; i < H * W; ++i) {
        values[i] = (float)(i * 7919 % 10007) / 64 - 50; /* sums of these are exact in f64 */
        inside[i] = (uint8_t)(i % 3 == 1 ? 5 : 0);
        if (!inside[i])
            continue;
        want_sum += (double)values[i];
        want_max = values[i] > want_max ? values[i] : want_max;
    }

    wf_context *ctx = wf_context_new(NULL);
    wf_array *array = wf_wrap(ctx, values, WF_F32, WF_SHAPE(H, W), NULL, NULL);
    wf_array *mask = wf_wrap(ctx, inside, WF_U8, WF_SHAPE(H, W), NULL, NULL);
    wf_status status = masked(ctx, array, mask, &sum, &max);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    printf("masked: sum %.6f (%.6f), maximum %.6f (%.6f)\n", sum, want_sum, (double)max, (double)want_max);
    wf_release(array);
    wf_release(mask);
    wf_context_free(ctx);
    return !(status == WF_OK && sum == want_sum && max == want_max);
}
