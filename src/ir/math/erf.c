/* erf.c - erf, erfc and erfinv.
 *
 * erfc x = e^(-x^2) q(t) / (1 + 2 x) for x >= 0, with t = (x - K) / (x + K) and q a polynomial (the mapping is that of
 * Shepherd and Laframboise, Mathematics of Computation 36, 1981); x^2 as a sum of two. erf x is x + x p(x^2) below 1
 * and 1 - erfc x beyond. erfinv x = x p(w) with w = -log(1 - x^2); near 1 a polynomial in sqrt(w), which is a rare path
 * (both as in Giles, GPU Computing Gems, 2011).
 */
#include "ir/math/math.h"
#include <math.h>

/* All by tools/minimax.py, errors relative to the function.
 * erf x / x - 1 in x^2 on [0, 1]: 2^-29.33 and 2^-56.335 */
static const wf__poly erf_poly[2] = {
    { 7,
      { 0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2cf2p-4, -0x1.b7f88cp-6, 0x1.540172p-8, -0x1.a3d812p-11,
        0x1.4917a4p-14 } },
    { 13,
      { 0x1.06eba8214db69p-3, -0x1.812746b0379fdp-2, 0x1.ce2f21a04361p-4, -0x1.b82ce312ab119p-6, 0x1.565bcd126eca3p-8,
        -0x1.c02db4926e9f9p-11, 0x1.f9a33429a3045p-14, -0x1.f4d31e2adae44p-17, 0x1.b9ed7a69e9571p-20,
        -0x1.5f8e955203eb3p-23, 0x1.fc10672d069a1p-27, -0x1.45342a4d65238p-30, 0x1.26058aa67a498p-34 } }
};
/* q for K = 2 and x <= 10.1 (f32), K = 3.75 and x <= 27.3 (f64): 2^-25.943 and 2^-53.382 */
static const wf__poly erfc_poly[2] = {
    { 11,
      { 0x1.46e80ep+0, -0x1.7bf602p-4, -0x1.5408p-3, 0x1.4ffb52p-3, -0x1.bc1358p-5, -0x1.07ba4ap-7, 0x1.1b537ap-7,
        0x1.50ee0ep-10, -0x1.49a7cap-10, -0x1.8b4622p-12, 0x1.6c952ap-16 } },
    { 24, { 0x1.3ccda0b5d5dc2p+0,  -0x1.1f367683f89a6p-3,  0x1.d5f29481606a1p-9,   0x1.510169d0967c4p-4,
            -0x1.bda9309a2f373p-4, 0x1.7a14188a993bdp-4,   -0x1.e0d0fa6d3cd9fp-5,  0x1.d0b0037e18da7p-6,
            -0x1.3f603c4bda5ffp-7, 0x1.cc3a0de9d01fap-10,  0x1.33fb32360ef8fp-12,  -0x1.303f98efa38cbp-12,
            0x1.b14322bf02a43p-15, 0x1.778993e7eaca1p-16,  -0x1.8002132c630d1p-17, -0x1.05339ed6973c8p-20,
            0x1.d69c688359d1ap-20, -0x1.e622bf5730e3dp-25, -0x1.18aada1fe728fp-22, 0x1.630b03efcf9ap-26,
            0x1.5c87436e222d2p-25, -0x1.9f2f2ebfa294ap-31, -0x1.641bfe5bcf5a1p-28, -0x1.fb3da235155cdp-31 } }
};
/* erfinv x / x in w - 2.5 and w - 3.125: 2^-24.567 and 2^-55.951 */
static const wf__poly erfinv_poly[2] = {
    { 11,
      { 0x1.805c5ep+0, 0x1.f91e8cp-3, -0x1.11c716p-8, -0x1.48670cp-10, 0x1.ca1774p-13, -0x1.4c9a62p-18, -0x1.d44382p-19,
        0x1.f30cep-22, 0x1.c7a7fap-26, -0x1.2ae08ep-27, -0x1.485b0ep-33 } },
    { 25, { 0x1.a755e7c99ae86p+0,   0x1.ebd80d9b13dfap-3,   -0x1.8b6c33114ebb4p-8,  -0x1.8457694835845p-11,
            0x1.879c2a20ba74fp-13,  -0x1.d1d1f7ca14c5ep-17, -0x1.6e8a53d1add3dp-20, 0x1.c6b4f88a2e888p-22,
            -0x1.f36cec85c969ap-26, -0x1.1a9eb0ac92c2dp-28, 0x1.20f53046b8b55p-30,  -0x1.dc3f2066c0401p-35,
            -0x1.c8a3016eb556fp-37, 0x1.72361334eedccp-39,  -0x1.6bf6ef38eea0ap-44, -0x1.68707e23c1c8ep-45,
            0x1.d706f8acb4d27p-48,  -0x1.6ee3abb54ce7p-55,  -0x1.1d727358d8d52p-53, 0x1.1ea1b263c6b8ep-56,
            0x1.a78b04769c91ep-61,  -0x1.9b6dca0ae2188p-62, 0x1.29406efaf5477p-66,  0x1.e5ca817433b09p-69,
            -0x1.5b28b2f400527p-72 } }
};
/* erfinv x / x in sqrt(w) - 3 (f32); in sqrt(w) - 3.25 for w < 16 and sqrt(w) - 5 (f64): 2^-27.084 and 2^-54.967 and
 * 2^-55.705 */
