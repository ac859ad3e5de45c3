/* test_eval.c - array graphs that are evaluated and stay open: values stay usable, nothing is computed twice, a loop
 * of evaluations makes no new kernels, overwritten values are not read again, and errors leave the graph usable.
 *
 * ctest: devices driver threads
 */
#include "on_devices.h"

static wf_array *ramp(int64_t n) { return wf_array_arange(ctx, WF_F32, n, 0, 1); }

static void expect_line(wf_array *a, double scale, double offset)
{
    int64_t n = wf_array_count(a);
    float *got = contents(a);
    for (int64_t i = 0; i < n; ++i)
        if (!(got[i] == (float)(scale * (double)i + offset))) {
            print_error("element %lld is %g\n", (long long)i, (double)got[i]);
            fail();
        }
    free(got);
}

static void test_values_stay_usable(void **state)
{
    (void)state;
    wf_array *a = ramp(1000), *b = wf_like(a);
    wf_graph *g = wf_begin(ctx, .name = "open");
    wf_val x = wf_in(g, a), y = wf_mul(x, 2);
    wf_array *kept = wf_keep(y);
    assert_int_equal(wf_array_state(kept), WF_STATE_LAZY);
    OK(ctx, wf_eval(g));
    assert_int_equal(wf_array_state(kept), WF_STATE_READY);
    expect_line(kept, 2, 0);
    OK(ctx, wf_eval(g)); /* nothing is pending */
    wf_out(g, b, wf_add(wf_add(y, x), 1));
    OK(ctx, wf_run(g));
    expect_line(b, 3, 1);
    wf_release(a);
    wf_release(b);
    wf_release(kept);
}

/* The second evaluation computes only operations that are used and new. */
static void test_nothing_is_computed_twice(void **state)
{
    (void)state;
    wf_array *a = ramp(100), *b = wf_like(a);
    wf_kernel_info info[16] = { { .size = sizeof *info } };
    wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), s = wf_sum(wf_mul(x, x), WF_AXES(0));
    wf_array *kept = wf_keep(wf_sin(wf_div(x, s)));
    OK(ctx, wf_eval(g));
    wf_history(ctx, info, 16);
    wf_out(g, b, wf_mul(x, s));
    OK(ctx, wf_run(g));
    size_t n = wf_history(ctx, info, 16);
    wf_set_flags(ctx, 0, WF_FLAG_HISTORY);
    assert_int_equal(n, 1); /* no reduction */
    assert_int_equal(info->stages, 1);
    expect_line(b, 328350, 0);
    wf_release(a);
    wf_release(b);
    wf_release(kept);
}

static void test_few_kernels(void **state)
{
    (void)state;
    wf_array *a = ramp(64), *kept[8];
    wf_kernel_info info[16] = { { .size = sizeof *info } };
    wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
    wf_history(ctx, info, 16);
    wf_graph *g = wf_begin(ctx);
    for (int i = 0; i < 8; ++i)
        kept[i] = wf_keep(wf_add(wf_mul(wf_in(g, a), i), 1));
    OK(ctx, wf_eval(g));
    assert_int_equal(wf_history(ctx, info, 16), 1);
    wf_set_flags(ctx, 0, WF_FLAG_HISTORY);
    OK(ctx, wf_run(g));
    for (int i = 0; i < 8; ++i) {
        expect_line(kept[i], i, 1);
        wf_release(kept[i]);
    }
    wf_release(a);
}

static void test_loop_finds_its_plan(void **state)
{
    (void)state;
    enum { TURNS = 200 };
    wf_array *a = ramp(500);
    wf_kernel_info info[16] = { { .size = sizeof *info } };
    wf_graph *g = wf_begin(ctx, .name = "turns");
    wf_val x = wf_in(g, a);
    int made = 0;
    for (int t = 0; t < TURNS; ++t) {
        wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
        x = wf_add(x, 1);
        wf_out(g, a, x);
        OK(ctx, wf_eval(g));
        size_t n = wf_history(ctx, info, 16);
        assert_true(n == 1);
        made += !info->plan_hit;
    }
    wf_set_flags(ctx, 0, WF_FLAG_HISTORY);
    assert_true(made <= 2); /* the first turn reads, later ones have read */
    OK(ctx, wf_run(g));
    expect_line(a, 1, TURNS);
    wf_release(a);
}

