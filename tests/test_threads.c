/* test_threads.c - what several threads may do at the same time: use contexts of their own, record in one context,
 * launch one kernel, share and release arrays. Each thread has its own errors. The thread sanitizer runs this test,
 * too.
 *
 * ctest: threads
 */
#include "side_by_side.h"

enum { THREADS = 4 };

typedef struct worker {
    wf_context *ctx;
    wf_kernel *kernel;
    wf_array *shared;
    int number;
} worker;

/* n workers that differ in their number. */
static void run_workers(int n, void *(*body)(void *), worker all)
{
    worker w[THREADS];
    for (int i = 0; i < n; ++i) {
        w[i] = all;
        w[i].number = i;
    }
    run_at_once((size_t)n, body, w, sizeof *w);
}

static bool all_are(wf_array *a, float want)
{
    size_t n = (size_t)wf_array_count(a);
    float *x = malloc(n * sizeof *x);
    bool ok = x && wf_download(a, x, n * sizeof *x) == WF_OK;
    for (size_t i = 0; ok && i < n; ++i)
        ok = x[i] == want;
    free(x);
    return ok;
}

static void record_and_run(wf_context *ctx, int number, int rounds, int64_t n)
{
    for (int i = 0; i < rounds; ++i) {
        wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(n), number);
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, a);
        for (int k = 0; k <= (number + i) % 3; ++k)
            x = wf_add(x, 1);
        wf_out(g, a, x);
        wf_array *sum = wf_keep(wf_sum(x, WF_ALL_AXES));
        must(wf_run(g) == WF_OK, wf_last_message(ctx));
        float want = (float)(number + (number + i) % 3 + 1);
        must(all_are(a, want), "a recording computed something else");
        must(all_are(sum, want * (float)n), "a sum is wrong");
        wf_release(a);
        wf_release(sum);
    }
}

static void *own_context(void *user)
{
    worker *w = user;
    wf_config config = { .size = sizeof config, .threads = 2, .flags_on = WF_FLAG_NO_DISK_CACHE };
    wf_context *ctx = wf_context_new(&config);
    must(ctx != NULL, "no context");
    record_and_run(ctx, w->number, 8, 1000);
    record_and_run(ctx, w->number, 2, 200000);
    wf_context_free(ctx);
    return NULL;
}

static void test_contexts_side_by_side(void **state)
{
    (void)state;
    run_workers(2, own_context, (worker){ 0 });
}

static void *shared_context(void *user)
{
    worker *w = user;
    record_and_run(w->ctx, w->number, 15, 1500);
    record_and_run(w->ctx, w->number, 3, 300000);
    return NULL;
}

static void test_recordings_at_once(void **state)
{
    (void)state;
    wf_context *ctx = test_context(WF_CPU, 3);
    run_workers(THREADS, shared_context, (worker){ .ctx = ctx });
    wf_context_free(ctx);
}

/* dst = src * gain + table, launched with other arrays, shapes and parameters by each thread */
static void *launch_kernel(void *user)
{
    worker *w = user;
    for (int i = 0; i < 25; ++i) {
        int64_t n = i % 5 == 4 ? 150000 : 1 + 100 * (i % 3);
        wf_array *src = wf_full(w->ctx, WF_F32, WF_SHAPE(n), w->number), *dst = wf_like(src);
        double gain = i;
        must(wf_launch(w->kernel, WF_NAMED(src, dst, gain)) == WF_OK, wf_last_message(w->ctx));
        must(all_are(dst, (float)(w->number * i + 7)), "a launch computed something else");
        wf_release(src);
        wf_release(dst);
    }
    return NULL;
}

static void test_one_kernel_everywhere(void **state)
{
    (void)state;
    wf_context *ctx = test_context(WF_CPU, 2);
    wf_array *table = wf_full(ctx, WF_F32, WF_SHAPE(1), 7);
    wf_graph *g = wf_begin(ctx);
    wf_array *src = wf_formal(g, "src", WF_F32, 1), *dst = wf_formal(g, "dst", WF_F32, 1);
    wf_out(g, dst, wf_add(wf_mul(wf_in(g, src), wf_param(g, "gain", WF_F32, 1)), wf_in(g, table)));
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    run_workers(THREADS, launch_kernel, (worker){ .ctx = ctx, .kernel = k });
    wf_release(table);
    wf_kernel_free(k);
    wf_context_free(ctx);
}

