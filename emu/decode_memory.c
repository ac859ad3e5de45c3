/* decode_memory.c - decodes ld, st, atom, red, cp.async, fences and hints. */
#include <stdio.h>
#include "emu/alu.h"
#include "emu/parse.h"

#define BITS (EMU_BIT(EMU_B32) | EMU_BIT(EMU_B64))

/* Skips cache hints, which have no effect here. */
static void take_levels(emu_parser *p)
{
    while (p->mod < p->n_mods && p->mods[p->mod].n > 4 &&
           (!memcmp(p->mods[p->mod].at, "L1::", 4) || !memcmp(p->mods[p->mod].at, "L2::", 4)))
        p->mod++;
}
static bool cache_policy(const emu_parser *p)
{
    for (uint32_t i = 0; i < p->n_mods; i++)
        if (wfe_is(p->mods[i], "L2::cache_hint"))
            return true;
    return false;
}

static bool take_space(emu_parser *p)
{
    static const char *const names[] = { "global", "shared",       "shared::cta", "local",           "const",
                                         "param",  "param::entry", "param::func", "shared::cluster", NULL };
    static const uint8_t spaces[] = { EMU_GLOBAL, EMU_SHARED, EMU_SHARED, EMU_LOCAL, EMU_CONST,
                                      EMU_PARAM,  EMU_PARAM,  EMU_PARAM,  EMU_SHARED };
    int i = wfe_take_of(p, names);
    p->inst.space = i < 0 ? EMU_GENERIC : spaces[i];
    return i >= 0;
}

/* .weak; .relaxed .acquire .release .acq_rel with a scope; .volatile; .mmio.relaxed.sys */
static bool take_order(emu_parser *p)
{
    emu_inst *in = &p->inst;
    if (wfe_take(p, "weak"))
        return true;
    if (wfe_take(p, "volatile")) {
        in->strong = true;
        in->scope = EMU_SCOPE_SYS;
        return true;
    }
    wfe_take(p, "mmio");
    bool relaxed = wfe_take(p, "relaxed");
    in->acquire = wfe_take(p, "acquire");
    in->release = !in->acquire && wfe_take(p, "release");
    if (wfe_take(p, "acq_rel"))
        in->acquire = in->release = true;
    in->strong = relaxed || in->acquire || in->release;
    wfe_take_scope(p);
    if (in->strong && !in->scope && (in->kind == EMU_LD || in->kind == EMU_ST))
        return wfe_fail(p, "'%.*s' with an order needs a scope", (int)p->opcode.n, p->opcode.at);
    return true;
}

static uint32_t memory_types(void)
{
    uint32_t all = 0;
    for (int t = EMU_B8; t <= EMU_S64; t++)
        all |= EMU_BIT(t);
    return (all | EMU_BIT(EMU_F32) | EMU_BIT(EMU_F64));
}

static bool take_vector_type(emu_parser *p)
{
    static const char *const vectors[] = { "v2", "v4", "v8", NULL };
    emu_inst *in = &p->inst;
    emu_type t;
    int v = wfe_take_of(p, vectors);
    in->vector = (uint8_t)(1 << (v + 1));
    if (!wfe_need_type(p, &t, memory_types()))
        return false;
    in->type = (uint8_t)t;
    in->bytes = (uint8_t)wfe_size(t);
    unsigned bytes = (unsigned)in->bytes * in->vector;
    if (bytes > 32 || (in->vector == 8 && in->bytes != 4) ||
        (bytes == 32 && in->space != EMU_GLOBAL && in->space != EMU_GENERIC))
        return wfe_fail(p, "no access of %u elements of type .%s", in->vector, wfe_type_name(t));
    if (t == EMU_B128 && in->vector > 1)
        return wfe_fail(p, "no vectors of .b128");
    return bytes < 32 || wfe_need_sm(p, 100);
}

