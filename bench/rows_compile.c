/* rows_compile.c - the first run of a recording: compiled (cold), found in the cache on disk (disk), or interpreted while
 * it is compiled (first). The time includes recording, planning and the run, on 1024 elements or, in first rows, 10^4. The
 * context is new each time; cold and first rows have LLVM open, disk rows do not open it. */
#include "bench.h"
#include "program.h"
#include <math.h>

enum { N = 1024, FIRST_N = 10000 };

typedef struct compile_row {
    bench *b;
    int ops, n; /* operations, elements */
    char cache[256];
    double salt; /* a constant of the program, which makes each cold program a new one */
} compile_row;

static bool right(compile_row *r, const float *x, const float *y, const float *out, double salt)
{
    for (int i = 0; i < r->n; ++i) {
        double want = bench_program_value((double)x[i], (double)y[i], r->ops, salt);
        if (!(fabs((double)out[i] - want) <= 1e-4 * (1 + fabs(want))))
            return bench_fail(r->b, "element %d is %.9g, not %.9g", i, (double)out[i], want);
    }
    return true;
}

/* Seconds from wf_begin to the result; NaN on error. */
static double first_run(compile_row *r, wf_context *ctx, double salt)
{
    static float x[FIRST_N], y[FIRST_N], out[FIRST_N];
    const int n = r->n;
    for (int i = 0; i < n; ++i) {
        x[i] = 0.5f + bench_random(1, (uint64_t)i);
        y[i] = 0.5f + bench_random(2, (uint64_t)i);
        out[i] = NAN;
    }
    wf_array *ax = wf_wrap(ctx, x, WF_F32, WF_SHAPE(n), NULL, NULL),
             *ay = wf_wrap(ctx, y, WF_F32, WF_SHAPE(n), NULL, NULL);
    wf_array *ao = wf_wrap(ctx, out, WF_F32, WF_SHAPE(n), NULL, NULL);
    double start = bench_now();
    wf_graph *g = wf_begin(ctx);
    wf_out(g, ao, bench_program(wf_in(g, ax), wf_in(g, ay), r->ops, salt));
    wf_status status = wf_run(g);
    double seconds = bench_now() - start;
    bool good = bench_ok(r->b, status, ctx, "wf_run") && right(r, x, y, out, salt);
    wf_release(ax);
    wf_release(ay);
    wf_release(ao);
    return good ? seconds : NAN;
}

static wf_info info(wf_context *ctx, bool open_llvm)
{
    wf_info i = { .size = sizeof i };
    wf_get_info(ctx, open_llvm, &i);
    return i;
}

static double compiled(compile_row *r, uint32_t flags_off)
{
    wf_config config = {
        .size = sizeof config, .threads = r->b->threads, .flags_on = WF_FLAG_NO_DISK_CACHE, .flags_off = flags_off
    };
    wf_context *ctx = wf_context_new(&config);
    if (info(ctx, true).llvm_major == 0)
        bench_fail(r->b, "LLVM was not found");
    r->salt += 1e-6;
    double seconds = first_run(r, ctx, r->salt);
    if (info(ctx, false).compiled != 1)
        bench_fail(r->b, "%d kernels were compiled, not 1", (int)info(ctx, false).compiled);
    wf_context_free(ctx);
    return seconds;
}

static double first(void *data) { return compiled(data, 0); }
static double cold(void *data) { return compiled(data, WF_FLAG_INTERPRET_FIRST); }
static double cold_for_good(void *data) { return compiled(data, WF_FLAG_INTERPRET_FIRST | WF_FLAG_TIERED); }

static double disk(void *data)
{
    compile_row *r = data;
    wf_config config = { .size = sizeof config, .threads = r->b->threads, .cache_dir = r->cache };
    wf_context *ctx = wf_context_new(&config);
    double seconds = first_run(r, ctx, 0);
    wf_info i = info(ctx, false);
    if (i.disk_hits != 1 || i.compiled != 0 || i.llvm_major != 0)
        bench_fail(r->b, "not from disk: %d found, %d compiled, LLVM %d", (int)i.disk_hits, (int)i.compiled,
                   i.llvm_major);
    wf_context_free(ctx);
    return seconds;
}

