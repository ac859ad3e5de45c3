/* histogram.c - counts per bin: finds the bin in f64, corrects it by its upper edge, and accumulates. */
#include "array_internal.h"
#include <math.h>

/* Returns the bin of x, for lo <= x <= hi. The quotient is found a quarter of a bin too small, so that it is the bin or the
 * one below it after rounding, and the edge between these two decides. */
static wf_val bin_of(wf_graph *g, wf_val x, wf_val lo, wf_val hi, int64_t bins)
{
    const wf_dtype t = bins <= INT32_MAX ? WF_I32 : WF_I64;
    wf_val n = wf_const(g, WF_F64, (double)bins), width = wf_sub(hi, lo), step = wf_div(width, n),
           scale = wf_div(n, width);
    wf_val bin = wf_cast(wf_mul(wf_sub(x, wf_add(lo, wf_mul(step, 0.25))), scale), t), next = wf_add(bin, 1);
    wf_val reached = wf_ge(x, wf_add(lo, wf_mul(wf_cast(next, WF_F64), step)));
    return wf_min(wf_select(reached, next, bin), wf_const_i64(g, t, bins - 1)); /* hi itself is in the last bin */
}

wf_array *wf_array_histogram(const wf_array *array, int64_t bins, double lo, double hi)
{
    wf_context *ctx = wf_array_context(array);
    if (!ctx)
        return NULL;
    wf_dtype t = wf_array_dtype(array);
    if (wfl_is_complex_dtype(t) || bins < 1 || bins > INT64_MAX / 16 || !(lo < hi) || !isfinite(hi - lo)) {
        wfl_array_fail(ctx, wfl_is_complex_dtype(t) ? WF_ERR_DTYPE : WF_ERR_ARG,
                       "wf_array_histogram: %s with %lld bins from %g to %g; needs real elements, 1 bin or more, and "
                       "finite lo < hi",
                       wf_dtype_name(t), (long long)bins, lo, hi);
        return NULL;
    }
    /* then 32-bit counts do, and the copies of the threads take half the memory */
    bool few = wf_array_count(array) <= UINT32_MAX;
    wf_array *count = wfl_array_zeros_beside(array, few ? WF_U32 : WF_I64, &WF_SHAPE(bins)), *out = NULL;
    if (!count)
        return NULL;
    /* the comparison with the edges must be exact */
    wf_graph *g = wfl_begin(ctx, __func__, .flags_off = WF_FLAG_FAST_MATH);
    wf_val x = wf_cast(wf_in(g, array), WF_F64), from = wf_param(g, "lo", WF_F64, lo),
           to = wf_param(g, "hi", WF_F64, hi);
    wf_val bin = bin_of(g, x, from, to, bins);
    wf_accumulate_if(g, wf_and(wf_ge(x, from), wf_le(x, to)), WF_JOIN_ADD, count, 1, bin);
    if (wf_run(g) == WF_OK)
        out = few ? wf_array_cast(count, WF_I64) : wf_retain(count);
    wf_release(count);
    return out;
}
