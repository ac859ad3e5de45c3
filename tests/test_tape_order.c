/* test_tape_order.c - derivatives through sorting, medians, quantiles, running sums and choices of elements, beside
 * those of JAX 0.10.2 (f64).
 *
 * ctest: devices
 */
#include "on_devices.h"
#include "weft/functions.h"

static const double x0[10] = { 1, 5, 2, 5, 3, 4, 4, 9, -1, 4 };

typedef wf_array *function(const wf_array *x);
static wf_array *sorted(const wf_array *x) { return wf_array_sort(x, -1, false); }
static wf_array *descending(const wf_array *x) { return wf_array_sort(x, 0, true); }
static wf_array *median(const wf_array *x) { return wf_array_median(x, WF_AXES(1)); }
static wf_array *median_of_all(const wf_array *x) { return wf_array_median(x, WF_ALL_AXES); }
static wf_array *quantile(const wf_array *x) { return wf_array_quantile(x, 0.3, WF_AXES(1)); }
static const double q[3] = { 0.1, 0.55, 1 };
static wf_array *some(const wf_array *x) { return wf_array_quantiles(x, q, 3, WF_AXES(0)); }
static wf_array *some_of_all(const wf_array *x) { return wf_array_quantiles(x, q, 3, WF_ALL_AXES); }

static wf_array *running(const wf_array *x) { return wf_array_cumsum(x, 1, false); }
static wf_array *running_before(const wf_array *x) { return wf_array_cumsum(x, 0, true); }
static wf_array *running_product(const wf_array *x) { return wf_array_cumprod(x, 0, false); }
static wf_array *chosen(const wf_array *x)
{
    wf_array *mask = array_of(ctx, WF_I32, WF_SHAPE(2, 5), ((const int32_t[]){ 1, 0, 1, 1, 0, 0, 1, 1, 0, 1 }));
    wf_array *y = wf_array_compress(x, mask);
    wf_release(mask);
    return y;
}

/* The loss is the sum of weight * result^2. */
static const struct {
    function *of;
    int rank;
    int64_t shape[3];
    double weight[10];
    double want[10];
} cases[] = {
    { sorted, 1, { 5 }, { 1, -2, 3, 0.5, 7 }, { 2, 5, -8, 70, 18, -16, 24, 126, -2, 4 } },
    { descending, 2, { 2, 5 }, { 2, -4, 6, 1, 14, 3, -6, 9, 1.5, 21 }, { 6, -40, 36, 10, 126, 16, -48, 108, -3, 112 } },
    { median, 1, { 1 }, { 1 }, { 0, 0, 0, 0, 6, 0, 8, 0, 0, 0 } },
    { median_of_all, 1, { 1 }, { 1 }, { 0, 0, 0, 0, 0, 4, 4, 0, 0, 0 } },
    { quantile, 1, { 1 }, { 1 }, { 0, 0, 3.52, 0, 0.88, 6.4, 1.6, 0, 0, 0 } },
    { some, 3, { 3, 1, 1 }, { 1, 2, 3 }, { 7.11, 40.83, 15.39, 34.98, 11.97, 30.09, 15.57, 67.41, 3.42, 32.43 } },
    { running, 1, { 5 }, { 1, -2, 3, 0.5, 7 }, { 263, 261, 285, 237, 224, 374, 366, 398, 296, 280 } },
    { running_before, 1, { 5 }, { 1, -2, 3, 0.5, 7 }, { 2, -20, 12, 5, 42, 0, 0, 0, 0, 0 } },
    { running_product, 1, { 5 }, { 1, -2, 3, 0.5, 7 }, { 34, -340, 984, 10, 714, 8, -400, 216, -25, 504 } },
    { chosen, 1, { 6 }, { 1, 2, 3, 4, 5, 6 }, { 2, 0, 8, 30, 0, 0, 32, 90, 0, 48 } },
    { some_of_all, 3, { 3, 1, 1 }, { 1, 2, 3 }, { 1.44, 0, 0, 0, 0, 0.8, 15.2, 54, 0.16, 0 } },
};

static void check(size_t k, wf_dtype t)
{
    wf_shape shape = { .rank = cases[k].rank };
    memcpy(shape.dim, cases[k].shape, sizeof cases[k].shape);
    wf_array *wide = array_of(ctx, WF_F64, WF_SHAPE(2, 5), x0), *x = wf_array_cast(wide, t), *grad = wf_like(wide);
    wf_array *weight = array_of(ctx, WF_F64, shape, cases[k].weight), *plain = cases[k].of(x);
    assert_false(wf_is_taped(x));
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    assert_true(wf_is_taped(x) && !wf_is_taped(weight) && !wf_is_taped(NULL));
    wf_array *y = cases[k].of(x);
    assert_true(wf_is_taped(y));
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_cast(wf_in(g, y), WF_F64);
    wf_array *loss = wf_keep(wf_sum(wf_mul(wf_in(g, weight), wf_mul(v, v)), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    wf_tape_end(tape);
    assert_false(wf_is_taped(y));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)));
    double *got = contents(grad);
    for (int i = 0; i < 10; ++i)
        assert_true(fabs(got[i] - cases[k].want[i]) <= (t == WF_F64 ? 1e-13 : 1e-5) * (1 + fabs(cases[k].want[i])));
    free(got);
    double *with = contents_as(y, WF_F64), *without = contents_as(plain, WF_F64); /* the same results */
    assert_int_equal(wf_array_count(y), wf_array_count(plain));
    assert_memory_equal(with, without, (size_t)wf_array_count(y) * sizeof *with);
    free(with), free(without);
    wf_tape_free(tape);
    wf_array *const used[] = { wide, x, grad, weight, plain, y, loss };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

static void losses(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        check(k, WF_F64);
        check(k, WF_F32);
    }
}

/* Indices are constants: L = sum of x^2 at the places of the two smallest elements. */
static void indices(void **state)
{
    (void)state;
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(10), x0), *grad = wf_like(x);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    wf_array *order = wf_array_argsort(x, 0, false);
    assert_non_null(order);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_read(g, x, wf_slice(wf_in(g, order), 0, 0, 2, 1));
    wf_array *loss = wf_keep(wf_sum(wf_mul(v, v), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)));
    double *got = contents(grad);
    for (int i = 0; i < 10; ++i)
        assert_true(got[i] == (i == 0 ? 2 : i == 8 ? -2 : 0));
    free(got);
    /* rows with a NaN, which have a NaN as median and no derivative; errors are those without a tape */
    g = wf_begin(ctx);
    wf_array *broken = wf_keep(wf_select(wf_gt(wf_in(g, x), 4), NAN, wf_in(g, x)));
    OK(ctx, wf_run(g));
    wf_array *middle = wf_array_median(broken, WF_ALL_AXES);
    double *nan = contents(middle);
    assert_true(isnan(nan[0]));
    free(nan);
    OK(ctx, wf_tape_grad(tape, middle, WF_ARRAYS(x), WF_ARRAYS(grad)));
    got = contents(grad);
    for (int i = 0; i < 10; ++i)
        assert_true(got[i] == 0);
    free(got);
    assert_null(wf_array_sort(x, 3, false));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_array_sort");
    wf_tape_free(tape);
    wf_array *const used[] = { x, grad, order, loss, broken, middle };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(losses), cmocka_unit_test(indices) };
    return RUN_ON_ALL(tests);
}
