/* test_fft_distributed.c - Fourier transforms of distributed arrays have the bytes of one process, which are compared with
 * sums in f64, for any number of ranks and any grid; copies between distributions. Ranks are threads.
 *
 * ctest: threads first_tier
 */
#include "base/base.h"
#include "weft/distributed.h"
#include "weft/fft.h"
#include "weft/stream.h"
#include "weft_test.h"
#include <complex.h>
#include <math.h>

typedef enum kind { FORWARD, INVERSE, TO_HALF, TO_REAL, INTO, IN_PLACE, SHIFT, FILTER } kind;

typedef struct example {
    kind kind;
    wf_shape shape; /* of the input */
    wf_axes axes;
    wf_dtype dtype, out; /* of the input, and of the output of INTO; 0 = the function chooses it */
    int64_t last;        /* extent of the result's last axis, of real results; else 0 */
    wf_fft_norm norm;
} example;

static const example examples[] = {
    { FORWARD, { .rank = 1, .dim = { 96 } }, WF_AXES(0), WF_C64, 0, 0, 0 },
    { INVERSE, { .rank = 1, .dim = { 131 } }, WF_AXES(0), WF_C128, 0, 0, 0 },
    { FORWARD, { .rank = 2, .dim = { 40, 512 } }, WF_AXES(1), WF_C64, 0, 0, 0 },
    { FORWARD, { .rank = 2, .dim = { 40, 512 } }, WF_AXES(0, 1), WF_C64, 0, 0, WF_FFT_ORTHO },
    { FORWARD, { .rank = 2, .dim = { 4, 512 } }, WF_AXES(0, 1), WF_F32, 0, 0, 0 },
    { INVERSE, { .rank = 2, .dim = { 6, 4099 } }, WF_AXES(1), WF_C64, 0, 0, 0 },
    { FORWARD, { .rank = 2, .dim = { 300, 3 } }, WF_AXES(0), WF_C64, 0, 0, 0 },
    { FORWARD, { .rank = 2, .dim = { 17, 150 } }, WF_AXES(0, 1), WF_I32, 0, 0, WF_FFT_FORWARD },
    { TO_HALF, { .rank = 1, .dim = { 60 } }, WF_AXES(0), WF_F32, 0, 0, 0 },
    { TO_HALF, { .rank = 2, .dim = { 24, 256 } }, WF_AXES(0, 1), WF_F32, 0, 0, 0 },
    { TO_HALF, { .rank = 2, .dim = { 33, 20 } }, WF_AXES(0), WF_F64, 0, 0, 0 },
    { TO_HALF, { .rank = 3, .dim = { 9, 10, 21 } }, WF_ALL_AXES, WF_U8, 0, 0, 0 },
    { TO_HALF, { .rank = 3, .dim = { 12, 14, 10 } }, WF_AXES(0, 1), WF_F16, 0, 0, WF_FFT_FORWARD },
    { TO_REAL, { .rank = 1, .dim = { 31 } }, WF_AXES(0), WF_C64, 0, 61, 0 },
    { TO_REAL, { .rank = 2, .dim = { 20, 129 } }, WF_AXES(0, 1), WF_C64, 0, 256, 0 },
    { TO_REAL, { .rank = 3, .dim = { 9, 10, 11 } }, WF_ALL_AXES, WF_C64, 0, 21, 0 },
    { TO_REAL, { .rank = 3, .dim = { 9, 12, 10 } }, WF_AXES(0, 1), WF_C128, 0, 22, WF_FFT_ORTHO },
    { FORWARD, { .rank = 3, .dim = { 16, 12, 20 } }, WF_ALL_AXES, WF_C64, 0, 0, 0 },
    { INVERSE, { .rank = 3, .dim = { 5, 64, 3 } }, WF_AXES(0, 2), WF_C64, 0, 0, 0 },
    { INVERSE, { .rank = 3, .dim = { 1, 67, 18 } }, WF_AXES(1, 2), WF_C32, 0, 0, 0 },
    { FORWARD, { .rank = 3, .dim = { 0, 6, 5 } }, WF_AXES(1, 2), WF_C64, 0, 0, 0 },
    { FORWARD, { .rank = 4, .dim = { 3, 4, 5, 6 } }, WF_ALL_AXES, WF_C64, 0, 0, 0 },
    { FORWARD, { .rank = 4, .dim = { 6, 2, 8, 9 } }, WF_AXES(0, 2), WF_C128, 0, 0, 0 },
    { INTO, { .rank = 2, .dim = { 30, 21 } }, WF_AXES(0, 1), WF_F32, WF_C128, 0, 0 },
    { INTO, { .rank = 2, .dim = { 30, 21 } }, WF_AXES(0, 1), WF_C64, WF_C32, 0, WF_FFT_FORWARD },
    { INTO, { .rank = 2, .dim = { 30, 21 } }, WF_AXES(0, 1), WF_C64, WF_F16, 40, 0 },
    { INTO, { .rank = 2, .dim = { 30, 21 } }, WF_AXES(1), WF_C64, WF_F64, 41, 0 },
    { IN_PLACE, { .rank = 2, .dim = { 30, 21 } }, WF_AXES(0, 1), WF_C64, 0, 0, 0 },
    { IN_PLACE, { .rank = 3, .dim = { 8, 9, 7 } }, WF_AXES(2), WF_C64, 0, 0, 0 },
    { SHIFT, { .rank = 2, .dim = { 13, 8 } }, WF_AXES(0, 1), WF_F32, 0, 0, 0 },
    { FILTER, { .rank = 1, .dim = { 90 } }, WF_AXES(0), WF_F64, 0, 0, 0 },
    { FILTER, { .rank = 2, .dim = { 240, 24 } }, WF_AXES(0, 1), WF_F32, 0, 0, 0 },
    { FILTER, { .rank = 2, .dim = { 131, 20 } }, WF_AXES(0, 1), WF_F32, 0, 0, 0 },
    { FILTER, { .rank = 3, .dim = { 9, 10, 21 } }, WF_ALL_AXES, WF_F32, 0, 0, 0 },
    { FILTER, { .rank = 3, .dim = { 7, 40, 12 } }, WF_AXES(1, 2), WF_F16, 0, 0, 0 },
    { FILTER, { .rank = 4, .dim = { 3, 6, 5, 8 } }, WF_AXES(1, 3), WF_F32, 0, 0, 0 },
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

typedef struct job {
    int cut; /* 0 = as wf_dist_make does; 1 = along the first axis; 2 = along the last one; 3 = in halves */
    int threads;
    void *want[EXAMPLES];
    size_t bytes[EXAMPLES];
} job;

static wf_context *ctx; /* of one process */

/* The interpreter, since code takes long to compile; one test has compiled code. */
static wf_device device = WF_INTERP;
static bool is_used(int k) { return device == WF_INTERP || k % 3 == 1; } /* example k */

static wf_context *new_context(int threads)
{
    return wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = threads, .device = device });
}

