/* join_ranks.h - joins partial results of reductions, and private copies of arrays, over all ranks (join_ranks.c). */
#ifndef WEFT_JOIN_RANKS_H
#define WEFT_JOIN_RANKS_H
#include "run/cpu/copies.h"
#include "run/cpu/partials.h"
#include "run/stage.h"

/* Joins the partial results of all ranks into row 0, in the order of one rank that runs all points, so that the bits do
 * not depend on the number of ranks. Collective; `ok`: this rank has computed its part. Returns false on all ranks, with
 * the failure set, if one has failed. */
bool wf__join_ranks(const wf__partials *p, const wf__others *others, bool ok, wf__failure *failure);
/* Likewise joins the copies of all ranks, one for each box, into the first one. c: NULL = this rank has failed before. */
bool wf__join_copies_of_ranks(const wf__stage *stage, wf__copies *c, const wf__others *others, bool ok,
                              wf__failure *failure);
/* All ranks learn whether each of them goes on; `mine`: WF_OK if this one does. Returns false on all, with the failure set,
 * if one does not. Collective. */
bool wf__ranks_go_on(const wf__others *others, wf_status mine, wf__failure *failure);
/* Takes part in a join for a rank that has failed before. */
void wf__join_failed(const wf__others *others, wf__failure *failure);
#endif
