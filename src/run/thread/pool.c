/* pool.c - the threads of one context.
 *
 * What a short run costs is cache lines that go from core to core, so a run in which every worker turns up takes few:
 * the caller announces it on one line, and each worker has a line of its own, its share, on which it comes, takes
 * blocks, and leaves.
 *
 * `state` says what is to be done: the number of the run (so that workers see a new one), how many workers take part,
 * and whether it is open; the job lies on the same line. A share counts the blocks taken from a worker's part, by its
 * worker and by thieves alike, and says whether its worker has come, and left. It carries the number of its run; that
 * of an earlier run means: nothing yet. So the caller need not touch the shares before a run.
 *
 * A worker comes by marking its share, as long as that has blocks left: since a run is not over before all blocks are
 * taken, it cannot be over then. A worker that finds its blocks gone counts itself in at the door, in `state`, to help
 * the others. The caller waits for whoever has come; only if somebody has not does it close the door, and wait for
 * those inside. So the job's fields are stable for whoever takes part, a worker that comes too late just misses the
 * run, and a run completes even if no worker ever comes (they sleep, could not be started, or were left behind by
 * fork).
 *
 * Sleeping: a worker announces it in `asleep`, then looks at the state again; the caller changes the state, then looks
 * at `asleep`. Both orders are sequentially consistent, so one of the two sees the other. The caller that sleeps says so
 * in the state and then looks at the shares; a worker leaves its share, then looks at the state. Sleepers are woken as a
 * tree: a worker wakes the two below it, so that the caller pays for two at most.
 *
 * A worker may wake on the core of who woke it, as the system likes to put it there. Then it waits for the caller, which
 * does not wait for it, sleeps again when it gets the core for a moment, and is woken there once more, while another
 * core is idle. So a worker that finds itself there moves away.
 */
#include "run/thread/pool.h"
#include "base/os.h"
#include <stdatomic.h>
#include <stdlib.h>

/* Fields of the state. */
#define INSIDE 0x7FFFu         /* bits 0..14: workers that came in by the door */
#define OPEN 0x8000u           /* workers may enter */
#define CALLER_SLEEPS 0x10000u /* whoever leaves wakes the caller */
#define WIDTH_SHIFT 17         /* bits 17..31: workers of the run, the caller included */
#define NUMBER_SHIFT 32        /* bits 32..63: number of the run */

/* Fields of a share; bits 32..63 are the number of the run, too. */
#define TAKEN 0x1FFFFFFFu /* bits 0..28: blocks taken */
#define ALL 0x20000000u   /* no block is left */
#define CAME 0x40000000u  /* its worker takes part */
#define LEFT 0x80000000u  /* and has left */
enum { ROUND = 1 << 28 }; /* blocks of one run: a share can count them */

static unsigned width_of(uint64_t state) { return (unsigned)(state >> WIDTH_SHIFT) & 0x7FFFu; }

static uint32_t number_of(uint64_t word) { return (uint32_t)(word >> NUMBER_SHIFT); }

static bool is_inside(uint64_t share) { return (share & (CAME | LEFT)) == CAME; }

/* How long to spin before sleeping, in seconds. Waking a sleeper takes about as long as SPIN_MOST, so spinning longer
 * than that cannot pay; a worker whose spinning was in vain spins less the next time. */
#define SPIN_MOST 50e-6
#define SPIN_LEAST 4e-6
#define CALLER_SPIN 200e-6     /* for blocks already begun */
enum { PAUSES_PER_LOOK = 16 }; /* pauses between two looks at the clock */

typedef struct worker { /* on cache lines of its own: two, as neighbours are fetched in pairs */
    _Alignas(128) _Atomic uint64_t share;
    _Alignas(128) wf__thread thread;
    wf__pool *pool;
    unsigned index;
    wf__mutex lock;
    wf__cond wake;
    atomic_bool asleep;
    int waker; /* the core that it was woken from; under `lock` */
} worker;

struct wf__pool {
    /* The run in progress; all but the state is written by the caller before it opens. */
    _Alignas(128) _Atomic uint64_t state;
    wf__blocks_fn *fn;
    void *user;
    int64_t first, blocks;                /* what is divided: first .. blocks - 1 */
    int64_t least, most;                  /* blocks of one call */
    unsigned width;                       /* workers of the run; after it, of the last one */
    bool turned;                          /* whole parts from their end */
    worker **workers;                     /* [room], the first of them NULL: the caller */
    _Alignas(128) _Atomic uint64_t share; /* the caller's */
    /* Of the runs' owner. */
    _Alignas(128) atomic_bool owned; /* during a run */
    atomic_int waiting;              /* callers that do their blocks alone and would like to have the workers */
    _Atomic(const void *) last;      /* the thread that had the workers last, see this_thread */
    /* The caller of the run, when it sleeps. */
    wf__mutex done_lock;
    wf__cond done;
    /* Seldom changed. */
    _Alignas(128) atomic_int threads;
    atomic_int cores;
    atomic_bool no_more; /* the system refused a thread */
    atomic_bool quit;
    unsigned room;    /* workers there are tables for; this and what follows are the owner's */
    unsigned started; /* threads, so workers 1..started exist */
    int64_t process;
};

/* ---- blocks ---- */

static _Atomic uint64_t *share_of(wf__pool *pool, unsigned index)
{
    return index ? &pool->workers[index]->share : &pool->share;
}

/* A whole part. Turned: the last block, the rest of the second half, of the first half, the first block. What has come
 * last is still in the first-level cache, and what does not quite fit into the second is not lost there every time, as it
 * is where the least recently used goes first. */
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

