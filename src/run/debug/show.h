/* show.h - arrays whose stores a callback sees (wf_watch). In debug mode all points of a box run in lockstep, and the
 * callback follows each store.
 */
#ifndef WEFT_SIGHT_H
#define WEFT_SIGHT_H
#include "run/engine.h"

typedef struct wf__sight {
    const char *base;  /* the array's memory, with elements in C order */
    int64_t elements;  /* >= 1 */
    unsigned char *on; /* [elements]: 1 = the latest store wrote the element; all 0 between stores */
    int64_t time;      /* number of calls of `look` in this run */
    /* The callback. stored: number of elements that are on, >= 1. A status other than WF_OK ends the run. */
    wf_status (*look)(struct wf__sight *sight, int64_t stored);
    struct wf__sight *next;
} wf__sight;

/* Any thread may call. A sight must not move between add and remove. */
void wf__sight_add(wf__engine *engine, wf__sight *sight);
void wf__sight_remove(wf__engine *engine, const wf__sight *sight);
wf__sight *wf__sight_at(wf__engine *engine, const char *base); /* NULL = none */
#endif
