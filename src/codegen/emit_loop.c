/* emit_loop.c - loops and conditions. A loop runs while any lane continues: the IR's selects keep the values of the
 * other lanes. If the only guard is uniform, the branch is exact, and the guard is true inside the body.
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
