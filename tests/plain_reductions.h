/* plain_reductions.h - reductions of n elements in plain C. With no elements the result is 0, or NaN where it has no
 * meaning. Extremes need one element; a NaN among the elements is both extremes. */
#ifndef WEFT_PLAIN_REDUCTIONS_H
#define WEFT_PLAIN_REDUCTIONS_H
#include <complex.h>
#include <math.h>
#include <stdint.h>

typedef double complex number;

static inline number plain_sum(const number *x, int64_t n)
{
    number sum = 0;
    for (int64_t i = 0; i < n; ++i)
        sum += x[i];
    return sum;
}
static inline number plain_mean(const number *x, int64_t n) { return n ? plain_sum(x, n) / (double)n : (double)NAN; }
static inline number plain_squares(const number *x, int64_t n)
{
    number m = plain_mean(x, n), sum = 0;
    for (int64_t i = 0; i < n; ++i)
        sum += cabs(x[i] - m) * cabs(x[i] - m);
    return sum;
}
static inline number plain_variance(const number *x, int64_t n)
{
    return n ? plain_squares(x, n) / (double)n : (double)NAN;
}
static inline number plain_stddev1(const number *x, int64_t n)
{
    return n > 1 ? csqrt(plain_squares(x, n) / (double)(n - 1)) : (double)NAN;
}
static inline number plain_l1(const number *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
        sum += cabs(x[i]);
    return sum;
}
static inline number plain_l2(const number *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
        sum += cabs(x[i]) * cabs(x[i]);
    return sqrt(sum);
}
static inline number plain_largest(const number *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; ++i)
        most = cabs(x[i]) > most || isnan(creal(x[i])) ? cabs(x[i]) : most;
    return most;
}
static inline int64_t plain_place(const number *x, int64_t n, double sign)
{
    int64_t at = 0;
    for (int64_t i = 0; i < n; ++i) {
        if (isnan(creal(x[i])))
            return i;
        at = sign * creal(x[i]) > sign * creal(x[at]) ? i : at;
    }
    return at;
}
static inline number plain_argmin(const number *x, int64_t n) { return (double)plain_place(x, n, -1); }
static inline number plain_argmax(const number *x, int64_t n) { return (double)plain_place(x, n, 1); }
static inline number plain_min(const number *x, int64_t n) { return x[plain_place(x, n, -1)]; }
static inline number plain_max(const number *x, int64_t n) { return x[plain_place(x, n, 1)]; }
static inline number plain_nonzero(const number *x, int64_t n)
{
    double count = 0;
    for (int64_t i = 0; i < n; ++i)
        count += x[i] != 0;
    return count;
}
static inline number plain_all(const number *x, int64_t n) { return creal(plain_nonzero(x, n)) == (double)n; }
static inline number plain_any(const number *x, int64_t n) { return creal(plain_nonzero(x, n)) > 0; }
static inline number plain_prod(const number *x, int64_t n)
{
    number product = 1;
    for (int64_t i = 0; i < n; ++i)
        product *= x[i];
    return product;
}
#endif
