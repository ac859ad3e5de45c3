/* test_complex_functions.c - functions of complex numbers beside <complex.h> in long double: each part's error, the
 * special values of C's Annex G, sides of branch cuts, and the same bits from a device and the interpreter.
 *
 * ctest: devices
 */
#include "wide_complex.h"

static wide round_of(wide z) { return make(rintl(creall(z)), rintl(cimagl(z))); }

/* ---- the functions ---- */
typedef struct function {
    const char *name;
    wf_val (*record)(wf_val z);
    wide (*compute)(wide z);
    double bound; /* of the error of each part, in units of its last place */
    bool size;    /* the error is relative to the absolute value, because the real part may cancel */
} function;
#define RECORD(name) \
    static wf_val record_##name(wf_val z) { return wf_##name(z); }
RECORD(sin)
RECORD(cos)
RECORD(tan)
RECORD(sinh)
RECORD(cosh)
RECORD(tanh)
RECORD(asin)
RECORD(acos)
RECORD(atan)
RECORD(asinh)
RECORD(acosh)
RECORD(atanh)
RECORD(exp)
RECORD(exp2)
RECORD(expm1)
RECORD(log)
RECORD(log2)
RECORD(log10)
RECORD(log1p)
RECORD(sign)
RECORD(round)
#undef RECORD
enum {
    SIN,
    COS,
    TAN,
    SINH,
    COSH,
    TANH,
    ASIN,
    ACOS,
    ATAN,
    ASINH,
    ACOSH,
    ATANH,
    EXP,
    EXP2,
    EXPM1,
    LOG,
    LOG2,
    LOG10,
    LOG1P
};
enum { SIGN = LOG1P + 1, ROUND, FUNCTIONS };
static const function functions[FUNCTIONS] = {
    [SIN] = { "sin", record_sin, csinl, 4, false },           [COS] = { "cos", record_cos, ccosl, 4, false },
    [TAN] = { "tan", record_tan, ctanl, 6, false },           [SINH] = { "sinh", record_sinh, csinhl, 4, false },
    [COSH] = { "cosh", record_cosh, ccoshl, 4, false },       [TANH] = { "tanh", record_tanh, ctanhl, 6, false },
    [ASIN] = { "asin", record_asin, casinl, 5, false },       [ACOS] = { "acos", record_acos, cacosl, 5, false },
    [ATAN] = { "atan", record_atan, catanl, 4, false },       [ASINH] = { "asinh", record_asinh, casinhl, 5, false },
    [ACOSH] = { "acosh", record_acosh, cacoshl, 5, false },   [ATANH] = { "atanh", record_atanh, catanhl, 4, false },
    [EXP] = { "exp", record_exp, cexpl, 4, false },           [EXP2] = { "exp2", record_exp2, cexp2_of, 4, false },
    [EXPM1] = { "expm1", record_expm1, cexpm1_of, 4, true },  [LOG] = { "log", record_log, clogl, 5, false },
    [LOG2] = { "log2", record_log2, clog2_of, 5, false },     [LOG10] = { "log10", record_log10, clog10_of, 5, false },
    [LOG1P] = { "log1p", record_log1p, clog1p_of, 5, false }, [SIGN] = { "sign", record_sign, sign_of, 3, false },
    [ROUND] = { "round", record_round, round_of, 0, false },
};

/* Records all functions of the numbers in z and runs them on a device (0: that of the context). */
static void compute(wf_device device, wf_array *z, wf_array *out[FUNCTIONS])
{
    wf_graph *g = wf_begin(ctx, .device = device);
    for (int f = 0; f < FUNCTIONS; ++f)
        out[f] = wf_keep(functions[f].record(wf_in(g, z)));
    OK(ctx, wf_run(g));
}

static double rounded_to(wf_dtype t, double x)
{
    uint64_t bits = 0;
    wf__eval_cast(part(t), WF_F64, &bits, &x, 1);
    wf__eval_cast(WF_F64, part(t), &x, &bits, 1);
    return x;
}

/* ---- accuracy ---- */
enum { N = 4096 };
static double number(uint64_t *random) { return test_random_number(random) + 0.5; } /* from 0 to 1 */

