/* trig_big.c - reduction of large arguments modulo pi/2, in integers; the body of COLD nodes.
 *
 * Payne and Hanek, Radian Reduction for Trigonometric Functions (SIGNUM Newsletter 18, 1983): of x * 2/pi only the
 * value modulo 4 matters. With x = M * 2^e, the bits of 2/pi above 2^(1-e) contribute multiples of 4, so a window of
 * 2/pi that starts there is cut out and multiplied by the integer M; the product's two top bits are the quadrant, the
 * rest its fraction. Windows of 96 (f32) and 192 bits (f64) leave 62 and 126 bits of fraction. No f32 or f64 comes
 * closer to a multiple of pi/2 than 2^-29.9 and 2^-61.5 of a quadrant (by continued fractions, as in Muller, Elementary
 * Functions, section 11.3), so what is left after cancellation still has some bits more than the result needs.
 *
 * The window comes out of the table by selects, one level for each bit of its position: there are no loads here.
 */
#include "ir/math/math.h"

/* 2/pi after the binary point, most significant first: 1216 bits (mpmath, 3000 bits). */
static const uint64_t two_over_pi[19] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab
};
static const double half_pi_hi = 0x1.921fb54442d18p+0, half_pi_lo = 0x1.1a62633145c07p-54;

/* ---- integers of one dtype ---- */
typedef struct words {
    wf__ir *ir;
    unsigned t; /* u32 or u64 */
    int bits;
} words;

static wf__ref constant(const words *w, uint64_t v) { return wf__const_bits(w->ir, w->t, v); }
static wf__ref op(const words *w, unsigned o, wf__ref a, wf__ref b) { return wf__op2(w->ir, o, a, b); }
static wf__ref op_k(const words *w, unsigned o, wf__ref a, uint64_t b) { return wf__op2(w->ir, o, a, constant(w, b)); }

/* Sets out[0..3] to the table's words from `at` on. level[k] is the table shifted by a multiple of 2^k words. */
static void pick_words(const words *w, wf__ref *table, int n, wf__ref at, int levels, wf__ref out[4])
{
    for (int k = levels - 1; k >= 0; --k) {
        wf__ref set = op_k(w, WF__OP_ne, op_k(w, WF__OP_and, at, (uint64_t)1 << k), 0);
        int need = 4 + (1 << k) - 1;
        for (int j = 0; j < need && j < n; ++j)
            if (j + (1 << k) < n)
                table[j] = wf__op3(w->ir, WF__OP_select, set, table[j + (1 << k)], table[j]);
        n = need < n ? need : n;
    }
    for (int j = 0; j < 4; ++j)
        out[j] = table[j];
}

/* Sets out[] to the three words that begin `position` bits into the table. */
static void window(const words *w, wf__ref *table, int n, int levels, wf__ref position, wf__ref out[3])
{
    wf__ref four[4], shift = op_k(w, WF__OP_and, position, (uint64_t)w->bits - 1);
    wf__ref at = op_k(w, WF__OP_shr, position, w->bits == 64 ? 6 : 5);
    wf__ref rest = op(w, WF__OP_sub, constant(w, (uint64_t)w->bits), shift); /* a shift by the width gives 0 */
    pick_words(w, table, n, at, levels, four);
    for (int j = 0; j < 3; ++j) {
        wf__ref left = op(w, WF__OP_shl, four[j], shift), right = op(w, WF__OP_shr, four[j + 1], rest);
        out[j] = op(w, WF__OP_or, left, right);
    }
}

/* ---- f32 ---- */
static wf__ref to_u64(const wf__math *m, wf__ref a) { return wf__cast(m->ir, a, WF_U64); }

static wf__m_angle reduce_f32(const wf__math *m, wf__ref ax)
{
    const words w = { m->ir, WF_U32, 32 }, w64 = { m->ir, WF_U64, 64 };
    wf__ref table[8], part[3], bits = wf__bitcast(m->ir, ax, WF_U32);
    table[0] = constant(&w, 0); /* for the smallest exponents */
    for (int j = 1; j < 8; ++j)
        table[j] = constant(&w, two_over_pi[(j - 1) / 2] >> (j % 2 ? 32 : 0));
    wf__ref integer = op_k(&w, WF__OP_and, bits, 0x7fffff), exponent = op_k(&w, WF__OP_shr, bits, 23);
    integer = to_u64(m, op_k(&w, WF__OP_or, integer, 0x800000));
    window(&w, table, 8, 3, op_k(&w, WF__OP_sub, exponent, 120), part);
    /* The top 64 of the low 96 bits of the product. */
    wf__ref high = op(&w64, WF__OP_mul, to_u64(m, part[0]), integer), middle = to_u64(m, part[1]),
            low = to_u64(m, part[2]);
    high = op_k(&w64, WF__OP_shl, high, 32);
    high = op(&w64, WF__OP_add, high, op(&w64, WF__OP_mul, middle, integer));
    low = op_k(&w64, WF__OP_shr, op(&w64, WF__OP_mul, low, integer), 32);
    high = op(&w64, WF__OP_add, high, low);
    /* The nearest quadrant, and the signed fraction. */
    wf__ref q = op_k(&w64, WF__OP_shr, op_k(&w64, WF__OP_add, high, (uint64_t)1 << 61), 62);
    wf__ref fraction = op(&w64, WF__OP_sub, high, op_k(&w64, WF__OP_shl, q, 62));
    wf__ref r = wf__cast(m->ir, wf__bitcast(m->ir, fraction, WF_I64), WF_F64);
    r = wf__op2(m->ir, WF__OP_mul, r, wf__const_f64(m->ir, WF_F64, half_pi_hi * 0x1p-62));
    wf__ref hi = wf__cast(m->ir, r, WF_F32), lo = wf__op2(m->ir, WF__OP_sub, r, wf__cast(m->ir, hi, WF_F64));
    return (wf__m_angle){ .q = wf__cast(m->ir, q, m->i), .hi = hi, .lo = wf__cast(m->ir, lo, WF_F32) };
}

