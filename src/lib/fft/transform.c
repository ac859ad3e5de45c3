/* transform.c - transforms of several axes: one axis after the other, over parts of a batch that caches hold. */
#include "transform.h"
#include <math.h>

wf_dtype wfl_spectrum_dtype(wf_dtype t)
{
    switch (t) {
    case WF_I32:
    case WF_U32:
    case WF_I64:
    case WF_U64:
    case WF_F64:
    case WF_C128:
        return WF_C128;
    case WF_F16:
    case WF_C32:
        return WF_C32;
    default:
        return WF_C64;
    }
}

wf_dtype wfl_part_of(wf_dtype t) { return wfl_spectrum_dtype(t) == WF_C128 ? WF_F64 : WF_F32; }

double wfl_scale_of(wf_fft_norm norm, bool inverse, double n)
{
    switch (norm) {
    case WF_FFT_FORWARD:
        return inverse ? 1 : 1 / n;
    case WF_FFT_ORTHO:
        return 1 / sqrt(n);
    case WF_FFT_NONE:
        return 1;
    default:
        return inverse ? 1 / n : 1;
    }
}

/* ---- all axes ---- */
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
    wf_status status =
        to && from ? wfl_transform_axis(&(wfl_axis_pass){ .plan = p, .kind = kind, .n = n, .scale = scale }, to, from)
                   : wfl_array_error(p->ctx);
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

