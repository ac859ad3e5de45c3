/* test_xform.c - interpolation and its transpose beside plain C: all interpolations, border modes, ranks, dtypes;
 * coefficients of B-splines beside a dense solution; rotations, shapes; transforms, fields of positions, polar grids,
 * bins and symmetries of arrays; mistakes.
 *
 * ctest: devices
 */
#include "borders.h"
#include "on_devices.h"
#include "weft/xform.h"
#include <complex.h>

static const wf_border borders[] = { WF_BORDER_VALUE, WF_BORDER_CLAMP, WF_BORDER_PERIODIC, WF_BORDER_MIRROR,
                                     WF_BORDER_REFLECT };
enum { BORDERS = 5, INTERPOLATIONS = 7, POINTS = 48 };
static const int taps_of[INTERPOLATIONS] = { 1, 2, 4, 4, 4, 6, 8 };

static double between(uint64_t *seed) { return (double)(test_random(seed) >> 12) / 4503599627370496.0 - 0.5; }

static double *random_numbers(int64_t n, uint64_t seed)
{
    double *x = malloc((size_t)(n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; ++i)
        x[i] = (double)(float)between(&seed);
    return x;
}

/* Returns an array of these numbers, converted; complex ones have the parts x and 2 x. */
static wf_array *numbers_as(wf_dtype t, wf_shape shape, const double *x)
{
    wf_array *wide = wf_empty_with(ctx, WF_F64, shape, NULL), *a = wf_empty_with(ctx, t, shape, NULL);
    assert_non_null(wide);
    assert_non_null(a);
    OK(ctx, wf_upload(wide, x, (size_t)wf_array_count(wide) * sizeof *x));
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, wide);
    wf_out(g, a, wf_dtype_kind(t) == WF_KIND_COMPLEX ? wf_complex(v, wf_mul(v, 2)) : v);
    OK(ctx, wf_run(g));
    wf_release(wide);
    return a;
}

/* Returns the real parts (part 0) or the imaginary ones. */
static double *numbers_of(const wf_array *a, int part)
{
    assert_non_null(a);
    wf_array *wide = wf_array_cast(a, WF_C128);
    assert_non_null(wide);
    size_t n = (size_t)wf_array_count(a);
    double *x = malloc((2 * n + 1) * sizeof *x);
    OK(ctx, wf_download(wide, x, 2 * n * sizeof *x));
    for (size_t i = 0; i < n; ++i)
        x[i] = x[2 * i + (size_t)part];
    wf_release(wide);
    return x;
}

static void check_near(const wf_array *a, const double *expected, double most, const char *what, int which)
{
    double *x = numbers_of(a, 0);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (!(fabs(x[i] - expected[i]) <= most)) {
            print_error("%s %d: element %lld is %.9g, not %.9g\n", what, which, (long long)i, x[i], expected[i]);
            fail();
        }
    free(x);
}

/* ---- interpolation in plain C ---- */
static double sinc(double x) { return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x); }

static double weight(wf_interpolation how, double distance)
{
    double d = fabs(distance), a = taps_of[how] / 2.0;
    switch (how) {
    case WF_INTERPOLATE_NEAREST:
        return distance >= -0.5 && distance < 0.5;
    case WF_INTERPOLATE_LINEAR:
        return d < 1 ? 1 - d : 0;
    case WF_INTERPOLATE_CUBIC:
        return d < 1 ? (1.5 * d - 2.5) * d * d + 1 : d < 2 ? ((-0.5 * d + 2.5) * d - 4) * d + 2 : 0;
    case WF_INTERPOLATE_BSPLINE:
        return d < 1 ? 2.0 / 3 - d * d + d * d * d / 2 : d < 2 ? (2 - d) * (2 - d) * (2 - d) / 6 : 0;
    default:
        return d < a ? sinc(d) * sinc(d / a) : 0;
    }
}

/* Sets the first of ten elements around x, and their weights. */
static int64_t weights_at(wf_interpolation how, double x, double w[10])
{
    int64_t first = (int64_t)floor(x) - 4;
    double sum = 0;
    for (int k = 0; k < 10; ++k)
        sum += w[k] = weight(how, (double)(first + k) - x == -0.5 ? 0.5 : (double)(first + k) - x);
    if (how == WF_INTERPOLATE_NEAREST)
        for (int k = 0; k < 10; ++k)
            w[k] = first + k == (int64_t)floor(x + 0.5);
    for (int k = 0; k < 10 && how >= WF_INTERPOLATE_LANCZOS4; ++k)
        w[k] /= sum;
    return first;
}

