/* test_ctf_fit.c - power spectra beside their definition, and contrast transfer functions found again in spectra that
 * were made of the formula with other constants, noise and background.
 *
 * ctest: devices long
 */
#include "signal_formulas.h"

static double *random_image(int64_t h, int64_t w, uint64_t seed)
{
    double *x = malloc((size_t)(h * w) * sizeof *x);
    for (int64_t i = 0; i < h * w; ++i)
        x[i] = (float)test_random_number(&seed);
    return x;
}

static wf_array *upload_as(wf_dtype t, wf_shape shape, const double *x)
{
    wf_array *wide = wf_empty_with(ctx, WF_F64, shape, NULL), *a;
    OK(ctx, wf_upload(wide, x, (size_t)wf_array_count(wide) * sizeof *x));
    a = wf_array_cast(wide, t);
    wf_release(wide);
    assert_non_null(a);
    return a;
}

/* |F|^2 of one window of an image, at frequency (ky, kx). */
static double window_power(const double *x, int64_t w, int64_t n, int64_t y0, int64_t x0, int64_t ky, int64_t kx)
{
    double mean = 0;
    number sum = 0;
    for (int64_t i = 0; i < n * n; ++i)
        mean += x[(y0 + i / n) * w + x0 + i % n] / (double)(n * n);
    for (int64_t i = 0; i < n * n; ++i) {
        double hann = pow(sin(M_PI * (double)(i / n) / (double)n) * sin(M_PI * (double)(i % n) / (double)n), 2);
        double turns = (double)((i / n * ky + i % n * kx) % n) / (double)n;
        sum += (x[(y0 + i / n) * w + x0 + i % n] - mean) * hann * (cos(2 * M_PI * turns) - I * sin(2 * M_PI * turns));
    }
    return pow(cabs(sum), 2);
}

static void check_power(int64_t h, int64_t w, int64_t n, wf_dtype t)
{
    double *x = random_image(h, w, (uint64_t)(h * 100 + w));
    wf_array *image = upload_as(t, WF_SHAPE(h, w), x), *power = wf_power_spectrum(image, n);
    assert_non_null(power);
    assert_int_equal(wf_array_dtype(power), t);
    double *found = download(power);
    int64_t rows = (h - n + n / 2 - 1) / (n / 2) + 1, columns = (w - n + n / 2 - 1) / (n / 2) + 1;
    for (int64_t k = 0; k < n * (n / 2 + 1); ++k) {
        double sum = 0;
        for (int64_t i = 0; i < rows * columns; ++i) {
            int64_t y0 = rows > 1 ? i / columns * (h - n) / (rows - 1) : 0,
                    x0 = columns > 1 ? i % columns * (w - n) / (columns - 1) : 0;
            sum += window_power(x, w, n, y0, x0, k / (n / 2 + 1), k % (n / 2 + 1));
        }
        double squares = 9.0 / 64 * (double)(n * n); /* of the window */
        sum /= squares * (double)(rows * columns);
        near(found[k], sum, t == WF_F64 ? 1e-13 : 2e-6, "power");
    }
    free(found);
    free(x);
    wf_release(image);
    wf_release(power);
}

static void test_power(void **state)
{
    (void)state;
    check_power(8, 8, 8, WF_F32); /* one window */
    check_power(13, 20, 8, WF_F32);
    check_power(9, 24, 6, WF_F64);
    check_power(11, 7, 5, WF_F32);
    /* each image of a batch by itself; white noise of variance 4 gives 4 */
    wf_array *images = wf_empty_with(ctx, WF_F32, WF_SHAPE(2, 96, 80), NULL);
    OK(ctx, wf_array_random_normal(images, (wf_random){ .seed = 5 }, 3, 2));
    wf_array *all = wf_power_spectrum(images, 16), *second = wf_view_at(images, 0, 1),
             *one = wf_power_spectrum(second, 16), *of_all = wf_view_at(all, 0, 1), *mean;
    bool same = false;
    OK(ctx, wf_array_all_close(one, of_all, 0, 0, false, &same));
    assert_true(same);
    mean = wf_array_mean(all, WF_ALL_AXES | WF_DROP_AXES);
    double *value = download(mean);
    near(*value, 4, 0.3, "white noise");
    free(value);
    wf_array *spent[] = { images, all, second, one, of_all, mean };
    for (int i = 0; i < 6; ++i)
        wf_release(spent[i]);
}

