/* array_memory.h - memory of arrays: 64-byte aligned blocks, which are kept for reuse after they are freed.
 *
 * Fresh pages cost more than most kernels: the system zeroes them, and maps them one by one. So freed blocks stay in
 * lists by size class, at most `max_cached` bytes. Blocks of the least recently used class leave first.
 */
#ifndef WEFT_MEMORY_H
#define WEFT_MEMORY_H
#include "base/base.h"

enum { WF__MEM_ALIGN = 64 };

typedef struct wf__mem_cache wf__mem_cache;
typedef enum wf__fence { WF__FENCE_NONE, WF__FENCE_BEFORE, WF__FENCE_BEHIND } wf__fence; /* where no byte is spare */
typedef struct wf__mem_stats {
    uint64_t in_use; /* bytes in use, without rounding */
    uint64_t files;  /* those of them that lie in files */
    uint64_t peak;   /* maximum of in_use */
    uint64_t cached; /* bytes kept for reuse */
    uint64_t fresh;  /* allocations from the system */
    uint64_t reused; /* allocations from the cache */
} wf__mem_stats;

/* Makes a cache. max_cached: 0 = an eighth of the memory, but at least 1 MiB and at most 1 GiB; UINT64_MAX = no bound. */
wf__mem_cache *wf__mem_new(uint64_t max_cached);
/* From now on large blocks lie in files (scratch_files.h) where all blocks would else take more than `bytes` bytes of
 * memory. folder: as wf__scratch_new. Called before any allocation. Returns false if out of memory. */
bool wf__mem_bound(wf__mem_cache *cache, uint64_t bytes, const char *folder);
/* From now on each block lies between pages without access (wf__fenced_alloc), and is not kept: for tests of generated
 * code. Called before any allocation. */
void wf__mem_fence(wf__mem_cache *cache, wf__fence fence);
/* Appends the reason if the latest allocation of a block in a file failed. */
void wf__mem_reason(wf__mem_cache *cache, wf__str *out);
void wf__mem_free_all(wf__mem_cache *cache); /* all blocks must have been freed; NULL: no-op */

/* Allocates uninitialised memory, aligned to 64 bytes; from 2 MiB on in huge pages, at different places of the first 4 KiB
 * of one. 0 bytes are as good as 1. NULL = out of memory, after all kept blocks have returned to the system. Any thread may call. */
void *wf__mem_alloc(wf__mem_cache *cache, size_t bytes);
void wf__mem_free(wf__mem_cache *cache, void *p, size_t bytes); /* `bytes` as allocated; p NULL: no-op */
void wf__mem_trim(wf__mem_cache *cache);                        /* returns all kept blocks to the system */
void wf__mem_get_stats(wf__mem_cache *cache, wf__mem_stats *out);
#endif
