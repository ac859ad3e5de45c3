/* code_memory.h - executable memory. It is never writable and executable at the same address. */
#ifndef WEFT_CODE_MEMORY_H
#define WEFT_CODE_MEMORY_H
#include "base/base.h"

typedef struct wf__code_memory {
    unsigned char *write; /* where the code is put, before wf__code_memory_finish only */
    unsigned char *run;   /* where it runs: what it refers to by distance must be reckoned from here */
    size_t bytes;
    struct wf__code_arena *arena; /* NULL: a mapping of its own */
} wf__code_memory;

/* `bytes` of memory aligned to `align`, a power of two of at most 4096. From any thread; never waits for another. On
 * failure nothing is held. */
bool wf__code_memory_new(wf__code_memory *m, size_t bytes, size_t align);
/* The code is written. false: the system does not let it run. */
bool wf__code_memory_finish(wf__code_memory *m);
/* No thread may be inside the code. Of zeros: no-op. */
void wf__code_memory_free(wf__code_memory *m);
#endif
