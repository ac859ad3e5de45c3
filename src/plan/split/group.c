/* group.c - groups, which become stages of an array graph: their slots, and recording the nodes that roots need. */
#include "plan/split/split.h"

group *wf__group_add(splitter *s, uint32_t at, const wf_shape *shape)
{
    if (!wf__grow(&s->group, &s->group_cap, s->group_n + 1, sizeof *s->group)) {
        wf__plan_no_memory(s->plan);
        return NULL;
    }
    memmove(s->group + at + 1, s->group + at, (s->group_n - at) * sizeof *s->group);
    group *g = &s->group[at];
    *g = (group){ .shape = *shape };
    ++s->group_n;
    /* Views lead to equal places in several ways. Value numbering finds that the places are equal, and so bounds
     * their number. */
    wf__ir_init(&g->ir, shape->rank, s->ir->flags | (s->views ? WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING : 0));
    if (s->group_n == 1)
        wf__ir_reserve(&g->ir, s->ir->n);
    g->map = wf__alloc0(s->ir->n * sizeof *g->map);
    for (uint32_t i = 0; i < s->touch_n; ++i)
        s->touch[i].group += s->touch[i].group >= at;
    for (wf__ref r = 1; r < s->ir->n; ++r)
        if (s->home[r] != UINT32_MAX)
            s->home[r] += s->home[r] >= at;
    bool ok = g->map != NULL;
    for (uint32_t p = 0; ok && p < s->ir->param_n; ++p)
        wf__param(&g->ir, s->ir->param[p]);
    if (!ok || g->ir.status != WF_OK) {
        wf__plan_no_memory(s->plan);
        return NULL;
    }
    return g;
}

bool wf__split_slot(splitter *s, group *g, uint32_t object, bool indexed, unsigned dtype, int rank, uint32_t *out)
{
    uint32_t key = object * 2 + indexed, old = g->slot_of_n;
    if (key >= old) {
        if (!wf__grow(&g->slot_of, &g->slot_of_n, key + 1, sizeof *g->slot_of))
            return wf__plan_no_memory(s->plan);
        memset(g->slot_of + old, 0, (g->slot_of_n - old) * sizeof *g->slot_of);
    }
    if (!g->slot_of[key]) {
        g->slot_of[key] = wf__slot_new(&g->ir, dtype, rank, !indexed, object) + 1;
        for (uint32_t k = 0; k < s->ir->slot_n && s->ir->label_n; ++k)
            if (s->ir->slot[k].object == wf__plan_original(s->plan, object))
                wf__copy_label(s->ir, wf__array_ref(k), &g->ir, wf__array_ref(g->slot_of[key] - 1));
    }
    *out = g->slot_of[key] - 1;
    return g->ir.status == WF_OK || wf__plan_no_memory(s->plan);
}

/* Records a load of an element of a whole object at a frame. */
bool wf__group_element(splitter *s, group *g, uint32_t object, unsigned dtype, const wf_shape *shape, uint32_t frame,
                       wf__ref *out)
{
    uint32_t at = 0;
    if (frame)
        return wf__load_at(s, g, object, dtype, shape, frame, out);
    if (!wf__split_slot(s, g, object, false, dtype, shape->rank, &at))
        return false;
    *out = wf__load(&g->ir, at, 0, WF_BORDER_NONE, 0);
    return true;
}

static bool record_load(splitter *s, group *g, wf__ref r, uint32_t frame, const wf__ref *map, wf__ref *out)
{
    const wf__node *n = &s->ir->node[r];
    const wf__slot *slot = &s->ir->slot[n->a];
    uint32_t object = s->redirect[r] != UINT32_MAX ? s->redirect[r] : slot->object, at = 0;
    if (!n->b && !wf__when(s->ir, n))
        return wf__group_element(s, g, object, slot->dtype, &s->shape[r], frame, out);
    if (!wf__split_slot(s, g, object, n->b != 0, slot->dtype, slot->rank, &at))
        return false;
    *out = wf__load_when(&g->ir, at, wf__copy_tuple(s->ir, n->b, map, &g->ir), (wf_border)n->aux,
                         map[wf__otherwise(s->ir, n)], map[wf__when(s->ir, n)]);
    return true;
}

bool wf__has_points(const wf_shape *shape)
{
    bool some = true;
    for (int d = 0; d < shape->rank; ++d)
        some = some && shape->dim[d] > 0;
    return some;
}

