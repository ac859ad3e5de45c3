/* fft.c - a radix-2 Fourier transform in f32. Several columns are transformed at a time, through a buffer, so that memory
 * is read in whole cache lines. */
#include "fft.h"
#include "../common/common.h"
#include <math.h>
#include <stdlib.h>

enum { BATCH = 8 }; /* columns transformed at a time */

typedef struct complex_f32 {
    float re, im;
} complex_f32;

typedef struct table {
    int n, bits;
    complex_f32 *twiddle; /* [n/2]: exp(-2 pi i k / n), conjugated for the inverse */
} table;

static bool table_init(table *t, int n, bool inverse)
{
    t->n = n;
    for (t->bits = 0; 1 << t->bits < n; t->bits++) {
    }
    t->twiddle = malloc((size_t)(n / 2 + 1) * sizeof *t->twiddle);
    if (!t->twiddle)
        return false;
    for (int k = 0; k < n / 2; k++) {
        double angle = (inverse ? 2 : -2) * PI * k / n;
        t->twiddle[k] = (complex_f32){ (float)cos(angle), (float)sin(angle) };
    }
    return true;
}

/* Transforms `lanes` interleaved signals of n points: point k of signal j is v[k * lanes + j]. */
static void transform(const table *t, complex_f32 *v, int lanes)
{
    for (int i = 1, j = 0; i < t->n; i++) { /* bit reversal: j counts with the carry running from left to right */
        int bit = t->n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        for (int k = 0; i < j && k < lanes; k++) {
            complex_f32 swap = v[i * lanes + k];
            v[i * lanes + k] = v[j * lanes + k];
            v[j * lanes + k] = swap;
        }
    }
    for (int half = 1; half < t->n; half *= 2) {
        int step = t->n / (2 * half);
        for (int first = 0; first < t->n; first += 2 * half)
            for (int k = 0; k < half; k++) {
                const complex_f32 w = t->twiddle[k * step];
                complex_f32 *a = v + (first + k) * lanes, *b = a + half * lanes;
                for (int lane = 0; lane < lanes; lane++) {
                    float re = b[lane].re * w.re - b[lane].im * w.im, im = b[lane].re * w.im + b[lane].im * w.re;
                    b[lane] = (complex_f32){ a[lane].re - re, a[lane].im - im };
                    a[lane] = (complex_f32){ a[lane].re + re, a[lane].im + im };
                }
            }
    }
}

static void columns_of(const table *t, complex_f32 *v, int columns, complex_f32 *buffer)
{
    for (int first = 0; first < columns; first += BATCH) {
        int lanes = columns - first < BATCH ? columns - first : BATCH;
        for (int i = 0; i < t->n; i++)
            for (int j = 0; j < lanes; j++)
                buffer[i * lanes + j] = v[(size_t)i * (size_t)columns + (size_t)(first + j)];
        transform(t, buffer, lanes);
        for (int i = 0; i < t->n; i++)
            for (int j = 0; j < lanes; j++)
                v[(size_t)i * (size_t)columns + (size_t)(first + j)] = buffer[i * lanes + j];
    }
}

bool fft_2d(float *data, int rows, int columns, bool inverse)
{
    complex_f32 *v = (complex_f32 *)(void *)data, *buffer = malloc((size_t)rows * BATCH * sizeof *buffer);
    table row = { .n = 0 }, column = { .n = 0 };
    bool ok = buffer && table_init(&row, columns, inverse) && table_init(&column, rows, inverse);
    for (int i = 0; i < rows && ok; i++)
        transform(&row, v + (size_t)i * (size_t)columns, 1);
    if (ok)
        columns_of(&column, v, columns, buffer);
    float scale = 1 / ((float)rows * (float)columns);
    for (size_t i = 0; i < 2 * (size_t)rows * (size_t)columns && ok && inverse; i++)
        data[i] *= scale;
    free(row.twiddle);
    free(column.twiddle);
    free(buffer);
    return ok;
}
