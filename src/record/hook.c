/* hook.c - counts the hooks of a recording that run. A hook records into the recording of its caller, which goes on
 * afterwards. So a hook may neither end nor evaluate the recording, and calls of hooks within hooks have a greatest depth.
 */
#include "record/record.h"

bool wf__hook_begin(wf_graph *g, const char *function, const char *here)
{
    if (g->hooks == WF__MOST_CALLS) {
        wf__poison(g, WF_ERR_UNSUPPORTED, "%s%s%s: calls are nested deeper than %d", function, here ? " at " : "",
                   here ? here : "", (int)WF__MOST_CALLS);
        return false;
    }
    ++g->hooks;
    return true;
}

void wf__hook_end(wf_graph *g) { --g->hooks; }

bool wf__may_end(wf_graph *g, const char *function)
{
    if (g->ended) {
        wf__error(g->ctx, WF_ERR_CONTRACT,
                  "%s: the recording has ended; wf_run, wf_compile and wf_drop end one, and wf_begin begins another",
                  function);
        return false;
    }
    if (!g->hooks)
        return true;
    wf__poison(g, WF_ERR_CONTRACT, "%s: a hook may not end or evaluate the recording that calls it", function);
    wf__graph_failure(g, wf__graph_ir(g));
    return false;
}
