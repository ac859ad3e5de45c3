/* gpu_foreign.c - what belongs to the host program on a GPU: its memory, its streams, and events in these. */
#include "run/gpu_internal.h"
#include <stdio.h>

/* ---- memory ---- */
static bool asked(const wf__gpu *gpu, int attribute, const char *at, void *value)
{
    return gpu->cuda->PointerGetAttribute(value, attribute, wf__gpu_address(at)) == 0;
}

static bool refuse(const wf__gpu *gpu, const char *at, wf_status status, wf__failure *f, const char *what)
{
    f->status = status;
    wf__str_addf(&f->text, "0x%llx is no memory that %s can reach: %s", (unsigned long long)wf__gpu_address(at),
                 gpu->name, what);
    return false;
}

/* Managed memory and pinned memory of the processor are everywhere; memory without a context (of pools) is its
 * device's. */
static bool is_within_reach(const wf__gpu *gpu, const char *at, wf__failure *f)
{
    unsigned type = 0, managed = 0;
    int device = -1;
    void *context = NULL;
    char where[48];
    if (!asked(gpu, WF__CUDA_POINTER_MEMORY_TYPE, at, &type))
        return refuse(gpu, at, WF_ERR_ARG, f, "the driver does not know it (memory of the processor, or none)");
    if (type == WF__CUDA_MEMORY_HOST || (asked(gpu, WF__CUDA_POINTER_IS_MANAGED, at, &managed) && managed))
        return true;
    if (asked(gpu, WF__CUDA_POINTER_DEVICE, at, &device) && device != gpu->device) {
        snprintf(where, sizeof where, "it is that of device %d", device);
        return refuse(gpu, at, WF_ERR_DEVICE, f, where);
    }
    if (asked(gpu, WF__CUDA_POINTER_CONTEXT, at, &context) && context && context != gpu->context)
        return refuse(gpu, at, WF_ERR_DEVICE, f, "it belongs to another CUDA context than the device's primary one");
    return true;
}

bool wf__gpu_reaches(wf__gpu *gpu, const char *lo, const char *hi, wf__failure *f)
{
    uint64_t first = 0, last = 0;
    if (!wf__gpu_enter(gpu, f))
        return false;
    bool ok = is_within_reach(gpu, lo, f);
    if (ok && asked(gpu, WF__CUDA_POINTER_RANGE_START, lo, &first) &&
        (!asked(gpu, WF__CUDA_POINTER_RANGE_START, hi - 1, &last) || first != last)) {
        f->status = WF_ERR_ARG;
        wf__str_addf(&f->text, "the memory at 0x%llx of %s has less than the %lld bytes that the array spans",
                     (unsigned long long)wf__gpu_address(lo), gpu->name, (long long)(hi - lo));
        ok = false;
    }
    wf__gpu_end(gpu);
    return ok;
}

void wf__gpu_settle(wf__gpu *gpu)
{
    wf__failure ignored = { 0 };
    if (wf__gpu_enter(gpu, &ignored)) {
        wf__gpu_settle_here(gpu);
        wf__gpu_end(gpu);
    }
    wf__str_free(&ignored.text);
}

/* ---- streams ---- */
bool wf__gpu_takes_stream(wf__gpu *gpu, void *stream, wf__failure *f)
{
    void *context = NULL;
    if (!wf__gpu_enter(gpu, f))
        return false;
    bool ok = wf__gpu_ok(gpu, "asking for the stream's context", gpu->cuda->StreamGetCtx(stream, &context), f);
    if (ok && context != gpu->context) {
        f->status = WF_ERR_DEVICE;
        wf__str_addf(&f->text, "the stream is none of the primary context of %s", gpu->name);
        ok = false;
    }
    if (ok && !gpu->turn)
        ok = wf__gpu_ok(gpu, "making an event", gpu->cuda->EventCreate(&gpu->turn, WF__CUDA_EVENT_DISABLE_TIMING), f);
    wf__gpu_end(gpu);
    return ok;
}

/* What may take long is waited for without the lock; the driver has its own. */
static int unlocked(wf__gpu *gpu, int (*wait)(void *), void *of)
{
    void *ours;
    int result = gpu->cuda->CtxPushCurrent(gpu->context);
    if (result)
        return result;
    result = wait(of);
    gpu->cuda->CtxPopCurrent(&ours);
    return result;
}

static bool waited(wf__gpu *gpu, int (*wait)(void *), void *of, wf__failure *f)
{
    int result = unlocked(gpu, wait, of);
    wf__mutex_lock(&gpu->lock);
    bool ok = wf__gpu_ok(gpu, "running a kernel", result, f);
    wf__mutex_unlock(&gpu->lock);
    return ok;
}

bool wf__gpu_finish_stream(wf__gpu *gpu, void *stream, wf__failure *f)
{
    return waited(gpu, gpu->cuda->StreamSynchronize, stream, f);
}

/* ---- events ---- */
void *wf__gpu_record(wf__gpu *gpu, void *stream, wf__failure *f)
{
    void *event = NULL;
    if (!wf__gpu_enter(gpu, f))
        return NULL;
    bool ok = wf__gpu_ok(gpu, "making an event", gpu->cuda->EventCreate(&event, 0), f);
    if (ok && !wf__gpu_ok(gpu, "recording an event", gpu->cuda->EventRecord(event, stream), f)) {
        gpu->cuda->EventDestroy(event);
        event = NULL;
    }
    wf__gpu_end(gpu);
    return event;
}

bool wf__gpu_reached(wf__gpu *gpu, void *event, wf__failure *f)
{
    return waited(gpu, gpu->cuda->EventSynchronize, event, f);
}

bool wf__gpu_await(wf__gpu *gpu, void *stream, wf__gpu *of, void *event, wf__failure *f)
{
    if (of->cuda != gpu->cuda) /* of another driver: an emulator's */
        return wf__gpu_reached(of, event, f);
    if (!wf__gpu_enter(gpu, f))
        return false;
    bool ok = wf__gpu_ok(gpu, "waiting for an event", gpu->cuda->StreamWaitEvent(stream, event, 0), f);
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
