/* test_fft.c - Fourier transforms beside the sums that define them: short and long lengths, small and large prime
 * factors, all axes, real and complex, f32 and f64, scaled in four ways, in place, into views, replayed; and mistakes.
 *
 * ctest: devices
 */
#include "fft_numbers.h"
#include "lib/fft/fft_internal.h"

/* The transform along an axis by its definition; x is [outer, n, inner]. */
static void define(number *x, int64_t outer, int64_t n, int64_t inner, double sign)
{
    number *root = malloc((size_t)n * sizeof *root), *line = malloc((size_t)n * sizeof *line);
    for (int64_t k = 0; k < n; ++k)
        root[k] = cos(2 * M_PI * (double)k / (double)n) + sign * I * sin(2 * M_PI * (double)k / (double)n);
    for (int64_t l = 0; l < outer * inner; ++l) {
        number *at = x + l / inner * n * inner + l % inner;
        for (int64_t k = 0; k < n; ++k) {
            line[k] = 0;
            for (int64_t j = 0; j < n; ++j)
                line[k] += at[j * inner] * root[j * k % n];
        }
        for (int64_t k = 0; k < n; ++k)
            at[k * inner] = line[k];
    }
    free(root);
    free(line);
}

static void define_axes(number *x, wf_shape shape, wf_axes axes, double sign)
{
    for (int d = 0; d < shape.rank; ++d) {
        int64_t outer = 1, inner = 1;
        for (int e = 0; e < shape.rank; ++e)
            if (e != d)
                *(e < d ? &outer : &inner) *= shape.dim[e];
        if (axes >> d & 1)
            define(x, outer, shape.dim[d], inner, sign);
    }
}

/* Complex, real to complex and back along the middle axis. */
static void check_lengths(int64_t outer, int64_t n, int64_t inner, wf_dtype t)
{
    wf_shape shape = WF_SHAPE(outer, n, inner);
    int64_t all = outer * n * inner, half = n / 2 + 1;
    wf_dtype real = wf_dtype_part(t);
    number *x = random_numbers(all, (uint64_t)all), *y = malloc((size_t)(all + 1) * sizeof *y);
    wf_array *a = numbers_as(t, shape, x);
    for (int inverse = 0; inverse < 2; ++inverse) {
        memcpy(y, x, (size_t)all * sizeof *y);
        define(y, outer, n, inner, inverse ? 1 : -1);
        wf_array *b = wf_fft_c2c(a, WF_AXES(1), inverse, WF_FFT_NONE);
        check_near(b, y, tolerance(t), inverse ? "inverse" : "forward", n);
        wf_release(b);
    }
    wf_release(a);
    a = numbers_as(real, shape, x);
    memcpy(y, x, (size_t)all * sizeof *y);
    define(y, outer, n, inner, -1);
    for (int64_t o = 0; o < outer; ++o) /* the half that r2c has, in place */
        memmove(y + o * half * inner, y + o * n * inner, (size_t)(half * inner) * sizeof *y);
    wf_array *spectrum = wf_fft_r2c(a, WF_AXES(1), WF_FFT_NONE);
    check_near(spectrum, y, tolerance(t), "real", n);
    wf_array *back = wf_fft_c2r(spectrum, n, WF_AXES(1), WF_FFT_BACKWARD);
    check_near(back, x, tolerance(t), "back to real", n);
    wf_array *given[] = { a, spectrum, back };
    for (int i = 0; i < 3; ++i)
        wf_release(given[i]);
    free(x);
    free(y);
}

static void test_lengths(void **state)
{
    (void)state;
    static const int many[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,  16,  17,  18,  20,  21, 22,
                                24, 25, 26, 27, 30, 31, 32, 34, 37, 48, 53, 60, 64, 96, 101, 127, 131, 139, 240, 262 },
                     few[] = { 1, 7, 34 };
    const int *n = compiled() || is_on_gpu() ? few : many;
    size_t count = n == few ? sizeof few / sizeof *few : sizeof many / sizeof *many;
    for (size_t i = 0; i < count; i += TEST_EVERY) {
        check_lengths(3, n[i], 1, WF_C64);
        check_lengths(2, n[i], 17, i % 2 ? WF_C64 : WF_C128);
    }
}

