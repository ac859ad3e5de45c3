/* index.h - the elements that reads by index give, as indices of an array. */
#ifndef WEFT_AD_INDEX_H
#define WEFT_AD_INDEX_H
#include "ir/ir.h"

wf__ref wf__both(wf__ir *ir, wf__ref a, wf__ref b); /* a and b; 0 stands for true */
/* The tuple of the indices of every element of a shape along each of its axes. */
uint32_t wf__own_indices(wf__ir *ir, const wf_shape *shape, wf__ref index[WF_MAX_RANK]);
/* Sets *tuple to the indices of the elements that a read by index with this border mode gives, and *inside to where they
 * are elements; 0 = everywhere. extent: that of the array along each axis, i64. */
bool wf__elements_read(wf__ir *ir, uint32_t indices, wf_border border, const wf__ref *extent, uint32_t *tuple,
                       wf__ref *inside);
/* Sets extent[] to the extents of a shape, or of a slot's array. */
void wf__extents_of_shape(wf__ir *ir, const wf_shape *shape, wf__ref *extent);
void wf__extents_of_slot(wf__ir *ir, uint32_t slot, wf__ref *extent);
wf__ref wf__index_op(wf__ir *ir, unsigned op, wf__ref a, int64_t b); /* an operation of an i64 value and a constant */
#endif
