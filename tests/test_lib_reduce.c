/* test_lib_reduce.c - reductions, extremes and their places, truth, closeness and normalisation beside plain C, over
 * every subset of the axes of permuted, reversed, broadcast and empty arrays, with NaN, for all dtypes. Threads change
 * no bit.
 *
 * ctest: devices threads values
 */
#include "on_devices.h"
#include "plain_reductions.h"
#include "weft/functions.h"
enum { MOST = 4096 };

typedef struct sample { /* an array and its elements in C order */
    wf_array *array;
    wf_shape shape;
    int64_t n;
    number x[MOST];
} sample;

static sample *sample_of(wf_array *array) /* consumes it */
{
    sample *s = calloc(1, sizeof *s);
    assert_true(s && array);
    s->array = array;
    s->shape = wf_array_shape(array);
    s->n = wf_array_count(array);
    assert_true(s->n <= MOST);
    wf_array *wide = wf_array_cast(array, WF_C128);
    OK(ctx, wf_download(wide, s->x, (size_t)s->n * sizeof *s->x));
    wf_release(wide);
    return s;
}

static void sample_free(sample *s)
{
    wf_release(s->array);
    free(s);
}

/* Returns small numbers whose sums are exact: with halves (floats), signs (unless unsigned) and imaginary parts. */
static wf_array *numbers(wf_dtype t, wf_shape shape, uint64_t seed)
{
    double *data = malloc(2 * MOST * sizeof *data);
    int64_t n = 1;
    for (int d = 0; d < shape.rank; ++d)
        n *= shape.dim[d];
    assert_true(data && n <= MOST);
    for (int64_t i = 0; i < 2 * n; ++i) {
        double x = (double)(test_random(&seed) % 23) - 11;
        bool is_unsigned = t == WF_BOOL || t == WF_U8 || t == WF_U16 || t == WF_U32 || t == WF_U64;
        data[i] = is_unsigned ? fabs(x) - (fabs(x) > 9) : t < WF_F16 ? x : x / 2;
        if (t == WF_BOOL)
            data[i] = x > 0;
    }
    bool pairs = t >= WF_C32;
    wf_array *a = array_of(ctx, pairs ? WF_C128 : WF_F64, shape, data), *out = wf_array_cast(a, t);
    free(data);
    wf_release(a);
    return out;
}

/* The same shape reached through a view: axes reversed in memory, the last one backwards. */
static wf_array *awkward(wf_dtype t, wf_shape shape, uint64_t seed)
{
    wf_shape other = { .rank = shape.rank };
    int axes[WF_MAX_RANK];
    for (int d = 0; d < shape.rank; ++d) {
        other.dim[shape.rank - 1 - d] = shape.dim[d];
        axes[d] = shape.rank - 1 - d;
    }
    wf_array *a = numbers(t, other, seed), *p = wf_view_permute(a, axes);
    wf_array *v = wf_view_slice(p, shape.rank - 1, -1, WF_END_INDEX, -1);
    wf_release(a);
    wf_release(p);
    return v;
}

/* Calls `fn` for each result, with its elements. */
typedef number (*plain)(const number *x, int64_t n);
static void compare(const sample *s, wf_array *got, wf_axes axes, plain fn, double tolerance, const char *what)
{
    if (!got)
        print_error("%s: %s\n", what, wf_last_message(ctx));
    assert_non_null(got);
    static number group[MOST];
    wf_shape kept = s->shape;
    for (int d = 0; d < kept.rank; ++d)
        kept.dim[d] = axes >> d & 1 ? 1 : kept.dim[d];
    sample *r = sample_of(wf_retain(got));
    assert_int_equal(r->shape.rank, kept.rank);
    for (int64_t o = 0; o < r->n; ++o) {
        int64_t n = 0;
        for (int64_t i = 0; i < s->n; ++i) {
            int64_t rest = i, at = 0, scale = 1;
            for (int d = kept.rank - 1; d >= 0; --d) {
                at += axes >> d & 1 ? 0 : rest % s->shape.dim[d] * scale;
                scale *= kept.dim[d];
                rest /= s->shape.dim[d];
            }
            if (at == o)
                group[n++] = s->x[i];
        }
        number want = fn(group, n), have = r->x[o];
        bool same = want == have || (isnan(creal(want)) && isnan(creal(have))) ||
                    cabs(want - have) <= tolerance * (1 + cabs(want));
        if (!same) {
            print_error("%s of %s, axes 0x%x: element %lld is %g %+gi, not %g %+gi\n", what,
                        wf_dtype_name(wf_array_dtype(s->array)), (unsigned)axes, (long long)o, creal(have), cimag(have),
                        creal(want), cimag(want));
            fail();
        }
    }
    sample_free(r);
}

