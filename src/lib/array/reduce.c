/* reduce.c - sums, products, norms and truth: recordings around wf_reduce; and what all reductions share. */
#include "reduction.h"

bool wf__reduction_begin_shape(wf__reduction *r, wf_context *ctx, const wf_shape *shape, wf_axes axes,
                               const char *function)
{
    *r = (wf__reduction){ .ctx = ctx, .shape = *shape, .axes = axes };
    if (!ctx || !wf__axes_of(ctx, shape, &r->axes, &r->drop, function))
        return false;
    r->n = wf__axes_count(shape, r->axes);
    r->g = wf__begin(ctx, function);
    return true;
}

bool wf__reduction_begin(wf__reduction *r, const wf_array *array, wf_axes axes, const char *function)
{
    wf_shape shape = wf_array_shape(array);
    return wf__reduction_begin_shape(r, wf_array_context(array), &shape, axes, function);
}

wf_array *wf__reduction_end(wf__reduction *r, wf_val v)
{
    wf_array *out = wf__array_run(r->g, wf_keep(v));
    return r->drop ? wf__without_axes(out, r->axes) : out;
}

wf_status wf__reduction_end_two(wf__reduction *r, wf_array *out[2])
{
    wf_status status = wf_run(r->g);
    for (int i = 0; i < 2 && status == WF_OK && r->drop; ++i) {
        out[i] = wf__without_axes(out[i], r->axes);
        status = out[i] ? WF_OK : wf__array_error(r->ctx);
    }
    for (int i = 0; i < 2 && status != WF_OK; ++i) {
        wf_release(out[i]);
        out[i] = NULL;
    }
    return status;
}

/* ---- in f64 ---- */
wf_val wf__wide(wf_val v) { return wf_cast(v, wf__is_complex_dtype(wf_val_dtype(v)) ? WF_C128 : WF_F64); }

wf_val wf__square(wf_val v)
{
    if (!wf__is_complex_dtype(wf_val_dtype(v)))
        return wf_mul(v, v);
    wf_val re = wf_real(v), im = wf_imag(v);
    return wf_add(wf_mul(re, re), wf_mul(im, im));
}

wf_dtype wf__real_dtype(const wf_array *array) { return wf__part_dtype(wf__mean_dtype(wf_array_dtype(array))); }

wf_val wf__norm_of(const wf__reduction *r, wf_val v, wf_norm norm)
{
    if (norm == WF_NORM_L2)
        return wf_sqrt(wf_reduce(WF_ADD, wf__square(v), r->axes));
    if (norm == WF_NORM_L1)
        return wf_reduce(WF_ADD, wf_abs(v), r->axes);
    return r->n ? wf_reduce(WF_MAX, wf_abs(v), r->axes) : wf_reduce(WF_ADD, wf_abs(v), r->axes);
}

/* ---- sums ---- */
wf_array *wf_array_sum(const wf_array *array, wf_axes axes)
{
    wf__reduction r;
    if (!wf__reduction_begin(&r, array, axes, "wf_array_sum"))
        return NULL;
    return wf__reduction_end(&r, wf_reduce(WF_ADD, wf_in(r.g, array), r.axes));
}

wf_array *wf_array_prod(const wf_array *array, wf_axes axes)
{
    wf__reduction r;
    if (!wf__reduction_begin(&r, array, axes, "wf_array_prod"))
        return NULL;
    return wf__reduction_end(&r, wf_reduce(WF_MUL, wf_in(r.g, array), r.axes));
}

wf_array *wf_array_norm(const wf_array *array, wf_norm norm, wf_axes axes)
{
    wf__reduction r;
    if (!wf__reduction_begin(&r, array, axes, "wf_array_norm"))
        return NULL;
    return wf__reduction_end(&r, wf_cast(wf__norm_of(&r, wf__wide(wf_in(r.g, array)), norm), wf__real_dtype(array)));
}

wf_array *wf_array_rmsd(const wf_array *a, const wf_array *b, wf_axes axes)
{
    wf_context *ctx = wf_array_context(a ? a : b);
    if (!ctx)
        return NULL;
    wf_graph *probe = wf__begin(ctx, __func__); /* the common shape and dtype, or the message that there are none */
    wf_val d = wf_sub(wf_in(probe, a), wf_in(probe, b));
    wf_shape shape = wf_val_shape(d);
    wf_dtype t = wf_val_dtype(d);
    if (t == WF_NONE) {
        wf_run(probe);
        return NULL;
    }
    wf_drop(probe);
    wf__reduction r;
    if (!wf__reduction_begin_shape(&r, ctx, &shape, axes, "wf_array_rmsd"))
        return NULL;
    wf_val apart = wf_sub(wf__wide(wf_in(r.g, a)), wf__wide(wf_in(r.g, b)));
    return wf__reduction_end(&r,
                             wf_cast(wf_sqrt(wf__mean_of(&r, wf__square(apart))), wf__part_dtype(wf__mean_dtype(t))));
}

/* ---- truth ---- */
static wf_val truth(wf_val v)
{
    if (!wf__is_complex_dtype(wf_val_dtype(v)))
        return wf_cast(v, WF_BOOL);
    return wf_or(wf_cast(wf_real(v), WF_BOOL), wf_cast(wf_imag(v), WF_BOOL));
}

wf_array *wf_array_all(const wf_array *array, wf_axes axes)
{
    wf__reduction r;
    if (!wf__reduction_begin(&r, array, axes, "wf_array_all"))
        return NULL;
    return wf__reduction_end(&r, wf_reduce(WF_AND, truth(wf_in(r.g, array)), r.axes));
}

wf_array *wf_array_any(const wf_array *array, wf_axes axes)
{
    wf__reduction r;
    if (!wf__reduction_begin(&r, array, axes, "wf_array_any"))
        return NULL;
    return wf__reduction_end(&r, wf_reduce(WF_OR, truth(wf_in(r.g, array)), r.axes));
}

wf_array *wf_array_count_nonzero(const wf_array *array, wf_axes axes)
{
    wf__reduction r;
    if (!wf__reduction_begin(&r, array, axes, "wf_array_count_nonzero"))
        return NULL;
    return wf__reduction_end(&r, wf_reduce(WF_ADD, truth(wf_in(r.g, array)), r.axes));
}
