/* rows_launch.c - what a small kernel costs: launched in every way, recorded, compiled, found on disk. */
#include "gpu.h"
#include "../program.h"
#include <math.h>

enum { SMALL = 1024, QUEUED = 100, OPERATIONS = 1000 };

/* ---- prepared ----------------------------------------------------------------------------------------------------- */

static void launch(gpu_case *c)
{
    wf_array *a = gpu_numbers(c, SMALL), *out = gpu_empty(c, WF_F32, WF_SHAPE(SMALL));
    gpu_launches(c, "", gpu_copying(c), WF_NAMED(a, out));
    gpu_by_hand(c, "launch", (hand_args){ .in = { gpu_at(c, a) }, .out = { gpu_at(c, out) }, .n = SMALL });
    c->result = out;
    c->expected = gpu_same;
    c->waits = c->row->of;
}

/* ---- ten operations: kept are a, b, c and out ---------------------------------------------------------------------- */

static double tenfold(const gpu_case *c, int64_t i)
{
    double v = gpu_number(i);
    (void)c;
    for (int k = 0; k < 5; ++k)
        v = v * 0.5 + 2;
    return v;
}

static bool traced(gpu_case *c)
{
    wf_graph *g = GPU_RECORD(c, .name = "ten");
    wf_val v = wf_in(g, c->kept[0]), b = wf_in(g, c->kept[1]), add = wf_in(g, c->kept[2]);
    wf_out(g, c->kept[3], bench_ten(v, b, add));
    return gpu_ok(c, wf_run(g));
}

static void make_ten(gpu_case *c)
{
    gpu_numbers(c, SMALL);
    gpu_keep(c, wf_full(c->b->ctx, WF_F32, WF_SHAPE(SMALL), 0.5));
    gpu_keep(c, wf_full(c->b->ctx, WF_F32, WF_SHAPE(SMALL), 2));
    c->result = gpu_empty(c, WF_F32, WF_SHAPE(SMALL));
    c->expected = tenfold;
    gpu_by_hand(c, "ten",
                (hand_args){ .in = { gpu_at(c, c->kept[0]), gpu_at(c, c->kept[1]), gpu_at(c, c->kept[2]) },
                             .out = { gpu_at(c, c->result) },
                             .n = SMALL });
}

static void launch_traced(gpu_case *c)
{
    make_ten(c);
    gpu_calls(c, "", traced);
}

static bool replayed(gpu_case *c) { return gpu_ok(c, wf_frozen_replay(c->frozen, (wf_arrays){ c->kept, 4 })); }

static void replay(gpu_case *c)
{
    make_ten(c);
    if (gpu_ok(c, wf_freeze_begin(c->b->ctx, (wf_arrays){ c->kept, 4 })) && traced(c)) {
        c->frozen = wf_freeze_end(c->b->ctx);
        if (!c->frozen)
            gpu_ok(c, wf_last_status(c->b->ctx) ? wf_last_status(c->b->ctx) : WF_ERR_ARG);
    }
    gpu_calls(c, "", replayed);
}

/* Seconds of one recording of several that go into a stream of Weft's. `whole`: until the stream is done. */
static double queue(gpu_case *c, bool whole)
{
    wf_set_stream(c->b->ctx, c->b->device, c->stream);
    double start = gpu_now();
    bool good = true;
    for (int k = 0; k < QUEUED && good; ++k)
        good = traced(c);
    double seconds = gpu_now() - start;
    good = gpu_ok(c, wf_stream_sync(c->stream)) && good;
    seconds = whole ? gpu_now() - start : seconds;
    wf_set_stream(c->b->ctx, c->b->device, NULL);
    return good ? seconds / QUEUED : NAN;
}
static double queue_and_wait(gpu_case *c) { return queue(c, true); }
static double queue_only(gpu_case *c) { return queue(c, false); }

static void queued(gpu_case *c)
{
    make_ten(c);
    c->n = 0; /* nobody else has such a queue */
    c->stream = wf_stream_new(c->b->ctx, c->b->device);
    if (!c->stream)
        gpu_ok(c, wf_last_status(c->b->ctx) ? wf_last_status(c->b->ctx) : WF_ERR_DEVICE);
    c->figures = true;
    gpu_figures(c, "", c->row->of ? queue_only : queue_and_wait);
}

/* ---- the first run of a recording ----------------------------------------------------------------------------------- */

