/* graph_record.h - for fuzz_graph.c: bytes become a recording. The same decisions are taken whichever way it is to be
 * computed; what differs between the ways is how a value, an array or a position is named.
 */
#ifndef WEFT_GRAPH_RECORD_H
#define WEFT_GRAPH_RECORD_H
#include "graph_arrays.h"

/* ---- operations, from the table ---- */
typedef union fz_function {
    wf_val (*f1)(wf_val);
    wf_val (*f2)(wf_val, wf_val);
    wf_val (*f3)(wf_val, wf_val, wf_val);
} fz_function;

static const fz_function functions[WF__OP_COUNT] = {
#define WF_OP(name, arity, ...) [WF__OP_##name] = { .f##arity = (wf_##name) },
#include "ir/ops.def"
#undef WF_OP
};

static const wf_dtype dtypes[] = { WF_BOOL, WF_I8,  WF_U8,   WF_I16, WF_U16, WF_I32, WF_U32, WF_I64,
                                   WF_U64,  WF_F16, WF_BF16, WF_F32, WF_F64, WF_C32, WF_C64, WF_C128 };

/* ---- the recording ---- */
typedef enum way { LAZY, KERNEL, EAGER, POINTS } way;
enum { MOST_VALUES = 96, MOST_VARS = 4, MOST_KEPT = 8 };

typedef struct value {
    wf_val val;
    wf_array *now; /* EAGER: the computed value */
    wf_shape shape;
    wf_dtype dtype;
} value;

typedef struct recorder {
    wf_context *ctx;
    wf_graph *g;
    way how;
    fz_reader in;
    fz_setup set;
    wf_array *formal[MOST_ARRAYS];
    value pool[MOST_VALUES];
    int n;
    wf_var var[MOST_VARS];
    int var_value[MOST_VARS]; /* EAGER: index of the value it has */
    wf_dtype var_dtype[MOST_VARS];
    wf_shape var_shape[MOST_VARS];
    int vars, params;
    int blocks, loops; /* open ones */
    int calls;         /* open ones: no effects, since not every way records every function */
    bool whole_blocks; /* there were blocks of whole arrays: their lanes have the space's shape, and so has all else */
    bool views;        /* there were values of other shapes */
    struct {           /* ARRAYS, in the outermost open block: */
        int by;        /* the array, + 1, that alone accesses the buffer, as whole; -1: by others, or by index */
        int writer;    /* as fz_buffer's */
    } use[MOST_BUFFERS];
    wf_array *kept[MOST_KEPT];
    wf_array *kept_formal[MOST_KEPT];
    int kept_n;
    int64_t point[WF_MAX_RANK];
    bool inexact; /* a float reduction whose order may show */
    bool failed;
} recorder;

static unsigned take(recorder *r, unsigned below) { return fz_take(&r->in, below); }
static bool indexed(const recorder *r) { return r->set.kind == KIND_SPACE || r->set.kind == KIND_SPACE_REDUCE; }

static void check(recorder *r, wf_status status)
{
    if (status == WF_OK)
        return;
    fprintf(stderr, "%s: %s\n", wf_status_name(status), wf_message(r->ctx));
    abort();
}

static void begin(recorder *r)
{
    wf_space space = { .size = sizeof space };
    if (indexed(r)) {
        space.indexed = true;
        space.shape = r->set.space;
        for (int d = 0; r->how == POINTS && d < space.shape.rank; ++d)
            space.shape.dim[d] = 1;
    }
    if (r->set.kind == KIND_SPACE_REDUCE || r->set.kind == KIND_ELEMENTS_REDUCE)
        space.reduce = r->set.reduce;
    r->g = wf_begin_with(r->ctx, &space);
}

/* The array as the recording names it. */
static wf_array *named(recorder *r, int k)
{
    if (r->how != KERNEL)
        return r->set.array[k].a;
    if (!r->formal[k]) {
        char name[16];
        snprintf(name, sizeof name, "a%d", k);
        r->formal[k] = wf_formal(r->g, name, r->set.array[k].dtype, r->set.array[k].shape.rank);
    }
    return r->formal[k];
}

/* What reads of array k meet: POINTS read what was there before the launch, until this point wrote. */
static wf_array *source(recorder *r, int k)
{
    if (r->how == POINTS && !r->set.buffer[r->set.array[k].buffer].writer)
        return r->set.array[k].old;
    return named(r, k);
}

static int emit(recorder *r, wf_val v, wf_shape shape)
{
    if (r->n == MOST_VALUES)
        return r->n - 1;
    value *p = &r->pool[r->n];
    *p = (value){ .val = v, .shape = shape, .dtype = wf_val_dtype(v) };
    wf_shape have = wf_val_shape(v);
    if (r->set.kind == KIND_ARRAYS && r->how != KERNEL && !r->whole_blocks && p->dtype != WF_NONE &&
        !fz_same_shape(&have, &shape)) {
        fprintf(stderr, "a value has another shape than broadcasting gives\n");
        abort();
    }
    if (r->how == EAGER) {
        p->now = wf_keep(v);
        check(r, wf_run(r->g));
        begin(r);
    }
    return r->n++;
}

