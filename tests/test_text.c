/* test_text.c - operator text: the grammar, the rules for dtypes, neighbours, errors. tests/cli has the command line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ir/ir.h"
#include "weft/weft.h"

enum { H = 3, W = 5, N = H * W };

static wf_context *ctx;
static wf_array *a, *b, *m, *i32, *v1;
static float av[N], bv[N];
static uint8_t mv[N];
static int32_t iv[N];

static int set_up(void **state)
{
    (void)state;
    ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .flags_on = WF_FLAG_NO_DISK_CACHE });
    a = wf_empty(ctx, WF_F32, WF_SHAPE(H, W));
    b = wf_empty(ctx, WF_F32, WF_SHAPE(H, W));
    m = wf_empty(ctx, WF_U8, WF_SHAPE(H, W));
    i32 = wf_empty(ctx, WF_I32, WF_SHAPE(H, W));
    v1 = wf_empty(ctx, WF_F32, WF_SHAPE(W));
    for (int i = 0; i < N; i++) {
        av[i] = (float)i * 0.75f - 3;
        bv[i] = 2 + (float)(i % 4);
        mv[i] = (uint8_t)(i * 17);
        iv[i] = i * 5 - 30;
    }
    wf_upload(a, av, sizeof av);
    wf_upload(b, bv, sizeof bv);
    wf_upload(m, mv, sizeof mv);
    wf_upload(i32, iv, sizeof iv);
    wf_upload(v1, av, W * sizeof(float));
    return wf_last_status(ctx) != WF_OK;
}

static int tear_down(void **state)
{
    (void)state;
    wf_array *all[] = { a, b, m, i32, v1 };
    for (size_t i = 0; i < 5; i++)
        wf_release(all[i]);
    wf_context_free(ctx);
    return 0;
}

/* Computes `text` with all arrays as arguments. Returns the value assigned to `out`, as doubles. */
static wf_array *create(const char *text)
{
    wf_array *out = NULL;
    const char *want[] = { "out" };
    wf_clear_error(ctx);
    wf_text_create(ctx, text,
                   WF_ARGS(WF_ARG("a", a), WF_ARG("b", b), WF_ARG("m", m), WF_ARG("k", i32), WF_ARG("v", v1),
                           WF_ARG("gain", 2.5), WF_ARG("two", 2)),
                   0, want, 1, &out);
    return out;
}

static void values(const char *text, double *to, int64_t count, wf_dtype dtype)
{
    wf_array *out = create(text);
    if (!out)
        fail_msg("%s: %s", text, wf_last_message(ctx));
    if (wf_array_dtype(out) != dtype)
        fail_msg("%s: is %s, not %s", text, wf_dtype_name(wf_array_dtype(out)), wf_dtype_name(dtype));
    assert_int_equal(wf_array_count(out), count);
    wf_array *wide = wf_empty(ctx, WF_F64, wf_array_shape(out));
    assert_int_equal(wf_text(ctx, "wide = f64(out)", wide, out), WF_OK);
    assert_int_equal(wf_download(wide, to, (size_t)count * sizeof *to), WF_OK);
    wf_release(out);
    wf_release(wide);
}

/* Compares the value of the text at every point with the C expression. */
#define CHECK(text, dtype, expression)                                                       \
    do {                                                                                     \
        double got[N];                                                                       \
        values(text, got, N, dtype);                                                         \
        for (int n = 0; n < N; n++) {                                                        \
            const int y = n / W, x = n % W;                                                  \
            const float A = av[n], B = bv[n];                                                \
            const int M = mv[n], K = iv[n];                                                  \
            (void)y, (void)x, (void)A, (void)B, (void)M, (void)K;                            \
            double expected = (double)(expression);                                          \
            if (!(got[n] == expected || (isnan(got[n]) && isnan(expected)) ||                \
                  fabs(got[n] - expected) < 1e-6 * fabs(expected)))                          \
                fail_msg("%s: at %d %d: %.9g, expected %.9g", text, y, x, got[n], expected); \
        }                                                                                    \
    } while (0)

