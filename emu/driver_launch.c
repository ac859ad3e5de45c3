/* driver_launch.c - streams, events, launches. Work is done when it is submitted; what goes wrong in a kernel is kept
 * by the context and given by the calls after it, as an asynchronous failure is.
 */
#include "emu/driver.h"
#include <stdio.h>

/* ---- streams ---- */
bool wfe_stream_known(CUstream stream)
{
    return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD || wfe_known(stream, EMU_OBJ_STREAM);
}

/* Is it a stream of this context? Default streams are of any. */
static bool is_stream_of(CUstream stream, CUcontext c)
{
    return wfe_known(stream, EMU_OBJ_STREAM) ? stream->context == c : wfe_stream_known(stream);
}

EMU_EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    (void)priority;
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status == CUDA_SUCCESS && (!stream || flags > 1))
        status = CUDA_ERROR_INVALID_VALUE;
    if (status != CUDA_SUCCESS)
        return wfe_leave(status);
    CUstream s = wfe_new_handle(sizeof *s, EMU_OBJ_STREAM);
    if (!s)
        return wfe_leave(CUDA_ERROR_OUT_OF_MEMORY);
    *s = (struct CUstream_st){ .context = c, .flags = flags };
    wfe_order_stream(s);
    *stream = s;
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}
EMU_EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (!wfe_known(stream, EMU_OBJ_STREAM))
        return wfe_leave(CUDA_ERROR_INVALID_HANDLE);
    wfe_order_stream_gone(stream);
    wfe_capture_drop(stream);
    wfe_free_handle(stream);
    return wfe_leave(status == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : status);
}

/* The status of what was submitted to a stream. Enters. */
static CUresult stream_status(CUstream stream, CUcontext *c)
{
    CUresult status = wfe_enter(c);
    if (wfe_known(stream, EMU_OBJ_STREAM))
        status = wfe_context_of(stream->context);
    else if (!wfe_stream_known(stream))
        status = status == CUDA_SUCCESS ? CUDA_ERROR_INVALID_HANDLE : status;
    return status;
}
/* The host knows then that all of it is over. */
static CUresult wait_for(CUstream stream)
{
    CUcontext c;
    CUresult status = wfe_unsafe(stream_status(stream, &c));
    if (status == CUDA_SUCCESS)
        status = wfe_use_stream(c, stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (status == CUDA_SUCCESS)
        wfe_order_host_waits_for(c, stream);
    return wfe_leave(status);
}
EMU_EXPORT CUresult cuStreamSynchronize(CUstream stream) { return wait_for(stream); }
EMU_EXPORT CUresult cuStreamQuery(CUstream stream) { return wait_for(stream); }
EMU_EXPORT CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (!context || !wfe_stream_known(stream))
        return wfe_leave(context ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
    bool own = wfe_known(stream, EMU_OBJ_STREAM);
    *context = own ? stream->context : c;
    return wfe_leave(own ? CUDA_SUCCESS : status);
}
EMU_EXPORT CUresult cuStreamGetFlags(CUstream stream, unsigned *flags)
{
    wf__mutex_lock(&wfe_driver.lock);
    if (!flags || !wfe_stream_known(stream))
        return wfe_leave(CUDA_ERROR_INVALID_HANDLE);
    *flags = wfe_known(stream, EMU_OBJ_STREAM) ? stream->flags : 0;
    return wfe_leave(CUDA_SUCCESS);
}
/* Host functions run at once, and whoever they tell may know that the stream has got there. Without the lock: they may
 * not call the driver, but they may block on those who do. */
EMU_EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user)
{
    CUresult status = function ? wait_for(stream) : CUDA_ERROR_INVALID_VALUE;
    if (status == CUDA_SUCCESS)
        function(user);
    return status;
}
EMU_EXPORT CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *user, unsigned flags)
{
    CUresult status = callback && !flags ? wait_for(stream) : CUDA_ERROR_INVALID_VALUE;
    if (status != CUDA_ERROR_INVALID_VALUE && status != CUDA_ERROR_INVALID_HANDLE)
        callback(stream, status, user);
    return status;
}

