/* random_thread_objects.h - what the random programs of test_random_threads.c share between threads: arrays whose elements
 * are known, prepared kernels and frozen sequences with their meaning in plain C, streams.
 */
#ifndef WEFT_RANDOM_THREAD_OBJECTS_H
#define WEFT_RANDOM_THREAD_OBJECTS_H
#include "side_by_side.h"
#include "weft/functions.h"

enum { CONTEXTS = 2, THREADS = 4, SLOTS = 6, KERNELS = 4, STREAMS = 2, SUMS = 2, MOST = 20000, KINDS = 5 };

/* An array with the elements base + step * i. */
typedef struct item {
    wf_array *a;
    int c; /* number of its context */
    int n;
    uint32_t base, step;
} item;

/* A kernel or a sequence that several threads use. The last one frees it. */
typedef struct shared {
    wf_kernel *kernel;
    wf_frozen *frozen;
    atomic_int users;
    int c, n, kind; /* n: elements of the inputs of a sequence */
    uint32_t k;
} shared;

/* Work without the number of threads being set, and the setting of this number, exclude one another. */
typedef struct group_lock {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int launching, setting;
} group_lock;

static struct program {
    int number;
    bool printed;
    wf_context *ctx[CONTEXTS];
    group_lock lock[CONTEXTS];
    pthread_mutex_t mutex; /* of the slots */
    item array[SLOTS];
    wf_array *lazy[SLOTS];     /* kept arrays, which another thread computes */
    shared *prepared[KERNELS]; /* NULL = none yet */
    shared *frozen[KERNELS];
    wf_stream *left_stream[SLOTS]; /* streams and events that another thread frees */
    wf_event *left_event[SLOTS];
    wf_stream *stream[CONTEXTS][STREAMS];
    wf_array *sum[CONTEXTS][STREAMS]; /* only work in this stream uses it */
    atomic_uint summed[CONTEXTS][STREAMS];
} p;
static long operations;

typedef struct worker {
    uint64_t seed;
    int number, c;
    const char *operation;
    wf_context *ctx; /* p.ctx[c] */
} worker;

static uint32_t below(worker *w, uint32_t n) { return (uint32_t)(test_random(&w->seed) % n); }
static bool rarely(worker *w, uint32_t n) { return below(w, n) == 0; }

static void check(worker *w, bool ok, const char *what)
{
    if (ok)
        return;
    char text[1400];
    snprintf(text, sizeof text, "program %d, thread %d, %s: %s (%s)", p.number, w->number, w->operation, what,
             w->ctx ? wf_last_message(w->ctx) : "no context");
    must(false, text);
    if (w->ctx)
        wf_clear_error(w->ctx);
}

/* ---- arrays ---- */
static int some_length(worker *w)
{
    static const int length[] = { 1, 5, 64, 100, 1000, 3000 };
    return rarely(w, 40) ? MOST : length[below(w, 6)];
}

static item new_item(worker *w, int n)
{
    item x = { .c = w->c, .n = n, .base = below(w, 1000), .step = below(w, 9) };
    if (rarely(w, 3)) {
        uint32_t *at = malloc((size_t)n * sizeof *at);
        for (int i = 0; at && i < n; ++i)
            at[i] = x.base + x.step * (uint32_t)i;
        x.a = wf_empty(w->ctx, WF_I32, WF_SHAPE(n));
        check(w, at && wf_upload(x.a, at, (size_t)n * sizeof *at) == WF_OK, "an upload");
        free(at);
    } else
        x.a = wf_array_arange(w->ctx, WF_I32, n, x.base, x.step);
    check(w, x.a != NULL, "an array");
    return x;
}

static bool is_ramp(wf_array *a, int n, uint32_t base, uint32_t step)
{
    uint32_t *at = malloc((size_t)n * sizeof *at);
    bool ok = at && wf_array_count(a) == n && wf_download(a, at, (size_t)n * sizeof *at) == WF_OK;
    for (int i = 0; ok && i < n; ++i)
        ok = at[i] == base + step * (uint32_t)i;
    free(at);
    return ok;
}

static bool has_elements(wf_array *a, const uint32_t *want, int n)
{
    uint32_t *at = malloc((size_t)n * sizeof *at);
    bool ok = at && wf_download(a, at, (size_t)n * sizeof *at) == WF_OK && !memcmp(at, want, (size_t)n * sizeof *at);
    free(at);
    return ok;
}

/* A reference to a shared array of this context, or to a new one. */
static item borrow(worker *w)
{
    item found = { 0 };
    pthread_mutex_lock(&p.mutex);
    for (uint32_t i = 0, at = below(w, SLOTS); i < SLOTS && !found.a; ++i)
        if (p.array[(at + i) % SLOTS].a && p.array[(at + i) % SLOTS].c == w->c) {
            found = p.array[(at + i) % SLOTS];
            wf_retain(found.a);
        }
    pthread_mutex_unlock(&p.mutex);
    return found.a ? found : new_item(w, some_length(w));
}

/* Gives the array to all threads. */
static void publish(worker *w, item x)
{
    pthread_mutex_lock(&p.mutex);
    item *slot = &p.array[below(w, SLOTS)], old = *slot;
    *slot = x;
    pthread_mutex_unlock(&p.mutex);
    wf_release(old.a);
}

static void publish_or_release(worker *w, item x)
{
    if (rarely(w, 3))
        publish(w, x);
    else
        wf_release(x.a);
}

