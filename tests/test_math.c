/* test_math.c - the elementary functions on the interpreter and the processor: special values, hard cases from
 * multiple precision (mpmath, 3000 bits), error bounds on dense samples beside the C library in higher precision,
 * symmetry, exactness and monotonicity. test_ops.c compares the two devices bit by bit; tools/ulp.c measures
 * exhaustively.
 */
#include "reference_math.h"
#include "test_math_hard_f32.h"
#include "test_math_hard_f64.h"
#include "weft_test.h"
#include <float.h>

typedef struct function {
    wf_val (*f1)(wf_val);
    wf_val (*f2)(wf_val, wf_val);
    double (*exact1)(double);
    long double (*exact1l)(long double);
    double (*exact2)(double, double);
    long double (*exact2l)(long double, long double);
    double (*size)(double); /* near zeros, errors count in units of the last place of this */
    double bound;           /* ULP */
} function;

#define PI_F32 0x1.921fb6p+1
#define PI_F64 0x1.921fb54442d18p+1

static const function functions[WF__OP_COUNT] = {
    [WF__OP_rcp] = { .f1 = wf_rcp, .exact1 = rcp_d, .exact1l = rcp_l, .bound = 0.5 },
    [WF__OP_rsqrt] = { .f1 = wf_rsqrt, .exact1 = rsqrt_d, .exact1l = rsqrt_l, .bound = 1 },
    [WF__OP_exp] = { .f1 = wf_exp, .exact1 = exp, .exact1l = expl, .bound = 1.5 },
    [WF__OP_exp2] = { .f1 = wf_exp2, .exact1 = exp2, .exact1l = exp2l, .bound = 1.5 },
    [WF__OP_log] = { .f1 = wf_log, .exact1 = log, .exact1l = logl, .bound = 1.5 },
    [WF__OP_log2] = { .f1 = wf_log2, .exact1 = log2, .exact1l = log2l, .bound = 1.5 },
    [WF__OP_sin] = { .f1 = wf_sin, .exact1 = sin, .exact1l = sinl, .bound = 1.5 },
    [WF__OP_cos] = { .f1 = wf_cos, .exact1 = cos, .exact1l = cosl, .bound = 1.5 },
    [WF__OP_tan] = { .f1 = wf_tan, .exact1 = tan, .exact1l = tanl, .bound = 1.5 },
    [WF__OP_atan] = { .f1 = wf_atan, .exact1 = atan, .exact1l = atanl, .bound = 1.5 },
    [WF__OP_tanh] = { .f1 = wf_tanh, .exact1 = tanh, .exact1l = tanhl, .bound = 1.5 },
    [WF__OP_cbrt] = { .f1 = wf_cbrt, .exact1 = cbrt, .exact1l = cbrtl, .bound = 1 },
    [WF__OP_exp10] = { .f1 = wf_exp10, .exact1 = exp10_d, .exact1l = exp10_l, .bound = 1.5 },
    [WF__OP_expm1] = { .f1 = wf_expm1, .exact1 = expm1, .exact1l = expm1l, .bound = 1.5 },
    [WF__OP_log10] = { .f1 = wf_log10, .exact1 = log10, .exact1l = log10l, .bound = 1.5 },
    [WF__OP_log1p] = { .f1 = wf_log1p, .exact1 = log1p, .exact1l = log1pl, .bound = 1.5 },
    [WF__OP_asin] = { .f1 = wf_asin, .exact1 = asin, .exact1l = asinl, .bound = 1.5 },
    [WF__OP_acos] = { .f1 = wf_acos, .exact1 = acos, .exact1l = acosl, .bound = 1.5 },
    [WF__OP_sinh] = { .f1 = wf_sinh, .exact1 = sinh, .exact1l = sinhl, .bound = 1.5 },
    [WF__OP_cosh] = { .f1 = wf_cosh, .exact1 = cosh, .exact1l = coshl, .bound = 1.5 },
    [WF__OP_asinh] = { .f1 = wf_asinh, .exact1 = asinh, .exact1l = asinhl, .bound = 1.5 },
    [WF__OP_acosh] = { .f1 = wf_acosh, .exact1 = acosh, .exact1l = acoshl, .bound = 1.5 },
    [WF__OP_atanh] = { .f1 = wf_atanh, .exact1 = atanh, .exact1l = atanhl, .bound = 1.5 },
    [WF__OP_sinpi] = { .f1 = wf_sinpi, .exact1 = sinpi_d, .exact1l = sinpi_l, .bound = 1.5 },
    [WF__OP_cospi] = { .f1 = wf_cospi, .exact1 = cospi_d, .exact1l = cospi_l, .bound = 1.5 },
    [WF__OP_tanpi] = { .f1 = wf_tanpi, .exact1 = tanpi_d, .exact1l = tanpi_l, .bound = 1.5 },
    [WF__OP_asinpi] = { .f1 = wf_asinpi, .exact1 = asinpi_d, .exact1l = asinpi_l, .bound = 1.5 },
    [WF__OP_acospi] = { .f1 = wf_acospi, .exact1 = acospi_d, .exact1l = acospi_l, .bound = 1.5 },
    [WF__OP_atanpi] = { .f1 = wf_atanpi, .exact1 = atanpi_d, .exact1l = atanpi_l, .bound = 1.5 },
    [WF__OP_sinc] = { .f1 = wf_sinc, .exact1 = sinc_d, .exact1l = sinc_l, .bound = 4 },
    [WF__OP_erf] = { .f1 = wf_erf, .exact1 = erf, .exact1l = erfl, .bound = 4 },
    [WF__OP_erfc] = { .f1 = wf_erfc, .exact1 = erfc, .exact1l = erfcl, .bound = 4 },
    [WF__OP_tgamma] = { .f1 = wf_tgamma, .exact1 = tgamma, .exact1l = tgammal, .bound = 4 },
    [WF__OP_erfinv] = { .f1 = wf_erfinv, .exact1 = erfinv_d, .exact1l = erfinv_l, .bound = 4 },
    [WF__OP_i0] = { .f1 = wf_i0, .exact1 = i0_d, .exact1l = i0_l, .bound = 4 },
    [WF__OP_i1] = { .f1 = wf_i1, .exact1 = i1_d, .exact1l = i1_l, .bound = 4 },
    [WF__OP_lgamma] = { .f1 = wf_lgamma, .exact1 = lgamma, .exact1l = lgammal, .size = lgamma_size, .bound = 4 },
    [WF__OP_digamma] = { .f1 = wf_digamma,
                         .exact1 = digamma_d,
                         .exact1l = digamma_l,
                         .size = digamma_size,
                         .bound = 4 },
    [WF__OP_trigamma] = { .f1 = wf_trigamma, .exact1 = trigamma_d, .exact1l = trigamma_l, .bound = 4 },
    [WF__OP_j0] = { .f1 = wf_j0, .exact1 = j0, .exact1l = j0l, .size = bessel_size, .bound = 4 },
    [WF__OP_j1] = { .f1 = wf_j1, .exact1 = j1, .exact1l = j1l, .size = bessel_size, .bound = 4 },
    [WF__OP_hypot] = { .f2 = wf_hypot, .exact2 = hypot, .exact2l = hypotl, .bound = 2 },
    [WF__OP_atan2pi] = { .f2 = wf_atan2pi, .exact2 = atan2pi_d, .exact2l = atan2pi_l, .bound = 2 },
    [WF__OP_pow] = { .f2 = wf_pow, .exact2 = pow, .exact2l = powl, .bound = 2 },
    [WF__OP_atan2] = { .f2 = wf_atan2, .exact2 = atan2, .exact2l = atan2l, .bound = 2 },
};

