/* alu_float.c - instructions on f32 and f64, and cvt (section "Floating-Point Instructions").
 *
 * Rounded instructions are host operations under the required rounding direction. Operands and results pass through
 * volatile variables, so that no compiler moves the operation across the two changes of direction. The .approx forms
 * give the correctly rounded value where the manual allows an error, and the special values that it lists.
 * A NaN that an f32 instruction makes is 0x7fffffff.
 */
#include "emu/alu.h"
#include "emu/number.h"
#include <fenv.h>
#include <math.h>

static const int directions[4] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD };
typedef enum operation { ADD, SUB, MUL, FMA, DIV, SQRT } operation;

#define APPLY(name, type, fused, root)                                              \
    static type name(operation op, type a, type b, type c)                          \
    {                                                                               \
        switch (op) {                                                               \
        case ADD:                                                                   \
            return a + b;                                                           \
        case SUB:                                                                   \
            return a - b;                                                           \
        case MUL:                                                                   \
            return a * b;                                                           \
        case FMA:                                                                   \
            return fused(a, b, c);                                                  \
        case DIV:                                                                   \
            return a / b;                                                           \
        default:                                                                    \
            return root(a);                                                         \
        }                                                                           \
    }                                                                               \
    /* a rounding direction other than to nearest */                                \
    static type name##_towards(int direction, operation op, type a, type b, type c) \
    {                                                                               \
        volatile type x = a, y = b, z = c, r;                                       \
        fesetround(direction);                                                      \
        r = name(op, x, y, z);                                                      \
        fesetround(FE_TONEAREST);                                                   \
        return r;                                                                   \
    }
APPLY(apply32, float, fmaf, sqrtf)
APPLY(apply64, double, fma, sqrt)
#undef APPLY

/* A subnormal f32 becomes a zero of its sign. */
static uint64_t flushed(bool on, uint64_t x) { return on && (x & 0x7f800000u) == 0 ? x & 0x80000000u : x; }

static uint64_t finish32(const emu_inst *in, float x)
{
    if (x != x)
        return in->sat ? 0 : 0x7fffffffu;
    uint64_t bits = flushed(in->ftz, emu_bits32(x));
    if (in->sat)
        return bits >> 31 ? 0 : emu_f32(bits) > 1.0f ? 0x3f800000u : bits;
    return in->relu && bits >> 31 ? 0 : bits;
}

static uint64_t run32(const emu_inst *in, operation op, uint64_t a, uint64_t b, uint64_t c)
{
    float x = emu_f32(flushed(in->ftz, a)), y = emu_f32(flushed(in->ftz, b)), z = emu_f32(flushed(in->ftz, c));
    if (in->rnd == EMU_RN)
        return finish32(in, apply32(op, x, y, z));
    return finish32(in, apply32_towards(directions[in->rnd], op, x, y, z));
}

static uint64_t run64(const emu_inst *in, operation op, uint64_t a, uint64_t b, uint64_t c)
{
    double x = emu_f64(a), y = emu_f64(b), z = emu_f64(c);
    if (in->rnd == EMU_RN)
        return emu_bits64(apply64(op, x, y, z));
    return emu_bits64(apply64_towards(directions[in->rnd], op, x, y, z));
}

EMU_FN(add_f32, run32(in, ADD, a, b, 0))
EMU_FN(sub_f32, run32(in, SUB, a, b, 0))
EMU_FN(mul_f32, run32(in, MUL, a, b, 0))
EMU_FN(fma_f32, run32(in, FMA, a, b, c))
EMU_FN(div_f32, run32(in, DIV, a, b, 0))
EMU_FN(sqrt_f32, run32(in, SQRT, a, 0, 0))
EMU_FN(rcp_f32, run32(in, DIV, 0x3f800000u, a, 0))
EMU_FN(add_f64, run64(in, ADD, a, b, 0))
EMU_FN(sub_f64, run64(in, SUB, a, b, 0))
EMU_FN(mul_f64, run64(in, MUL, a, b, 0))
EMU_FN(fma_f64, run64(in, FMA, a, b, c))
EMU_FN(div_f64, run64(in, DIV, a, b, 0))
EMU_FN(sqrt_f64, run64(in, SQRT, a, 0, 0))
EMU_FN(rcp_f64, run64(in, DIV, 0x3ff0000000000000u, a, 0))

