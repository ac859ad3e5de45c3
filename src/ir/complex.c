/* complex.c - complex numbers as pairs of reals. The builder calls wf__complex_op for every operation that meets one,
 * and records operations on the parts. Only loads with their other values, stores and three nodes deal with complex
 * numbers: `complex` joins two parts, `real` and `imag` take them apart. So folding, differentiation and backends know
 * nothing about complex arithmetic.
 *
 * c32 is computed in f32 and rounded once. Division, absolute value, square root and logarithm of c32 and c64 are done
 * in a format with "room", in which products of parts are exact and squares neither overflow nor vanish (f32, f64);
 * those of c128 scale by powers of two and carry the errors of products along (Kahan), to the same effect. All other
 * functions are done in the format of the parts (math/complex_log.c, math/complex_trig.c).
 */
#include "ir/math/complex.h"
#include "ir/math/math.h"
#include <math.h>

/* ---- parts ---- */
static wf__ref part(wf__ir *ir, unsigned op, wf__ref z)
{
    if (!z || ir->status != WF_OK)
        return 0;
    const wf__node *n = &ir->node[z];
    wf__ref own = n->op == WF__OP_complex ? op == WF__OP_real ? n->a : n->b : 0;
    uint32_t shape = ir->arrays ? n->shape : 0; /* in index spaces, the field of a load is its condition */
    if (own && (!ir->arrays || (ir->node[own].shape == shape && wf__shape_known(ir, shape))))
        return own;
    wf__node m = { .op = (uint16_t)op, .dtype = (uint8_t)wf__part_dtype(n->dtype), .a = z, .shape = shape };
    return wf__append(ir, &m);
}

wf__ref wf__real(wf__ir *ir, wf__ref z) { return part(ir, WF__OP_real, z); }
wf__ref wf__imag(wf__ir *ir, wf__ref z) { return part(ir, WF__OP_imag, z); }

wf__ref wf__complex(wf__ir *ir, wf__ref re, wf__ref im)
{
    if (!re || !im || ir->status != WF_OK)
        return 0;
    const wf__node *a = &ir->node[re], *b = &ir->node[im];
    if (a->op == WF__OP_real && b->op == WF__OP_imag && a->a == b->a)
        return a->a;
    wf__node n = { .op = WF__OP_complex, .dtype = (uint8_t)wf__complex_dtype(a->dtype), .a = re, .b = im };
    if (ir->arrays)
        n.shape = wf__broadcast_id(ir, &n, a->shape, b->shape);
    return wf__append(ir, &n);
}

static pair parts(wf__ir *ir, wf__ref z) /* z may be a real number */
{
    unsigned t = wf__dtype(ir, z);
    if (!wf__is_complex(t))
        return (pair){ z, wf__const_bits(ir, t, 0) };
    pair p;
    p.re = wf__real(ir, z);
    p.im = wf__imag(ir, z);
    return p;
}

static pair converted(wf__ir *ir, pair p, unsigned t)
{
    pair r;
    r.re = wf__cast(ir, p.re, t);
    r.im = wf__cast(ir, p.im, t);
    return r;
}

static wf__ref joined(wf__ir *ir, pair p, unsigned t)
{
    pair r = converted(ir, p, t);
    return wf__complex(ir, r.re, r.im);
}

/* ---- sums of products ---- */
/* Returns a*b + c*d without cancellation of rounding errors. */
static wf__ref two_products(wf__ir *ir, wf__ref a, wf__ref b, wf__ref c, wf__ref d, bool room)
{
    wf__ref w = mul(ir, c, d);
    if (room)
        return add(ir, mul(ir, a, b), w);
    wf__ref lost = fma_of(ir, c, d, op1(ir, WF__OP_neg, w)), zero = k(ir, wf__dtype(ir, w), 0);
    lost = pick(ir, wf__op2(ir, WF__OP_eq, lost, lost), lost, zero); /* w is infinite */
    return add(ir, fma_of(ir, a, b, w), lost);
}