static wf_context *ctx;

/* ---- evaluating ---- */
static void convert(wf_dtype to, void *out, wf_dtype from, const void *in, size_t n)
{
    wf__eval_cast(to, from, out, in, n);
}

/* out[i] = op(x[i], y[i]) on numbers that are exact in dtype t. */
static void evaluate(wf_device device, unsigned op, wf_dtype t, const double *x, const double *y, double *out, size_t n)
{
    const double *in[2] = { x, y };
    wf_array *array[2] = { NULL, NULL }, *result = wf_empty_with(ctx, t, WF_SHAPE((int64_t)n), NULL);
    void *data = malloc(n * 8);
    assert_non_null(data);
    wf_graph *g = wf_begin(ctx, .device = device);
    wf_val v[2] = { 0 };
    for (int i = 0; i < (functions[op].f1 ? 1 : 2); ++i) {
        convert(t, data, WF_F64, in[i], n);
        array[i] = array_of(ctx, t, WF_SHAPE((int64_t)n), data);
        v[i] = wf_in(g, array[i]);
    }
    wf_out(g, result, functions[op].f1 ? functions[op].f1(v[0]) : functions[op].f2(v[0], v[1]));
    OK(ctx, wf_run(g));
    free(data);
    data = contents(result);
    convert(WF_F64, out, t, data, n);
    free(data);
    wf_release(result);
    wf_release(array[0]);
    wf_release(array[1]);
}

