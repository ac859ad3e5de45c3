/* reference_math.h - the exact values of functions that the C library lacks, in double and long double: for test_math.c
 * and tools/ulp.c. Errors are a few units of the last place of their own type.
 */
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
static inline double sinpi_d(double x)
{
    double ax = fabs(x), v = ax - 2 * rint(ax / 2), n = rint(2 * v), r = (double)pi_l * (v - n / 2);
    int q = (int)n & 3;
    double y = q == 0 ? sin(r) : q == 1 ? cos(r) : q == 2 ? -sin(r) : -cos(r);
    return y == 0 ? copysign(0, x) : signbit(x) ? -y : y;
}
static inline double cospi_d(double x)
{
    double ax = fabs(x), v = ax - 2 * rint(ax / 2), n = rint(2 * v), r = (double)pi_l * (v - n / 2);
    int q = (int)n & 3;
    return (q == 0 ? cos(r) : q == 1 ? -sin(r) : q == 2 ? -cos(r) : sin(r)) + 0.0;
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
/* What errors near a zero are measured against: the amplitude of j0 and j1, and for x < 0 what lgamma is a
 * difference of. */
static inline double bessel_size(double x) { return fabs(x) < 1 ? 0 : sqrt(2 / (double)pi_l / fabs(x)); }
static inline double lgamma_size(double x) { return x < 0 ? 1 + fabs(lgamma(-x)) : 0; }
#endif
