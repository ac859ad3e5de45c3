/* split.c - cuts an array graph into stages: kernels over one index space each.
 *
 * Roots are the assignments, updates by index and reductions, in program order. Each root joins the earliest stage of
 * its shape that comes after everything it depends on; all values between roots stay in registers (fusion). A
 * reduction's result reaches later stages through a one-element temporary, an atomic operation's through one of its
 * shape. Three memory hazards are resolved here:
 *   - a root that must see an earlier assignment goes to a later stage, one that must not see it to an earlier one or the
 *     same (every stage reads before it writes); if its dependencies forbid that, the old contents are saved in a copy;
 *   - an assignment whose operands overlap its own target shifted goes through a temporary; one by index, where points
 *     may meet in any element, has operands from a copy.
 */
#include "plan/split/split.h"
#include <stdio.h>

static bool is_root(const splitter *s, wf__ref r)
{
    unsigned op = s->ir->node[r].op;
    return op == WF__STORE || wf__op_is_update(op) || wf__has_result(s, r);
}

static bool writes(const wf__node *root) { return wf__op_is_store(root->op); }

/* ---- reasons ---- */
const char *wf__split_called(const splitter *s, wf__ref r, char text[WF__CALLED])
{
    const wf__node *n = &s->ir->node[r];
    char name[WF__OBJECT_NAME];
    if (wf__op_is_access(n->op))
        snprintf(text, WF__CALLED, "%s %s %s", wf__function_of(n), n->op == WF__LOAD ? "of" : "to",
                 wf__plan_object_name(s->plan, s->bind, s->ir->slot[n->a].object, name));
    else
        snprintf(text, WF__CALLED, "%%%u (%s)", (unsigned)r, wf__function_of(n));
    return text;
}

/* Notes what moved the bound of the root's group. */
static void note_cause(splitter *s, const char *what, wf__ref r)
{
    char called[WF__CALLED];
    if (s->plan->why)
        snprintf(s->cause, sizeof s->cause, "%s %.100s", what, wf__split_called(s, r, called));
}

static void explain_group(const splitter *s, uint32_t g, const wf_shape *shape, bool is_new)
{
    char text[WF__CALLED], of[160];
    wf_shape_text(shape, of, sizeof of);
    if (s->root)
        wf__split_called(s, s->root, text);
    else
        snprintf(text, sizeof text, "a part of block %%%u", (unsigned)s->in);
    wf__plan_explain(s->plan, "split", "%s %s group %u, of shape %s%s%s", text, is_new ? "begins" : "joins",
                     (unsigned)g, of, *s->cause ? "; comes after " : "", s->cause);
}

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
    wf_shape_text(own, a, sizeof a);
    wf_shape_text(with, b, sizeof b);
    return wf__plan_fail_at(s->plan, WF_SECTION_CALL, s->ir, r, WF_ERR_SHAPE, "%s: shapes %s and %s do not broadcast",
                            wf__function_of(&s->ir->node[r]), a, b);
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

/* As in loop.c: what the block does not touch may have any shape. */
static bool infer_states(splitter *s, wf__ref end, bool *wider)
{
    const wf__ir *ir = s->ir;
    bool ok = true;
    for (wf__ref guard = ir->node[end].a + 1; ok && ir->node[guard].op == WF__STATE; ++guard)
        for (wf__ref r = end - 1; ok && ir->node[guard].aux && ir->node[r].op == WF__NEXT; --r) {
            const wf__node *n = &ir->node[r];
            wf_shape both;
            if (n->a != n->b || wf__broadcast(&s->shape[n->a], &s->shape[guard], &both))
                ok = widen(s, n->a, guard, wider);
        }
    return ok;
}

