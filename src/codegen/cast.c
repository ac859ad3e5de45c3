/* cast.c - conversions between dtypes. Float to integer truncates and saturates, NaN gives 0; integers wrap; a narrower
 * float is the nearest, ties to even; anything to bool is != 0.
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

/* Narrow results: the limits are floats themselves, so clamp first; what is left always converts. */
static val to_narrow_int(wf__gen *g, unsigned to, unsigned from, int w, val a)
{
    unsigned bits = 8 * wf__size(to);
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

/* Wide results: convert, and replace the lanes that were out of range. Their conversion is unspecified, not harmful. */
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

val wf__gen_cast(wf__gen *g, unsigned to, unsigned from, int w, val a)
{
    LLVMTypeRef type = wf__gen_type(g, to, w);
    if (to == from)
        return a;
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

val wf__gen_bitcast(wf__gen *g, unsigned to, unsigned from, int w, val a)
{
    if (to == WF_BOOL || from == WF_BOOL)
        return wf__gen_cast(g, to, from, w, a);
    return g_bits(g, a, wf__gen_type(g, to, w));
}
