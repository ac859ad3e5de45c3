/* choose_group.c - the earliest group that a root may join, and copies of what changes before the root reads it. */
#include "plan/split/split.h"
#include <stdio.h>

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

/* Notes why the root cannot be in an earlier group: `before`, the name of node r, and `after`. */
static void note_cause(splitter *s, const char *before, wf__ref r, const char *after)
{
    char called[WF__CALLED];
    if (s->plan->why)
        snprintf(s->cause, sizeof s->cause, "%s %.100s%s", before, wf__split_called(s, r, called), after);
}

static void explain_group(const splitter *s, uint32_t g, const wf_shape *shape, bool is_new)
{
    char text[WF__CALLED], of[160];
    wf_shape_text(shape, of, sizeof of);
    if (s->root)
        wf__split_called(s, s->root, text);
    else
        snprintf(text, sizeof text, "a part of block %%%u", (unsigned)s->in);
    wf__plan_explain(s->plan, "split", "%s %s group %u, of shape %s%s%s", text, is_new ? "starts" : "joins",
                     (unsigned)g, of, *s->cause ? "; it cannot run earlier, because " : "", s->cause);
}

/* ---- the earliest group ---- */
/* Adds a stage before group `at` that copies object `from` into a new temporary. */
static uint32_t snapshot(splitter *s, uint32_t at, uint32_t from)
{
    const wf__bind *b = &s->bind[from];
    wf_shape shape = wf__bind_shape(b);
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

/* Spreads marks along the loops of the block. Tapes that it uses are computed as a whole: other blocks of a stage use the
 * same ones. */
static bool mark_loops(splitter *s)
{
    bool changed = wf__mark_loops(s->ir, s->cone, s->in, s->last);
    for (wf__ref r = 1; r < s->in; ++r) {
        const wf__ref end = s->tape[r] ? wf__loop_end(s->ir, r) : r;
        bool any = false;
        for (wf__ref q = r; q < end && !any; ++q)
            any = s->cone[q];
        for (wf__ref q = r; q <= end && any; ++q)
            if (s->live[q] && !s->cone[q]) {
                s->cone[q] = WF__DIRECT;
                changed = true;
            }
        r = end;
    }
    return changed;
}

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
    } while (s->in && mark_loops(s));
}

bool wf__split_touch(splitter *s, const touch *t)
{
    if (!wf__grow(&s->touch, &s->touch_cap, s->touch_n + 1, sizeof *s->touch))
        return wf__plan_no_memory(s->plan);
    s->touch[s->touch_n++] = *t;
    return true;
}

bool wf__split_add_touch(splitter *s, uint32_t object, uint32_t g, wf__ref node, bool store, bool gather)
{
    const touch t = { .object = object, .group = g, .node = node, .store = store, .gather = gather };
    return wf__split_touch(s, &t);
}

wf__overlap wf__split_overlap(const splitter *s, uint32_t a, uint32_t b, bool gather)
{
    wf__overlap o = wf__object_overlap(s->plan, s->bind, a, b);
    return o == WF__SAME && gather ? WF__PARTIAL : o;
}

/* Raises the bound of store `root` if a load before it sees an earlier store. The two stores must not share a stage, so
 * that a copy between them can save what the load sees. */
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
                note_cause(s, "it changes memory from which", r, " reads an earlier store");
            }
        }
    }
    return bound;
}

/* True for accumulations into one array by one join, whose order does not matter. An accumulation without conflicts
 * between points may conflict with another accumulation, and so stays in a stage of its own. */
