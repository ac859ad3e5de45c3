/* test_lib_unique.c - different elements and elements repeated by counts, beside loops in C.
 *
 * ctest: devices
 */
#include "close_numbers.h"
#include "base/base.h"
#include "weft/functions.h"

/* ---- different elements ---- */
enum { MOST = 600 };
typedef struct expected {
    int64_t n; /* runs */
    double value[MOST];
    int64_t first[MOST], count[MOST], inverse[MOST];
} expected;

static const double *sorted_by; /* of the comparison below */
static int compare(const void *a, const void *b)
{
    const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    const double x = sorted_by[i], y = sorted_by[j];
    const int by = isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
    return by ? by : (i > j) - (i < j);
}

static void expect(const double *x, int64_t n, expected *e)
{
    int64_t order[MOST];
    for (int64_t i = 0; i < n; ++i)
        order[i] = i;
    sorted_by = x;
    qsort(order, (size_t)n, sizeof *order, compare);
    e->n = 0;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t at = order[i];
        if (i == 0 || x[at] != x[order[i - 1]]) {
            e->value[e->n] = x[at];
            e->first[e->n] = at;
            e->count[e->n++] = 0;
        }
        ++e->count[e->n - 1];
        e->inverse[at] = e->n - 1;
    }
}

static void check_unique(wf_array *a, const double *x)
{
    static expected e;
    const int64_t n = wf_array_count(a);
    expect(x, n, &e);
    for (unsigned wanted = 0; wanted < 16; wanted += wanted == 0 || wanted == 8 ? 5 : 1) {
        wf_array *out[4] = { NULL, NULL, NULL, NULL };
        OK(ctx, wf_array_unique(a, wanted & 1 ? &out[0] : NULL, wanted & 2 ? &out[1] : NULL,
                                wanted & 4 ? &out[2] : NULL, wanted & 8 ? &out[3] : NULL));
        for (unsigned k = 0; k < 4; ++k) {
            assert_true((out[k] != NULL) == (wanted >> k & 1));
            if (!out[k])
                continue;
            wf_shape shape = wf_array_shape(out[k]), all = wf_array_shape(a);
            if (k == 2)
                assert_true(shape.rank == all.rank && !memcmp(shape.dim, all.dim, (size_t)all.rank * 8));
            else
                assert_true(shape.rank == 1 && shape.dim[0] == e.n);
            assert_int_equal(wf_array_dtype(out[k]), k ? WF_I64 : wf_array_dtype(a));
            double *got = contents_as(out[k], WF_F64);
            const int64_t *whole = k == 1 ? e.first : k == 2 ? e.inverse : e.count;
            for (int64_t i = 0; i < wf_array_count(out[k]); ++i) {
                double want = k ? (double)whole[i] : e.value[i];
                if (!(got[i] == want || (isnan(want) && isnan(got[i]))))
                    fail_msg("%s, %lld elements, result %u: %g at %lld, not %g", wf_dtype_name(wf_array_dtype(a)),
                             (long long)n, k, got[i], (long long)i, want);
            }
            free(got);
            wf_release(out[k]);
        }
    }
}

static void unique_of_all_dtypes(void **state)
{
    (void)state;
    const int64_t lengths[] = { 0, 1, 2, 7, 64, 600 };
    for (int t = 0; t < TEST_DTYPES; ++t)
        for (size_t l = 0; l < WF__COUNT(lengths); ++l) {
            const int64_t n = lengths[l];
            double x[MOST];
            uint64_t random = 11;
            for (int64_t i = 0; i < n; ++i)
                x[i] = test_dtypes[t] == WF_BOOL ? (double)(test_random(&random) % 2)
                                                 : (double)(test_random(&random) % 40);
            wf_array *a = array_as(test_dtypes[t], n == 600 ? WF_SHAPE(20, 30) : WF_SHAPE(n), x);
            check_unique(a, x);
            wf_release(a);
        }
}

static void unique_of_special_values(void **state)
{
    (void)state;
    const double x[] = { 0, NAN, -0.0, INFINITY, 1, NAN, -0.0, -INFINITY, 1, INFINITY, -1, 0 };
    const wf_dtype dtypes[] = { WF_F16, WF_BF16, WF_F32, WF_F64 };
    for (int t = 0; t < 4; ++t) {
        wf_array *a = array_as(dtypes[t], WF_SHAPE(12), x), *back = wf_view_slice(a, 0, -1, WF_END_INDEX, -1);
        double turned[12];
        for (int i = 0; i < 12; ++i)
            turned[i] = x[11 - i];
        check_unique(a, x);
        check_unique(back, turned);
        wf_release(back);
        wf_release(a);
    }
    wf_array *scalar = array_as(WF_F32, WF_SCALAR, &x[4]), *z = wf_full(ctx, WF_C64, WF_SHAPE(2), 1);
    check_unique(scalar, &x[4]);
    REFUSED(ctx, wf_array_unique(z, NULL, NULL, NULL, NULL), WF_ERR_DTYPE, "order");
    wf_release(scalar);
    wf_release(z);
}