static void operators(void **state)
{
    (void)state;
    CHECK("out = a + b*2", WF_F32, A + B * 2);
    CHECK("out = (a + b)*2", WF_F32, (A + B) * 2);
    CHECK("out = a - b - 1", WF_F32, A - B - 1);
    CHECK("out = a / b / 2", WF_F32, A / B / 2);
    CHECK("out = -a**2", WF_F32, -(A * A));
    CHECK("out = b ** 2 ** two", WF_F32, B * B * B * B);
    CHECK("out = 2 ** -1 * a", WF_F32, 0.5f * A);
    CHECK("out = b ** 0.5", WF_F32, sqrtf(B));
    CHECK("out = b ** -2", WF_F32, 1 / (B * B));
    CHECK("out = b ** 2.5", WF_F32, powf(B, 2.5f));
    CHECK("out = k ** 3", WF_I32, K * K * K);
    CHECK("out = k % 7", WF_I32, K % 7);
    CHECK("out = k + 7.0 % 4", WF_F64, K + 3.0);
    CHECK("out = a % b", WF_F32, fmodf(A, B));
    CHECK("out = k << 2 | 1", WF_I32, (int)((unsigned)K << 2) | 1);
    CHECK("out = k >> 1 & 0x0F ^ 0b11", WF_I32, ((K >> 1) & 0x0F) ^ 3);
    CHECK("out = ~k", WF_I32, ~K);
    CHECK("out = a < b", WF_BOOL, A < B);
    CHECK("out = a >= b == (b < 4)", WF_BOOL, (A >= B) == (B < 4));
    CHECK("out = a > 0 && b > 2 || k == 0", WF_BOOL, (A > 0 && B > 2) || K == 0);
    CHECK("out = !a", WF_BOOL, A == 0);
    CHECK("out = a && k", WF_BOOL, A != 0 && K != 0);
    CHECK("out = a > 0 ? b : k > 0 ? 1 : -1", WF_F32, A > 0 ? B : K > 0 ? 1 : -1);
    CHECK("out = k > 0 ? 1 : 2", WF_I32, K > 0 ? 1 : 2);
    CHECK("out = k > 0 ? 1 : 2.5", WF_F32, K > 0 ? 1 : 2.5);
    CHECK("out = true ? a : b", WF_F32, A);
    CHECK("out = +a", WF_F32, A);
}

