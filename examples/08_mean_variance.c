/* Mean and variance over chosen axes, in two ways: in one stable pass, by Welford's recurrence joined by Chan's rule;
 * and by lazy arrays, in three lines. */
#include "weft/weft.h"
#include <math.h>
#include <stdio.h>

static wf_status mean_variance(wf_context *ctx, const wf_array *x, wf_axes axes, wf_array *mean, wf_array *variance)
{
    wf_graph *g = wf_begin(ctx, .reduce = axes, .name = "mean_variance");
    wf_var n = wf_reduced(g, WF_F64, 0, WF_JOIN_CUSTOM), mu = wf_reduced(g, WF_F64, 0, WF_JOIN_CUSTOM),
           m2 = wf_reduced(g, WF_F64, 0, WF_JOIN_CUSTOM);

    wf_val v = wf_cast(wf_in(g, x), WF_F64), d = wf_sub(v, mu);
    wf_inc(n, 1);
    wf_inc(mu, wf_div(d, n));
    wf_inc(m2, wf_mul(d, wf_sub(v, mu)));

    wf_section(g, WF_SECTION_JOIN);
    wf_val nb = wf_get(wf_other(n)), total = wf_add(n, nb), e = wf_sub(wf_other(mu), mu),
           w = wf_div(nb, wf_max(total, 1));
    wf_inc(m2, wf_add(wf_other(m2), wf_mul(wf_mul(e, e), wf_mul(n, w))));
    wf_inc(mu, wf_mul(e, w));
    wf_set(n, total);

    wf_section(g, WF_SECTION_POST);
    wf_out(g, mean, mu);
    wf_out(g, variance, wf_div(m2, wf_max(wf_sub(n, 1), 1)));
    return wf_run(g);
}

static wf_status lazily(wf_context *ctx, const wf_array *x, wf_axes axes, double count, wf_array *mean,
                        wf_array *variance)
{
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_cast(wf_in(g, x), WF_F64), mu = wf_div(wf_sum(v, axes), count), d = wf_sub(v, mu);
    wf_out(g, mean, mu);
    wf_out(g, variance, wf_div(wf_sum(wf_mul(d, d), axes), count - 1));
    return wf_run(g);
}

int main(void)
{
    enum { H = 300, W = 500 };
    static float x[H * W];
    double mean[2][H], variance[2][H], worst = 0;
    for (int i = 0; i < H * W; ++i)
        x[i] = 1000 + (float)(i * 7919LL % 10007) / 10007; /* a large mean: sums of squares would lose all digits */
    wf_context *ctx = wf_context_new(NULL);
    wf_array *in = wf_wrap(ctx, x, WF_F32, WF_SHAPE(H, W), NULL, NULL);
    wf_status status = WF_OK;
    for (int way = 0; way < 2 && status == WF_OK; ++way) {
        wf_array *m = wf_wrap(ctx, mean[way], WF_F64, WF_SHAPE(H, 1), NULL, NULL);
        wf_array *v = wf_wrap(ctx, variance[way], WF_F64, WF_SHAPE(H, 1), NULL, NULL);
        status = way ? lazily(ctx, in, WF_AXES(1), W, m, v) : mean_variance(ctx, in, WF_AXES(1), m, v);
        wf_release(m);
        wf_release(v);
    }
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    for (int r = 0; r < H; ++r) {
        double sum = 0, squares = 0;
        for (int i = 0; i < W; ++i)
            sum += (double)x[r * W + i];
        for (int i = 0; i < W; ++i)
            squares += pow((double)x[r * W + i] - sum / W, 2);
        for (int way = 0; way < 2; ++way)
            worst =
                fmax(worst, fmax(fabs(mean[way][r] / (sum / W) - 1), fabs(variance[way][r] / (squares / (W - 1)) - 1)));
    }
    printf("mean %.6f, variance %.6f; off by %.1e at most\n", mean[0][0], variance[0][0], worst);
    wf_release(in);
    wf_context_free(ctx);
    return !(status == WF_OK && worst < 1e-9);
}
