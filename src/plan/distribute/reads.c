/* reads.c - the elements that points read, by the bounds of their indices and by border modes. */
#include "plan/distribute/distribute.h"

/* Returns the elements along an axis of n that a read at these indices finds by a border mode. */
static wf__range inside_border(wf__range x, unsigned border, int64_t n)
{
    int64_t lo = x.lo, hi = x.hi, edge = border == WF_BORDER_REFLECT ? 1 : 0;
    if (lo >= 0 && hi < n)
        return x;
    switch (border) {
    case WF_BORDER_CLAMP:
        return (wf__range){ wf__least(wf__greatest(lo, 0), n - 1), wf__greatest(wf__least(hi, n - 1), 0), true };
    case WF_BORDER_MIRROR:
    case WF_BORDER_REFLECT:
        if (lo < 0) {
            hi = wf__greatest(hi, -lo - 1 + edge);
            lo = 0;
        }
        if (hi >= n) {
            lo = wf__least(lo, 2 * n - 1 - edge - hi);
            hi = n - 1;
        }
        return lo >= 0 ? (wf__range){ lo, hi, true } : (wf__range){ 0, n - 1, true };
    case WF_BORDER_PERIODIC:
        return (wf__range){ 0, n - 1, true };
    default: /* nothing is read outside */
        return (wf__range){ wf__greatest(lo, 0), wf__least(hi, n - 1), true };
    }
}

const char wf__advice_unknown[] =
    "distribute it, or what it is computed from, so that each rank has the whole axis (wf_array_redistribute)";

static bool fail_unknown(wf__planning *p, const wf__stage *stage, wf__ref r, int axis)
{
    const wf__node *n = &stage->recorded.node[r];
    char called[WF__CALLED];
    const char *why = wf__why_not_gathered(p, stage, r);
    return wf__plan_fail_at(p->plan, WF_SECTION_CALL, &stage->recorded, r, WF_ERR_UNSUPPORTED,
                            "%s: the index along axis %d of %s, which ranks divide, has no bounds that they know "
                            "before they run, as where it is read from memory, and they cannot ask each other for the "
                            "elements, as %s: %s",
                            wf__function_of(n), axis,
                            wf__bind_called(&p->all[stage->recorded.slot[n->a].object], called),
                            why ? why : "the read cannot be a stage of its own", wf__advice_unknown);
}

bool wf__read_of_points(wf__planning *p, const wf__stage *stage, const wf__box *points, const wf__range *range,
                        wf__ref r, wf__box *out)
{
    const wf__ir *ir = &stage->recorded;
    const wf__node *n = &ir->node[r];
    const wf__bind *b = &p->all[ir->slot[n->a].object];
    const wf__slot_view *view = n->b ? NULL : wf__view_of(stage->view, stage->view_n, n->a);
    uint8_t cut[WF_MAX_RANK];
    uint32_t grid;
    int axes[WF_MAX_RANK];
    memset(out, 0, sizeof *out);
    wf__object_cut(p, ir->slot[n->a].object, cut, &grid);
    for (int k = 0; k < b->rank; ++k) {
        wf__range x = { 0, 0, true };
        if (n->b)
            x = range[wf__tuple_at(ir, n->b)[k]];
        for (int d = 0; view && d < stage->space.rank; ++d) {
            wf__range i = wf__range_of_points(points, d);
            int64_t step = view->step[k][d];
            x.lo += step * (step < 0 ? i.hi : i.lo);
            x.hi += step * (step < 0 ? i.lo : i.hi);
        }
        if (view) {
            x.lo += view->start[k];
            x.hi += view->start[k];
        }
        if (!x.known && !cut[k]) /* each rank has the whole axis */
            x = (wf__range){ 0, b->dim[k] - 1, true };
        if (!x.known)
            return fail_unknown(p, stage, r, k);
        x = inside_border(x, n->op == WF__LOAD ? n->aux : WF_BORDER_NONE, b->dim[k]);
        out->lo[k] = x.lo;
        out->hi[k] = x.hi + 1;
    }
    if (n->b || view)
        return true;
    wf__aligned_axes(stage, b->rank, axes);
    for (int d = 0; d < stage->space.rank; ++d)
        if (axes[d] >= 0 && b->dim[axes[d]] > 1) {
            out->lo[axes[d]] = points->lo[d];
            out->hi[axes[d]] = points->hi[d];
        }
    return true;
}
