/* context.h - contexts: flags, configuration, and properties of the machine.
 * Reference: docs/reference/context.md */
#ifndef WF_CONTEXT_H
#define WF_CONTEXT_H
#include "weft/error.h"
#ifdef __cplusplus
extern "C" {
#endif

enum {
    WF_FLAG_FOLD = 1,            /* constant propagation and algebraic rules */
    WF_FLAG_VALUE_NUMBERING = 2, /* equal expressions become one node */
    WF_FLAG_NO_DISK_CACHE = 4,   /* never read or write the object cache on disk; off by default */
    /* Loops lose variables that never change; short loops are written out.
     * A counter that is equal in all running lanes of a vector is a scalar. */
    WF_FLAG_LOOP_OPT = 8,
    /* Neighbours along the last axis at constant last indices move as one vector for each point:
     * wf_read(g, a, i, 0), wf_read(g, a, i, 1), ... Results are the same. */
    WF_FLAG_PACKETS = 16,
    /* f32 and f64 arithmetic may fuse a*b + c, gather constants, divide by inverses, and ignore NaN, infinities and
     * the sign of zero. Off by default. Functions keep their accuracy. Results are the same on every machine. */
    WF_FLAG_FAST_MATH = 32,
    /* Debug mode: recordings run in the interpreter, on one thread, or checked on their GPU. Off by default.
     * Errors: WF_ERR_BOUNDS for an index out of range, WF_ERR_CONTRACT for two points that write one element.
     * Cost: 8 bytes for each element of arrays that are written. */
    WF_FLAG_DEBUG = 64,
    /* With WF_FLAG_DEBUG: storing or accumulating a NaN, or one as a part, is WF_ERR_ARG. */
    WF_FLAG_TRAP_NAN = 128,
    /* Every kernel that runs is noted for wf_history. Off by default. A flag of contexts only. */
    WF_FLAG_HISTORY = 256,
    /* Equal functions of wf_switch become one.
     * If only one function can be reached, it is recorded without a choice. */
    WF_FLAG_CALL_OPT = 512,
    /* Values that nothing needs are not computed, nor stored where a later store hides them.
     * Array graphs also leave out effects on arrays that the program has released before the run. */
    WF_FLAG_DEAD_CODE = 1024,
    /* Kernels of little work are compiled quickly at first, and again for good when they have run for long enough.
     * Results are the same. On by default, unless WEFT_TIERED is 0 in the environment. */
    WF_FLAG_TIERED = 2048,
    /* The first runs of a kernel of little work are interpreted, while a thread of the context compiles it.
     * Results are the same. On by default, unless WEFT_TIERED is 0, 1 or first in the environment. */
    WF_FLAG_INTERPRET_FIRST = 4096,
    /* The order of reductions and accumulations depends on extents alone. Without this flag strides decide, too. So views,
     * padded arrays and parts of larger arrays give the bits that arrays in C order give. Off by default.
     * Cost: axes that lie together in memory do not become one loop, which matters where the last axes are short. */
    WF_FLAG_ORDER_BY_SHAPE = 8192
};
typedef struct wf_config {
    size_t size;                  /* sizeof(wf_config) */
    int32_t threads;              /* 0: WEFT_THREADS from the environment, else all cores; at most 1024 */
    wf_device device;             /* 0: WF_CPU. Of arrays and recordings that name none. A number that is no device's:
                            * WF_CPU, and wf_last_status says WF_ERR_DEVICE */
    const char *cache_dir;        /* NULL: WEFT_CACHE, else $XDG_CACHE_HOME/weft, else ~/.cache/weft */
    uint64_t cache_bytes;         /* bound of the object cache on disk; 0: WEFT_CACHE_BYTES, else 256 MiB */
    uint32_t flags_on, flags_off; /* flags set, then cleared, beside the defaults */
    void (*log)(int level, const char *text, void *user); /* warnings (1) and notes (2); NULL: dropped. Any thread */
    void *log_user;
    /* The thread that waits for work of the processor calls `poll` between blocks of it, at most every 50 ms. True cancels
     * the launches of its call: they fail with WF_ERR_CANCELLED, and what they write is undefined. A block that has begun
     * is finished, which takes long where its points run long loops. NULL: no calls. */
    bool (*poll)(void *user);
    void *poll_user;
    /* Called where `poll` is, and at the end of work for which it was called: `part`, from above 0 to 1, of the launch is
     * done. True cancels as that of `poll`. NULL: no calls. */
    bool (*progress)(double part, void *user);
    void *progress_user;
    /* 0: all arrays are in memory. Else arrays and temporaries of the processor, of 2 MiB and more, that would take more
     * than this in all lie in files without names, page by page in memory as they are used. */
    uint64_t memory_bytes;
    const char *scratch_dir; /* folder of these files; NULL: $TMPDIR, else /var/tmp */
} wf_config;
/* A new context. NULL config: defaults. Starts no thread and opens no library until needed.
 * Errors: NULL only without memory. Without .size the config counts as NULL, and wf_last_status says WF_ERR_ARG.
 * Owns: the caller frees it.
 * Threads: contexts share no lock on the hot path; each is used from any thread. A child of fork may use a context that no
 * other thread was using at that moment; else it makes one of its own, as it might wait for a lock without end. */
WF_API wf_context *wf_context_new(const wf_config *config);
/* Ends the ownership of a context, which lives until its last array, kernel, stream, event or frozen sequence is freed.
 * Graphs that were never run, and sequences that wf_freeze_end did not end, are freed, each with a warning to the log.
 * NULL is a no-op.
 * Waits: for queued work. */
WF_API void wf_context_free(wf_context *ctx);
/* The object that a library keeps with a context under a key, an address that only this library uses: kernels, tables.
 * The first call makes it by make(ctx); NULL, which make may return, is not kept. wf_context_free calls release(object).
 * Owns: the object may own arrays and kernels of the context.
 * Errors: NULL: nothing was made, no memory, or wf_context_free has been called, which arrays may outlive.
 * Threads: from any thread; if two make it at once, one object is released again. */
WF_API void *wf_context_object(wf_context *ctx, const void *key, void *(*make)(wf_context *ctx),
                               void (*release)(void *object));
/* The device of arrays and recordings that name none; 0 for NULL. */
WF_API wf_device wf_context_device(const wf_context *ctx);
/* The number of threads of the context, the calling one included; 0 for NULL. */
WF_API int wf_get_threads(const wf_context *ctx);
/* Sets the number of threads, at most 1024; 0 = all cores. Results do not depend on it.
 * Threads: not while another thread launches.
 * Waits: for queued work. */
WF_API void wf_set_threads(wf_context *ctx, int threads);
/* Bytes that the private copies of WF_MODE_EXPAND may take in a launch: 1 GiB at first; 0 = no copies.
 * Holds for recordings begun later. Sums of floats may then be joined in another order.
 * Threads: from any thread. */
WF_API void wf_set_expand_bytes(wf_context *ctx, uint64_t bytes);
/* The setting of wf_set_expand_bytes; 0 for NULL. */
WF_API uint64_t wf_get_expand_bytes(const wf_context *ctx);
/* Sets the flags `on`, then clears `off`, for recordings begun later, by any thread.
 * WF_FLAG_NO_DISK_CACHE and WF_FLAG_HISTORY change at once.
 * Threads: from any thread. */
WF_API void wf_set_flags(wf_context *ctx, uint32_t on, uint32_t off);
/* The flags of the context; 0 for NULL. */
WF_API uint32_t wf_get_flags(const wf_context *ctx);

/* Properties of this machine and context. */
typedef struct wf_info {
    size_t size; /* sizeof(wf_info), set by the caller */
    /* Instruction set of generated code: "avx512", "avx2", "sse4.2", "neon". "none": the interpreter computes. */
    const char *isa;
    int32_t vector_bits;                 /* width of a vector register */
    int32_t threads;                     /* as wf_get_threads */
    const char *llvm_path;               /* library that is or would be opened; "" if none was found */
    int32_t llvm_major;                  /* 0: not opened (yet) */
    const char *cache_dir;               /* "" if there is none */
    uint64_t cache_bytes, cache_entries; /* on disk now */
    /* Since the context was made: how often the code of a kernel was compiled, was in memory, was on disk; and the
     * number of kernels that ran on the processor. */
    uint64_t compiled, memory_hits, disk_hits, evaluated;
    const char *cache_problem; /* why nothing is kept there, as far as known; "" if nothing is wrong */
} wf_info;
/* Fills `info`; `open_llvm`: opens LLVM now, so that llvm_major is known.
 * Cost: looks at all files of the cache on disk, unless `size` ends before cache_bytes.
 * Owns: strings are borrowed from the context.
 * Errors: WF_ERR_ARG for NULL. */
WF_API wf_status wf_get_info(wf_context *ctx, bool open_llvm, wf_info *info);

/* The version of the linked library: "0.1.0". */
WF_API const char *wf_version(void);

#ifdef __cplusplus
}
#endif
#endif
