/* test_transform_spectrum.c - spectra that are rotated, scaled and shifted, beside plain C over the full spectrum, beside
 * images that are rotated in real space, and beside Gaussians in closed form; averages over point groups; mistakes.
 *
 * ctest: devices first_tier
 */
#include "plain_spectrum.h"
#include "weft/fft.h"

static wf_axes last_axes(const wf_array *x, int axes)
{
    int rank = wf_array_shape(x).rank;
    return ((1u << axes) - 1) << (rank - axes);
}

static void check_same(const wf_array *a, const wf_array *b, const char *what, int which)
{
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(wf_array_count(a), wf_array_count(b));
    double complex *x = contents_as(a, WF_C128), *y = contents_as(b, WF_C128);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (creal(x[i]) != creal(y[i]) || cimag(x[i]) != cimag(y[i])) {
            print_error("%s %d: element %lld is %.9g %+.9g i, not %.9g %+.9g i\n", what, which, (long long)i,
                        creal(x[i]), cimag(x[i]), creal(y[i]), cimag(y[i]));
            fail();
        }
    free(x);
    free(y);
}

/* ---- beside plain C ---- */
/* Returns element `at` of the spectrum transformed by m, in cycles/pixel, and by a shift. Places are counted in elements
 * and rounded as in the library: a place beside a whole number, instead of on it, has one element more in a Kaiser-Bessel
 * window, which ends with a jump. */
static double complex plain_element(const spectrum *s, const wf_spectrum *t, const wf_interp *how, const double *m,
                                    const double *shift, double cutoff, int64_t at)
{
    wf_shape shape = layout_shape(t);
    double elements[3], k[3], place[3], square = 0;
    double complex phase = 1;
    for (int d = s->axes; d-- > 0; at /= shape.dim[d]) {
        bool halved = half_layout(t->layout) && d == s->axes - 1;
        int64_t n = s->dim[d], j = at % shape.dim[d];
        if (!halved && (t->layout == WF_LAYOUT_HC || t->layout == WF_LAYOUT_FC))
            j -= n / 2;
        else if (!halved && 2 * j >= n && n > 1)
            j -= n;
        elements[d] = (double)j;
        k[d] = (double)j / (double)n;
        phase *= 2 * llabs((long long)j) == n ? cos(M_PI * shift[d]) : cexp(-2 * M_PI * I * k[d] * shift[d]);
        square += k[d] * k[d];
    }
    if (cutoff > 0 && square > cutoff * cutoff * (1 + 1e-6))
        return 0;
    for (int d = 0; d < s->axes; ++d) {
        place[d] = 0;
        for (int e = 0; e < s->axes; ++e)
            place[d] += m[d * s->axes + e] * (elements[e] * ((double)s->dim[d] / (double)s->dim[e]));
    }
    return visit_spectrum(s, how, place, NULL, 0) * phase;
}

static const double matrices[2][9] = { { 0.8, -0.45, 0.55, 1.15 }, { 0.7, -0.6, 0.3, 0.5, 0.9, -0.2, 0.1, 0.4, 1.1 } };
static const double by[3] = { 1.25, -0.5, 2 };

