/* pool.c - the threads of one context.
 *
 * The cost of a short run is cache lines that move between cores. So a run uses few: the caller announces the run on
 * one line, `state`, and each worker has a line of its own, its share, on which it enters the run, takes blocks and
 * leaves.
 *
 * `state` holds the number of the run, the number of its workers, and whether the run is open; the job's fields are on
 * the same line. A share counts the blocks taken from the worker's part, by the worker itself or by others, and holds
 * whether the worker has entered and left. A share carries the number of its run. The number of an earlier run means
 * that nothing has happened yet, so the caller need not write the shares before a run.
 *
 * A worker enters by marking its share while the share has blocks left: a run cannot end before all blocks are taken. A
 * worker whose blocks are all taken enters late, by counting itself in `state`, to help the others. The caller waits
 * for the workers that have entered. If a worker has not, the caller closes the run to late workers and waits for those
 * inside. So the job's fields do not change while a worker is inside, a worker that is too late misses the run, and a
 * run completes even if no worker enters: workers may sleep, may have failed to start, or may not exist in the child of
 * a fork.
 *
 * Sleep: a worker sets `asleep`, then reads the state again; the caller changes the state, then reads `asleep`. A
 * caller sets CALLER_SLEEPS in the state, then reads the shares; a worker marks its share as left, then reads the
 * state. These orders are sequentially consistent, so at least one of the two sees the other. Workers wake each other
 * as a tree: each wakes the two below it, so the caller wakes two at most.
 *
 * The system may place a woken worker on the core of the thread that woke it. There the worker would wait for the
 * caller while another core is idle, and would be woken on the same core again. So the worker moves to another core.
 */
#include "run/thread/pool.h"
#include "base/os.h"
#include <stdatomic.h>
#include <stdlib.h>

/* Fields of the state. */
#define INSIDE 0x7FFFu         /* bits 0 .. 14: late workers inside */
#define OPEN 0x8000u           /* workers may enter */
#define CALLER_SLEEPS 0x10000u /* a worker that leaves wakes the caller */
#define WIDTH_SHIFT 17         /* bits 17 .. 31: workers of the run, the caller included */
#define NUMBER_SHIFT 32        /* bits 32 .. 63: number of the run */

/* Fields of a share. */
#define TAKEN 0x1FFFFFFFu   /* bits 0 .. 28: blocks taken; bits 32 .. 63: number of the run */
#define ALL 0x20000000u     /* no block is left */
#define ENTERED 0x40000000u /* the worker takes part */
#define LEFT 0x80000000u    /* the worker has left */
enum { ROUND = 1 << 28 };   /* most blocks of one run, for TAKEN */
enum { SKIP = 256 };        /* runs between two requests for a thread that the system refuses */

static unsigned width_of(uint64_t state) { return (unsigned)(state >> WIDTH_SHIFT) & 0x7FFFu; }

static uint32_t number_of(uint64_t word) { return (uint32_t)(word >> NUMBER_SHIFT); }

static bool is_inside(uint64_t share) { return (share & (ENTERED | LEFT)) == ENTERED; }

/* Seconds of spinning before sleep. Waking a thread takes about SPIN_MOST, so longer spinning does not pay. A worker
 * that spun without success spins less the next time. */
#define SPIN_MOST 50e-6
#define SPIN_LEAST 4e-6
#define CALLER_SPIN 200e-6     /* while the last blocks run */
enum { PAUSES_PER_LOOK = 16 }; /* pauses between two reads of the clock */

typedef struct worker { /* aligned to two cache lines, which the processor fetches in pairs */
    _Alignas(128) _Atomic uint64_t share;
    _Alignas(128) wf__thread thread;
    wf__pool *pool;
    unsigned index;
    wf__mutex lock;
    wf__cond wake;
    atomic_bool asleep;
    int waker; /* the core of the thread that woke it; under `lock` */
} worker;

