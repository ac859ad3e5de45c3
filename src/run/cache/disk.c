/* disk.c - see disk.h.
 *
 * The folder holds one file per entry, named by the hash of the key:
 *     header | key | object | XXH3-128 of everything before
 * Files appear by a rename and never change, so a reader sees a whole file or none. A damaged file is a miss, and the
 * next store replaces it. A use updates the time of a file, at most hourly, and the oldest files leave first. Only
 * files of this user with the name of an entry are read, counted or removed.
 */
#include "run/cache/disk.h"
#include "base/os.h"
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define SUFFIX ".weft"
#define UNWRITABLE "the folder cannot be written"
#define MAX_KEY ((size_t)16 << 20)
#define MAX_OBJECT ((size_t)64 << 20)
#define DEFAULT_BYTES ((uint64_t)256 << 20)
#define SECOND INT64_C(1000000000)
#define STAMP_EVERY (3600 * SECOND)
#define TEMP_LIFE (3600 * SECOND) /* the process of an older temporary file has died */
enum { NAME = 32 + sizeof SUFFIX, FORMAT = 1, MAX_FAILURES = 3, SKIP = 32 };

typedef struct header {
    char magic[8];
    uint32_t format;
    uint32_t order; /* byte order: 0x01020304 */
    uint64_t key_len, object_len;
} header;
static const char magic[8] = { 'W', 'E', 'F', 'T', 'O', 'B', 'J', '\n' };
_Static_assert(sizeof(header) == 32, "the file format has no padding");

struct wf__disk {
    char *dir;    /* NULL = none */
    bool in_home; /* `dir` is the default in HOME */
    uint64_t max_bytes;
    atomic_int fd;         /* handle of the folder; -1 = not open */
    atomic_bool off;       /* there is no usable folder */
    atomic_bool read_only; /* entries may not be stored */
    atomic_int skip;       /* the folder could not be opened: number of uses until it is tried again */
    atomic_int skip_store; /* MAX_FAILURES stores in a row have failed: number of stores until one is tried again */
    atomic_uint_fast64_t hits, misses, stores;
    wf__mutex lock;
    uint64_t since_scan; /* bytes stored since the last scan of the folder */
    int failures;        /* failed stores in a row */
    char problem[512];   /* written once, before has_problem */
    atomic_bool has_problem;
};

/* Under the lock. Keeps the first problem. */
static void set_problem(wf__disk *d, const char *what, int error)
{
    char text[128];
    if (atomic_load_explicit(&d->has_problem, memory_order_relaxed))
        return;
    snprintf(d->problem, sizeof d->problem, "%s%s%s", what, error ? ": " : "",
             error ? wf__errno_text(error, text, sizeof text) : "");
    atomic_store_explicit(&d->has_problem, true, memory_order_release);
}

/* Returns the folder by the rules of wf__disk_open. NULL = out of memory, or no folder, with the reason in *none. */
static char *choose_dir(const char *dir, bool *in_home, const char **none)
{
    const char *tail = "";
    *in_home = false;
    if (!dir || !*dir)
        dir = wf__getenv("WEFT_CACHE");
    if (!dir) {
        dir = wf__getenv("XDG_CACHE_HOME");
        if (dir && *dir != '/')
            dir = NULL; /* the XDG specification ignores relative paths */
        tail = "/weft";
    }
    if (!dir) {
        dir = wf__getenv("HOME");
        tail = "/.cache/weft";
        *in_home = true;
    }
    if (!dir) {
        *none = "neither WEFT_CACHE nor XDG_CACHE_HOME nor HOME is set";
        return NULL;
    }
    wf__str path = { 0 };
    wf__str_add(&path, dir);
    wf__str_add(&path, tail);
    if (path.failed)
        wf__str_free(&path);
    return path.at;
}

/* Returns the bound that WEFT_CACHE_BYTES names, or the default one if that is no number from 1 on. */
static uint64_t choose_bound(void)
{
    const char *wrong;
    uint64_t n = 0;
    return wf__getenv_number("WEFT_CACHE_BYTES", WF__DISK_MOST_BYTES, &n, &wrong) && n ? n : DEFAULT_BYTES;
}

