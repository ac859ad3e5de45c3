/* test_tape_lines.c - derivatives of chirp z-transforms and of coefficients of B-splines on a tape. Both are computed line
 * by line and are linear, but for the value outside of the array.
 *
 * ctest: devices first_tier
 */
#include "tape_linear.h"
#include "weft/fft.h"
#include "weft/xform.h"

/* ---- chirp z-transforms ---- */
static wf_czt_points points; /* of the next transforms */
static int axis;
static wf_array *chirp(const wf_array *x) { return wf_czt(x, axis, &points); }

/* Of every second row, with the other axes exchanged. */
static wf_array *chirp_of_view(const wf_array *x)
{
    wf_array *rows = wf_view_slice((wf_array *)x, 0, 0, wf_array_shape(x).dim[0], 2);
    wf_array *view = wf_view_permute(rows, (const int[]){ 1, 0 }), *y = wf_czt(view, axis, &points);
    RELEASE(rows, view);
    return y;
}

static const wf_czt_points places[] = {
    { 0, 0, 0.125, 0, 0 },         { 0, 0.1, 0.07, 0, 0 },   { 0, -2.3, -0.31, 1, 1 },
    { 0, 0.25, 0.011, 0.9, 1.05 }, { 0, 0, 0.2, 1.1, 0.97 }, { 0, 0, -0.05, 0, 1.02 },
};
enum { PLACES = sizeof places / sizeof *places };

static void chirps(void **state)
{
    (void)state;
    axis = 0;
    for (int n = 1; n <= 9; ++n)
        for (int k = 0; k < PLACES; ++k) {
            points = places[k];
            points.count = 1 + (5 * n + 3 * k) % 11;
            if (is_left_out(n * PLACES + k, 4, 5))
                continue;
            differentiate(&(function){ "wf_czt of a line", chirp, { .rank = 1, .dim = { n } }, k % 2 }, WF_F64);
        }
}

static void chirps_along_axes(void **state)
{
    (void)state;
    for (int k = 0; k < PLACES; ++k) {
        const wf_dtype real = k % 3 == 0 ? WF_F32 : WF_F64;
        if (is_left_out(k, 2, 3))
            continue;
        points = places[k];
        points.count = 6 + k % 2;
        for (axis = -3; axis < 0; ++axis)
            differentiate(&(function){ "wf_czt along an axis", chirp, { .rank = 3, .dim = { 3, 5, 4 } }, k % 2 }, real);
        axis = k % 2;
        differentiate(&(function){ "wf_czt of a view", chirp_of_view, { .rank = 2, .dim = { 5, 7 } }, k % 2 }, real);
    }
    points = (wf_czt_points){ .count = 31, .first = 0.2, .step = 0.004 };
    axis = -1;
    differentiate(&(function){ "wf_czt of a long prime", chirp, { .rank = 2, .dim = { 2, 37 } }, false }, WF_F64);
}

static void chirps_of_other_dtypes(void **state)
{
    static const wf_dtype dtypes[] = { WF_F32, WF_F16, WF_BF16 };
    (void)state;
    axis = 1;
    for (int k = 0; k < 3; ++k)
        for (int complex = 0; complex < 2; ++complex) {
            points = places[1 + 2 * complex];
            points.count = 8;
            if (!is_left_out(2 * k + complex, 2, 3))
                differentiate(&(function){ "wf_czt", chirp, { .rank = 2, .dim = { 2, 6 } }, complex }, dtypes[k]);
        }
}

static void long_chirps(void **state)
{
    (void)state;
    axis = 1;
    points = (wf_czt_points){ .count = 300, .first = 0.1, .step = 3e-4 };
    differentiate_along(&(function){ "wf_czt of lines", chirp, { .rank = 2, .dim = { 5, 501 } }, true }, WF_F64);
    differentiate_along(&(function){ "wf_czt of lines", chirp, { .rank = 2, .dim = { 5, 501 } }, false }, WF_F32);
    if (is_left_out(0, 1, 2))
        return;
    axis = 0;
    points = (wf_czt_points){ .count = 9000, .first = -0.3, .step = 1e-5 };
    differentiate_along(&(function){ "wf_czt of a long line", chirp, { .rank = 1, .dim = { 7001 } }, false }, WF_F64);
}

/* The tape gives the same derivative again, and the loss need not be linear: sum(|y|^2) has the derivative 2 A^T A x. */
static void powers(void **state)
{
    (void)state;
    static const double x[] = { 1, -2, 0.5, 3, 0, 1.5 };
    enum { N = 6, COUNT = 9 };
    wf_array *a = line_of(x, N), *grad = wf_like(a);
    points = (wf_czt_points){ .count = COUNT, .first = 0.05, .step = 0.03, .radius = 1.1, .growth = 0.95 };
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(a));
    wf_array *y = wf_czt(a, 0, &points);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, y);
    wf_array *loss = wf_keep(total(wf_add(wf_mul(wf_real(v), wf_real(v)), wf_mul(wf_imag(v), wf_imag(v)))));
    OK(ctx, wf_run(g));
    double want[N] = { 0 };
    for (int k = 0; k < COUNT; ++k) { /* z[k]^-j is size^-j exp(-i angle j) */
        const double size = 1.1 * pow(0.95, k), angle = 2 * M_PI * (0.05 + 0.03 * k);
        double re = 0, im = 0;
        for (int j = 0; j < N; ++j) {
            re += x[j] * pow(size, -j) * cos(angle * j);
            im -= x[j] * pow(size, -j) * sin(angle * j);
        }
        for (int j = 0; j < N; ++j)
            want[j] += 2 * pow(size, -j) * (re * cos(angle * j) - im * sin(angle * j));
    }
    for (int turn = 0; turn < 2; ++turn) {
        OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(a), WF_ARRAYS(grad)));
        expect_close(grad, want, 1e-12);
    }
    wf_tape_free(tape);
    RELEASE(a, grad, y, loss);
}

