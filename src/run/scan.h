/* scan.h - runs the stages that scan. */
#ifndef WEFT_RUN_SCAN_H
#define WEFT_RUN_SCAN_H
#include "plan/plan.h"
#include "run/pool.h"

/* base: addresses of the plan's objects. false: out of memory. The same bits with and without `parallel`. */
bool wf__scan_run(wf__pool *pool, const wf__stage *stage, char *const *base, bool parallel);
#endif
