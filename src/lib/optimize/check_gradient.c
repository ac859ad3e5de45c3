/* check_gradient.c - wf_check_gradient: a gradient beside central differences of the loss with steps h and h/2, and beside
 * forward derivatives, in f64: along random directions of each array, and by single elements.
 */
#include "optimize_internal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME "wf_check_gradient"
enum { MOST_PARAMS = 64 };

typedef struct checking {
    wf_context *ctx;
    wf_gradient_options o; /* with defaults in place of 0 */
    wf_loss *loss;
    void *user;
    wf_array *at[MOST_PARAMS], *grad[MOST_PARAMS]; /* f64 or c128 */
    size_t n;
    wf_gradient_finding worst; /* size 0: nothing has been compared */
    double unit;      /* half a unit in the last place of 1, of the narrowest dtype that holds all losses so far */
    double roundings; /* how many of these a loss may be wrong by, relative to it */
    /* the array that is checked */
    size_t which;
    int64_t reals; /* real numbers in it */
    double h;
    double *start, *moved, *direction, *gradient; /* [reals] */
    wf_array *along;                              /* as the direction */
} checking;

/* ---- a recorded loss ---- */
/* Records the loss of c->at; poison after a failure. */
static wf_val record(checking *c, wf_graph *g, wf_val params[MOST_PARAMS])
{
    for (size_t k = 0; k < c->n; k++)
        params[k] = wf_in(g, c->at[k]);
    wf_val loss = wfl_call_loss(g, c->loss, params, c->user, NAME);
    return wfl_is_loss(g, loss, NAME) ? loss : wf_const(g, WF_F64, 0);
}

/* Sets *number to the value of one element that is stored, when the recording has run. */
static wf_status run_for(checking *c, wf_graph *g, wf_val value, double *number)
{
    wf_array *out = wfl_array_beside(c->at[0], WF_F64, &WF_SHAPE(1));
    if (!out) {
        wf_drop(g);
        return wfl_array_error(c->ctx);
    }
    wf_out(g, out, wf_cast(wf_add(value, wf_const(g, WF_F64, 0)), WF_F64));
    wf_status status = wf_run(g);
    if (status == WF_OK)
        status = wf_download(out, number, sizeof *number);
    wf_release(out);
    return status;
}

static wf_status loss_at(checking *c, double *loss)
{
    wf_val params[MOST_PARAMS];
    if (!c->loss)
        return c->o.functions->loss(c->user, (wf_arrays){ c->at, c->n }, loss);
    wf_graph *g = wfl_begin(c->ctx, NAME);
    wf_val value = record(c, g, params);
    return run_for(c, g, wf_reshape(value, WF_SHAPE(1)), loss);
}

static wf_status gradient_at(checking *c)
{
    wf_val params[MOST_PARAMS], grads[MOST_PARAMS];
    if (!c->loss)
        return c->o.functions->gradient(c->user, (wf_arrays){ c->at, c->n }, (wf_arrays){ c->grad, c->n });
    wf_graph *g = wfl_begin(c->ctx, NAME);
    wf_val loss = record(c, g, params);
    wf_grad_n(loss, (wf_vals){ params, c->n }, grads);
    for (size_t k = 0; k < c->n; k++)
        wf_out(g, c->grad[k], grads[k]);
    return wf_run(g);
}

/* The forward derivative along c->along; NaN if the loss has none. */
static wf_status tangent_at(checking *c, double *slope)
{
    wf_val params[MOST_PARAMS], tangent;
    *slope = NAN;
    if (!c->loss)
        return c->o.functions->tangent
                   ? c->o.functions->tangent(c->user, (wf_arrays){ c->at, c->n }, c->which, c->along, slope)
                   : WF_OK;
    wf_graph *g = wfl_begin(c->ctx, NAME);
    wf_val loss = record(c, g, params), along = wf_in(g, c->along);
    const bool recorded = wf_graph_status(g) == WF_OK;
    wf_jvp_n((wf_vals){ &loss, 1 }, (wf_vals){ &params[c->which], 1 }, (wf_vals){ &along, 1 }, &tangent);
    if (recorded && wf_graph_status(g) == WF_ERR_UNSUPPORTED) { /* a rule of the program without .jvp, for example */
        wf_drop(g);
        wf_clear_error(c->ctx);
        return WF_OK;
    }
    return run_for(c, g, wf_reshape(tangent, WF_SHAPE(1)), slope);
}

