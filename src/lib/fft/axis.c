/* axis.c - the ways of transforming one axis: a pass; two passes n = a b, where a line does not fit into scratch, lines
 * are few, or the elements of a line fill vectors; a copy with the axis last; a convolution of arrays, for large primes;
 * a complex line in place of a real one.
 */
#include "transform.h"
#include <string.h>

enum { FIRST_CACHE = 1 << 16 }; /* bytes of scratch that stay in the first cache */

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
    if (a->kind == WFL_FFT_CHIRP) {
        pass.results = wf_array_shape(y).dim[1];
        pass.chirp = a->chirp;
        pass.started = a->start != NULL;
    }
    return pass;
}

/* Extents of the whole array, of which x may be a part, before and after the axis. */
static int64_t outer_of_whole(const wfl_axis_pass *a, const wf_array *x)
{
    return a->outer ? a->outer : wf_array_shape(x).dim[0];
}

static int64_t inner_of_whole(const wfl_axis_pass *a, const wf_array *x)
{
    return a->inner ? a->inner : wf_array_shape(x).dim[2];
}

static wfl_with with_of(const wfl_axis_pass *a) { return (wfl_with){ .scale = a->scale, .start = a->start }; }

/* Runs a pass over rows: x [outer, n, 1], y likewise. */
static wf_status run_rows(const wfl_axis_pass *a, wf_array *y, const wf_array *x, const wfl_pass *pass)
{
    wf_shape in = wf_array_shape(x), out = wf_array_shape(y);
    wf_array *from = wf_view_reshape((wf_array *)x, WF_SHAPE(1, in.dim[0], in.dim[1]));
    wf_array *to = x == y ? wf_retain(from) : wf_view_reshape(y, WF_SHAPE(1, out.dim[0], out.dim[1]));
    wf_status status =
        from && to ? wfl_pass_run(pass, to, from, with_of(a), a->plan->function) : wfl_array_error(a->plan->ctx);
    wf_release(from);
    wf_release(to);
    return status;
}

/* The first pass of two, over elements that lie apart, to rows. */
static wfl_pass pass_to_rows(const wfl_axis_pass *a, int64_t first, const wf_array *y, const wf_array *x)
{
    wfl_pass one = wfl_describe(&(wfl_axis_pass){ .plan = a->plan, .kind = WFL_FFT_C2C, .n = first, .scale = 1 }, y, x);
    one.rows_out = true;
    one.in_place = false;
    return one;
}

/* Elements that lie `second` apart, roots, and `second` elements that lie `first` apart; through an array between,
 * [lines, second, first]. `kind`: of real elements, two of which are one complex element in x (WFL_FFT_R2C) or in y
 * (WFL_FFT_C2R). */
static wf_status run_by_lanes(const wfl_axis_pass *a, wfl_fft_kind kind, wf_array *y, wf_array *between,
                              const wf_array *x)
{
    const wfl_plan *p = a->plan;
    wf_shape shape = wf_array_shape(between);
    wfl_pass one = pass_to_rows(a, shape.dim[2], between, x);
    one.twist = one.inner = shape.dim[1];
    one.pairs_in = kind == WFL_FFT_R2C;
    wf_status status = wfl_pass_run(&one, between, x, (wfl_with){ .scale = 1 }, p->function);
    if (status != WF_OK)
        return status;
    wfl_pass two = wfl_describe(
        &(wfl_axis_pass){ .plan = p, .kind = WFL_FFT_C2C, .n = shape.dim[1], .scale = a->scale }, y, between);
    two.inner = shape.dim[2];
    two.pairs_out = kind == WFL_FFT_C2R;
    return wfl_pass_run(&two, y, between, with_of(a), p->function);
}

/* Elements that lie `second` apart, roots, and rows of `second` elements, through an array between,
 * [lines, first, second]. */
static wf_status run_halves(const wfl_axis_pass *a, wf_array *y, wf_array *between, const wf_array *x)
{
    const wfl_plan *p = a->plan;
    wf_shape shape = wf_array_shape(x);
    wfl_pass one =
        wfl_describe(&(wfl_axis_pass){ .plan = p, .kind = WFL_FFT_C2C, .n = shape.dim[1], .scale = 1 }, between, x);
    one.twist = shape.dim[2];
    wf_status status = wfl_pass_run(&one, between, x, (wfl_with){ .scale = 1 }, p->function);
    if (status != WF_OK)
        return status;
    wfl_pass two = wfl_describe(
        &(wfl_axis_pass){ .plan = p, .kind = WFL_FFT_C2C, .n = shape.dim[2], .scale = a->scale }, y, between);
    two.rows_in = true;
    return wfl_pass_run(&two, y, between, with_of(a), p->function);
}

