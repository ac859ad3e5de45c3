/* minimize.c - the problem of a minimization: its parameters as one vector, and the kernel that evaluates the loss, its
 * gradient, and what the methods ask about them. It is recorded and prepared once.
 */
#include "optimize_internal.h"
#include <float.h>
#include <math.h>

#define FUNCTION "wf_minimize"

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

/* Copies all parameters to a vector, or back. */
static wf_status transfer(const wfl_problem *p, wf_array *vector, bool back)
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

wf_status wfl_deliver(const wfl_problem *p, const wf_array *vector) { return transfer(p, (wf_array *)vector, true); }

/* ---- the kernel of an evaluation ---- */
static void store(wfl_problem *p, wf_graph *g, int which, wf_val value)
{
    wf_array *to = wf_view_slice(p->stats, 0, which, which + 1, 1);
    wf_out(g, to, wf_reshape(wf_cast(value, WF_F64), WF_SHAPE(1)));
    wf_release(to);
}

/* False, and the graph is poisoned: no loss has this dtype or shape. */
static bool is_loss(wfl_problem *p, wf_graph *g, wf_val loss)
{
    wf_shape shape = wf_val_shape(loss);
    wf_dtype t = wf_val_dtype(loss);
    if (wf_graph_status(g) != WF_OK)
        return false;
    if (wf_val_number(loss, NULL, NULL))
        wf_fail(g, WF_ERR_ARG, FUNCTION ": the loss is a number, which depends on no parameter");
    else if (!wfl_is_float_dtype(t))
        wf_fail(g, WF_ERR_DTYPE, FUNCTION ": the loss is no real number of a float dtype");
    else if (wfl_axes_count(&shape, WF_ALL_AXES) != 1)
        wf_fail(g, WF_ERR_SHAPE, FUNCTION ": the loss has several elements; reduce it, as by wf_sum");
    p->rounding = 10 * (t == WF_F64 ? DBL_EPSILON : t == WF_F32 ? FLT_EPSILON : 1e-3);
    return wf_graph_status(g) == WF_OK;
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
            wf_fail(g, WF_ERR_MEMORY, FUNCTION ": out of memory");
        else if (wf_array_count(to)) {
            wf_val grad = wf_broadcast(wf_add(grads[i], wf_const(g, p->dtype, 0)), wf_array_shape(to));
            wf_val wide = wf_cast(grad, WF_F64);
            wf_out(g, to, grad);
            largest = wf_max(largest, wf_reduce(WF_JOIN_MAX, wf_abs(wide), WF_ALL_AXES));
            squares = wf_add(squares, wf_sum(wf_mul(wide, wide), WF_ALL_AXES));
            if (d)
                slope = wf_add(slope, wf_sum(wf_mul(wide, wf_in(g, d)), WF_ALL_AXES));
        }
        wf_release(to);
        wf_release(d);
        largest = wf_val_shape(largest).rank ? wf_reshape(largest, WF_SHAPE(1)) : largest;
        squares = wf_val_shape(squares).rank ? wf_reshape(squares, WF_SHAPE(1)) : squares;
        slope = wf_val_shape(slope).rank ? wf_reshape(slope, WF_SHAPE(1)) : slope;
    }
    store(p, g, WFL_LOSS, loss);
    store(p, g, WFL_LARGEST, largest);
    store(p, g, WFL_SQUARES, squares);
    if (p->direction)
        store(p, g, WFL_SLOPE, slope);
}

