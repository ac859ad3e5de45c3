/* pool.c - the threads of one context.
 *
 * One 64-bit word, `state`, says everything about the current run: a number (so that workers see a new one), how many
 * workers take part, whether it is still open, how many workers are inside, and whether the caller sleeps until they
 * leave. A worker enters by adding one while the run is open; the caller closes the run when no block is left to take,
 * and then waits only for the workers inside. So the job's fields are stable for whoever is inside, a worker that comes
 * late just misses the run, and a run completes even if no worker ever comes (they sleep, could not be started, or
 * were left behind by fork).
 *
 * Each worker's part is a counter, its next block, that it and thieves alike advance.
 *
 * Sleeping: a worker announces it in `asleep`, then looks at the state again; the caller changes the state, then looks
 * at `asleep`. Both orders are sequentially consistent, so one of the two sees the other. Sleepers are woken as a
 * tree: a worker wakes the two below it, so that the caller pays for two at most.
 */
#include "run/pool.h"
#include "base/os.h"
#include <stdatomic.h>
#include <stdlib.h>

/* Fields of the state. */
#define INSIDE 0x7FFFu         /* bits 0..14: workers inside the run */
#define OPEN 0x8000u           /* workers may enter */
#define CALLER_SLEEPS 0x10000u /* the last to leave wakes the caller */
#define WIDTH_SHIFT 17         /* bits 17..31: workers of the run, the caller included */
#define NUMBER_SHIFT 32        /* bits 32..63: number of the run */

static unsigned width_of(uint64_t state) { return (unsigned)(state >> WIDTH_SHIFT) & 0x7FFFu; }

static uint32_t number_of(uint64_t state) { return (uint32_t)(state >> NUMBER_SHIFT); }

/* How long to spin before sleeping, in seconds. Waking a sleeper takes about as long as SPIN_MOST, so spinning longer
 * than that cannot pay; a worker whose spinning was in vain spins less the next time. */
#define SPIN_MOST 50e-6
#define SPIN_LEAST 4e-6
#define CALLER_SPIN 200e-6     /* for blocks already begun */
enum { PAUSES_PER_LOOK = 16 }; /* pauses between two looks at the clock */

typedef struct part { /* on cache lines of its own: two, as neighbours are fetched in pairs */
    _Alignas(128) atomic_int_fast64_t next;
    int64_t end; /* written before the run opens */
} part;

typedef struct worker {
    wf__thread thread;
    wf__pool *pool;
    unsigned index;
    wf__mutex lock;
    wf__cond wake;
    atomic_bool asleep;
} worker;

struct wf__pool {
    _Alignas(128) _Atomic uint64_t state;
    /* The run in progress; written by the caller before it opens. */
    _Alignas(128) wf__blocks_fn *fn;
    void *user;
    int64_t most; /* blocks of one call */
    part *parts;  /* one per worker, `room` of them */
    unsigned parts_used;
    /* Of the runs' owner, under `owner`. */
    wf__mutex owner;  /* held during a run */
    unsigned room;    /* workers there are tables for */
    unsigned started; /* threads, so workers 1..started exist */
    worker **workers;
    int64_t process;
    /* The caller of the run, when it sleeps. */
    wf__mutex done_lock;
    wf__cond done;
    atomic_int waiting;         /* callers that do their blocks alone and would like to have the workers */
    _Atomic(const void *) last; /* the thread that had the workers last, see this_thread */
    atomic_int threads;
    atomic_int cores;
    atomic_bool no_more; /* the system refused a thread */
    atomic_bool quit;
};

/* ---- blocks ---- */

static void run_part(wf__pool *pool, part *p, int worker_index)
{
    int64_t left;
    while ((left = p->end - atomic_load_explicit(&p->next, memory_order_relaxed)) > 0) {
        int64_t n = left / 2 < pool->most ? (left + 1) / 2 : pool->most;
        int64_t first = atomic_fetch_add_explicit(&p->next, n, memory_order_relaxed);
        if (first >= p->end)
            return;
        pool->fn(pool->user, first, first + n < p->end ? first + n : p->end, worker_index);
    }
}

