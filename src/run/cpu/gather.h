/* gather.h - stages whose points get elements of an array from the ranks that have them (gather.c). */
#ifndef WEFT_CPU_GATHER_H
#define WEFT_CPU_GATHER_H
#include "run/cpu/steps.h"

/* Gets the elements of the stages of a step, which are gathers, all at once. Collective, also for ranks without points. Returns
 * false on all ranks, with the failure set, if one has failed. */
bool wf__run_gather(const wf__run *r, const wf__plan_step *step);
#endif
