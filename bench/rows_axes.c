/* rows_axes.c - sums of a 4-d array of 2^26 values over each axis and each pair of axes, accumulated in f64, for an array
 * in C order and for a permuted view.
 */
#include "bench.h"
#include "kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 4 };
static const int64_t extents[RANK] = { 8, 64, 256, 512 }; /* of the memory */

typedef struct by_hand {
    void (*sum)(float *out, double *acc, const float *x, const bench_nest *nest, int64_t lo, int64_t hi);
    bench_nest nest;
} by_hand;

typedef struct axes_row {
    bench_stream s;
    wf_array *x, *out;
    wf_kernel *kernel, *by_shape;
    float *out_at;
    double *want, *acc[BENCH_THREADS];
    int64_t points; /* of the result */
    by_hand plain, fast, best;
} axes_row;

static void weft(void *data)
{
    axes_row *r = data;
    bench_ok(r->s.b, wf_launch(r->kernel, WF_NO_ARGS), r->s.b->ctx, "wf_launch");
}

static void weft_by_shape(void *data)
{
    axes_row *r = data;
    bench_ok(r->s.b, wf_launch(r->by_shape, WF_NO_ARGS), r->s.b->ctx, "wf_launch");
}

static void part(void *data, const void *how, int part, int parts)
{
    const axes_row *r = data;
    const by_hand *by = how;
    const bench_range at = bench_split(by->nest.dim[0], 1, part, parts);
    if (at.lo < at.hi)
        by->sum(r->out_at, r->acc[part], r->s.at[0], &by->nest, at.lo, at.hi);
}

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
    wf_kernel_free(r->by_shape);
    for (int i = 0; i < BENCH_THREADS; ++i)
        free(r->acc[i]);
    free(r->want);
}

static const bench_kind kind = { sizeof(axes_row), clear, check, done };

/* Loops over memory axes in this order. step[axis] is the step in the results, 0 = the axis is reduced. */
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

/* Makes the plain nest, with the first kept axis outermost for the threads and the others in the order of memory, and the
 * best one, with all kept axes but the last axis outermost. */
static void make_nests(axes_row *r, const int64_t step[RANK])
{
    int order[RANK], n = 0, first = 0;
    while (!step[first])
        ++first;
    order[n++] = first;
    for (int d = 0; d < RANK; ++d)
        if (d != first)
            order[n++] = d;
    r->plain = (by_hand){ plain_axes, nest_of(order, step) };
    r->fast = (by_hand){ fast_axes, r->plain.nest };
    n = 0;
    for (int reduced = 0; reduced < 2; ++reduced)
        for (int d = 0; d < RANK - 1; ++d)
            if ((step[d] == 0) == reduced)
                order[n++] = d;
    order[n] = RANK - 1;
    r->best = (by_hand){ best_axes, nest_of(order, step) };
}

/* The parameters of a row: the order of the memory's axes in the array, and the axes to sum. */
typedef struct sums {
    int order[RANK];
    wf_axes axes;
} sums;

static void setup(bench *b, bench_case *c)
{
    const sums *of = c->row->of;
    axes_row *r = bench_stream_data(b, c, &kind, 1 << 26, 1, 0, 0.5, 1.5);
    wf_shape shape = { .rank = RANK }, kept = { .rank = RANK };
    int64_t step[RANK];
    if (!r)
        return;
    memcpy(shape.dim, extents, sizeof extents);
    wf_array *whole = bench_keep(c, wf_view_reshape(r->s.array[0], shape));
    r->x = bench_keep(c, wf_view_permute(whole, of->order));
    r->points = 1;
    for (int d = RANK - 1; d >= 0; --d) {
        bool summed = of->axes >> d & 1;
        kept.dim[d] = summed ? 1 : extents[of->order[d]];
        step[of->order[d]] = summed ? 0 : r->points;
        r->points *= kept.dim[d];
    }
    make_nests(r, step);
    r->out = bench_keep(c, wf_empty(b->ctx, WF_F32, kept));
    r->out_at = bench_memory(b, r->out);
    for (int by_shape = 0; by_shape < 2; ++by_shape) {
        wf_graph *g = wf_begin(b->ctx, .flags_on = by_shape ? WF_FLAG_ORDER_BY_SHAPE : 0);
        wf_out(g, r->out, wf_sum(wf_in(g, r->x), of->axes));
        *(by_shape ? &r->by_shape : &r->kernel) = wf_compile(g);
    }
    c->kernel = r->kernel;
    r->want = calloc((size_t)r->points, sizeof *r->want);
    bool ok = r->want != NULL;
    for (int i = 0; ok && i < b->threads; ++i)
        ok = (r->acc[i] = malloc((size_t)r->points * sizeof(double))) != NULL;
    if (!ok) {
        bench_fail(b, "no memory");
        return;
    }
    const float *x = r->s.at[0];
    for (int64_t i = 0; i < extents[0]; ++i)
        for (int64_t j = 0; j < extents[1]; ++j)
            for (int64_t k = 0; k < extents[2]; ++k)
                for (int64_t l = 0; l < extents[3]; ++l)
                    r->want[i * step[0] + j * step[1] + k * step[2] + l * step[3]] += (double)*x++;
    bench_add(c, "weft", "", weft);
    bench_add(c, "weft by shape", "", weft_by_shape);
    bench_add_parts(c, "plain", "", part, &r->plain);
    bench_add_parts(c, "plain fast-math", "", part, &r->fast);
    if (bench_best_available())
        bench_add_parts(c, "best", "", part, &r->best);
}

/* `letter`: c = an array in C order, p = a permuted view. */
#define ROW(letter, axes, mask, order, ...)                                                    \
    const bench_row bench_sum_##letter##axes = { "sum_" #letter #axes,                         \
                                                 "sum over axes " #axes " of 2^26 f32 " order, \
                                                 "ms",                                         \
                                                 1e3,                                          \
                                                 "<= best C",                                  \
                                                 setup,                                        \
                                                 &(const sums){ { __VA_ARGS__ }, mask } };
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
