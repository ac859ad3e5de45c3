/* test_code_for_any_size.c - the code of whole-array functions, and of values made of elements of others, does not
 * depend on extents: arrays of other sizes reuse it.
 *
 * ctest: devices
 */
#include "launch/launch.h"
#include "on_devices.h"
#include "weft/functions.h"
#include "weft/traced.h"

static uint64_t compiled(void)
{
    const wf__engine_counts counts = wf__engine_count(ctx->engine);
    return counts.compiled + counts.disk_hits;
}

/* ---- of arrays ---- */
static wf_array *mean(const wf_array *a) { return wf_array_mean(a, WF_ALL_AXES); }
static wf_array *variance(const wf_array *a) { return wf_array_variance(a, WF_ALL_AXES, 1); }
static wf_array *deviation(const wf_array *a) { return wf_array_stddev(a, WF_ALL_AXES, 0); }
static wf_array *norm(const wf_array *a) { return wf_array_norm(a, WF_NORM_L2, WF_ALL_AXES); }
static wf_array *normalized(const wf_array *a) { return wf_array_normalize(a, WF_NORMALIZE_MEAN_STD, WF_ALL_AXES); }
static wf_array *cumsum(const wf_array *a) { return wf_array_cumsum(a, 0, false); }
static wf_array *cumprod(const wf_array *a) { return wf_array_cumprod(a, 0, false); }
static wf_array *searched(const wf_array *a) { return wf_array_searchsorted(a, a, true); }
static wf_array *chosen(const wf_array *a) { return wf_array_compress(a, a); }
static wf_array *median(const wf_array *a) { return wf_array_median(a, WF_ALL_AXES); }

/* ---- of values ---- */
static wf_array *run(wf_graph *g, wf_val v)
{
    wf_array *kept = wf_keep(v);
    OK(ctx, wf_run(g));
    return kept;
}

static wf_array *reversed_scan(const wf_array *a)
{
    wf_graph *g = wf_begin(ctx);
    return run(g, wf_scan(WF_JOIN_ADD, wf_mul(wf_in(g, a), 3), 0, true, true));
}

static wf_array *outer_scan(const wf_array *a) /* of rows of one element */
{
    wf_graph *g = wf_begin(ctx);
    return run(g, wf_scan(WF_JOIN_MAX, wf_repeat(wf_reshape(wf_in(g, a), WF_SHAPE(-1, 1)), 1, 2), 0, false, false));
}

static wf_array *tiled(const wf_array *a)
{
    wf_graph *g = wf_begin(ctx);
    int64_t n = wf_array_count(a);
    wf_array *r = run(g, wf_tile(wf_mul(wf_in(g, a), 2), WF_SHAPE(3)));
    float *got = contents(r);
    for (int64_t i = 0; i < 3 * n; ++i)
        assert_true(got[i] == (float)(i % n * 2));
    free(got);
    return r;
}

static wf_array *block_reduced(const wf_array *a)
{
    wf_graph *g = wf_begin(ctx);
    int64_t n = wf_array_count(a);
    wf_array *r = run(g, wf_block_reduce(WF_JOIN_MAX, wf_in(g, a), 4));
    assert_int_equal(wf_array_count(r), (n + 3) / 4);
    float *got = contents(r);
    for (int64_t i = 0; i < wf_array_count(r); ++i)
        assert_true(got[i] == (float)(4 * i + 3 < n ? 4 * i + 3 : n - 1));
    free(got);
    return r;
}

static wf_array *shifted(const wf_array *a)
{
    wf_graph *g = wf_begin(ctx);
    int64_t n = wf_array_count(a);
    wf_array *r = run(g, wf_gather_or(wf_in(g, a), -1, wf_add(wf_iota(g, wf_array_shape(a), 0), 100)));
    float *got = contents(r);
    for (int64_t i = 0; i < n; ++i)
        assert_true(got[i] == (float)(i + 100 < n ? i + 100 : -1));
    free(got);
    return r;
}

static wf_array *scattered(const wf_array *a) /* back to front */
{
    wf_graph *g = wf_begin(ctx);
    int64_t n = wf_array_count(a);
    wf_array *r = wf_like(a);
    wf_write(g, r, wf_in(g, a), wf_sub((double)n - 1, wf_iota(g, wf_array_shape(a), 0)));
    OK(ctx, wf_run(g));
    float *got = contents(r);
    for (int64_t i = 0; i < n; ++i)
        assert_true(got[i] == (float)(n - 1 - i));
    free(got);
    return r;
}