/* atom.add.f32 flushes no subnormals, in global and in shared memory (section "atom"). */

/* Section "div": for 2^126 < |b| < 2^128 div.approx gives NaN if a is infinite, else 0. */
static uint64_t divided_approx(const emu_inst *in, uint64_t a, uint64_t b)
{
    float y = fabsf(emu_f32(b));
    if (y > 0x1p126f && y < INFINITY && !isnan(emu_f32(a)))
        return isinf(emu_f32(a)) ? 0x7fffffffu : (a ^ b) & 0x80000000u;
    return run32(in, DIV, a, b, 0);
}
EMU_FN(div_approx_f32, divided_approx(in, a, b))

static uint64_t function32(const emu_inst *in, double (*f)(double), uint64_t a)
{
    return finish32(in, (float)f((double)emu_f32(flushed(in->ftz, a))));
}
static double reciprocal_root(double x) { return 1 / sqrt(x); }
EMU_FN(rsqrt_f32, function32(in, reciprocal_root, a))
EMU_FN(rsqrt_f64, emu_bits64(reciprocal_root(emu_f64(a))))
EMU_FN(ex2_f32, function32(in, exp2, a))
EMU_FN(lg2_f32, function32(in, log2, a))
EMU_FN(sin_f32, function32(in, sin, a))
EMU_FN(cos_f32, function32(in, cos, a))
EMU_FN(tanh_f32, function32(in, tanh, a))
/* Sections "rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64": 20 leading bits of the fraction; the low 32 bits are zero. */
static uint64_t coarse(double (*f)(double), uint64_t a)
{
    if ((a & 0x7ff0000000000000u) == 0)
        a &= 0x8000000000000000u;
    uint64_t r = emu_bits64(f(emu_f64(a))) & ~(uint64_t)0xffffffffu;
    return (r & 0x7ff0000000000000u) == 0 ? r & 0x8000000000000000u : r;
}
static double reciprocal(double x) { return 1 / x; }
EMU_FN(rcp_coarse_f64, coarse(reciprocal, a))
EMU_FN(rsqrt_coarse_f64, coarse(reciprocal_root, a))

EMU_FN(abs_f32, flushed(in->ftz, a) & 0x7fffffffu)
EMU_FN(neg_f32, flushed(in->ftz, a) ^ 0x80000000u)
EMU_FN(abs_f64, a & 0x7fffffffffffffffu)
EMU_FN(neg_f64, a ^ 0x8000000000000000u)
EMU_FN(copysign_f32, (b & 0x7fffffffu) | (a & 0x80000000u))
EMU_FN(copysign_f64, (b & 0x7fffffffffffffffu) | (a & 0x8000000000000000u))
EMU_FN(mov_f32, (uint32_t)a)
EMU_FN(mov_f64, a)
EMU_FN(selp_f32, (uint32_t)((c & 1) ? a : b))
EMU_FN(selp_f64, (c & 1) ? a : b)

/* Sections "min", "max": -0 < +0; a single NaN is ignored, except with .NaN; .xorsign.abs compares magnitudes, and the
 * sign is the xor of the signs. */
static uint64_t extreme32(const emu_inst *in, uint64_t a, uint64_t b, bool most)
{
    a = flushed(in->ftz, a), b = flushed(in->ftz, b);
    uint64_t sign = in->xorsign ? (a ^ b) & 0x80000000u : 0;
    if (in->xorsign)
        a &= 0x7fffffffu, b &= 0x7fffffffu;
    float x = emu_f32(a), y = emu_f32(b);
    if (isnan(x) || isnan(y)) {
        if (in->nan || (isnan(x) && isnan(y)))
            return 0x7fffffffu;
        return (isnan(x) ? b : a) | sign;
    }
    bool first = x == y ? (a >> 31) != most : most ? x > y : x < y; /* the sign orders equal values */
    return (first ? a : b) | sign;
}
static uint64_t extreme64(uint64_t a, uint64_t b, bool most)
{
    double x = emu_f64(a), y = emu_f64(b);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? 0x7fffffffffffffffu : isnan(x) ? b : a;
    bool first = x == y ? (a >> 63) != most : most ? x > y : x < y;
    return first ? a : b;
}
EMU_FN(min_f32, extreme32(in, a, b, false))
EMU_FN(max_f32, extreme32(in, a, b, true))
EMU_FN(min_f64, extreme64(a, b, false))
EMU_FN(max_f64, extreme64(a, b, true))

