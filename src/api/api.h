/* api.h - the objects behind the public handles, shared by the files of this folder. */
#ifndef WEFT_API_H
#define WEFT_API_H
#include "base/os.h"
#include "plan/plan.h"
#include "run/engine.h"
#include "run/gpu.h"
#include "run/queue.h"
#include <stdatomic.h>

/* ---- context ---- */
typedef struct wf__thread_error { /* the first error of one thread */
    struct wf__thread_error *next;
    uint64_t thread;
    wf_status status;
    char text[1024];
} wf__thread_error;

typedef struct wf__plan_entry { /* a plan and the key it was made for; lives as long as somebody uses it */
    struct wf__plan_entry *chain, *newer, *older; /* in the table */
    uint64_t hash, label;                         /* label: a hash of the recording's, 0: none */
    size_t bytes;                                 /* of memory, about */
    size_t key_len, recording_len;                /* the key: a recording's part, then the layouts' part */
    unsigned char *key;
    char *why; /* it was made though there was one like it; NULL: unknown */
    wf__plan plan;
    _Atomic uint32_t users; /* the table is one */
} wf__plan_entry;

typedef struct wf__plan_table {
    wf__plan_entry **place;
    uint32_t n, places;              /* places: a power of two, or 0 */
    wf__plan_entry *newest, *oldest; /* asked for */
    size_t bytes, most_bytes;        /* most_bytes: 0 for the default */
} wf__plan_table;

typedef struct wf__history wf__history; /* history.c */
typedef struct wf__current wf__current; /* stream.c */

struct wf_context {
    /* what each launch looks at */
    wf__engine *engine;
    _Atomic uint32_t flags;
    _Atomic bool streaming;    /* there is a stream, or was: what launches and host access ask first */
    _Atomic int64_t borrowers; /* arrays that share memory until it is written */
    /* and what it does not */
    _Atomic int64_t refs;        /* the owner, arrays, graphs, kernels, streams and events */
    _Atomic uint64_t last_array; /* id */
    wf_device device;
    _Atomic uint64_t expand_bytes;
    wf__progress progress; /* of queued work */
    wf__mutex lock;        /* of what follows */
    wf_stream *streams;
    wf__current *current; /* streams that threads have chosen */
    wf__thread_error *errors;
    wf__plan_table plans;
    wf_graph *open, *spare; /* recordings in progress; emptied ones kept for their memory */
    uint32_t spares;
    void (*log)(int level, const char *text, void *user);
    void *log_user;
    wf__mutex share_lock; /* of what follows, and of everything about borrowers (share.c) */
    wf__cond unread;      /* a buffer has no readers any more */
    wf__history *history; /* NULL: nothing was noted */
    uint64_t launches;    /* noted */
    wf_frozen *freezing;  /* sequences that are being noted (freeze.c) */
};
void wf__context_retain(wf_context *ctx);
void wf__context_release(wf_context *ctx);
wf_status wf__error(wf_context *ctx, wf_status status, const char *format, ...) WF__PRINTF(3, 4); /* returns status */

/* ---- arrays ---- */
typedef struct wf__buffer { /* memory, shared by views */
    _Atomic int64_t refs;
    char *data;
    wf__gpu *gpu;            /* whose memory it is; NULL: the processor's */
    wf__gpu_use use;         /* then; under its lock */
    size_t bytes;            /* from the context's allocator; 0: the caller's memory */
    void (*release)(void *); /* the caller's memory */
    void *user;
    uint64_t id;               /* of no other buffer of the context */
    _Atomic bool exposed;      /* wf_map gave its address away: it is not lent any more */
    struct wf_array *borrower; /* under the share lock, as is what follows: a list of handles */
    int64_t readers;           /* through borrowers, now */
    /* Of queued work: how much of it uses the memory; how much of that computes it as a kept array; and what became of
     * work that failed or was dropped. */
    _Atomic int64_t pending, coming;
    _Atomic int fault; /* wf__fault */
} wf__buffer;
typedef enum wf__fault {
    WF__SOUND,
    WF__NEVER_CAME, /* a kept array was not computed */
    WF__LOST        /* an array was not written that should have been; until the host has been told */
} wf__fault;

