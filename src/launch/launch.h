/* launch.h - from finished recordings to runs: plans by key, prepared kernels, streams, frozen sequences, history.
 *
 * The files of src/launch, from the bottom to the top. A file calls files to its left or above it, never to its right
 * or below (tools/check_circles holds this against the objects of a build).
 *
 *     key history stream           keys of plans, notes of launches, queues
 *     again                        copies of recordings
 *     plans freeze tape            the table of plans; sequences and tapes that are being noted
 *     memo                         memos of the launches of a kernel
 *     distribute                   requests with distributed arrays
 *     request                      a request runs on this thread, by its plan or a memo
 *     submit_stream submit         the same in a stream, and the choice between the two
 *     kernel replay run            callers: prepared kernels, frozen sequences, wf_run and wf_compile
 *     fill                         arrays of one value
 *     adjoint adjoint_twice        derivatives of operators without reductions; on a tape, so that they have derivatives
 *     adjoint_parts adjoint_updates adjoint_join adjoint_reduce
 *                                  and with them, and of accumulations by minimum, maximum and product
 *     tape_grad                    derivatives through the launches on a tape
 *     apply compress context       operators made of recordings; making and freeing of contexts
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
    char *why; /* difference from the most similar older plan; NULL = unknown */
    wf__plan plan;
    _Atomic uint32_t users; /* number of users, of which the table is one */
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
    wf__history *history; /* NULL = no launch has been noted */
    uint64_t launches;    /* number of noted launches */
    wf_frozen *freezing;  /* sequences that are being noted (freeze.c) */
    wf_tape *taping;      /* tapes that note (tape.c) */
};
typedef struct wf__launcher wf__launcher;

struct wf__request;
/* Runs a plan on the processor or on a GPU. Writes a warning to the log, followed by `where`. */
bool wf__execute_plan(wf_context *ctx, wf__gpu_on on, wf__plan *plan, const char *label, const char *where,
                      char *const *base, const uint64_t *param, const wf__limits *limits, bool interpret,
                      wf__note *notes, wf__failure *failure);
/* A memo of a launch holds all that depends on its arrays, for later launches with the same arrays. A launch runs
 * without the memo while another thread holds it. */
enum { WF__MEMOS = 4, WF__MEMO_ARRAYS = 8 };
/* The lock of a memo. Launches write to it, so it is apart from the memo, which workers read. */
typedef struct wf__hold {
    _Atomic uint64_t tag; /* hash of array ids and space, a hint that is read without the lock; 0 = empty */
    _Atomic bool held;
    bool turned; /* `turned` of the latest launch, see wf__cpu_run_prepared */
} wf__hold;
typedef struct wf__memo {
    uint64_t id[WF__MEMO_ARRAYS]; /* ids of the arrays */
    int64_t dim[WF_MAX_RANK];     /* extents of the space */
    wf__plan_entry *entry;        /* plan, of which the memo is a user; NULL = empty */
    uint32_t stale; /* bit i: array i is distributed and written, so that copies of its elements are stale */
    wf__prepared call;
} wf__memo;

/* An object, or after the objects a parameter, as binding needs it. The sockets are adjacent in memory, since a launch
 * finds little of its data in the first-level cache. */
typedef struct wf__socket {
    char name[8];        /* a name of up to 7 characters; "" = no name, or a longer one, which is in the program */
    wf_array *array;     /* array of the recording; NULL = a launch gives the array */
    uint8_t dtype, rank; /* rank: 0 for a parameter */
} wf__socket;

struct wf_kernel {
    /* read by each launch */
    wf_context *ctx;
    wf__socket *socket; /* [objects + parameters] */
    wf_array **kept;    /* [kept_n] lazy arrays that the recording has made; retained; ready after the first launch */
    uint32_t kept_n;
    wf__hold hold[WF__MEMOS]; /* locks of `memo` */

    /* the recording, constant */
    wf__program program;
    wf__str recording_key; /* the recording's part of plan keys */

    /* results of earlier launches (request.c) */
    wf__mutex lock;
    wf__plan_entry *last; /* plan of the latest launch that found no memo, under `lock` */
    wf__memo memo[WF__MEMOS];
    _Atomic uint32_t next_memo; /* number of the memo to overwrite next, modulo WF__MEMOS */
    _Atomic bool noted;         /* the note of a launch has the time of recording */
};

