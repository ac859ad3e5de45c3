/* adjoint_parts.c - what the points of an operator contribute to its reduced variables, and the values of these that
 * derivatives need.
 *
 * A contribution to a sum is added as it is. One to a minimum or maximum is added where it is the result, and the
 * derivative is divided by the number of such contributions. One to a product is multiplied by the product of all
 * others, a constant: the product of all that are not 0, divided by it; 0 beside another zero.
 */
#include "ad/ad.h"
#include "ad/sweep.h"
#include "launch/adjoint_reduce.h"

wf_status wf__split_no_memory(const wf__split *s)
{
    return wf__error(s->ctx, WF_ERR_MEMORY, "%s: out of memory", s->d->function);
}

/* ---- contributions ---- */
static void reach(wf__split *s, wf__ref r, wf__ref when)
{
    wf__ref *at = &s->when[r];
    if (!s->reached[r])
        *at = when;
    else
        *at = *at && when ? wf__op2(&s->call, WF__OP_or, *at, when) : 0;
    s->reached[r] = 1;
}

static void add_part(wf__split *s, uint32_t red, wf__ref value, wf__ref when)
{
    if (!wf__grow(&s->part, &s->part_cap, s->part_n + 1, sizeof *s->part)) {
        wf__ir_fail(&s->call, WF_ERR_MEMORY, "%s: out of memory", s->d->function);
        return;
    }
    s->part[s->part_n++] = (wf__contribution){ red, value, when };
}

/* Takes a join apart: one operand is a contribution, the other one leads on to the variable. */
static void take_apart(wf__split *s, uint32_t k, wf__ref r)
{
    wf__ir *ir = &s->call;
    const wf__node n = ir->node[r];
    const wf_join join = (wf_join)s->red[k].join;
    const wf__ref when = s->when[r];
    if (n.op == WF__RED)
        return;
    if (n.op == WF__OP_select) {
        reach(s, n.b, wf__both(ir, when, n.a));
        reach(s, n.c, wf__both(ir, when, wf__op1(ir, WF__OP_not, n.a)));
    } else if (n.op == WF__OP_fma && join == WF_JOIN_ADD) {
        add_part(s, k, wf__op2(ir, WF__OP_mul, n.a, n.b), when);
        reach(s, n.c, when);
    } else if (n.op == WF__OP_neg && join == WF_JOIN_MUL) { /* a folded * -1 */
        add_part(s, k, wf__const_f64(ir, n.dtype, -1), when);
        reach(s, n.a, when);
    } else if (n.op == wf__join_op(join) || (n.op == WF__OP_sub && join == WF_JOIN_ADD)) {
        const bool first = s->chain[n.a];
        const wf__ref value = first ? n.b : n.a;
        add_part(s, k, n.op == WF__OP_sub ? wf__op1(ir, WF__OP_neg, value) : value, when);
        reach(s, first ? n.a : n.b, when);
    } else
        wf__ir_fail_at(ir, &n, WF_ERR_UNSUPPORTED, "%s: a reduced variable that is joined by %s has no derivative",
                       s->d->function, wf__function_of(&n));
}

void wf__find_contributions(wf__split *s)
{
    wf__ir *ir = &s->call;
    wf__ref operand[WF__MAX_OPERANDS];
    for (wf__ref r = 1; r < s->n; ++r) {
        const wf__node *n = &ir->node[r];
        s->chain[r] = n->op == WF__RED && s->red[n->a].join != WF_JOIN_CUSTOM;
        for (uint32_t i = 0, count = wf__operands(ir, &ir->node[r], operand); i < count; ++i)
            s->chain[r] |= s->chain[operand[i]];
    }
    for (wf__ref set = 1; set < s->n && ir->status == WF_OK; ++set) {
        const wf__node n = ir->node[set];
        if (n.op != WF__SETRED)
            continue;
        if (s->red[n.a].join == WF_JOIN_CUSTOM) {
            s->red[n.a].partial = n.c;
            continue;
        }
        memset(s->reached, 0, s->n);
        reach(s, n.c, 0);
        for (wf__ref r = n.c; r > 0 && ir->status == WF_OK; --r)
            if (s->reached[r])
                take_apart(s, n.a, r);
    }
}

