/* Work in the background: the host makes the next frame while two streams compute. The first stream smooths each frame.
 * The second one waits for an event of the first, and measures the smoothed frame. */
#include "weft/weft.h"
#include <math.h>
#include <stdio.h>

enum { FRAMES = 6, H = 120, W = 200 };

static float pixel(int frame, int i, int j) { return (float)((i * 37 + j * 11 + frame * 101) % 256) / 256; }

static wf_status smooth(wf_context *ctx, wf_stream *stream, const wf_array *from, wf_array *to)
{
    wf_graph *g = wf_begin(ctx, .name = "smooth", .shape = WF_SHAPE(H, W), .stream = stream);
    wf_val i = wf_index(g, 0), j = wf_index(g, 1), sum = wf_const(g, WF_F32, 0);
    for (int y = -1; y <= 1; ++y)
        for (int x = -1; x <= 1; ++x)
            sum = wf_add(sum, wf_read_border(g, from, WF_BORDER_CLAMP, 0, wf_add(i, y), wf_add(j, x)));
    wf_out(g, to, wf_div(sum, 9));
    return wf_run(g); /* queues; the queue keeps the graph and the arrays, also after wf_release */
}

static wf_array *mean(wf_context *ctx, wf_stream *stream, const wf_array *array)
{
    wf_graph *g = wf_begin(ctx, .name = "mean", .stream = stream);
    wf_array *result = wf_keep(wf_div(wf_sum(wf_cast(wf_in(g, array), WF_F64), WF_ALL_AXES), H * W));
    return wf_run(g) == WF_OK ? result : NULL; /* queued, too */
}

int main(void)
{
    static float image[H][W];
    wf_context *ctx = wf_context_new(NULL);
    wf_stream *first = wf_stream_new(ctx, WF_CPU), *second = wf_stream_new(ctx, WF_CPU);
    wf_event *begin = wf_event_record(first);
    wf_array *means[FRAMES] = { NULL };
    double want[FRAMES] = { 0 };
    for (int f = 0; f < FRAMES; ++f) {
        for (int k = 0; k < H * W; ++k)
            image[k / W][k % W] = pixel(f, k / W, k % W);
        wf_array *raw = wf_empty(ctx, WF_F32, WF_SHAPE(H, W)), *smoothed = wf_like(raw);
        wf_upload(raw, image, sizeof image);
        smooth(ctx, first, raw, smoothed);
        wf_event *done = wf_event_record(first);
        wf_stream_wait(second, done);
        means[f] = mean(ctx, second, smoothed);
        wf_event_free(done);
        wf_release(raw);
        wf_release(smoothed);

        for (int k = 0; k < 9 * H * W; ++k) { /* meanwhile computes the expected value in C */
            int i = k / 9 / W + k % 9 / 3 - 1, j = k / 9 % W + k % 3 - 1;
            want[f] += (double)image[i < 0 ? 0 : i < H ? i : H - 1][j < 0 ? 0 : j < W ? j : W - 1] / (9 * H * W);
        }
    }
    wf_event *end = wf_event_record(second);
    wf_status status = wf_sync(ctx); /* the first error of all calls and launches */
    double seconds = 0;
    if (status == WF_OK)
        status = wf_last_status(ctx);
    if (status == WF_OK)
        status = wf_event_elapsed(begin, end, &seconds);
    int wrong = status != WF_OK;
    for (int f = 0; f < FRAMES; ++f) {
        double got = 0;
        wrong += wf_download(means[f], &got, sizeof got) != WF_OK || fabs(got - want[f]) > 1e-6;
        wf_release(means[f]);
    }
    if (wrong)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    printf("streams: %d frames in %.2g ms, %d wrong\n", FRAMES, seconds * 1e3, wrong);
    wf_event_free(begin);
    wf_event_free(end);
    wf_stream_free(first);
    wf_stream_free(second);
    wf_context_free(ctx);
    return wrong != 0;
}
