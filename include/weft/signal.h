/* signal.h - spectra, filters, contrast transfer functions, shells and correlation, for electron microscopy and others.
 * First functions of values, as traced.h: they record into the graph of their operands, for index spaces and array
 * graphs, and mistakes poison the graph. Then functions of arrays, as functions.h.
 * Axes are in the order (z, y, x); frequencies are in cycles/pixel unless a function says 1/Angstrom.
 * Reference: docs/reference/signal.md */
#ifndef WF_SIGNAL_H
#define WF_SIGNAL_H
#include "weft/functions.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- spectra ----------------------------------------------------------------------------------------------------
 * The order of the elements along the axes of a spectrum. */
typedef enum wf_layout {
    WF_LAYOUT_H,  /* half, as wf_fft_r2c: the last axis has n/2 + 1 elements */
    WF_LAYOUT_HC, /* half; frequency 0 of all axes but the last is at n/2 */
    WF_LAYOUT_F,  /* full, as wf_fft_c2c */
    WF_LAYOUT_FC  /* full; frequency 0 is at n/2 */
} wf_layout;
/* A description of the last `rank` axes of an array that holds a spectrum. */
typedef struct wf_spectrum {
    wf_layout layout;
    wf_dtype dtype;  /* of frequencies: WF_F32 or WF_F64; 0 = WF_F32 */
    int32_t rank;    /* 1 to 3 */
    int64_t size[3]; /* logical extents, those of the image, 1 to 2^30 */
} wf_spectrum;
/* The frequency at an index along an axis, correctly rounded: k/n, from -0.5 to below 0.5.
 * The last axis of half layouts goes from 0 to 0.5, so Nyquist is +0.5 there and -0.5 elsewhere.
 * Example: wf_val kx = wf_freq(g, &(wf_spectrum){ WF_LAYOUT_H, WF_F32, 2, { h, w } }, 1, wf_index(g, 1)); */
WF_API wf_val wf_freq(wf_graph *graph, const wf_spectrum *spectrum, int axis, wf_val index);
/* |k|: the length of the frequency vector at an index, one for each axis of the spectrum. */
WF_API wf_val wf_freq_norm(wf_graph *graph, const wf_spectrum *spectrum, wf_vals index);
/* How many elements of the full spectrum the element stands for, of the spectrum's dtype: 2 in half layouts except at
 * frequency 0 and Nyquist of the last axis; else 1. */
WF_API wf_val wf_hermitian_weight(wf_graph *graph, const wf_spectrum *spectrum, wf_vals index);

/* ---- filters ----------------------------------------------------------------------------------------------------
 * Factors as functions of r = |k|. Operands are values or numbers. Only numbers are checked: cutoffs and widths are
 * not negative. */
/* 1 up to the cutoff, 0 from cutoff + width on, a cosine between; width 0: 1 for r <= cutoff. */
WF_API wf_val wf_lowpass(wf_val r, wf_val cutoff, wf_val width);
/* 0 up to cutoff - width, 1 from the cutoff on, a cosine between; width 0: 1 for r >= cutoff. */
WF_API wf_val wf_highpass(wf_val r, wf_val cutoff, wf_val width);
/* wf_highpass(r, low, low_width) times wf_lowpass(r, high, high_width); low <= high. */
WF_API wf_val wf_bandpass(wf_val r, wf_val low, wf_val low_width, wf_val high, wf_val high_width);
/* exp(-r^2 / (2 sigma^2)); sigma > 0, in the unit of r. */
WF_API wf_val wf_gaussian(wf_val r, wf_val sigma);
/* 1 / sqrt(1 + (r/cutoff)^(2 order)); both > 0. */
WF_API wf_val wf_butterworth(wf_val r, wf_val cutoff, wf_val order);
/* exp(b r^2 / 4), r in 1/Angstrom, b in Angstrom^2: a negative b damps. */
WF_API wf_val wf_bfactor(wf_val r, wf_val b);
/* The critical dose of a frequency r, both in Angstrom: scale (0.245 r^-1.665 + 2.81) e/A^2.
 * scale: 1 at 300 kV, 0.8 at 200 kV. Source: Grant and Grigorieff 2015. */
