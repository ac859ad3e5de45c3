/* literal.c - folds constants that are broadcast to a shape, in array graphs, as constants without a shape.
 */
#include "ir/build.h"

wf__ref wf__of_literals(wf__ir *ir, unsigned op, unsigned arity, const wf__ref *operand)
{
    wf__ref x[3] = { 0 };
    wf_shape full = { 0 }, bare = { 0 };
    bool found = false, all = true;
    for (unsigned i = 0; i < arity; ++i) {
        x[i] = wf__as_literal(ir, operand[i]);
        found = found || x[i] != operand[i];
        all = all && ir->node[x[i]].op == WF__CONST;
        uint32_t shape = ir->node[operand[i]].shape;
        if (!wf__shape_known(ir, shape) || !wf__broadcast(&full, &ir->shape[shape], &full) ||
            !wf__broadcast(&bare, &ir->shape[ir->node[x[i]].shape], &bare))
            return 0;
    }
    bool same = wf__same_shape(&full, &bare);
    if (!found || !(same || (all && !ir->loops))) /* views are made outside of blocks */
        return 0;
    wf__ref r = arity == 1   ? wf__op1(ir, op, x[0])
                : arity == 2 ? wf__op2(ir, op, x[0], x[1])
                             : wf__op3(ir, op, x[0], x[1], x[2]);
    if (!r || (!same && ir->node[r].op != WF__CONST))
        return 0;
    return same ? r : wf__view(ir, WF__VIEW_BROADCAST, full.dim, (uint32_t)full.rank, r);
}
