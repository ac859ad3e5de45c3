/* log.c - log, log2, log10 and log1p.
 *
 * x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), by integer arithmetic on the bits (as in the kernels of fdlibm): with
 * the bits of sqrt(1/2) subtracted, the exponent field counts e and the rest is the mantissa's distance from sqrt(1/2).
 * A polynomial for log(1 + f), whose leading term f is exact; no table.
 */
#include "ir/math/math.h"
#include <math.h>

/* With k = 1/ln b, log_b(1 + f) is k f and a bend. f32: f^2 w(f), w minimax relative to the logarithm: 2^-27.8, 2^-27.5 and
 * 2^-27.7 (Remez exchange; each coefficient rounded in turn, the later ones fitted again). f64: -s (k f - s^2 w(s^2)),
 * s = f/(2 + f), from log(1 + f) = log((1 + s)/(1 - s)) as in fdlibm: a division, but 7 terms for 21; 2^-59.5 each. */
static const wf__poly natural[2] = { { 9,
                                       { -0x1.fffff8p-2, 0x1.55554ep-2, -0x1.000428p-2, 0x1.99a4bap-3, -0x1.542846p-3,
                                         0x1.22672ap-3, -0x1.0f269ap-3, 0x1.0874a2p-3, -0x1.38d7aep-4 } },
                                     { 7,
                                       { 0x1.5555555555592p-1, 0x1.999999997ff58p-2, 0x1.24924941dc977p-2,
                                         0x1.c71c521897188p-3, 0x1.74663c04f4885p-3, 0x1.39a2004877e24p-3,
                                         0x1.2f02d10e8ca69p-3 } } };
static const wf__poly binary[2] = { { 9,
                                      { -0x1.715474p-1, 0x1.ec709ap-2, -0x1.7158bap-2, 0x1.277c8cp-2, -0x1.eafe2ep-3,
                                        0x1.a35fb4p-3, -0x1.85cb3ap-3, 0x1.7abf32p-3, -0x1.c2f58cp-4 } },
                                    { 7,
                                      { 0x1.ec709dc3a0455p-1, 0x1.2776c50ee7404p-1, 0x1.a61762d1f0a3ap-2,
                                        0x1.484afcfceb669p-2, 0x1.0ca11d264cf55p-2, 0x1.c479f9c4bf7d3p-3,
                                        0x1.b52721ca312f4p-3 } } };
static const wf__poly decimal[2] = { { 9,
                                       { -0x1.bcb7aap-3, 0x1.287a72p-3, -0x1.bcbf2ap-4, 0x1.63cf3ap-4, -0x1.276f48p-4,
                                         0x1.f884cp-5, -0x1.d763a6p-5, 0x1.cb6556p-5, -0x1.0efff6p-5 } },
                                     { 7,
                                       { 0x1.287a7636f4394p-2, 0x1.63c627750ea6cp-3, 0x1.fc3fa6482352ep-4,
                                         0x1.8b4dd75ddad38p-4, 0x1.437646c1add66p-4, 0x1.106ab7042c474p-4,
                                         0x1.0733e5b3e828fp-4 } } };

/* c and the bend; lead: k f, rounded. Only ulps of it stand in the bend's. */
static wf__ref with_bend(const wf__math *m, const wf__poly bend[2], wf__ref f, wf__ref lead, wf__ref c)
{
    const wf__poly *w = &bend[m->wide];
    if (!m->wide) {
        wf__ref f2 = m_mul(m, f, f);
        return m_fma(m, f2, wf__m_poly(m, w, f, f2), c);
    }
    wf__ref s = m_div(m, f, m_addk(m, f, 2)), z = m_mul(m, s, s), less = m_neg(m, wf__m_poly(m, w, z, 0));
    wf__ref slope = m_fma(m, z, less, lead);
    return m_fma(m, m_neg(m, s), slope, c);
}

