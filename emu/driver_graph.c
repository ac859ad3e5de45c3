/* driver_graph.c - graphs: made by captures (driver_capture.c), made executable, launched. A launch runs the kernels in
 * the order in which they were captured. */
#include "emu/driver.h"

EMU_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status == CUDA_SUCCESS && (!out || flags || !wfe_known(graph, EMU_OBJ_GRAPH)))
        status = CUDA_ERROR_INVALID_VALUE;
    CUgraphExec made = status == CUDA_SUCCESS ? wfe_new_handle(sizeof *made, EMU_OBJ_EXEC) : NULL;
    if (!made)
        return wfe_leave(status == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : status);
    *made = (struct CUgraphExec_st){ graph, c };
    graph->refs++;
    *out = made;
    return wfe_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status == CUDA_SUCCESS && (!wfe_known(exec, EMU_OBJ_EXEC) || !wfe_stream_known(stream)))
        status = CUDA_ERROR_INVALID_HANDLE;
    if (status == CUDA_SUCCESS)
        status = wfe_use_stream(c, stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    for (const emu_node *n = status == CUDA_SUCCESS ? exec->graph->first : NULL; n && status == CUDA_SUCCESS;
         n = n->next) {
        emu_launch l = n->launch;
        status = wfe_known(n->f, EMU_OBJ_FUNCTION) ? wfe_run_kernel(c, n->f, &l, stream, n->params)
                                                   : CUDA_ERROR_INVALID_HANDLE;
    }
    return wfe_leave(status);
}

void wfe_graph_drop(void *at, emu_object kind)
{
    wfe_release_graph(kind == EMU_OBJ_GRAPH ? at : ((CUgraphExec)at)->graph);
    if (kind == EMU_OBJ_EXEC)
        wf__free(at);
}

static CUresult destroy_graph(void *at, emu_object kind)
{
    wf__mutex_lock(&wfe_driver.lock);
    if (!wfe_known(at, kind))
        return wfe_leave(CUDA_ERROR_INVALID_VALUE);
    wfe_forget_handle(at);
    wfe_graph_drop(at, kind);
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuGraphDestroy(CUgraph graph) { return destroy_graph(graph, EMU_OBJ_GRAPH); }
EMU_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) { return destroy_graph(exec, EMU_OBJ_EXEC); }
