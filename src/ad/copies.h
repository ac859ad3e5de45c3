/* copies.h - copies of nodes that the sweeps walk over. */
#ifndef WEFT_AD_COPIES_H
#define WEFT_AD_COPIES_H
#include "ir/ir.h"

/* Copies nodes first .. end - 1 with their blocks as they are, but for node `held`. map: node -> its copy; 0 for
 * stores and accumulations that never take place. */
void wf__copy_as_is(const wf__ir *in, wf__ref first, wf__ref end, wf__ref held, wf__ref *map, wf__ir *out);
/* Drops the stores and accumulations among nodes first .. end - 1, which are copies: the sweeps have seen what they change,
 * which the recording itself does. */
void wf__drop_effects(wf__ir *ir, wf__ref first, wf__ref end);
#endif
