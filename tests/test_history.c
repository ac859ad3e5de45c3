/* test_history.c - the history of a context: counts of each optimisation, where plans and code came from, how kernels
 * ran, and why a kernel was made again.
 *
 * ctest: threads
 */
#include "with_history.h"
#include "base/os.h"
#include "side_by_side.h"

static wf_kernel_info info[64] = { { .size = sizeof *info } };

/* Returns the number of kernels since the last call. */
static size_t ran(void) { return wf_history(ctx, info, WF__COUNT(info)); }

static wf_array *zeros(wf_dtype dtype, int64_t n) { return wf_full(ctx, dtype, WF_SHAPE(n), 0); }

/* b = a * k + literal, labelled */
static void run_literal(wf_array *a, wf_array *b, double literal, const char *label)
{
    wf_graph *g = wf_begin(ctx, .name = label);
    wf_out(g, b, wf_add(wf_mul(wf_in(g, a), 3), literal));
    OK(ctx, wf_run(g));
}

/* A recording sets the number of vectors that its code processes at once. */
static void test_columns(void **state)
{
    (void)state;
    if (wf_context_device(ctx) != WF_CPU || !test_compiles(ctx))
        skip();
    wf_array *a = zeros(WF_F32, 1000), *b = zeros(WF_F32, 1000);
    for (int columns = 1; columns <= 8; columns *= 2) {
        wf_graph *g = wf_begin(ctx, .name = "columns", .columns = columns);
        wf_out(g, b, wf_mul(wf_in(g, a), 3));
        ran();
        OK(ctx, wf_run(g));
        assert_int_equal(ran(), 1);
        assert_int_equal(info->columns, columns);
        if (columns == 4)
            assert_non_null(strstr(info->why, ".columns is 4, was 2"));
    }
    wf_release(a);
    wf_release(b);
}

static void test_counts(void **state)
{
    (void)state;
    wf_array *a = zeros(WF_F32, 1000), *b = zeros(WF_F32, 1000);
    ran();
    wf_graph *g = wf_begin(ctx, .name = "counts");
    wf_val x = wf_in(g, a), again = wf_in(g, a);      /* 2 operations, 1 equal */
    wf_val y = wf_mul(x, x), same = wf_mul(again, x); /* 2, 1 equal */
    wf_val folded = wf_mul(y, 1);                     /* 1, folded */
    wf_val none = wf_sub(wf_const(g, WF_F32, 2), 2);  /* 1, folded */
    wf_sin(same);                                     /* 1, dead */
    wf_out(g, b, wf_add(folded, wf_sub(same, none))); /* 3 (assignment included); y - 0 is y: folded */
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    OK(ctx, wf_run(g));
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_int_equal(wf_history(ctx, NULL, 0), 1);
    assert_int_equal(wf_history(ctx, NULL, 0), 1); /* only counted */
    assert_int_equal(ran(), 1);
    assert_string_equal(info->name, "counts");
    assert_int_equal(info->ops, 10);
    assert_int_equal(info->numbered, 2);
    assert_int_equal(info->folded, 3);
    assert_int_equal(info->dead, 1);
    assert_int_equal(info->stages, 1);
    assert_int_equal(info->points, 1000);
    assert_false(info->plan_hit);
    assert_true(info->nodes >= 4);
    assert_true(info->record_s > 0 && info->plan_s > 0 && info->run_s > 0);
    double passed = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    assert_true(info->plan_s + info->compile_s + info->run_s < passed + 1e-6);
    assert_int_equal(ran(), 0);
    wf_release(a);
    wf_release(b);
}

