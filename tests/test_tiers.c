/* test_tiers.c - kernels with little work are compiled quickly, and with full optimisation by the launch that makes
 * this worthwhile; their results stay the same (WF_FLAG_TIERED).
 *
 * ctest: threads two_tiers
 */
#include "literal_kernels.h"
#include "object/object.h"
#include "run/cache/disk.h"
#include "run/engine.h"
#include "side_by_side.h"
#include <unistd.h>

enum { N = 1 << 18, MANY = 200 }; /* points, and enough runs to recompile any kernel here */
static wf_context *ctx;

static int on(void **state)
{
    (void)state;
    ctx = test_context_alone(WF_CPU, 2);
    wf_set_flags(ctx, WF_FLAG_HISTORY | WF_FLAG_TIERED, 0);
    return 0;
}

static int off(void **state)
{
    (void)state;
    wf_context_free(ctx);
    return 0;
}

static void need_llvm(void)
{
    if (!test_compiles(ctx))
        skip();
}

/* The last kernel that ran since the last call. */
static wf_kernel_info last(wf_context *of)
{
    static wf_kernel_info all[64], k;
    size_t n, seen = 0;
    all->size = sizeof *all;
    for (; (n = wf_history(of, all, WF__COUNT(all))) > 0; seen += n)
        k = all[n - 1];
    assert_true(seen > 0);
    return k;
}

/* Sets WEFT_TIERED, which new contexts read; NULL unsets it. Returns a copy of the old value. */
static char *set_tiers(const char *value)
{
    const char *old = getenv("WEFT_TIERED");
    char *copy = old ? strdup(old) : NULL;
    if (value)
        setenv("WEFT_TIERED", value, 1);
    else
        unsetenv("WEFT_TIERED");
    return copy;
}

static wf_array *numbers(wf_context *of, int64_t n) { return wf_array_arange(of, WF_F32, n, -1, 2.0 / (double)n); }

static uint64_t compiled(wf_context *of) { return wf__engine_count(of->engine).compiled; }

static void test_compiled_twice(void **state)
{
    (void)state;
    need_llvm();
    wf_array *a = numbers(ctx, N), *out = wf_like(a);
    uint64_t before = compiled(ctx);
    run_literal(ctx, a, out, 3);
    wf_kernel_info first = last(ctx), second = { 0 };
    assert_true(first.baseline);
    assert_int_equal(first.code, WF_CODE_COMPILED);
    assert_int_equal(first.columns, 1);
    void *want = contents(out);
    int runs = 1, again = 0;
    for (; runs < MANY; ++runs) {
        run_literal(ctx, a, out, 3);
        wf_kernel_info k = last(ctx);
        assert_int_equal(k.baseline, again == 0 && k.code == WF_CODE_READY);
        if (k.code == WF_CODE_COMPILED) {
            ++again;
            second = k;
        } else
            assert_int_equal(k.code, WF_CODE_READY);
    }
    assert_int_equal(again, 1);
    assert_true(second.hash != first.hash);
    assert_non_null(strstr(second.why, "often enough"));
    assert_int_equal(compiled(ctx), before + 2);
    void *got = contents(out);
    assert_memory_equal(got, want, N * sizeof(float));
    free(want);
    free(got);
    wf_release(a);
    wf_release(out);
}

/* Plans of other extents share the code, and their work with it is added up. */
static void test_shapes_count_together(void **state)
{
    (void)state;
    need_llvm();
    int again = 0;
    for (int runs = 0; runs < MANY; ++runs) {
        wf_array *a = numbers(ctx, N + 32 * runs), *out = wf_like(a);
        run_literal(ctx, a, out, 5);
        run_literal(ctx, a, out, 5);
        wf_kernel_info k = last(ctx);
        again += k.code == WF_CODE_COMPILED;
        if (runs == MANY - 1)
            assert_false(k.baseline);
        wf_release(a);
        wf_release(out);
    }
    assert_int_equal(again, 1);
}

