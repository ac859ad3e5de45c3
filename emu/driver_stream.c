/* driver_stream.c - streams and events. Work is done when it is submitted, so waits and queries only tell order.c that
 * the host knows of the end of work. */
#include "base/floats.h"
#include "emu/driver.h"

/* ---- streams ---- */
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

/* Takes the lock, as wfe_enter. Returns the error of the stream's context. */
static CUresult stream_status(CUstream stream, CUcontext *c)
{
    CUresult status = wfe_enter(c);
    if (wfe_known(stream, EMU_OBJ_STREAM))
        status = wfe_context_of(stream->context);
    else if (!wfe_stream_known(stream))
        status = status == CUDA_SUCCESS ? CUDA_ERROR_INVALID_HANDLE : status;
    return status;
}
/* A wait or query: the host then knows that all work of the stream is over. */
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
/* Host functions run at once and count as a wait, because they may tell other threads how far the stream is. They run
 * without the lock: they may not call the driver, but they may wait for threads that do. */
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
    if (status == CUDA_SUCCESS && (!wfe_known(event, EMU_OBJ_EVENT) || !wfe_is_stream_of(stream, event->context)))
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
static WF__APART float milliseconds(double start, double end) { return (float)((end - start) * 1e3); }

EMU_EXPORT CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
    CUresult status = ms ? wait_for_event(start) : CUDA_ERROR_INVALID_VALUE;
    status = status == CUDA_SUCCESS ? wait_for_event(end) : status;
    if (status != CUDA_SUCCESS)
        return status;
    wf__mutex_lock(&wfe_driver.lock);
    if (!start->recorded || !end->recorded || (start->flags & 2) || (end->flags & 2) || start->context != end->context)
        return wfe_leave(CUDA_ERROR_INVALID_HANDLE);
    wf__floats floats = wf__floats_begin();
    *ms = milliseconds(start->time, end->time);
    wf__floats_end(floats);
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    return cuEventElapsedTime_v2(ms, start, end);
}
