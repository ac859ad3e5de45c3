/* test_thread_pool.c - every block runs exactly once, for any caller, any nesting and any number of threads.
 *
 * ctest: threads
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/os.h"
#include "run/thread/pool.h"

enum { MOST_BLOCKS = 20000 };

typedef struct job {
    atomic_int ran[MOST_BLOCKS];
    int64_t plain[MOST_BLOCKS]; /* written by blocks without atomics: the run's return must order it */
    int workers;                /* bound on worker numbers */
    atomic_int bad_worker;
    atomic_int in_use[WF__POOL_MAX]; /* worker numbers in use at this moment */
    wf__pool *pool;
    int spin;
} job;

static void block(void *user, int64_t b, int worker)
{
    job *j = user;
    if (worker < 0 || worker >= j->workers || atomic_fetch_add(&j->in_use[worker], 1) != 0)
        atomic_fetch_add(&j->bad_worker, 1);
    for (volatile int i = 0; i < j->spin; i = i + 1)
        ;
    atomic_fetch_add(&j->ran[b], 1);
    j->plain[b] = b;
    atomic_fetch_sub(&j->in_use[worker], 1);
}

static bool ran_once(job *j, int64_t blocks)
{
    for (int64_t b = 0; b < blocks; b++) {
        if (atomic_exchange(&j->ran[b], 0) != 1 || j->plain[b] != b)
            return false;
        j->plain[b] = -1;
    }
    return atomic_load(&j->bad_worker) == 0;
}

static job *new_job(wf__pool *pool)
{
    job *j = calloc(1, sizeof *j);
    assert_non_null(j);
    j->pool = pool;
    j->workers = wf__pool_threads(pool);
    return j;
}

static void test_block_counts(void **state)
{
    (void)state;
    static const int64_t counts[] = { 0, 1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 1000, MOST_BLOCKS };
    for (int threads = 1; threads <= 9; threads++) {
        wf__pool *pool = wf__pool_new(threads);
        assert_int_equal(wf__pool_threads(pool), threads);
        job *j = new_job(pool);
        for (size_t i = 0; i < WF__COUNT(counts); i++) {
            wf__pool_run(pool, counts[i], block, j);
            assert_true(ran_once(j, counts[i]));
        }
        free(j);
        wf__pool_free(pool);
    }
}

typedef struct several {
    job *j;
    int64_t least, most;
    atomic_int too_long;
} several;

static void blocks_of(void *user, int64_t first, int64_t end, int worker)
{
    several *s = user;
    int64_t most = s->most > 2 * s->least - 1 ? s->most : 2 * s->least - 1;
    if (first >= end || (s->j->workers > 1 && end - first > most))
        atomic_fetch_add(&s->too_long, 1);
    for (int64_t b = first; b < end; b++)
        block(s->j, b, worker);
}

/* Several blocks in a call: each runs once, and no call gets more than the limit, except that of a single worker. */
static void test_several(void **state)
{
    (void)state;
    static const int64_t counts[] = { 0, 1, 2, 3, 7, 16, 65, MOST_BLOCKS }, most[] = { 1, 2, 3, 8, 5000 };
    for (int threads = 1; threads <= 5; threads++) {
        wf__pool *pool = wf__pool_new(threads);
        several s = { .j = new_job(pool) };
        for (size_t i = 0; i < WF__COUNT(counts) * WF__COUNT(most) * 20; i++) {
            int64_t blocks = counts[i % WF__COUNT(counts)];
            s.most = most[i / WF__COUNT(counts) % WF__COUNT(most)];
            s.least = i % 3 ? 1 : (s.most + 1) / 2;
            wf__pool_run_several(pool, threads, blocks, &(wf__several){ s.least, s.most, i / 2 % 2 }, blocks_of, &s);
            assert_true(ran_once(s.j, blocks));
            assert_int_equal(atomic_load(&s.too_long), 0);
        }
        free(s.j);
        wf__pool_free(pool);
    }
}

static void add_range(void *user, int64_t first, int64_t end, int worker)
{
    (void)worker;
    atomic_int_least64_t *sum = user; /* of blocks done, and of their indices */
    atomic_fetch_add(&sum[0], end - first);
    atomic_fetch_add(&sum[1], end * (end - 1) / 2 - first * (first - 1) / 2);
}

