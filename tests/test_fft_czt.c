/* test_fft_czt.c - chirp z-transforms beside the sums that define them, values of SciPy and wf_fft_c2c: any layout, short
 * and long lines, points on and off the unit circle, phases of long lines; replays, streams and mistakes.
 *
 * ctest: devices first_tier
 */
#include "fft_numbers.h"
#include <float.h>

/* z[k]^-j. Frequencies are multiples of 2^-24, so that phases are exact in f64. */
static number power(const wf_czt_points *p, int64_t k, int64_t j)
{
    double radius = p->radius != 0 ? p->radius : 1, growth = p->growth != 0 ? p->growth : 1;
    double turns = fmod((p->first + (double)k * p->step) * (double)j, 1);
    return pow(radius * pow(growth, (double)k), -(double)j) * cexp(-2 * M_PI * I * turns);
}

static void check_points(int64_t outer, int64_t n, int64_t inner, wf_dtype t, wf_czt_points p, double most)
{
    number *x = random_numbers(outer * n * inner, (uint64_t)(n + p.count));
    int64_t all = outer * p.count * inner;
    long double complex *sum = calloc((size_t)all, sizeof *sum);
    number *y = malloc((size_t)all * sizeof *y);
    wf_array *a = numbers_as(t, WF_SHAPE(outer, n, inner), x);
    for (int64_t k = 0; k < p.count; ++k)
        for (int64_t j = 0; j < n; ++j) {
            number z = power(&p, k, j);
            for (int64_t o = 0; o < outer; ++o)
                for (int64_t i = 0; i < inner; ++i)
                    sum[(o * p.count + k) * inner + i] += x[(o * n + j) * inner + i] * z;
        }
    for (int64_t i = 0; i < all; ++i)
        y[i] = (number)sum[i];
    wf_array *b = wf_czt(a, 1, &p);
    check_near(b, y, most, "czt", n);
    wf_shape shape = wf_array_shape(b);
    assert_true(shape.dim[0] == outer && shape.dim[1] == p.count && shape.dim[2] == inner);
    assert_int_equal(wf_array_dtype(b), t == WF_F64 || t == WF_C128 ? WF_C128 : WF_C64);
    wf_release(a);
    wf_release(b);
    free(x);
    free(y);
    free(sum);
}

/* A number of cycles that has few bits. */
static double short_number(double x) { return round(x * 0x1p24) * 0x1p-24; }

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        int64_t outer, n, inner, count;
        double first, step;
    } rows[] = {
        { 1, 1, 1, 1, 0.3, 0.1 },     { 2, 5, 1, 3, -0.25, 0.01 },   { 3, 3, 4, 8, 0.4, -0.05 },
        { 2, 16, 3, 1, 0, 0.2 },      { 20, 9, 1, 12, 7.25, 1.125 }, { 1, 16, 40, 16, 0, 0.0625 },
        { 2, 100, 1, 37, 0.1, 1e-4 }, { 3, 131, 5, 20, 0, 0.003 },   { 1, 600, 2, 700, -0.5, 1.0 / 700 },
    };
    static const wf_dtype dtypes[] = { WF_C64, WF_C128, WF_F32, WF_F64 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows && (compiled() || rows[i].n < 20); ++i)
        for (int t = (int)i % TEST_EVERY; t < 4; t += TEST_EVERY) {
            wf_czt_points p = { .count = rows[i].count };
            p.first = short_number(rows[i].first);
            p.step = short_number(rows[i].step);
            check_points(rows[i].outer, rows[i].n, rows[i].inner, dtypes[t], p, tolerance(dtypes[t]));
            p.radius = 1.02;
            p.growth = rows[i].n < 20 ? 0.99 : 0.99999;
            check_points(rows[i].outer, rows[i].n, rows[i].inner, dtypes[t], p, t % 2 ? 2e-14 : 1e-7);
        }
}

/* Lines that fit into no scratch, and numbers of cycles times squares of indices that f64 does not hold. */
static void test_long(void **state)
{
    (void)state;
    if (!compiled())
        return;
    check_points(1, 9000, 1, WF_C64, (wf_czt_points){ 40, .first = 0.125, .step = short_number(1e-3) },
                 tolerance(WF_C64));
    check_points(2, 5000, 3, WF_F64, (wf_czt_points){ 30, .first = -0.375, .step = short_number(0.31) },
                 tolerance(WF_F64));
    wf_czt_points far = { .count = 5, .first = short_number(0.2), .step = short_number(0.37) };
    check_points(1, 1 << 18, 1, WF_F64, far, tolerance(WF_F64));
    check_points(1, 1 << 18, 1, WF_F32, far, 2 * tolerance(WF_F32));
    check_points(1, 7, 2, WF_F64, (wf_czt_points){ 9000, .first = 0.25, .step = short_number(3e-4) },
                 tolerance(WF_F64));
    far.growth = 1.000000001;
    check_points(1, 30000, 1, WF_F64, far, 2e-13);
}

