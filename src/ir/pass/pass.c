/* pass.c - passes over a whole recording. Each reads one ir and records another through the builder, so folding and
 * value numbering happen again, for free, on whatever the pass uncovers. */
#include "ir/pass/pass.h"

/* ---- operands ---- */
uint32_t wf__operands(const wf__ir *ir, const wf__node *n, wf__ref out[WF__MAX_OPERANDS])
{
    uint32_t count = 0;
    uint32_t tuple = 0;
    if (wf__op_is_pure(n->op)) {
        unsigned arity = wf__op_table[n->op].arity;
        out[0] = n->a, out[1] = n->b, out[2] = n->c;
        return arity;
    }
    switch (n->op) {
    case WF__LOAD:
        tuple = n->b;
        if (wf__otherwise(ir, n))
            out[count++] = n->c;
        if (wf__when(ir, n))
            out[count++] = wf__when(ir, n);
        break;
    case WF__STORE:
        tuple = n->b;
        out[count++] = n->c;
        if (n->d)
            out[count++] = n->d;
        break;
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
        tuple = n->b;
        for (uint32_t i = 0; n->op == WF__CAS && i < wf__tuple_len(ir, n->c); ++i)
            out[count++] = wf__tuple_at(ir, n->c)[i];
        if (n->op != WF__CAS)
            out[count++] = n->c;
        if (n->d)
            out[count++] = n->d;
        break;
    case WF__SETRED:
        out[count++] = n->c;
        break;
    case WF__STATE:
        out[count++] = n->b;
        break;
    case WF__NEXT:
        out[count++] = n->a;
        out[count++] = n->b;
        break;
    case WF__REDUCE:
    case WF__SCAN:
        out[count++] = n->a;
        break;
    case WF__VIEW:
        tuple = n->b;
        out[count++] = n->a;
        if (n->c)
            out[count++] = n->c;
        break;
    case WF__COLD:
        tuple = n->d;
        out[count++] = n->a;
        out[count++] = n->b;
        break;
    default:
        break;
    }
    for (uint32_t i = 0; i < wf__tuple_len(ir, tuple); ++i)
        out[count++] = wf__tuple_at(ir, tuple)[i];
    return count;
}

void wf__mark_live(const wf__ir *ir, uint8_t *live)
{
    do {
        for (wf__ref r = ir->n; r-- > 1;) {
            if (!live[r])
                continue;
            wf__ref operand[WF__MAX_OPERANDS];
            uint32_t count = wf__operands(ir, &ir->node[r], operand);
            for (uint32_t i = 0; i < count; ++i)
                live[operand[i]] = 1;
        }
    } while (ir->loops && wf__mark_loops(ir, live, 1, ir->n - 1));
}

bool wf__is_needed(const wf__ir *ir, const wf__node *n)
{
    bool watched = n->op == WF__CHECK || (n->op == WF__LOAD && n->b && n->aux == WF_BORDER_NONE);
    return wf__op_is_effect(n->op) || (watched && ir->flags & WF_FLAG_DEBUG);
}

void wf__mark_effects(const wf__ir *ir, uint8_t *live)
{
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        live[r] = wf__is_needed(ir, n);
        if (n->op != WF__STORE || n->d || ir->flags & WF_FLAG_DEBUG) /* debug mode looks at every store */
            continue;
        for (wf__ref before = r; before-- > 1;) {
            const wf__node *m = &ir->node[before];
            if (m->op == WF__STORE && m->a == n->a && m->b == n->b && live[before]) {
                live[before] = 0;
                break;
            }
            if ((m->op == WF__LOAD && (ir->slot[m->a].written || m->d)) || wf__is_loop_op(m->op) ||
                wf__op_is_update(m->op) || m->op == WF__BARRIER)
                break;
        }
    }
}

/* ---- copying ---- */
bool wf__copy_tables(const wf__ir *in, wf__ir *out)
{
    out->arrays = in->arrays;
    out->kept = in->kept;
    out->kept_lane = in->kept_lane;
    out->joiner = in->joiner;
    for (uint32_t s = 0; s < in->slot_n; ++s) {
        const wf__slot *slot = &in->slot[s];
        uint32_t copy = wf__slot_new(out, slot->dtype, slot->rank, slot->element, slot->object);
        if (out->status != WF_OK)
            return false;
        wf__slot fresh = out->slot[copy], *new = &out->slot[copy];
        *new = *slot;
        new->read = fresh.read; /* what recording into `out` finds out by itself */
        new->epoch = fresh.epoch;
        new->later = fresh.later;
        new->last_store = fresh.last_store;
        new->flows = fresh.flows;
        new->grows = fresh.grows;
        wf__copy_label(in, wf__array_ref(s), out, wf__array_ref(copy));
    }
    for (uint32_t k = 0; k < in->red_n; ++k) {
        wf__red_new(out, in->red[k].dtype, (wf_join)in->red[k].join);
        if (out->status != WF_OK)
            return false;
        out->red[k].instances = in->red[k].instances;
        out->red[k].start = in->red[k].start;
    }
    for (uint32_t p = 0; p < in->param_n; ++p) {
        if (!wf__grow(&out->param, &out->param_cap, p + 1, 1)) {
            wf__ir_fail(out, WF_ERR_MEMORY, "out of memory while rewriting a recording");
            return false;
        }
        out->param[out->param_n++] = in->param[p];
    }
    return true;
}

