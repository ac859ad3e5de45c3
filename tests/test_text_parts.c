/* test_text_parts.c - operator texts that need several recordings: functions of whole arrays beside programs, elements of
 * computed names by index, global arrays, sorting. Expected values are computed in plain C.
 *
 * ctest: devices
 */
#include <math.h>
#include "text_memory.h"
#include "text_numbers.h"

enum { H = 11, W = 13, N = H * W };
static double av[N]; /* elements of the array `a`, which make_array sets; f32 holds them */

static wf_array *make_array(void)
{
    float v[N];
    for (int i = 0; i < N; i++)
        av[i] = v[i] = (float)((i * 37) % 101) * 0.25f - 3;
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(H, W));
    OK(ctx, wf_upload(a, v, sizeof v));
    return a;
}

/* Compares the value of `out`, of n elements, with want[n]. */
static void check(const char *text, const double *want, int n)
{
    wf_array *a = make_array();
    expect_result(text, WF_ARGS(WF_ARG("a", a), WF_ARG("two", 2)), "out", want, n, 2e-5);
    wf_release(a);
}

static double at(const double *v, int y, int x) { return y >= 0 && y < H && x >= 0 && x < W ? v[y * W + x] : 0; }

static double mean_of(const double *v)
{
    double s = 0;
    for (int i = 0; i < N; i++)
        s += v[i];
    return s / N;
}

/* Normalised: (a - mean) / deviation. */
static void normalise(double *n)
{
    double m = mean_of(av), s = 0;
    for (int i = 0; i < N; i++)
        s += (av[i] - m) * (av[i] - m);
    for (int i = 0; i < N; i++)
        n[i] = (av[i] - m) / sqrt(s / N);
}

static void test_neighbours(void **state)
{
    (void)state;
    wf_release(make_array());
    static const char *const filters[] = {
        "m = mean(a); s = std(a); n = (a - m)/s; out = 0.25*(n[y,x-1] + 2*n[y,x] + n[y,x+1])",
        "m = mean(a)\nn = (a - m)\n  / std(a)\nout = 0.25*(n[x-1] + 2*n + n[x+1])",
        "n = (a - mean(a))/std(a); f32 s = 2*n; for (int k = -1; k <= 1; k += 2) s += n[y, x+k]; out = s/4",
        "f32 n = (a - mean(a))/std(a); out = 0.25*(n[y,x-1] + 2*n[y,x] + n[y,x+1])",
        "m = mean(a); s = std(a); const f32 n = (a - m)/s; f32 t = n[y,x-1]; t += 2*n; t += n[y,x+1]; out = t/4",
    };
    double n[N], want[N];
    normalise(n);
    for (int i = 0; i < N; i++)
        want[i] = 0.25 * (at(n, i / W, i % W - 1) + 2 * n[i] + at(n, i / W, i % W + 1));
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        check(filters[i], want, N);
    /* two filters in a row, of values and of variables */
    double rows[N];
    for (int i = 0; i < N; i++)
        rows[i] = at(av, i / W, i % W - 1) + av[i] + at(av, i / W, i % W + 1);
    for (int i = 0; i < N; i++)
        want[i] = at(rows, i / W - 1, i % W) + rows[i] + at(rows, i / W + 1, i % W);
    check("r = a[y,x-1] + a + a[y,x+1]; out = r[y-1,x] + r + r[y+1,x]", want, N);
    check("f32 r = 0; for (int k = -1; k <= 1; k++) r += a[y,x+k]\n"
          "f32 t = 0; for (int k = -1; k <= 1; k++) t += r[y+k,x]\nout = t",
          want, N);
    check("out = a[y,x-1] + a + a[y,x+1]; out = out[y-1,x] + out + out[y+1,x]", want, N);
    check(
        "f32 r = a; r += a[y,x-1]; r += a[y,x+1]; f32 t = r; if (y > 0) t += r[y-1,x]; if (y < ny-1) t += r[y+1,x]; out = t",
        want, N);
}

/* Index i of the border modes clamp, mirror, reflect, periodic. */
static int64_t folded(int mode, int64_t i, int64_t n)
{
    int64_t period = mode == 3 ? n : mode == 1 ? 2 * n : 2 * n - 2;
    if (mode == 0)
        return i < 0 ? 0 : i < n ? i : n - 1;
    i = (i % period + period) % period;
    return i < n ? i : mode == 1 ? 2 * n - 1 - i : 2 * n - 2 - i;
}

