/* build.c - the one emit path: check -> fold (fold.c) -> value numbering -> append. Every node of a
 * recording takes this path, so that recording is optimising. After the first error every builder returns 0 and
 * appends nothing. Loads, stores and updates: access.c; loops: loop.c; views: view.c.
 */
#include "ir/build.h"
#include "base/floats.h"
#include "ir/value_numbering.h"
#include <stdio.h>

void wf__ir_init(wf__ir *ir, int rank, uint32_t flags)
{
    *ir = (wf__ir){ 0 };
    wf__ir_reset(ir, rank, flags);
}

void wf__ir_reset(wf__ir *ir, int rank, uint32_t flags)
{
    uint32_t used = ir->n, size = ir->table_size; /* the table keeps about the size that the last recording needed */
    ir->n = ir->tuple_n = ir->slot_n = ir->red_n = ir->param_n = ir->shape_n = ir->tuples = 0;
    ir->loops = ir->closed_n = 0;
    ir->folded = ir->numbered = ir->merged = ir->label_n = 0;
    ir->hidden = ir->unused = ir->invariant = ir->written_out = ir->in_lockstep = 0;
    ir->joiner = NULL;
    ir->rank = rank;
    ir->kept = 0;
    ir->arrays = ir->kept_lane = false;
    ir->flags = flags;
    ir->status = WF_OK;
    ir->error[0] = 0;
    ir->about = (wf__culprit){ 0 };
    while (size > WF__TABLE_MIN && size / 4 >= used)
        size /= 2;
    if (size)
        wf__table_clear(ir, size);
    if (ir->tuple_table_size)
        memset(ir->tuple_table, 0, ir->tuple_table_size * sizeof *ir->tuple_table);
    if (!wf__grow(&ir->node, &ir->node_cap, 64, sizeof *ir->node) ||
        !wf__grow(&ir->tuple, &ir->tuple_cap, 16, sizeof *ir->tuple) ||
        !wf__grow(&ir->shape, &ir->shape_cap, 4, sizeof *ir->shape)) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "out of memory for a recording");
        return;
    }
    ir->node[0] = (wf__node){ 0 };
    ir->tuple[0] = 0;
    ir->shape[0] = (wf_shape){ 0 };
    ir->n = ir->tuple_n = ir->shape_n = 1;
}

void wf__ir_reserve(wf__ir *ir, uint32_t nodes)
{
    uint32_t size = WF__TABLE_MIN;
    wf__grow(&ir->node, &ir->node_cap, nodes, sizeof *ir->node);
    while (nodes >= wf__table_most(size) && size < (uint32_t)1 << 31)
        size *= 2;
    if (ir->n == 1 && size > ir->table_size)
        wf__table_clear(ir, size);
}

void wf__ir_free(wf__ir *ir)
{
    wf__free(ir->node);
    wf__free(ir->table);
    wf__free(ir->tuple);
    wf__free(ir->tuple_table);
    wf__free(ir->closed);
    wf__free(ir->slot);
    wf__free(ir->red);
    wf__free(ir->param);
    wf__free(ir->shape);
    wf__free(ir->label);
    *ir = (wf__ir){ 0 };
}

static void fail(wf__ir *ir, const wf__node *n, wf_status status, const char *format, va_list args)
{
    if (ir->status != WF_OK)
        return;
    ir->status = status;
    ir->table_most = 0;
    vsnprintf(ir->error, sizeof ir->error, format, args);
    bool recorded = ir->n && n >= ir->node && n < ir->node + ir->n;
    if (n)
        ir->about = (wf__culprit){ recorded ? (wf__ref)(n - ir->node) : 0, *n };
}

void wf__ir_fail(wf__ir *ir, wf_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(ir, NULL, status, format, args);
    va_end(args);
}

void wf__ir_fail_at(wf__ir *ir, const wf__node *n, wf_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(ir, n, status, format, args);
    va_end(args);
}

static wf__ref no_memory(wf__ir *ir)
{
    wf__ir_fail(ir, WF_ERR_MEMORY, "out of memory for a recording of %u nodes", (unsigned)ir->n);
    return 0;
}

