/* test_random_threads.c - random programs of several threads, which share contexts, arrays, prepared kernels, frozen
 * sequences and streams, as the pages of docs/reference allow. Each thread runs operations of a table in random order.
 * Every result that does not depend on the order of the threads is compared with plain C. The thread sanitizer runs
 * this test, too; it sees the elements of contexts on the interpreter.
 *
 * An array that threads share is never written again, so that it needs no order. WEFT_RANDOM_PROGRAMS=COUNT,FIRST runs
 * COUNT programs from number FIRST on; of a single program the operations are printed.
 *
 * ctest: threads
 */
#include "random_thread_objects.h"
#include "weft/io.h"
#include <time.h>
#include <unistd.h>

/* ---- operations ---- */
static void record(worker *w)
{
    wf_stream *own, *stream = some_stream(w, &own);
    item x = borrow_for(w, stream);
    wf_array *y = wf_array_arange(w->ctx, WF_I32, x.n, 0, 0);
    int kind = (int)below(w, KINDS);
    uint32_t k = below(w, 3), gain = below(w, 100), *want = malloc((size_t)x.n * sizeof *want);
    plain(kind, x, gain, k, want);
    wf_graph *g = begin(w, kind, x.n, stream);
    operate(g, kind, x.a, y, wf_const(g, WF_I32, gain), k);
    check(w, wf_run(g) == WF_OK, "a recording");
    if (rarely(w, 2)) /* the array may go while its work is queued */
        wf_release(x.a), x.a = NULL;
    check(w, has_elements(y, want, x.n), "a recording's elements");
    wf_release(x.a), wf_release(y);
    wf_stream_free(own);
    free(want);
}

static void launch(worker *w)
{
    wf_stream *own, *stream = some_stream(w, &own);
    shared *s = one_of(w, p.prepared, new_kernel);
    item x = borrow_for(w, stream);
    wf_array *y = wf_array_arange(w->ctx, WF_I32, x.n, 0, 0);
    uint32_t gain = below(w, 100), *want = malloc((size_t)x.n * sizeof *want);
    plain(s->kind, x, gain, s->k, want);
    wf_launch_opts opts = { .size = sizeof opts, .stream = stream, .threads = (int32_t)below(w, 3) };
    if (by_index(s->kind))
        opts.shape = WF_SHAPE(x.n);
    wf_args args = WF_ARGS(WF_ARG("x", x.a), WF_ARG("y", y), WF_ARG("gain", gain));
    check(w, wf_launch_with(s->kernel, args, &opts) == WF_OK, "a launch");
    give_up(s);
    wf_release(x.a);
    if (own && rarely(w, 2))
        check(w, wf_stream_sync(own) == WF_OK, "a wait for a stream");
    check(w, has_elements(y, want, x.n), "a launch's elements");
    wf_release(y);
    wf_stream_free(own);
    free(want);
}

/* Writes to a copy of a shared array, which other threads copy, read and release. */
static void copy_and_write(worker *w)
{
    item x = borrow(w), y = x;
    y.a = rarely(w, 3) ? wf_array_copy(x.a) : wf_copy(x.a);
    check(w, y.a != NULL, "a copy");
    item again = y;
    again.a = wf_copy(y.a);
    wf_graph *g = wf_begin(w->ctx);
    wf_out(g, y.a, wf_add(wf_in(g, y.a), 3));
    check(w, wf_run(g) == WF_OK, "a write to a copy");
    if (rarely(w, 2)) {
        wf_array *view = wf_view_slice(y.a, 0, 0, 1, 1);
        check(w, wf_upload(view, &(int32_t){ (int32_t)y.base + 3 }, 4) == WF_OK, "an upload to a view of a copy");
        wf_release(view);
    }
    y.base += 3;
    check(w, is_ramp(x.a, x.n, x.base, x.step), "an array whose copy was written");
    check(w, is_ramp(y.a, y.n, y.base, y.step), "a copy");
    check(w, is_ramp(again.a, again.n, again.base, again.step), "a copy of a copy");
    wf_release(x.a);
    publish_or_release(w, again);
    publish_or_release(w, y);
}

