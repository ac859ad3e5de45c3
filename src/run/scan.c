/* scan.c - the stages of a plan that scan: every element joined with those before it along one axis.
 *
 * Along the innermost axis of the result, rows are cut into parts of fixed length: each element is joined with what the
 * parts before come to and with what its own part has come to, where eight elements wait for one join. So the bits depend
 * on the shape alone, and several threads share one row: they find what each part comes to first. Along other axes, elements
 * that lie side by side are scanned side by side. f32 is joined in f64 and rounded once.
 */
#include "run/scan.h"
#include "run/pool.h"
#include <math.h>

enum {
    PART = WF__SCAN_PART,
    COLUMNS = 512,
    LARGE = 1 << 16 /* points worth several threads */
};

typedef enum scan_pass { SUM, BEFORE, SCAN, COLUMN } scan_pass;

typedef struct scan_loop {
    const void *from;
    void *to, *acc;
    int64_t n, width, from_step, to_step, from_lane;
    bool exclusive;
} scan_loop;

typedef void run_fn(unsigned join, scan_pass pass, const scan_loop *l);

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

#define NAME(x) x##_i8
#define T int8_t
#define A int8_t
#include "run/scan_kernel.inc"
#define NAME(x) x##_u8
#define T uint8_t
#define A uint8_t
#include "run/scan_kernel.inc"
#define NAME(x) x##_i16
#define T int16_t
#define A int16_t
#include "run/scan_kernel.inc"
#define NAME(x) x##_u16
#define T uint16_t
#define A uint16_t
#include "run/scan_kernel.inc"
#define NAME(x) x##_i32
#define T int32_t
#define A int32_t
#include "run/scan_kernel.inc"
#define NAME(x) x##_u32
#define T uint32_t
#define A uint32_t
#include "run/scan_kernel.inc"
#define NAME(x) x##_i64
#define T int64_t
#define A int64_t
#include "run/scan_kernel.inc"
#define NAME(x) x##_u64
#define T uint64_t
#define A uint64_t
#define SUMS
#include "run/scan_kernel.inc"
#define NAME(x) x##_f32
#define T float
#define A double
#define FLOATS
#define SUMS
#include "run/scan_kernel.inc"
#define NAME(x) x##_f64
#define T double
#define A double
#define FLOATS
#define SUMS
#include "run/scan_kernel.inc"

static run_fn *const run_of[] = { [WF_BOOL] = run_u8, [WF_I8] = run_i8,   [WF_U8] = run_u8,   [WF_I16] = run_i16,
                                  [WF_U16] = run_u16, [WF_I32] = run_i32, [WF_U32] = run_u32, [WF_I64] = run_i64,
                                  [WF_U64] = run_u64, [WF_F32] = run_f32, [WF_F64] = run_f64 };

typedef struct scan {
    const wf__stage *stage;
    run_fn *run;
    unsigned join;
    char *from, *to;
    int64_t size; /* of an element */
    int64_t n, from_step, to_step;
    int axis, lane;              /* lane: along which columns lie side by side; -1: rows are scanned */
    int64_t rows, parts, chunks; /* parts and chunks of a row */
    uint64_t neutral;
    char *sums; /* [row][part] */
} scan;

/* Sums and products of i64 wrap, as those of u64 do. */
static run_fn *kernel_of(const wf__scan *how)
{
    bool wraps = how->join == WF_ADD || how->join == WF_MUL;
    return run_of[wraps && how->dtype == WF_I64 ? WF_U64 : how->dtype];
}

/* Where a row begins. */
static void find_row(const scan *s, int64_t row, int64_t *from, int64_t *to)
{
    const wf__scan *how = &s->stage->scan;
    *from = *to = 0;
    for (int d = s->stage->space.rank - 1; d >= 0; --d) {
        if (d == s->axis || d == s->lane)
            continue;
        int64_t i = row % s->stage->space.dim[d];
        row /= s->stage->space.dim[d];
        *from += i * how->from_stride[d];
        *to += i * how->to_stride[d];
    }
    if (how->reversed) {
        *from += (s->n - 1) * how->from_stride[s->axis];
        *to += (s->n - 1) * how->to_stride[s->axis];
    }
}

static void fill(void *acc, uint64_t bits, size_t size, int64_t n)
{
    for (int64_t k = 0; k < n; ++k)
        memcpy((char *)acc + (size_t)k * size, &bits, size); /* little-endian */
}

static size_t acc_size(const scan *s) { return s->stage->scan.dtype == WF_F32 ? sizeof(double) : (size_t)s->size; }

/* What is exclusive of everything: 0 for sums, which begin with -0. */
static void set_nothing(const scan *s, char *to)
{
    if (s->stage->scan.exclusive && s->join == WF_ADD)
        memset(to, 0, (size_t)s->size);
}

/* n elements of a row, from `first` on. */
static scan_loop row_loop(const scan *s, int64_t row, int64_t first, int64_t n)
{
    int64_t from, to;
    find_row(s, row, &from, &to);
    return (scan_loop){ .from = s->from + (from + first * s->from_step) * s->size,
                        .to = s->to + (to + first * s->to_step) * s->size,
                        .n = n,
                        .from_step = s->from_step,
                        .to_step = s->to_step,
                        .exclusive = s->stage->scan.exclusive };
}

