/* file.c - the bounded reader and the atomic writer under all formats.
 *
 * The reader opens regular files only and knows their length, so that every format can compare what a header claims
 * with what is there before it allocates anything. Of a file that gzip has compressed it reads the unpacked bytes, and
 * knows the greatest length that they can have.
 *
 * The writer's file has no name until it is complete (O_TMPFILE), so that a process that is killed leaves nothing
 * behind. Then the file gets the name of the target, if that is free. A file that replaces another one has a temporary
 * name for a moment, since only a rename replaces a name. Where the file system has no files without names, the file has
 * its temporary name from the beginning.
 *
 * Temporary names are numbered slots: ".weft-<machine>-<slot>.tmp". A writer locks its file (flock) as long as the file
 * has a temporary name. The system ends the lock of a process that dies, so that a later writer on this machine can
 * remove the file. A name says on which machine its writer runs, since some network file systems keep locks to
 * themselves.
 *
 * What becomes a gzip file is written to a file that never keeps a name, as headers are written last. When it is
 * complete, the compressed file is made of it, and appears as any other.
 *
 * With meta.durable the data is flushed to the disk before the file appears, and the folder afterwards, which protects from
 * a power failure. Flushing can take longer than everything else.
 */
#include "io_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---- */

wf_status wfl_io_open(wf_context *ctx, const char *path, wfl_io_reader *reader)
{
    return wfl_io_open_packed(ctx, path, WFL_PACKED_BY_CONTENT, reader);
}

/* True if such a file is unpacked as a whole. */
static bool is_whole(wfl_packing packing) { return packing == WFL_PACKED_ZSTD || packing == WFL_PACKED_BLOSC; }

wf_status wfl_io_open_packed(wf_context *ctx, const char *path, wfl_packing packing, wfl_io_reader *reader)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe must not wait for its writer */
    if (fd < 0)
        return wfl_io_fail_errno(ctx, path, "open", errno);
    struct stat info;
    wf_status status = WF_OK;
    if (fstat(fd, &info) != 0)
        status = wfl_io_fail_errno(ctx, path, "open", errno);
    else if (S_ISDIR(info.st_mode))
        status = wfl_io_fail_errno(ctx, path, "open", EISDIR);
    else if (!S_ISREG(info.st_mode))
        status = wfl_io_fail(ctx, path, WF_ERR_IO, "cannot open: not a regular file");
    else if (info.st_size == 0)
        status = wfl_io_fail(ctx, path, WF_ERR_IO, "the file is empty");
    wfl_io_reader r = { .ctx = ctx, .path = path, .fd = fd, .packing = packing, .size = (int64_t)info.st_size };
    if (status == WF_OK && is_whole(packing)) {
        r.packed = r.size;
        r.size = wfl_codec_most(r.packed);
        status = wfl_codec_library(ctx, path, packing);
    } else if (status == WF_OK) {
        status = wfl_gzip_open(ctx, path, fd, packing, &r.size, &r.gzip);
    }
    if (status != WF_OK) {
        close(fd);
        return status;
    }
    *reader = r;
    return WF_OK;
}

wf_status wfl_io_unpack(wfl_io_reader *r, int64_t bytes)
{
    if (!is_whole(r->packing))
        return WF_OK;
    uint8_t *packed = malloc((size_t)r->packed);
    if (packed)
        r->memory = malloc((size_t)(bytes ? bytes : 1));
    int64_t got = r->memory ? wfl_io_pread(r->fd, 0, packed, (size_t)r->packed) : 0;
    wf_status status = !r->memory ? wfl_io_fail_memory(r->ctx, r->path, bytes + r->packed)
                       : got < 0  ? wfl_io_fail_errno(r->ctx, r->path, "read", errno)
                                 : wfl_codec_unpack(r->ctx, r->path, r->packing, packed, (size_t)got, r->memory, bytes);
    free(packed);
    r->size = bytes;
    return status;
}

void wfl_io_close(wfl_io_reader *reader)
{
    wfl_gzip_close(reader->gzip);
    free(reader->memory);
    reader->memory = NULL;
    if (reader->fd >= 0)
        close(reader->fd);
    reader->gzip = NULL;
    reader->fd = -1;
}

const char *wfl_io_holds(const wfl_io_reader *reader)
{
    return reader->gzip || reader->packed ? "the compressed file holds at most" : "the file holds";
}