uint32_t wf__copy_tuple(const wf__ir *in, uint32_t tuple, const wf__ref *map, wf__ir *out)
{
    wf__ref refs[WF__MAX_OPERANDS];
    uint32_t n = wf__tuple_len(in, tuple);
    for (uint32_t i = 0; i < n; ++i)
        refs[i] = map[wf__tuple_at(in, tuple)[i]];
    return wf__tuple(out, refs, n);
}

static wf__ref copy_access(const wf__ir *in, wf__ref r, uint32_t tuple, const wf__ref *map, wf__ir *out)
{
    const wf__node *n = &in->node[r];
    wf__slot *slot = &out->slot[n->a];
    switch (n->op) {
    case WF__LOAD:
        if (slot->epoch != n->d + slot->later) { /* memory that overlaps was stored to elsewhere */
            slot->epoch = n->d + slot->later;
            slot->last_store = 0;
        }
        return wf__load_when(out, n->a, tuple, (wf_border)n->aux, map[wf__otherwise(in, n)], map[wf__when(in, n)]);
    case WF__STORE:
        wf__store_again(out, n, tuple, map[n->c], n->d ? map[n->d] : 0);
        return 0;
    case WF__ACCUM:
        wf__accum(out, n->a, tuple, wf__node_join(n), wf__node_mode(n), map[n->c], n->d ? map[n->d] : 0);
        return 0;
    case WF__ATOMIC:
        return wf__atomic(out, n->a, tuple, wf__node_join(n), map[n->c], n->d ? map[n->d] : 0);
    default: { /* WF__CAS */
        const wf__ref *pair = wf__tuple_at(in, n->c);
        return wf__cas(out, n->a, tuple, map[pair[0]], map[pair[1]], n->d ? map[n->d] : 0);
    }
    }
}

static wf__ref copy_node(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out)
{
    const wf__node *n = &in->node[r];
    if (n->op > WF__BITCAST && wf__op_table[n->op].arity == 2 && n->op != WF__OP_complex &&
        !wf__is_complex(wf__dtype(in, n->b)) && map[n->a] && map[n->b] && out->status == WF_OK)
        return wf__op2_fitting(out, n->op, map[n->a], map[n->b]); /* they did when `in` was recorded */
    switch (n->op) {
    case WF__NOP:
        return 0;
    case WF__BARRIER:
        wf__barrier(out, n->aux);
        return 0;
    case WF__CONST:
        return wf__const_bits(out, n->dtype, wf__bits(n));
    case WF__LOAD:
    case WF__STORE:
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
        return copy_access(in, r, wf__copy_tuple(in, n->b, map, out), map, out);
    case WF__SETRED:
        wf__setred(out, n->a, n->b, map[n->c]);
        return 0;
    case WF__COLD: {
        wf__ref args[WF__MAX_OPERANDS];
        uint32_t count = wf__tuple_len(in, n->d);
        for (uint32_t i = 0; i < count; ++i)
            args[i] = map[wf__tuple_at(in, n->d)[i]];
        return wf__cold(out, map[n->a], map[n->b], n->c, args, count);
    }
    case WF__LOOP:
        return wf__loop(out, n->aux);
    case WF__STATE:
        return wf__state(out, map[n->a], map[n->b], n->aux);
    case WF__NEXT:
        wf__next(out, map[n->a], map[n->b]);
        return 0;
    case WF__END:
        wf__end(out, map[n->a]);
        return 0;
    case WF__CAST:
        return wf__cast(out, map[n->a], n->dtype);
    case WF__CHECK:
        return wf__check(out, n, map[n->a], map[n->b]);
    case WF__BITCAST:
        return wf__bitcast(out, map[n->a], n->dtype);
    default:
        break;
    }
    if (!wf__op_is_pure(n->op)) { /* leaves */
        wf__node leaf = *n;
        return wf__append(out, &leaf);
    }
    switch (wf__op_table[n->op].arity) {
    case 1:
        return wf__op1(out, n->op, map[n->a]);
    case 2:
        return wf__op2(out, n->op, map[n->a], map[n->b]);
    default:
        return wf__op3(out, n->op, map[n->a], map[n->b], map[n->c]);
    }
}

wf__ref wf__copy_node(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out)
{
    wf__ref copy = copy_node(in, r, map, out);
    wf__copy_label(in, r, out, copy);
    return copy;
}

wf__ref wf__copy_access(const wf__ir *in, wf__ref r, uint32_t tuple, const wf__ref *map, wf__ir *out)
{
    wf__ref copy = copy_access(in, r, tuple, map, out);
    wf__copy_label(in, r, out, copy);
    return copy;
}
