/* scan.c - the stages of a plan that scan: every element is joined with those before it along one axis.
 *
 * Along the innermost axis of the result, rows are cut into parts of fixed length. Each element is joined with the
 * carry, the join of all parts before its own, and with the join of the elements before it in its part; eight elements
 * depend on one join. So the bits depend on the shape alone. Several threads can share one row in one pass over memory:
 * a thread joins its part, receives the carry from the part before, passes its own carry on, and scans the part, which
 * is still in its cache. Along other axes, adjacent columns are scanned together and cut into parts in the same way;
 * threads share columns if there are too few for all threads. f32 is joined in f64 and rounded once.
 *
 * Of a distributed array, each rank scans a window that begins with a part or with the axis. Where ranks divide the axis,
 * each joins the parts that it has whole, receives the carries into its first part from the rank before, and sends those
 * into the part after them to the next rank. Then it scans its window.
 *
 * The stage before the scan may produce the elements in pieces that stay in the cache. If the stage after the scan is
 * the only user of the result, it consumes the result piece by piece (scan_ranges.h). Pieces are in memory of the
 * workers.
 */
#include "run/cpu/scan.h"
#include "base/os.h"
#include "run/cpu/join_ranks.h"
#include "run/thread/pool.h"
#include <math.h>
#include <stdatomic.h>

enum { PART = WF__SCAN_PART, COLUMNS = WF__SCAN_COLUMNS, ROWS = WF__SCAN_COLUMN_ROWS, PIECE = WF__SCAN_PIECE };

typedef enum scan_pass { SUM, JOIN, SCAN, SUM_COLUMNS, COLUMN } scan_pass;

typedef struct scan_loop {
    const void *from, *with;
    void *to, *acc;
    int64_t n, width, from_step, to_step, from_lane;
    bool exclusive;
} scan_loop;

typedef void run_fn(unsigned join, scan_pass pass, const scan_loop *l);

/* Each pass has a loop for each join, in which the join is a constant. Builds for debugging have one loop for all joins, as
 * compilers with sanitizers would take minutes for this file. */
#if defined(__GNUC__) && !defined(WEFT_DEBUG_CHECKS)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE
#endif
#if defined(__GNUC__) && !defined(__clang__) /* an element may alias its own result, but no other result */
#define EACH_FOR_ITSELF _Pragma("GCC ivdep")
#else
#define EACH_FOR_ITSELF
#endif

#define NAME(x) x##_i8
#define T int8_t
#define A int8_t
#include "run/cpu/scan_kernel.inc"
#define NAME(x) x##_u8
#define T uint8_t
#define A uint8_t
#define BITS
#include "run/cpu/scan_kernel.inc"
#define NAME(x) x##_i16
#define T int16_t
#define A int16_t
#include "run/cpu/scan_kernel.inc"
#define NAME(x) x##_u16
#define T uint16_t
#define A uint16_t
#define BITS
#include "run/cpu/scan_kernel.inc"
#define NAME(x) x##_i32
#define T int32_t
#define A int32_t
#include "run/cpu/scan_kernel.inc"
#define NAME(x) x##_u32
#define T uint32_t
#define A uint32_t
#define BITS
#include "run/cpu/scan_kernel.inc"
#define NAME(x) x##_i64
#define T int64_t
#define A int64_t
#include "run/cpu/scan_kernel.inc"
#define NAME(x) x##_u64
#define T uint64_t
#define A uint64_t
#define BITS
#define SUMS
#include "run/cpu/scan_kernel.inc"
#define NAME(x) x##_f32
#define T float
#define A double
#define FLOATS
#define SUMS
#include "run/cpu/scan_kernel.inc"
#define NAME(x) x##_f64
#define T double
#define A double
#define FLOATS
#define SUMS
#include "run/cpu/scan_kernel.inc"

static run_fn *const run_of[] = { [WF_BOOL] = run_u8, [WF_I8] = run_i8,   [WF_U8] = run_u8,   [WF_I16] = run_i16,
                                  [WF_U16] = run_u16, [WF_I32] = run_i32, [WF_U32] = run_u32, [WF_I64] = run_i64,
                                  [WF_U64] = run_u64, [WF_F32] = run_f32, [WF_F64] = run_f64 };

