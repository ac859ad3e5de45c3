/* test_text_numbers.c - numbers in operator text: their effect on dtypes and shapes does not depend on their values,
 * and alone they become arrays of the common shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "weft/weft.h"
#include "weft_test.h"

enum { H = 2, W = 3, N = H * W };

static wf_context *ctx;
static wf_array *a, *d, *k, *b;
static const float av[N] = { 0, 1, NAN, 3, -4, 5 };
static const int64_t kv[N] = { 0, 1, 2, 3, -4, 5 };

static int set_up(void **state)
{
    (void)state;
    bool bv[N] = { true, false, true };
    ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .flags_on = WF_FLAG_NO_DISK_CACHE });
    a = wf_empty(ctx, WF_F32, WF_SHAPE(H, W));
    d = wf_full(ctx, WF_F64, WF_SHAPE(W), 0.5);
    k = wf_empty(ctx, WF_I64, WF_SHAPE(H, W));
    b = wf_empty(ctx, WF_BOOL, WF_SHAPE(H, W));
    wf_upload(a, av, sizeof av);
    wf_upload(k, kv, sizeof kv);
    wf_upload(b, bv, sizeof bv);
    return wf_last_status(ctx) != WF_OK;
}

static int tear_down(void **state)
{
    (void)state;
    wf_array *all[] = { a, d, k, b };
    for (size_t i = 0; i < 4; i++)
        wf_release(all[i]);
    wf_context_free(ctx);
    return 0;
}

/* `out` of the text as f64, where n is a number; its elements and dtype are checked. */
static void compute(const char *text, double n, wf_dtype dtype, int64_t count, double *to)
{
    const char *want[] = { "out" };
    wf_array *out;
    if (wf_text_create(ctx, text, WF_NAMED(a, k, b, n), 0, want, 1, &out) != WF_OK)
        fail_msg("%s, n = %g: %s", text, n, wf_last_message(ctx));
    if (wf_array_dtype(out) != dtype || wf_array_count(out) != count)
        fail_msg("%s, n = %g: %d elements of %s", text, n, (int)wf_array_count(out),
                 wf_dtype_name(wf_array_dtype(out)));
    wf_array *wide = wf_empty(ctx, WF_F64, wf_array_shape(out));
    OK(ctx, wf_text(ctx, "wide = f64(out)", wide, out));
    OK(ctx, wf_download(wide, to, (size_t)count * sizeof *to));
    wf_release(wide);
    wf_release(out);
}

/* Dtype and shape are the same for all values; `nan` of the expected ones is 3e38. */
static void any_value(void **state)
{
    (void)state;
    const double nan = 3e38;
    static const struct {
        const char *text;
        wf_dtype dtype;
        double n, expected[N]; /* one element: the first */
        int count;
    } cases[] = {
        { "t = a || n; out = ~t", WF_BOOL, 1, { 0 }, N },
        { "t = a || n; out = ~t", WF_BOOL, 0, { 1, 0, 0, 0, 0, 0 }, N },
        { "t = a && n; out = ~t", WF_BOOL, 0, { 1, 1, 1, 1, 1, 1 }, N },
        { "t = n && a; out = ~t", WF_BOOL, 1, { 1, 0, 0, 0, 0, 0 }, N },
        { "out = count(a > 2 || n)", WF_I64, 1, { 6 }, 1 },
        { "out = count(a > 2 || n)", WF_I64, 0, { 2 }, 1 },
        { "out = sum(n ? k : 5)", WF_I64, 0, { 30 }, 1 },
        { "out = sum(n ? k : 5)", WF_I64, 1, { 7 }, 1 },
        { "out = n ? k : 2.5", WF_F64, 1, { 0, 1, 2, 3, -4, 5 }, N },
        { "out = n ? k : 2.5", WF_F64, 0, { 2.5, 2.5, 2.5, 2.5, 2.5, 2.5 }, N },
        { "out = select(n, k[0, x], k)", WF_I64, 1, { 0, 1, 2, 0, 1, 2 }, N },
        { "out = select(n, b, k)", WF_I64, 1, { 1, 0, 1, 0, 0, 0 }, N },
        { "out = sum(select(n, a, 5))", WF_F32, 0, { 30 }, 1 },
        { "out = k**n", WF_I64, 0, { 1, 1, 1, 1, 1, 1 }, N },
        { "out = k**n", WF_I64, 1, { 0, 1, 2, 3, -4, 5 }, N },
        { "out = k**n", WF_I64, 2, { 0, 1, 4, 9, 16, 25 }, N },
        { "out = k**0.0", WF_F64, 0, { 1, 1, 1, 1, 1, 1 }, N },
        { "out = a**n", WF_F32, 0, { 1, 1, 1, 1, 1, 1 }, N },
        { "out = a**n", WF_F32, 1, { 0, 1, 3e38, 3, -4, 5 }, N },
        { "out = sum(b**n)", WF_I64, 0, { 6 }, 1 },
        { "out = idiv(k, b) + 10 * floor_div(b, 1)", WF_I64, 0, { 10, 0, 12, 0, 0, 0 }, N },
        { "out = floor_div(k, 2.0)", WF_F64, 0, { 0, 0, 1, 1, -2, 2 }, N },
        { "out = floor_div(a, 2)", WF_F32, 0, { 0, 0, 3e38, 1, -2, 2 }, N },
        { "out = popcount(b) + shl(b, b)", WF_I32, 0, { 3, 0, 3, 0, 0, 0 }, N },
        { "out = sum(complex(k, k)**n) == 6", WF_BOOL, 0, { 1 }, 1 },
        { "f32 t = a; if (x == 0 || n) t = n ? 7 : a; out = t**0", WF_F32, 1, { 1, 1, 1, 1, 1, 1 }, N },
        { "int t = 0; if (x > 0 && n) t = 1; out = t", WF_I32, 0, { 0 }, N },
        { "int t = 0; if (x > 0 && n) t = 1; out = t", WF_I32, 1, { 0, 1, 1, 0, 1, 1 }, N },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got[N];
        compute(cases[i].text, cases[i].n, cases[i].dtype, cases[i].count, got);
        for (int j = 0; j < cases[i].count; j++) {
            double expected = cases[i].expected[j];
            if (expected == nan ? !isnan(got[j]) : got[j] != expected)
                fail_msg("%s, n = %g: element %d is %g", cases[i].text, cases[i].n, j, got[j]);
        }
    }
}

