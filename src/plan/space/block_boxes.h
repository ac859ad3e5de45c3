/* block_boxes.h - blocks of recordings as boxes of a processor's stages (block_boxes.c). */
#ifndef WEFT_PLAN_BOXES_H
#define WEFT_PLAN_BOXES_H
#include "plan/plan.h"

/* Why blocks cannot be boxes of the operator's stage; NULL: they can, and `box` has the extents of one. */
const char *wf__why_no_boxes(const wf__recording *rec, const wf_shape *space, wf_shape *box);
/* If the operator asks which block it is in, a parameter of the stage says so, and boxes are blocks. */
bool wf__number_boxes(wf__plan *plan, const wf_shape *block, wf__stage *stage);
/* Indices into a block's own memory that count from where the block begins count from the beginning of the space, as
 * other indices do, where the slot says so: `shift`. The stage is one of a chain. */
bool wf__shift_boxes(wf__plan *plan, const wf_shape *block, wf__stage *stage);
/* Why sections may not run one after the other, block by block; NULL: they may. Loops have become axes. */
const char *wf__why_no_chain(const wf__recording *rec, const wf__bind *bind);
/* Makes a chain of so many stages; chief: which of them is the operator's. */
void wf__chain(wf__plan *plan, uint32_t first, int stages, int chief, const wf_shape *box);
#endif
