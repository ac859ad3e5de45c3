/* again.c - records the nodes of a recording again. */
#include "launch/again.h"
#include "ir/pass/pass.h"

void wf__again_begin(wf__again *a)
{
    const wf__ir *in = a->in;
    a->view = *in;
    a->slot = wf__alloc0((in->slot_n + 1) * sizeof *a->slot);
    a->map = wf__alloc0(in->n * sizeof *a->map);
    a->view.node = wf__alloc(in->n * sizeof *a->view.node);
    if (a->slot && a->map && a->view.node)
        memcpy(a->view.node, in->node, in->n * sizeof *a->view.node);
    else
        wf__poison(a->g, WF_ERR_MEMORY, "%s: out of memory", a->function);
}

void wf__again_end(wf__again *a)
{
    wf__ir *out = a->slot && a->g ? wf__graph_ir(a->g) : NULL;
    for (uint32_t s = 0; out && s < a->in->slot_n; ++s)
        if (a->slot[s] && a->slot[s] <= out->slot_n)
            out->slot[a->slot[s] - 1].later = 0;
    wf__free(a->slot);
    wf__free(a->map);
    wf__free(a->view.node);
}

/* Gives the copy of an access, node r, the slot of its array. */
static void set_slot(wf__again *a, wf__node *n, wf__ref r)
{
    const wf__slot *from = &a->in->slot[n->a];
    uint32_t *slot = &a->slot[n->a];
    if (!*slot && wf__array_slot(a->g, a->to[from->object], from->element, from->written, a->function, slot)) {
        /* Accesses in a loop may follow its stores, so a read that the graph has from before is another one. */
        wf__graph_ir(a->g)->slot[*slot].later = wf__turns_end(a->in, r) != 0;
        ++*slot;
    }
    n->a = *slot - 1;
}

void wf__again_node(wf__again *a, wf__ref r)
{
    if (!wf__is_recording(a->g))
        return;
    wf__node *n = &a->view.node[r];
    if (n->op == WF__NOP)
        return;
    if (wf__op_names_slot(n->op))
        set_slot(a, n, r);
    if (!wf__is_recording(a->g))
        return;
    wf__ir *out = wf__graph_ir(a->g);
    if (n->op == WF__ACCUM)
        wf__note_contents(a->g, a->to[a->in->slot[a->in->node[r].a].object], wf__node_join(n));
    a->map[r] = wf__copy_between(&a->view, r, a->map, out);
    wf__copy_whole(&a->view, r, a->map, out, a->map[r]);
    if (wf__op_is_store(n->op) && wf__is_recording(a->g))
        wf__note_store(a->g, n->a);
}
