/* stream.c - the streams of a GPU, and events in them.
 *
 * Streams run in parallel, with two exceptions. The GPU's own stream, for work that names no stream, runs after all
 * earlier work of the other streams, and their later work runs after it. And work that uses an array runs after the
 * stream that has used the array last. A stream waits for another on the GPU, by an event at the end of the other's
 * work. A stream of the program records this event after each submission, since the program may submit more work of its
 * own. Weft's streams record the event when another stream first needs it. The clock counts submissions; `waited` is
 * the time up to which a stream runs after all others.
 */
#include "run/gpu/internal.h"

/* ---- the calling thread ---- */
/* Makes the context current, in a mode in which allocations and waits do not break captures of the program's streams
 * into CUDA graphs. */
static int make_current(const wf__gpu *gpu, int *capture_mode)
{
    int result = gpu->cuda->CtxPushCurrent(gpu->context);
    *capture_mode = WF__CUDA_CAPTURE_RELAXED;
    if (!result)
        gpu->cuda->ExchangeCaptureMode(capture_mode);
    return result;
}

static void make_not_current(const wf__gpu *gpu, int capture_mode)
{
    void *ours;
    gpu->cuda->ExchangeCaptureMode(&capture_mode);
    gpu->cuda->CtxPopCurrent(&ours);
}

/* True if the stream is being captured. For the default stream: if a stream that waits for it is being captured. */
static bool is_captured(const wf__gpu *gpu, const wf__gpu_stream *s)
{
    int status = 0, result = s->foreign ? gpu->cuda->StreamIsCapturing(s->stream, &status) : 0;
    return result ? result == WF__CUDA_CAPTURE_IMPLICIT : status != 0;
}

static bool refuse_captured(const wf__gpu *gpu, const wf__gpu_stream *s, wf__failure *f)
{
    if (!is_captured(gpu, s))
        return false;
    f->status = WF_ERR_UNSUPPORTED;
    wf__str_addf(&f->text,
                 "%s: the stream is being captured into a CUDA graph, of which nothing of Weft's can be a part: do "
                 "this before or after the capture, or in another stream",
                 gpu->name);
    return true;
}

/* ---- order ---- */
static int record_end(const wf__gpu *gpu, wf__gpu_stream *s)
{
    int result = s->recorded == s->work ? 0 : gpu->cuda->EventRecord(s->done, s->stream);
    if (!result)
        s->recorded = s->work;
    return result;
}

/* Makes the current stream wait for another. */
static bool wait_for_stream(wf__gpu *gpu, wf__gpu_stream *other, wf__failure *f)
{
    int result = record_end(gpu, other);
    result = result ? result : gpu->cuda->StreamWaitEvent(gpu->now->stream, other->done, 0);
    gpu->now->work = ++gpu->clock;
    gpu->now->after = (wf__gpu_use){ other->number, other->work };
    return wf__gpu_ok(gpu, "ordering streams", result, f);
}

/* Makes the current stream wait for all others. */
static bool wait_for_all(wf__gpu *gpu, wf__failure *f)
{
    wf__gpu_stream *now = gpu->now;
    uint64_t clock = gpu->clock;
    for (wf__gpu_stream *s = gpu->streams; s; s = s->next)
        if (s != now && s->work > now->waited && !wait_for_stream(gpu, s, f))
            return false;
    now->waited = clock;
    return true;
}

/* Makes the current stream wait for the GPU's own, which runs after all work before it. */
static bool wait_for_own(wf__gpu *gpu, wf__failure *f)
{
    wf__gpu_stream *now = gpu->now, *own = &gpu->own;
    if (own->work > now->after_own && !wait_for_stream(gpu, own, f))
        return false;
    now->after_own = own->work;
    return true;
}

bool wf__gpu_comes_after(const wf__gpu *gpu, wf__gpu_use use)
{
    const wf__gpu_stream *now = gpu->now;
    return use.stream == now->number || use.stream == gpu->own.number || use.time <= now->waited ||
           (use.stream == now->after.stream && use.time <= now->after.time);
}

/* Returns the stream with this number. NULL = the stream was freed; its work runs before later work of the GPU's own
 * stream. */
static wf__gpu_stream *find_stream(const wf__gpu *gpu, uint32_t number)
{
    wf__gpu_stream *s = gpu->streams;
    while (s && s->number != number)
        s = s->next;
    return s;
}

