/* bench.h - rows, contenders and their measurement.
 *
 * A row is one workload. Its contenders are Weft, hand-written C ("plain", "plain fast-math", "best") and other systems,
 * which run as child processes. Of several variants with one name the fastest counts. The contenders are measured in
 * turns, A B C A B C ..., and compared by the ratios within a turn, so that a change in the machine's speed affects all
 * of them alike. The contenders of a row work on the same memory. Each result is checked before it is measured.
 *
 * The setup of a row makes the data and adds the contenders: a call, or for C the part of one thread and the function
 * that the part runs. rows_math.c is the shortest example. main.c lists the rows.
 */
#ifndef BENCH_H
#define BENCH_H
#include "pool.h"
#include "weft/weft.h"
#include <stdio.h>

enum { BENCH_CONTENDERS = 16, BENCH_ROUNDS = 400, BENCH_PEERS = 8, BENCH_THREADS = 1024, BENCH_KEPT = 16 };

typedef struct bench_peer bench_peer;
typedef struct bench {
    wf_context *ctx;
    bench_pool *pool;
    int threads;
    bool quick;
    double budget;       /* seconds to spend on one row */
    const char *scratch; /* an empty folder of this run */
    bench_peer *peer[BENCH_PEERS];
    int peers;
    char error[512]; /* of the contender that ran last; "" = none */
} bench;

typedef struct bench_contender {
    const char *who;     /* "weft", "plain", "plain fast-math", "best", "drjit" */
    const char *variant; /* distinguishes contenders of one name, or "" */
    /* one unit of work, timed by the framework: up to two jobs for all threads, then a call; each may be NULL */
    bench_part_fn *part[2];
    const void *how; /* passed to the parts, for example the function to call */
    bool alone;      /* the caller runs the parts, as part 0 of 1 */
    void (*call)(void *data);
    double (*figure)(void *data); /* in place of these: does the work once and returns its seconds or another figure */
    bench_peer *peer;             /* in place of these: a child process */
    bool once;                    /* the figure is a constant: one measurement is enough */
    /* results */
    int64_t calls;                /* per turn; 0 = failed */
    double seconds[BENCH_ROUNDS]; /* per call, by turn; NaN = not measured in that turn */
    double median, min;
    double ratio, ratio_low, ratio_high; /* Weft's time divided by this contender's: median and quartiles */
} bench_contender;

/* The data of the rows of a file; any of the functions may be NULL. */
typedef struct bench_kind {
    size_t size;                                      /* of a row's data, in bytes */
    void (*clear)(void *data);                        /* overwrites the result */
    bool (*check)(void *data, char *why, size_t cap); /* true if the result is right; else `why` is the reason */
    void (*done)(void *data);                         /* frees memory that the case does not own */
} bench_kind;

typedef struct bench_row bench_row;
typedef struct bench_case {
    const bench_row *row;
    const bench_kind *kind;
    void *data;
    wf_array *kept[BENCH_KEPT]; /* released with the case */
    int kept_n;
    wf_kernel *kernel; /* freed with the case */
    bench_contender at[BENCH_CONTENDERS];
    int n;
    int rounds;
} bench_case;

struct bench_row {
    const char *name, *what; /* "triad_64m", "a*b + c, n = 2^26" */
    const char *unit;
    double scale;       /* units per second */
    const char *target; /* the goal of Weft, in words */
    /* Makes the data and adds the contenders. An error in b or in its context is a failure. */
    void (*setup)(bench *b, bench_case *c);
    const void *of; /* parameters of the row, for setup */
};

/* X(name) for the rows bench_sum_<name> of rows_axes.c */
#define BENCH_AXES_ROWS(X) \
    X(c0)                  \
    X(c1)                  \
    X(c2)                  \
    X(c3) X(c01) X(c02) X(c03) X(c12) X(c13) X(c23) X(p0) X(p1) X(p2) X(p3) X(p01) X(p02) X(p03) X(p12) X(p13) X(p23)

/* All rows, in the order of the table; ends with NULL. */
extern const bench_row *const bench_rows[];
/* The rows of single functions, which get a quarter of the time; NULL after the last. */
const bench_row *bench_function_row(int i);

bench_contender *bench_add(bench_case *c, const char *who, const char *variant, void (*call)(void *data));
/* Adds a contender that runs part(data, how, i, n) for every i of n threads. The caller may set further fields. */
bench_contender *bench_add_parts(bench_case *c, const char *who, const char *variant, bench_part_fn *part,
                                 const void *how);
bench_contender *bench_add_figure(bench_case *c, const char *who, const char *variant, double (*figure)(void *data));

double bench_now(void); /* seconds, monotonic */
/* True if status is WF_OK. Else stores the error, unless there is one, and clears it in the context. */
bool bench_ok(bench *b, wf_status status, wf_context *ctx, const char *what);
/* Stores the error, unless there is one. Returns false. */
bool bench_fail(bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Checks, measures and compares the contenders. false: a contender failed, after a message on stderr. */
bool bench_measure(bench *b, const bench_row *row, bench_case *c);
/* The contender of this name with the smallest median, or NULL. */
const bench_contender *bench_fastest(const bench_case *c, const char *who);

/* peers.c: other systems, as child processes that run the same rows (bench/peers/peer.py) */
bool bench_peers_start(bench *b, const char *python, const char *script);
void bench_peers_stop(bench *b);
const char *bench_peer_name(const bench_peer *peer);
const char *bench_peer_version(const bench_peer *peer);
bool bench_peer_prepare(bench_peer *peer, const char *row);
double bench_peer_run(bench_peer *peer, int64_t calls); /* seconds per call; NaN = error */

/* report.c */
typedef struct bench_report bench_report;
bench_report *bench_report_new(const char *json_path, const bench *b); /* NULL: the file cannot be written */
void bench_report_row(bench_report *r, const bench_row *row, const bench_case *c);
bool bench_report_free(bench_report *r); /* false: writing failed */

/* data.c: memory of cases, and inputs that all contenders share */
void *bench_data(bench *b, bench_case *c, const bench_kind *kind); /* kind->size zeros; NULL: b->error is set */
void bench_case_free(bench_case *c);
/* Releases the array with the case. Returns the array, which may be NULL. */
wf_array *bench_keep(bench_case *c, wf_array *array);
void *bench_memory(bench *b, const wf_array *array); /* by wf_map; NULL: b->error is set */

typedef struct bench_stream {
    bench *b;
    int64_t n;
    int inputs, results;
    wf_array *array[7]; /* f32 [n], inputs first */
    float *at[7];       /* the same memory */
} bench_stream;
/* Makes data that begin with a bench_stream: arrays of n values, uniform in [low, high), which differ between arrays. */
void *bench_stream_data(bench *b, bench_case *c, const bench_kind *kind, int64_t n, int inputs, int results, float low,
                        float high);
/* The `clear` of kinds whose data begin with a bench_stream: fills the results with bytes 0xff, which are NaN. */
void bench_spoil_results(void *data);
/* Value i of stream `stream` of random numbers, in [0, 1). */
float bench_random(uint64_t stream, uint64_t i);
#endif
