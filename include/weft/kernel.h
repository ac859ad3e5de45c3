/* kernel.h - prepared kernels: launching and showing them; frozen sequences of launches.
 * Reference: docs/reference/kernel.md */
#ifndef WF_KERNEL_H
#define WF_KERNEL_H
#include "weft/error.h"
#include "weft/macros.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct wf_launch_opts {
    size_t size;
    wf_shape shape;        /* another index space, of the same rank; rank 0: the recorded one */
    wf_stream *stream;     /* NULL: the current one, if any */
    int32_t threads;       /* as in wf_space; 0: that of the recording */
    int64_t serial_below;  /* likewise */
    int32_t block_threads; /* likewise */
} wf_launch_opts;
/* Launches a kernel. Arguments bind formals and parameter values by name, each once; others keep initial values.
 * Errors: nothing ran if the arguments do not bind; the reference lists the statuses.
 * Threads: from any thread.
 * Waits: done on return, or queued in a stream.
 * Example: wf_launch(kernel, WF_NAMED(src, dst, gain)); */
WF_API wf_status wf_launch_with(const wf_kernel *kernel, wf_args args, const wf_launch_opts *opts);
/* Frees a kernel; NULL is a no-op. */
WF_API void wf_kernel_free(wf_kernel *kernel);
typedef enum wf_dump {
    WF_DUMP_TRACE,   /* the recording */
    WF_DUMP_KERNELS, /* the IR of each kernel after splitting and after lowering */
    WF_DUMP_LLVM,    /* LLVM IR */
    WF_DUMP_ASM,     /* assembly for this machine */
    WF_DUMP_DOT,     /* the recording, as a graph for Graphviz */
    WF_DUMP_PTX,     /* for NVIDIA GPUs of compute capability 7.0 and later; on any machine */
    WF_DUMP_PASSES,  /* the passes of planning that apply, each with its decisions and their reasons */
    WF_DUMP_PLAN,    /* the finished plan: kernels, loops, memory, temporaries */
    WF_DUMP_INT32 = 0x7fffffff
} wf_dump;
/* The PTX for GPUs of compute capability arch/10 and later: 70, 75, 80, 86, 90, 100, ... */
#define WF_DUMP_PTX_FOR(arch) ((wf_dump)(WF_DUMP_PTX + 256 * (arch)))
/* Writes a text about the kernel, for the layouts of `args` (WF_DUMP_TRACE and WF_DUMP_DOT need none).
 * At most cap bytes with the final 0 are written to buf; *len is the full length without it. `len` may be NULL.
 * Errors: WF_ERR_BACKEND: no compiler. buf and *len are then untouched. */
WF_API wf_status wf_kernel_dump(const wf_kernel *kernel, wf_args args, wf_dump what, char *buf, size_t cap,
                                size_t *len);
/* The name of pass i of planning, from 0, in order; NULL past the last one. */
WF_API const char *wf_pass_name(size_t i);
/* Writes the state of the kernel after a pass of planning, with the pass's decisions, as wf_kernel_dump.
 * Errors: WF_ERR_ARG: no pass has that name, or it does not apply to this recording and device. */
WF_API wf_status wf_kernel_dump_after(const wf_kernel *kernel, wf_args args, const char *pass, char *buf, size_t cap,
                                      size_t *len);

/* ---- frozen sequences ---------------------------------------------------------------------------------------- */
/* Begins a sequence: until wf_freeze_end the launches of the calling thread run as usual and are noted.
 * `inputs`: the arrays, read or written, in whose place a replay can be given others.
 * Errors: work that is no launch (downloads, uploads, functions of the host, errors) fails wf_freeze_end;
 * the reference lists these functions. */
WF_API wf_status wf_freeze_begin(wf_context *ctx, wf_arrays inputs);
/* Ends and returns the sequence.
 * Owns: the caller frees it.
 * Errors: NULL: a call was refused, or used an array that has memory of an input and more. */
WF_API wf_frozen *wf_freeze_end(wf_context *ctx);
/* True if the calling thread is between wf_freeze_begin and wf_freeze_end. */
WF_API bool wf_is_freezing(wf_context *ctx);
/* Refuses the sequence of the calling thread, if it is freezing, with a message; the first reason counts.
 * For functions that do something between launches which a replay would not do. `why` may be NULL. */
WF_API void wf_freeze_refuse(wf_context *ctx, const char *function, const char *why);
/* Repeats all launches on `inputs`: arrays of the same dtypes, shapes, strides and overlaps. Parameters stay.
 * Aliasing: the sequence keeps all other arrays, and writes them again.
 * Errors: a message says what differs, and nothing ran.
 * Threads: from any thread, one replay at a time. Waits: synchronous.
 * Cost: some tens of nanoseconds for a small kernel with the inputs of the last replay. */
WF_API wf_status wf_frozen_replay(wf_frozen *frozen, wf_arrays inputs);
/* Frees a sequence; NULL is a no-op. */
WF_API void wf_frozen_free(wf_frozen *frozen);

#ifdef __cplusplus
}
#else
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif
#define wf_launch(kernel, ...)                     \
    wf_launch_with(kernel, WF__FIRST(__VA_ARGS__), \
                   &(wf_launch_opts){ WF__REST(__VA_ARGS__, .size = sizeof(wf_launch_opts)) })
#endif
#endif
