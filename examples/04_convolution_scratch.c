/* Convolution with a block's window in scratch on a GPU, and the naive form on the CPU: a C `if` chooses while
 * recording. Scratch is an array. The threads of a block fill it together, wait at a barrier, and read each other's
 * elements. `04_convolution_scratch cuda` runs on the first GPU. */
#include "weft/weft.h"
#include <math.h>
#include <stdio.h>

enum { K = 11, PAD = K - 1, HALO = PAD / 2, B = 16, S = B + PAD, N = 2, H = 37, W = 53 };

/* The window of a point. */
typedef struct window {
    wf_graph *g;
    const wf_array *from; /* img [n, h, w], which is 0 outside, or a tile [S, S] */
    bool is_tile;
    wf_val b, y, x; /* the corner */
} window;

static wf_val read_at(const window *w, int y, int x)
{
    wf_val at_y = wf_add(w->y, y), at_x = wf_add(w->x, x);
    return w->is_tile ? wf_read(w->g, w->from, at_y, at_x) : wf_read_or(w->g, w->from, 0, w->b, at_y, at_x);
}

static wf_val convolved(const window *w, const wf_array *ker)
{
    wf_val sum = WF_V(0);
    for (int y = 0; y < K; ++y)
        for (int x = 0; x < K; ++x)
            sum = wf_fma(read_at(w, y, x), wf_read(w->g, ker, y, x), sum);
    return sum;
}

/* img: [n, h, w]; ker: [K, K]; out: [n, h, w] */
static wf_status convolve_tiled(wf_context *ctx, const wf_array *img, const wf_array *ker, wf_array *out)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(out), .device = wf_array_device(out),
                           .block = WF_SHAPE(1, B, B), .name = "convolve");
    wf_val b = wf_index(g, 0), i = wf_index(g, 1), j = wf_index(g, 2), sum;
    wf_val y0 = wf_sub(i, HALO), x0 = wf_sub(j, HALO); /* the corner of the point's window */
    if (wf_is_gpu(g)) {
        wf_array *tile = wf_scratch(g, WF_F32, WF_SHAPE(S, S), false);
        wf_val ty = wf_thread_id(g, 1), tx = wf_thread_id(g, 2), ly, lx;
        y0 = wf_sub(y0, ty); /* the corner of the block's window */
        x0 = wf_sub(x0, tx);
        WF_FOR (g, ly, ty, S, wf_block_size(g, 1)) {
            WF_FOR (g, lx, tx, S, wf_block_size(g, 2)) {
                wf_write(g, tile, wf_read_or(g, img, 0, b, wf_add(y0, ly), wf_add(x0, lx)), ly, lx);
            }
            WF_END(g);
        }
        WF_END(g);
        wf_barrier(g);
        const window own = { g, tile, true, b, ty, tx };
        sum = convolved(&own, ker);
    } else {
        const window own = { g, img, false, b, y0, x0 };
        sum = convolved(&own, ker);
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

int main(int argc, char **argv)
{
    static float image[N][H][W], weights[K][K], result[N][H][W];
    for (int k = 0; k < N * H * W; ++k)
        image[k / (H * W)][k / W % H][k % W] = (float)(k * 7919 % 1000) / 1000;
    for (int k = 0; k < K * K; ++k)
        weights[k / K][k % K] = (float)(k * 31 % 17) / 17;

    wf_config config = { .size = sizeof config, .device = argc > 1 ? wf_device_named(argv[1]) : WF_CPU };
    wf_context *ctx = wf_context_new(&config);
    wf_array *img = wf_empty(ctx, WF_F32, WF_SHAPE(N, H, W)), *ker = wf_empty(ctx, WF_F32, WF_SHAPE(K, K));
    wf_array *out = wf_like(img);
    wf_status status = wf_upload(img, image, sizeof image);
    if (status == WF_OK)
        status = wf_upload(ker, weights, sizeof weights);
    if (status == WF_OK)
        status = convolve_tiled(ctx, img, ker, out);
    if (status == WF_OK)
        status = wf_download(out, result, sizeof result);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));

    int wrong = status != WF_OK;
    for (int k = 0; k < N * H * W && status == WF_OK; ++k) {
        int b = k / (H * W), i = k / W % H, j = k % W;
        wrong += fabs((double)result[b][i][j] - reference(&image[b][0][0], &weights[0][0], i, j)) > 1e-4;
    }
    printf("convolution in scratch: %d wrong of %d\n", wrong, N * H * W);
    wf_release(img);
    wf_release(ker);
    wf_release(out);
    wf_context_free(ctx);
    return wrong != 0;
}