static void test_flags_change_counts(void **state)
{
    (void)state;
    wf_array *a = zeros(WF_F32, 8), *b = zeros(WF_F32, 8);
    ran();
    for (int on = 0; on < 2; ++on) {
        wf_graph *g = wf_begin(ctx, .flags_off = on ? 0 : WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
        wf_val x = wf_in(g, a);
        wf_out(g, b, wf_add(wf_mul(x, 1), wf_mul(x, 1)));
        OK(ctx, wf_run(g));
        assert_int_equal(ran(), 1);
        assert_int_equal(info->folded, on ? 2 : 0);
        assert_int_equal(info->numbered, 0);
    }
    wf_release(a);
    wf_release(b);
}

/* b[i] = 3 i after a loop, with an unused variable, one that never changes, a short loop, a condition, and an
 * assignment that another one hides. */
static void record_loops(wf_array *b, uint32_t flags_off)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(100), .flags_off = flags_off);
    wf_val i = wf_index(g, 0), k, j;
    wf_var a = wf_local(g, WF_I64, 0), unused = wf_local(g, WF_F32, 1), fixed = wf_local(g, WF_I64, 2);
    WF_FOR (g, k, 0, i, 1) {
        wf_inc(a, fixed);
        wf_set(unused, wf_exp(unused));
        wf_set(fixed, fixed);
    }
    WF_END(g);
    WF_FOR (g, j, 0, 4, 1)
        wf_inc(a, 1);
    WF_END(g);
    WF_IF (g, wf_lt(i, 1000))
        wf_inc(a, wf_sub(i, 4));
    WF_END(g);
    wf_write(g, b, 7, i);
    wf_write(g, b, a, i);
    OK(ctx, wf_run(g));
    int64_t *got = contents(b);
    for (int64_t n = 0; n < 100; ++n)
        assert_int_equal(got[n], 3 * n);
    free(got);
    assert_int_equal(ran(), 1);
}

static void test_loops_and_stores(void **state)
{
    (void)state;
    wf_array *b = zeros(WF_I64, 100);
    ran();
    record_loops(b, 0);
    assert_int_equal(info->hidden, 1);
    assert_int_equal(info->unused, 1);
    assert_int_equal(info->invariant, 1);
    assert_int_equal(info->written_out, 2);
    record_loops(b, WF_FLAG_LOOP_OPT);
    assert_int_equal(info->hidden, 1);
    assert_int_equal(info->invariant, 0);
    assert_int_equal(info->written_out, 0);
    record_loops(b, WF_FLAG_DEAD_CODE);
    assert_int_equal(info->hidden, 0);
    assert_int_equal(info->unused, 0);
    wf_release(b);
}

/* A counter of a loop that points leave at different turns; in an index space, and in an array graph that goes on. */
static void test_lockstep(void **state)
{
    (void)state;
    for (int how = 0; how < 4; ++how) {
        int off = how & 1;
        wf_array *b = zeros(WF_I32, 100);
        ran();
        wf_set_flags(ctx, off ? 0 : WF_FLAG_LOOP_OPT, off ? WF_FLAG_LOOP_OPT : 0);
        wf_graph *g = how < 2 ? wf_begin(ctx, .shape = WF_SHAPE(100)) : wf_begin(ctx);
        wf_val i = how < 2 ? wf_index(g, 0) : wf_iota(g, WF_SHAPE(100), 0);
        wf_var n = wf_local(g, WF_I32, 0), x = wf_local(g, WF_I32, wf_cast(i, WF_I32));
        WF_WHILE (g, wf_and(wf_lt(n, 5), wf_gt(x, 0))) {
            wf_set(x, wf_shr(x, 1));
            wf_inc(n, 1);
        }
        WF_END(g);
        wf_out(g, b, n);
        if (how < 2)
            OK(ctx, wf_run(g));
        else {
            OK(ctx, wf_eval(g));
            wf_drop(g);
        }
        int32_t *got = contents(b);
        for (int32_t k = 0, bits = 0; k < 100; ++k) {
            bits += k == 1 || k == 2 || k == 4 || k == 8 || k == 16;
            assert_int_equal(got[k], bits);
        }
        free(got);
        assert_int_equal(ran(), 1);
        assert_int_equal(info->in_lockstep, !off && wf_context_device(ctx) == WF_CPU);
        wf_release(b);
    }
    wf_set_flags(ctx, WF_FLAG_LOOP_OPT, 0);
}

