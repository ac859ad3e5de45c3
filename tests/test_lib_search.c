/* test_lib_search.c - places in sorted arrays and running products, beside loops in C: all dtypes, NaNs, equal elements,
 * any strides and shapes.
 *
 * ctest: devices
 */
#include "close_numbers.h"
#include "base/base.h"
#include "weft/functions.h"
#include <complex.h>
#undef I

/* ---- places ---- */
/* NumPy's order: NaNs are last and equal. */
static bool before(double a, double b) { return a < b || (isnan(b) && !isnan(a)); }

static int64_t place(const double *sorted, int64_t n, double value, bool right)
{
    int64_t at = 0;
    while (at < n && (right ? !before(value, sorted[at]) : before(sorted[at], value)))
        ++at;
    return at;
}

static void check_places(wf_array *sorted, const double *line, int64_t n, wf_array *values, const double *value)
{
    for (int right = 0; right < 2; ++right) {
        wf_array *out = wf_array_searchsorted(sorted, values, right);
        assert_non_null(out);
        assert_int_equal(wf_array_dtype(out), WF_I64);
        wf_shape shape = wf_array_shape(out), same = wf_array_shape(values);
        assert_true(shape.rank == same.rank && !memcmp(shape.dim, same.dim, (size_t)same.rank * sizeof *same.dim));
        int64_t *got = contents(out);
        for (int64_t i = 0; i < wf_array_count(values); ++i)
            if (got[i] != place(line, n, value[i], right))
                fail_msg("%s in %lld of %s: %g is at %lld, not %lld, right %d", wf_dtype_name(wf_array_dtype(values)),
                         (long long)n, wf_dtype_name(wf_array_dtype(sorted)), value[i], (long long)got[i],
                         (long long)place(line, n, value[i], right), right);
        free(got);
        wf_release(out);
    }
}

/* Lines of 0 to 40 elements, each element about twice, and values on, between and beyond them. */
static void places_of_all_dtypes(void **state)
{
    (void)state;
    const int lengths[] = { 0, 1, 2, 3, 4, 7, 8, 9, 31, 32, 40 };
    for (int t = 0; t < TEST_DTYPES; ++t)
        for (size_t l = 0; l < WF__COUNT(lengths); ++l) {
            wf_dtype dtype = test_dtypes[t];
            const int n = lengths[l];
            double line[40], value[60];
            for (int i = 0; i < n; ++i)
                line[i] = dtype == WF_BOOL ? i > n / 2 : 2 * (i / 2) + 1;
            for (int i = 0; i < 60; ++i)
                value[i] = dtype == WF_BOOL ? i % 2 : i % 44;
            wf_array *sorted = array_as(dtype, WF_SHAPE(n), line), *values = array_as(dtype, WF_SHAPE(5, 12), value);
            check_places(sorted, line, n, values, value);
            wf_release(sorted);
            wf_release(values);
        }
}

static void places_of_nan(void **state)
{
    (void)state;
    const double line[] = { -INFINITY, -1, -0.0, 0, 2, 2, INFINITY, NAN, NAN };
    const double value[] = { NAN, INFINITY, -INFINITY, 0, -0.0, 2, 3, -5 };
    const wf_dtype dtypes[] = { WF_F16, WF_BF16, WF_F32, WF_F64 };
    for (int t = 0; t < 4; ++t)
        for (int64_t n = 7; n <= 9; ++n) {
            wf_array *sorted = array_as(dtypes[t], WF_SHAPE(n), line),
                     *values = array_as(dtypes[t], WF_SHAPE(8), value);
            check_places(sorted, line, n, values, value);
            wf_release(sorted);
            wf_release(values);
        }
}