WF_API wf_val wf_critical_dose(wf_val r, wf_val scale);
/* exp(-dose / (2 wf_critical_dose(r, scale))), the dose that the specimen has received, in e/A^2, >= 0. */
WF_API wf_val wf_dose_weight(wf_val r, wf_val dose, wf_val scale);
/* sqrt(2 fsc / (1 + fsc)), 0 below 0: how well a map made of both halves correlates with a perfect one, and the weight
 * of its spectrum. Source: Rosenthal and Henderson 2003. */
WF_API wf_val wf_fsc_weight(wf_val fsc);
/* 2 fsc / (1 - fsc), 0 below 0: the spectral signal-to-noise ratio of a map made of both halves. */
WF_API wf_val wf_fsc_snr(wf_val fsc);
/* (masked - randomised) / (1 - randomised): the correlation without what a mask adds to it, by that of maps whose phases
 * were randomised. Source: Chen and others 2013. */
WF_API wf_val wf_fsc_unmasked(wf_val masked, wf_val randomised);
/* ctf snr / (ctf^2 snr + 1): Wiener's filter, which undoes a transfer function as far as noise permits; snr >= 0. */
WF_API wf_val wf_wiener(wf_val ctf, wf_val snr);
/* 1 for distance <= 0, 0 from `width` on, a cosine between: the edge of a mask by signed distance. */
WF_API wf_val wf_soft_edge(wf_val distance, wf_val width);
/* Window functions of a position x: 1 at 0 (wf_tukey: up to 1 - alpha), falling to the edges at -1 and 1, 0 beyond.
 * Of element i of n: x = 2 i/(n - 1) - 1, periodic 2 i/n - 1; of a disc: r/radius. */
WF_API wf_val wf_hann(wf_val x);     /* (1 + cos(pi x)) / 2 */
WF_API wf_val wf_hamming(wf_val x);  /* 0.54 + 0.46 cos(pi x) */
WF_API wf_val wf_blackman(wf_val x); /* 0.42 + 0.5 cos(pi x) + 0.08 cos(2 pi x) */
WF_API wf_val wf_cosine(wf_val x);   /* cos(pi x / 2) */
/* I0(beta sqrt(1 - x^2)) / I0(beta), beta >= 0; up to about 85 in f32, 700 in f64. Source: Kaiser and Schafer 1980. */
WF_API wf_val wf_kaiser(wf_val x, wf_val beta);
/* 1, and along the last `alpha` of the way, 0 to 1, a cosine: alpha 1 is wf_hann. */
WF_API wf_val wf_tukey(wf_val x, wf_val alpha);
/* exp(-2 pi i shift . k), which moves an image by `shift` pixels to higher indices; both have one value for each axis.
 * An axis at Nyquist, |k| = 0.5, has the factor cos(pi shift), so that real images stay real.
 * Dtypes: c128 if a k is f64, else c64; phases are computed in f64. */
WF_API wf_val wf_phase_shift(wf_graph *graph, wf_vals shift, wf_vals k);

/* ---- contrast transfer function ---------------------------------------------------------------------------------
 * Members are values or numbers: .defocus = WF_V(1.5). Those left out are 0. */
