/* pool.c - a pool whose counter of jobs announces work. A worker spins on the counter, then sleeps on a condition. */
#include "pool.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SPINS = 700 }; /* about 10 to 50 us, by the cost of `pause` */

typedef struct worker {
    bench_pool *pool;
    pthread_t thread;
    int part;
} worker;

struct bench_pool {
    int threads, started;
    worker *workers; /* [threads]; the first is the caller */
    bench_part_fn *fn;
    void *data;
    const void *how;
    bool stop;
    _Alignas(64) atomic_uint job;     /* counts jobs */
    _Alignas(64) atomic_int working;  /* workers not finished with the job */
    _Alignas(64) atomic_int sleepers; /* workers waiting on `wake` */
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void *work(void *user)
{
    worker *w = user;
    bench_pool *p = w->pool;
    for (unsigned seen = 0;;) {
        for (int i = 0; i < SPINS && atomic_load(&p->job) == seen; ++i)
            pause_briefly();
        if (atomic_load(&p->job) == seen) {
            pthread_mutex_lock(&p->lock);
            atomic_fetch_add(&p->sleepers, 1); /* before the test: the worker sees the job, or the sender the sleeper */
            while (atomic_load(&p->job) == seen)
                pthread_cond_wait(&p->wake, &p->lock);
            atomic_fetch_sub(&p->sleepers, 1);
            pthread_mutex_unlock(&p->lock);
        }
        ++seen;
        if (p->stop)
            return NULL;
        p->fn(p->data, p->how, w->part, p->threads);
        atomic_fetch_sub(&p->working, 1);
    }
}

static void announce(bench_pool *p)
{
    atomic_fetch_add(&p->job, 1);
    if (atomic_load(&p->sleepers) > 0) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->wake);
        pthread_mutex_unlock(&p->lock);
    }
}

bench_pool *bench_pool_new(int threads)
{
    bench_pool *p = aligned_alloc(64, (sizeof(bench_pool) + 63) / 64 * 64);
    if (!p)
        return NULL;
    *p = (bench_pool){ .threads = threads, .started = 1 };
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    p->workers = calloc((size_t)threads, sizeof *p->workers);
    for (; p->workers && p->started < threads; ++p->started) {
        worker *w = &p->workers[p->started];
        *w = (worker){ .pool = p, .part = p->started };
        if (pthread_create(&w->thread, NULL, work, w) != 0)
            break;
    }
    if (p->workers && p->started == threads)
        return p;
    bench_pool_free(p);
    return NULL;
}

void bench_pool_free(bench_pool *p)
{
    if (!p)
        return;
    p->stop = true;
    announce(p);
    for (int i = 1; i < p->started && p->workers; ++i)
        pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p->workers);
    free(p);
}

void bench_pool_run(bench_pool *p, bench_part_fn *fn, void *data, const void *how)
{
    p->fn = fn;
    p->data = data;
    p->how = how;
    atomic_store(&p->working, p->threads - 1);
    if (p->threads > 1)
        announce(p);
    fn(data, how, 0, p->threads);
    for (int i = 0; atomic_load(&p->working) != 0; ++i) {
        if (i < 100 * SPINS)
            pause_briefly();
        else
            sched_yield();
    }
}
