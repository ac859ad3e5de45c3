/* stores.c - stores in loops that are kept as loops.
 *
 * Of the stores to an element that is the same in all turns, the last one counts. Such a store becomes two variables of the
 * loop: the value, and whether there is one. A store after the loop takes them. The sweeps then go through variables
 * and a store, as they do elsewhere.
 *
 * Other stores stay in the loop. Their derivative is that of each turn, if no two turns store to one element: some index
 * of the element grows by the same number in each turn, other than 0.
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

void wf__copy_as_is(const wf__ir *in, wf__ref first, wf__ref end, wf__ref held, wf__ref *map, wf__ir *out)
{
    for (wf__ref r = first; r < end && out->status == WF_OK; ++r)
        if (in->node[r].op != WF__NOP && r != held) {
            map[r] = wf__copy_node(in, r, map, out);
            wf__copy_whole(in, r, map, out, map[r]);
        }
}

void wf__drop_effects(wf__ir *ir, wf__ref first, wf__ref end)
{
    for (wf__ref r = first; r < end && ir->status == WF_OK; ++r)
        if (wf__op_is_store(ir->node[r].op) && !wf__op_has_value(ir->node[r].op))
            ir->node[r] = (wf__node){ .op = WF__NOP };
}

/* ---- loops around a node ---- */
/* Returns the innermost loop around r, from node `first` on; 0 = none. */
static wf__ref loop_around(const wf__ir *ir, wf__ref r, wf__ref first)
{
    for (wf__ref q = r; q-- > first;) {
        if (ir->node[q].op == WF__END)
            q = ir->node[q].a;
        else if (ir->node[q].op == WF__LOOP)
            return q;
    }
    return 0;
}

static bool is_float_store(const wf__node *n) { return n->op == WF__STORE && wf__has_adjoint(n->dtype); }