/* ---- comparisons ---- */
static wf_status move(const checking *c, const double *to)
{
    return wf_upload(c->at[c->which], to, (size_t)c->reals * sizeof *to);
}

/* Lowers c->unit to that of the first of f16, f32 and f64 that holds the loss. */
static void see_digits(checking *c, double loss)
{
    int exponent;
    double digits = frexp(loss, &exponent); /* 0.5 to 1 */
    while (isfinite(loss) && c->unit > 0x1p-53 && digits / c->unit != rint(digits / c->unit))
        c->unit = c->unit > 0x1p-24 ? 0x1p-24 : 0x1p-53;
}

/* Sets *slope to the central difference of the loss along the direction, and *size to the larger loss. */
static wf_status difference(checking *c, double h, double *slope, double *size)
{
    double loss[2] = { 0, 0 };
    wf_status status = WF_OK;
    for (int k = 0; k < 2 && status == WF_OK; k++) {
        for (int64_t i = 0; i < c->reals; i++)
            c->moved[i] = c->start[i] + (k ? h : -h) * c->direction[i];
        status = move(c, c->moved);
        if (status == WF_OK)
            status = loss_at(c, &loss[k]);
        see_digits(c, loss[k]);
        *size = fmax(*size, fabs(loss[k]));
    }
    wf_status back = move(c, c->start);
    *slope = (loss[1] - loss[0]) / (2 * h);
    return status == WF_OK ? back : status;
}

/* Describes a finding: "array 1, element (2, 3): the derivative is 2, and by differences 3". */
static void describe(const checking *c, wf_gradient_finding *f)
{
    char place[160];
    int n = snprintf(f->text, sizeof f->text, "array %zu, ", f->array);
    if (f->element < 0)
        n += snprintf(f->text + n, sizeof f->text - (size_t)n, "along a direction");
    else {
        wf_shape at = wf_array_shape(c->at[c->which]);
        int64_t rest = f->element;
        for (int d = at.rank; d-- > 0;) {
            int64_t extent = at.dim[d];
            at.dim[d] = rest % extent;
            rest /= extent;
        }
        wf_shape_text(&at, place, sizeof place);
        n +=
            snprintf(f->text + n, sizeof f->text - (size_t)n, "element %s%s", place, f->imaginary ? ", imaginary" : "");
    }
    n += snprintf(f->text + n, sizeof f->text - (size_t)n, ": the derivative is %.10g, and by differences %.10g",
                  f->gradient, f->difference);
    if (!isnan(f->forward))
        snprintf(f->text + n, sizeof f->text - (size_t)n, ", and in forward mode %.10g", f->forward);
}

static void report(checking *c, wf_gradient_finding *f)
{
    f->differs = !(f->beyond <= 0);
    describe(c, f);
    if (c->o.each)
        c->o.each(c->o.user, f);
    if (!c->worst.size || !(f->beyond <= c->worst.beyond || isnan(c->worst.beyond)))
        c->worst = *f;
}

