/* scatter.c - weft bench scatter: adds random numbers to buffers of one element to many, at random places. Contenders are
 * Weft in every mode of accumulation, private histograms in C, and Dr.Jit.
 */
#include "bench_cli.h"
#include "measure.h"
#include "common/plot.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 8, MODES = 4, SERIES = 2 * MODES + 1, SPREAD = 8, SPREAD_MOST = 4096 };

static const char *const series_names[SERIES] = { "Weft auto",   "Weft direct",   "Weft local",   "Weft expand",  "C",
                                                  "Dr.Jit auto", "Dr.Jit direct", "Dr.Jit local", "Dr.Jit expand" };
static const unsigned colours[SERIES] = { 0xd62728, 0xff9896, 0xe377c2, 0xff7f0e, 0x111111,
                                          0x1f77b4, 0xaec7e8, 0x17becf, 0x2ca02c };

typedef struct results {
    int64_t n, size[SIZES];
    int sizes;
    double seconds[SERIES][SIZES]; /* 0 = not measured */
    char peer[64];                 /* "Dr.Jit 1.2"; empty = not measured */
} results;

/* ---- C ---- */
/* The part of a thread, with a private histogram. A small histogram has SPREAD copies, so that consecutive additions do
 * not wait for each other. */
typedef struct part {
    const uint32_t *index, *value;
    int64_t lo, hi, bins;
    uint32_t *own; /* [copies][bins] */
    int copies;
} part;

static void count_spread(const part *p)
{
    const uint32_t *i = p->index, *v = p->value;
    int64_t k = p->lo, b = p->bins;
    uint32_t *h = p->own;
    for (; k + SPREAD <= p->hi; k += SPREAD) {
        h[i[k]] += v[k];
        h[b + i[k + 1]] += v[k + 1];
        h[2 * b + i[k + 2]] += v[k + 2];
        h[3 * b + i[k + 3]] += v[k + 3];
        h[4 * b + i[k + 4]] += v[k + 4];
        h[5 * b + i[k + 5]] += v[k + 5];
        h[6 * b + i[k + 6]] += v[k + 6];
        h[7 * b + i[k + 7]] += v[k + 7];
    }
    for (; k < p->hi; k++)
        h[i[k]] += v[k];
}

static void *count(void *data)
{
    const part *p = data;
    memset(p->own, 0, (size_t)(p->bins * p->copies) * sizeof *p->own);
    if (p->copies > 1)
        count_spread(p);
    else
        for (int64_t k = p->lo; k < p->hi; k++)
            p->own[p->index[k]] += p->value[k];
    return NULL;
}

typedef struct c_call {
    part part[MOST_THREADS];
    int threads;
    uint32_t *out;
} c_call;

static bool run_c(void *data)
{
    c_call *c = data;
    run_parts(count, c->part, sizeof *c->part, c->threads);
    for (int t = 0; t < c->threads; t++)
        for (int k = 0; k < c->part[t].copies; k++)
            for (int64_t b = 0; b < c->part[t].bins; b++)
                c->out[b] += c->part[t].own[k * c->part[t].bins + b];
    return true;
}

/* ---- Weft ---- */
typedef struct weft_call {
    wf_kernel *kernel;
    wf_array *target;
} weft_call;

static bool run_weft(void *data)
{
    const weft_call *w = data;
    return wf_launch(w->kernel, WF_ARGS(WF_ARG("target", w->target))) == WF_OK;
}

static wf_kernel *prepare(wf_context *ctx, int64_t n, wf_mode mode, const wf_array *index, const wf_array *value)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n), .name = "scatter");
    wf_array *target = wf_formal(g, "target", WF_U32, 1);
    wf_accumulate_mode(g, WF_JOIN_ADD, mode, target, wf_in(g, value), wf_in(g, index));
    return wf_compile(g);
}

typedef struct inputs {
    uint32_t *index, *value;
} inputs;

static bool measure_size(wf_context *ctx, const inputs *in, int at, results *out)
{
    static const wf_mode modes[MODES] = { WF_MODE_AUTO, WF_MODE_DIRECT, WF_MODE_LOCAL, WF_MODE_EXPAND };
    int64_t n = out->n, bins = out->size[at];
    blocks memory = { .ctx = ctx };
    c_call *c = allocate(1, sizeof *c);
    c->threads = wf_get_threads(ctx) < MOST_THREADS ? wf_get_threads(ctx) : MOST_THREADS;
    c->out = block_of(&memory, (size_t)bins, sizeof *c->out);
    for (int t = 0; t < c->threads; t++) {
        int copies = bins <= SPREAD_MOST ? SPREAD : 1;
        c->part[t] = (part){ in->index, in->value, n * t / c->threads, n * (t + 1) / c->threads, bins, NULL, copies };
        c->part[t].own = block_of(&memory, (size_t)(bins * copies) + 64, sizeof *c->out);
    }
    uint32_t *want = block_of(&memory, (size_t)bins, sizeof *want), *got = block_of(&memory, (size_t)bins, sizeof *got);
    for (int64_t k = 0; k < n; k++)
        want[in->index[k]] += in->value[k];
    wf_array *index = wf_wrap(ctx, in->index, WF_U32, WF_SHAPE(n), NULL, NULL);
    wf_array *value = wf_wrap(ctx, in->value, WF_U32, WF_SHAPE(n), NULL, NULL);
    bool ok = true;
    for (int m = 0; m < MODES && ok; m++) {
        weft_call w = { prepare(ctx, n, modes[m], index, value), wf_full(ctx, WF_U32, WF_SHAPE(bins), 0) };
        ok = w.kernel && run_weft(&w) && wf_download(w.target, got, (size_t)bins * sizeof *got) == WF_OK;
        if (ok && memcmp(want, got, (size_t)bins * sizeof *got) != 0)
            ok = failed("%s, %lld elements: wrong sums", series_names[m], (long long)bins) == EXIT_OK;
        if (ok)
            ok = (out->seconds[m][at] = least_time(run_weft, &w)) > 0;
        wf_kernel_free(w.kernel);
        wf_release(w.target);
    }
    if (ok) {
        run_c(c);
        ok = !memcmp(want, c->out, (size_t)bins * sizeof *got) || failed("C: wrong sums") == EXIT_OK;
        out->seconds[MODES][at] = least_time(run_c, c);
    }
    free(c);
    free_blocks(&memory);
    wf_release(index), wf_release(value);
    return ok;
}

