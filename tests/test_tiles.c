/* test_tiles.c - how many vectors of points a step of compiled code does, by the history of kernels.
 *
 * ctest: codegen two_tiers
 */
#include "run/cache/target.h"
#include "with_history.h"

/* Runs a recording, in the tier that the context's flags choose, and returns what is known about its only kernel.
 * Skips the test without compiled code. */
static wf_kernel_info run_in_tier(wf_graph *g)
{
    wf_kernel_info info[2] = { { .size = sizeof *info } };
    wf_history(ctx, info, 2);
    OK(ctx, wf_run(g));
    assert_int_equal(wf_history(ctx, info, 2), 1);
    if (!info[0].lanes)
        skip();
    return info[0];
}

static wf_kernel_info run(wf_graph *g)
{
    wf_set_flags(ctx, 0, WF_FLAG_TIERED | WF_FLAG_INTERPRET_FIRST); /* baseline code has one column */
    return run_in_tier(g);
}

/* Sums at random places: `elements` of them, each of 1 or of a value of its own. */
static int columns_of_sums(int64_t elements, bool values)
{
    const int64_t n = 1 << 22;
    wf_array *place = wf_full(ctx, WF_I32, WF_SHAPE(n), 0), *value = wf_full(ctx, WF_I32, WF_SHAPE(n), 1);
    wf_array *sums = wf_full(ctx, WF_I32, WF_SHAPE(elements), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n));
    wf_val one = values ? wf_in(g, value) : wf_const(g, WF_I32, 1);
    wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, sums, one, wf_in(g, place));
    int columns = run(g).columns;
    wf_release(place);
    wf_release(value);
    wf_release(sums);
    return columns;
}

static void test_sums(void **state)
{
    (void)state;
    assert_int_equal(columns_of_sums(8, false), 4);
    assert_int_equal(columns_of_sums(8, true), 2);       /* values of the lanes' own */
    assert_int_equal(columns_of_sums(100000, false), 2); /* beyond the first-level cache */
    assert_int_equal(columns_of_sums(4 << 20, true), 4); /* beyond all caches of a core */
}

/* Weights of a window are records, but all lanes read the same ones: the tile has columns. */
static void test_weights(void **state)
{
    (void)state;
    enum { SIDE = 512, WINDOW = 5 };
    wf_array *image = wf_full(ctx, WF_F32, WF_SHAPE(SIDE, SIDE), 1), *out = wf_empty(ctx, WF_F32, WF_SHAPE(SIDE, SIDE));
    wf_array *weights = wf_full(ctx, WF_F32, WF_SHAPE(WINDOW, WINDOW), 2);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(SIDE, SIDE));
    wf_val i = wf_index(g, 0), j = wf_index(g, 1), sum = wf_const(g, WF_F32, 0);
    for (int y = 0; y < WINDOW; y++)
        for (int x = 0; x < WINDOW; x++)
            sum = wf_fma(wf_read_or(g, image, 0, wf_add(i, y), wf_add(j, x)), wf_read(g, weights, y, x), sum);
    wf_out(g, out, sum);
    wf_kernel_info info = run(g);
    if (info.lanes >= 16) {
        assert_true(info.rows > 1);
        assert_true(info.columns > 1);
    }
    wf_release(image);
    wf_release(weights);
    wf_release(out);
}

/* A loop whose lanes leave one by one, with so many products of the state in each turn: a power of two. */
static int columns_of_loop(int products)
{
    const int64_t n = 1 << 20;
    wf_array *in = wf_full(ctx, WF_F32, WF_SHAPE(n), 0.5), *out = wf_empty(ctx, WF_F32, WF_SHAPE(n));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n));
    wf_val c = wf_in(g, in);
    wf_var x = wf_local(g, WF_F32, 0), turn = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_and(wf_lt(turn, 100), wf_lt(x, 4))) {
        wf_val old = wf_get(x), sum[16];
        for (int k = 0; k < products; k++)
            sum[k] = wf_mul(wf_add(old, k), old);
        for (int sums = products / 2; sums; sums /= 2)
            for (int k = 0; k < sums; k++)
                sum[k] = wf_add(sum[2 * k], sum[2 * k + 1]);
        wf_set(x, wf_add(sum[0], c));
        wf_inc(turn, 1);
    }
    WF_END(g);
    wf_out(g, out, x);
    wf_kernel_info info = run(g);
    wf_release(in);
    wf_release(out);
    return info.lanes >= 16 ? info.columns : 0;
}

/* Four vectors of a turn with one product leave some of four vector units idle; those of a turn with many do not. */
static void test_loops(void **state)
{
    (void)state;
    int one = columns_of_loop(1), many = columns_of_loop(16);
    wf__processor processor;
    wf__target_host(&processor);
    if (!one || processor.vector_units < 4)
        skip();
    assert_int_equal(one, 6);
    assert_int_equal(many, 4);
}

/* Baseline code has one column, except for updates, where columns are no question of latency. Without baseline code a
 * chain of many cycles that streams to memory has more. Flags are part of a recording, so that they are set before it. */
static void test_tiers(void **state)
{
    (void)state;
    const int64_t n = 1 << 22; /* enough to stream, and not enough work to compile for good at once */
    wf_array *in = wf_full(ctx, WF_F32, WF_SHAPE(n), 0.5), *out = wf_empty(ctx, WF_F32, WF_SHAPE(n));
    wf_array *counts = wf_full(ctx, WF_I32, WF_SHAPE(8), 0), *place = wf_full(ctx, WF_I32, WF_SHAPE(n), 0);
    for (int tiered = 1; tiered >= 0; tiered--) { /* code that was compiled for good is taken where it exists */
        wf_set_flags(ctx, tiered ? WF_FLAG_TIERED : 0, WF_FLAG_INTERPRET_FIRST | (tiered ? 0 : WF_FLAG_TIERED));
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, in);
        wf_out(g, out, wf_cos(wf_div(wf_sqrt(wf_cos(wf_div(1, x))), x)));
        wf_kernel_info info = run_in_tier(g);
        assert_int_equal(info.baseline, tiered);
        if (info.lanes >= 16 && info.nontemporal)
            assert_true(tiered ? info.columns == 1 : info.columns > 1);
        for (int direct = 0; direct < 2; direct++) {
            g = wf_begin(ctx, .shape = WF_SHAPE(n));
            wf_accumulate_mode(g, WF_JOIN_ADD, direct ? WF_MODE_DIRECT : WF_MODE_EXPAND, counts, wf_const(g, WF_I32, 1),
                               wf_in(g, place));
            info = run_in_tier(g);
            assert_int_equal(info.baseline, tiered);
            if (info.lanes >= 16)
                assert_int_equal(info.columns, 4);
        }
    }
    wf_release(in);
    wf_release(out);
    wf_release(counts);
    wf_release(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sums), cmocka_unit_test(test_weights),
                                        cmocka_unit_test(test_loops), cmocka_unit_test(test_tiers) };
    return cmocka_run_group_tests_name("cpu", tests, noted, off);
}
