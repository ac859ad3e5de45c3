/* functions.h - ready-made functions of arrays, on top of weft.h.
 * A new array is in C order, of the input's context and on its device; the caller releases it.
 * Errors: NULL or a status; wf_last_message explains.
 * Threads: from any thread, with all threads of the context; the same bits for any number of threads.
 * Waits: done on return, or queued in the current stream. Cost: one pass over the data, unless said.
 * Reference: docs/reference/functions.md */
#ifndef WF_FUNCTIONS_H
#define WF_FUNCTIONS_H
#include "weft/weft.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- make and fill ---------------------------------------------------------------------------------------------- */
/* Sets every element to `value`, which must fit the dtype (a complex one: its real part).
 * Aliasing: any view but a broadcast one. */
WF_API wf_status wf_array_fill(wf_array *array, double value);
/* Sets every element of a complex array to re + i im. */
WF_API wf_status wf_array_fill_complex(wf_array *array, double re, double im);
/* to = from, broadcast to the shape of `to` and converted as a cast. They may overlap.
 * Errors: complex to real is WF_ERR_DTYPE. */
WF_API wf_status wf_array_assign(wf_array *to, const wf_array *from);
/* The same elements in C order. */
WF_API wf_array *wf_array_copy(const wf_array *array);
/* The same elements of another dtype, as wf_cast; complex to real is WF_ERR_DTYPE. */
WF_API wf_array *wf_array_cast(const wf_array *array, wf_dtype dtype);
/* The array itself, retained, where it is in C order without gaps; else a copy. */
WF_API wf_array *wf_array_contiguous(wf_array *array);
/* [n]: start + i (stop - start) / (n - 1), or / n without `endpoint`; computed in f64 and converted.
 * With `endpoint` the last is `stop` itself. *step, unless NULL, becomes the distance: NaN for n = 0,
 * and for n = 1 with `endpoint`. */
WF_API wf_array *wf_array_linspace(wf_context *ctx, wf_dtype dtype, int64_t n, double start, double stop, bool endpoint,
                                   double *step);
/* The linear index of each element in C order, within tiles of extents tile[rank] (> 0) that repeat.
 * NULL: one tile, the whole array. Converted as a cast. Example: shape {5}, tile {3}: 0 1 2 0 1. */
WF_API wf_array *wf_array_iota(wf_context *ctx, wf_dtype dtype, wf_shape shape, const int64_t *tile);

/* ---- parts ------------------------------------------------------------------------------------------------------ */
/* Axis d of the result is axes[d] of the array: wf_view_permute and a copy. */
WF_API wf_array *wf_array_permute(const wf_array *array, const int *axes);
/* The region of extents `shape` whose first element is at `offset` ([rank], any sign).
 * `border` gives the values outside: `value` (as wf_const; WF_BORDER_VALUE), or elements found by index.
 * Errors: WF_BORDER_NONE: the region must lie inside, else WF_ERR_BOUNDS. */
WF_API wf_array *wf_array_extract(const wf_array *array, wf_shape shape, const int64_t *offset, wf_border border,
                                  double value);
/* Writes `region`, converted, so that its first element is at `offset` ([rank]); the rest is left out.
 * Aliasing: they have one rank and may overlap. */
WF_API wf_status wf_array_insert(wf_array *array, const wf_array *region, const int64_t *offset);
/* Of an axis of an array, the elements start + step * i, where i is the index along an axis of a shape; -1: `start` alone. */
typedef struct wf_axis_slice {
    int64_t start, step; /* a step may be 0 or negative */
    int along;
} wf_axis_slice;
/* A copy of slices of an array, one for each of its axes, in any order of the axes of `shape`. Of a distributed array, axes of
 * the result are divided as those which they come from. Errors: WF_ERR_BOUNDS: elements beyond the array.
 * Example: b[y, x] = a[x, 3, 2 * y]: wf_array_slice(a, WF_SHAPE(h, w), (wf_axis_slice[]){ { 0, 1, 1 }, { 3, 0, -1 }, { 0, 2, 0 } }); */
WF_API wf_array *wf_array_slice(const wf_array *array, wf_shape shape, const wf_axis_slice *slices);
/* Writes `values`, converted, which broadcast to `shape`, to slices of an array: b[y, x] of the example to a[x, 3, 2 * y].
 * Aliasing: values may share memory with the array. If several places of the shape are one element, any one is written. */
WF_API wf_status wf_array_assign_slice(wf_array *array, wf_shape shape, const wf_axis_slice *slices,
                                       const wf_array *values);
