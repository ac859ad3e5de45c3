/* rows_derivatives.c - derivatives of functions of single elements, in array graphs: a chain of functions, a small graph and
 * loops (grad_row.h).
 */
#include "grad_row.h"
#include "kernels.h"
#include "program.h"
#include <math.h>

/* ---- a chain of functions ---------------------------------------------------------------------------------------- */
/* The sum of (f(x) - t)^2 with f of rows_math.c, and its derivatives with respect to x, a and b. */
static const float A = 1.5f, B = 0.3f;

static wf_kernel *math_kernel(wf_context *ctx, bool gradient)
{
    wf_graph *g = wf_begin(ctx, .name = "grad_math");
    wf_val x = wf_in(g, wf_formal(g, "x", WF_F32, 1)), t = wf_in(g, wf_formal(g, "t", WF_F32, 1));
    wf_val a = wf_param(g, "a", WF_F32, 1), b = wf_param(g, "b", WF_F32, 0), d[3];
    wf_val wave = wf_cos(wf_add(wf_div(x, a), b)), bell = wf_exp(wf_neg(wf_mul(x, x)));
    wf_val off = wf_sub(wf_add(wave, wf_mul(bell, wf_sqrt(x))), t), loss = wf_sum(wf_mul(off, off), WF_ALL_AXES);
    wf_out(g, wf_formal(g, "loss", WF_F32, 1), loss);
    if (gradient) {
        wf_grad(loss, WF_VALS(x, a, b), d);
        wf_out(g, wf_formal(g, "dx", WF_F32, 1), d[0]);
        wf_out(g, wf_formal(g, "da", WF_F32, 1), d[1]);
        wf_out(g, wf_formal(g, "db", WF_F32, 1), d[2]);
    }
    return wf_compile(g);
}

static void math_primal(void *data)
{
    grad_row *r = data;
    wf_array *x = r->s.array[0], *t = r->s.array[1], *loss = r->sum[0];
    float a = A, b = B;
    bench_ok(r->s.b, wf_launch(r->primal, WF_NAMED(x, t, loss, a, b)), r->s.b->ctx, "wf_launch");
    r->gave_gradient = false;
}

static void math_gradient(void *data)
{
    grad_row *r = data;
    wf_array *x = r->s.array[0], *t = r->s.array[1], *dx = r->s.array[2];
    wf_array *loss = r->sum[0], *da = r->sum[1], *db = r->sum[2];
    float a = A, b = B;
    bench_ok(r->s.b, wf_launch(r->gradient, WF_NAMED(x, t, loss, dx, da, db, a, b)), r->s.b->ctx, "wf_launch");
    r->gave_gradient = true;
}

static void math_best_primal(void *data, const void *how, int part, int parts)
{
    grad_row *r = data;
    const bench_range at = bench_split(r->s.n, 64, part, parts);
    (void)how;
    r->part[part][0] = best_math_primal(r->s.at[0], r->s.at[1], A, B, at.lo, at.hi);
}

static void math_best_gradient(void *data, const void *how, int part, int parts)
{
    grad_row *r = data;
    const bench_range at = bench_split(r->s.n, 64, part, parts);
    (void)how;
    best_math_gradient(r->s.at[2], r->part[part], r->s.at[0], r->s.at[1], A, B, at.lo, at.hi);
}

/* Adds the loss and its derivatives with respect to a and b at element i to sum. Returns that with respect to x. */
static double math_at(const grad_row *r, int64_t i, double *sum)
{
    const double x = (double)r->s.at[0][i], a = (double)A, u = x / a + (double)B, e = exp(-x * x), s = sqrt(x);
    const double off = cos(u) + e * s - (double)r->s.at[1][i], du = -2 * off * sin(u);
    const double at[GRAD_SUMS] = { off * off, -du * x / (a * a), du };
    for (int k = 0; sum && k < GRAD_SUMS; ++k) {
        sum[k] += at[k];
        sum[GRAD_SUMS + k] += fabs(at[k]);
    }
    return du / a + 2 * off * e * (0.5 / s - 2 * x * s);
}

static void math_reference(void *data, const void *how, int part, int parts)
{
    grad_row *r = data;
    const bench_range at = bench_split(r->s.n, 64, part, parts);
    (void)how;
    for (int64_t i = at.lo; i < at.hi; ++i)
        math_at(r, i, r->part[part]);
}