typedef struct wf_ctf {
    wf_val voltage;     /* kV, > 0 */
    wf_val cs;          /* spherical aberration, mm */
    wf_val amplitude;   /* amplitude contrast, -1 to 1 */
    wf_val defocus;     /* mean of both, micrometres; positive is underfocus */
    wf_val astigmatism; /* half the difference of both, micrometres */
    wf_val angle;       /* of the larger defocus, radians, from x towards y */
    wf_val phase_shift; /* radians */
    wf_val bfactor;     /* Angstrom^2; negative damps */
    wf_val scale;       /* factor; the number 0 = 1 */
    wf_val aberration;  /* added to the phase, turns: even terms of higher order, such as of wf_zernike */
} wf_ctf;
/* The electron's wavelength in Angstrom; voltage in kV. Dtypes: f64. */
WF_API wf_val wf_electron_wavelength(wf_val voltage);
/* The phase at the frequency (gy, gx) in 1/Angstrom, in turns: 1 = 2 pi. Dtypes: f64. */
WF_API wf_val wf_ctf_phase(const wf_ctf *ctf, wf_val gy, wf_val gx);
/* -sin(2 pi wf_ctf_phase) exp(bfactor g^2 / 4) scale; at 0, without a phase shift, `amplitude`.
 * Dtypes: f64 if gy or gx is, else f32. The phase is in f64; frequencies of f32 limit its digits. */
WF_API wf_val wf_ctf_value(const wf_ctf *ctf, wf_val gy, wf_val gx);
/* The image of one side of the Ewald sphere: i exp(2 pi i wf_ctf_phase) exp(bfactor g^2 / 4) scale, complex, whose real
 * part is wf_ctf_value. The spectrum of an image is half of this times the specimen's at +z, plus half of the conjugate
 * times that at -z, z = wf_ewald_height. Dtypes: c128 if gy or gx is f64, else c64. Source: DeRosier 2000. */
WF_API wf_val wf_ctf_sideband(const wf_ctf *ctf, wf_val gy, wf_val gx);
/* The distance of the Ewald sphere from its tangent plane in 1/Angstrom: 1/lambda - sqrt(1/lambda^2 - g^2), about
 * lambda g^2 / 2. Dtypes: f64. */
WF_API wf_val wf_ewald_height(wf_val voltage, wf_val gy, wf_val gx);
/* The phase that a tilt of the beam by (tilt_y, tilt_x) milliradians adds to a spectrum: cs lambda^2 g^2 (g . tilt), in
 * turns, f64; it has opposite signs at g and -g. Other members than voltage and cs are not used.
 * Source: Zemlin and others 1978. */
WF_API wf_val wf_ctf_beam_tilt(const wf_ctf *ctf, wf_val tilt_y, wf_val tilt_x, wf_val gy, wf_val gx);
/* Damping by a source that illuminates under angles of deviation `semi_angle`, in milliradians:
 * exp(-pi^2 a^2 (cs lambda^2 g^3 - z(g) g)^2). Dtypes: as wf_ctf_value. Source: Frank 1973. */
WF_API wf_val wf_ctf_spatial_envelope(const wf_ctf *ctf, wf_val semi_angle, wf_val gy, wf_val gx);
/* Damping by a defocus that varies with the deviation `spread`, in micrometres: exp(-(pi lambda spread g^2)^2 / 2).
 * Dtypes: as wf_ctf_value. Source: Wade and Frank 1977. */
WF_API wf_val wf_ctf_temporal_envelope(const wf_ctf *ctf, wf_val spread, wf_val gy, wf_val gx);
/* The Zernike polynomial R(r) cos(m phi), or for m < 0 R(r) sin(-m phi), of a point (y, x); phi from x towards y.
 * n is 0 to 20, n - |m| even and not negative. Not normalised: R(1) = 1. */
WF_API wf_val wf_zernike(int n, int m, wf_val y, wf_val x);

/* ---- functions of arrays ----------------------------------------------------------------------------------------
 * As the functions of functions.h. Axes before those of the spectrum are a batch; each is worked on by itself.
 * `out` becomes x times a factor, or, if x is NULL, the factor itself, converted as a cast.
 * Shapes: x and out have one shape, whose last axes are the spectrum's. Aliasing: `out` may be x. */
