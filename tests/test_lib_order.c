/* test_lib_order.c - sorting, quantiles, cumulative sums and histograms beside plain C: all dtypes with all kinds of
 * bits, short and long rows, strided, reversed and broadcast, NaN and signed zeros, empty arrays and single elements.
 * Threads and devices change no bit.
 *
 * ctest: devices threads values
 */
#include "on_devices.h"
#include "weft/functions.h"

static wf_array *random_bits(wf_dtype t, wf_shape shape, uint64_t seed, bool many_equal)
{
    wf_array *a = wf_empty_with(ctx, t, shape, NULL);
    assert_non_null(a);
    size_t size = wf_dtype_size(t), n = (size_t)wf_array_count(a);
    char *p = malloc(n * size + sizeof(uint64_t));
    for (size_t i = 0; i < n; ++i) {
        uint64_t bits = test_random(&seed);
        if (many_equal)
            bits &= 0x8000800080008003u;
        if (t == WF_BOOL)
            bits &= 1;
        memcpy(p + i * size, &bits, size);
    }
    OK(ctx, wf_upload(a, p, n * size));
    free(p);
    return a;
}

/* A sortable copy of an element, exact for every dtype. */
typedef struct item {
    int nan;
    double value;
    int64_t i64;
    uint64_t u64;
    int zero_sign, at;
} item;

static item item_of(wf_dtype t, const double *as_f64, const void *p, int64_t i)
{
    item x = { .at = (int)i };
    if (t == WF_I64)
        x.i64 = ((const int64_t *)p)[i];
    else if (t == WF_U64)
        x.u64 = ((const uint64_t *)p)[i];
    else {
        x.value = as_f64[i];
        x.nan = isnan(as_f64[i]);
        x.zero_sign = as_f64[i] == 0 && signbit(as_f64[i]) ? 0 : 1;
    }
    return x;
}

static int direction = 1;
static int compare(const void *pa, const void *pb)
{
    const item *a = pa, *b = pb;
    if (a->nan != b->nan)
        return a->nan - b->nan;
    int c = 0;
    if (!a->nan) {
        c = a->i64 != b->i64 ? (a->i64 < b->i64 ? -1 : 1) : a->u64 != b->u64 ? (a->u64 < b->u64 ? -1 : 1) : 0;
        if (!c)
            c = a->value < b->value ? -1 : a->value > b->value ? 1 : a->zero_sign - b->zero_sign;
    }
    return c ? c * direction : a->at - b->at;
}

/* Sorts along the last axis of `array`, by index and by value, and compares with qsort. */
static void check_sort(wf_array *array, bool descending)
{
    wf_dtype t = wf_array_dtype(array);
    wf_shape shape = wf_array_shape(array);
    int64_t n = shape.dim[shape.rank - 1], rows = n ? wf_array_count(array) / n : 0;
    wf_array *wide = wf_array_cast(array, WF_F64), *by = wf_array_argsort(array, -1, descending),
             *s = wf_array_sort(array, shape.rank - 1, descending);
    assert_true(wide && by && s);
    assert_int_equal(wf_array_dtype(by), WF_I64);
    assert_int_equal(wf_array_dtype(s), t);
    double *f = contents(wide);
    char *data = contents(array), *sorted = contents(s);
    int64_t *index = contents(by);
    size_t size = wf_dtype_size(t);
    item *row = malloc((size_t)n * sizeof *row + 1);
    direction = descending ? -1 : 1;
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < n; ++i)
            row[i] = item_of(t, f + r * n, data + (size_t)(r * n) * size, i);
        qsort(row, (size_t)n, sizeof *row, compare);
        for (int64_t i = 0; i < n; ++i) {
            assert_int_equal(index[r * n + i], row[i].at);
            assert_true(
                same_element(t, sorted + (size_t)(r * n + i) * size, data + (size_t)(r * n + row[i].at) * size));
        }
    }
    free(row);
    free(f);
    free(data);
    free(sorted);
    free(index);
    wf_release(wide);
    wf_release(by);
    wf_release(s);
}

static void test_sort(void **state)
{
    (void)state;
    for (int t = 0; t < TEST_DTYPES; ++t)
        for (int equal = 0; equal < 2; ++equal) {
            wf_array *a = random_bits(test_dtypes[t], WF_SHAPE(3, sized(700, 200)), (uint64_t)t, equal);
            wf_array *b = wf_view_slice(a, 1, 0, 35, 1);
            check_sort(a, equal);
            if (!is_on_gpu() || wf_dtype_size(test_dtypes[t]) < 8)
                check_sort(a, !equal);
            check_sort(b, equal);
            wf_release(a);
            wf_release(b);
        }
    for (int64_t n = 0; n < 4; ++n) {
        wf_array *a = random_bits(WF_F32, WF_SHAPE(2, n), 1, false),
                 *b = random_bits(WF_I16, WF_SHAPE(0, 80), 1, false);
        check_sort(a, false);
        check_sort(b, n & 1);
        wf_release(a);
        wf_release(b);
    }
}

