/* adjoint_updates.c - derivatives of operators that accumulate by minimum, maximum or product. The operator is recorded again
 * with sums in place of these accumulations, which have the same derivatives where it is:
 *
 *   extremes   the values that are equal to the element afterwards, divided by their number
 *   products   each value times the product of the others
 *
 * Runs over the points before that find what the values are compared with, or divided by: the elements afterwards, and for
 * extremes the numbers of equal values; for products mantissas, exponents and the number of zeros (ad/factors.c). All of
 * these are arrays of the output's shape, so accumulations may stand in loops with any number of turns.
 */
#include "ad/ad.h"
#include "ad/loops.h"
#include "launch/adjoint_reduce.h"

typedef enum phase { FIND, COUNT, DERIVE } phase;

typedef struct target { /* an output into which values are accumulated by such a join */
    wf_join join;       /* 0 = there are none */
    size_t wanted;      /* 1 + its number among the wanted arrays; 0 = it is none */
    wf_array *before;   /* its contents */
    wf_array *all;      /* extremes: the elements afterwards; products: mantissas */
    wf_array *number;   /* extremes: of values that are the result; products: exponents */
    wf_array *zeros;    /* products */
    wf_array *sum;      /* in place of the output; without contents */
} target;

typedef struct updates {
    wf__split s; /* the first member: wf__split.replace gets it */
    phase step;
    uint32_t *out;  /* [s.n] 1 + the output that a node accumulates into; 0 = none */
    target *target; /* [outs] */
} updates;

/* Returns 1 + the number of the output that a node accumulates into; 0 = none. */
static uint32_t updated(const wf_graph *g, const wf__derive *d, const wf__ir *ir, const wf__node *n)
{
    if (!wf__is_join_update(n))
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

/* True if a loop may read what it has stored, which the runs before the derivative do not store. */
static bool reads_back(const wf__ir *ir)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        for (wf__ref q = 1; q < ir->n && ir->node[r].op == WF__LOAD && wf__turns_end(ir, r); ++q)
            if (wf__op_is_store(ir->node[q].op) && wf__turns_end(ir, q) &&
                ir->slot[ir->node[q].a].object == ir->slot[ir->node[r].a].object)
                return true;
    return false;
}

static bool find_updates(updates *u)
{
    wf__split *s = &u->s;
    for (wf__ref r = 1; r < s->n && s->call.status == WF_OK; ++r) {
        const wf__node *n = &s->call.node[r];
        const uint32_t out = updated(s->g, s->d, &s->call, n);
        if (!out)
            continue;
        if (!is_alone(u, n))
            wf__ir_fail_at(
                &s->call, n, WF_ERR_UNSUPPORTED,
                "%s: an operator that accumulates by minimum, maximum or product and uses the array in another way, "
                "too, has no derivative; say it as an array graph",
                s->d->function);
        else if (reads_back(&s->call))
            wf__ir_fail_at(
                &s->call, n, WF_ERR_UNSUPPORTED,
                "%s: an operator that accumulates by minimum, maximum or product, and reads in a loop an array "
                "that it stores, has no derivative",
                s->d->function);
        u->out[r] = out;
        u->target[out - 1].join = (wf_join)wf__node_join(n);
        s->chain[r] = 1; /* it is not recorded again */
    }
    return s->call.status == WF_OK;
}

static wf_status make_arrays(updates *u)
{
    const wf__split *s = &u->s;
    for (size_t k = 0; k < s->d->outs.n; ++k) {
        target *to = &u->target[k];
        const wf_array *out = s->d->outs.at[k];
        const unsigned t = wf__adjoint_dtype(out->dtype);
        if (!to->join)
            continue;
        to->before = wf_copy(out);
        to->all = wf__split_array(s, t, &out->shape);
        to->number = wf__split_array(s, t, &out->shape);
        to->zeros = to->join == WF_JOIN_MUL ? wf__split_array(s, t, &out->shape) : NULL;
        to->sum = wf__split_array(s, t, &out->shape);
        if (!to->before || !to->all || !to->number || !to->sum || (to->join == WF_JOIN_MUL && !to->zeros))
            return wf_last_status(s->ctx);
        for (size_t i = 0; i < s->d->wrt.n; ++i)
            to->wanted = s->d->wrt.at[i] == out ? i + 1 : to->wanted;
    }
    return WF_OK;
}

