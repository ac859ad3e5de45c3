/* test_lib_memory_fails.c - functions of weft/functions.h and others with the first, second, ... allocation failing. It
 * returns WF_ERR_MEMORY and no result, or the result that it has with all memory; nothing leaks.
 *
 * ctest: failures first_tier
 */
#include "memory_fails.h"
#include "weft/fft.h"
#include "weft/signal.h"
#include "weft/linalg.h"
#include "weft/optimize.h"

/* The results of a scenario, as bytes, and its results when nothing failed. */
enum { MOST = 1 << 16 };
typedef struct record {
    wf_context *ctx;
    wf_status status;
    size_t n;
    unsigned char bytes[MOST];
} record;
static record now, whole;
static bool has_lapack;

static void note(wf_context *ctx, wf_status status)
{
    if (status != WF_OK && now.status == WF_OK) {
        if (status != WF_ERR_MEMORY)
            print_error("%s: %s\n", wf_status_name(status), wf_last_message(ctx));
        assert_int_equal(status, WF_ERR_MEMORY);
        now.status = status;
    }
}

/* Adds an array to the results and releases it; NULL = out of memory. Large arrays are summed. */
static void take(wf_context *ctx, wf_array *array)
{
    size_t bytes = (size_t)wf_array_count(array) * wf_dtype_size(wf_array_dtype(array));
    unsigned char *copy = array ? malloc(bytes + 1) : NULL;
    wf_status status = copy ? wf_download(array, copy, bytes) : missing(ctx);
    note(ctx, status);
    for (size_t i = 0; status == WF_OK && i < bytes; ++i)
        if (bytes <= 1024)
            now.bytes[now.n++] = copy[i];
        else
            now.bytes[now.n] = (unsigned char)(now.bytes[now.n] * 31 + copy[i]);
    now.n += bytes > 1024;
    assert_true(now.n + 1024 < MOST);
    free(copy);
    wf_release(array);
}

static void start(wf_context *ctx)
{
    memset(&now, 0, sizeof now);
    now.ctx = ctx;
}

/* Complete results are always the same. */
static wf_status finish(void)
{
    if (now.status == WF_OK && !whole.ctx)
        whole = now;
    if (now.status == WF_OK) {
        assert_int_equal(now.n, whole.n);
        assert_memory_equal(now.bytes, whole.bytes, whole.n);
    }
    return now.status;
}

/* Returns an input of the scenarios; without it a scenario ends. */
static wf_array *input(wf_context *ctx, wf_dtype t, wf_shape shape)
{
    wf_array *a = wf_array_iota(ctx, t, shape, NULL);
    if (!a)
        note(ctx, missing(ctx));
    return a;
}

static wf_status make(wf_context *ctx)
{
    start(ctx);
    wf_array *a = input(ctx, WF_F32, WF_SHAPE(3, 4)), *z = input(ctx, WF_C64, WF_SHAPE(5));
    if (a && z) {
        double step;
        note(ctx, wf_array_fill_complex(z, 1, 2));
        take(ctx, wf_array_cast(a, WF_I16));
        take(ctx, wf_array_permute(a, (const int[]){ 1, 0 }));
        take(ctx, wf_array_contiguous(a));
        take(ctx, wf_array_linspace(ctx, WF_F64, 7, 0, 1, true, &step));
        wf_array *v = wf_view_slice(a, 0, 0, 2, 1), *row = wf_view_at(a, 0, 2);
        note(ctx, v && row ? wf_array_assign(v, row) : missing(ctx));
        take(ctx, v);
        wf_release(row);
        note(ctx, wf_array_fill(a, 3));
    }
    wf_release(a);
    take(ctx, z);
    return finish();
}

