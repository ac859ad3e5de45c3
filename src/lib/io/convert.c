/* convert.c - runs of samples: byte order, half floats, packed values, dtypes.
 *
 * Values move unchanged where the stored type is the array's dtype. Everything else goes through f64, which holds every
 * value of every dtype but the largest 64-bit integers; a separate loop handles those (i64 <-> u64).
 */
#include "io_internal.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- half floats ---- */

/* Neither conversion has branches, so that the compiler makes vector code of loops over them. */
float wfl_io_f16_to_f32(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 31u, fraction = half & 1023u;
    float subnormal = (float)(int32_t)fraction * 0x1p-24f, value;
    uint32_t small, large = (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13;
    memcpy(&small, &subnormal, 4);
    uint32_t bits = sign | (exponent ? large : small);
    memcpy(&value, &bits, 4);
    return value;
}

uint16_t wfl_io_f32_to_f16(float value)
{
    uint32_t bits, subnormal;
    memcpy(&bits, &value, 4);
    uint32_t sign = bits >> 16 & 0x8000u, x = bits & 0x7fffffffu;
    /* The last bit of 0.5 is worth 2^-24: adding 0.5 rounds to a multiple of that. */
    float magnitude, shifted;
    memcpy(&magnitude, &x, 4);
    shifted = magnitude + 0.5f;
    memcpy(&subnormal, &shifted, 4);
    uint32_t normal = (x - 0x38000000u + 0xfffu + (x >> 13 & 1u)) >> 13;
    uint32_t half = x < 0x38800000u ? subnormal - 0x3f000000u : normal;
    half = x >= 0x477ff000u ? 0x7bffu : half; /* 65520 and more would round to infinity */
    half = x == 0x7f800000u ? 0x7c00u : half;
    half = x > 0x7f800000u ? 0x7e00u : half; /* NaN */
    return (uint16_t)(sign | half);
}

static float bf16_to_f32(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

/* Finite values stay finite. */
static float to_f32(double x)
{
    return isinf(x) || fabs(x) <= (double)FLT_MAX || x != x ? (float)x : x > 0 ? FLT_MAX : -FLT_MAX;
}

/* Rounds to f32 and then to f16. This equals one rounding because the first one rounds to odd: the last bit of an
 * inexact result is set, so that it never looks like a tie (Boldo and Melquiond, "When double rounding is odd"). */
uint16_t wfl_io_f64_to_f16(double value)
{
    float narrow = to_f32(value);
    if (fabsf(narrow) >= 65520)
        return wfl_io_f32_to_f16(narrow);
    if ((double)narrow != value && value == value) {
        uint32_t bits;
        memcpy(&bits, &narrow, 4);
        if (fabs((double)narrow) > fabs(value))
            bits--;
        bits |= 1u;
        memcpy(&narrow, &bits, 4);
    }
    return wfl_io_f32_to_f16(narrow);
}

static void halves_from_f32(const char *from, int64_t step, int64_t count, char *to)
{
    for (int64_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, from + i * step, 4);
        uint16_t half = wfl_io_f32_to_f16(value);
        memcpy(to + 2 * i, &half, 2);
    }
}

/* ---- bytes and half bytes ---- */

void wfl_io_swap(void *data, int64_t count, size_t bytes)
{
    uint8_t *p = data;
    if (bytes == 2)
        for (int64_t i = 0; i < count; i++) {
            uint16_t x;
            memcpy(&x, p + 2 * i, 2);
            x = (uint16_t)(x << 8 | x >> 8);
            memcpy(p + 2 * i, &x, 2);
        }
    if (bytes == 4)
        for (int64_t i = 0; i < count; i++) {
            uint32_t x;
            memcpy(&x, p + 4 * i, 4);
            x = x << 24 | (x & 0xff00u) << 8 | (x >> 8 & 0xff00u) | x >> 24;
            memcpy(p + 4 * i, &x, 4);
        }
    if (bytes == 8)
        for (int64_t i = 0; i < count; i++) {
            uint64_t x;
            memcpy(&x, p + 8 * i, 8);
            x = (x & 0x00ff00ff00ff00ffu) << 8 | (x >> 8 & 0x00ff00ff00ff00ffu);
            x = (x & 0x0000ffff0000ffffu) << 16 | (x >> 16 & 0x0000ffff0000ffffu);
            x = x << 32 | x >> 32;
            memcpy(p + 8 * i, &x, 8);
        }
}

void wfl_io_pack4(const uint8_t *from, int64_t count, uint8_t *to)
{
    for (int64_t i = 0; i < count / 2; i++)
        to[i] = (uint8_t)((from[2 * i] & 15u) | (from[2 * i + 1] & 15u) << 4);
    if (count % 2)
        to[count / 2] = from[count - 1] & 15u;
}

void wfl_io_unpack4(const uint8_t *from, int64_t count, uint8_t *to)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = (uint8_t)((i % 2 ? from[i / 2] >> 4 : from[i / 2]) & 15);
}