static double tolerance_of(wf_dtype t)
{
    return t == WF_BF16 ? 0x1p-8 : t == WF_F16 || t == WF_C32 ? 0x1p-10 : t == WF_F32 || t == WF_C64 ? 0x1p-22 : 1e-13;
}

static void check_dtype(const wf_array *got, wf_dtype want) { assert_int_equal(wf_array_dtype(got), want); }

static wf_dtype mean_dtype(wf_dtype t) { return t < WF_F16 ? WF_F64 : t; }
static wf_dtype real_dtype(wf_dtype t)
{
    t = mean_dtype(t);
    return t == WF_C32 ? WF_F16 : t == WF_C64 ? WF_F32 : t == WF_C128 ? WF_F64 : t;
}

static void check_all(wf_array *array, wf_axes axes)
{
    sample *s = sample_of(array);
    wf_dtype t = wf_array_dtype(array);
    double close = tolerance_of(t);
    bool ordered = t < WF_C32;
    int64_t n = 1;
    for (int d = 0; d < s->shape.rank; ++d)
        n *= axes >> d & 1 ? s->shape.dim[d] : 1;
#define CHECK(call, dtype, reference, tolerance)             \
    do {                                                     \
        wf_array *got_ = call;                               \
        compare(s, got_, axes, reference, tolerance, #call); \
        if ((dtype) != WF_NONE)                              \
            check_dtype(got_, dtype);                        \
        wf_release(got_);                                    \
    } while (0)
    CHECK(wf_array_sum(array, axes), t < WF_F16 ? WF_NONE : t, plain_sum, close);
    CHECK(wf_array_mean(array, axes), mean_dtype(t), plain_mean, close);
    CHECK(wf_array_variance(array, axes, 0), real_dtype(t), plain_variance, close);
    CHECK(wf_array_stddev(array, axes, 1), real_dtype(t), plain_stddev1, close);
    if (close < 1e-6 && t >= WF_F16) /* products of the others wrap or leave their range */
        CHECK(wf_array_prod(array, axes), t, plain_prod, 4 * close);
    wf_array *mean, *variance;
    OK(ctx, wf_array_mean_variance(array, axes, 0, &mean, &variance));
    CHECK(mean, mean_dtype(t), plain_mean, close);
    CHECK(variance, real_dtype(t), plain_variance, close);
    CHECK(wf_array_norm(array, WF_NORM_L1, axes), real_dtype(t), plain_l1, close);
    CHECK(wf_array_norm(array, WF_NORM_L2, axes), real_dtype(t), plain_l2, close);
    CHECK(wf_array_norm(array, WF_NORM_MAX, axes), real_dtype(t), plain_largest, close);
    CHECK(wf_array_all(array, axes), WF_BOOL, plain_all, 0);
    CHECK(wf_array_any(array, axes), WF_BOOL, plain_any, 0);
    CHECK(wf_array_count_nonzero(array, axes), WF_I64, plain_nonzero, 0);
    if (ordered && n) {
        CHECK(wf_array_min(array, axes), t, plain_min, 0);
        CHECK(wf_array_max(array, axes), t, plain_max, 0);
        CHECK(wf_array_argmin(array, axes), WF_I64, plain_argmin, 0);
        CHECK(wf_array_argmax(array, axes), WF_I64, plain_argmax, 0);
    } else {
        assert_null(wf_array_argmax(array, axes));
        EXPECT(ctx, wf_last_status(ctx), ordered ? WF_ERR_SHAPE : WF_ERR_DTYPE);
        assert_null(wf_array_min(array, axes));
        EXPECT(ctx, wf_last_status(ctx), ordered ? WF_ERR_SHAPE : WF_ERR_DTYPE);
    }
    sample_free(s);
}

static void test_all_dtypes(void **state)
{
    (void)state;
    for (wf_dtype t = WF_BOOL; t <= WF_C128; ++t)
        check_all(numbers(t, WF_SHAPE(5, 37), t), t % 2 ? 2 : 1);
}

static void test_axes(void **state)
{
    (void)state;
    for (wf_axes axes = 1; axes < 8; axes += 2)
        check_all(awkward(WF_F32, WF_SHAPE(3, 4, 19), axes), axes);
    check_all(awkward(WF_C64, WF_SHAPE(3, 4, 19), 9), 4);
    check_all(awkward(WF_I16, WF_SHAPE(2, 70), 9), 2);
    wf_array *row = numbers(WF_F32, WF_SHAPE(1, 33), 5), *wide = wf_view_broadcast(row, WF_SHAPE(4, 33));
    check_all(wide, 1);
    wf_release(row);
    check_all(numbers(WF_F32, WF_SHAPE(1, 1), 5), 3);
    check_all(numbers(WF_F32, WF_SHAPE(0, 3), 5), 1);
}

static void test_nan(void **state)
{
    (void)state;
    const float x[] = { 1, 2, -3, NAN, 5, NAN, 0, -0.f, 7, 7, -9, -9 };
    check_all(array_of(ctx, WF_F32, WF_SHAPE(3, 4), x), 2);
    check_all(array_of(ctx, WF_F32, WF_SHAPE(3, 4), x), 1);
    const float zeros[] = { 0, -0.f, 0, -0.f };
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(4), zeros), *least = wf_array_argmin(a, WF_AXES(0)),
             *low = wf_array_min(a, WF_AXES(0));
    assert_int_equal(scalar_i64(least), 0);
    assert_true(signbit(scalar_f32(low)));
    wf_release(a);
    wf_release(least);
    wf_release(low);
}

