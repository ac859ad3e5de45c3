/* loop_axes.c - makes axes of the loops of a section that runs once for each block. Points of a block see each other's
 * work only between sections. So a section is often a loop that fills scratch or empties it, with independent turns.
 * Each turn then becomes a point of the stage. Lanes go along turns instead of blocks, and touch neighbours in memory.
 *
 * The pass applies to nested loops that contain all effects of the section, count from a number to a number, change
 * nothing else from turn to turn, write other elements in each turn, and write nothing that the section reads.
 */
#include "ir/analyse/affine.h"
#include "ir/pass/pass.h"
#include "plan/plan.h"
#include <stdlib.h>

typedef struct level { /* a loop that becomes an axis */
    wf__ref loop, end, counter, guard;
    int64_t first, step, count;
} level;

typedef struct form { /* a value as an affine function of the axes, plus a part that is the same in all turns */
    int64_t coef[WF_MAX_RANK];
    bool known;
} form;

typedef struct turns {
    const wf__plan *plan;
    const wf__bind *bind;
    const wf__ir *in;
    uint8_t *live;
    wf__ref *next; /* [nodes] the NEXT of a STATE */
    form *form;    /* [nodes] */
    level at[WF_MAX_RANK];
    int levels;
} turns;

/* Returns the value before the loop of a state that no turn changes; of other nodes, the node. */
static wf__ref origin_of(const turns *t, wf__ref r)
{
    const wf__ir *in = t->in;
    while (in->node[r].op == WF__STATE && t->next[r] && in->node[t->next[r]].b == r)
        r = in->node[r].b;
    return r;
}

static bool number_of(const turns *t, wf__ref r, int64_t *out)
{
    const wf__node *n = &t->in->node[origin_of(t, r)];
    if (n->op == WF__DIM) {
        uint32_t object = t->in->slot[n->a].object;
        *out = object < t->plan->objects ? t->bind[object].dim[n->b]
                                         : t->plan->temp[object - t->plan->objects].shape.dim[n->b];
        return true;
    }
    *out = (int64_t)wf__bits(n);
    return n->op == WF__CONST;
}

/* True if the condition holds in every turn of the loops found so far. */
static bool always(const turns *t, wf__ref condition)
{
    int64_t number;
    condition = origin_of(t, condition);
    for (int k = 0; k < t->levels; ++k)
        if (condition == t->at[k].guard)
            return true;
    return number_of(t, condition, &number) && number;
}

/* ---- finding the loops ---- */
/* True if the state's next value is the state plus a number, the step. */
static bool is_counter(const turns *t, wf__ref state, level *l)
{
    const wf__ir *in = t->in;
    const wf__node *more = &in->node[in->node[t->next[state]].b];
    if (l->counter || more->op != WF__OP_add || more->dtype != WF_I64)
        return false;
    bool left = origin_of(t, more->a) == state;
    l->counter = state;
    return (left || origin_of(t, more->b) == state) && number_of(t, left ? more->b : more->a, &l->step) &&
           number_of(t, in->node[state].b, &l->first) && l->step > 0;
}

/* Sets *last to the number that the counter stays below: the guard holds in the next turn if it holds in this one
 * and the next value of the counter is less. Returns false for other guards. */
static bool counts_to(const turns *t, const level *l, int64_t *last)
{
    const wf__ir *in = t->in;
    const wf__node *n = &in->node[in->node[t->next[l->guard]].b];
    if (n->op == WF__OP_and) {
        bool left = origin_of(t, n->a) == l->guard;
        if (!left && origin_of(t, n->b) != l->guard)
            return false;
        n = &in->node[left ? n->b : n->a];
    }
    wf__ref then = in->node[t->next[l->counter]].b;
    return (n->op == WF__OP_lt && n->a == then && number_of(t, n->b, last)) ||
           (n->op == WF__OP_gt && n->b == then && number_of(t, n->a, last));
}

