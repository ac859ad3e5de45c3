/* places.h - from the places of a view's elements to those of the value that it is of (places.c). */
#ifndef WEFT_PLAN_PLACES_H
#define WEFT_PLAN_PLACES_H
#include "ir/analyse/affine.h"
#include "plan/split/split.h"

/* Is it affine in the indices of the group's points? */
bool wf__index_affine(const group *g, wf__ref index, wf__affine *out);
/* An index made one of the range from 0 to n - 1; *inside is and-ed with whether it was (stays if it always is). */
wf__ref wf__index_clamped(group *g, wf__ref index, int64_t n, wf__ref *inside);
/* Makes `inner` the index into both axes as if they were one, where the two say that they are. */
bool wf__place_absorb(group *g, const wf__place *outer, wf__place *inner);
/* The places that the view r shows there: `at` is of the view's shape, then of the value's. Not of a GATHER. */
void wf__through_view(const splitter *s, group *g, wf__ref r, wf__place *at);
#endif
