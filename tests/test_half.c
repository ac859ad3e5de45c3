/* test_half.c - f16 and bf16 by the definition of rounding. Each conversion, sum, product, quotient, root and fused
 * multiply-add lies between the midpoints around its result: on the processor, in the interpreter and in constant
 * folding.
 *
 * ctest: baseline
 */
#include "on_devices.h"
#include "ir/ir.h"

static const wf_dtype halves[] = { WF_F16, WF_BF16 };

static uint16_t infinity_of(wf_dtype t) { return t == WF_F16 ? 0x7c00 : 0x7f80; }

/* The value of a code, by arithmetic. The code of infinity has the value that would follow the largest number. */
static double value_of(wf_dtype t, unsigned code)
{
    int bits = t == WF_F16 ? 10 : 7, bias = t == WF_F16 ? 15 : 127, e = (int)(code & 0x7fff) >> bits;
    double f = code & ((1u << bits) - 1), v = e ? ldexp(f + (1 << bits), e - bias - bits) : ldexp(f, 1 - bias - bits);
    return code & 0x8000 ? -v : v;
}

typedef enum how { VALUE, PRODUCT_SUM, QUOTIENT, ROOT } how;
typedef struct exact { /* a number given by its operands: x, x * y + z, x / y, sqrt(x) */
    how how;
    double x, y, z;
} exact;

static int sign(double v) { return (v > 0) - (v < 0); }

/* The sign of exact - m: each step below is exact, or a last sum, whose sign is right. */
static int against(const exact *v, double m)
{
    double p = v->x * v->y;
    switch (v->how) {
    case PRODUCT_SUM:
        return fabs(p) > fabs(v->z) ? sign((p - m) + v->z) : sign((v->z - m) + p);
    case QUOTIENT:
        return sign(v->x - m * v->y) * sign(v->y);
    case ROOT:
        return m < 0 ? 1 : sign(v->x - m * m);
    default:
        return sign(v->x - m);
    }
}

static bool rounded(wf_dtype t, const exact *v, uint16_t code)
{
    unsigned size = code & 0x7fff, inf = infinity_of(t);
    int s = code & 0x8000 ? -1 : 1;
    double at = value_of(t, size), below = size ? (value_of(t, size - 1) + at) / 2 : 0,
           above = (at + value_of(t, size + 1)) / 2;
    if (size > inf)
        return false;
    int low = s * against(v, s * below), high = s * against(v, s * above);
    bool even = !(size & 1);
    if (size == 0)
        return high < 0 || high == 0; /* either zero */
    return (low > 0 || (low == 0 && even)) && (size == inf || high < 0 || (high == 0 && even));
}

static void expect_rounded(wf_dtype t, const char *what, const char *where, const exact *v, const uint16_t *got,
                           size_t n)
{
    for (size_t i = 0; i < n; ++i)
        if (!rounded(t, &v[i], got[i])) {
            print_error("%s %s, %s: %a %a %a gave %#x\n", wf_dtype_name(t), what, where, v[i].x, v[i].y, v[i].z,
                        (unsigned)got[i]);
            fail();
        }
}

/* Converts n values of dtype `from` in three ways. */
static void convert(wf_dtype t, wf_dtype from, const void *in, const exact *v, int64_t n)
{
    uint16_t *folded = malloc((size_t)n * sizeof *folded);
    assert_non_null(folded);
    wf__eval_cast(t, from, folded, in, (size_t)n);
    expect_rounded(t, wf_dtype_name(from), "folder", v, folded, (size_t)n);
    for (int k = 0; k < 2; ++k) {
        wf_array *a = array_of(ctx, from, WF_SHAPE(n), in), *out = wf_empty(ctx, t, WF_SHAPE(n));
        wf_graph *g = wf_begin(ctx, .device = k ? WF_CPU : WF_INTERP);
        wf_out(g, out, wf_in(g, a));
        OK(ctx, wf_run(g));
        uint16_t *got = contents(out);
        assert_memory_equal(got, folded, (size_t)n * 2);
        free(got);
        wf_release(a);
        wf_release(out);
    }
    free(folded);
}