static void test_sort_views(void **state)
{
    (void)state;
    wf_array *a = random_bits(WF_I32, WF_SHAPE(20, 3, 90), 1, false), *p = wf_view_permute(a, (const int[]){ 1, 2, 0 });
    wf_array *v = wf_view_slice(p, 2, -1, WF_END_INDEX, -3), *row = wf_view_slice(v, 1, 2, 3, 1);
    wf_array *wide = wf_view_broadcast(row, WF_SHAPE(3, 5, 7));
    check_sort(v, false);
    check_sort(wide, true);
    /* along a middle axis: the same as with that axis last */
    wf_array *s = wf_array_sort(a, 1, true), *q = wf_view_permute(a, (const int[]){ 0, 2, 1 }),
             *sq = wf_array_sort(q, 2, true), *back = wf_view_permute(sq, (const int[]){ 0, 2, 1 });
    bool close = false;
    OK(ctx, wf_array_all_close(s, back, 0, 0, false, &close));
    assert_true(close);
    wf_shape shape = wf_array_shape(s);
    assert_true(shape.rank == 3 && shape.dim[1] == 3);
    assert_null(wf_array_sort(a, 3, false));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_array_sort: axis 3");
    assert_null(wf_array_sort(NULL, 0, false));
    wf_array *z = wf_full(ctx, WF_C64, WF_SHAPE(3), 1);
    assert_null(wf_array_argsort(z, 0, false));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_DTYPE, "no order");
    wf_array *all[] = { a, p, v, row, wide, s, q, sq, back, z };
    for (int i = 0; i < 10; ++i)
        wf_release(all[i]);
}

static void test_long_rows(void **state)
{
    (void)state;
    static const wf_dtype types[] = { WF_F32, WF_I64, WF_U8 };
    const int64_t n = sized((1 << 18) + 5, 2 * 2048 + 5); /* on a GPU three tiles */
    for (int t = 0; t < 3; t += TEST_EVERY)
        for (int equal = is_on_gpu() ? t % 2 : 0; equal < 2; ++equal) {
            wf_array *a = random_bits(types[t], WF_SHAPE(1, n), (uint64_t)t, equal);
            check_sort(a, equal);
            wf_release(a);
        }
    wf_array *up = wf_array_iota(ctx, WF_I32, WF_SHAPE(2, sized(1 << 18, 2 * 2048)), NULL);
    check_sort(up, true);
    wf_release(up);
}

static void test_zeros_and_nan(void **state)
{
    (void)state;
    const float x[] = { 0, -0.f, NAN, -INFINITY, 1, INFINITY, -NAN, -1 };
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(8), x), *up = wf_array_sort(a, 0, false),
             *down = wf_array_sort(a, 0, true);
    EXPECT_F32(up, -INFINITY, -1, -0.f, 0, 1, INFINITY, NAN, NAN);
    EXPECT_F32(down, INFINITY, 1, 0, -0.f, -1, -INFINITY, NAN, NAN);
    wf_release(a);
    wf_release(up);
    wf_release(down);
}