/* A power spectrum of n x n pixels: a background that falls, CTF^2, noise. */
static double *spectrum_of(const optics *o, int64_t n, double pixel, double noise, uint64_t seed)
{
    wf_spectrum s = { WF_LAYOUT_H, WF_F64, 2, { n, n } };
    double *p = malloc((size_t)(n * (n / 2 + 1)) * sizeof *p), turns;
    for (int64_t i = 0; i < n * (n / 2 + 1); ++i) {
        double gy = frequency(&s, 0, i / (n / 2 + 1)) / pixel, gx = frequency(&s, 1, i % (n / 2 + 1)) / pixel;
        double g = hypot(gy, gx), c = expected_ctf(o, gy, gx, &turns);
        p[i] = (1 + 20 * exp(-12 * g)) * (0.5 + c * c * exp(-20 * g * g)) * (1 + noise * test_random_number(&seed));
    }
    return p;
}

static void check_fit(const optics *o, int64_t n, double pixel, double noise, wf_dtype t)
{
    double *p = spectrum_of(o, n, pixel, noise, 11);
    wf_array *power = upload_as(t, WF_SHAPE(n, n / 2 + 1), p);
    wf_ctf_search search = { .voltage = o->kv,
                             .cs = o->cs,
                             .amplitude = o->w,
                             .phase_shift = o->shift,
                             .pixel = pixel,
                             .astigmatism = o->a > 0 ? 0.2 : 0 };
    wf_array *fit = wf_ctf_fit(power, &search);
    assert_non_null(fit);
    double *found = download(fit), turned = found[2] - o->angle;
    near(found[0], o->dz, 0.01, "defocus");
    near(found[1], o->a, 0.008, "astigmatism");
    if (o->a > 0)
        near(sin(turned), 0, 0.12, "angle"); /* half a turn is the same */
    assert_true(found[3] > 0.5 && found[3] < 1);
    free(found);
    free(p);
    wf_release(power);
    wf_release(fit);
}

static void test_fit(void **state)
{
    (void)state;
    static const optics scopes[] = { { 300, 2.7, 0.1, 1.4, 0.05, 0.6, 0, 0, 0 },
                                     { 200, 1.4, 0.07, 2.3, 0.09, -0.9, 0, 0, 0 },
                                     { 300, 2.7, 0.1, 0.7, 0, 0, 1.2, 0, 0 },
                                     { 300, 0.01, 0.1, 1.9, 0, 0, 0, 0, 0 } };
    bool fast = wf_context_device(ctx) == WF_CPU;
    for (size_t i = 0; i < (fast ? sizeof scopes / sizeof *scopes : 1); ++i)
        check_fit(&scopes[i], fast ? 256 : 96, fast ? 1.4 : 2.4, 0.2, i % 2 ? WF_F64 : WF_F32);
}

static void test_batch(void **state)
{
    (void)state;
    enum { N = 96 };
    static const optics scopes[] = { { 300, 2.7, 0.1, 1.1, 0, 0, 0, 0, 0 }, { 300, 2.7, 0.1, 0.8, 0, 0, 0, 0, 0 } };
    double *both = malloc(2 * N * (N / 2 + 1) * sizeof *both);
    for (int i = 0; i < 2; ++i) {
        double *p = spectrum_of(&scopes[i], N, 2.4, 0.1, 3);
        memcpy(both + i * N * (N / 2 + 1), p, N * (N / 2 + 1) * sizeof *p);
        free(p);
    }
    wf_array *power = upload_as(WF_F32, WF_SHAPE(2, N, N / 2 + 1), both);
    wf_array *fit = wf_ctf_fit(
        power,
        &(wf_ctf_search){ .voltage = 300, .cs = 2.7, .amplitude = 0.1, .pixel = 2.4, .least = 0.5, .most = 1.5 });
    assert_non_null(fit);
    double *found = download(fit);
    for (int i = 0; i < 2; ++i) {
        near(found[4 * i], scopes[i].dz, 0.02, "defocus");
        near(found[4 * i + 1], 0, 0, "no astigmatism");
    }
    free(found);
    free(both);
    wf_release(power);
    wf_release(fit);
}

