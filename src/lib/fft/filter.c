/* filter.c - a filter between a transform and its inverse, within the pass of the first axis where that is possible. */
#include "transform.h"

/* A filter of a batch: x, spectrum and y are [lead, ...], and the first axis of the transform is axis 1. */
typedef struct filtering {
    const wfl_plan *plan;
    wf_axes axes; /* of the arrays of the batch */
    int64_t n;    /* extent of axis 1, in space */
    double scale;
    const wfl_filter *filter;
    wfl_prepared *fused; /* forward along axis 1, the filter, and back; NULL = one after the other */
} filtering;

/* The filter as a pass over the spectrum of its own. */
static wf_status filter_alone(const filtering *f, wf_array *spectrum, int64_t first)
{
    wf_array *view = wfl_around(spectrum, 1);
    if (!view)
        return wfl_array_error(f->plan->ctx);
    wf_shape shape = wf_array_shape(view);
    wf_graph *g = wfl_begin(f->plan->ctx, f->plan->function, .shape = shape);
    wf_val outer = wf_add(wf_index(g, 0), wf_param(g, "fft first", WF_I64, (double)first));
    wf_out(g, view, wfl_filter_call(g, f->filter, outer, wf_index(g, 1), wf_index(g, 2), wf_in(g, view)));
    wf_release(view);
    return wf_run(g);
}

/* Forward along axis 1, the filter, and back. */
static wf_status filter_along(const filtering *f, wf_array *spectrum, int64_t first)
{
    wf_array *view = wfl_around(spectrum, 1);
    if (!view)
        return wfl_array_error(f->plan->ctx);
    wfl_plan forward = *f->plan, inverse = forward;
    inverse.inverse = true;
    wf_status status;
    if (f->fused) {
        status = wfl_prepared_run(f->fused, view, f->scale, first);
    } else {
        wfl_axis_pass pass = { .plan = &forward, .kind = WFL_FFT_C2C, .n = f->n, .scale = 1 };
        pass.outer = f->plan->whole.dim[0];
        status = wfl_transform_axis(&pass, view, view);
        if (status == WF_OK)
            status = filter_alone(f, spectrum, first);
        pass.plan = &inverse;
        pass.scale = f->scale;
        if (status == WF_OK)
            status = wfl_transform_axis(&pass, view, view);
    }
    wf_release(view);
    return status;
}

/* The parts of the batch from `first` on. */
static wf_status filter_part(const filtering *f, wf_array *y, wf_array *spectrum, const wf_array *x, int64_t first)
{
    wf_axes others = f->axes & ~WF_AXES(1);
    wfl_plan forward = *f->plan, inverse = forward;
    inverse.inverse = true;
    wfl_whole there = { &forward, WFL_FFT_R2C, others ? others : f->axes, 1 };
    wfl_whole back = { &inverse, WFL_FFT_C2R, others ? others : f->axes, others ? 1 : f->scale };
    wf_status status = wfl_run_whole(&there, spectrum, x);
    if (status == WF_OK)
        status = others ? filter_along(f, spectrum, first) : filter_alone(f, spectrum, first);
    return status == WF_OK ? wfl_run_whole(&back, y, spectrum) : status;
}

/* Prepares the fused pass, if lines are columns that fit into scratch and need no convolution. */
static wf_status prepare(filtering *f, const wf_array *spectrum)
{
    wf_array *view = wfl_around(spectrum, 1);
    if (!view)
        return wfl_array_error(f->plan->ctx);
    wfl_pass pass = wfl_describe(&(wfl_axis_pass){ .plan = f->plan, .kind = WFL_FFT_C2C, .n = f->n, .scale = f->scale },
                                 view, view);
    pass.filtered = true;
    bool columns = f->axes & ~WF_AXES(1) && wf_array_shape(view).dim[2] > 1;
    wf_status status = WF_OK;
    if (columns && wfl_pass_fits(f->plan->ctx, &pass)) {
        wfl_lengths l = wfl_lengths_of(&pass);
        if (l.core == l.steps) {
            f->fused = wfl_pass_prepare(f->plan->ctx, &pass, f->filter, f->plan->function);
            status = f->fused ? WF_OK : wfl_array_error(f->plan->ctx);
        }
    }
    wf_release(view);
    return status;
}

