/* driver.c - opens the CUDA driver, for its copy within device memory, and the library of kernels written by hand. */
#include "gpu.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct gpu_driver {
    int (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int), (*release)(int), (*set)(void *);
    int (*copy)(uint64_t, uint64_t, size_t, void *), (*wait)(void *);
    int device;
};

static bool find(void *library, const char *name, void *function, size_t size)
{
    void *at = dlsym(library, name);
    memcpy(function, &at, size);
    return at != NULL;
}
#define FIND(name, field) find(library, name, &d->field, sizeof d->field)

/* Makes the device's primary context, which Weft and the CUDA runtime use, current in this thread. */
gpu_driver *gpu_driver_open(wf_device device)
{
    const char *own = getenv("WEFT_CUDA");
    int number = (int)(device - WF_GPU(0));
    void *library = dlopen(own ? own : "libcuda.so.1", RTLD_LAZY | RTLD_LOCAL), *context = NULL;
    gpu_driver *d = calloc(1, sizeof *d);
    bool found = d && library && FIND("cuInit", init) && FIND("cuDeviceGet", get) &&
                 FIND("cuDevicePrimaryCtxRetain", retain) && FIND("cuDevicePrimaryCtxRelease_v2", release) &&
                 FIND("cuCtxSetCurrent", set) && FIND("cuMemcpyDtoDAsync_v2", copy) &&
                 FIND("cuStreamSynchronize", wait);
    if (found && !d->init(0) && !d->get(&d->device, number) && !d->retain(&context, d->device) && !d->set(context))
        return d;
    free(d);
    return NULL;
}

bool gpu_driver_copy(const gpu_driver *d, void *to, const void *from, int64_t bytes)
{
    return d->copy((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, (size_t)bytes, NULL) == 0;
}

bool gpu_driver_wait(const gpu_driver *d) { return d->wait(NULL) == 0; }

void gpu_driver_close(gpu_driver *d)
{
    if (!d)
        return;
    d->set(NULL);
    d->release(d->device);
    free(d);
}

const hand_library *gpu_hand_open(const char *path, int device)
{
    const hand_library *(*get)(void) = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library || !find(library, HAND_SYMBOL, &get, sizeof get)) {
        fprintf(stderr, "weft-bench-gpu: %s\n", dlerror());
        return NULL;
    }
    const hand_library *hand = get();
    int code = hand->open(device);
    if (!code)
        return hand;
    fprintf(stderr, "weft-bench-gpu: %s: %s\n", path, hand->error(code));
    return NULL;
}
