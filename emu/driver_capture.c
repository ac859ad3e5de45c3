/* driver_capture.c - streams that are being captured into graphs: kernels that are launched there are kept, and run when
 * the graph is launched. Other work in such a stream, and streams that join a capture by events, are not supported.
 *
 * What must not be done meanwhile is refused, and ends the capture (section "Stream Management" of the driver API:
 * cuStreamBeginCapture, cuStreamIsCapturing, cuThreadExchangeStreamCaptureMode): asking or waiting for the stream; using
 * the default stream while a blocking one is captured; waiting there for an event from outside; and, where the thread's
 * mode and the captures under way say so, calls that are potentially unsafe. The manual names but cudaMalloc among
 * these; here all are that allocate, free, load, unload, wait, or copy and fill at once.
 */
#include "emu/driver.h"

enum { GLOBAL, THREAD_LOCAL, RELAXED }; /* CU_STREAM_CAPTURE_MODE_... */
enum { NONE, ACTIVE, INVALIDATED };     /* CU_STREAM_CAPTURE_STATUS_... */

typedef struct node { /* a kernel */
    struct node *next;
    CUfunction f;
    emu_launch launch;
    uint8_t params[];
} node;
struct CUgraph_st {
    node *first, *last;
    unsigned refs; /* itself, and what was made from it */
};
struct CUgraphExec_st {
    CUgraph graph;
    CUcontext context;
};
struct emu_capture {
    CUgraph graph;
    const void *thread; /* that began it */
    int mode;
    bool invalid;
};
static _Thread_local int mode;
static _Thread_local char myself; /* its address tells threads apart */

static void release(CUgraph g)
{
    if (!g || --g->refs)
        return;
    for (node *n = g->first, *next; n; n = next) {
        next = n->next;
        wf__free(n);
    }
    wf__free(g);
}

/* ---- what is not allowed ---- */
static bool is_captured(const struct CUstream_st *s) { return s->capture != NULL; }

typedef bool chosen(const struct CUstream_st *s, CUcontext c);
static bool in_context(const struct CUstream_st *s, CUcontext c) { return s->context == c; }
static bool in_its_way(const struct CUstream_st *s, CUcontext c) { return s->context == c && !(s->flags & 1); }
static bool unsafe_for(const struct CUstream_st *s, CUcontext c)
{
    (void)c;
    const struct emu_capture *k = s->capture;
    return k->thread == &myself ? k->mode != RELAXED : mode == GLOBAL && k->mode == GLOBAL;
}

/* Ends those that are chosen, or only looks; was there one? */
static bool end_captures(chosen *is, CUcontext c, bool look)
{
    const emu_driver *d = &wfe_driver;
    bool any = false;
    for (uint32_t i = 0; i < d->n_handles; i++) {
        const struct CUstream_st *s = d->handles[i].kind == EMU_OBJ_STREAM ? d->handles[i].at : NULL;
        if (!s || !is_captured(s) || !is(s, c))
            continue;
        any = true;
        s->capture->invalid = s->capture->invalid || !look;
    }
    return any;
}

CUresult wfe_unsafe(CUresult status)
{
    bool refused = status == CUDA_SUCCESS && mode != RELAXED && end_captures(unsafe_for, NULL, false);
    return refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : status;
}

