/* packet.c - weft bench packet: reads, sums, writes and accumulates records of f32 at scrambled places, for several sizes
 * of records. Contenders are Weft with and without WF_FLAG_PACKETS, plain loops in C, and Dr.Jit.
 */
#include "measure.h"
#include "common/plot.h"
#include "bench_cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GATHER, SUM, SCATTER, ADD_SMALL, ADD_LARGE, WORKS };
enum { WEFT, WEFT_OFF, C, PEER, PEER_OFF, SERIES };
enum { SIZES = 8, MOST_SIZE = 24, SMALL = 1 << 16 /* elements of the small target */ };

static const char *const work_names[WORKS] = { "gather", "gather and sum", "scatter", "scatter-add, small target",
                                               "scatter-add, large target" };
static const char *const series_names[SERIES] = { "Weft", "Weft, no packets", "C", "Dr.Jit", "Dr.Jit, no packets" };
static const unsigned colours[SERIES] = { 0xd62728, 0xff9896, 0x111111, 0x1f77b4, 0xaec7e8 };
static const int sizes[SIZES] = { 1, 2, 3, 4, 6, 8, 16, 24 };

typedef struct results {
    double ns[WORKS][SERIES][SIZES]; /* nanoseconds per element; 0 = not measured */
    char peer[64];                   /* "Dr.Jit 1.2"; empty = not measured */
} results;

typedef struct data {
    int n;                 /* elements of a record */
    int64_t points, small; /* number of records, and of the small target; powers of two */
    int64_t pitch;         /* elements from lane to lane */
    uint32_t *index, *index_small;
    float *table, *lanes; /* [points][n], [n][points] */
    blocks memory;
} data;

/* A permutation of the records, in which no prefetcher finds a pattern. */
static uint32_t scrambled(uint32_t x, int bits)
{
    uint32_t mask = (uint32_t)(((uint64_t)1 << bits) - 1);
    for (int k = 0; k < 2; k++) {
        x = x * 2654435761u & mask;
        x ^= x >> (bits + 1) / 2;
    }
    return x;
}

static int log_2(int64_t x)
{
    int bits = 0;
    while (x >>= 1)
        bits++;
    return bits;
}

static data make_data(wf_context *ctx, int n, int64_t elements)
{
    data d = { .n = n, .memory.ctx = ctx };
    int bits = log_2(elements / n > 2 ? elements / n : 2), small = log_2(SMALL / n);
    d.points = (int64_t)1 << bits;
    d.pitch = d.points + 1024 + 16;
    d.small = (int64_t)1 << (small < bits ? small : bits);
    d.index = block_of(&d.memory, (size_t)d.points, sizeof *d.index);
    d.index_small = block_of(&d.memory, (size_t)d.points, sizeof *d.index);
    d.table = block_of(&d.memory, (size_t)(d.points * n), sizeof *d.table);
    d.lanes = block_of(&d.memory, (size_t)(d.pitch * n), sizeof *d.lanes);
    for (int64_t p = 0; p < d.points; p++) {
        d.index[p] = scrambled((uint32_t)p, bits);
        d.index_small[p] = d.index[p] & (uint32_t)(d.small - 1);
    }
    for (int64_t p = 0; p < d.points * n; p++) { /* whole numbers: sums are exact in any order */
        d.table[p] = (float)(p % 13);
        d.lanes[p / d.points * d.pitch + p % d.points] = (float)(p % 11);
    }
    return d;
}

/* ---- C ---- */
typedef struct part {
    int n, work;
    const uint32_t *index;
    const float *from; /* the table for gathers, the lanes for scatters */
    float *to;
    int64_t lo, hi, pitch;
    int64_t records;        /* of the target of an accumulation */
    float *own;             /* private copy of that target; NULL = adds to the target itself */
    const struct part *all; /* parts of all threads */
    int threads, number;    /* number of parts, and of this part */
} part;

#define INLINE static inline __attribute__((always_inline))

INLINE void do_part(const part *a, int n)
{
    float *restrict to = a->own ? a->own : a->to;
    const float *restrict from = a->from;
    if (a->own)
        memset(a->own, 0, (size_t)(a->records * n) * sizeof *a->own);
    for (int64_t p = a->lo; p < a->hi; p++) {
        int64_t at = (int64_t)a->index[p] * n;
        float sum = 0;
        if (a->work == GATHER)
            for (int k = 0; k < n; k++)
                to[k * a->pitch + p] = from[at + k];
        else if (a->work == SUM)
            for (int k = 0; k < n; k++)
                sum += from[at + k];
        else if (a->work == SCATTER)
            for (int k = 0; k < n; k++)
                to[at + k] = from[k * a->pitch + p];
        else
            for (int k = 0; k < n; k++)
                to[at + k] += from[k * a->pitch + p];
        if (a->work == SUM)
            to[p] = sum;
    }
}

