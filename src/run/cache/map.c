/* map.c - see map.h. Only values without users are in the order of the table, and count towards the bound. */
#include "run/cache/map.h"
#include "base/lru.h"
#include "base/os.h"

struct wf__held {
    wf__lru_entry entry; /* the first member; in the order while there are no users */
    void *value;
    size_t key_len;
    uint32_t users;
    unsigned char key[];
};

struct wf__map {
    wf__mutex lock;
    wf__lru table;
    size_t most_bytes;
    void (*free_value)(void *);
};

wf__map *wf__map_new(size_t most_bytes, void (*free_value)(void *value))
{
    wf__map *map = wf__alloc0(sizeof *map);
    if (!map)
        return NULL;
    map->most_bytes = most_bytes;
    map->free_value = free_value;
    wf__mutex_init(&map->lock);
    return map;
}

static void free_all(const wf__map *map, wf__lru_entry *removed)
{
    for (wf__lru_entry *next; removed; removed = next) {
        next = removed->chain;
        wf__held *h = (wf__held *)removed;
        if (map->free_value)
            map->free_value(h->value);
        wf__free(h);
    }
}

void wf__map_free(wf__map *map)
{
    if (!map)
        return;
    free_all(map, wf__lru_empty(&map->table));
    wf__mutex_free(&map->lock);
    wf__free(map);
}

/* ---- under the lock ---- */
typedef struct key {
    const void *at;
    size_t len;
} key;

static bool has_key(const wf__lru_entry *entry, const void *wanted)
{
    const wf__held *h = (const wf__held *)entry;
    const key *k = wanted;
    return h->key_len == k->len && (k->len == 0 || !memcmp(h->key, k->at, k->len));
}

static wf__held *find_held(wf__map *map, wf__hash128 hash, const key *k)
{
    wf__held *h = (wf__held *)wf__lru_find(&map->table, hash.lo, has_key, k);
    if (h && h->users++ == 0)
        wf__lru_delist(&map->table, &h->entry);
    return h;
}

static wf__held *insert(wf__map *map, wf__hash128 hash, const key *k, void *value, size_t bytes)
{
    size_t size;
    if (!wf__add_size(sizeof(wf__held), k->len, &size))
        return NULL;
    wf__held *h = wf__alloc0(size);
    if (!h)
        return NULL;
    h->value = value;
    h->key_len = k->len;
    h->users = 1;
    if (k->len)
        memcpy(h->key, k->at, k->len);
    h->entry.bytes = bytes + size;
    if (wf__lru_add(&map->table, &h->entry, hash.lo))
        return h;
    wf__free(h);
    return NULL;
}

/* ---- any thread ---- */
wf__held *wf__map_get(wf__map *map, wf__hash128 hash, const void *key_at, size_t key_len)
{
    wf__mutex_lock(&map->lock);
    wf__held *h = find_held(map, hash, &(key){ key_at, key_len });
    wf__mutex_unlock(&map->lock);
    return h;
}

wf__held *wf__map_put(wf__map *map, wf__hash128 hash, const void *key_at, size_t key_len, void *value, size_t bytes)
{
    const key k = { key_at, key_len };
    wf__mutex_lock(&map->lock);
    wf__held *h = find_held(map, hash, &k);
    if (!h)
        h = insert(map, hash, &k, value, bytes);
    wf__mutex_unlock(&map->lock);
    return h;
}

void *wf__held_value(const wf__held *held) { return held->value; }

void wf__map_let_go(wf__map *map, wf__held *h)
{
    wf__lru_entry *removed = NULL;
    if (!h)
        return;
    wf__mutex_lock(&map->lock);
    if (--h->users == 0) {
        wf__lru_enlist(&map->table, &h->entry);
        removed = wf__lru_shrink(&map->table, map->most_bytes, SIZE_MAX);
    }
    wf__mutex_unlock(&map->lock);
    free_all(map, removed);
}

size_t wf__map_count(wf__map *map)
{
    wf__mutex_lock(&map->lock);
    size_t n = map->table.count;
    wf__mutex_unlock(&map->lock);
    return n;
}

void wf__map_limit(wf__map *map, size_t most_bytes)
{
    wf__mutex_lock(&map->lock);
    map->most_bytes = most_bytes;
    wf__lru_entry *removed = wf__lru_shrink(&map->table, most_bytes, SIZE_MAX);
    wf__mutex_unlock(&map->lock);
    free_all(map, removed);
}
