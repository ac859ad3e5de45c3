/* test_signal.c - frequencies, filters, contrast transfer functions and phase shifts as values beside formulas in f64,
 * for extents of 1 to 9; and mistakes.
 *
 * ctest: devices
 */
#include "signal_formulas.h"

/* ---- frequencies ---- */
static void check_frequencies(const wf_spectrum *s)
{
    wf_shape shape = shape_of(s);
    wf_dtype t = s->dtype ? s->dtype : WF_F32;
    double slack = t == WF_F64 ? 4e-16 : 2e-7;
    wf_array *ky = wf_empty(ctx, t, shape), *kx = wf_like(ky), *r = wf_like(ky), *weight = wf_like(ky);
    wf_graph *g = wf_begin(ctx, .shape = shape);
    wf_vals at = WF_VALS(wf_index(g, 0), wf_index(g, 1));
    wf_out(g, ky, wf_freq(g, s, 0, at.at[0]));
    wf_out(g, kx, wf_freq(g, s, 1, at.at[1]));
    wf_out(g, r, wf_freq_norm(g, s, at));
    wf_out(g, weight, wf_hermitian_weight(g, s, at));
    OK(ctx, wf_run(g));
    double *y = download(ky), *x = download(kx), *length = download(r), *w = download(weight), sum = 0;
    for (int64_t i = 0; i < shape.dim[0] * shape.dim[1]; ++i) {
        double fy = frequency(s, 0, i / shape.dim[1]), fx = frequency(s, 1, i % shape.dim[1]);
        assert_true(y[i] == (t == WF_F64 ? fy : (double)(float)fy)); /* rounded once */
        assert_true(x[i] == (t == WF_F64 ? fx : (double)(float)fx));
        near(length[i], hypot(fy, fx), slack, "length");
        sum += w[i];
    }
    assert_true(sum == (double)(s->size[0] * s->size[1])); /* every element of the full spectrum counts once */
    free(y);
    free(x);
    free(length);
    free(w);
    wf_array *all[] = { ky, kx, r, weight };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
}

static void test_frequencies(void **state)
{
    (void)state;
    int step = wf_context_device(ctx) == WF_INTERP ? 1 : 3;
    for (int layout = 0; layout < 4; ++layout)
        for (int h = 1; h <= 9; ++h)
            for (int w = 1 + h % step; w <= 9; w += step)
                check_frequencies(&(wf_spectrum){ (wf_layout)layout, (h + w) % 2 ? WF_F64 : WF_NONE, 2, { h, w } });
}

/* The sum of squares of an image is that of its half spectrum with weights. */
static void test_parseval(void **state)
{
    (void)state;
    for (int h = 1; h <= 9; h += is_on_gpu() ? 4 : 1)
        for (int w = 1 + h % 2; w <= 9; w += 2) {
            float image[81];
            double energy = 0, sum = 0;
            uint64_t seed = 5;
            for (int i = 0; i < h * w; ++i) {
                image[i] = (float)(test_random(&seed) >> 40) / 16777216.0f - 0.5f;
                energy += (double)image[i] * image[i];
            }
            wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(h, w), image);
            wf_array *f = wf_fft_r2c(a, WF_AXES(0, 1), WF_FFT_ORTHO);
            wf_spectrum s = { WF_LAYOUT_H, WF_F64, 2, { h, w } };
            wf_array *power = wf_empty(ctx, WF_F64, wf_array_shape(f));
            wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(f));
            wf_val v = wf_cast(wf_in(g, f), WF_C128);
            wf_val squared = wf_real(wf_mul(v, wf_conj(v)));
            wf_out(g, power, wf_mul(squared, wf_hermitian_weight(g, &s, WF_VALS(wf_index(g, 0), wf_index(g, 1)))));
            OK(ctx, wf_run(g));
            double *p = download(power);
            for (int64_t i = 0; i < wf_array_count(power); ++i)
                sum += p[i];
            near(sum, energy, 1e-6 * energy, "energy");
            free(p);
            wf_release(a);
            wf_release(f);
            wf_release(power);
        }
}

