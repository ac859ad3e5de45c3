/* test_value_map.c - the map of kernels in memory: collisions, its bound, values in use, threads, and failing
 * allocations.
 *
 * ctest: threads
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "run/cache/map.h"

static atomic_int values_freed;
static void count_free(void *value)
{
    (void)value;
    atomic_fetch_add(&values_freed, 1);
}

static wf__held *get(wf__map *map, int i) { return wf__map_get(map, wf__hash_128(&i, sizeof i), &i, sizeof i); }

static wf__held *put(wf__map *map, int i, void *value, size_t bytes)
{
    return wf__map_put(map, wf__hash_128(&i, sizeof i), &i, sizeof i, value, bytes);
}

static void test_found_again(void **state)
{
    (void)state;
    static int values[3000], other;
    wf__map *map = wf__map_new(SIZE_MAX, count_free);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 3000; i++) {
            wf__held *h = get(map, i);
            assert_int_equal(h != NULL, round);
            wf__map_let_go(map, h);
            h = put(map, i, round ? &other : &values[i], 1);
            assert_ptr_equal(wf__held_value(h), &values[i]);
            wf__map_let_go(map, h);
        }
    assert_int_equal(wf__map_count(map), 3000);
    values_freed = 0;
    wf__map_free(map);
    assert_int_equal(values_freed, 3000);
    wf__map_free(NULL);
}

/* Equal hashes, different keys: only the full key decides. */
static void test_collisions(void **state)
{
    (void)state;
    int values[200];
    wf__hash128 same = { 7, 7 };
    wf__map *map = wf__map_new(SIZE_MAX, NULL);
    char key[200] = { 0 };
    for (size_t n = 0; n < 200; n++)
        wf__map_let_go(map, wf__map_put(map, same, key, n, &values[n], 1));
    for (size_t n = 0; n < 200; n++) {
        wf__held *h = wf__map_get(map, same, key, n);
        assert_ptr_equal(wf__held_value(h), &values[n]);
        wf__map_let_go(map, h);
    }
    key[3] = 1;
    assert_null(wf__map_get(map, same, key, 10));
    wf__map_free(map);
}

/* The value released longest ago is evicted first; values in use stay. */
static void test_bound_evicts(void **state)
{
    (void)state;
    int value;
    enum { EACH = 10000 };
    wf__map *map = wf__map_new(10 * EACH + EACH / 2, count_free);
    values_freed = 0;
    wf__held *kept = put(map, -1, &value, EACH);
    for (int i = 0; i < 1000; i++) {
        wf__map_let_go(map, put(map, i, &value, EACH));
        wf__held *first = get(map, 0); /* used again and again */
        assert_non_null(first);
        wf__map_let_go(map, first);
        assert_true(wf__map_count(map) <= 11);
    }
    assert_int_equal(values_freed, 1000 - 10);
    for (int i = 1; i < 1000; i++) {
        wf__held *h = get(map, i);
        assert_int_equal(h != NULL, i > 1000 - 10);
        wf__map_let_go(map, h);
    }
    wf__held *again = get(map, -1);
    assert_ptr_equal(again, kept);
    wf__map_let_go(map, again);
    wf__map_limit(map, 0);
    assert_int_equal(wf__map_count(map), 1);
    wf__map_let_go(map, kept);
    assert_int_equal(wf__map_count(map), 0);
    assert_int_equal(values_freed, 1001);
    wf__map_free(map);
}

static void test_out_of_memory(void **state)
{
    (void)state;
#ifdef WEFT_DEBUG_CHECKS
    int value;
    wf__alloc_fail_after(0);
    assert_null(wf__map_new(1, NULL));
    wf__map *map = wf__map_new(1, NULL);
    for (long n = 0; n < 2; n++) {
        wf__alloc_fail_after(n);
        assert_null(put(map, 1, &value, 1));
        wf__alloc_fail_after(-1);
        assert_null(get(map, 1));
    }
    wf__held *h = put(map, 1, &value, 1);
    assert_ptr_equal(wf__held_value(h), &value);
    wf__map_let_go(map, h);
    wf__map_free(map);
#endif
}

/* ---- threads: values carry their key, and are freed while others look for them ---- */
static atomic_int wrong;
static void free_number(void *value)
{
    *(int *)value = -1;
    free(value);
}

static void *put_and_get(void *user)
{
    wf__map *map = user;
    for (int i = 0; i < 4000; i++) {
        int key = i * 7 % 97, *mine = malloc(sizeof *mine);
        wf__held *h = get(map, key);
        if (!h && mine) {
            *mine = key;
            h = put(map, key, mine, 1000);
            if (h && wf__held_value(h) == mine)
                mine = NULL;
        }
        if (!h || *(int *)wf__held_value(h) != key)
            atomic_fetch_add(&wrong, 1);
        free(mine);
        wf__map_let_go(map, h);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    wf__map *map = wf__map_new(20 * 1000, free_number);
    wf__thread threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_true(wf__thread_start(&threads[i], put_and_get, map));
    for (size_t i = 0; i < 4; i++)
        wf__thread_join(threads[i]);
    assert_int_equal(atomic_load(&wrong), 0);
    assert_true(wf__map_count(map) <= 20);
    wf__map_free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found_again),   cmocka_unit_test(test_collisions), cmocka_unit_test(test_bound_evicts),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