/* Every value and every midpoint, and their nearest neighbours in f32 and f64. */
static void test_conversions(void **state)
{
    (void)state;
    enum { KINDS = 6 };
    for (int h = 0; h < 2; ++h) {
        wf_dtype t = halves[h];
        int64_t n = 0, most = 2 * 0x8000 * KINDS;
        double *x = malloc((size_t)most * sizeof *x);
        float *y = malloc((size_t)most * sizeof *y);
        exact *v = calloc((size_t)most, sizeof *v);
        assert_true(x && y && v);
        for (unsigned code = 0; code < infinity_of(t); ++code)
            for (int k = 0; k < KINDS; ++k) {
                double at = value_of(t, code), mid = (at + value_of(t, code + 1)) / 2;
                double p = k < 3 ? at : mid;
                p = k % 3 == 1 ? nextafter(p, 1e300) : k % 3 == 2 && p > 0 ? nextafter(p, 0) : p;
                x[n++] = code & 1 ? -p : p;
            }
        for (int64_t i = 0; i < n; ++i)
            v[i] = (exact){ .x = x[i] };
        convert(t, WF_F64, x, v, n);
        for (int64_t i = 0; i < n; ++i) {
            float f = (float)x[i];
            y[i] = i % 3 == 1 ? nextafterf(f, 1e30f) : i % 3 == 2 ? nextafterf(f, -1e30f) : f;
            v[i] = (exact){ .x = (double)y[i] };
        }
        convert(t, WF_F32, y, v, n);
        free(x);
        free(y);
        free(v);
    }
}

/* Returns the integer, or a double that lies on the same side of every midpoint. */
static double beside(uint64_t x)
{
    bool cut = x > (uint64_t)1 << 53 && (x & 4095);
    return cut ? ldexp((double)(int64_t)((x & ~(uint64_t)4095) >> 11 | 1), 11) : (double)x;
}

static void test_integers(void **state)
{
    (void)state;
    enum { N = 64 * 64 * 3 };
    static int64_t x[N];
    static uint64_t u[N];
    static int32_t w[N];
    static exact v[N];
    for (int h = 0; h < 2; ++h) {
        wf_dtype t = halves[h];
        int n = 0;
        for (int a = 0; a < 64; ++a) /* two bits set, and the neighbours */
            for (int b = 0; b < 64; ++b)
                for (int d = -1; d <= 1; ++d)
                    u[n++] = ((uint64_t)1 << a | (uint64_t)1 << b) + (uint64_t)(int64_t)d;
        for (int i = 0; i < n; ++i)
            v[i] = (exact){ .x = beside(u[i]) };
        convert(t, WF_U64, u, v, n);
        for (int i = 0; i < n; ++i) {
            x[i] = (int64_t)u[i];
            uint64_t size = x[i] < 0 ? 0 - u[i] : u[i];
            double d = beside(size);
            v[i] = (exact){ .x = x[i] < 0 ? -d : d };
        }
        convert(t, WF_I64, x, v, n);
        for (int i = 0; i < n; ++i) {
            w[i] = (int32_t)u[i];
            v[i] = (exact){ .x = (double)w[i] };
        }
        convert(t, WF_I32, w, v, n);
    }
}

static uint16_t draw(wf_dtype t, uint64_t *random)
{
    uint64_t bits = test_random(random);
    unsigned inf = infinity_of(t), code = (unsigned)(bits & 0x7fff) % inf;
    if (bits >> 60 < 6) /* of like size, so that sums and midpoints meet */
        code = (t == WF_F16 ? 0x3800 : 0x3f00) + (unsigned)(bits & 0x7ff);
    else if (bits >> 60 < 8)
        code &= t == WF_F16 ? 0x7c00 : 0x7f80;
    return (uint16_t)(code | (bits >> 20 & 0x8000));
}

static void test_arithmetic(void **state)
{
    (void)state;
    enum { N = 100000, OPS = 6 };
    static uint16_t in[3][N];
    static exact v[N];
    static const char *const names[OPS] = { "add", "sub", "mul", "div", "sqrt", "fma" };
    for (int h = 0; h < 2; ++h) {
        wf_dtype t = halves[h];
        uint64_t random = 7;
        for (int i = 0; i < N; ++i)
            for (int k = 0; k < 3; ++k)
                in[k][i] = draw(t, &random);
        wf_array *a[3];
        for (int k = 0; k < 3; ++k)
            a[k] = array_of(ctx, t, WF_SHAPE(N), in[k]);
        for (int d = 0; d < 2; ++d) {
            wf_graph *g = wf_begin(ctx, .device = d ? WF_CPU : WF_INTERP);
            wf_val x = wf_in(g, a[0]), y = wf_in(g, a[1]), z = wf_in(g, a[2]);
            wf_array *out[OPS] = { wf_keep(wf_add(x, y)), wf_keep(wf_sub(x, y)),       wf_keep(wf_mul(x, y)),
                                   wf_keep(wf_div(x, y)), wf_keep(wf_sqrt(wf_abs(x))), wf_keep(wf_fma(x, y, z)) };
            OK(ctx, wf_run(g));
            for (int op = 0; op < OPS; ++op) {
                uint16_t *got = contents(out[op]);
                for (int i = 0; i < N; ++i) {
                    double p = value_of(t, in[0][i]), q = value_of(t, in[1][i]), r = value_of(t, in[2][i]);
                    if (op == 3 && q == 0) {
                        got[i] = 0; /* 0, infinite or NaN: test_ops */
                        q = 1;
                        p = 0;
                    }
                    v[i] = op == 0   ? (exact){ PRODUCT_SUM, p, 1, q }
                           : op == 1 ? (exact){ PRODUCT_SUM, p, 1, -q }
                           : op == 2 ? (exact){ PRODUCT_SUM, p, q, 0 }
                           : op == 3 ? (exact){ QUOTIENT, p, q, 0 }
                           : op == 4 ? (exact){ ROOT, fabs(p), 0, 0 }
                                     : (exact){ PRODUCT_SUM, p, q, r };
                }
                expect_rounded(t, names[op], d ? "CPU" : "interpreter", v, got, N);
                free(got);
                wf_release(out[op]);
            }
        }
        for (int k = 0; k < 3; ++k)
            wf_release(a[k]);
    }
}

