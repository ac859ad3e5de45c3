/* split.c - cuts an array graph into stages: kernels over one index space each.
 *
 * Roots are the assignments, updates by index and reductions, in program order. Each root joins the earliest stage of its shape that
 * comes after everything it depends on; all values between roots stay in registers (fusion). A reduction's result reaches
 * later stages through a one-element temporary, an atomic operation's through one of its shape. Three memory hazards are resolved here:
 *   - a root that must see an earlier assignment goes to a later stage, one that must not see it to an earlier one or the
 *     same (every stage reads before it writes); if its dependencies forbid that, the old contents are saved in a copy;
 *   - an assignment whose operands overlap its own target shifted goes through a temporary; one by index, where points
 *     may meet in any element, has operands from a copy.
 */
#include "plan/split.h"

static bool is_root(unsigned op) { return op == WF__STORE || op == WF__REDUCE || wf__op_is_update(op); }

bool wf__split_fail(splitter *s, wf_status status, const char *text)
{
    wf__plan_fail(s->plan, status, "%s", text);
    return false;
}

static bool no_memory(splitter *s) { return wf__split_fail(s, WF_ERR_MEMORY, "out of memory while planning"); }

/* ---- shapes, now that formals have extents ---- */
static wf_shape bind_shape(const wf__bind *b)
{
    wf_shape shape = { .rank = b->rank };
    memcpy(shape.dim, b->dim, sizeof shape.dim);
    return shape;
}

static bool meet(splitter *s, wf__ref r, const wf_shape *with)
{
    wf_shape *own = &s->shape[r];
    bool same = own->rank == with->rank && !memcmp(own->dim, with->dim, (size_t)own->rank * sizeof *own->dim);
    if (same || wf__broadcast(own, with, own))
        return true;
    char a[160], b[160];
    wf__shape_text(own, a, sizeof a);
    wf__shape_text(with, b, sizeof b);
    wf__plan_fail(s->plan, WF_ERR_SHAPE, "%s: shapes %s and %s do not broadcast", wf__op_table[s->ir->node[r].op].name,
                  a, b);
    return false;
}

/* A state has the shape of all that it holds, and of the lanes that go on. *wider: one has grown. */
static bool widen(splitter *s, wf__ref state, wf__ref by, bool *wider)
{
    const wf_shape before = s->shape[state], *now = &s->shape[state];
    bool ok = meet(s, state, &s->shape[by]);
    *wider =
        *wider || before.rank != now->rank || memcmp(before.dim, now->dim, (size_t)before.rank * sizeof *before.dim);
    return ok;
}

static bool infer_states(splitter *s, wf__ref end, bool *wider)
{
    const wf__ir *ir = s->ir;
    wf__ref loop = ir->node[end].a;
    bool ok = true;
    for (wf__ref guard = loop + 1; ok && ir->node[guard].op == WF__STATE; ++guard)
        for (wf__ref r = loop + 1; ok && ir->node[guard].aux && ir->node[r].op == WF__STATE; ++r)
            ok = widen(s, r, guard, wider);
    return ok;
}

static bool infer_node(splitter *s, wf__ref r, bool *wider)
{
    const wf__node *n = &s->ir->node[r];
    wf__ref operand[WF__MAX_OPERANDS];
    uint32_t count = wf__operands(s->ir, n, operand);
    if (n->op == WF__NEXT)
        return widen(s, n->a, n->b, wider);
    if (n->op == WF__END)
        return infer_states(s, r, wider);
    if (n->op == WF__LOAD && !n->b)
        s->shape[r] = bind_shape(&s->bind[s->ir->slot[n->a].object]);
    else if (n->op == WF__IOTA)
        s->shape[r] = s->ir->shape[n->shape];
    for (uint32_t i = 0; i < count; ++i)
        if (!meet(s, r, &s->shape[operand[i]]))
            return false;
    if (n->op == WF__REDUCE)
        s->shape[r] = wf__kept_shape(&s->shape[r], n->c);
    if (n->op == WF__STORE && !n->b) {
        wf_shape target = bind_shape(&s->bind[s->ir->slot[n->a].object]), both;
        if (!wf__broadcast(&s->shape[r], &target, &both) || both.rank != target.rank ||
            memcmp(both.dim, target.dim, (size_t)both.rank * sizeof *both.dim)) {
            char want[160], have[160];
            wf__shape_text(&target, want, sizeof want);
            wf__shape_text(&s->shape[r], have, sizeof have);
            wf__plan_fail(s->plan, WF_ERR_SHAPE, "a value of shape %s does not fit the array of shape %s", have, want);
            return false;
        }
        s->shape[r] = target;
    }
    return true;
}