static bool decode_data(emu_parser *p, uint32_t i, bool is_dst)
{
    emu_operand *o = &p->operands[i];
    emu_inst *in = &p->inst;
    emu_type t = (emu_type)in->type;
    if ((o->kind == EMU_OP_VECTOR) != (in->vector > 1) || (o->kind == EMU_OP_VECTOR && o->n != in->vector))
        return wfe_fail(p, "'%.*s' needs %u elements here", (int)p->opcode.n, p->opcode.at, in->vector);
    uint8_t widest = 0;
    for (unsigned k = 0; k < in->vector; k++) {
        const emu_operand *e = in->vector > 1 ? &p->elements[o->first + k] : o;
        if (!(is_dst ? wfe_dst_of(p, e, t, true) : wfe_src_of(p, e, t, true)))
            return false;
        if (k > 0 && widest != in->dst_bytes && is_dst)
            return wfe_fail(p, "registers of one width are needed");
        widest = in->dst_bytes;
    }
    if (t == EMU_B128) { /* a 128-bit register has two rows */
        if (is_dst)
            p->dst[p->n_dst] = p->dst[p->n_dst - 1] + 1, p->n_dst++;
        else
            return wfe_push_src(p, p->src[p->n_src - 1] + 1);
    }
    return true;
}

static bool d_ld(emu_parser *p)
{
    static const char *const cached[] = { "ca", "cg", "cs", "lu", "cv", NULL };
    emu_inst *in = &p->inst;
    in->kind = EMU_LD;
    if (!take_order(p))
        return false;
    take_space(p);
    wfe_take_of(p, cached);
    if (wfe_take(p, "nc") && in->space != EMU_GLOBAL)
        return wfe_fail(p, ".nc is for global memory only");
    take_levels(p);
    if (!take_vector_type(p))
        return false;
    uint32_t n = cache_policy(p) ? 3 : 2;
    return wfe_need_operands(p, n, n) && decode_data(p, 0, true) && wfe_address(p, 1) &&
           (n < 3 || wfe_src(p, 2, EMU_B64));
}

static bool d_st(emu_parser *p)
{
    static const char *const cached[] = { "wb", "cg", "cs", "wt", NULL };
    emu_inst *in = &p->inst;
    in->kind = EMU_ST;
    if (!take_order(p))
        return false;
    take_space(p);
    wfe_take_of(p, cached);
    take_levels(p);
    if (!take_vector_type(p))
        return false;
    if (in->space == EMU_CONST)
        return wfe_fail(p, "constants are read-only");
    uint32_t n = cache_policy(p) ? 3 : 2;
    if (!wfe_need_operands(p, n, n) || !wfe_address(p, 0) || !decode_data(p, 1, false))
        return false;
    return in->space != EMU_PARAM || wfe_fail(p, "kernel parameters are read-only");
}

/* ---- atom, red ---- */
enum { AND, OR, XOR, CAS, EXCH, ADD, INC, DEC, MIN, MAX };
static const char *const operations[] = { "and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max", NULL };

static uint32_t atomic_types(emu_parser *p, int op)
{
    uint32_t b128 = p->m->target >= 90 ? EMU_BIT(EMU_B128) : 0, halves = 0;
    for (int t = EMU_F16; t <= EMU_BF16X2; t++)
        halves |= EMU_BIT(t);
    switch (op) {
    case AND:
    case OR:
    case XOR:
        return BITS;
    case CAS:
        return BITS | b128 | EMU_BIT(EMU_B16);
    case EXCH:
        return BITS | b128;
    case ADD:
        return EMU_BIT(EMU_U32) | EMU_BIT(EMU_S32) | EMU_BIT(EMU_U64) | EMU_BIT(EMU_F32) | EMU_BIT(EMU_F64) | halves;
    case INC:
    case DEC:
        return EMU_BIT(EMU_U32);
    default:
        return EMU_BIT(EMU_U32) | EMU_BIT(EMU_S32) | EMU_BIT(EMU_U64) | EMU_BIT(EMU_S64) |
               (p->inst.vector > 1 ? halves : 0);
    }
}

