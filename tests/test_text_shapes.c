/* test_text_shapes.c - operator text whose outputs have another shape than its inputs, which are read by index; and its
 * arguments.
 *
 * ctest: devices
 */
#include "on_devices.h"

enum { H = 6, W = 8 };

static wf_array *make_ramp(void) /* 100 y + x */
{
    float v[H * W];
    for (int i = 0; i < H * W; i++)
        v[i] = (float)(100 * (i / W) + i % W);
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(H, W));
    OK(ctx, wf_upload(a, v, sizeof v));
    return a;
}

static void expect(const char *text, const wf_array *array, const float *want, int64_t n)
{
    float got[H * W];
    if (!array)
        fail_msg("%s: %s", text, wf_last_message(ctx));
    assert_int_equal(wf_array_count(array), n);
    OK(ctx, wf_download(array, got, (size_t)n * sizeof *got));
    for (int64_t i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("%s: element %d is %g, not %g", text, (int)i, (double)got[i], (double)want[i]);
}

/* The shape of the array that the text is given decides where arrays are read by index only. */
static void test_outputs(void **state)
{
    (void)state;
    wf_array *a = make_ramp(), *half = wf_empty(ctx, WF_F32, WF_SHAPE(3, 2)),
             *row = wf_empty(ctx, WF_F32, WF_SHAPE(1, 3));
    wf_array *one = wf_empty(ctx, WF_F32, WF_SHAPE(1, 1)), *same = wf_like(a);
    static const char *const bins[] = {
        "half = 0.25*(a[2*y, 4*x] + a[2*y+1, 4*x] + a[2*y, 4*x+1] + a[2*y+1, 4*x+1])",
        "t = 4*x; u = a[2*y, t] + a[2*y, t+1]; half = 0.25*(u + a[2*y+1, t] + a[2*y+1, t+1])",
        "half[y, x] = 0.25*(a[2*y, 4*x] + a[2*y+1, 4*x] + a[2*y, 4*x+1] + a[2*y+1, 4*x+1])",
    };
    for (size_t i = 0; i < sizeof bins / sizeof *bins; i++) {
        OK(ctx, wf_text(ctx, bins[i], a, half));
        expect(bins[i], half, (float[]){ 50.5f, 54.5f, 250.5f, 254.5f, 450.5f, 454.5f }, 6);
    }
    OK(ctx, wf_text(ctx, "row = a[5, x+6; clamp] - min(a)", row, a));
    expect("row", row, (float[]){ 506, 507, 507 }, 3);
    OK(ctx, wf_text(ctx, "half = nx + 10*ny + x - x", a, half));
    expect("extents", half, (float[]){ 32, 32, 32, 32, 32, 32 }, 6);
    /* an array that is assigned a value without coordinates gives no shape */
    OK(ctx, wf_text(ctx, "one = sum(a[y, x+1] - a); same = a[y, x-1] - one", a, one, same));
    OK(ctx, wf_text(ctx, "t = x; t = max(a); one = t; same = a[y, x-1] - one", a, one, same));
    OK(ctx, wf_text(ctx, "one = same[0, 1] - same[5, 7]", same, one));
    expect("one", one, (float[]){ -506 }, 1);
    REFUSED(ctx, wf_text(ctx, "half = a[y, x]; row = a[y, x]", a, half, row), WF_ERR_SHAPE, "row");
    wf_array *none = wf_empty(ctx, WF_F32, WF_SHAPE(0, 3));
    REFUSED(ctx, wf_text(ctx, "row = argmin(none; 0)", none, row), WF_ERR_SHAPE, "argmin of no elements");
    REFUSED(ctx, wf_text(ctx, "one = argmax(none)", none, one), WF_ERR_SHAPE, "argmax of no elements");
    OK(ctx, wf_text(ctx, "row = sum(none; 0)", none, row));
    expect("sum of no elements", row, (float[]){ 0, 0, 0 }, 3);
    wf_release(none);
    wf_array *all[] = { a, half, row, one, same };
    for (size_t i = 0; i < 5; i++)
        wf_release(all[i]);
}

/* The shape of the argument named "" is that of coordinates. */
static void test_given(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t h, w;
        float want[8];
    } given[] = {
        { "out = a[2*y+1, 3*x]", 2, 3, { 100, 103, 106, 300, 303, 306 } },
        { "out = a[y+4, x+6; 7]", 3, 3, { 406, 407, 7, 506, 507, 7, 7, 7 } },
        { "out = a[4, x]", 1, 3, { 400, 401, 402 } },
        { "out = a[x, 0]", 1, 5, { 0, 100, 200, 300, 400 } },
        { "out = a[2*y, x] - mean(a) + 253.5", 2, 2, { 0, 1, 200, 201 } },
        { "out = f32(nx + 10*ny) + 0*a[y, x]", 1, 3, { 13, 13, 13 } },
        { "f32 s = 0; for (int k = 0; k < 6; k++) s += a[k, 2*x]; out = s", 1, 4, { 1500, 1512, 1524, 1536 } },
    };
    wf_array *a = make_ramp();
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        wf_array *element = wf_full(ctx, WF_U8, WF_SHAPE(1), 0), *out = NULL;
        wf_array *shape = wf_view_broadcast(element, WF_SHAPE(given[i].h, given[i].w));
        const char *want[] = { "out" };
        wf_text_create(ctx, given[i].text, WF_ARGS(WF_ARG("a", a), WF_ARG("", shape)), 0, want, 1, &out);
        if (given[i].h == 3)
            assert_int_equal(wf_array_count(out), 9);
        wf_array *flat = out ? wf_view_reshape(out, WF_SHAPE(given[i].h * given[i].w)) : NULL;
        wf_array *first = flat ? wf_view_slice(flat, 0, 0, 8, 1) : NULL;
        expect(given[i].text, first, given[i].want, given[i].h == 3 ? 8 : given[i].h * given[i].w);
        wf_array *all[] = { element, shape, out, flat, first };
        for (size_t k = 0; k < 5; k++)
            wf_release(all[k]);
    }
    wf_release(a);
}

