/* problem.c - the problem of a minimization: its parameters as one vector, and the kernel that evaluates the loss, its
 * gradient, and what the methods ask about them. It is recorded and prepared once.
 */
#include "optimize_internal.h"
#include <float.h>
#include <math.h>
#include <stdio.h>

/* Returns the part of a vector that belongs to array i, in its shape. *from counts elements. */
static wf_array *part(const wfl_problem *p, wf_array *vector, size_t i, int64_t *from)
{
    int64_t first = *from;
    *from += wf_array_count(p->params.at[i]);
    wf_array *flat = wf_view_slice(vector, 0, first, *from, 1), *view = NULL;
    if (flat)
        view = wf_view_reshape(flat, wf_array_shape(p->params.at[i]));
    wf_release(flat);
    return view;
}

wf_status wfl_transfer(const wfl_problem *p, wf_array *vector, bool back)
{
    wf_status status = WF_OK;
    int64_t from = 0;
    for (size_t i = 0; i < p->params.n && status == WF_OK; ++i) {
        wf_array *view = part(p, vector, i, &from);
        if (!view)
            return wfl_array_error(p->ctx);
        if (wf_array_count(view))
            status = back ? wf_array_assign(p->params.at[i], view) : wf_array_assign(view, p->params.at[i]);
        wf_release(view);
    }
    return status;
}

wf_status wfl_deliver(const wfl_problem *p, const wf_array *vector)
{
    return wfl_transfer(p, (wf_array *)vector, true);
}

/* ---- the kernel of an evaluation ---- */
static void store(wfl_problem *p, wf_graph *g, int which, wf_val value)
{
    wf_array *to = wf_view_slice(p->stats, 0, which, which + 1, 1);
    wf_out(g, to, wf_reshape(wf_cast(value, WF_F64), WF_SHAPE(1)));
    wf_release(to);
}

typedef struct loss_call {
    wf_loss *loss;
    const wf_val *params;
    void *user;
    wf_val value;
} loss_call;

static void call_loss(const wf_site *site)
{
    loss_call *c = site->user;
    c->value = c->loss(site->graph, c->params, c->user);
}

wf_val wfl_call_loss(wf_graph *g, wf_loss *loss, const wf_val *params, void *user, const char *function)
{
    loss_call c = { loss, params, user, { { 0, NULL } } };
    wf_call_(g, function, (wf_function){ call_loss, &c }, WF_NO_VALS, WF_NO_VARS);
    return c.value;
}

bool wfl_is_loss(wf_graph *g, wf_val loss, const char *function)
{
    const char *bad = NULL;
    wf_status status = WF_ERR_ARG;
    wf_shape shape = wf_val_shape(loss);
    if (wf_graph_status(g) != WF_OK)
        return false;
    if (wf_val_number(loss, NULL, NULL))
        bad = "the loss is a number, which depends on no parameter";
    else if (!wfl_is_float_dtype(wf_val_dtype(loss))) {
        bad = "the loss is no real number of a float dtype";
        status = WF_ERR_DTYPE;
    } else if (wfl_axes_count(&shape, WF_ALL_AXES) != 1) {
        bad = "the loss has several elements; reduce it, as by wf_sum";
        status = WF_ERR_SHAPE;
    }
    char text[160];
    snprintf(text, sizeof text, "%s: %s", function, bad ? bad : "");
    if (bad)
        wf_fail(g, status, text);
    return wf_graph_status(g) == WF_OK;
}

/* Reduces a value of any rank to one element of rank 1. */
static wf_val reduced(wf_join join, wf_val value)
{
    return wf_reshape(wf_reduce(join, value, WF_ALL_AXES), WF_SHAPE(1));
}

