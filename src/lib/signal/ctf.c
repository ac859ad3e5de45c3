/* ctf.c - the contrast transfer function of electron microscopes. The phase is in f64 and in turns, of which whole ones
 * are subtracted before the sine. */
#include "signal_internal.h"
#include <math.h>
#include <stdio.h>

static wf_val wide(wf_val v) { return wfl_as(v, WF_F64); }

/* True for the number x; false for values. */
static bool is_number(wf_val v, double x)
{
    double number;
    return wf_val_number(v, &number, NULL) && number == x;
}

/* h c / sqrt(eV (2 m c^2 + eV)), CODATA 2022. */
static wf_val wavelength(wf_val kilovolts)
{
    wf_val volts = wf_mul(wide(kilovolts), 1e3);
    return wf_div(12398.419843320026, wf_sqrt(wf_mul(volts, wf_add(volts, 2 * 510998.95069))));
}

wf_val(wf_electron_wavelength)(wf_val voltage)
{
    wf_graph *g = wfl_graph_of(&voltage, 1);
    return wfl_number_from(g, "wf_electron_wavelength", "voltage", voltage, 0, false) ? wavelength(voltage)
                                                                                      : wfl_no_value(g);
}

static wf_graph *graph_of(const wf_ctf *c, wf_val gy, wf_val gx)
{
    wf_val all[] = {
        gy,         gx,       c->voltage,    c->cs, c->amplitude, c->defocus, c->astigmatism, c->angle, c->phase_shift,
        c->bfactor, c->scale, c->aberration,
    };
    return wfl_graph_of(all, (int)(sizeof all / sizeof *all));
}

/* Returns true, or poisons the graph. */
static bool usable(wf_graph *g, const wf_ctf *c, const char *function)
{
    double w;
    if (!wfl_number_from(g, function, "ctf.voltage", c->voltage, 0, false))
        return false;
    if (!wf_val_number(c->amplitude, &w, NULL) || fabs(w) <= 1)
        return true;
    char text[WFL_SIGNAL_TEXT];
    snprintf(text, sizeof text, "%s: `ctf.amplitude` is %g, not -1 to 1", function, w);
    wf_fail(g, WF_ERR_ARG, text);
    return false;
}

/* Returns z g^2 = defocus g^2 + astigmatism ((gx^2 - gy^2) cos 2 angle + 2 gx gy sin 2 angle), in f64. */
static wf_val defocus_of(const wf_ctf *c, wf_val y, wf_val x)
{
    wf_val yy = wf_mul(y, y), xx = wf_mul(x, x), zgg = wf_mul(wide(c->defocus), wf_add(xx, yy));
    if (is_number(c->astigmatism, 0))
        return zgg;
    wf_val twice = wf_mul(wide(c->angle), 2), across = wf_mul(wf_mul(y, x), 2);
    wf_val along = wf_add(wf_mul(wf_sub(xx, yy), wf_cos(twice)), wf_mul(across, wf_sin(twice)));
    return wf_add(zgg, wf_mul(wide(c->astigmatism), along));
}

/* Returns the phase in turns: -lambda (z g^2) / 2 + Cs lambda^3 g^4 / 4 - (phase shift + asin(amplitude)) / (2 pi) +
 * aberration. */
static wf_val phase_of(const wf_ctf *c, wf_val gy, wf_val gx)
{
    wf_val y = wide(gy), x = wide(gx), gg = wf_add(wf_mul(x, x), wf_mul(y, y));
    wf_val lambda = wavelength(c->voltage), turns = wf_mul(defocus_of(c, y, x), wf_mul(lambda, -0.5e4));
    if (!is_number(c->cs, 0)) {
        wf_val cubed = wf_mul(wf_mul(lambda, lambda), wf_mul(lambda, 0.25e7));
        turns = wf_add(turns, wf_mul(wf_mul(gg, gg), wf_mul(wide(c->cs), cubed)));
    }
    wf_val constant =
        wf_add(wf_mul(wide(c->phase_shift), 0.15915494309189533577), wf_mul(wf_asinpi(wide(c->amplitude)), 0.5));
    turns = wf_sub(turns, constant);
    return is_number(c->aberration, 0) ? turns : wf_add(turns, wide(c->aberration));
}

