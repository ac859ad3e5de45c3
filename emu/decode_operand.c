/* decode_operand.c - modifiers and operands, for all decoders.
 *
 * Operand types are checked as section "Operand Type Checking" says. An operand has the size of the instruction's type,
 * and its kind agrees: bits with anything, integers with integers, floats with floats and bits. Registers may be wider
 * only where section "Operand Size Exceeding Instruction-Type Size" allows it (ld, st, cvt).
 */
#include "emu/number.h"
#include "emu/parse.h"

/* ---- modifiers ---- */
bool wfe_take(emu_parser *p, const char *mod)
{
    if (p->mod >= p->n_mods || !wfe_is(p->mods[p->mod], mod))
        return false;
    p->mod++;
    return true;
}
int wfe_take_of(emu_parser *p, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (wfe_take(p, names[i]))
            return i;
    return -1;
}
emu_type wfe_take_type(emu_parser *p)
{
    emu_type t = p->mod < p->n_mods ? wfe_type_of(p->mods[p->mod]) : EMU_NONE;
    p->mod += t != EMU_NONE;
    return t;
}

bool wfe_bad_modifier(emu_parser *p)
{
    if (p->mod < p->n_mods)
        return wfe_fail(p, "modifier '.%.*s' is unknown here, or out of order, for '%.*s'", (int)p->mods[p->mod].n,
                        p->mods[p->mod].at, (int)p->opcode.n, p->opcode.at);
    return wfe_fail(p, "'%.*s' needs another modifier", (int)p->opcode.n, p->opcode.at);
}
bool wfe_need_type(emu_parser *p, emu_type *out, uint32_t allowed)
{
    uint32_t before = p->mod;
    *out = wfe_take_type(p);
    if (*out == EMU_NONE)
        return wfe_bad_modifier(p);
    if (!(allowed >> *out & 1)) {
        p->mod = before;
        return wfe_fail(p, "type .%s is not allowed for '%.*s' with these modifiers", wfe_type_name(*out),
                        (int)p->opcode.n, p->opcode.at);
    }
    return true;
}
bool wfe_need_sm(emu_parser *p, uint32_t sm)
{
    if (p->m->target >= sm)
        return true;
    return wfe_fail(p, "'%.*s' in this form needs sm_%u; the target is sm_%u", (int)p->opcode.n, p->opcode.at, sm,
                    p->m->target);
}
bool wfe_need_operands(emu_parser *p, uint32_t least, uint32_t most)
{
    if (p->failed)
        return false;
    if (p->mod < p->n_mods)
        return wfe_bad_modifier(p);
    if (p->n_operands >= least && p->n_operands <= most)
        return true;
    return wfe_fail(p, "'%.*s' has %u operands here, not %u", (int)p->opcode.n, p->opcode.at, least, p->n_operands);
}
void wfe_take_scope(emu_parser *p)
{
    static const char *const scopes[] = { "cta", "cluster", "gpu", "sys", NULL };
    static const uint8_t codes[] = { EMU_SCOPE_CTA, EMU_SCOPE_GPU, EMU_SCOPE_GPU, EMU_SCOPE_SYS };
    int i = wfe_take_of(p, scopes);
    if (i >= 0)
        p->inst.scope = codes[i];
}

/* ---- operands ---- */
uint32_t wfe_constant(emu_parser *p, uint64_t bits)
{
    emu_module *m = p->m;
    uint32_t recent = m->n_consts > 64 ? m->n_consts - 64 : 0;
    for (uint32_t i = recent; i < m->n_consts; i++)
        if (m->consts[(size_t)i * EMU_LANES] == bits)
            return EMU_ROW_CONST | i;
    if (m->n_consts >= 1u << 24 ||
        !wf__grow(&m->consts, &m->cap_consts, m->n_consts + 1, EMU_LANES * sizeof(uint64_t))) {
        wfe_out_of_memory(p);
        return EMU_ROW_NONE;
    }
    for (int lane = 0; lane < EMU_LANES; lane++)
        m->consts[(size_t)m->n_consts * EMU_LANES + (size_t)lane] = bits;
    return EMU_ROW_CONST | m->n_consts++;
}

bool wfe_push_src(emu_parser *p, uint32_t row)
{
    if (row == EMU_ROW_NONE || p->failed)
        return false;
    if (p->n_src == WF__COUNT(p->src))
        return wfe_fail(p, "too many operands");
    p->src[p->n_src++] = row;
    return true;
}
static bool push_dst(emu_parser *p, uint32_t row)
{
    if (p->n_dst == WF__COUNT(p->dst))
        return wfe_fail(p, "too many operands");
    p->dst[p->n_dst++] = row;
    return true;
}

