/* failure.c - failures of a recording: the first error of each section, and the choice of the one that the context
 * reports. */
#include "record/record.h"
#include <stdio.h>

void wf__poison(wf_graph *g, wf_status status, const char *format, ...)
{
    if (!g)
        return;
    wf__ir *ir = wf__graph_ir(g);
    char text[sizeof ir->error];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    wf__ir_fail(ir, status, "%s", text);
}

bool wf__is_list(wf_graph *g, const void *list, size_t n, const char *function)
{
    if (list || !n)
        return true;
    wf__poison(g, WF_ERR_ARG, "%s: a list of %llu entries is NULL", function, (unsigned long long)n);
    return false;
}

void wf_fail(wf_graph *g, wf_status status, const char *text)
{
    wf__poison(g, status == WF_OK ? WF_ERR_ARG : status, "%s",
               text && *text ? text : "wf_fail: the program gives no reason");
}

const wf__ir *wf__failed_section(const wf_graph *g)
{
    /* In the order of their recording. */
    static const wf_section_id order[] = { WF_SECTION_CALL, WF_SECTION_INIT, WF_SECTION_DEINIT, WF_SECTION_JOIN,
                                           WF_SECTION_POST };
    for (size_t i = 0; i < WF__COUNT(order); ++i)
        if (g->program.rec.section[order[i]].status != WF_OK)
            return &g->program.rec.section[order[i]];
    return NULL;
}

void wf_append_error_place(wf_graph *g, const char *place)
{
    const wf__ir *failed = g && place ? wf__failed_section(g) : NULL;
    if (!failed)
        return;
    wf__ir *ir = &g->program.rec.section[failed - g->program.rec.section];
    size_t n = strlen(ir->error);
    snprintf(ir->error + n, sizeof ir->error - n, "%s", place);
}

wf_status wf_graph_status(const wf_graph *g)
{
    const wf__ir *failed = g ? wf__failed_section(g) : NULL;
    return failed ? failed->status : g ? WF_OK : WF_ERR_ARG;
}

void wf__end_group(const wf__program *p, const char *text)
{
    for (uint32_t i = 0; i < p->object_n; ++i)
        if (p->object[i].array->distributed) {
            p->object[i].array->ctx->services->end_group(p->object[i].array, text);
            return;
        }
}

wf_status wf__cannot_begin(wf_context *ctx, const wf__program *p, const char *text)
{
    const wf_status status = wf__error(ctx, WF_ERR_MEMORY, "%s", text);
    wf__end_group(p, text);
    return status;
}

wf_status wf__graph_failure(wf_graph *g, const wf__ir *failed)
{
    wf_section_id section = WF_SECTION_CALL;
    while (section < WF_SECTION_DEINIT && &g->program.rec.section[section] != failed)
        ++section;
    if (failed->status == WF_ERR_MEMORY)
        wf__end_group(&g->program, failed->error);
    return wf__program_error(g->ctx, &g->program, failed->status, failed->error, section, &failed->about);
}
