/* debug_lockstep.h - for wf_watch (debug/watchpoint.h), the interpreter evaluates each node for all chunks of a box
 * before the next node, so that all points of the box are in the same iteration of a loop.
 *
 * The interpreter walks a box twice. The first walk collects the chunks, which then run in lockstep up to the first use
 * of the accumulators of reductions. Accumulators depend on the order of chunks, so the second walk runs the rest one
 * chunk after the other. In this rest, stores inside loops are shown for each chunk, and stores outside loops at the
 * end of the box.
 */
#ifndef WEFT_DEBUG_LOCKSTEP_H
#define WEFT_DEBUG_LOCKSTEP_H
#include "run/interp/chunk.h"

typedef struct wf__lockstep {
    const wf__ir *ir;
    size_t local_bytes; /* of the local memory of a chunk */
    struct wf__watch *watch;
    wf__chunk *chunk;
    uint32_t n, cap, next;
    unsigned char *values; /* values of the nodes of all chunks */
    wf__ref from;          /* the first node of the second walk */
    bool collects;         /* the first walk */
    bool failed;           /* out of memory */
    bool over;             /* a callback of wf_watch ended the run */
} wf__lockstep;

void wf__lockstep_begin(wf__lockstep *t, wf__chunk *f); /* later chunks of the box go to `t` */
void wf__lockstep_chunk(wf__lockstep *t, const wf__chunk *f);
bool wf__lockstep_run(wf__lockstep *t); /* true = a second walk must follow */
void wf__lockstep_end(wf__lockstep *t);
#endif