static wf_status parts(wf_context *ctx)
{
    start(ctx);
    wf_array *a = input(ctx, WF_F32, WF_SHAPE(6, 7)), *at = wf_array_iota(ctx, WF_I32, WF_SHAPE(2, 2), NULL);
    const int64_t off[] = { -1, 3 }, times[] = { 2, 1 };
    if (a && at) {
        take(ctx, wf_array_extract(a, WF_SHAPE(3, 9), off, WF_BORDER_MIRROR, 0));
        take(ctx, wf_array_extract(a, WF_SHAPE(2, 2), times, WF_BORDER_NONE, 0));
        take(ctx, wf_array_resize(a, off, times, WF_BORDER_VALUE, 7));
        take(ctx, wf_array_slice(a, WF_SHAPE(3, 2), (wf_axis_slice[]){ { 5, -2, 0 }, { 0, 3, 1 } }));
        note(ctx, wf_array_assign_slice(a, WF_SHAPE(2, 2), (wf_axis_slice[]){ { 1, 2, 1 }, { 0, 1, 0 } }, at));
        take(ctx, wf_array_reshape(a, WF_SHAPE(-1, 3)));
        wf_array *on = wf_array_cast(a, WF_BOOL), *values = on ? wf_array_compress(a, on) : NULL;
        note(ctx, values ? wf_array_assign_where(a, on, values) : missing(ctx));
        wf_release(on);
        wf_release(values);
        take(ctx, wf_array_tile(a, times));
        take(ctx, wf_array_repeat(a, 1, 2));
        wf_array *regions = wf_array_extract_regions(a, WF_SHAPE(2, 3), at, WF_BORDER_CLAMP, 0);
        note(ctx, regions ? wf_array_insert_regions(a, regions, at) : missing(ctx));
        if (now.status == WF_OK)
            note(ctx, wf_array_insert(a, at, off));
        take(ctx, regions);
    } else
        note(ctx, missing(ctx));
    wf_release(at);
    if (now.status == WF_OK)
        take(ctx, a);
    else
        wf_release(a); /* half done */
    return finish();
}

static void take_two(wf_context *ctx, wf_status status, wf_array *a, wf_array *b)
{
    note(ctx, status);
    assert_true((status == WF_OK) == (a && b) && (status == WF_OK || (!a && !b)));
    if (status == WF_OK) {
        take(ctx, a);
        take(ctx, b);
    }
}

static wf_status reductions(wf_context *ctx)
{
    start(ctx);
    wf_array *a = input(ctx, WF_F32, WF_SHAPE(4, 9)), *z = input(ctx, WF_C64, WF_SHAPE(2, 3)), *low, *high;
    if (a && z) {
        take(ctx, wf_array_sum(a, WF_AXES(1)));
        take(ctx, wf_array_prod(z, WF_AXES(0) | WF_DROP_AXES));
        take(ctx, wf_array_prod(a, WF_AXES(0)));
        take(ctx, wf_array_mean(z, WF_ALL_AXES));
        take(ctx, wf_array_variance(a, WF_AXES(1) | WF_DROP_AXES, 1));
        take(ctx, wf_array_stddev(z, WF_AXES(0), 0));
        wf_status status = wf_array_mean_variance(a, WF_AXES(0) | WF_DROP_AXES, 0, &low, &high);
        take_two(ctx, status, low, high);
        take(ctx, wf_array_norm(a, WF_NORM_L2, WF_AXES(0)));
        take(ctx, wf_array_rmsd(a, a, WF_AXES(0)));
    }
    wf_release(a);
    wf_release(z);
    return finish();
}

static wf_status extremes(wf_context *ctx)
{
    start(ctx);
    wf_array *a = input(ctx, WF_I16, WF_SHAPE(4, 9)), *low, *high;
    if (a) {
        take(ctx, wf_array_min(a, WF_AXES(1) | WF_DROP_AXES));
        wf_status status = wf_array_min_max(a, WF_AXES(0) | WF_DROP_AXES, &low, &high);
        take_two(ctx, status, low, high);
        take(ctx, wf_array_argmin(a, WF_AXES(1)));
        take(ctx, wf_array_argmax(a, WF_ALL_AXES | WF_DROP_AXES));
        take(ctx, wf_array_all(a, WF_AXES(1)));
        take(ctx, wf_array_count_nonzero(a, WF_AXES(1)));
        take(ctx, wf_array_is_close(a, a, 0, 1, false));
        bool close = false;
        note(ctx, wf_array_all_close(a, a, 0, 1, true, &close));
        assert_true(close || now.status != WF_OK);
        take(ctx, wf_array_normalize(a, WF_NORMALIZE_MEAN_STD, WF_AXES(1)));
        take(ctx, wf_array_normalize(a, WF_NORMALIZE_MIN_MAX, WF_AXES(0)));
    }
    wf_release(a);
    return finish();
}

