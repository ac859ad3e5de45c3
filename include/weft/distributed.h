/* distributed.h - arrays that are distributed over a group of ranks, each of which has the memory of one block.
 * Recordings and kernels take such an array like any other; its shape and indices are those of all ranks. A launch is then
 * collective: ranks launch the same in the same order, get what it reads of each other's blocks, and the bits of one process.
 * Errors, at the launch: WF_ERR_UNSUPPORTED: indices of loops without bounds along divided axes, updates, blocks, streams,
 * GPUs, debug mode. WF_ERR_CONTRACT: ranks launch different recordings.
 * Reference: docs/reference/distributed.md */
#ifndef WF_DISTRIBUTED_H
#define WF_DISTRIBUTED_H
#include "weft/array.h"
#include "weft/dist.h"
#include "weft/ranks.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Collective: a new array of dist->shape, whose elements are not initialized; `dist` has as many ranks as the group, and
 * is copied. The memory of a rank grows when a launch needs elements of neighbours, unless views of the block exist.
 * Owns: the caller releases the array, before the group and its own context are freed. NULL: failure.
 * Example: wf_dist_make(&shape, wf_ranks_size(ranks), NULL, &dist); a = wf_empty_distributed(ctx, WF_F32, ranks, &dist); */
WF_API wf_array *wf_empty_distributed(wf_context *ctx, wf_dtype dtype, wf_ranks *ranks, const wf_dist *dist);
typedef struct wf_beside {
    size_t size;
    const wf_array *const *operand; /* [operands] arrays that the new one is computed from; NULLs are passed over */
    size_t operands;
    wf_axes reduced;  /* axes of the operands' common shape that are reduced; WF_DROP_AXES: the array has not these */
    wf_graph *graph;  /* a recording whose value is stored in the array; `operand` are then other arrays to be beside */
    wf_val value;     /* that value; a number: all that the recording has read so far */
    wf_device device; /* of an array that is not distributed; 0 = the context's default */
    /* Of one operand: its axis k goes along axis along[k] of the array; -1: along none. NULL: they have the same last axes. */
    const int *along;
} wf_beside;
/* A new array for what is computed from others: distributed as one of these with the same shape or as many axes, else in
 * blocks of its own over their group; on every rank if ranks join it, or nothing is distributed. All ranks make it.
 * Owns: the caller releases it. NULL: failure; a rank without memory ends the group.
 * Example: wf_array *y = wf_empty_beside(ctx, WF_F32, WF_SHAPE(h, w), .operand = &x, .operands = 1); */
WF_API wf_array *wf_empty_beside_with(wf_context *ctx, wf_dtype dtype, wf_shape shape, const wf_beside *beside);
/* How the array is distributed; NULL: it is not. Owns: borrowed from the array. */
WF_API const wf_dist *wf_array_dist(const wf_array *array);
/* The group whose ranks have the blocks; NULL: the array is not distributed. Owns: borrowed. */
WF_API wf_ranks *wf_array_ranks(const wf_array *array);
/* A view of the block of this rank (wf_dist_range), an array of its own whose indices begin at 0. It may be written.
 * Collective in one sense: until the view is ended each launch exchanges elements anew, so all ranks call it, or none.
 * Owns: the caller ends the view, or releases it, and launches then exchange anew for good. NULL: failure. */
WF_API wf_array *wf_array_block(wf_array *array);
/* Releases a view of the block; NULL: that of a call which failed on this rank. Once all views are ended, each by a call of
 * its own, launches exchange only what has been written since. All ranks call it, or none.
 * Errors: WF_ERR_ARG: no such view; or it is the last one, and other references to the block exist, as views of it. */
WF_API wf_status wf_array_block_end(wf_array *array, wf_array *block);
/* Collective: copies all elements into another array of the same shape, dtype and group, which is cut in another way: each
 * element is sent once at most. Aliasing: `to` may be `from`. Cost: memory for what this rank sends and gets.
 * Errors: WF_ERR_ARG: not distributed; WF_ERR_SHAPE, WF_ERR_DTYPE: the arrays differ; WF_ERR_UNSUPPORTED: two groups.
 * What fails on one rank, as memory, fails on all. */
WF_API wf_status wf_array_redistribute(wf_array *to, const wf_array *from);
/* Collective: a new array with all elements, on every rank; an array that is not distributed itself, with one more owner.
 * Cost: the memory of the whole array, twice on the way.
 * Owns: the caller releases it. NULL: failure. */
WF_API wf_array *wf_array_collect(const wf_array *array);

#ifdef __cplusplus
}
#else
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif
#define wf_empty_beside(ctx, dtype, ...)                     \
    wf_empty_beside_with(ctx, dtype, WF__FIRST(__VA_ARGS__), \
                         &(wf_beside){ WF__REST(__VA_ARGS__, .size = sizeof(wf_beside)) })
#endif
#endif
