/* warp.c - executes the instructions of one warp: chooses the group of lanes, arithmetic, branches, calls. */
#include "emu/alu.h"
#include "emu/run.h"

/* PATIENCE: effort of a group while others are ready; STRONG: effort of a strong access, which may spin; MAX_DEPTH:
 * nested calls. */
enum { PATIENCE = 20000, STRONG = 64, MAX_DEPTH = 64 };

/* ---- groups ---- */
/* True if lane a runs before lane b: deeper calls first, then lower places. */
static bool is_ahead(const emu_warp *w, uint32_t a, uint32_t b)
{
    if (w->depth[a] != w->depth[b])
        return w->depth[a] > w->depth[b];
    if (w->func[a] != w->func[b])
        return w->func[a] < w->func[b];
    return w->pc[a] < w->pc[b];
}

/* Chooses the group that runs next; `fair`: the one that has waited longest. *stop: the place where other lanes wait
 * for this group; UINT32_MAX - 1 = others are ready elsewhere, UINT32_MAX = no others are ready. */
static bool choose_group(emu_run *r, bool fair, uint32_t *stop)
{
    emu_warp *w = r->w;
    uint32_t ready = w->live & ~w->blocked;
    *stop = UINT32_MAX;
    if (!ready)
        return false;
    uint32_t best = (uint32_t)__builtin_ctz(ready), group = 0;
    EMU_EACH(ready, a)
    {
        if (fair ? w->turn[a] < w->turn[best] : is_ahead(w, a, best))
            best = a;
    }
    EMU_EACH(ready, b)
    {
        if (wfe_same_place(w, b, best))
            group |= 1u << b;
        else if (w->depth[b] == w->depth[best] && w->func[b] == w->func[best] && w->pc[b] > w->pc[best] &&
                 w->pc[b] < *stop)
            *stop = w->pc[b];
        else if (*stop == UINT32_MAX)
            *stop = UINT32_MAX - 1;
    }
    r->clock++;
    EMU_EACH(group, c) { w->turn[c] = r->clock; }
    r->active = group;
    wfe_select_lane(r, best);
    return true;
}

static void save_pc(emu_run *r, uint32_t lanes, uint32_t pc)
{
    EMU_EACH(lanes, lane) { r->w->pc[lane] = pc; }
}

/* ---- lane by lane ---- */
static void do_alu(emu_run *r, const emu_inst *in, uint32_t mask)
{
    static const uint64_t none[EMU_LANES];
    const uint32_t *o = r->ops + in->ops;
    if (o[0] == EMU_ROW_NONE)
        return;
    uint64_t *d = emu_out(r, o[0]);
    const uint64_t *a = emu_row(r, o[1]), *b = in->ns > 1 ? emu_row(r, o[2]) : none;
    const uint64_t *c = in->ns > 2 ? emu_row(r, o[3]) : none, *e = in->ns > 3 ? emu_row(r, o[4]) : none;
    emu_fn fn = in->fn;
    if (mask == UINT32_MAX) {
        for (int lane = 0; lane < EMU_LANES; lane++)
            d[lane] = fn(in, a[lane], b[lane], c[lane], e[lane]);
        return;
    }
    EMU_EACH(mask, lane) { d[lane] = fn(in, a[lane], b[lane], c[lane], e[lane]); }
}

static bool join_bool(unsigned how, bool a, bool b)
{
    return how == EMU_BOOL_AND ? a && b : how == EMU_BOOL_OR ? a || b : how == EMU_BOOL_XOR ? a != b : a;
}