static void test_masks(void **state)
{
    (void)state;
    wf_array *a = numbers(WF_F64, WF_SHAPE(3, 4, 5), 1), *s = numbers(WF_F64, WF_SCALAR, 2);
    wf_array *m = wf_array_mean(a, WF_AXES(0, 2) | WF_DROP_AXES), *kept = wf_array_mean(a, WF_AXES(0, 2));
    assert_int_equal(wf_array_shape(m).rank, 1);
    assert_int_equal(wf_array_shape(m).dim[0], 4);
    assert_int_equal(wf_array_shape(kept).rank, 3);
    double *p = contents(m), *q = contents(kept);
    assert_memory_equal(p, q, 4 * sizeof *p);
    free(p);
    free(q);
    wf_release(m);
    wf_release(kept);
    m = wf_array_argmax(a, WF_ALL_AXES | WF_DROP_AXES);
    assert_int_equal(wf_array_shape(m).rank, 0);
    wf_release(m);
    m = wf_array_sum(s, WF_ALL_AXES | WF_DROP_AXES);
    assert_int_equal(wf_array_shape(m).rank, 0);
    wf_release(m);
    wf_array *low, *high;
    OK(ctx, wf_array_min_max(a, WF_AXES(1) | WF_DROP_AXES, &low, &high));
    assert_int_equal(wf_array_shape(high).rank, 2);
    wf_array *low2 = wf_array_min(a, WF_AXES(1) | WF_DROP_AXES), *high2 = wf_array_max(a, WF_AXES(1) | WF_DROP_AXES);
    bool close = false;
    OK(ctx, wf_array_all_close(low, low2, 0, 0, false, &close));
    assert_true(close);
    OK(ctx, wf_array_all_close(high, high2, 0, 0, false, &close));
    assert_true(close);
    wf_array *all[] = { low, high, low2, high2 };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
    assert_null(wf_array_mean(a, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_array_mean");
    assert_null(wf_array_mean(a, WF_AXES(3)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "rank 3");
    assert_null(wf_array_mean(NULL, WF_AXES(0)));
    assert_null(wf_array_norm(a, (wf_norm)(WF_NORM_MAX + 1), WF_AXES(0)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_array_norm: `norm`");
    REFUSED(ctx, wf_array_min_max(a, WF_AXES(0), &low, NULL), WF_ERR_ARG, "wf_array_min_max: min or max is NULL");
    REFUSED(ctx, wf_array_mean_variance(a, WF_AXES(0), 0, NULL, &high), WF_ERR_ARG, "mean or variance is NULL");
    REFUSED(ctx, wf_array_all_close(a, a, 0, 0, false, NULL), WF_ERR_ARG, "wf_array_all_close: close is NULL");
    assert_null(wf_array_compress(a, NULL));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_array_compress: array or mask is NULL");
    wf_array *none = numbers(WF_F64, WF_SHAPE(2, 0), 1);
    assert_int_equal(wf_array_min_max(none, WF_AXES(1), &low, &high), WF_ERR_SHAPE);
    assert_true(!low && !high);
    wf_clear_error(ctx);
    wf_release(none);
    wf_array *p2 = wf_array_prod(a, WF_AXES(2));
    sample *of = sample_of(a);
    compare(of, p2, 4, plain_prod, 1e-12, "wf_array_prod");
    wf_release(p2);
    sample_free(of);
    wf_release(s);
}

static void test_planted(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(5, 35, 64, 81), 3),
             *one = wf_full(ctx, WF_F32, WF_SHAPE(1, 1, 1, 1), 51);
    OK(ctx, wf_array_insert(a, one, ((const int64_t[]){ 1, 6, 12, 34 })));
    wf_array *at = wf_array_argmax(a, WF_ALL_AXES);
    assert_int_equal(scalar_i64(at), ((1 * 35 + 6) * 64 + 12) * 81 + 34);
    wf_release(at);
    wf_release(one);
    wf_release(a);
}

static void test_cancellation(void **state)
{
    (void)state;
    enum { N = 3000 };
    static float x[N];
    double m = 0, sum = 0;
    for (int i = 0; i < N; ++i)
        m += x[i] = 1e6f + (float)(i % 7);
    for (int i = 0; i < N; ++i)
        sum += (x[i] - m / N) * (x[i] - m / N);
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(N), x), *v = wf_array_variance(a, WF_AXES(0), 1);
    assert_true(fabs((double)scalar_f32(v) - sum / (N - 1)) < 1e-6);
    wf_release(a);
    wf_release(v);
}

/* Shifted sums whose shift comes from elements far from the rest; infinities, NaN; empty rests. */
static void test_shifts(void **state)
{
    (void)state;
    enum { N = 4001 };
    static float x[N];
    for (int k = 0; k < 8; ++k) {
        double m = 0, sum = 0;
        for (int i = 0; i < N; ++i)
            x[i] = 5000 + (float)(i % 11) / 16;
        x[0] = k & 1 ? 0 : x[0];
        x[N / 2] = k & 2 ? -9000 : x[N / 2];
        x[N - 1] = k & 4 ? 1e7f : x[N - 1];
        for (int i = 0; i < N; ++i)
            m += (double)x[i] / N;
        for (int i = 0; i < N; ++i)
            sum += ((double)x[i] - m) * ((double)x[i] - m);
        wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(N), x), *v = wf_array_variance(a, WF_AXES(0), 0);
        assert_true(fabs((double)scalar_f32(v) / (sum / N) - 1) < 1e-6);
        wf_release(a);
        wf_release(v);
    }
    const float odd[] = { 1, INFINITY, 3, 4, 5, 6, NAN, 8, 2, 2, 2, 2 };
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(3, 4), odd), *mean, *variance;
    OK(ctx, wf_array_mean_variance(a, WF_AXES(1) | WF_DROP_AXES, 5, &mean, &variance));
    EXPECT_F32(mean, INFINITY, NAN, 2);
    EXPECT_F32(variance, NAN, NAN, NAN);
    wf_release(mean);
    wf_release(variance);
    OK(ctx, wf_array_mean_variance(a, WF_AXES(1) | WF_DROP_AXES, 1, &mean, &variance));
    EXPECT_F32(variance, NAN, NAN, 0);
    wf_release(mean);
    wf_release(variance);
    assert_int_equal(wf_array_mean_variance(a, WF_AXES(2), 0, &mean, &variance), WF_ERR_ARG);
    assert_true(!mean && !variance);
    wf_clear_error(ctx);
    wf_release(a);
}

/* Extremes, and their places, of the smallest and largest values of each dtype, with which reductions begin. */
static void test_ends(void **state)
{
    (void)state;
    const int64_t low[] = { 0, INT8_MIN, 0, INT16_MIN, 0, INT32_MIN, 0, INT64_MIN, 0 };
    const uint64_t high[] = { 1,         INT8_MAX,   UINT8_MAX, INT16_MAX, UINT16_MAX,
                              INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX };
    for (wf_dtype t = WF_BOOL; t <= WF_F64; ++t)
        for (int end = 0; end < 2; ++end) {
            wf_array *a = wf_empty(ctx, t, WF_SHAPE(3, 40));
            wf_graph *g = wf_begin(ctx);
            wf_val x = t < WF_F16 && t > WF_BOOL
                           ? wf_const_i64(g, t, end ? (int64_t)high[t - WF_BOOL] : low[t - WF_BOOL])
                           : wf_const(g, t,
                                      t == WF_BOOL ? end
                                      : end        ? (double)INFINITY
                                                   : -(double)INFINITY);
            wf_out(g, a, x);
            OK(ctx, wf_run(g));
            for (int largest = 0; largest < 2; ++largest) {
                wf_array *at = largest ? wf_array_argmax(a, WF_AXES(1)) : wf_array_argmin(a, WF_AXES(1));
                wf_array *best = largest ? wf_array_max(a, WF_ALL_AXES) : wf_array_min(a, WF_ALL_AXES);
                int64_t *place = contents(at);
                assert_true(place[0] == 0 && place[1] == 0 && place[2] == 0);
                void *p = contents(best), *q = contents(a);
                assert_memory_equal(p, q, wf_dtype_size(t));
                free(place);
                free(p);
                free(q);
                wf_release(at);
                wf_release(best);
            }
            wf_release(a);
        }
}

static void test_rmsd(void **state)
{
    (void)state;
    const float x[] = { 1, 2, 3, 4, 5, 6 }, y[] = { 0, 0, 3 };
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(2, 3), x), *b = array_of(ctx, WF_F32, WF_SHAPE(3), y);
    wf_array *r = wf_array_rmsd(a, b, WF_AXES(1) | WF_DROP_AXES);
    EXPECT_F32(r, (float)sqrt(5. / 3), (float)sqrt(50. / 3));
    wf_release(r);
    wf_array *two = wf_full(ctx, WF_F32, WF_SHAPE(2), 0);
    assert_null(wf_array_rmsd(a, two, WF_AXES(1)));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_SHAPE);
    assert_null(wf_array_rmsd(a, NULL, WF_AXES(1)));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_ARG);
    wf_release(a);
    wf_release(b);
    wf_release(two);
}