/* A block is gone through again until its states have stopped to grow. */
static bool infer(splitter *s)
{
    wf__ref outer = 0;
    bool wider = false;
    for (wf__ref r = 1; r < s->ir->n; ++r) {
        const wf__node *n = &s->ir->node[r];
        if (!infer_node(s, r, &wider))
            return false;
        if (n->op == WF__LOOP && !outer)
            outer = r;
        else if (n->op == WF__END && n->a == outer) {
            r = wider ? outer : r;
            outer = wider ? outer : 0;
            wider = false;
        }
    }
    return true;
}

/* ---- groups ---- */
static group *add_group(splitter *s, uint32_t at, const wf_shape *shape)
{
    if (!wf__grow(&s->group, &s->group_cap, s->group_n + 1, sizeof *s->group)) {
        no_memory(s);
        return NULL;
    }
    memmove(s->group + at + 1, s->group + at, (s->group_n - at) * sizeof *s->group);
    group *g = &s->group[at];
    *g = (group){ .shape = *shape };
    ++s->group_n;
    wf__ir_init(&g->ir, shape->rank, s->ir->flags);
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
        no_memory(s);
        return NULL;
    }
    return g;
}

bool wf__split_slot(splitter *s, group *g, uint32_t object, bool indexed, unsigned dtype, int rank, uint32_t *out)
{
    uint32_t key = object * 2 + indexed, old = g->slot_of_n;
    if (key >= old) {
        if (!wf__grow(&g->slot_of, &g->slot_of_n, key + 1, sizeof *g->slot_of))
            return no_memory(s);
        memset(g->slot_of + old, 0, (g->slot_of_n - old) * sizeof *g->slot_of);
    }
    if (!g->slot_of[key])
        g->slot_of[key] = wf__slot_new(&g->ir, dtype, rank, !indexed, object) + 1;
    *out = g->slot_of[key] - 1;
    return g->ir.status == WF_OK || no_memory(s);
}

static bool record_load(splitter *s, group *g, wf__ref r)
{
    const wf__node *n = &s->ir->node[r];
    const wf__slot *slot = &s->ir->slot[n->a];
    uint32_t object = s->redirect[r] != UINT32_MAX ? s->redirect[r] : slot->object, at;
    if (!wf__split_slot(s, g, object, n->b != 0, slot->dtype, slot->rank, &at))
        return false;
    g->map[r] = wf__load_when(&g->ir, at, wf__copy_tuple(s->ir, n->b, g->map, &g->ir), (wf_border)n->aux,
                              g->map[wf__otherwise(s->ir, n)], g->map[wf__when(s->ir, n)]);
    return true;
}

static bool has_points(const wf_shape *shape)
{
    bool some = true;
    for (int d = 0; d < shape->rank; ++d)
        some = some && shape->dim[d] > 0;
    return some;
}

/* Of nothing: the neutral element; but -0 is what sums begin with, and the sum of nothing is +0. */
static uint64_t result_of_nothing(wf_join join, unsigned dtype)
{
    return join == WF_ADD ? 0 : wf__join_neutral(join, dtype);
}

/* A reduction's result in a later stage. One that keeps axes is in a temp of the dtype that it was accumulated in. */
static bool record_result(splitter *s, group *g, wf__ref r)
{
    const wf__node *n = &s->ir->node[r];
    bool keeps = !wf__has_one_point(&s->shape[r]);
    unsigned dtype = keeps ? s->wide[r] : n->dtype;
    uint32_t at;
    if (keeps && !has_points(&s->shape[n->a])) {
        g->map[r] = wf__cast(&g->ir, wf__const_bits(&g->ir, dtype, result_of_nothing((wf_join)n->b, dtype)), n->dtype);
        return true;
    }
    if (!wf__split_slot(s, g, s->result[r], false, dtype, s->shape[r].rank, &at))
        return false;
    g->map[r] = wf__cast(&g->ir, wf__load(&g->ir, at, 0, WF_BORDER_NONE, 0), n->dtype);
    return true;
}