/* Returns the factor, real or complex, at the frequency k (.n = rank) in cycles/pixel, of the spectrum's dtype. */
typedef wf_val wf_response(wf_graph *graph, wf_vals k, void *user);
/* Multiplies by a function of frequency, which is called once, to record. */
WF_API wf_status wf_spectrum_filter(wf_array *out, const wf_array *x, const wf_spectrum *spectrum,
                                    wf_response *response, void *user);
/* Real images, the last `rank` axes of x, 1 to 3: transformed, multiplied by a function of frequency, which is called
 * once, to record, and transformed back. Shapes, Aliasing, Cost: as wf_fft_filter.
 * Example: wf_status status = wf_image_filter(img, img, 2, band, NULL); */
WF_API wf_status wf_image_filter(wf_array *out, const wf_array *x, int rank, wf_response *response, void *user);
/* Moves images by wf_phase_shift. shifts: real, [rank], or [batch..., rank] for each one. */
WF_API wf_status wf_spectrum_shift(wf_array *out, const wf_array *x, const wf_spectrum *spectrum,
                                   const wf_array *shifts);
#define WF_CTF_MEMBERS 9
#define WF_CTF_MAGNIFIED 13
/* Multiplies by wf_ctf_value, of 1 or 2 axes; pixel: its size in Angstrom, > 0.
 * parameters: real, [WF_CTF_MEMBERS] or [batch..., WF_CTF_MEMBERS]: the members of wf_ctf from `voltage` to `scale`, of
 * which 0 is 0. Of 2 axes also WF_CTF_MAGNIFIED: and a matrix m by rows, so that the CTF is that of frequency m (gy, gx),
 * for anisotropic magnification. */
WF_API wf_status wf_spectrum_ctf(wf_array *out, const wf_array *x, const wf_spectrum *spectrum,
                                 const wf_array *parameters, double pixel);
/* Multiplies by a curve of frequency: its element i is at |k| = i step cycles/pixel, between them it is linear, beyond
 * the last constant. curve: real, [n] or [batch..., n]. Example: the elements of wf_fsc have step 1/n. */
WF_API wf_status wf_spectrum_curve(wf_array *out, const wf_array *x, const wf_spectrum *spectrum, const wf_array *curve,
                                   double step);
/* Divides by the root of the mean of |x|^2 over the shell (wf_radial_average), so that noise becomes white; corners by
 * that of the last shell. Shells of 0 stay. x is complex. */
WF_API wf_status wf_spectrum_whiten(wf_array *out, const wf_array *x, const wf_spectrum *spectrum);

/* Multiplies by factors of length 1 and random phases where |k| >= from, in cycles/pixel, as for wf_fsc_unmasked. A full
 * spectrum of a real image remains one. Factors depend on `random`, k and the place in the batch, for all layouts and
 * devices. Two half maps need two streams. */
WF_API wf_status wf_spectrum_randomize(wf_array *out, const wf_array *x, const wf_spectrum *spectrum, double from,
                                       wf_random random);

/* The number of shells: n/2 + 1, n being the smallest extent above 1; -1 for a description that no spectrum has.
 * An element belongs to shell floor(n |k| + 0.5); those beyond the last shell do not count. */
WF_API int64_t wf_shell_count(const wf_spectrum *spectrum);
/* f64 [batch..., shells]: the mean of x, or of |x|^2 if it is complex, over each shell, with Hermitian weights.
 * Sums are in f64. */
WF_API wf_array *wf_radial_average(const wf_array *x, const wf_spectrum *spectrum);
/* f64 [batch..., shells]: the Fourier shell (or ring) correlation of a and b, of one shape: the sum of Re(a conj b)
 * over the root of the sum of |a|^2 times that of |b|^2, with Hermitian weights; 0 where one of them is 0. */
