/* failing_calls.h - functions of libc that fail when the code of Weft calls them, which is linked into the program. They
 * replace those of libc in the program that includes this file: no other file may include it.
 */
#ifndef WEFT_FAILING_CALLS_H
#define WEFT_FAILING_CALLS_H
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* name, the errno of the first way, the errno of the second way */
#define CALLS(X)                          \
    X(open, EMFILE, EACCES)               \
    X(openat, ENFILE, EIO)                \
    X(mmap, ENOMEM, EPERM)                \
    X(mprotect, ENOMEM, EACCES)           \
    X(write, ENOSPC, EIO)                 \
    X(pwrite, ENOSPC, EIO)                \
    X(read, EIO, EISDIR)                  \
    X(pread, EIO, ENOMEM)                 \
    X(ftruncate, ENOSPC, EIO)             \
    X(memfd_create, ENOSYS, EMFILE)       \
    X(rename, EACCES, EIO)                \
    X(renameat, ENOSPC, EIO)              \
    X(linkat, EPERM, EIO)                 \
    X(close, EIO, ENOSPC)                 \
    X(fsync, EIO, ENOSPC)                 \
    X(mkdir, EACCES, ENOSPC)              \
    X(stat, EACCES, EIO)                  \
    X(lstat, EACCES, EIO)                 \
    X(fstat, EIO, ENOMEM)                 \
    X(readlink, EIO, EACCES)              \
    X(realpath, EIO, ENOMEM)              \
    X(fchmod, EPERM, EIO)                 \
    X(fstatat, EIO, ENOMEM)               \
    X(access, EACCES, EIO)                \
    X(faccessat, EROFS, EIO)              \
    X(fdopendir, ENOMEM, EMFILE)          \
    X(unlinkat, EACCES, EIO)              \
    X(pthread_create, EAGAIN, EPERM)      \
    X(pthread_mutex_init, ENOMEM, EAGAIN) \
    X(pthread_cond_init, ENOMEM, EAGAIN)
#define NUMBER(name, first, second) CALL_##name,
#define NAME(name, first, second) #name,
#define ERRORS(name, first, second) { first, second },
enum { CALLS(NUMBER) CALLS_N };
static const char *const call_names[] = { CALLS(NAME) };
static const int call_errors[][2] = { CALLS(ERRORS) };

/* Interrupted and short: reads and writes end with EINTR, or transfer a part. The scenario does not notice. */
typedef enum way { FIRST, SECOND, ALL_FROM_HERE, INTERRUPTED, SHORT, WAYS } way;
static const char *const way_names[] = { "fails", "fails otherwise", "and all later ones fail", "is interrupted",
                                         "is short" };

/* What a process tells its parent; in shared memory. */
static struct report {
    char call[24], text[1200];
} * report;
static way how;
static long target; /* number of the call that fails */
static atomic_long calls;
static atomic_bool armed;

static bool is_transfer(int call)
{
    return call == CALL_read || call == CALL_pread || call == CALL_write || call == CALL_pwrite;
}

/* Returns the errno with which the call fails; 0 = the call does not fail; -1 = it transfers a part. `from` is the
 * address of the caller. */
static int failure_of(int call, const void *from)
{
    extern const char __executable_start, etext;
    if (!atomic_load(&armed) || (const char *)from < &__executable_start || (const char *)from >= &etext ||
        (how >= INTERRUPTED && !is_transfer(call)))
        return 0;
    long number = atomic_fetch_add(&calls, 1);
    if (how == ALL_FROM_HERE ? number < target : number != target)
        return 0;
    if (number == target)
        snprintf(report->call, sizeof report->call, "%s", call_names[call]);
    return how == INTERRUPTED ? EINTR : how == SHORT ? -1 : call_errors[call][how == SECOND];
}

/* Sets `real` to the function of libc. */
#define REAL(name)                            \
    __typeof__(name) *real;                   \
    void *address_ = dlsym(RTLD_NEXT, #name); \
    memcpy(&real, &address_, sizeof address_)
#define FAILURE(name) failure_of(CALL_##name, __builtin_return_address(0))
#define UNLESS_FAILED(name, failed) \
    do {                            \
        int error_ = FAILURE(name); \
        if (error_) {               \
            errno = error_;         \
            return failed;          \
        }                           \
    } while (0)
#define MODE(flags)                                              \
    mode_t mode = 0;                                             \
    if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) { \
        va_list args;                                            \
        va_start(args, flags);                                   \
        mode = va_arg(args, mode_t);                             \
        va_end(args);                                            \
    }

