/* trig.c - sin, cos, tan; sinpi, cospi, tanpi and sinc.
 *
 * |x| = n pi/2 + r. For |x| up to 2^20 (f32) or 2^36 (f64), Cody and Waite's reduction with fused multiply-adds: pi/2
 * as A + B + C, each a full float. x - nA is exact; subtracting the rounded product w of n and B is not, but (x - nA) -
 * r is exact again (x - nA is a multiple of an ulp of A), which gives what r lacks. r as a sum of two keeps the error
 * of sin near r = 2^-k, where an ulp of the result is half an ulp of r, and of tan near 1 ulp. Beyond: trig_big.c.
 *
 * sin r and cos r are both computed and one selected: n's low bits, left in the magic sum, give choice and sign. sin
 * and cos of one x share everything but that; so do the pi-scaled ones, whose reduction is exact. Working with |x| and
 * applying the sign last keeps sin(-0) = -0.
 */
#include "ir/math/math.h"
#include <math.h>

/* Minimax (Remez exchange; each coefficient rounded in turn, the later ones fitted again) on |r| <= 0.81 (f32: n
 * from the rounded 2/pi may be off a little) and 0.7855 (f64), in s = r^2. (sin r - r) / (r s), relative to sin r:
 * 2^-27.6 and 2^-57.9 */
static const wf__poly sin_poly[2] = { { 3, { -0x1.555542p-3, 0x1.1105fap-7, -0x1.98d742p-13 } },
                                      { 6,
                                        { -0x1.5555555555548p-3, 0x1.111111110f73p-7, -0x1.a01a019be91b4p-13,
                                          0x1.71de35552031cp-19, -0x1.ae5e4b7714935p-26, 0x1.5d8b50d2d2d4ep-33 } } };
/* (cos r - 1) / s; error of cos r: 2^-32.7 and 2^-64.2 */
static const wf__poly cos_poly[2] = { { 4, { -0x1p-1, 0x1.555548p-5, -0x1.6c0ae2p-10, 0x1.99886cp-16 } },
                                      { 7,
                                        { -0x1p-1, 0x1.555555555554cp-5, -0x1.6c16c16c1521dp-10, 0x1.a01a019cbf0d3p-16,
                                          -0x1.27e4f81264e49p-22, 0x1.1ee9f1100c4fep-29, -0x1.8fb109a1c5e27p-37 } } };
/* (1 - r cot r) / s; error relative to r cot r: 2^-32.5 and 2^-57.2 */
static const wf__poly cot_poly[2] = {
    { 5, { 0x1.555556p-2, 0x1.6c15e8p-6, 0x1.1593bcp-9, 0x1.b3bb1cp-13, 0x1.b9deeep-16 } },
    { 9,
      { 0x1.555555555556bp-2, 0x1.6c16c16c1164fp-6, 0x1.1566abc3b9b0bp-9, 0x1.bbd776c004e3p-13, 0x1.66a969a6a0336p-16,
        0x1.2272c5da50114p-19, 0x1.d8c30d2cb589p-23, 0x1.6941568efbc14p-26, 0x1.aa69670b80da5p-29 } }
};

static const double two_over_pi[2] = { 0x1.45f306p-1, 0x1.45f306dc9c883p-1 };
static const double fast_limit[2] = { 0x1p20, 0x1p36 };

static wf__m_angle reduce_fast(const wf__math *m, wf__ref ax)
{
    unsigned w = m->wide;
    wf__ref sum = m_fmak(m, ax, two_over_pi[w], m_k(m, m->magic)), n = m_subk(m, sum, m->magic);
    wf__ref r1 = m_fmak(m, n, -wf__half_pi[0][w], ax), product = m_mulk(m, n, wf__half_pi[1][w]);
    wf__ref hi = m_sub(m, r1, product), lo = m_sub(m, r1, hi);
    lo = m_fmak(m, n, -wf__half_pi[1][w], lo);
    lo = m_fmak(m, n, -wf__half_pi[2][w], lo);
    return (wf__m_angle){ .q = m_bits(m, sum), .hi = hi, .lo = lo };
}