static bool record_node(splitter *s, group *g, wf__ref r)
{
    const wf__node *n = &s->ir->node[r];
    uint32_t at;
    bool cut = wf__is_cut(s, r);
    if (wf__op_is_effect(n->op) && !cut) { /* in a block */
        pending p = { 0 };
        if (!wf__split_effect(s, g, r, &p))
            return false;
        g->map[r] = wf__split_append(&g->ir, &p);
        return true;
    }
    switch (n->op) {
    case WF__STATE:
        if (cut)
            return wf__split_state(s, g, r);
        g->map[r] = wf__copy_node(s->ir, r, g->map, &g->ir);
        return true;
    case WF__LOAD:
        return record_load(s, g, r);
    case WF__DIM:
        if (!wf__split_slot(s, g, s->ir->slot[n->a].object, true, s->ir->slot[n->a].dtype, s->ir->slot[n->a].rank, &at))
            return false;
        g->map[r] = wf__dim(&g->ir, at, (int)n->b);
        return true;
    case WF__REDUCE:
        return record_result(s, g, r);
    case WF__ATOMIC:
    case WF__CAS:
        if (!wf__split_slot(s, g, s->result[r], false, n->dtype, s->shape[r].rank, &at))
            return false;
        g->map[r] = wf__load(&g->ir, at, 0, WF_BORDER_NONE, 0);
        return true;
    case WF__IOTA:
        g->map[r] = s->shape[r].dim[n->a] == 1 ? wf__const_bits(&g->ir, WF_I64, 0)
                                               : wf__index(&g->ir, (int)n->a + g->shape.rank - s->shape[r].rank);
        return true;
    default:
        g->map[r] = wf__copy_node(s->ir, r, g->map, &g->ir);
        return true;
    }
}

/* Records the current cone (but what is being placed itself, if it is a root) in group g. */
static bool record_cone(splitter *s, group *g)
{
    for (wf__ref r = 1; r <= s->last; ++r) {
        bool renewed = s->redirect[r] != UINT32_MAX; /* a redirected load and its users are recorded anew */
        if (!s->cone[r] || r == s->root || (g->map[r] && !renewed && s->cone[r] < 2))
            continue;
        if (!record_node(s, g, r))
            return false;
    }
    if (g->ir.status != WF_OK)
        wf__plan_fail(s->plan, g->ir.status, "%s", g->ir.error);
    return g->ir.status == WF_OK;
}

bool wf__split_store(splitter *s, group *g, uint32_t object, const wf__node *like, int rank, wf__ref value)
{
    uint32_t slot;
    if (!wf__split_slot(s, g, object, false, like->dtype, rank, &slot) ||
        !wf__grow(&g->store, &g->store_cap, g->store_n + 1, sizeof *g->store))
        return no_memory(s);
    g->ir.slot[slot].written = true;
    g->store[g->store_n++] = (pending){ .node = { .op = WF__STORE, .a = slot, .c = value } };
    return true;
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
    return g->ir.status == WF_OK || no_memory(s);
}

/* An effect by index, at the end of the group. */
static bool push_update(splitter *s, group *g, wf__ref root)
{
    const wf__node *n = &s->ir->node[root];
    pending p;
    if (!wf__split_effect(s, g, root, &p))
        return false;
    if (!wf__grow(&g->store, &g->store_cap, g->store_n + 1, sizeof *g->store))
        return no_memory(s);
    if (wf__has_result(n->op)) {
        s->result[root] = wf__plan_add_temp(s->plan, n->dtype, &s->shape[root]);
        if (s->result[root] == UINT32_MAX ||
            !wf__split_slot(s, g, s->result[root], false, n->dtype, s->shape[root].rank, &p.result))
            return false;
        g->ir.slot[p.result++].written = true;
    }
    g->store[g->store_n++] = p;
    return g->ir.status == WF_OK || no_memory(s);
}

/* A stage before group `at` that copies object `from` into a new temp. */
static uint32_t snapshot(splitter *s, uint32_t at, uint32_t from)
{
    const wf__bind *b = &s->bind[from];
    wf_shape shape = bind_shape(b);
    uint32_t temp = wf__plan_add_temp(s->plan, b->dtype, &shape), source;
    group *g = temp == UINT32_MAX ? NULL : add_group(s, at, &shape);
    if (!g || !wf__split_slot(s, g, from, false, b->dtype, b->rank, &source))
        return UINT32_MAX;
    wf__node like = { .dtype = b->dtype };
    wf__ref value = wf__load(&g->ir, source, 0, WF_BORDER_NONE, 0);
    return wf__split_store(s, g, temp, &like, b->rank, value) ? temp : UINT32_MAX;
}