typedef struct wf__shown wf__shown; /* watch.c */
struct wf_array { /* state apart, what is here never changes, but for a borrower's memory and id (share.c) */
    /* what each launch looks at */
    _Atomic int64_t refs;
    uint64_t id; /* of no other array of the context, before or after */
    wf_context *ctx;
    char *name;       /* of a formal, a local array; else NULL */
    wf_device device; /* WF_CPU or a GPU; of a formal: 0 */
    wf_dtype dtype;
    _Atomic int state; /* wf_state */
    bool read_only;
    bool kept;      /* made by wf_keep, to hold a value */
    bool zeroed;    /* of scratch: before each run */
    wf_shape shape; /* the rank, too */
    /* and what it does not */
    int64_t stride[WF_MAX_RANK];
    wf__buffer *buffer;    /* NULL: a formal */
    char *base;            /* element [0, ..., 0] */
    const char *lo, *hi;   /* the bytes it spans */
    uint64_t group;        /* of a copy that borrows, and its views; 0: it does not */
    wf_array *next, *prev; /* borrowers of the buffer */
    int scratch;           /* of scratch: 1 + the number of axes before those that the operator gives; else 0 */
    uint32_t local;        /* of a local array: 1 + the first of its variables; else 0 */
    uint32_t number;       /* of a local array: how many were made before it */
    wf__shown *shown;      /* of wf_watch; else NULL */
    wf_graph *graph; /* of formals and scratch, until the recording is finished; of a lazy array, until it has run */
};
wf_array *wf__array_handle(wf_context *ctx, wf_dtype dtype, const wf_shape *shape); /* no memory yet */
void wf__c_order(const wf_shape *shape, int64_t *stride);
/* Own memory; strides NULL: C order; device 0: the context's. `function` names the caller in messages. */
wf_array *wf__array_make(wf_context *ctx, const char *function, wf_dtype dtype, const wf_shape *shape,
                         const int64_t *strides, wf_device device);
/* fill.c: wf_full on a device (0: the context's). */
wf_array *wf__full_on(wf_context *ctx, wf_dtype dtype, const wf_shape *shape, double value, wf_device device);
/* Without memory, WF_FORMAL: plans find it a place. */
wf_array *wf__array_planned(wf_context *ctx, const char *function, wf_dtype dtype, const wf_shape *shape,
                            wf_device device);
/* Whose memory a device works in: WF_CPU, or a GPU. */
static inline wf_device wf__memory_of(wf_device device) { return device == WF_INTERP ? WF_CPU : device; }
static inline bool wf__is_gpu(wf_device device) { return device >= WF_GPU(0); }
static inline bool wf__is_emulated(wf_device device) { return device >= WF_GPU_EMU(0); }
static inline int wf__gpu_number(wf_device device)
{
    return device - (wf__is_emulated(device) ? WF_GPU_EMU(0) : WF_GPU(0));
}
static inline uint8_t wf__gpu_mark(wf_device device) /* wf__recording.gpu */
{
    int n = wf__gpu_number(device);
    return !wf__is_gpu(device) ? 0 : (uint8_t)((n < 100 ? n : 100) + 1 + 128 * wf__is_emulated(device));
}
static inline void wf__set_place(wf__recording *rec, wf_device device) /* whose plans it needs */
{
    rec->gpu = wf__gpu_mark(device);
    rec->cpu = device == WF_CPU && !(rec->ir.flags & WF_DEBUG);
}
bool wf__decides_gpu(wf_graph *g); /* handle.c: does it run on a GPU? From now on the device is fixed */
const char *wf__device_name(wf_device device, char text[32]); /* "cuda:0" */
/* The GPU, opened; NULL: the context's error is set. */
wf__gpu *wf__gpu_of(wf_context *ctx, const char *function, wf_device device);
/* wf__engine_run, or on the GPU. What it warns of goes to the log, followed by `where`. */
bool wf__run_on(wf_context *ctx, wf__gpu_on on, wf__plan *plan, const char *label, const char *where, char *const *base,
                const uint64_t *param, const wf__limits *limits, bool interpret, wf__note *notes, wf__failure *failure);