static bool infer_view(splitter *s, wf__ref r)
{
    const wf__node *n = &s->ir->node[r];
    const wf_shape *in = &s->shape[n->a];
    int64_t numbers[WF_MAX_RANK];
    bool gathers = n->aux == WF__VIEW_GATHER;
    if (gathers ? wf__has_points(in) || n->c || !wf__has_points(&s->shape[r])
                : wf__view_shape(n->aux, numbers, wf__view_numbers(s->ir, n, numbers), in, &s->shape[r]))
        return true;
    char text[160];
    wf_shape_text(in, text, sizeof text);
    return wf__plan_fail_at(s->plan, WF_SECTION_CALL, s->ir, r, gathers ? WF_ERR_BOUNDS : WF_ERR_SHAPE,
                            gathers ? "%s: there is no element in a value of shape %s"
                                    : "%s: not of a value of shape %s",
                            wf__function_of(n), text);
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
    for (uint32_t i = n->op == WF__VIEW; i < count; ++i) /* a view's first operand is the value */
        if (!meet(s, r, &s->shape[operand[i]]))
            return false;
    if (n->op == WF__VIEW && !infer_view(s, r))
        return false;
    if (n->op == WF__REDUCE)
        s->shape[r] = wf__kept_shape(&s->shape[r], n->c);
    if (n->op == WF__STORE && !n->b) {
        wf_shape target = bind_shape(&s->bind[s->ir->slot[n->a].object]), both;
        if (!wf__broadcast(&s->shape[r], &target, &both) || both.rank != target.rank ||
            memcmp(both.dim, target.dim, (size_t)both.rank * sizeof *both.dim)) {
            char to[WF__CALLED], have[160];
            wf_shape_text(&s->shape[r], have, sizeof have);
            return wf__plan_fail_at(s->plan, WF_SECTION_CALL, s->ir, r, WF_ERR_SHAPE,
                                    "wf_out: a value of shape %s does not fit %s", have,
                                    wf__bind_called(&s->bind[s->ir->slot[n->a].object], to));
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

/* A stage before group `at` that copies object `from` into a new temp. */
static uint32_t snapshot(splitter *s, uint32_t at, uint32_t from)
{
    const wf__bind *b = &s->bind[from];
    wf_shape shape = bind_shape(b);
    uint32_t temp = wf__plan_add_temp(s->plan, b->dtype, &shape), source;
    if (temp != UINT32_MAX)
        s->plan->temp[temp - s->plan->objects].copy_of = from + 1;
    group *g = temp == UINT32_MAX ? NULL : wf__group_add(s, at, &shape);
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
            bool view = s->ir->node[r].op == WF__VIEW;
            uint32_t count = wf__operands(s->ir, &s->ir->node[r], operand);
            for (uint32_t i = 0; i < count; ++i)
                s->cone[operand[i]] |= view && i == 0 ? WF__VIEWED : s->cone[r];
        }
    } while (s->in && wf__mark_loops(s->ir, s->cone, s->in, s->last));
}

bool wf__split_touch(splitter *s, const touch *t)
{
    if (!wf__grow(&s->touch, &s->touch_cap, s->touch_n + 1, sizeof *s->touch))
        return wf__plan_no_memory(s->plan);
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
    wf__overlap o = wf__object_overlap(s->plan, s->bind, a, b);
    return o == WF__SAME && gather ? WF__PARTIAL : o;
}

/* A load before the store `root` that sees an earlier store: the two stores must not share a stage, so that between
 * them there is a moment to save what the load saw. */
static uint32_t after_seen_stores(splitter *s, wf__ref root, uint32_t bound)
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
                wf__split_overlap(s, t->object, s->ir->slot[m->a].object, false) != WF__APART) {
                bound = t->group + 1;
                note_cause(s, "the store that is seen by", r);
            }
        }
    }
    return bound;
}

/* Accumulations into one array by one join: in which order they come does not matter. But where no points of one meet,
 * those of the other may meet them: then each is better, and in debug mode only right, by itself. */
static bool commute(const splitter *s, const wf__node *n, const touch *t)
{
    const wf__node *m = &s->ir->node[t->node];
    if (!t->store || n->op != WF__ACCUM || m->op != WF__ACCUM || wf__node_join(n) != wf__node_join(m))
        return false;
    if (wf__is_alone(n) || wf__is_alone(m))
        return wf__are_parts(s->ir, n, m);
    return s->ir->slot[n->a].object == t->object;
}