static wf_status order(wf_context *ctx)
{
    start(ctx);
    wf_array *a = input(ctx, WF_F32, WF_SHAPE(4, 30));
    if (a) {
        take(ctx, wf_array_sort(a, 0, true));
        take(ctx, wf_array_argsort(a, 1, false));
        take(ctx, wf_array_median(a, WF_AXES(0)));
        take(ctx, wf_array_quantiles(a, (const double[]){ 0.1, 0.5, 1 }, 3, WF_AXES(1) | WF_DROP_AXES));
        take(ctx, wf_array_cumsum(a, 1, true));
        take(ctx, wf_array_cumprod(a, 1, true));
        wf_array *z = wf_array_cast(a, WF_C64), *line = wf_view_at(a, 0, 0);
        take(ctx, z ? wf_array_cumprod(z, 1, true) : NULL);
        take(ctx, line ? wf_array_searchsorted(line, a, false) : NULL);
        wf_release(z);
        wf_release(line);
        wf_array *result[4] = { NULL, NULL, NULL, NULL }, *counts = wf_array_argsort(a, 1, false);
        wf_status status = wf_array_unique(a, &result[0], &result[1], &result[2], &result[3]);
        take_two(ctx, status, result[0], result[1]);
        take_two(ctx, status, result[2], result[3]);
        wf_array *count = counts ? wf_view_at(counts, 0, 0) : NULL;
        take(ctx, count ? wf_array_repeat_counts(a, 1, count) : NULL);
        wf_release(count);
        wf_release(counts);
        take(ctx, wf_array_histogram(a, 7, 0, 100));
    }
    wf_release(a);
    return finish();
}

static wf_status order_on_gpu(wf_context *ctx)
{
    start(ctx);
    wf_array *few = input(ctx, WF_F32, WF_SHAPE(3, 5)), *row = input(ctx, WF_F32, WF_SHAPE(70)),
             *tiles = input(ctx, WF_U8, WF_SHAPE(2100));
    if (few && row && tiles) {
        take(ctx, wf_array_sort(few, 0, true));
        take(ctx, wf_array_argsort(row, 0, false));
        take(ctx, wf_array_argsort(tiles, 0, false));
        take(ctx, wf_array_median(few, WF_AXES(0)));
    }
    wf_release(few);
    wf_release(row);
    wf_release(tiles);
    return finish();
}

/* Roots, a convolution, two passes, several axes, and a filter. */
static void half(const wf_site *site) { wf_set(site->out[0], wf_mul(site->in[0], 0.5)); }

static wf_status fourier(wf_context *ctx)
{
    start(ctx);
    wf_array *a = input(ctx, WF_F32, WF_SHAPE(6, 34)), *prime = input(ctx, WF_F32, WF_SHAPE(131)),
             *line = input(ctx, WF_C64, WF_SHAPE(256)), *out = wf_empty(ctx, WF_F32, WF_SHAPE(6, 34));
    if (a && prime && line && out) {
        wf_array *spectrum = wf_fft_r2c(a, WF_AXES(0, 1), WF_FFT_BACKWARD);
        if (spectrum)
            take(ctx, wf_fft_c2r(spectrum, 34, WF_AXES(0, 1), WF_FFT_BACKWARD));
        take(ctx, spectrum);
        take(ctx, wf_fft_c2c(prime, WF_AXES(0), false, WF_FFT_BACKWARD));
        take(ctx, wf_fft_c2c(line, WF_AXES(0), true, WF_FFT_ORTHO));
        take(ctx, wf_czt(a, 0, &(wf_czt_points){ 5, .first = 0.1, .step = 0.01 }));
        take(ctx, wf_czt(line, 0, &(wf_czt_points){ 3000, .first = 0.1, .step = 0.001, .growth = 1.0001 }));
        note(ctx, wf_fft_filter(out, a, WF_AXES(0, 1), half, NULL));
    } else
        note(ctx, missing(ctx));
    wf_release(a);
    wf_release(prime);
    wf_release(line);
    if (now.status == WF_OK)
        take(ctx, out);
    else
        wf_release(out);
    return finish();
}