wf_array *wf__formal_new(wf_context *ctx, const char *name, wf_dtype dtype, int rank);
void wf__array_span(wf_array *a); /* sets lo and hi from base, shape and strides */
void wf__array_bind(const wf_array *a, wf__bind *out);
wf__overlap wf__array_meeting(const wf_array *a, const wf_array *b); /* of arrays whose spans meet */
static inline wf__overlap wf__array_overlap(const wf_array *a, const wf_array *b)
{
    return a->hi <= b->lo || b->hi <= a->lo ? WF__APART : wf__array_meeting(a, b);
}
/* Before an array is read or written, by the host or by a recording (`by`): if it is kept in another recording, which is
 * open, that one is evaluated first. false: that failed, and the context's error is set. */
bool wf__array_settle(const wf_array *a, const wf_graph *by);
/* Is it neither a formal nor scratch? And: settled, are its contents here, or promised? Else the context's error is
 * set. */
bool wf__array_holds(const wf_array *a, const char *function);
bool wf__array_usable(const wf_array *a, const char *function);
wf__buffer *wf__buffer_new(wf_context *ctx, size_t bytes); /* with one reference; NULL: out of memory */
/* New memory on the same device, with a copy of what is at `from`, there too; NULL: no memory, or the device is lost. */
wf__buffer *wf__buffer_of(wf_context *ctx, wf__buffer *like, const char *from, size_t bytes);
void wf__buffer_release(wf_context *ctx, wf__buffer *buffer); /* NULL: no-op */
static inline uint64_t wf__new_array_id(wf_context *ctx)
{
    return atomic_fetch_add_explicit(&ctx->last_array, 1, memory_order_relaxed) + 1;
}
/* ---- copies on write (share.c) ---- */
static inline bool wf__sharing(const wf_context *ctx) { return atomic_load(&((wf_context *)ctx)->borrowers) != 0; }
/* Before writing: its memory becomes its own (and its views'). false: out of memory, which is reported. */
bool wf__array_own(wf_array *a, const char *function);
bool wf__array_expose(wf_array *a); /* the same for wf_map, for good */
/* Before reading: its memory stays where it is until the buffer (NULL: nothing is to be done) is unpinned. */
wf__buffer *wf__array_pin(const wf_array *a);
void wf__array_unpin(wf_context *ctx, wf__buffer *pinned);
/* Both for the arrays of a launch, while there are borrowers. */
bool wf__arrays_begin(wf_context *ctx, wf_array *const *arrays, uint32_t n, const bool *written, wf__buffer **pinned,
                      const char *function);
void wf__arrays_end(wf_context *ctx, uint32_t n, wf__buffer *const *pinned);
/* A view's memory; it stays where it is until the end, which computes the span. */
void wf__view_begin(wf_array *view, const wf_array *of);
wf_array *wf__view_end(wf_array *view);
void wf__array_leave(wf_array *a); /* before its handle goes */
bool wf__array_may_meet(const wf_array *a, const wf_array *b);
/* wf_array_state, but what queued work computes counts as ready: what is recorded now may use it. */
wf_state wf__array_promised(const wf_array *a);
void wf__array_wait(const wf_array *a); /* for queued work on it */
/* For access by the host: waits. false: there are no contents, or work that should have written them failed, which is
 * reported once. */
bool wf__array_arrived(const wf_array *a, const char *function);

/* ---- recordings ---- */
typedef struct wf__object {    /* an array named by a recording */
    wf_array *array;           /* retained */
    uint32_t element, indexed; /* slot + 1 */
} wf__object;

enum { WF__CONTRACT_INPUT = 1, WF__CONTRACT_OUTPUT = 2 };
typedef struct wf__variable {
    uint8_t dtype, join;
    uint8_t contract;         /* WF__CONTRACT_INPUT or _OUTPUT of an operator that declared it, else 0 */
    bool set;                 /* since it was made */
    uint32_t operand;         /* its number, for messages; of an output, its bit in wf_graph.surely_set */
    int32_t red;              /* reduction number, or -1 */
    wf__ref value;            /* in the section it was last set in */
    uint64_t initial[2];      /* of a product of complex numbers: bits of its parts */
    wf__ref other[WF_DEINIT]; /* its values in the other sections, from WF_POST on */
} wf__variable;

typedef struct wf__named_param {
    char *name;
    uint64_t initial; /* bits */
    wf_dtype dtype;   /* as it was asked for: a complex parameter is a real one with an imaginary part of 0 */
} wf__named_param;

