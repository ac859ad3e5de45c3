/* decode_alu.c - decodes the lane-by-lane instructions. The comment above a decoder is the grammar of its modifiers, in
 * the order of the manual. */
#include <stdio.h>
#include "emu/alu.h"
#include "emu/parse.h"

#define INT16 (EMU_BIT(EMU_U16) | EMU_BIT(EMU_S16))
#define INT32 (EMU_BIT(EMU_U32) | EMU_BIT(EMU_S32))
#define INT64 (EMU_BIT(EMU_U64) | EMU_BIT(EMU_S64))
#define INTS (INT16 | INT32 | INT64)
#define HALVES (EMU_BIT(EMU_F16) | EMU_BIT(EMU_F16X2))
#define BHALVES (EMU_BIT(EMU_BF16) | EMU_BIT(EMU_BF16X2))
#define F32 EMU_BIT(EMU_F32)
#define F64 EMU_BIT(EMU_F64)
#define BITS (EMU_BIT(EMU_B16) | EMU_BIT(EMU_B32) | EMU_BIT(EMU_B64))

static int take_round(emu_parser *p)
{
    static const char *const names[] = { "rn", "rz", "rm", "rp", NULL };
    int i = wfe_take_of(p, names);
    if (i >= 0)
        p->inst.rnd = (uint8_t)i;
    return i;
}

/* Sets the meaning of `name` for the instruction's type, and its operands: d, and n sources of that type. */
static bool choose_meaning(emu_parser *p, const char *name)
{
    p->inst.kind = EMU_ALU;
    p->inst.fn = wfe_find_alu(name, (emu_type)p->inst.type);
    return p->inst.fn || wfe_fail(p, "'%s' has no form for type .%s", name, wfe_type_name((emu_type)p->inst.type));
}
static bool decode_operands(emu_parser *p, uint32_t n)
{
    emu_type t = (emu_type)p->inst.type;
    if (!wfe_need_operands(p, n + 1, n + 1) || !wfe_dst(p, 0, t))
        return false;
    for (uint32_t i = 1; i <= n; i++)
        if (!wfe_src(p, i, t))
            return false;
    return true;
}
static bool decode_whole(emu_parser *p, const char *name, uint32_t n)
{
    return choose_meaning(p, name) && decode_operands(p, n);
}
static bool need_type(emu_parser *p, uint32_t allowed)
{
    emu_type t;
    if (!wfe_need_type(p, &t, allowed))
        return false;
    p->inst.type = (uint8_t)t;
    return true;
}
static bool half_targets(emu_parser *p, uint32_t bf16)
{
    return !(EMU_BIT(p->inst.type) & BHALVES) || wfe_need_sm(p, bf16);
}

/* add sub: {.sat}.s32, .int; {.rnd}{.ftz}{.sat}.f32, {.rnd}.f64, {.rnd}{.ftz}{.sat}.f16 .f16x2, {.rnd}.bf16 .bf16x2 */
static bool d_add_sub(emu_parser *p)
{
    const char *name = wfe_is(p->opcode, "add") ? "add" : "sub";
    int rnd = take_round(p);
    p->inst.ftz = wfe_take(p, "ftz");
    p->inst.sat = wfe_take(p, "sat");
    uint32_t allowed = F32;
    if (!p->inst.sat && !p->inst.ftz)
        allowed |= F64;
    if (rnd < 1)
        allowed |= HALVES | (p->inst.ftz || p->inst.sat ? 0 : BHALVES);
    if (rnd < 0 && !p->inst.ftz)
        allowed |= p->inst.sat ? EMU_BIT(EMU_S32) : INTS;
    if (!need_type(p, allowed) || !half_targets(p, 90))
        return false;
    if (p->inst.sat && p->inst.type == EMU_S32)
        return decode_whole(p, *name == 'a' ? "add.sat" : "sub.sat", 2);
    return decode_whole(p, name, 2);
}

static bool float_product(emu_parser *p, const char *name, uint32_t n, bool rnd_needed)
{
    int rnd = take_round(p);
    p->inst.ftz = wfe_take(p, "ftz");
    p->inst.sat = wfe_take(p, "sat");
    p->inst.relu = n == 3 && !p->inst.sat && wfe_take(p, "relu");
    uint32_t allowed = p->inst.relu ? 0 : F32;
    if (!p->inst.sat && !p->inst.ftz && !p->inst.relu)
        allowed |= F64;
    if (rnd < 1 && !wfe_is(p->opcode, "mad"))
        allowed |= HALVES | (p->inst.ftz || p->inst.sat ? 0 : BHALVES);
    if (!need_type(p, allowed) || !half_targets(p, n == 3 ? 80 : 90) || (p->inst.relu && !wfe_need_sm(p, 80)))
        return false;
    if (rnd < 0 && rnd_needed)
        return wfe_fail(p, "'%.*s' needs a rounding modifier", (int)p->opcode.n, p->opcode.at);
    return decode_whole(p, name, n);
}

