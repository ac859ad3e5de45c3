/* gpu_internal.h - a GPU's state, shared by gpu.c (memory, modules) and gpu_run.c (running plans). */
#ifndef WEFT_GPU_INTERNAL_H
#define WEFT_GPU_INTERNAL_H
#include "run/cuda_api.h"
#include "run/engine_internal.h"
#include "run/gpu.h"

struct wf__gpu {
    wf__engine *engine;
    const wf__cuda *cuda;
    int number, device, arch; /* arch: compute capability times 10 */
    void *context, *stream;
    wf__map *modules; /* PTX -> wf__gpu_kernel */
    wf__mutex lock;   /* held by whoever works on it */
    bool has_lock, lost;
    char name[128];
};

typedef struct wf__gpu_kernel { /* one module */
    wf__gpu *gpu;
    void *module, *function;
} wf__gpu_kernel;

/* Between these two the context is current, and nobody else works on it. */
bool wf__gpu_begin(wf__gpu *gpu, wf__failure *failure);
void wf__gpu_end(wf__gpu *gpu);
/* Is the result of a driver call good? Else the failure says what it was. */
bool wf__gpu_ok(wf__gpu *gpu, const char *what, int result, wf__failure *failure);
/* Within begin and end: */
char *wf__gpu_take(wf__gpu *gpu, size_t bytes, wf__failure *failure);
void wf__gpu_give(wf__gpu *gpu, char *at);
bool wf__gpu_wait(wf__gpu *gpu, const char *what, wf__failure *failure);
wf__held *wf__gpu_module(wf__gpu *gpu, const char *ptx, size_t n, wf__failure *failure);
static inline uint64_t wf__gpu_address(const char *at) { return (uint64_t)(uintptr_t)at; }
#endif
