/* vec.h - the vectors of the best-effort kernels: one name for the intrinsics of AVX-512 and AVX2. BENCH_VEC is 0 if the
 * compiler's target has neither. */
#ifndef BENCH_VEC_H
#define BENCH_VEC_H
#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>
#define BENCH_VEC 512
enum { VF = 16 }; /* floats */
typedef __m512 vf;
typedef __m512d vd; /* VF / 2 doubles */
#define VEC(op) _mm512_##op
static inline vf vf_round(vf x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline vf vf_scale(vf x, vf n) /* x * 2^n, n whole */ { return _mm512_scalef_ps(x, n); }
static inline vf vf_flip(vf x, vf n) /* -x where the whole number n is odd */
{
    __m512i odd = _mm512_slli_epi32(_mm512_cvtps_epi32(n), 31);
    return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(x), odd));
}
static inline vf vf_choose(vf one, vf x, vf y) /* x where one is 1, y where it is 0 */
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(one, _mm512_setzero_ps(), _CMP_NEQ_OQ), y, x);
}
static inline vf vf_sqrt_quick(vf x) /* within 1 ulp; 0 for 0 */
{
    __mmask16 some = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NEQ_OQ);
    vf r = _mm512_maskz_rsqrt14_ps(some, x), s = _mm512_mul_ps(x, r), h = _mm512_mul_ps(r, _mm512_set1_ps(0.5f));
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(s, s, x), h, s);
}
static inline vd vd_low(vf x) /* widens the lower half */ { return _mm512_cvtps_pd(_mm512_castps512_ps256(x)); }
static inline vd vd_high(vf x) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)); }
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define BENCH_VEC 256
enum { VF = 8 };
typedef __m256 vf;
typedef __m256d vd;
#define VEC(op) _mm256_##op
static inline vf vf_round(vf x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline vf vf_scale(vf x, vf n)
{
    n = _mm256_max_ps(n, _mm256_set1_ps(-127)); /* flushes denormal results to zero */
    __m256i e = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(x, _mm256_castsi256_ps(e));
}
static inline vf vf_flip(vf x, vf n)
{
    return _mm256_xor_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtps_epi32(n), 31)));
}
static inline vf vf_choose(vf one, vf x, vf y)
{
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(one, _mm256_setzero_ps(), _CMP_NEQ_OQ));
}
static inline vf vf_sqrt_quick(vf x) { return _mm256_sqrt_ps(x); }
static inline vd vd_low(vf x) { return _mm256_cvtps_pd(_mm256_castps256_ps128(x)); }
static inline vd vd_high(vf x) { return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)); }
#else
#define BENCH_VEC 0
#endif

#if BENCH_VEC
static inline vf vf_load(const float *p) { return VEC(loadu_ps)(p); }
static inline void vf_store(float *p, vf x) { VEC(storeu_ps)(p, x); }
static inline vf vf_set(float x) { return VEC(set1_ps)(x); }
static inline vf vf_fma(vf a, vf b, vf c) { return VEC(fmadd_ps)(a, b, c); }
static inline vf vf_mul(vf a, vf b) { return VEC(mul_ps)(a, b); }
static inline vf vf_add(vf a, vf b) { return VEC(add_ps)(a, b); }
static inline vf vf_sub(vf a, vf b) { return VEC(sub_ps)(a, b); }
static inline vf vf_div(vf a, vf b) { return VEC(div_ps)(a, b); }
static inline vf vf_max(vf a, vf b) { return VEC(max_ps)(a, b); }
static inline vd vd_add(vd a, vd b) { return VEC(add_pd)(a, b); }
static inline double vd_total(vd x)
{
    double part[VF / 2], sum = 0;
    VEC(storeu_pd)(part, x);
    for (int i = 0; i < VF / 2; ++i)
        sum += part[i];
    return sum;
}
#endif
#endif
