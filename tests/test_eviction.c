/* test_eviction.c - a context that has run thousands of kernels stays within its bounds. Plans and code that were not
 * used for long are evicted, kernels and launches in flight keep theirs, and evicted code is made again on demand.
 *
 * ctest: threads
 */
#include "side_by_side.h"
#include "launch/launch.h"

enum { PLANS = 20 * 6000, CODE = 20 * 512, LEAST = 256 /* bytes of a code */ };

static wf_context *bounded(wf_device device)
{
    wf_context *ctx = test_context_alone(device, 2);
    ctx->launcher->plans.most_bytes = PLANS;
    wf__engine_limit_code(ctx->engine, CODE);
    return ctx;
}

/* x * number + number over n elements, run or prepared; each number makes a kernel of its own. */
static wf_val line(wf_val x, int number) { return wf_add(wf_mul(x, number), number); }

static bool run_line(wf_context *ctx, wf_array *x, wf_array *y, int number)
{
    wf_graph *g = wf_begin(ctx);
    wf_out(g, y, line(wf_in(g, x), number));
    return wf_run(g) == WF_OK;
}

static bool all_are(wf_array *y, float want)
{
    float got[40];
    bool ok = wf_array_count(y) == 40 && wf_download(y, got, sizeof got) == WF_OK;
    for (int i = 0; ok && i < 40; ++i)
        ok = got[i] == want;
    return ok;
}

static wf_kernel *line_kernel(wf_context *ctx, int number)
{
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, wf_formal(g, "x", WF_F32, 1));
    wf_out(g, wf_formal(g, "y", WF_F32, 1), line(x, number));
    return wf_compile(g);
}

static void within(wf_context *ctx, size_t in_use)
{
    const wf__lru *plans = &ctx->launcher->plans.lru;
    size_t bytes = 0, n = 0;
    for (const wf__lru_entry *e = plans->oldest; e; e = e->newer, ++n)
        bytes += e->bytes;
    assert_int_equal(n, plans->count);
    assert_int_equal(n, plans->ordered);
    assert_int_equal(bytes, plans->bytes);
    assert_true(bytes <= PLANS);
    assert_true(n >= 3);
    assert_true(wf__engine_count_code(ctx->engine) <= n + in_use + CODE / LEAST);
}

static void test_interpreted(void **state)
{
    (void)state;
    wf_context *ctx = bounded(WF_INTERP);
    wf_array *x = wf_full(ctx, WF_F32, WF_SHAPE(40), 2), *y = wf_like(x);
    for (int i = 0; i < 5000; ++i) {
        assert_true(run_line(ctx, x, y, i) && all_are(y, (float)(3 * i)));
        if (i % 1000 == 999)
            within(ctx, 0);
    }
    wf_release(x);
    wf_release(y);
    wf_context_free(ctx);
}

/* Compiled kernels, few enough to take seconds. Kernels in use go on working and are not compiled again. */
static void test_compiled(void **state)
{
    (void)state;
    enum { KEPT = 10, OTHERS = 400 };
    wf_context *ctx = bounded(0);
    wf_array *x = wf_full(ctx, WF_F32, WF_SHAPE(40), 2), *y = wf_like(x);
    wf_kernel *kept[KEPT];
    wf_info before = { .size = sizeof before }, after = before;
    for (int i = 0; i < KEPT; ++i) {
        kept[i] = line_kernel(ctx, 1000 + i);
        assert_non_null(kept[i]);
        OK(ctx, wf_launch(kept[i], WF_NAMED(x, y)));
    }
    for (int i = 0; i < OTHERS; ++i)
        assert_true(run_line(ctx, x, y, i) && all_are(y, (float)(3 * i)));
    within(ctx, KEPT);
    OK(ctx, wf_get_info(ctx, false, &before));
    for (int i = 0; i < KEPT; ++i) {
        OK(ctx, wf_launch(kept[i], WF_NAMED(x, y)));
        assert_true(all_are(y, (float)(3 * (1000 + i))));
    }
    OK(ctx, wf_get_info(ctx, false, &after));
    assert_int_equal(after.compiled, before.compiled);
    assert_true(run_line(ctx, x, y, 0) && all_are(y, 0)); /* was evicted, and is made again */
    OK(ctx, wf_get_info(ctx, false, &after));
    assert_true(after.compiled == before.compiled + (before.compiled > 0));
    for (int i = 0; i < KEPT; ++i)
        wf_kernel_free(kept[i]);
    within(ctx, 0);
    wf_release(x);
    wf_release(y);
    wf_context_free(ctx);
}

/* ---- threads ---- */
enum { THREADS = 4 };
typedef struct worker {
    wf_context *ctx;
    wf_kernel *shared;
    int number, rounds;
} worker;

static void *work(void *user)
{
    worker *w = user;
    wf_array *x = wf_full(w->ctx, WF_F32, WF_SHAPE(40), 2), *y = wf_like(x);
    for (int i = 0; i < w->rounds; ++i) {
        int number = i * (w->number + 1) % (w->rounds / 2); /* other threads use some of them, too */
        bool ok = run_line(w->ctx, x, y, number) && all_are(y, (float)(3 * number));
        ok = ok && wf_launch(w->shared, WF_NAMED(x, y)) == WF_OK && all_are(y, 3 * 77);
        if (i % 16 == 0) { /* a kernel of its own, freed at once */
            wf_kernel *k = line_kernel(w->ctx, number + 5000);
            ok = ok && k && wf_launch(k, WF_NAMED(x, y)) == WF_OK && all_are(y, (float)(3 * (number + 5000)));
            wf_kernel_free(k);
        }
        must(ok, "a launch computed something else");
    }
    wf_release(x);
    wf_release(y);
    return NULL;
}

static void check_threads(wf_device device, int rounds)
{
    wf_context *ctx = bounded(device);
    wf_kernel *shared = line_kernel(ctx, 77);
    worker w[THREADS];
    for (int i = 0; i < THREADS; ++i)
        w[i] = (worker){ ctx, shared, i, rounds };
    run_at_once(THREADS, work, w, sizeof *w);
    within(ctx, 1);
    wf_kernel_free(shared);
    wf_context_free(ctx);
}

static void test_threads_interpreted(void **state)
{
    (void)state;
    check_threads(WF_INTERP, 2000);
}

static void test_threads_compiled(void **state)
{
    (void)state;
    check_threads(0, 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interpreted),
        cmocka_unit_test(test_compiled),
        cmocka_unit_test(test_threads_interpreted),
        cmocka_unit_test(test_threads_compiled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