static void test_overwritten(void **state)
{
    (void)state;
    wf_array *a = ramp(100), *b = wf_like(a);
    wf_graph *g = wf_begin(ctx, .name = "over");
    wf_val x = wf_in(g, a), y = wf_add(x, 1), z = wf_mul(x, 3);
    wf_array *kept = wf_keep(z);
    wf_out(g, a, y);
    OK(ctx, wf_eval(g));
    expect_line(a, 1, 1);
    wf_out(g, b, wf_add(y, z)); /* both values are stored in arrays */
    OK(ctx, wf_eval(g));
    expect_line(b, 4, 1);
    wf_val again = wf_in(g, a); /* the new contents */
    wf_out(g, b, again);
    OK(ctx, wf_eval(g));
    expect_line(b, 1, 1);
    wf_out(g, b, wf_add(x, 1)); /* the old contents */
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_eval has changed");
    wf_release(a);
    wf_release(b);
    wf_release(kept);
}

/* Kept values that are later assigned to an overwritten array: kept before the assignment, together with it, or
 * both. */
static void test_kept_stay(void **state)
{
    (void)state;
    for (int how = 0; how < 6; ++how) {
        wf_array *a = ramp(100), *b = wf_like(a), *kept = NULL;
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, a), y = how % 2 ? x : wf_add(x, 0.5);
        if (how / 2 == 1) {
            kept = wf_keep(y);
            OK(ctx, wf_eval(g));
        }
        wf_out(g, b, y);
        if (how / 2 == 0)
            kept = wf_keep(y);
        if (how / 2 == 2) { /* also kept in the array that it is read from */
            wf_out(g, a, y);
            kept = wf_keep(y);
        }
        OK(ctx, wf_eval(g));
        wf_out(g, b, 7);
        wf_out(g, a, 8);
        OK(ctx, wf_eval(g));
        wf_out(g, b, wf_mul(y, 2));
        OK(ctx, wf_run(g));
        expect_line(b, 2, how % 2 ? 0 : 1);
        expect_line(kept, 1, how % 2 ? 0 : 0.5);
        wf_release(a), wf_release(b), wf_release(kept);
    }
}

/* A variable that holds an overwritten value: unchanged, in an operation, and set again for all lanes or for some. */
static void test_overwritten_variables(void **state)
{
    (void)state;
    for (int how = 0; how < 6; ++how) {
        wf_array *a = ramp(100), *out = wf_like(a);
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a);
        wf_var x = wf_local(g, WF_F32, how ? wf_add(v, 1) : v);
        wf_out(g, a, 7);
        OK(ctx, wf_eval(g));
        if (how == 2)
            wf_inc(x, 1);
        if (how == 3) {
            WF_IF (g, wf_gt(wf_iota(g, WF_SHAPE(100), 0), 50)) {
                wf_set(x, 2);
            }
            WF_END(g);
        }
        if (how == 4)
            wf_set(x, wf_iota(g, WF_SHAPE(100), 0));
        if (how == 5) { /* unused */
            WF_IF (g, wf_gt(wf_in(g, a), 50)) {
                wf_out(g, a, 1);
            }
            WF_END(g);
        } else if (how == 1)
            wf_out(g, out, wf_mul(x, 2));
        else
            wf_out(g, out, x);
        if (how >= 4)
            OK(ctx, wf_run(g));
        else
            REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_eval has changed");
        if (how >= 4)
            expect_line(how == 4 ? out : a, how == 4, how == 4 ? 0 : 7);
        wf_release(a);
        wf_release(out);
    }
}