static bool describe(turns *t, wf__ref loop, level *l)
{
    enum { MOST = 1 << 30 };
    const wf__ir *in = t->in;
    int64_t last, reach;
    *l = (level){ .loop = loop, .end = wf__loop_end(in, loop) };
    for (wf__ref s = loop + 1; s < wf__loop_body(in, loop); ++s) {
        if (!t->live[s] || origin_of(t, s) != s)
            continue;
        if (!t->next[s] || (in->node[s].aux && (l->guard || !always(t, in->node[s].b))))
            return false;
        if (in->node[s].aux)
            l->guard = s;
        else if (!is_counter(t, s, l))
            return false;
    }
    if (!l->guard || !l->counter || !counts_to(t, l, &last) || __builtin_sub_overflow(last, l->first, &reach) ||
        reach < 1 || reach > MOST)
        return false;
    l->count = (reach - 1) / l->step + 1;
    return true;
}

/* Returns the loop that contains all effects from `from` to `to`; 0 = none. */
static wf__ref only_loop(const turns *t, wf__ref from, wf__ref to)
{
    wf__ref found = 0;
    for (wf__ref r = from; r < to; ++r) {
        if (!t->live[r])
            continue;
        if (wf__op_is_store(t->in->node[r].op))
            return 0;
        if (t->in->node[r].op != WF__LOOP)
            continue;
        wf__ref end = wf__loop_end(t->in, r);
        bool effects = false;
        for (wf__ref q = r; q < end; ++q)
            effects = effects || (t->live[q] && wf__op_is_store(t->in->node[q].op));
        if (effects && (found || t->in->node[r].aux))
            return 0;
        found = effects ? r : found;
        r = end;
    }
    return found;
}

/* True if nothing after the loop uses a value that the loop computes. */
static bool keeps_to_itself(const turns *t, const level *l)
{
    for (wf__ref r = l->end + 1; r < t->in->n; ++r) {
        wf__ref operand[WF__MAX_OPERANDS];
        uint32_t count = t->live[r] ? wf__operands(t->in, &t->in->node[r], operand) : 0;
        for (uint32_t i = 0; i < count; ++i)
            if (operand[i] > l->loop && operand[i] <= l->end && origin_of(t, operand[i]) >= l->loop)
                return false;
    }
    return true;
}

static void find_levels(turns *t)
{
    wf__ref from = 1, to = t->in->n;
    level l;
    while (t->in->rank + t->levels < WF_MAX_RANK) {
        wf__ref loop = only_loop(t, from, to);
        if (!loop || !describe(t, loop, &l) || !keeps_to_itself(t, &l))
            return;
        t->at[t->levels++] = l;
        from = wf__loop_body(t->in, loop);
        to = l.end;
    }
}

/* ---- whether turns depend on each other ---- */
static bool is_same_in_all(const turns *t, wf__ref r)
{
    bool same = t->form[r].known;
    for (int k = 0; k < t->levels; ++k)
        same = same && !t->form[r].coef[k];
    return same;
}

/* Finds the form of a pure operation. The result is the same in all turns if all operands are. Otherwise the
 * operation must be affine. */
static void find_form(const turns *t, wf__ref r)
{
    const wf__node *n = &t->in->node[r];
    wf__ref operand[WF__MAX_OPERANDS];
    uint32_t count = wf__operands(t->in, n, operand);
    form *f = &t->form[r];
    bool same = true, known = n->dtype == WF_I64 && (count == 1 || count == 2);
    for (uint32_t i = 0; i < count; ++i) {
        same = same && is_same_in_all(t, operand[i]);
        known = known && t->form[operand[i]].known;
    }
    f->known = same || known;
    if (same || !known)
        return;
    const form *a = &t->form[operand[0]], *b = &t->form[operand[count - 1]];
    int64_t x, y;
    bool x_known = number_of(t, operand[0], &x), y_known = number_of(t, operand[count - 1], &y);
    for (int k = 0; k < t->levels && f->known; ++k)
        f->known = wf__growth(n->op, a->coef[k], b->coef[k], x_known ? &x : NULL, y_known ? &y : NULL, &f->coef[k]);
}

