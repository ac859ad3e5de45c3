/* test_interpret_first.c - the first runs of small kernels are interpreted while a thread compiles them
 * (WF_FLAG_INTERPRET_FIRST). The tests hold back the compilation by wf__background_begin, so that nothing depends on
 * time.
 *
 * ctest: threads
 */
#include "literal_kernels.h"
#include "base/base.h"
#include "object/object.h"
#include "memory_fails.h"
#include "run/cache/disk.h"
#include "run/engine_internal.h"
#include "run/thread/background.h"
#include "side_by_side.h"
#include <sys/wait.h>
#include <unistd.h>

enum { KINDS = 2471 }; /* results of run_kinds */
#ifdef WEFT_DEBUG_CHECKS
enum { TEST_FAILS = 1 }; /* allocations can fail */
#else
enum { TEST_FAILS = 0 };
#endif
enum { N = 1000, FLAGS = WF_FLAG_TIERED | WF_FLAG_INTERPRET_FIRST };

static wf_context *context_with(uint32_t on, const char *dir)
{
    wf_config config = { .size = sizeof config,
                         .threads = 2,
                         .cache_dir = dir,
                         .flags_on = on | (dir ? 0 : (uint32_t)WF_FLAG_NO_DISK_CACHE) };
    wf_context *ctx = wf_context_new(&config);
    assert_non_null(ctx);
    return ctx;
}

static void need_llvm(void)
{
    wf_context *ctx = context_with(0, NULL);
    bool compiles = test_compiles(ctx);
    wf_context_free(ctx);
    if (!compiles)
        skip();
}

static uint64_t compiled_so_far(wf_context *ctx) { return atomic_load(&ctx->engine->compiled); }

/* The number of compiled kernels, after the compilations that have been begun. */
static uint64_t compiled_in_the_end(wf_context *ctx) { return wf__engine_count(ctx->engine).compiled; }

/* Numbers from -1 to 1, made without a kernel. */
static wf_array *numbers(wf_context *ctx, int64_t n)
{
    float *at = malloc((size_t)n * sizeof *at);
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(n));
    if (!at || !a)
        abort();
    for (int64_t i = 0; i < n; ++i)
        at[i] = (float)((double)i * 2 / (double)n - 1);
    if (wf_upload(a, at, (size_t)n * sizeof *at) != WF_OK)
        abort();
    free(at);
    return a;
}

/* Checks that the array has the elements that the interpreter computes. */
static void check(wf_array *out, int64_t n, double literal)
{
    wf_context *ctx = test_context(WF_INTERP, 1);
    wf_array *a = numbers(ctx, n), *want = wf_like(a);
    run_literal(ctx, a, want, literal);
    void *w = contents(want), *got = contents(out);
    assert_memory_equal(got, w, (size_t)n * sizeof(float));
    free(w);
    free(got);
    wf_release(a);
    wf_release(want);
    wf_context_free(ctx);
}

static void test_interpreted_then_compiled(void **state)
{
    (void)state;
    need_llvm();
    wf_context *ctx = context_with(FLAGS, NULL);
    wf_array *a = numbers(ctx, N), *out = wf_like(a);
    assert_true(wf__background_begin());
    for (int i = 0; i < 3; ++i) {
        run_literal(ctx, a, out, 3);
        check(out, N, 3);
        assert_int_equal(compiled_so_far(ctx), 0);
    }
    wf__background_end();
    assert_int_equal(compiled_in_the_end(ctx), 1);
    wf_array *again = wf_like(a);
    assert_true(wf__background_begin());
    run_literal(ctx, a, again, 3);
    check(again, N, 3);
    wf__background_end();
    assert_int_equal(compiled_in_the_end(ctx), 1);
    wf_release(a);
    wf_release(out);
    wf_release(again);
    wf_context_free(ctx);
}

/* Launches that need code at once, although a compilation of it waits. */
static void test_larger_runs_compile(void **state)
{
    (void)state;
    need_llvm();
    wf_context *ctx = context_with(FLAGS, NULL);
    wf_array *a = numbers(ctx, N), *out = wf_like(a), *large = numbers(ctx, 1 << 20), *large_out = wf_like(large);
    assert_true(wf__background_begin());
    run_literal(ctx, large, large_out, 4);
    assert_int_equal(compiled_so_far(ctx), 1);
    check(large_out, 1 << 20, 4);
    run_literal(ctx, a, out, 4); /* the code is there */
    assert_int_equal(compiled_so_far(ctx), 1);

    run_literal(ctx, a, out, 5);
    assert_int_equal(compiled_so_far(ctx), 1);
    wf_set_flags(ctx, WF_FLAG_HISTORY, 0); /* a launch that is noted takes over the compilation */
    run_literal(ctx, a, out, 5);
    assert_int_equal(compiled_so_far(ctx), 2);
    wf_set_flags(ctx, 0, WF_FLAG_HISTORY);
    check(out, N, 5);
    wf__background_end();
    assert_int_equal(compiled_in_the_end(ctx), 2);
    wf_release(a);
    wf_release(out);
    wf_release(large);
    wf_release(large_out);
    wf_context_free(ctx);
}