/* ---- recordings ---- */
wf_graph *wf__split_graph(const wf__split *s, const wf_shape *shape, wf_axes reduce)
{
    const wf_space space = { .size = sizeof space,
                             .here = s->g->here,
                             .name = s->p->name ? s->p->name : "adjoint",
                             .shape = *shape,
                             .indexed = true,
                             .reduce = reduce,
                             .device = s->p->placed ? s->p->device : 0,
                             .stream = s->g->stream };
    wf_graph *g = wf_begin_with(s->ctx, &space);
    wf__params_again(g, s->p->param, s->p->rec.ir.param, s->p->param_n);
    return g;
}

void wf__record_points(const wf__split *s, wf__again *a, bool stores)
{
    wf__again_begin(a);
    for (wf__ref r = 1; r < s->call.n && wf__is_recording(a->g); ++r) {
        const wf__node *n = &s->call.node[r];
        if (s->replace && r < s->n && s->chain[r])
            s->replace(s, a, r);
        if (n->op == WF__SETRED || (r < s->n && s->chain[r]) || (!stores && wf__op_is_effect(n->op)))
            continue;
        if (n->op == WF__RED)
            a->map[r] = wf__const_bits(wf__graph_ir(a->g), n->dtype, s->p->rec.initial[n->a]);
        else
            wf__again_node(a, r);
    }
}

void wf__store_to_array(wf_graph *g, const char *function, const wf_array *array, uint32_t tuple, wf__ref value,
                        wf__ref when)
{
    uint32_t slot;
    if (!value || !wf__is_recording(g) || !wf__array_slot(g, array, !tuple, true, function, &slot))
        return;
    wf__ir *ir = wf__graph_ir(g);
    wf__store(ir, slot, tuple, wf__cast(ir, value, array->dtype), when);
    wf__note_store(g, slot);
}

uint32_t wf__kept_tuple(const wf__split *s, wf__ir *ir)
{
    wf__ref index[WF_MAX_RANK];
    index[0] = wf__const_bits(ir, WF_I64, 0);
    for (int d = 0; d < s->space.rank; ++d)
        if (s->place[d] >= 0)
            index[s->place[d]] = wf__index(ir, d);
    return ir->status == WF_OK ? wf__tuple(ir, index, (uint32_t)s->kept.rank) : 0;
}

/* Returns the element of an array of the kept axes, at a point of the space. */
static wf__ref kept_element(const wf__split *s, wf_graph *g, const wf_array *array)
{
    uint32_t slot;
    if (!wf__array_slot(g, array, false, false, s->d->function, &slot))
        return 0;
    return wf__load(wf__graph_ir(g), slot, wf__kept_tuple(s, wf__graph_ir(g)), WF_BORDER_NONE, 0);
}

wf__ref wf__is_extreme_at(const wf__split *s, const wf__again *a, const wf__contribution *of)
{
    wf__ir *ir = wf__graph_ir(a->g);
    const wf__ref value = a->map[of->value], result = kept_element(s, a->g, s->red[of->red].result);
    wf__ref is = wf__op2(ir, WF__OP_or, wf__op2(ir, WF__OP_eq, value, result), wf__op2(ir, WF__OP_ne, value, value));
    return wf__both(ir, of->when ? a->map[of->when] : 0, is);
}

wf__ref wf__product_of_others(const wf__split *s, const wf__again *a, const wf__contribution *of)
{
    wf__ir *ir = wf__graph_ir(a->g);
    const wf__reduced *red = &s->red[of->red];
    const wf__ref value = a->map[of->value], one = wf__const_f64(ir, red->dtype, 1);
    wf__ref none = wf__op2(ir, WF__OP_eq, value, wf__const_f64(ir, red->dtype, 0));
    wf__ref zeros = wf__zero_of(ir, wf__cast(ir, value, WF_F64));
    zeros = wf__op2(ir, WF__OP_sub, kept_element(s, a->g, red->count), zeros);
    wf__ref others =
        wf__op2(ir, WF__OP_div, kept_element(s, a->g, red->product), wf__op3(ir, WF__OP_select, none, one, value));
    return wf__beside_zeros(ir, others, zeros, wf__cast(ir, zeros, red->dtype), 0);
}

/* ---- values ---- */
wf_array *wf__split_array(const wf__split *s, unsigned dtype, const wf_shape *shape)
{
    const wf_device device = s->p->object_n ? s->array[0]->device : s->p->device;
    return wf__array_make(s->ctx, s->d->function, (wf_dtype)dtype, shape, NULL, device);
}

