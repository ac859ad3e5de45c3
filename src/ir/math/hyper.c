/* hyper.c - sinh, cosh and the inverse hyperbolic functions.
 *
 * |x| = k ln2 + r as for exp. With A = (2^k + 2^-k)/2 and B = (2^k - 2^-k)/2, sinh x = B cosh r + A sinh r and cosh x =
 * A cosh r + B sinh r: no division, and two polynomials of half the length. A and B are 2^8 times smaller, for the same
 * reason as in exp; they share all but the last steps.
 */
#include "ir/math/math.h"
#include <math.h>

/* (sinh r - r) / r^3 and (cosh r - 1) / r^2 in r^2 on |r| <= ln2/2. Minimax: 2^-34.1 and 2^-61.7 relative to sinh r;
 * 2^-33.2 and 2^-70.0 (Remez exchange, tools/minimax.py, as all here). */
static const wf__poly sinh_poly[2] = { { 3, { 0x1.555556p-3, 0x1.110fep-7, 0x1.a293aep-13 } },
                                       { 5,
                                         { 0x1.5555555555559p-3, 0x1.111111110f648p-7, 0x1.a01a01b00c38cp-13,
                                           0x1.71ddf7f23c1bcp-19, 0x1.af5f699d74165p-26 } } };
static const wf__poly cosh_poly[2] = { { 3, { 0x1p-1, 0x1.5554e4p-5, 0x1.6d5168p-10 } },
                                       { 6,
                                         { 0x1p-1, 0x1.5555555555558p-5, 0x1.6c16c16c15p-10, 0x1.a01a01ad7d68fp-16,
                                           0x1.27e4cc140e68ep-22, 0x1.1f8bd98869bc4p-29 } } };
/* (asinh x - x) / x^3 in x^2 on |x| <= 1/2, relative to asinh x: 2^-29.6 and 2^-56.1 */
static const wf__poly asinh_poly[2] = {
    { 5, { -0x1.555536p-3, 0x1.3324fap-4, -0x1.6b971ep-5, 0x1.cd748cp-6, -0x1.b18eb4p-7 } },
    { 11,
      { -0x1.55555555553f7p-3, 0x1.333333330aefep-4, -0x1.6db6db53f0095p-5, 0x1.f1c71431c1ed8p-6, -0x1.6e8addcac04b6p-6,
        0x1.1c432255c83e7p-6, -0x1.c8b12764185abp-7, 0x1.74684b6d8efb1p-7, -0x1.23ef4b37f295fp-7, 0x1.7bc3dac94233fp-8,
        -0x1.1e5c15f4a3122p-9 } }
};
/* (acosh(1 + t)^2 / (2 t) - 1) / t on [0, 1/2], relative to the square: 2^-29.084 and 2^-55.497 */
static const wf__poly acosh_poly[2] = {
    { 5, { -0x1.55552ap-3, 0x1.6c03p-5, -0x1.d12872p-7, 0x1.339034p-8, -0x1.2723dp-10 } },
    { 11,
      { -0x1.5555555555349p-3, 0x1.6c16c16bdaadap-5, -0x1.d41d41adbeeefp-7, 0x1.4ce194c5c2d3bp-8,
        -0x1.f85c7108562c5p-10, 0x1.8efdbc660638p-11, -0x1.4539e60dbe69fp-12, 0x1.0c1f5edfb3dfep-13,
        -0x1.a7acf298bbe69p-15, 0x1.14f17c88cb7acp-16, -0x1.a2c7a4376f623p-19 } }
};
/* (atanh x - x) / x^3 in x^2 on |x| <= 1/2, relative to atanh x: 2^-29.4 and 2^-57.1 */
static const wf__poly atanh_poly[2] = {
    { 6, { 0x1.55554p-2, 0x1.99a672p-3, 0x1.234e04p-3, 0x1.e3f81p-4, 0x1.a6fb3cp-5, 0x1.692362p-3 } },
    { 13,
      { 0x1.55555555555ccp-2, 0x1.999999998789fp-3, 0x1.2492492c40ac9p-3, 0x1.c71c6e7e0bef8p-4, 0x1.745d811d4d2e1p-4,
        0x1.3b0b298cb19ep-4, 0x1.1187620e7be12p-4, 0x1.d908f56b918fap-5, 0x1.ea18c098ba012p-5, 0x1.dd01f40107d8p-7,
        0x1.28d8f03523903p-3, -0x1.392c7faf76561p-3, 0x1.cc5e3f779221ap-3 } }
};

