/* driver_capture.c - the capture of a stream into a graph. Kernels launched in the stream become nodes of the graph and
 * run when the graph is launched. Other work in the stream is not supported, nor are streams that join by events.
 *
 * Forbidden calls are refused and invalidate the capture (section "Stream Management" of the driver API:
 * cuStreamBeginCapture, cuStreamIsCapturing, cuThreadExchangeStreamCaptureMode). These are: queries of the stream and
 * waits for it; work in the default stream while a blocking stream is captured; waits of the stream for events from
 * outside; and potentially unsafe calls, where the modes of the thread and of the captures forbid them. The manual
 * names only cudaMalloc as potentially unsafe. Here all calls are that allocate, free, load, unload or wait, and all
 * synchronous copies and fills.
 */
#include "emu/driver.h"

enum { GLOBAL, THREAD_LOCAL, RELAXED }; /* CU_STREAM_CAPTURE_MODE_... */
enum { NONE, ACTIVE, INVALIDATED };     /* CU_STREAM_CAPTURE_STATUS_... */

struct emu_capture {
    CUgraph graph;
    const void *thread; /* thread that began the capture: the address of its `myself` */
    int mode;
    bool invalid;
};
static _Thread_local int mode;
static _Thread_local char myself; /* its address tells threads apart */

void wfe_release_graph(CUgraph g)
{
    if (!g || --g->refs)
        return;
    for (emu_node *n = g->first, *next; n; n = next) {
        next = n->next;
        wf__free(n);
    }
    wf__free(g);
}

/* ---- forbidden calls ---- */
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

/* Invalidates the chosen captures, or with `look` only finds them. True if there is one. */
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
    wfe_release_graph(stream->capture->graph);
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
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT; /* this query invalidates nothing */
    return wfe_leave(result);
}

CUresult wfe_capture_kernel(CUstream stream, CUfunction f, const emu_launch *l, const uint8_t *params)
{
    CUgraph g = stream->capture->graph;
    if (stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    emu_node *n = wf__alloc(sizeof *n + f->func->param_bytes);
    if (!n)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *n = (emu_node){ .f = f, .launch = *l };
    memcpy(n->params, params, f->func->param_bytes);
    if (g->last)
        g->last->next = n;
    else
        g->first = n;
    g->last = n;
    return CUDA_SUCCESS;
}