/* Lengths of several steps, of large primes, and those that do not fit into scratch. */
static void test_long(void **state)
{
    (void)state;
    if (is_on_gpu())
        return;
    check_lengths(1, 1000, 1, WF_C64);
    check_lengths(17, 262, 1, WF_C64);
    check_lengths(1, 139, 18, WF_C128);
    if (!compiled() && TEST_EVERY == 1) {
        check_lengths(1, 12000, 1, WF_C64);
        check_lengths(1, 8209, 1, WF_C64); /* a prime */
    }
}

/* Arrays that caches do not hold, whose lines are copied there in parts, the last one smaller: from one array to another,
 * and within one by one thread, which has smaller parts than two and gives the same bits. */
static void test_in_parts(void **state)
{
    (void)state;
    static const struct {
        int64_t outer, n, inner, known; /* known: the last ones of the outer axis are compared with sums */
        wf_dtype in;
    } rows[] = { { 1031, 2048, 1, 12, WF_C64 }, { 1031, 2048, 1, 12, WF_F32 }, { 2, 33, 20011, 2, WF_C64 } };
    if (!compiled())
        return;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r += TEST_EVERY) {
        int64_t n = rows[r].n, inner = rows[r].inner, all = rows[r].outer * n * inner,
                known = rows[r].known * n * inner;
        number *x = random_numbers(all, r), *y = malloc((size_t)known * sizeof *y);
        wf_array *a = numbers_as(rows[r].in, WF_SHAPE(rows[r].outer, n, inner), x), *c = wf_array_cast(a, WF_C64);
        wf_array *b = wf_fft_c2c(a, WF_AXES(1), false, WF_FFT_NONE);
        memcpy(y, x + all - known, (size_t)known * sizeof *y);
        define(y, rows[r].known, n, inner, -1);
        number *found = numbers_of(b);
        assert_true(distance(found + all - known, y, known) <= tolerance(WF_C64));
        wf_set_threads(ctx, 1);
        OK(ctx, wf_fft_into(c, c, WF_AXES(1), false, WF_FFT_NONE));
        wf_set_threads(ctx, 2);
        check_near(c, found, 0, "in place, with one thread", n);
        OK(ctx, wf_fft_into(b, b, WF_AXES(1), true, WF_FFT_BACKWARD));
        check_near(b, x, 2 * tolerance(WF_C64), "back", n);
        wf_array *spent[] = { a, b, c };
        for (int i = 0; i < 3; ++i)
            wf_release(spent[i]);
        free(found);
        free(x);
        free(y);
    }
}

/* Few lines, whose elements fill vectors in place of lines; of real ones pairs of elements. */
static void test_few_lines(void **state)
{
    (void)state;
    static const int64_t n[] = { 32, 64, 96, 256, 512, 1024, 2080, 4096 };
    for (size_t i = 0; i < sizeof n / sizeof *n && n[i] <= sized(TEST_EVERY > 1 ? 512 : 4096, 256); ++i) {
        check_lengths(1, n[i], 1, WF_C64);
        check_lengths(3, n[i], 1, WF_C128);
        number *x = random_numbers(2 * n[i], i);
        wf_array *a = numbers_as(WF_F32, WF_SHAPE(2, n[i]), x), *b = wf_fft_r2c(a, WF_AXES(1), WF_FFT_ORTHO);
        wf_array *c = wf_fft_c2r(b, n[i], WF_AXES(1), WF_FFT_ORTHO);
        check_near(c, x, tolerance(WF_C64), "there and back", n[i]);
        wf_array *spent[] = { a, b, c };
        for (int k = 0; k < 3; ++k)
            wf_release(spent[k]);
        free(x);
    }
}

static void test_axes(void **state)
{
    (void)state;
    wf_shape shape = WF_SHAPE(3, 4, 6, 5);
    int64_t all = 360;
    number *x = random_numbers(all, 7), *y = malloc(360 * sizeof *y);
    wf_array *a = numbers_as(WF_C64, shape, x);
    wf_axes step = compiled() ? 6 : 1;
    for (wf_axes axes = 1; axes < 16; axes += step) {
        memcpy(y, x, 360 * sizeof *y);
        define_axes(y, shape, axes, -1);
        wf_array *b = wf_fft_c2c(a, axes, false, WF_FFT_BACKWARD), *c = wf_fft_c2c(b, axes, true, WF_FFT_BACKWARD);
        check_near(b, y, 5e-7, "axes", axes);
        check_near(c, x, 5e-7, "axes back", axes);
        wf_release(b);
        wf_release(c);
    }
    wf_release(a);
    a = numbers_as(WF_F32, shape, x);
    wf_array *s = wf_fft_r2c(a, WF_AXES(0, 2, 3), WF_FFT_ORTHO),
             *full = wf_fft_c2c(a, WF_AXES(0, 2, 3), false, WF_FFT_ORTHO);
    wf_array *half = wf_view_slice(full, 3, 0, 3, 1), *back = wf_fft_c2r(s, 5, WF_AXES(0, 2, 3), WF_FFT_ORTHO);
    number *expected = numbers_of(half);
    check_near(s, expected, 5e-7, "half", 5);
    check_near(back, x, 5e-7, "three axes", 5);
    wf_array *given[] = { a, s, full, half, back };
    for (int i = 0; i < 5; ++i)
        wf_release(given[i]);
    free(expected);
    free(x);
    free(y);
}