static bool types_agree(emu_type want, emu_type reg, bool wide)
{
    unsigned size = wfe_size(want), own = wfe_size(reg);
    if ((want == EMU_PRED) != (reg == EMU_PRED))
        return false;
    if (wide ? own < size : own != size)
        return false;
    bool want_bits = want <= EMU_B128, reg_bits = reg <= EMU_B128;
    if (wide && own > size && (wfe_is_float(want) || wfe_is_float(reg)))
        return reg_bits; /* "floats: the register's size must match, or it is of bits" */
    if (want_bits || reg_bits)
        return true;
    return wfe_is_float(want) == wfe_is_float(reg) && (!wfe_is_float(want) || want == reg);
}

static const struct special {
    const char *name;
    uint8_t row, type;
} specials[] = {
    { "%tid.x", EMU_SR_TID, EMU_U32 },
    { "%tid.y", EMU_SR_TID + 1, EMU_U32 },
    { "%tid.z", EMU_SR_TID + 2, EMU_U32 },
    { "%ntid.x", EMU_SR_NTID, EMU_U32 },
    { "%ntid.y", EMU_SR_NTID + 1, EMU_U32 },
    { "%ntid.z", EMU_SR_NTID + 2, EMU_U32 },
    { "%ctaid.x", EMU_SR_CTAID, EMU_U32 },
    { "%ctaid.y", EMU_SR_CTAID + 1, EMU_U32 },
    { "%ctaid.z", EMU_SR_CTAID + 2, EMU_U32 },
    { "%nctaid.x", EMU_SR_NCTAID, EMU_U32 },
    { "%nctaid.y", EMU_SR_NCTAID + 1, EMU_U32 },
    { "%nctaid.z", EMU_SR_NCTAID + 2, EMU_U32 },
    { "%laneid", EMU_SR_LANEID, EMU_U32 },
    { "%warpid", EMU_SR_WARPID, EMU_U32 },
    { "%nwarpid", EMU_SR_NWARPID, EMU_U32 },
    { "%lanemask_eq", EMU_SR_MASK_EQ, EMU_U32 },
    { "%lanemask_le", EMU_SR_MASK_LE, EMU_U32 },
    { "%lanemask_lt", EMU_SR_MASK_LT, EMU_U32 },
    { "%lanemask_ge", EMU_SR_MASK_GE, EMU_U32 },
    { "%lanemask_gt", EMU_SR_MASK_GT, EMU_U32 },
    { "%smid", EMU_SR_SMID, EMU_U32 },
    { "%nsmid", EMU_SR_NSMID, EMU_U32 },
    { "%gridid", EMU_SR_GRIDID, EMU_U64 },
    { "%dynamic_smem_size", EMU_SR_DYNAMIC, EMU_U32 },
    { "%total_smem_size", EMU_SR_TOTAL, EMU_U32 },
};

static bool fail_unknown(emu_parser *p, emu_slice name)
{
    return wfe_fail(p, "'%.*s' is not declared", (int)name.n, name.at);
}

static bool decode_immediate(emu_parser *p, const emu_operand *o, emu_type type)
{
    uint64_t bits = o->number;
    unsigned bytes = wfe_size(type);
    if (type == EMU_B128)
        return wfe_fail(p, "a literal cannot have 128 bits");
    if (o->kind == EMU_OP_FLOAT) {
        if (type == EMU_F32 || (type == EMU_B32 && o->has_bits32))
            bits = o->has_bits32 ? o->bits32 : wfe_from_double(EMU_F32, emu_f64(o->number), EMU_RN);
        else if (type != EMU_F64 && !(type == EMU_B64 && !o->has_bits32))
            return wfe_fail(p, "a float literal where .%s is needed", wfe_type_name(type));
    } else if (type == EMU_PRED) {
        bits = bits != 0;
    } else if (wfe_is_float(type)) {
        return wfe_fail(p, "an integer literal where .%s is needed", wfe_type_name(type));
    }
    if (bytes < 8)
        bits &= ((uint64_t)1 << (8 * bytes)) - 1;
    return wfe_push_src(p, wfe_constant(p, bits));
}

/* The register of this name and its row. NULL = an error, also if its type does not agree. */
static const emu_symbol *register_of(emu_parser *p, emu_slice name, emu_type type, bool wide, uint32_t *row)
{
    const emu_symbol *s = wfe_lookup(p, name, row);
    if (!s)
        fail_unknown(p, name);
    else if (s->kind != EMU_SYM_REG)
        wfe_fail(p, "'%.*s' is not a register", (int)name.n, name.at);
    else if (!types_agree(type, s->type, wide))
        wfe_fail(p, "register '%.*s' is of type .%s where .%s is needed", (int)name.n, name.at, wfe_type_name(s->type),
                 wfe_type_name(type));
    else
        return s;
    return NULL;
}

