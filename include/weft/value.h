/* value.h - values: constants and parameters, values made of the elements of others, and arrays made of values. */
#ifndef WF_VALUE_H
#define WF_VALUE_H
#include "weft/error.h"
#include "weft/macros.h"
#ifdef __cplusplus
extern "C" {
#endif

/* What a value is, known while recording: WF_NONE for numbers and poison; rank 0 for numbers, scalars and the lanes of
 * index spaces. */
WF_API wf_dtype wf_val_dtype(wf_val value);
WF_API wf_shape wf_val_shape(wf_val value);
/* True for a number, real or complex, which belongs to no recording; *re and *im (NULL: not wanted) become its parts.
 * False, with *re and *im as they were, for values of a recording and for poison. */
WF_API bool wf_val_number(wf_val value, double *re, double *im);
/* True if the value is made of constants alone, within eight operations. A number is; poison is not. */
WF_API bool wf_val_is_constant(wf_val value);
/* What dumps and messages about shapes call a value, and those of debug mode what is read or written by it; the
 * label of wf_in's value names the array, too. Cut to 59 characters. Returns the value. */
WF_API wf_val wf_label(wf_val value, const char *text);

/* Constants of a given dtype, and run-time parameters (changing one never recompiles). A name is one parameter of the
 * recording: asking for it again, with the same dtype and initial value, gives the same one; with others, WF_ERR_DTYPE
 * or WF_ERR_ARG, as one of the two would be lost. */
WF_API wf_val wf_const(wf_graph *graph, wf_dtype dtype, double value);
/* re + i im, of a complex dtype; 2.0 + 3.0 * I of <complex.h> would lose its imaginary part on the way. */
WF_API wf_val wf_const_complex(wf_graph *graph, wf_dtype dtype, double re, double im);
WF_API wf_val wf_const_i64(wf_graph *graph, wf_dtype dtype, int64_t bits); /* integers beyond 2^53; u64 as its bits */
WF_API wf_val wf_param(wf_graph *graph, const char *name, wf_dtype dtype, double initial);

/* Array graphs: values made of the elements of another one. Nothing is moved and no memory is used: what uses them
 * computes the elements that it wants, and loads become strided. Not in a block of control flow: there wf_read takes
 * elements of arrays, kept ones too. Only reductions, atomic operations, and what would
 * be computed many times over, go through a temporary. axis: negatives count from the end. Extents that a formal
 * leaves open are checked at the launch. Numbers are returned as they are.
 *     difference = wf_sub(wf_slice(v, 0, 1, WF_END_INDEX, 1), wf_slice(v, 0, 0, -1, 1)) */
WF_API wf_val wf_slice(wf_val value, int axis, int64_t start, int64_t stop, int64_t step); /* as wf_view_slice */
WF_API wf_val wf_reverse(wf_val value, int axis);
WF_API wf_val wf_permute(wf_val value, const int *axes);  /* axis d of the result is axes[d] of the value */
WF_API wf_val wf_reshape(wf_val value, wf_shape shape);   /* in C order; one -1 is inferred */
WF_API wf_val wf_broadcast(wf_val value, wf_shape shape); /* NumPy's rule */
WF_API wf_val wf_tile(wf_val value, wf_shape times);      /* the whole again so often along each axis: times has one
                                                                 count for each, abc by 2 is abcabc */
WF_API wf_val wf_repeat(wf_val value, int axis, int64_t times); /* each element so often: abc by 2 is aabbcc */
/* A gather from a value that need not be computed before: element (index 0, index 1, ...), one integer index for
 * each axis, of the indices' broadcast shape. wf_gather: out of range is undefined, as with wf_read; a value without
 * elements is WF_ERR_BOUNDS. wf_gather_or: `other` outside, so that an index of -1 masks an element. What is
 * gathered twice through indices of indices is one gather, of elements that are within both. */
WF_API wf_val wf_gather_n(wf_val value, wf_vals index);
WF_API wf_val wf_gather_or_n(wf_val value, wf_val other, wf_vals index);
/* One behind the other along the axis; one dtype, known extents. Costs a comparison and two gathers an element. */
WF_API wf_val wf_concat_n(wf_vals values, int axis);
/* [n]: from first to last, both included, computed in f64 and converted. */
WF_API wf_val wf_linspace(wf_graph *graph, wf_dtype dtype, int64_t n, double first, double last);
/* The points of a grid: [n], [m], ... become n values of shape [n, m, ...], out[k] holding vectors.at[k] along axis
 * k. No memory is used: they are broadcast views.
 *     wf_val p[2];
 *     wf_meshgrid(p, wf_linspace(g, WF_F32, 480, -1, 1), wf_linspace(g, WF_F32, 640, -2, 2)) */
WF_API void wf_meshgrid_n(wf_vals vectors, wf_val *out);
/* Array graphs only: i64 index along `axis` (negative: from the end) of an array of this shape. */
WF_API wf_val wf_iota(wf_graph *graph, wf_shape shape, int axis);
/* Array graphs: the elements of a value where a mask (bool, or not 0) holds, in C order, as a new array [count] that
 * is ready; value and mask broadcast, their extents are known. As the count decides a shape, what has been recorded
 * so far is evaluated, in the words of wf_eval; the value itself is not stored, unless assignments are pending.
 * Costs a scan of the mask (8 bytes an element for a while) and a scatter. NULL poisons, or wf_last_message says why.
 *     wf_array *large = wf_compress(v, wf_gt(v, 1)); */
WF_API wf_array *wf_compress(wf_val value, wf_val mask);
/* Array graphs: the value as a new lazy array, ready after wf_run, after wf_eval, or (which calls wf_eval) when it
 * is downloaded, mapped, copied, viewed, read or written by the host or by another graph, from the recording's
 * thread: a write comes after what was kept, and if that cannot be computed it fails, too. (One that will never be
 * computed, its recording having ended, has contents again once it is written.) What the value is made of is read
 * when it is computed, not here: an operand that is changed in between changes the result; wf_eval before the
 * change, or a wf_copy of the operand, keeps it. One that is released before is not computed. NULL poisons. */
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
#define wf_gather_or(v, other, ...) wf_gather_or_n(WF_V(v), WF_V(other), WF_VALS(__VA_ARGS__))
#define wf_concat(axis, ...) wf_concat_n(WF_VALS(__VA_ARGS__), axis)
#define wf_meshgrid(out, ...) wf_meshgrid_n(WF_VALS(__VA_ARGS__), out)
#define wf_compress(v, mask) wf_compress(WF_V(v), WF_V(mask))
#define wf_keep(v) wf_keep(WF_V(v))
#endif
#endif
