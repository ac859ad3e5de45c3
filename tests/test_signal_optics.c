/* test_signal_optics.c - beam tilt, envelopes, aberrations, weights of Fourier shell correlations, curves of frequency,
 * whitening, and correlation within cones, beside formulas in f64; and mistakes.
 *
 * ctest: devices
 */
#include "signal_formulas.h"
#include "weft/xform.h"

static wf_array *noise(wf_dtype dtype, wf_shape shape, uint64_t seed)
{
    wf_array *a = wf_empty_with(ctx, dtype, shape, NULL);
    OK(ctx, wf_array_random_normal(a, (wf_random){ .seed = seed }, 0, 1));
    return a;
}

/* ---- values ---- */
enum { SIDE = 9 };

/* Frequencies in 1/Angstrom of a point of a SIDE x SIDE grid, 0 in the middle. */
static double gy_of(int i) { return (i / SIDE - SIDE / 2) * 0.0625; }
static double gx_of(int i) { return (i % SIDE - SIDE / 2) * 0.078125; }

typedef wf_val optical(wf_graph *g, wf_val gy, wf_val gx);
typedef double optical_formula(double gy, double gx);

static const optics microscope = { 300, 2.7, 0.07, 1.2, 0.25, 0.7, 0, 0, 0 };
static wf_ctf ctf_of(void)
{
    return (wf_ctf){ .voltage = WF_V(microscope.kv),
                     .cs = WF_V(microscope.cs),
                     .amplitude = WF_V(microscope.w),
                     .defocus = WF_V(microscope.dz),
                     .astigmatism = WF_V(microscope.a),
                     .angle = WF_V(microscope.angle) };
}

static double wavelength(void)
{
    /* electrons of 300 kV, from CODATA 2022 by decimal arithmetic */
    return 0.019687488996516036;
}

static double defocus(double gy, double gx) /* Angstrom */
{
    return (microscope.dz + microscope.a * cos(2 * (atan2(gy, gx) - microscope.angle))) * 1e4;
}

static wf_val tilt(wf_graph *g, wf_val gy, wf_val gx)
{
    (void)g;
    wf_ctf c = ctf_of();
    return wf_ctf_beam_tilt(&c, 1.5, -0.5, gy, gx);
}
static double expected_tilt(double gy, double gx)
{
    double l = wavelength(), gg = gy * gy + gx * gx;
    return 2.7e7 * l * l * gg * (gy * 1.5e-3 - gx * 0.5e-3);
}

static wf_val spatial(wf_graph *g, wf_val gy, wf_val gx)
{
    wf_ctf c = ctf_of();
    return wf_ctf_spatial_envelope(&c, wf_const(g, WF_F64, 0.1), gy, gx);
}
static double expected_spatial(double gy, double gx)
{
    double l = wavelength(), r = hypot(gy, gx), s = 2.7e7 * l * l * r * r * r - defocus(gy, gx) * r;
    return exp(-pow(M_PI * 0.1e-3 * s, 2));
}

static wf_val temporal(wf_graph *g, wf_val gy, wf_val gx)
{
    (void)g;
    wf_ctf c = ctf_of();
    return wf_ctf_temporal_envelope(&c, 0.004, gy, gx);
}
static double expected_temporal(double gy, double gx)
{
    return exp(-pow(M_PI * wavelength() * 40 * (gy * gy + gx * gx), 2) / 2);
}

/* A trefoil, which is odd, and a tetrafoil, added to the phase. */
static wf_val aberrated(wf_graph *g, wf_val gy, wf_val gx)
{
    (void)g;
    wf_ctf c = ctf_of();
    c.aberration = wf_add(wf_mul(wf_zernike(3, 3, gy, gx), 0.5), wf_mul(wf_zernike(4, -4, gy, gx), 2));
    return wf_ctf_phase(&c, gy, gx);
}
static double expected_aberrated(double gy, double gx)
{
    double turns, r = hypot(gy, gx), phi = atan2(gy, gx);
    expected_ctf(&microscope, gy, gx, &turns);
    return turns + 0.5 * pow(r, 3) * cos(3 * phi) + 2 * pow(r, 4) * sin(4 * phi);
}