uint32_t wf__split_bound(splitter *s)
{
    uint32_t bound = 0;
    s->cause[0] = 0;
    for (wf__ref r = 1; r <= s->last; ++r) {
        if (!s->cone[r])
            continue;
        const wf__node *m = &s->ir->node[r];
        bool elsewhere = r != s->root && wf__is_cut(s, r);
        /* a state may be used right there */
        uint32_t home = elsewhere ? s->home[r] + (m->op != WF__STATE || s->cone[r] & WF__VIEWED) : 0;
        if (home > bound) {
            bound = home;
            note_cause(s, "the result of", r);
        }
        for (uint32_t i = 0; m->op == WF__LOAD && i < s->touch_n; ++i) {
            const touch *t = &s->touch[i];
            if (t->store && t->node < r && t->group + 1 > bound &&
                wf__split_overlap(s, t->object, s->ir->slot[m->a].object, false) != WF__APART) {
                bound = t->group + 1;
                note_cause(s, "what it reads:", t->node);
            }
        }
    }
    return bound;
}

uint32_t wf__split_effect_bound(splitter *s, wf__ref effect, uint32_t bound)
{
    const wf__node *n = &s->ir->node[effect];
    for (uint32_t i = 0; i < s->touch_n; ++i) {
        const touch *t = &s->touch[i];
        wf__overlap o = wf__split_overlap(s, t->object, s->ir->slot[n->a].object, t->gather || wf__by_index(n));
        bool together = o == WF__SAME && !(s->in && t->store && !t->early); /* else the order would be the wrong one */
        uint32_t least = o == WF__APART ? 0 : together || commute(s, n, t) ? t->group : t->group + 1;
        if (least > bound) {
            bound = least;
            note_cause(s, t->store ? "the earlier effect" : "the earlier read", t->node);
        }
    }
    return after_seen_stores(s, effect, bound);
}

/* Broadcasting can make spaces that no array has: what first has that shape is at fault. */
static bool countable(splitter *s, const wf_shape *shape)
{
    int64_t points;
    if (wf__shape_count(shape, &points))
        return true;
    wf__ref r = 1;
    while (r < s->last && (!s->live[r] || s->shape[r].rank != shape->rank ||
                           memcmp(s->shape[r].dim, shape->dim, (size_t)shape->rank * sizeof *shape->dim)))
        ++r;
    char text[160];
    wf_shape_text(shape, text, sizeof text);
    return wf__plan_fail_at(s->plan, WF_SECTION_CALL, s->ir, r, WF_ERR_SHAPE,
                            "%s: operands broadcast to %s, which has too many points", wf__function_of(&s->ir->node[r]),
                            text);
}

uint32_t wf__split_choose(splitter *s, uint32_t bound, const wf_shape *shape, wf__ref reduce)
{
    if (!countable(s, shape))
        return UINT32_MAX;
    for (uint32_t g = bound; g < s->group_n; ++g) {
        const group *to = &s->group[g];
        bool fits = !to->scan.on && (!reduce || !to->reduce_n || to->axes == s->ir->node[reduce].c);
        if (fits && to->shape.rank == shape->rank &&
            !memcmp(to->shape.dim, shape->dim, (size_t)shape->rank * sizeof *shape->dim)) {
            if (s->plan->why)
                explain_group(s, g, shape, false);
            return g;
        }
    }
    if (s->plan->why)
        explain_group(s, s->group_n, shape, true);
    return wf__group_add(s, s->group_n, shape) ? s->group_n - 1 : UINT32_MAX;
}

uint32_t wf__split_save_old(splitter *s, uint32_t g)
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
            wf__overlap o = wf__split_overlap(s, t->object, object, wf__split_gathers(s, r) || t->gather);
            bool behind = t->group < g || (t->early && t->group == g && !s->group[g].map[r]);
            bool late = o == WF__PARTIAL ? t->group <= g : o == WF__SAME && behind;
            if (late && t->group < first)
                first = t->group;
        }
        if (first == UINT32_MAX)
            continue;
        if (s->saved[r] == UINT32_MAX) {
            char name[WF__OBJECT_NAME];
            wf__plan_because(s->plan, "split",
                             "group %u becomes a copy of %s, because %%%u must see what it holds before %s",
                             (unsigned)first, wf__plan_object_name(s->plan, s->bind, object, name), (unsigned)r,
                             first == g ? "its own group changes it" : "an earlier group changes it");
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
        if (s->cone[r] && s->redirect[r] != UINT32_MAX)
            s->cone[r] |= WF__ANEW;
        if (!s->cone[r] || r == s->root || wf__is_cut(s, r))
            continue;
        uint32_t count = wf__operands(s->ir, &s->ir->node[r], operand);
        for (uint32_t i = 0; i < count; ++i)
            if (s->cone[operand[i]] & WF__ANEW)
                s->cone[r] |= WF__ANEW;
    }
    return g;
}

