/* keys_sort.c - sorting and selecting keys: includes keys_sort.inc for 32 and for 64 bits. */
#include "keys.h"
#include <string.h>

/* rows below MANY keys: digits of 8 bits; below PAIRS: indices are sorted with the keys */
enum { SHORT = 40, MANY = 1500, PAIRS = 4096, MOST_BITS = 11, MOST_DIGITS = 1 << MOST_BITS };

/* Bounds the nested partitions of n keys at about twice those of equal halves. */
static int most_splits(int64_t n)
{
    int splits = 4;
    for (int64_t left = n; left > 1; left /= 2)
        splits += 2;
    return splits;
}

/* Sorts keys with their indices as numbers of 64 bits, in `room`. Such numbers differ, so the order is stable.
 * Returns false, with the keys as they were, if that takes too many partitions. */
static bool sort_pairs(uint32_t *key, int64_t *index, int64_t *room, int64_t n)
{
    uint64_t *pair = (uint64_t *)room;
    for (int64_t i = 0; i < n; ++i)
        pair[i] = (uint64_t)key[i] << 32 | (uint64_t)i;
    if (!wfl_sort_avx512_64(pair, (uint64_t *)index, n, most_splits(n)))
        return false;
    for (int64_t i = 0; i < n; ++i) {
        index[i] = (int64_t)(pair[i] & UINT32_MAX);
        key[i] = (uint32_t)(pair[i] >> 32);
    }
    return true;
}

#define KEY uint32_t
#define NAME(x) x##32
#include "keys_sort.inc"
#undef KEY
#undef NAME
#define KEY uint64_t
#define NAME(x) x##64
#include "keys_sort.inc"