/* The height of the Ewald sphere, and the image of one side of it, whose real part is the CTF. */
static wf_val height(wf_graph *g, wf_val gy, wf_val gx)
{
    (void)g;
    return wf_ewald_height(300, wf_mul(gy, 50), wf_mul(gx, 50));
}
static double expected_height(double gy, double gx)
{
    long double l = 1 / (long double)wavelength();
    return (double)(l - sqrtl(l * l - 2500 * ((long double)gy * gy + (long double)gx * gx)));
}

static wf_ctf damped_ctf(void)
{
    wf_ctf c = ctf_of();
    c.bfactor = WF_V(-30);
    c.scale = WF_V(2);
    return c;
}
static wf_val side_real(wf_graph *g, wf_val gy, wf_val gx)
{
    (void)g;
    wf_ctf c = damped_ctf();
    return wf_real(wf_ctf_sideband(&c, gy, gx));
}
static double expected_side_real(double gy, double gx)
{
    optics o = microscope;
    double turns;
    o.b = -30;
    o.scale = 2;
    return expected_ctf(&o, gy, gx, &turns);
}
static wf_val side_imag(wf_graph *g, wf_val gy, wf_val gx)
{
    (void)g;
    wf_ctf c = damped_ctf();
    return wf_imag(wf_ctf_sideband(&c, gy, gx));
}
static double expected_side_imag(double gy, double gx)
{
    double turns;
    expected_ctf(&microscope, gy, gx, &turns);
    return cos(2 * M_PI * (turns - round(turns))) * exp(-30 * (gy * gy + gx * gx) / 4) * 2;
}

static const struct {
    optical *call;
    optical_formula *formula;
    bool always_f64;
} optical_functions[] = { { tilt, expected_tilt, true },           { spatial, expected_spatial, false },
                          { temporal, expected_temporal, false },  { aberrated, expected_aberrated, true },
                          { height, expected_height, true },       { side_real, expected_side_real, false },
                          { side_imag, expected_side_imag, false } };

/* Parameters with a matrix: the CTF at another frequency. */
static void test_magnified(void **state)
{
    (void)state;
    wf_spectrum s = { WF_LAYOUT_HC, WF_F64, 2, { 8, 10 } };
    double p[2][WF_CTF_MAGNIFIED] = { { 300, 2.7, 0.07, 1.2, 0.25, 0.7, 0, 0, 1 },
                                      { 200, 2, 0.1, 0.8, 0, 0, 0, -50, 2 } };
    wf_val m[4];
    wf_array *matrix = wf_empty(ctx, WF_F64, WF_SHAPE(4));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(1));
    wf_stretch_matrix(g, wf_const(g, WF_F64, 1.02), 0.97, 0.4, m);
    for (int i = 0; i < 4; ++i)
        wf_write(g, matrix, m[i], i);
    OK(ctx, wf_run(g));
    double *e = download(matrix), c = cos(0.4), n = sin(0.4);
    near(e[3] * c + e[2] * n, 1.02 * c, 1e-15, "stretch along, x");
    near(e[1] * c + e[0] * n, 1.02 * n, 1e-15, "stretch along, y");
    near(e[2] * c - e[3] * n, -0.97 * n, 1e-15, "stretch across, x");
    near(e[0] * c - e[1] * n, 0.97 * c, 1e-15, "stretch across, y");
    memcpy(p[0] + WF_CTF_MEMBERS, e, 4 * sizeof *e);
    memcpy(p[1] + WF_CTF_MEMBERS, (double[]){ 0.9, 0.1, -0.2, 1.1 }, 4 * sizeof *e);
    free(e);
    wf_array *parameters = array_of(ctx, WF_F64, WF_SHAPE(2, WF_CTF_MAGNIFIED), p);
    wf_array *out = wf_empty(ctx, WF_F64, WF_SHAPE(2, 8, 6));
    OK(ctx, wf_spectrum_ctf(out, NULL, &s, parameters, 1.3));
    double *found = download(out);
    for (int i = 0; i < 96; ++i) {
        const double *q = p[i / 48], *by = q + WF_CTF_MEMBERS;
        double gy = (i / 6 % 8 - 4) / (8 * 1.3), gx = i % 6 / (10 * 1.3), turns;
        optics o = { q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7], q[8] };
        double want = expected_ctf(&o, by[0] * gy + by[1] * gx, by[2] * gy + by[3] * gx, &turns);
        near(found[i], want, 1e-9, "magnified CTF");
    }
    free(found);
    wf_spectrum line = { WF_LAYOUT_H, WF_F64, 1, { 14 } };
    wf_array *one = wf_empty(ctx, WF_F64, WF_SHAPE(2, 8));
    REFUSED(ctx, wf_spectrum_ctf(one, NULL, &line, parameters, 1), WF_ERR_SHAPE, "`parameters` is f64(2, 13)");
    wf_array *all[] = { matrix, parameters, out, one };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
}

