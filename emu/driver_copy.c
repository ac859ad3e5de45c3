/* driver_copy.c - copies and fills, done at once. A copy between device memories also copies which bytes are written. A
 * copy from the host and a fill write all bytes.
 */
#include "emu/driver.h"

typedef struct side { /* one side of a copy; m: allocation, NULL = host memory unknown to the driver */
    uint8_t *at;
    emu_memory *m;
    uint64_t offset;
} side;

/* Finds the allocation at an address. With `host`, the address may also be host memory unknown to the driver. */
static CUresult find_side(CUdeviceptr address, size_t bytes, bool host, side *out)
{
    emu_memory *m = wfe_heap_find(&wfe_driver.heap, address);
    if (m && m->at && address - m->base < m->size) {
        if (m->size - (address - m->base) < bytes)
            return CUDA_ERROR_INVALID_VALUE;
        *out = (side){ m->at + (address - m->base), m, address - m->base };
        return CUDA_SUCCESS;
    }
    if (!host || address >= EMU_GLOBAL_BASE)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (side){ (uint8_t *)(uintptr_t)address, NULL, 0 };
    return CUDA_SUCCESS;
}

typedef struct copying { /* a copy or fill in progress */
    CUcontext context;
    emu_op *op;
    bool async, waits; /* async: an ...Async function; waits: the host waits for the end */
} copying;

static void touch_side(const copying *c, const side *s, size_t bytes, unsigned how)
{
    if (c->op && s->m)
        wfe_touch(&c->op->touched, s->m, s->offset, bytes, how);
}

static bool is_host(const side *s) { return !s->m || s->m->kind == EMU_MEM_PINNED; }

/* True if the host waits for the copy: section "API synchronization behavior" of the driver API. The driver stages
 * unpinned host memory before the call returns, and the device reads the staged copy later: no wait. */
static bool host_waits(const side *to, const side *from, bool async)
{
    if (async)
        return is_host(to) && (is_host(from) || !to->m);
    return is_host(to) || (is_host(from) && from->m);
}

static bool is_written(const side *s, size_t i)
{
    return !s->m || !s->m->written || (s->m->written[(s->offset + i) >> 6] >> ((s->offset + i) & 63) & 1);
}