bool wfe_src_of(emu_parser *p, const emu_operand *o, emu_type type, bool wide)
{
    uint32_t row;
    if (p->failed)
        return false;
    if (o->kind == EMU_OP_INT || o->kind == EMU_OP_FLOAT)
        return decode_immediate(p, o, type);
    if (o->kind != EMU_OP_NAME || o->second.n || o->offset)
        return wfe_fail(p, "a register or a literal was expected as an operand of '%.*s'", (int)p->opcode.n,
                        p->opcode.at);
    if (wfe_is(o->name, "WARP_SZ"))
        return wfe_push_src(p, wfe_constant(p, EMU_LANES));
    for (size_t i = 0; o->name.at[0] == '%' && i < WF__COUNT(specials); i++) {
        if (!wfe_is(o->name, specials[i].name))
            continue;
        if (!wfe_is(p->opcode, "mov") && !wfe_is(p->opcode, "cvt"))
            return wfe_fail(p, "special registers are for mov and cvt only");
        if (o->negate || !types_agree(type, specials[i].type, true))
            return wfe_fail(p, "'%.*s' where .%s is needed", (int)o->name.n, o->name.at, wfe_type_name(type));
        return wfe_push_src(p, EMU_ROW_SPECIAL | specials[i].row);
    }
    if (!register_of(p, o->name, type, wide, &row))
        return false;
    if (o->negate)
        return wfe_fail(p, "'!' before '%.*s' is not allowed here", (int)o->name.n, o->name.at);
    return wfe_push_src(p, row);
}

bool wfe_dst_of(emu_parser *p, const emu_operand *o, emu_type type, bool wide)
{
    uint32_t row;
    if (p->failed)
        return false;
    if (o->kind != EMU_OP_NAME || o->negate || o->offset || o->second.n)
        return wfe_fail(p, "'%.*s' needs a register as its destination", (int)p->opcode.n, p->opcode.at);
    if (wfe_is(o->name, "_"))
        return push_dst(p, EMU_ROW_NONE);
    const emu_symbol *s = register_of(p, o->name, type, wide, &row);
    if (!s)
        return false;
    p->inst.dst_bytes = (uint8_t)wfe_size(s->type);
    return push_dst(p, row);
}
bool wfe_src(emu_parser *p, uint32_t i, emu_type type) { return wfe_src_of(p, &p->operands[i], type, false); }
bool wfe_dst(emu_parser *p, uint32_t i, emu_type type) { return wfe_dst_of(p, &p->operands[i], type, false); }

static bool address_of_symbol(emu_parser *p, const emu_symbol *s)
{
    emu_inst *in = &p->inst;
    emu_space own = EMU_LOCAL;
    if (s->kind == EMU_SYM_VAR) {
        const emu_var *v = &p->m->vars[s->first];
        own = (emu_space)v->space;
        in->offset += (int64_t)v->at;
        if (own != EMU_SHARED) {
            in->symbol = true;
            in->callee = s->first;
        }
    } else if (s->kind == EMU_SYM_PARAM) {
        own = EMU_PARAM;
        in->offset += s->first;
    } else if (s->kind == EMU_SYM_FRAME) {
        in->offset += s->first;
        in->frame = true;
        if (in->space == EMU_PARAM)
            in->space = EMU_LOCAL;
    } else {
        return wfe_fail(p, "this symbol has no address");
    }
    if (own != (emu_space)in->space && in->space != EMU_GENERIC)
        return wfe_fail(p, "'%.*s' lies in another state space", (int)s->name.n, s->name.at);
    if (in->space == EMU_GENERIC && own != EMU_GLOBAL && own != EMU_CONST)
        return wfe_fail(p, "'%.*s' needs cvta or an explicit state space", (int)s->name.n, s->name.at);
    return wfe_push_src(p, wfe_constant(p, 0));
}

bool wfe_address(emu_parser *p, uint32_t i)
{
    const emu_operand *o = &p->operands[i];
    emu_inst *in = &p->inst;
    uint32_t row;
    if (p->failed)
        return false;
    if (o->kind != EMU_OP_ADDRESS)
        return wfe_fail(p, "'%.*s' needs an address in brackets", (int)p->opcode.n, p->opcode.at);
    in->offset = o->offset;
    if (!o->name.n)
        return wfe_push_src(p, wfe_constant(p, 0));
    const emu_symbol *s = wfe_lookup(p, o->name, &row);
    if (!s)
        return fail_unknown(p, o->name);
    if (s->kind != EMU_SYM_REG)
        return address_of_symbol(p, s);
    bool narrow = in->space == EMU_SHARED || in->space == EMU_LOCAL || in->space == EMU_PARAM || in->space == EMU_CONST;
    unsigned bytes = wfe_size(s->type);
    if (s->type == EMU_PRED || wfe_is_float(s->type) || (bytes != 8 && !(narrow && bytes == 4)))
        return wfe_fail(p, "register '%.*s' of type .%s cannot be an address here", (int)o->name.n, o->name.at,
                        wfe_type_name(s->type));
    if (in->space == EMU_PARAM && !p->f->entry)
        in->space = EMU_LOCAL;
    in->narrow = bytes == 4;
    return wfe_push_src(p, row);
}

/* ---- the whole ---- */