static wf_val use(recorder *r, int i) { return r->how == EAGER ? wf_in(r->g, r->pool[i].now) : r->pool[i].val; }

static wf_val cast_to(wf_val v, wf_dtype t)
{
    wf_dtype from = wf_val_dtype(v);
    if (wf__is_complex(from) && !wf__is_complex(t) && t != WF_BOOL)
        v = wf_real(v);
    return from == t ? v : wf_cast(v, t);
}

static bool few_points(const wf_shape *s) { return fz_points(s) <= 1 << 12; }

static bool in_whole_block(const recorder *r) { return r->set.kind == KIND_ARRAYS && r->blocks; }

static bool has_space(const recorder *r, const wf_shape *shape)
{
    wf_shape both = r->set.space;
    return fz_broadcast(&both, shape) && fz_same_shape(&both, &r->set.space);
}

/* Any value; in a block of whole arrays one that goes with its lanes, else the constant that all recordings begin with. */
static int pick(recorder *r)
{
    int i = (int)take(r, (unsigned)r->n);
    return in_whole_block(r) && !has_space(r, &r->pool[i].shape) ? 0 : i;
}

/* Some value that fits the shape, as dtype t; sometimes a number (when `numbers`). Widens *shape. */
static wf_val operand(recorder *r, wf_dtype t, bool numbers, wf_shape *shape)
{
    unsigned i = take(r, (unsigned)r->n + (numbers ? 3 : 0));
    if (i >= (unsigned)r->n)
        return (wf_val){ { (double)(t == WF_BOOL ? (i & 1) : i - (unsigned)r->n), NULL } };
    wf_shape both = *shape;
    bool fits = !in_whole_block(r) || has_space(r, &r->pool[i].shape);
    if (!fits || !fz_broadcast(&both, &r->pool[i].shape) || !few_points(&both))
        i = 0; /* a scalar, which fits everything */
    fz_broadcast(shape, &r->pool[i].shape);
    return cast_to(use(r, (int)i), t);
}

static wf_val without_nan(wf_val v)
{
    wf_dtype t = wf_val_dtype(v);
    return t >= WF_F16 ? wf_select(wf_isnan(v), 1, v) : v;
}

static wf_dtype any_dtype_of(recorder *r, unsigned op)
{
    unsigned first = take(r, (unsigned)FZ_COUNT(dtypes));
    for (unsigned i = 0; i < FZ_COUNT(dtypes); ++i) {
        wf_dtype t = dtypes[(first + i) % FZ_COUNT(dtypes)];
        if (wf__op_allows(op, t) && !(wf__is_complex(t) && (op == WF__OP_complex || op == WF__OP_polar)))
            return t;
    }
    return WF_F32;
}

static wf_dtype any_dtype(recorder *r, unsigned types)
{
    unsigned first = take(r, (unsigned)FZ_COUNT(dtypes));
    for (unsigned i = 0; i < FZ_COUNT(dtypes); ++i) {
        wf_dtype t = dtypes[(first + i) % FZ_COUNT(dtypes)];
        if (wf__types_allow(types, t))
            return t;
    }
    return WF_F32;
}

static void add_operation(recorder *r)
{
    unsigned op = WF__BITCAST + 1 + take(r, WF__OP_COUNT - WF__BITCAST - 1);
    const wf__op_info *info = &wf__op_table[op];
    wf_dtype t = any_dtype_of(r, op);
    wf_shape shape = { 0 };
    bool first_bool = info->types == WF__T_FIRST_BOOL;
    wf_val a = operand(r, first_bool ? WF_BOOL : t, false, &shape), out;
    if (info->arity == 1)
        out = functions[op].f1(a);
    else if (info->arity == 2) {
        wf_val b = operand(r, t, true, &shape);
        out = functions[op].f2(a, op == WF__OP_copysign ? without_nan(b) : b);
    } else {
        wf_val b = operand(r, t, !first_bool, &shape), c = operand(r, t, true, &shape);
        out = functions[op].f3(a, b, c);
    }
    emit(r, out, shape);
}

static void add_cast(recorder *r)
{
    wf_shape shape = { 0 };
    wf_dtype t = any_dtype_of(r, WF__CAST);
    int i = pick(r);
    wf_dtype from = r->pool[i].dtype;
    shape = r->pool[i].shape;
    bool bits = take(r, 2) && from != WF_BOOL && t != WF_BOOL && wf_dtype_size(from) == wf_dtype_size(t) &&
                !wf__is_complex(from) && !wf__is_complex(t);
    wf_val v = use(r, i);
    emit(r, bits ? wf_bitcast(without_nan(v), t) : cast_to(v, t), shape);
}

