/* records.c - finds arrays of records: whose elements each point reads, writes or accumulates at constant last indices.
 * What is said of them (wf__slot.record) lets code generators move a record as one vector, whatever its other indices.
 */
#include "plan/kernel/accumulate.h"

enum { QUAD = 4 }; /* elements that may be read beyond those that are wanted, where the array has them */

bool wf__bind_repeats(const wf__bind *b)
{
    int axis[WF_MAX_RANK], n = 0;
    for (int d = 0; d < b->rank; ++d) {
        if (b->dim[d] < 2)
            continue;
        int at = n++;
        for (; at > 0 && llabs(b->stride[axis[at - 1]]) > llabs(b->stride[d]); --at)
            axis[at] = axis[at - 1];
        axis[at] = d;
    }
    int64_t reach = 0;
    for (int k = 0; k < n; ++k) {
        int64_t step = llabs(b->stride[axis[k]]), far;
        if (step <= reach || !wf__mul_i64(step, b->dim[axis[k]] - 1, &far))
            return true;
        reach += far;
    }
    return false;
}

bool wf__last_constant(const wf__ir *ir, uint32_t tuple, int64_t *out)
{
    uint32_t n = wf__tuple_len(ir, tuple);
    if (n < 2 || wf__at(ir, wf__tuple_at(ir, tuple)[n - 1])->op != WF__CONST)
        return false;
    *out = (int64_t)wf__bits(wf__at(ir, wf__tuple_at(ir, tuple)[n - 1]));
    return true;
}

bool wf__are_parts(const wf__ir *ir, const wf__node *n, const wf__node *m)
{
    int64_t a, b;
    if (n->a != m->a || !wf__last_constant(ir, n->b, &a) || !wf__last_constant(ir, m->b, &b) || a == b)
        return false;
    size_t before = (wf__tuple_len(ir, n->b) - 1) * sizeof(wf__ref);
    return memcmp(wf__tuple_at(ir, n->b), wf__tuple_at(ir, m->b), before) == 0;
}

void wf__plan_records(wf__ir *ir, const wf__bind *bind)
{
    if (!(ir->flags & WF_FLAG_PACKETS) || ir->flags & WF_FLAG_DEBUG)
        return;
    for (uint32_t s = 0; s < ir->slot_n; ++s) {
        wf__slot *slot = &ir->slot[s];
        const wf__bind *b = &bind[slot->object];
        if (slot->element || slot->rank < 2 || slot->step[slot->rank - 1] != WF__STEP_UNIT || wf__size(slot->dtype) > 8)
            continue;
        int64_t least = INT64_MAX, most = -1, dim = b->dim[b->rank - 1], c;
        for (wf__ref r = 1; r < ir->n; ++r) {
            const wf__node *n = &ir->node[r];
            bool moves = n->op == WF__LOAD || n->op == WF__STORE || n->op == WF__ACCUM;
            if (!moves || n->a != s || !wf__last_constant(ir, n->b, &c) || c < 0 || c >= dim || c >= UINT8_MAX)
                continue;
            least = c < least ? c : least;
            most = c > most ? c : most;
        }
        int64_t record = (most + QUAD) / QUAD * QUAD;
        record = record < dim ? record : dim;
        if (most > least && !wf__bind_repeats(b))
            slot->record = (uint8_t)(record < UINT8_MAX ? record : UINT8_MAX);
    }
}