/* Does what is left of part `index`. The caller does its own at once if that is one call, so nobody else looks whether
 * there is something left of it: its share stays where it is. */
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

/* One's own part first, then what is left in the others', nearest first. */
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

static bool come(worker *w, uint32_t number)
{
    uint64_t seen = atomic_load_explicit(&w->share, memory_order_relaxed), next;
    do {
        int32_t age = (int32_t)(number_of(seen) - number);
        if (age > 0 || (age == 0 && (seen & ALL)))
            return false;
        next = (age ? (uint64_t)number << NUMBER_SHIFT : seen) | CAME;
    } while (
        !atomic_compare_exchange_weak_explicit(&w->share, &seen, next, memory_order_acquire, memory_order_relaxed));
    return true;
}

static bool come_by_door(wf__pool *pool, uint32_t number)
{
    uint64_t state = atomic_load_explicit(&pool->state, memory_order_relaxed);
    do
        if (!(state & OPEN) || number_of(state) != number)
            return false;
    while (!atomic_compare_exchange_weak_explicit(&pool->state, &state, state + 1, memory_order_acquire,
                                                  memory_order_relaxed));
    return true;
}

/* Takes part in the run that `state` tells of, if it is not over. Not twice in one: the caller no longer waits for a worker
 * that has left. */
static void join_run(worker *w, uint64_t state)
{
    wf__pool *pool = w->pool;
    uint32_t number = number_of(state);
    if (!(state & OPEN) || w->index >= width_of(state))
        return;
    bool by_share = come(w, number);
    if (!by_share && !come_by_door(pool, number))
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

/* Whether there is something new for this worker; `seen` is the number of the last run it looked at. */
static bool news(wf__pool *pool, unsigned index, uint32_t seen)
{
    uint64_t state = atomic_load(&pool->state);
    return ((state & OPEN) && number_of(state) != seen && index < width_of(state)) || atomic_load(&pool->quit);
}

/* The core that it was woken from; -1: it did not sleep. */
static int sleep_until_news(worker *w, uint32_t seen)
{
    wf__mutex_lock(&w->lock);
    w->waker = -1;
    atomic_store(&w->asleep, true);
    if (news(w->pool, w->index, seen))
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

/* Whether `seconds` have passed since the first call. (What spins looks at the clock late: that takes as long as a few
 * looks at what it waits for.) */
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
            if (news(w->pool, w->index, seen))
                return true;
            wf__prefetch_write(&w->share); /* the caller has looked at it */
            wf__pause();
        }
    while (!is_over(&begin, patience));
    return false;
}

static void *work(void *user)
{
    worker *w = user;
    wf__pool *pool = w->pool;
    wf__thread_name("weft");
    uint32_t seen = 0; /* runs count from 1, so the one that started this thread is news */
    double patience = SPIN_MOST;
    while (!atomic_load_explicit(&pool->quit, memory_order_acquire)) {
        if (may_spin(pool) ? spin_for_news(w, seen, patience) : news(pool, w->index, seen)) {
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
        if (number_of(state) != seen) /* woken late, a worker may have been there already */
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
        wf__mutex_free(&pool->done_lock);
        wf__cond_free(&pool->done);
    }
    wf__free(pool->workers);
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

/* ---- runs; all of their owner ---- */

/* Makes a table for `width` workers. */
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

/* Whether a worker that has come has not left yet. */
static bool somebody_inside(wf__pool *pool)
{
    for (unsigned i = 1; i < pool->width; i++)
        if (is_inside(atomic_load(&pool->workers[i]->share)))
            return true;
    return atomic_load(&pool->state) & INSIDE;
}

static bool everybody_came(wf__pool *pool)
{
    for (unsigned i = 1; i < pool->width; i++)
        if (!(atomic_load_explicit(&pool->workers[i]->share, memory_order_relaxed) & CAME))
            return false;
    return true;
}

/* Waits for the workers that came; no block is left to take, so nobody comes any more but by the door. */
static void finish(wf__pool *pool)
{
    if (!everybody_came(pool))
        atomic_fetch_and(&pool->state, ~(uint64_t)OPEN);
    bool inside = somebody_inside(pool);
    double begin = 0;
    if (inside && may_spin(pool))
        do
            for (int i = 0; i < PAUSES_PER_LOOK && (inside = somebody_inside(pool)); i++)
                wf__pause();
        while (inside && !is_over(&begin, CALLER_SPIN));
    if (!inside)
        return;
    atomic_fetch_or(&pool->state, CALLER_SLEEPS);
    wf__mutex_lock(&pool->done_lock);
    while (somebody_inside(pool))
        wf__cond_wait(&pool->done, &pool->done_lock);
    wf__mutex_unlock(&pool->done_lock);
}

/* Runs blocks first .. blocks - 1 on `width` workers, one of them the caller. There are at least so many blocks, and
 * ROUND at most: every part has some, so every share gets the number of the run. */
static void run_parallel(wf__pool *pool, unsigned width, int64_t first, int64_t blocks)
{
    uint64_t number = number_of(atomic_load_explicit(&pool->state, memory_order_relaxed)) + UINT32_C(1);
    for (unsigned i = pool->width; i < width; i++) /* was not in the last run: its number may be of any age */
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

/* Takes the workers, if they are free and it is this thread's turn: who had them last lets those go first that wait. So
 * callers that launch one run after the other at the same time take turns. `waits`: this one is counted in `waiting`. */
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

void wf__pool_run_several(wf__pool *pool, int workers, int64_t blocks, const wf__several *how, wf__blocks_fn *fn,
                          void *user)
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
