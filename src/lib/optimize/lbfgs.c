/* lbfgs.c - limited-memory BFGS. The two loops of algorithm 7.4 run on coefficients: the direction is a combination of the
 * kept differences and the gradient, and all that the loops need are products of these with each other, 2 * history rows
 * of numbers. So a step is a few launches, however many differences are kept, and vectors stay on their device.
 */
#include "optimize_internal.h"
#include <float.h>
#include <math.h>

typedef struct trial {
    double t, loss, slope; /* along the direction */
} trial;

typedef struct lbfgs {
    wfl_problem *p;
    int m, count, next;        /* pairs: capacity, kept ones, row of the next one */
    wf_array *x, *gradient;    /* the last accepted point */
    wf_array *rows;            /* [2 m, n]: m differences of points, m of gradients */
    wf_array *products;        /* f64 [3, 2 m]: of all rows with the pair at `next` and the gradient */
    wf_array *weights, *slope; /* f64 [2 m + 1, 1]: of rows, and of the gradient; f64 [1] */
    wf_kernel *move, *keep, *multiply, *combine;
    wf_array *memory;     /* of these: */
    double *gram;         /* [2 m, 2 m] */
    double *with, *coeff; /* [3, 2 m], [2 m + 1] */
    double *alpha;        /* [m] */
    double stats[WFL_STATS];
} lbfgs;

/* ---- kernels ---- */
static wf_kernel *record_move(const lbfgs *l) /* at = x + t direction */
{
    wf_graph *g = wfl_begin(l->p->ctx, WFL_MINIMIZE);
    wf_val step = wf_mul(wf_in(g, l->p->direction), wf_param(g, "t", WF_F64, 0));
    wf_out(g, l->p->at, wf_add(wf_in(g, l->x), step));
    return wf_compile(g);
}

static wf_kernel *record_keep(const lbfgs *l) /* the differences to the last point become rows; it is replaced */
{
    wf_graph *g = wfl_begin(l->p->ctx, WFL_MINIMIZE, .shape = WF_SHAPE(l->p->n));
    wf_val row = wf_param(g, "row", WF_I64, 0), i = wf_index(g, 0);
    wf_val x = wf_in(g, l->p->at), slope = wf_in(g, l->p->gradient);
    wf_write(g, l->rows, wf_sub(x, wf_in(g, l->x)), row, i);
    wf_write(g, l->rows, wf_sub(slope, wf_in(g, l->gradient)), wf_add(row, l->m), i);
    wf_out(g, l->x, x);
    wf_out(g, l->gradient, slope);
    return wf_compile(g);
}

static wf_kernel *record_multiply(const lbfgs *l)
{
    wf_graph *g = wfl_begin(l->p->ctx, WFL_MINIMIZE, .shape = WF_SHAPE(2 * l->m, l->p->n), .reduce = WF_AXES(1));
    wf_val row = wf_param(g, "row", WF_I64, 0), i = wf_index(g, 1), own = wf_cast(wf_in(g, l->rows), WF_F64);
    wf_val others[3] = { wf_read(g, l->rows, row, i), wf_read(g, l->rows, wf_add(row, l->m), i),
                         wf_read(g, l->gradient, i) };
    wf_var sums[3];
    for (int k = 0; k < 3; ++k) {
        sums[k] = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
        wf_inc(sums[k], wf_mul(own, wf_cast(others[k], WF_F64)));
    }
    wf_section(g, WF_SECTION_POST);
    for (int k = 0; k < 3; ++k) {
        wf_array *to = wf_view_at(l->products, 0, k);
        wf_out(g, to, wf_get(sums[k]));
        wf_release(to);
    }
    return wf_compile(g);
}

static wf_kernel *record_combine(const lbfgs *l) /* direction = weights rows + weight gradient, and its slope */
{
    wf_graph *g = wfl_begin(l->p->ctx, WFL_MINIMIZE);
    wf_val w = wf_in(g, l->weights), slope = wf_reshape(wf_in(g, l->gradient), WF_SHAPE(1, l->p->n));
    wf_val sum = wf_sum(wf_mul(wf_in(g, l->rows), wf_slice(w, 0, 0, -1, 1)), WF_AXES(0));
    wf_val all = wf_cast(wf_add(sum, wf_mul(slope, wf_slice(w, 0, -1, WF_END_INDEX, 1))), l->p->dtype);
    wf_out(g, l->p->direction, wf_reshape(all, WF_SHAPE(l->p->n)));
    wf_out(g, l->slope, wf_reshape(wf_dot(wf_cast(all, WF_F64), wf_cast(slope, WF_F64)), WF_SHAPE(1)));
    return wf_compile(g);
}

