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
#include "plan/needs.h"
#include <stdatomic.h>

enum { WF__CALLED = 320 };
/* Writes the name of an array for messages: "'x' (f32 of shape (3, 4))", or "array 2 of the recording (in order of first
 * use; f32 of shape (3, 4))". Without name and number: "an array (f32 of shape (3, 4))", with `instead` as its first
 * words. Returns text. */
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

/* The target of a plan's code. */
typedef enum wf__target_kind {
    WF__INTERPRETER, /* the reference interpreter; debug mode on a processor, too */
    WF__PROCESSOR,   /* compiled code */
    WF__GPU
} wf__target_kind;

/* The part of a recording that planning reads besides sections and shapes. Every key holds the whole struct as
 * bytes, so that no field can be forgotten. */
typedef struct wf__plan_options {
    uint64_t expand_bytes; /* bytes that private copies may take; 0 = WF__EXPAND_BYTES */
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
typedef struct wf__pass_log { /* a text about the passes of a plan */
    const char *after; /* the pass whose result is written; NULL = names and decisions of all passes that apply */
    wf__str *out;      /* the text */
} wf__pass_log;

/* The ranks that run a recording of distributed arrays together. The extents of spaces and arrays are those of all ranks;
 * each rank runs some of the points. */
typedef struct wf__group {
    int rank, ranks;       /* the rank that plans, and the number of ranks */
    const uint64_t *param; /* bits of the parameters; integers decide which elements a rank needs */
} wf__group;

typedef struct wf__recording { /* a finished recording; wf__program_key has all that planning reads of it */
    wf__plan_options options;
    union {
        wf__ir section[WF__SECTIONS]; /* by wf_section_id; n <= 1 = an empty section */
        struct {                      /* the same, by name */
            wf__ir ir;                /* WF_SECTION_CALL, the operator */
            wf__ir post;              /* rank 0; reduction k is its parameter ir.param_n + k */
            wf__ir join;              /* rank 0; custom joins (wf__ir.joiner) */
            wf__ir init;              /* before the operator, over the kept axes; without reductions, once */
            wf__ir deinit;            /* after the operator, over the same axes */
        };
    };
    uint64_t *initial;       /* [ir.red_n] bits of initial values, which are joined once */
    wf_shape space;          /* the index space of a WF__SPACE */
    wf_shape block;          /* extents of a block, without .reduce; rank 0 = all points are one block */
    uint32_t shared_memory;  /* shared memory of a thread block on the GPU, in bytes; 0 = as on every GPU */
    const wf__group *group;  /* NULL = no array is distributed; a part of the key of launches that have it */
    wf__str *why;            /* reasons of decisions, which planning appends; NULL = no reasons; no part of any key */
    const wf__pass_log *log; /* a text about the passes; NULL = no text; no part of any key */
} wf__recording;
_Static_assert(WF_SECTION_CALL == 0 && WF_SECTION_POST == 1 && WF_SECTION_JOIN == 2 && WF_SECTION_INIT == 3 &&
                   WF_SECTION_DEINIT == 4,
               "wf__recording.section");

static inline uint64_t wf__expand_bytes(const wf__recording *rec)
{
    return rec->options.expand_bytes ? rec->options.expand_bytes : WF__EXPAND_BYTES;
}

typedef struct wf__mem_layout {  /* the layout of a slot: all of wf__mem but the base address */
    uint32_t object;             /* the array */
    uint32_t number;             /* in debug mode, the array's number in the recording; 0 = scratch, or a temporary */
    int64_t offset;              /* elements from element [0, ..., 0] of the object */
    int64_t stride[WF_MAX_RANK]; /* elements between neighbours along each axis */
    int64_t dim[WF_MAX_RANK];    /* extents */
} wf__mem_layout;

/* Returns the most copies of so many elements that cost no more than the updates of `points` points; at least 1. */
static inline uint64_t wf__copies_worth(uint64_t points, uint64_t elements)
{
    enum { MOST = WF__COPIED_PER_UPDATE };
    uint64_t n = elements ? MOST * (points / elements) + MOST * (points % elements) / elements : points;
    return n ? n : 1;
}

/* An element slot with elements at other places than the points' own: at point x, index k of the object is start[k] +
 * the sum of step[k][d] * x[d] over the axes of the space. */
typedef struct wf__slot_view {
    uint32_t slot;
    int64_t start[WF_MAX_RANK], step[WF_MAX_RANK][WF_MAX_RANK];
} wf__slot_view;

/* Bounds on arrays and parameters of the stages that are inlined into a scan on a GPU, since one kernel holds them all
 * (ptx.h). */
enum { WF__SCAN_MOST_SLOTS = 8, WF__SCAN_MOST_PARAMS = 64 };
/* Returns the elements of a part of a scan along the axis: WF__SCAN_PART along the innermost axis; else about as many in
 * all columns together, but at least WF__SCAN_ROWS or so of each. The number is a power of two. So code for GPUs, which
 * contains the number, serves most extents. */
static inline int64_t wf__scan_part(const wf_shape *space, int axis)
{
    int64_t part = WF__SCAN_PART, most = WF__SCAN_PART;
    for (int d = axis + 1; d < space->rank; ++d)
        most /= space->dim[d] > 0 ? space->dim[d] : 1;
    while (part > WF__SCAN_ROWS && part > most)
        part /= 2;
    return part;
}

enum { WF__NO_RANK = -1 };

/* A scan of a whole array, of the stage's space, or of a rank's window of it (division.window, along the axes of the
 * space). The stage has no body. */
typedef struct wf__scan {
    bool on;        /* the stage is a scan */
    bool exclusive; /* each element is joined with the elements before it, without itself */
    bool reversed;  /* from the last element to the first */
    bool computed;  /* on a GPU, the recorded body computes the scanned elements (scan/expand_scan.c) */
    bool shared; /* ranks divide the axis; each receives carries from the rank before and sends them to the one after */
    uint8_t dtype, join, axis;
    int before, after;                /* these ranks; WF__NO_RANK = none */
    uint32_t from;                    /* object that is scanned */
    uint32_t to;                      /* object of the result, whose elements are adjacent along the last axis */
    int64_t from_stride[WF_MAX_RANK]; /* strides of `from`, once layouts are known */
    int64_t to_stride[WF_MAX_RANK];   /* strides of `to`, once layouts are known */
} wf__scan;

/* A stage whose points get elements of an array from the ranks that have them (distribute/gathers.c), or join values with
 * elements that other ranks have (distribute/accumulations.c). The body stands for that. */
typedef struct wf__gathered {
    uint32_t from;  /* object that the elements are of; each rank has those of its block */
    uint32_t at;    /* object with the positions: i32 or i64, numbers of elements in C order, -1 = no element */
    uint32_t to;    /* object that gets the elements, 0 where there are none; or that has the values */
    bool joins;     /* elements are joined with values, or replaced by them */
    bool stores;    /* they are replaced */
    uint8_t join;   /* how */
    bool in_order;  /* in the order of the points: the bits depend on it */
    wf_shape shape; /* of `from` */
    int64_t stride[WF_MAX_RANK]; /* of `from`, once layouts are known */
    int64_t *begin[WF_MAX_RANK]; /* [places + 1] first index of each block along an axis; NULL = the axis is whole */
    int32_t places[WF_MAX_RANK]; /* blocks along an axis */
    int32_t weight[WF_MAX_RANK]; /* the rank of a block minus that of the one before it along an axis */
    int64_t index[];             /* of all `begin` */
} wf__gathered;

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

/* Properties that code of a kernel may rely on, and choices that it follows. */
typedef struct wf__promises {
    bool nontemporal;   /* enough memory is moved for stores past the cache, if addresses are aligned */
    bool long_rows;     /* the promise of that name in kernel.h */
    uint8_t row_points; /* likewise */
    bool updates;       /* atomic operations, which need not be atomic on a single thread */
    uint8_t columns;    /* points that a thread does at once; 0 = chosen by cost */
} wf__promises;

/* What each private copy of an array belongs to. */
typedef enum wf__copies_per {
    WF__PER_WORKER, /* joins give the same bits in any order */
    WF__PER_RANGE,  /* a contiguous range of boxes */
    WF__PER_BOX     /* a box, which the shape alone decides */
} wf__copies_per;

/* Private copies of arrays that a kernel accumulates into. */
typedef struct wf__stage_copies {
    wf__private *at;      /* [n] */
    uint32_t n;           /* accumulations into private memory */
    uint32_t block_bytes; /* shared memory of a thread block that copies take, on a GPU */
    uint64_t most_bytes;  /* memory that all copies together may take */
    uint32_t groups;      /* the most copies of ranges or boxes; 0 = as many ranges as threads */
    wf__copies_per per;   /* what each copy belongs to */
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

/* How the points of a stage are divided among ranks (src/plan/distribute). */
/* An array that each rank has, and into which ranks accumulate, each the values of its share of the points. The joins give
 * the same bits in any order. */
typedef struct wf__tally {
    uint32_t object;
    uint8_t dtype, join;
    size_t elements; /* which lie in C order */
} wf__tally;

typedef struct wf__division {
    wf_axes axes;               /* axes of the space along which arrays are cut; 0 = each rank runs all points */
    uint32_t grid;              /* object whose distribution divides the axes; of use if an entry of `along` is not 0 */
    uint8_t along[WF_MAX_RANK]; /* 1 + the axis of the grid whose ranks divide this axis of the space; 0 = none */
    bool joins;                 /* ranks join the results of reductions; else each rank has those it needs */
    wf__box *share;             /* [ranks] points in loops whose results a rank gives, if the stage joins */
    wf__tally *tally;           /* [tallies] arrays that ranks join after the stage */
    uint32_t tallies;           /* the number of tallies */
    bool joins_copies;          /* ranks join the private copies that boxes have */
    wf__box window;             /* points in loops that this rank runs, if `axes` is not 0; of a scan, along axes */
    int64_t boxes;              /* number of boxes of these points */
    /* Those of these points that touch elements of this rank's blocks alone; empty: none, or too few to run them while
     * elements of other ranks are on their way. */
    wf__box interior;
    int8_t first[WF_MAX_RANK];   /* outermost axis of a loop; -1 = none, the loop has one point */
    int64_t inner[WF_MAX_RANK];  /* points of a loop for one index of that axis */
    int8_t loop_of[WF_MAX_RANK]; /* loop with the stride of an axis; -1 = none */
} wf__division;

/* A stage runs as one kernel, over extent[0..lowered.rank-1], in boxes. */
typedef struct wf__stage {
    wf__ir recorded;             /* the body before layout */
    wf_shape space;              /* the index space of `recorded` */
    wf_axes dropped;             /* axes of the space that arrays of a smaller rank do not have */
    wf__slot_view *view;         /* [view_n] views of slots of `recorded` */
    uint32_t view_n;             /* the number of views */
    wf__scan scan;               /* the scan that the stage is instead of a kernel */
    wf__gathered *gather;        /* the elements that the stage gets from other ranks, in place of its body; or NULL */
    wf__ir lowered;              /* the body that backends get, with the promises of kernel.h */
    wf__ir *join;                /* the lowered joiner of both bodies; NULL = no custom joins */
    wf__mem_layout *mem;         /* [lowered.slot_n] layouts of slots */
    int64_t extent[WF_MAX_RANK]; /* extents of loops; those of the space, if boxes or thread blocks are blocks */
    bool empty;                  /* no points */
    wf__thread_block thread_block; /* threads of a block, on a GPU */
    wf__partition partition;       /* boxes */
    wf__promises promises;         /* properties that code may rely on */
    wf__stage_copies copies;       /* private copies */
    wf__stage_results reduce;      /* results of reductions */
    wf__division division;         /* division among ranks */
    _Atomic(void *) code;          /* code of the run layer; NULL = not needed yet */
} wf__stage;

enum { WF__CUT = 255 };
/* True for a loop over an axis that the reductions of a body keep. */
static inline bool wf__keeps_loop(const wf__ir *body, int loop)
{
    return loop < body->kept || (body->kept_lane && loop == body->rank - 1);
}

/* Sets the strides of a scan from the memory of its objects. */
static inline void wf__scan_lay(wf__stage *stage, const wf__bind *bind)
{
    memcpy(stage->scan.from_stride, bind[stage->scan.from].stride, sizeof stage->scan.from_stride);
    memcpy(stage->scan.to_stride, bind[stage->scan.to].stride, sizeof stage->scan.to_stride);
}

/* All points of the stage. */
static inline wf__box wf__whole_space(const wf__stage *stage)
{
    wf__box all = { { 0 }, { 0 } };
    memcpy(all.hi, stage->space.dim, sizeof all.hi);
    return all;
}

/* Returns the number of boxes that this rank runs: all, unless ranks divide the points. */
static inline int64_t wf__own_boxes(const wf__stage *stage)
{
    return stage->division.axes ? stage->division.boxes : stage->partition.boxes;
}

/* The bounds of the points that this rank runs, along each loop: from begin up to, and without, end. They are those of all
 * points unless ranks divide the stage. */
static inline const int64_t *wf__own_begin(const wf__stage *stage)
{
    static const int64_t zeros[WF_MAX_RANK];
    return stage->division.axes ? stage->division.window.lo : zeros;
}
static inline const int64_t *wf__own_end(const wf__stage *stage)
{
    return stage->division.axes ? stage->division.window.hi : stage->extent;
}

/* True if ranks wait for each other in the stage. */
static inline bool wf__waits_for_ranks(const wf__stage *stage)
{
    const wf__division *division = &stage->division;
    return (division->joins || division->tallies || division->joins_copies || stage->scan.shared ||
            (stage->gather && (!stage->gather->joins || division->axes))) &&
           !stage->empty;
}

typedef struct wf__temp { /* an array between stages; object number: recording's objects + index */
    uint8_t dtype;
    wf_shape shape;
    int64_t stride[WF_MAX_RANK]; /* strides, dense in any order of axes */
    bool no_storage;             /* the data is in memory of a block, or in registers of an inlined stage */
    size_t own;                  /* 1 + offset in a worker's memory of the only WF__STEP_ROWS that uses it; 0 = none */
    uint32_t copy_of;            /* 1 + the object of the recording that it is a copy of; 0 = no copy */
    uint32_t image_of;           /* 1 + the distributed object that it is an image of (distribute/images.c); 0 = none */
    uint32_t takes;              /* 1 + the temporary whose memory it takes over (distribute/gathers.c); 0 = none */
    uint8_t
        tally; /* 1 + the join of one that each rank has, and which begins with what joins leave alone; 0 = another */
    wf_axes image_axes;       /* axes along which the image has three copies of the object */
    uint32_t grid;            /* object whose distribution cuts the axes */
    uint8_t cut[WF_MAX_RANK]; /* 1 + the axis of the grid that cuts an axis; WF__CUT = it is cut; 0 = it is whole */
    bool in_part;             /* this rank has memory for the elements in `held` alone */
    wf__box held;
    int64_t origin; /* elements from the beginning of the memory, or from that object's first, to element [0, ..., 0] */
} wf__temp;

/* Stages of an index space's sections that run one after the other for a block, and then for the next block. */
typedef struct wf__per_block {
    uint32_t first, count; /* consecutive stages; count 0 = none */
    uint32_t main;         /* the operator's stage */
    wf__own_memory own;    /* scratch of a block, in the memory of a worker */
} wf__per_block;

typedef enum wf__step_kind {
    WF__STEP_MAP,    /* one kernel without reductions */
    WF__STEP_REDUCE, /* a kernel with reductions, and a consumer of its results, if there is one */
    WF__STEP_GATHER, /* elements that ranks ask each other for, of one stage or of several at once */
    WF__STEP_SCATTER, /* values that ranks send each other to be joined with elements, of one stage or of several at once */
    WF__STEP_SCAN,      /* a scan, with a producer and a consumer that run part by part with it, if there are any */
    WF__STEP_PER_BLOCK, /* several kernels: all of them for a block, then all of them for the next block */
    WF__STEP_ROWS       /* several kernels: all of them for some rows, then all of them for the next rows (rows.c) */
} wf__step_kind;

/* Stages that run together. The consumer of a reduction runs after each of its boxes on a processor. On a GPU it runs
 * in the kernel that completes the results. A runner may run producers and consumers as kernels of their own instead. */
enum { WF__NO_STAGE = UINT32_MAX };
enum { WF__MOST_ROWS_STAGES = 8 };
typedef struct wf__plan_step {
    wf__step_kind kind;
    uint32_t first, count; /* consecutive stages */
    uint32_t
        main; /* the stage that is mapped, reduces or scans; per block: the operator's stage; rows: the most work */
    uint32_t producer; /* the stage that computes what is scanned; WF__NO_STAGE = none */
    uint32_t consumer; /* the only stage that uses the results; WF__NO_STAGE = none */
    int64_t all_rows;  /* WF__STEP_ROWS: rows; the outermost loop of a stage has one or several points for each */
    int64_t rows;      /* WF__STEP_ROWS: rows that run together, whole boxes */
    size_t own_bytes;  /* WF__STEP_ROWS: memory of a worker for rows of temporary arrays */
} wf__plan_step;

typedef struct wf__held { /* where a distributed array is read and written */
    wf__needs *read;      /* what each rank needs at the start; NULL: the array is not distributed */
    wf__box touched;      /* elements that this rank needs memory for */
    bool
        apart; /* it is only read, and a box around the block of a rank and what the rank reads would be larger than both, as
                   for other blocks or a transposed array; the same on all ranks */
} wf__held;

typedef struct wf__plan {
    wf__stage *stage;
    uint32_t stage_n, stage_cap;
    wf__temp *temp;
    uint32_t temp_n, temp_cap;
    uint32_t objects;        /* objects of the recording; temporaries follow */
    uint32_t params;         /* parameters of the recording; results of reductions follow */
    uint32_t most_reds;      /* most reductions of a stage */
    wf__per_block per_block; /* stages that run per block */
    wf__held *held;          /* [objects] of distributed arrays */
    wf__plan_step *step;     /* in the order in which they run; each stage is in one of them */
    uint32_t step_n, step_cap;
    wf__target_kind target;        /* the target of the code */
    _Atomic bool has_run;          /* code of its stages has been requested */
    const wf__recording *recorded; /* the recording, while the plan is made */
    wf__str *why;                  /* the recording's `why`, while the plan is made */
    wf_status status;              /* the first error */
    char error[768];
    wf__culprit about;     /* the operation that the error is about */
    wf_section_id section; /* the section of this operation */
} wf__plan;

/* passes.c: makes a plan by the list of passes. bind: [recording's objects]. Returns false on failure, with plan->status
 * and plan->error set. The caller frees the plan in either case. */
bool wf__plan_make(wf__plan *plan, const wf__recording *recording, const wf__bind *bind);
const char *wf__pass_name(size_t i); /* of pass i of the list; NULL = the list is shorter */

/* Returns the lowered joiner of partial results, which the caller frees. NULL = failure, with plan->status set. */
wf__ir *wf__plan_joiner(wf__plan *plan, const wf__ir *recorded);
void wf__plan_free(wf__plan *plan, void (*free_code)(void *user, void *code), void *user);
void wf__plan_fail(wf__plan *plan, wf_status status, const char *format, ...) WF__PRINTF(3, 4);
/* Sets the same error about operation r of `ir`, which is that section or a copy of it. Returns false. */
bool wf__plan_fail_at(wf__plan *plan, wf_section_id section, const wf__ir *ir, wf__ref r, wf_status status,
                      const char *format, ...) WF__PRINTF(6, 7);
/* Sets the same error about the first wf_in of an object, or (written) wf_out to the object. Returns false. */
bool wf__plan_fail_element(wf__plan *plan, uint32_t object, bool written, wf_status status, const char *format, ...)
    WF__PRINTF(5, 6);
/* True if a parameter of the stage is the result of a reduction of all axes. */
bool wf__uses_result_parameter(const wf__plan *plan, const wf__stage *stage);
bool wf__plan_no_memory(wf__plan *plan);                 /* sets the error; returns false */
bool wf__plan_fail_in(wf__plan *plan, const wf__ir *ir); /* sets the error of this IR; returns false */

/* ---- print.c ---- */
enum { WF__OBJECT_NAME = 64 };
/* Writes the name of an object for texts: that of its bind, else "array 2" as messages number arrays; "object 2" for
 * scratch and without `bind`; "t0" for a temporary. bind: [recording's objects], or NULL. Returns text. */
const char *wf__plan_object_name(const wf__plan *plan, const wf__bind *bind, uint32_t object,
                                 char text[WF__OBJECT_NAME]);
/* Appends the text of stage s: of its kernel, or before layout, of its recorded body. */
void wf__plan_print_stage(const wf__plan *plan, const wf__bind *bind, uint32_t s, wf__str *out);
/* Appends the text of a finished plan. bind: [recording's objects], for their names, or NULL. */
void wf__plan_print(const wf__plan *plan, const wf__bind *bind, wf__str *out);
/* Appends the line "topic: reason" to plan->why. Evaluates its arguments only if plan->why is not NULL. */
#define wf__plan_because(plan, ...) ((plan)->why ? wf__plan_explain((plan), __VA_ARGS__) : (void)0)
static inline unsigned wf__stage_number(const wf__plan *plan, const wf__stage *stage)
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

/* ---- parts of passes that others use ---- */
/* loop_axes.c: makes axes of the loops that contain all effects of a section, if their turns are independent of each
 * other. Changes the section, and sets the extents of the axes, of which there may be none. bind: [recording's
 * objects]. */
bool wf__loops_to_axes(wf__plan *plan, const wf__bind *bind, wf__ir *section, wf_shape *axes);
/* layout.c: returns the reduced axes that a stage of its own should reduce before the others; 0 = none. */
wf_axes wf__plan_inner_axes(wf__plan *plan, wf__stage *stage, const wf__bind *bind);
/* layout.c: sets the layouts of a stage's slots anew, after strides of temporaries have changed. False = the plan has
 * failed. */
bool wf__lay_memory_again(wf__plan *plan, wf__stage *stage, const wf__bind *bind);
/* layout.c: sets the axis of an array of this rank that each axis of the space walks in element-wise accesses; -1 =
 * none. Returns the number of the array's first axes that no axis walks. */
int wf__aligned_axes(const wf__stage *stage, int rank, int axes[WF_MAX_RANK]);
/* distribute/params.c: sets used[] for the integer parameters that an index of an access depends on. False = out of
 * memory. */
bool wf__index_params(const wf__recording *rec, bool *used);
/* True if WF_FLAG_ORDER_BY_SHAPE is on, and the order of points decides the bits of a reduction or an accumulation. */
bool wf__orders_by_shape(const wf__ir *ir);
enum { WF__MOST_NUMBERED = 64 }; /* parameters of a stage with numbers of blocks, these included */
wf__stage *wf__plan_add_stage(wf__plan *plan,
                              uint32_t at); /* inserts a stage before stage `at`; NULL = out of memory */
/* Adds a temporary. Returns its object number; UINT32_MAX = out of memory. */
uint32_t wf__plan_add_temp(wf__plan *plan, unsigned dtype, const wf_shape *shape);
/* Returns the recording's object that the object is, or is a copy of; UINT32_MAX = none. */
static inline uint32_t wf__plan_original(const wf__plan *plan, uint32_t object)
{
    return object < plan->objects ? object : plan->temp[object - plan->objects].copy_of - 1;
}
void wf__temp_bind(const wf__temp *temp, wf__bind *out); /* sets all but the address */
static inline bool wf__has_one_point(const wf_shape *s)
{
    bool one = true;
    for (int d = 0; d < s->rank; ++d)
        one = one && s->dim[d] == 1;
    return one;
}
#endif
