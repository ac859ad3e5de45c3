/* filter.c - filters as functions of the length of a frequency, and the edges of masks. */
#include "signal_internal.h"

/* Returns (1 + cos(pi x / width)) / 2. */
static wf_val cosine(wf_val x, wf_val width) { return wf_mul(wf_add(wf_cospi(wf_div(x, width)), 1), 0.5); }

static wf_val falling(wf_val r, wf_val cutoff, wf_val width)
{
    wf_val past = wf_sub(r, cutoff), edge = wf_select(wf_ge(past, width), 0, cosine(past, width));
    return wf_select(wf_le(r, cutoff), 1, edge);
}

static wf_val rising(wf_val r, wf_val cutoff, wf_val width)
{
    wf_val missing = wf_sub(cutoff, r), edge = wf_select(wf_ge(missing, width), 0, cosine(missing, width));
    return wf_select(wf_ge(r, cutoff), 1, edge);
}

wf_val(wf_lowpass)(wf_val r, wf_val cutoff, wf_val width)
{
    wf_graph *g = wfl_graph_of((wf_val[]){ r, cutoff, width }, 3);
    if (!wfl_number_from(g, "wf_lowpass", "width", width, 0, true) ||
        !wfl_number_from(g, "wf_lowpass", "cutoff", cutoff, 0, true))
        return wfl_no_value(g);
    return falling(r, cutoff, width);
}

wf_val(wf_highpass)(wf_val r, wf_val cutoff, wf_val width)
{
    wf_graph *g = wfl_graph_of((wf_val[]){ r, cutoff, width }, 3);
    if (!wfl_number_from(g, "wf_highpass", "width", width, 0, true) ||
        !wfl_number_from(g, "wf_highpass", "cutoff", cutoff, 0, true))
        return wfl_no_value(g);
    return rising(r, cutoff, width);
}

wf_val(wf_bandpass)(wf_val r, wf_val low, wf_val low_width, wf_val high, wf_val high_width)
{
    double least;
    wf_graph *g = wfl_graph_of((wf_val[]){ r, low, low_width, high, high_width }, 5);
    if (!wfl_number_from(g, "wf_bandpass", "low_width", low_width, 0, true) ||
        !wfl_number_from(g, "wf_bandpass", "high_width", high_width, 0, true) ||
        !wfl_number_from(g, "wf_bandpass", "low", low, 0, true) ||
        (wf_val_number(low, &least, NULL) && !wfl_number_from(g, "wf_bandpass", "high", high, least, true)))
        return wfl_no_value(g);
    return wf_mul(rising(r, low, low_width), falling(r, high, high_width));
}

wf_val(wf_gaussian)(wf_val r, wf_val sigma)
{
    wf_graph *g = wfl_graph_of((wf_val[]){ r, sigma }, 2);
    if (!wfl_number_from(g, "wf_gaussian", "sigma", sigma, 0, false))
        return wfl_no_value(g);
    wf_val x = wf_div(r, sigma);
    return wf_exp(wf_mul(wf_mul(x, x), -0.5));
}

wf_val(wf_butterworth)(wf_val r, wf_val cutoff, wf_val order)
{
    wf_graph *g = wfl_graph_of((wf_val[]){ r, cutoff, order }, 3);
    if (!wfl_number_from(g, "wf_butterworth", "cutoff", cutoff, 0, false) ||
        !wfl_number_from(g, "wf_butterworth", "order", order, 0, false))
        return wfl_no_value(g);
    return wf_rsqrt(wf_add(wf_pow(wf_div(r, cutoff), wf_mul(order, 2)), 1));
}

wf_val(wf_bfactor)(wf_val r, wf_val b) { return wf_exp(wf_mul(wf_mul(r, r), wf_mul(b, 0.25))); }

static wf_val critical_dose(wf_val r, wf_val scale)
{
    return wf_mul(wf_add(wf_mul(wf_pow(r, -1.665), 0.245), 2.81), scale);
}

wf_val(wf_critical_dose)(wf_val r, wf_val scale)
{
    wf_graph *g = wfl_graph_of((wf_val[]){ r, scale }, 2);
    return wfl_number_from(g, "wf_critical_dose", "scale", scale, 0, false) ? critical_dose(r, scale) : wfl_no_value(g);
}

wf_val(wf_dose_weight)(wf_val r, wf_val dose, wf_val scale)
{
    wf_graph *g = wfl_graph_of((wf_val[]){ r, dose, scale }, 3);
    if (!wfl_number_from(g, "wf_dose_weight", "dose", dose, 0, true) ||
        !wfl_number_from(g, "wf_dose_weight", "scale", scale, 0, false))
        return wfl_no_value(g);
    return wf_exp(wf_mul(wf_div(dose, critical_dose(r, scale)), -0.5));
}

wf_val(wf_fsc_weight)(wf_val fsc)
{
    /* The slope of the root is infinite at 0; with the branch the derivative is 0 there, and below. */
    wf_val known = wf_max(fsc, 0), weight = wf_sqrt(wf_div(wf_mul(known, 2), wf_add(known, 1)));
    return wf_select(wf_eq(known, 0), 0, weight);
}

wf_val(wf_fsc_snr)(wf_val fsc)
{
    wf_val known = wf_max(fsc, 0);
    return wf_div(wf_mul(known, 2), wf_sub(1, known));
}

wf_val(wf_fsc_unmasked)(wf_val masked, wf_val randomised)
{
    return wf_div(wf_sub(masked, randomised), wf_sub(1, randomised));
}

wf_val(wf_wiener)(wf_val ctf, wf_val snr) { return wf_div(wf_mul(ctf, snr), wf_add(wf_mul(wf_mul(ctf, ctf), snr), 1)); }

wf_val(wf_soft_edge)(wf_val distance, wf_val width)
{
    wf_graph *g = wfl_graph_of((wf_val[]){ distance, width }, 2);
    wf_val zero = { { 0, NULL } };
    return wfl_number_from(g, "wf_soft_edge", "width", width, 0, true) ? falling(distance, zero, width)
                                                                       : wfl_no_value(g);
}
