/* gpu.h - rows, contenders and their measurement on one GPU.
 *
 * A row is one workload, a contender one way to do it: by Weft, by hand (hand.h), or by the driver's own copy. All work
 * on the same arrays, each one's result is checked before it is measured, and they are measured in turns, forth and
 * back, so that a change of the clocks meets everybody. A turn is a number of calls that are given to the device one
 * after the other, and one wait: some milliseconds, beside which the wait's microseconds do not count.
 *
 * A row is a function that makes arrays and adds contenders (none: it is left out); rows_<x>.c, of which rows_stream.c begins with the
 * shortest. What is expected of element i of the result is computed on the host, from i.
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
    int64_t side, n; /* of the large arrays: a square of n elements */
    double budget;   /* seconds to measure a row */
    double copy;     /* bytes per second of the driver's copy, read and written; 0: unknown */
    const gpu_driver *driver;
    const hand_library *hand; /* NULL: none */
    const char *cache;        /* a folder of this run */
    FILE *json;
    bool failed, lost; /* a row or the check of a contender; the device, for the rest of this process */
} gpu_bench;

/* What a row is to reach, by its median: a share of the driver's copy at least, a multiple of the fastest way by hand at
 * most, or seconds at most. */
typedef enum gpu_goal { GPU_NO_GOAL, GPU_OF_COPY, GPU_OF_HAND, GPU_SECONDS } gpu_goal;

typedef struct gpu_case gpu_case;
typedef struct gpu_row {
    const char *name, *what;
    gpu_goal goal;
    double limit;
    void (*setup)(gpu_case *c);
    int64_t of; /* for setup: which of several rows this is */
} gpu_row;
/* Of each file; end with name == NULL. */
extern const gpu_row gpu_stream_rows[], gpu_reduce_rows[], gpu_index_rows[], gpu_window_rows[], gpu_launch_rows[];

typedef struct gpu_contender {
    const char *who,
        *how; /* "weft", "aside" (Weft, too), "hand" or "driver"; what distinguishes it from others of the same name, or "" */
    /* one of these does the work */
    wf_kernel *kernel; /* a launch of this, which is freed with the case */
    bool (*call)(gpu_case *c);
    double (*figure)(gpu_case *c); /* does it once and returns its seconds; NaN: failed */
    const hand_way *way;
    wf_arg arg[GPU_ARGS]; /* of the kernel */
    size_t args;
    hand_args to; /* of the way, and of the driver's copy */
    /* results */
    int64_t calls; /* of a turn; 0: it is out */
    int rounds;
    double seconds[GPU_ROUNDS]; /* of a call, by turn */
    double median, least;
    double cost; /* of a turn, and what a figure does beside what it measures */
} gpu_contender;

struct gpu_case {
    gpu_bench *b;
    const gpu_row *row;
    double bytes; /* that a call has to move; 0: not a matter of memory */
    bool figures; /* contenders have nothing to check in arrays */
    bool waits;   /* each call is waited for */
    wf_array *kept[GPU_KEPT];
    int kept_n;
    /* The result: `made` where that is not NULL, else `result`, which holds `before` when a checked call starts (NaN or
     * 77 unless said). Of its elements up to `looked_at` (0: 4 million), in 64 parts, must come to what is expected,
     * within `tolerance` (1 + |expected|), but for a share `allowed`. */
    wf_array *result, *made;
    double before;
    bool has_before;
    double (*expected)(const gpu_case *c, int64_t i);
    int64_t looked_at;
    double tolerance, allowed;
    int64_t m;  /* for expected: whatever the row says */
    void *data; /* likewise; freed with the case */
    wf_stream *stream;
    wf_frozen *frozen;
    gpu_contender at[GPU_CONTENDERS];
    int n;
    char error[256];
};

/* A recording for the row's device; options as wf_begin has them. */
#define GPU_RECORD(c, ...) wf_begin((c)->b->ctx, .device = (c)->b->device, __VA_ARGS__)

/* measure.c */
double gpu_now(void);
/* A way to do the row by Weft: launches of a kernel (NULL: the context says why). Of several the fastest counts. */
void gpu_launches(gpu_case *c, const char *how, wf_kernel *kernel, wf_args args);
/* The same in a way that one has to ask for: measured, but not what counts as Weft's time. */
void gpu_aside(gpu_case *c, const char *how, wf_kernel *kernel, wf_args args);
void gpu_calls(gpu_case *c, const char *how, bool (*call)(gpu_case *c));
void gpu_figures(gpu_case *c, const char *how, double (*figure)(gpu_case *c));
/* All ways by hand to do the rows of this name, if there are any and a library. Addresses: gpu_at. */
void gpu_by_hand(gpu_case *c, const char *row, hand_args args);
void gpu_by_driver(gpu_case *c, hand_args args); /* a copy of n elements of 4 bytes */
/* Runs the row, checked and measured, and reports it. */
void gpu_run_row(gpu_bench *b, const gpu_row *row);
/* Whether Weft's call went well; else the case has its message. */
bool gpu_ok(gpu_case *c, wf_status status);
bool gpu_fail(gpu_case *c, const char *why); /* always false */

/* data.c */
wf_array *gpu_keep(gpu_case *c, wf_array *array); /* released with the case; NULL: its context says why. Returns it */
wf_array *gpu_empty(gpu_case *c, wf_dtype dtype, wf_shape shape);
wf_array *gpu_numbers(gpu_case *c, int64_t n);               /* f32: i mod GPU_PERIOD at i */
double gpu_number(int64_t i);                                /* the same */
double gpu_sum(int64_t first, int64_t step, int64_t count);  /* of number(first + k step) */
wf_array *gpu_random(gpu_case *c, int64_t n, uint32_t salt); /* u32: evenly over all values */
uint32_t gpu_random_at(int64_t i, uint32_t salt);            /* the same */
double gpu_same(const gpu_case *c, int64_t i);               /* expected of a copy of numbers */
wf_kernel *gpu_copying(gpu_case *c);                         /* out = a */
void *gpu_at(const gpu_case *c, wf_array *array);            /* its address; NULL where nobody works by hand */
bool gpu_right(gpu_case *c);                                 /* looks at the result */

/* driver.c */
gpu_driver *gpu_driver_open(wf_device device); /* NULL: none, or the emulator beside one */
bool gpu_driver_copy(const gpu_driver *d, void *to, const void *from, int64_t bytes);
bool gpu_driver_wait(const gpu_driver *d);
void gpu_driver_close(gpu_driver *d);
const hand_library *gpu_hand_open(const char *path, int device); /* NULL: cannot be opened, said on stderr */

/* report.c */
void gpu_report(gpu_case *c);
#endif
