/* test_threads_recordings.c - every kind of recording traced, compiled and run in several threads at the same time, in
 * contexts of their own and in one: array graphs with scatters, scans, views, loops, calls and evaluations, index
 * spaces, prepared kernels, frozen sequences, streams, the history. All results are known. No stage of .ci/run runs
 * this test with the thread sanitizer; `ctest --preset tsan -R test_threads_recordings` does.
 */
#include "side_by_side.h"
#include "weft/functions.h"
#include "weft/traced.h"

enum { N = 300, THREADS = 3, ROUNDS = 4 };

typedef struct worker {
    wf_context *ctx; /* NULL: one of its own */
    int32_t k;       /* makes its kernels and numbers others than its neighbours' */
} worker;

/* Element i is first + step * i. Releases the array. */
static void expect(wf_array *a, int64_t first, int64_t step, const char *what)
{
    wf_array *wide = a ? wf_array_cast(a, WF_I64) : NULL;
    int64_t x[N], n = wide ? wf_array_count(wide) : 0;
    bool ok = n > 0 && n <= N && wf_download(wide, x, (size_t)n * sizeof *x) == WF_OK;
    for (int64_t i = 0; ok && i < n; ++i)
        ok = x[i] == first + step * i;
    must(ok, what);
    wf_release(wide);
    wf_release(a);
}

static void run(wf_graph *g) { must(wf_run(g) == WF_OK, "a recording failed"); }

static wf_array *ramp(const worker *w) { return wf_array_arange(w->ctx, WF_I32, N, w->k, 1); }

static void scatter(const worker *w)
{
    wf_array *a = ramp(w), *b = wf_full(w->ctx, WF_I32, WF_SHAPE(N), 5);
    wf_graph *g = wf_begin(w->ctx);
    wf_val i = wf_iota(g, WF_SHAPE(N), 0);
    wf_write(g, b, wf_mul(wf_in(g, a), w->k + 2), wf_sub(N - 1, i));
    wf_accumulate(g, WF_JOIN_ADD, b, 1, wf_idiv(wf_iota(g, WF_SHAPE(2 * N), 0), 2));
    wf_array *sum = wf_keep(wf_sum(wf_in(g, b), WF_ALL_AXES));
    run(g);
    expect(sum, (int64_t)(w->k + 2) * (N * w->k + N * (N - 1) / 2) + 2 * N, 0, "a sum of what was scattered");
    expect(b, (w->k + 2) * (w->k + N - 1) + 2, -(w->k + 2), "a scatter");
    wf_release(a);
}

static void scan_and_views(const worker *w)
{
    wf_array *a = wf_full(w->ctx, WF_I32, WF_SHAPE(N), w->k + 1);
    wf_graph *g = wf_begin(w->ctx);
    wf_val v = wf_mul(wf_in(g, a), 3), s = wf_scan(WF_JOIN_ADD, v, 0, false, false);
    wf_array *back = wf_keep(wf_reverse(wf_slice(s, 0, 10, WF_END_INDEX, 1), 0));
    wf_array *chosen = wf_compress(s, wf_gt(wf_iota(g, WF_SHAPE(N), 0), N - 11));
    wf_array *blocks = wf_keep(wf_block_reduce(WF_JOIN_MAX, s, 10));
    run(g);
    int64_t step = 3 * (w->k + 1);
    expect(back, N * step, -step, "a reversed scan");
    expect(chosen, (N - 9) * step, step, "what a mask keeps");
    expect(blocks, 10 * step, 10 * step, "a block reduction");
    wf_release(a);
}

static void twice(const wf_site *s) { wf_set(s->out[0], wf_mul(s->in[0], 2)); }
static void thrice(const wf_site *s) { wf_set(s->out[0], wf_add(s->in[0], wf_mul(s->in[0], 2))); }

static void loop_and_calls(const worker *w)
{
    wf_array *a = ramp(w);
    wf_graph *g = wf_begin(w->ctx);
    wf_var x = wf_local(g, WF_I32, wf_in(g, a)), y = wf_local(g, WF_I32, 0);
    wf_val k;
    WF_FOR (g, k, 0, wf_param(g, "turns", WF_I32, w->k + 2), 1)
        wf_inc(x, 1);
    WF_END(g);
    wf_switch(g, wf_and(wf_gt(x, -1), true), WF_FUNCTIONS({ twice, NULL }, { thrice, NULL }), WF_VALS(x), WF_VARS(y));
    wf_array *out = wf_keep(y);
    run(g);
    expect(out, 3 * (2 * w->k + 2), 3, "a loop and a call");
    wf_release(a);
}

