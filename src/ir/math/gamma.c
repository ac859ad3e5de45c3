/* gamma.c - tgamma, lgamma, digamma and trigamma.
 *
 * With c = x + 1/4 rounded and u = x - c, which is exact: gamma(x) = gamma(2 + u) (x-1)(x-2)...(2+u) for c > 2, and
 * gamma(2 + u) / x or gamma(2 + u) / (x (x + 1)) for c = 1 and 0; log gamma(2 + u) is u times a polynomial. From 8 on
 * Stirling's series. In f64 tgamma carries its logarithm as a sum of two; f32 is computed in f64. Negative arguments,
 * by reflection, are a rare path.
 *
 * digamma: log x - 1/(2x) and a polynomial in 1/x^2 beyond 2.25; from 1, a polynomial times the distance from the zero
 * at 1.46, which is a sum of two; below 1, digamma(x + 1) - 1/x. trigamma is alike without the zero.
 */
#include "ir/math/math.h"
#include <math.h>

/* log gamma(2 + u) / u on [-3/4, 1/4], relative: 2^-32.205 and 2^-56.169; the long ones for f64 (tools/minimax.py,
 * as all here) */
static const wf__poly lgamma_poly[2] = {
    { 11,
      { 0x1.b0ee607238657p-2, 0x1.4a34cc6dcadaap-2, -0x1.13e001b8b2438p-4, 0x1.513151356a104p-6, -0x1.e40b695064c28p-8,
        0x1.7b7ede4aa25ebp-9, -0x1.343b67c539805p-10, 0x1.02709592ed79p-11, -0x1.94264fd59a933p-12,
        -0x1.8ae30d3a7edd9p-13, -0x1.eec24424dac45p-13 } },
    { 20, { 0x1.b0ee6072093cep-2,   0x1.4a34cc4a60fa7p-2,  -0x1.13e001a557591p-4,  0x1.51322ac7d74cp-6,
            -0x1.e404fc21c3d17p-8,  0x1.7add6eb074fd9p-9,  -0x1.38ac5bf7bd4fp-10,  0x1.0b36ae2458cefp-11,
            -0x1.d3fd896339d1fp-13, 0x1.a127e73cf9f75p-14, -0x1.78cb9d35b540cp-15, 0x1.584eabd222577p-16,
            -0x1.3f03ecd1cd197p-17, 0x1.12583076b8b2bp-18, -0x1.286fa439b3fa6p-19, 0x1.1ef8e1e637eaap-19,
            0x1.94cc72de6653p-19,   0x1.3ae953be82daap-18, 0x1.88ef3b077348dp-19,  0x1.029db80200af6p-20 } }
};
/* x (log gamma(x) - (x - 1/2) log x + x - log(2 pi)/2) in 1/x^2, x >= 8: 2^-33.777 and 2^-57.586 */
static const wf__poly stirling_poly[2] = {
    { 3, { 0x1.55555550a8f57p-4, -0x1.6c141beccf1cfp-9, 0x1.98f9a03c3c9a6p-11 } },
    { 8,
      { 0x1.5555555555555p-4, -0x1.6c16c16c107e6p-9, 0x1.a01a015be340cp-11, -0x1.38132f0305b62p-11,
        0x1.b91eb3e9aa12bp-11, -0x1.ee06424430c2ep-10, 0x1.41d309cbb1e4cp-8, 0x1.513e6ea9af40bp-10 } }
};

static const double log2e_hi = 0x1.71547652b82fep+0, log2e_lo = 0x1.777d0ffda0d24p-56;
static const double half_log2_2pi = 0x1.536439a4c6efcp+0,
                    half_log2_2pi_lo = -0x1.49e49a361efebp-54; /* log2(2 pi) / 2 */

typedef struct shifted { /* for x >= 0; in f64 */
    wf__ref large;       /* x >= 8: `series` is valid; else the other fields are */
    wf__ref log_gamma;   /* of 2 + u */
    wf__ref few, none;   /* c < 2, c < 1 */
    wf__ref up, down;    /* gamma(x) = gamma(2 + u) * up / down */
    wf__ref up_lost;     /* the rounding errors of the products of `up`; not always computed */
    wf__ref series;
} shifted;

