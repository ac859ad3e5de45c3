/* gpu.h - NVIDIA GPUs: opening a GPU, its memory, running plans.
 *
 * Weft shares the driver's primary context with the rest of the program. Each call restores the calling thread's
 * current context. Any thread may call any function. One thread at a time submits work to a GPU, and the GPU does the
 * work of a stream in the order of submission. Copies are complete when the call returns. Launches may run later; a
 * later call then reports their failures.
 */
#ifndef WEFT_GPU_H
#define WEFT_GPU_H
#include "run/engine.h"

typedef struct wf__gpu wf__gpu;
typedef struct wf__gpu_stream wf__gpu_stream;

/* Returns GPU number n of this machine, or of the emulator. The first call opens the GPU, wf__engine_free closes it.
 * NULL = failure. */
wf__gpu *wf__engine_gpu(wf__engine *engine, int n, bool emulated, wf__failure *failure);

/* Returns the number of GPUs. Opens the driver; without one, returns 0 and sets the failure. */
int wf__engine_gpu_count(wf__engine *engine, bool emulated, wf__failure *failure);
typedef struct wf__gpu_facts {
    const char *model;    /* owned by the GPU */
    int processors;       /* multiprocessors */
    int capability;       /* 10 * major + minor */
    int driver;           /* version of the driver */
    size_t shared_memory; /* shared memory of a thread block, in bytes */
    size_t memory_bytes, memory_free;
    size_t memory_kept; /* free memory that Weft keeps for later arrays */
} wf__gpu_facts;
bool wf__gpu_ask(wf__gpu *gpu, wf__gpu_facts *out, wf__failure *failure);
uint32_t wf__gpu_shared_memory(const wf__gpu *gpu); /* returns the shared memory of a thread block, in bytes */

/* The latest use of some memory: the stream, and the time. All zero = unused. */
typedef struct wf__gpu_use {
    uint32_t stream; /* number of the stream */
    uint64_t time;   /* on the GPU's clock */
} wf__gpu_use;
/* Allocates memory, 256-byte aligned; 0 bytes are as good as 1. *use: the latest use by an earlier owner. NULL =
 * failure. */
char *wf__gpu_alloc(wf__gpu *gpu, size_t bytes, wf__gpu_use *use, wf__failure *failure);
void wf__gpu_free(wf__gpu *gpu, char *at, size_t bytes, wf__gpu_use use); /* `bytes` as allocated; NULL: no-op */
/* Allocate and free memory that both the processor and GPUs reach: page-locked memory of the processor, or managed
 * memory. No work may use the memory when it is freed. NULL = failure. */
char *wf__gpu_alloc_shared(wf__gpu *gpu, size_t bytes, bool managed, wf__failure *failure);
void wf__gpu_free_shared(wf__gpu *gpu, char *at, bool managed);
/* True for memory that both reach, including memory that the program has allocated, if the driver knows it. */
bool wf__gpu_is_shared(wf__gpu *gpu, const char *at);
/* Copy memory. A copy runs after the latest use of each memory, and becomes the latest use. */
bool wf__gpu_upload(wf__gpu *gpu, char *to, wf__gpu_use *use, const void *from, size_t bytes, wf__failure *failure);
/* Rows that are contiguous in the processor's memory and apart in the GPU's. */
typedef struct wf__gpu_rows {
    size_t bytes; /* bytes of a row */
    int axes;
    int64_t dim[WF_MAX_RANK], step[WF_MAX_RANK]; /* rows along each axis, bytes > 0 between them; innermost last */
} wf__gpu_rows;
bool wf__gpu_upload_rows(wf__gpu *gpu, char *to, wf__gpu_use *use, const char *from, const wf__gpu_rows *rows,
                         wf__failure *failure);
bool wf__gpu_download(wf__gpu *gpu, void *to, const char *from, wf__gpu_use *use, size_t bytes, wf__failure *failure);
bool wf__gpu_copy(wf__gpu *gpu, char *to, wf__gpu_use *to_use, const char *from, wf__gpu_use *from_use, size_t bytes,
                  wf__failure *failure);

/* True if kernels on this GPU can reach the program's memory from lo to hi - 1, as far as the driver knows. */
bool wf__gpu_reaches(wf__gpu *gpu, const char *lo, const char *hi, wf__failure *failure);
/* Make streams besides the GPU's own stream: a new one, and one for a CUDA stream of the program. NULL = failure. */
wf__gpu_stream *wf__gpu_new_stream(wf__gpu *gpu, wf__failure *failure);
wf__gpu_stream *wf__gpu_wrap_stream(wf__gpu *gpu, void *stream, wf__failure *failure);
void wf__gpu_free_stream(wf__gpu *gpu, wf__gpu_stream *stream); /* no work may follow; NULL: no-op */
/* Waits for all work in the stream, also the program's. */
bool wf__gpu_finish_stream(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *failure);
bool wf__gpu_finish_work(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *failure); /* waits for Weft's work alone */
/* Events: recorded in a stream (NULL = failure), awaited by a stream or by the caller, freed. */
void *wf__gpu_record(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *failure);
bool wf__gpu_await(wf__gpu *gpu, wf__gpu_stream *stream, wf__gpu *of, void *event, wf__failure *failure);
bool wf__gpu_reached(wf__gpu *gpu, void *event, wf__failure *failure);
bool wf__gpu_elapsed(wf__gpu *gpu, void *from, void *to, double *seconds, wf__failure *failure);
void wf__gpu_free_event(wf__gpu *gpu, void *event);
/* Waits for all work. A later call reports failures. */
void wf__gpu_drain(wf__gpu *gpu);

/* The place of work: the processor, or a stream of a GPU. */
typedef struct wf__gpu_on {
    wf__gpu *gpu;            /* NULL = the processor */
    wf__gpu_stream *stream;  /* NULL = the GPU's own */
    wf__gpu_use *const *use; /* [objects] for another stream: latest uses, read and written under the GPU's lock */
} wf__gpu_on;
/* As wf__cpu_run, with a plan for this GPU and addresses in its memory. label: for messages, or NULL. */
bool wf__gpu_run(wf__gpu_on on, wf__plan *plan, const char *label, char *const *base, const uint64_t *param,
                 const wf__limits *limits, wf__note *notes, wf__failure *failure);
/* Appends the PTX of a stage for GPUs of compute capability arch/10 and later. `join`: of the kernel that joins the
 * stage's partial results; nothing if there is no such kernel. */
bool wf__gpu_stage_ptx(const wf__plan *plan, const wf__stage *stage, int arch, bool join, wf__str *out,
                       wf__failure *failure);
bool wf__gpu_finish(wf__gpu *gpu, wf__failure *failure);               /* waits for all work */
void wf__engine_finish_gpus(wf__engine *engine, wf__failure *failure); /* of all open GPUs, up to the first failure */
void wf__gpu_free_stage_code(void *engine, void *code);                /* for wf__plan_free of plans for GPUs */
#endif
