/* stores.h - stores in loops that are kept as loops. */
#ifndef WEFT_AD_STORES_H
#define WEFT_AD_STORES_H
#include "ad/active.h"

/* Copies nodes first .. end - 1 with their blocks as they are, but for node `held`. map: node -> its copy. */
void wf__copy_as_is(const wf__ir *in, wf__ref first, wf__ref end, wf__ref held, wf__ref *map, wf__ir *out);
/* Drops the stores and accumulations among nodes first .. end - 1, which are copies: the sweeps have seen what they change,
 * which the recording itself does. */
void wf__drop_effects(wf__ir *ir, wf__ref first, wf__ref end);
/* True if one of the nodes first .. end - 1 changes the array. */
bool wf__writes(const wf__ir *ir, wf__ref first, wf__ref end, uint32_t object);
/* Returns the next value of a state of a loop. */
wf__ref wf__next_value(const wf__ir *ir, wf__ref state);
/* True if a loop among the nodes first..end - 1 stores floats. */
bool wf__stores_in_loops(const wf__ir *ir, wf__ref first, wf__ref end);
/* Copies nodes first .. end - 1, as wf__copy_as_is does, but for stores in loops to an element that is the same in all turns:
 * such a store becomes variables of the loop, and a store of the last value after it. In an array graph a SCATTER
 * right after each store that stays in its loop counts the stores to each element. */
bool wf__hoist_stores(const wf__ir *in, wf__ref first, wf__ref end, wf__ref *map, wf__ir *out, const char *function);
/* Returns that SCATTER. */
wf__ref wf__count_of_stores(const wf__ir *ir, wf__ref store);
/* False, and the ir has failed, unless each turn of the loops around the store, a node of first..end - 1, stores to an
 * element of its own, which no other effect among these nodes is to. */
bool wf__check_store(wf__ir *ir, wf__ref store, wf__ref first, wf__ref end, const char *function);
#endif
