/* accumulate.h - the passes that decide how accumulations and records access memory. */
#ifndef WEFT_PLAN_ACCUMULATE_H
#define WEFT_PLAN_ACCUMULATE_H
#include "plan/plan.h"
#include <stdlib.h>

/* Gives every ACCUM of the laid-out, not yet lowered body `ir` its mode, and those of mode EXPAND private slots.
 * Sets stage->copies and stage->promises.updates. */
bool wf__plan_accumulate(wf__plan *plan, wf__stage *stage, wf__ir *ir, const wf__bind *bind);

/* ---- records.c ---- */
/* Sets `record` of the slots of the laid-out body. */
void wf__plan_records(wf__ir *ir, const wf__bind *bind);
#endif