static wf__ref is_odd(const wf__math *m, wf__ref q)
{
    wf__ref bit = m_bit_op(m, WF__OP_and, q, 1);
    return m_op2(m, WF__OP_ne, bit, m_bits_k(m, 0));
}

static wf__ref sin_or_cos(const wf__math *m, unsigned op, wf__m_angle a, wf__ref x)
{
    wf__ref s = m_mul(m, a.hi, a.hi), p = wf__m_poly(m, &sin_poly[m->wide], s, 0), cube = m_mul(m, a.hi, s);
    /* cos(hi + lo) is about 1 + hi (hi q - lo). The outer factor is hi itself, not s with its rounding error. */
    wf__ref q = wf__m_poly(m, &cos_poly[m->wide], s, 0), minus_lo = m_neg(m, a.lo);
    wf__ref inner = m_fma(m, a.hi, q, minus_lo), cosine = m_fma(m, a.hi, inner, m_k(m, 1));
    wf__ref odd = is_odd(m, a.q), sign = m_shl(m, a.q, m->wide ? 62 : 30), y; /* negative for n = 2 and 3 */
    if (op == WF__OP_sin) {
        wf__ref rest = m_fma(m, cube, p, a.lo);
        y = m_select(m, odd, cosine, m_add(m, a.hi, rest));
        sign = m_op2(m, WF__OP_xor, sign, m_bits(m, x));
    } else { /* cos(r + pi/2) = -sin r */
        wf__ref less = m_fma(m, m_neg(m, cube), p, minus_lo);
        y = m_select(m, odd, m_sub(m, less, a.hi), cosine);
    }
    return wf__m_flip_sign(m, y, sign);
}

/* Returns num / den, each a sum of two: the quotient of the larger parts, corrected by its residual. */
static wf__ref quotient(const wf__math *m, wf__ref num, wf__ref num_lo, wf__ref den, wf__ref den_lo)
{
    wf__ref inverse = m_div(m, m_k(m, 1), den), q = m_mul(m, num, inverse), minus = m_neg(m, q);
    wf__ref residual = m_fma(m, minus, den, num);
    residual = m_add(m, residual, num_lo);
    residual = m_fma(m, minus, den_lo, residual);
    return m_fma(m, residual, inverse, q);
}

/* Returns the tangent from c = r cot r, whose series converges twice as fast as that of tan: r / c for even n, else
 * -c / r. */
static wf__ref tangent(const wf__math *m, wf__m_angle a, wf__ref x)
{
    wf__ref hi = m_add(m, a.hi, a.lo); /* near multiples of pi/2, lo may be more than an ulp of hi */
    a.lo = m_add(m, m_sub(m, a.hi, hi), a.lo);
    a.hi = hi;
    wf__ref s = m_mul(m, a.hi, a.hi), p = wf__m_poly(m, &cot_poly[m->wide], s, 0), less = m_mul(m, s, p);
    wf__ref slope = m_mulk(m, a.hi, 2. / 3); /* approximate derivative of `less`, for the effect of lo */
    less = m_fma(m, slope, a.lo, less);
    wf__ref one = m_k(m, 1), c = m_sub(m, one, less), c_lo = m_sub(m, one, c);
    c_lo = m_sub(m, c_lo, less);
    wf__ref odd = is_odd(m, a.q), turn = m_shl(m, a.q, m->wide ? 63 : 31);
    wf__ref num = m_select(m, odd, c, a.hi), num_lo = m_select(m, odd, c_lo, a.lo);
    wf__ref den = m_select(m, odd, a.hi, c), den_lo = m_select(m, odd, a.lo, c_lo);
    wf__ref y = quotient(m, num, num_lo, den, den_lo);
    return wf__m_flip_sign(m, y, m_op2(m, WF__OP_xor, turn, m_bits(m, x)));
}

static wf__ref of_angle(const wf__math *m, unsigned op, wf__m_angle a, wf__ref x)
{
    return op == WF__OP_tan ? tangent(m, a, x) : sin_or_cos(m, op, a, x);
}

