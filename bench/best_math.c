/* best_math.c - cos(x/a + b) + exp(-x^2) sqrt(x) by polynomials, with the coefficients of SLEEF 3.6 (Boost licence). The
 * error is about 2 ulp for |x/a + b| < 100; infinities and NaN are not handled. */
#include "kernels.h"
#include "vec.h"

#if BENCH_VEC
/* x = (q + 1/2) pi + r with |r| <= pi/2, so cos x = -(-1)^q sin r */
static inline vf cosine(vf x)
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

static inline vf exponential(vf x)
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

void best_math(float *out, const float *x, float a, float b, int64_t lo, int64_t hi)
{
    vf scale = vf_set(1 / a), shift = vf_set(b), zero = vf_set(0);
    int64_t i = lo;
    for (; i + 2 * VF <= hi; i += 2 * VF)
        for (int k = 0; k < 2 * VF; k += VF) {
            vf v = vf_load(x + i + k), e = exponential(vf_sub(zero, vf_mul(v, v)));
            vf_store(out + i + k, vf_fma(e, vf_sqrt_quick(v), cosine(vf_fma(v, scale, shift))));
        }
    plain_math(out, x, a, b, i, hi);
}

void best_math_ieee(float *out, const float *x, float a, float b, int64_t lo, int64_t hi)
{
    vf divisor = vf_set(a), shift = vf_set(b), zero = vf_set(0);
    int64_t i = lo;
    for (; i + 2 * VF <= hi; i += 2 * VF)
        for (int k = 0; k < 2 * VF; k += VF) {
            vf v = vf_load(x + i + k), e = exponential(vf_sub(zero, vf_mul(v, v)));
            vf c = cosine(vf_add(VEC(div_ps)(v, divisor), shift));
            vf_store(out + i + k, vf_add(c, vf_mul(e, VEC(sqrt_ps)(v))));
        }
    plain_math(out, x, a, b, i, hi);
}
#endif