static void test_sizes(void **state)
{
    (void)state;
    static const wf_interpolation kernels[] = { WF_INTERPOLATE_LINEAR, WF_INTERPOLATE_CUBIC, WF_INTERPOLATE_BSPLINE,
                                                WF_INTERPOLATE_KAISER4 };
    wf_array *shift[2] = { numbers_as(WF_F64, WF_SHAPE(2), by), numbers_as(WF_F32, WF_SHAPE(3), by) };
    wf_array *inverse[2] = { numbers_as(WF_F64, WF_SHAPE(2, 2), matrices[0]),
                             numbers_as(WF_F64, WF_SHAPE(3, 3), matrices[1]) };
    for (int axes = 2; axes <= 3; ++axes)
        for (int n = 1; n <= 9; ++n) {
            spectrum s = random_spectrum(axes, (int64_t[]){ axes == 3 ? (n + 3) / 2 : n, n, 10 - n }, (uint64_t)n);
            for (int layout = 0; layout < LAYOUTS; ++layout) {
                int every = axes == 3 ? 3 : 1;
                if ((n + layout) % every || is_left_out(n * LAYOUTS + layout, 3, 16 / every))
                    continue;
                wf_interp how = { .interpolation = kernels[(n + layout) % 4],
                                  .border = n % 3 ? WF_BORDER_VALUE : WF_BORDER_PERIODIC };
                wf_spectrum t = described(&s, (wf_layout)layout);
                wf_array *a = in_layout(&s, (wf_layout)layout, WF_C128);
                double cutoff = n % 2 ? 0 : 0.45;
                wf_array *y = wf_transform_spectrum(a, &t, inverse[axes - 2], shift[axes - 2], &how, cutoff);
                assert_non_null(y);
                int64_t count = wf_array_count(y);
                double complex *expected = malloc((size_t)count * sizeof *expected);
                for (int64_t i = 0; i < count; ++i)
                    expected[i] = plain_element(&s, &t, &how, matrices[axes - 2], by, cutoff, i);
                check_complex(y, expected, 1e-11, "transformed", 1000 * axes + 10 * n + layout);
                free(expected);
                RELEASE(a, y);
            }
            free(s.f);
        }
    RELEASE(shift[0], shift[1], inverse[0], inverse[1]);
}

/* The identity has the bits of the spectrum, by each interpolation that goes through the elements. */
static void test_identity(void **state)
{
    (void)state;
    static const wf_interpolation kernels[] = { WF_INTERPOLATE_NEAREST, WF_INTERPOLATE_LINEAR, WF_INTERPOLATE_CUBIC,
                                                WF_INTERPOLATE_LANCZOS4 };
    wf_array *inverse = numbers_as(WF_F32, WF_SHAPE(2, 2), (double[]){ 1, 0, 0, 1 });
    for (int n = 1; n <= 9; ++n)
        for (int h = 0; h < 4; ++h) {
            if (is_left_out(n * 4 + h, 2, 5))
                continue;
            spectrum s = random_spectrum(2, (int64_t[]){ n, (3 * n) % 10 }, (uint64_t)n);
            wf_layout layout = (wf_layout)((n + h) % LAYOUTS);
            wf_spectrum t = described(&s, layout);
            wf_array *a = in_layout(&s, layout, WF_C64);
            wf_array *y = wf_transform_spectrum(a, &t, inverse, NULL, &(wf_interp){ .interpolation = kernels[h] }, 0);
            check_same(y, a, "identity", 10 * n + h);
            RELEASE(a, y);
            free(s.f);
        }
    wf_release(inverse);
}

