/* memory.c - a GPU's memory.
 *
 * Free blocks are kept by size class, up to a bound. The stream that has used a block last, or one that runs after it,
 * can reuse the block at once; any other stream waits first, on the GPU. If memory runs out, all free blocks return to
 * the driver before the call fails. In an emulator, blocks have exactly the requested size and are freed at once, so
 * that it notices accesses past the end and after the release.
 */
#include "run/gpu/internal.h"

enum { ALIGN = 256 };

struct wf__gpu_idle {
    uint64_t at;
    wf__gpu_idle *next;
    wf__gpu_use use;
};

/* Returns the size of the blocks of a size class. There are eight classes for each power of two. */
static size_t class_size(size_t bytes)
{
    size_t step = ALIGN;
    while (step <= SIZE_MAX / 32 && 16 * step <= bytes)
        step *= 2;
    return (bytes + !bytes + step - 1) / step * step;
}

static size_t class_of(size_t size)
{
    unsigned p = 0;
    while (size >> p > 1)
        ++p;
    return 8 * p + (size >> (p - 3) & 7);
}

static size_t whole_size(const wf__gpu *gpu, size_t bytes)
{
    return gpu->emulated ? (bytes + !bytes + 3) / 4 * 4 : class_size(bytes);
}

void wf__gpu_empty_cache(wf__gpu *gpu)
{
    for (size_t k = 0; k < WF__GPU_CLASSES; ++k)
        while (gpu->idle[k]) {
            wf__gpu_idle *b = gpu->idle[k];
            gpu->idle[k] = b->next;
            gpu->cuda->MemFree(b->at);
            wf__free(b);
        }
    gpu->idle_bytes = 0;
}

static bool no_memory(wf__gpu *gpu, size_t bytes, wf__failure *f)
{
    size_t left = 0, total = 0;
    f->status = WF_ERR_MEMORY;
    wf__str_addf(&f->text, "%s: out of memory: %llu bytes requested", gpu->name, (unsigned long long)bytes);
    if (!gpu->cuda->MemGetInfo(&left, &total))
        wf__str_addf(&f->text, ", %llu of %llu are free", (unsigned long long)left, (unsigned long long)total);
    return false;
}

/* Allocates memory of the driver. Empties the cache and tries again if there is none. */
static bool alloc_from_driver(wf__gpu *gpu, size_t size, uint64_t *at, wf__failure *f)
{
    int result = gpu->cuda->MemAlloc(at, size);
    if (result == WF__CUDA_OUT_OF_MEMORY && gpu->idle_bytes) {
        wf__gpu_empty_cache(gpu);
        result = gpu->cuda->MemAlloc(at, size);
    }
    return result == WF__CUDA_OUT_OF_MEMORY ? no_memory(gpu, size, f) : wf__gpu_ok(gpu, "memory", result, f);
}

/* Prefers an idle block for which the current stream need not wait, then any idle block, then a new one. */
static bool find_block(wf__gpu *gpu, size_t size, uint64_t *block, wf__gpu_use *use, wf__failure *f)
{
    wf__gpu_idle **list = &gpu->idle[gpu->emulated ? 0 : class_of(size)], **at = list;
    *use = (wf__gpu_use){ 0 };
    if (gpu->emulated || !*list)
        return alloc_from_driver(gpu, size, block, f);
    while (*at && !wf__gpu_comes_after(gpu, (*at)->use))
        at = &(*at)->next;
    at = *at ? at : list;
    wf__gpu_idle *b = *at;
    *at = b->next;
    *block = b->at;
    *use = b->use;
    gpu->idle_bytes -= size;
    wf__free(b);
    return true;
}

static char *take_block(wf__gpu *gpu, size_t bytes, wf__gpu_use *use, wf__failure *f)
{
    uint64_t at = 0;
    if (bytes > SIZE_MAX / 4) {
        no_memory(gpu, bytes, f);
        return NULL;
    }
    return find_block(gpu, whole_size(gpu, bytes), &at, use, f) ? (char *)(uintptr_t)at : NULL;
}

static void give_block(wf__gpu *gpu, char *at, size_t bytes, wf__gpu_use use)
{
    if (!at)
        return;
    size_t size = whole_size(gpu, bytes);
    bool keep = !gpu->emulated && !gpu->lost && size <= gpu->idle_most && gpu->idle_bytes <= gpu->idle_most - size;
    wf__gpu_idle *b = keep ? wf__alloc(sizeof *b) : NULL;
    if (!b) {
        gpu->cuda->MemFree(wf__gpu_address(at));
        return;
    }
    wf__gpu_idle **list = &gpu->idle[class_of(size)];
    *b = (wf__gpu_idle){ wf__gpu_address(at), *list, use };
    *list = b;
    gpu->idle_bytes += size;
}

void wf__gpu_give(wf__gpu *gpu, char *at, size_t bytes)
{
    give_block(gpu, at, bytes, (wf__gpu_use){ gpu->now->number, gpu->clock });
}

/* Clears the rest of the word that holds the last element. Atomic updates of small elements write whole words. */
static void fill_word(wf__gpu *gpu, const char *at, size_t bytes)
{
    if (bytes % 4)
        gpu->cuda->MemsetD8(wf__gpu_address(at) + bytes, 0, 4 - bytes % 4, gpu->now->stream);
}

