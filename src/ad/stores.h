/* stores.h - which elements the turns of a loop store and read. */
#ifndef WEFT_AD_STORES_H
#define WEFT_AD_STORES_H
#include "ad/active.h"

/* True if one of the nodes first .. end - 1 changes the array. */
bool wf__writes(const wf__ir *ir, wf__ref first, wf__ref end, uint32_t object);
/* Returns the next value of a state of a loop. */
wf__ref wf__next_value(const wf__ir *ir, wf__ref state);
/* True if a loop among the nodes first..end - 1 stores floats. */
bool wf__stores_in_loops(const wf__ir *ir, wf__ref first, wf__ref end);
/* False, and the ir has failed, unless each turn of the loops around the store, a node of first..end - 1, stores to an
 * element of its own, which no other effect among these nodes is to. */
bool wf__check_store(wf__ir *ir, wf__ref store, wf__ref first, wf__ref end, const char *function);
/* Returns the innermost block around r that begins at node `first` or later; 0 = none. */
wf__ref wf__loop_around(const wf__ir *ir, wf__ref r, wf__ref first);
static inline bool wf__is_float_store(const wf__node *n) { return n->op == WF__STORE && wf__has_adjoint(n->dtype); }
/* True if a store is to the same element in all turns of a loop. */
bool wf__is_to_same(const wf__ir *ir, wf__ref store, wf__ref loop);
/* True if two effects in the same loops are never to one element of their array. */
bool wf__are_apart(const wf__ir *ir, wf__ref one, wf__ref other, wf__ref first);
enum { WF__MOST_CARRIED = 16 };
/* True if `load` and `store` are in the body of one loop, which begins at node `first` or later and which no other loop
 * from there on is around; if the store is the only effect on the array in that loop; and if each turn reads the element
 * that the turn *turns turns before it stores. *turns is at most WF__MOST_CARRIED; less than 0 = a later turn. */
bool wf__is_carried(const wf__ir *ir, wf__ref load, wf__ref store, wf__ref first, int64_t *turns);
#endif