/* One's own part first, then what is left in the others', nearest first. */
static void run_parts(wf__pool *pool, unsigned index)
{
    unsigned n = pool->parts_used;
    for (unsigned i = 0; i < n; i++) {
        unsigned at = index + i;
        run_part(pool, &pool->parts[at < n ? at : at - n], (int)index);
    }
}

/* ---- workers ---- */

static void wake_worker(worker *w)
{
    if (!atomic_load(&w->asleep))
        return;
    wf__mutex_lock(&w->lock);
    bool asleep = atomic_exchange(&w->asleep, false);
    wf__mutex_unlock(&w->lock);
    if (asleep)
        wf__cond_signal(&w->wake);
}

/* Wakes the sleepers below `index` in the tree of the first `width` workers. */
static void wake_below(wf__pool *pool, unsigned index, unsigned width)
{
    for (unsigned below = 2 * index + 1; below <= 2 * index + 2 && below < width; below++)
        wake_worker(pool->workers[below]);
}

/* Takes part in the open run, if it still is open. */
static void join_run(wf__pool *pool, unsigned index)
{
    uint64_t state = atomic_load_explicit(&pool->state, memory_order_relaxed);
    do
        if (!(state & OPEN) || index >= width_of(state))
            return;
    while (!atomic_compare_exchange_weak_explicit(&pool->state, &state, state + 1, memory_order_acquire,
                                                  memory_order_relaxed));
    wake_below(pool, index, width_of(state));
    run_parts(pool, index);
    state = atomic_fetch_sub_explicit(&pool->state, 1, memory_order_release);
    if ((state & CALLER_SLEEPS) && (state & INSIDE) == 1) {
        wf__mutex_lock(&pool->done_lock);
        wf__cond_signal(&pool->done);
        wf__mutex_unlock(&pool->done_lock);
    }
}

/* Whether there is something new for this worker; `seen` is the number of the last run it looked at. */
static bool news(wf__pool *pool, unsigned index, uint32_t seen)
{
    uint64_t state = atomic_load(&pool->state);
    return ((state & OPEN) && number_of(state) != seen && index < width_of(state)) || atomic_load(&pool->quit);
}

static void sleep_until_news(worker *w, uint32_t seen)
{
    wf__mutex_lock(&w->lock);
    atomic_store(&w->asleep, true);
    if (news(w->pool, w->index, seen))
        atomic_store(&w->asleep, false);
    while (atomic_load(&w->asleep))
        wf__cond_wait(&w->wake, &w->lock);
    wf__mutex_unlock(&w->lock);
}

static bool may_spin(const wf__pool *pool)
{
    return atomic_load_explicit(&pool->threads, memory_order_relaxed) <=
           atomic_load_explicit(&pool->cores, memory_order_relaxed);
}

static void *work(void *user)
{
    worker *w = user;
    wf__pool *pool = w->pool;
    wf__thread_name("weft");
    uint32_t seen = 0; /* runs count from 1, so the one that started this thread is news */
    double patience = SPIN_MOST;
    while (!atomic_load_explicit(&pool->quit, memory_order_acquire)) {
        double begin = wf__now(), waited = 0, limit = may_spin(pool) ? patience : 0;
        bool found = news(pool, w->index, seen);
        while (!found && waited < limit) {
            for (int i = 0; i < PAUSES_PER_LOOK && !found; i++) {
                wf__pause();
                found = news(pool, w->index, seen);
            }
            waited = wf__now() - begin;
        }
        if (!found) {
            sleep_until_news(w, seen);
            waited = wf__now() - begin;
            patience = waited <= 2 * SPIN_MOST ? SPIN_MOST : patience / 2 > SPIN_LEAST ? patience / 2 : SPIN_LEAST;
        } else {
            patience = SPIN_MOST;
        }
        seen = number_of(atomic_load_explicit(&pool->state, memory_order_relaxed));
        join_run(pool, w->index);
    }
    return NULL;
}

/* ---- life ---- */

static int clamp_threads(int threads, int cores)
{
    threads = threads > 0 ? threads : cores;
    return threads < WF__POOL_MAX ? threads : WF__POOL_MAX;
}

/* Zeroed, on cache lines of its own; freed with free. */
static void *alloc_lines(size_t bytes)
{
    void *p = wf__alloc_fails() ? NULL : aligned_alloc(128, (bytes + 127) & ~(size_t)127);
    return p ? memset(p, 0, bytes) : NULL;
}

