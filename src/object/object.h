/* object.h - objects that programs hold by a handle, except recordings and launches: contexts with their errors,
 * devices, arrays and their memory.
 *
 * The files of src/object, from the bottom to the top. A file calls files to its left or above it, never to its right
 * or below (tools/check_circles holds this against the objects of a build).
 *
 *     context device buffer     errors, devices, memory
 *     handle                    properties of an array: dtype, shape, span, state
 *     share                     copies on write
 *     array view                arrays are made, viewed and freed
 *     transfer                  contents on the host
 */
#ifndef WEFT_OBJECT_H
#define WEFT_OBJECT_H
#include "base/os.h"
#include "plan/plan.h"
#include "run/engine.h"
#include "run/gpu/gpu.h"
#include "run/thread/queue.h"
#include "weft/ranks.h"
#include <stdatomic.h>

/* ---- context ---- */
typedef struct wf__thread_error wf__thread_error; /* context.c */
typedef struct wf__shown wf__shown;               /* record/watch.c */
typedef struct wf__distributed wf__distributed;   /* below */
typedef struct wf__program wf__program;           /* record/record.h */

/* What the host does with the contents of an array. */
typedef enum wf__host_access {
    WF__HOST_READS,
    WF__HOST_WRITES,
    WF__HOST_MAPS, /* gets the address, and may do both */
    WF__HOST_MOVES /* copies them to another device */
} wf__host_access;

/* How a result is distributed that is computed from distributed arrays. */
typedef struct wf__beside {
    const wf_array *like; /* the result belongs to the group of this one; NULL = each rank has all of it */
    wf_dist dist;
} wf__beside;

/* Functions of src/launch, src/record and src/dist that files below them call. */
typedef struct wf__services {
    void (*free)(wf_context *ctx); /* called when the last reference is gone */
    wf_status (*evaluate)(wf_graph *g);
    /* Copy the elements of an array by a launch: into a new array (NULL = the context's error is set), or into `to`. */
    wf_array *(*copy)(const wf_array *from);
    bool (*copy_into)(const wf_array *from, wf_array *to);
    void (*free_shown)(wf_context *ctx, wf__shown *shown);
    void (*free_distributed)(wf_context *ctx, wf__distributed *distributed);
    void (*end_group)(const wf_array *distributed, const char *text); /* ends its group of ranks, for lack of memory */
    /* Find how a result is distributed: dist/dist.h. */
    bool (*beside_operands)(const wf_array *const *operand, size_t n, wf_axes dropped, const wf_shape *shape,
                            wf__beside *out);
    void (*beside_group)(const wf_array *operand, const int along[WF_MAX_RANK], const wf_shape *shape, wf__beside *out);
    /* Returns an array that is distributed so over the group of `like`; NULL = the context's error is set. */
    wf_array *(*like_distributed)(const wf_array *like, wf_dtype dtype, const wf_dist *dist);
    /* Runs a part of a recording with these arrays and parameters, in the stream of `g`. Its kept arrays are then
     * ready. */
    wf_status (*run_part)(wf_graph *g, const wf__program *part, wf_array *const *arrays, const uint64_t *param);
    const char *(*stream_misfit)(const wf_stream *stream, const wf_context *ctx, wf_device device);
    wf_device (*stream_device)(const wf_stream *stream);
    /* observers of the sequence of launches that a thread freezes (launch/freeze.c) */
    bool (*copies)(wf_context *ctx); /* true if copies are launches, as this thread notes them */
    void (*on_host_access)(const wf_array *array, wf__host_access access, const char *function);
    void (*on_error)(wf_context *ctx, wf_status status, const char *text);
} wf__services;

struct wf_context {
    /* read by each launch */
    wf__engine *engine;          /* threads, memory and code of runs */
    _Atomic uint32_t flags;      /* the context's WF_FLAG_*, and WF__FREEZING */
    _Atomic bool streaming;      /* true from the creation of the first stream on */
    _Atomic int64_t distributed; /* number of distributed arrays */
    _Atomic int64_t borrowers;   /* number of arrays that share memory until it is written (share.c) */

    /* the folders above, constant */
    const wf__services *services;  /* functions of src/launch and src/record */
    struct wf__graphs *graphs;     /* state of src/record, under `lock` */
    struct wf__launcher *launcher; /* state of src/launch, under `lock` */