static bool atomic_targets(emu_parser *p, emu_type t, int op, bool noftz)
{
    bool half = t >= EMU_F16 && t <= EMU_BF16X2;
    if (half != noftz)
        return wfe_fail(p, half ? "atomic operations on halves need .noftz" : ".noftz is for halves only");
    if ((t == EMU_BF16 || t == EMU_BF16X2) && !wfe_need_sm(p, 90))
        return false;
    if (p->inst.vector > 1) {
        if (!wfe_need_sm(p, 90) || (t != EMU_F32 && !half) || (t == EMU_F32 && (p->inst.vector > 4 || op != ADD)) ||
            p->inst.space != EMU_GLOBAL || (unsigned)p->inst.vector * wfe_size(t) > 16)
            return wfe_fail(p, "no atomic operation on %u elements of type .%s here", p->inst.vector, wfe_type_name(t));
    }
    return true;
}

/* {.sem}{.scope}{.space}.op{.noftz}{.level}{.vec}.type */
static bool decode_atomic(emu_parser *p, bool gives_old)
{
    static const char *const vectors[] = { "v2", "v4", "v8", NULL };
    emu_inst *in = &p->inst;
    emu_type t;
    in->kind = EMU_ATOM;
    in->strong = true;
    bool spaced = take_space(p); /* ptxas also accepts the space before the order */
    if (!take_order(p))
        return false;
    in->strong = true;
    if (!in->scope)
        in->scope = EMU_SCOPE_GPU;
    if ((spaced || take_space(p)) && in->space != EMU_GLOBAL && in->space != EMU_SHARED)
        return wfe_fail(p, "atomic operations are for global and shared memory");
    int op = wfe_take_of(p, operations);
    if (op < 0)
        return false;
    if (!gives_old && (op == CAS || op == EXCH))
        return wfe_fail(p, "red has no .%s", operations[op]);
    bool noftz = wfe_take(p, "noftz");
    take_levels(p);
    in->vector = (uint8_t)(1 << (wfe_take_of(p, vectors) + 1));
    if (!wfe_need_type(p, &t, atomic_types(p, op)) || !atomic_targets(p, t, op, noftz))
        return false;
    in->type = (uint8_t)t;
    in->bytes = (uint8_t)wfe_size(t);
    in->what = (uint8_t)op;
    if (t != EMU_B128) {
        in->fn = wfe_find_alu(operations[op], t);
        if (!in->fn)
            return wfe_fail(p, "no atomic .%s of type .%s", operations[op], wfe_type_name(t));
    }
    uint32_t first = gives_old ? 1 : 0, n = first + (op == CAS ? 3 : 2), all = n + (cache_policy(p) ? 1 : 0);
    if (op == CAS && t == EMU_B16 && !wfe_need_sm(p, 70))
        return false;
    if (!wfe_need_operands(p, all, all) || (gives_old && !decode_data(p, 0, true)) || !wfe_address(p, first) ||
        !decode_data(p, first + 1, false) || (op == CAS && !decode_data(p, first + 2, false)))
        return false;
    in->has_count = op == CAS;
    return true;
}
static bool d_atom(emu_parser *p) { return decode_atomic(p, true); }
static bool d_red(emu_parser *p)
{
    if (wfe_take(p, "async"))
        return wfe_fail(p, "red.async is not supported by the emulator");
    return decode_atomic(p, false);
}

/* ---- copies ---- */
static bool decode_literal(emu_parser *p, uint32_t i, uint64_t *out)
{
    if (p->operands[i].kind != EMU_OP_INT)
        return wfe_fail(p, "'%.*s' needs a literal here", (int)p->opcode.n, p->opcode.at);
    *out = p->operands[i].number;
    return true;
}

