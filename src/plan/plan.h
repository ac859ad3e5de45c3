/* plan.h - from a recording and the layouts of its arrays to the kernels that compute it.
 *
 *   recording --split--> stages over one index space each --layout--> loop axes, explicit addresses --lower--> bodies
 *
 * A plan depends on dtypes, shapes, strides and on which arrays overlap, never on addresses or parameter values; it is
 * cached under exactly that (src/launch/plans.c) and run any number of times, from any thread.
 */
#ifndef WEFT_PLAN_H
#define WEFT_PLAN_H
#include "plan/dependence.h"
#include "plan/kernel.h"
#include <stdatomic.h>

enum { WF__CALLED = 320 };
/* In messages: "'x' (f32 of shape (3, 4))", "array 2 of the recording (in order of first use; f32 of shape (3, 4))", or
 * what it is called instead if it has neither name nor number: "an array (f32 of shape (3, 4))". */
const char *wf__called(const wf__bind *b, const char *instead, char text[WF__CALLED]);
static inline const char *wf__bind_called(const wf__bind *b, char text[WF__CALLED])
{
    return wf__called(b, "an array", text);
}

typedef enum wf__kind_of_graph {
    WF__ARRAYS,  /* lazy arrays: values have shapes */
    WF__SPACE,   /* an index space of a given shape */
    WF__ELEMENTS /* an index space whose shape is that of its operands */
} wf__kind_of_graph;

/* What the code of a plan is for. */
typedef enum wf__target_kind {
    WF__INTERPRETER, /* the reference interpreter; debug mode on a processor, too */
    WF__PROCESSOR,   /* compiled code */
    WF__GPU
} wf__target_kind;

/* What planning reads of a recording besides its sections and its shapes. Part of every key, as bytes: each byte of it
 * has a value, and a new field needs no other line. */
typedef struct wf__plan_options {
    uint64_t expand_bytes; /* that private copies may take; 0 = WF__EXPAND_BYTES */
    uint32_t objects;      /* arrays that the recording names; slot.object is an index of them */
    wf_axes reduce;        /* axes to reduce of an index space; WF_ALL_AXES = all, whatever the rank */
    uint8_t kind;          /* wf__kind_of_graph */
    uint8_t columns;       /* points that a thread does at once; 0 = chosen by cost */
    uint8_t target;        /* wf__target_kind */
    uint8_t emulated;      /* 1 for an emulated GPU */
    uint16_t gpu;          /* 1 + the GPU's number */
    uint8_t unused[2];     /* 0 */
} wf__plan_options;
_Static_assert(sizeof(wf__plan_options) == 24, "a key hashes no padding");

enum { WF__SECTIONS = WF_SECTION_DEINIT + 1 };
typedef struct wf__pass_log {
    const char *after; /* the pass whose result is written; NULL = the names and decisions of all that apply */
    wf__str *out;
} wf__pass_log;

typedef struct wf__recording { /* a finished one; what planning reads of it stands in wf__program_key */
    wf__plan_options options;
    union {
        wf__ir section[WF__SECTIONS]; /* by wf_section_id; n <= 1 where nothing was recorded */
        struct {                      /* the same, by name */
            wf__ir ir;                /* WF_SECTION_CALL, the operator */
            wf__ir post;              /* rank 0: reads reduction k as parameter ir.param_n + k */
            wf__ir join;              /* rank 0, of custom joins (wf__ir.joiner) */
            wf__ir init;              /* over the kept axes (without reductions: once), before the operator */
            wf__ir deinit;            /* the same, after the operator */
        };
    };
    uint64_t *initial;    /* [ir.red_n] bits, joined in once */
    wf_shape space;       /* of WF__SPACE */
    wf_shape block;       /* of blocks, without .reduce; rank 0: all points are one block */
    uint32_t team_memory; /* bytes that threads of a block can share on the GPU; 0 = as on every GPU */
    wf__str *why;         /* where planning writes the reasons of its decisions, NULL = nowhere; no part of any key */
    const wf__pass_log *log; /* what planning writes of its passes, NULL = nothing; no part of any key */
} wf__recording;
_Static_assert(WF_SECTION_CALL == 0 && WF_SECTION_POST == 1 && WF_SECTION_JOIN == 2 && WF_SECTION_INIT == 3 &&
                   WF_SECTION_DEINIT == 4,
               "wf__recording.section");

static inline uint64_t wf__expand_bytes(const wf__recording *rec)
{
    return rec->options.expand_bytes ? rec->options.expand_bytes : WF__EXPAND_BYTES;
}

