/* window.c - what window filters share: checks, borders, and reads around a place. */
#include "window.h"
#include <string.h>

static const int64_t longest = INT64_C(1) << 30;

bool wfl_window_over(wfl_window *w, const wf_array *x, wf_axes axes, wf_border border, double outside,
                     const char *function)
{
    wf_context *ctx = wf_array_context(x);
    bool drop;
    if (!x || !wfl_array_known(x, function) || !wfl_border_known(ctx, border, function))
        return false;
    *w = (wfl_window){ .function = function, .shape = wf_array_shape(x), .axes = axes, .outside = outside };
    w->border = border == WF_BORDER_NONE ? WF_BORDER_VALUE : border;
    if (!wfl_axes_of(ctx, &w->shape, &w->axes, &drop, function))
        return false;
    for (int d = 0; d < WF_MAX_RANK; ++d)
        w->size[d] = 1;
    if (w->border != WF_BORDER_VALUE)
        w->outside = 0;
    if (wf_number_fits(w->outside, wf_array_dtype(x)))
        return true;
    wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: `outside` is %g, which elements of %s cannot hold", function, outside,
                   wf_dtype_name(wf_array_dtype(x)));
    return false;
}

bool wfl_window_set(wfl_window *w, wf_context *ctx, int axis, int64_t size)
{
    w->size[axis] = size;
    w->before[axis] = size / 2;
    if (size >= 1 && size <= longest)
        return true;
    wfl_array_fail(ctx, WF_ERR_ARG, "%s: the window has extent %lld along axis %d, not 1 to 2^30", w->function,
                   (long long)size, axis);
    return false;
}

bool wfl_window_set_all(wfl_window *w, wf_context *ctx, const int64_t *size)
{
    if (!size && w->axes) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `size` is NULL", w->function);
        return false;
    }
    for (int d = 0; d < w->shape.rank; ++d)
        if (w->axes >> d & 1 && !wfl_window_set(w, ctx, d, *size++))
            return false;
    return true;
}

void wfl_window_mirror(wfl_window *w)
{
    for (int d = 0; d < w->shape.rank; ++d)
        w->before[d] = w->size[d] - 1 - w->before[d];
}

int64_t wfl_window_count(const wfl_window *w)
{
    int64_t n = 1;
    for (int d = 0; d < w->shape.rank; ++d)
        n = n > INT64_MAX / w->size[d] ? INT64_MAX : n * w->size[d];
    return n;
}

wf_array *wfl_window_pad(wfl_window *w, const wf_array *x)
{
    int64_t after[WF_MAX_RANK];
    for (int d = 0; d < WF_MAX_RANK; ++d)
        after[d] = w->size[d] - 1 - w->before[d];
    wf_array *padded = wf_array_resize(x, w->before, after, w->border, w->outside);
    memcpy(w->origin, w->before, sizeof w->origin);
    w->border = WF_BORDER_NONE;
    return padded;
}

wfl_slide wfl_slide_begin(const wfl_window *w, const wf_array *x, wf_shape shape, wf_dtype dtype)
{
    wfl_slide s = { .x = x, .dtype = dtype, .border = w->border, .rank = shape.rank };
    s.g = wfl_begin(wf_array_context(x), w->function, .shape = shape, .indexed = true,
                    .device = wfl_on_gpu(x) ? wf_array_device(x) : 0);
    for (int d = 0; d < s.rank; ++d)
        s.index[d] = wf_add(wf_index(s.g, d), wf_const_i64(s.g, WF_I64, w->origin[d]));
    s.outside = wf_const(s.g, wf_array_dtype(x), w->outside);
    return s;
}

wf_val wfl_slide_read(const wfl_slide *s, const int64_t *offset)
{
    wf_val index[WF_MAX_RANK];
    for (int d = 0; d < s->rank; ++d)
        index[d] = offset[d] ? wf_add(s->index[d], wf_const_i64(s->g, WF_I64, offset[d])) : s->index[d];
    wf_vals at = { index, (size_t)s->rank };
    wf_val v = s->border ? wf_read_border_n(s->g, s->x, s->border, s->outside, at) : wf_read_n(s->g, s->x, at);
    return wf_cast(v, s->dtype);
}

bool wfl_window_next(const int64_t *size, int rank, int64_t *at)
{
    for (int d = rank - 1; d >= 0; --d) {
        if (++at[d] < size[d])
            return true;
        at[d] = 0;
    }
    return false;
}
