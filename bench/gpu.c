/* gpu.c - weft-bench-gpu: Weft on one GPU, beside what the same run measures of the driver's own copy from device
 * memory to device memory. Every result is checked before it is measured. tools/bench_gpu runs it and keeps the report.
 */
#include "weft/array.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROUNDS = 200, OPERATIONS = 1000 };

typedef struct bench {
    wf_context *ctx;
    int64_t n;     /* elements of the large arrays, a square */
    int64_t side;  /* its root */
    double budget; /* seconds for a row */
    double copy;   /* bytes per second of the driver's copy; 0: unknown */
    FILE *json;
    int failed;
} bench;

typedef struct row {
    const char *name, *what;
    double bytes; /* moved by a call; 0: a latency */
    wf_kernel *kernel;
    wf_args args;
    wf_array *(*function)(const wf_array *array); /* in place of a kernel, of its first argument */
    bool (*check)(bench *b, const struct row *row);
    wf_array *out;
} row;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int fail(bench *b, const char *name, const char *why)
{
    fprintf(stderr, "weft-bench-gpu: %s: %s\n", name, why);
    b->failed = 1;
    return 0;
}

static void report(bench *b, const char *name, const char *what, double seconds, double bytes)
{
    double rate = bytes / seconds, share = b->copy > 0 ? 100 * rate / b->copy : 0;
    if (bytes > 0)
        printf("| %s | %s | %.2f us | %.1f GB/s | %.0f %% |\n", name, what, 1e6 * seconds, 1e-9 * rate, share);
    else
        printf("| %s | %s | %.3f us | | |\n", name, what, 1e6 * seconds);
    fflush(stdout);
    if (b->json)
        fprintf(b->json, "{\"row\":\"%s\",\"seconds\":%.9g,\"bytes\":%.0f,\"of_copy\":%.4g}\n", name, seconds, bytes,
                share / 100);
}

/* ---- the driver's copy ---- */
typedef struct driver {
    int (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int), (*release)(int), (*push)(void *),
        (*pop)(void **);
    int (*take)(uint64_t *, size_t), (*give)(uint64_t), (*copy)(uint64_t, uint64_t, size_t, void *), (*wait)(void *);
    int (*fill)(uint64_t, unsigned char, size_t, void *);
} driver;

static bool find(void *library, const char *name, void *function, size_t size)
{
    void *at = dlsym(library, name);
    memcpy(function, &at, size);
    return at != NULL;
}
#define FIND(name, field) find(library, name, &d.field, sizeof d.field)

static double copies(const driver *d, uint64_t to, uint64_t from, size_t bytes, double budget)
{
    double best = INFINITY, end = now() + budget;
    for (int round = 0; round < 3 || (round < MOST_ROUNDS && now() < end); ++round) {
        double start = now();
        for (int k = 0; k < 4; ++k)
            if (d->copy(to, from, bytes, NULL))
                return 0;
        d->wait(NULL);
        double took = (now() - start) / 4;
        best = took < best ? took : best;
    }
    return best;
}

/* Bytes read and written per second; 0: no such driver. */
static double copy_speed(const bench *b, int number)
{
    const char *own = getenv("WEFT_CUDA");
    void *library = dlopen(own ? own : "libcuda.so.1", RTLD_LAZY | RTLD_LOCAL), *context = NULL;
    driver d;
    uint64_t from = 0, to = 0;
    size_t bytes = (size_t)b->n * 4;
    int device;
    double seconds = 0;
    bool found = library && FIND("cuInit", init) && FIND("cuDeviceGet", get) &&
                 FIND("cuDevicePrimaryCtxRetain", retain) && FIND("cuDevicePrimaryCtxRelease_v2", release) &&
                 FIND("cuCtxPushCurrent_v2", push) && FIND("cuCtxPopCurrent_v2", pop) && FIND("cuMemAlloc_v2", take) &&
                 FIND("cuMemFree_v2", give) && FIND("cuMemcpyDtoDAsync_v2", copy) &&
                 FIND("cuStreamSynchronize", wait) && FIND("cuMemsetD8Async", fill);
    if (!found || d.init(0) || d.get(&device, number) || d.retain(&context, device))
        return 0;
    if (!d.push(context)) {
        if (!d.take(&from, bytes) && !d.take(&to, bytes) && !d.fill(from, 1, bytes, NULL))
            seconds = copies(&d, to, from, bytes, b->budget);
        if (from)
            d.give(from);
        if (to)
            d.give(to);
        d.pop(&context);
    }
    d.release(device);
    return seconds > 0 ? 2.0 * (double)bytes / seconds : 0;
}

