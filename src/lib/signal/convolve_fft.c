/* convolve_fft.c - convolution with a dense kernel through Fourier transforms.
 *
 * The array is continued by its border mode, up to extents L that are transformed fast; the kernel by zeros. Of the cyclic
 * convolution of both, elements from n - 1 on of each axis, n being the kernel's extent, are sums within the continued
 * array. So what the array has beyond the reach of the kernel does not matter.
 */
#include "lib/array/lines.h"
#include "pieces.h"
#include "weft/fft.h"
#include <math.h>

/* The extents that are transformed, from those of the padded array on. False: too large. */
static bool extents_of(const wfl_window *w, wf_shape *extents)
{
    *extents = w->shape;
    int last = w->shape.rank - 1;
    while (last > 0 && !(w->axes >> last & 1))
        --last;
    for (int d = 0; d < w->shape.rank; ++d)
        if (w->axes >> d & 1 && (extents->dim[d] = wf_fft_fast_size(w->shape.dim[d] + w->size[d] - 1, d == last)) < 0)
            return false;
    return true;
}

double wfl_convolve_fft_cost(const wfl_window *w, wf_dtype dtype)
{
    wf_shape extents;
    double transformed = 1, axes = 0;
    if (!extents_of(w, &extents))
        return INFINITY;
    for (int d = 0; d < extents.rank; ++d) {
        transformed *= (double)extents.dim[d] / (double)w->shape.dim[d];
        axes += w->axes >> d & 1;
    }
    return (wfl_is_complex_dtype(dtype) ? 2 : 1) * transformed * (WFL_FFT_OF_COPIES + WFL_FFT_OF_AXIS * axes);
}

/* x in `dtype`, with `before` and `after` more elements. */
static wf_array *padded(const wf_array *x, const int64_t *before, const int64_t *after, wf_border border,
                        double outside, wf_dtype dtype)
{
    wf_array *wide = wf_array_resize(x, before, after, border, outside);
    if (!wide || wf_array_dtype(wide) == dtype)
        return wide;
    wf_array *cast = wf_array_cast(wide, dtype);
    wf_release(wide);
    return cast;
}

wf_array *wfl_kernel_spectrum(const wfl_window *w, const wf_array *kernel, const wf_shape *extents, wf_dtype dtype)
{
    int64_t after[WF_MAX_RANK] = { 0 };
    int rank = 0;
    for (int d = 0; d < extents->rank; ++d)
        if (w->axes >> d & 1) {
            after[rank] = extents->dim[d] - w->size[d];
            ++rank;
        }
    wf_array *wide = padded(kernel, NULL, after, WF_BORDER_VALUE, 0, dtype);
    wf_array *spectrum = !wide                         ? NULL
                         : wfl_is_complex_dtype(dtype) ? wf_fft_c2c(wide, WF_ALL_AXES, false, WF_FFT_BACKWARD)
                                                       : wf_fft_r2c(wide, WF_ALL_AXES, WF_FFT_BACKWARD);
    wf_release(wide);
    return spectrum;
}

typedef struct product {
    wf_axes axes;
    const wf_array *spectrum;
} product;

/* Returns the kernel's factor for the element at these indices of the array's spectrum. */
static wf_val factor_at(const product *p, wf_graph *g, const wf_val *index, int rank)
{
    wf_val at[WF_MAX_RANK];
    size_t n = 0;
    for (int d = 0; d < rank; ++d)
        if (p->axes >> d & 1)
            at[n++] = index[d];
    return wf_read_n(g, p->spectrum, (wf_vals){ at, n });
}

static void multiply(const wf_site *s)
{
    wf_set(s->out[0], wf_mul(wf_get(s->in[0]), factor_at(s->user, s->graph, s->index, s->rank)));
}

wf_status wfl_convolve_cyclic(wf_array *x, wf_axes axes, const wf_array *spectrum, const char *function)
{
    product p = { .axes = axes, .spectrum = spectrum };
    if (!wfl_is_complex_dtype(wf_array_dtype(x)))
        return wf_fft_filter(x, x, axes, multiply, &p);
    wf_status status = wf_fft_into(x, x, axes, false, WF_FFT_BACKWARD);
    if (status != WF_OK)
        return status;
    wf_shape shape = wf_array_shape(x);
    wf_graph *g = wfl_begin(wf_array_context(x), function, .shape = shape);
    wf_val index[WF_MAX_RANK];
    for (int d = 0; d < shape.rank; ++d)
        index[d] = wf_index(g, d);
    wf_out(g, x, wf_mul(wf_in(g, x), factor_at(&p, g, index, shape.rank)));
    status = wfl_run_into(g, x);
    return status == WF_OK ? wf_fft_into(x, x, axes, true, WF_FFT_BACKWARD) : status;
}

wf_array *wfl_convolve_by_fft(const wf_array *x, const wf_array *kernel, const wfl_window *w, wf_dtype dtype,
                              wf_dtype to)
{
    wf_context *ctx = wf_array_context(x);
    int64_t before[WF_MAX_RANK] = { 0 }, after[WF_MAX_RANK] = { 0 };
    wf_shape extents;
    if (!extents_of(w, &extents))
        return NULL;
    for (int d = 0; d < extents.rank; ++d) {
        before[d] = w->before[d];
        after[d] = extents.dim[d] - w->shape.dim[d] - before[d];
    }
    wf_array *spectrum = wfl_kernel_spectrum(w, kernel, &extents, dtype);
    wf_status status = spectrum ? WF_OK : wfl_array_error(ctx);
    if (wf_array_dist(x))
        status = wfl_ranks_agree(ctx, w->function, x, status);
    wf_array *wide = status == WF_OK ? padded(x, before, after, w->border, w->outside, dtype) : NULL;
    wf_array *out = wide ? wfl_result_beside(x, to, &w->shape) : NULL;
    if (status == WF_OK)
        status = out ? WF_OK : wfl_array_error(ctx);
    if (status == WF_OK)
        status = wfl_convolve_cyclic(wide, w->axes, spectrum, w->function);
    if (status == WF_OK) {
        wf_val index[WF_MAX_RANK];
        wf_graph *g = wfl_begin(ctx, w->function, .shape = w->shape);
        for (int d = 0; d < extents.rank; ++d) {
            static const char *const names[WF_MAX_RANK] = { "o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7" };
            const double first = w->axes >> d & 1 ? (double)(w->size[d] - 1) : 0;
            index[d] = wf_add(wf_index(g, d), wf_param(g, names[d], WF_I64, first)); /* one recording for all extents */
        }
        wf_out(g, out, wf_cast(wf_read_n(g, wide, (wf_vals){ index, (size_t)extents.rank }), to));
        status = wfl_run_into(g, out);
    }
    wf_array *spent[] = { spectrum, wide, status == WF_OK ? NULL : out };
    for (int i = 0; i < 3; ++i)
        wf_release(spent[i]);
    return status == WF_OK ? out : NULL;
}
