/* expand_basic.c - expansions that are exact: signs, integer division towards minus infinity, the parts of a float and
 * its neighbours. f16 and bf16 arrive as f32 (half.c), but for nextafter, whose neighbours are those of its own dtype.
 */
#include "ir/math/math.h"
#include <math.h>

static wf__ref bits_k(wf__ir *ir, unsigned t, uint64_t v) { return wf__const_bits(ir, t, v); }
static wf__ref zero_of(wf__ir *ir, unsigned t) { return wf__const_bits(ir, t, 0); }

/* Returns -1, 1, or a itself for NaN and zeros, which keep their sign. */
static wf__ref sign(wf__ir *ir, wf__ref a)
{
    unsigned t = wf__dtype(ir, a);
    wf__ref zero = zero_of(ir, t), above = wf__op2(ir, WF__OP_gt, a, zero);
    wf__ref r = a;
    if (wf__is_float(t) || wf__is_signed(t)) {
        wf__ref below = wf__op2(ir, WF__OP_lt, a, zero);
        r = wf__op3(ir, WF__OP_select, below, wf__const_f64(ir, t, -1), a);
    }
    return wf__op3(ir, WF__OP_select, above, wf__const_f64(ir, t, 1), r);
}

static wf__ref signbit_of(wf__ir *ir, wf__ref a)
{
    unsigned t = wf__dtype(ir, a);
    if (wf__is_int(t))
        return wf__op2(ir, WF__OP_lt, a, zero_of(ir, t));
    wf__math m = wf__math_of(ir, a);
    wf__ref bits = m_bits(&m, a), negative = wf__op2(ir, WF__OP_lt, bits, zero_of(ir, m.i));
    return m_both(&m, negative, wf__op2(ir, WF__OP_eq, a, a));
}

/* Rounds a quotient towards minus infinity: the quotient is one less, and the remainder b more, where there is a
 * remainder and the signs differ. */
static wf__ref floored(wf__ir *ir, unsigned op, wf__ref a, wf__ref b)
{
    unsigned t = wf__dtype(ir, a);
    wf__ref q = op == WF__OP_floor_div ? wf__op2(ir, WF__OP_idiv, a, b) : 0, r = wf__op2(ir, WF__OP_mod, a, b);
    if (!wf__is_signed(t))
        return q ? q : r;
    wf__ref zero = zero_of(ir, t), other = wf__op2(ir, WF__OP_xor, r, b);
    wf__ref differ = wf__op2(ir, WF__OP_lt, other, zero), left = wf__op2(ir, WF__OP_ne, r, zero);
    wf__ref off = wf__op2(ir, WF__OP_and, differ, left);
    wf__ref plain = q ? q : r, fixed = wf__op2(ir, WF__OP_add, plain, q ? bits_k(ir, t, ~(uint64_t)0) : b);
    return wf__op3(ir, WF__OP_select, off, fixed, plain);
}

/* ---- fraction and exponent ---- */
typedef struct split {
    wf__ref scaled;   /* a, with subnormals scaled to the normal range */
    wf__ref bits;     /* bits of `scaled` */
    wf__ref regular;  /* true where a is neither 0 nor infinite nor NaN */
    wf__ref exponent; /* an integer e with |a| = f * 2^e, f in [0.5, 1) */
} split;

static split split_of(const wf__math *m, wf__ref a)
{
    split s;
    double least = m->wide ? 0x1p-1022 : 0x1p-126, up = m->wide ? 0x1p52 : 0x1p23;
    wf__ref size = m_abs(m, a), small = m_lt(m, size, least), nonzero = m_gt(m, size, 0);
    wf__ref raised = m_mulk(m, a, up);
    s.scaled = m_select(m, small, raised, a);
    s.bits = m_bits(m, s.scaled);
    s.regular = m_both(m, nonzero, m_lt(m, size, (double)INFINITY));
    wf__ref field = m_bit_op(m, WF__OP_and, s.bits, ~m_sign_mask(m));
    field = m_bit_op(m, WF__OP_shr, field, (uint64_t)m->mantissa);
    wf__ref normal = m_bits_k(m, (uint64_t)(m->bias - 1));
    wf__ref lower = m_bits_k(m, (uint64_t)(m->bias - 1 + m->mantissa));
    wf__ref shift = m_select(m, small, lower, normal);
    s.exponent = m_op2(m, WF__OP_sub, field, shift);
    return s;
}

static wf__ref frexp_of(const wf__math *m, wf__ref a)
{
    split s = split_of(m, a);
    uint64_t exponent = (uint64_t)(2 * m->bias + 1) << m->mantissa;
    wf__ref rest = m_bit_op(m, WF__OP_and, s.bits, ~exponent);
    wf__ref bits = m_bit_op(m, WF__OP_or, rest, (uint64_t)(m->bias - 1) << m->mantissa);
    return m_select(m, s.regular, m_float(m, bits), a);
}

