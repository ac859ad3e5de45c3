/* test_signal_arrays.c - filters, shifts and transfer functions of arrays, shells and correlation beside formulas in
 * f64; batches, peaks, and mistakes.
 *
 * ctest: devices
 */
#include "signal_formulas.h"

static wf_array *noise(wf_dtype dtype, wf_shape shape, uint64_t seed)
{
    wf_array *a = wf_empty_with(ctx, dtype, shape, NULL);
    OK(ctx, wf_array_random_normal(a, (wf_random){ .seed = seed }, 0, 1));
    return a;
}

/* Compares the part i of a batch with a result for this part alone. */
static void check_part(const wf_array *all, int64_t i, const wf_array *one, double most)
{
    wf_array *part = wf_view_at((wf_array *)all, 0, i);
    bool close = false;
    OK(ctx, wf_array_all_close(part, one, most, most, false, &close));
    assert_true(close);
    wf_release(part);
}

static wf_val response(wf_graph *g, wf_vals k, void *user)
{
    (void)g;
    assert_int_equal(k.n, 2);
    return wf_add(wf_mul(k.at[0], *(double *)user), wf_mul(k.at[1], k.at[1]));
}

static wf_val line_response(wf_graph *g, wf_vals k, void *user)
{
    (void)g;
    return wf_mul(k.at[0], *(double *)user);
}

/* The same as the transform, the filter of the spectrum, and the transform back. */
static void test_filter_images(void **state)
{
    (void)state;
    double slope = 3;
    static const wf_dtype dtypes[] = { WF_F32, WF_F64, WF_I16 };
    for (int t = 0; t < 3; ++t) {
        wf_spectrum s = { WF_LAYOUT_H, dtypes[t] == WF_F64 ? WF_F64 : WF_F32, 2, { 5, 6 } };
        wf_array *real = noise(WF_F64, WF_SHAPE(3, 5, 6), 4), *x = wf_array_cast(real, dtypes[t]);
        wf_array *y = wf_empty(ctx, WF_F64, WF_SHAPE(3, 5, 6)), *f = wf_fft_r2c(x, WF_AXES(1, 2), WF_FFT_BACKWARD);
        OK(ctx, wf_spectrum_filter(f, f, &s, response, &slope));
        wf_array *want = wf_fft_c2r(f, 6, WF_AXES(1, 2), WF_FFT_BACKWARD), *wide = wf_array_cast(want, WF_F64);
        OK(ctx, wf_image_filter(y, x, 2, response, &slope));
        bool close = false;
        OK(ctx, wf_array_all_close(y, wide, t == 1 ? 1e-14 : 2e-6, t == 1 ? 1e-14 : 2e-6, false, &close));
        assert_true(close);
        wf_array *all[] = { real, x, y, f, want, wide };
        for (int i = 0; i < 6; ++i)
            wf_release(all[i]);
    }
    wf_array *x = noise(WF_F32, WF_SHAPE(4, 4), 1), *z = noise(WF_C64, WF_SHAPE(4, 4), 1);
    REFUSED(ctx, wf_image_filter(x, x, 2, NULL, NULL), WF_ERR_ARG, "wf_image_filter: `response` is NULL");
    REFUSED(ctx, wf_image_filter(x, x, 3, response, &slope), WF_ERR_ARG, "wf_image_filter: `rank` is 3");
    REFUSED(ctx, wf_image_filter(x, x, 0, response, &slope), WF_ERR_ARG, "wf_image_filter: `rank` is 0");
    REFUSED(ctx, wf_image_filter(z, z, 2, response, &slope), WF_ERR_DTYPE, "real");
    wf_release(x);
    wf_release(z);
}

