/* handle.c - where an operator runs. On the CPU a block is one thread with one point at a time, whatever vectors do: ids
 * are 0 and sizes 1, as numbers, so that code for other blocks folds away.
 */
#include "api/api.h"

static bool inside(wf_graph *g, int axis, const char *function)
{
    if (!g || wf__graph_ir(g)->status != WF_OK)
        return false;
    int rank = g->program.rec.space.rank;
    if (g->program.rec.kind != WF__SPACE)
        wf__poison(g, WF_ERR_ARG, "%s: only in a recording with an index space; say wf_begin(ctx, .shape = ...)",
                   function);
    else if (axis < -1 || axis >= rank)
        wf__poison(g, WF_ERR_ARG, "%s: axis %d is out of range for rank %d; -1 is the linear one", function, axis,
                   rank);
    return wf__graph_ir(g)->status == WF_OK;
}

static wf_val same_everywhere(wf_graph *g, int axis, double value, const char *function)
{
    return (wf_val){ { inside(g, axis, function) ? value : 0, NULL } };
}

bool wf_is_gpu(const wf_graph *g)
{
    (void)g;
    return false;
}

wf_val wf_thread_id(wf_graph *g, int axis) { return same_everywhere(g, axis, 0, "wf_thread_id"); }
wf_val wf_block_size(wf_graph *g, int axis) { return same_everywhere(g, axis, 1, "wf_block_size"); }

void wf_barrier(wf_graph *g)
{
    if (inside(g, -1, "wf_barrier") && wf__lanes_on(g))
        wf__poison(g, WF_ERR_CONTRACT,
                   "wf_barrier: inside a condition or loop, where not all threads of a block may come");
}
