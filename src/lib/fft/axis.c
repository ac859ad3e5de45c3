/* axis.c - the ways of transforming one axis: a pass; two passes n = a b, where a line does not fit into scratch or lines
 * are few; a copy with the axis last; a convolution of arrays, for large primes; a complex line in place of a real one.
 */
#include "transform.h"
#include <string.h>

/* The device that recordings of passes over the array name. */
static wf_device device_of(const wf_array *x)
{
    wf_device device = wf_array_device(x);
    if (device >= WF_GPU(0))
        return device;
    return wf_context_device(wf_array_context(x)) == WF_INTERP ? WF_INTERP : WF_CPU;
}

wfl_pass wfl_describe(const wfl_axis_pass *a, const wf_array *y, const wf_array *x)
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
static wf_status run_rows(const wfl_axis_pass *a, wf_array *y, const wf_array *x, const wfl_pass *pass)
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
static wf_status run_halves(const wfl_axis_pass *a, wf_array *y, wf_array *between, const wf_array *x)
{
    const wfl_plan *p = a->plan;
    wf_shape shape = wf_array_shape(x);
    wfl_pass one = wfl_describe(&(wfl_axis_pass){ p, WFL_FFT_C2C, shape.dim[1], 1 }, between, x);
    one.twist = shape.dim[2];
    wf_status status = wfl_pass_run(&one, between, x, 1, p->function);
    if (status != WF_OK)
        return status;
    wfl_pass two = wfl_describe(&(wfl_axis_pass){ p, WFL_FFT_C2C, shape.dim[2], a->scale }, y, between);
    two.rows_in = true;
    return wfl_pass_run(&two, y, between, a->scale, p->function);
}

int64_t wfl_held_in_caches(const wfl_plan *p, double each)
{
    double room = (double)WFL_CACHE_OF_CORE * wf_get_threads(p->ctx);
    return each < room ? (int64_t)(room / (each + 1)) + 1 : 1;
}

