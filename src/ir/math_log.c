/* math_log.c - log and log2.
 *
 * x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), by integer arithmetic on the bits (as in the kernels of fdlibm): with the
 * bits of sqrt(1/2) subtracted, the exponent field counts e and the rest is the mantissa's distance from sqrt(1/2). A
 * polynomial for log(1 + f), whose leading term f is exact; no division and no table.
 */
#include "ir/math.h"
#include <math.h>

/* (log(1 + f) - f) / f^2. Minimax, relative to log(1 + f): 2^-27.8 and 2^-58.2 (Remez exchange; each coefficient rounded in
 * turn, the later ones fitted again). */
static const wf__poly log_poly[2] = { { 9,
                                        { -0x1.fffff8p-2, 0x1.55554ep-2, -0x1.000428p-2, 0x1.99a4bap-3, -0x1.542846p-3,
                                          0x1.22672ap-3, -0x1.0f269ap-3, 0x1.0874a2p-3, -0x1.38d7aep-4 } },
                                      { 21,
                                        { -0x1p-1,
                                          0x1.555555555558bp-2,
                                          -0x1.0000000000033p-2,
                                          0x1.999999998f9a1p-3,
                                          -0x1.55555555474fap-3,
                                          0x1.24924929b8e32p-3,
                                          -0x1.0000000987f96p-3,
                                          0x1.c71c6f31beba2p-4,
                                          -0x1.999993a210a0bp-4,
                                          0x1.745d73807e98fp-4,
                                          -0x1.55565892aefc7p-4,
                                          0x1.3b0c355fb00fep-4,
                                          -0x1.247899c7e4371p-4,
                                          0x1.1168d271cae98p-4,
                                          -0x1.018427bf62c21p-4,
                                          0x1.de3359dcd0e62p-5,
                                          -0x1.acb44f13fc066p-5,
                                          0x1.ab5d3846afa79p-5,
                                          -0x1.06a85d9c50242p-4,
                                          0x1.04461e24ec6abp-4,
                                          -0x1.da81cafc27608p-6 } } };

/* (log2(1 + f) - f/ln2) / f^2. Minimax, relative to log2(1 + f): 2^-27.5 and 2^-58.2; found alike. */
static const wf__poly log2_poly[2] = {
    { 9,
      { -0x1.715474p-1, 0x1.ec709ap-2, -0x1.7158bap-2, 0x1.277c8cp-2, -0x1.eafe2ep-3, 0x1.a35fb4p-3, -0x1.85cb3ap-3,
        0x1.7abf32p-3, -0x1.c2f58cp-4 } },
    { 21, { -0x1.71547652b82fep-1, 0x1.ec709dc3a0452p-2, -0x1.71547652b83dap-2, 0x1.2776c50ef1efbp-2,
            -0x1.ec709dc37ce44p-3, 0x1.a61762af9a82dp-3, -0x1.71547665fbdap-3,  0x1.484b11e3c1ac6p-3,
            -0x1.2776bfaff9907p-3, 0x1.0c9ac9063ebf7p-3, -0x1.ec7250d003923p-4, 0x1.c68479d35f7aep-4,
            -0x1.a5ee49b2ea2dcp-4, 0x1.8a6f267514027p-4, -0x1.73abc084f78c1p-4, 0x1.59330089ea9acp-4,
            -0x1.3480e02538729p-4, 0x1.3259041c532e9p-4, -0x1.7bbae4d0d25dbp-4, 0x1.7d04ba1b8a251p-4,
            -0x1.5e70e27ea8c41p-5 } }
};

static const double log2e_hi[2] = { 0x1.715476p+0, 0x1.71547652b82fep+0 }; /* 1/ln2 rounded; lo: the rest, rounded */
static const double log2e_lo[2] = { 0x1.4ae0cp-26, 0x1.777d0ffda0d24p-56 };
static const double ln2[2] = { 0x1.62e43p-1, 0x1.62e42fefa39efp-1 }, ln2_lo = 0x1.abc9e3b39803fp-56;