/* Returns the graph of operands that can be used; sets *ok to false, and poisons it, for others. */
static wf_graph *checked(const wf_ctf *c, wf_val gy, wf_val gx, const char *function, bool *ok)
{
    wf_graph *g = c ? graph_of(c, gy, gx) : wfl_graph_of((wf_val[]){ gy, gx }, 2);
    char text[WFL_SIGNAL_TEXT];
    *ok = c && usable(g, c, function);
    if (!c) {
        snprintf(text, sizeof text, "%s: `ctf` is NULL", function);
        wf_fail(g, WF_ERR_ARG, text);
    }
    return g;
}

/* The dtype of results: that of frequencies. */
static wf_dtype dtype_of(wf_val gy, wf_val gx)
{
    return wf_val_dtype(gy) == WF_F64 || wf_val_dtype(gx) == WF_F64 ? WF_F64 : WF_F32;
}

wf_val(wf_ctf_phase)(const wf_ctf *ctf, wf_val gy, wf_val gx)
{
    bool ok;
    wf_graph *g = checked(ctf, gy, gx, "wf_ctf_phase", &ok);
    return ok ? phase_of(ctf, gy, gx) : wfl_no_value(g);
}

/* Returns the phase times -2, in half turns between -1 and 1, in dtype t. */
static wf_val half_turns(const wf_ctf *c, wf_val gy, wf_val gx, wf_dtype t)
{
    wf_val turns = phase_of(c, gy, gx);
    return wfl_as(wf_mul(wf_sub(turns, wf_round(turns)), -2), t);
}

/* Returns a real value times exp(bfactor g^2 / 4) and the scale. */
static wf_val damped(const wf_ctf *c, wf_val value, wf_val gy, wf_val gx, wf_dtype t)
{
    if (!is_number(c->bfactor, 0)) {
        wf_val y = wfl_as(gy, t), x = wfl_as(gx, t), gg = wf_add(wf_mul(x, x), wf_mul(y, y));
        value = wf_mul(value, wf_exp(wf_mul(gg, wf_mul(wfl_as(c->bfactor, t), 0.25))));
    }
    return is_number(c->scale, 0) ? value : wf_mul(value, wfl_as(c->scale, t));
}

wf_val wfl_ctf_as(const wf_ctf *c, wf_val gy, wf_val gx, wf_dtype t)
{
    return damped(c, wf_sinpi(half_turns(c, gy, gx, t)), gy, gx, t);
}

wf_val(wf_ctf_value)(const wf_ctf *ctf, wf_val gy, wf_val gx)
{
    bool ok;
    wf_graph *g = checked(ctf, gy, gx, "wf_ctf_value", &ok);
    return ok ? wfl_ctf_as(ctf, gy, gx, dtype_of(gy, gx)) : wfl_no_value(g);
}

/* ---- the Ewald sphere ---- */
wf_val(wf_ctf_sideband)(const wf_ctf *ctf, wf_val gy, wf_val gx)
{
    bool ok;
    wf_graph *g = checked(ctf, gy, gx, "wf_ctf_sideband", &ok);
    if (!ok)
        return wfl_no_value(g);
    wf_dtype t = dtype_of(gy, gx);
    wf_val angle = half_turns(ctf, gy, gx, t);
    return wf_complex(damped(ctf, wf_sinpi(angle), gy, gx, t), damped(ctf, wf_cospi(angle), gy, gx, t));
}

