/* half.c - f16 and bf16: each operation is done in f32 and rounded once, to the nearest, ties to even.
 *
 * f32 has at least 2p + 2 bits for the p bits of either, so that add, sub, mul, div and sqrt come out correctly rounded
 * (Figueroa, "When is double rounding innocuous?"). A fused multiply-add and conversions from wider dtypes do not: they
 * round to odd first, where an inexact result has its last bit set and never looks like a tie (Boldo and Melquiond).
 * Of these dtypes backends see only casts from and to f32, bitcasts, selects, constants, loads and stores.
 */
#include "ir/math/math.h"

static wf__ref k(wf__ir *ir, unsigned t, uint64_t bits) { return wf__const_bits(ir, t, bits); }

/* Moves an inexact `sum` (an f64, or its conversion to f32) to the odd neighbour on the side of the exact value.
 * grow: that side is away from 0. */
static wf__ref to_odd(wf__ir *ir, wf__ref sum, wf__ref inexact, wf__ref grow)
{
    unsigned t = wf__dtype(ir, sum), i = t == WF_F64 ? WF_I64 : WF_I32;
    wf__ref bits = wf__bitcast(ir, sum, i), one = k(ir, i, 1);
    wf__ref last = wf__op2(ir, WF__OP_and, bits, one);
    wf__ref even = wf__op2(ir, WF__OP_eq, last, k(ir, i, 0));
    wf__ref move = wf__op3(ir, WF__OP_select, grow, one, k(ir, i, ~(uint64_t)0));
    wf__ref moved = wf__op2(ir, WF__OP_add, bits, move);
    wf__ref odd = wf__op3(ir, WF__OP_select, wf__op2(ir, WF__OP_and, inexact, even), moved, bits);
    return wf__bitcast(ir, odd, t);
}

static wf__ref from_f64(wf__ir *ir, wf__ref x, unsigned to)
{
    wf__ref narrow = wf__cast(ir, x, WF_F32), back = wf__cast(ir, narrow, WF_F64);
    wf__ref size = wf__op1(ir, WF__OP_abs, x), got = wf__op1(ir, WF__OP_abs, back);
    wf__ref less = wf__op2(ir, WF__OP_lt, got, size), more = wf__op2(ir, WF__OP_gt, got, size); /* false for NaN */
    wf__ref inexact = wf__op2(ir, WF__OP_or, less, more);
    return wf__cast(ir, to_odd(ir, narrow, inexact, less), to);
}

/* Converts a 64-bit integer. Beyond 2^53, bit 11 becomes the sticky bit of the bits below, so that f64 holds the rest
 * exactly. */
static wf__ref from_wide_int(wf__ir *ir, wf__ref x)
{
    unsigned t = wf__dtype(ir, x);
    wf__ref low = wf__op2(ir, WF__OP_and, x, k(ir, t, 2047));
    wf__ref carry = wf__op2(ir, WF__OP_add, low, k(ir, t, 2047));
    wf__ref with = wf__op2(ir, WF__OP_or, x, carry);
    wf__ref sticky = wf__op2(ir, WF__OP_and, with, k(ir, t, ~(uint64_t)2047));
    wf__ref small = wf__op2(ir, WF__OP_le, x, k(ir, t, (uint64_t)1 << 53));
    if (t == WF_I64)
        small = wf__op2(ir, WF__OP_and, small, wf__op2(ir, WF__OP_ge, x, k(ir, t, ~(uint64_t)0 << 53)));
    return wf__cast(ir, wf__op3(ir, WF__OP_select, small, x, sticky), WF_F64);
}

