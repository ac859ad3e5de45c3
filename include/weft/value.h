/* value.h - values: constants and parameters, values made of the elements of others, and arrays made of values.
 * Reference: docs/reference/value.md */
#ifndef WF_VALUE_H
#define WF_VALUE_H
#include "weft/error.h"
#include "weft/macros.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The dtype of a value, known while recording; WF_NONE for numbers and poison. */
WF_API wf_dtype wf_val_dtype(wf_val value);
/* The shape of a value, known while recording; rank 0 for numbers, scalars and lanes of index spaces. */
WF_API wf_shape wf_val_shape(wf_val value);
/* True for a number, real or complex, which belongs to no recording; *re and *im become its parts.
 * False, with *re and *im untouched, for values of a recording and for poison. Either may be NULL. */
WF_API bool wf_val_number(wf_val value, double *re, double *im);
/* True if the value is made of constants alone, within eight operations. Poison is not. */
WF_API bool wf_val_is_constant(wf_val value);
/* Names a value for dumps and messages, and returns it. At most 59 characters; the rest is cut.
 * The label of a wf_in names the array, too. */
WF_API wf_val wf_label(wf_val value, const char *text);
/* Names an array for dumps and messages, once the recording has read or written it; the first label counts. */
WF_API void wf_label_array(wf_graph *graph, const wf_array *array, const char *text);

/* A constant of a given dtype; WF_ERR_DTYPE if the number does not fit. */
WF_API wf_val wf_const(wf_graph *graph, wf_dtype dtype, double value);
/* The constant re + i im of a complex dtype; 2.0 + 3.0 * I would lose its imaginary part on the way. */
WF_API wf_val wf_const_complex(wf_graph *graph, wf_dtype dtype, double re, double im);
/* An integer constant, also beyond 2^53; a u64 is given as its bits. */
WF_API wf_val wf_const_i64(wf_graph *graph, wf_dtype dtype, int64_t bits);
/* A run-time parameter, which launches may change; a change never recompiles. A name is one parameter, and no formal.
 * Errors: WF_ERR_DTYPE or WF_ERR_ARG for the same name with another dtype or initial value. */
WF_API wf_val wf_param(wf_graph *graph, const char *name, wf_dtype dtype, double initial);

/* Array graphs: every step-th element of a range of an axis, as wf_view_slice. Needs no memory.
 * Errors: WF_ERR_UNSUPPORTED in a block of control flow, where wf_read takes elements; so the functions below.
 * Example: wf_sub(wf_slice(v, 0, 1, WF_END_INDEX, 1), wf_slice(v, 0, 0, -1, 1)) */
WF_API wf_val wf_slice(wf_val value, int axis, int64_t start, int64_t stop, int64_t step);
/* Array graphs: the axis in reverse direction. */
WF_API wf_val wf_reverse(wf_val value, int axis);
/* Array graphs: axis d of the result is axes[d] of the value. */
WF_API wf_val wf_permute(wf_val value, const int *axes);
/* Array graphs: another shape, elements in C order; one extent of -1 is inferred. */
WF_API wf_val wf_reshape(wf_val value, wf_shape shape);
/* Array graphs: broadcasts to a shape, by NumPy's rule. */
WF_API wf_val wf_broadcast(wf_val value, wf_shape shape);
/* Array graphs: the whole value several times along each axis: abc by 2 is abcabc.
 * Shapes: `times` has one count for each axis. */
WF_API wf_val wf_tile(wf_val value, wf_shape times);
/* Array graphs: each element several times along an axis: abc by 2 is aabbcc. */
WF_API wf_val wf_repeat(wf_val value, int axis, int64_t times);
/* Array graphs: elements of a value by index, one integer index for each axis.
 * Shapes: the broadcast shape of the indices.
 * Errors: an index out of range is undefined behaviour; a value without elements is WF_ERR_BOUNDS. */
