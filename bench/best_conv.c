/* best_conv.c - 11x11 convolution, best effort. Blocks of the image are copied with their zero border into a small buffer,
 * whose stride is no power of two. 6 rows x 3 vectors of results (AVX2: 4 x 2) stay in registers, so that up to 6 rows use
 * each loaded vector. */
#include "kernels.h"
#include "vec.h"

#if BENCH_VEC
#include <string.h>

enum {
    ROWS = VF == 16 ? 6 : 4, /* rows of a register tile */
    COLS = VF == 16 ? 3 : 2, /* vectors of a row of the tile */
    TILE_W = COLS * VF,
    BLOCK_H = 36,
    BLOCK_W = 240,
    IN_H = BLOCK_H + CONV_K - 1,
    IN_STRIDE = BLOCK_W + TILE_W + 16 /* no power of two */
};
_Static_assert(BLOCK_H % ROWS == 0 && BLOCK_W % TILE_W == 0, "blocks hold whole tiles");

/* Adds input row y of a tile to the result rows first to last; result row r uses kernel row y - r. */
__attribute__((always_inline)) static inline void one_row(vf acc[ROWS][COLS], const float *in, const float *ker, int y,
                                                          int first, int last)
{
#pragma GCC unroll 11
    for (int x = 0; x < CONV_K; ++x) {
        vf v[COLS];
#pragma GCC unroll 3
        for (int c = 0; c < COLS; ++c)
            v[c] = vf_load(in + x + c * VF);
#pragma GCC unroll 6
        for (int r = first; r <= last; ++r) {
            vf k = vf_set(ker[(y - r) * CONV_K + x]);
#pragma GCC unroll 3
            for (int c = 0; c < COLS; ++c)
                acc[r][c] = vf_fma(v[c], k, acc[r][c]);
        }
    }
}

static void tile(float *out, int64_t out_stride, const float *in, const float *ker)
{
    vf acc[ROWS][COLS];
#pragma GCC unroll 6
    for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 3
        for (int c = 0; c < COLS; ++c)
            acc[r][c] = vf_set(0);
#pragma GCC unroll 5
    for (int y = 0; y < ROWS - 1; ++y)
        one_row(acc, in + y * IN_STRIDE, ker, y, 0, y);
    for (int y = ROWS - 1; y < CONV_K; ++y)
        one_row(acc, in + y * IN_STRIDE, ker, y, 0, ROWS - 1);
#pragma GCC unroll 5
    for (int y = CONV_K; y < CONV_K + ROWS - 1; ++y)
        one_row(acc, in + y * IN_STRIDE, ker, y, y - CONV_K + 1, ROWS - 1);
#pragma GCC unroll 6
    for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 3
        for (int c = 0; c < COLS; ++c)
            vf_store(out + r * out_stride + c * VF, acc[r][c]);
}

/* Copies the block of the image from row i0 - HALO and column j0 - HALO on, with zeros outside the image. */
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
    _Alignas(64) float in[IN_H * IN_STRIDE], edge[ROWS * TILE_W];
    for (int64_t i0 = lo; i0 < hi; i0 += BLOCK_H)
        for (int64_t j0 = 0; j0 < w; j0 += BLOCK_W) {
            int64_t rows = hi - i0 < BLOCK_H ? hi - i0 : BLOCK_H, cols = w - j0 < BLOCK_W ? w - j0 : BLOCK_W;
            pack(in, img, h, w, i0, j0, (rows + ROWS - 1) / ROWS * ROWS + CONV_K - 1,
                 (cols + TILE_W - 1) / TILE_W * TILE_W + CONV_K - 1);
            for (int64_t r = 0; r < rows; r += ROWS)
                for (int64_t c = 0; c < cols; c += TILE_W) {
                    float *to = out + (i0 + r) * w + j0 + c;
                    if (r + ROWS <= rows && c + TILE_W <= cols) {
                        tile(to, w, in + r * IN_STRIDE + c, ker);
                        continue;
                    }
                    tile(edge, TILE_W, in + r * IN_STRIDE + c, ker);
                    for (int64_t y = r; y < rows && y < r + ROWS; ++y)
                        for (int64_t x = c; x < cols && x < c + TILE_W; ++x)
                            to[(y - r) * w + x - c] = edge[(y - r) * TILE_W + x - c];
                }
        }
}
#endif
