/* array.h - arrays in a device's memory or in the program's own: making them, views, copies, access to contents.
 * Reference: docs/reference/array.md */
#ifndef WF_ARRAY_H
#define WF_ARRAY_H
#include "weft/error.h"
#include "weft/macros.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays -----------------------------------------------------------------------------------------------------
 * Every function that returns a wf_array * gives the caller one reference; NULL on error (wf_last_message).
 * Errors: a NULL array, and one without contents where they are needed, are WF_ERR_ARG.
 * Threads: handles may be retained and released by any thread; the caller orders accesses to contents.
 * Waits: host access waits for queued work on the same memory. A launched kernel keeps what it uses. */
typedef enum wf_memory {
    WF_MEMORY_DEVICE, /* memory of the device, which the context keeps for later arrays */
    /* Memory of the processor, page-locked by a GPU's driver: copies to and from GPUs are fastest.
     * Cost: a call of the driver takes up to milliseconds. */
    WF_MEMORY_PINNED,
    /* Memory that a GPU's driver moves to where it is used; costs as pinned memory. */
    WF_MEMORY_MANAGED
} wf_memory;
typedef struct wf_place {
    size_t size;
    wf_device device; /* 0 = the context's default; wf_wrap: the processor. CPU and interpreter share memory. */
    /* Strides in elements, [rank]; NULL = C order. wf_wrap: any sign; an array with a stride of 0 is read-only. */
    const int64_t *strides;
    wf_memory memory; /* memory of wf_empty. Recordings run on `device`, whatever memory it is. */
    bool read_only;   /* wf_wrap: nothing may write the array, nor its views */
} wf_place;
/* A new array with undefined contents, aligned to 64 bytes.
 * Example: wf_array *x = wf_empty(ctx, WF_F32, WF_SHAPE(h, w), .device = WF_GPU(0)); */
WF_API wf_array *wf_empty_with(wf_context *ctx, wf_dtype dtype, wf_shape shape, const wf_place *place);
/* A new array on the default device, filled with `value`, which must fit the dtype (else WF_ERR_DTYPE).
 * For a constant without memory say wf_broadcast(wf_const(g, dtype, value), shape). */
WF_API wf_array *wf_full(wf_context *ctx, wf_dtype dtype, wf_shape shape, double value);
/* [n] on the default device: start + i*step, computed in f64 and converted as a cast.
 * Dtypes: integers, with a whole start and step below 2^53, are exact and wrap. */
WF_API wf_array *wf_array_arange(wf_context *ctx, wf_dtype dtype, int64_t n, double start, double step);
/* An array with the dtype, shape, context and device of `array`, in C order, with undefined contents; distributed as it is
 * (weft/distributed.h). */
WF_API wf_array *wf_like(const wf_array *array);
/* The same with another dtype and shape. It is distributed if `like` is and has as many axes, unless one that ranks divide
 * has a single index in the new shape. */
WF_API wf_array *wf_empty_like(const wf_array *like, wf_dtype dtype, wf_shape shape);
/* An array over the caller's memory without a copy; the address is a multiple of an element's size.
 * Owns: `release(user)` runs once, from any thread, after the last use, also if the call fails; may be NULL.
 * Errors: of a GPU, memory that it cannot reach, or that is too short.
 * Waits: CUDA work of the program on that memory must be done before Weft's, and wf_sync comes before later use.
 * Example: wf_array *a = wf_wrap(ctx, pixels, WF_F32, WF_SHAPE(h, w), NULL, NULL); */
WF_API wf_array *wf_wrap_with(wf_context *ctx, void *data, wf_dtype dtype, wf_shape shape, const wf_place *place,
                              void (*release)(void *user), void *user);
/* Adds a reference and returns the array; NULL for NULL. */
WF_API wf_array *wf_retain(const wf_array *array);
/* Ends a reference; NULL is a no-op. */
WF_API void wf_release(const wf_array *array);
/* The context of the array, borrowed; NULL for NULL. */
WF_API wf_context *wf_array_context(const wf_array *array);
/* The dtype; WF_NONE for NULL. */
WF_API wf_dtype wf_array_dtype(const wf_array *array);
/* The shape; rank 0 for NULL. Extents of a formal are -1. */
WF_API wf_shape wf_array_shape(const wf_array *array);
/* The number of elements; 0 for NULL and for a formal with axes. */
WF_API int64_t wf_array_count(const wf_array *array);
/* Where the memory is: WF_CPU, or a GPU; 0 for NULL and formals. */
WF_API wf_device wf_array_device(const wf_array *array);
/* True if the elements lie side by side in C order, or there are none; false for NULL. */
WF_API bool wf_array_is_packed(const wf_array *array);
/* True if writing the array is an error: a broadcast view, or memory that wf_wrap was given as read-only, and its views. */
WF_API bool wf_array_is_read_only(const wf_array *array);
/* WF_STATE_LAZY: a kept array whose recording has not run, is queued or failed.
 * WF_STATE_FORMAL: a formal, scratch or local array, which has no contents outside of a recording. */