static void copy_row(const side *to, const side *from, size_t bytes)
{
    memmove(to->at, from->at, bytes);
    if (!to->m || !to->m->written)
        return;
    if (!from->m || !from->m->written) {
        wfe_mark_written(to->m, to->offset, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i++) { /* unwritten bytes stay unwritten */
        uint64_t at = to->offset + i, bit = (uint64_t)1 << (at & 63);
        to->m->written[at >> 6] = is_written(from, i) ? to->m->written[at >> 6] | bit : to->m->written[at >> 6] & ~bit;
    }
}

static CUresult copy_range(CUdeviceptr to, bool to_host, CUdeviceptr from, bool from_host, size_t bytes, copying *c)
{
    side t, f;
    if (bytes == 0)
        return CUDA_SUCCESS;
    CUresult status = find_side(to, bytes, to_host, &t);
    status = status == CUDA_SUCCESS ? find_side(from, bytes, from_host, &f) : status;
    if (status != CUDA_SUCCESS)
        return status;
    copy_row(&t, &f, bytes);
    touch_side(c, &t, bytes, EMU_TOUCH_WRITE);
    touch_side(c, &f, bytes, EMU_TOUCH_READ);
    c->waits = host_waits(&t, &f, c->async);
    return CUDA_SUCCESS;
}

/* Takes the lock, as wfe_enter. `call`: name of the function, for reports. */
static CUresult begin_copy(copying *c, const char *call, CUstream stream)
{
    CUresult status = wfe_enter(&c->context);
    if (status == CUDA_SUCCESS && !wfe_stream_known(stream))
        status = CUDA_ERROR_INVALID_HANDLE;
    status = c->async ? status : wfe_unsafe(status);
    if (status == CUDA_SUCCESS)
        status = wfe_use_stream(c->context, stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (status == CUDA_SUCCESS)
        c->op = wfe_op_begin(c->context, stream, call, "writes");
    return status;
}
static CUresult end_copy(const copying *c, CUresult status)
{
    if (status == CUDA_SUCCESS)
        wfe_op_end(c->op, c->waits);
    else
        wfe_op_drop(c->op);
    return wfe_leave(status == CUDA_SUCCESS && c->waits ? c->context->error : status);
}

static CUresult copy_bytes(const char *call, bool async, CUdeviceptr to, bool to_host, CUdeviceptr from, bool from_host,
                           size_t bytes, CUstream stream)
{
    copying c = { .async = async };
    CUresult status = begin_copy(&c, call, stream);
    return end_copy(&c, status == CUDA_SUCCESS ? copy_range(to, to_host, from, from_host, bytes, &c) : status);
}
#define HOST(p) ((CUdeviceptr)(uintptr_t)(p))

EMU_EXPORT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_bytes(__func__, false, to, true, from, true, bytes, NULL);
}
EMU_EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_bytes(__func__, true, to, true, from, true, bytes, stream);
}
EMU_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    return copy_bytes(__func__, false, to, false, HOST(from), true, bytes, NULL);
}
EMU_EXPORT CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    return copy_bytes(__func__, false, HOST(to), true, from, false, bytes, NULL);
}
EMU_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_bytes(__func__, false, to, false, from, false, bytes, NULL);
}
EMU_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return copy_bytes(__func__, true, to, false, HOST(from), true, bytes, stream);
}
EMU_EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_bytes(__func__, true, HOST(to), true, from, false, bytes, stream);
}
EMU_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_bytes(__func__, true, to, false, from, false, bytes, stream);
}
EMU_EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                      size_t bytes, CUstream stream)
{
    (void)to_context, (void)from_context;
    return copy_bytes(__func__, true, to, false, from, false, bytes, stream);
}
EMU_EXPORT CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                 size_t bytes)
{
    (void)to_context, (void)from_context;
    return copy_bytes(__func__, false, to, false, from, false, bytes, NULL);
}

/* ---- boxes ---- */
/* The base address of a side. False = a CUDA array, which is not supported. */
static bool base_of(unsigned type, const void *host, CUdeviceptr device, CUdeviceptr *out, bool *is_host)
{
    *is_host = type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_UNIFIED;
    *out = type == CU_MEMORYTYPE_HOST ? HOST(host) : device;
    return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
}

