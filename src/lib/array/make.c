/* make.c - fills, copies and ranges. */
#include "array_internal.h"
#include <math.h>

wf_status wf_array_fill(wf_array *array, double value)
{
    wf_context *ctx = wf_array_context(array);
    if (!ctx)
        return WF_ERR_ARG;
    wf_dtype t = wf_array_dtype(array);
    if (wfl_is_complex_dtype(t))
        return wf_array_fill_complex(array, value, 0);
    wf_graph *g = wfl_begin(ctx, __func__);
    wf_const(g, t, value);                            /* fails if the number does not fit */
    wf_out(g, array, wf_param(g, "value", t, value)); /* one kernel for all values */
    return wfl_run_into(g, array);
}

wf_status wf_array_fill_complex(wf_array *array, double re, double im)
{
    wf_context *ctx = wf_array_context(array);
    if (!ctx)
        return WF_ERR_ARG;
    wf_dtype t = wf_array_dtype(array), part = wf_dtype_part(t);
    if (!wfl_is_complex_dtype(t))
        return wfl_array_fail(ctx, WF_ERR_DTYPE, "wf_array_fill_complex: the array is %s, not complex",
                              wf_dtype_name(t));
    wf_graph *g = wfl_begin(ctx, __func__);
    wf_out(g, array, wf_complex(wf_param(g, "re", part, re), wf_param(g, "im", part, im)));
    return wfl_run_into(g, array);
}

wf_array *wfl_array_zeros_beside(const wf_array *array, wf_dtype dtype, const wf_shape *shape)
{
    wf_array *zeros = wfl_array_beside(array, dtype, shape);
    if (zeros && wf_array_fill(zeros, 0) == WF_OK)
        return zeros;
    if (zeros)
        wfl_end_group(array);
    wf_release(zeros);
    return NULL;
}

wf_status wf_array_assign(wf_array *to, const wf_array *from)
{
    wf_context *ctx = wf_array_context(to);
    if (!ctx || !wfl_array_known(to, "wf_array_assign") || !wfl_array_known(from, "wf_array_assign"))
        return WF_ERR_ARG;
    wf_shape target = wf_array_shape(to), source = wf_array_shape(from), both;
    if (from && !(wfl_batch_broadcast(&source, 0, &target, 0, &both) && wfl_same_shape(&both, &target))) {
        char have[160], want[160];
        wf_shape_text(&source, have, sizeof have);
        wf_shape_text(&target, want, sizeof want);
        wfl_array_fail(ctx, WF_ERR_SHAPE, "wf_array_assign: %s does not broadcast to %s", have, want);
        return WF_ERR_SHAPE;
    }
    wf_graph *g = wfl_begin(ctx, "wf_array_assign");
    wf_val v = wf_in(g, from);
    if (from && !wfl_same_shape(&target, &source)) {
        wf_array *wide = wf_view_broadcast((wf_array *)from, target); /* the view is only read */
        if (wide)
            v = wf_in(g, wide);
        else
            wf_fail(g, wfl_array_error(ctx), wf_last_message(ctx));
        wf_release(wide);
    }
    wf_out(g, to, v);
    return wfl_run_into(g, to);
}

wf_array *wf_array_copy(const wf_array *array) { return wf_array_cast(array, wf_array_dtype(array)); }

wf_array *wf_array_cast(const wf_array *array, wf_dtype dtype)
{
    if (!array)
        return NULL;
    wf_graph *g = wfl_begin(wf_array_context(array), __func__);
    return wfl_kept(g, array, wf_cast(wf_in(g, array), dtype));
}

wf_array *wf_array_contiguous(wf_array *array)
{
    if (!array)
        return NULL;
    return wf_array_is_packed(array) ? wf_retain(array) : wf_array_copy(array);
}

wf_array *wf_array_linspace(wf_context *ctx, wf_dtype dtype, int64_t n, double start, double stop, bool endpoint,
                            double *step)
{
    if (!ctx)
        return NULL;
    if (n < 0) {
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: %lld numbers", __func__, (long long)n);
        return NULL;
    }
    wf_shape shape = { .rank = 1, .dim = { n } };
    int64_t parts = endpoint ? n - 1 : n;
    double by = (double)NAN;
    if (parts > 0)
        wf_val_number(wf_div(wf_sub(stop, start), (double)parts), &by, NULL);
    wf_graph *g = wfl_begin(ctx, __func__);
    wf_val i = wf_iota(g, shape, 0), first = wf_param(g, "start", WF_F64, start);
    wf_val x = wf_add(first, wf_mul(wf_cast(i, WF_F64), wf_param(g, "step", WF_F64, n > 1 ? by : 0)));
    if (endpoint && n > 1)
        x = wf_select(wf_eq(i, wf_param(g, "last", WF_I64, (double)(n - 1))), wf_param(g, "stop", WF_F64, stop), x);
    wf_array *out = wfl_array_run(g, wf_keep(wf_cast(x, dtype)));
    if (out && step)
        *step = by;
    return out;
}

wf_array *wf_array_iota(wf_context *ctx, wf_dtype dtype, wf_shape shape, const int64_t *tile)
{
    if (!ctx)
        return NULL;
    wf_graph *g = wfl_begin(ctx, __func__);
    if (!shape.rank)
        return wfl_array_run(g, wf_keep(wf_const(g, dtype, 0)));
    wf_val linear = wf_const(g, WF_I64, 0);
    for (int d = 0; d < shape.rank && shape.rank <= WF_MAX_RANK; ++d) {
        if (tile && tile[d] <= 0)
            wf_fail(g, WF_ERR_ARG, "wf_array_iota: the extents of a tile must be above 0");
        wf_val i = wf_iota(g, shape, d);
        int64_t extent = tile ? tile[d] : shape.dim[d];
        if (tile && extent < shape.dim[d])
            i = wf_mod(i, wf_const_i64(g, WF_I64, extent));
        linear = wf_add(wf_mul(linear, wf_const_i64(g, WF_I64, extent)), i);
    }
    return wfl_array_run(g, wf_keep(wf_cast(linear, dtype)));
}