/* ---- arrays ---- */
static double part_at(int64_t i, int part)
{
    const int64_t x = (i * 7919 + part * 104729 + 11) % 65521;
    return (double)(x * x % 251) / 16 - 7;
}

static wf_array *whole(wf_context *c, wf_dtype dtype, wf_shape shape)
{
    wf_array *wide = wf_empty(c, WF_C128, shape), *real = wf_empty(c, WF_F64, shape), *out;
    double *z = NULL, *x = NULL;
    if (!wide || !real || wf_map(wide, (void **)&z, NULL) != WF_OK || wf_map(real, (void **)&x, NULL) != WF_OK)
        return NULL;
    for (int64_t i = 0; i < wf_array_count(wide); ++i) {
        z[2 * i] = x[i] = dtype == WF_U8 ? part_at(i, 0) + 7 : part_at(i, 0);
        z[2 * i + 1] = part_at(i, 1);
    }
    out = wf_array_cast(wf_dtype_kind(dtype) == WF_KIND_COMPLEX ? wide : real, dtype);
    wf_release(wide);
    wf_release(real);
    return out;
}

static wf_array *distributed(wf_context *c, wf_ranks *ranks, int cut, wf_dtype dtype, wf_shape shape)
{
    wf_dist dist = { .ranks = 0 };
    wf_dist_options o = { .size = sizeof o };
    const int n = wf_ranks_size(ranks), last = shape.rank - 1;
    for (int d = 0; d < shape.rank; ++d)
        o.grid[d] = cut == 1 || cut == 2 ? (d == (cut == 1 ? 0 : last) ? n : 1) : 0;
    if (cut == 3 && shape.rank > 1 && n % 2 == 0)
        o.grid[last] = 2;
    return wf_dist_make(&shape, n, &o, &dist) == WF_OK ? wf_empty_distributed(c, dtype, ranks, &dist) : NULL;
}

