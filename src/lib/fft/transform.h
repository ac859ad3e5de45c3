/* transform.h - transforms of one axis (axis.c), of several axes (axes.c), of small arrays again and again (repeat.c), of
 * arrays on a tape (on_tape.c), of distributed arrays (distributed.c), and the functions that stand on them: transform.c, filters between transforms
 * (filter.c), cosine and sine transforms (cosine.c), and transforms at points of a spiral (chirp.c). */
#ifndef WEFT_FFT_TRANSFORM_H
#define WEFT_FFT_TRANSFORM_H
#include "pass.h"
#include "weft/derivative.h"

enum { WFL_CACHE_OF_CORE = 1 << 20, WFL_CACHE_OF_ALL = 16 << 20 }; /* bytes that stay in caches for the next pass */

typedef struct wfl_plan { /* a whole transform */
    wf_context *ctx;
    const char *function;
    wf_fft_norm norm;
    bool inverse;
    wf_dtype part;
    wf_shape whole; /* of the spectrum of which arrays have a part, along other axes than the pass's; rank 0: they have
                       all */
} wfl_plan;

static inline wf_dtype wfl_complex_dtype(wf_dtype part) { return part == WF_F64 ? WF_C128 : WF_C64; }

/* The factor of a transform of n elements. */
double wfl_scale_of(wf_fft_norm norm, bool inverse, double n);
/* The dtype of the spectrum of an array of this dtype, and that of the computation. */
wf_dtype wfl_spectrum_dtype(wf_dtype dtype);
wf_dtype wfl_part_of(wf_dtype dtype);
static inline wf_array *wfl_new_beside(const wf_array *x, wf_dtype dtype, wf_shape shape)
{
    return wfl_array_beside(x, dtype, &shape);
}
/* Elements i to i + n of the first axis. */
static inline wf_array *wfl_some(wf_array *array, int64_t i, int64_t n)
{
    return n == wf_array_shape(array).dim[0] ? wf_retain(array) : wf_view_slice(array, 0, i, i + n, 1);
}

static inline int wfl_first_of(wf_axes axes)
{
    int first = 0;
    while (!(axes >> first & 1))
        ++first;
    return first;
}

static inline int wfl_last_of(wf_axes axes)
{
    int last = 0;
    while (axes >> (last + 1))
        ++last;
    return last;
}

static inline double wfl_bytes_of(const wf_array *a)
{
    return (double)wf_array_count(a) * (double)wf_dtype_size(wf_array_dtype(a));
}

/* ---- one axis. x and y: [outer, n, inner] in C order ---- */
typedef struct wfl_axis_pass {
    const wfl_plan *plan;
    wfl_fft_kind kind;
    int64_t n;            /* length of the lines in space */
    int64_t outer, inner; /* of the whole array, of which x and y may be a part: they decide on the way; 0: of x */
    double scale;
    wfl_chirp chirp;       /* of WFL_FFT_CHIRP */
    const wf_array *start; /* complex [n], multiplied with the elements of WFL_FFT_CHIRP; NULL = none */
} wfl_axis_pass;
wfl_pass wfl_describe(const wfl_axis_pass *a, const wf_array *y, const wf_array *x);
wf_status wfl_transform_axis(const wfl_axis_pass *a, wf_array *y, const wf_array *x);
/* How many parts of a batch, of so many bytes each, the caches of all threads hold; at least 1. */
int64_t wfl_held_in_caches(const wfl_plan *p, double each);

/* The fraction of step * k in a recording, f64; k: a whole number below 2^53, f64. */
wf_val wfl_turns_of(double step, wf_val k);

/* ---- all axes ---- */
/* A transform of several axes: x and y in C order. The last pass scales. */
typedef struct wfl_whole {
    const wfl_plan *plan;
    wfl_fft_kind kind;
    wf_axes axes;
    double scale;
} wfl_whole;
wf_status wfl_run_whole(const wfl_whole *w, wf_array *y, const wf_array *x);
/* The same; small transforms of layouts that were transformed before are replayed (repeat.c). */
wf_status wfl_run_repeated(const wfl_whole *w, wf_array *y, const wf_array *x);
/* True if a tape notes what is computed with the arrays. */
static inline bool wfl_is_taped(const wf_array *y, const wf_array *x) { return wf_is_taped(x) || wf_is_taped(y); }
/* The same on a tape, which notes the derivative. y and x: in C order. */
wf_status wfl_run_on_tape(const wfl_whole *w, wf_array *y, const wf_array *x);
/* ---- distributed arrays ---- */
/* Collective: the same of distributed arrays. */
wf_status wfl_run_distributed(const wfl_whole *w, wf_array *y, const wf_array *x);

/* Views [outer, n, inner] of an array in C order, around an axis. */
wf_array *wfl_around(const wf_array *array, int axis);
/* Merges all axes before `axis` into one. */
wf_shape wfl_batch_shape(const wf_shape *shape, int axis);
/* Views the array so. */
wf_array *wfl_batch_of(const wf_array *array, int axis);
/* Checks the axes and extents of a transform. `what` names the array in messages. */
bool wfl_checked(const wfl_plan *p, const wf_array *x, wf_axes *axes, const char *what);
#endif
