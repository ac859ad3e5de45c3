/* test_logaddexp.c - the logarithm of a sum of exponentials beside long double: values, special values, derivatives.
 *
 * ctest: devices
 */
#include "close_numbers.h"
#include "ir/ir.h"
#include "weft/traced.h"

static double *take_f64(wf_array *a)
{
    double *data = contents_as(a, WF_F64);
    wf_release(a);
    return data;
}

static void values(void **state)
{
    (void)state;
    enum { N = 1000 };
    const wf_dtype dtypes[] = { WF_F16, WF_BF16, WF_F32, WF_F64 };
    const int digits[] = { 11, 8, 24, 53 };
    for (int t = 0; t < 4; ++t) {
        double x[N], y[N];
        uint64_t random = 3, bits;
        for (int i = 0; i < N; ++i) {
            x[i] = test_random_number(&random) * (i % 2 ? 2 : 500);
            y[i] = i % 3 ? x[i] + test_random_number(&random) * 20 : test_random_number(&random) * 500;
            wf__eval_cast(dtypes[t], WF_F64, &bits, &x[i], 1);
            wf__eval_cast(WF_F64, dtypes[t], &x[i], &bits, 1);
            wf__eval_cast(dtypes[t], WF_F64, &bits, &y[i], 1);
            wf__eval_cast(WF_F64, dtypes[t], &y[i], &bits, 1);
        }
        wf_array *a = array_as(dtypes[t], WF_SHAPE(N), x), *b = array_as(dtypes[t], WF_SHAPE(N), y);
        wf_graph *g = wf_begin(ctx);
        wf_array *out = wf_keep(wf_logaddexp(wf_in(g, a), wf_in(g, b)));
        OK(ctx, wf_run(g));
        assert_int_equal(wf_array_dtype(out), dtypes[t]);
        double *got = take_f64(out);
        for (int i = 0; i < N; ++i) {
            const long double p = (long double)x[i], q = (long double)y[i], large = fmaxl(p, q);
            const long double want = large + log1pl(expl(fminl(p, q) - large));
            if (!(fabsl((long double)got[i] - want) <=
                  ldexpl(t < 2 ? 1 : 4, -digits[t]) * (fabsl(want) + fabsl(large))))
                fail_msg("%s: of %g and %g: %.17g, not %.17Lg", wf_dtype_name(dtypes[t]), x[i], y[i], got[i], want);
        }
        free(got);
        wf_release(a);
        wf_release(b);
    }
}

static void special_values_and_derivatives(void **state)
{
    (void)state;
    enum { N = 8 };
    const double inf = (double)INFINITY, none = (double)NAN;
    const double x[N] = { 0, inf, -inf, -inf, inf, 1, none, -800 };
    const double y[N] = { 0, inf, -inf, 3, -inf, 1 + 0x1p-50, 1, -800.5 };
    const double want[N] = { log(2), inf, -inf, 3, inf, 1 + log(2), none, -800 + log1p(exp(-0.5)) };
    const double by_x[N] = { 0.5, 0.5, 0.5, 0, 1, 0.5, none, 1 / (1 + exp(-0.5)) };
    wf_array *a = array_as(WF_F64, WF_SHAPE(N), x), *b = array_as(WF_F64, WF_SHAPE(N), y), *out[3];
    wf_graph *g = wf_begin(ctx);
    wf_val p = wf_in(g, a), q = wf_in(g, b), r = wf_logaddexp(p, q), gradient[2];
    wf_vjp(WF_VALS(r), WF_VALS(1), WF_VALS(p, q), gradient);
    out[0] = wf_keep(r);
    out[1] = wf_keep(gradient[0]);
    out[2] = wf_keep(gradient[1]);
    OK(ctx, wf_run(g));
    for (int k = 0; k < 3; ++k) {
        double *got = take_f64(out[k]);
        for (int i = 0; i < N; ++i) {
            double w = k == 0 ? want[i] : k == 1 ? by_x[i] : 1 - by_x[i];
            if (isnan(want[i]) ? k == 0 && !isnan(got[i]) : !(got[i] == w || fabs(got[i] - w) <= 1e-14 * fabs(w)))
                fail_msg("of %g and %g, %d: %.17g, not %.17g", x[i], y[i], k, got[i], w);
        }
        free(got);
    }
    wf_release(a);
    wf_release(b);
    assert_true(fabs(wf_logaddexp(2, 2).h.num - (2 + log(2))) < 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(values), cmocka_unit_test(special_values_and_derivatives) };
    return RUN_ON_ALL(tests);
}
