/* decode_control.c - decodes branches, calls, barriers and operations between lanes. */
#include <stdio.h>
#include "emu/alu.h"
#include "emu/parse.h"

static bool name_operand(emu_parser *p, uint32_t i)
{
    const emu_operand *o = &p->operands[i];
    if (o->kind == EMU_OP_NAME && !o->negate && !o->second.n && !o->offset)
        return true;
    return wfe_fail(p, "'%.*s' needs a name here", (int)p->opcode.n, p->opcode.at);
}

static bool d_bra(emu_parser *p)
{
    p->inst.kind = EMU_BRA;
    p->inst.uniform = wfe_take(p, "uni");
    return wfe_need_operands(p, 1, 1) && name_operand(p, 0) &&
           wfe_add_reference(p, p->operands[0].name, p->f->n_code, 0, false);
}
static bool d_brx(emu_parser *p)
{
    p->inst.kind = EMU_BRX;
    if (!wfe_take(p, "idx"))
        return false;
    p->inst.uniform = wfe_take(p, "uni");
    return wfe_need_operands(p, 2, 2) && wfe_src(p, 0, EMU_U32) && name_operand(p, 1) &&
           wfe_add_reference(p, p->operands[1].name, p->f->n_code, 0, true);
}

/* An argument or result of a call: a register, or a variable of the frame. Pushes its row or its offset in the
 * frame. */
static bool decode_passed(emu_parser *p, const emu_operand *o, const emu_var *v, bool result)
{
    uint32_t row;
    if (v->is_reg)
        return result ? wfe_dst_of(p, o, v->type, false) : wfe_src_of(p, o, v->type, false);
    const emu_symbol *s = o->kind == EMU_OP_NAME ? wfe_lookup(p, o->name, &row) : NULL;
    if (!s || s->kind != EMU_SYM_FRAME)
        return wfe_fail(p, "a .param variable was expected for '%s'", v->name);
    if (s->bytes < v->size)
        return wfe_fail(p, "'%.*s' is smaller than '%s'", (int)o->name.n, o->name.at, v->name);
    /* An offset is a row of constants, so that all operands are rows. Results follow the arguments. */
    return wfe_push_src(p, wfe_constant(p, s->first));
}

static bool d_call(emu_parser *p)
{
    emu_inst *in = &p->inst;
    in->kind = EMU_CALL;
    in->uniform = wfe_take(p, "uni");
    if (p->mod < p->n_mods || !name_operand(p, p->n_results))
        return false;
    emu_slice name = p->operands[p->n_results].name;
    in->callee = wfe_func_index(p->m, name);
    if (in->callee == p->m->n_funcs)
        return wfe_fail(p, "'%.*s' is not a declared function; the emulator does not support indirect calls",
                        (int)name.n, name.at);
    const emu_func *f = p->m->funcs[in->callee];
    uint32_t args = p->n_operands - p->n_results - 1;
    if (f->entry)
        return wfe_fail(p, "a kernel cannot be called");
    if (args != f->n_params || p->n_results != f->n_results)
        return wfe_fail(p, "'%s' takes %u arguments and returns %u results", f->name, f->n_params, f->n_results);
    p->f->calls = true;
    for (uint32_t i = 0; i < args; i++)
        if (!decode_passed(p, &p->operands[p->n_results + 1 + i], &f->params[i], false))
            return false;
    for (uint32_t i = 0; i < p->n_results; i++)
        if (!decode_passed(p, &p->operands[i], &f->results[i], true))
            return false;
    return true;
}
static bool d_ret(emu_parser *p)
{
    p->inst.kind = p->f->entry ? EMU_EXIT : EMU_RET;
    p->inst.uniform = wfe_take(p, "uni");
    return wfe_need_operands(p, 0, 0);
}
static bool d_exit(emu_parser *p)
{
    p->inst.kind = EMU_EXIT;
    return wfe_need_operands(p, 0, 0);
}
static bool d_trap(emu_parser *p)
{
    p->inst.kind = wfe_is(p->opcode, "trap") ? EMU_TRAP : EMU_NOP;
    if (wfe_is(p->opcode, "nanosleep")) {
        emu_type t;
        return wfe_need_type(p, &t, EMU_BIT(EMU_U32)) && wfe_need_operands(p, 1, 1) && wfe_src(p, 0, EMU_U32);
    }
    return wfe_need_operands(p, 0, 0);
}

