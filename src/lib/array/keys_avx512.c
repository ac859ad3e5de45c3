/* keys_avx512.c - sorting keys with AVX-512: includes keys_avx512.inc for 32 and for 64 bits. Other processors sort by
 * digits (keys_sort.c), with the same result. */
#include "keys.h"
#include <string.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#define ALWAYS_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
/* clang takes minutes to compile the networks with checks; gcc compiles them with checks. */
#define AVX512 \
    __attribute__((target("avx512f,popcnt"), no_sanitize("address", "undefined", "coverage", "thread", "memory")))
#else
#define UNROLL _Pragma("GCC unroll 16")
#define AVX512 __attribute__((target("avx512f,popcnt")))
#endif
enum { FEW = 8 };
#define VECTOR __m512i

bool wfl_has_avx512(void) { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("popcnt"); }

#define KEY uint32_t
#define NAME(x) x##32
#define MASK __mmask16
#define LANE_IDS _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define SET1(x) _mm512_set1_epi32((int)(x))
#define PERMUTE _mm512_permutexvar_epi32
#define MIN _mm512_min_epu32
#define MAX _mm512_max_epu32
#define MASK_MAX _mm512_mask_max_epu32
#define MASK_LOAD _mm512_mask_loadu_epi32
#define MASK_STORE _mm512_mask_storeu_epi32
#define LESS _mm512_cmplt_epu32_mask
#define LESS_OR_EQUAL _mm512_cmple_epu32_mask
#define COMPRESS _mm512_maskz_compress_epi32
#include "keys_avx512.inc"
#undef KEY
#undef NAME
#undef MASK
#undef LANE_IDS
#undef SET1
#undef PERMUTE
#undef MIN
#undef MAX
#undef MASK_MAX
#undef MASK_LOAD
#undef MASK_STORE
#undef LESS
#undef LESS_OR_EQUAL
#undef COMPRESS

#define KEY uint64_t
#define NAME(x) x##64
#define MASK __mmask8
#define LANE_IDS _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0)
#define SET1(x) _mm512_set1_epi64((long long)(x))
#define PERMUTE _mm512_permutexvar_epi64
#define MIN _mm512_min_epu64
#define MAX _mm512_max_epu64
#define MASK_MAX _mm512_mask_max_epu64
#define MASK_LOAD _mm512_mask_loadu_epi64
#define MASK_STORE _mm512_mask_storeu_epi64
#define LESS _mm512_cmplt_epu64_mask
#define LESS_OR_EQUAL _mm512_cmple_epu64_mask
#define COMPRESS _mm512_maskz_compress_epi64
#include "keys_avx512.inc"
#else
bool wfl_has_avx512(void) { return false; }
bool wfl_sort_avx512_32(uint32_t *key, uint32_t *other, int64_t n, int splits)
{
    (void)key, (void)other, (void)splits;
    return n <= 1;
}
bool wfl_sort_avx512_64(uint64_t *key, uint64_t *other, int64_t n, int splits)
{
    (void)key, (void)other, (void)splits;
    return n <= 1;
}
#endif
