/* scratch.h - memory of blocks (scratch.c). */
#ifndef WEFT_PLAN_SCRATCH_H
#define WEFT_PLAN_SCRATCH_H
#include "plan/plan.h"

bool wf__has_scratch(const wf__recording *rec);
/* Objects of scratch become temps, all of them shared if one block's take at most `most` bytes, which *own then says.
 * rec: a copy, whose sections change; blocks: extents of the axes that say whose a block's is, where it is not shared. */
bool wf__place_scratch(wf__plan *plan, wf__recording *rec, const wf_shape *blocks, const wf__bind *bind, size_t most,
                       wf__own_memory *own);
#endif