static void add_constant(recorder *r)
{
    wf_dtype t = any_dtype_of(r, WF__CAST);
    uint64_t bits = 0, pair[2];
    if (wf__is_complex(t)) {
        double part[2];
        fz_element(&r->in.random, t, pair);
        wf__eval_cast(WF_F64, wf__part_dtype(t), part, pair, 2);
        emit(r, wf_const_complex(r->g, t, part[0], part[1]), (wf_shape){ 0 });
        return;
    }
    fz_element(&r->in.random, t, &bits);
    int64_t whole = 0;
    double x = 0;
    wf__eval_cast(WF_I64, t, &whole, &bits, 1);
    wf__eval_cast(WF_F64, t, &x, &bits, 1);
    if (t != WF_BOOL && t < WF_F16 && take(r, 2))
        emit(r, wf_const_i64(r->g, t, t == WF_U64 ? (int64_t)(bits & INT64_MAX) : whole), (wf_shape){ 0 });
    else if (take(r, 2)) {
        char name[16];
        snprintf(name, sizeof name, "p%d", r->params++);
        double y = fabs(x) < 0x1p53 || t >= WF_F16 ? x : 3;
        emit(r, wf_param(r->g, name, t, y), (wf_shape){ 0 });
    } else
        emit(r, wf_const(r->g, t, fabs(x) < 0x1p53 || t >= WF_F16 ? x : 7), (wf_shape){ 0 });
}

/* ---- memory ---- */
static wf_val position(recorder *r, int axis)
{
    return r->how == POINTS ? wf_const(r->g, WF_I64, (double)r->point[axis]) : wf_index(r->g, axis);
}

/* In an index space, reads of written memory are right only at the point's own element. */
static bool readable(const recorder *r, int k)
{
    const fz_buffer *b = &r->set.buffer[r->set.array[k].buffer];
    return !indexed(r) || !b->writer || (b->writer == k + 1);
}

/* In a block of whole arrays, where points go their ways one by one, a buffer that is written is accessed element by element,
 * and by nobody else. */
static bool may_load(recorder *r, int k, bool whole)
{
    int b = r->set.array[k].buffer;
    if (!in_whole_block(r))
        return true;
    if (r->use[b].writer && !(whole && r->use[b].writer == k + 1))
        return false;
    r->use[b].by = whole && (!r->use[b].by || r->use[b].by == k + 1) ? k + 1 : -1;
    return true;
}

static bool may_store(recorder *r, int k, int writer) /* k + 1, or -join */
{
    int b = r->set.array[k].buffer;
    bool alone = !r->use[b].by || (writer > 0 && r->use[b].by == k + 1);
    if (r->calls)
        return false;
    if (!in_whole_block(r))
        return true;
    if (!alone || (r->use[b].writer && r->use[b].writer != writer) ||
        (writer > 0 && !fz_same_shape(&r->set.array[k].shape, &r->set.space)))
        return false;
    r->use[b].writer = writer;
    return true;
}

/* The element of array k that belongs to this point, by NumPy's rule. */
static wf_val own_element(recorder *r, int k)
{
    const fz_array *a = &r->set.array[k];
    wf_val index[WF_MAX_RANK];
    if (r->how != POINTS)
        return wf_in(r->g, source(r, k));
    for (int d = 0; d < a->shape.rank; ++d)
        index[d] =
            a->shape.dim[d] == 1 ? wf_const(r->g, WF_I64, 0) : position(r, d + r->set.space.rank - a->shape.rank);
    return wf_read_n(r->g, source(r, k), (wf_vals){ index, (size_t)a->shape.rank });
}

/* Where array k is written: the same place by every write. */
static void own_place(recorder *r, int k, wf_val *index)
{
    const fz_array *a = &r->set.array[k];
    for (int d = 0; d < a->shape.rank; ++d)
        index[d] = wf_add(position(r, d), (double)a->offset[d]);
}

static void add_element(recorder *r)
{
    int k = (int)take(r, (unsigned)r->set.arrays);
    const fz_array *a = &r->set.array[k];
    if (!readable(r, k) || !a->fits || !may_load(r, k, true))
        return;
    if (indexed(r) && r->set.buffer[a->buffer].writer) {
        wf_val index[WF_MAX_RANK];
        own_place(r, k, index);
        emit(r, wf_read_n(r->g, source(r, k), (wf_vals){ index, (size_t)a->shape.rank }), (wf_shape){ 0 });
        return;
    }
    emit(r, own_element(r, k), indexed(r) || r->set.kind == KIND_ELEMENTS_REDUCE ? (wf_shape){ 0 } : a->shape);
}

