/* rows_reduce.c - sums of 2^26 values: of an array, and of something computed on the way. Accumulated in f64. */
#include "bench.h"
#include "kernels.h"
#include <math.h>
#include <stdlib.h>

enum { PARTS = 256 };

typedef struct reduce_row {
    bench_stream s; /* x, or a and b */
    wf_array *sum;  /* f32 [1] */
    float *sum_at;
    double result, want;
    double (*one)(const float *x, int64_t lo, int64_t hi);
    double (*two)(const float *a, const float *b, int64_t lo, int64_t hi);
    struct {
        double sum;
        char apart[56];
    } part[PARTS];
} reduce_row;

static void weft(void *data)
{
    reduce_row *r = data;
    wf_graph *g = wf_begin(r->s.b->ctx);
    wf_val v = wf_in(g, r->s.array[0]);
    if (r->s.arrays == 2) {
        wf_val d = wf_sub(v, wf_in(g, r->s.array[1]));
        v = wf_mul(d, d);
    }
    wf_out(g, r->sum, wf_sum(v, WF_ALL_AXES));
    if (bench_ok(r->s.b, wf_run(g), r->s.b->ctx, "wf_run"))
        r->result = (double)*r->sum_at;
}

static void part(void *arg, int part, int parts)
{
    reduce_row *r = arg;
    int64_t lo, hi;
    bench_part(r->s.n, 64, part, parts, &lo, &hi);
    r->part[part].sum = r->one ? r->one(r->s.at[0], lo, hi) : r->two(r->s.at[0], r->s.at[1], lo, hi);
}

static void parallel(reduce_row *r, double (*one)(const float *x, int64_t lo, int64_t hi),
                     double (*two)(const float *a, const float *b, int64_t lo, int64_t hi))
{
    r->one = r->s.arrays == 1 ? one : NULL;
    r->two = two;
    bench_pool_run(r->s.b->pool, part, r);
    double sum = 0;
    for (int i = 0; i < r->s.b->threads; ++i)
        sum += r->part[i].sum;
    r->result = sum;
}

static void plain(void *data) { parallel(data, plain_sum, plain_sqdiff); }
static void fast(void *data) { parallel(data, fast_sum, fast_sqdiff); }
static void best(void *data) { parallel(data, best_sum, best_sqdiff); }

static void clear(void *data)
{
    reduce_row *r = data;
    r->result = NAN;
}

static bool check(void *data, char *why, size_t cap)
{
    const reduce_row *r = data;
    if (fabs(r->result - r->want) <= 2e-7 * r->want)
        return true;
    snprintf(why, cap, "the sum is %.12g, not %.12g", r->result, r->want);
    return false;
}

static void done(void *data)
{
    reduce_row *r = data;
    wf_release(r->sum);
    bench_stream_free(&r->s);
    free(r);
}

static bool setup(bench *b, bench_case *c, int arrays)
{
    if (b->threads > PARTS)
        return bench_fail(b, "more than %d threads", PARTS);
    reduce_row *r = bench_stream_case(c, sizeof *r, b, 1 << 26, arrays, 0, 1);
    void *at = NULL;
    if (!r)
        return false;
    c->clear = clear;
    c->check = check;
    c->done = done;
    r->sum = wf_empty(b->ctx, WF_F32, WF_SHAPE(1));
    if (!r->sum || !bench_ok(b, wf_map(r->sum, &at, NULL), b->ctx, "wf_map"))
        return false;
    r->sum_at = at;
    for (int64_t i = 0; i < r->s.n; i += 4096) { /* by blocks, so that the reference is good to 15 digits */
        double block = 0;
        for (int64_t k = i; k < i + 4096; ++k) {
            float d = arrays == 2 ? r->s.at[0][k] - r->s.at[1][k] : r->s.at[0][k];
            block += (double)(arrays == 2 ? d * d : d);
        }
        r->want += block;
    }
    bench_add(c, "weft", "", weft);
    bench_add(c, "plain", "", plain);
    bench_add(c, "plain fast-math", "", fast);
    if (bench_best_available())
        bench_add(c, "best", "", best);
    return true;
}

static bool sum(bench *b, bench_case *c) { return setup(b, c, 1); }
static bool sqdiff(bench *b, bench_case *c) { return setup(b, c, 2); }

const bench_row bench_sum_64m = { "sum_64m", "sum of x, n = 2^26, in f64", "ms", 1e3, "<= best C", sum };
const bench_row bench_sqdiff_64m = {
    "sqdiff_64m", "sum of (a - b)^2, n = 2^26, in f64", "ms", 1e3, "<= best C", sqdiff
};
