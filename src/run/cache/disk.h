/* disk.h - compiled objects on disk, by key.
 *
 * A key is a string of bytes that holds everything the code depends on. Keys are compared in full; a hash only names
 * the file. The disk is neither trusted nor needed: a file that is damaged, foreign, of another version or of another
 * key is a miss, and a full or read-only disk keeps nothing.
 */
#ifndef WEFT_CACHE_H
#define WEFT_CACHE_H
#include "base/base.h"

/* Any thread may call, and any number of processes may share a folder. */
typedef struct wf__disk wf__disk;
typedef struct wf__disk_stats {
    uint64_t bytes, entries;       /* on disk now, from all processes */
    uint64_t hits, misses, stores; /* counted by this handle */
} wf__disk_stats;

#define WF__DISK_MOST_BYTES ((uint64_t)1000000000000000000) /* of WEFT_CACHE_BYTES */
/* Makes the handle of a folder, but accesses no file; the first store creates the folder. dir: NULL = the default:
 * WEFT_CACHE, else $XDG_CACHE_HOME/weft, else ~/.cache/weft. max_bytes: 0 = WEFT_CACHE_BYTES, else
 * 256 MiB. NULL = out of memory. */
wf__disk *wf__disk_open(const char *dir, uint64_t max_bytes);
void wf__disk_close(wf__disk *disk); /* NULL: no-op */

typedef struct wf__bytes {
    unsigned char *at; /* from wf__alloc */
    size_t n;
} wf__bytes;

/* Loads the object of exactly this key. The caller frees object->at by wf__free. false = a miss. */
bool wf__disk_load(wf__disk *disk, const void *key, size_t key_len, wf__bytes *object);
/* True if there is a file for this key. After a miss, such a file is damaged. */
bool wf__disk_damaged(wf__disk *disk, const void *key, size_t key_len);
/* Finds an entry whose key ends like this key from `prefix` on, and appends the beginning of its key to `out`. Reads at
 * most a few hundred entries of the folder. */
bool wf__disk_kin(wf__disk *disk, const void *key, size_t key_len, size_t prefix, wf__str *out);
/* Returns true if the object is on disk now; false is no error. */
bool wf__disk_store(wf__disk *disk, const void *key, size_t key_len, const void *object, size_t object_len);

void wf__disk_clear(wf__disk *disk);                          /* removes every entry, and no other file */
void wf__disk_get_stats(wf__disk *disk, wf__disk_stats *out); /* reads the folder, so it is slow */
const char *wf__disk_dir(const wf__disk *disk);               /* "" = none */
const char *wf__disk_problem(const wf__disk *disk); /* the first reason why the disk keeps nothing; "" = none */
#endif