static void test_norms(void **state)
{
    (void)state;
    static const struct {
        wf_fft_norm norm;
        double forward, inverse;
    } rows[] = { { WF_FFT_BACKWARD, 1, 1.0 / 24 },
                 { WF_FFT_FORWARD, 1.0 / 24, 1 },
                 { WF_FFT_ORTHO, 0.20412414523193150818, 0.20412414523193150818 },
                 { WF_FFT_NONE, 1, 1 } };
    wf_shape shape = WF_SHAPE(4, 6);
    number *x = random_numbers(24, 3), y[24], z[24];
    wf_array *a = numbers_as(WF_C128, shape, x);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        wf_array *f = wf_fft_c2c(a, WF_ALL_AXES, false, rows[i].norm),
                 *b = wf_fft_c2c(a, WF_ALL_AXES, true, rows[i].norm);
        for (int k = 0; k < 24; ++k)
            y[k] = x[k] * rows[i].forward, z[k] = x[k] * rows[i].inverse;
        define_axes(y, shape, 3, -1);
        define_axes(z, shape, 3, 1);
        check_near(f, y, 1e-15, "norm", (int64_t)i);
        check_near(b, z, 1e-15, "norm back", (int64_t)i);
        wf_release(f);
        wf_release(b);
    }
    wf_release(a);
    free(x);
}

/* The imaginary parts that the symmetry of a real line forbids do not count. */
static void test_hermitian(void **state)
{
    (void)state;
    for (int n = 6; n < 8; ++n) {
        number x[4] = { 1 + 5 * I, 2 - 1 * I, 0.5 + 3 * I, 4 + 7 * I }, full[7];
        wf_array *a = numbers_as(WF_C64, WF_SHAPE(4), x), *b = wf_fft_c2r(a, n, WF_AXES(0), WF_FFT_NONE);
        for (int k = 0; k < n; ++k)
            full[k] = k == 0 || 2 * k == n ? creal(x[k]) : 2 * k < n ? x[k] : conj(x[n - k]);
        define(full, 1, n, 1, 1);
        check_near(b, full, 5e-7, "hermitian", n);
        wf_release(a);
        wf_release(b);
    }
}

static void test_into(void **state)
{
    (void)state;
    wf_shape shape = WF_SHAPE(4, 6, 5);
    number *x = random_numbers(120, 9), *y = malloc(120 * sizeof *y);
    wf_array *a = numbers_as(WF_C64, shape, x);
    memcpy(y, x, 120 * sizeof *y);
    define_axes(y, shape, 6, -1);
    wf_array *wide = wf_full(ctx, WF_C64, WF_SHAPE(4, 6, 10), 0), *view = wf_view_slice(wide, 2, 9, WF_END_INDEX, -2);
    OK(ctx, wf_fft_into(view, a, WF_AXES(1, 2), false, WF_FFT_BACKWARD)); /* a reversed view */
    check_near(view, y, 5e-7, "into a view", 6);
    wf_array *from = wf_full(ctx, WF_C64, WF_SHAPE(4, 6, 10), 0), *gaps = wf_view_slice(from, 2, 0, WF_END_INDEX, 2);
    OK(ctx, wf_array_assign(gaps, a));
    wf_array *b = wf_fft_c2c(gaps, WF_AXES(1, 2), false, WF_FFT_BACKWARD); /* from a view */
    check_near(b, y, 5e-7, "from a view", 6);
    OK(ctx, wf_fft_into(gaps, gaps, WF_AXES(1, 2), false, WF_FFT_BACKWARD)); /* in place, with gaps */
    check_near(gaps, y, 5e-7, "in place with gaps", 6);
    wf_array *whole = wf_view_slice(from, 2, 1, WF_END_INDEX, 2);
    number *others = numbers_of(whole);
    for (int i = 0; i < 120; ++i)
        assert_true(others[i] == 0); /* elements between those of the view keep their values */
    free(others);
    OK(ctx, wf_fft_into(a, a, WF_AXES(1, 2), false, WF_FFT_BACKWARD)); /* in place */
    check_near(a, y, 5e-7, "in place", 6);
    wf_array *given[] = { a, b, wide, view, from, gaps, whole };
    for (int i = 0; i < 7; ++i)
        wf_release(given[i]);
    free(x);
    free(y);
}

