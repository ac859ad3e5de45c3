/* steps.h - running the steps of a plan on the processor (steps.c), and what steps are made of: a kernel (kernel.c),
 * and kernels that run per block (per_block.c) or by rows (rows.c). */
#ifndef WEFT_CPU_STEPS_H
#define WEFT_CPU_STEPS_H
#include "run/cpu/cpu.h"

typedef struct wf__run { /* a plan in flight */
    wf__engine *engine;
    wf__plan *plan;
    char **base;     /* [objects and temporaries]: addresses of the elements [0, ..., 0] */
    uint64_t *param; /* [params]: the values' bits, then the results of the latest reduction to single values */
    const wf__limits *limits;
    const wf__others *others; /* NULL = no array is distributed */
    bool interpret;           /* by the interpreter, on the calling thread */
    wf__note *notes;          /* [stages], or NULL */
    wf__failure *failure;
} wf__run;

/* ---- arrivals.c ---- */
/* Waits for elements of other ranks, if any are on their way. Returns false, with the failure set, if they cannot come. */
bool wf__arrive(const wf__run *r);
/* True if elements of other ranks are on their way, and the stage has enough work that does not need them. */
bool wf__runs_before_arrival(const wf__run *r, const wf__stage *stage);

/* ---- kernel.c, point.c, per_block.c, rows.c ---- */
/* Runs stage s, and after each of its boxes stage `consumer`, unless it is WF__NO_STAGE. *consumed is set to false if
 * the consumer has not run, because one of the two has no compiled code; may be NULL. Returns false on failure. */
bool wf__run_kernel(const wf__run *r, uint32_t s, uint32_t consumer, bool *consumed);
/* Runs a stage of one point, if it is one with a few plain operations. False: it is not. */
bool wf__run_point(const wf__run *r, wf__stage *stage, wf__note *note);
bool wf__run_per_block(const wf__run *r, const wf__plan_step *step);
/* Runs stages row by row. */
bool wf__run_rows(const wf__run *r, const wf__plan_step *step);
#endif
