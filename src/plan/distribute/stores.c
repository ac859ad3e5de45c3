/* stores.c - where the points of a stage store, as far as ranks know it before they run: along each axis of an array at the
 * point's own index plus a number, or at any index. Which rank runs a point is decided by the axes of the first form. An
 * array may be stored to at any index along axes that are whole on each rank.
 */
#include "ir/pass/pass.h"
#include "plan/distribute/distribute.h"

wf__places wf__places_of_store(const wf__planning *p, const wf__stage *stage, const wf__node *n)
{
    const wf__ir *ir = &stage->recorded;
    const int rank = p->all[ir->slot[n->a].object].rank;
    const bool view = wf__view_of(stage->view, stage->view_n, n->a);
    wf__places at = { .unknown = -1 };
    uint8_t cut[WF_MAX_RANK];
    uint32_t grid;
    int axes[WF_MAX_RANK];
    wf__object_cut(p, ir->slot[n->a].object, cut, &grid);
    for (int k = 0; k < rank; ++k) {
        at.axis[k] = -1;
        if (n->b ? wf__as_offset(ir, wf__tuple_at(ir, n->b)[k], &at.axis[k], &at.offset[k]) : !view)
            continue;
        at.axis[k] = WF__ANYWHERE;
        if (cut[k] && at.unknown < 0)
            at.unknown = k;
    }
    if (n->b || view)
        return at;
    wf__aligned_axes(stage, rank, axes);
    for (int d = 0; d < stage->space.rank; ++d)
        if (axes[d] >= 0 && stage->space.dim[d] > 1)
            at.axis[axes[d]] = d;
    return at;
}

bool wf__points_that_store(const wf__stage *stage, const wf__places *at, const wf__box *elements, int rank,
                           wf__box *points)
{
    *points = wf__whole_space(stage);
    for (int k = 0; k < rank; ++k) {
        const int axis = at->axis[k];
        if (axis >= 0) {
            points->lo[axis] = wf__greatest(points->lo[axis], elements->lo[k] - at->offset[k]);
            points->hi[axis] = wf__least(points->hi[axis], elements->hi[k] - at->offset[k]);
        } else if (axis != WF__ANYWHERE && (at->offset[k] < elements->lo[k] || at->offset[k] >= elements->hi[k]))
            return false;
    }
    for (int d = 0; d < stage->space.rank; ++d) /* each rank runs all points along axes that are not divided */
        if (!(stage->division.axes >> d & 1)) {
            points->lo[d] = 0;
            points->hi[d] = stage->space.dim[d];
        }
    return true;
}

void wf__elements_stored(const wf__places *at, const wf__box *points, const wf__bind *b, wf__box *elements)
{
    memset(elements, 0, sizeof *elements);
    for (int k = 0; k < b->rank; ++k) {
        const int axis = at->axis[k];
        elements->lo[k] = axis >= 0 ? points->lo[axis] + at->offset[k] : at->offset[k];
        elements->hi[k] = axis >= 0 ? points->hi[axis] + at->offset[k] : at->offset[k] + 1;
        elements->lo[k] = axis == WF__ANYWHERE ? 0 : wf__greatest(elements->lo[k], 0);
        elements->hi[k] = axis == WF__ANYWHERE ? b->dim[k] : wf__least(elements->hi[k], b->dim[k]);
    }
}