static wf_array *input(wf_context *c, wf_ranks *ranks, int cut, wf_dtype dtype, wf_shape shape)
{
    wf_array *all = whole(c, dtype, shape), *a = ranks ? distributed(c, ranks, cut, dtype, shape) : NULL;
    if (!ranks)
        return all;
    wf_graph *g = wf_begin(c);
    wf_out(g, a, wf_in(g, all));
    wf_run(g);
    wf_release(all);
    return a;
}

/* ---- an example ---- */
/* Divides by a number that depends on all indices. */
static void divide(const wf_site *s)
{
    wf_val by = wf_const_i64(s->graph, WF_I64, 1);
    for (int d = 0; d < s->rank; ++d)
        by = wf_add(by, wf_mul(s->index[d], 3 + d));
    wf_set(s->out[0], wf_div(wf_get(s->in[0]), wf_cast(by, wf_dtype_part(wf_val_dtype(wf_get(s->in[0]))))));
}

static wf_array *transformed(const example *e, wf_context *c, wf_ranks *ranks, int cut)
{
    wf_array *x = input(c, ranks, cut, e->dtype, e->shape), *y = NULL;
    wf_shape shape = e->shape;
    if (e->last)
        shape.dim[shape.rank - 1 - !(e->axes >> (shape.rank - 1) & 1)] = e->last;
    switch (e->kind) {
    case FORWARD:
    case INVERSE:
        y = wf_fft_c2c(x, e->axes, e->kind == INVERSE, e->norm);
        break;
    case TO_HALF:
        y = wf_fft_r2c(x, e->axes, e->norm);
        break;
    case TO_REAL:
        y = wf_fft_c2r(x, e->last, e->axes, e->norm);
        break;
    case INTO:
        y = ranks ? distributed(c, ranks, (cut + 1) % 4, e->out, shape) : wf_empty(c, e->out, shape);
        wf_fft_into(y, x, e->axes, false, e->norm);
        break;
    case IN_PLACE:
        y = wf_retain(x);
        wf_fft_into(y, x, e->axes, true, e->norm);
        break;
    case FILTER:
        y = ranks ? distributed(c, ranks, (cut + 1) % 4, e->dtype, shape) : wf_empty(c, e->dtype, shape);
        wf_fft_filter(y, x, e->axes, divide, NULL);
        break;
    case SHIFT:
        y = wf_fft_shift(x, e->axes, false);
    }
    wf_release(x);
    return y;
}

static wf_status compare(const example *e, const job *j, int k, wf_context *c, wf_ranks *ranks)
{
    char text[100];
    wf_array *y = transformed(e, c, ranks, j->cut), *all = wf_array_dist(y) ? wf_array_collect(y) : NULL;
    void *data = NULL;
    if (y && !all)
        wf_error(c, WF_ERR_CONTRACT, "the result is not distributed");
    if (all && wf_map(all, &data, NULL) == WF_OK && memcmp(data, j->want[k], j->bytes[k])) {
        size_t at = 0;
        while (((char *)data)[at] == ((char *)j->want[k])[at])
            ++at;
        snprintf(text, sizeof text, "byte %zu of %zu differs", at, j->bytes[k]);
        wf_error(c, WF_ERR_CONTRACT, text);
    }
    wf_release(y);
    wf_release(all);
    return wf_last_status(c);
}

