/* test_cancel.c - work that the program cancels: wf_config.poll is asked while work runs, and true ends it with
 * WF_ERR_CANCELLED. The work would take seconds to minutes, far longer than the time between two questions.
 * wf_config.progress is told how far the work is, and may cancel it, too.
 *
 * ctest: threads
 */
#include "weft_test.h"
#include "base/base.h"
#include <pthread.h>
#include <stdatomic.h>
#include <weft/functions.h>
#include <weft/operator.h>

typedef struct asked {
    atomic_int times, cancel_at; /* cancel_at: the question that is answered by true; 0: none */
} asked;
static bool poll(void *user)
{
    asked *a = user;
    return atomic_fetch_add(&a->times, 1) + 1 == atomic_load(&a->cancel_at);
}

static wf_context *context_of(asked *a, int threads)
{
    wf_config config = { .size = sizeof config, .threads = threads, .poll = poll, .poll_user = a };
    wf_context *ctx = wf_context_new(&config);
    assert_non_null(ctx);
    return ctx;
}

enum { N = 1 << 18, TURNS = 1 << 13 };
/* The elements after many turns of a loop. */
static wf_val slow(wf_graph *g, wf_array *from, int turns)
{
    wf_var x = wf_local(g, WF_F64, wf_in(g, from));
    wf_val i;
    WF_FOR (g, i, 0, turns, 1) {
        (void)i;
        wf_set(x, wf_sqrt(wf_add(x, 1)));
    }
    WF_END(g);
    return wf_get(x);
}

typedef enum kind { MAP, REDUCTION, SCAN, GATHER, KINDS } kind;
/* Runs work of one kind with `turns` turns. The result is kept in *out, which the caller releases. */
static wf_status run(wf_context *ctx, kind k, wf_array *from, int turns, wf_array **out)
{
    wf_graph *g = wf_begin(ctx);
    wf_val v = slow(g, from, turns);
    if (k == REDUCTION)
        v = wf_sum(v, WF_ALL_AXES);
    else if (k == SCAN)
        v = wf_scan(WF_JOIN_ADD, v, 0, false, false);
    else if (k == GATHER) /* what is not complete must not be used as an index */
        v = wf_gather(wf_in(g, from),
                      wf_cast(wf_min(wf_scan(WF_JOIN_ADD, wf_mul(v, 0), 0, false, false), N - 1), WF_I64));
    *out = wf_keep(v);
    return wf_run(g);
}

static void check_cancelled(wf_context *ctx, wf_status status)
{
    assert_int_equal(status, WF_ERR_CANCELLED);
    assert_int_equal(wf_last_status(ctx), WF_ERR_CANCELLED);
    assert_non_null(strstr(wf_last_message(ctx), "cancelled"));
    wf_clear_error(ctx);
}

static void test_cancelled_runs(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        asked a = { 0 };
        wf_context *ctx = context_of(&a, threads), *plain = test_context(0, threads);
        wf_array *from = wf_array_arange(ctx, WF_F64, N, 0, 1), *same = wf_array_arange(plain, WF_F64, N, 0, 1), *out;
        for (kind k = MAP; k < KINDS; ++k) {
            atomic_store(&a.times, 0);
            atomic_store(&a.cancel_at, 1);
            check_cancelled(ctx, run(ctx, k, from, TURNS, &out));
            assert_int_equal(atomic_load(&a.times), 1);
            wf_release(out);
            /* The context goes on, with the results of one that is never asked. */
            atomic_store(&a.cancel_at, 0);
            wf_array *expected;
            assert_int_equal(run(ctx, k, from, 2, &out), WF_OK);
            assert_int_equal(run(plain, k, same, 2, &expected), WF_OK);
            size_t bytes = (size_t)wf_array_count(out) * sizeof(double);
            void *x = malloc(bytes), *y = malloc(bytes);
            assert_int_equal(wf_download(out, x, bytes), WF_OK);
            assert_int_equal(wf_download(expected, y, bytes), WF_OK);
            assert_memory_equal(x, y, bytes);
            free(x);
            free(y);
            wf_release(out);
            wf_release(expected);
        }
        wf_release(from);
        wf_release(same);
        wf_context_free(ctx);
        wf_context_free(plain);
    }
}

