/* whole.c - derivatives of functions of complex numbers, which recordings compute from their parts. f'(z) = p + i q is
 * the derivative of the real part by Re z, and of the imaginary part by Im z (p), and of the imaginary part by Re z (q)
 * and the real part by Im z (-q).
 */
#include "ad/rule.h"
#include "ad/sweep.h"

static const double ln2 = 0x1.62e42fefa39efp-1, ln10 = 0x1.26bb1bbb55516p+1;

static wf__ref op1(wf__ir *ir, unsigned op, wf__ref a) { return wf__op1(ir, op, a); }
static wf__ref op2(wf__ir *ir, unsigned op, wf__ref a, wf__ref b) { return wf__op2(ir, op, a, b); }

static wf__ref part_of(wf__ir *ir, const wf__whole *whole, unsigned k, bool imag, unsigned t)
{
    wf__ref part = whole->part[k][imag];
    return part ? wf__computed(ir, part) : wf__const_f64(ir, t, 0);
}

static wf__ref operand_of(wf__ir *ir, const wf__whole *whole, unsigned k, unsigned t)
{
    wf__ref re = part_of(ir, whole, k, false, t);
    return wf__complex(ir, re, part_of(ir, whole, k, true, t));
}

/* b a^(b - 1), and 0 for b = 0. */
static wf__ref power_by_base(wf__ir *ir, wf__ref a, wf__ref b, wf__ref zero)
{
    wf__ref less = op2(ir, WF__OP_sub, b, wf__const_f64(ir, wf__dtype(ir, b), 1));
    wf__ref slope = op2(ir, WF__OP_mul, b, op2(ir, WF__OP_pow, a, less));
    return wf__op3(ir, WF__OP_select, op2(ir, WF__OP_eq, b, zero), zero, slope);
}

/* a^b log a, and 0 for a = 0 where the real part of b is not negative. */
static wf__ref power_by_exponent(wf__ir *ir, wf__ref a, wf__ref b, wf__ref zero)
{
    wf__ref power = op2(ir, WF__OP_pow, a, b), slope = op2(ir, WF__OP_mul, power, op1(ir, WF__OP_log, a));
    wf__ref none = op2(ir, WF__OP_ge, wf__real(ir, b), wf__real(ir, zero));
    none = op2(ir, WF__OP_and, none, op2(ir, WF__OP_eq, a, zero));
    return wf__op3(ir, WF__OP_select, none, zero, slope);
}

/* Returns 1 / (f(1 + c a) f(1 - c a)), with f = sqrt or the identity and c = i or 1. */
static wf__ref inverse_of_product(wf__ir *ir, wf__ref a, bool root, bool turned)
{
    wf__ref b = a, one = wf__const_f64(ir, wf__dtype(ir, wf__real(ir, a)), 1);
    if (turned) {
        wf__ref re = wf__real(ir, a), im = op1(ir, WF__OP_neg, wf__imag(ir, a));
        b = wf__complex(ir, im, re);
    }
    wf__ref more = op2(ir, WF__OP_add, one, b), less = op2(ir, WF__OP_sub, one, b);
    if (root) {
        more = op1(ir, WF__OP_sqrt, more);
        less = op1(ir, WF__OP_sqrt, less);
    }
    more = op1(ir, WF__OP_rcp, more);
    return op2(ir, WF__OP_mul, more, op1(ir, WF__OP_rcp, less));
}