/* A copy of another shape, whose elements are those of the array in C order. An extent of -1 is found. */
WF_API wf_array *wf_array_reshape(const wf_array *array, wf_shape shape);
/* n regions of extents `shape`, [n, shape...]: the first element of region i is at offsets[i, d], [n, rank].
 * Dtypes: offsets are integers. The array's rank is below WF_MAX_RANK. */
WF_API wf_array *wf_array_extract_regions(const wf_array *array, wf_shape shape, const wf_array *offsets,
                                          wf_border border, double value);
/* Writes `regions` [n, shape...], converted, to these places; where regions meet the last one is seen.
 * Cost: if regions meet, time and an array of 4 or 8 bytes per element more. */
WF_API wf_status wf_array_insert_regions(wf_array *array, const wf_array *regions, const wf_array *offsets);
/* before[d] and after[d] more elements at the ends of axis d, fewer if negative (NULL: 0).
 * `border`, `value`: as in wf_array_extract. Errors: an extent below 0 is WF_ERR_SHAPE. */
WF_API wf_array *wf_array_resize(const wf_array *array, const int64_t *before, const int64_t *after, wf_border border,
                                 double value);
/* The array times[d] >= 0 times side by side along axis d, as NumPy's tile. */
WF_API wf_array *wf_array_tile(const wf_array *array, const int64_t *times);
/* Each element `times` >= 0 times in a row along `axis` (negative: from the end), as NumPy's repeat. */
WF_API wf_array *wf_array_repeat(const wf_array *array, int axis, int64_t times);
/* Each element along the axis as often as its count says: integers of 0 or more, one for each. Waits: for the counts. */
WF_API wf_array *wf_array_repeat_counts(const wf_array *array, int axis, const wf_array *counts);

/* ---- reductions -------------------------------------------------------------------------------------------------
 * Over the axes of a mask, WF_AXES(0, 2) or WF_ALL_AXES, which stay with extent 1 or, with WF_DROP_AXES, are left out.
 * Dtypes: means, norms and the like are computed in f64 and rounded once; of integers and bools they are f64.
 * Sums run in an order that depends on shapes and strides alone. */
/* Sum; of no elements 0. Dtypes: as wf_reduce: integers and bools give i64, unsigned ones u64, wrapping. */
WF_API wf_array *wf_array_sum(const wf_array *array, wf_axes axes);
/* Product; of no elements 1. Dtypes: as wf_array_sum. */
WF_API wf_array *wf_array_prod(const wf_array *array, wf_axes axes);
/* Arithmetic mean; of no elements NaN. */
WF_API wf_array *wf_array_mean(const wf_array *array, wf_axes axes);
/* Sum of |x - mean|^2 over (n - ddof); ddof 0 of a population, 1 of a sample; NaN for n <= ddof.
 * Dtypes: real, also of complex numbers.
 * Cost: elements of 64 bits are read twice, others once, with a relative error below n 2^-52. */
WF_API wf_array *wf_array_variance(const wf_array *array, wf_axes axes, double ddof);
/* Square root of wf_array_variance. */
WF_API wf_array *wf_array_stddev(const wf_array *array, wf_axes axes, double ddof);
/* wf_array_mean and wf_array_variance at once. Both are NULL on error. */
WF_API wf_status wf_array_mean_variance(const wf_array *array, wf_axes axes, double ddof, wf_array **mean,
                                        wf_array **variance);
typedef enum wf_norm {
    WF_NORM_L1, /* sum of |x| */
    WF_NORM_L2, /* square root of the sum of |x|^2; squares beyond f64 give infinity */
    WF_NORM_MAX /* largest |x|; NaN if there is one; of nothing 0 */
} wf_norm;
/* A norm over the axes. Dtypes: real, of the array's parts, as a mean. */
WF_API wf_array *wf_array_norm(const wf_array *array, wf_norm norm, wf_axes axes);
/* Root of the mean of |a - b|^2, a and b broadcast; of no elements NaN. Dtypes: follows that of a - b. */
WF_API wf_array *wf_array_rmsd(const wf_array *a, const wf_array *b, wf_axes axes);
/* Smallest element, of the array's dtype; NaN if there is one; -0 is less than +0.
 * Dtypes: not complex. Errors: WF_ERR_SHAPE of no elements. */
WF_API wf_array *wf_array_min(const wf_array *array, wf_axes axes);
/* Largest element; else as wf_array_min. */
WF_API wf_array *wf_array_max(const wf_array *array, wf_axes axes);
/* Both in one pass. *min and *max are NULL on error. */
WF_API wf_status wf_array_min_max(const wf_array *array, wf_axes axes, wf_array **min, wf_array **max);
/* i64: the linear index, in C order within the reduced axes, of the smallest element; the first one wins.
 * +0 and -0 are equal; a NaN wins over all others.
 * Dtypes: not complex. Errors: WF_ERR_SHAPE of no elements. */
