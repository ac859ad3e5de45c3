/* report.c - the text of a fault: kernel, PTX line with its number, block, thread, and what went wrong. */
#include "emu/run.h"

void wfe_add_line(wf__str *out, const emu_module *m, uint32_t line)
{
    const char *s = m->text;
    for (uint32_t i = 1; i < line && *s; s++)
        i += *s == '\n';
    while (*s == ' ' || *s == '\t')
        s++;
    size_t n = strcspn(s, "\r\n");
    wf__str_addf(out, "line %u: %.*s", line, (int)(n > 200 ? 200 : n), s);
}

void wfe_add_thread(const emu_run *r, wf__str *out, const uint32_t block[3], uint32_t thread)
{
    const uint32_t *n = r->l->block;
    wf__str_addf(out, "block (%u,%u,%u) thread (%u,%u,%u)", block[0], block[1], block[2], thread % n[0],
                 thread / n[0] % n[1], thread / n[0] / n[1]);
}

void wfe_report(emu_run *r, emu_fault fault, const emu_inst *in, uint32_t lane, const char *format, ...)
{
    if (r->fault)
        return;
    r->fault = fault;
    wf__str *out = r->l->report;
    wf__str_addf(out, "kernel '%s'", r->l->func->name);
    if (r->f && r->f != r->l->func)
        wf__str_addf(out, " in '%s'", r->f->name);
    if (in) {
        wf__str_add(out, ", ");
        wfe_add_line(out, r->m, in->line);
    }
    if (r->b && r->w && lane < EMU_LANES) {
        wf__str_add(out, "\n  ");
        wfe_add_thread(r, out, r->b->coord, r->w->index * EMU_LANES + lane);
    } else if (r->b) {
        wf__str_addf(out, "\n  block (%u,%u,%u)", r->b->coord[0], r->b->coord[1], r->b->coord[2]);
    }
    wf__str_add(out, ": ");
    va_list args;
    va_start(args, format);
    wf__str_addv(out, format, args);
    va_end(args);
    wf__str_add(out, "\n");
}
