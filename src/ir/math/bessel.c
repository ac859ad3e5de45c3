/* bessel.c - the Bessel functions j0, j1, i0 and i1.
 *
 * j0 and j1 below 8: polynomials in x^2, in x - 3.875 or x - 6.625, or in x^2 - 32 with x^2 as a sum of two; beyond,
 * sqrt(2 / (pi x)) (p cos a - q/x sin a) with a = x - pi/4 or x - 3 pi/4 and p, q polynomials in 1/x^2 (Abramowitz and
 * Stegun 9.2.5), cos a and sin a from sin x and cos x. Near a zero the absolute error counts, not the relative one. f32
 * is computed in f64.
 *
 * i0 below 8: 1 + z p(z) with z = x^2/4; i1: x/2 (1 + z p(z)). Beyond, e^x / sqrt(x) p(1/x - 1/16).
 */
#include "ir/math/math.h"
#include <math.h>

/* By tools/minimax.py, absolute. f32: j0(x) and j1(x)/x below 8 in x^2 - 32: 2^-33.6, 2^-38.2. f64: j0(x) and j1(x)
 * from 2.5 in x - 3.875, from 5.25 in x - 6.625: 2^-59.407, 2^-55.562, 2^-58.631, 2^-58.085; (j0(x) - 1)/x^2 and
 * (j1(x)/x - 1/2)/x^2 below 2.5 in x^2: 2^-63.422, 2^-68.022. */
static const wf__poly j0_short = { 12,
                                   { 0x1.776fc5ed87d97p-5, 0x1.dc5071f187691p-6, -0x1.4c042a4623baep-11,
                                     -0x1.9dbdd0fc27ccfp-16, 0x1.09d33b6795475p-20, -0x1.03d2d9c4371f4p-26,
                                     0x1.2afc5945060f6p-33, -0x1.d27f5781a79aep-41, 0x1.09ea2f54cfaap-48,
                                     -0x1.d10d506f453c1p-57, 0x1.46c4a162325a8p-65, -0x1.708041d9eded6p-74 } };
static const wf__poly j0_low = {
    17,
    { -0x1.9c0a65186bbbp-2, 0x1.1c011f1f5d982p-6, 0x1.9775bb4d97a3ep-3, -0x1.4495913cce947p-6, -0x1.add97e09b286ap-7,
      0x1.28a580f700a3p-10, 0x1.7e05b3fc7d7c1p-12, -0x1.c3cc5fac05f9bp-16, -0x1.7a7b588ef7156p-18,
      0x1.849aa8c32a94cp-22, 0x1.df84da0de3ea1p-25, -0x1.b1a842c56ee66p-29, -0x1.a64425ce4d3c6p-32,
      0x1.548b48547011ep-36, 0x1.116cc3813fad7p-39, -0x1.82ed8fb296ae8p-44, -0x1.087998e230463p-47 }
};
static const wf__poly j0_high = {
    17,
    { 0x1.1bb9d70b88b74p-2, 0x1.e1d23d58ef741p-4, -0x1.2de86a4405ae3p-3, -0x1.80bef80be7d3bp-7, 0x1.8d9d64cd76146p-7,
      0x1.eb88f0e3f2fcep-13, -0x1.891710b967c2bp-12, -0x1.71313472c9769p-21, 0x1.9cf1c6ca3c467p-18,
      -0x1.02ef8e084d1efp-25, -0x1.0f1b9bcb75b0fp-24, 0x1.0e7f9c7379104p-31, 0x1.e8d73b85ca4f8p-32,
      -0x1.1af75513af1a5p-38, -0x1.423e39faff581p-39, 0x1.7c2b846b30a38p-46, 0x1.4af58055e4422p-47 }
};
static const wf__poly j0_near = { 10,
                                  { -0x1p-2, 0x1.ffffffffffffep-7, -0x1.c71c71c71c62p-12, 0x1.c71c71c716411p-18,
                                    -0x1.234567885faeap-24, 0x1.02e85bb54b6b1p-31, -0x1.522a29b5dccc1p-39,
                                    0x1.52250475e2ecbp-47, -0x1.0a8b870ad37d7p-55, 0x1.3eed5d4ded921p-64 } };
