/* fft_numbers.h - complex numbers as arrays, and their distance, for tests of Fourier transforms. */
#ifndef WEFT_FFT_NUMBERS_H
#define WEFT_FFT_NUMBERS_H
#include "on_devices.h"
#include "weft/fft.h"
#include <complex.h>

typedef double complex number;

static inline bool compiled(void) { return wf_context_device(ctx) == WF_CPU; }

/* Returns an array of these elements, which are rounded to the dtype. */
static inline wf_array *numbers_as(wf_dtype t, wf_shape shape, number *x)
{
    wf_array *a = wf_empty_with(ctx, t, shape, NULL);
    assert_non_null(a);
    int64_t n = wf_array_count(a);
    char *p = malloc((size_t)n * 16 + 1);
    for (int64_t i = 0; i < n; ++i) {
        float complex narrow = (float complex)x[i];
        if (t == WF_C64)
            memcpy(p + 8 * i, &narrow, 8);
        else if (t == WF_F32)
            ((float *)p)[i] = crealf(narrow);
        else if (t == WF_F64)
            ((double *)p)[i] = creal(x[i]);
        else
            memcpy(p + 16 * i, &x[i], 16);
        x[i] = t == WF_C64 ? (number)narrow : t == WF_F32 ? crealf(narrow) : t == WF_F64 ? creal(x[i]) : x[i];
    }
    OK(ctx, wf_upload(a, p, (size_t)n * wf_dtype_size(t)));
    free(p);
    return a;
}

static inline number *numbers_of(const wf_array *a) { return contents_as(a, WF_C128); }

static inline number *random_numbers(int64_t n, uint64_t seed)
{
    number *x = malloc((size_t)(n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; ++i) {
        double re = test_random_number(&seed), im = test_random_number(&seed);
        x[i] = re + I * im;
    }
    return x;
}

/* The relative distance of two arrays, in the Euclidean norm. */
static inline double distance(const number *a, const number *b, int64_t n)
{
    double error = 0, norm = 0;
    for (int64_t i = 0; i < n; ++i) {
        error += pow(cabs(a[i] - b[i]), 2);
        norm += pow(cabs(b[i]), 2);
    }
    return norm > 0 ? sqrt(error / norm) : sqrt(error);
}

static inline double tolerance(wf_dtype t) { return t == WF_C128 || t == WF_F64 ? 3e-15 : 5e-7; }

static inline void check_near(const wf_array *y, const number *expected, double most, const char *what, int64_t n)
{
    assert_non_null(y);
    number *found = numbers_of(y);
    double error = distance(found, expected, wf_array_count(y));
    if (!(error <= most))
        print_error("%s of length %lld: the error is %g\n", what, (long long)n, error);
    assert_true(error <= most);
    free(found);
}
#endif
