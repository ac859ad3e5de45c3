/* reverse.c - reverse mode: one walk from the results back to the wanted values.
 *
 * Node by node, the walk takes the sum of what the users of a value have contributed to its adjoint, the derivative of
 * the loss with respect to the value, and contributes to the adjoints of its operands. Only active nodes take part.
 * A value without contributions has no adjoint, which stands for 0.
 *
 * The memory of an array has an adjoint, too. It is that of the contents at the place where the walk is: a read adds
 * to it, and a store takes the adjoint of what it stored out of it.
 *
 * A block of control flow is walked over as the straight code that loops.c has made of it, or as a loop (tape.c).
 */
#include "ad/rule.h"
#include "ad/copies.h"
#include "ad/second.h"
#include "ad/stores.h"
#include "ad/tape.h"
#include <stdio.h>

typedef struct wanted { /* a wanted value */
    wf__ref node;
    uint32_t array; /* 1 + the object whose contents it is; 0 = no array */
    wf__ref grad;   /* its derivative, once it is known */
} wanted;

/* ---- operations ---- */
static void reverse_rule(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    wf__ir *ir = s->ir;
    const wf__node n = ir->node[r];
    const wf__rule *rule = wf__rule_of(n.op);
    const wf__ref operand[3] = { n.a, n.b, n.c };
    const unsigned arity = wf__arity(n.op);
    wf__rule_names names = wf__rule_names_of(ir, r);
    names.g = a.value;
    for (unsigned k = 0; k < arity && ir->status == WF_OK; ++k) {
        wf__ref condition = 0;
        if (!wf__is_active(s, operand[k]))
            continue;
        wf__adjoint part = { wf__rule_term(ir, rule, k, &names, &condition), a.mask };
        if (condition)
            part = wf__only_where(ir, part, condition, true);
        wf__give(s, operand[k], part, wf__shape_of(ir, r));
    }
}

/* Parts of functions of complex numbers. */
static void reverse_whole(wf__sweep *s, wf__ref r, const wf__whole *of, wf__adjoint a)
{
    const wf__whole whole = *of; /* the table moves */
    for (unsigned k = 0; k < 4 && s->ir->status == WF_OK; ++k) {
        wf__ref part = whole.part[k / 2][k % 2];
        if (!part || !wf__is_active(s, part))
            continue;
        wf__adjoint given = { wf__whole_term(s->ir, &whole, r, k / 2, k % 2, a.value), a.mask };
        wf__give(s, part, given, wf__shape_of(s->ir, r));
    }
}

static void reverse_select(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    const wf__node n = s->ir->node[r];
    if (wf__is_active(s, n.b))
        wf__give(s, n.b, wf__only_where(s->ir, a, n.a, true), wf__shape_of(s->ir, r));
    if (wf__is_active(s, n.c))
        wf__give(s, n.c, wf__only_where(s->ir, a, n.a, false), wf__shape_of(s->ir, r));
}

/* The parts of complex numbers. The adjoint of z is dL/dRe(z) + i dL/dIm(z), the direction of steepest ascent. */
static void reverse_parts(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    wf__ir *ir = s->ir;
    const wf__node n = ir->node[r];
    const uint32_t shape = wf__shape_of(ir, r);
    if (n.op == WF__OP_complex) {
        wf__give(s, n.a, (wf__adjoint){ wf__real(ir, a.value), a.mask }, shape);
        wf__give(s, n.b, (wf__adjoint){ wf__imag(ir, a.value), a.mask }, shape);
        return;
    }
    wf__ref zero = wf__const_f64(ir, wf__dtype(ir, a.value), 0);
    a.value = n.op == WF__OP_real ? wf__complex(ir, a.value, zero) : wf__complex(ir, zero, a.value);
    wf__give(s, n.a, a, shape);
}

/* ---- memory ---- */
static void add_to_array(wf__sweep *s, uint32_t object, wf__ref value)
{
    wf__add_part(s, &s->array[object], (wf__adjoint){ .value = value });
}

