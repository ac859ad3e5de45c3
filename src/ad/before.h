/* before.h - array graphs: reads in a block of arrays that the block or a later operation changes. */
#ifndef WEFT_AD_BEFORE_H
#define WEFT_AD_BEFORE_H
#include "ad/active.h"

/* Returns a value from before node `block` that has the contents of an array as they are there; 0 = there is none. */
wf__ref wf__contents_before(const wf__ir *ir, wf__ref block, uint32_t object);
/* Records what the LOAD r reads as elements of such a value. map: node of `in` -> its copy. */
wf__ref wf__read_before(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out, wf__ref contents);
#endif