static double room_in_caches(const wfl_plan *p) { return (double)WFL_CACHE_OF_CORE * wf_get_threads(p->ctx); }

int64_t wfl_held_in_caches(const wfl_plan *p, double each)
{
    double room = room_in_caches(p);
    return each < room ? (int64_t)(room / (each + 1)) + 1 : 1;
}

/* Lines that are transformed in two passes, through arrays that stay in caches. */
typedef struct halves {
    wf_array *from, *to; /* [lines, first, second], [lines, second, first] */
    wf_array *between;   /* [count, first, second] */
    bool by_lanes;       /* `first` lines fill a vector; `between` is [count, second, first] */
    wf_array *staged[2]; /* copies of lines before and after, in one memory; NULL = none */
} halves;

/* Lines i to i + n. */
static wf_status run_lines(const wfl_axis_pass *a, const halves *h, int64_t i, int64_t n)
{
    wf_array *from = wfl_some(h->from, i, n), *to = wfl_some(h->to, i, n), *middle = wfl_some(h->between, 0, n);
    wf_array *before = h->staged[0] ? wfl_some(h->staged[0], 0, n) : wf_retain(from);
    wf_array *after = h->staged[1] ? wfl_some(h->staged[1], 0, n) : wf_retain(to);
    wf_status status = from && to && middle && before && after ? WF_OK : wfl_array_error(a->plan->ctx);
    if (status == WF_OK && before != from)
        status = wf_array_assign(before, from);
    if (status == WF_OK)
        status =
            h->by_lanes ? run_by_lanes(a, WFL_FFT_C2C, after, middle, before) : run_halves(a, after, middle, before);
    if (status == WF_OK && after != to)
        status = wf_array_assign(to, after);
    wf_array *spent[] = { from, to, middle, before, after };
    for (int k = 0; k < 5; ++k)
        wf_release(spent[k]);
    return status;
}

/* n = first * second in two passes, for so many lines at once that the arrays between stay in caches. Both passes access
 * short pieces that lie far apart, for which memory is slow. So lines of arrays that no cache holds are copied to the
 * caches and back: 4096 rows of 2048 take 0.6 of the time then, but 512 rows, which the last cache holds, 1.3. */
static wf_status run_twice(const wfl_axis_pass *a, wf_array *y, const wf_array *x, bool by_lanes, int64_t first,
                           int64_t second)
{
    const wfl_plan *p = a->plan;
    wf_dtype dtype = wfl_complex_dtype(p->part);
    int64_t outer = wf_array_shape(x).dim[0], count = outer;
    double line = (double)a->n * (double)wf_dtype_size(dtype);
    bool staged = false;
    if (wf_array_device(x) < WF_GPU(0)) {
        double touched = wfl_bytes_of(x) + (x == y ? 0 : wfl_bytes_of(y));
        int64_t few = wfl_held_in_caches(p, 6 * line);
        staged = few < outer && touched > WFL_CACHE_OF_ALL && 3 * line <= room_in_caches(p);
        count = staged ? few : wfl_held_in_caches(p, 3 * line);
    }
    count = count < outer ? count : outer;
    halves h = { .from = wf_view_reshape((wf_array *)x, WF_SHAPE(outer, first, second)),
                 .to = wf_view_reshape(y, WF_SHAPE(outer, second, first)),
                 .between = wfl_new_beside(x, dtype,
                                           by_lanes ? WF_SHAPE(count, second, first) : WF_SHAPE(count, first, second)),
                 .by_lanes = by_lanes };
    if (staged) {
        h.staged[0] = wfl_new_beside(x, dtype, WF_SHAPE(count, first, second));
        h.staged[1] = h.staged[0] ? wf_view_reshape(h.staged[0], WF_SHAPE(count, second, first)) : NULL;
    }
    bool made = h.from && h.to && h.between && (h.staged[1] || !staged);
    wf_status status = made ? WF_OK : wfl_array_error(p->ctx);
    for (int64_t i = 0; i < outer && status == WF_OK; i += count)
        status = run_lines(a, &h, i, i + count < outer ? count : outer - i);
    wf_array *spent[] = { h.from, h.to, h.between, h.staged[0], h.staged[1] };
    for (int i = 0; i < 5; ++i)
        wf_release(spent[i]);
    return status;
}

