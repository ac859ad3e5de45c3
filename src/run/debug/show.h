/* show.h - arrays that show what is stored in them (wf_watch): in debug mode all points of a box take each store to
 * them together, and after it the sight is looked at.
 */
#ifndef WEFT_SIGHT_H
#define WEFT_SIGHT_H
#include "run/engine.h"

typedef struct wf__sight {
    const char *base;  /* of the array, whose elements are in C order */
    int64_t elements;  /* 1 or more */
    unsigned char *on; /* [elements]: 1 where the latest store took place; 0 when nobody is looking */
    int64_t time;      /* how often it was looked at in this run */
    /* `stored`: elements that are on, one or more. Anything but WF_OK ends the run with that status. */
    wf_status (*look)(struct wf__sight *sight, int64_t stored);
    struct wf__sight *next;
} wf__sight;

/* From any thread; a sight stays where it is while it is known. */
void wf__sight_add(wf__engine *engine, wf__sight *sight);
void wf__sight_remove(wf__engine *engine, const wf__sight *sight);
wf__sight *wf__sight_at(wf__engine *engine, const char *base); /* NULL: the array there shows nothing */
#endif
