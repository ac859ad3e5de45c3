/* lanes.c - the place of a recording in control flow: the lanes that take part, and the conditions of the innermost
 * block on values and operations. control.c opens and closes the blocks. */
#include "record/block.h"

wf__ref wf__lanes_on(const wf_graph *g) { return g->block_n ? *wf__holds(g, &g->var[wf__innermost(g)->on]) : 0; }

bool wf__is_outer(const wf_graph *g, uint32_t var) { return g->block_n && var < wf__innermost(g)->vars; }

wf__ref wf__truth(wf_graph *g, wf_val v, const char *function)
{
    bool number;
    wf__ref c = wf__resolve(g, v, function, &number);
    if (number)
        return wf__const_bits(wf__graph_ir(g), WF_BOOL, v.h.num != 0);
    return c ? wf__cast(wf__graph_ir(g), c, WF_BOOL) : 0;
}

bool wf__condition_of(wf_graph *g, const wf_val *condition, const char *function, wf__ref *out)
{
    wf__ir *ir = wf__graph_ir(g);
    wf__ref c = condition ? wf__truth(g, *condition, function) : 0, on = wf__lanes_on(g);
    if (condition && !c)
        return false;
    c = c && on ? wf__op2(ir, WF__OP_and, c, on) : c ? c : on;
    *out = c && wf__is_const(ir, c, 1) ? 0 : c;
    return ir->status == WF_OK;
}

bool wf__fits_block(wf_graph *g, wf__ref value, wf__ref holder, const char *function)
{
    const wf__ir *ir = wf__graph_ir(g);
    const wf__block *b = wf__innermost(g);
    wf__ref on = wf__lanes_on(g);
    if (!b || !ir->arrays)
        return true;
    const wf_shape *x = &ir->shape[ir->node[value].shape], *y = &ir->shape[ir->node[holder].shape];
    const wf_shape *lanes = &ir->shape[ir->node[on].shape];
    wf_shape both;
    if (wf__broadcast(x, y, &both) && wf__broadcast(&both, lanes, &both))
        return true;
    char have[160], want[160], where[160];
    wf_shape_text(x, have, sizeof have);
    wf_shape_text(y, want, sizeof want);
    wf_shape_text(lanes, where, sizeof where);
    wf__poison(g, WF_ERR_SHAPE,
               "%s: a value of shape %s, a variable of shape %s and lanes of shape %s do not broadcast, in the block "
               "opened at %s",
               function, have, want, where, b->here ? b->here : "?");
    return false;
}

bool wf__no_block(wf_graph *g, const char *function, const char *instead)
{
    const wf__block *b = wf__innermost(g);
    if (b)
        wf__poison(g, WF_ERR_UNSUPPORTED, "%s: not inside a block (the one opened at %s); %s", function,
                   b->here ? b->here : "?", instead);
    return !b;
}
