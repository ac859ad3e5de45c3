/* hoist.c - loops whose stores become variables.
 *
 * Of the stores to an element that is the same in all turns, the last one counts. Such a store becomes two variables of the
 * loop: the value, and whether there is one. A store after the loop takes them. The sweeps then go through variables
 * and a store, as they do elsewhere. A read of the element in the loop has the variable's value, or what was there before.
 *
 * A store to another element in each turn stays in the loop. Where later turns read what it stored, they have it from
 * variables, which carry what the last turns have stored. All reads that are left then find what was there before the loop.
 */
#include "ad/hoist.h"
#include "ad/before.h"
#include "ad/copies.h"
#include "ir/pass/pass.h"

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

typedef struct carry { /* a store that stays in its loop, and whose value later turns read */
    wf__ref loop, store;
    /* Variables, where the copy is: what the turns before have stored, the latest one first, and whether they have. */
    wf__ref value[WF__MOST_CARRIED], stored[WF__MOST_CARRIED];
    wf__ref now, has_now; /* what the turn itself has stored; 0 = nothing yet */
    uint32_t depth;       /* so many turns are looked back at */
} carry;

typedef struct hoist {
    const wf__ir *in;
    wf__ir *out;
    wf__ref first, end, *map;
    wf__ref *outside;  /* [in->n] copies, after a loop, of values that are the same in all its turns */
    wf__ref *loop;     /* [in->n] of a store: the loop of its target; 0 = it stays */
    uint32_t *of;      /* [in->n] 1 + the target of such a store, and of reads of what it stores; 0 = none */
    uint32_t *carried; /* [in->n] 1 + the carry of a store, and of reads of what it stores; 0 = none */
    carry *carry;
    uint32_t carries, carry_cap;
    target *target;
    uint32_t targets, cap;
    const wf__ref *before; /* [objects] */
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
    if (n->op == WF__LOAD && n->b == m->b && !wf__when(in, n) &&
        (n->aux == WF_BORDER_NONE || n->aux == WF_BORDER_VALUE))
        return false;
    if (n->op != WF__STORE)
        return true;
    if (n->b == m->b && h->loop[r] == h->loop[store])
        return false;
    return !wf__are_apart(in, store, r, h->first);
}

static void find_targets(hoist *h)
{
    const wf__ir *in = h->in;
    for (wf__ref r = h->first; r < h->end; ++r)
        for (wf__ref loop = wf__is_float_store(&in->node[r]) ? wf__loop_around(in, r, h->first) : 0;
             loop && wf__is_to_same(in, r, loop); loop = wf__loop_around(in, loop, h->first))
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
        h->of[r] = k + 1;
    }
}

/* Finds the reads that copy_range replaces. */
static void find_reads(hoist *h)
{
    const wf__ir *in = h->in;
    for (uint32_t k = 0; k < h->targets; ++k) {
        const target *t = &h->target[k];
        for (wf__ref r = t->loop; r < wf__loop_end(in, t->loop); ++r)
            if (in->node[r].op == WF__LOAD && in->node[r].b == t->tuple && wf__object_of(in, &in->node[r]) == t->object)
                h->of[r] = k + 1;
    }
}

