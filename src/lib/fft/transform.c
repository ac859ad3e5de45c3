/* transform.c - the functions that transform: dtypes, shapes and scales. */
#include "lib/array/lines.h"
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
    if ((unsigned)p->norm > WF_FFT_NONE) {
        wfl_array_fail(p->ctx, WF_ERR_ARG, "%s: there is no wf_fft_norm %d", p->function, (int)p->norm);
        return false;
    }
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
    wfl_whole whole = { p, kind, axes, scale };
    if (wf_array_dist(x) || wf_array_dist(y))
        return wfl_run_distributed(&whole, y, x);
    wf_array *from = wf_array_contiguous((wf_array *)x);
    if (!from)
        return wfl_array_error(p->ctx);
    wf_status status = wfl_is_taped(y, from) ? wfl_run_on_tape(&whole, y, from) : wfl_run_repeated(&whole, y, from);
    wf_release(from);
    return status;
}

/* A new array with the transform of x. */
static wf_array *transformed(wfl_plan *p, wfl_fft_kind kind, wf_axes axes, wf_dtype dtype, const wf_shape *shape,
                             const wf_array *x)
{
    wf_array *y = wfl_result_beside(x, dtype, shape);
    if (!y || run(p, kind, axes, y, x) == WF_OK)
        return y;
    wf_release(y);
    return NULL;
}

wf_array *wf_fft_c2c(const wf_array *x, wf_axes axes, bool inverse, wf_fft_norm norm)
{
    wfl_plan p = { wf_array_context(x), __func__, norm, inverse, wfl_part_of(wf_array_dtype(x)), { 0 } };
    wf_shape shape = wf_array_shape(x);
    if (!x || !wfl_checked(&p, x, &axes, "the array"))
        return NULL;
    return transformed(&p, WFL_FFT_C2C, axes, wfl_spectrum_dtype(wf_array_dtype(x)), &shape, x);
}

wf_array *wf_fft_r2c(const wf_array *x, wf_axes axes, wf_fft_norm norm)
{
    wfl_plan p = { wf_array_context(x), __func__, norm, false, wfl_part_of(wf_array_dtype(x)), { 0 } };
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
    wfl_plan p = { wf_array_context(x), __func__, norm, true, wfl_part_of(wf_array_dtype(x)), { 0 } };
    wf_shape shape = wf_array_shape(x);
    if (!x || !wfl_checked(&p, x, &axes, "the spectrum"))
        return NULL;
    if (!wfl_is_complex_dtype(wf_array_dtype(x))) {
        wf_array *spectrum = wf_array_cast(x, wfl_spectrum_dtype(wf_array_dtype(x)));
        wf_array *y = spectrum ? wf_fft_c2r(spectrum, last, axes, norm) : NULL;
        wf_release(spectrum);
        return y;
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
    wfl_plan p = { wf_array_context(x ? x : out), __func__, norm, inverse, wfl_part_of(wider), { 0 } };
    wfl_fft_kind kind;
    if (!x || !out)
        return wf_error(p.ctx, WF_ERR_ARG, "wf_fft_into: an array is NULL");
    if (!wfl_checked(&p, x, &axes, "the input") || !wfl_checked(&p, out, &axes, "the output") ||
        !wfl_array_together(out, x, p.function) || !kind_of(&p, out, x, axes, &kind))
        return wf_last_status(p.ctx);
    if (wf_array_dist(out) || wf_array_dist(x))
        return run(&p, kind, axes, out, x);
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