/* Seconds from wf_begin until the device is done, in a new context; salt: makes another program. */
static double first_run(gpu_case *c, int ops, double salt, const char *cache, bool from_disk)
{
    wf_config config = { .size = sizeof config, .device = c->b->device, .cache_dir = cache };
    config.flags_on = cache ? 0 : WF_FLAG_NO_DISK_CACHE;
    wf_context *ctx = wf_context_new(&config);
    wf_array *x = wf_array_arange(ctx, WF_F32, SMALL, 0.5, 1.0 / SMALL),
             *y = wf_array_arange(ctx, WF_F32, SMALL, 1.5, -1.0 / SMALL), *out = wf_like(x);
    static float got[SMALL];
    wf_info before = { .size = sizeof before }, after = { .size = sizeof after };
    wf_sync(ctx);
    wf_get_info(ctx, false, &before);
    double start = gpu_now();
    wf_graph *g = wf_begin(ctx, .device = c->b->device);
    wf_out(g, out, bench_program(wf_in(g, x), wf_in(g, y), ops, salt));
    bool good = wf_run(g) == WF_OK && wf_sync(ctx) == WF_OK;
    double seconds = gpu_now() - start;
    wf_get_info(ctx, false, &after);
    good = good && wf_download(out, got, sizeof got) == WF_OK;
    if (!good)
        gpu_fail(c, wf_last_message(ctx));
    if (after.compiled - before.compiled != !from_disk || after.disk_hits - before.disk_hits != from_disk)
        good = gpu_fail(c, from_disk ? "it was not found on disk" : "it was not compiled");
    for (int i = 0; i < SMALL && good; ++i) {
        double want = bench_program_value(0.5 + (double)i / SMALL, 1.5 - (double)i / SMALL, ops, salt);
        if (!(fabs((double)got[i] - want) <= 1e-4 * (1 + fabs(want))))
            good = gpu_fail(c, "wrong result");
    }
    wf_release(x);
    wf_release(y);
    wf_release(out);
    wf_context_free(ctx);
    return good ? seconds : NAN;
}

static double cold(gpu_case *c) { return first_run(c, (int)c->row->of, 1e-6 * (double)++c->m, NULL, false); }

static double from_disk(gpu_case *c) { return first_run(c, (int)c->row->of, 0, c->b->cache, true); }

static void first(gpu_case *c)
{
    c->figures = true;
    gpu_figures(c, "", cold);
}

static void first_from_disk(gpu_case *c)
{
    c->figures = true;
    if (!c->b->cache)
        return; /* no --cache: the row is left out */
    first_run(c, (int)c->row->of, 0, c->b->cache, false);
    gpu_figures(c, "", from_disk);
}

/* ---- text: what wf_kernel_dump does, without the driver -------------------------------------------------------------- */

/* Seconds for the PTX of a kernel of a thousand operations, each time another one. Again: it is planned already. */
static double generate(gpu_case *c, bool again)
{
    wf_graph *g = GPU_RECORD(c, .name = "long");
    wf_array *out = wf_formal(g, "out", WF_F32, 1);
    wf_val start = wf_in(g, c->kept[0]), v = start;
    ++c->m;
    for (int k = 0; k < OPERATIONS / 2; ++k)
        v = wf_add(wf_mul(v, start), (double)(k + 2 + c->m));
    wf_out(g, out, v);
    wf_kernel *kernel = wf_compile(g);
    wf_args args = WF_ARGS(WF_ARG("out", c->kept[0]));
    double seconds = NAN;
    for (int turn = 0; turn <= again; ++turn) {
        size_t length = 0;
        double begun = gpu_now();
        bool good = kernel && gpu_ok(c, wf_kernel_dump(kernel, args, WF_DUMP_PTX, NULL, 0, &length)) && length > 0;
        seconds = good ? gpu_now() - begun : NAN;
    }
    wf_kernel_free(kernel);
    if (isnan(seconds))
        gpu_fail(c, wf_last_message(c->b->ctx));
    return seconds;
}
static double plan_and_text(gpu_case *c) { return generate(c, false); }
static double text_only(gpu_case *c) { return generate(c, true); }

static void ptx(gpu_case *c)
{
    gpu_numbers(c, 64);
    c->figures = true;
    gpu_figures(c, "", c->row->of ? text_only : plan_and_text);
}

const gpu_row gpu_launch_rows[] = {
    { "launch", "prepared kernel of 1024 elements, one of many", GPU_SECONDS, 3e-6, launch, 0 },
    { "launch_wait", "the same, each waited for", GPU_NO_GOAL, 0, launch, 1 },
    { "launch_traced", "10 operations on 1024 elements, wf_begin to wf_run", GPU_NO_GOAL, 0, launch_traced, 0 },
    { "queued", "100 of them into a stream of Weft's, and a wait", GPU_NO_GOAL, 0, queued, 0 },
    { "queued_caller", "what of that the caller waits for", GPU_NO_GOAL, 0, queued, 1 },
    { "replay", "the same recorded once and frozen", GPU_NO_GOAL, 0, replay, 0 },
    { "cold_10", "compile and run 10 operations", GPU_NO_GOAL, 0, first, 10 },
    { "cold_100", "100 operations", GPU_NO_GOAL, 0, first, 100 },
    { "cold_1000", "1000 operations", GPU_NO_GOAL, 0, first, 1000 },
    { "disk_10", "load from disk and run 10 operations", GPU_NO_GOAL, 0, first_from_disk, 10 },
    { "disk_100", "100 operations", GPU_NO_GOAL, 0, first_from_disk, 100 },
    { "disk_1000", "1000 operations", GPU_NO_GOAL, 0, first_from_disk, 1000 },
    { "ptx", "plan and PTX of 1000 operations", GPU_NO_GOAL, 0, ptx, 0 },
    { "ptx_text", "PTX of 1000 operations, which are planned", GPU_SECONDS, 1e-4, ptx, 1 },
    { 0 },
};
