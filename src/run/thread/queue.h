/* queue.h - queues of tasks, each run in order by one thread, and waiting for their progress. */
#ifndef WEFT_QUEUE_H
#define WEFT_QUEUE_H
#include "base/os.h"
#include <stdatomic.h>

/* ---- progress: threads sleep until a condition that other threads change is true ---- */
typedef struct wf__progress {
    wf__mutex lock;
    wf__cond made;
    atomic_int waiting;
    bool may_spin;
    _Atomic int64_t process; /* the process of the latest queue; 0 = none */
} wf__progress;
bool wf__progress_init(wf__progress *p, bool may_spin);
void wf__progress_free(wf__progress *p);
/* Returns once until(user) is true, which must read atomic variables with sequential consistency. Without
 * a queue in this process, as in the child of a fork, returns after a short spin in any case. */
void wf__progress_wait(wf__progress *p, bool (*until)(void *user), void *user);
/* Must follow each change of such variables. Costs one load if no thread waits. */
void wf__progress_made(wf__progress *p);

/* ---- queues ---- */
typedef struct wf__queue wf__queue;
typedef struct wf__task { /* the first member of a queued struct */
    struct wf__task *next;
    void (*run)(struct wf__task *task); /* runs and frees the task */
} wf__task;

/* Starts the thread, with this name for debuggers, a literal. NULL = no memory, or no thread. `progress` must outlive
 * the queue. */
wf__queue *wf__queue_new(wf__progress *progress, const char *name);
void wf__queue_put(wf__queue *queue, wf__task *task); /* any thread may call */
void wf__queue_wait(wf__queue *queue);                /* returns when all tasks put before have run */
bool wf__queue_is_this(const wf__queue *queue);       /* true in a task of the queue */
void wf__queue_free(wf__queue *queue);                /* runs the remaining tasks first; no task may call it */
#endif
