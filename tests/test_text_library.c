/* test_text_library.c - functions of the libraries in operator text, and reads between elements: compared with sums that
 * are written out here, and with results that are exact. Texts that are mistakes.
 *
 * ctest: devices
 */
#include <complex.h>
#include <math.h>
#include "text_memory.h"

enum { H = 7, W = 9, N = H * W };
static const double pi = 3.14159265358979323846;
static double av[N], bv[N]; /* the elements of the arrays `a` and `b`; f32 holds them */

/* Compares the value of the text, of n elements, with want[n]. Complex results: with their real and imaginary parts. */
static void check_n(const char *text, const double *want, int n)
{
    float v[2][N];
    for (int i = 0; i < N; i++) {
        av[i] = v[0][i] = (float)((i * 37) % 101) * 0.25f - 3;
        bv[i] = v[1][i] = (float)((i * 53 + 7) % 97) * 0.125f;
    }
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(H, W)), *b = wf_empty(ctx, WF_F32, WF_SHAPE(H, W)), *out = NULL;
    OK(ctx, wf_upload(a, v[0], sizeof v[0]));
    OK(ctx, wf_upload(b, v[1], sizeof v[1]));
    const char *result[] = { "out" };
    double got[2 * N];
    if (wf_text_create(ctx, text, WF_ARGS(WF_ARG("a", a), WF_ARG("b", b)), 0, result, 1, &out) != WF_OK)
        fail_msg("%s: %s", text, wf_last_message(ctx));
    bool pairs = wf_dtype_kind(wf_array_dtype(out)) == WF_KIND_COMPLEX;
    if (wf_array_count(out) * (pairs ? 2 : 1) != n)
        fail_msg("%s: %d elements, not %d", text, (int)wf_array_count(out), n);
    wf_array *wide = wf_empty(ctx, pairs ? WF_C128 : WF_F64, wf_array_shape(out));
    OK(ctx, wf_text(ctx, pairs ? "wide = c128(out)" : "wide = f64(out)", wide, out));
    OK(ctx, wf_download(wide, got, (size_t)n * sizeof *got));
    double largest = 0; /* errors of transforms are relative to the largest element */
    for (int i = 0; i < n; i++)
        largest = fmax(largest, fabs(want[i]));
    for (int i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 3e-6 * (1 + largest)))
            fail_msg("%s: element %d is %.9g, not %.9g", text, i, got[i], want[i]);
    wf_release(a);
    wf_release(b);
    wf_release(out);
    wf_release(wide);
}
static void check(const char *text, const double *want) { check_n(text, want, N); }

/* The transform of all elements, from its definition. sign: -1 forward, 1 back and scaled. */
static void dft(const double complex *x, int sign, double complex *out)
{
    for (int k = 0; k < N; k++) {
        double complex sum = 0;
        for (int i = 0; i < N; i++) {
            double turns = (double)((k / W) * (i / W) % H) / H + (double)((k % W) * (i % W) % W) / W;
            sum += x[i] * cexp(sign * 2 * pi * turns * I);
        }
        out[k] = sign > 0 ? sum / N : sum;
    }
}

static double frequency(int k, int n) { return (double)(k <= (n - 1) / 2 ? k : k - n) / n; }

typedef double response(double ky, double kx);
/* Sets out[N] to `a`, whose spectrum is multiplied by a response. */
static void filter(response *at, double *out)
{
    double complex x[N], f[N];
    for (int i = 0; i < N; i++)
        x[i] = av[i];
    dft(x, -1, f);
    for (int k = 0; k < N; k++)
        f[k] *= at(frequency(k / W, H), frequency(k % W, W));
    dft(f, 1, x);
    for (int i = 0; i < N; i++)
        out[i] = creal(x[i]);
}

