/* plain_arrays.h - arrays in plain C, to compare with: places in shapes, conversions, operations and joins of
 * elements. An element of any dtype is an int64_t here: floats hold whole numbers small enough to be exact. */
#ifndef WEFT_PLAIN_ARRAYS_H
#define WEFT_PLAIN_ARRAYS_H
#include "weft_test.h"

enum { AXES = 4 };

static const wf_dtype plain_dtypes[] = { WF_BOOL, WF_U8, WF_I32, WF_I64, WF_F32, WF_F64 }; /* each goes into the next */
enum { PLAIN_DTYPES = sizeof plain_dtypes / sizeof *plain_dtypes };

/* ---- shapes ---- */
static inline int64_t count(const wf_shape *shape)
{
    int64_t n = 1;
    for (int d = 0; d < shape->rank; ++d)
        n *= shape->dim[d];
    return n;
}

/* Of element k of a C order, its index along each axis, and back. */
static inline void indices(const wf_shape *shape, int64_t k, int64_t index[AXES])
{
    for (int d = shape->rank - 1; d >= 0; --d) {
        index[d] = k % shape->dim[d];
        k /= shape->dim[d];
    }
}
static inline int64_t place(const wf_shape *shape, const int64_t index[AXES])
{
    int64_t k = 0;
    for (int d = 0; d < shape->rank; ++d)
        k = k * shape->dim[d] + index[d];
    return k;
}