/* ---- rows ---- */
static wf_status call_once(const row *r)
{
    if (!r->function)
        return wf_launch(r->kernel, r->args);
    wf_array *result = r->function(r->args.at[0].as.array);
    wf_release(result);
    return result ? WF_OK : WF_ERR_ARG;
}

/* Median seconds of a call, of a few calls between two waits. */
static double measure(bench *b, const row *r)
{
    double took[MOST_ROUNDS], end = now() + b->budget;
    int n = 0, calls = r->bytes > 0 ? 4 : 100;
    for (; n < 3 || (n < MOST_ROUNDS && now() < end); ++n) {
        double start = now();
        for (int k = 0; k < calls; ++k)
            if (call_once(r) != WF_OK)
                return fail(b, r->name, wf_message(b->ctx));
        if (wf_sync(b->ctx) != WF_OK)
            return fail(b, r->name, wf_message(b->ctx));
        took[n] = (now() - start) / calls;
    }
    qsort(took, (size_t)n, sizeof *took, by_value);
    return took[n / 2];
}

static void run(bench *b, row *r)
{
    if ((!r->kernel && !r->function) || call_once(r) != WF_OK)
        fail(b, r->name, wf_message(b->ctx));
    else if (!r->check(b, r))
        fail(b, r->name, "wrong result");
    else {
        double seconds = measure(b, r);
        if (seconds > 0)
            report(b, r->name, r->what, seconds, r->bytes);
    }
    wf_clear(b->ctx);
    wf_kernel_free(r->kernel);
}

/* The arrays hold i % 251 at i. */
static wf_array *numbers(bench *b, int64_t n)
{
    wf_graph *g = wf_begin(b->ctx);
    wf_array *a = wf_keep(wf_cast(wf_mod(wf_iota(g, WF_SHAPE(n), 0), 251), WF_F32));
    if (wf_run(g) == WF_OK)
        return a;
    wf_release(a);
    return NULL;
}

static float *values(const wf_array *a)
{
    size_t bytes = (size_t)wf_array_count(a) * sizeof(float);
    float *x = malloc(bytes + 1);
    if (x && wf_download(a, x, bytes) == WF_OK)
        return x;
    free(x);
    return NULL;
}

typedef double expected(int64_t i, const bench *b);

static bool all_are(bench *b, const wf_array *a, expected *want)
{
    float *x = values(a);
    bool right = x != NULL;
    for (int64_t i = 0; right && i < wf_array_count(a); ++i)
        right = fabs(x[i] - want(i, b)) <= 1e-5 * fabs(want(i, b));
    free(x);
    return right;
}

static double same(int64_t i, const bench *b)
{
    (void)b;
    return (double)(i % 251);
}
static double shifted(int64_t i, const bench *b) { return same(i + 1, b); }
static double triad(int64_t i, const bench *b) { return 2 * same(i, b) + same(i, b); }
static double total(int64_t i, const bench *b)
{
    (void)i;
    return (double)(b->n / 251) * 31375 + (double)((b->n % 251) * (b->n % 251 - 1) / 2);
}
static double row_sum(int64_t i, const bench *b)
{
    double sum = 0;
    for (int64_t x = 0; x < b->side; ++x)
        sum += same(i * b->side + x, b);
    return sum;
}
static double column_sum(int64_t i, const bench *b)
{
    double sum = 0;
    for (int64_t y = 0; y < b->side; ++y)
        sum += same(y * b->side + i, b);
    return sum;
}
enum { THIN = 16 }; /* columns, or rows, of long arrays */
static double tall_sum(int64_t i, const bench *b)
{
    double sum = 0;
    for (int64_t y = 0; y < b->n / THIN; ++y)
        sum += same(y * THIN + i, b);
    return sum;
}
static double long_sum(int64_t i, const bench *b)
{
    double sum = 0;
    for (int64_t x = 0; x < b->n / THIN; ++x)
        sum += same(i * (b->n / THIN) + x, b);
    return sum;
}
static double key_count(int64_t i, const bench *b) { return (double)(b->n / 251 + (i < b->n % 251)); }