/* ---- barriers ---- */
static bool warp_barrier(emu_parser *p)
{
    p->inst.kind = EMU_WARP;
    p->inst.what = EMU_WARP_SYNC;
    return wfe_take(p, "sync") && wfe_need_operands(p, 1, 1) && wfe_src(p, 0, EMU_B32);
}

/* bar{.cta}.sync|.arrive|.red: aligned; barrier{.cta}.sync|.arrive|.red{.aligned} */
static bool d_bar(emu_parser *p)
{
    static const char *const kinds[] = { "sync", "arrive", "red", NULL };
    static const char *const reductions[] = { "popc", "and", "or", NULL };
    emu_inst *in = &p->inst;
    bool bar = wfe_is(p->opcode, "bar");
    if (bar && wfe_take(p, "warp"))
        return warp_barrier(p);
    if (p->mod < p->n_mods && wfe_is(p->mods[p->mod], "cluster"))
        return wfe_fail(p, "barrier.cluster is not supported by the emulator");
    wfe_take(p, "cta");
    int kind = wfe_take_of(p, kinds), op = -1;
    in->kind = EMU_BAR;
    if (kind < 0)
        return false;
    if (kind == 2) {
        op = wfe_take_of(p, reductions);
        if (op < 0)
            return false;
    }
    in->aligned = bar || wfe_take(p, "aligned");
    in->what = (uint8_t)(kind == 2 ? EMU_BAR_POPC + op : kind == 1 ? EMU_BAR_ARRIVE : EMU_BAR_SYNC);
    if (kind == 2) {
        emu_type t;
        if (!wfe_need_type(p, &t, op == 0 ? EMU_BIT(EMU_U32) : EMU_BIT(EMU_PRED)) || !wfe_need_operands(p, 3, 4) ||
            !wfe_dst(p, 0, t))
            return false;
        in->has_count = p->n_operands == 4;
        emu_operand c = p->operands[p->n_operands - 1];
        in->negate_a = c.negate;
        c.negate = false;
        return wfe_src(p, 1, EMU_U32) && (!in->has_count || wfe_src(p, 2, EMU_U32)) &&
               wfe_src_of(p, &c, EMU_PRED, false);
    }
    if (!wfe_need_operands(p, kind == 1 ? 2 : 1, 2))
        return false;
    in->has_count = p->n_operands == 2;
    return wfe_src(p, 0, EMU_U32) && (!in->has_count || wfe_src(p, 1, EMU_U32));
}

/* ---- operations between lanes ---- */
/* shfl.sync.mode.b32 d{|p}, a, b, c, membermask */
static bool d_shfl(emu_parser *p)
{
    static const char *const modes[] = { "up", "down", "bfly", "idx", NULL };
    emu_type t;
    if (!wfe_take(p, "sync"))
        return wfe_fail(p, "shfl without .sync does not exist from sm_70 on");
    int mode = wfe_take_of(p, modes);
    p->inst.kind = EMU_WARP;
    p->inst.what = (uint8_t)(EMU_SHFL_UP + mode);
    if (mode < 0 || !wfe_need_type(p, &t, EMU_BIT(EMU_B32)) || !wfe_need_operands(p, 5, 5))
        return false;
    emu_operand first = p->operands[0], second = first;
    second.name = first.second;
    first.second = second.second = (emu_slice){ 0 };
    if (!wfe_dst_of(p, &first, EMU_B32, false) || (second.name.n && !wfe_dst_of(p, &second, EMU_PRED, false)))
        return false;
    return wfe_src(p, 4, EMU_B32) && wfe_src(p, 1, EMU_B32) && wfe_src(p, 2, EMU_B32) && wfe_src(p, 3, EMU_B32);
}

