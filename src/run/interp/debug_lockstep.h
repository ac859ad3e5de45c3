/* debug_lockstep.h - where points are shown (show.h), the interpreter does each node for all chunks of a box before the next
 * one, so that every turn of a loop is one of the whole box.
 *
 * A box is gone through twice: the first time only to know its chunks, which then do together what is before the first
 * use of the accumulators of reductions. Those have an order of chunks, so the rest is done the second time, one chunk
 * after the other; what is stored there outside of loops is shown once the box is done, what is in a loop for each chunk.
 */
#ifndef WEFT_TOGETHER_H
#define WEFT_TOGETHER_H
#include "run/interp/chunk.h"

typedef struct wf__together {
    const wf__ir *ir;
    struct wf__watch *watch;
    wf__chunk *chunk;
    uint32_t n, cap, next;
    unsigned char *values; /* of all chunks */
    wf__ref from;          /* of what is done the second time */
    bool collects, failed, over;
} wf__together;

void wf__together_begin(wf__together *t, wf__chunk *f); /* f: of the box, whose chunks come to `t` from now on */
void wf__together_chunk(wf__together *t, const wf__chunk *f);
bool wf__together_run(wf__together *t);             /* true: go through the box a second time */
bool wf__together_look(wf__together *t, wf__ref r); /* after that node; false: the run is over */
void wf__together_end(wf__together *t);
#endif
