/* border.c - the elements that reads by index give, as indices of an array: what each border mode does with an index. */
#include "ir/ir.h"

wf__ref wf__both(wf__ir *ir, wf__ref a, wf__ref b) { return a && b ? wf__op2(ir, WF__OP_and, a, b) : a ? a : b; }

wf__ref wf__index_op(wf__ir *ir, unsigned op, wf__ref a, int64_t b)
{
    return a ? wf__op2(ir, op, a, wf__const_bits(ir, WF_I64, (uint64_t)b)) : 0;
}

/* Returns where 0 <= i < n. */
static wf__ref within(wf__ir *ir, wf__ref i, wf__ref n)
{
    wf__ref low = wf__index_op(ir, WF__OP_ge, i, 0);
    return wf__both(ir, low, wf__op2(ir, WF__OP_lt, i, n));
}

_Static_assert(WF__BORDERS == 6, "how each border mode maps an index");
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