/* An array that may still be computed when other threads use it. */
static void share_new(worker *w)
{
    wf_stream *stream = rarely(w, 2) ? p.stream[w->c][below(w, STREAMS)] : NULL;
    item x = borrow_for(w, stream);
    wf_graph *g = wf_begin(w->ctx, .stream = stream);
    uint32_t k = 1 + below(w, 5);
    item y = { NULL, x.c, x.n, x.base * k, x.step * k };
    y.a = wf_keep(wf_mul(wf_in(g, x.a), k));
    check(w, wf_run(g) == WF_OK && y.a, "a kept array");
    wf_release(x.a);
    publish(w, y);
}

static void view(worker *w)
{
    item x = borrow(w);
    int from = (int)below(w, (uint32_t)x.n);
    wf_array *tail = wf_view_slice(x.a, 0, from, WF_END_INDEX, 1);
    check(w, wf_shares(tail, x.a) && wf_array_data_id(tail) == wf_array_data_id(x.a), "memory of a view");
    wf_release(x.a);
    check(w, is_ramp(tail, x.n - from, x.base + x.step * (uint32_t)from, x.step), "a view");
    item rest = { tail, x.c, x.n - from, x.base + x.step * (uint32_t)from, x.step };
    publish_or_release(w, rest);
}

static void make_errors(worker *w)
{
    check(w, wf_last_status(w->ctx) == WF_OK && !*wf_last_message(w->ctx), "another thread's error");
    char text[40];
    snprintf(text, sizeof text, "of thread %d", w->number);
    wf_error(w->ctx, WF_ERR_IO, text);
    wf_error(w->ctx, WF_ERR_ARG, "later");
    check(w, wf_last_status(w->ctx) == WF_ERR_IO && !strcmp(wf_last_message(w->ctx), text), "its own error");
    wf_clear_error(w->ctx);
    wf_array *none = wf_empty(w->ctx, WF_I32, WF_SHAPE(-5));
    check(w, !none && wf_last_status(w->ctx) == WF_ERR_SHAPE, "a refused shape");
    wf_clear_error(w->ctx);
}

static void set_flags(worker *w)
{
    static const uint32_t flags[] = {
        WF_FLAG_FOLD,      WF_FLAG_VALUE_NUMBERING, WF_FLAG_NO_DISK_CACHE, WF_FLAG_LOOP_OPT,
        WF_FLAG_PACKETS,   WF_FLAG_FAST_MATH,       WF_FLAG_HISTORY,       WF_FLAG_CALL_OPT,
        WF_FLAG_DEAD_CODE, WF_FLAG_TIERED,          WF_FLAG_DEBUG
    };
    uint32_t flag = flags[below(w, rarely(w, 5) ? 11 : 10)];
    wf_set_flags(w->ctx, rarely(w, 2) ? flag : 0, rarely(w, 2) ? flag : WF_FLAG_DEBUG);
    if (rarely(w, 3))
        wf_set_expand_bytes(w->ctx, rarely(w, 2) ? (uint64_t)1 << 30 : 4096);
    check(w, (wf_get_flags(w->ctx) & ~0xfffu) == 0, "flags");
}

static void set_threads(worker *w)
{
    wf_set_threads(w->ctx, 1 + (int)below(w, 4));
    int n = wf_get_threads(w->ctx);
    check(w, n >= 1 && n <= 4, "the number of threads");
}

static void ask(worker *w)
{
    wf_info info = { .size = sizeof info };
    check(w, wf_get_info(w->ctx, rarely(w, 8), &info) == WF_OK && info.threads > 0 && info.isa,
          "what a context offers");
    wf_kernel_info note[4] = { { .size = sizeof *note } };
    size_t n = wf_history(w->ctx, note, 4);
    for (size_t i = 0; i < n; ++i)
        check(w, note[i].stages > 0 && note[i].stage < note[i].stages, "a note of the history");
    check(w, wf_get_expand_bytes(w->ctx) > 0 && wf_context_device(w->ctx) != 0, "a setting");
    item x = borrow(w);
    check(w, wf_array_dtype(x.a) == WF_I32 && wf_array_count(x.a) == x.n && wf_array_context(x.a) == w->ctx,
          "an array");
    wf_array_state(x.a);
    wf_release(x.a);
}