/* Views, scalars, values of another dtype than the line, no values, and a line whose order comes from argsort. */
static void places_in_views(void **state)
{
    (void)state;
    const double back[] = { 9, 7, 7, 4, 1 }, line[] = { 1, 4, 7, 7, 9 }, value[] = { 7, 0, 4.5, 10, 1, 8 };
    const double turned[] = { 7, 10, 0, 1, 4.5, 8 };
    wf_array *a = array_as(WF_I32, WF_SHAPE(5), back), *sorted = wf_view_slice(a, 0, -1, WF_END_INDEX, -1);
    wf_array *v = array_as(WF_F64, WF_SHAPE(2, 3), value), *t = wf_view_permute(v, (const int[]){ 1, 0 });
    check_places(sorted, line, 5, v, value);
    const double permuted[] = { value[0], value[3], value[1], value[4], value[2], value[5] };
    assert_memory_equal(permuted, turned, sizeof turned);
    check_places(sorted, line, 5, t, turned);
    wf_array *one = wf_view_at(v, 0, 1), *scalar = wf_view_at(one, 0, 2), *none = wf_view_slice(v, 0, 0, 0, 1);
    check_places(sorted, line, 5, scalar, &value[5]);
    check_places(sorted, line, 5, none, value);
    const double mixed[] = { 7, 1, 9, 4, 7 };
    wf_array *unsorted = array_as(WF_F32, WF_SHAPE(5), mixed), *order = wf_array_argsort(unsorted, 0, false);
    wf_graph *g = wf_begin(ctx);
    wf_array *gathered = wf_keep(wf_gather(wf_in(g, unsorted), wf_in(g, order)));
    OK(ctx, wf_run(g));
    check_places(gathered, line, 5, v, value);
    wf_array *all[] = { a, sorted, v, t, one, scalar, none, unsorted, order, gathered };
    for (size_t i = 0; i < WF__COUNT(all); ++i)
        wf_release(all[i]);
}

static void places_in_many(void **state)
{
    (void)state;
    const int64_t n = sized(100003, 3001), m = sized(40000, 500);
    wf_array *even = wf_array_arange(ctx, WF_I64, n, 0, 2), *values = wf_array_arange(ctx, WF_I64, m, -3, 5);
    for (int right = 0; right < 2; ++right) {
        wf_array *out = wf_array_searchsorted(even, values, right);
        int64_t *got = contents(out);
        for (int64_t i = 0; i < m; ++i) {
            int64_t x = 5 * i - 3, want = x < 0 ? 0 : right ? x / 2 + 1 : (x + 1) / 2;
            if (got[i] != (want < n ? want : n))
                fail_msg("%lld is at %lld", (long long)x, (long long)got[i]);
        }
        free(got);
        wf_release(out);
    }
    wf_release(even);
    wf_release(values);
}

static void refused(void **state)
{
    (void)state;
    const double x[] = { 1, 2, 3, 4 };
    wf_array *a = array_as(WF_F32, WF_SHAPE(2, 2), x), *line = array_as(WF_F32, WF_SHAPE(4), x);
    wf_array *z = wf_full(ctx, WF_C64, WF_SHAPE(4), 1);
    REFUSED(ctx, of_null(wf_array_searchsorted(a, line, false)), WF_ERR_SHAPE, "rank 2");
    REFUSED(ctx, of_null(wf_array_searchsorted(z, line, false)), WF_ERR_DTYPE, "order");
    REFUSED(ctx, of_null(wf_array_searchsorted(line, z, false)), WF_ERR_DTYPE, "order");
    REFUSED(ctx, of_null(wf_array_searchsorted(line, NULL, false)), WF_ERR_ARG, "NULL");
    REFUSED(ctx, of_null(wf_array_searchsorted(NULL, line, false)), WF_ERR_ARG, "NULL");
    REFUSED(ctx, of_null(wf_array_cumprod(line, 1, false)), WF_ERR_ARG, "axis 1");
    wf_release(a);
    wf_release(line);
    wf_release(z);
}

/* ---- running products ---- */
static void products_of_all_dtypes(void **state)
{
    (void)state;
    const double x[] = { 1, 2, 1, 3, 1, 2, 2, 0, 1, 5, 2, 2 };
    for (int t = 0; t < TEST_DTYPES; ++t) {
        wf_dtype dtype = test_dtypes[t];
        wf_array *a = array_as(dtype, WF_SHAPE(3, 4), x);
        for (int axis = -1; axis < 2; ++axis)
            for (int exclusive = 0; exclusive < 2; ++exclusive) {
                wf_array *p = wf_array_cumprod(a, axis, exclusive), *sum = wf_array_cumsum(a, axis, exclusive);
                assert_non_null(p);
                assert_int_equal(wf_array_dtype(p), wf_array_dtype(sum));
                wf_array *wide = wf_array_cast(p, WF_F64);
                double *got = contents(wide);
                for (int i = 0; i < 12; ++i) {
                    const int stride = axis ? 1 : 4, at = axis ? i % 4 : i / 4;
                    double want = 1;
                    for (int k = 0; k < at + !exclusive; ++k) {
                        double e = x[i + (k - at) * stride];
                        want *= dtype == WF_BOOL ? e != 0 : e;
                    }
                    if (got[i] != want)
                        fail_msg("%s, axis %d, exclusive %d: %g at %d, not %g", wf_dtype_name(dtype), axis, exclusive,
                                 got[i], i, want);
                }
                free(got);
                wf_release(wide);
                wf_release(p);
                wf_release(sum);
            }
        wf_release(a);
    }
}

