/* spans.c - which bytes of memory an operation uses, and which operations have used them before (order.c compares the
 * two). Bytes of the current operation are bits; earlier uses are spans, sorted ranges of bytes with the same uses. */
#include "emu/order.h"

void wfe_set_bits(uint64_t *bits, uint64_t at, uint64_t n)
{
    uint64_t end = at + n;
    for (; at < end && (at & 63 || end - at < 64); at++)
        bits[at >> 6] |= (uint64_t)1 << (at & 63);
    for (; end - at >= 64 && at < end; at += 64)
        bits[at >> 6] = ~(uint64_t)0;
    for (; at < end; at++)
        bits[at >> 6] |= (uint64_t)1 << (at & 63);
}

void wfe_touch(emu_touched *t, emu_memory *m, uint64_t at, uint64_t bytes, unsigned touch)
{
    if (!m->touched[touch])
        m->touched[touch] = wf__alloc0((size_t)(m->size + 63) / 64 * 8);
    if (!m->touched[touch] || (!m->is_touched && !wf__grow(&t->list, &t->cap, t->n + 1, sizeof *t->list))) {
        t->failed = true;
        return;
    }
    if (!m->is_touched) {
        t->list[t->n++] = m;
        m->touched_from = at;
        m->touched_to = at + bytes;
        m->is_touched = true;
    }
    m->touched_from = at < m->touched_from ? at : m->touched_from;
    m->touched_to = at + bytes > m->touched_to ? at + bytes : m->touched_to;
    wfe_set_bits(m->touched[touch], at, bytes);
}

uint64_t wfe_next_bit(const uint64_t *bits, uint64_t at, uint64_t end, bool clear)
{
    while (at < end) {
        uint64_t word = (clear ? ~bits[at >> 6] : bits[at >> 6]) >> (at & 63);
        if (word) {
            at += (uint64_t)__builtin_ctzll(word);
            return at < end ? at : end;
        }
        at = (at | 63) + 1;
    }
    return end;
}

void wfe_clear_touched(emu_op *op)
{
    for (uint32_t k = 0; k < op->touched.n; k++) {
        emu_memory *m = op->touched.list[k];
        uint64_t first = m->touched_from >> 6, last = (m->touched_to + 63) >> 6;
        for (int i = 0; i < EMU_TOUCHES; i++)
            if (m->touched[i])
                memset(m->touched[i] + first, 0, (size_t)(last - first) * 8);
        m->is_touched = false;
    }
    op->touched.n = 0;
}

void wfe_release_op(emu_op *op)
{
    if (--op->kept == 0)
        wf__free(op);
}

void wfe_release_spans(const emu_span *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < list[i].n; k++)
            wfe_release_op(list[i].use[k].op);
}

void wfe_forget_spans(emu_memory *m)
{
    wfe_release_spans(m->spans, m->n_spans);
    wf__free(m->spans);
    m->spans = NULL;
    m->n_spans = m->cap_spans = m->many_spans = 0;
}
