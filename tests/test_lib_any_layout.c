/* test_lib_any_layout.c - the array functions on arrays of random rank, shape (empty ones, extents of 1), layout
 * (permuted, reversed, with gaps, broadcast), dtype and axes, beside plain C. 1, 2, 3 and 7 threads give the same
 * bits. Arrays of more than 2^31 elements that are broadcast views.
 *
 * ctest: devices values long
 */
#include "borders.h"
#include "on_devices.h"
#include "plain_reductions.h"
#include "weft/functions.h"
enum { MOST = 1500, ROUNDS = 120 / (TEST_EVERY * TEST_EVERY), COMPILED = 14 / TEST_EVERY };

/* ---- arrays ---- */
typedef struct sample {
    wf_array *array;
    wf_shape shape;
    wf_dtype dtype;
    wf_axes axes;     /* some of its axes */
    int64_t n, group; /* elements, and how many of them each reduction along the axes has */
    number x[MOST];   /* in C order */
} sample;
static sample it;
static uint64_t seed;

static int64_t below(int64_t n) { return (int64_t)(test_random(&seed) % (uint64_t)n); }

static wf_shape random_shape(void)
{
    static const int64_t extents[] = { 1, 2, 3, 4, 5, 7, 9, 16, 33, 70 };
    wf_shape s = { .rank = (int32_t)below(WF_MAX_RANK + 1) };
    int64_t n = 1;
    for (int d = 0; d < s.rank; ++d) {
        int64_t extent = extents[below(10)];
        s.dim[d] = n * extent <= MOST / 3 ? extent : 1;
        n *= s.dim[d];
    }
    if (s.rank && below(12) == 0)
        s.dim[below(s.rank)] = 0;
    return s;
}

static wf_array *swap(wf_array *old, wf_array *view)
{
    assert_non_null(view);
    wf_release(old);
    return view;
}

/* Returns an array of this shape in a random layout. */
static wf_array *random_layout(wf_dtype t, wf_shape shape)
{
    int axes[WF_MAX_RANK], back[WF_MAX_RANK];
    int64_t step[WF_MAX_RANK];
    bool wide[WF_MAX_RANK];
    wf_shape memory = shape;
    for (int d = 0; d < shape.rank; ++d) {
        axes[d] = d;
        int other = (int)below(d + 1), axis = axes[other];
        axes[other] = d;
        axes[d] = axis;
    }
    for (int d = 0; d < shape.rank; ++d) {
        int64_t extent = shape.dim[axes[d]];
        wide[axes[d]] = extent > 0 && below(6) == 0;
        step[axes[d]] = below(3) ? 1 : below(2) ? -1 : 2 - 4 * below(2);
        memory.dim[d] = wide[axes[d]] ? 1 : extent * (step[axes[d]] % 2 ? 1 : 2);
        back[axes[d]] = d;
    }
    int64_t n = 1;
    for (int d = 0; d < memory.rank; ++d)
        n *= memory.dim[d];
    double *data = malloc((size_t)(2 * n + 1) * sizeof *data);
    assert_non_null(data);
    bool is_unsigned = t == WF_U8 || t == WF_U16 || t == WF_U32 || t == WF_U64;
    for (int64_t i = 0; i < 2 * n; ++i) {
        double x = (double)below(25) - 12;
        data[i] = t == WF_BOOL ? x > 0 : is_unsigned ? fabs(x) : t < WF_F16 ? x : x / 4;
        if (t >= WF_F16 && t <= WF_F64 && below(300) == 0)
            data[i] = (double)NAN;
    }
    wf_array *exact = array_of(ctx, t >= WF_C32 ? WF_C128 : WF_F64, memory, data), *a = wf_array_cast(exact, t);
    wf_release(exact);
    free(data);
    assert_non_null(a);
    a = swap(a, wf_view_permute(a, back));
    for (int d = 0; d < shape.rank; ++d)
        if (!wide[d] && step[d] != 1)
            a = swap(a, wf_view_slice(a, d, step[d] > 0 ? 0 : -1, WF_END_INDEX, step[d]));
    return swap(a, wf_view_broadcast(a, shape));
}

