/* scan.h - stages that scan. */
#ifndef WEFT_CPU_SCAN_H
#define WEFT_CPU_SCAN_H
#include "run/cpu/scan_ranges.h"
#include "run/memory/array_memory.h"
#include "run/stage.h"
#include "run/thread/pool.h"

/* Runs a stage that scans. base: addresses of the plan's objects. `producer`: computes the elements in the place of the
 * result; NULL = they are in memory. `consumer`: the only user of the result, which then goes to no object; NULL = the
 * result goes to its object. others: the other ranks, if arrays are distributed. The bits do not depend on the number of
 * threads, nor of ranks. Returns false with the failure set; all ranks have learned it if they pass carries on. */
bool wf__scan_run(wf__pool *pool, wf__mem_cache *memory, int threads, const wf__stage *stage, char *const *base,
                  const wf__ranged *producer, const wf__ranged *consumer, const wf__others *others,
                  wf__failure *failure);
#endif
