/* driver_memory.c - allocations of device, pinned and managed memory, pools, and attributes of pointers. */
#include <stdlib.h>
#include "emu/driver.h"

enum { HOST_ALIGN = 4096, PITCH = 512 };

/* ---- allocations ---- */
static CUresult allocate_memory(CUdeviceptr *out, size_t bytes, CUcontext c)
{
    emu_driver *d = &wfe_driver;
    if (!out || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > d->memory[c->device] - d->used[c->device])
        return CUDA_ERROR_OUT_OF_MEMORY;
    emu_memory *m = wfe_heap_add(&d->heap, bytes, EMU_MEM_DEVICE, c->device, NULL);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m->owner = c;
    d->used[c->device] += bytes;
    *out = m->base;
    return CUDA_SUCCESS;
}
static emu_memory *find_live(CUdeviceptr address)
{
    emu_memory *m = wfe_heap_find(&wfe_driver.heap, address);
    return m && m->at && address - m->base < m->size ? m : NULL;
}

/* Ends an operation that allocates or frees memory: it counts as a write of all bytes, so that uses must be ordered
 * after the allocation and before the release. */
static void touch_all(emu_op *op, emu_memory *m)
{
    if (op)
        wfe_touch(&op->touched, m, 0, m->size, EMU_TOUCH_WRITE);
    wfe_op_end(op, false);
}

EMU_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    CUcontext c;
    CUresult status = wfe_unsafe(wfe_enter(&c));
    return wfe_leave(status == CUDA_SUCCESS ? allocate_memory(address, bytes, c) : status);
}
EMU_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                                       unsigned element)
{
    size_t row = (width + PITCH - 1) / PITCH * PITCH, bytes;
    if (!pitch || (element != 4 && element != 8 && element != 16) || row < width || !wf__mul_size(row, height, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = cuMemAlloc_v2(address, bytes);
    if (status == CUDA_SUCCESS)
        *pitch = row;
    return status;
}
EMU_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    bool mine = pool >= wfe_driver.pools && pool < wfe_driver.pools + EMU_MAX_DEVICES;
    if (status == CUDA_SUCCESS && (!wfe_stream_known(stream) || !(mine || wfe_known(pool, EMU_OBJ_POOL))))
        status = CUDA_ERROR_INVALID_HANDLE;
    if (status == CUDA_SUCCESS)
        status = wfe_use_stream(c, stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (status == CUDA_SUCCESS)
        status = allocate_memory(address, bytes, c);
    if (status == CUDA_SUCCESS) {
        emu_memory *m = find_live(*address);
        m->pooled = true;
        touch_all(wfe_op_begin(c, stream, __func__, "allocates"), m);
        pool->used += bytes;
        pool->most = pool->used > pool->most ? pool->used : pool->most;
    }
    return wfe_leave(status);
}
EMU_EXPORT CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    wfe_leave(status);
    return status != CUDA_SUCCESS ? status
                                  : cuMemAllocFromPoolAsync(address, bytes, &wfe_driver.pools[c->device], stream);
}

/* cuMemFree waits for the device, except for memory that was allocated in stream order. */
static CUresult free_memory(CUdeviceptr address, CUcontext c, const char *call, bool async, CUstream stream)
{
    emu_driver *d = &wfe_driver;
    if (!address)
        return CUDA_SUCCESS;
    emu_memory *m = find_live(address);
    if (!m || m->base != address || m->kind == EMU_MEM_PINNED || m->kind == EMU_MEM_MODULE)
        return CUDA_ERROR_INVALID_VALUE;
    if (async)
        touch_all(wfe_op_begin(c, stream, call, "frees"), m);
    else if (m->pooled)
        touch_all(wfe_op_begin_host(c, call, "frees"), m);
    if (m->kind == EMU_MEM_DEVICE) {
        d->used[m->device] -= m->size;
        struct CUmemPoolHandle_st *p = &d->pools[m->device];
        p->used -= m->size < p->used ? m->size : p->used;
    }
    void *host = m->kind == EMU_MEM_MANAGED ? m->at : NULL;
    wfe_heap_drop(&d->heap, m);
    free(host);
    return CUDA_SUCCESS;
}
EMU_EXPORT CUresult cuMemFree_v2(CUdeviceptr address)
{
    CUcontext c;
    CUresult status = wfe_unsafe(wfe_enter(&c));
    return wfe_leave(status == CUDA_SUCCESS ? free_memory(address, c, __func__, false, NULL) : status);
}
EMU_EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status == CUDA_SUCCESS && !wfe_stream_known(stream))
        status = CUDA_ERROR_INVALID_HANDLE;
    if (status == CUDA_SUCCESS)
        status = wfe_use_stream(c, stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return wfe_leave(status == CUDA_SUCCESS ? free_memory(address, c, __func__, true, stream) : status);
}
EMU_EXPORT CUresult cuMemGetInfo_v2(size_t *left, size_t *total)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status == CUDA_SUCCESS && left)
        *left = (size_t)(wfe_driver.memory[c->device] - wfe_driver.used[c->device]);
    if (status == CUDA_SUCCESS && total)
        *total = (size_t)wfe_driver.memory[c->device];
    return wfe_leave(status);
}

