/* forward.c - forward mode: one walk from the wanted values to the results.
 *
 * Each active value gets a tangent, its derivative in the direction of the seeds, from the tangents of its operands. In
 * an array graph the shape of a tangent broadcasts to that of the value, and the tangent stands for its broadcast. A tangent of 0
 * is absent. The contents of arrays have tangents as values do.
 */
#include "ad/forward.h"
#include "ad/copies.h"
#include "ad/custom.h"
#include "ad/rule.h"
#include "ad/stores.h"
#include "ad/sweep.h"
#include "ad/turn.h"

typedef struct scattered { /* array graphs: SCATTERs of what loops that are kept store and add to arrays */
    struct {
        uint32_t object;
        wf__ref node;
    } * at;
    uint32_t n, cap;
} scattered;

typedef struct forward {
    wf__ir *ir;
    const wf__ad_task *task;
    wf__route route;
    wf__ref *node;  /* [route.n] tangents; 0 = the tangent is 0 */
    wf__ref *array; /* [route.objects] tangents of the contents of arrays */
    bool inside;    /* in a turn of a loop that is kept */
    scattered *scattered;
} forward;

static wf__ref sum(wf__ir *ir, wf__ref a, wf__ref b) { return a && b ? wf__op2(ir, WF__OP_add, a, b) : a ? a : b; }

/* Returns a ? x : y, where an absent x or y is 0. */
static wf__ref choose(wf__ir *ir, wf__ref a, wf__ref x, wf__ref y)
{
    wf__ref some = x ? x : y;
    if (!some)
        return 0;
    wf__ref zero = wf__const_f64(ir, wf__dtype(ir, some), 0);
    return wf__op3(ir, WF__OP_select, a, x ? x : zero, y ? y : zero);
}

/* ---- operations ---- */
static wf__ref forward_rule(forward *f, wf__ref r)
{
    wf__ir *ir = f->ir;
    const wf__node n = ir->node[r];
    const wf__rule *rule = wf__rule_of(n.op);
    const wf__ref operand[3] = { n.a, n.b, n.c };
    const unsigned arity = wf__arity(n.op);
    wf__rule_names names = wf__rule_names_of(ir, r);
    wf__ref total = 0;
    for (unsigned k = 0; k < arity && ir->status == WF_OK; ++k) {
        wf__ref condition = 0;
        names.g = f->node[operand[k]];
        if (!names.g)
            continue;
        wf__ref term = wf__rule_term(ir, rule, k, &names, &condition);
        total = sum(ir, total, condition ? choose(ir, condition, term, 0) : term);
    }
    return total;
}

/* A part of a function of complex numbers. */
static wf__ref forward_whole(forward *f, wf__ref r, const wf__whole *of)
{
    const wf__whole whole = *of; /* the table moves */
    wf__ref total = 0;
    for (unsigned k = 0; k < 4 && f->ir->status == WF_OK; ++k) {
        wf__ref part = whole.part[k / 2][k % 2], tangent = part ? f->node[part] : 0;
        if (tangent)
            total = sum(f->ir, total, wf__whole_term(f->ir, &whole, r, k / 2, k % 2, tangent));
    }
    return total;
}

static wf__ref forward_parts(forward *f, const wf__node *n)
{
    wf__ir *ir = f->ir;
    if (n->op != WF__OP_complex)
        return n->op == WF__OP_real ? wf__real(ir, f->node[n->a]) : wf__imag(ir, f->node[n->a]);
    wf__ref re = f->node[n->a], im = f->node[n->b];
    if (!re && !im)
        return 0;
    wf__ref zero = wf__const_f64(ir, wf__dtype(ir, re ? re : im), 0);
    return wf__complex(ir, re ? re : zero, im ? im : zero);
}

