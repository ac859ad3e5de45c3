/* macros.h - the C side of weft.h: lists, named captures, options as named arguments. Included by ops.h. What is
 * control.h's stands there. */
#ifndef WEFT_MACROS_H
#define WEFT_MACROS_H
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
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
#define WF__STR(x) WF__STR_(x)
#define WF__STR_(x) #x
#define WF_HERE __FILE__ ":" WF__STR(__LINE__)
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
    return (wf_arg){ s, 1, 0, { .array = (wf_array *)a } };
}
static inline wf_arg wf__arg_val(const char *s, wf_val v) { return (wf_arg){ s, 2, 0, { .val = v } }; }
static inline wf_arg wf__arg_var(const char *s, wf_var v) { return (wf_arg){ s, 2, 0, { .val = { v } } }; }
static inline wf_arg wf__arg_num(const char *s, double d) { return (wf_arg){ s, 3, 0, { .num = d } }; }
#define WF_ARG(name, x) \
    _Generic((x),                                                                                                      \
        wf_array *: wf__arg_array,                                                                                     \
        const wf_array *: wf__arg_array,                                                                               \
        wf_val: wf__arg_val,                                                                                           \
        wf_var: wf__arg_var,                                                                                           \
        default: wf__arg_num)(name, x)
#define WF__NAMED1(x) WF_ARG(#x, x)
#define WF_ARGS(...) ((wf_args){ (wf_arg[]){ __VA_ARGS__ }, WF__N(__VA_ARGS__) })
#define WF_NO_ARGS ((wf_args){ 0, 0 })
#define WF_NAMED(...) WF_ARGS(WF__MAP(WF__NAMED1, __VA_ARGS__))

#define WF_ARRAYS(...) ((wf_arrays){ (wf_array *const[]){ __VA_ARGS__ }, WF__N(__VA_ARGS__) })
#define WF_NO_ARRAYS ((wf_arrays){ 0, 0 })

/* options are named arguments: wf_begin(ctx, .shape = WF_SHAPE(n, h, w)) */
#define wf_begin(...)                     \
    wf_begin_with(WF__FIRST(__VA_ARGS__), \
                  &(wf_space){ WF__REST(__VA_ARGS__, .size = sizeof(wf_space), .here = WF_HERE) })
#define wf_empty(ctx, dtype, ...) \
    wf_empty_with(ctx, dtype, WF__FIRST(__VA_ARGS__), &(wf_place){ WF__REST(__VA_ARGS__, .size = sizeof(wf_place)) })
#define wf_wrap(ctx, data, dtype, shape, release, ...)                                                             \
    wf_wrap_with(ctx, data, dtype, shape, &(wf_place){ WF__REST(__VA_ARGS__, .size = sizeof(wf_place)) }, release, \
                 WF__FIRST(__VA_ARGS__))
#define wf_apply(ctx, in, out, ...)                     \
    wf_apply_with(ctx, in, out, WF__FIRST(__VA_ARGS__), \
                  &(wf_space){ WF__REST(__VA_ARGS__, .size = sizeof(wf_space), .here = WF_HERE) })
#define WF_OPERATOR(...) (&(wf_op){ .size = sizeof(wf_op), __VA_ARGS__ })
#define wf_launch(kernel, ...)                     \
    wf_launch_with(kernel, WF__FIRST(__VA_ARGS__), \
                   &(wf_launch_opts){ WF__REST(__VA_ARGS__, .size = sizeof(wf_launch_opts)) })

#define wf_read(g, a, ...) wf_read_n(g, a, WF_VALS(__VA_ARGS__))
#define wf_read_or(g, a, other, ...) wf_read_or_n(g, a, WF_V(other), WF_VALS(__VA_ARGS__))
#define wf_read_border(g, a, border, other, ...) wf_read_border_n(g, a, border, WF_V(other), WF_VALS(__VA_ARGS__))
#define wf_write(g, a, v, ...) wf_write_n(g, a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_accumulate(g, join, a, v, ...) wf_accumulate_n(g, join, a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_accumulate_if(g, condition, join, a, v, ...) \
    wf_accumulate_if_n(g, WF_V(condition), join, a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_atomic(g, join, a, v, ...) wf_atomic_n(g, join, a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_atomic_if(g, condition, join, a, v, ...) \
    wf_atomic_if_n(g, WF_V(condition), join, a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_cas(g, a, expected, desired, ...) wf_cas_n(g, a, WF_V(expected), WF_V(desired), WF_VALS(__VA_ARGS__))
#define wf_out(g, a, v) wf_out(g, a, WF_V(v))
#define wf_watch(g, name, v, look, user) wf_watch_(g, WF_HERE, name, WF_V(v), look, user)
#define wf_reduced(g, dtype, v, join) wf_reduced(g, dtype, WF_V(v), join)
#define wf_keep(v) wf_keep(WF_V(v))
#define wf_reduce(join, v, axes) wf_reduce(join, WF_V(v), axes)
#define wf_slice(v, ...) wf_slice(WF_V(v), __VA_ARGS__)
#define wf_reverse(v, ...) wf_reverse(WF_V(v), __VA_ARGS__)
#define wf_permute(v, ...) wf_permute(WF_V(v), __VA_ARGS__)
#define wf_reshape(v, ...) wf_reshape(WF_V(v), __VA_ARGS__)
#define wf_broadcast(v, ...) wf_broadcast(WF_V(v), __VA_ARGS__)
#define wf_tile(v, ...) wf_tile(WF_V(v), __VA_ARGS__)
#define wf_repeat(v, ...) wf_repeat(WF_V(v), __VA_ARGS__)
#define wf_gather(v, ...) wf_gather_n(WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_gather_or(v, other, ...) wf_gather_or_n(WF_V(v), WF_V(other), WF_VALS(__VA_ARGS__))
#define wf_concat(axis, ...) wf_concat_n(WF_VALS(__VA_ARGS__), axis)
#define wf_meshgrid(out, ...) wf_meshgrid_n(WF_VALS(__VA_ARGS__), out)
#define wf_compress(v, mask) wf_compress(WF_V(v), WF_V(mask))
#define wf_scan(join, v, ...) wf_scan(join, WF_V(v), __VA_ARGS__)
#define wf_block_reduce(join, v, block) wf_block_reduce(join, WF_V(v), block)
#define wf_dot(a, b) wf_sum(wf_mul(a, b), WF_ALL_AXES)
#define wf_all(v, axes) wf_reduce(WF_JOIN_AND, v, axes) /* of bools */
#define wf_any(v, axes) wf_reduce(WF_JOIN_OR, v, axes)
#define wf_write_if(g, condition, a, v, ...) wf_write_if_n(g, WF_V(condition), a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_sum(v, axes) wf_reduce(WF_JOIN_ADD, v, axes)

#define wf_expr(g, text, args) wf_expr_n(g, text, args)
#define wf_text_record(g, text, ...) wf_text_record_n(g, text, WF_NAMED(__VA_ARGS__))
#define wf_text(ctx, text, ...) wf_text_n(ctx, text, WF_NAMED(__VA_ARGS__))
#endif