static const wf__poly j1_short = { 12,
                                   { -0x1.dc5071f18fb15p-5, 0x1.4c042a76c26ffp-9, 0x1.364e5cbd9e9eep-13,
                                     -0x1.09d33c832cabp-17, 0x1.44c79030913bep-23, -0x1.c07a4d310c243p-30,
                                     0x1.982f6d81b2651p-37, -0x1.09f34c79c39f1p-44, 0x1.059756b12bfb2p-52,
                                     -0x1.9365ad650906p-61, 0x1.fac179bf02452p-70, -0x1.0335a408dc81ep-78 } };
static const wf__poly j1_low = {
    17,
    { -0x1.1c011f1f5d985p-6, -0x1.9775bb4d97a3ep-2, 0x1.e6e059db35e6bp-5, 0x1.add97e09b2859p-5, -0x1.72cee134c402cp-8,
      -0x1.1e8446fd5d99cp-9, 0x1.8b52d3b86d48p-13, 0x1.7a7b588e98afbp-15, -0x1.b52dfef36614cp-19,
      -0x1.2bb3082779f4fp-21, 0x1.2a24041b0b096p-25, 0x1.3cb310157b9bep-28, -0x1.14ce594ca00a5p-32,
      -0x1.de79c323daf9cp-36, 0x1.74f76fc52fff8p-40, 0x1.0822c76ac1b9dp-43, -0x1.725ac1787f50ep-48 }
};
static const wf__poly j1_high = {
    17,
    { -0x1.e1d23d58ef741p-4, 0x1.2de86a4405ad2p-2, 0x1.208f3a08eddd3p-5, -0x1.8d9d64cd75959p-5, -0x1.3335968e74e94p-10,
      0x1.26d14c8ae6194p-9, 0x1.430b0dd5954c5p-18, -0x1.9cf1c6b2ce327p-15, 0x1.234d81fb3f52ap-22, 0x1.52e27b664069dp-21,
      -0x1.73f02788240f2p-28, -0x1.6e9ee89849ed6p-28, 0x1.cc0e6e38746e7p-35, 0x1.1984ad3f6eeb6p-35,
      -0x1.6f1cc2157469dp-42, -0x1.3ac01b8e552d7p-43, 0x1.86c4b3e6fa11p-50 }
};
static const wf__poly j1_near = { 10,
                                  { -0x1p-4, 0x1.5555555555555p-9, -0x1.c71c71c71c6c8p-15, 0x1.6c16c16c14ae8p-21,
                                    -0x1.845c8a0c0667fp-28, 0x1.27e4fb3fb02cdp-35, -0x1.522a325dc4e5dp-43,
                                    0x1.2c93d4cbebd2p-51, -0x1.aaa41b77ebe51p-60, 0x1.d29a0d8d1f363p-69 } };
/* p and q of j0: 2^-33.561 and 2^-55.527, 2^-31.457 and 2^-52.683 */
static const wf__poly j0_p[2] = { { 5,
                                    { 0x1.ffffffff51a89p-1, -0x1.1fffb8093b6a1p-4, 0x1.cac64360fb6edp-4,
                                      -0x1.1647cd5d01da9p-1, 0x1.c1a40dfa37e5ap+1 } },
                                  { 12,
                                    { 0x1p+0, -0x1.1ffffffffbcc3p-4, 0x1.cb5fffbf5f608p-4, -0x1.251ebc3912b59p-1,
                                      0x1.84ae1163e4bc2p+2, -0x1.b687ed07df0bap+6, 0x1.6e9adb89d08f9p+11,
                                      -0x1.818a564e940e2p+16, 0x1.9d0851e44a11bp+21, -0x1.6c5fc3f61a2b1p+26,
                                      0x1.ad096b26ec366p+30, -0x1.e248b9476ca1cp+33 } } };
static const wf__poly j0_q[2] = { { 5,
                                    { -0x1.ffffffe893d24p-4, 0x1.2bfec78861901p-4, -0x1.cfcc73723a486p-3,
                                      0x1.9925dc7380b4cp+0, -0x1.91889da06df17p+3 } },
                                  { 12,
                                    { -0x1.ffffffffffff6p-4, 0x1.2bffffffcf755p-4, -0x1.d11dfec69bbc5p-3,
                                      0x1.ba4b91c2cb452p+0, -0x1.85f5451040b8fp+4, 0x1.11fb07b17c9p+9,
                                      -0x1.0ed941c1476edp+14, 0x1.3f86e48755891p+19, -0x1.6eb59c7bf76e5p+24,
                                      0x1.5034771dc0392p+29, -0x1.94851b644f987p+33, 0x1.cc848af5483dep+36 } } };
