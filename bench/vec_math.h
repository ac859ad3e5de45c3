/* vec_math.h - cosine, sine and exponential function by polynomials, with the coefficients of SLEEF 3.6 (Boost licence).
 * The error is about 2 ulp for |x| < 100; infinities and NaN are not handled. */
#ifndef BENCH_VEC_MATH_H
#define BENCH_VEC_MATH_H
#include "vec.h"

#if BENCH_VEC
/* x = (q + 1/2) pi + r with |r| <= pi/2, so cos x = -(-1)^q sin r */
static inline vf vf_cos(vf x)
{
    vf q = vf_round(vf_fma(x, vf_set(0.318309886f), vf_set(-0.5f))), m = vf_add(q, vf_set(0.5f));
    vf r = vf_fma(m, vf_set(-3.1414794921875f), x);
    r = vf_fma(m, vf_set(-0.00011315941810607910156f), r);
    r = vf_fma(m, vf_set(-1.9841872589410058936e-09f), r);
    vf s = vf_mul(r, r), p = vf_set(2.6083159809786593541503e-06f);
    p = vf_fma(p, s, vf_set(-0.0001981069071916863322258f));
    p = vf_fma(p, s, vf_set(0.00833307858556509017944336f));
    p = vf_fma(p, s, vf_set(-0.166666597127914428710938f));
    return vf_flip(vf_fma(vf_mul(p, s), r, r), vf_add(q, vf_set(1)));
}

static inline vf vf_exp(vf x)
{
    vf n = vf_round(vf_mul(x, vf_set(1.44269504f)));
    vf r = vf_fma(n, vf_set(-0.693145751953125f), x);
    r = vf_fma(n, vf_set(-1.428606765330187045e-06f), r);
    vf p = vf_set(0.000198527617612853646278381f);
    p = vf_fma(p, r, vf_set(0.00139304355252534151077271f));
    p = vf_fma(p, r, vf_set(0.00833336077630519866943359f));
    p = vf_fma(p, r, vf_set(0.0416664853692054748535156f));
    p = vf_fma(p, r, vf_set(0.166666671633720397949219f));
    p = vf_fma(p, r, vf_set(0.5f));
    p = vf_fma(vf_mul(r, r), p, vf_add(r, vf_set(1)));
    return vf_scale(p, n);
}

/* x = q pi/2 + r with |r| <= pi/4: both functions have the two polynomials of r, in turns. */
static inline vf vf_sincos(vf x, vf *cosine)
{
    vf q = vf_round(vf_mul(x, vf_set(0.636619772f)));
    vf r = vf_fma(q, vf_set(-1.57073974609375f), x);
    r = vf_fma(q, vf_set(-5.657970905303955078125e-05f), r);
    r = vf_fma(q, vf_set(-9.920936294705029468e-10f), r);
    vf z = vf_mul(r, r), s = vf_set(-0.000195169282960705459117889f), c = vf_set(-2.71811842367242206819355e-07f);
    s = vf_fma(s, z, vf_set(0.00833215750753879547119141f));
    s = vf_fma(s, z, vf_set(-0.166666537523269653320312f));
    s = vf_fma(vf_mul(s, z), r, r);
    c = vf_fma(c, z, vf_set(2.47990446951007470488548e-05f));
    c = vf_fma(c, z, vf_set(-0.00138888787478208541870117f));
    c = vf_fma(c, z, vf_set(0.0416666641831398010253906f));
    c = vf_fma(c, z, vf_set(-0.5f));
    c = vf_fma(c, z, vf_set(1));
    vf half = vf_mul(q, vf_set(0.5f)), whole = vf_round(vf_sub(half, vf_set(0.25f))); /* floor(q / 2) */
    vf odd = vf_sub(q, vf_add(whole, whole));
    *cosine = vf_flip(vf_choose(odd, s, c), vf_add(whole, odd));
    return vf_flip(vf_choose(odd, c, s), whole);
}
#endif
#endif