/* ---- strided copies ---- */

/* Copies `count` elements of `bytes` bytes; the steps between elements are in bytes. */
static void copy_strided(const char *from, int64_t from_step, char *to, int64_t to_step, int64_t count, size_t bytes)
{
    if (from_step == (int64_t)bytes && to_step == (int64_t)bytes) {
        memcpy(to, from, (size_t)count * bytes);
        return;
    }
    switch (bytes) { /* with a constant size, memcpy is one move */
    case 1:
        for (int64_t i = 0; i < count; i++)
            to[i * to_step] = from[i * from_step];
        break;
    case 2:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * to_step, from + i * from_step, 2);
        break;
    case 4:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * to_step, from + i * from_step, 4);
        break;
    default:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * to_step, from + i * from_step, 8);
        break;
    }
}

void wfl_io_scatter(const wfl_io_type *type, const void *from, int64_t count, void *to, int64_t stride)
{
    const uint8_t *bytes = from;
    if (count <= 0)
        return;
    if (type->stored == WF_STORED_BOOL) {
        uint8_t *out = to;
        for (int64_t i = 0; i < count; i++)
            out[i * stride] = bytes[i] != 0;
    } else {
        copy_strided(from, (int64_t)type->bytes, to, stride * (int64_t)type->bytes, count, type->bytes);
    }
}

/* ---- from an array's dtype to a stored type ---- */

/* The loop over contiguous elements is separate, so that it becomes vector code. */
#define AS_F64(T)                                                 \
    for (int64_t i = 0; i < n && step == (int64_t)sizeof(T); i++) \
        to[i] = (double)((const T *)(const void *)from)[i];       \
    for (int64_t i = 0; i < n && step != (int64_t)sizeof(T); i++) \
    to[i] = (double)*(const T *)(const void *)(from + i * step)

#define HALVES_AS_F64(value)               \
    for (int64_t i = 0; i < n; i++) {      \
        uint16_t half;                     \
        memcpy(&half, from + i * step, 2); \
        to[i] = (double)(value);           \
    }

void wfl_io_load_f64(wf_dtype dtype, const char *from, int64_t step, int64_t n, double *to)
{
    switch (dtype) {
    case WF_BOOL:
    case WF_U8:
        AS_F64(uint8_t);
        break;
    case WF_I8:
        AS_F64(int8_t);
        break;
    case WF_I16:
        AS_F64(int16_t);
        break;
    case WF_U16:
        AS_F64(uint16_t);
        break;
    case WF_I32:
        AS_F64(int32_t);
        break;
    case WF_U32:
        AS_F64(uint32_t);
        break;
    case WF_I64:
        AS_F64(int64_t);
        break;
    case WF_U64:
        AS_F64(uint64_t);
        break;
    case WF_F16:
        HALVES_AS_F64(wfl_io_f16_to_f32(half));
        break;
    case WF_BF16:
        HALVES_AS_F64(bf16_to_f32(half));
        break;
    case WF_F32:
        AS_F64(float);
        break;
    default:
        AS_F64(double);
        break;
    }
}

/* Clamps and rounds to nearest, ties to even; NaN becomes 0. Limits must be below 2^51, since adding 1.5 * 2^52 rounds.
 */
