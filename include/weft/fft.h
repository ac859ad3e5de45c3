/* fft.h - discrete Fourier transforms of arrays.
 * Forward: X[k] = sum of x[j] exp(-2 pi i j k / n); inverse: the same with +. Any axes, any length from 1 on.
 * Dtypes: computed in f32, from f64, c128 and integers of 32 or 64 bits on in f64; f16 and c32 give c32.
 * Owns, Errors, Threads, Waits: as the functions of functions.h. wf_fft_c2c to wf_fft_filter take distributed arrays, too.
 * Cost: one pass over memory for each axis; a length whose prime factors are small is best (wf_fft_fast_size).
 * Reference: docs/reference/fft.md */
#ifndef WF_FFT_H
#define WF_FFT_H
#include "weft/functions.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Which transforms are scaled. n: the number of elements along the axes. */
typedef enum wf_fft_norm {
    WF_FFT_BACKWARD, /* the inverse by 1/n, as NumPy */
    WF_FFT_FORWARD,  /* the forward one by 1/n */
    WF_FFT_ORTHO,    /* both by 1/sqrt(n) */
    WF_FFT_NONE      /* neither */
} wf_fft_norm;
/* The transform of all elements along axes (WF_AXES or WF_ALL_AXES), of real or complex arrays: complex, of x's shape.
 * Example: wf_array *spectra = wf_fft_c2c(images, WF_AXES(1, 2), false, WF_FFT_BACKWARD); */
WF_API wf_array *wf_fft_c2c(const wf_array *x, wf_axes axes, bool inverse, wf_fft_norm norm);
/* The forward transform of real elements, without the half that follows by symmetry:
 * the last of the axes has extent n/2 + 1 in the result. */
WF_API wf_array *wf_fft_r2c(const wf_array *x, wf_axes axes, wf_fft_norm norm);
/* The inverse of wf_fft_r2c: real, of extent `last` along the last of the axes (-1: 2 (n - 1)). x may be real, too.
 * Elements that symmetry makes real count with their real part along the last axis.
 * Errors: WF_ERR_SHAPE: x's extent there is not last/2 + 1. */
WF_API wf_array *wf_fft_c2r(const wf_array *x, int64_t last, wf_axes axes, wf_fft_norm norm);
/* A transform into an array. Real to complex is wf_fft_r2c if the shapes say so, complex to real wf_fft_c2r (`inverse`
 * is then implied), others wf_fft_c2c; converted as a cast.
 * Aliasing: `out` may be `x` (in place); other overlaps are copied first. Any views but broadcast ones. */
WF_API wf_status wf_fft_into(wf_array *out, const wf_array *x, wf_axes axes, bool inverse, wf_fft_norm norm);

/* Transforms x, applies `filter` to each element of the spectrum, and transforms back. Arrays are real.
 * filter: in[0] is an element of the half spectrum (wf_fft_r2c, unscaled), index its indices; it sets out[0]. It is
 * called once, to record, in an index space of the library's own, and may read arrays by index.
 * Aliasing: `out` has x's shape; it may be `x`, or any other view but a broadcast one.
 * Cost: the filter is part of the pass along the first of several axes, unless large primes divide its extent. */
WF_API wf_status wf_fft_filter(wf_array *out, const wf_array *x, wf_axes axes, wf_hook *filter, void *user);

/* Discrete cosine transforms of real arrays, of type 1 to 4, unscaled as SciPy: type 2 is y[k] = 2 sum of
 * x[j] cos(pi k (2j + 1) / 2n). `inverse`: the transform back (of type 3 for type 2), scaled.
 * norm: n is 2 (n - 1) for type 1 and 2n for others; WF_FFT_ORTHO makes the transform orthogonal.
 * Errors: complex arrays are WF_ERR_DTYPE; type 1 of one element is WF_ERR_SHAPE. Source: Makhoul (1980).
 * Cost: a transform of n real elements and two passes over the array for each axis. */
WF_API wf_array *wf_dct(const wf_array *x, int type, wf_axes axes, bool inverse, wf_fft_norm norm);
/* Discrete sine transforms, likewise: type 2 is y[k] = 2 sum of x[j] sin(pi (k + 1) (2j + 1) / 2n).
 * norm: n is 2 (n + 1) for type 1. */
WF_API wf_array *wf_dst(const wf_array *x, int type, wf_axes axes, bool inverse, wf_fft_norm norm);

/* Points z[k] = a w^-k of a transform, in polar coordinates: |z[k]| = radius growth^k, and the angle of z[k] is
 * first + k step cycles. For a piece of the spectrum, `first` and `step` are frequencies in cycles per element. */
typedef struct wf_czt_points {
    int64_t count;         /* > 0 */
    double first, step;    /* any sign; used exactly, even if long lines multiply them by large numbers */
    double radius, growth; /* > 0; 0 = 1, on the unit circle */
} wf_czt_points;
/* Chirp z-transform along an axis: y[k] = sum of x[j] z[k]^-j, complex, unscaled; the axis has extent count. With
 * { n, 0, 1.0 / n } it is wf_fft_c2c, with other points a spectrum seen as closely as wanted (zoom FFT).
 * With another growth than 1, growth^(m^2/2), m the larger of n and count, is the factor by which errors exceed those of f64.
 * Cost: two transforms of at least n + count - 1 elements in one pass. Source: Rabiner, Schafer and Rader (1969).
 * Example: wf_czt(x, -1, &(wf_czt_points){ .count = 64, .first = 0.1, .step = 1e-4 }) */
WF_API wf_array *wf_czt(const wf_array *x, int axis, const wf_czt_points *points);

/* Spectra with frequency 0 in the middle: element k moves to (k + n/2) mod n along the axes, as NumPy's fftshift;
 * `inverse`: back, as ifftshift. Any dtype. */
WF_API wf_array *wf_fft_shift(const wf_array *x, wf_axes axes, bool inverse);
/* Crops or pads a spectrum of arrays of shape `from` to one of arrays of shape `to`, in the order of wf_fft_c2c or, where
 * the extents say so, wf_fft_r2c. Scaled, so that the inverse transform interpolates; the element of an even extent's
 * highest frequency is split in two, or two are added.
 * Errors: WF_ERR_SHAPE: extents that do not belong together. */
WF_API wf_array *wf_fft_resize(const wf_array *spectrum, wf_shape from, wf_shape to, wf_axes axes);

/* The smallest length from n on, even if asked for, with no prime factor above 7; -1 beyond 2^40. */
WF_API int64_t wf_fft_fast_size(int64_t n, bool even);

#ifdef __cplusplus
}
#endif
#endif
