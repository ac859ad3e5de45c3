/* test_memory_fails_lazy.c - lazy arrays with the first, second, ... allocation failing, as in test_memory_fails.c:
 * copies on write, evaluation between operations, frozen sequences, records, scans, compression, watched loops. */
#include "memory_fails.h"
#include <math.h>

enum { N = 8 };

/* The source never moves; each copy gets memory of its own when it is written. */
static wf_status shares(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 0, 1), *b = wf_copy(a), *c = wf_copy(b), *part = NULL;
    wf_status status = a && b && c ? WF_OK : missing(ctx);
    if (status == WF_OK && !(part = wf_view_slice(b, 0, 0, 2, 1)))
        status = missing(ctx);
    for (int round = 0; round < 2 && status == WF_OK; ++round) {
        wf_graph *g = wf_begin(ctx);
        wf_array *to = round ? a : part;
        wf_out(g, to, wf_add(wf_in(g, to), 10));
        status = g ? wf_run(g) : missing(ctx);
    }
    assert_true(holds(c, (const float[]){ 0, 1, 2, 3, 4, 5, 6, 7 }, N, &status));
    assert_true(holds(b, (const float[]){ 10, 11, 2, 3, 4, 5, 6, 7 }, N, &status));
    assert_true(holds(a, (const float[]){ 10, 11, 12, 13, 14, 15, 16, 17 }, N, &status));
    RELEASE(a, b, c, part);
    return status;
}

static wf_status evaluations(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 0, 1), *kept = NULL, *last = NULL;
    wf_status status = a ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_mul(wf_in(g, a), 2), total = wf_sum(v, WF_ALL_AXES);
        kept = wf_keep(wf_add(v, total));
        status = g ? wf_eval(g) : missing(ctx);
        last = wf_keep(wf_sub(wf_add(v, 1), wf_div(total, 8)));
        if (status == WF_OK)
            status = wf_run(g);
        else
            wf_drop(g);
    }
    assert_true(holds(kept, (const float[]){ 56, 58, 60, 62, 64, 66, 68, 70 }, N, &status));
    assert_true(holds(last, (const float[]){ -6, -4, -2, 0, 2, 4, 6, 8 }, N, &status));
    RELEASE(a, kept, last);
    return status;
}

static wf_status add(wf_context *ctx, wf_array *out, wf_array *in, double x)
{
    wf_graph *g = wf_begin(ctx);
    wf_out(g, out, wf_add(wf_in(g, in), wf_param(g, "x", WF_F32, x)));
    return g ? wf_run(g) : missing(ctx);
}

static wf_status sequences(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 0, 1), *b = wf_array_arange(ctx, WF_F32, N, 100, 1),
             *out = wf_like(a);
    wf_array *view = a ? wf_view_slice(a, 0, 0, N, 1) : NULL;
    wf_status status = b && out && view ? WF_OK : missing(ctx);
    wf_frozen *frozen = NULL;
    if (status == WF_OK)
        status = wf_freeze_begin(ctx, WF_ARRAYS(a, out));
    if (status == WF_OK) {
        status = add(ctx, out, view, 1);
        if (status == WF_OK)
            status = add(ctx, out, out, 2);
        frozen = wf_freeze_end(ctx);
        if (status == WF_OK && !frozen)
            status = missing(ctx);
    }
    if (status == WF_OK)
        status = wf_frozen_replay(frozen, WF_ARRAYS(b, out));
    assert_true(holds(out, (const float[]){ 103, 104, 105, 106, 107, 108, 109, 110 }, N, &status));
    wf_frozen_free(frozen);
    RELEASE(a, b, out, view);
    return status;
}

/* Records of three parts, read, written and accumulated by index. */
static wf_status records(wf_context *ctx)
{
    wf_array *in = wf_array_arange(ctx, WF_F32, 12, 0, 1), *r = wf_view_reshape(in, WF_SHAPE(4, 3)),
             *out = wf_full(ctx, WF_F32, WF_SHAPE(4, 3), 0), *sum = wf_full(ctx, WF_F32, WF_SHAPE(2, 3), 0);
    wf_status status = in && r && out && sum ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(4));
        wf_val i = wf_index(g, 0), to = wf_sub(3, i);
        for (int c = 0; c < 3; ++c) {
            wf_val x = wf_read(g, r, i, c);
            wf_write(g, out, wf_mul(x, 2), to, c);
            wf_accumulate(g, WF_JOIN_ADD, sum, x, wf_mod(i, 2), c);
        }
        status = g ? wf_run(g) : missing(ctx);
    }
    assert_true(holds(out, (const float[]){ 18, 20, 22, 12, 14, 16, 6, 8, 10, 0, 2, 4 }, 12, &status));
    assert_true(holds(sum, (const float[]){ 6, 8, 10, 12, 14, 16 }, 6, &status));
    RELEASE(in, r, out, sum);
    return status;
}

