/* test_freeze.c - sequences of launches that are noted once and replayed with other arrays. */
#include "on_devices.h"
#include "side_by_side.h"

enum { N = 1024 };

static wf_array *ramp(double first) { return wf_arange(ctx, WF_F32, N, first, 1); }

static void expect(wf_array *a, double first, double step, int line)
{
    float *got = contents(a);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (!(got[i] == (float)(first + step * (double)i))) {
            print_error("line %d: element %lld is %g\n", line, (long long)i, (double)got[i]);
            fail();
        }
    free(got);
}

/* out = (in * 2 + 3) - max(in), in three launches and with an intermediate array */
static void three_launches(wf_array *in, wf_array *out)
{
    wf_array *between = wf_like(in);
    wf_graph *g = wf_begin(ctx, .name = "first");
    wf_out(g, between, wf_mul(wf_in(g, in), 2));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx, .name = "second");
    wf_val x = wf_in(g, between);
    wf_array *kept = wf_keep(wf_add(x, wf_param(g, "p", WF_F32, 3)));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx, .name = "third");
    wf_out(g, out, wf_sub(wf_in(g, kept), wf_reduce(WF_MAX, wf_in(g, in), WF_AXES(0))));
    OK(ctx, wf_run(g));
    wf_release(kept);
    wf_release(between);
}

static wf_frozen *frozen_three(wf_array *in, wf_array *out)
{
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(in, out)));
    three_launches(in, out);
    wf_frozen *f = wf_freeze_end(ctx);
    assert_non_null(f);
    return f;
}

static void test_replay(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *b = wf_like(a);
    wf_frozen *f = frozen_three(a, b);
    expect(b, 3 - (N - 1), 2, __LINE__); /* noting runs, too */
    wf_release(a);
    wf_release(b); /* inputs are not kept */
    for (int k = 0; k < 5; ++k) {
        wf_array *in = ramp(10 * k), *out = wf_like(in);
        for (int again = 0; again < 3; ++again) { /* the same arrays: the quick way */
            wf_graph *g = wf_begin(ctx);
            wf_out(g, out, 0);
            OK(ctx, wf_run(g));
            OK(ctx, wf_frozen_replay(f, WF_ARRAYS(in, out)));
            expect(out, 2 * 10 * k + 3 - (10 * k + N - 1), 2, __LINE__);
        }
        wf_release(in);
        wf_release(out);
    }
    wf_frozen_free(f);
    wf_frozen_free(NULL);
}

static void test_kernels_and_no_inputs(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx, .name = "count");
    wf_array *x = wf_formal(g, "x", WF_F32, 1);
    wf_out(g, x, wf_add(wf_in(g, x), wf_param(g, "by", WF_F32, 1)));
    wf_kernel *k = wf_compile(g);
    wf_array *a = ramp(0);
    x = a;
    OK(ctx, wf_launch(k, WF_NAMED(x))); /* there is a memo for it */
    OK(ctx, wf_freeze_begin(ctx, WF_NO_ARRAYS));
    OK(ctx, wf_launch(k, WF_NAMED(x)));
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", x), WF_ARG("by", 10))));
    wf_frozen *f = wf_freeze_end(ctx);
    OK(ctx, wf_launch(k, WF_NAMED(x))); /* not noted */
    wf_kernel_free(k);
    for (int i = 0; i < 3; ++i)
        OK(ctx, wf_frozen_replay(f, WF_NO_ARRAYS));
    expect(a, 1 + 11 + 1 + 3 * 11, 1, __LINE__);
    wf_frozen_free(f);
    wf_release(a);
}

