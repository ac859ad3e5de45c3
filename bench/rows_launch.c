/* rows_launch.c - what a small kernel costs: 10 operations on 1024 elements; and what recording costs. */
#include "bench.h"
#include "kernels.h"
#include "program.h"
#include <math.h>

enum { RECORDED = 100000, QUEUED = 100 };

typedef struct launch_row {
    bench_stream s; /* a, b, c, out */
    wf_kernel *kernel;
    wf_frozen *frozen;
    wf_stream *stream;
} launch_row;

static void weft_traced(void *data)
{
    launch_row *r = data;
    wf_graph *g = wf_begin(r->s.b->ctx);
    wf_val a = wf_in(g, r->s.array[0]), b = wf_in(g, r->s.array[1]), c = wf_in(g, r->s.array[2]);
    wf_out(g, r->s.array[3], bench_ten(a, b, c));
    bench_ok(r->s.b, wf_run(g), r->s.b->ctx, "wf_run");
}

static void weft_prepared(void *data)
{
    launch_row *r = data;
    wf_array *a = r->s.array[0], *b = r->s.array[1], *c = r->s.array[2], *out = r->s.array[3];
    bench_ok(r->s.b, wf_launch(r->kernel, WF_NAMED(a, b, c, out)), r->s.b->ctx, "wf_launch");
}

static void weft_replayed(void *data)
{
    launch_row *r = data;
    bench_ok(r->s.b, wf_frozen_replay(r->frozen, (wf_arrays){ r->s.array, 4 }), r->s.b->ctx, "wf_frozen_replay");
}

typedef void ten_fn(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi);
static ten_fn *const plain = plain_ten, *const best = best_ten;

static void part(void *data, const void *how, int part, int parts)
{
    const bench_stream *s = data;
    const bench_range at = bench_split(s->n, 64, part, parts);
    (*(ten_fn *const *)how)(s->at[3], s->at[0], s->at[1], s->at[2], at.lo, at.hi);
}

static bool check(void *data, char *why, size_t cap)
{
    const launch_row *r = data;
    for (int64_t i = 0; i < r->s.n; ++i) {
        double want = (double)r->s.at[0][i], got = (double)r->s.at[3][i];
        for (int k = 0; k < 5; ++k)
            want = want * (double)r->s.at[1][i] + (double)r->s.at[2][i];
        if (fabs(got - want) <= 4e-6 * fabs(want))
            continue;
        snprintf(why, cap, "element %lld is %.9g, not %.9g", (long long)i, got, want);
        return false;
    }
    return true;
}

static void done(void *data)
{
    launch_row *r = data;
    wf_frozen_free(r->frozen);
    wf_stream_free(r->stream);
}
static const bench_kind kind = { sizeof(launch_row), bench_spoil_results, check, done };

static launch_row *setup(bench *b, bench_case *c, void (*weft)(void *))
{
    launch_row *r = bench_stream_data(b, c, &kind, 1024, 3, 1, 0.5f, 1.5f);
    if (!r)
        return NULL;
    wf_graph *g = wf_begin(b->ctx, .name = "ten");
    wf_val x = wf_in(g, wf_formal(g, "a", WF_F32, 1)), y = wf_in(g, wf_formal(g, "b", WF_F32, 1));
    wf_val z = wf_in(g, wf_formal(g, "c", WF_F32, 1));
    wf_out(g, wf_formal(g, "out", WF_F32, 1), bench_ten(x, y, z));
    r->kernel = c->kernel = wf_compile(g);
    bench_add(c, "weft", "", weft);
    bench_add_parts(c, "plain", "1 thread", part, &plain)->alone = true;
    if (bench_best_available())
        bench_add_parts(c, "best", "1 thread", part, &best)->alone = true;
    return r;
}
static void prepared(bench *b, bench_case *c) { setup(b, c, weft_prepared); }
static void traced(bench *b, bench_case *c) { setup(b, c, weft_traced); }
static void replay(bench *b, bench_case *c)
{
    launch_row *r = setup(b, c, weft_replayed);
    if (!r || !bench_ok(b, wf_freeze_begin(b->ctx, (wf_arrays){ r->s.array, 4 }), b->ctx, "wf_freeze_begin"))
        return;
    weft_traced(r);
    r->frozen = wf_freeze_end(b->ctx);
}

