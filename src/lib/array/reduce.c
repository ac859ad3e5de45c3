/* reduce.c - sums, means, deviations, norms, extremes and where they are, truth, comparison, normalisation: recordings
 * around wf_reduce.
 */
#include "array_internal.h"

/* What a reduction is about. */
typedef struct reduction {
    wf_context *ctx;
    wf_graph *g;
    wf_shape shape;
    wf_axes axes;
    bool drop;
    int64_t n; /* elements that become one */
} reduction;

static bool begin_shape(reduction *r, wf_context *ctx, const wf_shape *shape, wf_axes axes, const char *function)
{
    *r = (reduction){ .ctx = ctx, .shape = *shape, .axes = axes };
    if (!ctx || !wf__axes_of(ctx, shape, &r->axes, &r->drop, function))
        return false;
    r->n = wf__axes_count(shape, r->axes);
    r->g = wf_begin(ctx);
    return true;
}

static bool begin(reduction *r, const wf_array *array, wf_axes axes, const char *function)
{
    wf_shape shape = wf_array_shape(array);
    return begin_shape(r, wf_array_context(array), &shape, axes, function);
}

static bool begin_some(reduction *r, const wf_array *array, wf_axes axes, const char *function)
{
    if (!begin(r, array, axes, function))
        return false;
    bool complex = wf__is_complex_dtype(wf_array_dtype(array));
    if (r->n && !complex)
        return true;
    wf_drop(r->g);
    if (complex)
        wf__array_fail(r->ctx, WF_ERR_DTYPE, "%s: complex numbers have no order", function);
    else
        wf__array_fail(r->ctx, WF_ERR_SHAPE, "%s: there is none among no elements", function);
    return false;
}

static wf_array *end(reduction *r, wf_val v)
{
    wf_array *out = wf__array_run(r->g, wf_keep(v));
    return r->drop ? wf__without_axes(out, r->axes) : out;
}

/* ---- in f64 ---- */
static wf_val wide(wf_val v) { return wf_cast(v, wf__is_complex_dtype(wf_val_dtype(v)) ? WF_C128 : WF_F64); }

static wf_val mean_of(const reduction *r, wf_val v) /* v is wide */
{
    return wf_div(wf_reduce(WF_ADD, v, r->axes), wf_const(r->g, WF_F64, (double)r->n));
}

static wf_val square(wf_val v) /* |v|^2 */
{
    if (!wf__is_complex_dtype(wf_val_dtype(v)))
        return wf_mul(v, v);
    wf_val re = wf_real(v), im = wf_imag(v);
    return wf_add(wf_mul(re, re), wf_mul(im, im));
}

static wf_val variance_of(const reduction *r, wf_val v, double ddof)
{
    double divisor = (double)r->n - ddof;
    wf_val sum = wf_reduce(WF_ADD, square(wf_sub(v, mean_of(r, v))), r->axes);
    return wf_div(sum, wf_const(r->g, WF_F64, divisor > 0 ? divisor : 0));
}

static wf_val norm_of(const reduction *r, wf_val v, wf_norm norm)
{
    if (norm == WF_NORM_L2)
        return wf_sqrt(wf_reduce(WF_ADD, square(v), r->axes));
    if (norm == WF_NORM_L1)
        return wf_reduce(WF_ADD, wf_abs(v), r->axes);
    return r->n ? wf_reduce(WF_MAX, wf_abs(v), r->axes) : wf_reduce(WF_ADD, wf_abs(v), r->axes);
}

/* ---- sums ---- */
wf_array *wf_array_sum(const wf_array *array, wf_axes axes)
{
    reduction r;
    if (!begin(&r, array, axes, "wf_array_sum"))
        return NULL;
    return end(&r, wf_reduce(WF_ADD, wf_in(r.g, array), r.axes));
}

wf_array *wf_array_prod(const wf_array *array, wf_axes axes)
{
    reduction r;
    if (!begin(&r, array, axes, "wf_array_prod"))
        return NULL;
    return end(&r, wf_reduce(WF_MUL, wf_in(r.g, array), r.axes));
}

wf_array *wf_array_mean(const wf_array *array, wf_axes axes)
{
    reduction r;
    if (!begin(&r, array, axes, "wf_array_mean"))
        return NULL;
    wf_val v = wf_in(r.g, array);
    return end(&r, wf_cast(mean_of(&r, wide(v)), wf__mean_dtype(wf_array_dtype(array))));
}

static wf_dtype real_dtype(const wf_array *array) { return wf__part_dtype(wf__mean_dtype(wf_array_dtype(array))); }

wf_array *wf_array_variance(const wf_array *array, wf_axes axes, double ddof)
{
    reduction r;
    if (!begin(&r, array, axes, "wf_array_variance"))
        return NULL;
    return end(&r, wf_cast(variance_of(&r, wide(wf_in(r.g, array)), ddof), real_dtype(array)));
}

