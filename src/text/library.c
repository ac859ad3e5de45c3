/* library.c - functions of whole arrays that weft/fft.h, weft/signal.h and weft/xform.h have: transforms, filters,
 * rotations, correlations. library.def has their names and arguments: arrays first, then numbers. The arrays are computed
 * before the recording goes on (order.c); call_<name> calls the C function.
 */
#include "text/record.h"
#include "weft/fft.h"
#include "weft/signal.h"
#include "weft/xform.h"
#include <math.h>
#include <stdio.h>

enum { MOST_ARRAYS = 2, MOST_NUMBERS = 9 };

typedef struct library_call {
    wf__recorder *r;
    const wf__tree *node;
    wf_context *ctx;
    const wf_array *array[MOST_ARRAYS];
    double number[MOST_NUMBERS]; /* 0 where the text has none */
    int numbers;                 /* in the text */
    wf_axes axes;                /* those named after the ';', as bits; else WF_ALL_AXES */
    int rank;                    /* number of these axes */
} library_call;

/* Which axes a function is about. */
typedef enum axes_rule {
    NO_AXES,   /* it takes none */
    ANY_AXES,  /* all, if none are named */
    LAST_AXES, /* the last 1 to 3 */
    LAST_TWO   /* takes none; the last two */
} axes_rule;

typedef struct library_function {
    const char *name;
    wf_array *(*call)(const library_call *c); /* NULL: c->ctx or c->r has the message */
    uint8_t arrays, axes;                     /* number of arrays; an axes_rule */
    bool bools;
} library_function;

/* ---- numbers ---- */

/* Returns number i, which must be whole; 0, and c->r has the message, if it is not. */
static int64_t whole(const library_call *c, int i, const char *what)
{
    double v = c->number[i];
    if (v == floor(v) && fabs(v) < 0x1p53)
        return (int64_t)v;
    wf__text_mistake(c->r, WF_ERR_ARG, c->node->at, "%s is a whole number, not %.10g", what, v);
    return 0;
}

/* ---- Fourier transforms ---- */

static wf_array *call_fft(const library_call *c) { return wf_fft_c2c(c->array[0], c->axes, false, WF_FFT_BACKWARD); }
static wf_array *call_ifft(const library_call *c) { return wf_fft_c2c(c->array[0], c->axes, true, WF_FFT_BACKWARD); }
static wf_array *call_rfft(const library_call *c) { return wf_fft_r2c(c->array[0], c->axes, WF_FFT_BACKWARD); }

static wf_array *call_irfft(const library_call *c)
{
    int64_t last = c->numbers ? whole(c, 0, "the extent of the last axis") : -1;
    return c->r->failed ? NULL : wf_fft_c2r(c->array[0], last, c->axes, WF_FFT_BACKWARD);
}

typedef wf_array *trigonometric(const wf_array *x, int type, wf_axes axes, bool inverse, wf_fft_norm norm);
static wf_array *call_trigonometric(const library_call *c, trigonometric *transform, bool inverse)
{
    int64_t type = c->numbers ? whole(c, 0, "the type of the transform") : 2;
    type = type < 1 || type > 4 ? 0 : type; /* the transform names the limits */
    return c->r->failed ? NULL : transform(c->array[0], (int)type, c->axes, inverse, WF_FFT_BACKWARD);
}
static wf_array *call_dct(const library_call *c) { return call_trigonometric(c, wf_dct, false); }
static wf_array *call_idct(const library_call *c) { return call_trigonometric(c, wf_dct, true); }
static wf_array *call_dst(const library_call *c) { return call_trigonometric(c, wf_dst, false); }
static wf_array *call_idst(const library_call *c) { return call_trigonometric(c, wf_dst, true); }
static wf_array *call_fftshift(const library_call *c) { return wf_fft_shift(c->array[0], c->axes, false); }
static wf_array *call_ifftshift(const library_call *c) { return wf_fft_shift(c->array[0], c->axes, true); }