static void test_transforms(void **state)
{
    (void)state;
    double complex x[N], f[N];
    double pairs[2 * N], want[N], half[2 * H * (W / 2 + 1)];
    check_n("a", av, N); /* sets av and bv */
    for (int i = 0; i < N; i++)
        x[i] = av[i];
    dft(x, -1, f);
    for (int k = 0; k < N; k++) {
        pairs[2 * k] = creal(f[k]);
        pairs[2 * k + 1] = cimag(f[k]);
        want[k] = creal(f[k] * conj(f[k])) / 1000;
        if (k % W <= W / 2)
            memcpy(&half[2 * (k / W * (W / 2 + 1) + k % W)], &pairs[2 * k], 2 * sizeof *pairs);
    }
    check_n("fft(a)", pairs, 2 * N);
    check_n("rfft(a)", half, 2 * H * (W / 2 + 1));
    check("abs(fft(a))**2 / 1000", want);
    check("real(ifft(fft(a)))", av);
    check("irfft(rfft(a), 9)", av);
    check("idct(dct(a))", av);
    check("idst(dst(a, 1; 0), 1; 0)", av);
    check("ifftshift(fftshift(a))", av);
    for (int i = 0; i < N; i++)
        want[i] = av[(i / W + H - H / 2) % H * W + (i % W + W - W / 2) % W];
    check("fftshift(a)", want);
    for (int y = 0; y < H; y++) /* type 2, along the rows */
        for (int k = 0; k < W; k++) {
            want[y * W + k] = 0;
            for (int j = 0; j < W; j++)
                want[y * W + k] += 2 * av[y * W + j] * cos(pi * k * (2 * j + 1) / (2 * W));
        }
    check("dct(a; 1)", want);
    check("m = mean(a); dct(a - m; -1) + dct(m + 0*a; -1)", want); /* of values that the text computes */
    for (int i = 0; i < N; i++) {                                  /* the sum over x of a[x + l] b[x] */
        want[i] = 0;
        for (int k = 0; k < N; k++)
            want[i] += av[(k / W + i / W) % H * W + (k % W + i % W) % W] * bv[k];
    }
    check("correlate(a, b)", want);
}

static void test_shells(void **state)
{
    (void)state;
    enum { SHELLS = H / 2 + 1 };
    double complex x[N], y[N], f[N], g[N];
    double power[SHELLS] = { 0 }, other[SHELLS] = { 0 }, product[SHELLS] = { 0 }, n[SHELLS] = { 0 };
    check("a", av);
    for (int i = 0; i < N; i++) {
        x[i] = av[i];
        y[i] = bv[i];
    }
    dft(x, -1, f);
    dft(y, -1, g);
    for (int k = 0; k < N; k++) {
        int shell = (int)floor(H * hypot(frequency(k / W, H), frequency(k % W, W)) + 0.5);
        if (shell >= SHELLS)
            continue;
        n[shell]++;
        power[shell] += creal(f[k] * conj(f[k]));
        other[shell] += creal(g[k] * conj(g[k]));
        product[shell] += creal(f[k] * conj(g[k]));
    }
    for (int i = 0; i < SHELLS; i++) {
        product[i] /= sqrt(power[i] * other[i]);
        power[i] /= n[i];
    }
    check_n("radial_power(a)", power, SHELLS);
    check_n("fsc(a, b)", product, SHELLS);
    check_n("sum(0 * power_spectrum(a, 4) + 1)", (double[]){ 4 * 3 }, 1);
}

/* ---- filters ---- */