wf_array *wf_array_stddev(const wf_array *array, wf_axes axes, double ddof)
{
    reduction r;
    if (!begin(&r, array, axes, "wf_array_stddev"))
        return NULL;
    return end(&r, wf_cast(wf_sqrt(variance_of(&r, wide(wf_in(r.g, array)), ddof)), real_dtype(array)));
}

wf_array *wf_array_norm(const wf_array *array, wf_norm norm, wf_axes axes)
{
    reduction r;
    if (!begin(&r, array, axes, "wf_array_norm"))
        return NULL;
    return end(&r, wf_cast(norm_of(&r, wide(wf_in(r.g, array)), norm), real_dtype(array)));
}

wf_array *wf_array_rmsd(const wf_array *a, const wf_array *b, wf_axes axes)
{
    wf_context *ctx = wf_array_context(a ? a : b);
    if (!ctx)
        return NULL;
    wf_graph *probe = wf_begin(ctx); /* the common shape and dtype, or the message that there are none */
    wf_val d = wf_sub(wf_in(probe, a), wf_in(probe, b));
    wf_shape shape = wf_val_shape(d);
    wf_dtype t = wf_val_dtype(d);
    if (t == WF_NONE) {
        wf_run(probe);
        return NULL;
    }
    wf_drop(probe);
    reduction r;
    if (!begin_shape(&r, ctx, &shape, axes, "wf_array_rmsd"))
        return NULL;
    wf_val apart = wf_sub(wide(wf_in(r.g, a)), wide(wf_in(r.g, b)));
    return end(&r, wf_cast(wf_sqrt(mean_of(&r, square(apart))), wf__part_dtype(wf__mean_dtype(t))));
}

/* ---- extremes ---- */
static wf_val extreme(const reduction *r, wf_val v, bool largest)
{
    if (wf_val_dtype(v) == WF_BOOL)
        return wf_reduce(largest ? WF_OR : WF_AND, v, r->axes);
    return wf_reduce(largest ? WF_MAX : WF_MIN, v, r->axes);
}

wf_array *wf_array_min(const wf_array *array, wf_axes axes)
{
    reduction r;
    if (!begin_some(&r, array, axes, "wf_array_min"))
        return NULL;
    return end(&r, extreme(&r, wf_in(r.g, array), false));
}

wf_array *wf_array_max(const wf_array *array, wf_axes axes)
{
    reduction r;
    if (!begin_some(&r, array, axes, "wf_array_max"))
        return NULL;
    return end(&r, extreme(&r, wf_in(r.g, array), true));
}

wf_status wf_array_min_max(const wf_array *array, wf_axes axes, wf_array **min, wf_array **max)
{
    reduction r;
    *min = *max = NULL;
    if (!begin_some(&r, array, axes, "wf_array_min_max"))
        return array ? wf_check(r.ctx) : WF_ERR_ARG;
    wf_val v = wf_in(r.g, array);
    wf_array *low = wf_keep(extreme(&r, v, false)), *high = wf_keep(extreme(&r, v, true));
    wf_status status = wf_run(r.g);
    if (status == WF_OK && r.drop) {
        low = wf__without_axes(low, r.axes);
        high = wf__without_axes(high, r.axes);
        status = low && high ? WF_OK : wf_check(r.ctx);
    }
    if (status == WF_OK) {
        *min = low;
        *max = high;
        return WF_OK;
    }
    wf_release(low);
    wf_release(high);
    return status;
}

/* Where an element equals the extreme, or is NaN (then the extreme is NaN, which equals nothing), the smallest
 * index. */
static wf_array *place(const wf_array *array, wf_axes axes, bool largest, const char *function)
{
    reduction r;
    if (!begin_some(&r, array, axes, function))
        return NULL;
    wf_val v = wf_in(r.g, array), best = extreme(&r, v, largest), hit = wf_eq(v, best);
    if (wf__is_float_dtype(wf_array_dtype(array)))
        hit = wf_or(hit, wf_isnan(v));
    wf_val at = wf_const(r.g, WF_I64, 0);
    for (int d = 0; d < r.shape.rank; ++d)
        if (r.axes >> d & 1)
            at = wf_add(wf_mul(at, wf_const_i64(r.g, WF_I64, r.shape.dim[d])), wf_iota(r.g, r.shape, d));
    return end(&r, wf_reduce(WF_MIN, wf_select(hit, at, wf_const_i64(r.g, WF_I64, INT64_MAX)), r.axes));
}

wf_array *wf_array_argmin(const wf_array *array, wf_axes axes) { return place(array, axes, false, "wf_array_argmin"); }
wf_array *wf_array_argmax(const wf_array *array, wf_axes axes) { return place(array, axes, true, "wf_array_argmax"); }

/* ---- truth ---- */
static wf_val truth(wf_val v)
{
    if (!wf__is_complex_dtype(wf_val_dtype(v)))
        return wf_cast(v, WF_BOOL);
    return wf_or(wf_cast(wf_real(v), WF_BOOL), wf_cast(wf_imag(v), WF_BOOL));
}

