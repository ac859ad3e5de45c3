/* test_lib_devices_reduce.c - reductions, order and histograms on arrays that are not on the default device: the
 * second part of test_lib_devices.c.
 *
 * ctest: driver
 */
#include "off_default.h"

/* ---- reductions ---- */
static const wf_axes masks[] = { WF_ALL_AXES, WF_ALL_AXES | WF_DROP_AXES, WF_AXES(1), WF_AXES(0, 2) | WF_DROP_AXES };
enum { MASKS = sizeof masks / sizeof *masks };

typedef wf_array *one(const wf_array *array, wf_axes axes);

static wf_array *variance(const wf_array *a, wf_axes axes) { return wf_array_variance(a, axes, 1); }
static wf_array *stddev(const wf_array *a, wf_axes axes) { return wf_array_stddev(a, axes, 0); }
static wf_array *norm1(const wf_array *a, wf_axes axes) { return wf_array_norm(a, WF_NORM_L1, axes); }
static wf_array *norm2(const wf_array *a, wf_axes axes) { return wf_array_norm(a, WF_NORM_L2, axes); }
static wf_array *norm_max(const wf_array *a, wf_axes axes) { return wf_array_norm(a, WF_NORM_MAX, axes); }
static wf_array *rmsd(const wf_array *a, wf_axes axes) { return wf_array_rmsd(a, a, axes); }
static wf_array *dot(const wf_array *a, wf_axes axes) { return wf_array_dot(a, a, axes); }
static wf_array *quantile(const wf_array *a, wf_axes axes) { return wf_array_quantile(a, 0.3, axes); }
static wf_array *quantiles(const wf_array *a, wf_axes axes)
{
    return wf_array_quantiles(a, (const double[]){ 0, 0.25, 0.5, 0.9, 1 }, 5, axes);
}
static wf_array *no_quantiles(const wf_array *a, wf_axes axes) { return wf_array_quantiles(a, NULL, 0, axes); }
static wf_array *scaled(const wf_array *a, wf_axes axes) { return wf_array_normalize(a, WF_NORMALIZE_MEAN_STD, axes); }
static wf_array *stretched(const wf_array *a, wf_axes axes)
{
    return wf_array_normalize(a, WF_NORMALIZE_MIN_MAX, axes);
}
static wf_array *scaled_1(const wf_array *a, wf_axes axes) { return wf_array_normalize(a, WF_NORMALIZE_L1, axes); }
static wf_array *scaled_2(const wf_array *a, wf_axes axes) { return wf_array_normalize(a, WF_NORMALIZE_L2, axes); }
static wf_array *scaled_max(const wf_array *a, wf_axes axes) { return wf_array_normalize(a, WF_NORMALIZE_MAX, axes); }

/* Over all masks, an array of rank 0, and, where that has a result, an empty array. */
static void reduce(one *fn, wf_dtype dtype, bool of_nothing)
{
    wf_array *a = numbers(dtype, WF_SHAPE(3, 4, 5)), *scalar = numbers(dtype, WF_SCALAR),
             *e = numbers(dtype, WF_SHAPE(2, 0, 3)), *v = reversed(dtype, WF_SHAPE(2, 2, 3));
    for (int i = 0; i < MASKS; ++i) {
        TAKE(fn(a, masks[i]));
        TAKE(fn(v, masks[i]));
        if (of_nothing)
            TAKE(fn(e, masks[i]));
        else
            TAKE(fn(e, WF_AXES(0, 2)));
    }
    TAKE(fn(scalar, WF_ALL_AXES));
    RELEASE(a, scalar, e, v);
}

static void sums(void)
{
    one *const fn[] = { wf_array_sum, wf_array_prod, wf_array_mean, norm1, norm2, norm_max, rmsd, dot };
    for (size_t i = 0; i < sizeof fn / sizeof *fn; ++i) {
        reduce(fn[i], WF_F32, true);
        reduce(fn[i], WF_C64, true);
    }
    reduce(wf_array_sum, WF_U8, true);
    reduce(dot, WF_BOOL, true);
}

static void moments(void)
{
    one *const fn[] = { variance, stddev };
    for (int i = 0; i < 2; ++i) {
        reduce(fn[i], WF_F32, true);
        reduce(fn[i], WF_F64, true);
    }
    wf_array *a = numbers(WF_F32, WF_SHAPE(3, 4, 5)), *mean, *spread;
    for (int i = 0; i < MASKS; ++i) {
        DONE(wf_array_mean_variance(a, masks[i], 1, &mean, &spread));
        TAKE(mean);
        TAKE(spread);
    }
    wf_release(a);
}