static void test_borders(void **state)
{
    (void)state;
    static const char *const name[] = { "clamp", "mirror", "reflect", "periodic" };
    double want[N];
    char text[200];
    wf_release(make_array());
    for (int mode = 0; mode < 4; mode++)
        for (int off = -40; off <= 40; off += 16) {
            for (int i = 0; i < N; i++)
                want[i] = 2 * av[folded(mode, i / W - off, H) * W + folded(mode, i % W + off, W)];
            snprintf(text, sizeof text, "n = 2*a; out = n[y - %d, x + %d; %s]", off, off, name[mode]);
            check(text, want, N);
        }
    for (int i = 0; i < N; i++)
        want[i] = i % W == 0 ? 7 : 2 * av[i - 1];
    check("n = 2*a; out = n[y, x-1; 7]", want, N);
    check("n = 2*a; out = n[x-1; 7.0]", want, N);
    for (int i = 0; i < N; i++)
        want[i] = 2 * av[W];
    check("n = 2*a; out = n[1, 0] + 0*a", want, N);
    check("n = 2*a; out = n[1, i16(0*x); reflect] + 0*a", want, N);
    for (int i = 0; i < N; i++)
        want[i] = av[W - 1] + (i % W < 2 ? av[W - 1] : 2 * av[i - 2]);
    check("n = 2*a; k = u64(x) - 2; out = a[0, u64(0*y) - 1; clamp] + (x < 2 ? n[0, k; clamp]/2 : n[y, k; clamp])",
          want, N);
    for (int i = 0; i < N; i++)
        want[i] = 2 * av[W];
    check("n = a[0, x]*0 + a; k = 2*n; out = k[1, 0]; out = out + 0*a", want, N);
}

static void test_global(void **state)
{
    (void)state;
    double h[8] = { 0 };
    wf_release(make_array());
    for (int i = 0; i < N; i++)
        h[(int)(av[i] + 3) % 8] += 1;
    check("global i32 h[8]; h[i64(a + 3) % 8] += 1; out = h", h, 8);
    check("global f32 h[4*two] = 0; h[i64(a + 3) % 8]++; out = h", h, 8);
    check("n = min(a) + 10; global u8 out[n + 1]; out[i64(a + 3) % 8] += 1", h, 8);
    check("global i32 h[2, 4]; h[i64(a + 3) % 8 >= 4, i64(a + 3) % 4] += 1; out = h", h, 8);
    check("global i32 g[8] = two; for (int k = 0; k < 3; k++) if (k == 1) g[i64(a + 3) % 8]++; out = g - 2", h, 8);
    check("out = a; global i32 h[8]; h[i64(out + 3) % 8]++; out = h", h, 8);
}

static void test_histograms(void **state)
{
    (void)state;
    double h[8] = { 0 }, want[N], sum = 0, c[8];
    wf_release(make_array());
    for (int i = 0; i < N; i++)
        h[(int)(av[i] + 3) % 8] += 1;
    for (int i = 0; i < 8; i++)
        c[i] = sum += h[i];
    for (int i = 0; i < N; i++)
        want[i] = c[(int)(av[i] + 3) % 8] / N;
    check("b = i64(a + 3) % 8; global i32 h[8]; h[b] += 1; c = cumsum(h); out = f32(c[b]) / (nx*ny)", want, N);
    for (int i = 0; i < 8; i++)
        want[i] = h[i] / N;
    check("global f32 h[8]; h[i64(a + 3) % 8] += 1; h = h / sum(h); out = h", want, 8);
    for (int i = 0; i < 8; i++)
        want[i] = 10 + 2 * h[i];
    check("global f32 h[8] = 10; h[i64(a + 3) % 8] += 1; m = sum(h); h[i64(a + 3) % 8] += 1 + 0*m; out = h", want, 8);
    /* averages over circles about the middle, then neighbours in the profile */
    double s[W] = { 0 }, n[W] = { 0 };
    for (int i = 0; i < N; i++) {
        int r = (int)sqrt((i % W - 6) * (i % W - 6) + (i / W - 5) * (i / W - 5));
        s[r] += av[i];
        n[r] += 1;
    }
    for (int i = 0; i < W; i++)
        s[i] /= n[i] > 1 ? n[i] : 1;
    for (int i = 0; i < W; i++)
        want[i] = s[i] + (i > 0 ? s[i - 1] : s[0]) + (i < W - 1 ? s[i + 1] : s[W - 1]);
    check("r = i64(sqrt((x - 6)**2 + (y - 5)**2)); global f64 s[nx], n[nx]; s[r] += a; n[r] += 1\n"
          "p = s / max(n, 1); f64 q = 0; for (int k = -1; k <= 1; k++) q += p[x+k; clamp]; out = q",
          want, W);
}