/* Elements of local arrays are variables, too. An element that is read, or an array that is changed or kept in part,
 * needs values that were not overwritten. */
static void test_overwritten_local_arrays(void **state)
{
    (void)state;
    for (int how = 0; how < 6; ++how) {
        wf_array *a = ramp(100), *out = wf_like(a);
        wf_graph *g = wf_begin(ctx);
        wf_array *l = wf_local_array(g, "l", WF_F32, WF_SHAPE(3), 4);
        wf_val i = wf_mod(wf_iota(g, WF_SHAPE(100), 0), 3);
        wf_write(g, l, wf_in(g, a), 1);
        wf_out(g, a, 7);
        OK(ctx, wf_eval(g));
        if (how == 2)
            wf_accumulate(g, WF_JOIN_ADD, l, 1, 1);
        if (how == 3)
            wf_write_if(g, wf_eq(i, 1), l, 1, 1);
        if (how == 4)
            wf_write(g, l, wf_iota(g, WF_SHAPE(100), 0), 1); /* all of it */
        if (how == 5)
            wf_out(g, out, wf_read(g, l, 2)); /* another one */
        else
            wf_out(g, out, how ? wf_read(g, l, 1) : wf_read(g, l, i));
        if (how >= 4)
            OK(ctx, wf_run(g));
        else
            REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_eval has changed");
        if (how >= 4)
            expect_line(out, how == 4, how == 4 ? 0 : 4);
        wf_release(a);
        wf_release(out);
    }
}

/* A write to a view of the array counts, too; a write to other elements does not. */
static void test_overwritten_views(void **state)
{
    (void)state;
    wf_array *a = ramp(100), *low = wf_view_slice(a, 0, 0, 50, 1), *high = wf_view_slice(a, 0, 50, 100, 1);
    wf_array *odd = wf_view_slice(a, 0, 1, 50, 2), *out = wf_empty(ctx, WF_F32, WF_SHAPE(50));
    for (int part = 0; part < 2; ++part) {
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, low), y = wf_add(x, 7);
        wf_out(g, part ? odd : high, 0);
        OK(ctx, wf_eval(g));
        wf_out(g, out, y);
        if (part)
            REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_eval has changed");
        else
            OK(ctx, wf_run(g));
        if (!part)
            expect_line(out, 1, 7);
    }
    wf_release(low);
    wf_release(high);
    wf_release(odd);
    wf_release(out);
    wf_release(a);
}

