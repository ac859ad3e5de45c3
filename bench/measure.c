/* measure.c - contenders in turns, then medians and paired ratios. */
#include "bench.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool bench_fail(bench *b, const char *format, ...)
{
    if (b->error[0])
        return false;
    va_list list;
    va_start(list, format);
    vsnprintf(b->error, sizeof b->error, format, list);
    va_end(list);
    return false;
}

bool bench_ok(bench *b, wf_status status, wf_context *ctx, const char *what)
{
    if (status == WF_OK)
        return true;
    bench_fail(b, "%s: %s: %s", what, wf_status_name(status), wf_last_message(ctx));
    wf_clear_error(ctx);
    return false;
}

static bench_contender *add(bench_case *c, const char *who, const char *variant)
{
    if (c->n == BENCH_CONTENDERS)
        abort();
    bench_contender *x = &c->at[c->n++];
    x->who = who;
    x->variant = variant;
    return x;
}

bench_contender *bench_add(bench_case *c, const char *who, const char *variant, void (*call)(void *data))
{
    bench_contender *x = add(c, who, variant);
    x->call = call;
    return x;
}

bench_contender *bench_add_parts(bench_case *c, const char *who, const char *variant, bench_part_fn *part,
                                 const void *how)
{
    bench_contender *x = add(c, who, variant);
    x->part[0] = part;
    x->how = how;
    return x;
}

bench_contender *bench_add_figure(bench_case *c, const char *who, const char *variant, double (*figure)(void *data))
{
    bench_contender *x = add(c, who, variant);
    x->figure = figure;
    return x;
}

static void work(const bench *b, const bench_contender *x, void *data)
{
    for (int k = 0; k < 2 && x->part[k]; ++k)
        if (x->alone)
            x->part[k](data, x->how, 0, 1);
        else
            bench_pool_run(b->pool, x->part[k], data, x->how);
    if (x->call)
        x->call(data);
}

static const double WARM = 200e-6; /* seconds, in which threads wake up, also of pools that do not wait for them */

static double run(const bench *b, const bench_contender *x, void *data, int64_t calls)
{
    if (x->peer)
        return bench_peer_run(x->peer, calls);
    if (x->figure) {
        double sum = 0;
        for (int64_t i = 0; i < calls; ++i)
            sum += x->figure(data);
        return sum / (double)calls;
    }
    double start = bench_now();
    if (calls > 1) /* what does not count: others had the caches, and the threads are asleep */
        do
            work(b, x, data);
        while (bench_now() - start < WARM);
    start = bench_now();
    for (int64_t i = 0; i < calls; ++i)
        work(b, x, data);
    return (bench_now() - start) / (double)calls;
}

