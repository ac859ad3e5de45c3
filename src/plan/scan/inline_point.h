/* inline_point.h - inlining a stage, point by point, into the kernels of a scan on a GPU: the producer of the scanned
 * elements, computed where the scan reads them, and the consumer of the result, computed where the scan would write it.
 * The element of the scanned array passes between the two in a register. All other elements are those of the point.
 */
#ifndef WEFT_PLAN_INLINE_POINT_H
#define WEFT_PLAN_INLINE_POINT_H
#include "plan/plan.h"

typedef struct wf__inlined { /* a stage that is inlined */
    bool on;                 /* false = there is none */
    wf__ir ir;
    wf__slot_view *view; /* [view_n] views of slots */
    uint32_t view_n;
    uint32_t object; /* the array whose elements pass in registers instead of in memory */
    int axis;        /* the axis along which the kernel gives the point's index; other indices are the kernel's own */
    const wf_shape *space;
    const wf__bind *bind;
    bool *moves;    /* [nodes] true = the value changes along the axis */
    wf__ref *map;   /* [nodes] node of the kernel */
    uint32_t *slot; /* [slots] 1 + slot of the kernel; 0 = none yet */
} wf__inlined;

/* True if the stage has only values of its points, loads and stores, over this space, so that a point may be computed
 * anywhere. It must touch the object's elements at the points' own places alone. */
bool wf__may_inline(const wf__stage *stage, const wf_shape *space, uint32_t object, const wf__bind *bind);
/* Takes over the stage's recorded body; `axis`, `space`, `object` and `bind` are set. */
bool wf__inline_stage(wf__plan *plan, wf__inlined *inlined, wf__stage *stage);
void wf__inlined_free(wf__inlined *inlined);
/* Begins a kernel: computes what does not change along the axis. */
void wf__inline_invariants(wf__inlined *inlined, wf__ir *into);
/* Computes the point with this index along the axis, if `when` holds (0 = always). given: the object's element, if the
 * inlined stage reads it. Otherwise returns this element, which is not stored. */
wf__ref wf__inline_point(wf__inlined *inlined, wf__ir *into, wf__ref along, wf__ref when, wf__ref given);
#endif
