/* access.c - builders of nodes that touch memory: loads, stores, and updates by index. Loads after a store have a
 * later epoch than loads before it. A load of the element just stored is the stored value.
 */
#include "ir/ir.h"

/* Returns the shape of the indices of n. */
static uint32_t tuple_shape(wf__ir *ir, const wf__node *n)
{
    uint32_t shape = 0, tuple = n->b;
    for (uint32_t i = 0; i < wf__tuple_len(ir, tuple); ++i)
        shape = wf__broadcast_id(ir, n, shape, ir->node[wf__tuple_at(ir, tuple)[i]].shape);
    return shape;
}

wf__ref wf__load_when(wf__ir *ir, uint32_t slot, uint32_t tuple, wf_border border, wf__ref other, wf__ref when)
{
    if (ir->status != WF_OK)
        return 0;
    if (when && ir->node[when].op == WF__CONST && wf__bits(&ir->node[when]))
        when = 0;
    wf__slot *s = &ir->slot[slot];
    s->read = true;
    if (s->last_store && (ir->flags & WF_FLAG_FOLD)) { /* the value just stored, if the indices are the same */
        const wf__node *store = &ir->node[s->last_store];
        if (store->b == tuple && !store->d && border == WF_BORDER_NONE && !when &&
            (!ir->arrays || (ir->node[store->c].shape == s->shape && wf__shape_known(ir, s->shape))))
            return store->c;
    }
    wf__node n = {
        .op = WF__LOAD, .dtype = s->dtype, .aux = (uint8_t)border, .a = slot, .b = tuple, .c = other, .d = s->epoch
    };
    if (ir->arrays) {
        if (border == WF_BORDER_NONE)
            n.c = when;
        n.shape = tuple ? tuple_shape(ir, &n) : s->shape;
        if (n.c)
            n.shape = wf__broadcast_id(ir, &n, n.shape, ir->node[n.c].shape);
    } else
        n.when = when;
    return wf__append(ir, &n);
}

wf__ref wf__load(wf__ir *ir, uint32_t slot, uint32_t tuple, wf_border border, wf__ref other)
{
    return wf__load_when(ir, slot, tuple, border, other, 0);
}

void wf__store(wf__ir *ir, uint32_t slot, uint32_t tuple, wf__ref value, wf__ref predicate)
{
    if (ir->status != WF_OK)
        return;
    wf__slot *s = &ir->slot[slot];
    if (wf__is_const(ir, wf__as_literal(ir, predicate), 0))
        return;
    if (predicate && ir->node[predicate].op == WF__CONST)
        predicate = 0;
    wf__node n = { .op = WF__STORE, .dtype = s->dtype, .a = slot, .b = tuple, .c = value, .d = predicate };
    n.shape = ir->arrays ? s->shape : 0;
    if (ir->arrays && tuple) {
        n.shape = wf__broadcast_id(ir, &n, tuple_shape(ir, &n), ir->node[value].shape);
        if (predicate)
            n.shape = wf__broadcast_id(ir, &n, n.shape, ir->node[predicate].shape);
    }
    s->written = true;
    ++s->epoch;
    n.aux = s->epoch < WF__EPOCH_LATE ? (uint8_t)s->epoch : WF__EPOCH_LATE;
    wf__ref r = wf__append(ir, &n);
    s->last_store = ir->arrays && tuple ? 0 : r;
}

void wf__store_again(wf__ir *ir, const wf__node *n, uint32_t tuple, wf__ref value, wf__ref predicate)
{
    wf__ref next = ir->n;
    wf__store(ir, n->a, tuple, value, predicate);
    if (ir->status != WF_OK || ir->n == next)
        return;
    wf__slot *s = &ir->slot[n->a];
    uint32_t epoch = n->aux + s->later;
    s->epoch = ir->node[next].aux = epoch < WF__EPOCH_LATE ? (uint8_t)epoch : WF__EPOCH_LATE;
    if (s->epoch == WF__EPOCH_LATE)
        s->last_store = 0;
}

/* Appends an update, after which loads of the slot have a later epoch. */
static wf__ref update(wf__ir *ir, wf__node n, wf__ref x, wf__ref y)
{
    if (ir->status != WF_OK)
        return 0;
    wf__slot *s = &ir->slot[n.a];
    n.dtype = s->dtype;
    if (ir->arrays) {
        const wf__ref with[3] = { x, y, n.d };
        n.shape = tuple_shape(ir, &n);
        for (int i = 0; i < 3; ++i)
            if (with[i])
                n.shape = wf__broadcast_id(ir, &n, n.shape, ir->node[with[i]].shape);
    }
    wf__ref r = wf__append(ir, &n);
    s = &ir->slot[n.a];
    s->read = s->written = true;
    ++s->epoch;
    s->last_store = 0;
    return r;
}

/* True if an update with this value changes nothing. */
static bool is_neutral(const wf__ir *ir, uint32_t slot, unsigned join, wf__ref value)
{
    unsigned t = wf__update_dtype(ir->slot[slot].dtype, join);
    value = wf__as_literal(ir, value);
    return ir->flags & WF_FLAG_FOLD && value && ir->node[value].op == WF__CONST && ir->node[value].dtype == t &&
           wf__bits(&ir->node[value]) == wf__join_neutral((wf_join)join, t);
}

void wf__accum(wf__ir *ir, uint32_t slot, uint32_t tuple, unsigned join, unsigned mode, wf__ref value,
               wf__ref predicate)
{
    if (ir->status != WF_OK || wf__is_const(ir, wf__as_literal(ir, predicate), 0) || is_neutral(ir, slot, join, value))
        return;
    predicate = wf__is_const(ir, predicate, 1) ? 0 : predicate;
    wf__node n = { .op = WF__ACCUM, .a = slot, .b = tuple, .c = value, .d = predicate };
    n.aux = (uint8_t)(join | mode << 4);
    update(ir, n, value, 0);
}

wf__ref wf__atomic(wf__ir *ir, uint32_t slot, uint32_t tuple, unsigned join, wf__ref value, wf__ref predicate)
{
    wf__node n = { .op = WF__ATOMIC, .aux = (uint8_t)join, .a = slot, .b = tuple, .c = value, .d = predicate };
    return update(ir, n, value, 0);
}

wf__ref wf__cas(wf__ir *ir, uint32_t slot, uint32_t tuple, wf__ref expected, wf__ref desired, wf__ref predicate)
{
    const wf__ref pair[2] = { expected, desired };
    wf__node n = { .op = WF__CAS, .a = slot, .b = tuple, .c = wf__tuple(ir, pair, 2), .d = predicate };
    return update(ir, n, expected, desired);
}
