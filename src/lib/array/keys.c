/* keys.c - converts elements to keys and back. An unsigned integer is its own key, a signed one gets its sign bit
 * flipped. A positive float gets its sign bit flipped, a negative one all bits. A descending key is the complement. The
 * conversions exist twice: as loops over memory, for rows that the processor sorts in its cache, and as values of a
 * recording.
 */
#include "keys.h"

bool wfl_array_ordered(const wf_array *array, const char *function)
{
    if (!array || !wfl_array_known(array, function))
        return false;
    if (!wfl_is_complex_dtype(wf_array_dtype(array)))
        return true;
    wfl_array_fail(wf_array_context(array), WF_ERR_DTYPE, "%s: complex numbers have no order", function);
    return false;
}

/* The properties of the dtype are constants of each loop, which so becomes vector code. U: elements as bits; K: keys.
 */
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

/* Expands to DO(U, K, is_signed, infinity) of the dtype. */
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

void wfl_keys_of(wf_dtype dtype, bool descending, const void *from, int64_t n, void *keys) { FOR_DTYPE(dtype, TO_KEYS) }

void wfl_keys_to(wf_dtype dtype, bool descending, const void *keys, int64_t n, void *to) { FOR_DTYPE(dtype, FROM_KEYS) }

/* ---- of values ---- */
typedef struct facts { /* the properties of a dtype; bit patterns are those of keys */
    wf_dtype bits, key;
    bool is_signed;
    uint64_t infinity, quiet, sign, all;
} facts;

static facts facts_of(wf_dtype dtype)
{
    static const wf_dtype bits[] = { [1] = WF_U8, [2] = WF_U16, [4] = WF_U32, [8] = WF_U64 };
    facts f = { .bits = bits[wf_dtype_size(dtype)], .key = wfl_key_dtype(dtype), .all = wfl_largest_key(dtype) };
    f.sign = f.all ^ f.all >> 1;
#define FACTS(U, K, has_sign, inf) \
    f.is_signed = has_sign;        \
    f.infinity = inf
    FOR_DTYPE(dtype, FACTS)
    f.quiet = f.infinity | (f.infinity & (0 - f.infinity)) >> 1;
    return f;
}

static wf_val bits_of(wf_graph *g, const facts *f, uint64_t bits) { return wf_const_i64(g, f->key, (int64_t)bits); }

wf_val wfl_key_of(wf_val x, bool descending)
{
    wf_graph *g = x.h.graph;
    wf_dtype dtype = wf_val_dtype(x);
    if (dtype == WF_NONE) /* poison */
        return x;
    facts f = facts_of(dtype);
    wf_val bits = wf_cast(wfl_is_float_dtype(dtype) ? wf_bitcast(x, f.bits) : wf_cast(x, f.bits), f.key);
    wf_val all = bits_of(g, &f, f.all), sign = bits_of(g, &f, f.sign), key = bits;
    if (f.infinity)
        key = wf_xor(bits, wf_select(wf_ge(bits, sign), all, sign));
    else if (f.is_signed)
        key = wf_xor(bits, sign);
    if (descending)
        key = wf_xor(key, all);
    if (!f.infinity)
        return key;
    wf_val size = wf_and(bits, bits_of(g, &f, f.all ^ f.sign));
    return wf_select(wf_gt(size, bits_of(g, &f, f.infinity)), all, key);
}

wf_val wfl_element_of(wf_val key, wf_dtype dtype, bool descending)
{
    wf_graph *g = key.h.graph;
    facts f = facts_of(dtype);
    wf_val all = bits_of(g, &f, f.all), sign = bits_of(g, &f, f.sign), up = descending ? wf_xor(key, all) : key;
    wf_val bits = up;
    if (f.infinity)
        bits = wf_select(wf_eq(key, all), bits_of(g, &f, f.quiet), wf_xor(up, wf_select(wf_ge(up, sign), sign, all)));
    else if (f.is_signed)
        bits = wf_xor(up, sign);
    bits = wf_cast(bits, f.bits);
    return wfl_is_float_dtype(dtype) ? wf_bitcast(bits, dtype) : wf_cast(bits, dtype);
}
