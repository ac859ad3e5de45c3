/* record.h - recordings: how they begin and end, elements, and access to elements by index. */
#ifndef WF_RECORD_H
#define WF_RECORD_H
#include "weft/error.h"
#include "weft/macros.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- recording ----------------------------------------------------------------------------------------------
 * Without a shape, values are whole (lazy) arrays, combined by broadcasting. With a shape, values are one lane of an
 * index space. With `reduce`, these axes of the space (or, without a shape, of the operands' common shape) are
 * reduced. */
typedef struct wf_space {
    size_t size;
    const char *here, *name; /* source line, filled by wf_begin; label for messages and dumps */
    wf_shape shape;          /* index space */
    bool indexed;            /* true: an index space even though rank is 0 */
    /* without a shape: values are elements of the operands, which broadcast; for control flow. Reads by index are to be
     * had; writes and accumulation by index in WF_SECTION_INIT and WF_SECTION_DEINIT only */
    bool elements;
    wf_axes reduce;   /* axes to reduce: WF_AXES(...) or WF_ALL_AXES; 0: none */
    wf_device device; /* 0: that of the first array, else the context's default */
    uint32_t flags_on,
        flags_off; /* for this recording, beside the context's: all but WF_FLAG_NO_DISK_CACHE and WF_FLAG_HISTORY */
    /* NULL: the current one, if any. It must live until wf_run; its device is then the default one. */
    wf_stream *stream;
    int32_t threads;      /* at most so many work on it; 0: all of the context's. Results do not depend on it */
    int64_t serial_below; /* points below which one thread works; 0: decided by the work that a point is */
    wf_shape block; /* extents of a block (see WF_SECTION_INIT), one per axis; rank 0: one block. Not with reduce */
    int32_t block_threads; /* on a GPU: of a block of threads, a power of two from 32 to 256; 0: as many as keep the GPU
                              busiest. Not where .block or a section says how many. Results do not depend on it */
    /* Points that a thread does at once along the last axis (1, 2, 4 or 8; 0: decided by cost): on a GPU at most so
     * many, of element-wise kernels, by one access where addresses are aligned for it; on the processor vectors, where
     * there are no loops, reductions and accumulations. Results do not depend on it. */
    int32_t columns;
} wf_space;
WF_API wf_graph *wf_begin_with(wf_context *ctx, const wf_space *space);
WF_API wf_status wf_run(wf_graph *graph); /* consumes; kept arrays become ready. Done, or queued in a stream */
/* Runs what an array graph has recorded so far, in as few kernels as that takes, and leaves it open. Kept arrays
 * become ready, for any graph; values that an array holds now, and all results of reductions that were needed, are
 * not computed again; other values stay what they were, but for those that would read an array which has been
 * overwritten: these are out of use (a loop that was not needed reads what any variable held before it). If running
 * fails, nothing leaks and the graph goes on: its assignments are forgotten, kept arrays are never computed. A mistake
 * in the recording is reported and stays: such a graph runs no more. A graph keeps all of its arrays until it ends, and
 * an evaluation costs more the more there are: those of results and of variables of loops are new ones in each turn, so
 * long loops with these are better new graphs, whose plans are found again, too. In a stream it is queued, as wf_run is.
 * Equal work is found again: a loop of evaluations makes new kernels in its first two turns only. */
WF_API wf_status wf_eval(wf_graph *graph);
WF_API void wf_drop(wf_graph *graph);                                     /* consumes; nothing runs */
WF_API wf_kernel *wf_compile(wf_graph *graph);                            /* consumes; NULL on error */
WF_API void wf_fail(wf_graph *graph, wf_status status, const char *text); /* poison from user code; the first wins */
/* Looks at a value while a recording runs in debug mode (WF_FLAG_DEBUG): each time it has been computed, so in a loop
 * once each turn, and all points, or lanes, take their turns together, as if the loop were evaluated turn by turn.
 * Without debug mode nothing is recorded. Of array graphs and index spaces whose shapes are known, on the processor; in
 * WF_SECTION_CALL alone. Points of a recording that reduces come in boxes, one after the other (small ones are one
 * box), and where a loop changes a reduced variable in groups of 32. 16 bytes for each point and operation of the
 * kernel; 4 GiB at most. */
typedef struct wf_seen {
    size_t size;      /* sizeof(wf_seen) */
    const char *name; /* what wf_watch was given; "" for NULL */
    const char *here; /* the source line of wf_watch */
    int64_t time;     /* how often it was seen before in this run */
    int64_t on;       /* points at which it was computed, one or more */
    /* Borrowed, and not to be written: the value, of the shape of the space (in array graphs that in which the value
     * and the lanes of the block broadcast), and a bool for each element, whether it was computed now; what was not
     * holds what was seen there last, at first 0. wf_copy keeps them. */
    const wf_array *value, *lanes;
} wf_seen;
/* Called by the thread that runs the recording. It may use the context, but not the recording. Anything but WF_OK ends
 * the run, which fails with that status. */
typedef wf_status wf_look(void *user, const wf_seen *seen);
/* In C say wf_watch(g, "x", x, look, user). NULL look: lines like "x: time 2, 3 of 5 on: 1 - 4 - 9 (at a.c:12)" go to
 * the context's log as notes, of up to 16 elements. The texts are copied. */
WF_API void wf_watch_(wf_graph *graph, const char *here, const char *name, wf_val value, wf_look *look, void *user);
/* Appends `place`, such as a line of a front end's source, to the message of a recording that has failed; does nothing
 * to one that has not. The whole message is cut to 767 characters. */
WF_API void wf_fail_at(wf_graph *graph, const char *place);
WF_API wf_context *wf_graph_context(const wf_graph *graph);
/* The status that the recording has failed with; WF_OK: it has not failed. WF_ERR_ARG for NULL. */
WF_API wf_status wf_graph_status(const wf_graph *graph);
/* The device that the recording runs on; 0: neither wf_space nor an array has decided it. */
WF_API wf_device wf_graph_device(const wf_graph *graph);
WF_API bool wf_graph_indexed(const wf_graph *graph); /* values are lanes of an index space, not arrays */
/* True if the recording has an index space of a given shape, which becomes *shape. False, and *shape is as it was, for
 * array graphs, for recordings of elements (whose shape is that of their operands), and for NULL. */
WF_API bool wf_graph_space(const wf_graph *graph, wf_shape *shape);

/* Elements: the element at the current point (in an array graph: the whole array), broadcast to the space. */
WF_API wf_val wf_in(wf_graph *graph, const wf_array *array);
/* Assigns, converting. Every operand is read before the array changes, so in-place, reversed and shifted overlap are
 * right; where outputs share memory, the later one's elements stay. The array's shape must be the value's (or the
 * space's) broadcast shape. As all effects of a recording it takes place when that is run: until then the host, and
 * other recordings, find in the array what it held before (but in one of wf_keep: they have its recording run first). */
WF_API void wf_out(wf_graph *graph, wf_array *array, wf_val value);

/* By index: one integer index per axis (none, for arrays of rank 0: wf_write_n(g, a, v, WF_NO_VALS)). In array graphs
 * indices are integer arrays: gather. Out of range is undefined with wf_read and wf_write; with a border mode every
 * index is right. Indices are converted to i64: of u64, 2^63 and more count as negative. */
typedef enum wf_border {
    WF_BORDER_NONE,     /* the caller guarantees the range */
    WF_BORDER_VALUE,    /* `other` outside              k k k | a b c d | k k k */
    WF_BORDER_CLAMP,    /* the nearest edge             a a a | a b c d | d d d */
    WF_BORDER_PERIODIC, /* wraps                        b c d | a b c d | a b c */
    WF_BORDER_MIRROR,   /* edges repeated               c b a | a b c d | d c b */
    WF_BORDER_REFLECT   /* edges not repeated           d c b | a b c d | c b a */
} wf_border;
WF_API wf_val wf_read_n(wf_graph *graph, const wf_array *array, wf_vals index);
WF_API wf_val wf_read_or_n(wf_graph *graph, const wf_array *array, wf_val other, wf_vals index);
WF_API wf_val wf_read_border_n(wf_graph *graph, const wf_array *array, wf_border border, wf_val other, wf_vals index);
/* Two points must not write the same element (see wf_accumulate), nor, in an index space, one write what another reads:
 * order between points is unspecified. A point's own reads and writes keep their order. In array graphs indices and
 * value are arrays, broadcast: scatter; what is recorded later sees the result. */
WF_API void wf_write_n(wf_graph *graph, wf_array *array, wf_val value, wf_vals index);
/* The same where `condition` holds, of any dtype: a value that is not 0, as in C; elsewhere nothing is written, and the
 * index may be anything. */
WF_API void wf_write_if_n(wf_graph *graph, wf_val condition, wf_array *array, wf_val value, wf_vals index);

/* Negative axes count from the end. */
WF_API wf_val wf_index(wf_graph *graph, int axis);                      /* i64: of the current point */
WF_API wf_val wf_extent(wf_graph *graph, int axis);                     /* i64: of the space */
WF_API wf_val wf_dim(wf_graph *graph, const wf_array *array, int axis); /* i64: of the array */

/* An array to be bound at launch, borrowed from the graph. Every extent is open. */
WF_API wf_array *wf_formal(wf_graph *graph, const char *name, wf_dtype dtype, int rank);

/* How accumulation copes with points that meet in one element; by size if nothing is said. */
typedef enum wf_mode {
    WF_MODE_AUTO,
    WF_MODE_DIRECT, /* an atomic operation for each point */
    WF_MODE_LOCAL,  /* the points of one vector that meet are joined first */
    /* Private copies of the array (of up to half of wf_set_expand_bytes, 512 MiB unless it is set; else
     * WF_MODE_DIRECT), joined at the end. Costs memory: up to wf_set_expand_bytes, then fewer threads. On a GPU: of each
     * block of threads, in the memory that these share (up to 48 KiB, no more elements than points; else
     * WF_MODE_DIRECT). */
    WF_MODE_EXPAND,
    /* No two points meet, as the caller knows (a permutation, say): elements are read, joined and written, without
     * atomic operations or copies. In debug mode WF_ERR_CONTRACT if points do. */
    WF_MODE_NO_CONFLICT
} wf_mode;
/* array[index] = join(array[index], value) for every point, however many meet in one element: histograms, sums by
 * key, scatter with collisions (Dr.Jit's scatter_reduce). `join`: WF_JOIN_ADD to WF_JOIN_XOR. In C wf_accumulate and
 * wf_accumulate_if have no `mode`, which is WF_MODE_AUTO; wf_accumulate_mode and wf_accumulate_if_mode have one behind
 * the join. The value is converted to the array's dtype; complex numbers: WF_JOIN_ADD only; bools: WF_JOIN_AND to
 * WF_JOIN_XOR. In an index space wf_read sees the array as it was before the launch, wherever it stands, and the array
 * must not be written otherwise; in array graphs (indices and value are arrays, broadcast) what is recorded later
 * sees the result. Integers, minima and maxima have one result, unless one element is joined in two ways: in an index
 * space these come in any order. Sums and products of floats depend on the order: with WF_MODE_EXPAND, which
 * WF_MODE_AUTO takes unless the array has more than four times as many elements as there are points, shapes and layouts
 * fix it (inside loops the vector width, too): the same bits for any number of threads where the array has up to 1 MiB.
 * f16 and bf16 are then joined in f32 and rounded once. Other launches must not touch the array meanwhile. Out of range
 * is undefined, as with wf_write. Costs about as much as a private histogram in C for each thread.
 *     wf_accumulate(g, WF_JOIN_ADD, histogram, 1, bin);
 *     wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, histogram, 1, bin); */
WF_API void wf_accumulate_n(wf_graph *graph, wf_join join, wf_mode mode, wf_array *array, wf_val value, wf_vals index);
/* The same where `condition` holds (is not 0); elsewhere the index may be anything. */
WF_API void wf_accumulate_if_n(wf_graph *graph, wf_val condition, wf_join join, wf_mode mode, wf_array *array,
                               wf_val value, wf_vals index);
/* Atomic operations: what the element held before. WF_JOIN_ADD to WF_JOIN_XOR, WF_JOIN_EXCH, WF_JOIN_INC; not for
 * complex numbers. The order of points is not specified. wf_read of the array, in an index space, sees what is there at
 * the moment.
 *     slot = wf_atomic(g, WF_JOIN_INC, counter, 0, 0) is a different number for every point */
WF_API wf_val wf_atomic_n(wf_graph *graph, wf_join join, wf_array *array, wf_val value, wf_vals index);
WF_API wf_val wf_atomic_if_n(wf_graph *graph, wf_val condition, wf_join join, wf_array *array, wf_val value,
                             wf_vals index); /* 0 where the condition does not hold */
/* Where the element has the bits of `expected` it becomes `desired`; what it held before. Elements of up to 8 bytes. */
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