/* ---- filters of spectra ---- */

/* Describes the half spectrum of the last c->rank axes of the first array. */
static wf_spectrum half_spectrum(const library_call *c)
{
    wf_shape shape = wf_array_shape(c->array[0]);
    wf_spectrum s = { .layout = WF_LAYOUT_H, .rank = c->rank };
    for (int d = 0; d < c->rank; d++)
        s.size[d] = shape.dim[shape.rank - c->rank + d];
    return s;
}

/* Returns true if the first array is real. False: the recorder has the message. */
static bool is_real(const library_call *c)
{
    if (!wf__text_is_complex(wf_array_dtype(c->array[0])))
        return true;
    wf__text_mistake(c->r, WF_ERR_DTYPE, c->node->at, "%.*s of complex numbers: it filters real(a) and imag(a)",
                     (int)c->node->len, c->r->text->src + c->node->at);
    return false;
}

/* Returns the first array, transformed, multiplied by a response to frequencies, and transformed back. */
static wf_array *filtered(const library_call *c, wf_response *response)
{
    if (!is_real(c))
        return NULL;
    wf_dtype t = wf_array_dtype(c->array[0]);
    wf_dtype result = wf_dtype_kind(t) == WF_KIND_FLOAT ? t : wf_dtype_size(t) > 2 ? WF_F64 : WF_F32;
    wf_array *out = wf_empty_like(c->array[0], result, wf_array_shape(c->array[0]));
    if (out && wf_image_filter(out, c->array[0], c->rank, response, (void *)c) == WF_OK)
        return out;
    wf_release(out);
    return NULL;
}

/* Returns the length of the frequency vector, in cycles/pixel. */
static wf_val length_of(wf_vals k)
{
    wf_val sum = wf_mul(k.at[0], k.at[0]);
    for (size_t d = 1; d < k.n; d++)
        sum = wf_add(sum, wf_mul(k.at[d], k.at[d]));
    return wf_sqrt(sum);
}

static wf_val lowpass_at(wf_graph *graph, wf_vals k, void *user)
{
    const library_call *c = user;
    (void)graph;
    return wf_lowpass(length_of(k), c->number[0], c->number[1]);
}
static wf_array *call_lowpass(const library_call *c) { return filtered(c, lowpass_at); }

static wf_val highpass_at(wf_graph *graph, wf_vals k, void *user)
{
    const library_call *c = user;
    (void)graph;
    return wf_highpass(length_of(k), c->number[0], c->number[1]);
}
static wf_array *call_highpass(const library_call *c) { return filtered(c, highpass_at); }

static wf_val bandpass_at(wf_graph *graph, wf_vals k, void *user)
{
    const library_call *c = user;
    (void)graph;
    return wf_bandpass(length_of(k), c->number[0], c->number[2], c->number[1], c->number[2]);
}
static wf_array *call_bandpass(const library_call *c) { return filtered(c, bandpass_at); }

static wf_val butterworth_at(wf_graph *graph, wf_vals k, void *user)
{
    const library_call *c = user;
    (void)graph;
    return wf_butterworth(length_of(k), c->number[0], c->number[1]);
}
static wf_array *call_butterworth(const library_call *c) { return filtered(c, butterworth_at); }

/* The arguments are pixel size and B-factor, in Angstrom and Angstrom^2. */
static wf_val bfactor_at(wf_graph *graph, wf_vals k, void *user)
{
    const library_call *c = user;
    (void)graph;
    return wf_bfactor(length_of(k), c->number[1] / (c->number[0] * c->number[0]));
}

/* True if the pixel size, the first number, is one. */
static bool check_pixel(const library_call *c)
{
    if (!(c->number[0] > 0 && isfinite(c->number[0])))
        wf__text_mistake(c->r, WF_ERR_ARG, c->node->at, "the pixel size in Angstrom is above 0, not %.10g",
                         c->number[0]);
    return !c->r->failed;
}
static wf_array *call_bfactor(const library_call *c) { return check_pixel(c) ? filtered(c, bfactor_at) : NULL; }

