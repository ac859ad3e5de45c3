/* test_lib_random.c - Philox4x32-10 beside its published vectors and plain C, and distributions by their moments and
 * by the distance from their distribution function. Length, stride and number of threads change no element.
 *
 * ctest: devices values
 */
#include "on_devices.h"
#include "weft/functions.h"

static void plain_philox(uint32_t c[4], uint32_t k0, uint32_t k1)
{
    for (int r = 0; r < 10; ++r, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
        uint32_t next[4] = { (uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k1,
                             (uint32_t)a };
        memcpy(c, next, sizeof next);
    }
}

static void test_vectors(void **state)
{
    (void)state;
    static const struct {
        wf_random random;
        uint32_t want[4];
    } known[] = { /* kat_vectors of Random123 */
                  { { 0, 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
                  { { UINT64_MAX, UINT64_MAX, UINT64_MAX }, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
                  { { 0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88 },
                    { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } }
    };
    for (int k = 0; k < 3; ++k) {
        wf_array *a = wf_empty(ctx, WF_U32, WF_SHAPE(700));
        OK(ctx, wf_array_random_bits(a, known[k].random));
        uint32_t *got = contents(a);
        for (int j = 0; j < 4; ++j)
            assert_int_equal(got[64 * j], known[k].want[j]);
        for (int i = 0; i < 700; ++i) {
            uint64_t at = known[k].random.first + (uint64_t)(i / 256 * 64 + i % 64), s = known[k].random.stream;
            uint32_t c[4] = { (uint32_t)at, (uint32_t)(at >> 32), (uint32_t)s, (uint32_t)(s >> 32) };
            plain_philox(c, (uint32_t)known[k].random.seed, (uint32_t)(known[k].random.seed >> 32));
            assert_int_equal(got[i], c[i % 256 / 64]);
        }
        free(got);
        wf_release(a);
    }
}

static const wf_random here = { 12345, 6, 0 };
typedef wf_status (*filler)(wf_array *array);
static wf_status fill_bits(wf_array *a) { return wf_array_random_bits(a, here); }
static wf_status fill_uniform(wf_array *a) { return wf_array_random_uniform(a, here, -3, 5); }
static wf_status fill_normal(wf_array *a) { return wf_array_random_normal(a, here, 1, 2); }
static wf_status fill_lognormal(wf_array *a) { return wf_array_random_lognormal(a, here, 0, 0.5); }
static wf_status fill_poisson(wf_array *a) { return wf_array_random_poisson(a, here, 4.5); }

/* A part, a strided view and other numbers of threads give the elements of the whole. */
static void check_same(filler fill, wf_dtype t)
{
    enum { N = 70000 };
    size_t size = wf_dtype_size(t);
    int before = wf_get_threads(ctx);
    wf_array *whole = wf_empty(ctx, t, WF_SHAPE(N)), *part = wf_empty(ctx, t, WF_SHAPE(7, 143));
    wf_array *big = wf_empty(ctx, t, WF_SHAPE(143, 14)), *p = wf_view_permute(big, (const int[]){ 1, 0 });
    wf_array *view = wf_view_slice(p, 0, -1, WF_END_INDEX, -2);
    OK(ctx, fill(whole));
    OK(ctx, fill(part));
    OK(ctx, fill(view));
    void *all = contents(whole), *some = contents(part), *strided = contents(view);
    assert_memory_equal(all, some, 1001 * size);
    assert_memory_equal(all, strided, 1001 * size);
    for (int threads = 1; threads < 5; threads += 3) {
        wf_set_threads(ctx, threads);
        OK(ctx, fill(whole));
        void *again = contents(whole);
        assert_memory_equal(all, again, N * size);
        free(again);
    }
    wf_set_threads(ctx, before);
    free(all);
    free(some);
    free(strided);
    wf_array *arrays[] = { whole, part, big, p, view };
    for (int i = 0; i < 5; ++i)
        wf_release(arrays[i]);
}

static void test_same(void **state)
{
    (void)state;
    check_same(fill_bits, WF_U32);
    check_same(fill_uniform, WF_F32);
    check_same(fill_uniform, WF_I16);
    check_same(fill_normal, WF_F64);
    check_same(fill_normal, WF_C64);
    check_same(fill_lognormal, WF_F32);
    check_same(fill_poisson, WF_U8);
    wf_array *none = wf_empty(ctx, WF_F32, WF_SHAPE(0)), *scalar = wf_empty(ctx, WF_F32, WF_SCALAR);
    OK(ctx, fill_normal(none));
    OK(ctx, fill_poisson(none));
    OK(ctx, fill_normal(scalar));
    wf_release(none);
    wf_release(scalar);
}

static int compare_f64(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

enum { DRAWS = 40000 };
static double *drawn(wf_array *a) /* releases it */
{
    wf_array *f = wf_array_cast(a, wf_array_dtype(a) >= WF_C32 ? WF_C128 : WF_F64);
    double *x = contents(f);
    wf_release(f);
    wf_release(a);
    return x;
}

/* Kolmogorov's distance of n values of a continuous distribution: above 1.95 / sqrt(n) once in a thousand seeds. */
static void check_distance(double *x, int n, double (*below)(double))
{
    double worst = 0;
    qsort(x, (size_t)n, sizeof *x, compare_f64);
    for (int i = 0; i < n; ++i) {
        double p = below(x[i]);
        worst = fmax(worst, fmax(fabs(p - (double)i / n), fabs(p - (double)(i + 1) / n)));
    }
    if (worst > 1.95 / sqrt(n)) {
        print_error("distance %g\n", worst * sqrt(n));
        fail();
    }
    free(x);
}

static double below_uniform(double x) { return (x + 3) / 8; }
static double below_normal(double x) { return 0.5 * erfc(-(x - 1) / 2 * sqrt(0.5)); }
static double below_lognormal(double x) { return 0.5 * erfc(-log(x) / 0.5 * sqrt(0.5)); }

static void test_distributions(void **state)
{
    (void)state;
    static const wf_dtype types[] = { WF_F32, WF_F64 };
    for (int t = 0; t < 2; ++t) {
        static const struct {
            filler fill;
            double (*below)(double);
        } cases[] = { { fill_uniform, below_uniform },
                      { fill_normal, below_normal },
                      { fill_lognormal, below_lognormal } };
        for (int c = 0; c < 3; ++c) {
            wf_array *a = wf_empty(ctx, types[t], WF_SHAPE(DRAWS));
            OK(ctx, cases[c].fill(a));
            check_distance(drawn(a), DRAWS, cases[c].below);
        }
    }
    wf_array *z = wf_empty(ctx, WF_C128, WF_SHAPE(DRAWS / 2));
    OK(ctx, fill_normal(z));
    check_distance(drawn(z), DRAWS, below_normal);
    wf_array *half = wf_empty(ctx, WF_F16, WF_SHAPE(DRAWS));
    OK(ctx, fill_uniform(half));
    double *x = drawn(half), sum = 0;
    for (int i = 0; i < DRAWS; ++i) {
        assert_true(x[i] >= -3 && x[i] <= 5);
        sum += x[i];
    }
    assert_true(fabs(sum / DRAWS - 1) < 0.05);
    free(x);
}

static void test_integers(void **state)
{
    (void)state;
    for (wf_dtype t = WF_I8; t <= WF_U64; ++t) {
        double lo = t == WF_I8 || t == WF_I16 || t == WF_I32 || t == WF_I64 ? -3 : 3;
        wf_array *a = wf_empty_with(ctx, t, WF_SHAPE(DRAWS), NULL);
        OK(ctx, wf_array_random_uniform(a, here, lo, lo + 10));
        double *x = drawn(a), chi = 0;
        int count[10] = { 0 };
        for (int i = 0; i < DRAWS; ++i) {
            assert_true(x[i] >= lo && x[i] < lo + 10);
            ++count[(int)(x[i] - lo)];
        }
        for (int k = 0; k < 10; ++k)
            chi += (count[k] - DRAWS / 10.) * (count[k] - DRAWS / 10.) / (DRAWS / 10.);
        assert_true(chi < 28); /* 9 degrees of freedom: p = 0.001 */
        free(x);
    }
    wf_array *u = wf_empty(ctx, WF_U8, WF_SHAPE(5000)), *i = wf_empty(ctx, WF_I64, WF_SHAPE(5000));
    OK(ctx, wf_array_random_uniform(u, here, 0, 256));
    double *x = drawn(u), most = 0;
    for (int k = 0; k < 5000; ++k)
        most = fmax(most, x[k]);
    assert_true(most == 255);
    free(x);
    OK(ctx, wf_array_random_uniform(i, here, -0x1p52, 0x1p52 - 1));
    x = drawn(i);
    double low = 0, high = 0;
    for (int k = 0; k < 5000; ++k) {
        low = fmin(low, x[k]);
        high = fmax(high, x[k]);
    }
    assert_true(low < -0.99 * 0x1p52 && high > 0.99 * 0x1p52 && low >= -0x1p52 && high < 0x1p52);
    free(x);
    i = wf_empty(ctx, WF_I64, WF_SHAPE(5000));
    assert_int_equal(wf_array_random_uniform(i, here, -0x1p52, 0x1p52), WF_ERR_ARG); /* 2^53 numbers */
    wf_clear_error(ctx);
    wf_release(i);
}

/* The same numbers in a GPU's memory and in the processor's. */
static void check_poisson_on_cpu(wf_dtype t, double mean)
{
    enum { N = 1500 };
    wf_array *there = wf_empty_with(ctx, t, WF_SHAPE(N), NULL), *near = wf_empty(ctx, t, WF_SHAPE(N), .device = WF_CPU);
    OK(ctx, wf_array_random_poisson(there, here, mean));
    OK(ctx, wf_array_random_poisson(near, here, mean));
    void *x = contents(there), *y = contents(near);
    assert_memory_equal(x, y, N * wf_dtype_size(t));
    free(x);
    free(y);
    wf_release(there);
    wf_release(near);
}

static void test_poisson(void **state)
{
    (void)state;
    if (is_on_gpu()) {
        check_poisson_on_cpu(WF_I64, 4.5);
        check_poisson_on_cpu(WF_F16, 1000.5);
        check_poisson_on_cpu(WF_BOOL, 0.7);
        return;
    }
    static const double means[] = { 0, 0.01, 1, 4.5, 30, 1000.5, 1e6, 1e9 };
    for (int m = 0; m < 8; ++m) {
        wf_array *a = wf_empty(ctx, WF_I64, WF_SHAPE(DRAWS));
        OK(ctx, wf_array_random_poisson(a, here, means[m]));
        double *x = drawn(a), sum = 0, squares = 0, sigma = sqrt(means[m]);
        for (int i = 0; i < DRAWS; ++i) {
            assert_true(x[i] >= 0);
            sum += x[i] - means[m];
            squares += (x[i] - means[m]) * (x[i] - means[m]);
        }
        assert_true(fabs(sum / DRAWS) <= 4 * sigma / sqrt(DRAWS));
        double spread = sqrt((2 * means[m] + 1) * means[m] / DRAWS); /* of a sample's variance */
        assert_true(fabs(squares / DRAWS - means[m]) <= 4 * spread);
        if (means[m] == 4.5) { /* every value's share */
            double p = exp(-4.5), chi = 0;
            for (int k = 0; k < 15; p *= 4.5 / ++k) {
                int count = 0;
                for (int i = 0; i < DRAWS; ++i)
                    count += x[i] == k;
                chi += (count - DRAWS * p) * (count - DRAWS * p) / (DRAWS * p);
            }
            assert_true(chi < 38); /* 15: p = 0.001 */
        }
        free(x);
    }
}

static void test_errors(void **state)
{
    (void)state;
    wf_array *f = wf_empty(ctx, WF_F32, WF_SHAPE(4)), *u = wf_empty(ctx, WF_U8, WF_SHAPE(4)),
             *b = wf_empty(ctx, WF_BOOL, WF_SHAPE(4)), *z = wf_empty(ctx, WF_C64, WF_SHAPE(4));
    REFUSED(ctx, wf_array_random_bits(f, here), WF_ERR_DTYPE, "u32");
    REFUSED(ctx, wf_array_random_uniform(b, here, 0, 1), WF_ERR_DTYPE, "bool");
    REFUSED(ctx, wf_array_random_uniform(u, here, 0, 257), WF_ERR_ARG, "u8");
    REFUSED(ctx, wf_array_random_uniform(u, here, -1, 5), WF_ERR_ARG, "u8");
    REFUSED(ctx, wf_array_random_uniform(u, here, 0, 1.5), WF_ERR_ARG, "u8");
    REFUSED(ctx, wf_array_random_uniform(f, here, 1, 1), WF_ERR_ARG, "f32");
    REFUSED(ctx, wf_array_random_uniform(f, here, 0, INFINITY), WF_ERR_ARG, "f32");
    REFUSED(ctx, wf_array_random_uniform(f, here, NAN, 1), WF_ERR_ARG, "f32");
    REFUSED(ctx, wf_array_random_normal(u, here, 0, 1), WF_ERR_DTYPE, "u8");
    REFUSED(ctx, wf_array_random_normal(f, here, 0, -1), WF_ERR_ARG, "deviation");
    REFUSED(ctx, wf_array_random_lognormal(z, here, 0, 1), WF_ERR_DTYPE, "c64");
    REFUSED(ctx, wf_array_random_poisson(z, here, 1), WF_ERR_DTYPE, "c64");
    REFUSED(ctx, wf_array_random_poisson(u, here, -1), WF_ERR_ARG, "mean");
    REFUSED(ctx, wf_array_random_poisson(u, here, 2e9), WF_ERR_ARG, "mean");
    assert_int_equal(wf_array_random_bits(NULL, here), WF_ERR_ARG);
    wf_array *wide = wf_view_broadcast(f, WF_SHAPE(3, 4));
    assert_int_not_equal(wf_array_random_uniform(wide, here, 0, 1), WF_OK);
    wf_clear_error(ctx);
    wf_array *all[] = { f, u, b, z, wide };
    for (int i = 0; i < 5; ++i)
        wf_release(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),  cmocka_unit_test(test_same),    cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_integers), cmocka_unit_test(test_poisson), cmocka_unit_test(test_errors),
    };
    return RUN_ON_ALL(tests);
}