/* ---- random phases ---- */
/* Returns element k (signed) of a spectrum of the layout. */
static number element_of(const number *f, const wf_spectrum *s, int64_t ky, int64_t kx)
{
    bool half = s->layout == WF_LAYOUT_H || s->layout == WF_LAYOUT_HC;
    bool centred = s->layout == WF_LAYOUT_HC || s->layout == WF_LAYOUT_FC;
    int64_t h = s->size[0], w = s->size[1], y = centred ? ky + h / 2 : (ky + h) % h;
    int64_t x = half ? kx : s->layout == WF_LAYOUT_FC ? kx + w / 2 : (kx + w) % w;
    return f[y * (half ? w / 2 + 1 : w) + x];
}

static void test_randomized(void **state)
{
    (void)state;
    enum { H = 12, W = 10 };
    const double from = 0.21;
    wf_array *image = noise(WF_F64, WF_SHAPE(H, W), 3), *full = wf_fft_c2c(image, WF_ALL_AXES, false, WF_FFT_BACKWARD);
    number *before = download_complex(full), *by_layout[4];
    for (int layout = 0; layout < 4; ++layout) {
        wf_spectrum s = { (wf_layout)layout, WF_F64, 2, { H, W } };
        wf_array *factor = wf_empty(ctx, WF_C128, shape_of(&s));
        OK(ctx, wf_spectrum_randomize(factor, NULL, &s, from, (wf_random){ .seed = 7, .stream = 1 }));
        by_layout[layout] = download_complex(factor);
        wf_release(factor);
    }
    wf_spectrum f = { WF_LAYOUT_F, WF_F64, 2, { H, W } };
    int changed = 0, alone = 0;
    for (int64_t ky = -H / 2; ky < H / 2; ++ky)
        for (int64_t kx = -W / 2; kx <= W / 2; ++kx) {
            number here = element_of(by_layout[2], &f, ky, kx % (W / 2) || kx == 0 ? kx : -W / 2);
            double r = hypot((double)ky / H, (double)kx / W);
            near(cabs(here), 1, 1e-12, "length");
            if (r < from)
                near(cabs(here - 1), 0, 0, "kept");
            changed += r >= from && cabs(here - 1) > 1e-3;
            number opposite =
                element_of(by_layout[2], &f, ky == -H / 2 ? ky : -ky, kx == -W / 2 || kx == W / 2 ? -W / 2 : -kx);
            near(cabs(here - conj(opposite)), 0, 1e-12, "opposite");
            alone += r >= from && fabs(cimag(here)) < 1e-15;
            for (int layout = 0; layout < 4; ++layout) {
                wf_spectrum s = { (wf_layout)layout, WF_F64, 2, { H, W } };
                bool half = layout < 2;
                if (half ? kx < 0 : kx == W / 2)
                    continue;
                near(cabs(element_of(by_layout[layout], &s, ky, kx) - here), 0, 1e-15, "layout");
            }
        }
    assert_true(changed > 80 && alone >= 3 && alone < 8);
    /* images stay real; other streams and batches have other phases, the same ones the same */
    wf_array *moved = wf_like(full), *pair = wf_empty(ctx, WF_C128, WF_SHAPE(2, H, W)), *again = wf_like(full);
    OK(ctx, wf_spectrum_randomize(moved, full, &f, from, (wf_random){ .seed = 7, .stream = 1 }));
    OK(ctx, wf_array_assign(pair, full));
    OK(ctx, wf_spectrum_randomize(pair, pair, &f, from, (wf_random){ .seed = 7, .stream = 1 }));
    OK(ctx, wf_spectrum_randomize(again, full, &f, from, (wf_random){ .seed = 7, .stream = 2 }));
    wf_array *back = wf_fft_c2c(moved, WF_ALL_AXES, true, WF_FFT_BACKWARD);
    number *x = download_complex(back), *p = download_complex(pair), *q = download_complex(moved),
           *other = download_complex(again);
    double apart = 0, by_stream = 0;
    for (int i = 0; i < H * W; ++i) {
        near(cimag(x[i]), 0, 1e-12, "image");
        near(cabs(p[i] - q[i]), 0, 0, "first of the batch");
        near(cabs(q[i]), cabs(before[i]), 1e-12, "amplitude");
        apart += cabs(p[H * W + i] - p[i]);
        by_stream += cabs(other[i] - q[i]);
    }
    assert_true(apart > 100 && by_stream > 100);
    /* phases are spread over all angles: the mean of many is about 1 / sqrt(n) */
    wf_spectrum line = { WF_LAYOUT_H, WF_F32, 1, { 4001 } };
    wf_array *many = wf_empty(ctx, WF_C64, WF_SHAPE(2001));
    OK(ctx, wf_spectrum_randomize(many, NULL, &line, 0, (wf_random){ .seed = 1 }));
    number *z = download_complex(many), sum = 0, squares = 0;
    for (int i = 0; i < 2001; ++i) {
        sum += z[i] / 2001;
        squares += z[i] * z[i] / 2001;
    }
    assert_true(cabs(sum) < 0.08 && cabs(squares) < 0.08);
    REFUSED(ctx, wf_spectrum_randomize(many, NULL, &line, -1, (wf_random){ .seed = 1 }), WF_ERR_ARG, "`from` is -1");
    REFUSED(ctx, wf_spectrum_randomize(many, NULL, &f, 0, (wf_random){ .seed = 1 }), WF_ERR_SHAPE,
            "spectrum's elements");
    void *memory[] = { before, by_layout[0], by_layout[1], by_layout[2], by_layout[3], x, p, q, other, z };
    for (int i = 0; i < 10; ++i)
        free(memory[i]);
    wf_array *all[] = { image, full, moved, pair, again, back, many };
    for (int i = 0; i < 7; ++i)
        wf_release(all[i]);
}