static CUresult copy_box(const CUDA_MEMCPY3D *c, copying *how)
{
    CUdeviceptr to, from;
    bool to_host, from_host;
    if (!base_of(c->dstMemoryType, c->dstHost, c->dstDevice, &to, &to_host) ||
        !base_of(c->srcMemoryType, c->srcHost, c->srcDevice, &from, &from_host))
        return CUDA_ERROR_NOT_SUPPORTED;
    size_t to_pitch = c->dstPitch ? c->dstPitch : c->WidthInBytes + c->dstXInBytes;
    size_t from_pitch = c->srcPitch ? c->srcPitch : c->WidthInBytes + c->srcXInBytes;
    size_t to_height = c->dstHeight ? c->dstHeight : c->Height + c->dstY,
           from_height = c->srcHeight ? c->srcHeight : c->Height + c->srcY;
    if (to_pitch < c->WidthInBytes + c->dstXInBytes || from_pitch < c->WidthInBytes + c->srcXInBytes)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = CUDA_SUCCESS;
    for (size_t z = 0; z < c->Depth && status == CUDA_SUCCESS; z++) {
        for (size_t y = 0; y < c->Height && status == CUDA_SUCCESS; y++) {
            CUdeviceptr t = to + ((c->dstZ + z) * to_height + c->dstY + y) * to_pitch + c->dstXInBytes;
            CUdeviceptr f = from + ((c->srcZ + z) * from_height + c->srcY + y) * from_pitch + c->srcXInBytes;
            status = copy_range(t, to_host, f, from_host, c->WidthInBytes, how);
        }
    }
    return status;
}
static CUresult copy_3d(const char *call, bool async, const CUDA_MEMCPY3D *b, CUstream stream)
{
    copying c = { .async = async };
    CUresult status = begin_copy(&c, call, stream);
    if (status == CUDA_SUCCESS)
        status = b ? copy_box(b, &c) : CUDA_ERROR_INVALID_VALUE;
    return end_copy(&c, status);
}
static CUresult copy_2d(const char *call, bool async, const CUDA_MEMCPY2D *c, CUstream stream)
{
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D b = { .srcXInBytes = c->srcXInBytes,
                        .srcY = c->srcY,
                        .srcMemoryType = c->srcMemoryType,
                        .srcHost = c->srcHost,
                        .srcDevice = c->srcDevice,
                        .srcPitch = c->srcPitch,
                        .dstXInBytes = c->dstXInBytes,
                        .dstY = c->dstY,
                        .dstMemoryType = c->dstMemoryType,
                        .dstHost = c->dstHost,
                        .dstDevice = c->dstDevice,
                        .dstPitch = c->dstPitch,
                        .WidthInBytes = c->WidthInBytes,
                        .Height = c->Height,
                        .Depth = 1 };
    return copy_3d(call, async, &b, stream);
}
EMU_EXPORT CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *b, CUstream stream)
{
    return copy_3d(__func__, true, b, stream);
}
EMU_EXPORT CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *b) { return copy_3d(__func__, false, b, NULL); }
EMU_EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream)
{
    return copy_2d(__func__, true, c, stream);
}
EMU_EXPORT CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *c) { return copy_2d(__func__, false, c, NULL); }
EMU_EXPORT CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *c) { return copy_2d(__func__, false, c, NULL); }

/* ---- fills ---- */
typedef struct filling {
    CUdeviceptr to;
    size_t pitch, n, rows; /* n: elements per row */
    uint32_t value;
    unsigned element;
} filling;

static CUresult fill_rows(const filling *f, copying *c)
{
    size_t bytes;
    if (f->to % f->element || !wf__mul_size(f->n, f->element, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t y = 0; f->n && y < f->rows; y++) {
        side t;
        CUresult status = find_side(f->to + y * f->pitch, bytes, false, &t);
        if (status != CUDA_SUCCESS)
            return status;
        for (size_t i = 0; i < f->n; i++)
            memcpy(t.at + i * f->element, &f->value, f->element);
        wfe_mark_written(t.m, t.offset, bytes);
        touch_side(c, &t, bytes, EMU_TOUCH_WRITE);
        c->waits = !c->async && (t.m->kind == EMU_MEM_PINNED || t.m->kind == EMU_MEM_MANAGED);
    }
    return CUDA_SUCCESS;
}
static CUresult fill_memory(const char *call, bool async, const filling *f, CUstream stream)
{
    copying c = { .async = async };
    CUresult status = begin_copy(&c, call, stream);
    return end_copy(&c, status == CUDA_SUCCESS ? fill_rows(f, &c) : status);
}
#define FILL(async, element, pitch, n, rows, stream) \
    fill_memory(__func__, async, &(filling){ to, pitch, n, rows, value, element }, stream)

EMU_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n)
{
    return FILL(false, 1, 0, n, 1, NULL);
}
EMU_EXPORT CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t n)
{
    return FILL(false, 2, 0, n, 1, NULL);
}
EMU_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n) { return FILL(false, 4, 0, n, 1, NULL); }
EMU_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream)
{
    return FILL(true, 1, 0, n, 1, stream);
}
EMU_EXPORT CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream stream)
{
    return FILL(true, 2, 0, n, 1, stream);
}
EMU_EXPORT CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream stream)
{
    return FILL(true, 4, 0, n, 1, stream);
}
EMU_EXPORT CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height)
{
    return FILL(false, 1, pitch, width, height, NULL);
}
EMU_EXPORT CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height)
{
    return FILL(false, 2, pitch, width, height, NULL);
}
EMU_EXPORT CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height)
{
    return FILL(false, 4, pitch, width, height, NULL);
}