/* ---- scaling by powers of two ---- */
scale wf__scale_of(wf__ir *ir, pair z, bool halve)
{
    wf__ref re = op1(ir, WF__OP_abs, z.re), size = wf__op2(ir, WF__OP_fmax, re, op1(ir, WF__OP_abs, z.im));
    wf__math math = wf__math_of(ir, size), *m = &math;
    wf__ref field = m_bit_op(m, WF__OP_shr, m_bits(m, size), (uint64_t)m->mantissa);
    wf__ref e = m_bit_op(m, WF__OP_sub, field, (uint64_t)m->bias);
    if (halve)
        e = m_bit_op(m, WF__OP_shr, e, 1);
    int64_t most = halve ? (m->bias - 1) / 2 : m->bias - 1, least = -most;
    e = m_bit_op(m, WF__OP_max, m_bit_op(m, WF__OP_min, e, (uint64_t)most), (uint64_t)least);
    wf__ref twice = halve ? m_shl(m, e, 1) : e;
    wf__ref low = m_op2(m, WF__OP_sub, m_bits_k(m, (uint64_t)m->bias), twice);
    wf__ref high = m_bit_op(m, WF__OP_add, e, (uint64_t)m->bias);
    scale s;
    s.down = m_float(m, m_shl(m, low, m->mantissa));
    s.back = m_float(m, m_shl(m, high, m->mantissa));
    s.exponent = e;
    return s;
}

static wf__ref all_finite(wf__ir *ir, pair z)
{
    wf__ref re = op1(ir, WF__OP_isfinite, z.re), im = op1(ir, WF__OP_isfinite, z.im);
    return both(ir, re, im);
}

static wf__ref absolute(wf__ir *ir, pair z, bool room)
{
    wf__ref infinite = k(ir, wf__dtype(ir, z.re), (double)INFINITY), r;
    if (room)
        r = op1(ir, WF__OP_sqrt, sum_of_squares(ir, z, true));
    else {
        scale s = wf__scale_of(ir, z, false);
        wf__ref root = op1(ir, WF__OP_sqrt, sum_of_squares(ir, times(ir, z, s.down), false));
        r = mul(ir, root, s.back);
    }
    return pick(ir, any_infinite(ir, z), infinite, r);
}

/* ---- division ---- */
static wf__ref unit_of_infinity(wf__ir *ir, wf__ref a) /* returns +-1 for an infinity, else +-0 */
{
    unsigned t = wf__dtype(ir, a);
    wf__ref one = k(ir, t, 1), zero = k(ir, t, 0), size = pick(ir, op1(ir, WF__OP_isinf, a), one, zero);
    return wf__op2(ir, WF__OP_copysign, size, a);
}

static pair quotient_numerator(wf__ir *ir, pair a, pair b, bool room) /* returns a times the conjugate of b */
{
    pair r;
    r.re = two_products(ir, a.re, b.re, a.im, b.im, room);
    r.im = two_products(ir, a.im, b.re, op1(ir, WF__OP_neg, a.re), b.im, room);
    return r;
}

/* Where both parts are NaN, replaces them by the values of C's Annex G for zero divisors and infinite operands. */
static pair mend_quotient(wf__ir *ir, pair r, pair a, pair b)
{
    unsigned t = wf__dtype(ir, r.re);
    wf__ref infinite = k(ir, t, (double)INFINITY), zero = k(ir, t, 0), by_nothing = is_zero(ir, b);
    wf__ref re_nan = op1(ir, WF__OP_isnan, r.re), lost = both(ir, re_nan, op1(ir, WF__OP_isnan, r.im));
    pair by_zero = times(ir, a, wf__op2(ir, WF__OP_copysign, infinite, b.re));
    pair unit;
    unit.re = unit_of_infinity(ir, a.re);
    unit.im = unit_of_infinity(ir, a.im);
    pair large = times(ir, quotient_numerator(ir, unit, b, true), infinite);
    unit.re = unit_of_infinity(ir, b.re);
    unit.im = unit_of_infinity(ir, b.im);
    pair small = times(ir, quotient_numerator(ir, a, unit, true), zero);
    wf__ref is_large = any_infinite(ir, a), is_small = any_infinite(ir, b);
    is_large = both(ir, is_large, all_finite(ir, b));
    is_small = both(ir, is_small, all_finite(ir, a));
    pair other = choose(ir, both(ir, lost, is_large), large, r);
    other = choose(ir, both(ir, lost, is_small), small, other);
    return choose(ir, both(ir, lost, by_nothing), by_zero, other);
}

