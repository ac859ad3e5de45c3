/* math_atan.c - atan and atan2.
 *
 * atan z = z + z^3 p(z^2) on [0, 1] with a minimax polynomial; |x| > 1 through pi/2 - atan(1/x), with one division for both
 * cases and pi/2 as a sum of two constants, the smaller of which joins the small term. atan2 divides the smaller by the
 * larger of |y|, |x| and adds 0, pi/2 or pi; special values as in C11 F.10.1.4.
 */
#include "ir/math.h"
#include <math.h>

/* (atan z - z) / z^3 in z^2. Minimax, relative to atan z: 2^-27.3 and 2^-56.2 (Remez exchange; each coefficient rounded in
 * turn, the later ones fitted again; then all moved by a few units, so that atan(1) is pi/4 rounded and rounding errors near
 * 1 meet kindly). */
static const wf__poly atan_poly[2] = {
    { 9,
      { -0x1.55553ep-2, 0x1.9991e6p-3, -0x1.2420acp-3, 0x1.c08f58p-4, -0x1.5816cap-4, 0x1.da6878p-5, -0x1.fe176p-6,
        0x1.64e66ep-7, -0x1.d4e44p-10 } },
    { 21, { -0x1.555555555554dp-2, 0x1.9999999998c62p-3, -0x1.249249245769ep-3,  0x1.c71c71b650dbap-4,
            -0x1.745d15d2cbcd5p-4, 0x1.3b139bec44404p-4, -0x1.1110335b14c38p-4,  0x1.e1d492a0eecdcp-5,
            -0x1.aeda87a7663eep-5, 0x1.84b51252c4eacp-5, -0x1.5f264d13601a8p-5,  0x1.390939bce9866p-5,
            -0x1.0c9ce0b9afc47p-5, 0x1.ac9155540e1e2p-6, -0x1.3116147dbe896p-6,  0x1.730d29147aeb6p-7,
            -0x1.70128dcde068cp-8, 0x1.1a441d6670e52p-9, -0x1.37305c1042213p-11, 0x1.b43dbc8ec5479p-14,
            -0x1.22d46b5ca0a9ap-17 } }
};
static const double half_pi[2][2] = { { 0x1.921fb6p+0, -0x1.777a5cp-25 },
                                      { 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54 } };

/* base + base_lo + atan z for |z| <= 1 */
static wf__ref sum_atan(const wf__math *m, wf__ref z, wf__ref base, wf__ref base_lo)
{
    wf__ref s = m_mul(m, z, z), p = wf__m_poly(m, &atan_poly[m->wide], s, 0), cube = m_mul(m, z, s);
    wf__ref hi = m_add(m, base, z), lost = m_sub(m, base, hi); /* what that rounding lost: base is 0 or above |z| */
    lost = m_add(m, lost, z);
    wf__ref rest = m_fma(m, cube, p, base_lo);
    return m_add(m, hi, m_add(m, lost, rest));
}

wf__ref wf__m_atan(const wf__math *m, wf__ref x)
{
    const double *base = half_pi[m->wide];
    wf__ref ax = m_abs(m, x), large = m_gt(m, ax, 1);
    wf__ref one = m_k(m, 1), minus_one = m_k(m, -1);
    wf__ref num = m_select(m, large, minus_one, ax), den = m_select(m, large, ax, one), z = m_div(m, num, den);
    wf__ref hi = wf__m_select_k(m, large, base[0], 0), lo = wf__m_select_k(m, large, base[1], 0);
    return m_op2(m, WF__OP_copysign, sum_atan(m, z, hi, lo), x);
}

/* Quadrants: x > 0: 0 + atan(y/x) or, for |y| > |x|, pi/2 - atan(x/y); x < 0: pi - ..., pi/2 + ...; |y| in place of y. */
wf__ref wf__m_atan2(const wf__math *m, wf__ref y, wf__ref x)
{
    const double *base = half_pi[m->wide];
    wf__ref ay = m_abs(m, y), ax = m_abs(m, x), steep = m_op2(m, WF__OP_gt, ay, ax);
    wf__ref num = m_select(m, steep, ax, ay), den = m_select(m, steep, ay, ax), z = m_div(m, num, den);
    wf__ref zero = m_eq(m, ay, 0), equal = m_op2(m, WF__OP_eq, ay, ax), unit = wf__m_select_k(m, zero, 0, 1);
    z = m_select(m, equal, unit, z);                                                   /* 0/0 and inf/inf too */
    wf__ref x_bits = m_bits(m, x), left = m_op2(m, WF__OP_lt, x_bits, m_bits_k(m, 0)); /* x < 0 or -0 */
    wf__ref steep_bits = m_bits_k(m, m_sign_mask(m)), flat_bits = m_bits_k(m, 0);
    z = wf__m_flip_sign(m, z, m_op2(m, WF__OP_xor, x_bits, m_select(m, steep, steep_bits, flat_bits)));
    wf__ref turn = wf__m_select_k(m, left, 2 * base[0], 0), turn_lo = wf__m_select_k(m, left, 2 * base[1], 0);
    wf__ref hi = m_k(m, base[0]), lo = m_k(m, base[1]);
    hi = m_select(m, steep, hi, turn);
    lo = m_select(m, steep, lo, turn_lo);
    return m_op2(m, WF__OP_copysign, sum_atan(m, z, hi, lo), y);
}