static void test_arguments(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_I64, WF_SHAPE(2), 1), *u = wf_full(ctx, WF_U64, WF_SHAPE(2), 0);
    int64_t n = (INT64_C(1) << 53) + 1, low = INT64_MIN, got[2];
    uint64_t high = UINT64_MAX, bits[2];
    OK(ctx, wf_text(ctx, "a = a + n", a, n));
    OK(ctx, wf_download(a, got, sizeof got));
    assert_true(got[1] == n + 1);
    OK(ctx, wf_text(ctx, "i64 s = low; a = s", a, low));
    OK(ctx, wf_download(a, got, sizeof got));
    assert_true(got[0] == low);
    OK(ctx, wf_text(ctx, "u = high", u, high));
    OK(ctx, wf_download(u, bits, sizeof bits));
    assert_true(bits[0] == high);
    REFUSED(ctx, wf_text_n(ctx, "a = 1", WF_ARGS(WF_ARG("a", a), WF_ARG("n", 1), WF_ARG("n", 2))), WF_ERR_ARG,
            "two arguments have the name 'n'");
    REFUSED(ctx, wf_text_n(ctx, "int k = 1; a = k", WF_ARGS(WF_ARG("a", a), WF_ARG("a", u))), WF_ERR_ARG,
            "two arguments have the name 'a'");
    /* a parameter of a kernel */
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_param(g, "n", WF_I64, 1));
    wf_out(g, u, wf_param(g, "m", WF_U64, 1));
    wf_kernel *kernel = wf_compile(g);
    OK(ctx, wf_launch_with(kernel, WF_ARGS(WF_ARG("n", n), WF_ARG("m", high)), NULL));
    OK(ctx, wf_download(a, got, sizeof got));
    OK(ctx, wf_download(u, bits, sizeof bits));
    assert_true(got[0] == n && bits[1] == high);
    REFUSED(ctx, wf_launch_with(kernel, WF_ARGS(WF_ARG("n", high)), NULL), WF_ERR_DTYPE,
            "18446744073709551615 does not fit parameter 'n'");
    REFUSED(ctx, wf_launch_with(kernel, WF_ARGS(WF_ARG("m", low)), NULL), WF_ERR_DTYPE,
            "-9223372036854775808 does not fit parameter 'm'");
    wf_kernel_free(kernel);
    wf_release(a);
    wf_release(u);
}

