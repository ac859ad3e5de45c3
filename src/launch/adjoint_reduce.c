/* adjoint_reduce.c - derivatives of operators that reduce, by two operators without reductions:
 *
 *   the points        over the operator's space: what each point contributes to a reduced variable is added to an array
 *                     of the kept axes
 *   the kept points   over the kept axes: section WF_SECTION_POST, which reads these arrays
 *
 * A contribution to a sum is added as it is. One to a minimum or maximum is added where it is the result, and the
 * derivative is divided by the number of such contributions. One to a product is multiplied by the product of all
 * others, a constant: the product of all that are not 0, divided by it; 0 beside another zero.
 */
#include "ad/ad.h"
#include "ad/loops.h"
#include "launch/adjoint.h"
#include "launch/again.h"
#include "base/floats.h"

typedef struct part { /* a contribution of a point to a reduced variable */
    uint32_t red;
    wf__ref value, when; /* nodes of split.call; when 0 = always */
} part;

typedef struct reduced { /* a reduced variable, and arrays of the kept axes */
    uint8_t dtype, join;
    bool real;            /* it has derivatives */
    wf_array *result;     /* its values */
    wf_array *target;     /* what the operator of the points adds to; without contents */
    wf_array *derivative; /* of the loss with respect to it, or of it in the direction */
    wf_array *count;      /* extremes: contributions that are the result; products: zeros */
    wf_array *product;    /* products: of the contributions that are not 0 */
} reduced;

typedef struct split {
    const wf__derive *d;
    wf_graph *g; /* the operator */
    const wf__program *p;
    wf_context *ctx;
    wf_shape space, kept;
    int place[WF_MAX_RANK]; /* axis of the space -> axis of `kept`; -1 = it is reduced */
    wf_axes axes;           /* reduced ones */
    wf__ir call;            /* WF_SECTION_CALL as straight code */
    uint32_t n;             /* its nodes, before parts were found */
    uint8_t *chain;         /* [n] the node depends on a reduced variable */
    uint8_t *reached;       /* [n] the node is joined to the variable */
    wf__ref *when;          /* [n] where; 0 = always */
    part *part;
    uint32_t part_n, part_cap;
    reduced *red;
    wf_array **array; /* of the recording's objects; behind them room for lists */
} split;

static wf_status out_of_memory(const split *s)
{
    return wf__error(s->ctx, WF_ERR_MEMORY, "%s: out of memory", s->d->function);
}

/* ---- contributions ---- */
static void reach(split *s, wf__ref r, wf__ref when)
{
    wf__ref *at = &s->when[r];
    if (!s->reached[r])
        *at = when;
    else
        *at = *at && when ? wf__op2(&s->call, WF__OP_or, *at, when) : 0;
    s->reached[r] = 1;
}

static wf__ref both(wf__ir *ir, wf__ref a, wf__ref b) { return a && b ? wf__op2(ir, WF__OP_and, a, b) : a ? a : b; }

static void add_part(split *s, uint32_t red, wf__ref value, wf__ref when)
{
    if (!wf__grow(&s->part, &s->part_cap, s->part_n + 1, sizeof *s->part)) {
        wf__ir_fail(&s->call, WF_ERR_MEMORY, "%s: out of memory", s->d->function);
        return;
    }
    s->part[s->part_n++] = (part){ red, value, when };
}