/* ---- lines whose elements lie far apart ---- */
/* Copies columns i to i + w of block o of y to the caches, [1, n, w], transforms them, and copies them back. */
static wf_status run_some_columns(const wfl_axis_pass *a, wf_array *y, wf_array *room, int64_t o, int64_t i, int64_t w)
{
    const int64_t n = a->n;
    wf_array *block = wfl_some(y, o, 1), *own = block ? wf_view_slice(block, 2, i, i + w, 1) : NULL;
    wf_array *used = wfl_some(room, 0, n * w), *columns = used ? wf_view_reshape(used, WF_SHAPE(1, n, w)) : NULL;
    wf_status status = own && columns ? wf_array_assign(columns, own) : wfl_array_error(a->plan->ctx);
    if (status == WF_OK) {
        wfl_pass pass = wfl_describe(a, columns, columns);
        status = wfl_pass_run(&pass, columns, columns, with_of(a), a->plan->function);
    }
    if (status == WF_OK)
        status = wf_array_assign(own, columns);
    wf_array *spent[] = { block, own, used, columns };
    for (int k = 0; k < 4; ++k)
        wf_release(spent[k]);
    return status;
}

/* Columns that are copied to the caches at once; 0: a pass over the arrays is as good, because caches hold them, rows
 * are short, or caches hold few columns. A pass from one array to another is better: of 320 x 51520 elements (c64) it
 * takes 0.8 of the time of the copies, but within one array 1.3. */
static int64_t staged_columns(const wfl_axis_pass *a, wf_array *y, const wf_array *x)
{
    enum { PAGE = 4096, LEAST = 10 };
    const wfl_plan *p = a->plan;
    wf_device device = device_of(y);
    int64_t inner = wf_array_shape(x).dim[2], lanes = wfl_pass_lanes(p->ctx, p->part, device);
    double size = (double)wf_dtype_size(wfl_complex_dtype(p->part)), room = room_in_caches(p) / 2;
    int64_t most = (int64_t)(room / ((double)a->n * size)) / lanes * lanes;
    bool apart = (double)inner * size >= PAGE && wfl_bytes_of(x) > 4 * room;
    bool useful = x == y && apart && inner > most && most >= LEAST * lanes;
    return a->kind == WFL_FFT_C2C && device == WF_CPU && useful ? most : 0;
}

/* Transforms columns of y in place, `count` at once. */
static wf_status run_staged(const wfl_axis_pass *a, wf_array *y, int64_t count)
{
    const wfl_plan *p = a->plan;
    wf_shape shape = wf_array_shape(y);
    wf_array *room = wfl_new_beside(y, wfl_complex_dtype(p->part), WF_SHAPE(a->n * count));
    wf_status status = room ? WF_OK : wfl_array_error(p->ctx);
    for (int64_t o = 0; o < shape.dim[0]; ++o)
        for (int64_t i = 0; i < shape.dim[2] && status == WF_OK; i += count) {
            int64_t left = shape.dim[2] - i;
            status = run_some_columns(a, y, room, o, i, left < count ? left : count);
        }
    wf_release(room);
    return status;
}

/* Transforms rows of a copy with the axis last. */
static wf_status run_transposed(const wfl_axis_pass *a, wf_array *y, const wf_array *x)
{
    const int order[] = { 0, 2, 1 };
    wf_shape in = wf_array_shape(x), out = wf_array_shape(y);
    int64_t lines = in.dim[0] * in.dim[2];
    wfl_axis_pass by_rows = *a;
    by_rows.outer = outer_of_whole(a, x) * inner_of_whole(a, x);
    by_rows.inner = 1;
    wf_array *turned = wf_array_permute(x, order);
    wf_array *rows = turned ? wf_view_reshape(turned, WF_SHAPE(lines, in.dim[1], 1)) : NULL;
    wf_array *results = wfl_new_beside(x, wf_array_dtype(y), WF_SHAPE(lines, out.dim[1], 1));
    wf_array *back = results ? wf_view_reshape(results, WF_SHAPE(out.dim[0], out.dim[2], out.dim[1])) : NULL;
    wf_array *view = back ? wf_view_permute(back, order) : NULL;
    wf_status status = rows && view ? wfl_transform_axis(&by_rows, results, rows) : wfl_array_error(a->plan->ctx);
    if (status == WF_OK)
        status = wf_array_assign(y, view);
    wf_array *spent[] = { turned, rows, results, back, view };
    for (int i = 0; i < 5; ++i)
        wf_release(spent[i]);
    return status;
}