static void numbers(void **state)
{
    double got[1];
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = { { "1/3", 1 / 3.0 },
                  { "7 % 4 + 7 / 2", 6.5 },
                  { "-7 % 4", -3 },
                  { "1 << 4 | 3", 19 },
                  { "~5", -6 },
                  { "0x1F + 0b11", 34 },
                  { "1e3 + 1.5e-1 + .5", 1000.65 },
                  { "2.5f", 2.5 },
                  { "2 < 3 && 3 < 2 || !0", 1 },
                  { "1 ? 5 : 6", 5 },
                  { "2 ** 10", 1024 },
                  { "2 ** -1", 0.5 },
                  { "-2 ** 2", -4 },
                  { "sqrt(2)", 1.4142135623730951 },
                  { "max(min(3, 4), 2)", 3 },
                  { "clamp(7, 0, 5)", 5 },
                  { "popcount(255)", 8 },
                  { "idiv(7, 2)", 3 },
                  { "floor_div(-7, 2)", -4 },
                  { "floor_div(-7.5, 2)", -4 },
                  { "cos(pi)", -1 },
                  { "inf", INFINITY },
                  { "-0.0", -0.0 },
                  { "select(1 > 2, 3, 4)", 4 },
                  { "true + true", 2 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        wf_array *out = NULL;
        const char *want[] = { "out" };
        snprintf(text, sizeof text, "out = %s", cases[i].text);
        wf_clear_error(ctx);
        if (wf_text_create(ctx, text, WF_NO_ARGS, 0, want, 1, &out) != WF_OK)
            fail_msg("%s: %s", text, wf_last_message(ctx));
        assert_int_equal(wf_array_dtype(out), WF_F64);
        assert_int_equal(wf_download(out, got, sizeof got), WF_OK);
        if (!(got[0] == cases[i].value || fabs(got[0] - cases[i].value) < 1e-15 * fabs(cases[i].value)))
            fail_msg("%s: %.17g, expected %.17g", text, got[0], cases[i].value);
        wf_release(out);
    }
}

static void dtypes(void **state)
{
    (void)state;
    CHECK("out = m * 0.5", WF_F32, (float)M * 0.5f);
    CHECK("out = m * 2.0", WF_F32, (float)M * 2);
    CHECK("out = m + 1", WF_U8, (M + 1) & 255);
    CHECK("out = m / 2", WF_F32, (float)M / 2);
    CHECK("out = k / 2", WF_F64, K / 2.0);
    CHECK("out = k * 0.5", WF_F64, K * 0.5);
    CHECK("out = k / a", WF_F32, (float)K / A);
    CHECK("out = sqrt(m)", WF_F32, sqrtf((float)M));
    CHECK("out = sin(k)", WF_F64, sin(K));
    CHECK("out = atan2(k, a)", WF_F32, atan2f((float)K, A));
    CHECK("out = m > 0.5", WF_BOOL, M > 0);
    CHECK("out = (a > 0) * a", WF_F32, A > 0 ? A : 0);
    CHECK("out = (a > 0) + (b > 3)", WF_I32, (A > 0) + (B > 3));
    CHECK("out = (a > 0) * 255", WF_I32, A > 0 ? 255 : 0);
    CHECK("out = (a > 0) / 2", WF_F32, A > 0 ? 0.5 : 0);
    CHECK("out = (a > 0) == true", WF_BOOL, A > 0);
    CHECK("out = -(a > 0)", WF_I32, -(A > 0));
    CHECK("out = u8(a)", WF_U8, A < 0 ? 0 : (int)A);
    CHECK("out = i8(300 + k*0)", WF_I8, 300 - 256);
    CHECK("out = i32(m) + 300", WF_I32, M + 300);
    CHECK("out = f64(a) * gain", WF_F64, (double)A * 2.5);
    CHECK("out = bool(k)", WF_BOOL, K != 0);
    CHECK("out = min(m, 7.5)", WF_F32, M < 7.5 ? M : 7.5);
    CHECK("out = fma(a, b, 1)", WF_F32, fmaf(A, B, 1));
    CHECK("out = select(k > 0, a, 0.25)", WF_F32, K > 0 ? A : 0.25);
    CHECK("out = u64(k) | 0xFFFFFFFF00000000", WF_U64, 18446744069414584320.0 + (double)(uint32_t)K);
    CHECK("out = a + v", WF_F32, A + av[x]); /* broadcast */
}

static void coordinates(void **state)
{
    (void)state;
    CHECK("out = x + 10*y", WF_I64, x + 10 * y);
    CHECK("out = i1 + 10*i0 + 100*n0 + 1000*n1", WF_I64, x + 10 * y + 100 * H + 1000 * W);
    CHECK("out = a*nx + ny", WF_F32, A * W + H);
    CHECK("x = a; out = x * 2", WF_F32, A * 2); /* an assigned name hides the built-in one */
    CHECK("out = x - nx/2", WF_F64, x - W / 2.0);
}

static float at(int y, int x, float outside) { return y >= 0 && y < H && x >= 0 && x < W ? av[y * W + x] : outside; }
static int limit(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
static int wrap(int i, int n) { return ((i % n) + n) % n; }
static int mirror(int i, int n) /* edges repeated */
{
    i = wrap(i, 2 * n);
    return i < n ? i : 2 * n - 1 - i;
}
static int reflect(int i, int n)
{
    i = wrap(i, 2 * n - 2);
    return i < n ? i : 2 * n - 2 - i;
}

static void neighbours(void **state)
{
    (void)state;
    CHECK("out = a[y-1, x]", WF_F32, at(y - 1, x, 0));
    CHECK("out = a[y, x+2; zero]", WF_F32, at(y, x + 2, 0));
    CHECK("out = a[y, x+2; 7]", WF_F32, at(y, x + 2, 7));
    CHECK("out = a[y, x+2; -1.5]", WF_F32, at(y, x + 2, -1.5f));
    CHECK("out = a[y, x+2; b]", WF_F32, at(y, x + 2, B));
    CHECK("out = a[x-1]", WF_F32, at(y, x - 1, 0)); /* the last axis; y stands */
    CHECK("out = a[y-9, x-7; clamp]", WF_F32, av[limit(y - 9, H) * W + limit(x - 7, W)]);
    CHECK("out = a[y-9, x-7; periodic]", WF_F32, av[wrap(y - 9, H) * W + wrap(x - 7, W)]);
    CHECK("out = a[y-9, x-7; mirror]", WF_F32, av[mirror(y - 9, H) * W + mirror(x - 7, W)]);
    CHECK("out = a[y-9, x+7; reflect]", WF_F32, av[reflect(y - 9, H) * W + reflect(x + 7, W)]);
    CHECK("out = a[ny-1-y, nx-1-x]", WF_F32, av[N - 1 - n]);
    CHECK("out = a[0, 2] + b*0", WF_F32, av[2]);
    CHECK("out = a[y, k; clamp]", WF_F32, av[y * W + limit(K, W)]); /* gather */
    CHECK("out = a[y, x] - a + v[x] + v[x-1]*0", WF_F32, av[x]);
}

static void statements(void **state)
{
    (void)state;
    CHECK("t = a*2; t = t + 1\nout = t # and no more; out = 3", WF_F32, A * 2 + 1);
    CHECK("# first\n\n ;; t = a +\n  b ; out =\n(t\n*\n2)\n", WF_F32, (A + B) * 2);
    CHECK("out = a; out += b; out *= 2; out -= 1; out /= 2", WF_F32, ((A + B) * 2 - 1) / 2);
    CHECK("out = k; out %= 7; out &= 3; out |= 8; out ^= 1", WF_I32, (((K % 7) & 3) | 8) ^ 1);
    CHECK("out = b-1", WF_F32, B - 1);
    CHECK("\tout\t=\r\n a", WF_F32, A);
}

static void reductions(void **state)
{
    (void)state;
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++)
        sum += (double)av[i];
    for (int i = 0; i < N; i++)
        squares += ((double)av[i] - sum / N) * ((double)av[i] - sum / N);
    CHECK("out = a - mean(a)", WF_F32, (double)A - sum / N);
    CHECK("out = a*0 + std(a)", WF_F32, sqrt(squares / N));
    CHECK("out = (a - min(a)) / (max(a) - min(a))", WF_F32, (A - av[0]) / (av[N - 1] - av[0]));
    CHECK("out = k*0 + i32(sum(a > 0))", WF_I32, 10);
    CHECK("out = a - mean(a; 0, -1)", WF_F32, (double)A - sum / N);
    CHECK("out = a - mean(a; 0)", WF_F32, A - 0.75 * (W + x) + 3); /* H is 3: the middle row */
    CHECK("out = a*0 + max(a; -1)", WF_F32, 0.75 * (W * y + W - 1) - 3);
    CHECK("out = a*0 + max(min(a; 0); 1)", WF_F32, av[W - 1]);
    CHECK("out = any(a > 100) || all(b > 1) && a == a", WF_BOOL, 1);
    CHECK("out = a*0 + stddev(a)", WF_F32, sqrt(squares / N));
    CHECK("out = a*0 + var(a, 1)", WF_F32, squares / (N - 1));
    CHECK("out = a*0 + std(a, 2; 0, 1)", WF_F32, sqrt(squares / (N - 2)));
    CHECK("out = a*0 + variance(a; 0)", WF_F32, 0.75 * 0.75 * W * W * 2 / 3); /* three rows, W * 0.75 apart */
    CHECK("out = a + count(a > 0)", WF_F32, A + 10);
    CHECK("out = k*0 + i32(count(a - a; -1))", WF_I32, 0);
    CHECK("out = i32(argmax(a)) + k*0", WF_I32, N - 1);
    CHECK("out = i32(argmin(-a; 0)) * 100 + i32(argmin(-a; 1)) + k*0", WF_I32, (H - 1) * 100 + W - 1);
    CHECK("out = i32(argmin(m*0; -1)) + k*0", WF_I32, 0);
    CHECK("out = a*0 + abs(mean(complex(a, 2*a))) / sqrt(5.0)", WF_F32, fabs(sum / N));
    CHECK("out = a*0 + std(complex(a, 2*a))", WF_F32, sqrt(5 * squares / N));
}

/* Assignment to arguments. */
static void writes(void **state)
{
    float got[N];
    uint8_t small[N];
    (void)state;
    wf_array *out = wf_like(a), *bytes = wf_like(m);
    assert_int_equal(wf_text(ctx, "out = a*2; bytes = out + 1; out = out - a", out, bytes, a), WF_OK);
    assert_int_equal(wf_download(out, got, sizeof got), WF_OK);
    assert_int_equal(wf_download(bytes, small, sizeof small), WF_OK);
    for (int n = 0; n < N; n++) {
        assert_float_equal(got[n], av[n], 0);
        double wide = (double)av[n] * 2 + 1;
        assert_int_equal(small[n], wide < 0 ? 0 : (int)wide);
    }
    /* a shifted copy of itself, in place: everything is read first */
    assert_int_equal(wf_text(ctx, "out = out[y, x-1] + out", out), WF_OK);
    assert_int_equal(wf_download(out, got, sizeof got), WF_OK);
    for (int n = 0; n < N; n++)
        assert_float_equal(got[n], av[n] + at(n / W, n % W - 1, 0), 0);
    /* a number everywhere; and wanted names leave arguments alone */
    assert_int_equal(wf_text(ctx, "out = 4", out), WF_OK);
    const char *want[] = { "out", "twice" };
    wf_array *made[2];
    assert_int_equal(wf_text_create(ctx, "out = out + 1; twice = out*2", WF_NAMED(out), 0, want, 2, made), WF_OK);
    assert_int_equal(wf_download(out, got, sizeof got), WF_OK);
    assert_float_equal(got[N - 1], 4, 0);
    assert_int_equal(wf_download(made[1], got, sizeof got), WF_OK);
    assert_float_equal(got[N - 1], 10, 0);
    for (int i = 0; i < 2; i++)
        wf_release(made[i]);
    wf_release(out);
    wf_release(bytes);
}

/* wf_expr in an array graph, in an index space, with variables. */
static void expressions(void **state)
{
    float got[N];
    (void)state;
    wf_array *out = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val half = wf_mul(wf_in(g, a), 0.5);
    wf_out(g, out, wf_expr(g, "half + b\n * 2", WF_NAMED(half, b)));
    assert_int_equal(wf_run(g), WF_OK);
    assert_int_equal(wf_download(out, got, sizeof got), WF_OK);
    assert_float_equal(got[7], av[7] * 0.5f + bv[7] * 2, 0);

    g = wf_begin(ctx, .shape = WF_SHAPE(H, W));
    wf_var sum = wf_local(g, WF_F32, 1);
    wf_inc(sum, wf_expr(g, "a[y, x-1] + a + 100*y + nx*x + i0", WF_NAMED(a)));
    wf_write(g, out, wf_expr(g, "sum*2", WF_NAMED(sum)), wf_index(g, 0), wf_index(g, 1));
    assert_int_equal(wf_run(g), WF_OK);
    assert_int_equal(wf_download(out, got, sizeof got), WF_OK);
    for (int n = 0; n < N; n++) {
        float expected = 2 * (1 + at(n / W, n % W - 1, 0) + av[n] + (float)(100 * (n / W) + W * (n % W) + n / W));
        assert_float_equal(got[n], expected, 1e-4);
    }

    g = wf_begin(ctx, .shape = WF_SHAPE(H, W)); /* statements at every point; a variable is set */
    wf_var last = wf_local(g, WF_F32, 3);
    wf_text_record(g, "t = a; last += t*x; out = last", a, last, out);
    wf_write(g, out, wf_add(last, 1), wf_index(g, 0), wf_index(g, 1));
    assert_int_equal(wf_run(g), WF_OK);
    assert_int_equal(wf_download(out, got, sizeof got), WF_OK);
    for (int n = 0; n < N; n++)
        assert_float_equal(got[n], 4 + av[n] * (float)(n % W), 1e-5);
    wf_release(out);
}

static void targets(void **state)
{
    char buf[8];
    (void)state;
    const char *text = "one = 1; two = a[y] \n three += f(x) # four = 4";
    assert_true(wf_text_target(ctx, text, 0, buf, sizeof buf));
    assert_string_equal(buf, "one");
    assert_true(wf_text_target(ctx, text, 2, buf, 4));
    assert_string_equal(buf, "thr");
    assert_false(wf_text_target(ctx, text, 3, buf, sizeof buf));
    assert_false(wf_text_target(ctx, "a = ", 0, buf, sizeof buf));
    assert_false(wf_text_target(ctx, NULL, 0, buf, sizeof buf));
    assert_true(wf_text_target(ctx, text, WF_LAST_TARGET, buf, sizeof buf));
    assert_string_equal(buf, "three");
    assert_false(wf_text_target(ctx, "", WF_LAST_TARGET, buf, sizeof buf));
    assert_true(wf_text_assigns(ctx, text, "two") && wf_text_assigns(ctx, text, "three"));
    assert_false(wf_text_assigns(ctx, text, "four") || wf_text_assigns(ctx, text, "tw"));
    assert_false(wf_text_assigns(ctx, text, NULL) || wf_text_assigns(ctx, "a =", "a"));
}

/* A text may end with an expression alone: that is out. */
static void last_expressions(void **state)
{
    static const char *const same[][2] = { { "a * 2 - b", "out = a * 2 - b" },
                                           { "t = 3; t*a;\n", "t = 3; out = t*a" },
                                           { "t = a +\n 1 # = 2\n(t\n * t) # end", "t = a + 1; out = t * t" },
                                           { "-a", "out = -a" },
                                           { "a == b", "out = a == b" },
                                           { "a[y, x+1; clamp] - a", "out = a[y, x+1; clamp] - a" },
                                           { "i32(a)", "out = i32(a)" },
                                           { "5", "out = 5" },
                                           { "out = a; out*out", "t = a; out = t*t" },
                                           { "f32 s = 0; for (int j = 0; j < 3; j++) { s += a; } s / 2",
                                             "f32 s = 0; for (int j = 0; j < 3; j++) { s += a; } out = s / 2" } };
    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        char name[8];
        wf_array *x = create(same[i][0]), *y = create(same[i][1]);
        if (!x || !y)
            fail_msg("%s: %s", same[i][0], wf_last_message(ctx));
        assert_true(wf_array_dtype(x) == wf_array_dtype(y) && wf_array_count(x) == wf_array_count(y));
        char p[8 * N] = { 0 }, q[8 * N] = { 0 };
        size_t bytes = (size_t)wf_array_count(x) * wf_dtype_size(wf_array_dtype(x));
        assert_true(bytes <= sizeof p && wf_download(x, p, bytes) == WF_OK && wf_download(y, q, bytes) == WF_OK);
        assert_memory_equal(p, q, bytes);
        assert_true(wf_text_target(ctx, same[i][0], WF_LAST_TARGET, name, sizeof name));
        assert_string_equal(name, "out");
        assert_true(wf_text_assigns(ctx, same[i][0], "out"));
        wf_release(x), wf_release(y);
    }
    wf_array *out = wf_full(ctx, WF_F32, wf_array_shape(a), 0), *other = wf_like(out);
    assert_int_equal(wf_text(ctx, "2 * a", out, a), WF_OK);
    assert_int_equal(wf_text(ctx, "2 * a", other, a), WF_ERR_SYNTAX);
    assert_non_null(strstr(wf_last_message(ctx),
                           "an expression at the end is assigned to 'out', which is no argument here; write "
                           "name = ...\nline 1, column 1:\n  2 * a\n  ^"));
    wf_clear_error(ctx);
    wf_release(out), wf_release(other);
}