static bool check_same(bench *b, const row *r) { return all_are(b, r->out, same); }
static bool check_shifted(bench *b, const row *r) { return all_are(b, r->out, shifted); }
static bool check_triad(bench *b, const row *r) { return all_are(b, r->out, triad); }
static bool check_total(bench *b, const row *r) { return all_are(b, r->out, total); }
static bool check_rows(bench *b, const row *r) { return all_are(b, r->out, row_sum); }
static bool check_columns(bench *b, const row *r) { return all_are(b, r->out, column_sum); }
static bool check_tall(bench *b, const row *r) { return all_are(b, r->out, tall_sum); }
static bool check_long(bench *b, const row *r) { return all_are(b, r->out, long_sum); }
static bool check_counts(bench *b, const row *r)
{
    float *x = values(r->out); /* it is accumulated into, once so far */
    bool right = x != NULL;
    for (int64_t i = 0; right && i < 251; ++i)
        right = x[i] == (float)key_count(i, b);
    free(x);
    return right;
}
static wf_array *sort(const wf_array *a) { return wf_array_sort(a, 0, false); }
static bool check_sorted(bench *b, const row *r) /* the numbers 0 to 250, each as often as there were */
{
    wf_array *sorted = sort(r->args.at[0].as.array);
    float *x = values(sorted);
    int64_t at = 0;
    for (int64_t k = 0; x && k < 251; ++k)
        for (int64_t end = at + (int64_t)key_count(k, b); at < end && x[at] == (float)k; ++at)
            ;
    free(x);
    wf_release(sorted);
    return at == b->n;
}
static bool check_window(bench *b, const row *r)
{
    float *x = values(r->out);
    int64_t y = b->side / 2;
    double sum = 0;
    for (int64_t dy = -5; dy <= 5; ++dy)
        for (int64_t dx = -5; dx <= 5; ++dx)
            sum += same((y + dy) * b->side + y + dx, b);
    bool right = x && fabs(x[y * b->side + y] - sum) <= 1e-4 * sum;
    free(x);
    return right;
}

static wf_kernel *elementwise(bench *b, bool second)
{
    wf_graph *g = wf_begin(b->ctx, .device = wf_context_device(b->ctx), .name = second ? "triad" : "copy");
    wf_array *a = wf_formal(g, "a", WF_F32, 1), *c = second ? wf_formal(g, "c", WF_F32, 1) : NULL;
    wf_array *out = wf_formal(g, "out", WF_F32, 1);
    wf_val v = wf_in(g, a);
    wf_out(g, out, second ? wf_add(wf_mul(v, 2), wf_in(g, c)) : v);
    return wf_compile(g);
}

static wf_kernel *summing(bench *b, wf_axes axes, const char *name)
{
    wf_graph *g = wf_begin(b->ctx, .device = wf_context_device(b->ctx), .name = name);
    wf_array *a = wf_formal(g, "a", WF_F32, 2), *out = wf_formal(g, "out", WF_F32, 2);
    wf_out(g, out, wf_reduce(WF_ADD, wf_in(g, a), axes));
    return wf_compile(g);
}

static wf_kernel *counting(bench *b)
{
    wf_graph *g = wf_begin(b->ctx, .device = wf_context_device(b->ctx), .shape = WF_SHAPE(b->n), .name = "histogram");
    wf_array *a = wf_formal(g, "a", WF_F32, 1), *out = wf_formal(g, "out", WF_F32, 1);
    wf_accumulate(g, WF_ADD, out, 1, wf_cast(wf_read(g, a, wf_index(g, 0)), WF_I32));
    return wf_compile(g);
}

