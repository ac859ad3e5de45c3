/* pool.h - the threads of one context.
 *
 * A parallel run divides blocks 0 .. blocks - 1 into one contiguous part per worker, so that the same part of an array
 * stays on the same core from kernel to kernel. A worker that has finished its part takes blocks from other parts. The
 * caller is worker 0 and runs all blocks that no other worker takes: a run never waits for a worker to wake, only for
 * blocks that have begun. Threads start with the first run that needs them, spin briefly between runs, then sleep.
 */
#ifndef WEFT_POOL_H
#define WEFT_POOL_H
#include "base/base.h"

typedef struct wf__pool wf__pool;
typedef void wf__block_fn(void *user, int64_t block, int worker);
typedef void wf__blocks_fn(void *user, int64_t first, int64_t end, int worker);

enum { WF__POOL_MAX = 1024 }; /* threads, the caller included */

/* Makes a pool. threads <= 0 = one for each core that this process may use. NULL = out of memory. */
wf__pool *wf__pool_new(int threads);
int wf__pool_cores(const wf__pool *pool); /* the processors of the process */
void wf__pool_free(wf__pool *pool);       /* no run may be in progress; NULL: no-op */

/* What a thread calls between blocks, at most every 50 ms: `poll`, and `progress` with the part of its work that is done.
 * True cancels its work. */
typedef struct wf__observer {
    bool (*poll)(void *user);
    void *poll_user;
    bool (*progress)(double part, void *user);
    void *progress_user;
} wf__observer;
void wf__pool_set_observer(wf__pool *pool, const wf__observer *observer); /* before the first run */
bool wf__pool_is_observed(const wf__pool *pool);
/* The work of the calling thread that is cancelled as a whole: runs between these two. A scope within another one is part
 * of it. The end of a scope is true if its work was cancelled; then blocks were left out. */
void wf__pool_begin_work(void);
bool wf__pool_end_work(void);
bool wf__pool_is_cancelled(void);
/* The runs that follow are step i of `steps` of the work. */
void wf__pool_begin_step(uint32_t i, uint32_t steps);
/* Tells `progress` that the work is done, if it was told a part of it. */
void wf__pool_finish_work(const wf__pool *pool);

int wf__pool_threads(const wf__pool *pool);
void wf__pool_set_threads(wf__pool *pool, int threads); /* any thread may call; for later runs */

/* Calls fn(user, block, worker) once for each block, and returns when all calls have returned. `worker` is below
 * wf__pool_threads and unique among the concurrent calls of one run, so it can index private scratch. Any threads may
 * call at the same time. A run from inside a block runs all its blocks on the calling thread. */
void wf__pool_run(wf__pool *pool, int64_t blocks, wf__block_fn *fn, void *user);

/* As wf__pool_run, with at most `workers` workers: worker < workers. */
void wf__pool_run_on(wf__pool *pool, int workers, int64_t blocks, wf__block_fn *fn, void *user);

/* As wf__pool_run_on, for small blocks: one call runs the blocks first .. end - 1. A call takes half of the rest of a
 * part, but at most `most` blocks, and the whole rest if it is less than 2 * least. A single worker takes all blocks
 * by one call. */
typedef struct wf__several {
    int64_t least, most; /* blocks of one call; 1 <= least <= most */
    bool turned;         /* run parts of one call roughly from their end: alternating runs find more in the caches */
} wf__several;
void wf__pool_run_several(wf__pool *pool, int workers, int64_t blocks, const wf__several *how, wf__blocks_fn *fn,
                          void *user);
#endif
