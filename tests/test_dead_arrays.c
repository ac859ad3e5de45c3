/* test_dead_arrays.c - arrays that the program has released before the recording runs: values that only they need are
 * not computed. Those that are read after all are. */
#include "with_history.h"

enum { N = 100, MOST = 8 };

static wf_kernel_info info[MOST] = { { .size = sizeof *info } };

static size_t ran(void) { return wf_history(ctx, info, MOST); }

static wf_array *ramp(void) { return wf_array_arange(ctx, WF_F32, N, 0, 1); }

static void test_unread_arrays_go(void **state)
{
    (void)state;
    wf_array *a = ramp();
    ran();
    wf_graph *g = wf_begin(ctx);
    wf_release(wf_keep(wf_sum(wf_exp(wf_in(g, a)), WF_ALL_AXES)));
    OK(ctx, wf_run(g));
    assert_int_equal(ran(), 0);

    g = wf_begin(ctx);
    wf_val v = wf_add(wf_in(g, a), 1);
    wf_array *gone = wf_keep(wf_mul(wf_exp(v), wf_sum(v, WF_ALL_AXES))), *twice = wf_keep(v), *stays = wf_keep(v);
    wf_release(gone), wf_release(twice);
    OK(ctx, wf_run(g));
    assert_int_equal(ran(), 1);
    assert_int_equal(info->dead, 3); /* the exponential, the sum, the product */
    LINEAR(stays, 1, 1);
    LINEAR(a, 1, 0);
}

/* One released array is read to compute another one. */
static void test_chain(void **state)
{
    (void)state;
    wf_array *a = ramp();
    for (int released = 1; released <= 2; ++released) {
        wf_graph *g = wf_begin(ctx);
        wf_array *first = wf_keep(wf_mul(wf_in(g, a), 2));
        wf_array *second = wf_keep(wf_add(wf_gather(wf_in(g, first), wf_sub(N - 1, wf_iota(g, WF_SHAPE(N), 0))), 1));
        wf_release(first);
        if (released == 2)
            wf_release(second);
        ran();
        OK(ctx, wf_run(g));
        assert_int_equal(ran() > 0, released == 1);
        if (released == 1)
            LINEAR(second, -2, 2 * (N - 1) + 1);
    }
    wf_release(a);
}

/* Any use of an array: assigned, written, accumulated into, also in blocks. */
static void test_other_arrays(void **state)
{
    (void)state;
    wf_array *a = ramp();
    for (int how = 0; how < 4; ++how) {
        wf_array *out = wf_full(ctx, WF_F32, WF_SHAPE(N), 0);
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a), i = wf_iota(g, WF_SHAPE(N), 0);
        if (how == 0)
            wf_out(g, out, v);
        else if (how == 1)
            wf_write(g, out, v, i);
        else if (how == 2)
            wf_accumulate(g, WF_JOIN_ADD, out, v, wf_mod(i, 3));
        else {
            WF_IF (g, wf_gt(v, 3)) {
                wf_write(g, out, v, i);
            }
            WF_END(g);
        }
        wf_release(out);
        ran();
        OK(ctx, wf_run(g));
        assert_int_equal(ran(), 0);
    }
    wf_release(a);
}

/* Contents that are seen: through a view, a copy, memory of the caller, another handle, an atomic operation whose
 * result is used. */
static void test_read_arrays_stay(void **state)
{
    (void)state;
    static float memory[N];
    wf_array *a = ramp(), *seen[5], *out[5];
    for (int how = 0; how < 5; ++how) {
        out[how] = how == 2 ? wf_wrap(ctx, memory, WF_F32, WF_SHAPE(N), NULL, NULL) : ramp();
        wf_graph *g = wf_begin(ctx);
        seen[how] = how == 0   ? wf_view_slice(out[how], 0, 0, WF_END_INDEX, 1)
                    : how == 1 ? wf_copy(out[how])
                    : how == 3 ? wf_retain(out[how])
                               : NULL;
        if (how == 4) {
            wf_val old = wf_atomic(g, WF_JOIN_ADD, out[how], 1, wf_iota(g, WF_SHAPE(N), 0));
            seen[how] = wf_keep(wf_mul(old, 2));
        } else
            wf_out(g, out[how], wf_mul(wf_in(g, a), 2));
        wf_release(out[how]);
        OK(ctx, wf_run(g));
    }
    LINEAR(seen[0], 2, 0);
    LINEAR(seen[1], 1, 0); /* a copy of the old contents */
    for (int i = 0; i < N; ++i)
        assert_true(memory[i] == (float)(2 * i));
    LINEAR(seen[3], 2, 0);
    LINEAR(seen[4], 2, 0);
    wf_release(a);
}

/* The graph goes on: its values keep their contents, whatever has been released. */
static void test_evaluated(void **state)
{
    (void)state;
    wf_array *a = ramp();
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_mul(wf_in(g, a), 2);
    wf_release(wf_keep(v));
    ran();
    OK(ctx, wf_eval(g));
    assert_int_equal(ran(), 0);
    wf_array *later = wf_keep(wf_add(v, 1)), *gone = wf_keep(wf_sub(v, 1));
    wf_val read = wf_in(g, gone);
    wf_release(gone);
    OK(ctx, wf_eval(g));
    assert_int_equal(ran(), 1);
    wf_array *last = wf_keep(wf_mul(read, v));
    wf_out(g, a, wf_add(read, 3));
    OK(ctx, wf_run(g));
    LINEAR(later, 2, 1);
    LINEAR(a, 2, 2);
    float *got = contents(last);
    for (int i = 0; i < N; ++i)
        assert_true(got[i] == (float)((2 * i - 1) * 2 * i));
    free(got);
    wf_release(last);
}

static void test_flags(void **state)
{
    (void)state;
    wf_array *a = ramp();
    for (int debug = 0; debug < 2; ++debug) {
        wf_graph *g = wf_begin(ctx, .flags_on = debug ? WF_FLAG_DEBUG : 0, .flags_off = debug ? 0 : WF_FLAG_DEAD_CODE);
        wf_release(wf_keep(wf_mul(wf_in(g, a), 2)));
        ran();
        OK(ctx, wf_run(g));
        assert_int_equal(ran(), 1);
    }
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unread_arrays_go), cmocka_unit_test(test_chain),     cmocka_unit_test(test_other_arrays),
        cmocka_unit_test(test_read_arrays_stay), cmocka_unit_test(test_evaluated), cmocka_unit_test(test_flags),
    };
    return RUN_WITH_HISTORY(tests);
}
