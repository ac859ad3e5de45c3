/* test_float_remainder.c - mod and floor_mod of floats give the bits of fmod in C, or those with the sign of the
 * divisor: special values, quotients of every size, arguments next to multiples.
 *
 * ctest: devices values
 */
#include "ir/ir.h"
#include "on_devices.h"
#include <float.h>

enum { N = 1 << 14 };
static double x[N], y[N];

static double spread(wf_dtype t) { return t == WF_F64 ? 1074 : t == WF_F16 ? 24 : 149; }

static double exact(bool floored, double a, double b)
{
    double r = fmod(a, b);
    if (!floored || isnan(r))
        return r;
    return r == 0 ? copysign(0, b) : (r < 0) != (b < 0) ? r + b : r;
}

/* The expected remainder in the dtype. For f16 and bf16 the sum in double is exact, except for bits that cannot
 * matter. */
static void expected(wf_dtype t, bool floored, const void *a, const void *b, void *out)
{
    if (t == WF_F32) {
        const float *v = a, *w = b;
        float *r = out;
        for (size_t i = 0; i < N; ++i) {
            r[i] = fmodf(v[i], w[i]);
            if (floored && r[i] == r[i])
                r[i] = r[i] == 0 ? copysignf(0, w[i]) : (r[i] < 0) != (w[i] < 0) ? r[i] + w[i] : r[i];
        }
        return;
    }
    static double v[N], w[N];
    wf__eval_cast(WF_F64, t, v, a, N);
    wf__eval_cast(WF_F64, t, w, b, N);
    for (size_t i = 0; i < N; ++i)
        v[i] = exact(floored, v[i], w[i]);
    if (t == WF_F64)
        memcpy(out, v, sizeof v);
    else { /* through f32, as half.c explains */
        static float single[N];
        wf__eval_cast(WF_F32, WF_F64, single, v, N);
        wf__eval_cast(t, WF_F32, out, single, N);
    }
}

static void check(wf_dtype t, const char *what)
{
    static double a[N], b[N], want[N];
    wf__eval_cast(t == WF_F64 ? WF_F64 : WF_F32, WF_F64, a, x, N);
    wf__eval_cast(t == WF_F64 ? WF_F64 : WF_F32, WF_F64, b, y, N);
    if (t == WF_F16 || t == WF_BF16) {
        static float v[N], w[N];
        memcpy(v, a, sizeof v);
        memcpy(w, b, sizeof w);
        wf__eval_cast(t, WF_F32, a, v, N);
        wf__eval_cast(t, WF_F32, b, w, N);
    }
    wf_array *in[2] = { array_of(ctx, t, WF_SHAPE(N), a), array_of(ctx, t, WF_SHAPE(N), b) };
    for (int floored = 0; floored < 2; ++floored) {
        wf_array *out = wf_like(in[0]);
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, in[0]), w = wf_in(g, in[1]);
        wf_out(g, out, floored ? wf_floor_mod(v, w) : wf_mod(v, w));
        OK(ctx, wf_run(g));
        void *got = contents(out);
        expected(t, floored, a, b, want);
        size_t size = wf_dtype_size(t);
        for (int64_t i = 0; i < N; ++i) {
            const char *p = (const char *)got + (size_t)i * size, *q = (const char *)want + (size_t)i * size;
            if (same_element(t, p, q))
                continue;
            print_error("%s, %s %s(%a, %a) is wrong\n", what, wf_dtype_name(t), floored ? "floor_mod" : "mod", x[i],
                        y[i]);
            fail();
        }
        free(got);
        wf_release(out);
    }
    wf_release(in[0]);
    wf_release(in[1]);
}

static double unit(uint64_t *seed) { return (double)(test_random(seed) >> 11) * 0x1p-53; }
static double either_sign(uint64_t *seed, double v) { return test_random(seed) & 1 ? v : -v; }

static const wf_dtype floats[] = { WF_F16, WF_BF16, WF_F32, WF_F64 };

