/* transform.c - transforms of several axes as passes, one axis each, the last one first. Lengths that do not fit into
 * the scratch of a line are two passes n = a b, or a convolution of arrays.
 */
#include "pass.h"
#include <math.h>
#include <string.h>

enum { CACHE_OF_CORE = 1 << 20, CACHE_OF_ALL = 16 << 20 }; /* bytes that stay in caches for the next pass */

typedef struct plan { /* a whole transform */
    wf_context *ctx;
    const char *function;
    wf_fft_norm norm;
    bool inverse;
    wf_dtype part;
} plan;

static wf_dtype complex_dtype(wf_dtype part) { return part == WF_F64 ? WF_C128 : WF_C64; }

/* The dtype of the spectrum of an array. */
static wf_dtype spectrum_dtype(wf_dtype t)
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

static wf_dtype part_of(wf_dtype t) { return spectrum_dtype(t) == WF_C128 ? WF_F64 : WF_F32; }

static double scale_of(const plan *p, double n)
{
    switch (p->norm) {
    case WF_FFT_FORWARD:
        return p->inverse ? 1 : 1 / n;
    case WF_FFT_ORTHO:
        return 1 / sqrt(n);
    case WF_FFT_NONE:
        return 1;
    default:
        return p->inverse ? 1 / n : 1;
    }
}

/* The device that recordings of passes over the array name. */
static wf_device device_of(const wf_array *x)
{
    wf_device device = wf_array_device(x);
    if (device >= WF_GPU(0))
        return device;
    return wf_context_device(wf_array_context(x)) == WF_INTERP ? WF_INTERP : WF_CPU;
}

static wf_array *new_beside(const wf_array *x, wf_dtype dtype, wf_shape shape)
{
    return wfl_array_beside(x, dtype, &shape);
}

/* ---- one axis. x and y: [outer, n, inner] in C order ---- */
typedef struct axis_pass {
    const plan *plan;
    wfl_fft_kind kind;
    int64_t n; /* length of the lines in space */
    double scale;
} axis_pass;

static wf_status transform_axis(const axis_pass *a, wf_array *y, const wf_array *x);

static wfl_pass describe(const axis_pass *a, const wf_array *y, const wf_array *x)
{
    wfl_pass pass;
    memset(&pass, 0, sizeof pass);
    pass.n = a->n;
    pass.device = device_of(y);
    pass.kind = (uint8_t)a->kind;
    pass.in = (uint8_t)wf_array_dtype(x);
    pass.out = (uint8_t)wf_array_dtype(y);
    pass.part = (uint8_t)a->plan->part;
    pass.inverse = a->plan->inverse;
    pass.scaled = a->scale != 1;
    pass.in_place = x == y;
    return pass;
}

/* Runs a pass over rows: x [outer, n, 1], y likewise. */
static wf_status run_rows(const axis_pass *a, wf_array *y, const wf_array *x, const wfl_pass *pass)
{
    wf_shape in = wf_array_shape(x), out = wf_array_shape(y);
    wf_array *from = wf_view_reshape((wf_array *)x, WF_SHAPE(1, in.dim[0], in.dim[1]));
    wf_array *to = x == y ? wf_retain(from) : wf_view_reshape(y, WF_SHAPE(1, out.dim[0], out.dim[1]));
    wf_status status =
        from && to ? wfl_pass_run(pass, to, from, a->scale, a->plan->function) : wfl_array_error(a->plan->ctx);
    wf_release(from);
    wf_release(to);
    return status;
}

/* Elements that lie `second` apart, roots, and rows of `second` elements, through an array between. */
static wf_status run_halves(const axis_pass *a, wf_array *y, wf_array *between, const wf_array *x)
{
    const plan *p = a->plan;
    wf_shape shape = wf_array_shape(x);
    wfl_pass one = describe(&(axis_pass){ p, WFL_FFT_C2C, shape.dim[1], 1 }, between, x);
    one.twist = shape.dim[2];
    wf_status status = wfl_pass_run(&one, between, x, 1, p->function);
    if (status != WF_OK)
        return status;
    wfl_pass two = describe(&(axis_pass){ p, WFL_FFT_C2C, shape.dim[2], a->scale }, y, between);
    two.rows_in = true;
    return wfl_pass_run(&two, y, between, a->scale, p->function);
}

