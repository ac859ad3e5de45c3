/* Record once, launch many times with other arrays and parameters: formals and params are bound by name. */
#include "weft/weft.h"
#include <math.h>
#include <stdio.h>

enum { H = 20, W = 33, STEPS = 100 };

static wf_status animate(wf_context *ctx, wf_array *frame[2]) /* f32 [h, w] each */
{
    wf_graph *g = wf_begin(ctx, .name = "step");
    wf_array *from = wf_formal(g, "src", WF_F32, 2), *to = wf_formal(g, "dst", WF_F32, 2);
    wf_val factor = wf_param(g, "gain", WF_F32, 1);
    wf_out(g, to, wf_sin(wf_mul(wf_in(g, from), factor)));
    wf_kernel *step = wf_compile(g); /* NULL on error: wf_launch then fails, so check once */

    wf_status status = WF_OK;
    for (int t = 0; t < STEPS && status == WF_OK; ++t) {
        wf_array *src = frame[t % 2], *dst = frame[(t + 1) % 2];
        float gain = 1 + 0.01f * (float)t; /* C names are the parameter names */
        status = wf_launch(step, WF_NAMED(src, dst, gain));
    }
    wf_kernel_free(step);
    return status;
}

int main(void)
{
    static float start[H][W], end[H][W];
    for (int k = 0; k < H * W; ++k)
        start[k / W][k % W] = (float)k / (H * W);

    wf_context *ctx = wf_context_new(NULL);
    wf_array *frame[2] = { wf_empty(ctx, WF_F32, WF_SHAPE(H, W)), wf_empty(ctx, WF_F32, WF_SHAPE(H, W)) };
    wf_status status = wf_upload(frame[0], start, sizeof start);
    if (status == WF_OK)
        status = animate(ctx, frame);
    if (status == WF_OK)
        status = wf_download(frame[STEPS % 2], end, sizeof end);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));

    int wrong = status != WF_OK;
    for (int k = 0; k < H * W && status == WF_OK; ++k) {
        double v = (double)start[k / W][k % W];
        for (int t = 0; t < STEPS; ++t)
            v = sin(v * (double)(1 + 0.01f * (float)t));
        wrong += fabs((double)end[k / W][k % W] - v) > 1e-5;
    }
    printf("prepared: %d launches, %d wrong of %d\n", STEPS, wrong, H * W);
    wf_release(frame[0]);
    wf_release(frame[1]);
    wf_context_free(ctx);
    return wrong != 0;
}
