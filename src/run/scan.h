/* scan.h - runs the stages that scan. */
#ifndef WEFT_RUN_SCAN_H
#define WEFT_RUN_SCAN_H
#include "plan/plan.h"
#include "run/pool.h"

/* base: addresses of the plan's objects. false: out of memory. The same bits for any number of threads. */
bool wf__scan_run(wf__pool *pool, int threads, const wf__stage *stage, char *const *base);
#endif
