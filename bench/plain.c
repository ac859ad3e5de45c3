/* plain.c - the workloads as a scientist writes them. Compiled twice: KERNELS=plain, and KERNELS=fast with -ffast-math. */
#include "kernels.h"
#include <math.h>

#define NAME_(set, name) set##_##name
#define NAME(set, name) NAME_(set, name)
#define KERNEL(name) NAME(KERNELS, name)

void KERNEL(triad)(float *restrict out, const float *restrict a, const float *restrict b, const float *restrict c,
                   int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; ++i)
        out[i] = a[i] * b[i] + c[i];
}

void KERNEL(math)(float *restrict out, const float *restrict x, float a, float b, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; ++i)
        out[i] = cosf(x[i] / a + b) + expf(-x[i] * x[i]) * sqrtf(x[i]);
}

double KERNEL(sum)(const float *x, int64_t lo, int64_t hi)
{
    double sum = 0;
    for (int64_t i = lo; i < hi; ++i)
        sum += (double)x[i];
    return sum;
}

double KERNEL(sqdiff)(const float *a, const float *b, int64_t lo, int64_t hi)
{
    double sum = 0;
    for (int64_t i = lo; i < hi; ++i) {
        float d = a[i] - b[i];
        sum += (double)(d * d);
    }
    return sum;
}

void KERNEL(conv)(float *restrict out, const float *restrict img, const float *restrict ker, int64_t h, int64_t w,
                  int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; ++i)
        for (int64_t j = 0; j < w; ++j) {
            float sum = 0;
            for (int y = 0; y < CONV_K; ++y)
                for (int x = 0; x < CONV_K; ++x) {
                    int64_t iy = i + y - CONV_HALO, ix = j + x - CONV_HALO;
                    if (iy >= 0 && iy < h && ix >= 0 && ix < w)
                        sum += img[iy * w + ix] * ker[y * CONV_K + x];
                }
            out[i * w + j] = sum;
        }
}

void KERNEL(ten)(float *restrict out, const float *restrict a, const float *restrict b, const float *restrict c,
                 int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; ++i) {
        float v = a[i];
        for (int k = 0; k < 5; ++k)
            v = v * b[i] + c[i];
        out[i] = v;
    }
}

void KERNEL(mandelbrot)(int32_t *count, int64_t side, int limit, int64_t lo, int64_t hi)
{
    const float scale = MANDELBROT_SIZE / (float)side;
    for (int64_t i = lo; i < hi; ++i)
        for (int64_t j = 0; j < side; ++j) {
            float cx = (float)j * scale + MANDELBROT_X, cy = (float)i * scale + MANDELBROT_Y, x = 0, y = 0;
            int n = 0;
            while (n < limit && x * x + y * y <= 4) {
                float t = x * x - y * y + cx;
                y = x * 2 * y + cy;
                x = t;
                ++n;
            }
            count[i * side + j] = n;
        }
}

/* Loops in the order of memory. The sums are an array of doubles; a reduced last axis has its sum in a variable. */
void KERNEL(axes)(float *restrict out, double *restrict acc, const float *restrict x, const bench_nest *nest,
                  int64_t lo, int64_t hi)
{
    const int64_t *n = nest->dim, *xs = nest->x, *os = nest->out;
    for (int pass = 0; pass < 3; ++pass) /* clear, sum, convert */
        for (int64_t i = lo; i < hi; ++i)
            for (int64_t j = 0; j < (pass == 1 || os[1] ? n[1] : 1); ++j)
                for (int64_t k = 0; k < (pass == 1 || os[2] ? n[2] : 1); ++k) {
                    int64_t at = i * os[0] + j * os[1] + k * os[2], width = pass == 1 || os[3] ? n[3] : 1;
                    const float *row = x + i * xs[0] + j * xs[1] + k * xs[2];
                    double *sums = acc + at;
                    if (pass == 0)
                        for (int64_t l = 0; l < width; ++l)
                            sums[l * os[3]] = 0;
                    else if (pass == 2)
                        for (int64_t l = 0; l < width; ++l)
                            out[at + l * os[3]] = (float)sums[l * os[3]];
                    else if (os[3] == 1)
                        for (int64_t l = 0; l < width; ++l)
                            sums[l] += (double)row[l];
                    else if (os[3])
                        for (int64_t l = 0; l < width; ++l)
                            sums[l * os[3]] += (double)row[l];
                    else {
                        double sum = 0;
                        for (int64_t l = 0; l < width; ++l)
                            sum += (double)row[l];
                        sums[0] += sum;
                    }
                }
}
