/* target.h - which instruction set generated code may use on this machine. */
#ifndef WEFT_TARGET_H
#define WEFT_TARGET_H
#include "plan/kernel.h"

/* The widest set that this processor and its operating system support, or a narrower one that the environment names
 * (WEFT_ISA=avx512|avx2|sse4.2|neon|none; names that do not fit this machine are ignored). WF__ISA_NONE: no code can be
 * generated. Asks the processor each time; constant tables only. */
const wf__target *wf__target_host(void);
/* The target of that name, whether or not this machine can run it; NULL for an unknown one. */
const wf__target *wf__target_named(const char *name);
/* How many rows of a page this processor reads ahead when they are read side by side. */
int wf__target_rows_ahead(void);
#endif
