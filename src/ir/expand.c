/* expand.c - operations without a meaning of their own (EXPAND in ops.def) as other operations.
 *
 * What is built here is what these functions mean, everywhere: the interpreter and the constant folder evaluate the same
 * nodes that become vector code and device code, so all give the same bits. Code is free of branches (both sides of a
 * select are computed); only arguments of sin, cos, tan beyond the fast reduction go through a COLD node.
 */
#include "ir/math.h"

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

/* ---- shared pieces ---- */
wf__ref wf__m_select_k(const wf__math *m, wf__ref c, double a, double b)
{
    wf__ref yes = m_k(m, a), no = m_k(m, b);
    return m_select(m, c, yes, no);
}

/* c[0] + c[step] x + c[2 step] x^2 + ... + (k-th power of x) * sum, k the number of terms before; sum 0: without it. */
static wf__ref horner(const wf__math *m, const double *c, int n, int step, wf__ref x, wf__ref sum)
{
    for (int i = (n - 1) / step * step; i >= 0; i -= step) {
        wf__ref k = m_k(m, c[i]);
        sum = sum ? m_fma(m, sum, x, k) : k;
    }
    return sum;
}

wf__ref wf__m_poly(const wf__math *m, const wf__poly *p, wf__ref x, wf__ref x2)
{
    enum { LAST = 4 };
    if (p->n <= 10)
        return horner(m, p->c, p->n, 1, x, 0);
    if (!x2)
        x2 = m_mul(m, x, x);
    const double *top = p->c + LAST;
    wf__ref even = horner(m, top, p->n - LAST, 2, x2, 0), odd = horner(m, top + 1, p->n - LAST - 1, 2, x2, 0);
    return horner(m, p->c, LAST, 1, x, m_fma(m, odd, x, even));
}

wf__ref wf__m_flip_sign(const wf__math *m, wf__ref y, wf__ref bits)
{
    wf__ref sign = m_bit_op(m, WF__OP_and, bits, m_sign_mask(m));
    return m_float(m, m_op2(m, WF__OP_xor, m_bits(m, y), sign));
}

/* ---- dispatch ---- */
wf__ref wf__expand1(wf__ir *ir, unsigned op, wf__ref a)
{
    if (ir->status != WF_OK || !a)
        return 0;
    wf__math math = wf__math_of(ir, a), *m = &math;
    switch (op) {
    case WF__OP_rcp:
        return m_div(m, m_k(m, 1), a);
    case WF__OP_rsqrt: {
        wf__ref root = m_op1(m, WF__OP_sqrt, a);
        return m_div(m, m_k(m, 1), root);
    }
    case WF__OP_exp:
        return wf__m_exp(m, a);
    case WF__OP_exp2:
        return wf__m_exp2(m, a);
    case WF__OP_log:
        return wf__m_log(m, a);
    case WF__OP_log2:
        return wf__m_log2(m, a);
    case WF__OP_sin:
    case WF__OP_cos:
    case WF__OP_tan:
        return wf__m_trig(m, op, a);
    case WF__OP_atan:
        return wf__m_atan(m, a);
    case WF__OP_tanh:
        return wf__m_tanh(m, a);
    default:
        return wf__expand_basic(ir, op, a, 0);
    }
}

wf__ref wf__expand2(wf__ir *ir, unsigned op, wf__ref a, wf__ref b)
{
    if (ir->status != WF_OK || !a || !b)
        return 0;
    wf__math math = wf__math_of(ir, a);
    switch (op) {
    case WF__OP_pow:
        return wf__m_pow(&math, a, b);
    case WF__OP_atan2:
        return wf__m_atan2(&math, a, b);
    default:
        return wf__expand_basic(ir, op, a, b);
    }
}

wf__ref wf__expand3(wf__ir *ir, unsigned op, wf__ref a, wf__ref b, wf__ref c)
{
    if (ir->status != WF_OK || !a || !b || !c)
        return 0;
    if (op != WF__OP_clamp)
        return wf__expand_basic(ir, op, a, b);
    wf__ref low = wf__op2(ir, WF__OP_max, a, b);
    return wf__op2(ir, WF__OP_min, low, c);
}