/* ---- long lines without a pass of their own ---- */
wf_val wfl_turns_of(double step, wf_val k)
{
    wf_val product = wf_mul(k, step);
    return wf_fma(k, step, wf_neg(wf_floor(product))); /* one rounding, after the whole numbers are gone */
}

/* Chirp k, an i64 below 2^31. */
static wf_val chirp_of(wf_dtype part, wf_val k, const wfl_chirp *c)
{
    const double low_bits = 1 << 26;
    wf_val square = wf_mul(k, k), half_turns, size;
    if (c->turn) {
        half_turns = wf_div(wf_cast(wf_mod(square, 2 * (double)c->turn), WF_F64), (double)c->turn);
    } else {
        wf_val high = wf_idiv(square, low_bits), low = wf_sub(square, wf_mul(high, low_bits));
        wf_val turns = wf_add(wfl_turns_of(c->step / 2 * low_bits, wf_cast(high, WF_F64)),
                              wfl_turns_of(c->step / 2, wf_cast(low, WF_F64)));
        half_turns = wf_mul(turns, 2);
    }
    wf_val re = wf_cospi(half_turns), im = wf_neg(wf_sinpi(half_turns));
    if (c->log2_growth != 0) {
        size = wf_exp2(wf_mul(wf_cast(square, WF_F64), -0.5 * c->log2_growth));
        re = wf_mul(re, size);
        im = wf_mul(im, size);
    }
    return wf_complex(wf_cast(re, part), wf_cast(im, part));
}

/* The algorithm of Bluestein over arrays. */
typedef struct bluestein {
    const wfl_axis_pass *a;
    wfl_chirp chirp;
    int64_t n, results, m; /* elements, results, and the length of the convolution */
    wf_array *filter;      /* transformed, [1, m, 1] */
    wf_array *work;        /* [outer, m, 1] */
    wf_array *in, *out;    /* elements and results in it */
} bluestein;

/* The transformed filter, which has the inverse of each chirp. */
static wf_array *filter_of(const bluestein *b, const wf_array *x)
{
    const wfl_plan *p = b->a->plan;
    wf_array *filter = wfl_new_beside(x, wfl_complex_dtype(p->part), WF_SHAPE(1, b->m, 1));
    wf_graph *g = wfl_begin(p->ctx, p->function);
    wf_val k = wf_iota(g, WF_SHAPE(1, b->m, 1), 1), back = wf_sub((double)b->m, k);
    wf_val forth = wf_lt(k, (double)b->results), inside = wf_or(forth, wf_lt(back, (double)b->n));
    wfl_chirp inverse = b->chirp;
    inverse.log2_growth = -inverse.log2_growth;
    wf_val chirp = wf_conj(chirp_of(p->part, wf_select(inside, wf_select(forth, k, back), 0), &inverse));
    if (filter)
        wf_out(g, filter, wf_select(inside, chirp, 0));
    wfl_plan forward = *p;
    forward.inverse = false;
    wfl_axis_pass whole = { .plan = &forward, .kind = WFL_FFT_C2C, .n = b->m, .scale = 1.0 / (double)b->m };
    if (wf_run(g) == WF_OK && filter && wfl_transform_axis(&whole, filter, filter) == WF_OK)
        return filter;
    wf_release(filter);
    return NULL;
}