wf_val(wf_ewald_height)(wf_val voltage, wf_val gy, wf_val gx)
{
    wf_graph *g = wfl_graph_of((wf_val[]){ voltage, gy, gx }, 3);
    if (!wfl_number_from(g, "wf_ewald_height", "voltage", voltage, 0, false))
        return wfl_no_value(g);
    wf_val y = wide(gy), x = wide(gx), gg = wf_add(wf_mul(x, x), wf_mul(y, y)), lambda = wavelength(voltage);
    wf_val rest = wf_max(wf_sub(1, wf_mul(gg, wf_mul(lambda, lambda))), 0); /* (lambda z - 1)^2 */
    return wf_div(wf_mul(lambda, gg), wf_add(wf_sqrt(rest), 1));
}

/* ---- beam tilt, envelopes ---- */
wf_val(wf_ctf_beam_tilt)(const wf_ctf *ctf, wf_val tilt_y, wf_val tilt_x, wf_val gy, wf_val gx)
{
    bool ok;
    wf_graph *g = checked(ctf, gy, gx, "wf_ctf_beam_tilt", &ok),
             *of_tilt = wfl_graph_of((wf_val[]){ tilt_y, tilt_x }, 2);
    if (!ok)
        return wfl_no_value(g ? g : of_tilt);
    wf_val y = wide(gy), x = wide(gx), gg = wf_add(wf_mul(x, x), wf_mul(y, y)), lambda = wavelength(ctf->voltage);
    wf_val along = wf_add(wf_mul(y, wide(tilt_y)), wf_mul(x, wide(tilt_x)));
    wf_val factor = wf_mul(wf_mul(wide(ctf->cs), 1e4), wf_mul(lambda, lambda)); /* 1e7 A/mm, 1e-3 rad/mrad */
    return wf_mul(factor, wf_mul(gg, along));
}

/* Returns exp(-x^2 / 2) in the dtype of frequencies, where they are values. */
static wf_val damping(wf_val x, wf_val gy, wf_val gx)
{
    return wf_exp(wf_mul(wfl_as(wf_mul(x, x), dtype_of(gy, gx)), -0.5));
}

wf_val(wf_ctf_spatial_envelope)(const wf_ctf *ctf, wf_val semi_angle, wf_val gy, wf_val gx)
{
    bool ok;
    wf_graph *g = checked(ctf, gy, gx, "wf_ctf_spatial_envelope", &ok);
    ok = ok && wfl_number_from(g, "wf_ctf_spatial_envelope", "semi_angle", semi_angle, 0, true);
    if (!ok)
        return wfl_no_value(g);
    wf_val y = wide(gy), x = wide(gx), gg = wf_add(wf_mul(x, x), wf_mul(y, y)), lambda = wavelength(ctf->voltage);
    wf_val sphere = wf_mul(wf_mul(wf_mul(wide(ctf->cs), 1e7), wf_mul(lambda, lambda)), wf_mul(gg, gg));
    wf_val defocus = wf_mul(defocus_of(ctf, y, x), 1e4), none = wf_eq(gg, 0);
    wf_val slope = wf_div(wf_sub(sphere, defocus), wf_select(none, 1, wf_sqrt(gg)));        /* Cs lambda^2 g^3 - z g */
    return damping(wf_mul(wf_mul(wide(semi_angle), 4.4428829381583662e-3), slope), gy, gx); /* sqrt(2) pi rad/mrad */
}

wf_val(wf_ctf_temporal_envelope)(const wf_ctf *ctf, wf_val spread, wf_val gy, wf_val gx)
{
    bool ok;
    wf_graph *g = checked(ctf, gy, gx, "wf_ctf_temporal_envelope", &ok);
    ok = ok && wfl_number_from(g, "wf_ctf_temporal_envelope", "spread", spread, 0, true);
    if (!ok)
        return wfl_no_value(g);
    wf_val y = wide(gy), x = wide(gx), gg = wf_add(wf_mul(x, x), wf_mul(y, y));
    wf_val factor = wf_mul(wf_mul(wavelength(ctf->voltage), wide(spread)), 3.1415926535897931e4);
    return damping(wf_mul(factor, gg), gy, gx);
}
