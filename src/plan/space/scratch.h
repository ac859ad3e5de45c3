/* scratch.h - memory of blocks (scratch.c). */
#ifndef WEFT_PLAN_SCRATCH_H
#define WEFT_PLAN_SCRATCH_H
#include "plan/plan.h"

bool wf__has_scratch(const wf__recording *rec);
/* Makes temporaries of scratch. If the scratch of a block takes at most `most` bytes, places it in memory of the block,
 * and sets *own. rec: a copy, whose sections change. blocks: extents of the axes that select a block, for scratch in
 * arrays. */
bool wf__place_scratch(wf__plan *plan, wf__recording *rec, const wf_shape *blocks, const wf__bind *bind, size_t most,
                       wf__own_memory *own);
#endif