/* A batch has the bits of its parts; so have all numbers of threads. */
/* Batches of images, whose last part is smaller the fewer threads there are: a part of few rows, of which a transform
 * alone would take two passes, and a part that is small enough for the second cache. */
static void test_any_threads(void **state)
{
    (void)state;
    static const int64_t sizes[2][3] = { { 3, 64, 512 }, { 18, 4, 1000 } };
    if (!compiled())
        return;
    for (int s = 0; s < 2; ++s) {
        int64_t n = sizes[s][0] * sizes[s][1] * sizes[s][2];
        number *x = random_numbers(n, 6);
        wf_array *a = numbers_as(WF_C64, WF_SHAPE(sizes[s][0], sizes[s][1], sizes[s][2]), x), *y[3];
        for (int t = 0; t < 3; ++t) {
            wf_set_threads(ctx, (int[]){ 1, 2, 5 }[t]);
            y[t] = wf_fft_c2c(a, WF_AXES(1, 2), false, WF_FFT_BACKWARD);
        }
        wf_set_threads(ctx, 2);
        number *expected = numbers_of(y[2]);
        check_near(y[0], expected, 0, "with one thread", sizes[s][2]);
        check_near(y[1], expected, 0, "with two threads", sizes[s][2]);
        wf_array *spent[] = { a, y[0], y[1], y[2] };
        for (int i = 0; i < 4; ++i)
            wf_release(spent[i]);
        free(expected);
        free(x);
    }
}

static void test_same_bits(void **state)
{
    (void)state;
    enum { N = 48, LINES = 37, SOME = 10 };
    number *x = random_numbers(N * LINES, 4);
    wf_array *a = numbers_as(WF_C64, WF_SHAPE(LINES, N), x), *b = wf_fft_c2c(a, WF_AXES(1), false, WF_FFT_BACKWARD);
    wf_set_threads(ctx, 1);
    wf_array *c = wf_fft_c2c(a, WF_AXES(1), false, WF_FFT_BACKWARD);
    wf_set_threads(ctx, 2);
    float one[2 * N * LINES], other[2 * N * LINES];
    OK(ctx, wf_download(b, one, sizeof one));
    OK(ctx, wf_download(c, other, sizeof other));
    assert_memory_equal(one, other, sizeof one);
    for (int i = 0; i + SOME <= LINES; i += 9) { /* fewer lines would not fill vectors, and take another way */
        wf_array *lines = wf_view_slice(a, 0, i, i + SOME, 1);
        wf_array *d = wf_fft_c2c(lines, WF_AXES(1), false, WF_FFT_BACKWARD);
        OK(ctx, wf_download(d, other, 8 * N * SOME));
        assert_memory_equal(one + 2 * N * i, other, 8 * N * SOME);
        wf_release(lines);
        wf_release(d);
    }
    wf_release(a);
    wf_release(b);
    wf_release(c);
    free(x);
}

/* A filter that depends on all indices of the spectrum, and reads an array. */
typedef struct response {
    const wf_array *weight; /* f32 [extent of the last axis in the spectrum] */
} response;

static void respond(const wf_site *site)
{
    const response *r = site->user;
    wf_val w = wf_read(site->graph, r->weight, site->index[site->rank - 1]), re = WF_V(1), im = WF_V(0.5);
    for (int d = 0; d < site->rank - 1; ++d)
        im = wf_add(im, wf_mul(wf_cast(site->index[d], WF_F32), 0.125 * (d + 1)));
    wf_set(site->out[0], wf_mul(site->in[0], wf_complex(wf_mul(w, re), wf_mul(w, im))));
}

