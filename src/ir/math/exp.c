/* exp.c - exp, exp2, exp10 and expm1.
 *
 * Cody and Waite's reduction (Software Manual for the Elementary Functions, 1980): x = k ln2 + r with k an integer and
 * |r| <= ln2/2, ln2 as a sum of two constants, and a minimax polynomial for e^r - 1. k comes from adding 1.5*2^mantissa
 * plus the exponent's bias, so that shifting the sum's bits left makes 2^k without a conversion. A float cannot hold
 * 2^k for all results: for x < 0 the scale is 2^(k+up), which is normal, and a last product with 2^-up rounds results
 * that are denormal; for x >= 0 it is 2^(k-8) and the product with 2^8 overflows where it should. Far below, where the
 * result is 0, x is clamped so that the scale's exponent field and hence the scale are exactly 0: no product underflows
 * there (such products are slow on many processors, and tails of Gaussians are common). Where x is a negated square or
 * the like, only the first case is built; it gives the same bits.
 */
#include "ir/math/math.h"

enum { DOWN = 8 };
static const int up[2] = { 24, 53 }; /* the exponents of denormals, and one more */
static const double un_up[2] = { 0x1p-24, 0x1p-53 };

/* (e^r - 1 - r) / r^2 on |r| <= ln2/2. Minimax, relative to e^r: 2^-27.6 and 2^-56.5 (Remez exchange; each coefficient
 * rounded in turn, the later ones fitted again; then moved by a few units to where rounding errors meet kindly). */
static const wf__poly exp_poly[2] = {
    { 5, { 0x1.fffffep-2, 0x1.55548ep-3, 0x1.55588ap-5, 0x1.123d0ep-7, 0x1.6a41c6p-10 } },
    { 10,
      { 0x1.000000000000ap-1, 0x1.55555555554fdp-3, 0x1.55555555507f5p-5, 0x1.1111111127e85p-7, 0x1.6c16c1844adf2p-10,
        0x1.a01a0129b3242p-13, 0x1.a01999ae210aep-16, 0x1.71df262fbafe7p-19, 0x1.28adce2bb3e4ap-22,
        0x1.ad7efcdea06afp-26 } }
};

/* (2^r - 1 - r ln2) / r^2 on |r| <= 1/2, with ln2 rounded. Minimax, relative to 2^r: 2^-28.3 and 2^-57.1; found in
 * the same way. */
static const wf__poly exp2_poly[2] = {
    { 5, { 0x1.ebfbdcp-3, 0x1.c6af7ap-5, 0x1.3b2ddcp-7, 0x1.5f098ap-10, 0x1.417146p-13 } },
    { 10,
      { 0x1.ebfbdff82c5b3p-3, 0x1.c6b08d704a26fp-5, 0x1.3b2ab6fb9dabep-7, 0x1.5d87fe78458d0p-10, 0x1.430913167d4d4p-13,
        0x1.ffcbfe6609b90p-17, 0x1.62bfb4a19cb41p-20, 0x1.b520839e1e9adp-24, 0x1.e63b8c2cd1d66p-28,
        0x1.f0e6ce7209841p-32 } }
};

/* (10^r - 1 - r ln10) / r^2 on |r| <= log10(2)/2, with ln10 rounded. Minimax, relative to 10^r: 2^-28.2 and 2^-57.9
 * (tools/minimax.py). */
static const wf__poly exp10_poly[2] = {
    { 5, { 0x1.53524ap+1, 0x1.046fc2p+1, 0x1.2bda14p+0, 0x1.1557a6p-1, 0x1.a61c18p-3 } },
    { 10,
      { 0x1.53524c73cea75p+1, 0x1.0470591de2c5bp+1, 0x1.2bd7609fd5582p+0, 0x1.1429ffd1ecddbp-1, 0x1.a7ed70a08b2b9p-3,
        0x1.16e4df70ad68dp-4, 0x1.4116604976d9p-6, 0x1.48989ec045cc2p-8, 0x1.2f72830952354p-10,
        0x1.f9b058da4b0cap-13 } }
};

static const double log2e[2] = { 0x1.715476p+0, 0x1.71547652b82fep+0 };
static const double ln2_hi[2] = { 0x1.62e43p-1, 0x1.62e42fefa39efp-1 }; /* ln2 rounded; lo: the rest, rounded */
static const double ln2_lo[2] = { -0x1.05c61p-29, 0x1.abc9e3b39803fp-56 };

static const double log2_10[2] = { 0x1.a934fp+1, 0x1.a934f0979a371p+1 },
                    ln10[2] = { 0x1.26bb1cp+1, 0x1.26bb1bbb55516p+1 };
static const double log10_2_hi[2] = { 0x1.344136p-2, 0x1.34413509f79ffp-2 };
static const double log10_2_lo[2] = { -0x1.ec10cp-27, -0x1.9dc1da994fd21p-59 };

/* ---- signs: functions of arguments like -x*x have no large results ---- */
typedef enum sign { UNKNOWN, NOT_NEGATIVE, NOT_POSITIVE } sign; /* NaN aside */