static void test_filter_arrays(void **state)
{
    (void)state;
    double slope = 3;
    for (int layout = 0; layout < 4; ++layout) {
        wf_spectrum s = { (wf_layout)layout, WF_F64, 2, { 5, 6 } };
        wf_shape one = shape_of(&s), three = WF_SHAPE(3, one.dim[0], one.dim[1]);
        wf_array *x = noise(WF_C128, three, 1), *y = wf_like(x), *factor = wf_empty(ctx, WF_F64, one);
        OK(ctx, wf_spectrum_filter(y, x, &s, response, &slope));
        OK(ctx, wf_spectrum_filter(factor, NULL, &s, response, &slope));
        number *a = download_complex(x), *b = download_complex(y);
        double *f = download(factor);
        int64_t n = one.dim[0] * one.dim[1];
        for (int64_t i = 0; i < 3 * n; ++i) {
            double ky = frequency(&s, 0, i % n / one.dim[1]), kx = frequency(&s, 1, i % one.dim[1]);
            near(f[i % n], slope * ky + kx * kx, 1e-15, "factor");
            near(cabs(b[i] - a[i] * (slope * ky + kx * kx)), 0, 1e-14, "filtered");
        }
        OK(ctx, wf_spectrum_filter(x, x, &s, response, &slope)); /* in place */
        bool close = false;
        OK(ctx, wf_array_all_close(x, y, 0, 0, false, &close));
        assert_true(close);
        free(a);
        free(b);
        free(f);
        wf_release(x);
        wf_release(y);
        wf_release(factor);
    }
}

static void test_shift_arrays(void **state)
{
    (void)state;
    enum { N = 3, H = 6, W = 7 };
    const double by[N][2] = { { 1.5, -2 }, { 0, 0.25 }, { -300.125, 40 } };
    wf_spectrum s = { WF_LAYOUT_H, WF_F32, 2, { H, W } };
    wf_shape one = shape_of(&s), all = WF_SHAPE(N, one.dim[0], one.dim[1]);
    wf_array *x = noise(WF_C64, all, 2), *y = wf_like(x), *shifts = array_of(ctx, WF_F64, WF_SHAPE(N, 2), by);
    OK(ctx, wf_spectrum_shift(y, x, &s, shifts));
    number *a = download_complex(x), *b = download_complex(y);
    int64_t n = one.dim[0] * one.dim[1];
    for (int64_t i = 0; i < N * n; ++i) {
        number e = a[i] * shift_factor(frequency(&s, 0, i % n / one.dim[1]), by[i / n][0]) *
                   shift_factor(frequency(&s, 1, i % one.dim[1]), by[i / n][1]);
        near(cabs(b[i] - e), 0, 2e-6, "shifted");
    }
    for (int i = 0; i < N; ++i) {
        wf_array *part = wf_view_at(x, 0, i), *vector = wf_view_at(shifts, 0, i), *z = wf_empty(ctx, WF_C64, one);
        OK(ctx, wf_spectrum_shift(z, part, &s, vector));
        check_part(y, i, z, 0);
        wf_release(part);
        wf_release(vector);
        wf_release(z);
    }
    free(a);
    free(b);
    wf_release(x);
    wf_release(y);
    wf_release(shifts);
}