/* setp p|q: p = (a cmp b) join c, q = !(a cmp b) join c. set: true is all ones or 1.0. */
static void do_compare(emu_run *r, const emu_inst *in, uint32_t mask)
{
    const uint32_t *o = r->ops + in->ops;
    const uint64_t *a = emu_row(r, o[in->nd]), *b = emu_row(r, o[in->nd + 1]);
    const uint64_t *c = in->ns > 2 ? emu_row(r, o[in->nd + 2]) : NULL;
    uint64_t yes = in->type2 == EMU_NONE ? 1 : in->type2 == EMU_F32 ? 0x3f800000u : 0xffffffffu;
    EMU_EACH(mask, lane)
    {
        bool p = wfe_compare(in->cmp, (int)(int64_t)in->fn(in, a[lane], b[lane], 0, 0));
        bool with = c && ((c[lane] & 1) != 0) != in->negate_a;
        if (o[0] != EMU_ROW_NONE)
            emu_out(r, o[0])[lane] = join_bool(in->join, p, with) ? yes : 0;
        if (in->nd > 1 && o[1] != EMU_ROW_NONE)
            emu_out(r, o[1])[lane] = join_bool(in->join, !p, with) ? yes : 0;
    }
}

static void do_pack(emu_run *r, const emu_inst *in, uint32_t mask)
{
    const uint32_t *o = r->ops + in->ops;
    unsigned each = in->bytes, n = in->vector;
    EMU_EACH(mask, lane)
    {
        uint64_t v[2] = { 0 };
        if (in->kind == EMU_PACK) {
            for (unsigned i = 0; i < n; i++)
                memcpy((uint8_t *)v + (size_t)i * each, &emu_row(r, o[1 + i])[lane], each);
            if (o[0] == EMU_ROW_NONE)
                continue;
            emu_out(r, o[0])[lane] = v[0];
            if (each * n == 16)
                emu_out(r, o[0] + 1)[lane] = v[1];
            continue;
        }
        v[0] = emu_row(r, o[in->nd])[lane];
        v[1] = each * n == 16 ? emu_row(r, o[in->nd] + 1)[lane] : 0;
        for (unsigned i = 0; i < n; i++) {
            uint64_t x = 0;
            memcpy(&x, (uint8_t *)v + (size_t)i * each, each);
            if (o[i] != EMU_ROW_NONE)
                emu_out(r, o[i])[lane] = x;
        }
    }
}

static void do_move2(emu_run *r, const emu_inst *in, uint32_t mask)
{
    const uint32_t *o = r->ops + in->ops;
    if (o[0] == EMU_ROW_NONE)
        return;
    EMU_EACH(mask, lane)
    {
        uint64_t lo = emu_row(r, o[1])[lane], hi = emu_row(r, o[1] + 1)[lane];
        emu_out(r, o[0])[lane] = lo;
        emu_out(r, o[0] + 1)[lane] = hi;
    }
}

/* The second row of a 128-bit register is written with the first. */
static void define_wide(emu_run *r, const emu_inst *in, uint32_t mask)
{
    if (in->type == EMU_B128 && in->kind != EMU_UNPACK && r->ops[in->ops] != EMU_ROW_NONE)
        r->w->defined[r->base + r->ops[in->ops] + 1] |= mask;
}

static void do_special(emu_run *r, const emu_inst *in, uint32_t mask)
{
    if (r->ops[in->ops] == EMU_ROW_NONE)
        return;
    uint64_t *d = emu_out(r, r->ops[in->ops]), t = r->clock * 4 + r->steps * 2, x;
    switch (in->what) {
    case EMU_CLOCK32:
    case EMU_TIMER_LO:
        x = (uint32_t)t;
        break;
    case EMU_CLOCK_HI:
    case EMU_TIMER_HI:
        x = t >> 32;
        break;
    default:
        x = t;
        break;
    }
    if (in->kind == EMU_ADDR)
        x = (uint64_t)in->offset + (in->frame ? r->local : 0);
    if (in->kind == EMU_ACTIVEMASK)
        x = mask;
    EMU_EACH(mask, lane) { d[lane] = x; }
}

