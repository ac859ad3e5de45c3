/* rows_axes.c - sums of a 4-d array of 2^26 values over each axis and each pair of axes, accumulated in f64: of an
 * array in C order and of a permuted view.
 */
#include "bench.h"
#include "kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 4, PARTS = 256 };
static const int64_t extents[RANK] = { 8, 64, 256, 512 }; /* of the memory */

typedef struct axes_row {
    bench_stream s;
    wf_array *x, *out;
    wf_kernel *kernel;
    float *out_at;
    double *want, *acc[PARTS];
    int64_t points; /* of the result */
    bench_nest plain, best;
    void (*run)(float *out, double *acc, const float *x, const bench_nest *nest, int64_t lo, int64_t hi);
    const bench_nest *nest;
} axes_row;

static void weft(void *data)
{
    axes_row *r = data;
    bench_ok(r->s.b, wf_launch(r->kernel, WF_NO_ARGS), r->s.b->ctx, "wf_launch");
}

static void part(void *arg, int part, int parts)
{
    axes_row *r = arg;
    int64_t lo, hi;
    bench_part(r->nest->dim[0], 1, part, parts, &lo, &hi);
    if (lo < hi)
        r->run(r->out_at, r->acc[part], r->s.at[0], r->nest, lo, hi);
}

static void parallel(axes_row *r, const bench_nest *nest,
                     void (*run)(float *, double *, const float *, const bench_nest *, int64_t, int64_t))
{
    r->nest = nest;
    r->run = run;
    bench_pool_run(r->s.b->pool, part, r);
}

static void plain(void *data) { parallel(data, &((axes_row *)data)->plain, plain_axes); }
static void fast(void *data) { parallel(data, &((axes_row *)data)->plain, fast_axes); }
static void best(void *data) { parallel(data, &((axes_row *)data)->best, best_axes); }

static void clear(void *data)
{
    axes_row *r = data;
    for (int64_t i = 0; i < r->points; ++i)
        r->out_at[i] = NAN;
}

static bool check(void *data, char *why, size_t cap)
{
    const axes_row *r = data;
    for (int64_t i = 0; i < r->points; ++i)
        if (!(fabs((double)r->out_at[i] - r->want[i]) <= 1e-6 * r->want[i])) {
            snprintf(why, cap, "sum %lld is %.9g, not %.9g", (long long)i, (double)r->out_at[i], r->want[i]);
            return false;
        }
    return true;
}

static void done(void *data)
{
    axes_row *r = data;
    wf_kernel_free(r->kernel);
    wf_release(r->x);
    wf_release(r->out);
    bench_stream_free(&r->s);
    for (int i = 0; i < PARTS; ++i)
        free(r->acc[i]);
    free(r->want);
    free(r);
}

/* Loops over memory axes in this order; of the results a step along an axis is step[axis], 0 if it is reduced. */
static bench_nest nest_of(const int order[RANK], const int64_t step[RANK])
{
    bench_nest n = { .kept = 0 };
    int64_t stride[RANK], size = 1;
    for (int d = RANK - 1; d >= 0; --d) {
        stride[d] = size;
        size *= extents[d];
    }
    for (int k = 0; k < RANK; ++k) {
        n.dim[k] = extents[order[k]];
        n.x[k] = stride[order[k]];
        n.out[k] = step[order[k]];
        n.kept += k < RANK - 1 && n.out[k] && n.kept == k;
    }
    return n;
}

/* The first kept axis outside, for the threads, then the order of memory; or all kept axes outside but the last axis. */
static void make_nests(axes_row *r, const int64_t step[RANK])
{
    int order[RANK], n = 0, first = 0;
    while (!step[first])
        ++first;
    order[n++] = first;
    for (int d = 0; d < RANK; ++d)
        if (d != first)
            order[n++] = d;
    r->plain = nest_of(order, step);
    n = 0;
    for (int reduced = 0; reduced < 2; ++reduced)
        for (int d = 0; d < RANK - 1; ++d)
            if ((step[d] == 0) == reduced)
                order[n++] = d;
    order[n] = RANK - 1;
    r->best = nest_of(order, step);
}

