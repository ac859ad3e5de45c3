/* factors.c - what an element that values are joined into has to do with each of them: whether an extreme is equal to it, and
 * the product of the other factors. A product has mantissas and exponents apart, so that factors that are tiny do not make it
 * 0; what a factor of 0 leaves is the product of the others.
 *
 * Beside k other factors of 0 the product of the others is 0, but its derivatives are not: it is the product of the rest and
 * of these k factors, the elementary symmetric polynomial e_k of the factors of 0. With their sum p1 and the sum p2 of
 * their squares, e_1 = p1 and e_2 = (p1^2 - p2) / 2. The number of zeros has the derivative of p1, and the sum of exponents
 * that of p2, so that no further sums are computed.
 */
#include "ad/active.h"
#include <math.h>

static wf__ref number(wf__ir *ir, wf__ref like, double x) { return wf__const_f64(ir, wf__dtype(ir, like), x); }

wf__ref wf__is_result(wf__ir *ir, wf__ref x, wf__ref result)
{
    return wf__op2(ir, WF__OP_or, wf__op2(ir, WF__OP_eq, x, result), wf__op2(ir, WF__OP_ne, x, x));
}

wf__ref wf__zero_of(wf__ir *ir, wf__ref x, unsigned t)
{
    wf__ref zero = wf__op2(ir, WF__OP_eq, x, number(ir, x, 0)),
            own = wf__op3(ir, WF__OP_select, zero, x, number(ir, x, 0));
    return wf__with_derivative(ir, wf__cast(ir, zero, t), wf__cast(ir, own, t));
}

wf__factor wf__factor_of(wf__ir *ir, wf__ref x)
{
    wf__ref zero = wf__op2(ir, WF__OP_eq, x, number(ir, x, 0)), is_zero = wf__zero_of(ir, x, wf__dtype(ir, x));
    wf__ref square = wf__op3(ir, WF__OP_select, zero, wf__op2(ir, WF__OP_mul, x, x), number(ir, x, 0));
    x = wf__op3(ir, WF__OP_select, zero, number(ir, x, 1), x);
    wf__ref m = wf__op1(ir, WF__OP_frexp, x), e = wf__op1(ir, WF__OP_frexp_exp, x);
    wf__ref low = wf__op2(ir, WF__OP_lt, wf__op1(ir, WF__OP_abs, m), number(ir, x, 0.7));
    m = wf__op2(ir, WF__OP_mul, m, wf__op3(ir, WF__OP_select, low, number(ir, x, 2), number(ir, x, 1)));
    e = wf__op2(ir, WF__OP_sub, e, wf__cast(ir, low, wf__dtype(ir, x)));
    return (wf__factor){ m, wf__with_derivative(ir, e, square), is_zero };
}

wf__ref wf__change_of(wf__ir *ir, wf__ref x) { return wf__op2(ir, WF__OP_sub, x, wf__derived(ir, x, 0, 0, 0)); }

/* Returns a value that is 0, as x is, and whose derivatives are 0 below the order, and NaN from there on where they depend on
 * x. */
static wf__ref unknown(wf__ir *ir, wf__ref x, int order)
{
    wf__ref c = number(ir, x, NAN);
    for (; order && ir->status == WF_OK; --order)
        c = wf__with_derivative(ir, x, wf__by_factor(ir, x, c));
    return c;
}

wf__ref wf__beside_zeros(wf__ir *ir, wf__ref rest, wf__ref zeros, wf__ref sum, wf__ref squares)
{
    wf__ref none = number(ir, rest, 0), is[3], of;
    for (int k = 0; k < 3; ++k)
        is[k] = wf__op2(ir, WF__OP_eq, zeros, number(ir, zeros, k));
    of = wf__op2(ir, WF__OP_mul, rest, unknown(ir, sum, squares ? 3 : 2));
    if (squares) {
        wf__ref two = wf__op2(ir, WF__OP_sub, wf__op2(ir, WF__OP_mul, sum, sum), squares);
        two = wf__op2(ir, WF__OP_mul, two, number(ir, two, 0.5));
        of = wf__op3(ir, WF__OP_select, is[2], wf__op2(ir, WF__OP_mul, rest, two), of);
    }
    of = wf__op3(ir, WF__OP_select, is[1], wf__op2(ir, WF__OP_mul, rest, sum), of);
    of = wf__op3(ir, WF__OP_select, is[0], rest, of);
    return wf__with_derivative(ir, wf__op3(ir, WF__OP_select, is[0], rest, none), of);
}

wf__ref wf__product_of(wf__ir *ir, wf__factor all)
{
    return wf__beside_zeros(ir, wf__op2(ir, WF__OP_ldexp, all.m, all.e), all.zero, wf__change_of(ir, all.zero),
                            wf__change_of(ir, all.e));
}

wf__ref wf__product_without(wf__ir *ir, wf__factor all, wf__factor one)
{
    all.m = wf__op2(ir, WF__OP_div, all.m, one.m);
    all.e = wf__op2(ir, WF__OP_sub, all.e, one.e);
    all.zero = wf__op2(ir, WF__OP_sub, all.zero, one.zero);
    return wf__product_of(ir, all);
}
