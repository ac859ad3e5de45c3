/* best_loop.c - the Mandelbrot set, best effort: four independent vectors hide the latency of each iteration. */
#include "kernels.h"
#include "vec.h"

#if BENCH_VEC == 512
enum { FLIGHT = 4 };

static void step(__m512 *x, __m512 *y, __m512 cx, __m512 cy, __m512i *n, __mmask16 *on)
{
    __m512 xx = _mm512_mul_ps(*x, *x), yy = _mm512_mul_ps(*y, *y);
    __mmask16 in = _mm512_mask_cmp_ps_mask(*on, _mm512_add_ps(xx, yy), _mm512_set1_ps(4), _CMP_LE_OQ);
    *on = in;
    *y = _mm512_fmadd_ps(_mm512_add_ps(*x, *x), *y, cy);
    *x = _mm512_add_ps(_mm512_sub_ps(xx, yy), cx);
    *n = _mm512_mask_add_epi32(*n, in, *n, _mm512_set1_epi32(1));
}

void best_mandelbrot(int32_t *count, int64_t side, int limit, int64_t lo, int64_t hi)
{
    const float scale = MANDELBROT_SIZE / (float)side;
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    for (int64_t i = lo; i < hi; ++i) {
        const __m512 cy = _mm512_set1_ps((float)i * scale + MANDELBROT_Y);
        for (int64_t j = 0; j < side; j += FLIGHT * VF) { /* side is a multiple of the step */
            __m512 x[FLIGHT], y[FLIGHT], cx[FLIGHT];
            __m512i n[FLIGHT];
            __mmask16 on[FLIGHT];
            for (int k = 0; k < FLIGHT; ++k) {
                __m512i at = _mm512_add_epi32(lanes, _mm512_set1_epi32((int)j + k * VF));
                cx[k] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(at), _mm512_set1_ps(scale), _mm512_set1_ps(MANDELBROT_X));
                x[k] = y[k] = _mm512_setzero_ps();
                n[k] = _mm512_setzero_si512();
                on[k] = 0xffff;
            }
            for (int t = 0; t < limit && (on[0] | on[1] | on[2] | on[3]); ++t) {
                step(&x[0], &y[0], cx[0], cy, &n[0], &on[0]);
                step(&x[1], &y[1], cx[1], cy, &n[1], &on[1]);
                step(&x[2], &y[2], cx[2], cy, &n[2], &on[2]);
                step(&x[3], &y[3], cx[3], cy, &n[3], &on[3]);
            }
            for (int k = 0; k < FLIGHT; ++k)
                _mm512_storeu_si512(count + i * side + j + k * VF, n[k]);
        }
    }
}
bool bench_best_loop_available(void) { return true; }
#else
void best_mandelbrot(int32_t *count, int64_t side, int limit, int64_t lo, int64_t hi)
{
    (void)count, (void)side, (void)limit, (void)lo, (void)hi;
}
bool bench_best_loop_available(void) { return false; }
#endif