/* ---- filters ---- */
enum { POINTS = 64 };

typedef enum kind { LOW, LOW_HARD, HIGH, HIGH_HARD, BAND, GAUSS, BUTTER, BFACTOR, CRITICAL, DOSE, EDGE, KINDS } kind;

/* The filter k at r; its parameters are p[0] and p[1], as numbers or values. */
static wf_val record(kind k, wf_val r, wf_val p, wf_val q)
{
    switch (k) {
    case LOW:
        return wf_lowpass(r, p, q);
    case LOW_HARD:
        return wf_lowpass(r, p, wf_mul(q, 0));
    case HIGH:
        return wf_highpass(r, p, q);
    case HIGH_HARD:
        return wf_highpass(r, p, wf_mul(q, 0));
    case BAND:
        return wf_bandpass(r, wf_mul(p, 0.5), q, p, q);
    case GAUSS:
        return wf_gaussian(r, q);
    case BUTTER:
        return wf_butterworth(r, p, 3);
    case BFACTOR:
        return wf_bfactor(r, -50);
    case CRITICAL:
        return wf_critical_dose(r, 0.8);
    case DOSE:
        return wf_dose_weight(r, 20, 1);
    default:
        return wf_soft_edge(wf_sub(r, p), q);
    }
}

static double rising(double r, double cutoff, double width)
{
    if (r >= cutoff)
        return 1;
    return r <= cutoff - width ? 0 : (1 + cos(M_PI * (r - cutoff) / width)) / 2;
}

static double falling(double r, double cutoff, double width)
{
    if (r <= cutoff)
        return 1;
    return r >= cutoff + width ? 0 : (1 + cos(M_PI * (r - cutoff) / width)) / 2;
}

static double expected_filter(kind k, double r, double p, double q)
{
    double critical = 0.245 * pow(r, -1.665) + 2.81;
    switch (k) {
    case LOW:
        return falling(r, p, q);
    case LOW_HARD:
        return r <= p;
    case HIGH:
        return rising(r, p, q);
    case HIGH_HARD:
        return r >= p;
    case BAND:
        return rising(r, p / 2, q) * falling(r, p, q);
    case GAUSS:
        return exp(-r * r / (2 * q * q));
    case BUTTER:
        return 1 / sqrt(1 + pow(r / p, 6));
    case BFACTOR:
        return exp(-50 * r * r / 4);
    case CRITICAL:
        return 0.8 * critical;
    case DOSE:
        return exp(-20 / (2 * critical));
    default:
        return falling(r - p, 0, q);
    }
}

static void check_filter(kind k, wf_dtype t, bool values)
{
    const double p = 0.25, q = 0.0625; /* exact, so that edges are met */
    wf_array *out = wf_empty(ctx, t, WF_SHAPE(POINTS));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    wf_val r = wf_mul(wf_cast(wf_index(g, 0), t), 1.0 / POINTS);
    wf_val given[] = { values ? wf_param(g, "p", t, p) : WF_V(p), values ? wf_param(g, "q", t, q) : WF_V(q) };
    wf_out(g, out, record(k, r, given[0], given[1]));
    OK(ctx, wf_run(g));
    double *x = download(out);
    for (int i = 0; i < POINTS; ++i) {
        double e = expected_filter(k, (double)i / POINTS, p, q);
        if (isinf(e))
            assert_true(x[i] == e);
        else
            near(x[i], e, (t == WF_F64 ? 1e-14 : 2e-6) * fmax(1, e), "filter");
    }
    free(x);
    wf_release(out);
}

static void test_filters(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; ++k)
        for (int way = is_on_gpu() ? 2 : 0; way < 4; ++way)
            check_filter((kind)k, way & 1 ? WF_F64 : WF_F32, way >> 1);
}