/* Of a kernel that was compiled now. */
static void expect(bool baseline)
{
    wf_kernel_info k = last(ctx);
    assert_int_equal(k.code, WF_CODE_COMPILED);
    assert_int_equal(k.baseline, baseline);
}

static void run_expecting(wf_space space, wf_array *a, wf_array *out, double literal, bool baseline)
{
    space.size = sizeof space;
    wf_graph *g = wf_begin_with(ctx, &space);
    record_literal(g, a, out, literal);
    OK(ctx, wf_run(g));
    expect(baseline);
}

static void test_not_tiered(void **state)
{
    (void)state;
    need_llvm();
    wf_array *a = numbers(ctx, 1000), *out = wf_like(a), *large = numbers(ctx, 1 << 25), *large_out = wf_like(large);
    run_expecting((wf_space){ 0 }, a, out, 7, true);
    run_expecting((wf_space){ .flags_off = WF_FLAG_TIERED }, a, out, 7, false);
    run_expecting((wf_space){ 0 }, large, large_out, 8, false);
    wf_release(large);
    wf_release(large_out);

    wf_graph *g = wf_begin(ctx); /* a loop with an unknown number of turns */
    wf_var x = wf_local(g, WF_F32, wf_in(g, a));
    WF_WHILE (g, wf_lt(wf_abs(x), 100)) {
        wf_set(x, wf_add(wf_mul(x, 3), 9));
    }
    WF_END(g);
    wf_out(g, out, WF_V(x));
    OK(ctx, wf_run(g));
    expect(false);

    g = wf_begin(ctx);
    record_literal(g, a, out, 9);
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    OK(ctx, wf_launch(k, WF_NO_ARGS));
    expect(false);
    wf_kernel_free(k);

    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
    run_literal(ctx, a, out, 10);
    wf_frozen *f = wf_freeze_end(ctx);
    assert_non_null(f);
    expect(false);
    OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a)));
    wf_frozen_free(f);
    wf_release(a);
    wf_release(out);
}

/* ---- the disk ---- */
static wf_context *with_folder(const char *dir)
{
    wf_config config = {
        .size = sizeof config, .threads = 1, .cache_dir = dir, .flags_on = WF_FLAG_HISTORY | WF_FLAG_TIERED
    };
    wf_context *of = wf_context_new(&config);
    assert_non_null(of);
    return of;
}

/* Returns what a new process finds on disk after this many runs. */
static wf_kernel_info found(const char *dir, int64_t n, int runs, uint32_t flags_off)
{
    wf_context *of = with_folder(dir);
    wf_set_flags(of, 0, flags_off);
    wf_array *a = numbers(of, n), *out = wf_like(a);
    for (int i = 0; i < runs; ++i)
        run_literal(of, a, out, 3);
    wf_kernel_info k = last(of);
    wf_release(a);
    wf_release(out);
    wf_context_free(of);
    return k;
}

static void test_on_disk(void **state)
{
    (void)state;
    need_llvm();
    char dir[64], other[64];
    snprintf(dir, sizeof dir, "tiers-%ld", (long)getpid());
    snprintf(other, sizeof other, "tiers-other-%ld", (long)getpid());
    wf_kernel_info k = found(dir, 1000, 1, 0);
    assert_true(k.baseline && k.code == WF_CODE_COMPILED);
    k = found(dir, 1000, 1, 0);
    assert_true(k.baseline && k.code == WF_CODE_DISK);
    k = found(dir, 1000, 1, WF_FLAG_TIERED); /* there is only baseline code, which does not suffice */
    assert_true(!k.baseline && k.code == WF_CODE_COMPILED);
    k = found(dir, 1000, 1, 0);
    assert_true(k.baseline && k.code == WF_CODE_DISK);
    k = found(dir, N, MANY, 0); /* optimised code exists now, and is loaded when that is worthwhile */
    assert_true(!k.baseline && k.code == WF_CODE_READY);
    k = found(other, 1000, 1, WF_FLAG_TIERED);
    assert_true(!k.baseline && k.code == WF_CODE_COMPILED);
    k = found(other, 1000, 1, 0); /* optimised code suffices, too */
    assert_true(!k.baseline && k.code == WF_CODE_DISK);
    char *outer = set_tiers("first"); /* also where the first tier compiles all kernels */
    k = found(other, 1000, 1, WF_FLAG_TIERED);
    free(set_tiers(outer));
    free(outer);
    assert_true(!k.baseline && k.code == WF_CODE_DISK);
    const char *const folders[] = { dir, other };
    for (size_t i = 0; i < WF__COUNT(folders); ++i) {
        wf__disk *disk = wf__disk_open(folders[i], 0);
        wf__disk_clear(disk);
        wf__disk_close(disk);
        rmdir(folders[i]);
    }
}