static wf__ref record_iota(const splitter *s, group *g, wf__ref r, uint32_t frame)
{
    const wf__node *n = &s->ir->node[r];
    if (frame)
        return g->frame[frame].at[n->a].index;
    return s->shape[r].dim[n->a] == 1 ? wf__const_bits(&g->ir, WF_I64, 0)
                                      : wf__index(&g->ir, (int)n->a + g->shape.rank - s->shape[r].rank);
}

static bool record_node(splitter *s, group *g, wf__ref r, uint32_t frame, const wf__ref *map, wf__ref *out)
{
    const wf__node *n = &s->ir->node[r];
    uint32_t at;
    bool cut = wf__is_cut(s, r);
    if (wf__op_is_effect(n->op) && !cut) { /* an effect in a block */
        pending p = { 0 };
        if (!wf__split_effect(s, g, r, &p))
            return false;
        *out = wf__split_append(&g->ir, &p);
        return true;
    }
    if (n->op == WF__SCATTER && !cut) { /* in a block */
        pending p;
        if (!wf__split_scatter(s, g, r, &p))
            return wf__plan_no_memory(s->plan);
        *out = wf__split_append(&g->ir, &p);
        return true;
    }
    if (cut && n->op == WF__STATE)
        return wf__split_state(s, g, r, frame, out);
    if (cut && n->op != WF__REDUCE && wf__has_result(s, r))
        return wf__group_element(s, g, s->result[r], n->dtype, &s->shape[r], frame, out);
    switch ((wf__op)n->op) {
    case WF__LOAD:
        return record_load(s, g, r, frame, map, out);
    case WF__DIM:
        if (!wf__split_slot(s, g, s->ir->slot[n->a].object, true, s->ir->slot[n->a].dtype, s->ir->slot[n->a].rank, &at))
            return false;
        *out = wf__dim(&g->ir, at, (int)n->b);
        return true;
    case WF__REDUCE:
        return wf__split_result(s, g, r, frame, out);
    case WF__IOTA:
        *out = record_iota(s, g, r, frame);
        return true;
    case WF__VIEW:
        return wf__record_view(s, g, r, frame, map, out);
    case WF__NOP:
    case WF__CONST:
    case WF__PARAM:
    case WF__STORE: /* outside of blocks, effects are roots (wf__group_update) */
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
    case WF__COLD:
    case WF__LOOP:
    case WF__STATE:
    case WF__NEXT:
    case WF__END:
    case WF__SCAN: /* handled above: they have results */
    case WF__SCATTER:
    case WF__DERIVED: /* not in plans */
    case WF__LOCAL:
    case WF__PUT:
    case WF__GET:
#include "ir/case_bodies.def"
#include "ir/case_pure.def"
        *out = wf__copy_node(s->ir, r, map, &g->ir);
        return true;
    }
    return false;
}

bool wf__group_record(splitter *s, group *g, wf__ref r, uint32_t frame, const wf__ref *map, wf__ref *out)
{
    if (!record_node(s, g, r, frame, map, out))
        return false;
    wf__copy_label(s->ir, r, &g->ir, *out);
    return true;
}

bool wf__group_record_cone(splitter *s, group *g)
{
    for (wf__ref r = 1; r <= s->last; ++r) {
        while (s->in && s->tape[r] && g->map[r] &&
               !(s->cone[r] & WF__ANEW)) /* the group has it; its END has no value */
            r = wf__loop_end(s->ir, r) + 1;
        if (!(s->cone[r] & WF__DIRECT) || r == s->root || (wf__usable(g, g->map[r]) && !(s->cone[r] & WF__ANEW)))
            continue;
        bool view = s->ir->node[r].op == WF__VIEW && !wf__is_cut(s, r);
        if (!(view ? wf__record_at(s, g, r, 0, &g->map[r]) : wf__group_record(s, g, r, 0, g->map, &g->map[r])))
            return false;
        /* for nodes that are recorded anew, wf__record_at looks among what was remembered, not in the map */
        if (s->cone[r] & WF__ANEW && g->map[r] && !wf__remember(s, g, r, 0, g->map[r]))
            return false;
    }
    return g->ir.status == WF_OK || wf__plan_fail_in(s->plan, &g->ir);
}

bool wf__split_store(splitter *s, group *g, uint32_t object, const wf__node *like, int rank, wf__ref value)
{
    uint32_t slot = 0;
    if (!wf__split_slot(s, g, object, false, like->dtype, rank, &slot) ||
        !wf__grow(&g->store, &g->store_cap, g->store_n + 1, sizeof *g->store))
        return wf__plan_no_memory(s->plan);
    g->ir.slot[slot].written = true;
    g->store[g->store_n++] = (pending){ .node = { .op = WF__STORE, .a = slot, .c = value } };
    return true;
}

