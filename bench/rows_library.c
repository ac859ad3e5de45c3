/* rows_library.c - array functions (weft/array.h) on 2^24 values, as new arrays. */
#include "bench.h"
#include "kernels.h"
#include "weft/array.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 4096, SMALL = 2048, PARTS = 256 };

typedef struct library_row library_row;
struct library_row {
    bench_stream s;
    wf_array *in; /* a view of s.array[0] */
    wf_array *out;
    float *made;        /* by C: room for as many values */
    const void *result; /* of the last call */
    wf_array *(*function)(const wf_array *in);
    bool (*right)(const library_row *r, const void *data);
    void (*work)(library_row *r, int part, int64_t lo, int64_t hi); /* of the parallel call in progress */
    int64_t count[HISTOGRAM_BINS], place;
    float value;
    struct {
        int64_t at, count[HISTOGRAM_BINS], n;
        double moments[2], sum;
    } part[PARTS];
};

static void weft(void *data)
{
    library_row *r = data;
    void *at = NULL;
    wf_release(r->out);
    r->out = r->function(r->in);
    if (bench_ok(r->s.b, r->out ? wf_map(r->out, &at, NULL) : wf_check(r->s.b->ctx), r->s.b->ctx, "the function"))
        r->result = at;
}

static void run_part(void *arg, int part, int parts)
{
    library_row *r = arg;
    int64_t lo, hi;
    bench_part(r->s.n, SIDE * 32, part, parts, &lo, &hi); /* whole blocks of rows */
    r->work(r, part, lo, hi);
}
static void by_hand(library_row *r, void (*work)(library_row *r, int part, int64_t lo, int64_t hi))
{
    r->work = work;
    bench_pool_run(r->s.b->pool, run_part, r);
}

static void copy_part(library_row *r, int part, int64_t lo, int64_t hi)
{
    (void)part;
    memcpy(r->made + lo, r->s.at[0] + lo, (size_t)(hi - lo) * sizeof *r->made);
}
static void copy(void *data)
{
    library_row *r = data;
    by_hand(r, copy_part);
    r->result = NULL; /* memory's speed, not a result */
}

static void clear(void *data)
{
    library_row *r = data;
    wf_release(r->out);
    r->out = NULL;
    r->result = NULL;
    memset(r->made, 0xff, (size_t)r->s.n * sizeof *r->made);
}

static bool check(void *data, char *why, size_t cap)
{
    library_row *r = data;
    if (r->result ? r->right(r, r->result) : !memcmp(r->made, r->s.at[0], (size_t)r->s.n * sizeof *r->made))
        return true;
    snprintf(why, cap, "the result is wrong");
    return false;
}

static void done(void *data)
{
    library_row *r = data;
    wf_release(r->out);
    wf_release(r->in);
    bench_stream_free(&r->s);
    free(r->made);
    free(r);
}

static wf_array *argmax(const wf_array *x) { return wf_array_argmax(x, WF_ALL_AXES); }
static bool argmax_right(const library_row *r, const void *data)
{
    int64_t at = 0;
    for (int64_t i = 1; i < r->s.n; ++i)
        at = r->s.at[0][i] > r->s.at[0][at] ? i : at;
    return *(const int64_t *)data == at;
}
static void argmax_by(library_row *r, void (*work)(library_row *r, int part, int64_t lo, int64_t hi))
{
    const float *x = r->s.at[0];
    by_hand(r, work);
    r->place = r->part[0].at;
    for (int p = 1; p < r->s.b->threads; ++p)
        r->place = x[r->part[p].at] > x[r->place] ? r->part[p].at : r->place;
    r->result = &r->place;
}
static void argmax_part(library_row *r, int p, int64_t lo, int64_t hi)
{
    r->part[p].at = plain_argmax(r->s.at[0], lo, hi);
}
static void argmax_blocks(library_row *r, int p, int64_t lo, int64_t hi)
{
    r->part[p].at = fast_blocks_argmax(r->s.at[0], lo, hi);
}
static void argmax_plain(void *data) { argmax_by(data, argmax_part); }
static void argmax_best(void *data) { argmax_by(data, argmax_blocks); }