static shifted shift(const wf__math *m, bool wide, bool careful, wf__ref x)
{
    shifted a = { .large = m_op2(m, WF__OP_ge, x, m_k(m, 8)), .up_lost = m_k(m, 0) };
    wf__ref c = m_op1(m, WF__OP_round, m_addk(m, x, 0.25)), u = m_sub(m, x, c), one = m_k(m, 1);
    a.log_gamma = m_mul(m, u, wf__m_poly(m, &lgamma_poly[wide], u, 0));
    a.up = one;
    for (int i = 1; i <= 6; ++i) {
        wf__ref factor = m_subk(m, x, i), counts = m_gt(m, c, i + 1.5);
        factor = m_select(m, counts, factor, one);
        wf__ref up = m_mul(m, a.up, factor);
        if (careful)
            a.up_lost = m_fma(m, a.up_lost, factor, m_fma(m, a.up, factor, m_neg(m, up)));
        a.up = up;
    }
    wf__ref both = m_op2(m, WF__OP_copysign, m_fma(m, x, x, x), x);
    a.none = m_lt(m, c, 0.5);
    a.few = m_lt(m, c, 1.5);
    a.down = m_select(m, a.few, m_select(m, a.none, both, x), one);
    wf__ref inverse = m_div(m, one, m_max(m, x, 8)), z = m_mul(m, inverse, inverse);
    a.series = m_mul(m, inverse, wf__m_poly(m, &stirling_poly[wide], z, 0));
    return a;
}

/* Returns log2 gamma(x) for x >= 8, else log2 gamma(2 + u), as a sum of two. */
static wf__m_pair log2_gamma(const wf__math *m, wf__ref x, const shifted *a)
{
    wf__ref b = m_max(m, x, 8);
    b = m_min(m, b, 200);
    wf__m_pair l = wf__m_log2_pair(m, b);
    wf__ref half_less = m_subk(m, b, 0.5), v = m_mul(m, half_less, l.hi), v_lo = m_fma(m, half_less, l.hi, m_neg(m, v));
    v_lo = m_fma(m, half_less, l.lo, v_lo);
    wf__ref w = m_mulk(m, b, log2e_hi), w_lo = m_fmak(m, b, log2e_hi, m_neg(m, w));
    w_lo = m_fmak(m, b, log2e_lo, w_lo);
    v_lo = m_sub(m, v_lo, w_lo);
    v_lo = m_fmak(m, a->series, log2e_hi, m_addk(m, v_lo, half_log2_2pi_lo));
    wf__ref s = m_sub(m, v, w), lost = m_sub(m, m_sub(m, v, s), w), sum = m_addk(m, s, half_log2_2pi);
    v_lo = m_add(m, v_lo, lost);
    lost = m_addk(m, m_sub(m, s, sum), half_log2_2pi);
    v_lo = m_add(m, v_lo, lost);
    wf__ref near = m_mulk(m, a->log_gamma, log2e_hi), near_lo = m_fmak(m, a->log_gamma, log2e_hi, m_neg(m, near));
    return (wf__m_pair){ .hi = m_select(m, a->large, sum, near), .lo = m_select(m, a->large, v_lo, near_lo) };
}

/* As log2_gamma, for f32: one number of f64 is accurate enough. */
static wf__ref log2_gamma_short(const wf__math *m, wf__ref x, const shifted *a)
{
    wf__ref b = m_max(m, x, 8);
    b = m_min(m, b, 200);
    wf__ref less = m_subk(m, b, 0.5), v = m_mul(m, less, wf__m_log2_short(m, b));
    v = m_fmak(m, b, -log2e_hi, v);
    v = m_add(m, v, m_fmak(m, a->series, log2e_hi, m_k(m, half_log2_2pi)));
    return m_select(m, a->large, v, m_mulk(m, a->log_gamma, log2e_hi));
}

