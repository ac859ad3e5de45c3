/* second.h - reverse mode of what reverse mode has recorded for a loop that is kept (second.c). */
#ifndef WEFT_AD_SECOND_H
#define WEFT_AD_SECOND_H
#include "ad/sweep.h"

/* Node r is an output of the adjoint of a loop (wf__is_of_loop). `a` may be 0: another output may have an adjoint. */
void wf__reverse_second(wf__sweep *s, wf__ref r, wf__adjoint a);
/* Fails the ir: the node is a part of a loop that has no derivative in reverse mode. */
void wf__no_second(wf__sweep *s, const wf__node *n);
#endif
