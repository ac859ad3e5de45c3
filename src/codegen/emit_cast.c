/* emit_cast.c - conversions between dtypes. A cast from float to integer truncates and saturates; NaN gives 0. Integers
 * wrap. A cast to a narrower float rounds to nearest, ties to even. A cast to bool is != 0.
 */
#include "codegen/gen.h"

static val from_bool(wf__gen *g, unsigned to, int w, val a)
{
    if (wf__is_float(to))
        return g_select(g, a, wf__gen_real(g, to, w, 1.0), wf__gen_real(g, to, w, 0.0));
    return g->L->BuildZExt(g->b, a, wf__gen_type(g, to, w), "");
}

static val to_bool(wf__gen *g, unsigned from, int w, val a)
{
    val zero = wf__gen_const(g, from, w, 0);
    return wf__is_float(from) ? g_fcmp(g, LLVMRealUNE, a, zero) : g_icmp(g, LLVMIntNE, a, zero);
}

static val int_to_int(wf__gen *g, unsigned to, unsigned from, int w, val a)
{
    LLVMTypeRef type = wf__gen_type(g, to, w);
    if (wf__size(to) == wf__size(from))
        return a;
    if (wf__size(to) < wf__size(from))
        return g->L->BuildTrunc(g->b, a, type, "");
    return wf__is_signed(from) ? g->L->BuildSExt(g->b, a, type, "") : g->L->BuildZExt(g->b, a, type, "");
}

/* Narrow results: the limits are exact as floats, so the value is clamped first, and then always converts. */
static val to_narrow_int(wf__gen *g, unsigned to, unsigned from, int w, val a)
{
    unsigned bits = 8 * wf__size(to);
    WF__ASSERT(bits > 0 && bits <= 32);
    bool is_signed = wf__is_signed(to);
    double low = is_signed ? -(double)((uint64_t)1 << (bits - 1)) : 0;
    double high = (double)((uint64_t)1 << (bits - (is_signed ? 1 : 0))) - 1;
    val lo = wf__gen_real(g, from, w, low), hi = wf__gen_real(g, from, w, high);
    val x = g_select(g, g_fcmp(g, LLVMRealOGT, a, lo), a, lo); /* a NaN becomes `low` */
    x = g_select(g, g_fcmp(g, LLVMRealOLT, x, hi), x, hi);
    LLVMTypeRef type = wf__gen_type(g, to, w);
    val r;
    if (bits < 32)
        r = g->L->BuildTrunc(g->b, g->L->BuildFPToSI(g->b, x, wf__gen_wide(g, g->i32, w), ""), type, "");
    else
        r = is_signed ? g->L->BuildFPToSI(g->b, x, type, "") : g->L->BuildFPToUI(g->b, x, type, "");
    if (!is_signed)
        return r;
    return g_select(g, g_fcmp(g, LLVMRealUNO, a, a), wf__gen_const(g, to, w, 0), r);
}

/* Wide results: converts all lanes, and then replaces those out of range, whose conversion is unspecified but
 * harmless. */
static val to_wide_int(wf__gen *g, unsigned to, unsigned from, int w, val a)
{
    unsigned bits = 8 * wf__size(to);
    bool is_signed = wf__is_signed(to);
    LLVMTypeRef type = wf__gen_type(g, to, w);
    double power = bits == 32 ? 0x1p32 : 0x1p64;
    val high = wf__gen_real(g, from, w, is_signed ? power / 2 : power);
    uint64_t top = bits == 32 ? UINT32_MAX : UINT64_MAX;
    val most = wf__gen_const(g, to, w, is_signed ? top >> 1 : top);
    val zero = wf__gen_const(g, to, w, 0);
    if (!is_signed) {
        val floor = wf__gen_real(g, from, w, 0);
        val x = g_select(g, g_fcmp(g, LLVMRealOGT, a, floor), a, floor); /* a NaN becomes 0 */
        return g_select(g, g_fcmp(g, LLVMRealOGE, x, high), most, g->L->BuildFPToUI(g->b, x, type, ""));
    }
    val least = wf__gen_const(g, to, w, (uint64_t)1 << (bits - 1));
    val low = wf__gen_real(g, from, w, -power / 2);
    val r = g->L->BuildFPToSI(g->b, a, type, "");
    r = g_select(g, g_fcmp(g, LLVMRealOGE, a, high), most, r);
    r = g_select(g, g_fcmp(g, LLVMRealOLT, a, low), least, r);
    return g_select(g, g_fcmp(g, LLVMRealUNO, a, a), zero, r);
}

/* ---- f32 from and to the 16-bit floats. Processors convert f16 exactly as defined here, or not at all. They may flush
 * subnormals of bf16, so its conversions are integer arithmetic everywhere. ---- */
typedef struct words { /* 32-bit integer arithmetic on vectors or scalars */
    wf__gen *g;
    int w;
} words;
static val word(words x, uint32_t v) { return wf__gen_int(x.g, x.g->i32, x.w, v); }
static val add_words(words x, val a, uint32_t v) { return g_add(x.g, a, word(x, v)); }
static val mask(words x, val a, uint32_t v) { return g_and(x.g, a, word(x, v)); }
static val shift_left(words x, val a, uint32_t v) { return x.g->L->BuildShl(x.g->b, a, word(x, v), ""); }
static val shift_right(words x, val a, uint32_t v) { return x.g->L->BuildLShr(x.g->b, a, word(x, v), ""); }
static val above(words x, val a, uint32_t v) { return g_icmp(x.g, LLVMIntUGT, a, word(x, v)); }