static wf__ref forward_view(forward *f, const wf__node *n)
{
    wf__ir *ir = f->ir;
    int64_t numbers[WF_MAX_RANK];
    wf__ref tangent = f->node[n->a];
    if (n->aux == WF__VIEW_GATHER) {
        wf__ref other = n->c ? f->node[n->c] : 0, any = tangent ? tangent : other;
        if (!any)
            return 0;
        wf__ref zero = wf__const_f64(ir, wf__dtype(ir, any), 0);
        tangent = wf__broadcast_to(ir, tangent ? tangent : zero, wf__shape_of(ir, n->a));
        return wf__gather(ir, tangent, n->b, n->c ? other ? other : zero : 0);
    }
    if (!tangent)
        return 0;
    tangent = wf__broadcast_to(ir, tangent, wf__shape_of(ir, n->a));
    return wf__view(ir, n->aux, numbers, wf__view_numbers(ir, n, numbers), tangent);
}

static wf__ref forward_scatter(forward *f, wf__ref r)
{
    const wf__node n = f->ir->node[r];
    if (!f->node[n.a])
        return 0;
    wf__join_update u = wf__update_of_scatter(f->ir, &n);
    if (u.join != WF_JOIN_ADD)
        return wf__forward_update(f->ir, &u, f->node[n.a], 0);
    return wf__scatter(f->ir, f->node[n.a], n.shape, n.b, n.d);
}

/* ---- derivatives that the program gives ---- */
/* As a whole, at the first output of a call of a rule. */
static wf__ref forward_rule_of_program(forward *f, wf__ref r)
{
    wf__ir *ir = f->ir;
    const uint32_t tuple = ir->node[r].b;
    wf__ref seed[WF__MAX_OPERANDS] = { 0 }, tangent[WF__MAX_OPERANDS] = { 0 };
    bool any = false;
    if (wf__same_call(ir, r - 1, r))
        return f->node[r];
    for (uint32_t k = 0; k < wf__tuple_len(ir, tuple); ++k) {
        const wf__ref in = wf__tuple_at(ir, tuple)[k];
        seed[k] = f->node[in] ? wf__broadcast_to(ir, f->node[in], wf__shape_of(ir, in)) : 0;
        any = any || seed[k];
    }
    if (any && wf__record_rule(ir, f->task, r, seed, false, tangent))
        for (wf__ref q = r; q < f->route.n && (q == r || wf__same_call(ir, r, q)); ++q)
            f->node[q] = tangent[ir->node[q].d];
    return f->node[r];
}

static wf__ref forward_terms(forward *f, wf__ref r)
{
    wf__term term[WF__MOST_TERMS];
    const uint32_t terms = wf__terms_of(f->ir, r, term);
    wf__ref total = 0;
    for (uint32_t k = 0; k < terms; ++k) {
        wf__ref tangent = f->node[term[k].of];
        if (tangent && term[k].factor)
            tangent = wf__op2(f->ir, WF__OP_mul, tangent, term[k].factor);
        total = sum(f->ir, total, term[k].where ? choose(f->ir, term[k].where, tangent, 0) : tangent);
    }
    return total;
}

static wf__ref forward_derived(forward *f, wf__ref r)
{
    wf__ir *ir = f->ir;
    const wf__node n = ir->node[r];
    wf__ref total = 0;
    if (wf__is_of_loop(&n))
        return f->node[n.a];
    if (wf__has_terms(&n))
        return forward_terms(f, r);
    if (n.c)
        return forward_rule_of_program(f, r);
    for (uint32_t k = 0; k < wf__tuple_len(ir, n.b); ++k) {
        wf__ref tangent = f->node[wf__tuple_at(ir, n.b)[k]];
        total = sum(ir, total, tangent ? wf__cast(ir, tangent, wf__adjoint_dtype(n.dtype)) : 0);
    }
    return total;
}

