/* functions.h - ready-made functions of arrays, on top of weft.h.
 *
 * Unless a comment says otherwise: arrays have any shape (empty too), strides and dtype, real or complex; inputs may
 * be views, broadcast ones too, and are only read. Functions that return wf_array * give a new array in C order, of
 * the input's context and on the device of the (first) input, else on the context's default one, which the caller
 * releases; NULL on error, which wf_last_message explains (a NULL array has no context to keep a message: NULL or
 * WF_ERR_ARG all the same). Functions that return wf_status write into the array that they are given. They are done
 * when they return or, if the calling thread has a current stream for the device (wf_set_stream), queued in it;
 * functions that need contents on the host, listed at wf_freeze_begin, wait for these. All use all threads of the
 * context, may be called from any thread, and give the same bits for any number of threads. Cost is one pass over the
 * data, unless said.
 */
#ifndef WF_FUNCTIONS_H
#define WF_FUNCTIONS_H
#include "weft/weft.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- make and fill ---------------------------------------------------------------------------------------------- */
/* Every element becomes `value`, which must fit the dtype (a complex one: its real part). `array` may be any view but a
 * broadcast one. */
WF_API wf_status wf_array_fill(wf_array *array, double value);
/* Likewise re + i im; `array` is complex. */
WF_API wf_status wf_array_fill_complex(wf_array *array, double re, double im);
/* to = from, broadcast to the shape of `to` and converted as a cast. They may overlap. */
WF_API wf_status wf_array_assign(wf_array *to, const wf_array *from);
/* The same elements in C order. */
WF_API wf_array *wf_array_copy(const wf_array *array);
/* The same elements of another dtype, as wf_cast; complex to real is WF_ERR_DTYPE. */
WF_API wf_array *wf_array_cast(const wf_array *array, wf_dtype dtype);
/* The array itself, retained, where it is in C order without gaps; else a copy. */
WF_API wf_array *wf_array_contiguous(wf_array *array);
/* [n]: start + i (stop - start) / (n - 1), or / n without `endpoint`; computed in f64 and converted; with `endpoint`
 * the last is `stop` itself. n = 0: empty; n = 1: start. If `step` is not NULL it is set to the distance, of n = 1
 * with endpoint NaN. */
WF_API wf_array *wf_array_linspace(wf_context *ctx, wf_dtype dtype, int64_t n, double start, double stop, bool endpoint,
                                   double *step);
/* The linear index of each element in C order, within tiles of extents tile[rank] (> 0) that repeat from the first
 * element on; NULL: one tile, the whole array. Converted as a cast. Example: shape {5}, tile {3}: 0 1 2 0 1. */
WF_API wf_array *wf_array_iota(wf_context *ctx, wf_dtype dtype, wf_shape shape, const int64_t *tile);

/* ---- parts ------------------------------------------------------------------------------------------------------ */
/* Axis d of the result is axes[d] of the array: wf_view_permute and a copy. */
WF_API wf_array *wf_array_permute(const wf_array *array, const int *axes);
/* The region of extents `shape` (of the array's rank) whose first element is at `offset` ([rank], any sign). What lies
 * outside the array is given by `border`: `value` (as wf_const; WF_BORDER_VALUE), or elements found by index.
 * WF_BORDER_NONE: the region must lie inside, else WF_ERR_BOUNDS. */
WF_API wf_array *wf_array_extract(const wf_array *array, wf_shape shape, const int64_t *offset, wf_border border,
                                  double value);
/* Writes `region`, converted, to `array` so that its first element comes to `offset` ([rank]); what falls outside is
 * left out. They have one rank and may overlap. */
WF_API wf_status wf_array_insert(wf_array *array, const wf_array *region, const int64_t *offset);
/* n regions of extents `shape` at once, [n, shape...]: the first element of region i is at offsets[i, d], integers
 * of any dtype, [n, rank]. The array's rank is below WF_MAX_RANK; the rest as wf_array_extract. */
WF_API wf_array *wf_array_extract_regions(const wf_array *array, wf_shape shape, const wf_array *offsets,
                                          wf_border border, double value);
