/* sort_long.c - sorts one long row with all threads. A sample of the keys gives the borders of 256 buckets. The keys
 * are moved to their buckets in order, and each bucket, which fits the cache, is sorted by itself. The sort is stable,
 * so the result does not depend on the number of threads or on the sample.
 */
#include "keys.h"
#include "rows.h"
#include <string.h>

enum { BUCKETS = 256, SAMPLES = 4096, SHARE = 1 << 16 };

typedef struct sorter {
    wf_dtype dtype;
    bool descending, wide;
    char *data;
    size_t size, key; /* bytes of an element and of a key */
    int64_t n, shares;
    char *from, *to;               /* keys */
    int64_t *index, *moved, *room; /* index: NULL: not wanted; moved: indices in their buckets; room: scratch */
    uint8_t *bucket;               /* [n] */
    int64_t *next;                 /* [shares, BUCKETS]: first the counts, then the place of the next key */
    int64_t start[BUCKETS + 1];
    uint64_t border[BUCKETS]; /* a key belongs to the last bucket whose border is not above it */
} sorter;

static uint64_t key_at(const sorter *s, const char *keys, int64_t i)
{
    return s->wide ? ((const uint64_t *)(const void *)keys)[i] : ((const uint32_t *)(const void *)keys)[i];
}

static int64_t share_end(const sorter *s, int64_t share)
{
    return (share + 1) * SHARE < s->n ? (share + 1) * SHARE : s->n;
}

static void make_keys(const wfl_rows *rows, int64_t share, void *scratch, void *user)
{
    const sorter *s = user;
    size_t first = (size_t)(share * SHARE);
    (void)rows, (void)scratch;
    wfl_keys_of(s->dtype, s->descending, s->data + first * s->size, share_end(s, share) - share * SHARE,
                s->from + first * s->key);
}

static void find_buckets(const wfl_rows *rows, int64_t share, void *scratch, void *user)
{
    const sorter *s = user;
    int64_t *count = s->next + share * BUCKETS;
    (void)rows, (void)scratch;
    memset(count, 0, BUCKETS * sizeof *count);
    for (int64_t i = share * SHARE; i < share_end(s, share); ++i) {
        uint64_t key = key_at(s, s->from, i);
        int b = 0;
        for (int half = BUCKETS / 2; half; half /= 2)
            b += s->border[b + half] <= key ? half : 0;
        s->bucket[i] = (uint8_t)b;
        ++count[b];
    }
}

static void move_keys(const wfl_rows *rows, int64_t share, void *scratch, void *user)
{
    const sorter *s = user;
    int64_t *next = s->next + share * BUCKETS;
    (void)rows, (void)scratch;
    for (int64_t i = share * SHARE; i < share_end(s, share); ++i) {
        int64_t at = next[s->bucket[i]]++;
        if (s->wide)
            ((uint64_t *)(void *)s->to)[at] = ((const uint64_t *)(const void *)s->from)[i];
        else
            ((uint32_t *)(void *)s->to)[at] = ((const uint32_t *)(const void *)s->from)[i];
        if (s->index)
            s->moved[at] = i;
    }
}

/* Sorts a bucket. Its order is that of its own numbers, 0 to n - 1, which are then turned into those of the row. */
static void sort_bucket(const wfl_rows *rows, int64_t b, void *scratch, void *user)
{
    const sorter *s = user;
    int64_t first = s->start[b], n = s->start[b + 1] - first, *index = s->index ? s->index + first : NULL;
    void *keys = s->to + (size_t)first * s->key, *other = s->from + (size_t)first * s->key;
    int64_t *room = index ? s->room + first : NULL;
    (void)rows, (void)scratch;
    if (s->wide)
        wfl_sort64(keys, other, index, room, n, 8 * (int)s->size);
    else
        wfl_sort32(keys, other, index, room, n, 8 * (int)s->size);
    for (int64_t i = 0; index && i < n; ++i)
        index[i] = s->moved[first + index[i]];
    if (!index)
        wfl_keys_to(s->dtype, s->descending, keys, n, s->data + (size_t)first * s->size);
}

static void choose_borders(sorter *s)
{
    uint64_t sample[SAMPLES], other[SAMPLES];
    uint64_t step = (uint64_t)(s->n / SAMPLES);
    for (uint64_t i = 0; i < SAMPLES; ++i) /* evenly spread, with an offset against periods of the data */
        sample[i] = key_at(s, s->from, (int64_t)(i * step + i * 7919 % step));
    wfl_sort64(sample, other, NULL, NULL, SAMPLES, 64);
    s->border[0] = 0;
    for (int b = 1; b < BUCKETS; ++b)
        s->border[b] = sample[b * SAMPLES / BUCKETS];
}

static void add_counts(sorter *s)
{
    int64_t sum = 0;
    for (int b = 0; b < BUCKETS; ++b) {
        s->start[b] = sum;
        for (int64_t share = 0; share < s->shares; ++share) {
            int64_t count = s->next[share * BUCKETS + b];
            s->next[share * BUCKETS + b] = sum;
            sum += count;
        }
    }
    s->start[BUCKETS] = sum;
}

/* Makes one allocation for all buffers, the wide ones first, so that each is aligned. */
static wf_array *make_room(wf_context *ctx, sorter *s)
{
    size_t n = (size_t)s->n, counts = (size_t)s->shares * BUCKETS * sizeof *s->next;
    size_t indices = s->index ? n * sizeof *s->moved : 0, keys = (n * s->key + 63) / 64 * 64;
    void *data;
    wf_array *memory = wfl_array_scratch(ctx, 1, counts + 2 * indices + 2 * keys + n, &data);
    if (!memory)
        return NULL;
    char *at = data;
    s->next = (int64_t *)data;
    s->moved = (int64_t *)(void *)(at += counts);
    s->room = (int64_t *)(void *)(at += indices);
    s->from = at += indices;
    s->to = at += keys;
    s->bucket = (uint8_t *)(at + keys);
    return memory;
}

wf_status wfl_sort_long(wf_context *ctx, wf_dtype dtype, bool descending, void *data, int64_t n, int64_t *index)
{
    sorter s = { .dtype = dtype, .descending = descending, .wide = wfl_key_is_wide(dtype), .data = data, .n = n };
    s.size = wf_dtype_size(dtype);
    s.key = s.wide ? 8 : 4;
    s.shares = (n + SHARE - 1) / SHARE;
    s.index = index;
    wf_array *memory = make_room(ctx, &s);
    if (!memory)
        return wfl_array_error(ctx);
    wf_status status = wfl_tasks_each(ctx, s.shares, 0, make_keys, &s);
    if (status == WF_OK) {
        choose_borders(&s);
        status = wfl_tasks_each(ctx, s.shares, 0, find_buckets, &s);
    }
    if (status == WF_OK) {
        add_counts(&s);
        status = wfl_tasks_each(ctx, s.shares, 0, move_keys, &s);
    }
    if (status == WF_OK)
        status = wfl_tasks_each(ctx, BUCKETS, 0, sort_bucket, &s);
    wf_release(memory);
    return status;
}
