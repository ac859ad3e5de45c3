/* stores.c - which elements the turns of a loop store and read.
 *
 * A store to an element that is the same in all turns is moved to after the loop (hoist.c). Other stores stay in the loop.
 * Their derivative is that of each turn, if no two turns store to one element: some index of the element grows by the same
 * number in each turn, other than 0.
 */
#include "ad/stores.h"
#include "ir/analyse/affine.h"
#include "ir/pass/pass.h"

enum { DEPTH = 12, MOST_TERMS = 6 }; /* operations that are looked through; terms of an index */

wf__ref wf__next_value(const wf__ir *ir, wf__ref state)
{
    wf__ref r = wf__loop_end(ir, ir->node[state].a);
    while (ir->node[--r].op == WF__NEXT)
        if (ir->node[r].a == state)
            return ir->node[r].b;
    return 0;
}

/* ---- loops around a node ---- */
wf__ref wf__loop_around(const wf__ir *ir, wf__ref r, wf__ref first)
{
    for (wf__ref q = r; q-- > first;) {
        if (ir->node[q].op == WF__END)
            q = ir->node[q].a;
        else if (ir->node[q].op == WF__LOOP)
            return q;
    }
    return 0;
}

bool wf__stores_in_loops(const wf__ir *ir, wf__ref first, wf__ref end)
{
    for (wf__ref r = first; r < end && ir->loops; ++r)
        if (wf__is_float_store(&ir->node[r]) && wf__loop_around(ir, r, first))
            return true;
    return false;
}

bool wf__writes(const wf__ir *ir, wf__ref first, wf__ref end, uint32_t object)
{
    for (wf__ref r = first; r < end; ++r)
        if (wf__op_is_store(ir->node[r].op) && wf__object_of(ir, &ir->node[r]) == object)
            return true;
    return false;
}

/* ---- values that are the same in all turns ---- */
static bool is_same(const wf__ir *ir, wf__ref r, wf__ref loop, int depth)
{
    const wf__node *n = &ir->node[r];
    wf__ref operand[WF__MAX_OPERANDS];
    if (r < loop)
        return true;
    if (!depth)
        return false;
    if (n->op == WF__STATE)
        return wf__next_value(ir, r) == r && is_same(ir, n->b, loop, depth - 1);
    if (n->op == WF__LOAD && (wf__when(ir, n) || wf__writes(ir, loop, wf__loop_end(ir, loop), wf__object_of(ir, n))))
        return false;
    bool leaf = n->op == WF__CONST || n->op == WF__PARAM || n->op == WF__INDEX || n->op == WF__EXTENT ||
                n->op == WF__DIM || n->op == WF__IOTA;
    if (!leaf && n->op != WF__LOAD && n->op != WF__VIEW && !(wf__op_is_pure(n->op) && n->op != WF__CHECK))
        return false;
    for (uint32_t i = 0, count = wf__operands(ir, n, operand); i < count; ++i)
        if (!is_same(ir, operand[i], loop, depth - 1))
            return false;
    return true;
}

bool wf__is_to_same(const wf__ir *ir, wf__ref store, wf__ref loop)
{
    const uint32_t tuple = ir->node[store].b;
    bool same = true;
    for (uint32_t i = 0; i < wf__tuple_len(ir, tuple); ++i)
        same = same && is_same(ir, wf__tuple_at(ir, tuple)[i], loop, DEPTH);
    return same;
}

/* ---- values that grow by a number in each turn ---- */
/* True if the condition holds at points for which `given` does. */
static bool follows(const wf__ir *ir, wf__ref condition, wf__ref given, int depth)
{
    const wf__node *n = &ir->node[condition], *m = &ir->node[given];
    if (condition == given || wf__is_const(ir, wf__as_literal(ir, condition), 1))
        return true;
    if (!depth || !given)
        return false;
    if (n->op == WF__OP_and && n->dtype == WF_BOOL)
        return follows(ir, n->a, given, depth - 1) && follows(ir, n->b, given, depth - 1);
    if (m->op == WF__OP_and && m->dtype == WF_BOOL)
        return follows(ir, condition, m->a, depth - 1) || follows(ir, condition, m->b, depth - 1);
    /* a point that has left a loop does not come back */
    return m->op == WF__STATE && m->aux && wf__is_conjunct(ir, wf__next_value(ir, given), given, DEPTH) &&
           follows(ir, condition, m->b, depth - 1);
}

