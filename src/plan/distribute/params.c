/* params.c - parameters whose values decide which elements ranks need. */
#include "ir/pass/pass.h"
#include "plan/plan.h"

bool wf__index_params(const wf__recording *rec, bool *used)
{
    const wf__ir *ir = &rec->ir;
    bool any = false;
    for (uint32_t i = 0; i < ir->param_n; ++i) {
        used[i] = false;
        any = any || wf__is_int(ir->param[i]);
    }
    if (!any)
        return true;
    uint8_t *live = wf__alloc0(ir->n);
    if (!live)
        return false;
    for (wf__ref r = 1; r < ir->n; ++r)
        for (uint32_t k = 0; wf__op_is_access(ir->node[r].op) && k < wf__tuple_len(ir, ir->node[r].b); ++k)
            live[wf__tuple_at(ir, ir->node[r].b)[k]] = 1;
    wf__mark_live(ir, live);
    for (wf__ref r = 1; r < ir->n; ++r)
        if (live[r] && ir->node[r].op == WF__PARAM && wf__is_int(ir->node[r].dtype))
            used[ir->node[r].a] = true;
    wf__free(live);
    return true;
}