/* mul mad mul24 mad24: .hi .lo .wide */
static bool d_product(emu_parser *p)
{
    static const char *const parts[] = { "hi", "lo", "wide", NULL };
    bool mad = p->opcode.at[1] == 'a', low24 = p->opcode.n == 5;
    int part = wfe_take_of(p, parts);
    if (part < 0)
        return low24 ? false : float_product(p, mad ? "fma" : "mul", mad ? 3 : 2, mad);
    char name[24];
    bool sat = mad && part == 0 && !low24 && wfe_take(p, "sat");
    snprintf(name, sizeof name, "%.*s.%s%s", (int)p->opcode.n, p->opcode.at, parts[part], sat ? ".sat" : "");
    uint32_t allowed = sat ? EMU_BIT(EMU_S32) : low24 ? INT32 : part == 2 ? INT16 | INT32 : INTS;
    if ((low24 && part == 2) || !need_type(p, allowed) || !choose_meaning(p, name))
        return false;
    if (part != 2)
        return decode_operands(p, mad ? 3 : 2);
    emu_type t = (emu_type)p->inst.type, wide = (emu_type)(t + 1); /* u16, u32, u64 and s16, s32, s64 are consecutive */
    return wfe_need_operands(p, mad ? 4 : 3, mad ? 4 : 3) && wfe_dst(p, 0, wide) && wfe_src(p, 1, t) &&
           wfe_src(p, 2, t) && (!mad || wfe_src(p, 3, wide));
}
static bool d_fma(emu_parser *p) { return float_product(p, "fma", 3, true); }

/* div: .int; .approx .full{.ftz}.f32; .rnd{.ftz}.f32; .rnd.f64 */
static bool d_div(emu_parser *p)
{
    bool approx = wfe_take(p, "approx"), full = !approx && wfe_take(p, "full");
    int rnd = approx || full ? -1 : take_round(p);
    p->inst.ftz = wfe_take(p, "ftz");
    uint32_t allowed = approx || full ? F32 : rnd >= 0 ? F32 | (p->inst.ftz ? 0 : F64) : INTS;
    return need_type(p, allowed) && decode_whole(p, approx ? "div.approx" : "div", 2);
}
static bool d_rem(emu_parser *p) { return need_type(p, INTS) && decode_whole(p, "rem", 2); }
static bool d_sad(emu_parser *p) { return need_type(p, INTS) && decode_whole(p, "sad", 3); }

static bool d_abs_neg(emu_parser *p)
{
    p->inst.ftz = wfe_take(p, "ftz");
    uint32_t ints = EMU_BIT(EMU_S16) | EMU_BIT(EMU_S32) | EMU_BIT(EMU_S64);
    uint32_t allowed = F32 | HALVES | (p->inst.ftz ? 0 : ints | F64 | BHALVES);
    return need_type(p, allowed) && half_targets(p, 80) && decode_whole(p, wfe_is(p->opcode, "abs") ? "abs" : "neg", 1);
}

/* min max: .int; {.relu}.s32; {.ftz}{.NaN}{.xorsign.abs}.f32; .f64; {.ftz}{.NaN}{.xorsign.abs}.f16.. */
static bool d_extreme(emu_parser *p)
{
    emu_inst *in = &p->inst;
    in->relu = wfe_take(p, "relu");
    in->ftz = !in->relu && wfe_take(p, "ftz");
    in->nan = !in->relu && wfe_take(p, "NaN");
    if (!in->relu && wfe_take(p, "xorsign")) {
        if (!wfe_take(p, "abs"))
            return false;
        in->xorsign = true;
    }
    bool plain = !in->ftz && !in->nan && !in->xorsign;
    uint32_t allowed = in->relu ? EMU_BIT(EMU_S32) : F32 | HALVES | (in->ftz ? 0 : BHALVES) | (plain ? INTS | F64 : 0);
    if (!need_type(p, allowed) || (in->relu && !wfe_need_sm(p, 90)) || (in->xorsign && !wfe_need_sm(p, 86)) ||
        (in->nan && !wfe_need_sm(p, 80)))
        return false;
    if ((EMU_BIT(in->type) & (HALVES | BHALVES)) && !wfe_need_sm(p, 80))
        return false;
    return decode_whole(p, wfe_is(p->opcode, "min") ? "min" : "max", 2);
}