WF_API wf_array *wf_array_argmin(const wf_array *array, wf_axes axes);
/* i64: the same of the largest element. */
WF_API wf_array *wf_array_argmax(const wf_array *array, wf_axes axes);
/* bool: all elements are not 0 (NaN is not 0); of no elements true. */
WF_API wf_array *wf_array_all(const wf_array *array, wf_axes axes);
/* bool: any element is not 0; of no elements false. */
WF_API wf_array *wf_array_any(const wf_array *array, wf_axes axes);
/* i64: how many are not 0. */
WF_API wf_array *wf_array_count_nonzero(const wf_array *array, wf_axes axes);
/* bool, elementwise and broadcast: |a - b| <= atol + rtol |b|, or equal; with `nan_equal` two NaNs are close, too.
 * Dtypes: real arrays are compared in f64, complex ones as |a - b| in pairs of f64. */
WF_API wf_array *wf_array_is_close(const wf_array *a, const wf_array *b, double rtol, double atol, bool nan_equal);
/* Sets *close to whether all elements are close. Waits: for the result. */
WF_API wf_status wf_array_all_close(const wf_array *a, const wf_array *b, double rtol, double atol, bool nan_equal,
                                    bool *close);
typedef enum wf_normalize {
    WF_NORMALIZE_MEAN_STD, /* (x - mean) / deviation, ddof 0 */
    WF_NORMALIZE_MIN_MAX,  /* (x - min) / (max - min): from 0 to 1; real */
    WF_NORMALIZE_L1,       /* x / norm */
    WF_NORMALIZE_L2,
    WF_NORMALIZE_MAX
} wf_normalize;
/* The array scaled, each part spanned by `axes` by itself; where the divisor is 0 the results are 0.
 * Dtypes: as a mean. WF_DROP_AXES is ignored. Cost: two or three passes.
 * Example: WF_AXES(1, 2) scales the images of a stack [n, h, w] one by one. */
WF_API wf_array *wf_array_normalize(const wf_array *array, wf_normalize how, wf_axes axes);

/* ---- order ------------------------------------------------------------------------------------------------------
 * Along an axis (negative: from the end), on the array's device. -0 comes before +0; NaNs are last in either direction.
 * Dtypes: not complex.
 * Cost: O(n) per row; on a GPU a few passes for each 8 bits of an element, in 8 to 24 bytes an element. */
/* The elements in ascending or descending order. */
WF_API wf_array *wf_array_sort(const wf_array *array, int axis, bool descending);
/* i64: the indices along the axis that would sort it; equal elements keep their order, NaNs too. */
WF_API wf_array *wf_array_argsort(const wf_array *array, int axis, bool descending);
/* The middle element along the axes, or the mean of the two middle ones; NaN if there is one, or no elements.
 * Dtypes: as a mean, computed in f64. Cost: O(n); on a GPU as much as sorting. */
WF_API wf_array *wf_array_median(const wf_array *array, wf_axes axes);
/* The element at q (n - 1), 0 <= q <= 1, in ascending order, interpolated linearly; the median is q = 0.5. */
WF_API wf_array *wf_array_quantile(const wf_array *array, double q, wf_axes axes);
/* n quantiles at once: the result has one more axis, the first, of extent n. */
WF_API wf_array *wf_array_quantiles(const wf_array *array, const double *q, int64_t n, wf_axes axes);
/* Element i is the sum of the elements 0 to i along the axis (`exclusive`: to i - 1, and 0 for i = 0).
 * Dtypes: as wf_array_sum; floats and complex numbers add in f64, rounded once. */
WF_API wf_array *wf_array_cumsum(const wf_array *array, int axis, bool exclusive);
/* Element i is the product of the elements 0 to i along the axis (`exclusive`: to i - 1, and 1 for i = 0).
 * Dtypes: as wf_array_prod; floats and complex numbers multiply in f64, rounded once. Cost: complex: log2 n passes. */
WF_API wf_array *wf_array_cumprod(const wf_array *array, int axis, bool exclusive);
/* i64, the shape of `values`: how many elements of `sorted` [n], ascending, are less than each value; `right`: less or
 * equal. NaNs are last and equal, as sorting leaves them. For an unsorted array, pass its elements in the order of wf_array_argsort.
 * Dtypes: any two that meet in an operation; not complex. Cost: log2 n reads an element. */
