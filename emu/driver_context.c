/* driver_context.c - contexts: the primary context of each device, others, the current one of a thread, peer access. */
#include "emu/driver.h"
#include <stdlib.h>

static CUcontext make_context(int device, bool primary)
{
    CUcontext c = wfe_new_handle(sizeof *c, EMU_OBJ_CONTEXT);
    if (!c)
        return NULL;
    c->device = device;
    c->primary = primary;
    return c;
}

void wfe_context_drop(CUcontext c)
{
    emu_driver *d = &wfe_driver;
    wfe_order_context_gone(c);
    for (uint32_t i = d->n_handles; i-- > 0;) {
        emu_handle h = d->handles[i];
        if (h.kind == EMU_OBJ_MODULE && ((CUmodule)h.at)->context == c) {
            wfe_module_drop(h.at);
            i = d->n_handles;
        } else if ((h.kind == EMU_OBJ_STREAM && ((CUstream)h.at)->context == c) ||
                   (h.kind == EMU_OBJ_EVENT && ((CUevent)h.at)->context == c)) {
            if (h.kind == EMU_OBJ_STREAM)
                wfe_capture_drop(h.at);
            if (h.kind == EMU_OBJ_EVENT)
                wfe_clock_free(&((CUevent)h.at)->before);
            wfe_free_handle(h.at);
            i = d->n_handles;
        }
    }
    for (uint32_t i = 0; i < d->heap.n; i++) {
        emu_memory *m = d->heap.list[i];
        if (!m->at || m->owner != c)
            continue;
        if (m->kind == EMU_MEM_DEVICE)
            d->used[m->device] -= m->size;
        void *host = (m->kind == EMU_MEM_MANAGED || m->kind == EMU_MEM_PINNED) && !m->registered ? m->at : NULL;
        wfe_heap_drop(&d->heap, m);
        free(host);
    }
    wfe_free_handle(c);
}

EMU_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult status = context ? wfe_device_status(device) : CUDA_ERROR_INVALID_VALUE;
    if (status != CUDA_SUCCESS)
        return status;
    emu_driver *d = &wfe_driver;
    wf__mutex_lock(&d->lock);
    if (!d->primary[device])
        d->primary[device] = make_context(device, true);
    if (!d->primary[device])
        return wfe_leave(CUDA_ERROR_OUT_OF_MEMORY);
    d->retained[device]++;
    *context = d->primary[device];
    return wfe_leave(CUDA_SUCCESS);
}
static CUresult drop_primary(CUdevice device, bool reset)
{
    emu_driver *d = &wfe_driver;
    CUresult status = wfe_device_status(device);
    if (status != CUDA_SUCCESS)
        return status;
    wf__mutex_lock(&d->lock);
    if (!reset && !d->retained[device])
        return wfe_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (reset || --d->retained[device] == 0) {
        if (d->primary[device])
            wfe_context_drop(d->primary[device]);
        d->primary[device] = reset && d->retained[device] ? make_context(device, true) : NULL;
    }
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { return drop_primary(device, false); }
EMU_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) { return drop_primary(device, true); }
EMU_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    CUresult status = flags && active ? wfe_device_status(device) : CUDA_ERROR_INVALID_VALUE;
    if (status == CUDA_SUCCESS) {
        *flags = 0;
        *active = wfe_driver.retained[device] > 0;
    }
    return status;
}
EMU_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    (void)flags;
    return wfe_device_status(device);
}

EMU_EXPORT CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    (void)flags;
    CUresult status = context ? wfe_device_status(device) : CUDA_ERROR_INVALID_VALUE;
    if (status != CUDA_SUCCESS)
        return status;
    wf__mutex_lock(&wfe_driver.lock);
    CUcontext made = make_context(device, false);
    status = made ? wfe_push_current(made) : CUDA_ERROR_OUT_OF_MEMORY;
    if (status == CUDA_SUCCESS)
        *context = made;
    else if (made)
        wfe_context_drop(made);
    return wfe_leave(status);
}
EMU_EXPORT CUresult cuCtxDestroy_v2(CUcontext context)
{
    wf__mutex_lock(&wfe_driver.lock);
    if (!wfe_known(context, EMU_OBJ_CONTEXT) || context->primary)
        return wfe_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (wfe_current() == context)
        wfe_pop_current();
    wfe_context_drop(context);
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuCtxGetCurrent(CUcontext *context)
{
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    *context = wfe_current();
    return wfe_driver.ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
EMU_EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
    wf__mutex_lock(&wfe_driver.lock);
    bool good = !context || wfe_known(context, EMU_OBJ_CONTEXT);
    wf__mutex_unlock(&wfe_driver.lock);
    if (!good)
        return CUDA_ERROR_INVALID_CONTEXT;
    wfe_pop_current();
    return context ? wfe_push_current(context) : CUDA_SUCCESS;
}
EMU_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    wf__mutex_lock(&wfe_driver.lock);
    bool good = wfe_known(context, EMU_OBJ_CONTEXT);
    wf__mutex_unlock(&wfe_driver.lock);
    return good ? wfe_push_current(context) : CUDA_ERROR_INVALID_CONTEXT;
}
EMU_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    CUcontext top = wfe_pop_current();
    if (!top)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context)
        *context = top;
    return CUDA_SUCCESS;
}
EMU_EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (c && device && status != CUDA_ERROR_CONTEXT_IS_DESTROYED)
        *device = c->device;
    return wfe_leave(!device ? CUDA_ERROR_INVALID_VALUE : status);
}
EMU_EXPORT CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version)
{
    (void)context;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = 3020;
    return CUDA_SUCCESS;
}
EMU_EXPORT CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}
EMU_EXPORT CUresult cuCtxSynchronize(void)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    status = status == CUDA_SUCCESS ? wfe_waits_for_all(c) : status;
    if (status == CUDA_SUCCESS)
        wfe_order_host_waits_for_all(c);
    return wfe_leave(status);
}
static CUresult set_peer(CUcontext other, bool enable)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status != CUDA_SUCCESS)
        return wfe_leave(status);
    if (!wfe_known(other, EMU_OBJ_CONTEXT) || other->device == c->device)
        return wfe_leave(CUDA_ERROR_INVALID_CONTEXT);
    bool is = c->peers >> other->device & 1;
    if (is == enable)
        return wfe_leave(is ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    c->peers ^= 1u << other->device;
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext other, unsigned flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE : set_peer(other, true);
}
EMU_EXPORT CUresult cuCtxDisablePeerAccess(CUcontext other) { return set_peer(other, false); }