static void synchronise(worker *w) { check(w, wf_sync(w->ctx) == WF_OK, "a wait for all streams"); }

/* Adds to an array by way of a stream that several threads use. */
static void add_in_stream(worker *w)
{
    uint32_t s = below(w, STREAMS), k = below(w, 50);
    wf_stream *stream = p.stream[w->c][s];
    bool current = rarely(w, 2);
    if (current)
        check(w, wf_set_stream(w->ctx, 0, stream) == WF_OK && wf_get_stream(w->ctx, 0) == stream, "a current stream");
    for (int i = 0; i < 3; ++i) {
        wf_graph *g = wf_begin(w->ctx, .stream = current ? NULL : stream);
        wf_out(g, p.sum[w->c][s], wf_add(wf_in(g, p.sum[w->c][s]), k));
        check(w, wf_run(g) == WF_OK, "work in a stream");
        atomic_fetch_add(&p.summed[w->c][s], k);
    }
    if (current)
        check(w, wf_set_stream(w->ctx, 0, NULL) == WF_OK, "no current stream");
    wf_event *e = wf_event_record(stream);
    check(w, e != NULL, "an event");
    if (rarely(w, 2))
        check(w, wf_event_sync(e) == WF_OK, "a wait for an event");
    wf_event_free(e);
}

/* Two streams, one of which waits for the other; stream and event are left to another thread. */
static void chain_streams(worker *w)
{
    wf_stream *s = wf_stream_new(w->ctx, 0), *t = rarely(w, 2) ? p.stream[w->c][0] : wf_stream_new(w->ctx, 0);
    check(w, s && t, "streams");
    item x = borrow_for(w, s);
    wf_array *y = wf_like(x.a), *z = wf_like(x.a);
    wf_graph *g = wf_begin(w->ctx, .stream = s);
    wf_out(g, y, wf_add(wf_in(g, x.a), 1));
    check(w, wf_run(g) == WF_OK, "work in the first stream");
    wf_event *e = wf_event_record(s);
    check(w, wf_stream_wait(t, e) == WF_OK, "a wait of a stream");
    g = wf_begin(w->ctx, .stream = t);
    wf_out(g, z, wf_mul(wf_in(g, y), 2));
    check(w, wf_run(g) == WF_OK, "work in the second stream");
    wf_release(x.a), wf_release(y);
    pthread_mutex_lock(&p.mutex);
    uint32_t slot = below(w, SLOTS);
    wf_stream *old_stream = p.left_stream[slot];
    wf_event *old_event = p.left_event[slot];
    p.left_stream[slot] = s;
    p.left_event[slot] = e;
    pthread_mutex_unlock(&p.mutex);
    wf_event_free(old_event);
    wf_stream_free(old_stream);
    check(w, is_ramp(z, x.n, 2 * x.base + 2, 2 * x.step), "what two streams computed");
    wf_release(z);
    if (t != p.stream[w->c][0])
        wf_stream_free(t);
}

static void replay(worker *w)
{
    shared *s = one_of(w, p.frozen, new_sequence);
    item x = new_item(w, s->n), scaled = x;
    scaled.base *= 1 + s->k, scaled.step *= 1 + s->k;
    wf_array *y = wf_like(x.a);
    uint32_t *want = malloc((size_t)s->n * sizeof *want);
    plain(s->kind, scaled, 7, s->k, want);
    for (uint32_t i = 0; i <= below(w, 3); ++i)
        check(w, wf_frozen_replay(s->frozen, WF_ARRAYS(x.a, y)) == WF_OK, "a replay");
    check(w, has_elements(y, want, s->n), "a replay's elements");
    wf_release(x.a), wf_release(y);
    free(want);
    give_up(s);
}

static void add_two(const wf_chunk *c, void *user)
{
    (void)user;
    for (int64_t i = 0; i < c->n; ++i)
        ((uint32_t *)c->out[0])[i] = ((const uint32_t *)c->in[0])[i] + 2;
}

static void by_host(worker *w)
{
    item x = borrow(w);
    wf_array *y = wf_like(x.a);
    check(w, wf_host_apply(w->ctx, WF_ARRAYS(x.a), WF_ARRAYS(y), add_two, NULL) == WF_OK, "a function of the host");
    wf_release(x.a);
    check(w, is_ramp(y, x.n, x.base + 2, x.step), "what the host computed");
    wf_release(y);
}