/* e of d = e * 2^mantissa + (less than 2^mantissa), as a float. */
static wf__ref exponent_of(const wf__math *m, wf__ref d)
{
    if (!m->wide)
        return wf__cast(m->ir, m_bit_op(m, WF__OP_shr, d, 23), m->t);
    /* before AVX-512 there is no conversion from 64-bit integers: through the bits of 2^52 + (e + 2048) */
    wf__ref up = wf__bitcast(m->ir, m_bit_op(m, WF__OP_xor, d, m_sign_mask(m)), WF_U64);
    wf__ref count = wf__op2(m->ir, WF__OP_shr, up, wf__const_bits(m->ir, WF_U64, 52));
    count = wf__op2(m->ir, WF__OP_or, count, wf__const_bits(m->ir, WF_U64, 0x4330000000000000));
    return m_subk(m, m_float(m, count), 0x1p52 + 2048);
}

wf__m_parts wf__m_split(const wf__math *m, wf__ref x)
{
    static const double least[2] = { 0x1p-126, 0x1p-1022 }, up[2] = { 0x1p24, 0x1p53 };
    static const uint64_t half_root[2] = { 0x3f3504f3, 0x3fe6a09e667f3bcd }; /* bits of sqrt(1/2) */
    uint64_t root = half_root[m->wide], low = ((uint64_t)1 << m->mantissa) - 1;
    wf__ref tiny = m_lt(m, x, least[m->wide]), scaled = m_mulk(m, x, up[m->wide]);
    wf__ref bits = m_bits(m, m_select(m, tiny, scaled, x));
    wf__ref less = m_bits_k(m, root + ((uint64_t)(m->wide ? 53 : 24) << m->mantissa)), usual = m_bits_k(m, root);
    wf__ref d = m_op2(m, WF__OP_sub, bits, m_select(m, tiny, less, usual));
    wf__ref e = exponent_of(m, d);
    wf__ref mantissa = m_bit_op(m, WF__OP_add, m_bit_op(m, WF__OP_and, d, low), root);
    return (wf__m_parts){ .e = e, .f = m_subk(m, m_float(m, mantissa), 1) };
}

/* y where x is positive and finite; else what a logarithm is there. */
static wf__ref with_specials(const wf__math *m, wf__ref x, wf__ref y)
{
    wf__ref zero = m_eq(m, x, 0), other = wf__m_select_k(m, zero, -INFINITY, NAN);
    wf__ref positive = m_gt(m, x, 0);
    y = m_select(m, positive, y, other);
    wf__ref infinite = m_eq(m, x, INFINITY);
    return m_select(m, infinite, x, y);
}

wf__ref wf__m_log(const wf__math *m, wf__ref x)
{
    wf__m_parts a = wf__m_split(m, x);
    wf__ref f2 = m_mul(m, a.f, a.f), w = wf__m_poly(m, &log_poly[m->wide], a.f, f2);
    wf__ref y;
    if (m->wide) { /* e times the rest of ln2 joins the small terms; in f32 it is below 2^-4 of an ulp */
        y = m_mul(m, f2, w);
        y = m_fmak(m, a.e, ln2_lo, y);
        y = m_add(m, a.f, y);
    } else
        y = m_fma(m, f2, w, a.f);
    return with_specials(m, x, m_fmak(m, a.e, ln2[m->wide], y));
}

/* f/ln2 is a sum of three: the rounded constant times f, exactly; the constant's rest times f; and the polynomial. */
wf__ref wf__m_log2(const wf__math *m, wf__ref x)
{
    wf__m_parts a = wf__m_split(m, x);
    wf__ref f2 = m_mul(m, a.f, a.f), w = wf__m_poly(m, &log2_poly[m->wide], a.f, f2);
    wf__ref g = m_fma(m, w, a.f, m_k(m, log2e_lo[m->wide]));
    wf__ref y = m_fmak(m, a.f, log2e_hi[m->wide], m_mul(m, a.f, g));
    return with_specials(m, x, m_add(m, a.e, y));
}
