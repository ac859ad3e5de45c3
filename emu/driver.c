/* driver.c - the state of the driver: start, handles, current contexts, reports, names of errors, devices. Environment
 * variables, with their defaults:
 *
 *   WEFT_EMU=all                 checks besides faults: a list of races, uninit, registers, order; or none
 *   WEFT_EMU_SM=90               compute capability, times ten
 *   WEFT_EMU_DEVICES=1           number of devices
 *   WEFT_EMU_MEMORY=4096         MiB of each device
 *   WEFT_EMU_LIMIT=4000000000    most instructions of warps of a launch; 0 = no limit
 */
#include "emu/driver.h"
#include <stdio.h>
#include <stdlib.h>

emu_driver wfe_driver = { .lock = WF__MUTEX_INIT };

static const struct {
    const char *name, *text;
    int number;
} errors[] = {
#define ERROR(name, number, text) { #name, text, number },
#include "emu/cuda_errors.def"
#undef ERROR
};

static uint64_t read_number(const char *name, uint64_t otherwise, uint64_t least, uint64_t most)
{
    const char *text = wf__getenv(name);
    char *end;
    if (!text)
        return otherwise;
    unsigned long long x = strtoull(text, &end, 10);
    return *end || x < least || x > most ? otherwise : x;
}

static uint32_t read_finders(void)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } names[] = { { "races", EMU_FIND_RACES }, { "uninit", EMU_FIND_UNINIT }, { "registers", EMU_FIND_REGISTERS },
                  { "order", EMU_FIND_ORDER }, { "all", EMU_FIND_ALL },       { "none", 0 } };
    const char *text = wf__getenv("WEFT_EMU");
    uint32_t find = 0;
    if (!text)
        return EMU_FIND_ALL;
    while (*text) {
        size_t n = strcspn(text, ",");
        for (size_t i = 0; i < WF__COUNT(names); i++)
            if (strlen(names[i].name) == n && !memcmp(names[i].name, text, n))
                find |= names[i].bits;
        text += n + (text[n] == ',');
    }
    return find;
}