/* ---- control ---- */
static void end_lanes(emu_run *r, uint32_t mask)
{
    r->w->live &= ~mask;
    r->b->live -= (uint32_t)__builtin_popcount(mask);
    wfe_lanes_ended(r);
}

/* Copies the arguments and moves the lanes to the callee's first instruction. */
static void enter_call(emu_run *r, const emu_inst *in, uint32_t mask)
{
    emu_warp *w = r->w;
    const emu_func *to = r->m->funcs[in->callee];
    const uint32_t *src = r->ops + in->ops + in->nd;
    uint32_t base = r->base + r->f->n_regs, local = (r->local + r->f->local_bytes + 15) & ~15u, depth = r->depth;
    if (depth + 1 >= MAX_DEPTH || local + to->local_bytes > r->local_bytes) {
        wfe_report(r, EMU_FAULT_STACK, in, (uint32_t)__builtin_ctz(mask), "the stack is full: calls are %u deep",
                   depth + 1);
        return;
    }
    if (!wfe_warp_rows(r, w, base + to->n_regs))
        return;
    wfe_update_rows(r);
    for (uint32_t i = 0; i < to->n_regs; i++)
        w->defined[base + i] &= ~mask;
    if ((depth + 1) * EMU_LANES > w->cap_frames &&
        !wf__grow(&w->frames, &w->cap_frames, (depth + 1) * EMU_LANES, sizeof *w->frames)) {
        wfe_report(r, EMU_FAULT_MEMORY, in, EMU_LANES, "the host ran out of memory");
        return;
    }
    for (uint32_t i = 0; i < to->n_params; i++) {
        const emu_var *v = &to->params[i];
        const uint64_t *from = emu_row(r, src[i]);
        EMU_EACH(mask, lane)
        {
            uint64_t at = (uint64_t)lane * r->local_bytes;
            if (v->is_reg) {
                w->regs[((size_t)base + v->row) * EMU_LANES + lane] = from[lane];
                continue;
            }
            memcpy(w->locals + at + local + v->at, w->locals + at + r->local + from[lane], (size_t)v->size);
            for (uint64_t k = 0; k < v->size; k++) {
                uint64_t a = at + r->local + from[lane] + k, z = at + local + v->at + k;
                uint64_t bit = w->locals_written[a >> 6] >> (a & 63) & 1;
                w->locals_written[z >> 6] = (w->locals_written[z >> 6] & ~((uint64_t)1 << (z & 63))) | bit << (z & 63);
            }
        }
        if (v->is_reg)
            w->defined[base + v->row] |= mask;
    }
    EMU_EACH(mask, b)
    {
        w->frames[(size_t)depth * EMU_LANES + b] = (emu_frame){ r->func, r->pc, r->base, r->local };
        w->func[b] = in->callee;
        w->pc[b] = 0;
        w->base[b] = base;
        w->local[b] = local;
        w->depth[b] = depth + 1;
    }
}

static void return_results(emu_run *r, const emu_func *from, const emu_frame *f, uint32_t lane)
{
    emu_warp *w = r->w;
    const emu_func *to = r->m->funcs[f->func];
    const emu_inst *call_inst = &to->code[f->pc];
    const uint32_t *d = to->ops + call_inst->ops, *src = d + call_inst->nd + from->n_params;
    uint32_t reg = 0, mem = 0;
    for (uint32_t i = 0; i < from->n_results; i++) {
        const emu_var *v = &from->results[i];
        if (v->is_reg) {
            uint32_t row = d[reg++];
            if (row == EMU_ROW_NONE)
                continue;
            w->regs[((size_t)f->base + row) * EMU_LANES + lane] =
                w->regs[((size_t)r->base + v->row) * EMU_LANES + lane];
            w->defined[f->base + row] |= (w->defined[r->base + v->row] >> lane & 1) << lane;
            continue;
        }
        uint64_t at = (uint64_t)lane * r->local_bytes,
                 z = at + f->local + r->m->consts[(size_t)(src[mem++] & 0xffffff) * EMU_LANES];
        uint64_t a = at + r->local + v->at;
        for (uint64_t k = 0; k < v->size; k++, a++, z++) {
            uint64_t bit = w->locals_written[a >> 6] >> (a & 63) & 1;
            w->locals[z] = w->locals[a];
            w->locals_written[z >> 6] = (w->locals_written[z >> 6] & ~((uint64_t)1 << (z & 63))) | bit << (z & 63);
        }
    }
}

