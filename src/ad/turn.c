/* turn.c - copies of the body of a loop that is kept: what each sweep makes its own loop of. */
#include "ad/turn.h"
#include "ad/copies.h"
#include "ad/stores.h"

static bool is_read(const wf__turn *t, wf__ref r)
{
    return t->in.node[r].op == WF__LOAD && wf__on_route(&t->in, t->route, r);
}

/* True if another read of the point's own element of the array was found before. */
static bool is_read_before(const wf__turn *t, const wf__node *n)
{
    for (uint32_t k = 0; k < t->outers; ++k)
        if (wf__turn_reads(t, k) && wf__object_of(&t->in, &t->in.node[t->outer[k]]) == wf__object_of(&t->in, n))
            return true;
    return false;
}

static void find_outer(wf__turn *t)
{
    const wf__route *route = t->route;
    wf__ref operand[WF__AD_OPERANDS];
    for (wf__ref r = t->first + t->states; r < t->loop.end; ++r) {
        if (is_read(t, r) && !t->in.node[r].b && !is_read_before(t, &t->in.node[r]))
            t->outer[t->outers++] = r;
        if (is_read(t, r))
            t->varies[wf__object_of(&t->in, &t->in.node[r])] = 1;
        for (uint32_t i = 0, count = wf__ad_operands(&t->in, r, t->of->forward, operand); i < count; ++i) {
            bool is_new = operand[i] < t->loop.loop && wf__on_route(&t->in, route, operand[i]);
            for (uint32_t k = 0; k < t->outers && is_new; ++k)
                is_new = t->outer[k] != operand[i];
            if (is_new)
                t->outer[t->outers++] = operand[i];
        }
    }
}

/* ---- the test at the beginning of a turn ---- */
enum { MOST_DEPTH = 6 }; /* operations that are looked through */

static wf__ref next_of(const wf__turn *t, uint32_t i) { return wf__next_value(&t->in, t->first + i); }

/* True if the value is that of the state where the test is false. */
static bool is_kept(const wf__ir *ir, wf__ref value, wf__ref state, wf__ref test, int depth)
{
    const wf__node *n = &ir->node[value];
    if (value == state || !depth)
        return value == state;
    if (n->op == WF__OP_select)
        return is_kept(ir, n->c, state, test, depth - 1) &&
               (wf__is_conjunct(ir, n->a, test, MOST_DEPTH) || is_kept(ir, n->b, state, test, depth - 1));
    bool off = n->op == WF__STATE && value > test; /* of a block inside, which does not run */
    for (wf__ref s = off ? n->a + 1 : 0; off && ir->node[s].op == WF__STATE && ir->node[s].a == n->a; ++s)
        off = !ir->node[s].aux || wf__is_conjunct(ir, ir->node[s].b, test, MOST_DEPTH);
    return off && is_kept(ir, n->b, state, test, depth - 1);
}

static bool is_test(const wf__turn *t, wf__ref test)
{
    bool ok = test >= t->first + t->states;
    for (uint32_t i = 0; i < t->states && ok; ++i)
        ok = wf__turn_state(t, i)->aux ? wf__is_conjunct(&t->in, next_of(t, i), test, MOST_DEPTH)
                                       : is_kept(&t->in, next_of(t, i), t->first + i, test, MOST_DEPTH);
    return ok;
}

/* Returns a test among r and what it is a conjunction of. */
static wf__ref find_test(const wf__turn *t, wf__ref r, int depth)
{
    const wf__node *n = &t->in.node[r];
    if (is_test(t, r))
        return r;
    if (n->op != WF__OP_and || n->dtype != WF_BOOL || !depth)
        return 0;
    wf__ref found = find_test(t, n->a, depth - 1);
    return found ? found : find_test(t, n->b, depth - 1);
}

/* Finds the arrays that the body changes and whose derivatives are known after the loop. In an array graph these are the
 * arrays on the way; otherwise the task lists them. */
static void find_effects(wf__turn *t)
{
    for (wf__ref r = t->first + t->states; r < t->loop.end; ++r) {
        const wf__node *n = &t->in.node[r];
        const uint32_t object = wf__op_is_store(n->op) ? wf__object_of(&t->in, n) : 0;
        if (!wf__op_is_store(n->op))
            continue;
        if (t->of->effects)
            t->effects[object] = t->of->effects[object];
        else
            t->effects[object] = t->in.arrays && t->route->active.array[object] == WF__ACTIVE;
    }
}

bool wf__turn_begin(wf__ir *ir, const wf__ad_task *of, const wf__route *route, const wf__region *loop, wf__turn *out)
{
    *out = (wf__turn){ .ir = ir, .of = of, .loop = *loop, .first = loop->loop + 1, .route = route };
    const bool copied = wf__ir_copy(ir, &out->in);
    out->map = wf__alloc((ir->n + (size_t)loop->end + 1) * sizeof *out->map);
    const size_t objects = wf__objects_of(ir) + 1;
    out->effects = wf__alloc0(objects * (sizeof *out->effects + sizeof *out->varies));
    if (!copied || !out->map || !out->effects) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", of->function);
        return false;
    }
    out->varies = (uint8_t *)(out->effects + objects);
    out->outer = out->map + ir->n;
    for (wf__ref r = 0; r < ir->n; ++r)
        out->map[r] = r;
    out->states = wf__loop_body(ir, loop->loop) - out->first;
    for (uint32_t i = 0; i < out->states; ++i)
        if (wf__turn_state(out, i)->aux) {
            ++out->guards;
            out->test = find_test(out, next_of(out, i), MOST_DEPTH);
        }
    out->test = out->guards == 1 ? out->test : 0;
    find_outer(out);
    find_effects(out);
    return true;
}