static void test_close(void **state)
{
    (void)state;
    const double x[] = { 1, 1.0001, NAN, INFINITY, INFINITY, 0, 100 },
                 y[] = { 1, 1, NAN, INFINITY, -INFINITY, 1e-9, INFINITY };
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(7), x), *b = array_of(ctx, WF_F64, WF_SHAPE(7), y);
    for (int nan_equal = 0; nan_equal < 2; ++nan_equal) {
        wf_array *c = wf_array_is_close(a, b, 1e-5, 1e-8, nan_equal);
        const uint8_t want[] = { 1, 0, (uint8_t)nan_equal, 1, 0, 1, 0 };
        uint8_t *got = contents(c);
        assert_memory_equal(got, want, 7);
        free(got);
        wf_release(c);
    }
    bool close = true;
    OK(ctx, wf_array_all_close(a, b, 1e-5, 1e-8, true, &close));
    assert_false(close);
    wf_array *u = numbers(WF_C64, WF_SHAPE(3, 2), 1), *v = wf_view_slice(u, 0, 0, 1, 1),
             *w = wf_view_broadcast(v, WF_SHAPE(5, 2));
    OK(ctx, wf_array_all_close(v, w, 0, 0, false, &close));
    assert_true(close);
    OK(ctx, wf_array_all_close(u, v, 0, 0, false, &close));
    assert_false(close);
    assert_int_equal(wf_array_all_close(a, u, 0, 0, false, &close), WF_ERR_SHAPE);
    wf_clear_error(ctx);
    wf_array *all[] = { a, b, u, v, w };
    for (int i = 0; i < 5; ++i)
        wf_release(all[i]);
}