static pair quotient(wf__ir *ir, pair a, pair b, bool room)
{
    pair r;
    if (room) {
        pair n = quotient_numerator(ir, a, b, true);
        wf__ref d = sum_of_squares(ir, b, true);
        r.re = divide(ir, n.re, d);
        r.im = divide(ir, n.im, d);
        return mend_quotient(ir, r, a, b);
    }
    scale sa = wf__scale_of(ir, a, false), sb = wf__scale_of(ir, b, false);
    pair c = times(ir, a, sa.down), d = times(ir, b, sb.down), n = quotient_numerator(ir, c, d, false);
    wf__ref size = sum_of_squares(ir, d, false), by = wf__op2(ir, WF__OP_sub, sa.exponent, sb.exponent);
    by = wf__cast(ir, by, wf__dtype(ir, size));
    r.re = divide(ir, n.re, size);
    r.im = divide(ir, n.im, size);
    r.re = wf__op2(ir, WF__OP_ldexp, r.re, by);
    r.im = wf__op2(ir, WF__OP_ldexp, r.im, by);
    return mend_quotient(ir, r, a, b);
}

/* ---- dispatch ---- */
static wf__ref unary(wf__ir *ir, unsigned op, wf__ref z)
{
    unsigned t = wf__part_dtype(wf__dtype(ir, z)), wide = t == WF_F16 ? WF_F32 : t, most = t == WF_F32 ? WF_F64 : wide;
    bool room = t != WF_F64;
    pair p = parts(ir, z), w;
    switch (op) {
    case WF__OP_real:
        return p.re;
    case WF__OP_imag:
        return p.im;
    case WF__OP_conj:
        return wf__complex(ir, p.re, op1(ir, WF__OP_neg, p.im));
    case WF__OP_phase:
        return wf__op2(ir, WF__OP_atan2, p.im, p.re);
    case WF__OP_neg:
        w.re = op1(ir, WF__OP_neg, p.re);
        w.im = op1(ir, WF__OP_neg, p.im);
        return wf__complex(ir, w.re, w.im);
    case WF__OP_isnan:
    case WF__OP_isinf:
    case WF__OP_isfinite:
        w.re = op1(ir, op, p.re);
        w.im = op1(ir, op, p.im);
        return op == WF__OP_isfinite ? both(ir, w.re, w.im) : either(ir, w.re, w.im);
    case WF__OP_abs:
        return wf__cast(ir, absolute(ir, converted(ir, p, most), room), t);
    case WF__OP_sqrt:
        return joined(ir, wf__c_sqrt(ir, converted(ir, p, most), room), t);
    case WF__OP_exp:
    case WF__OP_exp2:
        return joined(ir, wf__c_exp(ir, op, converted(ir, p, wide)), t);
    case WF__OP_expm1:
        return joined(ir, wf__c_expm1(ir, converted(ir, p, wide)), t);
    case WF__OP_log:
        w.re = wf__cast(ir, wf__c_log_abs(ir, op, converted(ir, p, most), room), t);
        w.im = wf__op2(ir, WF__OP_atan2, p.im, p.re);
        return wf__complex(ir, w.re, w.im);
    case WF__OP_log2:
    case WF__OP_log10:
        w.re = wf__cast(ir, wf__c_log_abs(ir, op, converted(ir, p, most), room), wide);
        p = converted(ir, p, wide);
        w.im = wf__op2(ir, WF__OP_atan2, p.im, p.re);
        w.im = mul(ir, w.im, k(ir, wide, op == WF__OP_log2 ? 0x1.71547652b82fep+0 : 0x1.bcb7b1526e50ep-2));
        return joined(ir, w, t);
    case WF__OP_log1p:
        return joined(ir, wf__c_log1p(ir, converted(ir, p, wide)), t);
    case WF__OP_round:
        w.re = op1(ir, op, p.re);
        w.im = op1(ir, op, p.im);
        return wf__complex(ir, w.re, w.im);
    case WF__OP_sign:
        return joined(ir, wf__c_sign(ir, converted(ir, p, wide)), t);
    case WF__OP_rcp:
        w.re = k(ir, most, 1);
        w.im = k(ir, most, 0);
        return joined(ir, quotient(ir, w, converted(ir, p, most), room), t);
    default:
        return joined(ir, wf__c_trig(ir, op, converted(ir, p, wide)), t);
    }
}