typedef struct scan {
    const wf__scan *how;
    const wf__ranged *producer; /* NULL = the elements are in memory */
    const wf__ranged *consumer; /* NULL = the result stays in memory */
    run_fn *run;
    char *from, *to;
    char *local;           /* [workers][PART] elements */
    bool own_from, own_to; /* elements, results are in `local` */
    int64_t size;          /* bytes of an element */
    /* after contiguous axes are merged. lane: the axis of adjacent columns; -1 = rows are scanned */
    int rank, axis, lane;
    int64_t dim[WF_MAX_RANK], from_stride[WF_MAX_RANK], to_stride[WF_MAX_RANK];
    int64_t n, from_step, to_step;
    int64_t part, rows, parts, chunks; /* elements of a part; parts and chunks (of columns) of a row */
    int64_t each;                      /* rows, or columns, of a task */
    uint64_t neutral;
    char *carry;             /* [row][chunk][part][wide] accumulators: the carry into each part */
    _Atomic uint32_t *known; /* [row][chunk][part]: the carry is known */
    int64_t wide;            /* columns of a chunk */
    int64_t chains;          /* rows, or chunks of columns, whose parts follow each other */
    bool begins;             /* the scan begins with the first element of the axis */
    bool by_parts;           /* threads share parts */
    int64_t lines;           /* rows, or columns */
    char *into;              /* [lines] accumulators: the carry into the first part; NULL = neutral elements */
    char *sums;              /* [parts][lines] accumulators: the join of each part that this rank has whole */
    _Atomic int64_t next;    /* the next part to begin */
} scan;

/* Returns the loop of a scan. Sums and products of i64 wrap, so they use the loop of u64, as joins of bits use that of an
 * unsigned type. */
static run_fn *kernel_of(const wf__scan *how)
{
    static const uint8_t same_bits[] = { [WF_I8] = WF_U8, [WF_I16] = WF_U16, [WF_I32] = WF_U32, [WF_I64] = WF_U64 };
    const bool compares = how->join == WF_JOIN_MIN || how->join == WF_JOIN_MAX;
    const unsigned t = !compares && how->dtype < WF__COUNT(same_bits) ? same_bits[how->dtype] : 0;
    return run_of[t ? t : how->dtype];
}

/* Sets the offsets, in elements, of the beginning of a row. */
static void find_row(const scan *s, int64_t row, int64_t *from, int64_t *to)
{
    *from = *to = 0;
    for (int d = s->rank - 1; d >= 0; --d) {
        if (d == s->axis || d == s->lane)
            continue;
        int64_t i = row % s->dim[d];
        row /= s->dim[d];
        *from += i * s->from_stride[d];
        *to += i * s->to_stride[d];
    }
    if (s->how->reversed) {
        *from += (s->n - 1) * s->from_stride[s->axis];
        *to += (s->n - 1) * s->to_stride[s->axis];
    }
}

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static void fill(void *acc, uint64_t bits, size_t size, int64_t n)
{
    memcpy(acc, &bits, size); /* little-endian */
    for (int64_t k = 1; k < n; k *= 2)
        memcpy((char *)acc + (size_t)k * size, acc, (size_t)at_most(k, n - k) * size);
}

static size_t acc_size(const scan *s) { return s->how->dtype == WF_F32 ? sizeof(double) : (size_t)s->size; }

/* Sets the first element of an exclusive sum to +0. Accumulators start at -0, the additive identity. */
static void set_first_of_sum(const scan *s, char *to)
{
    if (s->begins && s->how->exclusive && s->how->join == WF_JOIN_ADD)
        memset(to, 0, (size_t)s->size);
}

/* Sets the carries into the first parts of some lines. */
static void begin_carry(const scan *s, int64_t line, void *carry, int64_t width)
{
    if (s->into)
        memcpy(carry, s->into + (size_t)line * acc_size(s), (size_t)width * acc_size(s));
    else
        fill(carry, s->neutral, acc_size(s), width);
}

/* ---- pieces ---- */
static bool in_pieces(const scan *s) { return s->producer || s->consumer; }

typedef struct piece { /* the addresses that element 0 would have */
    char *from, *to;
} piece;