    /* counters */
    _Atomic int64_t refs;        /* number of references: the owner, arrays, graphs, kernels, streams and events */
    _Atomic uint64_t last_array; /* the newest id of an array or buffer */

    /* settings of the program; only `expand_bytes` changes */
    wf_device device;                                     /* default device of arrays and recordings */
    _Atomic uint64_t expand_bytes;                        /* most bytes that private copies take in a launch */
    void (*log)(int level, const char *text, void *user); /* receiver of warnings and notes; NULL = none */
    void *log_user;                                       /* last argument of `log` */

    /* progress of queued work; any thread waits for it */
    wf__progress progress;

    /* under `lock` */
    wf__mutex lock;
    wf__thread_error *errors;      /* first error of each thread (context.c) */
    struct wf__kept *kept;         /* objects of libraries (wf_context_object) */
    struct wf__dist_group *groups; /* groups of ranks that arrays are distributed over (src/dist) */
    bool owned;                    /* wf_context_free has not been called */

    /* copies on write (share.c) */
    wf__mutex share_lock; /* lock of the lists of borrowers, and of what moves with them */
    wf__cond unread;      /* signal that the last reader of a buffer has left */
};
void wf__errors_free(wf_context *ctx);
/* Releases the objects of libraries, and refuses new ones from now on. */
void wf__kept_free(wf_context *ctx);
void wf__context_retain(wf_context *ctx);
void wf__context_release(wf_context *ctx);
wf_status wf__error(wf_context *ctx, wf_status status, const char *format, ...) WF__PRINTF(3, 4); /* returns status */
uint64_t wf__this_thread(void); /* returns a number that no other thread has or had */
static inline bool wf__has_history(const wf_context *ctx)
{
    return atomic_load_explicit(&((wf_context *)ctx)->flags, memory_order_relaxed) & WF_FLAG_HISTORY;
}
enum {                         /* flags of a context in which a thread notes its launches */
       WF__FREEZING = 1 << 30, /* in a frozen sequence */
       WF__TAPING = 1 << 29    /* on a tape */
};
static inline bool wf__is_taping(const wf_context *ctx)
{
    return atomic_load_explicit(&((wf_context *)ctx)->flags, memory_order_relaxed) & WF__TAPING;
}
static inline bool wf__is_freezing(const wf_context *ctx)
{
    return atomic_load_explicit(&((wf_context *)ctx)->flags, memory_order_relaxed) & WF__FREEZING;
}

/* ---- arrays ---- */
typedef struct wf__buffer { /* memory, shared by views */
    _Atomic int64_t refs;
    char *data;
    wf__gpu *gpu;            /* the GPU that owns the memory; NULL = memory of the processor */
    wf__gpu_use use;         /* uses by work on the GPU, under the GPU's lock */
    size_t bytes;            /* size of memory from the context's allocator; 0 = memory of the caller */
    void (*release)(void *); /* releases memory of the caller, with `user` */
    void *user;
    uint64_t id;          /* unique among the buffers of the context */
    _Atomic bool exposed; /* wf_map has returned the address, so the memory has no new borrowers */
    /* under the share lock (share.c) */
    struct wf_array *borrower; /* list of the handles that borrow the memory */
    int64_t readers;           /* running readers through borrowers */
    /* queued work */
    _Atomic int64_t pending;   /* pieces of work that use the memory */
    _Atomic int64_t computing; /* pieces of work that compute it as a kept array */
    _Atomic int fault;         /* wf__fault: outcome of work that failed or was dropped */
} wf__buffer;
typedef enum wf__fault {
    WF__SOUND,
    WF__NOT_COMPUTED, /* a kept array was not computed */
    WF__LOST          /* an array was not written as it should have been; ends when the host gets the error */
} wf__fault;

/* How the elements of an array are distributed over ranks (src/dist). Element [0, ..., 0] of the array, its base, may lie
 * outside of the memory. */
struct wf__distributed {
    wf_ranks *ranks;              /* borrowed from the program */
    struct wf__dist_group *group; /* state that the arrays of a group of ranks share */
    wf_dist dist;
    wf__box block; /* elements that are this rank's */
    wf__box held;  /* elements that the memory has room for: the block among them, or a part of the array */
    int64_t views; /* number of views of the block that were not ended, which may write it */
    struct wf__exchange *exchange; /* exchanges with neighbours, the latest one first */
    struct wf__exchange *fresh;    /* the one that was done since the array was written; NULL = none */
    bool lacks;                    /* it failed on this rank, or on one that sends to it */
};

