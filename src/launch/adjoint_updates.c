/* adjoint_updates.c - derivatives of operators that accumulate by minimum, maximum or product, by two recordings:
 *
 *   the points      over the operator's space: each stores the value that it accumulates as an element of its own
 *   an array graph  which accumulates these values, at the places and under the conditions of the points
 *
 * What the values and the elements from before get is thus as in array graphs (ad/updates.c).
 */
#include "ad/ad.h"
#include "ad/loops.h"
#include "launch/adjoint_reduce.h"

typedef struct update {                  /* an accumulation */
    wf__ref node;                        /* of wf__split.call */
    uint32_t out;                        /* output of the operator */
    wf_array *value, *derivative, *when; /* of the operator's space; when: NULL = always */
    wf_array *index[WF_MAX_RANK];
} update;

typedef struct target { /* an output with accumulations */
    wf_array *after;    /* a copy of its contents, into which values are accumulated; NULL = it has none */
    size_t wanted;      /* 1 + its number among the wanted arrays; 0 = it is none */
} target;

typedef struct updates {
    wf__split s;
    update *of;
    uint32_t n;
    target *target; /* [outs] */
} updates;

static bool is_update(const wf__node *n)
{
    const unsigned join = n->op == WF__ACCUM ? wf__node_join(n) : WF_JOIN_ADD;
    return wf__has_adjoint(n->dtype) && (join == WF_JOIN_MIN || join == WF_JOIN_MAX || join == WF_JOIN_MUL);
}

/* Returns 1 + the number of the output that a node accumulates into; 0 = none. */
static uint32_t updated(const wf_graph *g, const wf__derive *d, const wf__ir *ir, const wf__node *n)
{
    if (!is_update(n))
        return 0;
    for (uint32_t k = 0; k < d->outs.n; ++k)
        if (d->outs.at[k] == g->program.object[ir->slot[n->a].object].array)
            return k + 1;
    return 0;
}

static bool has_updates(const wf_graph *g, const wf__derive *d)
{
    const wf__ir *ir = &g->program.rec.ir;
    bool any = false;
    for (wf__ref r = 1; r < ir->n; ++r)
        any = any || updated(g, d, ir, &ir->node[r]);
    return any;
}

/* ---- what is accumulated ---- */
/* Of an array that it accumulates into an operator uses nothing else. */
static bool is_alone(const updates *u, const wf__node *n)
{
    const wf__ir *ir = &u->s.call;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *m = &ir->node[r];
        if (wf__op_names_slot(m->op) && ir->slot[m->a].object == ir->slot[n->a].object &&
            !(m->op == WF__ACCUM && wf__node_join(m) == wf__node_join(n)))
            return false;
    }
    return true;
}

static bool find_updates(updates *u)
{
    wf__split *s = &u->s;
    uint32_t cap = 0;
    for (wf__ref r = 1; r < s->n && s->call.status == WF_OK; ++r) {
        const wf__node *n = &s->call.node[r];
        const uint32_t out = updated(s->g, s->d, &s->call, n);
        if (!out)
            continue;
        if (wf__turns_end(&s->call, r))
            wf__ir_fail_at(
                &s->call, n, WF_ERR_UNSUPPORTED,
                "%s: an operator that accumulates by minimum, maximum or product in a loop that stays a loop "
                "has no derivative; accumulate after the loop",
                s->d->function);
        else if (!is_alone(u, n))
            wf__ir_fail_at(
                &s->call, n, WF_ERR_UNSUPPORTED,
                "%s: an operator that accumulates by minimum, maximum or product and uses the array in another way, "
                "too, has no derivative; say it as an array graph",
                s->d->function);
        else if (!wf__grow(&u->of, &cap, u->n + 1, sizeof *u->of))
            wf__ir_fail(&s->call, WF_ERR_MEMORY, "%s: out of memory", s->d->function);
        else {
            u->of[u->n++] = (update){ .node = r, .out = out - 1 };
            s->chain[r] = 1; /* it is not recorded again */
        }
    }
    return s->call.status == WF_OK;
}

static wf_status make_arrays(updates *u)
{
    const wf__split *s = &u->s;
    for (uint32_t i = 0; i < u->n; ++i) {
        update *of = &u->of[i];
        const wf__node *n = &s->call.node[of->node];
        const unsigned t = wf__dtype(&s->call, n->c);
        of->value = wf__split_array(s, t, &s->space);
        of->derivative = wf__split_array(s, wf__adjoint_dtype(t), &s->space);
        of->when = n->d ? wf__split_array(s, WF_BOOL, &s->space) : NULL;
        bool ok = of->value && of->derivative && (of->when || !n->d);
        for (int d = 0; d < s->d->outs.at[of->out]->shape.rank; ++d)
            ok = (of->index[d] = wf__split_array(s, WF_I64, &s->space)) && ok;
        if (!ok)
            return wf_last_status(s->ctx);
        target *to = &u->target[of->out];
        if (!to->after && !(to->after = wf_copy(s->d->outs.at[of->out])))
            return wf_last_status(s->ctx);
        for (size_t k = 0; k < s->d->wrt.n; ++k)
            to->wanted = s->d->wrt.at[k] == s->d->outs.at[of->out] ? k + 1 : to->wanted;
    }
    return WF_OK;
}

