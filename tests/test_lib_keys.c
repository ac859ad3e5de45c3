/* test_lib_keys.c - sorting keys: patterns of keys and lengths around those of vectors, each way to sort them. The
 * expected order is that of qsort by key and place.
 *
 * ctest: no_kernels
 */
#include "weft_test.h"
#include "../src/lib/array/keys.h"

enum { MOST = 5000, PATTERNS = 8, ENOUGH = 60 };

typedef struct pair {
    uint64_t key;
    int64_t place;
} pair;

static uint64_t random_key(void)
{
    static uint64_t x = 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

static uint64_t make_key(int pattern, int64_t i, int64_t n)
{
    switch (pattern) {
    case 0:
        return random_key();
    case 1:
        return UINT64_MAX; /* also what fills vectors up */
    case 2:
        return random_key() & 1 ? UINT64_MAX : 0;
    case 3:
        return (uint64_t)i * 0x100000001u;
    case 4:
        return (uint64_t)(n - i) * 0x100000001u;
    case 5:
        return (uint64_t)(i < n / 2 ? i : n - i) << 40;
    case 6:
        return random_key() % 7 * 0x2000000010u;
    default:
        return random_key() >> (random_key() & 63);
    }
}

static int by_key(const void *x, const void *y)
{
    const pair *a = x, *b = y;
    return a->key != b->key ? (a->key < b->key ? -1 : 1) : (a->place > b->place) - (a->place < b->place);
}

/* Sorts by the public dispatch (splits < 0), or with at most so many partitions. */
static void check(int64_t n, int pattern, int splits)
{
    static pair want[MOST];
    static uint64_t key[MOST + 1], room[MOST + 1];
    static uint32_t key32[MOST + 1], room32[MOST + 1];
    static int64_t index[MOST], room_index[MOST];
    for (int width = 32; width <= 64; width += 32)
        for (int indices = 0; indices <= (splits < 0); ++indices) {
            for (int64_t i = 0; i < n; ++i) {
                uint64_t k = make_key(pattern, i, n);
                key32[i] = (uint32_t)k;
                key[i] = k;
                want[i] = (pair){ width == 32 ? key32[i] : k, i };
            }
            key32[n] = room32[n] = 12345;
            key[n] = room[n] = 12345;
            qsort(want, (size_t)n, sizeof *want, by_key);
            bool done = splits >= 0 && width == 32 ? wfl_sort_avx512_32(key32, room32, n, splits)
                        : splits >= 0              ? wfl_sort_avx512_64(key, room, n, splits)
                                                   : false;
            assert_true(done || splits < ENOUGH);
            /* Too many partitions leave the same keys in any order. */
            if (!done && width == 32)
                wfl_sort32(key32, room32, indices ? index : NULL, room_index, n, 32);
            else if (!done)
                wfl_sort64(key, room, indices ? index : NULL, room_index, n, 64);
            for (int64_t i = 0; i < n; ++i) {
                assert_true((width == 32 ? key32[i] : key[i]) == want[i].key);
                assert_true(!indices || index[i] == want[i].place);
            }
            assert_true(key32[n] == 12345 && room32[n] == 12345 && key[n] == 12345 && room[n] == 12345);
        }
}

static void each(int splits)
{
    for (int pattern = 0; pattern < PATTERNS; ++pattern) {
        for (int64_t n = 0; n <= 300; ++n)
            check(n, pattern, splits);
        for (int64_t n = 1023; n <= MOST; n += n / 3 + 1)
            check(n, pattern, splits);
    }
}

static void test_dispatch(void **state)
{
    (void)state;
    each(-1);
}

static void test_avx512(void **state)
{
    (void)state;
    if (!wfl_has_avx512())
        skip();
    const int splits[] = { 0, 1, 2, 5, ENOUGH };
    for (size_t i = 0; i < sizeof splits / sizeof *splits; ++i)
        each(splits[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_dispatch), cmocka_unit_test(test_avx512) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