static const double log2e_hi[2] = { 0x1.715476p+0, 0x1.71547652b82fep+0 }; /* 1/ln2 rounded; lo: the rest, rounded */
static const double log2e_lo[2] = { 0x1.4ae0cp-26, 0x1.777d0ffda0d24p-56 };
static const double ln2[2] = { 0x1.62e43p-1, 0x1.62e42fefa39efp-1 }, ln2_lo = 0x1.abc9e3b39803fp-56;

static const double log10e_hi[2] = { 0x1.bcb7b2p-2, 0x1.bcb7b1526e50ep-2 }; /* 1/ln10 rounded; lo: the rest, rounded */
static const double log10e_lo[2] = { -0x1.5b235ep-27, 0x1.95355baaafad3p-57 };
static const double log10_2_hi[2] = { 0x1.3442p-2,
                                      0x1.34413509f78p-2 }; /* to 16 and 42 bits: products with e are exact */
static const double log10_2_lo[2] = { -0x1.95ec1p-19, 0x1.fef311f12bp-46 };

/* Returns e of d = e * 2^mantissa + (less than 2^mantissa), as a float. */
static wf__ref exponent_of(const wf__math *m, wf__ref d)
{
    if (!m->wide)
        return wf__cast(m->ir, m_bit_op(m, WF__OP_shr, d, 23), m->t);
    /* Processors before AVX-512 cannot convert 64-bit integers. e is taken from the bits of 2^52 + (e + 2048). */
    wf__ref up = wf__bitcast(m->ir, m_bit_op(m, WF__OP_xor, d, m_sign_mask(m)), WF_U64);
    wf__ref count = wf__op2(m->ir, WF__OP_shr, up, wf__const_bits(m->ir, WF_U64, 52));
    count = wf__op2(m->ir, WF__OP_or, count, wf__const_bits(m->ir, WF_U64, 0x4330000000000000));
    return m_subk(m, m_float(m, count), 0x1p52 + 2048);
}

static const uint64_t half_root[2] = { 0x3f3504f3, 0x3fe6a09e667f3bcd }; /* bits of sqrt(1/2) */

/* Returns e and f of x from the bits of x * 2^k and those of sqrt(1/2) * 2^k. */
static wf__m_parts parts_of(const wf__math *m, wf__ref bits, wf__ref root_up)
{
    uint64_t low = ((uint64_t)1 << m->mantissa) - 1;
    wf__ref d = m_op2(m, WF__OP_sub, bits, root_up), e = exponent_of(m, d);
    wf__ref mantissa = m_bit_op(m, WF__OP_add, m_bit_op(m, WF__OP_and, d, low), half_root[m->wide]);
    return (wf__m_parts){ .e = e, .f = m_subk(m, m_float(m, mantissa), 1) };
}

wf__m_parts wf__m_split(const wf__math *m, wf__ref x)
{
    static const double least[2] = { 0x1p-126, 0x1p-1022 }, up[2] = { 0x1p24, 0x1p53 };
    uint64_t root = half_root[m->wide];
    wf__ref tiny = m_lt(m, x, least[m->wide]), scaled = m_mulk(m, x, up[m->wide]);
    wf__ref bits = m_bits(m, m_select(m, tiny, scaled, x));
    wf__ref more = m_bits_k(m, root + ((uint64_t)(m->wide ? 53 : 24) << m->mantissa)), usual = m_bits_k(m, root);
    return parts_of(m, bits, m_select(m, tiny, more, usual));
}

wf__m_parts wf__m_split_normal(const wf__math *m, wf__ref x)
{
    wf__ref bits = m_bits(m, x);
    return parts_of(m, bits, m_bits_k(m, half_root[m->wide]));
}

/* Returns y where x is positive and finite; elsewhere the value of a logarithm for 0, inf, NaN or x < 0. */
static wf__ref with_specials(const wf__math *m, wf__ref x, wf__ref y)
{
    wf__ref zero = m_eq(m, x, 0), other = wf__m_select_k(m, zero, -INFINITY, NAN);
    wf__ref positive = m_gt(m, x, 0);
    y = m_select(m, positive, y, other);
    wf__ref infinite = m_eq(m, x, INFINITY);
    return m_select(m, infinite, x, y);
}