static wf__ref not_negative(const wf__math *m, bool wide, wf__ref x)
{
    shifted a = shift(m, wide, wide, x);
    wf__ref one = m_k(m, 1), factor = m_select(m, a.large, one, m_div(m, a.up, a.down)), power;
    if (wide) {
        wf__m_pair v = log2_gamma(m, x, &a);
        power = wf__m_exp2_sum(m, v.hi, v.lo);
    } else
        power = wf__m_exp2_short(m, log2_gamma_short(m, x, &a));
    wf__ref nil = m_k(m, 0);
    wf__ref lost = m_select(m, a.large, nil, m_mul(m, power, a.up_lost)); /* up_lost is 0 unless down is 1 */
    wf__ref y = wide ? m_fma(m, power, factor, lost) : m_mul(m, power, factor), number = m_op2(m, WF__OP_eq, x, x);
    return m_select(m, number, y, x);
}

/* Returns gamma(-y) = -pi / (y sin(pi y) gamma(y)). The result is 2^128 times as large until the end, because
 * gamma(y) may overflow where the result is not 0. */
static wf__ref reflected(const wf__math *m, bool wide, wf__ref x)
{
    wf__ref y = m_neg(m, x), sine = wf__m_trigpi(m, WF__OP_sinpi, y), power, whole = m_eq(m, sine, 0);
    shifted a = shift(m, wide, wide, y);
    if (wide) {
        wf__m_pair v = log2_gamma(m, y, &a);
        wf__ref raised = m_sub(m, m_k(m, 128), v.hi), back = m_sub(m, raised, m_k(m, 128)), lost = m_add(m, back, v.hi);
        wf__ref rest = m_sub(m, raised, back); /* Knuth's sum of two, since either may be the larger */
        lost = m_sub(m, m_sub(m, m_k(m, 128), rest), lost);
        power = wf__m_exp2_sum(m, raised, m_sub(m, lost, v.lo));
    } else {
        wf__ref most = m_k(m, 128);
        power = wf__m_exp2_short(m, m_sub(m, most, log2_gamma_short(m, y, &a)));
    }
    wf__ref near = m_lt(m, y, 0x1p-60), one = m_k(m, 1),
            den = m_mul(m, m_select(m, a.few, one, y), sine); /* y / down is 1 for c = 1, and 1 / (y + 1) for c = 0 */
    wf__ref lost = m_mul(m, den, m_select(m, a.large, m_k(m, 0), a.up_lost));
    den = m_fma(m, den, m_select(m, a.large, one, a.up), lost);
    wf__ref num = m_select(m, a.none, m_addk(m, y, 1), one), num_lo = m_mulk(m, num, -0x1.1a62633145c07p-53);
    num = m_fmak(m, num, -0x1.921fb54442d18p+1, num_lo); /* multiplies by pi */
    wf__ref result = m_mulk(m, m_mul(m, power, m_div(m, num, den)), 0x1p-128);
    result = m_select(m, near, m_div(m, one, x), result); /* y sin(pi y) may vanish */
    wf__ref nan = m_k(m, NAN), pole = m_both(m, whole, m_op2(m, WF__OP_ge, y, m_k(m, 1)));
    wf__ref below = m_gt(m, y, 190), integral = m_op2(m, WF__OP_eq, m_op1(m, WF__OP_trunc, y), y), zero = m_k(m, 0);
    wf__ref signed_zero = wf__m_flip_sign(m, zero, m_bits(m, m_neg(m, sine)));
    result = m_select(m, below, signed_zero, result);
    pole = m_op2(m, WF__OP_or, pole, m_both(m, integral, m_gt(m, y, 0.5)));
    return m_select(m, pole, nan, result);
}

static wf__math as_f64(const wf__math *m, wf__ref x, wf__ref *wide)
{
    *wide = m->wide ? x : wf__cast(m->ir, x, WF_F64);
    return wf__math_of(m->ir, *wide);
}
static wf__ref back(const wf__math *m, wf__ref y) { return m->wide ? y : wf__cast(m->ir, y, WF_F32); }

