/* math_tanh.c - hyperbolic tangent: an odd minimax polynomial for |x| < 0.7, else 1 - 2 / (e^(2|x|) + 1), where the quotient
 * is small enough that its errors hardly count. Both are computed; the exponential needs no care for overflow because
 * tanh is 1 to the last bit long before.
 */
#include "ir/math.h"

/* (tanh x - x) / x^3 in x^2 on |x| <= 0.7. Minimax, relative to tanh x: 2^-30.4 and 2^-61.3 (Remez exchange; each coefficient
 * rounded in turn, the later ones fitted again). */
static const wf__poly tanh_poly[2] = {
    { 6, { -0x1.55555p-2, 0x1.110f52p-3, -0x1.b9bb3cp-5, 0x1.617feep-6, -0x1.029740p-7, 0x1.f256p-10 } },
    { 13,
      { -0x1.5555555555553p-2, 0x1.1111111110e1dp-3, -0x1.ba1ba1b9f1c38p-5, 0x1.664f4879640d3p-6, -0x1.226e3420e08afp-7,
        0x1.d6d39a96451f5p-9, -0x1.7da03e0d44b4bp-10, 0x1.353775184660dp-11, -0x1.f39c4713de212p-13,
        0x1.8ca6fb8307429p-14, -0x1.252e87fc01644p-15, 0x1.5d4adb5c4efd5p-17, -0x1.d9b14c559fc22p-20 } }
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
    wf__ref large = m_sub(m, m_k(m, 1), quotient), is_small = m_lt(m, ax, 0.7);
    return m_op2(m, WF__OP_copysign, m_select(m, is_small, small, large), x);
}
