/* effects.c - derivatives of stores and accumulations in loops that stay loops. No turn changes what another turn stores
 * (stores.c), so each turn finds the derivative of what it stored in that of the array's contents after the loop.
 */
#include "ad/hoist.h"
#include "ad/sweep.h"

static bool is_on_way(const wf__sweep *s, const wf__node *n)
{
    return wf__op_is_store(n->op) && s->route.active.array[wf__object_of(s->ir, n)] == WF__ACTIVE;
}

bool wf__effects_begin(wf__sweep *s, const wf__region *loop)
{
    wf__ir *ir = s->ir;
    s->after = wf__alloc0((s->route.objects + 1) * sizeof *s->after);
    if (!s->after) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", s->task->function);
        return false;
    }
    for (wf__ref r = loop->loop; r < loop->end && ir->status == WF_OK; ++r) {
        const wf__node n = ir->node[r];
        if (!is_on_way(s, &n))
            continue;
        const uint32_t object = wf__object_of(ir, &n);
        wf__adjoint a = wf__take_sum(s, &s->array[object]);
        if (a.value)
            s->after[object] = wf__broadcast_to(ir, wf__masked(ir, a), ir->slot[n.a].shape);
    }
    return ir->status == WF_OK;
}

wf__ref wf__left_by_loop(wf__ir *ir, const wf__region *loop, uint32_t object)
{
    wf__ref rest = 0;
    for (wf__ref r = loop->loop; r < loop->end && ir->status == WF_OK; ++r) {
        const wf__node *n = &ir->node[r];
        if (n->op != WF__STORE || wf__object_of(ir, n) != object)
            continue;
        wf__ref zero = wf__const_bits(ir, WF_I32, 0);
        rest = wf__both(ir, rest, wf__op2(ir, WF__OP_eq, wf__count_of_stores(ir, r), zero));
    }
    return rest;
}

void wf__effects_end(wf__sweep *s, const wf__region *loop)
{
    for (uint32_t object = 0; s->after && object < s->route.objects && s->ir->status == WF_OK; ++object)
        if (s->after[object])
            wf__add_part(s, &s->array[object],
                         (wf__adjoint){ s->after[object], wf__left_by_loop(s->ir, loop, object) });
    wf__free(s->after);
    s->after = NULL;
}

void wf__reverse_effect(wf__sweep *s, wf__ref r)
{
    wf__ir *ir = s->ir;
    const wf__node n = ir->node[r];
    const uint32_t object = wf__object_of(ir, &n), from = s->task->effects ? s->task->effects[object] : 0;
    wf__ref when = wf__both(ir, wf__both(ir, n.d, s->on), s->alone ? s->alone[r] : 0), value;
    if (!from || !wf__is_active(s, n.c))
        return;
    if (!ir->arrays)
        value = wf__load_when(ir, from - 1, n.b, WF_BORDER_NONE, 0, n.b ? when : 0);
    else if (!s->after[object])
        return;
    else
        value = n.b ? wf__gather_some(ir, s->after[object], n.b, true) : s->after[object];
    wf__give(s, n.c, (wf__adjoint){ value, when }, 0);
}