/* ---- the points ---- */
/* The indices of the element into which node r accumulates. */
static uint32_t place_of(const updates *u, const wf__again *a, wf__ref r)
{
    const wf__split *s = &u->s;
    const wf__node *n = &s->call.node[r];
    const wf_shape *shape = &s->d->outs.at[u->out[r] - 1]->shape;
    wf__ir *ir = wf__graph_ir(a->g);
    wf__ref index[WF_MAX_RANK];
    for (int d = 0; d < shape->rank; ++d) {
        const int axis = d + s->space.rank - shape->rank;
        if (n->b)
            index[d] = a->map[wf__tuple_at(&s->call, n->b)[d]];
        else
            index[d] = axis < 0 || shape->dim[d] == 1 ? wf__const_bits(ir, WF_I64, 0) : wf__index(ir, axis);
    }
    return ir->status == WF_OK ? wf__tuple(ir, index, (uint32_t)shape->rank) : 0;
}

typedef struct place { /* an element, at the points that take part */
    wf_graph *g;
    const char *function;
    uint32_t tuple;
    wf__ref when;
} place;

static wf__ref read(const place *p, const wf_array *array)
{
    uint32_t slot;
    if (!wf__is_recording(p->g) || !wf__array_slot(p->g, array, false, false, p->function, &slot))
        return 0;
    return wf__load_when(wf__graph_ir(p->g), slot, p->tuple, WF_BORDER_NONE, 0, p->when);
}

static void add(const place *p, const wf_array *array, wf_join join, wf__ref value, wf__ref when)
{
    uint32_t slot;
    if (!value || !wf__is_recording(p->g) || !wf__array_slot(p->g, array, false, true, p->function, &slot))
        return;
    wf__accum(wf__graph_ir(p->g), slot, p->tuple, join, WF__MODE_AUTO, value, when);
    wf__note_store(p->g, slot);
}

static void replace_extreme(const target *to, phase step, const place *p, wf__ref value)
{
    wf__ir *ir = wf__graph_ir(p->g);
    if (step == FIND) {
        add(p, to->all, to->join, value, p->when);
        return;
    }
    wf__ref all = read(p, to->all), number = step == DERIVE ? read(p, to->number) : 0;
    if (!all || (step == DERIVE && !number))
        return;
    wf__ref is = wf__is_result(ir, value, all), when = wf__both(ir, p->when, is);
    if (step == COUNT)
        add(p, to->number, WF_JOIN_ADD, wf__const_f64(ir, wf__dtype(ir, value), 1), when);
    else
        add(p, to->sum, WF_JOIN_ADD, wf__op2(ir, WF__OP_div, value, number), when);
}

static void replace_factor(const target *to, phase step, const place *p, wf__ref value)
{
    wf__ir *ir = wf__graph_ir(p->g);
    const wf__factor one = wf__factor_of(ir, value);
    if (step == FIND) {
        add(p, to->all, WF_JOIN_MUL, one.m, p->when);
        add(p, to->number, WF_JOIN_ADD, one.e, p->when);
        add(p, to->zeros, WF_JOIN_ADD, one.zero, p->when);
    } else if (step == DERIVE) {
        wf__factor all = { 0 };
        all.m = read(p, to->all);
        all.e = read(p, to->number);
        all.zero = read(p, to->zeros);
        if (!all.m || !all.e || !all.zero)
            return;
        add(p, to->sum, WF_JOIN_ADD, wf__by_factor(ir, value, wf__product_without(ir, all, one)), p->when);
    }
}

/* Records what stands in place of the accumulation r. */
static void replace(const wf__split *s, wf__again *a, wf__ref r)
{
    const updates *u = (const updates *)s;
    const wf__node *n = &s->call.node[r];
    const target *to = &u->target[u->out[r] - 1];
    wf__ir *ir = wf__graph_ir(a->g);
    const place p = { a->g, s->d->function, place_of(u, a, r), n->d ? a->map[n->d] : 0 };
    wf__ref value = wf__cast(ir, a->map[n->c], to->all->dtype);
    if (!wf__is_recording(a->g) || !value)
        return;
    if (to->join == WF_JOIN_MUL)
        replace_factor(to, u->step, &p, value);
    else
        replace_extreme(to, u->step, &p, value);
}

