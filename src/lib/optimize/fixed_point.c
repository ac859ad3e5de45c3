/* fixed_point.c - wf_fixed_point: x = f(x, p) by iteration, with the derivative of the solution in place of that of the iteration.
 *
 * With J the derivative of f with respect to x at the solution, a change dp of the parameters changes the solution by t =
 * J t + f_p dp, and the derivative g of a loss with respect to the solution gives that with respect to the parameters as
 * f_p' w, with w = J' w + g (Christianson, Reverse accumulation and attractive fixed points, 1994). Both are fixed points,
 * iterated as the first one is. Each of the three is a rule (wf_custom) whose derivatives are made of the other two, so
 * derivatives of every order are those of the solution.
 *
 * The inputs of a rule of linear iteration are its constants (b or g), the solution x and the parameters p. To
 * differentiate f with respect to x and p at the solution, the hooks record it on values of their own, which have the
 * derivatives of x and p, and so stand between these and f.
 */
#include "lib/optimize/optimize_internal.h"
#include <string.h>

enum { MOST = 15 };

typedef struct at_solution { /* f at values in place of x and p */
    const wf_iteration *how;
    wf_graph *g;
    size_t n;           /* unknowns */
    wf_val x[MOST];     /* [n] */
    wf_val p[MOST];     /* [params] those of floats and complex numbers */
    size_t which[MOST]; /* [params] their numbers among the parameters */
    size_t params;
    wf_val f[MOST]; /* [n] */
} at_solution;

static wf_vals list(const wf_val *at, size_t n) { return (wf_vals){ at, n }; }

static void step(const wf_iteration *how, wf_graph *g, const wf_val *in, size_t n_in, size_t n, wf_val *out)
{
    for (size_t k = 0; k < n; k++)
        out[k] = (wf_val){ { 0, NULL } };
    how->step(&(wf_rule_site){
        .graph = g, .user = how->user, .in = in, .result = out, .n_in = (int32_t)n_in, .n_out = (int32_t)n });
}

/* Records f at the solution: `given` has x and then p. */
static void record(at_solution *a, const wf_rule_site *s, const wf_val *given, size_t n_given)
{
    *a = (at_solution){ .how = s->user, .g = s->graph, .n = (size_t)s->n_out };
    wf_val in[MOST];
    for (size_t k = 0; k < n_given; k++) {
        wf_kind kind = wf_dtype_kind(wf_val_dtype(given[k]));
        bool derives = kind == WF_KIND_FLOAT || kind == WF_KIND_COMPLEX;
        in[k] = derives ? wf_replace_gradient(given[k], given[k]) : given[k];
        if (k < a->n)
            a->x[k] = in[k];
        else if (derives) {
            a->p[a->params] = in[k];
            a->which[a->params++] = k - a->n;
        }
    }
    step(a->how, a->g, in, n_given, a->n, a->f);
}

/* Sets out[] to the derivatives of f with respect to x, or of the transposed, times z[]. */
static void multiply(const at_solution *a, bool transposed, const wf_val *z, wf_val *out)
{
    if (transposed)
        wf_vjp_n(list(a->f, a->n), list(z, a->n), list(a->x, a->n), out);
    else
        wf_jvp_n(list(a->f, a->n), list(a->x, a->n), list(z, a->n), out);
}

/* ---- iterations ---- */
typedef struct iteration {
    const wf_iteration *how;
    wf_graph *g;
    size_t n;
    /* either x = f(x, p) */
    const wf_val *p;
    size_t params;
    /* or z = c + J z, or c + J' z */
    const at_solution *linear;
    bool transposed;
    const wf_val *c;
} iteration;

static void advance(const iteration *it, const wf_val *z, wf_val *next)
{
    if (!it->linear) {
        wf_val in[MOST];
        for (size_t k = 0; k < it->n + it->params; k++)
            in[k] = k < it->n ? z[k] : it->p[k - it->n];
        step(it->how, it->g, in, it->n + it->params, it->n, next);
        return;
    }
    multiply(it->linear, it->transposed, z, next);
    for (size_t k = 0; k < it->n; k++)
        next[k] = wf_add(it->c[k], next[k]);
}

