/* keys.c - elements to keys and back. Unsigned integers are their own keys, signed ones get their sign flipped; of
 * floats, the positive get the sign bit and the negative all bits flipped. A descending key is the complement.
 */
#include "keys.h"
#include <math.h>

/* The loops have the facts of their dtype as constants, and so become vector code. U: elements as bits; K: keys. */
#define TO_KEYS(U, K, is_signed, infinity)                                                           \
    do {                                                                                             \
        const U *x = from, all = (U) ~(U)0, sign = (U)(all ^ all >> 1), down = descending ? all : 0; \
        K *key = keys;                                                                               \
        for (int64_t i = 0; i < n; ++i) {                                                            \
            U bits = x[i], flip = (infinity)    ? (U)((U)(0 - (bits >> (8 * sizeof(U) - 1))) | sign) \
                                  : (is_signed) ? sign                                               \
                                                : 0;                                                 \
            bool nan = (infinity) && (U)(bits & (U)~sign) > (U)(infinity);                           \
            key[i] = nan ? all : (U)(bits ^ flip ^ down);                                            \
        }                                                                                            \
    } while (0)

#define FROM_KEYS(U, K, is_signed, infinity)                                                                      \
    do {                                                                                                          \
        const K *key = keys;                                                                                      \
        const U all = (U) ~(U)0, sign = (U)(all ^ all >> 1), down = descending ? all : 0;                         \
        const U quiet = (U)((infinity) | ((infinity) & (0 - (infinity))) >> 1);                                   \
        U *x = to;                                                                                                \
        for (int64_t i = 0; i < n; ++i) {                                                                         \
            U up = (U)((U)key[i] ^ down), flip = (infinity)    ? (U)((U)((up >> (8 * sizeof(U) - 1)) - 1) | sign) \
                                                 : (is_signed) ? sign                                             \
                                                               : 0;                                               \
            x[i] = (infinity) && (U)key[i] == all ? quiet : (U)(up ^ flip);                                       \
        }                                                                                                         \
    } while (0)

/* Calls DO(U, K, is_signed, infinity) with those of the dtype. */
#define FOR_DTYPE(dtype, DO)                                        \
    switch (dtype) {                                                \
    case WF_I8:                                                     \
        DO(uint8_t, uint32_t, true, 0u);                            \
        break;                                                      \
    case WF_I16:                                                    \
        DO(uint16_t, uint32_t, true, 0u);                           \
        break;                                                      \
    case WF_U16:                                                    \
        DO(uint16_t, uint32_t, false, 0u);                          \
        break;                                                      \
    case WF_I32:                                                    \
        DO(uint32_t, uint32_t, true, 0u);                           \
        break;                                                      \
    case WF_U32:                                                    \
        DO(uint32_t, uint32_t, false, 0u);                          \
        break;                                                      \
    case WF_I64:                                                    \
        DO(uint64_t, uint64_t, true, (uint64_t)0);                  \
        break;                                                      \
    case WF_U64:                                                    \
        DO(uint64_t, uint64_t, false, (uint64_t)0);                 \
        break;                                                      \
    case WF_F16:                                                    \
        DO(uint16_t, uint32_t, true, 0x7c00u);                      \
        break;                                                      \
    case WF_BF16:                                                   \
        DO(uint16_t, uint32_t, true, 0x7f80u);                      \
        break;                                                      \
    case WF_F32:                                                    \
        DO(uint32_t, uint32_t, true, 0x7f800000u);                  \
        break;                                                      \
    case WF_F64:                                                    \
        DO(uint64_t, uint64_t, true, (uint64_t)0x7ff0000000000000); \
        break;                                                      \
    default: /* u8 and bool */                                      \
        DO(uint8_t, uint32_t, false, 0u);                           \
    }

void wf__keys_of(wf_dtype dtype, bool descending, const void *from, int64_t n, void *keys) { FOR_DTYPE(dtype, TO_KEYS) }

void wf__keys_to(wf_dtype dtype, bool descending, const void *keys, int64_t n, void *to) { FOR_DTYPE(dtype, FROM_KEYS) }

bool wf__key_is_nan(wf_dtype dtype, uint64_t key)
{
    return wf__is_float_dtype(dtype) && key == ~(uint64_t)0 >> (64 - 8 * wf_dtype_size(dtype));
}

static double half_value(uint64_t bits, int exponent_bits, int fraction_bits) /* finite or infinite */
{
    int bias = (1 << (exponent_bits - 1)) - 1, exponent = (int)(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    double fraction = (double)(bits & ((1u << fraction_bits) - 1)), one = (double)(1 << fraction_bits);
    double x = exponent == 2 * bias + 1 ? (double)INFINITY
               : exponent               ? ldexp((one + fraction) / one, exponent - bias)
                                        : ldexp(fraction / one, 1 - bias);
    return bits >> (exponent_bits + fraction_bits) & 1 ? -x : x;
}

double wf__key_value(wf_dtype dtype, uint64_t key)
{
    uint32_t low = (uint32_t)key;
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
    } x;
    if (wf__key_is_nan(dtype, key))
        return (double)NAN;
    wf__keys_to(dtype, false, wf__key_is_wide(dtype) ? (const void *)&key : &low, 1, &x);
    switch (dtype) {
    case WF_I8:
        return x.i8;
    case WF_I16:
        return x.i16;
    case WF_U16:
        return x.u16;
    case WF_I32:
        return x.i32;
    case WF_U32:
        return x.u32;
    case WF_I64:
        return (double)x.i64;
    case WF_U64:
        return (double)x.u64;
    case WF_F16:
        return half_value(x.u16, 5, 10);
    case WF_BF16:
        return half_value(x.u16, 8, 7);
    case WF_F32:
        return (double)x.f32;
    case WF_F64:
        return x.f64;
    default:
        return x.u8;
    }
}
