/* scan.h - runs the stages that scan. */
#ifndef WEFT_RUN_SCAN_H
#define WEFT_RUN_SCAN_H
#include "run/cpu/scan_ranges.h"
#include "run/memory/array_memory.h"
#include "run/thread/pool.h"

/* base: addresses of the plan's objects. `feed`: computes what is scanned, where the result goes; NULL: it is there.
 * `then`: alone uses the result, which goes nowhere else; NULL: it goes to its object. false: out of memory. The
 * same bits for any number of threads. */
bool wf__scan_run(wf__pool *pool, wf__mem_cache *memory, int threads, const wf__stage *stage, char *const *base,
                  const wf__feed *feed, const wf__feed *then);
#endif