int open(const char *path, int flags, ...)
{
    REAL(open);
    MODE(flags);
    UNLESS_FAILED(open, -1);
    return real(path, flags, mode);
}
int openat(int dir, const char *path, int flags, ...)
{
    REAL(openat);
    MODE(flags);
    UNLESS_FAILED(openat, -1);
    return real(dir, path, flags, mode);
}
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    REAL(mmap);
    UNLESS_FAILED(mmap, MAP_FAILED);
    return real(at, bytes, protection, flags, fd, offset);
}
int mprotect(void *at, size_t bytes, int protection)
{
    REAL(mprotect);
    UNLESS_FAILED(mprotect, -1);
    return real(at, bytes, protection);
}

#define TRANSFER(name)         \
    REAL(name);                \
    int error = FAILURE(name); \
    if (error > 0) {           \
        errno = error;         \
        return -1;             \
    }                          \
    bytes = error < 0 && bytes > 1 ? bytes / 2 : bytes
ssize_t write(int fd, const void *from, size_t bytes)
{
    TRANSFER(write);
    return real(fd, from, bytes);
}
ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
    TRANSFER(pwrite);
    return real(fd, from, bytes, at);
}
ssize_t read(int fd, void *to, size_t bytes)
{
    TRANSFER(read);
    return real(fd, to, bytes);
}
ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
    TRANSFER(pread);
    return real(fd, to, bytes, at);
}
int ftruncate(int fd, off_t bytes)
{
    REAL(ftruncate);
    UNLESS_FAILED(ftruncate, -1);
    return real(fd, bytes);
}
int memfd_create(const char *name, unsigned flags)
{
    REAL(memfd_create);
    UNLESS_FAILED(memfd_create, -1);
    return real(name, flags);
}
int rename(const char *from, const char *to)
{
    REAL(rename);
    UNLESS_FAILED(rename, -1);
    return real(from, to);
}
int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    REAL(renameat);
    UNLESS_FAILED(renameat, -1);
    return real(from_dir, from, to_dir, to);
}
int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    REAL(linkat);
    UNLESS_FAILED(linkat, -1);
    return real(from_dir, from, to_dir, to, flags);
}
int close(int fd) /* the handle is closed also where the call fails */
{
    REAL(close);
    int result = real(fd);
    UNLESS_FAILED(close, -1);
    return result;
}
int fsync(int fd)
{
    REAL(fsync);
    UNLESS_FAILED(fsync, -1);
    return real(fd);
}
int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir);
    UNLESS_FAILED(mkdir, -1);
    return real(path, mode);
}
int stat(const char *path, struct stat *out)
{
    REAL(stat);
    UNLESS_FAILED(stat, -1);
    return real(path, out);
}
int lstat(const char *path, struct stat *out)
{
    REAL(lstat);
    UNLESS_FAILED(lstat, -1);
    return real(path, out);
}
int fstat(int fd, struct stat *out)
{
    REAL(fstat);
    UNLESS_FAILED(fstat, -1);
    return real(fd, out);
}
ssize_t readlink(const char *path, char *to, size_t bytes)
{
    REAL(readlink);
    UNLESS_FAILED(readlink, -1);
    return real(path, to, bytes);
}
char *realpath(const char *path, char *to)
{
    REAL(realpath);
    UNLESS_FAILED(realpath, NULL);
    return real(path, to);
}
int fchmod(int fd, mode_t mode)
{
    REAL(fchmod);
    UNLESS_FAILED(fchmod, -1);
    return real(fd, mode);
}
int fstatat(int dir, const char *restrict path, struct stat *restrict out, int flags)
{
    REAL(fstatat);
    UNLESS_FAILED(fstatat, -1);
    return real(dir, path, out, flags);
}
int access(const char *path, int mode)
{
    REAL(access);
    UNLESS_FAILED(access, -1);
    return real(path, mode);
}
int faccessat(int dir, const char *path, int mode, int flags)
{
    REAL(faccessat);
    UNLESS_FAILED(faccessat, -1);
    return real(dir, path, mode, flags);
}
DIR *fdopendir(int fd)
{
    REAL(fdopendir);
    UNLESS_FAILED(fdopendir, NULL);
    return real(fd);
}
int unlinkat(int dir, const char *path, int flags)
{
    REAL(unlinkat);
    UNLESS_FAILED(unlinkat, -1);
    return real(dir, path, flags);
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*call)(void *), void *user)
{
    REAL(pthread_create);
    int error = FAILURE(pthread_create);
    return error ? error : real(thread, attributes, call, user);
}
int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    REAL(pthread_mutex_init);
    int error = FAILURE(pthread_mutex_init);
    return error ? error : real(mutex, attributes);
}
int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attributes)
{
    REAL(pthread_cond_init);
    int error = FAILURE(pthread_cond_init);
    return error ? error : real(cond, attributes);
}
#endif