static int compare_f64(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void check_quantiles(wf_dtype t, int64_t n)
{
    static const double q[] = { 0, 0.25, 0.5, 0.9, 1 };
    uint64_t seed = (uint64_t)n;
    double *x = malloc((size_t)(3 * n) * sizeof *x);
    for (int64_t i = 0; i < 3 * n; ++i)
        x[i] = (double)(test_random(&seed) % 120);
    wf_array *wide = array_of(ctx, WF_F64, WF_SHAPE(3, n), x), *a = wf_array_cast(wide, t);
    wf_array *many = wf_array_quantiles(a, q, 5, WF_AXES(1) | WF_DROP_AXES), *m = wf_array_median(a, WF_AXES(1));
    assert_true(many && m);
    assert_int_equal(wf_array_dtype(m), t < WF_F16 ? WF_F64 : t);
    wf_array *got = wf_array_cast(many, WF_F64), *median = wf_array_cast(m, WF_F64);
    double *values = contents(got), *middle = contents(median), close = t == WF_BF16 ? 1. : t == WF_F16 ? 0.1 : 1e-4;
    for (int r = 0; r < 3; ++r) {
        qsort(x + r * n, (size_t)n, sizeof *x, compare_f64);
        for (int k = 0; k < 5; ++k) {
            double at = q[k] * (double)(n - 1), low = floor(at), *p = x + r * n + (int64_t)low;
            double want = at > low ? p[0] + (p[1] - p[0]) * (at - low) : p[0];
            assert_true(fabs(values[k * 3 + r] - want) <= close);
            if (k == 2)
                assert_true(middle[r] == values[k * 3 + r]);
            wf_array *one = wf_array_quantile(a, q[k], WF_AXES(1)), *w = wf_array_cast(one, WF_F64);
            double *single = contents(w);
            assert_true(single[r] == values[k * 3 + r]);
            free(single);
            wf_release(one);
            wf_release(w);
        }
    }
    wf_array *all[] = { wide, a, many, m, got, median };
    for (int i = 0; i < 6; ++i)
        wf_release(all[i]);
    free(values);
    free(middle);
    free(x);
}

static void test_quantiles(void **state)
{
    (void)state;
    static const wf_dtype types[] = { WF_U8, WF_I16, WF_I64, WF_F16, WF_BF16, WF_F32, WF_F64 };
    for (int t = 0; t < 7; ++t)
        check_quantiles(types[t], sized(601, 101));
    check_quantiles(WF_F32, 1);
    check_quantiles(WF_F32, 2);
    check_quantiles(WF_F32, 40);
    const float x[] = { 1, 2, NAN, 4, 5, 6, INFINITY, INFINITY, 9, 1, -INFINITY, 3 };
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(3, 4), x), *m = wf_array_median(a, WF_AXES(1) | WF_DROP_AXES);
    EXPECT_F32(m, NAN, INFINITY, 2);
    wf_release(m);
    m = wf_array_median(a, WF_AXES(0));
    assert_int_equal(wf_array_shape(m).rank, 2);
    EXPECT_F32(m, 5, 2, NAN, 4);
    wf_release(m);
    wf_array *none = wf_view_slice(a, 0, 0, 0, 1);
    m = wf_array_median(none, WF_AXES(0) | WF_DROP_AXES);
    EXPECT_F32(m, NAN, NAN, NAN, NAN);
    wf_release(m);
    assert_null(wf_array_quantile(a, 1.1, WF_AXES(1)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_array_quantile: quantiles");
    assert_null(wf_array_quantile(a, NAN, WF_AXES(1)));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_ARG);
    assert_null(wf_array_median(a, WF_AXES(2)));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_ARG);
    wf_release(none);
    wf_release(a);
    /* all axes, in any order of memory */
    wf_array *c = wf_array_iota(ctx, WF_F64, WF_SHAPE(4, 5, 6), NULL),
             *p = wf_view_permute(c, (const int[]){ 2, 0, 1 });
    m = wf_array_median(p, WF_ALL_AXES | WF_DROP_AXES);
    assert_true(scalar_f64(m) == 59.5);
    wf_release(m);
    wf_release(c);
    wf_release(p);
    /* input that a careless quickselect is slow on: equal elements, sorted ones, an organ pipe */
    const int n = (int)sized(200000, 3000);
    int32_t *y = malloc((size_t)n * 3 * sizeof *y);
    for (int i = 0; i < n; ++i) {
        y[i] = 7;
        y[n + i] = i;
        y[2 * n + i] = i < n / 2 ? i : n - i;
    }
    c = array_of(ctx, WF_I32, WF_SHAPE(3, n), y);
    m = wf_array_median(c, WF_AXES(1));
    double *d = contents(m);
    assert_true(d[0] == 7 && d[1] == (n - 1) / 2. && d[2] == n / 4.);
    free(d);
    free(y);
    wf_release(m);
    wf_release(c);
}

