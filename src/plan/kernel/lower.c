/* lower.c - passes over the body of a stage that src/ir or other files do: records, accumulations, lowering,
 * lockstep, numbers of arrays. */
#include "plan/kernel/accumulate.h"
#include "plan/passes.h"

bool wf__pass_records(wf__planning *p, uint32_t s)
{
    wf__stage *stage = &p->plan->stage[s];
    if (!stage->scan.on)
        wf__plan_records(&stage->lowered, p->all);
    for (uint32_t k = 0; k < stage->lowered.slot_n && p->plan->why; ++k)
        if (stage->lowered.slot[k].record)
            wf__plan_explain(
                p->plan, "records",
                "slot %u of stage %u has records of %u elements, because its accesses have constant last indices",
                (unsigned)k, (unsigned)s, (unsigned)stage->lowered.slot[k].record);
    return true;
}

bool wf__pass_accumulate(wf__planning *p, uint32_t s)
{
    wf__stage *stage = &p->plan->stage[s];
    return stage->scan.on || wf__plan_accumulate(p->plan, stage, &stage->lowered, p->all) ||
           wf__plan_fail_in(p->plan, &stage->lowered);
}

bool wf__pass_expand(wf__planning *p, uint32_t s)
{
    wf__stage *stage = &p->plan->stage[s];
    if (stage->scan.on)
        return true;
    if (!wf__pass_merge_loops(&stage->lowered) || !wf__pass_lower_in_place(&stage->lowered))
        return wf__plan_fail_in(p->plan, &stage->lowered);
    if (stage->lowered.red_n > p->plan->most_reds)
        p->plan->most_reds = stage->lowered.red_n;
    return true;
}

bool wf__pass_counters(wf__planning *p, uint32_t s)
{
    wf__stage *stage = &p->plan->stage[s];
    return stage->scan.on || wf__pass_lockstep(&stage->lowered) || wf__plan_fail_in(p->plan, &stage->lowered);
}

bool wf__pass_number_arrays(wf__planning *p, uint32_t s)
{
    wf__plan *plan = p->plan;
    wf__stage *stage = &plan->stage[s];
    for (uint32_t k = 0; k < stage->lowered.slot_n && stage->mem; ++k) {
        uint32_t object = wf__plan_original(plan, stage->mem[k].object);
        stage->mem[k].number = object < plan->objects ? p->bind[object].number : 0;
    }
    return true;
}