static void normalize(void)
{
    one *const fn[] = { scaled, stretched, scaled_1, scaled_2, scaled_max };
    for (size_t i = 0; i < sizeof fn / sizeof *fn; ++i)
        reduce(fn[i], WF_F32, false);
}

static void extremes(void)
{
    one *const fn[] = { wf_array_min, wf_array_max, wf_array_argmin, wf_array_argmax };
    const wf_dtype dtypes[] = { WF_BOOL, WF_I16, WF_F32, WF_U64 };
    for (int i = 0; i < 16; ++i) {
        wf_array *e = numbers(dtypes[i % 4], WF_SHAPE(0, 3)), *a = numbers(dtypes[i % 4], WF_SHAPE(3, 4, 5));
        TAKE(fn[i / 4](e, WF_AXES(1)));
        for (int k = 0; k < MASKS; ++k)
            TAKE(fn[i / 4](a, masks[k]));
        wf_array *scalar = wf_array_sum(a, WF_ALL_AXES | WF_DROP_AXES);
        TAKE(fn[i / 4](scalar, WF_ALL_AXES));
        RELEASE(e, a, scalar);
    }
    wf_array *a = numbers(WF_F32, WF_SHAPE(3, 4, 5)), *low, *high;
    for (int i = 0; i < MASKS; ++i) {
        DONE(wf_array_min_max(a, masks[i], &low, &high));
        TAKE(low);
        TAKE(high);
    }
    wf_release(a);
}

static void truth(void)
{
    one *const fn[] = { wf_array_all, wf_array_any, wf_array_count_nonzero };
    for (int i = 0; i < 3; ++i) {
        reduce(fn[i], WF_F32, true);
        reduce(fn[i], WF_C64, true);
    }
}

static void close_to(void)
{
    wf_array *a = numbers(WF_F32, WF_SHAPE(3, 4)), *b = numbers(WF_I32, WF_SHAPE(4)), *e = numbers(WF_F32, WF_SHAPE(0)),
             *z = numbers(WF_C64, WF_SHAPE(3, 1));
    TAKE(wf_array_is_close(a, b, 0.1, 30, false));
    TAKE(wf_array_is_close(a, z, 0.1, 30, true));
    TAKE(wf_array_is_close(e, e, 0, 0, true));
    const wf_array *of[][2] = { { a, a }, { a, b }, { e, e } };
    for (int i = 0; i < 3; ++i) {
        bool close = false;
        DONE(wf_array_all_close(of[i][0], of[i][1], 0, 0, false, &close));
        note(&close, sizeof close);
    }
    RELEASE(a, b, e, z);
}

/* ---- order ---- */
static void sort_of(wf_dtype dtype, wf_shape shape)
{
    wf_array *a = numbers(dtype, shape), *v = reversed(dtype, shape);
    for (int axis = -1; axis < shape.rank - 1; ++axis) {
        TAKE(wf_array_sort(a, axis, axis < 0));
        TAKE(wf_array_argsort(a, axis, axis >= 0));
        TAKE(wf_array_sort(v, axis, axis >= 0));
        TAKE(wf_array_argsort(v, axis, axis < 0));
    }
    RELEASE(a, v);
}

static void sort(void)
{
    sort_of(WF_F32, WF_SHAPE(3, 4, 5));
    sort_of(WF_U64, WF_SHAPE(2, 70));
    sort_of(WF_I8, WF_SHAPE(0, 3));
    sort_of(WF_I8, WF_SHAPE(2, 0));
    wf_array *tiles = numbers(WF_U8, WF_SHAPE(2100)); /* of a GPU several tiles */
    TAKE(wf_array_argsort(tiles, 0, false));
    wf_release(tiles);
}

static void sort_long(void)
{
    wf_array *a = numbers(WF_U8, WF_SHAPE(1 << 18));
    wf_array *sorted = wf_array_sort(a, 0, false), *index = wf_array_argsort(a, 0, true);
    assert_true(sorted && index);
    TAKE(wf_array_extract(sorted, WF_SHAPE(99), (const int64_t[]){ 100000 }, WF_BORDER_NONE, 0));
    TAKE(wf_array_extract(index, WF_SHAPE(99), (const int64_t[]){ 100000 }, WF_BORDER_NONE, 0));
    RELEASE(a, sorted, index);
}

static void medians(void)
{
    one *const fn[] = { wf_array_median, quantile, quantiles, no_quantiles };
    for (int i = 0; i < 4; ++i) {
        reduce(fn[i], WF_F32, true);
        reduce(fn[i], WF_I64, true);
    }
}

