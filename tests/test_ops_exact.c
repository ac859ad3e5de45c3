/* test_ops_exact.c - the meaning of operations beside plain C and the C library: signs, integer division, rotation,
 * the parts of floats and their neighbours. test_ops.c compares the devices with each other. */
#include "on_devices.h"

static const double special[] = { 0.0,
                                  -0.0,
                                  1,
                                  -1,
                                  0.5,
                                  -0.75,
                                  3,
                                  -1000.5,
                                  0x1p-1022,
                                  0x1p-1074,
                                  -0x1p-1030,
                                  0x1p-126,
                                  0x1p-149,
                                  -0x1p-133,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  1e300,
                                  0x1.fffffep127,
                                  0x1.fffffffffffffp1023,
                                  0x1.8p-1022,
                                  -0x1.4p-1073 };
enum { N = sizeof special / sizeof *special };
static const double amounts[] = { 0,    1,     -1,   52,    -52,   126,   -126,     149,       150,  -150,  277,
                                  -280, 1023,  1024, -1022, -1023, -1074, -1075,    2097,      2098, -2098, -2099,
                                  3000, -3000, 1e9,  -1e9,  2.9,   -2.9,  INFINITY, -INFINITY, NAN };
enum { M = sizeof amounts / sizeof *amounts };

/* f(a, b) for all pairs, on both devices, as f64 (exactly: results are f32 or f64). */
static void pairs(wf_dtype t, wf_val (*f)(wf_val, wf_val), double (*want)(wf_dtype, double, double), const double *b,
                  int n)
{
    for (int d = 0; d < 2; ++d) {
        wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(N, 1), special), *y = array_of(ctx, WF_F64, WF_SHAPE(n), b);
        wf_graph *g = wf_begin(ctx, .device = d ? WF_CPU : WF_INTERP);
        wf_val r = f(wf_cast(wf_in(g, x), t), wf_cast(wf_in(g, y), t));
        wf_array *out = wf_keep(wf_cast(r, WF_F64));
        OK(ctx, wf_run(g));
        double *got = contents(out);
        for (int i = 0; i < N; ++i)
            for (int k = 0; k < n; ++k) {
                double p = t == WF_F32 ? (double)(float)special[i] : special[i],
                       q = t == WF_F32 ? (double)(float)b[k] : b[k];
                double w = want(t, p, q), v = got[i * n + k];
                if (!same_element(WF_F64, &w, &v)) {
                    print_error("%s: of %a, %a: %a, not %a\n", wf_dtype_name(t), p, q, v, w);
                    fail();
                }
            }
        free(got);
        wf_release(x);
        wf_release(y);
        wf_release(out);
    }
}

static wf_val r_ldexp(wf_val a, wf_val b) { return wf_ldexp(a, b); }
static wf_val r_next(wf_val a, wf_val b) { return wf_nextafter(a, b); }
static wf_val r_frexp(wf_val a, wf_val b) { return wf_add(wf_frexp(a), wf_mul(b, 0)); }
static wf_val r_exponent(wf_val a, wf_val b) { return wf_add(wf_frexp_exp(a), wf_mul(b, 0)); }
static wf_val r_sign(wf_val a, wf_val b) { return wf_select(wf_eq(b, 0), wf_sign(a), b); }
static wf_val r_signbit(wf_val a, wf_val b) { return wf_add(wf_cast(wf_signbit(a), WF_F32), wf_mul(b, 0)); }

