/* meaning.c - evaluates every pure operation: one loop per op and dtype, generated from the op table. These loops are
 * both the constant folder (n = 1) and the inner loop of the interpreter, so that the two cannot differ. Joins apply
 * the same loops.
 *
 * Compiled without contraction of a*b+c; only operations that IEEE 754 rounds exactly use libm (sqrt, fma, rounding).
 */
#include "ir/ir.h"
#include <math.h>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wconversion" /* the table's expressions are converted to the result type on purpose */
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare" /* b == (T)-1 is only reached for signed T */
#pragma GCC diagnostic ignored "-Wtype-limits"
#endif

#define WF__F(name, a) _Generic((a), float : name##f, double : name)
#define WF__FABS(a) WF__F(fabs, a)(a)
#define WF__SQRT(a) WF__F(sqrt, a)(a)
#define WF__FLOOR(a) WF__F(floor, a)(a)
#define WF__CEIL(a) WF__F(ceil, a)(a)
#define WF__RINT(a) WF__F(rint, a)(a)
#define WF__TRUNC(a) WF__F(trunc, a)(a)
#define WF__COPYSIGN(a, b) WF__F(copysign, a)(a, b)
#define WF__FMA(a, b, c) WF__F(fma, a)(a, b, c)
#define WF__INF ((T)INFINITY)
#define WF__MIN(a, b) (a != a || b != b ? a + b : a < b ? a : b < a ? b : signbit(a) ? a : b)
#define WF__MAX(a, b) (a != a || b != b ? a + b : a > b ? a : b > a ? b : signbit(a) ? b : a)
#define WF__MASK (~(uint64_t)0 >> (64 - BITS))
#define NONE 0