static wf__ref from_int(wf__ir *ir, wf__ref x, unsigned to)
{
    unsigned t = wf__dtype(ir, x);
    if (t == WF_BOOL || wf__size(t) <= 2)
        return wf__cast(ir, wf__cast(ir, x, WF_F32), to);
    if (to == WF_F16) { /* integers beyond 2^17 become infinite */
        wf__ref high = wf__op2(ir, WF__OP_min, x, k(ir, t, 1 << 17));
        if (wf__is_signed(t))
            high = wf__op2(ir, WF__OP_max, high, k(ir, t, ~(uint64_t)0 << 17));
        wf__ref small = wf__cast(ir, high, WF_I32);
        return wf__cast(ir, wf__cast(ir, small, WF_F32), to);
    }
    return from_f64(ir, wf__size(t) == 4 ? wf__cast(ir, x, WF_F64) : from_wide_int(ir, x), to);
}

static wf__ref cast(wf__ir *ir, wf__ref x, unsigned to)
{
    unsigned from = wf__dtype(ir, x);
    if (wf__is_half(from))
        return wf__cast(ir, wf__cast(ir, x, WF_F32), to);
    return wf__is_float(from) ? from_f64(ir, x, to) : from_int(ir, x, to);
}

/* The product is exact in f64; so is the error of the sum, by Knuth's algorithm. */
static wf__ref fma_of(wf__ir *ir, const wf__ref x[3])
{
    unsigned t = wf__dtype(ir, x[0]);
    wf__ref w[3];
    for (int i = 0; i < 3; ++i)
        w[i] = wf__cast(ir, wf__cast(ir, x[i], WF_F32), WF_F64);
    wf__ref p = wf__op2(ir, WF__OP_mul, w[0], w[1]), c = w[2], sum = wf__op2(ir, WF__OP_add, p, c);
    wf__ref c_part = wf__op2(ir, WF__OP_sub, sum, p), p_part = wf__op2(ir, WF__OP_sub, sum, c_part);
    wf__ref p_lost = wf__op2(ir, WF__OP_sub, p, p_part), c_lost = wf__op2(ir, WF__OP_sub, c, c_part);
    wf__ref lost = wf__op2(ir, WF__OP_add, p_lost, c_lost), zero = wf__const_f64(ir, WF_F64, 0);
    wf__ref below = wf__op2(ir, WF__OP_lt, lost, zero), above = wf__op2(ir, WF__OP_gt, lost, zero);
    wf__ref inexact = wf__op2(ir, WF__OP_or, below, above); /* false for NaN */
    wf__ref negative = wf__op2(ir, WF__OP_lt, sum, zero);
    return from_f64(ir, to_odd(ir, sum, inexact, wf__op2(ir, WF__OP_eq, below, negative)), t);
}

wf__ref wf__expand(wf__ir *ir, unsigned op, unsigned to, const wf__ref x[3])
{
    unsigned arity = wf__arity(op);
    bool expand = wf__op_expands(op, wf__dtype(ir, x[arity - 1]));
    if (ir->status != WF_OK)
        return 0;
    for (unsigned i = 0; i < arity; ++i)
        if (!x[i])
            return 0;
    unsigned t = wf__dtype(ir, x[arity - 1]);
    if (op == WF__CAST)
        return cast(ir, x[0], to);
    if (op == WF__OP_fma && wf__is_half(t))
        return fma_of(ir, x);
    if (op == WF__OP_nextafter)
        return wf__m_nextafter(ir, x[0], x[1]);
    wf__ref w[3] = { 0 };
    for (unsigned i = 0; i < arity; ++i)
        w[i] = wf__is_half(t) ? wf__cast(ir, x[i], WF_F32) : x[i];
    wf__ref r;
    switch (arity) {
    case 1:
        r = expand ? wf__expand1(ir, op, w[0]) : wf__op1(ir, op, w[0]);
        break;
    case 2:
        r = expand ? wf__expand2(ir, op, w[0], w[1]) : wf__op2(ir, op, w[0], w[1]);
        break;
    default:
        r = expand ? wf__expand3(ir, op, w[0], w[1], w[2]) : wf__op3(ir, op, w[0], w[1], w[2]);
    }
    return r ? wf__cast(ir, r, to) : 0;
}