static bool setup(bench *b, bench_case *c, const int *permuted, wf_axes axes)
{
    if (b->threads > PARTS)
        return bench_fail(b, "more than %d threads", PARTS);
    axes_row *r = bench_stream_case(c, sizeof *r, b, 1 << 26, 1, 0.5, 1.5);
    wf_shape shape = { .rank = RANK }, kept = { .rank = RANK };
    int64_t step[RANK];
    void *at = NULL;
    if (!r)
        return false;
    c->clear = clear;
    c->check = check;
    c->done = done;
    memcpy(shape.dim, extents, sizeof extents);
    wf_array *whole = wf_view_reshape(r->s.array[0], shape);
    r->x = wf_view_permute(whole, permuted);
    wf_release(whole);
    r->points = 1;
    for (int d = RANK - 1; d >= 0; --d) {
        kept.dim[d] = axes >> d & 1 ? 1 : extents[permuted[d]];
        step[permuted[d]] = axes >> d & 1 ? 0 : r->points;
        r->points *= kept.dim[d];
    }
    make_nests(r, step);
    r->out = wf_empty(b->ctx, WF_F32, kept);
    wf_graph *g = wf_begin(b->ctx);
    wf_out(g, r->out, wf_sum(wf_in(g, r->x), axes));
    r->kernel = wf_compile(g);
    r->want = calloc((size_t)r->points, sizeof *r->want);
    bool ok = r->out && r->kernel && r->want && bench_ok(b, wf_map(r->out, &at, NULL), b->ctx, "wf_map");
    for (int i = 0; ok && i < b->threads; ++i)
        ok = (r->acc[i] = malloc((size_t)r->points * sizeof(double))) != NULL;
    if (!ok)
        return b->error[0] ? false : bench_fail(b, "%s", r->kernel ? "no memory" : wf_message(b->ctx));
    r->out_at = at;
    const float *x = r->s.at[0];
    for (int64_t i = 0; i < extents[0]; ++i)
        for (int64_t j = 0; j < extents[1]; ++j)
            for (int64_t k = 0; k < extents[2]; ++k)
                for (int64_t l = 0; l < extents[3]; ++l)
                    r->want[i * step[0] + j * step[1] + k * step[2] + l * step[3]] += (double)*x++;
    bench_add(c, "weft", "", weft);
    bench_add(c, "plain", "", plain);
    bench_add(c, "plain fast-math", "", fast);
    if (bench_best_available())
        bench_add(c, "best", "", best);
    return true;
}

/* c: in C order; p: permuted. */
#define ROW(letter, axes, mask, order, ...)                                                    \
    static bool setup_##letter##axes(bench *b, bench_case *c)                                  \
    {                                                                                          \
        return setup(b, c, (const int[RANK]){ __VA_ARGS__ }, mask);                            \
    }                                                                                          \
    const bench_row bench_sum_##letter##axes = { "sum_" #letter #axes,                         \
                                                 "sum over axes " #axes " of 2^26 f32 " order, \
                                                 "ms",                                         \
                                                 1e3,                                          \
                                                 "<= best C",                                  \
                                                 setup_##letter##axes };
#define ROWS(axes, mask)                         \
    ROW(c, axes, mask, "in C order", 0, 1, 2, 3) \
    ROW(p, axes, mask, "in permuted order", 3, 1, 0, 2)
ROWS(0, WF_AXES(0))
ROWS(1, WF_AXES(1))
ROWS(2, WF_AXES(2))
ROWS(3, WF_AXES(3))
ROWS(01, WF_AXES(0, 1))
ROWS(02, WF_AXES(0, 2))
ROWS(03, WF_AXES(0, 3))
ROWS(12, WF_AXES(1, 2))
ROWS(13, WF_AXES(1, 3))
ROWS(23, WF_AXES(2, 3))