/* ---- placing one root ---- */
void wf__split_spread(splitter *s)
{
    wf__ref operand[WF__MAX_OPERANDS];
    do {
        for (wf__ref r = s->last; r >= 1; --r) {
            if (!s->cone[r] || wf__is_cut(s, r))
                continue;
            uint32_t count = wf__operands(s->ir, &s->ir->node[r], operand);
            for (uint32_t i = 0; i < count; ++i)
                s->cone[operand[i]] = 1;
        }
    } while (s->in && wf__mark_loops(s->ir, s->cone, s->in, s->last));
}

bool wf__split_touch(splitter *s, const touch *t)
{
    if (!wf__grow(&s->touch, &s->touch_cap, s->touch_n + 1, sizeof *s->touch))
        return no_memory(s);
    s->touch[s->touch_n++] = *t;
    return true;
}

static bool add_touch(splitter *s, uint32_t object, uint32_t g, wf__ref node, bool store, bool gather)
{
    const touch t = { .object = object, .group = g, .node = node, .store = store, .gather = gather };
    return wf__split_touch(s, &t);
}

wf__overlap wf__split_overlap(const splitter *s, uint32_t a, uint32_t b, bool gather)
{
    wf__overlap o = a == b ? WF__SAME : wf__bind_overlap(&s->bind[a], &s->bind[b]);
    return o == WF__SAME && gather ? WF__PARTIAL : o;
}

/* A load before the store `root` that sees an earlier store: the two stores must not share a stage, so that between them
 * there is a moment to save what the load saw. */
static uint32_t after_seen_stores(const splitter *s, wf__ref root, uint32_t bound)
{
    uint32_t target = s->ir->slot[s->ir->node[root].a].object;
    for (wf__ref r = 1; r < root; ++r) {
        const wf__node *m = &s->ir->node[r];
        if (!s->live[r] || m->op != WF__LOAD ||
            wf__split_overlap(s, target, s->ir->slot[m->a].object, false) == WF__APART)
            continue;
        for (uint32_t i = 0; i < s->touch_n; ++i) {
            const touch *t = &s->touch[i];
            if (t->store && t->node < r && t->group + 1 > bound &&
                wf__split_overlap(s, t->object, s->ir->slot[m->a].object, false) != WF__APART)
                bound = t->group + 1;
        }
    }
    return bound;
}

/* Accumulations into one array by one join: in which order they come does not matter. */
static bool commute(const splitter *s, const wf__node *n, const touch *t)
{
    const wf__node *m = &s->ir->node[t->node];
    return t->store && n->op == WF__ACCUM && m->op == WF__ACCUM && wf__node_join(n) == wf__node_join(m) &&
           s->ir->slot[n->a].object == t->object;
}

uint32_t wf__split_bound(const splitter *s)
{
    uint32_t bound = 0;
    for (wf__ref r = 1; r <= s->last; ++r) {
        if (!s->cone[r] || r == s->root)
            continue;
        const wf__node *m = &s->ir->node[r];
        uint32_t home = !wf__is_cut(s, r) ? 0 : s->home[r] + (m->op != WF__STATE); /* a state may be used right there */
        if (home > bound)
            bound = home;
        for (uint32_t i = 0; m->op == WF__LOAD && i < s->touch_n; ++i) {
            const touch *t = &s->touch[i];
            if (t->store && t->node < r && t->group + 1 > bound &&
                wf__split_overlap(s, t->object, s->ir->slot[m->a].object, false) != WF__APART)
                bound = t->group + 1;
        }
    }
    return bound;
}

uint32_t wf__split_effect_bound(const splitter *s, wf__ref effect, uint32_t bound)
{
    const wf__node *n = &s->ir->node[effect];
    for (uint32_t i = 0; i < s->touch_n; ++i) {
        const touch *t = &s->touch[i];
        wf__overlap o = wf__split_overlap(s, t->object, s->ir->slot[n->a].object, t->gather || wf__by_index(n));
        bool together = o == WF__SAME && !(s->in && t->store && !t->early); /* else the order would be the wrong one */
        uint32_t least = o == WF__APART ? 0 : together || commute(s, n, t) ? t->group : t->group + 1;
        if (least > bound)
            bound = least;
    }
    return after_seen_stores(s, effect, bound);
}