/* rcp sqrt: .approx{.ftz}.f32, .rnd{.ftz}.f32, .rnd.f64, rcp.approx.ftz.f64 */
static bool d_root(emu_parser *p)
{
    bool approx = wfe_take(p, "approx"), rcp = wfe_is(p->opcode, "rcp");
    int rnd = approx ? -1 : take_round(p);
    p->inst.ftz = wfe_take(p, "ftz");
    if (!approx && rnd < 0)
        return false;
    uint32_t allowed = F32 | (approx ? rcp && p->inst.ftz ? F64 : 0 : p->inst.ftz ? 0 : F64);
    if (!need_type(p, allowed))
        return false;
    return decode_whole(p, rcp ? approx && p->inst.type == EMU_F64 ? "rcp.approx" : "rcp" : "sqrt", 1);
}

/* rsqrt sin cos lg2 ex2 tanh: .approx */
static bool d_function(emu_parser *p)
{
    char name[16];
    bool ex2 = wfe_is(p->opcode, "ex2"), tanh = wfe_is(p->opcode, "tanh"), rsqrt = wfe_is(p->opcode, "rsqrt");
    if (!wfe_take(p, "approx"))
        return false;
    p->inst.ftz = !tanh && wfe_take(p, "ftz");
    uint32_t allowed = F32 | (rsqrt ? F64 : 0) | (tanh ? HALVES | BHALVES : 0);
    if (ex2)
        allowed |= p->inst.ftz ? BHALVES : HALVES;
    if (!need_type(p, allowed) || !half_targets(p, 90) || (tanh && !wfe_need_sm(p, 75)))
        return false;
    if (ex2 && (EMU_BIT(p->inst.type) & HALVES) && !wfe_need_sm(p, 75))
        return false;
    snprintf(name, sizeof name, "%.*s", (int)p->opcode.n, p->opcode.at);
    return decode_whole(p, rsqrt && p->inst.ftz && p->inst.type == EMU_F64 ? "rsqrt.coarse" : name, 1);
}
static bool d_copysign(emu_parser *p) { return need_type(p, F32 | F64) && decode_whole(p, "copysign", 2); }
static bool d_testp(emu_parser *p)
{
    static const char *const tests[] = { "finite", "infinite", "number", "notanumber", "normal", "subnormal", NULL };
    int what = wfe_take_of(p, tests);
    if (what < 0 || !need_type(p, F32 | F64) || !choose_meaning(p, "testp"))
        return false;
    p->inst.what = (uint8_t)what;
    return wfe_need_operands(p, 2, 2) && wfe_dst(p, 0, EMU_PRED) && wfe_src(p, 1, (emu_type)p->inst.type);
}

