/* fold.c - constant propagation and algebraic rules, applied to each operation before it is appended.
 *
 * Every rule holds bit for bit for every value of every dtype that it is applied to (NaN payloads aside):
 * +0.0 is no identity of float addition (-0.0 is), x*0 is 0 only for integers. Constants stand right of commutative
 * operations already. The rules are grouped by operation; each returns the simpler equal node, or 0.
 */
#include "ir/build.h"
#include "base/floats.h"

typedef struct view { /* the operation under consideration, unpacked */
    wf__ir *ir;
    wf__node *n;
    unsigned t; /* dtype of the operands (the last one's) */
    bool flt;
    wf__ref a, b, c;
    bool kb, kc; /* b, c are constants */
    uint64_t vb; /* bits of b */
} view;

static bool is_const(const wf__ir *ir, wf__ref r) { return ir->node[r].op == WF__CONST; }
static uint64_t bits_of(const wf__ir *ir, wf__ref r) { return wf__bits(&ir->node[r]); }
static uint64_t all_ones(unsigned t) { return t == WF_BOOL ? 1 : ~(uint64_t)0 >> (64 - 8 * wf__size(t)); }
static const wf__node *def(const view *v, wf__ref r) { return &v->ir->node[r]; }
static bool b_is(const view *v, double x) { return v->kb && wf__is_const(v->ir, v->b, x); }
static bool is_pow2(uint64_t x) { return x && !(x & (x - 1)); }
static unsigned log2_of(uint64_t x) { return (unsigned)__builtin_ctzll(x); }

/* Returns operand r as the result if the result has the shape of r, else 0. Shapes that are not known yet count as
 * equal only if the other operands are scalars. */
static wf__ref keep(const view *v, wf__ref r)
{
    const wf__ir *ir = v->ir;
    if (!ir->arrays)
        return r;
    if (ir->node[r].shape != v->n->shape)
        return 0;
    const wf__ref operand[3] = { v->a, v->b, v->c };
    bool known = wf__shape_known(ir, v->n->shape);
    for (unsigned i = 0; !known && i < wf__arity(v->n->op); ++i)
        if (operand[i] != r && ir->node[operand[i]].shape)
            return 0;
    return r;
}

/* Returns a constant result. In array graphs a view gives it the result's shape: 0 if the shape is not known, or if
 * the graph has blocks, which have no views. */
static wf__ref constant(const view *v, unsigned dtype, uint64_t bits)
{
    wf__ir *ir = v->ir;
    if (!ir->arrays || !v->n->shape)
        return wf__const_bits(ir, dtype, bits);
    const wf_shape shape = ir->shape[v->n->shape];
    if (ir->loops || !wf__shape_known(ir, v->n->shape))
        return 0;
    wf__ref c = wf__const_bits(ir, dtype, bits);
    return wf__view(ir, WF__VIEW_BROADCAST, shape.dim, (uint32_t)shape.rank, c);
}

static bool all_const(const wf__ir *ir, const wf__node *n, unsigned arity)
{
    return is_const(ir, n->a) && (arity < 2 || is_const(ir, n->b)) && (arity < 3 || is_const(ir, n->c));
}

static wf__ref evaluate(wf__ir *ir, const wf__node *n, unsigned arity)
{
    unsigned last = wf__dtype(ir, wf__last_operand(n));
    if (n->op != WF__CAST && wf__expands(n->op, last, n->dtype)) {
        const wf__ref x[3] = { n->a, n->b, n->c };
        return wf__expand(ir, n->op, n->dtype, x);
    }
    uint64_t a = bits_of(ir, n->a), b = arity > 1 ? bits_of(ir, n->b) : 0, c = arity > 2 ? bits_of(ir, n->c) : 0,
             out = 0;
    wf__floats floats = wf__floats_begin();
    wf__eval_node(n, last, &out, &a, &b, &c, 1);
    wf__floats_end(floats);
    return wf__const_bits(ir, n->dtype, out);
}