wf__ref wf__m_trig(const wf__math *m, unsigned op, wf__ref x)
{
    wf__ref ax = m_abs(m, x), y = of_angle(m, op, reduce_fast(m, ax), x);
    uint32_t id = m->wide ? WF__COLD_SIN_F64 : WF__COLD_SIN_F32;
    id += op == WF__OP_cos ? 1 : op == WF__OP_tan ? 2 : 0;
    return wf__cold(m->ir, m_gt(m, ax, fast_limit[m->wide]), y, id, &x, 1);
}

wf__ref wf__m_trig_big(const wf__math *m, unsigned op, wf__ref x)
{
    wf__ref ax = m_abs(m, x), y = of_angle(m, op, wf__m_reduce_big(m, ax), x), finite = m_lt(m, ax, INFINITY);
    return m_select(m, finite, y, m_k(m, NAN));
}

/* ---- functions of pi x ---- */
static const double pi[2][2] = { { 0x1.921fb6p+1, 0x1.921fb54442d18p+1 }, { -0x1.777a5cp-24, 0x1.1a62633145c07p-53 } };

typedef struct turns { /* pi |x| = quadrant * pi/2 + pi r; r exactly */
    wf__m_angle angle;
    wf__ref r;
} turns;

static turns reduce_turns(const wf__math *m, wf__ref x)
{
    unsigned w = m->wide;
    wf__ref ax = m_abs(m, x), periods = m_op1(m, WF__OP_round, m_mulk(m, ax, 0.5)), v = m_fmak(m, periods, -2, ax);
    wf__ref sum = m_fmak(m, v, 2, m_k(m, m->magic)), n = m_subk(m, sum, m->magic), r = m_fmak(m, n, -0.5, v);
    wf__ref hi = m_mulk(m, r, pi[0][w]), minus = m_neg(m, hi), lo = m_fmak(m, r, pi[0][w], minus);
    lo = m_fmak(m, r, pi[1][w], lo);
    return (turns){ .angle = { .q = m_bits(m, sum), .hi = hi, .lo = lo }, .r = r };
}

/* Signs of zeros and poles as in C23 F.10.1: sinpi of an integer has the sign of x; cospi is never -0; tanpi of n/2
 * has that of x for even n/2, n = 1, 5, 9 and so on. */
wf__ref wf__m_trigpi(const wf__math *m, unsigned op, wf__ref x)
{
    turns a = reduce_turns(m, x);
    if (op == WF__OP_cospi)
        return m_addk(m, sin_or_cos(m, WF__OP_cos, a.angle, x), 0);
    wf__ref zero = m_k(m, 0), whole = m_eq(m, a.r, 0);
    if (op == WF__OP_sinpi) {
        wf__ref y = sin_or_cos(m, WF__OP_sin, a.angle, x), nil = m_eq(m, y, 0);
        return m_select(m, nil, m_op2(m, WF__OP_copysign, zero, x), y);
    }
    wf__ref y = tangent(m, a.angle, x), edge = wf__m_select_k(m, is_odd(m, a.angle.q), INFINITY, 0);
    wf__ref turn = m_shl(m, a.angle.q, m->wide ? 62 : 30);
    turn = m_op2(m, WF__OP_xor, turn, m_bits(m, x));
    return m_select(m, whole, wf__m_flip_sign(m, edge, turn), y);
}

/* sin(pi x) / (pi x); 1 at 0 and where the quotient is 1 */
wf__ref wf__m_sinc(const wf__math *m, wf__ref x)
{
    wf__ref ax = m_abs(m, x), zero = m_k(m, 0), one = m_k(m, 1), s = wf__m_trigpi(m, WF__OP_sinpi, ax);
    wf__ref near_zero = m_lt(m, ax, m->wide ? 0x1p-30 : 0x1p-14), huge = m_gt(m, ax, m->wide ? 0x1p1000 : 0x1p120);
    wf__ref b = m_select(m, near_zero, one, ax), hi = m_mulk(m, b, pi[0][m->wide]), minus = m_neg(m, hi);
    wf__ref lo = m_fmak(m, b, pi[0][m->wide], minus);
    lo = m_fmak(m, b, pi[1][m->wide], lo);
    wf__ref y = quotient(m, s, zero, hi, lo);
    y = m_select(m, near_zero, one, y);
    wf__ref number = m_op2(m, WF__OP_eq, x, x), far = m_both(m, huge, number);
    return m_select(m, far, zero, y);
}