/* Every function of the table exists under its name, and checks the number of its arguments. */
static void all_functions(void **state)
{
    (void)state;
    for (int op = WF__BITCAST + 1; op < WF__OP_COUNT; op++) {
        static const char *const lists[] = { "", "(b)", "(b, b)", "(b, b, b)" };
        static const char *const integers[] = { "", "(k)", "(k, k)", "(k, k, k)" };
        const wf__op_info *info = &wf__op_table[op];
        char text[128];
        bool whole = info->types == WF__T_INT || info->types == WF__T_BITS;
        snprintf(text, sizeof text, "out = %s%s", info->name, (whole ? integers : lists)[info->arity]);
        wf_array *out = create(text);
        if (!out)
            fail_msg("%s: %s", text, wf_last_message(ctx));
        wf_release(out);
        snprintf(text, sizeof text, "out = %s(b, b, b, b)", info->name);
        assert_null(create(text));
        assert_int_equal(wf_last_status(ctx), WF_ERR_SYNTAX);
    }
}

/* Each mistake: what the message says, and the column of the caret. */
static const struct {
    const char *text, *says;
    int column; /* of the caret, from 0; -1 = not checked */
    wf_status status;
} wrong[] = {
    { "out = a * gian", "unknown name 'gian'; did you mean 'gain'?", 10, WF_ERR_SYNTAX },
    { "out = sqr(a)", "did you mean 'sqrt'?", 6, WF_ERR_SYNTAX },
    { "out = a + meen(a)", "did you mean 'mean'?", 10, WF_ERR_SYNTAX },
    { "out = a - percentile(a)", "write quantile(a, q)", 10, WF_ERR_SYNTAX },
    { "out = where(a > 1, a, 1)", "write select(condition, a, b)", 6, WF_ERR_SYNTAX },
    { "out = std(a, a)", "ddof", 6, WF_ERR_SYNTAX },
    { "out = std(a, 1, 2)", "std takes 1 to 2 arguments", 6, WF_ERR_SYNTAX },
    { "out = mean(a, 1)", "mean takes 1 argument, not 2; axes follow a semicolon: (a; 0, -1)", 6, WF_ERR_SYNTAX },
    { "out = a[y, x; wrap ]", "unknown name 'wrap'; outside is zero, clamp, mirror", 14, WF_ERR_SYNTAX },
    { "out = 2 * argmax(a; 5)", "does not have", 10, WF_ERR_SYNTAX },
    { "out = argmin(complex(a, a))", "no order", 6, WF_ERR_DTYPE },
    { "out = frobnicate(a)", "unknown function 'frobnicate'", 6, WF_ERR_SYNTAX },
    { "out = sqrt(a", "expected ',' or ')', not the end of the text", 12, WF_ERR_SYNTAX },
    { "out = sqrt(a, b)", "sqrt takes 1 argument, not 2", 6, WF_ERR_SYNTAX },
    { "out = sum(a; 2)", "sum of axes that an array of rank 2 does not have", 6, WF_ERR_SYNTAX },
    { "out = sum(a; -3)", "rank 2 does not have", 6, WF_ERR_SYNTAX },
    { "out = sum(a; x)", "expected the number of an axis, not 'x'", 13, WF_ERR_SYNTAX },
    { "out = sum(a; 0, 0)", "each axis can be named once", 16, WF_ERR_SYNTAX },
    { "out = sum(a; 1, -1)", "names one of the 2 axes twice", 6, WF_ERR_SYNTAX },
    { "out = sum(a; 0, -2)", "names one of the 2 axes twice", 6, WF_ERR_SYNTAX },
    { "out = foo(a)", "unknown function 'foo'\n", 6, WF_ERR_SYNTAX },
    { "out = q", "unknown name 'q'\n", 6, WF_ERR_SYNTAX },
    { "t = a\n q", "unknown name 'q'\nline 2, column 2:\n   q\n", 1, WF_ERR_SYNTAX },
    { "t = q; t", "line 1, column 5:\n  t = q; t\n", 4, WF_ERR_SYNTAX },
    { "t = a; t +* 2", "expected a value, not '*'", 10, WF_ERR_SYNTAX },
    { "m + 300", "does not fit u8", 2, WF_ERR_DTYPE },
    { "t = a; t > 0; t = 2", "expected '=' after the name, not '>'", 9, WF_ERR_SYNTAX },
    { "sqrt(a", "expected ',' or ')', not the end of the text", 6, WF_ERR_SYNTAX },
    { "a[y, x; mirorr] - 1", "unknown name 'mirorr'", 8, WF_ERR_SYNTAX },
    { "a b", "'a' is no type", 0, WF_ERR_SYNTAX },
    { "out = sum(a; 9)", "axes are numbered 0 to 7, or -1 to -8", 13, WF_ERR_SYNTAX },
    { "out = sqrt(a; 0)", "sqrt has no axes", 6, WF_ERR_SYNTAX },
    { "out = a +", "expected a value, not the end of the text", 9, WF_ERR_SYNTAX },
    { "out = a b", "expected an operator or the end of the statement, not 'b'", 8, WF_ERR_SYNTAX },
    { "out = (a + b", "')'", 12, WF_ERR_SYNTAX },
    { "out = a)", "not ')'", 7, WF_ERR_SYNTAX },
    { "a + b = 3", "expected '=' after the name, not '+'", 2, WF_ERR_SYNTAX },
    { "a + b)", "expected an operator or the end of the text, not ')'", 5, WF_ERR_SYNTAX },
    { "sqrt(a))", "expected an operator or the end of the text, not ')'", 7, WF_ERR_SYNTAX },
    { "min(a) max(a)", "expected an operator or the end of the text, not 'max'", 7, WF_ERR_SYNTAX },
    { "a > 1 and a < 3", "expected an operator or the end of the text, not 'and'", 6, WF_ERR_SYNTAX },
    { "a + 1, a", "expected an operator or the end of the text, not ','", 5, WF_ERR_SYNTAX },
    { "out = a = b", "'==' compares", 8, WF_ERR_SYNTAX },
    { "out = 0 < a < 1", "comparisons do not chain", 12, WF_ERR_SYNTAX },
    { "out = a // b", "'#' begins a comment", 9, WF_ERR_SYNTAX },
    { "out = 12abc", "unexpected 'a' right after a number", 8, WF_ERR_SYNTAX },
    { "out = 0x", "expected a digit of base 16", 8, WF_ERR_SYNTAX },
    { "out = 99999999999999999999", "64 bits", 6, WF_ERR_SYNTAX },
    { "out = 1e999", "too large", 6, WF_ERR_SYNTAX },
    { "out = -9223372036854775809", "less than an i64", 6, WF_ERR_SYNTAX },
    { "out = a @ b", "unexpected '@'", 8, WF_ERR_SYNTAX },
    { "out = a \x01", "unexpected character 0x01", 8, WF_ERR_SYNTAX },
    { "out = a \xE2\x88\x92 1", "unexpected '\xE2\x88\x92' (a minus of Unicode); write -", 8, WF_ERR_SYNTAX },
    { "out = a \xC2\xA0+ 1", "unexpected no-break space", 8, WF_ERR_SYNTAX },
    { "out = \xCE\xB1 + 1", "unexpected '\xCE\xB1'", 6, WF_ERR_SYNTAX },
    { "out = \xF0\x9F\x98\x80", "unexpected '\xF0\x9F\x98\x80'", 6, WF_ERR_SYNTAX },
    { "out = \xE2\x88", "unexpected character 0xe2", 6, WF_ERR_SYNTAX },
    { "out = \xBF", "unexpected character 0xbf", 6, WF_ERR_SYNTAX },
    { "out = ~complex(a, a)", "~ works on the bits of integers or bools", 6, WF_ERR_DTYPE },
    { "out = complex(1, 2) & 1", "& works on the bits of integers or bools", 20, WF_ERR_DTYPE },
    { "out = min(complex(a, a))", "min of complex numbers, which have no order", 6, WF_ERR_DTYPE },
    { "out = sin", "sin is a function: write sin(...)", 6, WF_ERR_SYNTAX },
    { "out = a(1)", "a is no function", 6, WF_ERR_SYNTAX },
    { "out = gain[x]", "gain is no array", 6, WF_ERR_SYNTAX },
    { "out = (a+b)[x]", "only an array by its name", 11, WF_ERR_SYNTAX },
    { "out = a[y, x; mirorr]", "unknown name 'mirorr'", 14, WF_ERR_SYNTAX },
    { "out = a[y, x-1, clamp]", "a border mode follows a semicolon: a[y, x-1; clamp]", 16, WF_ERR_SYNTAX },
    { "out = a[y, x-1, reflect]", "a border mode follows a semicolon: a[y, x-1; reflect]", 16, WF_ERR_SYNTAX },
    { "out = a[y, x; ]", "zero, clamp, mirror, reflect, periodic", 14, WF_ERR_SYNTAX },
    { "out = a[]", "expected an index", 8, WF_ERR_SYNTAX },
    { "out = a[0, y, x]", "a has 2 axes, 3 indices are given", 6, WF_ERR_SHAPE },
    { "out = a[y, x*0.5]", "an index is an integer", 6, WF_ERR_DTYPE },
    { "out = z + a", "only 2 axes", 6, WF_ERR_SHAPE },
    { "out = a[x] = 3", "'==' compares", 11, WF_ERR_SYNTAX },
    { "out[x] = 3", "out has 2 axes, 1 index is given", 0, WF_ERR_SHAPE },
    { "out = a ^ 2", "a power is a ** b", 8, WF_ERR_DTYPE },
    { "out = k & b == 1", "use brackets", 8, WF_ERR_DTYPE },
    { "out = m + 300", "does not fit u8", 8, WF_ERR_DTYPE },
    { "out = u32(k) + k", "u32 meets i32", 13, WF_ERR_DTYPE },
    { "t = b\nout = a +\n  t * nn", "did you mean", 6, WF_ERR_SYNTAX },
    { "", "expected a statement", -1, WF_ERR_SYNTAX },
    { "other = a", "no statement assigns 'out'", -1, WF_ERR_SYNTAX },
};