/* Compares the gradient with differences, and with the forward derivative if `forward`. */
static wf_status compare(checking *c, wf_gradient_finding f, bool forward)
{
    double coarse, fine, size = 0, loss = 0;
    wf_status status = difference(c, c->h, &coarse, &loss);
    if (status == WF_OK)
        status = difference(c, c->h / 2, &fine, &loss);
    f.array = c->which;
    f.forward = NAN;
    if (status == WF_OK && forward) {
        status = wf_upload(c->along, c->direction, (size_t)c->reals * sizeof *c->direction);
        if (status == WF_OK)
            status = tangent_at(c, &f.forward);
    }
    if (status != WF_OK)
        return status;
    for (int64_t i = 0; i < c->reals; i++) {
        f.gradient += c->gradient[i] * c->direction[i];
        size += fabs(c->gradient[i] * c->direction[i]);
    }
    f.difference = (4 * fine - coarse) / 3;
    /* D = (4 D2 - D1) / 3 has at most 3 times the error of a loss over h */
    double rounding = 3 * c->roundings * c->unit * loss / c->h;
    f.beyond = fabs(f.gradient - f.difference) - c->o.tolerance * (size + fabs(f.difference)) -
               2 * fabs(fine - coarse) - rounding;
    double modes = fabs(f.forward - f.gradient) - fmax(1e-10, 2 * c->unit) * (size + fabs(f.gradient));
    if (!isnan(f.forward) && modes > f.beyond) /* they differ by rounding alone */
        f.beyond = modes;
    report(c, &f);
    return WF_OK;
}

static double random_number(uint64_t *state) /* in [-1, 1): splitmix64 */
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-52 - 1;
}

static wf_status compare_all(checking *c, uint64_t *random)
{
    const bool pairs = wfl_is_complex_dtype(wf_array_dtype(c->at[c->which]));
    wf_status status = WF_OK;
    for (int k = 0; k < c->o.directions && status == WF_OK; k++) {
        for (int64_t i = 0; i < c->reals; i++)
            c->direction[i] = random_number(random);
        status = compare(c, (wf_gradient_finding){ .size = sizeof(wf_gradient_finding), .element = -1 }, true);
    }
    memset(c->direction, 0, (size_t)c->reals * sizeof *c->direction);
    const int64_t step = c->reals > c->o.elements ? c->reals / c->o.elements : 1;
    for (int64_t i = step / 2; i < c->reals && status == WF_OK; i += step) {
        wf_gradient_finding f = { .size = sizeof f, .element = pairs ? i / 2 : i, .imaginary = pairs && i % 2 };
        c->direction[i] = 1;
        status = compare(c, f, false);
        c->direction[i] = 0;
    }
    return status;
}

static wf_status check_array(checking *c, size_t which, uint64_t *random)
{
    const wf_array *a = c->at[which];
    const int pair = wfl_is_complex_dtype(wf_array_dtype(a)) ? 2 : 1;
    wf_shape shape = wf_array_shape(a);
    void *data;
    double mean = 0;
    c->which = which;
    c->reals = wf_array_count(a) * pair;
    if (!c->reals)
        return WF_OK;
    const size_t bytes = (size_t)c->reals * sizeof(double);
    wf_array *memory = wfl_array_scratch(c->ctx, c->reals, 4 * sizeof(double), &data);
    c->along = memory ? wfl_array_beside(a, wf_array_dtype(a), &shape) : NULL;
    wf_status status = c->along ? WF_OK : wfl_array_error(c->ctx);
    if (status == WF_OK) {
        c->start = data;
        c->moved = c->start + c->reals;
        c->direction = c->moved + c->reals;
        c->gradient = c->direction + c->reals;
        status = wf_download(a, c->start, bytes);
    }
    if (status == WF_OK)
        status = wf_download(c->grad[which], c->gradient, bytes);
    for (int64_t i = 0; i < c->reals && status == WF_OK; i++)
        mean += fabs(c->start[i]) / (double)c->reals;
    c->h = c->o.step * (mean > 0 && isfinite(mean) ? mean : 1);
    if (status == WF_OK)
        status = compare_all(c, random);
    wf_release(memory);
    wf_release(c->along);
    return status;
}

