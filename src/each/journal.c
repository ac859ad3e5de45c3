/* journal.c - the journals of a folder: reads those of all processes, appends to the one of this process, merges those
 * of processes that have ended.
 *
 * Every process has a journal of its own, since network file systems do not make appends of several machines atomic. A
 * journal is removed only after another file with its records is on the disk, so each record is in some file at any
 * time. A reader that finds a listed file gone lists the folder again.
 */
#include "each/each.h"
#include <errno.h>
#include <stdio.h>

static const char suffix[] = ".journal";

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

wf_status wf__journal_fail(const wf__each_journal *j, wf_context *ctx, const char *what, int error)
{
    char reason[128];
    wf__str text = { 0 };
    wf__str_addf(&text, "%s: cannot %s: %s", j->folder, what, wf__errno_text(error, reason, sizeof reason));
    if (error == EPERM || error == EOPNOTSUPP || error == EMLINK)
        wf__str_add(&text, "; locks need a file system with hard links");
    wf_status status =
        error == ENOMEM ? wf_error(ctx, WF_ERR_MEMORY, NULL) : wf_error(ctx, WF_ERR_IO, wf__str_get(&text));
    wf__str_free(&text);
    return status;
}

wf_status wf__journal_open(wf_context *ctx, const char *folder, double patience, bool create, wf__each_journal *out)
{
    *out = (wf__each_journal){
        .dir = -1, .own = -1, .patience = patience, .host = wf__host_id(), .folder = wf__strdup(folder)
    };
    if (!out->folder)
        return wf_error(ctx, WF_ERR_MEMORY, NULL);
    out->dir = wf__dir_open(folder);
    if (out->dir < 0 && errno == ENOENT && create && wf__make_folder(folder))
        out->dir = wf__dir_open(folder);
    if (out->dir < 0 && (create || errno != ENOENT))
        return wf__journal_fail(out, ctx, "open the folder of the journal", errno);
    return WF_OK;
}

void wf__journal_end(wf__each_journal *j)
{
    if (j->own >= 0 && j->noted == 0)
        wf__unlink(j->dir, j->own_name);
    wf__fd_close(j->own);
    wf__free(j->own_name);
    j->own = -1;
    j->own_name = NULL;
    j->noted = 0;
    j->owner = (wf__each_owner){ 0 };
}

void wf__journal_close(wf__each_journal *j)
{
    wf__journal_end(j);
    wf__fd_close(j->dir);
    for (uint32_t i = 0; i < j->file_count; i++)
        wf__free(j->files[i].name);
    wf__free(j->files);
    wf__free(j->records);
    wf__free(j->before);
    wf__free(j->slots);
    wf__free(j->folder);
    *j = (wf__each_journal){ .dir = -1, .own = -1 };
}

/* ---- records in memory ---- */

static uint32_t *slot_of(const wf__each_journal *j, uint64_t id)
{
    uint32_t at = wf__mix32(id) & (j->slot_count - 1);
    while (j->slots[at] && j->records[j->slots[at] - 1].id != id)
        at = (at + 1) & (j->slot_count - 1);
    return &j->slots[at];
}

const wf__each_record *wf__journal_find(const wf__each_journal *j, uint64_t id, const wf__each_record *after)
{
    if (j->slot_count == 0)
        return NULL;
    uint32_t found = after ? j->before[after - j->records] : *slot_of(j, id);
    return found ? &j->records[found - 1] : NULL;
}

