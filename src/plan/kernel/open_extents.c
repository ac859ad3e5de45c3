/* open_extents.c - makes large integers in the bodies of array graphs values of the launch, so that code serves any
 * shape. Such integers are extents, and numbers computed from extents. They become the extents of a slot that
 * nothing reads or writes. Small integers stay constants, as do those that make code better: in addresses, divisions
 * and loops. */
#include "plan/passes.h"

enum { LARGE = 1 << 30 }; /* code for GPUs keeps extents in 32 bits up to this */

static bool may_take(unsigned op)
{
    switch (op) {
    case WF__OP_add:
    case WF__OP_sub:
    case WF__OP_mul:
    case WF__OP_min:
    case WF__OP_max:
    case WF__OP_lt:
    case WF__OP_le:
    case WF__OP_gt:
    case WF__OP_ge:
    case WF__OP_eq:
    case WF__OP_ne:
        return true;
    default:
        return false;
    }
}

/* Marks constants that make code better. */
static void mark_known(const wf__ir *ir, uint8_t *known)
{
    int axis;
    int64_t offset;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        wf__ref operand[WF__MAX_OPERANDS];
        uint32_t count = wf__operands(ir, n, operand);
        for (uint32_t i = 0; i < count && !may_take(n->op); ++i) {
            const wf__node *of = &ir->node[operand[i]];
            known[operand[i]] = 1;
            if (!wf__op_is_pure(n->op) && may_take(of->op) &&
                wf__as_offset(ir, operand[i], &axis, &offset)) /* the operand may be part of an address */
                known[of->a] = known[of->b] = 1;
        }
    }
}

static bool is_number(const wf__ir *ir, wf__ref r, const uint8_t *known)
{
    const wf__node *n = &ir->node[r];
    int64_t x = (int64_t)wf__bits(n);
    return n->op == WF__CONST && n->dtype == WF_I64 && x > WF__SMALL_EXTENT && x < LARGE && !known[r];
}

/* Adds a slot of the first slot's object. */
static bool add_slot(wf__plan *plan, wf__stage *stage, int rank, uint32_t *slot)
{
    wf__mem_layout *mem = wf__alloc0((stage->lowered.slot_n + 1) * sizeof *mem);
    if (!mem)
        return wf__plan_no_memory(plan);
    memcpy(mem, stage->mem, stage->lowered.slot_n * sizeof *mem);
    *slot = wf__slot_new(&stage->lowered, WF_U8, rank, false, stage->lowered.slot[0].object);
    if (stage->lowered.status != WF_OK) {
        wf__free(mem);
        return wf__plan_no_memory(plan);
    }
    mem[*slot].object = stage->mem[0].object;
    wf__free(stage->mem);
    stage->mem = mem;
    return true;
}

bool wf__pass_open_extents(wf__planning *p, uint32_t s)
{
    wf__plan *plan = p->plan;
    wf__stage *stage = &plan->stage[s];
    wf__ir *ir = &stage->lowered;
    /* A launch on a processor has room for WF__MOST_FUSED slots of stages that run together. */
    bool full = ir->slot_n >= WF__MOST_FUSED && plan->target == WF__PROCESSOR && wf__step_of(plan, s)->count > 1;
    if (full)
        wf__plan_because(plan, "open extents",
                         "stage %u keeps its extents as constants, because it is fused and has no free slot",
                         (unsigned)s);
    if (wf__has_ranks(p) || stage->scan.on || stage->gather || full || !ir->slot_n || ir->loops ||
        ir->flags & WF_FLAG_DEBUG)
        return true;
    uint8_t *known = wf__alloc0(ir->n);
    wf__ref number[WF_MAX_RANK];
    uint32_t slot = 0;
    int n = 0;
    if (!known)
        return wf__plan_no_memory(plan);
    mark_known(ir, known);
    for (wf__ref r = 1; r < ir->n && n < WF_MAX_RANK; ++r)
        if (is_number(ir, r, known))
            number[n++] = r;
    wf__free(known);
    if (!n)
        return true;
    if (!add_slot(plan, stage, n, &slot))
        return false;
    wf__plan_because(plan, "open extents",
                     "large constants of stage %u (%d) become extents of slot %u, so that other sizes share its code",
                     (unsigned)(stage - plan->stage), n, (unsigned)slot);
    for (int k = 0; k < n; ++k) {
        wf__node *node = &ir->node[number[k]];
        stage->mem[slot].dim[k] = (int64_t)wf__bits(node);
        *node = (wf__node){ .op = WF__DIM, .dtype = WF_I64, .a = slot, .b = (uint32_t)k };
    }
    return true;
}
