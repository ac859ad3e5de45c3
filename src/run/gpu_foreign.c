/* gpu_foreign.c - memory of the host program's: what a GPU can reach of it. */
#include "run/gpu_internal.h"
#include <stdio.h>

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
