/* ulp.c - how accurate the library's functions are, against MPFR.
 *
 *   cmake --build build --target ulp
 *   build/ulp [--sample stride] [-n samples] [-t threads] [-i] [-3 | -6] [--range low,high] [--markdown] [function ...]
 *
 * f32 functions of one argument: every stride-th of all 2^32 arguments (default 64; --sample 1 is exhaustive and takes
 * half a minute for most functions, some minutes for gamma and Bessel functions). All others: `samples` arguments
 * (default 2^20), drawn from all bit patterns, from the function's domain, from powers of two, from around 1, 1/2 and
 * 1/4, and from where it is hard: near multiples of pi/2, results near overflow and among the denormals. -i: by the
 * interpreter. -3, -6: f32 or f64 only. --range: samples of one-argument functions are uniform between low and high.
 * --markdown: as the table of docs/accuracy.md.
 *
 * An error is |result - exact| in units of the last place of the exact value: 2^(e-p) for 2^(e-1) <= |exact| < 2^e with
 * p = 24 or 53, e not below the smallest normal number's; beyond the largest number both count as 2^128 or 2^1024.
 * `wrong` counts results that are NaN when the exact value is not or the reverse, and zeros that should be none or of
 * the other sign. The exact value is first taken from the C library in higher precision (double for f32, long double
 * for f64), which settles all but a few cases to 2^-12 or 2^-7 of an ulp; whatever could be a new maximum is computed
 * again by MPFR. Where a function is even or odd, one reference value serves both signs.
 */
#include "reference_math.h"
#include "ulp_exact.h"
#include "ulp_many.h"
#include "weft/weft.h"
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <mpfr.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 4096, MAX_THREADS = 64 };

