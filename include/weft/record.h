/* record.h - recordings: how they begin and end, elements, and access to elements by index.
 * Reference: docs/reference/record.md */
#ifndef WF_RECORD_H
#define WF_RECORD_H
#include "weft/error.h"
#include "weft/macros.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- recording --------------------------------------------------------------------------------------------------
 * Without a shape, values are whole lazy arrays, combined by broadcasting. With a shape, values are one lane of an
 * index space. With `reduce`, these axes of the space, or else of the operands' common shape, are reduced. */
typedef struct wf_space {
    size_t size;
    /* `here`: source line, set by wf_begin. `name`: label for messages and dumps. */
    const char *here, *name;
    wf_shape shape; /* index space */
    bool indexed;   /* true: an index space even though the rank is 0 */
    /* True, without a shape: values are elements of the operands, which broadcast.
     * Writes by index are limited to WF_SECTION_INIT and WF_SECTION_DEINIT. */
    bool elements;
    wf_axes reduce;   /* axes to reduce: WF_AXES(...) or WF_ALL_AXES; 0 = none */
    wf_device device; /* device; 0 = that of the first array, else the context's default */
    /* Flags set and cleared for this recording, beside the context's:
     * all but WF_FLAG_NO_DISK_CACHE and WF_FLAG_HISTORY. */
    uint32_t flags_on, flags_off;
    /* Stream; NULL = the current one of the thread that runs it, if any. The stream must outlive wf_run.
     * If `device` is 0, the stream's device is used. */
    wf_stream *stream;
    /* Largest number of threads; 0 = all of the context's. Results do not depend on it. */
    int32_t threads;
    /* Points below which one thread works; 0 = decided by the work of a point. */
    int64_t serial_below;
    /* Extents of a block, one for each axis (block.h); rank 0 = one block. Not with `reduce`. */
    wf_shape block;
    /* GPU: threads of a block of threads, a power of two from 32 to 256; 0 = as many as keep the GPU busiest.
     * Not where `block` or a section fixes the number. Results do not depend on it. */
    int32_t block_threads;
    /* Largest number of points a thread does at once along the last axis: 1, 2, 4, 8; 0 = decided by cost.
     * Results do not depend on it. */
    int32_t columns;
} wf_space;
/* Begins a recording. In C say wf_begin(ctx, .shape = ...), whose options are the fields of wf_space.
 * Owns: wf_run, wf_compile or wf_drop consumes the graph, once. Its values and variables end with it.
 * Errors: NULL without a context or memory; wrong options poison the graph. Later recordings refuse values that ended;
 * a second end is WF_ERR_CONTRACT until another recording begins in the graph's memory.
 * Threads: one thread records.
 * Example: wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(h, w)); */
WF_API wf_graph *wf_begin_with(wf_context *ctx, const wf_space *space);
/* Runs the recording and consumes it; kept arrays become ready.
 * Errors: the first mistake of the recording, or of the run; WF_ERR_ARG for NULL and where there are formals.
 * Waits: the work is done on return, or queued if there is a stream. */
WF_API wf_status wf_run(wf_graph *graph);
/* Runs what an array graph has recorded so far and leaves it open; kept arrays become ready.
 * Values that an array holds now are not computed again; values that read an overwritten array are refused.
 * Errors: after a failed run the graph goes on without its assignments; a mistake in the recording stays.
 * WF_ERR_UNSUPPORTED: no array graph, or inside a block of control flow.
 * Waits: as wf_run.
 * Cost: grows with the arrays that the graph keeps. */
WF_API wf_status wf_eval(wf_graph *graph);
/* Consumes the recording; nothing runs. NULL is a no-op. */
WF_API void wf_drop(wf_graph *graph);
/* Prepares the recording for launches (kernel.h) and consumes it.
 * Errors: NULL: the first mistake of the recording, or no memory.
 * Owns: the caller frees the kernel. */
WF_API wf_kernel *wf_compile(wf_graph *graph);
/* Poisons the recording from user code; the first mistake wins. WF_OK counts as WF_ERR_ARG;
 * NULL and "" are replaced by a text. */
WF_API void wf_fail(wf_graph *graph, wf_status status, const char *text);
/* A value that a wf_watch has seen, for its wf_look. */
typedef struct wf_seen {
    size_t size;      /* sizeof(wf_seen) */
    const char *name; /* name given to wf_watch; "" for NULL */
    const char *here; /* the source line of wf_watch */
    int64_t time;     /* how often it was seen before in this run */
    int64_t on;       /* points at which it was computed, one or more */
    /* Borrowed, not to be written; wf_copy keeps them. The value has the shape of the space.
     * `lanes`: a bool for each element, true if it was computed now; others hold the value seen last, at first 0. */
    const wf_array *value, *lanes;
} wf_seen;
/* Looks at a value of wf_watch; any status but WF_OK ends the run, which fails with that status.
 * Threads: called by the thread that runs the recording. It may use the context, but not the recording. */
