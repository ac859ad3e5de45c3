/* test_streams.c - queued work: order, lifetime, waiting, failures, events, the current stream of a thread. A test
 * stops a stream by queued work that waits.
 *
 * ctest: devices driver threads
 */
#include "launch/launch.h" /* before on_devices.h: its `ctx` is a global */
#include "on_devices.h"
#include "side_by_side.h"
#include <unistd.h>

/* ---- a gate: work that ends when it is opened ---- */
typedef struct gate {
    wf__work work;
    atomic_bool is_open, reached;
} gate;

static void wait_at(wf__work *work, bool dropped)
{
    gate *gt = (gate *)work;
    (void)dropped;
    atomic_store(&gt->reached, true);
    while (!atomic_load(&gt->is_open))
        wf__yield();
}

static void hold_up(gate *gt, wf_stream *stream)
{
    *gt = (gate){ .work.run = wait_at };
    OK(ctx, wf__stream_put(stream ? stream : wf_get_stream(ctx, 0), &gt->work, "hold_up"));
}

static void open_gate(gate *gt) { atomic_store(&gt->is_open, true); }

static void *open_later(void *user)
{
    usleep(20000);
    open_gate(user);
    return NULL;
}

static wf_stream *new_stream(void)
{
    wf_stream *s = wf_stream_new(ctx, 0);
    assert_non_null(s);
    return s;
}

/* a = a * by + add */
static void change(wf_stream *stream, wf_array *a, double by, double add)
{
    wf_graph *g = wf_begin(ctx, .stream = stream);
    wf_out(g, a, wf_add(wf_mul(wf_in(g, a), by), add));
    OK(ctx, wf_run(g));
}

static wf_array *ones(int64_t n) { return wf_full(ctx, WF_F32, WF_SHAPE(n), 1); }

/* Fails in debug mode, which writes out of range. */
static wf_graph *faulty(wf_stream *stream, wf_array *a)
{
    wf_graph *g = wf_begin(ctx, .stream = stream, .shape = WF_SHAPE(3), .flags_on = WF_FLAG_DEBUG, .name = "culprit");
    wf_write(g, a, 9, wf_add(wf_index(g, 0), 1000));
    return g;
}

/* ---- order and life ---- */
static void test_order(void **state)
{
    (void)state;
    gate gt;
    wf_stream *s = new_stream();
    wf_array *a = ones(5);
    hold_up(&gt, s);
    float want = 1;
    for (int i = 0; i < 12; ++i) {
        change(s, a, i % 3, i);
        want = want * (float)(i % 3) + (float)i;
    }
    assert_int_equal(wf_array_state(a), WF_STATE_READY);
    open_gate(&gt);
    EXPECT_F32(a, want, want, want, want, want); /* the download waits */
    wf_release(a);
    wf_stream_free(s);
}

static wf_kernel *scale_kernel(void)
{
    wf_graph *g = wf_begin(ctx, .name = "scale");
    wf_array *x = wf_formal(g, "x", WF_F32, 1), *y = wf_formal(g, "y", WF_F32, 1);
    wf_out(g, y, wf_mul(wf_in(g, x), wf_param(g, "by", WF_F32, 1)));
    return wf_compile(g);
}

static void test_everything_released_at_once(void **state)
{
    (void)state;
    gate gt;
    wf_stream *s = new_stream();
    wf_array *total = wf_full(ctx, WF_F64, WF_SHAPE(1), 0);
    hold_up(&gt, s);
    for (int i = 0; i < 20; ++i) {
        wf_kernel *k = scale_kernel();
        wf_array *x = ones(100 + i), *y = wf_like(x), *tail = wf_view_slice(y, 0, 50, WF_END_INDEX, 1);
        wf_array *each[20];
        for (int j = 0; j < 20; ++j) /* more arrays than fit into a fixed array on a stack */
            each[j] = ones(3);
        OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", x), WF_ARG("y", y), WF_ARG("by", i)), .stream = s));
        wf_kernel_free(k);
        wf_graph *g = wf_begin(ctx, .stream = s);
        wf_val sum = wf_sum(wf_cast(wf_in(g, tail), WF_F64), WF_ALL_AXES);
        for (int j = 0; j < 20; ++j)
            sum = wf_add(sum, wf_sum(wf_in(g, each[j]), WF_ALL_AXES));
        wf_out(g, total, wf_add(wf_in(g, total), sum));
        wf_array *unused = wf_keep(wf_mul(wf_in(g, tail), 2));
        OK(ctx, wf_run(g));
        wf_release(unused);
        for (int j = 0; j < 20; ++j)
            wf_release(each[j]);
        wf_release(x);
        wf_release(y);
        wf_release(tail);
    }
    open_gate(&gt);
    OK(ctx, wf_stream_sync(s));
    double want = 0, got = -1;
    for (int i = 0; i < 20; ++i)
        want += i * (50 + i) + 60;
    OK(ctx, wf_download(total, &got, sizeof got));
    assert_true(got == want);
    wf_release(total);
    wf_stream_free(s);
}

