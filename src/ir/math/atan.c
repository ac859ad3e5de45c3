/* atan.c - atan, atan2 and their pi-scaled forms.
 *
 * atan z = z + z^3 p(z^2) on [0, 1] with a minimax polynomial; |x| > 1 through pi/2 - atan(1/x), with one division for
 * both cases and pi/2 as a sum of two constants, the smaller of which joins the small term. atan2 divides the smaller
 * by the larger of |y|, |x| and adds 0, pi/2 or pi; special values as in C11 F.10.1.4.
 */
#include "ir/math/math.h"
#include <math.h>

/* (atan z - z) / z^3 in z^2. Minimax, relative to atan z: 2^-27.3 and 2^-62.8 (tools/minimax.py; those for
 * f32 moved by a few units, so that atan(1) is pi/4 rounded). */
static const wf__poly atan_poly[2] = {
    { 9,
      { -0x1.55553ep-2, 0x1.9991e6p-3, -0x1.2420acp-3, 0x1.c08f58p-4, -0x1.5816cap-4, 0x1.da6878p-5, -0x1.fe176p-6,
        0x1.64e66ep-7, -0x1.d4e44p-10 } },
    { 22, { -0x1.5555555555554p-2,  0x1.9999999999732p-3, -0x1.2492492486522p-3,  0x1.c71c71c354bb5p-4,
            -0x1.745d16e9a6a8bp-4,  0x1.3b13ab655e534p-4, -0x1.1110ce24efcbfp-4,  0x1.e1dd734e44e49p-5,
            -0x1.af0bc49c85f1p-5,   0x1.8587b8e4e96fap-5, -0x1.61e7b54687bb4p-5,  0x1.405454a03e81dp-5,
            -0x1.1bf4c4085e462p-5,  0x1.dff591b34a33fp-6, -0x1.756e0298bfc0dp-6,  0x1.012db57b71237p-6,
            -0x1.2ceea189852b4p-7,  0x1.1e545e76e9cfcp-8, -0x1.a4c01a3f76d6fp-10, 0x1.bc7c2dd1fa513p-12,
            -0x1.2ad15513a573fp-14, 0x1.7eacf72024bd6p-18 } }
};
const double wf__half_pi[3][2] = { { 0x1.921fb6p+0, 0x1.921fb54442d18p+0 },
                                   { -0x1.777a5cp-25, 0x1.1a62633145c07p-54 },
                                   { -0x1.ee59dap-50, -0x1.f1976b7ed8fbcp-110 } };
const double wf__inverse_pi[2][2] = { { 0x1.45f306p-2, 0x1.45f306dc9c883p-2 },
                                      { 0x1.b9391p-27, -0x1.6b01ec5417056p-56 } };

/* Returns base + base_lo + atan z in radians, or base + atan z / pi if scaled, for |z| <= 1. */
static wf__ref sum_atan(const wf__math *m, bool scaled, wf__ref z, wf__ref base, wf__ref base_lo)
{
    unsigned w = m->wide;
    wf__ref s = m_mul(m, z, z), p = wf__m_poly(m, &atan_poly[w], s, 0);
    if (scaled) { /* z/pi is a sum of two, and is multiplied by 1 + s p */
        wf__ref hi = m_mulk(m, z, wf__inverse_pi[0][w]), lo = m_fmak(m, z, wf__inverse_pi[0][w], m_neg(m, hi));
        wf__ref sp = m_mul(m, s, p);
        lo = m_fmak(m, z, wf__inverse_pi[1][w], lo);
        lo = m_fma(m, hi, sp, m_fma(m, lo, sp, lo));
        return m_add(m, base, m_add(m, hi, lo));
    }
    wf__ref cube = m_mul(m, z, s);
    wf__ref hi = m_add(m, base, z), lost = m_sub(m, base, hi); /* exact: base is 0 or above |z| */
    lost = m_add(m, m_add(m, lost, z), base_lo);
    return m_add(m, hi, m_fma(m, cube, p, lost));
}

wf__ref wf__m_atan(const wf__math *m, wf__ref x, bool scaled)
{
    double base = scaled ? 0.5 : wf__half_pi[0][m->wide], base_lo = scaled ? 0 : wf__half_pi[1][m->wide];
    wf__ref ax = m_abs(m, x), large = m_gt(m, ax, 1);
    wf__ref one = m_k(m, 1), minus_one = m_k(m, -1);
    wf__ref num = m_select(m, large, minus_one, ax), den = m_select(m, large, ax, one), z = m_div(m, num, den);
    wf__ref hi = wf__m_select_k(m, large, base, 0), lo = wf__m_select_k(m, large, base_lo, 0);
    return m_op2(m, WF__OP_copysign, sum_atan(m, scaled, z, hi, lo), x);
}

/* The angle is computed for |y|. For x > 0 it is atan(|y|/x) or, if |y| > x, pi/2 - atan(x/|y|). For x < 0 it is pi
 * minus, or pi/2 plus, the angle of -x. */
wf__ref wf__m_atan2(const wf__math *m, wf__ref y, wf__ref x, bool scaled)
{
    double base = scaled ? 0.5 : wf__half_pi[0][m->wide], base_lo = scaled ? 0 : wf__half_pi[1][m->wide];
    wf__ref ay = m_abs(m, y), ax = m_abs(m, x), steep = m_op2(m, WF__OP_gt, ay, ax);
    wf__ref num = m_select(m, steep, ax, ay), den = m_select(m, steep, ay, ax), z = m_div(m, num, den);
    wf__ref zero = m_eq(m, ay, 0), equal = m_op2(m, WF__OP_eq, ay, ax), unit = wf__m_select_k(m, zero, 0, 1);
    z = m_select(m, equal, unit, z);                                                   /* also for 0/0 and inf/inf */
    wf__ref x_bits = m_bits(m, x), left = m_op2(m, WF__OP_lt, x_bits, m_bits_k(m, 0)); /* x < 0 or -0 */
    wf__ref steep_bits = m_bits_k(m, m_sign_mask(m)), flat_bits = m_bits_k(m, 0);
    z = wf__m_flip_sign(m, z, m_op2(m, WF__OP_xor, x_bits, m_select(m, steep, steep_bits, flat_bits)));
    wf__ref turn = wf__m_select_k(m, left, 2 * base, 0), turn_lo = wf__m_select_k(m, left, 2 * base_lo, 0);
    wf__ref hi = m_k(m, base), lo = m_k(m, base_lo);
    hi = m_select(m, steep, hi, turn);
    lo = m_select(m, steep, lo, turn_lo);
    return m_op2(m, WF__OP_copysign, sum_atan(m, scaled, z, hi, lo), y);
}