/* Usual sizes, all sizes of the dtype, neighbours of 1 and -1, and points near the unit circle. */
static void draw(wf_dtype t, int64_t n, double *z)
{
    uint64_t random = 7;
    const double top = t == WF_C32 ? 15 : t == WF_C64 ? 127 : 1023;
    for (int64_t i = 0; i < n; ++i) {
        double angle = 7 * number(&random), c = cos(angle), s = sin(angle);
        for (int k = 0; k < 2; ++k) {
            double u = number(&random), sign = number(&random) < 0.5 ? -1 : 1;
            double near = (k ? 0 : sign) + (u - 0.5) * exp2(-50 * number(&random));
            double x = i % 8 < 3    ? sign * 4 * u
                       : i % 8 < 5  ? sign * exp2(40 * u - 30)
                       : i % 8 == 5 ? sign * exp2(top * (2 * u - 1))
                       : i % 8 == 6 ? near
                       : k          ? s
                                    : c;
            z[2 * i + k] = rounded_to(t, x);
        }
    }
}

static void is_near(const function *f, wf_dtype t, const double z[2], const double got[2])
{
    const int digits = t == WF_C32 ? 11 : t == WF_C64 ? 24 : 53, least = t == WF_C32 ? -14 : t == WF_C64 ? -126 : -1022;
    const long double most = t == WF_C32 ? 65504 : t == WF_C64 ? 0x1.fffffep127L : 0x1.fffffffffffffp1023L;
    wide w = f->compute(make((long double)z[0], (long double)z[1]));
    const long double want[2] = { creall(w), cimagl(w) };
    /* The reference of log1p cancels. */
    const long double x = (long double)z[0], y = (long double)z[1];
    const bool cancels = f->compute == clog1p_of;
    const long double slack = cancels && fabsl(x) + fabsl(y) < 8 ? 0x1p-60L * (fabsl(x) + x * x + y * y) : 0;
    /* c32 is computed in f32 and rounded once */
    const long double bound = t == WF_C32 && f->bound > 0 && !f->size ? 0.51L : (long double)f->bound;
    for (int k = 0; k < 2; ++k) {
        if (fabsl(want[k]) >= most) {
            if (!(fabsl((long double)got[k]) >= most * 0.99L))
                fail_msg("%s %s of %a%+ai: part %d is %a, not beyond the range", wf_dtype_name(t), f->name, z[0], z[1],
                         k, got[k]);
            continue;
        }
        int exponent;
        long double size = f->size ? hypotl(want[0], want[1]) : fabsl(want[k]);
        frexpl(fmaxl(size, ldexpl(1, least)), &exponent);
        const long double off = fabsl((long double)got[k] - want[k]), unit = ldexpl(1, exponent - digits);
        if (!(off <= bound * unit + slack))
            fail_msg("%s %s of %a%+ai: part %d is %a, not %La, %Lg units off", wf_dtype_name(t), f->name, z[0], z[1], k,
                     got[k], want[k], off / unit);
    }
}

static void accuracy(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_C32, WF_C64, WF_C128 };
    const int64_t n = sized(N, 256);
    static double z[2 * N];
    for (size_t i = 0; i < WF__COUNT(dtypes); ++i) {
        wf_dtype t = dtypes[i];
        wf_array *out[FUNCTIONS], *same[FUNCTIONS];
        draw(t, n, z);
        wf_array *a = from_f64(t, WF_SHAPE(n), z);
        compute(0, a, out);
        wf_array *copy = wf_copy_to(a, WF_INTERP);
        compute(WF_INTERP, copy, same);
        wf_release(copy);
        for (int f = 0; f < FUNCTIONS; ++f) {
            assert_int_equal(wf_array_dtype(out[f]), t);
            double *got = take_f64(out[f]), *other = take_f64(same[f]);
            int64_t at = first_difference(WF_F64, got, other, 2 * n);
            if (at >= 0)
                fail_msg("%s %s: another result than the interpreter's at %lld", wf_dtype_name(t), functions[f].name,
                         (long long)at / 2);
            for (int64_t e = 0; e < n; ++e)
                if (f != EXP2 || fabs(z[2 * e + 1]) < 100) /* beyond, the reference rounds the angle */
                    is_near(&functions[f], t, z + 2 * e, got + 2 * e);
            free(got);
            free(other);
        }
        wf_release(a);
    }
}

/* ---- special values ---- */
#define INF ((double)INFINITY)
#define NO ((double)NAN)
static const double pi = 3.141592653589793, half = 1.5707963267948966, quarter = 0.7853981633974483;
enum { RE = 1, IM = 2 }; /* parts whose sign is not specified */
typedef struct special {
    int f;
    double z[2], want[2];
    unsigned loose;
} special;