static void check_filter(wf_shape shape, wf_axes axes)
{
    int64_t n = 1, half = 1;
    wf_shape spectrum = shape;
    int last = shape.rank - 1;
    spectrum.dim[last] = shape.dim[last] / 2 + 1;
    for (int d = 0; d < shape.rank; ++d) {
        n *= shape.dim[d];
        half *= spectrum.dim[d];
    }
    number weights[64], *x = random_numbers(n, 11);
    for (int k = 0; k < 64; ++k)
        weights[k] = 1.0 / (k + 1);
    wf_array *a = numbers_as(WF_F32, shape, x), *w = numbers_as(WF_F32, WF_SHAPE(64), weights), *out = wf_like(a);
    OK(ctx, wf_fft_filter(out, a, axes, respond, &(response){ .weight = w }));
    wf_array *s = wf_fft_r2c(a, axes, WF_FFT_BACKWARD); /* the same in three steps */
    number *f = numbers_of(s);
    for (int64_t i = 0; i < half; ++i) {
        int64_t at = i / spectrum.dim[last];
        double im = 0.5;
        for (int d = last - 1; d >= 0; --d) {
            im += (double)(at % spectrum.dim[d]) * 0.125 * (d + 1);
            at /= spectrum.dim[d];
        }
        f[i] *= weights[i % spectrum.dim[last]] * (1 + I * im);
    }
    wf_array *filtered = numbers_as(WF_C64, spectrum, f),
             *back = wf_fft_c2r(filtered, shape.dim[last], axes, WF_FFT_BACKWARD);
    number *expected = numbers_of(back);
    check_near(out, expected, 1e-6, "filter", n);
    OK(ctx, wf_fft_filter(a, a, axes, respond, &(response){ .weight = w })); /* in place */
    check_near(a, expected, 1e-6, "filter in place", n);
    wf_array *given[] = { a, w, out, s, filtered, back };
    for (int i = 0; i < 6; ++i)
        wf_release(given[i]);
    free(f);
    free(x);
    free(expected);
}

static void test_filter(void **state)
{
    (void)state;
    check_filter(WF_SHAPE(12, 10), WF_AXES(0, 1));
    check_filter(WF_SHAPE(40), WF_AXES(0));
    if (compiled() || is_on_gpu())
        return;
    check_filter(WF_SHAPE(3, 17, 9), WF_AXES(1, 2));
    check_filter(WF_SHAPE(2, 4, 6, 5), WF_AXES(1, 2, 3));
    check_filter(WF_SHAPE(131, 6), WF_AXES(0, 1)); /* a length that takes a convolution */
    check_filter(WF_SHAPE(1, 7, 1), WF_AXES(1, 2));
    check_filter(WF_SHAPE(40, 64, 64), WF_AXES(1, 2)); /* more than caches hold */
}

/* Frequency f of n elements, or 0 beyond; w: what counts of the highest frequency of an even extent. */
static number term(const number *x, int64_t n, int64_t m, int64_t f)
{
    int64_t least = n < m ? n : m, size = f < 0 ? -f : f;
    double weight = 2 * size > least ? 0 : 2 * size == least && n < m ? 0.5 : 1;
    return n == m && 2 * f == n ? 0 : weight * x[(f + n) % n];
}

/* m samples of the trigonometric polynomial of n elements, whose spectrum is x. */
static void interpolate(const number *x, int64_t n, int64_t m, number *out)
{
    for (int64_t j = 0; j < m; ++j) {
        out[j] = 0;
        for (int64_t f = -(n / 2); f <= n / 2; ++f) {
            double angle = 2 * M_PI * (double)(f * j % m) / (double)m;
            out[j] += term(x, n, m, f) * (cos(angle) + I * sin(angle)) / (double)n;
        }
    }
}

static void test_resize(void **state)
{
    (void)state;
    int64_t step = compiled() ? 3 : 1;
    for (int64_t n = 1; n <= 9; n += step)
        for (int64_t m = 1; m <= 9; m += step) {
            number *x = random_numbers(n, (uint64_t)(10 * n + m)), spectrum[9], expected[9];
            wf_array *a = numbers_as(WF_C128, WF_SHAPE(n), x), *s = wf_fft_c2c(a, WF_AXES(0), false, WF_FFT_BACKWARD);
            memcpy(spectrum, x, (size_t)n * sizeof *x);
            define(spectrum, 1, n, 1, -1);
            interpolate(spectrum, n, m, expected);
            wf_array *t = wf_fft_resize(s, WF_SHAPE(n), WF_SHAPE(m), WF_AXES(0));
            wf_array *b = wf_fft_c2c(t, WF_AXES(0), true, WF_FFT_BACKWARD);
            check_near(b, expected, 1e-14, "resized", 100 * n + m);
            wf_array *given[] = { a, s, t, b };
            for (int i = 0; i < 4; ++i)
                wf_release(given[i]);
            free(x);
        }
}

