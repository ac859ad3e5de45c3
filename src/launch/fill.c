/* fill.c - new arrays whose contents a recording computes. */
#include "launch/launch.h"
#include <math.h>

static bool whole(double x) { return x == trunc(x) && fabs(x) < 0x1p53; }

wf_array *wf_full(wf_context *ctx, wf_dtype dtype, wf_shape shape, double value)
{
    if (ctx && wf__computable(dtype) && !wf_number_fits(value, dtype)) {
        wf__error(ctx, WF_ERR_DTYPE, "wf_full: the value %.17g does not fit %s", value, wf_dtype_name(dtype));
        return NULL;
    }
    wf_array *a = ctx ? wf__array_make(ctx, "wf_full", dtype, &shape, NULL, 0) : NULL;
    if (!a)
        return NULL;
    wf_graph *g = wf_begin_with(ctx, NULL);
    wf_out(g, a, wf_param(g, "value", dtype, value)); /* one kernel for all values */
    if (wf_run(g) == WF_OK)
        return a;
    wf_release(a);
    return NULL;
}

wf_array *wf_array_arange(wf_context *ctx, wf_dtype dtype, int64_t n, double start, double step)
{
    wf_shape shape = { .rank = 1, .dim = { n } };
    wf_array *a = ctx ? wf__array_make(ctx, "wf_array_arange", dtype, &shape, NULL, 0) : NULL;
    if (!a)
        return NULL;
    wf_graph *g = wf_begin_with(ctx, NULL);
    wf_val i = wf_iota(g, shape, 0);
    bool exact = wf__is_int(dtype) && whole(start) && whole(step);
    wf_dtype in = exact ? WF_I64 : WF_F64;
    wf_val first = wf_param(g, "start", in, start), by = wf_param(g, "step", in, step);
    wf_out(g, a, wf_add(wf_mul(wf_cast(i, in), by), first));
    if (wf_run(g) == WF_OK)
        return a;
    wf_release(a);
    return NULL;
}
