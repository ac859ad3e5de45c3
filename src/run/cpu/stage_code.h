/* stage_code.h - the code of a stage, of the variant that its addresses and threads allow (stage_code.c). */
#ifndef WEFT_STAGE_CODE_H
#define WEFT_STAGE_CODE_H
#include "run/engine.h"
#include "run/note.h"

typedef enum wf__variant {
    WF__PLAIN,
    WF__NONTEMPORAL,   /* stores past the cache */
    WF__SINGLE_THREAD, /* updates that need not be atomic */
    WF__VARIANTS       /* none: it is interpreted */
} wf__variant;

/* The variant for these slots; `parallel`: several threads may run it. */
wf__variant wf__stage_variant(const wf__stage *stage, const wf__mem *mem, bool parallel);
/* Its code, compiled now if nobody has, or if it has run often enough to be compiled for good; NULL: it cannot be
 * compiled, and has been logged. `note`: what was found, NULL if nobody wants to know. Any thread. */
wf__entry *wf__stage_entry(wf__engine *engine, wf__stage *stage, wf__variant which, wf__note *note);
wf__entry *wf__stage_ready_entry(const wf__stage *stage, wf__variant which); /* NULL: not compiled for good yet */
const wf__interp *wf__stage_interp(wf__engine *engine, wf__stage *stage, wf__failure *failure); /* NULL: no memory */
#endif
