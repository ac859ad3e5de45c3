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

/* glibc has queried the processor when the program was loaded. The compiler's function would query it once more, by a
 * constructor that runs when this library is loaded, which is slow in a virtual machine. */
#if defined(__has_include)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#endif
#ifdef _SYS_PLATFORM_X86_H
bool wfl_has_avx512(void) { return x86_cpu_active(x86_cpu_AVX512F) && x86_cpu_active(x86_cpu_POPCNT); }
#else
bool wfl_has_avx512(void) { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("popcnt"); }
#endif

/* Names of the width: types, functions, and the vector instructions of signed and unsigned lanes. */
#define JOIN(a, b, c) a##b##c
#define JOINED(a, b, c) JOIN(a, b, c)
#define KEY JOINED(uint, WIDTH, _t)
#define NAME(x) JOINED(x, WIDTH, )
#define SIGNED(x) JOINED(_mm512_##x##_epi, WIDTH, )
#define UNSIGNED(x) JOINED(_mm512_##x##_epu, WIDTH, )
#define COMPARE(x) JOINED(_mm512_##x##_epu, WIDTH, _mask)

#define WIDTH 32
#define MASK __mmask16
#define LANE_IDS _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#include "keys_avx512.inc"
#undef WIDTH
#undef MASK
#undef LANE_IDS

#define WIDTH 64
#define MASK __mmask8
#define LANE_IDS _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0)
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