static wf_array *variance(const wf_array *x) { return wf_array_variance(x, WF_ALL_AXES, 0); }
static bool variance_right(const library_row *r, const void *data)
{
    double mean = 0, sum = 0;
    for (int64_t i = 0; i < r->s.n; ++i)
        mean += (double)r->s.at[0][i] / (double)r->s.n;
    for (int64_t i = 0; i < r->s.n; ++i)
        sum += ((double)r->s.at[0][i] - mean) * ((double)r->s.at[0][i] - mean);
    return fabs((double)*(const float *)data / (sum / (double)r->s.n) - 1) < 1e-6;
}
static void variance_by(library_row *r, void (*work)(library_row *r, int part, int64_t lo, int64_t hi))
{
    by_hand(r, work);
    double n = 0, mean = 0, sum = 0;
    for (int p = 0; p < r->s.b->threads; ++p) { /* Chan's rule */
        double m = (double)r->part[p].n, d = r->part[p].moments[0] - mean, all = n + m;
        if (m == 0)
            continue;
        mean += d * m / all;
        sum += r->part[p].moments[1] + d * d * n * m / all;
        n = all;
    }
    r->value = (float)(sum / n);
    r->result = &r->value;
}
static void welford(library_row *r, int p, int64_t lo, int64_t hi)
{
    r->part[p].n = hi - lo;
    plain_moments(r->part[p].moments, r->s.at[0], lo, hi);
}
static void sums(library_row *r, int p, int64_t lo, int64_t hi)
{
    r->part[p].n = hi - lo;
    fast_blocks_moments(r->part[p].moments, r->s.at[0], lo, hi);
}
static void variance_plain(void *data) { variance_by(data, welford); }
static void variance_best(void *data) { variance_by(data, sums); }

enum { BINS = HISTOGRAM_BINS };
static wf_array *histogram(const wf_array *x) { return wf_array_histogram(x, BINS, -1, 1); }
static bool histogram_right(const library_row *r, const void *data)
{
    const int64_t *count = data;
    int64_t want[BINS] = { 0 }, sum = 0, got = 0, off = 0;
    for (int64_t i = 0; i < r->s.n; ++i) {
        double x = (double)r->s.at[0][i];
        if (x >= -1 && x <= 1)
            ++want[x == 1 ? BINS - 1 : (int64_t)((x + 1) / 2 * BINS)];
    }
    for (int i = 0; i < BINS; ++i) {
        sum += want[i];
        got += count[i];
        off += llabs(want[i] - count[i]);
    }
    return sum == got && off == 0; /* 128 bins of a power of two: edges are exact */
}
static void histogram_by(library_row *r, void (*work)(library_row *r, int part, int64_t lo, int64_t hi))
{
    for (int p = 0; p < r->s.b->threads; ++p)
        memset(r->part[p].count, 0, sizeof r->part[p].count);
    by_hand(r, work);
    memset(r->count, 0, sizeof r->count);
    for (int p = 0; p < r->s.b->threads; ++p)
        for (int i = 0; i < BINS; ++i)
            r->count[i] += r->part[p].count[i];
    r->result = r->count;
}
static void one_count(library_row *r, int p, int64_t lo, int64_t hi)
{
    plain_histogram(r->part[p].count, r->s.at[0], lo, hi);
}
static void four_counts(library_row *r, int p, int64_t lo, int64_t hi)
{
    plain_blocks_histogram(r->part[p].count, r->s.at[0], lo, hi);
}
static void histogram_plain(void *data) { histogram_by(data, one_count); }
static void histogram_best(void *data) { histogram_by(data, four_counts); }

static wf_array *transpose(const wf_array *x) { return wf_array_permute(x, (const int[]){ 1, 0 }); }
static bool transpose_right(const library_row *r, const void *data)
{
    const float *x = data;
    for (int64_t i = 0; i < SIDE; ++i)
        for (int64_t k = 0; k < SIDE; ++k)
            if (x[i * SIDE + k] != r->s.at[0][k * SIDE + i])
                return false;
    return true;
}
static void transpose_rows(library_row *r, int part, int64_t lo, int64_t hi)
{
    (void)part;
    plain_transpose(r->made, r->s.at[0], SIDE, lo / SIDE, hi / SIDE);
}
static void transpose_blocks(library_row *r, int part, int64_t lo, int64_t hi)
{
    (void)part;
    plain_blocks_transpose(r->made, r->s.at[0], SIDE, lo / SIDE, hi / SIDE);
}
static void into_made(library_row *r, void (*work)(library_row *r, int part, int64_t lo, int64_t hi))
{
    by_hand(r, work);
    r->result = r->made;
}
static void transpose_plain(void *data) { into_made(data, transpose_rows); }
static void transpose_best(void *data) { into_made(data, transpose_blocks); }

