/* convolve.c - convolution with an array, with lines along axes, and with Gaussians. Sums run in the order of the
 * kernel's elements, but for large kernels, which take Fourier transforms (convolve_fft.c, convolve_pieces.c).
 */
#include "weft/distributed.h"
#include "../floats.h"
#include "pieces.h"
#include <math.h>
#include <string.h>

/* Returns the dtype of the product of elements of x and of the kernels, as a mean; WF_NONE: error. */
static wf_dtype product_dtype(const wf_array *x, wf_arrays kernels, const char *function)
{
    wf_graph *g = wfl_begin(wf_array_context(x), function);
    wf_val v = wf_const(g, wf_array_dtype(x), 1);
    for (size_t i = 0; i < kernels.n; ++i)
        v = wf_mul(v, wf_const(g, wf_array_dtype(kernels.at[i]), 1));
    wf_dtype t = wf_val_dtype(v);
    if (wf_graph_status(g) != WF_OK)
        wf_run(g); /* which reports it */
    else
        wf_drop(g);
    return t ? wfl_mean_dtype(t) : t;
}

/* Returns a b + c. */
static wf_val multiply_add(wf_val a, wf_val b, wf_val c)
{
    return wfl_is_complex_dtype(wf_val_dtype(c)) ? wf_add(wf_mul(a, b), c) : wf_fma(a, b, c);
}

/* The sum that is being recorded. */
typedef struct sum {
    wfl_slide s;
    const wfl_window *w;
    const wf_array *kernel; /* its axes are those of w->axes */
    wf_val place[WF_MAX_RANK], at[WF_MAX_RANK];
    wf_var value; /* of loops */
} sum;

static wf_val weight(sum *u, int rank)
{
    wf_vals at = { u->at, (size_t)rank };
    return wf_cast(wf_read_n(u->s.g, u->kernel, at), u->s.dtype);
}

static wf_val sum_written(sum *u)
{
    const wfl_window *w = u->w;
    int64_t at[WF_MAX_RANK] = { 0 }, offset[WF_MAX_RANK];
    wf_val v = wf_const(u->s.g, u->s.dtype, 0);
    do {
        int rank = 0;
        for (int d = 0; d < u->s.rank; ++d) {
            offset[d] = w->size[d] - 1 - w->before[d] - at[d];
            if (w->axes >> d & 1)
                u->at[rank++] = wf_const_i64(u->s.g, WF_I64, at[d]);
        }
        v = multiply_add(wfl_slide_read(&u->s, offset), weight(u, rank), v);
    } while (wfl_window_next(w->size, u->s.rank, at));
    return v;
}

/* Records loops along the axes from d on; `rank` of the kernel's axes have one already. */
static void sum_looped(sum *u, int d, int rank)
{
    wf_graph *g = u->s.g;
    for (; d < u->s.rank && !(u->w->axes >> d & 1); ++d)
        u->place[d] = u->s.index[d];
    if (d == u->s.rank) {
        wf_val v = wf_cast(wf_read_n(g, u->s.x, (wf_vals){ u->place, (size_t)d }), u->s.dtype);
        wf_set(u->value, multiply_add(v, weight(u, rank), wf_get(u->value)));
        return;
    }
    wf_val i, n = wf_dim(g, u->kernel, rank);
    wf_val first = wf_add(u->s.index[d], wf_const_i64(g, WF_I64, -u->w->before[d]));
    WF_FOR (g, i, wf_const_i64(g, WF_I64, 0), n, 1) {
        u->at[rank] = i;
        u->place[d] = wf_add(first, wf_sub(wf_sub(n, 1), i));
        sum_looped(u, d + 1, rank + 1);
    }
    WF_END(g);
}

/* Returns an array of the shape w->shape: sums of x times the kernel, computed in `dtype` and converted to `to`. */
static wf_array *convolve(const wf_array *x, const wf_array *kernel, const wfl_window *window, wf_dtype dtype,
                          wf_dtype to)
{
    wfl_window w = *window;
    bool looped = wfl_window_count(&w) > WFL_WINDOW_WRITTEN;
    wf_array *out = wfl_result_beside(x, to, &w.shape);
    if (!out || !wf_array_count(out))
        return out;
    wf_array *padded = looped && w.border ? wfl_window_pad(&w, x) : wf_retain(x);
    if (!padded) {
        wf_release(out);
        return NULL;
    }
    sum u = { .s = wfl_slide_begin(&w, padded, w.shape, dtype), .w = &w, .kernel = kernel };
    wf_val v;
    if (looped) {
        u.value = wf_local(u.s.g, dtype, wf_const(u.s.g, dtype, 0));
        sum_looped(&u, 0, 0);
        v = wf_get(u.value);
    } else
        v = sum_written(&u);
    wf_out(u.s.g, out, v);
    out = wfl_array_run(u.s.g, out);
    wf_release(padded);
    return out;
}

