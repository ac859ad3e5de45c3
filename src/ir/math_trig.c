/* math_trig.c - sin, cos, tan.
 *
 * |x| = n pi/2 + r. For |x| up to 2^20 (f32) or 2^36 (f64), Cody and Waite's reduction with fused multiply-adds: pi/2 as
 * A + B + C, each a full float. x - nA is exact; subtracting the rounded product w of n and B is not, but (x - nA) - r is
 * exact again (x - nA is a multiple of an ulp of A), which gives what r lacks. r as a sum of two keeps the error of sin near
 * r = 2^-k (where an ulp of the result is half an ulp of r) and of tan below one ulp. Beyond: math_trig_big.c.
 *
 * sin r and cos r are both computed and one selected: n's low bits, left in the magic sum, give choice and sign. sin and cos
 * of one x share everything but that. Working with |x| and applying the sign last keeps sin(-0) = -0.
 */
#include "ir/math.h"
#include <math.h>

/* Minimax (Remez exchange; each coefficient rounded in turn, the later ones fitted again) on |r| <= 0.81 (f32: n from the
 * rounded 2/pi may be off a little) and 0.7855 (f64), in s = r^2.
 * (sin r - r) / (r s), relative to sin r: 2^-27.6 and 2^-57.9 */
static const wf__poly sin_poly[2] = {
    { 3, { -0x1.555542p-3, 0x1.1105fap-7, -0x1.98d742p-13 } },
    { 6,
      { -0x1.5555555555548p-3, 0x1.111111110f73p-7, -0x1.a01a019be91b4p-13, 0x1.71de35552031cp-19, -0x1.ae5e4b7714935p-26,
        0x1.5d8b50d2d2d4ep-33 } }
};
/* (cos r - 1) / s, absolute error times s: 2^-32.7 and 2^-64.2 */
static const wf__poly cos_poly[2] = {
    { 4, { -0x1p-1, 0x1.555548p-5, -0x1.6c0ae2p-10, 0x1.99886cp-16 } },
    { 7,
      { -0x1p-1, 0x1.555555555554cp-5, -0x1.6c16c16c1521dp-10, 0x1.a01a019cbf0d3p-16, -0x1.27e4f81264e49p-22,
        0x1.1ee9f1100c4fep-29, -0x1.8fb109a1c5e27p-37 } }
};
/* (tan r - r) / (r s), relative to tan r: 2^-28.7 and 2^-56.0 */
static const wf__poly tan_poly[2] = {
    { 7,
      { 0x1.555568p-2, 0x1.110b7cp-3, 0x1.bb3988p-5, 0x1.58ec4p-6, 0x1.767cdep-7, -0x1.58a952p-11, 0x1.36ca4p-8 } },
    { 14,
      { 0x1.55555555554f1p-2, 0x1.11111111183c2p-3, 0x1.ba1ba1b46494ap-5, 0x1.664f49a8c183dp-6, 0x1.226e12658f868p-7,
        0x1.d6d93047faafcp-9, 0x1.7d5b9436470d9p-10, 0x1.37f86f98e7e5p-11, 0x1.d28bd223c64ddp-13, 0x1.1dedde29b6259p-13,
        -0x1.b638084fdbca8p-16, 0x1.76225e085afdap-14, -0x1.7746a8100e46bp-15, 0x1.5d715c4addbdcp-16 } }
};

static const double two_over_pi[2] = { 0x1.45f306p-1, 0x1.45f306dc9c883p-1 };
static const double half_pi[3][2] = { /* pi/2 rounded, the rest rounded, and again */
    { 0x1.921fb6p+0, 0x1.921fb54442d18p+0 },
    { -0x1.777a5cp-25, 0x1.1a62633145c07p-54 },
    { -0x1.ee59dap-50, -0x1.f1976b7ed8fbcp-110 }
};
static const double fast_limit[2] = { 0x1p20, 0x1p36 };