/* How many parts of a batch, of so many bytes each, the caches of all threads hold. */
static int64_t held_in_caches(const plan *p, double each)
{
    double room = (double)CACHE_OF_CORE * wf_get_threads(p->ctx);
    return each < room ? (int64_t)(room / (each + 1)) + 1 : 1;
}

/* Elements i to i + n of the first axis, which has more. */
static wf_array *some(wf_array *array, int64_t i, int64_t n) { return wf_view_slice(array, 0, i, i + n, 1); }

/* n = first * second in two passes, for so many lines at once that the array between stays in caches. */
static wf_status run_twice(const axis_pass *a, wf_array *y, const wf_array *x, int64_t first, int64_t second)
{
    const plan *p = a->plan;
    wf_dtype dtype = complex_dtype(p->part);
    int64_t outer = wf_array_shape(x).dim[0], count = outer;
    if (wf_array_device(x) < WF_GPU(0))
        count = held_in_caches(p, 3 * (double)a->n * (double)wf_dtype_size(dtype));
    count = count < outer ? count : outer;
    wf_array *columns = wf_view_reshape((wf_array *)x, WF_SHAPE(outer, first, second));
    wf_array *between = new_beside(x, dtype, WF_SHAPE(count, first, second));
    wf_array *result = wf_view_reshape(y, WF_SHAPE(outer, second, first));
    wf_status status = columns && between && result ? WF_OK : wfl_array_error(p->ctx);
    for (int64_t i = 0; i < outer && status == WF_OK; i += count) {
        int64_t n = i + count < outer ? count : outer - i;
        wf_array *from = some(columns, i, n), *to = some(result, i, n), *middle = some(between, 0, n);
        status = from && to && middle ? run_halves(a, to, middle, from) : wfl_array_error(p->ctx);
        wf_array *spent[] = { from, to, middle };
        for (int k = 0; k < 3; ++k)
            wf_release(spent[k]);
    }
    wf_array *spent[] = { columns, between, result };
    for (int i = 0; i < 3; ++i)
        wf_release(spent[i]);
    return status;
}

/* Transforms rows of a copy with the axis last. */
static wf_status run_transposed(const axis_pass *a, wf_array *y, const wf_array *x)
{
    const int order[] = { 0, 2, 1 };
    wf_shape in = wf_array_shape(x), out = wf_array_shape(y);
    int64_t lines = in.dim[0] * in.dim[2];
    wf_array *turned = wf_array_permute(x, order);
    wf_array *rows = turned ? wf_view_reshape(turned, WF_SHAPE(lines, in.dim[1], 1)) : NULL;
    wf_array *results = new_beside(x, wf_array_dtype(y), WF_SHAPE(lines, out.dim[1], 1));
    wf_array *back = results ? wf_view_reshape(results, WF_SHAPE(out.dim[0], out.dim[2], out.dim[1])) : NULL;
    wf_array *view = back ? wf_view_permute(back, order) : NULL;
    wf_status status = rows && view ? transform_axis(a, results, rows) : wfl_array_error(a->plan->ctx);
    if (status == WF_OK)
        status = wf_array_assign(y, view);
    wf_array *spent[] = { turned, rows, results, back, view };
    for (int i = 0; i < 5; ++i)
        wf_release(spent[i]);
    return status;
}

/* ---- long lines without a pass of their own ---- */
/* exp(-i pi k^2 / n), k an i64. */
static wf_val chirp_of(wf_dtype part, wf_val k, int64_t n)
{
    wf_val half_turns = wf_div(wf_cast(wf_mod(wf_mul(k, k), 2 * (double)n), WF_F64), (double)n);
    return wf_complex(wf_cast(wf_cospi(half_turns), part), wf_cast(wf_neg(wf_sinpi(half_turns)), part));
}

