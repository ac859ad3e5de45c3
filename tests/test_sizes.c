/* test_sizes.c - what functions of whole arrays, and values made of elements of others, compile does not depend on
 * extents: sizes that come later take the code of the first ones.
 */
#include "on_devices.h"
#include "weft/array.h"
#include "weft/traced.h"

static uint64_t compiled(void)
{
    wf_info info = { .size = sizeof info };
    OK(ctx, wf_get_info(ctx, false, &info));
    return info.compiled + info.disk_hits;
}

/* ---- of arrays ---- */
static wf_array *mean(const wf_array *a) { return wf_array_mean(a, WF_ALL_AXES); }
static wf_array *variance(const wf_array *a) { return wf_array_variance(a, WF_ALL_AXES, 1); }
static wf_array *deviation(const wf_array *a) { return wf_array_stddev(a, WF_ALL_AXES, 0); }
static wf_array *norm(const wf_array *a) { return wf_array_norm(a, WF_NORM_L2, WF_ALL_AXES); }
static wf_array *normalized(const wf_array *a) { return wf_array_normalize(a, WF_NORMALIZE_MEAN_STD, WF_ALL_AXES); }
static wf_array *cumsum(const wf_array *a) { return wf_array_cumsum(a, 0, false); }
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
    return run(g, wf_scan(WF_ADD, wf_mul(wf_in(g, a), 3), 0, true, true));
}

static wf_array *outer_scan(const wf_array *a) /* of rows of one element */
{
    wf_graph *g = wf_begin(ctx);
    return run(g, wf_scan(WF_MAX, wf_repeat(wf_reshape(wf_in(g, a), WF_SHAPE(-1, 1)), 1, 2), 0, false, false));
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
                  { "where", wf_array_where, MANY },
                  { "compress", chosen, MANY },
                  { "median", median, FEW },
                  { "scan of a value, reversed", reversed_scan, MANY },
                  { "scan along an outer axis", outer_scan, MANY } };

static void call(wf_array *(*f)(const wf_array *), int64_t n)
{
    wf_array *a = wf_arange(ctx, WF_F32, n, 0, 1), *r = f(a);
    if (!r)
        print_error("%s\n", wf_message(ctx));
    assert_non_null(r);
    wf_release(r);
    wf_release(a);
}

static void test_sizes(void **state)
{
    (void)state;
    /* multiples of a vector and others, of one part of a row or tile and more; then as many kinds again */
    const int64_t first[] = { 1000, 1003, 1250, 2403, 17003 }, later[] = { 1111, 1480, 2409, 2711, 3204, 18111 };
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes) };
    return RUN_ON_ALL(tests);
}
