/* joins.c - derivatives of reductions and scans, in both directions. */
#include "ad/sweep.h"

static const wf_shape *shape_of(const wf__ir *ir, wf__ref r) { return &ir->shape[wf__shape_of(ir, r)]; }

static wf__ref op2(wf__ir *ir, unsigned op, wf__ref a, wf__ref b) { return wf__op2(ir, op, a, b); }

static wf__ref number(wf__ir *ir, wf__ref like, double x) { return wf__const_f64(ir, wf__dtype(ir, like), x); }

wf__ref wf__scanned(wf__ir *ir, wf_join join, wf__ref value, int axis, unsigned flags)
{
    if (!value || ir->status != WF_OK)
        return 0;
    wf__node n = { .op = WF__SCAN, .dtype = (uint8_t)wf__dtype(ir, value), .aux = (uint8_t)flags, .a = value };
    n.b = join;
    n.c = (uint32_t)axis;
    n.shape = wf__shape_of(ir, value);
    return wf__append(ir, &n);
}

/* ---- minima and maxima ---- */
/* Returns where elements are the result, or are NaN, as the result then is. They share its derivative: *ties becomes
 * their number, in dtype t. */
static wf__ref hits(wf__ir *ir, wf__ref r, unsigned t, wf__ref *ties)
{
    const wf__node n = ir->node[r];
    wf__ref nan = op2(ir, WF__OP_ne, n.a, n.a), hit = op2(ir, WF__OP_eq, n.a, r);
    hit = op2(ir, WF__OP_or, hit, nan);
    *ties = wf__summed(ir, WF_JOIN_ADD, wf__cast(ir, hit, t), n.c);
    return hit;
}

static void reverse_extreme(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    wf__ir *ir = s->ir;
    const wf__ref operand = ir->node[r].a;
    wf__ref ties, hit = hits(ir, r, wf__dtype(ir, a.value), &ties);
    a.value = op2(ir, WF__OP_div, a.value, ties);
    wf__give(s, operand, wf__only_where(ir, a, hit, true), wf__shape_of(ir, operand));
}

/* ---- products ---- */
/* Returns the product of all other elements along the axes, without a division: that of the elements before each one
 * times that of the elements after it. */
static wf__ref product_of_others(wf__ir *ir, wf__ref value, wf_axes axes)
{
    const wf_shape shape = *shape_of(ir, value);
    int64_t order[WF_MAX_RANK], inverse[WF_MAX_RANK], line = 1;
    wf_shape moved = { .rank = shape.rank }, lines = { 0 };
    int n = 0;
    for (int pass = 0; pass < 2; ++pass) /* the axes of the reduction come last, and become one */
        for (int d = 0; d < shape.rank; ++d)
            if ((axes >> d & 1) == (unsigned)pass) {
                moved.dim[n] = shape.dim[d];
                order[n++] = d;
            }
    for (int d = 0; d < shape.rank; ++d) {
        inverse[order[d]] = d;
        if (axes >> order[d] & 1)
            line *= moved.dim[d];
        else
            lines.dim[lines.rank++] = moved.dim[d];
    }
    lines.dim[lines.rank++] = line;
    value = wf__view(ir, WF__VIEW_PERMUTE, order, (uint32_t)shape.rank, value);
    value = wf__reshaped(ir, value, &lines);
    wf__ref before = wf__scanned(ir, WF_JOIN_MUL, value, lines.rank - 1, WF__EXCLUSIVE);
    wf__ref after = wf__scanned(ir, WF_JOIN_MUL, value, lines.rank - 1, WF__EXCLUSIVE | WF__REVERSED);
    value = wf__reshaped(ir, op2(ir, WF__OP_mul, before, after), &moved);
    return wf__view(ir, WF__VIEW_PERMUTE, inverse, (uint32_t)shape.rank, value);
}

/* Returns the sum of all other elements along the axes. */
static wf__ref sum_of_others(wf__ir *ir, wf__ref value, wf_axes axes)
{
    return op2(ir, WF__OP_sub, wf__summed(ir, WF_JOIN_ADD, value, axes), value);
}

/* Returns the product of all other complex elements along the axes: the product of those that are not 0, divided by the
 * element unless it is 0; 0 beside another zero. */
static wf__ref complex_product_of_others(wf__ir *ir, wf__ref value, wf_axes axes)
{
    wf__ref zero = number(ir, value, 0), one = number(ir, value, 1), none = op2(ir, WF__OP_eq, value, zero);
    unsigned t = wf__part_dtype(wf__dtype(ir, value));
    wf__ref other = wf__op3(ir, WF__OP_select, none, one, value), own = wf__op3(ir, WF__OP_select, none, value, zero);
    wf__ref product = wf__summed(ir, WF_JOIN_MUL, other, axes);
    return wf__beside_zeros(ir, op2(ir, WF__OP_div, product, other), sum_of_others(ir, wf__cast(ir, none, t), axes),
                            sum_of_others(ir, own, axes), sum_of_others(ir, op2(ir, WF__OP_mul, own, own), axes));
}

