/* kernel.h - prepared kernels: launching and showing them; frozen sequences of launches. */
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
