/* reduce.h - reduced variables, sections of a recording, reductions and scans of values.
 * Results have the same bits for any number of threads and any vector width.
 * Reference: docs/reference/reduce.md */
#ifndef WF_REDUCE_H
#define WF_REDUCE_H
#include "weft/ops.h"
#ifdef __cplusplus
extern "C" {
#endif

/* A reduced variable, in a recording begun with .reduce. `initial`, a constant, is joined in exactly once.
 * In WF_SECTION_CALL assign x = join(x, ...); in WF_SECTION_POST the variable holds the result.
 * Dtypes: complex variables add or multiply. f16 and bf16 are computed in f32; wf_out rounds once.
 * Example: wf_var sum = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD); */
WF_API wf_var wf_reduced(wf_graph *graph, wf_dtype dtype, wf_val initial, wf_join join);
/* Sections of a recording, by when they run. */
typedef enum wf_section_id {
    WF_SECTION_CALL,  /* for each point */
    WF_SECTION_POST,  /* for each point of the kept axes, after the reduction */
    WF_SECTION_JOIN,  /* merges two partial results of WF_JOIN_CUSTOM */
    WF_SECTION_INIT,  /* once for each block, before its points (block.h) */
    WF_SECTION_DEINIT /* once for each block, after its points */
} wf_section_id;
/* Continues the recording in another section. Recording starts in WF_SECTION_CALL.
 * Values do not cross sections; reduced variables do.
 * Shapes: in WF_SECTION_POST arrays have the space's shape, with reduced axes of extent 1 or left out.
 * Errors: in WF_SECTION_POST control flow, and access by index to other than local arrays, are WF_ERR_UNSUPPORTED. */
WF_API void wf_section(wf_graph *graph, wf_section_id section);
/* Another partial result of a variable of WF_JOIN_CUSTOM, in WF_SECTION_JOIN, where the variable holds one.
 * The value that the variable is set to is the merged result.
 * Errors: only such variables, numbers and operations are allowed in WF_SECTION_JOIN.
 * The operator must be associative and commutative up to rounding, and `initial` neutral. */
WF_API wf_var wf_other(wf_var reduced);
/* Array graphs: reduces axes, WF_AXES(...) or WF_ALL_AXES. Over no elements: the neutral element. A number stays.
 * Shapes: the value's rank, with extent 1 along reduced axes. WF_DROP_AXES, which is for array functions, is WF_ERR_ARG.
 * Dtypes: f32 accumulates in f64, f16 and bf16 in f32, rounded once; integers give i64 or u64.
 * Example: wf_sub(v, wf_div(wf_sum(v, WF_AXES(1)), width)) */
WF_API wf_val wf_reduce(wf_join join, wf_val value, wf_axes axes);
/* Array graphs: joins each element with those before it along an axis; `exclusive`: without itself,
 * and the first element is the neutral element; `reversed`: from the end.
 * Shapes: the value's. Dtypes: as wf_reduce, rounded once for each element; complex: WF_JOIN_ADD only.
 * Cost: one pass over memory, in parallel. The bits depend on the shape alone.
 * Example: offsets = wf_scan(WF_JOIN_ADD, counts, 0, true, false) */
WF_API wf_val wf_scan(wf_join join, wf_val value, int axis, bool exclusive, bool reversed);
/* Array graphs: reduces blocks of `block` neighbours along the last axis; the last block may be shorter.
 * Shapes: rank 1 to 7; the last extent becomes extent / block, rounded up.
 * Example: [1 2 3 4 5 6] by WF_JOIN_ADD and 4: [10 11] */
WF_API wf_val wf_block_reduce(wf_join join, wf_val value, int64_t block);

#ifdef __cplusplus
}
#else
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif
#define wf_reduced(g, dtype, v, join) wf_reduced(g, dtype, WF_V(v), join)
#define wf_reduce(join, v, axes) wf_reduce(join, WF_V(v), axes)
#define wf_scan(join, v, ...) wf_scan(join, WF_V(v), __VA_ARGS__)
#define wf_block_reduce(join, v, block) wf_block_reduce(join, WF_V(v), block)
/* The sum over axes. */
#define wf_sum(v, axes) wf_reduce(WF_JOIN_ADD, v, axes)
/* The sum of all products a * b. */
#define wf_dot(a, b) wf_sum(wf_mul(a, b), WF_ALL_AXES)
/* True where all bools along the axes are; for integers the bits that all have. */
#define wf_all(v, axes) wf_reduce(WF_JOIN_AND, v, axes)
/* True where any bool along the axes is; for integers the bits that any has. */
#define wf_any(v, axes) wf_reduce(WF_JOIN_OR, v, axes)
#endif
#endif