/* All frequencies of a transform are those of wf_fft_c2c, about as exactly. */
static void test_as_fft(void **state)
{
    (void)state;
    int64_t n = sized(compiled() ? 360 : 24, 24);
    number *x = random_numbers(3 * n, 5);
    wf_array *a = numbers_as(WF_C64, WF_SHAPE(3, n), x), *fine = numbers_as(WF_C128, WF_SHAPE(3, n), x);
    wf_array *found = wf_czt(a, -1, &(wf_czt_points){ n, .step = 1 / (double)n }),
             *exact = wf_fft_c2c(fine, WF_AXES(1), false, WF_FFT_BACKWARD),
             *fft = wf_fft_c2c(a, WF_AXES(1), false, WF_FFT_BACKWARD);
    number *expected = numbers_of(exact), *other = numbers_of(fft);
    check_near(found, expected, 4 * fmax(distance(other, expected, 3 * n), 1e-7), "all frequencies", n);
    wf_array *spent[] = { a, fine, found, exact, fft };
    for (int i = 0; i < 5; ++i)
        wf_release(spent[i]);
    free(expected);
    free(other);
    free(x);
}

/* scipy.signal.zoom_fft(x, [0.1, 0.4], m=4, fs=2) and czt(x, m=3, w=0.9 exp(-2 pi i 0.07), a=1.1 exp(2 pi i 0.2)) of
 * x[i, j] = 1 / (1 + i + 2 j), along the last axis. */
static void test_scipy(void **state)
{
    (void)state;
    static const double zoomed[] = { 1.5971267809933247,   -0.44180951784443911, 1.2984935733421639,
                                     -0.58467503219097072, 1.0235758948291835,   -0.53671751485073704,
                                     0.87564185385192317,  -0.38373235804976763, 0.97697515077700015,
                                     -0.37145123323553286, 0.72023921218321973,  -0.48464209469785102,
                                     0.48838834764831851,  -0.43183170961162209, 0.37156636594317427,
                                     -0.29056681598173689 };
    static const double spiral[] = { 0.89653876567376378,  -0.25009009307039837, 0.90857647875121739,
                                     -0.18851889466274041, 0.8580712750130961,   -0.14143937147695457,
                                     0.40392425862777293,  -0.17695145449295169, 0.43077121551490782,
                                     -0.13311894348839845, 0.39365584083143823,  -0.10257176554362439 };
    static const wf_czt_points points[] = { { 4, .first = 0.1 / 2, .step = (0.4 - 0.1) / (4 * 2) },
                                            { 3, .first = 0.2, .step = 0.07, .radius = 1.1, .growth = 1 / 0.9 } };
    double x[10];
    for (int i = 0; i < 10; ++i)
        x[i] = 1.0 / (1 + i / 5 + 2 * (i % 5));
    wf_array *rows = wf_empty_with(ctx, WF_F64, WF_SHAPE(2, 5), NULL);
    OK(ctx, wf_upload(rows, x, sizeof x));
    wf_array *turned = wf_view_permute(rows, (int[]){ 1, 0 }), *columns = wf_array_copy(turned);
    for (int i = 0; i < 2; ++i)
        for (int axis = 1; axis >= 0; --axis) {
            wf_array *y = wf_czt(axis ? rows : columns, axis, &points[i]);
            wf_array *view = axis ? wf_retain(y) : wf_view_permute(y, (int[]){ 1, 0 });
            check_near(view, (const number *)(const void *)(i ? spiral : zoomed), 1e-15, "SciPy", 5);
            wf_release(y);
            wf_release(view);
        }
    wf_array *same = wf_czt(turned, 0, &points[0]), *view = wf_view_permute(same, (int[]){ 1, 0 }); /* of a view */
    check_near(view, (const number *)(const void *)zoomed, 1e-15, "SciPy", 5);
    wf_array *spent[] = { rows, turned, columns, same, view };
    for (int i = 0; i < 5; ++i)
        wf_release(spent[i]);
}

/* Whole cycles change no point. */
static void test_whole_cycles(void **state)
{
    (void)state;
    number *x = random_numbers(2 * 21, 3);
    wf_array *a = numbers_as(WF_C128, WF_SHAPE(2, 21), x);
    wf_array *y = wf_czt(a, 1, &(wf_czt_points){ 17, .first = -0x1p40 - 0.25, .step = 0x1p50 + 0.25 });
    wf_array *z = wf_czt(a, 1, &(wf_czt_points){ 17, .first = -0.25, .step = 0.25 });
    number *expected = numbers_of(z);
    check_near(y, expected, 0, "whole cycles", 21);
    wf_array *huge = wf_czt(a, 1, &(wf_czt_points){ 17, .step = -DBL_MAX }),
             *none = wf_czt(a, 1, &(wf_czt_points){ .count = 17 });
    number *sums = numbers_of(none);
    check_near(huge, sums, 0, "whole cycles", 21);
    wf_array *spent[] = { a, y, z, huge, none };
    for (int i = 0; i < 5; ++i)
        wf_release(spent[i]);
    free(expected);
    free(sums);
    free(x);
}

