/* graph_reduce.h - for fuzz_graph.c: reductions, and results that outlive the recording. */
#ifndef WEFT_GRAPH_REDUCE_H
#define WEFT_GRAPH_REDUCE_H
#include "graph_values.h"

/* Turns a value into one whose sums and products are exact in any order: small integers, and signs. */
static wf_val exact(recorder *r, wf_join join, wf_val v)
{
    wf_dtype t = wf_val_dtype(v);
    if (t < WF_F16 || (join != WF_JOIN_ADD && join != WF_JOIN_MUL))
        return v;
    if (take(r, 8) == 0) {
        r->inexact = true;
        return v;
    }
    return join == WF_JOIN_ADD ? wf_cast(wf_cast(v, WF_I8), t)
                               : wf_copysign(wf_cast(wf_const(r->g, WF_F32, 1), t), without_nan(v));
}

static bool joins(wf_join join, wf_dtype t) { return wf__types_allow(wf__op_table[wf__join_op(join)].types, t); }

/* Chooses all axes, or some. */
static wf_axes any_axes(recorder *r, int rank)
{
    return rank && take(r, 3) ? 1 + take(r, (1u << rank) - 1) : WF_ALL_AXES;
}

static void add_reduce(recorder *r)
{
    if (r->set.kind != KIND_ARRAYS || r->blocks)
        return;
    int i = pick(r);
    wf_join join = (wf_join)(WF_JOIN_ADD + take(r, 7));
    wf_dtype t = r->pool[i].dtype;
    bool sums = join == WF_JOIN_ADD || join == WF_JOIN_MUL;
    bool pairs = wf__is_complex(t) && join == WF_JOIN_ADD;
    if (!pairs && !joins(join, sums && t == WF_BOOL ? WF_I64 : t))
        return;
    wf_shape shape = r->pool[i].shape;
    wf_val v = use(r, i);
    if (pairs) {
        wf_val re = exact(r, join, wf_real(v));
        v = wf_complex(re, exact(r, join, wf_imag(v)));
    } else
        v = exact(r, join, v);
    wf_axes axes = any_axes(r, shape.rank);
    for (int d = 0; d < shape.rank; ++d)
        shape.dim[d] = axes >> d & 1 ? 1 : shape.dim[d];
    emit(r, wf_reduce(join, v, axes), shape);
}

/* Returns an array to assign a result to, as the recording names it. */
static wf_array *new_result(recorder *r, wf_dtype dtype, wf_shape shape)
{
    int k = r->kept_n;
    wf_array *out = r->kept[k] = result_array(r, dtype, shape);
    if (r->how == KERNEL) {
        char name[16];
        snprintf(name, sizeof name, "k%d", k);
        out = r->kept_formal[k] = wf_formal(r->g, name, dtype, shape.rank);
    }
    ++r->kept_n;
    return out;
}

static void keep_value(recorder *r, int i)
{
    if (r->set.kind != KIND_ARRAYS || r->kept_n == MOST_KEPT)
        return;
    if (r->how == KERNEL || (r->again && r->again->kept))
        wf_out(r->g, new_result(r, r->pool[i].dtype, r->pool[i].shape), use(r, i));
    else if (r->how == EAGER)
        r->kept[r->kept_n++] = wf_retain(r->pool[i].now);
    else
        r->kept[r->kept_n++] = wf_keep(use(r, i));
}

static void keep(recorder *r)
{
    if (r->set.kind == KIND_ARRAYS && r->kept_n < MOST_KEPT)
        keep_value(r, pick(r));
}

static bool some_axes(const recorder *r) { return r->set.kind == KIND_SPACE_REDUCE && r->set.reduce != WF_ALL_AXES; }

/* Returns the shape of a result, in which reduced axes have extent 1 or are dropped. */
static wf_shape kept_shape(const recorder *r, bool drop)
{
    wf_shape shape = { 0 };
    for (int d = 0; d < r->set.space.rank; ++d)
        if (!(r->set.reduce >> d & 1))
            shape.dim[shape.rank++] = r->set.space.dim[d];
        else if (!drop)
            shape.dim[shape.rank++] = 1;
    return shape;
}

static wf_val add_kept_index(recorder *r, wf_val v, wf_dtype t)
{
    int axis = (int)take(r, (unsigned)r->set.space.rank);
    wf_val at = r->set.reduce >> axis & 1 ? wf_extent(r->g, axis) : wf_index(r->g, axis);
    return t == WF_BOOL ? wf_xor(v, wf_cast(wf_and(at, 1), t)) : wf_add(v, wf_cast(at, t));
}

/* With rank: reduced axes have extent 1, if these are all axes, there is one. */
static wf_array *new_reduced(recorder *r, wf_dtype dtype, unsigned rank)
{
    wf_shape shape = { .rank = (int)rank, .dim = { 1 } };
    if (some_axes(r))
        shape = kept_shape(r, shape.rank == 0);
    return new_result(r, dtype, shape);
}