/* The derivative of a function of one operand that is a circular or hyperbolic function or their inverse. */
static wf__ref derivative_of_trig(wf__ir *ir, unsigned op, wf__ref a)
{
    wf__ref r, one = wf__const_f64(ir, wf__dtype(ir, wf__real(ir, a)), 1);
    switch (op) {
    case WF__OP_sin:
        return op1(ir, WF__OP_cos, a);
    case WF__OP_cos:
        return op1(ir, WF__OP_neg, op1(ir, WF__OP_sin, a));
    case WF__OP_sinh:
        return op1(ir, WF__OP_cosh, a);
    case WF__OP_cosh:
        return op1(ir, WF__OP_sinh, a);
    case WF__OP_tan:
    case WF__OP_tanh:
        r = op1(ir, op == WF__OP_tan ? WF__OP_cos : WF__OP_cosh, a);
        r = op1(ir, WF__OP_rcp, r);
        return op2(ir, WF__OP_mul, r, r);
    case WF__OP_asin:
        return inverse_of_product(ir, a, true, false);
    case WF__OP_acos:
        return op1(ir, WF__OP_neg, inverse_of_product(ir, a, true, false));
    case WF__OP_asinh:
        return inverse_of_product(ir, a, true, true);
    case WF__OP_acosh:
        r = op1(ir, WF__OP_sqrt, op2(ir, WF__OP_sub, a, one));
        r = op1(ir, WF__OP_rcp, r);
        a = op1(ir, WF__OP_sqrt, op2(ir, WF__OP_add, a, one));
        return op2(ir, WF__OP_mul, r, op1(ir, WF__OP_rcp, a));
    default: /* atan, atanh */
        return inverse_of_product(ir, a, false, op == WF__OP_atan);
    }
}

/* Returns the derivative with respect to operand k, with parts of dtype t. */
static wf__ref derivative(wf__ir *ir, const wf__whole *whole, unsigned k, unsigned t)
{
    wf__ref a = operand_of(ir, whole, 0, t), b = 0, r;
    if (wf__arity(whole->op) == 2)
        b = operand_of(ir, whole, 1, t);
    wf__ref zero = wf__const_f64(ir, t, 0);
    zero = wf__complex(ir, zero, zero);
    if (ir->status != WF_OK)
        return 0;
    switch (whole->op) {
    case WF__OP_exp:
    case WF__OP_expm1:
        return op1(ir, WF__OP_exp, a);
    case WF__OP_exp2:
        r = op1(ir, WF__OP_exp2, a);
        return op2(ir, WF__OP_mul, r, wf__const_f64(ir, t, ln2));
    case WF__OP_log:
        return op1(ir, WF__OP_rcp, a);
    case WF__OP_log2:
    case WF__OP_log10:
        r = op1(ir, WF__OP_rcp, a);
        return op2(ir, WF__OP_mul, r, wf__const_f64(ir, t, whole->op == WF__OP_log2 ? 1 / ln2 : 1 / ln10));
    case WF__OP_log1p:
        return op1(ir, WF__OP_rcp, op2(ir, WF__OP_add, a, wf__const_f64(ir, t, 1)));
    case WF__OP_sqrt:
        r = op1(ir, WF__OP_sqrt, a);
        return op2(ir, WF__OP_div, wf__const_f64(ir, t, 0.5), r);
    case WF__OP_rcp:
        r = op1(ir, WF__OP_rcp, a);
        return op1(ir, WF__OP_neg, op2(ir, WF__OP_mul, r, r));
    case WF__OP_div:
        r = op1(ir, WF__OP_rcp, b);
        return k == 0 ? r : op1(ir, WF__OP_neg, op2(ir, WF__OP_mul, r, op2(ir, WF__OP_div, a, b)));
    case WF__OP_pow:
        return k == 0 ? power_by_base(ir, a, b, zero) : power_by_exponent(ir, a, b, zero);
    default:
        return derivative_of_trig(ir, whole->op, a);
    }
}

wf__ref wf__whole_term(wf__ir *ir, const wf__whole *whole, wf__ref r, unsigned k, bool imag, wf__ref g)
{
    const unsigned t = wf__adjoint_dtype(wf__dtype(ir, r));
    if (whole->op == WF__OP_abs) {
        wf__rule_names names = { .g = g, .t = t };
        wf__ref condition;
        names.a = part_of(ir, whole, 0, false, t);
        names.b = part_of(ir, whole, 0, true, t);
        names.r = wf__is_half(wf__dtype(ir, r)) ? op2(ir, WF__OP_hypot, names.a, names.b) : r;
        return wf__rule_term(ir, wf__rule_of(WF__OP_hypot), imag, &names, &condition);
    }
    wf__ref slope = derivative(ir, whole, k, t);
    if (!slope)
        return 0;
    slope = whole->imag == imag ? wf__real(ir, slope) : wf__imag(ir, slope);
    if (imag && !whole->imag)
        slope = op1(ir, WF__OP_neg, slope);
    return wf__guarded(ir, g, op2(ir, WF__OP_mul, g, slope));
}