/* ---- nodes ---- */
/* Appends a node, given as the words of its key, or returns its equal. */
static __attribute__((noinline)) wf__ref append_words(wf__ir *ir, uint64_t w0, uint64_t w1, uint64_t w2)
{
    if (ir->status != WF_OK)
        return 0;
    wf__key key = { { w0, w1, w2 } };
    uint32_t hash = 0, *entry = NULL;
    if (wf__is_numbered(ir, (uint16_t)w0)) {
        if (ir->n >= ir->table_most && !wf__table_grow(ir))
            return no_memory(ir);
        hash = wf__key_hash(&key);
        wf__ref equal = wf__table_find(ir, ir->node, &key, hash, &entry);
        if (equal) {
            ir->numbered += (uint16_t)w0 == WF__LOAD || wf__op_is_pure((uint16_t)w0);
            return equal;
        }
    }
    if (ir->n == ir->node_cap && !wf__grow(&ir->node, &ir->node_cap, ir->n + 1, sizeof *ir->node))
        return no_memory(ir);
    ir->node[ir->n] = wf__key_node(&key);
    if (entry)
        *entry = wf__table_entry(ir, hash, ir->n);
    return ir->n++;
}

/* As append_words, for a constant or pure operation, with a fast path for the usual case: a new node in a group with
 * room. */
static inline wf__ref append_pure(wf__ir *ir, uint64_t w0, uint64_t w1, uint64_t w2)
{
    uint32_t n = ir->n;
    if (n < ir->table_most && n < ir->node_cap) {
        const wf__key key = { { w0, w1, w2 } };
        uint32_t hash = wf__key_hash(&key), mask = ir->table_size - 1, like;
        uint32_t *group = &ir->table[hash & mask & ~(uint32_t)(WF__GROUP - 1)];
        uint32_t empty = wf__group_probe(group, hash, mask, &like);
        if (empty && !(like & ~empty)) {
            ir->node[n] = wf__key_node(&key);
            group[__builtin_ctz(empty)] = wf__table_entry(ir, hash, n);
            ir->n = n + 1;
            return n;
        }
    }
    return append_words(ir, w0, w1, w2);
}

static inline wf__ref append(wf__ir *ir, const wf__node *node)
{
    wf__key k = wf__key_of(node);
    return append_words(ir, k.word[0], k.word[1], k.word[2]);
}

wf__ref wf__append(wf__ir *ir, const wf__node *node) { return append(ir, node); }

void wf__renumber(wf__ir *ir)
{
    if (ir->flags & WF_FLAG_VALUE_NUMBERING && ir->status == WF_OK)
        wf__table_grow(ir); /* if out of memory, the next node reports the error */
}

const char *wf__label_of(const wf__ir *ir, wf__ref r)
{
    for (uint32_t i = ir->label_n; i-- > 0;)
        if (ir->label[i].ref == r)
            return ir->label[i].text;
    return NULL;
}

void wf__set_label(wf__ir *ir, wf__ref r, const char *text)
{
    wf__label label = { .ref = r }; /* the text may be that of another label, which wf__grow moves */
    if (ir->status != WF_OK || !r || !text)
        return;
    snprintf(label.text, sizeof label.text, "%s", text);
    if (!wf__grow(&ir->label, &ir->label_cap, ir->label_n + 1, sizeof *ir->label)) {
        no_memory(ir);
        return;
    }
    ir->label[ir->label_n++] = label;
}

void wf__copy_label(const wf__ir *in, wf__ref from, wf__ir *out, wf__ref to)
{
    if (in->label_n && out->flags & WF_FLAG_DEBUG && to)
        wf__set_label(out, to, wf__label_of(in, from));
}

/* ---- leaves ---- */
wf__ref wf__const_bits(wf__ir *ir, unsigned dtype, uint64_t bits)
{
    if (wf__size(dtype) < 8)
        bits &= ((uint64_t)1 << 8 * wf__size(dtype)) - 1;
    return append_pure(ir, WF__CONST | (uint64_t)dtype << 16 | bits << 32, bits >> 32, 0);
}

static WF__APART void convert(unsigned dtype, uint64_t *bits, const double *value)
{
    wf__floats floats = wf__floats_begin();
    wf__eval_cast(dtype, WF_F64, bits, value, 1);
    wf__floats_end(floats);
}

