/* target.h - the instruction sets of generated code. */
#ifndef WEFT_TARGET_H
#define WEFT_TARGET_H
#include "plan/kernel.h"

/* What suits one family of processors, beyond its instruction set. */
typedef struct wf__processor {
    uint8_t rows_ahead;   /* rows in one page that it prefetches at the same time */
    uint8_t vector_units; /* vector operations that it begins in a cycle */
} wf__processor;
/* Returns the widest instruction set that this processor and its operating system support, or a narrower one that
 * WEFT_ISA names (avx512, avx2, sse4.2, neon or none). A name that does not fit this machine is ignored. WF__ISA_NONE
 * = no code can be generated. Sets `processor`, which may be NULL, by the maker and family of this processor. Each call
 * queries the processor. */
const wf__target *wf__target_host(wf__processor *processor);
/* Returns the target of a name, whether or not this machine can run it; NULL = unknown. */
const wf__target *wf__target_named(const char *name);
#endif