EMU_EXPORT CUresult cuInit(unsigned flags)
{
    emu_driver *d = &wfe_driver;
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    wf__mutex_lock(&d->lock);
    if (!d->ready) {
        d->devices = (int)read_number("WEFT_EMU_DEVICES", 1, 0, EMU_MAX_DEVICES);
        d->sm = (int)read_number("WEFT_EMU_SM", 90, 70, 120);
        d->find = read_finders();
        d->order.on = d->find & EMU_FIND_ORDER;
        d->limit = read_number("WEFT_EMU_LIMIT", 4000000000u, 0, UINT64_MAX);
        for (int i = 0; i < EMU_MAX_DEVICES; i++) {
            d->memory[i] = read_number("WEFT_EMU_MEMORY", 4096, 1, 1 << 20) << 20;
            d->pools[i].device = i;
        }
        d->ready = true;
    }
    int devices = d->devices;
    wf__mutex_unlock(&d->lock);
    return devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

/* ---- handles ---- */
bool wfe_keep_handle(void *at, emu_object kind)
{
    emu_driver *d = &wfe_driver;
    if (!wf__grow(&d->handles, &d->cap_handles, d->n_handles + 1, sizeof *d->handles))
        return false;
    d->handles[d->n_handles++] = (emu_handle){ at, (uint8_t)kind };
    return true;
}
void *wfe_new_handle(size_t size, emu_object kind)
{
    void *at = wf__alloc0(size);
    if (at && wfe_keep_handle(at, kind))
        return at;
    wf__free(at);
    return NULL;
}
bool wfe_known(const void *at, emu_object kind)
{
    const emu_driver *d = &wfe_driver;
    for (uint32_t i = d->n_handles; at && i-- > 0;)
        if (d->handles[i].at == at && d->handles[i].kind == kind)
            return true;
    return false;
}
void wfe_forget_handle(const void *at)
{
    emu_driver *d = &wfe_driver;
    uint32_t i = d->n_handles;
    while (i > 0 && d->handles[i - 1].at != at)
        i--;
    if (i > 0)
        d->handles[i - 1] = d->handles[--d->n_handles];
}
void wfe_free_handle(void *at)
{
    wfe_forget_handle(at);
    wf__free(at);
}

/* ---- current contexts ---- */
enum { STACK = 64 };
static _Thread_local CUcontext stack[STACK];
static _Thread_local int depth;

CUcontext wfe_current(void) { return depth ? stack[depth - 1] : NULL; }

CUresult wfe_push_current(CUcontext context)
{
    if (depth == STACK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

CUcontext wfe_pop_current(void) { return depth ? stack[--depth] : NULL; }

CUresult wfe_leave(CUresult status)
{
    wf__mutex_unlock(&wfe_driver.lock);
    return status;
}

CUresult wfe_enter(CUcontext *context)
{
    *context = NULL;
    wf__mutex_lock(&wfe_driver.lock);
    if (!wfe_driver.ready)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext now = wfe_current();
    *context = now;
    if (!now)
        return CUDA_ERROR_INVALID_CONTEXT;
    return wfe_known(now, EMU_OBJ_CONTEXT) ? now->error : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult wfe_context_of(CUcontext context)
{
    return wfe_known(context, EMU_OBJ_CONTEXT) ? context->error : CUDA_ERROR_INVALID_CONTEXT;
}

bool wfe_stream_known(CUstream stream)
{
    return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD || wfe_known(stream, EMU_OBJ_STREAM);
}

bool wfe_is_stream_of(CUstream stream, CUcontext c)
{
    return wfe_known(stream, EMU_OBJ_STREAM) ? stream->context == c : wfe_stream_known(stream);
}

/* ---- reports ---- */
void wfe_set_report(const char *text)
{
    wf__str_free(&wfe_driver.report);
    wf__str_add(&wfe_driver.report, text);
}

EMU_EXPORT size_t weftEmuLastReport(char *buffer, size_t size)
{
    wf__mutex_lock(&wfe_driver.lock);
    const char *text = wf__str_get(&wfe_driver.report);
    size_t n = strlen(text), copied = size == 0 ? 0 : n < size ? n : size - 1;
    if (size) {
        memcpy(buffer, text, copied);
        buffer[copied] = 0;
    }
    wf__mutex_unlock(&wfe_driver.lock);
    return n;
}
EMU_EXPORT void weftEmuClearReport(void)
{
    wf__mutex_lock(&wfe_driver.lock);
    wf__str_free(&wfe_driver.report);
    wf__mutex_unlock(&wfe_driver.lock);
}
EMU_EXPORT uint64_t weftEmuInstructions(void)
{
    wf__mutex_lock(&wfe_driver.lock);
    uint64_t n = wfe_driver.instructions;
    wf__mutex_unlock(&wfe_driver.lock);
    return n;
}

/* ---- errors ---- */
EMU_EXPORT CUresult cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = 13000;
    return CUDA_SUCCESS;
}
EMU_EXPORT CUresult cuGetErrorName(CUresult error, const char **name)
{
    for (size_t i = 0; name && i < WF__COUNT(errors); i++) {
        if (errors[i].number == (int)error) {
            *name = errors[i].name;
            return CUDA_SUCCESS;
        }
    }
    if (name)
        *name = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}
EMU_EXPORT CUresult cuGetErrorString(CUresult error, const char **text)
{
    for (size_t i = 0; text && i < WF__COUNT(errors); i++) {
        if (errors[i].number == (int)error) {
            *text = errors[i].text;
            return CUDA_SUCCESS;
        }
    }
    if (text)
        *text = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- devices ---- */
CUresult wfe_device_status(CUdevice device)
{
    wf__mutex_lock(&wfe_driver.lock);
    bool ready = wfe_driver.ready, good = device >= 0 && device < wfe_driver.devices;
    wf__mutex_unlock(&wfe_driver.lock);
    return !ready ? CUDA_ERROR_NOT_INITIALIZED : good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
EMU_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult status = device ? wfe_device_status(ordinal) : CUDA_ERROR_INVALID_VALUE;
    if (status == CUDA_SUCCESS)
        *device = ordinal;
    return status;
}
EMU_EXPORT CUresult cuDeviceGetCount(int *count)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    if (!wfe_driver.ready)
        return CUDA_ERROR_NOT_INITIALIZED;
    *count = wfe_driver.devices;
    return CUDA_SUCCESS;
}
EMU_EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    CUresult status = name && size > 0 ? wfe_device_status(device) : CUDA_ERROR_INVALID_VALUE;
    if (status == CUDA_SUCCESS)
        snprintf(name, (size_t)size, "Weft PTX emulator");
    return status;
}
EMU_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    CUresult status = uuid ? wfe_device_status(device) : CUDA_ERROR_INVALID_VALUE;
    if (status == CUDA_SUCCESS) {
        memcpy(uuid->bytes, "weft-emulator-00", 16);
        uuid->bytes[15] = (char)('0' + device);
    }
    return status;
}
EMU_EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }
EMU_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    CUresult status = bytes ? wfe_device_status(device) : CUDA_ERROR_INVALID_VALUE;
    if (status == CUDA_SUCCESS)
        *bytes = (size_t)wfe_driver.memory[device];
    return status;
}
EMU_EXPORT CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device)
{
    CUresult status = id && size > 12 ? wfe_device_status(device) : CUDA_ERROR_INVALID_VALUE;
    if (status == CUDA_SUCCESS)
        snprintf(id, (size_t)size, "0000:%02X:00.0", (unsigned)device + 1);
    return status;
}

