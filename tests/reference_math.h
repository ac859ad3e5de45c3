/* reference_math.h - exact values of functions that the C library lacks, in double and long double, for test_math.c
 * and tools/ulp.c. Errors are a few units of the last place of their own type. */
#ifndef REFERENCE_MATH_H
#define REFERENCE_MATH_H
#include <math.h>

static inline double rcp_d(double x) { return 1 / x; }
static inline double rsqrt_d(double x) { return 1 / sqrt(x); }
static inline long double rcp_l(long double x) { return 1 / x; }
static inline long double rsqrt_l(long double x) { return 1 / sqrtl(x); }

/* of pi x, by exact reduction to |r| <= 1/4 of pi x = n pi/2 + pi r */
static const long double pi_l = 3.14159265358979323846264338327950288L;
static inline long double sinpi_l(long double x)
{
    long double ax = fabsl(x), v = ax - 2 * rintl(ax / 2), n = rintl(2 * v), r = pi_l * (v - n / 2);
    int q = (int)n & 3;
    long double y = q == 0 ? sinl(r) : q == 1 ? cosl(r) : q == 2 ? -sinl(r) : -cosl(r);
    return y == 0 ? copysignl(0, x) : signbit(x) ? -y : y;
}
static inline long double cospi_l(long double x)
{
    long double ax = fabsl(x), v = ax - 2 * rintl(ax / 2), n = rintl(2 * v), r = pi_l * (v - n / 2);
    int q = (int)n & 3;
    return (q == 0 ? cosl(r) : q == 1 ? -sinl(r) : q == 2 ? -cosl(r) : sinl(r)) + 0.0L;
}
static inline long double tanpi_l(long double x) { return sinpi_l(x) / cospi_l(x); }
static inline long double asinpi_l(long double x) { return asinl(x) / pi_l; }
static inline long double acospi_l(long double x) { return acosl(x) / pi_l; }
static inline long double atanpi_l(long double x) { return atanl(x) / pi_l; }
static inline long double atan2pi_l(long double y, long double x) { return atan2l(y, x) / pi_l; }
static inline long double sinc_l(long double x)
{
    return x == 0 ? 1 : isinf(x) ? 0 : sinpi_l(fabsl(x)) / (pi_l * fabsl(x));
}
/* In double by one sine and without branches, so that a loop over one becomes vector code. */
static inline double sinpi_d(double x)
{
    double ax = fabs(x), v = ax - 2 * rint(ax / 2), folded = fabs(v) > 0.5 ? copysign(1, v) - v : v;
    double y = sin((double)pi_l * folded);
    return copysign(1, x) * (y == 0 ? 0 : y);
}
static inline double cospi_d(double x)
{
    double ax = fabs(x), v = fabs(ax - 2 * rint(ax / 2));
    return sin((double)pi_l * (0.5 - v)) + 0.0;
}
static inline double tanpi_d(double x) { return sinpi_d(x) / cospi_d(x); }
static inline double asinpi_d(double x) { return asin(x) / (double)pi_l; }
static inline double acospi_d(double x) { return acos(x) / (double)pi_l; }
static inline double atanpi_d(double x) { return atan(x) / (double)pi_l; }
static inline double atan2pi_d(double y, double x) { return atan2(y, x) / (double)pi_l; }
static inline double sinc_d(double x)
{
    return x == 0 ? 1 : isinf(x) ? 0 : sinpi_d(fabs(x)) / ((double)pi_l * fabs(x));
}
static inline double exp10_d(double x) { return pow(10, x); }
static inline long double exp10_l(long double x) { return powl(10, x); }

/* From an approximation to 0.2 % (Winitzki), Halley's iteration on erf or, near 1, on erfc; y' = y - d / (1 + y d)
 * with d = (erf y - x) / erf' y. */
static inline double erfinv_d(double x)
{
    double ax = fabs(x), w = log1p(-ax * ax), b = 2 / ((double)pi_l * 0.147) + w / 2,
           y = sqrt(sqrt(b * b - w / 0.147) - b);
    y = ax < 1e-4 ? ax * 0.886226925452758 : y;
    for (int i = 0; i < 3; ++i) {
        double near = erf(y) - ax, far = (1 - ax) - erfc(y);
        double d = (ax < 0.5 ? near : far) * (exp(y * y) * 0.886226925452758); /* sqrt(pi)/2 */
        y = y - d / (1 + y * d);
    }
    y = ax == 0 ? 0 : ax == 1 ? (double)INFINITY : ax < 1 ? y : (double)NAN;
    return copysign(y, x);
}
static inline long double erfinv_l(long double x)
{
    long double ax = fabsl(x), y = fabsl((long double)erfinv_d((double)x));
    if (x == 0 || !(ax < 1))
        return (long double)erfinv_d((double)x);
    for (int i = 0; i < 2; ++i) {
        long double d = (ax < 0.5L ? erfl(y) - ax : (1 - ax) - erfcl(y)) * (expl(y * y) * (sqrtl(pi_l) / 2));
        y = y - d / (1 + y * d);
    }
    return copysignl(y, x);
}
/* The sum of (x/2)^(2k) / (k! (k + order)!) from its smallest term on, and i0 and i1. */
static inline long double bessel_i_l(long double x, int order)
{
    long double ax = fabsl(x), z = ax * ax / 4, sum = 1;
    if (!(ax <= 720))
        return ax > 720 ? (long double)INFINITY : x;
    for (int k = 25 + (int)(2 * ax); k > 0; --k)
        sum = 1 + sum * z / ((long double)k * (k + order));
    return sum;
}
static inline double bessel_i_d(double x, int order)
{
    double ax = fabs(x), z = ax * ax / 4, sum = 1;
    if (!(ax <= 720))
        return ax > 720 ? (double)INFINITY : x;
    for (int k = 25 + (int)(2 * ax); k > 0; --k)
        sum = 1 + sum * z / ((double)k * (k + order));
    return sum;
}
static inline long double i0_l(long double x) { return bessel_i_l(x, 0); }
static inline double i0_d(double x) { return bessel_i_d(x, 0); }
static inline long double i1_l(long double x) { return x / 2 * bessel_i_l(x, 1); }
static inline double i1_d(double x) { return x / 2 * bessel_i_d(x, 1); }

