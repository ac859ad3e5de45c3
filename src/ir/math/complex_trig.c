/* complex_trig.c - trigonometric and hyperbolic functions of complex numbers and their inverses, as operations on the
 * parts. Branch cuts and special values are those of C's Annex G. Sums whose terms have equal signs keep each part of a
 * result accurate to a few units of its last place.
 *
 * Of each pair of functions that differ by factors of i one is recorded: sin(z) = -i sinh(iz) is sinh of the number with
 * its parts swapped, swapped back.
 *
 * Sources: W. Kahan, Branch cuts for complex elementary functions, 1987 (the inverse functions); NIST DLMF 4.35 (tanh by
 * sinh, cosh, sin and cos).
 */
#include "ir/math/complex.h"
#include <math.h>

static const double half_pi = 0x1.921fb54442d18p+0, ln2 = 0x1.62e42fefa39efp-1;

static pair swapped(pair z) { return (pair){ z.im, z.re }; }

static wf__ref not_finite(wf__ir *ir, wf__ref x) { return op1(ir, WF__OP_not, op1(ir, WF__OP_isfinite, x)); }

/* Returns the size with the sign of x; the sign of a NaN, which no backend defines, counts as plus. */
static wf__ref with_sign(wf__ir *ir, wf__ref size, wf__ref x)
{
    wf__ref zero = k(ir, wf__dtype(ir, x), 0);
    return wf__op2(ir, WF__OP_copysign, size, pick(ir, op1(ir, WF__OP_isnan, x), zero, x));
}

/* ---- hyperbolic functions ---- */
typedef struct hyperbola { /* of |x|: grown(..., sine or cosine) makes the product with sinh or cosh */
    growth sinh, cosh;
} hyperbola;

static hyperbola hyperbola_of(wf__ir *ir, wf__ref x)
{
    wf__ref size = op1(ir, WF__OP_abs, x);
    hyperbola h;
    h.sinh = h.cosh = wf__c_growth(ir, WF__OP_exp, size);
    wf__ref large = mul(ir, h.sinh.middle, k(ir, wf__dtype(ir, x), 0.5));
    h.sinh.middle = pick(ir, h.sinh.big, large, op1(ir, WF__OP_sinh, size));
    h.cosh.middle = pick(ir, h.sinh.big, large, op1(ir, WF__OP_cosh, size));
    return h;
}

static pair sine(wf__ir *ir, pair z) /* sinh x cos y + i cosh x sin y */
{
    wf__ref zero = k(ir, wf__dtype(ir, z.re), 0), infinite = op1(ir, WF__OP_isinf, z.re);
    hyperbola h = hyperbola_of(ir, z.re);
    pair r;
    r.re = grown(ir, &h.sinh, op1(ir, WF__OP_cos, z.im));
    r.re = mul(ir, r.re, with_sign(ir, k(ir, wf__dtype(ir, z.re), 1), z.re));
    r.im = grown(ir, &h.cosh, op1(ir, WF__OP_sin, z.im));
    wf__ref stays = either(ir, infinite, wf__op2(ir, WF__OP_eq, z.re, zero));
    r.re = pick(ir, both(ir, stays, not_finite(ir, z.im)), z.re, r.re);
    r.im = pick(ir, wf__op2(ir, WF__OP_eq, z.im, zero), z.im, r.im);
    return r;
}

static pair cosine(wf__ir *ir, pair z) /* cosh x cos y + i sinh x sin y */
{
    unsigned t = wf__dtype(ir, z.re);
    wf__ref zero = k(ir, t, 0), one = k(ir, t, 1), infinite = op1(ir, WF__OP_isinf, z.re);
    hyperbola h = hyperbola_of(ir, z.re);
    wf__ref sign = with_sign(ir, one, z.re);
    pair r;
    r.re = grown(ir, &h.cosh, op1(ir, WF__OP_cos, z.im));
    r.im = grown(ir, &h.sinh, op1(ir, WF__OP_sin, z.im));
    r.im = mul(ir, r.im, sign);
    wf__ref size = op1(ir, WF__OP_abs, z.re);
    r.re = pick(ir, both(ir, infinite, not_finite(ir, z.im)), size, r.re);
    wf__ref real = wf__op2(ir, WF__OP_eq, z.re, zero);
    real = either(ir, real, wf__op2(ir, WF__OP_eq, z.im, zero));
    r.im = pick(ir, real, mul(ir, with_sign(ir, zero, z.im), sign), r.im);
    return r;
}

