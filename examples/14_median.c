/* Median of a 5x5 neighbourhood: the window is a local array of each point, sorted by insertion, as in C. The loops
 * have constant bounds and are unrolled, so that every index is a constant and the array is kept in registers. */
#include "weft/weft.h"
#include <stdio.h>
#include <stdlib.h>

enum { K = 5, R = K / 2, N = K * K, H = 61, W = 83 };

/* Sorts the first n elements, smallest first. */
static void sort(wf_graph *g, wf_array *w, int n)
{
    wf_val i, j;
    WF_FOR (g, i, 1, n, 1) {
        WF_FOR (g, j, i, 0, -1) {
            wf_val before = wf_read(g, w, wf_sub(j, 1)), here = wf_read(g, w, j);
            wf_write(g, w, wf_min(before, here), wf_sub(j, 1));
            wf_write(g, w, wf_max(before, here), j);
        }
        WF_END(g);
    }
    WF_END(g);
}

/* img, out: [h, w]; the image is mirrored at its border. */
static wf_status median(wf_context *ctx, const wf_array *img, wf_array *out)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(out), .name = "median");
    wf_array *window = wf_local_array(g, "window", wf_array_dtype(img), WF_SHAPE(N), 0);
    wf_val y = wf_index(g, 0), x = wf_index(g, 1);
    for (int k = 0; k < N; ++k)
        wf_write(g, window, wf_read_border(g, img, WF_BORDER_MIRROR, 0, wf_add(y, k / K - R), wf_add(x, k % K - R)), k);
    sort(g, window, N);
    wf_out(g, out, wf_read(g, window, N / 2));
    return wf_run(g);
}

static int mirrored(int i, int n) { return i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i; }

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static float reference(float image[H][W], int y, int x)
{
    float w[N];
    for (int k = 0; k < N; ++k)
        w[k] = image[mirrored(y + k / K - R, H)][mirrored(x + k % K - R, W)];
    qsort(w, N, sizeof *w, ascending);
    return w[N / 2];
}

int main(void)
{
    static float image[H][W], result[H][W];
    for (int k = 0; k < H * W; ++k)
        image[k / W][k % W] = (float)(k * 7919 % 1009) / 16;

    wf_context *ctx = wf_context_new(NULL);
    wf_array *img = wf_empty(ctx, WF_F32, WF_SHAPE(H, W)), *out = wf_like(img);
    wf_status status = wf_upload(img, image, sizeof image);
    if (status == WF_OK)
        status = median(ctx, img, out);
    if (status == WF_OK)
        status = wf_download(out, result, sizeof result);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));

    int wrong = status != WF_OK;
    for (int k = 0; k < H * W && status == WF_OK; ++k)
        wrong += result[k / W][k % W] != reference(image, k / W, k % W);
    printf("median: %d wrong of %d\n", wrong, H * W);
    wf_release(img);
    wf_release(out);
    wf_context_free(ctx);
    return wrong != 0;
}