/* The arguments are pixel size, voltage, cs, amplitude, defocus, astigmatism, angle, phase shift, B-factor. */
static wf_val ctf_at(wf_graph *graph, wf_vals k, void *user)
{
    const library_call *c = user;
    const double *n = c->number;
    wf_ctf ctf = { .voltage = WF_V(n[1]),
                   .cs = WF_V(n[2]),
                   .amplitude = WF_V(n[3]),
                   .defocus = WF_V(n[4]),
                   .astigmatism = WF_V(n[5]),
                   .angle = WF_V(n[6]),
                   .phase_shift = WF_V(n[7]),
                   .bfactor = WF_V(n[8]) };
    wf_val gy = wf_div(k.at[0], n[0]), gx = wf_div(k.at[1], n[0]);
    (void)graph;
    return wf_ctf_value(&ctf, gy, gx);
}
static wf_array *call_ctf(const library_call *c) { return check_pixel(c) ? filtered(c, ctf_at) : NULL; }

static wf_val flip_at(wf_graph *graph, wf_vals k, void *user)
{
    wf_val ctf = ctf_at(graph, k, user);
    return wf_select(wf_lt(ctf, 0), -1, 1);
}
static wf_array *call_phase_flip(const library_call *c) { return check_pixel(c) ? filtered(c, flip_at) : NULL; }

static wf_array *call_whiten(const library_call *c)
{
    if (!is_real(c))
        return NULL;
    wf_spectrum s = half_spectrum(c);
    int64_t last = s.size[c->rank - 1];
    wf_array *spectrum = wf_fft_r2c(c->array[0], c->axes, WF_FFT_BACKWARD), *out = NULL;
    if (spectrum && wf_spectrum_whiten(spectrum, spectrum, &s) == WF_OK)
        out = wf_fft_c2r(spectrum, last, c->axes, WF_FFT_BACKWARD);
    wf_release(spectrum);
    return out;
}

/* ---- measures of spectra ---- */

static wf_array *call_power_spectrum(const library_call *c)
{
    int64_t n = whole(c, 0, "the extent of the windows");
    return c->r->failed ? NULL : wf_power_spectrum(c->array[0], n);
}

static wf_array *call_radial_power(const library_call *c)
{
    wf_spectrum s = half_spectrum(c);
    wf_array *spectrum = wf_fft_r2c(c->array[0], c->axes, WF_FFT_BACKWARD);
    wf_array *out = spectrum ? wf_radial_average(spectrum, &s) : NULL;
    wf_release(spectrum);
    return out;
}

static wf_array *call_fsc(const library_call *c)
{
    wf_spectrum s = half_spectrum(c);
    wf_array *a = wf_fft_r2c(c->array[0], c->axes, WF_FFT_BACKWARD);
    wf_array *b = a ? wf_fft_r2c(c->array[1], c->axes, WF_FFT_BACKWARD) : NULL;
    wf_array *out = b ? wf_fsc(a, b, &s) : NULL;
    wf_release(a);
    wf_release(b);
    return out;
}

static wf_array *call_correlate(const library_call *c)
{
    return wf_correlate_map(c->array[0], c->array[1], c->rank, WF_CORRELATION_CONVENTIONAL);
}

static wf_array *call_match_template(const library_call *c)
{
    return wf_match_template(c->array[0], c->array[1], NULL, c->rank);
}

/* ---- filters of windows ---- */

