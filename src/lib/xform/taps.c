/* taps.c - the elements of one axis around a position and their weights, for each interpolation; their sums over several
 * axes; the Fourier transforms of the kernels that these weights are samples of.
 */
#include "xform_internal.h"
#include <math.h>

int wfl_taps_of(wf_interpolation how)
{
    static const uint8_t taps[WFL_LAST_INTERPOLATION + 1] = { 1, 2, 4, 4, 4, 6, 8, 4, 6 };
    return taps[how];
}

/* ---- weights of the elements at first, first + 1, ...; t is the distance from element 0, 0 <= t < 1 ---- */
static void keys_weights(wf_val t, wf_val *w)
{
    wf_val s = wf_sub(1, t), t2 = wf_mul(t, t), s2 = wf_mul(s, s);
    w[0] = wf_mul(wf_mul(t, s2), -0.5);
    w[1] = wf_add(wf_mul(t2, wf_sub(wf_mul(t, 1.5), 2.5)), 1);
    w[2] = wf_add(wf_mul(s2, wf_sub(wf_mul(s, 1.5), 2.5)), 1);
    w[3] = wf_mul(wf_mul(s, t2), -0.5);
}

static void bspline_weights(wf_val t, wf_val *w)
{
    wf_val s = wf_sub(1, t), t2 = wf_mul(t, t), s2 = wf_mul(s, s);
    w[0] = wf_mul(wf_mul(s2, s), 1.0 / 6);
    w[1] = wf_add(wf_mul(wf_mul(t2, wf_sub(t, 2)), 0.5), 2.0 / 3);
    w[2] = wf_add(wf_mul(wf_mul(s2, wf_sub(s, 2)), 0.5), 2.0 / 3);
    w[3] = wf_mul(wf_mul(t2, t), 1.0 / 6);
}

/* sinc(x) sinc(x / a) at distances x = t - j from -a to a, where t = 0 has exact weights 0 and 1: for each a, pi / a times
 * its rounded reciprocal is 1 in f32 and f64. The limit pi / a of sin(pi t / a) / t gives the weights their derivatives.
 *
 * The weights are divided by their sum, so what they have in common does not count: sin(pi x) = (-1)^j sin(pi t), and
 * constants. There remain (-1)^j t sin(pi x / a) / x^2. The sines follow from those of j = 0 and 1 by
 * sin(A - j B) sin(B) = sin(A - B) sin(j B) - sin(A) sin((j - 1) B), where |x| is 1 or more. */
static void lanczos_weights(wf_val t, int taps, wf_val *w)
{
    double a = taps / 2.0;
    wf_val at0 = wf_sinpi(wf_mul(t, 1 / a)), at1 = wf_sinpi(wf_mul(wf_sub(t, 1), 1 / a)), unit = wf_sinpi(1 / a);
    wf_val sum = { { 0, NULL } };
    for (int k = 0; k < taps; ++k) {
        int j = k + 1 - taps / 2;
        if (j == 0)
            w[k] = wf_select(wf_eq(t, 0), 3.14159265358979323846 / a, wf_div(at0, t));
        else {
            wf_val x = wf_sub(t, (double)j), sine = at1;
            if (j != 1) {
                wf_val factor1 = wf_div(wf_sinpi(j / a), unit), factor0 = wf_div(wf_sinpi((j - 1) / a), unit);
                sine = wf_sub(wf_mul(at1, factor1), wf_mul(at0, factor0));
            }
            w[k] = wf_div(wf_mul(j % 2 ? wf_neg(t) : t, sine), wf_mul(x, x));
        }
        sum = k ? wf_add(sum, w[k]) : w[k];
    }
    wf_val scale = wf_div(1, sum);
    for (int k = 0; k < taps; ++k)
        w[k] = wf_mul(w[k], scale);
}

/* beta / (taps sinh(beta)) I0(beta sqrt(1 - (2 x / taps)^2)) at distances x; its integral is 1. The series of I0, in
 * s = 1 - (2 x / taps)^2 from 0 to 1, ends where its terms are below the roundings. beta is best for twofold padding
 * (Beatty, Nishimura, Pauly 2005, equation 5). */
static void kaiser_weights(wf_val t, int taps, bool wide, wf_val *w)
{
    enum { MOST = 40 };
    double quarter = taps == 4 ? 20.232689022233185 : 47.990951400297; /* (beta / 2)^2 */
    double scale = taps == 4 ? 5.572467066121069e-4 : 4.439098627694347e-6, term[MOST], sum = scale;
    int n = 1;
    term[0] = scale;
    for (; n < MOST; ++n) {
        term[n] = term[n - 1] * quarter / ((double)n * n);
        sum += term[n];
        if (term[n] < sum * (wide ? 1e-18 : 1e-9))
            break;
    }
    for (int k = 0; k < taps; ++k) {
        wf_val x = wf_sub(t, (double)(k + 1 - taps / 2)), square = wf_mul(wf_mul(x, x), 4.0 / (taps * taps));
        wf_val s = wf_sub(1, square), v = { { term[n - 1], NULL } };
        for (int i = n - 2; i >= 0; --i)
            v = wf_add(wf_mul(v, s), term[i]);
        w[k] = v;
    }
    /* The window jumps to 0 at its end, which the last element is on if t is 0. */
    w[taps - 1] = wf_select(wf_gt(t, 0), w[taps - 1], 0);
}