struct wf__pool {
    /* The current run. The caller writes the fields after `state` before it opens the run. */
    _Alignas(128) _Atomic uint64_t state;
    wf__blocks_fn *fn;
    void *user;
    int64_t first, blocks;                /* the run's blocks are first .. blocks - 1 */
    int64_t least, most;                  /* blocks of one call */
    unsigned width;                       /* workers of the current or the latest run */
    bool turned;                          /* run whole parts from their end */
    worker **workers;                     /* [room]; entry 0, the caller's, is NULL */
    _Alignas(128) _Atomic uint64_t share; /* the caller's */
    /* The owner of the workers: the caller of the current run. */
    _Alignas(128) atomic_bool owned; /* a run is in progress */
    atomic_int waiting;              /* callers that run their blocks alone until they get the workers */
    _Atomic(const void *) last;      /* the latest owner, see this_thread */
    /* wake a caller that sleeps until its run is done */
    wf__mutex done_lock;
    wf__cond done;
    wf__observer observer;
    /* Fields that seldom change. */
    _Alignas(128) atomic_int threads;
    atomic_int cores;
    atomic_uint skip; /* the system refused a thread: number of runs until it is asked again; 0 = now */
    atomic_bool quit;
    unsigned room;    /* length of `workers`; this field and the next belong to the owner */
    unsigned started; /* threads: workers 1 .. started exist */
    int64_t process;
};

/* ---- blocks ---- */

static _Atomic uint64_t *share_of(wf__pool *pool, unsigned index)
{
    return index ? &pool->workers[index]->share : &pool->share;
}

/* Runs a whole part. Turned: the last block, the rest of the second half, the rest of the first half, the first block.
 * The blocks that the previous run did last are still in the first-level cache. And a part slightly larger than the
 * second-level cache is not evicted entirely in each run, as it would be in the same order. */
static void run_whole(wf__pool *pool, int64_t begin, int64_t end, int worker_index)
{
    enum { WORTH_IT = 8 };
    if (!pool->turned || end - begin < WORTH_IT) {
        pool->fn(pool->user, begin, end, worker_index);
        return;
    }
    int64_t middle = begin + (end - begin) / 2;
    pool->fn(pool->user, end - 1, end, worker_index);
    pool->fn(pool->user, middle, end - 1, worker_index);
    pool->fn(pool->user, begin + 1, middle, worker_index);
    pool->fn(pool->user, begin, begin + 1, worker_index);
}

static bool is_one_call(const wf__pool *pool, int64_t left) { return left / 2 < pool->least; }

/* Runs the rest of part `index`. If the caller's part is one call, other workers do not read the caller's share, so its
 * cache line stays on the caller's core. */
static void run_part(wf__pool *pool, unsigned index, uint32_t number, int worker_index)
{
    unsigned blocks = (unsigned)(pool->blocks - pool->first), each = blocks / pool->width, more = blocks % pool->width;
    int64_t begin = pool->first + (int64_t)index * each + (index < more ? index : more), n = each + (index < more);
    _Atomic uint64_t *share = share_of(pool, index);
    if (!index && is_one_call(pool, n)) {
        if (!worker_index) {
            atomic_store_explicit(share, (uint64_t)number << NUMBER_SHIFT | (uint64_t)n | ALL, memory_order_relaxed);
            run_whole(pool, begin, begin + n, worker_index);
        }
        return;
    }
    uint64_t seen = atomic_load_explicit(share, memory_order_relaxed);
    for (;;) {
        uint64_t now = number_of(seen) == number ? seen : (uint64_t)number << NUMBER_SHIFT;
        int64_t taken = (int64_t)(now & TAKEN), left = n - taken;
        if (left <= 0)
            return;
        int64_t some = is_one_call(pool, left) ? left : left / 2 < pool->most ? (left + 1) / 2 : pool->most;
        uint64_t next = (now + (uint64_t)some) | (some == left ? ALL : 0);
        if (!atomic_compare_exchange_weak_explicit(share, &seen, next, memory_order_relaxed, memory_order_relaxed))
            continue;
        if (some == n)
            run_whole(pool, begin, begin + n, worker_index);
        else
            pool->fn(pool->user, begin + taken, begin + taken + some, worker_index);
        seen = atomic_load_explicit(share, memory_order_relaxed);
    }
}

/* Runs the worker's own part, then the rest of the others' parts, the nearest first. */
static void run_parts(wf__pool *pool, unsigned index, uint32_t number)
{
    unsigned n = pool->width;
    for (unsigned i = 0; i < n; i++) {
        unsigned at = index + i;
        run_part(pool, at < n ? at : at - n, number, (int)index);
    }
}

