/* math.c - operations of several nodes that the math expansions share: polynomials, choices between constants, signs. */
#include "ir/math/math.h"

wf__math wf__math_of(wf__ir *ir, wf__ref x)
{
    bool wide = wf__dtype(ir, x) == WF_F64;
    return (wf__math){ .ir = ir,
                       .t = wide ? WF_F64 : WF_F32,
                       .i = wide ? WF_I64 : WF_I32,
                       .wide = wide,
                       .mantissa = wide ? 52 : 23,
                       .bias = wide ? 1023 : 127,
                       .magic = wide ? 0x1.8p52 : 0x1.8p23 };
}

wf__ref wf__m_select_k(const wf__math *m, wf__ref c, double a, double b)
{
    wf__ref yes = m_k(m, a), no = m_k(m, b);
    return m_select(m, c, yes, no);
}

/* Returns c[0] + c[1] x + ... + x^n sum. sum: 0 = without the last term. */
static wf__ref horner(const wf__math *m, const double *c, int n, wf__ref x, wf__ref sum)
{
    for (int i = n - 1; i >= 0; --i) {
        wf__ref k = m_k(m, c[i]);
        sum = sum ? m_fma(m, sum, x, k) : k;
    }
    return sum;
}

wf__ref wf__m_poly(const wf__math *m, const wf__poly *p, wf__ref x, wf__ref x2)
{
    enum { BLOCK = 4 };
    if (p->n <= 10)
        return horner(m, p->c, p->n, x, 0);
    if (!x2)
        x2 = m_mul(m, x, x);
    wf__ref x4 = m_mul(m, x2, x2), sum = 0;
    for (int first = (p->n - 1) / BLOCK * BLOCK; first > 0; first -= BLOCK) {
        int left = p->n - first;
        wf__ref block = horner(m, p->c + first, left < BLOCK ? left : BLOCK, x, 0);
        sum = sum ? m_fma(m, sum, x4, block) : block;
    }
    return horner(m, p->c, BLOCK, x, sum);
}

wf__ref wf__m_flip_sign(const wf__math *m, wf__ref y, wf__ref bits)
{
    wf__ref sign = m_bit_op(m, WF__OP_and, bits, m_sign_mask(m));
    return m_float(m, m_op2(m, WF__OP_xor, m_bits(m, y), sign));
}
