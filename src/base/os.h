/* os.h - the operating system: threads, machine, processes, pages, dynamic libraries, folders and files.
 *
 * Linux comes first; other POSIX systems get a plain equivalent where there is one. The functions keep no state. Those
 * that can fail return false, NULL or -1, with errno as libc set it. None prints or aborts.
 */
#ifndef WEFT_OS_H
#define WEFT_OS_H
#include "base/base.h"
#include <fcntl.h>
#include <pthread.h>

/* ---- threads (os_thread.c): shorter names of pthread. Lock and unlock fail only by a bug of the caller ---- */
typedef pthread_t wf__thread;
typedef pthread_mutex_t wf__mutex;
typedef pthread_cond_t wf__cond;
#define WF__MUTEX_INIT PTHREAD_MUTEX_INITIALIZER

bool wf__mutex_init(wf__mutex *m);
void wf__mutex_free(wf__mutex *m);
void wf__mutex_lock(wf__mutex *m);
bool wf__mutex_try(wf__mutex *m); /* false = another thread holds the lock */
void wf__mutex_unlock(wf__mutex *m);
bool wf__cond_init(wf__cond *c);
void wf__cond_free(wf__cond *c);
void wf__cond_wait(wf__cond *c, wf__mutex *m);
/* Waits at most about that long, and at most a month, whatever becomes of the clock of the day. */
void wf__cond_wait_for(wf__cond *c, wf__mutex *m, double seconds);
void wf__cond_signal(wf__cond *c);
void wf__cond_broadcast(wf__cond *c);

/* Handlers of forks, which a process registers once. WF__FORK_HANDLERS initialises a static one. */
typedef struct wf__fork_handlers {
    void (*before)(void), (*in_parent)(void), (*in_child)(void);
    wf__mutex lock; /* guards is_registered */
    bool is_registered;
} wf__fork_handlers;
#define WF__FORK_HANDLERS(before, in_parent, in_child)     \
    {                                                      \
        before, in_parent, in_child, WF__MUTEX_INIT, false \
    }
/* Registers the handlers, unless an earlier call has. Of several registrations the latest runs first before a fork. false =
 * the system cannot do this, or out of memory. */
bool wf__handle_forks(wf__fork_handlers *handlers);

/* Starts a thread that receives no signals, in the default floating-point environment (floats.h). */
bool wf__thread_start(wf__thread *out, void *(*fn)(void *), void *user);
void wf__thread_name(const char *name); /* names the calling thread, for debuggers; at most 15 characters */
void wf__thread_join(wf__thread t);
static inline wf__thread wf__thread_this(void) { return pthread_self(); }
static inline bool wf__thread_is_this(wf__thread t) { return pthread_equal(t, pthread_self()) != 0; }
void wf__yield(void);
void wf__sleep(double seconds); /* a signal that is handled ends it early */

/* A hint to the core that the caller spins. */
static inline void wf__pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* Prefetches a cache line that the caller will write. */
static inline void wf__prefetch_write(void *p)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(char *)p)); /* without -mprfchw, the builtin prefetches for a read */
#else
    __builtin_prefetch(p, 1);
#endif
}

/* ---- the machine and the process (os_machine.c) ---- */
double wf__now(void);         /* monotonic seconds */
int64_t wf__wall_clock(void); /* nanoseconds since 1970, the clock of file times */
int wf__cpu_count(void);      /* cores this process may use, by affinity and cgroup quota; >= 1 */
int wf__this_cpu(void);       /* the core of the calling thread; -1 = unknown */
void wf__leave_cpu(int cpu);  /* moves the calling thread to another core that it may use, if there is one */
uint64_t wf__ram_bytes(void); /* memory this process may use: the lesser of installed memory and cgroup limit */
int64_t wf__process_id(void);
uint64_t wf__random64(void);                                      /* for file names, not for secrets */
const char *wf__errno_text(int error, char *buffer, size_t size); /* strerror for any thread */
/* True if the variable is a decimal number up to `most`, which *number becomes. Else *wrong is its text; NULL = unset. */
bool wf__getenv_number(const char *name, uint64_t most, uint64_t *number, const char **wrong);
const char *wf__getenv(const char *name); /* NULL = unset, empty, or a set-user-id program */
/* Reads the beginning of a small file of the system, such as one of /proc. Returns `text`; "" = no such file. */
const char *wf__system_text(const char *path, char *text, size_t size);

/* ---- machines and processes by name (os_process.c) ---- */
void wf__host_name(char *out, size_t cap); /* cut to cap - 1 bytes; "" = unknown */
/* A number for the table of processes in which this process has its id: a hash of the host's name, of its last start and
 * of the container. */
uint64_t wf__host_id(void);
uint64_t wf__process_start(int64_t pid); /* when a process of this machine began, in some unit; 0 = unknown */
/* False if the process `pid` that began at `start` (0 = unknown) has ended. */
bool wf__process_alive(int64_t pid, uint64_t start);

/* ---- pages (os_memory.c) ---- */
#define WF__HUGE_PAGE ((size_t)2 << 20)
size_t wf__page_size(void);
/* Zeroed pages from the system, aligned to WF__HUGE_PAGE, preferably huge. `bytes` > 0 is the same for the release.
 * NULL = out of memory. */
