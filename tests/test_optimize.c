/* test_optimize.c - minima beside SciPy's and closed forms, by all methods; what ends a minimization; bad input.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include "weft/optimize.h"
#include <float.h>

#define COMPARED(x, want, most)                                                             \
    do {                                                                                    \
        double x_ = (x), want_ = (want);                                                    \
        if (!(fabs(x_ - want_) <= (most)))                                                  \
            fail_msg("%s is %.17g and should be %.17g (line %d)", #x, x_, want_, __LINE__); \
    } while (0)

/* sum 100 (x_(i+1) - x_i^2)^2 + (1 - x_i)^2, least at 1, 1, ... */
static wf_val rosenbrock(wf_graph *g, const wf_val *params, void *user)
{
    (void)g, (void)user;
    wf_val x = wf_slice(params[0], 0, 0, -1, 1), next = wf_slice(params[0], 0, 1, WF_END_INDEX, 1);
    wf_val a = wf_sub(next, wf_mul(x, x)), b = wf_sub(1, x);
    return wf_sum(wf_add(wf_mul(100, wf_mul(a, a)), wf_mul(b, b)), WF_ALL_AXES);
}

/* The same of pairs (x_0, x_1), (x_2, x_3), ...: as well conditioned as one pair. */
static wf_val pairs(wf_graph *g, const wf_val *params, void *user)
{
    (void)g, (void)user;
    wf_val x = wf_slice(params[0], 0, 0, WF_END_INDEX, 2), next = wf_slice(params[0], 0, 1, WF_END_INDEX, 2);
    wf_val a = wf_sub(next, wf_mul(x, x)), b = wf_sub(1, x);
    return wf_sum(wf_add(wf_mul(100, wf_mul(a, a)), wf_mul(b, b)), WF_ALL_AXES);
}

/* From -1.2, 1, -1.2, ...: SciPy's L-BFGS-B needs 46 evaluations for one pair, and 168 for a chain of 20. */
static void valley(void **state)
{
    (void)state;
    static const struct {
        wf_loss *loss;
        wf_dtype dtype;
        int64_t n, evaluations;
        double tolerance, most;
    } cases[] = {
        { rosenbrock, WF_F64, 2, 70, 1e-8, 1e-8 },
        { rosenbrock, WF_F32, 2, 70, 1e-3, 2e-3 },
        { rosenbrock, WF_F64, 20, 250, 1e-8, 1e-8 },
        { pairs, WF_F64, 1000, 70, 1e-8, 1e-8 },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        int64_t n = sized(cases[k].n, 20 < cases[k].n ? 20 : cases[k].n);
        double start[1000];
        for (int64_t i = 0; i < n; ++i)
            start[i] = i % 2 ? 1 : -1.2;
        wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(n), start), *p = wf_array_cast(x, cases[k].dtype);
        wf_minimum found = { .size = sizeof found };
        OK(ctx, wf_minimize(ctx, WF_ARRAYS(p), cases[k].loss, NULL, &found, .gradient_tolerance = cases[k].tolerance));
        if (found.reason != WF_END_GRADIENT || found.gradient > cases[k].tolerance ||
            found.evaluations > cases[k].evaluations || found.evaluations <= found.iterations)
            fail_msg("case %d: end %d, loss %g, gradient %g, %d steps, %d evaluations", (int)k, (int)found.reason,
                     found.loss, found.gradient, (int)found.iterations, (int)found.evaluations);
        double *got = contents_as(p, WF_F64);
        for (int64_t i = 0; i < n; ++i)
            COMPARED(got[i], 1, cases[k].most);
        free(got);
        wf_release(x);
        wf_release(p);
    }
}

/* Half of sum d_i (x_i - c_i)^2 over two arrays of two dtypes: user data are arrays of the graph. */
static wf_val quadratic(wf_graph *g, const wf_val *params, void *user)
{
    wf_array *const *data = user;
    wf_val a = wf_sub(params[0], wf_in(g, data[0])), b = wf_sub(params[1], 3);
    wf_val first = wf_sum(wf_mul(wf_in(g, data[1]), wf_mul(a, a)), WF_ALL_AXES);
    return wf_mul(0.5, wf_add(first, wf_sum(wf_mul(b, b), WF_ALL_AXES)));
}