static bool converts_f16(const wf__gen *g) { return g->isa <= WF__ISA_AVX2 || g->isa == WF__ISA_NEON; }

static val widen_half(wf__gen *g, unsigned from, int w, val a)
{
    words x = { g, w };
    LLVMTypeRef type = wf__gen_type(g, WF_F32, w);
    if (from == WF_F16 && converts_f16(g))
        return g->L->BuildFPExt(g->b, g_bits(g, a, wf__gen_wide(g, g->f16, w)), type, "");
    a = g->L->BuildZExt(g->b, a, wf__gen_wide(g, g->i32, w), "");
    if (from == WF_BF16)
        return g_bits(g, shift_left(x, a, 16), type);
    /* the shifted bits are 2^-112 times the value, subnormals included; infinities and NaN then get their exponent */
    val bits = shift_left(x, mask(x, a, 0x7fff), 13), sign = shift_left(x, mask(x, a, 0x8000), 16);
    val value = g->L->BuildFMul(g->b, g_bits(g, bits, type), wf__gen_real(g, WF_F32, w, 0x1p112), "");
    value = g_bits(g, value, wf__gen_wide(g, g->i32, w));
    val r = g_select(g, above(x, bits, 0x0f7fffff), g_or(g, bits, word(x, 0x7f800000)), value);
    return g_bits(g, g_or(g, r, sign), type);
}

/* Rounds to nearest, ties to even: adds half of the last kept place, less 1 if that place is even, and truncates. */
static val narrow_to_half(wf__gen *g, unsigned to, int w, val a)
{
    words x = { g, w };
    LLVMTypeRef type = wf__gen_type(g, to, w), real = wf__gen_type(g, WF_F32, w), wide = wf__gen_wide(g, g->i32, w);
    if (to == WF_F16 && converts_f16(g))
        return g_bits(g, g->L->BuildFPTrunc(g->b, a, wf__gen_wide(g, g->f16, w), ""), type);
    val bits = g_bits(g, a, wide), r;
    if (to == WF_BF16) {
        val odd = mask(x, shift_right(x, bits, 16), 1);
        r = shift_right(x, g_add(g, add_words(x, bits, 0x7fff), odd), 16);
        val nan = g_or(g, shift_right(x, bits, 16), word(x, 0x40));
        r = g_select(g, g_fcmp(g, LLVMRealUNO, a, a), nan, r);
        return g->L->BuildTrunc(g->b, r, type, "");
    }
    val size = mask(x, bits, 0x7fffffff), odd = mask(x, shift_right(x, size, 13), 1);
    r = shift_right(x, g_add(g, add_words(x, size, 0xc8000fffu), odd), 13); /* the exponent's bias changes by 112 */
    /* subnormal: adding 0.5 rounds, since both have the same last place; the bits of 0.5 are then subtracted */
    val sum = g->L->BuildFAdd(g->b, g_bits(g, size, real), wf__gen_real(g, WF_F32, w, 0.5), "");
    r = g_select(g, above(x, size, 0x387fffff), r, add_words(x, g_bits(g, sum, wide), 0xc1000000u));
    r = g_select(g, above(x, size, 0x477fefff), word(x, 0x7c00), r);
    r = g_select(g, above(x, size, 0x7f800000), word(x, 0x7e00), r);
    r = g_or(g, r, mask(x, shift_right(x, bits, 16), 0x8000));
    return g->L->BuildTrunc(g->b, r, type, "");
}

val wf__gen_cast(wf__gen *g, unsigned to, unsigned from, int w, val a)
{
    LLVMTypeRef type = wf__gen_type(g, to, w);
    if (to == from)
        return a;
    if (wf__is_half(from) && to == WF_F32)
        return widen_half(g, from, w, a);
    if (wf__is_half(to) && from == WF_F32)
        return narrow_to_half(g, to, w, a);
    if (wf__is_half(from) || wf__is_half(to)) {
        wf__gen_fail(g, "code generator: a cast from %s to %s", wf_dtype_name((wf_dtype)from),
                     wf_dtype_name((wf_dtype)to));
        return wf__gen_const(g, to, w, 0);
    }
    if (from == WF_BOOL)
        return from_bool(g, to, w, a);
    if (to == WF_BOOL)
        return to_bool(g, from, w, a);
    if (wf__is_int(from) && wf__is_int(to))
        return int_to_int(g, to, from, w, a);
    if (wf__is_int(from))
        return wf__is_signed(from) ? g->L->BuildSIToFP(g->b, a, type, "") : g->L->BuildUIToFP(g->b, a, type, "");
    if (wf__is_float(to))
        return to == WF_F64 ? g->L->BuildFPExt(g->b, a, type, "") : g->L->BuildFPTrunc(g->b, a, type, "");
    unsigned exact = from == WF_F32 ? 2 : 4; /* bytes of the widest integer whose limits the float holds exactly */
    return wf__size(to) <= exact ? to_narrow_int(g, to, from, w, a) : to_wide_int(g, to, from, w, a);
}