/* Handles are retained, viewed and released from everywhere while kernels are compiled that capture them. */
static void *share_handles(void *user)
{
    worker *w = user;
    for (int i = 0; i < 60; ++i) {
        wf_array *mine = wf_retain(w->shared), *view = wf_view_slice(mine, 0, i % 50, 100, 1);
        wf_graph *g = wf_begin(w->ctx);
        wf_array *out = wf_formal(g, "out", WF_F32, 1);
        wf_out(g, out, wf_in(g, view));
        wf_kernel *k = wf_compile(g);
        must(k != NULL, wf_last_message(w->ctx));
        wf_release(mine);
        wf_release(view);
        wf_kernel_free(k);
    }
    return NULL;
}

static int released;
static void note_release(void *user) { ++*(int *)user; }

static void test_shared_handles(void **state)
{
    (void)state;
    static float memory[100];
    wf_context *ctx = test_context(WF_INTERP, 1);
    wf_array *a = wf_wrap(ctx, memory, WF_F32, WF_SHAPE(100), note_release, &released);
    run_workers(THREADS, share_handles, (worker){ .ctx = ctx, .shared = a });
    assert_int_equal(released, 0);
    wf_release(a);
    assert_int_equal(released, 1);
    wf_context_free(ctx);
}

static void *own_errors(void *user)
{
    worker *w = user;
    static const wf_status mine[THREADS] = { WF_ERR_IO, WF_ERR_BOUNDS, WF_ERR_CONTRACT, WF_ERR_SYNTAX };
    char text[32];
    for (int i = 0; i < 200; ++i) {
        snprintf(text, sizeof text, "thread %d, %d", w->number, i);
        must(wf_last_status(w->ctx) == WF_OK, "an error of another thread");
        wf_error(w->ctx, mine[w->number], text);
        wf_error(w->ctx, WF_ERR_ARG, "later");
        must(wf_last_status(w->ctx) == mine[w->number] && !strcmp(wf_last_message(w->ctx), text),
             "another thread's error");
        wf_clear_error(w->ctx);
        must(!*wf_last_message(w->ctx), "an error that was cleared");
    }
    return NULL;
}

static void test_errors_of_each_thread(void **state)
{
    (void)state;
    wf_context *ctx = test_context(WF_INTERP, 1);
    run_workers(THREADS, own_errors, (worker){ .ctx = ctx });
    assert_int_equal(wf_last_status(ctx), WF_OK);
    wf_context_free(ctx);
}

/* Settings and questions while others compute. */
static void *change_settings(void *user)
{
    worker *w = user;
    if (w->number > 0) {
        record_and_run(w->ctx, w->number, 12, 3000);
        return NULL;
    }
    for (int i = 0; i < 40; ++i) {
        wf_info info = { .size = sizeof info };
        must(wf_get_info(w->ctx, i % 2, &info) == WF_OK, "no info");
        wf_set_flags(w->ctx, i % 2 ? WF_FLAG_FOLD : 0, i % 2 ? 0 : WF_FLAG_FOLD);
        must(wf_get_threads(w->ctx) > 0, "no threads");
    }
    return NULL;
}

static void test_settings_meanwhile(void **state)
{
    (void)state;
    wf_context *ctx = test_context(WF_CPU, 2);
    run_workers(THREADS, change_settings, (worker){ .ctx = ctx });
    wf_context_free(ctx);
}

/* The interpreter runs in the calling thread: a prepared kernel on it from several threads at once. */
static void *launch_interpreted(void *user)
{
    worker *w = user;
    for (int i = 0; i < 20; ++i) {
        wf_array *dst = wf_empty(w->ctx, WF_F32, WF_SHAPE(500));
        must(wf_launch(w->kernel, WF_ARGS(WF_ARG("dst", dst), WF_ARG("p", i))) == WF_OK, wf_last_message(w->ctx));
        must(all_are(dst, (float)i), "a launch computed something else");
        wf_release(dst);
    }
    return NULL;
}

static void test_interpreted_kernel_everywhere(void **state)
{
    (void)state;
    wf_context *ctx = test_context(WF_INTERP, 1);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, wf_formal(g, "dst", WF_F32, 1), wf_param(g, "p", WF_F32, 1));
    wf_kernel *k = wf_compile(g);
    run_workers(THREADS, launch_interpreted, (worker){ .ctx = ctx, .kernel = k });
    wf_kernel_free(k);
    wf_context_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contexts_side_by_side),         cmocka_unit_test(test_recordings_at_once),
        cmocka_unit_test(test_one_kernel_everywhere),         cmocka_unit_test(test_shared_handles),
        cmocka_unit_test(test_errors_of_each_thread),         cmocka_unit_test(test_settings_meanwhile),
        cmocka_unit_test(test_interpreted_kernel_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