/* Records an operation with one real operand, without an imaginary part of 0, so that no 0 * infinity arises. */
static wf__ref mixed(wf__ir *ir, unsigned op, wf__ref x, wf__ref y)
{
    bool first = !wf__is_complex(wf__dtype(ir, x));
    wf__ref real = first ? x : y;
    pair z = parts(ir, first ? y : x), r;
    r.re = first ? wf__op2(ir, op, real, z.re) : wf__op2(ir, op, z.re, real);
    if (op == WF__OP_mul || op == WF__OP_div)
        r.im = first ? wf__op2(ir, op, real, z.im) : wf__op2(ir, op, z.im, real);
    else
        r.im = first && op == WF__OP_sub ? op1(ir, WF__OP_neg, z.im) : z.im;
    return wf__complex(ir, r.re, r.im);
}

static wf__ref binary(wf__ir *ir, unsigned op, wf__ref x, wf__ref y)
{
    unsigned tx = wf__part_dtype(wf__dtype(ir, x)), ty = wf__part_dtype(wf__dtype(ir, y)), t = tx ? tx : ty;
    unsigned wide = t == WF_F16 ? WF_F32 : t, most = t == WF_F32 ? WF_F64 : wide;
    bool arithmetic = op == WF__OP_add || op == WF__OP_sub || op == WF__OP_mul || (op == WF__OP_div && tx);
    if (arithmetic && (!tx || !ty))
        return mixed(ir, op, x, y);
    pair a = parts(ir, x), b = parts(ir, y), r;
    switch (op) {
    case WF__OP_add:
    case WF__OP_sub:
        r.re = wf__op2(ir, op, a.re, b.re);
        r.im = wf__op2(ir, op, a.im, b.im);
        return wf__complex(ir, r.re, r.im);
    case WF__OP_mul:
        a = converted(ir, a, wide);
        return joined(ir, product(ir, a, converted(ir, b, wide)), t);
    case WF__OP_div:
        a = converted(ir, a, most);
        return joined(ir, quotient(ir, a, converted(ir, b, most), t != WF_F64), t);
    case WF__OP_pow:
        a = converted(ir, a, most);
        return joined(ir, wf__c_pow(ir, a, converted(ir, b, most), t != WF_F64), t);
    default: /* eq, ne */
        r.re = wf__op2(ir, op, a.re, b.re);
        r.im = wf__op2(ir, op, a.im, b.im);
        return op == WF__OP_eq ? both(ir, r.re, r.im) : either(ir, r.re, r.im);
    }
}