void *wf__pages_alloc(size_t bytes);
/* Zeroed pages that are a file without a name in the folder, with its blocks on the disk. NULL = failure, in errno. */
void *wf__pages_in_file(const char *folder, size_t bytes);
void wf__pages_free(void *p, size_t bytes); /* of either; NULL: no-op */
/* Zeroed memory between two pages that no access may touch. It begins where the first of them ends or, if `behind`, ends
 * where the second begins, up to its alignment of 8 bytes. `bytes` > 0 is the same for the release. NULL = out of memory. */
void *wf__fenced_alloc(size_t bytes, bool behind);
void wf__fenced_free(void *p, size_t bytes);

/* ---- dynamic libraries (os_library.c): a failure returns NULL and appends to `error`, which may be NULL ---- */
void *wf__dl_open(const char *name, wf__str *error); /* name NULL = the program itself */
/* Likewise, for a library whose plugins use its symbols, which become visible to all. */
void *wf__dl_open_global(const char *name, wf__str *error);
bool wf__dl_is_open(const char *name); /* a library of this name is in the process */
/* Opens a file that Weft installs: beside this code, in the folder of libraries beside an installed tool's, or where the
 * system looks. */
void *wf__dl_open_own(const char *name, bool global, wf__str *error);
void *wf__dl_symbol(void *library, const char *name, wf__str *error);
void wf__dl_close(void *library);
/* Appends the folder of the library or program that contains this code, with a final '/'. Returns false if the folder
 * is unknown or memory ran out. */
bool wf__dl_own_folder(wf__str *out);

/* ---- folders and files (os_file.c): `dir` is a folder handle, or WF__CWD for the working folder ---- */
#define WF__CWD AT_FDCWD

/* Creates a folder and its parents with mode 0700, as far as they are missing. */
bool wf__make_dirs(const char *path);
/* True if wf__make_dirs is likely to succeed, by the permissions of the nearest folder that exists, whose name goes to
 * `nearest`. Else the reason is in errno. */
bool wf__dirs_possible(const char *path, char *nearest, size_t cap);
int wf__dir_open(const char *path); /* -1 = failure, in errno */
void wf__fd_close(int fd);

/* One entry of a folder. */
typedef struct wf__dir_entry {
    const char *name; /* valid during the call */
    uint64_t size;
    int64_t mtime; /* on wf__wall_clock */
    bool regular;  /* an ordinary file; links are not followed */
    bool own;      /* a file of this user that no other user may write */
} wf__dir_entry;
/* Calls `each` for every entry but "." and "..", until `each` returns false. */
bool wf__dir_list(int dir, bool (*each)(void *user, const wf__dir_entry *entry), void *user);
bool wf__dir_writable(int dir);  /* true if this user may create files in the folder; else the reason is in errno */
bool wf__owns(const char *path); /* true if the path, links followed, belongs to this user */
bool wf__unlink(int dir, const char *name);

/* Opens an ordinary file of this user, that no other user may write, for reading. Follows no link in the last part of
 * the name, and never blocks. -1 = failure. Leaves `info->name` unset. */
int wf__open_own(int dir, const char *name, wf__dir_entry *info);
/* Reads exactly n bytes from the current offset. */
bool wf__read_exact(int fd, void *at, size_t n);
bool wf__touch_fd(int fd); /* sets the modification time to now */

/* Creates a folder with the permissions that the user's files have; true if it is there already. */
bool wf__make_folder(const char *path);
/* The absolute path without links of a file or folder that exists; the caller frees it by wf__free. NULL = failure. */
char *wf__real_path(const char *path);
/* What identifies a file and its contents. */
typedef struct wf__file_info {
    uint64_t device, number, size;
    int64_t mtime; /* on the clock of the file system, in nanoseconds since 1970 */
} wf__file_info;
bool wf__path_info(int dir, const char *path, wf__file_info *out); /* links are followed */
bool wf__fd_info(int fd, wf__file_info *out);
/* Opens an ordinary file, of any user, for reading. Follows no link in the last part of the name. -1 = failure. */
int wf__open_file(int dir, const char *name);
int64_t wf__read_at(int fd, int64_t offset, void *to, size_t n); /* fewer bytes than n at the end; -1 = failure */
/* Creates a file that this process appends to; fails if the name exists. -1 = failure. */
int wf__append_create(int dir, const char *name);
/* Appends n bytes, or leaves the file as it was. Raises no signal at a file size limit. */
bool wf__append_fd(int fd, const void *at, size_t n);
bool wf__sync_fd(int fd);                                      /* flushes a file to the disk, or to its server */
bool wf__link(int dir, const char *name, const char *another); /* a second name; fails if it exists */

typedef struct wf__piece {
    const void *at;
    size_t n;
} wf__piece;
/* Writes the pieces in their order as the file `name`, which appears whole or not at all: a temporary file in the same
 * folder is renamed over `name`. `mode`: its permissions, less those that the user's mask takes away. `durable`: syncs
 * the file to disk before the rename. Raises no signal at a file size limit. */
bool wf__publish(int dir, const char *name, const wf__piece *pieces, int count, unsigned mode, bool durable);
#define WF__TEMP_PREFIX ".tmp-" /* prefix of temporary files, which a killed process may leave */
#endif
