/* block.h - blocks of points: what runs once a block, a block's own memory, and its threads. */
#ifndef WF_BLOCK_H
#define WF_BLOCK_H
#include "weft/reduce.h"
#ifdef __cplusplus
extern "C" {
#endif

/* WF_SECTION_INIT and WF_SECTION_DEINIT, of index spaces and elements, run once a block, before and after all of its
 * points; wf_section may go back to WF_SECTION_CALL from them. A block is what the points of a reducing recording with
 * the same kept indices make up, else a box of .block (those at the ends of axes may be smaller), else all points
 * together. There wf_read, wf_write, wf_accumulate, control flow and the wf_index of kept axes are to be had.
 * wf_scratch: memory of the block, for all three sections, borrowed from the graph: read, written and accumulated into
 * by index like any array; undefined at the start, or 0. The points of a block share it and come in any order. On a GPU
 * it is in memory that the threads of a block share, if a block's fits there (48 KiB on every GPU, 227 on Hopper); on
 * the processor in a worker's, if boxes of .block can be done one after the other, and a block's has at most 256 KiB;
 * else all blocks have theirs at once. NULL poisons. */
WF_API wf_array *wf_scratch(wf_graph *graph, wf_dtype dtype, wf_shape shape, bool zeroed);

/* The handle: where the operator runs. On the CPU a block is one thread that does one point at a time (vector lanes
 * are not seen), so these are numbers, and code for other blocks folds away. axis -1: the linear index or size. On a
 * GPU a block (of .block, or the points with the same kept indices) is a block of threads, as many as it has points
 * if these are at most 1024 (with .reduce 256, 1024 with a barrier), and then along the same axes, fewer in the
 * blocks at the ends of axes. Larger blocks have 256 threads along the last axis that their points differ in, which
 * share the points. Sections that ask for a thread are run by all threads of a block, others by one. Where all
 * points are one block, there are reduced variables, or an array written in one section is used in another one,
 * blocks have one thread. Asking fixes the device: later arrays must be in its memory. */
WF_API bool wf_is_gpu(wf_graph *graph); /* a C bool, to take one of two paths while recording */
WF_API wf_val wf_thread_id(wf_graph *graph, int axis);
WF_API wf_val wf_block_size(wf_graph *graph, int axis);
/* Blocks, as WF_SECTION_INIT has them: which one, and how many there are along an axis of the space. i64. Axes along
 * which there are no blocks have size 1, id 0: reduced ones and, without .reduce and .block, all. */
WF_API wf_val wf_block_id(wf_graph *graph, int axis);
WF_API wf_val wf_grid_size(wf_graph *graph, int axis);
/* All threads of the block come before one goes on; what they have written is seen after it. WF_ERR_CONTRACT inside a
 * block of control flow. Between the sections there is one. On a GPU in WF_SECTION_CALL: WF_ERR_UNSUPPORTED where
 * threads have more than one point, or blocks one thread. */
WF_API void wf_barrier(wf_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
