/* boxes.h - a kernel in flight, and running one of its boxes (boxes.c). Used by what runs all boxes of a kernel
 * (kernel.c, prepared.c) or those of several kernels (per_block.c). */
#ifndef WEFT_CPU_BOXES_H
#define WEFT_CPU_BOXES_H
#include "run/cpu/copies.h"
#include "run/cpu/cpu.h"
#include "run/cpu/partials.h"
#include "run/engine_internal.h"

typedef struct wf__part { /* points of a kernel without reductions and private copies */
    wf__box points;
    int64_t box[WF_MAX_RANK]; /* extents of a box */
    int64_t boxes;            /* the number of boxes */
} wf__part;

typedef struct wf__launch { /* a kernel in flight */
    wf__engine *engine;
    const wf__stage *stage;
    const wf__part *part; /* the points that run; NULL = all those of this rank */
    wf__entry *entry;     /* NULL = interpret */
    const wf__interp *interp;
    void *scratch; /* scratch of the interpreter */
    wf__call call;
    wf__partials partials;
    struct wf__launch *consumer; /* the consumer of the step, which runs after each box; NULL = none */
    char *kept;                  /* [workers][kept_bytes]: results of a worker's current box, for the consumer */
    size_t kept_bytes;
    size_t at[WF__MOST_FUSED]; /* offset of reduction k in a worker's part of `kept` */
    int workers;               /* parts of `kept` */
    int threads;               /* most threads of a run */
    bool parallel;             /* compiled code runs on several threads */
    wf__copies *copies;        /* NULL = none */
    wf__note *note;            /* or NULL */
    wf__arrivals *arrivals;    /* elements of other ranks that are polled for between boxes; NULL = none */
} wf__launch;

/* Sets the bounds of the points of a box. Returns the number of its row of partial results: of its part of the reduced
 * axes, in C order. */
int64_t wf__points_of_box(const wf__launch *l, int64_t box, int64_t *lo, int64_t *hi);
/* Runs one box. `copy`: the private copy that it accumulates into. */
void wf__run_box(const wf__launch *l, int64_t box, int64_t copy, int worker);
void wf__run_all_points(const wf__launch *l);     /* in one call, for stages without reductions */
int64_t wf__boxes_of_launch(const wf__launch *l); /* the number of boxes that run */
int wf__threads_of(const wf__engine *e, const wf__limits *limits);
/* True if the stage has work for several threads. */
bool wf__is_large(const wf__stage *stage, const wf__limits *limits);
/* True if compiled code of the stage runs on several threads. main: the stage whose size decides, see wf__plan_step. */
bool wf__is_parallel(const wf__engine *e, const wf__stage *stage, const wf__stage *main, const wf__limits *limits);
/* Returns the least number of boxes that one call of a worker's function runs. The most is WF__MOST_OF_CALL times as
 * many. */
int64_t wf__least_of_call(const wf__stage *stage);
/* Sets the code for the stage's slots in l->call, or the interpreter. */
bool wf__choose_code(wf__launch *l, wf__stage *stage, bool interpret, wf__failure *f);
/* Returns the seconds spent so far on compiling the stages of these two notes. `next` may be NULL. */
double wf__compile_seconds(const wf__note *note, const wf__note *next);
/* Runs the boxes of a compiled stage, cut along one axis (stage->partition.slabs), on all threads (prepared.c). */
void wf__run_slabs(const wf__launch *l);
#endif
