/* inline_point.c - see inline_point.h. The kernel has points of its own, so that element accesses of the inlined stage
 * become accesses by index.
 */
#include "plan/scan/inline_point.h"
#include "ir/pass/pass.h"

static bool is_access(const wf__node *n) { return n->op == WF__LOAD || n->op == WF__STORE; }

/* ---- which stages ---- */
static bool fits(const wf__stage *stage, const wf__node *n)
{
    return is_access(n) ? n->b || stage->recorded.slot[n->a].element
                        : wf__op_is_pure(n->op) || n->op == WF__CONST || n->op == WF__PARAM || n->op == WF__INDEX ||
                              n->op == WF__DIM || n->op == WF__NOP;
}

bool wf__may_inline(const wf__stage *stage, const wf_shape *space, uint32_t object, const wf__bind *bind)
{
    const wf__ir *ir = &stage->recorded;
    bool good = !stage->scan.on && !ir->red_n && !ir->loops && !stage->dropped && !stage->thread_block.threads &&
                !stage->partition.one_box_per_block && !(ir->flags & WF_FLAG_DEBUG) &&
                wf__same_shape(&stage->space, space);
    for (wf__ref r = 1; good && r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        bool own = is_access(n) && !n->b && wf__owns_element(stage, n->a, bind);
        bool is_object = is_access(n) && ir->slot[n->a].object == object;
        good = fits(stage, n) && (own || !(is_object || (n->op == WF__STORE && !n->b)));
    }
    return good;
}

/* ---- its body ---- */
static int64_t step_along(const wf__inlined *g, uint32_t slot, int k)
{
    const wf__slot *s = &g->ir.slot[slot];
    const wf__slot_view *v = wf__view_of(g->view, g->view_n, slot);
    if (v)
        return v->step[k][g->axis];
    return k + g->space->rank - s->rank == g->axis && g->bind[s->object].dim[k] != 1;
}

static bool moves(const wf__inlined *g, const wf__node *n)
{
    wf__ref operand[WF__MAX_OPERANDS];
    uint32_t count = wf__operands(&g->ir, n, operand);
    bool any = n->op == WF__STORE || (n->op == WF__INDEX && (int)n->a == g->axis) ||
               (n->op == WF__LOAD && g->ir.slot[n->a].object == g->object);
    for (int k = 0; n->op == WF__LOAD && !n->b && k < g->ir.slot[n->a].rank; ++k)
        any = any || step_along(g, n->a, k);
    for (uint32_t i = 0; i < count; ++i)
        any = any || g->moves[operand[i]];
    return any;
}

bool wf__inline_stage(wf__plan *plan, wf__inlined *g, wf__stage *stage)
{
    g->on = true;
    g->ir = stage->recorded;
    g->view = stage->view;
    g->view_n = stage->view_n;
    stage->recorded = (wf__ir){ 0 };
    stage->view = NULL;
    /* Lowered once for all points, so that fast math applies to the inlined stage alone, not to the kernel. */
    if (!wf__pass_lower_in_place(&g->ir))
        return wf__plan_fail_in(plan, &g->ir);
    g->moves = wf__alloc0(g->ir.n * sizeof *g->moves);
    g->map = wf__alloc0(g->ir.n * sizeof *g->map);
    g->slot = wf__alloc0((g->ir.slot_n + 1) * sizeof *g->slot);
    if (!g->moves || !g->map || !g->slot)
        return wf__plan_no_memory(plan);
    for (wf__ref r = 1; r < g->ir.n; ++r)
        g->moves[r] = moves(g, &g->ir.node[r]);
    return true;
}

void wf__inlined_free(wf__inlined *g)
{
    wf__ir_free(&g->ir);
    wf__free(g->view);
    wf__free(g->moves);
    wf__free(g->map);
    wf__free(g->slot);
}

/* ---- within a kernel ---- */
static uint32_t slot_of(wf__inlined *g, wf__ir *into, uint32_t slot)
{
    const wf__slot *s = &g->ir.slot[slot];
    if (!g->slot[slot])
        g->slot[slot] = wf__slot_new(into, s->dtype, s->rank, !s->rank, s->object) + 1;
    return g->slot[slot] - 1;
}