/* What a finished recording needs to be launched. */
typedef struct wf__program {
    wf__recording rec;
    wf__object *object;
    uint32_t object_n, object_cap;
    wf__named_param *param;
    uint32_t param_n, param_cap;
    uint32_t initial_cap;
    wf_device device;
    wf__limits limits;
    bool placed; /* the device was asked for, or an array has decided it */
    char *name;
    const char *here; /* while it is recorded: for messages; borrowed */
    double record_s;  /* with WF_HISTORY */
    /* Of a part that wf_eval runs: the recording that it is of, and node of that -> node of the part. Else NULL. */
    const struct wf__program *whole;
    const wf__ref *part_of;
} wf__program;

/* ---- what messages call things (message.c) ---- */
/* Sets the context's error: the text, and behind it, in brackets, the operation that it is about and the recording:
 * "wf_add: shapes (3) and (4) do not broadcast [operation %3 'sum': wf_add('x', 2), in gain begun at a.c:12]". Numbers
 * are those of WF_DUMP_TRACE. Returns status. */
wf_status wf__program_error(wf_context *ctx, const wf__program *p, wf_status status, const char *text,
                            wf_section_id section, const wf__culprit *about);
/* Adds what stands in these brackets of the recording alone, " [in gain begun at a.c:12]", if it has a name or place. */
void wf__add_where(const wf__program *p, wf__str *out);
/* How plans call the arrays of a program: names and numbers of bind[0 .. object_n - 1]. */
void wf__name_arrays(const wf__program *p, wf__bind *bind);
/* wf__called of an array, which need not be in the recording yet; `as` is bound to it, or is the same one. */
const char *wf__array_called(const wf__program *p, const wf_array *array, const wf_array *as, char text[WF__CALLED]);

typedef struct wf__block wf__block; /* control.c */

struct wf_graph {
    wf_context *ctx;
    wf_graph *next, *prev; /* in ctx->open */
    wf__program program;
    wf__variable *var;
    uint32_t var_n, var_cap;
    wf__block *block; /* open ones, the outermost first */
    uint32_t block_n, block_cap;
    uint64_t surely_set; /* outputs of an operator under the contract that are set on every path to here */
    wf__ref *state;      /* of their variables */
    uint32_t state_n, state_cap;
    wf_array **kept; /* retained; ready once the recording has run */
    uint32_t kept_n, kept_cap;
    const char *here;
    wf_stream *stream; /* given; NULL: the current one, if any */
    bool reducing, accumulates;
    wf_section_id section;
    wf_array **scratch; /* of blocks, and local arrays; retained */
    uint32_t scratch_n, scratch_cap, locals;
    wf__str key;      /* scratch of wf_run */
    double begun;     /* with WF_HISTORY; else 0 */
    bool evaluated;   /* by wf_eval: not all nodes are what was recorded */
    uint32_t settled; /* settle.c: nodes that have moved, and their ids; 0: none has */
    double *id, id_distance;
};

/* Launches with the same arrays as an earlier one find in a memo all that depends on them. A launch that cannot have
 * it at once (another thread is in it) goes the long way. */
enum { WF__MEMOS = 4, WF__MEMO_ARRAYS = 8 };
typedef struct wf__hold { /* on a memo: what each launch changes, not beside what workers read */
    _Atomic uint64_t tag; /* of ids and space: a hint, read without holding the memo; 0: empty */
    _Atomic bool held;
    bool turned; /* the latest launch was, see wf__engine_run_prepared */
} wf__hold;
typedef struct wf__memo {
    uint64_t id[WF__MEMO_ARRAYS];
    int64_t dim[WF_MAX_RANK];
    wf__plan_entry *entry; /* used */
    wf__prepared call;
} wf__memo;

/* What binding has to know of an object or, after these, a parameter: side by side, as a launch finds little of what it
 * needs in the first-level cache. */
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

