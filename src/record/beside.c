/* beside.c - how a result of a recording is distributed: which distributed arrays its value is computed from.
 *
 * A value that comes from distributed arrays only through reductions that ranks join, or at positions that all ranks have, is
 * the same on all ranks. So such ways count for a result only if an array has the shape of the result, or as many axes.
 */
#include "ir/pass/pass.h"
#include "record/record.h"
#include "weft/distributed.h"

typedef struct fact { /* of a node */
    wf_axes on;  /* axes of its shape that it depends on by index, counted from the last one; all, through a view */
    bool memory; /* elements of an array take part */
} fact;

typedef struct search {
    const wf_graph *g;
    const wf__ir *ir;
    fact *fact;             /* [node] */
    uint8_t *live, *joined; /* [node]; a REDUCE whose results ranks join */
    const wf_array **from;  /* arrays that count */
    size_t n;
} search;

static const wf_array *distributed_of(const search *s, const wf__node *n)
{
    const wf_array *a = n->op == WF__LOAD ? s->g->program.object[s->ir->slot[n->a].object].array
                                          : NULL; /* other nodes take no elements */
    return a && a->distributed ? a : NULL;
}

/* Returns the number of axes of a value: in an index space those of the space. */
static int rank_of(const search *s, wf__ref r)
{
    return s->ir->arrays ? s->ir->shape[wf__shape_of(s->ir, r)].rank : s->g->program.rec.space.rank;
}

static void find_facts(search *s)
{
    const wf__ir *ir = s->ir;
    bool changed = true;
    while (changed) { /* a state depends on its next value, which comes later */
        changed = false;
        for (wf__ref r = 1; r < ir->n; ++r) {
            const wf__node *n = &ir->node[r];
            wf__ref operand[WF__MAX_OPERANDS];
            const uint32_t count = wf__operands(ir, n, operand);
            const wf__ref to = n->op == WF__NEXT ? n->a : r;
            fact f = s->fact[to];
            if ((n->op == WF__IOTA || n->op == WF__INDEX) && rank_of(s, r) > (int)n->a)
                f.on |= 1u << (rank_of(s, r) - 1 - (int)n->a);
            f.memory = f.memory || wf__op_gives_element(n->op);
            for (uint32_t i = 0; i < count; ++i) {
                f.on |= s->fact[operand[i]].on;
                f.memory = f.memory || s->fact[operand[i]].memory;
            }
            if (n->op == WF__VIEW && f.on)
                f.on = WF_ALL_AXES;
            changed = changed || f.on != s->fact[to].on || f.memory != s->fact[to].memory;
            s->fact[to] = f;
        }
    }
}

/* True if the load takes elements that ranks ask each other for, at positions from memory. If positions are not the same on
 * all ranks, they come from distributed arrays, which count. */
static bool asks_ranks(const search *s, const wf_array *a, const wf__node *n)
{
    bool asks = false;
    for (int k = 0; n->b && k < a->shape.rank; ++k)
        asks = asks || (wf__dist_cuts(&a->distributed->dist, k) && s->fact[wf__tuple_at(s->ir, n->b)[k]].memory);
    return asks;
}

/* Marks the operands of a node that its elements are computed from on each rank. */
static void mark_operands(search *s, wf__ref r)
{
    const wf__node *n = &s->ir->node[r];
    wf__ref operand[WF__MAX_OPERANDS];
    const uint32_t count = wf__operands(s->ir, n, operand);
    bool asks = false;
    if (n->op == WF__SCATTER || (n->op == WF__REDUCE && s->joined[r]))
        return;
    for (uint32_t i = 0; n->op == WF__VIEW && n->aux == WF__VIEW_GATHER && i < count; ++i)
        asks = asks || (operand[i] != n->a && s->fact[operand[i]].memory);
    for (uint32_t i = 0; i < count; ++i)
        s->live[operand[i]] |= !(asks && operand[i] == n->a);
}

/* Marks what the marked nodes up to `last` are computed from on each rank. */
static void mark(search *s, wf__ref last)
{
    do {
        for (wf__ref r = last + 1; r-- > 1;)
            if (s->live[r])
                mark_operands(s, r);
    } while (s->ir->loops && wf__mark_loops(s->ir, s->live, 1, s->ir->n - 1));
}

/* True if a reduction leaves one result, which each rank has, also where a single rank does. */
static bool leaves_one(int rank, wf_axes reduced) { return rank && !(~reduced & ((1u << rank) - 1)); }

/* True if ranks divide an axis of the array that is among the reduced ones of a space of `rank` axes: they join the results.
 * The last axes of both are the same. */
static bool joins_reduced(const wf_array *a, int rank, wf_axes reduced)
{
    const wf_dist *dist = a && a->distributed ? &a->distributed->dist : NULL;
    bool joins = false;
    for (int d = 0; dist && d < dist->shape.rank; ++d)
        joins = joins || (wf__dist_cuts(dist, d) && rank + d >= dist->shape.rank &&
                          reduced >> (rank - dist->shape.rank + d) & 1);
    return joins;
}

