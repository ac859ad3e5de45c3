/* each.h - the farm inside the library: items with their hashes (item.c), lines of a journal (record.c), the journals of
 * a folder (journal.c), locks (lock.c), and the run on top of them (farm.c). Each file uses those before it, and all use
 * only the public headers and src/base. docs/design/031-farm.md gives the reasons.
 *
 * A folder has a journal for each process that has done something, which that process alone appends to. Its first line
 * names the process. A lock is another name (a hard link) of the journal of the process that holds it, so that it
 * appears with its contents, and touching the journal renews all locks of the process.
 */
#ifndef WEFT_EACH_EACH_H
#define WEFT_EACH_EACH_H
#include "base/base.h"
#include "base/os.h"
#include "weft/each.h"

/* ---- item.c ---- */
/* What the results of an item depend on, as hashes, and the files as they are now. */
typedef struct wf__each_facts {
    uint64_t inputs;  /* paths, sizes and times of the inputs; a missing file has a value of its own */
    uint64_t outputs; /* sizes and times of the outputs; 0 = one is missing */
    uint64_t bytes;   /* of the inputs */
} wf__each_facts;

/* The functions that return bool return false without memory. */
bool wf__each_id(const wf_each_item *item, uint64_t *id); /* a hash of the first output's absolute path */
const char *wf__each_name(const wf_each_item *item);
/* Looks at the files. `shared` is a hash of input files that all items have. */
bool wf__each_look(const wf_each_item *item, uint64_t shared, wf__each_facts *out);
uint64_t wf__each_look_outputs(const wf_each_item *item);
bool wf__each_shared(const char *const *paths, size_t count, uint64_t *hash);
/* Fails if two items have one output, or an output is an input. */
wf_status wf__each_check(wf_context *ctx, const wf_each_item *items, size_t count, const char *const *shared,
                         size_t shared_count);

/* ---- record.c: lines of a journal ---- */
enum { WF__EACH_LINE = 512 }; /* of the first line, at most */

/* A process that has a journal. */
typedef struct wf__each_owner {
    uint64_t nonce, host, start; /* nonce: of this journal alone; host, start: wf__host_id, wf__process_start */
    int64_t process;
} wf__each_owner;

/* An item that was done. */
typedef struct wf__each_record {
    uint64_t id, task, settings, inputs, version, outputs;
    int64_t when; /* wf__wall_clock */
} wf__each_record;

void wf__each_owner_line(wf__str *out, const wf__each_owner *owner, const char *host_name);
void wf__each_record_line(wf__str *out, const wf__each_record *record, double seconds, const char *name);
/* Read a line of n bytes without its end; false = another line, or a torn or damaged one. */
bool wf__each_read_owner(const char *line, size_t n, wf__each_owner *out);
bool wf__each_read_record(const char *line, size_t n, wf__each_record *out);

/* ---- journal.c ---- */
typedef struct wf__each_file {
    char *name;
    int64_t read; /* bytes whose lines have been read */
} wf__each_file;

typedef struct wf__each_journal {
    int dir;
    char *folder;
    double patience;
    uint64_t host;        /* wf__host_id */
    wf__each_owner owner; /* this process; nonce 0 = it has no journal yet */
    char *own_name;
    int own;      /* -1 = none */
    size_t noted; /* records that this process has appended */
    wf__each_file *files;
    uint32_t file_count, file_cap;
    wf__each_record *records; /* read from files, or noted by this process */
    uint32_t *before, *slots; /* slots: number + 1 of the last record of an id; before: of the one before it, or 0 */
    uint32_t record_count, record_cap, before_cap, slot_count;
} wf__each_journal;

/* Opens the folder; `create`: makes it if it is missing. A folder that is not there has no records. */
wf_status wf__journal_open(wf_context *ctx, const char *folder, double patience, bool create, wf__each_journal *out);
void wf__journal_close(wf__each_journal *j);
/* Reads what other processes have appended since the last call. */
wf_status wf__journal_read(wf__each_journal *j, wf_context *ctx);
/* Puts the journals of processes that have ended into one, and removes temporary files of such processes. */
wf_status wf__journal_merge(wf__each_journal *j, wf_context *ctx);
/* Begins the journal of this process; ends it, and removes it if it has no records. */
wf_status wf__journal_begin(wf__each_journal *j, wf_context *ctx);
void wf__journal_end(wf__each_journal *j);
wf_status wf__journal_note(wf__each_journal *j, wf_context *ctx, const wf__each_record *record, double seconds,
                           const char *name);
/* The last known record of an id, then the ones before it; NULL = no more. */
const wf__each_record *wf__journal_find(const wf__each_journal *j, uint64_t id, const wf__each_record *after);
/* True if the process has ended. Where that cannot be known, as on another machine: if it has not touched its journal,
 * whose time is `mtime`, for `patience` seconds. */
bool wf__journal_is_dead(const wf__each_journal *j, const wf__each_owner *owner, int64_t mtime, double patience);
/* Reads the first line of a journal or lock. False = there is none. */
bool wf__journal_owner(const wf__each_journal *j, const char *name, wf__each_owner *out, int64_t *mtime);
wf_status wf__journal_fail(const wf__each_journal *j, wf_context *ctx, const char *what, int error);

/* ---- lock.c ---- */
enum { WF__EACH_CHAIN = 32 }; /* processes that died over one item before it was done, at most */
typedef struct wf__each_lock {
    uint64_t id;
    uint64_t chain[WF__EACH_CHAIN]; /* nonces of dead processes; the last one is followed by this process */
    int depth;
} wf__each_lock;
typedef enum wf__each_claim { WF__EACH_MINE, WF__EACH_TAKEN, WF__EACH_ERROR } wf__each_claim;
/* Takes the item if no process holds it. WF__EACH_TAKEN: another process does; WF__EACH_ERROR: errno says why not. */
wf__each_claim wf__lock_take(const wf__each_journal *j, uint64_t id, wf__each_lock *out);
void wf__lock_release(const wf__each_journal *j, const wf__each_lock *lock);
void wf__lock_clean(const wf__each_journal *j); /* removes locks of processes that have ended */
#endif
