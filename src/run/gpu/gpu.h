/* gpu.h - NVIDIA GPUs: opening one, its memory, running plans on it. The driver's primary context is shared with the
 * rest of the program; which context is current for the calling thread is as it was after each call. All functions may
 * be called from any thread; work on one GPU is given to it by one thread at a time, and done in that order but for
 * what is in different streams. Copies are complete when the call returns, launches need not be: their failures are
 * those of a later call.
 */
#ifndef WEFT_GPU_H
#define WEFT_GPU_H
#include "run/engine.h"

typedef struct wf__gpu wf__gpu;
typedef struct wf__gpu_stream wf__gpu_stream;

/* GPU number n of this machine, or of the emulator; opened at the first call, closed with the engine. NULL: the failure
 * says why. */
wf__gpu *wf__engine_gpu(wf__engine *engine, int n, bool emulated, wf__failure *failure);

/* How many there are; 0 and a failure without a driver. Opens it. */
int wf__engine_gpu_count(wf__engine *engine, bool emulated, wf__failure *failure);
typedef struct wf__gpu_facts {
    const char *model;                             /* the GPU's */
    int processors, capability, driver;            /* multiprocessors, 10 * major + minor, its version */
    size_t team_memory;                            /* bytes that threads of a block can share */
    size_t memory_bytes, memory_free, memory_kept; /* kept: for arrays to come */
} wf__gpu_facts;
bool wf__gpu_ask(wf__gpu *gpu, wf__gpu_facts *out, wf__failure *failure);
uint32_t wf__gpu_team_memory(const wf__gpu *gpu); /* bytes that threads of a block can share */

/* Which stream has used some memory last, and when; of the GPU's own nothing need be known. All zero: none has. */
typedef struct wf__gpu_use {
    uint32_t stream; /* its number */
    uint64_t time;   /* on the GPU's clock */
} wf__gpu_use;
/* 256-byte aligned; NULL: failure. 0 bytes are as good as 1. *use: of what had the memory before. */
char *wf__gpu_alloc(wf__gpu *gpu, size_t bytes, wf__gpu_use *use, wf__failure *failure);
void wf__gpu_free(wf__gpu *gpu, char *at, size_t bytes, wf__gpu_use use); /* as many as were asked for; NULL is fine */
/* Memory that the processor and GPUs reach: page-locked memory of the processor, or managed. Freed at once, and not
 * while anybody uses it. NULL: failure. */
char *wf__gpu_alloc_shared(wf__gpu *gpu, size_t bytes, bool managed, wf__failure *failure);
void wf__gpu_free_shared(wf__gpu *gpu, char *at, bool managed);
bool wf__gpu_is_shared(wf__gpu *gpu, const char *at); /* as far as the driver knows; the program's own, too */
/* Copies come after the uses of the memory, and become the latest. */
bool wf__gpu_upload(wf__gpu *gpu, char *to, wf__gpu_use *use, const void *from, size_t bytes, wf__failure *failure);
/* Rows of so many bytes, one after the other at `from`, to places that lie so many bytes (> 0) apart along each
 * axis, the innermost last; nothing between them is touched. */
typedef struct wf__gpu_rows {
    size_t bytes;
    int axes;
    int64_t dim[WF_MAX_RANK], step[WF_MAX_RANK];
} wf__gpu_rows;
bool wf__gpu_upload_rows(wf__gpu *gpu, char *to, wf__gpu_use *use, const char *from, const wf__gpu_rows *rows,
                         wf__failure *failure);
bool wf__gpu_download(wf__gpu *gpu, void *to, const char *from, wf__gpu_use *use, size_t bytes, wf__failure *failure);
bool wf__gpu_copy(wf__gpu *gpu, char *to, wf__gpu_use *to_use, const char *from, wf__gpu_use *from_use, size_t bytes,
                  wf__failure *failure);

/* Of the host program's own memory: can kernels on this GPU reach all bytes from lo to hi - 1, as far as the driver
 * knows? Else the failure says what is there. */
bool wf__gpu_reaches(wf__gpu *gpu, const char *lo, const char *hi, wf__failure *failure);
/* Streams besides the GPU's own: new ones, and CUDA streams of the host program's. NULL: failure. */
wf__gpu_stream *wf__gpu_new_stream(wf__gpu *gpu, wf__failure *failure);
wf__gpu_stream *wf__gpu_wrap_stream(wf__gpu *gpu, void *stream, wf__failure *failure);
void wf__gpu_free_stream(wf__gpu *gpu, wf__gpu_stream *stream); /* when it gets no more; NULL: no-op */
/* Waits for it, also for what the program has in it. */
bool wf__gpu_finish_stream(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *failure);
bool wf__gpu_finish_work(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *failure); /* only for what is ours in it */
/* Events: recorded in such a stream (NULL: failure), waited for by one or by the caller, freed. */
void *wf__gpu_record(wf__gpu *gpu, wf__gpu_stream *stream, wf__failure *failure);
bool wf__gpu_await(wf__gpu *gpu, wf__gpu_stream *stream, wf__gpu *of, void *event, wf__failure *failure);
bool wf__gpu_reached(wf__gpu *gpu, void *event, wf__failure *failure);
bool wf__gpu_elapsed(wf__gpu *gpu, void *from, void *to, double *seconds, wf__failure *failure);
void wf__gpu_free_event(wf__gpu *gpu, void *event);
/* Waits for all work without asking how it went: failures stay for later calls. */
void wf__gpu_settle(wf__gpu *gpu);

/* Where work is done: on the processor (gpu NULL), or a GPU, in a stream. */
typedef struct wf__gpu_on {
    wf__gpu *gpu;
    wf__gpu_stream *stream; /* NULL: its own */
    /* Of another: the uses of the plan's objects, in their order. What another stream does with an object comes before.
     * They are read and written while the GPU is in use by nobody else. */
    wf__gpu_use *const *use;
} wf__gpu_on;
/* As wf__cpu_run, with a plan for this GPU and addresses in its memory. `label`: for messages; NULL: none. */
bool wf__gpu_run(wf__gpu_on on, wf__plan *plan, const char *label, char *const *base, const uint64_t *param,
                 const wf__limits *limits, wf__note *notes, wf__failure *failure);
/* The next stage, if the kernel that makes the results of this one's reductions does it, too; else NULL. */
const wf__stage *wf__gpu_post(const wf__plan *plan, const wf__stage *stage);
/* Appends the PTX of a stage for GPUs of compute capability arch/10 and later. `join`: of the kernel that joins the
 * stage's partial results; nothing if there is no such kernel. */
wf_status wf__gpu_stage_ptx(const wf__plan *plan, const wf__stage *stage, int arch, bool join, wf__str *out,
                            wf__str *error);
bool wf__gpu_finish(wf__gpu *gpu, wf__failure *failure);               /* waits for all of it */
void wf__engine_finish_gpus(wf__engine *engine, wf__failure *failure); /* of those that are open; the first */
void wf__gpu_free_stage_code(void *engine, void *code);                /* for wf__plan_free of plans for GPUs */
#endif