/* The reverse: writes `regions` [n, shape...], converted, to these places of the array. Where regions meet the last
 * one is seen. Regions that meet cost an array of 4 or 8 bytes per element more, and time. */
WF_API wf_status wf_array_insert_regions(wf_array *array, const wf_array *regions, const wf_array *offsets);
/* before[d] and after[d] elements more at the ends of axis d, fewer if negative (NULL: 0): `border` and `value` as in
 * wf_array_extract. An extent below 0 is WF_ERR_SHAPE. */
WF_API wf_array *wf_array_resize(const wf_array *array, const int64_t *before, const int64_t *after, wf_border border,
                                 double value);
/* The array times[d] >= 0 times side by side along axis d, as NumPy's tile. */
WF_API wf_array *wf_array_tile(const wf_array *array, const int64_t *times);
/* Each element `times` >= 0 times in a row along `axis` (negative: from the end), as NumPy's repeat. */
WF_API wf_array *wf_array_repeat(const wf_array *array, int axis, int64_t times);

/* ---- reductions -------------------------------------------------------------------------------------------------
 * Over the axes of a mask, WF_AXES(0, 2) or WF_ALL_AXES; of an array of rank 0 any mask is right. The reduced axes
 * stay with extent 1, or are left out: WF_AXES(1) | WF_DROP_AXES. Means, norms and the like are computed in f64
 * (complex: in pairs of f64), rounded once: of integers and bools they are f64, else of the array's dtype (of f16 too,
 * whose mean is f32 in operator text), or that of its parts where they are real. Sums run in an order that depends on
 * shapes and strides alone. */
#define WF_DROP_AXES 0x80000000u
/* Sum: as wf_reduce, so integers and bools give i64, unsigned ones u64, wrapping. Of nothing: 0. */
WF_API wf_array *wf_array_sum(const wf_array *array, wf_axes axes);
/* Product, dtypes as wf_array_sum; also of complex numbers. Of nothing: 1. */
WF_API wf_array *wf_array_prod(const wf_array *array, wf_axes axes);
/* Arithmetic mean; of nothing NaN. */
WF_API wf_array *wf_array_mean(const wf_array *array, wf_axes axes);
/* Sum of |x - mean|^2 over (n - ddof), and its square root; ddof 0 of a population, 1 of a sample. NaN for n <=
 * ddof. Of complex numbers it is real. In f64: elements of 64 bits are read twice, the mean first; others once,
 * around a value taken from the data, so that what cancels does not show in 32 bits (relative error below n 2^-52,
 * nearly always a few 2^-52). */
WF_API wf_array *wf_array_variance(const wf_array *array, wf_axes axes, double ddof);
WF_API wf_array *wf_array_stddev(const wf_array *array, wf_axes axes, double ddof);
/* wf_array_mean and wf_array_variance at once. Both NULL on error. */
WF_API wf_status wf_array_mean_variance(const wf_array *array, wf_axes axes, double ddof, wf_array **mean,
                                        wf_array **variance);
typedef enum wf_norm {
    WF_NORM_L1, /* sum of |x| */
    WF_NORM_L2, /* square root of the sum of |x|^2; squares beyond f64 give infinity */
    WF_NORM_MAX /* largest |x|; NaN if there is one; of nothing 0 */
} wf_norm;
WF_API wf_array *wf_array_norm(const wf_array *array, wf_norm norm, wf_axes axes);
/* Root of the mean of |a - b|^2, a and b broadcast; of nothing NaN. The dtype follows that of a - b. */
WF_API wf_array *wf_array_rmsd(const wf_array *a, const wf_array *b, wf_axes axes);
/* Smallest and largest, of the array's dtype; NaN if there is one; -0 is less than +0. Not complex. Of nothing:
 * WF_ERR_SHAPE. */
WF_API wf_array *wf_array_min(const wf_array *array, wf_axes axes);
WF_API wf_array *wf_array_max(const wf_array *array, wf_axes axes);
/* Both in one pass. *min and *max are NULL on error. */
WF_API wf_status wf_array_min_max(const wf_array *array, wf_axes axes, wf_array **min, wf_array **max);
/* i64: where the smallest or largest is: the linear index, in C order, within the reduced axes (with one axis: the
 * index along it). The first one wins; +0 and -0 are equal; a NaN beats all others, as in NumPy. Not complex. Of
 * nothing: WF_ERR_SHAPE. */
