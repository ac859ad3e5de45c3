/* complex_log.c - roots, exponentials, logarithms and powers of complex numbers, as operations on the parts. */
#include "ir/math/complex.h"
#include <math.h>

/* Returns the root in the right half plane. Its larger part comes from a sum without cancellation, the other from a
 * division. */
pair wf__c_sqrt(wf__ir *ir, pair z, bool room)
{
    unsigned t = wf__dtype(ir, z.re);
    wf__ref zero = k(ir, t, 0), infinite = k(ir, t, (double)INFINITY), half = k(ir, t, 0.5), back = 0;
    pair w = z;
    if (!room) {
        scale s = wf__scale_of(ir, z, true);
        w = times(ir, z, s.down);
        back = s.back;
    }
    wf__ref size = op1(ir, WF__OP_sqrt, sum_of_squares(ir, w, room)), re = op1(ir, WF__OP_abs, w.re);
    wf__ref large = op1(ir, WF__OP_sqrt, mul(ir, add(ir, size, re), half));
    wf__ref small = divide(ir, mul(ir, op1(ir, WF__OP_abs, w.im), half), large);
    if (back) {
        large = mul(ir, large, back);
        small = mul(ir, small, back);
    }
    wf__ref nothing = is_zero(ir, z);
    wf__ref tall = op1(ir, WF__OP_isinf, z.im), left = wf__op2(ir, WF__OP_lt, z.re, zero);
    wf__ref flat = op1(ir, WF__OP_isinf, z.re); /* the imaginary part is not infinite */
    large = pick(ir, flat, infinite, large);
    small = pick(ir, both(ir, flat, wf__op2(ir, WF__OP_eq, z.im, z.im)), zero, small);
    pair r;
    r.re = pick(ir, left, small, large);
    r.im = wf__op2(ir, WF__OP_copysign, pick(ir, left, large, small), z.im);
    r.re = pick(ir, nothing, zero, r.re);
    r.im = pick(ir, nothing, z.im, r.im);
    r.re = pick(ir, tall, infinite, r.re);
    r.im = pick(ir, tall, z.im, r.im);
    r.im = pick(ir, wf__op2(ir, WF__OP_eq, z.im, z.im), r.im, z.im);
    return r;
}

/* ---- logarithms ---- */
/* Returns log 2 to the base. */
static double log_of_two(unsigned base)
{
    return base == WF__OP_log2 ? 1 : base == WF__OP_log10 ? 0x1.34413509f79ffp-2 : 0x1.62e42fefa39efp-1;
}

/* Returns log|z| where z is not near the unit circle. */
static wf__ref far_log(wf__ir *ir, unsigned base, pair z, bool room)
{
    unsigned t = wf__dtype(ir, z.re);
    if (room) {
        wf__ref whole = op1(ir, base, sum_of_squares(ir, z, true));
        return mul(ir, whole, k(ir, t, 0.5));
    }
    scale s = wf__scale_of(ir, z, false);
    wf__ref root = op1(ir, WF__OP_sqrt, sum_of_squares(ir, times(ir, z, s.down), false));
    wf__ref twos = wf__cast(ir, s.exponent, t), rest = op1(ir, base, root);
    return fma_of(ir, twos, k(ir, t, log_of_two(base)), rest);
}

typedef struct exact_sum {
    wf__ref hi, lo; /* hi is the rounded sum, hi + lo the exact one */
} exact_sum;

/* Returns a + b (Knuth, The Art of Computer Programming, volume 2, 4.2.2, theorem B). */
static exact_sum two_sum(wf__ir *ir, wf__ref a, wf__ref b)
{
    exact_sum s;
    s.hi = add(ir, a, b);
    wf__ref b_part = sub(ir, s.hi, a), a_part = sub(ir, s.hi, b_part);
    wf__ref a_lost = sub(ir, a, a_part);
    s.lo = add(ir, a_lost, sub(ir, b, b_part));
    return s;
}

/* Returns u + x^2 + y^2 with the errors of products and sums, to about the square of a rounding error where it cancels. */
static wf__ref sum_with_squares(wf__ir *ir, wf__ref u, pair z)
{
    wf__ref p = mul(ir, z.re, z.re), q = mul(ir, z.im, z.im);
    wf__ref e = fma_of(ir, z.re, z.re, op1(ir, WF__OP_neg, p)), f = fma_of(ir, z.im, z.im, op1(ir, WF__OP_neg, q));
    exact_sum s = two_sum(ir, u, p), all = two_sum(ir, s.hi, q), errors = two_sum(ir, e, f);
    exact_sum lost = two_sum(ir, add(ir, s.lo, all.lo), errors.hi);
    wf__ref least = add(ir, lost.lo, errors.lo);
    all = two_sum(ir, all.hi, lost.hi);
    return add(ir, all.hi, add(ir, all.lo, least));
}

