/* pow.c - x^y = 2^(y log2 |x|), with signs and special values as in C11 F.10.4.4.
 *
 * f32: both steps in f64, where polynomials to about 2^-36 and 2^-29 are enough, and the conversion of the result does
 * the overflow, the denormals and all but 2^-5 of the rounding.
 *
 * f64: log2 |x| as a sum of two floats with a relative error of about 2^-66 (the exponent y log2 |x| may reach 1075 and
 * an error of 2^-54 in it is a quarter of an ulp of the result). With s = f / (2 + f), log2(1 + f) = 2/ln2 (s + s^3/3 +
 * s^5/5 + ...); the first two terms and s itself are sums of two, by Dekker's and Knuth's error-free transformations
 * with fused multiply-adds.
 */
#include "ir/math/math.h"
#include <math.h>

/* log2(1 + f) / f on [sqrt(1/2)-1, sqrt(2)-1]: minimax, relative: 2^-35.8 (Remez exchange) */
static const wf__poly log2_short = {
    13,
    { 0x1.71547652a1ea3p+0, -0x1.715476565d5a5p-1, 0x1.ec709ebb912bap-2, -0x1.7154709787c91p-2, 0x1.277651fcd41a6p-2,
      -0x1.ec72b59be5675p-3, 0x1.a63f44438128ep-3, -0x1.714170798d42ep-3, 0x1.45291aab7c836p-3, -0x1.252f3d3953fecp-3,
      0x1.2871dff9b513cp-3, -0x1.2488d49d76d1dp-3, 0x1.3ce87a0e2703ep-4 }
};
/* (2^r - 1) / r on |r| <= 1/2: minimax, relative to 2^r: 2^-28.9 */
static const wf__poly exp2_short = { 6,
                                     { 0x1.62e430af5c883p-1, 0x1.ebfbdc3ad4213p-3, 0x1.c6aee83c58e6cp-5,
                                       0x1.3b2d4da5d80b3p-7, 0x1.5f3e7e98285b6p-10, 0x1.41fb81e895bfap-13 } };
/* (2 atanh(s) / (ln2 s) - 2/ln2 (1 + z/3 + z^2/5)) / z^3 in z = s^2 <= 0.0295: minimax, relative to the whole: 2^-72.8 */
static const wf__poly atanh_tail = { 7,
                                     { 0x1.a61762a7ae393p-2, 0x1.484b13d7323e0p-2, 0x1.0c9a8503510f2p-2,
                                       0x1.c68f039c88b70p-3, 0x1.8a062f5d4f984p-3, 0x1.593db654201c2p-3,
                                       0x1.60036eabca6b4p-3 } };
static const double two_over_ln2[2] = { 0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55 }; /* rounded, and the rest */
static const double third[2] = { 0x1.ec709dc3a03fdp-1, 0x1.d27f05548af0cp-55 };        /* 2 / (3 ln2), likewise */
static const double fifth = 0x1.2776c50ef9bfep-1;                                      /* 2 / (5 ln2) */

typedef wf__m_pair pair;

/* ---- for both dtypes ---- */
/* Clamps y to a limit beyond which the result of pow stays the same. Infinities become finite, so that 1^inf is 1. */
static wf__ref bounded(const wf__math *m, wf__ref y, double limit)
{
    wf__ref z = m_max(m, y, -limit);
    return m_min(m, z, limit);
}

/* Replaces y by log2 of 0, inf and NaN where ax is one of these. */
static wf__ref with_edges(const wf__math *m, wf__ref ax, wf__ref y)
{
    wf__ref zero = m_eq(m, ax, 0), minus_infinity = m_k(m, -INFINITY);
    y = m_select(m, zero, minus_infinity, y);
    wf__ref finite = m_lt(m, ax, INFINITY);
    return m_select(m, finite, y, ax);
}

/* Returns x^y from power = |x|^y: with the sign of x for odd integers y; NaN if x < 0 and y is no integer; 1 if x =
 * 1 or y = 0, even if the other is NaN. */
static wf__ref with_signs(const wf__math *m, wf__ref x, wf__ref y, wf__ref ax, wf__ref power)
{
    wf__ref rounded = m_op1(m, WF__OP_round, y), whole = m_op2(m, WF__OP_eq, rounded, y), half = m_mulk(m, y, 0.5);
    wf__ref half_rounded = m_op1(m, WF__OP_round, half), odd = m_op2(m, WF__OP_ne, half_rounded, half);
    odd = m_both(m, whole, odd);
    wf__ref zero = m_bits_k(m, 0), sign = m_select(m, odd, m_bits(m, x), zero);
    power = wf__m_flip_sign(m, power, sign);
    wf__ref negative = m_lt(m, x, 0), finite = m_lt(m, ax, INFINITY), no_number = m_both(m, negative, finite);
    no_number = m_both(m, no_number, m_op1(m, WF__OP_not, whole));
    wf__ref nan = m_k(m, NAN);
    power = m_select(m, no_number, nan, power);
    wf__ref one = m_k(m, 1), x_one = m_eq(m, x, 1), y_zero = m_eq(m, y, 0);
    wf__ref is_one = m_op2(m, WF__OP_or, x_one, y_zero);
    return m_select(m, is_one, one, power);
}