static double to_range(double x, double low, double high)
{
    double clamped = x < low ? low : x > high ? high : x;
    clamped = x != x ? 0 : clamped;
    return clamped + 0x1.8p52 - 0x1.8p52;
}

static int64_t to_i64(double x)
{
    if (x != x)
        return 0;
    return x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : (int64_t)rint(x);
}

static uint64_t to_u64(double x)
{
    if (!(x > 0))
        return 0;
    return x >= 0x1p64 ? UINT64_MAX : (uint64_t)rint(x);
}

#define FROM_F64(T, value)                                           \
    for (int64_t i = 0; i < n; i++) {                                \
        T x_ = (T)(value);                                           \
        memcpy((char *)to + i * (int64_t)sizeof x_, &x_, sizeof x_); \
    }

static void store_f64(const double *x, int64_t n, wf_stored stored, void *to)
{
    switch (stored) {
    case WF_STORED_BOOL:
        FROM_F64(uint8_t, x[i] == x[i] && x[i] != 0);
        break;
    case WF_STORED_I8:
        FROM_F64(int8_t, to_range(x[i], INT8_MIN, INT8_MAX));
        break;
    case WF_STORED_U8:
        FROM_F64(uint8_t, to_range(x[i], 0, UINT8_MAX));
        break;
    case WF_STORED_I16:
        FROM_F64(int16_t, to_range(x[i], INT16_MIN, INT16_MAX));
        break;
    case WF_STORED_U16:
        FROM_F64(uint16_t, to_range(x[i], 0, UINT16_MAX));
        break;
    case WF_STORED_I32:
        FROM_F64(int32_t, to_range(x[i], INT32_MIN, INT32_MAX));
        break;
    case WF_STORED_U32:
        FROM_F64(uint32_t, to_range(x[i], 0, UINT32_MAX));
        break;
    case WF_STORED_I64:
        FROM_F64(int64_t, to_i64(x[i]));
        break;
    case WF_STORED_U64:
        FROM_F64(uint64_t, to_u64(x[i]));
        break;
    case WF_STORED_F16:
        FROM_F64(uint16_t, wfl_io_f64_to_f16(x[i]));
        break;
    case WF_STORED_F32:
    case WF_STORED_C64:
        FROM_F64(float, to_f32(x[i]));
        break;
    case WF_STORED_U4:
        FROM_F64(uint8_t, to_range(x[i], 0, 15));
        break;
    default:
        FROM_F64(double, x[i]);
        break;
    }
}

/* Clamps i64 to u64, or u64 to i64: the conversions for which f64 is too narrow. */
static void clamp_64(wf_dtype dtype, const char *from, int64_t step, int64_t n, void *to)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t x;
        memcpy(&x, from + i * step, 8);
        if (x > (uint64_t)INT64_MAX)
            x = dtype == WF_I64 ? 0 : (uint64_t)INT64_MAX;
        memcpy((char *)to + 8 * i, &x, 8);
    }
}

void wfl_io_convert(wf_dtype dtype, const char *from, int64_t step, int64_t n, const wfl_io_type *type, char *to)
{
    enum { BLOCK = 512 };
    double block[BLOCK];
    bool same = dtype == type->dtype && type->bytes == wf_dtype_size(dtype) && type->stored != WF_STORED_U4;
    bool bytes_as_such = dtype == WF_BOOL && type->stored == WF_STORED_U8;
    if (same || bytes_as_such) {
        copy_strided(from, step, to, (int64_t)type->bytes, n, type->bytes);
    } else if ((dtype == WF_I64 || dtype == WF_U64) &&
               (type->stored == WF_STORED_I64 || type->stored == WF_STORED_U64)) {
        clamp_64(dtype, from, step, n, to);
    } else if (dtype == WF_F32 && type->stored == WF_STORED_F16) {
        halves_from_f32(from, step, n, to);
    } else {
        for (int64_t i = 0; i < n; i += BLOCK) {
            int64_t part = n - i < BLOCK ? n - i : BLOCK;
            wfl_io_load_f64(dtype, from + i * step, step, part, block);
            store_f64(block, part, type->stored, to + i * (int64_t)type->bytes);
        }
    }
}
