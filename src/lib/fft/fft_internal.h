/* fft_internal.h - what the files of Fourier transforms share. They stand on the public headers only.
 *
 * axes.c takes a transform of several axes apart into axes, and axis.c an axis into passes. A pass (pass.c) runs
 * a kernel (pass_kernel.c) over the lines along its axis: each point of the index space transforms one line, so the lanes
 * of a vector are transforms side by side. Data flows through a line in this order:
 *
 *     read -> steps of butterflies in the block's scratch (line.c, butterfly.c) -> write
 *
 * Lengths are taken apart by factor.c. Roots of unity come from tables (table.c). Complex values are pairs of values.
 */
#ifndef WEFT_FFT_INTERNAL_H
#define WEFT_FFT_INTERNAL_H
#include "weft/fft.h"

/* ---- factor.c: lengths ---- */
enum {
    WFL_FFT_UNROLLED = 16,  /* radices up to this one are written out */
    WFL_FFT_LOOPED = 128,   /* larger prime radices, up to this one, are loops of p^2 operations */
    WFL_FFT_MOST_STEPS = 40 /* steps of one length: 2^40 is beyond all memory */
};
/* The radices of the steps of a transform, in order. Their product is the length. */
typedef struct wfl_radices {
    int n;
    int32_t at[WFL_FFT_MOST_STEPS];
} wfl_radices;
/* Takes n >= 1 apart. False if n has a prime factor above WFL_FFT_LOOPED. */
bool wfl_fft_radices(int64_t n, wfl_radices *out);
/* The estimated number of operations of each element; of any n. */
double wfl_fft_cost(int64_t n);
/* The cheapest length of a cyclic convolution from `least` on. Bluestein's algorithm needs n + m - 1, for n elements and
 * m results. */
int64_t wfl_fft_convolution(int64_t least);
/* Sets *a * *b = n, as close to each other as n's factors allow; *a = 1 if n is prime. */
void wfl_fft_halves(int64_t n, int64_t *a, int64_t *b);

/* ---- butterfly.c: short transforms of values ---- */
typedef struct wfl_pair {
    wf_val re, im;
} wfl_pair;
wfl_pair wfl_pair_add(wfl_pair a, wfl_pair b);
wfl_pair wfl_pair_sub(wfl_pair a, wfl_pair b);
wfl_pair wfl_pair_mul(wfl_pair a, wfl_pair b);
static inline wfl_pair wfl_pair_swapped(wfl_pair a) { return (wfl_pair){ a.im, a.re }; }
/* Replaces n <= WFL_FFT_UNROLLED values by their forward transform. `part`: the dtype of parts. */
void wfl_butterfly(wf_graph *g, wf_dtype part, wfl_pair *x, int n);

/* ---- table.c: constants of a length ---- */
/* cos and sin of 2 pi i / n, each rounded once from more than f64's precision needs. */
void wfl_fft_root(int64_t i, int64_t n, double *re, double *im);
/* The numbers growth^(-k^2 / 2) exp(-i pi k^2 step). */
typedef struct wfl_chirp {
    int64_t turn;       /* step is 1/turn, exactly, and growth 1; 0 = `step` is the number */
    double step;        /* cycles */
    double log2_growth; /* 0 = on the unit circle */
} wfl_chirp;
/* A table of pairs: the roots exp(-2 pi i k / n) for k < n; for each looped radix p, (p - 1)^2 / 4 values cos, sin of
 * 2 pi j k / p, 1 <= j, k <= (p - 1) / 2; for Bluestein's algorithm as many chirps as elements or results, and the
 * transformed filter. */
typedef struct wfl_table {
    int32_t pairs;
    int32_t root, looped[WFL_FFT_MOST_STEPS], chirp, filter, real; /* where each part begins */
} wfl_table;

/* ---- line.c: one line ---- */
typedef struct wfl_line wfl_line;
/* Reads element k, an i64 or a number. */
typedef wfl_pair wfl_read(wfl_line *line, wf_val k);
/* Takes element k. `place` is its position in the scratch, where transforms leave elements in another order. */
typedef void wfl_write(wfl_line *line, wf_val k, wf_val place, wfl_pair v);
struct wfl_line {
    wf_graph *g;
    wf_dtype part;
    wf_val lane;           /* the line's column of scratch */
    const wf_array *table; /* part [2 pairs] */
    wfl_table at;
    wf_array *work;   /* scratch of the steps, part [length, 2, lanes] */
    wf_array *other;  /* scratch beside it, for elements in natural order; may be NULL */
    wf_array *looped; /* scratch of looped radices, part [p, 2, lanes]; NULL = there are none */
    const void *user; /* of read and write */
};
wfl_pair wfl_line_table(const wfl_line *line, wf_val index);
wfl_pair wfl_line_get(const wfl_line *line, const wf_array *scratch, wf_val k);
void wfl_line_put(const wfl_line *line, wf_array *scratch, wf_val k, wfl_pair v);
/* Forward transform, decimated in frequency: from `read` to `write`, in line->work between them. */
void wfl_line_forward(wfl_line *line, const wfl_radices *radices, wfl_read *read, wfl_write *write);
/* Transforms what is in line->work at `place`, with parts swapped, back into natural order: the inverse transform,
 * unscaled, with parts swapped, to `write`. NULL: to line->work. */
void wfl_line_backward(wfl_line *line, const wfl_radices *radices, wfl_write *write);
/* Sums of n elements times powers of points, of which the table has the chirps, through a convolution of the length
 * that `radices` have, by Bluestein's algorithm. */
void wfl_line_bluestein(wfl_line *line, int32_t n, int32_t results, const wfl_radices *radices, wfl_read *read,
                        wfl_write *write);
#endif