static double falling(double r, double cutoff, double width)
{
    return r <= cutoff ? 1 : r >= cutoff + width ? 0 : (1 + cos(pi * (r - cutoff) / width)) / 2;
}
static double low(double ky, double kx) { return falling(hypot(ky, kx), 0.2, 0.1); }
static double high(double ky, double kx) { return 1 - falling(hypot(ky, kx), 0.1, 0.1); }
static double band(double ky, double kx) { return (1 - falling(hypot(ky, kx), 0.1, 0.1)) * low(ky, kx); }
static double sharp(double ky, double kx) { return hypot(ky, kx) <= 0.25; }
static double butterworth(double ky, double kx) { return 1 / sqrt(1 + pow(hypot(ky, kx) / 0.2, 8)); }
static double bfactor(double ky, double kx) { return exp(-20 * (ky * ky + kx * kx) / (1.5 * 1.5) / 4); }
static double ctf(double ky, double kx)
{
    double lambda = 12.2642598 / sqrt(300e3 * (1 + 0.97847538e-6 * 300e3)), g2 = (ky * ky + kx * kx) / (1.5 * 1.5);
    double z = 1e4 * (1 + 0.1 * cos(2 * (atan2(ky, kx) - 0.4)));
    return sin(pi * lambda * z * g2 - pi / 2 * 2.7e7 * lambda * lambda * lambda * g2 * g2 + asin(0.07));
}
static double flip(double ky, double kx) { return ctf(ky, kx) < 0 ? -1 : 1; }

static void test_filters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        response *at;
    } cases[] = {
        { "lowpass(a, 0.2, 0.1)", low },
        { "lowpass(a, 0.25)", sharp },
        { "highpass(a, 0.2, 0.1)", high },
        { "bandpass(a, 0.2, 0.2, 0.1)", band },
        { "lowpass(a, max(b) / max(b) * 0.2, 0.1)", low }, /* numbers are computed, too */
        { "butterworth(a, 0.2, 4)", butterworth },
        { "bfactor(a, 1.5, -20)", bfactor },
        { "ctf(a, 1.5, 300, 2.7, 0.07, 1, 0.1, 0.4)", ctf },
        { "phase_flip(a, 1.5, 300, 2.7, 0.07, 1, 0.1, 0.4)", flip },
    };
    double want[N];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        filter(cases[i].at, want);
        check(cases[i].text, want);
    }
    filter(low, want);
    for (int i = 0; i < N; i++)
        want[i] = 2 * want[i] + i % W;
    check("f32 s = 0; for (int i = 0; i < 2; i++) s += lowpass(a, 0.2, 0.1); out = s + x", want); /* in a program */
}

static int mirrored(int i, int n) { return i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i; }

static void test_windows(void **state)
{
    (void)state;
    double mean[N], least[N], most[N], line[N], kernel[9], sum = 0;
    check("a", av);
    for (int j = -4; j <= 4; j++)
        sum += kernel[j + 4] = exp(-j * j / 2.0);
    for (int i = 0; i < N; i++) {
        mean[i] = line[i] = 0;
        least[i] = INFINITY;
        most[i] = -INFINITY;
        for (int j = 0; j < 9; j++) {
            double v = av[mirrored(i / W + j / 3 - 1, H) * W + mirrored(i % W + j % 3 - 1, W)];
            mean[i] += v / 9;
            least[i] = fmin(least[i], v);
            most[i] = fmax(most[i], v);
            line[i] += kernel[j] / sum * av[i / W * W + mirrored(i % W + j - 4, W)];
        }
    }
    check("uniform_filter(a, 3)", mean);
    check("erode(a, 3)", least);
    check("dilate(a, 3)", most);
    check("-dilate(-a, 3)", least);
    check("gaussian_filter(a, 1; 1)", line);
    for (int i = 0; i < N; i++)
        line[i] = least[i] > 0;
    check("erode(a > 0, 3)", line); /* bools stay bools */
    check("morphology_open(a, 1)", av);
    check("morphology_close(a, 1)", av);
    for (int i = 0; i < N; i++) /* the middle of three */
        least[i] =
            fmax(fmin(av[i], av[i / W * W + mirrored(i % W + 1, W)]),
                 fmin(fmax(av[i], av[i / W * W + mirrored(i % W + 1, W)]), av[i / W * W + mirrored(i % W - 1, W)]));
    check("median_filter(a, 3; -1)", least);
}

/* ---- geometry ---- */