static int ascending(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static void test_order(void **state)
{
    (void)state;
    double sorted[N], want[N];
    wf_release(make_array());
    memcpy(sorted, av, sizeof sorted);
    qsort(sorted, N, sizeof *sorted, ascending);
    double median = sorted[N / 2], q = 0.3 * (N - 1), part = q - floor(q);
    double quantile = sorted[(int)q] * (1 - part) + sorted[(int)q + 1] * part;
    check("out = median(a)", &median, 1);
    check("out = quantile(a, 0.3)", &quantile, 1);
    check("q = 0.1; p = 3*q; out = quantile(a, p)", &quantile, 1);
    check("out = quantile(a, 0.3 + 0*min(a))", &quantile, 1);
    for (int i = 0; i < N; i++)
        want[i] = av[i] > median ? av[i] - median : 0;
    check("m = median(a); out = a > m ? a - m : 0", want, N);
    check("f32 d = a - median(a); if (d < 0) d = 0; out = d", want, N);
    check("t = a + 1; out = t; b = median(2*t); out = t - 1 > b/2 - 1 ? t - b/2 : 0", want, N);
    for (int y = 0; y < H; y++) {
        memcpy(want + (ptrdiff_t)y * W, av + (ptrdiff_t)y * W, W * sizeof *want);
        qsort(want + (ptrdiff_t)y * W, W, sizeof *want, ascending);
    }
    check("out = sort(a; 1)", want, N);
    check("out = -sort(-a; -1); out = out[y, nx-1-x]", want, N);
    check("k = argsort(a; 1); out = a[y, k]", want, N);
    for (int i = 0; i < N; i++)
        want[i] = av[i] + (i % W ? want[i - 1] : 0);
    check("out = cumsum(a; 1)", want, N);
    for (int i = 0; i < N; i++)
        want[i] = i >= W && want[i - W] > av[i] ? want[i - W] : av[i];
    check("out = cummax(a; 0)", want, N);
    for (int i = 0; i < N; i++)
        want[i] = i >= W && want[i - W] < av[i] ? want[i - W] : av[i];
    check("out = cummin(a; 0)", want, N);
    for (int i = 0; i < N; i++)
        want[i] = (av[i] > 0 ? 1 : 0.5) * (i % W ? want[i - 1] : 1);
    check("out = cumprod(a > 0 ? 1 : 0.5; -1)", want, N);
    double h[5] = { 0 }, lo = sorted[0], hi = sorted[N - 1];
    for (int i = 0; i < N; i++)
        h[av[i] == hi ? 4 : (int)((av[i] - lo) / (hi - lo) * 5)] += 1;
    check("out = histogram(a, 5)", h, 5);
    check("out = histogram(a, 5, min(a))", h, 5);
    check("lo = min(a); out = histogram(a, two + 3, lo, max(a))", h, 5);
    check("out = histogram(0*a, 3)", (double[]){ 0, N, 0 }, 3);
}

/* Elements of an array before and after it is written, across the parts of a text. */
static void test_written(void **state)
{
    (void)state;
    wf_array *a = make_array(), *b = wf_like(a);
    float got[N];
    static const char *const texts[] = {
        "t = 2*a; b = a; a = a + 1; m = median(a); b = t - m - b",
        "t = 2*a; m = median(a) + 1; a[y, x] = a + 1; s = sum(a); b = t - m - a + 1 + 0*s",
        "t = 2*a; f32 u = t; m = median(a); u = u - m; b = u - 1 - a; a = a + 1",
    };
    double sorted[N];
    memcpy(sorted, av, sizeof sorted);
    qsort(sorted, N, sizeof *sorted, ascending);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        wf_release(a);
        a = make_array();
        if (wf_text(ctx, texts[k], a, b) != WF_OK)
            fail_msg("%s: %s", texts[k], wf_last_message(ctx));
        OK(ctx, wf_download(b, got, sizeof got));
        for (int i = 0; i < N; i++)
            if (fabs((double)got[i] - (av[i] - sorted[N / 2] - 1)) > 1e-5)
                fail_msg("%s: element %d is %g", texts[k], i, (double)got[i]);
        OK(ctx, wf_download(a, got, sizeof got));
        for (int i = 0; i < N; i++)
            if ((double)got[i] != av[i] + 1)
                fail_msg("%s: a[%d] is %g", texts[k], i, (double)got[i]);
    }
    wf_release(a);
    wf_release(b);
}