static void test_misfits(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *b = wf_like(a), *wide = wf_full(ctx, WF_F64, WF_SHAPE(N), 0);
    wf_array *longer = wf_full(ctx, WF_F32, WF_SHAPE(N + 1), 0), *twice = wf_full(ctx, WF_F32, WF_SHAPE(2 * N), 0);
    wf_array *odd = wf_view_slice(twice, 0, 1, 2 * N, 2);
    wf_frozen *f = frozen_three(a, b);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, b, -1);
    OK(ctx, wf_run(g));
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(a)), WF_ERR_ARG, "1 inputs are given, the sequence has 2");
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(wide, b)), WF_ERR_DTYPE, "input 0 is f64, was f32");
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(a, longer)), WF_ERR_SHAPE, "input 1 is (1025), was (1024)");
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(a, NULL)), WF_ERR_ARG, "input 1 is NULL");
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(odd, b)), WF_ERR_ARG, "in launch 1 ('first') the strides");
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(a, a)), WF_ERR_ARG, "in launch 3 ('third')");
    expect(b, -1, 0, __LINE__); /* nothing ran */
    OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a, b)));
    expect(b, 3 - (N - 1), 2, __LINE__);
    wf_frozen_free(f);

    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(twice)));
    three_launches(odd, b);
    assert_null(wf_freeze_end(ctx));
    REFUSED(ctx, wf_check(ctx), WF_ERR_UNSUPPORTED, "shares memory with an input");
    assert_null(wf_freeze_end(ctx));
    REFUSED(ctx, wf_check(ctx), WF_ERR_ARG, "not freezing anything");
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
    REFUSED(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)), WF_ERR_ARG, "already");
    f = wf_freeze_end(ctx); /* of nothing */
    OK(ctx, wf_frozen_replay(f, WF_ARRAYS(b)));
    wf_frozen_free(f);
    wf_array *all[] = { a, b, wide, longer, twice, odd };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

/* Copies on write between replays, of inputs and of results. */
static void test_with_copies(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *b = wf_like(a);
    wf_frozen *f = frozen_three(a, b);
    for (int k = 0; k < 3; ++k) {
        wf_array *in = wf_copy(a), *before = wf_copy(b);
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(in, b)));
        assert_true(wf_shares(in, a) && !wf_shares(before, b));
        wf_array *out = wf_copy(b);
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a, out))); /* the copy moves */
        assert_false(wf_shares(out, b));
        expect(out, 3 - (N - 1), 2, __LINE__);
        expect(b, 3 - (N - 1), 2, __LINE__);
        wf_release(in);
        wf_release(before);
        wf_release(out);
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a, b)));
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a, b)));
        expect(b, 3 - (N - 1), 2, __LINE__);
    }
    wf_frozen_free(f);
    wf_release(a);
    wf_release(b);
}

typedef struct worker {
    wf_frozen *frozen;
    double first;
} worker;

static void *replay_many(void *user)
{
    worker *w = user;
    wf_array *in = ramp(w->first), *out = wf_like(in);
    for (int i = 0; i < 20; ++i) { /* own inputs and outputs, but the arrays between are shared: one at a time */
        OK(ctx, wf_frozen_replay(w->frozen, WF_ARRAYS(in, out)));
        expect(out, 2 * w->first + 3 - (w->first + N - 1), 2, __LINE__);
        OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(in))); /* of this thread alone */
        wf_graph *g = wf_begin(ctx);
        wf_out(g, in, wf_add(wf_in(g, in), 0));
        OK(ctx, wf_run(g));
        wf_frozen *own = wf_freeze_end(ctx);
        OK(ctx, wf_frozen_replay(own, WF_ARRAYS(out)));
        wf_frozen_free(own);
    }
    wf_release(in);
    wf_release(out);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *b = wf_like(a);
    worker w[3];
    pthread_t thread[3];
    wf_frozen *f = frozen_three(a, b);
    for (int i = 0; i < 3; ++i)
        w[i] = (worker){ f, 100.0 * i };
    start_threads(thread, 3, replay_many, w, sizeof *w);
    join_threads(thread, 3);
    wf_frozen_free(f);
    wf_release(a);
    wf_release(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay),  cmocka_unit_test(test_kernels_and_no_inputs),
        cmocka_unit_test(test_misfits), cmocka_unit_test(test_with_copies),
        cmocka_unit_test(test_threads),
    };
    return RUN_ON_ALL(tests);
}
