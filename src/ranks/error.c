/* error.c - messages of failed calls. */
#include "ranks/ranks.h"
#include <stdio.h>

wf_status wf__ranks_error_set(wf_ranks_error *error, wf_status status, const char *format, ...)
{
    if (!error)
        return status;
    va_list args;
    va_start(args, format);
    error->status = status;
    error->rank = -1;
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return status;
}

wf_status wf__ranks_fail(wf_ranks *ranks, const char *doing, wf_status status, const char *format, ...)
{
    wf_ranks_error *e = &ranks->error;
    va_list args;
    e->status = status;
    e->rank = ranks->rank;
    int n = snprintf(e->text, sizeof e->text, "%s on rank %d of %d: ", doing, ranks->rank, ranks->size);
    va_start(args, format);
    if (n > 0 && (size_t)n < sizeof e->text)
        vsnprintf(e->text + n, sizeof e->text - (size_t)n, format, args);
    va_end(args);
    return status;
}

wf_status wf__ranks_result(wf_ranks *ranks, const char *doing, wf_status status, const wf_ranks_error *error)
{
    if (!status)
        return WF_OK;
    wf__ranks_fail(ranks, doing, status, "%s", error->text);
    if (status == WF_ERR_BACKEND)
        wf__ranks_break(ranks);
    return status;
}

void wf__ranks_break(wf_ranks *ranks)
{
    if (!ranks->broken.status)
        ranks->broken = ranks->error;
}

void wf__ranks_describe(wf__str *out, const wf_request *request)
{
    if (request->sends)
        wf__str_addf(out, "rank %d, which is to receive %zu bytes", (int)request->peer, request->bytes);
    else
        wf__str_addf(out, "a message of %zu bytes from rank %d", request->bytes, (int)request->peer);
    if (request->tag <= WF_TAG_MAX)
        wf__str_addf(out, ", tag %d", (int)request->tag);
}