typedef wf_array *window_filter(const wf_array *x, const int64_t *size, wf_axes axes, wf_border border, double outside);
static wf_array *call_window(const library_call *c, window_filter *filter)
{
    int64_t size[WF_MAX_RANK];
    size[0] = whole(c, 0, "the extent of the window");
    for (int d = 1; d < c->rank; d++)
        size[d] = size[0];
    return c->r->failed ? NULL : filter(c->array[0], size, c->axes, WF_BORDER_MIRROR, 0);
}
static wf_array *call_uniform_filter(const library_call *c) { return call_window(c, wf_uniform_filter); }
static wf_array *call_median_filter(const library_call *c) { return call_window(c, wf_median_filter); }
static wf_array *call_erode(const library_call *c) { return call_window(c, wf_erode); }
static wf_array *call_dilate(const library_call *c) { return call_window(c, wf_dilate); }
static wf_array *call_morphology_open(const library_call *c) { return call_window(c, wf_morphology_open); }
static wf_array *call_morphology_close(const library_call *c) { return call_window(c, wf_morphology_close); }

static wf_array *call_gaussian_filter(const library_call *c)
{
    double sigma[WF_MAX_RANK];
    for (int d = 0; d < c->rank; d++)
        sigma[d] = c->number[0];
    return wf_gaussian_filter(c->array[0], sigma, c->axes, WF_BORDER_MIRROR, 0);
}

static wf_array *call_convolve(const library_call *c)
{
    return wf_convolve(c->array[0], c->array[1], c->axes, WF_BORDER_MIRROR, 0);
}

/* ---- geometry ---- */

/* The number, or the whole number that only the rounding of a sine or cosine keeps it from being. */
static double unrounded(double v) { return fabs(v - round(v)) < 1e-15 ? round(v) : v; }

/* Returns the first array moved: positions relative to the centers of the last d axes are multiplied by `to_source`
 * [d][d] after `shift` was subtracted. Where all positions are those of elements, the elements are copied: a spline
 * would differ from 0 at the first place outside. */
static wf_array *moved(const library_call *c, int d, const double *to_source, const double *shift)
{
    double inverse[12];
    wf_shape shape = wf_array_shape(c->array[0]);
    bool whole_steps = true;
    for (int i = 0; i < d; i++) {
        double *row = inverse + i * (d + 1);
        row[d] = (double)(shape.dim[shape.rank - d + i] / 2);
        for (int e = 0; e < d; e++) {
            row[e] = unrounded(to_source[i * d + e]);
            row[d] -= row[e] * ((double)(shape.dim[shape.rank - d + e] / 2) + shift[e]);
            whole_steps = whole_steps && row[e] == floor(row[e]);
        }
        whole_steps = whole_steps && row[d] == floor(row[d]);
    }
    wf_array *matrix = wf_empty(c->ctx, WF_F64, WF_SHAPE(d, d + 1)), *out = NULL;
    wf_interp how = { .interpolation = whole_steps ? WF_INTERPOLATE_NEAREST : WF_INTERPOLATE_BSPLINE };
    if (matrix && wf_upload(matrix, inverse, (size_t)(d * (d + 1)) * sizeof *inverse) == WF_OK)
        out = wf_transform(c->array[0], WF_SCALAR, matrix, &how);
    wf_release(matrix);
    return out;
}

static wf_array *call_rotate(const library_call *c)
{
    double a = c->number[0], m[4] = { cos(a), -sin(a), sin(a), cos(a) };
    return moved(c, 2, m, (double[2]){ 0 });
}

static wf_array *call_shift(const library_call *c)
{
    double m[9] = { 0 };
    int d = c->numbers;
    if (wf_array_shape(c->array[0]).rank < d) {
        wf__text_mistake(c->r, WF_ERR_SHAPE, c->node->at, "shift by %d numbers of an array of rank %d", d,
                         (int)wf_array_shape(c->array[0]).rank);
        return NULL;
    }
    for (int i = 0; i < d; i++)
        m[i * d + i] = 1;
    return moved(c, d, m, c->number);
}

static wf_array *call_scale(const library_call *c)
{
    double m[9] = { 0 };
    if (!(c->number[0] > 0 && isfinite(c->number[0]))) {
        wf__text_mistake(c->r, WF_ERR_ARG, c->node->at, "the factor is above 0, not %.10g", c->number[0]);
        return NULL;
    }
    for (int i = 0; i < c->rank; i++)
        m[i * c->rank + i] = 1 / c->number[0];
    return moved(c, c->rank, m, (double[3]){ 0 });
}