static void test_geometry(void **state)
{
    (void)state;
    double want[N];
    check("a", av);
    for (int i = 0; i < N; i++) { /* half a turn about the middle: extents are odd */
        want[i] = av[N - 1 - i];
    }
    check("rotate(a, pi)", want);
    for (int i = 0; i < N; i++) /* x goes to y; columns 1 to 7 come from inside */
        want[i] = i % W >= 1 && i % W <= 7 ? av[(3 - (i % W - 4)) * W + 4 + (i / W - 3)] : 0;
    check("rotate(a, pi/2)", want);
    for (int i = 0; i < N; i++)
        want[i] = i / W >= 2 && i % W + 3 < W ? av[(i / W - 2) * W + i % W + 3] : 0;
    check("shift(a, 2, -3)", want); /* no spline, which would overshoot outside */
    for (int i = 0; i < N; i++)
        want[i] = i % W >= 1 ? av[i - 1] : 0;
    check("shift(a, 1)", want);
    for (int i = 0; i < 6; i++) {
        want[i] = 0;
        for (int j = 0; j < 9; j++)
            want[i] += av[(i / 3 * 3 + j / 3) * W + i % 3 * 3 + j % 3] / 9;
    }
    check_n("bin(a, 3)", want, 6);
    /* every second element of a doubled image; the middle stays */
    for (int i = 0; i < N; i++) {
        int y = 3 + 2 * (i / W - 3), x = 4 + 2 * (i % W - 4);
        want[i] = y >= 0 && y < H && x >= 0 && x < W ? av[y * W + x] : 0; /* splines overshoot outside */
    }
    check("scale(a, 0.5) * (abs(y - 3) <= 1 && abs(x - 4) <= 2)", want);
}

static double read_at(int y, int x) { return y >= 0 && y < H && x >= 0 && x < W ? av[y * W + x] : 0; }

static void test_between_elements(void **state)
{
    (void)state;
    double want[N];
    check("a", av);
    check("a[y, x; cubic]", av);
    check("a[y + 0.25, x - 0.25; nearest, clamp]", av);
    check("c = spline_filter(a); c[y, x; bspline]", av);
    check("c = spline_filter(a; zero); c[y, x; bspline]", av);
    check("c = spline_filter(a; mirror); c[y, x; bspline, mirror]", av);
    check("c = spline_filter(a; reflect, -1); d = spline_filter(c; reflect, 0); d[y, x; bspline, reflect]", av);
    check("c = spline_filter(a; periodic, 0, 1); c[y + 7, x - 9; bspline, periodic]", av);
    check("c = spline_filter(a; clamp); d = spline_filter(a); (c - d)*0 + c[y, x; bspline, clamp]", av);
    for (int i = 0; i < N; i++)
        want[i] = 2; /* the coefficients of a constant, where it goes on outside */
    check("spline_filter(0*a + 2; mirror)", want);
    check("spline_filter(0*a + 2; mirror) + 0*spline_filter(0*a + 2)", want);
    for (int i = 0; i < N; i++)
        want[i] = 0.75 * (0.5 * read_at(i / W, i % W) + 0.5 * read_at(i / W, i % W + 1)) +
                  0.25 * (0.5 * read_at(i / W + 1, i % W) + 0.5 * read_at(i / W + 1, i % W + 1));
    check("a[y + 0.25, x + 0.5; linear]", want);
    check("a[y + 0.25, x + 0.5; linear, zero]", want);
    check("f32 s = a[y + 0.25, x + 0.5; linear]; out = s", want);
    check("f32 s = 0; for (int k = 1; k <= 2; k++) s += a[y + 0.25, x + 0.5*k; linear] * (k == 1); out = s", want);
    check("n = 2*a; out = n[y + 0.25, x + 0.5; linear] / 2", want);              /* of a value */
    check("f32 n = 2*a; f32 s = n[y + 0.25, x + 0.5; linear]; out = s/2", want); /* of what a program computes */
    check("out = a; out = out[y + 0.25, x + 0.5; linear]", want);                /* what other points write */
    for (int i = 0; i < N; i++)
        want[i] = 0.5 * (av[i] + (i % W + 1 < W ? av[i + 1] : 7));
    check("a[x + 0.5; linear, 7]", want);
    for (int i = 0; i < N; i++)
        want[i] = 0.5 * (av[i] + av[i / W * W + (i % W + 1) % W]);
    check("a[x + 0.5; linear, periodic]", want);
}

