/* stream.h - streams, which are queues of launches, and events.
 * Reference: docs/reference/stream.md */
#ifndef WF_STREAM_H
#define WF_STREAM_H
#include "weft/error.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- streams ----------------------------------------------------------------------------------------------------
 * A stream is a queue of launches that are done one after the other. Without one a launch is done on return.
 * The call names a stream, else the thread's current one is used. Streams that share memory need wf_stream_wait.
 * Owns: graphs, kernels and arrays may be freed at once; memory of wf_wrap lives until its release function.
 * Errors: mistakes fail the call. Failed work drops the work behind it; the next call with the stream reports it.
 * Waits: host access, and launches without a stream, wait for queued work on the same memory. */
/* A new stream of a device (0 = the context's default).
 * Owns: the caller frees it.
 * Errors: NULL: no such device, no memory, no thread.
 * Threads: from any thread, also several at once with one stream. */
WF_API wf_stream *wf_stream_new(wf_context *ctx, wf_device device);
/* Uses a CUDA stream of the program (NULL: the default stream) on a GPU as a stream.
 * Owns: the CUDA stream must live until wf_stream_free, which does not destroy it.
 * Errors: NULL: no such device, or another CUDA context. While captured: WF_ERR_UNSUPPORTED.
 * Waits: launches come after the program's earlier work in it; arrays of Weft need no wf_stream_wait.
 * Example: wf_stream *s = wf_stream_wrap(ctx, WF_GPU(0), cuda_stream); */
WF_API wf_stream *wf_stream_wrap(wf_context *ctx, wf_device device, void *cuda_stream);
/* Waits and frees the stream, which is no thread's current one any more; NULL is a no-op.
 * Errors: a failure that no call has reported goes to the context's log. */
WF_API void wf_stream_free(wf_stream *stream);
/* Waits for work that was queued before; reports a failure. WF_ERR_ARG for NULL. */
WF_API wf_status wf_stream_sync(wf_stream *stream);
/* Waits for all streams and GPUs of the context; reports the first failure and forgets others. */
WF_API wf_status wf_sync(wf_context *ctx);
/* Sets the calling thread's current stream of a device (0 = the context's default); NULL, as at first: none.
 * Errors: WF_ERR_DEVICE: a stream of another device or context.
 * Threads: each thread has its own; a stream must not be freed while another thread uses it. */
WF_API wf_status wf_set_stream(wf_context *ctx, wf_device device, wf_stream *stream);
/* The calling thread's current stream of a device, borrowed; NULL: none. */
WF_API wf_stream *wf_get_stream(wf_context *ctx, wf_device device);
/* A new event: the stream reaches it when all work queued before is done or dropped.
 * Owns: the caller frees it; it is independent of the stream's life.
 * Errors: NULL: an error, perhaps one of earlier work. */
WF_API wf_event *wf_event_record(wf_stream *stream);
/* Makes later work of the stream wait for an event of any stream of the context.
 * Waits: does not block, except with a stream of wf_stream_wrap, until the event's stream has reached the event. */
WF_API wf_status wf_stream_wait(wf_stream *stream, const wf_event *event);
/* Blocks the caller until the event is reached, also if work before it failed, which its stream reports. */
WF_API wf_status wf_event_sync(const wf_event *event);
/* Sets *seconds to the time from a to b, by the device's clock.
 * Errors: WF_ERR_ARG unless both are of streams of one GPU, or both of none.
 * Waits: blocks until both are reached. */
WF_API wf_status wf_event_elapsed(const wf_event *a, const wf_event *b, double *seconds);
/* Frees an event, at any time; NULL is a no-op. */
WF_API void wf_event_free(wf_event *event);

#ifdef __cplusplus
}
#endif
#endif