/* Sets the weights at t, a value of f32 or, if `wide`, f64, or a number. */
static void weights_at(wf_interpolation how, wf_val t, bool wide, wf_val *w)
{
    switch (how) {
    case WF_INTERPOLATE_LINEAR:
        w[0] = wf_sub(1, t);
        w[1] = t;
        break;
    case WF_INTERPOLATE_CUBIC:
        keys_weights(t, w);
        break;
    case WF_INTERPOLATE_BSPLINE:
        bspline_weights(t, w);
        break;
    case WF_INTERPOLATE_KAISER4:
    case WF_INTERPOLATE_KAISER6:
        kaiser_weights(t, wfl_taps_of(how), wide, w);
        break;
    default:
        lanczos_weights(t, wfl_taps_of(how), w);
    }
}

wf_val wfl_position(wf_graph *g, wf_val position)
{
    double number;
    if (wf_val_number(position, &number, NULL))
        return wf_const(g, WF_F64, number);
    wf_dtype t = wf_val_dtype(position);
    return t == WF_F32 || t == WF_F64 ? position : wf_cast(position, wfl_is_float_dtype(t) ? WF_F32 : WF_F64);
}

void wfl_taps_at(wf_graph *g, wf_interpolation how, wf_dtype t, wf_val position, wfl_taps *taps)
{
    wf_val x = wfl_position(g, position), below = wf_floor(x), part = wf_sub(x, below), at = wf_cast(below, WF_I64);
    if (how == WF_INTERPOLATE_NEAREST) {
        taps->index[0] = wf_add(at, wf_cast(wf_ge(part, 0.5), WF_I64));
        return;
    }
    int n = wfl_taps_of(how), first = 1 - n / 2;
    for (int k = 0; k < n; ++k)
        taps->index[k] = first + k ? wf_add(at, first + k) : at;
    weights_at(how, wf_cast(part, t), t == WF_F64, taps->weight);
}

/* The sum over the axes from d on. */
static wfl_parts read_from(const wfl_reader *r, const wfl_taps *axis, int d, int axes)
{
    wfl_parts sum = { { { 0, NULL } }, { { 0, NULL } } };
    if (d >= axes || d >= WFL_MOST_POSITIONS) {
        wf_val v = r->read(r->sampler);
        sum.re = r->complex ? wf_real(v) : v;
        sum.im = r->complex ? wf_imag(v) : v;
        return sum;
    }
    int taps = wfl_taps_of(r->interpolation);
    for (int k = 0; k < taps; ++k) {
        r->index[d] = axis[d].index[k];
        wfl_parts part = read_from(r, axis, d + 1, axes);
        if (r->interpolation == WF_INTERPOLATE_NEAREST)
            return part;
        wf_val re = wf_mul(part.re, axis[d].weight[k]);
        sum.re = k ? wf_add(sum.re, re) : re;
        if (r->complex) {
            wf_val im = wf_mul(part.im, axis[d].weight[k]);
            sum.im = k ? wf_add(sum.im, im) : im;
        }
    }
    return sum;
}

wfl_parts wfl_read_around(const wfl_reader *r, const wfl_taps *axis, int axes) { return read_from(r, axis, 0, axes); }

double wfl_kernel_transform(wf_interpolation how, double u)
{
    static const double node[3] = { 0, 0.5384693101056831, 0.9061798459386640 };
    static const double weight[3] = { 0.5688888888888889, 0.4786286704993665, 0.2369268850561891 };
    enum { PARTS = 8, NODES = 5 }; /* Gauss and Legendre's rule */
    static const double pi = 3.141592653589793;
    if (how == WF_INTERPOLATE_NEAREST)
        return u == 0 ? 1 : sin(pi * u) / (pi * u);
    int taps = wfl_taps_of(how);
    double sum = 0;
    for (int i = 0; i < PARTS * NODES; ++i) {
        int which = i % NODES - NODES / 2, side = which < 0 ? -which : which;
        double t = (i / NODES + 0.5 + (which < 0 ? -0.5 : 0.5) * node[side]) / PARTS;
        wf_val w[WFL_MOST_TAPS];
        weights_at(how, (wf_val){ { t, NULL } }, true, w);
        for (int k = 0; k < taps; ++k) {
            double value = 0;
            wf_val_number(w[k], &value, NULL);
            sum += value * cos(2 * pi * u * (t - (k + 1 - taps / 2))) * weight[side] / (2 * PARTS);
        }
    }
    return sum;
}
