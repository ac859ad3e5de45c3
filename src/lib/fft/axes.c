/* axes.c - transforms of several axes: one axis after the other, over parts of a batch that caches hold. */
#include "transform.h"

wf_array *wfl_around(const wf_array *array, int axis)
{
    wf_shape s = wf_array_shape(array);
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < s.rank; ++d)
        if (d != axis)
            *(d < axis ? &outer : &inner) *= s.dim[d];
    return wf_view_reshape((wf_array *)array, WF_SHAPE(outer, s.dim[axis], inner));
}

static wf_status run_axis(const wfl_plan *p, wfl_fft_kind kind, int axis, int64_t n, double scale, wf_array *y,
                          const wf_array *x)
{
    wf_array *to = wfl_around(y, axis), *from = x == y ? wf_retain(to) : wfl_around(x, axis);
    wf_shape whole = p->whole.rank ? p->whole : wf_array_shape(x);
    wfl_axis_pass a = { .plan = p, .kind = kind, .n = n, .outer = 1, .inner = 1, .scale = scale };
    for (int d = 0; d < whole.rank; ++d)
        if (d != axis)
            *(d < axis ? &a.outer : &a.inner) *= whole.dim[d];
    wf_status status = to && from ? wfl_transform_axis(&a, to, from) : wfl_array_error(p->ctx);
    wf_release(to);
    wf_release(from);
    return status;
}

/* Transforms of the other axes, whose kind they have, then of the first one in y. */
static wf_status run_forwards(const wfl_whole *w, wf_array *y, const wf_array *x)
{
    int first = wfl_first_of(w->axes);
    wfl_whole others = { w->plan, w->kind, w->axes & ~(1u << first), 1 };
    if (!others.axes)
        return run_axis(w->plan, w->kind, first, wf_array_shape(x).dim[first], w->scale, y, x);
    wf_status status = wfl_run_whole(&others, y, x);
    return status == WF_OK ? run_axis(w->plan, WFL_FFT_C2C, first, wf_array_shape(y).dim[first], w->scale, y, y)
                           : status;
}

/* Transforms of all axes but the last one in an array between, then of the last one to real elements. */
static wf_status run_to_real(const wfl_whole *w, wf_array *y, const wf_array *x)
{
    int half = wfl_last_of(w->axes);
    wfl_whole others = { w->plan, WFL_FFT_C2C, w->axes & ~(1u << half), 1 };
    wf_array *middle = others.axes ? wfl_new_beside(x, wfl_complex_dtype(w->plan->part), wf_array_shape(x)) : NULL;
    wf_status status = !others.axes ? WF_OK
                       : middle     ? wfl_run_whole(&others, middle, x)
                                    : wfl_array_error(w->plan->ctx);
    if (status == WF_OK)
        status = run_axis(w->plan, WFL_FFT_C2R, half, wf_array_shape(y).dim[half], w->scale, y, middle ? middle : x);
    wf_release(middle);
    return status;
}

static wf_status run_part(const wfl_whole *w, wf_array *y, const wf_array *x)
{
    return w->kind == WFL_FFT_C2R ? run_to_real(w, y, x) : run_forwards(w, y, x);
}

wf_shape wfl_batch_shape(const wf_shape *shape, int axis)
{
    wf_shape batch = { .rank = 1 };
    batch.dim[0] = 1;
    for (int d = 0; d < shape->rank; ++d)
        if (d < axis)
            batch.dim[0] *= shape->dim[d];
        else
            batch.dim[batch.rank++] = shape->dim[d];
    return batch;
}

wf_array *wfl_batch_of(const wf_array *array, int axis)
{
    wf_shape shape = wf_array_shape(array);
    return wf_view_reshape((wf_array *)array, wfl_batch_shape(&shape, axis));
}

/* Transforms several axes of a batch. Passes over so many of its parts as caches hold come one after the other, so that
 * only the first pass reads memory, and only the last one writes it. */
wf_status wfl_run_whole(const wfl_whole *w, wf_array *y, const wf_array *x)
{
    int first = wfl_first_of(w->axes);
    wf_shape shape = wf_array_shape(x);
    int64_t lead = 1;
    for (int d = 0; d < first; ++d)
        lead *= shape.dim[d];
    double each = lead ? (wfl_bytes_of(x) + wfl_bytes_of(y)) / (double)lead : 0;
    int64_t count = wfl_held_in_caches(w->plan, each);
    bool in_caches = w->axes & (w->axes - 1) && each <= WFL_CACHE_OF_ALL && wf_array_device(x) < WF_GPU(0);
    if (!in_caches || lead <= count)
        return run_part(w, y, x);
    wf_array *from = wfl_batch_of(x, first), *to = x == y ? wf_retain(from) : wfl_batch_of(y, first);
    wf_status status = from && to ? WF_OK : wfl_array_error(w->plan->ctx);
    wfl_plan plan = *w->plan;
    shape = wf_array_shape(w->kind == WFL_FFT_R2C ? y : x);
    plan.whole = wfl_batch_shape(plan.whole.rank ? &plan.whole : &shape, first);
    for (int64_t i = 0; i < lead && status == WF_OK; i += count) {
        int64_t end = i + count < lead ? i + count : lead;
        wfl_whole part = { &plan, w->kind, w->axes >> first << 1, w->scale };
        wf_array *a = wfl_some(from, i, end - i), *b = x == y ? wf_retain(a) : wfl_some(to, i, end - i);
        status = a && b ? run_part(&part, b, a) : wfl_array_error(w->plan->ctx);
        wf_release(a);
        wf_release(b);
    }
    wf_release(from);
    wf_release(to);
    return status;
}