static int relation(double x, double y) { return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2; }
EMU_FN(order_f32,
       (uint64_t)(int64_t)relation((double)emu_f32(flushed(in->ftz, a)), (double)emu_f32(flushed(in->ftz, b))))
EMU_FN(order_f64, (uint64_t)(int64_t)relation(emu_f64(a), emu_f64(b)))

/* Section "slct" with an f32 condition: a NaN selects b. */
static bool not_negative(const emu_inst *in, uint64_t c) { return emu_f32(flushed(in->ftz, c)) >= 0; }
EMU_FN(slct_f32_32, (uint32_t)(not_negative(in, c) ? a : b))
EMU_FN(slct_f32_64, not_negative(in, c) ? a : b)
EMU_FN(slct_f32_16, (uint16_t)(not_negative(in, c) ? a : b))
EMU_FN(slct_s32_32, (uint32_t)((int32_t)c >= 0 ? a : b))
EMU_FN(slct_s32_64, (int32_t)c >= 0 ? a : b)

/* testp; `what`: finite, infinite, number, notanumber, normal, subnormal. Zero counts as normal. */
static uint64_t tested(unsigned what, uint64_t magnitude, uint64_t inf, uint64_t least)
{
    switch (what) {
    case 0:
        return magnitude < inf;
    case 1:
        return magnitude == inf;
    case 2:
        return magnitude <= inf;
    case 3:
        return magnitude > inf;
    case 4:
        return magnitude < inf && (magnitude >= least || magnitude == 0);
    default:
        return magnitude < least && magnitude != 0;
    }
}
EMU_FN(testp_f32, tested(in->what, a & 0x7fffffffu, 0x7f800000u, 0x00800000u))
EMU_FN(testp_f64, tested(in->what, a & 0x7fffffffffffffffu, 0x7ff0000000000000u, 0x0010000000000000u))

/* ---- cvt: from in->type2 to in->type ---- */
static bool tiny32(emu_type t, uint64_t a) { return t == EMU_F32 && (a & 0x7f800000u) == 0; }

/* Clamps to [0, 1]; a NaN becomes 0. */
static uint64_t saturated(emu_type t, uint64_t bits)
{
    double x = wfe_to_double(t, bits);
    if (!(x > 0))
        return 0;
    return x > 1 ? wfe_from_double(t, 1, EMU_RN) : bits;
}

static uint64_t int_to_int(const emu_inst *in, uint64_t a)
{
    emu_type from = in->type2, to = in->type;
    unsigned bits = 8 * wfe_size(to);
    uint64_t ones = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
    a = wfe_extend(from, a, 8);
    if (!in->sat)
        return a & ones;
    bool negative = wfe_is_signed(from) && a >> 63;
    return wfe_to_int(wfe_from_int(negative ? 0 - a : a, negative), to, EMU_RZ, true);
}

static uint64_t convert(const emu_inst *in, uint64_t a)
{
    emu_type from = in->type2, to = in->type;
    if (!wfe_is_float(from) && !wfe_is_float(to))
        return int_to_int(in, a);
    emu_number x;
    if (wfe_is_float(from)) {
        x = wfe_unpack(from, in->ftz && tiny32(from, a) ? a & 0x80000000u : a);
    } else {
        a = wfe_extend(from, a, 8);
        bool negative = wfe_is_signed(from) && a >> 63;
        x = wfe_from_int(negative ? 0 - a : a, negative);
    }
    if (!wfe_is_float(to)) {
        /* "In float-to-integer conversions": NaN gives 0 unless the source is f64 or the destination has 64 bits. */
        bool wide = from == EMU_F64 || wfe_size(to) == 8;
        return wfe_to_int(x, to, in->irnd ? (emu_round)(in->irnd - 1) : EMU_RZ, !wide);
    }
    if (in->irnd)
        x = wfe_to_integral(x, (emu_round)(in->irnd - 1));
    uint64_t bits = wfe_pack(to, x, in->rnd);
    if (in->ftz && tiny32(to, bits))
        bits &= 0x80000000u;
    if (in->sat)
        bits = saturated(to, bits);
    if (in->relu && (bits >> (8 * wfe_size(to) - 1) & 1))
        bits = 0; /* the NaN that the conversion makes is positive */
    if (in->satfinite && x.cls == EMU_INF)
        bits = (bits & 0x8000) | (to == EMU_F16 ? 0x7bff : 0x7f7f);
    return bits;
}