WF_API wf_array *wf_array_argmin(const wf_array *array, wf_axes axes);
WF_API wf_array *wf_array_argmax(const wf_array *array, wf_axes axes);
/* bool: all, or any, are not 0 (NaN is not 0). Of nothing: true, false. */
WF_API wf_array *wf_array_all(const wf_array *array, wf_axes axes);
WF_API wf_array *wf_array_any(const wf_array *array, wf_axes axes);
/* i64: how many are not 0. */
WF_API wf_array *wf_array_count_nonzero(const wf_array *array, wf_axes axes);
/* bool, elementwise and broadcast: |a - b| <= atol + rtol |b|, or equal (so infinities are close to themselves); with
 * `nan_equal` two NaNs are close too. Real, compared in f64; complex as |a - b| in pairs of f64. */
WF_API wf_array *wf_array_is_close(const wf_array *a, const wf_array *b, double rtol, double atol, bool nan_equal);
/* *close: whether all are. */
WF_API wf_status wf_array_all_close(const wf_array *a, const wf_array *b, double rtol, double atol, bool nan_equal,
                                    bool *close);
typedef enum wf_normalize {
    WF_NORMALIZE_MEAN_STD, /* (x - mean) / deviation, ddof 0 */
    WF_NORMALIZE_MIN_MAX,  /* (x - min) / (max - min): from 0 to 1; real */
    WF_NORMALIZE_L1,       /* x / norm */
    WF_NORMALIZE_L2,
    WF_NORMALIZE_MAX
} wf_normalize;
/* The array scaled, each part spanned by `axes` by itself: WF_AXES(1, 2) does the images of a stack [n, h, w] one by
 * one. The dtype is that of a mean. Where the divisor is 0 the results are 0. WF_DROP_AXES means nothing. Two or three
 * passes. */
WF_API wf_array *wf_array_normalize(const wf_array *array, wf_normalize how, wf_axes axes);

/* ---- order ------------------------------------------------------------------------------------------------------
 * Along an axis (negative: from the end), where the array is; the results are there, too. Not complex. Order is that
 * of wf_min: -0 comes before +0; NaNs are last in either direction. Elements of up to 32 bits cost O(n) per row, of
 * 64 bits twice that. On the processor parallel over rows and parts of long ones; the array is copied first. On a
 * GPU a few passes for each 8 bits of an element, in memory of 8 bytes an element (of 64 bits: 16), 8 more for
 * indices and 2 more for rows of more than 2048; rows of up to 64 are one pass. All of it is launches, which streams
 * queue and frozen sequences do again. */
/* The elements in ascending or descending order. */
WF_API wf_array *wf_array_sort(const wf_array *array, int axis, bool descending);
/* i64: the indices along the axis that would sort it; equal elements keep their order, NaNs too. */
WF_API wf_array *wf_array_argsort(const wf_array *array, int axis, bool descending);
/* The middle element along the axes, or the mean of the two middle ones; dtype as a mean, computed in f64. NaN if
 * there is one, or nothing. WF_DROP_AXES as for reductions. O(n). On a GPU as much as sorting. */
WF_API wf_array *wf_array_median(const wf_array *array, wf_axes axes);
/* The element at q (n - 1), 0 <= q <= 1, in ascending order, interpolated linearly between its neighbours; else as the
 * median, which is q = 0.5. */
WF_API wf_array *wf_array_quantile(const wf_array *array, double q, wf_axes axes);
/* n of them in one go: the result has one axis more, the first, of extent n. */
WF_API wf_array *wf_array_quantiles(const wf_array *array, const double *q, int64_t n, wf_axes axes);
/* Element i is the sum of the elements 0 to i along the axis (`exclusive`: to i - 1, and 0 for i = 0). Dtypes as
 * wf_array_sum; floats and complex numbers add in f64, each result rounded once (wf_scan says in which order).
 * Parallel. */
WF_API wf_array *wf_array_cumsum(const wf_array *array, int axis, bool exclusive);
/* i64 [count]: the linear indices, in C order, of the elements of `mask` (any dtype but complex) that are not 0,
 * ascending. A function of arrays and not a value, as its size is known only when the mask is. Parallel; three
 * passes. */
