/* compare.c - whether elements are close to each other. */
#include "reduction.h"

static wf_val is_nan(wf_val v)
{
    return wfl_is_complex_dtype(wf_val_dtype(v)) ? wf_or(wf_isnan(wf_real(v)), wf_isnan(wf_imag(v))) : wf_isnan(v);
}

static wf_val close_of(wf_graph *g, const wf_array *a, const wf_array *b, double rtol, double atol, bool nan_equal)
{
    wf_val x = wfl_wide(wf_in(g, a)), y = wfl_wide(wf_in(g, b));
    wf_val bound = wf_add(wf_param(g, "atol", WF_F64, atol), wf_mul(wf_param(g, "rtol", WF_F64, rtol), wf_abs(y)));
    /* without this, infinity <= infinity would hold for any element */
    wf_val finite = wf_and(wf_isfinite(wf_abs(x)), wf_isfinite(wf_abs(y)));
    wf_val close = wf_or(wf_eq(x, y), wf_and(finite, wf_le(wf_abs(wf_sub(x, y)), bound)));
    return nan_equal ? wf_or(close, wf_and(is_nan(x), is_nan(y))) : close;
}

wf_array *wf_array_is_close(const wf_array *a, const wf_array *b, double rtol, double atol, bool nan_equal)
{
    wf_context *ctx = wf_array_context(a ? a : b);
    if (!ctx)
        return NULL;
    wf_graph *g = wfl_begin(ctx, __func__);
    return wfl_kept(g, a, close_of(g, a, b, rtol, atol, nan_equal));
}

wf_status wf_array_all_close(const wf_array *a, const wf_array *b, double rtol, double atol, bool nan_equal,
                             bool *close)
{
    wf_context *ctx = wf_array_context(a ? a : b);
    if (!ctx)
        return WF_ERR_ARG;
    if (!close)
        return wfl_array_fail(ctx, WF_ERR_ARG, "wf_array_all_close: close is NULL");
    wf_freeze_refuse(ctx, "wf_array_all_close", "the result is read back");
    wf_graph *g = wfl_begin(ctx, __func__);
    wf_val v = close_of(g, a, b, rtol, atol, nan_equal);
    wf_array *all = wfl_array_run(g, wf_keep(wf_reduce(WF_JOIN_AND, v, WF_ALL_AXES)));
    uint8_t byte = 0;
    wf_status status = all ? wf_download(all, &byte, 1) : wfl_array_error(ctx);
    if (status == WF_OK)
        *close = byte;
    wf_release(all);
    return status;
}
