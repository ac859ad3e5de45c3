/* disk.h - compiled objects on disk, by key.
 *
 * A key is a string of bytes that holds everything the code depends on; it is always compared in full, hashes only find
 * the place. The disk is never trusted and never needed: a file that is damaged, foreign, of another version or of
 * another key is a miss, and a disk that is full or read-only only means that nothing is kept.
 */
#ifndef WEFT_CACHE_H
#define WEFT_CACHE_H
#include "plan/kernel.h"

/* From any thread, and from any number of processes at once. */
typedef struct wf__disk wf__disk;
typedef struct wf__disk_stats {
    uint64_t bytes, entries;       /* on disk now, all processes together */
    uint64_t hits, misses, stores; /* of this handle */
} wf__disk_stats;

/* dir: NULL for the default: WEFT_CACHE, else $XDG_CACHE_HOME/weft, else ~/.cache/weft. max_bytes: 0 for 256 MiB.
 * Touches no file yet; the folder is made by the first store. NULL: out of memory. */
wf__disk *wf__disk_open(const char *dir, uint64_t max_bytes);
void wf__disk_close(wf__disk *disk); /* NULL is fine */

/* true: *object is the object stored for exactly this key, and the caller frees object->at with wf__free. */
bool wf__disk_load(wf__disk *disk, const void *key, size_t key_len, wf__bytes *object);
/* After a miss. Is there a file for this key, and something wrong with it? */
bool wf__disk_damaged(wf__disk *disk, const void *key, size_t key_len);
/* An entry whose key ends as this one does from `prefix` on: its key up to there is appended to `out`. Reads the
 * folder, a few hundred entries at most. */
bool wf__disk_kin(wf__disk *disk, const void *key, size_t key_len, size_t prefix, wf__str *out);
/* Whether it is on disk now; false is no error. */
bool wf__disk_store(wf__disk *disk, const void *key, size_t key_len, const void *object, size_t object_len);

void wf__disk_clear(wf__disk *disk);                          /* removes every entry, and no other file */
void wf__disk_get_stats(wf__disk *disk, wf__disk_stats *out); /* reads the folder: not for hot paths */
const char *wf__disk_dir(const wf__disk *disk);               /* "" if there is none */
const char *
wf__disk_problem(const wf__disk *disk); /* why nothing is kept or found, as far as known; "" if all is well */
#endif