/* ---- events ---- */
EMU_EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status == CUDA_SUCCESS && (!event || flags > 7))
        status = CUDA_ERROR_INVALID_VALUE;
    if (status != CUDA_SUCCESS)
        return wfe_leave(status);
    CUevent e = wfe_new_handle(sizeof *e, EMU_OBJ_EVENT);
    if (!e)
        return wfe_leave(CUDA_ERROR_OUT_OF_MEMORY);
    e->context = c;
    e->flags = flags;
    *event = e;
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
    wf__mutex_lock(&wfe_driver.lock);
    if (!wfe_known(event, EMU_OBJ_EVENT))
        return wfe_leave(CUDA_ERROR_INVALID_HANDLE);
    wfe_clock_free(&event->before);
    wfe_free_handle(event);
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status == CUDA_SUCCESS && (!wfe_known(event, EMU_OBJ_EVENT) || !is_stream_of(stream, event->context)))
        status = CUDA_ERROR_INVALID_HANDLE;
    if (status == CUDA_SUCCESS)
        status = wfe_use_stream(c, stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (status == CUDA_SUCCESS) {
        event->recorded = true;
        event->time = wf__now();
        wfe_order_record(&event->before, c, stream);
    }
    return wfe_leave(status);
}
static CUresult event_status(CUevent event)
{
    bool known = wfe_known(event, EMU_OBJ_EVENT);
    return known ? wfe_context_of(event->context) : CUDA_ERROR_INVALID_HANDLE;
}
static CUresult wait_for_event(CUevent event)
{
    wf__mutex_lock(&wfe_driver.lock);
    CUresult status = wfe_unsafe(event_status(event));
    if (status == CUDA_SUCCESS)
        wfe_order_host_waits(&event->before);
    return wfe_leave(status);
}
EMU_EXPORT CUresult cuEventQuery(CUevent event) { return wait_for_event(event); }
EMU_EXPORT CUresult cuEventSynchronize(CUevent event) { return wait_for_event(event); }
EMU_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    (void)flags;
    CUcontext c;
    CUresult status = stream_status(stream, &c);
    status = status == CUDA_SUCCESS ? event_status(event) : status;
    if (status == CUDA_SUCCESS)
        status = wfe_use_stream(c, stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (status == CUDA_SUCCESS)
        wfe_order_wait(c, stream, &event->before);
    return wfe_leave(status);
}
EMU_EXPORT CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
    CUresult status = ms ? wait_for_event(start) : CUDA_ERROR_INVALID_VALUE;
    status = status == CUDA_SUCCESS ? wait_for_event(end) : status;
    if (status != CUDA_SUCCESS)
        return status;
    wf__mutex_lock(&wfe_driver.lock);
    if (!start->recorded || !end->recorded || (start->flags & 2) || (end->flags & 2) || start->context != end->context)
        return wfe_leave(CUDA_ERROR_INVALID_HANDLE);
    *ms = (float)((end->time - start->time) * 1e3);
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    return cuEventElapsedTime_v2(ms, start, end);
}

