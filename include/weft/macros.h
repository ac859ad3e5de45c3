/* macros.h - the macros of C: conversion of operands, lists, named captures. C++ has WF_HERE alone.
 * Reference: docs/reference/macros.md */
#ifndef WF_MACROS_H
#define WF_MACROS_H
#include "weft/types.h"
#define WF__STR(x) WF__STR_(x)
#define WF__STR_(x) #x
#define WF_HERE __FILE__ ":" WF__STR(__LINE__)
#ifndef __cplusplus
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif

/* ---- C: x is a wf_val, a wf_var or a number; evaluated once; text grows linearly with nesting ---- */
typedef struct wf__in {
    wf_val v;
} wf__in;
_Static_assert(sizeof(wf_val) == 8 + sizeof(void *) || sizeof(void *) < 8, "two registers");
#if defined(__clang__)
#define WF_V(x)                                                                                              \
    (_Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wmissing-field-initializers\"")   \
         _Pragma("clang diagnostic ignored \"-Wmissing-braces\"")                                            \
             _Pragma("clang diagnostic ignored \"-Wdouble-promotion\"")                                      \
                 _Pragma("clang diagnostic ignored \"-Wimplicit-int-float-conversion\"")((wf__in){ .v = x }) \
                     .v _Pragma("clang diagnostic pop"))
#else
/* An element of an array, by a literal: after it gcc has forgotten the braces left out here, of which it would warn in
 * an initializer around this. */
#define WF_V(x) (((wf__in[1]){ { .v = x } })[(int){ 0 }].v)
#endif

/* lists: 1 to 16 entries */
#define WF__N(...) WF__N_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define WF__N_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, N, ...) N
#define WF__CAT(a, b) WF__CAT_(a, b)
#define WF__CAT_(a, b) a##b
#define WF__MAP(M, ...) WF__CAT(WF__MAP, WF__N(__VA_ARGS__))(M, __VA_ARGS__)
#define WF__MAP1(M, a) M(a)
#define WF__MAP2(M, a, ...) M(a), WF__MAP1(M, __VA_ARGS__)
#define WF__MAP3(M, a, ...) M(a), WF__MAP2(M, __VA_ARGS__)
#define WF__MAP4(M, a, ...) M(a), WF__MAP3(M, __VA_ARGS__)
#define WF__MAP5(M, a, ...) M(a), WF__MAP4(M, __VA_ARGS__)
#define WF__MAP6(M, a, ...) M(a), WF__MAP5(M, __VA_ARGS__)
#define WF__MAP7(M, a, ...) M(a), WF__MAP6(M, __VA_ARGS__)
#define WF__MAP8(M, a, ...) M(a), WF__MAP7(M, __VA_ARGS__)
#define WF__MAP9(M, a, ...) M(a), WF__MAP8(M, __VA_ARGS__)
#define WF__MAP10(M, a, ...) M(a), WF__MAP9(M, __VA_ARGS__)
#define WF__MAP11(M, a, ...) M(a), WF__MAP10(M, __VA_ARGS__)
#define WF__MAP12(M, a, ...) M(a), WF__MAP11(M, __VA_ARGS__)
#define WF__MAP13(M, a, ...) M(a), WF__MAP12(M, __VA_ARGS__)
#define WF__MAP14(M, a, ...) M(a), WF__MAP13(M, __VA_ARGS__)
#define WF__MAP15(M, a, ...) M(a), WF__MAP14(M, __VA_ARGS__)
#define WF__MAP16(M, a, ...) M(a), WF__MAP15(M, __VA_ARGS__)
#define WF__REST(first, ...) __VA_ARGS__ /* WF__REST(__VA_ARGS__, tail): never empty */
#define WF__FIRST(...) WF__FIRST_(__VA_ARGS__, 0)
#define WF__FIRST_(first, ...) first

