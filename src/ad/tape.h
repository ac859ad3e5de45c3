/* tape.h - reverse mode through a loop that is kept as a loop (tape.c). */
#ifndef WEFT_AD_TAPE_H
#define WEFT_AD_TAPE_H
#include "ad/sweep.h"

/* Contributes to the adjoints of the initial values of the states, and of values from before the loop that its turns use.
 * given: the adjoints of the states after the loop. */
void wf__reverse_loop(wf__sweep *s, const wf__region *loop, const wf__adjoint *given);
#endif
