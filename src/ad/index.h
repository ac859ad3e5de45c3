/* index.h - indices of arrays, and their extents, as values. */
#ifndef WEFT_AD_INDEX_H
#define WEFT_AD_INDEX_H
#include "ir/ir.h"

/* The tuple of the indices of every element of a shape along each of its axes. */
uint32_t wf__own_indices(wf__ir *ir, const wf_shape *shape, wf__ref index[WF_MAX_RANK]);
/* Sets extent[] to the extents of a shape, or of a slot's array. */
void wf__extents_of_shape(wf__ir *ir, const wf_shape *shape, wf__ref *extent);
void wf__extents_of_slot(wf__ir *ir, uint32_t slot, wf__ref *extent);
#endif