/* Near the unit circle log|z| is computed from |z|^2 - 1, which the parts give without cancellation. */
wf__ref wf__c_log_abs(wf__ir *ir, unsigned base, pair z, bool room)
{
    unsigned t = wf__dtype(ir, z.re);
    wf__ref x = op1(ir, WF__OP_abs, z.re), y = op1(ir, WF__OP_abs, z.im), one = k(ir, t, 1), half = k(ir, t, 0.5);
    wf__ref a = wf__op2(ir, WF__OP_max, x, y), b = wf__op2(ir, WF__OP_min, x, y);
    wf__ref p = mul(ir, a, a), q = mul(ir, b, b), square = add(ir, p, q), beyond = add(ir, sub(ir, p, one), q);
    if (!room)
        beyond = sum_with_squares(ir, k(ir, t, -1), z);
    wf__ref far = far_log(ir, base, z, room), near = op1(ir, WF__OP_log1p, beyond);
    near = mul(ir, near, k(ir, t, 0.5 * log_of_two(base) / log_of_two(WF__OP_log)));
    wf__ref close = wf__op2(ir, WF__OP_gt, square, half), infinite = k(ir, t, (double)INFINITY);
    close = both(ir, close, wf__op2(ir, WF__OP_lt, square, k(ir, t, 2)));
    wf__ref r = pick(ir, close, near, far);
    return pick(ir, any_infinite(ir, z), infinite, r);
}

/* Where |1 + z| is near 1, its logarithm comes from |1 + z|^2 - 1 = 2x + x^2 + y^2, with the errors of products and sums;
 * elsewhere 1 + x is exact or its rounding error is that of the logarithm. */
pair wf__c_log1p(wf__ir *ir, pair z)
{
    unsigned t = wf__dtype(ir, z.re);
    wf__ref beyond = sum_with_squares(ir, add(ir, z.re, z.re), z), near = op1(ir, WF__OP_log1p, beyond);
    near = mul(ir, near, k(ir, t, 0.5));
    wf__ref close = wf__op2(ir, WF__OP_gt, beyond, k(ir, t, -0.5)), infinite = k(ir, t, (double)INFINITY);
    close = both(ir, close, wf__op2(ir, WF__OP_lt, beyond, k(ir, t, 3)));
    pair w = { add(ir, z.re, k(ir, t, 1)), z.im }, r;
    r.re = pick(ir, close, near, far_log(ir, WF__OP_log, w, false));
    r.re = pick(ir, any_infinite(ir, z), infinite, r.re);
    r.im = wf__op2(ir, WF__OP_atan2, w.im, w.re);
    return r;
}

/* ---- exponentials ---- */
growth wf__c_growth(wf__ir *ir, unsigned base, wf__ref x)
{
    unsigned t = wf__dtype(ir, x);
    const bool wide = t == WF_F64, two = base == WF__OP_exp2;
    double limit = two ? (wide ? 1000 : 120) : wide ? 700 : 80, step = two ? (wide ? 600 : 80) : wide ? 400 : 60;
    double power = two ? (wide ? 0x1p600 : 0x1p80) : wide ? 0x1.0e398d7d01704p+577 : 0x1.79dbcap+86;
    growth g;
    wf__ref one = k(ir, t, 1), factor = k(ir, t, power), less = sub(ir, x, k(ir, t, 2 * step));
    g.big = wf__op2(ir, WF__OP_gt, x, k(ir, t, limit));
    g.first = g.last = pick(ir, g.big, factor, one);
    g.middle = op1(ir, base, pick(ir, g.big, less, x));
    return g;
}