/* Closeness is computed in f64, not in the common dtype. */
static void test_close_across_dtypes(void **state)
{
    (void)state;
    const int32_t x[] = { 100000, 16777217, -1 };
    const uint32_t u[] = { 100000, 16777217, UINT32_MAX };
    const uint16_t h[] = { 0x7c00, 0x7c00, 0xbc00 }; /* infinity twice, -1 */
    const float f[] = { 100000, 16777216, -1 };
    const uint8_t want_u[] = { 1, 1, 0 }, want_h[] = { 0, 0, 1 }, want_f[] = { 1, 0, 1 };
    wf_array *i = array_of(ctx, WF_I32, WF_SHAPE(3), x);
    wf_array *with[] = { array_of(ctx, WF_U32, WF_SHAPE(3), u), array_of(ctx, WF_F16, WF_SHAPE(3), h),
                         array_of(ctx, WF_F32, WF_SHAPE(3), f) };
    const uint8_t *const want[] = { want_u, want_h, want_f };
    for (int k = 0; k < 3; ++k) {
        wf_array *c = wf_array_is_close(i, with[k], 0, 0, false), *d = wf_array_is_close(with[k], i, 0, 0, true);
        uint8_t *got = contents(c), *back = contents(d);
        assert_memory_equal(got, want[k], 3);
        assert_memory_equal(back, want[k], 3);
        free(got), free(back);
        wf_release(c), wf_release(d), wf_release(with[k]);
    }
    wf_release(i);
}