static void join_to(wf_graph *g, wf_var var, wf_join join, wf__ref value)
{
    wf__variable *of = wf__variable_of(var);
    if (of && value && wf__is_recording(g))
        of->value = wf__op2(wf__graph_ir(g), wf__join_op(join), of->value, value);
}

static wf_var new_variable(wf_graph *g, unsigned dtype, uint64_t bits, unsigned join)
{
    if (!wf__is_recording(g))
        return (wf_var){ 0 };
    return (wf_reduced)(g, (wf_dtype)dtype, wf__value(g, wf__const_bits(wf__graph_ir(g), dtype, bits)), (wf_join)join);
}

/* Returns x where the contribution takes place, else the neutral element. */
static wf__ref where_joined(const wf__again *a, const wf__contribution *of, wf__ref x, wf_join join)
{
    wf__ir *ir = wf__graph_ir(a->g);
    if (!of->when || !x)
        return x;
    unsigned t = wf__dtype(ir, x);
    return wf__op3(ir, WF__OP_select, a->map[of->when], x, wf__const_bits(ir, t, wf__join_neutral(join, t)));
}

enum { SETS = 3 }; /* variables of the recording for one of the operator */

/* Computes the reduced variables but those of custom joins; of products also their zeros and the product of the
 * rest. */
static wf_status find_values(const wf__split *s)
{
    const uint32_t n = s->p->rec.ir.red_n;
    bool any = false;
    for (uint32_t k = 0; k < n; ++k)
        any = any || s->red[k].join != WF_JOIN_CUSTOM;
    wf_var *var = any ? wf__alloc0((SETS * (size_t)n + 1) * sizeof *var) : NULL;
    if (!any)
        return WF_OK;
    if (!var)
        return wf__split_no_memory(s);
    wf_graph *g = wf__split_graph(s, &s->space, s->axes);
    wf__again a = { .g = g, .in = &s->call, .to = s->array, .function = s->d->function };
    wf__record_points(s, &a, false);
    for (uint32_t k = 0; k < n; ++k) {
        const wf__reduced *red = &s->red[k];
        if (red->join == WF_JOIN_CUSTOM)
            continue;
        var[SETS * k] = new_variable(g, red->dtype, s->p->rec.initial[k], red->join);
        if (!red->product)
            continue;
        var[SETS * k + 1] = new_variable(g, WF_F64, 0, WF_JOIN_ADD);
        var[SETS * k + 2] = new_variable(g, red->dtype, s->p->rec.initial[k], WF_JOIN_MUL);
    }
    for (uint32_t i = 0; i < s->part_n && wf__is_recording(g); ++i) {
        const wf__contribution *of = &s->part[i];
        const wf__reduced *red = &s->red[of->red];
        wf__ir *ir = wf__graph_ir(g);
        const wf__ref value = a.map[of->value];
        join_to(g, var[SETS * of->red], (wf_join)red->join, where_joined(&a, of, value, (wf_join)red->join));
        if (!red->product)
            continue;
        wf__ref none = wf__op2(ir, WF__OP_eq, value, wf__const_f64(ir, red->dtype, 0));
        wf__ref other = wf__op3(ir, WF__OP_select, none, wf__const_f64(ir, red->dtype, 1), value);
        wf__ref zero = wf__zero_of(ir, wf__cast(ir, value, WF_F64));
        join_to(g, var[SETS * of->red + 1], WF_JOIN_ADD, where_joined(&a, of, zero, WF_JOIN_ADD));
        join_to(g, var[SETS * of->red + 2], WF_JOIN_MUL, where_joined(&a, of, other, WF_JOIN_MUL));
    }
    wf__again_end(&a);
    if (wf__is_recording(g))
        wf_section(g, WF_SECTION_POST);
    for (uint32_t k = 0; k < n && wf__is_recording(g); ++k) {
        if (s->red[k].join == WF_JOIN_CUSTOM)
            continue;
        (wf_out)(g, s->red[k].result, (wf_val){ var[SETS * k] });
        if (!s->red[k].product)
            continue;
        (wf_out)(g, s->red[k].count, (wf_val){ var[SETS * k + 1] });
        (wf_out)(g, s->red[k].product, (wf_val){ var[SETS * k + 2] });
    }
    wf__free(var);
    return wf__run_recorded(g);
}