/* The transformed filter of Bluestein's algorithm, [1, m, 1]. */
static wf_array *filter_of(const plan *p, const wf_array *x, int64_t n, int64_t m)
{
    wf_array *filter = new_beside(x, complex_dtype(p->part), WF_SHAPE(1, m, 1));
    wf_graph *g = wfl_begin(p->ctx, p->function);
    wf_val k = wf_iota(g, WF_SHAPE(1, m, 1), 1), away = wf_min(k, wf_sub((double)m, k));
    wf_val chirp = wf_conj(chirp_of(p->part, away, n));
    if (filter)
        wf_out(g, filter, wf_select(wf_lt(away, (double)n), chirp, 0));
    plan forward = *p;
    forward.inverse = false;
    if (wf_run(g) == WF_OK && filter &&
        transform_axis(&(axis_pass){ &forward, WFL_FFT_C2C, m, 1.0 / (double)m }, filter, filter) == WF_OK)
        return filter;
    wf_release(filter);
    return NULL;
}

/* A convolution of arrays, for a length with a large prime factor. */
static wf_status run_bluestein(const axis_pass *a, wf_array *y, const wf_array *x)
{
    const plan *p = a->plan;
    int64_t n = a->n, m = wfl_fft_convolution(n), outer = wf_array_shape(x).dim[0];
    plan forward = *p, inverse = *p;
    forward.inverse = false;
    inverse.inverse = true;
    wf_array *filter = filter_of(p, x, n, m), *work = new_beside(x, complex_dtype(p->part), WF_SHAPE(outer, m, 1));
    wf_array *used = work ? wf_view_slice(work, 1, 0, n, 1) : NULL;
    wf_status status = filter && used ? WF_OK : wfl_array_error(p->ctx);
    if (status == WF_OK)
        status = wf_array_fill(work, 0);
    if (status == WF_OK) {
        wf_graph *g = wfl_begin(p->ctx, p->function);
        wf_val v = wf_cast(wf_in(g, x), complex_dtype(p->part)), k = wf_iota(g, WF_SHAPE(1, n, 1), 1);
        wf_out(g, used, wf_mul(p->inverse ? wf_conj(v) : v, chirp_of(p->part, k, n)));
        status = wf_run(g);
    }
    if (status == WF_OK)
        status = transform_axis(&(axis_pass){ &forward, WFL_FFT_C2C, m, 1 }, work, work);
    if (status == WF_OK) {
        wf_graph *g = wfl_begin(p->ctx, p->function);
        wf_out(g, work, wf_mul(wf_in(g, work), wf_in(g, filter)));
        status = wf_run(g);
    }
    if (status == WF_OK)
        status = transform_axis(&(axis_pass){ &inverse, WFL_FFT_C2C, m, 1 }, work, work);
    if (status == WF_OK) {
        wf_graph *g = wfl_begin(p->ctx, p->function);
        wf_val k = wf_iota(g, WF_SHAPE(1, n, 1), 1), v = wf_mul(wf_in(g, used), chirp_of(p->part, k, n));
        v = p->inverse ? wf_conj(v) : v;
        wf_out(g, y, a->scale != 1 ? wf_mul(v, a->scale) : v);
        status = wf_run(g);
    }
    wf_release(filter);
    wf_release(work);
    wf_release(used);
    return status;
}

/* A long line with real elements, as a complex one. */
static wf_status run_as_complex(const axis_pass *a, wf_array *y, const wf_array *x)
{
    const plan *p = a->plan;
    wf_shape shape = wf_array_shape(x);
    shape.dim[1] = a->n;
    wf_array *full = new_beside(x, complex_dtype(p->part), shape), *half = NULL;
    axis_pass c2c = { p, WFL_FFT_C2C, a->n, a->scale };
    wf_status status = full ? WF_OK : wfl_array_error(p->ctx);
    if (status == WF_OK && a->kind == WFL_FFT_R2C) {
        status = wf_array_assign(full, x);
        if (status == WF_OK)
            status = transform_axis(&c2c, full, full);
        half = status == WF_OK ? wf_view_slice(full, 1, 0, a->n / 2 + 1, 1) : NULL;
        if (status == WF_OK)
            status = half ? wf_array_assign(y, half) : wfl_array_error(p->ctx);
    } else if (status == WF_OK) {
        wf_graph *g = wfl_begin(p->ctx, p->function, .shape = shape);
        wf_val k = wf_index(g, 1), mirrored = wf_gt(k, (double)(a->n / 2));
        wf_val v = wf_read(g, x, wf_index(g, 0), wf_select(mirrored, wf_sub((double)a->n, k), k), wf_index(g, 2));
        wf_val real = wf_or(wf_eq(k, 0), wf_eq(wf_mul(k, 2), (double)a->n)), im = wf_select(real, 0, wf_imag(v));
        wf_out(g, full, wf_complex(wf_real(v), wf_select(mirrored, wf_neg(im), im)));
        status = wf_run(g);
        if (status == WF_OK)
            status = transform_axis(&c2c, full, full);
        if (status == WF_OK) {
            g = wfl_begin(p->ctx, p->function);
            wf_out(g, y, wf_real(wf_in(g, full)));
            status = wf_run(g);
        }
    }
    wf_release(half);
    wf_release(full);
    return status;
}