static void do_return(emu_run *r, uint32_t mask)
{
    emu_warp *w = r->w;
    if (r->depth == 0) {
        end_lanes(r, mask);
        return;
    }
    EMU_EACH(mask, lane)
    {
        emu_frame f = w->frames[(size_t)(r->depth - 1) * EMU_LANES + lane];
        return_results(r, r->f, &f, lane);
        w->func[lane] = f.func;
        w->pc[lane] = f.pc + 1;
        w->base[lane] = f.base;
        w->local[lane] = f.local;
        w->depth[lane] = r->depth - 1;
    }
}

/* True: all lanes of the group go on at r->pc. False: the group has split, and its lanes' places are saved. */
static bool do_branch(emu_run *r, const emu_inst *in, uint32_t mask)
{
    uint32_t rest = r->active & ~mask;
    if (in->uniform && rest && mask) {
        wfe_report(r, EMU_FAULT_FINDING, in, (uint32_t)__builtin_ctz(rest),
                   "bra.uni, but the lanes do not agree: 0x%08x branch, 0x%08x do not", mask, rest);
        return false;
    }
    if (!rest || !mask) {
        r->pc = mask ? in->target : r->pc + 1;
        return true;
    }
    save_pc(r, mask, in->target);
    save_pc(r, rest, r->pc + 1);
    return false;
}

static bool do_branch_table(emu_run *r, const emu_inst *in, uint32_t mask)
{
    const uint32_t *list = r->f->targets + in->target;
    const uint64_t *index = emu_row(r, r->ops[in->ops]);
    save_pc(r, r->active & ~mask, r->pc + 1);
    EMU_EACH(mask, lane)
    {
        if ((uint32_t)index[lane] >= list[0]) {
            wfe_report(r, EMU_FAULT_TRAP, in, lane, "index %u of a list of %u targets", (uint32_t)index[lane], list[0]);
            return false;
        }
        r->w->pc[lane] = list[1 + (uint32_t)index[lane]];
    }
    return false;
}

/* Executes an instruction that may split or stop the group. True: the group goes on at r->pc. */
static bool do_control(emu_run *r, const emu_inst *in, uint32_t mask)
{
    switch (in->kind) {
    case EMU_BRA:
        return do_branch(r, in, mask);
    case EMU_BRX:
        return do_branch_table(r, in, mask);
    case EMU_CALL:
        save_pc(r, r->active & ~mask, r->pc + 1);
        enter_call(r, in, mask);
        return false;
    case EMU_RET:
        save_pc(r, r->active & ~mask, r->pc + 1);
        do_return(r, mask);
        return false;
    case EMU_EXIT:
        save_pc(r, r->active & ~mask, r->pc + 1);
        end_lanes(r, mask);
        return false;
    case EMU_TRAP:
        wfe_report(r, EMU_FAULT_TRAP, in, (uint32_t)__builtin_ctz(mask), "trap");
        return false;
    default: /* EMU_WARP, EMU_BAR */
        if (in->kind == EMU_WARP ? wfe_warp_op(r, in, mask) : wfe_bar(r, in, mask)) {
            r->pc++;
            return true;
        }
        return false;
    }
}

