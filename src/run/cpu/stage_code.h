/* stage_code.h - the code of a stage, in the variant that its addresses and threads allow (stage_code.c). */
#ifndef WEFT_STAGE_CODE_H
#define WEFT_STAGE_CODE_H
#include "run/cpu/cpu.h"

typedef enum wf__variant {
    WF__PLAIN,
    WF__NONTEMPORAL,   /* stores that bypass the cache */
    WF__SINGLE_THREAD, /* updates that are not atomic */
    WF__VARIANTS       /* no code: the stage is interpreted */
} wf__variant;

/* Returns the variant for these slots. `parallel`: several threads may run the stage. */
wf__variant wf__stage_variant(const wf__stage *stage, const wf__mem *mem, bool parallel);
/* Returns the code of a variant. Compiles it at its first use, and replaces baseline code by final code after enough
 * work. note: receives the source of the code; or NULL. NULL = the stage is interpreted: its code is being compiled, or
 * the compilation failed, which the log reports. Any thread may call. */
wf__entry *wf__stage_entry(wf__engine *engine, wf__stage *stage, wf__variant which, wf__note *note);
/* True if the stage is interpreted until its first code is there, in launches without a note. */
bool wf__stage_interprets_first(const wf__stage *stage);
wf__entry *wf__stage_ready_entry(const wf__stage *stage, wf__variant which); /* NULL = there is no final code yet */
const wf__interp *wf__stage_interp(wf__engine *engine, wf__stage *stage, wf__failure *failure); /* NULL = no memory */
#endif