static void of_text(worker *w)
{
    item x = borrow(w);
    wf_array *a = x.a, *out = wf_like(x.a);
    check(w, wf_text(w->ctx, "t = a + 1; out = t * 3", a, out) == WF_OK, "a text");
    wf_release(x.a);
    check(w, is_ramp(out, x.n, 3 * x.base + 3, 3 * x.step), "what a text computed");
    wf_release(out);
}

/* Functions of arrays, some of which open libraries, as several threads may do for the first time at once. */
static void functions(worker *w)
{
    static const char *const suffixes[] = { "npy", "tif" };
    item x = borrow(w);
    wf_array *a = NULL, *b = NULL;
    if (rarely(w, 2)) {
        a = wf_array_sort(x.a, 0, true);
        b = a ? wf_array_max(a, WF_ALL_AXES) : NULL;
        check(w, a && b, "a sorted array and its largest element");
        wf_array *first = wf_view_slice(a, 0, 0, 1, 1);
        uint32_t largest[1] = { 0 };
        check(w, wf_download(first, largest, 4) == WF_OK && has_elements(b, largest, 1), "the largest element");
        wf_release(first);
    } else if (rarely(w, 2)) {
        a = wf_full(w->ctx, WF_F32, WF_SHAPE(6, 9), 2);
        wf_array *c = wf_full(w->ctx, WF_F32, WF_SHAPE(9, 5), 3);
        b = a && c ? wf_array_matmul(a, c) : NULL;
        float at[30] = { 0 };
        check(w, b && wf_download(b, at, sizeof at) == WF_OK && at[0] == 54 && at[29] == 54, "a matrix product");
        wf_release(c);
    } else {
        char path[64];
        bool common = rarely(w, 2);
        snprintf(path, sizeof path, "threads-%ld-%d.%s", (long)getpid(), common ? 99 : w->number,
                 suffixes[below(w, 2)]);
        a = wf_view_reshape(x.a, WF_SHAPE(1, x.n));
        check(w, a && wf_save(a, path, NULL) == WF_OK, "saving");
        b = wf_load(w->ctx, path, NULL);
        check(w, b != NULL, "loading");
        check(w, common || is_ramp(b, x.n, x.base, x.step), "what was saved");
    }
    wf_release(x.a), wf_release(a), wf_release(b);
}

static void dump(worker *w)
{
    static const wf_dump dumps[] = { WF_DUMP_TRACE, WF_DUMP_PLAN, WF_DUMP_PASSES };
    shared *s = one_of(w, p.prepared, new_kernel);
    item x = borrow(w);
    wf_array *y = wf_like(x.a);
    char text[200];
    size_t length = 0;
    wf_args args = WF_ARGS(WF_ARG("x", x.a), WF_ARG("y", y));
    check(w, wf_kernel_dump(s->kernel, args, dumps[below(w, 3)], text, sizeof text, &length) == WF_OK && length,
          "a text about a kernel");
    give_up(s);
    wf_release(x.a), wf_release(y);
}

/* A kept array, whose handle other threads hold before it is computed. */
static void keep_later(worker *w)
{
    item x = borrow(w);
    wf_graph *g = wf_begin(w->ctx);
    wf_array *kept = wf_keep(wf_add(wf_in(g, x.a), 5)), *mine = wf_retain(kept);
    pthread_mutex_lock(&p.mutex);
    uint32_t slot = below(w, SLOTS);
    wf_array *old = p.lazy[slot];
    p.lazy[slot] = kept;
    pthread_mutex_unlock(&p.mutex);
    wf_array_state(old);
    wf_release(old);
    check(w, wf_run(g) == WF_OK, "a recording");
    check(w, is_ramp(mine, x.n, x.base + 5, x.step), "a kept array");
    wf_release(mine), wf_release(x.a);
}

