/* reduce.h - reduced variables, sections of a recording, reductions and scans of values. */
#ifndef WF_REDUCE_H
#define WF_REDUCE_H
#include "weft/ops.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Reductions. Results are the same bits for any number of threads and any vector width. */
/* In a graph begun with .reduce: a reduced variable. `initial` is joined in exactly once. In WF_SECTION_CALL assign `x
 * = join(x, ...)` (wf_inc for WF_JOIN_ADD; complex variables add or multiply); in WF_SECTION_POST it holds the result.
 * Of dtype f16 or bf16: the variable is f32, and wf_out rounds the result once. */
WF_API wf_var wf_reduced(wf_graph *graph, wf_dtype dtype, wf_val initial, wf_join join);
typedef enum wf_section_id {
    WF_SECTION_CALL,
    WF_SECTION_POST,
    WF_SECTION_JOIN,
    WF_SECTION_INIT,
    WF_SECTION_DEINIT
} wf_section_id;
/* Sections of a reducing graph; recording starts in WF_SECTION_CALL. WF_SECTION_POST runs once for each point of the
 * kept axes: wf_out writes to arrays of the space's shape whose reduced axes have extent 1 or are left out, wf_in reads
 * such arrays, wf_index is that of a kept axis, wf_extent that of any. Access by index (wf_read, wf_write,
 * wf_accumulate, wf_atomic and their kin) to other than local arrays, and control flow, are WF_ERR_UNSUPPORTED there.
 * With all axes reduced, arrays have one element. Values do not cross sections; reduced variables do. */
WF_API void wf_section(wf_graph *graph, wf_section_id section);
/* Custom joins: of a variable made with WF_JOIN_CUSTOM, WF_SECTION_CALL may compute anything from all such variables.
 * Partial results, each begun with `initial` (which must therefore be neutral: no point seen yet), are merged by
 * section WF_SECTION_JOIN, recorded between WF_SECTION_CALL and WF_SECTION_POST: there a variable holds one partial
 * result and wf_other(variable) is another one's; what the variables are set to is the merged one. Only these, numbers
 * and operations are to be had in WF_SECTION_JOIN. The operator must be associative and commutative up to rounding
 * (points come in no order); the order of merging is fixed, by the shape alone. */
WF_API wf_var wf_other(wf_var reduced);
/* Array graphs: reduces the axes, WF_AXES(...) or WF_ALL_AXES, to a value of the same rank with extent 1 along them.
 * Sums and products of f32 accumulate in f64 and are rounded once, f16 and bf16 in f32; those of integers are i64 or
 * u64. Complex numbers: WF_JOIN_ADD and WF_JOIN_MUL. Over no elements: the sum is 0, others give what changes nothing.
 * Example, every row minus its mean: wf_sub(v, wf_div(wf_sum(v, WF_AXES(1)), width)). */
WF_API wf_val wf_reduce(wf_join join, wf_val value, wf_axes axes);
/* Array graphs: prefix sums and the like: each element joined with those before it along the axis, with itself or
 * (exclusive) without, from the start or (reversed) from the end. The value's shape; dtypes as with wf_reduce: sums
 * and products of integers are i64 or u64; of f32 they are joined in f64 and rounded once an element, f16 and bf16
 * through f32. Exclusive: what nothing is before is 0, or what changes nothing. The bits depend on the shape alone:
 * parts of a length that it fixes are summed first, then what comes before each. One pass over memory,
 * right into the array that the value is assigned to or kept in; a value that is cheap to compute is computed on the
 * way, part by part, and what is cheap to make of the result alone follows in the same way. Parallel.
 *     offsets = wf_scan(WF_JOIN_ADD, counts, 0, true, false) */
WF_API wf_val wf_scan(wf_join join, wf_val value, int axis, bool exclusive, bool reversed);
/* Array graphs: reduces blocks of so many neighbours along the last axis, whose extent becomes that by `block`, rounded
 * up; the last block may be a part of one. Of values of rank 1 to 7. [1 2 3 4 5 6] by WF_JOIN_ADD and 4: [10 11]. */
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
#define wf_sum(v, axes) wf_reduce(WF_JOIN_ADD, v, axes)
#define wf_dot(a, b) wf_sum(wf_mul(a, b), WF_ALL_AXES)
#define wf_all(v, axes) wf_reduce(WF_JOIN_AND, v, axes) /* of bools */
#define wf_any(v, axes) wf_reduce(WF_JOIN_OR, v, axes)
#endif
#endif