EMU_EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    static const int table[][2] = {
        { 1, EMU_MAX_THREADS },
        { 2, 1024 },
        { 3, 1024 },
        { 4, 64 },
        { 5, INT32_MAX },
        { 6, 65535 },
        { 7, 65535 },
        { 8, EMU_MAX_STATIC },
        { 9, 65536 },
        { 10, EMU_LANES },
        { 11, INT32_MAX },
        { 12, 65536 },
        { 13, 1000000 },
        { 14, 512 },
        { 15, 1 },
        { 16, EMU_SMS },
        { 17, 0 },
        { 18, 0 },
        { 19, 1 },
        { 20, 0 },
        { 31, 1 },
        { 32, 0 },
        { 34, 0 },
        { 35, 0 },
        { 36, 1000000 },
        { 37, 512 },
        { 38, 4 << 20 },
        { 39, EMU_THREADS_PER_SM },
        { 40, 1 },
        { 41, 1 },
        { 50, 0 },
        { 78, 1 },
        { 79, 1 },
        { 80, 1 },
        { 81, 228 << 10 },
        { 82, 65536 },
        { 83, 1 },
        { 84, 0 },
        { 86, 0 },
        { 87, 2 },
        { 88, 0 },
        { 89, 1 },
        { 90, 1 },
        { 91, 1 },
        { 95, 1 },
        { 96, 0 },
        { 97, EMU_MAX_SHARED },
        { 99, 1 },
        { 100, 0 },
        { 101, 1 },
        { 102, 0 },
        { 106, EMU_BLOCKS_PER_SM },
        { 111, 1024 },
        { 115, 1 },
        { 119, 0 },
        { 120, 0 },
    };
    CUresult status = value ? wfe_device_status(device) : CUDA_ERROR_INVALID_VALUE;
    if (status != CUDA_SUCCESS)
        return status;
    if (attribute < 1 || attribute > 200)
        return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    for (size_t i = 0; i < WF__COUNT(table); i++)
        if (table[i][0] == attribute)
            *value = table[i][1];
    if (attribute == 33)
        *value = device + 1; /* PCI bus */
    if (attribute == 75 || attribute == 76)
        *value = attribute == 75 ? wfe_driver.sm / 10 : wfe_driver.sm % 10;
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    CUresult status = can ? wfe_device_status(device) : CUDA_ERROR_INVALID_VALUE;
    status = status == CUDA_SUCCESS ? wfe_device_status(peer) : status;
    if (status == CUDA_SUCCESS)
        *can = device != peer;
    return status;
}
EMU_EXPORT CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice from, CUdevice to)
{
    return attribute >= 1 && attribute <= 4 ? cuDeviceCanAccessPeer(value, from, to) : CUDA_ERROR_INVALID_VALUE;
}