/* Numbers alone give numbers. */
static void test_numbers(void **state)
{
    (void)state;
    double x;
    for (int k = 0; k < KINDS; ++k)
        for (int i = 0; i < POINTS; ++i) {
            double r = (double)i / POINTS, e = expected_filter((kind)k, r, 0.25, 0.0625);
            wf_val v = record((kind)k, WF_V(r), WF_V(0.25), WF_V(0.0625));
            assert_true(wf_val_number(v, &x, NULL));
            if (!isinf(e))
                near(x, e, 1e-14 * fmax(1, e), "number");
        }
    assert_true(wf_val_number(wf_lowpass(0.1, 0.2, -1), &x, NULL) && isnan(x));
    /* h c / sqrt(eV (2 m c^2 + eV)) */
    assert_true(wf_val_number(wf_electron_wavelength(300), &x, NULL));
    near(x, 0.0196875, 5e-8, "300 kV");
    assert_true(wf_val_number(wf_electron_wavelength(200), &x, NULL));
    near(x, 0.0250793, 5e-8, "200 kV");
    assert_true(wf_val_number(wf_electron_wavelength(100), &x, NULL));
    near(x, 0.0370144, 5e-8, "100 kV");
    /* A complex number belongs to no recording, which a mistake would poison. */
    assert_true(wf_val_number(wf_ctf_phase(&(wf_ctf){ 0 }, 3, wf_complex(1, 2)), &x, NULL) && isnan(x));
}

/* ---- contrast transfer function ---- */
static wf_ctf as_numbers(const optics *o)
{
    return (wf_ctf){ .voltage = WF_V(o->kv),
                     .cs = WF_V(o->cs),
                     .amplitude = WF_V(o->w),
                     .defocus = WF_V(o->dz),
                     .astigmatism = WF_V(o->a),
                     .angle = WF_V(o->angle),
                     .phase_shift = WF_V(o->shift),
                     .bfactor = WF_V(o->b),
                     .scale = WF_V(o->scale) };
}

static wf_ctf as_values(wf_graph *g, const optics *o)
{
    static const char *const names[] = { "kv", "cs", "w", "dz", "a", "angle", "shift", "b", "scale" };
    const double x[] = { o->kv, o->cs, o->w, o->dz, o->a, o->angle, o->shift, o->b, o->scale != 0 ? o->scale : 1 };
    wf_val v[9];
    for (int i = 0; i < 9; ++i)
        v[i] = wf_param(g, names[i], WF_F64, x[i]);
    return (wf_ctf){ v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], WF_V(0) };
}

/* Up to Nyquist of a pixel of 0.5 Angstrom, where the phase has hundreds of turns. */
static void check_ctf(const optics *o, bool values)
{
    enum { H = 9, W = 10 };
    const double pixel = 0.5;
    wf_spectrum s = { WF_LAYOUT_FC, WF_F64, 2, { H, W } };
    wf_array *ctf = wf_empty(ctx, WF_F64, WF_SHAPE(H, W)), *phase = wf_like(ctf),
             *narrow = wf_empty(ctx, WF_F32, WF_SHAPE(H, W));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W));
    wf_ctf c = values ? as_values(g, o) : as_numbers(o);
    wf_val gy = wf_div(wf_freq(g, &s, 0, wf_index(g, 0)), pixel), gx = wf_div(wf_freq(g, &s, 1, wf_index(g, 1)), pixel);
    wf_out(g, ctf, wf_ctf_value(&c, gy, gx));
    wf_out(g, phase, wf_ctf_phase(&c, gy, gx));
    wf_val near_0 = wf_ctf_value(&c, wf_cast(wf_mul(gy, 0), WF_F32), wf_cast(wf_mul(gx, 0), WF_F32));
    assert_int_equal(wf_val_dtype(near_0), WF_F32);
    wf_out(g, narrow, near_0);
    OK(ctx, wf_run(g));
    double *x = download(ctf), *p = download(phase), *zero = download(narrow), turns;
    for (int i = 0; i < H * W; ++i) {
        double e = expected_ctf(o, frequency(&s, 0, i / W) / pixel, frequency(&s, 1, i % W) / pixel, &turns);
        near(p[i], turns, 2e-9 * fmax(1, fabs(turns)), "turns"); /* the constants of nature have 10 digits */
        near(x[i], e, 1e-8 * fmax(1, fabs(turns)), "ctf");
        near(zero[i], expected_ctf(o, 0, 0, &turns), 3e-7, "ctf at 0");
    }
    free(x);
    free(p);
    free(zero);
    wf_release(ctf);
    wf_release(phase);
    wf_release(narrow);
}

