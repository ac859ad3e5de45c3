/* weft.h - the public C API of Weft.
 *
 * Four nouns:  wf_context  everything hangs from it
 *              wf_array    n-d data: dtype, shape, strides over reference-counted memory
 *              wf_graph    a recording in progress; owns every temporary; used by one thread
 *              wf_kernel   a finished recording; immutable; launched any number of times from any thread
 * Two values:  wf_val      a number, or a node of a graph (immutable)
 *              wf_var      a mutable variable of a graph; usable wherever a wf_val or a C number is
 *
 * One pattern: g = wf_begin(ctx, ...); ...record...; status = wf_run(g);
 *   Recording never fails visibly: the first mistake poisons the graph (its message names the operation, shapes
 *   and dtypes), the rest is ignored, and wf_run reports it. Nothing runs from a poisoned, dropped or forgotten
 *   graph. NULL graphs and arrays are accepted everywhere and poison, so one check, at wf_run, is enough.
 *
 * Verbs: new/free unique, retain/release shared, get borrowed; "consumes" ends the caller's ownership even on error.
 * C macros named like functions only convert operands, count arguments or fill options; the symbols are real
 * functions for other languages. C++17: include weft.hpp for operators.
 *
 * Parts of this header, included at its end: devices.h (devices and arrays), control.h (variables, conditions, loops,
 * calls), streams.h, operators.h (text, hooks, host operators), ops.h (every operation).
 */