/* ---- custom joins ---- */
/* A choice that takes no byte of the input, so that the meaning of older inputs does not change. */
static unsigned also(recorder *r, unsigned below) { return (unsigned)(fz_next(&r->in.random) % below); }

typedef struct custom { /* two variables with a recorded join */
    unsigned form;
    wf_dtype dtype;
    wf_var a, b;
} custom;

/* Joins (x, y) into (a, b) so that the order is not visible. */
static void join_custom(const custom *c, wf_val x, wf_val y)
{
    wf_val a = wf_get(c->a), b = wf_get(c->b), first, second;
    switch (c->form) {
    case 0: { /* the largest x, and its largest partner y; a negative y marks that there is no value yet */
        wf_val better = wf_and(wf_ge(y, 0), wf_or(wf_lt(b, 0), wf_or(wf_gt(x, a), wf_and(wf_eq(x, a), wf_gt(y, b)))));
        first = wf_select(better, x, a);
        second = wf_select(better, y, b);
        break;
    }
    case 1: /* the two largest, a not below b */
        first = wf_max(a, x);
        second = wf_max(wf_min(a, x), wf_max(b, y));
        break;
    default: /* sum, and sum of the products of all pairs */
        first = wf_add(a, x);
        second = wf_add(wf_add(b, y), wf_mul(a, x));
    }
    wf_set(c->a, first);
    wf_set(c->b, second);
}

/* Turns floats into floats without NaN and with one kind of zero. */
static wf_val ordered(wf_val v)
{
    wf_dtype t = wf_val_dtype(v);
    return t < WF_F16 ? v : wf_select(wf_eq(without_nan(v), 0), 0, without_nan(v));
}

static void begin_custom(recorder *r, custom *c)
{
    static const wf_dtype keys[] = { WF_F32, WF_I32, WF_F64, WF_U8, WF_I64 };
    c->form = also(r, 3);
    c->dtype = c->form == 2 ? WF_U32 : keys[also(r, FZ_COUNT(keys))];
    wf_val v = ordered(cast_to(use(r, (int)also(r, (unsigned)r->n)), c->dtype)), w = v;
    wf_val none = c->form == 1 && c->dtype != WF_U8 ? WF_V(c->dtype < WF_F16 ? -0x1p31 : -INFINITY) : WF_V(0);
    if (c->form == 0)
        w = wf_and(cast_to(use(r, (int)also(r, (unsigned)r->n)), WF_I64), 0xffff);
    c->a = wf_reduced(r->g, c->dtype, none, WF_JOIN_CUSTOM);
    c->b = c->form ? wf_reduced(r->g, c->dtype, none, WF_JOIN_CUSTOM) : wf_reduced(r->g, WF_I64, -1, WF_JOIN_CUSTOM);
    if (c->form == 1)
        v = wf_max(v, none); /* the range of i64 goes below that */
    join_custom(c, v, c->form == 0 ? w : none);
}

/* Records some reductions of some values in a reducing graph, and stores the results in arrays. */
static void reduce_all(recorder *r)
{
    wf_var red[4];
    wf_dtype t[4];
    unsigned n = 1 + take(r, 4);
    for (unsigned k = 0; k < n; ++k) {
        wf_join join = (wf_join)(WF_JOIN_ADD + take(r, 7));
        t[k] = any_dtype(r, wf__op_table[wf__join_op(join)].types);
        wf_shape shape = { 0 };
        wf_val v = exact(r, join, operand(r, t[k], false, &shape));
        red[k] = wf_reduced(r->g, t[k], (double)take(r, 2), join);
        wf_val now = { red[k] };
        fz_function f = functions[wf__join_op(join)];
        wf_set(red[k], take(r, 2) ? f.f2(now, v) : f.f2(v, now));
    }
    custom own[2];
    unsigned customs = r->in.random % 3 ? 0 : 1 + (unsigned)(r->in.random / 3 % 2);
    for (unsigned k = 0; k < customs; ++k)
        begin_custom(r, &own[k]);
    if (customs)
        wf_section(r->g, WF_SECTION_JOIN);
    for (unsigned k = 0; k < customs; ++k)
        join_custom(&own[k], wf_get(wf_other(own[k].a)), wf_get(wf_other(own[k].b)));
    wf_section(r->g, WF_SECTION_POST);
    for (unsigned k = 0; k < 2 * customs && r->kept_n < MOST_KEPT; ++k) {
        const custom *c = &own[k / 2];
        bool second = k & 1;
        wf_out(r->g, new_reduced(r, second && c->form == 0 ? WF_I64 : c->dtype, also(r, 2)),
               wf_get(second ? c->b : c->a));
    }
    for (unsigned k = 0; k < n && r->kept_n < MOST_KEPT; ++k) {
        wf_array *out = new_reduced(r, t[k], take(r, 2));
        wf_val v = wf_get(red[k]);
        if (some_axes(r) && indexed(r) && take(r, 2))
            v = add_kept_index(r, v, t[k]);
        wf_out(r->g, out, t[k] != WF_BOOL && take(r, 2) ? wf_add(v, wf_cast(wf_get(red[0]), t[k])) : v);
    }
}
#endif