/* ---- beside real space ---- */
/* Rotations that permute the axes of an odd cube, about element 0, and whole shifts are exact in real space. */
static void test_real_space(void **state)
{
    (void)state;
    enum { N = 5, TURNS = 4 };
    static const double turns[TURNS][9] = { { 1, 0, 0, 0, 0, 1, 0, -1, 0 },
                                            { 0, 1, 0, 0, 0, 1, 1, 0, 0 },
                                            { -1, 0, 0, 0, -1, 0, 0, 0, 1 },
                                            { 0, 0, 1, 0, -1, 0, 1, 0, 0 } };
    static const double moves[TURNS][3] = { { 1, 0, -2 }, { 0, 3, 1 }, { -1, -1, 2 }, { 2, 0, 0 } };
    double affine[TURNS][12], *x = random_numbers(N * N * N, 5);
    for (int i = 0; i < TURNS; ++i)
        for (int d = 0; d < 3; ++d) {
            affine[i][4 * d + 3] = 0;
            for (int e = 0; e < 3; ++e) { /* out(p) = x(m (p - shift)) */
                affine[i][4 * d + e] = turns[i][3 * d + e];
                affine[i][4 * d + 3] -= turns[i][3 * d + e] * moves[i][e];
            }
        }
    wf_interp how = { .interpolation = WF_INTERPOLATE_LINEAR, .border = WF_BORDER_PERIODIC };
    wf_spectrum t = { WF_LAYOUT_H, WF_F64, 3, { N, N, N } };
    wf_array *a = numbers_as(WF_F64, WF_SHAPE(N, N, N), x), *f = wf_fft_r2c(a, WF_ALL_AXES, WF_FFT_BACKWARD);
    wf_array *real = numbers_as(WF_F64, WF_SHAPE(TURNS, 3, 4), affine[0]);
    wf_array *inverse = numbers_as(WF_F64, WF_SHAPE(TURNS, 3, 3), turns[0]);
    wf_array *shift = numbers_as(WF_F64, WF_SHAPE(TURNS, 3), moves[0]);
    wf_array *turned = wf_transform(a, WF_SCALAR, real, &how);
    wf_array *expected = wf_fft_r2c(turned, last_axes(turned, 3), WF_FFT_BACKWARD);
    wf_array *y = wf_transform_spectrum(f, &t, inverse, shift, &how, 0);
    double complex *z = contents_as(expected, WF_C128);
    check_complex(y, z, 1e-13 * N * N * N, "turned", 0);
    free(z);
    free(x);
    RELEASE(a, f, real, inverse, shift, turned, expected, y);
}

enum { BLOBS = 3 };
static const double blobs[BLOBS][4] = { { 2, -3, 1, 1.6 },
                                        { -3, 1, 0.7, 1.5 },
                                        { 1, 4, -0.4, 1.9 } }; /* y x height sigma */

/* Sets x to images of n x n elements of the blobs about element 0, taken from the places r (p - shift), which multiplies
 * lengths by `scale`. */
static void plain_blobs(int n, const double *r, double scale, const double *shift, double *x)
{
    for (int i = 0; i < n * n; ++i) {
        double at[2] = { i / n, i % n }, sum = 0;
        for (int d = 0; d < 2; ++d)
            at[d] = (at[d] >= (n + 1) / 2 ? at[d] - n : at[d]) - shift[d];
        double y = r[0] * at[0] + r[1] * at[1], z = r[2] * at[0] + r[3] * at[1];
        for (int b = 0; b < BLOBS; ++b) {
            double dy = y / scale - blobs[b][0], dx = z / scale - blobs[b][1];
            sum += blobs[b][2] * exp(-(dy * dy + dx * dx) / (2 * blobs[b][3] * blobs[b][3]));
        }
        x[i] = sum;
    }
}

/* Images in the middle of larger ones, turned by any angle and enlarged. The kernel's own transform is divided away, as
 * at u cycles/element it is that of the image at u n elements. */
static void test_blobs(void **state)
{
    (void)state;
    static const struct {
        wf_interpolation how;
        double most; /* of the highest, about 1 */
    } rows[] = { { WF_INTERPOLATE_LINEAR, 0.06 }, { WF_INTERPOLATE_CUBIC, 0.015 }, { WF_INTERPOLATE_LANCZOS8, 2e-3 } };
    static const double angles[3] = { 0.4, -2.1, 1.3 }, moves[3][2] = { { 0.5, -1.25 }, { 2, 1.5 }, { -0.3, 0 } };
    for (int n = 47; n <= 48; ++n)
        for (int h = 0; h < 3; ++h) {
            if (is_on_gpu() && (n == 47 || h))
                continue;
            double *x = malloc((size_t)(4 * n * n) * sizeof *x), r[3][4], k[3][4], scale = 1.1;
            plain_blobs(n, (double[]){ 1, 0, 0, 1 }, 1, (double[]){ 0, 0 }, x);
            for (int i = 0; i < 3; ++i) {
                double c = cos(angles[i]), s = sin(angles[i]);
                memcpy(r[i], (double[]){ c, s, -s, c }, sizeof r[i]);
                for (int e = 0; e < 4; ++e)
                    k[i][e] = r[i][e] * scale;
                plain_blobs(n, r[i], scale, moves[i], x + (i + 1) * n * n);
                for (int p = 0; p < n * n; ++p)
                    x[(i + 1) * n * n + p] /= scale * scale; /* the factor of the spectrum is 1 */
            }
            wf_spectrum t = { WF_LAYOUT_H, WF_F32, 2, { n, n } };
            wf_array *a = numbers_as(WF_F32, WF_SHAPE(n, n), x), *f = wf_fft_r2c(a, WF_ALL_AXES, WF_FFT_BACKWARD);
            wf_array *inverse = numbers_as(WF_F32, WF_SHAPE(3, 2, 2), k[0]);
            wf_array *shift = numbers_as(WF_F32, WF_SHAPE(3, 2), moves[0]);
            wf_array *y = wf_transform_spectrum(f, &t, inverse, shift, &(wf_interp){ .interpolation = rows[h].how }, 0);
            wf_array *back = wf_fft_c2r(y, n, WF_AXES(1, 2), WF_FFT_BACKWARD);
            check_near(back, x + n * n, rows[h].most, "blobs", 10 * n + h);
            free(x);
            RELEASE(a, f, inverse, shift, y, back);
        }
}