/* Returns a piece whose elements from `at` on, in C order, are in the worker's memory. */
static piece piece_at(const scan *s, int64_t at, int worker)
{
    char *own = (char *)((uintptr_t)s->local + (uintptr_t)((worker * (int64_t)PART - at) * s->size));
    return (piece){ .from = s->own_from ? own : s->from, .to = s->own_to ? own : s->to };
}

/* Produces n elements from `at` on. */
static void produce(const scan *s, const piece *p, int64_t at, int64_t n)
{
    if (s->producer)
        wf__run_range(s->producer, p->from, at, at + n);
}

/* Consumes n results from `at` on. */
static void consume(const scan *s, const piece *p, int64_t at, int64_t n)
{
    if (s->consumer)
        wf__run_range(s->consumer, p->to, at, at + n);
}

/* ---- rows ---- */
/* Returns the loop over n elements of a row from `first` on, in the order of the scan. */
static scan_loop row_loop(const scan *s, const piece *p, int64_t row, int64_t first, int64_t n, void *acc)
{
    int64_t from, to;
    find_row(s, row, &from, &to);
    return (scan_loop){ .from = p->from + (from + first * s->from_step) * s->size,
                        .to = p->to + (to + first * s->to_step) * s->size,
                        .acc = acc,
                        .n = n,
                        .from_step = s->from_step,
                        .to_step = s->to_step,
                        .exclusive = s->how->exclusive };
}

/* Returns the number in C order of the first of these elements. */
static int64_t number_of(const scan *s, int64_t row, int64_t first, int64_t n)
{
    return row * s->n + (s->how->reversed ? s->n - first - n : first);
}

/* Scans the part's elements first .. end - 1, piece by piece. `where`: the piece that holds all of them already, or
 * NULL. */
static void scan_range(const scan *s, int64_t row, int64_t first, int64_t end, const piece *where, void *acc,
                       int worker)
{
    int64_t most = in_pieces(s) ? PIECE : PART;
    for (int64_t n; first < end; first += n) {
        n = at_most(end - first, most);
        int64_t at = number_of(s, row, first, n);
        piece p = where ? *where : piece_at(s, at, worker);
        if (!where)
            produce(s, &p, at, n);
        scan_loop l = row_loop(s, &p, row, first, n, acc);
        s->run(s->how->join, SCAN, &l);
        if (!first)
            set_first_of_sum(s, l.to);
        if (!where || s->n >= PIECE) /* else scan_rows consumes several rows at once */
            consume(s, &p, at, n);
    }
}

/* Joins the part's sum to the carry: the carry into the next part. */
static void end_part(const scan *s, void *carry, const void *sum, int64_t width)
{
    scan_loop l = { .acc = carry, .with = sum, .width = width };
    s->run(s->how->join, JOIN, &l);
}

/* Scans whole rows on one thread. Short rows share a piece. */
static void scan_rows(void *user, int64_t task, int worker)
{
    const scan *s = user;
    _Alignas(uint64_t) char acc[2 * sizeof(uint64_t)];
    int64_t begin = task * s->each, end = at_most(s->rows, begin + s->each), at = begin * s->n;
    bool together = in_pieces(s) && s->n < PIECE;
    piece p = piece_at(s, at, worker);
    if (together)
        produce(s, &p, at, (end - begin) * s->n);
    for (int64_t row = begin; row < end; ++row) {
        fill(acc, s->neutral, acc_size(s), 2);
        begin_carry(s, row, acc, 1);
        for (int64_t first = 0; first < s->n; first += PART) {
            scan_range(s, row, first, at_most(s->n, first + PART), together ? &p : NULL, acc, worker);
            end_part(s, acc, acc + acc_size(s), 1);
            fill(acc + acc_size(s), s->neutral, acc_size(s), 1);
        }
    }
    if (together)
        consume(s, &p, at, (end - begin) * s->n);
}

/* ---- carries between parts ---- */
static char *carry_into(const scan *s, int64_t part) { return s->carry + part * s->wide * (int64_t)acc_size(s); }

/* Waits for the carry into the part. */
static void await_carry(const scan *s, int64_t part, void *carry, int64_t width)
{
    enum { PAUSES = 1000 };
    for (int n = 0; !atomic_load_explicit(&s->known[part], memory_order_acquire); ++n)
        if (n < PAUSES)
            wf__pause();
        else
            wf__yield();
    memcpy(carry, carry_into(s, part), (size_t)width * acc_size(s));
}

