/* module.c - kernels of a GPU by their PTX: from memory, else machine code from disk, else assembled by the driver and
 * stored on disk. Machine code on disk belongs to one driver version and one kind of GPU. If the driver refuses it, the
 * driver assembles the PTX again.
 */
#include "run/gpu/internal.h"
#include <stdio.h>

void wf__gpu_free_kernel(void *value)
{
    wf__gpu_kernel *k = value;
    if (k->module) {
        wf__gpu_drain_here(k->gpu); /* the kernel may be running */
        k->gpu->cuda->ModuleUnload(k->module);
    }
    wf__free(k);
}

/* Returns the largest block size with the best occupancy of a multiprocessor. */
static int best_threads(const wf__gpu *gpu, void *function)
{
    int best = WF__GPU_MOST_THREADS, most = 0, blocks = 0;
    for (int n = WF__GPU_MOST_THREADS; n >= WF__GPU_LEAST_THREADS; n /= 2)
        if (!gpu->cuda->BlocksOfMultiprocessor(&blocks, function, n, 0) && blocks * n > most) {
            most = blocks * n;
            best = n;
        }
    return best;
}

static bool load_image(wf__gpu *gpu, const wf__bytes *image, wf__gpu_kernel *k, wf__failure *f)
{
    int result = gpu->cuda->ModuleLoadDataEx(&k->module, image->at, 0, NULL, NULL);
    if (!wf__gpu_ok(gpu, "loading a kernel", result, f))
        return false;
    result = gpu->cuda->ModuleGetFunction(&k->function, k->module, "weft_kernel");
    k->threads = result ? 0 : best_threads(gpu, k->function);
    return wf__gpu_ok(gpu, "finding a kernel", result, f);
}

/* Copies machine code, and appends a zero; the caller frees the copy by wf__free. */
static bool copy_image(const void *at, size_t n, wf__bytes *out, wf__failure *f)
{
    unsigned char *copy = wf__alloc(n + 1);
    if (!copy) {
        wf__out_of_memory(f, "a kernel");
        return false;
    }
    memcpy(copy, at, n);
    copy[n] = 0;
    *out = (wf__bytes){ copy, n + 1 };
    return true;
}

static bool assemble_ptx(wf__gpu *gpu, const char *ptx, size_t n, wf__bytes *out, wf__failure *f)
{
    const wf__cuda *c = gpu->cuda;
    char log[2048] = "";
    int options[] = { WF__CUDA_JIT_ERROR_LOG, WF__CUDA_JIT_ERROR_LOG_BYTES };
    void *values[] = { log, (void *)(uintptr_t)sizeof log }, *link = NULL, *image = NULL;
    size_t size = 0;
    if (gpu->emulated) /* an emulator executes PTX */
        return copy_image(ptx, n, out, f);
    if (!wf__gpu_ok(gpu, "assembling a kernel", c->LinkCreate(2, options, values, &link), f))
        return false;
    void *text = (void *)(uintptr_t)ptx; /* the driver only reads the text */
    int result = c->LinkAddData(link, WF__CUDA_JIT_INPUT_PTX, text, n + 1, "weft", 0, NULL, NULL);
    if (!result)
        result = c->LinkComplete(link, &image, &size);
    bool ok = wf__gpu_ok(gpu, "assembling a kernel", result, f);
    if (ok)
        ok = copy_image(image, size, out, f);
    else if (*log) {
        log[sizeof log - 1] = 0;
        wf__str_addf(&f->text, ": %s", log);
    }
    c->LinkDestroy(link);
    return ok;
}

/* Writes everything that machine code depends on. */
static void write_disk_key(const wf__gpu *gpu, const char *ptx, size_t n, wf__str *key)
{
    wf__str_addf(key, "weft cubin %s sm_%d driver %d|", gpu->model, gpu->arch, gpu->driver);
    wf__str_addn(key, ptx, n);
}

static bool load_from_disk(wf__gpu *gpu, const wf__str *key, wf__gpu_kernel *k)
{
    wf__engine *e = gpu->engine;
    wf__bytes image = { 0 };
    wf__failure ignored = { 0 };
    bool ok = !key->failed && e->use_disk && !gpu->emulated && wf__disk_load(e->disk, key->at, key->len, &image) &&
              image.n && !image.at[image.n - 1] && load_image(gpu, &image, k, &ignored);
    if (!ok && k->module) {
        gpu->cuda->ModuleUnload(k->module);
        k->module = NULL;
    }
    wf__free(image.at);
    wf__str_free(&ignored.text);
    if (ok)
        atomic_fetch_add(&e->disk_hits, 1);
    return ok;
}

static bool make_kernel(wf__gpu *gpu, const char *ptx, size_t n, const wf__str *key, wf__gpu_kernel *k, wf__failure *f)
{
    wf__engine *e = gpu->engine;
    wf__bytes image = { 0 };
    bool ok = assemble_ptx(gpu, ptx, n, &image, f) && load_image(gpu, &image, k, f);
    if (ok)
        atomic_fetch_add(&e->compiled, 1);
    if (ok && !key->failed && !gpu->emulated)
        wf__engine_keep(e, key, image.at, image.n);
    wf__free(image.at);
    return ok;
}

static wf__gpu_kernel *load_or_make_kernel(wf__gpu *gpu, const char *ptx, size_t n, wf_code_from *from, wf__failure *f)
{
    wf__str key = { 0 };
    wf__gpu_kernel *k = wf__alloc0(sizeof *k);
    if (!k) {
        wf__out_of_memory(f, "a kernel");
        return NULL;
    }
    k->gpu = gpu;
    write_disk_key(gpu, ptx, n, &key);
    *from = WF_CODE_DISK;
    bool ok = load_from_disk(gpu, &key, k);
    if (!ok) {
        *from = WF_CODE_COMPILED;
        ok = make_kernel(gpu, ptx, n, &key, k, f);
    }
    wf__str_free(&key);
    if (ok)
        return k;
    wf__gpu_free_kernel(k);
    return NULL;
}

wf__held *wf__gpu_module(wf__gpu *gpu, const char *ptx, size_t n, wf__note *note, wf__failure *f)
{
    wf__hash128 hash = wf__hash_128(ptx, n);
    wf__held *held = wf__map_get(gpu->modules, hash, ptx, n);
    wf_code_from from = WF_CODE_MEMORY;
    double start = wf__now();
    if (held)
        atomic_fetch_add(&gpu->engine->memory_hits, 1);
    else {
        wf__gpu_kernel *k = load_or_make_kernel(gpu, ptx, n, &from, f);
        if (!k)
            return NULL;
        held = wf__map_put(gpu->modules, hash, ptx, n, k, sizeof *k + n);
        if (!held || wf__held_value(held) != k)
            wf__gpu_free_kernel(k);
        if (!held) {
            wf__out_of_memory(f, "a kernel");
        }
    }
    if (note) {
        note->code = from;
        note->hash = hash.lo;
        note->compile_s = wf__now() - start;
    }
    return held;
}