/* Takes a join apart: one operand is a contribution, the other one leads on to the variable. */
static void take_apart(split *s, uint32_t k, wf__ref r)
{
    wf__ir *ir = &s->call;
    const wf__node n = ir->node[r];
    const wf_join join = (wf_join)s->red[k].join;
    const wf__ref when = s->when[r];
    if (n.op == WF__RED)
        return;
    if (n.op == WF__OP_select) {
        reach(s, n.b, both(ir, when, n.a));
        reach(s, n.c, both(ir, when, wf__op1(ir, WF__OP_not, n.a)));
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

static void find_parts(split *s)
{
    wf__ir *ir = &s->call;
    wf__ref operand[WF__MAX_OPERANDS];
    for (wf__ref r = 1; r < s->n; ++r) {
        s->chain[r] = ir->node[r].op == WF__RED;
        for (uint32_t i = 0, count = wf__operands(ir, &ir->node[r], operand); i < count; ++i)
            s->chain[r] |= s->chain[operand[i]];
    }
    for (wf__ref set = 1; set < s->n && ir->status == WF_OK; ++set) {
        const wf__node n = ir->node[set];
        if (n.op != WF__SETRED)
            continue;
        memset(s->reached, 0, s->n);
        reach(s, n.c, 0);
        for (wf__ref r = n.c; r > 0 && ir->status == WF_OK; --r)
            if (s->reached[r])
                take_apart(s, n.a, r);
    }
}

/* ---- recordings ---- */
static wf_graph *begin_graph(const split *s, const wf_shape *shape, wf_axes reduce)
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

static wf_status run_graph(wf_graph *g) { return g ? wf_run(g) : WF_ERR_MEMORY; }

/* Records the points again, without their joins. */
static void record_points(const split *s, wf__again *a, bool stores)
{
    wf__again_begin(a);
    for (wf__ref r = 1; r < s->call.n && wf__is_recording(a->g); ++r)
        if ((r >= s->n || !s->chain[r]) && (stores || !wf__op_is_effect(s->call.node[r].op)))
            wf__again_node(a, r);
}

/* The indices of a point along the kept axes. */
static uint32_t kept_tuple(const split *s, wf__ir *ir)
{
    wf__ref index[WF_MAX_RANK];
    index[0] = wf__const_bits(ir, WF_I64, 0);
    for (int d = 0; d < s->space.rank; ++d)
        if (s->place[d] >= 0)
            index[s->place[d]] = wf__index(ir, d);
    return ir->status == WF_OK ? wf__tuple(ir, index, (uint32_t)s->kept.rank) : 0;
}

/* Returns the element of an array of the kept axes, at a point of the space. */
static wf__ref kept_element(const split *s, wf_graph *g, const wf_array *array)
{
    uint32_t slot;
    if (!wf__array_slot(g, array, false, false, s->d->function, &slot))
        return 0;
    return wf__load(wf__graph_ir(g), slot, kept_tuple(s, wf__graph_ir(g)), WF_BORDER_NONE, 0);
}

/* Returns where a contribution to a minimum or maximum is the result, or NaN, as the result then is. */
static wf__ref hit(const split *s, const wf__again *a, const part *of)
{
    wf__ir *ir = wf__graph_ir(a->g);
    const wf__ref value = a->map[of->value], result = kept_element(s, a->g, s->red[of->red].result);
    wf__ref is = wf__op2(ir, WF__OP_or, wf__op2(ir, WF__OP_eq, value, result), wf__op2(ir, WF__OP_ne, value, value));
    return both(ir, of->when ? a->map[of->when] : 0, is);
}

/* The product of all other contributions. */
static wf__ref product_of_others(const split *s, const wf__again *a, const part *of)
{
    wf__ir *ir = wf__graph_ir(a->g);
    const reduced *red = &s->red[of->red];
    const wf__ref value = a->map[of->value], zero = wf__const_f64(ir, red->dtype, 0);
    wf__ref none = wf__op2(ir, WF__OP_eq, value, zero), one = wf__const_f64(ir, red->dtype, 1);
    wf__ref zeros = wf__op2(ir, WF__OP_sub, kept_element(s, a->g, red->count), wf__cast(ir, none, WF_F64));
    wf__ref beside = wf__op2(ir, WF__OP_ne, zeros, wf__const_f64(ir, WF_F64, 0));
    wf__ref others =
        wf__op2(ir, WF__OP_div, kept_element(s, a->g, red->product), wf__op3(ir, WF__OP_select, none, one, value));
    bool number;
    wf_val constant = (wf_stop)(wf__value(a->g, wf__op3(ir, WF__OP_select, beside, zero, others)));
    return wf__is_recording(a->g) ? wf__resolve(a->g, constant, s->d->function, &number) : 0;
}

/* ---- values ---- */
static wf_array *new_array(const split *s, unsigned dtype)
{
    const wf_device device = s->p->object_n ? s->array[0]->device : s->p->device;
    return wf__array_make(s->ctx, s->d->function, (wf_dtype)dtype, &s->kept, NULL, device);
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
static wf__ref where_joined(const wf__again *a, const part *of, wf__ref x, wf_join join)
{
    wf__ir *ir = wf__graph_ir(a->g);
    if (!of->when || !x)
        return x;
    unsigned t = wf__dtype(ir, x);
    return wf__op3(ir, WF__OP_select, a->map[of->when], x, wf__const_bits(ir, t, wf__join_neutral(join, t)));
}

enum { SETS = 3 }; /* variables of the recording for one of the operator */

/* Computes the reduced variables; of products also their zeros, and the product of the rest. */
static wf_status find_values(const split *s)
{
    const uint32_t n = s->p->rec.ir.red_n;
    wf_var *var = wf__alloc0((SETS * (size_t)n + 1) * sizeof *var);
    if (!var)
        return out_of_memory(s);
    wf_graph *g = begin_graph(s, &s->space, s->axes);
    wf__again a = { .g = g, .in = &s->call, .to = s->array, .function = s->d->function };
    record_points(s, &a, false);
    for (uint32_t k = 0; k < n; ++k) {
        const reduced *red = &s->red[k];
        var[SETS * k] = new_variable(g, red->dtype, s->p->rec.initial[k], red->join);
        if (!red->product)
            continue;
        var[SETS * k + 1] = new_variable(g, WF_F64, 0, WF_JOIN_ADD);
        var[SETS * k + 2] = new_variable(g, red->dtype, s->p->rec.initial[k], WF_JOIN_MUL);
    }
    for (uint32_t i = 0; i < s->part_n && wf__is_recording(g); ++i) {
        const part *of = &s->part[i];
        const reduced *red = &s->red[of->red];
        wf__ir *ir = wf__graph_ir(g);
        const wf__ref value = a.map[of->value];
        join_to(g, var[SETS * of->red], (wf_join)red->join, where_joined(&a, of, value, (wf_join)red->join));
        if (!red->product)
            continue;
        wf__ref none = wf__op2(ir, WF__OP_eq, value, wf__const_f64(ir, red->dtype, 0));
        wf__ref other = wf__op3(ir, WF__OP_select, none, wf__const_f64(ir, red->dtype, 1), value);
        none = wf__cast(ir, none, WF_F64);
        join_to(g, var[SETS * of->red + 1], WF_JOIN_ADD, where_joined(&a, of, none, WF_JOIN_ADD));
        join_to(g, var[SETS * of->red + 2], WF_JOIN_MUL, where_joined(&a, of, other, WF_JOIN_MUL));
    }
    wf__again_end(&a);
    if (wf__is_recording(g))
        wf_section(g, WF_SECTION_POST);
    for (uint32_t k = 0; k < n && wf__is_recording(g); ++k) {
        (wf_out)(g, s->red[k].result, (wf_val){ var[SETS * k] });
        if (!s->red[k].product)
            continue;
        (wf_out)(g, s->red[k].count, (wf_val){ var[SETS * k + 1] });
        (wf_out)(g, s->red[k].product, (wf_val){ var[SETS * k + 2] });
    }
    wf__free(var);
    return run_graph(g);
}

static bool is_extreme(const reduced *red)
{
    return red->real && (red->join == WF_JOIN_MIN || red->join == WF_JOIN_MAX);
}

/* Counts the contributions to minima and maxima that are the result. An initial value is one of them. */
static wf_status count_ties(const split *s)
{
    const uint32_t n = s->p->rec.ir.red_n;
    bool any = false;
    for (uint32_t k = 0; k < n; ++k)
        any = any || is_extreme(&s->red[k]);
    wf_var *var = any ? wf__alloc0(n * sizeof *var) : NULL;
    if (!any || !var)
        return any ? out_of_memory(s) : WF_OK;
    wf_graph *g = begin_graph(s, &s->space, s->axes);
    wf__again a = { .g = g, .in = &s->call, .to = s->array, .function = s->d->function };
    record_points(s, &a, false);
    for (uint32_t k = 0; k < n; ++k)
        if (is_extreme(&s->red[k]))
            var[k] = new_variable(g, WF_F64, 0, WF_JOIN_ADD);
    for (uint32_t i = 0; i < s->part_n && wf__is_recording(g); ++i)
        if (is_extreme(&s->red[s->part[i].red])) {
            wf__ref is = hit(s, &a, &s->part[i]);
            join_to(g, var[s->part[i].red], WF_JOIN_ADD, wf__cast(wf__graph_ir(g), is, WF_F64));
        }
    wf__again_end(&a);
    if (wf__is_recording(g))
        wf_section(g, WF_SECTION_POST);
    for (uint32_t k = 0; k < n && wf__is_recording(g); ++k) {
        const reduced *red = &s->red[k];
        const uint64_t initial = s->p->rec.initial[k];
        if (!is_extreme(red))
            continue;
        wf_val count = { var[k] };
        if (initial != wf__join_neutral((wf_join)red->join, red->dtype)) {
            wf_val first = wf__value(g, wf__const_bits(wf__graph_ir(g), red->dtype, initial));
            count = (wf_add)(count, (wf_cast)((wf_eq)(wf_in(g, red->result), first), WF_F64));
        }
        (wf_out)(g, red->count, count);
    }
    wf__free(var);
    return run_graph(g);
}

/* True if the derivative of WF_SECTION_POST does not need the values of sums: it only adds, and multiplies by numbers. */
static bool is_linear(const split *s, bool *out)
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

static wf_status make_arrays(const split *s)
{
    for (uint32_t k = 0; k < s->p->rec.ir.red_n; ++k) {
        reduced *red = &s->red[k];
        const bool product = red->real && red->join == WF_JOIN_MUL;
        red->result = new_array(s, red->dtype);
        red->target = red->real ? new_array(s, red->dtype) : NULL;
        red->derivative = red->real ? new_array(s, wf__adjoint_dtype(red->dtype)) : NULL;
        red->count = product || is_extreme(red) ? new_array(s, WF_F64) : NULL;
        red->product = product ? new_array(s, red->dtype) : NULL;
        if (!red->result || (red->real && (!red->target || !red->derivative)) ||
            ((product || is_extreme(red)) && !red->count) || (product && !red->product))
            return wf_last_status(s->ctx);
    }
    bool linear;
    if (!is_linear(s, &linear))
        return out_of_memory(s);
    wf_status status = linear ? WF_OK : find_values(s);
    return status == WF_OK ? count_ties(s) : status;
}

/* ---- the two operators ---- */
static wf_graph *points(const split *s)
{
    wf_graph *g = begin_graph(s, &s->space, 0);
    wf__again a = { .g = g, .in = &s->call, .to = s->array, .function = s->d->function };
    record_points(s, &a, true);
    for (uint32_t i = 0; i < s->part_n && wf__is_recording(g); ++i) {
        const part *of = &s->part[i];
        const reduced *red = &s->red[of->red];
        uint32_t slot;
        if (!red->real || !wf__array_slot(g, red->target, false, true, s->d->function, &slot))
            continue;
        wf__ir *ir = wf__graph_ir(g);
        wf__ref value = a.map[of->value], when = of->when ? a.map[of->when] : 0;
        if (is_extreme(red))
            when = hit(s, &a, of);
        else if (red->product)
            value = wf__op2(ir, WF__OP_mul, value, product_of_others(s, &a, of));
        value = wf__cast(ir, value, wf__update_dtype(red->dtype, WF_JOIN_ADD));
        wf__accum(ir, slot, kept_tuple(s, ir), WF_JOIN_ADD, WF__MODE_AUTO, value, when);
        wf__note_store(g, slot);
    }
    wf__again_end(&a);
    return g;
}

/* The indices of the element of an array at a kept point. An array of fewer axes than the space has no reduced ones. */
static uint32_t post_tuple(const split *s, wf__ir *ir, const wf_shape *shape)
{
    const bool drops = shape->rank < s->space.rank;
    wf__ref index[WF_MAX_RANK];
    for (int a = 0; a < shape->rank; ++a)
        index[a] = wf__const_bits(ir, WF_I64, 0);
    for (int d = s->space.rank - 1, a = shape->rank; d >= 0 && a > 0; --d) {
        if (drops && s->place[d] < 0)
            continue;
        --a;
        if (s->place[d] >= 0 && shape->dim[a] != 1)
            index[a] = wf__index(ir, s->place[d]);
    }
    return ir->status == WF_OK ? wf__tuple(ir, index, (uint32_t)shape->rank) : 0;
}

static void record_kept(const split *s, wf__again *a, wf__ref r)
{
    wf__ir *ir = wf__graph_ir(a->g);
    const wf__node n = a->in->node[r];
    uint32_t slot;
    if (n.op == WF__PARAM && n.a >= s->p->param_n) {
        if (wf__array_slot(a->g, s->red[n.a - s->p->param_n].result, true, false, s->d->function, &slot))
            a->map[r] = wf__load(ir, slot, 0, WF_BORDER_NONE, 0);
    } else if (n.op == WF__INDEX)
        a->map[r] = s->place[n.a] >= 0 ? wf__index(ir, s->place[n.a]) : wf__const_bits(ir, WF_I64, 0);
    else if (n.op == WF__EXTENT)
        a->map[r] = wf__const_bits(ir, WF_I64, (uint64_t)s->space.dim[n.a]);
    else if (wf__op_names_slot(n.op) && a->in->slot[n.a].element) {
        const wf_array *array = s->array[a->in->slot[n.a].object];
        const bool store = n.op == WF__STORE, same = !array->shape.rank || wf__same_shape(&array->shape, &s->kept);
        if (!wf__array_slot(a->g, array, same, store, s->d->function, &slot))
            return;
        const uint32_t tuple = same ? 0 : post_tuple(s, ir, &array->shape);
        if (store) {
            wf__store(ir, slot, tuple, a->map[n.c], n.d ? a->map[n.d] : 0);
            wf__note_store(a->g, slot);
        } else
            a->map[r] = wf__load(ir, slot, tuple, WF_BORDER_NONE, 0);
    } else
        wf__again_node(a, r);
}

static wf_graph *kept_points(const split *s)
{
    wf_graph *g = begin_graph(s, &s->kept, 0);
    wf__again a = { .g = g, .in = &s->p->rec.post, .to = s->array, .function = s->d->function };
    wf__again_begin(&a);
    for (wf__ref r = 1; r < a.in->n && wf__is_recording(g); ++r)
        record_kept(s, &a, r);
    wf__again_end(&a);
    return g;
}

/* ---- derivatives ---- */
typedef struct list { /* arrays and those of their derivatives */
    wf_array **at, **derivative;
    size_t n;
} list;

static void add(list *l, wf_array *array, wf_array *derivative)
{
    l->at[l->n] = array;
    l->derivative[l->n++] = derivative;
}

static bool uses(const split *s, const wf__ir *ir, const wf_array *array, bool store)
{
    for (wf__ref r = 1; r < ir->n; ++r) {
        const unsigned op = ir->node[r].op;
        if (wf__op_names_slot(op) && s->array[ir->slot[ir->node[r].a].object] == array &&
            (store ? wf__op_is_store(op) : wf__op_gives_element(op)))
            return true;
    }
    return false;
}

static wf_status derive_part(const split *s, wf_graph *g, const list *outs, const list *wrt)
{
    wf__derive d = { .function = s->d->function, .reverse = s->d->reverse };
    d.outs = (wf_arrays){ outs->at, outs->n };
    d.wrt = (wf_arrays){ wrt->at, wrt->n };
    d.seeds = d.reverse ? (wf_arrays){ outs->derivative, outs->n } : (wf_arrays){ wrt->derivative, wrt->n };
    d.results = d.reverse ? (wf_arrays){ wrt->derivative, wrt->n } : (wf_arrays){ outs->derivative, outs->n };
    return wf__derive_operator(g, &d);
}

static wf_graph *begin_graph_of_arrays(const split *s)
{
    return wf_begin_with(s->ctx, &(wf_space){ .size = sizeof(wf_space), .stream = s->g->stream });
}

/* Divides the derivatives of minima and maxima by the number of contributions that share them. */
static wf_status share(const split *s)
{
    wf_graph *g = begin_graph_of_arrays(s);
    for (uint32_t k = 0; k < s->p->rec.ir.red_n; ++k) {
        wf_array *to = s->red[k].derivative;
        if (is_extreme(&s->red[k]))
            (wf_out)(g, to, (wf_div)(wf_in(g, to), (wf_max)(wf_in(g, s->red[k].count), (wf_val){ { 1, NULL } })));
    }
    return run_graph(g);
}

static wf_status clear(const split *s)
{
    wf_graph *g = begin_graph_of_arrays(s);
    for (uint32_t k = 0; k < s->p->rec.ir.red_n; ++k)
        if (s->red[k].real)
            (wf_out)(g, s->red[k].derivative, (wf_val){ { 0, NULL } });
    return run_graph(g);
}

/* Adds the derivatives of what WF_SECTION_POST reads. */
static wf_status add_derivatives(const split *s, wf_array *const *more)
{
    wf_graph *g = begin_graph_of_arrays(s);
    for (size_t i = 0; i < s->d->wrt.n; ++i)
        if (more[i])
            (wf_out)(g, s->d->results.at[i], (wf_add)(wf_in(g, s->d->results.at[i]), wf_in(g, more[i])));
    return run_graph(g);
}

static wf_status derive_both(const split *s, wf_array **room)
{
    const wf__derive *d = s->d;
    const wf__recording *rec = &s->p->rec;
    const size_t outs = d->outs.n + rec->ir.red_n, wrts = d->wrt.n + rec->ir.red_n;
    list point_outs = { room, room + outs, 0 }, kept_outs = { room + 2 * outs, room + 3 * outs, 0 };
    list point_wrt = { room + 4 * outs, room + 4 * outs + wrts, 0 };
    list kept_wrt = { point_wrt.at + 2 * wrts, point_wrt.at + 3 * wrts, 0 };
    wf_array **more = point_wrt.at + 4 * wrts;
    for (uint32_t k = 0; k < rec->ir.red_n; ++k)
        if (s->red[k].real) {
            add(&point_outs, s->red[k].target, s->red[k].derivative);
            add(&kept_wrt, s->red[k].result, s->red[k].derivative);
        }
    for (size_t i = 0; i < d->outs.n; ++i) {
        const bool post = uses(s, &rec->post, d->outs.at[i], true);
        if (post && uses(s, &rec->ir, d->outs.at[i], true))
            return wf__error(s->ctx, WF_ERR_UNSUPPORTED, "%s: output %zu is stored in two sections", d->function, i);
        add(post ? &kept_outs : &point_outs, d->outs.at[i], d->reverse ? d->seeds.at[i] : d->results.at[i]);
    }
    wf_status status = WF_OK;
    for (size_t i = 0; i < d->wrt.n && status == WF_OK; ++i) {
        wf_array *derivative = d->reverse ? d->results.at[i] : d->seeds.at[i];
        add(&point_wrt, d->wrt.at[i], derivative);
        if (!uses(s, &rec->post, d->wrt.at[i], false))
            continue;
        if (d->reverse) {
            more[i] =
                wf__array_make(s->ctx, d->function, derivative->dtype, &derivative->shape, NULL, derivative->device);
            status = more[i] ? WF_OK : wf_last_status(s->ctx);
        }
        add(&kept_wrt, d->wrt.at[i], d->reverse ? more[i] : derivative);
    }
    if (status == WF_OK)
        status = d->reverse ? derive_part(s, kept_points(s), &kept_outs, &kept_wrt) : clear(s);
    if (status == WF_OK && d->reverse)
        status = share(s);
    if (status == WF_OK)
        status = derive_part(s, points(s), &point_outs, &point_wrt);
    if (status == WF_OK && !d->reverse)
        status = share(s);
    if (status == WF_OK)
        status = d->reverse ? add_derivatives(s, more) : derive_part(s, kept_points(s), &kept_outs, &kept_wrt);
    for (size_t i = 0; i < d->wrt.n; ++i)
        wf_release(more[i]);
    return status;
}

/* ---- beginning and end ---- */
static bool find_axes(split *s)
{
    if (!wf__derive_space(s->g, &s->space))
        return false;
    s->axes = s->p->rec.options.reduce & ((1u << s->space.rank) - 1);
    for (int d = 0; d < s->space.rank; ++d) {
        s->place[d] = s->axes >> d & 1 ? -1 : s->kept.rank;
        if (s->place[d] >= 0)
            s->kept.dim[s->kept.rank++] = s->space.dim[d];
    }
    if (!s->kept.rank) /* one point */
        s->kept = (wf_shape){ .rank = 1, .dim = { 1 } };
    return true;
}

static wf_status begin(split *s)
{
    const wf__recording *rec = &s->p->rec;
    if (!wf__derive_check(s->g, s->d) || !find_axes(s))
        return wf_last_status(s->ctx);
    wf__ir_init(&s->call, s->space.rank, rec->ir.flags | WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    const uint32_t n = rec->ir.red_n;
    const size_t lists = 4 * (s->d->outs.n + n) + 5 * (s->d->wrt.n + n);
    s->red = wf__alloc0((n + 1) * sizeof *s->red);
    s->array = wf__alloc0((s->p->object_n + lists + 1) * sizeof(wf_array *));
    if (!s->red || !s->array)
        return out_of_memory(s);
    for (uint32_t i = 0; i < s->p->object_n; ++i)
        s->array[i] = s->p->object[i].array;
    for (uint32_t k = 0; k < n; ++k) {
        const wf__reduction *of = &rec->ir.red[k];
        s->red[k] = (reduced){ .dtype = of->dtype, .join = of->join, .real = wf__has_adjoint(of->dtype) };
    }
    if (wf__straighten(&rec->ir, &s->call, s->d->function)) {
        s->n = s->call.n;
        s->chain = wf__alloc0(2 * (size_t)s->n);
        s->reached = s->chain ? s->chain + s->n : NULL;
        s->when = wf__alloc0(s->n * sizeof *s->when);
        if (!s->chain || !s->when)
            return out_of_memory(s);
        for (uint32_t k = 0; k < n; ++k)
            if (s->red[k].join == WF_JOIN_CUSTOM)
                wf__ir_fail(
                    &s->call, WF_ERR_UNSUPPORTED,
                    "%s: a reduced variable of WF_JOIN_CUSTOM, or a product of complex numbers, has no derivative",
                    s->d->function);
        find_parts(s);
    }
    if (s->call.status != WF_OK)
        wf__program_error(s->ctx, s->p, s->call.status, s->call.error, WF_SECTION_CALL, &(wf__culprit){ 0 });
    return s->call.status;
}

static void end(split *s)
{
    for (uint32_t k = 0; s->red && k < s->p->rec.ir.red_n; ++k) {
        wf_release(s->red[k].result);
        wf_release(s->red[k].target);
        wf_release(s->red[k].derivative);
        wf_release(s->red[k].count);
        wf_release(s->red[k].product);
    }
    wf__ir_free(&s->call);
    wf__free(s->chain);
    wf__free(s->when);
    wf__free(s->part);
    wf__free(s->red);
    wf__free(s->array);
}

static wf_status derive(wf_graph *graph, const wf__derive *d)
{
    if (!graph)
        return WF_ERR_ARG;
    if (!graph->reducing)
        return wf__derive_operator(graph, d);
    wf__floats floats = wf__floats_begin();
    split s = { .d = d, .g = graph, .p = &graph->program, .ctx = graph->ctx };
    wf_status status = wf__graph_finish(graph);
    if (status == WF_OK && !wf__graph_launchable(graph, d->function))
        status = WF_ERR_ARG;
    if (status == WF_OK) {
        status = begin(&s);
        if (status == WF_OK)
            status = make_arrays(&s);
        if (status == WF_OK)
            status = derive_both(&s, s.array + s.p->object_n);
        end(&s);
    }
    wf__graph_retire(graph);
    wf__floats_end(floats);
    return status;
}

wf_status wf_adjoint(wf_graph *graph, wf_arrays outs, wf_arrays upstream, wf_arrays wrt, wf_arrays grads)
{
    return derive(graph, &(wf__derive){ "wf_adjoint", true, outs, wrt, upstream, grads });
}

wf_status wf_tangent(wf_graph *graph, wf_arrays wrt, wf_arrays directions, wf_arrays outs, wf_arrays tangents)
{
    return derive(graph, &(wf__derive){ "wf_tangent", false, outs, wrt, directions, tangents });
}