/* ---- key.c: keys of plans: the recording's part, then the part of layouts and overlaps of the arrays ---- */
void wf__program_key(const wf__program *p, wf__str *key);
size_t wf__most_layout_words(uint32_t objects); /* returns a bound on the 64-bit words of the layouts' part */
/* Writes the layouts' part. Returns the number of its bytes. */
size_t wf__write_layouts(wf_array *const *arrays, uint32_t n, const wf_shape *space, uint64_t *word);
/* Appends the differences of the recording and layouts of a new plan from those of an old one. False = they have
 * nothing in common. */
bool wf__why_another(const wf__plan_entry *old, const wf__program *p, const wf__str *recording,
                     const wf__piece *layouts, wf__str *out);

/* ---- history (history.c) ---- */
typedef struct wf__launch_note { /* a launch that is noted */
    wf__note *stage;             /* [stages]; NULL = the launch is not noted */
    bool plan_hit;
    double record_s, plan_s;
    wf_kernel_info about; /* properties of the program */
} wf__launch_note;
/* Fills note->about. Called before the run, since the program may no longer exist afterwards. */
void wf__history_describe(wf_context *ctx, const wf__program *p, wf__launch_note *note);
/* Adds the kernels of a launch to the history, and writes those that were compiled again to the log. */
void wf__history_add(wf_context *ctx, const wf__plan_entry *e, const wf__launch_note *note);

/* ---- frozen sequences (freeze.c) ---- */
/* True if launches are noted, in the history or a sequence: each needs its plan, so none runs by a memo. */
static inline bool wf__is_noted(const wf_context *ctx)
{
    return atomic_load_explicit(&((wf_context *)ctx)->flags, memory_order_relaxed) &
           (WF_FLAG_HISTORY | WF__FREEZING | WF__TAPING);
}
/* Frees the sequences that were begun and never ended, with a warning to the log. */
void wf__freeze_abandon(wf_context *ctx);
bool wf__freezes(wf_context *ctx); /* true if this thread notes its launches */
/* Note for the sequence of this thread, if there is one: a launch; an access of the host to an array in `function`,
 * which with `fills` may write; an error. */
void wf__freeze_note(wf_context *ctx, const wf__program *p, wf__plan_entry *e, wf_array *const *arrays,
                     const uint64_t *param);
void wf__freeze_host(const wf_array *a, bool fills, const char *function);
void wf__freeze_failed(wf_context *ctx, wf_status status, const char *text);

/* ---- tapes (tape.c) ---- */
bool wf__tapes(wf_context *ctx);            /* true if this thread notes on a tape */
bool wf__copies_by_launch(wf_context *ctx); /* true if a copy has to be a launch, to be noted */
/* Fails the tape of this thread if the array depends on a watched one: the host's work on it has no derivative. */
void wf__tape_host(const wf_array *a, const char *function);
void wf__tape_note(wf_context *ctx, const struct wf__request *r); /* notes a launch that is about to run */

/* ---- requests (request.c) ---- */
typedef struct wf__request { /* to run a program */
    /* the program, and what stands for its objects and parameters */
    const wf__program *program;
    const wf__str *recording_key;
    wf_array *const *arrays; /* one per object */
    const uint64_t *param;   /* bits */
    const wf_shape *space;
    wf_kernel *kernel; /* kernel of the program; NULL = the program runs once */

    wf_array *const *kept; /* arrays that are ready after the run */
    uint32_t kept_n;

    /* where and how */
    wf_stream *stream; /* NULL = the thread's current one, if any */
    wf__limits limits;
} wf__request;
/* Room for the arrays and parameters of a launch. Up to WF__FEW_BOUND of each are inside the struct. */
enum { WF__FEW_BOUND = 16 };
typedef struct wf__bound {
    wf_array **arrays;
    uint64_t *param;
    wf_array *few[WF__FEW_BOUND];
    uint64_t few_param[WF__FEW_BOUND];
} wf__bound;
/* False = out of memory. wf__bound_end must follow in either case. */
static inline bool wf__bound_begin(wf__bound *b, const wf__program *p)
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
/* Runs a kernel by the memo of an earlier launch with these arrays, without a stream. False = there is no such memo. */
bool wf__launch_again(wf_kernel *k, wf_array *const *arrays, const uint64_t *param, const wf_shape *space);
/* Runs a request on this thread. */
wf_status wf__request_run(wf_context *ctx, const wf__request *r);
/* Returns the plan, which the caller releases, and begins the note of its run. NULL = failure, in *status. */
wf__plan_entry *wf__request_plan(wf_context *ctx, const wf__request *r, wf__launch_note *note, wf_status *status);
/* Notes a run and empties the note. */
void wf__note_run(wf_context *ctx, const wf__plan_entry *e, wf__launch_note *note);
/* Fails if an array that the request reads was never computed. `wait`: waits for queued work on the arrays first. */
wf_status wf__request_arrays(wf_context *ctx, const wf__request *r, bool wait);
void wf__note_written(const wf__request *r); /* makes the arrays ready that the request has written first */