/* ---- bits ---- */
static bool d_logic(emu_parser *p)
{
    char name[8];
    snprintf(name, sizeof name, "%.*s", (int)p->opcode.n, p->opcode.at);
    bool one = wfe_is(p->opcode, "not") || wfe_is(p->opcode, "cnot");
    return need_type(p, BITS | (name[0] == 'c' ? 0 : EMU_BIT(EMU_PRED))) && decode_whole(p, name, one ? 1 : 2);
}
static bool d_shift(emu_parser *p)
{
    bool left = p->opcode.at[2] == 'l';
    if (!need_type(p, BITS | (left ? 0 : INTS)) || !choose_meaning(p, left ? "shl" : "shr"))
        return false;
    return wfe_need_operands(p, 3, 3) && wfe_dst(p, 0, (emu_type)p->inst.type) &&
           wfe_src(p, 1, (emu_type)p->inst.type) && wfe_src(p, 2, EMU_B32);
}
static bool d_shf(emu_parser *p)
{
    bool left = wfe_take(p, "l");
    if (!left && !wfe_take(p, "r"))
        return false;
    p->inst.what = wfe_take(p, "wrap");
    if (!p->inst.what && !wfe_take(p, "clamp"))
        return false;
    return need_type(p, EMU_BIT(EMU_B32)) && decode_whole(p, left ? "shf.l" : "shf.r", 3);
}
/* popc clz; d is .u32. */
static bool d_count(emu_parser *p)
{
    if (!need_type(p, EMU_BIT(EMU_B32) | EMU_BIT(EMU_B64)) ||
        !choose_meaning(p, wfe_is(p->opcode, "clz") ? "clz" : "popc"))
        return false;
    return wfe_need_operands(p, 2, 2) && wfe_dst(p, 0, EMU_U32) && wfe_src(p, 1, (emu_type)p->inst.type);
}
static bool d_bfind(emu_parser *p)
{
    p->inst.what = wfe_take(p, "shiftamt");
    return need_type(p, INT32 | INT64) && choose_meaning(p, "bfind") && wfe_need_operands(p, 2, 2) &&
           wfe_dst(p, 0, EMU_U32) && wfe_src(p, 1, (emu_type)p->inst.type);
}
static bool d_brev(emu_parser *p)
{
    return need_type(p, EMU_BIT(EMU_B32) | EMU_BIT(EMU_B64)) && decode_whole(p, "brev", 1);
}
static bool d_bfe(emu_parser *p)
{
    return need_type(p, INT32 | INT64) && choose_meaning(p, "bfe") && wfe_need_operands(p, 4, 4) &&
           wfe_dst(p, 0, (emu_type)p->inst.type) && wfe_src(p, 1, (emu_type)p->inst.type) && wfe_src(p, 2, EMU_B32) &&
           wfe_src(p, 3, EMU_B32);
}
static bool d_bfi(emu_parser *p)
{
    if (!need_type(p, EMU_BIT(EMU_B32) | EMU_BIT(EMU_B64)) || !choose_meaning(p, "bfi"))
        return false;
    emu_type t = (emu_type)p->inst.type;
    return wfe_need_operands(p, 5, 5) && wfe_dst(p, 0, t) && wfe_src(p, 1, t) && wfe_src(p, 2, t) &&
           wfe_src(p, 3, EMU_B32) && wfe_src(p, 4, EMU_B32);
}
static bool d_bmsk(emu_parser *p)
{
    p->inst.what = wfe_take(p, "wrap");
    if (!p->inst.what && !wfe_take(p, "clamp"))
        return false;
    return need_type(p, EMU_BIT(EMU_B32)) && decode_whole(p, "bmsk", 2);
}
static bool d_szext(emu_parser *p)
{
    p->inst.what = wfe_take(p, "wrap");
    if (!p->inst.what && !wfe_take(p, "clamp"))
        return false;
    return need_type(p, INT32) && choose_meaning(p, "szext") && wfe_need_operands(p, 3, 3) &&
           wfe_dst(p, 0, (emu_type)p->inst.type) && wfe_src(p, 1, (emu_type)p->inst.type) && wfe_src(p, 2, EMU_U32);
}
static bool d_fns(emu_parser *p)
{
    return need_type(p, EMU_BIT(EMU_B32)) && choose_meaning(p, "fns") && wfe_need_operands(p, 4, 4) &&
           wfe_dst(p, 0, EMU_B32) && wfe_src(p, 1, EMU_B32) && wfe_src(p, 2, EMU_B32) && wfe_src(p, 3, EMU_S32);
}
static bool d_prmt(emu_parser *p)
{
    static const char *const modes[] = { "f4e", "b4e", "rc8", "ecl", "ecr", "rc16", NULL };
    if (!need_type(p, EMU_BIT(EMU_B32)))
        return false;
    p->inst.what = (uint8_t)(1 + wfe_take_of(p, modes));
    return decode_whole(p, "prmt", 3);
}
static bool d_lop3(emu_parser *p)
{
    if (!need_type(p, EMU_BIT(EMU_B32)) || !choose_meaning(p, "lop3") || !wfe_need_operands(p, 5, 5))
        return false;
    if (p->operands[4].kind != EMU_OP_INT || p->operands[4].number > 255)
        return wfe_fail(p, "lop3 needs a table of 8 bits as its last operand");
    p->inst.lut = (uint8_t)p->operands[4].number;
    p->n_operands = 4;
    return decode_operands(p, 3);
}
static bool d_dp4a(emu_parser *p)
{
    emu_type a, b;
    if (!wfe_need_type(p, &a, INT32) || !wfe_need_type(p, &b, INT32))
        return false;
    p->inst.type = (uint8_t)a;
    p->inst.type2 = (uint8_t)b;
    if (!choose_meaning(p, "dp4a") || !wfe_need_operands(p, 4, 4))
        return false;
    emu_type d = a == EMU_S32 || b == EMU_S32 ? EMU_S32 : EMU_U32;
    return wfe_dst(p, 0, d) && wfe_src(p, 1, EMU_B32) && wfe_src(p, 2, EMU_B32) && wfe_src(p, 3, d);
}

