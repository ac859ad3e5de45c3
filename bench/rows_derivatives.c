/* rows_derivatives.c - derivatives of array graphs. "weft" and "best" compute the derivatives of a loss, and the loss with
 * them. "weft loss" and "best loss" compute the loss alone: the ratio to "weft loss" is what derivatives cost.
 */
#include "bench.h"
#include "kernels.h"
#include <math.h>
#include <string.h>

enum { SUMS = 3 };

/* The data of a row: arrays of points, and a few sums over all of them, the loss first. */
typedef struct grad_row {
    bench_stream s; /* inputs, then derivatives */
    wf_kernel *loss, *gradient;
    int sums;
    wf_array *sum[SUMS];
    float *sum_at[SUMS];
    double want[SUMS], size[SUMS];        /* the sums in f64, and those of the absolute values */
    double part[BENCH_THREADS][2 * SUMS]; /* sums of each thread */
    bool gave_gradient;                   /* the contender that ran last */
} grad_row;

static void clear(void *data)
{
    grad_row *r = data;
    bench_spoil_results(data);
    for (int k = 0; k < r->sums; ++k)
        *r->sum_at[k] = NAN;
}

static void done(void *data)
{
    grad_row *r = data;
    wf_kernel_free(r->loss);
    wf_kernel_free(r->gradient);
}

static bool check_sums(const grad_row *r, char *why, size_t cap)
{
    for (int k = 0; k < (r->gave_gradient ? r->sums : 1); ++k) {
        double got = (double)*r->sum_at[k];
        if (fabs(got - r->want[k]) <= 1e-6 * r->size[k])
            continue;
        snprintf(why, cap, "sum %d is %.9g, not %.9g", k, got, r->want[k]);
        return false;
    }
    return true;
}

/* Joins the sums of the threads; for a contender with parts. */
static void join(grad_row *r, bool gradient)
{
    for (int k = 0; k < (gradient ? r->sums : 1); ++k) {
        double sum = 0;
        for (int i = 0; i < r->s.b->threads; ++i)
            sum += r->part[i][k];
        *r->sum_at[k] = (float)sum;
    }
    r->gave_gradient = gradient;
}
static void join_loss(void *data) { join(data, false); }
static void join_gradient(void *data) { join(data, true); }

/* Runs a part that fills grad_row.part with sums and sums of absolute values, in f64. */
static void refer(grad_row *r, bench_part_fn *part)
{
    bench_pool_run(r->s.b->pool, part, r, NULL);
    for (int k = 0; k < r->sums; ++k)
        for (int i = 0; i < r->s.b->threads; ++i) {
            r->want[k] += r->part[i][k];
            r->size[k] += r->part[i][SUMS + k];
        }
}

static grad_row *data_of(bench *b, bench_case *c, const bench_kind *kind, int64_t n, int inputs, int results, int sums,
                         float low, float high)
{
    grad_row *r = bench_stream_data(b, c, kind, n, inputs, results, low, high);
    if (!r)
        return NULL;
    r->sums = sums;
    for (int k = 0; k < sums; ++k) {
        r->sum[k] = bench_keep(c, wf_empty(b->ctx, WF_F32, WF_SHAPE(1)));
        r->sum_at[k] = bench_memory(b, r->sum[k]);
        if (!r->sum_at[k])
            return NULL;
    }
    return r;
}

static void add(bench_case *c, void (*gradient)(void *), void (*loss)(void *), bench_part_fn *best_gradient,
                bench_part_fn *best_loss)
{
    bench_add(c, "weft", "", gradient);
    bench_add(c, "weft loss", "", loss);
    if (!bench_best_available())
        return;
    bench_add_parts(c, "best", "", best_gradient, NULL)->call = join_gradient;
    bench_add_parts(c, "best loss", "", best_loss, NULL)->call = join_loss;
}

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

static void math_loss(void *data)
{
    grad_row *r = data;
    wf_array *x = r->s.array[0], *t = r->s.array[1], *loss = r->sum[0];
    float a = A, b = B;
    bench_ok(r->s.b, wf_launch(r->loss, WF_NAMED(x, t, loss, a, b)), r->s.b->ctx, "wf_launch");
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

static void math_best_loss(void *data, const void *how, int part, int parts)
{
    grad_row *r = data;
    const bench_range at = bench_split(r->s.n, 64, part, parts);
    (void)how;
    r->part[part][0] = best_math_loss(r->s.at[0], r->s.at[1], A, B, at.lo, at.hi);
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
    const double at[SUMS] = { off * off, -du * x / (a * a), du };
    for (int k = 0; sum && k < SUMS; ++k) {
        sum[k] += at[k];
        sum[SUMS + k] += fabs(at[k]);
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
    return check_sums(r, why, cap);
}

static const bench_kind math_kind = { sizeof(grad_row), clear, math_check, done };

static void math_setup(bench *b, bench_case *c)
{
    grad_row *r = data_of(b, c, &math_kind, 1 << 24, 2, 1, 3, 0.01f, 8);
    if (!r)
        return;
    refer(r, math_reference);
    r->loss = math_kernel(b->ctx, false);
    r->gradient = math_kernel(b->ctx, true);
    add(c, math_gradient, math_loss, math_best_gradient, math_best_loss);
}

const bench_row bench_grad_math = { "grad_math",
                                    "sum of (cos(x/a + b) + exp(-x^2) sqrt(x) - t)^2 with respect to x, a, b; n = 2^24",
                                    "ms",
                                    1e3,
                                    "<= 1.8 x the loss, <= 1.0 x the best C",
                                    math_setup,
                                    NULL };