/* ---- memory ---- */
static wf__ref forward_load(forward *f, wf__ref r)
{
    wf__ir *ir = f->ir;
    const wf__node n = ir->node[r];
    const uint32_t along = f->inside && f->task->derivative && n.b ? f->task->derivative[wf__object_of(ir, &n)] : 0;
    const uint32_t shape = ir->slot[n.a].shape;
    wf__ref tangent = ir->arrays || (f->inside && !n.b) ? f->array[wf__object_of(ir, &n)] : 0, inside = 0;
    wf__ref when = wf__when(ir, &n), other = wf__otherwise(ir, &n);
    uint32_t tuple = 0;
    other = other && n.b ? f->node[other] : 0;
    if (n.b) {
        wf__ref extent[WF_MAX_RANK];
        wf__extents_of_slot(ir, n.a, extent);
        if (!wf__elements_read(ir, n.b, (wf_border)n.aux, extent, &tuple, &inside))
            return 0;
    }
    wf__ref on = wf__both(ir, when, inside);
    if (along) { /* an index space: the read of the direction */
        const wf_border border = (wf_border)n.aux;
        wf__ref zero = border == WF_BORDER_VALUE ? wf__const_f64(ir, ir->slot[along - 1].dtype, 0) : 0;
        tangent = wf__load_when(ir, along - 1, n.b, border, zero, when);
        tangent = tangent ? wf__cast(ir, tangent, wf__adjoint_dtype(n.dtype)) : 0;
    } else if (tangent && n.b) {
        wf__ref zero = on ? wf__const_f64(ir, wf__dtype(ir, tangent), 0) : 0; /* for indices out of range */
        tangent = wf__gather(ir, wf__broadcast_to(ir, tangent, shape), tuple, zero);
    }
    return on ? choose(ir, on, tangent, inside ? other : 0) : tangent;
}

static void forward_store(forward *f, wf__ref r)
{
    wf__ir *ir = f->ir;
    const wf__node n = ir->node[r];
    const uint32_t object = wf__object_of(ir, &n), shape = ir->slot[n.a].shape;
    const bool adds = n.op == WF__ACCUM && wf__node_join(&n) == WF_JOIN_ADD;
    if (n.op == WF__ACCUM && !adds) {
        wf__join_update u;
        if (wf__update_of_accum(ir, f->task, r, &u))
            f->array[object] = wf__forward_update(ir, &u, f->node[n.c], f->array[object]);
        return;
    }
    if (n.op != WF__STORE && !adds) {
        wf__no_derivative(f->ir, f->task, &n, WF__STOP_OF_READ);
        return;
    }
    wf__ref tangent = f->node[n.c], old = f->array[object], rest = adds ? 0 : wf__left_alone(ir, &n, shape);
    if (tangent)
        tangent = wf__cast(ir, tangent, wf__adjoint_dtype(n.dtype));
    if (n.b && tangent)
        tangent = wf__scatter(ir, wf__broadcast_to(ir, tangent, wf__shape_of(ir, n.c)), shape, n.b, n.d);
    if (adds)
        f->array[object] = sum(ir, old, tangent);
    else
        f->array[object] = rest ? choose(ir, rest, old, tangent) : tangent;
}

/* An effect in a turn of a loop that is kept. */
static void forward_effect(forward *f, wf__ref r)
{
    wf__ir *ir = f->ir;
    const wf__node n = ir->node[r];
    const uint32_t object = wf__object_of(ir, &n), to = f->task->effects ? f->task->effects[object] : 0;
    wf__ref tangent = to ? f->node[n.c] : 0;
    scattered *s = f->scattered;
    if (to && n.op == WF__STORE && !ir->arrays && !tangent)
        tangent = wf__const_f64(ir, wf__adjoint_dtype(n.dtype), 0);
    if (!tangent || ir->status != WF_OK)
        return;
    if (!ir->arrays && n.op == WF__STORE)
        wf__store(ir, to - 1, n.b, wf__cast(ir, tangent, ir->slot[to - 1].dtype), n.d);
    else if (!ir->arrays) {
        const unsigned t = wf__update_dtype(ir->slot[to - 1].dtype, WF_JOIN_ADD);
        wf__accum(ir, to - 1, n.b, WF_JOIN_ADD, WF__MODE_AUTO, wf__cast(ir, tangent, t), n.d);
    } else if (!wf__grow(&s->at, &s->cap, s->n + 1, sizeof *s->at))
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", f->task->function);
    else {
        const wf__ref first = n.b ? 0 : wf__const_bits(ir, WF_I64, 0);
        const uint32_t tuple = n.b ? n.b : wf__tuple(ir, &first, 1); /* an array of rank 0 as one of one element */
        const uint32_t shape = n.b ? ir->slot[n.a].shape : wf__shape_id(ir, &(wf_shape){ .rank = 1, .dim = { 1 } });
        tangent = wf__cast(ir, tangent, wf__adjoint_dtype(n.dtype));
        s->at[s->n].object = object;
        s->at[s->n++].node = wf__scatter(ir, tangent, shape, tuple, n.d);
    }
}

