/* fast.c - rewrites operations as WF_FLAG_FAST_MATH allows, before they are lowered. No code generator does this, so
 * that a fast kernel too has one result on every machine, for every vector width and in the interpreter.
 *
 * For f32 and f64, and only on the operations of the recording (the library's own expansions are exact where they are
 * written to be):
 *   a*b + c, a*b - c, c - a*b          one fma
 *   x / constant                       x * (1 / constant)
 *   (x * c1) * c2, (x + c1) + c2       x * (c1 * c2), x + (c1 + c2), constants
 *   x*0, x - x, x/x, x + 0, 0 - x      0, 0, 1, x, -x: neither NaN nor infinities are expected, nor the sign of a zero
 *   min, max, fmin, fmax               one comparison: neither NaN nor the order of zeros is looked at
 */
#include "ir/pass/pass.h"
#include <math.h>

typedef struct fast {
    const wf__ir *in;
    const wf__ref *map;
    wf__ir *out;
    const wf__node *n;
} fast;

static const wf__node *source(const fast *f, wf__ref r) { return &f->in->node[r]; }

static bool constant(const fast *f, wf__ref r, double *value)
{
    const wf__node *n = source(f, r);
    if (n->op != WF__CONST)
        return false;
    uint64_t bits = wf__bits(n);
    wf__eval_cast(WF_F64, n->dtype, value, &bits, 1);
    return true;
}

static bool is_number(const fast *f, wf__ref r, double value)
{
    double have;
    return constant(f, r, &have) && have == value;
}

static wf__ref number(const fast *f, double value) { return wf__const_f64(f->out, f->n->dtype, value); }
static wf__ref op2(const fast *f, unsigned op, wf__ref a, wf__ref b) { return wf__op2(f->out, op, a, b); }

/* Records sign * (a*b) + c, where `product` is a*b. */
static wf__ref fused(const fast *f, wf__ref product, bool negative, wf__ref c)
{
    const wf__node *p = source(f, product);
    wf__ref a = f->map[p->a], b = f->map[p->b];
    return wf__op3(f->out, WF__OP_fma, negative ? wf__op1(f->out, WF__OP_neg, a) : a, b, c);
}

static bool is_product(const fast *f, wf__ref r) { return source(f, r)->op == WF__OP_mul; }

/* Joins the constants of (x op c1) op c2. Builders put constants on the right. */
static wf__ref gather_constants(const fast *f, unsigned op)
{
    const wf__node *inner = source(f, f->n->a);
    double c1, c2;
    if (inner->op != op || !constant(f, inner->b, &c1) || !constant(f, f->n->b, &c2))
        return 0;
    wf__ref both = number(f, c1);
    both = op2(f, op, both, number(f, c2));
    return op2(f, op, f->map[inner->a], both);
}

static wf__ref fast_add(const fast *f)
{
    const wf__node *n = f->n;
    wf__ref gathered;
    if (is_number(f, n->b, 0))
        return f->map[n->a];
    if ((gathered = gather_constants(f, WF__OP_add)) != 0)
        return gathered;
    if (is_product(f, n->a))
        return fused(f, n->a, false, f->map[n->b]);
    return is_product(f, n->b) ? fused(f, n->b, false, f->map[n->a]) : 0;
}

static wf__ref fast_sub(const fast *f)
{
    const wf__node *n = f->n;
    if (n->a == n->b)
        return number(f, 0);
    if (is_number(f, n->b, 0))
        return f->map[n->a];
    if (is_number(f, n->a, 0))
        return wf__op1(f->out, WF__OP_neg, f->map[n->b]);
    if (is_product(f, n->a))
        return fused(f, n->a, false, wf__op1(f->out, WF__OP_neg, f->map[n->b]));
    return is_product(f, n->b) ? fused(f, n->b, true, f->map[n->a]) : 0;
}

static wf__ref fast_mul(const fast *f)
{
    return is_number(f, f->n->b, 0) ? number(f, 0) : gather_constants(f, WF__OP_mul);
}

static wf__ref fast_div(const fast *f)
{
    const wf__node *n = f->n;
    double c, least = n->dtype == WF_F32 ? 0x1p-126 : 0x1p-1022;
    if (n->a == n->b)
        return number(f, 1);
    if (!constant(f, n->b, &c) ||
        !(fabs(c) >= least && fabs(c) <= 1 / least)) /* the constant and its inverse are normal */
        return 0;
    return op2(f, WF__OP_mul, f->map[n->a], op2(f, WF__OP_div, number(f, 1), f->map[n->b]));
}

static wf__ref chosen(const fast *f, unsigned comparison)
{
    wf__ref a = f->map[f->n->a], b = f->map[f->n->b];
    return wf__op3(f->out, WF__OP_select, op2(f, comparison, a, b), a, b);
}

wf__ref wf__fast(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out)
{
    fast f = { .in = in, .map = map, .out = out, .n = &in->node[r] };
    if (f.n->dtype != WF_F32 && f.n->dtype != WF_F64)
        return 0;
    switch (f.n->op) {
    case WF__OP_add:
        return fast_add(&f);
    case WF__OP_sub:
        return fast_sub(&f);
    case WF__OP_mul:
        return fast_mul(&f);
    case WF__OP_div:
        return fast_div(&f);
    case WF__OP_min:
    case WF__OP_fmin:
        return chosen(&f, WF__OP_lt);
    case WF__OP_max:
    case WF__OP_fmax:
        return chosen(&f, WF__OP_gt);
    default:
        return 0;
    }
}
