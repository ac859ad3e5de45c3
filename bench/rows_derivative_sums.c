/* rows_derivative_sums.c - derivatives to which many elements contribute, in array graphs: with respect to a table that is
 * read by index, and through reductions of rows (grad_row.h).
 */
#include "grad_row.h"
#include "kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    grad_clear(data);
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
    grad_join(&r->g, true);
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
    return grad_check_sums(&r->g, why, cap);
}

static const bench_kind table_kind = { sizeof(table_row), table_clear, table_check, table_done };

static void table_setup(bench *b, bench_case *c)
{
    const int32_t *size = c->row->of;
    table_row *r = grad_data(b, c, &table_kind, READS, 0, 0, 1, 0, 1);
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
    grad_add(c, table_gradient, table_primal, table_best_gradient, table_best_primal, table_join);
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
    grad_done(data);
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
        r->g.part[part][GRAD_SUMS] += loss;
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
    return grad_check_sums(&r->g, why, cap);
}

static const bench_kind rows_kind = { sizeof(rows_row), grad_clear, rows_check, rows_done };

static void rows_setup(bench *b, bench_case *c)
{
    rows_row *r = grad_data(b, c, &rows_kind, (int64_t)SIDE * SIDE, 1, 1, 1, 0, 8);
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
    grad_refer(&r->g, rows_reference);
    r->g.primal = rows_kernel(b->ctx, r->softmax, false);
    r->g.gradient = rows_kernel(b->ctx, r->softmax, true);
    grad_add(c, rows_gradient, rows_primal, rows_best_gradient, rows_best_primal, grad_join_gradient);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */
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