WF_API wf_array *wf_array_searchsorted(const wf_array *sorted, const wf_array *values, bool right);
/* i64 [count]: the linear indices, in C order, of the elements of `mask` that are not 0, ascending.
 * Dtypes: a mask of any dtype. Waits: for the mask. Cost: three passes, in parallel. */
WF_API wf_array *wf_array_where(const wf_array *mask);
/* [count]: the elements of `array` there, in the same order. Shapes: one shape. */
WF_API wf_array *wf_array_compress(const wf_array *array, const wf_array *mask);
/* Writes values [count] to the elements of `array` where `mask` is not 0, in C order, or one value to all of them.
 * Shapes: `array` and `mask` have one. Waits: for the mask, unless there is one value. Cost: a few passes. */
WF_API wf_status wf_array_assign_where(wf_array *array, const wf_array *mask, const wf_array *values);
/* The m different elements [m], ascending; i64: the index in C order of the first of each [m], the place of each
 * element's value among them (the shape of the array), and how many there are of each [m]. Any pointer may be NULL.
 * -0 and +0 are equal, NaNs are not. Dtypes: not complex. Waits: for the array. Cost: as wf_array_argsort. */
WF_API wf_status wf_array_unique(const wf_array *array, wf_array **values, wf_array **first, wf_array **inverse,
                                 wf_array **counts);
/* i64 [bins]: how many elements x, as f64, have edge[i] <= x < edge[i + 1], the last bin x <= hi, too.
 * Edges: wf_array_linspace(ctx, WF_F64, bins + 1, lo, hi, true, NULL). Others and NaN are not counted.
 * Errors: lo < hi, both finite; not complex. */
WF_API wf_array *wf_array_histogram(const wf_array *array, int64_t bins, double lo, double hi);

/* ---- random numbers ---------------------------------------------------------------------------------------------
 * Each element is a function of the seed, the stream and its place in C order, for all threads, devices and strides.
 * Aliasing: arrays are written in place, any view but a broadcast one.
 * Source: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011). */
typedef struct wf_random {
    uint64_t seed;   /* the key */
    uint64_t stream; /* upper half of the counter: arrays with different streams have nothing in common */
    uint64_t first;  /* counter of the first elements; one counter is 4 words of 32 bits */
} wf_random;
/* u32 or i32: random bits. Word j of counter first + 64 b + l is element 256 b + 64 j + l. */
WF_API wf_status wf_array_random_bits(wf_array *array, wf_random random);
/* lo <= x < hi, both finite. Floats: multiples of (hi - lo)/2^24, of f64 /2^53; f16 and bf16 may be hi.
 * Integers: lo and hi up to 2^52, less than 2^53 apart; biased by less than (hi - lo)/2^64. Complex: both parts. */
WF_API wf_status wf_array_random_uniform(wf_array *array, wf_random random, double lo, double hi);
/* Floats and complex numbers (both parts) of a normal distribution; deviation >= 0.
 * Source: Box and Muller's transform; within 6.8 deviations of the mean, of f64 8.7. */
WF_API wf_status wf_array_random_normal(wf_array *array, wf_random random, double mean, double deviation);
/* Floats: exp of a normal distribution of this mean and deviation. */
WF_API wf_status wf_array_random_lognormal(wf_array *array, wf_random random, double mean, double deviation);
/* Any real dtype, converted as a cast: of a Poisson distribution, 0 <= mean <= 1e9.
 * Cost: a table of about 20 sqrt(mean) entries of 8 bytes. Source: inversion of the distribution. */
WF_API wf_status wf_array_random_poisson(wf_array *array, wf_random random, double mean);

/* ---- products --------------------------------------------------------------------------------------------------- */
/* Sum of a b along the axes, a and b broadcast; nothing is conjugated.
 * Dtypes: floats and complex numbers in f64, rounded once; integers and bools in i64 or u64, the result's dtype. */
WF_API wf_array *wf_array_dot(const wf_array *a, const wf_array *b, wf_axes axes);
/* Matrix products: a [..., m, k], b [..., k, n] give [..., m, n]; the axes before broadcast.
 * Dtypes: that of a b, not bool. Adds up in this dtype, in order of k, by fused multiply-add; f16, bf16, c32 wider.
 * Errors: WF_ERR_UNSUPPORTED: the library that WEFT_BLAS names does not open.
 * Cost: copies operands into blocks. An installed BLAS multiplies larger matrices, with its bits and threads. */
WF_API wf_array *wf_array_matmul(const wf_array *a, const wf_array *b);

#ifdef __cplusplus
}
#endif
#endif
