/* internal.h - a GPU's state, shared by gpu.c (opening), gpu/stream.c, gpu/memory.c, gpu/foreign.c (memory that is
 * not Weft's), module.c (assembled code), gpu/launch.c (kernels of a stage), gpu/stages.c (running plans) and
 * gpu/watch.c (debug mode). */
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
    bool foreign;       /* the host program's */
    uint32_t copies;    /* that are given to it, or waited for, without the lock */
    uint32_t number;    /* from 1 on, of one stream only */
    uint64_t work;      /* the GPU's clock when it got something last; 0: never */
    void *done;         /* event: the end of what it had got when `work` was `recorded` */
    uint64_t recorded;  /* 0: never */
    uint64_t waited;    /* it comes after what other streams got up to this time */
    uint64_t after_own; /* and after what the GPU's own got up to this */
    wf__gpu_use after;  /* and after this, which it has waited for last */
};

struct wf__gpu {
    wf__engine *engine;
    const wf__cuda *cuda;
    int device, arch; /* arch: compute capability times 10 */
    int processors;   /* multiprocessors */
    int team_memory;  /* bytes that threads of a block can share */
    void *context;
    wf__gpu_stream own;      /* for work that names none */
    wf__gpu_stream *now;     /* of the work in hand */
    int capture_mode;        /* the calling thread's, as the program has it */
    wf__gpu_stream *streams; /* all of them */
    uint32_t stream_n;       /* ever made */
    uint64_t clock;          /* counts what streams get */
    wf__map *modules;        /* PTX -> wf__gpu_kernel */
    wf__mutex lock;          /* held by whoever works on it */
    bool has_lock, lost, emulated;
    char name[24]; /* "cuda:0" */
    char model[96];
    int driver; /* its version */
    wf__gpu_idle *idle[WF__GPU_CLASSES];
    size_t idle_bytes, idle_most;
    char recent[WF__GPU_RECENT][40]; /* labels of launches since the last wait, the last of recent_n */
    unsigned recent_n;
};

typedef struct wf__gpu_kernel { /* one module */
    wf__gpu *gpu;
    void *module, *function;
    int threads; /* of a block, a power of two, so that as many as can be are on a multiprocessor */
} wf__gpu_kernel;

/* Between these two the context is current, and nobody else works on it. */
bool wf__gpu_begin(wf__gpu *gpu, wf__failure *failure);                            /* work goes to its own stream */
bool wf__gpu_begin_on(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *failure); /* to this one; NULL: its own */
bool wf__gpu_enter(wf__gpu *gpu, wf__failure *failure);                            /* no work is given to it */
void wf__gpu_end(wf__gpu *gpu);
/* Within these: the stream in hand, which is about to use some memory, waits for those that have used it last. */
bool wf__gpu_comes_after(const wf__gpu *gpu, wf__gpu_use use); /* need it not wait? */
bool wf__gpu_use_memory(wf__gpu *gpu, wf__gpu_use *const *use, uint32_t n, wf__failure *failure);
/* Within these: a stream and its event; and of the GPU's own, which may not be open. */
bool wf__gpu_open_stream(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *failure);
void wf__gpu_close_own(wf__gpu *gpu);
void wf__gpu_settle_here(wf__gpu *gpu); /* within these: waits for all work, whatever has become of it */
/* Is the result of a driver call good? Else the failure says what it was. */
bool wf__gpu_ok(wf__gpu *gpu, const char *what, int result, wf__failure *failure);
/* Within begin and end: */
char *wf__gpu_take(wf__gpu *gpu, size_t bytes, wf__failure *failure);
void wf__gpu_give(wf__gpu *gpu, char *at, size_t bytes); /* as many as were taken; only this stream has used them */
void wf__gpu_empty_cache(wf__gpu *gpu);
bool wf__gpu_wait(wf__gpu *gpu, const char *what, wf__failure *failure);
/* Not within these: a copy in the stream that has used the first memory last, or the GPU's own, after what has used the
 * other and what the own one has got. The context is current, others may give work to the GPU, the end waits for it. */
typedef struct wf__gpu_copying {
    wf__gpu *gpu;
    wf__gpu_stream *in;
    void *stream; /* its */
    int capture_mode;
    unsigned recent;
} wf__gpu_copying;
bool wf__gpu_begin_copy(wf__gpu *gpu, wf__gpu_use *const *use, uint32_t n, wf__gpu_copying *copying,
                        wf__failure *failure);
bool wf__gpu_end_copy(const wf__gpu_copying *copying, const char *what, int result, wf__failure *failure);
wf__held *wf__gpu_module(wf__gpu *gpu, const char *ptx, size_t n, wf__note *note,
                         wf__failure *failure); /* note: or NULL */
void wf__gpu_free_kernel(void *kernel);
/* ---- debug mode (gpu/watch.c), within begin and end ---- */
typedef struct wf__gpu_watch wf__gpu_watch;
wf__gpu_watch *wf__gpu_watch_begin(wf__gpu *gpu, const wf__stage *stage, const wf__mem *mem, wf__failure *failure);
uint64_t wf__gpu_watch_field(const wf__gpu_watch *watch, const wf__ptx_field *field);
/* After the launch: false if something was found, which is the failure. Outputs left unset go to the log. */
bool wf__gpu_watch_look(wf__gpu_watch *watch, wf__failure *failure);
void wf__gpu_watch_end(wf__gpu_watch *watch); /* NULL: no-op */
static inline uint64_t wf__gpu_address(const char *at) { return (uint64_t)(uintptr_t)at; }
#endif