wf__ref wf__m_tgamma(const wf__math *m, wf__ref x)
{
    wf__ref v;
    wf__math d = as_f64(m, x, &v);
    wf__ref y = back(m, not_negative(&d, m->wide, v)), negative = m_lt(m, x, 0);
    return wf__cold(m->ir, negative, y, m->wide ? WF__COLD_TGAMMA_F64 : WF__COLD_TGAMMA_F32, &x, 1);
}

wf__ref wf__m_tgamma_negative(const wf__math *m, wf__ref x)
{
    wf__ref v;
    wf__math d = as_f64(m, x, &v);
    return back(m, reflected(&d, m->wide, v));
}

/* ---- lgamma ---- */
static wf__ref log_gamma(const wf__math *m, bool wide, wf__ref x)
{
    shifted a = shift(m, wide, false, x);
    wf__ref l = wf__m_log(m, m_select(m, a.large, x, m_mul(m, a.up, a.down))), few = m_lt(m, x, 1.5),
            minus = m_neg(m, l);
    wf__ref near = m_add(m, a.log_gamma, m_select(m, few, minus, l));
    wf__ref less = m_subk(m, x, 0.5), far = m_mul(m, less, m_subk(m, l, 1));
    wf__ref rest = m_addk(m, a.series, 0x1.acfe390c97d69p-2);
    return m_select(m, a.large, m_add(m, far, rest), near); /* log(2 pi)/2 - 1/2 */
}

wf__ref wf__m_lgamma(const wf__math *m, wf__ref x)
{
    wf__ref v;
    wf__math d = as_f64(m, x, &v);
    wf__ref y = back(m, log_gamma(&d, m->wide, v)), negative = m_lt(m, x, 0);
    return wf__cold(m->ir, negative, y, m->wide ? WF__COLD_LGAMMA_F64 : WF__COLD_LGAMMA_F32, &x, 1);
}

/* Returns log(pi / (y |sin(pi y)|)) - lgamma(y); inf at the poles. Near 0, where the sine may be denormal, the result is
 * -log(y). */
wf__ref wf__m_lgamma_negative(const wf__math *m, wf__ref x)
{
    wf__ref v;
    wf__math d = as_f64(m, x, &v), *w = &d;
    wf__ref y = m_neg(w, v), sine = m_abs(w, wf__m_trigpi(w, WF__OP_sinpi, y)), infinity = m_k(w, INFINITY);
    wf__ref log_pi = m_k(w, 0x1.250d048e7a1bdp+0), log_y = wf__m_log(w, y), l = m_add(w, wf__m_log(w, sine), log_y);
    wf__ref r = m_sub(w, log_pi, l);
    r = m_sub(w, r, log_gamma(w, m->wide, y));
    wf__ref tiny = m_lt(w, y, 0x1p-60);
    r = m_select(w, tiny, m_neg(w, log_y), r);
    wf__ref infinite = m_eq(w, y, INFINITY), pole = m_eq(w, sine, 0);
    pole = m_both(w, pole, m_gt(w, y, 0.5));
    infinite = m_op2(w, WF__OP_or, infinite, pole);
    return back(m, m_select(w, infinite, infinity, r));
}

/* ---- digamma and trigamma ---- */
/* digamma(1.625 + u) / (u - r) on [-5/8, 5/8] with r = psi_zero, and z = 1/x^2: (log x - 1/(2x) - digamma x) / z for
 * x >= 2.25. Relative to digamma: 2^-32.546 and 2^-57.509, 2^-36.478 and 2^-61.359. */
