/* test_derivatives_complex.c - derivatives of complex numbers beside differences of <complex.h> in long double: every
 * operation in reverse and forward mode, at points where complex.c chooses between formulas and beyond the range of
 * squares; second derivatives; loops.
 *
 * ctest: devices
 */
#include "wide_complex.h"

/* ---- cases ---- */
typedef struct function {
    const char *name;
    wf_val (*record)(wf_val a, wf_val b);
    wide (*compute)(wide a, wide b);
    bool real;   /* the result is a real number */
    bool second; /* depends on b */
} function;

#define CASE(name, recorded, computed)                                            \
    static wf_val record_##name(wf_val a, wf_val b) { return (void)b, recorded; } \
    static wide compute_##name(wide a, wide b) { return (void)b, computed; }
CASE(add, wf_add(a, b), a + b)
CASE(sub, wf_sub(a, b), a - b)
CASE(mul, wf_mul(a, b), a *b)
CASE(div, wf_div(a, b), a / b)
CASE(div_real, wf_div(a, wf_real(b)), a / creall(b))
CASE(real_div, wf_div(wf_real(a), b), creall(a) / b)
CASE(neg, wf_neg(a), -a)
CASE(conj, wf_conj(a), conjl(a))
CASE(real, wf_real(a), creall(a))
CASE(imag, wf_imag(a), cimagl(a))
CASE(abs, wf_abs(a), cabsl(a))
CASE(phase, wf_phase(a), cargl(a))
CASE(sqrt, wf_sqrt(a), csqrtl(a))
CASE(exp, wf_exp(a), cexpl(a))
CASE(log, wf_log(a), clogl(a))
CASE(rcp, wf_rcp(a), 1 / a)
CASE(pow, wf_pow(a, b), cpowl(a, b))
CASE(pow_real, wf_pow(a, wf_real(b)), cpowl(a, creall(b)))
CASE(square, wf_pow(a, 2), a *a)
CASE(polar, wf_polar(wf_real(a), wf_phase(b)), creall(a) * cexpl(make(0, cargl(b))))
CASE(swap, wf_complex(wf_imag(a), wf_real(a)), make(cimagl(a), creall(a)))
CASE(choice, wf_select(wf_gt(wf_real(a), 0.6), wf_mul(a, a), b), creall(a) > 0.6L ? a * a : b)
CASE(size, wf_mul(wf_abs(a), wf_abs(a)), creall(a) * creall(a) + cimagl(a) * cimagl(a))
CASE(both, wf_add(wf_exp(wf_log(a)), wf_mul(wf_log(a), wf_sqrt(wf_div(b, a)))), a + clogl(a) * csqrtl(b / a))
#define TURN(a) wf_mul(a, wf_complex(0.75, 0.3125)) /* off the branch cuts */
#define TURNED(a) (a * make(0.75L, 0.3125L))
CASE(sin, wf_sin(a), csinl(a))
CASE(cos, wf_cos(a), ccosl(a))
CASE(tan, wf_tan(a), ctanl(a))
CASE(sinh, wf_sinh(a), csinhl(a))
CASE(cosh, wf_cosh(a), ccoshl(a))
CASE(tanh, wf_tanh(a), ctanhl(a))
CASE(asin, wf_asin(TURN(a)), casinl(TURNED(a)))
CASE(acos, wf_acos(TURN(a)), cacosl(TURNED(a)))
CASE(atan, wf_atan(TURN(a)), catanl(TURNED(a)))
CASE(asinh, wf_asinh(TURN(a)), casinhl(TURNED(a)))
CASE(acosh, wf_acosh(TURN(a)), cacoshl(TURNED(a)))
CASE(atanh, wf_atanh(TURN(a)), catanhl(TURNED(a)))
CASE(exp2, wf_exp2(a), cexp2_of(a))
CASE(expm1, wf_expm1(a), cexpm1_of(a))
CASE(log1p, wf_log1p(a), clog1p_of(a))
CASE(log2, wf_log2(a), clog2_of(a))
CASE(log10, wf_log10(a), clog10_of(a))
CASE(sign, wf_sign(a), sign_of(a))
CASE(phase_log, wf_mul(wf_phase(a), wf_log(a)), cargl(a) * clogl(a))
#undef CASE
#define ROW(name, real, second)                            \
    {                                                      \
#name, record_##name, compute_##name, real, second \
    }