static void several_arrays(void **state)
{
    (void)state;
    const double center[6] = { 1, -2, 3, 0.5, 0, 4 }, scale[6] = { 1, 2, 4, 8, 3, 5 };
    static const wf_minimize_options methods[] = {
        { .size = sizeof *methods, .gradient_tolerance = 1e-4 },
        { .size = sizeof *methods,
          .method = WF_MINIMIZE_ADAM,
          .rate = 0.1,
          .iterations = 3000,
          .gradient_tolerance = 1e-4 },
        { .size = sizeof *methods,
          .method = WF_MINIMIZE_DESCENT,
          .rate = 0.05,
          .momentum = 0.8,
          .gradient_tolerance = 1e-4 },
    };
    for (size_t m = 0; m < 3; ++m) {
        wf_array *data[2] = { array_of(ctx, WF_F64, WF_SHAPE(2, 3), center),
                              array_of(ctx, WF_F64, WF_SHAPE(2, 3), scale) };
        wf_array *a = wf_full(ctx, WF_F64, WF_SHAPE(3, 2), 7), *b = wf_full(ctx, WF_F32, WF_SHAPE(4), -1);
        wf_array *turned = wf_view_permute(a, (const int[]){ 1, 0 }); /* not packed */
        wf_minimum found = { .size = sizeof found };
        OK(ctx, wf_minimize_with(ctx, WF_ARRAYS(turned, b), quadratic, data, &found, &methods[m]));
        assert_int_equal(found.reason, WF_END_GRADIENT);
        double *got = contents_as(turned, WF_F64), *other = contents_as(b, WF_F64);
        for (int i = 0; i < 6; ++i)
            COMPARED(got[i], center[i], 2e-4);
        for (int i = 0; i < 4; ++i)
            COMPARED(other[i], 3, 2e-4);
        free(got);
        free(other);
        wf_array *const all[] = { data[0], data[1], a, b, turned };
        for (size_t i = 0; i < 5; ++i)
            wf_release(all[i]);
    }
}

/* Two steps of each method of first order from 2, with the loss x^2 / 2, by the formulas. */
static wf_val half_square(wf_graph *g, const wf_val *params, void *user)
{
    (void)g, (void)user;
    return wf_mul(0.5, wf_sum(wf_mul(params[0], params[0]), WF_ALL_AXES));
}

static double one_number(wf_array *a)
{
    double *got = contents_as(a, WF_F64), x = got[0];
    free(got);
    wf_release(a);
    return x;
}

static void formulas(void **state)
{
    (void)state;
    double x = 2, m = 0, s = 0;
    for (int t = 1; t <= 2; ++t) {
        m = 0.8 * m + 0.2 * x;
        s = 0.9 * s + 0.1 * x * x;
        x -= 0.1 * (m / (1 - pow(0.8, t)) / (sqrt(s / (1 - pow(0.9, t))) + 0.01) + 0.3 * x);
    }
    wf_array *p = wf_full(ctx, WF_F64, WF_SHAPE(1), 2);
    wf_minimum found = { .size = sizeof found };
    OK(ctx, wf_minimize(ctx, WF_ARRAYS(p), half_square, NULL, &found, .method = WF_MINIMIZE_ADAM, .rate = 0.1,
                        .beta1 = 0.8, .beta2 = 0.9, .epsilon = 0.01, .weight_decay = 0.3, .iterations = 2));
    assert_int_equal(found.reason, WF_END_ITERATIONS);
    assert_int_equal(found.iterations, 2);
    assert_int_equal(found.evaluations, 3);
    COMPARED(found.loss, x * x / 2, 1e-14);
    COMPARED(one_number(p), x, 1e-14);
    x = 2, m = 0;
    for (int t = 1; t <= 2; ++t) {
        m = 0.5 * m + x;
        x -= 0.1 * (m + 0.3 * x);
    }
    p = wf_full(ctx, WF_F64, WF_SHAPE(1), 2);
    OK(ctx, wf_minimize(ctx, WF_ARRAYS(p), half_square, NULL, NULL, .method = WF_MINIMIZE_DESCENT, .rate = 0.1,
                        .momentum = 0.5, .weight_decay = 0.3, .iterations = 2));
    COMPARED(one_number(p), x, 1e-14);
}

/* ---- logistic regression of 60 samples, beside scipy.optimize.minimize (SciPy 1.17.1, L-BFGS-B) ---- */
static wf_val logistic(wf_graph *g, const wf_val *params, void *user)
{
    wf_array *const *data = user;
    wf_val z = wf_add(wf_sum(wf_mul(wf_in(g, data[0]), params[0]), WF_AXES(1)), params[1]), y = wf_in(g, data[1]);
    wf_val softplus = wf_add(wf_max(z, 0), wf_log1p(wf_exp(wf_neg(wf_abs(z)))));
    wf_val mean = wf_div(wf_sum(wf_sub(softplus, wf_mul(y, z)), WF_ALL_AXES), 60);
    return wf_add(mean, wf_mul(0.05, wf_sum(wf_mul(params[0], params[0]), WF_ALL_AXES)));
}

