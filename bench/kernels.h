/* kernels.h - the hand-written C that Weft is compared with. Every function covers lo <= i < hi (conv: rows).
 *
 * plain_*: the loop as a scientist writes it, compiled with -O3 -march=native; fast_*: the same source with -ffast-math.
 * best_*: intrinsics, several accumulators, streaming stores, register tiles; only if bench_best_available().
 */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H
#include <stdbool.h>
#include <stdint.h>

#ifdef __clang__ /* has no "GCC ivdep", which the peers use, and finds by tests at run time what it says */
#pragma clang diagnostic ignored "-Wunknown-pragmas"
#endif

enum { CONV_K = 11, CONV_HALO = CONV_K / 2 };
/* The square of the complex plane that the Mandelbrot rows cover. */
#define MANDELBROT_X (-2.0f)
#define MANDELBROT_Y (-1.3f)
#define MANDELBROT_SIZE 2.6f

/* The loops of a sum over some axes of a 4-d array, outermost first. The first loop is over a kept axis. */
typedef struct bench_nest {
    int64_t dim[4], x[4], out[4]; /* extents, steps in the array, steps in the results (0 = the axis is reduced) */
    int kept;                     /* number of outer loops over kept axes, without the innermost loop */
} bench_nest;

/* Rows of values in memory. */
typedef struct bench_rows_of {
    int64_t width;   /* values of a row */
    int64_t row;     /* step from row to row in x */
    int64_t step;    /* step from value to value in x */
    int64_t out_row; /* step from row to row in the results */
} bench_rows_of;
enum { HISTOGRAM_BINS = 128 };

#define BENCH_PLAIN(set)                                                                                            \
    /* out = a*b + c */                                                                                             \
    void set##_triad(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi);           \
    /* out = cos(x/a + b) + exp(-x*x) * sqrt(x) */                                                                  \
    void set##_math(float *out, const float *x, float a, float b, int64_t lo, int64_t hi);                          \
    /* sum of x, and of (a - b)^2, accumulated in f64 */                                                            \
    double set##_sum(const float *x, int64_t lo, int64_t hi);                                                       \
    double set##_sqdiff(const float *a, const float *b, int64_t lo, int64_t hi);                                    \
    /* out = sums of x by the loops of the nest, in f64; lo and hi: of the first loop; acc: room for all results */ \
    void set##_axes(float *out, double *acc, const float *x, const bench_nest *nest, int64_t lo, int64_t hi);       \
    /* 11x11 window, zero outside; img and out are [h, w] */                                                        \
    void set##_conv(float *out, const float *img, const float *ker, int64_t h, int64_t w, int64_t lo, int64_t hi);  \
    /* count [side, side]: iterations of z*z + c until |z| > 2, up to `limit` */                                    \
    void set##_mandelbrot(int32_t *count, int64_t side, int limit, int64_t lo, int64_t hi);                         \
    /* out = a, five times multiplied by b and increased by c: 10 operations */                                     \
    void set##_ten(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi);
/* plain_arrays.c, which explains each; lo and hi: of rows, or of values */
#define BENCH_ARRAYS(set)                                                                                    \
    /* out = x * 2 + 1 */                                                                                    \
    void set##_rows(float *out, const float *x, const bench_rows_of *of, int64_t lo, int64_t hi);            \
    void set##_blocks_rows(float *out, const float *x, const bench_rows_of *of, int64_t lo, int64_t hi);     \
    void set##_transpose(float *out, const float *x, int64_t side, int64_t lo, int64_t hi);                  \
    void set##_blocks_transpose(float *out, const float *x, int64_t side, int64_t lo, int64_t hi);           \
    int64_t set##_argmax(const float *x, int64_t lo, int64_t hi);                                            \
    int64_t set##_blocks_argmax(const float *x, int64_t lo, int64_t hi);                                     \
    void set##_moments(double out[2], const float *x, int64_t lo, int64_t hi);                               \
    void set##_blocks_moments(double out[2], const float *x, int64_t lo, int64_t hi);                        \
    void set##_histogram(int64_t count[HISTOGRAM_BINS], const float *x, int64_t lo, int64_t hi);             \
    void set##_blocks_histogram(int64_t count[HISTOGRAM_BINS], const float *x, int64_t lo, int64_t hi);      \
    void set##_edges_histogram(int64_t count[HISTOGRAM_BINS], const float *x, int64_t lo, int64_t hi);       \
    /* sums of the 27 neighbours in a volume of side^3; indices outside are clamped; lo and hi: of planes */ \
    void set##_stencil27(float *out, const float *x, int64_t side, int64_t lo, int64_t hi);                  \
    /* the same with separate columns at both ends of a row */                                               \
    void set##_blocks_stencil27(float *out, const float *x, int64_t side, int64_t lo, int64_t hi);           \
    /* cumulative sums, starting from `sum`; returns the last one */                                         \
    double set##_scan(float *out, const float *x, double sum, int64_t lo, int64_t hi);
