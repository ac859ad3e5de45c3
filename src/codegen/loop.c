/* loop.c - loops and conditions. Lanes go together: the body runs while any lane goes on, and selects keep what the
 * others have. Where the guard is uniform the branch is a real one, and in the body the guard is known to be true.
 *
 *   before -> header (states are phis) -> body -> header      a condition needs no header: its states are phis after it
 *                    header -> after
 */
#include "codegen/body.h"
#include "ir/pass/pass.h"

static bool is_scalar(const wf__inst *in, wf__ref r) { return in->vary[r].kind != WF__VARYING; }

static val *place(wf__inst *in, wf__ref r) { return is_scalar(in, r) ? &in->scalar[r] : &in->vector[r]; }

/* A value as its state holds it. */
static val as_state(wf__inst *in, wf__ref state, wf__ref value)
{
    return is_scalar(in, state) ? wf__inst_scalar(in, value) : wf__inst_vector(in, value);
}

static bool is_state(const wf__inst *in, wf__ref r, wf__ref loop)
{
    return in->ir->node[r].op == WF__STATE && in->ir->node[r].a == loop;
}

/* Does any lane go on? */
static val any_guard(wf__inst *in, wf__ref loop)
{
    wf__gen *g = in->g;
    val scalar = NULL, vector = NULL;
    for (wf__ref s = loop + 1; is_state(in, s, loop); s++) {
        if (!in->ir->node[s].aux)
            continue;
        val guard = *place(in, s), *sum = is_scalar(in, s) ? &scalar : &vector;
        *sum = *sum ? g_or(g, *sum, guard) : guard;
    }
    if (vector) {
        val any = wf__gen_any(g, in->safe ? g_and(g, vector, in->lane_mask) : vector, g->width);
        scalar = scalar ? g_or(g, scalar, any) : any;
    }
    return scalar;
}

void wf__inst_made(wf__inst *in, val *where)
{
    if (!in->depth)
        return;
    if (wf__grow(&in->made, &in->made_cap, in->made_n + 1, sizeof *in->made))
        in->made[in->made_n++] = where;
    else
        wf__gen_fail(in->g, "out of memory for generated code");
}

static wf__ref only_uniform_guard(const wf__inst *in, wf__ref loop)
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

static void begin(wf__inst *in, wf__ref loop)
{
    wf__gen *g = in->g;
    wf__open_loop *o = &in->open[in->depth];
    bool once = in->ir->node[loop].aux;
    for (wf__ref s = loop + 1; is_state(in, s, loop); s++)
        if (in->live[s])
            *place(in, s) = as_state(in, s, in->ir->node[s].b);
    *o = (wf__open_loop){ .loop = loop, .before = g->L->GetInsertBlock(g->b) };
    o->index_vector = in->index_vector;
    o->index_vector32 = in->index_vector32;
    o->memo_n = in->memo_n;
    o->made_n = in->made_n;
    if (!once) {
        o->header = wf__gen_block(g, "turn");
        g->L->BuildBr(g->b, o->header);
        wf__gen_at(g, o->header);
        for (wf__ref s = loop + 1; is_state(in, s, loop); s++) {
            if (!in->live[s])
                continue;
            val initial = *place(in, s), phi = g->L->BuildPhi(g->b, g->L->TypeOf(initial), "");
            g->L->AddIncoming(phi, &initial, &o->before, 1);
            *place(in, s) = phi;
        }
    }
    block body = wf__gen_block(g, "body");
    o->after = wf__gen_block(g, "after");
    g->L->BuildCondBr(g->b, any_guard(in, loop), body, o->after);
    o->before = once ? g->L->GetInsertBlock(g->b) : o->before;
    wf__gen_at(g, body);
    in->depth++;
    o->guard = only_uniform_guard(in, loop);
    if (o->guard) {
        o->guard_value = in->scalar[o->guard];
        in->scalar[o->guard] = wf__gen_int(g, g->i1, 1, 1);
    }
}

/* Forgets what was made in the body on demand. */
static void forget(wf__inst *in, const wf__open_loop *o)
{
    while (in->made_n > o->made_n)
        *in->made[--in->made_n] = NULL;
    wf__inst_forget(in, o->memo_n);
    in->index_vector = o->index_vector;
    in->index_vector32 = o->index_vector32;
}

static void end(wf__inst *in, wf__ref r)
{
    wf__gen *g = in->g;
    const wf__ir *ir = in->ir;
    wf__ref first = r;
    while (ir->node[first - 1].op == WF__NEXT)
        first--;
    for (wf__ref n = first; n < r; n++) /* all before any branch */
        if (in->live[n])
            in->vector[n] = as_state(in, ir->node[n].a, ir->node[n].b);
    wf__open_loop *o = &in->open[--in->depth];
    block latch = g->L->GetInsertBlock(g->b);
    g->L->BuildBr(g->b, o->header ? o->header : o->after);
    forget(in, o);
    if (o->guard)
        in->scalar[o->guard] = o->guard_value;
    wf__gen_at(g, o->after);
    for (wf__ref n = first; n < r; n++) {
        if (!in->live[n])
            continue;
        val *state = place(in, ir->node[n].a), phi = *state;
        if (!o->header) {
            phi = g->L->BuildPhi(g->b, g->L->TypeOf(in->vector[n]), "");
            g->L->AddIncoming(phi, state, &o->before, 1);
            *state = phi;
        }
        g->L->AddIncoming(phi, &in->vector[n], &latch, 1);
    }
}

void wf__emit_loop(wf__inst *in, wf__ref r)
{
    if (in->ir->node[r].op == WF__LOOP)
        begin(in, r);
    else if (in->ir->node[r].op == WF__END)
        end(in, r);
}
