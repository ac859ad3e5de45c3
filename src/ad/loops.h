/* loops.h - the way of a derivative through a recording: the nodes between the wanted values and the results, with
 * conditions and short loops as straight code.
 */
#ifndef WEFT_AD_LOOPS_H
#define WEFT_AD_LOOPS_H
#include "ad/active.h"

typedef struct wf__route {
    wf__activity active;
    wf__loops loops;
    wf__ref last;     /* last node of the recording, before blocks were written out */
    uint32_t n;       /* nodes, with those of the blocks that were written out */
    uint32_t objects; /* arrays */
} wf__route;
/* Finds the way from node `first` on, and appends straight code for blocks on it. False = failure of the ir: no turn may
 * write memory. */
bool wf__find_route(wf__ir *ir, const wf__ad_task *task, wf__ref first, wf__route *out);
void wf__route_free(wf__route *route); /* also after failure */
/* True if the node is on the way and has a derivative. */
static inline bool wf__on_route(const wf__ir *ir, const wf__route *route, wf__ref r)
{
    return route->active.node[r] == WF__ACTIVE && wf__has_adjoint(wf__dtype(ir, r));
}
/* Returns the block on the way that ends at node r; NULL = none. */
const wf__region *wf__region_at(const wf__loops *loops, wf__ref end);
/* Fails the ir: what a second derivative reads in a loop has changed since. */
void wf__no_second_of_changed(wf__ir *ir, wf__ref loop, const char *function);
/* Records all of `in` in `out`, which is empty, with conditions and short loops as straight code. False: `out` has failed. */
bool wf__straighten(const wf__ir *in, wf__ir *out, const char *function);
#endif
