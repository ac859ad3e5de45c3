/* rows_image.c - functions of images: a filter by Fourier transforms, a rotation, a median, means of blocks, template
 * matching, a large kernel, and a long line with one. Each call gives a new array. */
#include "bench.h"
#include "weft/fft.h"
#include "weft/signal.h"
#include "weft/xform.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 5, TEMPLATE = 64, KERNEL = 31, TAPS = 1001 };
static const double sigma = 400, angle = 0.1; /* of the filter's Gaussian, in frequencies; radians */

typedef struct image_row image_row;
typedef struct job {
    int64_t side;
    wf_array *(*function)(const image_row *r);
    double (*expected)(const image_row *r, int64_t i, int64_t j); /* element i, j of the result */
    double most;                                                  /* difference */
} job;

struct image_row {
    bench_stream s;
    const job *job;
    wf_array *in, *second; /* [side, side], and what the function takes besides */
    wf_array *out;
    double *weights; /* of a line of the filter */
};

static float x_at(const image_row *r, int64_t i, int64_t j) { return r->s.at[0][i * r->job->side + j]; }

static void weft(void *data)
{
    image_row *r = data;
    wf_release(r->out);
    r->out = r->job->function(r);
    bench_ok(r->s.b, r->out ? wf_map(r->out, &(void *){ NULL }, NULL) : wf_last_status(r->s.b->ctx), r->s.b->ctx,
             "the function");
}

static void clear(void *data)
{
    image_row *r = data;
    wf_release(r->out);
    r->out = NULL;
}

static bool check(void *data, char *why, size_t cap)
{
    const image_row *r = data;
    void *at = NULL;
    if (!r->out || !bench_ok(r->s.b, wf_map(r->out, &at, NULL), r->s.b->ctx, "the result"))
        return false;
    wf_shape shape = wf_array_shape(r->out);
    for (int k = 1; k < 4; ++k) {
        int64_t i = shape.dim[0] * k / 4 - 1, j = shape.dim[1] * (4 - k) / 4;
        double found = ((const float *)at)[i * shape.dim[1] + j], expected = r->job->expected(r, i, j);
        if (fabs(found - expected) <= r->job->most)
            continue;
        snprintf(why, cap, "element %lld, %lld is %.9g, not %.9g", (long long)i, (long long)j, found, expected);
        return false;
    }
    return true;
}

static void done(void *data)
{
    image_row *r = data;
    wf_release(r->out);
    free(r->weights);
}

static const bench_kind kind = { sizeof(image_row), clear, check, done };

/* ---- a Gaussian of frequencies ---- */
static void low(const wf_site *s)
{
    int64_t n = *(const int64_t *)s->user;
    wf_val y = wf_select(wf_gt(s->index[0], (double)(n / 2)), wf_sub(s->index[0], (double)n), s->index[0]);
    wf_val a = wf_cast(y, WF_F32), b = wf_cast(s->index[1], WF_F32);
    wf_val weight = wf_exp(wf_mul(wf_add(wf_mul(a, a), wf_mul(b, b)), -0.5 / (sigma * sigma)));
    wf_set(s->out[0], wf_mul(s->in[0], weight));
}

static wf_array *filtered(const image_row *r)
{
    wf_array *out = wf_empty(r->s.b->ctx, WF_F32, WF_SHAPE(r->job->side, r->job->side));
    if (out && wf_fft_filter(out, r->in, WF_ALL_AXES, low, (void *)(uintptr_t)&r->job->side) == WF_OK)
        return out;
    wf_release(out);
    return NULL;
}

static double filtered_at(const image_row *r, int64_t i, int64_t j)
{
    int64_t n = r->job->side;
    double sum = 0;
    for (int64_t p = 0; p < n; ++p)
        for (int64_t q = 0; q < n; ++q)
            sum += r->weights[(i - p + n) % n] * r->weights[(j - q + n) % n] * (double)x_at(r, p, q);
    return sum;
}