/* ---- comparison and selection ---- */
static bool take_compare(emu_parser *p, bool *joined)
{
    static const char *const compares[] = { "eq",  "ne",  "lt",  "le",  "gt", "ge", "equ", "neu", "ltu", "leu",
                                            "gtu", "geu", "num", "nan", "lo", "ls", "hi",  "hs",  NULL };
    static const char *const joins[] = { "and", "or", "xor", NULL };
    int cmp = wfe_take_of(p, compares);
    if (cmp < 0)
        return false;
    int join = wfe_take_of(p, joins);
    p->inst.join = (uint8_t)(join + 1);
    *joined = join >= 0;
    p->inst.ftz = wfe_take(p, "ftz");
    uint32_t floats = F32 | F64 | EMU_BIT(EMU_F16) | EMU_BIT(EMU_BF16), bits = BITS, unsigneds = 0, ints = INTS;
    for (int t = EMU_U16; t <= EMU_U64; t++)
        unsigneds |= EMU_BIT(t);
    uint32_t allowed;
    if (cmp >= 14) { /* lo ls hi hs */
        static const uint8_t same[] = { EMU_CMP_LT, EMU_CMP_LE, EMU_CMP_GT, EMU_CMP_GE };
        p->inst.cmp = same[cmp - 14];
        allowed = unsigneds;
    } else {
        p->inst.cmp = (uint8_t)cmp;
        allowed = floats | (cmp > EMU_CMP_GE ? 0 : ints) | (cmp <= EMU_CMP_NE ? bits : 0);
    }
    if (p->inst.ftz)
        allowed &= F32 | EMU_BIT(EMU_F16);
    emu_type first = EMU_NONE, t;
    if (wfe_is(p->opcode, "set")) { /* the destination type comes first */
        if (!wfe_need_type(p, &first, INT32 | F32 | EMU_BIT(EMU_F16) | EMU_BIT(EMU_BF16) | INT16))
            return false;
        allowed &= ~(EMU_BIT(EMU_F16) | EMU_BIT(EMU_BF16));
        if (first != EMU_U32 && first != EMU_S32 && first != EMU_F32)
            return wfe_fail(p, "set to .%s is not supported by the emulator", wfe_type_name(first));
    }
    if (!wfe_need_type(p, &t, allowed) || (t == EMU_BF16 && !wfe_need_sm(p, 90)))
        return false;
    p->inst.type = (uint8_t)t;
    p->inst.type2 = (uint8_t)first;
    return choose_meaning(p, "order");
}

/* The predicate that setp and set join with; !c is allowed. */
static bool join_operand(emu_parser *p, uint32_t i)
{
    emu_operand o = p->operands[i];
    p->inst.negate_a = o.negate;
    o.negate = false;
    return wfe_src_of(p, &o, EMU_PRED, false);
}

static bool d_setp(emu_parser *p)
{
    bool joined;
    if (!take_compare(p, &joined))
        return false;
    uint32_t n = joined ? 4 : 3;
    if (!wfe_need_operands(p, n, n))
        return false;
    p->inst.kind = EMU_SETP;
    emu_operand first = p->operands[0], second = first;
    second.name = first.second;
    first.second = second.second = (emu_slice){ 0 };
    if (!wfe_dst_of(p, &first, EMU_PRED, false) || (second.name.n && !wfe_dst_of(p, &second, EMU_PRED, false)))
        return false;
    return wfe_src(p, 1, (emu_type)p->inst.type) && wfe_src(p, 2, (emu_type)p->inst.type) &&
           (!joined || join_operand(p, 3));
}
static bool d_set(emu_parser *p)
{
    bool joined;
    if (!take_compare(p, &joined))
        return false;
    uint32_t n = joined ? 4 : 3;
    p->inst.kind = EMU_SETP;
    return wfe_need_operands(p, n, n) && wfe_dst(p, 0, (emu_type)p->inst.type2) &&
           wfe_src(p, 1, (emu_type)p->inst.type) && wfe_src(p, 2, (emu_type)p->inst.type) &&
           (!joined || join_operand(p, 3));
}
static bool d_selp(emu_parser *p)
{
    if (!need_type(p, BITS | INTS | F32 | F64) || !choose_meaning(p, "selp"))
        return false;
    emu_type t = (emu_type)p->inst.type;
    return wfe_need_operands(p, 4, 4) && wfe_dst(p, 0, t) && wfe_src(p, 1, t) && wfe_src(p, 2, t) &&
           wfe_src(p, 3, EMU_PRED);
}
static bool d_slct(emu_parser *p)
{
    emu_type c;
    p->inst.ftz = wfe_take(p, "ftz");
    if (!need_type(p, BITS | INTS | F32 | F64) || !wfe_need_type(p, &c, F32 | (p->inst.ftz ? 0 : EMU_BIT(EMU_S32))))
        return false;
    emu_type t = (emu_type)p->inst.type;
    return choose_meaning(p, c == EMU_F32 ? "slct.f32" : "slct") && wfe_need_operands(p, 4, 4) && wfe_dst(p, 0, t) &&
           wfe_src(p, 1, t) && wfe_src(p, 2, t) && wfe_src(p, 3, c);
}

