/* array_memory.h - storage of arrays: 64-byte aligned blocks that are kept for reuse after they are freed.
 *
 * Fresh pages cost more than most kernels (the system zeroes them, and maps them one by one), so freed blocks wait in
 * lists by size class, at most `max_cached` bytes of them, the class least recently used giving way first.
 */
#ifndef WEFT_MEMORY_H
#define WEFT_MEMORY_H
#include "base/base.h"

enum { WF__MEM_ALIGN = 64 };

typedef struct wf__mem_cache wf__mem_cache;
typedef struct wf__mem_stats {
    uint64_t in_use; /* bytes handed out, as asked for */
    uint64_t peak;   /* the most that ever was */
    uint64_t cached; /* bytes kept for reuse */
    uint64_t fresh;  /* allocations that went to the system */
    uint64_t reused; /* allocations served from the cache */
} wf__mem_stats;

/* max_cached: 0 for the default, 1 GiB or an eighth of the memory if that is less; UINT64_MAX is no bound. */
wf__mem_cache *wf__mem_new(uint64_t max_cached);
void wf__mem_free_all(wf__mem_cache *cache); /* all blocks must have been freed; NULL is fine */

/* Uninitialised, aligned to 64 bytes, from 2 MiB on to 2 MiB (huge pages). NULL: out of memory, even with the cache
 * emptied. 0 bytes are as good as 1. From any thread. */
void *wf__mem_alloc(wf__mem_cache *cache, size_t bytes);
void wf__mem_free(wf__mem_cache *cache, void *p, size_t bytes); /* `bytes` as allocated; NULL is fine */
void wf__mem_trim(wf__mem_cache *cache);                        /* gives all kept blocks back to the system */
void wf__mem_get_stats(wf__mem_cache *cache, wf__mem_stats *out);
#endif