/* Names whose elements a program writes by index. */
static void test_elements(void **state)
{
    (void)state;
    double want[N];
    wf_release(make_array());
    for (int i = 0; i < N; i++)
        want[i] = i / W == 2 ? 7 : 2 * av[i];
    check("n = 2*a; n[2, x] = 7; out = n", want, N);
    check("n = 2*a; n[2, x] = 7; out = n[y, x] + 0*a", want, N);
    check("n = a; n = n + a; if (y == 2) n[y, x] = 7; m = n; out = m", want, N);
    check("n = 2*a; m = n; n[2, x] = 7; out = n + 0*m", want, N);
    for (int i = 0; i < N; i++)
        want[i] = 2 * av[i];
    check("n = 2*a; m = n; n[2, x] = 7; out = m + 0*n", want, N);
}

/* Several results of several parts. */
static void test_results(void **state)
{
    (void)state;
    wf_array *a = make_array(), *out[5];
    const char *want[] = { "m", "n", "h", "s", "five" };
    const char *text =
        "five = 5; m = mean(a); n = a - m; global i32 h[3]; h[i64(abs(n)) % 3] += 1; f32 s = n; s += sum(h)";
    OK(ctx, wf_text_create(ctx, text, WF_NAMED(a), 0, want, 5, out));
    int64_t count[5] = { 1, N, 3, N, N };
    for (int i = 0; i < 5; i++)
        assert_int_equal(wf_array_count(out[i]), count[i]);
    float m, n[N], s[N], five[N];
    int32_t h[3], counted[3] = { 0 };
    OK(ctx, wf_download(out[0], &m, sizeof m));
    OK(ctx, wf_download(out[1], n, sizeof n));
    OK(ctx, wf_download(out[2], h, sizeof h));
    OK(ctx, wf_download(out[3], s, sizeof s));
    OK(ctx, wf_download(out[4], five, sizeof five));
    assert_true(fabs((double)m - mean_of(av)) < 1e-5);
    for (int i = 0; i < N; i++) {
        counted[(int)fabsf(n[i]) % 3]++;
        assert_true(fabs((double)n[i] - (av[i] - mean_of(av))) < 1e-5);
        assert_true(fabs((double)(s[i] - n[i]) - N) < 1e-4 && five[i] == 5);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(h[i], counted[i]);
    for (int i = 0; i < 5; i++)
        wf_release(out[i]);
    REFUSED(ctx, wf_text_create(ctx, "m = mean(a); f32 s = m; n = s", WF_NAMED(a), 0, want, 3, out), WF_ERR_SYNTAX,
            "no statement assigns 'h'");
    assert_true(!out[0] && !out[1] && !out[2]);
    wf_release(a);
}

static const struct {
    const char *text, *says;
    int column;
} wrong[] = {
    { "f32 q[3]; q[1] = a; m = mean(a); out = q[1] + m", "q is a local array of one point", 39 },
    { "f32 q[3]; q[1] = a; m = mean(a); q[1] = m; out = a", "q is a local array of one point", 33 },
    { "f32 h[8]; h[1] += 1; out = h", "h is a local array: say which element", 27 },
    { "f32 out[8]; out[1] = 1", "'global' before its type makes one array", 4 },
    { "for (int k = 0; k < 3; k++) { f32 t = a; out = max(t) }", "t changes in this block", 51 },
    { "if (a > 0) { global f32 h[3]; } out = a", "declared outside of blocks", 13 },
    { "if (a > 0) global f32 h[3]; out = a", "declared outside of blocks", 11 },
    { "global f32 h; out = a", "expected '[' and the extents of a global array", 12 },
    { "global h[3]; out = a", "expected a type after global, not 'h'", 7 },
    { "global f32 h[0]; out = a", "an extent is a whole number from 1", 13 },
    { "global f32 h[a]; out = a", "an extent must be one number, and has more elements", 13 },
    { "global u8 h[3] = 300; out = a", "300 does not fit u8, the dtype of h", 17 },
    { "global f32 a[3]; out = 1", "a is an argument already", 11 },
    { "global f32 h[3]; global f32 h[2]; out = a", "h is declared already", 28 },
    { "global const f32 h[3]; out = a", "expected a type after global, not 'const'", 7 },
    { "global u = 3; out = a", "expected a type after global, not 'u'", 7 },
    { "f32 s = a; s = s + 1; out = s; for (int k = 0; k < 3; k++) { s = out[y, x-1] ; out = s }",
      "out is computed here", 65 },
    { "m = 5; out = m[0] + a", "m is a number: it has no elements", 13 },
    { "n = 2*a; out = n[y, x, 0]", "n has 2 axes, 3 indices are given", 15 },
    { "n = 2*a; out = n[y, x*0.5]", "an index is an integer", 15 },
    { "n = i32(a); out = n[y, x; 0.5]", "the value outside is not a whole number, n is i32", 18 },
    { "out = sort(a)", "name it after a semicolon", 6 },
    { "out = sort(a; 0, 1)", "name it after a semicolon", 6 },
    { "out = cumsum(a; 2)", "of axes that an array of rank 2 does not have", 6 },
    { "out = median(5) + a", "median of a number", 6 },
    { "out = median(complex(a, a))", "which have no order", 6 },
    { "out = quantile(a)", "quantile takes 2 arguments, not 1", 6 },
    { "out = quantile(a, a)", "the fraction must be one number", 18 },
    { "out = quantile(a, 2)", "quantiles are from 0 to 1", 6 },
    { "out = histogram(a)", "histogram takes 2 to 4 arguments, not 1", 6 },
    { "out = histogram(a, 0)", "the number of bins is a whole number from 1", 6 },
    { "out = histogram(a, 3; 0)", "it takes no axes", 6 },
    { "out = histogram(a, 3, 2, 1)", "with 3 bins from 2 to 1", 6 },
    { "out = percentile(a, 5)", "write quantile(a, q)", 6 },
};

/* A program that writes an argument by index and reads elements of other points afterwards has two parts. In a recording
 * of the caller, the read is refused; a read of the point's own element is not. */
static void test_written_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int shift; /* out[y, x] = 2 a[y, x + shift] */
        bool one;  /* the text is one part */
    } texts[] = { { "b[y, x] = 2*a; out = b[y, x-1]", -1, false },
                  { "b = 2*a; f32 s = b[y, x+2]; out = s", 2, false },
                  { "b[y, x+1] = 2*a; out = b[y, x]", -1, false },
                  { "b[y, x] = 2*a; if (x >= 0) { out = b[y, x+3]; }", 3, false },
                  { "f32 t = 2*a; b[y, x] = t; out = b[y, x]; out = b[y, x-1]", -1, false },
                  { "b[y, x] = a; b[y, x] = 2*b[y, x]; out = b[y, x]", 0, true },
                  { "b = 2*a; f32 s[1]; s[0] = b[y, x]; out = s[0]", 0, true } };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        wf_array *a = make_array(), *b = wf_full(ctx, WF_F32, WF_SHAPE(H, W), 0), *out = wf_like(b);
        float got[N];
        const char *text = texts[i].text;
        if (wf_text(ctx, text, a, b, out) != WF_OK || wf_download(out, got, sizeof got) != WF_OK)
            fail_msg("%s: %s", text, wf_last_message(ctx));
        for (int p = 0; p < N; p++)
            if (got[p] != (float)(2 * at(av, p / W, p % W + texts[i].shift)))
                fail_msg("%s: element %d is %g", text, p, (double)got[p]);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W));
        wf_text_record(g, text, a, b, out);
        wf_status status = wf_run(g);
        if (texts[i].one ? status != WF_OK
                         : status != WF_ERR_CONTRACT || !strstr(wf_last_message(ctx), "run such a text in two parts"))
            fail_msg("%s in a recording: %s %s", text, wf_status_name(status), wf_last_message(ctx));
        wf_clear_error(ctx);
        wf_release(a), wf_release(b), wf_release(out);
    }
}