/* The ir that is being recorded into (the section's). */
static inline wf__ir *wf__graph_ir(wf_graph *g)
{
    wf__recording *rec = &g->program.rec;
    switch (g->section) {
    case WF_POST:
        return &rec->post;
    case WF_JOIN:
        return &rec->join;
    case WF_INIT:
        return &rec->init;
    case WF_DEINIT:
        return &rec->deinit;
    default:
        return &rec->ir;
    }
}
/* What a variable holds in the current section; 0: nothing. */
static inline wf__ref *wf__holds(const wf_graph *g, wf__variable *var)
{
    return g->section == WF_CALL ? &var->value : &var->other[g->section - 1];
}
#define WF__POST_BASE 2147483648.0            /* ids of values of section s begin at s times this */
void wf__end_section(wf_graph *g, bool last); /* record.c: checks, and finishes what WF_JOIN records */
void wf__graph_free(wf_graph *g);             /* one that is not in any list any more */
/* A complex number made of two C numbers (wf_complex(0, 1)), weakly typed: `num` is its real part, and where an address
 * of a recording would be are the bits of its imaginary part, complemented. User space's addresses have zeros in the
 * upper 16 bits; these bits never have, as a NaN is the one without sign (pair.c). */
static inline bool wf__is_pair(wf_val v) { return (uint64_t)(uintptr_t)v.h.graph >> 48 != 0; }
/* NULL: of no recording; a number, or a pair of them. */
static inline wf_graph *wf__graph_of(wf_val v) { return wf__is_pair(v) ? NULL : v.h.graph; }
wf_val wf__pair(double re, double im);
double wf__pair_imag(wf_val v);
wf_val wf__on_pairs(unsigned op,
                    const wf_val *v); /* numbers and pairs: in c128; NaN where the operation is not for them */
wf__ref wf__pair_as(wf_graph *g, wf_val v, unsigned dtype, const char *function); /* 0 after poisoning */
/* Is there something to record into? */
static inline bool wf__is_recording(wf_graph *g) { return g && wf__graph_ir(g)->status == WF_OK; }
static inline wf_val wf__no_value(wf_graph *g) { return (wf_val){ { 0, g } }; } /* poison */
wf__variable *wf__variable_of(wf_var var);                                      /* NULL: it is none */
wf_var wf__new_variable(wf_graph *g, wf__variable var);                         /* poison without memory */
/* control.c: a bool, the lanes that take part where the recording is now; 0: all. Was the variable declared outside
 * the innermost block? A block left open poisons. */
wf__ref wf__lanes_on(const wf_graph *g);
bool wf__is_outer(const wf_graph *g, uint32_t var);
void wf__check_blocks(wf_graph *g);
bool wf__may_branch(wf_graph *g, const char *function); /* else it is poisoned */
/* A condition, to be ended by wf_end_, whose lanes are these: its LOOP, or 0. */
wf__ref wf__open_condition(wf_graph *g, const char *here, wf__ref lanes);
/* As a condition, a bool: numbers and values that are not 0 hold (NaN, too, as in C). 0 after poisoning. */
wf__ref wf__truth(wf_graph *g, wf_val v, const char *function);
/* update.c: where an effect takes place, 0: everywhere; the condition (NULL: none), and in a block its lanes. */
bool wf__condition_of(wf_graph *g, const wf_val *condition, const char *function, wf__ref *out);
/* Array graphs: do value, what a variable holds and the lanes that are on broadcast? False after poisoning, with the
 * block's line. And: is no block open? */
bool wf__fits_block(wf_graph *g, wf__ref value, wf__ref holder, const char *function);
bool wf__no_block(wf_graph *g, const char *function, const char *instead);
/* watch.c: NULL: no-op. And what is watched takes the shape that it has got by the end of a block. */
void wf__shown_free(wf_context *ctx, wf__shown *shown);
void wf__shown_grow(wf_graph *g);
/* local.c: access of a local array. join 0: what was there does not count. */
wf_val wf__local_read(wf_graph *g, const wf_array *array, wf_border border, wf_val other, wf_vals index,
                      const char *function);
void wf__local_write(wf_graph *g, const wf_val *condition, unsigned join, const wf_array *array, wf_val v,
                     wf_vals index, const char *function);
/* variable.c: the contract of an operator (apply.c) */
void wf__set_contract(wf_var var, uint8_t contract, uint32_t operand);
bool wf__was_set(wf_var var);
bool wf__surely_set(wf_var var);
/* WF_ALL_AXES is right for any rank. */
static inline bool wf__axes_beyond(wf_axes axes, int rank) { return axes != WF_ALL_AXES && axes >> rank; }
/* record.c: the slot and index tuple of an update; false after poisoning. And what to do after recording it. */
bool wf__update_target(wf_graph *g, const wf_array *array, wf_vals index, const char *function, uint32_t *slot,
                       uint32_t *tuple);
