/* cosine.c - discrete cosine and sine transforms: a line in another order, a Fourier transform (axis.c), and rotations.
 *
 * Sine transforms of types 2 to 4 are cosine transforms of a line that is reversed or has alternating signs. Sources:
 * Makhoul, "A fast cosine transform in one and two dimensions" (1980), for types 2 and 3; type 4 of an even length n is
 * a complex transform of length n/2, of an odd length one of length 2n; type 1 is the transform of a line that is
 * continued by its mirror image. */
#include "lib/array/lines.h"
#include "transform.h"
#include <math.h>

typedef struct cosine {
    wfl_plan *plan; /* its direction is that of the Fourier transform */
    int type;       /* 1 to 4, after `inverse` has exchanged 2 and 3 */
    bool sine, ortho;
    int64_t n; /* elements of a line */
    int64_t outer, inner;
    int64_t all_outer, all_inner; /* of the whole array, which decide on the way */
    double scale;
} cosine;

/* What lies between the input and the output of an axis. */
typedef struct middle {
    wfl_fft_kind kind;
    int64_t n;             /* length of the Fourier transform */
    int64_t before, after; /* elements of a line before and after it */
    bool complex_before, inverse;
} middle;

static middle middle_of(const cosine *c)
{
    int64_t n = c->n, twice = c->sine ? 2 * (n + 1) : 2 * (n - 1);
    if (c->type == 1)
        return (middle){ WFL_FFT_R2C, twice, twice, twice / 2 + 1, false, false };
    if (c->type == 2)
        return (middle){ WFL_FFT_R2C, n, n, n / 2 + 1, false, false };
    if (c->type == 3)
        return (middle){ WFL_FFT_C2R, n, n / 2 + 1, n, true, true };
    int64_t m = n % 2 ? 2 * n : n / 2;
    return (middle){ WFL_FFT_C2C, m, m, m, true, false };
}

/* A table [1, count, 1] of exp(-i pi (a k + b) / d), rounded once from f64. */
static wf_array *turns(const cosine *c, const wf_array *x, int64_t count, double a, double b, double d)
{
    wf_dtype part = c->plan->part;
    wf_array *table = wfl_new_beside(x, wfl_complex_dtype(part), WF_SHAPE(1, count, 1));
    wf_graph *g = wfl_begin(c->plan->ctx, c->plan->function);
    wf_val k = wf_cast(wf_iota(g, WF_SHAPE(1, count, 1), 1), WF_F64);
    wf_val half_turns = wf_div(wf_add(wf_mul(k, a), b), d);
    if (table)
        wf_out(g, table, wf_complex(wf_cast(wf_cospi(half_turns), part), wf_cast(wf_neg(wf_sinpi(half_turns)), part)));
    if (wf_run(g) == WF_OK && table)
        return table;
    wf_release(table);
    return NULL;
}

/* ---- before the Fourier transform ---- */
typedef struct site {
    wf_graph *g;
    const cosine *c;
    const wf_array *from, *table;
    wf_val at[2]; /* indices of the outer and the inner axis */
} site;

static wf_val line_at(const site *s, wf_val j) { return wf_read(s->g, s->from, s->at[0], j, s->at[1]); }
static wf_val odd(wf_val j) { return wf_ne(wf_mod(j, 2), 0); }

/* Element j of the line whose cosine transform is taken. */
static wf_val element(const site *s, wf_val j)
{
    const cosine *c = s->c;
    bool reversed = c->sine && c->type > 2;
    wf_val last = WF_V((double)(c->n - 1));
    wf_val v = wf_cast(line_at(s, reversed ? wf_sub(last, j) : j), c->plan->part);
    if (c->sine && c->type == 2)
        v = wf_select(odd(j), wf_neg(v), v);
    if (c->ortho && c->type == 3)
        v = wf_select(wf_eq(j, 0), wf_mul(v, sqrt(2)), v);
    if (c->ortho && c->type == 1 && !c->sine)
        v = wf_select(wf_or(wf_eq(j, 0), wf_eq(j, last)), wf_mul(v, sqrt(2)), v);
    return v;
}