static wf_array *call_bin(const library_call *c)
{
    int64_t k = whole(c, 0, "the number of neighbours");
    return c->r->failed ? NULL : wf_bin(c->array[0], k, c->axes);
}

static wf_array *call_spline_filter(const library_call *c)
{
    const wf_border named = (wf_border)c->node->border;
    return wf_spline_filter(c->array[0], c->axes, named ? named : WF_BORDER_VALUE, 0);
}

/* ---- table ---- */

static const library_function library[] = {
#define FUNCTION(name, arrays, least, most, axes, keeps, bools) { #name, call_##name, arrays, axes, bools },
#include "text/library.def"
#undef FUNCTION
};

bool wf__text_library_has_axes(wf__text_fold kind)
{
    if (kind <= WF__FOLD_LIBRARY)
        return true;
    int axes = library[kind - WF__FOLD_LIBRARY - 1].axes;
    return axes != NO_AXES && axes != LAST_TWO;
}

/* ---- calls ---- */

/* Sets the axes of the call. False: c->r has the message. */
static bool take_axes(library_call *c, const library_function *f, wf_axes axes)
{
    const wf__tree *node = c->node;
    int rank = wf_array_shape(c->array[0]).rank, first = axes == WF_ALL_AXES ? 0 : wf__text_first_axis(axes);
    wf_axes all = rank ? (wf_axes)((1u << rank) - 1) : 0, named = axes == WF_ALL_AXES ? all : axes;
    if ((f->axes == NO_AXES || f->axes == LAST_TWO) && (node->b || node->c))
        wf__text_mistake(c->r, WF_ERR_SYNTAX, node->at, "%s takes no axes", f->name);
    else if (f->axes == LAST_TWO && rank < 2)
        wf__text_mistake(c->r, WF_ERR_SHAPE, node->at, "%s of images, which have two axes; the array has %d", f->name,
                         rank);
    else if (f->axes == LAST_AXES && (named != (all >> first << first) || rank - first > 3 || rank == 0))
        wf__text_mistake(c->r, WF_ERR_SHAPE, node->at,
                         "%s is about the last one, two or three axes: name them after a semicolon, as in "
                         "%s(...; -2, -1)",
                         f->name, f->name);
    if (f->axes == LAST_TWO)
        named = all & ~(all >> 2);
    c->axes = f->axes == ANY_AXES ? axes : named;
    for (int d = 0; d < rank; d++)
        c->rank += (int)(named >> d & 1);
    return !c->r->failed;
}

wf__tval wf__text_library_value(wf__recorder *r, wf__text_fold kind, const wf__tree *node, const wf__tval *args,
                                wf_axes axes)
{
    const library_function *f = &library[kind - WF__FOLD_LIBRARY - 1];
    library_call c = { .r = r, .node = node, .ctx = wf_graph_context(r->graph), .numbers = (int)node->n - f->arrays };
    wf__tval operand[MOST_ARRAYS];
    for (int i = 0; i < f->arrays; i++) {
        operand[i] = args[i];
        if (wf__tval_is_number(args[i]) || wf__text_is_pair(args[i].v))
            return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%s of a number: it needs an array", f->name);
        if (!f->bools && wf_val_dtype(args[i].v) == WF_BOOL)
            operand[i] = wf__tval_cast(&r->convert, args[i], WF_F32);
    }
    if (!wf__text_elements(r, node, operand, f->arrays, c.array) || !take_axes(&c, f, axes))
        return wf__text_poison(r);
    for (int i = 0; i < c.numbers; i++) {
        char what[40];
        snprintf(what, sizeof what, "argument %d of %s", f->arrays + i + 1, f->name);
        if (!wf__text_number(r, wf__text_argument(r, node, f->arrays + i), args[f->arrays + i], what, &c.number[i]))
            return wf__text_poison(r);
    }
    return wf__text_made(r, node, f->call(&c));
}
