/* rows_reduce.c - reductions, all axes and some; cumulative sums and sorting. */
#include "gpu.h"
#include <math.h>

enum { THIN = 16 }; /* columns, or rows, of long arrays */

/* Sums of [rows, columns] over one axis or both, accumulated in f64 by Weft. */
typedef struct sums {
    int64_t rows, columns;
    wf_axes axes;
} sums;

static sums sums_of(const gpu_case *c)
{
    int64_t side = c->b->side, n = c->b->n;
    switch (c->row->of) {
    case 0:
        return (sums){ side, side, WF_ALL_AXES };
    case 1:
        return (sums){ side, side, WF_AXES(1) };
    case 2:
        return (sums){ side, side, WF_AXES(0) };
    case 3:
        return (sums){ n / THIN, THIN, WF_AXES(0) };
    default:
        return (sums){ THIN, n / THIN, WF_AXES(1) };
    }
}

static double summed(const gpu_case *c, int64_t i)
{
    const sums s = sums_of(c);
    if (s.axes == WF_AXES(0))
        return gpu_sum(i, s.columns, s.rows);
    return gpu_sum(i * s.columns, 1, s.axes == WF_AXES(1) ? s.columns : s.rows * s.columns);
}

static void sum(gpu_case *c)
{
    const sums s = sums_of(c);
    wf_array *flat = gpu_numbers(c, s.rows * s.columns);
    wf_array *a = gpu_keep(c, wf_view_reshape(flat, WF_SHAPE(s.rows, s.columns)));
    wf_array *out =
        gpu_empty(c, WF_F32, WF_SHAPE(s.axes == WF_AXES(1) ? s.rows : 1, s.axes == WF_AXES(0) ? s.columns : 1));
    wf_graph *g = GPU_RECORD(c, .name = c->row->name);
    wf_array *in = wf_formal(g, "a", WF_F32, 2), *to = wf_formal(g, "out", WF_F32, 2);
    wf_out(g, to, wf_sum(wf_in(g, in), s.axes));
    gpu_launches(c, "", wf_compile(g), WF_NAMED(a, out));
    gpu_by_hand(c, c->row->name,
                (hand_args){ .in = { gpu_at(c, a) },
                             .out = { gpu_at(c, out) },
                             .n = s.rows * s.columns,
                             .side = s.columns,
                             .m = s.rows });
    c->result = out;
    c->expected = summed;
    c->bytes = 4 * (double)(s.rows * s.columns);
}

/* ---- functions of arrays: results are new arrays ----------------------------------------------------------------- */

static bool made(gpu_case *c, wf_array *result)
{
    wf_release(c->made);
    c->made = result;
    return result != NULL || gpu_ok(c, wf_last_status(c->b->ctx) ? wf_last_status(c->b->ctx) : WF_ERR_MEMORY);
}

static bool weft_argmax(gpu_case *c) { return made(c, wf_array_argmax(c->kept[0], WF_ALL_AXES)); }
static bool weft_variance(gpu_case *c) { return made(c, wf_array_variance(c->kept[0], WF_ALL_AXES, 0)); }
static bool weft_sort(gpu_case *c) { return made(c, wf_array_sort(c->kept[0], 0, false)); }

static double largest(const gpu_case *c, int64_t i)
{
    (void)i;
    return (double)c->m;
}

static void argmax(gpu_case *c)
{
    static const float most = 1000;
    int64_t n = c->b->n, place = c->m = n / 3 * 2 + 1;
    wf_array *a = gpu_numbers(c, n), *out = gpu_empty(c, WF_I64, WF_SHAPE(1)),
             *value = gpu_empty(c, WF_F32, WF_SHAPE(1));
    gpu_ok(c, wf_upload(gpu_keep(c, wf_view_slice(a, 0, place, place + 1, 1)), &most, sizeof most));
    gpu_calls(c, "", weft_argmax);
    gpu_by_hand(c, "argmax",
                (hand_args){ .in = { gpu_at(c, a) }, .out = { gpu_at(c, out), gpu_at(c, value) }, .n = n });
    c->result = out;
    c->expected = largest;
    c->bytes = 4 * (double)n;
}

static double spread(const gpu_case *c, int64_t i)
{
    double n = (double)c->b->n, sum = 0, squares = 0;
    (void)i;
    for (int64_t k = 0; k < GPU_PERIOD; ++k) {
        double times = (double)(c->b->n / GPU_PERIOD + (k < c->b->n % GPU_PERIOD));
        sum += times * gpu_number(k);
        squares += times * gpu_number(k) * gpu_number(k);
    }
    return squares / n - sum / n * (sum / n);
}

