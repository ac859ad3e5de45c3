/* terms.c - DERIVED nodes whose derivatives are sums of terms: each is the derivative of an argument times a factor. The
 * factors are recorded where a sweep meets the node, so a derivative that is not differentiated does not have them.
 *
 *   by a factor       value times factor, where the first derivative takes the factor for a constant
 *   by a logarithm    a value other than 0; the argument has the derivative of the logarithm of its absolute value
 *   guarded           x, or 0 where x is NaN as a product of 0 and an infinite slope
 *   zero              1 if x is 0, else 0, with the derivative of x where it is 0
 *   square            any value, with the derivative of x^2 where x is 0
 *   product           `rest` times k further factors that are 0
 *
 * The product is 0 unless k = 0, but its derivatives are not: it is `rest` times the elementary symmetric polynomial e_k
 * of the factors that are 0. With their sum p1 and the sum p2 of their squares, e_1 = p1 and e_2 = (p1^2 - p2) / 2. Where e_k is
 * not known so, its derivatives below the order k are 0, and others are taken for NaN.
 */
#include "ad/ad.h"
#include <math.h>

enum { BY_FACTOR = (int)WF__TERM_RULES, BY_LOGARITHM, GUARDED, ZERO, SQUARE, PRODUCT };
_Static_assert((int)PRODUCT <= (int)WF__LAST_TERM_RULE, "the rules have numbers of their own");

static wf__ref number(wf__ir *ir, wf__ref like, double x) { return wf__const_f64(ir, wf__dtype(ir, like), x); }

static wf__ref derived(wf__ir *ir, wf__ref value, const wf__ref *arguments, uint32_t n, uint32_t rule)
{
    return ir->status == WF_OK ? wf__derived(ir, value, wf__tuple(ir, arguments, n), rule, 0) : 0;
}

wf__ref wf__by_factor(wf__ir *ir, wf__ref value, wf__ref factor)
{
    const wf__ref both[] = { value, factor };
    return derived(ir, wf__op2(ir, WF__OP_mul, value, factor), both, 2, BY_FACTOR);
}

wf__ref wf__by_logarithm(wf__ir *ir, wf__ref value, wf__ref logarithm)
{
    return derived(ir, value, &logarithm, 1, BY_LOGARITHM);
}

wf__ref wf__guarded(wf__ir *ir, wf__ref g, wf__ref x)
{
    if (!x || ir->status != WF_OK)
        return 0;
    wf__ref zero = number(ir, x, 0), none = wf__op2(ir, WF__OP_eq, g, zero);
    return derived(ir, wf__op3(ir, WF__OP_select, none, zero, x), &x, 1, GUARDED);
}

wf__ref wf__zero_of(wf__ir *ir, wf__ref x) { return wf__is_zero(ir, x, wf__op2(ir, WF__OP_eq, x, number(ir, x, 0))); }

wf__ref wf__is_zero(wf__ir *ir, wf__ref x, wf__ref zero)
{
    return derived(ir, wf__cast(ir, zero, wf__dtype(ir, x)), &x, 1, ZERO);
}

wf__ref wf__with_square(wf__ir *ir, wf__ref value, wf__ref x) { return derived(ir, value, &x, 1, SQUARE); }

wf__ref wf__beside_zeros(wf__ir *ir, wf__ref rest, wf__ref zeros, wf__ref sum, wf__ref squares)
{
    const wf__ref arguments[] = { rest, zeros, sum, squares };
    wf__ref none = wf__op2(ir, WF__OP_eq, zeros, number(ir, zeros, 0));
    return derived(ir, wf__op3(ir, WF__OP_select, none, rest, number(ir, rest, 0)), arguments, squares ? 4 : 3,
                   PRODUCT);
}

/* Returns x - x, with the derivative of x. */
static wf__ref change_of(wf__ir *ir, wf__ref x) { return wf__op2(ir, WF__OP_sub, x, derived(ir, x, NULL, 0, 0)); }

