/* local.c - records local memory: numbers that each point has for itself, and that a loop stores and finds by index. */
#include "ir/ir.h"

/* Widens the shape of a node of an array graph by that of an operand. */
static void widen(wf__ir *ir, wf__node *n, wf__ref by)
{
    if (ir->arrays && by)
        n->shape = wf__broadcast_id(ir, n, n->shape, wf__shape_of(ir, by));
}

wf__ref wf__local(wf__ir *ir, unsigned dtype, uint32_t elements, uint32_t shape)
{
    WF__ASSERT(elements && elements <= WF__MOST_LOCAL && !(elements & (elements - 1)));
    wf__node n = { .op = WF__LOCAL, .dtype = (uint8_t)dtype, .a = elements };
    n.shape = ir->arrays ? shape : 0;
    return ir->status == WF_OK ? wf__append(ir, &n) : 0;
}

wf__ref wf__put(wf__ir *ir, wf__ref local, wf__ref element, wf__ref value, wf__ref when)
{
    if (ir->status != WF_OK || !local || !element || !value)
        return 0;
    wf__node n = { .op = WF__PUT, .dtype = ir->node[local].dtype, .a = local, .b = element, .c = value, .d = when };
    const wf__ref operand[] = { local, element, value, when };
    for (unsigned i = 0; i < WF__COUNT(operand); ++i)
        widen(ir, &n, operand[i]);
    return ir->status == WF_OK ? wf__append(ir, &n) : 0;
}

wf__ref wf__get(wf__ir *ir, wf__ref local, wf__ref element)
{
    if (ir->status != WF_OK || !local || !element)
        return 0;
    wf__node n = { .op = WF__GET, .dtype = ir->node[local].dtype, .a = local, .b = element };
    widen(ir, &n, local);
    widen(ir, &n, element);
    return ir->status == WF_OK ? wf__append(ir, &n) : 0;
}

wf__ref wf__local_of(const wf__ir *ir, wf__ref r)
{
    while (ir->node[r].op == WF__PUT || ir->node[r].op == WF__STATE)
        r = ir->node[r].op == WF__PUT ? ir->node[r].a : ir->node[r].b;
    return ir->node[r].op == WF__LOCAL ? r : 0;
}