static wf_status on_rank(wf_ranks *ranks, void *user)
{
    const job *j = user;
    wf_context *c = new_context(j->threads);
    wf_status all = WF_OK;
    for (int k = (wf_ranks_size(ranks) + j->cut) % TEST_EVERY; k < EXAMPLES && all == WF_OK; k += TEST_EVERY) {
        wf_ranks_error e;
        if (!is_used(k))
            continue;
        const wf_status status = compare(&examples[k], j, k, c, ranks);
        all = wf_ranks_agree(ranks, status, wf_last_message(c), &e);
        if (all != WF_OK && e.rank == wf_ranks_rank(ranks))
            fprintf(stderr, "example %d: rank %d: %s\n", k, (int)e.rank, e.text);
    }
    wf_context_free(c);
    return all;
}

/* ---- numbers ---- */
static double complex *numbers(wf_array *a)
{
    wf_array *wide = wf_array_cast(a, WF_C128);
    const size_t bytes = (size_t)wf_array_count(wide) * sizeof(double complex);
    double complex *out = malloc(bytes + 1);
    assert_int_equal(wf_download(wide, out, bytes), WF_OK);
    wf_release(wide);
    return out;
}

/* Sums along an axis of x, of extent n in space. half_in, half_out: that side has n/2 + 1. Consumes x. */
static double complex *sums(double complex *x, wf_shape *shape, int axis, int64_t n, int sign, bool half_in,
                            bool half_out)
{
    const int64_t in = shape->dim[axis], out = half_out ? n / 2 + 1 : n;
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < shape->rank; ++d)
        if (d != axis)
            *(d < axis ? &outer : &inner) *= shape->dim[d];
    double complex *y = malloc((size_t)(outer * out * inner) * sizeof *y + 1);
    double complex *root = malloc((size_t)n * sizeof *root);
    for (int64_t i = 0; i < n; ++i)
        root[i] = cexp(sign * 2 * 3.14159265358979323846 * I * (double)i / (double)n);
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < inner; ++i)
            for (int64_t k = 0; k < out; ++k) {
                double complex sum = 0;
                for (int64_t j = 0; j < n; ++j) {
                    const int64_t at = half_in && j >= in ? n - j : j;
                    double complex v = x[(o * in + at) * inner + i];
                    v = !half_in ? v : j == 0 || 2 * j == n ? creal(v) : at != j ? conj(v) : v;
                    sum += v * root[j * k % n];
                }
                y[(o * out + k) * inner + i] = sum;
            }
    shape->dim[axis] = out;
    free(x);
    free(root);
    return y;
}

static void check_numbers(const example *e, wf_array *y)
{
    if (e->kind == SHIFT || e->kind == FILTER || !wf_array_count(y)) /* tests/test_fft.c has the numbers of filters */
        return;
    wf_array *x = whole(ctx, e->dtype, e->shape);
    wf_shape shape = e->shape, result = wf_array_shape(y);
    double complex *want = numbers(x), *got = numbers(y);
    const bool inverse = e->kind == INVERSE || e->kind == IN_PLACE || e->last;
    double count = 1, error = 0, size = 0;
    int last = 0;
    for (int d = 0; d < shape.rank; ++d)
        last = e->axes >> d & 1 ? d : last;
    for (int d = 0; d < shape.rank; ++d)
        if (e->axes >> d & 1) {
            const int64_t n = d == last && e->last ? e->last : e->shape.dim[d];
            count *= (double)n;
            if (d < last)
                want = sums(want, &shape, d, n, inverse ? 1 : -1, false, false);
        }
    want = sums(want, &shape, last, e->last ? e->last : e->shape.dim[last], inverse ? 1 : -1, e->last != 0,
                e->kind == TO_HALF);
    const double scale = e->norm == WF_FFT_ORTHO                  ? 1 / sqrt(count)
                         : inverse != (e->norm == WF_FFT_FORWARD) ? 1 / count
                                                                  : 1;
    for (int64_t i = 0; i < wf_array_count(y); ++i) {
        error += pow(cabs(got[i] - scale * want[i]), 2);
        size += pow(cabs(scale * want[i]), 2);
    }
    const wf_dtype t = wf_array_dtype(y);
    const double limit = t == WF_C128 || t == WF_F64  ? (e->dtype == WF_C64 || e->dtype == WF_F32 ? 1e-6 : 1e-13)
                         : t == WF_C32 || t == WF_F16 ? 2e-3
                                                      : 2e-6;
    assert_memory_equal(&shape, &result, sizeof shape.rank);
    if (!(sqrt(error / size) < limit))
        fail_msg("example %d: relative error %g", (int)(e - examples), sqrt(error / size));
    free(want);
    free(got);
    wf_release(x);
}

