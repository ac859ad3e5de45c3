/* test_after_failure.c - calls of the system that fail for a while, and what works again when they do not fail any more:
 * threads of the pool, arenas of code, the folder of compiled kernels.
 *
 * The functions below replace those of libc in this program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "run/cache/disk.h"
#include "run/memory/code_memory.h"
#include "run/thread/pool.h"

static atomic_int failure; /* the errno with which the calls fail; 0 = they work */
static atomic_int failed;  /* number of calls that have failed */

static bool fails(void)
{
    int error = atomic_load(&failure);
    if (error)
        errno = error;
    atomic_fetch_add(&failed, error != 0);
    return error != 0;
}

#define REAL(name)                            \
    __typeof__(name) *real;                   \
    void *address_ = dlsym(RTLD_NEXT, #name); \
    memcpy(&real, &address_, sizeof address_)

int pthread_create(pthread_t *out, const pthread_attr_t *how, void *(*fn)(void *), void *user)
{
    REAL(pthread_create);
    return fails() ? errno : real(out, how, fn, user);
}

int memfd_create(const char *name, unsigned flags)
{
    REAL(memfd_create);
    return fails() ? -1 : real(name, flags);
}

int open(const char *path, int flags, ...)
{
    REAL(open);
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails() ? -1 : real(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    REAL(openat);
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails() ? -1 : real(dir, path, flags, mode);
}

static void begin_failing(int error)
{
    atomic_store(&failed, 0);
    atomic_store(&failure, error);
}

static void end_failing(void) { atomic_store(&failure, 0); }

/* ---- threads ---- */

/* Waits, in the caller, until another thread is inside too, or has been. */
static void meet(void *user, int64_t block, int worker)
{
    atomic_int *others = user;
    (void)block;
    if (worker)
        atomic_fetch_add(others, 1);
    for (int i = 0; i < 1000 && !worker && !atomic_load(others); i++)
        usleep(20);
}

static void test_threads(void **state)
{
    (void)state;
    wf__pool *pool = wf__pool_new(2);
    atomic_int others = 0;
    begin_failing(EAGAIN);
    for (int i = 0; i < 600; i++) {
        atomic_store(&others, 1); /* nothing to wait for */
        wf__pool_run(pool, 2, meet, &others);
        assert_int_equal(atomic_load(&others), 1);
    }
    assert_in_range(atomic_load(&failed), 2, 10); /* tried again, but seldom */
    end_failing();
    atomic_store(&others, 0);
    for (int i = 0; i < 2000 && !atomic_load(&others); i++) {
        atomic_int none = 1;
        wf__pool_run(pool, 2, meet, i < 600 ? &none : &others);
        if (i < 600 && atomic_load(&none) > 1)
            atomic_store(&others, 1);
    }
    assert_true(atomic_load(&others) > 0);
    wf__pool_free(pool);
}

/* Setting the number of threads asks at once. */
static void test_threads_set(void **state)
{
    (void)state;
    wf__pool *pool = wf__pool_new(2);
    atomic_int others = 1;
    begin_failing(EAGAIN);
    wf__pool_run(pool, 2, meet, &others);
    end_failing();
    assert_int_equal(atomic_load(&failed), 1);
    wf__pool_set_threads(pool, 2);
    atomic_store(&others, 0);
    for (int i = 0; i < 100 && !atomic_load(&others); i++)
        wf__pool_run(pool, 2, meet, &others);
    assert_true(atomic_load(&others) > 0);
    wf__pool_free(pool);
}

/* ---- code ---- */

static void test_code(void **state)
{
    (void)state;
    wf__code_memory m;
    int without = 0;
    begin_failing(EMFILE);
    for (int i = 0; i < 200; i++) {
        assert_true(wf__code_memory_new(&m, 64, 64));
        assert_null(m.arena);
        wf__code_memory_free(&m);
    }
    assert_in_range(atomic_load(&failed), 2, 20);
    end_failing();
    for (bool arena = false; !arena; without++) {
        assert_true(without < 200);
        assert_true(wf__code_memory_new(&m, 64, 64));
        arena = m.arena != NULL;
        wf__code_memory_free(&m);
    }
}

/* ---- the folder of compiled kernels ---- */

static bool store(wf__disk *d, int key) { return wf__disk_store(d, &key, sizeof key, "object", 6); }

/* Stores until one succeeds. */
static void store_again(wf__disk *d)
{
    int tries = 0;
    while (!store(d, 100 + tries))
        assert_true(++tries < 200);
    for (int i = 0; i < 100; i++)
        assert_true(store(d, 1000 + i));
}

static void check_folder(int error, bool opened)
{
    char folder[] = "/tmp/weft-after-failure-XXXXXX";
    assert_non_null(mkdtemp(folder));
    wf__disk *d = wf__disk_open(folder, 0);
    wf__bytes got;
    if (opened)
        assert_true(store(d, 1));
    begin_failing(error);
    for (int i = 0; i < 300; i++) {
        assert_false(store(d, 2));
        assert_false(wf__disk_load(d, "k", 1, &got));
    }
    int stores = atomic_load(&failed);
    end_failing();
    if (!opened)
        assert_in_range(stores, 2, 60);
    store_again(d);
    int key = 1000;
    assert_true(wf__disk_load(d, &key, sizeof key, &got));
    assert_int_equal(got.n, 6);
    wf__free(got.at);
    wf__disk_clear(d);
    wf__disk_close(d);
    rmdir(folder);
}

static void test_folder(void **state)
{
    (void)state;
    static const int errors[] = { EMFILE, ENFILE, ENOMEM, EIO };
    for (size_t i = 0; i < WF__COUNT(errors); i++)
        check_folder(errors[i], false);
    check_folder(ENOSPC, true);
    check_folder(EMFILE, true);
}

/* A folder that may not be used stays off. */
static void test_forbidden_folder(void **state)
{
    (void)state;
    char folder[] = "/tmp/weft-after-failure-XXXXXX";
    assert_non_null(mkdtemp(folder));
    wf__disk *d = wf__disk_open(folder, 0);
    begin_failing(ELOOP);
    assert_false(store(d, 1));
    end_failing();
    for (int i = 0; i < 200; i++)
        assert_false(store(d, i));
    wf__disk_close(d);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads), cmocka_unit_test(test_threads_set),      cmocka_unit_test(test_code),
        cmocka_unit_test(test_folder),  cmocka_unit_test(test_forbidden_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