/* ---- batches ---- */
static void test_batches(void **state)
{
    (void)state;
    enum { N = 3, H = 6, W = 5 };
    double m[N][4], moves[N][2] = { { 0.5, 1 }, { -2, 0.25 }, { 0, -1 } };
    for (int i = 0; i < N; ++i) {
        double c = cos(0.7 * i), s = sin(0.7 * i);
        memcpy(m[i], (double[]){ c, s, -s, c }, sizeof m[i]);
    }
    wf_spectrum t = { WF_LAYOUT_HC, WF_F32, 2, { H, W } };
    wf_shape shape = layout_shape(&t);
    double *x = random_numbers(N * shape.dim[0] * shape.dim[1], 9);
    wf_array *a = numbers_as(WF_C64, WF_SHAPE(N, shape.dim[0], shape.dim[1]), x);
    wf_array *inverse = numbers_as(WF_F32, WF_SHAPE(N, 2, 2), m[0]),
             *shift = numbers_as(WF_F32, WF_SHAPE(N, 2), moves[0]);
    wf_interp how = { .interpolation = WF_INTERPOLATE_CUBIC };
    wf_array *y = wf_transform_spectrum(a, &t, inverse, shift, &how, 0.4);
    wf_array *c4 = wf_symmetrize_spectrum(a, &t, "C3", &how);
    for (int i = 0; i < N; ++i) {
        wf_array *one = wf_view_at(a, 0, i), *mi = wf_view_at(inverse, 0, i), *si = wf_view_at(shift, 0, i);
        wf_array *alone = wf_transform_spectrum(one, &t, mi, si, &how, 0.4), *part = wf_view_at(y, 0, i);
        check_same(alone, part, "one of a batch", i);
        wf_array *own = wf_symmetrize_spectrum(one, &t, "C3", &how), *own_part = wf_view_at(c4, 0, i);
        check_same(own, own_part, "one of a symmetrised batch", i);
        RELEASE(one, mi, si, alone, part, own, own_part);
    }
    /* images [N, 1, ...] by matrices [N, 2, 2] give [N, N, ...]; strided views are read as they are */
    wf_array *column = wf_view_reshape(a, WF_SHAPE(N, 1, shape.dim[0], shape.dim[1]));
    wf_array *all = wf_transform_spectrum(column, &t, inverse, shift, &how, 0.4);
    assert_int_equal(wf_array_shape(all).rank, 4);
    for (int i = 0; i < N; ++i) {
        wf_array *row = wf_view_at(all, 0, i), *cell = wf_view_at(row, 0, i), *part = wf_view_at(y, 0, i);
        check_same(cell, part, "images by matrices", i);
        RELEASE(row, cell, part);
    }
    wf_array *none = wf_view_slice(a, 0, 1, 1, 1), *no = wf_view_slice(inverse, 0, 1, 1, 1);
    wf_array *empty = wf_transform_spectrum(none, &t, no, NULL, &how, 0);
    assert_non_null(empty);
    assert_int_equal(wf_array_count(empty), 0);
    free(x);
    RELEASE(a, inverse, shift, y, c4, column, all, none, no, empty);
}