static void test_optics(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof optical_functions / sizeof *optical_functions; ++f)
        for (int wide = 0; wide < 2; ++wide) {
            wf_dtype t = wide ? WF_F64 : WF_F32;
            wf_array *out = wf_empty(ctx, WF_F64, WF_SHAPE(SIDE * SIDE));
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(SIDE * SIDE));
            wf_val i = wf_index(g, 0), y = wf_sub(wf_idiv(i, SIDE), SIDE / 2), x = wf_sub(wf_mod(i, SIDE), SIDE / 2);
            wf_val v = optical_functions[f].call(g, wf_mul(wf_cast(y, t), 0.0625), wf_mul(wf_cast(x, t), 0.078125));
            assert_int_equal(wf_val_dtype(v), optical_functions[f].always_f64 ? WF_F64 : t);
            wf_out(g, out, v);
            OK(ctx, wf_run(g));
            double *found = download(out);
            for (int k = 0; k < SIDE * SIDE; ++k) {
                double e = optical_functions[f].formula(gy_of(k), gx_of(k));
                near(found[k], e, (wide ? 1e-9 : 1e-6) * fmax(1, fabs(e)), "optics");
            }
            free(found);
            wf_release(out);
        }
}

static double factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

/* The definition by angles and factorials. */
static double expected_zernike(int n, int m, double y, double x)
{
    double r = hypot(y, x), phi = atan2(y, x), sum = 0;
    int o = abs(m);
    for (int k = 0; k <= (n - o) / 2; ++k)
        sum += (k % 2 ? -1 : 1) * factorial(n - k) /
               (factorial(k) * factorial((n + o) / 2 - k) * factorial((n - o) / 2 - k)) * pow(r, n - 2 * k);
    return sum * (m < 0 ? sin(-m * phi) : cos(m * phi));
}

