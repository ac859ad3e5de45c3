/* driver_copy.c - copies and fills. They are done at once; copies between device memories carry along which bytes are
 * written, copies from the host write.
 */
#include "emu/driver.h"

typedef struct side { /* of a copy: host memory, or a place in device memory */
    uint8_t *at;
    emu_memory *m;
    uint64_t offset;
} side;

/* An address of device memory, or with `host` of memory that is not known here. */
static CUresult find(CUdeviceptr address, size_t bytes, bool host, side *out)
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

typedef struct copying { /* or a fill */
    CUcontext context;
    emu_op *op;
    bool async, waits; /* of a function ..Async; does the host wait for the end? */
} copying;

static void touch(const copying *c, const side *s, size_t bytes, unsigned how)
{
    if (c->op && s->m)
        wfe_touch(&c->op->touched, s->m, s->offset, bytes, how);
}

static bool is_host(const side *s) { return !s->m || s->m->kind == EMU_MEM_PINNED; }

/* Section "API synchronization behavior" of the driver API. Memory of the host that is not pinned is copied to a place
 * of the driver's before the call returns, and from there to the device in its own time. */
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
    for (size_t i = 0; i < bytes; i++) { /* what was not written stays so */
        uint64_t at = to->offset + i, bit = (uint64_t)1 << (at & 63);
        to->m->written[at >> 6] = is_written(from, i) ? to->m->written[at >> 6] | bit : to->m->written[at >> 6] & ~bit;
    }
}

static CUresult copy(CUdeviceptr to, bool to_host, CUdeviceptr from, bool from_host, size_t bytes, copying *c)
{
    side t, f;
    if (bytes == 0)
        return CUDA_SUCCESS;
    CUresult status = find(to, bytes, to_host, &t);
    status = status == CUDA_SUCCESS ? find(from, bytes, from_host, &f) : status;
    if (status != CUDA_SUCCESS)
        return status;
    copy_row(&t, &f, bytes);
    touch(c, &t, bytes, EMU_TOUCH_WRITE);
    touch(c, &f, bytes, EMU_TOUCH_READ);
    c->waits = host_waits(&t, &f, c->async);
    return CUDA_SUCCESS;
}

/* Enters; `call`: the function, for reports. */
static CUresult begin(copying *c, const char *call, CUstream stream)
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
static CUresult end(const copying *c, CUresult status)
{
    if (status == CUDA_SUCCESS)
        wfe_op_end(c->op, c->waits);
    else
        wfe_op_drop(c->op);
    return wfe_leave(status == CUDA_SUCCESS && c->waits ? c->context->error : status);
}

static CUresult one(const char *call, bool async, CUdeviceptr to, bool to_host, CUdeviceptr from, bool from_host,
                    size_t bytes, CUstream stream)
{
    copying c = { .async = async };
    CUresult status = begin(&c, call, stream);
    return end(&c, status == CUDA_SUCCESS ? copy(to, to_host, from, from_host, bytes, &c) : status);
}
#define HOST(p) ((CUdeviceptr)(uintptr_t)(p))

EMU_EXPORT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return one(__func__, false, to, true, from, true, bytes, NULL);
}
EMU_EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return one(__func__, true, to, true, from, true, bytes, stream);
}
EMU_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    return one(__func__, false, to, false, HOST(from), true, bytes, NULL);
}
EMU_EXPORT CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    return one(__func__, false, HOST(to), true, from, false, bytes, NULL);
}
EMU_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return one(__func__, false, to, false, from, false, bytes, NULL);
}
EMU_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return one(__func__, true, to, false, HOST(from), true, bytes, stream);
}
EMU_EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return one(__func__, true, HOST(to), true, from, false, bytes, stream);
}
EMU_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return one(__func__, true, to, false, from, false, bytes, stream);
}
EMU_EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                      size_t bytes, CUstream stream)
{
    (void)to_context, (void)from_context;
    return one(__func__, true, to, false, from, false, bytes, stream);
}
EMU_EXPORT CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                 size_t bytes)
{
    (void)to_context, (void)from_context;
    return one(__func__, false, to, false, from, false, bytes, NULL);
}

/* ---- boxes ---- */
/* Base address of a side; false: arrays are not supported. */
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
            status = copy(t, to_host, f, from_host, c->WidthInBytes, how);
        }
    }
    return status;
}
static CUresult box(const char *call, bool async, const CUDA_MEMCPY3D *b, CUstream stream)
{
    copying c = { .async = async };
    CUresult status = begin(&c, call, stream);
    if (status == CUDA_SUCCESS)
        status = b ? copy_box(b, &c) : CUDA_ERROR_INVALID_VALUE;
    return end(&c, status);
}
static CUresult rows(const char *call, bool async, const CUDA_MEMCPY2D *c, CUstream stream)
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
    return box(call, async, &b, stream);
}
EMU_EXPORT CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *b, CUstream stream)
{
    return box(__func__, true, b, stream);
}
EMU_EXPORT CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *b) { return box(__func__, false, b, NULL); }
EMU_EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream)
{
    return rows(__func__, true, c, stream);
}
EMU_EXPORT CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *c) { return rows(__func__, false, c, NULL); }
EMU_EXPORT CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *c) { return rows(__func__, false, c, NULL); }

/* ---- fills ---- */
typedef struct filling {
    CUdeviceptr to;
    size_t pitch, n, rows; /* n: elements of a row */
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
        CUresult status = find(f->to + y * f->pitch, bytes, false, &t);
        if (status != CUDA_SUCCESS)
            return status;
        for (size_t i = 0; i < f->n; i++)
            memcpy(t.at + i * f->element, &f->value, f->element);
        wfe_mark_written(t.m, t.offset, bytes);
        touch(c, &t, bytes, EMU_TOUCH_WRITE);
        c->waits = !c->async && (t.m->kind == EMU_MEM_PINNED || t.m->kind == EMU_MEM_MANAGED);
    }
    return CUDA_SUCCESS;
}
static CUresult fill(const char *call, bool async, const filling *f, CUstream stream)
{
    copying c = { .async = async };
    CUresult status = begin(&c, call, stream);
    return end(&c, status == CUDA_SUCCESS ? fill_rows(f, &c) : status);
}
#define FILL(async, element, pitch, n, rows, stream) \
    fill(__func__, async, &(filling){ to, pitch, n, rows, value, element }, stream)

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