static job alone;

static int compute_alone(void **state)
{
    (void)state;
    ctx = new_context(2);
    for (int k = 0; k < EXAMPLES; ++k) {
        alone.want[k] = NULL;
        if (!is_used(k))
            continue;
        wf_array *y = transformed(&examples[k], ctx, NULL, 0);
        if (!y || wf_last_status(ctx) != WF_OK)
            fail_msg("example %d: %s", k, wf_last_message(ctx));
        alone.bytes[k] = (size_t)wf_array_count(y) * wf_dtype_size(wf_array_dtype(y));
        alone.want[k] = malloc(alone.bytes[k] + 1);
        if (wf_download(y, alone.want[k], alone.bytes[k]) != WF_OK)
            return 1;
        check_numbers(&examples[k], y);
        wf_release(y);
    }
    return 0;
}

static int free_alone(void **state)
{
    (void)state;
    for (int k = 0; k < EXAMPLES; ++k)
        free(alone.want[k]);
    wf_context_free(ctx);
    return 0;
}

static void check(int ranks, int cut, int threads, uint64_t seed)
{
    job j = alone;
    wf_ranks_error e = { 0 };
    const wf_ranks_threads_options o = { .size = sizeof o, .seed = seed };
    j.cut = cut;
    j.threads = threads;
    if (wf_ranks_threads(ranks, on_rank, &j, &o, &e) != WF_OK)
        fail_msg("%d ranks, cut %d: rank %d: %s", ranks, cut, (int)e.rank, e.text);
}

static void any_number_of_ranks(void **state)
{
    (void)state;
    static const int ranks[] = { 1, 2, 3, 4, 6, 8 };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i)
        check(ranks[i], 0, 1, ranks[i] == 3 ? 9 : 0);
}

static void other_grids(void **state)
{
    (void)state;
    for (int cut = TEST_RACES ? 2 : 1; cut <= 3; ++cut)
        check(4, cut, cut == 2 ? 2 : 1, 0);
    check(6, 3, 1, 0);
}

static void compiled_code(void **state)
{
    if (TEST_EVERY > 1) /* sanitizers learn nothing of the code */
        skip();
    free_alone(state);
    device = WF_CPU;
    assert_int_equal(compute_alone(state), 0);
    check(3, 0, 1, 0);
    check(2, 1, 2, 0);
}

