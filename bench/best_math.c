/* best_math.c - cos(x/a + b) + exp(-x^2) sqrt(x) by the polynomials of vec_math.h. */
#include "kernels.h"
#include "vec_math.h"

#if BENCH_VEC
void best_math(float *out, const float *x, float a, float b, int64_t lo, int64_t hi)
{
    vf scale = vf_set(1 / a), shift = vf_set(b), zero = vf_set(0);
    int64_t i = lo;
    for (; i + 2 * VF <= hi; i += 2 * VF)
        for (int k = 0; k < 2 * VF; k += VF) {
            vf v = vf_load(x + i + k), e = vf_exp(vf_sub(zero, vf_mul(v, v)));
            vf_store(out + i + k, vf_fma(e, vf_sqrt_quick(v), vf_cos(vf_fma(v, scale, shift))));
        }
    plain_math(out, x, a, b, i, hi);
}

void best_math_ieee(float *out, const float *x, float a, float b, int64_t lo, int64_t hi)
{
    vf divisor = vf_set(a), shift = vf_set(b), zero = vf_set(0);
    int64_t i = lo;
    for (; i + 2 * VF <= hi; i += 2 * VF)
        for (int k = 0; k < 2 * VF; k += VF) {
            vf v = vf_load(x + i + k), e = vf_exp(vf_sub(zero, vf_mul(v, v)));
            vf c = vf_cos(vf_add(VEC(div_ps)(v, divisor), shift));
            vf_store(out + i + k, vf_add(c, vf_mul(e, VEC(sqrt_ps)(v))));
        }
    plain_math(out, x, a, b, i, hi);
}
#endif