static wf__ref index_of(const wf__inlined *g, wf__ir *into, int d, wf__ref along)
{
    return d == g->axis ? along : wf__index(into, d);
}

/* Returns index k of the element of an element slot. */
static wf__ref element_index(const wf__inlined *g, wf__ir *into, uint32_t slot, int k, wf__ref along)
{
    const wf__slot *s = &g->ir.slot[slot];
    const wf__slot_view *v = wf__view_of(g->view, g->view_n, slot);
    int d = k + g->space->rank - s->rank;
    if (!v)
        return g->bind[s->object].dim[k] == 1 ? wf__const_bits(into, WF_I64, 0) : index_of(g, into, d, along);
    wf__ref at = 0;
    for (d = 0; d < g->space->rank; ++d) {
        if (!v->step[k][d])
            continue;
        wf__ref step = wf__const_bits(into, WF_I64, (uint64_t)v->step[k][d]);
        wf__ref x = wf__op2(into, WF__OP_mul, index_of(g, into, d, along), step);
        at = at ? wf__op2(into, WF__OP_add, at, x) : x;
    }
    wf__ref start = wf__const_bits(into, WF_I64, (uint64_t)v->start[k]);
    return !at ? start : v->start[k] ? wf__op2(into, WF__OP_add, at, start) : at;
}

static uint32_t place_of(const wf__inlined *g, wf__ir *into, const wf__node *n, wf__ref along)
{
    wf__ref refs[WF_MAX_RANK];
    int rank = g->ir.slot[n->a].rank;
    if (n->b)
        return wf__copy_tuple(&g->ir, n->b, g->map, into);
    for (int k = 0; k < rank; ++k)
        refs[k] = element_index(g, into, n->a, k, along);
    return wf__tuple(into, refs, (uint32_t)rank);
}

static wf__ref both(wf__ir *into, wf__ref a, wf__ref b) { return a && b ? wf__op2(into, WF__OP_and, a, b) : a ? a : b; }

static wf__ref node_of(wf__inlined *g, wf__ir *into, wf__ref r, wf__ref along, wf__ref when)
{
    const wf__node *n = &g->ir.node[r];
    wf__ref own = n->op == WF__LOAD ? g->map[wf__when(&g->ir, n)] : 0;
    if (n->op == WF__INDEX)
        return index_of(g, into, (int)n->a, along);
    if (n->op == WF__DIM)
        return wf__dim(into, slot_of(g, into, n->a), (int)n->b);
    if (n->op != WF__LOAD)
        return wf__copy_node(&g->ir, r, g->map, into);
    wf__ref condition = both(into, when, own);
    uint32_t place = place_of(g, into, n, along);
    return wf__load_when(into, slot_of(g, into, n->a), place, (wf_border)n->aux, g->map[wf__otherwise(&g->ir, n)],
                         condition);
}

void wf__inline_invariants(wf__inlined *g, wf__ir *into)
{
    memset(g->map, 0, g->ir.n * sizeof *g->map);
    memset(g->slot, 0, g->ir.slot_n * sizeof *g->slot);
    for (uint32_t p = into->param_n; p < g->ir.param_n; ++p)
        wf__param(into, g->ir.param[p]);
    for (wf__ref r = 1; r < g->ir.n; ++r)
        if (!g->moves[r])
            g->map[r] = node_of(g, into, r, 0, 0);
}

wf__ref wf__inline_point(wf__inlined *g, wf__ir *into, wf__ref along, wf__ref when, wf__ref given)
{
    wf__ref result = 0;
    for (wf__ref r = 1; r < g->ir.n; ++r) {
        const wf__node *n = &g->ir.node[r];
        bool of_object = is_access(n) && g->ir.slot[n->a].object == g->object;
        if (!g->moves[r])
            continue;
        if (n->op == WF__STORE && of_object && !given) {
            result = g->map[n->c];
        } else if (n->op == WF__STORE) {
            wf__ref condition = both(into, when, n->d ? g->map[n->d] : 0);
            uint32_t place = place_of(g, into, n, along);
            wf__store(into, slot_of(g, into, n->a), place, g->map[n->c], condition);
        } else {
            g->map[r] = n->op == WF__LOAD && of_object && given ? given : node_of(g, into, r, along, when);
        }
    }
    return result;
}