static const wf__poly erfinv_tail[2] = {
    { 11,
      { 0x1.6a9efcp+1, 0x1.006dcap+0, 0x1.357e38p-7, -0x1.f4e248p-8, 0x1.74dd78p-8, -0x1.d385b6p-9, 0x1.81b238p-10,
        -0x1.f5c608p-14, -0x1.1fb03cp-12, 0x1.4f2988p-13, -0x1.f85f6p-16 } },
    { 21, { 0x1.8abcc380d5a48p+1,  0x1.0158a6d641d55p+0,   0x1.5ffcfe5b69accp-8,   -0x1.ebadabba0544fp-9,
            0x1.468eecaa33b03p-9,  -0x1.ba9240d801cd5p-10, 0x1.f3cc541c9daebp-11,  -0x1.7448bcddbdb8dp-12,
            0x1.932eddafd8ff3p-16, 0x1.1e6abe03b0c33p-14,  -0x1.8cf543d103cf9p-15, 0x1.a241844596868p-17,
            0x1.89cd652789399p-19, -0x1.0b78a31787c4fp-18, 0x1.8cce7b4011118p-20,  -0x1.dc547366a3bd3p-26,
            -0x1.0283792b8f61p-22, 0x1.1ac562299c97fp-23,  -0x1.a74278778381dp-26, -0x1.07799bcf8ef74p-26,
            0x1.32f89be0b5424p-27 } }
};
static const wf__poly erfinv_far = {
    20, { 0x1.3664ddd1ad7fbp+2,  0x1.02a30d1fba10bp+0,   -0x1.22ea5df1f62ccp-13, -0x1.c2f36aa14c64fp-13,
          0x1.3ebf4f00cbe68p-14, -0x1.4a34904a24575p-16, 0x1.2fbcfaba38097p-18,  -0x1.0a903128f76c6p-20,
          0x1.ebe49c0c7ae47p-23, -0x1.2238f757a1189p-24, 0x1.f26b5210a0d4dp-26,  -0x1.055f3fb2ea1a5p-26,
          0x1.0d19dac02632dp-27, -0x1.e5ada5d0f119ap-29, 0x1.6721250e31d02p-30,  -0x1.a30fb11f5072bp-32,
          0x1.46b9492bbbb8fp-34, 0x1.062c6464fadb2p-36,  -0x1.781d50c5396c3p-36, 0x1.9b915c374ccbbp-38 }
};

/* The result is computed times 2^(up + 8), as a normal number where erfc is denormal. */
static const double lift[2] = { 24 + 8, 53 + 8 }, unlift[2] = { 0x1p-32, 0x1p-61 };

