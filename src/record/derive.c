/* derive.c - derivatives of values: checks of what the program passes, before src/ad records them. */
#include "record/record.h"
#include "ad/ad.h"
#include "base/floats.h"
#include <math.h>

typedef struct request {
    wf_graph *g;
    wf__ref *out, *wrt, *seed; /* in one block */
    wf__ad_task task;
} request;

static const wf_shape *shape_of(const wf__ir *ir, wf__ref r) { return &ir->shape[wf__shape_of(ir, r)]; }

/* Returns the recording of the values; NULL = all are numbers. */
static wf_graph *graph_of(const wf_vals *lists, int n)
{
    wf_graph *g = NULL;
    for (int k = 0; k < n; ++k)
        for (size_t i = 0; lists[k].at && i < lists[k].n && !g; ++i)
            g = wf__graph_of(lists[k].at[i]);
    return g;
}

/* Sets *out to the node of a value that can be differentiated, or with respect to which one can be. */
static bool node_of(wf_graph *g, wf_val v, const char *function, const char *role, wf__ref *out)
{
    bool number;
    *out = wf__resolve(g, v, function, &number);
    if (number)
        wf__poison(g, WF_ERR_ARG, "%s: %s is a number, which has no derivative", function, role);
    else if (*out && !wf__has_adjoint(wf__dtype(wf__graph_ir(g), *out)))
        wf__poison(g, WF_ERR_DTYPE, "%s: %s is %s; only floats and complex numbers have derivatives", function, role,
                   wf_dtype_name((wf_dtype)wf__dtype(wf__graph_ir(g), *out)));
    return wf__is_recording(g) && *out;
}

/* ---- values that wf_eval has computed ----
 * A value that wf_eval computed has become a read of an array, and what it was made of is gone. A derivative that needs
 * it is an error. */
static bool is_wanted(const request *q, wf__ref r)
{
    const wf__ir *ir = &q->g->program.rec.ir;
    const wf__node *n = &ir->node[r];
    for (uint32_t i = 0; i < q->task.wrts; ++i) {
        const wf__node *wrt = &ir->node[q->wrt[i]];
        bool same_array = n->op == WF__LOAD && wrt->op == WF__LOAD && ir->slot[n->a].object == ir->slot[wrt->a].object;
        if (q->wrt[i] == r || same_array)
            return true;
    }
    return false;
}

static bool is_cut(const request *q, wf__ref r)
{
    const wf__program *p = &q->g->program;
    const wf__node *n = &p->rec.ir.node[r];
    if (n->op != WF__LOAD || !p->object[p->rec.ir.slot[n->a].object].made || is_wanted(q, r))
        return false;
    for (uint32_t i = 0; i < q->task.wrts; ++i) /* a value that came later is no operand of this one */
        if (q->wrt[i] < r)
            return true;
    return false;
}

static void refuse_cut(request *q, bool forward)
{
    wf__ir *ir = wf__graph_ir(q->g);
    wf__ref operand[WF__AD_OPERANDS], cut = 0;
    uint8_t *needed = q->g->evaluated && ir->arrays ? wf__alloc0(ir->n) : NULL;
    if (!needed) {
        if (q->g->evaluated && ir->arrays)
            wf__poison(q->g, WF_ERR_MEMORY, "%s: out of memory", q->task.function);
        return;
    }
    for (uint32_t i = 0; i < q->task.outs; ++i)
        needed[q->out[i]] = 1;
    for (wf__ref r = ir->n - 1; r >= 1 && !cut; --r) {
        const wf__node *n = &ir->node[r];
        if (!needed[r] || is_wanted(q, r) || n->op == WF__BITCAST || !wf__has_adjoint(n->dtype))
            continue;
        cut = is_cut(q, r) ? r : 0;
        for (uint32_t i = 0, count = wf__ad_operands(ir, r, forward, operand); i < count; ++i)
            needed[operand[i]] = 1;
    }
    wf__free(needed);
    if (cut)
        wf__ir_fail_at(
            ir, &ir->node[cut], WF_ERR_CONTRACT,
            "%s: wf_eval has computed a value on the way, and what it was made of is gone; ask before wf_eval, "
            "or say wf_stop of a value that is a constant",
            q->task.function);
}

/* Values that are read through a view of an array, and stores through one, are not those of the array's own object. */
static bool share_memory(const void *user, uint32_t object, uint32_t other)
{
    const wf__program *p = &((const wf_graph *)user)->program;
    const wf_array *a = p->object[object].array, *b = p->object[other].array;
    return a->buffer && b->buffer && wf__array_may_meet(a, b);
}

/* ---- requests ---- */
static void free_request(request *q) { wf__free(q->out); }

