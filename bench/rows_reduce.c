/* rows_reduce.c - sums of 2^26 values, of an array and of an expression, accumulated in f64. */
#include "bench.h"
#include "kernels.h"
#include <math.h>

typedef struct reduce_row {
    bench_stream s; /* x, or a and b */
    wf_array *sum;  /* f32 [1] */
    float *sum_at;
    double result, want;
    struct {
        double sum;
        char apart[56];
    } part[BENCH_THREADS];
} reduce_row;

static void weft(void *data)
{
    reduce_row *r = data;
    wf_graph *g = wf_begin(r->s.b->ctx);
    wf_val v = wf_in(g, r->s.array[0]);
    if (r->s.inputs == 2) {
        wf_val d = wf_sub(v, wf_in(g, r->s.array[1]));
        v = wf_mul(d, d);
    }
    wf_out(g, r->sum, wf_sum(v, WF_ALL_AXES));
    if (bench_ok(r->s.b, wf_run(g), r->s.b->ctx, "wf_run"))
        r->result = (double)*r->sum_at;
}

typedef struct by_hand {
    double (*one)(const float *x, int64_t lo, int64_t hi);
    double (*two)(const float *a, const float *b, int64_t lo, int64_t hi);
} by_hand;
static const by_hand plain = { plain_sum, plain_sqdiff }, fast = { fast_sum, fast_sqdiff },
                     best = { best_sum, best_sqdiff };

static void part(void *data, const void *how, int part, int parts)
{
    reduce_row *r = data;
    const by_hand *by = how;
    float *const *x = r->s.at;
    const bench_range at = bench_split(r->s.n, 64, part, parts);
    r->part[part].sum = r->s.inputs == 1 ? by->one(x[0], at.lo, at.hi) : by->two(x[0], x[1], at.lo, at.hi);
}

static void join(void *data)
{
    reduce_row *r = data;
    r->result = 0;
    for (int i = 0; i < r->s.b->threads; ++i)
        r->result += r->part[i].sum;
}

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

static const bench_kind kind = { sizeof(reduce_row), clear, check, NULL };

static void setup(bench *b, bench_case *c, int inputs)
{
    reduce_row *r = bench_stream_data(b, c, &kind, 1 << 26, inputs, 0, 0, 1);
    if (!r)
        return;
    r->sum = bench_keep(c, wf_empty(b->ctx, WF_F32, WF_SHAPE(1)));
    r->sum_at = bench_memory(b, r->sum);
    for (int64_t i = 0; i < r->s.n; i += 4096) { /* in blocks, so that the reference has 15 digits */
        double block = 0;
        for (int64_t k = i; k < i + 4096; ++k) {
            float d = inputs == 2 ? r->s.at[0][k] - r->s.at[1][k] : r->s.at[0][k];
            block += (double)(inputs == 2 ? d * d : d);
        }
        r->want += block;
    }
    bench_add(c, "weft", "", weft);
    bench_add_parts(c, "plain", "", part, &plain)->call = join;
    bench_add_parts(c, "plain fast-math", "", part, &fast)->call = join;
    if (bench_best_available())
        bench_add_parts(c, "best", "", part, &best)->call = join;
}

static void sum(bench *b, bench_case *c) { setup(b, c, 1); }
static void sqdiff(bench *b, bench_case *c) { setup(b, c, 2); }

const bench_row bench_sum_64m = { "sum_64m", "sum of x, n = 2^26, in f64", "ms", 1e3, "<= best C", sum, NULL };
const bench_row bench_sqdiff_64m = { "sqdiff_64m", "sum of (a - b)^2, n = 2^26, in f64", "ms", 1e3, "<= best C", sqdiff,
                                     NULL };