static wf_array *scan(const wf_array *x)
{
    wf_array *row = wf_view_reshape((wf_array *)(uintptr_t)x, WF_SHAPE(-1)), *sums = wf_array_cumsum(row, 0, false);
    wf_release(row);
    return sums;
}
static bool scan_right(const library_row *r, const void *data)
{
    double sum = 0;
    for (int64_t i = 0; i < r->s.n; ++i) {
        sum += (double)r->s.at[0][i];
        if (fabs((double)((const float *)data)[i] - sum) > 1e-6 * (fabs(sum) + 1))
            return false;
    }
    return true;
}
static void scan_plain(void *data)
{
    library_row *r = data;
    plain_scan(r->made, r->s.at[0], 0, 0, r->s.n);
    r->result = r->made;
}
static void sum_part(library_row *r, int p, int64_t lo, int64_t hi) { r->part[p].sum = fast_sum(r->s.at[0], lo, hi); }
static void scan_part(library_row *r, int p, int64_t lo, int64_t hi)
{
    double before = 0;
    for (int k = 0; k < p; ++k)
        before += r->part[k].sum;
    plain_scan(r->made, r->s.at[0], before, lo, hi);
}
static void scan_best(void *data) /* sums of parts first */
{
    by_hand(data, sum_part);
    into_made(data, scan_part);
}

static wf_array *scan_expr(const wf_array *x)
{
    wf_array *row = wf_view_reshape((wf_array *)(uintptr_t)x, WF_SHAPE(-1));
    wf_graph *g = wf_begin(wf_array_context(x));
    wf_val v = wf_in(g, row);
    wf_array *sums = wf_keep(wf_scan(WF_ADD, wf_add(wf_mul(v, v), 0.5), 0, false, false));
    wf_release(row);
    if (wf_run(g) == WF_OK)
        return sums;
    wf_release(sums);
    return NULL;
}
static bool scan_expr_right(const library_row *r, const void *data)
{
    double sum = 0;
    for (int64_t i = 0; i < r->s.n; ++i) {
        sum += (double)(r->s.at[0][i] * r->s.at[0][i] + 0.5f);
        if (fabs((double)((const float *)data)[i] - sum) > 1e-6 * sum)
            return false;
    }
    return true;
}
static void scan_expr_plain(void *data)
{
    library_row *r = data;
    const float *x = r->s.at[0];
    double sum = 0;
    for (int64_t i = 0; i < r->s.n; ++i) {
        sum += (double)(x[i] * x[i] + 0.5f);
        r->made[i] = (float)sum;
    }
    r->result = r->made;
}

static wf_array *sort(const wf_array *x) { return wf_array_sort(x, 1, false); }
static bool sort_right(const library_row *r, const void *data) /* in order, and nothing lost that a sum would notice */
{
    const float *x = data;
    for (int64_t i = 0; i < SIDE; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < SIDE; ++k) {
            sum += (double)r->s.at[0][i * SIDE + k] - (double)x[i * SIDE + k];
            if (k && x[i * SIDE + k] < x[i * SIDE + k - 1])
                return false;
        }
        if (fabs(sum) > 1e-9)
            return false;
    }
    return true;
}
static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}
static void sort_rows(library_row *r, int part, int64_t lo, int64_t hi)
{
    copy_part(r, part, lo, hi);
    for (int64_t i = lo; i < hi; i += SIDE)
        qsort(r->made + i, SIDE, sizeof *r->made, by_value);
}
static void sort_plain(void *data) { into_made(data, sort_rows); }

static wf_array *product(const wf_array *x) { return wf_array_matmul(x, x); }
static bool product_right(const library_row *r, const void *data)
{
    const float *x = r->s.at[0], *got = data;
    for (int64_t i = 0; i < SMALL; i += 97)
        for (int64_t k = i % 89; k < SMALL; k += 89) {
            double sum = 0;
            for (int64_t j = 0; j < SMALL; ++j)
                sum += (double)x[i * SMALL + j] * (double)x[j * SMALL + k];
            if (fabs((double)got[i * SMALL + k] / sum - 1) > 1e-5)
                return false;
        }
    return true;
}