static inline uint64_t wf__popcount64(uint64_t x) { return (uint64_t)__builtin_popcountll(x); }
static inline uint64_t wf__clz64(uint64_t x) { return x ? (uint64_t)__builtin_clzll(x) : 64; }
static inline uint64_t wf__ctz64(uint64_t x, unsigned bits) { return x ? (uint64_t)__builtin_ctzll(x) : bits; }
static inline uint64_t wf__brev64(uint64_t x)
{
    x = __builtin_bswap64(x);
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
    x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
    return (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
}
static inline uint64_t wf__rotl(uint64_t x, unsigned by, unsigned bits) { return by ? x << by | x >> (bits - by) : x; }
static inline uint64_t mulhi_u64(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t mid = a1 * b0 + (a0 * b0 >> 32), low = a0 * b1 + (uint32_t)mid;
    return a1 * b1 + (mid >> 32) + (low >> 32);
}
static inline uint64_t wf__mulhi(int64_t a, int64_t b, unsigned bits, bool is_signed)
{
    if (bits < 64 && is_signed)
        return (uint64_t)((a * b) >> bits);
    if (bits < 64)
        return ((uint64_t)a * (uint64_t)b) >> bits;
    uint64_t high = mulhi_u64((uint64_t)a, (uint64_t)b);
    if (is_signed)
        high -= (a < 0 ? (uint64_t)b : 0) + (b < 0 ? (uint64_t)a : 0);
    return high;
}

/* One case: a, b, c are the operands as T; operands that an op does not have repeat the first. */
#define LOOP(R_, T_, W_, bits, sgn, isbool, meaning)                       \
    {                                                                      \
        typedef T_ T;                                                      \
        typedef W_ W;                                                      \
        typedef R_ R;                                                      \
        enum { BITS = bits, SIGNED = sgn, ISBOOL = isbool };               \
        const T *pa = av, *pb = bv, *pc = cv;                              \
        R *r = out;                                                        \
        for (size_t i = 0; i < n; ++i) {                                   \
            const T a = pa[i], b = pb[i], c = pc[i];                       \
            WF__UNUSED(a), WF__UNUSED(b), WF__UNUSED(c), WF__UNUSED((W)0); \
            r[i] = (R)(meaning);                                           \
        }                                                                  \
        return;                                                            \
    }
#define R_SAME(T) T
#define R_BOOL(T) uint8_t
#define INT_CASES(R, m)                                    \
    case WF_I8:                                            \
        LOOP(R(int8_t), int8_t, uint32_t, 8, 1, 0, m)      \
    case WF_U8:                                            \
        LOOP(R(uint8_t), uint8_t, uint32_t, 8, 0, 0, m)    \
    case WF_I16:                                           \
        LOOP(R(int16_t), int16_t, uint32_t, 16, 1, 0, m)   \
    case WF_U16:                                           \
        LOOP(R(uint16_t), uint16_t, uint32_t, 16, 0, 0, m) \
    case WF_I32:                                           \
        LOOP(R(int32_t), int32_t, uint32_t, 32, 1, 0, m)   \
    case WF_U32:                                           \
        LOOP(R(uint32_t), uint32_t, uint32_t, 32, 0, 0, m) \
    case WF_I64:                                           \
        LOOP(R(int64_t), int64_t, uint64_t, 64, 1, 0, m)   \
    case WF_U64:                                           \
        LOOP(R(uint64_t), uint64_t, uint64_t, 64, 0, 0, m)
#define FLT_CASES(R, m)                              \
    case WF_F32:                                     \
        LOOP(R(float), float, uint32_t, 32, 1, 0, m) \
    case WF_F64:                                     \
        LOOP(R(double), double, uint64_t, 64, 1, 0, m)
#define BOOL_CASE(R, m) \
    case WF_BOOL:       \
        LOOP(R(uint8_t), uint8_t, uint32_t, 8, 0, 1, m)
#define CASES_NUM(R, im, fm) INT_CASES(R, im) FLT_CASES(R, fm)
#define CASES_INT(R, im, fm) INT_CASES(R, im)
#define CASES_FLT(R, im, fm) FLT_CASES(R, fm)
#define CASES_BITS(R, im, fm) INT_CASES(R, im) BOOL_CASE(R, im)
#define CASES_ANY(R, im, fm) INT_CASES(R, im) FLT_CASES(R, fm) BOOL_CASE(R, im)
#define CASES_FIRST_BOOL(R, im, fm)
#define CASES_CPLX(R, im, fm)

#define WF_OP(name, arity, types, result, flags, cost, im, fm, ...)                                              \
    static void eval_##name(unsigned dtype, void *out, const void *av, const void *bv, const void *cv, size_t n) \
    {                                                                                                            \
        switch (dtype) {                                                                                         \
            CASES_##types(R_##result, im, fm) default : break;                                                   \
        }                                                                                                        \
    }
#include "ir/ops.def"
#undef WF_OP

#define SELECT_CASE(bits)                      \
    {                                          \
        const uint##bits##_t *b = bv, *c = cv; \
        uint##bits##_t *r = out;               \
        for (size_t i = 0; i < n; ++i)         \
            r[i] = a[i] ? b[i] : c[i];         \
        break;                                 \
    }

static void select_bits(unsigned bytes, void *out, const uint8_t *a, const void *bv, const void *cv, size_t n)
{
    switch (bytes) {
    case 1:
        SELECT_CASE(8)
    case 2:
        SELECT_CASE(16)
    case 4:
        SELECT_CASE(32)
    default:
        SELECT_CASE(64)
    }
}

/* Convert to and from pairs. `size`: bytes of a part. */
static void join_parts(size_t size, char *out, const char *re, const char *im, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        memcpy(out + 2 * i * size, re + i * size, size);
        memcpy(out + (2 * i + 1) * size, im + i * size, size);
    }
}

static void take_part(size_t size, char *out, const char *z, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        memcpy(out + i * size, z + 2 * i * size, size);
}

static void eval_parts(unsigned op, unsigned dtype, void *out, const char *a, const char *b, size_t n)
{
    size_t size = wf__align(dtype);
    if (op == WF__OP_complex)
        join_parts(size, out, a, b, n);
    else
        take_part(size, out, op == WF__OP_imag ? a + size : a, n);
}