/* Adds the adjoint of what a read gave to that of its array. In a loop that is kept, a SCATTER has the sum over all turns. */
static void give_memory(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    wf__ir *ir = s->ir;
    const wf__node n = ir->node[r];
    const uint32_t object = wf__object_of(ir, &n), shape = ir->slot[n.a].shape;
    const uint32_t into = !ir->arrays && s->task->derivative ? s->task->derivative[object] : 0;
    wf__ref extent[WF_MAX_RANK], inside = 0;
    uint32_t tuple = 0;
    if (!a.value || (!ir->arrays && !into))
        return;
    if (!n.b) {
        add_to_array(s, object, wf__sum_to(ir, wf__masked(ir, a), n.shape, shape, s->task->function));
        return;
    }
    wf__extents_of_slot(ir, n.a, extent);
    if (!wf__elements_read(ir, n.b, (wf_border)n.aux, extent, &tuple, &inside))
        return;
    wf__ref when = wf__both(ir, wf__both(ir, a.mask, inside), s->on);
    if (into) {
        const unsigned t = wf__update_dtype(ir->slot[into - 1].dtype, WF_JOIN_ADD);
        wf__accum(ir, into - 1, tuple, WF_JOIN_ADD, WF__MODE_AUTO, wf__cast(ir, a.value, t), when);
        return;
    }
    const bool as_it_is = s->pointwise || !wf__shape_known(ir, n.shape);
    wf__ref g = as_it_is ? a.value : wf__broadcast_to(ir, a.value, n.shape);
    add_to_array(s, object, wf__scatter(ir, g, shape, tuple, when));
}

/* A read has the adjoint of the value outside of the array, and the array that of its elements. */
static void reverse_load(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    wf__ir *ir = s->ir;
    const wf__node n = ir->node[r];
    const bool memory = s->pointwise || (ir->arrays && s->route.active.array[wf__object_of(ir, &n)] == WF__ACTIVE);
    wf__ref other = wf__otherwise(ir, &n), when = wf__when(ir, &n), inside = 0;
    uint32_t tuple = 0;
    if (n.b) {
        wf__ref extent[WF_MAX_RANK];
        wf__extents_of_slot(ir, n.a, extent);
        if (!wf__elements_read(ir, n.b, (wf_border)n.aux, extent, &tuple, &inside))
            return;
    }
    if (other && n.b)
        wf__give(s, other, inside ? wf__only_where(ir, a, inside, false) : (wf__adjoint){ 0 }, n.shape);
    if (memory && when)
        a = wf__only_where(ir, a, when, true);
    if (memory && s->pointwise && !n.b)
        wf__add_part(s, &s->element[wf__object_of(ir, &n)], a);
    else if (memory)
        give_memory(s, r, a);
}

/* An accumulation by another join than addition. */
static void reverse_join(wf__sweep *s, wf__ref r)
{
    wf__ir *ir = s->ir;
    const wf__node n = ir->node[r];
    const uint32_t object = wf__object_of(ir, &n);
    wf__join_update u;
    wf__adjoint to_value;
    wf__ref to_old;
    wf__adjoint a = wf__take_sum(s, &s->array[object]);
    if (!a.value || !wf__update_of_accum(ir, s->task, r, &u))
        return;
    wf__reverse_update(ir, &u, wf__broadcast_to(ir, wf__masked(ir, a), u.shape), &to_value, &to_old);
    wf__give(s, n.c, to_value, u.points);
    add_to_array(s, object, to_old);
}