static bool add_record(wf__each_journal *j, const wf__each_record *record)
{
    for (const wf__each_record *r = NULL; (r = wf__journal_find(j, record->id, r));)
        if (memcmp(r, record, sizeof *r) == 0)
            return true;
    uint32_t n = j->record_count;
    if (n == UINT32_MAX || !wf__grow(&j->records, &j->record_cap, n + 1, sizeof *j->records) ||
        !wf__grow(&j->before, &j->before_cap, n + 1, sizeof *j->before))
        return false;
    if (2 * (uint64_t)(n + 1) > j->slot_count) {
        uint64_t wanted = j->slot_count ? 2 * (uint64_t)j->slot_count : 64;
        uint32_t *slots = wanted <= UINT32_MAX ? wf__alloc0(wanted * sizeof *slots) : NULL;
        if (!slots)
            return false;
        wf__free(j->slots);
        j->slots = slots;
        j->slot_count = (uint32_t)wanted;
        for (uint32_t i = 0; i < n; i++)
            *slot_of(j, j->records[i].id) = i + 1; /* in order, so that the last one of an id stays */
    }
    uint32_t *slot = slot_of(j, record->id);
    j->records[n] = *record;
    j->before[n] = *slot;
    *slot = n + 1;
    j->record_count = n + 1;
    return true;
}

/* ---- reading ---- */

/* Calls `each` for every whole line of an open file from byte *at on, and moves *at to the end of the last one. */
static bool read_lines(int fd, int64_t *at, bool (*each)(void *user, const char *line, size_t n), void *user)
{
    enum { CHUNK = 1 << 16 };
    size_t cap = CHUNK, held = 0;
    char *text = wf__alloc(cap);
    bool ok = text != NULL;
    while (ok) {
        if (held == cap) { /* a line longer than all so far */
            char *more = wf__realloc(text, 2 * cap);
            ok = more != NULL;
            text = more ? more : text;
            cap = more ? 2 * cap : cap;
            if (!ok)
                break;
        }
        int64_t got = wf__read_at(fd, *at + (int64_t)held, text + held, cap - held);
        ok = got >= 0;
        if (got <= 0)
            break;
        held += (size_t)got;
        char *line = text, *end;
        while (ok && (end = memchr(line, '\n', held - (size_t)(line - text)))) {
            ok = each(user, line, (size_t)(end - line));
            line = end + 1;
        }
        size_t used = (size_t)(line - text);
        *at += (int64_t)used;
        memmove(text, line, held -= used);
    }
    wf__free(text);
    return ok;
}

static bool take_record(void *user, const char *line, size_t n)
{
    wf__each_record record;
    return !wf__each_read_record(line, n, &record) || add_record(user, &record);
}

bool wf__journal_owner(const wf__each_journal *j, const char *name, wf__each_owner *out, int64_t *mtime)
{
    char line[WF__EACH_LINE];
    wf__file_info info;
    int fd = wf__open_file(j->dir, name); /* makes NFS ask the server for the file's time */
    int64_t got = fd >= 0 ? wf__read_at(fd, 0, line, sizeof line) : -1;
    const char *end = got > 0 ? memchr(line, '\n', (size_t)got) : NULL;
    bool found = got >= 0 && wf__fd_info(fd, &info);
    int error = errno;
    wf__fd_close(fd);
    if (found) {
        *mtime = info.mtime;
        if (!end || !wf__each_read_owner(line, (size_t)(end - line), out))
            *out = (wf__each_owner){ 0 }; /* of an unknown machine */
    }
    errno = error;
    return found;
}

typedef struct listing {
    wf__each_journal *j;
    bool failed;
} listing;

static bool note_file(void *user, const wf__dir_entry *entry)
{
    listing *l = user;
    wf__each_journal *j = l->j;
    if (!entry->regular || !ends_with(entry->name, suffix) || (j->own_name && strcmp(entry->name, j->own_name) == 0))
        return true;
    for (uint32_t i = 0; i < j->file_count; i++)
        if (strcmp(j->files[i].name, entry->name) == 0)
            return true;
    char *name = wf__strdup(entry->name);
    if (!name || !wf__grow(&j->files, &j->file_cap, j->file_count + 1, sizeof *j->files)) {
        wf__free(name);
        l->failed = true;
        return false;
    }
    j->files[j->file_count++] = (wf__each_file){ .name = name };
    return true;
}