/* ---- point groups ---- */
/* Groups that permute the axes of an odd cube, about element 0, beside real space; C3 as three rotations. */
static void test_groups(void **state)
{
    (void)state;
    enum { N = 5 };
    static const char *const groups[] = { "C4", "D2", "T", "O" };
    double *x = random_numbers(N * N * N, 6), m[3][4];
    wf_spectrum t = { WF_LAYOUT_H, WF_F64, 3, { N, N, N } };
    wf_interp how = { .interpolation = WF_INTERPOLATE_LINEAR, .border = WF_BORDER_PERIODIC };
    wf_array *a = numbers_as(WF_F64, WF_SHAPE(N, N, N), x), *f = wf_fft_r2c(a, WF_ALL_AXES, WF_FFT_BACKWARD);
    for (int i = 0; i < 4; ++i) {
        if (is_on_gpu() && i != 1)
            continue;
        wf_array *average = wf_symmetrize(a, groups[i], 3, (double[]){ 0, 0, 0 }, &how);
        wf_array *expected = wf_fft_r2c(average, WF_ALL_AXES, WF_FFT_BACKWARD);
        wf_array *y = wf_symmetrize_spectrum(f, &t, groups[i], &how);
        double complex *z = contents_as(expected, WF_C128);
        check_complex(y, z, 1e-12, groups[i], i);
        free(z);
        RELEASE(average, expected, y);
    }
    for (int i = 0; i < 3; ++i) {
        double c = cos(2 * M_PI * i / 3), s = sin(2 * M_PI * i / 3);
        memcpy(m[i], (double[]){ c, s, -s, c }, sizeof m[i]);
    }
    wf_spectrum plane = { WF_LAYOUT_H, WF_F64, 2, { N, N } };
    wf_array *section = wf_view_at(f, 0, 0), *turns = numbers_as(WF_F64, WF_SHAPE(3, 2, 2), m[0]);
    wf_array *each = wf_transform_spectrum(section, &plane, turns, NULL, &how, 0),
             *mean = wf_array_mean(each, WF_AXES(0));
    wf_array *y = wf_symmetrize_spectrum(section, &plane, "C3", &how);
    double complex *z = contents_as(mean, WF_C128);
    check_complex(y, z, 1e-12, "C3", 0);
    free(z);
    free(x);
    RELEASE(a, f, section, turns, each, mean, y);
}