static void add_read(recorder *r)
{
    int k = (int)take(r, (unsigned)r->set.arrays);
    const fz_array *a = &r->set.array[k];
    if (!readable(r, k) || r->set.buffer[a->buffer].writer || a->shape.rank == 0 || !may_load(r, k, false))
        return;
    wf_border border = (wf_border)take(r, 6);
    wf_val index[WF_MAX_RANK];
    wf_shape shape = { 0 };
    for (int d = 0; d < a->shape.rank; ++d) {
        unsigned form = take(r, 4);
        if (indexed(r) && r->set.space.rank && form < 3) {
            int axis = form == 0 ? (int)take(r, (unsigned)r->set.space.rank) : d % r->set.space.rank;
            index[d] = wf_add(position(r, axis), (double)take(r, 7) - 3);
        } else
            index[d] = operand(r, any_dtype(r, WF__T_INT), false, &shape);
        if (border == WF_BORDER_NONE) {
            if (a->shape.dim[d] == 0)
                return;
            index[d] = wf_mod(wf_and(cast_to(index[d], WF_I64), 0xffffff), (double)a->shape.dim[d]);
        }
    }
    wf_vals at = { index, (size_t)a->shape.rank };
    wf_val other = { { 0, NULL } };
    if (border == WF_BORDER_VALUE)
        other = operand(r, a->dtype, true, &shape);
    emit(r, wf_read_border_n(r->g, source(r, k), border, other, at), shape);
}

static void add_position(recorder *r)
{
    const wf_shape *s = &r->set.space;
    int k = (int)take(r, (unsigned)r->set.arrays);
    const fz_array *a = &r->set.array[k];
    if (take(r, 4) == 0 && a->shape.rank)
        emit(r, wf_dim(r->g, named(r, k), (int)take(r, (unsigned)a->shape.rank)), (wf_shape){ 0 });
    else if (s->rank && indexed(r)) {
        int axis = (int)take(r, (unsigned)s->rank);
        if (take(r, 3))
            emit(r, position(r, axis), (wf_shape){ 0 });
        else
            emit(r, r->how == POINTS ? wf_const(r->g, WF_I64, (double)s->dim[axis]) : wf_extent(r->g, axis),
                 (wf_shape){ 0 });
    } else if (s->rank && r->set.kind == KIND_ARRAYS) {
        const wf_shape *of = take(r, 2) && a->fits && a->shape.rank ? &a->shape : s;
        emit(r, wf_iota(r->g, *of, (int)take(r, (unsigned)of->rank)), *of);
    }
}

static void add_store(recorder *r)
{
    int k = (int)take(r, (unsigned)r->set.arrays), i = pick(r);
    fz_array *a = &r->set.array[k];
    fz_buffer *b = &r->set.buffer[a->buffer];
    if (r->set.kind == KIND_ELEMENTS_REDUCE || r->set.kind == KIND_SPACE_REDUCE)
        return;
    if (!indexed(r)) {
        wf_shape both = a->shape;
        if (r->pool[i].shape.rank > a->shape.rank || !fz_broadcast(&both, &r->pool[i].shape) ||
            !fz_same_shape(&both, &a->shape) || !may_store(r, k, k + 1))
            return;
        wf_out(r->g, named(r, k), cast_to(use(r, i), a->dtype));
        if (r->how == EAGER) {
            check(r, wf_run(r->g));
            begin(r);
        }
        return;
    }
    if ((b->writer && b->writer != k + 1) || !a->full || (r->loops && !b->writer) || !may_store(r, k, k + 1))
        return;
    wf_array *target = named(r, k);
    wf_val index[WF_MAX_RANK];
    own_place(r, k, index);
    bool element = a->same && take(r, 2);
    if (element && r->how != POINTS)
        wf_out(r->g, target, cast_to(use(r, i), a->dtype));
    else
        wf_write_n(r->g, target, cast_to(use(r, i), a->dtype), (wf_vals){ index, (size_t)a->shape.rank });
    b->writer = k + 1;
}

/* Joins whose order does not show. In an index space the points' order is open, so one join for each buffer, and nothing
 * else touches it from then on. */
static void add_accumulate(recorder *r)
{
    static const int modes[] = { WF_AUTO, WF_DIRECT, WF_LOCAL, WF_EXPAND };
    int k = (int)take(r, (unsigned)r->set.arrays);
    const fz_array *a = &r->set.array[k];
    fz_buffer *b = &r->set.buffer[a->buffer];
    wf_join join = (wf_join)(WF_ADD + take(r, 7));
    int mode = modes[take(r, 4)];
    bool ordered = wf__is_float(a->dtype) && (join == WF_ADD || join == WF_MUL);
    bool reduces = r->set.kind == KIND_ELEMENTS_REDUCE || r->set.kind == KIND_SPACE_REDUCE;
    wf_shape shape = { 0 };
    wf_val index[WF_MAX_RANK], on = { { 1, NULL } };
    if (reduces || !wf__updates(join, a->dtype) || wf__is_complex(a->dtype) || ordered ||
        (indexed(r) && b->writer && b->writer != -(int)join))
        return;
    for (int d = 0; d < a->shape.rank; ++d) {
        if (a->shape.dim[d] == 0)
            return;
        unsigned form = take(r, 3);
        if (form && indexed(r) && r->set.space.rank)
            index[d] = position(r, (int)take(r, (unsigned)r->set.space.rank));
        else
            index[d] = operand(r, any_dtype(r, WF__T_INT), false, &shape);
        index[d] = wf_mod(wf_and(cast_to(index[d], WF_I64), 0xffffff), (double)a->shape.dim[d]);
    }
    if (!may_store(r, k, -(int)join))
        return;
    if (take(r, 2))
        on = operand(r, WF_BOOL, false, &shape);
    wf_val v = cast_to(operand(r, a->dtype, false, &shape), a->dtype);
    wf_accumulate_if_n(r->g, on, (int)join | mode, named(r, k), v, (wf_vals){ index, (size_t)a->shape.rank });
    b->writer = indexed(r) ? -(int)join : b->writer;
    if (r->how == EAGER) {
        check(r, wf_run(r->g));
        begin(r);
    }
}