/* ---- workers ---- */

static void wake_worker(worker *w)
{
    if (!atomic_load(&w->asleep))
        return;
    wf__mutex_lock(&w->lock);
    bool asleep = atomic_exchange(&w->asleep, false);
    if (asleep)
        w->waker = wf__this_cpu();
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

/* Marks the worker's share. false = no block of the share is left, or the run is over. */
static bool enter_by_share(worker *w, uint32_t number)
{
    uint64_t seen = atomic_load_explicit(&w->share, memory_order_relaxed), next;
    do {
        int32_t age = (int32_t)(number_of(seen) - number);
        if (age > 0 || (age == 0 && (seen & ALL)))
            return false;
        next = (age ? (uint64_t)number << NUMBER_SHIFT : seen) | ENTERED;
    } while (
        !atomic_compare_exchange_weak_explicit(&w->share, &seen, next, memory_order_acquire, memory_order_relaxed));
    return true;
}

/* Counts a late worker in the state. false = the run is closed. */
static bool enter_late(wf__pool *pool, uint32_t number)
{
    uint64_t state = atomic_load_explicit(&pool->state, memory_order_relaxed);
    do
        if (!(state & OPEN) || number_of(state) != number)
            return false;
    while (!atomic_compare_exchange_weak_explicit(&pool->state, &state, state + 1, memory_order_acquire,
                                                  memory_order_relaxed));
    return true;
}

/* Takes part in the run of `state`, if it is not over. A worker must not do so twice in one run: the caller does not
 * wait for a worker that has left. */
static void join_run(worker *w, uint64_t state)
{
    wf__pool *pool = w->pool;
    uint32_t number = number_of(state);
    if (!(state & OPEN) || w->index >= width_of(state))
        return;
    bool by_share = enter_by_share(w, number);
    if (!by_share && !enter_late(pool, number))
        return;
    wake_below(pool, w->index, width_of(state));
    run_parts(pool, w->index, number);
    if (by_share) {
        atomic_fetch_or(&w->share, LEFT);
        state = atomic_load(&pool->state);
    } else {
        state = atomic_fetch_sub(&pool->state, 1);
    }
    if (state & CALLER_SLEEPS) {
        wf__mutex_lock(&pool->done_lock);
        wf__cond_signal(&pool->done);
        wf__mutex_unlock(&pool->done_lock);
    }
}

/* True if there is a new run for the worker, or the pool ends. seen: number of the last run that it has read. */
static bool has_news(wf__pool *pool, unsigned index, uint32_t seen)
{
    uint64_t state = atomic_load(&pool->state);
    return ((state & OPEN) && number_of(state) != seen && index < width_of(state)) || atomic_load(&pool->quit);
}

/* Returns the core of the thread that woke the worker; -1 = it did not sleep. */
static int sleep_until_news(worker *w, uint32_t seen)
{
    wf__mutex_lock(&w->lock);
    w->waker = -1;
    atomic_store(&w->asleep, true);
    if (has_news(w->pool, w->index, seen))
        atomic_store(&w->asleep, false);
    while (atomic_load(&w->asleep))
        wf__cond_wait(&w->wake, &w->lock);
    int waker = w->waker;
    wf__mutex_unlock(&w->lock);
    return waker;
}

static bool may_spin(const wf__pool *pool)
{
    return atomic_load_explicit(&pool->threads, memory_order_relaxed) <=
           atomic_load_explicit(&pool->cores, memory_order_relaxed);
}

/* True if `seconds` have passed since the first call. Reading the clock takes as long as several checks of a condition,
 * so callers do it seldom. */
static bool is_over(double *begin, double seconds)
{
    double now = wf__now();
    if (*begin == 0)
        *begin = now;
    return now - *begin > seconds;
}

static bool spin_for_news(worker *w, uint32_t seen, double patience)
{
    double begin = 0;
    do
        for (int i = 0; i < PAUSES_PER_LOOK; i++) {
            if (has_news(w->pool, w->index, seen))
                return true;
            wf__prefetch_write(&w->share); /* the caller has read the line */
            wf__pause();
        }
    while (!is_over(&begin, patience));
    return false;
}

static void *run_worker(void *user)
{
    worker *w = user;
    wf__pool *pool = w->pool;
    wf__thread_name("weft");
    uint32_t seen = 0; /* runs count from 1, so the run that started this thread is new */
    double patience = SPIN_MOST;
    while (!atomic_load_explicit(&pool->quit, memory_order_acquire)) {
        if (may_spin(pool) ? spin_for_news(w, seen, patience) : has_news(pool, w->index, seen)) {
            patience = SPIN_MOST;
        } else {
            double begin = wf__now();
            int waker = sleep_until_news(w, seen);
            if (waker >= 0 && waker == wf__this_cpu() && may_spin(pool))
                wf__leave_cpu(waker);
            bool soon = patience + wf__now() - begin <= 2 * SPIN_MOST;
            patience = soon ? SPIN_MOST : patience / 2 > SPIN_LEAST ? patience / 2 : SPIN_LEAST;
        }
        uint64_t state = atomic_load(&pool->state);
        if (number_of(state) != seen) /* a worker that is woken late may have run it already */
            join_run(w, state);
        seen = number_of(state);
    }
    return NULL;
}

/* ---- life ---- */

static int clamp_threads(int threads, int cores)
{
    threads = threads > 0 ? threads : cores;
    return threads < WF__POOL_MAX ? threads : WF__POOL_MAX;
}

/* Allocates zeroed memory on cache lines of its own; free releases it. */
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
    atomic_init(&pool->skip, 0);
    atomic_init(&pool->owned, false);
    pool->process = wf__process_id();
    wf__mutex_init(&pool->done_lock);
    wf__cond_init(&pool->done);
    return pool;
}