/* More blocks than a share counts: the run is done in rounds. */
static void test_rounds(void **state)
{
    (void)state;
    wf__pool *pool = wf__pool_new(3);
    const int64_t blocks = ((int64_t)1 << 31) + 5;
    for (int i = 0; i < 20; i++) {
        atomic_int_least64_t sum[2];
        atomic_init(&sum[0], 0);
        atomic_init(&sum[1], 0);
        wf__pool_run_several(pool, 3, blocks, &(wf__several){ 1, i % 2 ? 1 << 20 : blocks, i / 2 % 2 }, add_range, sum);
        assert_int_equal(atomic_load(&sum[0]), blocks);
        assert_int_equal(atomic_load(&sum[1]), blocks * (blocks - 1) / 2);
    }
    wf__pool_free(pool);
}

static void test_many_runs(void **state)
{
    (void)state;
    wf__pool *pool = wf__pool_new(3);
    job *j = new_job(pool);
    for (int i = 0; i < 5000; i++) {
        int64_t blocks = 1 + i % 17;
        j->spin = i % 100;
        wf__pool_run(pool, blocks, block, j);
        assert_true(ran_once(j, blocks));
        if (i % 500 == 0)
            usleep(1000); /* workers fall asleep and must wake again */
    }
    free(j);
    wf__pool_free(pool);
}

/* A thread that leaves its core moves to another one, if there is one, and may use as many cores as before. */
static void test_leave_cpu(void **state)
{
    (void)state;
    int cores = wf__cpu_count(), moved = 0;
    for (int i = 0; i < 50; i++) {
        int cpu = wf__this_cpu();
        wf__leave_cpu(cpu);
        moved += wf__this_cpu() != cpu;
    }
    wf__leave_cpu(-1);
    wf__leave_cpu(1 << 20);
    assert_int_equal(wf__cpu_count(), cores);
#if defined(__linux__)
    assert_true(cores < 2 || moved > 0);
#endif
}

static void test_set_threads(void **state)
{
    (void)state;
    wf__pool *pool = wf__pool_new(2);
    job *j = new_job(pool);
    for (int i = 0; i < 60; i++) {
        int threads = 1 + i * 7 % 12;
        wf__pool_set_threads(pool, threads);
        assert_int_equal(wf__pool_threads(pool), threads);
        j->workers = threads;
        wf__pool_run(pool, 100, block, j);
        assert_true(ran_once(j, 100));
        j->workers = 2;
        wf__pool_run_on(pool, 2, 100, block, j);
        assert_true(ran_once(j, 100));
    }
    wf__pool_set_threads(pool, 0);
    assert_int_equal(wf__pool_threads(pool), wf__cpu_count());
    wf__pool_set_threads(pool, 1000000);
    assert_int_equal(wf__pool_threads(pool), WF__POOL_MAX);
    free(j);
    wf__pool_free(pool);
    wf__pool_free(NULL);
    pool = wf__pool_new(-1); /* never run: nothing was started */
    assert_int_equal(wf__pool_threads(pool), wf__cpu_count());
    wf__pool_free(pool);
}

typedef struct nest {
    wf__pool *pool, *other;
    atomic_int inner;
} nest;

static void inner_block(void *user, int64_t b, int worker)
{
    (void)b, (void)worker;
    atomic_fetch_add((atomic_int *)user, 1);
}

static void back_block(void *user, int64_t b, int worker)
{
    (void)b, (void)worker;
    nest *n = user;
    wf__pool_run(n->pool, 4, inner_block, &n->inner);
}

static void outer_block(void *user, int64_t b, int worker)
{
    (void)b, (void)worker;
    nest *n = user;
    wf__pool_run(n->pool, 10, inner_block, &n->inner);
    wf__pool_run(n->other, 3, back_block, n);
}

static void test_nested(void **state)
{
    (void)state;
    nest n = { .pool = wf__pool_new(4), .other = wf__pool_new(2) };
    for (int i = 0; i < 200; i++) {
        atomic_store(&n.inner, 0);
        wf__pool_run(n.pool, 8, outer_block, &n);
        assert_int_equal(atomic_load(&n.inner), 8 * (10 + 3 * 4));
    }
    wf__pool_free(n.pool);
    wf__pool_free(n.other);
}

