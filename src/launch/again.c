/* again.c - records the nodes of a recording again, and keeps recordings for that. */
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

/* ---- recordings that are kept ---- */
bool wf__recorded_keep(const wf__program *p, const wf_shape *space, const uint64_t *param, wf__recorded *out)
{
    const wf__ir *ir = &p->rec.ir;
    *out = (wf__recorded){ .kind = p->rec.options.kind,
                           .space = *space,
                           .reduce = p->rec.options.reduce,
                           .device = p->device,
                           .name = wf__strdup(p->name ? p->name : "a recording"),
                           .param = wf__alloc0((p->param_n + 1) * sizeof *out->param) };
    if (!out->name || !out->param || !wf__ir_copy(ir, &out->ir) || !wf__ir_copy(&p->rec.join, &out->join) ||
        !wf__ir_copy(&p->rec.post, &out->post))
        return false;
    if (ir->red_n && !(out->initial = wf__alloc(ir->red_n * sizeof *out->initial)))
        return false;
    if (ir->red_n)
        memcpy(out->initial, p->rec.initial, ir->red_n * sizeof *out->initial);
    for (; out->param_n < p->param_n; ++out->param_n) {
        const wf__named_param *from = &p->param[out->param_n];
        wf__named_param *to = &out->param[out->param_n];
        *to = (wf__named_param){ wf__strdup(from->name), param ? param[out->param_n] : from->initial, from->dtype };
        if (!to->name)
            return false;
    }
    return true;
}

void wf__recorded_free(wf__recorded *k)
{
    for (uint32_t i = 0; k->param && i < k->param_n; ++i)
        wf__free(k->param[i].name);
    wf__ir_free_copy(&k->ir);
    wf__ir_free_copy(&k->join);
    wf__ir_free_copy(&k->post);
    wf__free(k->initial);
    wf__free(k->name);
    wf__free(k->param);
}

wf_graph *wf__recorded_begin(wf_context *ctx, const wf__recorded *k)
{
    const wf_space space = { .size = sizeof space,
                             .name = k->name,
                             .shape = k->kind == WF__SPACE ? k->space : (wf_shape){ 0 },
                             .indexed = k->kind == WF__SPACE,
                             .elements = k->kind == WF__ELEMENTS && !k->reduce,
                             .reduce = k->reduce,
                             .device = k->device };
    wf_graph *g = wf_begin_with(ctx, &space);
    wf__params_again(g, k->param, k->ir.param, k->param_n);
    return g;
}

static void record_section(wf_graph *g, const wf__ir *section, wf_array *const *to, const char *function)
{
    wf__again again = { .g = g, .in = section, .to = to, .function = function };
    if (!wf__is_recording(g))
        return;
    wf__again_begin(&again);
    for (wf__ref r = 1; r < section->n; ++r)
        wf__again_node(&again, r);
    wf__again_end(&again);
}

void wf__recorded_again(const wf__recorded *k, wf_graph *g, wf_array *const *to, const char *function)
{
    if (g)
        wf__reductions_again(g, &k->ir, &k->join, k->initial);
    record_section(g, &k->ir, to, function);
    if (k->post.n <= 1 || !wf__is_recording(g))
        return;
    wf_section(g, WF_SECTION_POST);
    record_section(g, &k->post, to, function);
}