static void test_lazy_until_wanted(void **state)
{
    (void)state;
    wf_array *a = ramp(100), *b = wf_like(a), *c = wf_like(a);
    wf_graph *g = wf_begin(ctx), *other = wf_begin(ctx);
    wf_val x = wf_in(g, a);
    wf_array *first = wf_keep(wf_mul(x, 2)), *second = wf_keep(wf_mul(x, 3));
    expect_line(first, 2, 0); /* downloads */
    assert_int_equal(wf_array_state(second), WF_STATE_READY);
    wf_array *third = wf_keep(wf_mul(x, 4));
    wf_out(other, b, wf_add(wf_in(other, third), wf_in(other, first)));
    assert_int_equal(wf_array_state(third), WF_STATE_READY);
    OK(ctx, wf_run(other));
    expect_line(b, 6, 0);
    wf_array *fourth = wf_keep(wf_mul(x, 5));
    wf_out(g, c, wf_in(g, fourth)); /* of this recording */
    assert_int_equal(wf_array_state(fourth), WF_STATE_LAZY);
    OK(ctx, wf_run(g));
    expect_line(c, 5, 0);
    wf_graph *dropped = wf_begin(ctx);
    wf_array *never = wf_keep(wf_mul(wf_in(dropped, a), 2));
    wf_drop(dropped);
    float element[100];
    REFUSED(ctx, wf_download(never, element, sizeof element), WF_ERR_ARG, "never computed");
    wf_array *all[] = { a, b, c, first, second, third, fourth, never };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

static void test_atomics_happen_once(void **state)
{
    (void)state;
    wf_array *counter = wf_full(ctx, WF_I32, WF_SHAPE(1), 0), *sum = wf_full(ctx, WF_I32, WF_SHAPE(1), 0);
    wf_graph *g = wf_begin(ctx);
    wf_val zero = wf_mul(wf_iota(g, WF_SHAPE(1000), 0), 0);
    wf_val number = wf_atomic(g, WF_JOIN_INC, counter, 0, zero);
    OK(ctx, wf_eval(g));
    wf_out(g, sum, wf_cast(wf_sum(number, WF_AXES(0)), WF_I32));
    OK(ctx, wf_run(g));
    int32_t count, total;
    OK(ctx, wf_download(counter, &count, sizeof count));
    OK(ctx, wf_download(sum, &total, sizeof total));
    assert_int_equal(count, 1000);
    assert_int_equal(total, 499500); /* 0 to 999, each once */
    wf_release(counter);
    wf_release(sum);
}

/* Results that are assigned to an array which is overwritten before the recording runs, or which has more elements than
 * they have. */
static void test_results_stay(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; ++wide) {
        wf_array *a = ramp(20), *to = wf_empty(ctx, WF_F32, wide ? WF_SHAPE(20) : WF_SHAPE(1)), *out = wf_like(a);
        wf_array *counter = wf_full(ctx, WF_F32, WF_SHAPE(1), 5), *second = wf_like(to), *third = wf_like(to);
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, a), sum = wf_sum(x, WF_AXES(0)), zero = wf_mul(wf_iota(g, WF_SHAPE(1), 0), 0), k;
        wf_val old = wf_atomic(g, WF_JOIN_ADD, counter, 1, zero);
        wf_var count = wf_local(g, WF_F32, wf_cast(zero, WF_F32)), twice = wf_local(g, WF_F32, wf_cast(zero, WF_F32));
        WF_FOR (g, k, 0, 3, 1) {
            wf_inc(count, 1);
            wf_inc(twice, 2);
        }
        WF_END(g);
        wf_out(g, to, sum);
        wf_out(g, second, old);
        wf_out(g, third, count);
        wf_array *all = wf_keep(wf_add(twice, sum));
        if (!wide) {
            wf_out(g, to, 0);
            wf_out(g, second, 0);
            wf_out(g, third, 0);
        }
        wf_out(g, a, 0);
        OK(ctx, wf_eval(g));
        wf_out(g, out, wf_add(wf_add(wf_cast(wf_iota(g, WF_SHAPE(20), 0), WF_F32), sum), wf_add(old, count)));
        OK(ctx, wf_run(g));
        expect_line(out, 1, 190 + 5 + 3);
        wf_array *arrays[] = { a, to, out, counter, second, third, all };
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i)
            wf_release(arrays[i]);
    }
}

/* After a failed evaluation, effects that failed are dropped and the rest goes on. */
static void test_failure(void **state)
{
    (void)state;
    wf_config config = { .size = sizeof config, .flags_on = WF_FLAG_NO_DISK_CACHE | WF_FLAG_DEBUG };
    wf_context *own = wf_context_new(&config), *outer = ctx;
    ctx = own;
    wf_array *a = ramp(10), *b = wf_like(a), *target = ramp(10);
    wf_graph *g = wf_begin(ctx, .name = "failing");
    wf_val x = wf_in(g, a), y = wf_mul(x, 2), t = wf_in(g, target);
    wf_array *kept = wf_keep(y);
    wf_write(g, target, 1, wf_add(wf_iota(g, WF_SHAPE(10), 0), 5));
    REFUSED(ctx, wf_eval(g), WF_ERR_BOUNDS, "is outside");
    assert_int_equal(wf_array_state(kept), WF_STATE_LAZY);
    wf_out(g, b, wf_add(y, 1));
    OK(ctx, wf_eval(g));
    expect_line(b, 2, 1);
    float element[10];
    REFUSED(ctx, wf_download(kept, element, sizeof element), WF_ERR_ARG, "never computed");
    wf_out(g, b, t); /* may have been written */
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_eval has changed");
    wf_release(a);
    wf_release(b);
    wf_release(target);
    wf_release(kept);
    ctx = outer;
    wf_context_free(own);
}