static void mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        wf_array *out = create(wrong[i].text);
        const char *message = wf_last_message(ctx), *caret = strrchr(message, '\n');
        if (out || !strstr(message, wrong[i].says))
            fail_msg("%s: %s", wrong[i].text, out ? "accepted" : message);
        if (wf_last_status(ctx) != wrong[i].status)
            fail_msg("%s: %s", wrong[i].text, wf_status_name(wf_last_status(ctx)));
        if (wrong[i].column >= 0 && (!caret || (int)strlen(caret) != wrong[i].column + 4))
            fail_msg("%s: caret at the wrong place:\n%s", wrong[i].text, message);
    }
    assert_non_null(strstr(wf_last_message(ctx), "out"));
    assert_null(create("t = b\r\nout = a * nn\r\nt = a"));
    assert_non_null(strstr(wf_last_message(ctx), "line 2, column 11:\n  out = a * nn\n"));
    assert_null(create("t = b\nout = a +\n  t * nn"));
    assert_non_null(strstr(wf_last_message(ctx), "line 3, column 7:\n    t * nn\n"));
    wf_clear_error(ctx);
}

/* Shapes that do not fit keep the library's message. */
static void shapes(void **state)
{
    (void)state;
    wf_array *other = wf_full(ctx, WF_F32, WF_SHAPE(7), 1), *out = NULL;
    const char *want[] = { "out" };
    assert_int_equal(wf_text_create(ctx, "out = a +\n other", WF_NAMED(a, other), 0, want, 1, &out), WF_ERR_SHAPE);
    if (!strstr(wf_last_message(ctx), "line 1, column 9:\n  out = a +\n          ^"))
        fail_msg("%s", wf_last_message(ctx));
    wf_clear_error(ctx);
    assert_int_equal(wf_text_create(ctx, "out = a + x", WF_NAMED(a, other), 0, want, 1, &out), WF_ERR_SHAPE);
    wf_clear_error(ctx);
    assert_int_equal(wf_text_create(ctx, "out = x", WF_NO_ARGS, 0, want, 1, &out), WF_ERR_SYNTAX);
    wf_clear_error(ctx);
    assert_int_equal(wf_text_create(ctx, "out = a + 1", WF_ARGS(WF_ARG("a", (wf_array *)NULL)), 0, want, 1, &out),
                     WF_ERR_ARG);
    assert_null(out);
    wf_clear_error(ctx);
    wf_release(other);
}