/* Returns 0, whose derivatives below the order are 0, and NaN from there on where they depend on x, which is 0. */
static wf__ref unknown(wf__ir *ir, wf__ref x, int order)
{
    wf__ref c = number(ir, x, NAN);
    for (; order && ir->status == WF_OK; --order) {
        const wf__ref of = wf__by_factor(ir, x, c);
        c = derived(ir, x, &of, 1, 0);
    }
    return c;
}

static uint32_t terms_of_product(wf__ir *ir, const wf__ref *argument, bool squares, wf__term *term)
{
    const wf__ref rest = argument[0], p1 = change_of(ir, argument[2]), one = number(ir, rest, 1);
    const int known = squares ? 2 : 1;
    wf__ref of_rest = unknown(ir, p1, known + 1), of_sum = unknown(ir, p1, known), is[3];
    for (int k = 0; k <= known; ++k)
        is[k] = wf__op2(ir, WF__OP_eq, argument[1], number(ir, argument[1], k));
    if (squares) {
        wf__ref half = number(ir, rest, 0.5), none = number(ir, rest, 0), p2 = change_of(ir, argument[3]);
        wf__ref two = wf__op2(ir, WF__OP_mul, wf__op2(ir, WF__OP_sub, wf__op2(ir, WF__OP_mul, p1, p1), p2), half);
        of_rest = wf__op3(ir, WF__OP_select, is[2], two, of_rest);
        of_sum = wf__op3(ir, WF__OP_select, is[2], p1, of_sum);
        wf__ref of_squares =
            wf__op3(ir, WF__OP_select, is[2], wf__op2(ir, WF__OP_mul, rest, wf__op1(ir, WF__OP_neg, half)), none);
        term[2] = (wf__term){ .of = argument[3], .factor = of_squares };
    }
    of_rest = wf__op3(ir, WF__OP_select, is[1], p1, of_rest);
    of_sum = wf__op3(ir, WF__OP_select, is[1], one, of_sum);
    term[0] = (wf__term){ .of = rest, .factor = wf__op3(ir, WF__OP_select, is[0], one, of_rest) };
    term[1] = (wf__term){ argument[2], wf__op2(ir, WF__OP_mul, rest, of_sum), wf__op1(ir, WF__OP_not, is[0]) };
    return squares ? 3 : 2;
}

uint32_t wf__term_operands(const wf__ir *ir, wf__ref r, wf__ref *operand)
{
    const wf__node *n = &ir->node[r];
    const uint32_t arguments = wf__tuple_len(ir, n->b);
    uint32_t count = 0;
    operand[count++] = wf__tuple_at(ir, n->b)[0];
    for (uint32_t k = 2; k < arguments && n->c == PRODUCT; ++k)
        operand[count++] = wf__tuple_at(ir, n->b)[k];
    return count;
}

uint32_t wf__terms_of(wf__ir *ir, wf__ref r, wf__term term[WF__MOST_TERMS])
{
    const wf__node n = ir->node[r];
    const uint32_t arguments = wf__tuple_len(ir, n.b);
    wf__ref argument[4] = { 0 }, x;
    for (uint32_t k = 0; k < arguments && k < WF__COUNT(argument); ++k)
        argument[k] = wf__tuple_at(ir, n.b)[k];
    x = argument[0];
    *term = (wf__term){ .of = x };
    switch (n.c) {
    case BY_FACTOR:
        term->factor = argument[1];
        return 1;
    case BY_LOGARITHM:
        term->factor = r;
        return 1;
    case GUARDED:
        term->where = wf__op2(ir, WF__OP_or, wf__op2(ir, WF__OP_eq, x, x), wf__op2(ir, WF__OP_ne, r, r));
        return 1;
    case ZERO:
        term->factor = n.a;
        return 1;
    case SQUARE:
        term->factor = wf__op2(ir, WF__OP_add, x, x);
        term->where = wf__op2(ir, WF__OP_eq, x, number(ir, x, 0));
        return 1;
    default:
        return terms_of_product(ir, argument, arguments == 4, term);
    }
}