/* Publishes the carry into the next part. */
static void publish_carry(const scan *s, int64_t part, const void *carry, const void *sum, int64_t width)
{
    char *next = carry_into(s, part + 1);
    memcpy(next, carry, (size_t)width * acc_size(s));
    end_part(s, next, sum, width);
    atomic_store_explicit(&s->known[part + 1], 1, memory_order_release);
}

/* Scans the parts of all rows and chunks in parallel. Threads begin parts in their order, whatever block the pool hands
 * out, so that no part waits for one that has not begun. */
static bool share_parts(scan *s, wf__pool *pool, int threads, wf__block_fn *fn)
{
    size_t parts = (size_t)(s->chains * s->parts), bytes = 0, flags;
    bool fits =
        wf__mul_size(parts, (size_t)s->wide * acc_size(s), &bytes) && wf__mul_size(parts, sizeof *s->known, &flags);
    s->carry = fits ? wf__alloc(bytes) : NULL;
    s->known = s->carry ? wf__alloc0(flags) : NULL;
    bool ok = s->known != NULL;
    if (ok)
        wf__pool_run_on(pool, threads, s->chains * s->parts, fn, s);
    wf__free(s->carry);
    wf__free((void *)s->known);
    return ok;
}

static int64_t next_part(scan *s) { return atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed); }

/* Produces and joins the elements of a part. */
static void sum_part(const scan *s, const piece *p, int64_t row, int64_t first, int64_t end, void *sum)
{
    int64_t most = s->producer ? PIECE : PART;
    for (int64_t n; first < end; first += n) {
        n = at_most(end - first, most);
        produce(s, p, number_of(s, row, first, n), n);
        scan_loop l = row_loop(s, p, row, first, n, sum);
        s->run(s->how->join, SUM, &l);
    }
}

/* Scans one part, by the same joins as scan_rows. */
static void scan_part(void *user, int64_t index, int worker)
{
    WF__UNUSED(index);
    scan *s = user;
    int64_t part = next_part(s), k = part % s->parts, row = part / s->parts, first = k * PART;
    int64_t end = at_most(s->n, first + PART);
    size_t size = acc_size(s);
    _Alignas(uint64_t) char acc[2 * sizeof(uint64_t)], sum[sizeof(uint64_t)];
    piece p = piece_at(s, number_of(s, row, first, end - first), worker);
    bool last = k + 1 == s->parts;
    fill(acc, s->neutral, size, 2);
    fill(sum, s->neutral, size, 1);
    begin_carry(s, row, acc, 1);
    if (!last)
        sum_part(s, &p, row, first, end, sum);
    if (k)
        await_carry(s, part, acc, 1);
    if (!last)
        publish_carry(s, part, acc, sum, 1);
    scan_range(s, row, first, end, last ? NULL : &p, acc, worker);
}

/* ---- columns ---- */
typedef struct columns { /* a chunk of the columns of a row, for one task */
    const scan *s;
    int64_t row, first, width;
    int64_t from, to; /* offsets of the first elements */
    int worker;
} columns;

static columns find_columns(const scan *s, int64_t chain, int worker)
{
    int64_t first = chain % s->chunks * s->each;
    columns c = { s, chain / s->chunks, first, at_most(s->dim[s->lane] - first, s->each), 0, 0, worker };
    find_row(s, c.row, &c.from, &c.to);
    c.from += first * s->from_stride[s->lane];
    c.to += first;
    return c;
}

static int64_t first_line(const columns *c) { return c->row * c->s->dim[c->s->lane] + c->first; }

/* Returns the number in C order of the first of the elements begin .. end - 1 of the columns. */
static int64_t number_of_columns(const columns *c, int64_t begin, int64_t end)
{
    return number_of(c->s, c->row, begin, end - begin) * c->s->dim[c->s->lane] + c->first;
}

/* True if the worker's memory holds all elements of a part at once. */
static bool part_fits(const scan *s, int64_t width) { return width >= s->dim[s->lane] && s->part * width <= PART; }