typedef struct image {
    const double *x;
    int axes;
    int64_t dim[3];
    wf_interp how;
} image;

/* Adds weight * value to the elements around a position, or returns their weighted sum. */
static double visit(const image *m, const double *position, double *add, double value)
{
    double w[3][10], sum = 0;
    int64_t first[3], all = 1;
    for (int d = 0; d < m->axes; ++d, all *= 10)
        first[d] = weights_at(m->how.interpolation, position[d], w[d]);
    for (int64_t k = 0; k < all; ++k) {
        int64_t rest = k, at = 0;
        double product = 1;
        bool inside = true;
        for (int d = 0; d < m->axes; ++d, rest /= 10) {
            int64_t i = border_index(m->how.border, first[d] + rest % 10, m->dim[d]);
            inside = inside && i >= 0;
            at = at * m->dim[d] + i;
            product *= w[d][rest % 10];
        }
        sum += product * (inside ? m->x[at] : m->how.outside);
        if (add && inside)
            add[at] += product * value;
    }
    return sum;
}

static const int64_t dims[2][3] = { { 5, 7, 4 }, { 1, 2, 3 } };

static image image_of(int axes, int which, wf_interpolation how, wf_border border, const double *x)
{
    image m = { .x = x, .axes = axes, .how = { .interpolation = how, .border = border, .outside = 0.25 } };
    memcpy(m.dim, dims[which], sizeof m.dim);
    return m;
}

static wf_shape shape_of(const image *m)
{
    wf_shape shape = { .rank = m->axes };
    for (int d = 0; d < m->axes; ++d)
        shape.dim[d] = m->dim[d];
    return shape;
}

/* Positions around the array, [axes, POINTS]; every sixth point lies on elements, every sixth halfway. */
static double *positions_for(const image *m, uint64_t seed)
{
    double *p = random_numbers((int64_t)m->axes * POINTS, seed);
    for (int d = 0; d < m->axes; ++d)
        for (int i = 0; i < POINTS; ++i) {
            double *x = &p[d * POINTS + i];
            *x = (double)(float)((double)m->dim[d] / 2 + *x * (double)(m->dim[d] + 12));
            *x = i % 6 == 0 ? floor(*x) : i % 6 == 1 ? floor(*x) + 0.5 : *x;
        }
    return p;
}

static void position_at(const image *m, const double *p, int i, double *out)
{
    for (int d = 0; d < m->axes; ++d)
        out[d] = p[d * POINTS + i];
}