/* With a kernel that is convolved through transforms. */
static wf_status convolved(wf_context *ctx)
{
    start(ctx);
    wf_array *a = input(ctx, WF_U8, WF_SHAPE(100, 110)), *kernel = input(ctx, WF_F32, WF_SHAPE(45, 45));
    if (a && kernel)
        take(ctx, wf_convolve(a, kernel, WF_ALL_AXES, WF_BORDER_CLAMP, 0));
    wf_release(a);
    wf_release(kernel);
    return finish();
}

static wf_status long_rows(wf_context *ctx)
{
    start(ctx);
    wf_array *a = input(ctx, WF_U8, WF_SHAPE(300000));
    if (a) {
        take(ctx, wf_array_sort(a, 0, true));
        take(ctx, wf_array_argsort(a, 0, false));
    }
    wf_release(a);
    return finish();
}

static wf_status numbers(wf_context *ctx)
{
    start(ctx);
    wf_array *a = input(ctx, WF_F32, WF_SHAPE(300)), *v = wf_view_slice(a, 0, -1, WF_END_INDEX, -1);
    wf_array *bits = input(ctx, WF_U32, WF_SHAPE(20));
    const wf_random r = { .seed = 5, .stream = 2 };
    if (a && v && bits) {
        note(ctx, wf_array_random_bits(bits, r));
        note(ctx, wf_array_random_uniform(v, r, -1, 2));
        take(ctx, wf_array_copy(a));
        note(ctx, wf_array_random_normal(a, r, 0, 1));
        take(ctx, wf_array_copy(a));
        note(ctx, wf_array_random_lognormal(a, r, 0, 1));
        take(ctx, wf_array_copy(a));
        note(ctx, wf_array_random_poisson(v, r, 3.5));
        take(ctx, wf_array_copy(a));
    } else
        note(ctx, missing(ctx));
    wf_release(a);
    wf_release(v);
    take(ctx, bits);
    return finish();
}

static wf_status products(wf_context *ctx)
{
    start(ctx);
    wf_array *a = input(ctx, WF_F32, WF_SHAPE(7, 5)), *b = input(ctx, WF_F32, WF_SHAPE(5, 9)),
             *z = input(ctx, WF_C64, WF_SHAPE(2, 5, 3)), *v = input(ctx, WF_F32, WF_SHAPE(5, 1));
    if (a && b && z && v) {
        take(ctx, wf_array_dot(a, a, WF_AXES(1)));
        take(ctx, wf_array_matmul(a, b));
        take(ctx, wf_array_matmul(a, v));
        take(ctx, wf_array_matmul(a, z));
    }
    wf_array *all[] = { a, b, z, v };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
    return finish();
}

/* Windows: by networks, by bits, by lines, by runs of footprints. */
static wf_status windows(wf_context *ctx)
{
    start(ctx);
    wf_array *a = input(ctx, WF_F32, WF_SHAPE(6, 30)), *kernel = input(ctx, WF_F32, WF_SHAPE(2, 3)),
             *line = input(ctx, WF_F32, WF_SHAPE(5));
    const int64_t small[] = { 3, 2 }, large[] = { 5, 25 };
    const double sigma[] = { 1, 0.5 };
    const wf_axes both = WF_AXES(0, 1);
    if (a && kernel && line) {
        take(ctx, wf_convolve(a, kernel, both, WF_BORDER_MIRROR, 0));
        take(ctx, wf_convolve_separable(a, WF_ARRAYS(line), both, WF_BORDER_CLAMP, 0));
        take(ctx, wf_gaussian_derivative(a, sigma, (const int[]){ 0, 2 }, both, WF_BORDER_MIRROR, 0));
        take(ctx, wf_uniform_filter(a, large, both, WF_BORDER_PERIODIC, 0));
        take(ctx, wf_median_filter(a, small, both, WF_BORDER_CLAMP, 0));
        take(ctx, wf_rank_filter(a, 3, large, both, WF_BORDER_VALUE, 0));
        take(ctx, wf_morphology_open(a, large, both, WF_BORDER_CLAMP, 0));
        take(ctx, wf_median_footprint(a, kernel, both, WF_BORDER_CLAMP, 0));
        take(ctx, wf_morphology(a, WF_MORPH_CLOSE, kernel, both, WF_BORDER_MIRROR, 0));
    }
    wf_array *all[] = { a, kernel, line };
    for (int i = 0; i < 3; ++i)
        wf_release(all[i]);
    return finish();
}