static void *caller(void *user)
{
    wf__pool *pool = user;
    job *j = calloc(1, sizeof *j);
    intptr_t good = j != NULL;
    for (int i = 0; good && i < 300; i++) {
        int64_t blocks = 1 + i % 40;
        j->workers = 3;
        j->spin = i % 200;
        wf__pool_run_on(pool, 3, blocks, block, j);
        good = ran_once(j, blocks);
    }
    free(j);
    return (void *)good;
}

static void test_several_callers(void **state)
{
    (void)state;
    wf__pool *pool = wf__pool_new(3);
    pthread_t threads[4];
    for (size_t i = 0; i < WF__COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, caller, pool), 0);
    for (int i = 0; i < 50; i++)
        wf__pool_set_threads(pool, 1 + i % 6);
    for (size_t i = 0; i < WF__COUNT(threads); i++) {
        void *good;
        pthread_join(threads[i], &good);
        assert_non_null(good);
    }
    wf__pool_free(pool);
}

/* Two callers: the one that had the workers leaves them to the waiting one before its own next run. */
typedef struct turns {
    wf__pool *pool;
    atomic_bool other_began, first_began, second_began, other_had_workers;
    atomic_int together;
} turns;

static bool becomes(atomic_bool *flag)
{
    for (double end = wf__now() + 5; !atomic_load(flag) && wf__now() < end;)
        wf__yield();
    return atomic_load(flag);
}

static void first_run(void *user, int64_t b, int worker)
{
    (void)b, (void)worker;
    becomes(&((turns *)user)->other_began);
}

static void second_run(void *user, int64_t b, int worker)
{
    (void)b, (void)worker;
    atomic_store(&((turns *)user)->second_began, true);
    becomes(&((turns *)user)->other_had_workers);
}

static void other_run(void *user, int64_t b, int worker)
{
    (void)worker;
    turns *t = user;
    if (b == 0) { /* done alone: the first run has the workers */
        atomic_store(&t->other_began, true);
        becomes(&t->second_began);
    } else {
        if (atomic_fetch_add(&t->together, 1) == 1)
            atomic_store(&t->other_had_workers, true);
        becomes(&t->other_had_workers);
        atomic_fetch_sub(&t->together, 1);
    }
}

static void *other_caller(void *user)
{
    turns *t = user;
    becomes(&t->first_began);
    wf__pool_run(t->pool, 3, other_run, t);
    return NULL;
}

static void begin_other(void *user, int64_t b, int worker)
{
    if (b == 0)
        atomic_store(&((turns *)user)->first_began, true);
    first_run(user, b, worker);
}

static void test_turns(void **state)
{
    (void)state;
    turns t = { .pool = wf__pool_new(2) };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, other_caller, &t), 0);
    wf__pool_run(t.pool, 2, begin_other, &t);
    wf__pool_run(t.pool, 2, second_run, &t);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&t.other_had_workers));
    wf__pool_free(t.pool);
}

/* Parts are contiguous and belong to one worker as long as no worker runs out of work. */
typedef struct owners {
    atomic_int who[8];
    atomic_int arrived;
} owners;

static void owner_block(void *user, int64_t b, int worker)
{
    owners *o = user;
    atomic_store(&o->who[b], worker);
    if (b % 2 == 0) { /* the first of each part waits until all parts have begun */
        atomic_fetch_add(&o->arrived, 1);
        while (atomic_load(&o->arrived) < 4)
            wf__yield();
    }
}

static void test_parts(void **state)
{
    (void)state;
    wf__pool *pool = wf__pool_new(4);
    owners o;
    for (int i = 0; i < 20; i++) {
        memset(&o, 0, sizeof o);
        wf__pool_run(pool, 8, owner_block, &o);
        assert_int_equal(atomic_load(&o.who[0]), 0);
        for (int b = 2; b < 8; b += 2)
            assert_int_not_equal(atomic_load(&o.who[b]), 0);
    }
    wf__pool_free(pool);
}