/* n = first * second in two passes, for so many lines at once that the array between stays in caches. */
static wf_status run_twice(const wfl_axis_pass *a, wf_array *y, const wf_array *x, int64_t first, int64_t second)
{
    const wfl_plan *p = a->plan;
    wf_dtype dtype = wfl_complex_dtype(p->part);
    int64_t outer = wf_array_shape(x).dim[0], count = outer;
    if (wf_array_device(x) < WF_GPU(0))
        count = wfl_held_in_caches(p, 3 * (double)a->n * (double)wf_dtype_size(dtype));
    count = count < outer ? count : outer;
    wf_array *columns = wf_view_reshape((wf_array *)x, WF_SHAPE(outer, first, second));
    wf_array *between = wfl_new_beside(x, dtype, WF_SHAPE(count, first, second));
    wf_array *result = wf_view_reshape(y, WF_SHAPE(outer, second, first));
    wf_status status = columns && between && result ? WF_OK : wfl_array_error(p->ctx);
    for (int64_t i = 0; i < outer && status == WF_OK; i += count) {
        int64_t n = i + count < outer ? count : outer - i;
        wf_array *from = wfl_some(columns, i, n), *to = wfl_some(result, i, n), *middle = wfl_some(between, 0, n);
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
static wf_status run_transposed(const wfl_axis_pass *a, wf_array *y, const wf_array *x)
{
    const int order[] = { 0, 2, 1 };
    wf_shape in = wf_array_shape(x), out = wf_array_shape(y);
    int64_t lines = in.dim[0] * in.dim[2];
    wf_array *turned = wf_array_permute(x, order);
    wf_array *rows = turned ? wf_view_reshape(turned, WF_SHAPE(lines, in.dim[1], 1)) : NULL;
    wf_array *results = wfl_new_beside(x, wf_array_dtype(y), WF_SHAPE(lines, out.dim[1], 1));
    wf_array *back = results ? wf_view_reshape(results, WF_SHAPE(out.dim[0], out.dim[2], out.dim[1])) : NULL;
    wf_array *view = back ? wf_view_permute(back, order) : NULL;
    wf_status status = rows && view ? wfl_transform_axis(a, results, rows) : wfl_array_error(a->plan->ctx);
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
static wf_array *filter_of(const wfl_plan *p, const wf_array *x, int64_t n, int64_t m)
{
    wf_array *filter = wfl_new_beside(x, wfl_complex_dtype(p->part), WF_SHAPE(1, m, 1));
    wf_graph *g = wfl_begin(p->ctx, p->function);
    wf_val k = wf_iota(g, WF_SHAPE(1, m, 1), 1), away = wf_min(k, wf_sub((double)m, k));
    wf_val chirp = wf_conj(chirp_of(p->part, away, n));
    if (filter)
        wf_out(g, filter, wf_select(wf_lt(away, (double)n), chirp, 0));
    wfl_plan forward = *p;
    forward.inverse = false;
    if (wf_run(g) == WF_OK && filter &&
        wfl_transform_axis(&(wfl_axis_pass){ &forward, WFL_FFT_C2C, m, 1.0 / (double)m }, filter, filter) == WF_OK)
        return filter;
    wf_release(filter);
    return NULL;
}

/* A convolution of arrays, for a length with a large prime factor. */
static wf_status run_bluestein(const wfl_axis_pass *a, wf_array *y, const wf_array *x)
{
    const wfl_plan *p = a->plan;
    int64_t n = a->n, m = wfl_fft_convolution(n), outer = wf_array_shape(x).dim[0];
    wfl_plan forward = *p, inverse = *p;
    forward.inverse = false;
    inverse.inverse = true;
    wf_array *filter = filter_of(p, x, n, m),
             *work = wfl_new_beside(x, wfl_complex_dtype(p->part), WF_SHAPE(outer, m, 1));
    wf_array *used = work ? wf_view_slice(work, 1, 0, n, 1) : NULL;
    wf_status status = filter && used ? WF_OK : wfl_array_error(p->ctx);
    if (status == WF_OK)
        status = wf_array_fill(work, 0);
    if (status == WF_OK) {
        wf_graph *g = wfl_begin(p->ctx, p->function);
        wf_val v = wf_cast(wf_in(g, x), wfl_complex_dtype(p->part)), k = wf_iota(g, WF_SHAPE(1, n, 1), 1);
        wf_out(g, used, wf_mul(p->inverse ? wf_conj(v) : v, chirp_of(p->part, k, n)));
        status = wf_run(g);
    }
    if (status == WF_OK)
        status = wfl_transform_axis(&(wfl_axis_pass){ &forward, WFL_FFT_C2C, m, 1 }, work, work);
    if (status == WF_OK) {
        wf_graph *g = wfl_begin(p->ctx, p->function);
        wf_out(g, work, wf_mul(wf_in(g, work), wf_in(g, filter)));
        status = wf_run(g);
    }
    if (status == WF_OK)
        status = wfl_transform_axis(&(wfl_axis_pass){ &inverse, WFL_FFT_C2C, m, 1 }, work, work);
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
static wf_status run_as_complex(const wfl_axis_pass *a, wf_array *y, const wf_array *x)
{
    const wfl_plan *p = a->plan;
    wf_shape shape = wf_array_shape(x);
    shape.dim[1] = a->n;
    wf_array *full = wfl_new_beside(x, wfl_complex_dtype(p->part), shape), *half = NULL;
    wfl_axis_pass c2c = { p, WFL_FFT_C2C, a->n, a->scale };
    wf_status status = full ? WF_OK : wfl_array_error(p->ctx);
    if (status == WF_OK && a->kind == WFL_FFT_R2C) {
        status = wf_array_assign(full, x);
        if (status == WF_OK)
            status = wfl_transform_axis(&c2c, full, full);
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
            status = wfl_transform_axis(&c2c, full, full);
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
static bool fits(const wfl_axis_pass *a, int64_t n, wfl_fft_kind kind, const wf_array *y, const wf_array *x, bool rows)
{
    wfl_axis_pass other = { a->plan, kind, n, a->scale };
    wfl_pass pass = wfl_describe(&other, y, x);
    pass.rows_in = pass.rows_out = rows;
    return wfl_pass_fits(a->plan->ctx, &pass);
}

wf_status wfl_transform_axis(const wfl_axis_pass *a, wf_array *y, const wf_array *x)
{
    enum { SHORT = 256, LEAST_HALF = 8 };
    wf_context *ctx = a->plan->ctx;
    wfl_pass pass = wfl_describe(a, y, x);
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