static double one(wf_device device, unsigned op, wf_dtype t, double x, double y)
{
    double out;
    evaluate(device, op, t, &x, &y, &out, 1);
    return out;
}

/* |got - want| in units of want's last place; infinities count as the first number too large. */
static double ulps(wf_dtype t, long double want, double got, double size)
{
    int e, p = t == WF_F64 ? 53 : 24, floor_e = t == WF_F64 ? -1021 : -125;
    long double over = ldexpl(1, t == WF_F64 ? 1024 : 128), have = (long double)got;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    want = want > over ? over : want < -over ? -over : want;
    have = have > over ? over : have < -over ? -over : have;
    frexpl(size > fabsl(want) ? (long double)size : want, &e);
    return (double)ldexpl(fabsl(have - want), p - (e < floor_e || want == 0 ? floor_e : e));
}

static double size_of(unsigned op, double x) { return functions[op].size ? functions[op].size(x) : 0; }

static void report(wf_dtype t, unsigned op, double x, double y, double got, long double want)
{
    print_error("%s %s(%a, %a) = %a, not %La\n", wf_dtype_name(t), wf__op_table[op].name, x, y, got, want);
}

/* ---- tables ---- */
static void check_special(wf_device device, wf_dtype t, const row *r, double want)
{
    double got = one(device, r->op, t, r->x, r->y);
    bool same = isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want);
    if (!same) {
        report(t, r->op, r->x, r->y, got, (long double)want);
        fail();
    }
}

static void special_values(void **state)
{
    (void)state;
    for (wf_device device = WF_CPU; device <= WF_INTERP; ++device)
        for (wf_dtype t = WF_F32; t <= WF_F64; ++t) {
            for (size_t i = 0; i < WF__COUNT(special_rows); ++i)
                check_special(device, t, &special_rows[i], special_rows[i].want);
            for (size_t i = 0; i < WF__COUNT(angle_rows); ++i) {
                double exact = angle_rows[i].want * (t == WF_F64 ? PI_F64 : PI_F32) / 4;
                check_special(device, t, &angle_rows[i], t == WF_F64 ? exact : (double)(float)exact);
            }
        }
}

/* The expected number is rounded itself. */
static void hard_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < WF__COUNT(hard_f32) + WF__COUNT(hard_f64); ++i) {
        bool wide = i >= WF__COUNT(hard_f32);
        const row *r = wide ? &hard_f64[i - WF__COUNT(hard_f32)] : &hard_f32[i];
        wf_dtype t = wide ? WF_F64 : WF_F32;
        for (wf_device device = WF_CPU; device <= WF_INTERP; ++device) {
            double got = one(device, r->op, t, r->x, r->y);
            if (ulps(t, (long double)r->want, got, size_of(r->op, r->x)) <= functions[r->op].bound + 0.5 &&
                !signbit(got) == !signbit(r->want))
                continue;
            report(t, r->op, r->x, r->y, got, (long double)r->want);
            fail();
        }
    }
}

/* ---- dense samples ---- */
enum { SAMPLES = 1 << 14 };
static double sample_x[SAMPLES], sample_y[SAMPLES], sample_out[SAMPLES];

static double rounded(wf_dtype t, double x) { return t == WF_F64 ? x : (double)(float)x; }