enum { DOWN = 8 };

wf__ref wf__m_sinh_cosh(const wf__math *m, unsigned op, wf__ref x)
{
    static const double most[2] = { 90, 711 };
    double magic = m->magic + m->bias - DOWN - 1;
    wf__ref ax = m_abs(m, x);
    wf__m_residue a = wf__m_ln2_residue(m, m_min(m, ax, most[m->wide]), magic);
    wf__ref up = m_float(m, m_shl(m, m_bits(m, a.sum), m->mantissa)),
            few = m_min(m, a.k, 64); /* 2^-k: a normal number */
    wf__ref down = m_float(m, m_shl(m, m_bits(m, m_sub(m, m_k(m, magic), few)), m->mantissa));
    wf__ref sum = m_add(m, up, down), difference = m_sub(m, up, down);
    wf__ref z = m_mul(m, a.r, a.r), cube = m_mul(m, a.r, z);
    wf__ref s = m_fma(m, cube, wf__m_poly(m, &sinh_poly[m->wide], z, 0), a.r_lo); /* sinh r - r */
    wf__ref c = m_mul(m, z, wf__m_poly(m, &cosh_poly[m->wide], z, 0));            /* cosh r - 1 */
    wf__ref p = op == WF__OP_sinh ? difference : sum, q = op == WF__OP_sinh ? sum : difference, p_lo = m_sub(m, p, up);
    p_lo = op == WF__OP_sinh ? m_add(m, p_lo, down) : m_sub(m, p_lo, down); /* the rounding error of p */
    wf__ref lead = m_mul(m, q, a.r), minus = m_neg(m, lead), lead_lo = m_fma(m, q, a.r, minus);
    wf__ref hi = m_add(m, p, lead), lost = m_sub(m, p, hi); /* exact: p is 0 or above |lead| */
    lost = m_add(m, lost, lead);
    wf__ref small = m_fma(m, p, c, m_sub(m, lead_lo, p_lo));
    small = m_fma(m, q, s, small);
    wf__ref y = m_mulk(m, m_add(m, hi, m_add(m, lost, small)), 0x1p8);
    if (op == WF__OP_cosh)
        return y;
    wf__ref tiny = m_lt(m, ax, 0x1p-30); /* y may be denormal */
    return m_select(m, tiny, x, m_op2(m, WF__OP_copysign, y, x));
}

/* Returns x + x^3 p(x^2). */
static wf__ref odd(const wf__math *m, const wf__poly *p, wf__ref x)
{
    wf__ref z = m_mul(m, x, x), cube = m_mul(m, x, z);
    return m_fma(m, cube, wf__m_poly(m, &p[m->wide], z, 0), x);
}

/* log(u + lo) = log u + lo / u for lo about an ulp of u >= 1: 1/u to 6 % is enough. half_rest, divided by twice a
 * number that is (1 + slope/u^2)/2 times u, counts too. 2^more times u is meant. */
static wf__ref log_of_sum(const wf__math *m, wf__ref u, wf__ref lo, wf__ref half_rest, double slope, wf__ref more)
{
    wf__m_parts a = wf__m_split_normal(m, u);
    wf__ref inverse = wf__m_rough_inverse(m, a);
    wf__ref factor = m_mul(m, inverse, inverse);
    factor = m_fmak(m, factor, slope, m_k(m, 1));
    factor = m_mul(m, inverse, factor);
    lo = m_fma(m, half_rest, factor, lo);
    if (more)
        a.e = m_add(m, a.e, more);
    return wf__m_log_parts(m, a, m_mul(m, lo, inverse));
}