/* ---- in a stream ------------------------------------------------------------------------------------------------- */

/* Seconds for one launch of several that are queued; `whole`: until they are done, else until the caller gets on. */
static double queue(launch_row *r, bool whole)
{
    wf_array *a = r->s.array[0], *b = r->s.array[1], *c = r->s.array[2], *out = r->s.array[3];
    double start = bench_now(), seconds = 0;
    for (int k = 0; k < QUEUED; ++k)
        bench_ok(r->s.b, wf_launch(r->kernel, WF_NAMED(a, b, c, out), .stream = r->stream), r->s.b->ctx, "wf_launch");
    seconds = bench_now() - start;
    bench_ok(r->s.b, wf_stream_sync(r->stream), r->s.b->ctx, "wf_stream_sync");
    return (whole ? bench_now() - start : seconds) / QUEUED;
}
static double queue_only(void *data) { return queue(data, false); }
static double queue_and_wait(void *data) { return queue(data, true); }

static void queued(bench *b, bench_case *c)
{
    launch_row *r = setup(b, c, weft_prepared);
    if (!r)
        return;
    r->stream = wf_stream_new(b->ctx, WF_CPU);
    c->n = 0; /* C has no queue to compare with */
    bench_add_figure(c, "weft", "100 launches and wf_stream_sync", queue_and_wait);
    bench_add_figure(c, "weft", "the caller's part", queue_only);
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

/* Seconds for one operation in recordings of `ops`. Again: the same operations a second time, so that each is found. */
static double record(const bench_stream *s, int ops, bool again)
{
    double seconds = 0;
    int recordings = again ? 1 : RECORDED / ops;
    for (int k = 0; k < recordings; ++k) {
        wf_graph *g = wf_begin(s->b->ctx);
        wf_val x = wf_in(g, s->array[0]), y = wf_in(g, s->array[1]), first = x;
        if (again)
            first = bench_program(x, y, ops, 0);
        double start = bench_now();
        wf_val v = bench_program(x, y, ops, 0);
        seconds += bench_now() - start;
        if (v.h.num == 0)
            bench_fail(s->b, "recording failed: %s", wf_last_message(s->b->ctx)); /* poison */
        if (again && !(v.h.num == first.h.num))
            bench_fail(s->b, "equal expressions are two nodes");
        wf_drop(g);
        wf_clear_error(s->b->ctx);
    }
    return seconds / (double)recordings / (double)ops;
}

static double record_short(void *data) { return record(data, 1000, false); }
static double record_long(void *data) { return record(data, RECORDED, false); }
static double record_again(void *data) { return record(data, RECORDED, true); }

static const bench_kind recorded = { sizeof(bench_stream), NULL, NULL, NULL };

static void tracing(bench *b, bench_case *c)
{
    if (!bench_stream_data(b, c, &recorded, 1024, 2, 0, 0.5f, 1.5f))
        return;
    bench_add_figure(c, "weft", "recordings of 1000", record_short);
    bench_add_figure(c, "weft", "recordings of 100 000", record_long);
    bench_add_figure(c, "weft", "the same 100 000 again", record_again);
}

const bench_row bench_launch_prepared = {
    "launch_prepared", "10 operations, n = 1024, one wf_launch", "us", 1e6, "<= 0.3 us", prepared, NULL
};
const bench_row bench_launch_traced = {
    "launch_traced", "10 operations, n = 1024, wf_begin to wf_run", "us", 1e6, "<= 2 us", traced, NULL
};
const bench_row bench_launch_queued = {
    "launch_queued", "10 operations, n = 1024, one wf_launch of 100 into a stream", "us", 1e6, "<= 2 us", queued, NULL
};
const bench_row bench_replay = { "replay",   "10 operations, n = 1024, recorded once and frozen: one wf_frozen_replay",
                                 "us",       1e6,
                                 "< 0.3 us", replay,
                                 NULL };
const bench_row bench_tracing = { "tracing",
                                  "recording one operation, with folding and value numbering",
                                  "ns",
                                  1e9,
                                  "<= 20 ns (50 million a second)",
                                  tracing,
                                  NULL };
