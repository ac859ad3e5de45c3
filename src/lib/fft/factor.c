/* factor.c - takes lengths apart into radices, by a model of what each radix costs. */
#include "fft_internal.h"

/* Operations of an element of a step, measured in vector instructions: arithmetic, roots, and memory of the scratch. */
static double step_cost(int64_t radix)
{
    static const double written_out[WFL_FFT_UNROLLED + 1] = { 0,  0,  8,  10, 8.5, 13, 12, 16,  11,
                                                              15, 16, 22, 15, 26,  18, 20, 16.5 };
    return radix <= WFL_FFT_UNROLLED ? written_out[radix] : 12 + 1.3 * (double)radix;
}

/* Prime factors of n up to WFL_FFT_LOOPED; what is left of n in *rest. */
static int prime_factors(int64_t n, int32_t *prime, int64_t *rest)
{
    int count = 0;
    for (int32_t p = 2; p <= WFL_FFT_LOOPED && n > 1; ++p)
        for (; n % p == 0; n /= p)
            prime[count++] = p;
    *rest = n;
    return count;
}

/* Finds the cheapest radices up to WFL_FFT_UNROLLED of n, which has no larger prime factor, in descending order from
 * `most` on. */
static double cheapest(int64_t n, int most, wfl_radices *out)
{
    double least = 1e300;
    if (n == 1) {
        out->n = 0;
        return 0;
    }
    for (int r = most; r > 1; --r) {
        wfl_radices rest;
        if (n % r)
            continue;
        double cost = step_cost(r) + cheapest(n / r, r, &rest);
        if (cost < least && rest.n < WFL_FFT_MOST_STEPS) {
            least = cost;
            *out = rest;
            out->at[out->n++] = r;
        }
    }
    return least;
}

/* Sets out to the radices of n, small ones first: a step with large radix and no roots comes last. */
bool wfl_fft_radices(int64_t n, wfl_radices *out)
{
    int32_t prime[64];
    int64_t rest, small = 1;
    int count = prime_factors(n, prime, &rest);
    if (rest != 1)
        return false;
    for (int i = 0; i < count; ++i)
        small *= prime[i] <= WFL_FFT_UNROLLED ? prime[i] : 1;
    wfl_radices sixteens = { 0 };
    while (small >= INT64_C(1) << 24 && small % 16 == 0) { /* so that the search stays short */
        sixteens.at[sixteens.n++] = 16;
        small /= 16;
    }
    cheapest(small, WFL_FFT_UNROLLED, out);
    for (int i = 0; i < sixteens.n; ++i)
        out->at[out->n++] = 16;
    for (int i = 0; i < count; ++i)
        if (prime[i] > WFL_FFT_UNROLLED)
            out->at[out->n++] = prime[i];
    return true;
}

double wfl_fft_cost(int64_t n)
{
    wfl_radices r;
    double cost = 0;
    if (!wfl_fft_radices(n, &r)) {
        int64_t m = wfl_fft_convolution(2 * n - 1);
        return (2 * wfl_fft_cost(m) + 12) * (double)m / (double)n;
    }
    for (int i = 0; i < r.n; ++i)
        cost += step_cost(r.at[i]);
    return cost;
}

/* The number from n on whose prime factors are at most 7, and that is a multiple of `step`. */
static int64_t smooth(int64_t n, int64_t step)
{
    for (n += (step - n % step) % step;; n += step) {
        int64_t rest = n;
        for (int p = 2; p <= 7; ++p)
            while (rest % p == 0)
                rest /= p;
        if (rest == 1)
            return n;
    }
}

int64_t wfl_fft_convolution(int64_t least)
{
    int64_t best = smooth(least, 1);
    for (int64_t m = best, tries = 0; tries < 6; ++tries, m = smooth(m + 1, 1))
        if (wfl_fft_cost(m) * (double)m < wfl_fft_cost(best) * (double)best)
            best = m;
    return best;
}

void wfl_fft_halves(int64_t n, int64_t *a, int64_t *b)
{
    *a = 1;
    for (int64_t d = 2; d * d <= n; ++d)
        if (n % d == 0)
            *a = d;
    *b = n / *a;
}

int64_t wf_fft_fast_size(int64_t n, bool even)
{
    return n > INT64_C(1) << 40 ? -1 : smooth(n < 1 ? 1 : n, even ? 2 : 1);
}
