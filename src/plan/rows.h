/* rows.h - stages that run row by row (rows.c). */
#ifndef WEFT_PLAN_ROWS_H
#define WEFT_PLAN_ROWS_H
#include "plan/passes.h"

/* Finds stages from `first` on that run row by row, makes them consecutive, cuts them into pieces, and sets the step.
 * False: there are none, or the plan has failed. */
bool wf__find_rows_step(wf__planning *p, uint32_t first, wf__plan_step *out);
#endif