static void test_ctf(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof microscopes / sizeof *microscopes; ++i)
        for (int values = 0; values < 2; ++values)
            check_ctf(&microscopes[i], values);
}

static double ctf_at(optics o, double gy, double gx)
{
    double x;
    wf_ctf c = as_numbers(&o);
    assert_true(wf_val_number(wf_ctf_value(&c, gy, gx), &x, NULL));
    return x;
}

static void test_ctf_properties(void **state)
{
    (void)state;
    double lambda;
    assert_true(wf_val_number(wf_electron_wavelength(300), &lambda, NULL));
    near(ctf_at((optics){ .kv = 300, .cs = 2.7, .w = 0.1, .dz = 2 }, 0, 0), 0.1, 1e-15, "at 0");
    near(ctf_at((optics){ .kv = 300, .dz = 2 }, 0, sqrt(1 / (lambda * 2e4))), 0, 1e-15, "first zero");
    near(ctf_at((optics){ .kv = 300, .dz = 2 }, 0, sqrt(0.5 / (lambda * 2e4))), 1, 1e-15, "first extreme");
    optics o = { .kv = 300, .cs = 2.7, .w = 0.1, .dz = 1.5, .a = 0.2, .angle = 0.4 }, turned = o;
    turned.angle += M_PI;
    near(ctf_at(o, 0.1, 0.2), ctf_at(turned, 0.1, 0.2), 1e-12, "half a turn");
    /* along its angle the defocus is the larger one */
    optics along = { .kv = 300, .cs = 2.7, .w = 0.1, .dz = 1.7 };
    near(ctf_at(o, 0.2 * sin(0.4), 0.2 * cos(0.4)), ctf_at(along, 0, 0.2), 1e-12, "along");
    along.dz = 1.3;
    near(ctf_at(o, 0.2 * cos(0.4), -0.2 * sin(0.4)), ctf_at(along, 0.2, 0), 1e-12, "across");
}

/* ---- phase shifts ---- */
static wf_array *shifted(const wf_array *image, int h, int w, double sy, double sx)
{
    wf_array *f = wf_fft_r2c(image, WF_AXES(0, 1), WF_FFT_BACKWARD);
    wf_spectrum s = { WF_LAYOUT_H, WF_F32, 2, { h, w } };
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(f));
    wf_vals k = WF_VALS(wf_freq(g, &s, 0, wf_index(g, 0)), wf_freq(g, &s, 1, wf_index(g, 1)));
    wf_out(g, f, wf_mul(wf_in(g, f), wf_phase_shift(g, WF_VALS(sy, sx), k)));
    OK(ctx, wf_run(g));
    wf_array *back = wf_fft_c2r(f, w, WF_AXES(0, 1), WF_FFT_BACKWARD);
    wf_release(f);
    return back;
}