struct wf_array { /* All fields but `state` are constant, except the memory and id of a borrower (share.c) and of
                     a distributed array (src/dist). */
    /* read by each launch */
    _Atomic int64_t refs;
    uint64_t id; /* never used for another array of the context */
    wf_context *ctx;
    char *name;       /* name of a formal or local array; else NULL */
    wf_device device; /* WF_CPU or a GPU; 0 = a formal */
    wf_dtype dtype;
    _Atomic int state; /* wf_state */
    bool read_only;
    bool kept;      /* made by wf_keep, to hold a value */
    bool zeroed;    /* scratch that is zero at the start of each run */
    wf_shape shape; /* launches read only the rank */
    /* not read by each launch */
    int64_t stride[WF_MAX_RANK];
    wf__buffer *buffer;           /* NULL = a formal */
    char *base;                   /* address of element [0, ..., 0] */
    const char *lo, *hi;          /* bounds of the bytes that the array spans */
    uint64_t group;               /* common number of a borrowing copy and its views; 0 = the array does not borrow */
    wf_array *next, *prev;        /* borrowers of the buffer */
    wf__distributed *distributed; /* NULL = this process has all elements */
    int scratch;                  /* 1 + the number of axes before those that the operator gives; 0 = no scratch */
    uint32_t local;               /* 1 + the first variable of a local array; 0 = no local array */
    uint32_t number;              /* number of local arrays that were made before this one */
    wf__shown *shown;             /* state of wf_watch (record/watch.c); NULL = the array is not watched */
    wf_graph *graph; /* recording of a formal or scratch until it is finished, or of a lazy array until it has run */
};

/* ---- device.c ---- */
/* Returns the device in whose memory a device works: WF_CPU, or a GPU. */
static inline wf_device wf__memory_of(wf_device device) { return device == WF_INTERP ? WF_CPU : device; }
static inline bool wf__is_gpu(wf_device device) { return device >= WF_GPU(0); }
static inline bool wf__is_emulated(wf_device device) { return device >= WF_GPU_EMU(0); }
static inline int wf__gpu_number(wf_device device)
{
    return device - (wf__is_emulated(device) ? WF_GPU_EMU(0) : WF_GPU(0));
}
void wf__set_target(wf__recording *rec, wf_device device);    /* sets the device that plans of the recording are for */
const char *wf__device_name(wf_device device, char text[32]); /* returns "cuda:0", for example */
/* Returns the GPU, opened; NULL = the context's error is set. */
wf__gpu *wf__gpu_of(wf_context *ctx, const char *function, wf_device device);
/* True if there is such a device, or it is 0. Opens a GPU. False = the context's error is set. */
bool wf__device_known(wf_context *ctx, const char *function, wf_device device);

/* ---- buffer.c ---- */
/* Returns a buffer with one reference; NULL = out of memory. */
wf__buffer *wf__buffer_new(wf_context *ctx, size_t bytes);
/* Return a buffer in a GPU's memory, or in memory of its driver that the processor reaches. NULL = failure, in *f. */
wf__buffer *wf__buffer_on_gpu(wf_context *ctx, wf__gpu *gpu, size_t bytes, wf__failure *f);
wf__buffer *wf__buffer_shared(wf_context *ctx, wf__gpu *gpu, bool managed, size_t bytes, wf__failure *f);
/* Returns new memory on the device of `like`, with a copy of the bytes at `from` there. NULL = no memory, or the device
 * is lost. */
wf__buffer *wf__buffer_of(wf_context *ctx, wf__buffer *like, const char *from, size_t bytes);
void wf__buffer_release(wf_context *ctx, wf__buffer *buffer); /* NULL: no-op */

