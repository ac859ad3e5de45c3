/* pool.h - the threads of one context.
 *
 * A parallel run divides blocks 0..blocks-1 into one contiguous part per worker, so that the same part of an array
 * stays on the same core from kernel to kernel; a worker that has finished its part takes blocks left over in other
 * parts. The caller is worker 0 and does all the work that nobody else turns up for: a run never waits for a worker to
 * wake, only for blocks already begun. Threads start with the first run that needs them, spin briefly between runs,
 * then sleep.
 */
#ifndef WEFT_POOL_H
#define WEFT_POOL_H
#include "base/base.h"

typedef struct wf__pool wf__pool;
typedef void wf__block_fn(void *user, int64_t block, int worker);
typedef void wf__blocks_fn(void *user, int64_t first, int64_t end, int worker);

enum { WF__POOL_MAX = 1024 }; /* threads, the caller included */

/* threads <= 0: one for each core this process may use. NULL: out of memory. */
wf__pool *wf__pool_new(int threads);
void wf__pool_free(wf__pool *pool); /* no run may be in progress; NULL is fine */

int wf__pool_threads(const wf__pool *pool);
void wf__pool_set_threads(wf__pool *pool, int threads); /* from any thread; holds for later runs */

/* Calls fn(user, block, worker) once for each block and returns when all have returned. `worker` is below
 * wf__pool_threads and unique among the calls running at the same moment for the same run: an index for private
 * scratch. From any thread, also several at once, also from inside a block (which then runs its blocks itself). */
void wf__pool_run(wf__pool *pool, int64_t blocks, wf__block_fn *fn, void *user);

/* The same with at most `workers` workers (worker < workers), for callers that have set up that many of something. */
void wf__pool_run_on(wf__pool *pool, int workers, int64_t blocks, wf__block_fn *fn, void *user);

/* The same for small blocks, of which one call does several, first .. end - 1: half of what is left of a part, so that
 * the last ones are small again, but `most` at most, and all that is left where that is less than twice `least`; all of
 * them where there is one worker. 1 <= least <= most. `turned`: parts that are one call are done from their end, roughly;
 * what turns every second time finds more in the caches. */
typedef struct wf__several {
    int64_t least, most; /* blocks of one call */
    bool turned;
} wf__several;
void wf__pool_run_several(wf__pool *pool, int workers, int64_t blocks, const wf__several *how, wf__blocks_fn *fn,
                          void *user);
#endif
