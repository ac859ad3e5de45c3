/* test_array_memory.c - storage of arrays: alignment, reuse, the bound on unused memory, failures, threads.
 *
 * ctest: threads
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "base/os.h"
#include "run/memory/array_memory.h"

/* Large blocks that are in use together begin at different places of a page, at least 512 bytes apart. */
static void test_places(void **state)
{
    (void)state;
    enum { BLOCKS = 8 };
    const size_t bytes = WF__HUGE_PAGE;
    wf__mem_cache *cache = wf__mem_new(0);
    void *p[BLOCKS];
    unsigned seen = 0;
    for (int i = 0; i < BLOCKS; ++i) {
        p[i] = wf__mem_alloc(cache, bytes);
        assert_non_null(p[i]);
        memset(p[i], i, bytes);
        seen |= 1u << (uintptr_t)p[i] % 4096 / 512;
    }
    assert_int_equal(seen, 255);
    for (int i = 0; i < BLOCKS; ++i)
        wf__mem_free(cache, p[i], bytes);
    wf__mem_free_all(cache);
}

static void test_sizes(void **state)
{
    (void)state;
    wf__mem_cache *cache = wf__mem_new(0);
    for (size_t bytes = 0; bytes < (size_t)40 << 20; bytes += bytes < 5000 ? 1 : bytes / 13 * 2 + 1) {
        unsigned char *p = wf__mem_alloc(cache, bytes);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % WF__MEM_ALIGN, 0);
        if (bytes >= WF__HUGE_PAGE)
            assert_true((uintptr_t)p % WF__HUGE_PAGE < 4096);
        if (bytes) {
            p[0] = p[bytes - 1] = p[bytes / 2] = 1;
        }
        wf__mem_free(cache, p, bytes);
        assert_ptr_equal(wf__mem_alloc(cache, bytes), p); /* the same memory again */
        wf__mem_free(cache, p, bytes);
    }
    wf__mem_stats stats;
    wf__mem_get_stats(cache, &stats);
    assert_int_equal(stats.in_use, 0);
    assert_true(stats.peak >= (uint64_t)30 << 20);
    assert_true(stats.cached > 0 && stats.reused > stats.fresh);
    wf__mem_trim(cache);
    wf__mem_get_stats(cache, &stats);
    assert_int_equal(stats.cached, 0);
    wf__mem_free(cache, NULL, 100);
    wf__mem_free_all(cache);
    wf__mem_free_all(NULL);
}

static void test_impossible(void **state)
{
    (void)state;
    wf__mem_cache *cache = wf__mem_new(0);
    assert_null(wf__mem_alloc(cache, SIZE_MAX));
    assert_null(wf__mem_alloc(cache, SIZE_MAX - 63));
    assert_null(wf__mem_alloc(cache, (size_t)PTRDIFF_MAX));
    assert_null(wf__mem_alloc(cache, (size_t)PTRDIFF_MAX / 2));
    assert_null(wf__mem_alloc(cache, (size_t)1 << 60));
    wf__mem_stats stats;
    wf__mem_get_stats(cache, &stats);
    assert_int_equal(stats.in_use, 0);
    wf__mem_free_all(cache);
}

static void test_bound(void **state)
{
    (void)state;
    enum { BLOCKS = 64 };
    const uint64_t bound = (uint64_t)10 << 20;
    wf__mem_cache *cache = wf__mem_new(bound);
    void *p[BLOCKS];
    size_t bytes[BLOCKS];
    wf__mem_stats stats;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            bytes[i] = (size_t)(i % 8 + 1) * 300000 + (size_t)i;
            p[i] = wf__mem_alloc(cache, bytes[i]);
            assert_non_null(p[i]);
            memset(p[i], i, bytes[i]);
        }
        for (int i = 0; i < BLOCKS; i++) {
            wf__mem_free(cache, p[i], bytes[i]);
            wf__mem_get_stats(cache, &stats);
            assert_true(stats.cached <= bound);
        }
    }
    assert_true(stats.cached > bound / 2);
    void *large = wf__mem_alloc(cache, 11 << 20); /* larger than the bound: not kept, and evicts nothing */
    uint64_t before = stats.cached;
    wf__mem_free(cache, large, 11 << 20);
    wf__mem_get_stats(cache, &stats);
    assert_int_equal(stats.cached, before);
    wf__mem_free_all(cache);
}