/* Writes the elements times the start and the chirp. */
static wf_status write_elements(const bluestein *b, const wf_array *x)
{
    const wfl_axis_pass *a = b->a;
    const wfl_plan *p = a->plan;
    wf_array *start = a->start ? wf_view_reshape((wf_array *)a->start, WF_SHAPE(1, b->n, 1)) : NULL;
    if (a->start && !start)
        return wfl_array_error(p->ctx);
    wf_graph *g = wfl_begin(p->ctx, p->function);
    wf_val v = wf_cast(wf_in(g, x), wfl_complex_dtype(p->part)), k = wf_iota(g, WF_SHAPE(1, b->n, 1), 1);
    v = p->inverse ? wf_conj(v) : v;
    if (start)
        v = wf_mul(v, wf_in(g, start));
    wf_out(g, b->in, wf_mul(v, chirp_of(p->part, k, &b->chirp)));
    wf_status status = wf_run(g);
    wf_release(start);
    return status;
}

/* Convolves what is in b->work with the filter. */
static wf_status convolve(const bluestein *b)
{
    const wfl_plan *p = b->a->plan;
    wfl_plan forward = *p, inverse = *p;
    forward.inverse = false;
    inverse.inverse = true;
    wfl_axis_pass there = { .plan = &forward, .kind = WFL_FFT_C2C, .n = b->m, .outer = b->a->outer, .scale = 1 };
    wfl_axis_pass back = there;
    back.plan = &inverse;
    wf_status status = wfl_transform_axis(&there, b->work, b->work);
    if (status != WF_OK)
        return status;
    wf_graph *g = wfl_begin(p->ctx, p->function);
    wf_out(g, b->work, wf_mul(wf_in(g, b->work), wf_in(g, b->filter)));
    status = wf_run(g);
    return status == WF_OK ? wfl_transform_axis(&back, b->work, b->work) : status;
}

static wf_status write_results(const bluestein *b, wf_array *y)
{
    const wfl_plan *p = b->a->plan;
    wf_graph *g = wfl_begin(p->ctx, p->function);
    wf_val k = wf_iota(g, WF_SHAPE(1, b->results, 1), 1);
    wf_val v = wf_mul(wf_in(g, b->out), chirp_of(p->part, k, &b->chirp));
    v = p->inverse ? wf_conj(v) : v;
    wf_out(g, y, b->a->scale != 1 ? wf_mul(v, b->a->scale) : v);
    return wf_run(g);
}

/* A convolution of arrays, for a length with a large prime factor and for points on a spiral. */
static wf_status run_bluestein(const wfl_axis_pass *a, wf_array *y, const wf_array *x)
{
    const wfl_plan *p = a->plan;
    bluestein b = { .a = a, .n = a->n, .results = wf_array_shape(y).dim[1] };
    b.chirp = a->kind == WFL_FFT_CHIRP ? a->chirp : (wfl_chirp){ .turn = a->n };
    b.m = wfl_fft_convolution(b.n + b.results - 1);
    b.filter = filter_of(&b, x);
    b.work = wfl_new_beside(x, wfl_complex_dtype(p->part), WF_SHAPE(wf_array_shape(x).dim[0], b.m, 1));
    b.in = b.work ? wf_view_slice(b.work, 1, 0, b.n, 1) : NULL;
    b.out = b.work ? wf_view_slice(b.work, 1, 0, b.results, 1) : NULL;
    wf_status status = b.filter && b.in && b.out ? wf_array_fill(b.work, 0) : wfl_array_error(p->ctx);
    if (status == WF_OK)
        status = write_elements(&b, x);
    if (status == WF_OK)
        status = convolve(&b);
    if (status == WF_OK)
        status = write_results(&b, y);
    wf_array *spent[] = { b.filter, b.work, b.in, b.out };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
    return status;
}

/* A long line with real elements, as a complex one. */
static wf_status run_as_complex(const wfl_axis_pass *a, wf_array *y, const wf_array *x)
{
    const wfl_plan *p = a->plan;
    wf_shape shape = wf_array_shape(x);
    shape.dim[1] = a->n;
    wf_array *full = wfl_new_beside(x, wfl_complex_dtype(p->part), shape), *half = NULL;
    wfl_axis_pass c2c = { .plan = p, .kind = WFL_FFT_C2C, .n = a->n, .outer = a->outer, .scale = a->scale };
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
    wfl_axis_pass other = *a;
    other.kind = kind;
    other.n = n;
    wfl_pass pass = wfl_describe(&other, y, x);
    pass.rows_in = pass.rows_out = rows;
    return wfl_pass_fits(a->plan->ctx, &pass);
}

