/* views.c - adjoints of values that consist of elements of another value. The adjoint of a view is a view where each
 * element is used once, a sum where elements are repeated, and a scatter where indices are data.
 */
#include "ad/sweep.h"

static const wf_shape *shape_of(const wf__ir *ir, wf__ref r) { return &ir->shape[wf__shape_of(ir, r)]; }

/* Gives an operand an adjoint of its own shape. */
static void give(wf__sweep *s, wf__ref operand, wf__ref value)
{
    wf__give(s, operand, (wf__adjoint){ .value = value }, wf__shape_of(s->ir, operand));
}

/* The element i of the operand is element (i - start) / step of the slice, if that is one. */
static void reverse_slice(wf__sweep *s, const wf__node *n, wf__ref g)
{
    wf__ir *ir = s->ir;
    int64_t p[WF_MAX_RANK];
    wf__view_numbers(ir, n, p);
    const wf_shape in = *shape_of(ir, n->a);
    const int axis = (int)p[0];
    wf__ref index[WF_MAX_RANK], outside = wf__const_f64(ir, wf__dtype(ir, g), 0);
    int64_t start = p[1], step = p[3], count = wf__slice_range(in.dim[axis], &start, p[2], step);
    if (in.dim[axis] < 0) {
        wf__ir_fail_at(ir, n, WF_ERR_SHAPE, "%s: the derivative of wf_slice needs a known extent", s->task->function);
        return;
    }
    if (count == 0)
        return;
    wf__own_indices(ir, &in, index);
    if (step < 0) { /* count from the other end */
        start += (count - 1) * step;
        step = -step;
        const int64_t back[] = { axis, -1, WF_END_INDEX, -1 };
        g = wf__view(ir, WF__VIEW_SLICE, back, 4, g);
    }
    wf__ref at = start ? wf__index_op(ir, WF__OP_sub, index[axis], start) : index[axis];
    if (step > 1) {
        wf__ref rest = wf__index_op(ir, WF__OP_floor_mod, at, step), hit = wf__index_op(ir, WF__OP_eq, rest, 0);
        wf__ref miss = wf__const_bits(ir, WF_I64, (uint64_t)(int64_t)-1);
        at = wf__op3(ir, WF__OP_select, hit, wf__index_op(ir, WF__OP_floor_div, at, step), miss);
    }
    index[axis] = at;
    if (ir->status == WF_OK)
        give(s, n->a, wf__gather(ir, g, wf__tuple(ir, index, (uint32_t)in.rank), outside));
}

static void reverse_permute(wf__sweep *s, const wf__node *n, wf__ref g)
{
    int64_t p[WF_MAX_RANK], inverse[WF_MAX_RANK];
    uint32_t rank = wf__view_numbers(s->ir, n, p);
    for (uint32_t d = 0; d < rank; ++d)
        inverse[p[d]] = d;
    give(s, n->a, wf__view(s->ir, WF__VIEW_PERMUTE, inverse, rank, g));
}

static int64_t product(const wf_shape *shape, int from, int to)
{
    int64_t n = 1;
    for (int d = from; d < to; ++d)
        n *= shape->dim[d];
    return n;
}

/* Returns the sum over the copies of each element along an axis, of which there are `times`. side_by_side: the copies of an
 * element are neighbours, as REPEAT makes them; else the copies of the whole axis follow each other, as TILE does. */
static wf__ref sum_of_copies(wf__ir *ir, wf__ref g, int axis, int64_t times, bool side_by_side)
{
    if (!g || ir->status != WF_OK || times == 1)
        return g;
    wf_shape all = *shape_of(ir, g), out = all;
    out.dim[axis] = times ? all.dim[axis] / times : 0;
    wf_shape cut = { .rank = 4 };
    cut.dim[0] = product(&all, 0, axis);
    cut.dim[1] = side_by_side ? out.dim[axis] : times;
    cut.dim[2] = side_by_side ? times : out.dim[axis];
    cut.dim[3] = product(&all, axis + 1, all.rank);
    g = wf__summed(ir, WF_JOIN_ADD, wf__reshaped(ir, g, &cut), side_by_side ? 1u << 2 : 1u << 1);
    return g ? wf__reshaped(ir, g, &out) : 0;
}

static void reverse_copies(wf__sweep *s, const wf__node *n, wf__ref g)
{
    int64_t p[WF_MAX_RANK];
    uint32_t count = wf__view_numbers(s->ir, n, p);
    if (!wf__shape_known(s->ir, wf__shape_of(s->ir, g))) {
        wf__ir_fail_at(s->ir, n, WF_ERR_SHAPE, "%s: the derivative of %s needs known extents", s->task->function,
                       wf__function_of(n));
        return;
    }
    for (uint32_t d = 0; n->aux == WF__VIEW_TILE && d < count; ++d) {
        if (p[d] == 0)
            return;
        g = sum_of_copies(s->ir, g, (int)d, p[d], false);
    }
    if (n->aux == WF__VIEW_REPEAT && p[1] == 0)
        return;
    give(s, n->a, n->aux == WF__VIEW_REPEAT ? sum_of_copies(s->ir, g, (int)p[0], p[1], true) : g);
}

static void reverse_gather(wf__sweep *s, const wf__node *n, wf__adjoint a, uint32_t points)
{
    wf__ir *ir = s->ir;
    uint32_t tuple;
    wf__ref inside, extent[WF_MAX_RANK];
    const wf__node gather = *n;
    wf__extents_of_shape(ir, shape_of(ir, gather.a), extent);
    if (!wf__elements_read(ir, gather.b, gather.c ? WF_BORDER_VALUE : WF_BORDER_NONE, extent, &tuple, &inside))
        return;
    if (gather.c)
        wf__give(s, gather.c, wf__only_where(ir, a, inside, false), points);
    if (!wf__is_active(s, gather.a))
        return;
    wf__ref g = s->pointwise ? a.value : wf__broadcast_to(ir, a.value, points);
    wf__ref when = wf__both(ir, wf__both(ir, a.mask, inside), s->on);
    give(s, gather.a, wf__scatter(ir, g, wf__shape_of(ir, gather.a), tuple, when));
}

void wf__reverse_view(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    wf__ir *ir = s->ir;
    const wf__node n = ir->node[r];
    if (n.aux == WF__VIEW_GATHER) {
        reverse_gather(s, &n, a, n.shape);
        return;
    }
    if (!wf__is_active(s, n.a))
        return;
    if (n.aux == WF__VIEW_BROADCAST) { /* the sum over the axes of the broadcast */
        wf__give(s, n.a, a, n.shape);
        return;
    }
    wf__ref g = wf__broadcast_to(ir, wf__masked(ir, a), n.shape);
    const wf_shape in = *shape_of(ir, n.a);
    if (!g)
        return;
    switch ((wf__view_kind)n.aux) {
    case WF__VIEW_SLICE:
        reverse_slice(s, &n, g);
        return;
    case WF__VIEW_PERMUTE:
        reverse_permute(s, &n, g);
        return;
    case WF__VIEW_RESHAPE:
        give(s, n.a, wf__reshaped(ir, g, &in));
        return;
    case WF__VIEW_TILE:
    case WF__VIEW_REPEAT:
        reverse_copies(s, &n, g);
        return;
    case WF__VIEW_BROADCAST:
    case WF__VIEW_GATHER: /* above */
        return;
    }
}
