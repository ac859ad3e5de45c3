/* rows_library.c - array functions (weft/functions.h) on 2^24 values, as new arrays. */
#include "bench.h"
#include "kernels.h"
#include "weft/functions.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 4096, SMALL = 2048 };

typedef struct library_row library_row;
struct library_row {
    bench_stream s;
    wf_array *in; /* a view of s.array[0] */
    wf_array *out;
    float *made;        /* results of C, as many values as the input */
    const void *result; /* of the last call; NULL = `made` is a copy of the input */
    wf_array *(*function)(const wf_array *in);
    bool (*right)(const library_row *r, const void *data);
    int64_t count[HISTOGRAM_BINS], place;
    float value;
    struct {
        int64_t at, count[HISTOGRAM_BINS], n;
        double moments[2], sum;
    } part[BENCH_THREADS];
};

static void weft(void *data)
{
    library_row *r = data;
    void *at = NULL;
    wf_release(r->out);
    r->out = r->function(r->in);
    if (bench_ok(r->s.b, r->out ? wf_map(r->out, &at, NULL) : wf_last_status(r->s.b->ctx), r->s.b->ctx, "the function"))
        r->result = at;
}

static bench_range whole_rows(const library_row *r, int part, int parts)
{
    return bench_split(r->s.n, SIDE * 32, part, parts); /* whole blocks of 32 rows */
}

static void copy_part(void *data, const void *how, int part, int parts)
{
    const library_row *r = data;
    const bench_range at = whole_rows(r, part, parts);
    (void)how;
    memcpy(r->made + at.lo, r->s.at[0] + at.lo, (size_t)(at.hi - at.lo) * sizeof *r->made);
}
static void copied(void *data) { ((library_row *)data)->result = NULL; }

static void clear(void *data)
{
    library_row *r = data;
    wf_release(r->out);
    r->out = NULL;
    r->result = memset(r->made, 0xff, (size_t)r->s.n * sizeof *r->made);
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
    free(r->made);
}

static const bench_kind kind = { sizeof(library_row), clear, check, done };

static void setup(bench *b, bench_case *c, int64_t side, wf_array *(*function)(const wf_array *in),
                  bool (*right)(const library_row *r, const void *data))
{
    library_row *r = bench_stream_data(b, c, &kind, side * side, 1, 0, 0, 1);
    if (!r)
        return;
    r->function = function;
    r->right = right;
    r->in = bench_keep(c, wf_view_reshape(r->s.array[0], WF_SHAPE(side, side)));
    r->made = calloc((size_t)(side * side), sizeof *r->made);
    if (!r->made)
        bench_fail(b, "no memory");
    bench_add(c, "weft", "", weft);
}