static wf_vals read_positions(wf_graph *g, const wf_array *p, int axes, wf_val *at)
{
    for (int d = 0; d < axes; ++d)
        at[d] = wf_read(g, p, d, wf_index(g, 0));
    return (wf_vals){ at, (size_t)axes };
}

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
    for (int how = 0; how < INTERPOLATIONS; ++how)
        for (int b = 0; b < BORDERS; ++b) {
            if (is_on_gpu() && (how + b) % 3)
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
    for (int how = 0; how < INTERPOLATIONS; ++how)
        for (int b = 0; b < BORDERS; ++b) {
            if (is_on_gpu() && (how + b) % 3)
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
        for (int n = 1; n <= 20; n += is_on_gpu() ? 5 : 1)
            for (int wide = 0; wide < 2; ++wide) {
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

/* ---- transforms ---- */
static const double identity[3][12] = { { 1, 0 }, { 1, 0, 0, 0, 1, 0 }, { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 } };

static wf_array *matrix_of(wf_dtype t, int axes, const double *m) { return numbers_as(t, WF_SHAPE(axes, axes + 1), m); }

static void test_identity(void **state)
{
    (void)state;
    for (int how = 0; how < INTERPOLATIONS; ++how)
        for (int axes = 1; axes <= (how < WF_INTERPOLATE_LANCZOS4 ? 3 : 2); ++axes) {
            wf_border border = borders[(how + axes) % BORDERS];
            double *x = random_numbers(200, 3);
            image m = image_of(axes, 0, (wf_interpolation)how, border, x);
            wf_array *a = numbers_as(axes == 2 ? WF_C64 : WF_F32, shape_of(&m), x);
            wf_array *inverse = matrix_of(WF_F32, axes, identity[axes - 1]);
            wf_array *y = wf_transform(a, WF_SCALAR, inverse, &m.how);
            check_near(y, x, how == WF_INTERPOLATE_BSPLINE ? 2e-6 : 0, "identity", how * 10 + axes);
            wf_release(a);
            wf_release(inverse);
            wf_release(y);
            free(x);
        }
}

/* A quarter turn about n/2 of an odd square is a permutation, and four of them are nothing. */
static void test_quarter_turns(void **state)
{
    (void)state;
    double *x = random_numbers(81, 5), turned[81];
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(9, 9), x);
    /* output (y, x) reads (c + (x - c), c - (y - c)) */
    wf_array *inverse = matrix_of(WF_F64, 2, (double[]){ 0, 1, 0, -1, 0, 8 });
    for (int how = 0; how < INTERPOLATIONS; ++how) {
        if (is_on_gpu() && how > 3)
            break;
        wf_interp with = { .interpolation = (wf_interpolation)how, .border = WF_BORDER_MIRROR };
        wf_array *y = wf_retain(a);
        for (int turn = 1; turn <= 4; ++turn) {
            wf_array *next = wf_transform(y, WF_SCALAR, inverse, &with);
            wf_release(y);
            y = next;
            for (int i = 0; i < 81 && turn == 1; ++i)
                turned[i] = x[(i % 9) * 9 + 8 - i / 9];
            if (turn == 1)
                check_near(y, turned, how == WF_INTERPOLATE_BSPLINE ? 2e-6 : 0, "turn", how);
        }
        check_near(y, x, how == WF_INTERPOLATE_BSPLINE ? 8e-6 : 0, "four turns", how);
        wf_release(y);
    }
    wf_release(a);
    wf_release(inverse);
    free(x);
}

/* Between elements, polynomials of degree 1, 2 (Keys), 3 (B-spline, away from the ends) are met; constants by all. */
static void test_polynomials(void **state)
{
    (void)state;
    enum { N = 40 };
    double inverse[2] = { 0.25, 14.125 }; /* from 14.125 to 24 */
    wf_array *m = matrix_of(WF_F64, 1, inverse);
    for (int how = 1; how < INTERPOLATIONS; ++how) {
        int degree = how == WF_INTERPOLATE_LINEAR ? 1 : how <= WF_INTERPOLATE_BSPLINE ? how : 0;
        double x[N], expected[N];
        for (int i = 0; i < N; ++i) {
            double at = inverse[0] * i + inverse[1] - 20;
            x[i] = 1 + (degree > 0) * 0.5 * (i - 20) + (degree > 1) * 0.25 * pow(i - 20, 2) -
                   (degree > 2) * 0.125 * pow(i - 20, 3);
            expected[i] =
                1 + (degree > 0) * 0.5 * at + (degree > 1) * 0.25 * at * at - (degree > 2) * 0.125 * pow(at, 3);
        }
        wf_array *a = numbers_as(WF_F64, WF_SHAPE(N), x);
        wf_array *y = wf_transform(a, WF_SHAPE(N), m,
                                   &(wf_interp){ .interpolation = (wf_interpolation)how, .border = WF_BORDER_MIRROR });
        /* Mirroring bends the ends; of that 0.268^14 is left at the nearest position. */
        check_near(y, expected, how == WF_INTERPOLATE_BSPLINE ? 2e-6 : 1e-12, "polynomial", how);
        wf_release(a);
        wf_release(y);
    }
    wf_release(m);
}

/* Batches are their elements one by one; x and matrices broadcast; any shape, strided views, empty batches. */
static void test_batches(void **state)
{
    (void)state;
    double *x = random_numbers(3 * 6 * 5, 9), m[3][6];
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 6; ++k)
            m[i][k] = identity[1][k] + 0.1 * (i + 1) * sin(k + i);
    wf_array *all = numbers_as(WF_F32, WF_SHAPE(3, 5, 6), x), *inverse = numbers_as(WF_F32, WF_SHAPE(3, 2, 3), m[0]);
    wf_array *turned = wf_view_permute(all, (int[]){ 0, 2, 1 });
    for (int how = 0; how < 4; ++how) {
        wf_interp with = { .interpolation = (wf_interpolation)how, .border = WF_BORDER_REFLECT };
        wf_array *y = wf_transform(turned, WF_SHAPE(4, 9), inverse, &with);
        assert_non_null(y);
        assert_int_equal(wf_array_shape(y).rank, 3);
        assert_int_equal(wf_array_count(y), 3 * 4 * 9);
        for (int i = 0; i < 3; ++i) {
            wf_array *one = wf_view_at(turned, 0, i), *matrix = wf_view_at(inverse, 0, i), *part = wf_view_at(y, 0, i);
            wf_array *single = wf_transform(one, WF_SHAPE(4, 9), matrix, &with);
            double *expected = numbers_of(single, 0);
            check_near(part, expected, 0, "batch", how);
            wf_array *many = wf_transform(one, WF_SHAPE(4, 9), inverse, &with), *same = wf_view_at(many, 0, i);
            check_near(same, expected, 0, "broadcast", how);
            free(expected);
            wf_array *spent[] = { one, matrix, part, single, many, same };
            for (int k = 0; k < 6; ++k)
                wf_release(spent[k]);
        }
        wf_release(y);
        wf_array *none = wf_view_slice(turned, 0, 0, 0, 1), *matrix = wf_view_at(inverse, 0, 0);
        y = wf_transform(none, WF_SCALAR, matrix, &with);
        assert_non_null(y);
        assert_int_equal(wf_array_count(y), 0);
        wf_array *spent[] = { none, matrix, y };
        for (int k = 0; k < 3; ++k)
            wf_release(spent[k]);
    }
    wf_release(all);
    wf_release(turned);
    wf_release(inverse);
    free(x);
}

/* ---- rotations ---- */
static void product(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 9; ++i) {
        double sum = 0;
        for (int k = 0; k < 3; ++k)
            sum += a[i / 3 * 3 + k] * b[k * 3 + i % 3];
        out[i] = sum;
    }
}