bool wf__gpu_use_memory(wf__gpu *gpu, wf__gpu_use *const *use, uint32_t n, wf__failure *f)
{
    for (uint32_t i = 0; i < n; ++i) {
        wf__gpu_stream *last = wf__gpu_comes_after(gpu, *use[i]) ? NULL : find_stream(gpu, use[i]->stream);
        if (last && !wait_for_stream(gpu, last, f))
            return false;
        *use[i] = (wf__gpu_use){ gpu->now->number, gpu->clock };
    }
    return true;
}

bool wf__gpu_enter(wf__gpu *gpu, wf__failure *f)
{
    wf__mutex_lock(&gpu->lock);
    gpu->now = &gpu->own;
    if (wf__gpu_ok(gpu, "making the context current", make_current(gpu, &gpu->capture_mode), f))
        return true;
    wf__mutex_unlock(&gpu->lock);
    return false;
}

bool wf__gpu_begin_on(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *f)
{
    if (!wf__gpu_enter(gpu, f))
        return false;
    if (stream && refuse_captured(gpu, stream, f)) {
        wf__gpu_end(gpu);
        return false;
    }
    gpu->now = stream ? stream : &gpu->own;
    if (gpu->now == &gpu->own ? wait_for_all(gpu, f) : wait_for_own(gpu, f)) {
        gpu->now->work = ++gpu->clock;
        return true;
    }
    wf__gpu_end(gpu);
    return false;
}

bool wf__gpu_begin(wf__gpu *gpu, wf__failure *f) { return wf__gpu_begin_on(gpu, NULL, f); }

void wf__gpu_end(wf__gpu *gpu)
{
    if (gpu->now->foreign && record_end(gpu, gpu->now))
        gpu->cuda->StreamSynchronize(gpu->now->stream);
    make_not_current(gpu, gpu->capture_mode);
    wf__mutex_unlock(&gpu->lock);
}

/* ---- copies, for which the caller waits ---- */
bool wf__gpu_begin_copy(wf__gpu *gpu, wf__gpu_use *const *use, uint32_t n, wf__gpu_copying *c, wf__failure *f)
{
    if (!wf__gpu_enter(gpu, f))
        return false;
    wf__gpu_stream *last = find_stream(gpu, use[0]->stream);
    bool ok = true;
    if (last && last != &gpu->own && !is_captured(gpu, last)) { /* the GPU's own stream would delay all others */
        gpu->now = last;
        ok = wait_for_own(gpu, f);
        last->work = ++gpu->clock;
    }
    ok = ok && wf__gpu_use_memory(gpu, use, n, f);
    *c = (wf__gpu_copying){ gpu, gpu->now, gpu->now->stream, gpu->capture_mode, gpu->recent_n };
    if (!ok) {
        wf__gpu_end(gpu);
        return false;
    }
    if (gpu->now->foreign)
        record_end(gpu, gpu->now);
    ++gpu->now->copies;
    wf__mutex_unlock(&gpu->lock); /* the context stays current */
    return true;
}

bool wf__gpu_end_copy(const wf__gpu_copying *c, const char *what, int result, wf__failure *f)
{
    wf__gpu *gpu = c->gpu;
    result = result ? result : gpu->cuda->StreamSynchronize(c->stream);
    make_not_current(gpu, c->capture_mode);
    wf__mutex_lock(&gpu->lock);
    --c->in->copies;
    bool ok = wf__gpu_ok(gpu, what, result, f);
    if (ok && gpu->recent_n == c->recent && !gpu->own.next && gpu->streams == &gpu->own)
        gpu->recent_n = 0;
    wf__mutex_unlock(&gpu->lock);
    return ok;
}

/* ---- waiting ---- */
bool wf__gpu_wait(wf__gpu *gpu, const char *what, wf__failure *f)
{
    bool ok = wf__gpu_ok(gpu, what, gpu->cuda->StreamSynchronize(gpu->now->stream), f);
    gpu->recent_n = 0;
    return ok;
}

void wf__gpu_drain_here(wf__gpu *gpu)
{
    for (wf__gpu_stream *s = gpu->streams; s; s = s->next)
        if (!s->foreign)
            gpu->cuda->StreamSynchronize(s->stream);
        else if (s->work) /* the program may have freed the stream, or submit more work */
            gpu->cuda->EventSynchronize(s->done);
}