/* True if the condition holds in all turns in which the store takes place, but for the last one of a point. */
static bool holds_at(const wf__ir *ir, wf__ref condition, wf__ref store, wf__ref loop, int depth)
{
    const wf__node *n = &ir->node[condition];
    if (n->op == WF__OP_and && n->dtype == WF_BOOL && depth)
        return holds_at(ir, n->a, store, loop, depth - 1) && holds_at(ir, n->b, store, loop, depth - 1);
    if (follows(ir, condition, ir->node[store].d, DEPTH))
        return true;
    wf__ref guard = 0;
    for (wf__ref s = loop + 1; s < wf__loop_body(ir, loop); ++s) {
        if (ir->node[s].aux && guard)
            return false;
        guard = ir->node[s].aux ? s : guard;
    }
    return guard && wf__is_conjunct(ir, wf__next_value(ir, guard), condition, DEPTH);
}

static bool grows(const wf__ir *ir, wf__ref r, wf__ref loop, wf__ref store, int depth, int64_t *by);

/* A state of the loop that each turn changes by a constant. */
static bool counts(const wf__ir *ir, wf__ref state, wf__ref loop, wf__ref store, int64_t *by)
{
    wf__ref next = wf__next_value(ir, state);
    const wf__node *n = &ir->node[next];
    if (n->op == WF__OP_select && n->c == state && holds_at(ir, n->a, store, loop, DEPTH))
        n = &ir->node[n->b];
    if (n->op != WF__OP_add && n->op != WF__OP_sub)
        return false;
    const bool second = n->op == WF__OP_add && n->b == state;
    wf__ref step = second ? n->a : n->b;
    if (!second && n->a != state)
        return false;
    const wf__node *k = &ir->node[wf__as_literal(ir, step)];
    if (k->op != WF__CONST || !wf__is_int(k->dtype) || wf__size(k->dtype) < 4)
        return false;
    *by = k->dtype == WF_I32 ? (int32_t)wf__bits(k) : (int64_t)wf__bits(k);
    *by = n->op == WF__OP_sub ? -*by : *by;
    return true;
}

/* Sets *by to what a value grows by from turn to turn of a loop, at a point that stores. False: not by a constant. */
static bool grows(const wf__ir *ir, wf__ref r, wf__ref loop, wf__ref store, int depth, int64_t *by)
{
    const wf__node *n = &ir->node[r];
    int64_t x, y = 0, a, b;
    *by = 0;
    if (is_same(ir, r, loop, depth))
        return true;
    if (!depth)
        return false;
    if (n->op == WF__STATE)
        return n->a == loop && counts(ir, r, loop, store, by);
    if (n->op == WF__OP_select) { /* a counter that the turn has changed before */
        const bool chosen = store ? follows(ir, n->a, ir->node[store].d, DEPTH) : holds_at(ir, n->a, 0, loop, DEPTH);
        return chosen && grows(ir, n->b, loop, store, depth - 1, by);
    }
    if (n->op == WF__CAST)
        return wf__is_int(n->dtype) && wf__is_int(wf__dtype(ir, n->a)) && wf__size(n->dtype) >= 4 &&
               grows(ir, n->a, loop, store, depth - 1, by);
    if (!wf__is_int(n->dtype) || !wf__op_is_pure(n->op) || wf__arity(n->op) > 2 ||
        !grows(ir, n->a, loop, store, depth - 1, &x) ||
        (wf__arity(n->op) == 2 && !grows(ir, n->b, loop, store, depth - 1, &y)))
        return false;
    const wf__node *p = &ir->node[wf__as_literal(ir, n->a)], *q = &ir->node[wf__as_literal(ir, n->b)];
    a = (int64_t)wf__bits(p);
    b = (int64_t)wf__bits(q);
    a = p->dtype == WF_I32 ? (int32_t)a : a;
    b = q->dtype == WF_I32 ? (int32_t)b : b;
    const bool two = wf__arity(n->op) == 2;
    return wf__growth(n->op, x, y, p->op == WF__CONST ? &a : NULL, two && q->op == WF__CONST ? &b : NULL, by);
}