/* Sets z[], at first the start, to the fixed point. */
static void iterate(const iteration *it, wf_val *z)
{
    const int64_t turns = it->how->turns > 0 ? it->how->turns : 100;
    wf_graph *g = it->g;
    wf_val next[MOST];
    wf_var at[MOST];
    if (it->how->tolerance <= 0) {
        for (int64_t turn = 0; turn < turns; turn++) {
            advance(it, z, next);
            memcpy(z, next, it->n * sizeof *z);
        }
        return;
    }
    for (size_t k = 0; k < it->n; k++)
        at[k] = wf_local(g, wf_val_dtype(z[k]), z[k]);
    wf_for_(g, WF_HERE, NULL, (wf_val){ { 0, NULL } }, (wf_val){ { (double)turns, NULL } }, (wf_val){ { 1, NULL } });
    {
        wf_val now[MOST], moves = wf_const(g, WF_BOOL, 0);
        for (size_t k = 0; k < it->n; k++)
            now[k] = wf_get(at[k]);
        advance(it, now, next);
        for (size_t k = 0; k < it->n; k++) {
            wf_val change = wf_abs(wf_sub(next[k], now[k]));
            moves = wf_or(moves, wf_gt(change, wf_mul(it->how->tolerance, wf_abs(next[k]))));
            wf_set(at[k], next[k]);
        }
        wf_while_(g, WF_HERE, moves);
    }
    WF_END(g);
    for (size_t k = 0; k < it->n; k++)
        z[k] = wf_get(at[k]);
}

/* ---- linear rules ---- */
static void solve(const wf_rule_site *s, bool transposed);
static void solve_back(const wf_rule_site *s, bool transposed);
static void solve_along(const wf_rule_site *s, bool transposed);
static void solve_tangent(const wf_rule_site *s) { solve(s, false); }
static void tangent_back(const wf_rule_site *s) { solve_back(s, false); }
static void tangent_along(const wf_rule_site *s) { solve_along(s, false); }
static void solve_adjoint(const wf_rule_site *s) { solve(s, true); }
static void adjoint_back(const wf_rule_site *s) { solve_back(s, true); }
static void adjoint_along(const wf_rule_site *s) { solve_along(s, true); }

/* Sets z[] to the solution of z = c + J z, or c + J' z. xp: x and p. */
static void linear(const wf_rule_site *s, bool transposed, const wf_val *c, const wf_val *xp, size_t n_xp, wf_val *z)
{
    const size_t n = (size_t)s->n_out;
    wf_val in[MOST + 1];
    memcpy(in, c, n * sizeof *in);
    memcpy(in + n, xp, n_xp * sizeof *in);
    const wf_rule rule = { .size = sizeof rule,
                           .name = "wf_fixed_point",
                           .call = transposed ? solve_adjoint : solve_tangent,
                           .jvp = transposed ? adjoint_along : tangent_along,
                           .vjp = transposed ? adjoint_back : tangent_back,
                           .user = s->user,
                           .outs = s->n_out };
    wf_custom_n(&rule, list(in, n + n_xp), z);
}

static void solve(const wf_rule_site *s, bool transposed)
{
    const size_t n = (size_t)s->n_out;
    at_solution a;
    record(&a, s, s->in + n, (size_t)s->n_in - n);
    memcpy(s->result, s->in, n * sizeof *s->result);
    iterate(&(iteration){ .how = a.how, .g = s->graph, .n = n, .linear = &a, .transposed = transposed, .c = s->in },
            s->result);
}

/* z = c + L z, with L = J or J': c has the derivative y = g + L' y, and x and p have that of y' L z. */
static void solve_back(const wf_rule_site *s, bool transposed)
{
    const size_t n = (size_t)s->n_out, n_xp = (size_t)s->n_in - n;
    wf_val y[MOST], product[MOST], wrt[MOST], grad[MOST];
    at_solution a;
    linear(s, !transposed, s->seed, s->in + n, n_xp, y);
    memcpy(s->result, y, n * sizeof *y);
    record(&a, s, s->in + n, n_xp);
    multiply(&a, transposed, s->out, product);
    memcpy(wrt, a.x, n * sizeof *wrt);
    memcpy(wrt + n, a.p, a.params * sizeof *wrt);
    wf_vjp_n(list(product, n), list(y, n), list(wrt, n + a.params), grad);
    memcpy(s->result + n, grad, n * sizeof *grad);
    for (size_t k = 0; k < a.params; k++)
        s->result[2 * n + a.which[k]] = grad[n + k];
}