/* cp.async.ca|cg.shared.global{.level} [dst], [src], 4|8|16{, src-size} */
static bool async_copy(emu_parser *p, bool cg)
{
    emu_inst *in = &p->inst;
    uint64_t bytes = 0;
    take_space(p);
    if (in->space != EMU_SHARED || !wfe_take(p, "global"))
        return false;
    take_levels(p);
    if (!wfe_need_operands(p, 3, 4) || !decode_literal(p, 2, &bytes))
        return false;
    if (bytes != 16 && (cg || (bytes != 4 && bytes != 8)))
        return wfe_fail(p, "cp.async copies 4, 8 or 16 bytes (.cg: 16), not %llu", (unsigned long long)bytes);
    in->kind = EMU_COPY;
    in->bytes = (uint8_t)bytes;
    if (!wfe_address(p, 0))
        return false;
    int64_t to = in->offset;
    if (in->symbol || in->frame)
        return wfe_fail(p, "cp.async stores to shared memory");
    bool narrow = in->narrow;
    in->space = EMU_GLOBAL;
    if (!wfe_address(p, 1))
        return false;
    in->lut = narrow;
    in->target = (uint32_t)to; /* offset of the shared address; `offset` belongs to the global one */
    in->has_count = p->n_operands == 4;
    return !in->has_count || wfe_src(p, 3, EMU_B32);
}

static bool d_cp(emu_parser *p)
{
    emu_inst *in = &p->inst;
    uint64_t n = 0;
    if (!wfe_take(p, "async"))
        return false;
    if (p->mod < p->n_mods && wfe_is(p->mods[p->mod], "bulk"))
        return wfe_fail(p, "cp.async.bulk is not supported by the emulator");
    if (!wfe_need_sm(p, 80))
        return false;
    if (wfe_take(p, "commit_group")) {
        in->kind = EMU_COPY_COMMIT;
        return wfe_need_operands(p, 0, 0);
    }
    if (wfe_take(p, "wait_all")) {
        in->kind = EMU_COPY_WAIT;
        in->what = 1;
        return wfe_need_operands(p, 0, 0);
    }
    if (wfe_take(p, "wait_group")) {
        in->kind = EMU_COPY_WAIT;
        if (!wfe_need_operands(p, 1, 1) || !decode_literal(p, 0, &n))
            return false;
        in->target = n > 1000 ? 1000 : (uint32_t)n;
        return true;
    }
    bool cg = wfe_take(p, "cg");
    return (cg || wfe_take(p, "ca")) && async_copy(p, cg);
}

/* membar.cta .gl .sys; fence{.sc .acq_rel}.scope; fence.proxy.* has no effect here */
static bool d_fence(emu_parser *p)
{
    static const char *const levels[] = { "cta", "gl", "sys", NULL };
    emu_inst *in = &p->inst;
    in->kind = EMU_FENCE;
    if (wfe_is(p->opcode, "membar")) {
        int level = wfe_take_of(p, levels);
        if (level < 0)
            return false;
        in->scope = (uint8_t)(EMU_SCOPE_CTA + level);
        return wfe_need_operands(p, 0, 0);
    }
    if (wfe_take(p, "proxy")) {
        p->mod = p->n_mods;
        in->kind = EMU_NOP;
        return wfe_need_operands(p, 0, 0);
    }
    if (!wfe_take(p, "sc"))
        wfe_take(p, "acq_rel");
    wfe_take_scope(p);
    return in->scope ? wfe_need_operands(p, 0, 0) : false;
}

/* prefetch{.space}.L1|.L2 [a], prefetchu.L1, applypriority, discard: no effect */
static bool d_prefetch(emu_parser *p)
{
    take_space(p);
    if (!wfe_take(p, "L1") && !wfe_take(p, "L2"))
        return false;
    p->inst.kind = EMU_NOP;
    if (!wfe_need_operands(p, 1, 1) || !wfe_address(p, 0))
        return false;
    p->inst.symbol = false;
    return true;
}

const emu_decoder wfe_decode_memory[] = {
    { "ld", d_ld }, { "ldu", d_ld },       { "st", d_st },       { "atom", d_atom },         { "red", d_red },
    { "cp", d_cp }, { "membar", d_fence }, { "fence", d_fence }, { "prefetch", d_prefetch }, { NULL, NULL },
};