static void test_ctf_arrays(void **state)
{
    (void)state;
    enum { N = sizeof microscopes / sizeof *microscopes };
    double p[N][WF_CTF_MEMBERS], turns;
    for (int i = 0; i < N; ++i) {
        const optics *o = &microscopes[i];
        const double row[] = {
            o->kv, o->cs, o->w, o->dz, o->a, o->angle, o->shift, o->b, o->scale != 0 ? o->scale : 1
        };
        memcpy(p[i], row, sizeof row);
    }
    wf_array *parameters = array_of(ctx, WF_F64, WF_SHAPE(N, WF_CTF_MEMBERS), p);
    wf_spectrum s = { WF_LAYOUT_HC, WF_F32, 2, { 8, 9 } }, line = { WF_LAYOUT_F, WF_F32, 1, { 11 } };
    wf_shape one = shape_of(&s);
    wf_array *image = wf_empty(ctx, WF_F32, WF_SHAPE(N, one.dim[0], one.dim[1])),
             *lines = wf_empty(ctx, WF_F64, WF_SHAPE(N, 11)), *x = noise(WF_C64, wf_array_shape(image), 3),
             *y = wf_like(x), *first = wf_view_at(parameters, 0, 1), *single = wf_empty(ctx, WF_F32, one);
    OK(ctx, wf_spectrum_ctf(image, NULL, &s, parameters, 0.5));
    OK(ctx, wf_spectrum_ctf(lines, NULL, &line, parameters, 1.25));
    OK(ctx, wf_spectrum_ctf(y, x, &s, parameters, 0.5));
    OK(ctx, wf_spectrum_ctf(single, NULL, &s, first, 0.5));
    check_part(image, 1, single, 0);
    double *found = download(image), *flat = download(lines);
    number *a = download_complex(x), *b = download_complex(y);
    int64_t n = one.dim[0] * one.dim[1];
    for (int64_t i = 0; i < N * n; ++i) {
        double gy = frequency(&s, 0, i % n / one.dim[1]) / 0.5, gx = frequency(&s, 1, i % one.dim[1]) / 0.5;
        double e = expected_ctf(&microscopes[i / n], gy, gx, &turns);
        near(found[i], e, 2e-6, "ctf of f32"); /* with up to 440 turns */
        near(cabs(b[i] - a[i] * e), 0, 1e-5, "times ctf");
    }
    for (int i = 0; i < N * 11; ++i)
        near(flat[i], expected_ctf(&microscopes[i / 11], 0, frequency(&line, 0, i % 11) / 1.25, &turns), 1e-6, "line");
    free(found);
    free(flat);
    free(a);
    free(b);
    wf_array *given[] = { parameters, image, lines, x, y, first, single };
    for (int i = 0; i < 7; ++i)
        wf_release(given[i]);
}

/* ---- shells ---- */
static int64_t smallest(const wf_spectrum *s)
{
    int64_t n = 1;
    for (int d = 0; d < s->rank; ++d)
        n = s->size[d] > 1 && (n == 1 || s->size[d] < n) ? s->size[d] : n;
    return n;
}

/* Adds up values over shells of the full spectrum, by the definition. v: of the half or full spectrum's elements. */
static void sum_shells(const wf_spectrum *s, const double *v, double *sum, double *count)
{
    wf_shape shape = shape_of(s);
    int64_t n = 1, shells = smallest(s) / 2 + 1;
    for (int d = 0; d < s->rank; ++d)
        n *= shape.dim[d];
    for (int64_t i = 0; i < shells; ++i)
        sum[i] = count[i] = 0;
    for (int64_t i = 0; i < n; ++i) {
        double kk = 0, last = 0;
        for (int64_t d = s->rank - 1, rest = i; d >= 0; rest /= shape.dim[d--]) {
            double k = frequency(s, (int)d, rest % shape.dim[d]);
            last = d == s->rank - 1 ? k : last;
            kk += k * k;
        }
        bool half = s->layout == WF_LAYOUT_H || s->layout == WF_LAYOUT_HC;
        int times = half && last != 0 && last != 0.5 ? 2 : 1;
        int64_t shell = (int64_t)floor(sqrt(kk) * (double)smallest(s) + 0.5);
        if (shell < shells) {
            sum[shell] += times * v[i];
            count[shell] += times;
        }
    }
}