static uint64_t bits_of(unsigned dtype, double value)
{
    enum { REST = (1 << 29) - 1, LOWER = 1023 - 127 }; /* bits that f32 lacks; difference of the exponents */
    uint64_t bits = 0, wide;
    memcpy(&wide, &value, sizeof wide);
    if (dtype == WF_F64)
        return wide;
    uint64_t sign = wide >> 63 << 31, size = wide << 1 >> 30; /* exponent and fraction, cut to those of f32 */
    if (dtype == WF_F32 && (wide & REST) == 0 && size - ((uint64_t)(LOWER + 1) << 23) < (uint64_t)254 << 23)
        return sign | (size - ((uint64_t)LOWER << 23)); /* the usual case: a normal f32 */
    convert(dtype, &bits, &value);
    return bits;
}

wf__ref wf__const_f64(wf__ir *ir, unsigned dtype, double value)
{
    if (wf__is_complex(dtype)) {
        wf__ref re = wf__const_f64(ir, wf__part_dtype(dtype), value);
        return wf__complex(ir, re, wf__const_bits(ir, wf__part_dtype(dtype), 0));
    }
    return wf__const_bits(ir, dtype, bits_of(dtype, value));
}

wf__ref wf__param(wf__ir *ir, unsigned dtype)
{
    if (ir->status != WF_OK)
        return 0;
    if (!wf__grow(&ir->param, &ir->param_cap, ir->param_n + 1, sizeof *ir->param)) {
        no_memory(ir);
        return 0;
    }
    ir->param[ir->param_n] = (uint8_t)dtype;
    return wf__param_at(ir, ir->param_n++);
}

wf__ref wf__param_at(wf__ir *ir, uint32_t number)
{
    wf__node n = { .op = WF__PARAM, .dtype = ir->param[number], .a = number };
    return wf__append(ir, &n);
}

static wf__ref leaf(wf__ir *ir, wf__op op, unsigned dtype, uint32_t a, uint32_t b)
{
    wf__node n = { .op = (uint16_t)op, .dtype = (uint8_t)dtype, .a = a, .b = b };
    return wf__append(ir, &n);
}

wf__ref wf__index(wf__ir *ir, int axis) { return leaf(ir, WF__INDEX, WF_I64, (uint32_t)axis, 0); }
wf__ref wf__extent(wf__ir *ir, int axis) { return leaf(ir, WF__EXTENT, WF_I64, (uint32_t)axis, 0); }
wf__ref wf__thread_of(wf__ir *ir, int axis, bool count)
{
    wf__node n = { .op = WF__THREAD, .dtype = WF_I64, .aux = count, .a = (uint32_t)axis };
    return wf__append(ir, &n);
}
wf__ref wf__dim(wf__ir *ir, uint32_t slot, int axis) { return leaf(ir, WF__DIM, WF_I64, slot, (uint32_t)axis); }
wf__ref wf__arg(wf__ir *ir, uint32_t number, unsigned dtype) { return leaf(ir, WF__ARG, dtype, number, 0); }

/* ---- pure operations ---- */
static wf__ref emit(wf__ir *ir, wf__node *n)
{
    if (ir->arrays) {
        unsigned arity = wf__op_table[n->op].arity;
        n->shape = ir->node[n->a].shape;
        if (arity > 1 && ir->node[n->b].shape != n->shape)
            n->shape = wf__broadcast_id(ir, n, n->shape, ir->node[n->b].shape);
        if (arity > 2 && ir->node[n->c].shape != n->shape)
            n->shape = wf__broadcast_id(ir, n, n->shape, ir->node[n->c].shape);
        if (ir->status != WF_OK)
            return 0;
    }
    uint32_t nodes = ir->n, numbered = ir->numbered;
    wf__ref r = ir->flags & WF_FLAG_FOLD ? wf__fold(ir, n) : 0;
    if (r) {
        ir->folded += ir->node[wf__as_literal(ir, r)].op == WF__CONST || (ir->n == nodes && ir->numbered == numbered);
        return r;
    }
    wf__key k = wf__key_of(n);
    return append_pure(ir, k.word[0], k.word[1], k.word[2]);
}

/* No rule of fold.c applies to two different float operands that are no constants, of whatever shape. */
static inline bool beyond_folding(const wf__node *x, const wf__node *y)
{
    return x != y && x->op != WF__CONST && y->op != WF__CONST && x->op != WF__VIEW && y->op != WF__VIEW &&
           wf__is_float(x->dtype);
}