typedef struct wf__mem_layout { /* a slot of a stage: what wf__mem needs besides the base address */
    uint32_t object;
    uint32_t number; /* debug mode: which array of the recording it is, from 1; 0: scratch, or a temporary */
    int64_t offset;  /* in elements, from element [0, ..., 0] of the object */
    int64_t stride[WF_MAX_RANK], dim[WF_MAX_RANK];
} wf__mem_layout;

/* Most copies of so many elements that cost no more than the updates of them. */
static inline uint64_t wf__copies_worth(uint64_t points, uint64_t elements)
{
    enum { MOST = WF__COPIED_PER_UPDATE };
    uint64_t n = elements ? MOST * (points / elements) + MOST * (points % elements) / elements : points;
    return n ? n : 1;
}

/* An element slot whose elements are not those at the points' own places: at point x, index k of the object is
 * start[k] + sum of step[k][d] * x[d] over the axes of the stage's space. */
typedef struct wf__slot_view {
    uint32_t slot;
    int64_t start[WF_MAX_RANK], step[WF_MAX_RANK][WF_MAX_RANK];
} wf__slot_view;

/* Most arrays and parameters of the stages that are inlined into a scan on a GPU: one kernel has room for all (ptx.h). */
enum { WF__SCAN_MOST_SLOTS = 8, WF__SCAN_MOST_PARAMS = 64 };
/* Elements along the axis that are a part: of a row along the innermost axis so many; else about as many in all columns
 * together, but not too few of each. A power of two, so that code for GPUs, which has it in it, is for most extents. */
static inline int64_t wf__scan_part(const wf_shape *space, int axis)
{
    int64_t part = WF__SCAN_PART, most = WF__SCAN_PART;
    for (int d = axis + 1; d < space->rank; ++d)
        most /= space->dim[d] > 0 ? space->dim[d] : 1;
    while (part > WF__SCAN_ROWS && part > most)
        part /= 2;
    return part;
}

/* A stage without a body: object `to`, a temp in C order, becomes the scan of `from`, of the stage's space. On GPUs
 * `from` may be what the recorded body stores in `to`, which then is computed within the scan's kernels (scan.c). */
typedef struct wf__scan {
    bool on, exclusive, reversed, computed;
    uint8_t dtype, join, axis;
    uint32_t from, to;
    int64_t from_stride[WF_MAX_RANK], to_stride[WF_MAX_RANK]; /* set when layouts are known */
} wf__scan;

/* How the points of a kernel are cut into boxes. */
typedef struct wf__partition {
    int64_t box[WF_MAX_RANK]; /* extents of a box along each loop */
    int64_t boxes;            /* the number of boxes */
    uint64_t work;            /* points times the cost of a point */
    wf_shape block;           /* extents of a block of the recording, for thread blocks and for one_box_per_block */
    uint32_t block_param;     /* 1 + the first of the parameters that hold a block's number along each axis; 0 = none */
    bool one_box_per_block;   /* each box is a block of the recording, on a processor */
    int8_t slabs;             /* the only axis that is cut, if consecutive boxes may run as one; -1 = none */
} wf__partition;

/* What code of a kernel may rely on, or is to do. */
typedef struct wf__promises {
    bool streams;    /* large enough for stores past the cache, if addresses are aligned */
    bool long_rows;  /* the promise of that name in kernel.h */
    bool updates;    /* atomic operations, which need not be atomic on a single thread */
    uint8_t columns; /* points that a thread does at once; 0 = chosen by cost */
} wf__promises;

/* Private copies of arrays that a kernel accumulates into. */
typedef struct wf__stage_copies {
    wf__private *at;      /* [n] */
    uint32_t n;           /* accumulations into private memory */
    uint32_t block_bytes; /* shared memory of a thread block that copies take, on a GPU */
    uint64_t most_bytes;  /* memory that all copies together may take */
    uint32_t groups;      /* copies in order, each for a contiguous range of boxes; 0 = as many as threads */
    bool in_order;        /* copies belong to ranges of boxes; else to workers */
} wf__stage_copies;

/* Results of a kernel's reductions: parameters param_n, param_n + 1, ... of the next kernel. With kept axes they are in
 * temporaries, without the initial values. */
typedef struct wf__stage_results {
    uint64_t *initial; /* [reductions] initial values; NULL = axes are kept */
    wf_axes axes;      /* reduced axes of the space, if others are kept; else 0 */
    uint32_t *result;  /* [reductions] objects of the temporaries that hold results; NULL = no axes are kept */
    int64_t kept;      /* points of the kept axes; 0 = none are kept */
    int64_t parts;     /* parts that the reduced axes are cut into, if others are kept */
} wf__stage_results;

