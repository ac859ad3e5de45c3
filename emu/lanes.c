/* lanes.c - the lanes of a warp: their places in the code, registers, and which of them wait. */
#include "emu/run.h"

bool wfe_warp_rows(emu_run *r, emu_warp *w, uint32_t rows)
{
    if (rows <= w->cap_rows)
        return true;
    uint32_t cap = rows < 2 * w->cap_rows ? 2 * w->cap_rows : rows;
    uint64_t *regs = wf__realloc(w->regs, (size_t)cap * EMU_LANES * sizeof *regs);
    if (regs)
        w->regs = regs;
    uint32_t *defined = wf__realloc(w->defined, cap * sizeof *defined);
    if (defined)
        w->defined = defined;
    if (!regs || !defined) {
        wfe_report(r, EMU_FAULT_MEMORY, NULL, EMU_LANES, "the host ran out of memory");
        return false;
    }
    memset(regs + (size_t)w->cap_rows * EMU_LANES, 0, (size_t)(cap - w->cap_rows) * EMU_LANES * sizeof *regs);
    memset(defined + w->cap_rows, 0, (cap - w->cap_rows) * sizeof *defined);
    w->cap_rows = cap;
    return true;
}

static void report_undefined(emu_run *r, const emu_inst *in, uint32_t lanes, unsigned operand)
{
    wfe_report(r, EMU_FAULT_FINDING, in, (uint32_t)__builtin_ctz(lanes),
               "operand %u of the sources is a register that was never written", operand + 1);
}

void wfe_check_sources(emu_run *r, const emu_inst *in, uint32_t mask)
{
    const uint32_t *s = r->ops + in->ops + in->nd;
    for (unsigned i = 0; i < in->ns; i++) {
        uint32_t missing = s[i] < EMU_ROW_CONST ? mask & ~r->w->defined[r->base + s[i]] : 0;
        if (missing) {
            report_undefined(r, in, missing, i);
            return;
        }
    }
}

void wfe_mark_defined(emu_run *r, const emu_inst *in, uint32_t mask)
{
    for (unsigned i = 0; i < in->nd; i++)
        if (r->ops[in->ops + i] != EMU_ROW_NONE)
            r->w->defined[r->base + r->ops[in->ops + i]] |= mask;
}

void wfe_update_rows(emu_run *r)
{
    r->f = r->m->funcs[r->func];
    r->code = r->f->code;
    r->ops = r->f->ops;
    r->rows[0] = r->w->regs + (size_t)r->base * EMU_LANES;
    r->rows[1] = r->m->consts;
    r->rows[2] = r->w->special;
}

bool wfe_same_place(const emu_warp *w, uint32_t a, uint32_t b)
{
    return w->pc[a] == w->pc[b] && w->func[a] == w->func[b] && w->base[a] == w->base[b] && w->local[a] == w->local[b] &&
           w->depth[a] == w->depth[b];
}

void wfe_select_lane(emu_run *r, uint32_t lane)
{
    const emu_warp *w = r->w;
    r->pc = w->pc[lane];
    r->func = w->func[lane];
    r->base = w->base[lane];
    r->local = w->local[lane];
    r->depth = w->depth[lane];
    wfe_update_rows(r);
}

void wfe_block_lanes(emu_run *r, const emu_inst *in, uint32_t mask, unsigned state)
{
    (void)in;
    r->w->blocked |= mask;
    EMU_EACH(mask, lane)
    {
        r->w->state[lane] = (uint8_t)state;
        r->w->pc[lane] = r->pc;
    }
}

void wfe_release_lanes(emu_warp *w, uint32_t lanes)
{
    w->blocked &= ~lanes;
    EMU_EACH(lanes, lane)
    {
        w->state[lane] = EMU_READY;
        w->pc[lane]++;
    }
}