/* A store and an accumulation by addition take the adjoint of their value from the elements that they change. */
static void reverse_store(wf__sweep *s, wf__ref r)
{
    wf__ir *ir = s->ir;
    const wf__node n = ir->node[r];
    const uint32_t object = wf__object_of(ir, &n), shape = ir->slot[n.a].shape;
    bool adds = n.op == WF__ACCUM && wf__node_join(&n) == WF_JOIN_ADD;
    if (n.op == WF__ACCUM && !adds) {
        reverse_join(s, r);
        return;
    }
    if (n.op != WF__STORE && !adds) {
        wf__no_derivative(s->ir, s->task, &n, WF__STOP_OF_READ);
        return;
    }
    wf__adjoint a = wf__take_sum(s, &s->array[object]);
    if (!a.value)
        return;
    wf__ref g = wf__broadcast_to(ir, wf__masked(ir, a), shape);
    wf__adjoint value = { .value = n.b ? wf__gather_some(ir, g, n.b, n.d) : g, .mask = n.d };
    wf__give(s, n.c, value, n.shape);
    wf__ref rest = adds ? 0 : wf__left_alone(ir, &n, shape);
    if (adds)
        add_to_array(s, object, g);
    else if (rest)
        add_to_array(s, object, wf__masked(ir, (wf__adjoint){ g, rest }));
}

static void reverse_scatter(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    const wf__node n = s->ir->node[r];
    wf__ir *ir = s->ir;
    wf__ref g = wf__broadcast_to(ir, wf__masked(ir, a), n.shape), to_old;
    wf__join_update u = wf__update_of_scatter(ir, &n);
    wf__adjoint given = { wf__gather_some(ir, g, n.b, s->pointwise || n.d),
                          wf__both(ir, wf__both(ir, n.d, s->on), s->alone ? s->alone[r] : 0) };
    if (u.join != WF_JOIN_ADD)
        wf__reverse_update(ir, &u, g, &given, &to_old);
    wf__give(s, n.a, given, u.points);
}

/* ---- nodes ---- */
static void reverse_node(wf__sweep *s, wf__ref r, wf__adjoint a)
{
    wf__ir *ir = s->ir;
    const wf__node n = ir->node[r];
    const wf__whole *whole = wf__whole_of(ir, r);
    if (whole) {
        reverse_whole(s, r, whole, a);
        return;
    }
    switch ((wf__op)n.op) {
    case WF__CONST:
    case WF__PARAM:
    case WF__RED: /* leaves */
        return;
    case WF__LOAD:
        reverse_load(s, r, a);
        return;
    case WF__REDUCE:
        wf__reverse_reduce(s, r, a);
        return;
    case WF__SCAN:
        wf__reverse_scan(s, r, a);
        return;
    case WF__VIEW:
        wf__reverse_view(s, r, a);
        return;
    case WF__SCATTER:
        reverse_scatter(s, r, a);
        return;
    case WF__DERIVED:
        if (wf__is_of_loop(&n))
            wf__reverse_second(s, r, a);
        else
            wf__reverse_derived(s, r, a);
        return;
    case WF__CAST:
        wf__give(s, n.a, a, wf__shape_of(ir, r));
        return;
    case WF__OP_select:
        reverse_select(s, r, a);
        return;
    case WF__OP_real:
    case WF__OP_imag:
    case WF__OP_complex:
        reverse_parts(s, r, a);
        return;
    case WF__PUT:
    case WF__GET:
        wf__no_second(s, &n);
        return;
    default:
        if (n.op >= WF__NODES && wf__rule_of(n.op)->class != WF__RULE_CODE)
            reverse_rule(s, r, a);
        else
            wf__no_derivative(s->ir, s->task, &n, "");
    }
}

/* ---- labels ---- */
/* Returns the label of a value, or of the array whose elements it has; NULL = none. */
static const char *label_of(const wf__ir *ir, wf__ref r)
{
    const char *label = wf__label_of(ir, r);
    for (uint32_t k = 0; !label && wf__is_contents(ir, r) && k < ir->slot_n; ++k)
        if (ir->slot[k].object == wf__object_of(ir, &ir->node[r]))
            label = wf__label_of(ir, wf__array_ref(k));
    return label;
}

/* Gives the derivative with respect to a value with the label `b` the label `d(b)`, for dumps and messages. */
static void label_adjoint(wf__sweep *s, wf__ref r, wf__ref adjoint)
{
    char text[60];
    const char *label = s->ir->label_n && adjoint >= s->route.n ? label_of(s->ir, r) : NULL;
    if (!label || wf__label_of(s->ir, adjoint))
        return;
    snprintf(text, sizeof text, "d(%.56s)", label);
    wf__set_label(s->ir, adjoint, text);
}

