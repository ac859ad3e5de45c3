/* copies.c - copies of nodes that the sweeps walk over. */
#include "ad/copies.h"
#include "ir/pass/pass.h"

void wf__copy_as_is(const wf__ir *in, wf__ref first, wf__ref end, wf__ref held, wf__ref *map, wf__ir *out)
{
    for (wf__ref r = first; r < end && out->status == WF_OK; ++r)
        if (in->node[r].op != WF__NOP && r != held) {
            const wf__ref next = out->n;
            map[r] = wf__copy_node(in, r, map, out);
            wf__copy_whole(in, r, map, out, map[r]);
            if (wf__op_is_store(in->node[r].op) && !wf__op_has_value(in->node[r].op))
                map[r] = out->n > next ? out->n - 1 : 0;
        }
}

void wf__drop_effects(wf__ir *ir, wf__ref first, wf__ref end)
{
    for (wf__ref r = first; r < end && ir->status == WF_OK; ++r)
        if (wf__op_is_store(ir->node[r].op) && !wf__op_has_value(ir->node[r].op))
            ir->node[r] = (wf__node){ .op = WF__NOP };
}