static void products_of_complex_numbers(void **state)
{
    (void)state;
    enum { LENGTHS = 6 };
    const int64_t lengths[LENGTHS] = { 0, 1, 2, 5, 64, 129 };
    const wf_dtype dtypes[] = { WF_C64, WF_C128 };
    for (int d = 0; d < 2; ++d)
        for (int l = 0; l < LENGTHS; ++l)
            for (int exclusive = 0; exclusive < 2; ++exclusive) {
                const int64_t n = lengths[l];
                double x[2 * 129 * 3];
                uint64_t random = 3;
                for (int64_t i = 0; i < 6 * n; ++i)
                    x[i] = ldexp(floor(ldexp(test_random_number(&random) + 0.5, 8)), -7) - 0.5;
                wf_array *parts = array_as(WF_F64, WF_SHAPE(n, 3, 2), x), *a = wf_empty(ctx, dtypes[d], WF_SHAPE(n, 3));
                wf_graph *g = wf_begin(ctx);
                wf_val v = wf_in(g, parts), re = wf_reshape(wf_slice(v, 2, 0, 1, 1), WF_SHAPE(n, 3));
                wf_out(g, a, wf_complex(re, wf_reshape(wf_slice(v, 2, 1, 2, 1), WF_SHAPE(n, 3))));
                OK(ctx, wf_run(g));
                wf_array *p = wf_array_cumprod(a, 0, exclusive), *wide = wf_array_cast(p, WF_C128);
                assert_int_equal(wf_array_dtype(p), dtypes[d]);
                double *got = contents(wide), eps = d ? 0x1p-50 : 0x1p-23;
                for (int column = 0; column < 3; ++column) {
                    long double r = 1, s = 0;
                    for (int64_t i = 0; i < n; ++i) {
                        const double *e = x + 6 * i + 2 * column, *z = got + 6 * i + 2 * column;
                        long double before_r = r, before_s = s;
                        r = before_r * (long double)e[0] - before_s * (long double)e[1];
                        s = before_r * (long double)e[1] + before_s * (long double)e[0];
                        long double want_r = exclusive ? before_r : r, want_s = exclusive ? before_s : s;
                        long double size = hypotl(want_r, want_s), tiny = d ? 1e-300L : 1e-44L;
                        if (!(hypotl((long double)z[0] - want_r, (long double)z[1] - want_s) <=
                              (long double)eps * (d ? 8 : 1) * size + tiny))
                            fail_msg("%s %lld: %g%+gi at %lld, not %Lg%+Lgi", wf_dtype_name(dtypes[d]), (long long)n,
                                     z[0], z[1], (long long)i, want_r, want_s);
                    }
                }
                free(got);
                wf_array *all[] = { parts, a, p, wide };
                for (int i = 0; i < 4; ++i)
                    wf_release(all[i]);
            }
}

/* What has no elements before it is kept to the bit, and is not multiplied by 1 + 0i. */
static void first_product_stays(void **state)
{
    (void)state;
    wf_array *z = wf_full(ctx, WF_C128, WF_SHAPE(5), 1), *first = wf_view_slice(z, 0, 0, 1, 1);
    OK(ctx, wf_array_fill_complex(first, INFINITY, -0.0));
    wf_array *p = wf_array_cumprod(z, 0, false);
    double *got = contents(p);
    assert_true(got[0] == INFINITY && got[1] == 0 && signbit(got[1]));
    free(got);
    wf_release(p);
    wf_release(first);
    wf_release(z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_of_all_dtypes),
        cmocka_unit_test(places_of_nan),
        cmocka_unit_test(places_in_views),
        cmocka_unit_test(places_in_many),
        cmocka_unit_test(refused),
        cmocka_unit_test(products_of_all_dtypes),
        cmocka_unit_test(products_of_complex_numbers),
        cmocka_unit_test(first_product_stays),
    };
    return RUN_ON_ALL(tests);
}
