/* view.c - values made of elements of another value: slices, permutations, reshapes, repetitions, gathers. This
 * file finds their shapes. The planner re-indexes the code that makes the elements (src/plan/split/inline_views.c), so
 * that no element is moved.
 */
#include "ir/ir.h"
#include <stdio.h>

wf__ref wf__as_literal(const wf__ir *ir, wf__ref r)
{
    const wf__node *n = &ir->node[r];
    bool literal = n->op == WF__VIEW && n->aux == WF__VIEW_BROADCAST && ir->node[n->a].op == WF__CONST &&
                   ir->flags & WF_FLAG_FOLD && wf__shape_known(ir, n->shape);
    return literal ? n->a : r;
}

static int64_t clip(int64_t i, int64_t n, int64_t lo, int64_t hi)
{
    if (i < 0)
        i += n;
    return i < lo ? lo : i > hi ? hi : i;
}

int64_t wf__slice_range(int64_t n, int64_t *start, int64_t stop, int64_t step)
{
    if (step > 0) {
        *start = clip(*start, n, 0, n);
        stop = stop == WF_END_INDEX ? n : clip(stop, n, 0, n);
        return stop > *start ? (stop - *start - 1) / step + 1 : 0;
    }
    *start = clip(*start, n, -1, n - 1);
    stop = stop == WF_END_INDEX ? -1 : clip(stop, n, -1, n - 1);
    return *start > stop ? (*start - stop - 1) / (step == INT64_MIN ? INT64_MAX : -step) + 1 : 0;
}

static int64_t count_of(const wf_shape *shape) /* number of elements; -1 = more than an int64_t counts */
{
    int64_t n = 1;
    for (int d = 0; d < shape->rank; ++d)
        if (shape->dim[d] == 0)
            return 0;
    for (int d = 0; d < shape->rank; ++d)
        if (!wf__mul_i64(n, shape->dim[d], &n))
            return -1;
    return n;
}

bool wf__reshape_fits(const wf_shape *from, wf_shape *to)
{
    int64_t known = 1, total = count_of(from);
    int open = -1;
    for (int d = 0; d < to->rank; ++d) {
        if (to->dim[d] == -1 && open < 0)
            open = d;
        else if (to->dim[d] < 0 || !wf__mul_i64(known, to->dim[d], &known))
            return false;
    }
    if (open >= 0) {
        if (known == 0 || total < 0 || total % known)
            return false;
        to->dim[open] = total / known;
    }
    return open >= 0 || known == total;
}

static bool known(const wf_shape *shape)
{
    bool all = true;
    for (int d = 0; d < shape->rank; ++d)
        all = all && shape->dim[d] >= 0;
    return all;
}

static bool reshape(const wf_shape *in, wf_shape *out)
{
    int open = 0;
    if (known(in))
        return wf__reshape_fits(in, out);
    for (int d = 0; d < out->rank; ++d) {
        open += out->dim[d] == -1;
        if (out->dim[d] < -1)
            return false;
    }
    return open <= 1;
}

bool wf__view_shape(unsigned kind, const int64_t *p, uint32_t n, const wf_shape *in, wf_shape *out)
{
    wf_shape to = *in;
    bool ok = true;
    int64_t start;
    if (kind == WF__VIEW_RESHAPE || kind == WF__VIEW_BROADCAST) {
        to = (wf_shape){ .rank = (int32_t)n };
        for (uint32_t d = 0; d < n; ++d)
            to.dim[d] = p[d];
    }
    switch (kind) {
    case WF__VIEW_SLICE:
        start = p[1];
        to.dim[p[0]] = in->dim[p[0]] < 0 ? -1 : wf__slice_range(in->dim[p[0]], &start, p[2], p[3]);
        break;
    case WF__VIEW_PERMUTE:
        for (uint32_t d = 0; d < n; ++d)
            to.dim[d] = in->dim[p[d]];
        break;
    case WF__VIEW_RESHAPE:
        ok = reshape(in, &to);
        break;
    case WF__VIEW_BROADCAST: {
        wf_shape both = { 0 };
        ok = wf__broadcast(in, &to, &both) && both.rank == to.rank;
        for (int d = 0; ok && d < to.rank; ++d)
            ok = both.dim[d] == to.dim[d];
        break;
    }
    case WF__VIEW_TILE:
        for (uint32_t d = 0; d < n; ++d)
            ok = ok && (in->dim[d] < 0 || wf__mul_i64(in->dim[d], p[d], &to.dim[d]));
        break;
    case WF__VIEW_REPEAT:
        ok = in->dim[p[0]] < 0 || wf__mul_i64(in->dim[p[0]], p[1], &to.dim[p[0]]);
        break;
    default:
        return false;
    }
    if (ok)
        *out = to;
    return ok;
}

/* True if the numbers are valid for the kind. Only then may wf__view_shape be called. */
bool wf__view_fits(unsigned kind, const int64_t *p, uint32_t n, const wf_shape *in)
{
    unsigned seen = 0;
    bool ok = true;
    switch (kind) {
    case WF__VIEW_SLICE:
        return n == 4 && p[0] >= 0 && p[0] < in->rank && p[3] != 0;
    case WF__VIEW_PERMUTE:
        for (uint32_t d = 0; d < n; ++d) {
            ok = ok && p[d] >= 0 && p[d] < in->rank;
            seen |= ok ? 1u << p[d] : 0;
        }
        return ok && n == (uint32_t)in->rank && seen == (1u << n) - 1;
    case WF__VIEW_RESHAPE:
    case WF__VIEW_BROADCAST:
        for (uint32_t d = 0; d < n; ++d)
            ok = ok && p[d] >= (kind == WF__VIEW_RESHAPE ? -1 : 0);
        return ok && n <= WF_MAX_RANK;
    case WF__VIEW_TILE:
        for (uint32_t d = 0; d < n; ++d)
            ok = ok && p[d] >= 0;
        return ok && n == (uint32_t)in->rank;
    case WF__VIEW_REPEAT:
        return n == 2 && p[0] >= 0 && p[0] < in->rank && p[1] >= 0;
    default:
        return false;
    }
}

