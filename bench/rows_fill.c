/* rows_fill.c - wf_full: a new array of 2^26 equal elements, in memory that was used before, beside filling such
 * memory in C. */
#include "bench.h"
#include <stdlib.h>

typedef struct fill_row {
    bench_stream s; /* one array, which C fills */
    wf_array *made; /* by the last wf_full */
    bool by_weft;   /* who did the last one */
    float value;
} fill_row;

static void weft_full(void *data)
{
    fill_row *r = data;
    wf_release(r->made);
    r->by_weft = true;
    r->made = wf_full(r->s.b->ctx, WF_F32, WF_SHAPE(r->s.n), (double)r->value);
    bench_ok(r->s.b, r->made ? WF_OK : wf_check(r->s.b->ctx), r->s.b->ctx, "wf_full");
}

static void fill(float *out, float value, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; ++i)
        out[i] = value;
}
static void part(void *arg, int number, int parts)
{
    fill_row *r = arg;
    int64_t lo, hi;
    bench_part(r->s.n, 64, number, parts, &lo, &hi);
    fill(r->s.at[0], r->value, lo, hi);
}
static void plain_one(void *data)
{
    fill_row *r = data;
    r->by_weft = false;
    fill(r->s.at[0], r->value, 0, r->s.n);
}
static void plain_all(void *data)
{
    fill_row *r = data;
    r->by_weft = false;
    bench_pool_run(r->s.b->pool, part, r);
}

static void clear(void *data)
{
    fill_row *r = data;
    bench_stream_spoil(&r->s, 0);
    r->value += 1;
}

static bool check(void *data, char *why, size_t cap)
{
    const fill_row *r = data;
    const float *at = r->s.at[0];
    int64_t stride;
    if (r->by_weft && wf_map(r->made, (void **)&at, &stride) != WF_OK)
        return bench_fail(r->s.b, "wf_map: %s", wf_message(r->s.b->ctx));
    for (int64_t i = 0; i < r->s.n; ++i)
        if (!(at[i] == r->value)) {
            snprintf(why, cap, "element %lld is %.9g, not %.9g", (long long)i, (double)at[i], (double)r->value);
            return false;
        }
    return true;
}

static void done(void *data)
{
    fill_row *r = data;
    wf_release(r->made);
    bench_stream_free(&r->s);
    free(r);
}

static bool setup(bench *b, bench_case *c)
{
    fill_row *r = bench_stream_case(c, sizeof *r, b, (int64_t)1 << 26, 1, 0, 1);
    if (!r)
        return false;
    c->clear = clear;
    c->check = check;
    c->done = done;
    bench_add(c, "weft", "", weft_full);
    bench_add(c, "plain", "1 thread", plain_one);
    bench_add(c, "plain", "all threads", plain_all);
    return true;
}

const bench_row bench_full_64m = { "full_64m", "wf_full, n = 2^26 f32", "ms", 1e3, "memory bandwidth", setup };
