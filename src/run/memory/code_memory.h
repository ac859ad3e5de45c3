/* code_memory.h - executable memory, never writable and executable at the same address. */
#ifndef WEFT_CODE_MEMORY_H
#define WEFT_CODE_MEMORY_H
#include "base/base.h"

typedef struct wf__code_memory {
    unsigned char *write; /* address for writing the code, until wf__code_memory_finish */
    unsigned char *run;   /* address of the running code, to which relative references refer */
    size_t bytes;
    struct wf__code_arena *arena; /* NULL = a mapping of its own */
} wf__code_memory;

/* Guards forks. false = out of memory. Handlers of forks that wait for threads which allocate code must be registered
 * later: handlers run in reverse order, and this one takes a lock that such threads need. */
bool wf__code_memory_guard(void);
/* Allocates `bytes` aligned to `align`, a power of two <= 4096. Any thread may call; no thread waits for another. */
bool wf__code_memory_new(wf__code_memory *m, size_t bytes, size_t align);
/* Makes the written code executable. false = the system refuses. */
bool wf__code_memory_finish(wf__code_memory *m);
/* Frees the memory. No thread may be inside the code. All zero: no-op. */
void wf__code_memory_free(wf__code_memory *m);
#endif
