/* rows_fill.c - wf_full: a new array of 2^26 equal elements, in memory that was used before, beside filling such
 * memory in C. */
#include "bench.h"

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
    bench_ok(r->s.b, r->made ? WF_OK : wf_last_status(r->s.b->ctx), r->s.b->ctx, "wf_full");
}

static void part(void *data, const void *how, int part, int parts)
{
    const fill_row *r = data;
    const bench_range at = bench_split(r->s.n, 64, part, parts);
    float *out = r->s.at[0], value = r->value;
    (void)how;
    for (int64_t i = at.lo; i < at.hi; ++i)
        out[i] = value;
}

static void clear(void *data)
{
    fill_row *r = data;
    bench_spoil_results(r);
    r->by_weft = false;
    r->value += 1;
}

static bool check(void *data, char *why, size_t cap)
{
    const fill_row *r = data;
    const float *at = r->s.at[0];
    int64_t stride;
    if (r->by_weft && wf_map(r->made, (void **)&at, &stride) != WF_OK)
        return bench_fail(r->s.b, "wf_map: %s", wf_last_message(r->s.b->ctx));
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
}

static const bench_kind kind = { sizeof(fill_row), clear, check, done };

static void setup(bench *b, bench_case *c)
{
    if (!bench_stream_data(b, c, &kind, (int64_t)1 << 26, 0, 1, 0, 1))
        return;
    bench_add(c, "weft", "", weft_full);
    bench_add_parts(c, "plain", "1 thread", part, NULL)->alone = true;
    bench_add_parts(c, "plain", "all threads", part, NULL);
}

const bench_row bench_full_64m = { "full_64m", "wf_full, n = 2^26 f32", "ms", 1e3, "memory bandwidth", setup, NULL };
