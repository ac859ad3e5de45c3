/* array.h - arrays in a device's memory or in the program's own: making them, views, copies, and access to
 * their contents. */
#ifndef WF_ARRAY_H
#define WF_ARRAY_H
#include "weft/error.h"
#include "weft/macros.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays -------------------------------------------------------------------------------------------------
 * Every function returning wf_array * gives the caller one reference (wf_release it); NULL on error, which
 * wf_last_message explains. Handles are thread-safe to retain and release; contents are the caller's to order. A
 * launched kernel keeps what it uses. Host access waits for queued work. */
typedef enum wf_memory {
    WF_MEMORY_DEVICE, /* the device's, which the context keeps for later arrays */
    /* Made by a GPU's driver, and given back to it: a call takes up to milliseconds. Of the device's GPU, else of that
     * of the context's default, else of WF_GPU(0); no such driver is an error. */
    WF_MEMORY_PINNED, /* the processor's, page-locked: copies to and from GPUs are fastest; kernels of any reach it */
    WF_MEMORY_MANAGED /* moved by the driver to where it is used */
} wf_memory;
typedef struct wf_place {
    size_t size;
    wf_device device;       /* 0: the context's default; CPU and interpreter share memory */
    const int64_t *strides; /* in elements, [rank]; NULL: C order. Any sign for wf_wrap; 0 only for dims of wf_wrap'ed
                               arrays that are read */
    wf_memory memory;       /* of wf_empty. Recordings run on .device, whatever memory it is */
} wf_place;
/* A new array, contents undefined. 64-byte aligned. */
WF_API wf_array *wf_empty_with(wf_context *ctx, wf_dtype dtype, wf_shape shape, const wf_place *place);
/* A new array filled with `value` (must fit the dtype): memory, for what will be written, or read as any contents. A
 * value of that shape without memory, which folds into what uses it: wf_broadcast(wf_const(g, dtype, value),
 * shape). */
WF_API wf_array *wf_full(wf_context *ctx, wf_dtype dtype, wf_shape shape, double value);
/* [n]: start + i*step, computed in f64 (integers: exactly) and converted. */
WF_API wf_array *wf_array_arange(wf_context *ctx, wf_dtype dtype, int64_t n, double start, double step);
/* Empty, with the dtype, shape and context of `array`, in C order. */
WF_API wf_array *wf_like(const wf_array *array);
/* The caller's memory, zero copy, naturally aligned. `release(user)` runs once, from any thread, after the last use,
 * also when wf_wrap itself fails; may be NULL. `.device` 0 is the processor here. With a GPU: `data` is an address
 * that the GPU can reach: its own memory (of the device's primary context, which the CUDA runtime uses), managed or
 * pinned memory; the driver is asked whether it is, and whether it is long enough. What the program does there on
 * CUDA streams of its own must be done before Weft is given work on it, and the other way round wf_sync comes
 * between, unless the stream is shared (wf_stream_wrap). `release` waits until the GPU has done what it was given.
 * wf_accumulate and wf_atomic read and write elements below 4 bytes with all of the aligned 4 bytes that they are
 * in. */
WF_API wf_array *wf_wrap_with(wf_context *ctx, void *data, wf_dtype dtype, wf_shape shape, const wf_place *place,
                              void (*release)(void *user), void *user);
WF_API wf_array *wf_retain(const wf_array *array);
WF_API void wf_release(const wf_array *array); /* NULL: no-op */
WF_API wf_context *wf_array_context(const wf_array *array);
WF_API wf_dtype wf_array_dtype(const wf_array *array); /* WF_NONE for NULL */
WF_API wf_shape wf_array_shape(const wf_array *array); /* rank 0 for NULL */
WF_API int64_t wf_array_count(const wf_array *array);  /* elements; 0 for NULL */
/* Where its memory is: WF_CPU, or a GPU; 0 for NULL. */
WF_API wf_device wf_array_device(const wf_array *array);
WF_API bool
wf_array_is_packed(const wf_array *array); /* its elements lie side by side, in C order; true if there are none */
/* WF_STATE_LAZY: a kept array whose recording has not run, is queued or failed. WF_STATE_FORMAL: a formal, or scratch,
 * which have no contents outside of a recording: what wants some is WF_ERR_ARG. */
typedef enum wf_state { WF_STATE_LAZY, WF_STATE_READY, WF_STATE_FORMAL } wf_state;
WF_API wf_state wf_array_state(const wf_array *array);

/* Views share memory (writes are seen by both) and keep it alive. */
/* start, stop, step as Python's slices: negatives count from the end, out-of-range ends are cut; step may be negative.
 * WF_END_INDEX as stop: to the end in the direction of step. */
#define WF_END_INDEX INT64_MIN
WF_API wf_array *wf_view_slice(wf_array *array, int axis, int64_t start, int64_t stop, int64_t step);
WF_API wf_array *wf_view_at(wf_array *array, int axis, int64_t index); /* drops the axis; negatives from the end */
WF_API wf_array *wf_view_permute(wf_array *array, const int *axes);    /* axis d of the view is axes[d] of the array */
WF_API wf_array *wf_view_reshape(wf_array *array, wf_shape shape);   /* one -1 is inferred; error if it needs a copy */
WF_API wf_array *wf_view_broadcast(wf_array *array, wf_shape shape); /* NumPy's rule; the view is read-only */

/* A new array with the same contents. Copies share memory until one of them is written; then the array that was copied
 * stays where it is and its copies get memory of their own, or the copy that is written does; the last one left writes
 * in place. Each write moves a copy once at most. Views alias what they are views of: a view of a copy moves with the
 * copy, a copy of a view is a copy. O(1), but for these, which are copied at once, to C order: memory of the caller's
 * (wf_wrap), memory that wf_map has given away (nobody sees what is written there), views whose elements do not lie
 * together. NULL without memory. From any thread: copies are independent arrays. */
WF_API wf_array *wf_copy(const wf_array *array);
/* Which memory the array uses now: equal for views and for copies not yet separated; another one after a copy has
 * moved. 0: NULL, a formal or scratch. */
WF_API uint64_t wf_array_data_id(const wf_array *array);
WF_API bool wf_shares(const wf_array *a, const wf_array *b); /* have both one, and the same one? */

/* Copies in C order; `bytes` must be exactly count * size. Synchronous. */
WF_API wf_status wf_upload(wf_array *array, const void *src, size_t bytes);
WF_API wf_status wf_download(const wf_array *array, void *dst, size_t bytes);
/* A new array with the same contents, in C order, on another device (or the same). */
WF_API wf_array *wf_copy_to(const wf_array *array, wf_device device);
/* The memory itself, to read and to write: address of element [0, ..., 0] and strides in elements ([rank], may be
 * NULL). Valid until the array is released. Separates the array from its copies first (wf_copy), for good.
 * WF_ERR_DEVICE for arrays of GPUs, but for those in managed or pinned memory: there it waits for what the GPU has got,
 * and what it gets later is to be waited for (wf_sync) before the address is used again. */
WF_API wf_status wf_map(const wf_array *array, void **data, int64_t *strides);
/* The same for an array of a GPU: an address in its memory (a CUdeviceptr), for libraries such as cuBLAS. Waits
 * until the GPU has done what it was given. Later launches that use the array are Weft's to order among themselves
 * alone: before the program's own streams use what they write comes wf_sync, and what those streams do must be done
 * before such a launch, unless they share a stream (wf_stream_wrap). WF_ERR_DEVICE for arrays of the processor. */
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