wf__disk *wf__disk_open(const char *dir, uint64_t max_bytes)
{
    const char *none = NULL;
    wf__disk *d = wf__alloc0(sizeof *d);
    if (!d)
        return NULL;
    atomic_init(&d->fd, -1);
    d->dir = choose_dir(dir, &d->in_home, &none);
    if (!d->dir && !none) {
        wf__free(d);
        return NULL;
    }
    wf__mutex_init(&d->lock);
    if (none) {
        atomic_init(&d->off, true);
        set_problem(d, none, 0);
    }
    d->max_bytes = max_bytes ? max_bytes : choose_bound();
    /* A random start makes many processes that store little scan the folder as often as one that stores much. */
    d->since_scan = d->max_bytes >= 16 ? wf__random64() % (d->max_bytes / 16) : 0;
    return d;
}

void wf__disk_close(wf__disk *d)
{
    if (!d)
        return;
    wf__fd_close(atomic_load(&d->fd));
    wf__mutex_free(&d->lock);
    wf__free(d->dir);
    wf__free(d);
}

/* True if the default folder would be made in the home of another user, who could not use it: under sudo, for example. */
static bool is_foreign_home(const wf__disk *d)
{
    const char *home = d->in_home ? wf__getenv("HOME") : NULL;
    return home && !wf__owns(home);
}

static int open_folder(wf__disk *d, bool create)
{
    int fd = wf__dir_open(d->dir);
    if (fd >= 0 || errno != ENOENT || !create)
        return fd;
    if (is_foreign_home(d)) {
        errno = EPERM;
        return -1;
    }
    return wf__make_dirs(d->dir) ? wf__dir_open(d->dir) : -1;
}

/* Under the lock. Notes why the folder cannot be opened, or made: `error`, and the folder whose permissions forbid
 * it. */
static void set_folder_problem(wf__disk *d, int error)
{
    char nearest[PATH_MAX] = "", text[320];
    if (error == EPERM && is_foreign_home(d)) {
        set_problem(d, "the folder is not made, because HOME is no folder of this user", 0);
        return;
    }
    if (error != ENOENT && error != EACCES && error != EROFS) {
        set_problem(d, "the folder cannot be used", error);
        return;
    }
    bool possible = wf__dirs_possible(d->dir, nearest, sizeof nearest);
    if (!possible)
        error = errno;
    bool below = *nearest && strcmp(nearest, d->dir) != 0;
    snprintf(text, sizeof text, "the folder cannot be %s%.256s", below ? "made in " : "used", below ? nearest : "");
    set_problem(d, text, error);
}

/* True for an error that may end while the process runs: no handle or memory is left, or no space on the disk. */
static bool is_transient(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC || error == EDQUOT ||
           error == EINTR || error == EAGAIN || error == EIO;
}

/* True if this use is one of those that are not tried; counts it. */
static bool is_skipped(atomic_int *skip)
{
    return atomic_load_explicit(skip, memory_order_relaxed) > 0 &&
           atomic_fetch_sub_explicit(skip, 1, memory_order_relaxed) > 0;
}

/* Returns the handle of the folder; -1 = none. */
static int get_folder(wf__disk *d, bool create)
{
    int fd = atomic_load_explicit(&d->fd, memory_order_acquire);
    if (fd >= 0 || atomic_load_explicit(&d->off, memory_order_relaxed) || is_skipped(&d->skip))
        return fd;
    wf__mutex_lock(&d->lock);
    fd = atomic_load_explicit(&d->fd, memory_order_relaxed);
    if (fd < 0 && !atomic_load_explicit(&d->off, memory_order_relaxed)) {
        fd = open_folder(d, create);
        int error = errno;
        if (fd >= 0) {
            atomic_store_explicit(&d->fd, fd, memory_order_release);
        } else if (create || error != ENOENT) {
            set_folder_problem(d, error);
            if (is_transient(error))
                atomic_store_explicit(&d->skip, SKIP, memory_order_relaxed);
            else
                atomic_store_explicit(&d->off, true, memory_order_relaxed);
        }
    }
    wf__mutex_unlock(&d->lock);
    return fd;
}