/* Runs a pass over the elements begin .. end - 1 of the columns, piece by piece. `where`: a piece for all of them;
 * NULL = each piece reuses the worker's memory. `produces`: produces the elements first. */
static void pass_columns(const columns *c, scan_pass pass, int64_t begin, int64_t end, const piece *where,
                         bool produces, const void *carry, void *acc)
{
    const scan *s = c->s;
    int64_t inner = s->dim[s->lane];
    int64_t most = !in_pieces(s) ? s->n : c->width == inner && c->width < PIECE ? PIECE / c->width : 1;
    scan_loop l = { .acc = acc,
                    .with = carry,
                    .width = c->width,
                    .from_step = s->from_step,
                    .to_step = s->to_step,
                    .from_lane = s->from_stride[s->lane],
                    .exclusive = s->how->exclusive };
    for (int64_t i = begin; i < end; i += l.n) {
        l.n = at_most(end - i, most);
        int64_t at = number_of_columns(c, i, i + l.n);
        piece p = where ? *where : piece_at(s, at, c->worker);
        if (produces)
            produce(s, &p, at, c->width * l.n);
        l.from = p.from + (c->from + i * s->from_step) * s->size;
        l.to = p.to + (c->to + i * s->to_step) * s->size;
        s->run(s->how->join, pass, &l);
        if (pass != COLUMN)
            continue;
        for (int64_t j = 0; j < c->width && !i; ++j)
            set_first_of_sum(s, (char *)l.to + j * s->size);
        consume(s, &p, at, c->width * l.n);
    }
}

/* Scans whole columns on one thread. */
static void scan_columns(void *user, int64_t chain, int worker)
{
    const scan *s = user;
    _Alignas(uint64_t) char acc[COLUMNS * sizeof(uint64_t)], carry[COLUMNS * sizeof(uint64_t)];
    columns c = find_columns(s, chain, worker);
    begin_carry(s, first_line(&c), carry, c.width);
    for (int64_t begin = 0; begin < s->n; begin += s->part) {
        fill(acc, s->neutral, acc_size(s), c.width);
        pass_columns(&c, COLUMN, begin, at_most(s->n, begin + s->part), NULL, true, carry, acc);
        end_part(s, carry, acc, c.width);
    }
}

/* Scans one part of columns, by the same joins as scan_columns. Elements that do not fit into the worker's memory are
 * produced twice. */
static void scan_column_part(void *user, int64_t index, int worker)
{
    WF__UNUSED(index);
    scan *s = user;
    _Alignas(uint64_t) char acc[COLUMNS * sizeof(uint64_t)], carry[COLUMNS * sizeof(uint64_t)];
    int64_t number = next_part(s), k = number / s->chains, chain = number % s->chains;
    int64_t part = chain * s->parts + k, begin = k * s->part, end = at_most(s->n, begin + s->part);
    columns c = find_columns(s, chain, worker);
    bool last = k + 1 == s->parts, stays = !s->own_from || part_fits(s, c.width);
    piece p = piece_at(s, number_of_columns(&c, begin, end), worker);
    const piece *where = stays && s->own_from ? &p : NULL;
    begin_carry(s, first_line(&c), carry, c.width);
    fill(acc, s->neutral, acc_size(s), c.width);
    if (!last)
        pass_columns(&c, SUM_COLUMNS, begin, end, where, true, NULL, acc);
    if (k)
        await_carry(s, part, carry, c.width);
    if (!last)
        publish_carry(s, part, carry, acc, c.width);
    fill(acc, s->neutral, acc_size(s), c.width);
    pass_columns(&c, COLUMN, begin, end, where, last || !stays, carry, acc);
}

static void run_each(wf__pool *pool, int threads, int64_t n, wf__block_fn *fn, scan *s)
{
    if (threads > 1)
        wf__pool_run_on(pool, threads, n, fn, s);
    for (int64_t i = 0; threads <= 1 && i < n; ++i)
        fn(s, i, 0);
}

