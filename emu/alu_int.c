/* alu_int.c - integer, logic and selection instructions. Sections "Integer Arithmetic Instructions", "Logic and Shift
 * Instructions", "Comparison and Selection Instructions", "Data Movement: prmt". The manual does not specify quotients
 * and remainders by zero; here all their bits are set.
 */
#include "emu/alu.h"

typedef unsigned __int128 uint128;
typedef __int128 int128;

static uint64_t ones(unsigned bits) { return bits >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1; }
static int64_t sext(uint64_t x, unsigned bits)
{
    uint64_t top = (uint64_t)1 << (bits - 1);
    return (int64_t)(((x & ones(bits)) ^ top) - top);
}
static int64_t clamp(int128 x, int64_t least, int64_t most) { return x < least ? least : x > most ? most : (int64_t)x; }

uint64_t wfe_extend(emu_type t, uint64_t bits, unsigned bytes)
{
    unsigned own = 8 * wfe_size(t);
    if (own >= 64 || t == EMU_PRED)
        return bits;
    bits &= ones(own);
    return wfe_is_signed(t) && bytes * 8 > own ? (uint64_t)sext(bits, own) & ones(8 * bytes) : bits;
}

static uint64_t quotient(int64_t a, int64_t b)
{
    return b == 0 ? ~(uint64_t)0 : b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
}
static uint64_t remainder_of(int64_t a, int64_t b) { return b == 0 ? ~(uint64_t)0 : b == -1 ? 0 : (uint64_t)(a % b); }
static uint64_t uquotient(uint64_t a, uint64_t b) { return b == 0 ? ~(uint64_t)0 : a / b; }
static uint64_t uremainder(uint64_t a, uint64_t b) { return b == 0 ? ~(uint64_t)0 : a % b; }