/* Notes of the parts of a result, whose operands have these parts, what they are parts of. */
static void note_parts(wf__ir *ir, unsigned op, unsigned arity, const pair operand[2], wf__ref r)
{
    wf__whole whole = { .op = (uint16_t)op };
    if (ir->status != WF_OK)
        return;
    for (unsigned k = 0; k < arity; ++k) {
        whole.part[k][0] = operand[k].re;
        whole.part[k][1] = wf__is_const(ir, operand[k].im, 0) ? 0 : operand[k].im;
    }
    const wf__node n = ir->node[r];
    whole.node = op == WF__OP_abs ? r : n.op == WF__OP_complex ? n.a : 0;
    wf__set_whole(ir, &whole);
    const bool angle = op == WF__OP_log || op == WF__OP_log1p; /* the imaginary part is an atan2, as any other */
    whole.node = n.op == WF__OP_complex && !angle ? n.b : 0;
    whole.imag = true;
    wf__set_whole(ir, &whole);
}

/* True for an operation whose derivative is not that of the operations on parts that it is recorded as. */
static bool has_notes(unsigned op, unsigned last)
{
    switch (op) {
    case WF__OP_abs:
    case WF__OP_sqrt:
    case WF__OP_exp:
    case WF__OP_exp2:
    case WF__OP_expm1:
    case WF__OP_log:
    case WF__OP_log2:
    case WF__OP_log10:
    case WF__OP_log1p:
    case WF__OP_rcp:
    case WF__OP_pow:
    case WF__OP_sin:
    case WF__OP_cos:
    case WF__OP_tan:
    case WF__OP_asin:
    case WF__OP_acos:
    case WF__OP_atan:
    case WF__OP_sinh:
    case WF__OP_cosh:
    case WF__OP_tanh:
    case WF__OP_asinh:
    case WF__OP_acosh:
    case WF__OP_atanh:
        return true;
    default:
        return op == WF__OP_div && wf__is_complex(last);
    }
}

static wf__ref arithmetic(wf__ir *ir, unsigned op, unsigned arity, const wf__ref x[3])
{
    pair operand[2] = { { 0, 0 }, { 0, 0 } };
    const bool notes = has_notes(op, wf__dtype(ir, x[arity - 1]));
    for (unsigned k = 0; k < arity && notes; ++k)
        operand[k] = parts(ir, x[k]);
    wf__ref r = arity == 1 ? unary(ir, op, x[0]) : binary(ir, op, x[0], x[1]);
    if (notes)
        note_parts(ir, op, arity, operand, r);
    return r;
}

static pair circle(wf__ir *ir, wf__ref radius, wf__ref angle)
{
    pair r;
    r.re = mul(ir, radius, op1(ir, WF__OP_cos, angle));
    r.im = mul(ir, radius, op1(ir, WF__OP_sin, angle));
    return r;
}

static wf__ref from_reals(wf__ir *ir, unsigned op, wf__ref x, wf__ref y)
{
    unsigned t = wf__dtype(ir, x), wide = t == WF_F16 ? WF_F32 : t;
    if (op == WF__OP_complex)
        return wf__complex(ir, x, y);
    wf__ref radius = wf__cast(ir, x, wide);
    return joined(ir, circle(ir, radius, wf__cast(ir, y, wide)), t);
}

static wf__ref real_unary(wf__ir *ir, unsigned op, wf__ref x)
{
    unsigned t = wf__dtype(ir, x);
    if (op == WF__OP_real || op == WF__OP_conj)
        return x;
    wf__ref zero = k(ir, t, 0);
    return op == WF__OP_phase ? wf__op2(ir, WF__OP_atan2, zero, x)
                              : pick(ir, wf__op2(ir, WF__OP_eq, x, x), zero, zero); /* 0 of x's shape */
}