/* Sets the tangents of the arrays that a loop has changed. */
static void leave_effects(forward *f, const wf__region *loop, const uint32_t *effects)
{
    wf__ir *ir = f->ir;
    for (uint32_t object = 0; object < f->route.objects && ir->status == WF_OK; ++object) {
        if (!effects[object])
            continue;
        wf__ref rest = wf__left_by_loop(ir, loop, object), *array = &f->array[object];
        *array = rest ? choose(ir, rest, *array, 0) : *array;
        for (uint32_t i = 0; i < f->scattered->n; ++i) {
            wf__ref part = f->scattered->at[i].node;
            if (f->scattered->at[i].object != object)
                continue;
            for (uint32_t k = 0; k < ir->slot_n && part; ++k)
                if (ir->slot[k].object == object && !ir->shape[ir->slot[k].shape].rank)
                    part = wf__reshaped(ir, part, &(wf_shape){ .rank = 0 });
            *array = sum(ir, *array, part);
        }
    }
    f->scattered->n = 0;
}

/* ---- local memory: the tangents of its elements are in local memory, too ---- */
static wf__ref tangent_memory(forward *f, wf__ref local)
{
    wf__ir *ir = f->ir;
    const wf__node *n = &ir->node[wf__local_of(ir, local)];
    const unsigned dtype = wf__adjoint_dtype(n->dtype);
    if (f->node[local])
        return f->node[local];
    wf__ref memory = wf__local(ir, dtype, n->a, n->shape); /* tape.c begins with a value for element 0 */
    return wf__put(ir, memory, wf__const_bits(ir, WF_U32, 0), wf__const_f64(ir, dtype, 0), 0);
}

static wf__ref forward_put(forward *f, const wf__node *put)
{
    const wf__node n = *put;
    wf__ref memory = tangent_memory(f, n.a), value = f->node[n.c];
    value = value ? value : wf__const_f64(f->ir, wf__adjoint_dtype(n.dtype), 0);
    return wf__put(f->ir, memory, n.b, value, n.d);
}

/* ---- nodes ---- */
static wf__ref forward_node(forward *f, wf__ref r)
{
    wf__ir *ir = f->ir;
    const wf__node n = ir->node[r];
    const wf__whole *whole = wf__whole_of(ir, r);
    if (whole)
        return forward_whole(f, r, whole);
    switch ((wf__op)n.op) {
    case WF__CONST:
    case WF__PARAM:
    case WF__RED: /* leaves */
        return 0;
    case WF__LOAD:
        return forward_load(f, r);
    case WF__REDUCE:
        return f->node[n.a] ? wf__forward_reduce(ir, r, f->node[n.a], f->task->function) : 0;
    case WF__SCAN:
        return f->node[n.a] ? wf__forward_scan(ir, r, f->node[n.a], f->task->function) : 0;
    case WF__VIEW:
        return forward_view(f, &n);
    case WF__SCATTER:
        return forward_scatter(f, r);
    case WF__DERIVED:
        return forward_derived(f, r);
    case WF__CAST:
        return f->node[n.a] ? wf__cast(ir, f->node[n.a], wf__adjoint_dtype(n.dtype)) : 0;
    case WF__PUT:
        return forward_put(f, &n);
    case WF__GET:
        return f->node[n.a] ? wf__get(ir, f->node[n.a], n.b) : 0;
    case WF__OP_select:
        return choose(ir, n.a, f->node[n.b], f->node[n.c]);
    case WF__OP_real:
    case WF__OP_imag:
    case WF__OP_complex:
        return forward_parts(f, &n);
    default:
        if (n.op >= WF__NODES && wf__rule_of(n.op)->class != WF__RULE_CODE)
            return forward_rule(f, r);
        wf__no_derivative(f->ir, f->task, &n, "");
        return 0;
    }
}

