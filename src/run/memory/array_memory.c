/* array_memory.c - see array_memory.h.
 *
 * There are 8 size classes per doubling, so at most 1/8 is wasted. A free block holds its own list entry. One lock is
 * held for a few instructions; calls of the system happen outside the lock.
 */
#include "run/memory/array_memory.h"
#include "base/os.h"
#include "run/memory/scratch_files.h"
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#endif
#ifdef WEFT_ASAN /* reports accesses to free blocks, and past the requested size */
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n) ((void)(p))
#define UNPOISON(p, n) ((void)(p))
#endif

enum { CLASSES = 8 * (64 - 6) };
#define LARGE WF__HUGE_PAGE /* from this size on, blocks are pages of the system */
#define MOST ((size_t)PTRDIFF_MAX / 2)
#define MOST_CACHED ((uint64_t)1 << 30)

typedef struct block {
    struct block *next;
    uint32_t class;
} block;

typedef struct size_class {
    block *free;   /* the most recently freed block first, which may still be in the core's cache */
    uint64_t used; /* `clock` at the last use */
} size_class;

struct wf__mem_cache {
    wf__mutex lock;
    uint64_t max_cached; /* 0 = not yet read from the system */
    uint64_t bound;      /* most bytes in memory, if there are files */
    wf__scratch *files;  /* blocks in files; NULL = all blocks are in memory */
    wf__fence fence;     /* blocks lie between pages without access; for tests */
    uint64_t clock;
    wf__mem_stats stats;
    size_class classes[CLASSES];
};

/* Returns the class of a size of u units of 64 bytes: 8 e + m, where u = m * 2^e and 8 <= m < 16 (small u: e = 0). */
static uint32_t class_of(size_t bytes)
{
    uint64_t units = bytes ? ((uint64_t)bytes + 63) / 64 : 1;
    if (units < 16)
        return (uint32_t)units;
    uint32_t e = 60 - (uint32_t)__builtin_clzll(units);
    uint64_t m = (units + ((uint64_t)1 << e) - 1) >> e;
    return 8 * e + (uint32_t)m; /* m = 16 is the same as e + 1, m = 8 */
}

static size_t class_bytes(uint32_t class)
{
    if (class < 16)
        return (size_t) class * 64;
    uint32_t e = class / 8 - 1;
    return (size_t)(class - 8 * e) << (e + 6);
}

/* ---- the system ---- */

/* Large blocks begin at different places of a page. Processors compare the addresses of loads and of stores before them
 * within a page first, so that a stencil would wait for the stores of an array at the same place. */
static size_t place_in_page(uint64_t number)
{
    static const size_t place[] = { 0, 2048, 1024, 3072, 512, 2560, 1536, 3584 };
    return place[number % WF__COUNT(place)];
}

enum { PLACES = 4096 }; /* bytes that these places take */

/* number: of the blocks so far. */
static void *system_alloc(size_t bytes, uint64_t number)
{
    if (wf__alloc_fails())
        return NULL;
    if (bytes < LARGE)
        return aligned_alloc(WF__MEM_ALIGN, bytes);
    char *p = wf__pages_alloc(bytes + PLACES);
    return p ? p + place_in_page(number) : NULL;
}

static void system_free(void *p, size_t bytes)
{
    UNPOISON(p, bytes);
    if (bytes >= LARGE)
        wf__pages_free((char *)p - (uintptr_t)p % LARGE, bytes + PLACES);
    else
        free(p);
}

static void release_list(block *b)
{
    while (b) {
        block *next = b->next;
        system_free(b, class_bytes(b->class));
        b = next;
    }
}

/* Returns the most bytes that may be cached. Reading the memory of the system takes tens of microseconds, so a process
 * that wants to cache little does not. Under the lock. */
static uint64_t bound_for(wf__mem_cache *cache, uint64_t wanted)
{
    const uint64_t little = (uint64_t)1 << 20, most = MOST_CACHED;
    if (!cache->max_cached && wanted <= little)
        return little;
    if (!cache->max_cached) {
        uint64_t part = wf__ram_bytes() / 8;
        cache->max_cached = part < little ? little : part < most ? part : most;
    }
    return cache->max_cached;
}

/* Removes blocks from the cache until `more` bytes fit under the bound, the least recently used classes first. */
static block *evict(wf__mem_cache *cache, uint64_t more, uint64_t bound)
{
    block *out = NULL;
    while (cache->stats.cached > 0 && cache->stats.cached + more > bound) {
        uint32_t oldest = 0;
        for (uint32_t i = 1; i < CLASSES; i++)
            if (cache->classes[i].free &&
                (!cache->classes[oldest].free || cache->classes[i].used < cache->classes[oldest].used))
                oldest = i;
        block *b = cache->classes[oldest].free;
        cache->classes[oldest].free = b->next;
        cache->stats.cached -= class_bytes(oldest);
        b->next = out;
        out = b;
    }
    return out;
}

/* ---- the interface ---- */

wf__mem_cache *wf__mem_new(uint64_t max_cached)
{
    wf__mem_cache *cache = wf__alloc0(sizeof *cache);
    if (!cache)
        return NULL;
    cache->max_cached = max_cached;
    wf__mutex_init(&cache->lock);
    return cache;
}

void wf__mem_free_all(wf__mem_cache *cache)
{
    if (!cache)
        return;
    wf__mem_trim(cache);
    wf__scratch_free_all(cache->files);
    wf__mutex_free(&cache->lock);
    wf__free(cache);
}

bool wf__mem_bound(wf__mem_cache *cache, uint64_t bytes, const char *folder)
{
    cache->bound = bytes;
    cache->max_cached = bytes / 8 < MOST_CACHED ? bytes / 8 + 1 : MOST_CACHED;
    cache->files = wf__scratch_new(folder);
    return cache->files != NULL;
}