/* Each recording of a text can be prepared. Arrays have the names of the text in its plan. */
static void test_prepared_parts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t parts;
        const char *says[4]; /* in the plan of each part */
    } texts[] = { { "out = 2*a", 1, { "out," } },
                  { "out = a - mean(a)", 1, { "out," } },
                  { "n = a - mean(a); f32 s = n[y, x-1]; out = s", 2, { ": n,", ": n," } },
                  { "f32 s = a[y, x-1]; out = s - mean(a)", 2, { ": a,", "out," } },
                  { "n = a*a; f32 s = n[y, x-1]; out = s + 1 - max(s)", 3, { ": n,", ": n,", "out," } },
                  { "global f32 h[3]; h[i64(a)] += 1; out = h", 3, { ": h,", ": h,", ": h," } } };
    wf_array *a = make_array();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t part = 0; part <= texts[i].parts; part++) {
            const char *want[] = { "out" };
            char plan[20000] = "";
            wf_array *out = NULL;
            size_t len;
            wf_kernel *k = wf_text_compile_part(ctx, texts[i].text, WF_NAMED(a), 0, want, 1, part, &out);
            if (!k != (part == texts[i].parts) || !out != (part + 1 != texts[i].parts))
                fail_msg("%s, recording %d: %s%s%s", texts[i].text, (int)part, wf_last_message(ctx),
                         k ? " a kernel" : "", out ? " an array" : "");
            OK(ctx, wf_last_status(ctx));
            if (k) {
                OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_PLAN, plan, sizeof plan, &len));
                if (!strstr(plan, texts[i].says[part]))
                    fail_msg("%s, recording %d: no '%s' in %s", texts[i].text, (int)part, texts[i].says[part], plan);
            }
            wf_kernel_free(k);
            wf_release(out);
        }
    const char *want[] = { "out" };
    wf_array *out = a;
    assert_null(wf_text_compile_part(ctx, "b = a; out = median(b)", WF_NAMED(a), 0, want, 1, 0, &out));
    assert_null(out);
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, "median needs elements");
    wf_release(a);
}