/* ---- a scan ---- */
/* Merges contiguous axes of the window and drops axes of the space that have extent 1. */
static void set_axes(scan *s, const wf_shape *space, const wf__box *window)
{
    s->axis = s->lane = -1;
    for (int d = 0; d < space->rank; ++d) {
        int last = s->rank - 1;
        bool scanned = d == s->how->axis;
        int64_t n = window->hi[d] - window->lo[d], from = s->how->from_stride[d], to = s->how->to_stride[d];
        if (space->dim[d] == 1 && !scanned)
            continue;
        if (last >= 0 && !scanned && last != s->axis && s->from_stride[last] == from * n &&
            s->to_stride[last] == to * n)
            s->dim[last] *= n;
        else {
            s->dim[++last] = n;
            s->rank = last + 1;
            s->axis = scanned ? last : s->axis;
        }
        s->from_stride[last] = from;
        s->to_stride[last] = to;
    }
    if (s->axis < s->rank - 1)
        s->lane = s->rank - 1;
}

static int64_t at_least(int64_t x, int64_t least) { return x > least ? x : least; }
static int64_t times(int64_t n, int64_t size) { return (n + size - 1) / size; }

/* True if threads may share columns. A producer that would run twice must write nothing but the elements. */
static bool can_share(const scan *s)
{
    const wf__ir *body = s->producer ? &s->producer->stage->lowered : NULL;
    bool once = body && s->own_from && !part_fits(s, s->each);
    for (uint32_t k = 0; once && k < body->slot_n; ++k)
        if (body->slot[k].written && s->producer->stage->mem[k].object != s->producer->object)
            return false;
    return true;
}

/* Decides what a task is. */
static void set_tasks(scan *s, int threads)
{
    if (s->lane >= 0) {
        int64_t inner = s->dim[s->lane];
        s->rows = s->lines / inner;
        s->each =
            threads > 1 ? at_most(at_least(inner / threads * s->rows / 2, WF__SCAN_LEAST_COLUMNS), COLUMNS) : COLUMNS;
        s->chunks = times(inner, s->each);
        s->chains = s->rows * s->chunks;
        s->wide = at_most(inner, s->each);
        s->by_parts = threads > 1 && s->parts > 1 && s->chains < 4 * threads && s->chains % threads && can_share(s);
        return;
    }
    s->rows = s->chains = s->lines;
    s->wide = 1;
    s->each = at_least(at_most((in_pieces(s) ? PIECE : PART) / s->n, s->rows / threads / 4), 1);
    s->by_parts = threads > 1 && s->rows < 4 * threads && s->parts > 1;
}

/* Scans all elements. Without memory for carries, threads share no parts. */
static void run_scan(scan *s, wf__pool *pool, int threads)
{
    if (s->by_parts && share_parts(s, pool, threads, s->lane >= 0 ? scan_column_part : scan_part))
        return;
    if (s->lane >= 0)
        run_each(pool, threads, s->chains, scan_columns, s);
    else
        run_each(pool, threads, times(s->rows, s->each), scan_rows, s);
}

/* True if the producer reads the old elements of the array that it writes. */
static bool reads_own(const wf__ranged *producer)
{
    const wf__ir *body = &producer->stage->lowered;
    bool reads = false;
    for (uint32_t k = 0; k < body->slot_n; ++k)
        reads = reads || (producer->stage->mem[k].object == producer->object && body->slot[k].read);
    return reads;
}

static uint64_t work_of(const wf__ranged *ranged) { return ranged ? ranged->stage->partition.work : 0; }

/* ---- other ranks ---- */
/* Joins one of the parts that this rank has whole. */
static void sum_whole_part(void *user, int64_t index, int worker)
{
    const scan *s = user;
    int64_t k = index / s->chains, chain = index % s->chains, begin = k * s->part;
    char *sums = s->sums + (size_t)(k * s->lines) * acc_size(s);
    const piece p = { s->from, s->to };
    if (s->lane < 0) {
        char *sum = sums + (size_t)chain * acc_size(s);
        fill(sum, s->neutral, acc_size(s), 1);
        sum_part(s, &p, chain, begin, begin + s->part, sum);
        return;
    }
    columns c = find_columns(s, chain, worker);
    char *sum = sums + (size_t)first_line(&c) * acc_size(s);
    fill(sum, s->neutral, acc_size(s), c.width);
    pass_columns(&c, SUM_COLUMNS, begin, begin + s->part, &p, false, NULL, sum);
}