bool wf__split_note_loads(splitter *s, uint32_t g)
{
    for (wf__ref r = 1; r <= s->last; ++r) {
        const wf__node *m = &s->ir->node[r];
        if (s->cone[r] && m->op == WF__LOAD && s->redirect[r] == UINT32_MAX &&
            !add_touch(s, s->ir->slot[m->a].object, g, r, false, wf__split_gathers(s, r)))
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
            wf__split_overlap(s, target, s->ir->slot[m->a].object, wf__split_gathers(s, r)) == WF__PARTIAL)
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
               wf__split_note_loads(s, g) && add_touch(s, slot->object, g, root, true, false);
    /* through a temporary: the whole value first, then the array */
    char called[WF__CALLED];
    wf__plan_because(s->plan, "split", "%s goes through a temporary, because it reads this memory at other elements",
                     wf__split_called(s, root, called));
    uint32_t temp = wf__plan_add_temp(s->plan, n->dtype, &shape), source;
    if (temp == UINT32_MAX || !wf__split_store(s, &s->group[g], temp, n, slot->rank, s->group[g].map[n->c]) ||
        !wf__split_note_loads(s, g))
        return false;
    group *copy = wf__group_add(s, g + 1, &shape);
    if (!copy || !wf__split_slot(s, copy, temp, false, n->dtype, slot->rank, &source))
        return false;
    wf__ref value = wf__load(&copy->ir, source, 0, WF_BORDER_NONE, 0);
    return wf__split_store(s, copy, slot->object, n, slot->rank, value) &&
           add_touch(s, slot->object, g + 1, root, true, false);
}

static bool place_update(splitter *s, wf__ref root, uint32_t g)
{
    s->home[root] = g;
    return wf__group_update(s, &s->group[g], root) && wf__split_note_loads(s, g) &&
           add_touch(s, s->ir->slot[s->ir->node[root].a].object, g, root, true, true);
}

uint32_t wf__split_record(splitter *s, uint32_t g)
{
    memset(s->redirect, 0xff, s->ir->n * sizeof *s->redirect);
    g = wf__split_save_old(s, g);
    return g != UINT32_MAX && wf__group_record_cone(s, &s->group[g]) ? g : UINT32_MAX;
}

/* A pure node that later stages find in a temp. */
static bool place_stored(splitter *s, wf__ref root, uint32_t g)
{
    const wf__node *n = &s->ir->node[root];
    wf__ref value = 0;
    bool ok = wf__record_at(s, &s->group[g], root, 0, &value);
    s->home[root] = g;
    s->result[root] = ok ? wf__plan_add_temp(s->plan, n->dtype, &s->shape[root]) : UINT32_MAX;
    return s->result[root] != UINT32_MAX &&
           wf__split_store(s, &s->group[g], s->result[root], n, s->shape[root].rank, value) &&
           wf__split_note_loads(s, g);
}

static bool place(splitter *s, wf__ref root)
{
    const wf__node *n = &s->ir->node[root];
    bool reduces = n->op == WF__REDUCE;
    s->root = s->last = root;
    s->in = 0;
    ++s->era;
    memset(s->cone, 0, s->ir->n);
    s->cone[root] = WF__DIRECT;
    wf__split_spread(s);
    uint32_t bound = wf__split_bound(s);
    if (n->op == WF__SCAN)
        return wf__split_scan(s, root, bound);
    if (writes(n))
        bound = wf__split_effect_bound(s, root, bound);
    uint32_t g = wf__split_choose(s, bound, &s->shape[reduces ? n->a : root], reduces ? root : 0);
    if (g != UINT32_MAX)
        g = wf__split_record(s, g);
    return g != UINT32_MAX && (reduces           ? wf__split_reduce(s, root, g) && wf__split_note_loads(s, g)
                               : s->stored[root] ? place_stored(s, root, g)
                               : wf__by_index(n) ? place_update(s, root, g)
                                                 : place_store(s, root, g));
}

/* ---- groups become stages ---- */
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
    stage->scan = g->scan;
    stage->recorded = g->ir;
    stage->view = g->view;
    stage->view_n = g->view_n;
    g->view = NULL;
    bool ok = g->ir.status == WF_OK || wf__plan_no_memory(s->plan);
    if (ok && g->reduce_n)
        ok = wf__split_reduced(s, g);
    g->ir = (wf__ir){ 0 };
    return ok;
}

