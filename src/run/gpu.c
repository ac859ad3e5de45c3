/* gpu.c - see gpu.h. */
#include "run/gpu_internal.h"

enum { IDLE_MODULE_BYTES = 32 << 20, ALIGN = 256 };

bool wf__gpu_ok(wf__gpu *gpu, const char *what, int result, wf__failure *f)
{
    if (!result)
        return true;
    f->status = result == WF__CUDA_OUT_OF_MEMORY ? WF_ERR_MEMORY : WF_ERR_BACKEND;
    wf__str_addf(&f->text, "cuda:%d: ", gpu->number);
    wf__cuda_explain(gpu->cuda, what, result, &f->text);
    return false;
}

bool wf__gpu_begin(wf__gpu *gpu, wf__failure *f)
{
    wf__mutex_lock(&gpu->lock);
    if (wf__gpu_ok(gpu, "making the context current", gpu->cuda->CtxPushCurrent(gpu->context), f))
        return true;
    wf__mutex_unlock(&gpu->lock);
    return false;
}

void wf__gpu_end(wf__gpu *gpu)
{
    void *ours;
    gpu->cuda->CtxPopCurrent(&ours);
    wf__mutex_unlock(&gpu->lock);
}

bool wf__gpu_wait(wf__gpu *gpu, const char *what, wf__failure *f)
{
    return wf__gpu_ok(gpu, what, gpu->cuda->StreamSynchronize(gpu->stream), f);
}

/* ---- memory ---- */
char *wf__gpu_take(wf__gpu *gpu, size_t bytes, wf__failure *f)
{
    uint64_t at = 0;
    if (bytes > SIZE_MAX - ALIGN) {
        f->status = WF_ERR_MEMORY;
        wf__str_addf(&f->text, "cuda:%d: out of memory", gpu->number);
        return NULL;
    }
    size_t all = (bytes + !bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!wf__gpu_ok(gpu, "memory", gpu->cuda->MemAlloc(&at, all), f))
        return NULL;
    if (bytes % 4) /* small elements are updated together with the word they are in, which may end behind the last */
        gpu->cuda->MemsetD8(at + bytes, 0, 4 - bytes % 4, gpu->stream);
    return (char *)(uintptr_t)at;
}

void wf__gpu_give(wf__gpu *gpu, char *at)
{
    if (at)
        gpu->cuda->MemFree(wf__gpu_address(at));
}

char *wf__gpu_alloc(wf__gpu *gpu, size_t bytes, wf__failure *f)
{
    if (!wf__gpu_begin(gpu, f))
        return NULL;
    char *at = wf__gpu_take(gpu, bytes, f);
    wf__gpu_end(gpu);
    return at;
}

void wf__gpu_free(wf__gpu *gpu, char *at)
{
    wf__failure ignored = { 0 };
    if (at && wf__gpu_begin(gpu, &ignored)) {
        wf__gpu_give(gpu, at);
        wf__gpu_end(gpu);
    }
    wf__str_free(&ignored.text);
}

bool wf__gpu_upload(wf__gpu *gpu, char *to, const void *from, size_t bytes, wf__failure *f)
{
    if (!bytes)
        return true;
    if (!wf__gpu_begin(gpu, f))
        return false;
    int result = gpu->cuda->MemcpyHtoD(wf__gpu_address(to), from, bytes, gpu->stream);
    bool ok = wf__gpu_ok(gpu, "copying to the GPU", result, f) && wf__gpu_wait(gpu, "copying to the GPU", f);
    wf__gpu_end(gpu);
    return ok;
}

bool wf__gpu_download(wf__gpu *gpu, void *to, const char *from, size_t bytes, wf__failure *f)
{
    if (!bytes)
        return true;
    if (!wf__gpu_begin(gpu, f))
        return false;
    int result = gpu->cuda->MemcpyDtoH(to, wf__gpu_address(from), bytes, gpu->stream);
    bool ok = wf__gpu_ok(gpu, "copying from the GPU", result, f) && wf__gpu_wait(gpu, "copying from the GPU", f);
    wf__gpu_end(gpu);
    return ok;
}

bool wf__gpu_zero(wf__gpu *gpu, char *at, size_t bytes, wf__failure *f)
{
    if (!bytes)
        return true;
    if (!wf__gpu_begin(gpu, f))
        return false;
    int result = gpu->cuda->MemsetD8(wf__gpu_address(at), 0, bytes, gpu->stream);
    bool ok = wf__gpu_ok(gpu, "filling memory", result, f) && wf__gpu_wait(gpu, "filling memory", f);
    wf__gpu_end(gpu);
    return ok;
}

/* ---- modules ---- */
static void free_kernel(void *value) /* the context is current */
{
    wf__gpu_kernel *k = value;
    if (k->module)
        k->gpu->cuda->ModuleUnload(k->module);
    wf__free(k);
}

static wf__gpu_kernel *load(wf__gpu *gpu, const char *ptx, wf__failure *f)
{
    char log[2048] = "";
    int options[] = { WF__CUDA_JIT_ERROR_LOG, WF__CUDA_JIT_ERROR_LOG_BYTES };
    void *values[] = { log, (void *)(uintptr_t)sizeof log };
    wf__gpu_kernel *k = wf__alloc0(sizeof *k);
    if (!k) {
        f->status = WF_ERR_MEMORY;
        wf__str_add(&f->text, "out of memory for a kernel");
        return NULL;
    }
    k->gpu = gpu;
    int result = gpu->cuda->ModuleLoadDataEx(&k->module, ptx, 2, options, values);
    if (!wf__gpu_ok(gpu, "loading a kernel", result, f)) {
        log[sizeof log - 1] = 0;
        wf__str_addf(&f->text, "%s%s", *log ? ": " : "", log);
    } else {
        result = gpu->cuda->ModuleGetFunction(&k->function, k->module, "weft_kernel");
        if (wf__gpu_ok(gpu, "finding a kernel", result, f))
            return k;
    }
    free_kernel(k);
    return NULL;
}