static void file_name(const void *key, size_t key_len, char name[NAME])
{
    wf__hash128 h = wf__hash_128(key, key_len);
    for (int i = 0; i < 32; i++)
        name[i] = "0123456789abcdef"[(i < 16 ? h.hi : h.lo) >> (60 - 4 * (i % 16)) & 15];
    memcpy(name + 32, SUFFIX, sizeof SUFFIX);
}

static bool is_entry_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == 32 && !strcmp(name + 32, SUFFIX);
}

/* True if the `n` bytes of a file are a valid entry of this key. */
static bool is_entry_of(const unsigned char *at, size_t n, const void *key, size_t key_len, size_t *object_len)
{
    header h;
    wf__hash128 sum;
    if (n < sizeof h + sizeof sum)
        return false;
    memcpy(&h, at, sizeof h);
    size_t rest = n - sizeof h - sizeof sum;
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.format != FORMAT || h.order != 0x01020304u ||
        h.key_len != key_len || key_len > rest || h.object_len != rest - key_len || h.object_len == 0)
        return false;
    memcpy(&sum, at + n - sizeof sum, sizeof sum);
    wf__hash128 found = wf__hash_128(at, n - sizeof sum);
    if (found.lo != sum.lo || found.hi != sum.hi || (key_len && memcmp(at + sizeof h, key, key_len) != 0))
        return false;
    *object_len = (size_t)h.object_len;
    return true;
}

static bool load_entry(wf__disk *d, const void *key, size_t key_len, wf__bytes *object)
{
    int dir = get_folder(d, false);
    if (dir < 0 || key_len > MAX_KEY)
        return false;
    char name[NAME];
    file_name(key, key_len, name);
    wf__dir_entry info;
    int fd = wf__open_own(dir, name, &info);
    if (fd < 0)
        return false;
    bool ok = false;
    unsigned char *at = NULL;
    size_t object_len = 0;
    if (info.size <= sizeof(header) + key_len + MAX_OBJECT + sizeof(wf__hash128))
        at = wf__alloc((size_t)info.size);
    if (at && wf__read_exact(fd, at, (size_t)info.size) &&
        is_entry_of(at, (size_t)info.size, key, key_len, &object_len)) {
        int64_t age = wf__wall_clock() - info.mtime;
        if (age > STAMP_EVERY || age < -STAMP_EVERY)
            wf__touch_fd(fd);
        memmove(at, at + sizeof(header) + key_len, object_len);
        *object = (wf__bytes){ at, object_len };
        ok = true;
    }
    wf__fd_close(fd);
    if (!ok)
        wf__free(at);
    return ok;
}

bool wf__disk_load(wf__disk *d, const void *key, size_t key_len, wf__bytes *object)
{
    bool ok = load_entry(d, key, key_len, object);
    atomic_fetch_add_explicit(ok ? &d->hits : &d->misses, 1, memory_order_relaxed);
    return ok;
}

bool wf__disk_damaged(wf__disk *d, const void *key, size_t key_len)
{
    char name[NAME];
    int dir = get_folder(d, false);
    file_name(key, key_len, name);
    wf__dir_entry info;
    int fd = dir < 0 ? -1 : wf__open_own(dir, name, &info);
    wf__fd_close(fd);
    return fd >= 0;
}

/* ---- scans of the folder ---- */

typedef struct found {
    int64_t mtime;
    uint64_t size;
    char name[NAME];
} found;

typedef struct scan {
    int dir;
    bool clear;     /* remove all entries */
    bool keep_list; /* fill `at` */
    int64_t now;    /* 0 = keep old temporary files */
    uint64_t bytes, entries;
    found *at;
    uint32_t n, cap;
} scan;