/* A rotation of (x, y, z) by Rodrigues' formula, written for (z, y, x). */
static void rotation(char axis, double angle, double *m)
{
    double u[3] = { axis == 'x', axis == 'y', axis == 'z' }, c = cos(angle), s = sin(angle);
    double cross[9] = { 0, -u[2], u[1], u[2], 0, -u[0], -u[1], u[0], 0 };
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            m[(2 - i) * 3 + 2 - j] = (i == j) * c + (1 - c) * u[i] * u[j] + s * cross[3 * i + j];
}

static void check_euler(wf_euler order, const char *axes, bool extrinsic, bool inverse)
{
    const double angle[3] = { 0.7, -1.1, 2.3 };
    double r[3][9], two[9], all[9], expected[9];
    for (int k = 0; k < 3; ++k)
        rotation(axes[k], angle[k], r[k]);
    product(extrinsic ? r[2] : r[0], r[1], two);
    product(two, extrinsic ? r[0] : r[2], all);
    for (int i = 0; i < 9; ++i)
        expected[i] = inverse ? all[i % 3 * 3 + i / 3] : all[i];
    wf_array *y = wf_empty(ctx, WF_F64, WF_SHAPE(9));
    for (int traced = 0; traced < 2; ++traced) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(1));
        wf_val m[9];
        if (traced)
            wf_euler_matrix(g, order, wf_param(g, "a", WF_F64, angle[0]), wf_param(g, "b", WF_F64, angle[1]),
                            wf_param(g, "c", WF_F64, angle[2]), m);
        else
            wf_euler_matrix(g, order, angle[0], angle[1], angle[2], m);
        for (int i = 0; i < 9; ++i)
            wf_write(g, y, m[i], i);
        OK(ctx, wf_run(g));
        check_near(y, expected, 1e-15, axes, (int)order);
    }
    wf_release(y);
}

static void test_euler(void **state)
{
    (void)state;
    static const char *const axes[12] = { "xyx", "xzx", "yxy", "yzy", "zxz", "zyz",
                                          "xyz", "xzy", "yxz", "yzx", "zxy", "zyx" };
    for (int i = 0; i < 12; ++i) {
        check_euler((wf_euler)i, axes[i], false, false);
        check_euler((wf_euler)(i | WF_EULER_EXTRINSIC), axes[i], true, false);
    }
    check_euler(WF_EULER_RELION, "zyz", false, true);
    check_euler(WF_EULER_EMAN2, "zxz", false, true);
    check_euler(WF_EULER_DYNAMO, "zxz", true, true);
    check_euler(WF_EULER_IMOD, "xyz", false, false);
}