/* ---- repetition ---- */
static void repeated(void **state)
{
    (void)state;
    const double x[] = { 1, 2, 3, 4, 5, 6 }, rows[] = { 2, 3 }, columns[] = { 0, 3, 1 }, nothing[] = { 0, 0 };
    const struct {
        int axis;
        const double *count;
        int64_t n, rows, columns;
        double want[18];
    } cases[] = { { 0, rows, 2, 5, 3, { 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6, 4, 5, 6 } },
                  { -1, columns, 3, 2, 4, { 2, 2, 2, 3, 5, 5, 5, 6 } },
                  { 0, nothing, 2, 0, 3, { 0 } } };
    for (int t = 0; t < TEST_DTYPES; ++t)
        for (size_t k = 0; k < WF__COUNT(cases); ++k) {
            const bool whole = test_dtypes[t] != WF_BOOL && test_dtypes[t] < WF_F16;
            wf_array *a = array_as(test_dtypes[t], WF_SHAPE(2, 3), x);
            wf_array *counts = array_as(whole ? test_dtypes[t] : WF_I32, WF_SHAPE(cases[k].n), cases[k].count);
            wf_array *r = wf_array_repeat_counts(a, cases[k].axis, counts);
            assert_non_null(r);
            wf_shape shape = wf_array_shape(r);
            assert_true(shape.rank == 2 && shape.dim[0] == cases[k].rows && shape.dim[1] == cases[k].columns);
            assert_int_equal(wf_array_dtype(r), test_dtypes[t]);
            double *got = contents_as(r, WF_F64);
            for (int64_t i = 0; i < cases[k].rows * cases[k].columns; ++i)
                assert_true(got[i] == (test_dtypes[t] == WF_BOOL ? 1 : cases[k].want[i]));
            free(got);
            wf_release(r);
            wf_release(counts);
            wf_release(a);
        }
    wf_array *none = wf_empty(ctx, WF_F32, WF_SHAPE(0)), *counts = wf_empty(ctx, WF_I64, WF_SHAPE(0));
    wf_array *r = wf_array_repeat_counts(none, 0, counts);
    assert_int_equal(wf_array_count(r), 0);
    wf_release(r);
    wf_release(none);
    wf_release(counts);
}

static void repetition_refused(void **state)
{
    (void)state;
    const double x[] = { 1, -2, 3 };
    wf_array *a = array_as(WF_F32, WF_SHAPE(3), x), *counts = array_as(WF_I32, WF_SHAPE(3), x);
    wf_array *two = wf_view_slice(counts, 0, 0, 2, 1);
    REFUSED(ctx, of_null(wf_array_repeat_counts(a, 0, counts)), WF_ERR_ARG, "-2 is negative");
    REFUSED(ctx, of_null(wf_array_repeat_counts(a, 0, two)), WF_ERR_SHAPE, "one count for each");
    static const int64_t most = (int64_t)1 << 62;
    const int64_t beyond[2][3] = { { most, most, most },
                                   { most, most, 1 } }; /* running sums wrap, once or more often */
    for (int k = 0; k < 2; ++k) {
        wf_array *large = array_of(ctx, WF_I64, WF_SHAPE(3), beyond[k]), *larger = wf_array_cast(large, WF_U64);
        REFUSED(ctx, of_null(wf_array_repeat_counts(a, 0, large)), WF_ERR_SHAPE,
                "more than an array can have elements");
        REFUSED(ctx, of_null(wf_array_repeat_counts(a, 0, larger)), WF_ERR_SHAPE,
                "wf_array_repeat_counts: the counts add up");
        RELEASE(large, larger);
    }
    REFUSED(ctx, of_null(wf_array_repeat_counts(a, 0, a)), WF_ERR_DTYPE, "integers");
    REFUSED(ctx, of_null(wf_array_repeat_counts(a, 1, counts)), WF_ERR_ARG, "axis 1");
    REFUSED(ctx, of_null(wf_array_repeat_counts(a, 0, NULL)), WF_ERR_ARG, "NULL");
    wf_release(a);
    wf_release(counts);
    wf_release(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unique_of_all_dtypes),
        cmocka_unit_test(unique_of_special_values),
        cmocka_unit_test(repeated),
        cmocka_unit_test(repetition_refused),
    };
    return RUN_ON_ALL(tests);
}