/* What runs as one kernel: over extent[0..lowered.rank-1], in boxes. */
typedef struct wf__stage {
    wf__ir recorded;             /* the body before layout */
    wf_shape space;              /* the index space of `recorded` */
    wf_axes dropped;             /* axes of the space that arrays of a smaller rank do not have */
    wf__slot_view *view;         /* [view_n] views of slots of `recorded` */
    uint32_t view_n;             /* the number of views */
    wf__scan scan;               /* the scan that the stage is instead of a kernel */
    wf__ir lowered;              /* the body that backends get, with the promises of kernel.h */
    wf__ir *join;                /* the lowered joiner of both bodies; NULL = no custom joins */
    wf__mem_layout *mem;         /* [lowered.slot_n] layouts of slots */
    int64_t extent[WF_MAX_RANK]; /* extents of loops; those of the space, if boxes or thread blocks are blocks */
    bool empty;                  /* no points */
    wf__team team;               /* threads of a block, on a GPU */
    wf__partition partition;     /* boxes */
    wf__promises promises;       /* what code may rely on */
    wf__stage_copies copies;     /* private copies */
    wf__stage_results reduce;    /* results of reductions */
    _Atomic(void *) code;        /* code of the run layer; NULL = not needed yet */
} wf__stage;

typedef struct wf__temp { /* an array between stages; object number: recording's objects + index */
    uint8_t dtype;
    wf_shape shape;
    int64_t stride[WF_MAX_RANK]; /* dense, in any order */
    bool shared;                 /* a block's own, or nobody's: needs no memory */
    uint32_t copy_of;            /* 1 + the object of the recording whose contents it holds; 0: none's */
} wf__temp;

/* Stages of an index space's sections that run one after the other for a block, and then for the next block. */
typedef struct wf__per_block {
    uint32_t first, count; /* consecutive stages; count 0 = none */
    uint32_t main;         /* the operator's stage */
    wf__own_memory own;    /* scratch of a block, in the memory of a worker */
} wf__per_block;

typedef enum wf__step_kind {
    WF__STEP_MAP,      /* one kernel without reductions */
    WF__STEP_REDUCE,   /* a kernel with reductions, and a consumer of its results, if there is one */
    WF__STEP_SCAN,     /* a scan, with a producer and a consumer that run part by part with it, if there are any */
    WF__STEP_PER_BLOCK /* several kernels: all of them for a block, then all of them for the next block */
} wf__step_kind;

/* Stages that run together. The consumer of a reduction runs after each of its boxes on a processor. On a GPU it runs
 * in the kernel that completes the results. A runner may run producers and consumers as kernels of their own instead. */
enum { WF__NO_STAGE = UINT32_MAX };
typedef struct wf__plan_step {
    wf__step_kind kind;
    uint32_t first, count; /* consecutive stages */
    uint32_t main;         /* the stage that is mapped, reduces or scans; per block: the operator's stage */
    uint32_t producer;     /* the stage that computes what is scanned; WF__NO_STAGE = none */
    uint32_t consumer;     /* the only stage that uses the results; WF__NO_STAGE = none */
} wf__plan_step;

typedef struct wf__plan {
    wf__stage *stage;
    uint32_t stage_n, stage_cap;
    wf__temp *temp;
    uint32_t temp_n, temp_cap;
    uint32_t objects; /* of the recording; temps follow */
    uint32_t params;  /* of the recording; reductions' results follow */
    uint32_t most_reds;
    wf__per_block per_block;
    wf__plan_step *step; /* in the order in which they run; each stage is in one of them */
    uint32_t step_n, step_cap;
    wf__target_kind target;
    _Atomic bool has_run;          /* code for its stages has been asked for */
    const wf__recording *recorded; /* while the plan is made */
    wf__str *why;                  /* then, too: the recording's */
    wf_status status;              /* first error */
    char error[768];
    wf__culprit about; /* the recording's operation that the error is about, in this section of it */
    wf_section_id section;
} wf__plan;

/* passes.c, the list of passes. `bind` has the recording's objects. false: plan->status and error say why; the caller
 * frees the plan either way. */
bool wf__plan_make(wf__plan *plan, const wf__recording *recording, const wf__bind *bind);
const char *wf__pass_name(size_t i); /* of the list of passes; NULL: there are not so many */