/* Adds to the contents of an array the directions of the wanted values that are these contents: from the effect at node
 * `from` to the next one at node `to`. */
static void add_seeds(forward *f, uint32_t object, wf__ref from, wf__ref to)
{
    for (uint32_t i = 0; i < f->task->wrts; ++i) {
        const wf__ref r = f->task->wrt[i];
        if (r > from && r < to && wf__is_contents(f->ir, r) && wf__object_of(f->ir, &f->ir->node[r]) == object)
            f->array[object] = sum(f->ir, f->array[object], f->task->seed[i]);
    }
}

static wf__ref next_effect(const forward *f, uint32_t object, wf__ref after)
{
    wf__ref r = after + 1;
    while (r < f->route.n && !(wf__op_is_store(f->ir->node[r].op) && wf__object_of(f->ir, &f->ir->node[r]) == object))
        ++r;
    return r;
}

/* Visits a node outside of blocks. */
static void visit(forward *f, wf__ref r)
{
    wf__ir *ir = f->ir;
    const wf__node n = ir->node[r];
    if (wf__op_is_store(n.op) && f->inside) {
        forward_effect(f, r);
        return;
    }
    if (wf__op_is_store(n.op) && ir->arrays) {
        const uint32_t object = wf__object_of(ir, &n);
        if (f->route.active.array[object] == WF__ACTIVE)
            forward_store(f, r);
        if (wf__op_has_value(n.op) && wf__on_route(ir, &f->route, r))
            wf__no_derivative(ir, f->task, &n, WF__STOP_OF_READ);
        add_seeds(f, object, r, next_effect(f, object, r));
        return;
    }
    if (!wf__op_has_value(n.op) || !wf__on_route(ir, &f->route, r))
        return;
    bool is_wanted = false;
    wf__ref seed = 0;
    for (uint32_t i = 0; i < f->task->wrts; ++i)
        if (f->task->wrt[i] == r && !wf__is_contents(ir, r)) {
            seed = sum(ir, seed, f->task->seed[i]);
            is_wanted = true;
        }
    if (n.op == WF__STATE && !is_wanted) /* the caller is inside the block, which has not ended */
        wf__no_derivative(f->ir, f->task, &n, " before its block has ended");
    f->node[r] = n.op == WF__STATE ? seed : sum(ir, forward_node(f, r), seed);
}

static void walk(forward *f, wf__ref first, wf__ref last);

/* ---- loops that are kept ---- */
/* Walks over the copy of a turn, the nodes from `first` on. value: the states of the copy; tangent: theirs, which become
 * those of the next values. */
static void forward_turn(forward *f, const wf__turn *turn, wf__ref first, const wf__ref *value, wf__ref *tangent)
{
    wf__ir *ir = f->ir;
    const wf__ad_task none = wf__turn_task(turn);
    forward inner = { .ir = ir, .task = &none, .array = f->array, .inside = true, .scattered = f->scattered };
    if (wf__turn_route(turn, value, tangent, first, &inner.route)) {
        inner.node = wf__alloc0((inner.route.n + 1) * sizeof *inner.node);
        if (!inner.node)
            wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", none.function);
    }
    if (inner.node) {
        for (uint32_t i = 0; i < turn->states; ++i)
            if (tangent[i])
                inner.node[value[i]] = tangent[i];
        for (uint32_t k = 0; k < turn->outers; ++k)
            if (!wf__turn_reads(turn, k))
                inner.node[turn->outer[k]] = f->node[turn->outer[k]];
        walk(&inner, first, inner.route.last);
        for (uint32_t i = 0; i < turn->states && ir->status == WF_OK; ++i)
            if (tangent[i]) {
                wf__ref next = inner.node[wf__turn_next(turn, i)];
                tangent[i] = next ? next : wf__const_f64(ir, wf__dtype(ir, tangent[i]), 0);
            }
        for (wf__ref r = turn->first + turn->states; r < turn->loop.end && ir->status == WF_OK; ++r)
            if (turn->in.node[r].op == WF__SCATTER)
                f->node[r] = inner.node[turn->map[r]];
        wf__drop_effects(ir, first, inner.route.n);
    }
    wf__route_free(&inner.route);
    wf__free(inner.node);
}