/* A plan for one device is not used on another, whichever comes first: the interpreter has no counters in lockstep. */
static void test_devices_have_plans_of_their_own(void **state)
{
    (void)state;
    const wf_device on[] = { WF_CPU, WF_INTERP, WF_CPU };
    for (int64_t first = 0; first < 2 && wf_context_device(ctx) == WF_CPU; ++first) {
        wf_array *b = wf_full(ctx, WF_I32, WF_SHAPE(110 + first), 0);
        ran();
        for (int64_t k = first; k < first + 2; ++k) {
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(110 + first), .device = on[k], .name = "turns");
            wf_var n = wf_local(g, WF_I32, 0);
            WF_WHILE (g, wf_lt(n, wf_cast(wf_index(g, 0), WF_I32)))
                wf_inc(n, 1);
            WF_END(g);
            wf_out(g, b, n);
            OK(ctx, wf_run(g));
            assert_int_equal(ran(), 1);
            assert_int_equal(info->plan_hit, 0);
            assert_int_equal(info->in_lockstep, on[k] == WF_CPU);
            if (k > first) /* the nearest plan: that of the other device, then that of this device for other extents */
                assert_non_null(strstr(info->why, first ? "(111), was (110)" : "another device"));
        }
        wf_release(b);
    }
}

static void test_scan(void **state)
{
    (void)state;
    wf_array *a = zeros(WF_F32, 300);
    ran();
    wf_graph *g = wf_begin(ctx, .name = "offsets");
    wf_array *sums = wf_keep(wf_scan(WF_JOIN_ADD, wf_in(g, a), 0, false, false));
    OK(ctx, wf_run(g));
    assert_int_equal(ran(), 1);
    assert_true(info->code == WF_CODE_LIBRARY && info->points == 300 && info->threads >= 1 && info->hash == 0);
    assert_string_equal(info->name, "offsets");
    wf_release(a), wf_release(sums);
}

static void test_where_code_comes_from(void **state)
{
    (void)state;
    wf_array *a = zeros(WF_F32, 777), *b = zeros(WF_F32, 777);
    wf_array *c = zeros(WF_F32, 778), *d = zeros(WF_F32, 778);
    ran();
    run_literal(a, b, 1, "again");
    run_literal(a, b, 1, "again");
    run_literal(c, d, 1, "again");
    assert_int_equal(ran(), 3);
    bool llvm = test_compiles(ctx) && info->device == WF_CPU;
    assert_int_equal(info[0].code, llvm ? WF_CODE_COMPILED : WF_CODE_NONE);
    assert_int_equal(info[1].code, llvm ? WF_CODE_READY : WF_CODE_NONE);
    assert_int_equal(info[2].code, llvm ? WF_CODE_MEMORY : WF_CODE_NONE); /* another plan, the same code */
    assert_int_equal(info[1].plan_hit, true);
    assert_int_equal(info[2].plan_hit, false);
    assert_true(!llvm || (info[0].hash && info[0].hash == info[1].hash && info[1].hash == info[2].hash));
    assert_true(!llvm || (info[0].lanes > 0 && info[0].compile_s > 0 && info[1].compile_s == 0));
    assert_true(info[1].launch == info[0].launch + 1 && info[2].launch == info[1].launch + 1);
    assert_string_equal(info[0].why, "");
    assert_string_equal(info[1].why, "");
    assert_string_equal(info[2].why, "array 0 is (778), was (777); array 1 is (778), was (777)");
    wf_release(a);
    wf_release(b);
    wf_release(c);
    wf_release(d);
}

static void test_stages(void **state)
{
    (void)state;
    wf_array *a = zeros(WF_F32, 5000), *b = zeros(WF_F32, 5000);
    ran();
    wf_graph *g = wf_begin(ctx, .name = "stages");
    wf_val x = wf_in(g, a);
    wf_out(g, b, wf_sub(x, wf_sum(x, WF_AXES(0))));
    OK(ctx, wf_run(g));
    size_t n = ran();
    assert_true(n >= 2);
    assert_int_equal(info[0].stages, n);
    double records = 0;
    for (size_t i = 0; i < n; ++i) {
        assert_int_equal(info[i].stage, i);
        assert_int_equal(info[i].launch, info[0].launch);
        assert_int_equal(info[i].ops, info[0].ops);
        records += info[i].record_s > 0;
    }
    assert_true(records == 1);
    assert_int_equal(info[n - 1].points, 5000);
    wf_release(a);
    wf_release(b);
}

