/* os_file.c - folders and files. */
#include "base/os.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool wf__make_dirs(const char *path)
{
    char part[PATH_MAX];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part) {
        errno = n ? ENAMETOOLONG : ENOENT;
        return false;
    }
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    if (errno != ENOENT)
        return false;
    memcpy(part, path, n + 1);
    for (size_t i = 1; i < n; i++)
        if (part[i] == '/' && part[i - 1] != '/') {
            part[i] = 0;
            if (mkdir(part, 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES && errno != EISDIR)
                return false; /* after these errors the folder may exist: the last mkdir decides */
            part[i] = '/';
        }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

bool wf__dirs_possible(const char *path, char *nearest, size_t cap)
{
    struct stat s;
    size_t n = strlen(path);
    if (n == 0 || n >= cap) {
        errno = n ? ENAMETOOLONG : ENOENT;
        return false;
    }
    memcpy(nearest, path, n + 1);
    while (stat(nearest, &s) != 0) {
        if (errno != ENOENT)
            return false;
        while (n > 1 && nearest[n - 1] == '/')
            n--;
        while (n > 0 && nearest[n - 1] != '/')
            n--;
        while (n > 1 && nearest[n - 1] == '/')
            n--;
        if (n == 0) /* a relative path */
            nearest[n++] = '.';
        nearest[n] = 0;
    }
    if (!S_ISDIR(s.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    return faccessat(AT_FDCWD, nearest, W_OK | X_OK, AT_EACCESS) == 0;
}

int wf__dir_open(const char *path) { return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

void wf__fd_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

static wf__dir_entry describe(const struct stat *s)
{
#if defined(__APPLE__)
    struct timespec t = s->st_mtimespec;
#else
    struct timespec t = s->st_mtim;
#endif
    return (wf__dir_entry){ .size = s->st_size > 0 ? (uint64_t)s->st_size : 0,
                            .mtime = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec,
                            .regular = S_ISREG(s->st_mode),
                            .own = s->st_uid == geteuid() && (s->st_mode & (S_IWGRP | S_IWOTH)) == 0 };
}

bool wf__dir_list(int dir, bool (*each)(void *user, const wf__dir_entry *entry), void *user)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* the listing needs an offset of its own */
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (!stream) {
        wf__fd_close(fd);
        return false;
    }
    struct dirent *d;
    while ((d = readdir(stream)) != NULL) {
        struct stat s;
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
            fstatat(dir, d->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0)
            continue; /* another process removed the entry */
        wf__dir_entry entry = describe(&s);
        entry.name = d->d_name;
        if (!each(user, &entry))
            break;
    }
    closedir(stream);
    return true;
}

bool wf__dir_writable(int dir) { return faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) == 0; }

bool wf__owns(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && s.st_uid == geteuid();
}

bool wf__unlink(int dir, const char *name) { return unlinkat(dir, name, 0) == 0; }

/* Opens an ordinary file; `own`: of this user, that no other user may write. */
static int open_ordinary(int dir, const char *name, bool own, wf__dir_entry *info)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    struct stat s;
    if (fstat(fd, &s) == 0) {
        wf__dir_entry entry = describe(&s);
        if (entry.regular && (entry.own || !own)) {
            *info = entry;
            return fd;
        }
    }
    close(fd);
    errno = EPERM;
    return -1;
}

int wf__open_own(int dir, const char *name, wf__dir_entry *info) { return open_ordinary(dir, name, true, info); }

int wf__open_file(int dir, const char *name)
{
    wf__dir_entry info;
    return open_ordinary(dir, name, false, &info);
}

bool wf__read_exact(int fd, void *at, size_t n)
{
    char *p = at;
    while (n > 0) {
        ssize_t got = read(fd, p, n < SSIZE_MAX ? n : SSIZE_MAX);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

bool wf__touch_fd(int fd) { return futimens(fd, NULL) == 0; }

bool wf__make_folder(const char *path) { return mkdir(path, 0777) == 0 || errno == EEXIST; }

char *wf__real_path(const char *path)
{
    if (!wf__alloc_fails())
        return realpath(path, NULL);
    errno = ENOMEM;
    return NULL;
}

static wf__file_info info_of(const struct stat *s)
{
    wf__dir_entry entry = describe(s);
    return (wf__file_info){
        .device = (uint64_t)s->st_dev, .number = (uint64_t)s->st_ino, .size = entry.size, .mtime = entry.mtime
    };
}

bool wf__path_info(int dir, const char *path, wf__file_info *out)
{
    struct stat s;
    bool found = fstatat(dir, path, &s, 0) == 0;
    if (found)
        *out = info_of(&s);
    return found;
}

bool wf__fd_info(int fd, wf__file_info *out)
{
    struct stat s;
    bool found = fstat(fd, &s) == 0;
    if (found)
        *out = info_of(&s);
    return found;
}

int64_t wf__read_at(int fd, int64_t offset, void *to, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = pread(fd, (char *)to + done, n - done, (off_t)(offset + (int64_t)done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (int64_t)done;
}

int wf__append_create(int dir, const char *name)
{
    return openat(dir, name, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

bool wf__sync_fd(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS; /* some file systems have no such call */
}

bool wf__link(int dir, const char *name, const char *another) { return linkat(dir, name, dir, another, 0) == 0; }

static bool write_exact(int fd, const void *at, size_t n)
{
    const char *p = at;
    while (n > 0) {
        ssize_t put = write(fd, p, n < SSIZE_MAX ? n : SSIZE_MAX);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        p += put;
        n -= (size_t)put;
    }
    return true;
}

/* A write beyond the file size limit raises SIGXFSZ, which would end the program: blocks the signal and consumes it. */
static bool write_pieces(int fd, const wf__piece *pieces, int count)
{
    sigset_t limit, old, pending;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &old);
    bool ok = true;
    for (int i = 0; ok && i < count; i++)
        ok = write_exact(fd, pieces[i].at, pieces[i].n);
    int error = errno, signal;
    if (!ok && error == EFBIG && !was_pending && sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ))
        sigwait(&limit, &signal);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = error;
    return ok;
}

bool wf__append_fd(int fd, const void *at, size_t n)
{
    struct stat s;
    if (fstat(fd, &s) != 0)
        return false;
    bool ok = write_pieces(fd, &(wf__piece){ at, n }, 1);
    int error = errno;
    if (!ok && ftruncate(fd, s.st_size) != 0)
        WF__UNUSED(fd); /* a reader finds the torn line by its checksum */
    errno = error;
    return ok;
}

bool wf__publish(int dir, const char *name, const wf__piece *pieces, int count, unsigned mode, bool durable)
{
    char temp[64];
    snprintf(temp, sizeof temp, WF__TEMP_PREFIX "%lld-%016llx", (long long)getpid(),
             (unsigned long long)wf__random64());
    int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)mode);
    if (fd < 0)
        return false;
    bool ok = write_pieces(fd, pieces, count) && (!durable || wf__sync_fd(fd));
    int error = errno;
    if (close(fd) != 0 && ok) { /* network file systems may report a full disk here */
        ok = false;
        error = errno;
    }
    if (ok && renameat(dir, temp, dir, name) != 0) {
        ok = false;
        error = errno;
    }
    if (!ok) {
        unlinkat(dir, temp, 0);
        errno = error;
    }
    return ok;
}
