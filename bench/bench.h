/* bench.h - rows, contenders and their measurement.
 *
 * A row is one workload. Its contenders are Weft, hand-written C ("plain", "plain fast-math", "best"; several variants
 * may carry the same name, and the fastest one counts) and other systems that run as child processes. All of them are
 * measured in turns, A B C A B C ..., so that a change in the machine's speed meets everyone, and they are compared by
 * the ratios within a turn. Contenders of one row work on the same memory, and each one's result is checked before it
 * is measured.
 *
 * A row is a setup that makes the data and adds the contenders: calls, and for C what one thread does of a call, which
 * is handed the function that it shall run. rows_math.c is the shortest. main.c lists the rows.
 */
#ifndef BENCH_H
#define BENCH_H
#include "pool.h"
#include "weft/weft.h"
#include <stdio.h>

enum { BENCH_CONTENDERS = 16, BENCH_ROUNDS = 400, BENCH_PEERS = 4, BENCH_THREADS = 1024, BENCH_KEPT = 16 };

typedef struct bench_peer bench_peer;
typedef struct bench {
    wf_context *ctx;
    bench_pool *pool;
    int threads;
    bool quick;
    double budget;       /* seconds to spend on one row */
    const char *self;    /* path of this program */
    const char *scratch; /* an empty folder of this run */
    bench_peer *peer[BENCH_PEERS];
    int peers;
    char error[512]; /* of the contender that ran last; "" if none */
} bench;

typedef struct bench_contender {
    const char *who;     /* "weft", "plain", "plain fast-math", "best", "drjit" */
    const char *variant; /* what distinguishes it from others of the same name, or "" */
    /* one unit of work, timed by the framework: what threads do together, a second job of theirs, and a call */
    bench_part_fn *part[2];
    const void *how; /* for the parts: which function they call, say */
    bool alone;      /* the caller does them as part 0 of 1 */
    void (*call)(void *data);
    double (*figure)(void *data); /* instead: does the work once and returns its seconds (or another figure) */
    bench_peer *peer;             /* instead: a child process */
    bool once;                    /* the figure is a constant: one measurement is enough */
    /* results */
    int64_t calls;                /* per turn */
    double seconds[BENCH_ROUNDS]; /* per call, by turn; NaN where it sat out */
    double median, min;
    double ratio, ratio_low, ratio_high; /* Weft's time over this one's: median and quartiles */
} bench_contender;

/* What the rows of a file have in common; any of the functions may be NULL. */
typedef struct bench_kind {
    size_t size;                                      /* of a row's data */
    void (*clear)(void *data);                        /* spoils the result */
    bool (*check)(void *data, char *why, size_t cap); /* whether the result is right */
    void (*done)(void *data);                         /* frees what the case does not */
} bench_kind;

typedef struct bench_row bench_row;
typedef struct bench_case {
    const bench_row *row;
    const bench_kind *kind;
    void *data;
    wf_array *kept[BENCH_KEPT]; /* released with the case */
    int kept_n;
    wf_kernel *kernel; /* freed so, too */
    bench_contender at[BENCH_CONTENDERS];
    int n;
    int rounds;
} bench_case;

struct bench_row {
    const char *name, *what; /* "triad_64m", "a*b + c, n = 2^26" */
    const char *unit;
    double scale;       /* units per second */
    const char *target; /* what Weft is to reach, in words */
    /* Makes the data and adds the contenders. It fails by an error in b or in its context. */
    void (*setup)(bench *b, bench_case *c);
    const void *of; /* for setup: which of several rows this is */
};

/* X(name) for the rows bench_sum_<name> of rows_axes.c */
#define BENCH_AXES_ROWS(X) \
    X(c0)                  \
    X(c1)                  \
    X(c2)                  \
    X(c3) X(c01) X(c02) X(c03) X(c12) X(c13) X(c23) X(p0) X(p1) X(p2) X(p3) X(p01) X(p02) X(p03) X(p12) X(p13) X(p23)

/* All rows, in the order of the table; ends with NULL. Then those of single functions, which get a quarter of the time. */
extern const bench_row *const bench_rows[];
const bench_row *bench_function_row(int i); /* NULL: no more */

bench_contender *bench_add(bench_case *c, const char *who, const char *variant, void (*call)(void *data));
/* part(data, how, i, n) for every i of n threads. More may be set in what is returned. */
bench_contender *bench_add_parts(bench_case *c, const char *who, const char *variant, bench_part_fn *part,
                                 const void *how);
bench_contender *bench_add_figure(bench_case *c, const char *who, const char *variant, double (*figure)(void *data));

double bench_now(void); /* seconds, monotonic */
/* Keeps the first error of a contender; returns whether status is WF_OK. */
bool bench_ok(bench *b, wf_status status, wf_context *ctx, const char *what);
bool bench_fail(bench *b, const char *format, ...) __attribute__((format(printf, 2, 3))); /* always false */
/* Checks, measures and compares; false: a contender failed (already said on stderr). */
bool bench_measure(bench *b, const bench_row *row, bench_case *c);
/* The contender of this name with the smallest median, or NULL. */
const bench_contender *bench_fastest(const bench_case *c, const char *who);

/* peers.c: child processes that run the same rows (bench/peers/peer.py) */
bool bench_peers_start(bench *b, const char *python, const char *script);
void bench_peers_stop(bench *b);
const char *bench_peer_name(const bench_peer *peer);
const char *bench_peer_version(const bench_peer *peer);
bool bench_peer_prepare(bench_peer *peer, const char *row);
double bench_peer_run(bench_peer *peer, int64_t calls); /* seconds per call; NaN on error */

/* report.c */
typedef struct bench_report bench_report;
bench_report *bench_report_new(const char *json_path, const bench *b); /* NULL: the file cannot be written */
void bench_report_row(bench_report *r, const bench_row *row, const bench_case *c);
bool bench_report_free(bench_report *r); /* false: writing failed */

/* children.c: what this program does when it is started as a child of itself */
int bench_child(int argc, char **argv);

/* data.c: what a case owns, and inputs that every contender shares */
void *bench_data(bench *b, bench_case *c, const bench_kind *kind); /* kind->size zeros; NULL: b->error */
void bench_case_free(bench_case *c);
/* The array is released with the case. It may be NULL, which the context knows why. Returns it. */
wf_array *bench_keep(bench_case *c, wf_array *array);
void *bench_memory(bench *b, const wf_array *array); /* by wf_map; NULL: b->error */

typedef struct bench_stream {
    bench *b;
    int64_t n;
    int inputs, results;
    wf_array *array[7]; /* f32 [n], inputs first */
    float *at[7];       /* the same memory */
} bench_stream;
/* The data of a case that begins with a stream: arrays of n values, uniform in [low, high), different in each. */
void *bench_stream_data(bench *b, bench_case *c, const bench_kind *kind, int64_t n, int inputs, int results, float low,
                        float high);
/* As `clear` of a kind whose data begin with a stream: every byte of its results is 0xff, so they are NaN. */
void bench_spoil_results(void *data);
/* Value i of stream `stream` of random numbers, in [0, 1). */
float bench_random(uint64_t stream, uint64_t i);
#endif