/* True if so many lines, side by side, leave half of a vector empty, or more. */
static bool leave_lanes(int64_t lines, int64_t lanes) { return 2 * lines <= lanes; }

/* True if n elements of rows are faster in two passes, of a butterfly that fills vectors and of columns that do so, too:
 * none copies rows, and scratch stays in the first cache. `few`: rows leave lanes empty. Sets *first * *second = n. */
static bool is_better_by_lanes(const wfl_axis_pass *a, const wf_array *y, const wf_array *x, int64_t n, bool few,
                               int64_t *first, int64_t *second)
{
    const wfl_plan *p = a->plan;
    wf_device device = device_of(y);
    int64_t lanes = wfl_pass_lanes(p->ctx, p->part, device);
    wfl_pass one = pass_to_rows(a, lanes, y, x);
    one.out = (uint8_t)wfl_complex_dtype(p->part);
    *first = lanes;
    *second = n / lanes;
    return device < WF_GPU(0) && n % lanes == 0 && *second >= (few ? 2 : lanes) && wfl_pass_is_direct(&one) &&
           2 * n * (int64_t)wf_dtype_size(p->part) <= FIRST_CACHE && fits(a, *second, WFL_FFT_C2C, y, x, false);
}

/* True if rows are faster in two passes. Few rows leave lanes of vectors empty. Scratch beyond the first cache makes a
 * pass wait for the second one; rows that caches do not hold are waited for anyway, until the scratch takes much of the
 * second cache: 512 rows of 2048 (c64) take 0.7 of the time of one pass, and 64 rows of 512 take 0.6. Sets *first *
 * *second = n.
 *
 * Two passes round otherwise than one. So the number of threads, on which it depends how a batch is divided into parts,
 * has no say in this: the lines that count are those of the whole transform. */
static bool is_better_twice(const wfl_axis_pass *a, wf_array *y, const wf_array *x, bool fit, int64_t *first,
                            int64_t *second)
{
    enum { SHORT = 256, LEAST_HALF = 8, MUCH_OF_SECOND = 1 << 18 };
    const wfl_plan *p = a->plan;
    wf_device device = device_of(y);
    int64_t lanes = wfl_pass_lanes(p->ctx, p->part, device), lines = outer_of_whole(a, x);
    int64_t scratch = 4 * a->n * lanes * (int64_t)wf_dtype_size(p->part);
    bool few = leave_lanes(lines, lanes) && a->n >= SHORT;
    bool cached = (double)lines * (double)a->n * (double)wf_dtype_size(wfl_complex_dtype(p->part)) <= MUCH_OF_SECOND;
    bool large = device == WF_CPU && scratch > (cached ? FIRST_CACHE : MUCH_OF_SECOND);
    if (a->kind != WFL_FFT_C2C || (fit && !few && !large))
        return false;
    wfl_fft_halves(a->n, first, second);
    if (*first < LEAST_HALF || !fits(a, *first, WFL_FFT_C2C, y, x, false) || !fits(a, *second, WFL_FFT_C2C, y, x, true))
        return false;
    return !fit || few || (*first % lanes == 0 && *second % lanes == 0);
}