/* The shape is that of a formal, which is open: it is not lost, either. */
static void open_shapes(void **state)
{
    (void)state;
    bool got[N];
    float ones[N];
    wf_graph *g = wf_begin(ctx);
    wf_array *from = wf_formal(g, "from", WF_F32, 2), *to = wf_formal(g, "to", WF_BOOL, 2);
    wf_array *power = wf_formal(g, "power", WF_F32, 2);
    wf_out(g, to, wf_expr(g, "from || 1", WF_NAMED(from)));
    wf_out(g, power, wf_expr(g, "from ** 0", WF_NAMED(from)));
    wf_kernel *kernel = wf_compile(g);
    assert_non_null(kernel);
    wf_array *out = wf_full(ctx, WF_BOOL, WF_SHAPE(H, W), 0), *one = wf_full(ctx, WF_F32, WF_SHAPE(H, W), 0);
    OK(ctx, wf_launch(kernel, WF_ARGS(WF_ARG("from", a), WF_ARG("to", out), WF_ARG("power", one))));
    OK(ctx, wf_download(out, got, sizeof got));
    OK(ctx, wf_download(one, ones, sizeof ones));
    for (int i = 0; i < N; i++)
        assert_true(got[i] && ones[i] == 1);
    wf_kernel_free(kernel);
    wf_release(out);
    wf_release(one);
}