typedef enum wf_state { WF_STATE_LAZY, WF_STATE_READY, WF_STATE_FORMAL } wf_state;
/* The state of the array; WF_STATE_LAZY for NULL. Does not wait. */
WF_API wf_state wf_array_state(const wf_array *array);

/* As `stop`: to the end in the direction of `step`. */
#define WF_END_INDEX INT64_MIN
/* A view of every step-th element of a range, as Python's slices: negatives count from the end.
 * Aliasing: views share the memory of their array, so both see writes, and keep it alive.
 * Errors: WF_ERR_ARG: no such axis, step 0.
 * Waits: views of a kept array run its recording first.
 * Example: wf_array *even = wf_view_slice(a, 0, 0, WF_END_INDEX, 2); */
WF_API wf_array *wf_view_slice(wf_array *array, int axis, int64_t start, int64_t stop, int64_t step);
/* A view at one index of an axis, which is dropped; negatives count from the end.
 * Errors: WF_ERR_BOUNDS: no such index. */
WF_API wf_array *wf_view_at(wf_array *array, int axis, int64_t index);
/* A view with other axes: axis d of the view is axes[d] of the array.
 * Errors: WF_ERR_ARG unless axes[rank] names each axis once, from 0. */
WF_API wf_array *wf_view_permute(wf_array *array, const int *axes);
/* A view of another shape; one extent of -1 is inferred.
 * Errors: WF_ERR_SHAPE: another number of elements, or it needs a copy. */
WF_API wf_array *wf_view_reshape(wf_array *array, wf_shape shape);
/* A view broadcast to a shape, by NumPy's rule; the view is read-only.
 * Errors: WF_ERR_SHAPE. */
WF_API wf_array *wf_view_broadcast(wf_array *array, wf_shape shape);

/* A new array with the same contents.
 * Aliasing: copies share memory until one is written; then the source keeps it. A view of a copy moves with it.
 * Errors: NULL without memory.
 * Threads: from any thread.
 * Cost: O(1); copied at once: memory of wf_wrap, pinned, managed or after wf_map, and views with gaps. */
WF_API wf_array *wf_copy(const wf_array *array);
/* Names the memory that the array uses now: equal for views and for copies that still share it.
 * 0 for NULL, a formal or scratch. */
WF_API uint64_t wf_array_data_id(const wf_array *array);
/* True if both have memory, and the same one. */
WF_API bool wf_shares(const wf_array *a, const wf_array *b);

/* Copies from the program's memory, in C order; `bytes` must be exactly count * size.
 * Errors: WF_ERR_ARG: other bytes, NULL, or a read-only array.
 * Waits: synchronous. */
WF_API wf_status wf_upload(wf_array *array, const void *src, size_t bytes);
/* Copies to the program's memory, in C order; `bytes` must be exactly count * size.
 * Errors: WF_ERR_ARG: other bytes, NULL, no contents, or work that was to write them failed.
 * Waits: synchronous. */
WF_API wf_status wf_download(const wf_array *array, void *dst, size_t bytes);
/* A new array with the same contents, in C order, on another device (or the same); 0 = the context's default.
 * Waits: synchronous, except on one GPU, whose work is done in order. */
WF_API wf_array *wf_copy_to(const wf_array *array, wf_device device);
/* Gives the memory: address of element [0, ..., 0] and strides in elements ([rank], may be NULL).
 * Aliasing: separates the array from its copies first, for good.
 * Owns: valid until the array and its views are released.
 * Errors: WF_ERR_DEVICE for arrays of GPUs, except in managed or pinned memory.
 * Waits: for queued work. After later work of a GPU call wf_sync before the address is used again. */
WF_API wf_status wf_map(const wf_array *array, void **data, int64_t *strides);
/* Gives the address of an array in a GPU's memory (a CUdeviceptr), for libraries such as cuBLAS.
 * Errors: WF_ERR_DEVICE for arrays of the processor.
 * Waits: for the GPU's work. wf_sync orders the program's own streams behind later work of Weft,
 * unless they share a stream (wf_stream_wrap). */
WF_API wf_status wf_map_device(const wf_array *array, void **data, int64_t *strides);

#ifdef __cplusplus
}
#else
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif
#define wf_empty(ctx, dtype, ...) \
    wf_empty_with(ctx, dtype, WF__FIRST(__VA_ARGS__), &(wf_place){ WF__REST(__VA_ARGS__, .size = sizeof(wf_place)) })
#define wf_wrap(ctx, data, dtype, shape, release, ...)                                                             \
    wf_wrap_with(ctx, data, dtype, shape, &(wf_place){ WF__REST(__VA_ARGS__, .size = sizeof(wf_place)) }, release, \
                 WF__FIRST(__VA_ARGS__))
#endif
#endif
