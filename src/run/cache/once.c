/* once.c - see once.h. The list is that of the process, and short: it has one entry for each thread that compiles. */
#include "run/cache/once.h"
#include "base/os.h"
#include <pthread.h>

struct wf__once {
    struct wf__once *next;
    const wf__str *key; /* the maker's, while the entry is in the list */
    wf__str object;
    pthread_t maker;
    uint32_t users; /* the maker, and the threads that wait for it or use the object */
    bool is_made;   /* the maker has ended */
};

static wf__mutex lock = WF__MUTEX_INIT; /* guards what follows, and all entries; also held while this process forks */
static wf__cond one_made = PTHREAD_COND_INITIALIZER;
static wf__once *first;

/* ---- forks ---- */
static void before_fork(void) { wf__mutex_lock(&lock); }
static void after_fork(void) { wf__mutex_unlock(&lock); }

static void in_child(void)
{
    first = NULL; /* the child has none of the makers' threads */
    after_fork();
}

bool wf__once_guard(void)
{
    static wf__fork_handlers handlers = WF__FORK_HANDLERS(before_fork, after_fork, in_child);
    return wf__handle_forks(&handlers);
}

/* ---- under the lock ---- */
static wf__once *find(const wf__str *key)
{
    wf__once *o = first;
    while (o && (o->key->len != key->len || memcmp(o->key->at, key->at, key->len) != 0))
        o = o->next;
    return o;
}

static wf__once *announce(const wf__str *key)
{
    wf__once *o = wf__alloc0(sizeof *o);
    if (!o)
        return NULL;
    o->key = key;
    o->maker = pthread_self();
    o->users = 1;
    o->next = first;
    first = o;
    return o;
}

static void wait_for(wf__once *o)
{
    ++o->users;
    while (!o->is_made)
        wf__cond_wait(&one_made, &lock);
}

static void withdraw(wf__once *o)
{
    wf__once **at = &first;
    while (*at && *at != o)
        at = &(*at)->next;
    if (*at)
        *at = o->next;
    o->key = NULL;
    o->is_made = true;
    wf__cond_broadcast(&one_made);
}

/* ---- use ---- */
wf__once *wf__once_begin(const wf__str *key)
{
    if (!wf__once_guard())
        return NULL;
    wf__mutex_lock(&lock);
    wf__once *o = find(key);
    if (!o)
        o = announce(key);
    else if (pthread_equal(o->maker, pthread_self()))
        o = NULL;
    else
        wait_for(o);
    wf__mutex_unlock(&lock);
    return o;
}

const wf__str *wf__once_made(const wf__once *once)
{
    return once && once->is_made && once->object.len ? &once->object : NULL;
}

void wf__once_end(wf__once *once, wf__str *object)
{
    if (!once)
        return;
    wf__mutex_lock(&lock);
    if (!once->is_made) {
        if (once->users > 1) {
            once->object = *object;
            *object = (wf__str){ 0 };
        }
        withdraw(once);
    }
    bool is_last = --once->users == 0;
    wf__mutex_unlock(&lock);
    if (!is_last)
        return;
    wf__str_free(&once->object);
    wf__free(once);
}