void wf__mem_reason(wf__mem_cache *cache, wf__str *out)
{
    if (cache->files)
        wf__scratch_reason(cache->files, out);
}

static void add_in_use(wf__mem_cache *cache, size_t bytes)
{
    cache->stats.in_use += bytes;
    if (cache->stats.in_use > cache->stats.peak)
        cache->stats.peak = cache->stats.in_use;
}

/* Allocates a block in a file if memory has no room for it. *tried: a file was wanted. */
static void *alloc_in_file(wf__mem_cache *cache, size_t bytes, bool *tried)
{
    if (!cache->files || bytes < LARGE)
        return NULL;
    wf__mutex_lock(&cache->lock);
    const uint64_t used = cache->stats.in_use - cache->stats.files;
    *tried = used > cache->bound || bytes > cache->bound - used;
    wf__mutex_unlock(&cache->lock);
    void *p = *tried ? wf__scratch_alloc(cache->files, bytes) : NULL;
    if (!p)
        return NULL;
    wf__mutex_lock(&cache->lock);
    add_in_use(cache, bytes);
    cache->stats.files += bytes;
    wf__mutex_unlock(&cache->lock);
    return p;
}

static bool free_in_file(wf__mem_cache *cache, void *p, size_t bytes)
{
    if (!cache->files || bytes < LARGE || !wf__scratch_free(cache->files, p))
        return false;
    wf__mutex_lock(&cache->lock);
    cache->stats.in_use -= bytes;
    cache->stats.files -= bytes;
    wf__mutex_unlock(&cache->lock);
    return true;
}

void wf__mem_fence(wf__mem_cache *cache, wf__fence fence) { cache->fence = fence; }

static void *alloc_fenced(wf__mem_cache *cache, size_t bytes)
{
    void *p = wf__fenced_alloc(bytes ? bytes : 1, cache->fence == WF__FENCE_BEHIND);
    wf__mutex_lock(&cache->lock);
    cache->stats.fresh++;
    if (p)
        add_in_use(cache, bytes);
    wf__mutex_unlock(&cache->lock);
    return p;
}

static void free_fenced(wf__mem_cache *cache, void *p, size_t bytes)
{
    wf__fenced_free(p, bytes ? bytes : 1);
    wf__mutex_lock(&cache->lock);
    cache->stats.in_use -= bytes;
    wf__mutex_unlock(&cache->lock);
}

void *wf__mem_alloc(wf__mem_cache *cache, size_t bytes)
{
    if (bytes > MOST || wf__alloc_fails())
        return NULL;
    if (cache->fence)
        return alloc_fenced(cache, bytes);
    bool in_file = false;
    void *file = alloc_in_file(cache, bytes, &in_file);
    if (in_file)
        return file;
    uint32_t class = class_of(bytes);
    size_t size = class_bytes(class);
    wf__mutex_lock(&cache->lock);
    size_class *c = &cache->classes[class];
    block *b = c->free;
    c->used = ++cache->clock;
    if (b) {
        c->free = b->next;
        cache->stats.cached -= size;
        cache->stats.reused++;
    } else {
        cache->stats.fresh++;
    }
    const uint64_t number = cache->stats.fresh;
    add_in_use(cache, bytes);
    wf__mutex_unlock(&cache->lock);
    if (!b)
        b = system_alloc(size, number);
    if (!b) {
        wf__mem_trim(cache);
        b = system_alloc(size, number);
    }
    if (!b) {
        wf__mutex_lock(&cache->lock);
        cache->stats.in_use -= bytes;
        wf__mutex_unlock(&cache->lock);
        return NULL;
    }
    UNPOISON(b, size);
    POISON((char *)b + bytes, size - bytes);
    return b;
}

void wf__mem_free(wf__mem_cache *cache, void *p, size_t bytes)
{
    if (!p || free_in_file(cache, p, bytes))
        return;
    if (cache->fence) {
        free_fenced(cache, p, bytes);
        return;
    }
    uint32_t class = class_of(bytes);
    size_t size = class_bytes(class);
    block *b = p, *out = NULL;
    UNPOISON(p, size);
    b->class = class;
    POISON((char *)p + sizeof *b, size - sizeof *b);
    wf__mutex_lock(&cache->lock);
    cache->stats.in_use -= bytes;
    uint64_t bound = bound_for(cache, cache->stats.cached + size);
    bool keep = size <= bound;
    if (keep) {
        size_class *c = &cache->classes[class];
        if (size > bound - cache->stats.cached)
            out = evict(cache, size, bound);
        b->next = c->free;
        c->free = b;
        c->used = ++cache->clock;
        cache->stats.cached += size;
    }
    wf__mutex_unlock(&cache->lock);
    release_list(out);
    if (!keep)
        system_free(p, size);
}

void wf__mem_trim(wf__mem_cache *cache)
{
    wf__mutex_lock(&cache->lock);
    block *out = NULL;
    for (uint32_t i = 0; i < CLASSES && cache->stats.cached > 0; i++)
        while (cache->classes[i].free) {
            block *b = cache->classes[i].free;
            cache->classes[i].free = b->next;
            cache->stats.cached -= class_bytes(i);
            b->next = out;
            out = b;
        }
    wf__mutex_unlock(&cache->lock);
    release_list(out);
}

void wf__mem_get_stats(wf__mem_cache *cache, wf__mem_stats *out)
{
    wf__mutex_lock(&cache->lock);
    *out = cache->stats;
    wf__mutex_unlock(&cache->lock);
}