/* Records what an evaluation gives, from the parameters and the loss. */
static void record_results(wfl_problem *p, wf_graph *g, wf_val loss, const wf_val *params, wf_val *grads)
{
    wf_grad_n(loss, (wf_vals){ params, p->params.n }, grads);
    wf_val largest = WF_V(0), squares = WF_V(0), slope = WF_V(0);
    int64_t from = 0, along = 0;
    for (size_t i = 0; i < p->params.n; ++i) {
        wf_array *to = part(p, p->gradient, i, &from), *d = p->direction ? part(p, p->direction, i, &along) : NULL;
        if (!to || (p->direction && !d))
            wf_fail(g, WF_ERR_MEMORY, WFL_MINIMIZE ": out of memory");
        else if (wf_array_count(to)) {
            wf_val grad = wf_broadcast(wf_add(grads[i], wf_const(g, p->dtype, 0)), wf_array_shape(to));
            wf_val wide = wf_cast(grad, WF_F64);
            wf_out(g, to, grad);
            largest = wf_max(largest, reduced(WF_JOIN_MAX, wf_abs(wide)));
            squares = wf_add(squares, reduced(WF_JOIN_ADD, wf_mul(wide, wide)));
            if (d)
                slope = wf_add(slope, reduced(WF_JOIN_ADD, wf_mul(wide, wf_in(g, d))));
        }
        wf_release(to);
        wf_release(d);
    }
    store(p, g, WFL_LOSS, loss);
    store(p, g, WFL_LARGEST, largest);
    store(p, g, WFL_SQUARES, squares);
    if (p->direction)
        store(p, g, WFL_SLOPE, slope);
}

wf_status wfl_prepare(wfl_problem *p, wf_loss *loss, void *user)
{
    void *data;
    wf_array *memory = wfl_array_scratch(p->ctx, (int64_t)p->params.n, 2 * sizeof(wf_val), &data);
    if (!memory)
        return wfl_array_error(p->ctx);
    wf_val *params = data, *grads = params + p->params.n;
    wf_graph *g = wfl_begin(p->ctx, WFL_MINIMIZE);
    int64_t from = 0;
    for (size_t i = 0; i < p->params.n; ++i) {
        wf_array *view = part(p, p->at, i, &from);
        wf_dtype t = wf_array_dtype(p->params.at[i]);
        params[i] = wf_in(g, view);
        if (t != p->dtype)
            params[i] = wf_cast(params[i], t);
        wf_release(view);
    }
    if (g) {
        wf_val l = wfl_call_loss(g, loss, params, user, WFL_MINIMIZE);
        wf_dtype t = wf_val_dtype(l);
        p->rounding = 10 * (t == WF_F64 ? DBL_EPSILON : t == WF_F32 ? FLT_EPSILON : 1e-3);
        if (wfl_is_loss(g, l, WFL_MINIMIZE))
            record_results(p, g, wf_reshape(l, WF_SHAPE(1)), params, grads);
    }
    p->evaluate = wf_compile(g);
    wf_release(memory);
    return p->evaluate ? WF_OK : wfl_array_error(p->ctx);
}

wf_status wfl_evaluate(wfl_problem *p, double stats[WFL_STATS])
{
    wf_status status = wf_launch(p->evaluate, ((wf_args){ NULL, 0 }));
    if (status == WF_OK)
        status = wf_download(p->stats, stats, WFL_STATS * sizeof *stats);
    p->found.evaluations += status == WF_OK;
    return status;
}

wf_status wfl_look(wfl_problem *p, const wf_array *vector, const double *stats, double before, bool *done)
{
    const wf_minimize_options *o = p->options;
    wf_minimum *f = &p->found;
    double change = fabs(before - stats[WFL_LOSS]), scale = fmax(1, fabs(stats[WFL_LOSS]));
    f->loss = stats[WFL_LOSS];
    f->gradient = stats[WFL_LARGEST];
    f->reason = WF_END_ITERATIONS;
    *done = true;
    if (!isfinite(f->loss) || !isfinite(f->gradient))
        f->reason = WF_END_NOT_FINITE;
    else if (f->gradient <= o->gradient_tolerance)
        f->reason = WF_END_GRADIENT;
    else if (o->loss_tolerance > 0 && f->iterations && change <= o->loss_tolerance * scale)
        f->reason = WF_END_LOSS;
    else
        *done = f->iterations >= o->iterations;
    if (*done || !o->each)
        return WF_OK;
    wf_status status = wfl_deliver(p, vector);
    if (status == WF_OK && !o->each(o->user, f)) {
        f->reason = WF_END_CALLBACK;
        *done = true;
    }
    return status;
}