static void check_shells(const wf_spectrum *s)
{
    wf_shape one = shape_of(s), all = one;
    int64_t n = 1, shells = smallest(s) / 2 + 1;
    for (int d = one.rank; d > 0; --d) {
        all.dim[d] = one.dim[d - 1];
        n *= one.dim[d - 1];
    }
    all.dim[0] = 2;
    all.rank = one.rank + 1;
    assert_int_equal(wf_shell_count(s), shells);
    wf_array *a = noise(WF_C64, all, 4), *b = noise(WF_C64, all, 5), *r = noise(WF_F32, all, 6);
    wf_array *mean = wf_radial_average(r, s), *power = wf_radial_average(a, s), *fsc = wf_fsc(a, b, s),
             *self = wf_fsc(a, a, s);
    assert_true(mean && power && fsc && self);
    assert_true(wf_array_shape(fsc).rank == 2 && wf_array_shape(fsc).dim[1] == shells);
    number *x = download_complex(a), *y = download_complex(b);
    double *v = download(r), *found[] = { download(mean), download(power), download(fsc), download(self) };
    double *w = malloc((size_t)n * 3 * sizeof *w), sum[3][8], count[8];
    for (int64_t part = 0; part < 2; ++part) {
        for (int64_t i = 0; i < n; ++i) {
            w[i] = creal(x[part * n + i] * conj(y[part * n + i]));
            w[n + i] = pow(cabs(x[part * n + i]), 2);
            w[2 * n + i] = pow(cabs(y[part * n + i]), 2);
        }
        sum_shells(s, v + part * n, sum[0], count);
        for (int i = 0; i < shells; ++i)
            near(found[0][part * shells + i], sum[0][i] / count[i], 1e-12, "radial average");
        for (int i = 0; i < 3; ++i)
            sum_shells(s, w + i * n, sum[i], count);
        for (int i = 0; i < shells; ++i) {
            near(found[1][part * shells + i], sum[1][i] / count[i], 1e-12, "power");
            near(found[2][part * shells + i], sum[0][i] / sqrt(sum[1][i] * sum[2][i]), 1e-12, "fsc");
            near(found[3][part * shells + i], 1, 1e-14, "fsc of itself");
        }
        wf_array *pa = wf_view_at(a, 0, part), *pb = wf_view_at(b, 0, part), *pf = wf_fsc(pa, pb, s);
        check_part(fsc, part, pf, 1e-14);
        wf_release(pa);
        wf_release(pb);
        wf_release(pf);
    }
    for (int i = 0; i < 4; ++i)
        free(found[i]);
    free(x);
    free(y);
    free(v);
    free(w);
    wf_array *given[] = { a, b, r, mean, power, fsc, self };
    for (int i = 0; i < 7; ++i)
        wf_release(given[i]);
}

static void test_shells(void **state)
{
    (void)state;
    int most = wf_context_device(ctx) == WF_INTERP ? 9 : 5;
    for (int n = 1; n <= most; ++n)
        check_shells(&(wf_spectrum){ (wf_layout)(n % 4), WF_F32, 1 + n % 3, { n, 1 + 2 * n % 9, 1 + 5 * n % 9 } });
    check_shells(&(wf_spectrum){ WF_LAYOUT_H, WF_F32, 3, { 8, 8, 8 } });
    check_shells(&(wf_spectrum){ WF_LAYOUT_FC, WF_F32, 2, { 9, 7 } });
    assert_int_equal(wf_shell_count(&(wf_spectrum){ WF_LAYOUT_H, WF_F32, 2, { 0, 1 } }), -1);
}

/* Opposite spectra have -1, empty ones 0; independent noise has a deviation of 1/sqrt(n) in shells of n elements. */
static void test_fsc_properties(void **state)
{
    (void)state;
    const int n = (int)sized(64, 16), shells = n / 2 + 1;
    wf_spectrum s = { WF_LAYOUT_H, WF_F32, 2, { n, n } };
    wf_array *a = noise(WF_F32, WF_SHAPE(n, n), 7), *b = noise(WF_F32, WF_SHAPE(n, n), 8);
    wf_array *fa = wf_fft_r2c(a, WF_AXES(0, 1), WF_FFT_ORTHO), *fb = wf_fft_r2c(b, WF_AXES(0, 1), WF_FFT_ORTHO);
    wf_array *minus = wf_like(fa), *zero = wf_full(ctx, WF_C64, wf_array_shape(fa), 0);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, minus, wf_neg(wf_in(g, fa)));
    OK(ctx, wf_run(g));
    wf_array *opposite = wf_fsc(fa, minus, &s), *none = wf_fsc(fa, zero, &s), *independent = wf_fsc(fa, fb, &s);
    double *x = download(opposite), *y = download(none), *z = download(independent), sum = 0;
    for (int i = 0; i < shells; ++i) {
        near(x[i], -1, 1e-14, "opposite");
        assert_true(y[i] == 0);
        if (i > 2) {
            double of = 2 * M_PI * i / 2; /* independent elements of the ring */
            sum += z[i] * z[i] * of;
            assert_true(fabs(z[i]) < 5 / sqrt(of));
        }
    }
    sum /= shells - 3;
    assert_true(sum > 0.4 && sum < 2);
    free(x);
    free(y);
    free(z);
    wf_array *given[] = { a, b, fa, fb, minus, zero, opposite, none, independent };
    for (int i = 0; i < 9; ++i)
        wf_release(given[i]);
}