/* A whole row, by one thread. */
static void scan_row(void *user, int64_t row, int worker)
{
    const scan *s = user;
    _Alignas(uint64_t) char acc[2 * sizeof(uint64_t)];
    scan_loop l = row_loop(s, row, 0, s->n);
    WF__UNUSED(worker);
    fill(acc, s->neutral, acc_size(s), 2);
    l.acc = acc;
    s->run(s->join, SCAN, &l);
    set_nothing(s, l.to);
}

static scan_loop part_loop(const scan *s, int64_t part)
{
    int64_t first = part % s->parts * PART;
    return row_loop(s, part / s->parts, first, s->n - first < PART ? s->n - first : PART);
}

static char *sum_of(const scan *s, int64_t part) { return s->sums + (size_t)part * acc_size(s); }

static void sum_part(void *user, int64_t part, int worker)
{
    const scan *s = user;
    scan_loop l = part_loop(s, part);
    WF__UNUSED(worker);
    l.acc = sum_of(s, part);
    fill(l.acc, s->neutral, acc_size(s), 1);
    s->run(s->join, SUM, &l);
}

static void scan_part(void *user, int64_t part, int worker)
{
    const scan *s = user;
    size_t size = acc_size(s);
    _Alignas(uint64_t) char acc[2 * sizeof(uint64_t)];
    scan_loop l = part_loop(s, part);
    WF__UNUSED(worker);
    fill(acc, s->neutral, size, 2);
    if (part % s->parts)
        memcpy(acc, sum_of(s, part), size);
    l.acc = acc;
    s->run(s->join, SCAN, &l);
    if (part % s->parts == 0)
        set_nothing(s, l.to);
}

/* Few long rows: parts of all rows in parallel. The same joins as scan_row's. */
static bool scan_parts(scan *s, wf__pool *pool, int threads)
{
    size_t bytes;
    if (!wf__mul_size((size_t)(s->rows * s->parts), acc_size(s), &bytes) || !(s->sums = wf__alloc(bytes)))
        return false;
    wf__pool_run_on(pool, threads, s->rows * s->parts, sum_part, s);
    for (int64_t r = 0; r < s->rows; ++r) {
        scan_loop l = { .acc = sum_of(s, r * s->parts), .n = s->parts };
        s->run(s->join, BEFORE, &l);
    }
    wf__pool_run_on(pool, threads, s->rows * s->parts, scan_part, s);
    wf__free(s->sums);
    return true;
}

/* Up to COLUMNS columns, from end to end. */
static void scan_columns(void *user, int64_t index, int worker)
{
    const scan *s = user;
    const wf__scan *how = &s->stage->scan;
    _Alignas(uint64_t) char acc[COLUMNS * sizeof(uint64_t)];
    int64_t from, to, first = index % s->chunks * COLUMNS, width = s->stage->space.dim[s->lane] - first;
    WF__UNUSED(worker);
    find_row(s, index / s->chunks, &from, &to);
    scan_loop l = { .from = s->from + (from + first * how->from_stride[s->lane]) * s->size,
                    .to = s->to + (to + first) * s->size,
                    .acc = acc,
                    .n = s->n,
                    .width = width < COLUMNS ? width : COLUMNS,
                    .from_step = s->from_step,
                    .to_step = s->to_step,
                    .from_lane = how->from_stride[s->lane],
                    .exclusive = how->exclusive };
    fill(acc, s->neutral, acc_size(s), l.width);
    s->run(s->join, COLUMN, &l);
    for (int64_t j = 0; j < l.width; ++j)
        set_nothing(s, (char *)l.to + j * s->size);
}

static void run_each(wf__pool *pool, int threads, int64_t n, wf__block_fn *fn, scan *s)
{
    if (threads > 1)
        wf__pool_run_on(pool, threads, n, fn, s);
    for (int64_t i = 0; threads <= 1 && i < n; ++i)
        fn(s, i, 0);
}

bool wf__scan_run(wf__pool *pool, int threads, const wf__stage *stage, char *const *base)
{
    const wf__scan *how = &stage->scan;
    const wf_shape *space = &stage->space;
    int64_t sign = how->reversed ? -1 : 1, size = (int64_t)wf__size(how->dtype);
    scan s = { .stage = stage, .run = kernel_of(how), .join = how->join, .size = size, .axis = how->axis, .lane = -1 };
    s.from = base[how->from];
    s.to = base[how->to];
    s.n = space->dim[s.axis];
    s.from_step = sign * how->from_stride[s.axis];
    s.to_step = sign * how->to_stride[s.axis];
    s.neutral = wf__join_neutral((wf_join)how->join, how->dtype == WF_F32 ? WF_F64 : how->dtype);
    int64_t points = 1;
    for (int d = 0; d < space->rank; ++d) {
        points *= space->dim[d];
        if (d != s.axis && space->dim[d] > 1)
            s.lane = d > s.axis ? d : s.lane;
    }
    if (!points)
        return true;
    if (points < LARGE)
        threads = 1;
    s.rows = points / s.n;
    s.parts = (s.n + PART - 1) / PART;
    if (s.lane >= 0) {
        s.rows /= space->dim[s.lane];
        s.chunks = (space->dim[s.lane] + COLUMNS - 1) / COLUMNS;
        run_each(pool, threads, s.rows * s.chunks, scan_columns, &s);
        return true;
    }
    if (threads > 1 && s.rows < 4 * threads && s.parts > 1)
        return scan_parts(&s, pool, threads);
    run_each(pool, threads, s.rows, scan_row, &s);
    return true;
}