/* ---- shapes ---- */
static void test_shapes(void **state)
{
    (void)state;
    static const double points[6][3] = {
        { 0, 0, 0 }, { 3, 0, 0 }, { 0, 4, 0 }, { 1, 5, 1 }, { 6, 8, 0 }, { -2, -9, 7 }
    };
    static const double box[6] = { -1, 2, 1, 2, 7.0710678118654755, 7.8740078740118111 };
    double sphere[6], cylinder[6], edge[6];
    for (int i = 0; i < 6; ++i) {
        const double *p = points[i];
        sphere[i] = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) - 5;
        double side = hypot(p[1], p[2]) - 3, end = fabs(p[0]) - 2;
        cylinder[i] = hypot(fmax(side, 0), fmax(end, 0)) + fmin(fmax(side, end), 0);
        edge[i] = sphere[i] <= 0 ? 1 : sphere[i] >= 6 ? 0 : (1 + cos(M_PI * sphere[i] / 6)) / 2;
    }
    wf_array *p = numbers_as(WF_F64, WF_SHAPE(6, 3), points[0]), *y[6];
    for (int k = 0; k < 6; ++k)
        y[k] = wf_empty(ctx, WF_F64, WF_SHAPE(6));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(6));
    wf_val i = wf_index(g, 0), at[3];
    for (int d = 0; d < 3; ++d)
        at[d] = wf_read(g, p, i, d);
    wf_vals position = { at, 3 };
    wf_val distance = wf_sdf_sphere(g, position, 5);
    wf_out(g, y[0], distance);
    wf_out(g, y[1], wf_sdf_box(g, position, WF_VALS(1, 3, 2)));
    wf_out(g, y[2], wf_sdf_cylinder(g, position, 3, 2));
    wf_out(g, y[3], wf_soft_edge(distance, 6));
    wf_out(g, y[4], wf_soft_edge(distance, 0));
    wf_out(g, y[5], wf_sdf_ellipsoid(g, position, WF_VALS(3, 4, 7)));
    OK(ctx, wf_run(g));
    check_near(y[0], sphere, 1e-14, "sphere", 0);
    check_near(y[1], box, 1e-14, "box", 0);
    check_near(y[2], cylinder, 1e-14, "cylinder", 0);
    check_near(y[3], edge, 1e-14, "edge", 0);
    for (int k = 0; k < 6; ++k)
        edge[k] = sphere[k] <= 0;
    check_near(y[4], edge, 0, "hard edge", 0);
    double *ellipsoid = numbers_of(y[5], 0);
    assert_true(ellipsoid[0] == -3 && ellipsoid[1] == 0 && ellipsoid[2] == 0); /* the centre, and on the surface */
    assert_true(ellipsoid[3] > 0 && ellipsoid[4] > 0 && ellipsoid[5] > 0);
    free(ellipsoid);
    for (int k = 0; k < 6; ++k)
        wf_release(y[k]);
    wf_release(p);
}

/* ---- fields of positions, polar grids, bins, groups ---- */
/* Positions of a stack beside plain C, and one image at many. */
static void test_warp(void **state)
{
    (void)state;
    double *x = random_numbers(2 * 35, 11), *p = random_numbers(2 * 2 * POINTS, 12), at[2], expected[2 * POINTS];
    image m = image_of(2, 0, WF_INTERPOLATE_CUBIC, WF_BORDER_CLAMP, x);
    for (int i = 0; i < 4 * POINTS; ++i)
        p[i] = (double)(float)(3 + 9 * p[i]);
    for (int i = 0; i < 2 * POINTS; ++i) {
        at[0] = p[i], at[1] = p[2 * POINTS + i];
        m.x = x + i / POINTS * 35;
        expected[i] = visit(&m, at, NULL, 0);
    }
    wf_array *stack = numbers_as(WF_F32, WF_SHAPE(2, 5, 7), x), *field = numbers_as(WF_F32, WF_SHAPE(2, 2, 6, 8), p);
    wf_array *y = wf_warp(stack, field, &m.how);
    assert_non_null(y);
    assert_int_equal(wf_array_shape(y).rank, 3);
    check_near(y, expected, 2e-6, "warp", 0);
    wf_array *one = wf_view_at(stack, 0, 0), *z = wf_warp(one, field, &m.how);
    wf_array *first = wf_view_at(z, 0, 0);
    check_near(first, expected, 2e-6, "warp of one image", 0);
    wf_array *spent[] = { stack, field, y, one, z, first };
    for (int i = 0; i < 6; ++i)
        wf_release(spent[i]);
    free(x);
    free(p);
}