static void evaluations(const worker *w)
{
    wf_array *a = ramp(w);
    wf_graph *g = wf_begin(w->ctx);
    wf_val v = wf_in(g, a);
    for (int step = 0; step < 3; ++step) {
        v = wf_add(v, wf_sub(wf_gather_or(v, w->k - 1, wf_sub(wf_iota(g, WF_SHAPE(N), 0), 1)), v));
        v = wf_add(v, 1);
        wf_release(wf_keep(v));
        must(wf_eval(g) == WF_OK, "an evaluation failed");
    }
    wf_array *out = wf_keep(v);
    run(g);
    expect(out, w->k, 1, "evaluations");
    wf_release(a);
}

static void space(const worker *w)
{
    wf_array *a = ramp(w), *b = wf_empty(w->ctx, WF_I32, WF_SHAPE(N)), *sum = wf_empty(w->ctx, WF_I64, WF_SCALAR);
    wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(N));
    wf_val i = wf_index(g, 0);
    wf_write(g, b, wf_sub(wf_read_border(g, a, WF_BORDER_CLAMP, 0, wf_add(i, w->k)), wf_read(g, a, i)), i);
    run(g);
    g = wf_begin(w->ctx, .shape = WF_SHAPE(N), .reduce = WF_ALL_AXES);
    wf_var s = wf_reduced(g, WF_I64, 0, WF_JOIN_ADD);
    wf_inc(s, wf_in(g, b));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, sum, s);
    run(g);
    expect(sum, (int64_t)w->k * N - (int64_t)w->k * (w->k + 1) / 2, 0, "a stencil and its sum");
    wf_release(a), wf_release(b);
}

static void random_numbers(const worker *w)
{
    wf_array *a = wf_empty(w->ctx, WF_U32, WF_SHAPE(N)), *b = wf_like(a);
    must(wf_array_random_bits(a, (wf_random){ .seed = (uint64_t)w->k }) == WF_OK, "no random numbers");
    must(wf_array_random_bits(b, (wf_random){ .seed = (uint64_t)w->k }) == WF_OK, "no random numbers");
    wf_graph *g = wf_begin(w->ctx);
    wf_pcg32 one = wf_pcg32_seed(g, w->k, wf_iota(g, WF_SHAPE(N), 0)), other = wf_pcg32_advance(one, 2);
    wf_pcg32_u32(&one);
    wf_pcg32_u32(&one);
    wf_val same = wf_and(wf_eq(wf_pcg32_u32(&one), wf_pcg32_u32(&other)), wf_eq(wf_in(g, a), wf_in(g, b)));
    wf_array *out = wf_keep(same);
    run(g);
    expect(out, 1, 0, "random numbers");
    wf_release(a), wf_release(b);
}

static wf_kernel *prepared(const worker *w)
{
    wf_graph *g = wf_begin(w->ctx, .name = "prepared");
    wf_array *x = wf_formal(g, "x", WF_I32, 1), *y = wf_formal(g, "y", WF_I32, 1);
    wf_out(g, y, wf_add(wf_mul(wf_in(g, x), wf_param(g, "gain", WF_I32, 1)), w->k));
    wf_kernel *k = wf_compile(g);
    must(k != NULL, "no kernel");
    return k;
}

static void launches_in_streams(const worker *w)
{
    wf_kernel *k = prepared(w);
    wf_stream *stream = wf_stream_new(w->ctx, 0), *other = wf_stream_new(w->ctx, 0);
    wf_array *x = ramp(w), *y = wf_like(x), *z = wf_like(x);
    must(wf_launch(k, WF_ARGS(WF_ARG("x", x), WF_ARG("y", y), WF_ARG("gain", 3)), .stream = stream) == WF_OK, "launch");
    wf_event *event = wf_event_record(stream);
    must(wf_stream_wait(other, event) == WF_OK, "no wait");
    must(wf_launch(k, WF_ARGS(WF_ARG("x", y), WF_ARG("y", z)), .stream = other) == WF_OK, "launch");
    wf_event_free(event);
    wf_release(x), wf_release(y);
    must(wf_stream_sync(other) == WF_OK, "no sync");
    expect(z, 3 * w->k + 2 * w->k, 3, "launches in streams");
    wf_stream_free(stream), wf_stream_free(other);
    wf_kernel_free(k);
}

static void frozen(const worker *w)
{
    wf_array *x = ramp(w), *y = wf_like(x), *copy = wf_copy(x), *z = wf_like(x);
    must(wf_freeze_begin(w->ctx, WF_ARRAYS(x, y)) == WF_OK, "no freezing");
    wf_graph *g = wf_begin(w->ctx);
    wf_array *between = wf_keep(wf_scan(WF_JOIN_MAX, wf_mul(wf_in(g, x), 2), 0, false, false));
    run(g);
    g = wf_begin(w->ctx);
    wf_out(g, y, wf_add(wf_in(g, between), w->k));
    run(g);
    wf_release(between);
    wf_frozen *f = wf_freeze_end(w->ctx);
    must(f != NULL, "nothing is frozen");
    must(wf_array_fill(x, 0) == WF_OK, "no fill");
    for (int i = 0; f && i < 3; ++i)
        must(wf_frozen_replay(f, WF_ARRAYS(copy, z)) == WF_OK, "no replay");
    wf_frozen_free(f);
    expect(y, 3 * w->k, 2, "what was frozen");
    expect(z, 3 * w->k, 2, "a replay");
    wf_release(x), wf_release(copy);
}