static void test_not_interpreted(void **state)
{
    (void)state;
    need_llvm();
    wf_context *ctx = context_with(FLAGS, NULL);
    wf_array *a = numbers(ctx, N), *out = wf_like(a);
    uint64_t want = 0;
    assert_true(wf__background_begin());

    wf_graph *g = wf_begin(ctx);
    record_literal(g, a, out, 6);
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    OK(ctx, wf_launch(k, WF_NO_ARGS));
    assert_int_equal(compiled_so_far(ctx), ++want);
    wf_kernel_free(k);

    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
    run_literal(ctx, a, out, 7);
    wf_frozen *f = wf_freeze_end(ctx);
    assert_non_null(f);
    assert_int_equal(compiled_so_far(ctx), ++want);
    wf_frozen_free(f);

    wf_space off = { .size = sizeof off, .flags_off = WF_FLAG_INTERPRET_FIRST };
    g = wf_begin_with(ctx, &off);
    record_literal(g, a, out, 8);
    OK(ctx, wf_run(g));
    assert_int_equal(compiled_so_far(ctx), ++want);

    g = wf_begin(ctx); /* a loop with an unknown number of turns */
    wf_var x = wf_local(g, WF_F32, wf_in(g, a));
    WF_WHILE (g, wf_lt(wf_abs(x), 100)) {
        wf_set(x, wf_add(wf_mul(x, 3), 9));
    }
    WF_END(g);
    wf_out(g, out, WF_V(x));
    OK(ctx, wf_run(g));
    assert_int_equal(compiled_so_far(ctx), ++want);
    wf__background_end();

    wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
    run_literal(ctx, a, out, 9);
    wf_kernel_info last[8];
    last->size = sizeof *last;
    assert_int_equal(wf_history(ctx, last, 8), 1);
    assert_int_equal(last->code, WF_CODE_COMPILED);
    wf_release(a);
    wf_release(out);
    wf_context_free(ctx);
}