uint64_t wfe_cvt(const emu_inst *in, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    (void)b, (void)c, (void)d;
    return wfe_extend(in->type, convert(in, a), in->dst_bytes);
}

/* cvt.rn.f16x2.f32 d, a, b: a is the upper half. */
uint64_t wfe_cvt_pack(const emu_inst *in, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    (void)c, (void)d;
    emu_inst one = *in;
    one.type = in->type == EMU_F16X2 ? EMU_F16 : EMU_BF16;
    return convert(&one, a) << 16 | convert(&one, b);
}

const emu_alu wfe_alu_float[] = {
    { "add", EMU_F32, add_f32 },
    { "add", EMU_F64, add_f64 },
    { "sub", EMU_F32, sub_f32 },
    { "sub", EMU_F64, sub_f64 },
    { "mul", EMU_F32, mul_f32 },
    { "mul", EMU_F64, mul_f64 },
    { "fma", EMU_F32, fma_f32 },
    { "fma", EMU_F64, fma_f64 },
    { "div", EMU_F32, div_f32 },
    { "div", EMU_F64, div_f64 },
    { "div.approx", EMU_F32, div_approx_f32 },
    { "rcp", EMU_F32, rcp_f32 },
    { "rcp", EMU_F64, rcp_f64 },
    { "rcp.approx", EMU_F64, rcp_coarse_f64 },
    { "sqrt", EMU_F32, sqrt_f32 },
    { "sqrt", EMU_F64, sqrt_f64 },
    { "rsqrt", EMU_F32, rsqrt_f32 },
    { "rsqrt", EMU_F64, rsqrt_f64 },
    { "rsqrt.coarse", EMU_F64, rsqrt_coarse_f64 },
    { "ex2", EMU_F32, ex2_f32 },
    { "lg2", EMU_F32, lg2_f32 },
    { "sin", EMU_F32, sin_f32 },
    { "cos", EMU_F32, cos_f32 },
    { "tanh", EMU_F32, tanh_f32 },
    { "abs", EMU_F32, abs_f32 },
    { "abs", EMU_F64, abs_f64 },
    { "neg", EMU_F32, neg_f32 },
    { "neg", EMU_F64, neg_f64 },
    { "copysign", EMU_F32, copysign_f32 },
    { "copysign", EMU_F64, copysign_f64 },
    { "mov", EMU_F32, mov_f32 },
    { "mov", EMU_F64, mov_f64 },
    { "selp", EMU_F32, selp_f32 },
    { "selp", EMU_F64, selp_f64 },
    { "min", EMU_F32, min_f32 },
    { "max", EMU_F32, max_f32 },
    { "min", EMU_F64, min_f64 },
    { "max", EMU_F64, max_f64 },
    { "order", EMU_F32, order_f32 },
    { "order", EMU_F64, order_f64 },
    { "slct", EMU_F32, slct_s32_32 },
    { "slct", EMU_F64, slct_s32_64 },
    { "slct.f32", EMU_B16, slct_f32_16 },
    { "slct.f32", EMU_U16, slct_f32_16 },
    { "slct.f32", EMU_S16, slct_f32_16 },
    { "slct.f32", EMU_B32, slct_f32_32 },
    { "slct.f32", EMU_U32, slct_f32_32 },
    { "slct.f32", EMU_S32, slct_f32_32 },
    { "slct.f32", EMU_F32, slct_f32_32 },
    { "slct.f32", EMU_B64, slct_f32_64 },
    { "slct.f32", EMU_U64, slct_f32_64 },
    { "slct.f32", EMU_S64, slct_f32_64 },
    { "slct.f32", EMU_F64, slct_f32_64 },
    { "testp", EMU_F32, testp_f32 },
    { "testp", EMU_F64, testp_f64 },
};
const unsigned wfe_alu_floats = sizeof wfe_alu_float / sizeof *wfe_alu_float;