/* One checked run, then the number of calls that fill a turn, and the seconds that such a turn costs. */
static bool prepare(bench *b, const bench_row *row, bench_case *c, bench_contender *x, double *cost)
{
    double turn = b->quick ? 0.5e-3 : 2e-3;
    char why[256] = "";
    if (!x->peer && c->kind->clear)
        c->kind->clear(c->data);
    double start = bench_now(), once = run(b, x, c->data, 1);
    *cost = bench_now() - start;
    bool right =
        b->error[0] == 0 && !isnan(once) && (x->peer || !c->kind->check || c->kind->check(c->data, why, sizeof why));
    if (!right) {
        fprintf(stderr, "weft-bench: %s: %s%s%s: %s\n", row->name, x->who, *x->variant ? ", " : "", x->variant,
                b->error[0] ? b->error
                : why[0]    ? why
                            : "failed");
        b->error[0] = 0;
        return false;
    }
    x->calls = 1;
    for (int i = 0; i < 4 && !(i && *cost > turn / 2) && *cost < 0.2; ++i) { /* first calls are slow: in steps */
        double calls = once > 0 ? turn / once : 1, most = 10 * turn * (double)x->calls / *cost;
        if (x->figure && calls > most) /* it takes longer than what it measures */
            calls = most;
        x->calls = calls < 1 ? 1 : calls > 1e6 ? (int64_t)1e6 : (int64_t)calls;
        start = bench_now();
        once = run(b, x, c->data, x->calls);
        *cost = bench_now() - start;
    }
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int n, double q)
{
    double at = q * (n - 1);
    int i = (int)at;
    return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

static int present(const double *from, const double *divisor, int rounds, double *to)
{
    int n = 0;
    for (int r = 0; r < rounds; ++r) {
        double v = divisor ? from[r] / divisor[r] : from[r];
        if (!isnan(v))
            to[n++] = v;
    }
    qsort(to, (size_t)n, sizeof *to, by_value);
    return n;
}

static void evaluate(bench_case *c)
{
    double v[BENCH_ROUNDS];
    const bench_contender *weft = NULL;
    for (int i = 0; i < c->n; ++i)
        if (strcmp(c->at[i].who, "weft") == 0 && c->at[i].calls)
            weft = &c->at[i];
    for (int i = 0; i < c->n; ++i) {
        bench_contender *x = &c->at[i];
        x->median = x->min = x->ratio = x->ratio_low = x->ratio_high = NAN;
        int n = x->calls ? present(x->seconds, NULL, c->rounds, v) : 0;
        if (n == 0)
            continue;
        x->min = v[0];
        x->median = quantile(v, n, 0.5);
        n = weft ? present(weft->seconds, x->seconds, c->rounds, v) : 0;
        if (n == 0)
            continue;
        x->ratio_low = quantile(v, n, 0.25);
        x->ratio = quantile(v, n, 0.5);
        x->ratio_high = quantile(v, n, 0.75);
    }
}

bool bench_measure(bench *b, const bench_row *row, bench_case *c)
{
    bool good = true;
    double cost[BENCH_CONTENDERS];
    int running = 0, stride[BENCH_CONTENDERS];
    for (int i = 0; i < c->n; ++i) {
        bench_contender *x = &c->at[i];
        if (!prepare(b, row, c, x, &cost[i])) {
            good = false;
            x->calls = 0; /* sits out */
            continue;
        }
        ++running;
    }
    if (running == 0) {
        evaluate(c);
        return false;
    }
    /* Each contender may spend an equal share of the budget. Who is much slower than the others takes part in every
     * stride-th turn only, and in three at least. */
    double least = b->quick ? 3 : 7, most = b->quick ? 25 : BENCH_ROUNDS - 1, turns[BENCH_CONTENDERS], longest = least;
    for (int i = 0; i < c->n; ++i) {
        turns[i] = c->at[i].calls ? b->budget / running / (cost[i] > 1e-6 ? cost[i] : 1e-6) : 0;
        longest = turns[i] > longest ? turns[i] : longest;
    }
    c->rounds = (int)(longest > most ? most : longest);
    for (int i = 0; i < c->n; ++i) {
        double every = c->rounds / (turns[i] > 3 ? turns[i] : 3);
        stride[i] = every < 2 ? 1 : (int)every;
    }
    for (int r = 0; r < c->rounds; ++r)
        for (int k = 0; k < c->n; ++k) {
            int i = r % 2 ? c->n - 1 - k : k; /* forth and back, so that nobody always follows the same one */
            bench_contender *x = &c->at[i];
            bool sits = !x->calls || r % stride[i] || (x->once && r);
            x->seconds[r] = sits ? NAN : run(b, x, c->data, x->calls);
        }
    for (int i = 0; i < c->n; ++i) /* a constant meets the others in every turn */
        for (int r = 1; c->at[i].once && c->at[i].calls && r < c->rounds; ++r)
            c->at[i].seconds[r] = c->at[i].seconds[0];
    evaluate(c);
    if (b->error[0]) {
        fprintf(stderr, "weft-bench: %s: while measuring: %s\n", row->name, b->error);
        b->error[0] = 0;
        good = false;
    }
    return good;
}

const bench_contender *bench_fastest(const bench_case *c, const char *who)
{
    const bench_contender *best = NULL;
    for (int i = 0; i < c->n; ++i)
        if (strcmp(c->at[i].who, who) == 0 && !isnan(c->at[i].median) && (!best || c->at[i].median < best->median))
            best = &c->at[i];
    return best;
}