WF_API wf_array *wf_fsc(const wf_array *a, const wf_array *b, const wf_spectrum *spectrum);
/* f64 [batch..., n, shells]: the same within cones: of the elements less than half_angle from a line through 0, in
 * radians, up to pi/2. directions: real, [n, rank], of the lines, (z, y, x), of any length.
 * Cost: as wf_fsc, and a comparison for each element and cone. */
WF_API wf_array *wf_fsc_conical(const wf_array *a, const wf_array *b, const wf_spectrum *spectrum,
                                const wf_array *directions, double half_angle);

/* f32, or f64 of f64 [batch..., n, n/2 + 1]: the mean of |F|^2 over windows of n x n pixels, n >= 3, of images, the last
 * two axes. Windows overlap by half or more; each has its mean taken away and is multiplied by a Hann window. White noise
 * of variance v gives v. Errors: WF_ERR_SHAPE: images smaller than a window. Source: Welch 1967. */
WF_API wf_array *wf_power_spectrum(const wf_array *images, int64_t n);
/* What is known of a CTF, and where it is searched. */
typedef struct wf_ctf_search {
    double voltage, cs, amplitude, phase_shift; /* known, as in wf_ctf */
    double pixel;                               /* Angstrom, > 0 */
    double low, high;   /* resolutions in Angstrom that are compared; 0 = 30, and 5 or 2.4 pixels */
    double least, most; /* bounds of the mean defocus in micrometres; both 0 = 0.2 to 5 */
    double astigmatism; /* the largest in micrometres; 0 = there is none */
} wf_ctf_search;
/* f64 [batch..., 4]: the defocus, astigmatism and angle (wf_ctf) that fit power spectra [batch..., n, n/2 + 1] best, and
 * the correlation coefficient of |CTF| and the spectrum's contrast; NaN where no coefficient is above 0, as in a spectrum
 * without contrast. Waits: at once. Not within frozen sequences.
 * Source: Rohou and Grigorieff 2015. Example: wf_array *found = wf_ctf_fit(wf_power_spectrum(img, 512), &search); */
WF_API wf_array *wf_ctf_fit(const wf_array *power, const wf_ctf_search *search);

/* How the products p of two spectra are weighted. */
typedef enum wf_correlation {
    WF_CORRELATION_CONVENTIONAL, /* p */
    WF_CORRELATION_PHASE,        /* p / |p|; 0 stays 0 */
    WF_CORRELATION_MUTUAL,       /* p / sqrt(|p|) */
    WF_CORRELATION_DOUBLE_PHASE  /* p^2 / |p|, whose lags are twice as large */
} wf_correlation;
/* The periodic correlation of real arrays along their last `rank` axes, 1 to 3: element l is, for the conventional one,
 * the sum over x of a[x + l] b[x]. It is largest where b, moved by l, matches a. Lag 0 is at 0. */
WF_API wf_array *wf_correlate_map(const wf_array *a, const wf_array *b, int rank, wf_correlation how);
/* f64 [batch..., rank + 1]: the lag of the largest element of each map, from -n/2 on, refined along each axis by the
 * parabola through it and its neighbours, which wrap; then the value at the top. */
WF_API wf_array *wf_correlate_peak(const wf_array *map, int rank);
/* How the place of a peak between elements is found. Along an axis of extent 1 or 2 it is that of the element. */
typedef enum wf_peak_fit {
    WF_PEAK_PARABOLA,  /* the top of a parabola along each axis */
    WF_PEAK_GAUSSIAN,  /* of a Gaussian: the same of logarithms; of parabolas where elements are not above 0 */
    WF_PEAK_QUADRATIC, /* of the quadratic form of all second differences; of parabolas where it has none */
    WF_PEAK_WHOLE      /* that of the element */
} wf_peak_fit;
typedef struct wf_peak_search {
    int64_t count;       /* peaks of each map; 0 = 1 */
    double max_lag[3];   /* half axes of the ellipsoid around lag 0 that is searched; 0 = no limit along this axis */
    double min_distance; /* of two peaks of a map, in elements */
    wf_peak_fit fit;
    bool places; /* the map does not wrap; results are indices, and max_lag is around index n/2 */
} wf_peak_search;
/* f64 [batch..., count, rank + 1]: the lags and values of the largest peaks of each map, in descending order of their
 * elements, as wf_correlate_peak. Peaks after the first are elements that no neighbour exceeds, at least min_distance
 * from all before; NaN where there are no more. `search` may be NULL.
 * Waits: for more than one peak, for the result; the host chooses. */