/* The join of partial results as backends get it; the caller frees it. NULL: plan->status says why. */
wf__ir *wf__plan_joiner(wf__plan *plan, const wf__ir *recorded);
void wf__plan_free(wf__plan *plan, void (*free_code)(void *user, void *code), void *user);
void wf__plan_fail(wf__plan *plan, wf_status status, const char *format, ...) WF__PRINTF(3, 4);
/* The same about operation r of that section, or of a copy of it, which `ir` is; false. */
bool wf__plan_fail_at(wf__plan *plan, wf_section_id section, const wf__ir *ir, wf__ref r, wf_status status,
                      const char *format, ...) WF__PRINTF(6, 7);
/* The same about the first wf_in of an object, or (written) wf_out to it; false. */
bool wf__plan_fail_element(wf__plan *plan, uint32_t object, bool written, wf_status status, const char *format, ...)
    WF__PRINTF(5, 6);
bool wf__plan_no_memory(wf__plan *plan);                 /* the same for want of memory; false */
bool wf__plan_fail_in(wf__plan *plan, const wf__ir *ir); /* the error of a recording that a pass has made; false */

/* ---- print.c ---- */
enum { WF__OBJECT_NAME = 64 };
/* What texts about the plan call an object: the name of its bind (of the recording's; may be NULL), "object 2", "t0". */
const char *wf__plan_object_name(const wf__plan *plan, const wf__bind *bind, uint32_t object,
                                 char text[WF__OBJECT_NAME]);
/* Appends what is known of stage s: of its kernel, or before that has been laid out, of what was split off for it. */
void wf__plan_print_stage(const wf__plan *plan, const wf__bind *bind, uint32_t s, wf__str *out);
/* Appends the text of a finished plan. `bind`: of the recording's objects, for their names; may be NULL. */
void wf__plan_print(const wf__plan *plan, const wf__bind *bind, wf__str *out);
/* Adds the line "topic: reason" to what the recording's `why` collects. Evaluates its arguments only if there is one. */
#define wf__plan_because(plan, ...) ((plan)->why ? wf__plan_explain((plan), __VA_ARGS__) : (void)0)
static inline unsigned wf__stage_number(const wf__plan *plan, const wf__stage *stage) /* for reasons */
{
    return (unsigned)(stage - plan->stage);
}
void wf__plan_explain(wf__plan *plan, const char *topic, const char *format, ...) WF__PRINTF(3, 4);

/* Appends the steps, a line each. */
void wf__plan_print_steps(const wf__plan *plan, wf__str *out);

/* ---- schedule.c ---- */
/* True if the results are joined from those of several boxes or parts, or are initial values since there are no
 * points. On a GPU, a kernel of its own does this. */
bool wf__joins_boxes(const wf__stage *stage);
const wf__plan_step *wf__step_of(const wf__plan *plan, uint32_t s); /* the step that runs stage s */
/* The consumer in the step whose main stage this is; NULL = none. */
const wf__stage *wf__consumer_of(const wf__plan *plan, const wf__stage *stage);

/* ---- parts of passes that others use ---- */
/* loop_axes.c. Loops that have all the effects of a section become axes, where their turns do not depend on each other:
 * changes the section and says their extents, of which there may be none. `bind` has the recording's objects only. */
bool wf__plan_turns(wf__plan *plan, const wf__bind *bind, wf__ir *section, wf_shape *axes);
/* layout.c. Reduced axes that had better be reduced by a stage of their own, before the others; 0: there are none. */
wf_axes wf__plan_inner_axes(wf__plan *plan, wf__stage *stage, const wf__bind *bind);
enum { WF__MOST_NUMBERED = 64 }; /* parameters of a stage whose boxes are blocks, with their numbers */
wf__stage *wf__plan_add_stage(wf__plan *plan, uint32_t at); /* inserted before stage `at`; NULL without memory */
/* Object number of a new temp, or UINT32_MAX. */
uint32_t wf__plan_add_temp(wf__plan *plan, unsigned dtype, const wf_shape *shape);
/* Whose contents an object has: its own, or those of the one that it is a copy of; UINT32_MAX: of none. */
static inline uint32_t wf__plan_original(const wf__plan *plan, uint32_t object)
{
    return object < plan->objects ? object : plan->temp[object - plan->objects].copy_of - 1;
}
void wf__temp_bind(const wf__temp *temp, wf__bind *out); /* without an address */
/* The space with extent 1 along the reduced axes. */
wf_shape wf__kept_shape(const wf_shape *space, wf_axes reduce);
static inline bool wf__has_one_point(const wf_shape *s)
{
    bool one = true;
    for (int d = 0; d < s->rank; ++d)
        one = one && s->dim[d] == 1;
    return one;
}
#endif