static void test_shift_rolls(void **state)
{
    (void)state;
    for (int h = 1; h <= 9; h += is_on_gpu() ? 4 : 2)
        for (int w = 1 + h / 2 % 2; w <= 9; w += is_on_gpu() ? 5 : 2) {
            float image[81];
            uint64_t seed = 9;
            for (int i = 0; i < h * w; ++i)
                image[i] = (float)(test_random(&seed) >> 40) / 16777216.0f - 0.5f;
            wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(h, w), image);
            wf_array *rolled = shifted(a, h, w, 2, -3);
            double *x = download(rolled);
            for (int i = 0; i < h; ++i)
                for (int j = 0; j < w; ++j)
                    near(x[i * w + j], image[(i - 2 + 9 * h) % h * w + (j + 3) % w], 2e-6, "rolled");
            free(x);
            wf_release(rolled);
            wf_release(a);
        }
}

static void test_shift_factors(void **state)
{
    (void)state;
    static const double shifts[][2] = { { 0.5, 0.25 }, { 3, -2 }, { 1000.375, -777.2 } };
    for (int n = 4; n <= 5; ++n)
        for (size_t i = 0; i < sizeof shifts / sizeof *shifts; ++i) {
            wf_spectrum s = { WF_LAYOUT_F, WF_F64, 2, { n, 6 } };
            wf_array *wide = wf_empty(ctx, WF_C128, shape_of(&s)), *narrow = wf_empty(ctx, WF_C64, shape_of(&s));
            wf_graph *g = wf_begin(ctx, .shape = shape_of(&s));
            wf_vals k = WF_VALS(wf_freq(g, &s, 0, wf_index(g, 0)), wf_freq(g, &s, 1, wf_index(g, 1)));
            wf_val y = wf_param(g, "y", WF_F64, shifts[i][0]);
            wf_val v = wf_phase_shift(g, WF_VALS(y, shifts[i][1]), k);
            assert_int_equal(wf_val_dtype(v), WF_C128);
            wf_out(g, wide, v);
            wf_vals k32 = WF_VALS(wf_cast(k.at[0], WF_F32), wf_div(wf_sub(wf_cast(wf_index(g, 1), WF_F32), 3), 6));
            wf_val v32 = wf_phase_shift(g, WF_VALS(1.25, 2), k32);
            assert_int_equal(wf_val_dtype(v32), WF_C64);
            wf_out(g, narrow, v32);
            OK(ctx, wf_run(g));
            number *x = download_complex(wide), *rounded = download_complex(narrow);
            for (int j = 0; j < n * 6; ++j) {
                number e = shift_factor(frequency(&s, 0, j / 6), shifts[i][0]) *
                           shift_factor(frequency(&s, 1, j % 6), shifts[i][1]);
                near(cabs(x[j] - e), 0, 1e-12, "factor");
                e = shift_factor(frequency(&s, 0, j / 6), 1.25) * shift_factor((j % 6 - 3) / 6.0, 2);
                near(cabs(rounded[j] - e), 0, 2e-6, "factor of f32");
            }
            free(x);
            free(rounded);
            wf_release(wide);
            wf_release(narrow);
        }
}

/* ---- mistakes ---- */
static wf_status run_with(wf_graph *g, wf_val v)
{
    wf_array *out = wf_empty(ctx, WF_F32, WF_SHAPE(4));
    wf_out(g, out, wf_real(v));
    wf_status status = wf_run(g);
    wf_release(out);
    return status;
}

#define BEGIN()                                        \
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(4)); \
    wf_val i = wf_index(g, 0), r = wf_cast(i, WF_F32)
#define WRONG(v, part)                                  \
    do {                                                \
        BEGIN();                                        \
        (void)i, (void)r;                               \
        REFUSED(ctx, run_with(g, v), WF_ERR_ARG, part); \
    } while (0)

