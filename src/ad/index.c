/* index.c - the elements that reads by index give, as indices of an array. */
#include "ad/sweep.h"

wf__ref wf__both(wf__ir *ir, wf__ref a, wf__ref b) { return a && b ? wf__op2(ir, WF__OP_and, a, b) : a ? a : b; }

wf__ref wf__index_op(wf__ir *ir, unsigned op, wf__ref a, int64_t b)
{
    return a ? wf__op2(ir, op, a, wf__const_bits(ir, WF_I64, (uint64_t)b)) : 0;
}

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

/* Returns where 0 <= i < n. */
static wf__ref within(wf__ir *ir, wf__ref i, wf__ref n)
{
    wf__ref low = wf__index_op(ir, WF__OP_ge, i, 0);
    return wf__both(ir, low, wf__op2(ir, WF__OP_lt, i, n));
}

/* Returns the index of the element that a border mode gives for index i of n. */
static wf__ref element_of(wf__ir *ir, wf__ref i, wf_border border, wf__ref n)
{
    wf__ref last = wf__index_op(ir, WF__OP_sub, n, 1);
    if (border == WF_BORDER_CLAMP)
        return wf__op2(ir, WF__OP_min, wf__index_op(ir, WF__OP_max, i, 0), last);
    if (border == WF_BORDER_PERIODIC)
        return wf__op2(ir, WF__OP_floor_mod, i, n);
    /* One period goes there and back; that of REFLECT leaves out both ends, and is 1 for one element. */
    wf__ref period = wf__index_op(ir, WF__OP_mul, border == WF_BORDER_MIRROR ? n : last, 2);
    if (border == WF_BORDER_REFLECT)
        period = wf__index_op(ir, WF__OP_max, period, 1);
    wf__ref in = wf__op2(ir, WF__OP_floor_mod, i, period);
    wf__ref top = border == WF_BORDER_MIRROR ? wf__index_op(ir, WF__OP_sub, period, 1) : period;
    return wf__op2(ir, WF__OP_min, in, wf__op2(ir, WF__OP_sub, top, in));
}

bool wf__elements_read(wf__ir *ir, uint32_t indices, wf_border border, const wf__ref *extent, uint32_t *tuple,
                       wf__ref *inside)
{
    const uint32_t rank = wf__tuple_len(ir, indices);
    wf__ref index[WF__MAX_OPERANDS];
    *inside = 0;
    *tuple = indices;
    if (border == WF_BORDER_NONE)
        return ir->status == WF_OK;
    for (uint32_t d = 0; d < rank && ir->status == WF_OK; ++d) {
        index[d] = wf__tuple_at(ir, indices)[d];
        if (border == WF_BORDER_VALUE)
            *inside = wf__both(ir, *inside, within(ir, index[d], extent[d]));
        else
            index[d] = element_of(ir, index[d], border, extent[d]);
    }
    if (border != WF_BORDER_VALUE && ir->status == WF_OK)
        *tuple = wf__tuple(ir, index, rank);
    return ir->status == WF_OK;
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