/* Seconds of a recording with several kernels, whose outputs differ in shape. */
static double several(compile_row *r, int threads)
{
    enum { KERNELS = 4 };
    wf_config config = { .size = sizeof config,
                         .threads = threads,
                         .flags_on = WF_FLAG_NO_DISK_CACHE,
                         .flags_off = WF_FLAG_INTERPRET_FIRST };
    wf_context *ctx = wf_context_new(&config);
    wf_array *x[KERNELS], *out[KERNELS];
    if (info(ctx, true).llvm_major == 0)
        bench_fail(r->b, "LLVM was not found");
    r->salt += 1e-6;
    for (int i = 0; i < KERNELS; ++i) {
        x[i] = wf_array_arange(ctx, WF_F32, N + i, 1, 1e-3);
        out[i] = wf_like(x[i]);
    }
    uint64_t before = info(ctx, false).compiled;
    double start = bench_now();
    wf_graph *g = wf_begin(ctx);
    for (int i = 0; i < KERNELS; ++i)
        wf_out(g, out[i], bench_program(wf_in(g, x[i]), wf_in(g, x[i]), r->ops + i, r->salt));
    bench_ok(r->b, wf_run(g), ctx, "wf_run");
    double seconds = bench_now() - start;
    if (info(ctx, false).compiled - before != KERNELS)
        bench_fail(r->b, "%d kernels were compiled, not %d", (int)(info(ctx, false).compiled - before), KERNELS);
    for (int i = 0; i < KERNELS; ++i) {
        wf_release(x[i]);
        wf_release(out[i]);
    }
    wf_context_free(ctx);
    return seconds;
}

static double several_alone(void *data) { return several(data, 1); }
static double several_together(void *data)
{
    compile_row *r = data;
    return several(r, r->b->threads);
}

static const bench_kind kind = { sizeof(compile_row), NULL, NULL, NULL };

static compile_row *new_row(bench *b, bench_case *c, int ops, int n)
{
    compile_row *r = bench_data(b, c, &kind);
    if (!r)
        return NULL;
    r->b = b;
    r->ops = ops;
    r->n = n;
    snprintf(r->cache, sizeof r->cache, "%s/disk-%d", b->scratch, ops);
    return r;
}

static void cold_several(bench *b, bench_case *c)
{
    new_row(b, c, 100, N);
    bench_add_figure(c, "weft", "", several_together);
    bench_add_figure(c, "weft", "1 thread", several_alone);
}

static void setup_cold(bench *b, bench_case *c)
{
    new_row(b, c, *(const int *)c->row->of, N);
    bench_add_figure(c, "weft", "for good", cold_for_good); /* without baseline code: optimised at once */
    bench_add_figure(c, "weft", "", cold);
}

static void setup_first(bench *b, bench_case *c)
{
    new_row(b, c, *(const int *)c->row->of, FIRST_N);
    bench_add_figure(c, "weft", "compiled", cold);
    bench_add_figure(c, "weft", "", first);
}

static void setup_disk(bench *b, bench_case *c)
{
    compile_row *r = new_row(b, c, *(const int *)c->row->of, N);
    if (!r)
        return;
    /* compiles once, so that every measurement finds the kernels on disk */
    wf_config config = { .size = sizeof config, .threads = b->threads, .cache_dir = r->cache };
    wf_context *ctx = wf_context_new(&config);
    first_run(r, ctx, 0); /* wf_context_free waits for the compilation */
    wf_context_free(ctx);
    bench_add_figure(c, "weft", "", disk);
}

#define COLD(ops, target)                                                                                       \
    const bench_row bench_cold_##ops = {                                                                        \
        "cold_" #ops, "compile and run " #ops " operations", "ms", 1e3, target, setup_cold, &(const int){ ops } \
    };
#define FIRST(ops, target)                                                                                    \
    const bench_row bench_first_##ops = { "first_" #ops,                                                      \
                                          "first result of " #ops " operations on 10^4 elements, not cached", \
                                          "us",                                                               \
                                          1e6,                                                                \
                                          target,                                                             \
                                          setup_first,                                                        \
                                          &(const int){ ops } };
#define DISK(ops, target)                                                                                              \
    const bench_row bench_disk_##ops = {                                                                               \
        "disk_" #ops, "load from disk and run " #ops " operations", "us", 1e6, target, setup_disk, &(const int){ ops } \
    };
COLD(10, "<= 2 ms")
COLD(100, "<= 4 ms")
COLD(1000, "<= 22 ms")
COLD(20000, "20 times cold_1000")
FIRST(10, "<= 200 us")
FIRST(100, "<= 1 ms")
DISK(10, "<= 30 us")
DISK(100, "<= 40 us")
DISK(1000, "<= 150 us")
const bench_row bench_cold_several = { "cold_several",
                                       "compile and run 4 kernels of 100 operations, one recording",
                                       "ms",
                                       1e3,
                                       "all threads compile",
                                       cold_several,
                                       NULL };