static void test_mistakes(void **state)
{
    (void)state;
    const wf_spectrum good = { WF_LAYOUT_H, WF_F32, 1, { 6 } }, layout = { (wf_layout)4, WF_F32, 1, { 6 } },
                      rank = { WF_LAYOUT_H, WF_F32, 4, { 6 } }, size = { WF_LAYOUT_F, WF_F32, 1, { 0 } },
                      dtype = { WF_LAYOUT_F, WF_I32, 1, { 6 } };
    WRONG(wf_freq(g, NULL, 0, i), "wf_freq: `spectrum` is NULL");
    WRONG(wf_freq(g, &layout, 0, i), "wf_freq: spectrum.layout is 4");
    WRONG(wf_freq(g, &rank, 0, i), "wf_freq: spectrum.rank is 4");
    WRONG(wf_freq(g, &size, 0, i), "wf_freq: spectrum.size[0] is 0");
    WRONG(wf_freq(g, &dtype, 0, i), "wf_freq: spectrum.dtype is i32");
    WRONG(wf_freq(g, &good, 1, i), "wf_freq: `axis` is 1, but the spectrum has 1 axes");
    WRONG(wf_freq_norm(g, &good, WF_VALS(i, i)), "wf_freq_norm: `index` has 2 values for a spectrum of 1 axes");
    WRONG(wf_hermitian_weight(g, &good, WF_NO_VALS), "wf_hermitian_weight: `index` has 0 values");
    WRONG(wf_lowpass(r, 0.1, -0.5), "wf_lowpass: `width` is -0.5, not at least 0");
    WRONG(wf_highpass(r, 0.1, -0.5), "wf_highpass: `width` is -0.5");
    WRONG(wf_lowpass(r, -1, 0), "wf_lowpass: `cutoff` is -1, not at least 0");
    WRONG(wf_highpass(r, NAN, 0), "wf_highpass: `cutoff` is nan, not at least 0");
    WRONG(wf_bandpass(r, -0.1, 0, 0.2, 0), "wf_bandpass: `low` is -0.1, not at least 0");
    WRONG(wf_bandpass(r, 0.3, 0, 0.1, 0.1), "wf_bandpass: `high` is 0.1, not at least 0.3");
    WRONG(wf_bandpass(r, wf_const(g, WF_F32, 1), 0, 0.2, -1), "wf_bandpass: `high_width` is -1");
    WRONG(wf_bandpass(r, 0.1, 0, 0.2, -1), "wf_bandpass: `high_width` is -1");
    WRONG(wf_bandpass(r, 0.1, NAN, 0.2, 1), "wf_bandpass: `low_width` is nan");
    WRONG(wf_gaussian(r, 0), "wf_gaussian: `sigma` is 0, not above 0");
    WRONG(wf_butterworth(r, 0, 1), "wf_butterworth: `cutoff` is 0");
    WRONG(wf_butterworth(r, 1, -1), "wf_butterworth: `order` is -1");
    WRONG(wf_critical_dose(r, 0), "wf_critical_dose: `scale` is 0");
    WRONG(wf_dose_weight(r, -1, 1), "wf_dose_weight: `dose` is -1");
    WRONG(wf_dose_weight(r, 1, 0), "wf_dose_weight: `scale` is 0");
    WRONG(wf_soft_edge(r, -2), "wf_soft_edge: `width` is -2");
    WRONG(wf_kaiser(r, -2), "wf_kaiser: `beta` is -2");
    WRONG(wf_tukey(r, -0.5), "wf_tukey: `alpha` is -0.5");
    WRONG(wf_tukey(r, 1.5), "wf_tukey: `alpha` is 1.5, not at most 1");
    WRONG(wf_phase_shift(g, WF_VALS(1, 2), WF_VALS(r)), "wf_phase_shift: `shift` has 2 values and `k` 1");
    wf_ctf none = { .defocus = WF_V(1) }, contrast = { .voltage = WF_V(300), .amplitude = WF_V(1.5) };
    WRONG(wf_ctf_value(&none, r, 0), "wf_ctf_value: `ctf.voltage` is 0, not above 0");
    WRONG(wf_ctf_phase(&contrast, r, 0), "wf_ctf_phase: `ctf.amplitude` is 1.5, not -1 to 1");
    WRONG(wf_ctf_value(NULL, r, 0), "wf_ctf_value: `ctf` is NULL");
}

