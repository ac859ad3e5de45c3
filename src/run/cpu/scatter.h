/* scatter.h - stages whose points join values with elements of an array, on the ranks that have these (scatter.c). */
#ifndef WEFT_CPU_SCATTER_H
#define WEFT_CPU_SCATTER_H
#include "run/cpu/steps.h"

/* Joins the values of the stages of a step, which are scatters, all at once. Collective where ranks divide the points, also for
 * ranks without points. Returns false on all ranks, with the failure set and the arrays unchanged, if one has failed. */
bool wf__run_scatter(const wf__run *r, const wf__plan_step *step);
#endif
