/* histogram.c - counts per bin: finds the bin in f64, corrects it by the edges, and accumulates. */
#include "array_internal.h"
#include <math.h>

/* Returns the bin of x, for lo <= x <= hi. The quotient may be off by one bin, so the edges decide. */
static wf_val bin_of(wf_val x, wf_val lo, wf_val hi, wf_val bins)
{
    wf_val n = wf_cast(bins, WF_F64), width = wf_sub(hi, lo), step = wf_div(width, n), scale = wf_div(n, width);
    wf_val i = wf_floor(wf_mul(wf_sub(x, lo), scale)), next = wf_add(i, 1);
    wf_val below = wf_lt(x, wf_add(lo, wf_mul(i, step))), above = wf_ge(x, wf_add(lo, wf_mul(next, step)));
    wf_val bin = wf_select(below, wf_sub(i, 1), wf_select(above, next, i));
    return wf_min(wf_cast(bin, WF_I64), wf_sub(wf_cast(bins, WF_I64), 1)); /* hi itself is in the last bin */
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
    wf_val bin = bin_of(x, from, to, wf_const_i64(g, WF_I64, bins));
    wf_accumulate_if(g, wf_and(wf_ge(x, from), wf_le(x, to)), WF_JOIN_ADD, count, 1, bin);
    if (wf_run(g) == WF_OK)
        out = few ? wf_array_cast(count, WF_I64) : wf_retain(count);
    wf_release(count);
    return out;
}
