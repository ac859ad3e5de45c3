/* factors.c - what an element that values are joined into has to do with each of them: whether an extreme is equal to it, and
 * the product of the other factors. A product has mantissas and exponents apart, so that factors that are tiny do not make it
 * 0; what a factor of 0 leaves is the product of the others.
 *
 * Beside other factors of 0 the product of the others is 0, but its derivatives are not (terms.c). The number of zeros has the
 * derivative of their sum, and the sum of exponents that of their squares, so that no further sums are computed.
 */
#include "ad/ad.h"

static wf__ref number(wf__ir *ir, wf__ref like, double x) { return wf__const_f64(ir, wf__dtype(ir, like), x); }

wf__ref wf__is_result(wf__ir *ir, wf__ref x, wf__ref result)
{
    return wf__op2(ir, WF__OP_or, wf__op2(ir, WF__OP_eq, x, result), wf__op2(ir, WF__OP_ne, x, x));
}

wf__factor wf__factor_of(wf__ir *ir, wf__ref x)
{
    const wf__ref own = x;
    wf__ref zero = wf__op2(ir, WF__OP_eq, x, number(ir, x, 0));
    x = wf__op3(ir, WF__OP_select, zero, number(ir, x, 1), x);
    wf__ref m = wf__op1(ir, WF__OP_frexp, x), e = wf__op1(ir, WF__OP_frexp_exp, x);
    wf__ref low = wf__op2(ir, WF__OP_lt, wf__op1(ir, WF__OP_abs, m), number(ir, x, 0.7));
    m = wf__op2(ir, WF__OP_mul, m, wf__op3(ir, WF__OP_select, low, number(ir, x, 2), number(ir, x, 1)));
    e = wf__op2(ir, WF__OP_sub, e, wf__cast(ir, low, wf__dtype(ir, x)));
    return (wf__factor){ m, wf__with_square(ir, e, own), wf__is_zero(ir, own, zero) };
}

wf__ref wf__product_of(wf__ir *ir, wf__factor all)
{
    return wf__beside_zeros(ir, wf__op2(ir, WF__OP_ldexp, all.m, all.e), all.zero, all.zero, all.e);
}

wf__ref wf__product_without(wf__ir *ir, wf__factor all, wf__factor one)
{
    all.m = wf__op2(ir, WF__OP_div, all.m, one.m);
    all.e = wf__op2(ir, WF__OP_sub, all.e, one.e);
    all.zero = wf__op2(ir, WF__OP_sub, all.zero, one.zero);
    return wf__product_of(ir, all);
}