/* Tangents of what the turns of a loop read: of arrays, or in an index space of the point's own elements. */
static void begin_reads(forward *f, const wf__turn *turn)
{
    wf__ir *ir = f->ir;
    for (uint32_t k = 0; k < turn->outers; ++k)
        for (uint32_t i = 0; i < f->task->wrts; ++i)
            if (f->task->wrt[i] == turn->outer[k] && wf__turn_reads(turn, k))
                f->array[wf__object_of(ir, &turn->in.node[turn->outer[k]])] = f->task->seed[i];
    for (wf__ref r = turn->first; ir->arrays && r < turn->loop.end; ++r)
        if (turn->in.node[r].op == WF__LOAD && turn->in.node[r].b) {
            wf__ref *tangent = &f->array[wf__object_of(ir, &turn->in.node[r])];
            *tangent = wf__broadcast_to(ir, *tangent, ir->slot[turn->in.node[r].a].shape);
        }
}

/* Records the loop once more, with the tangents of its states as further states. initial: [states] the tangents of their
 * initial values, 0 = the tangent is 0; NULL = those that the walk has found. */
static void forward_loop(forward *f, const wf__region *b, const wf__ref *initial)
{
    wf__ir *ir = f->ir;
    wf__turn turn;
    wf__ref *value = NULL;
    if (!wf__turn_begin(ir, f->task, &f->route, b, &turn) ||
        !(value = wf__alloc0(3 * ((size_t)turn.states + 1) * sizeof *value))) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", f->task->function);
        wf__turn_free(&turn);
        return;
    }
    const uint32_t n = turn.states;
    wf__ref *state = value + n, *tangent = state + n; /* state: of the tangents */
    for (uint32_t i = 0; i < n; ++i) {
        const wf__node *s = wf__turn_state(&turn, i);
        if (!wf__on_route(&turn.in, &f->route, turn.first + i))
            continue;
        state[i] = initial ? initial[i] : f->node[s->b];
        if (!state[i])
            state[i] = wf__local_of(&turn.in, s->b) ? tangent_memory(f, s->b)
                                                    : wf__const_f64(ir, wf__adjoint_dtype(s->dtype), 0);
    }
    begin_reads(f, &turn);
    wf__ref loop = wf__loop(ir, false);
    for (uint32_t i = 0; i < n; ++i)
        value[i] = wf__state(ir, loop, wf__turn_state(&turn, i)->b, wf__turn_state(&turn, i)->aux);
    for (uint32_t i = 0; i < n; ++i)
        tangent[i] = state[i] = state[i] ? wf__state(ir, loop, state[i], false) : 0;
    wf__ref first = wf__turn_copy(&turn, value, 0);
    forward_turn(f, &turn, first, value, tangent);
    for (uint32_t i = 0; i < n; ++i)
        wf__next(ir, value[i], wf__turn_next(&turn, i));
    for (uint32_t i = 0; i < n; ++i)
        if (state[i])
            wf__next(ir, state[i], tangent[i]);
    wf__end(ir, loop);
    for (uint32_t i = 0; i < n; ++i)
        f->node[turn.first + i] = state[i];
    if (ir->arrays && !f->inside)
        leave_effects(f, b, turn.effects);
    wf__turn_free(&turn);
    wf__free(value);
}

