/* thread_block.h - blocks of recordings as thread blocks of a GPU (thread_block.c). */
#ifndef WEFT_PLAN_THREAD_BLOCK_H
#define WEFT_PLAN_THREAD_BLOCK_H
#include "plan/space/scratch.h"

/* True if a section touches memory of an object that another section changes: blocks would see each other's work. */
bool wf__sections_cross(const wf__recording *rec, const wf__bind *bind);
/* True if a recording for a GPU uses scratch, threads or barriers. */
bool wf__uses_thread_blocks(const wf__recording *rec);
/* Chooses the threads of a block; 0 = sections are stages of their own. Places scratch, in shared memory if there is
 * room. rec: a copy, whose sections change. box: set to the extents of a block. */
bool wf__choose_thread_block(wf__plan *plan, wf__recording *rec, const wf_shape *space, const wf_shape *blocks,
                             const wf__bind *bind, wf__thread_block *thread_block, wf_shape *box);
/* Makes one body of all sections. */
bool wf__join_sections(wf__plan *plan, wf__recording *rec, wf__ir *out);
#endif
