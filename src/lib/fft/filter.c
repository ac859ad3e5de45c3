/* filter.c - a filter between a transform and its inverse, within the pass of the first axis where that is possible. */
#include "lib/array/lines.h"
#include "transform.h"

/* A filter of a batch: x, spectrum and y are [lead, ...], and the first axis of the transform is axis 1. */
typedef struct filtering {
    const wfl_plan *plan; /* with the shape of the whole spectrum, as a batch */
    wf_axes axes;         /* of the arrays of the batch */
    int64_t n;            /* extent of axis 1, in space */
    double scale;
    const wfl_filter *filter;
    wfl_prepared *fused; /* forward along axis 1, the filter, and back; NULL = one after the other */
    bool taped;          /* a tape notes the transforms of all axes and the filter, one after the other */
} filtering;

/* Elements of the whole spectrum for one index along axis 1. */
static int64_t inner_of_whole(const filtering *f)
{
    int64_t n = 1;
    for (int d = 2; d < f->plan->whole.rank; ++d)
        n *= f->plan->whole.dim[d];
    return n;
}

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
        pass.inner = inner_of_whole(f);
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
    const wf_axes others = f->taped ? 0 : f->axes & ~WF_AXES(1);
    wf_status (*const run)(const wfl_whole *, wf_array *, const wf_array *) =
        f->taped ? wfl_run_on_tape : wfl_run_whole;
    wfl_plan forward = *f->plan, inverse = forward;
    inverse.inverse = true;
    wfl_whole there = { &forward, WFL_FFT_R2C, others ? others : f->axes, 1 };
    wfl_whole back = { &inverse, WFL_FFT_C2R, others ? others : f->axes, others ? 1 : f->scale };
    wf_status status = run(&there, spectrum, x);
    if (status == WF_OK)
        status = others ? filter_along(f, spectrum, first) : filter_alone(f, spectrum, first);
    return status == WF_OK ? run(&back, y, spectrum) : status;
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
    bool columns = f->axes & ~WF_AXES(1) && inner_of_whole(f) > 1;
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
    part.taped = wfl_is_taped(y, x) || wf_is_taping(f->plan->ctx); /* the hook may read what a tape watches */
    wf_status status = !spectra ? wfl_array_error(f->plan->ctx) : part.taped ? WF_OK : prepare(&part, spectra);
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

/* ---- distributed arrays ---- */
/* Filters the lines of a block, which begins at `origin` of the whole spectrum. */
static wf_status filter_lines(const filtering *f, wf_array *block, int64_t *origin)
{
    wfl_filter filter = *f->filter;
    filtering own = *f;
    own.filter = &filter;
    filter.shape = wf_array_shape(block);
    filter.origin = wf_wrap(f->plan->ctx, origin, WF_I64, WF_SHAPE(filter.shape.rank), NULL, NULL);
    wf_array *packed = wf_array_contiguous(block), *batch = packed ? wfl_batch_of(packed, filter.axis) : NULL;
    wf_status status = batch && filter.origin ? prepare(&own, batch) : wfl_array_error(f->plan->ctx);
    if (status == WF_OK)
        status = f->axes & ~WF_AXES(1) ? filter_along(&own, batch, 0) : filter_alone(&own, batch, 0);
    if (status == WF_OK && packed != block)
        status = wf_array_assign(block, packed);
    wf_release(batch);
    wf_release(packed);
    wfl_prepared_free(own.fused);
    wf_release(filter.origin);
    return status;
}

/* Filters the block of each rank, in which the lines are whole. Ranks agree on the status. */
static wf_status filter_blocks(const filtering *f, wf_array *spectrum)
{
    int64_t lo[WF_MAX_RANK] = { 0 }, hi[WF_MAX_RANK] = { 0 };
    wf_dist_range(wf_array_dist(spectrum), wf_ranks_rank(wf_array_ranks(spectrum)), lo, hi);
    wf_array *block = wf_array_block(spectrum);
    wf_status status = block ? WF_OK : wfl_array_error(f->plan->ctx);
    if (block && wf_array_count(block))
        status = filter_lines(f, block, lo);
    wf_status ended = block ? wf_array_block_end(spectrum, block) : status;
    return wfl_ranks_agree(f->plan->ctx, f->plan->function, spectrum, status == WF_OK ? ended : status);
}

/* As filter_part. The spectrum is cut such that lines along the first axis are whole. */
static wf_status filter_distributed(const filtering *f, wf_axes axes, wf_array *y, const wf_array *x)
{
    const int first = f->filter->axis;
    const wf_axes others = axes & ~WF_AXES(first);
    wfl_plan forward = *f->plan, inverse = forward;
    inverse.inverse = true;
    wfl_whole there = { &forward, WFL_FFT_R2C, others ? others : axes, 1 };
    wfl_whole back = { &inverse, WFL_FFT_C2R, others ? others : axes, others ? 1 : f->scale };
    wf_array *spectrum = wfl_distributed_whole(x, wfl_complex_dtype(f->plan->part), &f->filter->shape, WF_AXES(first));
    wf_status status = spectrum ? wfl_run_distributed(&there, spectrum, x) : wfl_array_error(f->plan->ctx);
    if (status == WF_OK)
        status = filter_blocks(f, spectrum);
    if (status == WF_OK)
        status = wfl_run_distributed(&back, y, spectrum);
    wf_release(spectrum);
    return status;
}

/* ---- any arrays ---- */
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
    if (wf_array_dist(x)) {
        wfl_plan plan = *p;
        f.plan = &plan;
        plan.whole = wfl_batch_shape(&shape, first);
        return filter_distributed(&f, axes, y, x);
    }
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
    const bool divided = wf_array_dist(x) || wf_array_dist(out);
    if (!wfl_checked(&p, x, &axes, "the input") || !wfl_array_known(out, p.function) ||
        !wfl_array_together(out, x, p.function) || (divided && !wfl_distributed_together(p.ctx, p.function, out, x)))
        return wfl_array_error(p.ctx);
    wf_shape in = wf_array_shape(x), shape = wf_array_shape(out);
    if (wfl_is_complex_dtype(wf_array_dtype(x)) || wfl_is_complex_dtype(wf_array_dtype(out)))
        return wf_error(p.ctx, WF_ERR_DTYPE, "wf_fft_filter: the arrays must be real");
    if (!wfl_same_shape(&in, &shape))
        return wf_error(p.ctx, WF_ERR_SHAPE, "wf_fft_filter: the output has another shape than the input");
    if (!wf_array_count(x))
        return WF_OK;
    wfl_filter called = { .hook = filter, .user = user };
    if (divided)
        return run_filter(&p, axes, out, x, &called);
    wf_array *from = wf_array_contiguous((wf_array *)x);
    wf_array *to = wf_array_is_packed(out) ? wf_retain(out) : wfl_array_beside(out, wf_array_dtype(out), &shape);
    wf_status status = from && to ? run_filter(&p, axes, to, from, &called) : wfl_array_error(p.ctx);
    if (status == WF_OK && to != out)
        status = wf_array_assign(out, to);
    wf_release(from);
    wf_release(to);
    return status;
}
