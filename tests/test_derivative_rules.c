/* test_derivative_rules.c - the derivative of every operation, in both directions, beside differences of sixth order of
 * the functions of the C library in long double, and special values.
 *
 * ctest: values
 */
#include "on_devices.h"
#include "reference_math.h"

typedef long double real;
static const real pi = 3.141592653589793238462643383279502884L;

/* ---- functions of the C library ---- */
static real f_neg(real a) { return -a; }
static real f_rsqrt(real a) { return 1 / sqrtl(a); }
static real f_rcp(real a) { return 1 / a; }
static real f_exp10(real a) { return powl(10, a); }
static real f_sinpi(real a) { return sinl(pi * a); }
static real f_cospi(real a) { return cosl(pi * a); }
static real f_tanpi(real a) { return tanl(pi * a); }
static real f_asinpi(real a) { return asinl(a) / pi; }
static real f_acospi(real a) { return acosl(a) / pi; }
static real f_atanpi(real a) { return atanl(a) / pi; }
static real f_sinc(real a) { return a == 0 ? 1 : sinl(pi * a) / (pi * a); }
static real f_erfinv(real a)
{
    real x = 0;
    for (int i = 0; i < 200; ++i) {
        real step = (erfl(x) - a) / (2 / sqrtl(pi) * expl(-x * x));
        x -= fabsl(step) > 0.5L ? copysignl(0.5L, step) : step;
    }
    return x;
}
static real f_j0(real a) { return j0l(a); }
static real f_j1(real a) { return j1l(a); }
static real f_frexp(real a)
{
    int e;
    return frexpl(a, &e);
}

typedef wf_val one_operand(wf_val a);
static const struct {
    const char *name;
    one_operand *op;
    real (*f)(real);
    double at[8]; /* operands; a 0 ends the list, unless it comes first */
    double step;  /* of the differences, relative to |a| between 1e-3 and 1; below 0: to |a| */
} unary[] = {
#define ROW(name, function, step, ...)                      \
    {                                                       \
#name, (wf_##name), function, { __VA_ARGS__ }, step \
    }
    ROW(neg, f_neg, 1e-3, 1.5, -2),
    ROW(abs, fabsl, 1e-3, 1.5, -2),
    ROW(sqrt, sqrtl, -1e-3, 2, 1e-8, 1e20),
    ROW(rsqrt, f_rsqrt, -1e-3, 2, 1e-8, 1e20),
    ROW(cbrt, cbrtl, -1e-3, 2, -3, 1e-8),
    ROW(rcp, f_rcp, -1e-3, 2, -3, 1e-8),
    ROW(exp, expl, 1e-3, 1e-8, -1e-8, 1, -20, 40),
    ROW(exp2, exp2l, 1e-3, 1e-8, 1.3, -20, 40),
    ROW(exp10, f_exp10, 3e-4, 1e-8, 1.3, -5, 12),
    ROW(expm1, expm1l, 1e-3, 1e-8, -1e-8, 1, -10, 40),
    ROW(log, logl, -1e-3, 1e-8, 0.9, 7, 1e20),
    ROW(log2, log2l, -1e-3, 1e-8, 0.9, 7, 1e20),
    ROW(log10, log10l, -1e-3, 1e-8, 0.9, 7, 1e20),
    ROW(log1p, log1pl, 1e-3, 1e-8, -1e-8, -0.9, 7, 300),
    ROW(sin, sinl, 1e-3, 1e-8, 1, -2, 40),
    ROW(cos, cosl, 1e-3, 1e-2, 1, -2, 40),
    ROW(tan, tanl, 1e-4, 1e-8, 1, -2, 4.6),
    ROW(asin, asinl, 1e-4, 1e-8, 0.5, -0.99),
    ROW(acos, acosl, 1e-4, 1e-8, 0.5, -0.99),
    ROW(atan, atanl, -1e-3, 1e-8, 1, -40, 1e4),
    ROW(sinpi, f_sinpi, 3e-4, 1e-8, 0.3, -1.7, 10.2),
    ROW(cospi, f_cospi, 3e-4, 1e-2, 0.3, -1.7, 10.2),
    ROW(tanpi, f_tanpi, 1e-4, 1e-8, 0.3, -0.7, 2.2),
    ROW(asinpi, f_asinpi, 1e-4, 1e-8, 0.5, -0.99),
    ROW(acospi, f_acospi, 1e-4, 1e-8, 0.5, -0.99),
    ROW(atanpi, f_atanpi, -1e-3, 1e-8, 1, -40),
    ROW(sinc, f_sinc, 3e-3, 0.01, 0.1, -0.159, 0.161, 0.5, -1.7, 3.3),
    ROW(sinh, sinhl, 1e-3, 1e-8, 1, -20, 40),
    ROW(cosh, coshl, 1e-3, 1e-2, 1, -20, 40),
    ROW(tanh, tanhl, 1e-3, 1e-8, 1, -4),
    ROW(erf, erfl, 1e-3, 1e-8, 1, -2, 3),
    ROW(erfc, erfcl, 1e-3, 1e-8, 1, -2, 3, 5),
    ROW(erfinv, f_erfinv, 1e-3, 1e-2, 0.5, -0.9),
    ROW(j0, f_j0, 1e-3, 1e-2, 1, -2, 15),
    ROW(j1, f_j1, 1e-3, 1e-8, 1, -2, 15),
    ROW(i0, i0_l, 1e-3, 1e-2, 1, -2, 15),
    ROW(i1, i1_l, 1e-3, 1e-8, 1, -2, 15),
    ROW(tgamma, tgammal, -1e-3, 1e-2, 0.5, 3, 9.5, -1.5, -2.3),
    ROW(lgamma, lgammal, -1e-3, 1e-2, 0.5, 3, 9.5, -1.4, -2.3),
    ROW(digamma, digamma_l, -1e-3, 1e-2, 0.5, 1.46, 3, 9.5, -1.5, -2.3),
    ROW(frexp, f_frexp, 1e-4, 0.7, 3, -40),
    ROW(asinh, asinhl, -1e-3, 1e-8, 1, -40, 1e10),
    ROW(acosh, acoshl, -1e-3, 1.5, 40, 1e10),
    ROW(atanh, atanhl, 1e-4, 1e-8, 0.5, -0.99),
#undef ROW
};