static double c_ldexp(wf_dtype t, double a, double b)
{
    if (b != b)
        return b;
    int n = b > 5000 ? 5000 : b < -5000 ? -5000 : (int)b;
    return t == WF_F32 ? (double)ldexpf((float)a, n) : ldexp(a, n);
}
static double c_next(wf_dtype t, double a, double b)
{
    return t == WF_F32 ? (double)nextafterf((float)a, (float)b) : nextafter(a, b);
}
static double c_frexp(wf_dtype t, double a, double b)
{
    int e;
    (void)t;
    return frexp(a, &e) + b * 0;
}
static double c_exponent(wf_dtype t, double a, double b)
{
    int e = 0;
    (void)t;
    (void)frexp(a, &e);
    return (isfinite(a) ? e : 0) + b * 0;
}
static double c_sign(wf_dtype t, double a, double b)
{
    (void)t;
    return b != 0 ? b : a > 0 ? 1 : a < 0 ? -1 : a;
}
static double c_signbit(wf_dtype t, double a, double b)
{
    (void)t;
    return (a == a && signbit(a)) + b * 0;
}
static double c_copysign(wf_dtype t, double a, double b)
{
    (void)t;
    return b != b ? fabs(a) : copysign(a, b);
}

/* NaNs with a sign: computed ones, and those of the program. */
static wf_val r_copysign(wf_val a, wf_val b) { return wf_copysign(a, wf_neg(wf_neg(b))); }
static wf_val r_copysign_neg(wf_val a, wf_val b) { return wf_copysign(a, wf_neg(b)); }
static double c_copysign_neg(wf_dtype t, double a, double b) { return c_copysign(t, a, -b); }
static wf_val r_copysign_zero(wf_val a, wf_val b) { return wf_copysign(a, wf_div(wf_mul(b, 0), 0)); }
static double c_abs(wf_dtype t, double a, double b)
{
    (void)t, (void)b;
    return fabs(a);
}

static void test_float_parts(void **state)
{
    (void)state;
    static const double zero[] = { 0 };
    static const wf_dtype floats[] = { WF_F32, WF_F64 };
    for (int k = 0; k < 2; ++k) {
        pairs(floats[k], r_ldexp, c_ldexp, amounts, M);
        pairs(floats[k], r_next, c_next, special, N);
        pairs(floats[k], r_sign, c_sign, zero, 1);
        pairs(floats[k], r_frexp, c_frexp, zero, 1);
        pairs(floats[k], r_exponent, c_exponent, zero, 1);
        pairs(floats[k], r_signbit, c_signbit, zero, 1);
        pairs(floats[k], r_copysign, c_copysign, special, N);
        pairs(floats[k], r_copysign_neg, c_copysign_neg, special, N);
        pairs(floats[k], r_copysign_zero, c_abs, special, N);
    }
}

/* The neighbours of every f16 and bf16, and their parts put together again. */
static void test_half_parts(void **state)
{
    (void)state;
    static const wf_dtype halves[] = { WF_F16, WF_BF16 };
    static uint16_t all[0x10000];
    for (int i = 0; i < 0x10000; ++i)
        all[i] = (uint16_t)i;
    for (int h = 0; h < 2; ++h)
        for (int d = 0; d < 2; ++d) {
            wf_array *a = array_of(ctx, halves[h], WF_SHAPE(0x10000), all);
            wf_graph *g = wf_begin(ctx, .device = d ? WF_CPU : WF_INTERP);
            wf_val x = wf_in(g, a);
            wf_array *up = wf_keep(wf_nextafter(x, INFINITY)), *down = wf_keep(wf_nextafter(x, -INFINITY)),
                     *back = wf_keep(wf_ldexp(wf_frexp(x), wf_frexp_exp(x)));
            OK(ctx, wf_run(g));
            uint16_t *u = contents(up), *l = contents(down), *b = contents(back),
                     inf = halves[h] == WF_F16 ? 0x7c00 : 0x7f80;
            for (unsigned i = 0; i < 0x10000; ++i) {
                unsigned size = i & 0x7fff, more = i + 1, less = i - 1;
                assert_true(same_element(halves[h], &b[i], &all[i]));
                if (size > inf)
                    continue;
                unsigned above = size == 0 ? 1 : i & 0x8000 ? less : i == inf ? i : more;
                unsigned below = size == 0 ? 0x8001 : i & 0x8000 ? (size == inf ? i : more) : less;
                assert_int_equal(u[i], above);
                assert_int_equal(l[i], below);
            }
            void *data[] = { u, l, b };
            wf_array *arrays[] = { a, up, down, back };
            for (int k = 0; k < 3; ++k)
                free(data[k]);
            for (int k = 0; k < 4; ++k)
                wf_release(arrays[k]);
        }
}