/* ---- cvt ---- */
static bool pack_cvt(emu_parser *p, int rnd)
{
    emu_type t = (emu_type)p->inst.type;
    if (rnd < 0 || rnd > 1)
        return wfe_fail(p, "cvt to .%s needs .rn or .rz", wfe_type_name(t));
    p->inst.kind = EMU_ALU;
    p->inst.fn = wfe_cvt_pack;
    return wfe_need_sm(p, 80) && wfe_need_operands(p, 3, 3) && wfe_dst(p, 0, EMU_B32) && wfe_src(p, 1, EMU_F32) &&
           wfe_src(p, 2, EMU_F32);
}

/* The rounding that section "cvt" requires between these types: 0 = none, 1 = integer, 2 = float. */
static int rounding_of(emu_type to, emu_type from)
{
    if (!wfe_is_float(from))
        return wfe_is_float(to) ? 2 : 0;
    if (!wfe_is_float(to))
        return 1;
    return wfe_size(to) < wfe_size(from) || (to != from && wfe_size(to) == wfe_size(from)) ? 2 : 0;
}

static bool d_cvt(emu_parser *p)
{
    static const char *const integral[] = { "rni", "rzi", "rmi", "rpi", NULL };
    emu_inst *in = &p->inst;
    emu_type to, from;
    int irnd = wfe_take_of(p, integral), rnd = irnd < 0 ? take_round(p) : -1;
    in->irnd = (uint8_t)(irnd + 1);
    in->ftz = wfe_take(p, "ftz");
    in->relu = rnd >= 0 && wfe_take(p, "relu");
    in->satfinite = rnd >= 0 && wfe_take(p, "satfinite");
    in->sat = !in->satfinite && wfe_take(p, "sat");
    uint32_t scalars = INTS | EMU_BIT(EMU_U8) | EMU_BIT(EMU_S8) | F32 | F64 | EMU_BIT(EMU_F16) | EMU_BIT(EMU_BF16);
    if (!wfe_need_type(p, &to, scalars | EMU_BIT(EMU_F16X2) | EMU_BIT(EMU_BF16X2)))
        return false;
    bool pair = to == EMU_F16X2 || to == EMU_BF16X2;
    if (!wfe_need_type(p, &from, pair ? F32 : scalars))
        return false;
    in->type = (uint8_t)to;
    in->type2 = (uint8_t)from;
    if (pair)
        return pack_cvt(p, rnd);
    int asks = rounding_of(to, from);
    if (asks == 1 ? irnd < 0 : asks == 2 ? rnd < 0 : rnd >= 0)
        return wfe_fail(p, "cvt from .%s to .%s %s a rounding modifier", wfe_type_name(from), wfe_type_name(to),
                        asks ? "needs" : "does not take this as");
    if (asks != 1 && irnd >= 0 && !(wfe_is_float(to) && from == to))
        return wfe_fail(p, "cvt from .%s to .%s cannot round to an integer", wfe_type_name(from), wfe_type_name(to));
    if (in->ftz && from != EMU_F32 && to != EMU_F32)
        return wfe_fail(p, ".ftz is for .f32 only");
    if ((to == EMU_BF16 || from == EMU_BF16) && to != from) {
        bool common = to == EMU_BF16 && from == EMU_F32;
        if (!wfe_need_sm(p, common ? 80 : 90))
            return false;
    }
    in->kind = EMU_ALU;
    in->fn = wfe_cvt;
    return wfe_need_operands(p, 2, 2) && wfe_dst_of(p, &p->operands[0], to, true) &&
           wfe_src_of(p, &p->operands[1], from, true);
}

