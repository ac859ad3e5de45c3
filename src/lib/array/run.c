/* run.c - results and launches of library functions. The ranks of a distributed array fail together. */
#include "array_internal.h"
#include "weft/distributed.h"
#include <stdlib.h>

wf_status wfl_ranks_agree(wf_context *ctx, const char *function, const wf_array *of, wf_status status)
{
    wf_ranks_error e;
    const wf_status all = wf_ranks_agree(wf_array_ranks(of), status, status == WF_OK ? "" : wf_last_message(ctx), &e);
    if (all != WF_OK && status == WF_OK)
        wfl_array_fail(ctx, all, "%s%srank %d: %s", function ? function : "", function ? ": " : "", (int)e.rank,
                       e.text);
    return all;
}

bool wfl_ranks_done(const wf_array *of, const char *function, wf_status status)
{
    wf_ranks *ranks = wf_array_ranks(of);
    if (status == WF_ERR_MEMORY)
        wf_ranks_abort(ranks, EXIT_FAILURE, wf_ranks_message(ranks));
    if (status != WF_OK)
        wfl_array_fail(wf_array_context(of), status, "%s: %s", function, wf_ranks_message(ranks));
    return status == WF_OK;
}

wf_array *wfl_result_beside(const wf_array *x, wf_dtype dtype, const wf_shape *shape)
{
    const wf_dist *old = wf_array_dist(x);
    if (!old)
        return wf_empty_like(x, dtype, *shape);
    if (old->shape.rank != shape->rank)
        return wf_empty_beside(wf_array_context(x), dtype, *shape, .operand = &x, .operands = 1);
    const wf_dist dist = wf_dist_resize(old, shape);
    return wf_empty_distributed(wf_array_context(x), dtype, wf_array_ranks(x), &dist);
}

wf_status wfl_run_into(wf_graph *graph, const wf_array *out)
{
    if (wf_array_ranks(out) && (!graph || wf_graph_status(graph) == WF_ERR_MEMORY))
        wf_ranks_abort(wf_array_ranks(out), EXIT_FAILURE, "out of memory for a recording");
    const wf_status status = wf_run(graph);
    return wf_array_ranks(out) ? wfl_ranks_agree(wf_array_context(out), NULL, out, status) : status;
}

wf_array *wfl_agreed(const wf_array *x, const char *function, wf_array *out)
{
    wf_context *ctx = wf_array_context(x);
    if (!wf_array_ranks(x) || wfl_ranks_agree(ctx, function, x, out ? WF_OK : wfl_array_error(ctx)) == WF_OK)
        return out;
    wf_release(out);
    return NULL;
}

wf_array *wfl_array_run(wf_graph *graph, wf_array *out)
{
    if (wfl_run_into(graph, out) == WF_OK)
        return out;
    wf_release(out);
    return NULL;
}

wf_array *wfl_kept(wf_graph *graph, const wf_array *of, wf_val value)
{
    wf_array *out = wf_keep(value);
    if (wfl_run_into(graph, of) == WF_OK)
        return out;
    wf_release(out);
    return NULL;
}
