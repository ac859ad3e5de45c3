/* math.h - declarations that the math expansions share: operations on values of one float dtype, reduced arguments,
 * polynomials.
 *
 * Every expansion is written once for f32 and f64; tables have one entry for each, indexed by wf__math.wide. Nothing is
 * contracted: a fused multiply-add is where m_fma stands and nowhere else. An argument list makes at most one node, so
 * that the order of nodes does not depend on the compiler's order of evaluation.
 */
#ifndef WEFT_IR_MATH_H
#define WEFT_IR_MATH_H
#include "ir/ir.h"

typedef struct wf__math {
    wf__ir *ir;
    unsigned t, i; /* the float dtype, the signed integer dtype of its size */
    unsigned wide; /* 0 = f32, 1 = f64; index of tables */
    int mantissa;  /* stored bits of the mantissa: 23, 52 */
    int bias;      /* exponent bias: 127, 1023 */
    double magic;  /* 1.5 * 2^mantissa: adding it rounds to an integer, which stands in the low bits of the sum */
} wf__math;
wf__math wf__math_of(wf__ir *ir, wf__ref x);

/* ---- one node each; k: with a constant right operand ---- */
static inline wf__ref m_k(const wf__math *m, double v) { return wf__const_f64(m->ir, m->t, v); }
static inline wf__ref m_bits_k(const wf__math *m, uint64_t v) { return wf__const_bits(m->ir, m->i, v); }
static inline wf__ref m_op1(const wf__math *m, unsigned op, wf__ref a) { return wf__op1(m->ir, op, a); }
static inline wf__ref m_op2(const wf__math *m, unsigned op, wf__ref a, wf__ref b) { return wf__op2(m->ir, op, a, b); }
static inline wf__ref m_op2k(const wf__math *m, unsigned op, wf__ref a, double b)
{
    return wf__op2(m->ir, op, a, m_k(m, b));
}
static inline wf__ref m_abs(const wf__math *m, wf__ref a) { return m_op1(m, WF__OP_abs, a); }
static inline wf__ref m_neg(const wf__math *m, wf__ref a) { return m_op1(m, WF__OP_neg, a); }
static inline wf__ref m_add(const wf__math *m, wf__ref a, wf__ref b) { return m_op2(m, WF__OP_add, a, b); }
static inline wf__ref m_sub(const wf__math *m, wf__ref a, wf__ref b) { return m_op2(m, WF__OP_sub, a, b); }
static inline wf__ref m_mul(const wf__math *m, wf__ref a, wf__ref b) { return m_op2(m, WF__OP_mul, a, b); }
static inline wf__ref m_div(const wf__math *m, wf__ref a, wf__ref b) { return m_op2(m, WF__OP_div, a, b); }
static inline wf__ref m_addk(const wf__math *m, wf__ref a, double b) { return m_op2k(m, WF__OP_add, a, b); }
static inline wf__ref m_subk(const wf__math *m, wf__ref a, double b) { return m_op2k(m, WF__OP_sub, a, b); }
static inline wf__ref m_mulk(const wf__math *m, wf__ref a, double b) { return m_op2k(m, WF__OP_mul, a, b); }
static inline wf__ref m_min(const wf__math *m, wf__ref a, double b) { return m_op2k(m, WF__OP_min, a, b); }
static inline wf__ref m_max(const wf__math *m, wf__ref a, double b) { return m_op2k(m, WF__OP_max, a, b); }
static inline wf__ref m_lt(const wf__math *m, wf__ref a, double b) { return m_op2k(m, WF__OP_lt, a, b); }
static inline wf__ref m_gt(const wf__math *m, wf__ref a, double b) { return m_op2k(m, WF__OP_gt, a, b); }
static inline wf__ref m_eq(const wf__math *m, wf__ref a, double b) { return m_op2k(m, WF__OP_eq, a, b); }
static inline wf__ref m_fma(const wf__math *m, wf__ref a, wf__ref b, wf__ref c)
{
    return wf__op3(m->ir, WF__OP_fma, a, b, c);
}
static inline wf__ref m_fmak(const wf__math *m, wf__ref a, double b, wf__ref c) { return m_fma(m, a, m_k(m, b), c); }
static inline wf__ref m_select(const wf__math *m, wf__ref c, wf__ref a, wf__ref b)
{
    return wf__op3(m->ir, WF__OP_select, c, a, b);
}
static inline wf__ref m_both(const wf__math *m, wf__ref a, wf__ref b) { return m_op2(m, WF__OP_and, a, b); }
wf__ref wf__m_select_k(const wf__math *m, wf__ref c, double a, double b); /* c ? a : b */
static inline wf__ref m_bits(const wf__math *m, wf__ref a) { return wf__bitcast(m->ir, a, m->i); }
static inline wf__ref m_float(const wf__math *m, wf__ref bits) { return wf__bitcast(m->ir, bits, m->t); }
/* Records an operation on bits with a constant right operand. */
static inline wf__ref m_bit_op(const wf__math *m, unsigned op, wf__ref a, uint64_t b)
{
    return m_op2(m, op, a, m_bits_k(m, b));
}
static inline wf__ref m_shl(const wf__math *m, wf__ref bits, int by)
{
    return m_bit_op(m, WF__OP_shl, bits, (uint64_t)by);
}
static inline uint64_t m_sign_mask(const wf__math *m) { return (uint64_t)1 << (m->wide ? 63 : 31); }

