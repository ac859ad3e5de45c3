/* graph_values.h - for fuzz_graph.c: a recording and the pool of its values; operands from the pool, and operations on
 * them. All ways of computing make the same decisions. They differ in how they name a value, an array or a position.
 */
#ifndef WEFT_GRAPH_VALUES_H
#define WEFT_GRAPH_VALUES_H
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
typedef enum way { LAZY, KERNEL, EAGER, POINTS, IN_TURNS, AT_ONCE } way; /* the last two: graph_eval.h */
enum { MOST_VALUES = 96, MOST_VARS = 4, MOST_KEPT = 8, MOST_PARAMS = 64, MOST_RELEASED = 128 };

typedef struct value {
    wf_val val;
    wf_array *now; /* EAGER: the computed value */
    wf_shape shape;
    wf_dtype dtype;
    uint32_t reads; /* buffers that the value may depend on */
    bool kept;      /* the coming turn keeps it */
} value;

/* The values that a run IN_TURNS found out of use; a run AT_ONCE does not use them either. */
typedef struct fz_notes {
    bool *gone;
    size_t n, cap, at;
} fz_notes;

/* A recording that is launched or recorded again (graph_launch.h, graph_frozen.h). */
typedef struct fz_again {
    bool open;    /* for other extents as well: the recording has none of them */
    bool literal; /* constants stand for parameters */
    bool notes;   /* true: notes the parameters; false: they have the values of `params` */
    wf_dtype dtype[MOST_PARAMS];
    double value[MOST_PARAMS];
    int params;
    wf_array **kept;        /* results; a missing one is made */
    const uint8_t *kept_as; /* a missing one is array kept_as - 1, if that fits; 0: a new one. NULL: all are new */
} fz_again;

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
    int var_value[MOST_VARS]; /* EAGER: the index of its value */
    wf_dtype var_dtype[MOST_VARS];
    wf_shape var_shape[MOST_VARS];
    int vars, params;
    int blocks, loops; /* number of open blocks and loops */
    int calls;         /* number of open calls, in which there are no effects: not every way records every function */
    bool whole_blocks; /* there were blocks of whole arrays, which the naive way lacks */
    struct {           /* ARRAYS, in the outermost open block: */
        int by;        /* the array, + 1, that alone accesses the buffer, as a whole; -1: others do, or by index */
        int writer;    /* as in fz_buffer */
    } use[MOST_BUFFERS];
    uint32_t reads;     /* buffers that this step has read */
    uint32_t written;   /* buffers that this turn has written */
    uint32_t vars_read; /* buffers that variables may depend on; a block depends on all of these */
    fz_reader turns;    /* decisions about turns */
    bool turning;       /* the recording is run in turns */
    fz_notes *notes;
    fz_again *again;                   /* NULL: the recording is not launched or recorded again */
    int first_arrays;                  /* number of arrays at the beginning */
    wf_array *released[MOST_RELEASED]; /* AT_ONCE: arrays that IN_TURNS has released */
    int released_n;
    wf_stream *stream;
    wf_array *kept[MOST_KEPT];
    wf_array *kept_formal[MOST_KEPT];
    int kept_n;
    int64_t point[WF_MAX_RANK];
    bool atomics; /* atomic operations are drawn as well */
    bool inexact; /* there is a float reduction whose order may be visible */
    bool failed;
} recorder;

static unsigned take(recorder *r, unsigned below) { return fz_take(&r->in, below); }
static bool indexed(const recorder *r) { return r->set.kind == KIND_SPACE || r->set.kind == KIND_SPACE_REDUCE; }

static bool in_turns(const recorder *r) { return r->how == IN_TURNS || r->how == AT_ONCE; }

static bool in_whole_block(const recorder *r) { return r->set.kind == KIND_ARRAYS && r->blocks; }

static void check(recorder *r, wf_status status)
{
    if (status == WF_OK)
        return;
    fprintf(stderr, "%s: %s\n", wf_status_name(status), wf_last_message(r->ctx));
    abort();
}