static void look_at_kept(worker *w)
{
    wf_array *a[SLOTS];
    pthread_mutex_lock(&p.mutex);
    for (int i = 0; i < SLOTS; ++i) {
        a[i] = wf_retain(p.lazy[i]);
        wf_release(p.lazy[i]);
        p.lazy[i] = NULL;
    }
    pthread_mutex_unlock(&p.mutex);
    for (int i = 0; i < SLOTS; ++i) {
        check(w, wf_array_state(a[i]) != WF_STATE_FORMAL, "the state of a kept array");
        wf_release(a[i]);
    }
}

/* A context of this thread alone, beside the others. */
static void own_context(worker *w)
{
    worker own = *w;
    wf_config config = { .size = sizeof config, .device = rarely(w, 3) ? WF_CPU : WF_INTERP, .threads = 2 };
    own.ctx = wf_context_new(&config);
    own.seed += 5;
    check(&own, own.ctx != NULL, "a context");
    item x = new_item(&own, 50);
    wf_graph *g = wf_begin(own.ctx);
    wf_array *kept = wf_keep(wf_add(wf_in(g, x.a), 1));
    check(&own, wf_run(g) == WF_OK, "a recording of a context");
    if (rarely(w, 2)) {
        wf_context_free(own.ctx); /* the context lives on with its arrays */
        own.ctx = NULL;
    }
    check(&own, is_ramp(kept, 50, x.base + 1, x.step), "an array of a context");
    wf_release(kept), wf_release(x.a);
    wf_context_free(own.ctx);
}

/* What an operation excludes. */
typedef enum excludes { NOTHING, SETTING, LAUNCHES } excludes;
static const struct {
    const char *name;
    void (*run)(worker *);
    excludes excludes;
    uint32_t weight;
} table[] = {
    { "record", record, SETTING, 6 },
    { "launch", launch, SETTING, 8 },
    { "copy_and_write", copy_and_write, SETTING, 6 },
    { "share_new", share_new, SETTING, 5 },
    { "view", view, SETTING, 3 },
    { "make_errors", make_errors, NOTHING, 2 },
    { "set_flags", set_flags, NOTHING, 3 },
    { "set_threads", set_threads, LAUNCHES, 2 },
    { "ask", ask, SETTING, 3 },
    { "synchronise", synchronise, NOTHING, 1 },
    { "add_in_stream", add_in_stream, SETTING, 5 },
    { "chain_streams", chain_streams, SETTING, 4 },
    { "replay", replay, SETTING, 5 },
    { "by_host", by_host, SETTING, 2 },
    { "of_text", of_text, SETTING, 2 },
    { "functions", functions, SETTING, 3 },
    { "dump", dump, SETTING, 1 },
    { "keep_later", keep_later, SETTING, 3 },
    { "look_at_kept", look_at_kept, NOTHING, 3 },
    { "own_context", own_context, NOTHING, 1 },
};
enum { OPERATIONS = sizeof table / sizeof *table };

static void enter(group_lock *l, excludes what)
{
    if (what == NOTHING)
        return;
    pthread_mutex_lock(&l->mutex);
    while (what == SETTING ? l->setting : l->launching)
        pthread_cond_wait(&l->changed, &l->mutex);
    ++*(what == SETTING ? &l->launching : &l->setting);
    pthread_mutex_unlock(&l->mutex);
}

static void leave(group_lock *l, excludes what)
{
    if (what == NOTHING)
        return;
    pthread_mutex_lock(&l->mutex);
    --*(what == SETTING ? &l->launching : &l->setting);
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->mutex);
}

static void *run_thread(void *user)
{
    worker *w = user;
    uint32_t all = 0;
    for (int i = 0; i < OPERATIONS; ++i)
        all += table[i].weight;
    for (int k = 4 + (int)below(w, 14); k > 0; --k) {
        uint32_t at = below(w, all);
        int i = 0;
        for (; at >= table[i].weight; ++i)
            at -= table[i].weight;
        w->c = (int)below(w, CONTEXTS);
        w->ctx = p.ctx[w->c];
        w->operation = table[i].name;
        if (p.printed)
            fprintf(stderr, "thread %d: %s, context %d\n", w->number, table[i].name, w->c);
        enter(&p.lock[w->c], table[i].excludes);
        table[i].run(w);
        check(w, wf_last_status(w->ctx) == WF_OK, "an error is left");
        leave(&p.lock[w->c], table[i].excludes);
    }
    return NULL;
}

