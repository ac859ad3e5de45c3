/* lru.h - a hash table whose entries can be bounded in bytes and in number: the least recently used ones leave first.
 *
 * Entries belong to the caller, who embeds wf__lru_entry in them; the table allocates nothing but its buckets and takes
 * no lock. The order of use holds those entries that may leave. An entry outside the order, for example one in use,
 * stays in the table and does not count towards the bounds.
 */
#ifndef WEFT_LRU_H
#define WEFT_LRU_H
#include "base/base.h"

typedef struct wf__lru_entry {
    struct wf__lru_entry *chain;         /* the next entry of the same bucket, or of a list of removed entries */
    struct wf__lru_entry *newer, *older; /* neighbours in the order of use */
    uint64_t hash;                       /* hash of the key */
    size_t bytes;                        /* approximate memory, set by the caller before the entry is in the order */
} wf__lru_entry;

typedef struct wf__lru { /* all zero = empty */
    wf__lru_entry **bucket;
    size_t buckets; /* a power of two; 0 = none */
    size_t count;   /* entries in the table */
    wf__lru_entry *newest, *oldest;
    size_t ordered, bytes; /* number and bytes of the entries in the order */
} wf__lru;

/* True if the entry has this key. Called for entries whose hash is that of the key. */
typedef bool wf__lru_same(const wf__lru_entry *entry, const void *key);

/* The entry with this key; NULL = none. */
wf__lru_entry *wf__lru_find(const wf__lru *lru, uint64_t hash, wf__lru_same *same, const void *key);
/* Puts an entry that is not in the table there, outside the order. Returns false, and changes nothing, if memory ran
 * out. */
bool wf__lru_add(wf__lru *lru, wf__lru_entry *entry, uint64_t hash);
void wf__lru_enlist(wf__lru *lru, wf__lru_entry *entry); /* puts the entry into the order, as the newest */
void wf__lru_delist(wf__lru *lru, wf__lru_entry *entry); /* takes the entry out of the order */
/* Removes the oldest entries of the order until at most `most_bytes` and `most_entries` remain in the order. Returns
 * the removed entries, linked by `chain`. */
wf__lru_entry *wf__lru_shrink(wf__lru *lru, size_t most_bytes, size_t most_entries);
/* Removes all entries, also those outside the order, and frees the buckets. Returns the entries, linked by `chain`. */
wf__lru_entry *wf__lru_empty(wf__lru *lru);
#endif
