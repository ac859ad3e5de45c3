/* later.h - code of bodies that a thread of the engine compiles, while the program goes on without it. */
#ifndef WEFT_LATER_H
#define WEFT_LATER_H
#include "run/cache/once.h"
#include "run/engine.h"
#include "run/memory/code_memory.h"
#include "run/thread/background.h"

typedef struct wf__later wf__later; /* one compilation */

/* Guards forks and the end of the calling thread, as wf__background_guard. */
static inline bool wf__later_guard(void)
{
    return wf__once_guard() && wf__code_memory_guard() && wf__background_guard(); /* in this order */
}
/* Begins the compilation of a body, with the options of wf__engine_get_code. Starts the thread at the first call. NULL =
 * out of memory, no thread, or too many compilations wait. */
wf__later *wf__later_new(wf__engine *engine, const wf__ir *body, const wf__code_options *how,
                         const wf__code_options *instead);
void wf__later_release(wf__later *later);       /* the compilation itself goes on; NULL: no-op */
bool wf__later_is_done(const wf__later *later); /* the compilation has ended */
bool wf__later_is_lost(const wf__later *later); /* it never ends, in the child of a fork */
void wf__later_finish(wf__later *later);        /* waits for the end, or compiles now if the thread has not begun */
/* Returns the code to the first caller after the end, used until wf__map_let_go. NULL = another caller has it, or the
 * compilation failed. */
wf__held *wf__later_take(wf__later *later, uint64_t *hash);
bool wf__later_failed(const wf__later *later); /* there is no code, which the log has reported */
#endif
