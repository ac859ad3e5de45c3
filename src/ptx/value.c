/* value.c - values of nodes: 64-bit copies of narrow ones, and the leaves of expressions.
 *
 * A narrow i64 is widened where an instruction needs 64 bits, once for each region of control flow: code further on
 * reuses the copy only as long as control cannot bypass the code that made it. */
#include "ptx/gen.h"

bool wf__ptx_uses_narrow(const gen *g, wf__ref r) { return g->node[r].narrow; }

val wf__ptx_use(gen *g, wf__ref r)
{
    val v = g->node[r].v;
    if (!g->node[r].narrow || v.kind != V_R)
        return v;
    if (g->node[r].more.kind == V_NONE) {
        wf__str *out = g->out;
        val wide = wf__ptx_reg(g, V_D);
        if (g->node[r].in_head)
            g->out = &g->head;
        else
            g->widened[g->widened_n++] = r;
        EMIT(g, "cvt.s64.s32 $0, $1", wide, v);
        g->out = out;
        g->node[r].more = wide;
    }
    return g->node[r].more;
}

void wf__ptx_forget(gen *g, uint32_t n)
{
    while (g->widened_n > n)
        g->node[g->widened[--g->widened_n]].more = (val){ 0 };
}

/* The value of a parameter that an earlier kernel has computed. */
static val load_result(gen *g, const wf__node *n)
{
    val at = wf__ptx_reg(g, V_D), none = { 0 },
        v = n->dtype == WF_BOOL ? wf__ptx_reg(g, V_R) : wf__ptx_new(g, n->dtype);
    int64_t k = (int64_t)n->a + 1 - g->options->results;
    EMIT(g, "add.u64 $0, $1, $2", at, wf__ptx_field_value(g, WF__PTX_RESULTS, 0, 0, false), v_int(8 * k));
    wf__ptx_load_element(g, n->dtype, at, "global", none, v, none);
    if (n->dtype != WF_BOOL)
        return v;
    val p = wf__ptx_reg(g, V_P);
    EMIT(g, "setp.ne.s32 $0, $1, 0", p, v);
    return p;
}

void wf__ptx_set_leaf(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    bool later = n->op == WF__PARAM && g->options->results && n->a + 1 >= g->options->results;
    if (later && g->post) {
        g->node[r].v = g->acc[n->a + 1 - g->options->results];
        return;
    }
    wf__str *out = g->out;
    bool low = g->node[r].narrow;
    g->out = &g->head;
    g->node[r].in_head = true;
    if (n->op == WF__CONST)
        g->node[r].v = wf__ptx_const(g, n->dtype, wf__bits(n));
    else if (n->op == WF__EXTENT)
        g->node[r].v = wf__ptx_field_value(g, WF__PTX_EXTENT, 0, (int)n->a, low);
    else if (n->op == WF__DIM)
        g->node[r].v = wf__ptx_field_value(g, WF__PTX_DIM, n->a, (int)n->b, low);
    else if (later)
        g->node[r].v = load_result(g, n);
    else { /* a parameter, in the low bytes of its field */
        val v = wf__ptx_field_value(g, WF__PTX_PARAM, n->a, 0, !wf__ptx_wide(n->dtype));
        wf__ptx_kind kind = wf__ptx_class(n->dtype);
        if (kind == V_H || kind == V_P) {
            g->node[r].v = wf__ptx_reg(g, kind);
            if (kind == V_P)
                EMIT(g, "and.b32 $0, $0, 255", v);
            EMIT(g, kind == V_H ? "cvt.u16.u32 $0, $1" : "setp.ne.s32 $0, $1, 0", g->node[r].v, v);
        } else
            g->node[r].v = v;
        wf__ptx_normalise(g, n->dtype, v);
    }
    g->out = out;
}