WF_API wf_array *wf_correlate_peaks(const wf_array *map, int rank, const wf_peak_search *search);
/* What a score of two arrays is. */
typedef enum wf_score {
    WF_SCORE_COEFFICIENT, /* normalised cross-correlation: -1 to 1, means subtracted */
    WF_SCORE_COSINE,      /* the same without subtraction of means */
    WF_SCORE_PRODUCT      /* sum of Re(a conj b) */
} wf_score;
/* f64: a score over axes, WF_AXES or WF_ALL_AXES, as reductions; a and b broadcast. mask: real weights that broadcast,
 * or NULL. 0 where one of them has no variation; NaN where all weights are 0. Sums are in f64.
 * Example: wf_array *scores = wf_correlate_score(particles, reference, mask, WF_AXES(1, 2), WF_SCORE_COEFFICIENT); */
WF_API wf_array *wf_correlate_score(const wf_array *a, const wf_array *b, const wf_array *mask, wf_axes axes,
                                    wf_score how);

/* Template matching: the normalised cross-correlation coefficient of `pattern`, [t...] of `rank` axes, with each part of
 * x, [batch..., n...]: [batch..., n - t + 1...]. Templates [k, t...] give [batch..., k, n - t + 1...]. mask: weights >= 0
 * of a template, [t...], or NULL. 0 where the image or the template does not vary.
 * Dtypes: real; f64 of f64 and integers of 32 and 64 bits, else f32. Sums of squares are in f64.
 * Cost: beyond 400 elements, transforms of the image and two for each template.
 * Example: wf_array *scores = wf_match_template(micrograph, particle, NULL, 2); */
WF_API wf_array *wf_match_template(const wf_array *x, const wf_array *pattern, const wf_array *mask, int rank);

/* ---- window filters ---------------------------------------------------------------------------------------------
 * Each element of the result is made of those in a window around its place, along `axes` (WF_AXES or WF_ALL_AXES), all
 * other axes being a batch. `size` has an extent for each of the axes, in their order; a window begins n/2 elements
 * before the place. `border` gives what lies outside: `outside` (WF_BORDER_VALUE; also WF_BORDER_NONE), or elements.
 * Dtypes: sums of f16, bf16 and c32 are in f32, those of integers exact or in f64, others in the array's dtype. */
/* out[p] = sum over j of kernel[j] x[p + n/2 - j]: `kernel` has an axis of some extent n for each of the axes.
 * Dtypes: that of x times the kernel, as a mean.
 * Cost: a multiplication for each element of the kernel; large kernels take Fourier transforms (see the reference).
 * Example: wf_array *smooth = wf_convolve(img, kernel, WF_AXES(0, 1), WF_BORDER_MIRROR, 0); */
WF_API wf_array *wf_convolve(const wf_array *x, const wf_array *kernel, wf_axes axes, wf_border border, double outside);
/* wf_convolve with the outer product of lines: one array [n] for each of the axes, or one for all of them.
 * Dtypes: as wf_convolve; between axes that of sums. Cost: one pass for each axis.
 * Example: wf_array *smooth = wf_convolve_separable(img, WF_ARRAYS(line), WF_AXES(0, 1), WF_BORDER_MIRROR, 0); */
WF_API wf_array *wf_convolve_separable(const wf_array *x, wf_arrays kernels, wf_axes axes, wf_border border,
                                       double outside);