static void special_values(void **state)
{
    static const double value[] = { 0.0,
                                    -0.0,
                                    1,
                                    -1,
                                    3,
                                    -3,
                                    0.1,
                                    5.5,
                                    -7,
                                    0x1p-149,
                                    0x1p-126,
                                    FLT_MAX,
                                    0x1.fffffcp-127,
                                    0x1p-1074,
                                    0x1p-1022,
                                    DBL_MAX,
                                    65504,
                                    0x1p-24,
                                    INFINITY,
                                    -INFINITY,
                                    NAN,
                                    0x1p23,
                                    0x1p24,
                                    0x1p52,
                                    0x1p53,
                                    0x1.fffffep23,
                                    1e10,
                                    1e300,
                                    1e-300 };
    enum { VALUES = sizeof value / sizeof *value };
    (void)state;
    for (size_t i = 0; i < N; ++i)
        x[i] = value[i % VALUES], y[i] = value[i / VALUES % VALUES];
    for (size_t k = 0; k < sizeof floats / sizeof *floats; ++k)
        check(floats[k], "special values");
}

static void any_quotient(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof floats / sizeof *floats; ++k) {
        uint64_t seed = k;
        double range = spread(floats[k]);
        for (size_t i = 0; i < N; ++i) {
            x[i] = either_sign(&seed, (1 + unit(&seed)) * exp2(floor((2 * unit(&seed) - 1) * range)));
            y[i] = either_sign(&seed, (1 + unit(&seed)) * exp2(floor((2 * unit(&seed) - 1) * range)));
        }
        check(floats[k], "any quotient");
    }
}

static void small_quotients(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof floats / sizeof *floats; ++k) {
        uint64_t seed = 100 + k;
        for (size_t i = 0; i < N; ++i) {
            y[i] = either_sign(&seed, 1 + unit(&seed));
            x[i] = y[i] * (2 * unit(&seed) - 1) * exp2(floor(60 * unit(&seed)));
        }
        check(floats[k], "small quotients");
    }
}

/* Arguments next to multiples of the divisor, where the rounded quotient is one too large. */
static void near_multiples(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof floats / sizeof *floats; ++k) {
        uint64_t seed = 200 + k;
        wf_dtype t = floats[k];
        double last = t == WF_F64 ? 0x1p-52 : t == WF_F32 ? 0x1p-23 : t == WF_F16 ? 0x1p-10 : 0x1p-7;
        for (size_t i = 0; i < N; ++i) {
            double digits = t == WF_F64 ? 52 : 23;
            y[i] = (1 + floor(unit(&seed) / last) * last) * exp2(floor(20 * unit(&seed)) - 10);
            x[i] = y[i] * floor(exp2(digits * unit(&seed)));
            x[i] *= 1 + (double)((int)(test_random(&seed) % 5) - 2) * last;
            x[i] = either_sign(&seed, x[i]);
        }
        check(t, "near multiples");
    }
}

/* A scalar, a constant divisor and folding take the same path. */
static void constants(void **state)
{
    (void)state;
    float data[4] = { 1e30f, -7.5f, 3.0f, -0.0f };
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(4), data), *out[3] = { wf_like(a), wf_like(a), wf_like(a) };
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, a);
    wf_out(g, out[0], wf_mod(v, 0.3));
    wf_out(g, out[1], wf_floor_mod(v, -2));
    wf_out(g, out[2], wf_add(wf_mul(v, 0), wf_mod(1e30, -0.3)));
    OK(ctx, wf_run(g));
    EXPECT_F32(out[0], fmodf(1e30f, 0.3f), fmodf(-7.5f, 0.3f), fmodf(3, 0.3f), -0.0f);
    EXPECT_F32(out[1], -0.0f, -1.5f, -1, -0.0f);
    float folded = (float)fmod(1e30, -0.3); /* numbers are computed in double */
    EXPECT_F32(out[2], folded, folded, folded, folded);
    for (int i = 0; i < 3; ++i)
        wf_release(out[i]);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_values), cmocka_unit_test(any_quotient), cmocka_unit_test(small_quotients),
        cmocka_unit_test(near_multiples), cmocka_unit_test(constants),
    };
    return RUN_ON_ALL(tests);
}