#define WF_SHAPE(...) ((wf_shape){ .rank = WF__N(__VA_ARGS__), .dim = { __VA_ARGS__ } })
#define WF_SCALAR ((wf_shape){ .rank = 0 })
/* A wf_axes: WF_AXES(0, 2). */
#define WF_AXES(...) WF__CAT(WF__AXES, WF__N(__VA_ARGS__))(__VA_ARGS__)
#define WF__AXES1(a) (1u << (a))
#define WF__AXES2(a, ...) (1u << (a) | WF__AXES1(__VA_ARGS__))
#define WF__AXES3(a, ...) (1u << (a) | WF__AXES2(__VA_ARGS__))
#define WF__AXES4(a, ...) (1u << (a) | WF__AXES3(__VA_ARGS__))
#define WF__AXES5(a, ...) (1u << (a) | WF__AXES4(__VA_ARGS__))
#define WF__AXES6(a, ...) (1u << (a) | WF__AXES5(__VA_ARGS__))
#define WF__AXES7(a, ...) (1u << (a) | WF__AXES6(__VA_ARGS__))
#define WF__AXES8(a, ...) (1u << (a) | WF__AXES7(__VA_ARGS__))
#define WF_VALS(...) ((wf_vals){ (wf_val[]){ WF__MAP(WF_V, __VA_ARGS__) }, WF__N(__VA_ARGS__) })
#define WF_NO_VALS ((wf_vals){ 0, 0 })

/* named captures: WF_NAMED(x, y, gain) takes the C names; WF_ARGS(WF_ARG("x", p), ...) gives others. (Made in one
 * piece: gcc copies a local through the stack, and stalls.) */
static inline wf_arg wf__arg_array(const char *s, const wf_array *a)
{
    return (wf_arg){ s, WF_ARG_ARRAY, 0, { .array = (wf_array *)a } };
}
static inline wf_arg wf__arg_val(const char *s, wf_val v) { return (wf_arg){ s, WF_ARG_VALUE, 0, { .val = v } }; }
static inline wf_arg wf__arg_var(const char *s, wf_var v) { return (wf_arg){ s, WF_ARG_VALUE, 0, { .val = { v } } }; }
static inline wf_arg wf__arg_num(const char *s, double d) { return (wf_arg){ s, WF_ARG_NUMBER, 0, { .num = d } }; }
static inline wf_arg wf__arg_i64(const char *s, int64_t n)
{
    bool exact = n > -(INT64_C(1) << 53) && n < INT64_C(1) << 53;
    return exact ? wf__arg_num(s, (double)n) : (wf_arg){ s, WF_ARG_I64, 0, { .i64 = n } };
}
static inline wf_arg wf__arg_u64(const char *s, uint64_t n)
{
    return n < UINT64_C(1) << 53 ? wf__arg_num(s, (double)n) : (wf_arg){ s, WF_ARG_U64, 0, { .u64 = n } };
}
#define WF_ARG(name, x) \
    _Generic((x),                                                                                                      \
        wf_array *: wf__arg_array,                                                                                     \
        const wf_array *: wf__arg_array,                                                                               \
        wf_val: wf__arg_val,                                                                                           \
        wf_var: wf__arg_var,                                                                                           \
        long: wf__arg_i64,                                                                                             \
        long long: wf__arg_i64,                                                                                        \
        unsigned long: wf__arg_u64,                                                                                    \
        unsigned long long: wf__arg_u64,                                                                               \
        default: wf__arg_num)(name, x)
#define WF__NAMED1(x) WF_ARG(#x, x)
#define WF_ARGS(...) ((wf_args){ (wf_arg[]){ __VA_ARGS__ }, WF__N(__VA_ARGS__) })
#define WF_NO_ARGS ((wf_args){ 0, 0 })
#define WF_NAMED(...) WF_ARGS(WF__MAP(WF__NAMED1, __VA_ARGS__))

#define WF_ARRAYS(...) ((wf_arrays){ (wf_array *const[]){ __VA_ARGS__ }, WF__N(__VA_ARGS__) })
#define WF_NO_ARRAYS ((wf_arrays){ 0, 0 })
#endif
#endif
