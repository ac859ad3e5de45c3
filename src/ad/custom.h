/* custom.h - derivatives that the program gives. */
#ifndef WEFT_AD_CUSTOM_H
#define WEFT_AD_CUSTOM_H
#include "ad/active.h"

/* Records the derivatives of the call whose first output is node r, by the hook of its rule. seed: of the outputs in
 * reverse mode, else of the inputs, each of its value's shape; 0 = 0. result: likewise, of the others. False = the ir has
 * failed. */
bool wf__record_rule(wf__ir *ir, const wf__ad_task *task, wf__ref r, const wf__ref *seed, bool reverse,
                     wf__ref *result);
#endif
