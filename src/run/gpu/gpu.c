/* gpu.c - see gpu.h. */
#include "run/gpu/internal.h"
#include <stdio.h>

enum { IDLE_MODULE_BYTES = 32 << 20 };

/* ---- opening ---- */
static void close_gpu(wf__gpu *gpu)
{
    wf__failure ignored = { 0 };
    if (gpu->context && gpu->has_lock && wf__gpu_enter(gpu, &ignored)) {
        wf__gpu_drain_here(gpu);
        wf__map_free(gpu->modules);
        wf__gpu_empty_cache(gpu);
        wf__gpu_close_own(gpu);
        wf__gpu_end(gpu);
    } else
        wf__map_free(gpu->modules);
    wf__str_free(&ignored.text);
    if (gpu->context)
        gpu->cuda->PrimaryCtxRelease(gpu->device);
    if (gpu->has_lock)
        wf__mutex_free(&gpu->lock);
    wf__free(gpu);
}

static bool start_gpu(wf__gpu *gpu, int n, wf__failure *f)
{
    const wf__cuda *c = gpu->cuda;
    int major = 0, minor = 0;
    if (!wf__gpu_ok(gpu, "no such device", c->DeviceGet(&gpu->device, n), f) ||
        !wf__gpu_ok(gpu, "asking for its capability",
                    c->DeviceGetAttribute(&major, WF__CUDA_CAPABILITY_MAJOR, gpu->device), f) ||
        !wf__gpu_ok(gpu, "asking for its capability",
                    c->DeviceGetAttribute(&minor, WF__CUDA_CAPABILITY_MINOR, gpu->device), f) ||
        !wf__gpu_ok(gpu, "retaining its context", c->PrimaryCtxRetain(&gpu->context, gpu->device), f))
        return false;
    if (c->DeviceGetAttribute(&gpu->processors, WF__CUDA_MULTIPROCESSORS, gpu->device))
        gpu->processors = 1;
    if (c->DeviceGetAttribute(&gpu->shared_memory, WF__CUDA_BLOCK_MEMORY, gpu->device) ||
        gpu->shared_memory < WF__SHARED_MEMORY)
        gpu->shared_memory = WF__SHARED_MEMORY;
    c->DeviceGetName(gpu->model, (int)sizeof gpu->model, gpu->device);
    c->DriverGetVersion(&gpu->driver);
    gpu->arch = 10 * major + minor;
    if (!wf__gpu_enter(gpu, f))
        return false;
    bool ok = wf__gpu_open_stream(gpu, &gpu->own, f);
    size_t left, total;
    gpu->idle_most = ok && !c->MemGetInfo(&left, &total) ? total / 4 : 0;
    wf__gpu_end(gpu);
    return ok;
}

static const char *const families[] = { "cuda", "cuda-emu" };

static wf__gpu *open_gpu(wf__engine *e, int n, bool emulated, wf__failure *f)
{
    wf__gpu *gpu = wf__alloc0(sizeof *gpu);
    if (gpu) {
        gpu->engine = e;
        gpu->cuda = e->cuda[emulated];
        gpu->emulated = emulated;
        snprintf(gpu->name, sizeof gpu->name, "%s:%d", families[emulated], n);
        gpu->modules = wf__map_new(IDLE_MODULE_BYTES, wf__gpu_free_kernel);
        gpu->has_lock = wf__mutex_init(&gpu->lock);
    }
    if (!gpu || !gpu->modules || !gpu->has_lock) {
        wf__out_of_memory(f, "a device");
    } else if (start_gpu(gpu, n, f))
        return gpu;
    if (gpu)
        close_gpu(gpu);
    return NULL;
}

static void close_gpus(wf__engine *e)
{
    for (int k = 0; k < 2; ++k) {
        for (int n = 0; n < WF__MOST_GPUS; ++n)
            if (e->gpu[k][n])
                close_gpu(e->gpu[k][n]);
        if (e->cuda[k])
            wf__cuda_close(e->cuda[k]);
        wf__free(e->cuda[k]);
    }
}

static bool open_driver(wf__engine *e, int n, bool emulated, wf__failure *f)
{
    if (!e->cuda[emulated]) {
        wf__cuda *c = wf__alloc0(sizeof *c);
        f->status = c ? WF_ERR_DEVICE : WF_ERR_MEMORY;
        wf__str_addf(&f->text, "%s:%d: ", families[emulated], n);
        if (!c)
            wf__str_add(&f->text, "out of memory for a device");
        else if (wf__cuda_open(c, emulated, &f->text)) {
            e->cuda[emulated] = c;
            e->close_gpus = close_gpus;
            wf__str_free(&f->text);
        } else {
            f->status = f->text.failed ? WF_ERR_MEMORY : f->status;
            wf__free(c);
        }
    }
    return e->cuda[emulated] != NULL;
}

int wf__engine_gpu_count(wf__engine *e, bool emulated, wf__failure *f)
{
    int count = 0;
    wf__mutex_lock(&e->lock);
    if (open_driver(e, 0, emulated, f) && e->cuda[emulated]->DeviceGetCount(&count))
        count = 0;
    wf__mutex_unlock(&e->lock);
    return count;
}

wf__gpu *wf__engine_gpu(wf__engine *e, int n, bool emulated, wf__failure *f)
{
    int count = 0;
    wf__gpu *gpu = NULL;
    wf__mutex_lock(&e->lock);
    if (n >= 0 && n < WF__MOST_GPUS && e->gpu[emulated][n])
        gpu = e->gpu[emulated][n];
    else if (open_driver(e, n, emulated, f)) {
        if (e->cuda[emulated]->DeviceGetCount(&count) || n < 0 || n >= count || n >= WF__MOST_GPUS) {
            f->status = WF_ERR_DEVICE;
            wf__str_addf(&f->text, "there is no %s:%d: this machine has %d %s device%s", families[emulated], n, count,
                         emulated ? "emulated" : "CUDA", count == 1 ? "" : "s");
        } else
            gpu = e->gpu[emulated][n] = open_gpu(e, n, emulated, f);
    }
    wf__mutex_unlock(&e->lock);
    return gpu;
}

bool wf__gpu_ask(wf__gpu *gpu, wf__gpu_facts *out, wf__failure *f)
{
    if (!wf__gpu_enter(gpu, f))
        return false;
    *out = (wf__gpu_facts){ .model = gpu->model,
                            .processors = gpu->processors,
                            .capability = gpu->arch,
                            .driver = gpu->driver,
                            .shared_memory = (size_t)gpu->shared_memory,
                            .memory_kept = gpu->idle_bytes };
    bool ok = wf__gpu_ok(gpu, "asking for its memory", gpu->cuda->MemGetInfo(&out->memory_free, &out->memory_bytes), f);
    wf__gpu_end(gpu);
    return ok;
}

uint32_t wf__gpu_shared_memory(const wf__gpu *gpu) { return (uint32_t)gpu->shared_memory; }

void wf__engine_finish_gpus(wf__engine *e, wf__failure *f)
{
    for (int i = 0; i < 2 * WF__MOST_GPUS && f->status == WF_OK; ++i) {
        wf__mutex_lock(&e->lock);
        wf__gpu *gpu = e->gpu[i / WF__MOST_GPUS][i % WF__MOST_GPUS]; /* an open GPU stays open */
        wf__mutex_unlock(&e->lock);
        if (gpu)
            wf__gpu_finish(gpu, f);
    }
}