/* C11, G.6.1 to G.6.3. Parts that are finite and not 0 stand for any such number. */
static void special_values(void **state)
{
    (void)state;
    const double e3 = exp(3), cos2 = -INF, sin2 = INF; /* infinity times cos 2 and sin 2 */
    const special rows[] = {
        { ACOS, { 0, 0 }, { half, -0.0 }, 0 },
        { ACOS, { -0.0, 0 }, { half, -0.0 }, 0 },
        { ACOS, { 0, NO }, { half, NO }, 0 },
        { ACOS, { -0.0, NO }, { half, NO }, 0 },
        { ACOS, { 2, INF }, { half, -INF }, 0 },
        { ACOS, { 2, NO }, { NO, NO }, 0 },
        { ACOS, { -INF, 2 }, { pi, -INF }, 0 },
        { ACOS, { INF, 2 }, { 0, -INF }, 0 },
        { ACOS, { -INF, INF }, { 3 * quarter, -INF }, 0 },
        { ACOS, { INF, INF }, { quarter, -INF }, 0 },
        { ACOS, { INF, NO }, { NO, INF }, IM },
        { ACOS, { -INF, NO }, { NO, INF }, IM },
        { ACOS, { NO, 2 }, { NO, NO }, 0 },
        { ACOS, { NO, INF }, { NO, -INF }, 0 },
        { ACOS, { NO, NO }, { NO, NO }, 0 },
        { ACOSH, { 0, 0 }, { 0, half }, 0 },
        { ACOSH, { -0.0, 0 }, { 0, half }, 0 },
        { ACOSH, { 2, INF }, { INF, half }, 0 },
        { ACOSH, { 0, NO }, { NO, half }, IM },
        { ACOSH, { 2, NO }, { NO, NO }, 0 },
        { ACOSH, { -INF, 2 }, { INF, pi }, 0 },
        { ACOSH, { INF, 2 }, { INF, 0 }, 0 },
        { ACOSH, { -INF, INF }, { INF, 3 * quarter }, 0 },
        { ACOSH, { INF, INF }, { INF, quarter }, 0 },
        { ACOSH, { INF, NO }, { INF, NO }, 0 },
        { ACOSH, { -INF, NO }, { INF, NO }, 0 },
        { ACOSH, { NO, 2 }, { NO, NO }, 0 },
        { ACOSH, { NO, INF }, { INF, NO }, 0 },
        { ACOSH, { NO, NO }, { NO, NO }, 0 },
        { ASINH, { 0, 0 }, { 0, 0 }, 0 },
        { ASINH, { 2, INF }, { INF, half }, 0 },
        { ASINH, { 2, NO }, { NO, NO }, 0 },
        { ASINH, { INF, 2 }, { INF, 0 }, 0 },
        { ASINH, { INF, INF }, { INF, quarter }, 0 },
        { ASINH, { INF, NO }, { INF, NO }, 0 },
        { ASINH, { NO, 0 }, { NO, 0 }, 0 },
        { ASINH, { NO, 2 }, { NO, NO }, 0 },
        { ASINH, { NO, INF }, { INF, NO }, RE },
        { ASINH, { NO, NO }, { NO, NO }, 0 },
        { ATANH, { 0, 0 }, { 0, 0 }, 0 },
        { ATANH, { 0, NO }, { 0, NO }, 0 },
        { ATANH, { 1, 0 }, { INF, 0 }, 0 },
        { ATANH, { 2, INF }, { 0, half }, 0 },
        { ATANH, { 2, NO }, { NO, NO }, 0 },
        { ATANH, { INF, 2 }, { 0, half }, 0 },
        { ATANH, { INF, INF }, { 0, half }, 0 },
        { ATANH, { INF, NO }, { 0, NO }, 0 },
        { ATANH, { NO, 2 }, { NO, NO }, 0 },
        { ATANH, { NO, INF }, { 0, half }, RE },
        { ATANH, { NO, NO }, { NO, NO }, 0 },
        { COSH, { 0, 0 }, { 1, 0 }, 0 },
        { COSH, { 0, INF }, { NO, 0 }, IM },
        { COSH, { 0, NO }, { NO, 0 }, IM },
        { COSH, { 2, INF }, { NO, NO }, 0 },
        { COSH, { 2, NO }, { NO, NO }, 0 },
        { COSH, { INF, 0 }, { INF, 0 }, 0 },
        { COSH, { INF, 2 }, { cos2, sin2 }, 0 },
        { COSH, { INF, INF }, { INF, NO }, RE },
        { COSH, { INF, NO }, { INF, NO }, 0 },
        { COSH, { NO, 0 }, { NO, 0 }, IM },
        { COSH, { NO, 2 }, { NO, NO }, 0 },
        { COSH, { NO, NO }, { NO, NO }, 0 },
        { SINH, { 0, 0 }, { 0, 0 }, 0 },
        { SINH, { 0, INF }, { 0, NO }, RE },
        { SINH, { 0, NO }, { 0, NO }, RE },
        { SINH, { 2, INF }, { NO, NO }, 0 },
        { SINH, { 2, NO }, { NO, NO }, 0 },
        { SINH, { INF, 0 }, { INF, 0 }, 0 },
        { SINH, { INF, 2 }, { cos2, sin2 }, 0 },
        { SINH, { INF, INF }, { INF, NO }, RE },
        { SINH, { INF, NO }, { INF, NO }, RE },
        { SINH, { NO, 0 }, { NO, 0 }, 0 },
        { SINH, { NO, 2 }, { NO, NO }, 0 },
        { SINH, { NO, NO }, { NO, NO }, 0 },
        { TANH, { 0, 0 }, { 0, 0 }, 0 },
        { TANH, { 0, INF }, { 0, NO }, 0 },
        { TANH, { 0, NO }, { 0, NO }, 0 },
        { TANH, { 2, INF }, { NO, NO }, 0 },
        { TANH, { 1e4, INF }, { NO, NO }, 0 },
        { TANH, { 2, NO }, { NO, NO }, 0 },
        { TANH, { INF, 2 }, { 1, -0.0 }, 0 },
        { TANH, { INF, INF }, { 1, 0 }, IM },
        { TANH, { INF, NO }, { 1, 0 }, IM },
        { TANH, { NO, 0 }, { NO, 0 }, 0 },
        { TANH, { NO, 2 }, { NO, NO }, 0 },
        { TANH, { NO, NO }, { NO, NO }, 0 },
        { EXP, { 0, 0 }, { 1, 0 }, 0 },
        { EXP, { 3, -0.0 }, { e3, -0.0 }, 0 },
        { EXP, { 2, INF }, { NO, NO }, 0 },
        { EXP, { 2, NO }, { NO, NO }, 0 },
        { EXP, { -1e5, INF }, { NO, NO }, 0 },
        { EXP, { INF, 0 }, { INF, 0 }, 0 },
        { EXP, { -INF, 2 }, { -0.0, 0 }, 0 },
        { EXP, { INF, 2 }, { cos2, sin2 }, 0 },
        { EXP, { -INF, INF }, { 0, 0 }, RE | IM },
        { EXP, { INF, INF }, { INF, NO }, RE },
        { EXP, { -INF, NO }, { 0, 0 }, RE | IM },
        { EXP, { INF, NO }, { INF, NO }, RE },
        { EXP, { NO, 0 }, { NO, 0 }, 0 },
        { EXP, { NO, 2 }, { NO, NO }, 0 },
        { EXPM1, { 0, 0 }, { 0, 0 }, 0 },
        { EXPM1, { 2, INF }, { NO, NO }, 0 },
        { EXPM1, { INF, 0 }, { INF, 0 }, 0 },
        { EXPM1, { -INF, 2 }, { -1, 0 }, 0 },
        { EXPM1, { INF, 2 }, { cos2, sin2 }, 0 },
        { EXPM1, { -INF, INF }, { -1, 0 }, IM },
        { EXPM1, { INF, INF }, { INF, NO }, RE },
        { EXPM1, { -INF, NO }, { -1, 0 }, IM },
        { EXPM1, { NO, 0 }, { NO, 0 }, 0 },
        { EXP2, { 3, 0 }, { 8, 0 }, 0 },
        { EXP2, { -INF, INF }, { 0, 0 }, RE | IM },
        { LOG1P, { -1, 0 }, { -INF, 0 }, 0 },
        { LOG1P, { 0, -0.0 }, { 0, -0.0 }, 0 },
        { LOG1P, { 2, INF }, { INF, half }, 0 },
        { LOG1P, { 2, NO }, { NO, NO }, 0 },
        { LOG1P, { -INF, 2 }, { INF, pi }, 0 },
        { LOG1P, { INF, 2 }, { INF, 0 }, 0 },
        { LOG1P, { -INF, INF }, { INF, 3 * quarter }, 0 },
        { LOG1P, { INF, INF }, { INF, quarter }, 0 },
        { LOG1P, { INF, NO }, { INF, NO }, 0 },
        { LOG1P, { NO, INF }, { INF, NO }, 0 },
        { LOG1P, { NO, 2 }, { NO, NO }, 0 },
        { LOG2, { 8, 0 }, { 3, 0 }, 0 },
        { LOG2, { 0, 0 }, { -INF, 0 }, 0 },
        { LOG2, { 0x1p-1074, 0 }, { -1074, 0 }, 0 },
        { LOG2, { INF, NO }, { INF, NO }, 0 },
        { LOG10, { 0, 0 }, { -INF, 0 }, 0 },
        { LOG10, { NO, INF }, { INF, NO }, 0 },
        { SIGN, { 0, -0.0 }, { 0, -0.0 }, 0 },
        { SIGN, { 3, -4 }, { 0.6, -0.8 }, 0 },
        { SIGN, { INF, -4 }, { 1, -0.0 }, 0 },
        { SIGN, { 2, -INF }, { 0, -1 }, 0 },
        { SIGN, { INF, INF }, { NO, NO }, 0 },
        { SIGN, { NO, 1 }, { NO, NO }, 0 },
        { SIGN, { INF, NO }, { NO, NO }, 0 },
        { SIGN, { 0x1p-1074, 0 }, { 1, 0 }, 0 },
        { SIGN, { 0x1p1023, -0x1p1023 }, { 0.7071067811865476, -0.7071067811865476 }, 0 },
        { ROUND, { 2.5, -1.75 }, { 2, -2 }, 0 },
        { ROUND, { -0.25, INF }, { -0.0, INF }, 0 },
        /* on the sides of branch cuts, and at great numbers */
        { ASIN, { 2, 0 }, { half, 1.3169578969248166 }, 0 },
        { ASIN, { 2, -0.0 }, { half, -1.3169578969248166 }, 0 },
        { ASIN, { -2, -0.0 }, { -half, -1.3169578969248166 }, 0 },
        { ACOS, { 2, -0.0 }, { 0, 1.3169578969248166 }, 0 },
        { ACOS, { -2, 0 }, { pi, -1.3169578969248166 }, 0 },
        { ACOSH, { -2, -0.0 }, { 1.3169578969248166, -pi }, 0 },
        { ACOSH, { 0.5, -0.0 }, { 0, -1.0471975511965979 }, 0 },
        { ASINH, { -0.0, 2 }, { -1.3169578969248166, half }, 0 },
        { ATAN, { -0.0, 2 }, { -half, 0.5493061443340548 }, 0 },
        { ATAN, { 0, -2 }, { half, -0.5493061443340548 }, 0 },
        { ATANH, { 2, -0.0 }, { 0.5493061443340548, -half }, 0 },
        { ATANH, { -2, 0 }, { -0.5493061443340548, half }, 0 },
        { ATANH, { 1, 0x1p-1074 }, { 0.5 * (1 + 1074) * 0.6931471805599453, quarter }, 0 },
        { ASIN, { 0x1p1023, 0x1p1023 }, { quarter, 710.1292864836639 }, 0 },
        { ACOSH, { 0x1.fp1023, 0 }, { 710.4441113756294, 0 }, 0 },
        { EXP, { 1300, 0x1p-1074 }, { INF, 0x1.6aee71a1940a3p+801 }, 0 },
    };
    enum { COUNT = WF__COUNT(rows) };
    static double z[2 * COUNT];
    for (size_t i = 0; i < COUNT; ++i)
        memcpy(z + 2 * i, rows[i].z, sizeof rows[i].z);
    wf_array *a = from_f64(WF_C128, WF_SHAPE(COUNT), z), *out[FUNCTIONS];
    compute(0, a, out);
    double *got[FUNCTIONS];
    for (int f = 0; f < FUNCTIONS; ++f)
        got[f] = take_f64(out[f]);
    for (size_t i = 0; i < COUNT; ++i)
        for (unsigned k = 0; k < 2; ++k) {
            const special *row = &rows[i];
            double is = got[row->f][2 * i + k], want = row->want[k];
            bool same = isnan(want) ? isnan(is) : is == want || fabs(is - want) <= 1e-15 * fabs(want);
            if (row->loose >> k & 1)
                same = fabs(is) == fabs(want);
            else if (!isnan(want))
                same = same && signbit(is) == signbit(want);
            if (!same)
                fail_msg("%s of %g%+gi: part %u is %.17g, not %.17g", functions[row->f].name, row->z[0], row->z[1], k,
                         is, want);
        }
    for (int f = 0; f < FUNCTIONS; ++f)
        free(got[f]);
    wf_release(a);
}

