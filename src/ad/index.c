/* index.c - indices of arrays, and their extents, as values. */
#include "ad/sweep.h"

uint32_t wf__own_indices(wf__ir *ir, const wf_shape *shape, wf__ref index[WF_MAX_RANK])
{
    const wf_shape all = *shape;
    for (int d = 0; d < all.rank; ++d) {
        wf_shape one = { .rank = all.rank };
        for (int k = 0; k < all.rank; ++k)
            one.dim[k] = k == d ? all.dim[d] : 1;
        wf__node n = { .op = WF__IOTA, .dtype = WF_I64, .a = (uint32_t)d, .shape = wf__shape_id(ir, &one) };
        index[d] = ir->status == WF_OK ? wf__append(ir, &n) : 0;
    }
    return ir->status == WF_OK ? wf__tuple(ir, index, (uint32_t)all.rank) : 0;
}

void wf__extents_of_shape(wf__ir *ir, const wf_shape *shape, wf__ref *extent)
{
    const wf_shape of = *shape;
    for (int d = 0; d < of.rank; ++d)
        extent[d] = wf__const_bits(ir, WF_I64, (uint64_t)of.dim[d]);
}

void wf__extents_of_slot(wf__ir *ir, uint32_t slot, wf__ref *extent)
{
    const wf_shape shape = ir->shape[ir->slot[slot].shape];
    for (int d = 0; d < ir->slot[slot].rank; ++d) {
        bool known = ir->arrays && shape.dim[d] >= 0;
        extent[d] = known ? wf__const_bits(ir, WF_I64, (uint64_t)shape.dim[d]) : wf__dim(ir, slot, d);
    }
}

wf__ref wf__left_alone(wf__ir *ir, const wf__node *store, uint32_t shape)
{
    const wf__node n = *store;
    if (!n.b)
        return n.d ? wf__op1(ir, WF__OP_not, n.d) : 0;
    wf__ref one = wf__broadcast_to(ir, wf__const_bits(ir, WF_I32, 1), n.shape);
    wf__ref stores = wf__scatter(ir, one, shape, n.b, n.d);
    return stores ? wf__op2(ir, WF__OP_eq, stores, wf__const_bits(ir, WF_I32, 0)) : 0;
}
