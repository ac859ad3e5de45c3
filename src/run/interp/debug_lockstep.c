/* debug_lockstep.c - see debug_lockstep.h. */
#include "run/interp/debug_lockstep.h"

#define MOST_BYTES ((size_t)4 << 30) /* most bytes of values */

static size_t bytes_of_chunk(const wf__lockstep *t) { return (size_t)t->ir->n * WF__ROW + t->local_bytes; }

/* ---- the two walks ---- */
/* Returns the outermost loop or condition around node r, or r itself. */
static wf__ref outermost(const wf__ir *ir, wf__ref r)
{
    for (wf__ref l = 1; l < r; ++l)
        if (ir->node[l].op == WF__LOOP && r < wf__loop_end(ir, l))
            return l;
    return r;
}

static wf__ref first_use_of_accumulators(const wf__ir *ir)
{
    for (wf__ref r = 1; r < ir->n; ++r) {
        wf__ref operand[WF__MAX_OPERANDS];
        uint32_t n = wf__operands(ir, &ir->node[r], operand);
        bool uses = ir->node[r].op == WF__SETRED;
        for (uint32_t i = 0; i < n; ++i)
            uses = uses || ir->node[operand[i]].op == WF__RED;
        if (uses)
            return outermost(ir, r);
    }
    return ir->n;
}

/* ---- a box ---- */
void wf__lockstep_begin(wf__lockstep *t, wf__chunk *f)
{
    *t =
        (wf__lockstep){ .ir = f->ir, .local_bytes = f->interp->local_bytes, .watch = f->call->watch, .collects = true };
    t->from = first_use_of_accumulators(t->ir);
    f->lockstep = t;
    f->shows = WF__SHOWS_ALL;
}

void wf__lockstep_chunk(wf__lockstep *t, const wf__chunk *f)
{
    if (t->collects) {
        bool fits = t->n < MOST_BYTES / bytes_of_chunk(t);
        t->failed = t->failed || !fits || !wf__grow(&t->chunk, &t->cap, t->n + 1, sizeof *t->chunk);
        if (!t->failed)
            t->chunk[t->n++] = *f;
        return;
    }
    if (t->over)
        return;
    const wf__chunk *chunk = &t->chunk[t->next++];
    for (wf__ref r = 1; r < t->from; ++r) /* current values of the accumulators */
        if (t->ir->node[r].op == WF__RED)
            wf__chunk_walk(chunk, 1, r, r + 1);
    t->over = !wf__chunk_walk(chunk, 1, t->from, t->ir->n);
}

bool wf__lockstep_run(wf__lockstep *t)
{
    const size_t each = bytes_of_chunk(t);
    t->failed = t->failed || (t->n && !(t->values = wf__alloc0(t->n * each)));
    if (t->failed)
        wf__watch_no_memory(t->watch, MOST_BYTES);
    if (t->failed || !t->n)
        return false;
    for (uint32_t i = 0; i < t->n; ++i)
        t->chunk[i].value = t->values + i * each;
    t->over = !wf__chunk_walk(t->chunk, t->n, 1, t->from);
    for (uint32_t i = 0; i < t->n; ++i)
        t->chunk[i].shows = WF__SHOWS_REPEATED;
    t->collects = false;
    return !t->over && t->from < t->ir->n;
}

void wf__lockstep_end(wf__lockstep *t)
{
    for (wf__ref r = t->from; !t->collects && !t->over && r < t->ir->n; ++r)
        t->over = !wf__watch_show(t->watch, r, WF__SHOWS_SINGLE);
    wf__free(t->values);
    wf__free(t->chunk);
}