static void test_mistakes(void **state)
{
    (void)state;
    wf_array *a = make_array();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *want[] = { "out" };
        wf_array *out = NULL;
        wf_clear_error(ctx);
        wf_status status = wf_text_create(ctx, wrong[i].text, WF_NAMED(a), 0, want, 1, &out);
        const char *message = wf_last_message(ctx), *caret = strrchr(message, '\n');
        char where[32];
        snprintf(where, sizeof where, "line 1, column %d:", wrong[i].column + 1);
        if (status == WF_OK || out || !strstr(message, wrong[i].says) || !strstr(message, where) || !caret ||
            (int)strlen(caret) != wrong[i].column + 4)
            fail_msg("%s\ngives %s: %s", wrong[i].text, wf_status_name(status), message);
    }
    wf_clear_error(ctx);
    /* a recording of the caller is one part and is not evaluated */
    static const char *const one[][2] = { { "b = median(a)", "needs elements that are computed before" },
                                          { "f32 s = mean(a); b = s", "cannot stand in an index space" },
                                          { "global f32 h[3]; h[0] += 1; b = h[0]", "a global array is made before" } };
    wf_array *b = wf_like(a);
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        wf_graph *g = wf_text_begin(ctx, one[i][0], WF_NAMED(a, b), NULL);
        wf_text_record(g, one[i][0], a, b);
        if (wf_run(g) == WF_OK || !strstr(wf_last_message(ctx), one[i][1]))
            fail_msg("%s: %s", one[i][0], wf_last_message(ctx));
        wf_clear_error(ctx);
    }
    wf_graph *g = wf_begin(ctx);
    wf_text_record(g, "n = 2*a; b = n[y, x+1; mirror] + cumsum(n; 0)", a, b);
    OK(ctx, wf_run(g));
    wf_release(a);
    wf_release(b);
}

static void test_no_memory(void **state)
{
    (void)state;
    wf_array *a = make_array();
    make_out_without_memory("m = median(a); n = a - m; global i32 h[5]; h[i64(abs(n)) % 5]++\n"
                            "f32 s = sum(h); for (int k = 0; k < 3; k++) s += n[y, x+k] - mean(n)\n"
                            "c = cumsum(h); out = s[y-1, x] + c[x % 5]",
                            WF_NAMED(a), 6000);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_global),
        cmocka_unit_test(test_histograms),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_written_arguments),
        cmocka_unit_test(test_prepared_parts),
    };
    return RUN_ON_ALL(tests);
}