/* ---- the way of an axis ---- */
static bool fits(const axis_pass *a, int64_t n, wfl_fft_kind kind, const wf_array *y, const wf_array *x, bool rows)
{
    axis_pass other = { a->plan, kind, n, a->scale };
    wfl_pass pass = describe(&other, y, x);
    pass.rows_in = pass.rows_out = rows;
    return wfl_pass_fits(a->plan->ctx, &pass);
}

static wf_status transform_axis(const axis_pass *a, wf_array *y, const wf_array *x)
{
    enum { SHORT = 256, LEAST_HALF = 8 };
    wf_context *ctx = a->plan->ctx;
    wfl_pass pass = describe(a, y, x);
    wf_shape shape = wf_array_shape(x);
    int64_t outer = shape.dim[0], inner = shape.dim[2], first, second;
    int64_t lanes = wfl_pass_lanes(ctx, a->plan->part, pass.device);
    bool rows = inner == 1, fit = fits(a, a->n, a->kind, y, x, rows);
    if (!outer || !inner)
        return WF_OK;
    if (!rows && (!fit || (2 * inner <= lanes && outer > 1)))
        return run_transposed(a, y, x);
    bool few = rows && 2 * outer <= lanes && a->n >= SHORT;
    if (a->kind == WFL_FFT_C2C && (!fit || few)) {
        wfl_fft_halves(a->n, &first, &second);
        if (first >= LEAST_HALF && fits(a, first, WFL_FFT_C2C, y, x, false) && fits(a, second, WFL_FFT_C2C, y, x, true))
            return run_twice(a, y, x, first, second);
    }
    if (!fit)
        return a->kind == WFL_FFT_C2C ? run_bluestein(a, y, x) : run_as_complex(a, y, x);
    pass.rows_in = pass.rows_out = rows;
    return rows ? run_rows(a, y, x, &pass) : wfl_pass_run(&pass, y, x, a->scale, a->plan->function);
}

/* ---- all axes ---- */
/* Views [outer, n, inner] of an array in C order, around an axis. */
static wf_array *around(const wf_array *array, int axis)
{
    wf_shape s = wf_array_shape(array);
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < s.rank; ++d)
        if (d != axis)
            *(d < axis ? &outer : &inner) *= s.dim[d];
    return wf_view_reshape((wf_array *)array, WF_SHAPE(outer, s.dim[axis], inner));
}

static wf_status run_axis(const plan *p, wfl_fft_kind kind, int axis, int64_t n, double scale, wf_array *y,
                          const wf_array *x)
{
    wf_array *to = around(y, axis), *from = x == y ? wf_retain(to) : around(x, axis);
    wf_status status =
        to && from ? transform_axis(&(axis_pass){ p, kind, n, scale }, to, from) : wfl_array_error(p->ctx);
    wf_release(to);
    wf_release(from);
    return status;
}

static int last_of(wf_axes axes)
{
    int last = 0;
    while (axes >> (last + 1))
        ++last;
    return last;
}

static int first_of(wf_axes axes)
{
    int first = 0;
    while (!(axes >> first & 1))
        ++first;
    return first;
}

/* A transform of several axes: x and y in C order. The last pass scales. */
typedef struct whole {
    const plan *plan;
    wfl_fft_kind kind;
    wf_axes axes;
    double scale;
} whole;