/* ---- kinds of kernels ---- */
/* Records reductions, a scan and several stages: results in `out` [4]. */
static void run_kinds(wf_context *ctx, float *all)
{
    wf_array *a = numbers(ctx, 30 * 40), *m = wf_view_reshape(a, WF_SHAPE(30, 40));
    wf_array *rows = wf_empty(ctx, WF_F32, WF_SHAPE(30, 1)), *columns = wf_empty(ctx, WF_F32, WF_SHAPE(1, 40));
    wf_array *sums = wf_like(a), *shifted = wf_like(m), *total = wf_empty(ctx, WF_F32, WF_SHAPE(1, 1));
    assert_non_null(m);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, m), v = wf_in(g, a);
    wf_out(g, rows, wf_sum(wf_mul(x, x), WF_AXES(1)));
    wf_out(g, columns, wf_reduce(WF_JOIN_MAX, x, WF_AXES(0)));
    wf_out(g, sums, wf_scan(WF_JOIN_ADD, wf_exp(v), 0, false, false));
    wf_out(g, shifted, wf_add(x, wf_sum(x, WF_ALL_AXES)));
    wf_out(g, total, wf_sum(wf_mul(x, 0.5), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    OK(ctx, wf_download(rows, all, 30 * sizeof *all));
    OK(ctx, wf_download(columns, all + 30, 40 * sizeof *all));
    OK(ctx, wf_download(sums, all + 70, 1200 * sizeof *all));
    OK(ctx, wf_download(shifted, all + 1270, 1200 * sizeof *all));
    OK(ctx, wf_download(total, all + 2470, sizeof *all));
    wf_release(a);
    wf_release(m);
    wf_release(rows);
    wf_release(columns);
    wf_release(sums);
    wf_release(shifted);
    wf_release(total);
}

static void test_kinds(void **state)
{
    (void)state;
    static float want[KINDS], got[KINDS];
    wf_context *interp = test_context(WF_INTERP, 1), *ctx = context_with(FLAGS, NULL);
    run_kinds(interp, want);
    assert_true(wf__background_begin());
    run_kinds(ctx, got);
    assert_int_equal(compiled_so_far(ctx), 0);
    wf__background_end();
    assert_memory_equal(got, want, sizeof want);
    compiled_in_the_end(ctx);
    memset(got, 0, sizeof got);
    run_kinds(ctx, got); /* by compiled code */
    assert_memory_equal(got, want, sizeof want);
    wf_context_free(interp);
    wf_context_free(ctx);
}

/* Kernels beyond the bound of the queue are compiled by their launches. */
static void test_many(void **state)
{
    (void)state;
    need_llvm();
    enum { KERNELS = 70 };
    wf_context *ctx = context_with(FLAGS, NULL);
    wf_array *a = numbers(ctx, N), *out = wf_like(a);
    assert_true(wf__background_begin());
    for (int i = 0; i < KERNELS; ++i)
        run_literal(ctx, a, out, 20 + i);
    uint64_t at_once = compiled_so_far(ctx);
    wf__background_end();
    assert_in_range(at_once, 1, KERNELS - 1);
    check(out, N, 20 + KERNELS - 1);
    assert_int_equal(compiled_in_the_end(ctx), KERNELS);
    wf_release(a);
    wf_release(out);
    wf_context_free(ctx);
}

/* ---- the end ---- */
static void test_on_disk(void **state)
{
    (void)state;
    need_llvm();
    char dir[64];
    snprintf(dir, sizeof dir, "first-%ld", (long)getpid());
    for (int round = 0; round < 2; ++round) {
        wf_context *ctx = context_with(FLAGS, dir);
        wf_array *a = numbers(ctx, N), *out = wf_like(a);
        run_literal(ctx, a, out, 3);
        check(out, N, 3);
        wf_release(a);
        wf_release(out);
        if (round) { /* the first context has left the code on disk */
            assert_int_equal(compiled_in_the_end(ctx), 0);
            assert_int_equal(atomic_load(&ctx->engine->disk_hits), 1);
        }
        wf_context_free(ctx);
    }
    wf__disk *disk = wf__disk_open(dir, 0);
    wf__disk_clear(disk);
    wf__disk_close(disk);
    rmdir(dir);
}

static int wait_for(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* The child of a fork has no thread that compiles. When the process forks, that thread exists and allocates nothing:
 * the allocators of some sanitizers do not survive a fork while another thread uses them. */
static void test_fork(void **state)
{
    (void)state;
    need_llvm();
    wf_context *ctx = context_with(FLAGS, NULL);
    wf_array *a = numbers(ctx, N), *out = wf_like(a), *other = wf_like(a);
    run_literal(ctx, a, out, 2);
    assert_int_equal(compiled_in_the_end(ctx), 1);
    assert_true(wf__background_begin());
    run_literal(ctx, a, out, 3);
    pid_t child = fork();
    if (!child) {
        bool ok = true;
        for (int i = 0; i < 2; ++i) { /* a kernel whose compilation waits in the parent, and another one */
            wf_graph *g = wf_begin(ctx);
            record_literal(g, a, other, 3 + i);
            ok = ok && wf_run(g) == WF_OK;
        }
        ok = ok && compiled_so_far(ctx) == 3;
        wf_release(a);
        wf_release(out);
        wf_release(other);
        wf_context_free(ctx);
        _exit(!ok);
    }
    wf__background_end();
    assert_true(child > 0);
    assert_int_equal(wait_for(child), 0);
    assert_int_equal(compiled_in_the_end(ctx), 2);
    wf_release(a);
    wf_release(out);
    wf_release(other);
    wf_context_free(ctx);
}

/* The process ends while a kernel is compiled, and its context was never freed. */
static void test_exit(void **state)
{
    (void)state;
    for (int i = 0; i < 4; ++i) {
        pid_t child = fork();
        if (!child) {
            static wf_context *ctx;
            static wf_array *a, *out;
            ctx = context_with(FLAGS, NULL);
            a = numbers(ctx, N);
            out = wf_like(a);
            wf_graph *g = wf_begin(ctx);
            record_literal(g, a, out, 3);
            bool ok = wf_run(g) == WF_OK;
            usleep((unsigned)i * 500);
            exit(!ok);
        }
        assert_true(child > 0);
        assert_int_equal(wait_for(child), 0);
    }
}

/* The process forks while its first code is compiled and gets memory, a little later each time. */
static void test_fork_while_compiling(void **state)
{
    (void)state;
    for (int i = 0; i < 16; ++i) {
        pid_t child = fork();
        if (!child) {   /* a process without threads and code */
            alarm(120); /* so that a deadlock ends the test */
            wf_context *ctx = context_with(FLAGS, NULL);
            wf_array *a = numbers(ctx, N), *out = wf_like(a);
            run_literal(ctx, a, out, 3);
            usleep((unsigned)i * 250);
            pid_t grandchild = fork();
            if (!grandchild)
                _exit(0);
            int status = -1;
            bool ok = waitpid(grandchild, &status, 0) == grandchild && status == 0;
            wf_release(a);
            wf_release(out);
            wf_context_free(ctx);
            _exit(!ok);
        }
        assert_true(child > 0);
        assert_int_equal(wait_for(child), 0);
    }
}

/* ---- threads, and memory that fails ---- */
static void *run_often(void *data)
{
    wf_context *ctx = data;
    float *got = malloc(N * sizeof *got);
    wf_array *a = numbers(ctx, N), *out = wf_like(a);
    for (int i = 0; i < 40; ++i) {
        wf_graph *g = wf_begin(ctx);
        record_literal(g, a, out, 3 + i % 5);
        must(wf_run(g) == WF_OK, "wf_run");
    }
    must(got && wf_download(out, got, N * sizeof *got) == WF_OK, "wf_download");
    wf_release(a);
    wf_release(out);
    return got;
}

static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    wf_context *ctx = context_with(FLAGS, NULL), *interp = test_context(WF_INTERP, 1);
    pthread_t thread[THREADS];
    void *got[THREADS];
    atomic_store(&failures, 0);
    start_threads(thread, THREADS, run_often, ctx, 0);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_join(thread[i], &got[i]), 0);
    assert_int_equal(atomic_load(&failures), 0);
    void *want = run_often(interp);
    for (int i = 0; i < THREADS; ++i) {
        assert_memory_equal(got[i], want, N * sizeof(float));
        free(got[i]);
    }
    free(want);
    wf_context_free(ctx);
    wf_context_free(interp);
}