static wf_kernel *window(bench *b)
{
    wf_graph *g =
        wf_begin(b->ctx, .device = wf_context_device(b->ctx), .shape = WF_SHAPE(b->side, b->side), .name = "window");
    wf_array *a = wf_formal(g, "a", WF_F32, 2), *out = wf_formal(g, "out", WF_F32, 2);
    wf_val y = wf_index(g, 0), x = wf_index(g, 1), sum = wf_const(g, WF_F32, 0);
    for (int dy = -5; dy <= 5; ++dy)
        for (int dx = -5; dx <= 5; ++dx)
            sum = wf_add(sum, wf_read_or(g, a, 0, wf_add(y, dy), wf_add(x, dx)));
    wf_out(g, out, sum);
    return wf_compile(g);
}

#define RUN(name_, what_, bytes_, kernel_, check_, in, out_)              \
    run(b, &(row){ .name = name_,                                         \
                   .what = what_,                                         \
                   .bytes = bytes_,                                       \
                   .kernel = kernel_,                                     \
                   .args = WF_ARGS(WF_ARG("a", in), WF_ARG("out", out_)), \
                   .check = check_,                                       \
                   .out = out_ })

static void run_rows(bench *b)
{
    double bytes = 4.0 * (double)b->n;
    wf_array *a = numbers(b, b->n), *out = a ? wf_like(a) : NULL, *few = out ? numbers(b, 1024) : NULL;
    wf_array *one = few ? wf_like(few) : NULL, *sum = one ? wf_full(b->ctx, WF_F32, WF_SHAPE(1, 1), 0) : NULL;
    wf_array *high = sum ? wf_full(b->ctx, WF_F32, WF_SHAPE(b->side, 1), 0) : NULL;
    wf_array *wide = high ? wf_full(b->ctx, WF_F32, WF_SHAPE(1, b->side), 0) : NULL;
    wf_array *counts = wide ? wf_full(b->ctx, WF_F32, WF_SHAPE(251), 0) : NULL;
    wf_shape square = WF_SHAPE(b->side, b->side);
    if (!counts) {
        fail(b, "memory", wf_message(b->ctx));
        return;
    }
    wf_array *odd = wf_view_slice(a, 0, 1, b->n, 1), *odd_out = wf_view_slice(out, 0, 0, b->n - 1, 1);
    wf_array *grid = wf_view_reshape(a, square), *grid_out = wf_view_reshape(out, square);
    wf_array *whole = wf_view_slice(a, 0, 0, b->n / THIN * THIN, 1);
    wf_array *tall = wf_view_reshape(whole, WF_SHAPE(b->n / THIN, THIN)),
             *flat = wf_view_reshape(whole, WF_SHAPE(THIN, b->n / THIN)),
             *thin[] = { wf_full(b->ctx, WF_F32, WF_SHAPE(1, THIN), 0), wf_full(b->ctx, WF_F32, WF_SHAPE(THIN, 1), 0) };
    RUN("copy", "y = x", 2 * bytes, elementwise(b, false), check_same, a, out);
    RUN("copy_odd", "y = x, x 4 bytes past an aligned address", 2 * bytes, elementwise(b, false), check_shifted, odd,
        odd_out);
    run(b, &(row){ .name = "triad",
                   .what = "y = 2 a + c",
                   .bytes = 3 * bytes,
                   .kernel = elementwise(b, true),
                   .args = WF_ARGS(WF_ARG("a", a), WF_ARG("c", a), WF_ARG("out", out)),
                   .check = check_triad,
                   .out = out });
    RUN("sum", "all axes", bytes, summing(b, WF_ALL_AXES, "sum"), check_total, grid, sum);
    RUN("sum_rows", "the last axis", bytes, summing(b, WF_AXES(1), "sum of rows"), check_rows, grid, high);
    RUN("sum_columns", "the first axis", bytes, summing(b, WF_AXES(0), "sum of columns"), check_columns, grid, wide);
    RUN("sum_tall", "the first axis of 16 columns", bytes, summing(b, WF_AXES(0), "sum of long columns"), check_tall,
        tall, thin[0]);
    RUN("sum_long", "the last axis of 16 rows", bytes, summing(b, WF_AXES(1), "sum of long rows"), check_long, flat,
        thin[1]);
    RUN("histogram", "251 bins, f32", bytes, counting(b), check_counts, a, counts);
    RUN("window_11", "sum of 11 x 11 neighbours", 2 * bytes, window(b), check_window, grid, grid_out);
    run(b, &(row){ .name = "sort",
                   .what = "all f32 as one row",
                   .bytes = 2 * bytes,
                   .function = sort,
                   .args = WF_ARGS(WF_ARG("a", a)),
                   .check = check_sorted });
    RUN("launch", "prepared kernel of 1024 elements", 0, elementwise(b, false), check_same, few, one);
    const wf_array *all[] = { odd,  odd_out, grid,   grid_out, a,    out,  few,     one,    sum,
                              high, wide,    counts, whole,    tall, flat, thin[0], thin[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

/* PTX of a kernel of a thousand operations: what wf_dump does, without the driver. Twice: the plan is there then. */
static void generate(bench *b)
{
    double best[2] = { INFINITY, INFINITY };
    wf_array *a = numbers(b, 64);
    for (int round = 0; a && round < 7; ++round) {
        wf_graph *g = wf_begin(b->ctx);
        wf_array *out = wf_formal(g, "out", WF_F32, 1);
        wf_val first = wf_in(g, a), v = first;
        for (int k = 0; k < OPERATIONS / 2; ++k)
            v = wf_add(wf_mul(v, first), k + 2 + round); /* each another text */
        wf_out(g, out, v);
        wf_kernel *kernel = wf_compile(g);
        for (int again = 0; again < 2; ++again) {
            double start = now();
            size_t length = 0;
            wf_status status =
                kernel ? wf_kernel_dump(kernel, WF_ARGS(WF_ARG("out", a)), WF_DUMP_PTX, NULL, 0, &length) : WF_ERR_ARG;
            double took = now() - start;
            if (status != WF_OK || !length)
                fail(b, "ptx", wf_message(b->ctx));
            best[again] = took < best[again] ? took : best[again];
        }
        wf_kernel_free(kernel);
    }
    wf_release(a);
    if (!b->failed) {
        report(b, "ptx", "plan and PTX of 1000 operations", best[0], 0);
        report(b, "ptx_text", "PTX of 1000 operations, which are planned", best[1], 0);
    }
}

int main(int argc, char **argv)
{
    bench b = { .budget = 2, .side = 8192 };
    wf_config config = { .size = sizeof config, .device = WF_GPU(0) };
    const char *device = "cuda:0", *json = NULL;
    for (int i = 1; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], "--device"))
            config.device = wf_device_named(device = argv[i + 1]);
        else if (!strcmp(argv[i], "--side"))
            b.side = atoll(argv[i + 1]);
        else if (!strcmp(argv[i], "--budget"))
            b.budget = atof(argv[i + 1]);
        else if (!strcmp(argv[i], "--json"))
            json = argv[i + 1];
        else
            argc = 0;
    if (argc % 2 == 0 || config.device < WF_GPU(0) || b.side < 16) {
        fprintf(stderr, "usage: weft-bench-gpu [--device cuda:0] [--side 8192] [--budget SECONDS] [--json FILE]\n");
        return 2;
    }
    b.n = b.side * b.side;
    b.ctx = wf_context_new(&config);
    b.json = json ? fopen(json, "w") : NULL;
    if (!b.ctx || (json && !b.json))
        return 1;
    b.copy = copy_speed(&b, config.device - WF_GPU(0));
    printf("%lld elements of 4 bytes; the driver's copy on %s moves %.1f GB/s (read and written)\n\n", (long long)b.n,
           device, 1e-9 * b.copy);
    printf("| row | what | time | moves | of the copy |\n|---|---|---|---|---|\n");
    run_rows(&b);
    generate(&b);
    if (b.json)
        fclose(b.json);
    wf_context_free(b.ctx);
    return b.failed;
}