/* ---- the points ---- */
static void store_place(const updates *u, const wf__again *a, const update *of)
{
    const wf__split *s = &u->s;
    const wf__ir *call = &s->call;
    const wf__node *n = &call->node[of->node];
    const wf_shape *shape = &s->d->outs.at[of->out]->shape;
    for (int d = 0; d < shape->rank && wf__is_recording(a->g); ++d) {
        const int axis = d + s->space.rank - shape->rank;
        wf__ir *ir = wf__graph_ir(a->g);
        wf__ref own = axis < 0 || shape->dim[d] == 1 ? wf__const_bits(ir, WF_I64, 0) : wf__index(ir, axis);
        wf__store_to_array(a->g, s->d->function, of->index[d], 0, n->b ? a->map[wf__tuple_at(call, n->b)[d]] : own, 0);
    }
    if (of->when && wf__is_recording(a->g))
        wf__store_to_array(a->g, s->d->function, of->when, 0, a->map[n->d], 0);
}

/* Records the points: `places`: with the places and conditions of their values, and nothing else. */
static wf_graph *points(const updates *u, bool places)
{
    const wf__split *s = &u->s;
    wf_graph *g = wf__split_graph(s, &s->space, 0);
    wf__again a = { .g = g, .in = &s->call, .to = s->array, .function = s->d->function };
    wf__record_points(s, &a, !places);
    for (uint32_t i = 0; i < u->n && wf__is_recording(g); ++i) {
        wf__store_to_array(g, s->d->function, u->of[i].value, 0, a.map[s->call.node[u->of[i].node].c], 0);
        if (places)
            store_place(u, &a, &u->of[i]);
    }
    wf__again_end(&a);
    return g;
}

/* Runs the derivative of the points. room: for lists of outputs and wanted arrays. */
static wf_status derive_points(const updates *u, wf_array **room)
{
    const wf__derive *d = u->s.d;
    const size_t most = d->outs.n + u->n;
    wf_array **out = room, **of_out = room + most, **wrt = room + 2 * most, **of_wrt = wrt + d->wrt.n;
    size_t n = 0, wrts = 0;
    const wf_arrays *given = d->reverse ? &d->seeds : &d->results, *wanted = d->reverse ? &d->results : &d->seeds;
    for (size_t k = 0; k < d->outs.n; ++k)
        if (!u->target[k].after) {
            out[n] = d->outs.at[k];
            of_out[n++] = given->at[k];
        }
    for (uint32_t i = 0; i < u->n; ++i) {
        out[n] = u->of[i].value;
        of_out[n++] = u->of[i].derivative;
    }
    for (size_t k = 0; k < d->wrt.n; ++k) {
        bool is_target = false;
        for (size_t i = 0; i < d->outs.n; ++i)
            is_target = is_target || u->target[i].wanted == k + 1;
        if (is_target)
            continue;
        wrt[wrts] = d->wrt.at[k];
        of_wrt[wrts++] = wanted->at[k];
    }
    const wf_arrays by_out = { of_out, n }, by_wrt = { of_wrt, wrts };
    const wf__derive of = { .function = d->function,
                            .reverse = d->reverse,
                            .outs = { out, n },
                            .wrt = { wrt, wrts },
                            .seeds = d->reverse ? by_out : by_wrt,
                            .results = d->reverse ? by_wrt : by_out };
    return wf__derive_operator(points(u, false), &of);
}

/* ---- the array graph ---- */
static void accumulate(const updates *u, wf_graph *g, const update *of, wf_val value)
{
    wf_val index[WF_MAX_RANK];
    const wf__node *n = &u->s.call.node[of->node];
    wf_array *to = u->target[of->out].after;
    const int rank = to->shape.rank;
    for (int d = 0; d < rank; ++d)
        index[d] = wf_in(g, of->index[d]);
    const wf_vals place = { index, (size_t)rank };
    const wf_join join = (wf_join)wf__node_join(n);
    if (of->when)
        wf_accumulate_if_n(g, wf_in(g, of->when), join, WF_MODE_AUTO, to, value, place);
    else
        wf_accumulate_n(g, join, WF_MODE_AUTO, to, value, place);
}

