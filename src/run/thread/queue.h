/* queue.h - tasks that one thread does in order, and waiting for what such threads do. */
#ifndef WEFT_QUEUE_H
#define WEFT_QUEUE_H
#include "base/os.h"
#include <stdatomic.h>

/* ---- progress: where threads sleep until something that others do has come about ---- */
typedef struct wf__progress {
    wf__mutex lock;
    wf__cond made;
    atomic_int waiting;
    bool may_spin;
    _Atomic int64_t process; /* whose threads make progress: of the latest queue */
} wf__progress;
bool wf__progress_init(wf__progress *p);
void wf__progress_free(wf__progress *p);
/* Returns once until(user), which reads atomic variables with sequential consistency, is true. */
void wf__progress_wait(wf__progress *p, bool (*until)(void *user), void *user);
/* After each change of such variables that may make a condition true. Costs a load when nobody waits. */
void wf__progress_made(wf__progress *p);

/* ---- queues ---- */
typedef struct wf__queue wf__queue;
typedef struct wf__task { /* the first member of what is queued */
    struct wf__task *next;
    void (*run)(struct wf__task *task); /* frees it */
} wf__task;

/* Starts the thread. NULL: no memory, or the system refused a thread. `progress` must outlive the queue. */
wf__queue *wf__queue_new(wf__progress *progress);
void wf__queue_put(wf__queue *queue, wf__task *task); /* from any thread */
void wf__queue_wait(wf__queue *queue);                /* until everything that was put before has been done */
void wf__queue_free(wf__queue *queue);                /* does what is left first; not from one of its tasks */
#endif