typedef struct by_c {
    void (*plain)(void *data), (*best)(void *data);
    const char *plain_how, *best_how;
    bool copy; /* memcpy of as much, too */
} by_c;

static bool setup(bench *b, bench_case *c, int64_t side, wf_array *(*function)(const wf_array *in),
                  bool (*right)(const library_row *r, const void *data), by_c c_does)
{
    if (b->threads > PARTS)
        return bench_fail(b, "more than %d threads", PARTS);
    library_row *r = bench_stream_case(c, sizeof *r, b, side * side, 1, 0, 1);
    if (!r)
        return false;
    c->clear = clear;
    c->check = check;
    c->done = done;
    r->function = function;
    r->right = right;
    r->in = wf_view_reshape(r->s.array[0], WF_SHAPE(side, side));
    r->made = calloc((size_t)(side * side), sizeof *r->made);
    if (!r->made || !bench_ok(b, r->in ? WF_OK : wf_check(b->ctx), b->ctx, "wf_view_reshape"))
        return r->made ? false : bench_fail(b, "no memory");
    bench_add(c, "weft", "", weft);
    if (c_does.plain)
        bench_add(c, "plain", c_does.plain_how, c_does.plain);
    if (c_does.best)
        bench_add(c, "best", c_does.best_how, c_does.best);
    if (c_does.copy)
        bench_add(c, "memcpy", "", copy);
    return true;
}

static bool argmax_16m(bench *b, bench_case *c)
{
    return setup(b, c, SIDE, argmax, argmax_right, (by_c){ argmax_plain, argmax_best, "", "maxima of blocks", false });
}
static bool variance_16m(bench *b, bench_case *c)
{
    const by_c by = { variance_plain, variance_best, "Welford", "sums of shifted squares", false };
    return setup(b, c, SIDE, variance, variance_right, by);
}
static bool histogram_16m(bench *b, bench_case *c)
{
    const by_c by = { histogram_plain, histogram_best, "one for each thread", "four for each thread", false };
    return setup(b, c, SIDE, histogram, histogram_right, by);
}
static bool transpose_4096(bench *b, bench_case *c)
{
    const by_c by = { transpose_plain, transpose_best, "", "blocks of 32 x 32", true };
    return setup(b, c, SIDE, transpose, transpose_right, by);
}
static bool scan_16m(bench *b, bench_case *c)
{
    return setup(b, c, SIDE, scan, scan_right, (by_c){ scan_plain, scan_best, "1 thread", "two passes", true });
}
static bool scan_expr_16m(bench *b, bench_case *c)
{
    return setup(b, c, SIDE, scan_expr, scan_expr_right, (by_c){ scan_expr_plain, NULL, "1 thread", "", true });
}
static bool sort_4096(bench *b, bench_case *c)
{
    return setup(b, c, SIDE, sort, sort_right, (by_c){ sort_plain, NULL, "qsort", "", false });
}
static bool matmul_2048(bench *b, bench_case *c) { return setup(b, c, SMALL, product, product_right, (by_c){ 0 }); }

const bench_row bench_argmax_16m = { "argmax_16m", "argmax of x, n = 2^24", "ms", 1e3, "<= NumPy", argmax_16m };
const bench_row bench_variance_16m = { "variance_16m", "variance of x, n = 2^24", "ms", 1e3, "<= NumPy", variance_16m };
const bench_row bench_histogram_16m = { "histogram_16m", "histogram of x in 128 bins, n = 2^24", "ms", 1e3, "<= NumPy",
                                        histogram_16m };
const bench_row bench_transpose_4096 = { "transpose_4096", "transposed copy of 4096 x 4096", "ms", 1e3, "<= 2 memcpy",
                                         transpose_4096 };
const bench_row bench_scan_16m = { "scan_16m", "cumulative sums of x, n = 2^24", "ms", 1e3, "<= 2 memcpy", scan_16m };
const bench_row bench_scan_expr_16m = {
    "scan_expr_16m", "cumulative sums of x*x + 0.5, n = 2^24", "ms", 1e3, "<= 2 memcpy", scan_expr_16m
};
const bench_row bench_sort_4096 = { "sort_4096", "4096 rows of 4096 sorted", "ms", 1e3, "<= NumPy", sort_4096 };
const bench_row bench_matmul_2048 = { "matmul_2048", "product of 2048 x 2048", "ms", 1e3, "<= OpenBLAS", matmul_2048 };
