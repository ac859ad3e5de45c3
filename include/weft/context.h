/* context.h - contexts: flags, configuration, and what a machine offers. */
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
    WF_FLAG_LOOP_OPT = 8, /* loops lose variables that never change (unused ones: WF_FLAG_DEAD_CODE); short ones are
                               written out; a counter that all running lanes of a vector hold alike is a scalar */
    WF_FLAG_PACKETS = 16, /* neighbours along the last axis of an array, read, written or accumulated at constant
                               last indices by each point (records: wf_read(g, a, i, 0), wf_read(g, a, i, 1), ...), are
                               moved as one vector for each point. Results are the same */
    /* Off by default. Allows, on f32 and f64 (and no more): a*b + c and its kin become one fma; division by a constant
     * becomes multiplication by its inverse; constants of nested sums and products are gathered; x*0, x - x and x/x are
     * 0, 0 and 1, and min and max are one comparison, as if there were neither NaN nor infinities nor a sign of zero.
     * Functions keep their accuracy and isnan its meaning. The result is still the same on every machine. */
    WF_FLAG_FAST_MATH = 32,
    /* Debug mode, off by default: recordings run in the interpreter, on one thread, and are watched. An index out of
     * range is WF_ERR_BOUNDS with array, index and point, also where nobody uses what is read there (in array graphs
     * only what somebody uses is computed), and two points that write one element (by index or as elements, of one
     * array or of two in the same memory) are WF_ERR_CONTRACT; the access does not take place and what was written
     * before stays. Outputs that a condition left unset at some points are a warning to the context's log. Results are
     * those of any other device, but for the order of floats: they are accumulated point by point, and reductions walk
     * the axes as they were recorded. On a GPU the kernels look themselves, and each launch is waited for: of several
     * findings any one is named, and other points have been done. 8 bytes for each element of what is written. */
    WF_FLAG_DEBUG = 64,
    WF_FLAG_TRAP_NAN = 128, /* with WF_FLAG_DEBUG: storing or accumulating a NaN, or one as a part, is WF_ERR_ARG */
    WF_FLAG_HISTORY = 256,  /* every kernel that runs is noted for wf_history; off by default. Of the context only */
    WF_FLAG_CALL_OPT =
        512, /* equal functions of wf_switch become one, and the only one that can be reached is in line */
    /* What nothing needs is not computed, nor stored where a later store hides it. In array graphs any effect is left
     * out whose array a later assignment, seen by all lanes, covers, if nothing reads it in between, or whose array the
     * program has released before it is run, without a view or copy of it; but in debug mode. */
    WF_FLAG_DEAD_CODE = 1024,
    /* Kernels of little work are compiled twice: at first in half the time, to code that takes up to twice as long, and
     * again for good by the launch with which it has run as long as compiling takes. Those without loops, and of
     * recordings that are run once: what wf_compile prepares and what is frozen is compiled for good at once. Results are
     * the same. On by default, unless WEFT_TIERED is 0 in the environment. */
    WF_FLAG_TIERED = 2048
};
typedef struct wf_config {
    size_t size;           /* sizeof(wf_config) */
    int32_t threads;       /* 0: WEFT_THREADS from the environment, else all cores */
    wf_device device;      /* 0: WF_CPU. Of arrays and recordings that name none. A number that is no device's:
                            * WF_CPU, and wf_last_status says WF_ERR_DEVICE */
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
/* Bytes that the private copies of WF_MODE_EXPAND may take in a launch: 1 GiB unless it is said; an array of more than
 * half of it has none (WF_MODE_DIRECT), with 0 none has. Of recordings begun later; sums of floats may then be joined
 * in another order. */
WF_API void wf_set_expand_bytes(wf_context *ctx, uint64_t bytes);
WF_API uint64_t wf_get_expand_bytes(const wf_context *ctx);
/* Sets the flags `on`, then clears `off`. Of recordings begun later, by any thread; WF_FLAG_NO_DISK_CACHE and
 * WF_FLAG_HISTORY at once. From any thread. A new context has WF_FLAG_FOLD, WF_FLAG_VALUE_NUMBERING, WF_FLAG_LOOP_OPT,
 * WF_FLAG_PACKETS, WF_FLAG_CALL_OPT, WF_FLAG_DEAD_CODE and (unless WEFT_TIERED is 0 in the environment) WF_FLAG_TIERED,
 * changed by .flags_on and .flags_off of wf_config. */
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

/* "0.1.0": the version of the library that is linked. */
WF_API const char *wf_version(void);

#ifdef __cplusplus
}
#endif
#endif