/* Returns the derivative with respect to a value of that shape. */
static wf__ref finished(wf__ir *ir, wf__adjoint a, unsigned dtype, uint32_t shape)
{
    if (!a.value)
        a = (wf__adjoint){ .value = wf__const_f64(ir, wf__adjoint_dtype(dtype), 0) };
    return wf__broadcast_to(ir, wf__masked(ir, a), shape);
}

static void finish_wanted(wf__sweep *s, wanted *w, wf__adjoint a)
{
    w->grad = finished(s->ir, a, wf__dtype(s->ir, w->node), wf__shape_of(s->ir, w->node));
    label_adjoint(s, w->node, w->grad);
}

/* The derivative with respect to an array's contents is complete where the walk reaches the effect that made them: at
 * node `effect` of the object, or at the beginning (0). */
static void finish_arrays(wf__sweep *s, wanted *list, uint32_t object, wf__ref effect)
{
    wf__adjoint a = { 0 };
    bool taken = false;
    for (uint32_t i = 0; i < s->task->wrts; ++i) {
        wanted *w = &list[i];
        if (w->array != object + 1 || w->grad || w->node < effect)
            continue;
        if (!taken)
            a = wf__take_sum(s, &s->array[object]);
        taken = true;
        finish_wanted(s, w, a);
    }
    wf__add_part(s, &s->array[object], a);
}

/* After a loop that is kept: a read in it of the point's own element has the sum of what its turns contribute. */
static void finish_read(wf__sweep *s, wanted *list, wf__ref r)
{
    const uint32_t object = wf__object_of(s->ir, &s->ir->node[r]);
    /* A loop around it, or the sweep that another one has begun (second.c), goes on with the sum. */
    if (!s->element[object].first || s->ir->node[r].b || s->pointwise || (!list && !s->ir->arrays))
        return;
    wf__adjoint a = wf__take_sum(s, &s->element[object]);
    for (uint32_t i = 0; i < s->task->wrts; ++i)
        if (list[i].node == r)
            finish_wanted(s, &list[i], a);
    if (s->ir->arrays) /* the sum is of the shape of the points */
        add_to_array(s, object,
                     wf__sum_to(s->ir, wf__masked(s->ir, a), wf__shape_of(s->ir, a.value),
                                s->ir->slot[s->ir->node[r].a].shape, s->task->function));
}

/* Takes the adjoints of a block's states, and hands them to the copies that have their last values, or to the loop. */
static void leave_block(wf__sweep *s, wanted *list, const wf__region *b)
{
    const wf__ref body = wf__loop_body(s->ir, b->loop);
    for (uint32_t object = 0; object < s->route.objects && s->ir->arrays && !s->pointwise; ++object)
        if (wf__writes(s->ir, body, b->end, object))
            finish_arrays(s, list, object, b->loop);
    wf__adjoint *given = wf__alloc0((body - b->loop) * sizeof *given);
    if (!given)
        wf__ir_fail(s->ir, WF_ERR_MEMORY, "%s: out of memory", s->task->function);
    for (wf__ref state = b->loop + 1; state < body && given; ++state) {
        wf__adjoint a = given[state - b->loop - 1] = wf__take_sum(s, &s->node[state]);
        for (uint32_t i = 0; i < s->task->wrts; ++i)
            if (list[i].node == state)
                finish_wanted(s, &list[i], a);
        if (wf__final(&s->route.loops, state))
            wf__give(s, wf__final(&s->route.loops, state), a, wf__shape_of(s->ir, state));
    }
    if (given && b->kept)
        wf__reverse_loop(s, b, given);
    for (wf__ref r = body; b->kept && r < b->end && s->ir->status == WF_OK; ++r)
        if (s->ir->node[r].op == WF__LOAD)
            finish_read(s, list, r);
    wf__free(given);
}