void wf__eval(unsigned op, unsigned dtype, void *out, const void *a, const void *b, const void *c, size_t n)
{
    typedef void eval_fn(unsigned, void *, const void *, const void *, const void *, size_t);
    static eval_fn *const table[WF__OP_COUNT] = {
#define WF_OP(name, ...) [WF__OP_##name] = eval_##name,
#include "ir/ops.def"
#undef WF_OP
    };
    WF__ASSERT(table[op] && !wf__op_expands(op, dtype));
    if (wf__op_is_parts(op)) {
        eval_parts(op, dtype, out, a, b, n);
        return;
    }
    if (op == WF__OP_select) {
        select_bits(wf__size(dtype), out, a, b, c, n);
        return;
    }
    unsigned arity = wf__arity(op);
    table[op](dtype, out, a, arity > 1 ? b : a, arity > 2 ? c : a, n);
}

/* ---- casts: from each dtype to each ---- */
#define CONVERT(T, F, value)             \
    {                                    \
        const F *p = av;                 \
        T *r = out;                      \
        for (size_t i = 0; i < n; ++i) { \
            const F x = p[i];            \
            r[i] = (T)(value);           \
        }                                \
        return;                          \
    }
/* floats: lo and hi are powers of two (or 0), exact in F; anything not above lo gives MIN, not below hi gives MAX */
#define SATURATE(T, F, lo, hi, MIN, MAX) CONVERT(T, F, x != x ? 0 : x >= (F)(hi) ? MAX : x <= (F)(lo) ? MIN : (T)x)
#define TO_INT_FROM(F, is_float)                                                                                    \
    switch (to) {                                                                                                   \
    case WF_BOOL:                                                                                                   \
        CONVERT(uint8_t, F, x != 0)                                                                                 \
        is_float##_INTS(F) case WF_F32 : CONVERT(float, F, x) case WF_F64 : CONVERT(double, F, x) default : return; \
    }
#define WRAP_INTS(F)            \
    case WF_I8:                 \
        CONVERT(int8_t, F, x)   \
    case WF_U8:                 \
        CONVERT(uint8_t, F, x)  \
    case WF_I16:                \
        CONVERT(int16_t, F, x)  \
    case WF_U16:                \
        CONVERT(uint16_t, F, x) \
    case WF_I32:                \
        CONVERT(int32_t, F, x)  \
    case WF_U32:                \
        CONVERT(uint32_t, F, x) \
    case WF_I64:                \
        CONVERT(int64_t, F, x)  \
    case WF_U64:                \
        CONVERT(uint64_t, F, x)
#define SAT_INTS(F)                                                 \
    case WF_I8:                                                     \
        SATURATE(int8_t, F, -128.0, 128.0, INT8_MIN, INT8_MAX)      \
    case WF_U8:                                                     \
        SATURATE(uint8_t, F, 0.0, 256.0, 0, UINT8_MAX)              \
    case WF_I16:                                                    \
        SATURATE(int16_t, F, -0x1p15, 0x1p15, INT16_MIN, INT16_MAX) \
    case WF_U16:                                                    \
        SATURATE(uint16_t, F, 0.0, 0x1p16, 0, UINT16_MAX)           \
    case WF_I32:                                                    \
        SATURATE(int32_t, F, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX) \
    case WF_U32:                                                    \
        SATURATE(uint32_t, F, 0.0, 0x1p32, 0, UINT32_MAX)           \
    case WF_I64:                                                    \
        SATURATE(int64_t, F, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX) \
    case WF_U64:                                                    \
        SATURATE(uint64_t, F, 0.0, 0x1p64, 0, UINT64_MAX)
#define CAST_FN(name, F, kind) \
    static void cast_##name(unsigned to, void *out, const void *av, size_t n) { TO_INT_FROM(F, kind) }
CAST_FN(bool, uint8_t, WRAP)
CAST_FN(i8, int8_t, WRAP)
CAST_FN(u8, uint8_t, WRAP)
CAST_FN(i16, int16_t, WRAP)
CAST_FN(u16, uint16_t, WRAP)
CAST_FN(i32, int32_t, WRAP)
CAST_FN(u32, uint32_t, WRAP)
CAST_FN(i64, int64_t, WRAP)
CAST_FN(u64, uint64_t, WRAP)
CAST_FN(f32, float, SAT)
CAST_FN(f64, double, SAT)