static void test_free_waits(void **state)
{
    (void)state;
    gate gt;
    wf__thread opener;
    wf_stream *s = new_stream();
    wf_array *a = ones(4);
    OK(ctx, wf_set_stream(ctx, 0, s));
    hold_up(&gt, s);
    change(s, a, 2, 0);
    assert_true(wf__thread_start(&opener, open_later, &gt));
    wf_stream_free(s);
    assert_null(wf_get_stream(ctx, 0)); /* no stream is current any more */
    change(NULL, a, 1, 1);
    EXPECT_F32(a, 3, 3, 3, 3);
    wf__thread_join(opener);
    wf_release(a);
    wf_stream_free(NULL);

    wf_context *own = test_context(0, 2); /* a context waits, too */
    s = wf_stream_new(own, 0);
    a = wf_full(own, WF_F32, WF_SHAPE(1000000), 1);
    for (int i = 0; i < 5; ++i) {
        wf_graph *g = wf_begin(own, .stream = s);
        wf_out(g, a, wf_add(wf_in(g, a), 1));
        OK(own, wf_run(g));
    }
    wf_release(a);
    wf_context_free(own);
    wf_stream_free(s);
}

/* ---- kept arrays and host access ---- */
static void test_kept(void **state)
{
    (void)state;
    gate gt;
    wf_stream *s = new_stream();
    wf_array *a = ones(6);
    hold_up(&gt, s);
    wf_graph *g = wf_begin(ctx, .stream = s);
    wf_array *kept = wf_keep(wf_add(wf_in(g, a), 1));
    OK(ctx, wf_run(g));
    wf_array *view = wf_view_slice(kept, 0, 2, 4, 1);
    assert_non_null(view);
    assert_int_equal(wf_array_state(kept), WF_STATE_LAZY);
    assert_int_equal(wf_array_state(view), WF_STATE_LAZY);
    g = wf_begin(ctx, .stream = s);
    wf_array *next = wf_keep(wf_mul(wf_in(g, view), 10));
    OK(ctx, wf_run(g));
    assert_int_equal(wf_array_state(next), WF_STATE_LAZY);
    open_gate(&gt);
    OK(ctx, wf_stream_sync(s));
    assert_int_equal(wf_array_state(kept), WF_STATE_READY);
    assert_int_equal(wf_array_state(view), WF_STATE_READY);
    assert_int_equal(wf_array_state(next), WF_STATE_READY);
    EXPECT_F32(kept, 2, 2, 2, 2, 2, 2);
    EXPECT_F32(next, 20, 20);
    wf_release(a);
    wf_release(kept);
    wf_release(view);
    wf_release(next);
    wf_stream_free(s);
}

