/* statistics.c - minimum, maximum, mean and deviation of the values of a file, also of files that several processes write. */
#include "io_internal.h"
#include <stdlib.h>
#include <string.h>

/* The number of sums that loops over blocks keep: with one sum, each addition would wait for the one before. */
enum { LANES = 8 };

/* Moves the finite values to the front and returns their number. */
static int64_t keep_finite(double *x, int64_t n)
{
    double zero[LANES] = { 0 }; /* sums of x * 0: NaN if one value is infinite or NaN */
    int64_t whole = n / LANES * LANES, kept = 0;
    bool all = true;
    for (int64_t i = 0; i < whole; i += LANES)
        for (int k = 0; k < LANES; k++)
            zero[k] += x[i + k] * 0;
    for (int64_t i = whole; i < n; i++)
        zero[0] += x[i] * 0;
    for (int k = 0; k < LANES; k++)
        all = all && zero[k] == 0;
    if (all)
        return n;
    for (int64_t i = 0; i < n; i++) {
        x[kept] = x[i];
        kept += x[i] - x[i] == 0;
    }
    return kept;
}

/* Returns the statistics of at most one block; n >= 1. */
static wfl_io_stats block_stats(const double *x, int64_t n)
{
    double low[LANES], high[LANES], sum[LANES] = { 0 }, squares[LANES] = { 0 };
    int64_t whole = n / LANES * LANES;
    wfl_io_stats s = { .count = n, .min = x[0], .max = x[0] };
    for (int k = 0; k < LANES; k++)
        low[k] = high[k] = x[0];
    for (int64_t i = 0; i < whole; i += LANES)
        for (int k = 0; k < LANES; k++) {
            double value = x[i + k];
            low[k] = value < low[k] ? value : low[k];
            high[k] = value > high[k] ? value : high[k];
            sum[k] += value;
        }
    for (int64_t i = whole; i < n; i++) {
        low[0] = x[i] < low[0] ? x[i] : low[0];
        high[0] = x[i] > high[0] ? x[i] : high[0];
        sum[0] += x[i];
    }
    for (int k = 0; k < LANES; k++) {
        s.min = low[k] < s.min ? low[k] : s.min;
        s.max = high[k] > s.max ? high[k] : s.max;
        s.mean += sum[k];
    }
    s.mean /= (double)n;
    for (int64_t i = 0; i < whole; i += LANES)
        for (int k = 0; k < LANES; k++)
            squares[k] += (x[i + k] - s.mean) * (x[i + k] - s.mean);
    for (int64_t i = whole; i < n; i++)
        squares[0] += (x[i] - s.mean) * (x[i] - s.mean);
    for (int k = 0; k < LANES; k++)
        s.m2 += squares[k];
    return s;
}

/* Joins statistics of values that come after those of `stats`: Chan, Golub and LeVeque's update, which has no
 * cancellation. */
static void join_stats(wfl_io_stats *stats, const wfl_io_stats *b)
{
    if (!b->count)
        return;
    double n = (double)b->count, before = (double)stats->count, after = before + n, delta = b->mean - stats->mean;
    stats->min = stats->count && stats->min < b->min ? stats->min : b->min;
    stats->max = stats->count && stats->max > b->max ? stats->max : b->max;
    stats->mean += delta * n / after;
    stats->m2 += b->m2 + delta * delta * before * n / after;
    stats->count += b->count;
}

/* Returns the statistics of at most one block, and moves its values. */
static wfl_io_stats stats_of(double *x, int64_t count)
{
    int64_t n = keep_finite(x, count);
    return n ? block_stats(x, n) : (wfl_io_stats){ 0 };
}

static void load_values(const wfl_io_type *type, const void *values, int64_t at, int64_t count, double *to)
{
    wfl_io_load_f64(type->dtype, (const char *)values + at * (int64_t)type->bytes, (int64_t)type->bytes, count, to);
}

void wfl_io_stats_add(wfl_io_stats *stats, const wfl_io_type *type, const void *values, int64_t count)
{
    double x[WFL_STATS_BLOCK];
    for (int64_t at = 0; at < count; at += WFL_STATS_BLOCK) {
        int64_t n = count - at < WFL_STATS_BLOCK ? count - at : WFL_STATS_BLOCK;
        load_values(type, values, at, n, x);
        const wfl_io_stats b = stats_of(x, n);
        join_stats(stats, &b);
    }
}

/* ---- statistics of parts ---- */

static bool add_block(wfl_io_stats_part *p, double *x)
{
    if (p->n == p->cap) {
        int64_t cap = 2 * p->cap + 16;
        wfl_io_stats *more = realloc(p->block, (size_t)cap * sizeof *more);
        if (!more)
            return false;
        p->block = more;
        p->cap = cap;
    }
    p->block[p->n++] = stats_of(x, WFL_STATS_BLOCK);
    return true;
}

bool wfl_io_stats_collect(wfl_io_stats_part *p, const wfl_io_type *type, const void *values, int64_t count)
{
    for (int64_t at = 0; at < count;) {
        int64_t left = WFL_STATS_BLOCK - p->at % WFL_STATS_BLOCK, n = count - at < left ? count - at : left;
        p->begun = p->begun || left == WFL_STATS_BLOCK;
        double *to = p->begun ? p->tail : p->head;
        int *have = p->begun ? &p->tails : &p->heads;
        load_values(type, values, at, n, to + *have);
        *have += (int)n;
        p->at += n;
        at += n;
        if (p->tails == WFL_STATS_BLOCK) {
            p->tails = 0;
            if (!add_block(p, p->tail))
                return false;
        }
    }
    return true;
}

void wfl_io_stats_end(wfl_io_stats_sum *s)
{
    const wfl_io_stats b = stats_of(s->value, s->values);
    join_stats(&s->stats, &b);
    s->values = 0;
}

void wfl_io_stats_append(wfl_io_stats_sum *s, const wfl_io_stats_part *p)
{
    memcpy(s->value + s->values, p->head, (size_t)p->heads * sizeof *p->head);
    s->values += p->heads;
    if (s->values == WFL_STATS_BLOCK)
        wfl_io_stats_end(s);
    for (int64_t i = 0; i < p->n; i++)
        join_stats(&s->stats, &p->block[i]);
    memcpy(s->value + s->values, p->tail, (size_t)p->tails * sizeof *p->tail);
    s->values += p->tails;
}