static void test_polar(void **state)
{
    (void)state;
    enum { H = 11, W = 14, ANGLES = 8, RADII = 5 };
    double *x = random_numbers(H * W, 13), expected[ANGLES * RADII];
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(H, W), x);
    for (int logarithmic = 0; logarithmic < 2; ++logarithmic) {
        image m = { x, 2, { H, W }, { .interpolation = WF_INTERPOLATE_LINEAR, .border = WF_BORDER_VALUE } };
        for (int i = 0; i < ANGLES * RADII; ++i) {
            double t = 2 * M_PI * (i / RADII) / ANGLES, f = (double)(i % RADII) / (RADII - 1);
            double r = logarithmic ? exp(log(0.5) + f * (log(6) - log(0.5))) : 5 * f;
            double at[2] = { 5 + r * sin(t), (logarithmic ? 6.5 : 7) + r * cos(t) };
            expected[i] = visit(&m, at, NULL, 0);
        }
        wf_polar_grid grid = { .angles = ANGLES, .radii = RADII };
        if (logarithmic)
            grid = (wf_polar_grid){ .angles = ANGLES,
                                    .radii = RADII,
                                    .first_radius = 0.5,
                                    .last_radius = 6,
                                    .center = { 5, 6.5 },
                                    .centered = true,
                                    .logarithmic = true };
        wf_array *y = wf_to_polar(a, &grid, &m.how);
        check_near(y, expected, 1e-6, "polar", logarithmic);
        wf_release(y);
    }
    wf_release(a);
    free(x);
}

static void test_bins(void **state)
{
    (void)state;
    double x[2 * 5 * 7], expected[2 * 2 * 3];
    for (int i = 0; i < 70; ++i)
        x[i] = i * i % 50;
    for (int i = 0; i < 12; ++i) {
        int at = i / 6 * 35 + i % 6 / 3 * 14 + i % 3 * 2;
        expected[i] = (x[at] + x[at + 1] + x[at + 7] + x[at + 8]) / 4;
    }
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(2, 5, 7), x), *y = wf_bin(a, 2, WF_AXES(1, 2));
    check_near(y, expected, 0, "bin", 2);
    wf_array *deep = wf_view_reshape(a, WF_SHAPE(1, 1, 1, 1, 2, 5, 7)), *z = wf_bin(deep, 2, WF_AXES(5, 6));
    check_near(z, expected, 1e-6, "bin of rank", 7); /* one axis after the other */
    wf_array *same = wf_bin(a, 1, WF_ALL_AXES);
    check_near(same, x, 0, "bin", 1);
    wf_array *none = wf_bin(a, 6, WF_AXES(1));
    assert_non_null(none);
    assert_int_equal(wf_array_count(none), 0);
    wf_array *spent[] = { a, y, deep, z, same, none };
    for (int i = 0; i < 6; ++i)
        wf_release(spent[i]);
}

/* The average of z^2 (D4), x^2 (the others) or x^4 (I) about the center of a cube; NAN: not tested there. */
static double average_of(const char *symmetry, double z, double y, double x)
{
    double r2 = z * z + y * y + x * x;
    switch (symmetry[0]) {
    case 'C':
        return (x * x + y * y) / 2;
    case 'D':
        return z * z;
    case 'I':
        return r2 * r2 / 5;
    default:
        return r2 / 3;
    }
}

static void test_groups(void **state)
{
    (void)state;
    static const char *const names[] = { "C3", "C4", "D4", "T", "O", "I" };
    enum { N = 17, C = N / 2 };
    double *x = malloc(N * N * N * sizeof *x);
    for (int s = 0; s < 6; ++s) {
        if (is_on_gpu() && s != 2)
            continue;
        for (int i = 0; i < N * N * N; ++i) {
            double at[3] = { i / (N * N) - C, i / N % N - C, i % N - C };
            x[i] = names[s][0] == 'D' ? at[0] * at[0] : names[s][0] == 'I' ? pow(at[2], 4) : at[2] * at[2];
        }
        wf_array *a = numbers_as(WF_F64, WF_SHAPE(N, N, N), x);
        wf_interp how = { .interpolation = names[s][0] == 'I' ? WF_INTERPOLATE_BSPLINE : WF_INTERPOLATE_CUBIC,
                          .border = WF_BORDER_REFLECT };
        wf_array *y = wf_symmetrize(a, names[s], 3, NULL, &how);
        double *found = numbers_of(y, 0);
        for (int i = 0; i < N * N * N; ++i) {
            double at[3] = { i / (N * N) - C, i / N % N - C, i % N - C };
            if (at[0] * at[0] + at[1] * at[1] + at[2] * at[2] > 25)
                continue; /* what is read stays away from the border */
            double most = names[s][0] == 'I' ? 1.5 : 1e-10, expected = average_of(names[s], at[0], at[1], at[2]);
            if (!(fabs(found[i] - expected) <= most))
                print_error("%s: %g, not %g\n", names[s], found[i], expected);
            assert_true(fabs(found[i] - expected) <= most);
        }
        free(found);
        wf_release(a);
        wf_release(y);
    }
    free(x);
}