/* ---- f16 and bf16, by integer arithmetic ---- */
static void widen(unsigned from, float *out, const void *a, size_t n)
{
    const uint16_t *p = a;
    for (size_t i = 0; i < n; ++i) {
        uint32_t h = p[i], sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 1023u;
        uint32_t bits = sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13;
        float subnormal = (float)(int32_t)fraction * 0x1p-24f;
        if (from == WF_BF16)
            bits = h << 16;
        memcpy(&out[i], &bits, sizeof bits);
        if (from == WF_F16 && !exponent)
            out[i] = sign ? -subnormal : subnormal;
    }
}

/* Returns the value of f16 or bf16 that is nearest to x, ties to even. */
static uint16_t narrow(double x, unsigned to)
{
    WF__ASSERT(wf__is_half(to));
    unsigned mantissa = wf__mantissa(to), bias = wf__bias(to);
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    unsigned sign = (unsigned)(bits >> 63) << 15, infinite = (2 * bias + 1) << mantissa;
    int exponent = (int)(bits >> 52 & 2047) - 1023, least = 1 - (int)bias;
    if (x != x)
        return (uint16_t)(sign | infinite | 1u << (mantissa - 1));
    if (exponent > (int)bias)
        return (uint16_t)(sign | infinite);
    if (exponent < least - 1 - (int)mantissa)
        return (uint16_t)sign;
    uint64_t all = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    unsigned shift = 52 - mantissa + (exponent < least ? (unsigned)(least - exponent) : 0);
    uint64_t half = (uint64_t)1 << (shift - 1), lost = all & (2 * half - 1), code = all >> shift;
    code += lost > half || (lost == half && (code & 1));
    if (exponent > least)
        code += (uint64_t)(exponent - least) << mantissa;
    return (uint16_t)(sign | code);
}

/* Casts to f16 or bf16. In integers beyond 2^53, bit 11 becomes the sticky bit of the bits below, so that rounding
 * happens once. */
static void cast_to_half(unsigned to, unsigned from, uint16_t *out, const void *a, size_t n)
{
    double wide[64];
    uint64_t whole[64];
    while (n) {
        size_t part = n < WF__COUNT(wide) ? n : WF__COUNT(wide);
        if (from == WF_I64 || from == WF_U64) {
            memcpy(whole, a, part * sizeof *whole);
            for (size_t i = 0; i < part; ++i)
                if (from == WF_I64 ? whole[i] + ((uint64_t)1 << 53) > (uint64_t)1 << 54 : whole[i] > (uint64_t)1 << 53)
                    whole[i] = (whole[i] | ((whole[i] & 2047) + 2047)) & ~(uint64_t)2047;
            wf__eval_cast(WF_F64, from, wide, whole, part);
        } else
            wf__eval_cast(WF_F64, from, wide, a, part);
        for (size_t i = 0; i < part; ++i)
            out[i] = narrow(wide[i], to);
        out += part;
        a = (const char *)a + part * wf__size(from);
        n -= part;
    }
}

static void cast_from_half(unsigned to, unsigned from, void *out, const uint16_t *a, size_t n)
{
    float wide[64];
    while (n) {
        size_t part = n < WF__COUNT(wide) ? n : WF__COUNT(wide);
        widen(from, wide, a, part);
        wf__eval_cast(to, WF_F32, out, wide, part);
        out = (char *)out + part * wf__size(to);
        a += part;
        n -= part;
    }
}

void wf__eval_cast(unsigned to, unsigned from, void *out, const void *a, size_t n)
{
    if (to == from) {
        memcpy(out, a, n * wf__size(to));
        return;
    }
    if (wf__is_half(from)) {
        cast_from_half(to, from, out, a, n);
        return;
    }
    if (wf__is_half(to)) {
        cast_to_half(to, from, out, a, n);
        return;
    }
    switch (from) {
    case WF_BOOL:
        cast_bool(to, out, a, n);
        break;
    case WF_I8:
        cast_i8(to, out, a, n);
        break;
    case WF_U8:
        cast_u8(to, out, a, n);
        break;
    case WF_I16:
        cast_i16(to, out, a, n);
        break;
    case WF_U16:
        cast_u16(to, out, a, n);
        break;
    case WF_I32:
        cast_i32(to, out, a, n);
        break;
    case WF_U32:
        cast_u32(to, out, a, n);
        break;
    case WF_I64:
        cast_i64(to, out, a, n);
        break;
    case WF_U64:
        cast_u64(to, out, a, n);
        break;
    case WF_F32:
        cast_f32(to, out, a, n);
        break;
    case WF_F64:
        cast_f64(to, out, a, n);
        break;
    default:
        break;
    }
}