CUresult wfe_waits_for_all(CUcontext c)
{
    return end_captures(in_context, c, false) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult wfe_use_stream(CUcontext c, CUstream stream, CUresult otherwise)
{
    if (wfe_known(stream, EMU_OBJ_STREAM)) {
        if (!stream->capture)
            return CUDA_SUCCESS;
        bool was = stream->capture->invalid;
        stream->capture->invalid = true;
        return was ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : otherwise;
    }
    if (stream == CU_STREAM_PER_THREAD || !end_captures(in_its_way, c, false))
        return CUDA_SUCCESS;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

/* ---- captures ---- */
EMU_EXPORT CUresult cuThreadExchangeStreamCaptureMode(int *with)
{
    if (!with || *with < GLOBAL || *with > RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    int before = mode;
    mode = *with;
    *with = before;
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, int how)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status == CUDA_SUCCESS && (how < GLOBAL || how > RELAXED))
        status = CUDA_ERROR_INVALID_VALUE;
    if (status == CUDA_SUCCESS && !wfe_known(stream, EMU_OBJ_STREAM))
        status = wfe_stream_known(stream) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_ERROR_INVALID_HANDLE;
    if (status == CUDA_SUCCESS && stream->capture)
        status = CUDA_ERROR_ILLEGAL_STATE;
    if (status != CUDA_SUCCESS)
        return wfe_leave(status);
    struct emu_capture *k = wf__alloc0(sizeof *k);
    CUgraph g = wf__alloc0(sizeof *g);
    if (!k || !g) {
        wf__free(k);
        wf__free(g);
        return wfe_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    g->refs = 1;
    *k = (struct emu_capture){ g, &myself, how, false };
    stream->capture = k;
    return wfe_leave(CUDA_SUCCESS);
}

void wfe_capture_drop(CUstream stream)
{
    if (!stream->capture)
        return;
    release(stream->capture->graph);
    wf__free(stream->capture);
    stream->capture = NULL;
}

EMU_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    CUcontext c;
    CUresult status = wfe_enter(&c);
    if (status == CUDA_SUCCESS && (!graph || !wfe_known(stream, EMU_OBJ_STREAM)))
        status = graph ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    if (status == CUDA_SUCCESS && !stream->capture)
        status = CUDA_ERROR_ILLEGAL_STATE;
    if (status != CUDA_SUCCESS)
        return wfe_leave(status);
    const struct emu_capture *k = stream->capture;
    *graph = NULL;
    if (k->invalid)
        status = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (k->mode != RELAXED && k->thread != &myself)
        status = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    else if (!wfe_keep_handle(k->graph, EMU_OBJ_GRAPH))
        status = CUDA_ERROR_OUT_OF_MEMORY;
    if (status == CUDA_SUCCESS) {
        *graph = k->graph;
        k->graph->refs++;
    }
    wfe_capture_drop(stream);
    return wfe_leave(status);
}

EMU_EXPORT CUresult cuStreamIsCapturing(CUstream stream, int *status)
{
    CUcontext c;
    CUresult result = wfe_enter(&c);
    bool own = wfe_known(stream, EMU_OBJ_STREAM);
    if (!status || !wfe_stream_known(stream))
        return wfe_leave(status ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
    *status = !own || !stream->capture ? NONE : stream->capture->invalid ? INVALIDATED : ACTIVE;
    if (!own && stream != CU_STREAM_PER_THREAD && end_captures(in_its_way, c, true))
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT; /* which ends nothing */
    return wfe_leave(result);
}

CUresult wfe_capture_kernel(CUstream stream, CUfunction f, const emu_launch *l, const uint8_t *params)
{
    CUgraph g = stream->capture->graph;
    if (stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    node *n = wf__alloc(sizeof *n + f->func->param_bytes);
    if (!n)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *n = (node){ .f = f, .launch = *l };
    memcpy(n->params, params, f->func->param_bytes);
    if (g->last)
        g->last->next = n;
    else
        g->first = n;
    g->last = n;
    return CUDA_SUCCESS;
}

/* ---- graphs ---- */
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
    for (const node *n = status == CUDA_SUCCESS ? exec->graph->first : NULL; n && status == CUDA_SUCCESS; n = n->next) {
        emu_launch l = n->launch;
        status = wfe_known(n->f, EMU_OBJ_FUNCTION) ? wfe_run_kernel(c, n->f, &l, stream, n->params)
                                                   : CUDA_ERROR_INVALID_HANDLE;
    }
    return wfe_leave(status);
}

void wfe_graph_drop(void *at, emu_object kind)
{
    release(kind == EMU_OBJ_GRAPH ? at : ((CUgraphExec)at)->graph);
    if (kind == EMU_OBJ_EXEC)
        wf__free(at);
}

static CUresult destroy(void *at, emu_object kind)
{
    wf__mutex_lock(&wfe_driver.lock);
    if (!wfe_known(at, kind))
        return wfe_leave(CUDA_ERROR_INVALID_VALUE);
    wfe_forget_handle(at);
    wfe_graph_drop(at, kind);
    return wfe_leave(CUDA_SUCCESS);
}
EMU_EXPORT CUresult cuGraphDestroy(CUgraph graph) { return destroy(graph, EMU_OBJ_GRAPH); }
EMU_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) { return destroy(exec, EMU_OBJ_EXEC); }
