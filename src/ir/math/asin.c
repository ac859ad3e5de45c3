/* asin.c - asin, acos and their pi-scaled forms.
 *
 * asin v = v + v^3 p(v^2) for |v| <= 1/2; beyond, asin |x| = pi/2 - 2 asin sqrt((1 - |x|) / 2), whose argument's square
 * is exact. All are base + v + v^3 p with base one of 0, pi/2, pi, added as a sum of two. Where |x| > 1 the root is
 * NaN.
 */
#include "ir/math/math.h"

/* (asin v - v) / v^3 in v^2 on |v| <= 1/2. Minimax, relative to asin v: 2^-31.671 and 2^-59.862 (tools/minimax.py). */
static const wf__poly asin_poly[2] = {
    { 6, { 0x1.55554cp-3, 0x1.33389ep-4, 0x1.6caab6p-5, 0x1.04af3p-5, 0x1.d792e8p-7, 0x1.33d3d4p-5 } },
    { 13,
      { 0x1.5555555555577p-3, 0x1.333333332e133p-4, 0x1.6db6db7212442p-5, 0x1.f1c71a950465p-6, 0x1.6e8bdeddeaa48p-6,
        0x1.1c49f08d5d16p-6, 0x1.ca1f885a6ae64p-7, 0x1.7585b72554e6ep-7, 0x1.613b7a6a67325p-7, 0x1.e606b16ffd0b9p-9,
        0x1.6396f678b84e4p-6, -0x1.57f565ce4e743p-6, 0x1.0b441f3d8d719p-5 } }
};

typedef struct half { /* |x| folded into [0, 1/2] */
    wf__ref large;    /* |x| > 1/2 */
    wf__ref s, z;     /* |x| or sqrt((1 - |x|) / 2), and its square */
} half;

static half fold(const wf__math *m, wf__ref ax)
{
    half h = { .large = m_gt(m, ax, 0.5) };
    wf__ref folded = m_fmak(m, ax, -0.5, m_k(m, 0.5)), square = m_mul(m, ax, ax);
    h.z = m_select(m, h.large, folded, square);
    wf__ref root = m_op1(m, WF__OP_sqrt, folded);
    h.s = m_select(m, h.large, root, ax);
    return h;
}

/* Returns base + base_lo + asin v in radians, or base + asin v / pi if scaled. z: v^2. base is 0 or at least |v|. */
static wf__ref sum_asin(const wf__math *m, bool scaled, wf__ref v, wf__ref z, wf__ref base, wf__ref base_lo)
{
    const double *inverse_pi[2] = { &wf__inverse_pi[0][m->wide], &wf__inverse_pi[1][m->wide] };
    wf__ref w = m_mul(m, z, wf__m_poly(m, &asin_poly[m->wide], z, 0)), lead = scaled ? m_mulk(m, v, *inverse_pi[0]) : v;
    wf__ref hi = m_add(m, base, lead), lost = m_sub(m, base, hi);
    lost = m_add(m, lost, lead);
    if (scaled) {
        lost = m_add(m, lost, m_fmak(m, v, *inverse_pi[0], m_neg(m, lead)));
        w = m_fmak(m, w, *inverse_pi[0], m_k(m, *inverse_pi[1]));
    } else
        lost = m_add(m, lost, base_lo);
    return m_add(m, hi, m_fma(m, v, w, lost));
}

wf__ref wf__m_asin(const wf__math *m, wf__ref x, bool scaled)
{
    half h = fold(m, m_abs(m, x));
    wf__ref v = m_mul(m, h.s, wf__m_select_k(m, h.large, -2, 1));
    wf__ref base = wf__m_select_k(m, h.large, scaled ? 0.5 : wf__half_pi[0][m->wide], 0);
    wf__ref base_lo = scaled ? 0 : wf__m_select_k(m, h.large, wf__half_pi[1][m->wide], 0);
    return m_op2(m, WF__OP_copysign, sum_asin(m, scaled, v, h.z, base, base_lo), x);
}

/* acos x is pi/2 - asin x for |x| <= 1/2, 2 asin s for x > 1/2, and pi - 2 asin s for x < -1/2. */
wf__ref wf__m_acos(const wf__math *m, wf__ref x, bool scaled)
{
    half h = fold(m, m_abs(m, x));
    wf__ref left = m_lt(m, x, 0), minus = m_neg(m, x), twice = m_mul(m, h.s, wf__m_select_k(m, left, -2, 2));
    wf__ref v = m_select(m, h.large, twice, minus);
    double quarter = scaled ? 0.5 : wf__half_pi[0][m->wide], quarter_lo = scaled ? 0 : wf__half_pi[1][m->wide];
    wf__ref middle = m_k(m, quarter), base = m_select(m, h.large, wf__m_select_k(m, left, 2 * quarter, 0), middle);
    wf__ref middle_lo = m_k(m, quarter_lo), edge_lo = wf__m_select_k(m, left, 2 * quarter_lo, 0);
    return sum_asin(m, scaled, v, h.z, base, m_select(m, h.large, edge_lo, middle_lo));
}