typedef wf_status wf_look(void *user, const wf_seen *seen);
/* Shows a value each time it has been computed, in debug mode (WF_FLAG_DEBUG); else records nothing.
 * In C say wf_watch(g, "x", x, look, user). NULL look: lines in the context's log.
 * Owns: texts are copied.
 * Errors: WF_ERR_UNSUPPORTED outside of WF_SECTION_CALL, on a GPU, and for shapes that are not known.
 * Cost: 16 bytes for each point and operation of the kernel, at most 4 GiB. */
WF_API void wf_watch_(wf_graph *graph, const char *here, const char *name, wf_val value, wf_look *look, void *user);
/* Appends `place`, such as a line of a front end's source, to the message of a failed recording.
 * Does nothing to a recording that has not failed. A message is cut to 767 bytes. */
WF_API void wf_append_error_place(wf_graph *graph, const char *place);
/* The context of the recording, borrowed; NULL for NULL. */
WF_API wf_context *wf_graph_context(const wf_graph *graph);
/* The status that the recording has failed with, or WF_OK; WF_ERR_ARG for NULL. */
WF_API wf_status wf_graph_status(const wf_graph *graph);
/* The device that the recording runs on; 0 for NULL, and while neither wf_space nor an array has decided it. */
WF_API wf_device wf_graph_device(const wf_graph *graph);
/* True if values are elements, in an index space or of operands; false for array graphs and NULL. */
WF_API bool wf_graph_indexed(const wf_graph *graph);
/* True for an index space, whose shape becomes *shape; `shape` may be NULL.
 * False, with *shape untouched, for array graphs, recordings of elements, and NULL. */
WF_API bool wf_graph_space(const wf_graph *graph, wf_shape *shape);

/* The element at the current point, broadcast to the space; in an array graph the whole array.
 * Errors: WF_ERR_DEVICE: the array is not in the memory of the recording's device. */
WF_API wf_val wf_in(wf_graph *graph, const wf_array *array);
/* Assigns a value to the element at the current point, or to the whole array, and converts it.
 * Shapes: array graphs: the value broadcasts to the array; else the array has the shape of the space.
 * Aliasing: every operand is read before the array changes; of outputs that share memory the later one stays.
 * Waits: the array changes when the recording runs. */
WF_API void wf_out(wf_graph *graph, wf_array *array, wf_val value);

/* The values outside of an array, for reads by index. */
typedef enum wf_border {
    WF_BORDER_NONE,     /* the caller guarantees the range */
    WF_BORDER_VALUE,    /* `other` outside              k k k | a b c d | k k k */
    WF_BORDER_CLAMP,    /* the nearest edge             a a a | a b c d | d d d */
    WF_BORDER_PERIODIC, /* wraps                        b c d | a b c d | a b c */
    WF_BORDER_MIRROR,   /* edges repeated               c b a | a b c d | d c b */
    WF_BORDER_REFLECT   /* edges not repeated           d c b | a b c d | c b a */
} wf_border;
/* Reads an element by index: one integer index for each axis. In array graphs indices are arrays: a gather.
 * Dtypes: indices are converted to i64; floats and bools are WF_ERR_DTYPE.
 * Errors: an index out of range is undefined behaviour; WF_FLAG_DEBUG reports it.
 * Example: wf_val up = wf_read(g, a, wf_sub(i, 1), j); */
WF_API wf_val wf_read_n(wf_graph *graph, const wf_array *array, wf_vals index);
/* Reads an element by index; `other` outside. */
WF_API wf_val wf_read_or_n(wf_graph *graph, const wf_array *array, wf_val other, wf_vals index);
/* Reads an element by index; the border mode gives the values outside, and every index is right;
 * one of u64 from 2^63 on counts as 2^63 - 1.
 * `other` is for WF_BORDER_VALUE. An array without elements reads as 0 with the other modes. */
WF_API wf_val wf_read_border_n(wf_graph *graph, const wf_array *array, wf_border border, wf_val other, wf_vals index);
/* Writes an element by index; in array graphs a scatter.
 * Aliasing: no two points may write one element, nor one point of a space write what another one reads.
 * Errors: an index out of range is undefined behaviour; WF_FLAG_DEBUG reports it.
 * Example: wf_write(g, a, v, i, j); */
WF_API void wf_write_n(wf_graph *graph, wf_array *array, wf_val value, wf_vals index);
/* Writes an element by index where `condition` is not 0; elsewhere the index may be anything. */
WF_API void wf_write_if_n(wf_graph *graph, wf_val condition, wf_array *array, wf_val value, wf_vals index);

/* The index of the current point along an axis, i64. Negative axes count from the end. */
WF_API wf_val wf_index(wf_graph *graph, int axis);
/* The extent of the space along an axis, i64. */
WF_API wf_val wf_extent(wf_graph *graph, int axis);
/* The extent of the array along an axis, i64. */
WF_API wf_val wf_dim(wf_graph *graph, const wf_array *array, int axis);

/* An array that each launch binds by name; every extent is open. Formals and parameters have different names.
 * Owns: borrowed from the graph, then from its kernel.
 * Errors: NULL: the graph is poisoned. */