static void test_modes(void **state)
{
    (void)state;
    wf_array *h = wf_full(ctx, WF_I32, WF_SHAPE(16), 0);
    static const wf_mode modes[] = { WF_MODE_DIRECT, WF_MODE_LOCAL, WF_MODE_EXPAND };
    for (size_t m = 0; m < WF__COUNT(modes); ++m) {
        ran();
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(100000));
        wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], h, 1, wf_mod(wf_index(g, 0), 16));
        OK(ctx, wf_run(g));
        assert_int_equal(ran(), 1);
        assert_int_equal(info->mode, modes[m]);
        assert_true(modes[m] == WF_MODE_EXPAND ? info->copies > 0 : info->copies == 0);
    }
    wf_release(h);
}

static void test_prepared_launches(void **state)
{
    (void)state;
    wf_array *in = zeros(WF_F32, 100), *out = zeros(WF_F32, 100);
    wf_graph *g = wf_begin(ctx, .name = "prepared");
    wf_out(g, wf_formal(g, "out", WF_F32, 1), wf_neg(wf_in(g, wf_formal(g, "in", WF_F32, 1))));
    wf_kernel *k = wf_compile(g);
    ran();
    for (int i = 0; i < 3; ++i)
        OK(ctx, wf_launch(k, WF_NAMED(in, out)));
    wf_set_flags(ctx, 0, WF_FLAG_HISTORY);
    OK(ctx, wf_launch(k, WF_NAMED(in, out))); /* not noted */
    wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
    OK(ctx, wf_launch(k, WF_NAMED(in, out)));
    assert_int_equal(ran(), 4);
    assert_true(info[0].record_s > 0 && info[1].record_s == 0 && info[3].record_s == 0);
    assert_true(!info[0].plan_hit && info[1].plan_hit && info[3].plan_hit);
    wf_kernel_free(k);
    wf_release(in);
    wf_release(out);
}

static void test_history_is_bounded(void **state)
{
    (void)state;
    wf_array *a = zeros(WF_F32, 10), *b = zeros(WF_F32, 10);
    ran();
    for (int i = 0; i < 5000; ++i)
        run_literal(a, b, 1, "bounded");
    assert_int_equal(wf_history(ctx, NULL, 0), 4096);
    assert_int_equal(ran(), 64); /* the latest */
    assert_true(info[63].launch == info[0].launch + 63);
    uint64_t last = info[63].launch;
    run_literal(a, b, 1, "bounded");
    assert_int_equal(ran(), 1);
    assert_int_equal(info->launch, last + 1);
    /* an older caller's struct */
    run_literal(a, b, 1, "bounded");
    struct {
        size_t size;
        char name[64];
        uint64_t guard;
    } old = { .size = offsetof(wf_kernel_info, why), .guard = 42 };
    assert_int_equal(wf_history(ctx, (wf_kernel_info *)(void *)&old, 1), 1);
    assert_string_equal(old.name, "bounded");
    assert_true(old.guard == 42);
    wf_release(a);
    wf_release(b);
}

/* ---- why another ---- */
static void expect_why(const char *why)
{
    assert_int_equal(ran(), 1);
    assert_string_equal(info->why, why);
}

