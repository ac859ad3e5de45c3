/* table.c - roots of unity and the other constants of a length, computed in f64 and rounded once. */
#include "pass.h"
#include <math.h>
#include <string.h>

void wfl_fft_root(int64_t i, int64_t n, double *re, double *im)
{
    static const double two_pi = 6.28318530717958647693;
    i %= n;
    /* By symmetry the angle is at most an eighth of a turn, where rounding it costs little. */
    bool below = 2 * i > n;
    int64_t up = below ? n - i : i;             /* up to half a turn */
    bool left = 4 * up > n;                     /* beyond a quarter */
    int64_t right = left ? n - 2 * up : 2 * up; /* in units of 1 / (2 n) of a turn */
    bool steep = 4 * right > n;                 /* beyond an eighth */
    double angle = two_pi * (double)(steep ? n - 2 * right : 2 * right) / (4 * (double)n);
    double c = steep ? sin(angle) : cos(angle), s = steep ? cos(angle) : sin(angle);
    *re = left ? -c : c;
    *im = below ? -s : s;
}

/* ---- a transform in f64 on the host, of lengths with small prime factors ---- */
static void host_transform(const double *in, int64_t step, double *out, int64_t n)
{
    int p = 2;
    if (n == 1) {
        out[0] = in[0];
        out[1] = in[1];
        return;
    }
    while (n % p)
        ++p;
    int64_t m = n / p;
    for (int q = 0; q < p; ++q)
        host_transform(in + 2 * step * q, step * p, out + 2 * m * q, m);
    double re[WFL_FFT_LOOPED], im[WFL_FFT_LOOPED];
    for (int64_t k = 0; k < m; ++k) {
        for (int q = 0; q < p; ++q) {
            double c, s, x = out[2 * (m * q + k)], y = out[2 * (m * q + k) + 1];
            wfl_fft_root(q * k, n, &c, &s);
            re[q] = x * c + y * s;
            im[q] = y * c - x * s;
        }
        for (int r = 0; r < p; ++r) {
            double a = 0, b = 0, c, s;
            for (int q = 0; q < p; ++q) {
                wfl_fft_root(q * r, p, &c, &s);
                a += re[q] * c + im[q] * s;
                b += im[q] * c - re[q] * s;
            }
            out[2 * (m * r + k)] = a;
            out[2 * (m * r + k) + 1] = b;
        }
    }
}

/* ---- the parts of a table ---- */
static int32_t place_of(int32_t k, const wfl_radices *radices)
{
    int32_t extent = 1, place = 0;
    for (int i = 0; i < radices->n; ++i)
        extent *= radices->at[i];
    for (int i = 0; i < radices->n; ++i) {
        extent /= radices->at[i];
        place += k % radices->at[i] * extent;
        k /= radices->at[i];
    }
    return place;
}

/* step * square without whole numbers: the product is rounded once, after they are taken away. */
static double fraction(double step, double square) { return fma(step, square, -floor(step * square)); }

/* Chirp k of Bluestein's algorithm, k < 2^26. */
static void chirp(const wfl_chirp *c, int64_t k, double *re, double *im)
{
    static const double two_pi = 6.28318530717958647693;
    if (c->turn) {
        wfl_fft_root((int64_t)((uint64_t)k * (uint64_t)k % (uint64_t)(2 * c->turn)), 2 * c->turn, re, im);
    } else {
        double square = (double)k * (double)k, size = exp2(-0.5 * square * c->log2_growth);
        double turns = fraction(c->step / 2, square), quarters = floor(4 * turns + 0.5);
        double angle = two_pi * (turns - quarters / 4), x = size * cos(angle), y = size * sin(angle);
        int turned = (int)quarters % 4;
        *re = turned == 0 ? x : turned == 1 ? -y : turned == 2 ? -x : y;
        *im = turned == 0 ? y : turned == 1 ? x : turned == 2 ? -y : -x;
    }
    *im = -*im;
}

/* room: of 4 l->steps numbers. */
static void fill_bluestein(const wfl_lengths *l, const wfl_table *at, double *out, double *room)
{
    double re, im, *b = room;
    memset(b, 0, (size_t)l->steps * 2 * sizeof *b);
    for (int64_t k = 0; k < l->chirps; ++k) {
        chirp(&l->chirp, k, &re, &im);
        out[2 * (at->chirp + k)] = re;
        out[2 * (at->chirp + k) + 1] = im;
        double scale = 1 / ((re * re + im * im) * (double)l->steps); /* b has the inverse of each chirp */
        if (k < l->results) {
            b[2 * k] = re * scale;
            b[2 * k + 1] = -im * scale;
        }
        if (k && k < l->core) {
            b[2 * (l->steps - k)] = re * scale;
            b[2 * (l->steps - k) + 1] = -im * scale;
        }
    }
    double *transformed = b + 2 * l->steps, *filter = out + 2 * at->filter;
    host_transform(b, 1, transformed, l->steps);
    for (int32_t k = 0; k < l->steps; ++k) {
        int32_t place = place_of(k, &l->radices);
        filter[2 * place] = transformed[2 * k];
        filter[2 * place + 1] = transformed[2 * k + 1];
    }
}

static void fill_roots(double *out, int64_t count, int64_t n)
{
    for (int64_t k = 0; k < count; ++k) {
        wfl_fft_root(k, n, &out[2 * k], &out[2 * k + 1]);
        out[2 * k + 1] = -out[2 * k + 1];
    }
}

static void fill_looped(double *out, int p)
{
    int half = (p - 1) / 2;
    for (int k = 1; k <= half; ++k)
        for (int j = 1; j <= half; ++j, out += 2)
            wfl_fft_root(j * k % p, p, &out[0], &out[1]);
}

wfl_table wfl_table_of(const wfl_lengths *l)
{
    wfl_table at = { 0 };
    if (l->radices.n > 1) {
        at.root = at.pairs;
        at.pairs += l->steps;
    }
    for (int i = 0; i < l->radices.n; ++i)
        if (l->radices.at[i] > WFL_FFT_UNROLLED) {
            int32_t half = (l->radices.at[i] - 1) / 2;
            at.looped[i] = at.pairs;
            at.pairs += half * half;
        }
    if (l->chirps) {
        at.chirp = at.pairs;
        at.filter = at.pairs + l->chirps;
        at.pairs += l->chirps + l->steps;
    }
    if (l->untangled) {
        at.real = at.pairs;
        at.pairs += l->core + 1;
    }
    return at;
}

int64_t wfl_table_room(const wfl_lengths *l) { return l->chirps ? 2 * (int64_t)l->steps : 0; }

void wfl_table_fill(const wfl_lengths *l, const wfl_table *at, double *out)
{
    if (l->radices.n > 1)
        fill_roots(out + 2 * at->root, l->steps, l->steps);
    for (int i = 0; i < l->radices.n; ++i)
        if (l->radices.at[i] > WFL_FFT_UNROLLED)
            fill_looped(out + 2 * at->looped[i], l->radices.at[i]);
    if (l->untangled)
        fill_roots(out + 2 * at->real, l->core + 1, 2 * l->core);
    if (l->chirps)
        fill_bluestein(l, at, out, out + 2 * at->pairs);
}