static const double psi_zero = -0x1.4e93ce54a0e05p-3, psi_zero_lo = 0x1.c353910cbc14ap-57;
static const wf__poly digamma_poly[2] = {
    { 14,
      { 0x1.cd9d88c4d2c26p-1, -0x1.7aa649d51be3fp-2, 0x1.8ab0d48443123p-3, -0x1.bf454953c85bep-4, 0x1.0739a1ca9ef7cp-4,
        -0x1.3be0ac7ddb167p-5, 0x1.7eb66eb969db3p-6, -0x1.d2c14a1233fbdp-7, 0x1.2317d8143a544p-7, -0x1.668efc360dadbp-8,
        0x1.67dbb3dc783ddp-9, -0x1.aeb66f3eba027p-10, 0x1.1a700b98c2b4fp-9, -0x1.649e629344d54p-10 } },
    { 25, { 0x1.cd9d88c399e19p-1,  -0x1.7aa649cce5856p-2,  0x1.8ab0d9438df97p-3,  -0x1.bf4556b33be58p-4,
            0x1.0738222bc7805p-4,  -0x1.3bdd9fa2a58d7p-5,  0x1.7f10ac3817166p-6,  -0x1.d35ab38d566edp-7,
            0x1.1e17d3dbb17dep-7,  -0x1.5efe38ea920f6p-8,  0x1.af26e72164239p-9,  -0x1.0902f9b820d6bp-9,
            0x1.45ee7b9bc097p-10,  -0x1.90dce69ceb01p-11,  0x1.ed2fea530e48p-12,  -0x1.30967fab56f79p-12,
            0x1.7733a04deb7f3p-13, -0x1.bca908cb1ace6p-14, 0x1.0fb3bd96f3f8ep-14, -0x1.a418782f6b261p-15,
            0x1.08fb42ee031dap-15, -0x1.98da6e934adcep-19, 0x1.2f2a4ac68d7f2p-20, -0x1.0b0efcc8d6ae6p-16,
            0x1.53473c82a5022p-17 } }
};
static const wf__poly digamma_large[2] = {
    { 6,
      { 0x1.55555384fbc65p-4, -0x1.110bf63882eb6p-7, 0x1.02c6a93004649p-8, -0x1.f8c7326059ea8p-9, 0x1.31cab1d29d833p-8,
        -0x1.e5927a6dbebb1p-9 } },
    { 16,
      { 0x1.55555555554cep-4, -0x1.111111107f633p-7, 0x1.0410401dbc5dap-8, -0x1.1110b17a397f1p-8, 0x1.f063afb510a25p-8,
        -0x1.588737b76f847p-6, 0x1.4ce745102d016p-4, -0x1.92cd7c4b213bfp-2, 0x1.0b5e3a5877692p+1, -0x1.562524e76582p+3,
        0x1.7d6acf8e8262ep+5, -0x1.578f4eb1bf7bbp+7, 0x1.d475245c82bb8p+8, -0x1.c0047e0bdf5fcp+9, 0x1.09e1d01a21934p+10,
        -0x1.2573402cf13f6p+9 } }
};
/* trigamma(1.5 + u) on [-1/2, 1/2], and (trigamma x - 1/x - 1/(2x^2)) x / z for x >= 2. Relative to trigamma: 2^-31.735
 * and 2^-55.289, 2^-34.079 and 2^-57.135. */
