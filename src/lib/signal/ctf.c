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

/* h c / sqrt(eV (2 m c^2 + eV)), CODATA 2018. */
static wf_val wavelength(wf_val kilovolts)
{
    wf_val volts = wf_mul(wide(kilovolts), 1e3);
    return wf_div(12398.419843320026, wf_sqrt(wf_mul(volts, wf_add(volts, 2 * 510998.95000))));
}

wf_val(wf_electron_wavelength)(wf_val voltage)
{
    wf_graph *g = voltage.h.graph;
    return wfl_number_from(g, "wf_electron_wavelength", "voltage", voltage, 0, false) ? wavelength(voltage)
                                                                                      : wfl_no_value(g);
}

static wf_graph *graph_of(const wf_ctf *c, wf_val gy, wf_val gx)
{
    wf_val all[] = {
        gy,         gx,      c->voltage, c->cs, c->amplitude, c->defocus, c->astigmatism, c->angle, c->phase_shift,
        c->bfactor, c->scale
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

/* Returns the phase in turns: -lambda (z g^2) / 2 + Cs lambda^3 g^4 / 4 - (phase shift + asin(amplitude)) / (2 pi).
 * With astigmatism z g^2 = defocus g^2 + astigmatism ((gx^2 - gy^2) cos 2 angle + 2 gx gy sin 2 angle). */
static wf_val phase_of(const wf_ctf *c, wf_val gy, wf_val gx)
{
    wf_val y = wide(gy), x = wide(gx), yy = wf_mul(y, y), xx = wf_mul(x, x), gg = wf_add(xx, yy);
    wf_val lambda = wavelength(c->voltage), zgg = wf_mul(wide(c->defocus), gg);
    if (!is_number(c->astigmatism, 0)) {
        wf_val twice = wf_mul(wide(c->angle), 2), across = wf_mul(wf_mul(y, x), 2);
        wf_val along = wf_add(wf_mul(wf_sub(xx, yy), wf_cos(twice)), wf_mul(across, wf_sin(twice)));
        zgg = wf_add(zgg, wf_mul(wide(c->astigmatism), along));
    }
    wf_val turns = wf_mul(zgg, wf_mul(lambda, -0.5e4));
    if (!is_number(c->cs, 0)) {
        wf_val cubed = wf_mul(wf_mul(lambda, lambda), wf_mul(lambda, 0.25e7));
        turns = wf_add(turns, wf_mul(wf_mul(gg, gg), wf_mul(wide(c->cs), cubed)));
    }
    wf_val constant =
        wf_add(wf_mul(wide(c->phase_shift), 0.15915494309189533577), wf_mul(wf_asinpi(wide(c->amplitude)), 0.5));
    return wf_sub(turns, constant);
}

wf_val(wf_ctf_phase)(const wf_ctf *ctf, wf_val gy, wf_val gx)
{
    wf_graph *g = ctf ? graph_of(ctf, gy, gx) : wfl_graph_of((wf_val[]){ gy, gx }, 2);
    if (ctf && usable(g, ctf, "wf_ctf_phase"))
        return phase_of(ctf, gy, gx);
    if (!ctf)
        wf_fail(g, WF_ERR_ARG, "wf_ctf_phase: `ctf` is NULL");
    return wfl_no_value(g);
}

wf_val wfl_ctf_as(const wf_ctf *c, wf_val gy, wf_val gx, wf_dtype t)
{
    wf_val turns = phase_of(c, gy, gx);
    wf_val value = wf_sinpi(wfl_as(wf_mul(wf_sub(turns, wf_round(turns)), -2), t));
    if (!is_number(c->bfactor, 0)) {
        wf_val y = wfl_as(gy, t), x = wfl_as(gx, t), gg = wf_add(wf_mul(x, x), wf_mul(y, y));
        value = wf_mul(value, wf_exp(wf_mul(gg, wf_mul(wfl_as(c->bfactor, t), 0.25))));
    }
    return is_number(c->scale, 0) ? value : wf_mul(value, wfl_as(c->scale, t));
}

wf_val(wf_ctf_value)(const wf_ctf *ctf, wf_val gy, wf_val gx)
{
    wf_graph *g = ctf ? graph_of(ctf, gy, gx) : wfl_graph_of((wf_val[]){ gy, gx }, 2);
    if (ctf && usable(g, ctf, "wf_ctf_value")) {
        bool f64 = wf_val_dtype(gy) == WF_F64 || wf_val_dtype(gx) == WF_F64;
        return wfl_ctf_as(ctf, gy, gx, f64 ? WF_F64 : WF_F32);
    }
    if (!ctf)
        wf_fail(g, WF_ERR_ARG, "wf_ctf_value: `ctf` is NULL");
    return wfl_no_value(g);
}