static wf_status prepare(wfl_problem *p, wf_loss *loss, void *user)
{
    void *data;
    wf_array *memory = wfl_array_scratch(p->ctx, (int64_t)p->params.n, 2 * sizeof(wf_val), &data);
    if (!memory)
        return wfl_array_error(p->ctx);
    wf_val *params = data, *grads = params + p->params.n;
    wf_graph *g = wfl_begin(p->ctx, FUNCTION);
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
        wf_val l = loss(g, params, user);
        if (is_loss(p, g, l))
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

/* ---- arguments ---- */
static double or_default(double x, double other) { return x == 0 ? other : x; }

/* Replaces 0 by defaults. False, with an error: an option is out of range. */
static bool complete(wf_context *ctx, wf_minimize_options *o)
{
    bool adam = o->method == WF_MINIMIZE_ADAM;
    o->iterations = o->iterations ? o->iterations : 1000;
    o->history = o->history ? o->history : 10;
    o->gradient_tolerance = or_default(o->gradient_tolerance, 1e-5);
    o->rate = or_default(o->rate, adam ? 1e-3 : 1e-2);
    o->beta1 = or_default(o->beta1, 0.9);
    o->beta2 = or_default(o->beta2, 0.999);
    o->epsilon = or_default(o->epsilon, 1e-8);
    const char *bad = (unsigned)o->method > WF_MINIMIZE_DESCENT           ? "method"
                      : o->iterations < 0                                 ? "iterations"
                      : o->history < 1 || o->history > 64                 ? "history"
                      : isnan(o->gradient_tolerance)                      ? "gradient_tolerance"
                      : !(o->loss_tolerance >= 0)                         ? "loss_tolerance"
                      : !(o->rate > 0 && o->rate <= DBL_MAX)              ? "rate"
                      : !(o->beta1 >= 0 && o->beta1 < 1)                  ? "beta1"
                      : !(o->beta2 >= 0 && o->beta2 < 1)                  ? "beta2"
                      : !(o->epsilon > 0)                                 ? "epsilon"
                      : !(o->weight_decay >= 0 && o->weight_decay < 1e30) ? "weight_decay"
                      : !(o->momentum >= 0 && o->momentum < 1)            ? "momentum"
                                                                          : NULL;
    if (bad)
        wfl_array_fail(ctx, WF_ERR_ARG, FUNCTION ": the option `%s` is out of range", bad);
    return !bad;
}

/* Checks the arrays, and decides on the dtype and length of vectors. */
static wf_status check_arrays(wfl_problem *p)
{
    p->dtype = WF_F32;
    for (size_t i = 0; i < p->params.n; ++i) {
        const wf_array *a = p->params.at[i];
        wf_dtype t = wf_array_dtype(a);
        if (!a || wf_array_context(a) != p->ctx)
            return wfl_array_fail(p->ctx, WF_ERR_ARG, FUNCTION ": array %zu of `params` is %s", i,
                                  a ? "of another context" : "NULL");
        if (!wfl_array_known(a, FUNCTION))
            return WF_ERR_ARG;
        if (t != WF_F32 && t != WF_F64)
            return wfl_array_fail(p->ctx, WF_ERR_DTYPE, FUNCTION ": array %zu of `params` is neither f32 nor f64", i);
        if (!wfl_array_together(p->params.at[0], a, FUNCTION))
            return WF_ERR_DEVICE;
        p->dtype = t == WF_F64 ? t : p->dtype;
        p->n += wf_array_count(a);
    }
    return p->n ? WF_OK : wfl_array_fail(p->ctx, WF_ERR_SHAPE, FUNCTION ": `params` have no elements");
}

static wf_status begin(wfl_problem *p)
{
    p->at = wfl_vector(p);
    p->gradient = wfl_vector(p);
    if (p->options->method == WF_MINIMIZE_LBFGS)
        p->direction = wfl_array_zeros_beside(p->params.at[0], p->dtype, &WF_SHAPE(p->n));
    p->stats = wfl_array_zeros_beside(p->params.at[0], WF_F64, &WF_SHAPE(WFL_STATS));
    bool made = p->at && p->gradient && p->stats && (p->direction || p->options->method != WF_MINIMIZE_LBFGS);
    return made ? transfer(p, p->at, false) : wfl_array_error(p->ctx);
}

static wf_status minimize(wfl_problem *p, wf_loss *loss, void *user)
{
    double stats[WFL_STATS];
    wf_status status = begin(p);
    if (status == WF_OK)
        status = prepare(p, loss, user);
    if (status == WF_OK)
        status = wfl_evaluate(p, stats);
    if (status != WF_OK)
        return status;
    if (!isfinite(stats[WFL_LOSS]) || !isfinite(stats[WFL_LARGEST]))
        return wfl_array_fail(p->ctx, WF_ERR_ARG, FUNCTION ": the %s at the start is not finite",
                              isfinite(stats[WFL_LOSS]) ? "gradient" : "loss");
    return p->options->method == WF_MINIMIZE_LBFGS ? wfl_lbfgs(p, stats) : wfl_descend(p, stats);
}

wf_status wf_minimize_with(wf_context *ctx, wf_arrays params, wf_loss *loss, void *user, wf_minimum *found,
                           const wf_minimize_options *options)
{
    wf_minimize_options o = { .size = sizeof o };
    if (!ctx || !loss || !params.n || !params.at)
        return wf_error(ctx, WF_ERR_ARG, FUNCTION ": there are no parameters, or no loss");
    if ((options && options->size != sizeof o) || (found && found->size != sizeof *found))
        return wf_error(ctx, WF_ERR_ARG, FUNCTION ": the size of a struct is wrong; set .size");
    wf_freeze_refuse(ctx, FUNCTION, "it looks at results between launches");
    o = options ? *options : o;
    wfl_problem p = { .ctx = ctx, .params = params, .options = &o, .found.size = sizeof(wf_minimum) };
    wf_status status = complete(ctx, &o) ? check_arrays(&p) : WF_ERR_ARG;
    if (status == WF_OK)
        status = minimize(&p, loss, user);
    wf_kernel_free(p.evaluate);
    wf_array *const all[] = { p.at, p.gradient, p.direction, p.stats };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
    if (status == WF_OK && found)
        *found = p.found;
    return status;
}