wf_status wfl_io_read_most(wfl_io_reader *reader, int64_t offset, void *to, size_t bytes, size_t *got)
{
    if (reader->memory) {
        int64_t from = offset < reader->size ? offset : reader->size, rest = reader->size - from;
        *got = (uint64_t)rest < bytes ? (size_t)rest : bytes;
        memcpy(to, reader->memory + from, *got);
        return WF_OK;
    }
    int64_t n =
        reader->gzip ? wfl_gzip_read(reader->gzip, offset, to, bytes) : wfl_io_pread(reader->fd, offset, to, bytes);
    if (n < 0)
        return reader->gzip ? wfl_gzip_fail(reader->gzip) : wfl_io_fail_errno(reader->ctx, reader->path, "read", errno);
    *got = (size_t)n;
    return WF_OK;
}

wf_status wfl_io_read_at(wfl_io_reader *reader, int64_t offset, void *to, size_t bytes)
{
    size_t got = 0;
    wf_status status = wfl_io_read_most(reader, offset, to, bytes, &got);
    if (status == WF_OK && got < bytes)
        return wfl_io_fail(reader->ctx, reader->path, WF_ERR_IO,
                           "the %sfile ends at byte %lld, in the middle of what it should hold",
                           reader->gzip ? "unpacked " : "", (long long)(offset + (int64_t)got));
    return status;
}

wf_status wfl_io_read_end(wfl_io_reader *reader) { return reader->gzip ? wfl_gzip_end(reader->gzip) : WF_OK; }

int64_t wfl_io_read_some(wfl_io_reader *reader, void *to, size_t bytes)
{
    int64_t got = wfl_io_pread(reader->fd, reader->pos, to, bytes);
    if (got < 0 && !reader->code)
        reader->code = errno;
    if (got > 0)
        reader->pos += got;
    return got;
}

wf_status wfl_io_read_status(const wfl_io_reader *reader)
{
    return reader->code ? wfl_io_fail_errno(reader->ctx, reader->path, "read", reader->code) : WF_OK;
}

wf_status wfl_io_read_text(wf_context *ctx, const char *path, int64_t most, char **text)
{
    wfl_io_reader reader;
    wf_status status = wfl_io_open_packed(ctx, path, WFL_PACKED_NOT, &reader);
    if (status != WF_OK)
        return status;
    char *all = reader.size <= most ? malloc((size_t)reader.size + 1) : NULL;
    if (reader.size > most)
        status = wfl_io_fail(ctx, path, WF_ERR_IO, "%lld bytes of text (at most %lld are read)", (long long)reader.size,
                             (long long)most);
    else
        status =
            all ? wfl_io_read_at(&reader, 0, all, (size_t)reader.size) : wfl_io_fail_memory(ctx, path, reader.size);
    if (status == WF_OK) {
        all[reader.size] = 0;
        *text = all;
    } else {
        free(all);
    }
    wfl_io_close(&reader);
    return status;
}

/* ---- writing ---- */

/* Returns the folder of `path` with its slash, or "./", as a new string. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
}

/* Returns the target of a link, relative to the folder of the link, as a new string; NULL with *code set to an errno.
 */
static char *link_target(const char *path, int *code)
{
    enum { CAP = 4096 };
    char text[CAP], *folder = folder_of(path), *target = NULL;
    ssize_t n = readlink(path, text, CAP);
    *code = n < 0 ? errno : n == CAP ? ENAMETOOLONG : ENOMEM;
    if (folder && n >= 0 && n < CAP) {
        size_t before = n > 0 && text[0] == '/' ? 0 : strlen(folder);
        target = malloc(before + (size_t)n + 1);
        if (target) {
            memcpy(target, folder, before);
            memcpy(target + before, text, (size_t)n);
            target[before + (size_t)n] = 0;
        }
    }
    free(folder);
    return target;
}

/* Returns the file that `path` names, with links followed, as a new string; the last link may lead to a file that does
 * not exist yet. NULL with *code set to an errno. */