/* ---- correlation ---- */
static void check_correlation(int h, int w)
{
    wf_array *a = noise(WF_F32, WF_SHAPE(2, h, w), 9), *b = noise(WF_F32, WF_SHAPE(2, h, w), 10);
    wf_array *map = wf_correlate_map(a, b, 2, WF_CORRELATION_CONVENTIONAL);
    assert_non_null(map);
    double *x = download(a), *y = download(b), *found = download(map);
    for (int p = 0; p < 2; ++p)
        for (int l = 0; l < h * w; ++l) {
            double sum = 0;
            for (int i = 0; i < h * w; ++i)
                sum += x[p * h * w + (i / w + l / w) % h * w + (i % w + l % w) % w] * y[p * h * w + i];
            near(found[p * h * w + l], sum, 2e-5, "correlation");
        }
    free(x);
    free(y);
    free(found);
    wf_release(a);
    wf_release(b);
    wf_release(map);
}

static void test_correlation(void **state)
{
    (void)state;
    for (int n = 1; n <= 9; n += wf_context_device(ctx) == WF_INTERP ? 1 : 4)
        check_correlation(n, 1 + 7 * n % 9);
}

/* A shift that was made is found in every mode, for each image of a batch. */
static void test_planted_shift(void **state)
{
    (void)state;
    const int h = (int)sized(64, 48), w = (int)sized(54, 30);
    const double by[2][2] = { { -20, 10 }, { 3.4, -7.25 } }, slack[] = { 0.05, 0.5, 0.1, 0.2 };
    wf_spectrum s = { WF_LAYOUT_H, WF_F32, 2, { h, w } };
    wf_array *b = wf_empty(ctx, WF_F32, WF_SHAPE(2, h, w)), *shifts = array_of(ctx, WF_F64, WF_SHAPE(2, 2), by);
    float *blob = malloc((size_t)(2 * h * w) * sizeof *blob); /* smooth, so that parabolas fit */
    for (int i = 0; i < 2 * h * w; ++i) {
        double y = i / w % h - h / 2.0, x = i % w - w / 2.0, z = y - 4;
        blob[i] = (float)(exp(-(y * y + x * x) / 18) + 0.5 * exp(-(z * z + x * x) / 18));
    }
    OK(ctx, wf_upload(b, blob, (size_t)(2 * h * w) * sizeof *blob));
    free(blob);
    wf_array *f = wf_fft_r2c(b, WF_AXES(1, 2), WF_FFT_BACKWARD);
    OK(ctx, wf_spectrum_shift(f, f, &s, shifts));
    wf_array *a = wf_fft_c2r(f, w, WF_AXES(1, 2), WF_FFT_BACKWARD);
    for (int how = 0; how < 4; ++how) {
        wf_array *map = wf_correlate_map(a, b, 2, (wf_correlation)how), *peak = wf_correlate_peak(map, 2);
        double *p = download(peak);
        for (int i = 0; i < 2; ++i)
            for (int d = 0; d < 2; ++d) { /* the narrower the peak, the less a parabola is like it between elements */
                double n = d ? w : h, lag = by[i][d] * (how == WF_CORRELATION_DOUBLE_PHASE ? 2 : 1);
                near(p[3 * i + d], lag - n * floor(lag / n + 0.5), i ? slack[how] : 0.05, "lag");
            }
        free(p);
        wf_release(map);
        wf_release(peak);
    }
    wf_array *given[] = { a, b, f, shifts };
    for (int i = 0; i < 4; ++i)
        wf_release(given[i]);
}