static sign of_constant(const wf__node *n)
{
    uint64_t bits = wf__bits(n), top = n->dtype == WF_F64 ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
    return bits & top ? NOT_POSITIVE : NOT_NEGATIVE;
}

static sign opposite(sign s) { return s == NOT_POSITIVE ? NOT_NEGATIVE : s == NOT_NEGATIVE ? NOT_POSITIVE : UNKNOWN; }

/* Returns the sign of a product or quotient. */
static sign of_factors(sign a, sign b) { return b == NOT_POSITIVE ? opposite(a) : b == NOT_NEGATIVE ? a : UNKNOWN; }

/* Returns the sign of a * b where a is b, -b or a constant times b. */
static sign of_square(const wf__ir *ir, wf__ref a, wf__ref b)
{
    const wf__node *n = wf__at(ir, a), *factor = wf__at(ir, n->b);
    if (a == b)
        return NOT_NEGATIVE;
    if (n->op == WF__OP_neg && n->a == b)
        return NOT_POSITIVE;
    return n->op == WF__OP_mul && n->a == b && factor->op == WF__CONST ? of_constant(factor) : UNKNOWN;
}

static sign sign_of(const wf__ir *ir, wf__ref x, int depth)
{
    const wf__node *n = wf__at(ir, x);
    if (n->op == WF__CONST)
        return of_constant(n);
    if (n->op == WF__OP_abs || n->op == WF__OP_sqrt)
        return NOT_NEGATIVE;
    if (depth == 0)
        return UNKNOWN;
    sign a = UNKNOWN, b = UNKNOWN;
    switch (n->op) {
    case WF__OP_neg:
        return opposite(sign_of(ir, n->a, depth - 1));
    case WF__OP_mul:
        a = of_square(ir, n->a, n->b);
        if (a == UNKNOWN)
            a = of_square(ir, n->b, n->a);
        return a != UNKNOWN ? a : of_factors(sign_of(ir, n->a, depth - 1), sign_of(ir, n->b, depth - 1));
    case WF__OP_div:
        return of_factors(sign_of(ir, n->a, depth - 1), sign_of(ir, n->b, depth - 1));
    case WF__OP_add:
        a = sign_of(ir, n->a, depth - 1);
        b = sign_of(ir, n->b, depth - 1);
        return a == b ? a : UNKNOWN;
    default:
        return UNKNOWN;
    }
}

static bool never_positive(const wf__math *m, wf__ref x) { return sign_of(m->ir, x, 4) == NOT_POSITIVE; }

/* ---- the functions ---- */
static wf__ref scale_of(const wf__math *m, wf__ref sum) { return m_float(m, m_shl(m, m_bits(m, sum), m->mantissa)); }

wf__m_power wf__m_exp_reduced(const wf__math *m, wf__ref x, wf__ref magic)
{
    wf__ref sum = m_fmak(m, x, log2e[m->wide], magic), k = m_sub(m, sum, magic);
    wf__ref r = m_fmak(m, k, -ln2_hi[m->wide], x);
    r = m_fmak(m, k, -ln2_lo[m->wide], r);
    wf__ref r2 = m_mul(m, r, r), p = wf__m_poly(m, &exp_poly[m->wide], r, r2);
    return (wf__m_power){ .expm1 = m_fma(m, r2, p, r), .scale = scale_of(m, sum) };
}

/* The clamped x. below: true where x < 0; 0 = x is negative everywhere. */
typedef struct range {
    wf__ref x, below;
} range;

/* Returns -x if x is a negation or a product with a negation, else 0. */
static wf__ref negated(const wf__math *m, wf__ref x)
{
    const wf__node *n = wf__at(m->ir, x), *a = wf__at(m->ir, n->a), *b = wf__at(m->ir, n->b);
    if (n->op == WF__OP_neg)
        return n->a;
    if (n->op != WF__OP_mul || (a->op != WF__OP_neg && b->op != WF__OP_neg))
        return 0;
    return a->op == WF__OP_neg ? m_mul(m, a->a, n->b) : m_mul(m, n->a, b->a);
}

/* Clamps x to bounds beyond which the result is 0 or infinite. A negation moves behind the clamp, where the
 * multiply-adds that follow absorb it. */
static range clamp(const wf__math *m, wf__ref x, const double *low, const double *high)
{
    bool falling = never_positive(m, x);
    wf__ref y = falling ? negated(m, x) : 0;
    if (y)
        return (range){ .x = m_neg(m, m_min(m, y, -low[m->wide])), .below = 0 };
    range r = { .x = m_max(m, x, low[m->wide]), .below = 0 };
    if (falling)
        return r;
    r.x = m_min(m, r.x, high[m->wide]);
    r.below = m_lt(m, r.x, 0);
    return r;
}

static wf__ref biased_magic(const wf__math *m, range r)
{
    double down = m->magic + m->bias - DOWN, lift = m->magic + m->bias + up[m->wide];
    return r.below ? wf__m_select_k(m, r.below, lift, down) : m_k(m, lift);
}