BENCH_ARRAYS(plain)
BENCH_ARRAYS(fast)
BENCH_PLAIN(plain)
BENCH_PLAIN(fast)
BENCH_PLAIN(best)

/* With streaming stores; the caller aligns lo and hi to 16 elements and the arrays to 64 bytes. */
void best_triad_stream(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi);
/* As best_math, but with the correctly rounded division and square root. */
void best_math_ieee(float *out, const float *x, float a, float b, int64_t lo, int64_t hi);
/* best_derivatives.c: losses, and their derivatives with them (grad_row.h). lo and hi are multiples of 64; dx is
 * aligned to 64 bytes.
 * math: sums are the loss and its derivatives with respect to a and b; those with respect to x are in dx. */
double best_math_primal(const float *x, const float *t, float a, float b, int64_t lo, int64_t hi);
void best_math_gradient(float *dx, double sum[3], const float *x, const float *t, float a, float b, int64_t lo,
                        int64_t hi);
/* The sum of table[k]^2. copies: [TABLE_COPIES][size], whose sum over copies becomes the derivative. */
enum { TABLE_COPIES = 8 };
double best_table_primal(const float *table, const int32_t *index, int64_t lo, int64_t hi);
double best_table_gradient(float *copies, const float *table, int32_t size, const int32_t *index, int64_t lo,
                           int64_t hi);
/* Returns log(sum(exp(x))), or the mean of w with weights exp(x) if w is given, of a row of up to 4096 values. dx: becomes
 * its derivative with respect to x; may be NULL. */
double best_softmax_row(float *dx, const float *x, const float *w, int n);
/* The sum of plain_ten, and its derivatives with respect to a, b and c; n is a multiple of 64. */
float best_ten_primal(const float *a, const float *b, const float *c, int64_t n);
float best_ten_gradient(float *const d[3], const float *a, const float *b, const float *c, int64_t n);
/* The sum of LOGISTIC_TURNS turns of x = r x (1 - x), and its derivatives: by x in dx, by r in sum[1]. */
enum { LOGISTIC_TURNS = 64 };
double best_logistic_primal(const float *x, float r, int64_t lo, int64_t hi);
void best_logistic_gradient(float *dx, double sum[2], const float *x, float r, int64_t lo, int64_t hi);
/* The derivative of set_conv with respect to the kernel, from that with respect to the result: up; w: at most 4096. */
void best_conv_kernel(double *sum, const float *img, const float *up, int64_t h, int64_t w, int64_t lo, int64_t hi);
/* res: the image turned by an angle about its middle, less the target; without vectors, too. side: at most 4096. */
void best_rotate(float *res, const float *img, const float *target, int side, float angle, int64_t lo, int64_t hi);
/* As best_rotate. Returns the derivative of the sum of res^2 / 2 with respect to the angle. */
double best_rotate_angle(float *res, const float *img, const float *target, int side, float angle, int64_t lo,
                         int64_t hi);
void best_rotate_image(float *dimg, const float *res, int side, float angle, int64_t lo, int64_t hi);
bool bench_best_loop_available(void); /* best_mandelbrot */
int best_vector_bits(void);           /* 0 = no vectors */
/* Calls f, a vector function of `arity` arguments of best_vector_bits(), on n values. n is a multiple of the lanes. */
void best_apply(void *f, bool wide, int arity, void *out, const void *x, const void *y, int64_t n);
bool bench_best_available(void);
const char *bench_best_isa(void); /* "avx512", "avx2", "" */
#endif
