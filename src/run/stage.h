/* stage.h - what running a stage takes on any device (launch.c). */
#ifndef WEFT_STAGE_H
#define WEFT_STAGE_H
#include "plan/plan.h"

/* The slots of a stage, from the addresses of all objects. */
void wf__stage_mem(const wf__stage *stage, char *const *base, wf__mem *mem);
/* Partial results, and room for what joining them takes. */
size_t wf__partial_bytes(const wf__stage *stage);
/* Joins the partial results, [blocks][reductions], or where axes are kept the arrays whose addresses they are,
 * [parts][reductions], in the order that depends on the shape alone. `partial`: of wf__partial_bytes; NULL for an empty stage.
 * `result`: where all axes are reduced, with the initial values joined in. */
void wf__finish_reductions(const wf__stage *stage, uint64_t *partial, uint64_t *result);
size_t wf__temp_bytes(const wf__temp *t); /* SIZE_MAX: too many */
#endif