static void test_why_literal(void **state)
{
    (void)state;
    wf_array *a = zeros(WF_F32, 321), *b = zeros(WF_F32, 321), *i = zeros(WF_I32, 321), *j = zeros(WF_I32, 321);
    wf_array *d = zeros(WF_F64, 321), *e = zeros(WF_F64, 321), *u = zeros(WF_U64, 321), *w = zeros(WF_U64, 321);
    ran();
    run_literal(a, b, 1.5, "literal");
    expect_why("");
    run_literal(a, b, 2.5, "literal");
    expect_why("the literal 2.5 (f32) was 1.5: wf_param would not make another kernel");
    run_literal(a, b, 4.5, NULL); /* no label: the same structure */
    ran();
    run_literal(a, b, 5.5, NULL);
    expect_why("the literal 5.5 (f32) was 4.5: wf_param would not make another kernel");
    run_literal(i, j, -7, "integers");
    expect_why("");
    run_literal(i, j, -8, "integers");
    expect_why("the literal -8 (i32) was -7: wf_param would not make another kernel");
    run_literal(d, e, 0.1, "doubles");
    expect_why("");
    run_literal(d, e, nextafter(0.1, 1), "doubles"); /* the texts of numbers that differ differ */
    expect_why("the literal 0.10000000000000002 (f64) was 0.1: wf_param would not make another kernel");
    for (int64_t k = 0; k < 2; ++k) {
        wf_graph *g = wf_begin(ctx, .name = "unsigned");
        wf_out(g, w, wf_add(wf_in(g, u), wf_const_i64(g, WF_U64, k - 2)));
        OK(ctx, wf_run(g));
        expect_why(k ? "the literal 18446744073709551615 (u64) was 18446744073709551614: wf_param would not make "
                       "another kernel"
                     : "");
    }
    wf_release(d);
    wf_release(e);
    wf_release(u);
    wf_release(w);
    wf_release(a);
    wf_release(b);
    wf_release(i);
    wf_release(j);
}

static wf_kernel *copies(const char *name)
{
    wf_graph *g = wf_begin(ctx, .name = name);
    wf_out(g, wf_formal(g, "out", WF_F32, 1), wf_neg(wf_in(g, wf_formal(g, "in", WF_F32, 1))));
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    return k;
}

static void test_why_layouts(void **state)
{
    (void)state;
    wf_array *base = zeros(WF_F32, 400), *in = wf_view_slice(base, 0, 0, 100, 1),
             *out = wf_view_slice(base, 0, 200, 300, 1);
    wf_array *step = wf_view_slice(base, 0, 0, 200, 2), *shifted = wf_view_slice(base, 0, 150, 250, 1);
    wf_kernel *k = copies("layouts");
    OK(ctx, wf_launch(k, WF_NAMED(in, out)));
    ran();
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("in", step), WF_ARG("out", out))));
    expect_why("'in' has strides (2), was (1)");
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("in", in), WF_ARG("out", in))));
    assert_int_equal(wf_history(ctx, info, 1), 1);
    assert_non_null(strstr(info->why, "'in' has strides (1), was (2); '"));
    assert_non_null(strstr(info->why, "' are the same memory now"));
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("in", shifted), WF_ARG("out", out))));
    assert_int_equal(wf_history(ctx, info, 1), 1);
    assert_non_null(strstr(info->why, "' overlap now, shifted"));
    wf_kernel_free(k);
    wf_release(in);
    wf_release(out);
    wf_release(step);
    wf_release(shifted);
    wf_release(base);
}

static void test_why_dtype_flags_operations(void **state)
{
    (void)state;
    wf_array *a = zeros(WF_F32, 50), *b = zeros(WF_F32, 50), *c = zeros(WF_F64, 50), *d = zeros(WF_F64, 50);
    ran();
    run_literal(a, b, 1, "kinds");
    run_literal(c, d, 1, "kinds");
    assert_int_equal(ran(), 2);
    assert_non_null(strstr(info[1].why, "array 0 is f64, was f32"));
    wf_graph *g = wf_begin(ctx, .name = "kinds", .flags_on = WF_FLAG_FAST_MATH);
    wf_out(g, d, wf_add(wf_mul(wf_in(g, c), 3), 1));
    OK(ctx, wf_run(g));
    expect_why("WF_FLAG_FAST_MATH is on now");
    g = wf_begin(ctx, .name = "kinds", .flags_on = WF_FLAG_FAST_MATH);
    wf_out(g, d, wf_sub(wf_mul(wf_in(g, c), 3), 1));
    OK(ctx, wf_run(g));
    expect_why("operation 5 is sub, was add");
    g = wf_begin(ctx, .name = "kinds");
    wf_out(g, d, wf_sub(wf_mul(wf_in(g, c), 3), 1));
    OK(ctx, wf_run(g));
    expect_why("WF_FLAG_FAST_MATH is off now");
    wf_release(a);
    wf_release(b);
    wf_release(c);
    wf_release(d);
}