/* ---- the functions ---- */
typedef int mpfr_fun1(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int mpfr_fun2(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

typedef struct function {
    const char *name;
    wf_val (*weft1)(wf_val);
    wf_val (*weft2)(wf_val, wf_val);
    mpfr_fun1 *exact1;
    double (*d1)(double);
    long double (*l1)(long double);
    mpfr_fun2 *exact2;
    double (*d2)(double, double);
    long double (*l2)(long double, long double);
    double (*size)(double); /* near zeros, errors count in units of the last place of this; NULL: of the result */
    double low, high;       /* where f64 results are neither 0, infinite nor constant */
    enum { PLAIN, PERIODIC, LOGARITHM } kind;
    enum { NEITHER, EVEN, ODD } symmetry;
} function;

static const function functions[] = {
    { "rcp", wf_rcp, NULL, ulp_rcp, rcp_d, rcp_l, .low = -1e3, .high = 1e3, .symmetry = ODD },
    { "rsqrt", wf_rsqrt, NULL, mpfr_rec_sqrt, rsqrt_d, rsqrt_l, .low = 0, .high = 1e3 },
    { "exp", wf_exp, NULL, mpfr_exp, exp, expl, .low = -746, .high = 710 },
    { "exp2", wf_exp2, NULL, mpfr_exp2, exp2, exp2l, .low = -1076, .high = 1025 },
    { "log", wf_log, NULL, mpfr_log, log, logl, .low = 0, .high = 1e3, .kind = LOGARITHM },
    { "log2", wf_log2, NULL, mpfr_log2, log2, log2l, .low = 0, .high = 1e3, .kind = LOGARITHM },
    { "sin", wf_sin, NULL, mpfr_sin, sin, sinl, .low = -1e5, .high = 1e5, .kind = PERIODIC, .symmetry = ODD },
    { "cos", wf_cos, NULL, mpfr_cos, cos, cosl, .low = -1e5, .high = 1e5, .kind = PERIODIC, .symmetry = EVEN },
    { "tan", wf_tan, NULL, mpfr_tan, tan, tanl, .low = -1e5, .high = 1e5, .kind = PERIODIC, .symmetry = ODD },
    { "atan", wf_atan, NULL, mpfr_atan, atan, atanl, .low = -10, .high = 10, .symmetry = ODD },
    { "tanh", wf_tanh, NULL, mpfr_tanh, tanh, tanhl, .low = -22, .high = 22, .symmetry = ODD },
    { "cbrt", wf_cbrt, NULL, mpfr_cbrt, cbrt, cbrtl, .low = -10, .high = 10, .symmetry = ODD },
    { "exp10", wf_exp10, NULL, mpfr_exp10, exp10_d, exp10_l, .low = -324, .high = 309 },
    { "expm1", wf_expm1, NULL, mpfr_expm1, expm1, expm1l, .low = -40, .high = 710 },
    { "log10", wf_log10, NULL, mpfr_log10, log10, log10l, .low = 0, .high = 1e3, .kind = LOGARITHM },
    { "log1p", wf_log1p, NULL, mpfr_log1p, log1p, log1pl, .low = -1, .high = 3 },
    { "asin", wf_asin, NULL, mpfr_asin, asin, asinl, .low = -1, .high = 1, .symmetry = ODD },
    { "acos", wf_acos, NULL, mpfr_acos, acos, acosl, .low = -1, .high = 1 },
    { "sinh", wf_sinh, NULL, mpfr_sinh, sinh, sinhl, .low = -711, .high = 711, .symmetry = ODD },
    { "cosh", wf_cosh, NULL, mpfr_cosh, cosh, coshl, .low = -711, .high = 711, .symmetry = EVEN },
    { "asinh", wf_asinh, NULL, mpfr_asinh, asinh, asinhl, .low = -5, .high = 5, .symmetry = ODD },
    { "acosh", wf_acosh, NULL, mpfr_acosh, acosh, acoshl, .low = 1, .high = 5 },
    { "atanh", wf_atanh, NULL, mpfr_atanh, atanh, atanhl, .low = -1, .high = 1, .symmetry = ODD },
    { "sinpi", wf_sinpi, NULL, mpfr_sinpi, sinpi_d, sinpi_l, .low = -10, .high = 10, .symmetry = ODD },
    { "cospi", wf_cospi, NULL, mpfr_cospi, cospi_d, cospi_l, .low = -10, .high = 10, .symmetry = EVEN },
    { "tanpi", wf_tanpi, NULL, mpfr_tanpi, tanpi_d, tanpi_l, .low = -10, .high = 10, .symmetry = ODD },
    { "asinpi", wf_asinpi, NULL, mpfr_asinpi, asinpi_d, asinpi_l, .low = -1, .high = 1, .symmetry = ODD },
    { "acospi", wf_acospi, NULL, mpfr_acospi, acospi_d, acospi_l, .low = -1, .high = 1 },
    { "atanpi", wf_atanpi, NULL, mpfr_atanpi, atanpi_d, atanpi_l, .low = -10, .high = 10, .symmetry = ODD },
    { "sinc", wf_sinc, NULL, ulp_sinc, sinc_d, sinc_l, .low = -10, .high = 10, .symmetry = EVEN },
    { "erf", wf_erf, NULL, mpfr_erf, erf, erfl, .low = -6, .high = 6, .symmetry = ODD },
    { "erfc", wf_erfc, NULL, mpfr_erfc, erfc, erfcl, .low = -6, .high = 27.3 },
    { "erfinv", wf_erfinv, NULL, ulp_erfinv, erfinv_d, erfinv_l, .low = -1, .high = 1, .symmetry = ODD },
    { "tgamma", wf_tgamma, NULL, mpfr_gamma, tgamma, tgammal, .low = -185, .high = 172 },
    { "lgamma", wf_lgamma, NULL, ulp_lgamma, lgamma, lgammal, .size = lgamma_size, .low = -20, .high = 100 },
    { "digamma", wf_digamma, NULL, mpfr_digamma, digamma_d, digamma_l, .size = digamma_size, .low = -20, .high = 100 },
    { "trigamma", wf_trigamma, NULL, ulp_trigamma, trigamma_d, trigamma_l, .low = -20, .high = 100 },
    { "j0", wf_j0, NULL, mpfr_j0, j0, j0l, .size = bessel_size, .low = -40, .high = 40, .symmetry = EVEN },
    { "j1", wf_j1, NULL, mpfr_j1, j1, j1l, .size = bessel_size, .low = -40, .high = 40, .symmetry = ODD },
    { "i0", wf_i0, NULL, ulp_i0, i0_d, i0_l, .low = -714, .high = 714, .symmetry = EVEN },
    { "i1", wf_i1, NULL, ulp_i1, i1_d, i1_l, .low = -714, .high = 714, .symmetry = ODD },
    { "hypot", .weft2 = wf_hypot, .exact2 = mpfr_hypot, .d2 = hypot, .l2 = hypotl, .low = -10, .high = 10 },
    { "atan2pi", .weft2 = wf_atan2pi, .exact2 = mpfr_atan2pi, .d2 = atan2pi_d, .l2 = atan2pi_l, .low = -10,
      .high = 10 },
    { "pow", .weft2 = wf_pow, .exact2 = mpfr_pow, .d2 = pow, .l2 = powl, .low = 0, .high = 50 },
    { "atan2", .weft2 = wf_atan2, .exact2 = mpfr_atan2, .d2 = atan2, .l2 = atan2l, .low = -10, .high = 10 },
};

/* ---- the library's values ---- */
typedef struct program { /* out = f(x) or f(x, y) */
    wf_context *ctx;
    wf_kernel *kernel;
    wf_array *x, *y, *out;
    void *memory[3];
} program;

static bool complain(const program *p)
{
    fprintf(stderr, "ulp: %s\n", p->ctx ? wf_last_message(p->ctx) : "out of memory");
    return false;
}

static bool open_program(program *p, const function *f, bool wide, bool interpret)
{
    wf_dtype t = wide ? WF_F64 : WF_F32;
    p->ctx = wf_context_new(
        &(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = interpret ? WF_INTERP : WF_CPU });
    wf_graph *g = wf_begin(p->ctx, .name = f->name);
    wf_val a = wf_in(g, wf_formal(g, "x", t, 1));
    wf_val r = f->weft1 ? f->weft1(a) : f->weft2(a, wf_in(g, wf_formal(g, "y", t, 1)));
    wf_out(g, wf_formal(g, "out", t, 1), r);
    p->kernel = wf_compile(g);
    p->x = wf_empty(p->ctx, t, WF_SHAPE(BATCH));
    p->y = wf_empty(p->ctx, t, WF_SHAPE(BATCH));
    p->out = wf_empty(p->ctx, t, WF_SHAPE(BATCH));
    wf_array *arrays[3] = { p->x, p->y, p->out };
    for (int i = 0; i < 3; ++i)
        if (wf_map(arrays[i], &p->memory[i], NULL) != WF_OK)
            return complain(p);
    memset(p->memory[0], 0, BATCH * wf_dtype_size(t));
    memset(p->memory[1], 0, BATCH * wf_dtype_size(t));
    return true;
}

static bool run(const program *p, const function *f)
{
    wf_array *x = p->x, *y = p->y, *out = p->out;
    wf_status status = f->weft1 ? wf_launch(p->kernel, WF_NAMED(x, out)) : wf_launch(p->kernel, WF_NAMED(x, y, out));
    return status == WF_OK || complain(p);
}

static void close_program(program *p)
{
    wf_release(p->x);
    wf_release(p->y);
    wf_release(p->out);
    wf_kernel_free(p->kernel);
    wf_context_free(p->ctx);
}

/* ---- measuring ---- */
typedef struct worst {
    double ulp;
    double x, y;
    uint64_t wrong, tested;
    double wrong_x, wrong_y;
} worst;

static int exponent_floor(bool wide) { return wide ? -1021 : -125; }
static int precision(bool wide) { return wide ? 53 : 24; }

static double error_f64(long double exact, double got, int least)
{
    int e;
    long double over = ldexpl(1, 1024);
    exact = exact > over ? over : exact < -over ? -over : exact;
    frexpl(exact, &e);
    if (e < least)
        e = least;
    long double value = isinf(got) ? copysignl(over, got) : (long double)got;
    return (double)ldexpl(fabsl(value - exact), 53 - e);
}

static double error_f32(double exact, double got, int least) /* the inner loop of an exhaustive run */
{
    uint64_t bits;
    exact = exact > 0x1p128 ? 0x1p128 : exact < -0x1p128 ? -0x1p128 : exact;
    got = got > 0x1p128 ? 0x1p128 : got < -0x1p128 ? -0x1p128 : got;
    memcpy(&bits, &exact, sizeof bits);
    int e = (int)(bits >> 52 & 0x7ff) - 1022;
    if (e < least)
        e = least;
    double scale;
    bits = (uint64_t)(1023 + 24 - e) << 52;
    memcpy(&scale, &bits, sizeof scale);
    return fabs(got - exact) * scale;
}

/* The same through MPFR. */
static int least_exponent(const function *f, bool wide, double x)
{
    int e = exponent_floor(wide), by_size = e;
    double size = f->size ? f->size(x) : 0;
    if (size > 0)
        frexp(size, &by_size);
    return by_size > e ? by_size : e;
}

static double error_exact(const function *f, bool wide, double x, double y, double got)
{
    mpfr_t a, b, r;
    mpfr_inits2(wide ? 256 : 160, a, b, r, (mpfr_ptr)0);
    mpfr_set_d(a, x, MPFR_RNDN);
    mpfr_set_d(b, y, MPFR_RNDN);
    if (f->exact1)
        f->exact1(r, a, MPFR_RNDN);
    else
        f->exact2(r, a, b, MPFR_RNDN);
    double ulps = 0;
    mpfr_set_si_2exp(a, mpfr_signbit(r) ? -1 : 1, wide ? 1024 : 128, MPFR_RNDN);
    if (mpfr_cmpabs(r, a) > 0)
        mpfr_set(r, a, MPFR_RNDN);
    if (!mpfr_nan_p(r) && !mpfr_zero_p(r)) {
        long e = (long)mpfr_get_exp(r);
        if (e < least_exponent(f, wide, x))
            e = least_exponent(f, wide, x);
        if (isinf(got))
            mpfr_set_si_2exp(a, got > 0 ? 1 : -1, wide ? 1024 : 128, MPFR_RNDN);
        else
            mpfr_set_d(a, got, MPFR_RNDN);
        mpfr_sub(r, r, a, MPFR_RNDN);
        mpfr_abs(r, r, MPFR_RNDN);
        mpfr_mul_2si(r, r, precision(wide) - e, MPFR_RNDN);
        ulps = mpfr_get_d(r, MPFR_RNDU);
    }
    mpfr_clears(a, b, r, (mpfr_ptr)0);
    return ulps;
}

static void note_wrong(worst *w, double x, double y)
{
    if (w->wrong++ == 0)
        w->wrong_x = x, w->wrong_y = y;
}

/* Errors below this need no second look. */
static double settled(const worst *w, bool wide)
{
    double margin = wide ? 0x1p-7 : 0x1p-12, least = wide ? 0.25 : 0.49; /* a function is never that good */
    return w->ulp - margin > least ? w->ulp - margin : least;
}

static void judge(const function *f, bool wide, double x, double y, double got, worst *w)
{
    long double exact = !wide ? 0 : f->l1 ? f->l1((long double)x) : f->l2((long double)x, (long double)y);
    double near = wide ? (double)exact : f->d1 ? f->d1(x) : f->d2(x, y);
    ++w->tested;
    if (isnan(near) || isnan(got)) {
        if (!isnan(near) != !isnan(got))
            note_wrong(w, x, y);
        return;
    }
    if (wide ? exact == 0 : near == 0) {
        if (got != 0 || !signbit(near) != !signbit(got))
            note_wrong(w, x, y);
        return;
    }
    if (near == got && isinf(got))
        return;
    int least = least_exponent(f, wide, x);
    if (isfinite(near) && (wide ? error_f64(exact, got, least) : error_f32(near, got, least)) < settled(w, wide))
        return;
    double ulps = error_exact(f, wide, x, y, got);
    if (ulps > w->ulp) {
        w->ulp = ulps;
        w->x = x;
        w->y = y;
    }
}

/* ---- arguments ---- */
typedef struct job {
    const function *f;
    bool wide, interpret, failed;
    const double *range;          /* low, high; NULL: from everywhere */
    uint64_t first, last, stride; /* exhaustive f32: bit patterns; else sample numbers */
    worst worst;
    pthread_t thread;
} job;

static uint64_t mix(uint64_t x) /* splitmix64 */
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}
static double unit(uint64_t *seed) /* [0, 1) */
{
    *seed = mix(*seed);
    return (double)(*seed >> 11) * 0x1p-53;
}
static double any_bits(bool wide, uint64_t *seed)
{
    double d;
    *seed = mix(*seed);
    uint32_t half = (uint32_t)*seed;
    float s;
    memcpy(&d, seed, sizeof d);
    memcpy(&s, &half, sizeof s);
    return wide ? d : (double)s;
}
static double rounded(bool wide, double v) { return wide ? v : (double)(float)v; }

static double near_quadrant(uint64_t *seed) /* a float next to a multiple of pi/2 */
{
    double n = floor(ldexp(unit(seed), (int)(unit(seed) * 60)));
    double v = (double)((long double)n * 1.57079632679489661923132169163975144L);
    for (int k = (int)(unit(seed) * 5); k > 0; --k)
        v = nextafter(v, unit(seed) < 0.5 ? 0 : INFINITY);
    return unit(seed) < 0.5 ? v : -v;
}

static double sample1(const function *f, bool wide, uint64_t number)
{
    uint64_t seed = mix(number * 2 + wide);
    double t = unit(&seed);
    switch (number % 5) {
    case 4: /* near 1, and the places where many expansions change formula */
        return copysign(exp2(-floor(3 * unit(&seed))) * (1 + (t - 0.5) * exp2(-12 * unit(&seed))), unit(&seed) - 0.5);
    case 0:
        return any_bits(wide, &seed);
    case 1:
        return f->low + t * (f->high - f->low);
    case 2:
        if (f->kind == PERIODIC)
            return near_quadrant(&seed);
        return f->kind == LOGARITHM ? 1 + (t - 0.5) * exp2(-52 * unit(&seed)) : f->low * t * t * t;
    default:
        return (unit(&seed) < 0.5 ? -1 : 1) * exp2((t - 0.5) * 60);
    }
}

static void sample2(const function *f, bool wide, uint64_t number, double *x, double *y)
{
    uint64_t seed = mix(number * 2 + wide);
    double t = unit(&seed), limit = wide ? 1080 : 152;
    *x = any_bits(wide, &seed);
    *y = any_bits(wide, &seed);
    if (f->d2 != pow) {
        if (number % 4 == 1)
            *y = *x * (2 * t);
        else if (number % 4 == 2)
            *x = f->low + t * (f->high - f->low), *y = f->low + unit(&seed) * (f->high - f->low);
        else if (number % 4 == 3)
            *y = *x * exp2((t - 0.5) * 130);
    } else if (number % 8 == 1) { /* a negative base and an integer */
        *x = -fabs(*x), *y = floor((t - 0.5) * 64);
    } else if (number % 4 != 0) { /* results over the whole range */
        *x = number % 4 == 1   ? fabs(*x)
             : number % 4 == 2 ? f->low + t * (f->high - f->low)
                               : 1 + (t - 0.5) * exp2(-(wide ? 50 : 21) * unit(&seed));
        *x = rounded(wide, *x);
        *y = (unit(&seed) * 2 - 1) * limit / log2(*x);
    }
    *x = rounded(wide, *x);
    *y = rounded(wide, *y);
}

static void sample(const job *j, uint64_t number, double *x, double *y)
{
    *y = 0;
    uint64_t seed = mix(number);
    if (j->range)
        *x = j->range[0] + unit(&seed) * (j->range[1] - j->range[0]);
    else if (j->f->exact1)
        *x = sample1(j->f, j->wide, number);
    else
        sample2(j->f, j->wide, number, x, y);
}

static void store(bool wide, void *memory, size_t i, double v)
{
    if (wide)
        ((double *)memory)[i] = v;
    else
        ((float *)memory)[i] = (float)v;
}

static void work_samples(job *j)
{
    program p = { 0 };
    static _Thread_local double x[BATCH], y[BATCH];
    j->failed = !open_program(&p, j->f, j->wide, j->interpret);
    for (uint64_t next = j->first; next < j->last && !j->failed;) {
        size_t n = 0;
        for (; n < BATCH && next < j->last; ++n, ++next) {
            sample(j, next, &x[n], &y[n]);
            store(j->wide, p.memory[0], n, x[n]);
            store(j->wide, p.memory[1], n, y[n]);
        }
        j->failed = !run(&p, j->f);
        const void *out = p.memory[2];
        for (size_t i = 0; i < n && !j->failed; ++i)
            judge(j->f, j->wide, x[i], y[i], j->wide ? ((const double *)out)[i] : (double)((const float *)out)[i],
                  &j->worst);
    }
    close_program(&p);
}

/* ---- f32 functions of one argument ---- */
typedef struct many { /* a batch of arguments, all of one sign or of any */
    double x[BATCH], exact[BATCH], size[BATCH];
    float error[BATCH];
    size_t n;
} many;

/* Of sign * x, the exact value sign_out times as much. */
static bool judge_many(job *j, const program *p, many *m, float sign, float sign_out)
{
    float *x = p->memory[0];
    const float *got = p->memory[2];
    for (size_t i = 0; i < m->n; ++i)
        x[i] = sign * (float)m->x[i];
    if (!run(p, j->f))
        return false;
    float largest = ulp_many_errors(m->exact, m->size, got, sign_out, m->error, m->n);
    float limit = (float)settled(&j->worst, false);
    for (size_t i = 0; i < m->n && largest >= limit; ++i)
        if (m->error[i] >= limit) {
            judge(j->f, false, (double)sign * m->x[i], 0, (double)got[i], &j->worst);
            --j->worst.tested;
        }
    j->worst.tested += m->n;
    return true;
}

static void exact_values(const function *f, ulp_many *vectors, const double *x, double *exact, size_t n)
{
    if (vectors)
        vectors(x, exact, n);
    for (size_t i = 0; i < n && !vectors; ++i)
        exact[i] = f->d1(x[i]);
}

static void work_many(job *j)
{
    const function *f = j->f;
    ulp_many *reference = ulp_many_of(f->name);
    program p = { 0 };
    many *m = calloc(1, sizeof *m);
    j->failed = !m || !open_program(&p, f, false, j->interpret);
    for (uint64_t next = j->first; next < j->last && !j->failed;) {
        for (m->n = 0; m->n < BATCH && next < j->last; ++m->n, next += j->stride) {
            uint32_t bits = (uint32_t)next;
            float s;
            memcpy(&s, &bits, sizeof s);
            m->x[m->n] = (double)s;
        }
        for (size_t i = 0; i < m->n && f->size; ++i)
            m->size[i] = f->size(m->x[i]);
        exact_values(f, reference, m->x, m->exact, m->n);
        j->failed =
            !judge_many(j, &p, m, 1, 1) || (f->symmetry && !judge_many(j, &p, m, -1, f->symmetry == ODD ? -1 : 1));
    }
    close_program(&p);
    free(m);
}

static void *work(void *job_)
{
    job *j = job_;
    if (j->wide || !j->f->exact1)
        work_samples(j);
    else
        work_many(j);
    mpfr_free_cache();
    return NULL;
}

/* ---- the table ---- */
static void report(const function *f, bool wide, const worst *w, bool markdown)
{
    char y[32] = "";
    if (f->exact2)
        snprintf(y, sizeof y, "%a", w->y);
    if (markdown)
        printf("| %s | %s | %.3f | %a%s%s | %" PRIu64 "%s |\n", f->name, wide ? "f64" : "f32", w->ulp, w->x,
               *y ? ", " : "", y, w->tested, w->tested >> 32 ? ", exhaustive" : "");
    else
        printf("%-7s %s %11" PRIu64 " %9.4f  %-22a %-22s %" PRIu64, f->name, wide ? "f64" : "f32", w->tested, w->ulp,
               w->x, y, w->wrong);
    if (w->wrong)
        printf(" wrong at (%a, %a)", w->wrong_x, w->wrong_y);
    if (!markdown)
        printf("\n");
    fflush(stdout);
}

static bool measure(const function *f, bool wide, bool interpret, int threads, uint64_t stride, uint64_t samples,
                    const double *range, bool markdown)
{
    static job jobs[MAX_THREADS];
    bool all = !wide && f->exact1;
    uint64_t total = !all ? samples : f->symmetry ? (uint64_t)1 << 31 : (uint64_t)1 << 32;
    worst w = { 0 };
    bool ok = true;
    for (int t = 0; t < threads; ++t) {
        uint64_t step = all ? stride : 1, share = total / (uint64_t)threads / step * step;
        jobs[t] = (job){
            .f = f, .wide = wide, .interpret = interpret, .range = range, .first = share * (uint64_t)t, .stride = step
        };
        jobs[t].last = t == threads - 1 ? total : share * (uint64_t)(t + 1);
        if (pthread_create(&jobs[t].thread, NULL, work, &jobs[t]))
            return false;
    }
    for (int t = 0; t < threads; ++t) {
        pthread_join(jobs[t].thread, NULL);
        worst v = jobs[t].worst;
        ok = ok && !jobs[t].failed;
        if (v.ulp > w.ulp)
            w.ulp = v.ulp, w.x = v.x, w.y = v.y;
        if (v.wrong && !w.wrong)
            w.wrong_x = v.wrong_x, w.wrong_y = v.wrong_y;
        w.wrong += v.wrong;
        w.tested += v.tested;
    }
    if (ok)
        report(f, wide, &w, markdown);
    return ok;
}

static bool chosen(const char *name, int n, char **names)
{
    bool found = n == 0;
    for (int i = 0; i < n; ++i)
        found = found || strcmp(names[i], name) == 0;
    return found;
}

int main(int argc, char **argv)
{
    uint64_t stride = 64, samples = 1 << 20;
    int threads = (int)sysconf(_SC_NPROCESSORS_ONLN), option;
    double range[2] = { 0, 0 };
    bool interpret = false, markdown = false, skip[2] = { false, false };
    static const struct option names[] = { { "sample", required_argument, NULL, 's' },
                                           { "markdown", no_argument, NULL, 'm' },
                                           { "range", required_argument, NULL, 'r' },
                                           { NULL, 0, NULL, 0 } };
    while ((option = getopt_long(argc, argv, "s:n:t:im36", names, NULL)) != -1) {
        if (option == 's')
            stride = strtoull(optarg, NULL, 0);
        else if (option == 'n')
            samples = strtoull(optarg, NULL, 0);
        else if (option == 't')
            threads = atoi(optarg);
        else if (option == 'i')
            interpret = true;
        else if (option == 'm')
            markdown = true;
        else if (option == 'r') {
            if (sscanf(optarg, "%lf,%lf", &range[0], &range[1]) != 2)
                return 2;
        } else if (option == '3' || option == '6')
            skip[option == '3'] = true;
        else
            return 2;
    }
    if (threads < 1 || threads > MAX_THREADS || stride == 0)
        return 2;
    if (markdown)
        printf("| function | dtype | ULP | at | arguments |\n|---|---|---|---|---|\n");
    else
        printf("%-7s %s %11s %9s  %-22s %-22s %s\n", "name", "   ", "arguments", "max ULP", "at", "", "wrong");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i)
        for (int wide = 0; chosen(functions[i].name, argc - optind, argv + optind) && wide < 2; ++wide)
            if (!skip[wide] && !measure(&functions[i], wide, interpret, threads, stride, samples,
                                        range[0] < range[1] ? range : NULL, markdown))
                return 1;
    return 0;
}