bool wf__stores_in_loops(const wf__ir *ir, wf__ref first, wf__ref end)
{
    for (wf__ref r = first; r < end && ir->loops; ++r)
        if (is_float_store(&ir->node[r]) && loop_around(ir, r, first))
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

/* True if a store is to the same element in all turns of a loop. */
static bool is_to_same(const wf__ir *ir, wf__ref store, wf__ref loop)
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
    for (wf__ref loop = loop_around(ir, store, first); loop; loop = loop_around(ir, loop, first)) {
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

/* True if two indices differ in all turns. */
static bool differ(const wf__ir *ir, wf__ref i, wf__ref k, wf__ref store, wf__ref first)
{
    sum x = { 0 };
    int64_t step = 0, by;
    if (!add_terms(ir, i, 1, DEPTH, &x) || !add_terms(ir, k, -1, DEPTH, &x))
        return false;
    for (int t = 0; t < x.n; ++t)
        if (x.factor[t])
            return false;
    for (wf__ref loop = loop_around(ir, store, first); loop; loop = loop_around(ir, loop, first)) {
        if (!grows(ir, i, loop, store, DEPTH, &by) || (by && step))
            return false;
        step = by ? by : step;
    }
    return x.start && (!step || x.start % step);
}

/* True if two effects in the same loops are never to one element of their array. */
static bool are_apart(const wf__ir *ir, wf__ref one, wf__ref other, wf__ref first)
{
    const uint32_t a = ir->node[one].b, b = ir->node[other].b;
    bool apart = false;
    if (loop_around(ir, one, first) != loop_around(ir, other, first))
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
            !are_apart(ir, store, r, first)) {
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

wf__ref wf__count_of_stores(const wf__ir *ir, wf__ref store)
{
    wf__ref r = store + 1;
    while (ir->node[r].op != WF__SCATTER)
        ++r;
    return r;
}

/* ---- stores to the same element in all turns ---- */
typedef struct target { /* an element that a loop stores */
    wf__ref loop;       /* the outermost one whose turns all store to it */
    uint32_t object, tuple;
    wf__ref store;         /* one of the stores */
    wf__ref value, stored; /* variables, where the copy is; 0 = outside of the loop */
} target;

typedef struct hoist {
    const wf__ir *in;
    wf__ir *out;
    wf__ref first, end, *map;
    wf__ref *outside; /* [in->n] copies, after a loop, of values that are the same in all its turns */
    wf__ref *loop;    /* [in->n] of a store: the loop of its target; 0 = it stays */
    uint32_t *of;     /* [in->n] of such a store: its target */
    target *target;
    uint32_t targets, cap;
    const char *function;
} hoist;

static bool no_memory(const hoist *h)
{
    wf__ir_fail(h->out, WF_ERR_MEMORY, "%s: out of memory", h->function);
    return false;
}

/* True if an access in the loop of a store's target keeps the store from being the only effect on its element. */
static bool is_in_the_way(const hoist *h, wf__ref store, wf__ref r)
{
    const wf__ir *in = h->in;
    const wf__node *n = &in->node[r], *m = &in->node[store];
    if (r == store || !wf__op_names_slot(n->op) || n->op == WF__DIM || wf__object_of(in, n) != wf__object_of(in, m))
        return false;
    if (n->op != WF__STORE)
        return true;
    if (n->b == m->b && h->loop[r] == h->loop[store])
        return false;
    return !are_apart(in, store, r, h->first);
}

static void find_targets(hoist *h)
{
    const wf__ir *in = h->in;
    for (wf__ref r = h->first; r < h->end; ++r)
        for (wf__ref loop = is_float_store(&in->node[r]) ? loop_around(in, r, h->first) : 0;
             loop && is_to_same(in, r, loop); loop = loop_around(in, loop, h->first))
            h->loop[r] = loop;
    for (bool changed = true; changed;) {
        changed = false;
        for (wf__ref r = h->first; r < h->end; ++r)
            for (wf__ref q = h->loop[r], end = q ? wf__loop_end(in, q) : 0; q < end && h->loop[r]; ++q)
                if (is_in_the_way(h, r, q)) {
                    h->loop[r] = 0;
                    changed = true;
                }
    }
    for (wf__ref r = h->first; r < h->end && h->out->status == WF_OK; ++r) {
        const uint32_t object = h->loop[r] ? wf__object_of(in, &in->node[r]) : 0;
        uint32_t k = 0;
        if (!h->loop[r])
            continue;
        while (k < h->targets && (h->target[k].loop != h->loop[r] || h->target[k].object != object ||
                                  h->target[k].tuple != in->node[r].b))
            ++k;
        if (k == h->targets) {
            if (!wf__grow(&h->target, &h->cap, k + 1, sizeof *h->target)) {
                no_memory(h);
                return;
            }
            h->target[h->targets++] =
                (target){ .loop = h->loop[r], .object = object, .tuple = in->node[r].b, .store = r };
        }
        h->of[r] = k;
    }
}

/* Records, after the target's loop, a value that is the same in all its turns. */
static wf__ref copy_outside(hoist *h, const target *t, wf__ref r)
{
    wf__ref operand[WF__MAX_OPERANDS];
    if (r < t->loop || h->outside[r])
        return r < t->loop ? h->map[r] : h->outside[r];
    if (h->in->node[r].op == WF__STATE)
        return h->outside[r] = copy_outside(h, t, h->in->node[r].b);
    for (uint32_t i = 0, count = wf__operands(h->in, &h->in->node[r], operand); i < count; ++i)
        h->outside[operand[i]] = copy_outside(h, t, operand[i]);
    return h->outside[r] = wf__copy_node(h->in, r, h->outside, h->out);
}

/* Array graphs: after a store that stays in a loop, a SCATTER counts the stores to each element. next: the node that the
 * store has, unless it is left out. */
static void count_stores(hoist *h, wf__ref next)
{
    wf__ir *out = h->out;
    if (out->status != WF_OK || !out->arrays || out->n == next)
        return;
    const wf__node n = out->node[next];
    wf__scatter(out, wf__const_bits(out, WF_I32, 1), out->slot[n.a].shape, n.b, n.d);
}

static void copy_store(hoist *h, wf__ref store)
{
    const wf__ref next = h->out->n;
    wf__copy_as_is(h->in, store, store + 1, 0, h->map, h->out);
    count_stores(h, next);
}

static void store_after(hoist *h, target *t)
{
    const wf__node *n = &h->in->node[t->store];
    wf__ref index[WF__MAX_OPERANDS];
    uint32_t count = wf__tuple_len(h->in, t->tuple);
    memset(h->outside, 0, h->in->n * sizeof *h->outside);
    for (uint32_t i = 0; i < count; ++i)
        index[i] = copy_outside(h, t, wf__tuple_at(h->in, t->tuple)[i]);
    const uint32_t tuple = h->out->status == WF_OK && count ? wf__tuple(h->out, index, count) : 0;
    const wf__ref next = h->out->n;
    wf__store(h->out, n->a, tuple, t->value, t->stored);
    if (loop_around(h->in, t->loop, h->first))
        count_stores(h, next);
    t->value = t->stored = 0;
}

static bool has_store_of(const hoist *h, uint32_t k, wf__ref loop, wf__ref end)
{
    for (wf__ref r = loop; r < end; ++r)
        if (h->loop[r] && h->of[r] == k)
            return true;
    return false;
}

static void set_variables(hoist *h, wf__ref store)
{
    wf__ir *out = h->out;
    const wf__node *n = &h->in->node[store];
    target *t = &h->target[h->of[store]];
    wf__ref yes = wf__const_bits(out, WF_BOOL, 1), when = n->d ? h->map[n->d] : yes;
    t->value = wf__op3(out, WF__OP_select, when, h->map[n->c], t->value);
    t->stored = wf__op3(out, WF__OP_select, when, yes, t->stored);
}

static void copy_range(hoist *h, wf__ref first, wf__ref end);

static void copy_loop(hoist *h, wf__ref loop, wf__ref end)
{
    wf__ir *out = h->out;
    const wf__ir *in = h->in;
    const wf__ref body = wf__loop_body(in, loop);
    wf__ref *state = wf__alloc0((2 * (size_t)h->targets + 1) * sizeof *state), last = end;
    if (!state) {
        no_memory(h);
        return;
    }
    for (uint32_t k = 0; k < h->targets; ++k) /* initial values stand before the loop */
        if (h->target[k].loop == loop) {
            h->target[k].value = wf__const_f64(out, wf__dtype(in, in->node[h->target[k].store].c), 0);
            h->target[k].stored = wf__const_bits(out, WF_BOOL, 0);
        }
    h->map[loop] = wf__loop(out, in->node[loop].aux);
    for (wf__ref s = loop + 1; s < body; ++s)
        h->map[s] = wf__state(out, h->map[loop], h->map[in->node[s].b], in->node[s].aux);
    for (uint32_t k = 0; k < h->targets; ++k) {
        target *t = &h->target[k];
        if (!t->value || !has_store_of(h, k, loop, end))
            continue;
        t->value = state[2 * k] = wf__state(out, h->map[loop], t->value, false);
        t->stored = state[2 * k + 1] = wf__state(out, h->map[loop], t->stored, false);
    }
    while (in->node[last - 1].op == WF__NEXT)
        --last;
    copy_range(h, body, last);
    wf__copy_as_is(in, last, end, 0, h->map, out);
    for (uint32_t k = 0; k < h->targets; ++k)
        if (state[2 * k]) {
            wf__next(out, state[2 * k], h->target[k].value);
            wf__next(out, state[2 * k + 1], h->target[k].stored);
            h->target[k].value = state[2 * k];
            h->target[k].stored = state[2 * k + 1];
        }
    wf__end(out, h->map[loop]);
    for (uint32_t k = 0; k < h->targets; ++k)
        if (h->target[k].loop == loop && out->status == WF_OK)
            store_after(h, &h->target[k]);
    wf__free(state);
}

static void copy_range(hoist *h, wf__ref first, wf__ref end)
{
    for (wf__ref r = first; r < end && h->out->status == WF_OK; ++r) {
        if (h->in->node[r].op == WF__LOOP) {
            const wf__ref last = wf__loop_end(h->in, r);
            copy_loop(h, r, last);
            r = last;
        } else if (h->loop[r])
            set_variables(h, r);
        else if (is_float_store(&h->in->node[r]) && loop_around(h->in, r, h->first))
            copy_store(h, r);
        else
            wf__copy_as_is(h->in, r, r + 1, 0, h->map, h->out);
    }
}

bool wf__hoist_stores(const wf__ir *in, wf__ref first, wf__ref end, wf__ref *map, wf__ir *out, const char *function)
{
    hoist h = { .in = in, .out = out, .first = first, .end = end, .map = map, .function = function };
    h.outside = wf__alloc0(3 * (size_t)in->n * sizeof *h.outside);
    if (h.outside) {
        h.loop = h.outside + in->n;
        h.of = h.loop + in->n;
        find_targets(&h);
        copy_range(&h, first, end);
    } else
        no_memory(&h);
    wf__free(h.outside);
    wf__free(h.target);
    return out->status == WF_OK;
}
