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

/* The chirp exp(-i pi k^2 / n). */
static void chirp(int64_t k, int64_t n, double *re, double *im)
{
    wfl_fft_root((int64_t)((uint64_t)k * (uint64_t)k % (uint64_t)(2 * n)), 2 * n, re, im);
    *im = -*im;
}

/* room: of 4 l->steps numbers. */
static void fill_bluestein(const wfl_lengths *l, const wfl_table *at, double *out, double *room)
{
    double re, im, *b = room;
    memset(b, 0, (size_t)l->steps * 2 * sizeof *b);
    for (int64_t k = 0; k < l->core; ++k) {
        chirp(k, l->core, &re, &im);
        out[2 * (at->chirp + k)] = re;
        out[2 * (at->chirp + k) + 1] = im;
        int64_t mirrored = k ? l->steps - k : 0;
        b[2 * k] = b[2 * mirrored] = re / (double)l->steps;
        b[2 * k + 1] = b[2 * mirrored + 1] = -im / (double)l->steps;
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
    if (l->steps != l->core) {
        at.chirp = at.pairs;
        at.filter = at.pairs + l->core;
        at.pairs += l->core + l->steps;
    }
    if (l->untangled) {
        at.real = at.pairs;
        at.pairs += l->core + 1;
    }
    return at;
}

int64_t wfl_table_room(const wfl_lengths *l) { return l->steps == l->core ? 0 : 2 * (int64_t)l->steps; }

void wfl_table_fill(const wfl_lengths *l, const wfl_table *at, double *out)
{
    if (l->radices.n > 1)
        fill_roots(out + 2 * at->root, l->steps, l->steps);
    for (int i = 0; i < l->radices.n; ++i)
        if (l->radices.at[i] > WFL_FFT_UNROLLED)
            fill_looped(out + 2 * at->looped[i], l->radices.at[i]);
    if (l->untangled)
        fill_roots(out + 2 * at->real, l->core + 1, 2 * l->core);
    if (l->steps != l->core)
        fill_bluestein(l, at, out, out + 2 * at->pairs);
}
