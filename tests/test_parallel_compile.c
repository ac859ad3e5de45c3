/* test_parallel_compile.c - several threads compile the stages of one plan at the same time, and two contexts share no
 * lock.
 *
 * ctest: threads
 */
#include "weft_test.h"
#include "launch/launch.h"
#include "run/engine_internal.h"
#include "side_by_side.h"

enum { STAGES = 6, N = 4096 };

/* One recording of several stages: each array has another shape, so that no two can share a kernel. */
static void run_stages(wf_context *ctx, wf_array *const *a, wf_array *const *b, double literal)
{
    wf_graph *g = wf_begin(ctx, .name = "stages");
    for (int i = 0; i < STAGES; ++i) {
        wf_val v = wf_in(g, a[i]);
        for (int k = 0; k <= i; ++k)
            v = wf_add(wf_mul(v, v), literal);
        wf_out(g, b[i], v);
    }
    OK(ctx, wf_run(g));
}

static void make_arrays(wf_context *ctx, wf_array **a, wf_array **b)
{
    for (int i = 0; i < STAGES; ++i) {
        a[i] = wf_array_arange(ctx, WF_F32, N + i, 0, 1e-4);
        b[i] = wf_like(a[i]);
    }
}

static void release_arrays(wf_array **a, wf_array **b)
{
    for (int i = 0; i < STAGES; ++i) {
        wf_release(a[i]);
        wf_release(b[i]);
    }
}

static void expect_results(wf_array **b, float literal)
{
    for (int i = 0; i < STAGES; ++i) {
        float *got = contents(b[i]);
        for (int64_t j = 0; j < N + i; ++j) {
            float v = (float)((double)j * 1e-4);
            for (int k = 0; k <= i; ++k) {
                volatile float square = v * v;
                v = square + literal;
            }
            assert_true(got[j] == v);
        }
        free(got);
    }
}

static void test_stages(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads += 3) {
        wf_context *ctx = test_context_alone(WF_CPU, threads);
        wf_array *a[STAGES], *b[STAGES];
        wf_kernel_info info[32] = { { .size = sizeof *info } };
        const bool compiles = test_compiles(ctx);
        make_arrays(ctx, a, b);
        wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
        run_stages(ctx, a, b, 0.5);
        size_t n = wf_history(ctx, info, 32);
        assert_int_equal(n, STAGES);
        for (size_t i = 0; i < n && compiles; ++i) {
            assert_int_equal(info[i].code, WF_CODE_COMPILED);
            assert_true(info[i].compile_s > 0 && info[i].run_s >= 0 && info[i].run_s < 60);
        }
        expect_results(b, 0.5f);
        run_stages(ctx, a, b, 0.5);
        n = wf_history(ctx, info, 32);
        assert_int_equal(n, STAGES);
        for (size_t i = 0; i < n && compiles; ++i)
            assert_int_equal(info[i].code, WF_CODE_READY);
        release_arrays(a, b);
        wf_context_free(ctx);
    }
}

/* A kernel of several stages whose first launches come from several threads at the same moment. */
static void *launch_first(void *user)
{
    wf_kernel *k = user;
    wf_context *ctx = k->ctx;
    wf_array *in = wf_array_arange(ctx, WF_F32, 1000, 1, 1), *out = wf_like(in);
    OK(ctx, wf_launch(k, WF_NAMED(in, out)));
    float *got = contents(out);
    for (int i = 0; i < 1000; ++i)
        assert_true(got[i] == (float)(i + 1) - 1000.0f);
    free(got);
    wf_release(in);
    wf_release(out);
    return NULL;
}

static void test_first_launches(void **state)
{
    (void)state;
    for (int round = 0; round < 5; ++round) {
        wf_context *ctx = test_context(WF_CPU, 3);
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, wf_formal(g, "in", WF_F32, 1));
        wf_out(g, wf_formal(g, "out", WF_F32, 1), wf_sub(x, wf_reduce(WF_JOIN_MAX, x, WF_AXES(0))));
        wf_kernel *k = wf_compile(g);
        run_at_once(3, launch_first, k, 0);
        wf_kernel_free(k);
        wf_context_free(ctx);
    }
}

/* Uses a context in every way, while another context is locked. */
static void *work(void *user)
{
    wf_context *ctx = user;
    wf_array *a[STAGES], *b[STAGES];
    make_arrays(ctx, a, b);
    run_stages(ctx, a, b, 0.25);
    expect_results(b, 0.25f);
    release_arrays(a, b);
    wf_context_free(ctx);
    return NULL;
}

static void test_contexts_share_no_lock(void **state)
{
    (void)state;
    wf_context *locked = test_context(WF_CPU, 2), *free_one = test_context(WF_CPU, 2);
    wf_array *a[STAGES], *b[STAGES];
    make_arrays(locked, a, b);
    run_stages(locked, a, b, 0.125); /* so that all its caches have entries */
    wf__mutex_lock(&locked->lock);
    wf__mutex_lock(&locked->engine->lock);
    run_at_once(1, work, free_one, 0); /* returns only if nothing waits for the locked context */
    wf__mutex_unlock(&locked->engine->lock);
    wf__mutex_unlock(&locked->lock);
    expect_results(b, 0.125f);
    release_arrays(a, b);
    wf_context_free(locked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_first_launches),
        cmocka_unit_test(test_contexts_share_no_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
