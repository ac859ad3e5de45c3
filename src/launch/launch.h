/* launch.h - from finished recordings to runs: plans by key, prepared kernels, streams, frozen sequences, history.
 *
 * The files of src/launch, from the bottom to the top. A file calls files to its left or above it, never to its right
 * or below (tools/check_circles holds this against the objects of a build).
 *
 *     key history stream           keys of plans, notes of launches, queues
 *     plans freeze                 the table of plans; sequences that are being noted
 *     request                      a request runs on this thread, by its plan or a memo
 *     submit_stream submit         the same in a stream, and the choice between the two
 *     kernel replay run            callers: prepared kernels, frozen sequences, wf_run and wf_compile
 *     apply fill compress context  operators made of recordings; making and freeing of contexts
 *     host                         operators on the host
 */
#ifndef WEFT_LAUNCH_H
#define WEFT_LAUNCH_H
#include "base/lru.h"
#include "record/record.h"
#include "run/cpu/cpu.h"

typedef struct wf__plan_entry {    /* a plan and its key; lives as long as it has users */
    wf__lru_entry lru;             /* the first member */
    uint64_t label;                /* hash of the recording's label; 0 = none */
    size_t key_len, recording_len; /* the key: the recording's part, then the layouts' part */
    unsigned char *key;
    char *why; /* how it differs from the most similar older plan; NULL = unknown */
    wf__plan plan;
    _Atomic uint32_t users; /* the table is one */
} wf__plan_entry;

typedef struct wf__plan_table {
    wf__lru lru;       /* all entries are in its order */
    size_t most_bytes; /* 0 = default */
} wf__plan_table;

typedef struct wf__history wf__history; /* history.c */
typedef struct wf__current wf__current; /* stream.c */

struct wf__launcher { /* the launches of a context, under its lock */
    wf_stream *streams;
    wf__current *current; /* streams that threads have chosen */
    wf__plan_table plans;
    wf__history *history; /* NULL: nothing was noted */
    uint64_t launches;    /* noted */
    wf_frozen *freezing;  /* sequences that are being noted (freeze.c) */
};
typedef struct wf__launcher wf__launcher;

/* Runs a plan on the processor or on a GPU. Warnings go to the log, followed by `where`. */
bool wf__execute_plan(wf_context *ctx, wf__gpu_on on, wf__plan *plan, const char *label, const char *where,
                      char *const *base, const uint64_t *param, const wf__limits *limits, bool interpret,
                      wf__note *notes, wf__failure *failure);
/* Launches with the same arrays as an earlier one find in a memo all that depends on them. A launch that cannot have
 * it at once (another thread is in it) goes the long way. */
enum { WF__MEMOS = 4, WF__MEMO_ARRAYS = 8 };
typedef struct wf__hold { /* on a memo: what each launch changes, not beside what workers read */
    _Atomic uint64_t tag; /* of ids and space: a hint, read without holding the memo; 0: empty */
    _Atomic bool held;
    bool turned; /* the latest launch was, see wf__cpu_run_prepared */
} wf__hold;
typedef struct wf__memo {
    uint64_t id[WF__MEMO_ARRAYS];
    int64_t dim[WF_MAX_RANK];
    wf__plan_entry *entry; /* used */
    wf__prepared call;
} wf__memo;

/* An object, or after the objects a parameter, as binding needs it. The sockets lie side by side, since a launch
 * finds little of its data in the first-level cache. */
typedef struct wf__socket {
    char name[8];    /* "": it has none, or a longer one, as the program says */
    wf_array *array; /* the recording's own; NULL: a launch gives it */
    uint8_t dtype, rank;
} wf__socket;

struct wf_kernel {
    wf_context *ctx;
    wf__socket *socket;
    wf_array **kept;
    uint32_t kept_n;
    wf__hold hold[WF__MEMOS];
    wf__program program;
    wf__str recording_key;
    wf__mutex lock;
    wf__plan_entry *last; /* under the lock: the plan of the latest launch that found no memo */
    wf__memo memo[WF__MEMOS];
    _Atomic uint32_t next_memo; /* to be given up */
    _Atomic bool noted;         /* a launch is in the history */
};

