/* forward.h - forward mode through one loop that is kept. */
#ifndef WEFT_AD_FORWARD_H
#define WEFT_AD_FORWARD_H
#include "ad/ad.h"

/* Records a loop once more, with the tangents of its states as further states, and sets tangent[] to those of the task's
 * results, states after the loop and SCATTERs in it; 0 = the tangent is 0. initial: [states] those of the initial values. The seeds of the task are those of the other
 * wanted values, which are values from before the loop or, where contents[] is true, reads that stand for the contents of
 * arrays. False = the ir has failed, as it does if a later operation changes what the loop reads. */
bool wf__forward_loop(wf__ir *ir, const wf__ad_task *task, wf__ref loop, const wf__ref *initial, const bool *contents,
                      wf__ref *tangent);
#endif