/* p and q of j1: 2^-33.396 and 2^-55.442, 2^-31.306 and 2^-52.444 */
static const wf__poly j1_p[2] = { { 5,
                                    { 0x1.0000000061b7fp+0, 0x1.dfffaf678f95ap-4, -0x1.26fa0116e863ap-3,
                                      0x1.49d702a3257bdp-1, -0x1.020cc8b737ad6p+2 } },
                                  { 12,
                                    { 0x1p+0, 0x1.dffffffffb8a7p-4, -0x1.274fffddb85efp-3, 0x1.5a6a2992b90cap-1,
                                      -0x1.b8821c5c4c932p+2, 0x1.e4c323175a903p+6, -0x1.8eda1cc0c3252p+11,
                                      0x1.9f5e518caeb19p+16, -0x1.ba885ad0a9a69p+21, 0x1.85387e37aab61p+26,
                                      -0x1.c98305e7ce4a6p+30, 0x1.00e1fb90612fp+34 } } };
static const wf__poly j1_q[2] = { { 5,
                                    { 0x1.7ffffff97f90bp-2, -0x1.a3fea56255f82p-4, 0x1.1b81fa9e17fcap-2,
                                      -0x1.d9ab29bafeba3p+0, 0x1.c65441554ca93p+3 } },
                                  { 12,
                                    { 0x1.7fffffffffffdp-2, -0x1.a3ffffffcaa86p-4, 0x1.1c3cff56f619p-2,
                                      -0x1.fe5742bfb87bbp+0, 0x1.b3d7a338bb09fp+4, -0x1.2c21488d52978p+9,
                                      0x1.24cff064eb03ap+14, -0x1.569610f990221p+19, 0x1.873d93534ff24p+24,
                                      -0x1.65a437e6cd542p+29, 0x1.ad83804e3aa64p+33, -0x1.e85b55bccb461p+36 } } };
/* i0: 2^-26.619 and 2^-65.488; 2^-25.244 and 2^-53.801 */
static const wf__poly i0_poly[2] = { { 9,
                                       { 0x1.000002p+0, 0x1.ffffb2p-3, 0x1.c71ffp-6, 0x1.c6f90cp-10, 0x1.24014cp-14,
                                         0x1.fcf6c4p-20, 0x1.715594p-25, 0x1.a9e2b6p-32, 0x1.05e5a8p-36 } },
                                     { 16,
                                       { 0x1p+0, 0x1p-2, 0x1.c71c71c71c71cp-6, 0x1.c71c71c71c739p-10,
                                         0x1.23456789aba0ep-14, 0x1.02e85c089d85fp-19, 0x1.522a43f5b1e1ap-25,
                                         0x1.522a4404a6ce9p-31, 0x1.0b3131a90a99ap-37, 0x1.56019c0917ad3p-44,
                                         0x1.69c95e5cd0378p-51, 0x1.41a63eaab04b7p-58, 0x1.e630b6984a2bdp-66,
                                         0x1.43b3f66ba3e69p-73, 0x1.3f7b3b93b051cp-81, 0x1.127620f0f67b1p-88 } } };
static const wf__poly i0_large[2] = {
    { 7, { 0x1.9bd428p-2, 0x1.b87988p-5, 0x1.1dd658p-5, 0x1.74e45ep-5, 0x1.60d6c4p-4, 0x1.848b5p-2, 0x1.b02e9cp+1 } },
    { 24, { 0x1.9bd428ad249a5p-2,   0x1.b87969bb93b66p-5,  0x1.1daa72b5c4af5p-5,   0x1.75e5ee7245cddp-5,
            0x1.8e513cabad52cp-4,   0x1.3f49a5957cd1bp-2,  0x1.7d0cbeba23839p+0,   0x1.51cf48c524ae8p+3,
            0x1.72881ef31f3a1p+6,   0x1.037d85fa4396dp+9,  -0x1.d70898a7b94aap+12, -0x1.cc6038a42ad81p+17,
            -0x1.597bfecebb274p+20, 0x1.0298690115e55p+25, 0x1.c1d82348b1ff1p+28,  -0x1.dbaf8a42ab5a5p+31,
            -0x1.39a5cc0c8eb0ap+36, 0x1.94339b86e07fdp+38, 0x1.2d39aea5e658fp+43,  -0x1.2754bc3e58cbbp+45,
            -0x1.6c194b6927af7p+49, 0x1.3226a9ea99391p+51, 0x1.9bd47e5cdca6fp+54,  -0x1.3b7d7a38f2d31p+56 } }
};

