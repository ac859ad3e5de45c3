/* side_by_side.h - threads of a test that run one function at the same time. */
#ifndef WEFT_SIDE_BY_SIDE_H
#define WEFT_SIDE_BY_SIDE_H
#include "weft_test.h"
#include <pthread.h>

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
#endif