static void test_normalize(void **state)
{
    (void)state;
    wf_array *a = awkward(WF_F32, WF_SHAPE(3, 8, 9), 3);
    for (wf_normalize how = WF_NORMALIZE_MEAN_STD; how <= WF_NORMALIZE_MAX; ++how) {
        wf_array *n = wf_array_normalize(a, how, WF_AXES(1, 2)), *r[2] = { NULL, NULL };
        check_dtype(n, WF_F32);
        double want[2] = { 0, 1 };
        if (how == WF_NORMALIZE_MEAN_STD) {
            r[0] = wf_array_mean(n, WF_AXES(1, 2));
            r[1] = wf_array_stddev(n, WF_AXES(1, 2), 0);
        } else if (how == WF_NORMALIZE_MIN_MAX)
            OK(ctx, wf_array_min_max(n, WF_AXES(1, 2), &r[0], &r[1]));
        else {
            r[0] = wf_array_norm(n, (wf_norm)(how - WF_NORMALIZE_L1), WF_AXES(1, 2));
            want[0] = 1;
        }
        for (int k = 0; k < 2 && r[k]; ++k) {
            float *p = contents(r[k]);
            for (int i = 0; i < 3; ++i)
                if (!(fabs((double)p[i] - want[k]) < 1e-6)) {
                    print_error("way %d: %g instead of %g\n", (int)how, (double)p[i], want[k]);
                    fail();
                }
            free(p);
            wf_release(r[k]);
        }
        wf_release(n);
    }
    wf_array *same = wf_full(ctx, WF_U8, WF_SHAPE(2, 2), 5),
             *z = wf_array_normalize(same, WF_NORMALIZE_MEAN_STD, WF_ALL_AXES);
    check_dtype(z, WF_F64);
    double *p = contents(z);
    for (int i = 0; i < 4; ++i)
        assert_true(p[i] == 0);
    free(p);
    wf_release(z);
    wf_array *c = numbers(WF_C64, WF_SHAPE(6), 8), *unit = wf_array_normalize(c, WF_NORMALIZE_L2, WF_ALL_AXES);
    wf_array *norm = wf_array_norm(unit, WF_NORM_L2, WF_ALL_AXES);
    assert_true(fabsf(scalar_f32(norm) - 1) < 1e-6f);
    assert_null(wf_array_normalize(c, WF_NORMALIZE_MIN_MAX, WF_ALL_AXES));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_DTYPE);
    assert_null(wf_array_normalize(c, (wf_normalize)77, WF_ALL_AXES));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_ARG);
    wf_array *all[] = { a, same, c, unit, norm };
    for (int i = 0; i < 5; ++i)
        wf_release(all[i]);
}

static void test_threads(void **state)
{
    (void)state;
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(130, 3000));
    float *p = malloc(130 * 3000 * sizeof *p);
    uint64_t seed = 4;
    for (int i = 0; i < 130 * 3000; ++i)
        p[i] = (float)(test_random(&seed) >> 40) * 0x1p-10f - 7000;
    OK(ctx, wf_upload(a, p, 130 * 3000 * sizeof *p));
    free(p);
    int before = wf_get_threads(ctx);
    for (wf_axes axes = 1; axes < 4; ++axes) {
        float *bits[3];
        static const int threads[] = { 1, 2, 5 };
        for (int k = 0; k < 3; ++k) {
            wf_set_threads(ctx, threads[k]);
            wf_array *v = wf_array_variance(a, axes, 1);
            bits[k] = contents(v);
            assert_memory_equal(bits[0], bits[k], (size_t)wf_array_count(v) * sizeof(float));
            wf_release(v);
        }
        for (int k = 0; k < 3; ++k)
            free(bits[k]);
    }
    wf_set_threads(ctx, before);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_dtypes),
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_planted),
        cmocka_unit_test(test_cancellation),
        cmocka_unit_test(test_shifts),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_rmsd),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_close_across_dtypes),
        cmocka_unit_test(test_normalize),
        cmocka_unit_test(test_threads),
    };
    return RUN_ON_ALL(tests);
}