/* ---- variables, reductions ---- */
static void add_variable(recorder *r)
{
    wf_shape shape = { 0 };
    int v = (int)take(r, MOST_VARS);
    if (v >= r->vars) {
        if (r->vars == MOST_VARS)
            return;
        v = r->vars++;
        r->var_dtype[v] = any_dtype_of(r, WF__OP_add);
        int i = pick(r);
        if (r->how == EAGER)
            r->var_value[v] = emit(r, cast_to(use(r, i), r->var_dtype[v]), r->pool[i].shape);
        else {
            r->var[v] = wf_local(r->g, r->var_dtype[v], cast_to(use(r, i), r->var_dtype[v]));
            r->var_value[v] = emit(r, wf_get(r->var[v]), r->pool[i].shape);
        }
        r->var_shape[v] = r->pool[i].shape;
        return;
    }
    if (in_whole_block(r) && !has_space(r, &r->var_shape[v]))
        return;
    int i = pick(r);
    shape = r->pool[i].shape;
    wf_shape both = shape;
    bool fits = fz_broadcast(&both, &r->pool[r->var_value[v]].shape) && few_points(&both), inc = take(r, 2) && fits;
    if (inc)
        shape = both;
    if (in_whole_block(r))
        shape = r->set.space; /* that of the lanes */
    r->var_shape[v] = shape;
    if (r->how == EAGER) {
        wf_val x = cast_to(use(r, i), r->var_dtype[v]);
        r->var_value[v] = emit(r, inc ? wf_add(use(r, r->var_value[v]), x) : x, shape);
        return;
    }
    if (inc)
        wf_inc(r->var[v], cast_to(use(r, i), r->var_dtype[v]));
    else
        wf_set(r->var[v], cast_to(use(r, i), r->var_dtype[v]));
    r->var_value[v] = emit(r, wf_get(r->var[v]), shape);
}

/* Values whose sums and products are exact in any order: small integers, and signs. */
static wf_val exact(recorder *r, wf_join join, wf_val v)
{
    wf_dtype t = wf_val_dtype(v);
    if (t < WF_F16 || (join != WF_ADD && join != WF_MUL))
        return v;
    if (take(r, 8) == 0) {
        r->inexact = true;
        return v;
    }
    return join == WF_ADD ? wf_cast(wf_cast(v, WF_I8), t)
                          : wf_copysign(wf_cast(wf_const(r->g, WF_F32, 1), t), without_nan(v));
}

static bool joins(wf_join join, wf_dtype t) { return wf__types_allow(wf__op_table[wf__join_op(join)].types, t); }

/* All axes, or some. */
static wf_axes any_axes(recorder *r, int rank)
{
    return rank && take(r, 3) ? 1 + take(r, (1u << rank) - 1) : WF_ALL_AXES;
}

