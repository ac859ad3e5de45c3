/* block.h - blocks of points: code that runs once a block, a block's own memory, and its threads.
 * A block is: the points with the same kept indices of a reducing recording; else a box of .block; else all points.
 * Reference: docs/reference/block.md */
#ifndef WF_BLOCK_H
#define WF_BLOCK_H
#include "weft/reduce.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Memory of the block for WF_SECTION_INIT, WF_SECTION_CALL and WF_SECTION_DEINIT, accessed by index.
 * Undefined at the start, or 0 with `zeroed`. Points of a block share it and come in any order.
 * Owns: borrowed from the graph.
 * Errors: NULL: the graph is poisoned. The call fixes the device, as wf_is_gpu.
 * Cost: fast if it fits the shared memory of a GPU (48 KiB) or 1 MiB of a worker; see the reference. */
WF_API wf_array *wf_scratch(wf_graph *graph, wf_dtype dtype, wf_shape shape, bool zeroed);

/* True if the recording runs on a GPU: a C bool, to choose while recording. False for NULL.
 * This function, wf_thread_id and wf_block_size fix the device: later arrays must be in its memory. */
WF_API bool wf_is_gpu(wf_graph *graph);
/* The thread of the block along an axis; -1: the linear index. On the processor the number 0. */
WF_API wf_val wf_thread_id(wf_graph *graph, int axis);
/* The number of threads of the block along an axis; -1: in all. On the processor the number 1.
 * On a GPU at most 1024 (with .reduce 256, 1024 with a barrier); larger blocks have 256, which share the points. */
WF_API wf_val wf_block_size(wf_graph *graph, int axis);
/* The block along an axis of the space, i64; -1: the linear index. Axes without blocks have id 0. */
WF_API wf_val wf_block_id(wf_graph *graph, int axis);
/* The number of blocks along an axis of the space, i64; -1: in all. Axes without blocks have size 1. */
WF_API wf_val wf_grid_size(wf_graph *graph, int axis);
/* Lets all threads of the block reach this place before one goes on; their writes are visible after it.
 * There is a barrier between the sections.
 * Errors: WF_ERR_CONTRACT in a block of control flow; on a GPU in WF_SECTION_CALL WF_ERR_UNSUPPORTED
 * where threads have more than one point, or blocks one thread. */
WF_API void wf_barrier(wf_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
