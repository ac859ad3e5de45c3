/* test_interpolate.c - interpolation and its transpose beside plain C: all interpolations, border modes, ranks, dtypes;
 * coefficients of B-splines beside a dense solution.
 *
 * ctest: devices
 */
#include "plain_interpolation.h"

static void check_interpolation(int axes, int which, wf_interpolation how, wf_border border, wf_dtype t)
{
    wf_dtype part = wf_dtype_part(t);
    uint64_t seed = (uint64_t)(axes * 100 + (int)how * 10 + (int)border);
    double *x = random_numbers(200, seed), expected[POINTS], twice[POINTS], at[3];
    image m = image_of(axes, which, how, border, x);
    double *p = positions_for(&m, seed + 1);
    wf_array *a = numbers_as(t, shape_of(&m), x), *positions = numbers_as(part, WF_SHAPE(axes, POINTS), p);
    wf_array *y = wf_empty(ctx, t, WF_SHAPE(POINTS));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    wf_val values[3];
    wf_out(g, y, wf_interpolate(g, a, &m.how, read_positions(g, positions, axes, values)));
    OK(ctx, wf_run(g));
    for (int i = 0; i < POINTS; ++i) {
        position_at(&m, p, i, at);
        expected[i] = visit(&m, at, NULL, 0);
    }
    check_near(y, expected, part == WF_F64 ? 1e-14 : 2e-6, "interpolation", (int)how * 100 + (int)border * 10 + axes);
    if (t != part) {
        double *im = numbers_of(y, 1), outside = m.how.outside;
        m.how.outside = 0; /* which is real */
        for (int i = 0; i < POINTS; ++i) {
            position_at(&m, p, i, at);
            twice[i] = 2 * visit(&m, at, NULL, 0);
            assert_true(fabs(im[i] - twice[i]) <= (part == WF_F64 ? 1e-14 : 4e-6));
        }
        m.how.outside = outside;
        free(im);
    }
    wf_array *spent[] = { a, positions, y };
    for (int i = 0; i < 3; ++i)
        wf_release(spent[i]);
    free(x);
    free(p);
}

static void test_interpolations(void **state)
{
    (void)state;
    for (int how = 0; how < KERNELS; ++how)
        for (int b = 0; b < BORDERS; ++b) {
            if (is_left_out(how * BORDERS + b, 3, 3))
                continue;
            check_interpolation(1, b % 2, (wf_interpolation)how, borders[b], WF_F32);
            check_interpolation(2, how % 2, (wf_interpolation)how, borders[b], b == 1 ? WF_C128 : WF_F64);
            if (how <= WF_INTERPOLATE_BSPLINE)
                check_interpolation(3, (how + b) % 2, (wf_interpolation)how, borders[b], b % 2 ? WF_C64 : WF_F32);
        }
    if (!is_on_gpu())
        check_interpolation(3, 0, WF_INTERPOLATE_LANCZOS4, WF_BORDER_MIRROR, WF_F32);
}