/* Records the points for a step. Those before the derivative store nothing besides. */
static wf_graph *points(updates *u, phase step)
{
    const wf__split *s = &u->s;
    wf_graph *g = wf__split_graph(s, &s->space, 0);
    wf__again a = { .g = g, .in = &s->call, .to = s->array, .function = s->d->function };
    u->step = step;
    wf__record_points(s, &a, step == DERIVE);
    wf__again_end(&a);
    return g;
}

/* Runs the derivative of the points, with sums. room: for lists of outputs and wanted arrays. */
static wf_status derive_points(updates *u, wf_array **room)
{
    const wf__derive *d = u->s.d;
    wf_array **out = room, **wrt = out + d->outs.n, **of_wrt = wrt + d->wrt.n;
    const wf_arrays *wanted = d->reverse ? &d->results : &d->seeds;
    size_t wrts = 0;
    for (size_t k = 0; k < d->outs.n; ++k)
        out[k] = u->target[k].join ? u->target[k].sum : d->outs.at[k];
    for (size_t k = 0; k < d->wrt.n; ++k) {
        bool is_target = false;
        for (size_t i = 0; i < d->outs.n; ++i)
            is_target = is_target || u->target[i].wanted == k + 1;
        if (is_target)
            continue;
        wrt[wrts] = d->wrt.at[k];
        of_wrt[wrts++] = wanted->at[k];
    }
    const wf_arrays by_wrt = { of_wrt, wrts };
    const wf__derive of = { .function = d->function,
                            .reverse = d->reverse,
                            .outs = { out, d->outs.n },
                            .wrt = { wrt, wrts },
                            .seeds = d->reverse ? d->seeds : by_wrt,
                            .results = d->reverse ? by_wrt : d->results };
    return wf__derive_operator(points(u, DERIVE), &of);
}

/* ---- elements ---- */
static wf__ref element_of(const updates *u, wf_graph *g, const wf_array *array, unsigned t)
{
    bool number;
    wf_val v = wf_in(g, array);
    wf__ref r = wf__is_recording(g) ? wf__resolve(g, v, u->s.d->function, &number) : 0;
    return r ? wf__cast(wf__graph_ir(g), r, t) : 0;
}

static wf_graph *elements(const updates *u)
{
    const wf__split *s = &u->s;
    return wf_begin_with(s->ctx, &(wf_space){ .size = sizeof(wf_space), .name = "adjoint", .stream = s->g->stream });
}

static void set(wf_graph *g, wf_array *array, wf__ref value)
{
    if (value && wf__is_recording(g))
        (wf_out)(g, array, wf__value(g, value));
}

/* Sets what the runs over the points add to, from the contents before. */
static wf_status begin_step(const updates *u, phase step)
{
    wf_graph *g = elements(u);
    for (size_t k = 0; k < u->s.d->outs.n && wf__is_recording(g); ++k) {
        const target *to = &u->target[k];
        if (!to->join || (step == COUNT && to->join == WF_JOIN_MUL))
            continue;
        wf__ir *ir = wf__graph_ir(g);
        const unsigned t = to->all->dtype;
        wf__ref before = element_of(u, g, to->before, t), all = step == COUNT ? element_of(u, g, to->all, t) : 0;
        if (!before || (step == COUNT && !all))
            continue;
        if (step == COUNT)
            set(g, to->number, wf__cast(ir, wf__is_result(ir, before, all), t));
        else if (to->join == WF_JOIN_MUL) {
            const wf__factor f = wf__factor_of(ir, before);
            set(g, to->all, f.m);
            set(g, to->number, f.e);
            set(g, to->zeros, f.zero);
        } else
            set(g, to->all, before);
    }
    return wf__run_recorded(g);
}

