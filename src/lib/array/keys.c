/* keys.c - elements to keys and back. Unsigned integers are their own keys, signed ones get their sign flipped; of
 * floats, the positive get the sign bit and the negative all bits flipped. A descending key is the complement.
 */
#include "keys.h"
#include <math.h>
#include <string.h>

typedef struct kind {
    int bits;
    bool is_signed, is_float;
    uint64_t infinity; /* bits of +infinity */
} kind;

static kind kind_of(wf_dtype t)
{
    kind k = { .bits = 8 * (int)wf_dtype_size(t) };
    k.is_signed = t == WF_I8 || t == WF_I16 || t == WF_I32 || t == WF_I64;
    k.is_float = wf__is_float_dtype(t);
    k.infinity = t == WF_F16 ? 0x7c00 : t == WF_BF16 ? 0x7f80 : t == WF_F32 ? 0x7f800000 : 0x7ff0000000000000;
    return k;
}

static inline uint64_t key_of(uint64_t bits, const kind *k, bool descending)
{
    uint64_t all = ~(uint64_t)0 >> (64 - k->bits), sign = (all >> 1) + 1, key = bits;
    if (k->is_float) {
        if ((bits & ~sign) > k->infinity)
            return all;
        key = bits & sign ? bits ^ all : bits ^ sign;
    } else if (k->is_signed)
        key = bits ^ sign;
    return descending ? key ^ all : key;
}

static inline uint64_t bits_of(uint64_t key, const kind *k, bool descending)
{
    uint64_t all = ~(uint64_t)0 >> (64 - k->bits), sign = (all >> 1) + 1;
    if (k->is_float && key == all)
        return k->infinity | (k->infinity & (0 - k->infinity)) >> 1; /* the quiet NaN */
    key = descending ? key ^ all : key;
    if (k->is_float)
        return key & sign ? key ^ sign : key ^ all;
    return k->is_signed ? key ^ sign : key;
}

void wf__keys_of(wf_dtype dtype, bool descending, const void *from, int64_t n, void *keys)
{
    kind k = kind_of(dtype);
    uint32_t *narrow = keys;
    uint64_t *wide = keys;
    const uint8_t *from8 = from;
    const uint16_t *from16 = from;
    const uint32_t *from32 = from;
    const uint64_t *from64 = from;
    switch (k.bits) {
    case 8:
        for (int64_t i = 0; i < n; ++i)
            narrow[i] = (uint32_t)key_of(from8[i], &k, descending);
        break;
    case 16:
        for (int64_t i = 0; i < n; ++i)
            narrow[i] = (uint32_t)key_of(from16[i], &k, descending);
        break;
    case 32:
        for (int64_t i = 0; i < n; ++i)
            narrow[i] = (uint32_t)key_of(from32[i], &k, descending);
        break;
    default:
        for (int64_t i = 0; i < n; ++i)
            wide[i] = key_of(from64[i], &k, descending);
    }
}

void wf__keys_to(wf_dtype dtype, bool descending, const void *keys, int64_t n, void *to)
{
    kind k = kind_of(dtype);
    const uint32_t *narrow = keys;
    const uint64_t *wide = keys;
    uint8_t *to8 = to;
    uint16_t *to16 = to;
    uint32_t *to32 = to;
    uint64_t *to64 = to;
    switch (k.bits) {
    case 8:
        for (int64_t i = 0; i < n; ++i)
            to8[i] = (uint8_t)bits_of(narrow[i], &k, descending);
        break;
    case 16:
        for (int64_t i = 0; i < n; ++i)
            to16[i] = (uint16_t)bits_of(narrow[i], &k, descending);
        break;
    case 32:
        for (int64_t i = 0; i < n; ++i)
            to32[i] = (uint32_t)bits_of(narrow[i], &k, descending);
        break;
    default:
        for (int64_t i = 0; i < n; ++i)
            to64[i] = bits_of(wide[i], &k, descending);
    }
}

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
    kind k = kind_of(dtype);
    uint64_t bits = bits_of(key, &k, false);
    uint32_t low = (uint32_t)bits;
    float f;
    double d;
    if (wf__key_is_nan(dtype, key))
        return (double)NAN;
    switch (dtype) {
    case WF_I8:
        return (int8_t)bits;
    case WF_I16:
        return (int16_t)bits;
    case WF_I32:
        return (int32_t)bits;
    case WF_I64:
        return (double)(int64_t)bits;
    case WF_F16:
        return half_value(bits, 5, 10);
    case WF_BF16:
        return half_value(bits, 8, 7);
    case WF_F32:
        memcpy(&f, &low, sizeof f);
        return (double)f;
    case WF_F64:
        memcpy(&d, &bits, sizeof d);
        return d;
    default:
        return (double)bits;
    }
}
