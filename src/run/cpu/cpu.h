/* cpu.h - running plans on the processor, by compiled code or by the interpreter. */
#ifndef WEFT_CPU_H
#define WEFT_CPU_H
#include "run/engine.h"

/* Runs a plan. base: [objects], the addresses of the elements [0, ..., 0]; param: [params], the values' bits. `others`: NULL,
 * unless the plan has distributed arrays; if the failure is set already, nothing runs, but they are told. `interpret`: by
 * the interpreter, on the calling thread. `notes`: [stages], zeroed, or NULL. Returns when the work is done; any thread may
 * call. Returns false and sets the failure; only a failure for lack of memory between stages, or elements of other ranks
 * that do not come, can leave arrays half-written. */
bool wf__cpu_run(wf__engine *engine, wf__plan *plan, char *const *base, const uint64_t *param, const wf__limits *limits,
                 const wf__others *others, bool interpret, wf__note *notes, wf__failure *failure);
void wf__cpu_free_stage_code(void *engine, void *code); /* for wf__plan_free */

/* A launch that needs only the parameters: a plan of one kernel, either in one box on the calling thread, or in slabs,
 * cut along one axis, that any threads may run. */
typedef struct wf__prepared {
    wf__entry *entry; /* NULL = the plan is another kind, or has no final code yet */
    wf__call call;
    const int64_t *lo, *hi; /* the one box */
    int64_t slabs;          /* 0 = one box */
    int64_t each;           /* points of a slab along the axis */
    int64_t least;          /* slabs of one call */
    int axis;
    wf__mem *mem; /* call.mem; the next use of this struct reuses it */
    uint32_t mem_cap;
} wf__prepared;
/* Fills `out` for a plan that has run with these addresses. The plan must outlive `out`. */
void wf__cpu_prepare(const wf__engine *engine, wf__plan *plan, char *const *base, wf__prepared *out);
/* Runs a launch whose entry is not NULL; limits->serial_below must be 0. `turned` alternates from run to run, see
 * wf__several. */
void wf__cpu_run_prepared(wf__engine *engine, wf__prepared *prepared, const uint64_t *param, const wf__limits *limits,
                          bool turned);
void wf__prepared_free(wf__prepared *prepared);
#endif
