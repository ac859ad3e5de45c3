/* stream.c - streams and events. A stream of the processor is a queue with a thread of its own (run/thread/queue.c).
 * The thread launches kernels as any caller does, and large kernels use the context's pool. Weft's own streams of GPUs
 * are such queues, too; their thread gives everything to a CUDA stream without waiting for it. A CUDA stream that the
 * program made has no queue: its work goes to the driver at once. Events of both kinds on GPUs are events of the
 * driver.
 */
#include "launch/launch.h"
#include "base/floats.h"

struct wf_event {
    /* number of references: the owner, the stream that will reach the event, streams that wait for it */
    _Atomic int64_t refs;
    wf_context *ctx;
    _Atomic bool reached; /* the queue's thread has reached the event; on a GPU, it has recorded the driver's event */
    double at;            /* time, by wf__now, at which the event was reached */
    wf__gpu *gpu;         /* GPU of the stream; NULL = the processor */
    void *cuda;           /* the driver's event, once `reached`; NULL = it could not be recorded */
};

struct wf__current { /* the stream that a thread has chosen for a device */
    wf__current *next;
    uint64_t thread;
    wf_device device;
    wf_stream *stream; /* NULL = the thread has none any more */
};

/* ---- life ---- */
static wf_stream *new_stream(wf_context *ctx, const char *function, wf_device device, wf__gpu_on cuda, bool queued)
{
    wf_stream *s = wf__alloc0(sizeof *s);
    bool locked = s && wf__mutex_init(&s->lock);
    if (locked && queued)
        s->queue = wf__queue_new(&ctx->progress, "weft-stream");
    if (!locked || (!s->queue && queued)) {
        if (locked)
            wf__mutex_free(&s->lock);
        wf__gpu_free_stream(cuda.gpu, cuda.stream);
        wf__free(s);
        wf__error(ctx, WF_ERR_MEMORY, "%s: out of memory or threads", function);
        return NULL;
    }
    s->cuda = cuda;
    atomic_init(&s->refs, 1);
    s->ctx = ctx;
    s->device = device;
    s->period = 1;
    wf__context_retain(ctx);
    wf__mutex_lock(&ctx->lock);
    s->next = ctx->launcher->streams;
    if (s->next)
        s->next->prev = s;
    ctx->launcher->streams = s;
    wf__mutex_unlock(&ctx->lock);
    atomic_store(&ctx->streaming, true);
    return s;
}

/* Makes the failure the context's error unless `ok`, and empties it. Returns the status. */
static wf_status report_failure(wf_context *ctx, const char *function, bool ok, wf__failure *f)
{
    wf_status status = ok ? WF_OK : wf__error(ctx, f->status, "%s: %s", function, wf__str_get(&f->text));
    wf__str_free(&f->text);
    return status;
}

wf_stream *wf_stream_new(wf_context *ctx, wf_device device)
{
    wf__gpu_on on = { 0 };
    wf__failure f = { 0 };
    if (!ctx)
        return NULL;
    device = device ? device : ctx->device;
    if (wf__is_gpu(device)) {
        on.gpu = wf__gpu_of(ctx, "wf_stream_new", device);
        on.stream = on.gpu ? wf__gpu_new_stream(on.gpu, &f) : NULL;
        if (!on.gpu || report_failure(ctx, "wf_stream_new", on.stream != NULL, &f) != WF_OK)
            return NULL;
    } else if (device != WF_CPU && device != WF_INTERP) {
        wf__error(ctx, WF_ERR_DEVICE, "wf_stream_new: there is no device %d here", (int)device);
        return NULL;
    }
    return new_stream(ctx, "wf_stream_new", device, on, true);
}

wf_stream *wf_stream_wrap(wf_context *ctx, wf_device device, void *cuda_stream)
{
    wf__failure f = { 0 };
    if (!ctx)
        return NULL;
    device = device ? device : ctx->device;
    if (!wf__is_gpu(device)) {
        wf__error(ctx, WF_ERR_DEVICE, "wf_stream_wrap: a CUDA stream is one of a GPU; the device is not");
        return NULL;
    }
    wf__gpu_on on = { .gpu = wf__gpu_of(ctx, "wf_stream_wrap", device) };
    on.stream = on.gpu ? wf__gpu_wrap_stream(on.gpu, cuda_stream, &f) : NULL;
    if (!on.gpu || report_failure(ctx, "wf_stream_wrap", on.stream != NULL, &f) != WF_OK)
        return NULL;
    return new_stream(ctx, "wf_stream_wrap", device, on, false);
}

static void unlink_stream(wf_stream *s)
{
    wf_context *ctx = s->ctx;
    wf__mutex_lock(&ctx->lock);
    *(s->prev ? &s->prev->next : &ctx->launcher->streams) = s->next;
    if (s->next)
        s->next->prev = s->prev;
    wf__mutex_unlock(&ctx->lock);
}

