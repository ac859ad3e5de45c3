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

/* Defines a function that fails or calls that of libc. */
#define FAILING_CALL(type, name, failed, parameters, arguments) \
    type name parameters                                        \
    {                                                           \
        REAL(name);                                             \
        UNLESS_FAILED(name, failed);                            \
        return real arguments;                                  \
    }
/* clang-format off */
FAILING_CALL(void *, mmap, MAP_FAILED, (void *at, size_t bytes, int protection, int flags, int fd, off_t offset),
             (at, bytes, protection, flags, fd, offset))
FAILING_CALL(int, mprotect, -1, (void *at, size_t bytes, int protection), (at, bytes, protection))
FAILING_CALL(int, ftruncate, -1, (int fd, off_t bytes), (fd, bytes))
FAILING_CALL(int, memfd_create, -1, (const char *name, unsigned flags), (name, flags))
FAILING_CALL(int, rename, -1, (const char *from, const char *to), (from, to))
FAILING_CALL(int, renameat, -1, (int from_dir, const char *from, int to_dir, const char *to),
             (from_dir, from, to_dir, to))
FAILING_CALL(int, linkat, -1, (int from_dir, const char *from, int to_dir, const char *to, int flags),
             (from_dir, from, to_dir, to, flags))
FAILING_CALL(int, fsync, -1, (int fd), (fd))
FAILING_CALL(int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
FAILING_CALL(int, stat, -1, (const char *path, struct stat *out), (path, out))
FAILING_CALL(int, lstat, -1, (const char *path, struct stat *out), (path, out))
FAILING_CALL(int, fstat, -1, (int fd, struct stat *out), (fd, out))
FAILING_CALL(ssize_t, readlink, -1, (const char *path, char *to, size_t bytes), (path, to, bytes))
FAILING_CALL(char *, realpath, NULL, (const char *path, char *to), (path, to))
FAILING_CALL(int, fchmod, -1, (int fd, mode_t mode), (fd, mode))
FAILING_CALL(int, fstatat, -1, (int dir, const char *restrict path, struct stat *restrict out, int flags),
             (dir, path, out, flags))
FAILING_CALL(int, access, -1, (const char *path, int mode), (path, mode))
FAILING_CALL(int, faccessat, -1, (int dir, const char *path, int mode, int flags), (dir, path, mode, flags))
FAILING_CALL(DIR *, fdopendir, NULL, (int fd), (fd))
FAILING_CALL(int, unlinkat, -1, (int dir, const char *path, int flags), (dir, path, flags))
/* clang-format on */

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
int close(int fd) /* the handle is closed also where the call fails */
{
    REAL(close);
    int result = real(fd);
    UNLESS_FAILED(close, -1);
    return result;
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
