/* rows_library.c - array functions (weft/array.h) on 2^24 values, as new arrays. */
#include "bench.h"
#include "weft/array.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 4096, SMALL = 2048 };

typedef struct library_row library_row;
struct library_row {
    bench_stream s;
    wf_array *in; /* a view of s.array[0] */
    wf_array *out;
    float *copy; /* of memcpy */
    wf_array *(*function)(const wf_array *in);
    bool (*right)(const library_row *r, const void *data);
};

static void weft(void *data)
{
    library_row *r = data;
    wf_release(r->out);
    r->out = r->function(r->in);
    bench_ok(r->s.b, r->out ? WF_OK : wf_check(r->s.b->ctx), r->s.b->ctx, "the function");
}

static void copy_part(void *arg, int part, int parts)
{
    library_row *r = arg;
    int64_t lo, hi;
    bench_part(r->s.n, 64, part, parts, &lo, &hi);
    memcpy(r->copy + lo, r->s.at[0] + lo, (size_t)(hi - lo) * sizeof *r->copy);
}

static void copy(void *data)
{
    library_row *r = data;
    bench_pool_run(r->s.b->pool, copy_part, r);
}

static void clear(void *data)
{
    library_row *r = data;
    wf_release(r->out);
    r->out = NULL;
}

static bool check(void *data, char *why, size_t cap)
{
    library_row *r = data;
    void *at = NULL;
    if (r->copy && !r->out) /* memcpy's turn */
        return !memcmp(r->copy, r->s.at[0], (size_t)r->s.n * sizeof *r->copy);
    if (r->out && wf_map(r->out, &at, NULL) == WF_OK && r->right(r, at))
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
    free(r->copy);
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

enum { BINS = 128 };
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

static bool setup(bench *b, bench_case *c, int64_t side, wf_array *(*function)(const wf_array *in),
                  bool (*right)(const library_row *r, const void *data), bool with_copy)
{
    library_row *r = bench_stream_case(c, sizeof *r, b, side * side, 1, 0, 1);
    if (!r)
        return false;
    c->clear = clear;
    c->check = check;
    c->done = done;
    r->function = function;
    r->right = right;
    r->in = wf_view_reshape(r->s.array[0], WF_SHAPE(side, side));
    if (!bench_ok(b, r->in ? WF_OK : wf_check(b->ctx), b->ctx, "wf_view_reshape"))
        return false;
    bench_add(c, "weft", "", weft);
    if (with_copy) {
        r->copy = calloc((size_t)(side * side), sizeof *r->copy);
        if (!r->copy)
            return bench_fail(b, "no memory");
        bench_add(c, "memcpy", "", copy);
    }
    return true;
}

static bool argmax_16m(bench *b, bench_case *c) { return setup(b, c, SIDE, argmax, argmax_right, false); }
static bool variance_16m(bench *b, bench_case *c) { return setup(b, c, SIDE, variance, variance_right, false); }
static bool histogram_16m(bench *b, bench_case *c) { return setup(b, c, SIDE, histogram, histogram_right, false); }
static bool transpose_4096(bench *b, bench_case *c) { return setup(b, c, SIDE, transpose, transpose_right, true); }
static bool scan_16m(bench *b, bench_case *c) { return setup(b, c, SIDE, scan, scan_right, true); }
static bool sort_4096(bench *b, bench_case *c) { return setup(b, c, SIDE, sort, sort_right, false); }
static bool matmul_2048(bench *b, bench_case *c) { return setup(b, c, SMALL, product, product_right, false); }

const bench_row bench_argmax_16m = { "argmax_16m", "argmax of x, n = 2^24", "ms", 1e3, "<= NumPy", argmax_16m };
const bench_row bench_variance_16m = { "variance_16m", "variance of x, n = 2^24", "ms", 1e3, "<= NumPy", variance_16m };
const bench_row bench_histogram_16m = { "histogram_16m", "histogram of x in 128 bins, n = 2^24", "ms", 1e3, "<= NumPy",
                                        histogram_16m };
const bench_row bench_transpose_4096 = { "transpose_4096", "transposed copy of 4096 x 4096", "ms", 1e3, "<= 2 memcpy",
                                         transpose_4096 };
const bench_row bench_scan_16m = { "scan_16m", "cumulative sums of x, n = 2^24", "ms", 1e3, "<= 2 memcpy", scan_16m };
const bench_row bench_sort_4096 = { "sort_4096", "4096 rows of 4096 sorted", "ms", 1e3, "<= NumPy", sort_4096 };
const bench_row bench_matmul_2048 = { "matmul_2048", "product of 2048 x 2048", "ms", 1e3, "<= OpenBLAS", matmul_2048 };