/* Sets the nodes of a request. `seeds` are those of outs in reverse mode, and those of wrt in forward mode; NULL = 1. */
static bool begin(request *q, const char *function, wf_vals outs, wf_vals wrt, const wf_vals *seeds, bool reverse)
{
    const wf_vals lists[] = { outs, wrt, seeds ? *seeds : outs };
    wf_graph *g = graph_of(lists, 3);
    *q = (request){ .g = g };
    if (!wf__is_recording(g))
        return false;
    const size_t seeded = reverse ? outs.n : wrt.n;
    if (seeds && seeds->n != seeded) {
        wf__poison(g, WF_ERR_ARG, "%s: %zu values need as many %s, not %zu", function, seeded,
                   reverse ? "seeds" : "directions", seeds->n);
        return false;
    }
    for (int k = 0; k < 3; ++k)
        if (!wf__is_list(g, lists[k].at, lists[k].n, function))
            return false;
    q->out = wf__alloc0((outs.n + wrt.n + seeded + 1) * sizeof *q->out);
    if (!q->out) {
        wf__poison(g, WF_ERR_MEMORY, "%s: out of memory", function);
        return false;
    }
    q->wrt = q->out + outs.n;
    q->seed = q->wrt + wrt.n;
    for (size_t i = 0; i < outs.n; ++i)
        if (!node_of(g, outs.at[i], function, "the value to differentiate", &q->out[i]))
            return false;
    for (size_t i = 0; i < wrt.n; ++i)
        if (!node_of(g, wrt.at[i], function, "a value with respect to which to differentiate", &q->wrt[i]))
            return false;
    const wf__ref *of = reverse ? q->out : q->wrt;
    for (size_t i = 0; i < seeded; ++i)
        if (!wf__derivative_of(g, seeds ? seeds->at[i] : (wf_val){ { 1, NULL } }, of[i], false, function,
                               "a seed or direction", &q->seed[i]))
            return false;
    q->task = (wf__ad_task){ .function = function,
                             .out = q->out,
                             .wrt = q->wrt,
                             .seed = q->seed,
                             .outs = (uint32_t)outs.n,
                             .wrts = (uint32_t)wrt.n,
                             .share = share_memory,
                             .record = wf__record_custom,
                             .user = g };
    refuse_cut(q, !reverse);
    return wf__is_recording(g);
}

static void set_values(wf_graph *g, const wf__ref *refs, size_t n, wf_val *out, const char *function)
{
    for (size_t i = 0; i < n && wf__is_list(g, out, n, function); ++i)
        out[i] = !g ? (wf_val){ { NAN, NULL } } : refs ? wf__value(g, refs[i]) : wf__no_value(g);
}

static void run(request *q, bool begun, bool reverse, size_t n, wf_val *out, const char *function)
{
    wf__ir *ir = begun ? wf__graph_ir(q->g) : NULL;
    wf__ref *result = begun ? wf__alloc0((n + 1) * sizeof *result) : NULL;
    if (begun && !result)
        wf__poison(q->g, WF_ERR_MEMORY, "%s: out of memory", q->task.function);
    wf__floats floats = wf__floats_begin(); /* constants of rules are computed */
    bool ok = result && (reverse ? wf__ad_reverse(ir, &q->task, result) : wf__ad_forward(ir, &q->task, result));
    wf__floats_end(floats);
    set_values(q->g, ok ? result : NULL, n, out, function);
    wf__free(result);
    free_request(q);
}

void wf_vjp_n(wf_vals outs, wf_vals seeds, wf_vals wrt, wf_val *out)
{
    request q;
    bool begun = begin(&q, "wf_vjp", outs, wrt, &seeds, true);
    run(&q, begun, true, wrt.n, out, "wf_vjp");
}

void wf_jvp_n(wf_vals outs, wf_vals wrt, wf_vals directions, wf_val *out)
{
    request q;
    bool begun = begin(&q, "wf_jvp", outs, wrt, &directions, false);
    run(&q, begun, false, outs.n, out, "wf_jvp");
}

/* True for a real value of one element. */
static bool is_loss(const request *q)
{
    const wf__ir *ir = wf__graph_ir(q->g);
    const wf_shape *shape = shape_of(ir, q->out[0]);
    int64_t count;
    if (wf__is_complex(wf__dtype(ir, q->out[0]))) {
        wf__poison(q->g, WF_ERR_DTYPE,
                   "wf_grad: the loss is complex; say wf_abs or wf_real of it, or wf_vjp with a seed");
        return false;
    }
    if (wf__shape_count(shape, &count) && count == 1)
        return true;
    char text[160];
    wf_shape_text(shape, text, sizeof text);
    wf__poison(q->g, WF_ERR_SHAPE,
               "wf_grad: the loss has shape %s and must have one element; say wf_sum, or wf_vjp with "
               "a seed",
               text);
    return false;
}

void wf_grad_n(wf_val loss, wf_vals wrt, wf_val *out)
{
    request q;
    bool begun = begin(&q, "wf_grad", (wf_vals){ &loss, 1 }, wrt, NULL, true) && is_loss(&q);
    run(&q, begun, true, wrt.n, out, "wf_grad");
}

bool wf_depends_n(wf_val value, wf_vals on)
{
    request q;
    bool begun = begin(&q, "wf_depends", (wf_vals){ &value, 1 }, on, NULL, true);
    bool depends = begun && wf__ad_depends(wf__graph_ir(q.g), &q.task);
    free_request(&q);
    return depends;
}
