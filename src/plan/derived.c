/* derived.c - recordings without DERIVED nodes, whose values stand for them. What only derivatives need is then unused.
 * Nodes keep their numbers, by which messages and reasons call them.
 */
#include "plan/passes.h"
#include "ir/pass/pass.h"

bool wf__has_derived(const wf__recording *rec)
{
    bool any = false;
    for (int k = 0; k < WF__SECTIONS; ++k)
        any = any || rec->section[k].derived;
    return any;
}

/* Makes an ir its own copy of nodes and lists, with other nodes in place of DERIVED ones. */
static bool replace(wf__ir *ir)
{
    const wf__ir in = *ir;
    wf__ref *map = wf__alloc(in.n * sizeof *map);
    ir->node = wf__alloc(in.n * sizeof *ir->node);
    ir->tuple = wf__alloc(in.tuple_n * sizeof *ir->tuple);
    const bool ok = map && ir->node && ir->tuple;
    for (wf__ref r = 0; ok && r < in.n; ++r)
        map[r] = in.node[r].op == WF__DERIVED ? map[in.node[r].a] : r;
    for (uint32_t t = 0; ok && t < in.tuple_n; t += in.tuple[t] + 1) {
        ir->tuple[t] = in.tuple[t];
        for (uint32_t i = 1; i <= in.tuple[t]; ++i)
            ir->tuple[t + i] = map[in.tuple[t + i]];
    }
    for (wf__ref r = 0; ok && r < in.n; ++r) {
        wf__node n = in.node[r];
        for (const wf__field *f = wf__fields_of(n.op); f->at; ++f)
            if (wf__field_table[f->kind].form <= WF__FORM_OPTIONAL)
                wf__set_field(&in, &n, f->at, map[wf__field_of(&in, &n, f->at)]);
        ir->node[r] = n.op == WF__DERIVED ? (wf__node){ .op = WF__NOP } : n;
    }
    ir->derived = false;
    wf__free(map);
    return ok;
}

bool wf__without_derived(const wf__recording *rec, wf__recording *out)
{
    bool ok = true;
    *out = *rec;
    for (int k = 0; k < WF__SECTIONS; ++k)
        ok &= !rec->section[k].derived || replace(&out->section[k]);
    return ok;
}

void wf__without_derived_free(const wf__recording *rec, wf__recording *out)
{
    for (int k = 0; k < WF__SECTIONS; ++k)
        if (rec->section[k].derived) {
            wf__free(out->section[k].node);
            wf__free(out->section[k].tuple);
        }
}