/* 2^(x + iy) has the angle y ln 2. It is the sum of two angles, the second of which is the rounding error of the first. */
pair wf__c_exp(wf__ir *ir, unsigned base, pair z)
{
    unsigned t = wf__dtype(ir, z.re);
    wf__ref zero = k(ir, t, 0), angle = z.im, rest = 0;
    if (base == WF__OP_exp2) {
        const double high = t == WF_F64 ? 0x1.62e42fefa39efp-1 : 0x1.62e43p-1;
        const double low = t == WF_F64 ? 0x1.abc9e3b39803fp-56 : -0x1.05c61p-29;
        angle = mul(ir, z.im, k(ir, t, high));
        wf__ref lost = op1(ir, WF__OP_neg, angle);
        lost = fma_of(ir, z.im, k(ir, t, high), lost);
        rest = fma_of(ir, z.im, k(ir, t, low), lost);
    }
    wf__ref c = op1(ir, WF__OP_cos, angle), s = op1(ir, WF__OP_sin, angle);
    if (rest) {
        wf__ref rest_c = op1(ir, WF__OP_cos, rest), rest_s = op1(ir, WF__OP_sin, rest), ss = mul(ir, s, rest_s);
        s = fma_of(ir, s, rest_c, mul(ir, c, rest_s));
        c = fma_of(ir, c, rest_c, op1(ir, WF__OP_neg, ss));
    }
    growth g = wf__c_growth(ir, base, z.re);
    pair r;
    r.re = grown(ir, &g, c);
    r.im = grown(ir, &g, s);
    /* At an infinite real part, an angle that is no number leaves the size as it is. */
    wf__ref lost = op1(ir, WF__OP_not, op1(ir, WF__OP_isfinite, z.im));
    lost = both(ir, lost, op1(ir, WF__OP_isinf, z.re));
    wf__ref gone = both(ir, lost, wf__op2(ir, WF__OP_lt, z.re, zero)), infinite = k(ir, t, (double)INFINITY);
    r.re = pick(ir, lost, infinite, r.re);
    r.re = pick(ir, gone, zero, r.re);
    r.im = pick(ir, gone, zero, r.im);
    r.im = pick(ir, wf__op2(ir, WF__OP_eq, z.im, zero), z.im, r.im);
    return r;
}

/* For |x| < 1 the real part e^x cos y - 1 is (e^x - 1) cos y - 2 sin(y / 2)^2. */
pair wf__c_expm1(wf__ir *ir, pair z)
{
    unsigned t = wf__dtype(ir, z.re);
    pair r = wf__c_exp(ir, WF__OP_exp, z);
    wf__ref one = k(ir, t, 1), s = op1(ir, WF__OP_sin, mul(ir, z.im, k(ir, t, 0.5))), less = sub(ir, r.re, one);
    wf__ref c = op1(ir, WF__OP_cos, z.im), grown_ = mul(ir, op1(ir, WF__OP_expm1, z.re), c);
    wf__ref close = wf__op2(ir, WF__OP_lt, op1(ir, WF__OP_abs, z.re), one), twice = add(ir, s, s);
    wf__ref near = sub(ir, grown_, mul(ir, twice, s));
    r.re = pick(ir, close, near, less);
    return r;
}

/* Returns exp(b log a); 1 for b = 0; 0 for a = 0 and a positive real part of b. */
pair wf__c_pow(wf__ir *ir, pair a, pair b, bool room)
{
    unsigned t = wf__dtype(ir, a.re);
    wf__ref zero = k(ir, t, 0), one = k(ir, t, 1);
    pair log = { wf__c_log_abs(ir, WF__OP_log, a, room), 0 };
    log.im = wf__op2(ir, WF__OP_atan2, a.im, a.re);
    pair r = wf__c_exp(ir, WF__OP_exp, product(ir, b, log));
    wf__ref none = is_zero(ir, a), unity = is_zero(ir, b);
    none = both(ir, none, wf__op2(ir, WF__OP_gt, b.re, zero));
    r = choose(ir, none, (pair){ zero, zero }, r);
    return choose(ir, unity, (pair){ one, zero }, r);
}

/* Returns z / |z|; zeros stay as they are. Where one part is infinite the direction is that of its axis. */
pair wf__c_sign(wf__ir *ir, pair z)
{
    unsigned t = wf__dtype(ir, z.re);
    wf__ref one = k(ir, t, 1), re_infinite = op1(ir, WF__OP_isinf, z.re), im_infinite = op1(ir, WF__OP_isinf, z.im);
    wf__ref infinite = either(ir, re_infinite, im_infinite), zero = k(ir, t, 0), nothing = is_zero(ir, z);
    pair w = times(ir, z, wf__scale_of(ir, z, false).down), axis;
    wf__ref size = op1(ir, WF__OP_sqrt, sum_of_squares(ir, w, false));
    w.re = divide(ir, w.re, size);
    w.im = divide(ir, w.im, size);
    wf__ref no_number = op1(ir, WF__OP_isnan, add(ir, z.re, z.im));
    no_number = either(ir, no_number, both(ir, re_infinite, im_infinite));
    axis.re = wf__op2(ir, WF__OP_copysign, pick(ir, re_infinite, one, zero), z.re);
    axis.im = wf__op2(ir, WF__OP_copysign, pick(ir, im_infinite, one, zero), z.im);
    w = choose(ir, infinite, axis, w);
    wf__ref none = k(ir, t, (double)NAN);
    w = choose(ir, no_number, (pair){ none, none }, w);
    return choose(ir, nothing, z, w);
}