static void find_carries(hoist *h)
{
    const wf__ir *in = h->in;
    for (wf__ref r = h->first; r < h->end && h->out->status == WF_OK; ++r) {
        const wf__ref loop = wf__is_float_store(&in->node[r]) && !h->loop[r] ? wf__loop_around(in, r, h->first) : 0;
        carry c = { .loop = loop, .store = r };
        int64_t turns;
        for (wf__ref q = loop, end = loop ? wf__loop_end(in, loop) : 0; q < end; ++q)
            if (wf__is_carried(in, q, r, h->first, &turns) && (turns > 0 || (turns == 0 && q > r))) {
                c.depth = turns > c.depth ? (uint32_t)turns : c.depth;
                h->carried[q] = h->carried[r] = h->carries + 1;
            }
        if (!loop || !h->carried[r])
            continue;
        if (!wf__grow(&h->carry, &h->carry_cap, h->carries + 1, sizeof *h->carry)) {
            no_memory(h);
            return;
        }
        h->carry[h->carries++] = c;
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
    const wf__node *n = &h->in->node[store];
    if (h->carried[store]) {
        carry *c = &h->carry[h->carried[store] - 1];
        c->now = h->map[n->c];
        c->has_now = n->d ? h->map[n->d] : wf__const_bits(h->out, WF_BOOL, 1);
    }
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
    if (wf__loop_around(h->in, t->loop, h->first))
        count_stores(h, next);
    t->value = t->stored = 0;
}

static bool has_store_of(const hoist *h, uint32_t k, wf__ref loop, wf__ref end)
{
    for (wf__ref r = loop; r < end; ++r)
        if (h->loop[r] && h->of[r] == k + 1)
            return true;
    return false;
}

static void set_variables(hoist *h, wf__ref store)
{
    wf__ir *out = h->out;
    const wf__node *n = &h->in->node[store];
    target *t = &h->target[h->of[store] - 1];
    wf__ref yes = wf__const_bits(out, WF_BOOL, 1), when = n->d ? h->map[n->d] : yes;
    t->value = wf__op3(out, WF__OP_select, when, h->map[n->c], t->value);
    t->stored = wf__op3(out, WF__OP_select, when, yes, t->stored);
}

/* Returns what a read gives: `value` where something was stored, else what the read finds. */
static wf__ref read_or(hoist *h, wf__ref load, wf__ref value, wf__ref stored)
{
    const wf__ref found = h->map[load];
    return stored && found ? wf__op3(h->out, WF__OP_select, stored, value, found) : found;
}

static void copy_read(hoist *h, wf__ref load)
{
    int64_t turns = 0;
    const wf__ref before = h->before ? h->before[wf__object_of(h->in, &h->in->node[load])] : 0;
    if (before)
        h->map[load] = wf__read_before(h->in, load, h->map, h->out, before);
    else
        wf__copy_as_is(h->in, load, load + 1, 0, h->map, h->out);
    if (h->of[load]) {
        const target *t = &h->target[h->of[load] - 1];
        h->map[load] = read_or(h, load, t->value, t->stored);
    } else if (h->carried[load]) {
        const carry *c = &h->carry[h->carried[load] - 1];
        if (!wf__is_carried(h->in, load, c->store, h->first, &turns))
            return;
        h->map[load] =
            turns ? read_or(h, load, c->value[turns - 1], c->stored[turns - 1]) : read_or(h, load, c->now, c->has_now);
    }
}

/* Begins the variables of the loop's carries, before it. */
static void set_first(hoist *h, wf__ref loop)
{
    for (uint32_t k = 0; k < h->carries; ++k) {
        carry *c = &h->carry[k];
        for (uint32_t i = 0; c->loop == loop && i < c->depth; ++i) {
            c->value[i] = wf__const_f64(h->out, wf__dtype(h->in, h->in->node[c->store].c), 0);
            c->stored[i] = wf__const_bits(h->out, WF_BOOL, 0);
        }
    }
}

static void begin_carries(hoist *h, wf__ref loop)
{
    for (uint32_t k = 0; k < h->carries; ++k) {
        carry *c = &h->carry[k];
        for (uint32_t i = 0; c->loop == loop && i < c->depth; ++i) {
            c->value[i] = wf__state(h->out, h->map[loop], c->value[i], false);
            c->stored[i] = wf__state(h->out, h->map[loop], c->stored[i], false);
        }
        if (c->loop == loop)
            c->now = c->has_now = 0;
    }
}

/* Sets the variables to their next values. They change in the turns after which the loop goes on, if one guard says so: a
 * turn that meets no test changes nothing (turn.c). */
static void find_next(hoist *h, wf__ref loop)
{
    wf__ir *out = h->out;
    wf__ref goes_on = 0;
    uint32_t guards = 0;
    for (wf__ref s = loop + 1; s < wf__loop_body(h->in, loop); ++s)
        if (h->in->node[s].aux && ++guards)
            goes_on = h->map[wf__next_value(h->in, s)];
    goes_on = guards == 1 ? goes_on : 0;
    for (uint32_t k = 0; k < h->carries; ++k) {
        carry *c = &h->carry[k];
        for (uint32_t i = c->loop == loop ? c->depth : 0; i-- > 0;) {
            const wf__ref value = i ? c->value[i - 1] : c->now, stored = i ? c->stored[i - 1] : c->has_now;
            c->value[i] = goes_on ? wf__op3(out, WF__OP_select, goes_on, value, c->value[i]) : value;
            c->stored[i] = goes_on ? wf__op3(out, WF__OP_select, goes_on, stored, c->stored[i]) : stored;
        }
    }
}

/* The variables are the states from node `state` on. */
static void set_next(hoist *h, wf__ref loop, wf__ref state)
{
    for (uint32_t k = 0; k < h->carries; ++k) {
        const carry *c = &h->carry[k];
        for (uint32_t i = 0; c->loop == loop && i < c->depth; ++i) {
            wf__next(h->out, state++, c->value[i]);
            wf__next(h->out, state++, c->stored[i]);
        }
    }
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
    set_first(h, loop);
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
    const wf__ref carried = out->n;
    begin_carries(h, loop);
    while (in->node[last - 1].op == WF__NEXT)
        --last;
    copy_range(h, body, last);
    find_next(h, loop);
    wf__copy_as_is(in, last, end, 0, h->map, out);
    set_next(h, loop, carried);
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
        else if (h->in->node[r].op == WF__LOAD)
            copy_read(h, r);
        else if (wf__is_float_store(&h->in->node[r]) && wf__loop_around(h->in, r, h->first))
            copy_store(h, r);
        else
            wf__copy_as_is(h->in, r, r + 1, 0, h->map, h->out);
    }
}