/* ---- kernels, in plain C as well ---- */
static void plain(int kind, item x, uint32_t gain, uint32_t k, uint32_t *out)
{
    uint32_t all = 0;
    for (int i = 0; i < x.n; ++i)
        all += x.base + x.step * (uint32_t)i;
    for (int i = 0; i < x.n; ++i)
        out[i] = 0;
    for (int i = 0; i < x.n; ++i) {
        uint32_t v = x.base + x.step * (uint32_t)i;
        if (kind == 0)
            out[i] = v * gain + k;
        else if (kind == 1)
            out[x.n - 1 - i] = v + k;
        else if (kind == 2)
            out[i] = (i ? out[i - 1] : 0) + v;
        else if (kind == 3)
            out[i] = v - all + gain;
        else
            out[i / 2] += v * k;
    }
}

static void operate(wf_graph *g, int kind, wf_array *x, wf_array *y, wf_val gain, uint32_t k)
{
    wf_val i;
    switch (kind) {
    case 0:
        wf_out(g, y, wf_add(wf_mul(wf_in(g, x), gain), k));
        break;
    case 1:
        i = wf_index(g, 0);
        wf_write(g, y, wf_add(wf_read(g, x, i), k), wf_sub(wf_sub(wf_extent(g, 0), 1), i));
        break;
    case 2:
        wf_out(g, y, wf_scan(WF_JOIN_ADD, wf_in(g, x), 0, false, false));
        break;
    case 3:
        wf_out(g, y, wf_add(wf_sub(wf_in(g, x), wf_cast(wf_sum(wf_in(g, x), WF_ALL_AXES), WF_I32)), gain));
        break;
    default:
        i = wf_index(g, 0);
        wf_accumulate_mode(g, WF_JOIN_ADD, k % 2 ? WF_MODE_EXPAND : WF_MODE_AUTO, y, wf_mul(wf_read(g, x, i), k),
                           wf_idiv(i, 2));
        break;
    }
}

static bool by_index(int kind) { return kind == 1 || kind == 4; }

static wf_graph *begin(worker *w, int kind, int n, wf_stream *stream)
{
    wf_space space = { .size = sizeof space, .stream = stream, .serial_below = rarely(w, 2), .here = WF_HERE };
    if (by_index(kind))
        space.shape = WF_SHAPE(n);
    return wf_begin_with(w->ctx, &space);
}

static shared *new_kernel(worker *w)
{
    shared *s = calloc(1, sizeof *s);
    s->c = w->c, s->kind = (int)below(w, KINDS), s->k = below(w, 3);
    atomic_init(&s->users, 1);
    wf_graph *g = begin(w, s->kind, 10, NULL);
    wf_array *x = wf_formal(g, "x", WF_I32, 1), *y = wf_formal(g, "y", WF_I32, 1);
    operate(g, s->kind, x, y, wf_param(g, "gain", WF_I32, 1), s->k);
    s->kernel = wf_compile(g);
    check(w, s->kernel != NULL, "a kernel");
    return s;
}

static shared *new_sequence(worker *w)
{
    shared *s = calloc(1, sizeof *s);
    s->c = w->c, s->kind = (int)below(w, KINDS), s->k = below(w, 3), s->n = some_length(w);
    atomic_init(&s->users, 1);
    item x = new_item(w, s->n);
    wf_array *y = wf_like(x.a), *z = wf_like(x.a);
    check(w, wf_freeze_begin(w->ctx, WF_ARRAYS(x.a, y)) == WF_OK, "freezing");
    wf_graph *g = wf_begin(w->ctx);
    wf_out(g, z, wf_mul(wf_in(g, x.a), 1 + s->k));
    check(w, wf_array_fill(y, 0) == WF_OK && wf_run(g) == WF_OK, "the launches of a sequence");
    g = begin(w, s->kind, s->n, NULL);
    operate(g, s->kind, z, y, wf_const(g, WF_I32, 7), s->k);
    check(w, wf_run(g) == WF_OK, "the last launch of a sequence");
    s->frozen = wf_freeze_end(w->ctx);
    check(w, s->frozen != NULL, "a sequence");
    wf_release(x.a), wf_release(y), wf_release(z);
    return s;
}

static void give_up(shared *s)
{
    if (s && atomic_fetch_sub(&s->users, 1) == 1) {
        wf_kernel_free(s->kernel);
        wf_frozen_free(s->frozen);
        free(s);
    }
}

/* One of the table for this context, in whose place a new one may come. */
static shared *one_of(worker *w, shared **table, shared *(*make)(worker *))
{
    shared *found = NULL, *old = NULL;
    uint32_t at = below(w, KERNELS);
    pthread_mutex_lock(&p.mutex);
    for (int i = 0; i < KERNELS && !found; ++i) {
        shared *s = table[(at + (uint32_t)i) % KERNELS];
        if (s && s->c == w->c) {
            found = s;
            atomic_fetch_add(&s->users, 1);
        }
    }
    pthread_mutex_unlock(&p.mutex);
    if (found && !rarely(w, 6))
        return found;
    give_up(found);
    found = make(w);
    atomic_fetch_add(&found->users, 1);
    pthread_mutex_lock(&p.mutex);
    old = table[at];
    table[at] = found;
    pthread_mutex_unlock(&p.mutex);
    give_up(old);
    return found;
}

/* A stream of the context: none, a shared one, or *own, a new one. */
static wf_stream *some_stream(worker *w, wf_stream **own)
{
    *own = NULL;
    if (!rarely(w, 3))
        return rarely(w, 2) ? NULL : p.stream[w->c][below(w, STREAMS)];
    *own = wf_stream_new(w->ctx, 0);
    check(w, *own != NULL, "a stream");
    return *own;
}

/* As borrow. An array that another stream may still compute has been computed before work of `stream` uses it. */
static item borrow_for(worker *w, wf_stream *stream)
{
    item x = borrow(w);
    if (stream && wf_array_state(x.a) == WF_STATE_LAZY)
        check(w, wf_sync(w->ctx) == WF_OK, "a wait for all streams");
    return x;
}
#endif