/* ---- copies and refusals ---- */
static wf_status copy_between(wf_ranks *ranks, void *user)
{
    (void)user;
    static const wf_shape shapes[] = { { .rank = 1, .dim = { 13 } },
                                       { .rank = 2, .dim = { 7, 10 } },
                                       { .rank = 3, .dim = { 2, 5, 9 } } };
    static const wf_dtype dtypes[] = { WF_U8, WF_C128, WF_F32 };
    wf_context *c = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    for (int k = 0; k < 3 * 16; ++k) {
        const wf_shape shape = shapes[k % 3];
        const wf_dtype dtype = dtypes[k % 3];
        wf_array *x = input(c, ranks, k / 3 % 4, dtype, shape), *y = distributed(c, ranks, k / 12, dtype, shape);
        wf_array *all = whole(c, dtype, shape), *again = NULL;
        void *a = NULL, *b = NULL;
        if (wf_array_redistribute(y, x) == WF_OK && (again = wf_array_collect(y)) && wf_map(all, &a, NULL) == WF_OK &&
            wf_map(again, &b, NULL) == WF_OK && memcmp(a, b, (size_t)wf_array_count(all) * wf_dtype_size(dtype)))
            wf_error(c, WF_ERR_CONTRACT, "elements differ");
        wf_release(x);
        wf_release(y);
        wf_release(all);
        wf_release(again);
    }
    const wf_status status = wf_last_status(c);
    wf_context_free(c);
    return status;
}

static void copies(void **state)
{
    (void)state;
    for (int n = 1; n <= 6; ++n)
        assert_int_equal(wf_ranks_threads(n, copy_between, NULL, NULL, NULL), WF_OK);
}

static bool refuses(wf_context *c, wf_status status, const char *part)
{
    const bool right = wf_last_status(c) == status && strstr(wf_last_message(c), part);
    if (!right)
        fprintf(stderr, "%s: %s\n", wf_status_name(wf_last_status(c)), wf_last_message(c));
    wf_clear_error(c);
    return right;
}

static void keep_all(const wf_site *site) { wf_set(site->out[0], site->in[0]); }

static wf_status refuse(wf_ranks *ranks, void *user)
{
    (void)user;
    wf_context *c = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_array *x = input(c, ranks, 0, WF_F32, WF_SHAPE(6, 8)), *z = input(c, ranks, 0, WF_C64, WF_SHAPE(6, 8));
    wf_array *own = wf_full(c, WF_C64, WF_SHAPE(6, 8), 0), *other = distributed(c, ranks, 0, WF_F32, WF_SHAPE(8, 6));
    wf_array *ordinary = wf_full(c, WF_F32, WF_SHAPE(6, 8), 0);
    wf_fft_filter(ordinary, x, WF_AXES(1), keep_all, NULL);
    bool right = refuses(c, WF_ERR_ARG, "wf_fft_filter: one array is distributed, the other is not");
    wf_release(ordinary);
    wf_fft_into(own, z, WF_AXES(0), false, 0);
    right &= refuses(c, WF_ERR_ARG, "one array is distributed, the other is not");
    wf_fft_into(z, own, WF_AXES(0), false, 0);
    right &= refuses(c, WF_ERR_ARG, "one array is distributed, the other is not");
    right &= !wf_fft_r2c(z, WF_AXES(0), 0) && refuses(c, WF_ERR_DTYPE, "the array is complex");
    wf_array_redistribute(z, x);
    right &= refuses(c, WF_ERR_DTYPE, "the arrays have dtypes c64 and f32");
    wf_array_redistribute(other, x);
    right &= refuses(c, WF_ERR_SHAPE, "the arrays have shapes");
    wf_array_redistribute(z, own);
    right &= refuses(c, WF_ERR_ARG, "the second array is not distributed");
    wf_stream *stream = wf_stream_new(c, WF_CPU);
    wf_set_stream(c, WF_CPU, stream);
    right &= !wf_fft_c2c(z, WF_AXES(0), false, 0) && refuses(c, WF_ERR_UNSUPPORTED, "streams do not know");
    wf_set_stream(c, WF_CPU, NULL);
    wf_stream_free(stream);
    wf_array *const spent[] = { x, z, own, other };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
    wf_context_free(c);
    return right ? WF_OK : WF_ERR_CONTRACT;
}

static void refusals(void **state)
{
    (void)state;
    assert_int_equal(wf_ranks_threads(3, refuse, NULL, NULL, NULL), WF_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks),
        cmocka_unit_test(other_grids),
        cmocka_unit_test(copies),
        cmocka_unit_test(refusals),
        cmocka_unit_test(compiled_code),
    };
    return cmocka_run_group_tests(tests, compute_alone, free_alone);
}