static CUresult allocate_host(void **out, size_t bytes, emu_memory_kind kind)
{
    CUcontext c;
    CUresult status = wfe_unsafe(wfe_enter(&c));
    if (status == CUDA_SUCCESS && (!out || !bytes))
        status = CUDA_ERROR_INVALID_VALUE;
    if (status == CUDA_SUCCESS && bytes > wfe_driver.memory[c->device]) /* as if the host had no more memory either */
        status = CUDA_ERROR_OUT_OF_MEMORY;
    if (status != CUDA_SUCCESS)
        return wfe_leave(status);
    void *at = wf__alloc_fails() ? NULL : aligned_alloc(HOST_ALIGN, (bytes + HOST_ALIGN - 1) / HOST_ALIGN * HOST_ALIGN);
    emu_memory *m = at ? wfe_heap_add(&wfe_driver.heap, bytes, kind, c->device, at) : NULL;
    if (!m) {
        free(at);
        return wfe_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    m->owner = c;
    *out = at;
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    return allocate_host(out, bytes, EMU_MEM_PINNED);
}
EMU_EXPORT CUresult cuMemAllocHost_v2(void **out, size_t bytes) { return allocate_host(out, bytes, EMU_MEM_PINNED); }
EMU_EXPORT CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    void *at = NULL;
    if (!address || (flags != 1 && flags != 2))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = allocate_host(&at, bytes, EMU_MEM_MANAGED);
    if (status == CUDA_SUCCESS) {
        memset(at, 0, bytes);
        *address = (CUdeviceptr)(uintptr_t)at;
    }
    return status;
}
static CUresult free_host(const char *call, void *at, bool registered)
{
    CUcontext c;
    CUresult status = wfe_unsafe(wfe_enter(&c));
    if (status != CUDA_SUCCESS)
        return wfe_leave(status);
    emu_memory *m = find_live((CUdeviceptr)(uintptr_t)at);
    if (!m || m->kind != EMU_MEM_PINNED || m->registered != registered || (!registered && m->at != at))
        return wfe_leave(registered ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE);
    void *host = registered ? NULL : m->at;
    touch_all(wfe_op_begin_host(c, call, "frees"), m);
    wfe_heap_drop(&wfe_driver.heap, m);
    free(host);
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuMemFreeHost(void *at) { return free_host(__func__, at, false); }
EMU_EXPORT CUresult cuMemHostUnregister(void *at) { return free_host(__func__, at, true); }
EMU_EXPORT CUresult cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags)
{
    (void)flags;
    CUcontext c;
    CUresult status = wfe_unsafe(wfe_enter(&c));
    if (status == CUDA_SUCCESS && (!at || !bytes))
        status = CUDA_ERROR_INVALID_VALUE;
    if (status == CUDA_SUCCESS &&
        (find_live((CUdeviceptr)(uintptr_t)at) || find_live((CUdeviceptr)(uintptr_t)at + bytes - 1)))
        status = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (status != CUDA_SUCCESS)
        return wfe_leave(status);
    emu_memory *m = wfe_heap_add(&wfe_driver.heap, bytes, EMU_MEM_PINNED, c->device, at);
    if (m) {
        m->registered = true;
        m->owner = c;
    }
    return wfe_leave(m ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}
EMU_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *at, unsigned flags)
{
    (void)flags;
    CUcontext c;
    CUresult status = wfe_enter(&c);
    const emu_memory *m = find_live((CUdeviceptr)(uintptr_t)at);
    if (status == CUDA_SUCCESS && (!address || !m || m->kind != EMU_MEM_PINNED))
        status = CUDA_ERROR_INVALID_VALUE;
    if (status == CUDA_SUCCESS)
        *address = (CUdeviceptr)(uintptr_t)at;
    return wfe_leave(status);
}
EMU_EXPORT CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, int advice, CUdevice device)
{
    (void)bytes, (void)advice, (void)device;
    CUcontext c;
    CUresult status = wfe_enter(&c);
    return wfe_leave(status == CUDA_SUCCESS && !find_live(address) ? CUDA_ERROR_INVALID_VALUE : status);
}
EMU_EXPORT CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
{
    (void)stream;
    return cuMemAdvise(address, bytes, 0, device);
}

