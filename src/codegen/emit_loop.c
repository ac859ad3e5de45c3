/* emit_loop.c - loops and conditions. A loop runs while any lane continues: the IR's selects keep the values of the
 * other lanes. If the only guard is uniform, the branch is exact, and the guard is true inside the body.
 *
 * A test that is a part of every guard and equal in all lanes, such as that of a counter, need not become a mask:
 *
 *     guard = guard && n < 256 && x*x + y*y <= 4
 *
 * The header tests it before the guards, a turn earlier than they would, and it is true inside the body. The turn that
 * is left out changes nothing but states that no lane needs (may_test_early).
 *
 *   before -> header (states are phis) -> body -> header      a condition has no header: its states are phis after it
 *                    header -> after
 */
#include "codegen/emit.h"

static bool is_scalar(const wf__instance *in, wf__ref r) { return in->vary[r].kind != WF__VARYING; }

static val *value_of(wf__instance *in, wf__ref r) { return is_scalar(in, r) ? &in->scalar[r] : &in->vector[r]; }

/* A value in the form of its state: scalar or vector. */
static val get_as_state(wf__instance *in, wf__ref state, wf__ref value)
{
    return is_scalar(in, state) ? wf__get_scalar(in, value) : wf__get_vector(in, value);
}

static bool is_state(const wf__instance *in, wf__ref r, wf__ref loop)
{
    return in->ir->node[r].op == WF__STATE && in->ir->node[r].a == loop;
}

/* True if any lane continues. */
static val emit_any_guard(wf__instance *in, wf__ref loop)
{
    wf__gen *g = in->g;
    val scalar = NULL, vector = NULL;
    for (wf__ref s = loop + 1; is_state(in, s, loop); s++) {
        if (!in->ir->node[s].aux)
            continue;
        val guard = *value_of(in, s), *sum = is_scalar(in, s) ? &scalar : &vector;
        *sum = *sum ? g_or(g, *sum, guard) : guard;
    }
    if (vector) {
        val any = wf__gen_any(g, in->kind == WF__BORDER ? g_and(g, vector, in->lanes.mask) : vector, g->width);
        scalar = scalar ? g_or(g, scalar, any) : any;
    }
    return scalar;
}

static wf__ref only_uniform_guard(const wf__instance *in, wf__ref loop)
{
    wf__ref guard = 0;
    for (wf__ref s = loop + 1; is_state(in, s, loop); s++)
        if (in->ir->node[s].aux) {
            if (guard || !is_scalar(in, s))
                return 0;
            guard = s;
        }
    return guard;
}

/* ---- tests of the header ---- */
enum { MOST_ANDS = 6 }; /* nested `and` nodes that are searched */

/* True if the header can compute r: a comparison of uniform states and values from before the loop. */
static bool is_early_test(const wf__instance *in, wf__ref loop, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    wf__ref operand[WF__MAX_OPERANDS];
    if (in->vary[r].kind != WF__UNIFORM || n->dtype != WF_BOOL || !wf__op_is_pure(n->op) || r < loop)
        return false;
    for (uint32_t count = wf__operands(in->ir, n, operand), k = 0; k < count; k++) {
        wf__ref a = operand[k];
        bool before = a < loop || in->ir->node[a].op == WF__CONST;
        if (in->vary[a].kind == WF__VARYING || (!before && !is_state(in, a, loop)))
            return false;
    }
    return true;
}

/* Collects the tests in the `and` tree of r. */
static void find_tests(const wf__instance *in, wf__open_loop *o, wf__ref r, int depth)
{
    const wf__node *n = wf__at(in->ir, r);
    if (is_early_test(in, o->loop, r)) {
        for (uint32_t i = 0; i < o->test_n; i++)
            if (o->test[i] == r)
                return;
        if (o->test_n < WF__COUNT(o->test))
            o->test[o->test_n++] = r;
    } else if (n->op == WF__OP_and && n->dtype == WF_BOOL && depth) {
        find_tests(in, o, n->a, depth - 1);
        find_tests(in, o, n->b, depth - 1);
    }
}

/* True if nothing that matters happens in a turn in which `test` is false: the loop has no effects, all its guards
 * become false, and the states that are used after the loop keep their values. next[s - loop]: the next value of state
 * s; after[s - loop]: true if s is used after the loop. */
static bool may_test_early(const wf__instance *in, const wf__open_loop *o, wf__ref test, const wf__ref *next,
                           const bool *after)
{
    const wf__ir *ir = in->ir;
    for (wf__ref s = o->loop + 1; is_state(in, s, o->loop); s++) {
        const wf__node *value = wf__at(ir, next[s - o->loop]);
        bool keeps = value->op == WF__OP_select && value->c == s && wf__is_conjunct(ir, value->a, test, MOST_ANDS);
        if (after[s - o->loop] && !keeps)
            return false;
        if (ir->node[s].aux && !wf__is_conjunct(ir, next[s - o->loop], test, MOST_ANDS))
            return false;
    }
    return true;
}