static const function functions[] = {
    ROW(add, false, true),        ROW(sub, false, true),      ROW(mul, false, true),     ROW(div, false, true),
    ROW(div_real, false, true),   ROW(real_div, false, true), ROW(neg, false, false),    ROW(conj, false, false),
    ROW(real, true, false),       ROW(imag, true, false),     ROW(abs, true, false),     ROW(phase, true, false),
    ROW(sqrt, false, false),      ROW(exp, false, false),     ROW(log, false, false),    ROW(rcp, false, false),
    ROW(pow, false, true),        ROW(pow_real, false, true), ROW(square, false, false), ROW(polar, false, true),
    ROW(swap, false, false),      ROW(choice, false, true),   ROW(size, true, false),    ROW(both, false, true),
    ROW(phase_log, false, false), ROW(sin, false, false),     ROW(cos, false, false),    ROW(tan, false, false),
    ROW(sinh, false, false),      ROW(cosh, false, false),    ROW(tanh, false, false),   ROW(asin, false, false),
    ROW(acos, false, false),      ROW(atan, false, false),    ROW(asinh, false, false),  ROW(acosh, false, false),
    ROW(atanh, false, false),     ROW(exp2, false, false),    ROW(expm1, false, false),  ROW(log1p, false, false),
    ROW(log2, false, false),      ROW(log10, false, false),   ROW(sign, false, false),
};

/* Real parts first; what halves have, then what floats have, then the rest. */
enum { POINTS = 14, HALVES = 9, FLOATS = 11 };
static const double a_points[POINTS][2] = {
    { 1, 2 },        { -0.75, 0.5 },    { 0.25, -1.5 },      { 2, 0 },    { 0, 1 },
    { 0.625, 0.75 }, { 3, -0.125 },     { 0.5, -0.5 },       { -2, -3 },  { 40, 1 },
    { 0.001, 1000 }, { 1e160, -2e160 }, { -3e-170, 1e-170 }, { 1e-9, 1 },
};
static const double b_points[POINTS][2] = {
    { 0.5, -1 }, { 2, 1 },      { -1.5, 0.25 }, { 1, 3 },  { 2.5, -0.5 },    { 1, 0.0625 },      { -0.5, -2 },
    { 3, 1 },    { 0.75, 0.5 }, { 0.5, 0.25 },  { 1, -1 }, { 2e159, 1e159 }, { 2e-170, 5e-171 }, { 1, 1e-12 },
};

static int points_of(wf_dtype t) { return t == WF_C32 ? HALVES : t == WF_C64 ? FLOATS : POINTS; }

/* ---- differences ---- */
/* Returns the derivative of a function by a part of an operand, by four points: exact to about 1e-14. */
static wide slope(const function *f, const wide x[2], unsigned k, unsigned imag)
{
    long double size = cabsl(x[k]), step = 1e-4L * (size > 1 && size < 1e100L ? 1 : size);
    wide sum = 0;
    for (int i = -2; i <= 2; ++i) {
        static const int weight[] = { 1, -8, 0, 8, -1 };
        wide moved[2] = { x[0], x[1] };
        moved[k] += imag ? make(0, i * step) : make(i * step, 0);
        sum += weight[i + 2] * f->compute(moved[0], moved[1]);
    }
    return sum / (12 * step);
}