/* Element j of a line of type 1, continued to a period. */
static wf_val continued(const site *s, wf_val j)
{
    int64_t n = s->c->n, period = s->c->sine ? 2 * (n + 1) : 2 * (n - 1);
    if (!s->c->sine)
        return element(s, wf_min(j, wf_sub((double)period, j)));
    wf_val second = wf_gt(j, (double)n), k = wf_select(second, wf_sub((double)period, j), j);
    wf_val zero = wf_or(wf_eq(j, 0), wf_eq(j, (double)(n + 1)));
    wf_val v = element(s, wf_min(wf_max(wf_sub(k, 1), 0), (double)(n - 1)));
    return wf_select(zero, 0, wf_select(second, wf_neg(v), v));
}

/* Element j of what the Fourier transform takes. */
static wf_val before(const site *s, wf_val j)
{
    const cosine *c = s->c;
    wf_val n = WF_V((double)c->n), none = WF_V(0);
    if (c->type == 1)
        return continued(s, j);
    if (c->type == 2) {
        wf_val front = wf_lt(j, (double)((c->n + 1) / 2));
        return element(s, wf_select(front, wf_mul(j, 2), wf_sub(wf_mul(wf_sub(n, j), 2), 1)));
    }
    wf_val turn = wf_read(s->g, s->table, 0, j, 0);
    if (c->type == 3) {
        wf_val first = wf_eq(j, 0), im = wf_neg(element(s, wf_select(first, 0, wf_sub(n, j))));
        return wf_mul(wf_conj(turn), wf_complex(element(s, j), wf_select(first, none, im)));
    }
    if (c->n % 2 == 0) {
        wf_val twice = wf_mul(j, 2);
        return wf_mul(turn, wf_complex(element(s, twice), element(s, wf_sub(wf_sub(n, 1), twice))));
    }
    wf_val v = element(s, wf_min(j, wf_sub(n, 1))), inside = wf_lt(j, n);
    return wf_mul(turn, wf_complex(wf_select(inside, v, none), wf_cast(none, c->plan->part)));
}

/* ---- after it ---- */
/* Element k of the cosine transform, or of the sine transform of type 1. */
static wf_val transformed(const site *s, wf_val k)
{
    const cosine *c = s->c;
    wf_val n = WF_V((double)c->n);
    if (c->type == 1)
        return c->sine ? wf_neg(wf_imag(line_at(s, wf_add(k, 1)))) : wf_real(line_at(s, k));
    if (c->type == 3)
        return line_at(s, wf_select(odd(k), wf_sub(wf_sub(n, 1), wf_idiv(k, 2)), wf_idiv(k, 2)));
    wf_val back, v;
    if (c->type == 2) {
        back = wf_gt(k, (double)(c->n / 2));
        v = line_at(s, wf_select(back, wf_sub(n, k), k));
        v = wf_mul(wf_select(back, wf_conj(v), v), wf_read(s->g, s->table, 0, k, 0));
        return wf_mul(wf_real(v), 2);
    }
    if (c->n % 2 == 0) {
        back = odd(k);
        wf_val half = wf_idiv(wf_select(back, wf_sub(wf_sub(n, 1), k), k), 2);
        v = wf_mul(line_at(s, half), wf_read(s->g, s->table, 0, half, 0));
        return wf_mul(wf_select(back, wf_neg(wf_imag(v)), wf_real(v)), 2);
    }
    v = wf_mul(line_at(s, k), wf_read(s->g, s->table, 0, k, 0));
    return wf_mul(wf_real(v), 2);
}

static wf_val after(const site *s, wf_val k)
{
    const cosine *c = s->c;
    wf_val last = WF_V((double)(c->n - 1));
    wf_val at = c->sine && c->type == 2 ? wf_sub(last, k) : k, v = transformed(s, at);
    if (c->sine && c->type > 2)
        v = wf_select(odd(k), wf_neg(v), v);
    if (c->ortho && c->type == 2)
        v = wf_select(wf_eq(at, 0), wf_mul(v, sqrt(0.5)), v);
    if (c->ortho && c->type == 1 && !c->sine)
        v = wf_select(wf_or(wf_eq(k, 0), wf_eq(k, last)), wf_mul(v, sqrt(0.5)), v);
    return c->scale != 1 ? wf_mul(v, c->scale) : v;
}