/* Returns the product of all other elements, for the REDUCE node n. */
static wf__ref others_of(wf__ir *ir, const wf__node *n, const char *function)
{
    if (!wf__shape_known(ir, wf__shape_of(ir, n->a))) {
        wf__ir_fail_at(ir, n, WF_ERR_SHAPE, "%s: the derivative of a product needs known extents", function);
        return 0;
    }
    wf__ref value = wf__cast(ir, n->a, wf__adjoint_dtype(n->dtype));
    return wf__is_complex(n->dtype) ? complex_product_of_others(ir, value, n->c) : product_of_others(ir, value, n->c);
}

static void reverse_product(wf__sweep *s, const wf__node *n, wf__adjoint a)
{
    wf__ir *ir = s->ir;
    wf__ref others = others_of(ir, n, s->task->function);
    if (others && wf__is_complex(n->dtype))
        others = wf__op1(ir, WF__OP_conj, others);
    a.value = others ? op2(ir, WF__OP_mul, a.value, others) : 0;
    wf__give(s, n->a, a, wf__shape_of(ir, n->a));
}

void wf__reverse_reduce(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    const wf__node n = s->ir->node[r];
    if (n.b == WF_JOIN_ADD)
        wf__give(s, n.a, a, wf__shape_of(s->ir, n.a));
    else if (n.b == WF_JOIN_MUL)
        reverse_product(s, &n, a);
    else
        reverse_extreme(s, r, a);
}

wf__ref wf__forward_reduce(wf__ir *ir, wf__ref r, wf__ref tangent, const char *function)
{
    const wf__node n = ir->node[r];
    const uint32_t shape = wf__shape_of(ir, n.a);
    if (n.b == WF_JOIN_ADD)
        return wf__summed(ir, WF_JOIN_ADD, wf__broadcast_to(ir, tangent, shape), n.c);
    if (n.b == WF_JOIN_MUL) {
        wf__ref others = others_of(ir, &n, function);
        return others ? wf__summed(ir, WF_JOIN_ADD, op2(ir, WF__OP_mul, others, tangent), n.c) : 0;
    }
    wf__ref ties, hit = hits(ir, r, wf__dtype(ir, tangent), &ties);
    wf__ref all = wf__summed(ir, WF_JOIN_ADD, wf__masked(ir, (wf__adjoint){ tangent, hit }), n.c);
    return op2(ir, WF__OP_div, all, ties);
}

/* ---- scans ---- */
/* A running extreme has its value from the last place where it changed. Sets *tuple to the indices of that place, and
 * returns where there is one. */
static wf__ref places(wf__ir *ir, wf__ref r, uint32_t *tuple)
{
    const wf__node n = ir->node[r];
    const wf_shape shape = *shape_of(ir, r);
    const int axis = (int)n.c;
    wf__ref index[WF_MAX_RANK];
    bool reversed = n.aux & WF__REVERSED;
    wf__own_indices(ir, &shape, index);
    wf__ref before = wf__scanned(ir, (wf_join)n.b, n.a, axis, (n.aux & WF__REVERSED) | WF__EXCLUSIVE);
    wf__ref fresh = op2(ir, n.b == WF_JOIN_MAX ? WF__OP_gt : WF__OP_lt, n.a, before);
    fresh = op2(ir, WF__OP_or, fresh, op2(ir, WF__OP_ne, n.a, n.a));
    int64_t end = reversed ? shape.dim[axis] : -1; /* before every place */
    wf__ref place = wf__op3(ir, WF__OP_select, fresh, index[axis], wf__const_bits(ir, WF_I64, (uint64_t)end));
    place = wf__scanned(ir, reversed ? WF_JOIN_MIN : WF_JOIN_MAX, place, axis, n.aux);
    wf__ref known = wf__index_op(ir, WF__OP_ge, place, 0);
    known = wf__both(ir, known, wf__index_op(ir, WF__OP_lt, place, shape.dim[axis]));
    index[axis] = place;
    *tuple = ir->status == WF_OK ? wf__tuple(ir, index, (uint32_t)shape.rank) : 0;
    return known;
}

/* The adjoint of a place is the sum over the run of results that it gives. */
static void reverse_running_extreme(wf__sweep *s, wf__ref r, wf__ref g)
{
    uint32_t tuple;
    const wf__ref operand = s->ir->node[r].a;
    wf__ref known = places(s->ir, r, &tuple);
    wf__ref value = wf__scatter(s->ir, g, wf__shape_of(s->ir, operand), tuple, known);
    wf__give(s, operand, (wf__adjoint){ .value = value }, wf__shape_of(s->ir, operand));
}

/* Returns the value moved along an axis: element i of the result is element i + by of the value, or 0 if there is none. */
static wf__ref shifted(wf__ir *ir, wf__ref value, int axis, int64_t by)
{
    const wf_shape shape = *shape_of(ir, value);
    wf__ref index[WF_MAX_RANK];
    wf__own_indices(ir, &shape, index);
    index[axis] = wf__index_op(ir, WF__OP_add, index[axis], by);
    uint32_t tuple = ir->status == WF_OK ? wf__tuple(ir, index, (uint32_t)shape.rank) : 0;
    return wf__gather(ir, value, tuple, number(ir, value, 0));
}