/* ---- one function per family ---- */
static wf__ref fold_add(view *v)
{
    if (v->flt)
        return b_is(v, -0.0) ? keep(v, v->a) : 0;
    if (v->kb && v->vb == 0)
        return keep(v, v->a);
    const wf__node *a = def(v, v->a);
    if (v->kb && a->op == WF__OP_add && is_const(v->ir, a->b)) { /* (x + c1) + c2: x + (c1 + c2) */
        wf__ref x = a->a, sum = wf__op2(v->ir, WF__OP_add, a->b, v->b);
        return wf__op2(v->ir, WF__OP_add, x, sum);
    }
    if (!v->kb) { /* (x + c) + y: (x + y) + c, so that constants meet */
        const wf__node *b = def(v, v->b);
        wf__ref x = 0, c = 0, y = 0;
        if (a->op == WF__OP_add && is_const(v->ir, a->b))
            x = a->a, c = a->b, y = v->b;
        else if (b->op == WF__OP_add && is_const(v->ir, b->b))
            x = b->a, c = b->b, y = v->a;
        if (c)
            return wf__op2(v->ir, WF__OP_add, wf__op2(v->ir, WF__OP_add, x, y), c);
    }
    return 0;
}

static wf__ref fold_sub(view *v)
{
    if (v->flt)
        return b_is(v, 0.0) ? keep(v, v->a) : 0; /* x - +0 is x, also for x = -0 */
    if (v->kb)
        return wf__op2(v->ir, WF__OP_add, v->a, wf__op1(v->ir, WF__OP_neg, v->b));
    return v->a == v->b ? constant(v, v->t, 0) : 0;
}

static wf__ref fold_mul(view *v)
{
    if (b_is(v, 1))
        return keep(v, v->a);
    if (v->kb && v->flt && b_is(v, -1))
        return wf__op1(v->ir, WF__OP_neg, v->a);
    if (!v->kb || v->flt)
        return 0;
    if (v->vb == 0)
        return constant(v, v->t, 0);
    const wf__node *a = def(v, v->a);
    if (a->op == WF__OP_mul && is_const(v->ir, a->b)) {
        wf__ref x = a->a, c = wf__op2(v->ir, WF__OP_mul, a->b, v->b);
        return wf__op2(v->ir, WF__OP_mul, x, c);
    }
    return 0;
}

static wf__ref fold_div(view *v) /* floats */
{
    if (!v->kb)
        return 0;
    if (b_is(v, 1))
        return keep(v, v->a);
    /* If the reciprocal of a power of two is exact and normal, the product rounds the same real number as the
     * quotient. */
    unsigned mantissa = wf__mantissa(v->t), bias = wf__bias(v->t);
    uint64_t exponent = v->vb >> mantissa & (2 * bias + 1), fraction = v->vb & (((uint64_t)1 << mantissa) - 1);
    if (fraction || exponent == 0 || exponent >= 2 * bias)
        return 0;
    uint64_t sign = v->vb >> (8 * wf__size(v->t) - 1) << (8 * wf__size(v->t) - 1);
    wf__ref r = wf__const_bits(v->ir, v->t, sign | (2 * bias - exponent) << mantissa);
    return wf__op2(v->ir, WF__OP_mul, v->a, r);
}

static wf__ref fold_idiv(view *v)
{
    if (b_is(v, 1))
        return keep(v, v->a);
    if (v->kb && !wf__is_signed(v->t) && is_pow2(v->vb))
        return wf__op2(v->ir, WF__OP_shr, v->a, wf__const_bits(v->ir, v->t, log2_of(v->vb)));
    return 0;
}

static wf__ref fold_mod(view *v)
{
    if (v->flt)
        return 0;
    if (b_is(v, 1))
        return constant(v, v->t, 0);
    if (v->kb && !wf__is_signed(v->t) && is_pow2(v->vb))
        return wf__op2(v->ir, WF__OP_and, v->a, wf__const_bits(v->ir, v->t, v->vb - 1));
    return 0;
}

/* Rewrites a & ~(a & b) as a & ~b. */
static wf__ref fold_and_not(view *v, wf__ref a, wf__ref b)
{
    const wf__node *not = def(v, b), *both = def(v, not ->a);
    if (not ->op != WF__OP_not || both->op != WF__OP_and || (both->a != a && both->b != a))
        return 0;
    wf__ref rest = wf__op1(v->ir, WF__OP_not, both->a == a ? both->b : both->a);
    return wf__op2(v->ir, WF__OP_and, a, rest);
}