/* A line that begins with an operator continues the statement before it. */
static void test_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } lines[] = {
        { "out = a\n + b", 5 },
        { "out = a\n - b", -1 },
        { "out = a # two\n\n  # and\n\t* b\r\n  ** 2", 18 },
        { "out = a > b\n ? 1\n : 7", 7 },
        { "t = a\n  == 2\nout = t\n && b\n != 4", 1 },
        { "t = a;\n-t", -2 },
        { "out = a; int k = 1\n++k\nk++\nout = k", 3 },
        { "int k = 1; k++\nout = a", 2 },
        { "out = a\n(b)", 3 },
        { "out = a\n!b", 0 },
    };
    wf_array *a = wf_full(ctx, WF_F64, WF_SHAPE(1), 2);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *want[] = { "out" };
        wf_array *out = NULL;
        double b = 3, got = -99;
        wf_text_create(ctx, lines[i].text, WF_NAMED(a, b), 0, want, 1, &out);
        wf_array *wide = out ? wf_empty(ctx, WF_F64, WF_SHAPE(1)) : NULL;
        if (!out || wf_text(ctx, "wide = f64(out)", wide, out) != WF_OK)
            fail_msg("%s: %s", lines[i].text, wf_last_message(ctx));
        OK(ctx, wf_download(wide, &got, sizeof got));
        if (got != lines[i].value)
            fail_msg("%s: %g, not %g", lines[i].text, got, lines[i].value);
        wf_release(out);
        wf_release(wide);
    }
    const char *want[] = { "out" };
    wf_array *out = NULL;
    REFUSED(ctx, wf_text_create(ctx, "out = a\n +* 2", WF_NAMED(a), 0, want, 1, &out), WF_ERR_SYNTAX,
            "line 2, column 3:\n   +* 2\n    ^");
    REFUSED(ctx, wf_text_create(ctx, "out = a\n && \n", WF_NAMED(a), 0, want, 1, &out), WF_ERR_SYNTAX,
            "expected a value, not the end of the text");
    wf_release(a);
}

/* A prepared text writes its arrays at each launch. */
static void test_prepared(void **state)
{
    (void)state;
    wf_array *a = make_ramp(), *out[2] = { NULL, NULL };
    const char *want[] = { "p", "q" };
    wf_kernel *kernel = wf_text_compile(ctx, "p = a[1, x]; q = max(a)", WF_NAMED(a), 0, want, 2, out);
    assert_non_null(kernel);
    for (int turn = 0; turn < 2; turn++) {
        OK(ctx, wf_launch_with(kernel, WF_NO_ARGS, NULL));
        expect("q", out[1], (float[]){ turn ? 1014 : 507 }, 1);
        OK(ctx, wf_text(ctx, "a = 2*a", a));
    }
    wf_kernel_free(kernel);
    wf_release(out[0]);
    wf_release(out[1]);
    assert_null(wf_text_compile(ctx, "p = a[1, x]", WF_NAMED(a), 0, want, 2, out));
    assert_true(!out[0] && !out[1] && strstr(wf_last_message(ctx), "no statement assigns 'q'"));
    wf_clear_error(ctx);
    wf_release(a);
}

/* Extents of formal arrays are open. Coordinates are known where another array has more than one element. */
static void test_open_extents(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool known;
    } cases[] = { { "from + whole + x", true },
                  { "from + row + x", false },
                  { "from + column + y", false },
                  { "from + row + column + y", true } };
    wf_array *whole = wf_full(ctx, WF_F32, WF_SHAPE(H, W), 0), *row = wf_full(ctx, WF_F32, WF_SHAPE(1, W), 0);
    wf_array *column = wf_full(ctx, WF_F32, WF_SHAPE(H, 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int order = 0; order < 2; order++) {
            wf_graph *g = wf_begin(ctx);
            wf_array *from = wf_formal(g, "from", WF_F32, 2);
            const char *const names[] = { "whole", "row", "column" };
            wf_array *const arrays[] = { whole, row, column };
            wf_arg all[4] = { { .name = NULL } };
            size_t n = 0;
            if (!order)
                all[n++] = WF_ARG("from", from);
            for (size_t k = 0; k < 3; k++)
                if (strstr(cases[i].text, names[k]))
                    all[n++] = WF_ARG(names[k], arrays[k]);
            if (order)
                all[n++] = WF_ARG("from", from);
            wf_out(g, wf_formal(g, "to", WF_F32, 2), wf_expr_n(g, cases[i].text, (wf_args){ all, n }));
            wf_kernel *kernel = wf_compile(g);
            if (cases[i].known != !!kernel || (!kernel && !strstr(wf_last_message(ctx), "whose extents are open")))
                fail_msg("%s, order %d: %s", cases[i].text, order, wf_last_message(ctx));
            wf_kernel_free(kernel);
            wf_clear_error(ctx);
        }
    wf_release(whole);
    wf_release(row);
    wf_release(column);
}

