/* debug_lockstep.c - the chunks of a box that take every turn together. */
#include "run/interp/debug_lockstep.h"
#include "ir/pass/pass.h"
#include "run/debug/watch.h"

#define MOST_BYTES ((size_t)4 << 30) /* of values */

static size_t bytes_of(const wf__ir *ir) { return (size_t)ir->n * WF__ROW; } /* a chunk's */

/* ---- what is done together ---- */
/* Is node r inside of this loop? */
static bool is_in(const wf__ir *ir, wf__ref loop, wf__ref r)
{
    return ir->node[loop].op == WF__LOOP && loop < r && r < wf__loop_end(ir, loop);
}

/* The outermost block around node r, or r itself. */
static wf__ref outermost(const wf__ir *ir, wf__ref r)
{
    for (wf__ref l = 1; l < r; ++l)
        if (is_in(ir, l, r))
            return l;
    return r;
}

/* May the store be done more than once? In a loop, or in one that was written out. */
static bool has_turns(const wf__ir *ir, wf__ref r)
{
    bool turns = false;
    for (wf__ref q = 1; q < ir->n; ++q) {
        bool again = ir->node[q].op == WF__STORE && ir->node[q].a == ir->node[r].a && q != r;
        turns = turns || again || (q < r && is_in(ir, q, r) && !ir->node[q].aux);
    }
    return turns;
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
void wf__together_begin(wf__together *t, wf__chunk *f)
{
    *t = (wf__together){ .ir = f->ir, .watch = f->call->watch, .collects = true };
    t->from = first_use_of_accumulators(t->ir);
    f->together = t;
}

void wf__together_chunk(wf__together *t, const wf__chunk *f)
{
    if (t->collects) {
        bool fits = t->n < MOST_BYTES / bytes_of(t->ir);
        t->failed = t->failed || !fits || !wf__grow(&t->chunk, &t->cap, t->n + 1, sizeof *t->chunk);
        if (!t->failed)
            t->chunk[t->n++] = *f;
        return;
    }
    if (t->over)
        return;
    const wf__chunk *chunk = &t->chunk[t->next++];
    for (wf__ref r = 1; r < t->from; ++r) /* what they hold now */
        if (t->ir->node[r].op == WF__RED)
            wf__chunk_walk(chunk, 1, r, r + 1);
    t->over = !wf__chunk_walk(chunk, 1, t->from, t->ir->n);
}

bool wf__together_run(wf__together *t)
{
    const size_t each = bytes_of(t->ir);
    t->failed = t->failed || (t->n && !(t->values = wf__alloc0(t->n * each)));
    if (t->failed)
        wf__watch_no_memory(t->watch, MOST_BYTES);
    if (t->failed || !t->n)
        return false;
    for (uint32_t i = 0; i < t->n; ++i)
        t->chunk[i].value = t->values + i * each;
    t->over = !wf__chunk_walk(t->chunk, t->n, 1, t->from);
    t->collects = false;
    return !t->over && t->from < t->ir->n;
}

bool wf__together_look(wf__together *t, wf__ref r)
{
    const wf__node *n = &t->ir->node[r];
    if (!wf__watch_is_sight(t->watch, n) || (!t->collects && !has_turns(t->ir, r)))
        return true;
    return wf__watch_look(t->watch, n);
}

void wf__together_end(wf__together *t)
{
    for (wf__ref r = t->from; !t->collects && !t->over && r < t->ir->n; ++r)
        if (wf__watch_is_sight(t->watch, &t->ir->node[r]) && !has_turns(t->ir, r))
            t->over = !wf__watch_look(t->watch, &t->ir->node[r]);
    wf__free(t->values);
    wf__free(t->chunk);
}