/* False, and `out` has failed, if a read that takes the contents from before may find what its loop has stored. */
static bool reads_before(hoist *h)
{
    const wf__ir *in = h->in;
    for (wf__ref r = h->first; r < h->end && h->before; ++r) {
        const wf__node *n = &in->node[r];
        if (n->op != WF__LOAD || h->of[r] || !h->before[wf__object_of(in, n)] ||
            !wf__writes(in, h->first, h->end, wf__object_of(in, n)))
            continue;
        const wf__ref loop = wf__loop_around(in, r, h->first), end = loop ? wf__loop_end(in, loop) : 0;
        bool ok = !loop;
        int64_t turns;
        for (wf__ref e = loop; e < end && !ok; ++e)
            ok = wf__is_carried(in, r, e, h->first, &turns);
        if (ok)
            continue;
        wf__ir_fail_at(
            h->out, n, WF_ERR_UNSUPPORTED,
            "%s: a loop reads an array that it also writes; that has a derivative if it reads and stores one "
            "element, or in each turn another one and what one of the last %d turns has stored",
            h->function, (int)WF__MOST_CARRIED);
        return false;
    }
    return true;
}

bool wf__hoist_stores(const wf__ir *in, wf__ref first, wf__ref end, wf__ref *map, wf__ir *out, const wf__ref *before,
                      const char *function)
{
    hoist h = { .in = in, .out = out, .first = first, .end = end, .map = map, .before = before, .function = function };
    h.outside = wf__alloc0(4 * (size_t)in->n * sizeof *h.outside);
    if (h.outside) {
        h.loop = h.outside + in->n;
        h.of = h.loop + in->n;
        h.carried = h.of + in->n;
        find_targets(&h);
        find_reads(&h);
        find_carries(&h);
        if (reads_before(&h))
            copy_range(&h, first, end);
    } else
        no_memory(&h);
    wf__free(h.outside);
    wf__free(h.target);
    wf__free(h.carry);
    return out->status == WF_OK;
}