/* Derivatives beyond the range of f64 are not compared. */
static void near(const function *f, wf_dtype t, int at, const char *what, double got, long double want,
                 long double size)
{
    long double bound = t == WF_C128 ? 1e-12L : t == WF_C64 ? 1e-5L : 4e-3L;
    bool out_of_range = !(fabsl(want) + size > 1e-300L && fabsl(want) + size < 1e300L);
    if (!(fabsl((long double)got - want) <= bound * (fabsl(want) + size)) && !out_of_range)
        fail_msg("%s %s at point %d, %s: %.17g, not %.17Lg", f->name, wf_dtype_name(t), at, what, got, want);
}

static void one(const function *f, wf_dtype t)
{
    const int n = points_of(t);
    double seed[2 * POINTS], direction[2][2 * POINTS], *got[3];
    uint64_t random = 5;
    for (int i = 0; i < 2 * n; ++i) {
        seed[i] = ldexp(floor(ldexp(test_random_number(&random), 6)) + 0.5, -5);
        direction[0][i] = ldexp(floor(ldexp(test_random_number(&random), 6)) + 0.5, -5);
        direction[1][i] = ldexp(floor(ldexp(test_random_number(&random), 6)) + 0.5, -5);
    }
    const wf_dtype wider = t == WF_C32 ? WF_C64 : t;
    wf_array *a = from_f64(t, WF_SHAPE(n), a_points[0]), *b = from_f64(t, WF_SHAPE(n), b_points[0]);
    wf_array *g = from_f64(f->real ? part(wider) : wider, WF_SHAPE(n), seed);
    wf_array *da = from_f64(wider, WF_SHAPE(n), direction[0]), *db = from_f64(wider, WF_SHAPE(n), direction[1]);
    wf_graph *graph = wf_begin(ctx);
    wf_val x = wf_in(graph, a), y = wf_in(graph, b), r = f->record(x, y), gradient[2], along;
    wf_vjp(WF_VALS(r), WF_VALS(wf_in(graph, g)), WF_VALS(x, y), gradient);
    wf_jvp(WF_VALS(r), WF_VALS(x, y), WF_VALS(wf_in(graph, da), wf_in(graph, db)), &along);
    assert_int_equal(wf_val_dtype(gradient[0]), wider);
    wf_array *out[3];
    for (int k = 0; k < 3; ++k)
        out[k] = wf_keep(k < 2 ? gradient[k] : along);
    OK(ctx, wf_run(graph));
    for (int k = 0; k < 3; ++k)
        got[k] = take_f64(out[k]);
    for (int i = 0; i < n; ++i) {
        const wide at[2] = { make(a_points[i][0], a_points[i][1]), make(b_points[i][0], b_points[i][1]) };
        wide forward = 0;
        long double size = 0;
        const wide upstream = f->real ? make(seed[i], 0) : make(seed[2 * i], seed[2 * i + 1]);
        for (unsigned k = 0; k < 2; ++k)
            for (unsigned imag = 0; imag < 2; ++imag) {
                wide s = k && !f->second ? 0 : slope(f, at, k, imag);
                long double want = creall(upstream) * creall(s) + cimagl(upstream) * cimagl(s);
                long double scale = cabsl(s) + cabsl(f->compute(at[0], at[1])) / cabsl(at[k]);
                near(f, t, i, "reverse", got[k][2 * i + (int)imag], want, cabsl(upstream) * scale);
                forward += (long double)direction[k][2 * i + (int)imag] * s;
                size += fabsl((long double)direction[k][2 * i + (int)imag]) * scale;
            }
        near(f, t, i, "forward", got[2][f->real ? i : 2 * i], creall(forward), size);
        if (!f->real)
            near(f, t, i, "forward, imaginary", got[2][2 * i + 1], cimagl(forward), size);
    }
    for (int k = 0; k < 3; ++k)
        free(got[k]);
    wf_array *all[] = { a, b, g, da, db };
    for (size_t k = 0; k < WF__COUNT(all); ++k)
        wf_release(all[k]);
}

