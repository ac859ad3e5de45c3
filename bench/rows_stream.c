/* rows_stream.c - a triad at three sizes, and two kernels of which the second reads the result of the first from cache. */
#include "bench.h"
#include "kernels.h"
#include <math.h>

typedef struct stream_row {
    bench_stream s; /* a, b, c, out = a*b + c; chained: a, b, c, d, e, out = t*d + e with t = a*b + c */
    wf_kernel *kernel;
} stream_row;

/* ---- Weft -------------------------------------------------------------------------------------------------------- */

static wf_kernel *triad_kernel(wf_context *ctx)
{
    wf_graph *g = wf_begin(ctx, .name = "triad");
    wf_array *a = wf_formal(g, "a", WF_F32, 1), *b = wf_formal(g, "b", WF_F32, 1), *c = wf_formal(g, "c", WF_F32, 1);
    wf_out(g, wf_formal(g, "out", WF_F32, 1), wf_add(wf_mul(wf_in(g, a), wf_in(g, b)), wf_in(g, c)));
    return wf_compile(g);
}

static void weft_prepared(void *data)
{
    stream_row *r = data;
    wf_array *a = r->s.array[0], *b = r->s.array[1], *c = r->s.array[2], *out = r->s.array[3];
    bench_ok(r->s.b, wf_launch(r->kernel, WF_NAMED(a, b, c, out)), r->s.b->ctx, "wf_launch");
}

static void weft_traced(void *data)
{
    stream_row *r = data;
    wf_graph *g = wf_begin(r->s.b->ctx);
    wf_val product = wf_mul(wf_in(g, r->s.array[0]), wf_in(g, r->s.array[1]));
    wf_out(g, r->s.array[3], wf_add(product, wf_in(g, r->s.array[2])));
    bench_ok(r->s.b, wf_run(g), r->s.b->ctx, "wf_run");
}

static void weft_chained(void *data)
{
    stream_row *r = data;
    wf_array *a = r->s.array[0], *b = r->s.array[1], *c = r->s.array[2], *out = r->s.array[6];
    wf_status first = wf_launch(r->kernel, WF_NAMED(a, b, c, out));
    a = r->s.array[6], b = r->s.array[3], c = r->s.array[4], out = r->s.array[5];
    wf_status second = wf_launch(r->kernel, WF_NAMED(a, b, c, out));
    bench_ok(r->s.b, first ? first : second, r->s.b->ctx, "wf_launch");
}

/* ---- C ----------------------------------------------------------------------------------------------------------- */

typedef void triad_fn(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi);
static triad_fn *const plain = plain_triad, *const best = best_triad, *const stream = best_triad_stream;

static void first(void *data, const void *how, int part, int parts)
{
    const bench_stream *s = data;
    const bench_range at = bench_split(s->n, 64, part, parts);
    (*(triad_fn *const *)how)(s->at[s->inputs + s->results - 1], s->at[0], s->at[1], s->at[2], at.lo, at.hi);
}
static void second(void *data, const void *how, int part, int parts)
{
    const bench_stream *s = data;
    const bench_range at = bench_split(s->n, 64, part, parts);
    (*(triad_fn *const *)how)(s->at[5], s->at[6], s->at[3], s->at[4], at.lo, at.hi);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static bool check(void *data, char *why, size_t cap)
{
    const bench_stream *s = data;
    for (int64_t i = 0; i < s->n; ++i) {
        double want = (double)s->at[0][i] * (double)s->at[1][i] + (double)s->at[2][i];
        double got = (double)s->at[s->inputs][i];
        if (s->results == 2)
            want = want * (double)s->at[3][i] + (double)s->at[4][i];
        if (fabs(got - want) <= 1e-6 * fabs(want))
            continue;
        snprintf(why, cap, "element %lld is %.9g, not %.9g", (long long)i, got, want);
        return false;
    }
    return true;
}

static const bench_kind kind = { sizeof(stream_row), bench_spoil_results, check, NULL };

static void setup(bench *b, bench_case *c, int64_t n, int inputs, int results, void (*weft)(void *data))
{
    stream_row *r = bench_stream_data(b, c, &kind, n, inputs, results, 0.5f, 1.5f);
    if (r)
        r->kernel = c->kernel = triad_kernel(b->ctx);
    bench_add(c, "weft", "", weft);
}

static void one_k(bench *b, bench_case *c, void (*weft)(void *data))
{
    setup(b, c, 1 << 10, 3, 1, weft);
    bench_add_parts(c, "plain", "1 thread", first, &plain)->alone = true;
    if (bench_best_available())
        bench_add_parts(c, "best", "1 thread", first, &best)->alone = true;
}
static void one_k_prepared(bench *b, bench_case *c) { one_k(b, c, weft_prepared); }
static void one_k_traced(bench *b, bench_case *c) { one_k(b, c, weft_traced); }

/* Adds contenders on one thread and on all. `then`: a second job, or NULL. */
static void both_ways(bench_case *c, const char *who, triad_fn *const *how, bench_part_fn *then)
{
    bench_contender *alone = bench_add_parts(c, who, "1 thread", first, how);
    alone->alone = true;
    alone->part[1] = bench_add_parts(c, who, "all threads", first, how)->part[1] = then;
}

static void in_cache(bench *b, bench_case *c)
{
    setup(b, c, 1 << 16, 3, 1, weft_prepared);
    both_ways(c, "plain", &plain, NULL);
    if (bench_best_available())
        both_ways(c, "best", &best, NULL);
}

static void in_memory(bench *b, bench_case *c)
{
    setup(b, c, 1 << 26, 3, 1, weft_traced);
    bench_add_parts(c, "plain", "", first, &plain);
    if (bench_best_available()) {
        bench_add_parts(c, "best", "", first, &best);
        bench_add_parts(c, "best", "streaming stores", first, &stream);
    }
}

static void chained(bench *b, bench_case *c)
{
    setup(b, c, 1 << 16, 5, 2, weft_chained);
    both_ways(c, "plain", &plain, second);
    if (bench_best_available())
        both_ways(c, "best", &best, second);
}

const bench_row bench_triad_1k_prepared = {
    "triad_1k_prepared", "a*b + c, n = 2^10, one wf_launch", "us", 1e6, "<= 0.3 us", one_k_prepared, NULL
};
const bench_row bench_triad_1k_traced = {
    "triad_1k_traced", "a*b + c, n = 2^10, wf_begin to wf_run", "us", 1e6, "<= 2 us", one_k_traced, NULL
};
const bench_row bench_triad_64k = {
    "triad_64k", "a*b + c, n = 2^16, in cache", "us", 1e6, "<= best C", in_cache, NULL
};
const bench_row bench_triad_64m = {
    "triad_64m", "a*b + c, n = 2^26, in memory", "ms", 1e3, "<= best C", in_memory, NULL
};
const bench_row bench_chained_64k = {
    "chained_64k", "t = a*b + c, then t*d + e, n = 2^16", "us", 1e6, "<= best C", chained, NULL
};
