/* rows_stream.c - triad at three sizes, and two kernels in a row that pass an array through the cache. */
#include "bench.h"
#include "kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef void triad_fn(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi);

typedef struct stream_row {
    bench_stream s;    /* a, b, c, out; chained: a, b, c, d, e, out */
    wf_array *between; /* chained: the intermediate array */
    float *between_at;
    wf_kernel *kernel;
    triad_fn *fn; /* of the parallel call in progress */
    float *out;
    const float *a, *b, *c;
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
    wf_array *a = r->s.array[0], *b = r->s.array[1], *c = r->s.array[2], *out = r->between;
    wf_status first = wf_launch(r->kernel, WF_NAMED(a, b, c, out));
    a = r->between, b = r->s.array[3], c = r->s.array[4], out = r->s.array[5];
    wf_status second = wf_launch(r->kernel, WF_NAMED(a, b, c, out));
    bench_ok(r->s.b, first ? first : second, r->s.b->ctx, "wf_launch");
}

/* ---- C ----------------------------------------------------------------------------------------------------------- */

static void part(void *arg, int part, int parts)
{
    stream_row *r = arg;
    int64_t lo, hi;
    bench_part(r->s.n, 64, part, parts, &lo, &hi);
    r->fn(r->out, r->a, r->b, r->c, lo, hi);
}

static void parallel(stream_row *r, triad_fn *fn, float *out, const float *a, const float *b, const float *c)
{
    r->fn = fn;
    r->out = out;
    r->a = a, r->b = b, r->c = c;
    bench_pool_run(r->s.b->pool, part, r);
}

static void all_threads(stream_row *r, triad_fn *fn)
{
    parallel(r, fn, r->s.at[3], r->s.at[0], r->s.at[1], r->s.at[2]);
}
static void one_thread(stream_row *r, triad_fn *fn) { fn(r->s.at[3], r->s.at[0], r->s.at[1], r->s.at[2], 0, r->s.n); }
static void both(stream_row *r, triad_fn *fn, bool threads)
{
    if (threads) {
        parallel(r, fn, r->between_at, r->s.at[0], r->s.at[1], r->s.at[2]);
        parallel(r, fn, r->s.at[5], r->between_at, r->s.at[3], r->s.at[4]);
    } else {
        fn(r->between_at, r->s.at[0], r->s.at[1], r->s.at[2], 0, r->s.n);
        fn(r->s.at[5], r->between_at, r->s.at[3], r->s.at[4], 0, r->s.n);
    }
}

static void plain_one(void *data) { one_thread(data, plain_triad); }
static void plain_all(void *data) { all_threads(data, plain_triad); }
static void chained_plain_one(void *data) { both(data, plain_triad, false); }
static void chained_plain_all(void *data) { both(data, plain_triad, true); }

static void best_one(void *data) { one_thread(data, best_triad); }
static void best_all(void *data) { all_threads(data, best_triad); }
static void best_stream(void *data) { all_threads(data, best_triad_stream); }
static void chained_best_one(void *data) { both(data, best_triad, false); }
static void chained_best_all(void *data) { both(data, best_triad, true); }

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void clear(void *data)
{
    stream_row *r = data;
    bench_stream_spoil(&r->s, r->between ? 5 : 3);
    if (r->between)
        memset(r->between_at, 0xff, (size_t)r->s.n * sizeof(float));
}

static bool check(void *data, char *why, size_t cap)
{
    const stream_row *r = data;
    float *const *at = r->s.at;
    for (int64_t i = 0; i < r->s.n; ++i) {
        double want = (double)at[0][i] * (double)at[1][i] + (double)at[2][i], got = (double)at[r->between ? 5 : 3][i];
        if (r->between)
            want = want * (double)at[3][i] + (double)at[4][i];
        if (fabs(got - want) <= 1e-6 * fabs(want))
            continue;
        snprintf(why, cap, "element %lld is %.9g, not %.9g", (long long)i, got, want);
        return false;
    }
    return true;
}

static void done(void *data)
{
    stream_row *r = data;
    wf_kernel_free(r->kernel);
    wf_release(r->between);
    bench_stream_free(&r->s);
    free(r);
}

static stream_row *new_row(bench *b, bench_case *c, int64_t n, int arrays)
{
    stream_row *r = bench_stream_case(c, sizeof *r, b, n, arrays, 0.5f, 1.5f);
    if (!r)
        return NULL;
    c->clear = clear;
    c->check = check;
    c->done = done;
    r->kernel = triad_kernel(b->ctx);
    if (r->kernel)
        return r;
    bench_ok(b, wf_check(b->ctx), b->ctx, "wf_compile");
    return NULL;
}

static bool one_k(bench *b, bench_case *c, void (*weft)(void *))
{
    if (!new_row(b, c, 1 << 10, 4))
        return false;
    bench_add(c, "weft", "", weft);
    bench_add(c, "plain", "1 thread", plain_one);
    if (bench_best_available())
        bench_add(c, "best", "1 thread", best_one);
    return true;
}
static bool one_k_prepared(bench *b, bench_case *c) { return one_k(b, c, weft_prepared); }
static bool one_k_traced(bench *b, bench_case *c) { return one_k(b, c, weft_traced); }

static bool in_cache(bench *b, bench_case *c)
{
    if (!new_row(b, c, 1 << 16, 4))
        return false;
    bench_add(c, "weft", "", weft_prepared);
    bench_add(c, "plain", "1 thread", plain_one);
    bench_add(c, "plain", "all threads", plain_all);
    if (bench_best_available()) {
        bench_add(c, "best", "1 thread", best_one);
        bench_add(c, "best", "all threads", best_all);
    }
    return true;
}

static bool in_memory(bench *b, bench_case *c)
{
    if (!new_row(b, c, 1 << 26, 4))
        return false;
    bench_add(c, "weft", "", weft_traced);
    bench_add(c, "plain", "", plain_all);
    if (bench_best_available()) {
        bench_add(c, "best", "", best_all);
        bench_add(c, "best", "streaming stores", best_stream);
    }
    return true;
}

static bool chained(bench *b, bench_case *c)
{
    stream_row *r = new_row(b, c, 1 << 16, 6);
    void *at = NULL;
    if (!r)
        return false;
    r->between = wf_like(r->s.array[0]);
    if (!r->between || !bench_ok(b, wf_map(r->between, &at, NULL), b->ctx, "wf_map"))
        return false;
    r->between_at = at;
    bench_add(c, "weft", "", weft_chained);
    bench_add(c, "plain", "1 thread", chained_plain_one);
    bench_add(c, "plain", "all threads", chained_plain_all);
    if (bench_best_available()) {
        bench_add(c, "best", "1 thread", chained_best_one);
        bench_add(c, "best", "all threads", chained_best_all);
    }
    return true;
}

const bench_row bench_triad_1k_prepared = {
    "triad_1k_prepared", "a*b + c, n = 2^10, one wf_launch", "us", 1e6, "<= 0.3 us", one_k_prepared
};
const bench_row bench_triad_1k_traced = {
    "triad_1k_traced", "a*b + c, n = 2^10, wf_begin to wf_run", "us", 1e6, "<= 2 us", one_k_traced
};
const bench_row bench_triad_64k = { "triad_64k", "a*b + c, n = 2^16, in cache", "us", 1e6, "<= best C", in_cache };
const bench_row bench_triad_64m = { "triad_64m", "a*b + c, n = 2^26, in memory", "ms", 1e3, "<= best C", in_memory };
const bench_row bench_chained_64k = { "chained_64k", "t = a*b + c, then t*d + e, n = 2^16", "us", 1e6, "<= best C",
                                      chained };