#ifndef WEFT_H
#define WEFT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define WF_API __declspec(dllimport)
#elif defined(__GNUC__)
#define WF_API __attribute__((visibility("default")))
#else
#define WF_API
#endif
#ifdef __cplusplus
extern "C" {
#endif

typedef struct wf_context wf_context;
typedef struct wf_array wf_array;
typedef struct wf_graph wf_graph;
typedef struct wf_kernel wf_kernel;
typedef struct wf_frozen wf_frozen;
typedef struct wf_stream wf_stream;
typedef struct wf_event wf_event;
typedef struct wf_site wf_site;
/* A function that records: an operator's (operators.h), or one that is called (control.h). */
typedef void wf_hook(const wf_site *site);

/* ---- status ------------------------------------------------------------------------------------------------- */
/* X(name, code, text): the codes are stable. */
#define WF_STATUS_MAP(X)                         \
    X(ARG, 1, "invalid argument")                \
    X(SHAPE, 2, "shapes do not fit")             \
    X(DTYPE, 3, "dtypes do not fit")             \
    X(DEVICE, 4, "wrong or no device")           \
    X(MEMORY, 5, "out of memory")                \
    X(CONTRACT, 6, "operator breaks a contract") \
    X(BOUNDS, 7, "index out of bounds")          \
    X(BACKEND, 8, "compiler or driver failed")   \
    X(IO, 9, "file error")                       \
    X(UNSUPPORTED, 10, "not supported")          \
    X(SYNTAX, 11, "syntax error in operator text")
typedef enum wf_status {
    WF_OK = 0,
#define X(name, code, text) WF_ERR_##name = code,
    WF_STATUS_MAP(X)
#undef X
        WF_STATUS_INT32 = 0x7fffffff
} wf_status;

/* "WF_ERR_SHAPE"; "WF_OK" for WF_OK; never NULL. */
WF_API const char *wf_status_name(wf_status status);
/* The calling thread's first error since its last wf_clear on this context, "" if none. Borrowed until the thread's
 * next wf_clear. Accepts NULL (a context that could not be made): "out of memory". */
WF_API const char *wf_message(const wf_context *ctx);
/* The status that belongs to wf_message. */
WF_API wf_status wf_check(const wf_context *ctx);
/* Forgets the calling thread's error. */
WF_API void wf_clear(wf_context *ctx);
/* For libraries on top of Weft: sets the calling thread's error if it has none yet, and returns `status`. */
WF_API wf_status wf_error(wf_context *ctx, wf_status status, const char *text);

/* "0.1.0": the version of the library that is linked. */
WF_API const char *wf_version(void);

/* ---- dtypes, devices, shapes -------------------------------------------------------------------------------- */
/* A bool is one byte, 0 or 1. Operations on f16 and bf16 are done in f32 and rounded once, to nearest, ties to even.
 * c32, c64 and c128 are complex numbers, pairs (real, imaginary) of f16, f32 and f64. docs/numerics.md says what
 * each operation means for every dtype. */
typedef enum wf_dtype {
    WF_NONE,
    WF_BOOL,
    WF_I8,
    WF_U8,
    WF_I16,
    WF_U16,
    WF_I32,
    WF_U32,
    WF_I64,
    WF_U64,
    WF_F16,
    WF_BF16,
    WF_F32,
    WF_F64,
    WF_C32,
    WF_C64,
    WF_C128
} wf_dtype;
WF_API const char *wf_dtype_name(wf_dtype dtype); /* "f32"; never NULL */
WF_API size_t wf_dtype_size(wf_dtype dtype);      /* bytes per element; 0 for WF_NONE */

typedef int32_t wf_device; /* 0: the context's default */
#define WF_CPU ((wf_device)1)
#define WF_INTERP ((wf_device)2) /* the reference interpreter: one thread, any machine, the same results */
/* NVIDIA GPU number n. A driver is all it takes; it is opened at the first use. What is computed there has the same
 * bits as elsewhere, but for sums of floats by wf_accumulate and wf_atomic where points meet, whose order is open. A
 * GPU's arrays are in its memory: wf_upload, wf_download and wf_copy_to move contents, wf_map refuses. What is
 * given to a GPU without a stream is done in order; streams run side by side (streams.h). */
#define WF_GPU(n) ((wf_device)(256 + (n)))
/* The same through the PTX emulator (libweft_cuda_emu, docs/emulator.md) in place of a driver: slow, on any machine;
 * finds accesses out of bounds, reads of memory that nothing has written, data races. */
#define WF_GPU_EMU(n) ((wf_device)(512 + (n)))
/* "cpu", "interp", "cuda:0" (or "cuda"), "cuda-emu": the device of that name, or 0 if there is none (which a
 * context takes for WF_CPU). Opens nothing. */
WF_API wf_device wf_device_named(const char *name);

#define WF_MAX_RANK 8
typedef struct wf_shape {
    int32_t rank, reserved;
    int64_t dim[WF_MAX_RANK];
} wf_shape;               /* frozen */
typedef uint32_t wf_axes; /* bit d set: axis d; WF_AXES(0, 2) */
#define WF_ALL_AXES 0xffu

/* ---- context ------------------------------------------------------------------------------------------------ */
enum {
    WF_FOLD = 1,            /* constant propagation and algebraic rules */
    WF_VALUE_NUMBERING = 2, /* equal expressions become one node */
    WF_NO_DISK_CACHE = 4,   /* never read or write the object cache on disk; off by default */
    WF_LOOP_OPT = 8,        /* loops lose variables that never change (unused ones: WF_DEAD_CODE); short ones are
                               written out; a counter that all running lanes of a vector hold alike is a scalar */
    WF_PACKETS = 16,        /* neighbours along the last axis of an array, read, written or accumulated at constant
                               last indices by each point (records: wf_read(g, a, i, 0), wf_read(g, a, i, 1), ...), are
                               moved as one vector for each point. Results are the same */
    /* Off by default. Allows, on f32 and f64 (and no more): a*b + c and its kin become one fma; division by a constant
     * becomes multiplication by its inverse; constants of nested sums and products are gathered; x*0, x - x and x/x are
     * 0, 0 and 1, and min and max are one comparison, as if there were neither NaN nor infinities nor a sign of zero.
     * Functions keep their accuracy and isnan its meaning. The result is still the same on every machine. */
    WF_FAST_MATH = 32,
    /* Debug mode, off by default: recordings run in the interpreter, on one thread, and are watched. An index out of
     * range is WF_ERR_BOUNDS with array, index and point, also where nobody uses what is read there (in array graphs
     * only what somebody uses is computed), and two points that write one element (by index or as elements, of one
     * array or of two in the same memory) are WF_ERR_CONTRACT; the access does not take place and what was written
     * before stays. Outputs that a condition left unset at some points are a warning to the context's log. Results are
     * those of any other device, but for the order of floats: they are accumulated point by point, and reductions walk
     * the axes as they were recorded. On a GPU the kernels look themselves, and each launch is waited for: of several
     * findings any one is named, and other points have been done. 8 bytes for each element of what is written. */
    WF_DEBUG = 64,
    WF_TRAP_NAN = 128, /* with WF_DEBUG: storing or accumulating a NaN, or one as a part, is WF_ERR_ARG */
    WF_HISTORY = 256,  /* every kernel that runs is noted for wf_history; off by default. Of the context only */
    WF_CALL_OPT = 512, /* equal functions of wf_switch become one, and the only one that can be reached is in line */
    /* What nothing needs is not computed, nor stored where a later store hides it. In array graphs any effect is left
     * out whose array a later assignment, seen by all lanes, covers, if nothing reads it in between, or whose array the
     * program has released before it is run, without a view or copy of it; but in debug mode. */
    WF_DEAD_CODE = 1024,
    /* Kernels of little work are compiled twice: at first in half the time, to code that takes up to twice as long, and
     * again for good by the launch with which it has run as long as compiling takes. Those without loops, and of
     * recordings that are run once: what wf_compile prepares and what is frozen is compiled for good at once. Results are
     * the same. On by default, unless WEFT_TIERED is 0 in the environment. */
    WF_TIERED = 2048
};
typedef struct wf_config {
    size_t size;           /* sizeof(wf_config) */
    int32_t threads;       /* 0: WEFT_THREADS from the environment, else all cores */
    wf_device device;      /* 0: WF_CPU. Of arrays and recordings that name none. A number that is no device's:
                            * WF_CPU, and wf_check says WF_ERR_DEVICE */
    const char *cache_dir; /* NULL: WEFT_CACHE, else $XDG_CACHE_HOME/weft, else ~/.cache/weft */
    uint64_t cache_bytes;  /* bound of the object cache on disk; 0: 256 MiB */
    uint32_t flags_on, flags_off;
    void (*log)(int level, const char *text, void *user); /* warnings (1) and notes (2); NULL: dropped. Any thread */
    void *log_user;
} wf_config;
/* A new context. NULL config: defaults. NULL only without memory. Several contexts may live side by side, each used
 * from any thread; they share no lock on the hot path. Starts no thread and opens no library until needed. */
WF_API wf_context *wf_context_new(const wf_config *config);
/* Waits for queued work; frees graphs never run. Arrays, kernels, streams and events must have been released before. */
WF_API void wf_context_free(wf_context *ctx);
WF_API wf_device wf_context_device(const wf_context *ctx); /* of arrays and recordings that name none; 0 for NULL */
WF_API int wf_get_threads(const wf_context *ctx);
/* 0: all cores. Waits for queued work; not while another thread launches. Results do not depend on it. */
WF_API void wf_set_threads(wf_context *ctx, int threads);
/* Bytes that the private copies of WF_EXPAND may take in a launch: 1 GiB unless it is said; an array of more than half
 * of it has none (WF_DIRECT), with 0 none has. Of recordings begun later; sums of floats may then be joined in another
 * order. */
WF_API void wf_set_expand_bytes(wf_context *ctx, uint64_t bytes);
WF_API uint64_t wf_get_expand_bytes(const wf_context *ctx);
/* Sets the flags `on`, then clears `off`. Of recordings begun later, by any thread; WF_NO_DISK_CACHE and WF_HISTORY at
 * once. From any thread. A new context has WF_FOLD, WF_VALUE_NUMBERING, WF_LOOP_OPT, WF_PACKETS, WF_CALL_OPT,
 * WF_DEAD_CODE and (unless WEFT_TIERED is 0 in the environment) WF_TIERED, changed by .flags_on and .flags_off of
 * wf_config. */
WF_API void wf_set_flags(wf_context *ctx, uint32_t on, uint32_t off);
WF_API uint32_t wf_get_flags(const wf_context *ctx); /* 0 for NULL */

/* What this machine and context offer. */
typedef struct wf_info {
    size_t size; /* sizeof(wf_info), set by the caller */
    /* "avx512", "avx2", "sse4.2", "neon": instruction set of generated code. "none": there is none for this processor,
     * or WEFT_ISA says so; the interpreter computes. */
    const char *isa;
    int32_t vector_bits;
    int32_t threads;
    const char *llvm_path;                                /* library that is or would be opened; "" if none was found */
    int32_t llvm_major;                                   /* 0: not opened (yet) */
    const char *cache_dir;                                /* "" if there is none */
    uint64_t cache_bytes, cache_entries;                  /* on disk now */
    uint64_t compiled, memory_hits, disk_hits, evaluated; /* kernels since the context was made */
    const char *cache_problem; /* why nothing is kept there, as far as known; "" if nothing is wrong */
} wf_info;
/* Fills `info`; strings are borrowed from the context. `open_llvm`: open it now, so that llvm_major is known. */
WF_API wf_status wf_get_info(wf_context *ctx, bool open_llvm, wf_info *info);

/* ---- values -------------------------------------------------------------------------------------------------
 * Passed in two registers. graph == NULL: the number `num`, weakly typed; wf_complex(1, 2) is a complex one, which the
 * library keeps in both. Otherwise `num` is the id of a node (> 0), of a variable (< 0) or 0 for poison. The nesting is
 * what lets WF_V(x) accept a wf_val, a wf_var or any C number in one evaluation and without _Generic. Of one graph:
 * where a value of another one is given, or poison, the graph that it is given to is poisoned. */
typedef struct wf_var {
    double num;
    wf_graph *graph;
} wf_var; /* frozen */
typedef struct wf_val {
    wf_var h;
} wf_val; /* frozen */

typedef struct wf_vals {
    const wf_val *at;
    size_t n;
} wf_vals;
typedef struct wf_arrays {
    wf_array *const *at;
    size_t n;
} wf_arrays;
typedef struct wf_arg {
    const char *name;
    int32_t kind, reserved; /* 1 array, 2 val, 3 num */
    union {
        wf_array *array;
        wf_val val;
        double num;
    } as;
} wf_arg;
typedef struct wf_args {
    const wf_arg *at;
    size_t n;
} wf_args;

/* What a value is, known while recording: WF_NONE for numbers and poison; rank 0 for numbers, scalars and the lanes of
 * index spaces. */
WF_API wf_dtype wf_val_dtype(wf_val value);
WF_API wf_shape wf_val_shape(wf_val value);

/* ---- recording ----------------------------------------------------------------------------------------------
 * Without a shape, values are whole (lazy) arrays, combined by broadcasting. With a shape, values are one lane of an
 * index space. With `reduce`, these axes of the space (or, without a shape, of the operands' common shape) are
 * reduced. */
typedef struct wf_space {
    size_t size;
    const char *here, *name; /* source line, filled by wf_begin; label for messages and dumps */
    wf_shape shape;          /* index space */
    bool indexed;            /* true: an index space even though rank is 0 */
    bool elements;    /* without a shape: values are elements of the operands, which broadcast; for control flow. Reads
                         by index are to be had; writes and accumulation by index in WF_INIT and WF_DEINIT only */
    wf_axes reduce;   /* axes to reduce: WF_AXES(...) or WF_ALL_AXES; 0: none */
    wf_device device; /* 0: that of the first array, else the context's default */
    uint32_t flags_on,
        flags_off; /* for this recording, beside the context's: all but WF_NO_DISK_CACHE and WF_HISTORY */
    /* NULL: the current one, if any. It must live until wf_run; its device is then the default one. */
    wf_stream *stream;
    int32_t threads;       /* at most so many work on it; 0: all of the context's. Results do not depend on it */
    int64_t serial_below;  /* points below which one thread works; 0: decided by the work that a point is */
    wf_shape block;        /* extents of a block (see WF_INIT), one per axis; rank 0: one block. Not with reduce */
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
/* What dumps and messages about shapes call a value, and those of debug mode what is read or written by it; the
 * label of wf_in's value names the array, too. Cut to 59 characters. Returns the value. */
WF_API wf_val wf_label(wf_val value, const char *text);
/* Looks at a value while a recording runs in debug mode (WF_DEBUG): each time it has been computed, so in a loop once
 * each turn, and all points, or lanes, take their turns together, as if the loop were evaluated turn by turn. Without
 * debug mode nothing is recorded. Of array graphs and index spaces whose shapes are known, on the processor; in WF_CALL
 * alone. Points of a recording that reduces come in boxes, one after the other (small ones are one box), and where a
 * loop changes a reduced variable in groups of 32. 16 bytes for each point and operation of the kernel; 4 GiB at most. */
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
WF_API wf_context *wf_graph_context(const wf_graph *graph);
WF_API bool wf_graph_indexed(const wf_graph *graph); /* values are lanes of an index space, not arrays */

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
/* How values are joined: in reductions, accumulation and atomics. WF_EXCH, WF_INC: wf_atomic only. */
typedef enum wf_join {
    WF_JOIN_CUSTOM,
    WF_ADD,
    WF_MUL,
    WF_MIN,
    WF_MAX,
    WF_AND,
    WF_OR,
    WF_XOR,
    WF_EXCH, /* the new value instead of the old */
    WF_INC   /* adds 1; the value is ignored */
} wf_join;
/* How accumulation copes with points that meet in one element; by size if nothing is said. */
typedef enum wf_mode {
    WF_AUTO,
    WF_DIRECT = 0x100, /* an atomic operation for each point */
    WF_LOCAL = 0x200,  /* the points of one vector that meet are joined first */
    WF_EXPAND = 0x300, /* private copies of the array (of up to half of wf_set_expand_bytes, 512 MiB unless it is set;
                          else WF_DIRECT), joined at the end. Costs memory: up to wf_set_expand_bytes, then fewer
                          threads. On a GPU: of each block of threads, in the memory that these share (up to 48 KiB,
                          no more elements than points; else WF_DIRECT) */
    WF_NO_CONFLICT =
        0x400 /* no two points meet, as the caller knows (a permutation, say): elements are read, joined and
                              written, without atomic operations or copies. In debug mode WF_ERR_CONTRACT if points do */
} wf_mode;
/* array[index] = join(array[index], value) for every point, however many meet in one element: histograms, sums by
 * key, scatter with collisions (Dr.Jit's scatter_reduce). `join_and_mode`: WF_ADD to WF_XOR, with a mode or without:
 * WF_ADD | WF_EXPAND. The value is converted to the array's dtype; complex numbers: WF_ADD only; bools: WF_AND to
 * WF_XOR. In an index space wf_read sees the array as it was before the launch, wherever it stands, and the array
 * must not be written otherwise; in array graphs (indices and value are arrays, broadcast) what is recorded later
 * sees the result. Integers, minima and maxima have one result, unless one element is joined in two ways: in an index
 * space these come in any order. Sums and products of floats depend on the order: with WF_EXPAND, which WF_AUTO takes
 * unless the array has more than four times as many elements as there are points, shapes and layouts fix it (inside
 * loops the vector width, too): the same bits for any number of threads where the array has up to 1 MiB. f16 and bf16
 * are then joined in f32 and rounded once. Other launches must not touch the array meanwhile. Out of range is
 * undefined, as with wf_write. Costs about as much as a private histogram in C for each thread.
 *     wf_accumulate(g, WF_ADD, histogram, 1, bin); */
WF_API void wf_accumulate_n(wf_graph *graph, int join_and_mode, wf_array *array, wf_val value, wf_vals index);
/* The same where `condition` holds (is not 0); elsewhere the index may be anything. */
WF_API void wf_accumulate_if_n(wf_graph *graph, wf_val condition, int join_and_mode, wf_array *array, wf_val value,
                               wf_vals index);
/* Atomic operations: what the element held before. WF_ADD to WF_XOR, WF_EXCH, WF_INC; not for complex numbers. The
 * order of points is not specified. wf_read of the array, in an index space, sees what is there at the moment.
 *     slot = wf_atomic(g, WF_INC, counter, 0, 0) is a different number for every point */
WF_API wf_val wf_atomic_n(wf_graph *graph, wf_join join, wf_array *array, wf_val value, wf_vals index);
WF_API wf_val wf_atomic_if_n(wf_graph *graph, wf_val condition, wf_join join, wf_array *array, wf_val value,
                             wf_vals index); /* 0 where the condition does not hold */
/* Where the element has the bits of `expected` it becomes `desired`; what it held before. Elements of up to 8 bytes. */
WF_API wf_val wf_cas_n(wf_graph *graph, wf_array *array, wf_val expected, wf_val desired, wf_vals index);
/* Negative axes count from the end. */
WF_API wf_val wf_index(wf_graph *graph, int axis);                      /* i64: of the current point */
WF_API wf_val wf_extent(wf_graph *graph, int axis);                     /* i64: of the space */
WF_API wf_val wf_dim(wf_graph *graph, const wf_array *array, int axis); /* i64: of the array */
/* Array graphs only: i64 index along `axis` (negative: from the end) of an array of this shape. */
WF_API wf_val wf_iota(wf_graph *graph, wf_shape shape, int axis);

/* Constants of a given dtype, and run-time parameters (changing one never recompiles). A name is one parameter of the
 * recording: asking for it again, with the same dtype and initial value, gives the same one; with others, WF_ERR_DTYPE
 * or WF_ERR_ARG, as one of the two would be lost. */
WF_API wf_val wf_const(wf_graph *graph, wf_dtype dtype, double value);
/* re + i im, of a complex dtype; 2.0 + 3.0 * I of <complex.h> would lose its imaginary part on the way. */
WF_API wf_val wf_const_complex(wf_graph *graph, wf_dtype dtype, double re, double im);
WF_API wf_val wf_const_i64(wf_graph *graph, wf_dtype dtype, int64_t bits); /* integers beyond 2^53; u64 as its bits */
WF_API wf_val wf_param(wf_graph *graph, const char *name, wf_dtype dtype, double initial);
/* An array to be bound at launch, borrowed from the graph. Every extent is open. */
WF_API wf_array *wf_formal(wf_graph *graph, const char *name, wf_dtype dtype, int rank);

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
/* Blocks, as WF_INIT has them: which one, and how many there are along an axis of the space. i64. Axes along which
 * there are no blocks have size 1, id 0: reduced ones and, without .reduce and .block, all. */
WF_API wf_val wf_block_id(wf_graph *graph, int axis);
WF_API wf_val wf_grid_size(wf_graph *graph, int axis);
/* All threads of the block come before one goes on; what they have written is seen after it. WF_ERR_CONTRACT inside a
 * block of control flow. Between the sections there is one. On a GPU in WF_CALL: WF_ERR_UNSUPPORTED where threads have
 * more than one point, or blocks one thread. */
WF_API void wf_barrier(wf_graph *graph);

/* Reductions. Results are the same bits for any number of threads and any vector width. */
/* In a graph begun with .reduce: a reduced variable. `initial` is joined in exactly once. In WF_CALL assign `x =
 * join(x, ...)` (wf_inc for WF_ADD; complex variables add or multiply); in WF_POST it holds the result. Of dtype f16 or
 * bf16: the variable is f32, and wf_out rounds the result once. */
WF_API wf_var wf_reduced(wf_graph *graph, wf_dtype dtype, wf_val initial, wf_join join);
typedef enum wf_section_id { WF_CALL, WF_POST, WF_JOIN, WF_INIT, WF_DEINIT } wf_section_id;
/* Sections of a reducing graph; recording starts in WF_CALL. WF_POST runs once for each point of the kept axes: wf_out
 * writes to arrays of the space's shape whose reduced axes have extent 1 or are left out, wf_in reads such arrays,
 * wf_index is that of a kept axis, wf_extent that of any. Access by index (wf_read, wf_write, wf_accumulate, wf_atomic
 * and their kin) to other than local arrays, and control flow, are WF_ERR_UNSUPPORTED there. With all axes reduced,
 * arrays have one element. Values do not cross sections; reduced variables do. */
WF_API void wf_section(wf_graph *graph, wf_section_id section);
/* WF_INIT and WF_DEINIT, of index spaces and elements, run once a block, before and after all of its points; wf_section
 * may go back to WF_CALL from them. A block is what the points of a reducing recording with the same kept indices make
 * up, else a box of .block (those at the ends of axes may be smaller), else all points together. There wf_read,
 * wf_write, wf_accumulate, control flow and the wf_index of kept axes are to be had. wf_scratch: memory of the block,
 * for all three sections, borrowed from the graph: read, written and accumulated into by index like any array;
 * undefined at the start, or 0. The points of a block share it and come in any order. On a GPU it is in memory that the
 * threads of a block share, if a block's fits there (48 KiB on every GPU, 227 on Hopper); on the processor in a
 * worker's, if boxes of .block can be done one after the other, and a block's has at most 256 KiB; else all blocks have
 * theirs at once. NULL poisons. */
WF_API wf_array *wf_scratch(wf_graph *graph, wf_dtype dtype, wf_shape shape, bool zeroed);
/* Custom joins: of a variable made with WF_JOIN_CUSTOM, WF_CALL may compute anything from all such variables.
 * Partial results, each begun with `initial` (which must therefore be neutral: no point seen yet), are merged by
 * section WF_JOIN, recorded between WF_CALL and WF_POST: there a variable holds one partial result and
 * wf_other(variable) is another one's; what the variables are set to is the merged one. Only these, numbers and
 * operations are to be had in WF_JOIN. The operator must be associative and commutative up to rounding (points come
 * in no order); the order of merging is fixed, by the shape alone. */
WF_API wf_var wf_other(wf_var reduced);
/* Array graphs: reduces the axes, WF_AXES(...) or WF_ALL_AXES, to a value of the same rank with extent 1 along them.
 * Sums and products of f32 accumulate in f64 and are rounded once, f16 and bf16 in f32; those of integers are i64 or
 * u64. Complex numbers: WF_ADD and WF_MUL. Over no elements: the sum is 0, others give what changes nothing.
 * Example, every row minus its mean: wf_sub(v, wf_div(wf_sum(v, WF_AXES(1)), width)). */
WF_API wf_val wf_reduce(wf_join join, wf_val value, wf_axes axes);

/* Array graphs: values made of the elements of another one. Nothing is moved and no memory is used: what uses them
 * computes the elements that it wants, and loads become strided. Not in a block of control flow: there wf_read takes
 * elements of arrays, kept ones too. Only reductions, atomic operations, and what would
 * be computed many times over, go through a temporary. axis: negatives count from the end. Extents that a formal
 * leaves open are checked at the launch. Numbers are returned as they are.
 *     difference = wf_sub(wf_slice(v, 0, 1, WF_END_INDEX, 1), wf_slice(v, 0, 0, -1, 1)) */
WF_API wf_val wf_slice(wf_val value, int axis, int64_t start, int64_t stop, int64_t step); /* as wf_view_slice */
WF_API wf_val wf_reverse(wf_val value, int axis);
WF_API wf_val wf_permute(wf_val value, const int *axes);     /* axis d of the result is axes[d] of the value */
WF_API wf_val wf_reshape(wf_val value, wf_shape shape);      /* in C order; one -1 is inferred */
WF_API wf_val wf_broadcast_to(wf_val value, wf_shape shape); /* NumPy's rule */
WF_API wf_val wf_tile(wf_val value, wf_shape times);         /* the whole again so often along each axis: times has one
                                                                 count for each, abc by 2 is abcabc */
WF_API wf_val wf_repeat(wf_val value, int axis, int64_t times); /* each element so often: abc by 2 is aabbcc */
/* A gather from a value that need not be computed before: element (index 0, index 1, ...), one integer index for
 * each axis, of the indices' broadcast shape. wf_gather: out of range is undefined, as with wf_read; a value without
 * elements is WF_ERR_BOUNDS. wf_gather_or: `other` outside, so that an index of -1 masks an element. What is
 * gathered twice through indices of indices is one gather, of elements that are within both. */
WF_API wf_val wf_gather_n(wf_val value, wf_vals index);
WF_API wf_val wf_gather_or_n(wf_val value, wf_val other, wf_vals index);
/* One behind the other along the axis; one dtype, known extents. Costs a comparison and two gathers an element. */
WF_API wf_val wf_concat_n(wf_vals values, int axis);
/* [n]: from first to last, both included, computed in f64 and converted. */
WF_API wf_val wf_linspace(wf_graph *graph, wf_dtype dtype, int64_t n, double first, double last);
/* The points of a grid: [n], [m], ... become n values of shape [n, m, ...], out[k] holding vectors.at[k] along axis
 * k. No memory is used: they are broadcast views.
 *     wf_val p[2];
 *     wf_meshgrid(p, wf_linspace(g, WF_F32, 480, -1, 1), wf_linspace(g, WF_F32, 640, -2, 2)) */
WF_API void wf_meshgrid_n(wf_vals vectors, wf_val *out);
/* Array graphs: prefix sums and the like: each element joined with those before it along the axis, with itself or
 * (exclusive) without, from the start or (reversed) from the end. The value's shape; dtypes as with wf_reduce: sums
 * and products of integers are i64 or u64; of f32 they are joined in f64 and rounded once an element, f16 and bf16
 * through f32. Exclusive: what nothing is before is 0, or what changes nothing. The bits depend on the shape alone:
 * parts of a length that it fixes are summed first, then what comes before each. One pass over memory,
 * right into the array that the value is assigned to or kept in; a value that is cheap to compute is computed on the
 * way, part by part, and what is cheap to make of the result alone follows in the same way. Parallel.
 *     offsets = wf_scan(WF_ADD, counts, 0, true, false) */
WF_API wf_val wf_scan(wf_join join, wf_val value, int axis, bool exclusive, bool reversed);
/* Array graphs: reduces blocks of so many neighbours along the last axis, whose extent becomes that by `block`, rounded
 * up; the last block may be a part of one. Of values of rank 1 to 7. [1 2 3 4 5 6] by WF_ADD and 4: [10 11]. */
WF_API wf_val wf_block_reduce(wf_join join, wf_val value, int64_t block);
/* Array graphs: the elements of a value where a mask (bool, or not 0) holds, in C order, as a new array [count] that
 * is ready; value and mask broadcast, their extents are known. As the count decides a shape, what has been recorded
 * so far is evaluated, in the words of wf_eval; the value itself is not stored, unless assignments are pending.
 * Costs a scan of the mask (8 bytes an element for a while) and a scatter. NULL poisons, or wf_message says why.
 *     wf_array *large = wf_compress(v, wf_gt(v, 1)); */
WF_API wf_array *wf_compress(wf_val value, wf_val mask);
/* Array graphs: the value as a new lazy array, ready after wf_run, after wf_eval, or (which calls wf_eval) when it
 * is downloaded, mapped, copied, viewed, read or written by the host or by another graph, from the recording's
 * thread: a write comes after what was kept, and if that cannot be computed it fails, too. (One that will never be
 * computed, its recording having ended, has contents again once it is written.) What the value is made of is read
 * when it is computed, not here: an operand that is changed in between changes the result; wf_eval before the
 * change, or a wf_copy of the operand, keeps it. One that is released before is not computed. NULL poisons. */
WF_API wf_array *wf_keep(wf_val value);

/* ---- kernels ------------------------------------------------------------------------------------------------ */
typedef struct wf_launch_opts {
    size_t size;
    wf_shape shape;        /* another index space, of the same rank; rank 0: the recorded one */
    wf_stream *stream;     /* NULL: the current one, if any */
    int32_t threads;       /* as in wf_space; 0: what the recording said */
    int64_t serial_below;  /* as in wf_space; 0: what the recording said */
    int32_t block_threads; /* likewise */
} wf_launch_opts;
/* Binds formals, and other parameter values, by name, each once; parameters that are not named keep their initial
 * values. From any
 * thread. Done when it returns, or queued in a stream. */
WF_API wf_status wf_launch_with(const wf_kernel *kernel, wf_args args, const wf_launch_opts *opts);
WF_API void wf_kernel_free(wf_kernel *kernel);
typedef enum wf_dump {
    WF_DUMP_TRACE,   /* what was recorded */
    WF_DUMP_KERNELS, /* the IR of each kernel after splitting and after lowering */
    WF_DUMP_LLVM,    /* LLVM IR */
    WF_DUMP_ASM,     /* assembly for this machine */
    WF_DUMP_DOT,     /* what was recorded, as a graph for Graphviz */
    WF_DUMP_PTX,     /* for NVIDIA GPUs of compute capability 7.0 and later; on any machine */
    WF_DUMP_PASSES,  /* the passes of planning that apply, each with its decisions and their reasons */
    WF_DUMP_PLAN,    /* the finished plan: kernels, loops, memory, temporaries */
    WF_DUMP_INT32 = 0x7fffffff
} wf_dump;
/* The PTX for GPUs of compute capability arch/10 and later: 70, 75, 80, 86, 90, 100, ... */
#define WF_DUMP_PTX_FOR(arch) ((wf_dump)(WF_DUMP_PTX + 256 * (arch)))
/* Writes a text about the kernel, for the layouts of `args`. At most cap bytes with the final 0 are written to buf; *len
 * is the full length without it. */
WF_API wf_status wf_kernel_dump(const wf_kernel *kernel, wf_args args, wf_dump what, char *buf, size_t cap,
                                size_t *len);
/* The name of pass i of planning, from 0, in the order in which they run; NULL: there are not so many. */
WF_API const char *wf_pass_name(size_t i);
/* Writes what planning has made of the kernel after the pass of that name, with the pass's decisions; else as
 * wf_kernel_dump. WF_ERR_ARG: no pass has that name, or it does not apply to this recording and device. */
WF_API wf_status wf_kernel_dump_after(const wf_kernel *kernel, wf_args args, const char *pass, char *buf, size_t cap,
                                      size_t *len);

/* ---- frozen sequences ---------------------------------------------------------------------------------------- */
/* From here to wf_freeze_end the launches of the calling thread (wf_run, wf_eval, wf_launch, ...) run as ever and
 * are noted. `inputs` are the arrays, read or written, in whose place others can be given later.
 * Launches are all that a sequence consists of. wf_full, wf_array_fill, wf_array_assign and what else the library does
 * by launches is in it; so are wf_copy and wf_copy_to the same device, which copy at once here. Refused, by a message
 * of wf_freeze_end that names the function:
 * - what gets at contents of inputs, or of arrays that launches of the sequence wrote, without a launch: wf_download,
 *   wf_map, wf_upload, wf_host_apply, wf_copy_to another device. Other arrays may be given contents, once, which
 *   launches then only read;
 * - functions whose results' sizes depend on contents: wf_compress, wf_array_where, wf_array_compress;
 * - functions that work on the host: sorting and quantiles but on a GPU, wf_array_matmul by a BLAS,
 *   wf_array_all_close, wf_array_extract_regions, wf_array_insert_regions, wf_save; wf_frozen_replay;
 * - errors: any call that fails on this thread, a failed recording included. */
WF_API wf_status wf_freeze_begin(wf_context *ctx, wf_arrays inputs);
/* The sequence, which the caller frees; NULL: something in between is refused (see above), or used an array that has
 * memory of an input and more. Views of inputs, the program's or those that functions of the library make, are views of
 * the inputs that a replay is given. What the host did through addresses it had before is not seen. */
WF_API wf_frozen *wf_freeze_end(wf_context *ctx);
/* For functions that do something between launches which a replay would not do: if the calling thread is freezing,
 * wf_freeze_end gives NULL, and a message with `function` and `why` (or NULL). The first reason counts. */
WF_API void wf_freeze_refuse(wf_context *ctx, const char *function, const char *why);
/* Does all launches again, with the same parameter values, on `inputs`: as many arrays of the same dtypes, shapes and
 * strides, that overlap as the first ones did, any two of them, whichever launches they are used in (copies that still
 * share memory do not); else an error says what differs, and nothing ran. All other arrays, kept
 * ones and intermediate ones, are used again, and written again: the frozen sequence keeps them. Synchronous; from any
 * thread, one replay at a time (others wait). With the inputs of the last replay a launch of one small kernel costs
 * some tens of nanoseconds. Not noted in the history. */
WF_API wf_status wf_frozen_replay(wf_frozen *frozen, wf_arrays inputs);
WF_API void wf_frozen_free(wf_frozen *frozen); /* NULL: no-op */

/* ---- what ran ------------------------------------------------------------------------------------------------ */
typedef enum wf_code_from {
    WF_CODE_NONE,     /* interpreted */
    WF_CODE_READY,    /* the plan had it */
    WF_CODE_MEMORY,   /* made for another plan */
    WF_CODE_DISK,     /* by an earlier process */
    WF_CODE_COMPILED, /* now */
    WF_CODE_LIBRARY   /* code of the library itself: a scan */
} wf_code_from;
/* One kernel that ran. A launch is one kernel or several, its stages; what is the launch's stands in each of them,
 * seconds in the first only. Operations: casts and reads included, constants, indices and parameters not. */
typedef struct wf_kernel_info {
    size_t size;     /* sizeof(wf_kernel_info), set by the caller in out[0] */
    char name[64];   /* label of the recording, cut; "" */
    char why[256];   /* the plan was made, or code compiled, though there was something like it: what differs; "" */
    uint64_t launch; /* 1, 2, ...: since the context was made; a gap: forgotten, or empty */
    uint64_t hash;   /* of the code and all that it depends on; 0: interpreted */
    wf_device device;
    int32_t stage, stages;                /* 0, 1, ... of so many */
    uint32_t merged;                      /* functions of wf_switch that were equal to others */
    uint32_t ops, folded, numbered, dead; /* recorded; of these: constants or operands, equal to others, of no effect */
    uint32_t nodes;                       /* of this kernel, lowered and with everything that code needs */
    bool plan_hit;                        /* the plan was there */
    bool nontemporal;                     /* stores go past the cache */
    bool alone;                           /* updates are not atomic */
    bool baseline;                        /* compiled in little time, see WF_TIERED */
    bool fused;                           /* ran box by box with the kernel before; its time is in that one's */
    wf_code_from code;
    int32_t threads;              /* it could use; on a GPU those of a block */
    int32_t rows, columns, lanes; /* points done at once: rows x columns of vectors of so many lanes; 0: unknown */
    int32_t mode;                 /* how it accumulates: WF_DIRECT, WF_LOCAL, WF_EXPAND, or WF_NO_CONFLICT, also where
                                     the index says so; 0: it does not */
    int32_t copies;               /* private, of arrays that it accumulates into */
    int64_t points;
    double record_s, plan_s, compile_s, run_s;
    /* Of this kernel: effects that a later assignment hides (those of no kernel: with the first) and variables of loops that nobody uses (WF_DEAD_CODE);
     * variables that no turn changes, loops written out and conditions whose body all lanes do, counters that all
     * running lanes hold alike (WF_LOOP_OPT). */
    uint32_t hidden, unused, invariant, written_out, in_lockstep;
} wf_kernel_info;
/* With WF_HISTORY: the kernels that ran since the last call, the latest 4096 at most. Copies the latest `cap` of these,
 * oldest first, forgets all, and returns how many it copied; `out` NULL: only counts. From any thread. Off, it costs
 * nothing; on, some microseconds a launch, which prepared launches are not then.
 *     wf_kernel_info info[64] = { { .size = sizeof *info } };
 *     size_t n = wf_history(ctx, info, 64); */
WF_API size_t wf_history(wf_context *ctx, wf_kernel_info *out, size_t cap);

#ifdef __cplusplus
}
#endif
#include "weft/devices.h"   /* arrays: where they are, views, copies, contents; device queries */
#include "weft/control.h"   /* variables, local arrays, conditions and loops, calls */
#include "weft/streams.h"   /* queues of launches, events */
#include "weft/operators.h" /* operators as text, as hooks, and those that cannot be traced */
#include "weft/ops.h"       /* generated from the op table: prototypes of all operations and, in C, the conversions */
#endif