static bool math_check(void *data, char *why, size_t cap)
{
    const grad_row *r = data;
    for (int64_t i = 0, n = r->s.n; r->gave_gradient && i < n; i += i < 4096 || i >= n - 4096 ? 1 : 5) {
        double got = (double)r->s.at[2][i], want = math_at(r, i, NULL);
        if (fabs(got - want) <= 4e-6 * (1 + fabs(want)))
            continue;
        snprintf(why, cap, "the derivative for x = %.9g is %.9g, not %.9g", (double)r->s.at[0][i], got, want);
        return false;
    }
    return grad_check_sums(r, why, cap);
}

static const bench_kind math_kind = { sizeof(grad_row), grad_clear, math_check, grad_done };

static void math_setup(bench *b, bench_case *c)
{
    grad_row *r = grad_data(b, c, &math_kind, 1 << 24, 2, 1, 3, 0.01f, 8);
    if (!r)
        return;
    grad_refer(r, math_reference);
    r->primal = math_kernel(b->ctx, false);
    r->gradient = math_kernel(b->ctx, true);
    grad_add(c, math_gradient, math_primal, math_best_gradient, math_best_primal, grad_join_gradient);
}

/* ---- a small graph ----------------------------------------------------------------------------------------------- */
/* The sum of bench_ten over 1024 elements, with respect to its three operands. */
typedef struct tiny_row {
    grad_row g; /* a, b, c; the derivatives */
    bool traced;
} tiny_row;

static void tiny_record(wf_graph *g, wf_array *const in[3], wf_array *sum, wf_array *const out[3], bool gradient)
{
    wf_val a = wf_in(g, in[0]), b = wf_in(g, in[1]), c = wf_in(g, in[2]), d[3];
    wf_val loss = wf_sum(bench_ten(a, b, c), WF_ALL_AXES);
    wf_out(g, sum, loss);
    if (!gradient)
        return;
    wf_grad(loss, WF_VALS(a, b, c), d);
    for (int k = 0; k < 3; ++k)
        wf_out(g, out[k], d[k]);
}

static wf_kernel *tiny_kernel(wf_context *ctx, bool gradient)
{
    static const char *const names[] = { "a", "b", "c", "da", "db", "dc" };
    wf_graph *g = wf_begin(ctx, .name = "grad_tiny");
    wf_array *formal[6];
    for (int k = 0; k < (gradient ? 6 : 3); ++k)
        formal[k] = wf_formal(g, names[k], WF_F32, 1);
    tiny_record(g, formal, wf_formal(g, "loss", WF_F32, 1), formal + 3, gradient);
    return wf_compile(g);
}

static void tiny_run(tiny_row *r, bool gradient)
{
    bench_stream *s = &r->g.s;
    wf_array *a = s->array[0], *b = s->array[1], *c = s->array[2], *loss = r->g.sum[0];
    wf_array *da = s->array[3], *db = s->array[4], *dc = s->array[5];
    wf_status status;
    if (r->traced) {
        wf_graph *g = wf_begin(s->b->ctx);
        tiny_record(g, s->array, loss, s->array + 3, gradient);
        status = wf_run(g);
    } else {
        status = gradient ? wf_launch(r->g.gradient, WF_NAMED(a, b, c, loss, da, db, dc))
                          : wf_launch(r->g.primal, WF_NAMED(a, b, c, loss));
    }
    bench_ok(s->b, status, s->b->ctx, "run");
    r->g.gave_gradient = gradient;
}
static void tiny_primal(void *data) { tiny_run(data, false); }
static void tiny_gradient(void *data) { tiny_run(data, true); }

static void tiny_best_primal(void *data, const void *how, int part, int parts)
{
    grad_row *r = data;
    (void)how, (void)part, (void)parts;
    *r->sum_at[0] = best_ten_primal(r->s.at[0], r->s.at[1], r->s.at[2], r->s.n);
    r->gave_gradient = false;
}

static void tiny_best_gradient(void *data, const void *how, int part, int parts)
{
    grad_row *r = data;
    (void)how, (void)part, (void)parts;
    *r->sum_at[0] = best_ten_gradient(r->s.at + 3, r->s.at[0], r->s.at[1], r->s.at[2], r->s.n);
    r->gave_gradient = true;
}

