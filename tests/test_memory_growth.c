/* test_memory_growth.c - the memory of a process stays constant, however long a program runs: recordings of every kind
 * are made, evaluated, run, dropped and made to fail; arrays, copies and views are made and released; sequences are
 * frozen and replayed.
 */
#include "on_devices.h"
#if defined __GLIBC__
#include <malloc.h>
#endif

enum { N = 24, TURNS = TEST_EVERY == 1 ? 30000 : 2000, ROUNDS = 4 };

/* Returns the bytes in use, or 0 on systems that do not count them. */
static size_t in_use(void)
{
#if defined __GLIBC__ && __GLIBC_PREREQ(2, 33) && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#else
    return 0;
#endif
}

static void turn(int t, wf_array *a, wf_kernel *kernel, wf_frozen *frozen)
{
    wf_graph *g = wf_begin(ctx, .name = "turn");
    wf_val v = wf_in(g, a), k;
    wf_var s = wf_local(g, WF_F32, v);
    WF_FOR (g, k, 0, wf_floor_mod(wf_cast(v, WF_I32), 3), 1) {
        wf_inc(s, k);
    }
    WF_END(g);
    wf_array *sum = wf_keep(wf_sum(s, WF_ALL_AXES)), *copy = wf_copy(a), *view = wf_view_slice(copy, 0, 1, 9, 2);
    wf_array *scan = wf_keep(wf_scan(WF_JOIN_ADD, wf_reverse(s, 0), 0, false, false)), *large = NULL;
    if (t % 3 == 0)
        OK(ctx, wf_eval(g));
    if (t % 50 == 0)
        large = wf_compress(v, wf_gt(v, 3));
    wf_out(g, view, wf_add(wf_in(g, view), 1));
    if (t % 40 == 7)
        wf_fail(g, WF_ERR_ARG, "on purpose");
    if (t % 7 == 0)
        wf_drop(g);
    else
        assert_int_equal(wf_run(g), t % 40 == 7 ? WF_ERR_ARG : WF_OK);
    wf_clear_error(ctx);
    wf_release(sum), wf_release(scan), wf_release(large);
    OK(ctx, wf_launch(kernel, WF_ARGS(WF_ARG("x", copy))));
    OK(ctx, wf_frozen_replay(frozen, WF_ARRAYS(copy)));
    wf_release(copy), wf_release(view);
}

static wf_frozen *sequence(wf_array *a)
{
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
    wf_graph *g = wf_begin(ctx);
    wf_array *half = wf_keep(wf_mul(wf_in(g, a), 0.5));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_out(g, a, wf_add(wf_in(g, half), 1));
    OK(ctx, wf_run(g));
    wf_release(half);
    wf_frozen *f = wf_freeze_end(ctx);
    assert_non_null(f);
    return f;
}

static void test_memory_stays_constant(void **state)
{
    (void)state;
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 0, 1), *other = wf_array_arange(ctx, WF_F32, N, 0, 1);
    wf_graph *g = wf_begin(ctx);
    wf_array *x = wf_formal(g, "x", WF_F32, 1);
    wf_accumulate(g, WF_JOIN_ADD, x, 1, wf_mod(wf_iota(g, WF_SHAPE(100), 0), N));
    wf_kernel *kernel = wf_compile(g);
    wf_frozen *frozen = sequence(other);
    size_t first = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        for (int t = 0; t < (int)sized(TURNS, 30); ++t)
            turn(t, a, kernel, frozen);
        if (round == 0)
            first = in_use();
        else if (in_use() > first + (64 << 10))
            fail_msg("%zu bytes after the first round, %zu after round %d", first, in_use(), round + 1);
    }
    wf_frozen_free(frozen);
    wf_kernel_free(kernel);
    wf_release(a), wf_release(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_stays_constant),
    };
    return RUN_ON_CPU(tests);
}