/* ---- handle.c ---- */
static inline uint64_t wf__new_array_id(wf_context *ctx)
{
    return atomic_fetch_add_explicit(&ctx->last_array, 1, memory_order_relaxed) + 1;
}
void wf__c_order(const wf_shape *shape, int64_t *stride);
/* Sets the smallest and largest element offsets. False on overflow. */
bool wf__reach(const wf_shape *shape, const int64_t *stride, int64_t *lo, int64_t *hi);
/* What a message says of a read-only array. */
#define WF__READ_ONLY "read-only: a broadcast view, memory that may not be written, or an axis has stride 0"
wf_array *wf__array_handle(wf_context *ctx, wf_dtype dtype, const wf_shape *shape); /* makes an array without memory */
void wf__array_drop_handle(wf_array *a);                                            /* frees the handle alone */
void wf__array_span(wf_array *a); /* sets lo and hi from base, shape and strides */
void wf__array_bind(const wf_array *a, wf__bind *out);
/* Returns the overlap of two arrays whose spans meet. */
wf__overlap wf__array_meeting(const wf_array *a, const wf_array *b);
static inline wf__overlap wf__array_overlap(const wf_array *a, const wf_array *b)
{
    return a->hi <= b->lo || b->hi <= a->lo ? WF__APART : wf__array_meeting(a, b);
}
static inline bool wf__sharing(const wf_context *ctx) { return atomic_load(&((wf_context *)ctx)->borrowers) != 0; }
/* Returns wf_array_state, except that an array which queued work computes is ready: recordings may use it. */
wf_state wf__array_promised(const wf_array *a);
/* Evaluates the open recording that keeps the array, unless it is `by`, since the host (`by` = NULL) or the
 * recording `by` is about to use the array. Returns false on failure, with the context's error set. */
bool wf__array_evaluate(const wf_array *a, const wf_graph *by);
/* True unless a list of n entries is NULL; else false, with an error. */
bool wf__is_given(wf_context *ctx, const void *list, size_t n, const char *function);
/* True if this process has the contents: the array is neither a formal, nor scratch, nor distributed; else sets the
 * context's error. */
bool wf__array_holds(const wf_array *a, const char *function);
/* Evaluates the open recording that keeps the array. True unless its contents have never been computed, which is the
 * context's error. */
bool wf__array_computed(const wf_array *a, const char *function);
/* The same for contents that this process has: likewise false as wf__array_holds. */
bool wf__array_usable(const wf_array *a, const char *function);

/* ---- share.c: copies on write ---- */
/* Keeps the array's memory from moving until the buffer is unpinned, for a reader. NULL = nothing to unpin. */
wf__buffer *wf__array_pin(const wf_array *a);
void wf__array_unpin(wf_context *ctx, wf__buffer *pinned);
void wf__array_wait(const wf_array *a); /* waits for queued work on the array */
/* Separates the array and its views from copies that share their memory, before a write. False = out of memory, with
 * the context's error set. */
bool wf__array_own(wf_array *a, const char *function);
bool wf__array_expose(wf_array *a); /* as wf__array_own, for wf_map; the memory has no new borrowers afterwards */
/* Owns the arrays that a launch writes, then pins all its arrays, while there are borrowers. wf__arrays_end unpins. */
bool wf__arrays_begin(wf_context *ctx, wf_array *const *arrays, uint32_t n, const bool *written, wf__buffer **pinned,
                      const char *function);
void wf__arrays_end(wf_context *ctx, uint32_t n, wf__buffer *const *pinned);
/* Gives a view its memory, which does not move until wf__view_end. wf__view_end computes the span. */
void wf__view_begin(wf_array *view, const wf_array *of);
wf_array *wf__view_end(wf_array *view);
void wf__array_leave(wf_array *a); /* ends the borrowing of an array, before its handle is freed */
/* True if the arrays name common memory, also after copies on write have moved. */
bool wf__array_may_meet(const wf_array *a, const wf_array *b);

/* ---- array.c ---- */
/* Returns a new array that is distributed so, or that is on the device. */
wf_array *wf__array_beside(wf_context *ctx, const char *function, wf_dtype dtype, const wf_shape *shape,
                           const wf__beside *as, wf_device device);
/* Returns an array with memory of its own. strides NULL = C order; device 0 = the context's. `function` names the
 * caller in messages. */
wf_array *wf__array_make(wf_context *ctx, const char *function, wf_dtype dtype, const wf_shape *shape,
                         const int64_t *strides, wf_device device);
/* Returns an array without memory, in WF_STATE_FORMAL: each plan places it. */
wf_array *wf__array_planned(wf_context *ctx, const char *function, wf_dtype dtype, const wf_shape *shape,
                            wf_device device);
wf_array *wf__formal_new(wf_context *ctx, const char *name, wf_dtype dtype, int rank);

/* ---- transfer.c ---- */
/* Waits for the contents, before the host uses them. False = there are none, or the work that should have written them
 * failed; this failure is reported once. */
bool wf__array_arrived(const wf_array *a, const char *function);
#endif
