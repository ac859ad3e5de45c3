/* zernike.c - Zernike polynomials of a point, without angles: r^m cos(m phi) and r^m sin(m phi) are the parts of
 * (x + i y)^m. */
#include "signal_internal.h"
#include <stdio.h>

/* Returns the coefficient of r^(n - 2 k) in the radial polynomial. */
static double radial_coefficient(int n, int m, int k)
{
    double c = k % 2 ? -1 : 1; /* (-1)^k (n - k)! / (k! ((n + m) / 2 - k)! ((n - m) / 2 - k)!) */
    for (int i = 2; i <= n - k; ++i)
        c *= i;
    for (int i = 2; i <= k; ++i)
        c /= i;
    for (int i = 2; i <= (n + m) / 2 - k; ++i)
        c /= i;
    for (int i = 2; i <= (n - m) / 2 - k; ++i)
        c /= i;
    return c;
}

wf_val(wf_zernike)(int n, int m, wf_val y, wf_val x)
{
    wf_graph *g = wfl_graph_of((wf_val[]){ y, x }, 2);
    int order = m < 0 ? -m : m;
    if (n < 0 || n > 20 || order > n || (n - order) % 2) {
        char text[WFL_SIGNAL_TEXT];
        snprintf(text, sizeof text, "wf_zernike: there is no polynomial of n = %d, m = %d; n is 0 to 20, n - |m| even",
                 n, m);
        wf_fail(g, WF_ERR_ARG, text);
        return wfl_no_value(g);
    }
    wf_val re = WF_V(1), im = WF_V(0), rr = wf_add(wf_mul(x, x), wf_mul(y, y)), sum = WF_V(0);
    for (int i = 0; i < order; ++i) { /* (x + i y)^|m| */
        wf_val next = wf_sub(wf_mul(re, x), wf_mul(im, y));
        im = wf_add(wf_mul(re, y), wf_mul(im, x));
        re = next;
    }
    for (int k = 0; k <= (n - order) / 2; ++k) /* Horner in r^2, from r^(n - |m|) on */
        sum = wf_add(wf_mul(sum, rr), radial_coefficient(n, order, k));
    return wf_mul(sum, m < 0 ? im : re);
}
