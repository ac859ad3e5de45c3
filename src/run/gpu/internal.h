/* internal.h - a GPU's state, shared by gpu.c (opening), failure.c, stream.c, memory.c, foreign.c (memory of
 * others), module.c (assembled code), launch.c (kernels of a stage), steps.c (running plans) and watch.c (debug
 * mode). */
#ifndef WEFT_GPU_INTERNAL_H
#define WEFT_GPU_INTERNAL_H
#include "ptx/ptx.h"
#include "run/engine_internal.h"
#include "run/gpu/cuda_api.h"
#include "run/gpu/gpu.h"

typedef struct wf__gpu_idle wf__gpu_idle;
enum { WF__GPU_CLASSES = 512, WF__GPU_RECENT = 4 };

struct wf__gpu_stream {
    wf__gpu_stream *next;
    void *stream;       /* CUstream */
    bool foreign;       /* created by the program */
    uint32_t copies;    /* copies in progress, which run without the lock */
    uint32_t number;    /* unique, >= 1 */
    uint64_t work;      /* time of the latest submission, on the GPU's clock; 0 = none */
    void *done;         /* event at the end of the work submitted up to `recorded` */
    uint64_t recorded;  /* 0 = never */
    uint64_t waited;    /* the stream runs after the work of all other streams up to this time, */
    uint64_t after_own; /* after the work of the GPU's own stream up to this time, */
    wf__gpu_use after;  /* and after this use, its latest wait */
};

struct wf__gpu {
    wf__engine *engine;
    const wf__cuda *cuda;
    int device, arch;  /* arch: compute capability times 10 */
    int processors;    /* multiprocessors */
    int shared_memory; /* shared memory of a thread block, in bytes */
    void *context;
    wf__gpu_stream own;      /* stream of work that names no stream */
    wf__gpu_stream *now;     /* the current stream, between begin and end */
    int capture_mode;        /* the calling thread's mode, restored at the end */
    wf__gpu_stream *streams; /* all streams */
    uint32_t stream_n;       /* streams ever made */
    uint64_t clock;          /* submissions to all streams */
    wf__map *modules;        /* PTX -> wf__gpu_kernel */
    wf__mutex lock;          /* held between begin and end */
    bool has_lock, lost, emulated;
    char name[24]; /* "cuda:0" */
    char model[96];
    int driver; /* version of the driver */
    wf__gpu_idle *idle[WF__GPU_CLASSES];
    size_t idle_bytes, idle_most;
    char recent[WF__GPU_RECENT][40]; /* labels of the latest launches of recent_n since the last wait */
    unsigned recent_n;
};

typedef struct wf__gpu_kernel { /* one module */
    wf__gpu *gpu;
    void *module, *function;
    int threads; /* threads of a block: the power of two that occupies a multiprocessor best */
} wf__gpu_kernel;

/* Each of these calls locks the GPU and makes its context current, until wf__gpu_end. */
bool wf__gpu_begin(wf__gpu *gpu, wf__failure *failure);                            /* for work in its own stream */
bool wf__gpu_begin_on(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *failure); /* in a stream; NULL = its own */
bool wf__gpu_enter(wf__gpu *gpu, wf__failure *failure);                            /* for calls that submit no work */
void wf__gpu_end(wf__gpu *gpu);
/* Between begin and end: */
/* True if the current stream runs after this use. */
bool wf__gpu_comes_after(const wf__gpu *gpu, wf__gpu_use use);
/* Makes the current stream, which will use some memory, wait for the latest uses, and updates these. */
bool wf__gpu_use_memory(wf__gpu *gpu, wf__gpu_use *const *use, uint32_t n, wf__failure *failure);
bool wf__gpu_open_stream(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *failure);
void wf__gpu_close_own(wf__gpu *gpu);  /* no-op if the GPU's own stream is not open */
void wf__gpu_drain_here(wf__gpu *gpu); /* waits for all work, and ignores failures */
/* True if the result of a driver call is success; else sets the failure (failure.c). */
bool wf__gpu_ok(wf__gpu *gpu, const char *what, int result, wf__failure *failure);
char *wf__gpu_take(wf__gpu *gpu, size_t bytes, wf__failure *failure);
void wf__gpu_give(wf__gpu *gpu, char *at, size_t bytes); /* `bytes` as taken; used by the current stream alone */
void wf__gpu_empty_cache(wf__gpu *gpu);
bool wf__gpu_wait(wf__gpu *gpu, const char *what, wf__failure *failure);
/* Outside begin and end: a copy, in the stream that has used the first memory last, or in the GPU's own. It runs after
 * the latest use of the other memory and after the work of the GPU's own stream. The context is current, but the GPU is
 * not locked. wf__gpu_end_copy waits for the copy. */
typedef struct wf__gpu_copying {
    wf__gpu *gpu;
    wf__gpu_stream *in;
    void *stream; /* CUstream of `in` */
    int capture_mode;
    unsigned recent;
} wf__gpu_copying;
bool wf__gpu_begin_copy(wf__gpu *gpu, wf__gpu_use *const *use, uint32_t n, wf__gpu_copying *copying,
                        wf__failure *failure);
bool wf__gpu_end_copy(const wf__gpu_copying *copying, const char *what, int result, wf__failure *failure);
/* Returns the kernel of a PTX text, used until wf__map_let_go. note: or NULL. NULL = failure. */
wf__held *wf__gpu_module(wf__gpu *gpu, const char *ptx, size_t n, wf__note *note, wf__failure *failure);
void wf__gpu_free_kernel(void *kernel);
/* ---- debug mode (watch.c), between begin and end ---- */
typedef struct wf__gpu_watch wf__gpu_watch;
wf__gpu_watch *wf__gpu_watch_begin(wf__gpu *gpu, const wf__stage *stage, const wf__mem *mem, wf__failure *failure);
uint64_t wf__gpu_watch_field(const wf__gpu_watch *watch, const wf__ptx_field *field);
/* Reads the report after the launch. Returns false if there is a finding, which becomes the failure. Unset outputs
 * become the warning. */
bool wf__gpu_watch_look(wf__gpu_watch *watch);
void wf__gpu_watch_end(wf__gpu_watch *watch); /* NULL: no-op */
static inline uint64_t wf__gpu_address(const char *at) { return (uint64_t)(uintptr_t)at; }
#endif
