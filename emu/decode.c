/* decode.c - decodes an instruction: finds the decoder of its opcode, and appends the result to the code. */
#include "emu/parse.h"

static bool append_instruction(emu_parser *p)
{
    emu_func *f = p->f;
    emu_inst *in = &p->inst;
    if (p->n_dst + p->n_src > 250)
        return wfe_fail(p, "too many operands");
    if (!wf__grow(&f->code, &f->cap_code, f->n_code + 1, sizeof *f->code) ||
        !wf__grow(&f->ops, &f->cap_ops, f->n_ops + p->n_dst + p->n_src, sizeof *f->ops))
        return wfe_out_of_memory(p);
    in->nd = (uint8_t)p->n_dst;
    in->ns = (uint8_t)p->n_src;
    in->ops = f->n_ops;
    for (uint32_t i = 0; i < p->n_dst; i++)
        f->ops[f->n_ops++] = p->dst[i];
    for (uint32_t i = 0; i < p->n_src; i++)
        f->ops[f->n_ops++] = p->src[i];
    f->code[f->n_code++] = *in;
    return true;
}

bool wfe_decode(emu_parser *p, uint32_t guard, bool negate)
{
    const emu_decoder *tables[] = { wfe_decode_alu, wfe_decode_memory, wfe_decode_control };
    for (size_t t = 0; t < WF__COUNT(tables); t++) {
        for (const emu_decoder *d = tables[t]; d->name; d++) {
            if (!wfe_is(p->opcode, d->name))
                continue;
            if (!d->decode(p) || p->failed)
                return p->failed ? false : wfe_bad_modifier(p);
            if (p->mod < p->n_mods)
                return wfe_bad_modifier(p);
            p->inst.guard = guard;
            p->inst.negate = negate;
            return append_instruction(p);
        }
    }
    return wfe_fail(p, "the emulator does not know the instruction '%.*s'", (int)p->opcode.n, p->opcode.at);
}
