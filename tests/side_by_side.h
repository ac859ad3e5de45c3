/* side_by_side.h - threads of a test that run one function at the same time. */
#ifndef WEFT_SIDE_BY_SIDE_H
#define WEFT_SIDE_BY_SIDE_H
#include "weft_test.h"
#include <pthread.h>
#include <stdatomic.h>

/* The assertions of cmocka work in the main thread only. Other threads use these, and run_at_once checks that none
 * failed. */
static atomic_int failures;
static inline void must(bool ok, const char *what)
{
    if (!ok) {
        atomic_fetch_add(&failures, 1);
        fprintf(stderr, "%s\n", what);
    }
}

/* Thread i calls it with data + i * size; size 0: all with the same. */
static inline void start_threads(pthread_t *thread, size_t n, void *(*call)(void *), void *data, size_t size)
{
    for (size_t i = 0; i < n; ++i)
        assert_int_equal(pthread_create(&thread[i], NULL, call, (char *)data + i * size), 0);
}

static inline void join_threads(const pthread_t *thread, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
}

/* Starts them, and waits for all of them. */
static inline void run_at_once(size_t n, void *(*call)(void *), void *data, size_t size)
{
    pthread_t thread[8];
    assert_true(n <= sizeof thread / sizeof *thread);
    atomic_store(&failures, 0);
    start_threads(thread, n, call, data, size);
    join_threads(thread, n);
    assert_int_equal(atomic_load(&failures), 0);
}
#endif