/* True if no operand is 0 or closed, and all have one allowed dtype. */
static inline bool operands_fit(wf__ir *ir, unsigned op, unsigned arity, wf__ref a, wf__ref b, wf__ref c)
{
    if (ir->status != WF_OK || !a || (arity > 1 && !b) || (arity > 2 && !c)) {
        wf__ir_fail(ir, WF_ERR_ARG, "%s: an operand is missing", wf__function_name(op));
        return false;
    }
    unsigned types = wf__op_table[op].types, ta = wf__dtype(ir, a);
    unsigned last = arity == 1 ? ta : arity == 2 ? wf__dtype(ir, b) : wf__dtype(ir, c);
    bool ok = wf__types_allow(types, last);
    if (types == WF__T_FIRST_BOOL)
        ok = ok && ta == WF_BOOL && wf__dtype(ir, b) == last;
    else
        ok = ok && ta == last && (arity < 3 || wf__dtype(ir, b) == last);
    if (!ok && (types == WF__T_CPLX || wf__is_complex(ta) || wf__is_complex(last) ||
                (arity > 2 && wf__is_complex(wf__dtype(ir, b)))))
        return false; /* complex.c checks these */
    if (!ok)
        wf__ir_fail_at(ir, &(wf__node){ .op = (uint16_t)op, .a = a, .b = b, .c = c }, WF_ERR_DTYPE,
                       "%s: not for dtypes %s%s%s%s%s", wf__function_name(op), wf_dtype_name((wf_dtype)ta),
                       arity > 1 ? ", " : "", arity > 1 ? wf_dtype_name((wf_dtype)wf__dtype(ir, b)) : "",
                       arity > 2 ? ", " : "", arity > 2 ? wf_dtype_name((wf_dtype)last) : "");
    return ok;
}

static inline bool is_view(const wf__ir *ir, unsigned arity, wf__ref a, wf__ref b, wf__ref c)
{
    return ir->arrays && (ir->node[a].op == WF__VIEW || (arity > 1 && ir->node[b].op == WF__VIEW) ||
                          (arity > 2 && ir->node[c].op == WF__VIEW));
}

/* Records an operation whose operands fit. */
static inline wf__ref operation(wf__ir *ir, unsigned op, unsigned arity, wf__ref a, wf__ref b, wf__ref c)
{
    if (is_view(ir, arity, a, b, c)) {
        const wf__ref operand[3] = { a, b, c };
        wf__ref r = wf__of_literals(ir, op, arity, operand);
        if (r)
            return r;
    }
    const wf__node *x = &ir->node[a], *y = &ir->node[arity == 2 ? b : a];
    const wf__op_info *info = &wf__op_table[op];
    if (arity == 2 && (info->flags & WF__COMM)) { /* canonical order: constants right, else older left */
        bool cx = x->op == WF__CONST, cy = y->op == WF__CONST;
        if (cx != cy ? cx : a > b) {
            wf__ref t = a;
            a = b;
            b = t;
            const wf__node *z = x;
            x = y;
            y = z;
        }
    }
    unsigned t = info->to_bool ? WF_BOOL : arity == 3 ? wf__dtype(ir, c) : y->dtype;
    wf__node n = { .op = (uint16_t)op, .dtype = (uint8_t)t, .a = a, .b = b, .c = c };
    return emit(ir, &n);
}

static wf__ref complex_op(wf__ir *ir, unsigned op, wf__ref a, wf__ref b, wf__ref c)
{
    const wf__ref x[3] = { a, b, c };
    return ir->status == WF_OK ? wf__complex_op(ir, op, x) : 0;
}

wf__ref wf__op1(wf__ir *ir, unsigned op, wf__ref a)
{
    return operands_fit(ir, op, 1, a, 0, 0) ? operation(ir, op, 1, a, 0, 0) : complex_op(ir, op, a, 0, 0);
}
wf__ref wf__op2(wf__ir *ir, unsigned op, wf__ref a, wf__ref b)
{
    return operands_fit(ir, op, 2, a, b, 0) ? operation(ir, op, 2, a, b, 0) : complex_op(ir, op, a, b, 0);
}
wf__ref wf__op3(wf__ir *ir, unsigned op, wf__ref a, wf__ref b, wf__ref c)
{
    return operands_fit(ir, op, 3, a, b, c) ? operation(ir, op, 3, a, b, c) : complex_op(ir, op, a, b, c);
}
wf__ref wf__op1_fitting(wf__ir *ir, unsigned op, wf__ref a) { return operation(ir, op, 1, a, 0, 0); }
static __attribute__((noinline)) wf__ref operation2(wf__ir *ir, unsigned op, wf__ref a, wf__ref b)
{
    return operation(ir, op, 2, a, b, 0);
}
wf__ref wf__op2_fitting(wf__ir *ir, unsigned op, wf__ref a, wf__ref b)
{
    const wf__node *x = &ir->node[a], *y = &ir->node[b];
    uint32_t shape = ir->arrays ? x->shape : 0; /* in index spaces, the field of a load is its condition */
    if (!beyond_folding(x, y) || (ir->arrays && y->shape != shape))
        return operation2(ir, op, a, b);
    const wf__op_info *info = &wf__op_table[op]; /* the usual case */
    bool swap = (info->flags & WF__COMM) && a > b;
    wf__ref left = swap ? b : a, right = swap ? a : b;
    unsigned t = info->to_bool ? WF_BOOL : y->dtype;
    return append_pure(ir, op | t << 16 | (uint64_t)left << 32, right, (uint64_t)shape << 32);
}