/* A recording is compared with the most similar plan: the same recording for other arrays, else the latest one of its
 * label, else the latest one without a label, if it has none. */
static void test_why_similar(void **state)
{
    (void)state;
    wf_array *a = zeros(WF_F32, 321), *b = zeros(WF_F32, 321), *base = zeros(WF_F32, 642);
    wf_array *step = wf_view_slice(base, 0, 0, 642, 2);
    run_literal(a, b, 1, "similar");
    run_literal(a, b, 2, "similar");
    run_literal(a, b, 4, NULL);
    run_literal(a, b, 3, "other"); /* plans with labels do not count for a recording without */
    ran();
    run_literal(a, b, 5, NULL);
    expect_why("the literal 5 (f32) was 4: wf_param would not make another kernel");
    run_literal(a, b, 6, NULL);
    expect_why("the literal 6 (f32) was 5: wf_param would not make another kernel");
    run_literal(a, b, 7, "similar");
    expect_why("the literal 7 (f32) was 2: wf_param would not make another kernel");
    run_literal(a, b, 8, "unknown");
    expect_why("");
    run_literal(step, b, 1, "similar");
    expect_why("array 0 has strides (2), was (1)");
    wf_release(a);
    wf_release(b);
    wf_release(step);
    wf_release(base);
}

static void run_two_literals(wf_array *a, wf_array *b, bool turned, double first, double second, uint32_t flags)
{
    wf_graph *g = wf_begin(ctx, .name = "nodes", .flags_on = flags);
    wf_val x = wf_mul(wf_in(g, a), first), y = wf_in(g, a);
    wf_out(g, b, wf_add(turned ? wf_sub(y, x) : wf_sub(x, y), second));
    OK(ctx, wf_run(g));
}

static void test_why_nodes(void **state)
{
    (void)state;
    wf_array *a = zeros(WF_F32, 60), *b = zeros(WF_F32, 60), *c = zeros(WF_F64, 60), *d = zeros(WF_F64, 60);
    run_two_literals(a, b, false, 2, 3, 0);
    ran();
    run_two_literals(a, b, true, 2, 3, 0);
    expect_why("operation 4 (sub) has other operands");
    run_two_literals(a, b, true, 5, 6, 0);
    expect_why("the literal 5 (f32) was 2, and 1 more: wf_param would not make another kernel");
    run_two_literals(a, b, true, 5, 6, WF_FLAG_FAST_MATH);
    expect_why("WF_FLAG_FAST_MATH is on now");
    run_two_literals(c, d, true, 5, 6, WF_FLAG_FAST_MATH);
    assert_int_equal(ran(), 1);
    assert_string_equal(info->why, "array 0 is f64, was f32; array 1 is f64, was f32");
    wf_release(a);
    wf_release(b);
    wf_release(c);
    wf_release(d);
}

/* ---- the log ---- */
static char logged[4096];
static void take_log(int level, const char *text, void *user)
{
    (void)user;
    size_t n = strlen(logged);
    snprintf(logged + n, sizeof logged - n, "%d %s\n", level, text);
}

static void test_log(void **state)
{
    (void)state;
    wf_config config = { .size = sizeof config, .threads = 1, .flags_on = WF_FLAG_NO_DISK_CACHE, .log = take_log };
    wf_context *own = wf_context_new(&config), *outer = ctx;
    ctx = own;
    logged[0] = 0;
    bool llvm = test_compiles(ctx);
    wf_array *a = zeros(WF_F32, 100), *b = zeros(WF_F32, 100);
    logged[0] = 0;
    run_literal(a, b, 1, "told");
    run_literal(a, b, 1, "told");
    assert_true(!llvm || !logged[0]);
    run_literal(a, b, 2, "told");
    const char *want =
        "2 'told' was compiled again: the literal 2 (f32) was 1: wf_param would not make another kernel\n";
    if (llvm)
        assert_string_equal(logged, want);
    assert_int_equal(wf_history(ctx, NULL, 0), 0); /* the history is off */
    wf_release(a);
    wf_release(b);
    ctx = outer;
    wf_context_free(own);
}