wf__pool *wf__pool_new(int threads)
{
    wf__pool *pool = alloc_lines(sizeof *pool);
    if (!pool)
        return NULL;
    int cores = wf__cpu_count();
    atomic_init(&pool->state, 0);
    atomic_init(&pool->threads, clamp_threads(threads, cores));
    atomic_init(&pool->cores, cores);
    atomic_init(&pool->quit, false);
    atomic_init(&pool->no_more, false);
    pool->process = wf__process_id();
    wf__mutex_init(&pool->owner);
    wf__mutex_init(&pool->done_lock);
    wf__cond_init(&pool->done);
    return pool;
}

void wf__pool_free(wf__pool *pool)
{
    if (!pool)
        return;
    bool ours = pool->process == wf__process_id(); /* in the child of a fork the threads do not exist */
    atomic_store(&pool->quit, true);
    for (unsigned i = 1; i <= pool->started; i++) {
        worker *w = pool->workers[i];
        if (ours) {
            wake_worker(w);
            wf__thread_join(w->thread);
            wf__mutex_free(&w->lock);
            wf__cond_free(&w->wake);
        }
        free(w);
    }
    if (ours) {
        wf__mutex_free(&pool->owner);
        wf__mutex_free(&pool->done_lock);
        wf__cond_free(&pool->done);
    }
    wf__free(pool->workers);
    free(pool->parts);
    free(pool);
}

int wf__pool_threads(const wf__pool *pool) { return atomic_load_explicit(&pool->threads, memory_order_relaxed); }

void wf__pool_set_threads(wf__pool *pool, int threads)
{
    int cores = wf__cpu_count();
    atomic_store(&pool->cores, cores);
    atomic_store(&pool->threads, clamp_threads(threads, cores));
    atomic_store(&pool->no_more, false);
}

/* ---- runs; all under `owner` ---- */

/* Makes tables for `width` workers. */
static bool make_room(wf__pool *pool, unsigned width)
{
    if (width <= pool->room)
        return true;
    part *parts = alloc_lines(width * sizeof *parts);
    worker **workers = parts ? wf__realloc(pool->workers, width * sizeof(worker *)) : NULL;
    if (!workers) {
        free(parts);
        return false;
    }
    free(pool->parts);
    pool->parts = parts;
    pool->workers = workers;
    pool->room = width;
    return true;
}

static bool start_worker(wf__pool *pool)
{
    worker *w = alloc_lines(sizeof *w);
    if (!w)
        return false;
    w->pool = pool;
    w->index = pool->started + 1;
    atomic_init(&w->asleep, false);
    wf__mutex_init(&w->lock);
    wf__cond_init(&w->wake);
    if (!wf__thread_start(&w->thread, work, w)) {
        wf__mutex_free(&w->lock);
        wf__cond_free(&w->wake);
        free(w);
        return false;
    }
    pool->workers[++pool->started] = w;
    return true;
}

/* Workers there can be, up to `width`; 1 is the caller alone. */
static unsigned ready_workers(wf__pool *pool, unsigned width)
{
    if (!make_room(pool, width))
        width = pool->room;
    while (pool->started + 1 < width && !atomic_load_explicit(&pool->no_more, memory_order_relaxed))
        if (!start_worker(pool))
            atomic_store(&pool->no_more, true);
    return width <= pool->started + 1 ? width : pool->started + 1;
}

static void divide(wf__pool *pool, int64_t first, int64_t blocks, unsigned width)
{
    int64_t each = (blocks - first) / width, more = (blocks - first) % width;
    for (unsigned i = 0; i < width; i++) {
        atomic_store_explicit(&pool->parts[i].next, first, memory_order_relaxed);
        first += each + (i < more);
        pool->parts[i].end = first;
    }
    pool->parts_used = width;
}