/* A result that does not fit into memory: the evaluation fails, not the recording. */
static void test_results_without_memory(void **state)
{
    (void)state;
    wf_array *a = ramp(6), *b = ramp(6);
    wf_graph *g = wf_begin(ctx);
    wf_val many = wf_broadcast(wf_const(g, WF_I64, 1), WF_SHAPE((int64_t)1 << 44));
    wf_out(g, b, wf_cast(wf_slice(wf_scan(WF_JOIN_ADD, many, 0, false, false), 0, 0, 6, 1), WF_F32));
    REFUSED(ctx, wf_eval(g), WF_ERR_MEMORY, "wf_eval: out of memory for i64 (17592186044416)");
    expect_line(b, 1, 0);
    wf_out(g, b, wf_mul(wf_in(g, a), 3));
    OK(ctx, wf_eval(g));
    expect_line(b, 3, 0);
    wf_out(g, b, wf_scan(WF_JOIN_ADD, wf_broadcast(wf_const(g, WF_F32, 2), WF_SHAPE(6)), 0, true, false));
    OK(ctx, wf_run(g));
    expect_line(b, 2, 0);
    wf_release(a);
    wf_release(b);
}

static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(wf_eval(NULL), WF_ERR_ARG);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(4));
    REFUSED(ctx, wf_eval(g), WF_ERR_UNSUPPORTED, "array graphs");
    wf_drop(g);
    g = wf_begin(ctx);
    wf_formal(g, "f", WF_F32, 1);
    REFUSED(ctx, wf_eval(g), WF_ERR_ARG, "wf_eval: 'f' is a formal");
    wf_drop(g);
    g = wf_begin(ctx, .name = "poisoned");
    wf_fail(g, WF_ERR_ARG, "on purpose");
    REFUSED(ctx, wf_eval(g), WF_ERR_ARG, "on purpose");
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "on purpose");
}

static void test_params_and_complex(void **state)
{
    (void)state;
    wf_array *a = ramp(20), *b = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val p = wf_param(g, "p", WF_F32, 3), z = wf_complex(wf_in(g, a), p);
    wf_array *kept = wf_keep(wf_mul(z, 2));
    OK(ctx, wf_eval(g));
    wf_val q = wf_param(g, "q", WF_F32, 4);
    wf_out(g, b, wf_add(wf_add(wf_real(z), wf_imag(z)), q));
    OK(ctx, wf_run(g));
    expect_line(b, 1, 7);
    float pairs[40];
    OK(ctx, wf_download(kept, pairs, sizeof pairs));
    assert_true(pairs[38] == 38 && pairs[39] == 6);
    wf_release(a);
    wf_release(b);
    wf_release(kept);
}

/* Values that are cheaper to compute again than to read do not depend on an array that holds them. */
static void test_numbers_are_not_overwritten(void **state)
{
    (void)state;
    wf_array *a = ramp(20);
    wf_graph *g = wf_begin(ctx);
    wf_val numbers[] = { wf_const(g, WF_F32, 2), wf_param(g, "p", WF_F32, 3), wf_const_complex(g, WF_C64, 5, 7),
                         wf_param(g, "q", WF_C64, 11) };
    wf_array *held[4];
    for (int i = 0; i < 4; ++i)
        held[i] = wf_keep(numbers[i]);
    OK(ctx, wf_eval(g));
    for (int i = 0; i < 4; ++i)
        wf_out(g, held[i], 0);
    OK(ctx, wf_eval(g));
    wf_val z = wf_add(numbers[2], numbers[3]);
    wf_out(g, a, wf_add(wf_mul(wf_in(g, a), numbers[0]), wf_add(wf_add(wf_real(z), wf_imag(z)), numbers[1])));
    OK(ctx, wf_run(g));
    expect_line(a, 2, 26);
    for (int i = 0; i < 4; ++i)
        wf_release(held[i]);
    wf_release(a);
}