static void uneven_block(void *user, int64_t b, int worker)
{
    (void)worker;
    if (b == 0)
        usleep(20000); /* far beyond all spinning: the caller or a worker has to sleep for it */
    atomic_fetch_add((atomic_int *)user, 1);
}

static void test_slow_blocks(void **state)
{
    (void)state;
    wf__pool *pool = wf__pool_new(2);
    for (int i = 0; i < 5; i++) {
        atomic_int count = 0;
        wf__pool_run(pool, 50, uneven_block, &count);
        assert_int_equal(atomic_load(&count), 50);
        wf__pool_run(pool, 2, uneven_block, &count);
        assert_int_equal(atomic_load(&count), 52);
    }
    wf__pool_free(pool);
}

static void test_failures(void **state)
{
    (void)state;
    for (long n = 0; n < 12; n++) {
        wf__alloc_fail_after(n);
        wf__pool *pool = wf__pool_new(4);
        if (pool) {
            job *j = calloc(1, sizeof *j);
            assert_non_null(j);
            j->workers = 4;
            wf__pool_run(pool, 30, block, j); /* with fewer threads, or none */
            assert_true(ran_once(j, 30));
            wf__pool_run(pool, 30, block, j);
            assert_true(ran_once(j, 30));
            free(j);
        }
        wf__alloc_fail_after(-1);
        wf__pool_free(pool);
    }
}