/* ---- arguments ---- */
static wf_status complete(checking *c)
{
    wf_gradient_options *o = &c->o;
    o->tolerance = o->tolerance == 0 ? 1e-6 : o->tolerance;
    o->step = o->step == 0 ? 1e-4 : o->step;
    o->directions = o->directions ? o->directions : 2;
    o->elements = o->elements ? o->elements : 16;
    o->seed = o->seed ? o->seed : 1;
    const char *bad = !(o->tolerance > 0)                                                           ? "tolerance"
                      : !(o->step > 0)                                                              ? "step"
                      : o->directions < 0                                                           ? "directions"
                      : o->elements < 0                                                             ? "elements"
                      : !c->loss && !(o->functions && o->functions->loss && o->functions->gradient) ? "functions"
                                                                                                    : NULL;
    return bad ? wfl_array_fail(c->ctx, WF_ERR_ARG, NAME ": the option `%s` is missing or out of range", bad) : WF_OK;
}

/* Makes copies of the parameters, in f64 or c128, and arrays for the gradient. */
static wf_status take(checking *c, wf_arrays params)
{
    if (!params.n || !params.at || params.n > MOST_PARAMS)
        return wfl_array_fail(c->ctx, WF_ERR_ARG, NAME ": give 1 to %d arrays", (int)MOST_PARAMS);
    for (; c->n < params.n; c->n++) {
        const wf_array *a = params.at[c->n];
        if (!a || wf_array_context(a) != c->ctx)
            return wfl_array_fail(c->ctx, WF_ERR_ARG, NAME ": array %zu is %s", c->n,
                                  a ? "of another context" : "NULL");
        if (!wfl_array_known(a, NAME))
            return WF_ERR_ARG;
        const wf_dtype t = wf_array_dtype(a);
        wf_shape shape = wf_array_shape(a);
        if (!wfl_is_float_dtype(t) && !wfl_is_complex_dtype(t))
            return wfl_array_fail(c->ctx, WF_ERR_DTYPE, NAME ": array %zu is %s, which has no derivatives", c->n,
                                  wf_dtype_name(t));
        wf_dtype wide = wfl_is_complex_dtype(t) ? WF_C128 : WF_F64;
        c->at[c->n] = wfl_array_beside(a, wide, &shape);
        c->grad[c->n] = wfl_array_zeros_beside(a, wide, &shape);
        if (!c->at[c->n] || !c->grad[c->n])
            return wfl_array_error(c->ctx);
        wf_status status = wf_array_count(a) ? wf_array_assign(c->at[c->n], a) : WF_OK;
        if (status != WF_OK)
            return status;
    }
    return WF_OK;
}

wf_status wf_check_gradient_with(wf_context *ctx, wf_arrays params, wf_loss *loss, void *user,
                                 wf_gradient_finding *worst, const wf_gradient_options *options)
{
    checking c = { .ctx = ctx, .loss = loss, .user = user };
    if (!ctx)
        return WF_ERR_ARG;
    if ((options && options->size < sizeof options->size) || (worst && worst->size < sizeof worst->size))
        return wf_error(ctx, WF_ERR_ARG, "wf_check_gradient: the size of a struct is wrong; set .size");
    if (options)
        memcpy(&c.o, options, options->size < sizeof c.o ? options->size : sizeof c.o);
    wf_status status = complete(&c);
    if (status == WF_OK)
        status = take(&c, params);
    if (status == WF_OK)
        status = gradient_at(&c);
    uint64_t random = (uint64_t)c.o.seed;
    double longest = 1;
    for (size_t k = 0; k < c.n && status == WF_OK; k++)
        longest = fmax(longest, (double)wf_array_count(c.at[k]));
    c.unit = 0x1p-11;
    c.roundings = 1 + sqrt(log2(longest)); /* sums are pairwise, and signs of roundings vary */
    for (size_t k = 0; k < c.n && status == WF_OK; k++)
        status = check_array(&c, k, &random);
    for (size_t k = 0; k < MOST_PARAMS; k++) {
        wf_release(c.at[k]);
        wf_release(c.grad[k]);
    }
    if (status == WF_OK && worst) {
        const size_t size = worst->size;
        memcpy(worst, &c.worst, size < sizeof c.worst ? size : sizeof c.worst);
        worst->size = size;
    }
    return status;
}