static void do_plain(emu_run *r, const emu_inst *in, uint32_t mask)
{
    switch (in->kind) {
    case EMU_ALU:
        do_alu(r, in, mask);
        break;
    case EMU_SETP:
        do_compare(r, in, mask);
        break;
    case EMU_PACK:
    case EMU_UNPACK:
        do_pack(r, in, mask);
        break;
    case EMU_MOVE2:
        do_move2(r, in, mask);
        break;
    case EMU_ADDR:
    case EMU_CLOCK:
    case EMU_ACTIVEMASK:
        do_special(r, in, mask);
        break;
    case EMU_LD:
        wfe_load(r, in, mask);
        break;
    case EMU_ST:
        wfe_store(r, in, mask);
        break;
    case EMU_ATOM:
        wfe_atomic(r, in, mask);
        break;
    case EMU_COPY:
        wfe_copy_async(r, in, mask);
        break;
    case EMU_COPY_COMMIT:
        wfe_copy_commit(r, mask);
        break;
    case EMU_COPY_WAIT:
        wfe_copy_wait(r, in, mask);
        break;
    case EMU_FENCE:
        if (r->races)
            wfe_race_fence(r, in, mask);
        break;
    default:
        break;
    }
    wfe_mark_defined(r, in, mask);
    define_wide(r, in, mask);
}

static uint32_t guard_mask(emu_run *r, const emu_inst *in)
{
    if (in->guard == EMU_ROW_NONE)
        return r->active;
    uint32_t missing = r->active & ~r->w->defined[r->base + in->guard], mask = 0;
    if (missing && (r->l->find & EMU_FIND_REGISTERS)) {
        wfe_report(r, EMU_FAULT_FINDING, in, (uint32_t)__builtin_ctz(missing),
                   "the guard is a predicate that was never written");
        return 0;
    }
    const uint64_t *p = emu_row(r, in->guard);
    EMU_EACH(r->active, lane) { mask |= (uint32_t)((p[lane] & 1) != in->negate) << lane; }
    return mask;
}

/* Runs the group until it splits, reaches other lanes, waits, ends or has used its steps. */
static void run_group(emu_run *r, uint32_t stop, uint32_t *steps)
{
    uint32_t patience = stop == UINT32_MAX ? UINT32_MAX : PATIENCE;
    while (!r->fault) {
        if (r->pc >= stop || *steps == 0 || patience == 0) {
            save_pc(r, r->active, r->pc);
            return;
        }
        const emu_inst *in = &r->code[r->pc];
        uint32_t mask = guard_mask(r, in);
        uint32_t effort = in->strong ? STRONG : 1;
        *steps -= effort < *steps ? effort : *steps;
        patience -= effort < patience ? effort : patience;
        r->steps++;
        r->effort += effort;
        r->l->instructions += (uint64_t)__builtin_popcount(mask);
        if (r->fault)
            return;
        if (mask && in->ns && (r->l->find & EMU_FIND_REGISTERS)) {
            if (in->kind != EMU_CALL)
                wfe_check_sources(r, in, mask);
            if (r->fault)
                return;
        }
        if (in->kind >= EMU_WARP && in->kind <= EMU_TRAP && in->kind != EMU_ACTIVEMASK) {
            if (!mask) {
                r->pc++;
                continue;
            }
            if (!do_control(r, in, mask))
                return;
            continue;
        }
        if (mask)
            do_plain(r, in, mask);
        r->pc++;
    }
}

bool wfe_run_warp(emu_run *r, emu_warp *w, uint32_t steps)
{
    bool moved = false, fair = false;
    uint32_t stop;
    r->w = w;
    while (!r->fault && steps && choose_group(r, fair, &stop)) {
        uint32_t before = steps;
        run_group(r, stop, &steps);
        moved = true;
        fair = before - steps >= PATIENCE && stop != UINT32_MAX;
        if (r->l->limit && r->steps > r->l->limit)
            wfe_report(r, EMU_FAULT_TIMEOUT, NULL, EMU_LANES,
                       "more than %llu instructions of warps: it probably does not end",
                       (unsigned long long)r->l->limit);
    }
    return moved;
}