static wf_status run_whole(const whole *w, wf_array *y, const wf_array *x);

/* Transforms of the other axes, whose kind they have, then of the first one in y. */
static wf_status run_forwards(const whole *w, wf_array *y, const wf_array *x)
{
    int first = first_of(w->axes);
    whole others = { w->plan, w->kind, w->axes & ~(1u << first), 1 };
    if (!others.axes)
        return run_axis(w->plan, w->kind, first, wf_array_shape(x).dim[first], w->scale, y, x);
    wf_status status = run_whole(&others, y, x);
    return status == WF_OK ? run_axis(w->plan, WFL_FFT_C2C, first, wf_array_shape(y).dim[first], w->scale, y, y)
                           : status;
}

/* Transforms of all axes but the last one in an array between, then of the last one to real elements. */
static wf_status run_to_real(const whole *w, wf_array *y, const wf_array *x)
{
    int half = last_of(w->axes);
    whole others = { w->plan, WFL_FFT_C2C, w->axes & ~(1u << half), 1 };
    wf_array *middle = others.axes ? new_beside(x, complex_dtype(w->plan->part), wf_array_shape(x)) : NULL;
    wf_status status = !others.axes ? WF_OK : middle ? run_whole(&others, middle, x) : wfl_array_error(w->plan->ctx);
    if (status == WF_OK)
        status = run_axis(w->plan, WFL_FFT_C2R, half, wf_array_shape(y).dim[half], w->scale, y, middle ? middle : x);
    wf_release(middle);
    return status;
}

static wf_status run_part(const whole *w, wf_array *y, const wf_array *x)
{
    return w->kind == WFL_FFT_C2R ? run_to_real(w, y, x) : run_forwards(w, y, x);
}

static double bytes_of(const wf_array *a)
{
    return (double)wf_array_count(a) * (double)wf_dtype_size(wf_array_dtype(a));
}