/* From 16 on the asymptotic series in B_2j / 2j. Below, digamma is its difference from the zero d away, which has d as
 * a factor in every term of the sums, so that it is accurate near the zero: with v = zero + 16, w = x + 16,
 * p = 1/v^2 and q = 1/w^2, p^j - q^j is p - q times a sum. */
static const double psi_series[9] = { 1.0 / 12,       -1.0 / 120, 1.0 / 252,      -1.0 / 240,     1.0 / 132,
                                      -691.0 / 32760, 1.0 / 12,   -3617.0 / 8160, 43867.0 / 14364 };
static const long double psi_series_l[9] = { 1.0L / 12,       -1.0L / 120, 1.0L / 252,      -1.0L / 240,     1.0L / 132,
                                             -691.0L / 32760, 1.0L / 12,   -3617.0L / 8160, 43867.0L / 14364 };
#define PSI(real, digamma, trigamma, series, log_of, log1p_of, tanpi_of, sinpi_of, pi, zero, zero_lo)              \
    static inline real digamma(real x)                                                                             \
    {                                                                                                              \
        if (x < 0)                                                                                                 \
            return x == (real)floorl((long double)x) ? (real)NAN : digamma(1 - x) - pi / tanpi_of(x);              \
        if (!(x < 16)) {                                                                                           \
            real q = 1 / (x * x), sum = 0;                                                                         \
            for (int j = 8; j >= 0; --j)                                                                           \
                sum = (sum + series[j]) * q;                                                                       \
            return log_of(x) - 1 / (2 * x) - sum;                                                                  \
        }                                                                                                          \
        if (x == 0)                                                                                                \
            return -1 / x;                                                                                         \
        real d = (x - (zero)) - (zero_lo), sum = 0, v = (zero) + 16, w = x + 16, p = 1 / (v * v), q = 1 / (w * w); \
        for (int k = 15; k >= 0; --k)                                                                              \
            sum += 1 / ((x + (real)k) * ((zero) + (real)k));                                                       \
        real rest = 0, powers = 1, power = 1;                                                                      \
        for (int j = 0; j < 9; ++j) {                                                                              \
            rest += series[j] * powers;                                                                            \
            power *= q;                                                                                            \
            powers = p * powers + power;                                                                           \
        }                                                                                                          \
        return d * sum + log1p_of(d / v) + d / (2 * v * w) + d * (v + w) * p * q * rest;                           \
    }                                                                                                              \
    static inline real trigamma(real x)                                                                            \
    {                                                                                                              \
        if (x < 0) {                                                                                               \
            real root = pi / sinpi_of(x);                                                                          \
            return root * root - trigamma(1 - x);                                                                  \
        }                                                                                                          \
        real w = x < 16 ? x + 16 : x, q = 1 / (w * w), sum = 0;                                                    \
        for (int j = 8; j >= 0; --j)                                                                               \
            sum = (sum + series[j] * (real)(2 * j + 2)) * q;                                                       \
        sum = 1 / w + (q / 2 + sum / w);                                                                           \
        for (int k = 15; x < 16 && k >= 0; --k)                                                                    \
            sum += 1 / (x + (real)k) / (x + (real)k);                                                              \
        return sum;                                                                                                \
    }
PSI(double, digamma_d, trigamma_d, psi_series, log, log1p, tanpi_d, sinpi_d, (double)pi_l, 0x1.762d86356be3fp+0,
    0x1.b86a722197829p-54)
PSI(long double, digamma_l, trigamma_l, psi_series_l, logl, log1pl, tanpi_l, sinpi_l, pi_l, 0x1.762d86356be3f6e2p+0L,
    -1.8257096315963484214601e-20L)
#undef PSI

/* The size that errors near a zero are measured against: the amplitude of j0 and j1, and for x < 0 the terms whose
 * difference is lgamma or digamma. */
static inline double bessel_size(double x) { return fabs(x) < 1 ? 0 : sqrt(2 / (double)pi_l / fabs(x)); }
static inline double lgamma_size(double x) { return x < 0 ? 1 + fabs(lgamma(-x)) : 0; }
static inline double digamma_size(double x) { return x < 0 ? 1 + log(1 - x) : 0; }
#endif
