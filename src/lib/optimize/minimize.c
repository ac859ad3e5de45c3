/* minimize.c - wf_minimize: its options, checks of what the program passes, and the choice of a method. */
#include "optimize_internal.h"
#include <float.h>
#include <math.h>

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
        wfl_array_fail(ctx, WF_ERR_ARG, WFL_MINIMIZE ": the option `%s` is out of range", bad);
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
            return wfl_array_fail(p->ctx, WF_ERR_ARG, WFL_MINIMIZE ": array %zu of `params` is %s", i,
                                  a ? "of another context" : "NULL");
        if (!wfl_array_known(a, WFL_MINIMIZE))
            return WF_ERR_ARG;
        if (t != WF_F32 && t != WF_F64)
            return wfl_array_fail(p->ctx, WF_ERR_DTYPE, WFL_MINIMIZE ": array %zu of `params` is neither f32 nor f64",
                                  i);
        if (!wfl_array_together(p->params.at[0], a, WFL_MINIMIZE))
            return WF_ERR_DEVICE;
        p->dtype = t == WF_F64 ? t : p->dtype;
        p->n += wf_array_count(a);
    }
    return p->n ? WF_OK : wfl_array_fail(p->ctx, WF_ERR_SHAPE, WFL_MINIMIZE ": `params` have no elements");
}

static wf_status begin(wfl_problem *p)
{
    p->at = wfl_vector(p);
    p->gradient = wfl_vector(p);
    if (p->options->method == WF_MINIMIZE_LBFGS)
        p->direction = wfl_array_zeros_beside(p->params.at[0], p->dtype, &WF_SHAPE(p->n));
    p->stats = wfl_array_zeros_beside(p->params.at[0], WF_F64, &WF_SHAPE(WFL_STATS));
    bool made = p->at && p->gradient && p->stats && (p->direction || p->options->method != WF_MINIMIZE_LBFGS);
    return made ? wfl_transfer(p, p->at, false) : wfl_array_error(p->ctx);
}

static wf_status minimize(wfl_problem *p, wf_loss *loss, void *user)
{
    double stats[WFL_STATS];
    wf_status status = begin(p);
    if (status == WF_OK)
        status = wfl_prepare(p, loss, user);
    if (status == WF_OK)
        status = wfl_evaluate(p, stats);
    if (status != WF_OK)
        return status;
    if (!isfinite(stats[WFL_LOSS]) || !isfinite(stats[WFL_LARGEST]))
        return wfl_array_fail(p->ctx, WF_ERR_ARG, WFL_MINIMIZE ": the %s at the start is not finite",
                              isfinite(stats[WFL_LOSS]) ? "gradient" : "loss");
    return p->options->method == WF_MINIMIZE_LBFGS ? wfl_lbfgs(p, stats) : wfl_descend(p, stats);
}

wf_status wf_minimize_with(wf_context *ctx, wf_arrays params, wf_loss *loss, void *user, wf_minimum *found,
                           const wf_minimize_options *options)
{
    wf_minimize_options o = { .size = sizeof o };
    if (!ctx || !loss || !params.n || !params.at)
        return wf_error(ctx, WF_ERR_ARG, WFL_MINIMIZE ": there are no parameters, or no loss");
    if ((options && options->size != sizeof o) || (found && found->size != sizeof *found))
        return wf_error(ctx, WF_ERR_ARG, WFL_MINIMIZE ": the size of a struct is wrong; set .size");
    wf_freeze_refuse(ctx, WFL_MINIMIZE, "it looks at results between launches");
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