static void release_stream(wf_stream *s)
{
    if (atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    wf_context *ctx = s->ctx;
    unlink_stream(s);
    wf__queue_free(s->queue);
    wf__gpu_free_stream(s->cuda.gpu, s->cuda.stream);
    wf__str_free(&s->error.text);
    wf__mutex_free(&s->lock);
    wf__free(s);
    wf__context_release(ctx);
}

/* Makes the stream no thread's current one. */
static void unchoose(wf_stream *s)
{
    wf__mutex_lock(&s->ctx->lock);
    for (wf__current *c = s->ctx->launcher->current; c; c = c->next)
        if (c->stream == s)
            c->stream = NULL;
    wf__mutex_unlock(&s->ctx->lock);
}

/* ---- errors ---- */
void wf__stream_fail(wf__work *work, wf_status status, const char *text)
{
    wf_stream *s = work->stream;
    wf__mutex_lock(&s->lock);
    s->failed = work->period;
    s->error.status = status;
    s->error.text.len = 0;
    wf__str_add(&s->error.text, text);
    wf__mutex_unlock(&s->lock);
}

/* Reports the failure of queued work, if there is one, and begins a new period. Under the stream's lock. */
static wf_status report(wf_stream *s, const char *function)
{
    wf_status status = s->error.status;
    if (status == WF_OK)
        return WF_OK;
    wf__error(s->ctx, status, "%s: work queued on the stream before failed, what was behind it was dropped: %s",
              function, s->error.text.failed ? "out of memory" : wf__str_get(&s->error.text));
    s->error.status = WF_OK;
    wf__str_free(&s->error.text);
    ++s->period;
    return status;
}

static wf_status report_locked(wf_stream *s, const char *function)
{
    wf__mutex_lock(&s->lock);
    wf_status status = report(s, function);
    wf__mutex_unlock(&s->lock);
    return status;
}

/* ---- work ---- */
static void run_work(wf__task *task)
{
    wf__work *work = (wf__work *)task;
    wf_stream *s = work->stream;
    wf__mutex_lock(&s->lock);
    bool dropped = work->period <= s->failed;
    wf__mutex_unlock(&s->lock);
    work->run(work, dropped);
}

wf_status wf__stream_put(wf_stream *s, wf__work *work, const char *function)
{
    wf__mutex_lock(&s->lock);
    wf_status status = report(s, function);
    if (status == WF_OK) {
        work->task.run = run_work;
        work->stream = s;
        work->period = s->period;
        wf__queue_put(s->queue, &work->task);
    }
    wf__mutex_unlock(&s->lock);
    return status;
}

/* ---- waiting ---- */
void wf_stream_free(wf_stream *s)
{
    if (!s)
        return;
    unchoose(s);
    if (s->queue)
        wf__queue_wait(s->queue);
    wf__mutex_lock(&s->lock);
    if (s->error.status != WF_OK && s->ctx->log)
        s->ctx->log(1, s->error.text.failed ? "queued work failed" : wf__str_get(&s->error.text), s->ctx->log_user);
    wf__mutex_unlock(&s->lock);
    wf__failure f = { 0 };
    if (s->cuda.gpu && !wf__gpu_finish_work(s->cuda.gpu, s->cuda.stream, &f) && s->ctx->log)
        s->ctx->log(1, wf__str_get(&f.text), s->ctx->log_user);
    wf__str_free(&f.text);
    release_stream(s);
}

wf_status wf_stream_sync(wf_stream *s)
{
    wf__failure f = { 0 };
    wf_status status = WF_OK;
    if (!s)
        return WF_ERR_ARG;
    if (s->queue) {
        wf__queue_wait(s->queue);
        status = report_locked(s, "wf_stream_sync");
    }
    if (s->cuda.gpu && status == WF_OK)
        status = report_failure(s->ctx, "wf_stream_sync", wf__gpu_finish_stream(s->cuda.gpu, s->cuda.stream, &f), &f);
    return status;
}

/* Returns the stream after `s`, or the first one, retained. A retained stream stays in the list. */
static wf_stream *next_stream(wf_context *ctx, wf_stream *s)
{
    wf__mutex_lock(&ctx->lock);
    wf_stream *next = s ? s->next : ctx->launcher->streams;
    int64_t refs = next ? atomic_load(&next->refs) : 0;
    while (next && !(refs > 0 && atomic_compare_exchange_weak(&next->refs, &refs, refs + 1)))
        if (refs == 0) { /* being freed */
            next = next->next;
            refs = next ? atomic_load(&next->refs) : 0;
        }
    wf__mutex_unlock(&ctx->lock);
    return next;
}

static wf_status wait_for_all(wf_context *ctx, bool reporting)
{
    wf_status first = WF_OK;
    for (wf_stream *s = next_stream(ctx, NULL), *next; s; s = next) {
        if (s->queue)
            wf__queue_wait(s->queue);
        wf_status status = reporting && s->queue ? report_locked(s, "wf_sync") : WF_OK;
        first = first != WF_OK ? first : status;
        next = next_stream(ctx, s);
        release_stream(s);
    }
    return first;
}

void wf__streams_wait(wf_context *ctx) { wait_for_all(ctx, false); }

wf_status wf_sync(wf_context *ctx)
{
    if (!ctx)
        return WF_ERR_ARG;
    wf_status status = wait_for_all(ctx, true);
    wf__failure failure = { .status = WF_OK };
    wf__engine_finish_gpus(ctx->engine, &failure);
    if (failure.status != WF_OK && status == WF_OK)
        status = wf__error(ctx, failure.status, "wf_sync: %s", wf__str_get(&failure.text));
    wf__str_free(&failure.text);
    return status;
}

/* ---- the current stream ---- */
wf_device wf__stream_device(const wf_stream *stream) { return stream->device; }

const char *wf__stream_misfit(const wf_stream *s, const wf_context *ctx, wf_device device)
{
    return s->ctx != ctx                        ? "the stream belongs to another context"
           : device != 0 && s->device != device ? "the stream is one of another device"
                                                : NULL;
}

static wf__current *find_current(wf_context *ctx, wf_device device) /* under the lock */
{
    uint64_t thread = wf__this_thread();
    wf__current *c = ctx->launcher->current;
    while (c && !(c->thread == thread && c->device == device))
        c = c->next;
    return c;
}

wf_stream *wf__stream_current(wf_context *ctx, wf_device device)
{
    wf__mutex_lock(&ctx->lock);
    const wf__current *c = find_current(ctx, device);
    wf_stream *s = c ? c->stream : NULL;
    wf__mutex_unlock(&ctx->lock);
    return s;
}

void wf__streams_forget(wf_context *ctx)
{
    while (ctx->launcher->current) {
        wf__current *c = ctx->launcher->current;
        ctx->launcher->current = c->next;
        wf__free(c);
    }
}

wf_status wf_set_stream(wf_context *ctx, wf_device device, wf_stream *stream)
{
    if (!ctx)
        return WF_ERR_ARG;
    device = device ? device : ctx->device;
    const char *misfit = stream ? wf__stream_misfit(stream, ctx, device) : NULL;
    if (misfit)
        return wf__error(ctx, WF_ERR_DEVICE, "wf_set_stream: %s", misfit);
    wf__mutex_lock(&ctx->lock);
    wf__current *c = find_current(ctx, device);
    if (!c && stream && (c = wf__alloc0(sizeof *c))) {
        *c = (wf__current){ .next = ctx->launcher->current, .thread = wf__this_thread(), .device = device };
        ctx->launcher->current = c;
    }
    if (c)
        c->stream = stream;
    wf__mutex_unlock(&ctx->lock);
    return c || !stream ? WF_OK : wf__error(ctx, WF_ERR_MEMORY, "wf_set_stream: out of memory");
}

wf_stream *wf_get_stream(wf_context *ctx, wf_device device)
{
    return ctx ? wf__stream_current(ctx, device ? device : ctx->device) : NULL;
}

/* ---- events ---- */
typedef struct event_work {
    wf__work work;
    wf_event *event; /* retained */
} event_work;

void wf_event_free(wf_event *e)
{
    if (!e || atomic_fetch_sub(&e->refs, 1) != 1)
        return;
    wf_context *ctx = e->ctx;
    if (e->cuda)
        wf__gpu_free_event(e->gpu, e->cuda);
    wf__free(e);
    wf__context_release(ctx);
}

static event_work *new_event_work(wf_event *e, void (*run)(wf__work *, bool))
{
    event_work *w = wf__alloc0(sizeof *w);
    if (!w)
        return NULL;
    w->work.run = run;
    w->event = e;
    atomic_fetch_add(&e->refs, 1);
    return w;
}

static void free_event_work(event_work *w)
{
    wf_event_free(w->event);
    wf__free(w);
}

static bool record(wf_event *e, const wf_stream *s, wf__failure *f)
{
    if (e->gpu)
        e->cuda = wf__gpu_record(e->gpu, s->cuda.stream, f);
    e->at = wf__now();
    atomic_store(&e->reached, true);
    return !e->gpu || e->cuda;
}

/* Marks the event as reached, even if the work queued before it was dropped, so that no thread waits forever. */
static void reach(wf__work *work, bool dropped)
{
    event_work *w = (event_work *)work;
    wf__failure f = { 0 };
    if (!record(w->event, work->stream, &f) && !dropped)
        wf__stream_fail(work, f.status, wf__str_get(&f.text));
    wf__str_free(&f.text);
    wf__progress_made(&w->event->ctx->progress);
    free_event_work(w);
}

static bool is_reached(void *event) { return atomic_load(&((wf_event *)event)->reached); }

/* Waits until the event is reached. False = work before it failed, with the failure set. */
static bool wait_for_event(const wf_event *e, wf__failure *f)
{
    wf__progress_wait(&e->ctx->progress, is_reached, (void *)e);
    return !e->cuda || wf__gpu_reached(e->gpu, e->cuda, f);
}

/* Lets later work of the stream wait for the event: on the GPU if both are a GPU's, else on this thread. */
static bool let_wait(const wf_stream *s, const wf_event *e, wf__failure *f)
{
    wf__progress_wait(&e->ctx->progress, is_reached, (void *)e);
    return !e->cuda      ? true
           : s->cuda.gpu ? wf__gpu_await(s->cuda.gpu, s->cuda.stream, e->gpu, e->cuda, f)
                         : wf__gpu_reached(e->gpu, e->cuda, f);
}

static void await(wf__work *work, bool dropped)
{
    event_work *w = (event_work *)work;
    wf__failure f = { 0 };
    if (!dropped && !let_wait(work->stream, w->event, &f))
        wf__stream_fail(work, f.status, wf__str_get(&f.text));
    wf__str_free(&f.text);
    free_event_work(w);
}

static wf_event *record_at_once(wf_stream *s, wf_event *e)
{
    wf__failure f = { 0 };
    if (report_failure(s->ctx, "wf_event_record", record(e, s, &f), &f) == WF_OK)
        return e;
    wf_event_free(e);
    return NULL;
}

wf_event *wf_event_record(wf_stream *s)
{
    if (!s)
        return NULL;
    wf_event *e = wf__alloc0(sizeof *e);
    if (e) {
        atomic_init(&e->refs, 1);
        e->ctx = s->ctx;
        e->gpu = s->cuda.gpu;
        wf__context_retain(e->ctx);
    }
    if (e && !s->queue)
        return record_at_once(s, e);
    event_work *w = e ? new_event_work(e, reach) : NULL;
    if (!w)
        wf__error(s->ctx, WF_ERR_MEMORY, "wf_event_record: out of memory");
    if (w && wf__stream_put(s, &w->work, "wf_event_record") == WF_OK)
        return e;
    if (w)
        free_event_work(w);
    wf_event_free(e);
    return NULL;
}

wf_status wf_stream_wait(wf_stream *s, const wf_event *event)
{
    if (!s)
        return WF_ERR_ARG;
    if (!event || event->ctx != s->ctx)
        return wf__error(s->ctx, WF_ERR_ARG, "wf_stream_wait: %s",
                         event ? "the event belongs to another context" : "the event is NULL");
    if (!s->queue) {
        wf__failure f = { 0 };
        return report_failure(s->ctx, "wf_stream_wait", let_wait(s, event, &f), &f);
    }
    event_work *w = new_event_work((wf_event *)event, await);
    if (!w)
        return wf__error(s->ctx, WF_ERR_MEMORY, "wf_stream_wait: out of memory");
    wf_status status = wf__stream_put(s, &w->work, "wf_stream_wait");
    if (status != WF_OK)
        free_event_work(w);
    return status;
}

wf_status wf_event_sync(const wf_event *e)
{
    wf__failure f = { 0 };
    return e ? report_failure(e->ctx, "wf_event_sync", wait_for_event(e, &f), &f) : WF_ERR_ARG;
}

wf_status wf_event_elapsed(const wf_event *a, const wf_event *b, double *seconds)
{
    if (!a || !b || !seconds || a->ctx != b->ctx) {
        wf_context *ctx = a ? a->ctx : b ? b->ctx : NULL;
        return wf__error(ctx, WF_ERR_ARG, "wf_event_elapsed: needs two events of one context, and seconds");
    }
    wf__failure f = { 0 };
    if (a->gpu != b->gpu)
        return wf__error(a->ctx, WF_ERR_ARG, "wf_event_elapsed: the two events have no clock in common");
    if (!wait_for_event(a, &f) || !wait_for_event(b, &f))
        return report_failure(a->ctx, "wf_event_elapsed", false, &f);
    wf__floats floats = wf__floats_begin();
    bool ok = true;
    if (a->cuda && b->cuda)
        ok = wf__gpu_elapsed(a->gpu, a->cuda, b->cuda, seconds, &f);
    else
        *seconds = b->at - a->at;
    wf__floats_end(floats);
    return report_failure(a->ctx, "wf_event_elapsed", ok, &f);
}