/* Derivative by differences of sixth order. */
static real slope(real (*f)(real), real a, double relative)
{
    const real h = relative < 0 ? -relative * fabsl(a) : relative * fminl(fmaxl(fabsl(a), 1e-3L), 1);
    real a1 = f(a + h) - f(a - h), a2 = f(a + 2 * h) - f(a - 2 * h), a3 = f(a + 3 * h) - f(a - 3 * h);
    return (45 * a1 - 9 * a2 + a3) / (60 * h);
}

static double element(wf_array *a)
{
    double *x = contents_as(a, WF_F64), first = x[0];
    free(x);
    wf_release(a);
    return first;
}

static void compare(const char *name, const char *how, wf_dtype dtype, double at, double got, real want)
{
    double tolerance = dtype == WF_F64 ? 2e-11 : dtype == WF_F32 ? 2e-6 : 4e-2;
    if (!(fabsl(got - want) <= tolerance * fabsl(want)))
        fail_msg("%s %s of %s at %.17g: %.17g, should be %.17Lg", how, wf_dtype_name(dtype), name, at, got, want);
}

static void operations_of_one(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_F64, WF_F32, WF_F16 };
    for (size_t k = 0; k < sizeof unary / sizeof *unary; ++k)
        for (int t = 0; t < 3; ++t)
            for (int i = 0; i < 8 && (i == 0 || unary[k].at[i] != 0); ++i) {
                double x = unary[k].at[i];
                if (t && (fabs(x) > 30 || fabs(x) < 1e-6)) /* results are out of range, or the operand is rounded */
                    continue;
                wf_array *exact = array_of(ctx, WF_F64, WF_SHAPE(1), &x), *a;
                wf_graph *g = wf_begin(ctx);
                a = wf_keep(wf_cast(wf_in(g, exact), dtypes[t]));
                OK(ctx, wf_run(g));
                double *rounded = contents_as(a, WF_F64);
                x = rounded[0];
                free(rounded);
                g = wf_begin(ctx);
                wf_val v = wf_in(g, a), y = unary[k].op(v), back, along;
                wf_vjp(WF_VALS(y), WF_VALS(1), WF_VALS(v), &back);
                wf_jvp(WF_VALS(y), WF_VALS(v), WF_VALS(1), &along);
                wf_array *reverse = wf_keep(back), *forward = wf_keep(along);
                OK(ctx, wf_run(g));
                real want = slope(unary[k].f, x, unary[k].step);
                if (dtypes[t] == WF_F16 && fabsl(want) > 6e4L) {
                    wf_release(reverse);
                    wf_release(forward);
                } else {
                    compare(unary[k].name, "reverse", dtypes[t], x, element(reverse), want);
                    compare(unary[k].name, "forward", dtypes[t], x, element(forward), want);
                }
                wf_release(a);
                wf_release(exact);
            }
}

