/* mod.c - remainders of floats: mod as fmod of C, floor_mod with the sign of the divisor.
 *
 * A remainder is exact: with a = |x| and b = |y|, q = trunc(a / b) as rounded is the true quotient or, where rounding
 * met the next integer, one more, as long as it stays below 2^24 or 2^53; then a - q b is a multiple of an ulp of b and
 * not above b, so that a fused multiply-add gives it exactly, and adding b once mends the sign. Larger quotients are a
 * rare path: long division of the fractions, 52 bits a step, f32 in f64, too.
 */
#include "ir/math/math.h"
#include <math.h>

/* Returns a mod b for a quotient below 2^24 or 2^53, and a, b >= 0. */
static wf__ref step(const wf__math *m, wf__ref a, wf__ref b, wf__ref quotient)
{
    wf__ref q = m_op1(m, WF__OP_trunc, quotient), r = m_fma(m, m_neg(m, q), b, a);
    wf__ref below = m_lt(m, r, 0);
    return m_select(m, below, m_add(m, r, b), r);
}

wf__ref wf__m_mod(const wf__math *m, wf__ref x, wf__ref y, bool floored)
{
    static const double limit[2] = { 0x1p23, 0x1p52 };
    wf__ref a = m_abs(m, x), b = m_abs(m, y), args[2] = { a, b }, quotient = m_div(m, a, b);
    wf__ref below = m_op2(m, WF__OP_lt, args[0], args[1]), r = step(m, args[0], args[1], quotient);
    r = m_select(m, below, args[0], r); /* b may be infinite */
    uint32_t id = m->wide ? WF__COLD_MOD_F64 : WF__COLD_MOD_F32;
    r = wf__cold(m->ir, m_gt(m, quotient, limit[m->wide]), r, id, args, 2);
    if (!floored)
        return m_op2(m, WF__OP_copysign, r, x);
    wf__ref signs = m_bits(m, x);
    signs = m_op2(m, WF__OP_xor, signs, m_bits(m, y));
    wf__ref zero = m_bits_k(m, 0), differ = m_op2(m, WF__OP_lt, signs, zero);
    differ = m_both(m, differ, m_gt(m, r, 0));
    return m_op2(m, WF__OP_copysign, m_select(m, differ, m_sub(m, args[1], r), r), y);
}

/* ---- large quotients ---- */
typedef struct float_parts { /* v = fraction * 2^exponent, 1 <= fraction < 2; the exponent is an f64, too */
    wf__ref fraction, exponent;
} float_parts;

static float_parts parts_of(const wf__math *d, wf__ref v)
{
    wf__ref tiny = m_lt(d, v, 0x1p-1022), raised = m_mulk(d, v, 0x1p53), bits = m_bits(d, m_select(d, tiny, raised, v));
    wf__ref field = m_bit_op(d, WF__OP_shr, bits, 52), rest = m_bit_op(d, WF__OP_and, bits, 0xfffffffffffff);
    wf__ref e = wf__cast(d->ir, field, d->t);
    e = m_sub(d, e, wf__m_select_k(d, tiny, 1023 + 53, 1023));
    return (float_parts){ m_float(d, m_bit_op(d, WF__OP_or, rest, 0x3ff0000000000000)), e };
}

/* Returns 2^n for an integer n in the range of normal exponents. */
static wf__ref power_of_two(const wf__math *d, wf__ref n)
{
    return m_float(d, m_shl(d, m_bits(d, m_addk(d, n, d->magic + d->bias)), 52));
}

/* Computes a 2^k mod b for k = 0, 52, 104, ... up to the difference of the exponents, each from the one before. */
wf__ref wf__m_mod_far(const wf__math *m, wf__ref x, wf__ref y)
{
    enum { BITS = 52, F32_STEPS = 6, F64_STEPS = 41 }; /* exponents differ by up to 276 and 2097 */
    wf__ref v = m->wide ? x : wf__cast(m->ir, x, WF_F64), w = m->wide ? y : wf__cast(m->ir, y, WF_F64);
    wf__math wide = wf__math_of(m->ir, v), *d = &wide;
    float_parts a = parts_of(d, v), b = parts_of(d, w);
    wf__ref left = m_sub(d, a.exponent, b.exponent), r = m_sub(d, a.fraction, b.fraction);
    r = m_select(d, m_lt(d, r, 0), a.fraction, r);
    for (int i = 0; i < (m->wide ? F64_STEPS : F32_STEPS); ++i) {
        wf__ref now = m_min(d, m_max(d, m_subk(d, left, BITS * i), 0), BITS);
        wf__ref raised = m_mul(d, r, power_of_two(d, now));
        r = step(d, raised, b.fraction, m_div(d, raised, b.fraction));
    }
    wf__ref half = m_op1(d, WF__OP_floor, m_mulk(d, b.exponent, 0.5)), rest = m_sub(d, b.exponent, half);
    r = m_mul(d, r, power_of_two(d, half)); /* both products are exact */
    r = m_mul(d, r, power_of_two(d, rest));
    wf__ref number = m_lt(d, v, INFINITY);
    number = m_both(d, number, m_gt(d, w, 0));
    r = m_select(d, number, r, m_k(d, NAN));
    return m->wide ? r : wf__cast(m->ir, r, WF_F32);
}