static void variance(gpu_case *c)
{
    int64_t n = c->b->n;
    wf_array *a = gpu_numbers(c, n), *out = gpu_empty(c, WF_F32, WF_SHAPE(1));
    gpu_calls(c, "", weft_variance);
    gpu_by_hand(c, "variance", (hand_args){ .in = { gpu_at(c, a) }, .out = { gpu_at(c, out) }, .n = n });
    c->result = out;
    c->expected = spread;
    c->bytes = 4 * (double)n;
}

static double before_and(const gpu_case *c, int64_t i)
{
    (void)c;
    return gpu_sum(0, 1, i + 1);
}

static double norm_of(const gpu_case *c, int64_t i)
{
    double whole = (double)((i + 1) / GPU_PERIOD), n = GPU_PERIOD, rest = (double)((i + 1) % GPU_PERIOD);
    (void)c;
    return sqrt((whole * (n - 1) * n * (2 * n - 1) + (rest - 1) * rest * (2 * rest - 1)) / 6);
}

/* `of` 1: of an expression, and what is made of it, too: no pass over memory of its own. */
static void scan(gpu_case *c)
{
    int64_t n = c->b->n;
    bool fused = c->row->of == 1;
    wf_array *a = gpu_numbers(c, n), *out = gpu_empty(c, WF_F32, WF_SHAPE(n));
    wf_graph *g = GPU_RECORD(c, .name = c->row->name);
    wf_array *in = wf_formal(g, "a", WF_F32, 1), *to = wf_formal(g, "out", WF_F32, 1);
    wf_val x = wf_in(g, in), running = wf_scan(WF_JOIN_ADD, fused ? wf_mul(x, x) : x, 0, false, false);
    wf_out(g, to, fused ? wf_sqrt(running) : running);
    gpu_launches(c, "", wf_compile(g), WF_NAMED(a, out));
    gpu_by_hand(c, c->row->name, (hand_args){ .in = { gpu_at(c, a) }, .out = { gpu_at(c, out) }, .n = n });
    c->result = out;
    c->expected = fused ? norm_of : before_and;
    c->tolerance = 1e-3; /* CUB adds in f32 */
    c->bytes = 8 * (double)n;
}

/* The numbers below m, a power of two up to 2^24, each as often, in an order that looks like chance. */
static double sorted(const gpu_case *c, int64_t i) { return (double)(i / (wf_array_count(c->result) / c->m)); }

static void sort(gpu_case *c)
{
    int64_t n = 1;
    while (2 * n <= c->b->n && n < 1 << 27)
        n *= 2;
    c->m = n < 1 << 24 ? n : 1 << 24;
    wf_array *a = gpu_empty(c, WF_F32, WF_SHAPE(n)), *out = gpu_empty(c, WF_F32, WF_SHAPE(n));
    wf_graph *g = GPU_RECORD(c, .name = "shuffled");
    wf_val i = wf_iota(g, WF_SHAPE(n), 0);
    wf_out(g, a, wf_and(wf_mul(wf_xor(i, wf_shr(i, 11)), 0x9e3779b1), (double)(c->m - 1)));
    gpu_ok(c, wf_run(g));
    gpu_calls(c, "", weft_sort);
    gpu_by_hand(c, "sort", (hand_args){ .in = { gpu_at(c, a) }, .out = { gpu_at(c, out) }, .n = n });
    c->result = out;
    c->expected = sorted;
    c->tolerance = 0;
    c->bytes = 8 * (double)n;
}

const gpu_row gpu_reduce_rows[] = {
    { "sum", "all axes", GPU_OF_COPY, 0.9, sum, 0 },
    { "sum_rows", "the last axis", GPU_OF_COPY, 0.85, sum, 1 },
    { "sum_columns", "the first axis", GPU_OF_COPY, 0.85, sum, 2 },
    { "sum_tall", "the first axis of 16 columns", GPU_OF_COPY, 0.85, sum, 3 },
    { "sum_long", "the last axis of 16 rows", GPU_OF_COPY, 0.85, sum, 4 },
    { "argmax", "of all", GPU_OF_COPY, 0.9, argmax, 0 },
    { "variance", "of all, in f64", GPU_OF_COPY, 0.9, variance, 0 },
    { "scan", "cumulative sum of all as one row", GPU_OF_HAND, 1, scan, 0 },
    { "scan_norm", "root of the cumulative sum of squares", GPU_OF_HAND, 1, scan, 1 },
    { "sort", "f32 as one row, 2^27 at most", GPU_OF_HAND, 1.2, sort, 0 },
    { 0 },
};
