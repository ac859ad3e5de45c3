/* tanh.c - hyperbolic tangent: an odd minimax polynomial for |x| < 0.8, else 1 - 2 / (e^(2|x|) + 1), where the
 * quotient is small enough that its errors hardly count. Both are computed; the exponential needs no care for overflow
 * because tanh is 1 to the last bit long before.
 */
#include "ir/math/math.h"

/* (tanh x - x) / x^3 in x^2 on |x| <= 0.8. Minimax, relative to tanh x: 2^-28.0 and 2^-56.3 (Remez exchange; each
 * coefficient rounded in turn, the later ones fitted again). */
static const wf__poly tanh_poly[2] = {
    { 6, { -0x1.55553ep-2, 0x1.110b58p-3, -0x1.b92b2ep-5, 0x1.5d160cp-6, -0x1.e5e522p-8, 0x1.a0086p-10 } },
    { 13,
      { -0x1.5555555555521p-2, 0x1.111111110de53p-3, -0x1.ba1ba1b7f460fp-5, 0x1.664f482433521p-6, -0x1.226e2bbef1a5p-7,
        0x1.d6d28ccc2eaf8p-9, -0x1.7d94e78e3949dp-10, 0x1.34e40de374fa4p-11, -0x1.f051ec9102f91p-13,
        0x1.816cf9ba4eb1bp-14, -0x1.0c6f46e3f4bd6p-15, 0x1.1d9ee231d3d99p-17, -0x1.485d8ac9bb01cp-20 } }
};

wf__ref wf__m_tanh(const wf__math *m, wf__ref x)
{
    static const double beyond[2] = { 10, 20 }; /* 1 - tanh is below a quarter of an ulp */
    wf__ref ax = m_abs(m, x), s = m_mul(m, ax, ax), p = wf__m_poly(m, &tanh_poly[m->wide], s, 0),
            cube = m_mul(m, ax, s);
    wf__ref small = m_fma(m, cube, p, ax);
    wf__ref bounded = m_min(m, ax, beyond[m->wide]), twice = m_add(m, bounded, bounded);
    wf__m_power e = wf__m_exp_reduced(m, twice, m_k(m, m->magic + m->bias));
    wf__ref denominator = m_fma(m, e.expm1, e.scale, m_addk(m, e.scale, 1));
    wf__ref quotient = m_div(m, m_k(m, 2), denominator);
    wf__ref large = m_sub(m, m_k(m, 1), quotient), is_small = m_lt(m, ax, 0.8);
    return m_op2(m, WF__OP_copysign, m_select(m, is_small, small, large), x);
}
