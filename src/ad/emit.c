/* emit.c - records values of wf__ad_space in the recordings of kernels: at the point of the kernel, or at the point that
 * reads an element.
 */
#include "ad/space.h"
#include "ad/sweep.h"
#include "ir/pass/pass.h"

enum { MOST_DEPTH = 8 }; /* operations that is_linear looks through */

bool wf__emitter_begin(wf__emitter *e)
{
    const wf__ir *from = &e->from->ir;
    e->map = wf__alloc0(2 * (size_t)from->n * sizeof *e->map);
    e->loop = e->map ? e->map + from->n : NULL;
    if (e->loop)
        wf__find_blocks(from, e->loop);
    return e->map != NULL;
}

static wf__ref emit_load(wf__emitter *e, const wf__node *n)
{
    const wf__ir *from = &e->from->ir;
    const wf__ad_operator *of = e->from->of;
    const uint32_t object = from->slot[n->a].object;
    uint32_t tuple = n->b ? wf__emit_tuple(e, n->b) : 0;
    if (!n->b && e->own)
        return wf__load(e->to, e->slot(e->user, object, true), 0, WF_BORDER_NONE, 0);
    if (!n->b) {
        const wf_shape *shape = &of->shape[object < of->objects ? object : of->out[object - of->objects]];
        wf__ref index[WF_MAX_RANK];
        for (int a = 0; a < shape->rank; ++a) {
            int d = a + of->space.rank - shape->rank;
            index[a] = shape->dim[a] == 1 || d < 0 ? wf__const_bits(e->to, WF_I64, 0) : e->index[d];
        }
        tuple = e->to->status == WF_OK ? wf__tuple(e->to, index, (uint32_t)shape->rank) : 0;
        if (shape->rank == 0)
            return wf__load(e->to, e->slot(e->user, object, true), 0, WF_BORDER_NONE, 0);
    }
    wf_border border = n->b ? (wf_border)n->aux : WF_BORDER_NONE;
    wf__ref other = wf__otherwise(from, n), when = wf__when(from, n);
    other = other ? e->map[other] : 0;
    when = when ? e->map[when] : 0;
    if (border == WF_BORDER_NONE && e->within) { /* no element is read where there is no point */
        border = WF_BORDER_VALUE;
        other = wf__const_f64(e->to, n->dtype, 0);
    }
    return wf__load_when(e->to, e->slot(e->user, object, false), tuple, border, other, when);
}

/* True for an effect that is wanted: on a derivative, or a store in place of which zeros are stored. */
static bool is_wanted(const wf__emitter *e, const wf__node *n)
{
    if (n->op != WF__ACCUM && n->op != WF__STORE)
        return false;
    const uint32_t object = wf__object_of(&e->from->ir, n);
    return (e->accumulates && object >= e->from->of->objects) || (n->op == WF__STORE && object + 1 == e->zeroed);
}

static void emit_effect(wf__emitter *e, const wf__node *n)
{
    const uint32_t object = wf__object_of(&e->from->ir, n), to = object + 1 == e->zeroed ? e->zeros : object;
    uint32_t slot = e->slot(e->user, to, n->op == WF__STORE && !n->b), tuple = wf__emit_tuple(e, n->b);
    wf__ref when = n->d ? e->map[n->d] : 0;
    if (e->to->status != WF_OK)
        return;
    if (n->op == WF__ACCUM)
        wf__accum(e->to, slot, tuple, WF_JOIN_ADD, WF__MODE_AUTO, e->map[n->c], when);
    else if (to == object)
        wf__store(e->to, slot, tuple, e->map[n->c], when);
    else
        wf__store(e->to, slot, tuple, wf__const_f64(e->to, e->to->slot[slot].dtype, 0), when);
}

/* Records a node whose operands are recorded. Of effects, those that are wanted. */
static void emit_node(wf__emitter *e, wf__ref r)
{
    const wf__ir *from = &e->from->ir;
    const wf__node *n = &from->node[r];
    if (n->op == WF__INDEX)
        e->map[r] = e->index[n->a];
    else if (n->op == WF__EXTENT)
        e->map[r] = wf__const_bits(e->to, WF_I64, (uint64_t)e->from->of->space.dim[n->a]);
    else if (n->op == WF__DIM)
        e->map[r] = wf__dim(e->to, e->slot(e->user, from->slot[n->a].object, false), (int)n->b);
    else if (n->op == WF__LOAD)
        e->map[r] = emit_load(e, n);
    else if (n->op == WF__DERIVED && !e->twice)
        e->map[r] = e->map[n->a];
    else if (is_wanted(e, n))
        emit_effect(e, n);
    else if (wf__op_is_effect(n->op))
        return;
    else {
        e->map[r] = wf__copy_node(from, r, e->map, e->to);
        if (e->twice)
            wf__copy_whole(from, r, e->map, e->to, e->map[r]);
    }
}

/* Records the operands of a node that come before node `end`. */
static void emit_operands(wf__emitter *e, wf__ref r, wf__ref end)
{
    const wf__node *n = &e->from->ir.node[r];
    wf__ref operand[WF__MAX_OPERANDS];
    uint32_t count = wf__operands(&e->from->ir, n, operand);
    if (n->op == WF__DERIVED && !e->twice) {
        operand[0] = n->a;
        count = 1;
    }
    for (uint32_t i = 0; i < count; ++i)
        if (operand[i] < end)
            wf__emit(e, operand[i]);
}

/* Records an outermost loop as a whole. */
static void emit_loop(wf__emitter *e, wf__ref loop)
{
    const wf__ir *from = &e->from->ir;
    const wf__ref end = wf__loop_end(from, loop);
    for (wf__ref r = loop; r <= end; ++r)
        emit_operands(e, r, loop);
    for (wf__ref r = loop; r <= end && e->to->status == WF_OK; ++r)
        if (from->node[r].op != WF__NOP)
            emit_node(e, r);
}