/* True if no two turns of the loops around a store, from `first` on, store to one element. */
static bool has_own_elements(const wf__ir *ir, wf__ref store, wf__ref first)
{
    const wf__node *n = &ir->node[store];
    for (wf__ref loop = wf__loop_around(ir, store, first); loop; loop = wf__loop_around(ir, loop, first)) {
        bool own = ir->node[loop].aux;
        int64_t by;
        for (uint32_t i = 0; i < wf__tuple_len(ir, n->b) && !own; ++i)
            own = grows(ir, wf__tuple_at(ir, n->b)[i], loop, store, DEPTH, &by) && by;
        if (!own)
            return false;
    }
    return true;
}

/* ---- two effects on one array ---- */
typedef struct sum { /* start + the sum of factor[i] * term[i] */
    int64_t start, factor[MOST_TERMS];
    wf__ref term[MOST_TERMS];
    int n;
} sum;

static bool add_terms(const wf__ir *ir, wf__ref r, int64_t factor, int depth, sum *to)
{
    const wf__node *n = &ir->node[r];
    if (n->op == WF__CAST && wf__is_int(wf__dtype(ir, n->a)) && depth)
        return add_terms(ir, n->a, factor, depth - 1, to);
    if (n->op == WF__CONST) {
        int64_t x = n->dtype == WF_I32 ? (int32_t)wf__bits(n) : (int64_t)wf__bits(n);
        return wf__mul_i64(x, factor, &x) && !__builtin_add_overflow(to->start, x, &to->start);
    }
    if ((n->op == WF__OP_add || n->op == WF__OP_sub) && depth)
        return add_terms(ir, n->a, factor, depth - 1, to) &&
               add_terms(ir, n->b, n->op == WF__OP_sub ? -factor : factor, depth - 1, to);
    int k = 0;
    while (k < to->n && to->term[k] != r)
        ++k;
    if (k == MOST_TERMS)
        return false;
    to->term[k] = r;
    to->factor[k] = (k < to->n ? to->factor[k] : 0) + factor;
    to->n += k == to->n;
    return true;
}

/* Sets *by to i - k, if that is a constant. */
static bool difference(const wf__ir *ir, wf__ref i, wf__ref k, int64_t *by)
{
    sum x = { 0 };
    if (!add_terms(ir, i, 1, DEPTH, &x) || !add_terms(ir, k, -1, DEPTH, &x))
        return false;
    for (int t = 0; t < x.n; ++t)
        if (x.factor[t])
            return false;
    *by = x.start;
    return true;
}

/* True if two indices differ in all turns. */
static bool differ(const wf__ir *ir, wf__ref i, wf__ref k, wf__ref store, wf__ref first)
{
    int64_t step = 0, by, start;
    if (!difference(ir, i, k, &start))
        return false;
    for (wf__ref loop = wf__loop_around(ir, store, first); loop; loop = wf__loop_around(ir, loop, first)) {
        if (!grows(ir, i, loop, store, DEPTH, &by) || (by && step))
            return false;
        step = by ? by : step;
    }
    return start && (!step || start % step);
}