/* Returns a seed times the derivative of the elements afterwards by those from before. */
static wf__ref through_elements(const updates *u, wf_graph *g, const target *to, const wf_array *seed)
{
    const unsigned t = to->all->dtype;
    wf__ref before = element_of(u, g, to->before, t), all = element_of(u, g, to->all, t);
    wf__ref number = element_of(u, g, to->number, t), part = element_of(u, g, seed, t);
    wf__ref zeros = to->zeros ? element_of(u, g, to->zeros, t) : 0;
    if (!wf__is_recording(g))
        return 0;
    wf__ir *ir = wf__graph_ir(g);
    if (to->join == WF_JOIN_MUL) {
        const wf__factor product = { all, number, zeros };
        return wf__op2(ir, WF__OP_mul, part, wf__product_without(ir, product, wf__factor_of(ir, before)));
    }
    part = wf__op2(ir, WF__OP_div, part, number);
    wf__ref is = wf__is_result(ir, before, all), zero = wf__const_f64(ir, t, 0);
    return wf__op3(ir, WF__OP_select, is, part, zero);
}

/* Reverse mode: sets the derivatives by the contents from before. Forward mode: sets the results to the part of these contents,
 * to which the points add. */
static wf_status derive_elements(const updates *u)
{
    const wf__derive *d = u->s.d;
    wf_graph *g = elements(u);
    for (size_t k = 0; k < d->outs.n && wf__is_recording(g); ++k) {
        const target *to = &u->target[k];
        const size_t i = to->wanted - 1;
        if (to->join && to->wanted)
            set(g, d->reverse ? d->results.at[i] : d->results.at[k],
                through_elements(u, g, to, d->reverse ? d->seeds.at[k] : d->seeds.at[i]));
        else if (to->join && !d->reverse)
            (wf_out)(g, d->results.at[k], (wf_val){ { 0, NULL } });
    }
    return wf__run_recorded(g);
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
        u->out = wf__alloc0(s->n * sizeof *u->out);
        if (!s->chain || !u->out)
            return wf__split_no_memory(s);
        s->replace = replace;
        if (find_updates(u))
            return make_arrays(u);
    }
    wf__program_error(s->ctx, s->p, s->call.status, s->call.error, WF_SECTION_CALL, &(wf__culprit){ 0 });
    return s->call.status;
}

static wf_status derive_all(updates *u)
{
    const wf__derive *d = u->s.d;
    wf_array **room = wf__alloc0((d->outs.n + 2 * d->wrt.n + 1) * sizeof *room);
    bool counts = false;
    for (size_t k = 0; k < d->outs.n; ++k)
        counts = counts || (u->target[k].join && u->target[k].join != WF_JOIN_MUL);
    wf_status status = room ? begin_step(u, FIND) : wf__split_no_memory(&u->s);
    if (status == WF_OK)
        status = wf__run_recorded(points(u, FIND));
    if (status == WF_OK && counts)
        status = begin_step(u, COUNT);
    if (status == WF_OK && counts)
        status = wf__run_recorded(points(u, COUNT));
    if (status == WF_OK)
        status = derive_elements(u);
    if (status == WF_OK)
        status = derive_points(u, room);
    wf__free(room);
    return status;
}

static void end(updates *u)
{
    for (size_t k = 0; u->target && k < u->s.d->outs.n; ++k) {
        const target *to = &u->target[k];
        wf_array *of[] = { to->before, to->all, to->number, to->zeros, to->sum };
        for (size_t i = 0; i < WF__COUNT(of); ++i)
            wf_release(of[i]);
    }
    wf__ir_free(&u->s.call);
    wf__free(u->s.chain);
    wf__free(u->s.array);
    wf__free(u->out);
    wf__free(u->target);
}

static wf_status derive(wf_graph *graph, const wf__derive *d)
{
    updates u = { .s = { .d = d, .g = graph, .p = &graph->program, .ctx = graph->ctx } };
    wf_status status = begin(&u);
    if (status == WF_OK)
        status = derive_all(&u);
    end(&u);
    return status;
}

wf_status wf__derive_updates(wf_graph *graph, const wf__derive *d)
{
    return graph && has_updates(graph, d) ? wf__derive_by(graph, d, derive) : wf__derive_operator(graph, d);
}