/* (sinh x cosh x + i sin y cos y) / (sinh(x)^2 + cos(y)^2), and 1 + 4i sin y cos y / e^(2x) for large x. */
static pair tangent(wf__ir *ir, pair z)
{
    unsigned t = wf__dtype(ir, z.re);
    wf__ref zero = k(ir, t, 0), one = k(ir, t, 1), size = op1(ir, WF__OP_abs, z.re), s = op1(ir, WF__OP_sin, z.im);
    wf__ref c = op1(ir, WF__OP_cos, z.im), turn = mul(ir, s, c), large = k(ir, t, t == WF_F64 ? 22 : 10);
    large = wf__op2(ir, WF__OP_gt, size, large);
    wf__ref sh = op1(ir, WF__OP_sinh, z.re), below = fma_of(ir, sh, sh, mul(ir, c, c));
    wf__ref ch = op1(ir, WF__OP_cosh, z.re), decay = op1(ir, WF__OP_exp, mul(ir, size, k(ir, t, -2)));
    pair r, far;
    r.re = divide(ir, mul(ir, sh, ch), below);
    r.im = divide(ir, turn, below);
    wf__ref lost = op1(ir, WF__OP_isinf, z.re), limit = either(ir, lost, op1(ir, WF__OP_isfinite, z.im));
    far.re = pick(ir, limit, with_sign(ir, one, z.re), turn);
    far.im = mul(ir, turn, k(ir, t, 4));
    far.im = mul(ir, far.im, decay);
    lost = both(ir, lost, not_finite(ir, z.im));
    far.im = pick(ir, lost, zero, far.im);
    r = choose(ir, large, far, r);
    r.re = pick(ir, wf__op2(ir, WF__OP_eq, z.re, zero), z.re, r.re);
    r.im = pick(ir, wf__op2(ir, WF__OP_eq, z.im, zero), z.im, r.im);
    return r;
}

/* ---- inverse functions ---- */
/* With a = sqrt(1 - z) and b = sqrt(1 + z), for y >= 0 and a conjugate:
 *     asin z = atan(x / (a.re b.re + a.im b.im)) + i height,  acos z = 2 atan(a.re / b.re) - i height,
 *     height = asinh(a.re b.im + a.im b.re),                  acosh z = height + i Re acos z.
 * All terms are positive. Near overflow z is divided by 16, where 1 does not count. */
typedef struct arc {
    wf__ref height, infinite, x, y; /* x + iy is z, or z / 16, or the infinite z */
    pair a, b;
} arc;

static arc arc_of(wf__ir *ir, pair z)
{
    unsigned t = wf__dtype(ir, z.re);
    wf__ref one = k(ir, t, 1), y = op1(ir, WF__OP_abs, z.im), size = op1(ir, WF__OP_abs, z.re);
    size = wf__op2(ir, WF__OP_fmax, size, y);
    wf__ref far = wf__op2(ir, WF__OP_gt, size, k(ir, t, t == WF_F64 ? 0x1p1000 : 0x1p120));
    pair w = times(ir, (pair){ z.re, y }, pick(ir, far, k(ir, t, 0.0625), one));
    arc r = { .x = w.re, .y = w.im };
    r.infinite = any_infinite(ir, z);
    r.a = wf__c_sqrt(ir, (pair){ sub(ir, one, w.re), w.im }, false);
    r.b = wf__c_sqrt(ir, (pair){ add(ir, one, w.re), w.im }, false);
    wf__ref part = mul(ir, r.a.im, r.b.re);
    r.height = op1(ir, WF__OP_asinh, fma_of(ir, r.a.re, r.b.im, part));
    wf__ref zero = k(ir, t, 0), more = pick(ir, far, k(ir, t, 4 * ln2), zero), infinite = k(ir, t, (double)INFINITY);
    r.height = pick(ir, r.infinite, infinite, add(ir, r.height, more));
    return r;
}

static pair arc_sine(wf__ir *ir, pair z)
{
    arc r = arc_of(ir, z);
    wf__ref zero = k(ir, wf__dtype(ir, z.re), 0), below = mul(ir, r.a.im, r.b.im);
    below = fma_of(ir, r.a.re, r.b.re, below);
    below = pick(ir, r.infinite, r.y, below);
    wf__ref angle = wf__op2(ir, WF__OP_atan2, r.x, below);
    angle = pick(ir, wf__op2(ir, WF__OP_eq, z.re, zero), z.re, angle);
    return (pair){ angle, with_sign(ir, r.height, z.im) };
}