static char *resolve(const char *path, int *code)
{
    enum { MOST_LINKS = 40 };
    char *now = strdup(path);
    *code = ENOMEM;
    for (int links = 0; now; links++) {
        struct stat info;
        char *real = realpath(now, NULL), *next = NULL;
        *code = real ? 0 : errno;
        if (*code == ENOENT) {
            bool is_there = lstat(now, &info) == 0;
            if (is_there ? !S_ISLNK(info.st_mode) : errno == ENOENT)
                return now; /* the new file is going to have this name */
            *code = is_there ? ELOOP : errno;
            if (is_there && links < MOST_LINKS)
                next = link_target(now, code);
        }
        free(now);
        if (real)
            return real;
        now = next;
    }
    return NULL;
}

/* Returns a number for the name of this machine. */
static uint32_t machine_id(void)
{
    char name[256] = "";
    uint32_t id = 2166136261u;
    if (gethostname(name, sizeof name - 1) != 0)
        return 0;
    for (const char *c = name; *c; c++)
        id = (id ^ (uint8_t)*c) * 16777619u;
    return id;
}

/* True if `path` is the file that is open as `fd`. */
static bool is_file(const char *path, int fd)
{
    struct stat named, opened;
    return lstat(path, &named) == 0 && fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
           named.st_ino == opened.st_ino;
}

/* Removes a temporary file that a process of this user left behind when it died, which is a file without a lock. The
 * lock taken here keeps other processes from removing or renaming the file, since they lock it first. */
static void remove_left(const char *path)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    bool dead = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                (info.st_uid == geteuid() || geteuid() == 0) && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_file(path, fd);
    if (dead)
        unlink(path);
    if (fd >= 0)
        close(fd);
}

/* Creates a file under the name writer->temp and locks it, or links the file without a name to it. Returns 0 or an
 * errno; EEXIST = the name is taken. */