/* A half spectrum becomes the half of what the whole one becomes. */
static void test_resize_half(void **state)
{
    (void)state;
    static const int64_t rows[][6] = {
        { 2, 4, 6, 2, 3, 9 }, { 2, 5, 8, 2, 8, 4 }, { 1, 6, 9, 1, 4, 6 }, { 1, 4, 6, 1, 4, 6 }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        wf_shape from = WF_SHAPE(rows[i][0], rows[i][1], rows[i][2]), to = WF_SHAPE(rows[i][3], rows[i][4], rows[i][5]);
        number *x = random_numbers(from.dim[0] * from.dim[1] * from.dim[2], i);
        wf_array *a = numbers_as(WF_F64, from, x);
        wf_array *s = wf_fft_r2c(a, WF_AXES(1, 2), WF_FFT_BACKWARD),
                 *whole = wf_fft_c2c(a, WF_AXES(1, 2), false, WF_FFT_BACKWARD);
        wf_array *t = wf_fft_resize(s, from, to, WF_AXES(1, 2)), *u = wf_fft_resize(whole, from, to, WF_AXES(1, 2));
        wf_array *b = wf_fft_c2r(t, to.dim[2], WF_AXES(1, 2), WF_FFT_BACKWARD),
                 *c = wf_fft_c2c(u, WF_AXES(1, 2), true, WF_FFT_BACKWARD);
        number *expected = numbers_of(c);
        check_near(b, expected, 1e-14, "half resized", (int64_t)i);
        wf_array *given[] = { a, s, whole, t, u, b, c };
        for (int k = 0; k < 7; ++k)
            wf_release(given[k]);
        free(expected);
        free(x);
    }
}

static void test_shift(void **state)
{
    (void)state;
    number x[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, shifted[] = { 8, 9, 5, 6, 7, 3, 4, 0, 1, 2 };
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(2, 5), x), *b = wf_fft_shift(a, WF_ALL_AXES, false),
             *c = wf_fft_shift(b, WF_AXES(0, 1), true);
    check_near(b, shifted, 0, "shift", 5);
    check_near(c, x, 0, "shift back", 5);
    wf_release(a);
    wf_release(b);
    wf_release(c);
}

static void test_frozen(void **state)
{
    (void)state;
    number *x = random_numbers(5 * 24, 1), *z = random_numbers(5 * 24, 2);
    wf_array *a = numbers_as(WF_F32, WF_SHAPE(5, 24), x), *y = wf_full(ctx, WF_C64, WF_SHAPE(5, 13), 0);
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
    OK(ctx, wf_fft_into(y, a, WF_AXES(0, 1), false, WF_FFT_BACKWARD));
    wf_frozen *frozen = wf_freeze_end(ctx);
    if (!frozen)
        print_error("%s\n", wf_last_message(ctx));
    assert_non_null(frozen);
    wf_array *b = numbers_as(WF_F32, WF_SHAPE(5, 24), z);
    OK(ctx, wf_frozen_replay(frozen, WF_ARRAYS(b)));
    wf_array *c = wf_fft_r2c(b, WF_AXES(0, 1), WF_FFT_BACKWARD);
    number *expected = numbers_of(c);
    check_near(y, expected, 0, "replay", 24);
    wf_frozen_free(frozen);
    wf_array *given[] = { a, b, c, y };
    for (int i = 0; i < 4; ++i)
        wf_release(given[i]);
    free(expected);
    free(x);
    free(z);
}