/* Filters a batch, x and y [lead, ...], in parts that caches hold. */
static wf_status filter_batch(const filtering *f, wf_array *y, const wf_array *x)
{
    wf_shape real = wf_array_shape(x), half = real;
    half.dim[wfl_last_of(f->axes)] = half.dim[wfl_last_of(f->axes)] / 2 + 1;
    int64_t lead = real.dim[0], count = lead;
    double each = wfl_bytes_of(x) / (double)lead * 4;
    if (each <= WFL_CACHE_OF_ALL && wf_array_device(x) < WF_GPU(0))
        count = wfl_held_in_caches(f->plan, each);
    count = count < lead ? count : lead;
    wfl_plan plan = *f->plan;
    filtering part = *f;
    part.plan = &plan;
    plan.whole = half;
    half.dim[0] = count;
    wf_array *spectra = wfl_new_beside(x, wfl_complex_dtype(f->plan->part), half);
    wf_status status = spectra ? prepare(&part, spectra) : wfl_array_error(f->plan->ctx);
    for (int64_t i = 0; i < lead && status == WF_OK; i += count) {
        int64_t n = i + count < lead ? count : lead - i;
        wf_array *from = wfl_some((wf_array *)x, i, n), *to = wfl_some(y, i, n), *spectrum = wfl_some(spectra, 0, n);
        status = from && to && spectrum ? filter_part(&part, to, spectrum, from, i) : wfl_array_error(plan.ctx);
        wf_array *spent[] = { from, to, spectrum };
        for (int k = 0; k < 3; ++k)
            wf_release(spent[k]);
    }
    wf_release(spectra);
    wfl_prepared_free(part.fused);
    return status;
}

static wf_status run_filter(const wfl_plan *p, wf_axes axes, wf_array *y, const wf_array *x, wfl_filter *filter)
{
    int first = wfl_first_of(axes), half = wfl_last_of(axes);
    wf_shape shape = wf_array_shape(x);
    filtering f = { .plan = p,
                    .axes = axes >> first << 1,
                    .n = shape.dim[first],
                    .scale = 1 / (double)wfl_axes_count(&shape, axes),
                    .filter = filter };
    shape.dim[half] = shape.dim[half] / 2 + 1;
    filter->shape = shape;
    filter->axis = first;
    wf_array *from = wfl_batch_of(x, first), *to = wfl_batch_of(y, first);
    wf_status status = from && to ? filter_batch(&f, to, from) : wfl_array_error(p->ctx);
    wf_release(from);
    wf_release(to);
    return status;
}

wf_status wf_fft_filter(wf_array *out, const wf_array *x, wf_axes axes, wf_hook *filter, void *user)
{
    wfl_plan p = { wf_array_context(x ? x : out),  __func__, WF_FFT_BACKWARD, false,
                   wfl_part_of(wf_array_dtype(x)), { 0 } };
    if (!x || !out || !filter)
        return wf_error(p.ctx, WF_ERR_ARG,
                        x && out ? "wf_fft_filter: the filter is NULL" : "wf_fft_filter: an array is NULL");
    if (!wfl_undivided(&p, x) || !wfl_undivided(&p, out) || !wfl_checked(&p, x, &axes, "the input") ||
        !wfl_array_known(out, p.function) || !wfl_array_together(out, x, p.function))
        return wfl_array_error(p.ctx);
    wf_shape in = wf_array_shape(x), shape = wf_array_shape(out);
    if (wfl_is_complex_dtype(wf_array_dtype(x)) || wfl_is_complex_dtype(wf_array_dtype(out)))
        return wf_error(p.ctx, WF_ERR_DTYPE, "wf_fft_filter: the arrays must be real");
    if (!wfl_same_shape(&in, &shape))
        return wf_error(p.ctx, WF_ERR_SHAPE, "wf_fft_filter: the output has another shape than the input");
    if (!wf_array_count(x))
        return WF_OK;
    wf_array *from = wf_array_contiguous((wf_array *)x);
    wf_array *to = wf_array_is_packed(out) ? wf_retain(out) : wfl_array_beside(out, wf_array_dtype(out), &shape);
    wf_status status = from && to ? run_filter(&p, axes, to, from, &(wfl_filter){ .hook = filter, .user = user })
                                  : wfl_array_error(p.ctx);
    if (status == WF_OK && to != out)
        status = wf_array_assign(out, to);
    wf_release(from);
    wf_release(to);
    return status;
}