/* asinh |x| = log(|x| + sqrt(x^2 + 1)), with all terms as sums of two. For large |x| it is log(2 |x|). */
wf__ref wf__m_asinh(const wf__math *m, wf__ref x)
{
    static const double far[2] = { 0x1p15, 0x1p30 };
    wf__ref ax = m_abs(m, x), huge = m_gt(m, ax, far[m->wide]), b = m_min(m, ax, far[m->wide]), one = m_k(m, 1);
    wf__ref t = m_fma(m, b, b, one), below = m_sub(m, one, t), t_lo = m_fma(m, b, b, below);
    wf__ref s = m_op1(m, WF__OP_sqrt, t), minus = m_neg(m, s), rest = m_add(m, m_fma(m, minus, s, t), t_lo);
    wf__ref u = m_add(m, s, b), lo = m_sub(m, s, u), zero = m_k(m, 0);
    lo = m_add(m, lo, b);
    u = m_select(m, huge, ax, u);
    lo = m_select(m, huge, zero, lo);
    rest = m_select(m, huge, zero, rest);
    wf__ref y = log_of_sum(m, u, lo, rest, -0.72, wf__m_select_k(m, huge, 1, 0));
    wf__ref small = m_lt(m, ax, 0.5);
    y = m_select(m, small, odd(m, asinh_poly, ax), y);
    wf__ref finite = m_lt(m, ax, INFINITY);
    return m_select(m, finite, m_op2(m, WF__OP_copysign, y, x), x);
}

/* acosh x = log(x + sqrt(x^2 - 1)). Near 1 it is sqrt(2 t + 2 t^2 p(t)) with t = x - 1. */
wf__ref wf__m_acosh(const wf__math *m, wf__ref x)
{
    static const double far[2] = { 0x1p15, 0x1p30 };
    wf__ref huge = m_gt(m, x, far[m->wide]), b = m_min(m, x, far[m->wide]);
    wf__ref square = m_mul(m, b, b), minus = m_neg(m, square), square_lo = m_fma(m, b, b, minus),
            t = m_subk(m, square, 1);
    wf__ref s = m_op1(m, WF__OP_sqrt, t), rest = m_fma(m, m_neg(m, s), s, t), zero = m_k(m, 0);
    rest = m_add(m, rest, square_lo);
    wf__ref u = m_add(m, b, s), lo = m_sub(m, b, u);
    lo = m_add(m, lo, s);
    u = m_select(m, huge, x, u);
    lo = m_select(m, huge, zero, lo);
    rest = m_select(m, huge, zero, rest);
    wf__ref y = log_of_sum(m, u, lo, rest, 1.17, wf__m_select_k(m, huge, 1, 0));
    wf__ref d = m_subk(m, x, 1), twice = m_add(m, d, d), p = wf__m_poly(m, &acosh_poly[m->wide], d, 0);
    wf__ref near_one = m_op1(m, WF__OP_sqrt, m_fma(m, m_mul(m, twice, d), p, twice)), small = m_lt(m, x, 1.5);
    y = m_select(m, small, near_one, y);
    wf__ref finite = m_lt(m, x, INFINITY);
    return m_select(m, finite, y, x);
}

/* atanh |x| = log((1 + |x|) / (1 - |x|)) / 2, the quotient corrected by its residual. */
wf__ref wf__m_atanh(const wf__math *m, wf__ref x)
{
    wf__ref ax = m_abs(m, x), one = m_k(m, 1), num = m_add(m, ax, one), num_lo = m_subk(m, num, 1),
            den = m_sub(m, one, ax);
    num_lo = m_sub(m, ax, num_lo);
    wf__ref q = m_div(m, num, den), rest = m_fma(m, m_neg(m, q), den, num);
    rest = m_add(m, rest, num_lo);
    wf__ref extra = m_mul(m, rest, m_fmak(m, ax, -1. / 3, m_k(m, 0.827))); /* 1 / (1 + |x|), approximately */
    wf__ref large = m_mulk(m, wf__m_log_parts(m, wf__m_split_normal(m, q), extra), 0.5), small = m_lt(m, ax, 0.5);
    wf__ref y = m_select(m, small, odd(m, atanh_poly, ax), large), edge = m_eq(m, ax, 1);
    wf__ref inside = m_lt(m, ax, 1), outside = wf__m_select_k(m, edge, INFINITY, NAN);
    return m_op2(m, WF__OP_copysign, m_select(m, inside, y, outside), x);
}
