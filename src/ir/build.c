/* build.c - the path of an operation into a recording: check, fold (fold.c), value numbering, append (ir.c). So
 * recording optimises. After the first error every builder returns 0 and appends nothing. access.c has the builders of
 * loads, stores and updates, loop.c those of loops, view.c those of views.
 */
#include "ir/build.h"
#include "base/floats.h"
#include "ir/value_numbering.h"

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
    if (dtype == WF_F32 && wide << 1 == 0)
        return sign;
    convert(dtype, &bits, &value);
    return bits;
}

wf__ref wf__const_f64(wf__ir *ir, unsigned dtype, double value)
{
    if (wf__is_complex(dtype)) {
        wf__ref re = wf__const_f64(ir, wf__part_dtype(dtype), value);
        return wf__complex(ir, re, wf__const_bits(ir, wf__part_dtype(dtype), 0));
    }
    return wf__append_const(ir, dtype, bits_of(dtype, value));
}

/* ---- pure operations ---- */
static wf__ref emit(wf__ir *ir, wf__node *n)
{
    if (ir->arrays) {
        unsigned arity = wf__arity(n->op);
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
    return wf__append_pure(ir, k.word[0], k.word[1], k.word[2]);
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
            y = x;
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
    return wf__append_pure(ir, op | t << 16 | (uint64_t)left << 32, right, (uint64_t)shape << 32);
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
    bool truth = from == WF_BOOL || dtype == WF_BOOL;
    if (truth || !wf__computable((wf_dtype)dtype) || wf__size(from) != wf__size(dtype)) {
        wf__ir_fail_at(ir, &n, WF_ERR_DTYPE, "wf_bitcast: %s to %s: %s", wf_dtype_name((wf_dtype)from),
                       wf_dtype_name((wf_dtype)dtype), truth ? "bool has no bits; say wf_cast" : "the sizes differ");
        return 0;
    }
    return emit(ir, &n);
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

bool wf__is_const(const wf__ir *ir, wf__ref r, double value)
{
    const wf__node *n = &ir->node[r];
    if (n->op == WF__OP_complex)
        return wf__is_const(ir, n->a, value) && wf__is_const(ir, n->b, 0);
    return n->op == WF__CONST && wf__bits(n) == bits_of(n->dtype, value);
}