/* Convolution with Gaussians up to int(4 sigma + 0.5) elements away, their sums made 1; one sigma for each of the axes,
 * 0 to 2^26. Dtypes: as a mean. */
WF_API wf_array *wf_gaussian_filter(const wf_array *x, const double *sigma, wf_axes axes, wf_border border,
                                    double outside);
/* The same with derivatives of Gaussians: order[d], 0 to 10, along each of the axes, per element; NULL: all 0. A
 * derivative needs a sigma above 0. As scipy.ndimage.gaussian_filter(order=...) for an `outside` of 0.
 * Example: wf_array *slope = wf_gaussian_derivative(img, (double[]){ 2, 2 }, (int[]){ 0, 1 }, WF_AXES(0, 1), 0, 0); */
WF_API wf_array *wf_gaussian_derivative(const wf_array *x, const double *sigma, const int *order, wf_axes axes,
                                        wf_border border, double outside);
/* The mean of the window. Dtypes: as a mean. Cost: for each axis 2 sqrt(n) additions at most. */
WF_API wf_array *wf_uniform_filter(const wf_array *x, const int64_t *size, wf_axes axes, wf_border border,
                                   double outside);
/* Element n/2, of the n elements of the window in ascending order; NaN if there is one; -0 and +0 are equal.
 * Dtypes: x's; not complex.
 * Cost: a sorting network; of more than 81 elements, 256 in arrays of 2^20 and more, a pass over the window for each
 * bit of an element. */
WF_API wf_array *wf_median_filter(const wf_array *x, const int64_t *size, wf_axes axes, wf_border border,
                                  double outside);
/* The same with element `rank` from 0 on; negative ones count from the largest, -1. */
WF_API wf_array *wf_rank_filter(const wf_array *x, int64_t rank, const int64_t *size, wf_axes axes, wf_border border,
                                double outside);
/* Erosion by a flat window: the smallest element; of bools `and`. NaN if there is one; -0 is less than +0.
 * WF_BORDER_CLAMP counts only what is inside. Dtypes: x's; not complex. Cost: for each axis 2 sqrt(n) comparisons. */
WF_API wf_array *wf_erode(const wf_array *x, const int64_t *size, wf_axes axes, wf_border border, double outside);
/* Dilation: the largest element of the mirrored window, which begins (n - 1)/2 before; else as wf_erode. */
WF_API wf_array *wf_dilate(const wf_array *x, const int64_t *size, wf_axes axes, wf_border border, double outside);
/* Opening: erosion, then dilation, which removes what is smaller than the window. */
WF_API wf_array *wf_morphology_open(const wf_array *x, const int64_t *size, wf_axes axes, wf_border border,
                                    double outside);
/* Closing: dilation, then erosion, which fills holes that are smaller than the window. */
WF_API wf_array *wf_morphology_close(const wf_array *x, const int64_t *size, wf_axes axes, wf_border border,
                                     double outside);
/* The same filters over a footprint: of the window with its extents, one for each of the axes, the elements where
 * `footprint`, real, is not 0. Errors: no such element. Waits: the processor reads the footprint. Not within frozen
 * sequences. This one is wf_rank_filter, with ranks among these elements. Cost: as there, of the whole window. */
WF_API wf_array *wf_rank_footprint(const wf_array *x, int64_t rank, const wf_array *footprint, wf_axes axes,
                                   wf_border border, double outside);
/* wf_median_filter over a footprint. */
WF_API wf_array *wf_median_footprint(const wf_array *x, const wf_array *footprint, wf_axes axes, wf_border border,
                                     double outside);
typedef enum wf_morph { WF_MORPH_ERODE, WF_MORPH_DILATE, WF_MORPH_OPEN, WF_MORPH_CLOSE } wf_morph;
/* wf_erode, wf_dilate, opening and closing over a footprint, which dilation mirrors.
 * Cost: 2 comparisons for each run of elements along the footprint's last axis, and a pass for each power of 2 up to the
 * longest run.
 * Example: wf_array *grown = wf_morphology(mask, WF_MORPH_DILATE, ball, WF_ALL_AXES, WF_BORDER_VALUE, 0); */