/* All threads release what is left, after the program has freed the contexts. */
static void *release_left(void *user)
{
    (void)user;
    for (int i = 0; i < SLOTS; ++i) {
        pthread_mutex_lock(&p.mutex);
        wf_array *a = p.array[i].a, *lazy = p.lazy[i];
        wf_event *e = p.left_event[i];
        wf_stream *s = p.left_stream[i];
        p.array[i].a = p.lazy[i] = NULL, p.left_event[i] = NULL, p.left_stream[i] = NULL;
        pthread_mutex_unlock(&p.mutex);
        wf_release(a), wf_release(lazy);
        wf_event_free(e);
        wf_stream_free(s);
    }
    for (int i = 0; i < KERNELS; ++i) {
        pthread_mutex_lock(&p.mutex);
        shared *k = p.prepared[i], *f = p.frozen[i];
        p.prepared[i] = p.frozen[i] = NULL;
        pthread_mutex_unlock(&p.mutex);
        give_up(k), give_up(f);
    }
    return NULL;
}

static void one(int number)
{
    worker w[THREADS], first = { .seed = (uint64_t)number * 0x9E3779B97F4A7C15u + 77, .operation = "main" };
    memset(&p, 0, sizeof p);
    p.number = number;
    p.printed = operations < 0;
    pthread_mutex_init(&p.mutex, NULL);
    for (int c = 0; c < CONTEXTS; ++c) {
        pthread_mutex_init(&p.lock[c].mutex, NULL);
        pthread_cond_init(&p.lock[c].changed, NULL);
        wf_device device = rarely(&first, 2) ? WF_INTERP : WF_CPU;
        wf_config config = { .size = sizeof config, .device = device, .threads = 1 + (int32_t)below(&first, 4) };
        first.c = c;
        first.ctx = p.ctx[c] = wf_context_new(&config);
        assert_non_null(first.ctx);
        for (int s = 0; s < STREAMS; ++s) {
            p.stream[c][s] = wf_stream_new(p.ctx[c], 0);
            assert_non_null(p.stream[c][s]);
            p.sum[c][s] = wf_full(p.ctx[c], WF_I32, WF_SHAPE(SUMS), 0);
        }
    }
    for (int i = 0; i < SLOTS; ++i) {
        first.c = i % CONTEXTS;
        first.ctx = p.ctx[first.c];
        p.array[i] = new_item(&first, some_length(&first));
    }
    size_t threads = 2 + below(&first, THREADS - 1);
    for (size_t i = 0; i < threads; ++i)
        w[i] = (worker){ .seed = test_random(&first.seed), .number = (int)i };
    run_at_once(threads, run_thread, w, sizeof *w);
    for (int c = 0; c < CONTEXTS; ++c)
        for (int s = 0; s < STREAMS; ++s) {
            if (!is_ramp(p.sum[c][s], SUMS, atomic_load(&p.summed[c][s]), 0))
                fail_msg("program %d: a sum of all threads is wrong", number);
            wf_stream_free(p.stream[c][s]);
            wf_release(p.sum[c][s]);
        }
    for (int c = 0; c < CONTEXTS; ++c)
        wf_context_free(p.ctx[c]);
    run_at_once(threads, release_left, w, sizeof *w);
}

static void remove_files(void)
{
    char path[64];
    static const int names[] = { 0, 1, 2, 3, 99 };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        snprintf(path, sizeof path, "threads-%ld-%d.npy", (long)getpid(), names[i]);
        remove(path);
        snprintf(path, sizeof path, "threads-%ld-%d.tif", (long)getpid(), names[i]);
        remove(path);
    }
}

static void test_programs(void **state)
{
    (void)state;
    const char *asked = getenv("WEFT_RANDOM_PROGRAMS"), *comma = asked ? strchr(asked, ',') : NULL;
    int programs = asked ? atoi(asked) : 200 / TEST_EVERY, first = comma ? atoi(comma + 1) : 0;
    operations = programs == 1 ? -1 : 0;
    for (int i = 0; i < programs; ++i)
        one(first + i);
    if (asked)
        fprintf(stderr, "%d programs\n", programs);
    remove_files();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