static long double exact(unsigned op, wf_dtype t, double x, double y)
{
    const function *f = &functions[op];
    if (t == WF_F64)
        return f->f1 ? f->exact1l((long double)x) : f->exact2l((long double)x, (long double)y);
    return (long double)(f->f1 ? f->exact1(x) : f->exact2(x, y));
}

static void check_samples(wf_device device, unsigned op, wf_dtype t)
{
    /* f64 needs a long double with more bits as reference, and some tolerance for the error of the reference */
    if (t == WF_F64 && LDBL_MANT_DIG < 64)
        return;
    evaluate(device, op, t, sample_x, sample_y, sample_out, SAMPLES);
    for (size_t i = 0; i < SAMPLES; ++i) {
        long double want = exact(op, t, sample_x[i], sample_y[i]);
        if (ulps(t, want, sample_out[i], size_of(op, sample_x[i])) > functions[op].bound + 0x1p-9) {
            report(t, op, sample_x[i], sample_y[i], sample_out[i], want);
            fail();
        }
    }
}

static void fill(wf_dtype t, uint64_t seed, double low, double high, bool powers)
{
    for (size_t i = 0; i < SAMPLES; ++i) {
        double u = (double)(test_random(&seed) >> 11) * 0x1p-53, v = (double)(test_random(&seed) >> 11) * 0x1p-53;
        double x = low + u * (high - low), y = low + v * (high - low);
        sample_x[i] = rounded(t, powers ? copysign(exp2(fabs(x)), x) : x);
        sample_y[i] = rounded(t, powers ? copysign(exp2(fabs(y)), y) : y);
    }
}

static void error_bounds(void **state)
{
    (void)state;
    for (wf_device device = WF_CPU; device <= WF_INTERP; ++device)
        for (wf_dtype t = WF_F32; t <= WF_F64; ++t) {
            double most = t == WF_F64 ? 1100 : 160;
            for (unsigned op = 0; op < WF__OP_COUNT; ++op) {
                if (!functions[op].f1 || !functions[op].exact1)
                    continue;
                fill(t, op, -4, 4, false);
                check_samples(device, op, t);
                fill(t, op, -12, 12, false);
                check_samples(device, op, t);
                fill(t, op, -most, most, false);
                check_samples(device, op, t);
                fill(t, op, t == WF_F64 ? -900 : -125, t == WF_F64 ? 900 : 125, true); /* huge arguments */
                check_samples(device, op, t);
                for (size_t i = 0; i < SAMPLES; ++i) /* tiny ones */
                    sample_x[i] = rounded(t, 1 / sample_x[i]);
                check_samples(device, op, t);
                fill(t, op, 1 - 0x1p-9, 1 + 0x1p-9, false);
                check_samples(device, op, t);
                fill(t, op, -1, 1, false);
                check_samples(device, op, t);
            }
        }
}

/* Near 0, where lgamma(x) is -log|x|, the sine of the reflection is denormal. */
static void tiny_arguments_of_lgamma(void **state)
{
    (void)state;
    for (wf_device device = WF_CPU; device <= WF_INTERP; ++device)
        for (wf_dtype t = WF_F32; t <= WF_F64; ++t) {
            fill(t, 5, 1, 2, false);
            for (int i = 0; i < SAMPLES; ++i)
                sample_x[i] =
                    rounded(t, ldexp(i % 2 ? sample_x[i] : -sample_x[i], -(i / 2 % (t == WF_F64 ? 1075 : 150))));
            check_samples(device, WF__OP_lgamma, t);
        }
}