/* Peaks of parabolas: at edges, in negative and in tiny maps, along extents of 1 and 2. */
static void test_peaks(void **state)
{
    (void)state;
    for (int n = 1; n <= 9; ++n)
        for (int m = 1; m <= 9; m += 4)
            for (int scale = 0; scale < 2; ++scale) {
                double map[81], size = scale ? 1e-12 : 1, py = n > 2 ? -0.25 : 0, px = m > 2 ? 0.375 : 0;
                for (int i = 0; i < n * m; ++i) {
                    double y = (double)(i / m), x = (double)(i % m);
                    y = (2 * y > n ? y - n : y) - py;
                    x = (2 * x > m ? x - m : x) - px;
                    map[i] = -size * (100 + y * y + 2 * x * x);
                }
                wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(n, m), map), *peak = wf_correlate_peak(a, 2);
                assert_non_null(peak);
                double *p = download(peak);
                near(p[0], py, 1e-9, "y");
                near(p[1], px, 1e-9, "x");
                near(p[2], -size * 100, 1e-9 * size, "top");
                free(p);
                wf_release(a);
                wf_release(peak);
            }
}

static void test_array_mistakes(void **state)
{
    (void)state;
    wf_spectrum s = { WF_LAYOUT_H, WF_F32, 2, { 4, 6 } }, wrong = { WF_LAYOUT_H, WF_F32, 2, { 4, -1 } },
                deep = { WF_LAYOUT_F, WF_F32, 3, { 4, 4, 4 } };
    wf_array *x = wf_full(ctx, WF_C64, WF_SHAPE(3, 4, 4), 1), *other = wf_full(ctx, WF_C64, WF_SHAPE(3, 4, 6), 1),
             *one = wf_full(ctx, WF_C64, WF_SHAPE(4, 4), 1), *vector = wf_full(ctx, WF_F32, WF_SHAPE(3), 1),
             *real = wf_full(ctx, WF_F32, WF_SHAPE(4, 6), 1), *cube = wf_full(ctx, WF_C64, WF_SHAPE(4, 4, 4), 1);
    double slope = 1;
    REFUSED(ctx, wf_spectrum_filter(other, x, &s, response, &slope), WF_ERR_SHAPE,
            "wf_spectrum_filter: `out` is c64(3, 4, 6), but the spectrum's elements are (4, 4)");
    REFUSED(ctx, wf_spectrum_filter(x, one, &s, response, &slope), WF_ERR_SHAPE,
            "`x` is (4, 4), but `out` is (3, 4, 4)");
    REFUSED(ctx, wf_spectrum_filter(x, x, &s, NULL, NULL), WF_ERR_ARG, "`response` is NULL");
    REFUSED(ctx, wf_spectrum_filter(NULL, x, &s, response, &slope), WF_ERR_ARG, "`out` is NULL");
    REFUSED(ctx, wf_spectrum_filter(x, x, &wrong, response, &slope), WF_ERR_ARG, "spectrum.size[1] is -1");
    REFUSED(ctx, wf_spectrum_shift(x, x, &s, vector), WF_ERR_SHAPE, "`shifts` is f32(3), not (2) or (3, 2)");
    REFUSED(ctx, wf_spectrum_shift(x, x, &s, NULL), WF_ERR_ARG, "`shifts` is NULL");
    REFUSED(ctx, wf_spectrum_ctf(x, x, &s, vector, -1.5), WF_ERR_ARG, "wf_spectrum_ctf: `pixel` is -1.5, not above 0");
    REFUSED(ctx, wf_spectrum_ctf(x, x, &s, vector, 1), WF_ERR_SHAPE, "`parameters` is f32(3), not (9) or (3, 9)");
    REFUSED(ctx, wf_spectrum_ctf(cube, NULL, &deep, vector, 1), WF_ERR_ARG, "spectrum.rank is 3");
    REFUSED(ctx, of_null(wf_radial_average(other, &s)), WF_ERR_SHAPE, "wf_radial_average: `x` is c64(3, 4, 6)");
    REFUSED(ctx, of_null(wf_fsc(x, one, &s)), WF_ERR_SHAPE, "wf_fsc: `a` is (3, 4, 4), but `b` is (4, 4)");
    REFUSED(ctx, of_null(wf_correlate_map(real, vector, 1, WF_CORRELATION_PHASE)), WF_ERR_SHAPE, "`b` is (3)");
    REFUSED(ctx, of_null(wf_correlate_map(real, real, 3, WF_CORRELATION_PHASE)), WF_ERR_ARG, "`rank` is 3");
    REFUSED(ctx, of_null(wf_correlate_map(one, one, 1, WF_CORRELATION_PHASE)), WF_ERR_DTYPE, "is c64, not real");
    REFUSED(ctx, of_null(wf_correlate_map(real, real, 1, (wf_correlation)4)), WF_ERR_ARG, "`how` is 4");
    REFUSED(ctx, of_null(wf_correlate_peak(real, 0)), WF_ERR_ARG, "wf_correlate_peak: `rank` is 0");
    assert_null(wf_radial_average(NULL, &s));
    assert_null(wf_fsc(NULL, x, &s));
    assert_null(wf_correlate_map(NULL, real, 1, WF_CORRELATION_PHASE));
    assert_null(wf_correlate_peak(NULL, 1));
    wf_clear_error(ctx);
    wf_array *given[] = { x, other, one, vector, real, cube };
    for (int i = 0; i < 6; ++i)
        wf_release(given[i]);
}