wf_status wf__journal_read(wf__each_journal *j, wf_context *ctx)
{
    enum { ATTEMPTS = 16 };
    if (j->dir < 0)
        return WF_OK;
    bool again = true;
    for (int attempt = 0; again && attempt < ATTEMPTS; attempt++) {
        again = false;
        listing l = { .j = j };
        if (!wf__dir_list(j->dir, note_file, &l) || l.failed)
            return wf__journal_fail(j, ctx, "read the journal", l.failed ? ENOMEM : errno);
        for (uint32_t i = 0; i < j->file_count; i++) {
            wf__each_file *file = &j->files[i];
            int fd = wf__open_file(j->dir, file->name);
            if (fd < 0 && errno != ENOENT && errno != ESTALE)
                return wf__journal_fail(j, ctx, "read the journal", errno);
            if (fd < 0) { /* merged into another file, which the next listing has */
                wf__free(file->name);
                *file = j->files[--j->file_count];
                i--;
                again = true;
                continue;
            }
            bool ok = read_lines(fd, &file->read, take_record, j);
            int error = errno;
            wf__fd_close(fd);
            if (!ok)
                return wf__journal_fail(j, ctx, "read the journal", error);
        }
    }
    return WF_OK;
}

bool wf__journal_is_dead(const wf__each_journal *j, const wf__each_owner *owner, int64_t mtime, double patience)
{
    bool here = owner->host == j->host;
    if (here && !wf__process_alive(owner->process, owner->start))
        return true;
    if (here && owner->start)
        return false;
    wf__file_info own;
    int64_t now = wf__wall_clock();
    if (j->own >= 0 && wf__touch_fd(j->own) && wf__fd_info(j->own, &own))
        now = own.mtime; /* by the clock that set `mtime` */
    return (double)(now - mtime) > 1e9 * patience;
}

/* ---- writing ---- */

/* Makes the owner and the name of a new journal of this process. */
static wf_status new_owner(const wf__each_journal *j, wf_context *ctx, const char *kind, wf__each_owner *owner,
                           wf__str *name, wf__str *text)
{
    char host[256];
    wf__host_name(host, sizeof host);
    *owner = (wf__each_owner){ .nonce = wf__random64() | 1, .host = j->host, .process = wf__process_id() };
    owner->start = wf__process_start(owner->process);
    for (char *c = host; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", *c))
            *c = '_';
    wf__str_addf(name, "%s%.32s-%lld-%016llx%s", kind, host, (long long)owner->process,
                 (unsigned long long)owner->nonce, suffix);
    wf__each_owner_line(text, owner, host);
    return name->failed || text->failed ? wf__journal_fail(j, ctx, "", ENOMEM) : WF_OK;
}

wf_status wf__journal_begin(wf__each_journal *j, wf_context *ctx)
{
    wf__str name = { 0 }, line = { 0 };
    wf__each_owner owner;
    wf_status status = new_owner(j, ctx, "", &owner, &name, &line);
    int fd = status == WF_OK ? wf__append_create(j->dir, name.at) : -1;
    /* locks, which are names of this file, must not reach the disk or another machine before its first line */
    if (status == WF_OK && (fd < 0 || !wf__append_fd(fd, line.at, line.len) || !wf__sync_fd(fd))) {
        status = wf__journal_fail(j, ctx, "write the journal", errno);
        if (fd >= 0)
            wf__unlink(j->dir, name.at);
    }
    wf__str_free(&line);
    if (status != WF_OK) {
        wf__fd_close(fd);
        wf__str_free(&name);
        return status;
    }
    j->own = fd;
    j->own_name = name.at;
    j->owner = owner;
    return WF_OK;
}

wf_status wf__journal_note(wf__each_journal *j, wf_context *ctx, const wf__each_record *record, double seconds,
                           const char *name)
{
    wf__str line = { 0 };
    wf__each_record_line(&line, record, seconds, name);
    bool ok = !line.failed && add_record(j, record);
    wf_status status = WF_OK;
    if (!ok)
        status = wf__journal_fail(j, ctx, "", ENOMEM);
    else if (!wf__append_fd(j->own, line.at, line.len))
        status = wf__journal_fail(j, ctx, "write the journal", errno);
    else
        j->noted++;
    wf__str_free(&line);
    return status;
}

/* ---- merging ---- */

typedef struct merging {
    wf__each_journal *j;
    wf__str text;
    bool *kept; /* of each record */
} merging;

/* Keeps the line of the last record of an item. */
static bool keep_line(void *user, const char *line, size_t n)
{
    merging *m = user;
    wf__each_record record;
    if (!wf__each_read_record(line, n, &record))
        return true;
    const wf__each_record *same = NULL;
    for (const wf__each_record *r = NULL; (r = wf__journal_find(m->j, record.id, r));) {
        if (r->when > record.when)
            return true;
        if (memcmp(r, &record, sizeof *r) == 0)
            same = r;
    }
    if (same && m->kept[same - m->j->records])
        return true;
    if (same)
        m->kept[same - m->j->records] = true;
    wf__str_addn(&m->text, line, n + 1);
    return !m->text.failed;
}

/* Files that nothing else removes are of another machine, or of a process that was killed as it began. */
enum { LEFT_SECONDS = 24 * 3600 };

static bool remove_left(void *user, const wf__dir_entry *entry)
{
    wf__each_journal *j = user;
    bool temporary = strncmp(entry->name, WF__TEMP_PREFIX, sizeof WF__TEMP_PREFIX - 1) == 0;
    if (temporary && (double)(wf__wall_clock() - entry->mtime) > 1e9 * LEFT_SECONDS)
        wf__unlink(j->dir, entry->name);
    return true;
}

/* Marks the journals of processes that have ended. Returns how many there are. */
static uint32_t mark_dead(const wf__each_journal *j, bool *dead)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < j->file_count; i++) {
        wf__each_owner owner;
        int64_t mtime;
        dead[i] = wf__journal_owner(j, j->files[i].name, &owner, &mtime) &&
                  wf__journal_is_dead(j, &owner, mtime, LEFT_SECONDS);
        count += dead[i];
    }
    return count;
}

