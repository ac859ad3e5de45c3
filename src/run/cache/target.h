/* target.h - the instruction sets of generated code. */
#ifndef WEFT_TARGET_H
#define WEFT_TARGET_H
#include "plan/kernel.h"

/* Returns the widest instruction set that this processor and its operating system support, or a narrower one that
 * WEFT_ISA names (avx512, avx2, sse4.2, neon or none). A name that does not fit this machine is ignored. WF__ISA_NONE
 * = no code can be generated. Each call queries the processor. */
const wf__target *wf__target_host(void);
/* Returns the target of a name, whether or not this machine can run it; NULL = unknown. */
const wf__target *wf__target_named(const char *name);
/* Returns the number of rows in one page that this processor prefetches at the same time. */
int wf__target_rows_ahead(void);
#endif
