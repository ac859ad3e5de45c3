/* ulp_many.c - compiled for the processor at hand, with glibc's vector functions where there are some (x86-64, gcc,
 * glibc 2.35 or later: at most 4 units of double's last place off, says its manual); elsewhere the loops call scalar
 * ones.
 */
#include "ulp_many.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#if __GLIBC_PREREQ(2, 35)
#define VECTOR(f) extern double f(double) __attribute__((simd("notinbranch")))
VECTOR(exp);
VECTOR(exp2);
VECTOR(exp10);
VECTOR(expm1);
VECTOR(log);
VECTOR(log2);
VECTOR(log10);
VECTOR(log1p);
VECTOR(sin);
VECTOR(cos);
VECTOR(tan);
VECTOR(asin);
VECTOR(acos);
VECTOR(atan);
VECTOR(sinh);
VECTOR(cosh);
VECTOR(tanh);
VECTOR(asinh);
VECTOR(acosh);
VECTOR(atanh);
VECTOR(cbrt);
VECTOR(erf);
VECTOR(erfc);
#endif
#endif
#include "reference_math.h"

/* Where results of f32 are settled anyway, and outside the domain, arguments are kept from the vector functions,
 * which go on with scalar ones there. NaN passes. */
static inline double within(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
static inline double inner(double x) { return x > 1 || x < -1 ? 0.5 : x; }
static inline double unit_only(double x, double y) { return x > 1 || x < -1 ? (double)NAN : y; }
static inline double exp_b(double x) { return exp(within(x, -120, 90)); }
static inline double exp2_b(double x) { return exp2(within(x, -170, 130)); }
static inline double exp10_b(double x) { return exp10(within(x, -52, 40)); }
static inline double expm1_b(double x) { return expm1(within(x, -120, 90)); }
static inline double sinh_b(double x) { return sinh(within(x, -92, 92)); }
static inline double cosh_b(double x) { return cosh(within(x, -92, 92)); }
static inline double erfc_b(double x) { return erfc(within(x, -9, 12)); }
static inline double erf_b(double x) { return erf(within(x, -9, 9)); }
static inline double asin_b(double x) { return unit_only(x, asin(inner(x))); }
static inline double acos_b(double x) { return unit_only(x, acos(inner(x))); }
static inline double asinpi_b(double x) { return unit_only(x, asinpi_d(inner(x))); }
static inline double acospi_b(double x) { return unit_only(x, acospi_d(inner(x))); }
static inline double atanh_b(double x) { return unit_only(x, atanh(inner(x))); }
static inline double erfinv_b(double x) { return unit_only(x, erfinv_d(inner(x))); }
static inline double acosh_b(double x) { return x < 1 ? (double)NAN : acosh(x < 1 ? 2 : x); }

/* clang-format off */
#define FUNCTIONS(F)                                                                                             \
    F(rcp, rcp_d) F(rsqrt, rsqrt_d) F(exp, exp_b) F(exp2, exp2_b) F(exp10, exp10_b) F(expm1, expm1_b)            \
    F(log, log) F(log2, log2) F(log10, log10) F(log1p, log1p) F(sin, sin) F(cos, cos) F(tan, tan)                \
    F(asin, asin_b) F(acos, acos_b) F(atan, atan) F(sinh, sinh_b) F(cosh, cosh_b) F(tanh, tanh)                  \
    F(asinh, asinh) F(acosh, acosh_b) F(atanh, atanh_b) F(sinpi, sinpi_d) F(cospi, cospi_d) F(tanpi, tanpi_d)    \
    F(asinpi, asinpi_b) F(acospi, acospi_b) F(atanpi, atanpi_d) F(sinc, sinc_d) F(cbrt, cbrt) F(erf, erf_b)      \
    F(erfc, erfc_b) F(erfinv, erfinv_b) F(tgamma, tgamma) F(lgamma, lgamma) F(j0, j0) F(j1, j1) \
    F(digamma, digamma_d) F(trigamma, trigamma_d)
/* clang-format on */

#define MANY(name, f)                                                               \
    static void many_##name(const double *restrict x, double *restrict y, size_t n) \
    {                                                                               \
        for (size_t i = 0; i < n; ++i)                                              \
            y[i] = f(x[i]);                                                         \
    }
FUNCTIONS(MANY)

/* The same number of terms for all of a few neighbours, which are of similar size. */
static void bessel_i(const double *restrict x, double *restrict y, size_t n, int order)
{
    enum { LANES = 32 };
    for (size_t i = 0; i < n; i += LANES) {
        size_t lanes = n - i < LANES ? n - i : LANES;
        double largest = 0, z[LANES] = { 0 }, sum[LANES];
        for (size_t k = 0; k < lanes; ++k) {
            double ax = fabs(x[i + k]);
            ax = ax <= 720 ? ax : 0;
            largest = ax > largest ? ax : largest;
            z[k] = ax * ax / 4;
        }
        for (size_t k = 0; k < LANES; ++k)
            sum[k] = 1;
        for (int term = 25 + (int)(2 * largest); term > 0; --term) {
            double inverse = 1 / ((double)term * (term + order));
            for (size_t k = 0; k < LANES; ++k)
                sum[k] = 1 + sum[k] * z[k] * inverse;
        }
        for (size_t k = 0; k < lanes; ++k) {
            double ax = fabs(x[i + k]);
            y[i + k] = ax <= 720 ? sum[k] : ax > 720 ? (double)INFINITY : ax;
        }
    }
}
static void many_i0(const double *restrict x, double *restrict y, size_t n) { bessel_i(x, y, n, 0); }
static void many_i1(const double *restrict x, double *restrict y, size_t n)
{
    bessel_i(x, y, n, 1);
    for (size_t i = 0; i < n; ++i)
        y[i] *= x[i] / 2;
}

ulp_many *ulp_many_of(const char *function)
{
#define ROW(name, f) { #name, many_##name },
    static const struct {
        const char *name;
        ulp_many *many;
    } rows[] = { FUNCTIONS(ROW){ "i0", many_i0 }, { "i1", many_i1 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        if (strcmp(rows[i].name, function) == 0)
            return rows[i].many;
    return NULL;
}

static inline uint64_t bits_of(double v)
{
    uint64_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}
static inline double double_of(uint64_t b)
{
    double v;
    memcpy(&v, &b, sizeof v);
    return v;
}

/* Without branches; the bits of floats that are not negative have the order of the floats. */
float ulp_many_errors(const double *restrict exact, const double *restrict size, const float *restrict got, float sign,
                      float *restrict error, size_t n)
{
    const uint64_t exponent = (uint64_t)0x7ff << 52;
    uint32_t largest = 0;
    for (size_t i = 0; i < n; ++i) {
        double want = exact[i], have = (double)(got[i] * sign), most = 0x1p128;
        double w = want > most ? most : want, h = have > most ? most : have;
        w = w < -most ? -most : w;
        h = h < -most ? -most : h;
        double scale = fabs(w) > size[i] ? fabs(w) : size[i]; /* 2^(e-1) <= scale < 2^e */
        scale = scale < 0x1p-126 ? 0x1p-126 : scale;
        double ulps = double_of(((uint64_t)(2046 + 23) << 52) - (bits_of(scale) & exponent));
        double e = fabs(h - w) * ulps;
        double zero = bits_of(want) == bits_of(have) ? 0 : (double)HUGE_VALF;
        e = want == 0 ? zero : e;
        double nan = want != want ? 0 : (double)HUGE_VALF, number = want != want ? (double)HUGE_VALF : e;
        e = have != have ? nan : number;
        uint32_t bits;
        float single = (float)e;
        memcpy(&bits, &single, sizeof bits);
        error[i] = single;
        largest = bits > largest ? bits : largest;
    }
    float result;
    memcpy(&result, &largest, sizeof result);
    return result;
}