/* i1: 2^-28.268 and 2^-63.025; 2^-26.709 and 2^-54.982 */
static const wf__poly i1_poly[2] = { { 9,
                                       { 0x1p-1, 0x1.55554ap-4, 0x1.c71dbap-8, 0x1.6c0916p-12, 0x1.84ede8p-17,
                                         0x1.2484d6p-22, 0x1.697ea6p-28, 0x1.a12cb8p-35, 0x1.8f8ffcp-40 } },
                                     { 16,
                                       { 0x1p-1, 0x1.5555555555555p-4, 0x1.c71c71c71c73p-8, 0x1.6c16c16c16a47p-12,
                                         0x1.845c8a0ce8043p-17, 0x1.27e4fb775a4b1p-22, 0x1.522a43fa5a298p-28,
                                         0x1.2c97589ead571p-34, 0x1.ab81ef7691f2dp-41, 0x1.f1764c0c6c2dbp-48,
                                         0x1.e266a59b7b01p-55, 0x1.8bb753ab0bfe1p-62, 0x1.16c64ad96b70bp-69,
                                         0x1.51c5a4ec63888p-77, 0x1.62d36a78972f9p-85, 0x1.b99ed06058074p-93 } } };
static const wf__poly i1_large[2] = {
    { 7,
      { 0x1.8ebe78p-2, -0x1.3f796ap-3, -0x1.cbb77p-5, -0x1.f77baep-5, -0x1.f8986cp-4, -0x1.c33d7ep-2,
        -0x1.8adb4ep+0 } },
    { 24, { 0x1.8ebe783a8403p-2,   -0x1.3f796198ee628p-3,  -0x1.cbc54df1e269ep-5,  -0x1.f89c2306776d4p-5,
            -0x1.ec8e11817dd2p-4,  -0x1.76137e450f3c7p-2,  -0x1.ad8bd31367dd1p+0,  -0x1.727a80c9cc139p+3,
            -0x1.91cf7c52f40e5p+6, -0x1.21881d7df85b3p+9,  0x1.d4d56b9d35581p+12,  0x1.e20a31ddbddf3p+17,
            0x1.83c06b89a21b2p+20, -0x1.062819453c68bp+25, -0x1.e605cbde7c08fp+28, 0x1.d40cd5c9a1b28p+31,
            0x1.51b5ec0ea7f97p+36, -0x1.85666aca337c7p+38, -0x1.461cf704f04bap+43, 0x1.1b05cc7576098p+45,
            0x1.8d8c25fc00108p+49, -0x1.27d2fc8ba1a81p+51, -0x1.c5c033127fe09p+54, 0x1.35920f1a8e685p+56 } }
};