/* Nesting is bounded, length is not. */
static void extremes(void **state)
{
    enum { DEEP = 100000, TERMS = 5000 };
    char *text = malloc(2 * DEEP + 100);
    double got[N];
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        char *end = text + sprintf(text, "out = ");
        memset(end, "(-[!"[kind], DEEP);
        end[DEEP] = 0;
        assert_null(create(text));
        assert_int_equal(wf_last_status(ctx), WF_ERR_SYNTAX);
    }
    char *end = text + sprintf(text, "out = a*0");
    for (int i = 0; i < TERMS; i++)
        end += sprintf(end, " + %d", i % 2);
    values(text, got, N, WF_F32);
    assert_float_equal(got[3], TERMS / 2, 0);
    end = text + sprintf(text, "out = a");
    for (int i = 0; i < DEEP / 8; i++)
        end += sprintf(end, " ? 1 : b");
    assert_null(create(text)); /* nests to the right */
    free(text);
    wf_clear_error(ctx);
}

/* Any allocation may fail (in debug builds): the call returns an error and leaks nothing, and the next attempt
 * works. */
static void no_memory(void **state)
{
    (void)state;
    wf_array *out = NULL;
    for (long n = 0; n < 1000 && !out; n++) {
        wf__alloc_fail_after(n);
        out = create("t = a*gain + b[y, x-1; clamp]; u = t > 0 ? t : m; out = u - mean(u) + 0.5");
        wf__alloc_fail_after(-1);
        if (!out)
            assert_int_equal(wf_last_status(ctx), WF_ERR_MEMORY);
    }
    assert_non_null(out);
    wf_release(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators),   cmocka_unit_test(numbers),          cmocka_unit_test(dtypes),
        cmocka_unit_test(coordinates), cmocka_unit_test(neighbours),       cmocka_unit_test(statements),
        cmocka_unit_test(reductions),  cmocka_unit_test(writes),           cmocka_unit_test(expressions),
        cmocka_unit_test(targets),     cmocka_unit_test(last_expressions), cmocka_unit_test(all_functions),
        cmocka_unit_test(mistakes),    cmocka_unit_test(shapes),           cmocka_unit_test(extremes),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("text", tests, set_up, tear_down);
}