/* ---- mistakes ---- */
static void test_mistakes(void **state)
{
    (void)state;
    double zeros[64] = { 0 };
    wf_spectrum t = { WF_LAYOUT_H, WF_F32, 2, { 4, 4 } }, line = { WF_LAYOUT_H, WF_F32, 1, { 4 } };
    wf_interp how = { .interpolation = WF_INTERPOLATE_LINEAR }, clamp = { .border = WF_BORDER_CLAMP };
    wf_array *a = numbers_as(WF_C64, WF_SHAPE(4, 3), zeros), *m = numbers_as(WF_F32, WF_SHAPE(2, 2), zeros);
    wf_array *real = numbers_as(WF_F32, WF_SHAPE(4, 3), zeros), *whole = numbers_as(WF_I32, WF_SHAPE(4, 3), zeros);
    wf_array *shift = numbers_as(WF_F32, WF_SHAPE(2), zeros), *three = numbers_as(WF_F32, WF_SHAPE(5, 3), zeros);
    wf_array *many = numbers_as(WF_F32, WF_SHAPE(3, 2, 2), zeros), *shifts = numbers_as(WF_F32, WF_SHAPE(5, 2), zeros);
    wf_array *odd = numbers_as(WF_C64, WF_SHAPE(2, 2), zeros);
    REFUSED(ctx, of_null(wf_transform_spectrum(NULL, &t, m, NULL, &how, 0)), WF_ERR_ARG,
            "wf_transform_spectrum: `x` is NULL");
    REFUSED(ctx, of_null(wf_transform_spectrum(a, &t, NULL, NULL, &how, 0)), WF_ERR_ARG,
            "wf_transform_spectrum: `inverse` is NULL");
    REFUSED(ctx, of_null(wf_transform_spectrum(a, &t, m, NULL, NULL, 0)), WF_ERR_ARG,
            "wf_transform_spectrum: `how` is NULL");
    REFUSED(ctx, of_null(wf_transform_spectrum(a, &t, m, NULL, &clamp, 0)), WF_ERR_ARG,
            "wf_transform_spectrum: how.border is 2, but");
    REFUSED(ctx, of_null(wf_transform_spectrum(odd, &t, m, NULL, &how, 0)), WF_ERR_SHAPE,
            "wf_transform_spectrum: `x` is c64(2, 2)");
    REFUSED(ctx, of_null(wf_transform_spectrum(a, &t, three, NULL, &how, 0)), WF_ERR_SHAPE,
            "wf_transform_spectrum: `inverse` is (5, 3); for 2 axes its last two are 2 x 2");
    REFUSED(ctx, of_null(wf_transform_spectrum(a, &t, odd, NULL, &how, 0)), WF_ERR_DTYPE,
            "wf_transform_spectrum: `inverse` is c64; it must be real");
    REFUSED(ctx, of_null(wf_transform_spectrum(a, &t, m, three, &how, 0)), WF_ERR_SHAPE,
            "wf_transform_spectrum: `shifts` is (5, 3); for 2 axes its last one has 2 elements");
    REFUSED(ctx, of_null(wf_transform_spectrum(a, &t, many, shifts, &how, 0)), WF_ERR_SHAPE,
            "wf_transform_spectrum: the batches of `x`, (4, 3), `inverse`, (3, 2, 2), and `shifts`, (5, 2), do not");
    REFUSED(ctx, of_null(wf_transform_spectrum(real, &t, m, shift, &how, 0)), WF_ERR_DTYPE,
            "wf_transform_spectrum: `x` is f32; only complex spectra are moved by shifts");
    REFUSED(ctx, of_null(wf_transform_spectrum(whole, &t, m, NULL, &how, 0)), WF_ERR_DTYPE,
            "wf_transform_spectrum: `x` is i32; spectra are complex or floats");
    REFUSED(ctx, of_null(wf_transform_spectrum(a, &t, m, NULL, &how, -0.1)), WF_ERR_ARG,
            "wf_transform_spectrum: `cutoff` is -0.1; it may not be negative");
    REFUSED(ctx, of_null(wf_symmetrize_spectrum(a, &t, "D2", &how)), WF_ERR_ARG,
            "wf_symmetrize_spectrum: there is no group \"D2\" in 2 dimensions");
    wf_array *row = wf_view_at(a, 0, 0);
    REFUSED(ctx, of_null(wf_symmetrize_spectrum(row, &line, "C2", &how)), WF_ERR_ARG,
            "wf_symmetrize_spectrum: spectrum.rank is 1; 2 and 3 are possible");
    REFUSED(ctx, of_null(wf_symmetrize_spectrum(row, &t, "C2", &how)), WF_ERR_SHAPE,
            "wf_symmetrize_spectrum: `x` is c64(3)");
    REFUSED(ctx, of_null(wf_symmetrize_spectrum(a, &t, NULL, &how)), WF_ERR_ARG,
            "wf_symmetrize_spectrum: there is no group \"\"");
    RELEASE(a, m, real, whole, shift, three, many, shifts, odd, row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),    cmocka_unit_test(test_identity), cmocka_unit_test(test_real_space),
        cmocka_unit_test(test_blobs),    cmocka_unit_test(test_batches),  cmocka_unit_test(test_groups),
        cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