#ifndef __SANITIZE_THREAD__
static void test_after_fork(void **state)
{
    (void)state;
    wf__pool *pool = wf__pool_new(3);
    job *j = new_job(pool);
    wf__pool_run(pool, 100, block, j);
    assert_true(ran_once(j, 100));
    pid_t child = fork();
    if (child == 0) { /* the workers stayed behind */
        wf__pool_run(pool, 100, block, j);
        bool good = ran_once(j, 100);
        wf__pool_free(pool);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    wf__pool_run(pool, 100, block, j);
    assert_true(ran_once(j, 100));
    free(j);
    wf__pool_free(pool);
}
#endif

/* True if this cgroup or one of its parents limits memory. */
static bool limits_memory(void)
{
    char line[128] = "";
    FILE *p = popen("d=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup);"
                    "while [ \"$d\" != /sys/fs ]; do cat \"$d/memory.max\"; d=${d%/*}; done 2> /dev/null",
                    "r");
    bool limited = false;
    assert_non_null(p);
    while (fgets(line, sizeof line, p))
        limited |= strcmp(line, "max\n") != 0;
    pclose(p);
    return limited;
}

static void test_machine(void **state)
{
    (void)state;
    assert_true(wf__cpu_count() >= 1);
    assert_true(wf__ram_bytes() > 1 << 20);
    long pages = sysconf(_SC_PHYS_PAGES);
    if (pages > 0) {
        uint64_t installed = (uint64_t)pages * wf__page_size();
        assert_true(limits_memory() ? wf__ram_bytes() <= installed : wf__ram_bytes() == installed);
    }
    assert_true(wf__page_size() >= 4096);
    double a = wf__now(), b = wf__now();
    assert_true(b >= a);
    assert_true(wf__random64() != wf__random64());
    char text[64];
    assert_non_null(strstr(wf__errno_text(ENOENT, text, sizeof text), "No such file"));
    assert_non_null(strstr(wf__errno_text(99999, text, sizeof text), "99999"));
    char host[256], cut[2];
    wf__host_name(host, sizeof host);
    wf__host_name(cut, sizeof cut);
    assert_true(*host && *cut == *host && !cut[1]);
    Dl_info info; /* of the library or program with the function's code */
    wf__str folder = { 0 };
    assert_true(wf__dl_own_folder(&folder));
    if (dladdr((void *)(uintptr_t)wf__dl_own_folder, &info) && *info.dli_fname == '/')
        assert_true(!strncmp(info.dli_fname, wf__str_get(&folder), folder.len) &&
                    !strchr(info.dli_fname + folder.len, '/'));
    wf__str_free(&folder);
    wf__str error = { 0 };
    assert_null(wf__dl_open("libdoes-not-exist.so.77", &error));
    assert_non_null(strstr(wf__str_get(&error), "libdoes-not-exist"));
    wf__str_free(&error);
    assert_null(wf__dl_open_own("libdoes-not-exist.so.78", false, NULL));
    assert_null(wf__dl_open_own("libdoes-not-exist.so.78", false, &error));
    int tries = 0; /* beside this code, in the folder of libraries, where the system looks */
    for (const char *at = wf__str_get(&error); (at = strstr(at, "libdoes-not-exist.so.78: ")); at++)
        tries++;
    assert_int_equal(tries, 3);
    assert_false(wf__dl_is_open("libdoes-not-exist.so.78"));
    assert_true(wf__dl_is_open("libc.so.6"));
    void *self = wf__dl_open(NULL, NULL);
    assert_non_null(self);
    assert_non_null(wf__dl_symbol(self, "malloc", &error));
    assert_null(wf__dl_symbol(self, "wf__no_such_symbol", NULL));
    wf__dl_close(self);
    wf__str_free(&error);
}

/* ---- waits for a time ---- */
static time_t ahead; /* how far the clock of the day is wrong, in seconds */

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
int clock_gettime(clockid_t id, struct timespec *t)
{
    int result = (int)syscall(SYS_clock_gettime, id, t);
    if (id == CLOCK_REALTIME)
        t->tv_sec += ahead;
    return result;
}
#endif

typedef struct gate {
    wf__mutex mutex;
    wf__cond cond;
    bool open;
} gate;

static void *open_gate(void *user)
{
    gate *g = user;
    wf__mutex_lock(&g->mutex);
    g->open = true;
    wf__cond_signal(&g->cond);
    wf__mutex_unlock(&g->mutex);
    return NULL;
}

static void test_waits(void **state)
{
    (void)state;
    gate g = { .mutex = WF__MUTEX_INIT };
    wf__thread thread;
    assert_true(wf__cond_init(&g.cond));
    wf__mutex_lock(&g.mutex);
    assert_true(wf__thread_start(&thread, open_gate, &g));
    /* only a wait lets the other thread have the mutex */
    for (int i = 0; i < 100 && !g.open; i++)
        wf__cond_wait_for(&g.cond, &g.mutex, INFINITY);
    assert_true(g.open);
    wf__cond_wait_for(&g.cond, &g.mutex, -1); /* returns */
    /* a wait ends, too, when the clock of the day is set back by a year after its beginning */
    ahead = 365L * 24 * 3600;
    alarm(200); /* ends a test that would wait for it */
    wf__cond_wait_for(&g.cond, &g.mutex, 0.001);
    alarm(0);
    ahead = 0;
    wf__mutex_unlock(&g.mutex);
    wf__thread_join(thread);
    wf__cond_free(&g.cond);
}

static void *blocked_signals(void *set)
{
    pthread_sigmask(SIG_BLOCK, NULL, set);
    return NULL;
}

/* A thread of the library leaves the program's signals to others, but the handler of a fault is called in the thread of
 * the fault. What the program's own thread blocks stays as it is. */
static void test_signals(void **state)
{
    (void)state;
    static const int others[] = { SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD };
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
    sigset_t before, in_thread, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    wf__thread thread;
    assert_true(wf__thread_start(&thread, blocked_signals, &in_thread));
    wf__thread_join(thread);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(sigismember(&in_thread, others[i]));
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        assert_false(sigismember(&in_thread, faults[i]));
    for (int s = 1; s < SIGRTMAX; s++)
        assert_int_equal(sigismember(&before, s), sigismember(&after, s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine),     cmocka_unit_test(test_block_counts), cmocka_unit_test(test_several),
        cmocka_unit_test(test_rounds),      cmocka_unit_test(test_many_runs),    cmocka_unit_test(test_leave_cpu),
        cmocka_unit_test(test_set_threads), cmocka_unit_test(test_nested),       cmocka_unit_test(test_several_callers),
        cmocka_unit_test(test_turns),       cmocka_unit_test(test_parts),        cmocka_unit_test(test_slow_blocks),
        cmocka_unit_test(test_failures),    cmocka_unit_test(test_waits),        cmocka_unit_test(test_signals),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(test_after_fork),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
