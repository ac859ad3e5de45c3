/* plain_interpolation.h - interpolation in plain C, and arrays of random numbers, for the tests of weft/xform.h. */
#ifndef WEFT_PLAIN_INTERPOLATION_H
#define WEFT_PLAIN_INTERPOLATION_H
#include "borders.h"
#include "on_devices.h"
#include "weft/xform.h"
#include <complex.h>

static const wf_border borders[] = { WF_BORDER_VALUE, WF_BORDER_CLAMP, WF_BORDER_PERIODIC, WF_BORDER_MIRROR,
                                     WF_BORDER_REFLECT };
/* KERNELS: with those of windows, which do not go through the elements */
enum { BORDERS = 5, INTERPOLATIONS = 7, KERNELS = 9, POINTS = 48 };
static const int taps_of[KERNELS] = { 1, 2, 4, 4, 4, 6, 8, 4, 6 };

static inline double *random_numbers(int64_t n, uint64_t seed)
{
    double *x = malloc((size_t)(n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; ++i)
        x[i] = (double)(float)test_random_number(&seed);
    return x;
}

/* Returns an array of these numbers, converted; complex ones have the parts x and 2 x. */
static inline wf_array *numbers_as(wf_dtype t, wf_shape shape, const double *x)
{
    wf_array *wide = wf_empty_with(ctx, WF_F64, shape, NULL), *a = wf_empty_with(ctx, t, shape, NULL);
    assert_non_null(wide);
    assert_non_null(a);
    OK(ctx, wf_upload(wide, x, (size_t)wf_array_count(wide) * sizeof *x));
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, wide);
    wf_out(g, a, wf_dtype_kind(t) == WF_KIND_COMPLEX ? wf_complex(v, wf_mul(v, 2)) : v);
    OK(ctx, wf_run(g));
    wf_release(wide);
    return a;
}

/* Returns the real parts (part 0) or the imaginary ones. */
static inline double *numbers_of(const wf_array *a, int part)
{
    assert_non_null(a);
    double *x = contents_as(a, WF_C128);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        x[i] = x[2 * i + part];
    return x;
}

static inline void check_near(const wf_array *a, const double *expected, double most, const char *what, int which)
{
    double *x = numbers_of(a, 0);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (!(fabs(x[i] - expected[i]) <= most)) {
            print_error("%s %d: element %lld is %.9g, not %.9g\n", what, which, (long long)i, x[i], expected[i]);
            fail();
        }
    free(x);
}

/* ---- interpolation in plain C ---- */
static inline double sinc(double x) { return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x); }

/* I0 as an integral, by the trapezoidal rule. */
static inline double bessel_i0(double x)
{
    double sum = 0;
    for (int i = 0; i < 64; ++i)
        sum += exp(x * cos(2 * M_PI * i / 64)) / 64;
    return sum;
}

static inline double kaiser_beta(int taps) { return M_PI * sqrt(taps * taps / 4.0 * 2.25 - 0.8); }

static inline double weight(wf_interpolation how, double distance)
{
    double d = fabs(distance), a = taps_of[how] / 2.0;
    switch (how) {
    case WF_INTERPOLATE_NEAREST:
        return distance >= -0.5 && distance < 0.5;
    case WF_INTERPOLATE_LINEAR:
        return d < 1 ? 1 - d : 0;
    case WF_INTERPOLATE_CUBIC:
        return d < 1 ? (1.5 * d - 2.5) * d * d + 1 : d < 2 ? ((-0.5 * d + 2.5) * d - 4) * d + 2 : 0;
    case WF_INTERPOLATE_BSPLINE:
        return d < 1 ? 2.0 / 3 - d * d + d * d * d / 2 : d < 2 ? (2 - d) * (2 - d) * (2 - d) / 6 : 0;
    case WF_INTERPOLATE_KAISER4:
    case WF_INTERPOLATE_KAISER6: {
        double beta = kaiser_beta(taps_of[how]);
        return d < a ? beta / (2 * a * sinh(beta)) * bessel_i0(beta * sqrt(1 - d * d / (a * a))) : 0;
    }
    default:
        return d < a ? sinc(d) * sinc(d / a) : 0;
    }
}

