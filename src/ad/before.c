/* before.c - array graphs: reads in a block of arrays that the block or a later operation changes. The sweeps record the block
 * again, after these changes, so its reads by index become gathers from a value that has the contents from before.
 */
#include "ad/before.h"
#include "ad/index.h"

wf__ref wf__contents_before(const wf__ir *ir, wf__ref block, uint32_t object)
{
    for (wf__ref r = block; --r;) {
        const wf__node *n = &ir->node[r];
        if (!wf__op_names_slot(n->op) || wf__object_of(ir, n) != object)
            continue;
        if (wf__op_is_store(n->op)) { /* what is stored to all elements: the builder folds reads of it */
            const bool all = n->op == WF__STORE && !n->b && !n->d && !wf__is_closed(ir, r) &&
                             wf__shape_known(ir, ir->slot[n->a].shape) &&
                             wf__shape_of(ir, n->c) == ir->slot[n->a].shape;
            return all ? n->c : 0;
        }
        if (wf__is_contents(ir, r) && !wf__is_closed(ir, r))
            return r;
    }
    return 0;
}

wf__ref wf__read_before(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out, wf__ref contents)
{
    const wf__node n = in->node[r];
    wf__ref index[WF__MAX_OPERANDS], extent[WF_MAX_RANK], inside;
    const wf__ref otherwise = wf__otherwise(in, &n), when = wf__when(in, &n);
    uint32_t tuple;
    if (!n.b)
        return contents;
    for (uint32_t i = 0; i < wf__tuple_len(in, n.b); ++i)
        index[i] = map[wf__tuple_at(in, n.b)[i]];
    tuple = out->status == WF_OK ? wf__tuple(out, index, wf__tuple_len(in, n.b)) : 0;
    wf__extents_of_slot(out, n.a, extent);
    if (!tuple || !wf__elements_read(out, tuple, (wf_border)n.aux, extent, &tuple, &inside))
        return 0;
    inside = wf__both(out, inside, when ? map[when] : 0);
    wf__ref zero = wf__const_f64(out, n.dtype, 0), value = wf__gather(out, contents, tuple, inside ? zero : 0);
    return inside ? wf__op3(out, WF__OP_select, inside, value, otherwise ? map[otherwise] : zero) : value;
}