/* ---- f64 ---- */
typedef struct fixed { /* top * 2^-62 + low * 2^-126 */
    wf__ref top, low;
} fixed;

static fixed product_f64(const words *w, const wf__ref part[3], wf__ref integer)
{
    wf__ref carry_in = op(w, WF__OP_mulhi, part[2], integer), low = op(w, WF__OP_mul, part[1], integer);
    wf__ref top = op(w, WF__OP_mul, part[0], integer);
    top = op(w, WF__OP_add, top, op(w, WF__OP_mulhi, part[1], integer));
    low = op(w, WF__OP_add, low, carry_in);
    top = op(w, WF__OP_add, top, wf__cast(w->ir, op(w, WF__OP_lt, low, carry_in), WF_U64));
    return (fixed){ .top = top, .low = low };
}

/* Returns a signed fraction, |f| <= 1/2, times pi/2 as a sum of two floats. */
static wf__m_angle scale_f64(const wf__math *m, const words *w, fixed f, wf__ref q)
{
    wf__ref sign = wf__bitcast(m->ir, f.top, WF_I64);
    sign = wf__op2(m->ir, WF__OP_shr, sign, wf__const_bits(m->ir, WF_I64, 63));
    sign = wf__bitcast(m->ir, sign, WF_U64);
    wf__ref top = op(w, WF__OP_xor, f.top, sign), low = op(w, WF__OP_xor, f.low, sign); /* -f, except for 2^-126 */
    wf__ref zeros = wf__op1(m->ir, WF__OP_clz, top), rest = op(w, WF__OP_sub, constant(w, 64), zeros);
    wf__ref left = op(w, WF__OP_shl, top, zeros), right = op(w, WF__OP_shr, low, rest);
    wf__ref digits = op(w, WF__OP_or, left, right);                          /* the fraction's 64 leading bits */
    wf__ref head = wf__cast(m->ir, op_k(w, WF__OP_shr, digits, 11), WF_F64); /* exact */
    wf__ref tail = wf__cast(m->ir, op_k(w, WF__OP_and, digits, 0x7ff), WF_F64);
    wf__ref exponent = op(w, WF__OP_sub, constant(w, 1023 - 62 + 11), zeros);
    wf__ref scale = m_float(m, op_k(w, WF__OP_shl, exponent, 52));
    head = m_mul(m, head, scale);
    tail = m_mul(m, tail, m_mulk(m, scale, 0x1p-11));
    wf__ref hi = m_mulk(m, head, half_pi_hi), minus = m_neg(m, hi), lo = m_fmak(m, head, half_pi_hi, minus);
    lo = m_fmak(m, head, half_pi_lo, lo);
    lo = m_fmak(m, tail, half_pi_hi, lo);
    wf__ref sum = m_add(m, hi, lo); /* the tail may be an ulp of the head */
    hi = m_sub(m, hi, sum);
    lo = m_add(m, hi, lo);
    hi = sum;
    return (wf__m_angle){ .q = wf__bitcast(m->ir, q, WF_I64),
                          .hi = wf__m_flip_sign(m, hi, wf__bitcast(m->ir, sign, WF_I64)),
                          .lo = wf__m_flip_sign(m, lo, wf__bitcast(m->ir, sign, WF_I64)) };
}

static wf__m_angle reduce_f64(const wf__math *m, wf__ref ax)
{
    const words w = { m->ir, WF_U64, 64 };
    wf__ref table[20], part[3], bits = wf__bitcast(m->ir, ax, WF_U64);
    table[0] = constant(&w, 0); /* for the smallest exponents */
    for (int j = 1; j < 20; ++j)
        table[j] = constant(&w, two_over_pi[j - 1]);
    wf__ref integer = op_k(&w, WF__OP_and, bits, 0xfffffffffffff), exponent = op_k(&w, WF__OP_shr, bits, 52);
    integer = op_k(&w, WF__OP_or, integer, 0x10000000000000);
    window(&w, table, 20, 5, op_k(&w, WF__OP_sub, exponent, 1013), part);
    fixed f = product_f64(&w, part, integer);
    wf__ref q = op_k(&w, WF__OP_shr, op_k(&w, WF__OP_add, f.top, (uint64_t)1 << 61), 62);
    f.top = op(&w, WF__OP_sub, f.top, op_k(&w, WF__OP_shl, q, 62));
    return scale_f64(m, &w, f, q);
}

wf__m_angle wf__m_reduce_big(const wf__math *m, wf__ref ax) { return m->wide ? reduce_f64(m, ax) : reduce_f32(m, ax); }