static wf_array *argmax(const wf_array *x) { return wf_array_argmax(x, WF_ALL_AXES); }
static bool argmax_right(const library_row *r, const void *data)
{
    int64_t at = 0;
    for (int64_t i = 1; i < r->s.n; ++i)
        at = r->s.at[0][i] > r->s.at[0][at] ? i : at;
    return *(const int64_t *)data == at;
}
typedef int64_t argmax_fn(const float *x, int64_t lo, int64_t hi);
static argmax_fn *const argmax_plain = plain_argmax, *const argmax_blocks = fast_blocks_argmax;
static void argmax_part(void *data, const void *how, int part, int parts)
{
    library_row *r = data;
    const bench_range at = whole_rows(r, part, parts);
    r->part[part].at = (*(argmax_fn *const *)how)(r->s.at[0], at.lo, at.hi);
}
static void argmax_joined(void *data)
{
    library_row *r = data;
    const float *x = r->s.at[0];
    r->place = r->part[0].at;
    for (int p = 1; p < r->s.b->threads; ++p)
        r->place = x[r->part[p].at] > x[r->place] ? r->part[p].at : r->place;
    r->result = &r->place;
}
static void argmax_16m(bench *b, bench_case *c)
{
    setup(b, c, SIDE, argmax, argmax_right);
    bench_add_parts(c, "plain", "", argmax_part, &argmax_plain)->call = argmax_joined;
    bench_add_parts(c, "best", "maxima of blocks", argmax_part, &argmax_blocks)->call = argmax_joined;
}

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
typedef void moments_fn(double out[2], const float *x, int64_t lo, int64_t hi);
static moments_fn *const welford = plain_moments, *const shifted = fast_blocks_moments;
static void variance_part(void *data, const void *how, int part, int parts)
{
    library_row *r = data;
    const bench_range at = whole_rows(r, part, parts);
    r->part[part].n = at.hi - at.lo;
    (*(moments_fn *const *)how)(r->part[part].moments, r->s.at[0], at.lo, at.hi);
}
static void variance_joined(void *data)
{
    library_row *r = data;
    double n = 0, mean = 0, sum = 0;
    for (int p = 0; p < r->s.b->threads; ++p) { /* joins moments by the rule of Chan, Golub and LeVeque */
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
static void variance_16m(bench *b, bench_case *c)
{
    setup(b, c, SIDE, variance, variance_right);
    bench_add_parts(c, "plain", "Welford", variance_part, &welford)->call = variance_joined;
    bench_add_parts(c, "best", "sums of shifted squares", variance_part, &shifted)->call = variance_joined;
}

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
    return sum == got && off == 0; /* exact: the edges of 128 bins are floats */
}
typedef void histogram_fn(int64_t *count, const float *x, int64_t lo, int64_t hi);
static histogram_fn *const one_count = plain_histogram, *const by_edges = fast_edges_histogram;
static void histogram_part(void *data, const void *how, int part, int parts)
{
    library_row *r = data;
    const bench_range at = whole_rows(r, part, parts);
    memset(r->part[part].count, 0, sizeof r->part[part].count);
    (*(histogram_fn *const *)how)(r->part[part].count, r->s.at[0], at.lo, at.hi);
}
static void histogram_joined(void *data)
{
    library_row *r = data;
    memset(r->count, 0, sizeof r->count);
    for (int p = 0; p < r->s.b->threads; ++p)
        for (int i = 0; i < BINS; ++i)
            r->count[i] += r->part[p].count[i];
    r->result = r->count;
}
static void histogram_16m(bench *b, bench_case *c)
{
    setup(b, c, SIDE, histogram, histogram_right);
    bench_add_parts(c, "plain", "one for each thread", histogram_part, &one_count)->call = histogram_joined;
    bench_add_parts(c, "best", "edges decide, four for each thread", histogram_part, &by_edges)->call =
        histogram_joined;
}

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
typedef void transpose_fn(float *out, const float *x, int64_t side, int64_t lo, int64_t hi);
static transpose_fn *const by_rows = plain_transpose, *const by_blocks = plain_blocks_transpose;
static void transpose_part(void *data, const void *how, int part, int parts)
{
    library_row *r = data;
    const bench_range at = whole_rows(r, part, parts);
    (*(transpose_fn *const *)how)(r->made, r->s.at[0], SIDE, at.lo / SIDE, at.hi / SIDE);
}
static void transpose_4096(bench *b, bench_case *c)
{
    setup(b, c, SIDE, transpose, transpose_right);
    bench_add_parts(c, "plain", "", transpose_part, &by_rows);
    bench_add_parts(c, "best", "blocks of 32 x 32", transpose_part, &by_blocks);
    bench_add_parts(c, "memcpy", "", copy_part, NULL)->call = copied;
}

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
static void sum_part(void *data, const void *how, int part, int parts)
{
    library_row *r = data;
    const bench_range at = whole_rows(r, part, parts);
    (void)how;
    r->part[part].sum = fast_sum(r->s.at[0], at.lo, at.hi);
}
static void scan_part(void *data, const void *how, int part, int parts)
{
    library_row *r = data;
    const bench_range at = whole_rows(r, part, parts);
    double before = 0;
    (void)how;
    for (int k = 0; k < part; ++k)
        before += r->part[k].sum;
    plain_scan(r->made, r->s.at[0], before, at.lo, at.hi);
}
static void scan_16m(bench *b, bench_case *c)
{
    setup(b, c, SIDE, scan, scan_right);
    bench_add_parts(c, "plain", "1 thread", scan_part, NULL)->alone = true;
    bench_add_parts(c, "best", "two passes", sum_part, NULL)->part[1] = scan_part;
    bench_add_parts(c, "memcpy", "", copy_part, NULL)->call = copied;
}

static wf_array *scan_expr(const wf_array *x)
{
    wf_array *row = wf_view_reshape((wf_array *)(uintptr_t)x, WF_SHAPE(-1));
    wf_graph *g = wf_begin(wf_array_context(x));
    wf_val v = wf_in(g, row);
    wf_array *sums = wf_keep(wf_scan(WF_JOIN_ADD, wf_add(wf_mul(v, v), 0.5), 0, false, false));
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
}
static void scan_expr_16m(bench *b, bench_case *c)
{
    setup(b, c, SIDE, scan_expr, scan_expr_right);
    bench_add(c, "plain", "1 thread", scan_expr_plain);
    bench_add_parts(c, "memcpy", "", copy_part, NULL)->call = copied;
}

static wf_array *sort(const wf_array *x) { return wf_array_sort(x, 1, false); }
static bool sort_right(const library_row *r, const void *data) /* in order, and with the sum of the input */
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
static void sort_part(void *data, const void *how, int part, int parts)
{
    library_row *r = data;
    const bench_range at = whole_rows(r, part, parts);
    copy_part(data, how, part, parts);
    for (int64_t i = at.lo; i < at.hi; i += SIDE)
        qsort(r->made + i, SIDE, sizeof *r->made, by_value);
}
static void sort_4096(bench *b, bench_case *c)
{
    setup(b, c, SIDE, sort, sort_right);
    bench_add_parts(c, "plain", "qsort", sort_part, NULL);
}

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

static void matmul_2048(bench *b, bench_case *c) { setup(b, c, SMALL, product, product_right); }

const bench_row bench_argmax_16m = { "argmax_16m", "argmax of x, n = 2^24", "ms", 1e3, "<= NumPy", argmax_16m, NULL };
const bench_row bench_variance_16m = {
    "variance_16m", "variance of x, n = 2^24", "ms", 1e3, "<= NumPy", variance_16m, NULL
};
const bench_row bench_histogram_16m = {
    "histogram_16m", "histogram of x in 128 bins, n = 2^24", "ms", 1e3, "<= NumPy", histogram_16m, NULL
};
const bench_row bench_transpose_4096 = {
    "transpose_4096", "transposed copy of 4096 x 4096", "ms", 1e3, "<= 2 memcpy", transpose_4096, NULL
};
const bench_row bench_scan_16m = { "scan_16m", "cumulative sums of x, n = 2^24", "ms", 1e3, "<= 2 memcpy", scan_16m,
                                   NULL };
const bench_row bench_scan_expr_16m = {
    "scan_expr_16m", "cumulative sums of x*x + 0.5, n = 2^24", "ms", 1e3, "<= 2 memcpy", scan_expr_16m, NULL
};
const bench_row bench_sort_4096 = { "sort_4096", "4096 rows of 4096 sorted", "ms", 1e3, "<= NumPy", sort_4096, NULL };
const bench_row bench_matmul_2048 = { "matmul_2048", "product of 2048 x 2048", "ms", 1e3, "<= OpenBLAS", matmul_2048,
                                      NULL };