wf_array *wf_array_all(const wf_array *array, wf_axes axes)
{
    reduction r;
    if (!begin(&r, array, axes, "wf_array_all"))
        return NULL;
    return end(&r, wf_reduce(WF_AND, truth(wf_in(r.g, array)), r.axes));
}

wf_array *wf_array_any(const wf_array *array, wf_axes axes)
{
    reduction r;
    if (!begin(&r, array, axes, "wf_array_any"))
        return NULL;
    return end(&r, wf_reduce(WF_OR, truth(wf_in(r.g, array)), r.axes));
}

wf_array *wf_array_count_nonzero(const wf_array *array, wf_axes axes)
{
    reduction r;
    if (!begin(&r, array, axes, "wf_array_count_nonzero"))
        return NULL;
    return end(&r, wf_reduce(WF_ADD, truth(wf_in(r.g, array)), r.axes));
}

/* ---- comparison ---- */
static wf_val is_nan(wf_val v)
{
    return wf__is_complex_dtype(wf_val_dtype(v)) ? wf_or(wf_isnan(wf_real(v)), wf_isnan(wf_imag(v))) : wf_isnan(v);
}

static wf_val close_of(wf_graph *g, const wf_array *a, const wf_array *b, double rtol, double atol, bool nan_equal)
{
    wf_val u = wf_in(g, a), v = wf_in(g, b), x = wide(u), y = wide(v);
    wf_val bound = wf_add(wf_param(g, "atol", WF_F64, atol), wf_mul(wf_param(g, "rtol", WF_F64, rtol), wf_abs(y)));
    wf_val finite = wf_and(wf_isfinite(wf_abs(x)), wf_isfinite(wf_abs(y))); /* infinity <= infinity says nothing */
    wf_val close = wf_or(wf_eq(u, v), wf_and(finite, wf_le(wf_abs(wf_sub(x, y)), bound)));
    return nan_equal ? wf_or(close, wf_and(is_nan(x), is_nan(y))) : close;
}

wf_array *wf_array_is_close(const wf_array *a, const wf_array *b, double rtol, double atol, bool nan_equal)
{
    wf_context *ctx = wf_array_context(a ? a : b);
    if (!ctx)
        return NULL;
    wf_graph *g = wf_begin(ctx);
    return wf__array_run(g, wf_keep(close_of(g, a, b, rtol, atol, nan_equal)));
}

wf_status wf_array_all_close(const wf_array *a, const wf_array *b, double rtol, double atol, bool nan_equal,
                             bool *close)
{
    wf_context *ctx = wf_array_context(a ? a : b);
    if (!ctx)
        return WF_ERR_ARG;
    wf_graph *g = wf_begin(ctx);
    wf_val v = close_of(g, a, b, rtol, atol, nan_equal);
    wf_array *all = wf__array_run(g, wf_keep(wf_reduce(WF_AND, v, WF_ALL_AXES)));
    uint8_t byte = 0;
    wf_status status = all ? wf_download(all, &byte, 1) : wf_check(ctx);
    if (status == WF_OK)
        *close = byte;
    wf_release(all);
    return status;
}

/* ---- normalisation ---- */
wf_array *wf_array_normalize(const wf_array *array, wf_normalize how, wf_axes axes)
{
    reduction r;
    if (!begin(&r, array, axes, "wf_array_normalize"))
        return NULL;
    wf_val v = wide(wf_in(r.g, array)), from = v, by = v;
    if (how == WF_NORMALIZE_MIN_MAX && wf__is_complex_dtype(wf_array_dtype(array)))
        wf_fail(r.g, WF_ERR_DTYPE, "wf_array_normalize: complex numbers have no smallest and largest");
    if (how == WF_NORMALIZE_MEAN_STD) {
        from = wf_sub(v, mean_of(&r, v));
        by = wf_sqrt(variance_of(&r, v, 0));
    } else if (how == WF_NORMALIZE_MIN_MAX) {
        wf_val low = extreme(&r, v, false);
        from = wf_sub(v, low);
        by = wf_sub(extreme(&r, v, true), low);
    } else if (how == WF_NORMALIZE_L1 || how == WF_NORMALIZE_L2 || how == WF_NORMALIZE_MAX)
        by = norm_of(&r, v, how == WF_NORMALIZE_L1 ? WF_NORM_L1 : how == WF_NORMALIZE_L2 ? WF_NORM_L2 : WF_NORM_MAX);
    else
        wf_fail(r.g, WF_ERR_ARG, "wf_array_normalize: `how` is none of wf_normalize");
    wf_val zero = wf_eq(by, 0), scaled = wf_div(from, wf_select(zero, wf_const(r.g, WF_F64, 1), by));
    wf_val nothing = wf_sub(from, from);
    r.drop = false;
    return end(&r, wf_cast(wf_select(zero, nothing, scaled), wf__mean_dtype(wf_array_dtype(array))));
}