/* ---- mov, cvta ---- */
static bool vector_elements(emu_parser *p, const emu_operand *o, bool is_dst)
{
    unsigned bytes = wfe_size((emu_type)p->inst.type);
    if ((o->n != 2 && o->n != 4) || bytes / o->n == 0 || bytes / o->n > 8)
        return wfe_fail(p, "%u elements cannot be packed into .%s", o->n, wfe_type_name((emu_type)p->inst.type));
    unsigned each = bytes / o->n;
    emu_type t = each == 1 ? EMU_B8 : each == 2 ? EMU_B16 : each == 4 ? EMU_B32 : EMU_B64;
    p->inst.bytes = (uint8_t)each;
    p->inst.vector = (uint8_t)o->n;
    for (uint32_t i = 0; i < o->n; i++) {
        const emu_operand *e = &p->elements[o->first + i];
        if (!(is_dst ? wfe_dst_of(p, e, t, false) : wfe_src_of(p, e, t, false)))
            return false;
    }
    return true;
}

static bool clock_move(emu_parser *p, emu_slice name)
{
    static const struct {
        const char *name;
        uint8_t what, type;
    } clocks[] = { { "%clock", EMU_CLOCK32, EMU_U32 },           { "%clock_hi", EMU_CLOCK_HI, EMU_U32 },
                   { "%clock64", EMU_CLOCK64, EMU_U64 },         { "%globaltimer", EMU_TIMER, EMU_U64 },
                   { "%globaltimer_lo", EMU_TIMER_LO, EMU_U32 }, { "%globaltimer_hi", EMU_TIMER_HI, EMU_U32 } };
    for (size_t i = 0; i < WF__COUNT(clocks); i++) {
        if (!wfe_is(name, clocks[i].name))
            continue;
        if (wfe_size((emu_type)p->inst.type) != wfe_size((emu_type)clocks[i].type))
            return wfe_fail(p, "'%s' is of type .%s", clocks[i].name, wfe_type_name((emu_type)clocks[i].type));
        p->inst.kind = EMU_CLOCK;
        p->inst.what = clocks[i].what;
        return true;
    }
    return false;
}

/* d = the address of a variable, in its space. False without an error = not a variable. */
static bool address_move(emu_parser *p, const emu_operand *o)
{
    uint32_t row;
    const emu_symbol *s = wfe_lookup(p, o->name, &row);
    emu_inst *in = &p->inst;
    if (!s || s->kind == EMU_SYM_REG || s->kind == EMU_SYM_TABLE)
        return false;
    unsigned bytes = wfe_size((emu_type)in->type);
    if (wfe_is_float((emu_type)in->type) || (bytes != 8 && bytes != 4))
        return wfe_fail(p, "an address needs a destination of 32 or 64 bits");
    in->offset = o->offset;
    in->kind = EMU_ADDR;
    if (s->kind == EMU_SYM_VAR) {
        const emu_var *v = &p->m->vars[s->first];
        in->offset += (int64_t)v->at;
        if (v->space != EMU_SHARED) {
            in->symbol = true;
            in->callee = s->first;
            if (bytes != 8)
                return wfe_fail(p, "the address of '%s' has 64 bits", v->name);
        }
        in->space = v->space;
    } else {
        in->offset += s->first;
        in->frame = s->kind == EMU_SYM_FRAME;
        in->space = s->kind == EMU_SYM_FRAME ? EMU_LOCAL : EMU_PARAM;
    }
    return wfe_push_src(p, wfe_constant(p, 0));
}

static bool d_mov(emu_parser *p)
{
    uint32_t allowed = BITS | INTS | F32 | F64 | EMU_BIT(EMU_PRED) | EMU_BIT(EMU_B128);
    if (!need_type(p, allowed) || !wfe_need_operands(p, 2, 2))
        return false;
    emu_operand *d = &p->operands[0], *a = &p->operands[1];
    emu_type t = (emu_type)p->inst.type;
    if (d->kind == EMU_OP_VECTOR) {
        p->inst.kind = EMU_UNPACK;
        return vector_elements(p, d, true) && wfe_src(p, 1, t);
    }
    if (!wfe_dst(p, 0, t))
        return false;
    if (a->kind == EMU_OP_VECTOR) {
        p->inst.kind = EMU_PACK;
        return vector_elements(p, a, false);
    }
    if (t == EMU_B128) {
        p->inst.kind = EMU_MOVE2;
        return wfe_need_sm(p, 70) && wfe_src(p, 1, t);
    }
    if (!choose_meaning(p, "mov"))
        return false;
    if (a->kind == EMU_OP_NAME && (clock_move(p, a->name) || p->failed || address_move(p, a) || p->failed))
        return !p->failed;
    return wfe_src(p, 1, t);
}

