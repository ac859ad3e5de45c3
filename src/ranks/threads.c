/* threads.c - wf_ranks_threads: starts a thread for each rank and waits for all. See threads.h. */
#include "ranks/threads.h"
#include <stdio.h>

typedef struct run {
    world *world;
    wf_status (*function)(wf_ranks *ranks, void *user);
    void *user;
    bool begin, cancelled; /* set when all threads are there, or one could not be started */
    wf__cond begun;
    wf_ranks_error first; /* of the rank that failed first */
} run;

typedef struct starter {
    run *run;
    int rank;
    wf__thread thread;
} starter;

static thread_group *new_group(world *w, int rank)
{
    thread_group *g = wf__alloc(sizeof *g + (size_t)w->n * sizeof *g->member);
    if (!g)
        return NULL;
    *g = (thread_group){ .world = w, .rank = rank, .n = w->n };
    for (int i = 0; i < w->n; i++)
        g->member[i] = i;
    return g;
}

static wf_status call(run *job, int rank, wf_ranks_error *error)
{
    wf_ranks *ranks = NULL;
    thread_group *g = new_group(job->world, rank);
    if (!g)
        return wf__ranks_error_set(error, WF_ERR_MEMORY, "wf_ranks_threads: no memory for rank %d", rank);
    wf_ranks_group made = wf__thread_group(g);
    wf_status status = wf_ranks_new(&wf__thread_ops, &made, &ranks, error);
    if (status) {
        wf__free(g);
        return status;
    }
    wf__mutex_lock(&job->world->lock);
    job->world->rank[rank].begun = true;
    wf__mutex_unlock(&job->world->lock);
    status = job->function(ranks, job->user);
    if (status) {
        wf__ranks_error_set(error, status, "%s",
                            ranks->error.status == status ? ranks->error.text : "the function of the rank failed");
        error->rank = ranks->error.status == status && ranks->error.rank >= 0 ? ranks->error.rank : rank;
    }
    wf_ranks_free(ranks);
    return status;
}

static void *rank_main(void *user)
{
    starter *s = user;
    run *job = s->run;
    world *w = job->world;
    char name[16];
    snprintf(name, sizeof name, "weft-rank-%d", s->rank % 10000);
    wf__thread_name(name);
    wf__mutex_lock(&w->lock);
    while (!job->begin)
        wf__cond_wait(&job->begun, &w->lock);
    bool cancelled = job->cancelled;
    if (!cancelled)
        wf__world_wait_turn(w, s->rank);
    wf__mutex_unlock(&w->lock);
    if (cancelled)
        return NULL;
    wf_ranks_error error;
    wf_status status = call(job, s->rank, &error);
    wf__mutex_lock(&w->lock);
    if (status && !job->first.status)
        job->first = error;
    if (!w->rank[s->rank].gone)
        wf__world_leave(w, s->rank, "has returned");
    w->rank[s->rank].running = false;
    w->live--;
    if (w->turns)
        wf__world_pass_turn(w);
    wf__mutex_unlock(&w->lock);
    return NULL;
}

static void free_letters(letter *list)
{
    for (letter *next; list; list = next) {
        next = list->next;
        if (!list->request)
            wf__free(list);
    }
}

static void free_world(world *w)
{
    for (int i = 0; i < w->n; i++) {
        free_letters(w->rank[i].sends);
        wf__cond_free(&w->rank[i].wake);
    }
    free_letters(w->on_the_way);
    for (shared_counter *c = w->counters, *next; c; c = next) {
        next = c->next;
        wf__free(c);
    }
    wf__mutex_free(&w->lock);
}

/* Starts the threads, lets them begin together, and waits for them. */
static wf_status run_all(run *job, starter *starters)
{
    world *w = job->world;
    int started = 0;
    while (started < w->n) {
        starters[started] = (starter){ .run = job, .rank = started };
        if (!wf__thread_start(&starters[started].thread, rank_main, &starters[started]))
            break;
        started++;
    }
    wf__mutex_lock(&w->lock);
    job->cancelled = started < w->n;
    job->begin = true;
    if (w->turns && !job->cancelled)
        wf__world_pass_turn(w);
    wf__cond_broadcast(&job->begun);
    wf__mutex_unlock(&w->lock);
    for (int i = 0; i < started; i++)
        wf__thread_join(starters[i].thread);
    if (job->cancelled)
        return wf__ranks_error_set(&job->first, WF_ERR_MEMORY, "wf_ranks_threads: the system has no thread for rank %d",
                                   started);
    return job->first.status;
}

wf_status wf_ranks_threads(int n, wf_status (*function)(wf_ranks *ranks, void *user), void *user,
                           const wf_ranks_threads_options *options, wf_ranks_error *error)
{
    enum { MOST = 1024 };
    wf_ranks_threads_options o = { 0 };
    if (options && options->size != sizeof o)
        return wf__ranks_error_set(error, WF_ERR_ARG, "wf_ranks_threads: options.size is not that of this version");
    if (options)
        o = *options;
    if (n < 1 || n > MOST || !function)
        return wf__ranks_error_set(error, WF_ERR_ARG, "wf_ranks_threads: %s",
                                   function ? "the number of ranks is not from 1 to 1024" : "function is NULL");
    world w = { .n = n,
                .live = n,
                .turn = -1,
                .turns = o.seed != 0,
                .random = o.seed,
                .lost_rank = o.lost_rank,
                .lost_after = o.lost_after };
    wf__host_name(w.host, sizeof w.host);
    run job = { .world = &w, .function = function, .user = user, .first.rank = -1 };
    starter *starters = wf__alloc0((size_t)n * sizeof *starters);
    w.rank = wf__alloc0((size_t)n * sizeof *w.rank);
    wf_status status = WF_ERR_MEMORY;
    if (starters && w.rank) {
        wf__mutex_init(&w.lock);
        wf__cond_init(&job.begun);
        for (int i = 0; i < n; i++) {
            wf__cond_init(&w.rank[i].wake);
            w.rank[i].running = true;
        }
        status = run_all(&job, starters);
        free_world(&w);
        wf__cond_free(&job.begun);
    } else
        wf__ranks_error_set(&job.first, WF_ERR_MEMORY, "wf_ranks_threads: no memory for %d ranks", n);
    if (error)
        *error = job.first;
    wf__free(starters);
    wf__free(w.rank);
    return status;
}