static bool commute(const splitter *s, const wf__node *n, const touch *t)
{
    const wf__node *m = &s->ir->node[t->node];
    if (!t->store || n->op != WF__ACCUM || m->op != WF__ACCUM || wf__node_join(n) != wf__node_join(m))
        return false;
    if (wf__has_no_conflict(n) || wf__has_no_conflict(m))
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
        /* The group that computes a state may use the state's value. Other results are in memory, for later groups. */
        uint32_t home = elsewhere ? s->home[r] + (m->op != WF__STATE || s->cone[r] & WF__VIEWED) : 0;
        if (home > bound) {
            bound = home;
            note_cause(s, "it uses the result of", r, "");
        }
        for (uint32_t i = 0; m->op == WF__LOAD && i < s->touch_n; ++i) {
            const touch *t = &s->touch[i];
            if (t->store && t->node < r && t->group + 1 > bound &&
                wf__split_overlap(s, t->object, s->ir->slot[m->a].object, false) != WF__APART) {
                bound = t->group + 1;
                note_cause(s, "it reads memory that", t->node, " changes");
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
        /* A stage runs the effects of a block before the stores at its end. */
        bool together = o == WF__SAME && !(s->in && t->store && !t->early);
        uint32_t least = o == WF__APART ? 0 : together || commute(s, n, t) ? t->group : t->group + 1;
        if (least > bound) {
            bound = least;
            note_cause(s, "it changes memory that", t->node, t->store ? " changes first" : " reads first");
        }
    }
    return after_seen_stores(s, effect, bound);
}

/* Returns false, and sets the plan's error, if a group of this shape has too many points to count. Broadcasting can make
 * larger spaces than any array. The error names the first node of this shape. */
static bool check_points_of_group(splitter *s, const wf_shape *shape)
{
    int64_t points;
    if (wf__shape_count(shape, &points))
        return true;
    wf__ref r = 1;
    while (r < s->last && (!s->live[r] || !wf__same_shape(&s->shape[r], shape)))
        ++r;
    char text[160];
    wf_shape_text(shape, text, sizeof text);
    return wf__plan_fail_at(s->plan, WF_SECTION_CALL, s->ir, r, WF_ERR_SHAPE,
                            "%s: operands broadcast to %s, which has too many points", wf__function_of(&s->ir->node[r]),
                            text);
}

uint32_t wf__split_find(const splitter *s, uint32_t bound, const wf_shape *shape, wf__ref reduce)
{
    for (uint32_t g = bound; g < s->group_n; ++g) {
        const group *to = &s->group[g];
        bool fits = !to->scan.on && (!reduce || !to->reduce_n || to->axes == s->ir->node[reduce].c);
        if (fits && wf__same_shape(&to->shape, shape))
            return g;
    }
    return s->group_n;
}

uint32_t wf__split_choose(splitter *s, uint32_t bound, const wf_shape *shape, wf__ref reduce)
{
    if (!check_points_of_group(s, shape))
        return UINT32_MAX;
    const uint32_t g = wf__split_find(s, bound, shape, reduce);
    if (s->plan->why)
        explain_group(s, g, shape, g == s->group_n);
    if (g < s->group_n)
        return g;
    return wf__group_add(s, s->group_n, shape) ? s->group_n - 1 : UINT32_MAX;
}

wf__overlap wf__split_access_overlap(const splitter *s, wf__ref effect, wf__ref load)
{
    const wf__node *node = s->ir->node;
    bool gather = wf__by_index(&node[effect]) || wf__split_gathers(s, load);
    return wf__split_overlap(s, s->ir->slot[node[effect].a].object, s->ir->slot[node[load].a].object, gather);
}

/* As wf__reads_other_points for an index space, but indices are not compared. */
bool wf__split_reads_old(splitter *s, wf__ref load)
{
    bool before = s->block[load] != s->in, elsewhere = false;
    wf__ref last = wf__turns_end(s->ir, load); /* a store further down the loop precedes the load of the next turn */
    if (last < load)
        last = load;
    for (wf__ref e = s->in; e <= s->last; ++e) {
        wf__overlap o = s->live[e] && wf__op_is_effect(s->ir->node[e].op) && s->cone[e]
                            ? wf__split_access_overlap(s, e, load)
                            : WF__APART;
        if (o == WF__APART)
            continue;
        if (s->ir->node[e].op == WF__ACCUM)
            return true;
        if (!before && e < last)
            return false;
        elsewhere = elsewhere || o != WF__SAME;
    }
    return elsewhere;
}

/* True if a tape has to be computed again, because it reads what a later store has changed. */
static bool is_anew(const splitter *s, wf__ref tape)
{
    wf__ref operand[WF__MAX_OPERANDS];
    bool anew = false;
    for (wf__ref r = tape, end = wf__loop_end(s->ir, tape); r <= end && !anew; ++r) {
        anew = s->cone[r] && s->redirect[r] != UINT32_MAX;
        for (uint32_t i = 0, count = s->cone[r] ? wf__operands(s->ir, &s->ir->node[r], operand) : 0; i < count; ++i)
            anew = anew || s->cone[operand[i]] & WF__ANEW;
    }
    return anew;
}

uint32_t wf__split_save_old(splitter *s, uint32_t g)
{
    const wf__node *n = &s->ir->node[s->root];
    bool redirected = false;
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
                             "group %u copies %s to a temporary, because %%%u needs elements that %s overwrites",
                             (unsigned)first, wf__plan_object_name(s->plan, s->bind, object, name), (unsigned)r,
                             first == g ? "its own group" : "an earlier group");
            s->saved[r] = snapshot(s, first, object);
            if (s->saved[r] == UINT32_MAX || !wf__split_add_touch(s, object, first, r, false, false))
                return UINT32_MAX;
            ++g;
        }
        s->redirect[r] = s->saved[r];
        redirected = true;
    }
    /* Nodes that use a redirected load have other values than for earlier roots. They are recorded anew. */
    wf__ref operand[WF__MAX_OPERANDS];
    for (wf__ref r = 1; redirected && r <= s->last; ++r) {
        if (s->cone[r] && s->redirect[r] != UINT32_MAX)
            s->cone[r] |= WF__ANEW;
        if (s->in && s->tape[r] && s->cone[r] && is_anew(s, r))
            for (wf__ref q = r; q <= wf__loop_end(s->ir, r); ++q)
                s->cone[q] |= s->cone[q] ? WF__ANEW : 0;
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
            !wf__split_add_touch(s, s->ir->slot[m->a].object, g, r, false, wf__split_gathers(s, r)))
            return false;
    }
    return true;
}

uint32_t wf__split_record(splitter *s, uint32_t g)
{
    memset(s->redirect, 0xff, s->ir->n * sizeof *s->redirect);
    g = wf__split_save_old(s, g);
    return g != UINT32_MAX && wf__group_record_cone(s, &s->group[g]) ? g : UINT32_MAX;
}