static void test_kernels_and_replays(void **state)
{
    (void)state;
    asked a = { 0 };
    wf_context *ctx = context_of(&a, 2);
    wf_array *from = wf_array_arange(ctx, WF_F64, N, 0, 1), *to = wf_like(from);
    wf_graph *g = wf_begin(ctx);
    wf_array *x = wf_formal(g, "x", WF_F64, 1), *y = wf_formal(g, "y", WF_F64, 1);
    wf_val turns = wf_param(g, "turns", WF_I64, 1), i;
    wf_var v = wf_local(g, WF_F64, wf_in(g, x));
    WF_FOR (g, i, 0, turns, 1) {
        (void)i;
        wf_set(v, wf_sqrt(wf_add(v, 1)));
    }
    WF_END(g);
    wf_out(g, y, wf_get(v));
    wf_kernel *kernel = wf_compile(g);
    assert_non_null(kernel);
    for (int round = 0; round < 3; ++round) { /* the second launch is remembered by the kernel */
        atomic_store(&a.cancel_at, 0);
        assert_int_equal(wf_launch(kernel, WF_ARGS(WF_ARG("x", from), WF_ARG("y", to), WF_ARG("turns", 1))), WF_OK);
        atomic_store(&a.times, 0);
        atomic_store(&a.cancel_at, 1);
        check_cancelled(ctx, wf_launch(kernel, WF_ARGS(WF_ARG("x", from), WF_ARG("y", to), WF_ARG("turns", TURNS))));
    }
    wf_kernel_free(kernel);
    wf_release(from);
    wf_release(to);
    wf_context_free(ctx);
}

/* The order of points does not depend on `poll`: sums of floats in one element have the same bits. */
static void test_order_of_points(void **state)
{
    (void)state;
    static const wf_shape shapes[] = { { .rank = 1, .dim = { 100000 } }, { .rank = 2, .dim = { 5, 20000 } } };
    for (size_t k = 0; k < WF__COUNT(shapes); ++k) {
        float sum[2];
        for (int polls = 0; polls < 2; ++polls) {
            asked a = { 0 };
            wf_context *ctx = polls ? context_of(&a, 1) : test_context(0, 1);
            wf_array *to = wf_full(ctx, WF_F32, WF_SHAPE(1), 0);
            wf_graph *g = wf_begin(ctx, .shape = shapes[k], .device = WF_INTERP);
            wf_val x = wf_cast(wf_index(g, shapes[k].rank - 1), WF_F32);
            wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_DIRECT, to, wf_sin(wf_add(x, wf_index(g, 0))), 0);
            assert_int_equal(wf_run(g), WF_OK);
            assert_int_equal(wf_download(to, &sum[polls], sizeof *sum), WF_OK);
            wf_release(to);
            wf_context_free(ctx);
        }
        assert_memory_equal(&sum[0], &sum[1], sizeof *sum);
    }
}

static void wait_a_little(const wf_chunk *chunk, void *user)
{
    (void)chunk;
    struct timespec t = { .tv_nsec = 20 * 1000 * 1000 };
    nanosleep(&t, NULL);
    atomic_fetch_add((atomic_int *)user, 1);
}

static void test_code_of_the_host(void **state)
{
    (void)state;
    asked a = { .cancel_at = 1 };
    wf_context *ctx = context_of(&a, 2);
    wf_array *out = wf_empty(ctx, WF_U8, WF_SHAPE(1 << 24));
    atomic_int chunks = 0;
    check_cancelled(ctx, wf_host_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(out), wait_a_little, &chunks));
    int done = atomic_load(&chunks);
    atomic_store(&a.cancel_at, 0);
    atomic_store(&chunks, 0);
    wf_array *part = wf_view_slice(out, 0, 0, 100, 1);
    assert_int_equal(wf_host_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(part), wait_a_little, &chunks), WF_OK);
    assert_true(done > 0 && atomic_load(&chunks) == 1);
    wf_release(part);
    wf_release(out);
    wf_context_free(ctx);
}

