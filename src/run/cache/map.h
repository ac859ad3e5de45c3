/* map.h - values in memory by key, bounded: those that nobody uses go, least recently found first.
 *
 * A key is a string of bytes that holds everything the value depends on; it is always compared in full, hashes only
 * find the place. From any thread; each call takes the map's lock.
 */
#ifndef WEFT_MAP_H
#define WEFT_MAP_H
#include "base/base.h"

typedef struct wf__map wf__map;
typedef struct wf__held wf__held; /* a value in use: it stays until it is let go, whatever becomes of the map's entry */

/* most_bytes: of keys and values that the map keeps although nobody uses them. free_value may be NULL. */
wf__map *wf__map_new(size_t most_bytes, void (*free_value)(void *value));
void wf__map_free(wf__map *map); /* all values have been let go; NULL is fine */
/* `hash` is wf__hash_128(key, key_len), computed once by the caller. NULL: not there. */
wf__held *wf__map_get(wf__map *map, wf__hash128 hash, const void *key, size_t key_len);
/* Copies the key and takes `value` (not NULL) of about `bytes` bytes. Returns what the map now has for the key:
 * `value`, or the value that another thread put first (then the caller still owns its own), or NULL when memory ran
 * out (the same). */
wf__held *wf__map_put(wf__map *map, wf__hash128 hash, const void *key, size_t key_len, void *value, size_t bytes);
void *wf__held_value(const wf__held *held);
void wf__map_let_go(wf__map *map, wf__held *held); /* NULL is fine */
size_t wf__map_count(wf__map *map);
void wf__map_limit(wf__map *map, size_t most_bytes);
#endif