static void test_zernike(void **state)
{
    (void)state;
    for (int n = 0; n <= 8; ++n)
        for (int m = -n; m <= n; m += 2) {
            double points[] = { 0, 0.25, 0.5, -0.75, 1 }, alone;
            wf_array *at = array_of(ctx, WF_F64, WF_SHAPE(5), points), *out = wf_like(at);
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(5));
            wf_val y = wf_in(g, at);
            wf_out(g, out, wf_add(wf_zernike(n, m, y, wf_mul(wf_sub(y, 0.5), 0.5)), wf_mul(y, 0)));
            OK(ctx, wf_run(g));
            double *v = download(out);
            for (int i = 0; i < 5; ++i)
                near(v[i], expected_zernike(n, m, points[i], (points[i] - 0.5) / 2), 1e-12, "Zernike");
            assert_true(wf_val_number(wf_zernike(n, m, 0, 1), &alone, NULL)); /* the rim, at angle 0 */
            near(alone, m < 0 ? 0 : 1, 1e-12, "Zernike at the rim");
            free(v);
            wf_release(at);
            wf_release(out);
        }
}

static void test_weights(void **state)
{
    (void)state;
    const double fsc[] = { 1, 0.143, 0.5, 0, -0.3 }, weight[] = { 1, 0.50021867, 0.81649658, 0, 0 },
                 snr[] = { INFINITY, 0.33372229, 2, 0, 0 };
    wf_array *in = array_of(ctx, WF_F64, WF_SHAPE(5), fsc), *out[4];
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(5));
    wf_val x = wf_in(g, in), v[] = { wf_fsc_weight(x), wf_fsc_snr(x), wf_fsc_unmasked(x, 0.125), wf_wiener(x, 4) };
    for (int i = 0; i < 4; ++i)
        wf_out(g, out[i] = wf_like(in), v[i]);
    OK(ctx, wf_run(g));
    for (int i = 0; i < 4; ++i) {
        double *found = download(out[i]);
        for (int k = 0; k < 5; ++k) {
            double e = i == 0   ? weight[k]
                       : i == 1 ? snr[k]
                       : i == 2 ? (fsc[k] - 0.125) / 0.875
                                : fsc[k] / (fsc[k] * fsc[k] + 0.25);
            if (isinf(e))
                assert_true(found[k] == e);
            else
                near(found[k], e, i < 2 ? 1e-8 : 1e-15, "weight");
        }
        free(found);
        wf_release(out[i]);
    }
    wf_release(in);
}

/* ---- arrays ---- */
static double length_at(const wf_spectrum *s, const wf_shape *one, int64_t i)
{
    double sum = 0;
    for (int d = s->rank - 1; d >= 0; --d) {
        sum += pow(frequency(s, d, i % one->dim[d]), 2);
        i /= one->dim[d];
    }
    return sqrt(sum);
}