static void error_bounds_of_two(void **state)
{
    (void)state;
    for (wf_device device = WF_CPU; device <= WF_INTERP; ++device)
        for (wf_dtype t = WF_F32; t <= WF_F64; ++t) {
            double most = t == WF_F64 ? 1080 : 152;
            fill(t, 1, -5, 5, false);
            check_samples(device, WF__OP_atan2, t);
            check_samples(device, WF__OP_atan2pi, t);
            check_samples(device, WF__OP_hypot, t);
            for (size_t i = 0; i < SAMPLES; ++i)
                sample_x[i] = fabs(sample_x[i]);
            check_samples(device, WF__OP_pow, t);
            fill(t, 2, -100, 100, true);
            check_samples(device, WF__OP_atan2, t);
            check_samples(device, WF__OP_atan2pi, t);
            check_samples(device, WF__OP_hypot, t);
            fill(t, 3, t == WF_F64 ? 1000 : 120, t == WF_F64 ? 1023 : 127, true);
            check_samples(device, WF__OP_hypot, t);
            fill(t, 4, t == WF_F64 ? -1074 : -149, t == WF_F64 ? -1000 : -120, false);
            for (size_t i = 0; i < SAMPLES; ++i)
                sample_x[i] = rounded(t, exp2(sample_x[i])), sample_y[i] = rounded(t, exp2(sample_y[i]));
            check_samples(device, WF__OP_hypot, t);
            fill(t, 2, -100, 100, true);
            for (size_t i = 0; i < SAMPLES; ++i) { /* results over the whole range */
                sample_x[i] = i % 2 ? fabs(sample_x[i]) : rounded(t, 1 + ((double)i - SAMPLES / 2) * 0x1p-20);
                sample_y[i] =
                    rounded(t, (2 * (double)i / SAMPLES - 1) * most / log2(sample_x[i] == 1 ? 2 : sample_x[i]));
            }
            check_samples(device, WF__OP_pow, t);
        }
}

/* Every function of floats that is expanded has an error bound here, unless it is exact: see test_ops_exact.c and
 * test_float_remainder.c. */
static void all_have_bounds(void **state)
{
    static const bool is_exact[WF__OP_COUNT] = {
        [WF__OP_sign] = true,      [WF__OP_signbit] = true,   [WF__OP_frexp] = true,
        [WF__OP_frexp_exp] = true, [WF__OP_floor_mod] = true, [WF__OP_ldexp] = true,
        [WF__OP_nextafter] = true, [WF__OP_clamp] = true,     [WF__OP_mod] = true,
    };
    (void)state;
    for (unsigned op = 0; op < WF__OP_COUNT; ++op) {
        const function *f = &functions[op];
        bool known = f->bound > 0 && (f->f1 ? f->exact1 && f->exact1l : f->f2 && f->exact2 && f->exact2l);
        if (known || is_exact[op] || !wf__op_expands(op, WF_F64) || wf__op_table[op].types == WF__T_INT)
            continue;
        print_error("%s: no row in the table of functions\n", wf__op_table[op].name);
        fail();
    }
}

/* Every function with an error bound has rows for NaN and an infinity among the special values. */
static void all_have_special_values(void **state)
{
    bool nan[WF__OP_COUNT] = { false }, infinity[WF__OP_COUNT] = { false };
    (void)state;
    for (size_t i = 0; i < WF__COUNT(special_rows) + WF__COUNT(angle_rows); ++i) {
        bool angle = i >= WF__COUNT(special_rows);
        const row *r = angle ? &angle_rows[i - WF__COUNT(special_rows)] : &special_rows[i];
        nan[r->op] |= isnan(r->x) || isnan(r->y);
        infinity[r->op] |= isinf(r->x) || isinf(r->y);
    }
    for (unsigned op = 0; op < WF__OP_COUNT; ++op)
        if (functions[op].bound > 0 && !(nan[op] && infinity[op])) {
            print_error("%s: no row in test_math_rows.h for %s\n", wf__op_table[op].name,
                        nan[op] ? "an infinity" : "NaN");
            fail();
        }
}