void wf__pool_free(wf__pool *pool)
{
    if (!pool)
        return;
    bool ours = pool->process == wf__process_id(); /* in the child of a fork, the threads do not exist */
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
        wf__mutex_free(&pool->done_lock);
        wf__cond_free(&pool->done);
    }
    wf__free(pool->workers);
    free(pool);
}

int wf__pool_cores(const wf__pool *pool) { return atomic_load_explicit(&pool->cores, memory_order_relaxed); }
int wf__pool_threads(const wf__pool *pool) { return atomic_load_explicit(&pool->threads, memory_order_relaxed); }

void wf__pool_set_threads(wf__pool *pool, int threads)
{
    int cores = wf__cpu_count();
    atomic_store(&pool->cores, cores);
    atomic_store(&pool->threads, clamp_threads(threads, cores));
    atomic_store(&pool->skip, 0);
}

/* ---- runs; the owner calls these functions ---- */

/* Makes room for `width` workers. */
static bool make_room(wf__pool *pool, unsigned width)
{
    if (width <= pool->room)
        return true;
    worker **workers = wf__realloc(pool->workers, width * sizeof(worker *));
    if (!workers)
        return false;
    workers[0] = NULL;
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
    if (!wf__thread_start(&w->thread, run_worker, w)) {
        wf__mutex_free(&w->lock);
        wf__cond_free(&w->wake);
        free(w);
        return false;
    }
    pool->workers[++pool->started] = w;
    return true;
}

/* Starts up to `width` workers. Returns how many there are; 1 = the caller alone. */
static unsigned ready_workers(wf__pool *pool, unsigned width)
{
    if (!make_room(pool, width))
        width = pool->room;
    unsigned skip = pool->started + 1 < width ? atomic_load_explicit(&pool->skip, memory_order_relaxed) : 0;
    if (skip) /* fails, and costs nothing but a run without skipping, if the number of threads has just been set */
        atomic_compare_exchange_strong(&pool->skip, &skip, skip - 1);
    while (!skip && pool->started + 1 < width)
        if (!start_worker(pool))
            atomic_store(&pool->skip, skip = SKIP);
    return width <= pool->started + 1 ? width : pool->started + 1;
}

/* True if a worker has entered and not left. */
static bool is_any_inside(wf__pool *pool)
{
    for (unsigned i = 1; i < pool->width; i++)
        if (is_inside(atomic_load(&pool->workers[i]->share)))
            return true;
    return atomic_load(&pool->state) & INSIDE;
}

static bool have_all_entered(wf__pool *pool)
{
    for (unsigned i = 1; i < pool->width; i++)
        if (!(atomic_load_explicit(&pool->workers[i]->share, memory_order_relaxed) & ENTERED))
            return false;
    return true;
}

