/* test_messages.c - error messages name the function that was called, the array and the recording. Conditions and
 * short counters mean what they mean in C.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include "weft/functions.h"

enum { N = 10 };

/* Messages name places in this file, where recordings are made, and never a file of the library. */
static void expect_said(wf_status want, const char *part, bool placed)
{
    const char *text = wf_last_message(ctx);
    if (wf_last_status(ctx) != want || !strstr(text, part) || strstr(text, "/src/") ||
        !strstr(text, "test_messages.c:") != !placed)
        fail_msg("%s: %s", wf_status_name(wf_last_status(ctx)), text);
    wf_clear_error(ctx);
}

static wf_graph *space(void) { return wf_begin(ctx, .shape = WF_SHAPE(N)); }

static void test_index_spaces(void **state)
{
    (void)state;
    wf_array *line = wf_full(ctx, WF_F32, WF_SHAPE(N), 1), *table = wf_full(ctx, WF_F32, WF_SHAPE(2, 5), 1),
             *one = wf_full(ctx, WF_F32, WF_SHAPE(1, N), 1), *shorter = wf_full(ctx, WF_F32, WF_SHAPE(N - 1), 1);
    wf_graph *g = space();
    wf_out(g, table, wf_index(g, 0));
    wf_run(g);
    expect_said(
        WF_ERR_SHAPE,
        "wf_out: array 1 of the recording (in order of first use; f32 of shape (2, 5)) has more axes than the space (10)",
        true);
    g = space();
    wf_out(g, line, wf_in(g, table));
    wf_run(g);
    expect_said(
        WF_ERR_SHAPE,
        "wf_in: array 1 of the recording (in order of first use; f32 of shape (2, 5)) has more axes than the space (10)",
        true);
    g = space();
    wf_out(g, line, wf_in(g, one));
    OK(ctx, wf_run(g));
    g = space();
    wf_out(g, shorter, 1);
    wf_run(g);
    expect_said(WF_ERR_SHAPE, "(9)", true);
    g = space();
    wf_accumulate(g, WF_JOIN_ADD, line, 1, wf_index(g, 0));
    wf_write(g, line, 1, wf_index(g, 0));
    wf_run(g);
    expect_said(
        WF_ERR_CONTRACT,
        "wf_accumulate: array 1 of the recording (in order of first use; f32 of shape (10)) is accumulated into and written",
        true);
    g = space();
    wf_array *formal = wf_formal(g, "sums", WF_F32, 1);
    wf_write(g, formal, 1, wf_index(g, 0));
    wf_accumulate(g, WF_JOIN_ADD, formal, 1, wf_index(g, 0));
    assert_null(wf_compile(g));
    expect_said(WF_ERR_CONTRACT, "wf_accumulate: 'sums' (f32 of shape (?)) is accumulated into and written", true);
    wf_array *all[] = { line, table, one, shorter };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
}

static void test_named_arrays_and_functions(void **state)
{
    (void)state;
    wf_array *line = wf_full(ctx, WF_F32, WF_SHAPE(N), 1), *wide = wf_view_broadcast(line, WF_SHAPE(3, N));
    assert_int_not_equal(wf_array_fill(wide, 1), WF_OK);
    expect_said(WF_ERR_ARG, "an axis has stride 0 [in wf_array_fill]", false);
    assert_null(wf_array_sum(line, WF_AXES(3)));
    expect_said(WF_ERR_ARG, "wf_array_sum", false);
    assert_null(wf_full(ctx, WF_U8, WF_SHAPE(2), 300));
    expect_said(WF_ERR_DTYPE, "wf_full: the value 300 does not fit u8", false);
    wf_graph *g = wf_begin(ctx);
    wf_release(wf_keep(wf_block_reduce((wf_join)99, wf_in(g, line), 2)));
    wf_run(g);
    expect_said(WF_ERR_ARG, "wf_block_reduce: there is no join 99", true);
    g = wf_begin(ctx);
    wf_release(wf_keep(wf_linspace(g, WF_F32, -1, 0, 1)));
    wf_run(g);
    expect_said(WF_ERR_SHAPE, "wf_linspace: there are no arrays of -1 elements", true);
    g = space();
    wf_out(g, line, wf_linspace(g, WF_F32, 3, 0, 1));
    wf_run(g);
    expect_said(WF_ERR_ARG, "wf_linspace: only in array graphs", true);
    wf_release(line);
    wf_release(wide);
}

