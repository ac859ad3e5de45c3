/* queue.c - see queue.h. The thread takes all queued tasks at once and runs them outside the lock.
 *
 * In the child of a fork the threads do not exist: queued tasks never run, and no call waits for them.
 */
#include "run/thread/queue.h"

#define SPIN 20e-6 /* seconds of spinning before a thread sleeps: about the time of waking it */
enum { PAUSES_PER_LOOK = 16 };

/* ---- progress ---- */
bool wf__progress_init(wf__progress *p, bool may_spin)
{
    atomic_init(&p->waiting, 0);
    atomic_init(&p->process, 0);
    p->may_spin = may_spin;
    if (!wf__mutex_init(&p->lock))
        return false;
    if (wf__cond_init(&p->made))
        return true;
    wf__mutex_free(&p->lock);
    return false;
}

void wf__progress_free(wf__progress *p)
{
    wf__cond_free(&p->made);
    wf__mutex_free(&p->lock);
}

/* Spins for a while until the condition is true; returns the condition. */
static bool spin_until(bool may_spin, bool (*until)(void *user), void *user)
{
    bool yes = until(user);
    if (yes || !may_spin)
        return yes;
    double begin = wf__now();
    do
        for (int i = 0; i < PAUSES_PER_LOOK && !yes; ++i) {
            wf__pause();
            yes = until(user);
        }
    while (!yes && wf__now() - begin < SPIN);
    return yes;
}

/* A waiter counts itself in `waiting`, then checks the condition. A thread that changes the condition does so, then
 * reads `waiting`. Both orders are sequentially consistent, so at least one of the two sees the other. */
void wf__progress_wait(wf__progress *p, bool (*until)(void *user), void *user)
{
    if (spin_until(p->may_spin, until, user) || atomic_load(&p->process) != wf__process_id())
        return;
    atomic_fetch_add(&p->waiting, 1);
    wf__mutex_lock(&p->lock);
    while (!until(user))
        wf__cond_wait(&p->made, &p->lock);
    wf__mutex_unlock(&p->lock);
    atomic_fetch_sub(&p->waiting, 1);
}

void wf__progress_made(wf__progress *p)
{
    if (!atomic_load(&p->waiting))
        return;
    wf__mutex_lock(&p->lock); /* a waiter that found the condition false sleeps by now */
    wf__mutex_unlock(&p->lock);
    wf__cond_broadcast(&p->made);
}

/* ---- queues ---- */
struct wf__queue {
    wf__progress *progress;
    const char *name;
    wf__thread thread;
    int64_t process;
    wf__mutex lock; /* guards the fields below */
    wf__cond more;
    wf__task *first, **last;
    bool asleep, quit;
    _Atomic uint64_t put, done; /* tasks so far */
};

static bool is_news(void *user)
{
    wf__queue *q = user;
    return atomic_load_explicit(&q->put, memory_order_relaxed) != atomic_load_explicit(&q->done, memory_order_relaxed);
}

/* Waits for tasks, and takes all of them. NULL = the queue ends. */
static wf__task *take_tasks(wf__queue *q)
{
    spin_until(q->progress->may_spin, is_news, q);
    wf__mutex_lock(&q->lock);
    while (!q->first && !q->quit) {
        q->asleep = true;
        wf__cond_wait(&q->more, &q->lock);
    }
    q->asleep = false;
    wf__task *tasks = q->first;
    q->first = NULL;
    q->last = &q->first;
    wf__mutex_unlock(&q->lock);
    return tasks;
}

static void *run_tasks(void *user)
{
    wf__queue *q = user;
    wf__thread_name(q->name);
    for (wf__task *task; (task = take_tasks(q));)
        for (wf__task *next; task; task = next) {
            next = task->next;
            task->run(task);
            atomic_fetch_add(&q->done, 1);
            wf__progress_made(q->progress);
        }
    return NULL;
}

wf__queue *wf__queue_new(wf__progress *progress, const char *name)
{
    wf__queue *q = wf__alloc0(sizeof *q);
    if (!q)
        return NULL;
    q->progress = progress;
    q->name = name;
    q->process = wf__process_id();
    atomic_store(&progress->process, q->process);
    q->last = &q->first;
    bool lock = wf__mutex_init(&q->lock), more = wf__cond_init(&q->more);
    if (lock && more && wf__thread_start(&q->thread, run_tasks, q))
        return q;
    if (lock)
        wf__mutex_free(&q->lock);
    if (more)
        wf__cond_free(&q->more);
    wf__free(q);
    return NULL;
}

void wf__queue_put(wf__queue *q, wf__task *task)
{
    task->next = NULL;
    wf__mutex_lock(&q->lock);
    *q->last = task;
    q->last = &task->next;
    atomic_fetch_add(&q->put, 1);
    bool wake = q->asleep;
    q->asleep = false;
    wf__mutex_unlock(&q->lock);
    if (wake)
        wf__cond_signal(&q->more);
}

typedef struct mark { /* the end of the queue at some time */
    wf__queue *queue;
    uint64_t number;
} mark;

static bool is_done(void *user)
{
    mark *m = user;
    return (int64_t)(atomic_load(&m->queue->done) - m->number) >= 0;
}

void wf__queue_wait(wf__queue *q)
{
    mark m = { q, atomic_load(&q->put) };
    if (!is_done(&m) && q->process == wf__process_id())
        wf__progress_wait(q->progress, is_done, &m);
}

bool wf__queue_is_this(const wf__queue *q) { return q->process == wf__process_id() && wf__thread_is_this(q->thread); }

void wf__queue_free(wf__queue *q)
{
    if (!q)
        return;
    if (q->process == wf__process_id()) {
        wf__mutex_lock(&q->lock);
        q->quit = true;
        wf__mutex_unlock(&q->lock);
        wf__cond_signal(&q->more);
        wf__thread_join(q->thread);
        wf__cond_free(&q->more);
        wf__mutex_free(&q->lock);
    }
    wf__free(q);
}