WF_API wf_array *wf_formal(wf_graph *graph, const char *name, wf_dtype dtype, int rank);

/* How points that meet in one element are joined. */
typedef enum wf_mode {
    WF_MODE_AUTO,
    WF_MODE_DIRECT, /* an atomic operation for each point */
    WF_MODE_LOCAL,  /* the points of one vector that meet are joined first */
    /* Private copies, joined at the end, in memory of up to wf_set_expand_bytes; arrays of more than half of that
     * use WF_MODE_DIRECT. On a GPU in shared memory: up to 48 KiB and no more elements than points.
     * Floats in arrays of up to 1 MiB have the same bits for any number of threads. */
    WF_MODE_EXPAND,
    /* The caller promises that no two points meet. In debug mode WF_ERR_CONTRACT if points do. */
    WF_MODE_NO_CONFLICT
} wf_mode;
/* Joins a value into an element for every point: array[index] = join(array[index], value).
 * Dtypes: the value is converted to the array's. Complex: WF_JOIN_ADD. Bools: WF_JOIN_AND to WF_JOIN_XOR.
 * Aliasing: in an index space wf_read sees the array as it was before the launch; no other writes are allowed.
 * Errors: out of range is undefined behaviour. Sums and products of floats depend on order; see WF_MODE_EXPAND.
 * Cost: about that of a private histogram in C for each thread.
 * Example: wf_accumulate(g, WF_JOIN_ADD, histogram, 1, bin); */
WF_API void wf_accumulate_n(wf_graph *graph, wf_join join, wf_mode mode, wf_array *array, wf_val value, wf_vals index);
/* Accumulates where `condition` is not 0; elsewhere the index may be anything. */
WF_API void wf_accumulate_if_n(wf_graph *graph, wf_val condition, wf_join join, wf_mode mode, wf_array *array,
                               wf_val value, wf_vals index);
/* Joins a value into an element atomically and returns what the element held before.
 * Dtypes: all but complex numbers.
 * Threads: the order of points is unspecified; wf_read, in an index space, sees the present contents.
 * Example: wf_val slot = wf_atomic(g, WF_JOIN_INC, counter, 0, 0); */
WF_API wf_val wf_atomic_n(wf_graph *graph, wf_join join, wf_array *array, wf_val value, wf_vals index);
/* The same where `condition` is not 0; elsewhere the result is 0. */
WF_API wf_val wf_atomic_if_n(wf_graph *graph, wf_val condition, wf_join join, wf_array *array, wf_val value,
                             wf_vals index);
/* Sets the element to `desired` where it has the bits of `expected`; returns what it held before.
 * Dtypes: all but complex numbers; both values are converted to the array's. */
WF_API wf_val wf_cas_n(wf_graph *graph, wf_array *array, wf_val expected, wf_val desired, wf_vals index);

#ifdef __cplusplus
}
#else
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif
/* options are named arguments: wf_begin(ctx, .shape = WF_SHAPE(n, h, w)) */
#define wf_begin(...)                     \
    wf_begin_with(WF__FIRST(__VA_ARGS__), \
                  &(wf_space){ WF__REST(__VA_ARGS__, .size = sizeof(wf_space), .here = WF_HERE) })
#define wf_watch(g, name, v, look, user) wf_watch_(g, WF_HERE, name, WF_V(v), look, user)
#define wf_out(g, a, v) wf_out(g, a, WF_V(v))
#define wf_read(g, a, ...) wf_read_n(g, a, WF_VALS(__VA_ARGS__))
#define wf_read_or(g, a, other, ...) wf_read_or_n(g, a, WF_V(other), WF_VALS(__VA_ARGS__))
#define wf_read_border(g, a, border, other, ...) wf_read_border_n(g, a, border, WF_V(other), WF_VALS(__VA_ARGS__))
#define wf_write(g, a, v, ...) wf_write_n(g, a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_write_if(g, condition, a, v, ...) wf_write_if_n(g, WF_V(condition), a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_accumulate(g, join, a, v, ...) wf_accumulate_n(g, join, WF_MODE_AUTO, a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_accumulate_mode(g, join, mode, a, v, ...) wf_accumulate_n(g, join, mode, a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_accumulate_if(g, condition, join, a, v, ...) \
    wf_accumulate_if_n(g, WF_V(condition), join, WF_MODE_AUTO, a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_accumulate_if_mode(g, condition, join, mode, a, v, ...) \
    wf_accumulate_if_n(g, WF_V(condition), join, mode, a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_atomic(g, join, a, v, ...) wf_atomic_n(g, join, a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_atomic_if(g, condition, join, a, v, ...) \
    wf_atomic_if_n(g, WF_V(condition), join, a, WF_V(v), WF_VALS(__VA_ARGS__))
#define wf_cas(g, a, expected, desired, ...) wf_cas_n(g, a, WF_V(expected), WF_V(desired), WF_VALS(__VA_ARGS__))
#endif
#endif