/* Memory of sizes that are used again and again stays in the cache; memory used once, earlier, is evicted. */
static void test_least_recent_goes(void **state)
{
    (void)state;
    wf__mem_cache *cache = wf__mem_new(8 << 20);
    void *once = wf__mem_alloc(cache, 5 << 20);
    wf__mem_free(cache, once, 5 << 20);
    wf__mem_stats before, after;
    void *p = wf__mem_alloc(cache, 4 << 20);
    wf__mem_free(cache, p, 4 << 20); /* evicts `once` */
    wf__mem_get_stats(cache, &before);
    p = wf__mem_alloc(cache, 4 << 20);
    wf__mem_get_stats(cache, &after);
    assert_int_equal(after.reused, before.reused + 1);
    assert_int_equal(after.cached, 0);
    wf__mem_free(cache, p, 4 << 20);
    wf__mem_free_all(cache);
}

static void test_failures(void **state)
{
    (void)state;
#ifdef WEFT_DEBUG_CHECKS
    wf__alloc_fail_after(0);
    assert_null(wf__mem_new(0));
    wf__mem_cache *cache = wf__mem_new(0);
    void *kept = wf__mem_alloc(cache, 1000);
    wf__mem_free(cache, kept, 1000);
    wf__alloc_fail_after(0);
    assert_null(wf__mem_alloc(cache, 1000)); /* an allocation fails even if the cache holds memory of this size */
    wf__alloc_fail_after(1);
    void *p = wf__mem_alloc(cache, 5000); /* the system refuses once: the cache is emptied, then it works */
    wf__alloc_fail_after(-1);
    assert_non_null(p);
    wf__mem_stats stats;
    wf__mem_get_stats(cache, &stats);
    assert_int_equal(stats.cached, 0);
    assert_int_equal(stats.in_use, 5000);
    wf__mem_free(cache, p, 5000);
    wf__mem_free_all(cache);
#endif
}

static void *churn(void *user)
{
    wf__mem_cache *cache = user;
    unsigned seed = (unsigned)(uintptr_t)&seed;
    unsigned char *held[16] = { 0 };
    size_t bytes[16] = { 0 };
    intptr_t good = 1;
    for (int i = 0; i < 3000 && good; i++) {
        seed = seed * 1664525 + 1013904223;
        unsigned k = seed >> 28;
        if (held[k]) { /* no other thread wrote to it */
            good = held[k][0] == k && held[k][bytes[k] - 1] == k;
            wf__mem_free(cache, held[k], bytes[k]);
        }
        bytes[k] = 1 + (seed >> 8) % (i % 64 == 0 ? 3000000 : 3000);
        held[k] = wf__mem_alloc(cache, bytes[k]);
        held[k][0] = held[k][bytes[k] - 1] = (unsigned char)k;
    }
    for (int k = 0; k < 16; k++)
        wf__mem_free(cache, held[k], bytes[k]);
    return (void *)good;
}

static void test_threads(void **state)
{
    (void)state;
    wf__mem_cache *cache = wf__mem_new(4 << 20);
    pthread_t threads[4];
    for (size_t i = 0; i < WF__COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, cache), 0);
    for (int i = 0; i < 20; i++)
        wf__mem_trim(cache);
    for (size_t i = 0; i < WF__COUNT(threads); i++) {
        void *good;
        pthread_join(threads[i], &good);
        assert_non_null(good);
    }
    wf__mem_stats stats;
    wf__mem_get_stats(cache, &stats);
    assert_int_equal(stats.in_use, 0);
    assert_true(stats.cached <= 4 << 20);
    wf__mem_free_all(cache);
}

static void test_pages(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 4096, 4097, 1 << 21, (1 << 21) + 1, 5 << 20 };
    for (size_t i = 0; i < WF__COUNT(sizes); i++) {
        unsigned char *p = wf__pages_alloc(sizes[i]);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % WF__HUGE_PAGE, 0);
        assert_int_equal(p[0] | p[sizes[i] - 1], 0);
        p[sizes[i] - 1] = 1;
        wf__pages_free(p, sizes[i]);
    }
    assert_null(wf__pages_alloc(SIZE_MAX));
    assert_null(wf__pages_alloc(SIZE_MAX - WF__HUGE_PAGE - 5000));
    wf__pages_free(NULL, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_impossible),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_least_recent_goes),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