static void test_mistakes(void **state)
{
    (void)state;
    wf_array *image = wf_full(ctx, WF_F32, WF_SHAPE(20, 30), 1), *power = wf_full(ctx, WF_F32, WF_SHAPE(32, 17), 1),
             *complex_one = wf_full(ctx, WF_C64, WF_SHAPE(32, 17), 1);
    wf_ctf_search search = { .voltage = 300, .cs = 2.7, .amplitude = 0.1, .pixel = 1.2 }, s = search;
    REFUSED(ctx, of_null(wf_power_spectrum(image, 21)), WF_ERR_SHAPE, "(20, 30) have no windows of 21 x 21");
    REFUSED(ctx, of_null(wf_power_spectrum(image, 2)), WF_ERR_SHAPE, "no windows of 2 x 2, from 3 x 3 on");
    REFUSED(ctx, of_null(wf_power_spectrum(complex_one, 8)), WF_ERR_DTYPE, "the images are c64, not real");
    REFUSED(ctx, of_null(wf_ctf_fit(image, &search)), WF_ERR_SHAPE, "(20, 30) is no power spectrum");
    REFUSED(ctx, of_null(wf_ctf_fit(complex_one, &search)), WF_ERR_DTYPE, "power spectra are real");
    REFUSED(ctx, of_null(wf_ctf_fit(power, NULL)), WF_ERR_ARG, "`search` is NULL");
    s.pixel = 0;
    REFUSED(ctx, of_null(wf_ctf_fit(power, &s)), WF_ERR_ARG, "`pixel` and `voltage` must be above 0");
    s = search, s.low = 4;
    REFUSED(ctx, of_null(wf_ctf_fit(power, &s)), WF_ERR_ARG, "from `low` to a finer `high`");
    s = search, s.least = 3, s.most = 2;
    REFUSED(ctx, of_null(wf_ctf_fit(power, &s)), WF_ERR_ARG, "`most` must be above `least`");
    s = search, s.astigmatism = -1;
    REFUSED(ctx, of_null(wf_ctf_fit(power, &s)), WF_ERR_ARG, "`astigmatism` must be 0 or more");
    assert_null(wf_power_spectrum(NULL, 8));
    assert_null(wf_ctf_fit(NULL, &search));
    wf_array *spent[] = { image, power, complex_one };
    for (int i = 0; i < 3; ++i)
        wf_release(spent[i]);
}

/* Spectra in which no candidate is seen have a result of NaN; with a defocus beyond the bounds it stays within them. */
static void test_ends(void **state)
{
    (void)state;
    enum { N = 96, ELEMENTS = N * (N / 2 + 1) };
    static const optics scope = { 300, 2.7, 0.1, 0.9, 0, 0, 0, 0, 0 };
    const double constants[] = { 0, 1, 0.1, NAN };
    wf_ctf_search search = { .voltage = 300, .cs = 2.7, .amplitude = 0.1, .pixel = 2.4, .least = 0.95, .most = 2 };
    double *spectra = malloc(5 * ELEMENTS * sizeof *spectra), *seen = spectrum_of(&scope, N, 2.4, 0.1, 3);
    for (int i = 0; i < 4 * ELEMENTS; ++i)
        spectra[i] = constants[i / ELEMENTS];
    memcpy(spectra + 4 * ELEMENTS, seen, ELEMENTS * sizeof *seen);
    wf_array *power = upload_as(WF_F32, WF_SHAPE(5, N, N / 2 + 1), spectra), *fit = wf_ctf_fit(power, &search);
    assert_non_null(fit);
    double *found = download(fit);
    for (int i = 0; i < 16; ++i)
        assert_true(isnan(found[i]));
    near(found[16], 0.95, 0, "the nearest defocus");
    free(found);
    free(seen);
    free(spectra);
    wf_release(power);
    wf_release(fit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power),    cmocka_unit_test(test_fit),  cmocka_unit_test(test_batch),
        cmocka_unit_test(test_mistakes), cmocka_unit_test(test_ends),
    };
    return RUN_ON_ALL(tests);
}