/* Rows for the two types of one width: W = bits, S and U = C types. */
#define WIDTH_ROWS(W, S, U)                                                              \
    EMU_FN(add_##W, (U)(a + b))                                                          \
    EMU_FN(sub_##W, (U)(a - b))                                                          \
    EMU_FN(mul_lo_##W, (U)(a * b))                                                       \
    EMU_FN(mul_hi_u##W, (U)((uint128)(U)a * (U)b >> W))                                  \
    EMU_FN(mul_hi_s##W, (U)(uint64_t)((int128)(S)a * (S)b >> W))                         \
    EMU_FN(mad_lo_##W, (U)(a * b + c))                                                   \
    EMU_FN(mad_hi_u##W, (U)(mul_hi_u##W(in, a, b, 0, 0) + c))                            \
    EMU_FN(mad_hi_s##W, (U)(mul_hi_s##W(in, a, b, 0, 0) + c))                            \
    EMU_FN(div_u##W, (U)uquotient((U)a, (U)b))                                           \
    EMU_FN(div_s##W, (U)quotient((S)a, (S)b))                                            \
    EMU_FN(rem_u##W, (U)uremainder((U)a, (U)b))                                          \
    EMU_FN(rem_s##W, (U)remainder_of((S)a, (S)b))                                        \
    EMU_FN(abs_##W, (S)a < 0 ? (U)(0 - a) : (U)a)                                        \
    EMU_FN(neg_##W, (U)(0 - a))                                                          \
    EMU_FN(min_u##W, (U)a < (U)b ? (U)a : (U)b)                                          \
    EMU_FN(max_u##W, (U)a > (U)b ? (U)a : (U)b)                                          \
    EMU_FN(min_s##W, in->relu && ((S)a < 0 || (S)b < 0) ? 0 : (S)a < (S)b ? (U)a : (U)b) \
    EMU_FN(max_s##W, in->relu && (S)a < 0 && (S)b < 0 ? 0 : (S)a > (S)b ? (U)a : (U)b)   \
    EMU_FN(and_##W, (U)(a & b))                                                          \
    EMU_FN(or_##W, (U)(a | b))                                                           \
    EMU_FN(xor_##W, (U)(a ^ b))                                                          \
    EMU_FN(not_##W, (U)~a)                                                               \
    EMU_FN(cnot_##W, (U)a == 0)                                                          \
    EMU_FN(shl_##W, (uint32_t)b >= W ? 0 : (U)((U)a << ((uint32_t)b % W)))               \
    EMU_FN(shr_u##W, (uint32_t)b >= W ? 0 : (U)a >> ((uint32_t)b % W))                   \
    EMU_FN(shr_s##W, (U)((S)a >> ((uint32_t)b >= W ? W - 1 : (uint32_t)b % W)))          \
    EMU_FN(sad_u##W, (U)(c + ((U)a > (U)b ? a - b : b - a)))                             \
    EMU_FN(sad_s##W, (U)(c + ((S)a > (S)b ? a - b : b - a)))                             \
    EMU_FN(order_u##W, (uint64_t)(int64_t)(((U)a > (U)b) - ((U)a < (U)b)))               \
    EMU_FN(order_s##W, (uint64_t)(int64_t)(((S)a > (S)b) - ((S)a < (S)b)))               \
    EMU_FN(selp_##W, (c & 1) ? (U)a : (U)b)                                              \
    EMU_FN(slct_s32_##W, (int32_t)c >= 0 ? (U)a : (U)b)                                  \
    EMU_FN(mov_##W, (U)a)                                                                \
    EMU_FN(exch_##W, (U)b)                                                               \
    EMU_FN(cas_##W, (U)a == (U)b ? (U)c : (U)a)
WIDTH_ROWS(16, int16_t, uint16_t)
WIDTH_ROWS(32, int32_t, uint32_t)
WIDTH_ROWS(64, int64_t, uint64_t)

EMU_FN(mul_wide_u16, (uint32_t)((uint32_t)(uint16_t)a *(uint16_t)b))
EMU_FN(mul_wide_s16, (uint32_t)((int32_t)(int16_t)a *(int16_t)b))
EMU_FN(mul_wide_u32, (uint64_t)(uint32_t)a *(uint32_t)b)
EMU_FN(mul_wide_s32, (uint64_t)((int64_t)(int32_t)a *(int32_t)b))
EMU_FN(mad_wide_u16, (uint32_t)(mul_wide_u16(in, a, b, 0, 0) + c))
EMU_FN(mad_wide_s16, (uint32_t)(mul_wide_s16(in, a, b, 0, 0) + c))
EMU_FN(mad_wide_u32, mul_wide_u32(in, a, b, 0, 0) + c)
EMU_FN(mad_wide_s32, mul_wide_s32(in, a, b, 0, 0) + c)
EMU_FN(add_sat_s32, (uint32_t)clamp((int128)(int32_t)a + (int32_t)b, INT32_MIN, INT32_MAX))
EMU_FN(sub_sat_s32, (uint32_t)clamp((int128)(int32_t)a - (int32_t)b, INT32_MIN, INT32_MAX))
EMU_FN(mad_hi_sat_s32,
       (uint32_t)clamp((int128)((int64_t)(int32_t)a *(int32_t)b >> 32) + (int32_t)c, INT32_MIN, INT32_MAX))

/* The product of the low 24 bits of the operands has 48 bits. .lo: bits 31..0; .hi: bits 47..16. */
EMU_FN(mul24_lo_u32, (uint32_t)((a & 0xffffff) * (b & 0xffffff)))
EMU_FN(mul24_lo_s32, (uint32_t)(sext(a, 24) * sext(b, 24)))
EMU_FN(mul24_hi_u32, (uint32_t)((a & 0xffffff) * (b & 0xffffff) >> 16))
EMU_FN(mul24_hi_s32, (uint32_t)(sext(a, 24) * sext(b, 24) >> 16))
EMU_FN(mad24_lo_u32, (uint32_t)(mul24_lo_u32(in, a, b, 0, 0) + c))
EMU_FN(mad24_lo_s32, (uint32_t)(mul24_lo_s32(in, a, b, 0, 0) + c))

EMU_FN(popc_b32, (uint64_t)__builtin_popcount((uint32_t)a))
EMU_FN(popc_b64, (uint64_t)__builtin_popcountll(a))
EMU_FN(clz_b32, (uint32_t)a ? (uint64_t)__builtin_clz((uint32_t)a) : 32)
EMU_FN(clz_b64, a ? (uint64_t)__builtin_clzll(a) : 64)

static uint64_t reversed(uint64_t x, unsigned bits)
{
    uint64_t y = 0;
    for (unsigned i = 0; i < bits; i++)
        y |= (x >> i & 1) << (bits - 1 - i);
    return y;
}
EMU_FN(brev_b32, reversed(a, 32))
EMU_FN(brev_b64, reversed(a, 64))

/* Section "bfind": the most significant non-sign bit; 0xffffffff = none. */
static uint64_t found(const emu_inst *in, uint64_t a, unsigned bits, bool is_signed)
{
    if (is_signed && a >> (bits - 1) & 1)
        a = ~a & ones(bits);
    if (a == 0)
        return 0xffffffffu;
    unsigned at = 63 - (unsigned)__builtin_clzll(a);
    return in->what ? bits - 1 - at : at; /* what: .shiftamt */
}
EMU_FN(bfind_u32, found(in, (uint32_t)a, 32, false))
EMU_FN(bfind_u64, found(in, a, 64, false))
EMU_FN(bfind_s32, found(in, (uint32_t)a, 32, true))
EMU_FN(bfind_s64, found(in, a, 64, true))

/* Section "fns": the n-th set bit from `base` on, upward for n > 0, downward for n < 0. */
static uint64_t nth_set(uint32_t mask, uint32_t base, int32_t offset)
{
    if (base > 31)
        return 0xffffffffu;
    if (offset == 0)
        return mask >> base & 1 ? base : 0xffffffffu;
    int step = offset > 0 ? 1 : -1;
    int64_t left = offset > 0 ? offset : -(int64_t)offset;
    for (int at = (int)base; at >= 0 && at < 32; at += step)
        if ((mask >> at & 1) && --left == 0)
            return (uint64_t)at;
    return 0xffffffffu;
}
EMU_FN(fns_b32, nth_set((uint32_t)a, (uint32_t)b, (int32_t)c))

/* Section "bfe": pos and len are the low 8 bits of their operands; bits beyond the top are the sign, or zero. */
static uint64_t extracted(uint64_t a, uint64_t pos, uint64_t len, unsigned width, bool is_signed)
{
    pos &= 0xff, len &= 0xff;
    uint64_t last = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
    uint64_t sign = is_signed && len != 0 ? a >> last & 1 : 0;
    uint64_t x = 0;
    for (unsigned i = 0; i < width; i++)
        x |= (i < len && pos + i < width ? a >> (pos + i) & 1 : sign) << i;
    return x;
}
EMU_FN(bfe_u32, extracted(a, b, c, 32, false))
EMU_FN(bfe_u64, extracted(a, b, c, 64, false))
EMU_FN(bfe_s32, extracted(a, b, c, 32, true))
EMU_FN(bfe_s64, extracted(a, b, c, 64, true))

static uint64_t inserted(uint64_t a, uint64_t b, uint64_t pos, uint64_t len, unsigned width)
{
    pos &= 0xff, len &= 0xff;
    for (unsigned i = 0; i < len && pos + i < width; i++)
        b = (b & ~((uint64_t)1 << (pos + i))) | (i < 64 ? a >> i & 1 : 0) << (pos + i);
    return b;
}
EMU_FN(bfi_b32, inserted(a, b, c, d, 32))
EMU_FN(bfi_b64, inserted(a, b, c, d, 64))
static uint64_t bit_mask(uint64_t pos, uint64_t len, bool wrap)
{
    pos = wrap ? pos & 31 : pos, len = wrap ? len & 31 : len;
    return pos > 31 || len == 0 ? 0 : (uint32_t)(ones(len > 32 ? 32 : (unsigned)len) << pos);
}
EMU_FN(bmsk_b32, bit_mask((uint32_t)a, (uint32_t)b, in->what))
EMU_FN(szext_u32, (uint32_t)b > 31 && !in->what ? (uint32_t)a : (uint32_t)a & ones((unsigned)b & 31))
EMU_FN(szext_s32, (uint32_t)b > 31 && !in->what ? (uint32_t)a : (b & 31) == 0 ? 0 : (uint32_t)sext(a, (unsigned)b & 31))

/* Section "shf": {b,a} as 64 bits; .wrap: c & 31, .clamp: min(c, 32) */
static uint64_t funnel(const emu_inst *in, uint64_t a, uint64_t b, uint64_t c, bool left)
{
    unsigned n = in->what ? (unsigned)c & 31 : (uint32_t)c > 32 ? 32 : (unsigned)c;
    uint64_t both = (uint64_t)(uint32_t)b << 32 | (uint32_t)a;
    return (uint32_t)(left ? both << n >> 32 : both >> n);
}
EMU_FN(shf_l_b32, funnel(in, a, b, c, true))
EMU_FN(shf_r_b32, funnel(in, a, b, c, false))

static uint64_t looked_up(const emu_inst *in, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = 0;
    for (unsigned i = 0; i < 8; i++)
        if (in->lut >> i & 1)
            x |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return (uint32_t)x;
}
EMU_FN(lop3_b32, looked_up(in, a, b, c))

/* Section "prmt". Modes: 0 = general, then f4e, b4e, rc8, ecl, ecr, rc16. */
static uint64_t permuted(unsigned mode, uint64_t a, uint64_t b, uint64_t c)
{
    static const uint16_t selectors[7][4] = {
        { 0 },
        { 0x3210, 0x4321, 0x5432, 0x6543 },
        { 0x5670, 0x6701, 0x7012, 0x0123 },
        { 0x0000, 0x1111, 0x2222, 0x3333 },
        { 0x3210, 0x3211, 0x3222, 0x3333 },
        { 0x0000, 0x1110, 0x2210, 0x3210 },
        { 0x1010, 0x3232, 0x1010, 0x3232 },
    };
    uint64_t both = (uint64_t)(uint32_t)b << 32 | (uint32_t)a, x = 0;
    unsigned selector = mode ? selectors[mode][c & 3] : (unsigned)c & 0xffff;
    for (unsigned i = 0; i < 4; i++) {
        unsigned one = selector >> (4 * i) & 15;
        uint64_t byte = both >> (8 * (one & 7)) & 255;
        if (one & 8)
            byte = byte & 128 ? 255 : 0;
        x |= byte << (8 * i);
    }
    return x;
}
EMU_FN(prmt_b32, permuted(in->what, a, b, c))

static uint64_t dot4(const emu_inst *in, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t sum = c;
    for (unsigned i = 0; i < 4; i++) {
        int64_t x = in->type == EMU_S32 ? sext(a >> (8 * i), 8) : (int64_t)(a >> (8 * i) & 255);
        int64_t y = in->type2 == EMU_S32 ? sext(b >> (8 * i), 8) : (int64_t)(b >> (8 * i) & 255);
        sum += (uint64_t)(x * y);
    }
    return (uint32_t)sum;
}
EMU_FN(dp4a_u32, dot4(in, a, b, c))
EMU_FN(inc_32, (uint32_t)a >= (uint32_t)b ? 0 : (uint32_t)(a + 1)) /* atom.inc, atom.dec */
EMU_FN(dec_32, (uint32_t)a == 0 || (uint32_t)a > (uint32_t)b ? (uint32_t)b : (uint32_t)(a - 1))
EMU_FN(and_pred, a &b & 1)
EMU_FN(or_pred, (a | b) & 1)
EMU_FN(xor_pred, (a ^ b) & 1)
EMU_FN(not_pred, ~a & 1)
EMU_FN(mov_pred, a & 1)
EMU_FN(cvta_b64, a + (uint64_t)in->offset)

bool wfe_compare(unsigned cmp, int r)
{
    bool nan = r == 2;
    switch (cmp) {
    case EMU_CMP_EQ:
        return r == 0;
    case EMU_CMP_NE:
        return r == -1 || r == 1;
    case EMU_CMP_LT:
        return r == -1;
    case EMU_CMP_LE:
        return r == -1 || r == 0;
    case EMU_CMP_GT:
        return r == 1;
    case EMU_CMP_GE:
        return r == 0 || r == 1;
    case EMU_CMP_EQU:
        return r == 0 || nan;
    case EMU_CMP_NEU:
        return r != 0;
    case EMU_CMP_LTU:
        return r == -1 || nan;
    case EMU_CMP_LEU:
        return r != 1;
    case EMU_CMP_GTU:
        return r == 1 || nan;
    case EMU_CMP_GEU:
        return r != -1;
    case EMU_CMP_NUM:
        return !nan;
    default:
        return nan;
    }
}

#define BITS_ROWS(W)                                                                                       \
    { "and", EMU_B##W, and_##W }, { "or", EMU_B##W, or_##W }, { "xor", EMU_B##W, xor_##W },                \
        { "not", EMU_B##W, not_##W }, { "cnot", EMU_B##W, cnot_##W }, { "shl", EMU_B##W, shl_##W },        \
        { "shr", EMU_B##W, shr_u##W }, { "selp", EMU_B##W, selp_##W }, { "slct", EMU_B##W, slct_s32_##W }, \
        { "mov", EMU_B##W, mov_##W }, { "exch", EMU_B##W, exch_##W }, { "cas", EMU_B##W, cas_##W },        \
    {                                                                                                      \
        "order", EMU_B##W, order_u##W                                                                      \
    }
#define INT_ROWS(T, W, s)                                                                                     \
    { "add", T##W, add_##W }, { "sub", T##W, sub_##W }, { "mul.lo", T##W, mul_lo_##W },                       \
        { "mul.hi", T##W, mul_hi_##s##W }, { "mad.lo", T##W, mad_lo_##W }, { "mad.hi", T##W, mad_hi_##s##W }, \
        { "div", T##W, div_##s##W }, { "rem", T##W, rem_##s##W }, { "min", T##W, min_##s##W },                \
        { "max", T##W, max_##s##W }, { "shr", T##W, shr_##s##W }, { "sad", T##W, sad_##s##W },                \
        { "order", T##W, order_##s##W }, { "selp", T##W, selp_##W }, { "slct", T##W, slct_s32_##W },          \
    {                                                                                                         \
        "mov", T##W, mov_##W                                                                                  \
    }
#define SIGNED_ROWS(W) \
    { "abs", EMU_S##W, abs_##W }, { "neg", EMU_S##W, neg_##W }

const emu_alu wfe_alu_int[] = {
    BITS_ROWS(16),
    BITS_ROWS(32),
    BITS_ROWS(64),
    INT_ROWS(EMU_U, 16, u),
    INT_ROWS(EMU_U, 32, u),
    INT_ROWS(EMU_U, 64, u),
    INT_ROWS(EMU_S, 16, s),
    INT_ROWS(EMU_S, 32, s),
    INT_ROWS(EMU_S, 64, s),
    SIGNED_ROWS(16),
    SIGNED_ROWS(32),
    SIGNED_ROWS(64),
    { "mul.wide", EMU_U16, mul_wide_u16 },
    { "mul.wide", EMU_S16, mul_wide_s16 },
    { "mul.wide", EMU_U32, mul_wide_u32 },
    { "mul.wide", EMU_S32, mul_wide_s32 },
    { "mad.wide", EMU_U16, mad_wide_u16 },
    { "mad.wide", EMU_S16, mad_wide_s16 },
    { "mad.wide", EMU_U32, mad_wide_u32 },
    { "mad.wide", EMU_S32, mad_wide_s32 },
    { "add.sat", EMU_S32, add_sat_s32 },
    { "sub.sat", EMU_S32, sub_sat_s32 },
    { "mad.hi.sat", EMU_S32, mad_hi_sat_s32 },
    { "mul24.lo", EMU_U32, mul24_lo_u32 },
    { "mul24.lo", EMU_S32, mul24_lo_s32 },
    { "mul24.hi", EMU_U32, mul24_hi_u32 },
    { "mul24.hi", EMU_S32, mul24_hi_s32 },
    { "mad24.lo", EMU_U32, mad24_lo_u32 },
    { "mad24.lo", EMU_S32, mad24_lo_s32 },
    { "popc", EMU_B32, popc_b32 },
    { "popc", EMU_B64, popc_b64 },
    { "clz", EMU_B32, clz_b32 },
    { "clz", EMU_B64, clz_b64 },
    { "brev", EMU_B32, brev_b32 },
    { "brev", EMU_B64, brev_b64 },
    { "bfind", EMU_U32, bfind_u32 },
    { "bfind", EMU_U64, bfind_u64 },
    { "bfind", EMU_S32, bfind_s32 },
    { "bfind", EMU_S64, bfind_s64 },
    { "fns", EMU_B32, fns_b32 },
    { "bfe", EMU_U32, bfe_u32 },
    { "bfe", EMU_U64, bfe_u64 },
    { "bfe", EMU_S32, bfe_s32 },
    { "bfe", EMU_S64, bfe_s64 },
    { "bfi", EMU_B32, bfi_b32 },
    { "bfi", EMU_B64, bfi_b64 },
    { "bmsk", EMU_B32, bmsk_b32 },
    { "szext", EMU_U32, szext_u32 },
    { "szext", EMU_S32, szext_s32 },
    { "shf.l", EMU_B32, shf_l_b32 },
    { "shf.r", EMU_B32, shf_r_b32 },
    { "lop3", EMU_B32, lop3_b32 },
    { "prmt", EMU_B32, prmt_b32 },
    { "dp4a", EMU_U32, dp4a_u32 },
    { "dp4a", EMU_S32, dp4a_u32 },
    { "and", EMU_PRED, and_pred },
    { "or", EMU_PRED, or_pred },
    { "xor", EMU_PRED, xor_pred },
    { "not", EMU_PRED, not_pred },
    { "mov", EMU_PRED, mov_pred },
    { "cvta", EMU_U64, cvta_b64 },
    { "inc", EMU_U32, inc_32 },
    { "dec", EMU_U32, dec_32 },
};
const unsigned wfe_alu_ints = sizeof wfe_alu_int / sizeof *wfe_alu_int;