uint32_t wf__split_choose(splitter *s, uint32_t bound, const wf_shape *shape, wf__ref reduce)
{
    for (uint32_t g = bound; g < s->group_n; ++g) {
        const group *to = &s->group[g];
        bool fits = !reduce || !to->reduce_n || to->axes == s->ir->node[reduce].c;
        if (fits && to->shape.rank == shape->rank &&
            !memcmp(to->shape.dim, shape->dim, (size_t)shape->rank * sizeof *shape->dim))
            return g;
    }
    return add_group(s, s->group_n, shape) ? s->group_n - 1 : UINT32_MAX;
}

/* Loads that would see an assignment made after them read a copy saved before it. Returns the root's group, which moves
 * when stages are inserted. */
static uint32_t save_old_contents(splitter *s, uint32_t g)
{
    const wf__node *n = &s->ir->node[s->root];
    for (wf__ref r = 1; r <= s->last; ++r) {
        const wf__node *m = &s->ir->node[r];
        if (!s->cone[r] || m->op != WF__LOAD)
            continue;
        uint32_t object = s->ir->slot[m->a].object, first = UINT32_MAX;
        if (s->in ? wf__split_reads_old(s, r)
                  : wf__by_index(n) && wf__split_overlap(s, s->ir->slot[n->a].object, object, true) != WF__APART)
            first = g;
        for (uint32_t i = 0; i < s->touch_n; ++i) {
            const touch *t = &s->touch[i];
            if (!t->store || t->node < r || t->object >= s->plan->objects)
                continue;
            wf__overlap o = wf__split_overlap(s, t->object, object, m->b != 0 || t->gather);
            bool behind = t->group < g || (t->early && t->group == g && !s->group[g].map[r]);
            bool late = o == WF__PARTIAL ? t->group <= g : o == WF__SAME && behind;
            if (late && t->group < first)
                first = t->group;
        }
        if (first == UINT32_MAX)
            continue;
        if (s->saved[r] == UINT32_MAX) {
            s->saved[r] = snapshot(s, first, object);
            if (s->saved[r] == UINT32_MAX || !add_touch(s, object, first, r, false, false))
                return UINT32_MAX;
            ++g;
        }
        s->redirect[r] = s->saved[r];
    }
    /* whatever uses a redirected load is another value than in earlier roots: mark it for recording anew */
    wf__ref operand[WF__MAX_OPERANDS];
    for (wf__ref r = 1; r <= s->last; ++r) {
        if (!s->cone[r] || r == s->root || wf__is_cut(s, r))
            continue;
        uint32_t count = wf__operands(s->ir, &s->ir->node[r], operand);
        for (uint32_t i = 0; i < count; ++i)
            if (s->redirect[operand[i]] != UINT32_MAX || s->cone[operand[i]] == 2)
                s->cone[r] = 2;
    }
    return g;
}

static bool note_loads(splitter *s, uint32_t g)
{
    for (wf__ref r = 1; r <= s->last; ++r) {
        const wf__node *m = &s->ir->node[r];
        if (s->cone[r] && m->op == WF__LOAD && s->redirect[r] == UINT32_MAX &&
            !add_touch(s, s->ir->slot[m->a].object, g, r, false, m->b != 0))
            return false;
    }
    return true;
}

static bool overlaps_itself(const splitter *s, wf__ref root)
{
    uint32_t target = s->ir->slot[s->ir->node[root].a].object;
    for (wf__ref r = 1; r < root; ++r) {
        const wf__node *m = &s->ir->node[r];
        if (s->cone[r] && m->op == WF__LOAD && s->redirect[r] == UINT32_MAX &&
            wf__split_overlap(s, target, s->ir->slot[m->a].object, m->b != 0) == WF__PARTIAL)
            return true;
    }
    return false;
}

static bool place_store(splitter *s, wf__ref root, uint32_t g)
{
    const wf__node *n = &s->ir->node[root];
    const wf__slot *slot = &s->ir->slot[n->a];
    wf_shape shape = s->shape[root];
    if (!overlaps_itself(s, root))
        return wf__split_store(s, &s->group[g], slot->object, n, slot->rank, s->group[g].map[n->c]) &&
               note_loads(s, g) && add_touch(s, slot->object, g, root, true, false);
    /* through a temporary: the whole value first, then the array */
    uint32_t temp = wf__plan_add_temp(s->plan, n->dtype, &shape), source;
    if (temp == UINT32_MAX || !wf__split_store(s, &s->group[g], temp, n, slot->rank, s->group[g].map[n->c]) ||
        !note_loads(s, g))
        return false;
    group *copy = add_group(s, g + 1, &shape);
    if (!copy || !wf__split_slot(s, copy, temp, false, n->dtype, slot->rank, &source))
        return false;
    wf__ref value = wf__load(&copy->ir, source, 0, WF_BORDER_NONE, 0);
    return wf__split_store(s, copy, slot->object, n, slot->rank, value) &&
           add_touch(s, slot->object, g + 1, root, true, false);
}