/* True if ranks join the reduction: they divide an axis of an array along one of the reduced axes, or all are reduced. */
static bool joins(search *s, wf__ref reduce)
{
    const wf__ir *ir = s->ir;
    const wf__node *n = &ir->node[reduce];
    const int rank = rank_of(s, n->a);
    wf_axes reduced = 0; /* counted from the last axis, as in facts */
    bool any = false, moved = false, divided = false;
    for (int d = 0; d < rank; ++d)
        reduced |= n->c >> d & 1 ? 1u << (rank - 1 - d) : 0;
    memset(s->live, 0, ir->n);
    s->live[n->a] = 1;
    mark(s, n->a);
    for (wf__ref r = 1; r <= n->a; ++r) {
        const wf__node *m = &ir->node[r];
        const wf_array *a = s->live[r] ? distributed_of(s, m) : NULL;
        moved = moved || (s->live[r] && m->op == WF__VIEW);
        if (!a || asks_ranks(s, a, m))
            continue;
        any = true;
        divided = divided || (!m->b && joins_reduced(a, rank, n->c));
        for (int k = 0; m->b && k < a->shape.rank; ++k)
            divided =
                divided || (wf__dist_cuts(&a->distributed->dist, k) && s->fact[wf__tuple_at(ir, m->b)[k]].on & reduced);
    }
    return divided ||
           (any && (moved || leaves_one(rank, reduced))); /* which axes a view has moved where is not followed */
}

/* Sets along[] for an operand of a space of `rank` axes, of which the result has not those dropped. The last axes of both are
 * the same. */
static void along_last(const wf_array *operand, int rank, wf_axes dropped, int along[WF_MAX_RANK])
{
    const int first = rank - operand->shape.rank;
    for (int k = 0; k < operand->shape.rank; ++k) {
        const int d = first + k; /* of the space */
        const bool there = d >= 0 && !(dropped >> d & 1);
        along[k] = there ? d - __builtin_popcount(dropped & ((1u << d) - 1)) : -1;
    }
}

/* Sets along[k] to the axis of the result that axis k of the loaded array goes along; -1 = none or several. */
static void find_along(const search *s, const wf_array *a, const wf__node *load, int rank, int along[WF_MAX_RANK])
{
    if (!load->b) {
        along_last(a, rank, 0, along);
        return;
    }
    for (int k = 0; k < a->shape.rank; ++k) {
        const wf_axes on = s->fact[wf__tuple_at(s->ir, load->b)[k]].on;
        along[k] = on && !(on & (on - 1)) ? rank - 1 - __builtin_ctz(on) : -1;
    }
}

/* Finds the first distributed array that each rank computes its elements of a value from, and cuts the result beside it. */
static void beside_first(search *s, wf__ref value, const wf_shape *shape, wf__beside *out)
{
    const wf__ir *ir = s->ir;
    find_facts(s);
    for (wf__ref r = 1; r < ir->n; ++r)
        s->joined[r] = ir->node[r].op == WF__REDUCE && joins(s, r);
    memset(s->live, value == 0, ir->n);
    if (value)
        s->live[value] = 1;
    mark(s, ir->n - 1);
    for (wf__ref r = 1; r < ir->n && !out->like; ++r) {
        const wf__node *n = &ir->node[r];
        const wf_array *a = s->live[r] ? distributed_of(s, n) : NULL;
        int along[WF_MAX_RANK];
        if (!a || asks_ranks(s, a, n))
            continue;
        find_along(s, a, n, shape->rank, along);
        a->ctx->services->beside_group(a, along, shape, out);
    }
}

/* True if the node is a reduction over all axes of a value with axes. */
static bool is_of_all(const search *s, wf__ref r)
{
    const wf__node *n = &s->ir->node[r];
    return n->op == WF__REDUCE && leaves_one(rank_of(s, n->a), n->c);
}

/* Collects the distributed arrays that a value is computed from in any way, but not those of which it has only what a
 * reduction leaves of all elements. */
static void find_all(search *s, wf__ref value)
{
    const wf__ir *ir = s->ir;
    memset(s->live, value == 0, ir->n);
    if (value)
        s->live[value] = 1;
    do {
        for (wf__ref r = value ? ir->n : 0; r-- > 1;) {
            wf__ref operand[WF__MAX_OPERANDS];
            const uint32_t count = s->live[r] && !is_of_all(s, r) ? wf__operands(ir, &ir->node[r], operand) : 0;
            for (uint32_t i = 0; i < count; ++i)
                s->live[operand[i]] = 1;
        }
    } while (value && ir->loops && wf__mark_loops(ir, s->live, 1, ir->n - 1));
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf_array *a = s->live[r] ? distributed_of(s, &ir->node[r]) : NULL;
        if (a && (!s->n || s->from[s->n - 1] != a))
            s->from[s->n++] = a;
    }
}