/* Scans into a new array, into an existing one, and of a value that is stored first. */
static wf_status scans(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 0, 1), *b = wf_like(a), *kept = NULL;
    wf_status status = a && b ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val sums = wf_scan(WF_JOIN_ADD, wf_in(g, a), 0, false, false);
        wf_out(g, b, wf_scan(WF_JOIN_MAX, wf_mul(wf_in(g, a), -1), 0, false, true));
        kept = wf_keep(wf_reverse(sums, 0));
        status = g ? wf_run(g) : missing(ctx);
    }
    assert_true(holds(b, (const float[]){ -0.f, -1, -2, -3, -4, -5, -6, -7 }, N, &status));
    assert_true(holds(kept, (const float[]){ 28, 21, 15, 10, 6, 3, 1, 0 }, N, &status));
    RELEASE(a, b, kept);
    return status;
}

static wf_status chosen(wf_context *ctx)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 0, 1), *some = NULL, *rest = NULL;
    wf_status status = a ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_mul(wf_in(g, a), 3), p[2];
        some = wf_compress(v, wf_gt(v, 13));
        wf_meshgrid(p, v, wf_iota(g, WF_SHAPE(2), 0));
        rest = some ? wf_keep(wf_sum(wf_mul(p[0], p[1]), WF_AXES(1))) : NULL;
        status = g ? wf_run(g) : missing(ctx);
        if (status == WF_OK && (!some || !rest))
            status = missing(ctx);
    }
    assert_true(holds(some, (const float[]){ 15, 18, 21 }, 3, &status));
    assert_true(holds(rest, (const float[]){ 0, 3, 6, 9, 12, 15, 18, 21 }, N, &status));
    RELEASE(a, some, rest);
    return status;
}

static wf_status count_turns(void *user, const wf_seen *seen)
{
    *(int64_t *)user += seen->on;
    return WF_OK;
}

static wf_status watched(wf_context *ctx)
{
    int64_t turns = 0;
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 0, 1), *kept = NULL;
    wf_status status = a ? WF_OK : missing(ctx);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx, .flags_on = WF_FLAG_DEBUG);
        wf_var x = wf_local(g, WF_F32, wf_in(g, a));
        WF_WHILE (g, wf_lt(x, 6)) {
            wf_inc(x, 2);
            wf_watch(g, "x", x, count_turns, &turns);
        }
        WF_END(g);
        kept = wf_keep(x);
        wf_watch(g, "sum", wf_sum(x, WF_ALL_AXES), count_turns, &turns);
        status = g ? wf_run(g) : missing(ctx);
    }
    assert_true(holds(kept, (const float[]){ 6, 7, 6, 7, 6, 7, 6, 7 }, N, &status));
    assert_true(status != WF_OK || turns == 13);
    RELEASE(a, kept);
    return status;
}

/* Row by row, with rows of temporary arrays in memory of each worker. */
static wf_status rows(wf_context *ctx)
{
    wf_array *x = wf_full(ctx, WF_F32, WF_SHAPE(1024, 520), 1), *kept = NULL;
    wf_status status = x ? WF_OK : missing(ctx);
    float *got = NULL;
    if (status == WF_OK) {
        wf_graph *g = wf_begin(ctx);
        wf_val e = wf_exp(wf_in(g, x));
        kept = wf_keep(wf_div(e, wf_sum(e, WF_AXES(1))));
        status = g ? wf_run(g) : missing(ctx);
    }
    if (status == WF_OK)
        status = wf_map(kept, (void **)&got, NULL);
    assert_true(status != WF_OK || fabsf(got[7] * 520 - 1) < 1e-5f);
    RELEASE(x, kept);
    return status;
}

int main(void)
{
#define EACH(name)                \
    {                             \
#name, name, WF_INTERP, 1 \
    }
    static const memory_case cases[] = {
        EACH(shares), EACH(evaluations), EACH(sequences), EACH(records),
        EACH(scans),  EACH(chosen),      EACH(watched),   { "rows", rows, WF_CPU, 2 }
    };
    return run_memory_cases(cases, WF__COUNT(cases), NULL);
}