/* ---- an axis ---- */
/* Fills `to` [outer, m, inner] by a function of the site and the index along the line. */
static wf_status fill(const cosine *c, wf_array *to, const wf_array *from, const wf_array *table,
                      wf_val (*value)(const site *, wf_val))
{
    wf_graph *g = wfl_begin(c->plan->ctx, c->plan->function, .shape = wf_array_shape(to));
    site s = { g, c, from, table, { wf_index(g, 0), wf_index(g, 2) } };
    wf_out(g, to, value(&s, wf_index(g, 1)));
    return wf_run(g);
}

/* The rotations of a type, before and after the transform; NULL where there is none. False: memory ran out. */
static bool make_tables(const cosine *c, const middle *m, const wf_array *x, wf_array *table[2])
{
    double n = (double)c->n;
    if (c->type == 2)
        table[1] = turns(c, x, c->n, 1, 0, 2 * n);
    else if (c->type == 3)
        table[0] = turns(c, x, m->before, 1, 0, 2 * n);
    else if (c->type == 4 && c->n % 2 == 0) {
        table[0] = turns(c, x, m->before, 4, 1, 4 * n);
        table[1] = turns(c, x, m->after, 1, 0, n);
    } else if (c->type == 4) {
        table[0] = turns(c, x, m->before, 1, 0, 2 * n);
        table[1] = turns(c, x, m->after, 2, 1, 4 * n);
    }
    return (table[0] || c->type < 3) && (table[1] || c->type == 1 || c->type == 3);
}

/* y = the transform of x; both [outer, n, inner]. */
static wf_status run_axis(cosine *c, wf_array *y, const wf_array *x)
{
    middle m = middle_of(c);
    wf_dtype number = wfl_complex_dtype(c->plan->part);
    wf_array *table[2] = { NULL, NULL };
    bool tables = make_tables(c, &m, x, table);
    wf_array *a = wfl_new_beside(x, m.complex_before ? number : c->plan->part, WF_SHAPE(c->outer, m.before, c->inner));
    wf_array *b = m.kind == WFL_FFT_C2C ? wf_retain(a)
                                        : wfl_new_beside(x, m.kind == WFL_FFT_C2R ? c->plan->part : number,
                                                         WF_SHAPE(c->outer, m.after, c->inner));
    wf_status status = tables && a && b ? fill(c, a, x, table[0], before) : wfl_array_error(c->plan->ctx);
    c->plan->inverse = m.inverse;
    if (status == WF_OK && wfl_is_taped(b, a))
        status = wfl_run_on_tape(&(wfl_whole){ c->plan, m.kind, WF_AXES(1), 1 }, b, a);
    else if (status == WF_OK)
        status = wfl_transform_axis(
            &(wfl_axis_pass){
                .plan = c->plan, .kind = m.kind, .n = m.n, .outer = c->all_outer, .inner = c->all_inner, .scale = 1 },
            b, a);
    if (status == WF_OK)
        status = fill(c, y, b, table[1], after);
    wf_array *spent[] = { table[0], table[1], a, b };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
    return status;
}

/* ---- all axes ---- */
typedef struct job { /* transforms along several axes, from the last one on */
    cosine c;        /* what all axes share */
    wf_shape whole;  /* of the whole array */
    wf_dtype dtype;  /* of the result */
    wf_axes axes;
    wf_fft_norm norm;
    bool inverse; /* as the caller says */
} job;