/* ---- loops and conditions ---- */
static void test_loops(void **state)
{
    (void)state;
    wf_array *a = ramp(50), *b = wf_like(a), *count = wf_empty(ctx, WF_I32, WF_SHAPE(50)),
             *hits = wf_full(ctx, WF_I32, WF_SHAPE(1), 0);
    for (int stored = 0; stored < 2; ++stored) {
        int32_t zero = 0, hit;
        OK(ctx, wf_upload(hits, &zero, sizeof zero));
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, a), limit = wf_add(x, 0.5);
        wf_var sum = wf_local(g, WF_F32, 0), turns = wf_local(g, WF_I32, 0), spare = wf_local(g, WF_I32, 7);
        WF_WHILE (g, wf_lt(wf_get(sum), limit)) {
            wf_inc(sum, 1);
            wf_inc(turns, 1);
            wf_inc(spare, 2);
            wf_accumulate(g, WF_JOIN_ADD, hits, 1, wf_mul(wf_get(turns), 0));
        }
        WF_END(g);
        wf_array *kept = stored ? wf_keep(wf_add(wf_get(sum), 0)) : NULL;
        OK(ctx, wf_eval(g));
        OK(ctx, wf_eval(g));
        wf_out(g, b, wf_get(sum)); /* x + 1, without another turn */
        wf_out(g, count, wf_add(wf_get(turns), wf_get(spare)));
        OK(ctx, wf_run(g));
        expect_line(b, 1, 1);
        int32_t got[50];
        OK(ctx, wf_download(count, got, sizeof got));
        for (int i = 0; i < 50; ++i)
            assert_int_equal(got[i], (i + 1) + (7 + 2 * (i + 1)));
        OK(ctx, wf_download(hits, &hit, sizeof hit));
        assert_int_equal(hit, 50 * 51 / 2);
        if (kept)
            expect_line(kept, 1, 1);
        wf_release(kept);
    }
    wf_array *all[] = { a, b, count, hits };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

/* A loop that was not needed runs once a later operation needs it. If it would read overwritten contents, its results
 * report an error. */
static void test_loops_not_needed(void **state)
{
    (void)state;
    wf_array *a = ramp(20), *b = wf_like(a), *c = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), y = wf_in(g, c);
    wf_var sum = wf_local(g, WF_F32, x), other = wf_local(g, WF_F32, x);
    wf_val k;
    WF_FOR (g, k, 0, 3, 1) {
        wf_inc(sum, 2);
    }
    WF_END(g);
    WF_FOR (g, k, 0, 3, 1) {
        wf_inc(other, y);
    }
    WF_END(g);
    wf_out(g, c, wf_mul(x, 4));
    OK(ctx, wf_eval(g));
    expect_line(c, 4, 0);
    wf_out(g, b, wf_get(sum));
    OK(ctx, wf_eval(g));
    expect_line(b, 1, 6);
    wf_out(g, b, wf_get(other));
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_eval has changed");
    g = wf_begin(ctx);
    WF_IF (g, wf_gt(wf_in(g, a), 3)) {
        REFUSED(ctx, wf_eval(g), WF_ERR_UNSUPPORTED, "not inside a block");
        wf_out(g, b, 9);
    }
    WF_END(g);
    OK(ctx, wf_eval(g));
    OK(ctx, wf_run(g));
    float *got = contents(b);
    for (int i = 0; i < 20; ++i)
        assert_true(got[i] == (i > 3 ? 9.0f : (float)(i + 6)));
    free(got);
    wf_release(a);
    wf_release(b);
    wf_release(c);
}