/* copysign of numbers and constants. */
static void test_sign_of_nan(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        double nan = copysign(NAN, sign);
        assert_true(wf_copysign(-2, nan).h.num == 2);
        wf_graph *g = wf_begin(ctx);
        wf_array *out = wf_empty(ctx, WF_F32, WF_SHAPE(2)), *one = wf_full(ctx, WF_F32, WF_SHAPE(2), -2);
        wf_out(g, out, wf_add(wf_copysign(wf_in(g, one), nan), wf_copysign(3, wf_const(g, WF_F32, nan))));
        OK(ctx, wf_run(g));
        EXPECT_F32(out, 5, 5);
        RELEASE(out, one);
    }
}

static void test_integers(void **state)
{
    (void)state;
    static int8_t x[65536], y[65536];
    for (int i = 0; i < 65536; ++i) {
        x[i] = (int8_t)(i & 255);
        y[i] = (int8_t)(i >> 8);
    }
    for (int d = 0; d < 2; ++d) {
        wf_array *a = array_of(ctx, WF_I8, WF_SHAPE(65536), x), *b = array_of(ctx, WF_I8, WF_SHAPE(65536), y);
        wf_graph *g = wf_begin(ctx, .device = d ? WF_CPU : WF_INTERP);
        wf_val p = wf_in(g, a), q = wf_in(g, b), up = wf_bitcast(p, WF_U8), uq = wf_bitcast(q, WF_U8);
        wf_array *out[] = {
            wf_keep(wf_floor_div(p, q)),   wf_keep(wf_floor_mod(p, q)),   wf_keep(wf_idiv(p, q)),
            wf_keep(wf_mod(p, q)),         wf_keep(wf_rotl(p, q)),        wf_keep(wf_rotr(p, q)),
            wf_keep(wf_brev(p)),           wf_keep(wf_sign(p)),           wf_keep(wf_cast(wf_signbit(p), WF_I8)),
            wf_keep(wf_floor_div(up, uq)), wf_keep(wf_floor_mod(up, uq)), wf_keep(wf_shl(p, q)),
            wf_keep(wf_shr(p, q)),         wf_keep(wf_shr(up, uq)),       wf_keep(wf_sign(up))
        };
        enum { OUTS = sizeof out / sizeof *out };
        OK(ctx, wf_run(g));
        int8_t *got[OUTS];
        for (int k = 0; k < OUTS; ++k)
            got[k] = contents(out[k]);
        for (int i = 0; i < 65536; ++i) {
            int m = x[i], n = y[i], um = (uint8_t)m, un = (uint8_t)n, by = un & 7, reversed = 0;
            double exact = n ? floor((double)m / n) : 0;
            for (int k = 0; k < 8; ++k)
                reversed |= (um >> k & 1) << (7 - k);
            int want[OUTS] = { (int)exact,
                               n ? m - (int)exact * n : 0,
                               n ? m / n : 0,
                               n ? m % n : 0,
                               um << by | um >> (8 - by),
                               um >> by | um << (8 - by),
                               reversed,
                               (m > 0) - (m < 0),
                               m < 0,
                               un ? um / un : 0,
                               un ? um % un : 0,
                               un < 8 ? um << un : 0,
                               un < 8 ? m >> un : m >> 7,
                               un < 8 ? um >> un : 0,
                               um > 0 };
            for (int k = 0; k < OUTS; ++k)
                if (got[k][i] != (int8_t)want[k]) {
                    print_error("operation %d of %d, %d: %d, not %d\n", k, m, n, got[k][i], (int8_t)want[k]);
                    fail();
                }
        }
        for (int k = 0; k < OUTS; ++k) {
            free(got[k]);
            wf_release(out[k]);
        }
        wf_release(a);
        wf_release(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_parts),
        cmocka_unit_test(test_half_parts),
        cmocka_unit_test(test_sign_of_nan),
        cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, on_default, off);
}