WF_API wf_val wf_gather_n(wf_val value, wf_vals index);
/* Array graphs: elements of a value by index; `other` outside. */
WF_API wf_val wf_gather_or_n(wf_val value, wf_val other, wf_vals index);
/* Array graphs: an array of `shape` in which element (i, j, ...) is the sum of the elements of the value whose indices
 * are (i, j, ...), and 0 where there are none: the transpose of wf_gather.
 * Dtypes: any but bool, f16 and bf16; indices are integers. Shapes: value and indices broadcast, one index for each
 * axis of `shape`, whose extents are known. Aliasing: none, the array is made for the value.
 * Errors: an index out of range is undefined, and in debug mode WF_ERR_BOUNDS. Threads: sums of floats have the order
 * that wf_accumulate documents. Cost: that of a wf_accumulate into an array of zeros. */
WF_API wf_val wf_scatter_n(wf_val value, wf_shape shape, wf_vals index);
/* Array graphs: values one behind the other along an axis.
 * Dtypes: one dtype. Shapes: known extents.
 * Cost: a comparison and two gathers for each element. */
WF_API wf_val wf_concat_n(wf_vals values, int axis);
/* [n]: first + i (last - first) / (n - 1), computed in f64 and converted; n = 1: first.
 * The last element is `last` up to rounding. */
WF_API wf_val wf_linspace(wf_graph *graph, wf_dtype dtype, int64_t n, double first, double last);
/* The points of a grid: [n], [m], ... become n values of shape [n, m, ...]; out[k] is vector k along axis k.
 * Cost: no memory; the results are broadcast.
 * Example: wf_meshgrid(p, wf_linspace(g, WF_F32, 480, -1, 1), wf_linspace(g, WF_F32, 640, -2, 2)); */
WF_API void wf_meshgrid_n(wf_vals vectors, wf_val *out);
/* Array graphs: the index along `axis` in an array of this shape, i64. */
WF_API wf_val wf_iota(wf_graph *graph, wf_shape shape, int axis);
/* Array graphs: the elements of a value where a mask holds, in C order, as a new array [count] that is ready.
 * Shapes: value and mask broadcast; their extents are known.
 * Errors: NULL: the graph is poisoned, or wf_last_message explains.
 * Waits: evaluates what has been recorded so far (wf_eval).
 * Cost: a scan of the mask, with 8 bytes for each element, and a scatter.
 * Example: wf_array *large = wf_compress(v, wf_gt(v, 1)); */
WF_API wf_array *wf_compress(wf_val value, wf_val mask);
/* Array graphs: the value as a new lazy array, ready after wf_run, wf_eval, or the first access by others.
 * Aliasing: operands are read when the value is computed; a change of an operand before that changes it.
 * Owns: the caller releases the array; one that is released before it is computed is never computed.
 * Errors: NULL: the graph is poisoned; a number has none. */
WF_API wf_array *wf_keep(wf_val value);

#ifdef __cplusplus
}
#else
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif
#define wf_slice(v, ...) wf_slice(WF_V(v), __VA_ARGS__)
#define wf_reverse(v, ...) wf_reverse(WF_V(v), __VA_ARGS__)
#define wf_permute(v, ...) wf_permute(WF_V(v), __VA_ARGS__)
#define wf_reshape(v, ...) wf_reshape(WF_V(v), __VA_ARGS__)
#define wf_broadcast(v, ...) wf_broadcast(WF_V(v), __VA_ARGS__)
#define wf_tile(v, ...) wf_tile(WF_V(v), __VA_ARGS__)
#define wf_repeat(v, ...) wf_repeat(WF_V(v), __VA_ARGS__)
#define wf_gather(v, ...) wf_gather_n(WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_scatter(v, shape, ...) wf_scatter_n(WF_V(v), shape, WF_VALS(__VA_ARGS__))
#define wf_gather_or(v, other, ...) wf_gather_or_n(WF_V(v), WF_V(other), WF_VALS(__VA_ARGS__))
#define wf_concat(axis, ...) wf_concat_n(WF_VALS(__VA_ARGS__), axis)
#define wf_meshgrid(out, ...) wf_meshgrid_n(WF_VALS(__VA_ARGS__), out)
#define wf_compress(v, mask) wf_compress(WF_V(v), WF_V(mask))
#define wf_keep(v) wf_keep(WF_V(v))
#endif
#endif