static bool place_update(splitter *s, wf__ref root, uint32_t g)
{
    s->home[root] = g;
    return push_update(s, &s->group[g], root) && note_loads(s, g) &&
           add_touch(s, s->ir->slot[s->ir->node[root].a].object, g, root, true, true);
}

static bool place_reduce(splitter *s, wf__ref root, uint32_t g)
{
    const wf__node *n = &s->ir->node[root];
    group *to = &s->group[g];
    s->home[root] = g;
    /* f32 sums and products are accumulated in f64, all of f16 and bf16 in f32 */
    bool wide = n->dtype == WF_F32 && (n->b == WF_ADD || n->b == WF_MUL);
    unsigned dtype = wide ? WF_F64 : wf__is_half(n->dtype) ? WF_F32 : n->dtype;
    s->wide[root] = (uint8_t)dtype;
    s->result[root] =
        wf__plan_add_temp(s->plan, wf__has_one_point(&s->shape[root]) ? n->dtype : dtype, &s->shape[root]);
    if (s->result[root] == UINT32_MAX || !wf__grow(&to->reduce, &to->reduce_cap, to->reduce_n + 1, sizeof *to->reduce))
        return no_memory(s);
    to->reduce[to->reduce_n++] = root;
    to->axes = n->c;
    uint32_t k = wf__red_new(&to->ir, dtype, (wf_join)n->b);
    if (to->ir.status != WF_OK)
        return no_memory(s);
    wf__ref value = wf__cast(&to->ir, to->map[n->a], dtype);
    wf__setred(&to->ir, k, 0, wf__op2(&to->ir, wf__join_op((wf_join)n->b), wf__red(&to->ir, k, 0), value));
    return note_loads(s, g);
}

uint32_t wf__split_record(splitter *s, uint32_t g)
{
    memset(s->redirect, 0xff, s->ir->n * sizeof *s->redirect);
    g = save_old_contents(s, g);
    return g != UINT32_MAX && record_cone(s, &s->group[g]) ? g : UINT32_MAX;
}

static bool place(splitter *s, wf__ref root)
{
    const wf__node *n = &s->ir->node[root];
    bool reduces = n->op == WF__REDUCE;
    s->root = s->last = root;
    s->in = 0;
    memset(s->cone, 0, s->ir->n);
    s->cone[root] = 1;
    wf__split_spread(s);
    uint32_t bound = wf__split_bound(s);
    if (!reduces)
        bound = wf__split_effect_bound(s, root, bound);
    uint32_t g = wf__split_choose(s, bound, &s->shape[reduces ? n->a : root], reduces ? root : 0);
    if (g != UINT32_MAX)
        g = wf__split_record(s, g);
    return g != UINT32_MAX && (reduces           ? place_reduce(s, root, g)
                               : wf__by_index(n) ? place_update(s, root, g)
                                                 : place_store(s, root, g));
}

/* ---- groups become stages ---- */
/* Later stages find the results in temps. */
static bool finish_kept(splitter *s, const group *g, wf__stage *stage)
{
    stage->reduce = g->axes;
    stage->result = wf__alloc(g->reduce_n * sizeof *stage->result);
    for (uint32_t k = 0; stage->result && k < g->reduce_n; ++k)
        stage->result[k] = s->result[g->reduce[k]];
    return stage->result || no_memory(s);
}