/* ---- several operands: closed forms ---- */
static void expect(const char *what, double got, double want)
{
    bool same = isnan(want)   ? isnan(got)
                : isinf(want) ? got == want
                              : fabs(got - want) <= 1e-13 * fmax(fabs(want), 1e-300);
    if (!same)
        fail_msg("%s: %.17g, should be %.17g", what, got, want);
}

typedef wf_val two_operands(wf_val a, wf_val b);
static void operations_of_two(void **state)
{
    (void)state;
    static const double inf = INFINITY;
    static const struct {
        const char *name;
        two_operands *op;
        double a, b, da, db;
    } rows[] = {
#define ROW(name, a, b, da, db) { #name "(" #a ", " #b ")", (wf_##name), a, b, da, db }
        ROW(add, 2, 3, 1, 1),
        ROW(sub, 2, 3, 1, -1),
        ROW(mul, 2, 3, 3, 2),
        ROW(div, 2, 4, 0.25, -0.125),
        ROW(mod, 7.5, 2, 1, -3),
        ROW(mod, -7.5, 2, 1, 3),
        ROW(floor_mod, 7.5, 2, 1, -3),
        ROW(floor_mod, -7.5, 2, 1, 4),
        ROW(min, 1, 2, 1, 0),
        ROW(min, 2, 2, 0.5, 0.5),
        ROW(min, NAN, 2, 1, 0),
        ROW(max, 1, 2, 0, 1),
        ROW(max, 2, 2, 0.5, 0.5),
        ROW(max, 2, NAN, 0, 1),
        ROW(fmin, 1, NAN, 1, 0),
        ROW(fmin, 3, 2, 0, 1),
        ROW(fmax, NAN, 2, 0, 1),
        ROW(fmax, 2, 2, 0.5, 0.5),
        ROW(pow, 2, 3, 12, 5.545177444479562475),
        ROW(pow, 2, -1.5, -0.26516504294495532165, 0.24506453586713679),
        ROW(pow, 0, 2, 0, 0),
        ROW(pow, 0, 1, 1, 0),
        ROW(pow, 0, 0, 0, 0),
        ROW(pow, 0, 0.5, inf, 0),
        ROW(pow, -2, 2, -4, NAN),
        ROW(pow, 1e-30, 2, 2e-30, 1e-60 * -69.07755278982137052),
        ROW(atan2, 1, 2, 0.4, -0.2),
        ROW(atan2, 0, 0, 0, 0),
        ROW(atan2, 1e-200, 1e-200, 5e199, -5e199),
        ROW(atan2, 1e200, 1e200, 5e-201, -5e-201),
        ROW(atan2, 1, inf, 0, 0),
        ROW(atan2pi, 1, 2, 0.12732395447351626862, -0.06366197723675813431),
        ROW(hypot, 3, 4, 0.6, 0.8),
        ROW(hypot, 0, 0, 0, 0),
        ROW(hypot, -inf, 1, -1, 0),
        ROW(copysign, 2, -3, -1, 0),
        ROW(copysign, -2, -3, 1, 0),
        ROW(nextafter, 2, 3, 1, 0),
        ROW(ldexp, 1.5, 3, 8, 0),
#undef ROW
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(1), &rows[k].a),
                 *b = array_of(ctx, WF_F64, WF_SHAPE(1), &rows[k].b);
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, a), y = wf_in(g, b), r = rows[k].op(x, y), back[2], along[2];
        wf_vjp(WF_VALS(r), WF_VALS(1), WF_VALS(x, y), back);
        wf_jvp(WF_VALS(r), WF_VALS(x), WF_VALS(1), &along[0]);
        wf_jvp(WF_VALS(r), WF_VALS(y), WF_VALS(1), &along[1]);
        wf_array *kept[4] = { wf_keep(back[0]), wf_keep(back[1]), wf_keep(along[0]), wf_keep(along[1]) };
        OK(ctx, wf_run(g));
        for (int i = 0; i < 4; ++i)
            expect(rows[k].name, element(kept[i]), i % 2 ? rows[k].db : rows[k].da);
        wf_release(a);
        wf_release(b);
    }
}