typedef struct kin_search {
    int dir, left; /* left: entries that may still be read */
    const unsigned char *tail;
    size_t tail_len;
    wf__str *out;
    bool found;
} kin_search;

static bool look_for_kin(void *user, const wf__dir_entry *e)
{
    kin_search *s = user;
    wf__dir_entry info;
    header h;
    if (!e->regular || !e->own || !is_entry_name(e->name))
        return true;
    int fd = wf__open_own(s->dir, e->name, &info);
    if (fd < 0)
        return true;
    if (wf__read_exact(fd, &h, sizeof h) && !memcmp(h.magic, magic, sizeof magic) && h.key_len >= s->tail_len &&
        h.key_len <= MAX_KEY && h.key_len < info.size) {
        unsigned char *key = wf__alloc((size_t)h.key_len);
        size_t before = (size_t)h.key_len - s->tail_len;
        s->found = key && wf__read_exact(fd, key, (size_t)h.key_len) && !memcmp(key + before, s->tail, s->tail_len);
        if (s->found)
            wf__str_addn(s->out, (const char *)key, before);
        wf__free(key);
    }
    wf__fd_close(fd);
    return !s->found && --s->left > 0;
}

bool wf__disk_kin(wf__disk *d, const void *key, size_t key_len, size_t prefix, wf__str *out)
{
    enum { MOST = 512 };
    kin_search s = { get_folder(d, false), MOST, (const unsigned char *)key + prefix, key_len - prefix, out, false };
    return s.dir >= 0 && wf__dir_list(s.dir, look_for_kin, &s) && s.found && !out->failed;
}

/* Returns the size on disk, in whole blocks of the file system. */
static uint64_t disk_size(uint64_t size) { return (size + 4095) / 4096 * 4096; }

static bool scan_entry(void *user, const wf__dir_entry *e)
{
    scan *s = user;
    if (!e->regular || !e->own)
        return true;
    if (!strncmp(e->name, WF__TEMP_PREFIX, sizeof WF__TEMP_PREFIX - 1)) {
        if (s->now - e->mtime > TEMP_LIFE)
            wf__unlink(s->dir, e->name);
        return true;
    }
    if (!is_entry_name(e->name))
        return true;
    if (s->clear) {
        wf__unlink(s->dir, e->name);
        return true;
    }
    s->bytes += disk_size(e->size);
    s->entries++;
    if (s->keep_list && wf__grow(&s->at, &s->cap, s->n + 1, sizeof *s->at)) {
        found *f = &s->at[s->n++];
        f->mtime = e->mtime;
        f->size = disk_size(e->size);
        memcpy(f->name, e->name, NAME);
    }
    return true;
}

static int by_age(const void *a, const void *b)
{
    int64_t x = ((const found *)a)->mtime, y = ((const found *)b)->mtime;
    return (x > y) - (x < y);
}

/* Keeps the folder under its bound, with room for the stores until the next scan. */
static void evict(wf__disk *d, int dir)
{
    scan s = { .dir = dir, .keep_list = true, .now = wf__wall_clock() };
    if (wf__dir_list(dir, scan_entry, &s) && s.bytes > d->max_bytes - d->max_bytes / 8) {
        qsort(s.at, s.n, sizeof *s.at, by_age);
        for (uint32_t i = 0; i < s.n && s.bytes > d->max_bytes / 16 * 13; i++) {
            wf__unlink(dir, s.at[i].name); /* another process may have removed it */
            s.bytes -= s.at[i].size;
        }
    }
    wf__free(s.at);
}

void wf__disk_clear(wf__disk *d)
{
    int dir = get_folder(d, false);
    scan s = { .dir = dir, .clear = true, .now = wf__wall_clock() };
    if (dir >= 0)
        wf__dir_list(dir, scan_entry, &s);
}