bool wf__are_apart(const wf__ir *ir, wf__ref one, wf__ref other, wf__ref first)
{
    const uint32_t a = ir->node[one].b, b = ir->node[other].b;
    bool apart = false;
    if (wf__loop_around(ir, one, first) != wf__loop_around(ir, other, first))
        return false;
    for (uint32_t i = 0; a && b && i < wf__tuple_len(ir, a) && !apart; ++i)
        apart = differ(ir, wf__tuple_at(ir, a)[i], wf__tuple_at(ir, b)[i], one, first);
    return apart;
}

bool wf__check_store(wf__ir *ir, wf__ref store, wf__ref first, wf__ref end, const char *function)
{
    const wf__node n = ir->node[store];
    for (wf__ref r = first; r < end; ++r)
        if (r != store && wf__op_is_store(ir->node[r].op) && wf__object_of(ir, &ir->node[r]) == wf__object_of(ir, &n) &&
            !wf__are_apart(ir, store, r, first)) {
            wf__ir_fail_at(ir, &n, WF_ERR_UNSUPPORTED,
                           "%s: %s in a loop that stays a loop has no derivative beside other effects on the array, "
                           "unless their indices show that they are to other elements",
                           function, wf__function_of(&n));
            return false;
        }
    if (has_own_elements(ir, store, first))
        return true;
    wf__ir_fail_at(ir, &n, WF_ERR_UNSUPPORTED,
                   "%s: %s in a loop that stays a loop has a derivative if all turns store to one element, or each "
                   "to another one: at an index that is the same in all turns, or that each turn changes by a constant",
                   function, wf__function_of(&n));
    return false;
}

/* ---- reads of what the same loop stores ---- */
/* True if `load` reads, in each turn of the loop right around both nodes, the element that `store` stores *turns turns
 * before, or after if that is negative. */
static bool reads_back(const wf__ir *ir, wf__ref load, wf__ref store, wf__ref loop, int64_t *turns)
{
    const wf__node *n = &ir->node[load], *m = &ir->node[store];
    int64_t step = 0, from = 0, by, distance;
    for (uint32_t i = 0; i < wf__tuple_len(ir, m->b); ++i) {
        const wf__ref at = wf__tuple_at(ir, m->b)[i];
        /* 0: the index grows in every turn, not only in those that store */
        if (!grows(ir, at, loop, 0, DEPTH, &by) || !difference(ir, at, wf__tuple_at(ir, n->b)[i], &distance))
            return false;
        if (by && step)
            return false;
        if (!by && distance)
            return false;
        step = by ? by : step;
        from = by ? distance : from;
    }
    if (!step || from % step)
        return false;
    *turns = from / step;
    return true;
}

/* True if the store is the only effect on its array in the loop. */
static bool is_alone(const wf__ir *ir, wf__ref store, wf__ref loop)
{
    const uint32_t object = wf__object_of(ir, &ir->node[store]);
    for (wf__ref r = loop; r < wf__loop_end(ir, loop); ++r)
        if (r != store && wf__op_is_store(ir->node[r].op) && wf__object_of(ir, &ir->node[r]) == object)
            return false;
    return true;
}

bool wf__is_carried(const wf__ir *ir, wf__ref load, wf__ref store, wf__ref first, int64_t *turns)
{
    const wf__node *n = &ir->node[load], *m = &ir->node[store];
    if (n->op != WF__LOAD || !wf__is_float_store(m) || !n->b || !m->b || wf__object_of(ir, n) != wf__object_of(ir, m) ||
        wf__tuple_len(ir, n->b) != wf__tuple_len(ir, m->b) || (n->aux != WF_BORDER_NONE && n->aux != WF_BORDER_VALUE))
        return false;
    const wf__ref loop = wf__loop_around(ir, store, first);
    return loop && !ir->node[loop].aux && wf__loop_around(ir, load, first) == loop &&
           !wf__loop_around(ir, loop, first) && is_alone(ir, store, loop) && reads_back(ir, load, store, loop, turns) &&
           *turns <= WF__MOST_CARRIED;
}