/* ---- coefficients of B-splines ---- */
static const wf_border borders[] = { WF_BORDER_NONE,     WF_BORDER_VALUE,  WF_BORDER_CLAMP,
                                     WF_BORDER_PERIODIC, WF_BORDER_MIRROR, WF_BORDER_REFLECT };
enum { BORDERS = sizeof borders / sizeof *borders };

static wf_border border; /* of the next filters */
static wf_axes axes;
static wf_array *coefficients(const wf_array *x) { return wf_spline_filter(x, axes, border, 0.75); }

static wf_array *coefficients_of_view(const wf_array *x)
{
    wf_array *view = wf_view_permute((wf_array *)x, (const int[]){ 1, 0 });
    wf_array *rows = wf_view_slice(view, 0, 1, wf_array_shape(view).dim[0], 2), *y = coefficients(rows);
    RELEASE(view, rows);
    return y;
}

/* Each element stands at four places of the filtered array. */
static wf_array *coefficients_of_repeats(const wf_array *x)
{
    const wf_shape shape = wf_array_shape(x);
    wf_array *many = wf_view_broadcast((wf_array *)x, WF_SHAPE(4, shape.dim[0])), *y = coefficients(many);
    wf_release(many);
    return y;
}

/* The spline half an element further on: coefficients, and a launch that reads them. */
static wf_array *moved(const wf_array *x)
{
    const double inverse[] = { 1, 0, 0.5, 0, 1, -0.25 };
    wf_array *matrix = array_of(ctx, WF_F64, WF_SHAPE(2, 3), inverse);
    wf_array *y =
        wf_transform(x, WF_SCALAR, matrix,
                     &(wf_interp){ .interpolation = WF_INTERPOLATE_BSPLINE, .border = border, .outside = 0.75 });
    wf_release(matrix);
    return y;
}

static void splines(void **state)
{
    (void)state;
    axes = WF_ALL_AXES;
    for (int b = 0; b < BORDERS; ++b)
        for (int n = 1; n <= 9; ++n) {
            border = borders[b];
            if (!is_left_out(9 * b + n, 4, 5))
                differentiate(&(function){ "spline of a line", coefficients, { .rank = 1, .dim = { n } }, n % 2 },
                              WF_F64);
        }
}

static void splines_along_axes(void **state)
{
    (void)state;
    for (int b = 0; b < BORDERS; ++b) {
        const wf_dtype real = b % 2 ? WF_F32 : WF_F64;
        if (is_left_out(b, 2, 6))
            continue;
        border = borders[b];
        axes = WF_AXES(0, 2);
        differentiate(&(function){ "spline of two axes", coefficients, { .rank = 3, .dim = { 3, 2, 4 } }, b % 3 },
                      real);
        axes = WF_ALL_AXES;
        differentiate(&(function){ "spline of a view", coefficients_of_view, { .rank = 2, .dim = { 5, 9 } }, false },
                      real);
        differentiate(&(function){ "spline of repeats", coefficients_of_repeats, { .rank = 1, .dim = { 6 } }, false },
                      real);
        differentiate(&(function){ "spline, moved", moved, { .rank = 2, .dim = { 6, 5 } }, false }, real);
        differentiate(&(function){ "spline of a number", coefficients, { .rank = 0 }, false }, real);
    }
}

static void splines_of_other_dtypes(void **state)
{
    static const wf_dtype dtypes[] = { WF_F32, WF_F16, WF_BF16 };
    (void)state;
    axes = WF_ALL_AXES;
    for (int k = 0; k < 3; ++k)
        for (int complex = 0; complex < 2; ++complex) {
            border = complex ? WF_BORDER_REFLECT : WF_BORDER_PERIODIC;
            if (!is_left_out(2 * k + complex, 2, 3))
                differentiate(&(function){ "spline", coefficients, { .rank = 2, .dim = { 4, 3 } }, complex },
                              dtypes[k]);
        }
}

/* Lines beyond the reach of the recurrences, and rows that are filtered in memory of their own. */
static void large_splines(void **state)
{
    (void)state;
    axes = WF_ALL_AXES;
    for (int b = 1; b < BORDERS; ++b) {
        if (is_left_out(b, 2, 5))
            continue;
        border = borders[b];
        differentiate(&(function){ "spline of rows", coefficients, { .rank = 2, .dim = { 17, 40 } }, false }, WF_F64);
        differentiate_along(
            &(function){ "spline of a volume", coefficients, { .rank = 3, .dim = { 7, 20, 65 } }, b % 2 },
            b % 3 ? WF_F32 : WF_F64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chirps),
        cmocka_unit_test(chirps_along_axes),
        cmocka_unit_test(chirps_of_other_dtypes),
        cmocka_unit_test(long_chirps),
        cmocka_unit_test(powers),
        cmocka_unit_test(splines),
        cmocka_unit_test(splines_along_axes),
        cmocka_unit_test(splines_of_other_dtypes),
        cmocka_unit_test(large_splines),
    };
    return RUN_ON_ALL(tests);
}