/* ---- window functions ----
 * The first five of nine elements of scipy.signal.windows (SciPy 1.17), symmetric; the rest mirrors them. */
typedef wf_val taper(wf_val x);
static wf_val hann(wf_val x) { return wf_hann(x); }
static wf_val hamming(wf_val x) { return wf_hamming(x); }
static wf_val blackman(wf_val x) { return wf_blackman(x); }
static wf_val cosine(wf_val x) { return wf_cosine(wf_mul(x, 8.0 / 9)); } /* of half samples */
static wf_val kaiser(wf_val x) { return wf_kaiser(x, 5.5); }
static wf_val kaiser_14(wf_val x) { return wf_kaiser(x, 14); }
static wf_val tukey(wf_val x) { return wf_tukey(x, 0.5); }
static wf_val tukey_03(wf_val x) { return wf_tukey(x, 0.3); }
static wf_val tukey_1(wf_val x) { return wf_tukey(x, 1); }
static wf_val tukey_0(wf_val x) { return wf_tukey(x, 0); }
static const struct {
    taper *call;
    double value[5];
} tapers[] = {
    { hann, { 0, 0.14644660940672627, 0.5, 0.85355339059327373, 1 } },
    { hamming, { 0.08, 0.21473088065418822, 0.54, 0.86526911934581197, 1 } },
    { blackman, { 0, 0.06644660940672624, 0.34, 0.77355339059327377, 1 } },
    { cosine, { 0.17364817766693033, 0.5, 0.76604444311897801, 0.93969262078590832, 1 } },
    { kaiser, { 0.023422141030646812, 0.19416127572185266, 0.51668372515083061, 0.8542285356181426, 1 } },
    { kaiser_14, { 7.7268668352703676e-06, 0.01080066848590914, 0.16493218754795197, 0.65174185924728945, 1 } },
    { tukey, { 0, 0.5, 1, 1, 1 } },
    { tukey_03, { 0, 0.93301270189221941, 1, 1, 1 } },
    { tukey_1, { 0, 0.14644660940672627, 0.5, 0.85355339059327373, 1 } },
    { tukey_0, { 1, 1, 1, 1, 1 } },
};

static void test_tapers(void **state)
{
    (void)state;
    enum { SYMMETRIC = 9, BEYOND = 2, N = SYMMETRIC + 2 * BEYOND };
    for (size_t t = 0; t < sizeof tapers / sizeof *tapers; ++t)
        for (int wide = 0; wide < 2; ++wide) {
            wf_array *out = wf_empty(ctx, wide ? WF_F64 : WF_F32, WF_SHAPE(N));
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
            wf_val i = wf_cast(wf_index(g, 0), wide ? WF_F64 : WF_F32);
            wf_out(g, out, tapers[t].call(wf_sub(wf_mul(i, 0.25), 1 + 0.25 * BEYOND)));
            OK(ctx, wf_run(g));
            double *v = download(out);
            for (int k = 0; k < N; ++k) {
                int at = k - BEYOND, from_edge = at <= 4 ? at : 8 - at;
                if (tapers[t].call != cosine || from_edge >= 0)
                    near(v[k], from_edge < 0 ? 0 : tapers[t].value[from_edge], wide ? 2e-15 : 5e-6, "window");
                double alone, x = 0.25 * at - 1;
                assert_true(wf_val_number(tapers[t].call(WF_V(x)), &alone, NULL));
                near(v[k], alone, wide ? 1e-15 : 5e-6, "window of a number");
            }
            free(v);
            wf_release(out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frequencies), cmocka_unit_test(test_parseval),      cmocka_unit_test(test_filters),
        cmocka_unit_test(test_numbers),     cmocka_unit_test(test_ctf),           cmocka_unit_test(test_ctf_properties),
        cmocka_unit_test(test_shift_rolls), cmocka_unit_test(test_shift_factors), cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_tapers),
    };
    return RUN_ON_ALL(tests);
}