static wf__m_angle reduce_fast(const wf__math *m, wf__ref ax)
{
    unsigned w = m->wide;
    wf__ref sum = m_fmak(m, ax, two_over_pi[w], m_k(m, m->magic)), n = m_subk(m, sum, m->magic);
    wf__ref r1 = m_fmak(m, n, -half_pi[0][w], ax), product = m_mulk(m, n, half_pi[1][w]);
    wf__ref hi = m_sub(m, r1, product), lo = m_sub(m, r1, hi);
    lo = m_fmak(m, n, -half_pi[1][w], lo);
    lo = m_fmak(m, n, -half_pi[2][w], lo);
    return (wf__m_angle){ .q = m_bits(m, sum), .hi = hi, .lo = lo };
}

/* hi + lo + hi^3 p(hi^2) without its last addition */
static wf__ref odd_rest(const wf__math *m, const wf__poly *p, wf__m_angle a, wf__ref s)
{
    wf__ref sum = wf__m_poly(m, p, s, 0), cube = m_mul(m, a.hi, s);
    return m_fma(m, cube, sum, a.lo);
}

static wf__ref sin_or_cos(const wf__math *m, unsigned op, wf__m_angle a, wf__ref x)
{
    wf__ref s = m_mul(m, a.hi, a.hi), rest = odd_rest(m, &sin_poly[m->wide], a, s);
    wf__ref sine = m_add(m, a.hi, rest), p = wf__m_poly(m, &cos_poly[m->wide], s, 0);
    wf__ref cosine = m_fma(m, s, p, m_k(m, 1));
    int top = m->wide ? 63 : 31;
    wf__ref bit0 = m_shl(m, a.q, top), bit1 = m_shl(m, a.q, top - 1), odd = m_op2(m, WF__OP_lt, bit0, m_bits_k(m, 0));
    if (op == WF__OP_sin)
        sine = m_select(m, odd, cosine, sine), bit0 = m_bits(m, x);
    else
        sine = m_select(m, odd, sine, cosine);
    return wf__m_flip_sign(m, sine, m_op2(m, WF__OP_xor, bit1, bit0));
}

/* tan r for even n, else -1 / tan r: the quotient is corrected by its residual, so that it adds no error of its own. */
static wf__ref tangent(const wf__math *m, wf__m_angle a, wf__ref x)
{
    wf__ref s = m_mul(m, a.hi, a.hi);
    a.lo = m_fma(m, a.lo, s, a.lo); /* tan' = 1 + tan^2 */
    wf__ref rest = odd_rest(m, &tan_poly[m->wide], a, s);
    wf__ref tan = m_add(m, a.hi, rest), tan_lo = m_sub(m, a.hi, tan);
    tan_lo = m_add(m, tan_lo, rest);
    wf__ref inverse = m_div(m, m_k(m, -1), tan), residual = m_fma(m, inverse, tan, m_k(m, 1));
    residual = m_fma(m, inverse, tan_lo, residual);
    inverse = m_fma(m, residual, inverse, inverse);
    wf__ref bit0 = m_shl(m, a.q, m->wide ? 63 : 31), odd = m_op2(m, WF__OP_lt, bit0, m_bits_k(m, 0));
    tan = m_select(m, odd, inverse, tan);
    return wf__m_flip_sign(m, tan, m_bits(m, x));
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

wf__ref wf__cold_body(wf__ir *ir, wf__cold_id id, const wf__ref *args, uint32_t n)
{
    static const unsigned ops[3] = { WF__OP_sin, WF__OP_cos, WF__OP_tan };
    if (n != 1 || id <= WF__COLD_NONE || id >= WF__COLD_COUNT) {
        wf__ir_fail(ir, WF_ERR_UNSUPPORTED, "cold path %d: not known", (int)id);
        return 0;
    }
    if (ir->status != WF_OK || !args[0])
        return 0;
    wf__math math = wf__math_of(ir, args[0]), *m = &math;
    wf__ref x = args[0], ax = m_abs(m, x);
    wf__ref y = of_angle(m, ops[(id - WF__COLD_SIN_F32) % 3], wf__m_reduce_big(m, ax), x);
    wf__ref finite = m_lt(m, ax, INFINITY);
    return m_select(m, finite, y, m_k(m, NAN));
}