static int make_at(wfl_io_writer *writer, const char *link_from)
{
    if (link_from)
        return linkat(AT_FDCWD, link_from, AT_FDCWD, writer->temp, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
    int fd = open(writer->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    if ((!locked && errno == EWOULDBLOCK) || (locked && !is_file(writer->temp, fd))) {
        close(fd); /* another writer took the file for one left behind, before it was locked */
        return EEXIST;
    }
    writer->fd = fd; /* without a lock where the file system has none; then no writer removes files left behind */
    return 0;
}

/* Creates the file under a temporary name, or links the file without a name to one: the first slot that is free, or else
 * a random name. Removes the files in slots whose processes have died. Returns 0 or an errno. */
static int make_named(wfl_io_writer *writer, const char *folder, const char *link_from)
{
    enum { SLOTS = 16, SLOTS_OF_LINKS = 4, ATTEMPTS = 64 };
    const unsigned slots = link_from ? SLOTS_OF_LINKS : SLOTS; /* a link is in use for some microseconds only */
    size_t cap = strlen(folder) + 40;
    writer->temp = malloc(cap);
    int code = writer->temp ? EEXIST : ENOMEM;
    const unsigned machine = machine_id();
    /* First removes the files left behind, so that the new name is in use for a shorter time. */
    for (unsigned turn = 0; turn < 2 * slots && code == EEXIST; turn++) {
        snprintf(writer->temp, cap, "%s.weft-%08x-%02u.tmp", folder, machine, turn % slots);
        if (turn < slots)
            remove_left(writer->temp);
        else
            code = make_at(writer, link_from);
    }
    for (unsigned attempt = 0; attempt < ATTEMPTS && code == EEXIST; attempt++) {
        snprintf(writer->temp, cap, "%s.weft-%016llx.tmp", folder,
                 (unsigned long long)wfl_io_random_number(writer, attempt));
        code = make_at(writer, link_from);
    }
    writer->named = code == 0;
    return code;
}

static void proc_name(int fd, char text[40]) { snprintf(text, 40, "/proc/self/fd/%d", fd); }

/* Opens a new file in `folder`, without a name if the system can do that. Returns 0 or an errno. */
static int open_temp(wfl_io_writer *writer, const char *folder)
{
#ifdef O_TMPFILE
    writer->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (writer->fd >= 0) {
        char link_from[40];
        proc_name(writer->fd, link_from);
        flock(writer->fd, LOCK_EX | LOCK_NB); /* before it can have a temporary name */
        if (access(link_from, F_OK) == 0)
            return 0;
        close(writer->fd); /* without /proc the file could not be linked to a name */
    }
#endif
    return make_named(writer, folder, NULL);
}

/* Fails unless the file that exists at the target, if any, is a regular one that may be written. *old and *exists
 * describe it. */
static wf_status check_target(wfl_io_writer *writer, struct stat *old, bool *exists)
{
    *exists = stat(writer->target, old) == 0;
    if (!*exists)
        return errno == ENOENT ? WF_OK : wfl_io_fail_errno(writer->ctx, writer->path, "write", errno);
    if (S_ISDIR(old->st_mode))
        return wfl_io_fail_errno(writer->ctx, writer->path, "write", EISDIR);
    if (!S_ISREG(old->st_mode))
        return wfl_io_fail(writer->ctx, writer->path, WF_ERR_IO, "cannot write: not a regular file");
    if (faccessat(AT_FDCWD, writer->target, W_OK, AT_EACCESS) != 0)
        return wfl_io_fail_errno(writer->ctx, writer->path, "write", errno);
    return WF_OK;
}

/* The new file takes over owner and permissions of the old one; only root can change the owner. */
static void take_over(int fd, const struct stat *old)
{
    if (fchown(fd, old->st_uid, old->st_gid) != 0)
        errno = 0;
    if (fchmod(fd, old->st_mode & 0777) != 0)
        errno = 0;
}

/* Makes the writer's file one without a name, which ends with the writer. */
static void forget_name(wfl_io_writer *writer)
{
    if (writer->named)
        unlink(writer->temp);
    free(writer->temp);
    writer->temp = NULL;
    writer->named = false;
}

wf_status wfl_io_create(wf_context *ctx, const char *path, const wf_meta *meta, wfl_io_writer *writer)
{
    *writer = (wfl_io_writer){ .ctx = ctx, .path = path, .durable = meta->durable, .fd = -1 };
    char *folder = NULL;
    wf_status status = WF_OK;
    size_t length = strlen(path);
    if (path[length - 1] == '/')
        return wfl_io_fail_errno(ctx, path, "write", EISDIR);

    int code;
    writer->target = resolve(path, &code);
    if (!writer->target) {
        status = wfl_io_fail_errno(ctx, path, "write", code);
        goto done;
    }
    folder = folder_of(writer->target);
    if (!folder) {
        status = wfl_io_fail_memory(ctx, path, (int64_t)length);
        goto done;
    }
    struct stat old;
    bool exists;
    status = check_target(writer, &old, &exists);
    writer->gzip = wfl_io_named_gzip(path);
    if (status == WF_OK && writer->gzip)
        status = wfl_gzip_library(ctx, path);
    if (status != WF_OK)
        goto done;
    code = open_temp(writer, folder);
    if (code) {
        writer->fd = -1;
        status = wfl_io_fail_errno(ctx, path, "write", code);
        goto done;
    }
    if (exists)
        take_over(writer->fd, &old);
    if (writer->gzip)
        forget_name(writer);
done:
    free(folder);
    if (status != WF_OK)
        wfl_io_finish(writer, status);
    return status;
}

int wfl_io_name(wfl_io_writer *writer)
{
    if (writer->named)
        return 0;
    char link_from[40], *folder = folder_of(writer->target);
    proc_name(writer->fd, link_from);
    int code = folder ? make_named(writer, folder, link_from) : ENOMEM;
    free(folder);
    return code;
}

wf_status wfl_io_join(wf_context *ctx, const char *path, const char *temp, const wf_meta *meta, wfl_io_writer *writer)
{
    *writer = (wfl_io_writer){ .ctx = ctx, .path = path, .durable = meta->durable, .joined = true };
    writer->fd = open(temp, O_RDWR | O_CLOEXEC);
    if (writer->fd >= 0)
        return WF_OK;
    return wfl_io_fail(ctx, path, WF_ERR_IO, "cannot write a part: %s: %s", temp, wfl_io_errno_text(errno));
}

bool wfl_io_write(wfl_io_writer *writer, const void *from, size_t bytes)
{
    if (writer->code)
        return false;
    size_t written;
    writer->code = wfl_io_pwrite(writer->fd, writer->pos, from, bytes, &written);
    writer->pos += (int64_t)written;
    if (writer->pos > writer->size)
        writer->size = writer->pos;
    return !writer->code;
}

void wfl_io_extend(wfl_io_writer *writer, int64_t size)
{
    if (writer->code || writer->size >= size)
        return;
    if (ftruncate(writer->fd, (off_t)size) != 0)
        writer->code = errno;
    writer->size = size;
}

int64_t wfl_io_read_back(wfl_io_writer *writer, void *to, size_t bytes)
{
    int64_t got = wfl_io_pread(writer->fd, writer->pos, to, bytes);
    if (got < 0 && !writer->code)
        writer->code = errno;
    if (got > 0)
        writer->pos += got;
    return got;
}

/* Closes the file, which may be the first call to report a full disk, and gives it the target's name. Returns 0 or an
 * errno. */
static int close_and_rename(wfl_io_writer *writer)
{
    int fd = writer->fd, lock = fcntl(fd, F_DUPFD_CLOEXEC, 0), code = 0;
    writer->fd = -1;
    if (close(fd) != 0 && errno != EINTR)
        code = errno;
    if (!code && rename(writer->temp, writer->target) != 0)
        code = errno;
    if (code)
        unlink(writer->temp);
    writer->named = false;
    if (lock >= 0)
        close(lock);
    return code;
}

/* Flushes the file if it is durable. Returns 0 or an errno. */
static int flush(const wfl_io_writer *writer)
{
    return writer->durable && fsync(writer->fd) != 0 && errno != EINVAL && errno != ENOSYS ? errno : 0;
}

/* Gives a part of a file to the system. Returns 0 or an errno. */
static int leave(wfl_io_writer *writer)
{
    int code = flush(writer), fd = writer->fd;
    writer->fd = -1;
    return close(fd) != 0 && errno != EINTR && !code ? errno : code;
}

int wfl_io_flush_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? 0 : errno; /* the names of a folder that may not be listed cannot be flushed */
    int code = fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS ? 0 : errno;
    close(fd);
    return code;
}

int wfl_io_flush_name(const char *path)
{
    char *folder = folder_of(path);
    int code = folder ? wfl_io_flush_folder(folder) : ENOMEM;
    free(folder);
    return code;
}

/* Gives the file its name. Returns 0 or an errno. */
static int appear(wfl_io_writer *writer)
{
    if (!writer->named) {
        char link_from[40];
        proc_name(writer->fd, link_from);
        if (linkat(AT_FDCWD, link_from, AT_FDCWD, writer->target, AT_SYMLINK_FOLLOW) == 0)
            return 0; /* it replaces no file */
        if (errno != EEXIST || writer->exclusive)
            return errno;
        int code = wfl_io_name(writer);
        if (code)
            return code;
    }
    if (writer->exclusive) /* wfl_io_finish removes the temporary name */
        return linkat(AT_FDCWD, writer->temp, AT_FDCWD, writer->target, 0) == 0 ? 0 : errno;
    return close_and_rename(writer);
}

/* Makes the file appear. Returns 0 or an errno. */
static int publish(wfl_io_writer *writer)
{
    int code = flush(writer);
    if (!code)
        code = appear(writer);
    return !code && writer->durable ? wfl_io_flush_name(writer->target) : code;
}

/* Puts a compressed file in place of the writer's, which has no name. Returns 0 or an errno. */
static int pack(wfl_io_writer *writer)
{
    struct stat info;
    int plain = writer->fd;
    char *folder = folder_of(writer->target);
    int code = !folder ? ENOMEM : fstat(plain, &info) != 0 ? errno : 0;
    writer->fd = -1;
    if (!code) {
        code = open_temp(writer, folder);
        if (code)
            writer->fd = -1;
    }
    if (!code) {
        take_over(writer->fd, &info);
        code = wfl_gzip_pack(plain, writer->size, writer->fd);
    }
    free(folder);
    close(plain);
    return code;
}

wf_status wfl_io_finish(wfl_io_writer *writer, wf_status status)
{
    if (status == WF_OK && !writer->code && writer->gzip)
        writer->code = pack(writer);
    if (status == WF_OK && !writer->code)
        writer->code = writer->joined ? leave(writer) : publish(writer);
    if (writer->code) {
        wf_status failed = wfl_io_fail_errno(writer->ctx, writer->path, "write", writer->code);
        if (status == WF_OK)
            status = failed;
    }
    if (writer->named)
        unlink(writer->temp); /* while it is locked */
    if (writer->fd >= 0)
        close(writer->fd);
    free(writer->temp);
    free(writer->target);
    *writer = (wfl_io_writer){ .fd = -1 };
    return status;
}