static void read_elements(wf_array *array, number *x)
{
    wf_array *wide = wf_array_cast(array, WF_C128);
    assert_true(wide && wf_array_count(array) <= MOST);
    OK(ctx, wf_download(wide, x, (size_t)wf_array_count(array) * sizeof *x));
    wf_release(wide);
}

static void new_sample(void)
{
    wf_release(it.array);
    it.dtype = (wf_dtype)(WF_BOOL + below(WF_C128 - WF_BOOL + 1));
    it.shape = random_shape();
    it.array = random_layout(it.dtype, it.shape);
    it.n = wf_array_count(it.array);
    it.axes = it.shape.rank ? 1u + (wf_axes)below((1 << it.shape.rank) - 1) : 1u;
    it.group = 1;
    for (int d = 0; d < it.shape.rank; ++d)
        it.group *= it.axes >> d & 1 ? it.shape.dim[d] : 1;
    read_elements(it.array, it.x);
}

/* ---- plain C: reductions of the elements of a group ---- */
static int ascending(const void *a, const void *b)
{
    double x = creal(*(const number *)a), y = creal(*(const number *)b);
    return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
}
static number median(const number *x, int64_t n)
{
    static number sorted[MOST];
    memcpy(sorted, x, (size_t)n * sizeof *x);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    if (!n || isnan(creal(sorted[n - 1])))
        return (double)NAN;
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

static wf_array *call_stddev(const wf_array *a, wf_axes axes) { return wf_array_stddev(a, axes, 1); }
static wf_array *call_variance(const wf_array *a, wf_axes axes) { return wf_array_variance(a, axes, 0); }
static wf_array *call_norm1(const wf_array *a, wf_axes axes) { return wf_array_norm(a, WF_NORM_L1, axes); }
static wf_array *call_norm2(const wf_array *a, wf_axes axes) { return wf_array_norm(a, WF_NORM_L2, axes); }

static const struct reduction {
    const char *name;
    wf_array *(*call)(const wf_array *array, wf_axes axes);
    number (*plain)(const number *x, int64_t n);
    bool ordered, some, exact; /* not for complex numbers; needs an element; without rounding */
} reductions[] = {
    { "sum", wf_array_sum, plain_sum, false, false, false },
    { "mean", wf_array_mean, plain_mean, false, false, false },
    { "variance", call_variance, plain_variance, false, false, false },
    { "stddev", call_stddev, plain_stddev1, false, false, false },
    { "norm1", call_norm1, plain_l1, false, false, false },
    { "norm2", call_norm2, plain_l2, false, false, false },
    { "min", wf_array_min, plain_min, true, true, true },
    { "max", wf_array_max, plain_max, true, true, true },
    { "argmin", wf_array_argmin, plain_argmin, true, true, true },
    { "argmax", wf_array_argmax, plain_argmax, true, true, true },
    { "count", wf_array_count_nonzero, plain_nonzero, false, false, true },
    { "all", wf_array_all, plain_all, false, false, true },
    { "any", wf_array_any, plain_any, false, false, true },
    { "median", wf_array_median, median, true, false, false },
};

/* ---- comparison ---- */
static void describe(const char *what)
{
    print_error("%s of %s [", what, wf_dtype_name(it.dtype));
    for (int d = 0; d < it.shape.rank; ++d)
        print_error("%lld ", (long long)it.shape.dim[d]);
    print_error("], axes 0x%x: ", (unsigned)it.axes);
}

static bool close_to(number have, number want, double tolerance)
{
    return have == want || (isnan(creal(want)) && isnan(creal(have))) ||
           cabs(have - want) <= tolerance * (1 + cabs(want));
}

static void expect(wf_array *got, const number *want, int64_t n, double tolerance, const char *what)
{
    static number have[MOST];
    if (!got || wf_array_count(got) != n) {
        describe(what);
        print_error("%lld elements, not %lld: %s\n", (long long)wf_array_count(got), (long long)n,
                    wf_last_message(ctx));
        fail();
    }
    read_elements(got, have);
    for (int64_t i = 0; i < n; ++i)
        if (!close_to(have[i], want[i], tolerance)) {
            describe(what);
            print_error("element %lld is %.17g%+.17gi, not %.17g%+.17gi\n", (long long)i, creal(have[i]),
                        cimag(have[i]), creal(want[i]), cimag(want[i]));
            fail();
        }
}

static double tolerance(void)
{
    wf_dtype t = it.dtype;
    return t == WF_BF16 ? 0x1p-7 : t == WF_F16 || t == WF_C32 ? 0x1p-9 : t == WF_F32 || t == WF_C64 ? 0x1p-21 : 1e-12;
}

/* The elements of a shape in C order: index i along the axes, as a number of its own, and along the others. */
static void split_index(int64_t i, int64_t *along, int64_t *beside)
{
    int64_t scale[2] = { 1, 1 };
    *along = *beside = 0;
    for (int d = it.shape.rank - 1; d >= 0; --d) {
        int of = it.axes >> d & 1;
        *(of ? along : beside) += i % it.shape.dim[d] * scale[of];
        scale[of] *= it.shape.dim[d];
        i /= it.shape.dim[d];
    }
}

static void check_reductions(int64_t one)
{
    static number parts[MOST], want[MOST];
    int64_t kept = 1;
    for (int d = 0; d < it.shape.rank; ++d)
        kept *= it.axes >> d & 1 ? 1 : it.shape.dim[d];
    for (int64_t i = 0; i < it.n; ++i) {
        int64_t along, beside;
        split_index(i, &along, &beside);
        parts[beside * it.group + along] = it.x[i];
    }
    for (size_t k = 0; k < sizeof reductions / sizeof *reductions; ++k) {
        const struct reduction *r = &reductions[k];
        if ((one >= 0 && (int64_t)k % 3 != one) || (r->ordered && it.dtype >= WF_C32) || (r->some && !it.group))
            continue;
        for (int64_t i = 0; i < kept; ++i)
            want[i] = r->plain(parts + i * it.group, it.group);
        wf_array *got = r->call(it.array, it.axes | (below(2) ? WF_DROP_AXES : 0));
        expect(got, want, kept, r->exact ? 0 : tolerance(), r->name);
        wf_release(got);
    }
}

/* ---- copies and order ---- */
static int64_t at_index(const int64_t *index) /* linear */
{
    int64_t i = 0;
    for (int d = 0; d < it.shape.rank; ++d)
        i = i * it.shape.dim[d] + index[d];
    return i;
}

static void indices_of(int64_t i, const wf_shape *shape, int64_t *index)
{
    for (int d = shape->rank - 1; d >= 0; --d) {
        index[d] = i % shape->dim[d];
        i /= shape->dim[d];
    }
}

static void check_permute(void)
{
    static number want[MOST];
    int axes[WF_MAX_RANK];
    wf_shape to = { .rank = it.shape.rank };
    for (int d = 0; d < to.rank; ++d)
        axes[d] = (d + (int)(it.axes % (unsigned)to.rank)) % to.rank;
    for (int d = 0; d < to.rank; ++d)
        to.dim[d] = it.shape.dim[axes[d]];
    for (int64_t i = 0; i < it.n; ++i) {
        int64_t index[WF_MAX_RANK], from[WF_MAX_RANK];
        indices_of(i, &to, index);
        for (int d = 0; d < to.rank; ++d)
            from[axes[d]] = index[d];
        want[i] = it.x[at_index(from)];
    }
    wf_array *got = wf_array_permute(it.array, axes);
    expect(got, want, it.n, 0, "permute");
    wf_release(got);
}

static void check_extract(void)
{
    static number want[MOST];
    wf_border border = (wf_border)(WF_BORDER_VALUE + below(WF__BORDERS - 1));
    wf_shape region = { .rank = it.shape.rank };
    int64_t offset[WF_MAX_RANK], n = 1;
    for (int d = 0; d < region.rank; ++d) {
        region.dim[d] = 1 + below(4);
        region.dim[d] = n * region.dim[d] > MOST ? 1 : region.dim[d];
        n *= region.dim[d];
        offset[d] = below(it.shape.dim[d] + 6) - 4;
    }
    for (int64_t i = 0; i < n; ++i) {
        int64_t index[WF_MAX_RANK];
        bool inside = true;
        indices_of(i, &region, index);
        for (int d = 0; d < region.rank; ++d) {
            index[d] += offset[d];
            inside = inside && index[d] >= 0 && index[d] < it.shape.dim[d];
            index[d] = border == WF_BORDER_VALUE || !it.n ? index[d] : border_index(border, index[d], it.shape.dim[d]);
        }
        want[i] = border == WF_BORDER_VALUE && !inside ? 1 : it.n ? it.x[at_index(index)] : 0;
    }
    wf_array *got = wf_array_extract(it.array, region, offset, border, 1);
    if (it.n || border == WF_BORDER_VALUE)
        expect(got, want, n, 0, "extract");
    else
        assert_null(got);
    wf_clear_error(ctx);
    wf_release(got);
}

static void check_rows(void)
{
    static number sorted[MOST], summed[MOST], row[MOST];
    int axis = (int)below(it.shape.rank);
    int64_t length = it.shape.dim[axis], step = 1;
    for (int d = axis + 1; d < it.shape.rank; ++d)
        step *= it.shape.dim[d];
    for (int64_t i = 0; i < it.n; ++i) {
        if (i / step % length)
            continue;
        for (int64_t k = 0; k < length; ++k)
            row[k] = it.x[i + k * step];
        number total = 0;
        for (int64_t k = 0; k < length; ++k)
            summed[i + k * step] = total += row[k];
        qsort(row, (size_t)length, sizeof *row, ascending);
        for (int64_t k = 0; k < length; ++k)
            sorted[i + k * step] = row[k];
    }
    wf_array *got = wf_array_cumsum(it.array, below(2) ? axis : axis - it.shape.rank, false);
    expect(got, summed, it.n, tolerance(), "cumsum");
    wf_release(got);
    if (it.dtype >= WF_C32)
        return;
    got = wf_array_sort(it.array, axis, false);
    expect(got, sorted, it.n, 0, "sort");
    wf_release(got);
    wf_array *order = wf_array_argsort(it.array, axis, false);
    assert_non_null(order);
    int64_t *index = contents(order);
    for (int64_t i = 0; i < it.n; ++i) {
        int64_t first = i - i / step % length * step;
        assert_true(index[i] >= 0 && index[i] < length && close_to(it.x[first + index[i] * step], sorted[i], 0));
        int64_t k = i / step % length;
        if (k && !ascending(&sorted[i], &sorted[i - step]))
            assert_true(index[i] > index[i - step]); /* stable */
    }
    free(index);
    wf_release(order);
}

static void check_histogram(void)
{
    number want[6] = { 0 };
    for (int64_t i = 0; i < it.n; ++i) {
        double x = creal(it.x[i]), at = floor((x + 1.5) / 0.5);
        if (x >= -1.5 && x <= 1.5)
            want[at > 5 ? 5 : (int)at] += 1;
    }
    wf_array *got = wf_array_histogram(it.array, 6, -1.5, 1.5);
    expect(got, want, 6, 0, "histogram");
    wf_release(got);
}

static void test_functions(void **state)
{
    (void)state;
    bool compiled = wf_get_threads(ctx) > 1; /* kernels of each layout cost time there */
    seed = compiled ? 11 : 5;
    for (int round = 0; round < (compiled ? COMPILED : ROUNDS); ++round) {
        new_sample();
        check_reductions(compiled ? round % 3 : -1);
        if (it.shape.rank) {
            check_permute();
            check_extract();
            check_rows();
        }
        if (it.dtype < WF_C32)
            check_histogram();
    }
    wf_release(it.array);
    it.array = NULL;
}

/* ---- threads ---- */
static wf_array *call_sort(const wf_array *a, wf_axes axes) { return wf_array_sort(a, axes & 1 ? 0 : 1, false); }
static wf_array *call_argsort(const wf_array *a, wf_axes axes) { return wf_array_argsort(a, axes & 1 ? 0 : 1, true); }
static wf_array *call_cumsum(const wf_array *a, wf_axes axes) { return wf_array_cumsum(a, axes & 1 ? 0 : 1, true); }
static wf_array *call_normalize(const wf_array *a, wf_axes axes)
{
    return wf_array_normalize(a, WF_NORMALIZE_MEAN_STD, axes);
}
static wf_array *call_histogram(const wf_array *a, wf_axes axes)
{
    return wf_array_histogram(a, (int)axes * 20, -9, 9);
}
static wf_array *call_dot(const wf_array *a, wf_axes axes) { return wf_array_dot(a, a, axes); }
static wf_array *call_matmul(const wf_array *a, wf_axes axes)
{
    wf_array *view = wf_view_slice((wf_array *)a, 1, 0, 90, 1), *turned = wf_view_permute(view, (const int[]){ 1, 0 });
    wf_array *c = axes & 1 ? wf_array_matmul(turned, view) : wf_array_matmul(turned, a);
    wf_release(view);
    wf_release(turned);
    return c;
}
static wf_array *(*const others[])(const wf_array *a, wf_axes axes) = { call_sort,      call_argsort,   call_cumsum,
                                                                        call_normalize, call_histogram, call_dot,
                                                                        call_matmul };

static void test_threads(void **state)
{
    (void)state;
    if (is_on_gpu())
        skip();
    enum { ROWS = 700, COLUMNS = 500, SAMPLES = sizeof reductions / sizeof *reductions };
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(ROWS, COLUMNS));
    const wf_random random = { .seed = 3 };
    OK(ctx, wf_array_random_normal(a, random, 1, 3));
    int before = wf_get_threads(ctx);
    for (size_t k = 0; k < SAMPLES + sizeof others / sizeof *others; k += TEST_EVERY)
        for (wf_axes axes = 1; axes < 4; axes += k < SAMPLES ? 1 : 2) {
            static const int threads[] = { 1, 2, 3, 7 };
            char *first = NULL;
            for (int t = 0; t < 4; ++t) {
                wf_set_threads(ctx, threads[t]);
                wf_array *got = k < SAMPLES ? reductions[k].call(a, axes) : others[k - SAMPLES](a, axes);
                assert_non_null(got);
                char *bytes = contents(got);
                if (first) {
                    if (memcmp(first, bytes, (size_t)wf_array_count(got) * wf_dtype_size(wf_array_dtype(got)))) {
                        print_error("function %d, axes %u, %d threads\n", (int)k, (unsigned)axes, threads[t]);
                        fail();
                    }
                    free(bytes);
                } else
                    first = bytes;
                wf_release(got);
            }
            free(first);
        }
    wf_set_threads(ctx, before);
    wf_release(a);
}