/* The tuple of a value's or array's indices, one for each axis; false after poisoning. */
bool wf__index_tuple(wf_graph *g, wf_vals index, size_t rank, const char *function, uint32_t *out);
void wf__update_noted(wf_graph *g, uint32_t slot);
/* contract.c: fails the recording where a reduced variable is used otherwise than by joining. */
void wf__check_reductions(wf_graph *g);
/* The same of an index space that accumulates into an array and writes it. */
void wf__check_accumulation(wf_graph *g);
wf__ref wf__block_index(wf_graph *g, int axis); /* handle.c: of the block that the point is in; axis -1: linear */
wf_val wf__value(wf_graph *g, wf__ref ref);     /* 0: poison */
wf__ref wf__resolve(wf_graph *g, wf_val v, const char *function, bool *number); /* *number: v.h.num is one */
wf__ref wf__usable(wf_graph *g, wf__ref ref, const char *function); /* of a variable; 0 if wf_eval put it out of use */
/* shaped.c: the node of a value in an array graph, outside of blocks; 0 after poisoning, and for numbers.
 * `elsewhere` and `block` end the messages, by saying what to do instead. */
wf__ref wf__whole_value(wf_val v, const char *function, const char *elsewhere, const char *block);
/* record.c: a value of an array graph as a new lazy array, which is wf_keep; NULL without memory, which wf_message says
 * in the name of `function`: the recording is none the worse for it. */
wf_array *wf__keep_value(wf_graph *g, wf__ref value, const char *function);
bool wf__number_fits(double value, unsigned dtype); /* as a number of that dtype, without rounding of integers */
wf__ref wf__number(wf_graph *g, double value, unsigned dtype, const char *function); /* must fit */
/* A value or number as `dtype`, converting. */
wf__ref wf__converted(wf_graph *g, wf_val v, unsigned dtype, const char *function);
void wf__poison(wf_graph *g, wf_status status, const char *format, ...) WF__PRINTF(3, 4);

/* ---- keys (key.c): of the recording, and of the arrays' layouts and the way they overlap ---- */
void wf__program_key(const wf__program *p, wf__str *key);
size_t wf__most_layout_words(uint32_t objects); /* 64-bit words of the layouts' part */
size_t wf__write_layouts(wf_array *const *arrays, uint32_t n, const wf_shape *space, uint64_t *word); /* bytes */
/* In what the recording and layouts of a new plan differ from an old one's. false: they have nothing in common. */
bool wf__why_another(const wf__plan_entry *old, const wf__program *p, const wf__str *recording,
                     const wf__piece *layouts, wf__str *out);

/* ---- history (history.c) ---- */
static inline bool wf__has_history(const wf_context *ctx)
{
    return atomic_load_explicit(&((wf_context *)ctx)->flags, memory_order_relaxed) & WF_HISTORY;
}
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
enum { WF__FREEZING = 1 << 30 };                       /* a flag of the context: some thread notes its launches */
static inline bool wf__is_noted(const wf_context *ctx) /* do launches go the long way? */
{
    return atomic_load_explicit(&((wf_context *)ctx)->flags, memory_order_relaxed) & (WF_HISTORY | WF__FREEZING);
}
static inline bool wf__is_freezing(const wf_context *ctx) /* some thread does */
{
    return atomic_load_explicit(&((wf_context *)ctx)->flags, memory_order_relaxed) & WF__FREEZING;
}
bool wf__freezes(wf_context *ctx); /* does this thread? */
/* If it does: a launch was done; `function` reads the array's contents by the host, or may write them, too (`fills`);
 * something failed. */
void wf__freeze_note(wf_context *ctx, const wf__program *p, wf__plan_entry *e, wf_array *const *arrays,
                     const uint64_t *param);
void wf__freeze_host(const wf_array *a, bool fills, const char *function);
void wf__freeze_failed(wf_context *ctx, wf_status status, const char *text);