/* Graphs that stay open; and a kept array that is wanted while its graph is open. */
static void test_evaluation(void **state)
{
    (void)state;
    gate gt;
    wf_stream *s = new_stream();
    wf_array *a = ones(4);
    hold_up(&gt, s);
    wf_graph *g = wf_begin(ctx, .stream = s);
    wf_val x = wf_mul(wf_in(g, a), 3), sum = wf_sum(x, WF_ALL_AXES);
    wf_array *kept = wf_keep(x);
    wf_out(g, a, sum);
    OK(ctx, wf_eval(g));
    assert_int_equal(wf_array_state(kept), WF_STATE_LAZY);
    wf_array *next = wf_keep(wf_add(x, wf_add(sum, wf_in(g, a))));
    wf__thread opener;
    assert_true(wf__thread_start(&opener, open_later, &gt));
    EXPECT_F32(next, 27, 27, 27, 27); /* evaluates, and waits */
    EXPECT_F32(kept, 3, 3, 3, 3);
    OK(ctx, wf_run(g));
    wf__thread_join(opener);
    wf_release(a);
    wf_release(kept);
    wf_release(next);
    wf_stream_free(s);
}

static void add_one(const wf_chunk *c, void *user)
{
    (void)user;
    for (int64_t i = 0; i < c->n; ++i)
        ((float *)c->out[0])[i] = ((const float *)c->in[0])[i] + 1;
}

/* Every access to memory by the host waits for the work queued on it, and for nothing else. */
static void test_host_access_waits(void **state)
{
    (void)state;
    for (int way = 0; way < 5; ++way) {
        if (is_on_gpu() && (way == 0 || way == 2)) /* which refuse */
            continue;
        gate gt;
        wf__thread opener;
        wf_stream *s = new_stream();
        wf_array *a = ones(3), *b = wf_full(ctx, WF_F32, WF_SHAPE(3), 7), *other = ones(3);
        hold_up(&gt, s);
        change(s, a, 2, 3); /* 5 */
        EXPECT_F32(other, 1, 1, 1);
        change(NULL, other, 1, 1);
        EXPECT_F32(other, 2, 2, 2);
        assert_false(atomic_load(&gt.is_open));
        assert_true(wf__thread_start(&opener, open_later, &gt));
        void *data = NULL;
        if (way == 0) {
            OK(ctx, wf_map(a, &data, NULL));
            assert_true(*(float *)data == 5);
        } else if (way == 1) {
            OK(ctx, wf_upload(a, (float[]){ 5, 5, 5 }, 12)); /* not overwritten later */
        } else if (way == 2) {
            OK(ctx, wf_host_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(b), add_one, NULL));
            EXPECT_F32(b, 6, 6, 6);
        } else if (way == 3) { /* a launch without a stream */
            change(NULL, a, 2, 0);
            EXPECT_F32(a, 10, 10, 10);
            change(NULL, a, 0, 5);
        } else {
            wf_kernel *k = scale_kernel();
            OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", a), WF_ARG("y", b), WF_ARG("by", 2))));
            EXPECT_F32(b, 10, 10, 10);
            wf_kernel_free(k);
        }
        assert_true(atomic_load(&gt.is_open));
        OK(ctx, wf_stream_sync(s));
        EXPECT_F32(a, 5, 5, 5);
        wf__thread_join(opener);
        wf_release(a);
        wf_release(b);
        wf_release(other);
        wf_stream_free(s);
    }
}

/* A replay waits likewise: for its inputs, those of the last replay, and other arrays that its launches write. */
static void test_replay_waits(void **state)
{
    (void)state;
    for (int way = 0; way < 3; ++way) {
        gate gt;
        wf__thread opener;
        wf_stream *s = new_stream();
        wf_array *a = ones(3), *b = ones(3), *other = ones(3);
        OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
        wf_graph *g = wf_begin(ctx);
        wf_out(g, b, wf_mul(wf_in(g, a), 2));
        OK(ctx, wf_run(g));
        wf_frozen *f = wf_freeze_end(ctx);
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a)));
        wf_array *busy[] = { a, b, other }, *in[] = { a, a, other };
        hold_up(&gt, s);
        change(s, busy[way], 0, 4);
        assert_true(wf__thread_start(&opener, open_later, &gt));
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(in[way])));
        assert_true(atomic_load(&gt.is_open));
        OK(ctx, wf_stream_sync(s));
        float want = way == 1 ? 2 : 8;
        EXPECT_F32(b, want, want, want);
        wf__thread_join(opener);
        wf_frozen_free(f);
        wf_release(a), wf_release(b), wf_release(other);
        wf_stream_free(s);
    }
}

