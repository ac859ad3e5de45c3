/* loops.h - loops and conditions as straight code, for derivatives. */
#ifndef WEFT_AD_LOOPS_H
#define WEFT_AD_LOOPS_H
#include "ad/active.h"

/* Appends straight code for the outermost blocks whose states lie between the wanted values and the results: turn after
 * turn, until the guard is false for all points. False = failure of the ir; the number of turns must have a bound that
 * the recording shows, and no turn may write memory. */
bool wf__write_out(wf__ir *ir, const wf__ad_task *task, wf__loops *out);
/* Records all of `in` in `out`, which is empty, with its blocks as straight code. False: `out` has failed. */
bool wf__straighten(const wf__ir *in, wf__ir *out, const char *function);
void wf__loops_free(wf__loops *loops);
/* Returns the block that ends at node r; NULL = none that was written out. */
const wf__written *wf__written_at(const wf__loops *loops, wf__ref end);
#endif
