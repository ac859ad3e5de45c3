/* complex.h - what complex.c and the files complex_*.c share: numbers as pairs of parts of one float dtype, one node a
 * call. An argument list makes at most one node, so that the order of nodes does not depend on the compiler's order of
 * evaluation. "room": products of parts are exact in the dtype, and squares neither overflow nor vanish.
 */
#ifndef WEFT_IR_MATH_COMPLEX_H
#define WEFT_IR_MATH_COMPLEX_H
#include "ir/ir.h"

typedef struct wf__pair {
    wf__ref re, im;
} pair;

/* ---- one node each ---- */
static inline wf__ref k(wf__ir *ir, unsigned t, double v) { return wf__const_f64(ir, t, v); }
static inline wf__ref op1(wf__ir *ir, unsigned op, wf__ref a) { return wf__op1(ir, op, a); }
static inline wf__ref add(wf__ir *ir, wf__ref a, wf__ref b) { return wf__op2(ir, WF__OP_add, a, b); }
static inline wf__ref sub(wf__ir *ir, wf__ref a, wf__ref b) { return wf__op2(ir, WF__OP_sub, a, b); }
static inline wf__ref mul(wf__ir *ir, wf__ref a, wf__ref b) { return wf__op2(ir, WF__OP_mul, a, b); }
static inline wf__ref divide(wf__ir *ir, wf__ref a, wf__ref b) { return wf__op2(ir, WF__OP_div, a, b); }
static inline wf__ref both(wf__ir *ir, wf__ref a, wf__ref b) { return wf__op2(ir, WF__OP_and, a, b); }
static inline wf__ref either(wf__ir *ir, wf__ref a, wf__ref b) { return wf__op2(ir, WF__OP_or, a, b); }
static inline wf__ref pick(wf__ir *ir, wf__ref c, wf__ref a, wf__ref b) { return wf__op3(ir, WF__OP_select, c, a, b); }
static inline wf__ref fma_of(wf__ir *ir, wf__ref a, wf__ref b, wf__ref c) { return wf__op3(ir, WF__OP_fma, a, b, c); }

/* ---- pieces (src/ir/complex.c) ---- */
typedef struct wf__scale {
    wf__ref down; /* the larger part times `down` is in [1, 4), or is infinite, zero or NaN, or was subnormal */
    wf__ref back; /* 1 / down; with `halve` its square root */
    wf__ref exponent;
} scale;
scale wf__scale_of(wf__ir *ir, pair z, bool halve); /* halve: the exponents of `down` are even */

static inline pair times(wf__ir *ir, pair z, wf__ref x)
{
    pair r;
    r.re = mul(ir, z.re, x);
    r.im = mul(ir, z.im, x);
    return r;
}

static inline pair choose(wf__ir *ir, wf__ref c, pair a, pair b)
{
    pair r;
    r.re = pick(ir, c, a.re, b.re);
    r.im = pick(ir, c, a.im, b.im);
    return r;
}

static inline wf__ref any_infinite(wf__ir *ir, pair z)
{
    wf__ref re = op1(ir, WF__OP_isinf, z.re), im = op1(ir, WF__OP_isinf, z.im);
    return either(ir, re, im);
}

static inline wf__ref is_zero(wf__ir *ir, pair z)
{
    wf__ref zero = k(ir, wf__dtype(ir, z.re), 0), re = wf__op2(ir, WF__OP_eq, z.re, zero);
    return both(ir, re, wf__op2(ir, WF__OP_eq, z.im, zero));
}

static inline wf__ref sum_of_squares(wf__ir *ir, pair z, bool room)
{
    wf__ref square = mul(ir, z.im, z.im);
    return room ? add(ir, mul(ir, z.re, z.re), square) : fma_of(ir, z.re, z.re, square);
}

static inline pair product(wf__ir *ir, pair a, pair b)
{
    wf__ref rr = mul(ir, a.re, b.re), ii = mul(ir, a.im, b.im), ri = mul(ir, a.re, b.im), ir_ = mul(ir, a.im, b.re);
    pair r;
    r.re = sub(ir, rr, ii);
    r.im = add(ir, ri, ir_);
    return r;
}

/* ---- functions of parts of f32 or f64 ---- */
/* complex_log.c: roots, exponentials, logarithms. base: WF__OP_exp, WF__OP_exp2; WF__OP_log, WF__OP_log2, WF__OP_log10 */
pair wf__c_sqrt(wf__ir *ir, pair z, bool room);
pair wf__c_exp(wf__ir *ir, unsigned base, pair z);
pair wf__c_expm1(wf__ir *ir, pair z);
wf__ref wf__c_log_abs(wf__ir *ir, unsigned base, pair z, bool room); /* log|z| */
pair wf__c_log1p(wf__ir *ir, pair z);
pair wf__c_pow(wf__ir *ir, pair a, pair b, bool room);
pair wf__c_sign(wf__ir *ir, pair z);
/* complex_trig.c: WF__OP_sin, cos, tan, sinh, cosh, tanh and their inverses */
pair wf__c_trig(wf__ir *ir, unsigned op, pair z);

/* e^x or 2^x in three factors, as it may overflow where its product with a sine does not: ((v * first) * middle) * last.
 * `big`: x is so large that three factors are needed; else the first and the last are 1. */
typedef struct wf__growth {
    wf__ref big, first, middle, last;
} growth;
growth wf__c_growth(wf__ir *ir, unsigned base, wf__ref x);
static inline wf__ref grown(wf__ir *ir, const growth *g, wf__ref v)
{
    wf__ref r = mul(ir, mul(ir, v, g->first), g->middle);
    return mul(ir, r, g->last);
}
#endif