wf_array *wfl_batch_of(const wf_array *array, int axis)
{
    wf_shape s = wf_array_shape(array), batch = { .rank = 1 };
    batch.dim[0] = 1;
    for (int d = 0; d < s.rank; ++d)
        if (d < axis)
            batch.dim[0] *= s.dim[d];
        else
            batch.dim[batch.rank++] = s.dim[d];
    return wf_view_reshape((wf_array *)array, batch);
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
    for (int64_t i = 0; i < lead && status == WF_OK; i += count) {
        int64_t end = i + count < lead ? i + count : lead;
        wfl_plan plan = wfl_plan_of_some(w->plan, end - i, lead);
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

/* ---- functions ---- */
/* The kind of a transform between arrays of these dtypes and shapes. */
static bool kind_of(const wfl_plan *p, const wf_array *y, const wf_array *x, wf_axes axes, wfl_fft_kind *kind)
{
    wf_shape in = wf_array_shape(x), out = wf_array_shape(y), half = in, full = out;
    bool to_real = !wfl_is_complex_dtype(wf_array_dtype(y)), from_real = !wfl_is_complex_dtype(wf_array_dtype(x));
    int last = wfl_last_of(axes);
    half.dim[last] = in.dim[last] / 2 + 1;
    full.dim[last] = out.dim[last] / 2 + 1;
    if (!to_real && wfl_same_shape(&in, &out))
        *kind = WFL_FFT_C2C;
    else if (!to_real && from_real && wfl_same_shape(&half, &out))
        *kind = WFL_FFT_R2C;
    else if (to_real && !from_real && in.rank == out.rank && wfl_same_shape(&full, &in))
        *kind = WFL_FFT_C2R;
    else {
        char a[160], b[160];
        wf_shape_text(&in, a, sizeof a);
        wf_shape_text(&out, b, sizeof b);
        wfl_array_fail(p->ctx, WF_ERR_SHAPE, "%s: %s%s does not transform into %s%s", p->function,
                       wf_dtype_name(wf_array_dtype(x)), a, wf_dtype_name(wf_array_dtype(y)), b);
        return false;
    }
    return true;
}

bool wfl_checked(const wfl_plan *p, const wf_array *x, wf_axes *axes, const char *what)
{
    wf_shape shape = wf_array_shape(x);
    bool drop;
    if (!wfl_array_known(x, p->function) || !wfl_axes_of(p->ctx, &shape, axes, &drop, p->function))
        return false;
    if (drop || !*axes) {
        wfl_array_fail(p->ctx, WF_ERR_ARG, drop ? "%s: WF_DROP_AXES is for reductions" : "%s: %s has no axes",
                       p->function, what);
        return false;
    }
    for (int d = 0; d < shape.rank; ++d)
        if (*axes >> d & 1 && !shape.dim[d]) {
            wfl_array_fail(p->ctx, WF_ERR_SHAPE, "%s: axis %d of %s has no elements", p->function, d, what);
            return false;
        }
    return true;
}

static wf_status run(wfl_plan *p, wfl_fft_kind kind, wf_axes axes, wf_array *y, const wf_array *x)
{
    wf_shape in = wf_array_shape(x), out = wf_array_shape(y);
    p->inverse = p->inverse || kind == WFL_FFT_C2R;
    double n = (double)wfl_axes_count(kind == WFL_FFT_C2R ? &out : &in, axes);
    double scale = wfl_scale_of(p->norm, p->inverse, n);
    wf_array *from = wf_array_contiguous((wf_array *)x);
    if (!from)
        return wfl_array_error(p->ctx);
    wf_status status = wfl_run_repeated(&(wfl_whole){ p, kind, axes, scale }, y, from);
    wf_release(from);
    return status;
}

/* A new array with the transform of x. */
static wf_array *transformed(wfl_plan *p, wfl_fft_kind kind, wf_axes axes, wf_dtype dtype, const wf_shape *shape,
                             const wf_array *x)
{
    wf_array *y = wfl_array_beside(x, dtype, shape);
    if (!y || run(p, kind, axes, y, x) == WF_OK)
        return y;
    wf_release(y);
    return NULL;
}

wf_array *wf_fft_c2c(const wf_array *x, wf_axes axes, bool inverse, wf_fft_norm norm)
{
    wfl_plan p = { wf_array_context(x), __func__, norm, inverse, wfl_part_of(wf_array_dtype(x)), 1 };
    wf_shape shape = wf_array_shape(x);
    if (!x || !wfl_checked(&p, x, &axes, "the array"))
        return NULL;
    return transformed(&p, WFL_FFT_C2C, axes, wfl_spectrum_dtype(wf_array_dtype(x)), &shape, x);
}

wf_array *wf_fft_r2c(const wf_array *x, wf_axes axes, wf_fft_norm norm)
{
    wfl_plan p = { wf_array_context(x), __func__, norm, false, wfl_part_of(wf_array_dtype(x)), 1 };
    wf_shape shape = wf_array_shape(x);
    if (!x || !wfl_checked(&p, x, &axes, "the array"))
        return NULL;
    if (wfl_is_complex_dtype(wf_array_dtype(x))) {
        wfl_array_fail(p.ctx, WF_ERR_DTYPE, "wf_fft_r2c: the array is complex; wf_fft_c2c transforms it");
        return NULL;
    }
    int last = wfl_last_of(axes);
    shape.dim[last] = shape.dim[last] / 2 + 1;
    return transformed(&p, WFL_FFT_R2C, axes, wfl_spectrum_dtype(wf_array_dtype(x)), &shape, x);
}

wf_array *wf_fft_c2r(const wf_array *x, int64_t last, wf_axes axes, wf_fft_norm norm)
{
    wfl_plan p = { wf_array_context(x), __func__, norm, true, wfl_part_of(wf_array_dtype(x)), 1 };
    wf_shape shape = wf_array_shape(x);
    if (!x || !wfl_checked(&p, x, &axes, "the spectrum"))
        return NULL;
    if (!wfl_is_complex_dtype(wf_array_dtype(x))) {
        wfl_array_fail(p.ctx, WF_ERR_DTYPE, "wf_fft_c2r: the spectrum is real");
        return NULL;
    }
    int axis = wfl_last_of(axes);
    int64_t half = shape.dim[axis];
    shape.dim[axis] = last == -1 ? 2 * (half - 1) : last;
    if (shape.dim[axis] < 1 || shape.dim[axis] / 2 + 1 != half) {
        wfl_array_fail(p.ctx, WF_ERR_SHAPE,
                       "wf_fft_c2r: %lld elements along axis %d have a spectrum of %lld, but it has %lld",
                       (long long)shape.dim[axis], axis, (long long)(shape.dim[axis] / 2 + 1), (long long)half);
        return NULL;
    }
    return transformed(&p, WFL_FFT_C2R, axes, wf_dtype_part(wf_array_dtype(x)), &shape, x);
}

wf_status wf_fft_into(wf_array *out, const wf_array *x, wf_axes axes, bool inverse, wf_fft_norm norm)
{
    wf_dtype wider = wfl_part_of(wf_array_dtype(out)) == WF_F64 ? wf_array_dtype(out) : wf_array_dtype(x);
    wfl_plan p = { wf_array_context(x ? x : out), __func__, norm, inverse, wfl_part_of(wider), 1 };
    wfl_fft_kind kind;
    if (!x || !out)
        return wf_error(p.ctx, WF_ERR_ARG, "wf_fft_into: an array is NULL");
    if (!wfl_checked(&p, x, &axes, "the input") || !wfl_checked(&p, out, &axes, "the output") ||
        !wfl_array_together(out, x, p.function) || !kind_of(&p, out, x, axes, &kind))
        return wf_last_status(p.ctx);
    wf_array *from = out != x && wf_shares(out, x) ? wf_array_copy(x) : wf_retain(x);
    bool direct = wf_array_is_packed(out);
    wf_shape shape = wf_array_shape(out);
    wf_array *to = direct ? wf_retain(out) : wfl_array_beside(out, wf_array_dtype(out), &shape);
    wf_status status = from && to ? run(&p, kind, axes, to, from) : wfl_array_error(p.ctx);
    if (status == WF_OK && !direct)
        status = wf_array_assign(out, to);
    wf_release(from);
    wf_release(to);
    return status;
}