/* ---- the disk ---- */
typedef struct folder {
    char path[256], name[16][64];
    int n;
} folder;

static bool list_entry(void *user, const wf__dir_entry *e)
{
    folder *f = user;
    if (e->regular && f->n < 16)
        snprintf(f->name[f->n++], sizeof *f->name, "%s", e->name);
    return true;
}

static wf_context *over(const char *dir)
{
    wf_config config = { .size = sizeof config, .threads = 1, .cache_dir = dir, .flags_on = WF_FLAG_HISTORY };
    wf_context *own = wf_context_new(&config);
    assert_non_null(own);
    return own;
}

/* All entries are damaged, or become those of another version of the library. */
static void spoil(folder *f, bool version)
{
    enum { HEADER = 32, VERSION = 5 }; /* "weft 0.1.0 ..." begins the key */
    int dir = wf__dir_open(f->path);
    f->n = 0;
    if (dir >= 0)
        wf__dir_list(dir, list_entry, f);
    wf__fd_close(dir);
    for (int i = 0; i < f->n; ++i) {
        char path[600], other[600];
        snprintf(path, sizeof path, "%s/%s", f->path, f->name[i]);
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        fseek(file, version ? HEADER + VERSION : -1, version ? SEEK_SET : SEEK_END);
        fputc(version ? '9' : '?', file);
        fclose(file);
        memcpy(f->name[i], "feed", 4);
        snprintf(other, sizeof other, "%s/%s", f->path, f->name[i]);
        if (version)
            assert_int_equal(rename(path, other), 0);
    }
}

static void test_disk(void **state)
{
    static const char *const why[] = { "", "", "the object in the cache on disk was damaged",
                                       "the object on disk is for another version of the library" };
    (void)state;
    folder f;
    wf_context *outer = ctx;
    snprintf(f.path, sizeof f.path, "/tmp/weft-history-%lld", (long long)wf__process_id());
    for (int round = 0; round < 4; ++round) {
        ctx = over(f.path);
        bool llvm = test_compiles(ctx);
        wf_array *a = zeros(WF_F32, 100), *b = zeros(WF_F32, 100);
        ran();
        run_literal(a, b, 1, "disk");
        assert_int_equal(ran(), 1);
        if (llvm) {
            assert_int_equal(info->code, round == 1 ? WF_CODE_DISK : WF_CODE_COMPILED);
            assert_string_equal(info->why, why[round]);
        }
        wf_release(a);
        wf_release(b);
        wf_context_free(ctx);
        if (round == 1 || round == 2)
            spoil(&f, round == 2);
    }
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", f.path);
    assert_int_equal(system(command), 0);
    ctx = outer;
}

/* ---- from several threads ---- */
static void *launch_many(void *user)
{
    wf_kernel *k = user;
    wf_array *in = zeros(WF_F32, 64), *out = zeros(WF_F32, 64);
    wf_kernel_info some[8] = { { .size = sizeof *some } };
    for (int i = 0; i < 200; ++i) {
        OK(ctx, wf_launch(k, WF_NAMED(in, out)));
        if (i % 50 == 0)
            wf_history(ctx, some, 8);
    }
    wf_release(in);
    wf_release(out);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    wf_kernel *k = copies("threads");
    run_at_once(3, launch_many, k, 0);
    ran();
    wf_kernel_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_flags_change_counts),
        cmocka_unit_test(test_loops_and_stores),
        cmocka_unit_test(test_lockstep),
        cmocka_unit_test(test_devices_have_plans_of_their_own),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_where_code_comes_from),
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_prepared_launches),
        cmocka_unit_test(test_history_is_bounded),
        cmocka_unit_test(test_why_literal),
        cmocka_unit_test(test_why_layouts),
        cmocka_unit_test(test_why_dtype_flags_operations),
        cmocka_unit_test(test_why_similar),
        cmocka_unit_test(test_why_nodes),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_disk),
        cmocka_unit_test(test_threads),
    };
    return RUN_WITH_HISTORY(tests);
}