/* ---- Dr.Jit, in a process of its own ---- */
static bool measure_peer(const char *python, int threads, results *out)
{
    char line[256];
    char *operands =
        append(NULL, "scatter %lld %lld %d", (long long)out->n, (long long)out->size[out->sizes - 1], threads);
    FILE *from = run_python(python, operands);
    free(operands);
    if (!from)
        return false;
    while (fgets(line, sizeof line, from)) {
        int m, at;
        double s;
        char version[32];
        if (sscanf(line, "version %31s", version) == 1)
            snprintf(out->peer, sizeof out->peer, "Dr.Jit %s", version);
        else if (sscanf(line, "%d %d %lf", &m, &at, &s) == 3 && m >= 0 && m < MODES && at >= 0 && at < out->sizes)
            out->seconds[MODES + 1 + m][at] = s;
    }
    return pclose(from) == 0 && out->peer[0];
}

/* ---- output ---- */
static void print_table(const results *r, int threads)
{
    int last = r->peer[0] ? SERIES : MODES + 1;
    printf("%lld additions of u32, milliseconds, %d threads%s%s\n%10s", (long long)r->n, threads,
           r->peer[0] ? "; " : "", r->peer, "elements");
    for (int s = 0; s < last; s++)
        printf(" %13s", series_names[s]);
    printf("\n");
    for (int k = 0; k < r->sizes; k++) {
        printf("%10lld", (long long)r->size[k]);
        for (int s = 0; s < last; s++)
            printf(" %13.2f", 1e3 * r->seconds[s][k]);
        printf("\n");
    }
}

static int draw_plot(wf_context *ctx, const results *r, int threads)
{
    plot *p = allocate(1, sizeof *p);
    char *title = append(NULL, "Time of %lld random additions (u32), %d threads%s%s", (long long)r->n, threads,
                         r->peer[0] ? ", " : "", r->peer);
    p->title = title;
    p->x_title = "elements of the buffer";
    p->y_unit = "ms";
    p->points = r->sizes;
    p->series = SERIES;
    p->charts = 1;
    p->decades = true;
    for (int k = 0; k < r->sizes; k++)
        p->x[k] = (double)r->size[k];
    for (int s = 0; s < SERIES; s++) {
        p->name[s] = series_names[s];
        p->colour[s] = colours[s];
        p->dashed[s] = s > MODES;
        for (int k = 0; k < r->sizes; k++)
            p->chart[0].y[s][k] = 1e3 * r->seconds[s][k];
    }
    int status = plot_write(ctx, p, "scatter");
    free(title), free(p);
    return status;
}

int bench_scatter(wf_context *ctx, int64_t n, int64_t most, const char *python)
{
    results r = { .n = n };
    blocks memory = { .ctx = ctx };
    inputs in = { block_of(&memory, (size_t)n, sizeof *in.index), block_of(&memory, (size_t)n, sizeof *in.value) };
    random_state random;
    random_seed(&random, 1);
    for (int64_t k = 0; k < n; k++)
        in.value[k] = (uint32_t)random_bits(&random);
    for (int64_t size = 1; size <= most && r.sizes < SIZES; size *= 10)
        r.size[r.sizes++] = size;
    bool ok = true;
    for (int s = 0; s < r.sizes && ok; s++) {
        for (int64_t k = 0; k < n; k++)
            in.index[k] = (uint32_t)((random_bits(&random) >> 32) * (uint64_t)r.size[s] >> 32);
        progress_begin("additions");
        ok = measure_size(ctx, &in, s, &r);
        progress_end();
    }
    free_blocks(&memory);
    int status = ok ? EXIT_OK : *wf_last_message(ctx) ? failed_in(ctx) : EXIT_FAILED;
    if (ok && python && !measure_peer(python, wf_get_threads(ctx), &r))
        status = failed("%s: no Dr.Jit there, or it failed", python);
    if (ok) {
        print_table(&r, wf_get_threads(ctx));
        int written = draw_plot(ctx, &r, wf_get_threads(ctx));
        status = status == EXIT_OK ? written : status;
    }
    return status;
}