bool wf__beside_value(const wf_graph *g, wf__ref value, const wf_array *const *other, size_t n, const wf_shape *shape,
                      wf__beside *out)
{
    search s = { .g = g, .ir = wf__graph_ir((wf_graph *)g) };
    *out = (wf__beside){ .like = NULL };
    if (!atomic_load_explicit(&g->ctx->distributed, memory_order_relaxed))
        return true;
    s.live = wf__alloc0(s.ir->n);
    s.joined = wf__alloc0(s.ir->n);
    s.fact = wf__alloc0(s.ir->n * sizeof *s.fact);
    s.from = wf__alloc0((s.ir->n + n) * sizeof *s.from);
    const bool ok = s.live && s.joined && s.fact && s.from;
    if (ok) {
        find_all(&s, value);
        const bool reads = s.n > 0;
        for (size_t i = 0; i < n; ++i)
            s.from[s.n++] = other[i];
        if (!g->ctx->services->beside_operands(s.from, s.n, 0, shape, out) && reads)
            beside_first(&s, value, shape, out);
    }
    wf__free(s.from);
    wf__free(s.fact);
    wf__free(s.joined);
    wf__free(s.live);
    return ok;
}

/* Finds the same for operands of a kernel, or of a reduction of these axes of their common space. */
static void beside_arrays(const wf_beside *of, const wf_shape *shape, wf__beside *out)
{
    const wf_axes axes = of->reduced & WF_ALL_AXES, dropped = of->reduced & WF_DROP_AXES ? axes : 0;
    const int rank = shape->rank + __builtin_popcount(dropped);
    const wf_array *first = NULL; /* a distributed operand */
    bool joins = leaves_one(rank, axes);
    *out = (wf__beside){ .like = NULL };
    if (of->along) {
        if (of->operands == 1 && of->operand[0] && of->operand[0]->distributed)
            of->operand[0]->ctx->services->beside_group(of->operand[0], of->along, shape, out);
        return;
    }
    for (size_t i = 0; i < of->operands; ++i) {
        const wf_array *a = of->operand[i];
        first = first ? first : a && a->distributed ? a : NULL;
        joins = joins || joins_reduced(a, rank, axes);
    }
    if (!first || joins || first->ctx->services->beside_operands(of->operand, of->operands, dropped, shape, out))
        return;
    int along[WF_MAX_RANK];
    along_last(first, rank, dropped, along);
    first->ctx->services->beside_group(first, along, shape, out);
}

/* Ends the group of the recording or of an operand, since the other ranks go on. Returns NULL. */
static wf_array *cannot_make(wf_context *ctx, const wf_beside *of)
{
    const char *text = wf_last_message(ctx);
    if (of->graph)
        wf__end_group(&of->graph->program, text);
    for (size_t i = 0; i < of->operands; ++i)
        if (of->operand[i] && of->operand[i]->distributed) {
            ctx->services->end_group(of->operand[i], text);
            break;
        }
    return NULL;
}

/* Returns the node of the value; 0 = all that the recording has read counts. */
static wf__ref node_of(const wf_beside *of)
{
    if (of->value.h.graph != of->graph)
        return 0;
    const wf__ref r = wf__node_of(of->graph, of->value.h.num);
    return r < wf__graph_ir(of->graph)->n ? r : 0;
}

wf_array *wf_empty_beside_with(wf_context *ctx, wf_dtype dtype, wf_shape shape, const wf_beside *of)
{
    wf_beside given = { .size = 0 };
    wf__beside as = { .like = NULL };
    if (!ctx)
        return NULL;
    if (!wf__take_options(&given, sizeof given, of)) {
        wf__error(ctx, WF_ERR_ARG, "wf_empty_beside: " WF__WRONG_SIZE);
        return NULL;
    }
    if (!wf__device_known(ctx, "wf_empty_beside", given.device))
        return NULL;
    /* False: nothing is distributed, or the array cannot be made. */
    const bool any =
        atomic_load_explicit(&ctx->distributed, memory_order_relaxed) && shape.rank >= 0 && shape.rank <= WF_MAX_RANK;
    bool found = true;
    if (any && wf__is_recording(given.graph))
        found = wf__beside_value(given.graph, node_of(&given), given.operand, given.operands, &shape, &as);
    else if (any && !given.graph)
        beside_arrays(&given, &shape, &as);
    if (!found)
        wf__error(ctx, WF_ERR_MEMORY, "wf_empty_beside: out of memory");
    wf_array *out = found ? wf__array_beside(ctx, "wf_empty_beside", dtype, &shape, &as, given.device) : NULL;
    return out || wf_last_status(ctx) != WF_ERR_MEMORY ? out : cannot_make(ctx, &given);
}