/* ---- evaluation (eval.c) ---- */
wf_status wf__graph_evaluate(wf_graph *g); /* runs what is pending; the graph has not failed and names no formal */
wf_status wf__graph_failure(wf_graph *g, const wf__ir *failed); /* graph.c: reports it as the context's error */
const wf__ir *wf__failed_section(const wf_graph *g);            /* graph.c: the section that failed; NULL: none */
bool wf__graph_launchable(wf_graph *g, const char *function);
void wf__release_kept(wf_graph *g);
void wf__settle(wf_graph *g); /* settle.c: nodes that are out of use go */
double wf__id_of(const wf_graph *g, wf__ref r);
wf__ref wf__node_of(const wf_graph *g, double id);
/* unseen.c. Effects on arrays that the program has released are none. `goes_on`: recording does, and may use any
 * value. */
void wf__drop_unseen(wf_graph *g, bool goes_on);

/* ---- launching (launch.c) ---- */
void wf__program_clear(wf__program *p); /* releases arrays, keeps the ir's memory */
void wf__program_free(wf__program *p);
bool wf__program_writes(const wf__program *p, uint32_t object);
typedef struct wf__request { /* to run a program */
    const wf__program *program;
    const wf__str *recording_key;
    wf_array *const *arrays; /* one per object */
    const uint64_t *param;   /* bits */
    const wf_shape *space;
    wf_kernel *kernel; /* NULL: none */
    wf_array *const *kept;
    uint32_t kept_n;
    wf_stream *stream; /* NULL: now, on this thread, as with one of the program's own CUDA streams */
    wf__limits limits;
} wf__request;
wf_status wf__program_run(wf_context *ctx, const wf__request *r); /* kept arrays are then ready or promised */
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
/* The quick way, of a launch without a stream that was made before: false if there is none. */
bool wf__launch_again(wf_kernel *k, wf_array *const *arrays, const uint64_t *param, const wf_shape *space);
/* The plan, used, and what is to be noted of its run; NULL: *status says why. */
wf__plan_entry *wf__request_plan(wf_context *ctx, const wf__request *r, wf__launch_note *note, wf_status *status);
void wf__note_run(wf_context *ctx, const wf__plan_entry *e,
                  wf__launch_note *note); /* after the run; empties the note */
/* What a launch needs of its arrays: queued work on them done (`wait`), kept ones computed or promised. */
wf_status wf__request_arrays(wf_context *ctx, const wf__request *r, bool wait);
void wf__note_written(const wf__request *r); /* kept arrays that were never computed have contents now */
/* queued.c */
wf_status wf__request_queue(wf_context *ctx, const wf__request *r);

/* ---- streams (stream.c) ---- */
typedef struct wf__work { /* what is queued; the first member of its kinds */
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
    /* Reports divide time into periods. What was queued in the period of a failure, or before, is dropped from then on;
     * the report ends the period. */
    uint64_t period, failed; /* failed: period of the latest failure; 0: none */
    wf__failure error;       /* status WF_OK: none, or it was reported */
};
/* Queues the work, or reports (in this thread's error) what failed on the stream before; then the work is not taken. */
wf_status wf__stream_put(wf_stream *stream, wf__work *work, const char *function);
void wf__stream_fail(wf__work *work, wf_status status, const char *text);
/* The stream that this thread has chosen for a device; NULL: none. */
wf_stream *wf__stream_current(wf_context *ctx, wf_device device);
/* Is it one of this context, and of this device (0: any)? Else the reason. */
const char *wf__stream_misfit(const wf_stream *stream, const wf_context *ctx, wf_device device);
void wf__streams_wait(wf_context *ctx);   /* until they have nothing to do; errors stay for later */
void wf__streams_forget(wf_context *ctx); /* frees what threads have chosen */
uint64_t wf__this_thread(void);           /* context.c: a number that no other thread has or had */
/* ---- plans (plans.c): in use until released; NULL: *status says why ---- */
wf__plan_entry *wf__plan_look_up(wf_context *ctx, const wf__program *p, const wf__str *recording_key,
                                 const wf__piece *layouts, wf_array *const *arrays, const wf_shape *space, bool *made,
                                 wf_status *status);
wf__plan_entry *wf__plan_for(wf_context *ctx, const wf__program *p, const wf__str *recording_key,
                             wf_array *const *arrays, wf_status *status);
void wf__plan_release(wf_context *ctx, wf__plan_entry *entry);
void wf__plans_free(wf_context *ctx);
void wf__memo_free(wf_context *ctx, wf__memo *memo);
bool wf__kernel_sockets(wf_kernel *kernel); /* of its program; false: out of memory */
#endif