/* Returns the real part of acos z; *height: the size of its imaginary part. */
static wf__ref arc_cosine(wf__ir *ir, pair z, wf__ref *height)
{
    unsigned t = wf__dtype(ir, z.re);
    arc r = arc_of(ir, z);
    wf__ref one = k(ir, t, 1), two = k(ir, t, 2), zero = k(ir, t, 0), across = pick(ir, r.infinite, r.y, r.a.re);
    wf__ref angle = wf__op2(ir, WF__OP_atan2, across, pick(ir, r.infinite, r.x, r.b.re));
    angle = mul(ir, angle, pick(ir, r.infinite, one, two));
    wf__ref right = k(ir, t, half_pi);
    *height = r.height;
    return pick(ir, wf__op2(ir, WF__OP_eq, z.re, zero), right, angle);
}

/* For x >= 0: log(1 + 4x / ((1 - x)^2 + y^2)) / 4 + i atan2(2y, (1 - x)(1 + x) - y^2) / 2. At x = 1 the real part is
 * log(2 / y) / 2 for tiny y; for large z the number is 1 / z + i pi / 2. */
static pair arc_tangent(wf__ir *ir, pair z)
{
    unsigned t = wf__dtype(ir, z.re);
    wf__ref zero = k(ir, t, 0), one = k(ir, t, 1), x = op1(ir, WF__OP_abs, z.re), y = op1(ir, WF__OP_abs, z.im);
    wf__ref less = sub(ir, one, x), more = add(ir, one, x), y2 = mul(ir, y, y), below = fma_of(ir, less, less, y2);
    wf__ref part = divide(ir, mul(ir, x, k(ir, t, 4)), below), quarter = op1(ir, WF__OP_log1p, part);
    pair r, far;
    r.re = mul(ir, quarter, k(ir, t, 0.25));
    wf__ref pole = wf__op2(ir, WF__OP_eq, less, zero), tiny = wf__op2(ir, WF__OP_lt, y, k(ir, t, 0x1p-40));
    wf__ref near = op1(ir, WF__OP_log, y);
    near = sub(ir, k(ir, t, ln2), near);
    pole = both(ir, pole, tiny);
    r.re = pick(ir, pole, mul(ir, near, k(ir, t, 0.5)), r.re);
    wf__ref across = sub(ir, mul(ir, less, more), y2);
    r.im = wf__op2(ir, WF__OP_atan2, add(ir, z.im, z.im), across);
    r.im = mul(ir, r.im, k(ir, t, 0.5));
    /* 1 / z with the larger part of z as the unit */
    wf__ref size = wf__op2(ir, WF__OP_fmax, x, y), u = divide(ir, x, size), v = divide(ir, y, size);
    wf__ref square = fma_of(ir, u, u, mul(ir, v, v)), infinite = op1(ir, WF__OP_isinf, size);
    far.re = divide(ir, divide(ir, u, square), size);
    far.re = pick(ir, infinite, zero, far.re);
    far.im = with_sign(ir, k(ir, t, half_pi), z.im);
    far.im = pick(ir, op1(ir, WF__OP_isnan, z.im), z.im, far.im);
    wf__ref nan = op1(ir, WF__OP_isnan, z.re), finite = op1(ir, WF__OP_not, infinite);
    wf__ref no_number = both(ir, nan, finite);
    far.im = pick(ir, no_number, z.re, far.im);
    r = choose(ir, wf__op2(ir, WF__OP_gt, size, k(ir, t, t == WF_F64 ? 0x1p500 : 0x1p60)), far, r);
    r.re = with_sign(ir, r.re, z.re);
    r.re = pick(ir, wf__op2(ir, WF__OP_eq, z.re, zero), z.re, r.re);
    return r;
}

pair wf__c_trig(wf__ir *ir, unsigned op, pair z)
{
    pair r;
    wf__ref height;
    switch (op) {
    case WF__OP_sin:
        return swapped(sine(ir, swapped(z)));
    case WF__OP_cos: /* cosh(iz), and cosh is even */
        r = cosine(ir, swapped(z));
        r.im = op1(ir, WF__OP_neg, r.im);
        return r;
    case WF__OP_tan:
        return swapped(tangent(ir, swapped(z)));
    case WF__OP_sinh:
        return sine(ir, z);
    case WF__OP_cosh:
        return cosine(ir, z);
    case WF__OP_tanh:
        return tangent(ir, z);
    case WF__OP_asin:
        return arc_sine(ir, z);
    case WF__OP_asinh:
        return swapped(arc_sine(ir, swapped(z)));
    case WF__OP_atan:
        return swapped(arc_tangent(ir, swapped(z)));
    case WF__OP_atanh:
        return arc_tangent(ir, z);
    case WF__OP_acos:
        r.re = arc_cosine(ir, z, &height);
        r.im = op1(ir, WF__OP_neg, with_sign(ir, height, z.im));
        return r;
    default: /* acosh */
        r.im = with_sign(ir, arc_cosine(ir, z, &height), z.im);
        r.re = height;
        return r;
    }
}