/* The sums that wf_splat adds are those of plain C; so it is the transpose, as that is one function there. */
static void check_splat(int axes, int which, wf_interpolation how, wf_border border, wf_dtype t)
{
    uint64_t seed = (uint64_t)(axes * 100 + (int)how * 10 + (int)border);
    double *x = random_numbers(200, seed), *v = random_numbers(POINTS, seed + 2), expected[200] = { 0 }, at[3];
    image m = image_of(axes, which, how, border, x);
    m.how.outside = 0;
    double *p = positions_for(&m, seed + 1), left = 0, right = 0;
    wf_array *a = numbers_as(t, shape_of(&m), x), *sums = wf_full(ctx, t, shape_of(&m), 0);
    wf_array *positions = numbers_as(WF_F64, WF_SHAPE(axes, POINTS), p), *values = numbers_as(t, WF_SHAPE(POINTS), v);
    wf_array *y = wf_empty(ctx, t, WF_SHAPE(POINTS));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    wf_val value[3];
    wf_splat(g, sums, &m.how, wf_in(g, values), read_positions(g, positions, axes, value));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    wf_out(g, y, wf_interpolate(g, a, &m.how, read_positions(g, positions, axes, value)));
    OK(ctx, wf_run(g));
    for (int i = 0; i < POINTS; ++i) {
        position_at(&m, p, i, at);
        visit(&m, at, expected, v[i]);
    }
    check_near(sums, expected, wf_dtype_part(t) == WF_F64 ? 1e-13 : 1e-5, "splat",
               (int)how * 100 + (int)border * 10 + axes);
    double *found = numbers_of(sums, 0), *read = numbers_of(y, 0);
    for (int64_t i = 0; i < wf_array_count(sums); ++i)
        left += found[i] * x[i];
    for (int i = 0; i < POINTS; ++i)
        right += read[i] * v[i];
    assert_true(fabs(left - right) <= 1e-5);
    wf_array *spent[] = { a, sums, positions, values, y };
    for (int i = 0; i < 5; ++i)
        wf_release(spent[i]);
    double *numbers[] = { x, v, p, found, read };
    for (int i = 0; i < 5; ++i)
        free(numbers[i]);
}

static void test_splats(void **state)
{
    (void)state;
    for (int how = 0; how < KERNELS; ++how)
        for (int b = 0; b < BORDERS; ++b) {
            if (is_left_out(how * BORDERS + b, 3, 3))
                continue;
            check_splat(1 + (how + b) % 2, how % 2, (wf_interpolation)how, borders[b], b % 2 ? WF_F32 : WF_F64);
            if (how == WF_INTERPOLATE_LINEAR)
                check_splat(3, b % 2, WF_INTERPOLATE_LINEAR, borders[b], b % 2 ? WF_C64 : WF_F32);
        }
}

/* Elements of integers and f16, index axes before positions, numbers as positions, and array graphs. */
static void test_operands(void **state)
{
    (void)state;
    double x[12] = { 0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110 };
    const wf_dtype dtypes[] = { WF_U8, WF_I32, WF_F16, WF_F32 };
    const wf_dtype results[] = { WF_F32, WF_F64, WF_F32, WF_F32 };
    for (int i = 0; i < 4; ++i) {
        wf_array *a = numbers_as(dtypes[i], WF_SHAPE(2, 6), x), *y = wf_empty(ctx, WF_F64, WF_SHAPE(2));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(2));
        wf_interp how = { .interpolation = WF_INTERPOLATE_LINEAR, .axes = 1 };
        wf_val v = wf_interpolate(g, a, &how, WF_VALS(wf_index(g, 0), 2.25));
        assert_int_equal(wf_val_dtype(v), results[i]);
        wf_out(g, y, v);
        OK(ctx, wf_run(g));
        check_near(y, (double[]){ 22.5, 82.5 }, 0, "index", i);
        g = wf_begin(ctx);
        wf_val at = wf_mul(wf_cast(wf_iota(g, WF_SHAPE(2), 0), WF_F32), 0.5);
        wf_out(g, y, wf_interpolate(g, a, &(wf_interp){ .interpolation = WF_INTERPOLATE_LINEAR }, WF_VALS(at, 1)));
        OK(ctx, wf_run(g));
        check_near(y, (double[]){ 10, 40 }, 0, "array graph", i);
        wf_release(a);
        wf_release(y);
    }
}