char *wf__gpu_take(wf__gpu *gpu, size_t bytes, wf__failure *f)
{
    wf__gpu_use use;
    char *at = take_block(gpu, bytes, &use, f);
    if (at && !wf__gpu_use_memory(gpu, (wf__gpu_use *[]){ &use }, 1, f)) {
        give_block(gpu, at, bytes, use);
        return NULL;
    }
    if (at)
        fill_word(gpu, at, bytes);
    return at;
}

char *wf__gpu_alloc(wf__gpu *gpu, size_t bytes, wf__gpu_use *use, wf__failure *f)
{
    if (!(bytes % 4 ? wf__gpu_begin(gpu, f) : wf__gpu_enter(gpu, f))) /* fill_word submits work */
        return NULL;
    char *at = take_block(gpu, bytes, use, f);
    if (at)
        fill_word(gpu, at, bytes);
    wf__gpu_end(gpu);
    return at;
}

void wf__gpu_free(wf__gpu *gpu, char *at, size_t bytes, wf__gpu_use use)
{
    wf__failure ignored = { 0 };
    if (at && wf__gpu_enter(gpu, &ignored)) {
        give_block(gpu, at, bytes, use);
        wf__gpu_end(gpu);
    }
    wf__str_free(&ignored.text);
}

/* ---- copies ---- */
bool wf__gpu_upload(wf__gpu *gpu, char *to, wf__gpu_use *use, const void *from, size_t bytes, wf__failure *f)
{
    wf__gpu_copying c;
    return !bytes || (wf__gpu_begin_copy(gpu, &use, 1, &c, f) &&
                      wf__gpu_end_copy(&c, "copying to the GPU",
                                       gpu->cuda->MemcpyHtoD(wf__gpu_address(to), from, bytes, c.stream), f));
}

/* Copies the rows along the last axis by one call, if the driver's 2D copies allow their distance. */
static int copy_rows(const wf__gpu_copying *c, char *to, const char *from, size_t bytes, int64_t n, int64_t step)
{
    const wf__cuda *cuda = c->gpu->cuda;
    int result = 0;
    if (n > 1 && (step < (int64_t)bytes || step > INT32_MAX)) {
        for (int64_t i = 0; i < n && !result; ++i)
            result = cuda->MemcpyHtoD(wf__gpu_address(to + i * step), from + (size_t)i * bytes, bytes, c->stream);
        return result;
    }
    wf__cuda_copy2d rows = { .from_type = WF__CUDA_MEMORY_HOST,
                             .from_host = from,
                             .from_pitch = bytes,
                             .to_type = WF__CUDA_MEMORY_DEVICE,
                             .to_device = wf__gpu_address(to),
                             .to_pitch = (size_t)step,
                             .width = bytes,
                             .height = (size_t)n };
    return n > 1 ? cuda->Memcpy2D(&rows, c->stream) : cuda->MemcpyHtoD(wf__gpu_address(to), from, bytes, c->stream);
}

bool wf__gpu_upload_rows(wf__gpu *gpu, char *to, wf__gpu_use *use, const char *from, const wf__gpu_rows *rows,
                         wf__failure *f)
{
    wf__gpu_copying c;
    int64_t index[WF_MAX_RANK] = { 0 };
    int last = rows->axes - 1, result = 0;
    int64_t n = last >= 0 ? rows->dim[last] : 1, step = last >= 0 ? rows->step[last] : 0;
    if (!wf__gpu_begin_copy(gpu, &use, 1, &c, f))
        return false;
    for (int d = 0; d >= 0 && !result;) {
        int64_t offset = 0;
        for (int k = 0; k < last; ++k)
            offset += index[k] * rows->step[k];
        result = copy_rows(&c, to + offset, from, rows->bytes, n, step);
        from += (size_t)n * rows->bytes;
        for (d = last - 1; d >= 0 && ++index[d] == rows->dim[d]; --d)
            index[d] = 0;
    }
    return wf__gpu_end_copy(&c, "copying to the GPU", result, f);
}

bool wf__gpu_download(wf__gpu *gpu, void *to, const char *from, wf__gpu_use *use, size_t bytes, wf__failure *f)
{
    wf__gpu_copying c;
    return !bytes || (wf__gpu_begin_copy(gpu, &use, 1, &c, f) &&
                      wf__gpu_end_copy(&c, "copying from the GPU",
                                       gpu->cuda->MemcpyDtoH(to, wf__gpu_address(from), bytes, c.stream), f));
}

bool wf__gpu_copy(wf__gpu *gpu, char *to, wf__gpu_use *to_use, const char *from, wf__gpu_use *from_use, size_t bytes,
                  wf__failure *f)
{
    wf__gpu_copying c;
    return !bytes ||
           (wf__gpu_begin_copy(gpu, (wf__gpu_use *[]){ to_use, from_use }, 2, &c, f) &&
            wf__gpu_end_copy(&c, "copying on the GPU",
                             gpu->cuda->MemcpyDtoD(wf__gpu_address(to), wf__gpu_address(from), bytes, c.stream), f));
}