/* One of two equal functions is recorded, and the place of the other is empty; the loop around them still works. */
static void call_next(const wf_site *site) { wf_set(site->out[0], wf_add(site->in[0], 1)); }
static void call_another_next(const wf_site *site) { wf_set(site->out[0], wf_add(site->in[0], 1)); }
static void call_last(const wf_site *site) { wf_set(site->out[0], wf_sub(site->in[0], 5)); }

static void test_merged_functions(void **state)
{
    (void)state;
    wf_array *a = ramp(20), *b = wf_like(a), *c = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), k, which = wf_and(wf_iota(g, WF_SHAPE(20), 0), 1);
    wf_var sum = wf_local(g, WF_F32, x);
    WF_FOR (g, k, 0, 3, 1) {
        wf_switch(g, which, WF_FUNCTIONS({ call_next, NULL }, { call_another_next, NULL }, { call_last, NULL }),
                  WF_VALS(wf_get(sum)), WF_VARS(sum));
    }
    WF_END(g);
    wf_out(g, c, wf_mul(x, 4));
    OK(ctx, wf_eval(g)); /* this evaluation does not need the loop */
    wf_out(g, b, sum);
    OK(ctx, wf_run(g));
    expect_line(b, 1, 3);
    expect_line(c, 4, 0);
    wf_release(a);
    wf_release(b);
    wf_release(c);
}

/* ---- labels and drawings ---- */
static void test_labels(void **state)
{
    (void)state;
    wf_array *a = ramp(3), *b = ramp(4);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_label(wf_in(g, a), "pixels"), y = wf_label(wf_in(g, b), "weights \"w\"");
    wf_mul(x, y);
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "do not broadcast [wf_mul('pixels', 'weights \"w\"')");
    g = wf_begin(ctx);
    wf_out(g, wf_formal(g, "out", WF_F32, 1),
           wf_add(wf_label(wf_in(g, wf_formal(g, "in", WF_F32, 1)), "say \"in\""), 2));
    wf_kernel *k = wf_compile(g);
    char text[4096];
    size_t len;
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_TRACE, text, sizeof text, &len));
    assert_non_null(strstr(text, "epoch 0 # say \"in\"\n"));
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_DOT, text, sizeof text, &len));
    assert_true(len < sizeof text && !strncmp(text, "digraph weft {", 14) && !strcmp(text + len - 2, "}\n"));
    assert_non_null(strstr(text, "say \\\"in\\\""));
    assert_non_null(strstr(text, "[shape=cylinder, label=\"out\\nf32, rank 1\"]"));
    assert_non_null(strstr(text, "label=\"add\\nf32 (?)\""));
    int open = 0;
    for (const char *p = text; *p; ++p)
        open += *p == '{' ? 1 : *p == '}' ? -1 : 0;
    assert_int_equal(open, 0);
    wf_kernel_free(k);
    wf_release(a);
    wf_release(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_stay_usable),
        cmocka_unit_test(test_nothing_is_computed_twice),
        cmocka_unit_test(test_few_kernels),
        cmocka_unit_test(test_loop_finds_its_plan),
        cmocka_unit_test(test_overwritten),
        cmocka_unit_test(test_kept_stay),
        cmocka_unit_test(test_overwritten_variables),
        cmocka_unit_test(test_overwritten_local_arrays),
        cmocka_unit_test(test_overwritten_views),
        cmocka_unit_test(test_lazy_until_wanted),
        cmocka_unit_test(test_atomics_happen_once),
        cmocka_unit_test(test_results_stay),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_results_without_memory),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_params_and_complex),
        cmocka_unit_test(test_numbers_are_not_overwritten),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_loops_not_needed),
        cmocka_unit_test(test_merged_functions),
    };
    return RUN_ON_ALL(tests);
}