/* ---- failures ---- */
static void test_failure(void **state)
{
    (void)state;
    enum { SYNC, SYNC_ALL, RUN, LAUNCH, EVENT, WAIT, WAYS };
    wf_stream *s = new_stream();
    wf_kernel *k = scale_kernel();
    for (int way = 0; way < WAYS; ++way) {
        gate gt, behind;
        wf_array *a = ones(4), *b = ones(4), *c = ones(4), *d = ones(4);
        change(s, a, 1, 1);
        wf_event *e = wf_event_record(s);
        hold_up(&gt, s);
        OK(ctx, wf_run(faulty(s, a)));
        change(s, b, 1, 1); /* dropped, as the following work */
        wf_graph *g = wf_begin(ctx, .stream = s);
        wf_array *kept = wf_keep(wf_add(wf_in(g, b), 1));
        OK(ctx, wf_run(g));
        wf_event *after = wf_event_record(s);
        hold_up(&behind, s);
        change(s, c, 1, 1);
        open_gate(&gt);
        OK(ctx, wf_event_sync(after)); /* reached although there was nothing to do */
        if (way == SYNC || way == SYNC_ALL)
            open_gate(&behind);
        g = wf_begin(ctx, .stream = s);
        wf_out(g, d, 5);
        wf_status status = way == SYNC       ? wf_stream_sync(s)
                           : way == SYNC_ALL ? wf_sync(ctx)
                           : way == RUN      ? wf_run(g)
                           : way == LAUNCH   ? wf_launch(k, WF_ARGS(WF_ARG("x", d), WF_ARG("y", d)), .stream = s)
                           : way == EVENT    ? (wf_event_record(s) ? WF_OK : wf_last_status(ctx))
                                             : wf_stream_wait(s, e);
        REFUSED(ctx, status, WF_ERR_BOUNDS, " [in culprit begun at ");
        if (way != RUN)
            wf_drop(g);
        change(s, d, 1, 6); /* writes the array anew, while work to be dropped still waits */
        open_gate(&behind);
        OK(ctx, wf_stream_sync(s));
        OK(ctx, wf_sync(ctx));
        EXPECT_F32(d, 7, 7, 7, 7);
        assert_int_equal(wf_array_state(kept), WF_STATE_LAZY);
        float got[4];
        REFUSED(ctx, wf_download(kept, got, sizeof got), WF_ERR_ARG, "never computed");
        wf_array *lost[] = { a, b, c };
        for (int i = 0; i < 3; ++i) {
            REFUSED(ctx, wf_download(lost[i], got, sizeof got), WF_ERR_ARG, "failed or was dropped");
            EXPECT_F32(lost[i], i ? 1 : 2, i ? 1 : 2, i ? 1 : 2, i ? 1 : 2); /* reported once, unchanged */
        }
        g = wf_begin(ctx);
        wf_in(g, kept);
        REFUSED(ctx, wf_run(g), WF_ERR_ARG, "never computed");
        OK(ctx, wf_upload(kept, (float[]){ 1, 2, 3, 4 }, 16));
        EXPECT_F32(kept, 1, 2, 3, 4);
        wf_event_free(e);
        wf_event_free(after);
        wf_array *all[] = { a, b, c, d, kept };
        for (int i = 0; i < 5; ++i)
            wf_release(all[i]);
    }
    wf_kernel_free(k);
    wf_stream_free(s);
}

/* An array that is written anew is valid again. */
static void test_valid_after_new_write(void **state)
{
    (void)state;
    wf_stream *s = new_stream();
    for (int way = 0; way < 3; ++way) {
        wf_array *a = ones(2);
        OK(ctx, wf_run(faulty(s, a)));
        REFUSED(ctx, wf_stream_sync(s), WF_ERR_BOUNDS, "culprit");
        if (way == 0)
            OK(ctx, wf_upload(a, (float[]){ 4, 4 }, 8));
        else
            change(way == 1 ? s : NULL, a, 0, 4);
        EXPECT_F32(a, 4, 4);
        wf_release(a);
    }
    wf_stream_free(s);
}

/* A view of an array that was never computed cannot be read, either; if the array has no name, the message has the
 * place of the recording. */