/* Visits a node outside of blocks. */
static void visit(wf__sweep *s, wanted *list, wf__ref r)
{
    wf__ir *ir = s->ir;
    const wf__node n = ir->node[r];
    if (wf__op_is_store(n.op) && s->pointwise) {
        wf__reverse_effect(s, r);
        return;
    }
    if (wf__op_is_store(n.op) && ir->arrays) {
        finish_arrays(s, list, wf__object_of(ir, &n), r);
        if (s->route.active.array[wf__object_of(ir, &n)] == WF__ACTIVE)
            reverse_store(s, r);
        if (wf__op_has_value(n.op) && wf__is_active(s, r))
            wf__no_derivative(ir, s->task, &n, WF__STOP_OF_READ);
        return;
    }
    if (!wf__op_has_value(n.op) || !wf__is_active(s, r))
        return;
    wf__adjoint a = wf__take_sum(s, &s->node[r]);
    label_adjoint(s, r, a.value);
    bool is_wanted = false;
    for (uint32_t i = 0; i < s->task->wrts; ++i)
        if (list[i].node == r && !list[i].array) {
            finish_wanted(s, &list[i], a);
            is_wanted = true;
        }
    if (n.op == WF__STATE) { /* the caller is inside the block, which has not ended */
        if (a.value && !is_wanted)
            wf__no_derivative(s->ir, s->task, &n, " before its block has ended");
        return;
    }
    if (a.value || n.op == WF__DERIVED)
        reverse_node(s, r, a);
}

static void walk(wf__sweep *s, wanted *list, wf__ref first, wf__ref last)
{
    const wf__ir *ir = s->ir;
    for (wf__ref r = last; r >= first && ir->status == WF_OK; --r) {
        if (ir->node[r].op != WF__END) {
            visit(s, list, r);
            continue;
        }
        const wf__region *b = wf__region_at(&s->route.loops, r);
        if (b) {
            leave_block(s, list, b);
            if (!b->kept && b->last >= b->first)
                walk(s, list, b->first, b->last);
        }
        r = ir->node[r].a; /* nothing else inside the block has an adjoint */
    }
}

/* A walk over nodes that are none of the wanted values. */
static void walk_range(wf__sweep *s, wf__ref first, wf__ref last) { walk(s, NULL, first, last); }

static bool begin(wf__sweep *s, wanted **list)
{
    wf__ir *ir = s->ir;
    if (!wf__find_route(ir, s->task, 1, &s->route) || !wf__sweep_begin(s))
        return false;
    *list = wf__alloc0((s->task->wrts + 1) * sizeof **list);
    if (!*list) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", s->task->function);
        return false;
    }
    for (uint32_t i = 0; i < s->task->wrts; ++i) {
        const wf__ref r = s->task->wrt[i];
        (*list)[i] = (wanted){ r, wf__is_contents(ir, r) ? wf__object_of(ir, &ir->node[r]) + 1 : 0, 0 };
    }
    return true;
}

bool wf__ad_reverse(wf__ir *ir, const wf__ad_task *task, wf__ref *grad)
{
    wf__sweep s = { .ir = ir, .task = task, .walk = walk_range };
    wanted *list = NULL;
    if (begin(&s, &list)) {
        for (uint32_t i = 0; i < task->outs; ++i)
            wf__give(&s, task->out[i], (wf__adjoint){ .value = task->seed[i] }, wf__shape_of(ir, task->out[i]));
        walk(&s, list, 1, s.route.last);
        for (uint32_t i = 0; i < task->wrts && ir->status == WF_OK; ++i) {
            if (!list[i].grad && list[i].array)
                finish_arrays(&s, list, list[i].array - 1, 0);
            else if (!list[i].grad)
                finish_wanted(&s, &list[i], (wf__adjoint){ 0 });
            grad[i] = list[i].grad;
        }
        wf__drop_effects(ir, s.route.last + 1, s.route.n);
    }
    wf__sweep_end(&s);
    wf__free(list);
    return ir->status == WF_OK;
}