/* ---- mistakes ---- */

static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        wf_status status;
    } cases[] = {
        { "out = lowpass(a)", "lowpass takes 2 to 3 arguments, not 1", WF_ERR_SYNTAX },
        { "out = lowpass(2, 0.1)", "lowpass of a number: it needs an array", WF_ERR_SYNTAX },
        { "out = lowpass(a, a)",
          "argument 2 of lowpass must be one number, and has more elements\nline 1, column 18:\n  out = lowpass(a, a)\n",
          WF_ERR_SHAPE },
        { "out = lowpass(a, -0.1, -1)", "width", WF_ERR_ARG },
        { "out = lowpass(a, -1)", "wf_lowpass: `cutoff` is -1, not at least 0", WF_ERR_ARG },
        { "out = bandpass(a, 0.3, 0.1)", "wf_bandpass: `high` is 0.1, not at least 0.3", WF_ERR_ARG },
        { "out = bin(a, 2.5)", "the number of neighbours is a whole number, not 2.5", WF_ERR_ARG },
        { "out = irfft(a, 0.5)", "the extent of the last axis is a whole number", WF_ERR_ARG },
        { "out = dct(a, 5)", "type", WF_ERR_ARG },
        { "out = fft(a; 2)", "fft of axes that an array of rank 2 does not have", WF_ERR_SYNTAX },
        { "out = whiten(a; 0)", "the last one, two or three axes", WF_ERR_SHAPE },
        { "out = ctf(a, 0, 300, 2.7, 0.1, 1)", "the pixel size in Angstrom is above 0, not 0", WF_ERR_ARG },
        { "out = ctf(a, 1, 0, 2.7, 0.1, 1)", "voltage", WF_ERR_ARG },
        { "out = shift(a, 1, 2, 3)", "shift by 3 numbers of an array of rank 2", WF_ERR_SHAPE },
        { "out = rotate(a, 1; 0)", "rotate takes no axes", WF_ERR_SYNTAX },
        { "out = scale(a, 0)", "the factor is above 0, not 0", WF_ERR_ARG },
        { "out = spline_filter(a; 0, mirror)", "expected the number of an axis, not 'mirror'", WF_ERR_SYNTAX },
        { "out = spline_filter(a; linear)", "expected the number of an axis, not 'linear'", WF_ERR_SYNTAX },
        { "out = fft(a; mirror)", "expected the number of an axis, not 'mirror'", WF_ERR_SYNTAX },
        { "out = lowpas(a, 1)", "did you mean 'lowpass'?", WF_ERR_SYNTAX },
        { "out = lowpass + 1", "lowpass is a function: write lowpass(...)", WF_ERR_SYNTAX },
        { "out = lowpass(fft(a), 0.1)", "lowpass of complex numbers: it filters real(a) and imag(a)", WF_ERR_DTYPE },
        { "out = whiten(fft(a))", "whiten of complex numbers", WF_ERR_DTYPE },
        { "out = a[y, x; linear, mean(a)]", "the value outside of elements that are interpolated is a number",
          WF_ERR_SYNTAX },
        { "out = a[y, x; liner]", "unknown name 'liner'", WF_ERR_SYNTAX },
        { "out = a[y, x; linear, ]", "or the value outside, not ']'", WF_ERR_SYNTAX },
        { "f32 q[3]; out = q[1; linear]", "q is a local array: it is read by indices", WF_ERR_SYNTAX },
        { "out = linear", "an interpolation follows a semicolon: a[y + 0.5, x; linear]", WF_ERR_SYNTAX },
    };
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(4, 6), 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *result[] = { "out" };
        wf_array *out = NULL;
        wf_status status = wf_text_create(ctx, cases[i].text, WF_ARGS(WF_ARG("a", a)), 0, result, 1, &out);
        if (status != cases[i].status || (status != WF_OK && !strstr(wf_last_message(ctx), cases[i].message)))
            fail_msg("%s: %s: %s", cases[i].text, wf_status_name(status), wf_last_message(ctx));
        if (status != WF_OK && cases[i].status != WF_ERR_SYNTAX && !strstr(wf_last_message(ctx), "line 1, column"))
            fail_msg("%s: no place in %s", cases[i].text, wf_last_message(ctx));
        wf_release(out);
        wf_clear_error(ctx);
    }
    /* a recording of its own cannot compute elements; reads between elements can be recorded */
    wf_graph *g = wf_begin(ctx);
    wf_expr(g, "lowpass(a, 0.1)", WF_ARGS(WF_ARG("a", a)));
    assert_int_equal(wf_graph_status(g), WF_ERR_UNSUPPORTED);
    wf_drop(g);
    wf_clear_error(ctx);
    wf_array *out = wf_empty(ctx, WF_F32, WF_SHAPE(4, 6));
    g = wf_begin(ctx);
    wf_out(g, out, wf_expr(g, "a[y, x + 0.5; linear]", WF_ARGS(WF_ARG("a", a))));
    OK(ctx, wf_run(g));
    wf_release(out);
    wf_release(a);
}