static inline bool same_shape(const wf_shape *a, const wf_shape *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

/* Returns the axis of the smaller shape that corresponds to axis d of the larger one, or -1. The last axes
 * correspond. */
static inline int aligned(const wf_shape *small, const wf_shape *large, int d)
{
    int axis = d - (large->rank - small->rank);
    return axis < 0 ? -1 : axis;
}
static inline bool fits(const wf_shape *small, const wf_shape *large) /* small broadcasts to large */
{
    bool ok = small->rank <= large->rank;
    for (int d = 0; ok && d < large->rank; ++d) {
        int axis = aligned(small, large, d);
        ok = axis < 0 || small->dim[axis] == large->dim[d] || small->dim[axis] == 1;
    }
    return ok;
}
/* Returns the element of the smaller shape that broadcasts to element k of the larger one. */
static inline int64_t spread(const wf_shape *small, const wf_shape *large, int64_t k)
{
    int64_t index[AXES], of[AXES];
    if (same_shape(small, large))
        return k;
    indices(large, k, index);
    for (int d = 0; d < large->rank; ++d)
        if (aligned(small, large, d) >= 0)
            of[aligned(small, large, d)] = small->dim[aligned(small, large, d)] == 1 ? 0 : index[d];
    return place(small, of);
}
/* The shape that both broadcast to; false, if there is none. */
static inline bool common_shape(const wf_shape *a, const wf_shape *b, wf_shape *to)
{
    *to = a->rank < b->rank ? *b : *a;
    const wf_shape *other = a->rank < b->rank ? a : b;
    for (int d = 0; d < to->rank; ++d)
        if (aligned(other, to, d) >= 0 && to->dim[d] == 1)
            to->dim[d] = other->dim[aligned(other, to, d)];
    return fits(a, to) && fits(b, to);
}

/* ---- elements ---- */
static inline bool is_float(wf_dtype t) { return t == WF_F32 || t == WF_F64; }
static inline bool is_integer(wf_dtype t) { return t != WF_BOOL && !is_float(t); }
static inline wf_dtype wider(wf_dtype a, wf_dtype b)
{
    int i = 0;
    while (plain_dtypes[i] != a && plain_dtypes[i] != b)
        ++i;
    return plain_dtypes[i] == a ? b : a;
}

/* Whole numbers wrap. */
static inline int64_t wrapped(wf_dtype t, int64_t x)
{
    return t == WF_U8 ? (uint8_t)x : t == WF_I32 ? (int32_t)(uint32_t)(uint64_t)x : x;
}
static inline int64_t converted(wf_dtype from, wf_dtype to, int64_t x)
{
    if (to == WF_BOOL)
        return x != 0;
    if (!is_float(from))
        return wrapped(to, x);
    int64_t least = to == WF_U8    ? 0
                    : to == WF_I32 ? INT32_MIN
                                   : x,
            most = to == WF_U8    ? 255
                   : to == WF_I32 ? INT32_MAX
                                  : x;
    return x < least ? least : x > most ? most : x;
}
static inline int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

static inline void put_element(wf_dtype t, void *to, int64_t k, int64_t x)
{
    switch (t) {
    case WF_BOOL:
    case WF_U8:
        ((uint8_t *)to)[k] = (uint8_t)x;
        break;
    case WF_I32:
        ((int32_t *)to)[k] = (int32_t)x;
        break;
    case WF_F32:
        ((float *)to)[k] = (float)x;
        break;
    case WF_F64:
        ((double *)to)[k] = (double)x;
        break;
    default:
        ((int64_t *)to)[k] = x;
    }
}
static inline bool is_element(wf_dtype t, const void *at, int64_t k, int64_t x) /* zeros of either sign are 0 */
{
    switch (t) {
    case WF_BOOL:
    case WF_U8:
        return ((const uint8_t *)at)[k] == x;
    case WF_I32:
        return ((const int32_t *)at)[k] == x;
    case WF_F32:
        return ((const float *)at)[k] == (float)x;
    case WF_F64:
        return ((const double *)at)[k] == (double)x;
    default:
        return ((const int64_t *)at)[k] == x;
    }
}
static inline double number_of(wf_dtype t, const void *at, int64_t k) /* for messages */
{
    return t == WF_F32   ? (double)((const float *)at)[k]
           : t == WF_F64 ? ((const double *)at)[k]
           : t == WF_I32 ? ((const int32_t *)at)[k]
           : t == WF_I64 ? (double)((const int64_t *)at)[k]
                         : ((const uint8_t *)at)[k];
}

/* ---- joins ---- */
static const char *const join_name[] = {
    "", "WF_JOIN_ADD", "WF_JOIN_MUL", "WF_JOIN_MIN", "WF_JOIN_MAX", "WF_JOIN_AND", "WF_JOIN_OR", "WF_JOIN_XOR"
};
/* True if values of the dtype can be joined so with whole results. (Products of floats could be too large.) */
static inline bool joins(wf_join join, wf_dtype t)
{
    return join == WF_JOIN_ADD                          ? true
           : join == WF_JOIN_MUL                        ? is_integer(t)
           : join == WF_JOIN_MIN || join == WF_JOIN_MAX ? t != WF_BOOL
                                                        : !is_float(t);
}
/* Returns the dtype of a reduction or scan: WF_U64 also for u8, with which nothing here goes on. */
static inline wf_dtype joined_dtype(wf_join join, wf_dtype t)
{
    bool sum = join == WF_JOIN_ADD || join == WF_JOIN_MUL;
    return sum && t == WF_U8 ? WF_U64 : sum && !is_float(t) ? WF_I64 : t;
}
static inline int64_t joined(wf_join join, wf_dtype t, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (join) {
    case WF_JOIN_ADD:
        return wrapped(t, (int64_t)(x + y));
    case WF_JOIN_MUL:
        return wrapped(t, (int64_t)(x * y));
    case WF_JOIN_MIN:
        return a < b ? a : b;
    case WF_JOIN_MAX:
        return a > b ? a : b;
    case WF_JOIN_AND:
        return a & b;
    case WF_JOIN_OR:
        return a | b;
    default:
        return a ^ b;
    }
}
static inline int64_t neutral(wf_join join, wf_dtype t) /* of floats, but for sums, there is none here */
{
    int64_t least = t == WF_I32 ? INT32_MIN : t == WF_I64 ? INT64_MIN : 0;
    int64_t most = t == WF_BOOL ? 1 : t == WF_U8 ? 255 : t == WF_I32 ? INT32_MAX : INT64_MAX;
    return join == WF_JOIN_MUL   ? 1
           : join == WF_JOIN_MIN ? most
           : join == WF_JOIN_MAX ? least
           : join == WF_JOIN_AND ? (t == WF_BOOL ? 1 : wrapped(t, -1))
                                 : 0;
}
#endif