static void test_curves(void **state)
{
    (void)state;
    enum { N = 4 };
    const double curves[2][N] = { { 1, 3, -2, 0.5 }, { 4, 4, 0, 1 } }, step = 0.125;
    for (int layout = 0; layout < 4; ++layout) {
        wf_spectrum s = { (wf_layout)layout, WF_F32, 2, { 7, 6 } };
        wf_shape one = shape_of(&s);
        wf_array *x = noise(WF_C128, WF_SHAPE(2, one.dim[0], one.dim[1]), 1), *y = wf_like(x),
                 *factor = wf_empty(ctx, WF_F32, one), *both = array_of(ctx, WF_F64, WF_SHAPE(2, N), curves),
                 *first = wf_view_at(both, 0, 0);
        OK(ctx, wf_spectrum_curve(y, x, &s, both, step));
        OK(ctx, wf_spectrum_curve(factor, NULL, &s, first, step));
        number *a = download_complex(x), *b = download_complex(y);
        double *f = download(factor);
        int64_t n = one.dim[0] * one.dim[1];
        for (int64_t i = 0; i < 2 * n; ++i) {
            double at = fmin(length_at(&s, &one, i % n) / step, N - 1), e;
            int k = (int)fmin(floor(at), N - 2);
            e = curves[i / n][k] + (at - k) * (curves[i / n][k + 1] - curves[i / n][k]);
            near(cabs(b[i] - a[i] * e), 0, 1e-13, "times a curve");
            if (i < n)
                near(f[i], e, 1e-6, "a curve");
        }
        free(a);
        free(b);
        free(f);
        wf_array *given[] = { x, y, factor, both, first };
        for (int i = 0; i < 5; ++i)
            wf_release(given[i]);
    }
}

/* The power of what was whitened is 1 in each shell, for each of a batch, in place, too; phases stay. */
static void test_whitening(void **state)
{
    (void)state;
    const wf_spectrum all[] = { { WF_LAYOUT_H, WF_F32, 2, { 12, 10 } },
                                { WF_LAYOUT_FC, WF_F32, 2, { 9, 8 } },
                                { WF_LAYOUT_HC, WF_F32, 3, { 6, 7, 8 } },
                                { WF_LAYOUT_F, WF_F32, 1, { 15 } } };
    for (int k = 0; k < 4; ++k) {
        const wf_spectrum *s = &all[k];
        wf_shape one = shape_of(s), two = { .rank = one.rank + 1, .dim = { 2 } };
        int64_t n = 1;
        for (int d = 0; d < one.rank; ++d) {
            two.dim[d + 1] = one.dim[d];
            n *= one.dim[d];
        }
        wf_array *x = noise(WF_C128, two, 2), *y = wf_like(x);
        OK(ctx, wf_spectrum_whiten(y, x, s));
        wf_array *power = wf_radial_average(y, s);
        double *p = download(power);
        for (int64_t i = 0; i < wf_array_count(power); ++i)
            near(p[i], 1, 1e-12, "power");
        number *a = download_complex(x), *b = download_complex(y);
        for (int64_t i = 0; i < 2 * n; ++i)
            near(carg(a[i]), carg(b[i]), 1e-12, "phase");
        OK(ctx, wf_spectrum_whiten(x, x, s));
        bool close = false;
        OK(ctx, wf_array_all_close(x, y, 0, 0, false, &close));
        assert_true(close);
        wf_array *zero = wf_full(ctx, WF_C64, one, 0);
        OK(ctx, wf_spectrum_whiten(zero, zero, s));
        number *z = download_complex(zero);
        for (int64_t i = 0; i < n; ++i)
            assert_true(z[i] == 0);
        free(p);
        free(a);
        free(b);
        free(z);
        wf_array *given[] = { x, y, power, zero };
        for (int i = 0; i < 4; ++i)
            wf_release(given[i]);
    }
}

