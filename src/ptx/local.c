/* local.c - LOCAL, PUT and GET nodes: variables in the local memory of a thread. */
#include "ptx/gen.h"

/* Declares the variable, and sets the node to its address. */
static void declare(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    wf__str *out = g->out;
    val at = wf__ptx_reg(g, V_D);
    g->out = &g->head;
    wf__str_addf(g->out, "\t.local .align 16 .b8 weft_local_%u[%u];\n", (unsigned)r, n->a * wf__size(n->dtype));
    EMIT(g, "mov.u64 $0, weft_local_$1", at, v_int(r));
    g->out = out;
    g->node[r].v = at;
    g->node[r].in_head = true;
}

static val address_of(gen *g, const wf__node *n)
{
    const wf__ref local = wf__local_of(g->ir, n->a);
    val i = wf__ptx_reg(g, V_R), at = wf__ptx_reg(g, V_D);
    EMIT(g, "and.b32 $0, $1, $2", i, wf__ptx_use(g, n->b), v_int(g->ir->node[local].a - 1));
    EMIT(g, "mad.wide.u32 $0, $1, $2, $3", at, i, v_int(wf__size(n->dtype)), g->node[local].v);
    return at;
}

void wf__ptx_local(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    const val none = { 0 };
    if (n->op == WF__LOCAL) {
        declare(g, r);
        return;
    }
    val at = address_of(g, n);
    if (n->op == WF__PUT) {
        val im = wf__is_complex(n->dtype) ? g->node[n->c].more : none;
        wf__ptx_store_element(g, n->dtype, at, "local", n->d ? wf__ptx_as_is(g, n->d) : none, wf__ptx_use(g, n->c), im);
        return;
    }
    wf__ptx_pair read = wf__ptx_load_begin(g, r, none);
    wf__ptx_load_element(g, n->dtype, at, "local", none, read.re, read.im);
    wf__ptx_load_end(g, r, read);
}