static void test_views_of_what_failed(void **state)
{
    (void)state;
    gate gt;
    wf_stream *s = new_stream();
    wf_array *table = ones(4);
    hold_up(&gt, s);
    wf_graph *g = wf_begin(ctx, .stream = s, .flags_on = WF_FLAG_DEBUG);
    wf_array *kept = wf_keep(wf_read(g, table, wf_add(wf_iota(g, WF_SHAPE(4), 0), 77)));
    OK(ctx, wf_run(g));
    wf_array *view = wf_view_slice(kept, 0, 1, 3, 1), *out = ones(2);
    wf_kernel *k = scale_kernel();
    open_gate(&gt);
    REFUSED(ctx, wf_stream_sync(s), WF_ERR_BOUNDS, "test_streams.c:");
    assert_int_equal(wf_array_state(view), WF_STATE_LAZY);
    float got[2];
    REFUSED(ctx, wf_download(view, got, sizeof got), WF_ERR_ARG, "never computed");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", view), WF_ARG("y", out))), WF_ERR_ARG, "never computed");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", view), WF_ARG("y", out)), .stream = s), WF_ERR_ARG, "never computed");
    EXPECT_F32(out, 1, 1);
    wf_kernel_free(k);
    wf_array *all[] = { table, kept, view, out };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
    wf_stream_free(s);
}