/* ---- keys (key.c): of the recording, and of the arrays' layouts and the way they overlap ---- */
void wf__program_key(const wf__program *p, wf__str *key);
size_t wf__most_layout_words(uint32_t objects); /* 64-bit words of the layouts' part */
size_t wf__write_layouts(wf_array *const *arrays, uint32_t n, const wf_shape *space, uint64_t *word); /* bytes */
/* In what the recording and layouts of a new plan differ from an old one's. false: they have nothing in common. */
bool wf__why_another(const wf__plan_entry *old, const wf__program *p, const wf__str *recording,
                     const wf__piece *layouts, wf__str *out);

/* ---- history (history.c) ---- */
typedef struct wf__launch_note { /* a launch that is noted */
    wf__note *stage;             /* [stages]; NULL: it is not */
    bool plan_hit;
    double record_s, plan_s;
    wf_kernel_info about; /* of the program */
} wf__launch_note;
/* Fills note->about, before the run; the program may be gone after it. */
void wf__history_describe(wf_context *ctx, const wf__program *p, wf__launch_note *note);
/* Tells the log of what was compiled again, and the history of all. */
void wf__history_add(wf_context *ctx, const wf__plan_entry *e, const wf__launch_note *note);

/* ---- frozen sequences (freeze.c) ---- */
/* True if launches are noted, in the history or a sequence: each needs its plan, so none runs by a memo. */
static inline bool wf__is_noted(const wf_context *ctx)
{
    return atomic_load_explicit(&((wf_context *)ctx)->flags, memory_order_relaxed) & (WF_FLAG_HISTORY | WF__FREEZING);
}
bool wf__freezes(wf_context *ctx); /* true if this thread notes its launches */
/* Notes, for the sequence of this thread, if there is one: a launch; that the host reads the array in `function`, or with
 * `fills` may also write it; an error. */
void wf__freeze_note(wf_context *ctx, const wf__program *p, wf__plan_entry *e, wf_array *const *arrays,
                     const uint64_t *param);
void wf__freeze_host(const wf_array *a, bool fills, const char *function);
void wf__freeze_failed(wf_context *ctx, wf_status status, const char *text);

/* ---- requests (request.c) ---- */
typedef struct wf__request { /* to run a program */
    /* the program, and what stands for its objects and parameters */
    const wf__program *program;
    const wf__str *recording_key;
    wf_array *const *arrays; /* one per object */
    const uint64_t *param;   /* bits */
    const wf_shape *space;
    wf_kernel *kernel; /* kernel of the program; NULL = it is run once */

    wf_array *const *kept; /* arrays that are ready afterwards */
    uint32_t kept_n;

    /* where and how */
    wf_stream *stream; /* NULL = the thread's current one, if any */
    wf__limits limits;
} wf__request;
/* Room for the arrays and parameters of a launch, in itself as far as there are few. */
enum { WF__FEW_BOUND = 16 };
typedef struct wf__bound {
    wf_array **arrays;
    uint64_t *param;
    wf_array *few[WF__FEW_BOUND];
    uint64_t few_param[WF__FEW_BOUND];
} wf__bound;
static inline bool wf__bound_begin(wf__bound *b, const wf__program *p) /* false: without memory. Ends in any case */
{
    b->arrays = p->object_n > WF__FEW_BOUND ? wf__alloc(p->object_n * sizeof *b->arrays) : b->few;
    b->param = p->param_n > WF__FEW_BOUND ? wf__alloc(p->param_n * sizeof *b->param) : b->few_param;
    return b->arrays && b->param;
}
static inline void wf__bound_end(wf__bound *b)
{
    if (b->arrays != b->few)
        wf__free(b->arrays);
    if (b->param != b->few_param)
        wf__free(b->param);
}
/* Runs a kernel by the memo of an earlier launch with these arrays, without a stream. False if there is no such memo. */
bool wf__launch_again(wf_kernel *k, wf_array *const *arrays, const uint64_t *param, const wf_shape *space);
/* Runs a request on this thread. */
wf_status wf__request_run(wf_context *ctx, const wf__request *r);
/* Returns the plan, used, and what is to be noted of its run; NULL = *status says why. */
wf__plan_entry *wf__request_plan(wf_context *ctx, const wf__request *r, wf__launch_note *note, wf_status *status);
/* Notes a run and empties the note. */
void wf__note_run(wf_context *ctx, const wf__plan_entry *e, wf__launch_note *note);
/* Fails if an array that the request reads was never computed. `wait`: waits for queued work on the arrays first. */
wf_status wf__request_arrays(wf_context *ctx, const wf__request *r, bool wait);
void wf__note_written(const wf__request *r); /* kept arrays that were never computed have contents now */