void wf__gpu_drain(wf__gpu *gpu)
{
    wf__failure ignored = { 0 };
    if (wf__gpu_enter(gpu, &ignored)) {
        wf__gpu_drain_here(gpu);
        wf__gpu_end(gpu);
    }
    wf__str_free(&ignored.text);
}

/* Waits without the GPU's lock, so that other threads can submit work. */
static int wait_unlocked(wf__gpu *gpu, int (*wait)(void *), void *of)
{
    int mode, result = make_current(gpu, &mode);
    if (result)
        return result;
    result = wait(of);
    make_not_current(gpu, mode);
    return result;
}

static bool wait_for(wf__gpu *gpu, int (*wait)(void *), void *of, wf__failure *f)
{
    int result = wait_unlocked(gpu, wait, of);
    wf__mutex_lock(&gpu->lock);
    bool ok = wf__gpu_ok(gpu, "running a kernel", result, f);
    wf__mutex_unlock(&gpu->lock);
    return ok;
}

bool wf__gpu_finish(wf__gpu *gpu, wf__failure *f)
{
    if (!wf__gpu_begin(gpu, f))
        return false;
    unsigned recent = gpu->recent_n;
    wf__gpu_end(gpu);
    bool ok = wait_for(gpu, gpu->cuda->StreamSynchronize, gpu->own.stream, f);
    wf__mutex_lock(&gpu->lock);
    if (gpu->recent_n == recent)
        gpu->recent_n = 0;
    wf__mutex_unlock(&gpu->lock);
    return ok;
}

bool wf__gpu_finish_work(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *f)
{
    if (!stream->foreign)
        return wf__gpu_finish_stream(gpu, stream, f);
    wf__mutex_lock(&gpu->lock); /* other threads may submit to the stream */
    bool idle = !stream->work;
    wf__mutex_unlock(&gpu->lock);
    return idle || wait_for(gpu, gpu->cuda->EventSynchronize, stream->done, f);
}

bool wf__gpu_finish_stream(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *f)
{
    if (!wf__gpu_enter(gpu, f))
        return false;
    bool refused = refuse_captured(gpu, stream, f);
    wf__gpu_end(gpu);
    return !refused && wait_for(gpu, gpu->cuda->StreamSynchronize, stream->stream, f);
}

/* ---- streams ---- */
static bool is_of_primary_context(wf__gpu *gpu, void *stream, wf__failure *f)
{
    void *context = NULL;
    if (!wf__gpu_ok(gpu, "asking for the stream's context", gpu->cuda->StreamGetCtx(stream, &context), f))
        return false;
    if (context == gpu->context)
        return true;
    f->status = WF_ERR_DEVICE;
    wf__str_addf(&f->text, "the stream is none of the primary context of %s", gpu->name);
    return false;
}

bool wf__gpu_open_stream(wf__gpu *gpu, wf__gpu_stream *s, wf__failure *f)
{
    const wf__cuda *c = gpu->cuda;
    if (!wf__gpu_ok(gpu, "making an event", c->EventCreate(&s->done, WF__CUDA_EVENT_DISABLE_TIMING), f))
        return false;
    bool ok = s->foreign
                  ? is_of_primary_context(gpu, s->stream, f)
                  : wf__gpu_ok(gpu, "making a stream", c->StreamCreate(&s->stream, WF__CUDA_STREAM_NON_BLOCKING), f);
    if (!ok) {
        c->EventDestroy(s->done);
        s->done = NULL;
        return false;
    }
    s->number = ++gpu->stream_n;
    s->next = gpu->streams;
    gpu->streams = s;
    return true;
}

/* Removes the stream from the list. false = the stream is not in the list. */
static bool unlink_stream(wf__gpu *gpu, wf__gpu_stream *s)
{
    wf__gpu_stream **at = &gpu->streams;
    while (*at && *at != s)
        at = &(*at)->next;
    if (!*at)
        return false;
    *at = s->next;
    return true;
}

static void destroy_stream(const wf__gpu *gpu, const wf__gpu_stream *s)
{
    gpu->cuda->EventDestroy(s->done);
    if (!s->foreign)
        gpu->cuda->StreamDestroy(s->stream);
}

void wf__gpu_close_own(wf__gpu *gpu)
{
    if (unlink_stream(gpu, &gpu->own))
        destroy_stream(gpu, &gpu->own);
}