/* Quarter turns in the plane are permutations, so averages are those of plain C; also about a point that is given. */
static void test_plane_groups(void **state)
{
    (void)state;
    double *x = random_numbers(2 * 64, 21), expected[98];
    for (int i = 0; i < 98; ++i) {
        const double *p = x + i / 49 * 49;
        int u = i % 49 / 7, v = i % 7;
        expected[i] = (p[7 * u + v] + p[7 * v + 6 - u] + p[7 * (6 - u) + 6 - v] + p[7 * (6 - v) + u]) / 4;
    }
    for (int given = 0; given < 2; ++given) {
        wf_array *a = numbers_as(given ? WF_C128 : WF_F64, WF_SHAPE(2, 7, 7), x);
        wf_array *y = wf_symmetrize(a, "C4", 2, given ? (double[]){ 3, 3 } : NULL,
                                    &(wf_interp){ .interpolation = WF_INTERPOLATE_LINEAR });
        check_near(y, expected, 1e-15, "C4", given);
        wf_release(y);
        wf_release(a);
    }
    free(x);
}

/* ---- mistakes ---- */
static void refused(wf_status status, wf_status expected, const char *text)
{
    assert_int_equal(status, expected);
    if (!strstr(wf_last_message(ctx), text))
        print_error("%s\n", wf_last_message(ctx));
    assert_non_null(strstr(wf_last_message(ctx), text));
    wf_clear_error(ctx);
}

