/* gpu.h - rows, contenders and their measurement on one GPU.
 *
 * A row is one workload. A contender is one way to do the work: by Weft, by hand (hand.h), or by the driver's own copy.
 * All contenders of a row use the same arrays, and each result is checked before it is measured. They are measured in
 * turns, forth and back, so that a change of the clocks affects all of them alike. A turn queues a number of calls on
 * the device and waits once. It takes some milliseconds, beside which the microseconds of the wait do not count.
 *
 * The setup of a row makes the arrays and adds the contenders; a row without contenders is skipped. rows_stream.c begins
 * with the shortest one. The host computes the expected element i of a result from i.
 */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H
#include "hand.h"
#include "weft/functions.h"
#include <stdio.h>

enum { GPU_ROUNDS = 201, GPU_CONTENDERS = 12, GPU_KEPT = 10, GPU_ARGS = 6, GPU_PERIOD = 251 };

typedef struct gpu_driver gpu_driver;
typedef struct gpu_bench {
    wf_context *ctx;
    wf_device device;
    int64_t side, n; /* side and number of elements of the large square arrays */
    double budget;   /* seconds to measure a row */
    double copy;     /* bytes per second of the driver's copy, read and written; 0 = unknown */
    const gpu_driver *driver;
    const hand_library *hand; /* or NULL */
    const char *cache;        /* folder for compiled kernels of this run, or NULL */
    FILE *json;               /* or NULL */
    bool failed;              /* a row or a check failed */
    bool lost;                /* the device is unusable for the rest of this process */
} gpu_bench;

/* The goal of a row's median: at least a share of the driver's copy, at most a multiple of the fastest way by hand, or at
 * most a number of seconds. */
typedef enum gpu_goal { GPU_NO_GOAL, GPU_OF_COPY, GPU_OF_HAND, GPU_SECONDS } gpu_goal;

typedef struct gpu_case gpu_case;
typedef struct gpu_row {
    const char *name, *what;
    gpu_goal goal;
    double limit;
    void (*setup)(gpu_case *c);
    int64_t of; /* parameter of the row, for setup */
} gpu_row;
/* The rows of each file; the last one has the name NULL. */
extern const gpu_row gpu_stream_rows[], gpu_reduce_rows[], gpu_index_rows[], gpu_window_rows[], gpu_launch_rows[];

typedef struct gpu_contender {
    const char *who; /* "weft", "aside" (a way of Weft that does not count), "hand" or "driver" */
    const char *how; /* distinguishes contenders of one name, or "" */
    /* one of these does the work; none: the driver's copy */
    wf_kernel *kernel; /* launched; freed with the case */
    bool (*call)(gpu_case *c);
    double (*figure)(gpu_case *c); /* does the work once and returns its seconds; NaN = failed */
    const hand_way *way;
    wf_arg arg[GPU_ARGS]; /* of the kernel */
    size_t args;
    hand_args to; /* of the way or the driver's copy */
    /* results */
    int64_t calls; /* per turn; 0 = failed */
    int rounds;
    double seconds[GPU_ROUNDS]; /* per call, by turn */
    double median, least;
    double cost; /* seconds of a turn, including the work that a figure does not count */
} gpu_contender;

struct gpu_case {
    gpu_bench *b;
    const gpu_row *row;
    double bytes; /* memory traffic of a call; 0 = not limited by memory */
    bool figures; /* no array is checked */
    bool waits;   /* waits after each call */
    wf_array *kept[GPU_KEPT];
    int kept_n;
    wf_array *result;                                 /* filled with `before` ahead of a checked call */
    wf_array *made;                                   /* result as a new array, checked in place of `result`; or NULL */
    double before;                                    /* default: NaN, or 77 for integers */
    bool has_before;                                  /* `before` is set */
    double (*expected)(const gpu_case *c, int64_t i); /* element i of the right result */
    int64_t looked_at;                                /* number of elements checked, in 64 parts; 0 = 4 million */
    double tolerance;                                 /* of an element, times 1 + |expected| */
    double allowed;                                   /* share of the elements that may be wrong */
    int64_t m;                                        /* parameter of the row, for expected */
    void *data;                                       /* likewise; freed with the case */
    wf_stream *stream;
    wf_frozen *frozen;
    gpu_contender at[GPU_CONTENDERS];
    int n;
    char error[256];
};

/* A recording for the row's device; options as wf_begin has them. */
#define GPU_RECORD(c, ...) wf_begin((c)->b->ctx, .device = (c)->b->device, __VA_ARGS__)

/* case.c */
/* Stores the error, unless there is one. Returns false. */
bool gpu_fail(gpu_case *c, const char *why);
/* True if status is WF_OK. Else stores the context's error and clears it. */
bool gpu_ok(gpu_case *c, wf_status status);
/* Releases the array with the case. NULL: stores the context's error. Returns the array. */
wf_array *gpu_keep(gpu_case *c, wf_array *array);
/* Adds a contender of Weft that launches a kernel; NULL: stores the context's error. Of several the fastest counts. */
void gpu_launches(gpu_case *c, const char *how, wf_kernel *kernel, wf_args args);
/* The same with options that a user has to set: measured, but not counted as Weft's time. */
void gpu_aside(gpu_case *c, const char *how, wf_kernel *kernel, wf_args args);
void gpu_calls(gpu_case *c, const char *how, bool (*call)(gpu_case *c));
void gpu_figures(gpu_case *c, const char *how, double (*figure)(gpu_case *c));
/* Adds all ways by hand for rows of this name, if the library is loaded. `args` has addresses from gpu_at. */
void gpu_by_hand(gpu_case *c, const char *row, hand_args args);
/* Adds the driver's copy of n elements of 4 bytes. */
void gpu_by_driver(gpu_case *c, hand_args args);

/* measure.c */
double gpu_now(void); /* seconds, monotonic */
/* Sets up, checks, measures and reports a row. */
void gpu_run_row(gpu_bench *b, const gpu_row *row);

/* check.c */
/* True if the result is right; else stores why not. */
bool gpu_right(gpu_case *c);

/* data.c */
wf_array *gpu_empty(gpu_case *c, wf_dtype dtype, wf_shape shape);
wf_array *gpu_numbers(gpu_case *c, int64_t n);               /* f32: element i is i mod GPU_PERIOD */
double gpu_number(int64_t i);                                /* element i of gpu_numbers */
double gpu_sum(int64_t first, int64_t step, int64_t count);  /* of gpu_number(first + k * step), 0 <= k < count */
wf_array *gpu_random(gpu_case *c, int64_t n, uint32_t salt); /* u32: uniform over all values */
uint32_t gpu_random_at(int64_t i, uint32_t salt);            /* element i of gpu_random */
double gpu_same(const gpu_case *c, int64_t i);               /* `expected` of a copy of gpu_numbers */
wf_kernel *gpu_copying(gpu_case *c);                         /* out = a */
void *gpu_at(const gpu_case *c, wf_array *array);            /* device address; NULL = there is no driver */

/* driver.c */
gpu_driver *gpu_driver_open(wf_device device); /* NULL: no driver, or the device is the emulator */
bool gpu_driver_copy(const gpu_driver *d, void *to, const void *from, int64_t bytes);
bool gpu_driver_wait(const gpu_driver *d);
void gpu_driver_close(gpu_driver *d);
const hand_library *gpu_hand_open(const char *path, int device); /* NULL after a message on stderr */

/* report.c */
void gpu_report(gpu_case *c);
#endif