/* ---- structure ---- */
static void symmetry_and_range(void **state)
{
    static const struct {
        unsigned op;
        bool even;
        double most; /* |result| */
    } rules[] = {
        { WF__OP_sin, false, 1 },          { WF__OP_cos, true, 1 },           { WF__OP_tan, false, INFINITY },
        { WF__OP_atan, false, 1.571 },     { WF__OP_tanh, false, 1 },         { WF__OP_cbrt, false, INFINITY },
        { WF__OP_asin, false, 1.571 },     { WF__OP_sinh, false, INFINITY },  { WF__OP_cosh, true, INFINITY },
        { WF__OP_asinh, false, INFINITY }, { WF__OP_atanh, false, INFINITY }, { WF__OP_sinpi, false, 1 },
        { WF__OP_cospi, true, 1 },         { WF__OP_tanpi, false, INFINITY }, { WF__OP_asinpi, false, 0.5 },
        { WF__OP_atanpi, false, 0.5 },     { WF__OP_sinc, true, 1 },          { WF__OP_i0, true, INFINITY },
        { WF__OP_i1, false, INFINITY }
    };
    static double flipped[SAMPLES];
    (void)state;
    for (wf_dtype t = WF_F32; t <= WF_F64; ++t)
        for (size_t k = 0; k < WF__COUNT(rules); ++k)
            for (int powers = 0; powers < 2; ++powers) {
                fill(t, k, powers ? -100 : -8, powers ? 100 : 8, powers);
                evaluate(WF_CPU, rules[k].op, t, sample_x, sample_y, sample_out, SAMPLES);
                for (size_t i = 0; i < SAMPLES; ++i)
                    sample_x[i] = -sample_x[i];
                evaluate(WF_CPU, rules[k].op, t, sample_x, sample_y, flipped, SAMPLES);
                for (size_t i = 0; i < SAMPLES; ++i) {
                    double mirrored = rules[k].even ? sample_out[i] : -sample_out[i];
                    assert_true(flipped[i] == mirrored || (isnan(flipped[i]) && isnan(mirrored)));
                    assert_false(fabs(flipped[i]) > rules[k].most);
                }
            }
}

/* 2^n and log2(2^n) are exact, denormals included. */
static void exact_powers(void **state)
{
    (void)state;
    for (wf_dtype t = WF_F32; t <= WF_F64; ++t) {
        int low = t == WF_F64 ? -1074 : -149, high = t == WF_F64 ? 1023 : 127;
        size_t n = (size_t)(high - low + 1);
        for (size_t i = 0; i < n; ++i) {
            sample_x[i] = low + (int)i;
            sample_y[i] = 2;
        }
        evaluate(WF_CPU, WF__OP_exp2, t, sample_x, sample_y, sample_out, n);
        for (size_t i = 0; i < n; ++i)
            assert_true(sample_out[i] == ldexp(1, low + (int)i));
        evaluate(WF_CPU, WF__OP_pow, t, sample_y, sample_x, sample_out, n);
        for (size_t i = 0; i < n; ++i)
            assert_true(sample_out[i] == ldexp(1, low + (int)i));
        evaluate(WF_CPU, WF__OP_log2, t, sample_out, sample_y, sample_y, n);
        for (size_t i = 0; i < n; ++i)
            assert_true(sample_y[i] == sample_x[i]);
    }
}

/* log10(10^n), cbrt(n^3) and hypot of Pythagorean triples are exact. */
static void exact_others(void **state)
{
    (void)state;
    for (wf_dtype t = WF_F32; t <= WF_F64; ++t) {
        size_t n = t == WF_F64 ? 23 : 11;
        double power = 1;
        for (size_t i = 0; i < n; ++i, power *= 10)
            sample_x[i] = power;
        evaluate(WF_CPU, WF__OP_log10, t, sample_x, sample_y, sample_out, n);
        for (size_t i = 0; i < n; ++i)
            assert_true(sample_out[i] == (double)i);
        n = t == WF_F64 ? 10000 : 255;
        for (size_t i = 0; i < n; ++i)
            sample_x[i] = (double)(i * i * i);
        evaluate(WF_CPU, WF__OP_cbrt, t, sample_x, sample_y, sample_out, n);
        for (size_t i = 0; i < n; ++i)
            assert_true(sample_out[i] == (double)i);
        for (size_t i = 0; i < n; ++i)
            sample_x[i] = 3 * (double)i, sample_y[i] = -4 * (double)i;
        evaluate(WF_CPU, WF__OP_hypot, t, sample_x, sample_y, sample_out, n);
        for (size_t i = 0; i < n; ++i)
            assert_true(sample_out[i] == 5 * (double)i);
    }
}