/* ---- polynomials ---- */
typedef struct wf__poly {
    int n;
    double c[28]; /* c[0] + c[1] x + ... + c[n-1] x^(n-1) */
} wf__poly;
/* Evaluates a polynomial by Horner's scheme. Long polynomials are split into blocks of four terms, which do not wait
 * for each other. Powers of x^4 join the blocks, for one or two more multiplications. The last steps, whose rounding
 * counts, remain Horner's. x2: x^2 if computed already, else 0. */
wf__ref wf__m_poly(const wf__math *m, const wf__poly *p, wf__ref x, wf__ref x2);

/* ---- pieces that several functions use ---- */
/* Returns y with its sign flipped where the top bit of `bits` is set. */
wf__ref wf__m_flip_sign(const wf__math *m, wf__ref y, wf__ref bits);

/* e^r - 1 for |r| <= ln2/2 and the power of two that goes with it (exp.c). */
typedef struct wf__m_power {
    wf__ref expm1, scale; /* e^x = (1 + expm1) * scale */
} wf__m_power;
wf__m_power wf__m_exp_reduced(const wf__math *m, wf__ref x, wf__ref magic);
wf__ref wf__m_exp2_sum(const wf__math *m, wf__ref x,
                       wf__ref lo); /* 2^(x + lo), lo small beside x; any lo where x is huge */

/* x = 2^e * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for x > 0, denormals included; anything for other x. e is of
 * x's dtype (log.c). */
typedef struct wf__m_parts {
    wf__ref e, f;
} wf__m_parts;
wf__m_parts wf__m_split(const wf__math *m, wf__ref x);
wf__m_parts wf__m_split_normal(const wf__math *m, wf__ref x); /* the same without the denormals */
/* wf__m_log_parts returns e ln2 + log(1 + f) + extra, with extra (0 = none) about an ulp of 1 + f.
 * wf__m_rough_inverse returns 1 / (2^e (1 + f)) to 6 %, for e >= 0. */
wf__ref wf__m_log_parts(const wf__math *m, wf__m_parts a, wf__ref extra);
wf__ref wf__m_rough_inverse(const wf__math *m, wf__m_parts a);

/* x = k ln2 + r + r_lo, |r| <= ln2/2; sum = k + magic (exp.c). */
typedef struct wf__m_residue {
    wf__ref sum, k, r, r_lo;
} wf__m_residue;
wf__m_residue wf__m_ln2_residue(const wf__math *m, wf__ref x, double magic);

/* |x| = quadrant * pi/2 + hi + lo, |hi| <= pi/4 (a little more for f32), lo about an ulp of hi (but up to 2^-7 of a
 * tiny hi). The quadrant's low two bits are those of `q`, an integer of the dtype's size. */
typedef struct wf__m_angle {
    wf__ref q, hi, lo;
} wf__m_angle;
wf__m_angle wf__m_reduce_big(const wf__math *m, wf__ref ax); /* any finite ax beyond the fast range (trig_big.c) */

typedef struct wf__m_pair { /* an unevaluated sum, |lo| at most about an ulp of hi */
    wf__ref hi, lo;
} wf__m_pair;
wf__m_pair wf__m_log2_pair(const wf__math *m, wf__ref x); /* to about 2^-66, relative; f64 (pow.c) */
wf__ref
wf__m_log2_short(const wf__math *m,
                 wf__ref x); /* in f64 nodes, accurate enough for f32: to 2^-35, and wf__m_exp2_short to 2^-29 */
