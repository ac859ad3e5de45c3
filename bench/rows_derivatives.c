/* rows_derivatives.c - derivatives of array graphs. "weft" and "best" compute the derivatives of a loss, and the loss with
 * them. "weft primal" and "best primal" compute the loss alone: the ratio to "weft primal" is what derivatives cost.
 */
#include "bench.h"
#include "kernels.h"
#include "program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUMS = 3 };

/* The data of a row: arrays of points, and a few sums over all of them, the loss first. */
typedef struct grad_row {
    bench_stream s; /* inputs, then derivatives */
    wf_kernel *primal, *gradient;
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
    wf_kernel_free(r->primal);
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
static void join_primal(void *data) { join(data, false); }
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

static void *data_of(bench *b, bench_case *c, const bench_kind *kind, int64_t n, int inputs, int results, int sums,
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

/* Adds Weft and C. A part of C fills grad_row.part; `joined` is the call after the parts of the gradient. */
static void add(bench_case *c, void (*gradient)(void *), void (*primal)(void *), bench_part_fn *best_gradient,
                bench_part_fn *best_primal, void (*joined)(void *))
{
    bench_add(c, "weft", "", gradient);
    bench_add(c, "weft primal", "", primal);
    if (!bench_best_available())
        return;
    bench_add_parts(c, "best", "", best_gradient, NULL)->call = joined;
    bench_add_parts(c, "best primal", "", best_primal, NULL)->call = join_primal;
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
    r->primal = math_kernel(b->ctx, false);
    r->gradient = math_kernel(b->ctx, true);
    add(c, math_gradient, math_primal, math_best_gradient, math_best_primal, join_gradient);
}

/* ---- reads by index ---------------------------------------------------------------------------------------------- */
/* The sum of table[k]^2 over 10^7 indices k, and its derivative with respect to the table. */
enum { READS = 10000000 };

typedef struct table_row {
    grad_row g; /* without arrays of points */
    int32_t size;
    wf_array *table, *index, *dtable;
    int32_t *index_at;
    float *table_at, *dtable_at;
    float *copies; /* [threads][TABLE_COPIES][size], for C */
    double *total; /* [threads][size], for C */
    double *count; /* [size] reads of each element */
} table_row;

static void table_clear(void *data)
{
    table_row *r = data;
    clear(data);
    memset(r->dtable_at, 0xff, (size_t)r->size * sizeof *r->dtable_at);
}

static void table_done(void *data)
{
    table_row *r = data;
    free(r->copies);
    free(r->total);
    free(r->count);
}

static void table_run(table_row *r, bool gradient)
{
    wf_graph *g = wf_begin(r->g.s.b->ctx, .name = "grad_table");
    wf_val table = wf_in(g, r->table), v = wf_gather(table, wf_in(g, r->index)), d;
    wf_val loss = wf_sum(wf_mul(v, v), WF_ALL_AXES);
    wf_out(g, r->g.sum[0], loss);
    if (gradient) {
        wf_grad(loss, WF_VALS(table), &d);
        wf_out(g, r->dtable, d);
    }
    bench_ok(r->g.s.b, wf_run(g), r->g.s.b->ctx, "wf_run");
    r->g.gave_gradient = gradient;
}
static void table_primal(void *data) { table_run(data, false); }
static void table_gradient(void *data) { table_run(data, true); }

static void table_best_primal(void *data, const void *how, int part, int parts)
{
    table_row *r = data;
    const bench_range at = bench_split(READS, 64, part, parts);
    (void)how;
    r->g.part[part][0] = best_table_primal(r->table_at, r->index_at, at.lo, at.hi);
}

/* Copies are added up in f64 before their sums of f32 lose digits. */
static void table_best_gradient(void *data, const void *how, int part, int parts)
{
    table_row *r = data;
    const bench_range at = bench_split(READS, 64, part, parts);
    const int64_t chunk = 4096 * TABLE_COPIES + 64 * (int64_t)r->size;
    float *copies = r->copies + (int64_t)part * TABLE_COPIES * r->size;
    double *total = r->total + (int64_t)part * r->size, loss = 0;
    (void)how;
    memset(total, 0, (size_t)r->size * sizeof *total);
    for (int64_t lo = at.lo; lo < at.hi; lo += chunk) {
        const int64_t hi = lo + chunk < at.hi ? lo + chunk : at.hi;
        loss += best_table_gradient(copies, r->table_at, r->size, r->index_at, lo, hi);
        for (int k = 0; k < TABLE_COPIES; ++k)
            for (int32_t i = 0; i < r->size; ++i)
                total[i] += (double)copies[(int64_t)k * r->size + i];
    }
    r->g.part[part][0] = loss;
}

static void table_join(void *data)
{
    table_row *r = data;
    for (int32_t i = 0; i < r->size; ++i) {
        double sum = 0;
        for (int part = 0; part < r->g.s.b->threads; ++part)
            sum += r->total[(int64_t)part * r->size + i];
        r->dtable_at[i] = (float)sum;
    }
    join(&r->g, true);
}

static bool table_check(void *data, char *why, size_t cap)
{
    const table_row *r = data;
    for (int32_t i = 0; r->g.gave_gradient && i < r->size; ++i) {
        double got = (double)r->dtable_at[i], want = 2 * (double)r->table_at[i] * r->count[i];
        if (fabs(got - want) <= 4e-5 * want)
            continue;
        snprintf(why, cap, "the derivative of element %d is %.9g, not %.9g", (int)i, got, want);
        return false;
    }
    return check_sums(&r->g, why, cap);
}

static const bench_kind table_kind = { sizeof(table_row), table_clear, table_check, table_done };

static void table_setup(bench *b, bench_case *c)
{
    const int32_t *size = c->row->of;
    table_row *r = data_of(b, c, &table_kind, READS, 0, 0, 1, 0, 1);
    if (!r)
        return;
    r->size = *size;
    r->table = bench_keep(c, wf_empty(b->ctx, WF_F32, WF_SHAPE(r->size)));
    r->dtable = bench_keep(c, wf_empty(b->ctx, WF_F32, WF_SHAPE(r->size)));
    r->index = bench_keep(c, wf_empty(b->ctx, WF_I32, WF_SHAPE(READS)));
    r->table_at = bench_memory(b, r->table);
    r->dtable_at = bench_memory(b, r->dtable);
    r->index_at = bench_memory(b, r->index);
    r->copies = malloc((size_t)b->threads * TABLE_COPIES * (size_t)r->size * sizeof *r->copies);
    r->total = malloc((size_t)b->threads * (size_t)r->size * sizeof *r->total);
    r->count = calloc((size_t)r->size, sizeof *r->count);
    if (!r->copies || !r->total || !r->count)
        bench_fail(b, "no memory");
    if (b->error[0])
        return;
    for (int32_t i = 0; i < r->size; ++i)
        r->table_at[i] = 0.5f + bench_random(1, (uint64_t)i);
    for (int64_t i = 0; i < READS; ++i) {
        int32_t k = r->index_at[i] = (int32_t)((float)r->size * bench_random(2, (uint64_t)i));
        r->count[k] += 1;
        r->g.want[0] += (double)r->table_at[k] * (double)r->table_at[k];
    }
    r->g.size[0] = r->g.want[0];
    add(c, table_gradient, table_primal, table_best_gradient, table_best_primal, table_join);
}

/* ---- functions of rows ------------------------------------------------------------------------------------------- */
/* The sum over rows of log(sum(exp(x))), and sum(w softmax(x)) with a weight for each column; with respect to x. The
 * largest value, which is subtracted, is a constant to derivatives: its contributions would cancel. */
enum { SIDE = 4096 };

typedef struct rows_row {
    grad_row g; /* x; the derivative with respect to x: [SIDE, SIDE] as [SIDE * SIDE] */
    bool softmax;
    wf_array *x, *dx, *loss, *w;
    float *w_at;
    double *row; /* [SIDE][3] the largest value, the sum of exponentials, the weighted mean */
} rows_row;

static void rows_done(void *data)
{
    rows_row *r = data;
    done(data);
    free(r->row);
}

static wf_kernel *rows_kernel(wf_context *ctx, bool softmax, bool gradient)
{
    wf_graph *g = wf_begin(ctx, .name = softmax ? "grad_softmax" : "grad_logsumexp");
    wf_val x = wf_in(g, wf_formal(g, "x", WF_F32, 2)), d, loss, most = wf_stop(wf_reduce(WF_JOIN_MAX, x, WF_AXES(1)));
    wf_val e = wf_exp(wf_sub(x, most)), sum = wf_sum(e, WF_AXES(1));
    if (softmax)
        loss = wf_mul(wf_div(e, sum), wf_in(g, wf_formal(g, "w", WF_F32, 1)));
    else
        loss = wf_add(wf_log(sum), most);
    loss = wf_sum(loss, WF_ALL_AXES);
    wf_out(g, wf_formal(g, "loss", WF_F32, 2), loss);
    if (gradient) {
        wf_grad(loss, WF_VALS(x), &d);
        wf_out(g, wf_formal(g, "dx", WF_F32, 2), d);
    }
    return wf_compile(g);
}

static void rows_run(rows_row *r, bool gradient)
{
    wf_array *x = r->x, *w = r->w, *loss = r->loss, *dx = r->dx;
    wf_status status = r->softmax ? gradient ? wf_launch(r->g.gradient, WF_NAMED(x, w, loss, dx))
                                             : wf_launch(r->g.primal, WF_NAMED(x, w, loss))
                       : gradient ? wf_launch(r->g.gradient, WF_NAMED(x, loss, dx))
                                  : wf_launch(r->g.primal, WF_NAMED(x, loss));
    bench_ok(r->g.s.b, status, r->g.s.b->ctx, "wf_launch");
    r->g.gave_gradient = gradient;
}
static void rows_primal(void *data) { rows_run(data, false); }
static void rows_gradient(void *data) { rows_run(data, true); }

static void rows_part(rows_row *r, bool gradient, int part, int parts)
{
    const bench_range at = bench_split(SIDE, 1, part, parts);
    double loss = 0;
    for (int64_t i = at.lo; i < at.hi; ++i)
        loss += best_softmax_row(gradient ? r->g.s.at[1] + i * SIDE : NULL, r->g.s.at[0] + i * SIDE,
                                 r->softmax ? r->w_at : NULL, SIDE);
    r->g.part[part][0] = loss;
}
static void rows_best_primal(void *data, const void *how, int part, int parts)
{
    (void)how;
    rows_part(data, false, part, parts);
}
static void rows_best_gradient(void *data, const void *how, int part, int parts)
{
    (void)how;
    rows_part(data, true, part, parts);
}

static void rows_reference(void *data, const void *how, int part, int parts)
{
    rows_row *r = data;
    const bench_range at = bench_split(SIDE, 1, part, parts);
    (void)how;
    for (int64_t i = at.lo; i < at.hi; ++i) {
        const float *x = r->g.s.at[0] + i * SIDE;
        double *row = r->row + 3 * i, loss;
        for (int j = 0; j < SIDE; ++j)
            row[0] = !j || (double)x[j] > row[0] ? (double)x[j] : row[0];
        for (int j = 0; j < SIDE; ++j) {
            double e = exp((double)x[j] - row[0]);
            row[1] += e;
            row[2] += e * (double)r->w_at[j];
        }
        row[2] /= row[1];
        loss = r->softmax ? row[2] : log(row[1]) + row[0];
        r->g.part[part][0] += loss;
        r->g.part[part][SUMS] += loss;
    }
}

static bool rows_check(void *data, char *why, size_t cap)
{
    const rows_row *r = data;
    for (int64_t k = 0; r->g.gave_gradient && k < (int64_t)SIDE * SIDE; k += 3) {
        const double *row = r->row + 3 * (k / SIDE), p = exp((double)r->g.s.at[0][k] - row[0]) / row[1];
        double got = (double)r->g.s.at[1][k], want = r->softmax ? p * ((double)r->w_at[k % SIDE] - row[2]) : p;
        if (fabs(got - want) <= 4e-6 * p + 2e-7)
            continue;
        snprintf(why, cap, "derivative %lld is %.9g, not %.9g", (long long)k, got, want);
        return false;
    }
    return check_sums(&r->g, why, cap);
}

static const bench_kind rows_kind = { sizeof(rows_row), clear, rows_check, rows_done };

static void rows_setup(bench *b, bench_case *c)
{
    rows_row *r = data_of(b, c, &rows_kind, (int64_t)SIDE * SIDE, 1, 1, 1, 0, 8);
    if (!r)
        return;
    r->softmax = c->row->of != NULL;
    r->x = bench_keep(c, wf_view_reshape(r->g.s.array[0], WF_SHAPE(SIDE, SIDE)));
    r->dx = bench_keep(c, wf_view_reshape(r->g.s.array[1], WF_SHAPE(SIDE, SIDE)));
    r->loss = bench_keep(c, wf_view_reshape(r->g.sum[0], WF_SHAPE(1, 1)));
    r->w = bench_keep(c, wf_empty(b->ctx, WF_F32, WF_SHAPE(SIDE)));
    r->w_at = bench_memory(b, r->w);
    r->row = calloc(SIDE, 3 * sizeof *r->row);
    if (!r->w_at || !r->row)
        return;
    for (int j = 0; j < SIDE; ++j)
        r->w_at[j] = bench_random(9, (uint64_t)j);
    refer(&r->g, rows_reference);
    r->g.primal = rows_kernel(b->ctx, r->softmax, false);
    r->g.gradient = rows_kernel(b->ctx, r->softmax, true);
    add(c, rows_gradient, rows_primal, rows_best_gradient, rows_best_primal, join_gradient);
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
    return check_sums(r, why, cap);
}

static const bench_kind tiny_kind = { sizeof(tiny_row), clear, tiny_check, done };

static void tiny_setup(bench *b, bench_case *c)
{
    tiny_row *r = data_of(b, c, &tiny_kind, 1024, 3, 3, 1, 0.5f, 1.5f);
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
        sum[SUMS + k] += fabs(at[k]);
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
    return check_sums(&r->g, why, cap);
}

static const bench_kind loop_kind = { sizeof(loop_row), clear, loop_check, done };

static void loop_setup(bench *b, bench_case *c)
{
    loop_row *r = data_of(b, c, &loop_kind, 1 << 20, 2, 1, 2, 0.05f, 0.95f);
    if (!r)
        return;
    r->own = c->row->of != NULL;
    refer(&r->g, loop_reference);
    r->g.primal = loop_kernel(r, false);
    r->g.gradient = loop_kernel(r, true);
    if (r->own) {
        bench_add(c, "weft", "", loop_gradient);
        bench_add(c, "weft primal", "", loop_primal);
    } else
        add(c, loop_gradient, loop_primal, loop_best_gradient, loop_best_primal, join_gradient);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */
const bench_row bench_grad_math = { "grad_math",
                                    "sum of (cos(x/a + b) + exp(-x^2) sqrt(x) - t)^2 by x, a, b; n = 2^24",
                                    "ms",
                                    1e3,
                                    "<= 1.8 x primal, <= 1.0 x the best C",
                                    math_setup,
                                    NULL };
static const int32_t table_1 = 1, table_100 = 100, table_10000 = 10000;
#define TABLE_ROW(elements, target)                                                                                   \
    const bench_row bench_grad_table_##elements = { "grad_table_" #elements,                                          \
                                                    "sum of table[k]^2 by the table of " #elements "; 10^7 random k", \
                                                    "ms",                                                             \
                                                    1e3,                                                              \
                                                    "<= " target " x primal",                                         \
                                                    table_setup,                                                      \
                                                    &table_##elements }
TABLE_ROW(1, "1.5");
TABLE_ROW(100, "2.0");
TABLE_ROW(10000, "2.1");
const bench_row bench_grad_logsumexp = { "grad_logsumexp",
                                         "sum of log(sum(exp(x))) of rows by x, 4096 x 4096",
                                         "ms",
                                         1e3,
                                         "<= 1.5 x primal, <= 4 ms",
                                         rows_setup,
                                         NULL };
const bench_row bench_grad_softmax = {
    "grad_softmax", "sum of w softmax(x) of rows by x, 4096 x 4096", "ms", 1e3, "<= 2 x primal, <= 6 ms", rows_setup,
    "softmax"
};
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
