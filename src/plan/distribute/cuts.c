/* cuts.c - the axes of a stage along which ranks divide its points: those along which it touches arrays that are cut. */
#include "ir/pass/pass.h"
#include "plan/distribute/distribute.h"

bool wf__object_cut(const wf__planning *p, uint32_t object, uint8_t cut[WF_MAX_RANK], uint32_t *grid)
{
    bool any = false;
    object = wf__of_image(p, object, NULL);
    memset(cut, 0, WF_MAX_RANK);
    *grid = object;
    if (object >= p->plan->objects) {
        const wf__temp *temp = &p->plan->temp[object - p->plan->objects];
        memcpy(cut, temp->cut, WF_MAX_RANK);
        *grid = temp->grid;
    } else if (p->bind[object].dist) {
        const wf_dist *dist = p->bind[object].dist;
        for (int k = 0; k < dist->shape.rank; ++k)
            cut[k] = wf__dist_cuts(dist, k) ? (uint8_t)(k + 1) : 0;
    }
    for (int k = 0; k < WF_MAX_RANK; ++k)
        any = any || cut[k];
    return any;
}

/* Sets on[] to the axes of the space that each value depends on, through memory, too. */
static void find_axes(const wf__ir *ir, wf_axes *on)
{
    bool changed = true;
    while (changed) { /* a state depends on its next value, which comes later */
        changed = false;
        for (wf__ref r = 1; r < ir->n; ++r) {
            const wf__node *n = &ir->node[r];
            wf__ref operand[WF__MAX_OPERANDS];
            uint32_t count = wf__operands(ir, n, operand);
            wf_axes x = on[r] | (n->op == WF__INDEX ? 1u << n->a : 0);
            for (uint32_t i = 0; i < count; ++i)
                x |= on[operand[i]];
            wf__ref to = n->op == WF__NEXT ? n->a : r;
            changed = changed || (on[to] | x) != on[to];
            on[to] |= x;
        }
    }
}

/* Notes that an axis of an object which is cut is touched along these axes of the space. */
static void note(wf__division *division, wf_axes axes, uint8_t cut, uint32_t grid)
{
    bool divides = false; /* by this grid, already */
    if (!cut)
        return;
    division->axes |= axes;
    for (int d = 0; d < WF_MAX_RANK; ++d)
        divides = divides || division->along[d];
    if (cut == WF__CUT || !axes || axes & (axes - 1) || (divides && division->grid != grid))
        return;
    int axis = __builtin_ctz(axes);
    for (int d = 0; d < WF_MAX_RANK; ++d) /* an axis of the grid divides one axis of the space */
        if (division->along[d] == cut)
            return;
    if (!division->along[axis]) {
        division->along[axis] = cut;
        division->grid = grid;
    }
}

static void note_access(wf__planning *p, wf__stage *stage, const wf__node *n, const wf_axes *on)
{
    const wf__ir *ir = &stage->recorded;
    const wf__slot *slot = &ir->slot[n->a];
    const wf__bind *b = &p->all[slot->object];
    const wf__slot_view *view = wf__view_of(stage->view, stage->view_n, n->a);
    uint8_t cut[WF_MAX_RANK];
    uint32_t grid;
    int axes[WF_MAX_RANK];
    if (!wf__object_cut(p, slot->object, cut, &grid))
        return;
    if (n->b || view) {
        for (int k = 0; k < b->rank; ++k) {
            wf_axes touched = n->b ? on[wf__tuple_at(ir, n->b)[k]] : 0;
            for (int d = 0; view && d < stage->space.rank; ++d)
                touched |= view->step[k][d] && stage->space.dim[d] > 1 ? 1u << d : 0;
            note(&stage->division, touched, cut[k], grid);
        }
        return;
    }
    wf__aligned_axes(stage, b->rank, axes);
    for (int d = 0; d < stage->space.rank; ++d)
        if (axes[d] >= 0 && b->dim[axes[d]] > 1)
            note(&stage->division, 1u << d, cut[axes[d]], grid);
}