wf__ref wf__cast(wf__ir *ir, wf__ref a, unsigned dtype)
{
    if (ir->status != WF_OK || !a) {
        wf__ir_fail(ir, WF_ERR_ARG, "wf_cast: an operand is missing");
        return 0;
    }
    if (wf__dtype(ir, a) == dtype)
        return a;
    if (!wf__computable((wf_dtype)dtype)) {
        wf__ir_fail(ir, WF_ERR_UNSUPPORTED, "wf_cast: dtype %s is not supported", wf_dtype_name((wf_dtype)dtype));
        return 0;
    }
    if (wf__is_complex(dtype) || wf__is_complex(wf__dtype(ir, a)))
        return wf__complex_cast(ir, a, dtype);
    wf__ref literal = is_view(ir, 1, a, 0, 0) && !ir->loops ? wf__as_literal(ir, a) : a;
    wf__node n = { .op = WF__CAST, .dtype = (uint8_t)dtype, .a = literal };
    wf__ref r = emit(ir, &n);
    if (literal == a)
        return r;
    const wf_shape shape = ir->shape[ir->node[a].shape];
    return wf__view(ir, WF__VIEW_BROADCAST, shape.dim, (uint32_t)shape.rank, r);
}

wf__ref wf__check(wf__ir *ir, const wf__node *like, wf__ref right, wf__ref index)
{
    if (ir->status != WF_OK || !right || !index || wf__is_const(ir, right, 1))
        return ir->status == WF_OK ? index : 0;
    wf__node n = *like; /* not folded: the error of a wrong constant index must remain to be reported */
    n.a = right;
    n.b = index;
    n.shape = ir->arrays ? wf__broadcast_id(ir, &n, ir->node[right].shape, ir->node[index].shape) : 0;
    return wf__append(ir, &n);
}

wf__ref wf__bitcast(wf__ir *ir, wf__ref a, unsigned dtype)
{
    if (ir->status != WF_OK || !a) {
        wf__ir_fail(ir, WF_ERR_ARG, "wf_bitcast: an operand is missing");
        return 0;
    }
    wf__node n = { .op = WF__BITCAST, .dtype = (uint8_t)dtype, .a = a };
    unsigned from = wf__dtype(ir, a);
    if (from == dtype)
        return a;
    if (from == WF_BOOL || dtype == WF_BOOL || !wf__computable((wf_dtype)dtype) || wf__size(from) != wf__size(dtype)) {
        wf__ir_fail_at(ir, &n, WF_ERR_DTYPE, "wf_bitcast: %s to %s: the sizes differ", wf_dtype_name((wf_dtype)from),
                       wf_dtype_name((wf_dtype)dtype));
        return 0;
    }
    return emit(ir, &n);
}

/* ---- reductions, cold paths, tables ---- */
wf__ref wf__red(wf__ir *ir, uint32_t red, uint32_t instance)
{
    return leaf(ir, WF__RED, ir->red[red].dtype, red, instance);
}

void wf__setred(wf__ir *ir, uint32_t red, uint32_t instance, wf__ref value)
{
    wf__node n = { .op = WF__SETRED, .dtype = ir->red[red].dtype, .a = red, .b = instance, .c = value };
    wf__append(ir, &n);
}