/* Batches without elements, and views with gaps. */
static void test_empty_and_views(void **state)
{
    (void)state;
    wf_spectrum s = { WF_LAYOUT_F, WF_F32, 1, { 6 } };
    wf_array *none = wf_empty(ctx, WF_C64, WF_SHAPE(0, 6)), *maps = wf_empty(ctx, WF_F32, WF_SHAPE(0, 6));
    wf_array *fsc = wf_fsc(none, none, &s), *peaks = wf_correlate_peak(maps, 1);
    assert_true(fsc && peaks && wf_array_count(fsc) == 0 && wf_array_count(peaks) == 0);
    double slope = 1;
    OK(ctx, wf_spectrum_filter(none, none, &(wf_spectrum){ WF_LAYOUT_F, WF_F32, 1, { 6 } }, line_response, &slope));
    wf_array *wide = noise(WF_C64, WF_SHAPE(3, 12), 11), *gaps = wf_view_slice(wide, 1, 11, WF_END_INDEX, -2),
             *packed = wf_array_copy(gaps), *one = wf_radial_average(gaps, &s), *two = wf_radial_average(packed, &s);
    bool close = false;
    OK(ctx, wf_array_all_close(one, two, 1e-14, 0, false, &close));
    assert_true(close);
    wf_array *real = noise(WF_F32, WF_SHAPE(3, 12), 12), *strided = wf_view_slice(real, 1, 0, WF_END_INDEX, 2),
             *dense = wf_array_copy(strided), *first = wf_correlate_peak(strided, 1),
             *second = wf_correlate_peak(dense, 1);
    OK(ctx, wf_array_all_close(first, second, 0, 0, false, &close));
    assert_true(close);
    wf_array *given[] = { none, maps, fsc, peaks, wide, gaps, packed, one, two, real, strided, dense, first, second };
    for (int i = 0; i < 14; ++i)
        wf_release(given[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_images),   cmocka_unit_test(test_filter_arrays),
        cmocka_unit_test(test_shift_arrays),    cmocka_unit_test(test_ctf_arrays),
        cmocka_unit_test(test_shells),          cmocka_unit_test(test_fsc_properties),
        cmocka_unit_test(test_correlation),     cmocka_unit_test(test_planted_shift),
        cmocka_unit_test(test_peaks),           cmocka_unit_test(test_array_mistakes),
        cmocka_unit_test(test_empty_and_views),
    };
    return RUN_ON_ALL(tests);
}