/* Spectra, correlation, template matching directly and by transforms. */
static wf_status signals(wf_context *ctx)
{
    start(ctx);
    wf_array *a = input(ctx, WF_F32, WF_SHAPE(8, 12)), *f = a ? wf_fft_r2c(a, WF_AXES(0, 1), WF_FFT_BACKWARD) : NULL;
    wf_array *curve = input(ctx, WF_F32, WF_SHAPE(4)), *part = input(ctx, WF_F32, WF_SHAPE(3, 2));
    wf_array *big = input(ctx, WF_F32, WF_SHAPE(23, 22)), *much = input(ctx, WF_F32, WF_SHAPE(22, 21));
    const wf_spectrum half = { WF_LAYOUT_H, WF_F32, 2, { 8, 12 } };
    if (a && f && curve && part && big && much) {
        take(ctx, wf_radial_average(f, &half));
        take(ctx, wf_fsc(f, f, &half));
        wf_array *map = wf_correlate_map(a, a, 2, WF_CORRELATION_MUTUAL);
        if (map)
            take(ctx, wf_correlate_peaks(map, 2, &(wf_peak_search){ .count = 2 }));
        take(ctx, map);
        take(ctx, wf_correlate_score(a, a, NULL, WF_AXES(1), WF_SCORE_COSINE));
        take(ctx, wf_power_spectrum(a, 5));
        take(ctx, wf_match_template(a, part, part, 2));
        take(ctx, wf_match_template(big, much, NULL, 2));
        note(ctx, wf_spectrum_curve(f, f, &half, curve, 0.1));
        note(ctx, now.status == WF_OK ? wf_spectrum_whiten(f, f, &half) : now.status);
        note(ctx, now.status == WF_OK ? wf_spectrum_randomize(f, f, &half, 0.1, (wf_random){ .seed = 1 }) : now.status);
    } else
        note(ctx, missing(ctx));
    wf_array *all[] = { a, curve, part, big, much };
    for (int i = 0; i < 5; ++i)
        wf_release(all[i]);
    if (now.status == WF_OK)
        take(ctx, f);
    else
        wf_release(f);
    return finish();
}