static void operations_of_three(void **state)
{
    (void)state;
    static const struct {
        double a, b, c, want[3];
    } clamps[] = { { 2, 1, 3, { 1, 0, 0 } }, { 1, 1, 3, { 1, 0, 0 } }, { 3, 1, 3, { 1, 0, 0 } },
                   { 0, 1, 3, { 0, 1, 0 } }, { 4, 1, 3, { 0, 0, 1 } }, { 2, 5, 3, { 0, 0, 1 } } };
    for (size_t k = 0; k < sizeof clamps / sizeof *clamps + 1; ++k) {
        bool product = k == sizeof clamps / sizeof *clamps;
        const double at[3] = { product ? 2 : clamps[k].a, product ? 3 : clamps[k].b, product ? 4 : clamps[k].c };
        static const double of_fma[3] = { 3, 2, 1 };
        wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(3), at);
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, x), a = wf_slice(v, 0, 0, 1, 1), b = wf_slice(v, 0, 1, 2, 1), c = wf_slice(v, 0, 2, 3, 1),
               back;
        wf_vjp(WF_VALS(product ? wf_fma(a, b, c) : wf_clamp(a, b, c)), WF_VALS(1), WF_VALS(v), &back);
        wf_array *out = wf_keep(back);
        OK(ctx, wf_run(g));
        double *got = contents(out);
        for (int i = 0; i < 3; ++i)
            expect(product ? "fma" : "clamp", got[i], product ? of_fma[i] : clamps[k].want[i]);
        free(got);
        wf_release(out);
        wf_release(x);
    }
}

/* Where the slope is infinite or unknown, but nothing depends on the result, the derivative is 0. */
static void edges(void **state)
{
    (void)state;
    static const struct {
        one_operand *op;
        double at;
    } rows[] = { { (wf_sqrt), 0 },  { (wf_sqrt), -1 }, { (wf_log), 0 },  { (wf_log), -1 },
                 { (wf_rcp), 0 },   { (wf_rsqrt), 0 }, { (wf_asin), 1 }, { (wf_acos), -1 },
                 { (wf_atanh), 1 }, { (wf_acosh), 1 }, { (wf_cbrt), 0 } };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        for (int zero_seed = 0; zero_seed < 2; ++zero_seed) {
            wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(1), &rows[k].at);
            wf_graph *g = wf_begin(ctx);
            wf_val v = wf_in(g, a), y = rows[k].op(v), back;
            if (!zero_seed)
                y = wf_select(wf_gt(v, 5), y, 0);
            wf_vjp(WF_VALS(y), WF_VALS(zero_seed ? 0 : 1), WF_VALS(v), &back);
            wf_array *out = wf_keep(back);
            OK(ctx, wf_run(g));
            expect("an edge", element(out), 0);
            wf_release(a);
        }
}

/* Steps have no slope, and what has none is not followed. */
static void steps(void **state)
{
    (void)state;
    static one_operand *const ops[] = { (wf_floor), (wf_ceil), (wf_round), (wf_trunc), (wf_sign), (wf_frexp_exp) };
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(2), (const double[]){ 1.25, -2 });
    for (size_t k = 0; k < sizeof ops / sizeof *ops; ++k) {
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a), y = ops[k](v), back;
        assert_false(wf_depends(y, WF_VALS(v)));
        wf_vjp(WF_VALS(wf_add(y, wf_cast(wf_cast(v, WF_I32), WF_F64))), WF_VALS(1), WF_VALS(v), &back);
        wf_array *out = wf_keep(back);
        OK(ctx, wf_run(g));
        expect("a step", element(out), 0);
    }
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_of_one),
        cmocka_unit_test(operations_of_two),
        cmocka_unit_test(operations_of_three),
        cmocka_unit_test(edges),
        cmocka_unit_test(steps),
    };
    return RUN_ON_CPU(tests);
}