/* Few real rows as complex rows of half the length, by lanes, and a pass that untangles their spectra or tangles them. */
static wf_status run_real(const wfl_axis_pass *a, wf_array *y, const wf_array *x, int64_t first, int64_t second)
{
    wfl_plan forward = *a->plan;
    const wfl_plan *p = &forward;
    bool back = a->kind == WFL_FFT_C2R;
    wf_dtype dtype = wfl_complex_dtype(p->part);
    int64_t outer = wf_array_shape(x).dim[0], count, half = a->n / 2;
    count = wfl_held_in_caches(p, 4 * (double)half * (double)wf_dtype_size(dtype));
    count = count < outer ? count : outer;
    forward.inverse = false;
    wfl_axis_pass c2c = { .plan = p, .kind = WFL_FFT_C2C, .n = half, .scale = a->scale };
    wfl_axis_pass other = { .plan = p, .kind = back ? WFL_FFT_TANGLE : WFL_FFT_UNTANGLE, .n = a->n, .scale = 1 };
    wf_array *from = wf_view_reshape((wf_array *)x, WF_SHAPE(outer, wf_array_shape(x).dim[1]));
    wf_array *to = wf_view_reshape(y, WF_SHAPE(outer, wf_array_shape(y).dim[1]));
    wf_array *between = wfl_new_beside(x, dtype, WF_SHAPE(count, second, first));
    wf_array *middle = wfl_new_beside(x, dtype, WF_SHAPE(count, half));
    wf_status status = from && to && between && middle ? WF_OK : wfl_array_error(p->ctx);
    for (int64_t i = 0; i < outer && status == WF_OK; i += count) {
        int64_t n = i + count < outer ? count : outer - i;
        wf_array *some[] = { wfl_some(from, i, n), wfl_some(to, i, n), wfl_some(between, 0, n),
                             wfl_some(middle, 0, n) };
        wf_array *real = some[back] ? wf_view_reshape(some[back], WF_SHAPE(n, second, 2 * first)) : NULL;
        wf_array *complex = some[3] ? wf_view_reshape(some[3], WF_SHAPE(n, second, first)) : NULL;
        status = some[!back] && some[2] && real && complex ? WF_OK : wfl_array_error(p->ctx);
        wfl_pass tangle = wfl_describe(&other, back ? middle : y, back ? x : middle);
        if (status == WF_OK && back)
            status = wfl_pass_run(&tangle, some[3], some[0], (wfl_with){ .scale = 1 }, p->function);
        if (status == WF_OK)
            status = run_by_lanes(&c2c, a->kind, back ? real : complex, some[2], back ? complex : real);
        if (status == WF_OK && !back)
            status = wfl_pass_run(&tangle, some[1], some[3], (wfl_with){ .scale = 1 }, p->function);
        wf_array *spent[] = { some[0], some[1], some[2], some[3], real, complex };
        for (int k = 0; k < 6; ++k)
            wf_release(spent[k]);
    }
    wf_array *spent[] = { from, to, between, middle };
    for (int k = 0; k < 4; ++k)
        wf_release(spent[k]);
    return status;
}

/* Runs rows by lanes if that is better. */
static bool run_rows_by_lanes(const wfl_axis_pass *a, wf_array *y, const wf_array *x, wf_status *status)
{
    int64_t first, second, lanes = wfl_pass_lanes(a->plan->ctx, a->plan->part, device_of(y));
    bool few = leave_lanes(outer_of_whole(a, x), lanes);
    bool real = a->kind == WFL_FFT_R2C || a->kind == WFL_FFT_C2R;
    int64_t n = real ? a->n / 2 : a->n;
    if ((a->kind != WFL_FFT_C2C && !real) || (real && (!few || a->n % 2)) ||
        !is_better_by_lanes(a, y, x, n, few, &first, &second))
        return false;
    *status = real ? run_real(a, y, x, first, second) : run_twice(a, y, x, true, first, second);
    return true;
}

wf_status wfl_transform_axis(const wfl_axis_pass *a, wf_array *y, const wf_array *x)
{
    wfl_pass pass = wfl_describe(a, y, x);
    wf_shape shape = wf_array_shape(x);
    int64_t outer = outer_of_whole(a, x), inner = inner_of_whole(a, x), first, second;
    bool rows = inner == 1, fit = fits(a, a->n, a->kind, y, x, rows);
    if (!shape.dim[0] || !shape.dim[2])
        return WF_OK;
    bool narrow = leave_lanes(inner, wfl_pass_lanes(a->plan->ctx, a->plan->part, pass.device));
    if (!rows && (!fit || (narrow && outer > 1)))
        return run_transposed(a, y, x);
    wf_status status;
    if (rows && run_rows_by_lanes(a, y, x, &status))
        return status;
    if (rows && is_better_twice(a, y, x, fit, &first, &second))
        return run_twice(a, y, x, false, first, second);
    if (!fit)
        return a->kind == WFL_FFT_C2C || a->kind == WFL_FFT_CHIRP ? run_bluestein(a, y, x) : run_as_complex(a, y, x);
    int64_t staged = rows ? 0 : staged_columns(a, y, x);
    if (staged)
        return run_staged(a, y, staged);
    pass.rows_in = pass.rows_out = rows;
    return rows ? run_rows(a, y, x, &pass) : wfl_pass_run(&pass, y, x, with_of(a), a->plan->function);
}