/* Small matrices by functions of values; large ones, where there is a LAPACK. */
static wf_status decompositions(wf_context *ctx)
{
    start(ctx);
    wf_array *a = input(ctx, WF_F32, WF_SHAPE(2, 3, 3)), *b = input(ctx, WF_F64, WF_SHAPE(3, 1)), *w = NULL, *v = NULL;
    wf_array *big = input(ctx, WF_C64, WF_SHAPE(8, 8)), *right = input(ctx, WF_C64, WF_SHAPE(8, 2)), *s = NULL;
    wf_graph *g = a && big ? wf_begin(ctx) : NULL;
    if (g) { /* symmetric, and larger on the diagonal */
        double eye[64];
        for (int i = 0; i < 64; ++i)
            eye[i] = i % 9 ? 0 : 100;
        wf_array *large = wf_empty(ctx, WF_F64, WF_SHAPE(8, 8));
        note(ctx, large ? wf_upload(large, eye, sizeof eye) : missing(ctx));
        wf_out(g, big, wf_cast(wf_in(g, large), WF_C64));
        wf_out(g, a, wf_cast(wf_slice(wf_slice(wf_in(g, large), 0, 0, 3, 1), 1, 0, 3, 1), WF_F32));
        note(ctx, wf_run(g));
        wf_release(large);
    } else
        note(ctx, missing(ctx));
    if (b && right && now.status == WF_OK) {
        take(ctx, wf_solve(a, b));
        take(ctx, wf_solve(a, NULL));
        take(ctx, wf_cholesky(a));
        wf_status status = wf_eigh(a, &w, &v);
        take_two(ctx, status, w, v);
    }
    if (b && right && now.status == WF_OK && has_lapack) {
        take(ctx, wf_solve(big, right));
        take(ctx, wf_cholesky(big));
        w = v = NULL;
        wf_status status = wf_eigh(big, &w, &v);
        take_two(ctx, status, w, v);
        w = v = NULL;
        status = wf_svd(big, &w, &s, &v);
        take_two(ctx, status, w, v);
        if (status == WF_OK)
            take(ctx, s);
        take(ctx, wf_lstsq(big, right, 0));
        for (int complete = 0; complete < 2; ++complete) {
            w = v = NULL;
            status = wf_qr(big, complete, &w, &v);
            take_two(ctx, status, w, v);
        }
        w = v = NULL;
        status = wf_slogdet(big, &w, &v);
        take_two(ctx, status, w, v);
    }
    wf_array *all[] = { a, b, big, right };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
    return finish();
}

static wf_val distance(wf_graph *g, const wf_val *params, void *user) /* sum (x - 1)^4 + y^2 */
{
    (void)g, (void)user;
    wf_val a = wf_sub(params[0], 1), square = wf_mul(a, a);
    wf_val rest = wf_sum(wf_mul(params[1], params[1]), WF_ALL_AXES);
    return wf_add(wf_sum(wf_mul(square, square), WF_ALL_AXES), rest);
}

static wf_status minima(wf_context *ctx)
{
    start(ctx);
    for (int method = WF_MINIMIZE_LBFGS; method <= WF_MINIMIZE_DESCENT && now.status == WF_OK; ++method) {
        wf_array *x = input(ctx, WF_F32, WF_SHAPE(2, 2)), *y = input(ctx, WF_F64, WF_SHAPE(3));
        if (x && y)
            note(ctx, wf_minimize(ctx, WF_ARRAYS(x, y), distance, NULL, NULL, .method = (wf_minimizer)method,
                                  .iterations = 3, .history = 2));
        take(ctx, x);
        take(ctx, y);
    }
    return finish();
}

static bool find_lapack(void)
{
    wf_context *ctx = test_context(WF_CPU, 1);
    wf_array *a = wf_full(ctx, WF_C64, WF_SHAPE(1, 1), 1), *l = wf_cholesky(a);
    bool found = l != NULL;
    if (!found)
        print_message("%s\n", wf_last_message(ctx));
    wf_release(a);
    wf_release(l);
    wf_context_free(ctx);
    return found;
}

static int forget(void **state)
{
    (void)state;
    whole.ctx = NULL;
    return 0;
}

int main(void)
{
#define EACH(name)                \
    {                             \
#name, name, WF_INTERP, 1 \
    }
    static const memory_case cases[] = {
        EACH(make),
        EACH(parts),
        EACH(reductions),
        EACH(extremes),
        EACH(order),
        EACH(numbers),
        EACH(products),
        { "decompositions", decompositions, WF_INTERP, 3 },
        { "windows", windows, WF_INTERP, 19 },
        { "signals", signals, WF_INTERP, 23 },
        { "fourier", fourier, WF_INTERP, TEST_EVERY > 1 ? 37 : 7 },
        { "convolved", convolved, WF_INTERP, TEST_EVERY > 1 ? 23 : 7 },
        { "long rows", long_rows, WF_INTERP, 3 },
        { "minima", minima, WF_INTERP, 11 },
        { "order on a GPU", order_on_gpu, WF_GPU_EMU(0), 101 },
    };
    has_lapack = find_lapack();
    return run_memory_cases(cases, WF__COUNT(cases), forget);
}
