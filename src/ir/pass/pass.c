/* pass.c - passes over a whole recording. Each reads one ir and records another through the builder, so folding and
 * value numbering happen again, for free, on the nodes that the pass records. */
#include "ir/pass/pass.h"

/* ---- liveness ---- */
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
        if (n->op != WF__STORE || n->d || ir->flags & WF_FLAG_DEBUG) /* debug mode checks every store */
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
        new->read = fresh.read; /* recording into `out` sets these fields */
        new->epoch = fresh.epoch;
        new->later = fresh.later;
        new->last_store = fresh.last_store;
        new->prefetch_rows = fresh.prefetch_rows;
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

/* `indices`: the tuple in place of the node's own indices, or NULL. */
static wf__node map_node(const wf__ir *in, wf__ref r, const uint32_t *indices, const wf__ref *map, wf__ir *out)
{
    wf__node n = in->node[r];
    if (wf__op_is_pure(n.op)) {
        wf__ref *operand[] = { &n.a, &n.b, &n.c };
        for (unsigned i = 0; i < wf__arity(n.op); ++i)
            *operand[i] = map[*operand[i]];
        return n;
    }
    for (const wf__field *f = wf__fields_of(n.op); f->at; ++f) {
        unsigned form = wf__field_table[f->kind].form;
        if (form > WF__FORM_LINK)
            continue;
        uint32_t x = wf__field_of(in, &n, f->at);
        if (form != WF__FORM_LIST)
            x = x ? map[x] : 0;
        else
            x = indices && f->kind == WF__INDICES_FIELD ? *indices : wf__copy_tuple(in, x, map, out);
        wf__set_field(in, &n, f->at, x);
    }
    return n;
}

wf__node wf__map_node(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out)
{
    return map_node(in, r, NULL, map, out);
}

static wf__ref record_cold(wf__ir *out, const wf__node *n)
{
    wf__ref args[WF__MAX_OPERANDS]; /* recording may move the list in `out` */
    uint32_t count = wf__tuple_len(out, n->d);
    for (uint32_t i = 0; i < count; ++i)
        args[i] = wf__tuple_at(out, n->d)[i];
    return wf__cold(out, n->a, n->b, n->c, args, count);
}

/* Records a load, whose epoch is that of the original plus `later` of its slot. */
static wf__ref record_load(wf__ir *out, const wf__node *n, wf__ref otherwise, wf__ref when)
{
    wf__slot *slot = &out->slot[n->a];
    if (slot->epoch != n->d + slot->later) { /* a store through another slot changed the memory */
        slot->epoch = n->d + slot->later;
        slot->last_store = 0;
    }
    return wf__load_when(out, n->a, n->b, (wf_border)n->aux, otherwise, when);
}

/* Records a node whose operands are nodes of `out`, by its builder. Returns 0 for nodes without references to them. */
static wf__ref record(const wf__ir *in, const wf__node *n, wf__ir *out)
{
    const wf__ref *pair;
    switch ((wf__op)n->op) {
    case WF__NOP:
        return 0;
    case WF__CONST:
        return wf__const_bits(out, n->dtype, wf__bits(n));
    case WF__PARAM:
    case WF__INDEX:
    case WF__EXTENT:
    case WF__DIM:
    case WF__ARG:
    case WF__RED:
    case WF__IOTA:
    case WF__REDUCE:
    case WF__SCAN:
    case WF__VIEW:
    case WF__SCATTER:
    case WF__THREAD:
        return wf__append(out, n);
    case WF__LOCAL:
        return wf__local(out, n->dtype, n->a, in->arrays ? n->shape : 0);
    case WF__PUT:
        return wf__put(out, n->a, n->b, n->c, n->d);
    case WF__GET:
        return wf__get(out, n->a, n->b);
    case WF__LOAD:
        return record_load(out, n, wf__otherwise(in, n), wf__when(in, n));
    case WF__STORE:
        wf__store_again(out, n, n->b, n->c, n->d);
        return 0;
    case WF__ACCUM:
        wf__accum(out, n->a, n->b, wf__node_join(n), wf__node_mode(n), n->c, n->d);
        return 0;
    case WF__ATOMIC:
        return wf__atomic(out, n->a, n->b, wf__node_join(n), n->c, n->d);
    case WF__CAS:
        if (out->status != WF_OK)
            return 0;
        pair = wf__tuple_at(out, n->c);
        return wf__cas(out, n->a, n->b, pair[0], pair[1], n->d);
    case WF__SETRED:
        wf__setred(out, n->a, n->b, n->c);
        return 0;
    case WF__COLD:
        return record_cold(out, n);
    case WF__DERIVED:
        return wf__derived(out, n->a, n->b,
                           n->c && n->c <= in->custom_n ? wf__custom_rule(out, &in->custom[n->c - 1]) : n->c, n->d);
    case WF__LOOP:
        return wf__loop(out, n->aux);
    case WF__STATE:
        return wf__state(out, n->a, n->b, n->aux);
    case WF__NEXT:
        wf__next(out, n->a, n->b);
        return 0;
    case WF__END:
        wf__end(out, n->a);
        return 0;
    case WF__BARRIER:
        wf__barrier(out, n->aux);
        return 0;
    case WF__CAST:
        return wf__cast(out, n->a, n->dtype);
    case WF__CHECK:
        return wf__check(out, n, n->a, n->b);
    case WF__BITCAST:
        return wf__bitcast(out, n->a, n->dtype);
#include "ir/case_ops.def"
        break;
    }
    switch (wf__arity(n->op)) {
    case 1:
        return wf__op1(out, n->op, n->a);
    case 2:
        return wf__op2(out, n->op, n->a, n->b);
    default:
        return wf__op3(out, n->op, n->a, n->b, n->c);
    }
}

wf__ref wf__copy_node(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out)
{
    const wf__node *n = &in->node[r];
    wf__ref copy;
    if (n->op >= WF__NODES && wf__arity(n->op) == 2 && n->op != WF__OP_complex &&
        !wf__is_complex(wf__dtype(in, n->b)) && map[n->a] && map[n->b] && out->status == WF_OK)
        copy = wf__op2_fitting(out, n->op, map[n->a], map[n->b]); /* the operands fit when `in` was recorded */
    else if (!wf__op_table[n->op].refers)
        copy = record(in, n, out);
    else {
        wf__node mapped = wf__map_node(in, r, map, out);
        copy = record(in, &mapped, out);
    }
    wf__copy_label(in, r, out, copy);
    return copy;
}

wf__ref wf__copy_between(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out)
{
    if (wf__op_table[in->node[r].op].where != WF__IN_GRAPHS)
        return wf__copy_node(in, r, map, out);
    wf__node n = wf__map_node(in, r, map, out);
    n.shape = wf__shape_id(out, &in->shape[n.shape]);
    return out->status == WF_OK ? wf__append(out, &n) : 0;
}

wf__ref wf__copy_access(const wf__ir *in, wf__ref r, uint32_t tuple, const wf__ref *map, wf__ir *out)
{
    wf__node n = map_node(in, r, &tuple, map, out);
    wf__ref copy = record(in, &n, out);
    wf__copy_label(in, r, out, copy);
    return copy;
}
