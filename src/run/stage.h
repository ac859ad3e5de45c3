/* stage.h - what running a stage takes on any device (launch.c). */
#ifndef WEFT_STAGE_H
#define WEFT_STAGE_H
#include "plan/plan.h"

/* The slots of a stage, from the addresses of all objects. */
void wf__stage_mem(const wf__stage *stage, char *const *base, wf__mem *mem);
size_t wf__temp_bytes(const wf__temp *t); /* SIZE_MAX: too many */
#endif