/* Steps of 8 ulps around the places where an expansion changes from one formula to another. */
static void monotonic(void **state)
{
    static const row places[] = {
        { WF__OP_exp, 0.34657359, 1, 0 },   { WF__OP_exp, -0.34657359, 1, 0 },   { WF__OP_exp2, 0.5, 1, 0 },
        { WF__OP_exp2, -0.5, 1, 0 },        { WF__OP_log, 0.70710678, 1, 0 },    { WF__OP_log, 1.41421356, 1, 0 },
        { WF__OP_log2, 0.70710678, 1, 0 },  { WF__OP_log2, 1.41421356, 1, 0 },   { WF__OP_sin, 0.78539816, 1, 0 },
        { WF__OP_cos, 0.78539816, -1, 0 },  { WF__OP_tan, 0.78539816, 1, 0 },    { WF__OP_atan, 1, 1, 0 },
        { WF__OP_tanh, 0.8, 1, 0 },         { WF__OP_asin, 0.5, 1, 0 },          { WF__OP_acos, 0.5, -1, 0 },
        { WF__OP_acos, -0.5, -1, 0 },       { WF__OP_sinh, 0.34657359, 1, 0 },   { WF__OP_cosh, 0.34657359, 1, 0 },
        { WF__OP_asinh, 0.5, 1, 0 },        { WF__OP_acosh, 1.5, 1, 0 },         { WF__OP_atanh, 0.5, 1, 0 },
        { WF__OP_expm1, 0.34657359, 1, 0 }, { WF__OP_expm1, -0.3465735, 1, 0 },  { WF__OP_log1p, 0.41421356, 1, 0 },
        { WF__OP_log1p, -0.292893, 1, 0 },  { WF__OP_cbrt, 0.70710678, 1, 0 },   { WF__OP_cbrt, 1.41421356, 1, 0 },
        { WF__OP_sinpi, 0.25, 1, 0 },       { WF__OP_tanpi, 0.25, 1, 0 },        { WF__OP_asinpi, 0.5, 1, 0 },
        { WF__OP_digamma, 1, 1, 0 },        { WF__OP_digamma, 1.4616321, 1, 0 }, { WF__OP_digamma, 2.25, 1, 0 },
        { WF__OP_trigamma, 1, -1, 0 },      { WF__OP_trigamma, 2, -1, 0 }
    };
    (void)state;
    for (wf_dtype t = WF_F32; t <= WF_F64; ++t)
        for (size_t k = 0; k < WF__COUNT(places); ++k) {
            double step = (t == WF_F64 ? 0x1p-53 : 0x1p-24) * 8 * fabs(places[k].x);
            for (size_t i = 0; i < SAMPLES; ++i)
                sample_x[i] = rounded(t, places[k].x + ((double)i - SAMPLES / 2) * step);
            evaluate(WF_CPU, places[k].op, t, sample_x, sample_y, sample_out, SAMPLES);
            for (size_t i = 1; i < SAMPLES; ++i)
                assert_true((sample_out[i] - sample_out[i - 1]) * places[k].y >= 0);
        }
}

/* ---- exponentials of arguments that are never positive: another expansion, the same bits ---- */
static wf_val minus_square(wf_val x) { return wf_neg(wf_mul(x, x)); }
static wf_val scaled_square(wf_val x) { return wf_mul(wf_mul(-0.5, x), x); }
static wf_val square_over(wf_val x) { return wf_div(wf_mul(x, x), -3); }
static wf_val mixed(wf_val x) { return wf_sub(wf_mul(x, wf_neg(x)), wf_abs(x)); }
static wf_val may_be_positive(wf_val x) { return wf_sub(wf_mul(x, wf_neg(x)), x); }