wf__ref wf__cold(wf__ir *ir, wf__ref condition, wf__ref otherwise, uint32_t cold_id, const wf__ref *args, uint32_t n)
{
    if (ir->status != WF_OK || !condition || !otherwise)
        return 0;
    const wf__node *c = &ir->node[condition];
    if (c->op == WF__CONST && (ir->flags & WF_FLAG_FOLD))
        return wf__bits(c) ? wf__cold_body(ir, (wf__cold_id)cold_id, args, n) : otherwise;
    wf__node node = {
        .op = WF__COLD, .dtype = ir->node[otherwise].dtype, .a = condition, .b = otherwise, .c = cold_id
    };
    node.d = wf__tuple(ir, args, n);
    node.shape = ir->arrays ? ir->node[otherwise].shape : 0;
    return wf__append(ir, &node);
}

uint32_t wf__slot_new(wf__ir *ir, unsigned dtype, int rank, bool element, uint32_t object)
{
    if (ir->status != WF_OK)
        return 0;
    if (!wf__grow(&ir->slot, &ir->slot_cap, ir->slot_n + 1, sizeof *ir->slot)) {
        no_memory(ir);
        return 0;
    }
    ir->slot[ir->slot_n] =
        (wf__slot){ .dtype = (uint8_t)dtype, .rank = (uint8_t)rank, .element = element, .object = object };
    return ir->slot_n++;
}

uint32_t wf__red_new(wf__ir *ir, unsigned dtype, wf_join join)
{
    if (ir->status != WF_OK)
        return 0;
    if (!wf__grow(&ir->red, &ir->red_cap, ir->red_n + 1, sizeof *ir->red)) {
        no_memory(ir);
        return 0;
    }
    ir->red[ir->red_n] = (wf__reduction){ .dtype = (uint8_t)dtype, .join = (uint8_t)join, .instances = 1 };
    return ir->red_n++;
}

/* ---- lists of refs, each once ---- */
/* Returns the entry of the table for a list: that of an equal list, or an empty one (0). */
static uint32_t *tuple_place(wf__ir *ir, const uint32_t *refs, uint32_t n)
{
    uint32_t mask = ir->tuple_table_size - 1, i = (uint32_t)wf__hash64(refs, n * sizeof *refs, n) & mask;
    for (;; i = (i + 1) & mask) {
        const uint32_t *known = ir->tuple + ir->tuple_table[i];
        if (!ir->tuple_table[i] || (*known == n && !memcmp(known + 1, refs, n * sizeof *refs)))
            return &ir->tuple_table[i];
    }
}

/* As tuple_place, after making room for one more list. NULL if out of memory. */
static uint32_t *find_tuple(wf__ir *ir, const wf__ref *refs, uint32_t n)
{
    if (ir->tuple_table_size <= 2 * ir->tuples) {
        uint32_t size = ir->tuple_table_size ? 2 * ir->tuple_table_size : 16;
        uint32_t *table = size ? wf__alloc0(size * sizeof *table) : NULL;
        if (!table)
            return NULL;
        wf__free(ir->tuple_table);
        ir->tuple_table = table;
        ir->tuple_table_size = size;
        for (uint32_t t = 1; t < ir->tuple_n; t += ir->tuple[t] + 1)
            *tuple_place(ir, ir->tuple + t + 1, ir->tuple[t]) = t;
    }
    return tuple_place(ir, refs, n);
}

uint32_t wf__tuple(wf__ir *ir, const wf__ref *refs, uint32_t n)
{
    if (ir->status != WF_OK || n == 0)
        return 0;
    for (uint32_t i = 0; i < n; ++i)
        if (!refs[i]) {
            wf__ir_fail(ir, WF_ERR_ARG, "an index is missing");
            return 0;
        }
    uint32_t *place = find_tuple(ir, refs, n);
    if (!place) {
        no_memory(ir);
        return 0;
    }
    if (*place)
        return *place;
    if (!wf__grow(&ir->tuple, &ir->tuple_cap, ir->tuple_n + n + 1, sizeof *ir->tuple)) {
        no_memory(ir);
        return 0;
    }
    uint32_t t = ir->tuple_n;
    ir->tuple[t] = n;
    memcpy(ir->tuple + t + 1, refs, n * sizeof *refs);
    ir->tuple_n += n + 1;
    ++ir->tuples;
    *place = t;
    return t;
}

bool wf__is_const(const wf__ir *ir, wf__ref r, double value)
{
    const wf__node *n = &ir->node[r];
    return n->op == WF__CONST && wf__bits(n) == bits_of(n->dtype, value);
}