WF_API wf_array *wf_array_where(const wf_array *mask);
/* [count]: the elements of `array` there, in the same order. One shape. */
WF_API wf_array *wf_array_compress(const wf_array *array, const wf_array *mask);
/* i64 [bins]: how many elements x, as f64, have edge[i] <= x < edge[i + 1], the last bin x <= hi too, with edges as
 * of wf_array_linspace(ctx, WF_F64, bins + 1, lo, hi, true, NULL). Others and NaN are not counted. lo < hi, both
 * finite; not complex. By wf_accumulate. */
WF_API wf_array *wf_array_histogram(const wf_array *array, int64_t bins, double lo, double hi);

/* ---- random numbers ---------------------------------------------------------------------------------------------
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011), counter-based: each element is a function of the seed, the stream
 * and its place in C order, whatever the threads, the device and the strides, and the first elements of a longer
 * array are those of a shorter one. Arrays are written in place, any view but a broadcast one. */
typedef struct wf_random {
    uint64_t seed;   /* the key */
    uint64_t stream; /* upper half of the counter: arrays with different streams have nothing in common */
    uint64_t first;  /* counter of the first elements; one counter is 4 words of 32 bits */
} wf_random;
/* u32 or i32: random bits. Word j of counter first + 64 b + l is element 256 b + 64 j + l. */
WF_API wf_status wf_array_random_bits(wf_array *array, wf_random random);
/* lo <= x < hi, both finite. Floats: multiples of (hi - lo)/2^24, of f64 /2^53; f16 and bf16 are rounded from f32
 * and may be hi. Integers (not bool): lo and hi are integers up to 2^52, less than 2^53 apart, that fit (hi - 1
 * does); biased by less than (hi - lo)/2^64. Complex: both parts. */
WF_API wf_status wf_array_random_uniform(wf_array *array, wf_random random, double lo, double hi);
/* Floats and complex numbers (both parts): of a normal distribution, by Box and Muller's transform; within 6.8
 * deviations of the mean, of f64 8.7. deviation >= 0. */
WF_API wf_status wf_array_random_normal(wf_array *array, wf_random random, double mean, double deviation);
/* Floats: exp of a normal distribution of this mean and deviation. */
WF_API wf_status wf_array_random_lognormal(wf_array *array, wf_random random, double mean, double deviation);
/* Any real dtype, converted as a cast: of a Poisson distribution, 0 <= mean <= 1e9, by inversion of the
 * distribution: each a function of one uniform f64 number. Needs a table of about 20 sqrt(mean) entries of 8 bytes. */
WF_API wf_status wf_array_random_poisson(wf_array *array, wf_random random, double mean);

/* ---- products --------------------------------------------------------------------------------------------------- */
/* Sum of a b along the axes, a and b broadcast; nothing is conjugated. Floats and complex numbers are multiplied and
 * added in f64 and rounded once, integers and bools in i64 or u64, which is the result's dtype. Axes, WF_DROP_AXES: as
 * reductions. */
WF_API wf_array *wf_array_dot(const wf_array *a, const wf_array *b, wf_axes axes);
/* Matrix products: a [..., m, k], b [..., k, n] give [..., m, n]; the axes before broadcast. The dtype is that of a
 * b, not bool; integers wrap. Floats and complex numbers add up in this dtype (f16, bf16 in f32, c32 in c64), in
 * order of k, by fused multiply-add: the same bits on every machine (slow on those without the instruction); for m =
 * 1 or n = 1 as wf_array_dot. Operands are copied into blocks.
 * Where a fast BLAS is installed (OpenBLAS, MKL, BLIS; opened at run time), it does matrices of f32, f64, c64 and c128
 * from some tens of rows on, when a and b are of one dtype: bits and threads are then the BLAS's. The environment's
 * WEFT_BLAS names another library (WF_ERR_UNSUPPORTED if it does not open), or "none". */
WF_API wf_array *wf_array_matmul(const wf_array *a, const wf_array *b);

#ifdef __cplusplus
}
#endif
#endif