/* ---- coefficients ---- */
/* Solves for coefficients c with (c[k-1] + 4 c[k] + c[k+1]) / 6 = x[k]; c outside by the border mode. */
static void dense_solution(int n, wf_border border, double outside, const double *x, double *c)
{
    double m[20][21] = { { 0 } };
    for (int k = 0; k < n; ++k) {
        m[k][n] = x[k];
        for (int d = -1; d <= 1; ++d) {
            int64_t i = border_index(border, k + d, n);
            if (i >= 0)
                m[k][i] += d ? 1.0 / 6 : 4.0 / 6;
            else
                m[k][n] -= outside / 6;
        }
    }
    for (int p = 0; p < n; ++p) /* diagonally dominant */
        for (int r = 0; r < n; ++r)
            for (int k = n; k >= p && r != p; --k)
                m[r][k] -= m[r][p] / m[p][p] * m[p][k];
    for (int k = 0; k < n; ++k)
        c[k] = m[k][n] / m[k][k];
}

static void test_coefficients(void **state)
{
    (void)state;
    for (int b = 0; b < BORDERS; ++b)
        for (int n = 1; n <= 20; ++n)
            for (int wide = 0; wide < 2; ++wide) {
                if (is_left_out((b * 20 + n) * 2 + wide, 2, 5))
                    continue;
                double *x = random_numbers(3 * n, (uint64_t)n), c[60];
                for (int r = 0; r < 3; ++r)
                    dense_solution(n, borders[b], 0.25, x + r * n, c + r * n);
                wf_array *a = numbers_as(wide ? WF_F64 : WF_F32, WF_SHAPE(3, n), x);
                wf_array *y = wf_spline_filter(a, WF_AXES(1), borders[b], 0.25);
                check_near(y, c, wide ? 3e-15 : 1.5e-6, "coefficients", n * 10 + b);
                wf_array *turned = wf_view_permute(a, (int[]){ 1, 0 }); /* a view, along its first axis */
                wf_array *z = wf_spline_filter(turned, WF_AXES(0), borders[b], 0.25);
                wf_array *back = wf_view_permute(z, (int[]){ 1, 0 });
                check_near(back, c, wide ? 3e-15 : 1.5e-6, "coefficients of columns", n * 10 + b);
                wf_array *spent[] = { a, y, turned, z, back };
                for (int i = 0; i < 5; ++i)
                    wf_release(spent[i]);
                free(x);
            }
}

/* Rows of many lines, which are filtered in other memory, have the bits of the same lines as columns. */
static void test_rows(void **state)
{
    (void)state;
    static const int64_t sizes[4][3] = { { 2, 20, 9 }, { 1, 16, 1 }, { 3, 17, 2 }, { 1, 1024, 5 } };
    static const wf_dtype dtypes[4] = { WF_F64, WF_C64, WF_F16, WF_F32 };
    for (int i = 0; i < 4; ++i)
        for (int b = 0; b < BORDERS; ++b) {
            if (is_left_out(i * BORDERS + b, 2, 3))
                continue;
            const int64_t *n = sizes[i];
            double *x = random_numbers(n[0] * n[1] * n[2], (uint64_t)i), outside = i == 2 ? 0.25 : 0.3;
            wf_array *a = numbers_as(dtypes[i], WF_SHAPE(n[0], n[1], n[2]), x);
            wf_array *y = wf_spline_filter(a, WF_AXES(2), borders[b], outside);
            wf_array *turned = wf_array_permute(a, (int[]){ 2, 0, 1 });
            wf_array *z = wf_spline_filter(turned, WF_AXES(0), borders[b], outside);
            wf_array *back = z ? wf_array_permute(z, (int[]){ 1, 2, 0 }) : NULL;
            double *re = numbers_of(back, 0), *im = numbers_of(back, 1), *own = numbers_of(y, 1);
            check_near(y, re, 0, "rows", 10 * i + b);
            for (int64_t e = 0; e < wf_array_count(y); ++e)
                assert_true(own[e] == im[e]);
            wf_array *spent[] = { a, y, turned, z, back };
            for (int k = 0; k < 5; ++k)
                wf_release(spent[k]);
            free(x);
            free(re);
            free(im);
            free(own);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_interpolations), cmocka_unit_test(test_splats),
        cmocka_unit_test(test_operands), cmocka_unit_test(test_coefficients),
    };
    return RUN_ON_ALL(tests);
}