static wf__ref turned(wf__ir *ir, wf__ref value, int axis)
{
    const int64_t numbers[] = { axis, -1, WF_END_INDEX, -1 };
    return wf__view(ir, WF__VIEW_SLICE, numbers, 4, value);
}

/* Returns R_i = b_i + a_i R_(i+1) along an axis, by doubling: after step k, R_i covers 2^k elements. */
static wf__ref recurrence(wf__ir *ir, wf__ref a, wf__ref b, int axis)
{
    const int64_t length = ir->status == WF_OK ? shape_of(ir, b)->dim[axis] : 0;
    for (int64_t by = 1; by < length && ir->status == WF_OK; by *= 2) {
        wf__ref further = op2(ir, WF__OP_mul, a, shifted(ir, b, axis, by));
        b = op2(ir, WF__OP_add, b, further);
        a = op2(ir, WF__OP_mul, a, shifted(ir, a, axis, by));
    }
    return b;
}

/* The adjoint of x_i is the product of the elements before it times R_i = g_i + x_(i+1) R_(i+1), without a division. */
static void reverse_running_product(wf__sweep *s, const wf__node *n, wf__ref g)
{
    wf__ir *ir = s->ir;
    const int axis = (int)n->c;
    bool reversed = n->aux & WF__REVERSED;
    wf__ref x = wf__cast(ir, n->a, wf__dtype(ir, g));
    x = reversed ? turned(ir, x, axis) : x;
    g = reversed ? turned(ir, g, axis) : g;
    g = n->aux & WF__EXCLUSIVE ? shifted(ir, g, axis, 1) : g;
    wf__ref sum = recurrence(ir, shifted(ir, x, axis, 1), g, axis);
    wf__ref value = op2(ir, WF__OP_mul, wf__scanned(ir, WF_JOIN_MUL, x, axis, WF__EXCLUSIVE), sum);
    wf__give(s, n->a, (wf__adjoint){ .value = reversed ? turned(ir, value, axis) : value }, n->shape);
}

/* The derivative of the result i is y'_i = P_(i-1) t_i + x_i y'_(i-1), with the product P of the elements so far. */
static wf__ref forward_running_product(wf__ir *ir, const wf__node *n, wf__ref tangent)
{
    const int axis = (int)n->c;
    bool reversed = n->aux & WF__REVERSED;
    wf__ref x = wf__cast(ir, n->a, wf__dtype(ir, tangent)), value;
    x = reversed ? turned(ir, x, axis) : x;
    tangent = reversed ? turned(ir, tangent, axis) : tangent;
    value = op2(ir, WF__OP_mul, wf__scanned(ir, WF_JOIN_MUL, x, axis, WF__EXCLUSIVE), tangent);
    value = turned(ir, value, axis); /* the recurrence runs from the end */
    value = recurrence(ir, turned(ir, x, axis), value, axis);
    value = n->aux & WF__EXCLUSIVE ? shifted(ir, value, axis, 1) : value;
    return reversed ? value : turned(ir, value, axis);
}

static bool scan_is_known(wf__ir *ir, const wf__node *n, const char *function)
{
    bool known = n->b == WF_JOIN_ADD || wf__shape_known(ir, n->shape);
    if (!known)
        wf__ir_fail_at(ir, n, WF_ERR_SHAPE, "%s: the derivative of this scan needs known extents", function);
    return known;
}

wf__ref wf__forward_scan(wf__ir *ir, wf__ref r, wf__ref tangent, const char *function)
{
    const wf__node n = ir->node[r];
    uint32_t tuple;
    tangent = wf__broadcast_to(ir, tangent, n.shape);
    if (!scan_is_known(ir, &n, function))
        return 0;
    if (n.b == WF_JOIN_ADD)
        return wf__scanned(ir, WF_JOIN_ADD, tangent, (int)n.c, n.aux);
    if (n.b == WF_JOIN_MUL)
        return forward_running_product(ir, &n, tangent);
    wf__ref known = places(ir, r, &tuple), zero = number(ir, tangent, 0);
    return wf__op3(ir, WF__OP_select, known, wf__gather(ir, tangent, tuple, zero), zero);
}

void wf__reverse_scan(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    wf__ir *ir = s->ir;
    const wf__node n = ir->node[r];
    wf__ref g = wf__broadcast_to(ir, wf__masked(ir, a), n.shape);
    if (!scan_is_known(ir, &n, s->task->function))
        return;
    if (n.b == WF_JOIN_ADD)
        wf__give(s, n.a, (wf__adjoint){ .value = wf__scanned(ir, WF_JOIN_ADD, g, (int)n.c, n.aux ^ WF__REVERSED) },
                 n.shape);
    else if (n.b == WF_JOIN_MUL)
        reverse_running_product(s, &n, g);
    else
        reverse_running_extreme(s, r, g);
}