static void operations(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_C128, WF_C64, WF_C32 };
    for (size_t k = 0; k < WF__COUNT(functions); ++k)
        for (size_t i = 0; i < WF__COUNT(dtypes); ++i)
            one(&functions[k], dtypes[i]);
}

/* ---- closed forms ---- */
static void is(wf_array *a, int n, const double *want)
{
    double *got = take_f64(a);
    for (int i = 0; i < 2 * n; ++i)
        if (!(fabs(got[i] - want[i]) <= 1e-12 * (1 + fabs(want[i]))))
            fail_msg("part %d is %.17g, not %.17g", i, got[i], want[i]);
    free(got);
}

/* abs of 0 has no slope; the derivative of the imaginary part of e^z at a real z is e^z. */
static void special_points(void **state)
{
    (void)state;
    const double x[] = { 0, 0, 1, 0, -2, -0.0 }, e = exp(1), small = exp(-2);
    wf_array *a = from_f64(WF_C128, WF_SHAPE(3), x);
    wf_val gradient[3];
    wf_graph *g = wf_begin(ctx);
    wf_val z = wf_in(g, a);
    wf_vjp(WF_VALS(wf_abs(z)), WF_VALS(1), WF_VALS(z), &gradient[0]);
    wf_vjp(WF_VALS(wf_imag(wf_exp(z))), WF_VALS(1), WF_VALS(z), &gradient[1]);
    wf_vjp(WF_VALS(wf_select(wf_ne(z, 0), wf_log(z), 0)), WF_VALS(1), WF_VALS(z), &gradient[2]);
    wf_array *size = wf_keep(gradient[0]), *imag = wf_keep(gradient[1]), *log = wf_keep(gradient[2]);
    OK(ctx, wf_run(g));
    is(size, 3, (const double[]){ 0, 0, 1, 0, -1, 0 });
    is(imag, 3, (const double[]){ 0, 1, 0, e, 0, small });
    is(log, 3, (const double[]){ 0, 0, 1, 0, -0.5, 0 });
    wf_release(a);
}

/* The loss is |z|^2, written in three ways: the gradient is 2 z. Sums and products of all elements. */
static void losses(void **state)
{
    (void)state;
    const double x[] = { 1, 2, -3, 0.5, 0, 1 };
    wf_array *a = from_f64(WF_C128, WF_SHAPE(3), x);
    wf_val gradient[4];
    wf_graph *g = wf_begin(ctx);
    wf_val z = wf_in(g, a), size = wf_abs(z), product = wf_reduce(WF_JOIN_MUL, z, WF_ALL_AXES);
    wf_grad(wf_sum(wf_mul(size, size), WF_ALL_AXES), WF_VALS(z), &gradient[0]);
    wf_grad(wf_real(wf_sum(wf_mul(z, wf_conj(z)), WF_ALL_AXES)), WF_VALS(z), &gradient[1]);
    wf_val re = wf_real(z), im = wf_imag(z);
    wf_grad(wf_sum(wf_fma(re, re, wf_mul(im, im)), WF_ALL_AXES), WF_VALS(z), &gradient[2]);
    wf_grad(wf_real(product), WF_VALS(z), &gradient[3]);
    wf_array *out[4];
    for (int k = 0; k < 4; ++k)
        out[k] = wf_keep(gradient[k]);
    OK(ctx, wf_run(g));
    for (int k = 0; k < 3; ++k)
        is(out[k], 3, (const double[]){ 2, 4, -6, 1, 0, 2 });
    /* conjugates of the products of the others: (-3 + i/2) i, (1 + 2i) i, (1 + 2i) (-3 + i/2) */
    is(out[3], 3, (const double[]){ -0.5, 3, -2, -1, -4, 5.5 });
    wf_release(a);
}

