/* foreign.c - memory that the processor and GPUs share, and whether a GPU can reach memory of the program. */
#include "run/gpu/internal.h"
#include <stdio.h>

/* Queries an attribute of an address; false = unknown. */
static bool get_attribute(const wf__gpu *gpu, int attribute, const char *at, void *value)
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

/* True for managed memory and for pinned memory of the processor. */
static bool is_everywhere(const wf__gpu *gpu, const char *at, unsigned type)
{
    unsigned managed = 0;
    return type == WF__CUDA_MEMORY_HOST || (get_attribute(gpu, WF__CUDA_POINTER_IS_MANAGED, at, &managed) && managed);
}

/* True if the GPU can reach the memory; else sets the failure. Memory of pools has no context, so only its device
 * counts. */
static bool is_within_reach(const wf__gpu *gpu, const char *at, wf__failure *f)
{
    unsigned type = 0;
    int device = -1;
    void *context = NULL;
    char where[48];
    if (!get_attribute(gpu, WF__CUDA_POINTER_MEMORY_TYPE, at, &type))
        return refuse(gpu, at, WF_ERR_ARG, f, "the driver does not know it (memory of the processor, or none)");
    if (is_everywhere(gpu, at, type))
        return true;
    if (get_attribute(gpu, WF__CUDA_POINTER_DEVICE, at, &device) && device != gpu->device) {
        snprintf(where, sizeof where, "it is that of device %d", device);
        return refuse(gpu, at, WF_ERR_DEVICE, f, where);
    }
    if (get_attribute(gpu, WF__CUDA_POINTER_CONTEXT, at, &context) && context && context != gpu->context)
        return refuse(gpu, at, WF_ERR_DEVICE, f, "it belongs to another CUDA context than the device's primary one");
    return true;
}

bool wf__gpu_reaches(wf__gpu *gpu, const char *lo, const char *hi, wf__failure *f)
{
    uint64_t first = 0, last = 0;
    if (!wf__gpu_enter(gpu, f))
        return false;
    bool ok = is_within_reach(gpu, lo, f);
    if (ok && get_attribute(gpu, WF__CUDA_POINTER_RANGE_START, lo, &first) &&
        (!get_attribute(gpu, WF__CUDA_POINTER_RANGE_START, hi - 1, &last) || first != last)) {
        f->status = WF_ERR_ARG;
        wf__str_addf(&f->text, "the memory at 0x%llx of %s has less than the %lld bytes that the array spans",
                     (unsigned long long)wf__gpu_address(lo), gpu->name, (long long)(hi - lo));
        ok = false;
    }
    wf__gpu_end(gpu);
    return ok;
}

/* ---- shared memory ---- */
bool wf__gpu_is_shared(wf__gpu *gpu, const char *at)
{
    wf__failure ignored = { 0 };
    unsigned type = 0;
    bool shared = false;
    if (wf__gpu_enter(gpu, &ignored)) {
        shared = get_attribute(gpu, WF__CUDA_POINTER_MEMORY_TYPE, at, &type) && is_everywhere(gpu, at, type);
        wf__gpu_end(gpu);
    }
    wf__str_free(&ignored.text);
    return shared;
}

char *wf__gpu_alloc_shared(wf__gpu *gpu, size_t bytes, bool managed, wf__failure *f)
{
    void *at = NULL;
    uint64_t address = 0;
    if (!wf__gpu_enter(gpu, f))
        return NULL;
    int result = managed ? gpu->cuda->MemAllocManaged(&address, bytes, WF__CUDA_ATTACHED_GLOBAL)
                         : gpu->cuda->MemHostAlloc(&at, bytes, WF__CUDA_HOST_PORTABLE);
    bool ok = wf__gpu_ok(gpu, managed ? "managed memory" : "pinned memory", result, f);
    wf__gpu_end(gpu);
    return !ok ? NULL : managed ? (char *)(uintptr_t)address : at;
}

void wf__gpu_free_shared(wf__gpu *gpu, char *at, bool managed)
{
    wf__failure ignored = { 0 };
    if (wf__gpu_enter(gpu, &ignored)) {
        if (managed)
            gpu->cuda->MemFree(wf__gpu_address(at));
        else
            gpu->cuda->MemFreeHost(at);
        wf__gpu_end(gpu);
    }
    wf__str_free(&ignored.text);
}