static wf__ref frexp_exponent(const wf__math *m, wf__ref a)
{
    split s = split_of(m, a);
    wf__ref e = wf__cast(m->ir, s.exponent, m->t);
    return m_select(m, s.regular, e, m_k(m, 0));
}

/* Returns 2^n for n in the range of normal exponents. */
static wf__ref power(const wf__math *m, wf__ref n)
{
    wf__ref biased = m_bit_op(m, WF__OP_add, n, (uint64_t)m->bias);
    return m_float(m, m_shl(m, biased, m->mantissa));
}

/* Returns a * 2^b as a product with powers of two. After all factors but the last, the result is normal, or has
 * overflowed or vanished for good, so that only one product rounds. */
static wf__ref ldexp_of(const wf__math *m, wf__ref a, wf__ref b)
{
    int top = m->bias, bottom = 1 - m->bias, up = m->bias, down = bottom + m->mantissa + 1, steps = 2;
    double far = 3.0 * m->bias - 2 * m->mantissa - 10; /* beyond `far` every result overflows or vanishes */
    wf__ref near = m_min(m, b, far);
    near = m_max(m, near, -far);
    wf__ref n = wf__cast(m->ir, near, m->i), r = a; /* NaN: 0 */
    for (int i = 0; i < steps; ++i) {
        wf__ref high = m_op2(m, WF__OP_gt, n, m_bits_k(m, (uint64_t)top));
        wf__ref low = m_op2(m, WF__OP_lt, n, m_bits_k(m, (uint64_t)bottom));
        wf__ref lower = m_bits_k(m, (uint64_t)down);
        lower = m_select(m, low, lower, m_bits_k(m, 0));
        wf__ref step = m_select(m, high, m_bits_k(m, (uint64_t)up), lower);
        r = m_mul(m, r, power(m, step));
        n = m_op2(m, WF__OP_sub, n, step);
    }
    r = m_mul(m, r, power(m, n));
    return m_select(m, m_op2(m, WF__OP_eq, b, b), r, b);
}

wf__ref wf__m_nextafter(wf__ir *ir, wf__ref a, wf__ref b)
{
    unsigned t = wf__dtype(ir, a), i = t == WF_F64 ? WF_I64 : t == WF_F32 ? WF_I32 : WF_I16;
    WF__ASSERT(wf__is_float(t));
    wf__ref x = wf__is_half(t) ? wf__cast(ir, a, WF_F32) : a, y = wf__is_half(t) ? wf__cast(ir, b, WF_F32) : b;
    uint64_t top = (uint64_t)1 << (8 * wf__size(t) - 1);
    wf__ref zero = zero_of(ir, wf__dtype(ir, x)), bits = wf__bitcast(ir, a, i), one = bits_k(ir, i, 1);
    wf__ref up = wf__op2(ir, WF__OP_lt, x, y), positive = wf__op2(ir, WF__OP_gt, x, zero);
    wf__ref away = wf__op2(ir, WF__OP_eq, positive, up);
    wf__ref step = wf__op3(ir, WF__OP_select, away, one, bits_k(ir, i, ~(uint64_t)0));
    wf__ref moved = wf__op2(ir, WF__OP_add, bits, step);
    wf__ref least = wf__op3(ir, WF__OP_select, up, one, bits_k(ir, i, top | 1));
    moved = wf__op3(ir, WF__OP_select, wf__op2(ir, WF__OP_eq, x, zero), least, moved);
    wf__ref r = wf__bitcast(ir, moved, t);
    r = wf__op3(ir, WF__OP_select, wf__op2(ir, WF__OP_eq, x, y), b, r);
    r = wf__op3(ir, WF__OP_select, wf__op2(ir, WF__OP_eq, y, y), r, b); /* if either is a NaN, the result is one */
    return wf__op3(ir, WF__OP_select, wf__op2(ir, WF__OP_eq, x, x), r, a);
}

wf__ref wf__expand_basic(wf__ir *ir, unsigned op, wf__ref a, wf__ref b)
{
    wf__math m = wf__math_of(ir, a);
    switch (op) {
    case WF__OP_sign:
        return sign(ir, a);
    case WF__OP_signbit:
        return signbit_of(ir, a);
    case WF__OP_frexp:
        return frexp_of(&m, a);
    case WF__OP_frexp_exp:
        return frexp_exponent(&m, a);
    case WF__OP_ldexp:
        return ldexp_of(&m, a, b);
    case WF__OP_nextafter:
        return wf__m_nextafter(ir, a, b);
    case WF__OP_floor_div:
    case WF__OP_floor_mod:
        return floored(ir, op, a, b);
    default:
        wf__ir_fail(ir, WF_ERR_UNSUPPORTED, "%s: no expansion", op < WF__OP_COUNT ? wf__op_table[op].name : "?");
        return 0;
    }
}