static wf__ref bessel_j(const wf__math *m, bool wide, unsigned op, wf__ref x)
{
    bool one = op == WF__OP_j1;
    wf__ref ax = m_abs(m, x), b = m_min(m, ax, 8), square = m_mul(m, b, b);
    wf__ref y;
    if (wide) { /* the smaller the range of a shifted argument, the less its polynomial cancels */
        wf__ref near = wf__m_poly(m, one ? &j1_near : &j0_near, square, 0);
        near = m_fma(m, square, near, m_k(m, one ? 0.5 : 1));
        wf__ref low_part = wf__m_poly(m, one ? &j1_low : &j0_low, m_subk(m, b, 3.875), 0);
        wf__ref below = m_lt(m, ax, 2.5);
        y = m_select(m, below, one ? m_mul(m, near, ax) : near, low_part);
        wf__ref high_part = wf__m_poly(m, one ? &j1_high : &j0_high, m_subk(m, b, 6.625), 0);
        y = m_select(m, m_gt(m, ax, 5.25), high_part, y);
    } else {
        wf__ref low = m_fma(m, b, b, m_neg(m, square));
        y = wf__m_poly(m, one ? &j1_short : &j0_short, m_add(m, m_subk(m, square, 32), low), 0);
        y = one ? m_mul(m, y, ax) : y;
    }
    /* `raised` is 2^20 / (pi x), which is not denormal. Its rounding error counts in the root only. */
    wf__ref scale = m_k(m, 0x1.45f306dc9c883p+18), raised = m_div(m, scale, m_max(m, ax, 8));
    wf__ref inverse = m_mulk(m, raised, 0x1.921fb54442d18p-19);
    wf__ref z = m_mul(m, inverse, inverse);
    wf__ref p = wf__m_poly(m, one ? &j1_p[wide] : &j0_p[wide], z, 0),
            q = wf__m_poly(m, one ? &j1_q[wide] : &j0_q[wide], z, 0);
    wf__ref s = wf__m_trig(m, WF__OP_sin, ax), c = wf__m_trig(m, WF__OP_cos, ax), sum = m_add(m, s, c),
            difference = m_sub(m, s, c), lead = one ? difference : sum;
    q = m_mul(m, q, inverse);
    q = m_mul(m, q, one ? sum : m_neg(m, difference));
    if (wide) { /* the rounding error of `lead` (Knuth); p is nearly 1 */
        c = one ? m_neg(m, c) : c;
        wf__ref back = m_sub(m, lead, s), s_lost = m_sub(m, s, m_sub(m, lead, back)), c_lost = m_sub(m, c, back);
        q = m_add(m, q, m_add(m, s_lost, c_lost));
    }
    wf__ref wave = m_fma(m, p, lead, q), size = m_mulk(m, m_op1(m, WF__OP_sqrt, raised), 0x1p-10);
    wf__ref small = m_lt(m, ax, 8), zero = m_k(m, 0), infinite = m_eq(m, ax, INFINITY);
    y = m_select(m, small, y, m_mul(m, size, wave));
    y = m_select(m, infinite, zero, y);
    return one ? wf__m_flip_sign(m, y, m_bits(m, x)) : y;
}

wf__ref wf__m_bessel_j(const wf__math *m, unsigned op, wf__ref x)
{
    if (m->wide)
        return bessel_j(m, true, op, x);
    wf__ref v = wf__cast(m->ir, x, WF_F64);
    wf__math d = wf__math_of(m->ir, v);
    return wf__cast(m->ir, bessel_j(&d, false, op, v), WF_F32);
}

wf__ref wf__m_bessel_i(const wf__math *m, unsigned op, wf__ref x)
{
    static const double most[2] = { 93, 720 };
    enum { DOWN = 32 };
    bool first = op == WF__OP_i1;
    const wf__poly *small_poly = first ? i1_poly : i0_poly, *large_poly = first ? i1_large : i0_large;
    wf__ref ax = m_min(m, m_abs(m, x), most[m->wide]), half = m_mulk(m, ax, 0.5), z = m_mul(m, half, half);
    wf__ref near = wf__m_poly(m, &small_poly[m->wide], z, 0), one = m_k(m, 1);
    /* The rounding error of z counts up to 3.7 times. It is corrected by d log(i0) / dz or d log(i1(x)/x) / dz, which
     * are 0.72 - 0.062 x and 0.46 - 0.0325 x to 15 % where the error matters. */
    wf__ref lost = m_fma(m, half, half, m_neg(m, z)), slope = m_k(m, first ? 0.46 : 0.72);
    slope = m_fmak(m, ax, first ? -0.0325 : -0.062, slope);
    wf__ref correction = m_mul(m, lost, slope);
    if (first) {
        wf__ref rest = m_mul(m, z, near);
        rest = m_fma(m, rest, correction, correction);
        near = m_fma(m, half, m_fma(m, z, near, rest), half);
    } else {
        near = m_fma(m, z, near, one);
        near = m_fma(m, near, correction, near);
    }
    wf__m_power e = wf__m_exp_reduced(m, ax, m_k(m, m->magic + m->bias - DOWN));
    wf__ref inverse = m_div(m, one, m_max(m, ax, 8)), root = m_op1(m, WF__OP_sqrt, inverse);
    wf__ref factor = m_mul(m, root, wf__m_poly(m, &large_poly[m->wide], m_subk(m, inverse, 0.0625), 0));
    wf__ref far = m_mul(m, m_fma(m, e.expm1, factor, factor), e.scale); /* exact: scale is a power of two */
    far = m_mulk(m, far, 0x1p32);
    wf__ref small = m_lt(m, ax, 8);
    wf__ref y = m_select(m, small, near, far);
    return first ? wf__m_flip_sign(m, y, m_bits(m, x)) : y;
}