static void end(lbfgs *l)
{
    wf_array *const arrays[] = { l->x, l->gradient, l->rows, l->products, l->weights, l->slope, l->memory };
    wf_kernel *const kernels[] = { l->move, l->keep, l->multiply, l->combine };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i)
        wf_release(arrays[i]);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i)
        wf_kernel_free(kernels[i]);
}

static wf_status begin(lbfgs *l, wfl_problem *p)
{
    int64_t m = p->options->history, rows = 2 * m;
    void *data;
    *l = (lbfgs){ .p = p, .m = (int)m };
    l->x = wf_array_copy(p->at);
    l->gradient = wf_array_copy(p->gradient);
    l->rows = wfl_array_zeros_beside(p->at, p->dtype, &WF_SHAPE(rows, p->n));
    l->products = wfl_array_zeros_beside(p->at, WF_F64, &WF_SHAPE(3, rows));
    l->weights = wfl_array_zeros_beside(p->at, WF_F64, &WF_SHAPE(rows + 1, 1));
    l->slope = wfl_array_zeros_beside(p->at, WF_F64, &WF_SHAPE(1));
    l->memory = wfl_array_scratch(p->ctx, rows * rows + 3 * rows + rows + 1 + m, sizeof(double), &data);
    if (!l->x || !l->gradient || !l->rows || !l->products || !l->weights || !l->slope || !l->memory)
        return wfl_array_error(p->ctx);
    l->gram = data;
    l->with = l->gram + rows * rows;
    l->coeff = l->with + 3 * rows;
    l->alpha = l->coeff + rows + 1;
    for (int64_t i = 0; i < rows * rows + 3 * rows; ++i)
        l->gram[i] = 0;
    l->move = record_move(l);
    l->keep = l->move ? record_keep(l) : NULL;
    l->multiply = l->keep ? record_multiply(l) : NULL;
    l->combine = l->multiply ? record_combine(l) : NULL;
    return l->combine ? WF_OK : wfl_array_error(p->ctx);
}

/* ---- direction ---- */
/* Returns the product of row k with the combination that the coefficients give. */
static double product(const lbfgs *l, int k)
{
    int rows = 2 * l->m;
    double sum = l->coeff[rows] * l->with[2 * rows + k];
    for (int i = 0; i < rows; ++i)
        sum += l->coeff[i] * l->gram[k * rows + i];
    return sum;
}

/* Algorithm 7.4 on coefficients. *slope becomes that along the direction. */
static wf_status find_direction(lbfgs *l, double *slope)
{
    int m = l->m, rows = 2 * m;
    double scale = 1;
    for (int i = 0; i < rows; ++i)
        l->coeff[i] = 0;
    l->coeff[rows] = 1;
    for (int k = 1; k <= l->count; ++k) { /* from the last pair to the first */
        int s = (l->next + m - k) % m, y = s + m;
        double sy = l->gram[s * rows + y];
        scale = k == 1 ? sy / l->gram[y * rows + y] : scale;
        l->alpha[s] = product(l, s) / sy;
        l->coeff[y] -= l->alpha[s];
    }
    for (int i = 0; i <= rows; ++i)
        l->coeff[i] *= scale;
    for (int k = l->count; k > 0; --k) {
        int s = (l->next + m - k) % m, y = s + m;
        l->coeff[s] += l->alpha[s] - product(l, y) / l->gram[s * rows + y];
    }
    for (int i = 0; i <= rows; ++i)
        l->coeff[i] = -l->coeff[i];
    wf_status status = wf_upload(l->weights, l->coeff, (size_t)(rows + 1) * sizeof *l->coeff);
    if (status == WF_OK)
        status = wf_launch(l->combine, ((wf_args){ NULL, 0 }));
    return status == WF_OK ? wf_download(l->slope, slope, sizeof *slope) : status;
}

/* Keeps the pair that leads from the last accepted point to p->at, which becomes the accepted one. */
static wf_status accept(lbfgs *l)
{
    int rows = 2 * l->m, at[2] = { l->next, l->next + l->m };
    wf_args row = WF_ARGS(WF_ARG("row", (double)l->next));
    wf_status status = wf_launch(l->keep, row);
    if (status == WF_OK)
        status = wf_launch(l->multiply, row);
    if (status == WF_OK)
        status = wf_download(l->products, l->with, (size_t)(3 * rows) * sizeof *l->with);
    if (status != WF_OK)
        return status;
    for (int k = 0; k < 2; ++k)
        for (int i = 0; i < rows; ++i)
            l->gram[at[k] * rows + i] = l->gram[i * rows + at[k]] = l->with[k * rows + i];
    double ss = l->with[at[0]], sy = l->with[at[1]], yy = l->with[rows + at[1]];
    if (sy > DBL_EPSILON * sqrt(ss * yy)) {
        l->next = (l->next + 1) % l->m;
        l->count += l->count < l->m;
    } else if (l->count == l->m) /* the row of the oldest pair has been overwritten */
        --l->count;
    return WF_OK;
}