static void mistakes(const worker *w)
{
    wf_array *a = ramp(w);
    wf_graph *g = wf_begin(w->ctx);
    wf_out(g, a, wf_iota(g, WF_SHAPE(3, 2), 0));
    must(wf_run(g) == WF_ERR_SHAPE && wf_last_status(w->ctx) == WF_ERR_SHAPE, "a mistake is not found");
    wf_clear_error(w->ctx);
    expect(a, w->k, 1, "what a mistake left");
}

static void history(const worker *w)
{
    wf_kernel_info info[8] = { { .size = sizeof *info } };
    size_t n = wf_history(w->ctx, info, 8);
    for (size_t i = 0; i < n; ++i)
        must(info[i].stages > 0 && info[i].stage < info[i].stages, "a strange note");
}

static void *do_all(void *user)
{
    static void (*const kind[])(
        const worker *) = { scatter, scan_and_views, loop_and_calls, evaluations, space, launches_in_streams,
                            frozen,  mistakes,       random_numbers, history };
    enum { KINDS = sizeof kind / sizeof *kind };
    worker w = *(worker *)user;
    wf_config config = { .size = sizeof config, .threads = 2, .flags_on = WF_FLAG_NO_DISK_CACHE | WF_FLAG_HISTORY };
    bool own = !w.ctx;
    if (own)
        w.ctx = wf_context_new(&config);
    for (int round = 0; w.ctx && round < ROUNDS; ++round)
        for (int i = 0; i < KINDS; ++i)
            kind[(i + 3 * w.k) % KINDS](&w);
    must(w.ctx && wf_last_status(w.ctx) == WF_OK, w.ctx ? wf_last_message(w.ctx) : "no context");
    if (own)
        wf_context_free(w.ctx);
    return NULL;
}

static void all_at_once(wf_context *ctx)
{
    worker w[THREADS];
    for (int i = 0; i < THREADS; ++i)
        w[i] = (worker){ ctx, i + 1 };
    run_at_once(THREADS, do_all, w, sizeof *w);
}

/* Private copies belong to a launch, not to a thread of the program: each launch has the whole pool or none of it. */
static void *accumulate_often(void *arg)
{
    enum { POINTS = 100000 };
    const worker *w = arg;
    for (int round = 0; round < 6; ++round) {
        int64_t bins = (round % 2 ? 5000 : 7) + w->k;
        wf_array *sums = wf_full(w->ctx, WF_F64, WF_SHAPE(bins), 1);
        wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(POINTS), .serial_below = 1);
        wf_val i = wf_index(g, 0);
        wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, sums, wf_and(i, 15),
                           wf_mod(wf_mul(i, 7919 + 2 * w->k), (double)bins));
        run(g);
        double *want = malloc((size_t)bins * sizeof *want), *got = malloc((size_t)bins * sizeof *got);
        must(want && got && wf_download(sums, got, (size_t)bins * sizeof *got) == WF_OK, "sums are to be had");
        for (int64_t k = 0; k < bins; ++k)
            want[k] = 1;
        for (int64_t k = 0; k < POINTS; ++k)
            want[k * (7919 + 2 * w->k) % bins] += (double)(k & 15);
        must(!memcmp(got, want, (size_t)bins * sizeof *got), "sums in private copies");
        free(want), free(got);
        wf_release(sums);
    }
    return NULL;
}

static void test_private_copies(void **state)
{
    (void)state;
    wf_context *ctx = test_context(WF_CPU, 2);
    worker w[THREADS];
    for (int i = 0; i < THREADS; ++i)
        w[i] = (worker){ ctx, i + 1 };
    run_at_once(THREADS, accumulate_often, w, sizeof *w);
    wf_context_free(ctx);
}

static void test_own_contexts(void **state)
{
    (void)state;
    all_at_once(NULL);
}

static void test_one_context(void **state)
{
    (void)state;
    for (int interpreted = 0; interpreted < 2; ++interpreted) {
        wf_context *ctx = test_context(interpreted ? WF_INTERP : WF_CPU, 2);
        wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
        all_at_once(ctx);
        wf_context_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_own_contexts), cmocka_unit_test(test_one_context),
                                        cmocka_unit_test(test_private_copies) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