void wf__eval_node(const wf__node *node, unsigned from, void *out, const void *a, const void *b, const void *c,
                   size_t n)
{
    switch ((wf__op)node->op) {
    case WF__CAST:
        wf__eval_cast(node->dtype, from, out, a, n);
        break;
    case WF__CHECK:
        memcpy(out, b, n * wf__size(node->dtype));
        break;
    case WF__BITCAST:
        memcpy(out, a, n * wf__size(node->dtype));
        break;
#include "ir/case_ops.def"
        wf__eval(node->op, from, out, a, b, c, n);
        break;
#include "ir/case_not_pure.def"
        break;
    }
}

/* ---- joins ---- */
static uint64_t as_bits(unsigned dtype, double value)
{
    uint64_t bits = 0;
    wf__eval_cast(dtype, WF_F64, &bits, &value, 1);
    return bits;
}

uint64_t wf__join_neutral(wf_join join, unsigned dtype)
{
    unsigned bits = 8 * wf__size(dtype);
    uint64_t all = dtype == WF_BOOL ? 1 : ~(uint64_t)0 >> (64 - bits), high = (uint64_t)1 << (bits - 1);
    switch (join) {
    case WF_JOIN_ADD:
        return wf__is_float(dtype) ? as_bits(dtype, -0.0) : 0; /* -0 + x is x, also for x = -0 */
    case WF_JOIN_MUL:
        return wf__is_float(dtype) ? as_bits(dtype, 1) : 1;
    case WF_JOIN_MIN:
        return wf__is_float(dtype) ? as_bits(dtype, (double)__builtin_inff()) : wf__is_signed(dtype) ? high - 1 : all;
    case WF_JOIN_MAX:
        return wf__is_float(dtype) ? as_bits(dtype, -(double)__builtin_inff()) : wf__is_signed(dtype) ? high : 0;
    case WF_JOIN_AND:
        return all;
    default:
        return 0;
    }
}

static void update_real(unsigned join, unsigned t, void *element, const void *value)
{
    uint64_t old[2] = { 0 }, new[2] = { 0 };
    unsigned in = wf__update_dtype(t, join);
    wf__eval_cast(in, t, old, element, 1);
    old[0] = t == WF_BOOL ? old[0] != 0 : old[0];
    wf__eval(wf__join_op((wf_join)join), in, new, old, value, NULL, 1);
    wf__eval_cast(t, in, element, new, 1);
}

void wf__update(unsigned join, unsigned t, void *element, const void *value)
{
    unsigned part = wf__part_dtype(t), size = wf__align(t);
    for (unsigned k = 0; part && k < 2; ++k) {
        uint64_t wide = 0;
        wf__eval_cast(wf__update_dtype(part, join), part, &wide, (const char *)value + k * size, 1);
        update_real(join, part, (char *)element + k * size, &wide);
    }
    if (!part)
        update_real(join, t, element, value);
}

bool wf__has_bits(const wf__ir *ir, const wf__node *n)
{
    const unsigned from = wf__op_is_pure(n->op) ? wf__dtype(ir, wf__last_operand(n)) : 0;
    return from && !wf__is_complex(from) && !wf__is_half(from) && !wf__is_complex(n->dtype) && !wf__is_half(n->dtype) &&
           !wf__expands(n->op, from, n->dtype);
}

uint64_t wf__eval_bits(const wf__ir *ir, const wf__node *n, const uint64_t x[3])
{
    uint64_t out = 0;
    wf__eval_node(n, wf__dtype(ir, wf__last_operand(n)), &out, &x[0], &x[1], &x[2], 1);
    return out;
}