static wf__ref erfc_lifted(const wf__math *m, wf__ref ax)
{
    static const double most[2] = { 10.1, 27.3 }, k[2] = { 2, 3.75 };
    unsigned w = m->wide;
    wf__ref x = m_min(m, ax, most[w]), square = m_mul(m, x, x), minus = m_neg(m, square),
            square_lo = m_fma(m, x, x, minus);
    wf__m_power e = wf__m_exp_reduced(m, minus, m_k(m, m->magic + m->bias + lift[w]));
    wf__ref lost = m_neg(m, square_lo), e1 = m_fma(m, lost, m_addk(m, e.expm1, 1), e.expm1);
    wf__ref num = m_subk(m, x, k[w]), den = m_addk(m, x, k[w]), line = m_fmak(m, x, 2, m_k(m, 1));
    wf__ref q = wf__m_poly(m, &erfc_poly[w], m_div(m, num, den), 0);
    wf__ref product = m_mul(m, m_fma(m, e1, q, q), e.scale); /* exact: scale is a power of two */
    return m_div(m, product, line);
}

static wf__ref erf_near_zero(const wf__math *m, wf__ref x)
{
    wf__ref z = m_mul(m, x, x);
    return m_fma(m, x, wf__m_poly(m, &erf_poly[m->wide], z, 0), x);
}

wf__ref wf__m_erfc(const wf__math *m, wf__ref x)
{
    wf__ref ax = m_abs(m, x), y = m_mulk(m, erfc_lifted(m, ax), unlift[m->wide]), negative = m_lt(m, x, 0);
    y = m_select(m, negative, m_sub(m, m_k(m, 2), y), y);
    wf__ref one = m_k(m, 1), near_one = m_sub(m, one, erf_near_zero(m, x)), small = m_lt(m, ax, 0.5);
    return m_select(m, small, near_one, y);
}

wf__ref wf__m_erf(const wf__math *m, wf__ref x)
{
    wf__ref ax = m_abs(m, x), rest = m_mulk(m, erfc_lifted(m, ax), unlift[m->wide]), beyond = m_sub(m, m_k(m, 1), rest);
    wf__ref small = m_lt(m, ax, 1);
    return m_op2(m, WF__OP_copysign, m_select(m, small, erf_near_zero(m, ax), beyond), x);
}

static wf__ref minus_log(const wf__math *m, wf__ref x)
{
    wf__ref minus = m_neg(m, x), d = m_fma(m, minus, x, m_k(m, 1));
    return m_neg(m, wf__m_log_parts(m, wf__m_split_normal(m, d), 0));
}

wf__ref wf__m_erfinv(const wf__math *m, wf__ref x)
{
    static const double limit[2] = { 0.9966, 0.999 }, middle[2] = { 2.5, 3.125 };
    wf__ref w = m_subk(m, minus_log(m, x), middle[m->wide]),
            y = m_mul(m, x, wf__m_poly(m, &erfinv_poly[m->wide], w, 0));
    wf__ref beyond = m_gt(m, m_abs(m, x), limit[m->wide]);
    return wf__cold(m->ir, beyond, y, m->wide ? WF__COLD_ERFINV_F64 : WF__COLD_ERFINV_F32, &x, 1);
}

wf__ref wf__m_erfinv_tail(const wf__math *m, wf__ref x)
{
    wf__ref ax = m_abs(m, x), root = m_op1(m, WF__OP_sqrt, minus_log(m, x));
    wf__ref p = wf__m_poly(m, &erfinv_tail[m->wide], m_subk(m, root, m->wide ? 3.25 : 3), 0);
    if (m->wide) {
        wf__ref far = m_gt(m, root, 4), q = wf__m_poly(m, &erfinv_far, m_subk(m, root, 5), 0);
        p = m_select(m, far, q, p);
    }
    wf__ref edge = m_eq(m, ax, 1), outside = wf__m_select_k(m, edge, INFINITY, NAN), inside = m_lt(m, ax, 1);
    return m_op2(m, WF__OP_copysign, m_select(m, inside, m_mul(m, ax, p), outside), x);
}