/* Shapes that are given are in the message, as they were given. */
static void nothing(const wf_chunk *chunk, void *user) { (void)chunk, (void)user; }

static void test_given_shapes(void **state)
{
    (void)state;
    wf_run(wf_begin(ctx, .shape = WF_SHAPE(3, -4)));
    expect_said(WF_ERR_SHAPE, "wf_begin: the shape (3, -4) has", true);
    wf_run(wf_begin(ctx, .shape = { .rank = 9 }));
    expect_said(WF_ERR_SHAPE, "wf_begin: the shape of rank 9 has", true);
    wf_graph *g = wf_begin(ctx);
    wf_release(wf_keep(wf_iota(g, WF_SHAPE(-2), 0)));
    wf_run(g);
    expect_said(WF_ERR_SHAPE, "wf_iota: the shape (-2) has", true);
    g = space();
    wf_write(g, wf_formal(g, "to", WF_I64, 1), wf_index(g, 0), wf_index(g, 0));
    wf_kernel *k = wf_compile(g);
    wf_launch(k, WF_NO_ARGS, .shape = WF_SHAPE(-9));
    expect_said(WF_ERR_SHAPE, "wf_launch: the shape (-9) has", false);
    wf_launch(k, WF_NO_ARGS, .shape = WF_SHAPE(9, 9));
    expect_said(WF_ERR_SHAPE, "wf_launch: the shape (9, 9) has another rank; the space, recorded as (10), has rank 1",
                false);
    wf_kernel_free(k);
    wf_run(wf_begin(ctx, .shape = WF_SHAPE(2, 5), .block = WF_SHAPE(4, 0)));
    expect_said(WF_ERR_ARG,
                "wf_begin: .block, (4, 0), needs an extent above 0 for each axis of an index space, here (2, 5)", true);
    wf_run(wf_begin(ctx, .shape = WF_SHAPE(2, 5), .reduce = WF_AXES(2)));
    expect_said(WF_ERR_ARG, "wf_begin: .reduce (mask 0x4) names axes beyond the 2 of the space (2, 5)", true);
    g = wf_begin(ctx);
    wf_out(g, wf_formal(g, "to", WF_I64, 1), wf_iota(g, WF_SHAPE(3), 0));
    k = wf_compile(g);
    wf_launch(k, WF_NO_ARGS, .shape = WF_SHAPE(9));
    expect_said(WF_ERR_SHAPE, "wf_launch: the shape (9) is given, but the recording has no index space", false);
    wf_kernel_free(k);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(2, 5), 1), *b = wf_full(ctx, WF_F32, WF_SHAPE(5), 1),
             *c = wf_full(ctx, WF_F32, WF_SHAPE(3), 1);
    wf_host_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(a, b), nothing, NULL);
    expect_said(WF_ERR_SHAPE, "wf_host_apply: output 1 has shape (5), but that of the outputs before it is (2, 5)",
                false);
    wf_host_apply(ctx, WF_ARRAYS(b, c), WF_ARRAYS(a), nothing, NULL);
    expect_said(WF_ERR_SHAPE, "input 1 has shape (3), which does not broadcast to that of the outputs, (2, 5)", false);
    wf_host_apply(ctx, WF_ARRAYS(a, c), WF_NO_ARRAYS, nothing, NULL);
    expect_said(WF_ERR_SHAPE, "input 1 has shape (3), which does not broadcast with (2, 5)", false);
    wf_release(a), wf_release(b), wf_release(c);
}

/* Errors that only a launch can find name the function, too. */
enum { SPACE, ELEMENTS, WRITTEN, RESHAPED, ADDED };

