/* best_conv.c - 11x11 convolution, best effort. The image is cut into blocks that are copied with their zero border into
 * a small buffer (which also breaks up power-of-two strides); there, 4 rows x 2 vectors of results stay in registers, so
 * that a loaded pair of vectors serves up to 4 rows. */
#include "kernels.h"
#include "vec.h"

#if BENCH_VEC
#include <string.h>

enum {
    ROWS = 4, /* of a register tile, which is 2 vectors wide */
    BLOCK_H = 32,
    BLOCK_W = 256,
    IN_H = BLOCK_H + CONV_K - 1,
    IN_STRIDE = BLOCK_W + 2 * VF + 16 /* no power of two */
};
_Static_assert(BLOCK_H % ROWS == 0 && BLOCK_W % 32 == 0, "blocks hold whole tiles");

/* One input row, y below the tile's first: it serves result rows first..last with kernel rows y - first ... */
__attribute__((always_inline)) static inline void one_row(vf acc[ROWS][2], const float *in, const float *ker, int y,
                                                          int first, int last)
{
#pragma GCC unroll 11
    for (int x = 0; x < CONV_K; ++x) {
        vf a = vf_load(in + x), b = vf_load(in + x + VF);
#pragma GCC unroll 4
        for (int r = first; r <= last; ++r) {
            vf k = vf_set(ker[(y - r) * CONV_K + x]);
            acc[r][0] = vf_fma(a, k, acc[r][0]);
            acc[r][1] = vf_fma(b, k, acc[r][1]);
        }
    }
}

static void tile(float *out, int64_t out_stride, const float *in, const float *ker)
{
    vf acc[ROWS][2];
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; ++r)
        acc[r][0] = acc[r][1] = vf_set(0);
    one_row(acc, in + 0 * IN_STRIDE, ker, 0, 0, 0);
    one_row(acc, in + 1 * IN_STRIDE, ker, 1, 0, 1);
    one_row(acc, in + 2 * IN_STRIDE, ker, 2, 0, 2);
    for (int y = 3; y < CONV_K; ++y)
        one_row(acc, in + y * IN_STRIDE, ker, y, 0, 3);
    one_row(acc, in + 11 * IN_STRIDE, ker, 11, 1, 3);
    one_row(acc, in + 12 * IN_STRIDE, ker, 12, 2, 3);
    one_row(acc, in + 13 * IN_STRIDE, ker, 13, 3, 3);
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; ++r) {
        vf_store(out + r * out_stride, acc[r][0]);
        vf_store(out + r * out_stride + VF, acc[r][1]);
    }
}

/* Rows i0 - HALO ... of the image, columns j0 - HALO ..., zero outside. */
static void pack(float *in, const float *img, int64_t h, int64_t w, int64_t i0, int64_t j0, int64_t rows, int64_t cols)
{
    int64_t left = j0 < CONV_HALO ? CONV_HALO - j0 : 0;
    int64_t end = w - (j0 - CONV_HALO);
    if (end > cols)
        end = cols;
    for (int64_t r = 0; r < rows; ++r, in += IN_STRIDE) {
        int64_t i = i0 - CONV_HALO + r;
        if (i < 0 || i >= h) {
            memset(in, 0, (size_t)cols * sizeof *in);
            continue;
        }
        memset(in, 0, (size_t)left * sizeof *in);
        memcpy(in + left, img + i * w + j0 - CONV_HALO + left, (size_t)(end - left) * sizeof *in);
        memset(in + end, 0, (size_t)(cols - end) * sizeof *in);
    }
}

void best_conv(float *out, const float *img, const float *ker, int64_t h, int64_t w, int64_t lo, int64_t hi)
{
    _Alignas(64) float in[IN_H * IN_STRIDE], edge[ROWS * 2 * VF];
    for (int64_t i0 = lo; i0 < hi; i0 += BLOCK_H)
        for (int64_t j0 = 0; j0 < w; j0 += BLOCK_W) {
            int64_t rows = hi - i0 < BLOCK_H ? hi - i0 : BLOCK_H, cols = w - j0 < BLOCK_W ? w - j0 : BLOCK_W;
            pack(in, img, h, w, i0, j0, (rows + ROWS - 1) / ROWS * ROWS + CONV_K - 1,
                 (cols + 2 * VF - 1) / (2 * VF) * (2 * VF) + CONV_K - 1);
            for (int64_t r = 0; r < rows; r += ROWS)
                for (int64_t c = 0; c < cols; c += 2 * VF) {
                    float *to = out + (i0 + r) * w + j0 + c;
                    if (r + ROWS <= rows && c + 2 * VF <= cols) {
                        tile(to, w, in + r * IN_STRIDE + c, ker);
                        continue;
                    }
                    tile(edge, 2 * VF, in + r * IN_STRIDE + c, ker);
                    for (int64_t y = r; y < rows && y < r + ROWS; ++y)
                        for (int64_t x = c; x < cols && x < c + 2 * VF; ++x)
                            to[(y - r) * w + x - c] = edge[(y - r) * 2 * VF + x - c];
                }
        }
}
#endif