/* Closes the run and waits for the workers inside. */
static void finish(wf__pool *pool)
{
    uint64_t state = atomic_fetch_and_explicit(&pool->state, ~(uint64_t)OPEN, memory_order_acquire);
    if ((state & INSIDE) && may_spin(pool)) {
        double begin = wf__now();
        do
            for (int i = 0; i < PAUSES_PER_LOOK && (state & INSIDE); i++) {
                wf__pause();
                state = atomic_load_explicit(&pool->state, memory_order_acquire);
            }
        while ((state & INSIDE) && wf__now() - begin < CALLER_SPIN);
    }
    if (!(state & INSIDE))
        return;
    atomic_fetch_or_explicit(&pool->state, CALLER_SLEEPS, memory_order_acquire);
    wf__mutex_lock(&pool->done_lock);
    while (atomic_load_explicit(&pool->state, memory_order_acquire) & INSIDE)
        wf__cond_wait(&pool->done, &pool->done_lock);
    wf__mutex_unlock(&pool->done_lock);
}

static void run_parallel(wf__pool *pool, unsigned width, int64_t first, int64_t blocks)
{
    divide(pool, first, blocks, width);
    uint32_t number = number_of(atomic_load_explicit(&pool->state, memory_order_relaxed)) + 1;
    atomic_store(&pool->state, (uint64_t)number << NUMBER_SHIFT | (uint64_t)width << WIDTH_SHIFT | OPEN);
    wake_below(pool, 0, width);
    run_parts(pool, 0);
    finish(pool);
}

static const void *this_thread(void)
{
    static _Thread_local char mine;
    return &mine;
}

/* Takes the workers, if they are free and it is this thread's turn: who had them last lets those go first that wait. So
 * callers that launch one run after the other at the same time take turns. `waits`: this one is counted in `waiting`. */
static bool take_workers(wf__pool *pool, bool *waits)
{
    bool others = atomic_load_explicit(&pool->waiting, memory_order_relaxed) > *waits;
    if (!(others && atomic_load_explicit(&pool->last, memory_order_relaxed) == this_thread()) &&
        wf__mutex_try(&pool->owner)) {
        atomic_store_explicit(&pool->last, this_thread(), memory_order_relaxed);
        return true;
    }
    if (!*waits)
        atomic_fetch_add_explicit(&pool->waiting, 1, memory_order_relaxed);
    *waits = true;
    return false;
}

static void wait_no_more(wf__pool *pool, bool *waits)
{
    if (*waits)
        atomic_fetch_sub_explicit(&pool->waiting, 1, memory_order_relaxed);
    *waits = false;
}

void wf__pool_run_several(wf__pool *pool, int workers, int64_t blocks, int64_t most, wf__blocks_fn *fn, void *user)
{
    int threads = wf__pool_threads(pool);
    if (workers > threads)
        workers = threads;
    if (workers <= 1 || blocks <= 1) {
        if (blocks > 0)
            fn(user, 0, blocks, 0);
        return;
    }
    /* While another run has the workers, this thread gets on with its own blocks. (A run from inside a block never gets
     * the workers, as its own run has them.) */
    bool waits = false;
    for (int64_t block = 0; block < blocks; block++) {
        if (workers > 1 && blocks - block > 1 && take_workers(pool, &waits)) {
            wait_no_more(pool, &waits);
            unsigned width = blocks - block < workers ? (unsigned)(blocks - block) : (unsigned)workers;
            pool->fn = fn;
            pool->user = user;
            pool->most = most;
            width = ready_workers(pool, width);
            if (width > 1)
                run_parallel(pool, width, block, blocks);
            wf__mutex_unlock(&pool->owner);
            if (width > 1)
                return;
            workers = 1;
        }
        fn(user, block, block + 1, 0);
    }
    wait_no_more(pool, &waits);
}

typedef struct one_by_one {
    wf__block_fn *fn;
    void *user;
} one_by_one;

static void run_one_by_one(void *user, int64_t first, int64_t end, int worker_index)
{
    const one_by_one *each = user;
    for (int64_t block = first; block < end; block++)
        each->fn(each->user, block, worker_index);
}

void wf__pool_run_on(wf__pool *pool, int workers, int64_t blocks, wf__block_fn *fn, void *user)
{
    wf__pool_run_several(pool, workers, blocks, 1, run_one_by_one, &(one_by_one){ fn, user });
}

void wf__pool_run(wf__pool *pool, int64_t blocks, wf__block_fn *fn, void *user)
{
    wf__pool_run_on(pool, wf__pool_threads(pool), blocks, fn, user);
}