wf__ref wf__m_exp2_short(const wf__math *m, wf__ref x); /* |x| up to 400, which is enough for f32's range */

extern const double wf__half_pi[3][2],
    wf__inverse_pi[2][2]; /* the rounded constant, its rounded rest, and the rest of that (atan.c) */

/* ---- the functions; scaled: in half turns, as asinpi ---- */
wf__ref wf__m_nextafter(wf__ir *ir, wf__ref a, wf__ref b);               /* of any float dtype (expand_basic.c) */
wf__ref wf__expand_basic(wf__ir *ir, unsigned op, wf__ref a, wf__ref b); /* exact operations; b may be 0 */
wf__ref wf__m_rsqrt(const wf__math *m, wf__ref x);
wf__ref wf__m_cbrt(const wf__math *m, wf__ref x);
wf__ref wf__m_hypot(const wf__math *m, wf__ref x, wf__ref y);
wf__ref wf__m_exp(const wf__math *m, wf__ref x);
wf__ref wf__m_exp2(const wf__math *m, wf__ref x);
wf__ref wf__m_exp10(const wf__math *m, wf__ref x);
wf__ref wf__m_expm1(const wf__math *m, wf__ref x);
wf__ref wf__m_log(const wf__math *m, wf__ref x);
wf__ref wf__m_log2(const wf__math *m, wf__ref x);
wf__ref wf__m_log10(const wf__math *m, wf__ref x);
wf__ref wf__m_log1p(const wf__math *m, wf__ref x);
wf__ref wf__m_trig(const wf__math *m, unsigned op, wf__ref x);     /* sin, cos, tan */
wf__ref wf__m_trig_big(const wf__math *m, unsigned op, wf__ref x); /* the same beyond the fast reduction */
wf__ref wf__m_trigpi(const wf__math *m, unsigned op, wf__ref x);   /* sinpi, cospi, tanpi */
wf__ref wf__m_sinc(const wf__math *m, wf__ref x);
wf__ref wf__m_asin(const wf__math *m, wf__ref x, bool scaled);
wf__ref wf__m_acos(const wf__math *m, wf__ref x, bool scaled);
wf__ref wf__m_atan(const wf__math *m, wf__ref x, bool scaled);
wf__ref wf__m_atan2(const wf__math *m, wf__ref y, wf__ref x, bool scaled);
wf__ref wf__m_tanh(const wf__math *m, wf__ref x);
wf__ref wf__m_sinh_cosh(const wf__math *m, unsigned op, wf__ref x);
wf__ref wf__m_asinh(const wf__math *m, wf__ref x);
wf__ref wf__m_acosh(const wf__math *m, wf__ref x);
wf__ref wf__m_atanh(const wf__math *m, wf__ref x);
wf__ref wf__m_erf(const wf__math *m, wf__ref x);
wf__ref wf__m_erfc(const wf__math *m, wf__ref x);
wf__ref wf__m_erfinv(const wf__math *m, wf__ref x);
wf__ref wf__m_erfinv_tail(const wf__math *m, wf__ref x);
wf__ref wf__m_tgamma(const wf__math *m, wf__ref x);
wf__ref wf__m_tgamma_negative(const wf__math *m, wf__ref x);
wf__ref wf__m_lgamma(const wf__math *m, wf__ref x);
wf__ref wf__m_lgamma_negative(const wf__math *m, wf__ref x);
wf__ref wf__m_polygamma(const wf__math *m, unsigned op, wf__ref x); /* digamma, trigamma */
wf__ref wf__m_digamma_negative(const wf__math *m, wf__ref x);
wf__ref wf__m_trigamma_negative(const wf__math *m, wf__ref x);
wf__ref wf__m_bessel_j(const wf__math *m, unsigned op, wf__ref x); /* j0, j1 */
wf__ref wf__m_bessel_i(const wf__math *m, unsigned op, wf__ref x); /* i0, i1 */
wf__ref wf__m_pow(const wf__math *m, wf__ref x, wf__ref y);
wf__ref wf__m_mod(const wf__math *m, wf__ref x, wf__ref y, bool floored);
wf__ref wf__m_mod_far(const wf__math *m, wf__ref x, wf__ref y); /* remainder of |x| and |y| for any quotient */
#endif