/* The membermask is always the first source. */
static bool d_vote(emu_parser *p)
{
    static const char *const modes[] = { "all", "any", "uni", "ballot", NULL };
    emu_type t;
    if (!wfe_take(p, "sync"))
        return wfe_fail(p, "vote without .sync does not exist from sm_70 on");
    int mode = wfe_take_of(p, modes);
    p->inst.kind = EMU_WARP;
    p->inst.what = (uint8_t)(EMU_VOTE_ALL + mode);
    if (mode < 0 || !wfe_need_type(p, &t, mode == 3 ? EMU_BIT(EMU_B32) : EMU_BIT(EMU_PRED)) ||
        !wfe_need_operands(p, 3, 3))
        return false;
    emu_operand a = p->operands[1];
    p->inst.negate_a = a.negate;
    a.negate = false;
    return wfe_dst(p, 0, t) && wfe_src(p, 2, EMU_B32) && wfe_src_of(p, &a, EMU_PRED, false);
}
static bool d_match(emu_parser *p)
{
    emu_type t;
    bool all = wfe_take(p, "all");
    p->inst.kind = EMU_WARP;
    p->inst.what = all ? EMU_MATCH_ALL : EMU_MATCH_ANY;
    if ((!all && !wfe_take(p, "any")) || !wfe_take(p, "sync") ||
        !wfe_need_type(p, &t, EMU_BIT(EMU_B32) | EMU_BIT(EMU_B64)) || !wfe_need_operands(p, 3, 3))
        return false;
    emu_operand first = p->operands[0], second = first;
    second.name = first.second;
    first.second = second.second = (emu_slice){ 0 };
    if (second.name.n && !all)
        return wfe_fail(p, "match.any gives no predicate");
    if (!wfe_dst_of(p, &first, EMU_B32, false) || (second.name.n && !wfe_dst_of(p, &second, EMU_PRED, false)))
        return false;
    return wfe_src(p, 2, EMU_B32) && wfe_src(p, 1, t);
}
static bool d_redux(emu_parser *p)
{
    static const char *const operations[] = { "add", "min", "max", "and", "or", "xor", NULL };
    emu_type t;
    p->inst.kind = EMU_WARP;
    p->inst.what = EMU_REDUX;
    if (!wfe_take(p, "sync") || !wfe_need_sm(p, 80))
        return false;
    int op = wfe_take_of(p, operations);
    uint32_t ints = EMU_BIT(EMU_U32) | EMU_BIT(EMU_S32);
    if (op < 0)
        return false;
    bool abs = (op == 1 || op == 2) && wfe_take(p, "abs");
    p->inst.nan = (op == 1 || op == 2) && wfe_take(p, "NaN");
    uint32_t floats = op == 1 || op == 2 ? EMU_BIT(EMU_F32) : 0;
    if (!wfe_need_type(p, &t, op > 2 ? EMU_BIT(EMU_B32) : abs || p->inst.nan ? floats : ints | floats))
        return false;
    if (abs || (t == EMU_F32 && !wfe_need_sm(p, 100)))
        return wfe_fail(p, "redux.sync.abs is not supported by the emulator");
    p->inst.type = (uint8_t)t;
    p->inst.fn = wfe_find_alu(operations[op], t);
    return wfe_need_operands(p, 3, 3) && wfe_dst(p, 0, t) && wfe_src(p, 2, EMU_B32) && wfe_src(p, 1, t);
}
/* elect.sync d|p, membermask */
static bool d_elect(emu_parser *p)
{
    p->inst.kind = EMU_WARP;
    p->inst.what = EMU_ELECT;
    if (!wfe_take(p, "sync") || !wfe_need_sm(p, 90) || !wfe_need_operands(p, 2, 2))
        return false;
    emu_operand first = p->operands[0], second = first;
    second.name = first.second;
    first.second = second.second = (emu_slice){ 0 };
    if (!second.name.n)
        return wfe_fail(p, "elect.sync gives a register and a predicate");
    return wfe_dst_of(p, &first, EMU_B32, false) && wfe_dst_of(p, &second, EMU_PRED, false) && wfe_src(p, 1, EMU_B32);
}
static bool d_activemask(emu_parser *p)
{
    emu_type t;
    p->inst.kind = EMU_ACTIVEMASK;
    return wfe_need_type(p, &t, EMU_BIT(EMU_B32)) && wfe_need_operands(p, 1, 1) && wfe_dst(p, 0, EMU_B32);
}

const emu_decoder wfe_decode_control[] = {
    { "bra", d_bra },     { "brx", d_brx },     { "call", d_call },   { "ret", d_ret },
    { "exit", d_exit },   { "trap", d_trap },   { "brkpt", d_trap },  { "nanosleep", d_trap },
    { "bar", d_bar },     { "barrier", d_bar }, { "shfl", d_shfl },   { "vote", d_vote },
    { "match", d_match }, { "redux", d_redux }, { "elect", d_elect }, { "activemask", d_activemask },
    { NULL, NULL },
};
