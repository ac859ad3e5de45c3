/* main.c - weft-bench-gpu: measures Weft on one GPU, beside the driver's own copy and kernels written by hand.
 * tools/bench_gpu runs this program and other systems, and makes the report. */
#include "gpu.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    const char *device, *rows, *after, *json, *hand, *cache;
    bool list;
    gpu_bench b;
} options;

static const gpu_row *const tables[] = { gpu_stream_rows, gpu_reduce_rows, gpu_index_rows, gpu_window_rows,
                                         gpu_launch_rows };

static int usage(void)
{
    fprintf(stderr,
            "usage: weft-bench-gpu [--device cuda:0] [--side 16384] [--budget SECONDS] [--json FILE]\n"
            "                      [--hand LIBRARY] [--cache FOLDER] [--rows NAME,PART OF A NAME] [--list]\n"
            "                      [--after NAME: starts after this row, which lost the device or did not end]\n");
    return 2;
}

static bool parse(options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--list")) {
            o->list = true;
            continue;
        }
        if (++i >= argc)
            return false;
        if (!strcmp(name, "--device"))
            o->device = value;
        else if (!strcmp(name, "--side"))
            o->b.side = atoll(value);
        else if (!strcmp(name, "--budget"))
            o->b.budget = atof(value);
        else if (!strcmp(name, "--json"))
            o->json = value;
        else if (!strcmp(name, "--hand"))
            o->hand = value;
        else if (!strcmp(name, "--cache"))
            o->cache = value;
        else if (!strcmp(name, "--rows"))
            o->rows = value;
        else if (!strcmp(name, "--after"))
            o->after = value;
        else
            return false;
    }
    o->b.device = wf_device_named(o->device);
    return o->b.device >= WF_GPU(0) && o->b.side >= 16 && o->b.side <= 32768;
}

static bool is_chosen(const char *rows, const char *name)
{
    if (!rows)
        return true;
    for (const char *at = rows; *at;) {
        size_t n = strcspn(at, ",");
        for (const char *in = name; n && *in; ++in)
            if (!strncmp(in, at, n))
                return true;
        at += n + (at[n] == ',');
    }
    return false;
}

/* The row of the driver's copy, which also lets the clocks rise: measured twice before the other rows and once after. */
static void measure_copy(gpu_case *c)
{
    int64_t n = c->b->n;
    wf_array *from = gpu_numbers(c, n), *to = gpu_empty(c, WF_F32, WF_SHAPE(n));
    c->result = to;
    c->expected = NULL;
    c->figures = true;
    c->bytes = 8 * (double)n;
    gpu_by_driver(c, (hand_args){ .in = { gpu_at(c, from) }, .out = { gpu_at(c, to) }, .n = n });
}

/* A kernel that fails makes the device unusable for its process. A kernel that never ends, or an error of the host, ends
 * the process. Another process does the remaining rows, from the row that --after names. */
static const char *volatile running = "";
enum { TOO_LONG = 100 };

static void lose(const char *name)
{
    const char *parts[] = { "lost by ", name, "\n" };
    for (int i = 0; i < 3; ++i)
        if (write(1, parts[i], strlen(parts[i])) < 0)
            break;
}

static void on_signal(int number)
{
    (void)number;
    lose(running);
    _exit(3);
}

static bool run_one(gpu_bench *b, const gpu_row *row)
{
    running = row->name;
    alarm(TOO_LONG);
    gpu_run_row(b, row);
    alarm(0);
    if (b->lost)
        lose(row->name);
    return !b->lost;
}

static void run(gpu_bench *b, const char *rows, const char *after)
{
    static const gpu_row copy = { "driver_copy", "the driver's copy", GPU_NO_GOAL, 0, measure_copy, 0 };
    if (b->driver) {
        gpu_run_row(b, &copy);
        gpu_run_row(b, &copy);
    }
    for (size_t t = 0; t < sizeof tables / sizeof *tables; ++t)
        for (const gpu_row *row = tables[t]; row->name; ++row)
            if (after)
                after = strcmp(after, row->name) ? after : NULL;
            else if (is_chosen(rows, row->name) && !run_one(b, row))
                return;
    if (b->driver)
        gpu_run_row(b, &copy);
}

int main(int argc, char **argv)
{
    options o = { .device = "cuda:0", .b = { .side = 16384, .budget = 1 } };
    if (!parse(&o, argc, argv))
        return usage();
    for (size_t t = 0; o.list && t < sizeof tables / sizeof *tables; ++t)
        for (const gpu_row *row = tables[t]; row->name; ++row)
            printf("%-20s %s\n", row->name, row->what);
    if (o.list)
        return 0;
    gpu_bench *b = &o.b;
    const int ends[] = { SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGABRT };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i)
        signal(ends[i], on_signal);
    setenv("CUDA_CACHE_DISABLE", "1", 1); /* cold rows measure the driver's compiler */
    b->n = b->side * b->side;
    b->cache = o.cache;
    b->json = o.json ? fopen(o.json, o.after ? "a" : "w") : NULL;
    b->ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .device = b->device });
    if (!b->ctx || (o.json && !b->json))
        return 1;
    gpu_driver *driver = gpu_driver_open(b->device);
    b->driver = driver;
    if (o.hand && driver)
        b->hand = gpu_hand_open(o.hand, b->device - WF_GPU(0));
    if (b->json && !o.after)
        fprintf(b->json, "{\"machine\":\"%s\",\"side\":%lld,\"hand\":\"%s\"}\n", o.device, (long long)b->side,
                b->hand ? b->hand->made : "");
    run(b, o.rows, o.after);
    wf_context_free(b->ctx);
    gpu_driver_close(driver);
    if (b->json && fclose(b->json))
        b->failed = true;
    return b->lost ? 3 : b->failed;
}