enum { FEW = 1500, MANY = 1 << 20 };
static const struct {
    const char *name;
    wf_array *(*call)(const wf_array *a);
    int64_t most; /* elements: the emulator sorts slowly */
} of_arrays[] = { { "mean", mean, MANY },
                  { "variance", variance, MANY },
                  { "stddev", deviation, MANY },
                  { "norm", norm, MANY },
                  { "normalize", normalized, MANY },
                  { "cumsum", cumsum, MANY },
                  { "cumprod", cumprod, MANY },
                  { "searchsorted", searched, MANY },
                  { "where", wf_array_where, MANY },
                  { "compress", chosen, MANY },
                  { "median", median, FEW },
                  { "scan of a value, reversed", reversed_scan, MANY },
                  { "scan along an outer axis", outer_scan, MANY },
                  { "tile", tiled, MANY },
                  { "block reduction", block_reduced, MANY },
                  { "gather with a value outside", shifted, MANY },
                  { "scatter", scattered, MANY } };

static void call(wf_array *(*f)(const wf_array *), int64_t n)
{
    wf_array *a = wf_array_arange(ctx, WF_F32, n, 0, 1), *r = f(a);
    if (!r)
        print_error("%s\n", wf_last_message(ctx));
    assert_non_null(r);
    wf_release(r);
    wf_release(a);
}

static void test_sizes_share_code(void **state)
{
    (void)state;
    /* multiples of a vector and others, sizes of one part of a row or tile and of more; then other sizes of the same
     * kinds */
    const int64_t first[] = { 1000, 1001, 1003, 1250, 2403, 17003 }, later[] = { 1111, 1480, 2409, 2711, 3204, 18111 };
    for (size_t k = 0; k < sizeof of_arrays / sizeof *of_arrays; ++k) {
        for (size_t i = 0; i < sizeof first / sizeof *first; ++i)
            if (first[i] <= of_arrays[k].most)
                call(of_arrays[k].call, first[i]);
        uint64_t then = compiled();
        for (size_t i = 0; i < sizeof later / sizeof *later; ++i)
            if (later[i] <= of_arrays[k].most)
                call(of_arrays[k].call, later[i]);
        uint64_t more = compiled() - then;
        if (more)
            print_error("%s: %d kernels for other sizes\n", of_arrays[k].name, (int)more);
        assert_int_equal(more, 0);
    }
}

/* Divisions by extents, which products replace: extents around powers of two and others, many points, and more points
 * than the products serve. */
static void test_quotients(void **state)
{
    (void)state;
    const int64_t extents[] = { 3, 5, 31, 33, 255, 257, 641, 1023, 16385, 65521 };
    for (size_t k = 0; k < sizeof extents / sizeof *extents; ++k) {
        const int64_t n = extents[k], times = sized(300000, 3000) / n + 2;
        wf_array *a = wf_array_arange(ctx, WF_I32, n, 0, 1);
        wf_graph *g = wf_begin(ctx);
        wf_array *r = run(g, wf_tile(wf_in(g, a), WF_SHAPE(times)));
        int32_t *got = contents(r);
        for (int64_t i = 0; i < times * n; ++i)
            assert_int_equal(got[i], i % n);
        free(got);
        wf_release(r);
        wf_release(a);
    }
}

/* Integers of the program that are as large as extents stay in the code. */
static void test_literals(void **state)
{
    (void)state;
    for (int64_t x = 31; x < 1 << 29; x *= 33) {
        wf_array *a = wf_array_arange(ctx, WF_I64, 50, -7, 1);
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a), by = wf_const_i64(g, WF_I64, x);
        wf_val sum = wf_add(wf_mul(wf_min(wf_add(v, by), wf_mul(v, by)), by), wf_select(wf_lt(v, by), by, v));
        wf_array *r = run(g, sum), *total = NULL;
        int64_t *got = contents(r);
        g = wf_begin(ctx);
        total = run(g, wf_max(wf_sub(wf_sum(wf_in(g, r), WF_ALL_AXES), wf_const_i64(g, WF_I64, x)), (double)-x));
        int64_t all = 0;
        for (int64_t i = 0; i < 50; ++i) {
            int64_t y = i - 7, less = y + x < y * x ? y + x : y * x;
            assert_int_equal(got[i], less * x + (y < x ? x : y));
            all += got[i];
        }
        assert_int_equal(scalar_i64(total), all - x > -x ? all - x : -x);
        free(got);
        wf_release(r);
        wf_release(total);
        wf_release(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes_share_code), cmocka_unit_test(test_quotients),
                                        cmocka_unit_test(test_literals) };
    return RUN_ON_ALL(tests);
}
