/* reduction.c - what all reductions share: how they begin and end, and means, norms and extremes as values. */
#include "reduction.h"

bool wfl_reduction_begin_shape(wfl_reduction *r, const wf_array *of, const wf_shape *shape, wf_axes axes,
                               const char *function)
{
    wf_context *ctx = wf_array_context(of);
    *r = (wfl_reduction){ .ctx = ctx, .of = of, .shape = *shape, .axes = axes };
    if (!ctx || !wfl_axes_of(ctx, shape, &r->axes, &r->drop, function))
        return false;
    r->n = wfl_axes_count(shape, r->axes);
    r->g = wfl_begin(ctx, function);
    return true;
}

bool wfl_reduction_begin(wfl_reduction *r, const wf_array *array, wf_axes axes, const char *function)
{
    wf_shape shape = wf_array_shape(array);
    return wfl_reduction_begin_shape(r, array, &shape, axes, function);
}

wf_array *wfl_reduction_end(wfl_reduction *r, wf_val v)
{
    wf_array *out = wfl_kept(r->g, r->of, v);
    return !out ? NULL : r->drop ? wfl_without_axes(out, r->axes) : out;
}

wf_status wfl_reduction_end_two(wfl_reduction *r, wf_array *out[2])
{
    wf_status status = wfl_run_into(r->g, r->of);
    for (int i = 0; i < 2 && status == WF_OK && r->drop; ++i) {
        out[i] = wfl_without_axes(out[i], r->axes);
        status = out[i] ? WF_OK : wfl_array_error(r->ctx);
    }
    for (int i = 0; i < 2 && status != WF_OK; ++i) {
        wf_release(out[i]);
        out[i] = NULL;
    }
    return status;
}

/* ---- in f64 ---- */
wf_val wfl_wide(wf_val v) { return wf_cast(v, wfl_is_complex_dtype(wf_val_dtype(v)) ? WF_C128 : WF_F64); }

wf_val wfl_square(wf_val v)
{
    if (!wfl_is_complex_dtype(wf_val_dtype(v)))
        return wf_mul(v, v);
    wf_val re = wf_real(v), im = wf_imag(v);
    return wf_add(wf_mul(re, re), wf_mul(im, im));
}

wf_dtype wfl_real_dtype(const wf_array *array) { return wf_dtype_part(wfl_mean_dtype(wf_array_dtype(array))); }

wf_val wfl_norm_of(const wfl_reduction *r, wf_val v, wf_norm norm)
{
    if (norm == WF_NORM_L2)
        return wf_sqrt(wf_reduce(WF_JOIN_ADD, wfl_square(v), r->axes));
    if (norm == WF_NORM_L1)
        return wf_reduce(WF_JOIN_ADD, wf_abs(v), r->axes);
    return r->n ? wf_reduce(WF_JOIN_MAX, wf_abs(v), r->axes) : wf_reduce(WF_JOIN_ADD, wf_abs(v), r->axes);
}

wf_val wfl_extreme_of(const wfl_reduction *r, wf_val v, bool largest)
{
    if (wf_val_dtype(v) == WF_BOOL)
        return wf_reduce(largest ? WF_JOIN_OR : WF_JOIN_AND, v, r->axes);
    return wf_reduce(largest ? WF_JOIN_MAX : WF_JOIN_MIN, v, r->axes);
}

wf_val wfl_mean_of(const wfl_reduction *r, wf_val v)
{
    return wf_div(wf_reduce(WF_JOIN_ADD, v, r->axes), wf_param(r->g, "n", WF_F64, (double)r->n));
}