wf__held *wf__gpu_module(wf__gpu *gpu, const char *ptx, size_t n, wf__failure *f)
{
    wf__hash128 hash = wf__hash_128(ptx, n);
    wf__held *held = wf__map_get(gpu->modules, hash, ptx, n);
    if (held) {
        atomic_fetch_add(&gpu->engine->memory_hits, 1);
        return held;
    }
    wf__gpu_kernel *k = load(gpu, ptx, f);
    if (!k)
        return NULL;
    atomic_fetch_add(&gpu->engine->compiled, 1);
    held = wf__map_put(gpu->modules, hash, ptx, n, k, sizeof *k + n);
    if (!held || wf__held_value(held) != k)
        free_kernel(k);
    if (!held) {
        f->status = WF_ERR_MEMORY;
        wf__str_add(&f->text, "out of memory for a kernel");
    }
    return held;
}

/* ---- opening ---- */
static void close_gpu(wf__gpu *gpu)
{
    wf__failure ignored = { 0 };
    if (gpu->context && gpu->has_lock && wf__gpu_begin(gpu, &ignored)) {
        wf__map_free(gpu->modules);
        if (gpu->stream)
            gpu->cuda->StreamDestroy(gpu->stream);
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

static bool start(wf__gpu *gpu, wf__failure *f)
{
    const wf__cuda *c = gpu->cuda;
    int major = 0, minor = 0;
    if (!wf__gpu_ok(gpu, "no such device", c->DeviceGet(&gpu->device, gpu->number), f) ||
        !wf__gpu_ok(gpu, "asking for its capability",
                    c->DeviceGetAttribute(&major, WF__CUDA_CAPABILITY_MAJOR, gpu->device), f) ||
        !wf__gpu_ok(gpu, "asking for its capability",
                    c->DeviceGetAttribute(&minor, WF__CUDA_CAPABILITY_MINOR, gpu->device), f) ||
        !wf__gpu_ok(gpu, "retaining its context", c->PrimaryCtxRetain(&gpu->context, gpu->device), f))
        return false;
    c->DeviceGetName(gpu->name, (int)sizeof gpu->name, gpu->device);
    gpu->arch = 10 * major + minor;
    if (!wf__gpu_begin(gpu, f))
        return false;
    int result = c->StreamCreate(&gpu->stream, WF__CUDA_STREAM_NON_BLOCKING);
    bool ok = wf__gpu_ok(gpu, "making a stream", result, f);
    wf__gpu_end(gpu);
    return ok;
}

static wf__gpu *open_gpu(wf__engine *e, int n, wf__failure *f)
{
    wf__gpu *gpu = wf__alloc0(sizeof *gpu);
    if (gpu) {
        gpu->engine = e;
        gpu->cuda = e->cuda;
        gpu->number = n;
        gpu->modules = wf__map_new(IDLE_MODULE_BYTES, free_kernel);
        gpu->has_lock = wf__mutex_init(&gpu->lock);
    }
    if (!gpu || !gpu->modules || !gpu->has_lock) {
        f->status = WF_ERR_MEMORY;
        wf__str_add(&f->text, "out of memory for a device");
    } else if (start(gpu, f))
        return gpu;
    if (gpu)
        close_gpu(gpu);
    return NULL;
}

static bool open_driver(wf__engine *e, wf__failure *f)
{
    if (!e->cuda) {
        wf__cuda *c = wf__alloc0(sizeof *c);
        f->status = c ? WF_ERR_DEVICE : WF_ERR_MEMORY;
        if (!c)
            wf__str_add(&f->text, "out of memory for a device");
        else if (wf__cuda_open(c, &f->text))
            e->cuda = c;
        else
            wf__free(c);
    }
    return e->cuda != NULL;
}

wf__gpu *wf__engine_gpu(wf__engine *e, int n, wf__failure *f)
{
    int count = 0;
    wf__gpu *gpu = NULL;
    wf__mutex_lock(&e->lock);
    if (n >= 0 && n < WF__MOST_GPUS && e->gpu[n])
        gpu = e->gpu[n];
    else if (open_driver(e, f)) {
        if (e->cuda->DeviceGetCount(&count) || n < 0 || n >= count || n >= WF__MOST_GPUS) {
            f->status = WF_ERR_DEVICE;
            wf__str_addf(&f->text, "there is no cuda:%d: this machine has %d CUDA device%s", n, count,
                         count == 1 ? "" : "s");
        } else
            gpu = e->gpu[n] = open_gpu(e, n, f);
    }
    wf__mutex_unlock(&e->lock);
    return gpu;
}

void wf__engine_close_gpus(wf__engine *e)
{
    for (int n = 0; n < WF__MOST_GPUS; ++n)
        if (e->gpu[n])
            close_gpu(e->gpu[n]);
    if (e->cuda)
        wf__cuda_close(e->cuda);
    wf__free(e->cuda);
}