static wf__ref fold_bits(view *v)
{
    unsigned op = v->n->op;
    if (v->a == v->b)
        return op == WF__OP_xor ? constant(v, v->t, 0) : keep(v, v->a);
    if (op == WF__OP_and && !v->kb) {
        wf__ref r = fold_and_not(v, v->a, v->b);
        return r ? r : fold_and_not(v, v->b, v->a);
    }
    if (!v->kb)
        return 0;
    bool zero = v->vb == 0, ones = v->vb == all_ones(v->t);
    if (op == WF__OP_and)
        return zero ? constant(v, v->t, 0) : ones ? keep(v, v->a) : 0;
    if (op == WF__OP_or)
        return ones ? constant(v, v->t, v->vb) : zero ? keep(v, v->a) : 0;
    return zero ? keep(v, v->a) : ones ? wf__op1(v->ir, WF__OP_not, v->a) : 0;
}

static wf__ref fold_compare(view *v)
{
    if (v->a != v->b || v->flt)
        return 0;
    unsigned op = v->n->op;
    return constant(v, WF_BOOL, op == WF__OP_eq || op == WF__OP_le || op == WF__OP_ge);
}

static wf__ref fold_unary(view *v)
{
    const wf__node *a = def(v, v->a);
    unsigned op = v->n->op;
    switch (op) {
    case WF__OP_neg:
    case WF__OP_not:
        return a->op == op ? a->a : 0;
    case WF__OP_abs:
        return a->op == op || !(v->flt || wf__is_signed(v->t)) ? v->a : 0;
    case WF__OP_floor:
    case WF__OP_ceil:
    case WF__OP_round:
    case WF__OP_trunc:
        return !v->flt || (a->op >= WF__OP_floor && a->op <= WF__OP_trunc && a->dtype == v->t) ? v->a : 0;
    case WF__OP_isnan:
    case WF__OP_isinf:
        return v->flt ? 0 : constant(v, WF_BOOL, 0);
    case WF__OP_isfinite:
        return v->flt ? 0 : constant(v, WF_BOOL, 1);
    default:
        return 0;
    }
}

static wf__ref fold_select(view *v)
{
    wf__ir *ir = v->ir;
    if (v->b == v->c)
        return keep(v, v->b);
    if (is_const(ir, v->a))
        return keep(v, bits_of(ir, v->a) ? v->b : v->c);
    const wf__node *a = def(v, v->a);
    if (a->op == WF__OP_not)
        return wf__op3(ir, WF__OP_select, a->a, v->c, v->b);
    if (v->t == WF_BOOL && v->kb && v->kc && v->vb != bits_of(ir, v->c)) /* c ? true : false */
        return v->vb ? keep(v, v->a) : wf__op1(ir, WF__OP_not, v->a);
    return 0;
}

static wf__ref fold_fma(view *v)
{
    wf__ir *ir = v->ir;
    if (!v->flt)
        return wf__op2(ir, WF__OP_add, wf__op2(ir, WF__OP_mul, v->a, v->b), v->c);
    if (wf__is_const(ir, v->c, -0.0))
        return wf__op2(ir, WF__OP_mul, v->a, v->b);
    if (b_is(v, 1))
        return wf__op2(ir, WF__OP_add, v->a, v->c);
    if (wf__is_const(ir, v->a, 1))
        return wf__op2(ir, WF__OP_add, v->b, v->c);
    if (v->a > v->b && !v->ir->arrays) { /* canonical order of the factors */
        v->n->a = v->b;
        v->n->b = v->a;
    }
    return 0;
}

/* True if f32 node r certainly holds a value of the half dtype t, so that rounding to t changes nothing. */
static bool holds_half(const wf__ir *ir, wf__ref r, unsigned t, int depth)
{
    const wf__node *n = &ir->node[r];
    switch (n->op) {
    case WF__CONST: {
        uint64_t bits = wf__bits(n), narrow = 0, back = 0;
        wf__floats floats = wf__floats_begin();
        wf__eval_cast(t, WF_F32, &narrow, &bits, 1);
        wf__eval_cast(WF_F32, t, &back, &narrow, 1);
        wf__floats_end(floats);
        return back == bits;
    }
    case WF__CAST:
        return ir->node[n->a].dtype == t;
    case WF__OP_neg:
    case WF__OP_abs:
    case WF__OP_floor:
    case WF__OP_ceil:
    case WF__OP_round:
    case WF__OP_trunc:
        return depth && holds_half(ir, n->a, t, depth - 1);
    case WF__OP_min:
    case WF__OP_max:
    case WF__OP_fmin:
    case WF__OP_fmax:
    case WF__OP_copysign:
        return depth && holds_half(ir, n->a, t, depth - 1) && holds_half(ir, n->b, t, depth - 1);
    default:
        return false;
    }
}