/* ---- a rotation about the middle, by linear interpolation ---- */
static wf_array *rotated(const image_row *r)
{
    return wf_transform(r->in, WF_SCALAR, r->second, &(wf_interp){ .interpolation = WF_INTERPOLATE_LINEAR });
}

static double rotated_at(const image_row *r, int64_t i, int64_t j)
{
    double m = (double)r->job->side / 2, c = cos(angle), s = sin(angle);
    double y = m + c * ((double)i - m) - s * ((double)j - m), x = m + s * ((double)i - m) + c * ((double)j - m);
    int64_t p = (int64_t)floor(y), q = (int64_t)floor(x);
    double v = y - (double)p, u = x - (double)q;
    return (1 - v) * ((1 - u) * (double)x_at(r, p, q) + u * (double)x_at(r, p, q + 1)) +
           v * ((1 - u) * (double)x_at(r, p + 1, q) + u * (double)x_at(r, p + 1, q + 1));
}

/* ---- a median ---- */
static wf_array *median(const image_row *r)
{
    const int64_t size[] = { WINDOW, WINDOW };
    return wf_median_filter(r->in, size, WF_ALL_AXES, WF_BORDER_CLAMP, 0);
}

static int in_order(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double median_at(const image_row *r, int64_t i, int64_t j)
{
    float v[WINDOW * WINDOW];
    int n = 0;
    for (int64_t p = i - WINDOW / 2; p <= i + WINDOW / 2; ++p)
        for (int64_t q = j - WINDOW / 2; q <= j + WINDOW / 2; ++q)
            v[n++] = x_at(r, p, q); /* the elements that are checked are inside */
    qsort(v, (size_t)n, sizeof *v, in_order);
    return (double)v[n / 2];
}

/* ---- means of blocks ---- */
static wf_array *binned(const image_row *r) { return wf_bin(r->in, 2, WF_ALL_AXES); }

static double binned_at(const image_row *r, int64_t i, int64_t j)
{
    double above = (double)x_at(r, 2 * i, 2 * j) + (double)x_at(r, 2 * i, 2 * j + 1);
    return (above + (double)x_at(r, 2 * i + 1, 2 * j) + (double)x_at(r, 2 * i + 1, 2 * j + 1)) / 4;
}

/* ---- template matching ---- */
static wf_array *matched(const image_row *r) { return wf_match_template(r->in, r->second, NULL, 2); }

static double matched_at(const image_row *r, int64_t i, int64_t j)
{
    double a = 0, b = 0, aa = 0, bb = 0, ab = 0, n = TEMPLATE * TEMPLATE;
    for (int64_t p = 0; p < TEMPLATE; ++p)
        for (int64_t q = 0; q < TEMPLATE; ++q) {
            double x = (double)x_at(r, i + p, j + q), t = (double)x_at(r, TEMPLATE + p, q);
            a += x;
            b += t;
            aa += x * x;
            bb += t * t;
            ab += x * t;
        }
    return (ab - a * b / n) / sqrt((aa - a * a / n) * (bb - b * b / n));
}

/* ---- a large kernel ---- */
static wf_array *convolved(const image_row *r)
{
    return wf_convolve(r->in, r->second, WF_ALL_AXES, WF_BORDER_MIRROR, 0);
}

static double convolved_at(const image_row *r, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t p = 0; p < KERNEL; ++p)
        for (int64_t q = 0; q < KERNEL; ++q)
            sum += (double)x_at(r, p, q) * (double)x_at(r, i + KERNEL / 2 - p, j + KERNEL / 2 - q);
    return sum;
}

/* The image as one line. */
static wf_array *convolved_line(const image_row *r)
{
    wf_array *line = wf_view_reshape(r->in, WF_SHAPE(-1)), *sums = NULL, *out = NULL;
    if (line)
        sums = wf_convolve(line, r->second, WF_ALL_AXES, WF_BORDER_MIRROR, 0);
    if (sums)
        out = wf_view_reshape(sums, WF_SHAPE(r->job->side, r->job->side));
    wf_release(line);
    wf_release(sums);
    return out;
}