/* Adds the loss of element i to *sum, and sets d to its derivatives. */
static void tiny_at(const grad_row *r, int64_t i, double *sum, double d[3])
{
    const double b = (double)r->s.at[1][i], c = (double)r->s.at[2][i];
    double v[6] = { (double)r->s.at[0][i] }, g = 1;
    for (int k = 0; k < 5; ++k)
        v[k + 1] = v[k] * b + c;
    d[1] = d[2] = 0;
    for (int k = 4; k >= 0; --k) {
        d[2] += g;
        d[1] += g * v[k];
        g *= b;
    }
    d[0] = g;
    *sum += v[5];
}

static bool tiny_check(void *data, char *why, size_t cap)
{
    const grad_row *r = data;
    double sum = 0, d[3];
    for (int64_t i = 0; i < r->s.n; ++i) {
        tiny_at(r, i, &sum, d);
        for (int k = 0; r->gave_gradient && k < 3; ++k) {
            double got = (double)r->s.at[3 + k][i];
            if (fabs(got - d[k]) <= 4e-6 * d[k])
                continue;
            snprintf(why, cap, "derivative %d of element %d is %.9g, not %.9g", k, (int)i, got, d[k]);
            return false;
        }
    }
    return grad_check_sums(r, why, cap);
}

static const bench_kind tiny_kind = { sizeof(tiny_row), grad_clear, tiny_check, grad_done };

static void tiny_setup(bench *b, bench_case *c)
{
    tiny_row *r = grad_data(b, c, &tiny_kind, 1024, 3, 3, 1, 0.5f, 1.5f);
    double d[3];
    if (!r)
        return;
    r->traced = c->row->of != NULL;
    for (int64_t i = 0; i < r->g.s.n; ++i)
        tiny_at(&r->g, i, r->g.want, d);
    r->g.size[0] = r->g.want[0];
    r->g.primal = tiny_kernel(b->ctx, false);
    r->g.gradient = tiny_kernel(b->ctx, true);
    bench_add(c, "weft", "", tiny_gradient);
    bench_add(c, "weft primal", "", tiny_primal);
    if (bench_best_available()) {
        bench_add_parts(c, "best", "1 thread", tiny_best_gradient, NULL)->alone = true;
        bench_add_parts(c, "best primal", "1 thread", tiny_best_primal, NULL)->alone = true;
    }
}

/* ---- loops -------------------------------------------------------------------------------------------------------- */
/* The sum of x after turns of x = RATE x (1 - x), and its derivatives with respect to x and the rate: 64 turns of each point,
 * or as many as it has of its own, up to 64. */
static const float RATE = 2.9f;

typedef struct loop_row {
    grad_row g;
    bool own;
} loop_row;

static wf_kernel *loop_kernel(loop_row *r, bool gradient)
{
    wf_graph *g = wf_begin(r->g.s.b->ctx, .name = "grad_loop");
    wf_val x = wf_in(g, r->g.s.array[0]), n = wf_in(g, r->g.s.array[1]), i, d[2];
    wf_val rate = wf_param(g, "rate", WF_F32, RATE), turns = wf_ceil(wf_mul(n, LOGISTIC_TURNS));
    wf_var y = wf_local(g, WF_F32, x), t = wf_local(g, WF_F32, 0);
    if (r->own) {
        WF_WHILE (g, wf_lt(t, turns)) {
            wf_set(y, wf_mul(wf_mul(rate, y), wf_sub(1, y)));
            wf_inc(t, 1);
        }
        WF_END(g);
    } else {
        WF_FOR (g, i, 0, LOGISTIC_TURNS, 1)
            wf_set(y, wf_mul(wf_mul(rate, y), wf_sub(1, y)));
        WF_END(g);
    }
    wf_val loss = wf_sum(wf_get(y), WF_ALL_AXES);
    wf_out(g, r->g.sum[0], loss);
    if (gradient) {
        wf_grad(loss, WF_VALS(x, rate), d);
        wf_out(g, r->g.s.array[2], d[0]);
        wf_out(g, r->g.sum[1], d[1]);
    }
    return wf_compile(g);
}

static void loop_primal(void *data)
{
    grad_row *r = data;
    bench_ok(r->s.b, wf_launch(r->primal, WF_NO_ARGS), r->s.b->ctx, "wf_launch");
    r->gave_gradient = false;
}

static void loop_gradient(void *data)
{
    grad_row *r = data;
    bench_ok(r->s.b, wf_launch(r->gradient, WF_NO_ARGS), r->s.b->ctx, "wf_launch");
    r->gave_gradient = true;
}

static void loop_best_primal(void *data, const void *how, int part, int parts)
{
    grad_row *r = data;
    const bench_range at = bench_split(r->s.n, 64, part, parts);
    (void)how;
    r->part[part][0] = best_logistic_primal(r->s.at[0], RATE, at.lo, at.hi);
}

