/* taper.c - window functions: factors that fall from the middle of a line or disc to its edge. */
#include "signal_internal.h"
#include <stdio.h>

/* Returns v where |x| <= 1, else 0. */
static wf_val inside(wf_val x, wf_val v) { return wf_select(wf_le(wf_abs(x), 1), v, 0); }

/* Returns a + b cos(pi x). */
static wf_val raised(wf_val x, double a, double b) { return wf_add(wf_mul(wf_cospi(x), b), a); }

wf_val(wf_hann)(wf_val x) { return inside(x, raised(x, 0.5, 0.5)); }

wf_val(wf_hamming)(wf_val x) { return inside(x, raised(x, 0.54, 0.46)); }

wf_val(wf_blackman)(wf_val x)
{
    /* cos 2a = 2 cos^2 a - 1, so that the sum is c (0.5 + 0.16 c) + 0.34 */
    wf_val c = wf_cospi(x);
    return inside(x, wf_add(wf_mul(c, wf_add(wf_mul(c, 0.16), 0.5)), 0.34));
}

wf_val(wf_cosine)(wf_val x) { return inside(x, wf_cospi(wf_mul(x, 0.5))); }

wf_val(wf_kaiser)(wf_val x, wf_val beta)
{
    wf_graph *g = wfl_graph_of((wf_val[]){ x, beta }, 2);
    if (!wfl_number_from(g, "wf_kaiser", "beta", beta, 0, true))
        return wfl_no_value(g);
    wf_val root = wf_sqrt(wf_max(wf_mul(wf_sub(1, x), wf_add(x, 1)), 0));
    return inside(x, wf_div(wf_i0(wf_mul(root, beta)), wf_i0(beta)));
}

wf_val(wf_tukey)(wf_val x, wf_val alpha)
{
    wf_graph *g = wfl_graph_of((wf_val[]){ x, alpha }, 2);
    double a;
    if (wf_val_number(alpha, &a, NULL) && !(a <= 1)) {
        char text[WFL_SIGNAL_TEXT];
        snprintf(text, sizeof text, "wf_tukey: `alpha` is %g, not at most 1", a);
        wf_fail(g, WF_ERR_ARG, text);
        return wfl_no_value(g);
    }
    if (!wfl_number_from(g, "wf_tukey", "alpha", alpha, 0, true))
        return wfl_no_value(g);
    wf_val past = wf_sub(wf_add(wf_abs(x), alpha), 1), edge = wf_mul(raised(wf_div(past, alpha), 1, 1), 0.5);
    return inside(x, wf_select(wf_le(past, 0), 1, edge));
}