static bool take_space(emu_parser *p, uint8_t *space)
{
    static const char *const names[] = { "global", "shared", "local", "const", "shared::cta", "param", NULL };
    static const uint8_t spaces[] = { EMU_GLOBAL, EMU_SHARED, EMU_LOCAL, EMU_CONST, EMU_SHARED, EMU_PARAM };
    int i = wfe_take_of(p, names);
    if (i >= 0)
        *space = spaces[i];
    return i >= 0;
}
static int64_t window_base(unsigned space)
{
    return space == EMU_SHARED ? (int64_t)EMU_SHARED_WINDOW : space == EMU_LOCAL ? (int64_t)EMU_LOCAL_WINDOW : 0;
}
static bool d_cvta(emu_parser *p)
{
    emu_inst *in = &p->inst;
    uint8_t space;
    bool to = wfe_take(p, "to");
    if (!take_space(p, &space) || !need_type(p, EMU_BIT(EMU_U64)) || !wfe_need_operands(p, 2, 2) ||
        !choose_meaning(p, "cvta"))
        return false;
    if (!wfe_dst(p, 0, EMU_U64))
        return false;
    if (!to && p->operands[1].kind == EMU_OP_NAME && address_move(p, &p->operands[1])) {
        if (in->space != space)
            return wfe_fail(p, "'%.*s' lies in another state space", (int)p->operands[1].name.n,
                            p->operands[1].name.at);
        in->offset += window_base(space);
        return true;
    }
    in->offset = to ? -window_base(space) : window_base(space);
    return !p->failed && wfe_src(p, 1, EMU_U64);
}
static uint64_t in_space(const emu_inst *in, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    (void)b, (void)c, (void)d;
    bool shared = a >= EMU_SHARED_WINDOW && a < EMU_SHARED_WINDOW + EMU_WINDOW_SIZE;
    bool local = a >= EMU_LOCAL_WINDOW && a < EMU_LOCAL_WINDOW + EMU_WINDOW_SIZE;
    return in->space == EMU_SHARED  ? shared
           : in->space == EMU_LOCAL ? local
                                    : in->space == EMU_GLOBAL && !shared && !local;
}
static bool d_isspacep(emu_parser *p)
{
    if (!take_space(p, &p->inst.space) || !wfe_need_operands(p, 2, 2))
        return false;
    p->inst.kind = EMU_ALU;
    p->inst.fn = in_space;
    return wfe_dst(p, 0, EMU_PRED) && wfe_src(p, 1, EMU_U64);
}

const emu_decoder wfe_decode_alu[] = {
    { "add", d_add_sub },    { "sub", d_add_sub },   { "mul", d_product },       { "mad", d_product },
    { "mul24", d_product },  { "mad24", d_product }, { "fma", d_fma },           { "div", d_div },
    { "rem", d_rem },        { "sad", d_sad },       { "abs", d_abs_neg },       { "neg", d_abs_neg },
    { "min", d_extreme },    { "max", d_extreme },   { "rcp", d_root },          { "sqrt", d_root },
    { "rsqrt", d_function }, { "sin", d_function },  { "cos", d_function },      { "lg2", d_function },
    { "ex2", d_function },   { "tanh", d_function }, { "copysign", d_copysign }, { "testp", d_testp },
    { "and", d_logic },      { "or", d_logic },      { "xor", d_logic },         { "not", d_logic },
    { "cnot", d_logic },     { "shl", d_shift },     { "shr", d_shift },         { "shf", d_shf },
    { "popc", d_count },     { "clz", d_count },     { "bfind", d_bfind },       { "brev", d_brev },
    { "bfe", d_bfe },        { "bfi", d_bfi },       { "bmsk", d_bmsk },         { "szext", d_szext },
    { "fns", d_fns },        { "prmt", d_prmt },     { "lop3", d_lop3 },         { "dp4a", d_dp4a },
    { "setp", d_setp },      { "set", d_set },       { "selp", d_selp },         { "slct", d_slct },
    { "cvt", d_cvt },        { "mov", d_mov },       { "cvta", d_cvta },         { "isspacep", d_isspacep },
    { NULL, NULL },
};