wf__ref wf__complex_op(wf__ir *ir, unsigned op, const wf__ref x[3])
{
    const wf__op_info *info = &wf__op_table[op];
    unsigned t[3] = { 0 }, arity = info->arity;
    if (ir->status != WF_OK)
        return 0;
    bool any = false, fits = true;
    for (unsigned i = op == WF__OP_select; i < arity; ++i) {
        t[i] = wf__dtype(ir, x[i]);
        any = any || wf__is_complex(t[i]);
    }
    /* Each operand has the complex dtype, or that of its parts. */
    for (unsigned i = op == WF__OP_select; i < arity; ++i)
        for (unsigned j = op == WF__OP_select; j < arity; ++j)
            fits = fits && (wf__is_complex(t[i]) ? t[i] : wf__complex_dtype(t[i])) ==
                               (wf__is_complex(t[j]) ? t[j] : wf__complex_dtype(t[j]));
    fits = fits && (wf__is_complex(t[arity - 1]) || wf__complex_dtype(t[arity - 1]));
    bool makes = op == WF__OP_complex || op == WF__OP_polar;
    if (!fits || (any ? makes || !wf__op_allows(op, t[arity - 1]) : info->types != WF__T_CPLX)) {
        wf__ir_fail_at(ir, &(wf__node){ .op = (uint16_t)op, .a = x[0], .b = x[1], .c = x[2] }, WF_ERR_DTYPE,
                       "%s: not for dtypes %s%s%s", wf__function_name(op), wf_dtype_name((wf_dtype)t[0]),
                       arity > 1 ? ", " : "", arity > 1 ? wf_dtype_name((wf_dtype)t[arity - 1]) : "");
        return 0;
    }
    if (makes)
        return from_reals(ir, op, x[0], x[1]);
    if (arity < 3)
        return any ? arithmetic(ir, op, arity, x) : real_unary(ir, op, x[0]);
    pair a = parts(ir, x[1]), r = choose(ir, x[0], a, parts(ir, x[2]));
    return wf__complex(ir, r.re, r.im);
}

wf__ref wf__complex_cast(wf__ir *ir, wf__ref z, unsigned to)
{
    unsigned from = wf__dtype(ir, z);
    if (wf__is_complex(to)) {
        unsigned t = wf__part_dtype(to);
        wf__ref re = wf__is_complex(from) ? wf__real(ir, z) : z;
        re = wf__cast(ir, re, t);
        wf__ref im = wf__is_complex(from) ? wf__cast(ir, wf__imag(ir, z), t) : k(ir, t, 0);
        return wf__complex(ir, re, im);
    }
    if (to == WF_BOOL) {
        wf__ref re = wf__cast(ir, wf__real(ir, z), to);
        return either(ir, re, wf__cast(ir, wf__imag(ir, z), to));
    }
    wf__ir_fail_at(ir, &(wf__node){ .op = WF__CAST, .a = z }, WF_ERR_DTYPE,
                   "wf_cast: %s to %s would lose the imaginary part; say wf_real or wf_abs",
                   wf_dtype_name((wf_dtype)from), wf_dtype_name((wf_dtype)to));
    return 0;
}

void wf__red_times(wf__ir *ir, uint32_t k, wf__ref z)
{
    wf__ref so_far = wf__red(ir, k, 0);
    so_far = wf__complex(ir, so_far, wf__red(ir, k + 1, 0));
    wf__ref r = wf__op2(ir, WF__OP_mul, so_far, z);
    wf__setred(ir, k, 0, wf__real(ir, r));
    wf__setred(ir, k + 1, 0, wf__imag(ir, r));
}

void wf__join_product(wf__ir *joiner, uint32_t k)
{
    unsigned t = joiner->red[k].dtype;
    wf__ref mine = wf__arg(joiner, k, t), other = wf__arg(joiner, joiner->red_n + k, t);
    mine = wf__complex(joiner, mine, wf__arg(joiner, k + 1, t));
    other = wf__complex(joiner, other, wf__arg(joiner, joiner->red_n + k + 1, t));
    wf__ref r = wf__op2(joiner, WF__OP_mul, mine, other);
    wf__setred(joiner, k, 0, wf__real(joiner, r));
    wf__setred(joiner, k + 1, 0, wf__imag(joiner, r));
}