/* How results follow the array `a`: for x and y of the result, the axis of `a` (0: unknown) and the step. */
static const struct {
    const char *text;
    int x_of;
    double x_step;
    int y_of;
    double y_step;
} steps[] = {
    { "out = a[2*y, 3*x]", -1, 3, -2, 2 },
    { "out = a + 1", -1, 1, -2, 1 },
    { "out = 0.25*(a[2*y,2*x] + a[2*y+1,2*x] + a[2*y,2*x+1] + a[1 + y*2, (x<<1) + 1])", -1, 2, -2, 2 },
    { "t = 2*x; u = t + 5; out = a[n*y - 7, u; clamp]", -1, 2, -2, 4 },
    { "out = a[x, -y]", -2, 1, -1, 1 },
    { "out = a[y, idiv(x, 2)]", -1, 0.5, -2, 1 },
    { "out = a[i64(round(y/4)), i64(x*0.25)]", -1, 0.25, -2, 0.25 },
    { "b = a[y, 2*x]; out = b[3*y, 2*x; mirror]", -1, 4, -2, 3 },
    { "b = a[y, 2*x]; b = b / max(b); out = b", -1, 2, -2, 1 },
    { "f32 s = 0; for (int k = 0; k < 3; k++) for (int l = -1; l < 3; ++l) s += a[2*y+k, 2*x+l]; out = s/9", -1, 2, -2,
      2 },
    { "f32 s = 0; i64 i = 4*x; while (i < 4*x) { s += a[y, i]; i++; } out = s", -1, 4, -2, 1 },
    { "out[2*y, x] = a", -1, 1, -2, 0.5 },
    { "out[x, y] = a[y, 3*x]", -2, 1, -1, 3 },
    { "out = clamp(a[clamp(2*y, 0, 5), min(x, 3)], 0, 1)", -1, 1, -2, 2 },
    { "out = a[2*y, x] + a[3*y, x]", -1, 1, 0, 0 },
    { "out = a[y, x*x]", 0, 0, -2, 1 },
    { "out = a[y, x] + a[y, nx-1-x]", 0, 0, -2, 1 },
    { "out = a[5, x]", -1, 1, 0, 0 },
    { "out = x", 0, 0, 0, 0 },
    { "out = a[i64(b), x]", -1, 1, 0, 0 },
    { "m = max(a); out = a[2*y, 2*x] - m", -1, 2, -2, 2 },
    { "out = cumsum(a[2*y, 2*x]; 0)", -1, 2, -2, 2 },
    { "other = a[2*y, 2*x]; out = b", 0, 0, 0, 0 },
};

static void test_steps(void **state)
{
    (void)state;
    wf_array *a = make_ramp(), *b = wf_like(a);
    wf_args args = WF_ARGS(WF_ARG("a", a), WF_ARG("b", b), WF_ARG("n", 4));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int of[2] = { 0, 0 };
        double step[2] = { 0, 0 };
        for (int k = 0; k < 2; k++)
            wf_text_step(ctx, steps[i].text, args, "out", "a", -1 - k, &of[k], &step[k]);
        if (of[0] != steps[i].x_of || step[0] != steps[i].x_step || of[1] != steps[i].y_of ||
            step[1] != steps[i].y_step)
            fail_msg("%s: x of %d by %g, y of %d by %g", steps[i].text, of[0], step[0], of[1], step[1]);
    }
    wf_release(a);
    wf_release(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs),      cmocka_unit_test(test_given),    cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_lines),        cmocka_unit_test(test_prepared), cmocka_unit_test(test_steps),
        cmocka_unit_test(test_open_extents),
    };
    return RUN_ON_ALL(tests);
}