/* Without memory for the thread or its work, or for the code, a run fails for lack of memory or is right. */
static void test_memory_fails(void **state)
{
    (void)state;
    need_llvm();
    for (long n = 0, more = TEST_FAILS; more; ++n) {
        wf_context *ctx = context_with(FLAGS, NULL);
        wf_array *a = numbers(ctx, N), *out = wf_like(a);
        compiled_in_the_end(ctx);
        wf__alloc_fail_after(n);
        wf_graph *g = wf_begin(ctx);
        wf_status status = g ? WF_OK : missing(ctx);
        if (g) {
            record_literal(g, a, out, 3);
            status = wf_run(g);
        }
        compiled_in_the_end(ctx);
        more = failure_happened();
        wf__alloc_fail_after(-1);
        assert_true(status == WF_OK || (more && status == WF_ERR_MEMORY));
        wf_clear_error(ctx);
        run_literal(ctx, a, out, 3);
        check(out, N, 3);
        wf_release(a);
        wf_release(out);
        wf_context_free(ctx);
    }
}

/* Runs a kernel of one point with more nodes than are walked without the interpreter. Returns the result. */
static float run_point(wf_context *ctx, wf_array *a, wf_array *out)
{
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), v = x;
    for (int i = 0; i < 40; ++i)
        v = wf_fma(v, 0.25 + i % 3, wf_sqrt(wf_add(wf_mul(x, x), i)));
    wf_out(g, out, v);
    OK(ctx, wf_run(g));
    float result;
    OK(ctx, wf_download(out, &result, sizeof result));
    return result;
}

/* A stage of one point is interpreted, and compiled once that would have paid. */
static void test_point_that_runs_often(void **state)
{
    (void)state;
    need_llvm();
    for (int flags = 0; flags < 2; ++flags) {
        wf_context *ctx = context_with(flags ? FLAGS : 0, NULL);
        wf_array *a = numbers(ctx, 1), *out = wf_like(a);
        float first = run_point(ctx, a, out);
        for (int i = 0; i < 300; ++i)
            assert_true(run_point(ctx, a, out) == first);
        assert_int_equal(compiled_in_the_end(ctx), 0);
        for (int i = 0; i < 300; ++i)
            assert_true(run_point(ctx, a, out) == first);
        assert_int_equal(compiled_in_the_end(ctx), 1);
        assert_true(run_point(ctx, a, out) == first);
        wf_release(a);
        wf_release(out);
        wf_context_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interpreted_then_compiled),
        cmocka_unit_test(test_larger_runs_compile),
        cmocka_unit_test(test_not_interpreted),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_on_disk),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_exit),
        cmocka_unit_test(test_fork_while_compiling),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_memory_fails),
        cmocka_unit_test(test_point_that_runs_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
