/* mistake.c - makes a mistake of an operator text the error of its recording, with the place in the text. */
#include "text/record.h"

wf__tval wf__text_poison(const wf__recorder *r)
{
    wf__tval a = { .real = false };
    a.v.h.graph = r->graph;
    return a;
}

wf__tval wf__text_mistake(wf__recorder *r, wf_status status, uint32_t at, const char *format, ...)
{
    wf__str s = { 0 };
    va_list args;
    va_start(args, format);
    wf__str_addv(&s, format, args);
    va_end(args);
    wf__text_caret(r->text, at, &s);
    wf_fail(r->graph, s.failed ? WF_ERR_MEMORY : status, s.failed ? "out of memory" : wf__str_get(&s));
    wf__str_free(&s);
    r->failed = true;
    return wf__text_poison(r);
}

void wf__text_check(wf__recorder *r, uint32_t at)
{
    if (r->failed || wf_graph_status(r->graph) == WF_OK)
        return;
    wf__str s = { 0 };
    wf__text_caret(r->text, at, &s);
    wf_append_error_place(r->graph, wf__str_get(&s));
    wf__str_free(&s);
    r->failed = true;
}