/* Waits for the workers that have entered. No block is left, so workers can enter only late. */
static void finish(wf__pool *pool)
{
    if (!have_all_entered(pool))
        atomic_fetch_and(&pool->state, ~(uint64_t)OPEN);
    bool inside = is_any_inside(pool);
    double begin = 0;
    if (inside && may_spin(pool))
        do
            for (int i = 0; i < PAUSES_PER_LOOK && (inside = is_any_inside(pool)); i++)
                wf__pause();
        while (inside && !is_over(&begin, CALLER_SPIN));
    if (!inside)
        return;
    atomic_fetch_or(&pool->state, CALLER_SLEEPS);
    wf__mutex_lock(&pool->done_lock);
    while (is_any_inside(pool))
        wf__cond_wait(&pool->done, &pool->done_lock);
    wf__mutex_unlock(&pool->done_lock);
}

/* Runs blocks first .. blocks - 1 on `width` workers, the caller included. There are at least `width` and at most ROUND
 * blocks: every part has a block, so every share gets the number of the run. */
static void run_parallel(wf__pool *pool, unsigned width, int64_t first, int64_t blocks)
{
    uint64_t number = number_of(atomic_load_explicit(&pool->state, memory_order_relaxed)) + UINT32_C(1);
    for (unsigned i = pool->width; i < width; i++) /* not in the last run: its number may be of any age */
        atomic_store_explicit(share_of(pool, i), number << NUMBER_SHIFT, memory_order_relaxed);
    pool->width = width;
    pool->first = first;
    pool->blocks = blocks;
    atomic_store(&pool->state, number << NUMBER_SHIFT | (uint64_t)width << WIDTH_SHIFT | OPEN);
    wake_below(pool, 0, width);
    run_parts(pool, 0, (uint32_t)number);
    finish(pool);
}

static const void *this_thread(void)
{
    static _Thread_local char mine;
    return &mine;
}

/* Takes the workers if they are free. The latest owner lets waiting callers go first, so concurrent callers alternate.
 * *waits: this caller is counted in `waiting`. */