static void cumsum(void)
{
    wf_array *a = numbers(WF_F32, WF_SHAPE(3, 40)), *v = reversed(WF_U8, WF_SHAPE(2, 6)),
             *e = numbers(WF_C64, WF_SHAPE(0, 3)), *of[] = { a, v, e };
    for (int i = 0; i < 3; ++i) {
        TAKE(wf_array_cumsum(of[i], 0, false));
        TAKE(wf_array_cumsum(of[i], 1, true));
        TAKE(wf_array_cumprod(of[i], 0, false));
        TAKE(wf_array_cumprod(of[i], 1, true));
    }
    RELEASE(a, v, e);
}

static void searchsorted(void)
{
    wf_array *line = numbers(WF_F32, WF_SHAPE(20)), *v = reversed(WF_I32, WF_SHAPE(2, 6)),
             *scalar = numbers(WF_F32, WF_SCALAR), *of[] = { line, v, scalar };
    for (int i = 0; i < 3; ++i)
        TAKE(wf_array_searchsorted(line, of[i], i == 1));
    RELEASE(line, v, scalar);
}

static void unique(void)
{
    wf_array *a = numbers(WF_F32, WF_SHAPE(5, 6)), *v = reversed(WF_I32, WF_SHAPE(4, 3)),
             *e = numbers(WF_F32, WF_SHAPE(0)), *of[] = { a, v, e };
    for (int i = 0; i < 3; ++i) {
        wf_array *made[4] = { NULL, NULL, NULL, NULL };
        DONE(wf_array_unique(of[i], &made[0], &made[1], &made[2], &made[3]));
        for (int k = 0; k < 4; ++k)
            TAKE(made[k]);
    }
    RELEASE(a, v, e);
}

static void repeat_counts(void)
{
    wf_array *a = numbers(WF_F32, WF_SHAPE(3, 4)), *v = reversed(WF_I32, WF_SHAPE(4, 3)),
             *counts = numbers(WF_U8, WF_SHAPE(3));
    TAKE(wf_array_repeat_counts(a, 0, counts));
    TAKE(wf_array_repeat_counts(v, -1, counts));
    RELEASE(a, v, counts);
}

static void compress(void)
{
    wf_array *mask = numbers(WF_BOOL, WF_SHAPE(5, 6)), *a = numbers(WF_F32, WF_SHAPE(5, 6)),
             *v = reversed(WF_I32, WF_SHAPE(5, 6)), *e = numbers(WF_F32, WF_SHAPE(0, 3)),
             *nowhere = numbers(WF_I32, WF_SHAPE(5, 6));
    DONE(wf_array_fill(nowhere, 0));
    wf_array *masks_of[] = { mask, v, nowhere };
    for (int i = 0; i < 3; ++i) {
        TAKE(wf_array_where(masks_of[i]));
        TAKE(wf_array_compress(a, masks_of[i]));
        TAKE(wf_array_compress(v, masks_of[i]));
    }
    wf_array *chosen = wf_array_compress(v, mask), *single = numbers(WF_F32, WF_SHAPE(1));
    DONE(wf_array_assign_where(a, mask, chosen));
    DONE(wf_array_assign_where(v, mask, single));
    TAKE(wf_array_copy(a));
    TAKE(wf_array_copy(v));
    TAKE(wf_array_where(e));
    TAKE(wf_array_compress(e, e));
    RELEASE(mask, a, v, e, nowhere, chosen, single);
}

static void histogram(void)
{
    wf_array *a = numbers(WF_F32, WF_SHAPE(7, 30)), *v = reversed(WF_U8, WF_SHAPE(9)),
             *e = numbers(WF_F32, WF_SHAPE(0)), *of[] = { a, v, e };
    for (int i = 0; i < 3; ++i)
        TAKE(wf_array_histogram(of[i], 7, 10, 90));
    RELEASE(a, v, e);
}

int main(void)
{
    static const scenario scenarios[] = {
        SCENARIO(sums),         SCENARIO(moments),   SCENARIO(normalize),
        SCENARIO(extremes),     SCENARIO(truth),     SCENARIO(close_to),
        SCENARIO(sort),         SCENARIO(medians),   SCENARIO(cumsum),
        SCENARIO(searchsorted), SCENARIO(unique),    SCENARIO(repeat_counts),
        SCENARIO(compress),     SCENARIO(histogram), { "sort_long", sort_long, true },
    };
    return run_off_default(scenarios, sizeof scenarios / sizeof *scenarios, NULL, 0);
}