static void test_other_dtypes(void **state)
{
    (void)state;
    static const struct {
        wf_dtype in, c2c;
    } rows[] = { { WF_BOOL, WF_C64 }, { WF_U8, WF_C64 },  { WF_I16, WF_C64 },  { WF_I32, WF_C128 },
                 { WF_U64, WF_C128 }, { WF_F16, WF_C32 }, { WF_BF16, WF_C64 }, { WF_F32, WF_C64 },
                 { WF_F64, WF_C128 }, { WF_C32, WF_C32 }, { WF_C64, WF_C64 },  { WF_C128, WF_C128 } };
    number values[] = { 1, 0, 1, 1, 0, 0 }, expected[6];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        wf_array *wide = numbers_as(WF_F64, WF_SHAPE(6), values), *a = wf_array_cast(wide, rows[i].in);
        wf_array *b = wf_fft_c2c(a, WF_AXES(0), false, WF_FFT_BACKWARD);
        memcpy(expected, values, sizeof expected);
        define(expected, 1, 6, 1, -1);
        check_near(b, expected, rows[i].c2c == WF_C32 ? 1e-3 : 1e-6, wf_dtype_name(rows[i].in), 6);
        assert_int_equal(wf_array_dtype(b), rows[i].c2c);
        if (wf_dtype_kind(rows[i].in) != WF_KIND_COMPLEX) {
            wf_array *c = wf_fft_r2c(a, WF_AXES(0), WF_FFT_BACKWARD),
                     *d = wf_fft_c2r(c, -1, WF_AXES(0), WF_FFT_BACKWARD);
            assert_int_equal(wf_array_dtype(d), wf_dtype_part(rows[i].c2c));
            check_near(d, values, rows[i].c2c == WF_C32 ? 1e-3 : 1e-6, "and back", 6);
            wf_release(c);
            wf_release(d);
            c = wf_array_cast(a, rows[i].c2c); /* a spectrum may be real */
            d = wf_fft_c2r(a, 11, WF_AXES(0), WF_FFT_ORTHO);
            wf_array *e = wf_fft_c2r(c, 11, WF_AXES(0), WF_FFT_ORTHO);
            assert_int_equal(wf_array_dtype(d), wf_array_dtype(e));
            bool same = false;
            OK(ctx, wf_array_all_close(d, e, 0, 0, false, &same));
            assert_true(same);
            wf_release(c);
            wf_release(d);
            wf_release(e);
        }
        wf_release(wide);
        wf_release(a);
        wf_release(b);
    }
}

static void test_empty(void **state)
{
    (void)state;
    wf_array *a = wf_empty(ctx, WF_C64, WF_SHAPE(0, 5, 0)), *b = wf_fft_c2c(a, WF_AXES(1), false, WF_FFT_BACKWARD);
    assert_non_null(b);
    assert_int_equal(wf_array_count(b), 0);
    wf_release(a);
    wf_release(b);
}

static void test_mistakes(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_C64, WF_SHAPE(4, 6), 1), *r = wf_full(ctx, WF_F32, WF_SHAPE(4, 6), 1),
             *none = wf_empty(ctx, WF_F32, WF_SHAPE(4, 0));
    REFUSED(ctx, of_null(wf_fft_c2c(a, 0, false, WF_FFT_BACKWARD)), WF_ERR_ARG, "names no axis");
    REFUSED(ctx, of_null(wf_fft_c2c(a, WF_AXES(1), false, (wf_fft_norm)9)), WF_ERR_ARG,
            "wf_fft_c2c: there is no wf_fft_norm 9");
    REFUSED(ctx, of_null(wf_fft_r2c(a, WF_AXES(1), (wf_fft_norm)-3)), WF_ERR_ARG,
            "wf_fft_r2c: there is no wf_fft_norm -3");
    REFUSED(ctx, of_null(wf_dct(a, 2, WF_AXES(1), false, (wf_fft_norm)77)), WF_ERR_ARG,
            "wf_dct: there is no wf_fft_norm 77");
    REFUSED(ctx, of_null(wf_fft_c2c(a, WF_AXES(3), false, WF_FFT_BACKWARD)), WF_ERR_ARG, "beyond the array's rank 2");
    REFUSED(ctx, of_null(wf_fft_c2c(a, WF_AXES(1) | WF_DROP_AXES, false, WF_FFT_BACKWARD)), WF_ERR_ARG, "WF_DROP_AXES");
    REFUSED(ctx, of_null(wf_fft_r2c(a, WF_AXES(1), WF_FFT_BACKWARD)), WF_ERR_DTYPE, "wf_fft_r2c: the array is complex");
    REFUSED(ctx, of_null(wf_fft_c2r(r, 12, WF_AXES(1), WF_FFT_BACKWARD)), WF_ERR_SHAPE,
            "12 elements along axis 1 have a spectrum of 7, but it has 6");
    REFUSED(ctx, of_null(wf_fft_c2r(a, 12, WF_AXES(1), WF_FFT_BACKWARD)), WF_ERR_SHAPE,
            "12 elements along axis 1 have a spectrum of 7, but it has 6");
    REFUSED(ctx, of_null(wf_fft_r2c(none, WF_AXES(1), WF_FFT_BACKWARD)), WF_ERR_SHAPE,
            "axis 1 of the array has no elements");
    REFUSED(ctx, (wf_fft_into(r, a, WF_AXES(1), false, WF_FFT_BACKWARD)), WF_ERR_SHAPE,
            "c64(4, 6) does not transform into f32(4, 6)");
    REFUSED(ctx, of_null(wf_fft_resize(a, WF_SHAPE(4, 8), WF_SHAPE(4, 4), WF_AXES(1))), WF_ERR_SHAPE,
            "a spectrum (4, 6) of (4, 8) cannot become one of (4, 4)");
    REFUSED(ctx, of_null(wf_fft_resize(a, WF_SHAPE(4, 6), WF_SHAPE(3, 6), WF_AXES(1))), WF_ERR_SHAPE, "cannot become");
    REFUSED(ctx, wf_fft_filter(r, a, WF_AXES(1), respond, NULL), WF_ERR_DTYPE,
            "wf_fft_filter: the arrays must be real");
    REFUSED(ctx, wf_fft_filter(none, r, WF_AXES(1), respond, NULL), WF_ERR_SHAPE, "another shape");
    REFUSED(ctx, wf_fft_filter(r, r, WF_AXES(1), NULL, NULL), WF_ERR_ARG, "the filter is NULL");
    REFUSED(ctx, (wf_fft_into(NULL, a, WF_AXES(1), false, WF_FFT_BACKWARD)), WF_ERR_ARG, "an array is NULL");
    assert_null(wf_fft_c2c(NULL, WF_AXES(0), false, WF_FFT_BACKWARD));
    wf_release(a);
    wf_release(r);
    wf_release(none);
}