void wf__disk_get_stats(wf__disk *d, wf__disk_stats *out)
{
    int dir = get_folder(d, false);
    scan s = { .dir = dir };
    if (dir >= 0) {
        wf__dir_list(dir, scan_entry, &s);
        wf__mutex_lock(&d->lock);
        if (!wf__dir_writable(dir))
            set_problem(d, UNWRITABLE, errno);
        wf__mutex_unlock(&d->lock);
    } else if (d->dir && !atomic_load_explicit(&d->off, memory_order_relaxed)) {
        char nearest[PATH_MAX];
        wf__mutex_lock(&d->lock);
        if (is_foreign_home(d))
            set_folder_problem(d, EPERM);
        else if (!wf__dirs_possible(d->dir, nearest, sizeof nearest))
            set_folder_problem(d, errno);
        wf__mutex_unlock(&d->lock);
    }
    *out = (wf__disk_stats){ .bytes = s.bytes,
                             .entries = s.entries,
                             .hits = atomic_load_explicit(&d->hits, memory_order_relaxed),
                             .misses = atomic_load_explicit(&d->misses, memory_order_relaxed),
                             .stores = atomic_load_explicit(&d->stores, memory_order_relaxed) };
}

/* ---- storing ---- */

static bool publish(int dir, const void *key, size_t key_len, const void *object, size_t object_len)
{
    size_t n = sizeof(header) + key_len + object_len;
    unsigned char *at = wf__alloc(n + sizeof(wf__hash128));
    if (!at) {
        errno = ENOMEM;
        return false;
    }
    header h = { .format = FORMAT, .order = 0x01020304u, .key_len = key_len, .object_len = object_len };
    memcpy(h.magic, magic, sizeof magic);
    memcpy(at, &h, sizeof h);
    if (key_len)
        memcpy(at + sizeof h, key, key_len);
    memcpy(at + sizeof h + key_len, object, object_len);
    wf__hash128 sum = wf__hash_128(at, n);
    memcpy(at + n, &sum, sizeof sum);
    char name[NAME];
    file_name(key, key_len, name);
    wf__piece whole = { at, n + sizeof sum };
    bool ok = wf__publish(dir, name, &whole, 1, 0600, false);
    int error = errno;
    wf__free(at);
    errno = error;
    return ok;
}

/* Notes the outcome of a store. Returns true if a scan of the folder is due. */
static bool note_store(wf__disk *d, bool ok, int error, uint64_t bytes)
{
    bool due = false;
    wf__mutex_lock(&d->lock);
    if (ok) {
        d->failures = 0;
        d->since_scan += bytes;
        due = d->since_scan >= d->max_bytes / 16;
        if (due)
            d->since_scan = 0;
    } else if (error != ENOMEM) {
        set_problem(d, UNWRITABLE, error);
        if (error == EROFS || error == EACCES)
            atomic_store_explicit(&d->read_only, true, memory_order_relaxed);
        if (++d->failures >= MAX_FAILURES)
            atomic_store_explicit(&d->skip_store, SKIP, memory_order_relaxed);
    }
    wf__mutex_unlock(&d->lock);
    return due;
}

bool wf__disk_store(wf__disk *d, const void *key, size_t key_len, const void *object, size_t object_len)
{
    if (key_len > MAX_KEY || object_len == 0 || object_len > MAX_OBJECT ||
        disk_size(sizeof(header) + key_len + object_len + sizeof(wf__hash128)) > d->max_bytes / 8 ||
        atomic_load_explicit(&d->read_only, memory_order_relaxed) || is_skipped(&d->skip_store))
        return false;
    int dir = get_folder(d, true);
    if (dir < 0)
        return false;
    bool ok = publish(dir, key, key_len, object, object_len);
    if (note_store(d, ok, errno, disk_size(sizeof(header) + key_len + object_len + sizeof(wf__hash128))))
        evict(d, dir);
    if (ok)
        atomic_fetch_add_explicit(&d->stores, 1, memory_order_relaxed);
    return ok;
}

const char *wf__disk_dir(const wf__disk *d) { return d->dir ? d->dir : ""; }

const char *wf__disk_problem(const wf__disk *d)
{
    return atomic_load_explicit(&d->has_problem, memory_order_acquire) ? d->problem : "";
}