/* Second derivatives in one direction, f''(z): forward mode twice. */
static void twice(void **state)
{
    (void)state;
    const double x[] = { 1, 2, -0.5, 0.75 };
    wf_array *a = from_f64(WF_C128, WF_SHAPE(2), x), *out[6];
    wf_val first, second;
    wf_graph *g = wf_begin(ctx);
    wf_val z = wf_in(g, a), values[6];
    values[0] = wf_exp(z);
    values[1] = wf_log(z);
    values[2] = wf_sqrt(z);
    values[3] = wf_div(1, z);
    values[4] = wf_sin(z);
    values[5] = wf_atanh(z);
    for (int k = 0; k < 6; ++k) {
        wf_jvp(WF_VALS(values[k]), WF_VALS(z), WF_VALS(1), &first);
        wf_jvp(WF_VALS(first), WF_VALS(z), WF_VALS(1), &second);
        out[k] = wf_keep(second);
    }
    OK(ctx, wf_run(g));
    for (int k = 0; k < 6; ++k) {
        double want[4];
        for (int i = 0; i < 2; ++i) {
            wide at = make(x[2 * i], x[2 * i + 1]);
            wide f = k == 0   ? cexpl(at)
                     : k == 1 ? -1 / (at * at)
                     : k == 2 ? -1 / (4 * at * csqrtl(at))
                     : k == 3 ? 2 / (at * at * at)
                     : k == 4 ? -csinl(at)
                              : 2 * at / ((1 - at * at) * (1 - at * at));
            want[2 * i] = (double)creall(f);
            want[2 * i + 1] = (double)cimagl(f);
        }
        is(out[k], 2, want);
    }
    wf_release(a);
}

/* z becomes e^(z / 4) three times, and at last its logarithm is taken: in a loop, in both kinds of recordings. */
static void loops(void **state)
{
    (void)state;
    const double x[] = { 1, 0, -0.5, 0.75 };
    double want[4];
    for (int i = 0; i < 2; ++i) {
        wide at = make(x[2 * i], x[2 * i + 1]), d = 1;
        for (int turn = 0; turn < 3; ++turn) {
            at = cexpl(at / 4);
            d *= at / 4;
        }
        d = conjl(d / at);
        want[2 * i] = (double)creall(d);
        want[2 * i + 1] = (double)cimagl(d);
    }
    for (int space = 0; space < 2; ++space) {
        wf_array *a = from_f64(WF_C128, WF_SHAPE(2), x), *out = wf_like(a);
        wf_graph *g = space ? wf_begin(ctx, .shape = WF_SHAPE(2)) : wf_begin(ctx);
        wf_val z = wf_in(g, a), gradient, i;
        wf_var re = wf_local(g, WF_F64, wf_real(z)), im = wf_local(g, WF_F64, wf_imag(z));
        WF_FOR (g, i, 0, 3, 1) {
            wf_val next = wf_exp(wf_mul(wf_complex(wf_get(re), wf_get(im)), 0.25));
            wf_set(re, wf_real(next));
            wf_set(im, wf_imag(next));
        }
        WF_END(g);
        wf_vjp(WF_VALS(wf_log(wf_complex(wf_get(re), wf_get(im)))), WF_VALS(1), WF_VALS(z), &gradient);
        wf_out(g, out, gradient);
        OK(ctx, wf_run(g));
        is(out, 2, want);
        wf_release(a);
    }
}

static void refused(void **state)
{
    (void)state;
    wf_array *a = from_f64(WF_C128, WF_SHAPE(1), (const double[]){ 1, 2 });
    wf_val gradient;
    wf_graph *g = wf_begin(ctx);
    wf_val z = wf_in(g, a);
    wf_grad(wf_sum(z, WF_ALL_AXES), WF_VALS(z), &gradient);
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "the loss is complex");
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations), cmocka_unit_test(special_points), cmocka_unit_test(losses),
        cmocka_unit_test(twice),      cmocka_unit_test(loops),          cmocka_unit_test(refused),
    };
    return RUN_ON_ALL(tests);
}