static wf__ref unscale(const wf__math *m, range r, wf__m_power e)
{
    wf__ref y = m_fma(m, e.expm1, e.scale, e.scale);
    return m_mul(m, y, r.below ? wf__m_select_k(m, r.below, un_up[m->wide], 0x1p8) : m_k(m, un_up[m->wide]));
}

wf__ref wf__m_exp(const wf__math *m, wf__ref x)
{
    static const double low[2] = { -104.6, -745.8 }, high[2] = { 89, 710 }; /* k = -151, -1076 */
    range r = clamp(m, x, low, high);
    return unscale(m, r, wf__m_exp_reduced(m, r.x, biased_magic(m, r)));
}

static const double exp2_low[2] = { -151, -1076 }, exp2_high[2] = { 129, 1025 };

/* Returns 2^(a.x + lo). */
static wf__ref exp2_sum(const wf__math *m, range a, wf__ref lo)
{
    wf__ref magic = biased_magic(m, a), sum = m_add(m, a.x, magic), k = m_sub(m, sum, magic), r = m_sub(m, a.x, k);
    if (lo)
        r = m_add(m, r, lo);
    wf__ref r2 = m_mul(m, r, r), p = wf__m_poly(m, &exp2_poly[m->wide], r, r2), rest = m_mul(m, r2, p);
    wf__ref expm1 = m_fmak(m, r, ln2_hi[m->wide], rest);
    return unscale(m, a, (wf__m_power){ .expm1 = expm1, .scale = scale_of(m, sum) });
}

wf__ref wf__m_exp2(const wf__math *m, wf__ref x) { return exp2_sum(m, clamp(m, x, exp2_low, exp2_high), 0); }

wf__ref wf__m_exp2_sum(const wf__math *m, wf__ref x, wf__ref lo)
{
    range a = clamp(m, x, exp2_low, exp2_high);
    wf__ref outside = m_op2(m, WF__OP_ne, a.x, x), zero = m_k(m, 0);
    return exp2_sum(m, a, m_select(m, outside, zero, lo));
}

wf__ref wf__m_exp10(const wf__math *m, wf__ref x)
{
    static const double low[2] = { -45.45, -323.9 }, high[2] = { 38.6, 308.6 }; /* k = -151, -1076 */
    range a = clamp(m, x, low, high);
    wf__ref magic = biased_magic(m, a), sum = m_fmak(m, a.x, log2_10[m->wide], magic), k = m_sub(m, sum, magic);
    wf__ref r = m_fmak(m, k, -log10_2_hi[m->wide], a.x);
    r = m_fmak(m, k, -log10_2_lo[m->wide], r);
    wf__ref r2 = m_mul(m, r, r), p = wf__m_poly(m, &exp10_poly[m->wide], r, r2), rest = m_mul(m, r2, p);
    wf__ref expm1 = m_fmak(m, r, ln10[m->wide], rest);
    return unscale(m, a, (wf__m_power){ .expm1 = expm1, .scale = scale_of(m, sum) });
}

wf__m_residue wf__m_ln2_residue(const wf__math *m, wf__ref x, double magic)
{
    wf__m_residue a = { .sum = m_fmak(m, x, log2e[m->wide], m_k(m, magic)) };
    a.k = m_subk(m, a.sum, magic);
    wf__ref exact = m_fmak(m, a.k, -ln2_hi[m->wide], x);
    a.r = m_fmak(m, a.k, -ln2_lo[m->wide], exact);
    a.r_lo = m_fmak(m, a.k, -ln2_lo[m->wide], m_sub(m, exact, a.r));
    return a;
}

/* e^x - 1 = (2^k - 1) + 2^k r + 2^k (e^r - 1 - r). The first sum is computed with its rounding error. All terms are
 * 2^8 times smaller, as in exp. */
wf__ref wf__m_expm1(const wf__math *m, wf__ref x)
{
    static const double low[2] = { -18, -38 }, high[2] = { 89, 710 };
    wf__ref within = m_max(m, x, low[m->wide]);
    within = m_min(m, within, high[m->wide]);
    wf__m_residue a = wf__m_ln2_residue(m, within, m->magic + m->bias - DOWN);
    wf__ref scale = scale_of(m, a.sum), base = m_subk(m, scale, 0x1p-8), lead = m_mul(m, a.r, scale);
    wf__ref hi = m_add(m, base, lead), lost = m_sub(m, base, hi); /* exact: base is 0 or above |lead| */
    lost = m_add(m, lost, lead);
    wf__ref r2 = m_mul(m, a.r, a.r), small = m_fma(m, r2, wf__m_poly(m, &exp_poly[m->wide], a.r, r2), a.r_lo);
    wf__ref y = m_mulk(m, m_add(m, hi, m_fma(m, scale, small, lost)), 0x1p8);
    wf__ref tiny = m_lt(m, m_abs(m, x), 0x1p-60); /* y may be denormal */
    return m_select(m, tiny, x, y);
}
