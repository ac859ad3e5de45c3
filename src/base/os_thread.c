/* os_thread.c - threads, mutexes and conditions: pthread under shorter names. */
#include "base/os.h"
#include "base/floats.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

bool wf__mutex_init(wf__mutex *m) { return pthread_mutex_init(m, NULL) == 0; }

void wf__mutex_free(wf__mutex *m) { pthread_mutex_destroy(m); }

void wf__mutex_lock(wf__mutex *m) { pthread_mutex_lock(m); }

bool wf__mutex_try(wf__mutex *m) { return pthread_mutex_trylock(m) == 0; }

void wf__mutex_unlock(wf__mutex *m) { pthread_mutex_unlock(m); }

bool wf__cond_init(wf__cond *c)
{
#if defined(__APPLE__)
    return pthread_cond_init(c, NULL) == 0;
#else
    pthread_condattr_t how;
    if (pthread_condattr_init(&how) != 0)
        return false;
    bool ok = pthread_condattr_setclock(&how, CLOCK_MONOTONIC) == 0 && pthread_cond_init(c, &how) == 0;
    pthread_condattr_destroy(&how);
    return ok;
#endif
}

void wf__cond_free(wf__cond *c) { pthread_cond_destroy(c); }

void wf__cond_wait(wf__cond *c, wf__mutex *m) { pthread_cond_wait(c, m); }

bool wf__handle_forks(wf__fork_handlers *h)
{
    wf__mutex_lock(&h->lock);
    h->is_registered = h->is_registered || pthread_atfork(h->before, h->in_parent, h->in_child) == 0;
    const bool is_registered = h->is_registered;
    wf__mutex_unlock(&h->lock);
    return is_registered;
}

/* A time span for the system, which takes no infinite one: a month at most. */
static struct timespec span(double seconds)
{
    const double most = 30.0 * 24 * 3600;
    int64_t ns = seconds > 0 ? (int64_t)(1e9 * (seconds < most ? seconds : most)) : 0;
    return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

void wf__cond_wait_for(wf__cond *c, wf__mutex *m, double seconds)
{
    struct timespec wait = span(seconds);
#if defined(__APPLE__)
    pthread_cond_timedwait_relative_np(c, m, &wait);
#else
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait.tv_sec + (until.tv_nsec + wait.tv_nsec) / 1000000000;
    until.tv_nsec = (until.tv_nsec + wait.tv_nsec) % 1000000000;
    pthread_cond_timedwait(c, m, &until);
#endif
}

void wf__sleep(double seconds)
{
    struct timespec wait = span(seconds);
    nanosleep(&wait, NULL);
}

void wf__cond_signal(wf__cond *c) { pthread_cond_signal(c); }
void wf__cond_broadcast(wf__cond *c) { pthread_cond_broadcast(c); }

/* Returns the signals that a thread of the library blocks, so that the program's threads receive them: all but those of
 * faults. The system sends the signal of a fault to the thread that made it, and ends the process if that thread blocks
 * it, without a call of the handler that the program, a sanitizer or a debugger has set. */
static sigset_t signals_of_others(void)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&set, faults[i]);
    return set;
}

bool wf__thread_start(wf__thread *out, void *(*fn)(void *), void *user)
{
    if (wf__alloc_fails()) {
        errno = EAGAIN;
        return false;
    }
    sigset_t blocked = signals_of_others(), old;
    pthread_sigmask(SIG_BLOCK, &blocked, &old);
    wf__thread t;
    wf__all_floats floats = wf__all_floats_begin(); /* a new thread inherits the environment */
    int error = pthread_create(&t, NULL, fn, user);
    wf__all_floats_end(floats);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error) {
        errno = error;
        return false;
    }
    *out = t;
    return true;
}

void wf__thread_name(const char *name)
{
#if defined(__linux__)
    pthread_setname_np(pthread_self(), name);
#else
    pthread_setname_np(name);
#endif
}

void wf__thread_join(wf__thread t) { pthread_join(t, NULL); }

void wf__yield(void) { sched_yield(); }