static void test_replayed(void **state)
{
    (void)state;
    number *x = random_numbers(4 * 24, 1), *z = random_numbers(4 * 24, 2);
    wf_czt_points points = { 10, .first = 0.1, .step = 0.01 };
    wf_array *a = numbers_as(WF_C64, WF_SHAPE(4, 24), x), *b = numbers_as(WF_C64, WF_SHAPE(4, 24), z);
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
    wf_array *y = wf_czt(a, 1, &points);
    wf_frozen *frozen = wf_freeze_end(ctx);
    if (!frozen)
        print_error("%s\n", wf_last_message(ctx));
    assert_non_null(frozen);
    OK(ctx, wf_frozen_replay(frozen, WF_ARRAYS(b)));
    wf_array *c = wf_czt(b, 1, &points);
    number *expected = numbers_of(c);
    check_near(y, expected, 0, "replay", 24);
    wf_frozen_free(frozen);
    wf_array *spent[] = { a, b, c, y };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
    free(expected);
    free(x);
    free(z);
}

/* Transforms in a stream, whose arrays between are released before they are used, give the same bits. */
static void test_in_stream(void **state)
{
    (void)state;
    int64_t rows = compiled() ? 203 : 3, n = compiled() ? 512 : 12;
    number *x = random_numbers(rows * n, 8);
    wf_array *a = numbers_as(WF_C64, WF_SHAPE(rows, n), x), *y[2], *z[2];
    wf_czt_points points = { 9, .first = 0.2, .step = 0.003 };
    for (int queued = 0; queued < 2; ++queued) {
        wf_stream *stream = queued ? wf_stream_new(ctx, 0) : NULL;
        assert_true(!queued || stream);
        OK(ctx, wf_set_stream(ctx, 0, stream));
        wf_array *f = wf_fft_c2c(a, WF_AXES(1), false, WF_FFT_ORTHO);
        y[queued] = f;
        z[queued] = wf_czt(f, 1, &points);
        assert_true(y[queued] && z[queued]);
        OK(ctx, wf_set_stream(ctx, 0, NULL));
        if (stream)
            OK(ctx, wf_stream_sync(stream));
        wf_stream_free(stream);
    }
    number *expected[2] = { numbers_of(y[0]), numbers_of(z[0]) };
    check_near(y[1], expected[0], 0, "in a stream", n);
    check_near(z[1], expected[1], 0, "in a stream", n);
    wf_array *spent[] = { a, y[0], y[1], z[0], z[1] };
    for (int i = 0; i < 5; ++i)
        wf_release(spent[i]);
    free(expected[0]);
    free(expected[1]);
    free(x);
}

static void test_mistakes(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(2, 6), 1), *none = wf_empty(ctx, WF_F32, WF_SHAPE(2, 0)),
             *empty = wf_empty(ctx, WF_F16, WF_SHAPE(0, 6));
    wf_array *y = wf_czt(empty, -1, &(wf_czt_points){ 3, .step = 0.1 });
    assert_int_equal(wf_array_dtype(y), WF_C32);
    assert_int_equal(wf_array_shape(y).dim[1], 3);
    REFUSED(ctx, of_null(wf_czt(a, 2, &(wf_czt_points){ 3, .step = 0.1 })), WF_ERR_ARG, "wf_czt");
    REFUSED(ctx, of_null(wf_czt(a, 1, NULL)), WF_ERR_ARG, "`points` is NULL");
    REFUSED(ctx, of_null(wf_czt(a, 1, &(wf_czt_points){ 0, .step = 0.1 })), WF_ERR_SHAPE, "0 points of 6 elements");
    REFUSED(ctx, of_null(wf_czt(a, 1, &(wf_czt_points){ 3, .step = NAN })), WF_ERR_ARG, "steps of nan");
    REFUSED(ctx, of_null(wf_czt(a, 1, &(wf_czt_points){ 3, .radius = -1 })), WF_ERR_ARG, "a radius of -1");
    REFUSED(ctx, of_null(wf_czt(none, 1, &(wf_czt_points){ 3, .step = 0.1 })), WF_ERR_SHAPE, "has no elements");
    assert_null(wf_czt(NULL, 0, &(wf_czt_points){ 3, .step = 0.1 }));
    wf_array *spent[] = { a, none, empty, y };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),     cmocka_unit_test(test_long),         cmocka_unit_test(test_as_fft),
        cmocka_unit_test(test_scipy),     cmocka_unit_test(test_whole_cycles), cmocka_unit_test(test_replayed),
        cmocka_unit_test(test_in_stream), cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
