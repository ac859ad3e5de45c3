/* factors.c - what an element that values are joined into has to do with each of them: whether an extreme is equal to it, and
 * the product of the other factors. A product has mantissas and exponents apart, so that factors that are tiny do not make it
 * 0; what a factor of 0 leaves is the product of the others.
 */
#include "ad/ad.h"

static wf__ref number(wf__ir *ir, wf__ref like, double x) { return wf__const_f64(ir, wf__dtype(ir, like), x); }

wf__ref wf__is_result(wf__ir *ir, wf__ref x, wf__ref result)
{
    return wf__op2(ir, WF__OP_or, wf__op2(ir, WF__OP_eq, x, result), wf__op2(ir, WF__OP_ne, x, x));
}

wf__factor wf__factor_of(wf__ir *ir, wf__ref x)
{
    wf__ref zero = wf__op2(ir, WF__OP_eq, x, number(ir, x, 0));
    x = wf__op3(ir, WF__OP_select, zero, number(ir, x, 1), x);
    wf__ref m = wf__op1(ir, WF__OP_frexp, x), e = wf__op1(ir, WF__OP_frexp_exp, x);
    wf__ref low = wf__op2(ir, WF__OP_lt, wf__op1(ir, WF__OP_abs, m), number(ir, x, 0.7));
    m = wf__op2(ir, WF__OP_mul, m, wf__op3(ir, WF__OP_select, low, number(ir, x, 2), number(ir, x, 1)));
    e = wf__op2(ir, WF__OP_sub, e, wf__cast(ir, low, wf__dtype(ir, x)));
    return (wf__factor){ m, e, wf__cast(ir, zero, wf__dtype(ir, x)) };
}

wf__ref wf__product_without(wf__ir *ir, wf__factor all, wf__factor one)
{
    wf__ref rest =
        wf__op2(ir, WF__OP_ldexp, wf__op2(ir, WF__OP_div, all.m, one.m), wf__op2(ir, WF__OP_sub, all.e, one.e));
    wf__ref zeros = wf__op2(ir, WF__OP_sub, all.zero, one.zero);
    return wf__op3(ir, WF__OP_select, wf__op2(ir, WF__OP_eq, zeros, number(ir, zeros, 0)), rest, number(ir, rest, 0));
}
