/* cast.c - conversions between dtypes, with the results of src/ir/meaning.c. */
#include "ptx/gen.h"

void wf__ptx_normalise(gen *g, unsigned dtype, val r)
{
    if (dtype == WF_I8 || dtype == WF_I16)
        EMIT(g, "cvt.s32.$1 $0, $0", r, v_text(dtype == WF_I8 ? "s8" : "s16"));
    if (dtype == WF_U8 || dtype == WF_U16)
        EMIT(g, "and.b32 $0, $0, $1", r, v_int(dtype == WF_U8 ? 0xff : 0xffff));
}

/* ---- f16 and bf16, from and to f32 ---- */
static val widen_half(gen *g, unsigned from, val x)
{
    val r = wf__ptx_reg(g, V_R);
    if (from == WF_F16) {
        EMIT(g, "cvt.f32.f16 $0, $1", r, x);
        return r;
    }
    EMIT(g, "cvt.u32.u16 $0, $1", r, x);
    EMIT(g, "shl.b32 $0, $0, 16", r);
    return r;
}

/* bf16 is the upper half of an f32. Adding 0x7fff plus the lowest kept bit rounds to nearest even; NaNs are
 * separate. */
static val round_to_half(gen *g, unsigned to, val x)
{
    val h = wf__ptx_reg(g, V_H);
    if (to == WF_F16) {
        EMIT(g, "cvt.rn.f16.f32 $0, $1", h, x);
        return h;
    }
    val bits = wf__ptx_reg(g, V_R), r = wf__ptx_reg(g, V_R), nan = wf__ptx_reg(g, V_P);
    EMIT(g, "mov.b32 $0, $1", bits, x);
    EMIT(g, "setp.nan.f32 $0, $1, $1", nan, bits);
    EMIT(g, "shr.u32 $0, $1, 16", r, bits);
    EMIT(g, "and.b32 $0, $0, 1", r);
    EMIT(g, "add.u32 $0, $0, 32767", r);
    EMIT(g, "add.u32 $0, $0, $1", r, bits);
    EMIT(g, "shr.u32 $0, $0, 16", r);
    EMIT(g, "selp.b32 $0, 32704, $0, $1", r, nan); /* 0x7fc0 */
    EMIT(g, "cvt.u16.u32 $0, $1", h, r);
    return h;
}

/* ---- floats to integers: towards zero, saturated, NaN is 0 ---- */
static val float_to_int(gen *g, unsigned to, unsigned from, val x)
{
    val r = wf__ptx_new(g, to);
    EMIT(g, "cvt.rzi.$1.$2 $0, $3", r, wf__ptx_type(to), wf__ptx_type(from), x);
    if (wf__ptx_wide(to) || from == WF_F64) { /* the instruction converts a NaN to another value */
        val nan = wf__ptx_reg(g, V_P);
        EMIT(g, "setp.nan.$1 $0, $2, $2", nan, wf__ptx_type(from), x);
        EMIT(g, "selp.$1 $0, 0, $0, $2", r, wf__ptx_bits(to), nan);
    }
    if (wf__size(to) < 4) {
        int bits = 8 * (int)wf__size(to), low = wf__is_signed(to) ? -(1 << (bits - 1)) : 0;
        int high = wf__is_signed(to) ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
        if (low)
            EMIT(g, "max.s32 $0, $0, $1", r, v_int(low));
        EMIT(g, "min.$1 $0, $0, $2", r, wf__ptx_type(to), v_int(high));
    }
    return r;
}

static val int_to_int(gen *g, unsigned to, unsigned from, val x)
{
    val r = wf__ptx_new(g, to);
    if (wf__ptx_wide(to) && !wf__ptx_wide(from))
        EMIT(g, "cvt.$1.$2 $0, $3", r, wf__ptx_type(to), wf__ptx_type(from), x);
    else if (!wf__ptx_wide(to) && wf__ptx_wide(from))
        EMIT(g, "cvt.u32.u64 $0, $1", r, x);
    else
        EMIT(g, "mov.$1 $0, $2", r, wf__ptx_bits(to), x);
    wf__ptx_normalise(g, to, r);
    return r;
}

val wf__ptx_cast(gen *g, unsigned to, unsigned from, val x)
{
    val r;
    if (to == from)
        return x;
    if (wf__is_half(from))
        return widen_half(g, from, x);
    if (wf__is_half(to))
        return round_to_half(g, to, x);
    if (to == WF_BOOL) {
        r = wf__ptx_reg(g, V_P);
        if (wf__is_float(from))
            EMIT(g, "setp.neu.$1 $0, $2, $3", r, wf__ptx_type(from), x, wf__ptx_const(g, from, 0));
        else
            EMIT(g, "setp.ne.$1 $0, $2, 0", r, wf__ptx_type(from), x);
        return r;
    }
    if (from == WF_BOOL) {
        uint64_t one = to == WF_F32 ? 0x3f800000 : to == WF_F64 ? 0x3ff0000000000000 : 1;
        r = wf__ptx_new(g, to);
        EMIT(g, "selp.$1 $0, $2, $3, $4", r, wf__ptx_bits(to), wf__ptx_const(g, to, one), wf__ptx_const(g, to, 0), x);
        return r;
    }
    if (wf__is_float(from) && !wf__is_float(to))
        return float_to_int(g, to, from, x);
    if (!wf__is_float(from) && !wf__is_float(to))
        return int_to_int(g, to, from, x);
    r = wf__ptx_new(g, to);
    bool exact = from == WF_F32;
    EMIT(g, exact ? "cvt.$1.$2 $0, $3" : "cvt.rn.$1.$2 $0, $3", r, wf__ptx_type(to), wf__ptx_type(from), x);
    return r;
}

val wf__ptx_bitcast(gen *g, unsigned to, unsigned from, val x)
{
    wf__ptx_kind a = wf__ptx_class(from), b = wf__ptx_class(to);
    val r = wf__ptx_new(g, to);
    if (a == V_H && b == V_R)
        EMIT(g, "cvt.u32.u16 $0, $1", r, x);
    else if (a == V_R && b == V_H)
        EMIT(g, "cvt.u16.u32 $0, $1", r, x);
    else
        EMIT(g, "mov.$1 $0, $2", r, wf__ptx_bits(to), x);
    if (b == V_R)
        wf__ptx_normalise(g, to, r);
    return r;
}