/* ---- f32 ---- */
static wf__ref log2_of_parts(const wf__math *d, wf__ref e, wf__ref f)
{
    return m_fma(d, f, wf__m_poly(d, &log2_short, f, 0), e);
}

wf__ref wf__m_log2_short(const wf__math *d, wf__ref x)
{
    wf__m_parts a = wf__m_split_normal(d, x);
    return log2_of_parts(d, a.e, a.f);
}

wf__ref wf__m_exp2_short(const wf__math *d, wf__ref x)
{
    wf__ref v = bounded(d, x, 400);
    wf__ref sum = m_addk(d, v, d->magic + d->bias), k = m_subk(d, sum, d->magic + d->bias), r = m_sub(d, v, k);
    wf__ref scale = m_float(d, m_shl(d, m_bits(d, sum), 52));
    wf__ref expm1 = m_mul(d, r, wf__m_poly(d, &exp2_short, r, 0));
    return m_fma(d, expm1, scale, scale);
}

static wf__ref pow_f32(const wf__math *m, wf__ref x, wf__ref y)
{
    wf__ref ax = m_abs(m, x), limited = bounded(m, y, 0x1.fffffep127);
    wf__m_parts a = wf__m_split(m, ax);
    a.e = with_edges(m, ax, a.e);
    wf__ref e = wf__cast(m->ir, a.e, WF_F64), f = wf__cast(m->ir, a.f, WF_F64), b = wf__cast(m->ir, limited, WF_F64);
    wf__math wide = wf__math_of(m->ir, f), *d = &wide;
    wf__ref power = wf__m_exp2_short(d, m_mul(d, b, log2_of_parts(d, e, f)));
    return with_signs(m, x, y, ax, wf__cast(m->ir, power, WF_F32));
}

/* ---- f64 ---- */
/* Returns a + b + b_lo as a sum of two, for |a| >= |b| or a = 0. */
static pair fast_sum(const wf__math *m, wf__ref a, wf__ref b, wf__ref b_lo)
{
    wf__ref hi = m_add(m, a, b), lost = m_sub(m, a, hi);
    lost = m_add(m, lost, b);
    return (pair){ .hi = hi, .lo = m_add(m, lost, b_lo) };
}

static pair product(const wf__math *m, pair a, pair b)
{
    wf__ref hi = m_mul(m, a.hi, b.hi), minus = m_neg(m, hi), lo = m_fma(m, a.hi, b.hi, minus);
    lo = m_fma(m, a.hi, b.lo, lo);
    return (pair){ .hi = hi, .lo = m_fma(m, a.lo, b.hi, lo) };
}

/* Returns f / (2 + f), with the rounding error of 2 + f taken into account. */
static pair atanh_argument(const wf__math *m, wf__ref f)
{
    wf__ref den = m_addk(m, f, 2), den_lo = m_subk(m, den, 2);
    den_lo = m_sub(m, f, den_lo);
    wf__ref inverse = m_div(m, m_k(m, 1), den), hi = m_mul(m, f, inverse), minus = m_neg(m, hi);
    wf__ref residual = m_fma(m, minus, den, f);
    residual = m_fma(m, minus, den_lo, residual);
    return (pair){ .hi = hi, .lo = m_mul(m, residual, inverse) };
}

pair wf__m_log2_pair(const wf__math *m, wf__ref ax)
{
    wf__m_parts a = wf__m_split(m, ax);
    pair s = atanh_argument(m, a.f), z = product(m, s, s);
    wf__ref z2 = m_mul(m, z.hi, z.hi), tail = wf__m_poly(m, &atanh_tail, z.hi, z2);
    tail = m_fmak(m, z.hi, fifth, m_mul(m, z2, tail)); /* |.| <= 0.017 */
    wf__ref rest = m_k(m, third[1]), first = m_k(m, third[0]);
    pair t = product(m, z, fast_sum(m, first, tail, rest));
    rest = m_addk(m, t.lo, two_over_ln2[1]);
    first = m_k(m, two_over_ln2[0]);
    t = product(m, s, fast_sum(m, first, t.hi, rest));
    t = fast_sum(m, a.e, t.hi, t.lo);
    t.hi = with_edges(m, ax, t.hi);
    return t;
}

static wf__ref pow_f64(const wf__math *m, wf__ref x, wf__ref y)
{
    wf__ref ax = m_abs(m, x), b = bounded(m, y, 0x1p64);
    pair l = wf__m_log2_pair(m, ax);
    wf__ref v = m_mul(m, b, l.hi), minus = m_neg(m, v), v_lo = m_fma(m, b, l.hi, minus);
    v_lo = m_fma(m, b, l.lo, v_lo);
    return with_signs(m, x, y, ax, wf__m_exp2_sum(m, v, v_lo));
}

wf__ref wf__m_pow(const wf__math *m, wf__ref x, wf__ref y) { return m->wide ? pow_f64(m, x, y) : pow_f32(m, x, y); }