static void add_reduce(recorder *r)
{
    if (r->set.kind != KIND_ARRAYS || r->blocks)
        return;
    int i = pick(r);
    wf_join join = (wf_join)(WF_ADD + take(r, 7));
    wf_dtype t = r->pool[i].dtype;
    bool sums = join == WF_ADD || join == WF_MUL;
    bool pairs = wf__is_complex(t) && join == WF_ADD;
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

static void keep(recorder *r)
{
    if (r->set.kind != KIND_ARRAYS || r->kept_n == MOST_KEPT)
        return;
    int i = pick(r);
    if (r->how == KERNEL) {
        char name[16];
        snprintf(name, sizeof name, "k%d", r->kept_n);
        r->kept[r->kept_n] = wf_empty_with(r->ctx, r->pool[i].dtype, r->pool[i].shape, NULL);
        r->kept_formal[r->kept_n] = wf_formal(r->g, name, r->pool[i].dtype, r->pool[i].shape.rank);
        wf_out(r->g, r->kept_formal[r->kept_n++], use(r, i));
    } else if (r->how == EAGER)
        r->kept[r->kept_n++] = wf_retain(r->pool[i].now);
    else
        r->kept[r->kept_n++] = wf_keep(use(r, i));
}

static bool some_axes(const recorder *r) { return r->set.kind == KIND_SPACE_REDUCE && r->set.reduce != WF_ALL_AXES; }

/* Of results: reduced axes are of extent 1, or dropped. */
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

/* Reducing graphs: some reductions of some values, then results into arrays. */
static void reduce_all(recorder *r)
{
    wf_var red[4];
    wf_dtype t[4];
    unsigned n = 1 + take(r, 4);
    for (unsigned k = 0; k < n; ++k) {
        wf_join join = (wf_join)(WF_ADD + take(r, 7));
        t[k] = any_dtype(r, wf__op_table[wf__join_op(join)].types);
        wf_shape shape = { 0 };
        wf_val v = exact(r, join, operand(r, t[k], false, &shape));
        red[k] = wf_reduced(r->g, t[k], (double)take(r, 2), join);
        wf_val now = { red[k] };
        fz_function f = functions[wf__join_op(join)];
        wf_set(red[k], take(r, 2) ? f.f2(now, v) : f.f2(v, now));
    }
    wf_section(r->g, WF_POST);
    for (unsigned k = 0; k < n && r->kept_n < MOST_KEPT; ++k) {
        wf_shape shape = { .rank = (int)take(r, 2), .dim = { 1 } };
        if (some_axes(r))
            shape = kept_shape(r, shape.rank == 0);
        wf_array *out = r->kept[r->kept_n] = wf_empty_with(r->ctx, t[k], shape, NULL);
        if (r->how == KERNEL) {
            char name[16];
            snprintf(name, sizeof name, "k%d", r->kept_n);
            out = r->kept_formal[r->kept_n] = wf_formal(r->g, name, t[k], wf_array_shape(out).rank);
        }
        ++r->kept_n;
        wf_val v = wf_get(red[k]);
        if (some_axes(r) && indexed(r) && take(r, 2))
            v = add_kept_index(r, v, t[k]);
        wf_out(r->g, out, t[k] != WF_BOOL && take(r, 2) ? wf_add(v, wf_cast(wf_get(red[0]), t[k])) : v);
    }
}

/* ---- elements of other values ---- */
static wf_val sliced(recorder *r, int i, wf_shape *shape)
{
    int axis = (int)take(r, (unsigned)shape->rank);
    int64_t n = shape->dim[axis], start = (int64_t)take(r, (unsigned)(2 * n + 3)) - n - 1,
            stop = take(r, 3) ? (int64_t)take(r, (unsigned)(2 * n + 3)) - n - 1 : WF_END_INDEX,
            step = (int64_t)take(r, 6) - 3;
    step += step >= 0;
    shape->dim[axis] = wf__slice_range(n, &(int64_t){ start }, stop, step);
    return wf_slice(use(r, i), axis, start, stop, step);
}

static wf_val permuted(recorder *r, int i, wf_shape *shape)
{
    int axes[WF_MAX_RANK];
    wf_shape was = *shape;
    for (int d = 0; d < shape->rank; ++d) {
        int at = (int)take(r, (unsigned)d + 1);
        axes[d] = axes[at];
        axes[at] = d;
    }
    for (int d = 0; d < shape->rank; ++d)
        shape->dim[d] = was.dim[axes[d]];
    return wf_permute(use(r, i), axes);
}

/* Cuts the elements into up to four factors. */
static wf_val reshaped(recorder *r, int i, wf_shape *shape)
{
    int64_t left = fz_points(shape);
    wf_shape to = { 0 };
    for (int d = 0; d < 3; ++d) {
        int64_t factor = 1 + (int64_t)take(r, 6);
        if (left % factor == 0) {
            to.dim[to.rank++] = factor;
            left /= factor;
        }
    }
    to.dim[to.rank++] = left;
    *shape = to;
    if (take(r, 2) && fz_points(shape))
        to.dim[take(r, (unsigned)to.rank)] = -1;
    return wf_reshape(use(r, i), to);
}

static wf_val widened(recorder *r, int i, wf_shape *shape)
{
    if (shape->rank < WF_MAX_RANK && take(r, 2)) {
        memmove(shape->dim + 1, shape->dim, sizeof shape->dim - sizeof *shape->dim);
        shape->dim[0] = (int64_t)take(r, 4);
        ++shape->rank;
    }
    for (int d = 0; d < shape->rank; ++d)
        if (shape->dim[d] == 1)
            shape->dim[d] = (int64_t)take(r, 5);
    return wf_broadcast_to(use(r, i), *shape);
}

static wf_val repeated(recorder *r, int i, wf_shape *shape, bool whole)
{
    wf_shape times = { .rank = shape->rank };
    int axis = (int)take(r, (unsigned)shape->rank);
    for (int d = 0; d < shape->rank; ++d) {
        times.dim[d] = whole || d == axis ? (int64_t)take(r, 4) : 1;
        shape->dim[d] *= times.dim[d];
    }
    return whole ? wf_tile(use(r, i), times) : wf_repeat(use(r, i), axis, times.dim[axis]);
}

static wf_val gathered(recorder *r, int i, wf_shape *shape)
{
    wf_shape was = *shape;
    wf_val index[WF_MAX_RANK], other = { { 0, NULL } };
    bool borders = take(r, 2);
    *shape = (wf_shape){ 0 };
    for (int d = 0; d < was.rank; ++d) {
        index[d] = operand(r, any_dtype(r, WF__T_INT), false, shape);
        if (!borders)
            index[d] = wf_mod(wf_and(cast_to(index[d], WF_I64), 0xffffff), (double)(was.dim[d] ? was.dim[d] : 1));
        else if (take(r, 2))
            index[d] = wf_sub(wf_and(cast_to(index[d], WF_I64), 7), 1);
    }
    if (!borders)
        return wf_gather_n(use(r, i), (wf_vals){ index, (size_t)was.rank });
    other = operand(r, r->pool[i].dtype, true, shape);
    return wf_gather_or_n(use(r, i), other, (wf_vals){ index, (size_t)was.rank });
}

/* Formals leave the extents open; a reshape says them. */
static wf_val of_known_shape(recorder *r, int i) { return wf_reshape(use(r, i), r->pool[i].shape); }

/* Scans, block reductions, and one value behind another. */
static void add_scan(recorder *r)
{
    int i = pick(r), axis;
    wf_join join = (wf_join)(WF_ADD + take(r, 7));
    wf_shape shape = r->pool[i].shape;
    wf_dtype t = r->pool[i].dtype;
    unsigned form = take(r, 4);
    bool sums = join == WF_ADD || join == WF_MUL, pairs = wf__is_complex(t) && join == WF_ADD;
    if (r->set.kind != KIND_ARRAYS || r->whole_blocks || !shape.rank ||
        !(pairs || joins(join, sums && t == WF_BOOL ? WF_I64 : t)))
        return;
    r->views = true;
    axis = (int)take(r, (unsigned)shape.rank);
    if (form < 2) {
        bool exclusive = take(r, 2), reversed = take(r, 2);
        emit(r, wf_scan(join, use(r, i), axis, exclusive, reversed), shape);
    } else if (form == 2 && !pairs) {
        int64_t block = 1 + (int64_t)take(r, 7), *last = &shape.dim[shape.rank - 1];
        wf_val v = exact(r, join, of_known_shape(r, i));
        *last = (*last + block - 1) / block;
        if (shape.rank < WF_MAX_RANK)
            emit(r, wf_block_reduce(join, v, block), shape);
    } else if (form == 3) {
        shape.dim[axis] *= 2;
        if (few_points(&shape))
            emit(r, wf_concat(axis, of_known_shape(r, i), wf_reverse(of_known_shape(r, i), axis)), shape);
    }
}

static void add_view(recorder *r)
{
    int i = pick(r);
    unsigned kind = take(r, 8);
    wf_shape shape = r->pool[i].shape;
    wf_val v;
    if (r->set.kind != KIND_ARRAYS || r->whole_blocks || !shape.rank || (kind >= 6 && !fz_points(&shape)))
        return;
    r->views = true;
    switch (kind) {
    case 0:
    case 1:
        v = sliced(r, i, &shape);
        break;
    case 2:
        v = permuted(r, i, &shape);
        break;
    case 3:
        v = reshaped(r, i, &shape);
        break;
    case 4:
        v = widened(r, i, &shape);
        break;
    case 5:
    case 6:
        v = repeated(r, i, &shape, kind == 5);
        break;
    default:
        v = gathered(r, i, &shape);
    }
    if (few_points(&shape))
        emit(r, v, shape);
}

/* ---- blocks ---- */
static void add_steps(recorder *r, unsigned steps);

/* A break or continue, for some points. */
static void add_leave(recorder *r)
{
    wf_shape shape = { 0 };
    if (!r->loops || r->n + 4 >= MOST_VALUES)
        return;
    wf_if_(r->g, "leave", operand(r, WF_BOOL, false, &shape));
    if (take(r, 2))
        wf_break(r->g);
    else
        wf_continue(r->g);
    wf_end_(r->g, "leave");
}

enum { MOST_BLOCKS = 3 };

static void enter_block(recorder *r)
{
    if (!r->blocks++)
        memset(r->use, 0, sizeof r->use);
    r->whole_blocks = r->whole_blocks || r->set.kind == KIND_ARRAYS;
}

static void leave_block(recorder *r, int n, int vars)
{
    --r->blocks;
    r->n = n;
    r->vars = vars;
    for (int v = 0; v < vars; ++v) /* what the block left */
        r->var_value[v] = emit(r, wf_get(r->var[v]), r->set.kind == KIND_ARRAYS ? r->var_shape[v] : (wf_shape){ 0 });
}

/* Something that is different at different points; of whole arrays, of the space's shape. */
static wf_val here(recorder *r)
{
    if (!r->set.space.rank || (r->set.kind != KIND_ARRAYS && !indexed(r)))
        return (wf_val){ { 0, NULL } };
    int axis = (int)take(r, (unsigned)r->set.space.rank);
    return r->set.kind == KIND_ARRAYS ? wf_iota(r->g, r->set.space, axis) : position(r, axis);
}

static void add_block(recorder *r)
{
    wf_shape shape = { 0 };
    if (r->blocks == MOST_BLOCKS || r->views)
        return;
    int n = r->n, vars = r->vars;
    unsigned form = take(r, 4);
    enter_block(r);
    wf_val i, cond = form < 2 ? operand(r, WF_BOOL, false, &shape)
                              : wf_and(cast_to(operand(r, WF_I64, true, &shape), WF_I64), 7);
    if (r->set.kind == KIND_ARRAYS && r->set.space.rank) /* lanes of the space's shape */
        cond = form < 2 ? wf_or(cond, wf_lt(here(r), 0)) : wf_add(cond, wf_and(here(r), 1));
    if (form < 2)
        wf_if_(r->g, "if", cond);
    else {
        double step = 1 + (double)take(r, 2);
        wf_for_(r->g, "for", &i, form == 2 ? (wf_val){ { 0, NULL } } : cond, form == 2 ? cond : (wf_val){ { 0, NULL } },
                (wf_val){ { form == 2 ? step : -step, NULL } });
        ++r->loops;
        emit(r, i, r->set.kind == KIND_ARRAYS ? r->set.space : shape);
    }
    add_steps(r, 1 + take(r, 6));
    if (form == 1) {
        r->n = n;
        r->vars = vars;
        wf_else_(r->g, "else");
        add_steps(r, 1 + take(r, 6));
    }
    wf_end_(r->g, "end");
    r->loops -= form >= 2;
    leave_block(r, n, vars);
}

/* Functions of a table, each with decisions of its own: not every way records all of them. */
typedef struct function {
    recorder *r;
    fz_reader start;
    unsigned skip;
} function;

static void record_function(const wf_site *site)
{
    const function *f = site->user;
    recorder *r = f->r;
    int n = r->n, vars = r->vars;
    r->in = f->start;
    for (unsigned i = 0; i < f->skip; ++i)
        take(r, 251);
    ++r->calls;
    add_steps(r, 1 + take(r, 5));
    wf_set(site->out[0], cast_to(use(r, pick(r)), wf_val_dtype(wf_get(site->out[0]))));
    --r->calls;
    r->n = n;
    r->vars = vars;
}

static void add_switch(recorder *r)
{
    enum { MOST_FUNCTIONS = 4 };
    wf_shape shape = { 0 };
    if (r->blocks == MOST_BLOCKS || r->views || (r->set.kind == KIND_ARRAYS && !r->set.space.rank))
        return;
    int n = r->n, vars = r->vars, v = vars ? (int)take(r, (unsigned)vars) : -1;
    unsigned size = 1 + take(r, MOST_FUNCTIONS);
    if (v < 0 || (r->set.kind == KIND_ARRAYS && !has_space(r, &r->var_shape[v])))
        return;
    enter_block(r);
    wf_val index = wf_sub(wf_and(wf_add(cast_to(operand(r, WF_I64, false, &shape), WF_I64), here(r)), 3), take(r, 2));
    function f[MOST_FUNCTIONS];
    wf_function table[MOST_FUNCTIONS];
    for (unsigned k = 0; k < size; ++k) {
        f[k] = (function){ .r = r, .start = r->in };
        f[k].skip = take(r, 3);
        table[k] = (wf_function){ record_function, &f[k] };
    }
    fz_reader after = r->in;
    r->var_shape[v] = r->set.space;
    wf_switch(r->g, index, ((wf_functions){ table, size }), WF_NO_VALS, WF_VARS(r->var[v]));
    r->in = after;
    leave_block(r, n, vars);
}

static void add_steps(recorder *r, unsigned steps)
{
    for (unsigned i = 0; i < steps && r->n + 4 < MOST_VALUES; ++i)
        switch (take(r, 28)) {
        case 0:
        case 1:
        case 2:
        case 3:
            add_element(r);
            break;
        case 4:
            add_constant(r);
            break;
        case 5:
            add_position(r);
            break;
        case 6:
        case 7:
            add_read(r);
            break;
        case 8:
            add_cast(r);
            break;
        case 9:
            add_variable(r);
            break;
        case 10:
            add_reduce(r);
            break;
        case 11:
            if (!r->blocks)
                keep(r);
            break;
        case 12:
        case 13:
            add_store(r);
            break;
        case 14:
            add_block(r);
            break;
        case 15:
            if (r->loops)
                add_leave(r);
            else
                add_variable(r);
            break;
        case 18:
            add_switch(r);
            break;
        case 16:
        case 17:
            add_accumulate(r);
            break;
        case 19:
        case 20:
            add_view(r);
            break;
        case 21:
            add_scan(r);
            break;
        default:
            add_operation(r);
        }
}

static void record(recorder *r)
{
    add_constant(r);
    add_steps(r, 2 + take(r, 40));
    add_store(r);
    keep(r);
    if (r->set.kind >= KIND_SPACE_REDUCE)
        reduce_all(r);
}
#endif