/* ---- more than 2^31 elements, in four bytes of memory ---- */
static void test_large_broadcasts(void **state)
{
    (void)state;
    const int64_t side = (int64_t)1 << 30;
    const int8_t values[] = { 2, 2, 7 };
    wf_array *a = array_of(ctx, WF_I8, WF_SHAPE(3, 1), values), *v = wf_view_broadcast(a, WF_SHAPE(3, side));
    assert_int_equal(wf_array_count(v), 3 * side);
    wf_array *total = wf_array_sum(v, WF_ALL_AXES), *low = wf_array_min(v, WF_ALL_AXES),
             *at = wf_array_argmax(v, WF_ALL_AXES), *first = wf_array_argmin(v, WF_ALL_AXES);
    int8_t least = 0;
    assert_int_equal(scalar_i64(total), 11 * side);
    OK(ctx, wf_download(low, &least, 1));
    assert_int_equal(least, 2);
    assert_int_equal(scalar_i64(at), 2 * side);
    assert_int_equal(scalar_i64(first), 0);
    wf_array *all[] = { a, v, total, low, at, first };
    for (int i = 0; i < 6; ++i)
        wf_release(all[i]);
}

int main(void)
{
    setenv("WEFT_BLAS", "none", 1); /* a BLAS has other bits */
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_functions), cmocka_unit_test(test_threads) };
    const struct CMUnitTest large[] = { cmocka_unit_test(test_large_broadcasts) };
    int failed = RUN_ON_ALL(tests);
    wf_context *probe = test_context(0, 1);
    bool compiles = test_compiles(probe); /* the interpreter would take minutes */
    wf_context_free(probe);
    return failed + (compiles ? cmocka_run_group_tests_name("large", large, on_cpu, off) : 0);
}