wf_array *wf_convolve(const wf_array *x, const wf_array *kernel, wf_axes axes, wf_border border, double outside)
{
    static const char name[] = "wf_convolve";
    wf_context *ctx = wf_array_context(x);
    wfl_window w;
    if (!kernel || !wfl_array_known(kernel, name) || !wfl_window_over(&w, x, axes, border, outside, name) ||
        !wfl_array_together(x, kernel, name))
        return NULL;
    wf_shape size = wf_array_shape(kernel);
    int rank = 0;
    for (int d = 0; d < w.shape.rank; ++d)
        if (w.axes >> d & 1 && ++rank <= size.rank && !wfl_window_set(&w, ctx, d, size.dim[rank - 1]))
            return NULL;
    wfl_window_mirror(&w);
    if (rank != size.rank) {
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `kernel` has %d axes, but `axes` names %d", name, (int)size.rank, rank);
        return NULL;
    }
    wf_dtype t = product_dtype(x, (wf_arrays){ (wf_array *const[]){ (wf_array *)kernel }, 1 }, name);
    if (!t)
        return NULL;
    wf_dtype dtype = wfl_work_dtype(t);
    wfl_pieces pieces;
    /* Transforms need a kernel of which each rank has all elements. */
    switch (wf_array_dist(kernel) ? WFL_BY_SUMS : wfl_convolve_choose(x, &w, dtype, &pieces)) {
    case WFL_BY_FFT:
        return wfl_convolve_by_fft(x, kernel, &w, dtype, t);
    case WFL_IN_PIECES:
        return wfl_convolve_in_pieces(x, kernel, &w, &pieces, dtype, t);
    case WFL_BY_SUMS:
        break;
    }
    return convolve(x, kernel, &w, dtype, t);
}

/* Returns the kernel of the nth axis, or NULL with an error. */
static const wf_array *line_of(const wfl_window *w, wf_context *ctx, wf_arrays lines, size_t n)
{
    const wf_array *line = lines.n == 1 ? lines.at[0] : n < lines.n ? lines.at[n] : NULL;
    if (line && !wfl_array_known(line, w->function))
        return NULL;
    if (line && wf_array_shape(line).rank == 1)
        return line;
    wfl_array_fail(ctx, WF_ERR_SHAPE,
                   "%s: kernel %zu of %zu %s%d; needed is one axis, and one kernel or one for each axis", w->function,
                   n, lines.n, line ? "has rank " : "is missing", line ? (int)wf_array_shape(line).rank : 0);
    return NULL;
}

/* Convolves along one axis after the other. An axis whose line is NULL in `of` is left as it is. */
static wf_array *convolve_lines(const wf_array *x, const wfl_window *all, const wf_array *const *of, wf_dtype t)
{
    wfl_window w = *all;
    wf_dtype dtype = wfl_work_dtype(t);
    int last = -1, axes = 0;
    for (int d = 0; d < w.shape.rank; ++d)
        if (of[d]) {
            last = d;
            ++axes;
        }
    if (last < 0)
        return wf_array_cast(x, t);
    /* What is outside along a second axis is a sum, too, if it is not 0. */
    wf_array *from = w.outside != 0 && axes > 1 ? wfl_window_pad(&w, x) : wf_retain(x);
    wf_shape shape = w.shape;
    if (!w.border)
        shape = wf_array_shape(from);
    for (int d = 0; from && d <= last; ++d)
        if (of[d]) {
            wfl_window one = w;
            for (int e = 0; e < WF_MAX_RANK; ++e)
                if (e != d) {
                    one.size[e] = 1;
                    one.before[e] = one.origin[e] = 0;
                }
            one.axes = 1u << d;
            shape.dim[d] = all->shape.dim[d];
            one.shape = shape;
            wf_array *next = convolve(from, of[d], &one, dtype, d == last ? t : dtype);
            wf_release(from);
            from = next;
        }
    return from;
}

wf_array *wf_convolve_separable(const wf_array *x, wf_arrays kernels, wf_axes axes, wf_border border, double outside)
{
    static const char name[] = "wf_convolve_separable";
    wf_context *ctx = wf_array_context(x);
    const wf_array *of[WF_MAX_RANK] = { NULL };
    wfl_window w;
    if (!wfl_window_over(&w, x, axes, border, outside, name))
        return NULL;
    if (!kernels.at && kernels.n) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: a list of %zu entries is NULL", name, kernels.n);
        return NULL;
    }
    size_t n = 0;
    for (int d = 0; d < w.shape.rank; ++d)
        if (w.axes >> d & 1) {
            if (!(of[d] = line_of(&w, ctx, kernels, n++)) || !wfl_window_set(&w, ctx, d, wf_array_shape(of[d]).dim[0]))
                return NULL;
        }
    wfl_window_mirror(&w);
    if (n && kernels.n != 1 && kernels.n != n) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: %zu kernels for %zu axes; needed is one, or one for each axis", name,
                       kernels.n, n);
        return NULL;
    }
    wf_dtype t = product_dtype(x, n ? kernels : WF_NO_ARRAYS, name);
    return t ? convolve_lines(x, &w, of, t) : NULL;
}