static void find_forms(turns *t)
{
    const wf__ir *in = t->in;
    for (wf__ref r = 1; r < in->n; ++r) {
        const wf__node *n = &in->node[r];
        form *f = &t->form[r];
        wf__ref from = origin_of(t, r);
        if (r < t->at[0].loop || n->op == WF__CONST || n->op == WF__PARAM || n->op == WF__INDEX ||
            n->op == WF__EXTENT || n->op == WF__DIM) {
            f->known = true;
        } else if (from != r) {
            *f = t->form[from];
        } else if (wf__op_is_pure(n->op)) {
            find_form(t, r);
        }
        for (int k = 0; k < t->levels; ++k)
            if (r == t->at[k].counter) {
                f->known = true;
                f->coef[k] = t->at[k].step;
            }
    }
}

static int64_t size_of(int64_t coef) { return coef == INT64_MIN ? INT64_MAX : llabs(coef); }

/* Marks the axes along which an index never repeats. It is like a number whose digits are the axes: each coefficient
 * exceeds the range of all smaller ones together. */
static void tell_apart(const turns *t, const form *f, bool *apart)
{
    bool counted[WF_MAX_RANK] = { false };
    int64_t reach = 0;
    for (;;) {
        int least = -1;
        for (int k = 0; k < t->levels; ++k)
            if (f->coef[k] && !counted[k] && (least < 0 || size_of(f->coef[k]) < size_of(f->coef[least])))
                least = k;
        if (least < 0)
            break;
        int64_t size = size_of(f->coef[least]), more;
        if (size <= reach || !wf__mul_i64(size, t->at[least].count - 1, &more) ||
            __builtin_add_overflow(reach, more, &reach))
            return;
        counted[least] = true;
    }
    for (int k = 0; k < t->levels; ++k)
        apart[k] = apart[k] || counted[k];
}

static bool writes_other_elements(const turns *t, const wf__node *n)
{
    bool apart[WF_MAX_RANK] = { false };
    for (uint32_t i = 0; i < wf__tuple_len(t->in, n->b); ++i) {
        const form *f = &t->form[wf__tuple_at(t->in, n->b)[i]];
        if (f->known)
            tell_apart(t, f, apart);
    }
    for (int k = 0; k < t->levels; ++k)
        if (!apart[k])
            return false;
    return true;
}

/* True if two values are the same. Both branches of a condition have nodes of their own for equal values. */
static bool is_same(const turns *t, wf__ref x, wf__ref y, int depth)
{
    const wf__node *a = &t->in->node[origin_of(t, x)], *b = &t->in->node[origin_of(t, y)];
    if (a == b)
        return true;
    if (a->op != b->op || a->dtype != b->dtype || !depth)
        return false;
    if (a->op == WF__INDEX || a->op == WF__EXTENT || a->op == WF__PARAM)
        return a->a == b->a;
    if (a->op == WF__CONST)
        return wf__bits(a) == wf__bits(b);
    wf__ref of_a[WF__MAX_OPERANDS], of_b[WF__MAX_OPERANDS];
    bool same = wf__op_is_pure(a->op);
    uint32_t n = same ? wf__operands(t->in, a, of_a) : 0;
    if (same)
        wf__operands(t->in, b, of_b);
    for (uint32_t i = 0; i < n && same; ++i)
        same = is_same(t, of_a[i], of_b[i], depth - 1);
    return same;
}

static bool is_same_element(const turns *t, const wf__node *a, const wf__node *b)
{
    enum { DEPTH = 8 };
    uint32_t n = wf__tuple_len(t->in, a->b);
    bool same = a->op == b->op && a->a == b->a && wf__tuple_len(t->in, b->b) == n;
    for (uint32_t i = 0; i < n && same; ++i)
        same = is_same(t, wf__tuple_at(t->in, a->b)[i], wf__tuple_at(t->in, b->b)[i], DEPTH);
    return same;
}

/* True if the effect may run for the turns in any order. Accumulations in other arrays than scratch come from several
 * blocks, so that their join must allow any order as well. */