/* A thread that is cancelled while another one works on. */
static void *work_on(void *user)
{
    wf_context *ctx = user;
    wf_array *from = wf_array_arange(ctx, WF_F64, N, 0, 1), *out;
    wf_status status = run(ctx, MAP, from, 64, &out);
    wf_release(from);
    wf_release(out);
    return status == WF_OK ? NULL : ctx;
}
static _Thread_local bool mine; /* set in the thread whose work is cancelled */
static bool poll_mine(void *user)
{
    (void)user;
    return mine;
}
static void test_threads_are_cancelled_alone(void **state)
{
    (void)state;
    wf_config config = { .size = sizeof config, .threads = 2, .poll = poll_mine };
    wf_context *ctx = wf_context_new(&config);
    wf_array *from = wf_array_arange(ctx, WF_F64, N, 0, 1), *out;
    pthread_t thread;
    void *failed;
    assert_int_equal(pthread_create(&thread, NULL, work_on, ctx), 0);
    mine = true;
    check_cancelled(ctx, run(ctx, MAP, from, TURNS, &out));
    mine = false;
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    wf_release(from);
    wf_release(out);
    wf_context_free(ctx);
}

/* What `progress` was told. */
typedef struct told {
    int times, cancel_at; /* cancel_at: the call that is answered by true; 0: none */
    bool cancel_end;      /* so is the one at the end */
    double last;
    bool wrong; /* a part out of range, or less than the one before it */
} told;
static bool tell(double part, void *user)
{
    told *t = user;
    t->wrong = t->wrong || part <= 0 || part > 1 || part < t->last;
    t->last = part;
    return ++t->times == t->cancel_at || (t->cancel_end && part == 1);
}
static wf_context *told_context(told *t, int threads)
{
    wf_config config = { .size = sizeof config, .threads = threads, .progress = tell, .progress_user = t };
    wf_context *ctx = wf_context_new(&config);
    assert_non_null(ctx);
    return ctx;
}

static void test_progress_cancels(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2)
        for (kind k = MAP; k < KINDS; ++k) {
            told t = { .cancel_at = 1 };
            wf_context *ctx = told_context(&t, threads);
            wf_array *from = wf_array_arange(ctx, WF_F64, N, 0, 1), *out;
            check_cancelled(ctx, run(ctx, k, from, TURNS, &out));
            assert_true(t.times == 1 && !t.wrong && t.last < 1);
            wf_release(out);
            t = (told){ 0 };
            assert_int_equal(run(ctx, k, from, 2, &out), WF_OK);
            assert_true(!t.wrong && (t.times == 0 || t.last == 1));
            wf_release(out);
            wf_release(from);
            wf_context_free(ctx);
        }
}

static void test_progress_to_the_end(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; ++threads) {
        told t = { 0 };
        wf_context *ctx = told_context(&t, threads);
        wf_array *out = wf_empty(ctx, WF_U8, WF_SHAPE(1 << 22));
        atomic_int chunks = 0;
        assert_int_equal(wf_host_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(out), wait_a_little, &chunks), WF_OK);
        assert_true(atomic_load(&chunks) >= 4 * threads);
        assert_true(t.times >= 2 && !t.wrong && t.last == 1);
        t = (told){ .cancel_end = true };
        check_cancelled(ctx, wf_host_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(out), wait_a_little, &chunks));
        assert_true(!t.wrong && t.last == 1);
        t = (told){ 0 };
        wf_array *part = wf_view_slice(out, 0, 0, 100, 1); /* little work is not told */
        assert_int_equal(wf_host_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(part), wait_a_little, &chunks), WF_OK);
        assert_int_equal(t.times, 0);
        wf_release(part);
        wf_release(out);
        wf_context_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cancelled_runs),
                                        cmocka_unit_test(test_kernels_and_replays),
                                        cmocka_unit_test(test_order_of_points),
                                        cmocka_unit_test(test_code_of_the_host),
                                        cmocka_unit_test(test_threads_are_cancelled_alone),
                                        cmocka_unit_test(test_progress_cancels),
                                        cmocka_unit_test(test_progress_to_the_end) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