enum { MOST_ORDER = 10 };

/* Sets q to the coefficients of the polynomial by which derivative `order` of a Gaussian is a multiple of it. */
WFL_APART static void hermite(double q[MOST_ORDER + 1], double sigma, int order)
{
    for (int n = 0; n < order; ++n) { /* (q g)' = (q' - x q / sigma^2) g */
        double next[MOST_ORDER + 1] = { 0 };
        for (int i = 0; i <= n; ++i) {
            if (i)
                next[i - 1] += i * q[i];
            next[i + 1] -= q[i] / (sigma * sigma);
        }
        memcpy(q, next, sizeof next);
    }
}

/* The Gaussian has the sum 1; its derivative is that of the function, at the elements' places. */
WFL_APART static void fill_gaussian(double *weight, double sigma, int64_t radius, int order)
{
    double total = 0, q[MOST_ORDER + 1] = { 1 };
    for (int64_t i = -radius; i <= radius; ++i) {
        double at = (double)i / sigma;
        total += weight[i + radius] = radius ? exp(-0.5 * at * at) : 1;
    }
    if (order)
        hermite(q, sigma, order);
    for (int64_t i = 0; i < 2 * radius + 1; ++i) {
        double factor = q[order];
        for (int n = order - 1; n >= 0; --n)
            factor = factor * (double)(i - radius) + q[n];
        weight[i] = weight[i] / total * factor;
    }
}

/* Returns a Gaussian of 2 radius + 1 elements, or its derivative, f64. NULL: error. */
static wf_array *gaussian(const wf_array *x, double sigma, int64_t radius, int order)
{
    int64_t n = 2 * radius + 1;
    void *weight;
    wf_array *room = wfl_array_scratch(wf_array_context(x), n, sizeof(double), &weight);
    if (!room) {
        wfl_end_group(x);
        return NULL;
    }
    fenv_t saved;
    wfl_floats_begin(&saved);
    fill_gaussian(weight, sigma, radius, order);
    wfl_floats_end(&saved);
    wf_array *line = wfl_array_beside(x, WF_F64, &WF_SHAPE(n));
    if (line && wf_upload(line, weight, (size_t)n * sizeof(double)) != WF_OK) {
        wfl_end_group(x);
        wf_release(line);
        line = NULL;
    }
    wf_release(room);
    return line;
}

/* True if the numbers are possible; else with an error. */
static bool possible(const wfl_window *w, wf_context *ctx, int axis, double sigma, int order)
{
    const double widest = 1 << 26;
    if (!(sigma >= 0 && sigma <= widest))
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `sigma` of axis %d is %g, not 0 to 2^26", w->function, axis, sigma);
    else if (order < 0 || order > MOST_ORDER)
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `order` of axis %d is %d, not 0 to %d", w->function, axis, order,
                       (int)MOST_ORDER);
    else if (order && sigma == 0)
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `sigma` of axis %d is 0, but a derivative needs a width", w->function,
                       axis);
    else
        return true;
    return false;
}

/* order: one for each of the axes; NULL: 0. */
static wf_array *by_gaussians(const wf_array *x, const double *sigma, const int *order, wf_axes axes, wf_border border,
                              double outside, const char *name)
{
    wf_context *ctx = wf_array_context(x);
    wf_array *of[WF_MAX_RANK] = { NULL }, *out = NULL;
    wfl_window w;
    if (!wfl_window_over(&w, x, axes, border, outside, name))
        return NULL;
    if (!sigma && w.axes) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `sigma` is NULL", name);
        return NULL;
    }
    for (int d = 0; d < w.shape.rank; ++d)
        if (w.axes >> d & 1) {
            double width = *sigma++;
            int n = order ? *order++ : 0;
            if (!possible(&w, ctx, d, width, n))
                goto done;
            int64_t radius = (int64_t)(4 * width + 0.5);
            if ((radius || n) &&
                (!(of[d] = gaussian(x, width, radius, n)) || !wfl_window_set(&w, ctx, d, 2 * radius + 1)))
                goto done;
        }
    out = convolve_lines(x, &w, (const wf_array *const *)of, wfl_mean_dtype(wf_array_dtype(x)));
done:
    for (int d = 0; d < w.shape.rank; ++d)
        wf_release(of[d]);
    return out;
}

wf_array *wf_gaussian_filter(const wf_array *x, const double *sigma, wf_axes axes, wf_border border, double outside)
{
    return by_gaussians(x, sigma, NULL, axes, border, outside, "wf_gaussian_filter");
}

wf_array *wf_gaussian_derivative(const wf_array *x, const double *sigma, const int *order, wf_axes axes,
                                 wf_border border, double outside)
{
    return by_gaussians(x, sigma, order, axes, border, outside, "wf_gaussian_derivative");
}
