/* background.c - see background.h. The state is that of the process, since forks and the end concern all contexts.
 *
 * Functions of atexit are too late for the end of the process: a library registers destructors while it works, and these
 * run before. Destructors of the thread that calls exit run before all of them.
 */
#include "run/thread/background.h"
#include <sys/syscall.h>
#include <unistd.h>

static wf__mutex working = WF__MUTEX_INIT;  /* held during a piece of work, and while this process forks */
static wf__mutex counting = WF__MUTEX_INIT; /* guards `expected`; also held while this process forks */
static wf__cond none_expected = PTHREAD_COND_INITIALIZER;
static uint64_t expected;
static bool ending;                            /* under `working` */
static _Thread_local bool is_this, is_guarded; /* the thread runs a piece of work; its end is guarded */

#if defined(__linux__) && defined(__GLIBC__)
extern int __cxa_thread_atexit_impl(void (*call)(void *), void *object, void *library);
static bool at_thread_end(void (*call)(void *)) { return __cxa_thread_atexit_impl(call, NULL, &working) == 0; }
static bool is_main(void) { return syscall(SYS_gettid) == getpid(); }
#else
static bool at_thread_end(void (*call)(void *)) { return (void)call, false; }
static bool is_main(void) { return false; }
#endif

static void end_thread(void *unused)
{
    WF__UNUSED(unused);
    if (is_this) /* the work itself ends the process */
        return;
    if (is_main()) {
        wf__mutex_lock(&working);
        ending = true;
        wf__mutex_unlock(&working);
        return;
    }
    wf__mutex_lock(&counting);
    while (expected)
        wf__cond_wait(&none_expected, &counting);
    wf__mutex_unlock(&counting);
}

/* ---- forks ---- */
static void before_fork(void)
{
    if (!is_this)
        wf__mutex_lock(&working);
    wf__mutex_lock(&counting);
}

static void after_fork(void)
{
    wf__mutex_unlock(&counting);
    if (!is_this)
        wf__mutex_unlock(&working);
}

static void in_child(void)
{
    expected = 0;
    after_fork();
}

/* ---- work ---- */
bool wf__background_guard(void)
{
    static wf__fork_handlers handlers = WF__FORK_HANDLERS(before_fork, after_fork, in_child);
    is_guarded = is_guarded || (wf__handle_forks(&handlers) && at_thread_end(end_thread));
    return is_guarded;
}

void wf__background_expect(void)
{
    wf__mutex_lock(&counting);
    ++expected;
    wf__mutex_unlock(&counting);
}

void wf__background_gone(void)
{
    wf__mutex_lock(&counting);
    if (expected && !--expected)
        wf__cond_broadcast(&none_expected);
    wf__mutex_unlock(&counting);
}

bool wf__background_begin(void)
{
    wf__mutex_lock(&working);
    is_this = !ending;
    if (ending)
        wf__mutex_unlock(&working);
    return is_this;
}

void wf__background_end(void)
{
    is_this = false;
    wf__mutex_unlock(&working);
}
