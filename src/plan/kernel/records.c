/* records.c - finds arrays of records: each point reads, writes or accumulates their elements at constant last indices.
 * With wf__slot.record, code generators move a record as one vector, whatever the other indices are.
 */
#include "plan/kernel/accumulate.h"

enum { QUAD = 4 }; /* a record has a multiple of this many elements, if the array is so long */

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
