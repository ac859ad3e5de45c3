/* test_cache_map.c - the map of kernels in memory: collisions, threads, memory that runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/os.h"
#include "run/cache.h"

static int values_freed;
static void count_free(void *value)
{
    (void)value;
    values_freed++;
}

static void test_map(void **state)
{
    (void)state;
    static int values[3000];
    wf__map *map = wf__map_new(count_free);
    char key[32];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 3000; i++) {
            size_t n = (size_t)snprintf(key, sizeof key, "key %d", i);
            wf__hash128 h = wf__hash_128(key, n);
            assert_ptr_equal(wf__map_get(map, h, key, n), round ? &values[i] : NULL);
            assert_ptr_equal(wf__map_put(map, h, key, n, &values[round ? 0 : i]), &values[i]);
            assert_ptr_equal(wf__map_get(map, h, key, n), &values[i]);
        }
    assert_int_equal(wf__map_count(map), 3000);
    values_freed = 0;
    wf__map_free(map);
    assert_int_equal(values_freed, 3000);
    wf__map_free(NULL);
}

/* Equal hashes, different keys: only the full key decides. */
static void test_map_collisions(void **state)
{
    (void)state;
    int values[200];
    wf__hash128 same = { 7, 7 };
    wf__map *map = wf__map_new(NULL);
    char key[200] = { 0 };
    for (size_t n = 0; n < 200; n++)
        assert_ptr_equal(wf__map_put(map, same, key, n, &values[n]), &values[n]);
    for (size_t n = 0; n < 200; n++)
        assert_ptr_equal(wf__map_get(map, same, key, n), &values[n]);
    key[3] = 1;
    assert_null(wf__map_get(map, same, key, 10));
    wf__map_free(map);
}

static void test_map_out_of_memory(void **state)
{
    (void)state;
#ifdef WEFT_DEBUG_CHECKS
    int value;
    wf__alloc_fail_after(0);
    assert_null(wf__map_new(NULL));
    wf__map *map = wf__map_new(NULL);
    for (long n = 0; n < 2; n++) {
        wf__alloc_fail_after(n);
        assert_null(wf__map_put(map, wf__hash_128("k", 1), "k", 1, &value));
        assert_null(wf__map_get(map, wf__hash_128("k", 1), "k", 1));
    }
    wf__alloc_fail_after(-1);
    assert_ptr_equal(wf__map_put(map, wf__hash_128("k", 1), "k", 1, &value), &value);
    wf__map_free(map);
#endif
}

static int shared_values[4][2000];
static void *put_and_get(void *user)
{
    void **args = user;
    wf__map *map = args[0];
    int(*mine)[2000] = args[1];
    intptr_t good = 1;
    for (int i = 0; i < 2000; i++) {
        wf__hash128 h = wf__hash_128(&i, sizeof i);
        void *before = wf__map_get(map, h, &i, sizeof i);
        void *held = wf__map_put(map, h, &i, sizeof i, &(*mine)[i]);
        good &= held && (!before || before == held) && wf__map_get(map, h, &i, sizeof i) == held;
    }
    return (void *)good;
}

static void test_map_threads(void **state)
{
    (void)state;
    wf__map *map = wf__map_new(NULL);
    pthread_t threads[4];
    void *args[4][2];
    for (size_t i = 0; i < 4; i++) {
        args[i][0] = map;
        args[i][1] = &shared_values[i];
        assert_int_equal(pthread_create(&threads[i], NULL, put_and_get, args[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        void *good;
        pthread_join(threads[i], &good);
        assert_non_null(good);
    }
    assert_int_equal(wf__map_count(map), 2000);
    wf__map_free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_map_collisions),
        cmocka_unit_test(test_map_out_of_memory),
        cmocka_unit_test(test_map_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
