/* places.h - conversion of places in a view to places in the viewed value (places.c). */
#ifndef WEFT_PLAN_PLACES_H
#define WEFT_PLAN_PLACES_H
#include "ir/analyse/affine.h"
#include "plan/split/split.h"

/* True if the index is affine in the indices of the group's points. */
bool wf__index_affine(const group *g, wf__ref index, wf__affine *out);
/* Returns the index clamped to 0 ... n - 1, and ands *inside with the condition that the index was in this range. */
wf__ref wf__index_clamped(group *g, wf__ref index, int64_t n, wf__ref *inside);
/* Makes `inner` the index into both axes as one line. Returns false if the two do not continue each other. */
bool wf__place_absorb(group *g, const wf__place *outer, wf__place *inner);
/* Changes `at` from a place in view r to the place in the viewed value. Not for a GATHER. */
void wf__through_view(const splitter *s, group *g, wf__ref r, wf__place *at);
#endif