static bool take_workers(wf__pool *pool, bool *waits)
{
    bool others = atomic_load_explicit(&pool->waiting, memory_order_relaxed) > *waits;
    if (!(others && atomic_load_explicit(&pool->last, memory_order_relaxed) == this_thread()) &&
        !atomic_load_explicit(&pool->owned, memory_order_relaxed) &&
        !atomic_exchange_explicit(&pool->owned, true, memory_order_acquire)) {
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

/* ---- cancellation and progress ---- */

static _Thread_local struct {
    int scopes;     /* of wf__pool_begin_work */
    int inside;     /* calls of blocks that an observed run has made on this thread */
    bool cancelled; /* this thread's work in the outermost scope */
    uint32_t step, steps;
    double told; /* the part of it that `progress` was told; 0: none */
} work;

void wf__pool_set_observer(wf__pool *pool, const wf__observer *observer) { pool->observer = *observer; }
bool wf__pool_is_observed(const wf__pool *pool) { return pool->observer.poll || pool->observer.progress; }
void wf__pool_begin_work(void)
{
    if (work.scopes++ == 0) {
        work.step = 0;
        work.steps = 1;
        work.told = 0;
    }
}
void wf__pool_begin_step(uint32_t i, uint32_t steps)
{
    if (work.scopes == 1) {
        work.step = i;
        work.steps = steps;
    }
}
bool wf__pool_is_cancelled(void) { return work.cancelled; }
void wf__pool_finish_work(const wf__pool *pool)
{
    const wf__observer *w = &pool->observer;
    if (w->progress && work.scopes == 1 && work.told > 0 && !work.cancelled)
        work.cancelled = w->progress(1, w->progress_user);
}
bool wf__pool_end_work(void)
{
    bool cancelled = work.cancelled;
    if (--work.scopes == 0)
        work.cancelled = false;
    return cancelled;
}

/* A run whose caller looks up from it. */
typedef struct observed_run {
    wf__pool *pool;
    wf__blocks_fn *fn;
    void *user;
    double looked; /* when the caller did so last; read and written by the caller alone */
    int64_t blocks;
    _Atomic int64_t done;
    atomic_bool stop;
} observed_run;

/* Tells the program how far the run is, and asks whether it goes on. A step may run over its blocks several times: what is
 * told never gets less, and is below 1, as the end of the run counts as a block. */
static void look_up(observed_run *w)
{
    const wf__observer *observer = &w->pool->observer;
    bool stop = false;
    if (observer->progress) {
        double part = (double)atomic_load_explicit(&w->done, memory_order_relaxed) / (double)(w->blocks + 1);
        part = (work.step + part) / work.steps;
        work.told = part > work.told ? part : work.told;
        stop = observer->progress(work.told, observer->progress_user);
    }
    if (stop || (observer->poll && observer->poll(observer->poll_user)))
        atomic_store_explicit(&w->stop, true, memory_order_relaxed);
    w->looked = wf__now();
}

/* Runs blocks in calls of about a millisecond, until the run is stopped. Worker 0 is the caller. */
static void run_observed(void *user, int64_t first, int64_t end, int worker_index)
{
    static const double CALL = 1e-3, BETWEEN_LOOKS = 50e-3;
    observed_run *w = user;
    double before = wf__now();
    work.inside++;
    bool grows = false;
    for (int64_t some = 1; first < end && !atomic_load_explicit(&w->stop, memory_order_relaxed);) {
        some = grows ? 2 * some : some;
        some = some < end - first ? some : end - first;
        w->fn(w->user, first, first + some, worker_index);
        first += some;
        atomic_fetch_add_explicit(&w->done, some, memory_order_relaxed);
        double now = wf__now();
        if (!worker_index && now - w->looked > BETWEEN_LOOKS)
            look_up(w);
        grows = now - before < CALL;
        before = now;
    }
    work.inside--;
}

static void run_all(wf__pool *pool, int workers, int64_t blocks, const wf__several *how, wf__blocks_fn *fn, void *user);

void wf__pool_run_several(wf__pool *pool, int workers, int64_t blocks, const wf__several *how, wf__blocks_fn *fn,
                          void *user)
{
    if (work.cancelled && !work.inside)
        return;
    if (!wf__pool_is_observed(pool) || blocks <= 1 || !work.scopes || work.inside) {
        run_all(pool, workers, blocks, how, fn, user);
        return;
    }
    observed_run w = { .pool = pool, .fn = fn, .user = user, .looked = wf__now(), .blocks = blocks };
    run_all(pool, workers, blocks, how, run_observed, &w);
    work.cancelled = work.cancelled || atomic_load_explicit(&w.stop, memory_order_relaxed);
}

static void run_all(wf__pool *pool, int workers, int64_t blocks, const wf__several *how, wf__blocks_fn *fn, void *user)
{
    int threads = wf__pool_threads(pool);
    if (workers > threads)
        workers = threads;
    if (workers <= 1 || blocks <= 1) {
        if (blocks > 0)
            fn(user, 0, blocks, 0);
        return;
    }
    /* While another run has the workers, this thread runs its blocks alone. So does a run from inside a block, whose
     * own run has the workers. */
    bool waits = false;
    for (int64_t block = 0; block < blocks; block++) {
        if (workers > 1 && blocks - block > 1 && take_workers(pool, &waits)) {
            wait_no_more(pool, &waits);
            int64_t end = blocks - block < ROUND ? blocks : block + ROUND;
            unsigned width = end - block < workers ? (unsigned)(end - block) : (unsigned)workers;
            pool->fn = fn;
            pool->user = user;
            pool->least = how->least;
            pool->most = how->most;
            pool->turned = how->turned;
            width = ready_workers(pool, width);
            if (width > 1)
                run_parallel(pool, width, block, end);
            atomic_store_explicit(&pool->owned, false, memory_order_release);
            if (width > 1) {
                block = end - 1;
                continue;
            }
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
    wf__pool_run_several(pool, workers, blocks, &(wf__several){ 1, 1, false }, run_one_by_one,
                         &(one_by_one){ fn, user });
}

void wf__pool_run(wf__pool *pool, int64_t blocks, wf__block_fn *fn, void *user)
{
    wf__pool_run_on(pool, wf__pool_threads(pool), blocks, fn, user);
}