/* Sets the first of ten elements around x, and their weights. */
static inline int64_t weights_at(wf_interpolation how, double x, double w[10])
{
    int64_t first = (int64_t)floor(x) - 4;
    double sum = 0;
    for (int k = 0; k < 10; ++k)
        sum += w[k] = weight(how, (double)(first + k) - x == -0.5 ? 0.5 : (double)(first + k) - x);
    if (how == WF_INTERPOLATE_NEAREST)
        for (int k = 0; k < 10; ++k)
            w[k] = first + k == (int64_t)floor(x + 0.5);
    bool normalized = how >= WF_INTERPOLATE_LANCZOS4 && how <= WF_INTERPOLATE_LANCZOS8;
    for (int k = 0; k < 10 && normalized; ++k)
        w[k] /= sum;
    return first;
}

typedef struct image {
    const double *x;
    int axes;
    int64_t dim[3];
    wf_interp how;
} image;

/* Adds weight * value to the elements around a position, or returns their weighted sum. */
static inline double visit(const image *m, const double *position, double *add, double value)
{
    double w[3][10], sum = 0;
    int64_t first[3], all = 1;
    for (int d = 0; d < m->axes; ++d, all *= 10)
        first[d] = weights_at(m->how.interpolation, position[d], w[d]);
    for (int64_t k = 0; k < all; ++k) {
        int64_t rest = k, at = 0;
        double product = 1;
        bool inside = true;
        for (int d = 0; d < m->axes; ++d, rest /= 10) {
            int64_t i = border_index(m->how.border, first[d] + rest % 10, m->dim[d]);
            inside = inside && i >= 0;
            at = at * m->dim[d] + i;
            product *= w[d][rest % 10];
        }
        sum += product * (inside ? m->x[at] : m->how.outside);
        if (add && inside)
            add[at] += product * value;
    }
    return sum;
}

static const int64_t dims[2][3] = { { 5, 7, 4 }, { 1, 2, 3 } };

static inline image image_of(int axes, int which, wf_interpolation how, wf_border border, const double *x)
{
    image m = { .x = x, .axes = axes, .how = { .interpolation = how, .border = border, .outside = 0.25 } };
    memcpy(m.dim, dims[which], sizeof m.dim);
    return m;
}

static inline wf_shape shape_of(const image *m)
{
    wf_shape shape = { .rank = m->axes };
    for (int d = 0; d < m->axes; ++d)
        shape.dim[d] = m->dim[d];
    return shape;
}

/* Positions around the array, [axes, POINTS]; every sixth point lies on elements, every sixth halfway. */
static inline double *positions_for(const image *m, uint64_t seed)
{
    double *p = random_numbers((int64_t)m->axes * POINTS, seed);
    for (int d = 0; d < m->axes; ++d)
        for (int i = 0; i < POINTS; ++i) {
            double *x = &p[d * POINTS + i];
            *x = (double)(float)((double)m->dim[d] / 2 + *x * (double)(m->dim[d] + 12));
            *x = i % 6 == 0 ? floor(*x) : i % 6 == 1 ? floor(*x) + 0.5 : *x;
        }
    return p;
}

static inline void position_at(const image *m, const double *p, int i, double *out)
{
    for (int d = 0; d < m->axes; ++d)
        out[d] = p[d * POINTS + i];
}

static inline wf_vals read_positions(wf_graph *g, const wf_array *p, int axes, wf_val *at)
{
    for (int d = 0; d < axes; ++d)
        at[d] = wf_read(g, p, d, wf_index(g, 0));
    return (wf_vals){ at, (size_t)axes };
}
#endif