/* Receives the carries into the first part, and sends those into the part after the whole ones. Collective: returns false
 * on all ranks, with the failure set, if one has no memory. */
static bool pass_carries(scan *s, wf__pool *pool, int threads, const wf__others *others, wf__failure *failure)
{
    const bool receives = s->how->before != WF__NO_RANK, sends = s->how->after != WF__NO_RANK;
    const size_t size = (size_t)s->lines * acc_size(s);
    const int64_t whole = sends ? s->n / s->part : 0;
    size_t bytes;
    char *own = NULL;
    bool ok = wf__mul_size((size_t)whole + 2, size, &bytes) && (own = wf__alloc(bytes)) != NULL;
    ok = wf__ranks_go_on(others, ok ? WF_OK : WF_ERR_MEMORY, failure) && ok;
    if (ok) {
        s->into = own;
        s->sums = own + 2 * size;
        run_each(pool, threads, whole * s->chains, sum_whole_part, s);
        if (receives)
            ok = others->receive(others->user, s->how->before, own, size, failure);
        else
            fill(own, s->neutral, acc_size(s), s->lines);
    }
    if (ok && sends) {
        char *after = own + size;
        memcpy(after, own, size);
        for (int64_t k = 0; k < whole; ++k)
            end_part(s, after, s->sums + (size_t)k * size, s->lines);
        ok = others->send(others->user, s->how->after, after, size, failure);
    }
    if (!ok) {
        wf__free(own);
        s->into = NULL;
    }
    return ok;
}

/* Returns the address of the first point of the window along each axis. */
static char *begin_of(const scan *s, char *base, const int64_t *stride, const wf__box *window, int rank)
{
    int64_t at = 0;
    for (int d = 0; d < rank; ++d)
        at += window->lo[d] * stride[d];
    return (char *)((uintptr_t)base + (uintptr_t)(at * s->size));
}

bool wf__scan_run(wf__pool *pool, wf__mem_cache *memory, int threads, const wf__stage *stage, char *const *base,
                  const wf__ranged *producer, const wf__ranged *consumer, const wf__others *others,
                  wf__failure *failure)
{
    const wf__scan *how = &stage->scan;
    const wf__box window = stage->division.axes ? stage->division.window : wf__whole_space(stage);
    int64_t sign = how->reversed ? -1 : 1, points = (int64_t)wf__box_elements(&window, stage->space.rank);
    scan s = { .how = how,
               .producer = producer,
               .consumer = consumer,
               .run = kernel_of(how),
               .size = (int64_t)wf__size(how->dtype) };
    if (!points)
        return !how->shared || wf__ranks_go_on(others, WF_OK, failure);
    set_axes(&s, &stage->space, &window);
    s.from = begin_of(&s, base[how->from], how->from_stride, &window, stage->space.rank);
    s.to = begin_of(&s, base[how->to], how->to_stride, &window, stage->space.rank);
    s.begins = how->reversed ? window.hi[how->axis] == stage->space.dim[how->axis] : window.lo[how->axis] == 0;
    s.n = s.dim[s.axis];
    WF__ASSERT(s.n > 0);
    s.from_step = sign * s.from_stride[s.axis];
    s.to_step = sign * s.to_stride[s.axis];
    s.neutral = wf__join_neutral((wf_join)how->join, how->dtype == WF_F32 ? WF_F64 : how->dtype);
    if ((uint64_t)points * WF__SCAN_WORK + work_of(producer) + work_of(consumer) < WF__PARALLEL_WORK)
        threads = 1;
    s.lines = points / s.n;
    s.part = wf__scan_part(&stage->space, how->axis);
    s.parts = times(s.n, s.part);
    s.own_from = producer && !reads_own(producer);
    s.own_to = consumer != NULL;
    set_tasks(&s, threads);
    size_t bytes = (size_t)threads * PART * (size_t)s.size;
    if ((s.own_from || s.own_to) && !(s.local = wf__mem_alloc(memory, bytes)))
        return wf__out_of_memory(failure, "a scan");
    bool ok = !how->shared || pass_carries(&s, pool, threads, others, failure);
    if (ok)
        run_scan(&s, pool, threads);
    wf__mem_free(memory, s.local, bytes);
    wf__free(s.into);
    return ok;
}