static void test_mistakes(void **state)
{
    (void)state;
    double zeros[64] = { 0 };
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(4, 4), zeros), *bytes = numbers_as(WF_U8, WF_SHAPE(4, 4), zeros);
    const struct {
        const wf_array *array;
        wf_interp how;
        int positions;
        const char *text;
    } calls[] = {
        { NULL, { 0 }, 2, "wf_interpolate: `array` is NULL" },
        { a, { .interpolation = (wf_interpolation)7 }, 2, "wf_interpolate: there is no interpolation 7" },
        { a, { .border = (wf_border)9 }, 2, "wf_interpolate: there is no border mode 9" },
        { a, { .axes = 3 }, 2, "wf_interpolate: 3 axes with positions" },
        { a, { .axes = -1 }, 2, "wf_interpolate: -1 axes with positions" },
        { a, { 0 }, 1, "wf_interpolate: 1 positions and indices for an array of rank 2" },
        { bytes, { .outside = 0.5 }, 2, "wf_interpolate: `outside` is 0.5, which elements of u8 cannot hold" }
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(2));
        wf_val zero[2] = { wf_const(g, WF_F32, 0), wf_const(g, WF_F32, 0) };
        wf_interpolate(g, calls[i].array, &calls[i].how, (wf_vals){ zero, (size_t)calls[i].positions });
        refused(wf_run(g), i == 6 ? WF_ERR_DTYPE : WF_ERR_ARG, calls[i].text);
    }
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(2));
    wf_splat(g, bytes, &(wf_interp){ .interpolation = WF_INTERPOLATE_LINEAR }, 1, WF_VALS(1, 1));
    refused(wf_run(g), WF_ERR_DTYPE, "wf_splat: `array` is u8, which cannot hold weighted values");
    wf_val m[9];
    g = wf_begin(ctx, .shape = WF_SHAPE(2));
    wf_euler_matrix(g, (wf_euler)12, 0, 0, 0, m);
    refused(wf_run(g), WF_ERR_ARG, "wf_euler_matrix: there is no order 12");
    g = wf_begin(ctx, .shape = WF_SHAPE(2));
    wf_sdf_box(g, WF_VALS(1, 2), WF_VALS(1));
    refused(wf_run(g), WF_ERR_ARG, "wf_sdf_box: 1 lengths for a position of 2 coordinates");
    g = wf_begin(ctx, .shape = WF_SHAPE(2));
    wf_sdf_cylinder(g, WF_VALS(1), 1, 1);
    refused(wf_run(g), WF_ERR_ARG, "wf_sdf_cylinder: a position of 1 coordinates; 2 to 3 are possible");

    wf_interp how = { .interpolation = WF_INTERPOLATE_LINEAR };
    wf_array *inverse = numbers_as(WF_F32, WF_SHAPE(2, 3), zeros), *square = numbers_as(WF_F32, WF_SHAPE(3, 3), zeros);
    wf_array *batch = numbers_as(WF_F32, WF_SHAPE(3, 2, 3), zeros), *two = numbers_as(WF_F32, WF_SHAPE(2, 4, 4), zeros);
    assert_null(wf_transform(a, WF_SCALAR, square, &how));
    refused(wf_last_status(ctx), WF_ERR_SHAPE,
            "wf_transform: `inverse` is (3, 3); its last axes are 1 x 2, 2 x 3 or 3 x 4");
    assert_null(wf_transform(a, WF_SHAPE(4), inverse, &how));
    refused(wf_last_status(ctx), WF_ERR_SHAPE, "wf_transform: `shape` has rank 1, but `inverse` is for 2 axes");
    assert_null(wf_transform(two, WF_SCALAR, batch, &how));
    refused(wf_last_status(ctx), WF_ERR_SHAPE,
            "wf_transform: the batches of `x`, (2, 4, 4), and `inverse`, (3, 2, 3), do");
    assert_null(wf_transform(a, WF_SCALAR, inverse, NULL));
    refused(wf_last_status(ctx), WF_ERR_ARG, "wf_transform: `how` is NULL");
    assert_null(wf_spline_filter(a, WF_AXES(2), WF_BORDER_MIRROR, 0));
    refused(wf_last_status(ctx), WF_ERR_ARG, "wf_spline_filter: the mask 0x4 names axes beyond the array's rank 2");
    assert_null(wf_spline_filter(a, WF_AXES(0), (wf_border)8, 0));
    refused(wf_last_status(ctx), WF_ERR_ARG, "wf_spline_filter: there is no border mode 8");
    assert_null(wf_warp(a, square, &how));
    refused(wf_last_status(ctx), WF_ERR_SHAPE, "wf_warp: `positions` is (3, 3), `x` is (4, 4); needed are");
    assert_null(wf_to_polar(a, &(wf_polar_grid){ .angles = 3 }, &how));
    refused(wf_last_status(ctx), WF_ERR_ARG, "wf_to_polar: 3 angles and 0 radii");
    assert_null(wf_to_polar(a, &(wf_polar_grid){ .angles = 3, .radii = 3, .logarithmic = true }, &how));
    refused(wf_last_status(ctx), WF_ERR_ARG, "wf_to_polar: radii from 0 to 1 have no logarithms");
    assert_null(wf_bin(a, 0, WF_ALL_AXES));
    refused(wf_last_status(ctx), WF_ERR_ARG, "wf_bin: `k` is 0; it must be 1 or more");
    static const char *const unknown[] = { "", "C", "C0", "C513", "C-1", "C4 ", "X", "I1", "c4" };
    for (int i = 0; i < 9; ++i) {
        assert_null(wf_symmetrize(two, unknown[i], 3, NULL, &how));
        refused(wf_last_status(ctx), WF_ERR_ARG, "wf_symmetrize: there is no group \"");
    }
    assert_null(wf_symmetrize(a, "D2", 2, NULL, &how));
    refused(wf_last_status(ctx), WF_ERR_ARG, "wf_symmetrize: there is no group \"D2\" in 2 dimensions");
    assert_null(wf_symmetrize(a, "C2", 3, NULL, &how));
    refused(wf_last_status(ctx), WF_ERR_ARG, "wf_symmetrize: `axes` is 3; 2 or 3 of x's 2 axes are possible");
    const wf_array *spent[] = { a, bytes, inverse, square, batch, two };
    for (int i = 0; i < 6; ++i)
        wf_release(spent[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interpolations), cmocka_unit_test(test_splats),
        cmocka_unit_test(test_operands),       cmocka_unit_test(test_coefficients),
        cmocka_unit_test(test_identity),       cmocka_unit_test(test_quarter_turns),
        cmocka_unit_test(test_polynomials),    cmocka_unit_test(test_batches),
        cmocka_unit_test(test_euler),          cmocka_unit_test(test_warp),
        cmocka_unit_test(test_polar),          cmocka_unit_test(test_bins),
        cmocka_unit_test(test_groups),         cmocka_unit_test(test_plane_groups),
        cmocka_unit_test(test_shapes),         cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