static void begin(recorder *r)
{
    wf_space space = { .size = sizeof space, .stream = r->stream };
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

/* Returns the array as the recording names it. */
static wf_array *named(recorder *r, int k)
{
    uint32_t buffer = 1u << r->set.array[k].buffer;
    r->reads |= r->written & buffer ? ~0u : buffer; /* just stored: it may depend on any buffer */
    if (r->how != KERNEL)
        return r->set.array[k].a;
    if (!r->formal[k]) {
        char name[16];
        snprintf(name, sizeof name, "a%d", k);
        r->formal[k] = wf_formal(r->g, name, r->set.array[k].dtype, r->set.array[k].shape.rank);
    }
    return r->formal[k];
}

/* Returns the array that reads of array k see: POINTS read the old contents until this point has written. */
static wf_array *source(recorder *r, int k)
{
    if (r->how == POINTS && !r->set.buffer[r->set.array[k].buffer].writer)
        return r->set.array[k].old;
    return named(r, k);
}

/* True if the recording must not depend on extents. */
static bool open_arrays(const recorder *r) { return r->again && r->again->open && r->set.kind == KIND_ARRAYS; }

static wf_val extent_of(recorder *r, int k, int axis)
{
    return r->again && r->again->open ? wf_dim(r->g, named(r, k), axis) : WF_V((double)r->set.array[k].shape.dim[axis]);
}

/* Returns the array for the next result. */
static wf_array *result_array(recorder *r, wf_dtype dtype, wf_shape shape)
{
    wf_array **kept = r->again && r->again->kept ? &r->again->kept[r->kept_n] : NULL;
    if (kept && *kept)
        return wf_retain(*kept);
    int as = kept && r->again->kept_as ? r->again->kept_as[r->kept_n] : 0;
    const fz_array *a = as && as <= r->set.arrays ? &r->set.array[as - 1] : NULL;
    bool fits = a && a->dtype == dtype && fz_same_shape(&a->shape, &shape) && !a->a->read_only;
    wf_array *result = fits ? wf_retain(a->a) : wf_empty_with(r->ctx, dtype, shape, NULL);
    if (kept)
        *kept = wf_retain(result);
    return result;
}

static wf_val position(recorder *r, int axis)
{
    return r->how == POINTS ? wf_const(r->g, WF_I64, (double)r->point[axis]) : wf_index(r->g, axis);
}

static int emit(recorder *r, wf_val v, wf_shape shape)
{
    if (r->n == MOST_VALUES)
        return r->n - 1;
    value *p = &r->pool[r->n];
    *p = (value){ .val = v, .shape = shape, .dtype = wf_val_dtype(v), .reads = r->reads };
    wf_shape have = wf_val_shape(v);
    if (p->dtype == WF_NONE) /* an error: print it */
        check(r, wf_run(r->g));
    if (r->set.kind == KIND_ARRAYS && r->how != KERNEL && !in_whole_block(r) && !fz_same_shape(&have, &shape)) {
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

static wf_val use(recorder *r, int i)
{
    r->reads |= r->pool[i].reads;
    return r->how == EAGER ? wf_in(r->g, r->pool[i].now) : r->pool[i].val;
}

static wf_val cast_to(wf_val v, wf_dtype t)
{
    wf_dtype from = wf_val_dtype(v);
    if (wf__is_complex(from) && !wf__is_complex(t) && t != WF_BOOL)
        v = wf_real(v);
    return from == t ? v : wf_cast(v, t);
}

static bool few_points(const wf_shape *s) { return fz_points(s) <= 1 << 12; }

static bool has_space(const recorder *r, const wf_shape *shape)
{
    wf_shape both = r->set.space;
    return fz_broadcast(&both, shape) && fz_same_shape(&both, &r->set.space);
}

/* Picks any value; in a block of whole arrays one that broadcasts with the lanes, else the constant that all recordings
 * begin with. */
static int pick(recorder *r)
{
    int i = (int)take(r, (unsigned)r->n);
    return in_whole_block(r) && !has_space(r, &r->pool[i].shape) ? 0 : i;
}

/* Returns a value that broadcasts with *shape, as dtype t; with `numbers` sometimes a number. Widens *shape. */
static wf_val operand(recorder *r, wf_dtype t, bool numbers, wf_shape *shape)
{
    unsigned i = take(r, (unsigned)r->n + (numbers ? 3 : 0));
    if (i >= (unsigned)r->n)
        return (wf_val){ { (double)(t == WF_BOOL ? (i & 1) : i - (unsigned)r->n), NULL } };
    wf_shape both = *shape;
    bool fits = !in_whole_block(r) || has_space(r, &r->pool[i].shape);
    if (!fits || !fz_broadcast(&both, &r->pool[i].shape) || !few_points(&both))
        i = 0; /* a scalar, which broadcasts with everything */
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
    unsigned op;
    wf_dtype t;
    do { /* fewer expansions: they take long to compile, and other tests cover each of them */
        op = WF__BITCAST + 1 + take(r, WF__OP_COUNT - WF__BITCAST - 1);
        t = any_dtype_of(r, op);
    } while (wf__op_expands(op, t) && take(r, 16));
    const wf__op_info *info = &wf__op_table[op];
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

/* In functions of a table there are no parameters while these are counted: not every way records every function. */
static wf_val parameter(recorder *r, wf_dtype t, double initial)
{
    fz_again *again = r->again;
    char name[16];
    if (again && r->calls)
        return wf_const(r->g, t, initial);
    int n = r->params++;
    snprintf(name, sizeof name, "p%d", n);
    if (again && again->notes) {
        again->dtype[n] = t;
        again->value[n] = initial;
        again->params = n + 1;
    } else if (again && again->params)
        initial = again->value[n];
    return again && again->literal ? wf_const(r->g, t, initial) : wf_param(r->g, name, t, initial);
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
    else if (take(r, 2) && r->params < MOST_PARAMS) {
        double y = fabs(x) < 0x1p53 || t >= WF_F16 ? x : 3;
        emit(r, parameter(r, t, y), (wf_shape){ 0 });
    } else
        emit(r, wf_const(r->g, t, fabs(x) < 0x1p53 || t >= WF_F16 ? x : 7), (wf_shape){ 0 });
}
#endif