/* z = c + L z changes by t = L t + dc + dL z. */
static void solve_along(const wf_rule_site *s, bool transposed)
{
    const size_t n = (size_t)s->n_out, n_xp = (size_t)s->n_in - n;
    wf_val product[MOST], wrt[MOST], along[MOST], change[MOST];
    at_solution a;
    record(&a, s, s->in + n, n_xp);
    multiply(&a, transposed, s->out, product);
    memcpy(wrt, a.x, n * sizeof *wrt);
    memcpy(wrt + n, a.p, a.params * sizeof *wrt);
    memcpy(along, s->seed + n, n * sizeof *along);
    for (size_t k = 0; k < a.params; k++)
        along[n + k] = s->seed[2 * n + a.which[k]];
    wf_jvp_n(list(product, n), list(wrt, n + a.params), list(along, n + a.params), change);
    for (size_t k = 0; k < n; k++)
        change[k] = wf_add(change[k], s->seed[k]);
    linear(s, transposed, change, s->in + n, n_xp, s->result);
}

/* ---- the fixed point: its inputs are the start and p ---- */
static void solution(const wf_rule_site *s, wf_val *xp)
{
    memcpy(xp, s->out, (size_t)s->n_out * sizeof *xp);
    memcpy(xp + s->n_out, s->in + s->n_out, (size_t)(s->n_in - s->n_out) * sizeof *xp);
}

static void find(const wf_rule_site *s)
{
    const size_t n = (size_t)s->n_out;
    memcpy(s->result, s->in, n * sizeof *s->result);
    iterate(&(iteration){ .how = s->user, .g = s->graph, .n = n, .p = s->in + n, .params = (size_t)s->n_in - n },
            s->result);
}

static void find_back(const wf_rule_site *s)
{
    const size_t n = (size_t)s->n_out;
    wf_val xp[MOST], w[MOST], grad[MOST];
    at_solution a;
    solution(s, xp);
    linear(s, true, s->seed, xp, (size_t)s->n_in, w);
    record(&a, s, xp, (size_t)s->n_in);
    wf_vjp_n(list(a.f, n), list(w, n), list(a.p, a.params), grad);
    for (size_t k = 0; k < a.params; k++)
        s->result[n + a.which[k]] = grad[k];
}

static void find_along(const wf_rule_site *s)
{
    const size_t n = (size_t)s->n_out;
    wf_val xp[MOST], along[MOST], change[MOST];
    at_solution a;
    solution(s, xp);
    record(&a, s, xp, (size_t)s->n_in);
    for (size_t k = 0; k < a.params; k++)
        along[k] = s->seed[n + a.which[k]];
    wf_jvp_n(list(a.f, n), list(a.p, a.params), list(along, a.params), change);
    linear(s, false, change, xp, (size_t)s->n_in, s->result);
}

void wf_fixed_point(wf_graph *graph, const wf_iteration *how, wf_vals start, wf_vals params, wf_val *out)
{
    wf_val in[MOST];
    const size_t n = start.n, all = n + params.n;
    wf_dtype dtype = WF_NONE; /* of numbers at the start */
    if (!wfl_is_list(graph, start, "wf_fixed_point") || !wfl_is_list(graph, params, "wf_fixed_point")) {
        for (size_t k = 0; k < n && out; k++)
            out[k] = wf_const(graph, WF_F64, 0); /* poison */
        return;
    }
    if (!how || !how->step || !n || n + all > MOST) {
        wf_fail(graph, WF_ERR_ARG,
                !how || !how->step ? "wf_fixed_point: there is no step"
                                   : "wf_fixed_point: twice the unknowns and the parameters are 1 to 15 values");
        for (size_t k = 0; k < n; k++)
            out[k] = wf_const(graph, WF_F64, 0); /* poison */
        return;
    }
    for (size_t k = 0; k < all; k++) {
        in[k] = k < n ? start.at[k] : params.at[k - n];
        dtype = dtype == WF_NONE ? wf_val_dtype(in[k]) : dtype;
    }
    for (size_t k = 0; k < n; k++)
        if (wf_val_number(in[k], NULL, NULL))
            in[k] = wf_cast(wf_add(wf_const(graph, WF_F64, 0), in[k]), dtype == WF_NONE ? WF_F64 : dtype);
    const wf_rule rule = { .size = sizeof rule,
                           .name = "wf_fixed_point",
                           .call = find,
                           .jvp = find_along,
                           .vjp = find_back,
                           .user = (void *)(uintptr_t)how,
                           .outs = (int32_t)n };
    wf_custom_n(&rule, list(in, all), out);
}
