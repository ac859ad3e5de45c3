/* kernels.h - the hand-written C that Weft is compared with. Every function covers lo <= i < hi (conv: rows).
 *
 * plain_*: what a scientist writes, compiled with -O3 -march=native; fast_*: the same source with -ffast-math.
 * best_*: intrinsics, several accumulators, streaming stores, register tiles; only where bench_best_available.
 */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H
#include <stdbool.h>
#include <stdint.h>

enum { CONV_K = 11, CONV_HALO = CONV_K / 2 };
/* The part of the plane of the Mandelbrot rows. */
#define MANDELBROT_X (-2.0f)
#define MANDELBROT_Y (-1.3f)
#define MANDELBROT_SIZE 2.6f

/* Sums over some axes of a 4-d array: loops, outermost first; steps through the array and through the results, 0
 * where the axis is reduced. The first loop is over a kept axis. kept: how many of the first loops are; the last one
 * not counted. */
typedef struct bench_nest {
    int64_t dim[4], x[4], out[4];
    int kept;
} bench_nest;

/* Rows of values in memory: from one row to the next in x and in the results, and from one value of x to the next. */
typedef struct bench_rows_of {
    int64_t width, row, step, out_row;
} bench_rows_of;
enum { HISTOGRAM_BINS = 128 };

#define BENCH_PLAIN(set)                                                                                           \
    /* out = a*b + c */                                                                                            \
    void set##_triad(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi);          \
    /* out = cos(x/a + b) + exp(-x*x) * sqrt(x) */                                                                 \
    void set##_math(float *out, const float *x, float a, float b, int64_t lo, int64_t hi);                         \
    /* sum of x, and of (a - b)^2, accumulated in f64 */                                                           \
    double set##_sum(const float *x, int64_t lo, int64_t hi);                                                      \
    double set##_sqdiff(const float *a, const float *b, int64_t lo, int64_t hi);                                   \
    /* out = x summed as the nest says, in f64; lo and hi: of the first loop. acc: room for all results */         \
    void set##_axes(float *out, double *acc, const float *x, const bench_nest *nest, int64_t lo, int64_t hi);      \
    /* 11x11 window, zero outside; img and out are [h, w] */                                                       \
    void set##_conv(float *out, const float *img, const float *ker, int64_t h, int64_t w, int64_t lo, int64_t hi); \
    /* how often z*z + c stays within 2, up to `limit`; count is [side, side] */                                   \
    void set##_mandelbrot(int32_t *count, int64_t side, int limit, int64_t lo, int64_t hi);                        \
    /* out = a, five times multiplied by b and increased by c: 10 operations */                                    \
    void set##_ten(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi);
/* plain_arrays.c, where each is explained; lo and hi: of rows, or of values */
#define BENCH_ARRAYS(set)                                                                                \
    /* out = x * 2 + 1 */                                                                                \
    void set##_rows(float *out, const float *x, const bench_rows_of *of, int64_t lo, int64_t hi);        \
    void set##_blocks_rows(float *out, const float *x, const bench_rows_of *of, int64_t lo, int64_t hi); \
    void set##_transpose(float *out, const float *x, int64_t side, int64_t lo, int64_t hi);              \
    void set##_blocks_transpose(float *out, const float *x, int64_t side, int64_t lo, int64_t hi);       \
    int64_t set##_argmax(const float *x, int64_t lo, int64_t hi);                                        \
    int64_t set##_blocks_argmax(const float *x, int64_t lo, int64_t hi);                                 \
    void set##_moments(double out[2], const float *x, int64_t lo, int64_t hi);                           \
    void set##_blocks_moments(double out[2], const float *x, int64_t lo, int64_t hi);                    \
    void set##_histogram(int64_t count[HISTOGRAM_BINS], const float *x, int64_t lo, int64_t hi);         \
    void set##_blocks_histogram(int64_t count[HISTOGRAM_BINS], const float *x, int64_t lo, int64_t hi);  \
    /* cumulative sums that begin with `sum`; returns the last */                                        \
    double set##_scan(float *out, const float *x, double sum, int64_t lo, int64_t hi);
BENCH_ARRAYS(plain)
BENCH_ARRAYS(fast)
BENCH_PLAIN(plain)
BENCH_PLAIN(fast)
BENCH_PLAIN(best)

/* With streaming stores; the caller aligns lo and hi to 16 elements and the arrays to 64 bytes. */
void best_triad_stream(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi);
/* As best_math, but dividing and taking roots as IEEE has it. */
void best_math_ieee(float *out, const float *x, float a, float b, int64_t lo, int64_t hi);
bool bench_best_loop_available(void); /* best_mandelbrot */
/* f, a vector function of one or two arguments of best_vector_bits (0: no such vectors), over n values; n is a multiple
 * of a vector's lanes. */
int best_vector_bits(void);
void best_apply(void *f, bool wide, int arity, void *out, const void *x, const void *y, int64_t n);
bool bench_best_available(void);
const char *bench_best_isa(void); /* "avx512", "avx2", "" */
#endif