/* Records the accumulations and their derivative. val: [4 * most]; most: updates and outputs together. */
static wf_graph *accumulations(const updates *u, wf_val *val, size_t most)
{
    const wf__split *s = &u->s;
    const wf__derive *d = s->d;
    wf_val *first = val, *last = val + most, *seed = val + 2 * most, *result = val + 3 * most;
    size_t firsts = 0, lasts = 0, seeds = 0;
    wf_graph *g =
        wf_begin_with(s->ctx, &(wf_space){ .size = sizeof(wf_space), .name = "adjoint", .stream = s->g->stream });
    for (uint32_t i = 0; i < u->n; ++i)
        first[firsts++] = wf_in(g, u->of[i].value);
    for (size_t k = 0; k < d->outs.n; ++k) {
        wf_val before = u->target[k].after ? wf_in(g, u->target[k].after) : (wf_val){ { 0, NULL } };
        if (u->target[k].wanted)
            first[firsts++] = before;
    }
    for (uint32_t i = 0; i < u->n; ++i)
        accumulate(u, g, &u->of[i], first[i]);
    for (size_t k = 0; k < d->outs.n; ++k)
        if (u->target[k].after) {
            last[lasts++] = wf_in(g, u->target[k].after);
            if (d->reverse)
                seed[seeds++] = wf_in(g, d->seeds.at[k]);
        }
    if (d->reverse) {
        wf_vjp_n((wf_vals){ last, lasts }, (wf_vals){ seed, seeds }, (wf_vals){ first, firsts }, result);
        for (uint32_t i = 0; i < u->n; ++i)
            (wf_out)(g, u->of[i].derivative, *result++);
        for (size_t k = 0; k < d->outs.n; ++k)
            if (u->target[k].wanted)
                (wf_out)(g, d->results.at[u->target[k].wanted - 1], *result++);
        return g;
    }
    for (uint32_t i = 0; i < u->n; ++i)
        seed[seeds++] = wf_in(g, u->of[i].derivative);
    for (size_t k = 0; k < d->outs.n; ++k)
        if (u->target[k].wanted)
            seed[seeds++] = wf_in(g, d->seeds.at[u->target[k].wanted - 1]);
    wf_jvp_n((wf_vals){ last, lasts }, (wf_vals){ first, firsts }, (wf_vals){ seed, seeds }, result);
    for (size_t k = 0; k < d->outs.n; ++k)
        if (u->target[k].after)
            (wf_out)(g, d->results.at[k], *result++);
    return g;
}

/* ---- beginning and end ---- */
static wf_status begin(updates *u)
{
    wf__split *s = &u->s;
    const wf__recording *rec = &s->p->rec;
    if (!wf__derive_space(s->g, &s->space))
        return wf_last_status(s->ctx);
    wf__ir_init(&s->call, s->space.rank, rec->ir.flags | WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    s->array = wf__alloc0((s->p->object_n + 1) * sizeof(wf_array *));
    u->target = wf__alloc0((s->d->outs.n + 1) * sizeof *u->target);
    if (!s->array || !u->target)
        return wf__split_no_memory(s);
    for (uint32_t i = 0; i < s->p->object_n; ++i)
        s->array[i] = s->p->object[i].array;
    if (wf__straighten(&rec->ir, &s->call, s->d->function)) {
        s->n = s->call.n;
        s->chain = wf__alloc0(s->n);
        if (!s->chain)
            return wf__split_no_memory(s);
        if (find_updates(u))
            return make_arrays(u);
    }
    wf__program_error(s->ctx, s->p, s->call.status, s->call.error, WF_SECTION_CALL, &(wf__culprit){ 0 });
    return s->call.status;
}

static wf_status derive_both(const updates *u)
{
    const wf__derive *d = u->s.d;
    const size_t most = u->n + d->outs.n;
    wf_array **room = wf__alloc0((2 * (most + d->wrt.n) + 1) * sizeof *room);
    wf_val *val = wf__alloc0((4 * most + 1) * sizeof *val);
    wf_status status = room && val ? wf__run_recorded(points(u, true)) : wf__split_no_memory(&u->s);
    if (status == WF_OK && !d->reverse)
        status = derive_points(u, room);
    if (status == WF_OK)
        status = wf__run_recorded(accumulations(u, val, most));
    if (status == WF_OK && d->reverse)
        status = derive_points(u, room);
    wf__free(room);
    wf__free(val);
    return status;
}

static void end(updates *u)
{
    for (uint32_t i = 0; i < u->n; ++i) {
        update *of = &u->of[i];
        wf_release(of->value);
        wf_release(of->derivative);
        wf_release(of->when);
        for (int d = 0; d < WF_MAX_RANK; ++d)
            wf_release(of->index[d]);
    }
    for (size_t k = 0; u->target && k < u->s.d->outs.n; ++k)
        wf_release(u->target[k].after);
    wf__ir_free(&u->s.call);
    wf__free(u->s.chain);
    wf__free(u->s.array);
    wf__free(u->of);
    wf__free(u->target);
}

static wf_status derive(wf_graph *graph, const wf__derive *d)
{
    updates u = { .s = { .d = d, .g = graph, .p = &graph->program, .ctx = graph->ctx } };
    wf_status status = begin(&u);
    if (status == WF_OK)
        status = derive_both(&u);
    end(&u);
    return status;
}

wf_status wf__derive_updates(wf_graph *graph, const wf__derive *d)
{
    return graph && has_updates(graph, d) ? wf__derive_by(graph, d, derive) : wf__derive_operator(graph, d);
}