/* Correlation within cones, element by element. */
static void check_cones(const wf_spectrum *s, double half_angle)
{
    enum { CONES = 3, SHELLS = 8 };
    const double directions[CONES][3] = { { 0, 0, 1 }, { 2, -1, 0.5 }, { 1e-3, 0, 0 } };
    wf_shape one = shape_of(s), two = { .rank = one.rank + 1, .dim = { 2 } };
    int64_t n = 1, shells = wf_shell_count(s), smallest = INT64_MAX;
    double rows[CONES * 3];
    for (int d = 0; d < one.rank; ++d) {
        two.dim[d + 1] = one.dim[d];
        n *= one.dim[d];
        smallest = s->size[d] < smallest ? s->size[d] : smallest;
    }
    for (int c = 0; c < CONES; ++c)
        for (int d = 0; d < s->rank; ++d)
            rows[c * s->rank + d] = directions[c][s->rank == 2 ? (c == 0 ? d + 1 : d) : d];
    wf_array *a = noise(WF_C64, two, 3), *b = noise(WF_C64, two, 4),
             *lines = array_of(ctx, WF_F64, WF_SHAPE(CONES, s->rank), rows),
             *fsc = wf_fsc_conical(a, b, s, lines, half_angle);
    assert_non_null(fsc);
    wf_shape shape = wf_array_shape(fsc);
    assert_true(shape.rank == 3 && shape.dim[0] == 2 && shape.dim[1] == CONES && shape.dim[2] == shells);
    number *x = download_complex(a), *y = download_complex(b);
    double *found = download(fsc);
    for (int part = 0; part < 2; ++part)
        for (int c = 0; c < CONES; ++c) {
            double sum[3][SHELLS] = { { 0 } };
            for (int64_t i = 0, rest; i < n; ++i) {
                double k[3] = { 0 }, kk = 0, along = 0, dd = 0, weight = 1;
                rest = i;
                for (int d = s->rank - 1; d >= 0; --d) {
                    k[d] = frequency(s, d, rest % one.dim[d]);
                    rest /= one.dim[d];
                    kk += k[d] * k[d];
                    along += k[d] * rows[c * s->rank + d];
                    dd += pow(rows[c * s->rank + d], 2);
                }
                if (s->layout == WF_LAYOUT_H && k[s->rank - 1] != 0 && k[s->rank - 1] != 0.5)
                    weight = 2;
                int64_t shell = (int64_t)floor((double)smallest * sqrt(kk) + 0.5);
                double angle = kk > 0 ? acos(fmin(1, fabs(along) / sqrt(kk * dd))) : 0;
                if (shell >= shells || angle > half_angle + 1e-9)
                    continue;
                number p = x[part * n + i], q = y[part * n + i];
                sum[0][shell] += weight * creal(p * conj(q));
                sum[1][shell] += weight * pow(cabs(p), 2);
                sum[2][shell] += weight * pow(cabs(q), 2);
            }
            for (int64_t i = 0; i < shells; ++i) {
                double norm = sqrt(sum[1][i]) * sqrt(sum[2][i]), e = norm > 0 ? sum[0][i] / norm : 0;
                near(found[(part * CONES + c) * shells + i], e, 1e-12, "within a cone");
            }
        }
    free(x);
    free(y);
    free(found);
    wf_array *given[] = { a, b, lines, fsc };
    for (int i = 0; i < 4; ++i)
        wf_release(given[i]);
}

static void test_cones(void **state)
{
    (void)state;
    check_cones(&(wf_spectrum){ WF_LAYOUT_H, WF_F32, 3, { 8, 9, 10 } }, 0.35);
    check_cones(&(wf_spectrum){ WF_LAYOUT_FC, WF_F32, 2, { 9, 8 } }, 0.8);
    check_cones(&(wf_spectrum){ WF_LAYOUT_H, WF_F32, 2, { 12, 11 } }, 0.5);
    /* a right angle: everything, as wf_fsc */
    wf_spectrum s = { WF_LAYOUT_H, WF_F32, 2, { 8, 8 } };
    wf_shape one = shape_of(&s);
    const double line[] = { 1, 2 };
    wf_array *a = noise(WF_C64, one, 5), *b = noise(WF_C64, one, 6), *d = array_of(ctx, WF_F64, WF_SHAPE(1, 2), line),
             *all = wf_fsc(a, b, &s), *cone = wf_fsc_conical(a, b, &s, d, M_PI / 2);
    bool close = false;
    OK(ctx, wf_array_all_close(cone, all, 1e-13, 1e-13, false, &close));
    assert_true(close);
    wf_array *given[] = { a, b, d, all, cone };
    for (int i = 0; i < 5; ++i)
        wf_release(given[i]);
}

/* ---- mistakes ---- */
#define WRONG(value, text)                                 \
    do {                                                   \
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(3)); \
        wf_val r = wf_cast(wf_index(g, 0), WF_F32);        \
        (void)r;                                           \
        (void)(value);                                     \
        REFUSED(ctx, wf_run(g), WF_ERR_ARG, text);         \
    } while (0)

