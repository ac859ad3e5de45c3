/* signal_formulas.h - frequencies, transfer functions and shifts by their definitions in f64, for tests of signal.h. */
#ifndef WEFT_SIGNAL_FORMULAS_H
#define WEFT_SIGNAL_FORMULAS_H
#include "on_devices.h"
#include "weft/fft.h"
#include "weft/signal.h"
#include <complex.h>

typedef double complex number;

/* Returns the frequency by the definition of the layouts. */
static inline double frequency(const wf_spectrum *s, int axis, int64_t index)
{
    int64_t n = s->size[axis], k = index;
    bool half = s->layout == WF_LAYOUT_H || s->layout == WF_LAYOUT_HC;
    if (half && axis == s->rank - 1)
        return (double)index / (double)n;
    if (s->layout == WF_LAYOUT_HC || s->layout == WF_LAYOUT_FC)
        k = index - n / 2;
    else if (2 * index >= n && n > 1)
        k = index - n;
    if (n % 2 && 2 * index == n - 1 && (s->layout == WF_LAYOUT_H || s->layout == WF_LAYOUT_F))
        k = index;
    return (double)k / (double)n;
}

static inline wf_shape shape_of(const wf_spectrum *s)
{
    wf_shape shape = { .rank = s->rank };
    for (int d = 0; d < s->rank; ++d)
        shape.dim[d] = s->size[d];
    if (s->layout == WF_LAYOUT_H || s->layout == WF_LAYOUT_HC)
        shape.dim[s->rank - 1] = s->size[s->rank - 1] / 2 + 1;
    return shape;
}

static inline double *download(const wf_array *a) { return contents_as(a, WF_F64); }
static inline number *download_complex(const wf_array *a) { return contents_as(a, WF_C128); }

static inline void near(double found, double expected, double most, const char *what)
{
    if (!(fabs(found - expected) <= most))
        print_error("%s: %.17g, not %.17g\n", what, found, expected);
    assert_true(fabs(found - expected) <= most);
}

/* ---- contrast transfer functions ---- */
typedef struct optics {
    double kv, cs, w, dz, a, angle, shift, b, scale;
} optics;

/* The formula with angles, as the literature has it. */
static inline double expected_ctf(const optics *o, double gy, double gx, double *turns)
{
    const long double pi = 3.141592653589793238462643L, c = 299792458.0L, h = 6.62607015e-34L, e = 1.602176634e-19L,
                      m = 9.1093837139e-31L;
    long double ev = o->kv * 1e3L * e, lambda = h * c / sqrtl(ev * (2 * m * c * c + ev)) * 1e10L;
    long double gg = (long double)gx * gx + (long double)gy * gy, phi = atan2l(gy, gx);
    long double z = (o->dz + o->a * cosl(2 * (phi - o->angle))) * 1e4L;
    long double phase = -pi * lambda * z * gg + pi / 2 * o->cs * 1e7L * lambda * lambda * lambda * gg * gg - o->shift -
                        atanl(o->w / sqrtl(1 - (long double)o->w * o->w));
    *turns = (double)(phase / (2 * pi));
    return (double)(-sinl(phase) * expl(o->b * gg / 4) * (o->scale != 0 ? o->scale : 1));
}

static const optics microscopes[] = { { 300, 2.7, 0.1, 2.5, 0, 0, 0, 0, 0 },
                                      { 300, 2.7, 0.07, 5, 0.25, 0.7, 0, -20, 0 },
                                      { 200, 0.01, 0.1, 1.2, -0.1, -1.2, 1.5, -80, 2 },
                                      { 100, 0, 0, -0.8, 0.05, 3, 0, 0, 0 },
                                      { 300, 2.7, -0.3, 0.3, 0, 1, -0.2, 0, 0.5 } };

/* ---- shifts ---- */
/* The factor of an axis: by the definition, or its real part at Nyquist. */
static inline number shift_factor(double k, double s)
{
    number f = cos(2 * M_PI * k * s) - I * sin(2 * M_PI * k * s);
    return fabs(k) == 0.5 ? creal(f) : f;
}

#endif