/* A number alone, with a dtype or without: everywhere, and exact. */
static void alone(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        wf_dtype dtype;
        double value;
    } cases[] = { { "out = 5", WF_F32, 5 },
                  { "out = 0.1", WF_F32, 0.1f },
                  { "out = 16777216", WF_F32, 16777216 },
                  { "out = 16777217", WF_F64, 16777217 },
                  { "out = 16777216 + 1", WF_F64, 16777217 },
                  { "out = -16777217; if (x < 0) out = 1", WF_F64, -16777217 },
                  { "out = x < 9 ? 16777217 : 0.5", WF_F64, 16777217 },
                  { "out = x < 9 ? 16777216 : 0.5", WF_F32, 16777216 },
                  { "out = 9007199254740993", WF_I64, 9007199254740992.0 },         /* in f64, where it is compared */
                  { "out = -9223372036854775808", WF_I64, -9223372036854775808.0 }, /* whose digits alone are a u64 */
                  { "out = -0x8000000000000000", WF_I64, -9223372036854775808.0 },
                  { "out = 1 / (0 * -1)", WF_F32, INFINITY }, /* whole numbers have no -0 */
                  { "out = 1 / (-4 % 2)", WF_F32, INFINITY },
                  { "out = 1 / (0.0 * -1)", WF_F32, -INFINITY },
                  { "out = f64(1 << 63)", WF_F64, 0x1p63 },
                  { "out = f64(3 << 63)", WF_F64, 0x3p63 },
                  { "out = -5 >> 63", WF_F32, -1 },
                  { "out = 1 << 64", WF_F32, 0 },
                  { "out = f32(5)", WF_F32, 5 },
                  { "out = 2*i16(5) + u8(1)", WF_I16, 11 },
                  { "out = i32(nx)", WF_I32, W },
                  { "out = f16(0.5) ** 2 > 0.2", WF_BOOL, 1 },
                  { "out = -abs(c64(complex(3, 4)))", WF_F32, -5 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got[N];
        compute(cases[i].text, 0, cases[i].dtype, N, got);
        for (int j = 0; j < N; j++)
            if (got[j] != cases[i].value)
                fail_msg("%s: %.17g", cases[i].text, got[j]);
    }
    /* without an array, and with one that only has the shape */
    static const struct {
        const char *text;
        wf_dtype dtype;
    } lone[] = { { "out = 0.1", WF_F64 },
                 { "out = nx", WF_F64 },
                 { "out = x < 9 ? 1 : 2.5", WF_F64 },
                 { "out = complex(0, 1)", WF_C128 },
                 { "f32 t = 1; out = 0.1", WF_F64 } };
    const char *want[] = { "out" };
    wf_array *out;
    for (size_t i = 0; i < sizeof lone / sizeof *lone; i++) {
        OK(ctx, wf_text_create(ctx, lone[i].text, WF_ARGS(WF_ARG("", k)), 0, want, 1, &out));
        if (wf_array_dtype(out) != lone[i].dtype || wf_array_count(out) != N)
            fail_msg("%s: %s", lone[i].text, wf_dtype_name(wf_array_dtype(out)));
        wf_release(out);
    }
    double got[W];
    OK(ctx, wf_text_create(ctx, "out = 0.1", WF_NAMED(d), 0, want, 1, &out));
    OK(ctx, wf_download(out, got, sizeof got));
    assert_true(got[W - 1] == 0.1);
    wf_release(out);
    compute("out = sum(k)", 0, WF_I64, 1, got); /* one element broadcasts, and is not a number */
}

/* Beside a complex number integers and bools become real numbers of its parts' dtype, and stay real. */
static void beside_complex(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        wf_dtype dtype;
    } cases[] = { { "out = k / c", WF_C64 },
                  { "out = c / k", WF_C64 },
                  { "out = k * c", WF_C64 },
                  { "out = k / c128(c)", WF_C128 },
                  { "out = pow(k, c)", WF_C64 },
                  { "out = b / c", WF_C64 },
                  { "out = f64(k) / c", WF_C128 },
                  { "out = b * c", WF_C64 },
                  { "out = i16(k) / c", WF_C64 },
                  { "out = k / c * 0.5", WF_C64 },
                  { "out = b ? k : c", WF_C64 },
                  { "out = b == c", WF_BOOL },
                  { "out = k / complex(a, 1)", WF_C64 },
                  { "out = k / c32(c)", WF_C32 } };
    const char *want[] = { "out" };
    wf_array *c = wf_full(ctx, WF_C64, WF_SHAPE(H, W), 2), *out;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(ctx, wf_text_create(ctx, cases[i].text, WF_NAMED(a, b, c, k), 0, want, 1, &out));
        if (wf_array_dtype(out) != cases[i].dtype)
            fail_msg("%s: %s", cases[i].text, wf_dtype_name(wf_array_dtype(out)));
        wf_release(out);
    }
    /* true * (inf + i) is inf + i: no zero imaginary part is multiplied by the infinity */
    double parts[N][2];
    OK(ctx, wf_text_create(ctx, "out = c128(b * complex(f32(inf), 1))", WF_NAMED(b), 0, want, 1, &out));
    OK(ctx, wf_download(out, parts, sizeof parts));
    assert_true(parts[0][0] == INFINITY && parts[0][1] == 1);
    assert_true(isnan(parts[1][0]) && parts[1][1] == 0);
    assert_true(parts[2][0] == INFINITY && parts[2][1] == 1);
    wf_release(out);
    wf_release(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_value), cmocka_unit_test(open_shapes),
                                        cmocka_unit_test(alone), cmocka_unit_test(beside_complex) };
    return cmocka_run_group_tests_name("text numbers", tests, set_up, tear_down);
}