/* ---- symmetries ---- */
/* f(conj z) = conj f(z), and for odd and even functions f(-z), to the bit but for signs that are not specified: of a part
 * beside a NaN, and of 0 and infinity for operands with an infinity or a NaN. */
static void symmetries(void **state)
{
    (void)state;
    const double parts[] = { 0, 0.5, 1, 2, 1e3, 0x1p-1074, 0x1p1023, INF, NO };
    enum { S = WF__COUNT(parts), COUNT = S * S };
    static double z[4][2 * COUNT]; /* z, conj z, -z, i conj z: parts swapped */
    for (int i = 0; i < COUNT; ++i) {
        double x = parts[i / S], y = parts[i % S], sets[4][2] = { { x, y }, { x, -y }, { -x, -y }, { y, x } };
        for (int k = 0; k < 4; ++k)
            memcpy(z[k] + 2 * i, sets[k], sizeof sets[k]);
    }
    double *got[4][FUNCTIONS];
    for (int k = 0; k < 4; ++k) {
        wf_array *a = from_f64(WF_C128, WF_SHAPE(COUNT), z[k]), *out[FUNCTIONS];
        compute(0, a, out);
        for (int f = 0; f < FUNCTIONS; ++f)
            got[k][f] = take_f64(out[f]);
        wf_release(a);
    }
    static const struct {
        int f, swapped; /* f(z) with parts swapped is `swapped` of z with parts swapped; -1: none */
        int parity;     /* 1 odd, 2 even */
    } rows[] = { { SIN, SINH, 1 }, { COS, -1, 2 },     { TAN, TANH, 1 }, { SINH, SIN, 1 },   { COSH, -1, 2 },
                 { TANH, TAN, 1 }, { ASIN, ASINH, 1 }, { ACOS, -1, 0 },  { ATAN, ATANH, 1 }, { ASINH, ASIN, 1 },
                 { ACOSH, -1, 0 }, { ATANH, ATAN, 1 }, { EXP, -1, 0 },   { EXP2, -1, 0 },    { EXPM1, -1, 0 },
                 { LOG, -1, 0 },   { LOG2, -1, 0 },    { LOG10, -1, 0 }, { LOG1P, -1, 0 },   { SIGN, -1, 1 },
                 { ROUND, -1, 1 } };
    for (size_t r = 0; r < WF__COUNT(rows); ++r)
        for (int i = 0; i < 2 * COUNT; ++i) {
            const int f = rows[r].f;
            const double *at = z[0] + i / 2 * 2, is = got[0][f][i];
            const bool usual = isfinite(at[0]) && isfinite(at[1]);
            const double turned = rows[r].swapped >= 0 ? got[3][rows[r].swapped][i ^ 1] : is;
            const double mirrored = i % 2 ? -got[1][f][i] : got[1][f][i];
            const double opposite = rows[r].parity == 1 ? -got[2][f][i] : rows[r].parity == 2 ? got[2][f][i] : is;
            const double each[] = { turned, mirrored, opposite };
            for (int k = 0; k < 3; ++k) {
                bool same = usual ? first_difference(WF_F64, &is, &each[k], 1) < 0
                                  : (isnan(is) && isnan(each[k])) || fabs(is) == fabs(each[k]);
                if (!same)
                    fail_msg("%s of %g%+gi: symmetry %d of part %d: %.17g and %.17g", functions[f].name, at[0], at[1],
                             k, i % 2, is, each[k]);
            }
        }
    for (int k = 0; k < 4; ++k)
        for (int f = 0; f < FUNCTIONS; ++f)
            free(got[k][f]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accuracy),
        cmocka_unit_test(special_values),
        cmocka_unit_test(symmetries),
    };
    return RUN_ON_ALL(tests);
}