static void walk(forward *f, wf__ref first, wf__ref last)
{
    wf__ir *ir = f->ir;
    for (wf__ref r = first; r <= last && ir->status == WF_OK; ++r) {
        wf__ref end = ir->node[r].op == WF__LOOP ? wf__loop_end(ir, r) : 0;
        if (!end) {
            visit(f, r);
            continue;
        }
        const wf__region *b = wf__region_at(&f->route.loops, end);
        if (b && b->kept)
            forward_loop(f, b, NULL);
        else if (b && b->last >= b->first)
            walk(f, b->first, b->last);
        for (uint32_t object = 0; object < f->route.objects && ir->arrays && !f->inside; ++object)
            if (wf__writes(ir, r, end, object))
                add_seeds(f, object, end, next_effect(f, object, end));
        for (wf__ref state = r + 1; b && !b->kept && ir->node[state].op == WF__STATE; ++state)
            f->node[state] = wf__final(&f->route.loops, state) ? f->node[wf__final(&f->route.loops, state)] : 0;
        r = end;
    }
}

static wf__ad_task forward_task(const wf__ad_task *task)
{
    wf__ad_task of = *task;
    of.forward = true;
    return of;
}

/* Finds the route from node `first` on. */
static bool begin(forward *f, wf__ref first)
{
    wf__ir *ir = f->ir;
    if (!wf__find_route(ir, f->task, first, &f->route))
        return false;
    f->node = wf__alloc0((f->route.n + f->route.objects + 1) * sizeof *f->node);
    f->array = f->node ? f->node + f->route.n : NULL;
    if (!f->node)
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", f->task->function);
    return f->node != NULL;
}

static void end(forward *f)
{
    if (f->node)
        wf__drop_effects(f->ir, f->route.last + 1, f->route.n);
    wf__free(f->scattered->at);
    wf__route_free(&f->route);
    wf__free(f->node);
}

bool wf__forward_loop(wf__ir *ir, const wf__ad_task *task, wf__ref loop, const wf__ref *initial, const bool *contents,
                      wf__ref *tangent)
{
    scattered of_loops = { 0 };
    wf__ad_task whole = forward_task(task);
    forward f = { .ir = ir, .task = &whole, .scattered = &of_loops };
    whole.stays = true;
    if (begin(&f, loop)) {
        const wf__region *b = wf__region_at(&f.route.loops, wf__loop_end(ir, loop));
        for (uint32_t i = 0; i < task->wrts; ++i) {
            const wf__ref r = task->wrt[i];
            wf__ref *of = contents[i] ? &f.array[wf__object_of(ir, &ir->node[r])] : &f.node[r];
            *of = sum(ir, *of, task->seed[i]);
        }
        if (b && b->kept)
            forward_loop(&f, b, initial);
        else if (b)
            wf__no_second_of_changed(ir, loop, task->function);
        for (uint32_t i = 0; i < task->outs; ++i)
            tangent[i] = b && b->kept ? f.node[task->out[i]] : 0;
    }
    end(&f);
    return ir->status == WF_OK;
}

bool wf__ad_forward(wf__ir *ir, const wf__ad_task *task, wf__ref *tangent)
{
    scattered of_loops = { 0 };
    const wf__ad_task whole = forward_task(task);
    forward f = { .ir = ir, .task = &whole, .scattered = &of_loops };
    if (begin(&f, 1)) {
        for (uint32_t o = 0; ir->arrays && o < f.route.objects; ++o)
            add_seeds(&f, o, 0, next_effect(&f, o, 0));
        walk(&f, 1, f.route.last);
        for (uint32_t i = 0; i < task->outs && ir->status == WF_OK; ++i) {
            wf__ref t = f.node[task->out[i]];
            unsigned dtype = wf__adjoint_dtype(wf__dtype(ir, task->out[i]));
            t = t ? t : wf__const_f64(ir, dtype, 0);
            tangent[i] = wf__broadcast_to(ir, t, wf__shape_of(ir, task->out[i]));
        }
    }
    end(&f);
    return ir->status == WF_OK;
}