void wf__turn_free(wf__turn *turn)
{
    wf__ir_free_copy(&turn->in);
    wf__free(turn->map);
    wf__free(turn->effects);
}

wf__ref wf__turn_next(const wf__turn *turn, uint32_t i) { return turn->map[next_of(turn, i)]; }

wf__ref wf__turn_runs(const wf__turn *turn, const wf__ref *value)
{
    wf__ir *ir = turn->ir;
    wf__ref runs = turn->test ? turn->map[turn->test] : 0;
    for (uint32_t i = 0; i < turn->states; ++i) {
        if (!wf__turn_state(turn, i)->aux)
            continue;
        if (!turn->test)
            runs = runs ? wf__op2(ir, WF__OP_or, runs, value[i]) : value[i];
        else if (!wf__is_conjunct(&turn->in, turn->test, turn->first + i, MOST_DEPTH))
            runs = wf__op2(ir, WF__OP_and, runs, value[i]); /* points that have left the loop may meet the test */
    }
    return runs;
}

/* True if points whose turn it is not must not run the body as if it were: an inner loop has to end at all points, and the
 * indices of reads have to be in range. */
static bool needs_mask(const wf__turn *t)
{
    for (wf__ref r = t->first + t->states; r < t->loop.end; ++r) {
        const wf__node *n = &t->in.node[r];
        if ((n->op == WF__LOOP && !n->aux) || (n->op == WF__LOAD && n->b))
            return true;
    }
    return false;
}

/* Copies the body. No copy is an earlier node: the derivative of one that was recorded after the loop would be lost. The
 * epochs of arrays, which copies of reads set back, stay. */
static void copy_body(wf__turn *turn, wf__ref held)
{
    wf__ir *ir = turn->ir;
    uint32_t *epoch = wf__alloc((ir->slot_n + 1) * sizeof *epoch);
    wf__ref last = turn->loop.end;
    if (!epoch) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", turn->of->function);
        return;
    }
    for (uint32_t s = 0; s < ir->slot_n; ++s)
        epoch[s] = ir->slot[s].epoch;
    while (turn->in.node[last - 1].op == WF__NEXT)
        --last;
    const wf__numbering numbering = wf__stop_numbering(ir);
    wf__copy_as_is(&turn->in, turn->first + turn->states, last, held, turn->map, ir);
    wf__resume_numbering(ir, numbering);
    for (uint32_t s = 0; s < ir->slot_n; ++s) {
        ir->slot[s].epoch = ir->slot[s].epoch > epoch[s] ? ir->slot[s].epoch : epoch[s];
        ir->slot[s].last_store = 0;
    }
    wf__free(epoch);
}

wf__ref wf__turn_copy(wf__turn *turn, wf__ref *value, wf__ref runs)
{
    wf__ir *ir = turn->ir;
    const bool masked = needs_mask(turn);
    if (runs && !masked)
        runs = wf__const_bits(ir, WF_BOOL, 1);
    for (uint32_t i = 0; i < turn->states; ++i) {
        if (runs && wf__turn_state(turn, i)->aux && (turn->guards == 1 || masked))
            value[i] = turn->guards == 1 ? runs : wf__op2(ir, WF__OP_and, value[i], runs);
        turn->map[turn->first + i] = value[i];
    }
    if (runs && turn->test)
        turn->map[turn->test] = runs;
    const wf__ref begin = ir->n;
    copy_body(turn, runs ? turn->test : 0);
    return begin;
}

bool wf__turn_route(const wf__turn *turn, const wf__ref *value, const wf__ref *active, wf__ref first, wf__route *out)
{
    const uint32_t n = turn->states;
    const uint32_t nodes = turn->loop.end - turn->loop.loop;
    wf__ref *wrt = wf__alloc((2 * (size_t)n + nodes + turn->outers + 1) * sizeof *wrt),
            *to = wrt ? wrt + n + turn->outers : NULL;
    wf__ad_task task = wf__turn_task(turn);
    task.out = to;
    task.wrt = wrt;
    task.varies = turn->varies;
    if (!wrt) {
        wf__ir_fail(turn->ir, WF_ERR_MEMORY, "%s: out of memory", turn->of->function);
        return false;
    }
    for (uint32_t i = 0; i < n; ++i)
        if (active[i]) {
            wrt[task.wrts++] = value[i];
            to[task.outs++] = wf__turn_next(turn, i);
        }
    for (uint32_t k = 0; k < turn->outers; ++k)
        if (!wf__turn_reads(turn, k))
            wrt[task.wrts++] = turn->outer[k];
    for (wf__ref r = turn->first + n; r < turn->loop.end; ++r)
        if (turn->in.node[r].op == WF__SCATTER && wf__on_route(&turn->in, turn->route, r))
            to[task.outs++] = turn->map[r];
    bool ok = turn->ir->status == WF_OK && wf__find_route(turn->ir, &task, first, out);
    wf__free(wrt);
    return ok;
}