static bool is_free(const turns *t, wf__ref r)
{
    const wf__node *n = &t->in->node[r];
    bool any_order = n->op == WF__STORE || t->in->slot[n->a].scratch || wf__any_order(n->dtype, wf__node_join(n));
    if ((n->op != WF__STORE && n->op != WF__ACCUM) || !any_order || !writes_other_elements(t, n))
        return false;
    for (wf__ref q = 1; q < t->in->n; ++q) {
        const wf__node *m = &t->in->node[q];
        if (t->live[q] && wf__op_is_access(m->op) &&
            wf__object_overlap(t->plan, t->bind, t->in->slot[n->a].object, t->in->slot[m->a].object) != WF__APART &&
            !is_same_element(t, n, m))
            return false;
    }
    return true;
}

static bool are_free(const turns *t)
{
    for (wf__ref r = 1; r < t->in->n; ++r)
        if (t->live[r] && wf__op_is_store(t->in->node[r].op) && !is_free(t, r))
            return false;
    return true;
}

/* ---- points in place of turns ---- */
static wf__ref of_turn(const turns *t, const level *l, int axis, wf__ref state, const wf__ref *map, wf__ir *out)
{
    if (state == l->guard)
        return wf__const_bits(out, WF_BOOL, 1);
    if (state != l->counter)
        return map[t->in->node[state].b];
    wf__ref step = wf__const_bits(out, WF_I64, (uint64_t)l->step),
            first = wf__const_bits(out, WF_I64, (uint64_t)l->first);
    return wf__op2(out, WF__OP_add, wf__op2(out, WF__OP_mul, wf__index(out, axis), step), first);
}

static wf__ref point_node(wf__rewriter *w, wf__ref r)
{
    const turns *t = w->user;
    const wf__ir *in = w->in;
    const wf__node *n = &in->node[r];
    for (int k = 0; k < t->levels; ++k) {
        const level *l = &t->at[k];
        if (n->op == WF__STATE && n->a == l->loop)
            return of_turn(t, l, in->rank + k, r, w->map, w->out);
        if (r == l->loop || r == l->end || (n->op == WF__NEXT && in->node[n->a].a == l->loop))
            return 0;
    }
    return wf__copy_node(in, r, w->map, w->out);
}

static bool rewrite(turns *t, wf__ir *out)
{
    wf__ir_init(out, t->in->rank + t->levels, t->in->flags);
    return wf__rewrite(&(wf__rewriter){ .in = t->in, .out = out, .visit = point_node, .user = t, .live = t->live });
}

bool wf__loops_to_axes(wf__plan *plan, const wf__bind *bind, wf__ir *in, wf_shape *axes)
{
    wf__ir out = { 0 };
    *axes = (wf_shape){ 0 };
    if (!in->loops || in->flags & WF__KEEP_DEAD || !(in->flags & WF_FLAG_LOOP_OPT))
        return true;
    turns t = { .plan = plan, .bind = bind, .in = in };
    t.live = wf__alloc0(in->n);
    t.next = wf__alloc0(in->n * sizeof *t.next);
    t.form = wf__alloc0(in->n * sizeof *t.form);
    bool ok = t.live && t.next && t.form;
    for (wf__ref r = 1; ok && r < in->n; ++r)
        if (in->node[r].op == WF__NEXT)
            t.next[in->node[r].a] = r;
    if (ok) {
        wf__mark_effects(in, t.live);
        wf__mark_live(in, t.live);
        find_levels(&t);
    }
    if (ok && t.levels)
        find_forms(&t);
    bool independent = ok && t.levels && are_free(&t);
    if (ok && !t.levels)
        wf__plan_because(
            plan, "loops to axes",
            "no loop of a section becomes an axis, because no counted loop has all effects of the section");
    else if (ok)
        wf__plan_because(plan, "loops to axes", "nested loops of a section (%d) %s", t.levels,
                         independent ? "become axes, because their turns are independent"
                                     : "stay loops, because their turns may depend on each other");
    if (independent) {
        ok = rewrite(&t, &out);
        for (int k = 0; k < t.levels; ++k)
            axes->dim[axes->rank++] = t.at[k].count;
        wf__ir_free(in);
        *in = out;
    }
    wf__free(t.live);
    wf__free(t.next);
    wf__free(t.form);
    return ok || wf__plan_fail_in(plan, in);
}