/* Consumes x, in C order. */
static wf_array *transform_one(const job *j, wf_array *x, int axis)
{
    const wf_shape shape = wf_array_shape(x);
    const double n = (double)shape.dim[axis];
    cosine c = j->c;
    c.scale = wfl_scale_of(j->norm, j->inverse, c.type == 1 ? 2 * (c.sine ? n + 1 : n - 1) : 2 * n);
    c.all_outer = c.all_inner = 1;
    for (int d = 0; d < shape.rank; ++d)
        if (d != axis)
            *(d < axis ? &c.all_outer : &c.all_inner) *= j->whole.dim[d];
    wf_array *y = wfl_new_beside(x, axis == wfl_first_of(j->axes) ? j->dtype : c.plan->part, shape);
    wf_array *from = wfl_around(x, axis), *to = y ? wfl_around(y, axis) : NULL;
    bool done = false;
    if (from && to) {
        wf_shape around = wf_array_shape(from);
        c.outer = around.dim[0];
        c.n = around.dim[1];
        c.inner = around.dim[2];
        done = run_axis(&c, to, from) == WF_OK;
    }
    wf_array *spent[] = { from, to, x, done ? NULL : y };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
    return done ? y : NULL;
}

/* The same along several axes of an array, which may have gaps. NULL: an error. */
static wf_array *transform_axes(const job *j, const wf_array *x, wf_axes axes)
{
    wf_array *y = wf_array_contiguous((wf_array *)x);
    for (int d = wf_array_shape(x).rank - 1; d >= 0 && y; --d)
        if (axes >> d & 1)
            y = transform_one(j, y, d);
    return y;
}

static wf_status transform_block(const wfl_lines *l, wf_array *y, wf_array *x, int first, int count)
{
    wf_axes axes = 0;
    for (int k = first; k < first + count; ++k)
        axes |= l->axes[k];
    return wfl_lines_put(l, y, transform_axes(l->user, x, axes));
}

static void between(const wfl_lines *l, int done, wf_dtype *dtype, wf_shape *shape)
{
    (void)done;
    (void)shape;
    *dtype = ((const job *)l->user)->c.plan->part;
}

static wf_array *transform_distributed(const job *j, const wf_array *x)
{
    const wfl_plan *p = j->c.plan;
    wfl_lines l = { .ctx = p->ctx, .function = p->function, .run = transform_block, .between = between, .user = j };
    for (int d = j->whole.rank - 1; d >= 0; --d)
        if (j->axes >> d & 1)
            l.axes[l.steps++] = WF_AXES(d);
    return wfl_lines_new(&l, j->dtype, &j->whole, x);
}

/* ---- functions ---- */
static wf_array *transform(const wf_array *x, int type, wf_axes axes, bool inverse, wf_fft_norm norm, bool sine,
                           const char *function)
{
    wfl_plan p = { wf_array_context(x), function, norm, false, wfl_part_of(wf_array_dtype(x)), { 0 } };
    if (!x || !wfl_checked(&p, x, &axes, "the array"))
        return NULL;
    if (wfl_is_complex_dtype(wf_array_dtype(x))) {
        wfl_array_fail(p.ctx, WF_ERR_DTYPE, "%s: the array is complex; transform its parts", function);
        return NULL;
    }
    if (type < 1 || type > 4) {
        wfl_array_fail(p.ctx, WF_ERR_ARG, "%s: there is no type %d, only 1 to 4", function, type);
        return NULL;
    }
    job j = { .c = { .plan = &p, .sine = sine, .ortho = norm == WF_FFT_ORTHO },
              .whole = wf_array_shape(x),
              .axes = axes };
    j.c.type = inverse && (type == 2 || type == 3) ? 5 - type : type;
    j.dtype = wf_array_dtype(x) == WF_F16 ? WF_F16 : p.part;
    j.norm = norm;
    j.inverse = inverse;
    for (int d = 0; d < j.whole.rank; ++d)
        if (axes >> d & 1 && type == 1 && !sine && j.whole.dim[d] < 2) {
            wfl_array_fail(p.ctx, WF_ERR_SHAPE, "%s: type 1 needs two elements, axis %d has one", function, d);
            return NULL;
        }
    return wf_array_dist(x) ? transform_distributed(&j, x) : transform_axes(&j, x, axes);
}

wf_array *wf_dct(const wf_array *x, int type, wf_axes axes, bool inverse, wf_fft_norm norm)
{
    return transform(x, type, axes, inverse, norm, false, __func__);
}

wf_array *wf_dst(const wf_array *x, int type, wf_axes axes, bool inverse, wf_fft_norm norm)
{
    return transform(x, type, axes, inverse, norm, true, __func__);
}