wf__ref wf__m_log_parts(const wf__math *m, wf__m_parts a, wf__ref extra)
{
    wf__ref small = extra;
    if (m->wide) /* in f32, e times the rest of ln2 is below 2^-4 of an ulp */
        small = extra ? m_fmak(m, a.e, ln2_lo, extra) : m_mulk(m, a.e, ln2_lo);
    wf__ref y = with_bend(m, natural, a.f, a.f, small ? small : a.f);
    if (small)
        y = m_add(m, a.f, y);
    return m_fmak(m, a.e, ln2[m->wide], y);
}

wf__ref wf__m_log(const wf__math *m, wf__ref x)
{
    return with_specials(m, x, wf__m_log_parts(m, wf__m_split(m, x), 0));
}

/* log2(1 + f) is a sum of three: the exact product of f and the rounded 1/ln2, f times the rest of this constant,
 * and the bend. */
wf__ref wf__m_log2(const wf__math *m, wf__ref x)
{
    wf__m_parts a = wf__m_split(m, x);
    wf__ref lead = m_mulk(m, a.f, log2e_hi[m->wide]), rest = m_mulk(m, a.f, log2e_lo[m->wide]);
    wf__ref y = m_fmak(m, a.f, log2e_hi[m->wide], with_bend(m, binary, a.f, lead, rest));
    return with_specials(m, x, m_add(m, a.e, y));
}

/* The sum of e log10(2) and f/ln10, the latter as a sum of two, with its rounding error: exact for powers of ten. */
wf__ref wf__m_log10(const wf__math *m, wf__ref x)
{
    wf__m_parts a = wf__m_split(m, x);
    wf__ref lead = m_mulk(m, a.f, log10e_hi[m->wide]), minus = m_neg(m, lead);
    wf__ref small = m_fmak(m, a.f, log10e_hi[m->wide], minus), high = m_mulk(m, a.e, log10_2_hi[m->wide]);
    wf__ref sum = m_add(m, high, lead), lost = m_sub(m, high, sum);
    lost = m_add(m, lost, lead);
    small = m_fmak(m, a.f, log10e_lo[m->wide], small);
    small = with_bend(m, decimal, a.f, lead, small);
    small = m_fmak(m, a.e, log10_2_lo[m->wide], small);
    return with_specials(m, x, m_add(m, sum, m_add(m, lost, small)));
}

/* 1/(1 + f) is 1.06 - f to 6 %. */
wf__ref wf__m_rough_inverse(const wf__math *m, wf__m_parts a)
{
    double magic = m->magic + m->bias;
    wf__ref few = m_min(m, a.e, 64), sum = m_sub(m, m_k(m, magic), few);
    wf__ref scale = m_float(m, m_shl(m, m_bits(m, sum), m->mantissa)), line = m_sub(m, m_k(m, 1.06), a.f);
    return m_mul(m, scale, line);
}

/* log1p x = log u + c / u, where u is 1 + x rounded, and c its rounding error. If the exponent e of u is 0, f is x
 * itself. */
wf__ref wf__m_log1p(const wf__math *m, wf__ref x)
{
    wf__ref u = m_addk(m, x, 1), back = m_subk(m, u, 1), x_lost = m_sub(m, x, back);
    wf__ref one_lost = m_sub(m, u, back), zero = m_k(m, 0);
    one_lost = m_sub(m, m_k(m, 1), one_lost);
    wf__ref c = m_add(m, x_lost, one_lost);
    wf__m_parts a = wf__m_split_normal(m, u);
    wf__ref inverse = wf__m_rough_inverse(m, a), extra = m_mul(m, c, inverse), exact = m_eq(m, a.e, 0);
    a.f = m_select(m, exact, x, a.f);
    extra = m_select(m, exact, zero, extra);
    return m_op2(m, WF__OP_copysign, with_specials(m, u, wf__m_log_parts(m, a, extra)), x);
}