static double convolved_line_at(const image_row *r, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t p = 0; p < TAPS; ++p)
        sum += (double)x_at(r, 0, p) * (double)x_at(r, i, j + TAPS / 2 - p); /* lines follow each other */
    return sum;
}

/* ---- setup ---- */
/* Weights of a line, whose convolution with an image along an axis is the filter's. */
static double *line_of(int64_t n)
{
    double *weights = malloc((size_t)n * sizeof *weights);
    for (int64_t d = 0; d < n && weights; ++d) {
        weights[d] = 0;
        for (int64_t k = -(n / 2) + 1; k <= n / 2; ++k)
            weights[d] += exp(-0.5 * (double)(k * k) / (sigma * sigma)) *
                          cos(2 * M_PI * (double)(k * d % n) / (double)n) / (double)n;
    }
    return weights;
}

static wf_array *turning(bench *b, int64_t side)
{
    double m = (double)side / 2, c = cos(angle), s = sin(angle);
    const float matrix[6] = { (float)c, (float)-s, (float)(m - c * m + s * m),
                              (float)s, (float)c,  (float)(m - s * m - c * m) };
    wf_array *array = wf_empty(b->ctx, WF_F32, WF_SHAPE(2, 3));
    if (array)
        bench_ok(b, wf_upload(array, matrix, sizeof matrix), b->ctx, "wf_upload");
    return array;
}

static void setup(bench *b, bench_case *c)
{
    const job *of = c->row->of;
    image_row *r = bench_stream_data(b, c, &kind, of->side * of->side, 1, 0, 0, 1);
    if (!r)
        return;
    r->job = of;
    r->in = bench_keep(c, wf_view_reshape(r->s.array[0], WF_SHAPE(of->side, of->side)));
    if (of->function == filtered && !(r->weights = line_of(of->side)))
        bench_fail(b, "no memory");
    if (of->function == rotated)
        r->second = bench_keep(c, turning(b, of->side));
    if (of->function == matched || of->function == convolved) {
        int64_t n = of->function == matched ? TEMPLATE : KERNEL, first = of->function == matched ? TEMPLATE : 0;
        wf_array *rows = bench_keep(c, wf_view_slice(r->in, 0, first, first + n, 1));
        r->second = bench_keep(c, rows ? wf_view_slice(rows, 1, 0, n, 1) : NULL);
    }
    if (of->function == convolved_line) {
        wf_array *line = bench_keep(c, wf_view_reshape(r->in, WF_SHAPE(-1)));
        r->second = bench_keep(c, line ? wf_view_slice(line, 0, 0, TAPS, 1) : NULL);
    }
    bench_add(c, "weft", "", weft);
}

#define ROW(name, what, target, ...)           \
    static const job job_##name = __VA_ARGS__; \
    const bench_row bench_##name = { #name, what, "ms", 1e3, target, setup, &job_##name }
ROW(filter_4096, "there, a Gaussian of frequencies, and back, 4096 x 4096", "at most SciPy",
    { 4096, filtered, filtered_at, 2e-6 });
ROW(rotate_4096, "rotation by 0.1 radians, linear, 4096 x 4096", "at most OpenCV", { 4096, rotated, rotated_at, 2e-3 });
ROW(median_2048, "median of 5 x 5, 2048 x 2048", "at most OpenCV", { 2048, median, median_at, 0 });
ROW(bin_4096, "means of 2 x 2, 4096 x 4096", "at most OpenCV", { 4096, binned, binned_at, 1e-7 });
ROW(match_2048, "template of 64 x 64 in 2048 x 2048", "at most OpenCV", { 2048, matched, matched_at, 1e-5 });
ROW(convolve_2048, "kernel of 31 x 31, mirrored edges, 2048 x 2048", "at most SciPy's fftconvolve",
    { 2048, convolved, convolved_at, 3e-4 });
ROW(convolve_line, "kernel of 1001, mirrored ends, 4194304 elements", "at most SciPy's oaconvolve",
    { 2048, convolved_line, convolved_line_at, 1e-3 });