bool wf__split_scatter(splitter *s, group *g, wf__ref r, pending *out)
{
    const wf__node *n = &s->ir->node[r];
    wf__node accum = { .op = WF__ACCUM, .c = g->map[n->a] };
    if (!wf__split_slot(s, g, s->result[r], true, n->dtype, s->shape[r].rank, &accum.a))
        return false;
    accum.aux = (uint8_t)(wf__scatter_join(n) | WF__MODE_AUTO << 4);
    accum.b = wf__copy_tuple(s->ir, n->b, g->map, &g->ir);
    accum.d = n->d ? g->map[n->d] : 0;
    g->ir.slot[accum.a].written = true;
    *out = (pending){ .node = accum };
    return g->ir.status == WF_OK;
}

bool wf__split_effect(splitter *s, group *g, wf__ref r, pending *out)
{
    const wf__node *n = &s->ir->node[r];
    const wf__slot *slot = &s->ir->slot[n->a];
    *out = (pending){ .node = *n };
    if (!wf__split_slot(s, g, slot->object, wf__by_index(n), slot->dtype, slot->rank, &out->node.a))
        return false;
    out->node.b = wf__copy_tuple(s->ir, n->b, g->map, &g->ir);
    out->node.c = n->op == WF__CAS ? wf__copy_tuple(s->ir, n->c, g->map, &g->ir) : g->map[n->c];
    out->node.d = n->d ? g->map[n->d] : 0;
    g->ir.slot[out->node.a].written = true;
    return g->ir.status == WF_OK || wf__plan_no_memory(s->plan);
}

/* Adds an effect by index to the end of the group. */
bool wf__group_update(splitter *s, group *g, wf__ref root)
{
    const wf__node *n = &s->ir->node[root];
    pending p;
    if (!wf__split_effect(s, g, root, &p))
        return false;
    if (!wf__grow(&g->store, &g->store_cap, g->store_n + 1, sizeof *g->store))
        return wf__plan_no_memory(s->plan);
    if (wf__has_result(s, root)) {
        s->result[root] = wf__plan_add_temp(s->plan, n->dtype, &s->shape[root]);
        if (s->result[root] == UINT32_MAX ||
            !wf__split_slot(s, g, s->result[root], false, n->dtype, s->shape[root].rank, &p.result))
            return false;
        g->ir.slot[p.result++].written = true;
    }
    g->store[g->store_n++] = p;
    return g->ir.status == WF_OK || wf__plan_no_memory(s->plan);
}

void wf__group_free(group *g)
{
    wf__ir_free(&g->ir);
    wf__free(g->map);
    wf__free(g->slot_of);
    wf__free(g->store);
    wf__free(g->reduce);
    wf__free(g->frame);
    wf__free(g->recorded);
    wf__free(g->view);
}

wf__ref wf__split_append(wf__ir *ir, const pending *p)
{
    const wf__node *n = &p->node;
    const wf__ref *pair = wf__tuple_at(ir, n->c); /* used for CAS only */
    wf__ref old = 0;
    if (n->op == WF__STORE)
        wf__store(ir, n->a, n->b, n->c, n->d);
    else if (n->op == WF__ACCUM)
        wf__accum(ir, n->a, n->b, wf__node_join(n), wf__node_mode(n), n->c, n->d);
    else
        old = n->op == WF__CAS ? wf__cas(ir, n->a, n->b, pair[0], pair[1], n->d)
                               : wf__atomic(ir, n->a, n->b, wf__node_join(n), n->c, n->d);
    if (p->result)
        wf__store(ir, p->result - 1, 0, old, 0);
    return old;
}

bool wf__split_state(splitter *s, group *g, wf__ref state, uint32_t frame, wf__ref *out)
{
    group *home = &s->group[s->home[state]];
    const wf__node *n = &s->ir->node[state];
    const wf_shape *shape = &s->shape[state];
    if (g == home && !frame) {
        *out = g->map[state];
        return true;
    }
    if (s->saved[state] == UINT32_MAX) {
        s->saved[state] = wf__plan_add_temp(s->plan, n->dtype, shape);
        wf__plan_because(s->plan, "split", "the last value of variable %%%u is stored in temporary t%u, because %s",
                         (unsigned)state, (unsigned)s->plan->temp_n - 1,
                         g == home ? "a view reads it at other points" : "another group reads it");
        if (s->saved[state] == UINT32_MAX ||
            !wf__split_store(s, home, s->saved[state], n, shape->rank, home->map[state]))
            return false;
    }
    return wf__group_element(s, g, s->saved[state], n->dtype, shape, frame, out);
}