static const wf__poly trigamma_poly[2] = {
    { 14,
      { 0x1.de9e64e15fb49p-1, -0x1.a85808a0100ecp-1, 0x1.68ba2d3115f68p-1, -0x1.28782544112bp-1, 0x1.da2f4ff5ce2cbp-2,
        -0x1.72d7e3e0af267p-2, 0x1.1c981d08e0971p-2, -0x1.ae8da4b4946aap-3, 0x1.453f7eb1235b7p-3, -0x1.df862f6619defp-4,
        0x1.3350dc1aa215p-4, -0x1.c5bac2c44e649p-5, 0x1.237cd77336b31p-4, -0x1.9997d34a3df6bp-5 } },
    { 24, { 0x1.de9e64df22ef3p-1,  -0x1.a85808a40aba3p-1, 0x1.68ba30a420968p-1, -0x1.287825428e653p-1,
            0x1.da2d963cfa2f5p-2,  -0x1.72d7487c3d25ep-2, 0x1.1cc1377d62823p-2, -0x1.aeb6f153107fbp-3,
            0x1.41a51b4da385cp-3,  -0x1.db4d856912b6p-4,  0x1.5c085b6ac81a4p-4, -0x1.f9c6f5a84cbeep-5,
            0x1.6d133ed3e9b17p-5,  -0x1.06070db0a1323p-5, 0x1.7688b42eed30cp-6, -0x1.0a3abeccddf45p-6,
            0x1.757aa2405fa54p-7,  -0x1.084cbc17f520ap-7, 0x1.9341bc153df5p-8,  -0x1.1729b6ebedcdep-8,
            0x1.bb6139adbe338p-10, -0x1.4e2e1d0e0627p-10, 0x1.7a31541b0ce9dp-9, -0x1.fd14274666f85p-10 } }
};
static const wf__poly trigamma_large[2] = {
    { 7,
      { 0x1.5555527c7f10bp-3, -0x1.110be2d1349cdp-5, 0x1.8479cecc53b7dp-6, -0x1.01072bba5aa5bp-5, 0x1.b2219af6548a8p-5,
        -0x1.353dc1aa64b7p-4, 0x1.c9f9856dc2edep-5 } },
    { 18,
      { 0x1.5555555555378p-3, -0x1.1111110fdfb33p-5, 0x1.86185f5ebb739p-6, -0x1.1110913c9efc2p-5, 0x1.363b8a6b4eda5p-4,
        -0x1.025524a75a32ep-2, 0x1.232d1df436c25p+0, -0x1.93f73fc0abd01p+2, 0x1.3250af49093dp+5, -0x1.c4be06792e4d4p+7,
        0x1.2ae79e8801898p+10, -0x1.4c337d7822edep+12, 0x1.298d55045b6f4p+14, -0x1.9d39f3b69d50ep+15,
        0x1.a95d45efac97dp+16, -0x1.301a333d4777ap+17, 0x1.0cc8986681cc2p+17, -0x1.b988a525cad25p+15 } }
};

/* Returns digamma x for x >= 1. u: x - 1.625; inverse: 1/x. */
static wf__ref digamma_from_1(const wf__math *m, bool wide, wf__ref x, wf__ref u, wf__ref inverse)
{
    wf__ref distance = m_subk(m, m_subk(m, u, psi_zero), psi_zero_lo);
    wf__ref near = m_mul(m, distance, wf__m_poly(m, &digamma_poly[wide], u, 0));
    wf__ref z = m_mul(m, inverse, inverse), rest = m_mul(m, z, wf__m_poly(m, &digamma_large[wide], z, 0));
    rest = m_fmak(m, inverse, 0.5, rest);
    wf__ref far = m_sub(m, wf__m_log(m, x), rest);
    return m_select(m, m_lt(m, x, 2.25), near, far);
}

/* Returns trigamma x for x >= 1. u: x - 1.5; inverse: 1/x. */
static wf__ref trigamma_from_1(const wf__math *m, bool wide, wf__ref x, wf__ref u, wf__ref inverse)
{
    wf__ref near = wf__m_poly(m, &trigamma_poly[wide], u, 0), z = m_mul(m, inverse, inverse);
    wf__ref rest = wf__m_poly(m, &trigamma_large[wide], z, 0);
    rest = m_fma(m, z, rest, m_mulk(m, inverse, 0.5));
    wf__ref far = m_fma(m, inverse, rest, inverse);
    return m_select(m, m_lt(m, x, 2), near, far);
}

