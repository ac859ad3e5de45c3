/* later.c - see later.h. The thread runs the compilations of its queue (thread/queue.h) one by one. A compilation that a
 * launch needs at once, and that has not begun, is done by that launch. */
#include "run/later.h"
#include "run/engine_internal.h"

enum { MOST_WAITING = 64 };
enum { WAITING, BEGUN, CANCELLED, DONE, FAILED }; /* ended from CANCELLED on */

struct wf__later {
    wf__task task; /* the first member */
    wf__engine *engine;
    int64_t process;
    _Atomic int users; /* the queue and the stage */
    _Atomic int state;
    wf__ir body; /* a copy, since the plan may be freed meanwhile */
    wf__code_options how, instead;
    bool has_instead;
    _Atomic(wf__held *) held;
    uint64_t hash; /* hash of the code's key, once the state is DONE */
};

void wf__later_release(wf__later *l)
{
    if (!l || atomic_fetch_sub(&l->users, 1) != 1)
        return;
    wf__map_let_go(l->engine->code, atomic_load(&l->held));
    wf__ir_free_copy(&l->body);
    wf__free(l);
}

static void log_failure(wf__engine *e, wf__str *error)
{
    wf__str text = { 0 };
    if (error->len) {
        wf__str_addf(&text, "compiling a kernel failed (%s); it is interpreted instead", wf__str_get(error));
        wf__engine_log(e, 1, wf__str_get(&text));
    }
    wf__str_free(&text);
    wf__str_free(error);
}

static void compile(wf__later *l, wf__str *error)
{
    wf__note found = { 0 };
    const wf__code_options *instead = l->has_instead ? &l->instead : NULL;
    wf__held *held = wf__engine_get_code(l->engine, &l->body, &l->how, instead, &found, error);
    l->hash = found.hash;
    atomic_store(&l->held, held);
    atomic_store(&l->state, held ? DONE : FAILED);
}

static bool begin(wf__later *l)
{
    int waiting = WAITING;
    return atomic_compare_exchange_strong(&l->state, &waiting, BEGUN);
}

/* Compiles, unless a launch has begun to meanwhile. */
static void compile_waiting(wf__later *l, wf__str *error)
{
    if (!wf__background_begin())
        return;
    if (begin(l))
        compile(l, error);
    wf__background_end();
}

/* Runs in the engine's thread. While the engine closes, code is compiled for the disk alone. */
static void run(wf__task *task)
{
    wf__later *l = (wf__later *)task;
    wf__engine *e = l->engine;
    wf__str error = { 0 };
    if (!atomic_load(&e->closing) || (e->use_disk && !*wf__disk_problem(e->disk)))
        compile_waiting(l, &error);
    log_failure(e, &error);
    if (begin(l))
        atomic_store(&l->state, CANCELLED);
    atomic_fetch_sub(&e->waiting, 1);
    wf__later_release(l);
    wf__background_gone();
}

/* ---- the thread ---- */
/* Starts the thread if there is none. NULL = no thread in this process. */
static wf__queue *get_queue(wf__engine *e)
{
    if (!wf__later_guard())
        return NULL;
    wf__mutex_lock(&e->lock);
    if (!e->later) {
        e->later = wf__queue_new(&e->later_progress, "weft-compile");
        e->later_process = wf__process_id();
    }
    wf__queue *q = e->later_process == wf__process_id() ? e->later : NULL;
    wf__mutex_unlock(&e->lock);
    return q;
}

wf__later *wf__later_new(wf__engine *e, const wf__ir *body, const wf__code_options *how,
                         const wf__code_options *instead)
{
    wf__queue *q = get_queue(e);
    if (!q)
        return NULL;
    wf__later *l = atomic_fetch_add(&e->waiting, 1) < MOST_WAITING ? wf__alloc0(sizeof *l) : NULL;
    if (!l || !wf__ir_copy(body, &l->body)) {
        atomic_fetch_sub(&e->waiting, 1);
        wf__free(l);
        return NULL;
    }
    l->task.run = run;
    l->engine = e;
    l->process = wf__process_id();
    l->how = *how;
    l->has_instead = instead != NULL;
    if (instead)
        l->instead = *instead;
    atomic_init(&l->users, 2);
    wf__background_expect();
    wf__queue_put(q, &l->task);
    return l;
}

/* ---- the end of a compilation ---- */
bool wf__later_is_done(const wf__later *l) { return atomic_load(&((wf__later *)(uintptr_t)l)->state) >= CANCELLED; }

bool wf__later_is_lost(const wf__later *l) { return !wf__later_is_done(l) && l->process != wf__process_id(); }

static bool has_ended(void *user) { return wf__later_is_done(user); }

void wf__later_finish(wf__later *l)
{
    wf__str error = { 0 };
    if (begin(l))
        compile(l, &error);
    else
        wf__progress_wait(&l->engine->later_progress, has_ended, l);
    log_failure(l->engine, &error);
}

wf__held *wf__later_take(wf__later *l, uint64_t *hash)
{
    if (!wf__later_is_done(l))
        return NULL;
    *hash = l->hash;
    return atomic_exchange(&l->held, NULL);
}

bool wf__later_failed(const wf__later *l) { return atomic_load(&((wf__later *)(uintptr_t)l)->state) == FAILED; }
