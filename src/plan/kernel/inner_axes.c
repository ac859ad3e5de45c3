/* inner_axes.c - reductions over axes that kept axes separate in memory. If inner runs of reduced axes are short, a stage
 * of its own reduces the innermost run into a temporary, which another stage reduces further. */
#include "plan/passes.h"

/* Splits a reduction into two stages: stage s reduces the inner axes only, and a new stage after it reduces the
 * others. */
static bool divide(wf__plan *plan, uint32_t s, wf_axes inner)
{
    wf__stage *next = wf__plan_add_stage(plan, s + 1), *stage = &plan->stage[s];
    if (!next)
        return false;
    wf__ir *ir = &next->recorded;
    const wf__reduction *red = stage->recorded.red;
    next->space = wf__kept_shape(&stage->space, inner);
    next->reduce.axes = stage->reduce.axes & ~inner;
    next->reduce.result = stage->reduce.result;
    stage->reduce.axes = inner;
    stage->reduce.result = wf__alloc0(stage->recorded.red_n * sizeof *stage->reduce.result);
    wf__ir_init(ir, next->space.rank, stage->recorded.flags);
    for (uint32_t k = 0; stage->reduce.result && k < stage->recorded.red_n && ir->status == WF_OK; ++k) {
        stage->reduce.result[k] = wf__plan_add_temp(plan, red[k].dtype, &next->space);
        if (stage->reduce.result[k] == UINT32_MAX)
            return false;
        uint32_t slot = wf__slot_new(ir, red[k].dtype, next->space.rank, true, stage->reduce.result[k]);
        wf__red_new(ir, red[k].dtype, (wf_join)red[k].join);
        if (ir->status != WF_OK)
            break;
        wf__ref value = wf__load(ir, slot, 0, WF_BORDER_NONE, 0);
        wf__setred(ir, k, 0, wf__op2(ir, wf__join_op((wf_join)red[k].join), wf__red(ir, k, 0), value));
    }
    return (stage->reduce.result && ir->status == WF_OK) || wf__plan_no_memory(plan);
}

bool wf__pass_inner_axes(wf__planning *p, uint32_t s)
{
    wf__stage *stage = &p->plan->stage[s];
    if (stage->scan.on || !stage->reduce.axes || stage->join)
        return true;
    wf_axes inner = wf__plan_inner_axes(p->plan, stage, p->all);
    if (p->plan->status != WF_OK || (inner && !divide(p->plan, s, inner)))
        return false;
    if (inner)
        wf__plan_because(p->plan, "reductions",
                         "stage %u reduces only the inner axes (mask 0x%x) and the next stage the other ones, because "
                         "kept axes cut the reduced axes into short runs",
                         (unsigned)s, (unsigned)inner);
    return true;
}
