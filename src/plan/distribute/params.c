/* params.c - parameters whose values decide which elements ranks need. */
#include "ir/pass/pass.h"
#include "plan/plan.h"

/* Marks the integers that a node takes, among them its indices, if it reads or writes by index. */
static void mark_indices(const wf__ir *ir, const wf__node *n, uint8_t *live)
{
    wf__ref operand[WF__MAX_OPERANDS];
    if (!wf__op_is_access(n->op) && n->op != WF__VIEW && n->op != WF__SCATTER)
        return;
    for (uint32_t i = 0, count = wf__operands(ir, n, operand); i < count; ++i)
        live[operand[i]] |= wf__is_int(ir->node[operand[i]].dtype);
}

bool wf__index_params(const wf__recording *rec, bool *used)
{
    const wf__ir *ir = &rec->ir;
    bool any = false;
    for (uint32_t i = 0; i < ir->param_n; ++i) {
        used[i] = false;
        any = any || wf__is_int(ir->param[i]);
    }
    uint8_t *live = any ? wf__alloc0(ir->n) : NULL;
    for (wf__ref r = 1; live && r < ir->n; ++r)
        mark_indices(ir, &ir->node[r], live);
    if (live)
        wf__mark_live(ir, live);
    for (wf__ref r = 1; live && r < ir->n; ++r)
        if (live[r] && ir->node[r].op == WF__PARAM && wf__is_int(ir->node[r].dtype))
            used[ir->node[r].a] = true;
    wf__free(live);
    return live || !any;
}