static void launched(int which, const char *part)
{
    wf_array *row = wf_full(ctx, WF_F32, WF_SHAPE(3), 1), *table = wf_full(ctx, WF_F32, WF_SHAPE(2, 5), 1);
    wf_graph *g = wf_begin(ctx, .shape = which == SPACE ? WF_SHAPE(2, 5) : WF_SCALAR,
                           .elements = which == ELEMENTS || which == WRITTEN);
    bool reshapes = which == RESHAPED;
    wf_array *x = wf_formal(g, "x", WF_F32, reshapes ? 2 : 1), *y = wf_formal(g, "y", WF_F32, 2);
    wf_val v = wf_in(g, which == WRITTEN ? y : x);
    if (which == ELEMENTS || which == ADDED)
        v = wf_add(v, wf_in(g, y));
    wf_out(g, reshapes || which == WRITTEN ? x : y, reshapes ? wf_reshape(v, WF_SHAPE(7)) : v);
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    wf_launch(k, WF_ARGS(WF_ARG("x", reshapes ? table : row), WF_ARG("y", table)));
    expect_said(WF_ERR_SHAPE, part, false);
    wf_kernel_free(k);
    wf_release(row), wf_release(table);
}

static void test_at_the_launch(void **state)
{
    (void)state;
    launched(SPACE, "wf_in: 'x' (f32 of shape (3)) does not fit the space (2, 5) [operation %1: wf_in('x')]");
    launched(
        ELEMENTS,
        "wf_in: 'y' (f32 of shape (2, 5)) does not broadcast with the operands before it, of shape (3) [operation %2");
    launched(
        WRITTEN,
        "wf_out: 'x' (f32 of shape (3)) does not broadcast with the operands before it, of shape (2, 5) [operation %2");
    launched(RESHAPED, "wf_reshape: not of a value of shape (2, 5) [operation %3: wf_reshape('x', 7)]");
    launched(ADDED, "wf_add: shapes (3) and (2, 5) do not broadcast [operation %3: wf_add('x', 'y')]");
}

static void test_bindings(void **state)
{
    (void)state;
    wf_array *x = wf_full(ctx, WF_F32, WF_SHAPE(N), 1), *y = wf_like(x);
    wf_graph *g = wf_begin(ctx);
    wf_array *in = wf_formal(g, "in", WF_F32, 1), *out = wf_formal(g, "out", WF_F32, 1);
    wf_val sum = wf_mul(wf_in(g, in), wf_param(g, "p", WF_F32, 2));
    for (int i = 0; i < 70; ++i) {
        char name[8];
        snprintf(name, sizeof name, "q%d", i);
        sum = wf_add(sum, wf_param(g, name, WF_F32, 0));
    }
    wf_out(g, out, sum);
    wf_kernel *k = wf_compile(g);
    size_t len;
    assert_int_equal(wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_KERNELS, NULL, 0, &len), WF_ERR_ARG);
    expect_said(WF_ERR_ARG, "wf_kernel_dump: no array is given for 'in'", false);
    assert_int_equal(wf_launch(k, WF_ARGS(WF_ARG("in", x), WF_ARG("in", y), WF_ARG("out", y))), WF_ERR_ARG);
    expect_said(WF_ERR_ARG, "wf_launch: 'in' is given twice", false);
    wf_launch(k, WF_ARGS(WF_ARG("in", x), WF_ARG("out", y), WF_ARG("p", 3), WF_ARG("p", 3)));
    expect_said(WF_ERR_ARG, "wf_launch: 'p' is given twice", false);
    wf_launch(k, WF_ARGS(WF_ARG("in", x), WF_ARG("out", y), WF_ARG("q69", 1), WF_ARG("q68", 1), WF_ARG("q69", 3)));
    expect_said(WF_ERR_ARG, "wf_launch: 'q69' is given twice", false);
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("q69", 1), WF_ARG("q68", 1), WF_ARG("out", y), WF_ARG("in", x))));
    float *got = contents(y);
    assert_true(got[0] == 4);
    free(got);
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("in", x), WF_ARG("out", y), WF_ARG("q60", 2), WF_ARG("q61", 3)))); /* 64th */
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("q61", 3), WF_ARG("q60", 2), WF_ARG("out", y), WF_ARG("in", x))));
    got = contents(y);
    assert_true(got[0] == 7);
    free(got);
    wf_kernel_free(k);
    wf_release(x);
    wf_release(y);
}