static wf__ref fold_cast(view *v)
{
    const wf__node *a = def(v, v->a);
    unsigned from = a->dtype, to = v->n->dtype;
    if (a->op != WF__CAST)
        return 0;
    unsigned origin = v->ir->node[a->a].dtype;
    if (wf__is_half(from)) /* the result is x rounded, as f32 */
        return to == WF_F32 && origin == WF_F32 && holds_half(v->ir, a->a, from, 4) ? a->a : 0;
    if (wf__is_half(origin) && wf__is_float(from))
        return to == origin ? a->a : 0;
    if (wf__is_half(to)) /* casts to halves round as recorded; half.c records such pairs */
        return 0;
    bool ints = (wf__is_int(from) || from == WF_BOOL) && (wf__is_int(origin) || origin == WF_BOOL);
    /* A cast through an integer that can hold all values of the first dtype changes nothing. */
    bool wider = ints && from != WF_BOOL &&
                 (wf__size(from) > wf__size(origin) ? wf__is_signed(from) || !wf__is_signed(origin)
                                                    : wf__size(from) == wf__size(origin) && origin == WF_BOOL);
    bool exact =
        wider || (origin == WF_F32 && from == WF_F64) ||
        (from == WF_F64 && wf__is_float(to) && (wf__is_int(origin) || origin == WF_BOOL) && wf__size(origin) <= 4);
    return exact ? wf__cast(v->ir, a->a, to) : 0;
}

static wf__ref fold_shift(view *v) { return v->kb && v->vb == 0 ? keep(v, v->a) : 0; }

wf__ref wf__fold(wf__ir *ir, wf__node *n)
{
    unsigned arity = wf__arity(n->op);
    if (all_const(ir, n, arity))
        return evaluate(ir, n, arity);
    view v = { .ir = ir, .n = n, .a = n->a, .b = n->b, .c = n->c };
    v.t = wf__dtype(ir, wf__last_operand(n));
    v.flt = wf__is_float(v.t);
    v.kb = arity > 1 && is_const(ir, n->b);
    v.kc = arity > 2 && is_const(ir, n->c);
    v.vb = v.kb ? bits_of(ir, n->b) : 0;
    if (arity == 1 && n->op != WF__CAST)
        return n->op == WF__BITCAST ? (def(&v, v.a)->op == WF__BITCAST ? wf__bitcast(ir, def(&v, v.a)->a, n->dtype) : 0)
                                    : fold_unary(&v);
    switch (n->op) {
    case WF__CAST:
        return fold_cast(&v);
    case WF__OP_add:
        return fold_add(&v);
    case WF__OP_sub:
        return fold_sub(&v);
    case WF__OP_mul:
        return fold_mul(&v);
    case WF__OP_div:
        return fold_div(&v);
    case WF__OP_idiv:
        return fold_idiv(&v);
    case WF__OP_mod:
        return fold_mod(&v);
    case WF__OP_min:
    case WF__OP_max:
    case WF__OP_fmin:
    case WF__OP_fmax:
        return v.a == v.b ? keep(&v, v.a) : 0;
    case WF__OP_and:
    case WF__OP_or:
    case WF__OP_xor:
        return fold_bits(&v);
    case WF__OP_shl:
    case WF__OP_shr:
        return fold_shift(&v);
    case WF__OP_eq:
    case WF__OP_ne:
    case WF__OP_lt:
    case WF__OP_le:
    case WF__OP_gt:
    case WF__OP_ge:
        return fold_compare(&v);
    case WF__OP_select:
        return fold_select(&v);
    case WF__OP_fma:
        return fold_fma(&v);
    default:
        return 0;
    }
}
