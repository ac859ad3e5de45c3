/* The Mandelbrot set: a plain while, in which every point goes its own way. Variables mix with values and numbers. */
#include "weft/weft.h"
#include <math.h>
#include <stdio.h>

static wf_status mandelbrot(wf_context *ctx, wf_array *count, double x0, double y0, double step, int limit)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(count));
    wf_val cx = wf_fma(wf_cast(wf_index(g, 1), WF_F32), step, x0),
           cy = wf_fma(wf_cast(wf_index(g, 0), WF_F32), step, y0);
    wf_var x = wf_local(g, WF_F32, 0), y = wf_local(g, WF_F32, 0), n = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_and(wf_lt(n, limit), wf_le(wf_add(wf_mul(x, x), wf_mul(y, y)), 4))) {
        wf_val t = wf_add(wf_sub(wf_mul(x, x), wf_mul(y, y)), cx);
        wf_set(y, wf_expr(g, "2*x*y + cy", WF_NAMED(x, y, cy))); /* infix where it reads better: the same nodes */
        wf_set(x, t);
        wf_inc(n, 1);
    }
    WF_END(g);
    wf_out(g, count, n);
    return wf_run(g);
}

static int escape(float cx, float cy, int limit)
{
    float x = 0, y = 0;
    int n = 0;
    for (; n < limit && x * x + y * y <= 4; ++n) {
        float t = x * x - y * y + cx;
        y = x * 2 * y + cy;
        x = t;
    }
    return n;
}

int main(void)
{
    enum { H = 48, W = 128, LIMIT = 60 };
    const float x0 = -2.125f, y0 = -1.125f, step = 0.0234375f;
    static int32_t n[H * W];
    wf_context *ctx = wf_context_new(NULL);
    wf_array *count = wf_wrap(ctx, n, WF_I32, WF_SHAPE(H, W), NULL, NULL);
    wf_status status = mandelbrot(ctx, count, (double)x0, (double)y0, (double)step, LIMIT);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    int wrong = 0;
    for (int i = 0; i < H * W; ++i)
        wrong += n[i] != escape(fmaf((float)(i % W), step, x0), fmaf((float)(i / W), step, y0), LIMIT);
    for (int i = 0; i < H; i += 4, puts(""))
        for (int j = 0; j < W; j += 2)
            putchar(" .:-=+*#%@"[n[i * W + j] * 9 / LIMIT]);
    printf("%d points differ from plain C\n", wrong);
    wf_release(count);
    wf_context_free(ctx);
    return status != WF_OK || wrong > H * W / 100; /* a compiler may have contracted the C */
}