WF_API wf_array *wf_morphology(const wf_array *x, wf_morph how, const wf_array *footprint, wf_axes axes,
                               wf_border border, double outside);

#ifdef __cplusplus
}
#else
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif
#define wf_freq(graph, spectrum, axis, index) wf_freq(graph, spectrum, axis, WF_V(index))
#define wf_lowpass(r, cutoff, width) wf_lowpass(WF_V(r), WF_V(cutoff), WF_V(width))
#define wf_highpass(r, cutoff, width) wf_highpass(WF_V(r), WF_V(cutoff), WF_V(width))
#define wf_bandpass(r, low, low_width, high, high_width) \
    wf_bandpass(WF_V(r), WF_V(low), WF_V(low_width), WF_V(high), WF_V(high_width))
#define wf_gaussian(r, sigma) wf_gaussian(WF_V(r), WF_V(sigma))
#define wf_butterworth(r, cutoff, order) wf_butterworth(WF_V(r), WF_V(cutoff), WF_V(order))
#define wf_bfactor(r, b) wf_bfactor(WF_V(r), WF_V(b))
#define wf_critical_dose(r, scale) wf_critical_dose(WF_V(r), WF_V(scale))
#define wf_dose_weight(r, dose, scale) wf_dose_weight(WF_V(r), WF_V(dose), WF_V(scale))
#define wf_fsc_weight(fsc) wf_fsc_weight(WF_V(fsc))
#define wf_fsc_snr(fsc) wf_fsc_snr(WF_V(fsc))
#define wf_fsc_unmasked(masked, randomised) wf_fsc_unmasked(WF_V(masked), WF_V(randomised))
#define wf_wiener(ctf, snr) wf_wiener(WF_V(ctf), WF_V(snr))
#define wf_soft_edge(distance, width) wf_soft_edge(WF_V(distance), WF_V(width))
#define wf_hann(x) wf_hann(WF_V(x))
#define wf_hamming(x) wf_hamming(WF_V(x))
#define wf_blackman(x) wf_blackman(WF_V(x))
#define wf_cosine(x) wf_cosine(WF_V(x))
#define wf_kaiser(x, beta) wf_kaiser(WF_V(x), WF_V(beta))
#define wf_tukey(x, alpha) wf_tukey(WF_V(x), WF_V(alpha))
#define wf_electron_wavelength(voltage) wf_electron_wavelength(WF_V(voltage))
#define wf_ctf_phase(ctf, gy, gx) wf_ctf_phase(ctf, WF_V(gy), WF_V(gx))
#define wf_ctf_value(ctf, gy, gx) wf_ctf_value(ctf, WF_V(gy), WF_V(gx))
#define wf_ctf_sideband(ctf, gy, gx) wf_ctf_sideband(ctf, WF_V(gy), WF_V(gx))
#define wf_ewald_height(voltage, gy, gx) wf_ewald_height(WF_V(voltage), WF_V(gy), WF_V(gx))
#define wf_ctf_beam_tilt(ctf, tilt_y, tilt_x, gy, gx) \
    wf_ctf_beam_tilt(ctf, WF_V(tilt_y), WF_V(tilt_x), WF_V(gy), WF_V(gx))
#define wf_ctf_spatial_envelope(ctf, semi_angle, gy, gx) \
    wf_ctf_spatial_envelope(ctf, WF_V(semi_angle), WF_V(gy), WF_V(gx))
#define wf_ctf_temporal_envelope(ctf, spread, gy, gx) wf_ctf_temporal_envelope(ctf, WF_V(spread), WF_V(gy), WF_V(gx))
#define wf_zernike(n, m, y, x) wf_zernike(n, m, WF_V(y), WF_V(x))
#endif
#endif