/* Finds the uniform tests that the header can do. */
static void find_early_tests(const wf__instance *in, wf__open_loop *o)
{
    const wf__ir *ir = in->ir;
    wf__ref end = wf__loop_end(ir, o->loop), body = wf__loop_body(ir, o->loop), guard = 0;
    wf__ref *next = wf__alloc0((body - o->loop) * sizeof *next), operand[WF__MAX_OPERANDS];
    bool *after = wf__alloc0((body - o->loop) * sizeof *after), quiet = next && after;
    for (wf__ref r = body; quiet && r < end; r++) {
        const wf__node *n = wf__at(ir, r);
        quiet = !wf__op_is_effect(n->op) && n->op != WF__LOOP;
        if (n->op == WF__NEXT)
            next[n->a - o->loop] = n->b;
    }
    for (wf__ref s = o->loop + 1; quiet && s < body; s++) {
        guard = ir->node[s].aux && !is_scalar(in, s) ? s : guard;
        quiet = next[s - o->loop] != 0;
    }
    for (wf__ref r = end + 1; quiet && guard && r < ir->n; r++)
        for (uint32_t count = wf__operands(ir, wf__at(ir, r), operand), k = 0; k < count; k++)
            if (operand[k] > o->loop && operand[k] < body)
                after[operand[k] - o->loop] = true;
    if (quiet && guard) {
        find_tests(in, o, next[guard - o->loop], MOST_ANDS);
        uint32_t kept = 0;
        for (uint32_t i = 0; i < o->test_n; i++)
            if (may_test_early(in, o, o->test[i], next, after))
                o->test[kept++] = o->test[i];
        o->test_n = kept;
    }
    wf__free(next);
    wf__free(after);
}

bool wf__is_tested(const wf__instance *in, wf__ref r)
{
    const wf__open_loop *o = in->loops.depth ? &in->loops.open[in->loops.depth - 1] : NULL;
    for (uint32_t i = 0; o && i < o->test_n; i++)
        if (o->test[i] == r)
            return true;
    return false;
}

/* Emits the tests of the header, which ends in a new block. They are true from here on. */
static void emit_early_tests(wf__instance *in, const wf__open_loop *o)
{
    wf__gen *g = in->g;
    for (uint32_t i = 0; i < o->test_n; i++) {
        bb on = wf__gen_bb(g, "tested");
        g->L->BuildCondBr(g->b, wf__emit_pure_scalar(in, o->test[i]), on, o->after);
        wf__gen_at(g, on);
        in->scalar[o->test[i]] = wf__gen_int(g, g->i1, 1, 1);
    }
}

static void begin_loop(wf__instance *in, wf__ref loop)
{
    wf__gen *g = in->g;
    wf__open_loop *o = &in->loops.open[in->loops.depth];
    bool once = in->ir->node[loop].aux;
    for (wf__ref s = loop + 1; is_state(in, s, loop); s++)
        if (in->live[s])
            *value_of(in, s) = get_as_state(in, s, in->ir->node[s].b);
    *o = (wf__open_loop){ .loop = loop, .before = g->L->GetInsertBlock(g->b) };
    o->index_vector = in->index_vector;
    o->index_vector32 = in->index_vector32;
    o->cached_n = in->cache.n;
    o->made_n = in->loops.made_n;
    if (!once) {
        o->header = wf__gen_bb(g, "repeat");
        g->L->BuildBr(g->b, o->header);
        wf__gen_at(g, o->header);
        for (wf__ref s = loop + 1; is_state(in, s, loop); s++) {
            if (!in->live[s])
                continue;
            val initial = *value_of(in, s), phi = g->L->BuildPhi(g->b, g->L->TypeOf(initial), "");
            g->L->AddIncoming(phi, &initial, &o->before, 1);
            *value_of(in, s) = phi;
        }
    }
    bb body = wf__gen_bb(g, "body");
    o->after = wf__gen_bb(g, "after");
    if (!once) {
        find_early_tests(in, o);
        emit_early_tests(in, o);
    }
    g->L->BuildCondBr(g->b, emit_any_guard(in, loop), body, o->after);
    o->before = once ? g->L->GetInsertBlock(g->b) : o->before;
    wf__gen_at(g, body);
    in->loops.depth++;
    o->guard = only_uniform_guard(in, loop);
    if (o->guard) {
        o->guard_value = in->scalar[o->guard];
        in->scalar[o->guard] = wf__gen_int(g, g->i1, 1, 1);
    }
}

/* Drops the values made on demand in the body. */
static void drop_body_values(wf__instance *in, const wf__open_loop *o)
{
    while (in->loops.made_n > o->made_n)
        *in->loops.made[--in->loops.made_n] = NULL;
    wf__drop_cached(in, o->cached_n);
    in->index_vector = o->index_vector;
    in->index_vector32 = o->index_vector32;
}

static void end_loop(wf__instance *in, wf__ref r)
{
    wf__gen *g = in->g;
    const wf__ir *ir = in->ir;
    wf__ref first = r;
    while (ir->node[first - 1].op == WF__NEXT)
        first--;
    for (wf__ref n = first; n < r; n++) /* before the branch back */
        if (in->live[n])
            in->vector[n] = get_as_state(in, ir->node[n].a, ir->node[n].b);
    wf__open_loop *o = &in->loops.open[--in->loops.depth];
    bb latch = g->L->GetInsertBlock(g->b);
    g->L->BuildBr(g->b, o->header ? o->header : o->after);
    drop_body_values(in, o);
    if (o->guard)
        in->scalar[o->guard] = o->guard_value;
    wf__gen_at(g, o->after);
    for (wf__ref n = first; n < r; n++) {
        if (!in->live[n])
            continue;
        val *state = value_of(in, ir->node[n].a), phi = *state;
        if (!o->header) {
            phi = g->L->BuildPhi(g->b, g->L->TypeOf(in->vector[n]), "");
            g->L->AddIncoming(phi, state, &o->before, 1);
            *state = phi;
        }
        g->L->AddIncoming(phi, &in->vector[n], &latch, 1);
    }
}

void wf__emit_loop(wf__instance *in, wf__ref r)
{
    if (in->ir->node[r].op == WF__LOOP)
        begin_loop(in, r);
    else if (in->ir->node[r].op == WF__END)
        end_loop(in, r);
}