/* Writes the marked journals as one and removes them. Removes the mark of one that cannot be opened, which stays. */
static wf_status merge_marked(wf__each_journal *j, wf_context *ctx, bool *marked)
{
    wf__str name = { 0 };
    merging m = { .j = j, .kept = wf__alloc0(j->record_count + 1) };
    wf__each_owner owner;
    wf_status status =
        m.kept ? new_owner(j, ctx, "merged-", &owner, &name, &m.text) : wf__journal_fail(j, ctx, "", ENOMEM);
    for (uint32_t i = 0; i < j->file_count && status == WF_OK; i++) {
        int64_t at = 0;
        int fd = marked[i] ? wf__open_file(j->dir, j->files[i].name) : -1;
        marked[i] = fd >= 0;
        if (fd >= 0 && !read_lines(fd, &at, keep_line, &m))
            status = wf__journal_fail(j, ctx, "read the journal", errno);
        wf__fd_close(fd);
    }
    const wf__piece text = { m.text.at, m.text.len };
    if (status == WF_OK && !wf__publish(j->dir, name.at, &text, 1, 0666, true))
        status = wf__journal_fail(j, ctx, "write the journal", errno);
    for (uint32_t i = 0; i < j->file_count && status == WF_OK; i++)
        if (marked[i])
            wf__unlink(j->dir, j->files[i].name);
    wf__free(m.kept);
    wf__str_free(&m.text);
    wf__str_free(&name);
    return status;
}

wf_status wf__journal_merge(wf__each_journal *j, wf_context *ctx)
{
    bool *dead = wf__alloc0(j->file_count + 1);
    if (!dead)
        return wf__journal_fail(j, ctx, "", ENOMEM);
    wf__dir_list(j->dir, remove_left, j);
    wf_status status = mark_dead(j, dead) > 1 ? merge_marked(j, ctx, dead) : WF_OK;
    wf__free(dead);
    return status;
}