static void test_cumsum(void **state)
{
    (void)state;
    if (is_on_gpu()) /* test_lib_any_layout.c */
        skip();
    for (int t = 0; t < TEST_DTYPES + 3; ++t) {
        wf_dtype dtype = t < TEST_DTYPES ? test_dtypes[t] : (wf_dtype)(WF_C32 + t - TEST_DTYPES);
        const double x[] = { 1, 0, 1, 1, 0, 1 };
        wf_array *wide = array_of(ctx, WF_F64, WF_SHAPE(2, 3), x), *a = wf_array_cast(wide, dtype);
        for (int axis = 0; axis < 2; ++axis)
            for (int exclusive = 0; exclusive < 2; ++exclusive) {
                wf_array *s = wf_array_cumsum(a, axis, exclusive);
                assert_non_null(s);
                wf_dtype st = wf_array_dtype(s);
                bool is_unsigned = dtype == WF_U8 || dtype == WF_U16 || dtype == WF_U32 || dtype == WF_U64;
                assert_int_equal(st, dtype >= WF_F16 ? dtype : is_unsigned ? WF_U64 : WF_I64);
                wf_array *f = wf_array_cast(s, WF_C128);
                double *got = contents(f);
                for (int i = 0; i < 2; ++i)
                    for (int k = 0; k < 3; ++k) {
                        double sum = 0;
                        int at = axis ? k : i, end = at + !exclusive;
                        for (int j = 0; j < end; ++j)
                            sum += axis ? x[i * 3 + j] : x[j * 3 + k];
                        assert_true(got[2 * (i * 3 + k)] == sum && got[2 * (i * 3 + k) + 1] == 0);
                    }
                free(got);
                wf_release(f);
                wf_release(s);
            }
        wf_release(wide);
        wf_release(a);
    }
    /* 2^24 + 1 + 1 + ...: f32 alone would stay at 2^24 */
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(100), 1), *head = wf_view_slice(a, 0, 0, 1, 1);
    OK(ctx, wf_array_fill(head, 16777216));
    wf_array *s = wf_array_cumsum(a, 0, false), *last = wf_view_at(s, 0, -1);
    assert_true(scalar_f32(last) == 16777316); /* 2^24 + 99, rounded */
    wf_array *z = wf_full(ctx, WF_C128, WF_SHAPE(3), 0), *v = wf_view_slice(z, 0, 2, WF_END_INDEX, -1);
    OK(ctx, wf_array_fill_complex(z, 1, -2));
    wf_array *cz = wf_array_cumsum(v, -1, false);
    double *got = contents(cz);
    assert_true(got[4] == 3 && got[5] == -6);
    free(got);
    wf_array *empty = wf_view_slice(a, 0, 0, 0, 1), *none = wf_array_cumsum(empty, 0, false);
    assert_int_equal(wf_array_count(none), 0);
    assert_null(wf_array_cumsum(a, 1, false));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_ARG);
    wf_array *all[] = { a, head, s, last, z, v, cz, none, empty };
    for (int i = 0; i < 9; ++i)
        wf_release(all[i]);
}

static void test_histogram(void **state)
{
    (void)state;
    if (is_on_gpu()) /* test_lib_any_layout.c */
        skip();
    const double x[] = { 0, 0.999, 1, 2, 2.5, 3, -0.001, 3.001, NAN, INFINITY, 1, -0.0 };
    const int64_t want[] = { 3, 2, 3 };
    for (int t = 0; t < 2; ++t) {
        wf_array *wide = array_of(ctx, WF_F64, WF_SHAPE(3, 4), x), *a = wf_array_cast(wide, t ? WF_F64 : WF_F32);
        wf_array *v = wf_view_permute(a, (const int[]){ 1, 0 }), *h = wf_array_histogram(v, 3, 0, 3);
        int64_t *got = contents(h);
        assert_memory_equal(got, want, sizeof want);
        free(got);
        wf_release(h);
        wf_release(v);
        wf_release(a);
        wf_release(wide);
    }
    /* elements on the edges of bins: with steps of 0.1 a plain quotient is wrong */
    for (int64_t bins = 1; bins < 60; ++bins) {
        wf_array *edges = wf_array_linspace(ctx, WF_F64, bins + 1, -0.3, 0.7, true, NULL);
        wf_array *h = wf_array_histogram(edges, bins, -0.3, 0.7);
        int64_t *got = contents(h);
        for (int64_t i = 0; i < bins; ++i)
            assert_int_equal(got[i], i == bins - 1 ? 2 : 1);
        free(got);
        wf_release(h);
        wf_release(edges);
    }
    wf_array *u = wf_array_iota(ctx, WF_U8, WF_SHAPE(100, 1000), NULL), *h = wf_array_histogram(u, 256, 0, 255);
    int64_t *got = contents(h), sum = 0;
    for (int i = 0; i < 256; ++i) {
        assert_int_equal(got[i], 100000 / 256 + (i < 100000 % 256));
        sum += got[i];
    }
    assert_int_equal(sum, 100000);
    free(got);
    wf_release(h);
    wf_array *none = wf_view_slice(u, 0, 0, 0, 1);
    h = wf_array_histogram(none, 2, 0, 1);
    got = contents(h);
    assert_true(!got[0] && !got[1]);
    free(got);
    static const struct {
        int64_t bins;
        double lo, hi;
    } wrong[] = { { 0, 0, 1 }, { 5, 1, 1 }, { 5, 1, 0 }, { 5, NAN, 1 }, { 5, 0, INFINITY }, { INT64_MAX, 0, 1 } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        assert_null(wf_array_histogram(u, wrong[i].bins, wrong[i].lo, wrong[i].hi));
        REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_array_histogram");
    }
    wf_release(h);
    wf_release(none);
    wf_release(u);
}

