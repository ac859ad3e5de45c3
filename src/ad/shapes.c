/* shapes.c - adjoints and shapes: sums over the axes along which a value was broadcast. */
#include "ad/sweep.h"

static const wf_shape *shape_at(const wf__ir *ir, uint32_t id) { return &ir->shape[id]; }

/* Returns the extent of axis d of a shape of `rank` axes to which `shape` broadcasts. */
static int64_t extent_at(const wf_shape *shape, int d, int rank)
{
    int own = d - (rank - shape->rank);
    return own < 0 ? 1 : shape->dim[own];
}

wf__ref wf__broadcast_to(wf__ir *ir, wf__ref value, uint32_t shape)
{
    if (!value || ir->status != WF_OK || !ir->arrays || wf__shape_of(ir, value) == shape)
        return value;
    const wf_shape to = *shape_at(ir, shape);
    return wf__view(ir, WF__VIEW_BROADCAST, to.dim, (uint32_t)to.rank, value);
}

wf__ref wf__broadcast_with(wf__ir *ir, wf__ref value, const wf__ref *like, uint32_t n)
{
    wf__ref never = wf__const_bits(ir, WF_BOOL, 0);
    for (uint32_t i = 0; i < n && ir->status == WF_OK; ++i) {
        wf__ref x = wf__is_complex(wf__dtype(ir, like[i])) ? wf__real(ir, like[i]) : like[i];
        x = wf__dtype(ir, x) == WF_BOOL ? x : wf__op2(ir, WF__OP_ne, x, x);
        never = wf__op2(ir, WF__OP_and, x, never);
    }
    if (!value || ir->status != WF_OK)
        return 0;
    return wf__op3(ir, WF__OP_select, never, wf__const_f64(ir, wf__dtype(ir, value), 0), value);
}

wf__ref wf__gather_some(wf__ir *ir, wf__ref value, uint32_t tuple, bool some)
{
    return wf__gather(ir, value, tuple, some && value ? wf__const_f64(ir, wf__dtype(ir, value), 0) : 0);
}

wf__ref wf__reshaped(wf__ir *ir, wf__ref value, const wf_shape *shape)
{
    const wf_shape to = *shape;
    return wf__view(ir, WF__VIEW_RESHAPE, to.dim, (uint32_t)to.rank, value);
}

wf__ref wf__summed(wf__ir *ir, wf_join join, wf__ref value, wf_axes axes)
{
    if (!value || ir->status != WF_OK || !axes)
        return value;
    if (wf__is_complex(wf__dtype(ir, value)) && join == WF_JOIN_ADD) {
        wf__ref re = wf__summed(ir, join, wf__real(ir, value), axes);
        return wf__complex(ir, re, wf__summed(ir, join, wf__imag(ir, value), axes));
    }
    wf_shape kept = wf__kept_shape(shape_at(ir, wf__shape_of(ir, value)), axes);
    wf__node n = { .op = WF__REDUCE, .dtype = (uint8_t)wf__dtype(ir, value), .a = value, .b = join, .c = axes };
    n.shape = wf__shape_id(ir, &kept);
    return ir->status == WF_OK ? wf__append(ir, &n) : 0;
}

wf__ref wf__sum_to(wf__ir *ir, wf__ref value, uint32_t from, uint32_t to, const char *function)
{
    if (from == to || !value || ir->status != WF_OK)
        return value;
    const wf_shape points = *shape_at(ir, from), target = *shape_at(ir, to);
    const wf_shape have = *shape_at(ir, wf__shape_of(ir, value));
    const int rank = points.rank, lead = rank - have.rank;
    wf_axes axes = 0; /* axes of `value` to sum over */
    double times = 1; /* elements along the axes that `value` is broadcast along itself */
    bool known = true;
    wf_shape rest = { .rank = target.rank };
    for (int d = 0; d < rank; ++d) {
        const int64_t extent = points.dim[d], own = extent_at(&have, d, rank), wanted = extent_at(&target, d, rank);
        const int at = d - (rank - target.rank);
        if (at >= 0)
            rest.dim[at] = wanted == 1 ? 1 : own;
        if (wanted != 1 && wanted != extent) { /* whether the axis was broadcast shows when arrays are bound */
            wf__ir_fail(ir, WF_ERR_SHAPE, "%s: extents must be known where a value may be broadcast; say wf_reshape",
                        function);
            return 0;
        }
        if (wanted != 1 || extent == 1)
            continue;
        if (own != 1)
            axes |= 1u << (d - lead);
        else if (extent >= 0)
            times *= (double)extent;
        else
            known = false;
    }
    if (!known) { /* the number of elements is not known: all are added */
        value = wf__broadcast_to(ir, value, from);
        axes = 0;
        times = 1;
        for (int d = 0; d < rank; ++d) {
            axes |= extent_at(&target, d, rank) == 1 && points.dim[d] != 1 ? 1u << d : 0;
            if (d >= rank - target.rank)
                rest.dim[d - (rank - target.rank)] = target.dim[d - (rank - target.rank)];
        }
    }
    value = wf__summed(ir, WF_JOIN_ADD, value, axes);
    if (times != 1 && value)
        value = wf__op2(ir, WF__OP_mul, value, wf__const_f64(ir, wf__dtype(ir, value), times));
    return value ? wf__reshaped(ir, value, &rest) : 0;
}