static bool finish_reduce(splitter *s, group *g, wf__stage *stage)
{
    stage->initial = wf__alloc(g->ir.red_n * sizeof *stage->initial);
    if (!stage->initial)
        return no_memory(s);
    for (uint32_t k = 0; k < g->ir.red_n; ++k) {
        const wf__reduction *red = &g->ir.red[k];
        stage->initial[k] = has_points(&g->shape) ? wf__join_neutral((wf_join)red->join, red->dtype)
                                                  : result_of_nothing((wf_join)red->join, red->dtype);
    }
    wf__stage *post = wf__plan_add_stage(s->plan, s->plan->stage_n);
    if (!post)
        return false;
    wf__ir *ir = &post->proto;
    wf__ir_init(ir, 0, s->ir->flags);
    for (uint32_t p = 0; p < s->ir->param_n; ++p)
        wf__param(ir, s->ir->param[p]);
    for (uint32_t k = 0; k < g->reduce_n; ++k) {
        wf__ref root = g->reduce[k];
        unsigned dtype = s->ir->node[root].dtype;
        wf__ref value = wf__cast(ir, wf__param(ir, g->ir.red[k].dtype), dtype);
        uint32_t slot = wf__slot_new(ir, dtype, s->shape[root].rank, true, s->result[root]);
        if (ir->status != WF_OK)
            return no_memory(s);
        wf__store(ir, slot, 0, value, 0);
    }
    return ir->status == WF_OK || no_memory(s);
}

wf__ref wf__split_append(wf__ir *ir, const pending *p)
{
    const wf__node *n = &p->node;
    const wf__ref *pair = wf__tuple_at(ir, n->c); /* CAS */
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

static bool finish(splitter *s, group *g)
{
    wf__stage *stage = wf__plan_add_stage(s->plan, s->plan->stage_n);
    if (!stage)
        return false;
    for (uint32_t i = 0; i < g->store_n; ++i)
        wf__split_append(&g->ir, &g->store[i]);
    stage->space = g->shape;
    stage->proto = g->ir;
    bool ok = g->ir.status == WF_OK || no_memory(s);
    if (ok && g->reduce_n)
        ok = wf__has_one_point(&s->shape[g->reduce[0]]) ? finish_reduce(s, g, stage) : finish_kept(s, g, stage);
    g->ir = (wf__ir){ 0 };
    return ok;
}

static bool run(splitter *s)
{
    uint32_t n = s->ir->n;
    s->live = wf__alloc0(n);
    s->shape = wf__alloc0(n * sizeof *s->shape);
    s->cone = wf__alloc0(n);
    s->home = wf__alloc(n * sizeof *s->home);
    s->result = wf__alloc0(n * sizeof *s->result);
    s->wide = wf__alloc0(n);
    s->redirect = wf__alloc(n * sizeof *s->redirect);
    s->saved = wf__alloc(n * sizeof *s->saved);
    bool ok = s->live && s->shape && s->cone && s->home && s->result && s->wide && s->redirect && s->saved;
    if (!ok)
        no_memory(s);
    ok = ok && infer(s);
    if (ok) {
        memset(s->home, 0xff, n * sizeof *s->home);
        memset(s->saved, 0xff, n * sizeof *s->saved);
        for (wf__ref r = 1; r < n; ++r)
            s->live[r] = wf__op_is_effect(s->ir->node[r].op);
        wf__mark_live(s->ir, s->live);
        ok = !s->ir->loops || wf__split_find_blocks(s) || no_memory(s);
        for (wf__ref r = 1; ok && r < n; ++r) {
            bool blocked = s->block && s->block[r];
            if (s->live[r] && blocked && s->block[r] == r)
                ok = wf__split_block(s, r);
            else if (s->live[r] && !blocked && is_root(s->ir->node[r].op))
                ok = place(s, r);
        }
    }
    for (uint32_t g = 0; ok && g < s->group_n; ++g)
        ok = finish(s, &s->group[g]);
    return ok;
}

bool wf__plan_split(wf__plan *plan, const wf__recording *recording, const wf__bind *bind)
{
    splitter s = { .plan = plan, .rec = recording, .ir = &recording->ir, .bind = bind };
    bool ok = run(&s);
    for (uint32_t g = 0; g < s.group_n; ++g) {
        wf__ir_free(&s.group[g].ir);
        wf__free(s.group[g].map);
        wf__free(s.group[g].slot_of);
        wf__free(s.group[g].store);
        wf__free(s.group[g].reduce);
    }
    wf__free(s.group);
    wf__free(s.touch);
    wf__free(s.shape);
    wf__free(s.cone);
    wf__free(s.home);
    wf__free(s.result);
    wf__free(s.wide);
    wf__free(s.redirect);
    wf__free(s.saved);
    wf__free(s.live);
    wf__free(s.block);
    wf__free(s.leaves);
    return ok;
}