static wf__gpu_stream *new_stream(wf__gpu *gpu, bool foreign, void *stream, wf__failure *f)
{
    wf__gpu_stream *s = wf__alloc0(sizeof *s);
    bool ok = false;
    if (!s) {
        wf__out_of_memory(f, "a stream");
    } else if (wf__gpu_enter(gpu, f)) {
        s->foreign = foreign;
        s->stream = stream;
        ok = wf__gpu_open_stream(gpu, s, f);
        wf__gpu_end(gpu);
    }
    if (!ok)
        wf__free(s);
    return ok ? s : NULL;
}

wf__gpu_stream *wf__gpu_new_stream(wf__gpu *gpu, wf__failure *f) { return new_stream(gpu, false, NULL, f); }

wf__gpu_stream *wf__gpu_wrap_stream(wf__gpu *gpu, void *stream, wf__failure *f)
{
    return new_stream(gpu, true, stream, f);
}

/* Removes a stream from the list. The GPU's own stream waits for its work, so all later work runs after it. */
static void remove_stream(wf__gpu *gpu, wf__gpu_stream *s, wf__failure *f)
{
    if (wf__gpu_begin(gpu, f)) {
        unlink_stream(gpu, s);
        wf__gpu_end(gpu);
    } else { /* the context has ended, with its work */
        wf__mutex_lock(&gpu->lock);
        unlink_stream(gpu, s);
        wf__mutex_unlock(&gpu->lock);
    }
}

/* Waits for copies of other threads in the stream; no thread starts another one. */
static void wait_for_copies(wf__gpu *gpu, const wf__gpu_stream *s)
{
    wf__mutex_lock(&gpu->lock);
    while (s->copies) {
        wf__mutex_unlock(&gpu->lock);
        wf__yield();
        wf__mutex_lock(&gpu->lock);
    }
    wf__mutex_unlock(&gpu->lock);
}

void wf__gpu_free_stream(wf__gpu *gpu, wf__gpu_stream *s)
{
    wf__failure ignored = { 0 };
    if (!s)
        return;
    remove_stream(gpu, s, &ignored);
    wait_for_copies(gpu, s);
    if (wf__gpu_enter(gpu, &ignored)) {
        destroy_stream(gpu, s);
        wf__gpu_end(gpu);
    }
    wf__free(s);
    wf__str_free(&ignored.text);
}

/* ---- events ---- */
void *wf__gpu_record(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *f)
{
    void *event = NULL;
    if (!wf__gpu_enter(gpu, f))
        return NULL;
    bool ok =
        !refuse_captured(gpu, stream, f) && wf__gpu_ok(gpu, "making an event", gpu->cuda->EventCreate(&event, 0), f);
    if (ok && !wf__gpu_ok(gpu, "recording an event", gpu->cuda->EventRecord(event, stream->stream), f)) {
        gpu->cuda->EventDestroy(event);
        event = NULL;
    }
    wf__gpu_end(gpu);
    return event;
}

bool wf__gpu_reached(wf__gpu *gpu, void *event, wf__failure *f)
{
    return wait_for(gpu, gpu->cuda->EventSynchronize, event, f);
}

bool wf__gpu_await(wf__gpu *gpu, wf__gpu_stream *stream, wf__gpu *of, void *event, wf__failure *f)
{
    if (of->cuda != gpu->cuda) /* events of another driver: the caller waits */
        return wf__gpu_reached(of, event, f);
    if (!wf__gpu_enter(gpu, f))
        return false;
    bool ok = !refuse_captured(gpu, stream, f) &&
              wf__gpu_ok(gpu, "waiting for an event", gpu->cuda->StreamWaitEvent(stream->stream, event, 0), f);
    wf__gpu_end(gpu);
    return ok;
}

bool wf__gpu_elapsed(wf__gpu *gpu, void *from, void *to, double *seconds, wf__failure *f)
{
    float ms = 0;
    if (!wf__gpu_reached(gpu, from, f) || !wf__gpu_reached(gpu, to, f) || !wf__gpu_enter(gpu, f))
        return false;
    bool ok = wf__gpu_ok(gpu, "asking for a time", gpu->cuda->EventElapsedTime(&ms, from, to), f);
    wf__gpu_end(gpu);
    if (ok)
        *seconds = (double)ms * 1e-3;
    return ok;
}

void wf__gpu_free_event(wf__gpu *gpu, void *event)
{
    wf__failure ignored = { 0 };
    if (wf__gpu_enter(gpu, &ignored)) {
        gpu->cuda->EventDestroy(event);
        wf__gpu_end(gpu);
    }
    wf__str_free(&ignored.text);
}
