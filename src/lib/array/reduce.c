/* reduce.c - sums, products, norms and truth: recordings around wf_reduce. */
#include "reduction.h"
#include "weft/distributed.h"

/* ---- sums ---- */
wf_array *wf_array_sum(const wf_array *array, wf_axes axes)
{
    wfl_reduction r;
    if (!wfl_reduction_begin(&r, array, axes, "wf_array_sum"))
        return NULL;
    return wfl_reduction_end(&r, wf_reduce(WF_JOIN_ADD, wf_in(r.g, array), r.axes));
}

wf_array *wf_array_prod(const wf_array *array, wf_axes axes)
{
    wfl_reduction r;
    if (!wfl_reduction_begin(&r, array, axes, "wf_array_prod"))
        return NULL;
    return wfl_reduction_end(&r, wf_reduce(WF_JOIN_MUL, wf_in(r.g, array), r.axes));
}

wf_array *wf_array_norm(const wf_array *array, wf_norm norm, wf_axes axes)
{
    wfl_reduction r;
    if (!wfl_reduction_begin(&r, array, axes, "wf_array_norm"))
        return NULL;
    if ((unsigned)norm > WF_NORM_MAX)
        wf_fail(r.g, WF_ERR_ARG, "wf_array_norm: `norm` is no value of wf_norm");
    return wfl_reduction_end(&r, wf_cast(wfl_norm_of(&r, wfl_wide(wf_in(r.g, array)), norm), wfl_real_dtype(array)));
}

wf_array *wf_array_rmsd(const wf_array *a, const wf_array *b, wf_axes axes)
{
    wf_context *ctx = wf_array_context(a ? a : b);
    if (!ctx)
        return NULL;
    wf_graph *probe = wfl_begin(ctx, __func__); /* finds the common shape and dtype, or reports that there are none */
    wf_val d = wf_sub(wf_in(probe, a), wf_in(probe, b));
    wf_shape shape = wf_val_shape(d);
    wf_dtype t = wf_val_dtype(d);
    if (t == WF_NONE) {
        wf_run(probe);
        return NULL;
    }
    wf_drop(probe);
    wfl_reduction r;
    if (!wfl_reduction_begin_shape(&r, wf_array_ranks(a) ? a : b, &shape, axes, "wf_array_rmsd"))
        return NULL;
    wf_val apart = wf_sub(wfl_wide(wf_in(r.g, a)), wfl_wide(wf_in(r.g, b)));
    return wfl_reduction_end(&r,
                             wf_cast(wf_sqrt(wfl_mean_of(&r, wfl_square(apart))), wf_dtype_part(wfl_mean_dtype(t))));
}

/* ---- truth ---- */
static wf_val truth(wf_val v)
{
    if (!wfl_is_complex_dtype(wf_val_dtype(v)))
        return wf_cast(v, WF_BOOL);
    return wf_or(wf_cast(wf_real(v), WF_BOOL), wf_cast(wf_imag(v), WF_BOOL));
}

wf_array *wf_array_all(const wf_array *array, wf_axes axes)
{
    wfl_reduction r;
    if (!wfl_reduction_begin(&r, array, axes, "wf_array_all"))
        return NULL;
    return wfl_reduction_end(&r, wf_reduce(WF_JOIN_AND, truth(wf_in(r.g, array)), r.axes));
}

wf_array *wf_array_any(const wf_array *array, wf_axes axes)
{
    wfl_reduction r;
    if (!wfl_reduction_begin(&r, array, axes, "wf_array_any"))
        return NULL;
    return wfl_reduction_end(&r, wf_reduce(WF_JOIN_OR, truth(wf_in(r.g, array)), r.axes));
}

wf_array *wf_array_count_nonzero(const wf_array *array, wf_axes axes)
{
    wfl_reduction r;
    if (!wfl_reduction_begin(&r, array, axes, "wf_array_count_nonzero"))
        return NULL;
    return wfl_reduction_end(&r, wf_reduce(WF_JOIN_ADD, truth(wf_in(r.g, array)), r.axes));
}
