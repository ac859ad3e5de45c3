/* watchpoint.h - arrays whose stores a callback sees (wf_watch). In debug mode all points of a box run in lockstep, and
 * the callback follows each store.
 */
#ifndef WEFT_WATCHPOINT_H
#define WEFT_WATCHPOINT_H
#include "run/engine.h"

typedef struct wf__watchpoint {
    const char *base;  /* the array's memory, with elements in C order */
    int64_t elements;  /* >= 1 */
    unsigned char *on; /* [elements]: 1 = the latest store wrote the element; all 0 between stores */
    int64_t time;      /* number of calls of `look` in this run */
    /* The callback. stored: number of elements that are on, >= 1. A status other than WF_OK ends the run. */
    wf_status (*look)(struct wf__watchpoint *watchpoint, int64_t stored);
    struct wf__watchpoint *next;
} wf__watchpoint;

/* Any thread may call. A watchpoint must not move between add and remove. */
void wf__watchpoint_add(wf__engine *engine, wf__watchpoint *watchpoint);
void wf__watchpoint_remove(wf__engine *engine, const wf__watchpoint *watchpoint);
wf__watchpoint *wf__watchpoint_at(wf__engine *engine, const char *base); /* NULL = none */
#endif
