/* lru.c - see lru.h. */
#include "base/lru.h"

static wf__lru_entry **bucket_of(const wf__lru *lru, uint64_t hash)
{
    return &lru->bucket[(size_t)hash & (lru->buckets - 1)];
}

wf__lru_entry *wf__lru_find(const wf__lru *lru, uint64_t hash, wf__lru_same *same, const void *key)
{
    wf__lru_entry *e = lru->buckets ? *bucket_of(lru, hash) : NULL;
    while (e && (e->hash != hash || !same(e, key)))
        e = e->chain;
    return e;
}

static bool grow_table(wf__lru *lru)
{
    size_t old_buckets = lru->buckets, buckets = old_buckets ? 2 * old_buckets : 64;
    wf__lru_entry **old = lru->bucket, **bucket = wf__alloc0(buckets * sizeof(wf__lru_entry *));
    if (!bucket)
        return false;
    lru->bucket = bucket;
    lru->buckets = buckets;
    for (size_t i = 0; i < old_buckets; ++i)
        for (wf__lru_entry *e = old[i], *next; e; e = next) {
            next = e->chain;
            e->chain = *bucket_of(lru, e->hash);
            *bucket_of(lru, e->hash) = e;
        }
    wf__free(old);
    return true;
}

bool wf__lru_add(wf__lru *lru, wf__lru_entry *e, uint64_t hash)
{
    if (lru->count >= lru->buckets && !grow_table(lru))
        return false;
    e->hash = hash;
    e->chain = *bucket_of(lru, hash);
    *bucket_of(lru, hash) = e;
    ++lru->count;
    return true;
}

void wf__lru_enlist(wf__lru *lru, wf__lru_entry *e)
{
    e->newer = NULL;
    e->older = lru->newest;
    *(e->older ? &e->older->newer : &lru->oldest) = e;
    lru->newest = e;
    ++lru->ordered;
    lru->bytes += e->bytes;
}

void wf__lru_delist(wf__lru *lru, wf__lru_entry *e)
{
    *(e->newer ? &e->newer->older : &lru->newest) = e->older;
    *(e->older ? &e->older->newer : &lru->oldest) = e->newer;
    --lru->ordered;
    lru->bytes -= e->bytes;
}

wf__lru_entry *wf__lru_shrink(wf__lru *lru, size_t most_bytes, size_t most_entries)
{
    wf__lru_entry *removed = NULL;
    while (lru->bytes > most_bytes || lru->ordered > most_entries) {
        wf__lru_entry *e = lru->oldest, **at = bucket_of(lru, e->hash);
        while (*at != e) {
            WF__ASSERT(*at); /* an entry of the list is in its bucket, too */
            at = &(*at)->chain;
        }
        *at = e->chain;
        wf__lru_delist(lru, e);
        --lru->count;
        e->chain = removed;
        removed = e;
    }
    return removed;
}

wf__lru_entry *wf__lru_empty(wf__lru *lru)
{
    wf__lru_entry *removed = NULL;
    for (size_t i = 0; i < lru->buckets; ++i)
        for (wf__lru_entry *e = lru->bucket[i], *next; e; e = next) {
            next = e->chain;
            e->chain = removed;
            removed = e;
        }
    wf__free(lru->bucket);
    *lru = (wf__lru){ 0 };
    return removed;
}
