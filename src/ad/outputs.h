/* outputs.h - what a loop that is kept contributes to adjoints (outputs.c). */
#ifndef WEFT_AD_OUTPUTS_H
#define WEFT_AD_OUTPUTS_H
#include "ad/sweep.h"
#include "ad/turn.h"

typedef struct wf__outputs { /* of a walk back over a loop */
    wf__sweep *s;
    const wf__turn *turn;
    wf__ref walk;           /* nodes after it are those of the walk */
    const wf__ref *last;    /* [states] adjoints after the loop; 0 = not active */
    const wf__ref *adjoint; /* [states] those before it */
    const wf__ref *sum;     /* [turn->outers] contributions to the adjoints of values from before the loop; 0 = none */
    const wf__ref *scatter; /* [scatters] SCATTERs in the loop */
    const wf__ref *scattered; /* [scatters] their adjoints after the loop */
    uint32_t scatters;
} wf__outputs;

/* Gives the sweep the contributions to initial values of the states, to values from before the loop, and to arrays. */
void wf__give_outputs(const wf__outputs *o);
/* Array graphs: puts SCATTERs in place of the effects of the loop, which is a copy whose effects the sweep has seen. Outputs
 * name them. */
void wf__replace_effects(const wf__turn *turn);
/* What a sweep has for outer value k. */
static inline wf__sum *wf__outer_sum(const wf__turn *turn, wf__sweep *s, uint32_t k)
{
    const wf__ref r = turn->outer[k];
    return wf__turn_reads(turn, k) ? &s->element[wf__object_of(s->ir, &s->ir->node[r])] : &s->node[r];
}
#endif