/* ---- threads ---- */
static void *run_often(void *data)
{
    wf_array *a = data, *out = wf_like(a);
    for (int i = 0; i < MANY; ++i) {
        wf_graph *g = wf_begin(ctx);
        record_literal(g, a, out, 13);
        must(wf_run(g) == WF_OK, "wf_run");
    }
    float *got = malloc(N * sizeof *got);
    must(got && wf_download(out, got, N * sizeof *got) == WF_OK, "wf_download");
    wf_release(out);
    return got;
}

static void test_threads(void **state)
{
    (void)state;
    need_llvm();
    enum { THREADS = 4 };
    wf_array *a = numbers(ctx, N);
    uint64_t before = compiled(ctx);
    pthread_t thread[THREADS];
    void *got[THREADS];
    atomic_store(&failures, 0);
    start_threads(thread, THREADS, run_often, a, 0);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_join(thread[i], &got[i]), 0);
    assert_int_equal(atomic_load(&failures), 0);
    assert_in_range(compiled(ctx) - before, 2, 2 * THREADS); /* several threads may miss it at the same time */
    assert_false(last(ctx).baseline);
    for (int i = 1; i < THREADS; ++i)
        assert_memory_equal(got[i], got[0], N * sizeof(float));
    for (int i = 0; i < THREADS; ++i)
        free(got[i]);
    wf_release(a);
}

/* With WEFT_TIERED=first in the environment the first tier compiles loops, prepared kernels and kernels with much work, once each. */
static void test_first_tier_alone(void **state)
{
    (void)state;
    need_llvm();
    char *outer = set_tiers("first");
    wf_context *first = test_context_alone(WF_CPU, 2);
    free(set_tiers(outer));
    free(outer);
    wf_set_flags(first, WF_FLAG_HISTORY, 0);
    wf_array *a = numbers(first, N), *out = wf_empty(first, WF_F32, WF_SHAPE(N));
    last(first);
    const uint64_t before = compiled(first);
    for (int k = 0; k < MANY; ++k) {
        wf_graph *g = wf_begin(first, .shape = WF_SHAPE(N));
        wf_var x = wf_local(g, WF_F32, wf_in(g, a));
        wf_val i;
        WF_FOR (g, i, 0, 20, 1) {
            wf_set(x, wf_mul(wf_add(x, i), 0.5));
        }
        WF_END(g);
        wf_out(g, out, x);
        OK(first, wf_run(g));
        assert_true(last(first).baseline);
    }
    assert_int_equal(compiled(first), before + 1);
    wf_graph *g = wf_begin(first, .shape = WF_SHAPE(N));
    wf_out(g, wf_formal(g, "out", WF_F32, 1), wf_sqrt(wf_in(g, wf_formal(g, "a", WF_F32, 1))));
    wf_kernel *kernel = wf_compile(g);
    assert_non_null(kernel);
    OK(first, wf_launch(kernel, WF_ARGS(WF_ARG("a", a), WF_ARG("out", out))));
    assert_true(last(first).baseline);
    assert_int_equal(compiled(first), before + 2);
    wf_kernel_free(kernel);
    wf_release(a);
    wf_release(out);
    wf_context_free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiled_twice), cmocka_unit_test(test_shapes_count_together),
        cmocka_unit_test(test_not_tiered),     cmocka_unit_test(test_on_disk),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_first_tier_alone)
    };
    return cmocka_run_group_tests(tests, on, off);
}
