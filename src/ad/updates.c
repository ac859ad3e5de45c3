/* updates.c - derivatives of elements that many values are joined into: accumulations by minimum, maximum and product, and
 * the nodes SCATTER that compute with them.
 *
 * Values that are equal to the minimum or maximum share its derivative evenly with the element from before, if that is
 * equal, too. What a factor has is the product of the others (factors.c).
 */
#include "ad/before.h"
#include "ad/sweep.h"

static wf__ref scattered(wf__ir *ir, const wf__join_update *u, wf_join join, wf__ref value)
{
    return wf__scatter_joined(ir, join, value, u->shape, u->tuple, u->when);
}

static wf__ref gathered(wf__ir *ir, const wf__join_update *u, wf__ref elements)
{
    return wf__gather_some(ir, wf__broadcast_to(ir, elements, u->shape), u->tuple, u->when);
}

/* Returns the elements joined with the part of the elements from before; 0 = none. */
static wf__ref with_old(wf__ir *ir, unsigned op, wf__ref elements, wf__ref old)
{
    return old ? wf__op2(ir, op, elements, old) : elements;
}

/* What the derivatives of a join have in common: factors of the value's derivative, and of that of the element from before.
 * For an extreme they are conditions, and `ties` is the number of values that share. */
typedef struct factors {
    wf__ref value, old, ties;
    bool extreme;
} factors;

static factors of_extreme(wf__ir *ir, const wf__join_update *u, wf__ref value, wf__ref old)
{
    const unsigned t = wf__dtype(ir, value);
    factors f = { .extreme = true };
    wf__ref all = with_old(ir, wf__join_op(u->join), scattered(ir, u, u->join, value), old);
    f.value = wf__is_result(ir, value, gathered(ir, u, all));
    f.old = old ? wf__is_result(ir, old, all) : 0;
    f.ties = with_old(ir, WF__OP_add, scattered(ir, u, WF_JOIN_ADD, wf__cast(ir, f.value, t)),
                      old ? wf__cast(ir, f.old, t) : 0);
    return f;
}

static factors of_product(wf__ir *ir, const wf__join_update *u, wf__ref value, wf__ref old)
{
    wf__factor one = wf__factor_of(ir, value), before = { 0 }, at;
    if (old)
        before = wf__factor_of(ir, old);
    wf__factor all = { with_old(ir, WF__OP_mul, scattered(ir, u, WF_JOIN_MUL, one.m), before.m),
                       with_old(ir, WF__OP_add, scattered(ir, u, WF_JOIN_ADD, one.e), before.e),
                       with_old(ir, WF__OP_add, scattered(ir, u, WF_JOIN_ADD, one.zero), before.zero) };
    at = (wf__factor){ gathered(ir, u, all.m), gathered(ir, u, all.e), gathered(ir, u, all.zero) };
    return (factors){ .value = wf__product_without(ir, at, one),
                      .old = old ? wf__product_without(ir, all, before) : 0 };
}

static factors factors_of(wf__ir *ir, const wf__join_update *u)
{
    const unsigned t = wf__adjoint_dtype(wf__dtype(ir, u->value));
    wf__ref value = wf__broadcast_to(ir, wf__cast(ir, u->value, t), u->points);
    wf__ref old = u->old ? wf__cast(ir, u->old, t) : 0;
    if (ir->status != WF_OK)
        return (factors){ 0 };
    return u->join == WF_JOIN_MUL ? of_product(ir, u, value, old) : of_extreme(ir, u, value, old);
}

void wf__reverse_update(wf__ir *ir, const wf__join_update *u, wf__ref g, wf__adjoint *to_value, wf__ref *to_old)
{
    factors f = factors_of(ir, u);
    *to_old = 0;
    *to_value = (wf__adjoint){ 0 };
    if (ir->status != WF_OK)
        return;
    if (f.extreme) {
        g = wf__op2(ir, WF__OP_div, g, f.ties);
        *to_value = (wf__adjoint){ gathered(ir, u, g), wf__both(ir, u->when, f.value) };
        *to_old = f.old ? wf__masked(ir, (wf__adjoint){ g, f.old }) : 0;
        return;
    }
    *to_value = (wf__adjoint){ wf__op2(ir, WF__OP_mul, gathered(ir, u, g), f.value), u->when };
    *to_old = f.old ? wf__op2(ir, WF__OP_mul, g, f.old) : 0;
}

/* Returns the part of a tangent that counts. */
static wf__ref part_of(wf__ir *ir, const factors *f, wf__ref tangent, wf__ref by)
{
    if (!tangent)
        return 0;
    return f->extreme ? wf__masked(ir, (wf__adjoint){ tangent, by }) : wf__op2(ir, WF__OP_mul, tangent, by);
}

wf__ref wf__forward_update(wf__ir *ir, const wf__join_update *u, wf__ref value, wf__ref old)
{
    factors f = factors_of(ir, u);
    if (ir->status != WF_OK)
        return 0;
    value = part_of(ir, &f, value ? wf__broadcast_to(ir, value, u->points) : 0, f.value);
    old = f.old ? part_of(ir, &f, old, f.old) : 0;
    value = value ? scattered(ir, u, WF_JOIN_ADD, value) : 0;
    wf__ref all = value && old ? wf__op2(ir, WF__OP_add, value, old) : value ? value : old;
    return all && f.extreme ? wf__op2(ir, WF__OP_div, all, f.ties) : all;
}

/* Returns the shape of the points of a scatter or an accumulation. */
static uint32_t points_of(wf__ir *ir, const wf__node *n, wf__ref value, uint32_t tuple, wf__ref when)
{
    uint32_t points = wf__shape_of(ir, value);
    for (uint32_t i = 0; i < wf__tuple_len(ir, tuple); ++i)
        points = wf__broadcast_id(ir, n, points, wf__shape_of(ir, wf__tuple_at(ir, tuple)[i]));
    return when ? wf__broadcast_id(ir, n, points, wf__shape_of(ir, when)) : points;
}

wf__join_update wf__update_of_scatter(wf__ir *ir, const wf__node *scatter)
{
    const wf__node n = *scatter;
    wf__join_update u = { .join = wf__scatter_join(&n), .value = n.a, .tuple = n.b, .when = n.d, .shape = n.shape };
    u.points = points_of(ir, &n, n.a, n.b, n.d);
    return u;
}

bool wf__update_of_accum(wf__ir *ir, const wf__ad_task *task, wf__ref accum, wf__join_update *u)
{
    const wf__node n = ir->node[accum];
    const bool known = wf__is_join_update(&n);
    *u = (wf__join_update){ .join = (wf_join)wf__node_join(&n), .value = n.c, .tuple = n.b, .when = n.d };
    u->shape = ir->slot[n.a].shape;
    u->old = known ? wf__contents_before(ir, accum, wf__object_of(ir, &n)) : 0;
    if (!known)
        wf__no_derivative(ir, task, &n, " by this join; wf_stop of the value is a constant");
    else if (!u->old)
        wf__no_derivative(ir, task, &n, " by this join without wf_in of the array before it");
    else
        u->points = points_of(ir, &n, n.c, n.b, n.d);
    return ir->status == WF_OK;
}