static void test_mistakes(void **state)
{
    (void)state;
    wf_ctf none = { .defocus = WF_V(1) }, good = ctf_of();
    WRONG(wf_ctf_beam_tilt(&none, 1, 1, r, 0), "wf_ctf_beam_tilt: `ctf.voltage` is 0");
    WRONG(wf_ctf_beam_tilt(NULL, 1, 1, r, 0), "wf_ctf_beam_tilt: `ctf` is NULL");
    WRONG(wf_ctf_spatial_envelope(&good, -1, r, 0), "wf_ctf_spatial_envelope: `semi_angle` is -1");
    WRONG(wf_ctf_temporal_envelope(&good, -1, r, 0), "wf_ctf_temporal_envelope: `spread` is -1");
    WRONG(wf_ctf_temporal_envelope(NULL, 1, r, 0), "wf_ctf_temporal_envelope: `ctf` is NULL");
    WRONG(wf_zernike(3, 2, r, 0), "wf_zernike: there is no polynomial of n = 3, m = 2");
    WRONG(wf_zernike(2, -4, r, 0), "n = 2, m = -4");
    WRONG(wf_zernike(22, 0, r, 0), "n = 22, m = 0");
    wf_spectrum s = { WF_LAYOUT_H, WF_F32, 2, { 4, 6 } };
    wf_array *x = noise(WF_C64, WF_SHAPE(2, 4, 4), 1), *curve = wf_full(ctx, WF_F32, WF_SHAPE(3), 1),
             *three = wf_full(ctx, WF_F32, WF_SHAPE(3, 3), 1), *real = wf_full(ctx, WF_F32, WF_SHAPE(2, 4, 4), 1);
    REFUSED(ctx, wf_spectrum_curve(x, x, &s, curve, 0), WF_ERR_ARG, "wf_spectrum_curve: `step` is 0");
    REFUSED(ctx, wf_spectrum_curve(x, x, &s, NULL, 1), WF_ERR_ARG, "`curve` is NULL, complex or without");
    REFUSED(ctx, wf_spectrum_curve(x, x, &s, x, 1), WF_ERR_ARG, "`curve` is NULL, complex or without");
    REFUSED(ctx, wf_spectrum_curve(x, x, &s, three, 1), WF_ERR_SHAPE, "`curve` is f32(3, 3), not (3) or (2, 3)");
    REFUSED(ctx, wf_spectrum_whiten(real, real, &s), WF_ERR_DTYPE, "wf_spectrum_whiten: `x` is f32");
    REFUSED(ctx, wf_spectrum_whiten(x, NULL, &s), WF_ERR_ARG, "wf_spectrum_whiten: `x` is NULL");
    REFUSED(ctx, of_null(wf_fsc_conical(x, x, &s, three, 1)), WF_ERR_SHAPE, "wf_fsc_conical: `directions` is (3, 3)");
    REFUSED(ctx, of_null(wf_fsc_conical(x, x, &s, curve, 1)), WF_ERR_SHAPE, "wf_fsc_conical: `directions` is (3)");
    wf_array *two = wf_full(ctx, WF_F32, WF_SHAPE(3, 2), 1);
    REFUSED(ctx, of_null(wf_fsc_conical(x, x, &s, two, 2)), WF_ERR_ARG, "wf_fsc_conical: `half_angle` is 2");
    REFUSED(ctx, of_null(wf_fsc_conical(x, x, &s, two, NAN)), WF_ERR_ARG, "`half_angle` is nan");
    wf_array *given[] = { x, curve, three, real, two };
    for (int i = 0; i < 5; ++i)
        wf_release(given[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_optics),    cmocka_unit_test(test_magnified), cmocka_unit_test(test_randomized),
        cmocka_unit_test(test_zernike),   cmocka_unit_test(test_weights),   cmocka_unit_test(test_curves),
        cmocka_unit_test(test_whitening), cmocka_unit_test(test_cones),     cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