/* ---- queries ---- */
EMU_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    const emu_memory *m = find_live(address);
    if (status == CUDA_SUCCESS && !m)
        status = CUDA_ERROR_NOT_FOUND;
    if (status == CUDA_SUCCESS && base)
        *base = m->base;
    if (status == CUDA_SUCCESS && bytes)
        *bytes = (size_t)m->size;
    return wfe_leave(status);
}
static CUresult attribute_of(void *value, int attribute, CUdeviceptr address)
{
    emu_memory *m = find_live(address);
    if (!value || !m)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned type = m->kind == EMU_MEM_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE, yes = 1;
    unsigned managed = m->kind == EMU_MEM_MANAGED;
    void *owner = m->kind == EMU_MEM_MODULE ? (void *)((CUmodule)m->owner)->context : m->owner,
         *host = (void *)(uintptr_t)address;
    const struct {
        int attribute;
        const void *at;
        size_t size;
    } all[] = {
        { CU_POINTER_ATTRIBUTE_CONTEXT, &owner, sizeof owner },
        { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, &type, sizeof type },
        { CU_POINTER_ATTRIBUTE_HOST_POINTER, &host, sizeof host },
        { CU_POINTER_ATTRIBUTE_DEVICE_POINTER, &address, sizeof address },
        { CU_POINTER_ATTRIBUTE_BUFFER_ID, &m->serial, sizeof m->serial },
        { CU_POINTER_ATTRIBUTE_IS_MANAGED, &managed, sizeof managed },
        { CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, &m->device, sizeof m->device },
        { CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, &m->base, sizeof m->base },
        { CU_POINTER_ATTRIBUTE_RANGE_SIZE, &m->size, sizeof m->size },
        { CU_POINTER_ATTRIBUTE_MAPPED, &yes, sizeof yes },
    };
    if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER && (m->kind == EMU_MEM_DEVICE || m->kind == EMU_MEM_MODULE))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < WF__COUNT(all); i++) {
        if (all[i].attribute != attribute)
            continue;
        memcpy(value, all[i].at, all[i].size);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}
EMU_EXPORT CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    return wfe_leave(status == CUDA_SUCCESS ? attribute_of(value, attribute, address) : status);
}
/* For memory unknown to the driver every value is zero, without an error. */
EMU_EXPORT CUresult cuPointerGetAttributes(unsigned n, const int *attributes, void **values, CUdeviceptr address)
{
    static const uint8_t sizes[] = { 0, 8, 4, 8, 8, 0, 4, 8, 4, 4, 4, 8, 8, 4 };
    CUcontext c;
    CUresult status = wfe_enter(&c);
    for (unsigned i = 0; status == CUDA_SUCCESS && i < n; i++)
        if (attribute_of(values[i], attributes[i], address) != CUDA_SUCCESS && attributes[i] > 0 &&
            attributes[i] < (int)sizeof sizes)
            memset(values[i], 0, sizes[attributes[i]]);
    return wfe_leave(status);
}

/* ---- pools ---- */
EMU_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    if (!pool || device < 0 || device >= wfe_driver.devices)
        return pool ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
    *pool = &wfe_driver.pools[device];
    return CUDA_SUCCESS;
}
EMU_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
    return cuDeviceGetDefaultMemPool(pool, device);
}
EMU_EXPORT CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (!pool || !properties || properties->location.id < 0 || properties->location.id >= wfe_driver.devices)
        return wfe_leave(CUDA_ERROR_INVALID_VALUE);
    if (status != CUDA_SUCCESS && status != CUDA_ERROR_INVALID_CONTEXT)
        return wfe_leave(status);
    CUmemoryPool made = wfe_new_handle(sizeof *made, EMU_OBJ_POOL);
    if (!made)
        return wfe_leave(CUDA_ERROR_OUT_OF_MEMORY);
    made->device = properties->location.id;
    *pool = made;
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    wf__mutex_lock(&wfe_driver.lock);
    if (!wfe_known(pool, EMU_OBJ_POOL))
        return wfe_leave(CUDA_ERROR_INVALID_VALUE);
    wfe_free_handle(pool);
    return wfe_leave(CUDA_SUCCESS);
}
static bool pool_known(CUmemoryPool pool)
{
    return (pool >= wfe_driver.pools && pool < wfe_driver.pools + EMU_MAX_DEVICES) || wfe_known(pool, EMU_OBJ_POOL);
}
/* Attributes: 1 to 3 reuse (int); 4 release threshold; 5, 6 reserved bytes, now and at most; 7, 8 used bytes, now and
 * at most (64 bits). */
EMU_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value)
{
    wf__mutex_lock(&wfe_driver.lock);
    if (!pool_known(pool) || !value || attribute < 1 || attribute > 8)
        return wfe_leave(CUDA_ERROR_INVALID_VALUE);
    if (attribute == 4)
        memcpy(&pool->threshold, value, sizeof pool->threshold);
    if (attribute == 8)
        pool->most = pool->used;
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value)
{
    wf__mutex_lock(&wfe_driver.lock);
    if (!pool_known(pool) || !value || attribute < 1 || attribute > 8)
        return wfe_leave(CUDA_ERROR_INVALID_VALUE);
    int yes = 1;
    uint64_t x = attribute == 4 ? pool->threshold : attribute == 6 || attribute == 8 ? pool->most : pool->used;
    memcpy(value, attribute < 4 ? (void *)&yes : (void *)&x, attribute < 4 ? sizeof yes : sizeof x);
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes)
{
    (void)bytes;
    wf__mutex_lock(&wfe_driver.lock);
    return wfe_leave(pool_known(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
