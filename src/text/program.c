/* program.c - walks the statements of operator text: assignments (assign.c), loops (loop.c), and here conditions and
 * the ends of blocks.
 */
#include "text/record.h"
#include "base/floats.h"

/* ---- blocks ---- */

static void forget_names(wf__recorder *r, uint32_t names)
{
    if (!r->failed)
        r->name_n = r->visible = names;
}

static void open_if(wf__recorder *r, const wf__stmt *s)
{
    wf__text_evaluate(r, s);
    if (r->failed || !wf__text_open(r))
        return;
    wf_if_(r->graph, WF__TEXT_HERE, r->value[s->value].v);
    wf__text_check(r, s->at);
}

static void close_block(wf__recorder *r)
{
    const wf__text_block *b = &r->block[r->level - 1];
    const wf__stmt *s = &r->text->stmt[b->stmt];
    if (b->stepped)
        wf__text_step(r, s->step, b->inner);
    if (r->failed)
        return;
    if (s->kind != WF__STMT_SCOPE)
        wf_end_(r->graph, WF__TEXT_HERE);
    wf__text_check(r, s->at);
    forget_names(r, b->outer);
    r->level--;
}

static void record_continue(wf__recorder *r, const wf__stmt *s)
{
    uint32_t k = r->level;
    while (k > 0 && r->text->stmt[r->block[k - 1].stmt].kind != WF__STMT_FOR &&
           r->text->stmt[r->block[k - 1].stmt].kind != WF__STMT_WHILE)
        k--;
    const wf__text_block *loop = &r->block[k ? k - 1 : 0];
    if (loop->stepped)
        wf__text_step(r, r->text->stmt[loop->stmt].step, loop->inner);
    if (!r->failed)
        wf_continue(r->graph);
    wf__text_check(r, s->at);
}

/* Records statement r->now and returns the number of the next one. */
static uint32_t record_statement(wf__recorder *r)
{
    const wf__stmt *s = &r->text->stmt[r->now];
    switch ((wf__stmt_kind)s->kind) {
    case WF__STMT_ASSIGN:
    case WF__STMT_LOCAL:
    case WF__STMT_WRITE:
        wf__text_assign(r, s);
        break;
    case WF__STMT_SCOPE:
        wf__text_open(r);
        break;
    case WF__STMT_IF:
        open_if(r, s);
        break;
    case WF__STMT_ELSE:
        forget_names(r, r->block[r->level - 1].outer);
        wf_else_(r->graph, WF__TEXT_HERE);
        wf__text_check(r, s->at);
        break;
    case WF__STMT_WHILE:
        wf__text_while(r, s);
        break;
    case WF__STMT_FOR:
        return wf__text_for(r, s);
    case WF__STMT_END:
        close_block(r);
        break;
    case WF__STMT_BREAK:
        wf_break(r->graph);
        wf__text_check(r, s->at);
        break;
    case WF__STMT_CONTINUE:
        record_continue(r, s);
        break;
    }
    return r->now + 1;
}

static void record(wf__recorder *r)
{
    const wf__text *t = r->text;
    r->indexed = wf_graph_indexed(r->graph);
    r->spaced = wf_graph_space(r->graph, &r->space);
    r->convert.graph = r->graph;
    if (t->program && !r->indexed) {
        wf__text_mistake(
            r, WF_ERR_CONTRACT, t->program_at,
            "typed locals, blocks and writes by index need an index space: wf_begin(ctx, .shape = ...), or "
            "wf_text_begin");
        return;
    }
    if (!wf__text_args_differ(r))
        return;
    r->value = wf__alloc0(t->n * sizeof *r->value);
    if (!r->value) {
        wf__text_mistake(r, WF_ERR_MEMORY, 0, "out of memory");
        return;
    }
    wf__text_array_shape(r);
    if (t->expression)
        wf__text_evaluate(r, &t->stmt[0]);
    for (r->now = 0; r->now < t->stmt_n && !t->expression && !r->failed;)
        r->now = record_statement(r);
    if (t->program && !r->failed)
        wf__text_store_locals(r);
}

void wf__text_record(wf__recorder *r)
{
    wf__floats floats = wf__floats_begin(); /* for numbers that are computed here */
    record(r);
    wf__floats_end(floats);
}

void wf__text_recorder_free(wf__recorder *r)
{
    wf__free(r->value);
    wf__free(r->name);
}