static void negated_squares(void **state)
{
    static wf_val (*const inner[])(wf_val) = { minus_square, scaled_square, square_over, mixed, may_be_positive };
    static wf_val (*const outer[])(wf_val) = { wf_exp, wf_exp2 };
    (void)state;
    for (wf_dtype t = WF_F32; t <= WF_F64; ++t)
        for (size_t k = 0; k < WF__COUNT(inner) * WF__COUNT(outer); ++k) {
            wf_val (*in)(wf_val) = inner[k / WF__COUNT(outer)], (*out)(wf_val) = outer[k % WF__COUNT(outer)];
            fill(t, k, -40, 40, false);
            sample_x[0] = 0, sample_x[1] = -0.0, sample_x[2] = INFINITY, sample_x[3] = NAN, sample_x[4] = -INFINITY;
            void *data = malloc(sizeof sample_x);
            assert_non_null(data);
            convert(t, data, WF_F64, sample_x, SAMPLES);
            wf_array *x = array_of(ctx, t, WF_SHAPE(SAMPLES), data), *between = wf_like(x), *direct = wf_like(x);
            wf_graph *g = wf_begin(ctx);
            wf_val argument = in(wf_in(g, x));
            wf_out(g, between, argument);
            wf_out(g, direct, out(argument));
            OK(ctx, wf_run(g));
            wf_array *again = wf_like(x);
            g = wf_begin(ctx);
            wf_out(g, again, out(wf_in(g, between)));
            OK(ctx, wf_run(g));
            void *a = contents(direct), *b = contents(again);
            assert_int_equal(first_difference(t, a, b, SAMPLES), -1);
            free(a);
            free(b);
            free(data);
            wf_release(x);
            wf_release(between);
            wf_release(direct);
            wf_release(again);
        }
}

/* Constant arguments are folded by the same meaning. */
static void folded(void **state)
{
    (void)state;
    for (size_t i = 0; i < WF__COUNT(hard_f64); ++i) {
        const row *r = &hard_f64[i];
        wf__ir ir;
        wf__ir_init(&ir, 0, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
        wf__ref x = wf__const_f64(&ir, WF_F64, r->x), y = wf__const_f64(&ir, WF_F64, r->y);
        wf__ref z = functions[r->op].f1 ? wf__op1(&ir, r->op, x) : wf__op2(&ir, r->op, x, y);
        assert_int_equal(wf__at(&ir, z)->op, WF__CONST);
        uint64_t bits = wf__bits(wf__at(&ir, z));
        double got;
        memcpy(&got, &bits, sizeof got);
        double want = one(WF_INTERP, r->op, WF_F64, r->x, r->y);
        assert_true(got == want || (isnan(got) && isnan(want)));
        wf__ir_free(&ir);
    }
}

/* Both from one call, the same values as one by one. */
static void sine_and_cosine(void **state)
{
    (void)state;
    for (wf_dtype t = WF_F32; t <= WF_F64; ++t) {
        fill(t, t, -1e3, 1e3, false);
        void *data = malloc(sizeof sample_x);
        assert_non_null(data);
        convert(t, data, WF_F64, sample_x, SAMPLES);
        wf_array *x = array_of(ctx, t, WF_SHAPE(SAMPLES), data), *out[4];
        for (int i = 0; i < 4; ++i)
            out[i] = wf_like(x);
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, x), sine, cosine;
        wf_sincos(v, &sine, &cosine);
        wf_out(g, out[0], sine);
        wf_out(g, out[1], cosine);
        OK(ctx, wf_run(g));
        g = wf_begin(ctx);
        v = wf_in(g, x);
        wf_out(g, out[2], wf_sin(v));
        wf_out(g, out[3], wf_cos(v));
        OK(ctx, wf_run(g));
        for (int i = 0; i < 2; ++i) {
            void *a = contents(out[i]), *b = contents(out[i + 2]);
            assert_int_equal(first_difference(t, a, b, SAMPLES), -1);
            free(a);
            free(b);
        }
        for (int i = 0; i < 4; ++i)
            wf_release(out[i]);
        wf_release(x);
        free(data);
    }
}

static int open_context(void **state)
{
    (void)state;
    ctx = test_context(WF_CPU, 1);
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    wf_context_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_values),      cmocka_unit_test(hard_values),
        cmocka_unit_test(error_bounds),        cmocka_unit_test(tiny_arguments_of_lgamma),
        cmocka_unit_test(error_bounds_of_two), cmocka_unit_test(symmetry_and_range),
        cmocka_unit_test(exact_powers),        cmocka_unit_test(exact_others),
        cmocka_unit_test(monotonic),           cmocka_unit_test(folded),
        cmocka_unit_test(negated_squares),     cmocka_unit_test(sine_and_cosine),
        cmocka_unit_test(all_have_bounds),     cmocka_unit_test(all_have_special_values),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
