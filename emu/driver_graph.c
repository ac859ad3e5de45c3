/* driver_graph.c - graphs: made by captures (driver_capture.c), made executable, launched. A launch runs the kernels in
 * the order in which they were captured. */
#include "emu/driver.h"

EMU_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    CUcontext c;
    CUresult status = wf__emu_enter(&c);
    if (status == CUDA_SUCCESS && (!out || flags || !wf__emu_known(graph, EMU_OBJ_GRAPH)))
        status = CUDA_ERROR_INVALID_VALUE;
    CUgraphExec made = status == CUDA_SUCCESS ? wf__emu_new_handle(sizeof *made, EMU_OBJ_EXEC) : NULL;
    if (!made)
        return wf__emu_leave(status == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : status);
    *made = (struct CUgraphExec_st){ graph, c };
    graph->refs++;
    *out = made;
    return wf__emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    CUcontext c;
    CUresult status = wf__emu_enter(&c);
    if (status == CUDA_SUCCESS && (!wf__emu_known(exec, EMU_OBJ_EXEC) || !wf__emu_stream_known(stream)))
        status = CUDA_ERROR_INVALID_HANDLE;
    if (status == CUDA_SUCCESS)
        status = wf__emu_use_stream(c, stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    for (const emu_node *n = status == CUDA_SUCCESS ? exec->graph->first : NULL; n && status == CUDA_SUCCESS;
         n = n->next) {
        emu_launch l = n->launch;
        status = wf__emu_known(n->f, EMU_OBJ_FUNCTION) ? wf__emu_run_kernel(c, n->f, &l, stream, n->params)
                                                       : CUDA_ERROR_INVALID_HANDLE;
    }
    return wf__emu_leave(status);
}

void wf__emu_graph_drop(void *at, emu_object kind)
{
    wf__emu_release_graph(kind == EMU_OBJ_GRAPH ? at : ((CUgraphExec)at)->graph);
    if (kind == EMU_OBJ_EXEC)
        wf__free(at);
}

static CUresult destroy_graph(void *at, emu_object kind)
{
    wf__mutex_lock(&wf__emu_driver.lock);
    if (!wf__emu_known(at, kind))
        return wf__emu_leave(CUDA_ERROR_INVALID_VALUE);
    wf__emu_forget_handle(at);
    wf__emu_graph_drop(at, kind);
    return wf__emu_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuGraphDestroy(CUgraph graph) { return destroy_graph(graph, EMU_OBJ_GRAPH); }
EMU_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) { return destroy_graph(exec, EMU_OBJ_EXEC); }
