/* stream.h - streams, which are queues of launches, and events. */
#ifndef WF_STREAM_H
#define WF_STREAM_H
#include "weft/error.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- streams ------------------------------------------------------------------------------------------------
 * Without a stream a launch is done when the call returns; on a GPU it may be under way, in order with all that is
 * given to that GPU later (copies to the host, too), and what goes wrong in it is reported by one of the next calls. A
 * stream is a queue of launches that are done one after the other, on the processor by a thread of its own (which uses
 * the context's threads for large ones). What is given to wf_run, wf_launch and whatever uses them goes into the stream
 * that the call names, else into the thread's current one.
 *
 * - Mistakes are found, and everything is copied or retained, before the call returns: graphs, kernels and arrays may be
 *   freed right after it. Memory given to wf_wrap must live until its release function is called.
 * - Host access (wf_map, wf_download, wf_upload, wf_host_apply, files, functions of whole arrays that look at contents)
 *   and launches without a stream wait for all queued work that uses the same memory. Kept arrays are WF_STATE_LAZY
 *   until they have been computed, and may be used in later recordings at once.
 * - Work in different streams is done in any order, several at once: where they use the same memory, one must wait for
 *   an event of the other (wf_stream_wait), else what arrays hold is unspecified. Nothing worse happens.
 * - A stream of a GPU has a thread, too, but what it has given to the GPU counts as done: the host and launches without a
 *   stream come after it on the GPU. Events are reached when the GPU has done what was before them.
 * - Work that fails (memory; what debug mode finds) takes what is queued behind it on its stream along, up to the
 *   report: the next call with the stream, or wf_sync, by whichever thread, fails with its status and message, which
 *   names the recording. That call's own work is not queued. Kept arrays are then never computed, what should have been
 *   written may be half-written, which its next host access reports, once. The stream goes on.
 * - Functions of the caller that a stream's thread calls (release functions, log) must not wait for that stream.
 * - The child of a fork has no streams: it frees them, and waits for nothing. */
/* A new stream of a device (0: the context's default). NULL: no such device, no memory, no thread. From any thread,
 * also several at once with one stream. */
WF_API wf_stream *wf_stream_new(wf_context *ctx, wf_device device);
/* A CUDA stream of the program's own (CUstream, cudaStream_t; NULL: the default stream) on a GPU (0: the context's
 * default) as a stream; it must live until wf_stream_free, which does not destroy it. Of the device's primary
 * context, which the CUDA runtime uses. While it is captured into a CUDA graph, whatever is to go there is
 * WF_ERR_UNSUPPORTED, and the capture goes on. Launches are given to it by the calling thread
 * before the call returns, so they come after what the program has put there before, and before what it puts there
 * later; those that need results of reductions on the host wait for them. What uses an array waits, on the GPU, for the
 * stream of Weft's or the program's where it was used last (an event, some microseconds), and so do copies of
 * it; launches without a stream come after all streams, and they after these: so these need no events of the program's. Its own work
 * does, and so do arrays that wrap the same memory: wf_event_record is an event of the driver's, for which
 * wf_stream_wait makes another stream of a GPU wait. A failure is reported by a later call, as without a stream.
 * wf_stream_sync waits for the program's work in it, too. NULL: no such device, or a stream of another context.
 *     wf_stream *s = wf_stream_wrap(ctx, WF_GPU(0), cuda_stream); */
WF_API wf_stream *wf_stream_wrap(wf_context *ctx, wf_device device, void *cuda_stream);
WF_API void wf_stream_free(wf_stream *stream);      /* waits; NULL: no-op. It is nobody's current stream any more */
WF_API wf_status wf_stream_sync(wf_stream *stream); /* waits for what was queued before; reports what failed */
/* Waits for all streams and GPUs of the context; reports the first that failed, and forgets the failures of others. */
WF_API wf_status wf_sync(wf_context *ctx);
/* The calling thread's current stream of a device (0: the context's default), where recordings for that device go
 * that name no stream. NULL, as at first: none. Each thread has its own; a stream must not be freed while another
 * thread uses it. */
WF_API wf_status wf_set_stream(wf_context *ctx, wf_device device, wf_stream *stream);
WF_API wf_stream *wf_get_stream(wf_context *ctx, wf_device device); /* borrowed */
/* A new event: the stream reaches it when everything queued before is done (or dropped). NULL: an error, perhaps one of
 * earlier work. Independent of the stream's life. */
WF_API wf_event *wf_event_record(wf_stream *stream);
/* What is queued later waits for the event, which may be one of another stream of the context. Does not block. */
WF_API wf_status wf_stream_wait(wf_stream *stream, const wf_event *event);
WF_API wf_status wf_event_sync(const wf_event *event); /* blocks the caller until it is reached */
/* *seconds from a to b, by the device's clock; blocks until both are reached. Two of streams of one GPU, or none. */
WF_API wf_status wf_event_elapsed(const wf_event *a, const wf_event *b, double *seconds);
WF_API void wf_event_free(wf_event *event); /* at any time; NULL: no-op */

#ifdef __cplusplus
}
#endif
#endif
