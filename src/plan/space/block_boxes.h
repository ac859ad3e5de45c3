/* block_boxes.h - blocks of recordings as boxes of a processor's stages (block_boxes.c). */
#ifndef WEFT_PLAN_BLOCK_BOXES_H
#define WEFT_PLAN_BLOCK_BOXES_H
#include "plan/plan.h"

/* Returns why blocks cannot be boxes of the operator's stage. NULL = they can, and `box` is set to the extents of one. */
const char *wf__why_no_boxes(const wf__recording *rec, const wf_shape *space, wf_shape *box);
/* If the operator uses the number of its block, makes this number a parameter of the stage, and makes boxes blocks. */
bool wf__number_boxes(wf__plan *plan, const wf_shape *block, wf__stage *stage);
/* Rewrites indices into a block's memory that are relative to the block's beginning: relative to the beginning of the
 * space, as other indices are. Sets `shift` of the slots. The stage runs per block. */
bool wf__shift_boxes(wf__plan *plan, const wf_shape *block, wf__stage *stage);
/* Returns why sections may not run per block; NULL = they may. Loops have become axes. */
const char *wf__why_not_per_block(const wf__recording *rec, const wf__bind *bind);
/* Makes `count` stages from `first` on run per block; main: which of them is the operator's. */
void wf__set_per_block(wf__plan *plan, uint32_t first, uint32_t count, uint32_t main, const wf_shape *box);
#endif