/* Results of a GPU have the bits of the processor, for any elements and quantiles. */
static void test_same_on_cpu(void **state)
{
    (void)state;
    static const wf_dtype types[] = { WF_BOOL, WF_I8, WF_U64, WF_F16, WF_F32, WF_F64 };
    static const double q[] = { 0, 0.1, 0.3, 0.5, 0.77, 1 };
    if (!is_on_gpu())
        skip();
    for (int t = 0; t < 6; ++t) {
        wf_array *a = random_bits(types[t], WF_SHAPE(20, 3, 4), 77 + (uint64_t)t, t == 5);
        wf_array *b = wf_copy_to(a, WF_CPU), *on[] = { a, b };
        void *bits[2][3];
        for (int k = 0; k < 2; ++k) {
            wf_array *r[] = { wf_array_quantiles(on[k], q, 6, WF_AXES(0)), wf_array_sort(on[k], 0, true),
                              wf_array_median(on[k], WF_AXES(0, 2)) };
            for (int i = 0; i < 3; ++i) {
                assert_true(r[i] && wf_array_device(r[i]) == wf_array_device(on[k]));
                bits[k][i] = contents(r[i]);
                if (k)
                    assert_int_equal(
                        first_difference(wf_array_dtype(r[i]), bits[0][i], bits[1][i], wf_array_count(r[i])), -1);
                wf_release(r[i]);
            }
        }
        for (int i = 0; i < 3; ++i)
            free(bits[0][i]), free(bits[1][i]);
        wf_release(a);
        wf_release(b);
    }
}

/* Sorting on a GPU consists of launches only, so a frozen sequence can replay it with another array. */
static void test_frozen(void **state)
{
    (void)state;
    if (!is_on_gpu())
        skip();
    const float first[] = { 3, 1, 2, 5, 4, 6 }, then[] = { 9, 7, 8, -1, NAN, 3 };
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(2, 3), first), *b = array_of(ctx, WF_F32, WF_SHAPE(2, 3), then);
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
    wf_array *sorted = wf_array_sort(a, 0, false), *median = wf_array_median(a, WF_AXES(1) | WF_DROP_AXES);
    wf_frozen *frozen = wf_freeze_end(ctx);
    assert_non_null(frozen);
    EXPECT_F32(sorted, 3, 1, 2, 5, 4, 6);
    EXPECT_F32(median, 2, 5);
    OK(ctx, wf_frozen_replay(frozen, WF_ARRAYS(b)));
    EXPECT_F32(sorted, -1, 7, 3, 9, NAN, 8);
    EXPECT_F32(median, 8, NAN);
    wf_frozen_free(frozen);
    wf_array *all[] = { a, b, sorted, median };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
}

static void test_threads(void **state)
{
    (void)state;
    if (is_on_gpu())
        skip();
    wf_array *a = random_bits(WF_F32, WF_SHAPE(37, 3001), 11, false);
    int before = wf_get_threads(ctx);
    void *first[4] = { NULL };
    for (int threads = 1; threads < 6; threads += 2) {
        wf_set_threads(ctx, threads);
        wf_array *r[] = { wf_array_sort(a, 0, false), wf_array_argsort(a, 1, true), wf_array_median(a, WF_AXES(1)),
                          wf_array_histogram(a, 50, -1, 1) };
        for (int k = 0; k < 4; ++k) {
            assert_non_null(r[k]);
            void *bits = contents(r[k]);
            if (first[k])
                assert_int_equal(first_difference(wf_array_dtype(r[k]), first[k], bits, wf_array_count(r[k])), -1);
            free(first[k]);
            first[k] = bits;
            wf_release(r[k]);
        }
    }
    for (int k = 0; k < 4; ++k)
        free(first[k]);
    wf_set_threads(ctx, before);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sort),          cmocka_unit_test(test_sort_views), cmocka_unit_test(test_long_rows),
        cmocka_unit_test(test_zeros_and_nan), cmocka_unit_test(test_quantiles),  cmocka_unit_test(test_cumsum),
        cmocka_unit_test(test_histogram),     cmocka_unit_test(test_threads),    cmocka_unit_test(test_same_on_cpu),
        cmocka_unit_test(test_frozen),
    };
    return RUN_ON_ALL(tests);
}