wf__ref wf__emit(wf__emitter *e, wf__ref r)
{
    if (!r || e->map[r] || e->to->status != WF_OK)
        return r ? e->map[r] : 0;
    if (e->loop[r]) {
        emit_loop(e, e->loop[r]);
        return e->map[r];
    }
    emit_operands(e, r, r);
    emit_node(e, r);
    return e->map[r];
}

void wf__emit_effects(wf__emitter *e)
{
    for (wf__ref r = 1; r < e->from->ir.n && e->to->status == WF_OK; ++r)
        if (e->loop[r] && is_wanted(e, &e->from->ir.node[r]) && !e->map[e->loop[r]])
            emit_loop(e, e->loop[r]);
}

uint32_t wf__emit_tuple(wf__emitter *e, uint32_t tuple)
{
    const uint32_t n = wf__tuple_len(&e->from->ir, tuple);
    wf__ref index[WF__MAX_OPERANDS];
    for (uint32_t i = 0; i < n; ++i)
        index[i] = wf__emit(e, wf__tuple_at(&e->from->ir, tuple)[i]);
    return e->to->status == WF_OK ? wf__tuple(e->to, index, n) : 0;
}

/* True if the load reads, at each point, the element of an upstream array that has the point's indices, and the array has
 * no others: what lies outside of the space lies outside of the array. */
static bool is_upstream_of_point(const wf__ad_space *s, const wf__node *n)
{
    const wf__ir *ir = &s->ir;
    const uint32_t object = ir->slot[n->a].object;
    bool own = object >= s->of->objects && !wf__when(ir, n) &&
               wf__same_shape(&s->of->shape[s->of->out[object - s->of->objects]], &s->of->space);
    for (uint32_t d = 0; own && d < wf__tuple_len(ir, n->b); ++d) {
        const wf__node *i = &ir->node[wf__tuple_at(ir, n->b)[d]];
        own = i->op == WF__INDEX && i->a == d;
    }
    for (int d = 0; own && !n->b && d < s->of->space.rank; ++d) /* wf__emit gives such an axis the index 0 everywhere */
        own = s->of->space.dim[d] != 1;
    return own;
}

/* True if the value is a sum of products of one upstream read each with values that are the same at all points: it is 0
 * where the upstream reads are. */
static bool is_linear(const wf__ad_space *s, wf__ref r, bool *uniform, int depth)
{
    const wf__ir *ir = &s->ir;
    const wf__node *n = &ir->node[r];
    bool a = true, b = true, ok;
    *uniform = false;
    switch (n->op) {
    case WF__CONST:
    case WF__PARAM:
        *uniform = true;
        return true;
    case WF__LOAD:
        for (uint32_t i = 0; n->b && i < wf__tuple_len(ir, n->b); ++i)
            a = a && ir->node[wf__tuple_at(ir, n->b)[i]].op == WF__CONST;
        *uniform = a && n->b && ir->slot[n->a].object < s->of->objects;
        return *uniform || is_upstream_of_point(s, n);
    case WF__OP_neg:
    case WF__CAST:
        return depth && is_linear(s, n->a, uniform, depth - 1);
    case WF__OP_add:
    case WF__OP_sub:
        ok = depth && is_linear(s, n->a, &a, depth - 1) && is_linear(s, n->b, &b, depth - 1);
        *uniform = a && b;
        return ok && a == b;
    case WF__OP_mul:
        ok = depth && is_linear(s, n->a, &a, depth - 1) && is_linear(s, n->b, &b, depth - 1);
        *uniform = a && b;
        return ok && (a || b);
    default:
        return false;
    }
}

wf__ref wf__emit_shifted(wf__emitter *e, const wf__ad_access *read)
{
    wf__ir *to = e->to;
    const wf__ad_operator *of = e->from->of;
    wf__ref within = 0;
    bool scaled = false, uniform;
    for (int a = 0; a < of->space.rank && to->status == WF_OK; ++a) {
        const int d = read->axis[a];
        const int64_t start = read->start[a], step = read->step[a], last = of->space.dim[d] - 1;
        wf__ref at = wf__index(to, a);
        if (step == -1)
            at = wf__op2(to, WF__OP_sub, wf__const_bits(to, WF_I64, (uint64_t)start), at);
        else if (start)
            at = wf__index_op(to, WF__OP_sub, at, start);
        if (step > 1) {
            wf__ref rest = wf__index_op(to, WF__OP_floor_mod, at, step);
            within = wf__both(to, within, wf__index_op(to, WF__OP_eq, rest, 0));
            at = wf__index_op(to, WF__OP_floor_div, at, step);
            scaled = true;
        }
        if (start || step != 1 || of->shape[read->object].dim[a] != last + 1) {
            within = wf__both(to, within, wf__index_op(to, WF__OP_ge, at, 0));
            within = wf__both(to, within, wf__index_op(to, WF__OP_le, at, last));
        }
        e->index[d] = at;
    }
    e->within = within;
    e->own = false;
    wf__ref value = wf__emit(e, read->derivative), inside = read->inside ? wf__emit(e, read->inside) : 0;
    bool linear = !scaled && is_linear(e->from, read->derivative, &uniform, MOST_DEPTH) && !uniform;
    /* `inside` holds at every element: the read gave it. What is left of it is the condition of the read. */
    wf__ref on = linear && !wf__when(&e->from->ir, &e->from->ir.node[read->node]) ? 0 : wf__both(to, within, inside);
    return wf__masked(to, (wf__adjoint){ value, on });
}