wf__ref wf__m_polygamma(const wf__math *m, unsigned op, wf__ref x)
{
    static const wf__cold_id cold[2][2] = { { WF__COLD_DIGAMMA_F32, WF__COLD_DIGAMMA_F64 },
                                            { WF__COLD_TRIGAMMA_F32, WF__COLD_TRIGAMMA_F64 } };
    bool tri = op == WF__OP_trigamma;
    double centre = tri ? 1.5 : 1.625;
    wf__ref v;
    wf__math d = as_f64(m, x, &v), *w = &d;
    wf__ref below = m_lt(w, v, 1), inverse = m_div(w, m_k(w, 1), v);
    wf__ref u = m_sub(w, v, wf__m_select_k(w, below, centre - 1, centre));
    wf__ref y = tri ? trigamma_from_1(w, m->wide, v, u, inverse) : digamma_from_1(w, m->wide, v, u, inverse);
    wf__ref before = tri ? m_fma(w, inverse, inverse, y) : m_sub(w, y, inverse); /* by recurrence */
    wf__ref result = back(m, m_select(w, below, before, y)), negative = m_lt(m, x, 0);
    return wf__cold(m->ir, negative, result, cold[tri][m->wide], &x, 1);
}

/* Returns digamma(1 + y) + pi / tan(pi y) for y = -x; NaN at the poles. */
wf__ref wf__m_digamma_negative(const wf__math *m, wf__ref x)
{
    wf__ref v;
    wf__math d = as_f64(m, x, &v), *w = &d;
    wf__ref y = m_neg(w, v), tangent = wf__m_trigpi(w, WF__OP_tanpi, y), one = m_k(w, 1),
            pi = m_k(w, 0x1.921fb54442d18p+1);
    wf__ref near = m_lt(w, y, 0x1p-60), pole = m_eq(w, tangent, 0), nan = m_k(w, NAN), up = m_addk(w, y, 1);
    wf__ref num = m_select(w, near, one, pi), q = m_div(w, num, m_select(w, near, y, tangent));
    /* the quotient's rest, from the rounding errors of pi and of the quotient */
    wf__ref rest = m_fma(w, m_neg(w, q), tangent, pi), finite = m_lt(w, m_abs(w, tangent), 0x1p60), zero = m_k(w, 0);
    rest = m_addk(w, rest, 0x1.1a62633145c07p-53);
    rest = m_mul(w, rest, m_mulk(w, q, 0x1.45f306dc9c883p-2)); /* 1 / pi */
    rest = m_select(w, near, zero, m_select(w, finite, rest, zero));
    wf__ref inverse = m_div(w, one, up), r = digamma_from_1(w, m->wide, up, m_subk(w, y, 0.625), inverse);
    r = m_add(w, q, m_add(w, r, rest));
    return back(m, m_select(w, pole, nan, r));
}

/* Returns pi^2 / sin^2(pi y) - trigamma(1 + y) for y = -x; inf at the poles. */
wf__ref wf__m_trigamma_negative(const wf__math *m, wf__ref x)
{
    wf__ref v;
    wf__math d = as_f64(m, x, &v), *w = &d;
    wf__ref y = m_neg(w, v), sine = wf__m_trigpi(w, WF__OP_sinpi, y), one = m_k(w, 1), up = m_addk(w, y, 1);
    wf__ref pi2 = m_k(w, 0x1.3bd3cc9be45dep+3), square = m_mul(w, sine, sine), q = m_div(w, pi2, square);
    /* the quotient's rest, from the rounding errors of pi^2, of the square and of the quotient */
    wf__ref square_lo = m_fma(w, sine, sine, m_neg(w, square)), minus = m_neg(w, q);
    wf__ref rest = m_addk(w, m_fma(w, minus, square, pi2), 0x1.692b71366cc04p-51);
    rest = m_fma(w, minus, square_lo, rest);
    rest = m_mul(w, rest, m_mulk(w, q, 0x1.9f02f6222c72p-4)); /* 1 / pi^2 */
    wf__ref near = m_lt(w, y, 0x1p-60), edge = m_lt(w, m_abs(w, sine), 0x1p-58), inverse = m_div(w, one, y);
    q = m_select(w, near, m_mul(w, inverse, inverse), q); /* the square may vanish */
    rest = m_select(w, edge, m_k(w, 0), rest);            /* near 0 and at the poles */
    inverse = m_div(w, one, up);
    wf__ref r = trigamma_from_1(w, m->wide, up, m_subk(w, y, 0.5), inverse);
    r = m_sub(w, rest, r);
    return back(m, m_add(w, q, r));
}
