/* split.c - cuts an array graph into stages: kernels over one index space each.
 *
 * Roots are the assignments, updates by index and reductions, in program order. Each root joins the earliest stage of
 * its shape that comes after everything it depends on. Values between roots stay in registers, which fuses them. The
 * result of a reduction reaches later stages through a temporary of one element, that of an atomic operation through a
 * temporary of its shape. Memory hazards are resolved here:
 *   - A root that must see an earlier assignment goes to a later stage. A root that must not see an assignment goes to
 *     an earlier stage or the same one, since every stage reads before it writes. If dependencies forbid this, a copy
 *     saves the old contents.
 *   - An assignment with operands that overlap its target at other elements goes through a temporary.
 *   - An assignment by index, whose points may name any element, reads its operands from a copy.
 */
#include "plan/split/split.h"
#include <stdio.h>

static bool is_root(const splitter *s, wf__ref r)
{
    unsigned op = s->ir->node[r].op;
    return op == WF__STORE || wf__op_is_update(op) || wf__has_result(s, r);
}

static bool writes(const wf__node *root) { return wf__op_is_store(root->op); }

/* ---- shapes, with the extents of arrays ---- */
static bool meet(splitter *s, wf__ref r, const wf_shape *with)
{
    wf_shape *own = &s->shape[r];
    bool same = wf__same_shape(own, with);
    if (same || wf__broadcast(own, with, own))
        return true;
    char a[160], b[160];
    wf_shape_text(own, a, sizeof a);
    wf_shape_text(with, b, sizeof b);
    return wf__plan_fail_at(s->plan, WF_SECTION_CALL, s->ir, r, WF_ERR_SHAPE, "%s: shapes %s and %s do not broadcast",
                            wf__function_of(&s->ir->node[r]), a, b);
}

/* Widens the shape of a state to that of a value that it holds, or of a condition of its loop. Sets *wider if the shape
 * grows. */
static bool widen(splitter *s, wf__ref state, wf__ref by, bool *wider)
{
    const wf_shape before = s->shape[state], *now = &s->shape[state];
    bool ok = meet(s, state, &s->shape[by]);
    *wider = *wider || !wf__same_shape(&before, now);
    return ok;
}

/* Widens the states of a block, as loop.c does. A state that the block does not change may have any shape. */
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
        s->shape[r] = wf__bind_shape(&s->bind[s->ir->slot[n->a].object]);
    else if (n->op == WF__IOTA || n->op == WF__SCATTER)
        s->shape[r] = s->ir->shape[n->shape];
    if (n->op == WF__SCATTER)
        return true; /* place_scatter has the shape of the operands */
    /* The first operand of a view is the value, which may have another shape. */
    for (uint32_t i = n->op == WF__VIEW; i < count; ++i)
        if (!meet(s, r, &s->shape[operand[i]]))
            return false;
    if (n->op == WF__VIEW && !infer_view(s, r))
        return false;
    if (n->op == WF__REDUCE)
        s->shape[r] = wf__kept_shape(&s->shape[r], n->c);
    if (n->op == WF__STORE && !n->b) {
        wf_shape target = wf__bind_shape(&s->bind[s->ir->slot[n->a].object]), both;
        if (!wf__broadcast(&s->shape[r], &target, &both) || !wf__same_shape(&both, &target)) {
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

/* Repeats a block until its states no longer grow. */
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
               wf__split_note_loads(s, g) && wf__split_add_touch(s, slot->object, g, root, true, false);
    /* The whole value goes to a temporary first, and then to the array. */
    char called[WF__CALLED];
    wf__plan_because(s->plan, "split",
                     "%s goes through a temporary, because its value reads other elements of the same memory",
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
           wf__split_add_touch(s, slot->object, g + 1, root, true, false);
}

static bool place_update(splitter *s, wf__ref root, uint32_t g)
{
    s->home[root] = g;
    return wf__group_update(s, &s->group[g], root) && wf__split_note_loads(s, g) &&
           wf__split_add_touch(s, s->ir->slot[s->ir->node[root].a].object, g, root, true, true);
}

/* Places a pure node whose value goes to a temporary for later stages. */
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
    if (n->op == WF__SCATTER)
        return wf__split_place_scatter(s, root, bound);
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
/* Allocates the tables that have an entry for each node, as one block. */
static bool new_tables(splitter *s, uint32_t n)
{
    const struct {
        void *table; /* address of a pointer */
        size_t size; /* of an entry; the largest alignment comes first */
    } tables[] = {
#define TABLE(name) { &s->name, sizeof *s->name }
        TABLE(shape), TABLE(home), TABLE(result), TABLE(redirect), TABLE(saved),  TABLE(at),
        TABLE(live),  TABLE(cone), TABLE(wide),   TABLE(stored),   TABLE(placed),
#undef TABLE
    };
    size_t bytes = 0;
    for (size_t i = 0; i < WF__COUNT(tables); ++i)
        bytes += tables[i].size * n;
    char *at = s->tables = wf__alloc0(bytes);
    for (size_t i = 0; at && i < WF__COUNT(tables); ++i) {
        memcpy(tables[i].table, &at, sizeof at);
        at += tables[i].size * n;
    }
    return at != NULL;
}

bool wf__pass_shapes(wf__planning *p)
{
    splitter *s = p->split = wf__alloc0(sizeof *s);
    uint32_t n = p->rec->ir.n;
    if (!s)
        return wf__plan_no_memory(p->plan);
    *s = (splitter){ .plan = p->plan, .rec = p->rec, .ir = &p->rec->ir, .bind = p->bind };
    if (!new_tables(s, n))
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
    return wf__store_row_values(p->split) || wf__plan_no_memory(p->plan);
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
        s->group[0].ir.hidden += s->hidden; /* the first kernel's statistics have them */
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
    wf__free(s->tables);
    wf__free(s->block);
    wf__free(s->leaves);
    wf__free(s);
    p->split = NULL;
}
