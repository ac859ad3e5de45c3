/* accumulate.h - the part of layout that decides how accumulations run. */
#ifndef WEFT_PLAN_ACCUMULATE_H
#define WEFT_PLAN_ACCUMULATE_H
#include "plan/plan.h"
#include <stdlib.h>

/* Gives every ACCUM of the laid-out, not yet lowered body `ir` its mode, and those of mode EXPAND private slots; fills
 * stage->copies, groups, in_order and updates. */
bool wf__plan_accumulate(wf__plan *plan, wf__stage *stage, wf__ir *ir, const wf__bind *bind);

/* ---- records.c ---- */
/* Sets `record` of the slots of the laid-out body. */
void wf__plan_records(wf__ir *ir, const wf__bind *bind);
/* Can two indices name the same memory? Also where it cannot be excluded simply. */
bool wf__bind_repeats(const wf__bind *b);
/* Of a tuple of two indices or more: is the last one a constant? */
bool wf__last_constant(const wf__ir *ir, uint32_t tuple, int64_t *out);
/* Do two accesses differ in a constant last index alone, as parts of a record do? Then they never meet. */
bool wf__are_parts(const wf__ir *ir, const wf__node *n, const wf__node *m);
#endif