/* ---- the passes ---- */
bool wf__pass_shapes(wf__planning *p)
{
    splitter *s = p->split = wf__alloc0(sizeof *s);
    uint32_t n = p->rec->ir.n;
    if (!s)
        return wf__plan_no_memory(p->plan);
    *s = (splitter){ .plan = p->plan, .rec = p->rec, .ir = &p->rec->ir, .bind = p->bind };
    s->live = wf__alloc0(n);
    s->shape = wf__alloc0(n * sizeof *s->shape);
    s->cone = wf__alloc0(n);
    s->home = wf__alloc(n * sizeof *s->home);
    s->result = wf__alloc0(n * sizeof *s->result);
    s->wide = wf__alloc0(n);
    s->redirect = wf__alloc(n * sizeof *s->redirect);
    s->saved = wf__alloc(n * sizeof *s->saved);
    s->stored = wf__alloc0(n);
    s->placed = wf__alloc0(n);
    s->at = wf__alloc0(n * sizeof *s->at);
    if (!s->live || !s->shape || !s->cone || !s->home || !s->result || !s->wide || !s->redirect || !s->saved ||
        !s->stored || !s->placed || !s->at)
        return wf__plan_no_memory(p->plan);
    memset(s->home, 0xff, n * sizeof *s->home);
    memset(s->saved, 0xff, n * sizeof *s->saved);
    return infer(s);
}

bool wf__pass_dead_effects(wf__planning *p)
{
    splitter *s = p->split;
    for (wf__ref r = 1; r < s->ir->n; ++r)
        s->live[r] = wf__op_is_effect(s->ir->node[r].op);
    wf__mark_live(s->ir, s->live);
    return ((!s->ir->loops || wf__split_find_blocks(s)) && wf__split_hide(s) &&
            (!s->ir->loops || wf__split_find_leaves(s))) ||
           wf__plan_no_memory(p->plan);
}

bool wf__pass_stored_views(wf__planning *p)
{
    wf__choose_stored(p->split);
    return true;
}

bool wf__pass_split(wf__planning *p)
{
    splitter *s = p->split;
    bool ok = true;
    for (wf__ref r = 1; ok && r < s->ir->n; ++r) {
        bool blocked = s->block && s->block[r];
        if (s->live[r] && blocked && s->block[r] == r)
            ok = wf__split_block(s, r);
        else if (s->live[r] && !blocked && !s->placed[r] && is_root(s, r))
            ok = place(s, r);
    }
    if (ok && s->group_n)
        s->group[0].ir.hidden += s->hidden; /* those of no kernel */
    for (uint32_t g = 0; ok && g < s->group_n; ++g)
        ok = finish(s, &s->group[g]);
    return ok;
}

void wf__split_print(const wf__planning *p, wf__str *out)
{
    const splitter *s = p->split;
    wf__print(s->ir, out);
    for (wf__ref r = 1; r < s->ir->n; ++r) {
        const wf__node *n = &s->ir->node[r];
        char shape[160];
        bool effect = wf__op_is_effect(n->op), known = !effect && wf__op_has_value(n->op) && s->shape[r].rank;
        wf_shape_text(&s->shape[r], shape, sizeof shape);
        if (known || s->stored[r])
            wf__str_addf(out, "# %%%u: shape %s%s\n", (unsigned)r, shape,
                         s->stored[r] ? ", stored in a temporary" : "");
    }
}

void wf__split_end(wf__planning *p)
{
    splitter *s = p->split;
    if (!s)
        return;
    for (uint32_t g = 0; g < s->group_n; ++g)
        wf__group_free(&s->group[g]);
    wf__free(s->group);
    wf__free(s->touch);
    wf__free(s->shape);
    wf__free(s->cone);
    wf__free(s->home);
    wf__free(s->result);
    wf__free(s->wide);
    wf__free(s->redirect);
    wf__free(s->saved);
    wf__free(s->live);
    wf__free(s->block);
    wf__free(s->leaves);
    wf__free(s->stored);
    wf__free(s->placed);
    wf__free(s->at);
    wf__free(s);
    p->split = NULL;
}