static void test_conditions_are_as_in_c(void **state)
{
    (void)state;
    const float c[N] = { 0, 1, -0.0f, 0.25f, NAN, -1, 2, 0, 1e-30f, INFINITY };
    wf_array *cond = array_of(ctx, WF_F32, WF_SHAPE(N), c), *hit[7];
    for (int i = 0; i < 7; ++i)
        hit[i] = wf_full(ctx, WF_I32, WF_SHAPE(N), 0);
    wf_graph *g = space();
    wf_val i = wf_index(g, 0), x = wf_in(g, cond);
    wf_write_if(g, x, hit[0], 1, i);
    wf_accumulate_if(g, x, WF_JOIN_ADD, hit[1], 1, i);
    wf_atomic_if(g, x, WF_JOIN_ADD, hit[2], 1, i);
    WF_IF (g, x) {
        wf_write(g, hit[3], 1, i);
    }
    WF_END(g);
    wf_val whole = wf_cast(wf_mul(wf_sign(x), 5), WF_I32); /* not 0 but for a NaN, which becomes 0 */
    wf_out(g, hit[4], wf_select(x, 1, 0));
    wf_out(g, hit[5], wf_select(wf_isnan(x), 1, wf_select(whole, wf_idiv(whole, whole), whole)));
    wf_out(g, hit[6], wf_select(wf_complex(0, x), 1, 0));
    OK(ctx, wf_run(g));
    for (int h = 0; h < 7; ++h) {
        int32_t *got = contents(hit[h]);
        for (int k = 0; k < N; ++k)
            assert_int_equal(got[k], c[k] != 0);
        free(got);
        wf_release(hit[h]);
    }
    wf_array *one = wf_full(ctx, WF_I32, WF_SHAPE(1), 0);
    g = space();
    wf_write_if(g, 2.5, one, 7, 0); /* a number, too */
    OK(ctx, wf_run(g));
    int32_t *got = contents(one);
    assert_int_equal(*got, 7);
    free(got);
    wf_release(one);
    wf_release(cond);
}

/* Loops whose counter would leave its dtype with the last step; the counter has that dtype all the same. */
static void test_short_counters(void **state)
{
    (void)state;
    static const struct {
        wf_dtype dtype;
        int lo, hi, step, turns;
    } cases[] = {
        { WF_I8, 100, 127, 5, 6 },        { WF_I8, -100, -128, -5, 6 },     { WF_U8, 200, 255, 10, 6 },
        { WF_I16, 32000, 32767, 100, 8 }, { WF_U16, 65000, 65535, 100, 6 }, { WF_I8, 127, -128, -100, 3 },
        { WF_U8, 255, 255, 1, 0 },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        wf_array *out = wf_full(ctx, WF_I64, WF_SHAPE(2), 0),
                 *hi = wf_full(ctx, cases[k].dtype, WF_SHAPE(2), cases[k].hi);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(2));
        wf_var n = wf_local(g, WF_I64, 0);
        wf_val i;
        WF_FOR (g, i, cases[k].lo, wf_in(g, hi), cases[k].step) {
            assert_int_equal(wf_val_dtype(i), cases[k].dtype);
            wf_inc(n, wf_add(wf_mul(wf_cast(wf_eq(i, wf_const(g, cases[k].dtype, cases[k].lo)), WF_I64), 1000), 1));
            WF_IF (g, wf_gt(n, 5000)) {
                wf_break(g);
            }
            WF_END(g);
        }
        WF_END(g);
        wf_out(g, out, n);
        OK(ctx, wf_run(g));
        int64_t *got = contents(out);
        assert_int_equal(got[1], cases[k].turns ? 1000 + cases[k].turns : 0);
        free(got);
        wf_release(out);
        wf_release(hi);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index_spaces),   cmocka_unit_test(test_named_arrays_and_functions),
        cmocka_unit_test(test_given_shapes),   cmocka_unit_test(test_at_the_launch),
        cmocka_unit_test(test_bindings),       cmocka_unit_test(test_conditions_are_as_in_c),
        cmocka_unit_test(test_short_counters),
    };
    return RUN_ON_ALL(tests);
}
