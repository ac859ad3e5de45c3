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
        wf__text_loop_step(r, s->step, b->inner);
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
        wf__text_loop_step(r, r->text->stmt[loop->stmt].step, loop->inner);
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
    case WF__STMT_GLOBAL:
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

/* Declares the typed locals of earlier parts that this part uses again. */
static void declare_again(wf__recorder *r)
{
    for (uint32_t i = 0; i < r->name_n && !r->failed; i++) {
        wf__text_name *n = &r->name[i];
        if (!n->stored || n->dtype == WF_NONE || n->constant || !wf__text_has_name(r->text, r->first, r->end, n, false))
            continue;
        wf__tval value = wf__text_element(r, n->at, n->len, n->whole);
        if (!r->failed)
            n->value.v.h = wf_local(r->graph, (wf_dtype)n->dtype, value.v);
        n->stored = false;
        wf__text_check(r, n->at);
    }
}

bool wf__text_enter(wf__recorder *r)
{
    r->indexed = wf_graph_indexed(r->graph);
    r->space = (wf_shape){ .rank = 0 };
    r->spaced = wf_graph_space(r->graph, &r->space);
    r->convert.graph = r->graph;
    r->written = false;
    if (!wf__text_args_differ(r))
        return false;
    r->value = r->value ? r->value : wf__alloc0(r->text->n * sizeof *r->value);
    if (r->value)
        wf__text_array_shape(r);
    else
        wf__text_mistake(r, WF_ERR_MEMORY, 0, "out of memory");
    return !r->failed;
}

/* Gives the arrays of the recording their names in the text, for messages and dumps. */
static void name_arrays(const wf__recorder *r)
{
    for (size_t i = 0; i < r->args.n; i++)
        if (r->args.at[i].kind == WF_ARG_ARRAY && r->args.at[i].name && *r->args.at[i].name)
            wf_label_array(r->graph, r->args.at[i].as.array, r->args.at[i].name);
    for (uint32_t i = 0; i < r->name_n; i++)
        if (r->name[i].stored)
            wf__text_label(r, &r->name[i]);
    for (size_t w = 0; w < r->want_n && r->made; w++)
        wf_label_array(r->graph, r->made[w], r->want[w]);
}

static void record(wf__recorder *r)
{
    const wf__text *t = r->text;
    uint32_t end = wf__text_end(r);
    if (t->program && !wf_graph_indexed(r->graph) && !r->part_n)
        wf__text_mistake(
            r, WF_ERR_CONTRACT, t->program_at,
            "typed locals, blocks and writes by index need an index space: wf_begin(ctx, .shape = ...), or "
            "wf_text_begin");
    if (r->failed || !wf__text_enter(r))
        return;
    if (t->expression)
        wf__text_evaluate(r, &t->stmt[0]);
    if (r->indexed)
        declare_again(r);
    for (r->now = r->first; r->now < end && !t->expression && !r->failed;)
        r->now = record_statement(r);
    if (t->program && r->indexed && !r->failed)
        wf__text_store_locals(r, r->part_n < 2);
    name_arrays(r);
}

void wf__text_record(wf__recorder *r)
{
    wf__floats floats = wf__floats_begin(); /* for numbers that are computed here */
    record(r);
    wf__floats_end(floats);
}

void wf__text_end_part(wf__recorder *r)
{
    for (uint32_t i = 0; i < r->held_n; i++)
        wf_release(r->held[i]);
    for (uint32_t i = 0; i < r->ready_n; i++)
        wf_release(r->ready[i].array);
    r->held_n = r->ready_n = 0;
}

void wf__text_recorder_free(wf__recorder *r)
{
    wf__text_end_part(r);
    for (uint32_t i = 0; i < r->name_n; i++)
        wf_release(r->name[i].whole);
    for (uint32_t i = 0; i < r->source_n; i++)
        wf_release(r->source[i].array);
    wf__free(r->source);
    wf__free(r->value);
    wf__free(r->name);
    wf__free(r->held);
    wf__free(r->ready);
    wf__free(r->part);
}