/* Makes the size of records a constant for the compiler. */
INLINE void by_size(const part *a)
{
    switch (a->n) {
    case 1:
        do_part(a, 1);
        break;
    case 2:
        do_part(a, 2);
        break;
    case 3:
        do_part(a, 3);
        break;
    case 4:
        do_part(a, 4);
        break;
    case 6:
        do_part(a, 6);
        break;
    case 8:
        do_part(a, 8);
        break;
    case 16:
        do_part(a, 16);
        break;
    default:
        do_part(a, MOST_SIZE);
    }
}

static void *run_part(void *user)
{
    part a = *(const part *)user;
    if (a.work == GATHER)
        a.work = GATHER, by_size(&a);
    else if (a.work == SUM)
        a.work = SUM, by_size(&a);
    else if (a.work == SCATTER)
        a.work = SCATTER, by_size(&a);
    else
        a.work = ADD_SMALL, by_size(&a);
    return NULL;
}

/* Adds all private copies to a range of the target. */
static void *join_part(void *user)
{
    const part *a = user;
    int64_t elements = a->records * a->n, lo = elements * a->number / a->threads;
    int64_t hi = elements * (a->number + 1) / a->threads;
    for (int t = 1; t < a->threads; t++)
        for (int64_t k = lo; k < hi; k++)
            a->to[k] += a->all[t].own[k];
    return NULL;
}

typedef struct c_call {
    part part[MOST_THREADS];
    int threads, work;
} c_call;

static bool run_c(void *user)
{
    c_call *c = user;
    run_parts(run_part, c->part, sizeof *c->part, c->threads);
    if (c->work >= ADD_SMALL && c->threads > 1)
        run_parts(join_part, c->part, sizeof *c->part, c->threads);
    return true;
}

static c_call *prepare_c(const data *d, int work, int threads, float *to, blocks *memory)
{
    c_call *c = allocate(1, sizeof *c);
    c->threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    c->work = work;
    for (int t = 0; t < c->threads; t++) {
        c->part[t] = (part){ .n = d->n, .work = work, .to = to, .pitch = d->pitch, .threads = c->threads };
        c->part[t].index = work == ADD_SMALL ? d->index_small : d->index;
        c->part[t].from = work == GATHER || work == SUM ? d->table : d->lanes;
        c->part[t].lo = d->points * t / c->threads;
        c->part[t].hi = d->points * (t + 1) / c->threads;
        c->part[t].records = work == ADD_SMALL ? d->small : d->points;
        c->part[t].all = c->part;
        c->part[t].number = t;
        if (work >= ADD_SMALL && t > 0)
            c->part[t].own = block_of(memory, (size_t)(c->part[t].records * d->n), sizeof(float));
    }
    return c;
}

/* ---- Weft ---- */
static bool launch(void *kernel) { return wf_launch((const wf_kernel *)kernel, WF_NO_ARGS) == WF_OK; }

static int64_t elements_of(const data *d, int work)
{
    return work == SUM ? d->points : work == ADD_SMALL ? d->small * d->n : d->pitch * d->n;
}

static wf_kernel *prepare(wf_context *ctx, const data *d, int work, float *to, bool packets)
{
    int64_t n = d->n, points = d->points, pitch = d->pitch;
    uint32_t *at = work == ADD_SMALL ? d->index_small : d->index;
    wf_shape records = WF_SHAPE(work == ADD_SMALL ? d->small : points, n);
    bool reads = work == GATHER || work == SUM;
    wf_array *index = wf_wrap(ctx, at, WF_U32, WF_SHAPE(points), NULL, NULL);
    wf_array *from =
        wf_wrap(ctx, reads ? d->table : d->lanes, WF_F32, reads ? records : WF_SHAPE(n, pitch), NULL, NULL);
    wf_array *out = wf_wrap(ctx, to, WF_F32,
                            work == GATHER ? WF_SHAPE(n, pitch)
                            : work == SUM  ? WF_SHAPE(points)
                                           : records,
                            NULL, NULL);
    wf_graph *g =
        wf_begin(ctx, .shape = WF_SHAPE(points), .name = "packet", .flags_off = packets ? 0 : WF_FLAG_PACKETS);
    wf_val i = wf_in(g, index), p = wf_index(g, 0), sum = wf_const(g, WF_F32, 0);
    for (int k = 0; k < n; k++) {
        wf_val x = reads ? wf_read(g, from, i, k) : wf_read(g, from, k, p);
        if (work == GATHER)
            wf_write(g, out, x, k, p);
        else if (work == SUM)
            sum = wf_add(sum, x);
        else if (work == SCATTER)
            wf_write(g, out, x, i, k);
        else
            wf_accumulate(g, WF_JOIN_ADD, out, x, i, k);
    }
    if (work == SUM)
        wf_write(g, out, sum, p);
    wf_release(index), wf_release(from), wf_release(out);
    return wf_compile(g);
}