/* ---- distribute.c ---- */
/* True if one of the arrays is distributed. */
static inline bool wf__has_distributed(const wf_context *ctx, const wf__request *r)
{
    bool has = false;
    if (atomic_load_explicit(&((wf_context *)ctx)->distributed, memory_order_relaxed))
        for (uint32_t i = 0; i < r->program->object_n; ++i)
            has = has || r->arrays[i]->distributed;
    return has;
}
/* Runs a request that has distributed arrays. Collective. */
wf_status wf__request_distributed(wf_context *ctx, const wf__request *r);

/* ---- submit_stream.c, submit.c ---- */
wf_status wf__request_queue(wf_context *ctx, const wf__request *r); /* queues the request in its stream */
/* Runs a request, or queues it in its stream. Kept arrays are then ready, or queued work computes them. */
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
    _Atomic int64_t refs; /* number of references: the owner, threads that wait for all streams */
    wf_context *ctx;
    wf_stream *next, *prev; /* neighbours in wf__launcher.streams, under the context's lock */
    wf_device device;
    wf__queue *queue; /* NULL = a CUDA stream that the program made */
    wf__gpu_on cuda;  /* GPU and CUDA stream of the work; all NULL on the processor */
    wf__mutex lock;   /* guards the fields below */
    /* Reports of failures divide time into periods. After a failure, work that was queued in its period or earlier
     * is dropped. The report of the failure ends the period. */
    uint64_t period, failed; /* failed: period of the latest failure; 0 = none */
    wf__failure error;       /* the latest failure; status WF_OK = none, or it was reported */
};
/* Queues the work. After an earlier failure on the stream, reports it as the error of this thread instead. */
wf_status wf__stream_put(wf_stream *stream, wf__work *work, const char *function);
void wf__stream_fail(wf__work *work, wf_status status, const char *text);
wf_device wf__stream_device(const wf_stream *stream);
/* Returns the stream that this thread has chosen for a device; NULL = none. */
wf_stream *wf__stream_current(wf_context *ctx, wf_device device);
/* Returns why the stream does not belong to this context, or to this device (0 = any); NULL = it belongs. */
const char *wf__stream_misfit(const wf_stream *stream, const wf_context *ctx, wf_device device);
void wf__streams_wait(wf_context *ctx);   /* waits until all streams are idle; errors stay for later calls */
void wf__streams_forget(wf_context *ctx); /* frees the list of streams that threads have chosen */

/* ---- memo.c ---- */
static inline wf__memo *wf__memo_of(wf_kernel *k, const wf__hold *h) { return &k->memo[h - k->hold]; }
/* Locks the memo of an earlier launch with these arrays. NULL = none, or another thread holds it. kernel: NULL = none. */
wf__hold *wf__memo_find(wf_kernel *kernel, wf_array *const *arrays, const wf_shape *space);
void wf__memo_unlock(wf__hold *hold);
/* Runs the call of a locked memo, which has an entry. */
void wf__memo_run(wf_kernel *kernel, wf__hold *hold, const uint64_t *param, const wf__limits *limits);
/* Notes the plan that has run with these arrays. Nothing is noted while launches are. kernel: NULL = none. */
void wf__memo_fill(wf_kernel *kernel, wf_array *const *arrays, const wf_shape *space, wf__plan_entry *plan);
void wf__memo_free(wf_context *ctx, wf__memo *memo);

/* ---- plans.c, request.c: plans, in use until released; NULL = failure, in *status ---- */
wf__plan_entry *wf__plan_look_up(wf_context *ctx, const wf__program *p, const wf__str *recording_key,
                                 const wf__piece *layouts, wf_array *const *arrays, const wf_shape *space,
                                 const wf__group *group, bool *made, wf_status *status);
wf__plan_entry *wf__plan_for(wf_context *ctx, const wf__program *p, const wf__str *recording_key,
                             wf_array *const *arrays, wf_status *status);
/* Plans once more, and writes the text about the passes that the log requests (plan.h). The name of pass WF__FINISHED
 * stands for the finished plan. */
#define WF__FINISHED "plan"
wf_status wf__plan_log(wf_context *ctx, const wf__program *p, wf_array *const *arrays, const wf__pass_log *log);
void wf__plan_release(wf_context *ctx, wf__plan_entry *entry);
void wf__plans_free(wf_context *ctx);
bool wf__kernel_sockets(wf_kernel *kernel); /* makes the sockets; false = out of memory */
#endif