/* ---- temporaries ---- */
/* Sets how a temporary is cut that has an element for each point, or each point of the kept axes. */
static void cut_temp(wf__planning *p, const wf__stage *stage, uint32_t object)
{
    wf__temp *temp = &p->plan->temp[object - p->plan->objects];
    int axes[WF_MAX_RANK];
    wf__aligned_axes(stage, temp->shape.rank, axes);
    for (int d = 0; d < stage->space.rank; ++d)
        if (axes[d] >= 0 && temp->shape.dim[axes[d]] > 1 && stage->division.axes >> d & 1)
            temp->cut[axes[d]] = stage->division.along[d] ? stage->division.along[d] : WF__CUT;
    temp->grid = stage->division.grid;
}

static void cut_temps(wf__planning *p, const wf__stage *stage)
{
    const wf__ir *ir = &stage->recorded;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        uint32_t object = n->op == WF__STORE ? ir->slot[n->a].object : 0;
        if (n->op != WF__STORE || object < p->plan->objects)
            continue;
        wf__temp *temp = &p->plan->temp[object - p->plan->objects];
        if (n->b) {
            memset(temp->cut, WF__CUT, (size_t)temp->shape.rank);
            temp->grid = stage->division.grid;
        } else
            cut_temp(p, stage, object);
    }
    for (uint32_t k = 0; k < ir->red_n && stage->reduce.axes && !wf__reduces_divided(stage); ++k)
        cut_temp(p, stage, stage->reduce.result[k]);
}

/* Divides a scan as its operand and its result are cut. */
static void cut_scan(wf__planning *p, wf__stage *stage)
{
    const uint32_t objects[] = { stage->scan.to, stage->scan.from };
    uint8_t cut[WF_MAX_RANK];
    uint32_t grid;
    for (size_t i = 0; i < WF__COUNT(objects); ++i)
        if (wf__object_cut(p, objects[i], cut, &grid))
            for (int d = 0; d < stage->space.rank; ++d)
                note(&stage->division, stage->space.dim[d] > 1 ? 1u << d : 0, cut[d], grid);
    if (stage->division.axes && stage->scan.to >= p->plan->objects)
        cut_temp(p, stage, stage->scan.to);
}

bool wf__find_cuts(wf__planning *p, uint32_t s, const uint8_t *except)
{
    wf__stage *stage = &p->plan->stage[s];
    const wf__ir *ir = &stage->recorded;
    wf_axes *on = wf__alloc0(ir->n * sizeof *on);
    uint8_t *live = wf__alloc0(ir->n);
    bool ok = on && live;
    if (ok) {
        find_axes(ir, on);
        wf__mark_effects(ir, live);
        wf__mark_live(ir, live);
    }
    for (wf__ref r = 1; ok && r < ir->n; ++r)
        if (live[r] && wf__op_is_access(ir->node[r].op) && !(except && except[r]))
            note_access(p, stage, &ir->node[r], on);
    wf__free(live);
    wf__free(on);
    return ok || wf__plan_no_memory(p->plan);
}

bool wf__pass_cuts(wf__planning *p, uint32_t s)
{
    wf__stage *stage = &p->plan->stage[s];
    if (p->rec->block.rank || p->rec->ir.flags & WF_FLAG_DEBUG) {
        wf__plan_fail(p->plan, WF_ERR_UNSUPPORTED, "%s does not know distributed arrays",
                      p->rec->block.rank ? "a recording with blocks" : "debug mode");
        return false;
    }
    stage->recorded.flags |= WF_FLAG_ORDER_BY_SHAPE; /* the bits must not depend on the blocks of ranks */
    if (stage->scan.on) {                            /* it has no body */
        cut_scan(p, stage);
        return true;
    }
    if (!wf__find_cuts(p, s, NULL))
        return false;
    if (stage->division.axes)
        cut_temps(p, stage);
    return true;
}
