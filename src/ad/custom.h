/* custom.h - derivatives that the program gives. */
#ifndef WEFT_AD_CUSTOM_H
#define WEFT_AD_CUSTOM_H
#include "ad/active.h"

/* Records the derivatives of the call whose first output is node r, by the hook of its rule. In reverse mode seed[] has the
 * derivatives of the outputs and result[] gets those of the inputs, in forward mode the other way round. Each has the
 * shape of its value; 0 = the derivative is 0. False = the ir has failed. */
bool wf__record_rule(wf__ir *ir, const wf__ad_task *task, wf__ref r, const wf__ref *seed, bool reverse,
                     wf__ref *result);
#endif