/* Counts the contributions to minima and maxima that are the result. An initial value is one of them. */
static wf_status count_ties(const wf__split *s)
{
    const uint32_t n = s->p->rec.ir.red_n;
    bool any = false;
    for (uint32_t k = 0; k < n; ++k)
        any = any || wf__is_extreme(&s->red[k]);
    wf_var *var = any ? wf__alloc0(n * sizeof *var) : NULL;
    if (!any || !var)
        return any ? wf__split_no_memory(s) : WF_OK;
    wf_graph *g = wf__split_graph(s, &s->space, s->axes);
    wf__again a = { .g = g, .in = &s->call, .to = s->array, .function = s->d->function };
    wf__record_points(s, &a, false);
    for (uint32_t k = 0; k < n; ++k)
        if (wf__is_extreme(&s->red[k]))
            var[k] = new_variable(g, WF_F64, 0, WF_JOIN_ADD);
    for (uint32_t i = 0; i < s->part_n && wf__is_recording(g); ++i)
        if (wf__is_extreme(&s->red[s->part[i].red])) {
            wf__ref is = wf__is_extreme_at(s, &a, &s->part[i]);
            join_to(g, var[s->part[i].red], WF_JOIN_ADD, wf__cast(wf__graph_ir(g), is, WF_F64));
        }
    wf__again_end(&a);
    if (wf__is_recording(g))
        wf_section(g, WF_SECTION_POST);
    for (uint32_t k = 0; k < n && wf__is_recording(g); ++k) {
        const wf__reduced *red = &s->red[k];
        const uint64_t initial = s->p->rec.initial[k];
        if (!wf__is_extreme(red))
            continue;
        wf_val count = { var[k] };
        if (initial != wf__join_neutral((wf_join)red->join, red->dtype)) {
            wf_val first = wf__value(g, wf__const_bits(wf__graph_ir(g), red->dtype, initial));
            count = (wf_add)(count, (wf_cast)((wf_eq)(wf_in(g, red->result), first), WF_F64));
        }
        (wf_out)(g, red->count, count);
    }
    wf__free(var);
    return wf__run_recorded(g);
}

/* True if the derivative of WF_SECTION_POST does not need the values of sums: it only adds, and multiplies by numbers. */
static bool is_linear(const wf__split *s, bool *out)
{
    const wf__ir *post = &s->p->rec.post;
    uint8_t *varies = wf__alloc0(post->n + 1);
    *out = varies != NULL;
    for (uint32_t k = 0; k < s->p->rec.ir.red_n; ++k)
        *out = *out && s->red[k].join == WF_JOIN_ADD && s->red[k].real;
    for (wf__ref r = 1; r < post->n && *out; ++r) {
        const wf__node *n = &post->node[r];
        wf__ref operand[WF__MAX_OPERANDS];
        uint32_t count = wf__operands(post, n, operand), number = 0;
        for (uint32_t i = 0; i < count; ++i)
            number += varies[operand[i]];
        varies[r] = number || n->op == WF__LOAD || (n->op == WF__PARAM && n->a >= s->p->param_n);
        if (!number || n->op == WF__STORE || n->op == WF__CAST)
            continue;
        *out = n->op == WF__OP_add || n->op == WF__OP_sub || n->op == WF__OP_neg ||
               (n->op == WF__OP_mul && number == 1) || (n->op == WF__OP_div && !varies[n->b]);
    }
    wf__free(varies);
    return varies != NULL;
}

wf_status wf__make_reduced(const wf__split *s)
{
    for (uint32_t k = 0; k < s->p->rec.ir.red_n; ++k) {
        wf__reduced *red = &s->red[k];
        const bool product = red->real && red->join == WF_JOIN_MUL;
        red->result = wf__split_array(s, red->dtype, &s->kept);
        red->target = red->real && red->join != WF_JOIN_CUSTOM ? wf__split_array(s, red->dtype, &s->kept) : NULL;
        red->derivative = red->real ? wf__split_array(s, wf__adjoint_dtype(red->dtype), &s->kept) : NULL;
        red->count = product || wf__is_extreme(red) ? wf__split_array(s, WF_F64, &s->kept) : NULL;
        red->product = product ? wf__split_array(s, red->dtype, &s->kept) : NULL;
        if (!red->result || (red->real && !red->derivative) ||
            (red->real && red->join != WF_JOIN_CUSTOM && !red->target) ||
            ((product || wf__is_extreme(red)) && !red->count) || (product && !red->product))
            return wf_last_status(s->ctx);
    }
    bool linear;
    if (!is_linear(s, &linear))
        return wf__split_no_memory(s);
    wf_status status = linear ? WF_OK : find_values(s);
    return status == WF_OK ? count_ties(s) : status;
}