/* ---- line search: algorithms 3.5 and 3.6 ---- */
static wf_status try_step(lbfgs *l, double t, trial *out)
{
    wf_status status = wf_launch(l->move, WF_ARGS(WF_ARG("t", t)));
    if (status == WF_OK)
        status = wfl_evaluate(l->p, l->stats);
    *out = (trial){ t, l->stats[WFL_LOSS], l->stats[WFL_SLOPE] };
    return status;
}

static bool is_finite(const lbfgs *l, const trial *a)
{
    return isfinite(a->loss) && isfinite(a->slope) && isfinite(l->stats[WFL_LARGEST]);
}

/* The strong Wolfe conditions; where the loss differs by roundings only, its slope says whether it fell enough (Hager
 * and Zhang). */
static bool is_enough(const lbfgs *l, const trial *start, const trial *a)
{
    bool lower = a->loss <= start->loss + 1e-4 * a->t * start->slope;
    bool same = fabs(a->loss - start->loss) <= l->p->rounding * fabs(start->loss);
    return (lower && fabs(a->slope) <= -0.9 * start->slope) ||
           (same && a->slope >= 0.9 * start->slope && a->slope <= -0.9 * start->slope);
}

/* Returns the next step to try between two trials: the least of a cubic, away from the ends. */
static double between(const trial *lo, const trial *hi, bool finite)
{
    double d = hi->t - lo->t, part = 0.5;
    if (!finite)
        part = 0.2;
    else {
        double e = lo->slope + hi->slope - 3 * (hi->loss - lo->loss) / d, r = e * e - lo->slope * hi->slope;
        double root = r > 0 ? copysign(sqrt(r), d) : 0;
        part = r >= 0 ? 1 - (hi->slope + root - e) / (hi->slope - lo->slope + 2 * root) : 0.5;
        part = part >= 0.1 && part <= 0.9 ? part : part < 0.1 ? 0.1 : part > 0.9 ? 0.9 : 0.5;
    }
    return lo->t + part * d;
}

/* Looks for a step; p->at is then the new point, with the evaluation in l->stats. *found: there is one. */
static wf_status search(lbfgs *l, const trial *start, double t, bool *found)
{
    trial lo = *start, hi = { INFINITY, 0, 0 }, a;
    bool finite = true;
    *found = false;
    for (int i = 0; i < 40; ++i) {
        wf_status status = try_step(l, t, &a);
        if (status != WF_OK)
            return status;
        bool good = is_finite(l, &a);
        if (good && is_enough(l, start, &a)) {
            *found = true;
            return WF_OK;
        }
        if (!good || a.loss > start->loss + 1e-4 * t * start->slope || a.loss >= lo.loss) {
            hi = a;
            finite = good;
        } else {
            if (a.slope * (hi.t - lo.t) >= 0) {
                hi = lo;
                finite = true;
            }
            lo = a;
        }
        double last = t;
        t = isinf(hi.t) ? 4 * t : between(&lo, &hi, finite);
        if (t == last || t == lo.t || t > 1e30)
            break;
    }
    if (lo.loss < start->loss) { /* lower, but no Wolfe point: a step nevertheless */
        *found = true;
        return try_step(l, lo.t, &a);
    }
    return WF_OK;
}

/* A step from the accepted point, whose evaluation is l->stats. */
static wf_status step(lbfgs *l, bool *moved)
{
    double norm = sqrt(l->stats[WFL_SQUARES]);
    trial start = { 0, l->stats[WFL_LOSS], 0 };
    for (*moved = false; !*moved;) {
        wf_status status = find_direction(l, &start.slope);
        bool plain = !l->count;
        if (status == WF_OK && start.slope < 0)
            status = search(l, &start, plain && norm > 1 ? 1 / norm : 1, moved);
        if (status != WF_OK || plain)
            return status;
        if (!*moved)
            l->count = 0; /* once more, along the gradient */
    }
    return WF_OK;
}

wf_status wfl_lbfgs(wfl_problem *p, double stats[WFL_STATS])
{
    lbfgs l;
    bool done = false;
    wf_status status = begin(&l, p);
    for (int i = 0; i < WFL_STATS; ++i)
        l.stats[i] = stats[i];
    for (double before = stats[WFL_LOSS]; status == WF_OK;) {
        status = wfl_look(p, l.x, l.stats, before, &done);
        if (done || status != WF_OK)
            break;
        before = l.stats[WFL_LOSS];
        bool moved = false;
        status = step(&l, &moved);
        if (status == WF_OK && !moved) {
            p->found.reason = WF_END_SEARCH;
            break;
        }
        if (status == WF_OK)
            status = accept(&l);
        p->found.iterations += status == WF_OK;
    }
    if (status == WF_OK)
        status = wfl_deliver(p, l.x);
    end(&l);
    return status;
}
