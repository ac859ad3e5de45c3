/* thread_block.h - blocks of recordings that become blocks of threads (team.c). */
#ifndef WEFT_PLAN_TEAM_H
#define WEFT_PLAN_TEAM_H
#include "plan/space/scratch.h"

/* Does a section touch memory of an object that another one changes? Each block would see what others have done. */
bool wf__sections_cross(const wf__recording *rec, const wf__bind *bind);
/* Does a recording for a GPU ask for scratch, threads or barriers? */
bool wf__asks_team(const wf__recording *rec);
/* Chooses the threads of a block; 0: sections are stages of their own. Gives scratch a place, which the threads share if
 * it can be. rec: a copy, whose sections change. box: extents of a block. */
bool wf__settle_team(wf__plan *plan, wf__recording *rec, const wf_shape *space, const wf_shape *blocks,
                     const wf__bind *bind, wf__team *team, wf_shape *box);
/* All sections as one body. */
bool wf__join_sections(wf__plan *plan, wf__recording *rec, wf__ir *out);
#endif