/* All values, to f32 and back; the functions of f32 on them, rounded. */
static void test_all_values(void **state)
{
    (void)state;
    enum { N = 0x10000 };
    static uint16_t all[N];
    for (int i = 0; i < N; ++i)
        all[i] = (uint16_t)i;
    for (int h = 0; h < 2; ++h) {
        wf_dtype t = halves[h];
        wf_array *a = array_of(ctx, t, WF_SHAPE(N), all);
        for (int d = 0; d < 2; ++d) {
            wf_graph *g = wf_begin(ctx, .device = d ? WF_CPU : WF_INTERP);
            wf_val x = wf_in(g, a), w = wf_cast(x, WF_F32);
            wf_array *wide = wf_keep(w), *back = wf_keep(wf_cast(w, t)), *direct = wf_keep(wf_exp(x)),
                     *slow = wf_keep(wf_cast(wf_exp(w), t)), *chain = wf_keep(wf_max(wf_floor(wf_neg(x)), 3));
            OK(ctx, wf_run(g));
            float *f = contents(wide);
            uint16_t *b = contents(back), *e1 = contents(direct), *e2 = contents(slow), *c = contents(chain);
            for (int i = 0; i < N; ++i) {
                bool nan = (i & 0x7fff) > infinity_of(t), inf = (i & 0x7fff) == infinity_of(t);
                double want = inf ? (i & 0x8000 ? -INFINITY : INFINITY) : value_of(t, (unsigned)i);
                assert_true(nan ? f[i] != f[i] : (double)f[i] == want && !!signbit(f[i]) == i >> 15);
                double top = nan ? NAN : floor(-want) > 3 ? floor(-want) : 3;
                assert_true(nan ? (c[i] & 0x7fff) > infinity_of(t) : isinf(top) || value_of(t, c[i]) == top);
            }
            assert_int_equal(first_difference(t, b, all, N), -1);
            assert_int_equal(first_difference(t, e1, e2, N), -1);
            void *data[] = { f, b, e1, e2, c };
            wf_array *arrays[] = { wide, back, direct, slow, chain };
            for (int k = 0; k < 5; ++k) {
                free(data[k]);
                wf_release(arrays[k]);
            }
        }
        wf_release(a);
    }
}

/* Sums of many small values do not stop growing at the end of the mantissa. */
static void test_reductions(void **state)
{
    (void)state;
    enum { N = 20000 };
    for (int h = 0; h < 2; ++h)
        for (int d = 0; d < 2; ++d) {
            wf_array *a = wf_full(ctx, halves[h], WF_SHAPE(N), 1), *s = wf_empty(ctx, WF_F32, WF_SCALAR);
            wf_graph *g = wf_begin(ctx, .device = d ? WF_CPU : WF_INTERP);
            wf_val sum = wf_sum(wf_in(g, a), WF_ALL_AXES);
            assert_int_equal(wf_val_dtype(sum), halves[h]);
            wf_array *kept = wf_keep(wf_cast(sum, WF_F32)),
                     *most = wf_keep(wf_reduce(WF_JOIN_MAX, wf_in(g, a), WF_ALL_AXES));
            OK(ctx, wf_run(g));
            EXPECT_F32(kept, halves[h] == WF_F16 ? 20000 : 19968);
            assert_int_equal(wf_array_dtype(most), halves[h]);
            g = wf_begin(ctx, .reduce = WF_ALL_AXES, .device = d ? WF_CPU : WF_INTERP);
            wf_var total = wf_reduced(g, halves[h], 0, WF_JOIN_ADD);
            assert_int_equal(wf_val_dtype(wf_get(total)), WF_F32);
            wf_inc(total, wf_in(g, a));
            wf_section(g, WF_SECTION_POST);
            wf_out(g, s, total);
            OK(ctx, wf_run(g));
            EXPECT_F32(s, 20000);
            wf_array *all[] = { a, s, kept, most };
            for (int k = 0; k < 4; ++k)
                wf_release(all[k]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversions), cmocka_unit_test(test_integers),   cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_all_values),  cmocka_unit_test(test_reductions),
    };
    return cmocka_run_group_tests(tests, on_default, off);
}