static void regression(void **state)
{
    (void)state;
    static const double weights[4] = { 0.7337005730534166, -0.06634937023879735, 0.2080591572089577,
                                       -0.06991394099979009 },
                        bias = 0.14237654063271588, least = 0.6305364803858895;
    double x[60][4], y[60];
    for (int i = 0; i < 60; ++i) {
        for (int j = 0; j < 4; ++j)
            x[i][j] = sin(1.0 + 3 * i + 5 * j + i * j);
        y[i] = sin(7.0 * i) + x[i][0] > 0;
    }
    wf_array *data[2] = { array_of(ctx, WF_F64, WF_SHAPE(60, 4), x), array_of(ctx, WF_F64, WF_SHAPE(60, 1), y) };
    wf_array *w = wf_full(ctx, WF_F64, WF_SHAPE(4), 0), *b = wf_full(ctx, WF_F64, WF_SHAPE(1), 0);
    wf_minimum found = { .size = sizeof found };
    OK(ctx, wf_minimize(ctx, WF_ARRAYS(w, b), logistic, data, &found, .gradient_tolerance = 1e-10));
    double *got = contents_as(w, WF_F64);
    for (int i = 0; i < 4; ++i)
        COMPARED(got[i], weights[i], 1e-8);
    COMPARED(one_number(b), bias, 1e-8);
    COMPARED(found.loss, least, 1e-13);
    free(got);
    wf_release(w);
    wf_release(data[0]);
    wf_release(data[1]);
}

/* ---- what ends it ---- */
static bool until_three(void *user, const wf_minimum *now)
{
    wf_array *p = user;
    double *x = contents_as(p, WF_F64);
    COMPARED(now->loss, x[0] * x[0] / 2, 1e-12 * now->loss);
    free(x);
    return now->iterations < 3;
}

static wf_val grows(wf_graph *g, const wf_val *params, void *user) /* -x^2 */
{
    return wf_neg(half_square(g, params, user));
}

static wf_val rooted(wf_graph *g, const wf_val *params, void *user) /* NaN for x < 0, where the first step leads */
{
    (void)g, (void)user;
    wf_val x = wf_sum(params[0], WF_ALL_AXES);
    return wf_sub(x, wf_mul(0.1, wf_log(x)));
}

static wf_val misled(wf_graph *g, const wf_val *params, void *user) /* -x, with the derivative 1 */
{
    (void)g, (void)user;
    return wf_sum(wf_sub(params[0], wf_mul(2, wf_stop(params[0]))), WF_ALL_AXES);
}

static void ends(void **state)
{
    (void)state;
    wf_minimum found = { .size = sizeof found };
    wf_array *p = wf_full(ctx, WF_F64, WF_SHAPE(1), 2);
    OK(ctx, wf_minimize(ctx, WF_ARRAYS(p), half_square, NULL, &found, .method = WF_MINIMIZE_DESCENT,
                        .each = until_three, .user = p));
    assert_int_equal(found.reason, WF_END_CALLBACK);
    assert_int_equal(found.iterations, 3);
    COMPARED(one_number(p), 2 * pow(0.99, 3), 1e-12);
    p = wf_full(ctx, WF_F64, WF_SHAPE(1), 2);
    OK(ctx, wf_minimize(ctx, WF_ARRAYS(p), half_square, NULL, &found, .method = WF_MINIMIZE_DESCENT,
                        .loss_tolerance = 1e-3));
    assert_int_equal(found.reason, WF_END_LOSS);
    wf_release(p);
    p = wf_full(ctx, WF_F64, WF_SHAPE(1), 1);
    OK(ctx, wf_minimize(ctx, WF_ARRAYS(p), grows, NULL, &found, .method = WF_MINIMIZE_DESCENT, .rate = 1e30));
    assert_int_equal(found.reason, WF_END_NOT_FINITE);
    wf_release(p);
    p = wf_full(ctx, WF_F64, WF_SHAPE(1), 0.9); /* L-BFGS shortens the step instead */
    OK(ctx, wf_minimize(ctx, WF_ARRAYS(p), rooted, NULL, &found, .gradient_tolerance = 1e-9));
    assert_int_equal(found.reason, WF_END_GRADIENT);
    COMPARED(one_number(p), 0.1, 1e-9);
    p = wf_full(ctx, WF_F64, WF_SHAPE(1), 2); /* no step along the direction of descent lowers the loss */
    OK(ctx, wf_minimize(ctx, WF_ARRAYS(p), misled, NULL, &found));
    assert_int_equal(found.reason, WF_END_SEARCH);
    assert_int_equal(found.iterations, 0);
    COMPARED(one_number(p), 2, 0);
    p = wf_full(ctx, WF_F64, WF_SHAPE(1), 0); /* at the minimum: no step */
    OK(ctx, wf_minimize(ctx, WF_ARRAYS(p), half_square, NULL, &found));
    assert_int_equal(found.reason, WF_END_GRADIENT);
    assert_int_equal(found.iterations, 0);
    wf_release(p);
}