static bool measure_work(wf_context *ctx, const data *d, int work, int at, results *out)
{
    size_t n = (size_t)elements_of(d, work);
    blocks memory = { .ctx = ctx };
    float *want = block_of(&memory, n, sizeof *want), *got = block_of(&memory, n, sizeof *got);
    c_call *c = prepare_c(d, work, wf_get_threads(ctx), want, &memory);
    double scale = 1e9 / (double)(d->points * d->n);
    bool ok = run_c(c);
    for (int series = WEFT; series <= WEFT_OFF && ok; series++) {
        memset(got, 0, n * sizeof *got);
        wf_kernel *k = prepare(ctx, d, work, got, series == WEFT);
        ok = k && launch(k);
        if (ok && memcmp(want, got, n * sizeof *got) != 0)
            ok = failed("%s of %d, %s: wrong", work_names[work], d->n, series_names[series]) == EXIT_OK;
        if (ok)
            out->ns[work][series][at] = scale * least_time(launch, k);
        wf_kernel_free(k);
    }
    if (ok)
        out->ns[work][C][at] = scale * least_time(run_c, c);
    free(c);
    free_blocks(&memory);
    return ok;
}

/* ---- Dr.Jit, in a process of its own; the same work on the same data ---- */
static bool measure_peer(const char *python, int64_t elements, int threads, results *out)
{
    char line[256], version[32];
    char *operands = append(NULL, "packet %lld %d", (long long)elements, threads);
    FILE *from = run_python(python, operands);
    free(operands);
    if (!from)
        return false;
    while (fgets(line, sizeof line, from)) {
        int work, off, at;
        double ns;
        if (sscanf(line, "version %31s", version) == 1)
            snprintf(out->peer, sizeof out->peer, "Dr.Jit %s", version);
        else if (sscanf(line, "%d %d %d %lf", &work, &off, &at, &ns) == 4 && work >= 0 && work < WORKS && at >= 0 &&
                 at < SIZES && (off == 0 || off == 1))
            out->ns[work][PEER + off][at] = ns;
    }
    return pclose(from) == 0 && out->peer[0];
}

/* ---- output ---- */
static void print_tables(const results *r, int64_t elements, int threads)
{
    int last = r->peer[0] ? SERIES : PEER;
    printf("about %lld elements (f32) in records, nanoseconds for each, %d threads%s%s\n", (long long)elements, threads,
           r->peer[0] ? "; " : "", r->peer);
    for (int w = 0; w < WORKS; w++) {
        printf("\n%-26s", work_names[w]);
        for (int s = 0; s < last; s++)
            printf(" %18s", series_names[s]);
        printf("\n");
        for (int k = 0; k < SIZES; k++) {
            printf("%26d", sizes[k]);
            for (int s = 0; s < last; s++)
                printf(" %18.3f", r->ns[w][s][k]);
            printf("\n");
        }
    }
}

static int draw_plot(wf_context *ctx, const results *r, int64_t elements)
{
    plot *p = allocate(1, sizeof *p);
    char *title = append(NULL, "Time for an element, of about %lld (f32) in records, %d threads%s%s",
                         (long long)elements, wf_get_threads(ctx), r->peer[0] ? ", " : "", r->peer);
    p->title = title;
    p->x_title = "elements of a record";
    p->y_unit = "ns";
    p->points = SIZES;
    p->series = SERIES;
    p->charts = WORKS;
    for (int k = 0; k < SIZES; k++)
        p->x[k] = sizes[k];
    for (int s = 0; s < SERIES; s++) {
        p->name[s] = series_names[s];
        p->colour[s] = colours[s];
        p->dashed[s] = s == WEFT_OFF || s == PEER_OFF;
        for (int w = 0; w < WORKS; w++) {
            p->chart[w].title = work_names[w];
            memcpy(p->chart[w].y[s], r->ns[w][s], sizeof r->ns[w][s]);
        }
    }
    int status = plot_write(ctx, p, "packet");
    free(title), free(p);
    return status;
}

int bench_packet(wf_context *ctx, int64_t n, const char *python)
{
    results *r = allocate(1, sizeof *r);
    bool ok = true;
    for (int k = 0; k < SIZES && ok; k++) {
        data d = make_data(ctx, sizes[k], n);
        progress_begin("records");
        for (int w = 0; w < WORKS && ok; w++)
            ok = measure_work(ctx, &d, w, k, r);
        progress_end();
        free_blocks(&d.memory);
    }
    int status = ok ? EXIT_OK : *wf_last_message(ctx) ? failed_in(ctx) : EXIT_FAILED;
    if (ok && python && !measure_peer(python, n, wf_get_threads(ctx), r))
        status = failed("%s: no Dr.Jit there, or it failed", python);
    if (ok) {
        print_tables(r, n, wf_get_threads(ctx));
        int drawn = draw_plot(ctx, r, n);
        status = status == EXIT_OK ? drawn : status;
    }
    free(r);
    return status;
}