static void test_stacks(void **state)
{
    (void)state;
    /* a batch of images is worked on one by one */
    wf_array *s = wf_empty(ctx, WF_F32, WF_SHAPE(3, 8, 8)), *d = NULL;
    const char *result[] = { "out" };
    OK(ctx, wf_text(ctx, "s = sin(f32(z*64 + y*8 + x)*1.7)", s));
    static const char *const texts[] = {
        "t = bandpass(s, 0.1, 0.3; 1, 2); u = bandpass(s[2, y, x] + 0*s, 0.1, 0.3; 1, 2); out = max(abs(t[2,y,x] - u))",
        "t = rotate(s, 0.5); u = rotate(s[1, y, x] + 0*s, 0.5); out = max(abs(t[1, y, x] - u))",
        "t = fft(s; 1, 2); u = fft(s[1, y, x] + 0*s; -1, -2); out = max(abs(t[1, y, x] - u))",
        "t = whiten(s; 1, 2); u = whiten(s[1, y, x] + 0*s; 1, 2); out = max(abs(t[1, y, x] - u))",
        "t = match_template(s, s[1, y, x] + 0*s; 1, 2); out = max(abs(1 - t[1, 1, 0, 0]))",
        "out = max(abs(fsc(s, s; 1, 2) - 1))",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double v = 1;
        if (wf_text_create(ctx, texts[i], WF_ARGS(WF_ARG("s", s)), 0, result, 1, &d) != WF_OK)
            fail_msg("%s: %s", texts[i], wf_last_message(ctx));
        wf_array *wide = wf_empty(ctx, WF_F64, wf_array_shape(d));
        OK(ctx, wf_text(ctx, "wide = f64(d)", wide, d));
        OK(ctx, wf_download(wide, &v, sizeof v));
        if (!(fabs(v) < 1e-6))
            fail_msg("%s: %g", texts[i], v);
        wf_release(wide);
        wf_release(d);
        d = NULL;
    }
    wf_release(s);
}

static void test_no_memory(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(4, 6), 1);
    make_out_without_memory("out = lowpass(a - mean(a), 0.2) + a[y + 0.5, x; linear]", WF_ARGS(WF_ARG("a", a)), 4000);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transforms), cmocka_unit_test(test_shells),           cmocka_unit_test(test_filters),
        cmocka_unit_test(test_windows),    cmocka_unit_test(test_geometry),         cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_mistakes),   cmocka_unit_test(test_between_elements), cmocka_unit_test(test_no_memory),
    };
    return RUN_ON_ALL(tests);
}