/* ---- launches ---- */
static CUresult copy_params(const emu_func *f, void **params, void **extra, uint8_t *out)
{
    const uint8_t *buffer = NULL;
    size_t size = 0;
    for (void **e = extra; e && e[0]; e += 2) { /* 1: buffer, 2: address of its size */
        if ((uintptr_t)e[0] == 1)
            buffer = e[1];
        else if ((uintptr_t)e[0] == 2)
            memcpy(&size, e[1], sizeof size);
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (buffer) {
        if (size < f->param_bytes || params)
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(out, buffer, f->param_bytes);
        return CUDA_SUCCESS;
    }
    if (f->n_params && !params)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < f->n_params; i++) {
        if (!params[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(out + f->params[i].at, params[i], (size_t)f->params[i].size);
    }
    return CUDA_SUCCESS;
}

static CUresult check_shape(const struct CUfunc_st *f, const emu_launch *l)
{
    static const uint32_t most_grid[3] = { INT32_MAX, 65535, 65535 }, most_block[3] = { 1024, 1024, 64 };
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (!l->grid[i] || l->grid[i] > most_grid[i] || !l->block[i] || l->block[i] > most_block[i])
            return CUDA_ERROR_INVALID_VALUE;
        if (f->func->req[0] && l->block[i] != f->func->req[i])
            return CUDA_ERROR_INVALID_VALUE;
        threads *= l->block[i];
    }
    if (threads > f->func->max_threads || l->dynamic_bytes > f->dynamic)
        return CUDA_ERROR_INVALID_VALUE;
    int blocks = EMU_THREADS_PER_SM / (int)((threads + EMU_LANES - 1) / EMU_LANES * EMU_LANES) * EMU_SMS;
    if (l->cooperative && (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] > (uint64_t)blocks)
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return CUDA_SUCCESS;
}

static CUresult code_of(emu_fault fault)
{
    switch (fault) {
    case EMU_FAULT_NONE:
        return CUDA_SUCCESS;
    case EMU_FAULT_ADDRESS:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case EMU_FAULT_MISALIGNED:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case EMU_FAULT_SPACE:
        return CUDA_ERROR_INVALID_ADDRESS_SPACE;
    case EMU_FAULT_STACK:
        return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case EMU_FAULT_DEADLOCK:
    case EMU_FAULT_TIMEOUT:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    default:
        return CUDA_ERROR_LAUNCH_FAILED;
    }
}

static _Thread_local char launch_name[64];
EMU_EXPORT void weftEmuName(const char *name) { snprintf(launch_name, sizeof launch_name, "%s", name ? name : ""); }

/* Runs it, and looks for what is not in order with what has run before. */
static void run_ordered(CUcontext c, emu_launch *l, CUstream stream)
{
    char what[160];
    snprintf(what, sizeof what, "kernel '%.80s'%s%s%s", l->func->name, *launch_name ? " of '" : "", launch_name,
             *launch_name ? "'" : "");
    emu_op *op = wfe_op_begin(c, stream, what, "writes");
    l->touched = op ? &op->touched : NULL;
    c->error = code_of(wfe_run(l));
    if (c->error == CUDA_SUCCESS)
        wfe_op_end(op, false);
    else
        wfe_op_drop(op);
}

CUresult wfe_run_kernel(CUcontext c, CUfunction f, emu_launch *l, CUstream stream, const uint8_t *params)
{
    emu_driver *d = &wfe_driver;
    wf__str report = { 0 };
    l->module = f->module->m;
    l->func = f->func;
    l->heap = &d->heap;
    l->device = c->device;
    l->peers = c->peers;
    l->params = params;
    l->find = d->find;
    l->limit = d->limit;
    l->id = ++d->launches;
    l->report = &report;
    run_ordered(c, l, stream);
    d->instructions += l->instructions;
    if (report.at)
        wfe_set_report(report.at);
    wf__str_free(&report);
    return CUDA_SUCCESS;
}

static CUresult run(CUcontext c, CUfunction f, emu_launch *l, CUstream stream, void **params, void **extra)
{
    bool captured = wfe_known(stream, EMU_OBJ_STREAM) && stream->capture;
    CUresult status = check_shape(f, l);
    if (status == CUDA_SUCCESS && !captured)
        status = wfe_use_stream(c, stream, CUDA_SUCCESS);
    if (status != CUDA_SUCCESS)
        return status;
    uint8_t *block = wf__alloc0(f->func->param_bytes + 1u);
    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    status = copy_params(f->func, params, extra, block);
    if (status == CUDA_SUCCESS)
        status = captured ? wfe_capture_kernel(stream, f, l, block) : wfe_run_kernel(c, f, l, stream, block);
    wf__free(block);
    return status;
}

static CUresult launch(CUfunction f, emu_launch *l, CUstream stream, void **params, void **extra)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status == CUDA_SUCCESS && (!wfe_known(f, EMU_OBJ_FUNCTION) || !is_stream_of(stream, c)))
        status = CUDA_ERROR_INVALID_HANDLE;
    if (status == CUDA_SUCCESS && f->module->context != c)
        status = CUDA_ERROR_INVALID_CONTEXT;
    return wfe_leave(status == CUDA_SUCCESS ? run(c, f, l, stream, params, extra) : status);
}
EMU_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned dynamic, CUstream stream, void **params, void **extra)
{
    emu_launch l = { .grid = { gx, gy, gz }, .block = { bx, by, bz }, .dynamic_bytes = dynamic };
    return launch(f, &l, stream, params, extra);
}
EMU_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                              unsigned by, unsigned bz, unsigned dynamic, CUstream stream,
                                              void **params)
{
    emu_launch l = { .grid = { gx, gy, gz }, .block = { bx, by, bz }, .dynamic_bytes = dynamic, .cooperative = true };
    return launch(f, &l, stream, params, NULL);
}
EMU_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    if (c->numAttrs)
        return CUDA_ERROR_NOT_SUPPORTED;
    return cuLaunchKernel(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
                          c->sharedMemBytes, c->hStream, params, extra);
}