/* A temporary larger than any memory: the thread of the stream finds it. */
static void test_out_of_memory(void **state)
{
    (void)state;
    wf_stream *s = new_stream();
    wf_array *one = ones(1), *vast = wf_view_broadcast(one, WF_SHAPE((int64_t)1 << 46, 2));
    wf_graph *g = wf_begin(ctx, .stream = s, .name = "vast");
    wf_val rows = wf_sum(wf_in(g, vast), WF_AXES(1));
    wf_array *sum = wf_keep(wf_sum(wf_add(rows, wf_sum(rows, WF_ALL_AXES)), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    REFUSED(ctx, wf_stream_sync(s), WF_ERR_MEMORY, " [in vast begun at ");
    assert_int_equal(wf_array_state(sum), WF_STATE_LAZY);
    change(s, one, 3, 0);
    EXPECT_F32(one, 3);
    wf_release(sum);
    wf_release(vast);
    wf_release(one);
    wf_stream_free(s);
}

/* ---- events and several streams ---- */
static void test_events(void **state)
{
    (void)state;
    gate gt;
    wf_stream *s = new_stream(), *t = new_stream();
    wf_array *a = ones(3), *b = wf_like(a);
    wf_event *begin = wf_event_record(s);
    hold_up(&gt, s);
    change(s, a, 0, 42);
    wf_event *done = wf_event_record(s);
    assert_non_null(done);
    OK(ctx, wf_stream_wait(t, done));
    wf_graph *g = wf_begin(ctx, .stream = t);
    wf_out(g, b, wf_in(g, a));
    OK(ctx, wf_run(g));
    wf_event *end = wf_event_record(t);
    wf_event_free(done); /* waiting streams keep it */
    while (!atomic_load(&gt.reached))
        wf__yield();
    usleep(20000);
    open_gate(&gt);
    double seconds = -1;
    OK(ctx, wf_event_elapsed(begin, end, &seconds));
    assert_true(seconds > 0.019 && seconds < 60);
    OK(ctx, wf_event_elapsed(end, begin, &seconds));
    assert_true(seconds < -0.019);
    OK(ctx, wf_event_elapsed(end, end, &seconds));
    assert_true(seconds == 0);
    EXPECT_F32(b, 42, 42, 42);
    wf_stream_free(s);
    OK(ctx, wf_stream_wait(t, begin)); /* of a freed stream */
    OK(ctx, wf_stream_sync(t));
    wf_event_free(begin);
    wf_event_free(end);
    wf_event_free(NULL);
    wf_release(a);
    wf_release(b);
    wf_stream_free(t);
}

/* Large work in several streams and in this thread at once: the threads of the context are shared. */
static void test_streams_at_once(void **state)
{
    (void)state;
    enum { STREAMS = 3, ROUNDS = 6, N = 400000 };
    wf_stream *s[STREAMS];
    wf_array *a[STREAMS + 1];
    for (int i = 0; i <= STREAMS; ++i)
        a[i] = wf_full(ctx, WF_F32, WF_SHAPE(N), i);
    for (int i = 0; i < STREAMS; ++i)
        s[i] = new_stream();
    for (int r = 0; r < ROUNDS; ++r)
        for (int i = 0; i <= STREAMS; ++i)
            change(i < STREAMS ? s[i] : NULL, a[i], 2, 1);
    for (int i = 0; i <= STREAMS; ++i) {
        float want = (float)i, *got = contents(a[i]);
        for (int r = 0; r < ROUNDS; ++r)
            want = want * 2 + 1;
        for (int k = 0; k < N; ++k)
            assert_true(got[k] == want);
        free(got);
        wf_release(a[i]);
    }
    OK(ctx, wf_sync(ctx));
    for (int i = 0; i < STREAMS; ++i)
        wf_stream_free(s[i]);
}

/* ---- threads ---- */
typedef struct sharer {
    wf_stream *stream;
    wf_array *shared, *own;
} sharer;

static void *share_stream(void *user)
{
    sharer *h = user;
    for (int i = 0; i < 60; ++i)
        for (int which = 0; which < 2; ++which) {
            wf_array *a = which ? h->shared : h->own;
            wf_graph *g = wf_begin(ctx, .stream = h->stream);
            wf_out(g, a, wf_add(wf_in(g, a), 1));
            must(wf_run(g) == WF_OK, "a recording failed");
            wf_event *e = i % 20 ? NULL : wf_event_record(h->stream);
            must(!e || wf_event_sync(e) == WF_OK, "no wait for an event");
            wf_event_free(e);
        }
    must(wf_stream_sync(h->stream) == WF_OK, "no wait for the stream");
    return NULL;
}

static void test_shared_stream(void **state)
{
    (void)state;
    sharer h[2];
    wf_stream *s = new_stream();
    wf_array *shared = ones(2);
    for (int i = 0; i < 2; ++i)
        h[i] = (sharer){ s, shared, ones(2) };
    run_at_once(2, share_stream, h, sizeof *h);
    for (int i = 0; i < 2; ++i) {
        EXPECT_F32(h[i].own, 61, 61);
        wf_release(h[i].own);
    }
    EXPECT_F32(shared, 121, 121);
    wf_release(shared);
    wf_stream_free(s);
}

static void *without_stream(void *user)
{
    wf_array *a = user;
    must(wf_get_stream(ctx, 0) == NULL, "another thread's stream");
    wf_graph *g = wf_begin(ctx);
    wf_array *kept = wf_keep(wf_add(wf_in(g, a), 1));
    must(wf_run(g) == WF_OK, "a recording failed");
    must(wf_array_state(kept) == WF_STATE_READY, "a launch was queued");
    wf_release(kept);
    return NULL;
}

static void test_current_stream(void **state)
{
    (void)state;
    gate gt;
    wf_stream *s = new_stream(), *t = new_stream();
    wf_array *a = ones(2);
    assert_null(wf_get_stream(ctx, 0));
    OK(ctx, wf_set_stream(ctx, 0, s));
    assert_ptr_equal(wf_get_stream(ctx, 0), s);
    hold_up(&gt, NULL);
    wf_graph *g = wf_begin(ctx);
    wf_array *kept = wf_keep(wf_add(wf_in(g, a), 1));
    OK(ctx, wf_run(g));
    assert_int_equal(wf_array_state(kept), WF_STATE_LAZY);
    wf_kernel *k = scale_kernel();
    wf_array *y = ones(2);
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", kept), WF_ARG("y", y), WF_ARG("by", 4))));
    wf_array *lazy = wf_full(ctx, WF_F32, WF_SHAPE(3), 8); /* whatever records */
    wf_array *b = NULL;
    OK(ctx, wf_set_stream(ctx, 0, t)); /* the other one is free */
    b = ones(2);
    change(NULL, b, 1, 1);
    EXPECT_F32(b, 2, 2);
    run_at_once(1, without_stream, b, 0);
    OK(ctx, wf_set_stream(ctx, 0, NULL));
    assert_null(wf_get_stream(ctx, 0));
    assert_int_equal(wf_array_state(kept), WF_STATE_LAZY);
    open_gate(&gt);
    EXPECT_F32(y, 8, 8);
    EXPECT_F32(lazy, 8, 8, 8);
    wf_array *all[] = { a, b, y, kept, lazy };
    for (int i = 0; i < 5; ++i)
        wf_release(all[i]);
    wf_kernel_free(k);
    wf_stream_free(s);
    wf_stream_free(t);
}

/* ---- mistakes ---- */
static void test_refused(void **state)
{
    (void)state;
    wf_context *other = test_context(WF_CPU, 1);
    wf_stream *s = new_stream(), *foreign = wf_stream_new(other, WF_CPU);
    wf_event *e = wf_event_record(foreign), *mine = wf_event_record(s);
    wf_device elsewhere = wf_device_named("cpu");
    {
        wf_array *probe = ones(1); /* belongs to this context or to the other */
        wf_graph *g = wf_begin(ctx, .stream = s, .device = elsewhere);
        wf_out(g, probe, 1);
        if (wf_run(g) == WF_OK)
            elsewhere = WF_INTERP;
        wf_clear_error(ctx);
        wf_release(probe);
    }
    assert_null(wf_stream_new(ctx, 99));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_DEVICE, "device 99");
    wf_array *a = ones(1);
    wf_graph *g = wf_begin(ctx, .stream = foreign);
    wf_out(g, a, 2);
    REFUSED(ctx, wf_run(g), WF_ERR_DEVICE, "another context");
    g = wf_begin(ctx, .stream = s, .device = elsewhere);
    REFUSED(ctx, wf_run(g), WF_ERR_DEVICE, "another device");
    wf_kernel *k = scale_kernel();
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", a), WF_ARG("y", a)), .stream = foreign), WF_ERR_DEVICE, "context");
    REFUSED(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", a)), .stream = s), WF_ERR_ARG, "'y'"); /* at once */
    REFUSED(ctx, wf_set_stream(ctx, 0, foreign), WF_ERR_DEVICE, "another context");
    REFUSED(ctx, wf_set_stream(ctx, elsewhere, s), WF_ERR_DEVICE, "another device");
    REFUSED(ctx, wf_stream_wait(s, e), WF_ERR_ARG, "another context");
    REFUSED(ctx, wf_stream_wait(s, NULL), WF_ERR_ARG, "NULL");
    double seconds = 3;
    REFUSED(ctx, wf_event_elapsed(mine, e, &seconds), WF_ERR_ARG, "one context");
    REFUSED(ctx, wf_event_elapsed(mine, mine, NULL), WF_ERR_ARG, "seconds");
    assert_true(seconds == 3);
    assert_int_equal(wf_event_elapsed(NULL, NULL, &seconds), WF_ERR_ARG);
    assert_int_equal(wf_stream_sync(NULL), WF_ERR_ARG);
    assert_int_equal(wf_stream_wait(NULL, mine), WF_ERR_ARG);
    assert_int_equal(wf_event_sync(NULL), WF_ERR_ARG);
    assert_int_equal(wf_sync(NULL), WF_ERR_ARG);
    assert_null(wf_stream_new(NULL, 0));
    assert_null(wf_event_record(NULL));
    OK(ctx, wf_stream_sync(s)); /* nothing of all this is an error of queued work */
    EXPECT_F32(a, 1);
    wf_kernel_free(k);
    wf_release(a);
    wf_event_free(e);
    wf_event_free(mine);
    wf_stream_free(s);
    wf_stream_free(foreign);
    wf_context_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_everything_released_at_once),
        cmocka_unit_test(test_free_waits),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_evaluation),
        cmocka_unit_test(test_host_access_waits),
        cmocka_unit_test(test_replay_waits),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_valid_after_new_write),
        cmocka_unit_test(test_views_of_what_failed),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_streams_at_once),
        cmocka_unit_test(test_shared_stream),
        cmocka_unit_test(test_current_stream),
        cmocka_unit_test(test_refused),
    };
    return RUN_ON_ALL(tests);
}
