/* root.c - roots: rsqrt, cbrt, hypot. */
#include "ir/math/math.h"
#include <math.h>

/* Returns y = 1/sqrt(x), corrected by its residual 1 - x y^2. */
wf__ref wf__m_rsqrt(const wf__math *m, wf__ref x)
{
    wf__ref root = m_op1(m, WF__OP_sqrt, x), y = m_div(m, m_k(m, 1), root);
    wf__ref s = m_mul(m, x, y), minus = m_neg(m, s), s_lo = m_fma(m, x, y, minus);
    wf__ref rest = m_fma(m, minus, y, m_k(m, 1)), half = m_mulk(m, y, 0.5);
    rest = m_fma(m, m_neg(m, s_lo), y, rest);
    wf__ref better = m_fma(m, half, rest, y), usual = m_op2(m, WF__OP_eq, rest, rest); /* false for 0 and infinity */
    return m_select(m, usual, better, y);
}

/* (1 + f)^(-1/3) on [sqrt(1/2), sqrt(2)], relative: 2^-14.7 and 2^-20.1 (Remez exchange, tools/minimax.py) */
static const wf__poly cbrt_poly[2] = {
    { 5, { 0x1.fffceep-1, -0x1.54e41p-2, 0x1.cb7e88p-3, -0x1.82e4b4p-3, 0x1.06e97ap-3 } },
    { 7,
      { 0x1.00000ca54bc34p+0, -0x1.5557eb5b72913p-2, 0x1.c6cfbf29c467p-3, -0x1.60664defaaf34p-3, 0x1.2ed44c92841ffp-3,
        -0x1.2178193bae921p-3, 0x1.7e16fcbf8ca91p-4 } }
};

/* x = 2^(3k) t with t in [sqrt(1/8), sqrt(8)]. r = t^(-1/3) comes from a polynomial and one step of an iteration
 * without division. Then y = t r^2 is corrected by y^3 - t, which is computed without cancellation. */
wf__ref wf__m_cbrt(const wf__math *m, wf__ref x)
{
    double magic = m->magic + m->bias;
    wf__ref ax = m_abs(m, x);
    wf__m_parts a = wf__m_split(m, ax);
    wf__ref sum = m_fmak(m, a.e, 1. / 3, m_k(m, magic)), k = m_subk(m, sum, magic);
    wf__ref left = m_fmak(m, k, -3, a.e), up = m_gt(m, left, 0), down = m_lt(m, left, 0), one = m_k(m, 1),
            two = m_k(m, 2);
    wf__ref factor = m_select(m, up, two, wf__m_select_k(m, down, 0.5, 1));
    wf__ref root = m_k(m, 0x1.965fea53d6e3dp-1); /* 2^(-1/3), and its inverse */
    wf__ref inverse = m_select(m, up, root, wf__m_select_k(m, down, 0x1.428a2f98d728bp+0, 1));
    wf__ref t = m_mul(m, m_addk(m, a.f, 1), factor);
    wf__ref r = m_mul(m, wf__m_poly(m, &cbrt_poly[m->wide], a.f, 0), inverse);
    wf__ref minus_t = m_neg(m, t), cube = m_mul(m, m_mul(m, r, r), r), h = m_fma(m, minus_t, cube, one);
    wf__ref step = m_mul(m, r, h); /* r (1 - h)^(-1/3) */
    r = m_fma(m, step, m->wide ? m_fmak(m, h, 2. / 9, m_k(m, 1. / 3)) : m_k(m, 1. / 3), r);
    wf__ref r2 = m_mul(m, r, r), y = m_mul(m, t, r2), y2 = m_mul(m, y, y), minus = m_neg(m, y2);
    wf__ref y2_lo = m_fma(m, y, y, minus), rest = m_fma(m, minus, y, t);
    rest = m_fma(m, m_neg(m, y2_lo), y, rest);
    y = m_fma(m, rest, m_mulk(m, r2, 1. / 3), y);
    y = m_mul(m, y, m_float(m, m_shl(m, m_bits(m, sum), m->mantissa)));
    wf__ref finite = m_lt(m, ax, INFINITY), positive = m_gt(m, ax, 0);
    wf__ref usual = m_both(m, finite, positive);
    return m_select(m, usual, m_op2(m, WF__OP_copysign, y, x), x);
}

/* Returns sqrt(x^2 + y^2). Both are scaled by the power of two of the larger one, so that no square overflows. */
wf__ref wf__m_hypot(const wf__math *m, wf__ref x, wf__ref y)
{
    static const double least[2] = { 0x1p-126, 0x1p-1022 }, most[2] = { 0x1p126, 0x1p1022 };
    wf__ref ax = m_abs(m, x), ay = m_abs(m, y), large = m_op2(m, WF__OP_fmax, ax, ay);
    uint64_t exponent = (((uint64_t)1 << (m->wide ? 11 : 8)) - 1) << m->mantissa;
    wf__ref within = m_max(m, large, least[m->wide]);
    within = m_min(m, within, most[m->wide]);
    wf__ref up = m_bit_op(m, WF__OP_and, m_bits(m, within), exponent);
    wf__ref twice_bias = m_bits_k(m, (uint64_t)(2 * m->bias) << m->mantissa);
    wf__ref down = m_float(m, m_op2(m, WF__OP_sub, twice_bias, up));
    wf__ref a = m_mul(m, ax, down), b = m_mul(m, ay, down);
    wf__ref hi = m_op2(m, WF__OP_max, a, b), lo = m_op2(m, WF__OP_min, a, b), square = m_mul(m, lo, lo);
    wf__ref root = m_op1(m, WF__OP_sqrt, m_fma(m, hi, hi, square));
    wf__ref infinite = m_eq(m, large, INFINITY), result = m_mul(m, root, m_float(m, up));
    return m_select(m, infinite, large, result);
}
