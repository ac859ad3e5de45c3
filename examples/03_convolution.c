/* Naive 11x11 convolution by index. C variables are constants of the recording, and C loops are unrolled by it.
 * wf_read_or tests the bounds (0 outside); planning parts interior and border, so that the interior has no tests. */
#include "weft/weft.h"
#include <math.h>
#include <stdio.h>

enum { K = 11, HALO = K / 2, N = 2, H = 37, W = 53 };

/* img: [n, h, w]; ker: [K, K]; out: [n, h, w] */
static wf_status convolve(wf_context *ctx, const wf_array *img, const wf_array *ker, wf_array *out)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(out), .name = "convolve");
    wf_val b = wf_index(g, 0), i = wf_index(g, 1), j = wf_index(g, 2), sum = WF_V(0);
    for (int y = 0; y < K; ++y)
        for (int x = 0; x < K; ++x) {
            wf_val pixel = wf_read_or(g, img, 0, b, wf_add(i, y - HALO), wf_add(j, x - HALO));
            sum = wf_fma(pixel, wf_read(g, ker, y, x), sum);
        }
    wf_write(g, out, sum, b, i, j);
    return wf_run(g);
}

static double reference(const float *img, const float *ker, int i, int j)
{
    double sum = 0;
    for (int y = 0; y < K; ++y)
        for (int x = 0; x < K; ++x) {
            int iy = i + y - HALO, ix = j + x - HALO;
            if (iy >= 0 && iy < H && ix >= 0 && ix < W)
                sum += (double)img[iy * W + ix] * (double)ker[y * K + x];
        }
    return sum;
}

int main(void)
{
    static float image[N][H][W], window[K][K], result[N][H][W];
    for (int k = 0; k < N * H * W; ++k)
        image[k / (H * W)][k / W % H][k % W] = (float)(k * 7919 % 1000) / 1000;
    for (int k = 0; k < K * K; ++k)
        window[k / K][k % K] = (float)(k * 31 % 17) / 17;

    wf_context *ctx = wf_context_new(NULL);
    wf_array *img = wf_empty(ctx, WF_F32, WF_SHAPE(N, H, W)), *ker = wf_empty(ctx, WF_F32, WF_SHAPE(K, K));
    wf_array *out = wf_like(img);
    wf_status status = wf_upload(img, image, sizeof image);
    if (status == WF_OK)
        status = wf_upload(ker, window, sizeof window);
    if (status == WF_OK)
        status = convolve(ctx, img, ker, out);
    if (status == WF_OK)
        status = wf_download(out, result, sizeof result);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));

    int wrong = status != WF_OK;
    for (int k = 0; k < N * H * W && status == WF_OK; ++k) {
        int b = k / (H * W), i = k / W % H, j = k % W;
        wrong += fabs((double)result[b][i][j] - reference(&image[b][0][0], &window[0][0], i, j)) > 1e-4;
    }
    printf("convolution: %d wrong of %d\n", wrong, N * H * W);
    wf_release(img);
    wf_release(ker);
    wf_release(out);
    wf_context_free(ctx);
    return wrong != 0;
}
