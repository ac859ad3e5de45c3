/* hoist.h - loops whose stores become variables. */
#ifndef WEFT_AD_HOIST_H
#define WEFT_AD_HOIST_H
#include "ad/stores.h"

/* Copies nodes first .. end - 1, as wf__copy_as_is does, but for loops. A store to an element that is the same in all turns
 * becomes variables of its loop, and a store of the last value after it. A read of what the loop has stored becomes a value
 * of the loop. In an array graph a SCATTER right after each store that stays in its loop counts the stores to each element.
 * before: [objects] a value with the contents of the array from before, which reads take; 0 = they read the array. NULL =
 * all do. */
bool wf__hoist_stores(const wf__ir *in, wf__ref first, wf__ref end, wf__ref *map, wf__ir *out, const wf__ref *before,
                      const char *function);
/* Returns that SCATTER. */
wf__ref wf__count_of_stores(const wf__ir *ir, wf__ref store);
#endif