/* ---- bad input ---- */
static wf_val itself(wf_graph *g, const wf_val *params, void *user)
{
    (void)g, (void)user;
    return params[0];
}

static wf_val a_number(wf_graph *g, const wf_val *params, void *user)
{
    (void)g, (void)params, (void)user;
    return WF_V(1);
}

static wf_val rounded(wf_graph *g, const wf_val *params, void *user)
{
    (void)g, (void)user;
    return wf_cast(wf_sum(params[0], WF_ALL_AXES), WF_I32);
}

static wf_val refused(wf_graph *g, const wf_val *params, void *user)
{
    (void)user;
    wf_fail(g, WF_ERR_BOUNDS, "not today");
    return params[0];
}

static void refuses(wf_array *p, wf_loss *loss, wf_minimize_options options, wf_status want, const char *says)
{
    options.size = sizeof options;
    wf_minimum found = { .size = sizeof found, .loss = 42 };
    wf_status status = wf_minimize_with(ctx, WF_ARRAYS(p), loss, NULL, &found, &options);
    if (status != want || !strstr(wf_last_message(ctx), says))
        fail_msg("%s: %s instead of %s: %s", wf_status_name(status), wf_last_message(ctx), wf_status_name(want), says);
    assert_true(found.loss == 42);
    wf_clear_error(ctx);
}

static void bad_input(void **state)
{
    (void)state;
    wf_array *p = wf_full(ctx, WF_F64, WF_SHAPE(3), 1), *whole = wf_full(ctx, WF_I32, WF_SHAPE(3), 1);
    wf_array *none = wf_full(ctx, WF_F64, WF_SHAPE(0), 1), *negative = wf_full(ctx, WF_F64, WF_SHAPE(3), -1);
    wf_minimize_options o = { .size = sizeof o };
    refuses(whole, half_square, o, WF_ERR_DTYPE, "array 0 of `params` is neither f32 nor f64");
    refuses(NULL, half_square, o, WF_ERR_ARG, "array 0 of `params` is NULL");
    refuses(none, half_square, o, WF_ERR_SHAPE, "no elements");
    refuses(p, NULL, o, WF_ERR_ARG, "no loss");
    refuses(p, itself, o, WF_ERR_SHAPE, "several elements");
    refuses(p, a_number, o, WF_ERR_ARG, "is a number");
    refuses(p, rounded, o, WF_ERR_DTYPE, "float dtype");
    refuses(p, refused, o, WF_ERR_BOUNDS, "not today");
    refuses(negative, rooted, o, WF_ERR_ARG, "the loss at the start is not finite");
    refuses(p, half_square, (wf_minimize_options){ .method = (wf_minimizer)7 }, WF_ERR_ARG, "`method`");
    refuses(p, half_square, (wf_minimize_options){ .rate = -1 }, WF_ERR_ARG, "`rate`");
    refuses(p, half_square, (wf_minimize_options){ .history = 65 }, WF_ERR_ARG, "`history`");
    refuses(p, half_square, (wf_minimize_options){ .momentum = 1 }, WF_ERR_ARG, "`momentum`");
    refuses(p, half_square, (wf_minimize_options){ .beta2 = NAN }, WF_ERR_ARG, "`beta2`");
    assert_int_equal(wf_minimize_with(ctx, WF_ARRAYS(p), half_square, NULL, NULL, &(wf_minimize_options){ 0 }),
                     WF_ERR_ARG);
    wf_clear_error(ctx);
    double *same = contents_as(p, WF_F64);
    for (int i = 0; i < 3; ++i)
        assert_true(same[i] == 1);
    free(same);
    wf_array *const all[] = { p, whole, none, negative };
    for (size_t i = 0; i < 4; ++i)
        wf_release(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valley),     cmocka_unit_test(several_arrays), cmocka_unit_test(formulas),
        cmocka_unit_test(regression), cmocka_unit_test(ends),           cmocka_unit_test(bad_input),
    };
    return RUN_ON_ALL(tests);
}