/* ---- submit_stream.c, submit.c ---- */
wf_status wf__request_queue(wf_context *ctx, const wf__request *r); /* queues it in its stream */
/* Runs a request, or queues it in its stream. Kept arrays are then ready or promised. */
wf_status wf__submit(wf_context *ctx, const wf__request *r);

/* ---- run.c: services (object.h) ---- */
wf_status wf__run_part(wf_graph *g, const wf__program *part, wf_array *const *arrays, const uint64_t *param);
wf_array *wf__copy_by_launch(const wf_array *from);
bool wf__copy_into_by_launch(const wf_array *from, wf_array *to);

/* ---- streams (stream.c) ---- */
typedef struct wf__work { /* a queued piece of work; the first member of every kind of work */
    wf__task task;
    wf_stream *stream;
    uint64_t period;
    void (*run)(struct wf__work *work, bool dropped); /* frees it */
} wf__work;
struct wf_stream {
    _Atomic int64_t refs; /* the owner, wf_sync */
    wf_context *ctx;
    wf_stream *next, *prev; /* in ctx->streams, under the context's lock */
    wf_device device;
    wf__queue *queue; /* NULL: a CUDA stream of the program's */
    wf__gpu_on cuda;  /* of a GPU: where its work is done */
    wf__mutex lock;   /* of what follows */
    /* Reports of failures divide time into periods. After a failure, work that was queued in its period or earlier
     * is dropped. The report of the failure ends the period. */
    uint64_t period, failed; /* failed: period of the latest failure; 0: none */
    wf__failure error;       /* status WF_OK: none, or it was reported */
};
/* Queues the work, or reports (in this thread's error) what failed on the stream before; then the work is not taken. */
wf_status wf__stream_put(wf_stream *stream, wf__work *work, const char *function);
void wf__stream_fail(wf__work *work, wf_status status, const char *text);
wf_device wf__stream_device(const wf_stream *stream);
/* The stream that this thread has chosen for a device; NULL: none. */
wf_stream *wf__stream_current(wf_context *ctx, wf_device device);
/* Returns why the stream does not belong to this context, or to this device (0 = any); NULL = it belongs. */
const char *wf__stream_misfit(const wf_stream *stream, const wf_context *ctx, wf_device device);
void wf__streams_wait(wf_context *ctx);   /* until they have nothing to do; errors stay for later */
void wf__streams_forget(wf_context *ctx); /* frees what threads have chosen */
/* ---- plans (plans.c): in use until released; NULL: *status says why ---- */
wf__plan_entry *wf__plan_look_up(wf_context *ctx, const wf__program *p, const wf__str *recording_key,
                                 const wf__piece *layouts, wf_array *const *arrays, const wf_shape *space, bool *made,
                                 wf_status *status);
wf__plan_entry *wf__plan_for(wf_context *ctx, const wf__program *p, const wf__str *recording_key,
                             wf_array *const *arrays, wf_status *status);
/* Plans once more, for what planning writes of its passes (plan.h); "plan" as a pass stands for the finished plan. */
#define WF__FINISHED "plan"
wf_status wf__plan_log(wf_context *ctx, const wf__program *p, wf_array *const *arrays, const wf__pass_log *log);
void wf__plan_release(wf_context *ctx, wf__plan_entry *entry);
void wf__plans_free(wf_context *ctx);
void wf__memo_free(wf_context *ctx, wf__memo *memo);
bool wf__kernel_sockets(wf_kernel *kernel); /* of its program; false: out of memory */
#endif