wf__ref wf__view(wf__ir *ir, unsigned kind, const int64_t *p, uint32_t n, wf__ref value)
{
    if (ir->status != WF_OK || !value)
        return 0;
    uint32_t in = ir->node[value].shape, shape;
    wf_shape out;
    wf__node node = { .op = WF__VIEW, .dtype = ir->node[value].dtype, .aux = (uint8_t)kind, .a = value };
    if (!wf__view_fits(kind, p, n, &ir->shape[in]) || !wf__view_shape(kind, p, n, &ir->shape[in], &out)) {
        char text[160];
        wf_shape_text(&ir->shape[in], text, sizeof text);
        wf__ir_fail_at(ir, &node, WF_ERR_SHAPE, "%s: this cannot be made of a value of shape %s",
                       wf__function_of(&node), text);
        return 0;
    }
    bool ordered = true; /* true for a permutation that changes nothing */
    for (uint32_t d = 0; d < n; ++d)
        ordered = ordered && p[d] == (int64_t)d;
    bool moves = kind == WF__VIEW_PERMUTE ? !ordered : kind == WF__VIEW_SLICE ? p[3] != 1 : false;
    shape = wf__shape_id(ir, &out);
    if (wf__as_literal(ir, value) != value && wf__shape_known(ir, shape) &&
        ir->status == WF_OK) { /* a literal remains a literal */
        node.a = wf__as_literal(ir, value);
        node.aux = WF__VIEW_BROADCAST;
        p = out.dim;
        n = (uint32_t)out.rank;
        in = 0;
        moves = false;
    }
    if (!moves && shape == in && wf__shape_known(ir, in) && ir->status == WF_OK)
        return node.a;
    wf__ref refs[WF_MAX_RANK];
    for (uint32_t k = 0; k < n; ++k)
        refs[k] = wf__const_bits(ir, WF_I64, (uint64_t)p[k]);
    node.b = wf__tuple(ir, refs, n);
    node.shape = shape;
    return ir->status == WF_OK ? wf__append(ir, &node) : 0;
}

wf__ref wf__gather(wf__ir *ir, wf__ref value, uint32_t tuple, wf__ref other)
{
    if (ir->status != WF_OK || !value)
        return 0;
    wf__node node = { .op = WF__VIEW, .dtype = ir->node[value].dtype, .aux = WF__VIEW_GATHER, .a = value };
    node.b = tuple;
    node.c = other;
    for (uint32_t i = 0; i < wf__tuple_len(ir, tuple); ++i)
        node.shape = wf__broadcast_id(ir, &node, node.shape, ir->node[wf__tuple_at(ir, tuple)[i]].shape);
    if (other)
        node.shape = wf__broadcast_id(ir, &node, node.shape, ir->node[other].shape);
    return ir->status == WF_OK ? wf__append(ir, &node) : 0;
}

wf__node wf__scatter_node(const wf__ir *ir, wf_join join, wf__ref value, uint32_t shape, uint32_t tuple, wf__ref when)
{
    return (wf__node){ .op = WF__SCATTER,
                       .dtype = ir->node[value].dtype,
                       .aux = join == WF_JOIN_ADD ? 0 : (uint8_t)join,
                       .a = value,
                       .b = tuple,
                       .d = when,
                       .shape = shape };
}

wf__ref wf__scatter(wf__ir *ir, wf__ref value, uint32_t shape, uint32_t tuple, wf__ref when)
{
    return wf__scatter_joined(ir, WF_JOIN_ADD, value, shape, tuple, when);
}

wf__ref wf__scatter_joined(wf__ir *ir, wf_join join, wf__ref value, uint32_t shape, uint32_t tuple, wf__ref when)
{
    if (ir->status != WF_OK || !value)
        return 0;
    const wf__node node = wf__scatter_node(ir, join, value, shape, tuple, when);
    if (!wf__shape_known(ir, shape))
        wf__ir_fail_at(ir, &node, WF_ERR_UNSUPPORTED,
                       "%s: of the extents of the elements some are open; what is added to elements by index, such as "
                       "the derivative of a read by index, needs an array in place of a formal",
                       wf__function_of(&node));
    uint32_t points = ir->node[value].shape; /* operands that do not broadcast are an error */
    for (uint32_t i = 0; i < wf__tuple_len(ir, tuple); ++i)
        points = wf__broadcast_id(ir, &node, points, ir->node[wf__tuple_at(ir, tuple)[i]].shape);
    if (when)
        wf__broadcast_id(ir, &node, points, ir->node[when].shape);
    return ir->status == WF_OK ? wf__append(ir, &node) : 0;
}

uint32_t wf__view_numbers(const wf__ir *ir, const wf__node *n, int64_t out[WF_MAX_RANK])
{
    uint32_t count = wf__tuple_len(ir, n->b);
    for (uint32_t k = 0; k < count; ++k)
        out[k] = (int64_t)wf__bits(&ir->node[wf__tuple_at(ir, n->b)[k]]);
    return count;
}
