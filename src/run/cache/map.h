/* map.h - values in memory by key. Values that have users stay; the others are bounded in bytes, and the least recently
 * used ones leave first.
 *
 * A key is a string of bytes that holds everything the value depends on. Keys are compared in full; a hash only selects
 * the bucket. All functions may be called from any thread.
 */
#ifndef WEFT_MAP_H
#define WEFT_MAP_H
#include "base/base.h"

typedef struct wf__map wf__map;
typedef struct wf__held wf__held; /* a value and one use of it, which ends with wf__map_let_go */

/* Makes an empty map. most_bytes: the bound on keys and values without users. free_value may be NULL. NULL = out of
 * memory. */
wf__map *wf__map_new(size_t most_bytes, void (*free_value)(void *value));
void wf__map_free(wf__map *map); /* no value may have users; NULL: no-op */
/* Returns the value with this key, used; NULL = none. `hash` is wf__hash_128(key, key_len). */
wf__held *wf__map_get(wf__map *map, wf__hash128 hash, const void *key, size_t key_len);
/* Copies the key and takes `value` (not NULL) of about `bytes` bytes. Returns the map's value for the key, used: either
 * `value`, or the value that another thread put first. NULL = out of memory. Unless the map took `value`, the caller
 * still owns `value`. */
wf__held *wf__map_put(wf__map *map, wf__hash128 hash, const void *key, size_t key_len, void *value, size_t bytes);
void *wf__held_value(const wf__held *held);
void wf__map_let_go(wf__map *map, wf__held *held); /* NULL: no-op */
size_t wf__map_count(wf__map *map);                /* values, with or without users */
void wf__map_limit(wf__map *map, size_t most_bytes);
#endif