/* The extents from an axis on, behind one of all elements before it. */
static wf_array *batch_of(const wf_array *array, int axis)
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
static wf_status run_whole(const whole *w, wf_array *y, const wf_array *x)
{
    int first = first_of(w->axes);
    wf_shape shape = wf_array_shape(x);
    int64_t lead = 1;
    for (int d = 0; d < first; ++d)
        lead *= shape.dim[d];
    double each = lead ? (bytes_of(x) + bytes_of(y)) / (double)lead : 0;
    int64_t count = held_in_caches(w->plan, each);
    bool in_caches = w->axes & (w->axes - 1) && each <= CACHE_OF_ALL && wf_array_device(x) < WF_GPU(0);
    if (!in_caches || lead <= count)
        return run_part(w, y, x);
    wf_array *from = batch_of(x, first), *to = x == y ? wf_retain(from) : batch_of(y, first);
    whole part = { w->plan, w->kind, w->axes >> first << 1, w->scale };
    wf_status status = from && to ? WF_OK : wfl_array_error(w->plan->ctx);
    for (int64_t i = 0; i < lead && status == WF_OK; i += count) {
        int64_t end = i + count < lead ? i + count : lead;
        wf_array *a = some(from, i, end - i), *b = x == y ? wf_retain(a) : some(to, i, end - i);
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
static bool kind_of(const plan *p, const wf_array *y, const wf_array *x, wf_axes axes, wfl_fft_kind *kind)
{
    wf_shape in = wf_array_shape(x), out = wf_array_shape(y), half = in, full = out;
    bool to_real = !wfl_is_complex_dtype(wf_array_dtype(y)), from_real = !wfl_is_complex_dtype(wf_array_dtype(x));
    int last = last_of(axes);
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

/* Checks the axes and extents of a transform; `spectrum`: the last axis has half of the elements. */
static bool checked(const plan *p, const wf_array *x, wf_axes *axes, const char *what)
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

static wf_status run(plan *p, wfl_fft_kind kind, wf_axes axes, wf_array *y, const wf_array *x)
{
    wf_shape in = wf_array_shape(x), out = wf_array_shape(y);
    p->inverse = p->inverse || kind == WFL_FFT_C2R;
    double scale = scale_of(p, (double)wfl_axes_count(kind == WFL_FFT_C2R ? &out : &in, axes));
    wf_array *from = wf_array_contiguous((wf_array *)x);
    if (!from)
        return wfl_array_error(p->ctx);
    wf_status status = run_whole(&(whole){ p, kind, axes, scale }, y, from);
    wf_release(from);
    return status;
}

/* A new array with the transform of x. */
static wf_array *transformed(plan *p, wfl_fft_kind kind, wf_axes axes, wf_dtype dtype, const wf_shape *shape,
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
    plan p = { wf_array_context(x), __func__, norm, inverse, part_of(wf_array_dtype(x)) };
    wf_shape shape = wf_array_shape(x);
    if (!x || !checked(&p, x, &axes, "the array"))
        return NULL;
    return transformed(&p, WFL_FFT_C2C, axes, spectrum_dtype(wf_array_dtype(x)), &shape, x);
}

wf_array *wf_fft_r2c(const wf_array *x, wf_axes axes, wf_fft_norm norm)
{
    plan p = { wf_array_context(x), __func__, norm, false, part_of(wf_array_dtype(x)) };
    wf_shape shape = wf_array_shape(x);
    if (!x || !checked(&p, x, &axes, "the array"))
        return NULL;
    if (wfl_is_complex_dtype(wf_array_dtype(x))) {
        wfl_array_fail(p.ctx, WF_ERR_DTYPE, "wf_fft_r2c: the array is complex; wf_fft_c2c transforms it");
        return NULL;
    }
    int last = last_of(axes);
    shape.dim[last] = shape.dim[last] / 2 + 1;
    return transformed(&p, WFL_FFT_R2C, axes, spectrum_dtype(wf_array_dtype(x)), &shape, x);
}

wf_array *wf_fft_c2r(const wf_array *x, int64_t last, wf_axes axes, wf_fft_norm norm)
{
    plan p = { wf_array_context(x), __func__, norm, true, part_of(wf_array_dtype(x)) };
    wf_shape shape = wf_array_shape(x);
    if (!x || !checked(&p, x, &axes, "the spectrum"))
        return NULL;
    if (!wfl_is_complex_dtype(wf_array_dtype(x))) {
        wfl_array_fail(p.ctx, WF_ERR_DTYPE, "wf_fft_c2r: the spectrum is real");
        return NULL;
    }
    int axis = last_of(axes);
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
    wf_dtype wider = part_of(wf_array_dtype(out)) == WF_F64 ? wf_array_dtype(out) : wf_array_dtype(x);
    plan p = { wf_array_context(x ? x : out), __func__, norm, inverse, part_of(wider) };
    wfl_fft_kind kind;
    if (!x || !out)
        return wf_error(p.ctx, WF_ERR_ARG, "wf_fft_into: an array is NULL");
    if (!checked(&p, x, &axes, "the input") || !checked(&p, out, &axes, "the output") ||
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

/* ---- filters ---- */
/* A filter of a batch: x, spectrum and y are [lead, ...], and the first axis of the transform is axis 1. */
typedef struct filtering {
    const plan *plan;
    wf_axes axes; /* of the arrays of the batch */
    int64_t n;    /* extent of axis 1, in space */
    double scale;
    const wfl_filter *filter;
    wfl_prepared *fused; /* forward along axis 1, the filter, and back; NULL = one after the other */
} filtering;

/* The filter as a pass over the spectrum of its own. */
static wf_status filter_alone(const filtering *f, wf_array *spectrum, int64_t first)
{
    wf_array *view = around(spectrum, 1);
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
    wf_array *view = around(spectrum, 1);
    if (!view)
        return wfl_array_error(f->plan->ctx);
    plan forward = *f->plan, inverse = forward;
    inverse.inverse = true;
    wf_status status;
    if (f->fused) {
        status = wfl_prepared_run(f->fused, view, f->scale, first);
    } else {
        status = transform_axis(&(axis_pass){ &forward, WFL_FFT_C2C, f->n, 1 }, view, view);
        if (status == WF_OK)
            status = filter_alone(f, spectrum, first);
        if (status == WF_OK)
            status = transform_axis(&(axis_pass){ &inverse, WFL_FFT_C2C, f->n, f->scale }, view, view);
    }
    wf_release(view);
    return status;
}

/* The parts of the batch from `first` on. */
static wf_status filter_part(const filtering *f, wf_array *y, wf_array *spectrum, const wf_array *x, int64_t first)
{
    wf_axes others = f->axes & ~WF_AXES(1);
    plan forward = *f->plan, inverse = forward;
    inverse.inverse = true;
    whole there = { &forward, WFL_FFT_R2C, others ? others : f->axes, 1 };
    whole back = { &inverse, WFL_FFT_C2R, others ? others : f->axes, others ? 1 : f->scale };
    wf_status status = run_whole(&there, spectrum, x);
    if (status == WF_OK)
        status = others ? filter_along(f, spectrum, first) : filter_alone(f, spectrum, first);
    return status == WF_OK ? run_whole(&back, y, spectrum) : status;
}

/* Prepares the fused pass, if lines are columns that fit into scratch and need no convolution. */
static wf_status prepare(filtering *f, const wf_array *spectrum)
{
    wf_array *view = around(spectrum, 1);
    if (!view)
        return wfl_array_error(f->plan->ctx);
    wfl_pass pass = describe(&(axis_pass){ f->plan, WFL_FFT_C2C, f->n, f->scale }, view, view);
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
static wf_status filter_batch(filtering *f, wf_array *y, const wf_array *x)
{
    wf_shape real = wf_array_shape(x), half = real;
    half.dim[last_of(f->axes)] = half.dim[last_of(f->axes)] / 2 + 1;
    int64_t lead = real.dim[0], count = lead;
    double each = bytes_of(x) / (double)lead * 4;
    if (each <= CACHE_OF_ALL && wf_array_device(x) < WF_GPU(0))
        count = held_in_caches(f->plan, each);
    count = count < lead ? count : lead;
    half.dim[0] = count;
    wf_array *spectra = new_beside(x, complex_dtype(f->plan->part), half);
    wf_status status = spectra ? prepare(f, spectra) : wfl_array_error(f->plan->ctx);
    for (int64_t i = 0; i < lead && status == WF_OK; i += count) {
        int64_t n = i + count < lead ? count : lead - i;
        wf_array *from = some((wf_array *)x, i, n), *to = some(y, i, n), *spectrum = some(spectra, 0, n);
        status = from && to && spectrum ? filter_part(f, to, spectrum, from, i) : wfl_array_error(f->plan->ctx);
        wf_array *spent[] = { from, to, spectrum };
        for (int k = 0; k < 3; ++k)
            wf_release(spent[k]);
    }
    wf_release(spectra);
    wfl_prepared_free(f->fused);
    return status;
}

static wf_status run_filter(const plan *p, wf_axes axes, wf_array *y, const wf_array *x, wfl_filter *filter)
{
    int first = first_of(axes), half = last_of(axes);
    wf_shape shape = wf_array_shape(x);
    filtering f = { .plan = p,
                    .axes = axes >> first << 1,
                    .n = shape.dim[first],
                    .scale = 1 / (double)wfl_axes_count(&shape, axes),
                    .filter = filter };
    shape.dim[half] = shape.dim[half] / 2 + 1;
    filter->shape = shape;
    filter->axis = first;
    wf_array *from = batch_of(x, first), *to = batch_of(y, first);
    wf_status status = from && to ? filter_batch(&f, to, from) : wfl_array_error(p->ctx);
    wf_release(from);
    wf_release(to);
    return status;
}

wf_status wf_fft_filter(wf_array *out, const wf_array *x, wf_axes axes, wf_hook *filter, void *user)
{
    plan p = { wf_array_context(x ? x : out), __func__, WF_FFT_BACKWARD, false, part_of(wf_array_dtype(x)) };
    if (!x || !out || !filter)
        return wf_error(p.ctx, WF_ERR_ARG,
                        x && out ? "wf_fft_filter: the filter is NULL" : "wf_fft_filter: an array is NULL");
    if (!checked(&p, x, &axes, "the input") || !wfl_array_known(out, p.function) ||
        !wfl_array_together(out, x, p.function))
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