static void loop_best_gradient(void *data, const void *how, int part, int parts)
{
    grad_row *r = data;
    const bench_range at = bench_split(r->s.n, 64, part, parts);
    (void)how;
    best_logistic_gradient(r->s.at[2], r->part[part], r->s.at[0], RATE, at.lo, at.hi);
}

/* Adds the loss and its derivative with respect to the rate at element i to sum. Returns that with respect to x. */
static double loop_at(const loop_row *r, int64_t i, double *sum)
{
    const int turns = r->own ? (int)ceilf(r->g.s.at[1][i] * LOGISTIC_TURNS) : LOGISTIC_TURNS;
    const double rate = (double)RATE;
    double y = (double)r->g.s.at[0][i], dx = 1, dr = 0;
    for (int t = 0; t < turns; ++t) {
        const double slope = rate * (1 - 2 * y);
        dr = slope * dr + y * (1 - y);
        dx *= slope;
        y = rate * y * (1 - y);
    }
    const double at[2] = { y, dr };
    for (int k = 0; sum && k < 2; ++k) {
        sum[k] += at[k];
        sum[GRAD_SUMS + k] += fabs(at[k]);
    }
    return dx;
}

static void loop_reference(void *data, const void *how, int part, int parts)
{
    loop_row *r = data;
    const bench_range at = bench_split(r->g.s.n, 64, part, parts);
    (void)how;
    for (int64_t i = at.lo; i < at.hi; ++i)
        loop_at(r, i, r->g.part[part]);
}

static bool loop_check(void *data, char *why, size_t cap)
{
    const loop_row *r = data;
    for (int64_t i = 0, n = r->g.s.n; r->g.gave_gradient && i < n; i += i < 4096 || i >= n - 4096 ? 1 : 5) {
        double got = (double)r->g.s.at[2][i], want = loop_at(r, i, NULL);
        if (fabs(got - want) <= 2e-4 * (fabs(want) + 1e-2))
            continue;
        snprintf(why, cap, "the derivative for x = %.9g is %.9g, not %.9g", (double)r->g.s.at[0][i], got, want);
        return false;
    }
    return grad_check_sums(&r->g, why, cap);
}

static const bench_kind loop_kind = { sizeof(loop_row), grad_clear, loop_check, grad_done };

static void loop_setup(bench *b, bench_case *c)
{
    loop_row *r = grad_data(b, c, &loop_kind, 1 << 20, 2, 1, 2, 0.05f, 0.95f);
    if (!r)
        return;
    r->own = c->row->of != NULL;
    grad_refer(&r->g, loop_reference);
    r->g.primal = loop_kernel(r, false);
    r->g.gradient = loop_kernel(r, true);
    if (r->own) {
        bench_add(c, "weft", "", loop_gradient);
        bench_add(c, "weft primal", "", loop_primal);
    } else
        grad_add(c, loop_gradient, loop_primal, loop_best_gradient, loop_best_primal, grad_join_gradient);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */
const bench_row bench_grad_math = { "grad_math",
                                    "sum of (cos(x/a + b) + exp(-x^2) sqrt(x) - t)^2 by x, a, b; n = 2^24",
                                    "ms",
                                    1e3,
                                    "<= 1.8 x primal, <= 1.0 x the best C",
                                    math_setup,
                                    NULL };
const bench_row bench_grad_tiny_prepared = { "grad_tiny_prepared",
                                             "10 operations by three operands, n = 1024: one wf_launch",
                                             "us",
                                             1e6,
                                             "<= 0.4 us",
                                             tiny_setup,
                                             NULL };
const bench_row bench_grad_tiny_traced = {
    "grad_tiny_traced", "the same, wf_begin, wf_grad, wf_run", "us", 1e6, "<= 4 us", tiny_setup, "traced"
};
const bench_row bench_grad_logistic = { "grad_logistic",
                                        "sum of 64 turns of x = r x (1 - x) by x, r; n = 2^20",
                                        "ms",
                                        1e3,
                                        "<= 3 x primal",
                                        loop_setup,
                                        NULL };
const bench_row bench_grad_logistic_own = { "grad_logistic_own",
                                            "the same, each point with 4 to 61 turns of its own",
                                            "ms",
                                            1e3,
                                            "<= 3 x primal",
                                            loop_setup,
                                            "own" };