/* Roots of unity have small relative errors in both parts, also where a part is small. */
static void test_roots(void **state)
{
    (void)state;
    const long double two_pi = 2 * acosl(-1);
    for (int64_t n = 1; n <= 200; ++n)
        for (int64_t i = 0; i <= 2 * n; ++i) {
            double re, im;
            wfl_fft_root(i, n, &re, &im);
            long double c = cosl(two_pi * (long double)(i % n) / (long double)n),
                        s = sinl(two_pi * (long double)(i % n) / (long double)n);
            if (fabsl(re - c) > 0x1p-51L * fabsl(c) + 1e-18L || fabsl(im - s) > 0x1p-51L * fabsl(s) + 1e-18L)
                fail_msg("root %d of %d is %.17g, %.17g", (int)i, (int)n, re, im);
        }
}

static void test_fast_size(void **state)
{
    (void)state;
    static const int64_t rows[][3] = { { -3, 1, 2 },   { 1, 1, 2 },       { 11, 12, 12 },       { 13, 14, 14 },
                                       { 15, 15, 16 }, { 121, 125, 126 }, { 3711, 3750, 3750 }, { 4097, 4116, 4116 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        assert_int_equal(wf_fft_fast_size(rows[i][0], false), rows[i][1]);
        assert_int_equal(wf_fft_fast_size(rows[i][0], true), rows[i][2]);
    }
    assert_int_equal(wf_fft_fast_size(INT64_MAX, false), -1);
}

/* An array may outlive the call of wf_context_free, after which kernels are no longer kept. */
static void test_after_context(void **state)
{
    (void)state;
    wf_context *mine = test_context(wf_context_device(ctx), 1);
    wf_array *a = wf_full(mine, WF_C64, WF_SHAPE(3, 8), 1), *b = wf_fft_c2c(a, WF_AXES(1), false, WF_FFT_BACKWARD);
    wf_context_free(mine);
    wf_array *c = wf_fft_c2c(b, WF_AXES(1), true, WF_FFT_BACKWARD);
    assert_non_null(c);
    float x[48];
    assert_int_equal(wf_download(c, x, sizeof x), WF_OK);
    for (int i = 0; i < 48; ++i)
        assert_true(x[i] == (i % 2 ? 0 : 1));
    wf_release(a);
    wf_release(b);
    wf_release(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),      cmocka_unit_test(test_long),      cmocka_unit_test(test_in_parts),
        cmocka_unit_test(test_axes),         cmocka_unit_test(test_few_lines), cmocka_unit_test(test_norms),
        cmocka_unit_test(test_hermitian),    cmocka_unit_test(test_into),      cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_any_threads),  cmocka_unit_test(test_filter),    cmocka_unit_test(test_resize),
        cmocka_unit_test(test_resize_half),  cmocka_unit_test(test_shift),     cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_other_dtypes), cmocka_unit_test(test_empty),     cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_roots),        cmocka_unit_test(test_fast_size), cmocka_unit_test(test_after_context),
    };
    return RUN_ON_ALL(tests);
}
