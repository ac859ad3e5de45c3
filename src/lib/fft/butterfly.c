/* butterfly.c - forward transforms of a few values in registers: radices 2, 3, 4, 5 by hand, odd primes by their
 * symmetry, and products of them by the algorithm of Cooley and Tukey.
 */
#include "fft_internal.h"

typedef struct maker {
    wf_graph *g;
    wf_dtype part;
} maker;

static wf_val constant(const maker *m, double x) { return wf_const(m->g, m->part, x); }

wfl_pair wfl_pair_add(wfl_pair a, wfl_pair b) { return (wfl_pair){ wf_add(a.re, b.re), wf_add(a.im, b.im) }; }
wfl_pair wfl_pair_sub(wfl_pair a, wfl_pair b) { return (wfl_pair){ wf_sub(a.re, b.re), wf_sub(a.im, b.im) }; }
wfl_pair wfl_pair_mul(wfl_pair a, wfl_pair b)
{
    return (wfl_pair){ wf_fma(a.re, b.re, wf_neg(wf_mul(a.im, b.im))), wf_fma(a.re, b.im, wf_mul(a.im, b.re)) };
}

/* a + i b and a - i b, where b is a pair. */
static wfl_pair plus_i(wfl_pair a, wfl_pair b) { return (wfl_pair){ wf_sub(a.re, b.im), wf_add(a.im, b.re) }; }
static wfl_pair minus_i(wfl_pair a, wfl_pair b) { return (wfl_pair){ wf_add(a.re, b.im), wf_sub(a.im, b.re) }; }

/* x times exp(-2 pi i k / n). Multiples of an eighth turn cost less than a product. */
static wfl_pair rotated(const maker *m, wfl_pair x, int k, int n)
{
    double re, im;
    if (k % n == 0)
        return x;
    if (4 * k == n)
        return (wfl_pair){ x.im, wf_neg(x.re) };
    if (2 * k == n)
        return (wfl_pair){ wf_neg(x.re), wf_neg(x.im) };
    wfl_fft_root(k, n, &re, &im);
    if (8 * k == n || 8 * k == 3 * n) {
        wf_val c = constant(m, 0.70710678118654752440), sum = wf_mul(c, wf_add(x.re, x.im)),
               difference = wf_mul(c, wf_sub(x.im, x.re));
        return 8 * k == n ? (wfl_pair){ sum, difference } : (wfl_pair){ difference, wf_neg(sum) };
    }
    return wfl_pair_mul(x, (wfl_pair){ constant(m, re), constant(m, -im) });
}

static void radix_2(wfl_pair *x)
{
    wfl_pair sum = wfl_pair_add(x[0], x[1]);
    x[1] = wfl_pair_sub(x[0], x[1]);
    x[0] = sum;
}

static void radix_4(wfl_pair *x)
{
    wfl_pair a = wfl_pair_add(x[0], x[2]), b = wfl_pair_sub(x[0], x[2]), c = wfl_pair_add(x[1], x[3]),
             d = wfl_pair_sub(x[1], x[3]);
    x[0] = wfl_pair_add(a, c);
    x[1] = minus_i(b, d);
    x[2] = wfl_pair_sub(a, c);
    x[3] = plus_i(b, d);
}

/* An odd prime p: elements j and p - j meet the cosines with their sum, and the sines with their difference. */
static void odd_prime(const maker *m, wfl_pair *x, int p)
{
    wfl_pair sum[WFL_FFT_UNROLLED], difference[WFL_FFT_UNROLLED], first = x[0], all = x[0];
    int half = (p - 1) / 2;
    for (int j = 1; j <= half; ++j) {
        sum[j] = wfl_pair_add(x[j], x[p - j]);
        difference[j] = wfl_pair_sub(x[j], x[p - j]);
        all = wfl_pair_add(all, sum[j]);
    }
    x[0] = all;
    for (int k = 1; k <= half; ++k) {
        wfl_pair even = first, odd = { .re = { { 0, NULL } } };
        for (int j = 1; j <= half; ++j) {
            double re, im;
            wfl_fft_root((int64_t)j * k % p, p, &re, &im);
            wf_val c = constant(m, re), s = constant(m, im);
            even = (wfl_pair){ wf_fma(sum[j].re, c, even.re), wf_fma(sum[j].im, c, even.im) };
            odd = j == 1 ? (wfl_pair){ wf_mul(difference[j].re, s), wf_mul(difference[j].im, s) }
                         : (wfl_pair){ wf_fma(difference[j].re, s, odd.re), wf_fma(difference[j].im, s, odd.im) };
        }
        x[k] = minus_i(even, odd);
        x[p - k] = plus_i(even, odd);
    }
}

static void transform(const maker *m, wfl_pair *x, int n);

/* n = a b: b transforms of a elements that lie b apart, roots, a transforms of b elements. */
static void composite(const maker *m, wfl_pair *x, int a, int b)
{
    wfl_pair column[WFL_FFT_UNROLLED], row[WFL_FFT_UNROLLED];
    int n = a * b;
    for (int j = 0; j < b; ++j) {
        for (int q = 0; q < a; ++q)
            column[q] = x[j + b * q];
        transform(m, column, a);
        for (int q = 0; q < a; ++q)
            row[q * b + j] = rotated(m, column[q], j * q, n);
    }
    for (int q = 0; q < a; ++q) {
        transform(m, row + q * b, b);
        for (int k = 0; k < b; ++k)
            x[q + a * k] = row[q * b + k];
    }
}

static void transform(const maker *m, wfl_pair *x, int n)
{
    static const int8_t first[WFL_FFT_UNROLLED + 1] = { 0, 1, 2, 3, 4, 5, 2, 7, 2, 3, 2, 11, 4, 13, 2, 3, 4 };
    if (n < 2)
        return;
    if (first[n] != n)
        composite(m, x, first[n], n / first[n]);
    else if (n == 2)
        radix_2(x);
    else if (n == 4)
        radix_4(x);
    else
        odd_prime(m, x, n);
}

void wfl_butterfly(wf_graph *g, wf_dtype part, wfl_pair *x, int n) { transform(&(maker){ g, part }, x, n); }
