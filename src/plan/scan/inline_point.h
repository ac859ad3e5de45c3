/* inline_point.h - stages whose points are done within the kernels of another one: what a scan on a GPU scans, computed where
 * it is read, and what is made of the result, computed where it would be written. Such a guest has an element in hand
 * with its host; its other elements are those of the point at which the host asks for it.
 */
#ifndef WEFT_PLAN_WITHIN_H
#define WEFT_PLAN_WITHIN_H
#include "ir/pass/pass.h"
#include "plan/plan.h"

typedef struct wf__guest {
    bool on; /* there is one */
    wf__ir ir;
    wf__slot_view *view;
    uint32_t view_n;
    uint32_t object; /* whose elements the guest and its hosts hand each other, instead of in memory */
    int axis;        /* along which hosts are elsewhere than the guest's point; the indices of other axes are theirs */
    const wf_shape *space;
    const wf__bind *bind;
    bool *moves;    /* [node]: is it not the same all along the axis? */
    wf__ref *map;   /* [node]: node of the host that is being made */
    uint32_t *slot; /* [slot]: 1 + slot of that host; 0: none yet */
} wf__guest;

/* Is there nothing in the stage but values of its points, loads and stores, over the same space, so that its points may
 * be done anywhere? It has, of the object, elements at the points' own places only. */
bool wf__may_be_guest(const wf__stage *stage, const wf_shape *space, uint32_t object, const wf__bind *bind);
/* Takes the stage's recording; `axis`, space, object and bind are set. */
bool wf__guest_take(wf__plan *plan, wf__guest *guest, wf__stage *stage);
void wf__guest_free(wf__guest *guest);
/* A host begins: what is the same all along the axis is computed here. */
void wf__guest_begin(wf__guest *guest, wf__ir *host);
/* The point with this index along the axis, where `when` holds (0: always). `given`: the object's element, if the guest
 * reads it; returned if it computes it, which then is not stored. */
wf__ref wf__guest_point(wf__guest *guest, wf__ir *host, wf__ref along, wf__ref when, wf__ref given);
#endif
