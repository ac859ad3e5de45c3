/* map.c - see map.h. Chains of entries under one lock; entries that nobody uses are in a list, the one let go last
 * at its head, and only they count towards the bound. */
#include "run/cache/map.h"
#include "base/os.h"

struct wf__held {
    wf__held *chain;         /* the next in the same place */
    wf__held *newer, *older; /* in the list of idle ones */
    wf__hash128 hash;
    void *value;
    size_t bytes, key_len;
    uint32_t users;
    unsigned char key[];
};

struct wf__map {
    wf__mutex lock;
    wf__held **place;
    size_t places, count; /* places: a power of two, or 0 */
    wf__held *newest, *oldest;
    size_t idle_bytes, most_bytes;
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

static void free_held(wf__map *map, wf__held *h)
{
    if (map->free_value)
        map->free_value(h->value);
    wf__free(h);
}

void wf__map_free(wf__map *map)
{
    if (!map)
        return;
    for (size_t i = 0; i < map->places; i++)
        for (wf__held *h = map->place[i], *next; h; h = next) {
            next = h->chain;
            free_held(map, h);
        }
    wf__free(map->place);
    wf__mutex_free(&map->lock);
    wf__free(map);
}

/* ---- all under the lock ---- */
static void enlist(wf__map *map, wf__held *h)
{
    h->newer = NULL;
    h->older = map->newest;
    *(h->older ? &h->older->newer : &map->oldest) = h;
    map->newest = h;
    map->idle_bytes += h->bytes;
}

static void delist(wf__map *map, wf__held *h)
{
    *(h->newer ? &h->newer->older : &map->newest) = h->older;
    *(h->older ? &h->older->newer : &map->oldest) = h->newer;
    map->idle_bytes -= h->bytes;
}

static wf__held **place_of(const wf__map *map, wf__hash128 hash)
{
    return &map->place[(size_t)hash.lo & (map->places - 1)];
}

static wf__held *find(const wf__map *map, wf__hash128 hash, const void *key, size_t key_len)
{
    wf__held *h = map->places ? *place_of(map, hash) : NULL;
    while (h && !(h->hash.lo == hash.lo && h->hash.hi == hash.hi && h->key_len == key_len &&
                  (key_len == 0 || !memcmp(h->key, key, key_len))))
        h = h->chain;
    return h;
}

static wf__held *use(wf__map *map, wf__held *h)
{
    if (h && h->users++ == 0)
        delist(map, h);
    return h;
}

static bool grow(wf__map *map)
{
    size_t places = map->places ? 2 * map->places : 64;
    wf__held **old = map->place, **place = wf__alloc0(places * sizeof(wf__held *));
    if (!place)
        return false;
    size_t old_n = map->places;
    map->place = place;
    map->places = places;
    for (size_t i = 0; i < old_n; i++)
        for (wf__held *h = old[i], *next; h; h = next) {
            next = h->chain;
            h->chain = *place_of(map, h->hash);
            *place_of(map, h->hash) = h;
        }
    wf__free(old);
    return true;
}

/* Takes idle entries out of the map until the bound holds; returns them, chained: they are freed outside the lock. */
static wf__held *shrink(wf__map *map)
{
    wf__held *out = NULL;
    while (map->idle_bytes > map->most_bytes) {
        wf__held *h = map->oldest, **at = place_of(map, h->hash);
        while (*at != h)
            at = &(*at)->chain;
        *at = h->chain;
        delist(map, h);
        --map->count;
        h->chain = out;
        out = h;
    }
    return out;
}

static wf__held *insert(wf__map *map, wf__hash128 hash, const void *key, size_t key_len, void *value, size_t bytes)
{
    size_t size;
    if ((map->count >= map->places && !grow(map)) || !wf__add_size(sizeof(wf__held), key_len, &size))
        return NULL;
    wf__held *h = wf__alloc0(size);
    if (!h)
        return NULL;
    h->hash = hash;
    h->value = value;
    h->bytes = bytes + size;
    h->key_len = key_len;
    h->users = 1;
    if (key_len)
        memcpy(h->key, key, key_len);
    h->chain = *place_of(map, hash);
    *place_of(map, hash) = h;
    ++map->count;
    return h;
}

/* ---- from anywhere ---- */
wf__held *wf__map_get(wf__map *map, wf__hash128 hash, const void *key, size_t key_len)
{
    wf__mutex_lock(&map->lock);
    wf__held *h = use(map, find(map, hash, key, key_len));
    wf__mutex_unlock(&map->lock);
    return h;
}

wf__held *wf__map_put(wf__map *map, wf__hash128 hash, const void *key, size_t key_len, void *value, size_t bytes)
{
    wf__mutex_lock(&map->lock);
    wf__held *h = use(map, find(map, hash, key, key_len));
    if (!h)
        h = insert(map, hash, key, key_len, value, bytes);
    wf__mutex_unlock(&map->lock);
    return h;
}

void *wf__held_value(const wf__held *held) { return held->value; }

static void free_all(wf__map *map, wf__held *gone)
{
    for (wf__held *next; gone; gone = next) {
        next = gone->chain;
        free_held(map, gone);
    }
}

void wf__map_let_go(wf__map *map, wf__held *h)
{
    wf__held *gone = NULL;
    if (!h)
        return;
    wf__mutex_lock(&map->lock);
    if (--h->users == 0) {
        enlist(map, h);
        gone = shrink(map);
    }
    wf__mutex_unlock(&map->lock);
    free_all(map, gone);
}

size_t wf__map_count(wf__map *map)
{
    wf__mutex_lock(&map->lock);
    size_t n = map->count;
    wf__mutex_unlock(&map->lock);
    return n;
}

void wf__map_limit(wf__map *map, size_t most_bytes)
{
    wf__mutex_lock(&map->lock);
    map->most_bytes = most_bytes;
    wf__held *gone = shrink(map);
    wf__mutex_unlock(&map->lock);
    free_all(map, gone);
}
