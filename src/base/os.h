/* os.h - the only door to the operating system: threads, clock, dynamic libraries, pages, folders and files.
 *
 * Thin on purpose: Linux first, other POSIX systems where a plain equivalent exists. Nothing here keeps state.
 * Functions that can fail return false (or NULL, or -1) with errno set where libc set it; nothing prints or aborts.
 */
#ifndef WEFT_OS_H
#define WEFT_OS_H
#include "base/base.h"
#include <fcntl.h>
#include <pthread.h>

/* ---- threads: the names of pthread, shortened; errors of lock and unlock are our own bugs ---- */
typedef pthread_t wf__thread;
typedef pthread_mutex_t wf__mutex;
typedef pthread_cond_t wf__cond;
#define WF__MUTEX_INIT PTHREAD_MUTEX_INITIALIZER

bool wf__mutex_init(wf__mutex *m);
void wf__mutex_free(wf__mutex *m);
void wf__mutex_lock(wf__mutex *m);
bool wf__mutex_try(wf__mutex *m); /* true: now locked */
void wf__mutex_unlock(wf__mutex *m);
bool wf__cond_init(wf__cond *c);
void wf__cond_free(wf__cond *c);
void wf__cond_wait(wf__cond *c, wf__mutex *m);
void wf__cond_signal(wf__cond *c);
void wf__cond_broadcast(wf__cond *c);

/* Starts a thread that receives no signals (they stay with the threads of the program). */
bool wf__thread_start(wf__thread *out, void *(*fn)(void *), void *user);
void wf__thread_name(const char *name); /* of the calling thread, for debuggers; at most 15 characters */
void wf__thread_join(wf__thread t);
static inline wf__thread wf__thread_this(void) { return pthread_self(); }
static inline bool wf__thread_is_this(wf__thread t) { return pthread_equal(t, pthread_self()) != 0; }
void wf__yield(void);

/* Tells the core that this is a spinning loop. */
static inline void wf__pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* Asks for a cache line that will be written. */
static inline void wf__prefetch_write(void *p)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(char *)p)); /* the builtin would mean a read, but for -mprfchw */
#else
    __builtin_prefetch(p, 1);
#endif
}

/* ---- machine ---- */
double wf__now(void);         /* monotonic seconds */
int64_t wf__wall_clock(void); /* nanoseconds since 1970, as files are stamped */
int wf__cpu_count(void);      /* cores this process may use: affinity and cgroup quota respected; >= 1 */
int wf__this_cpu(void);       /* that the calling thread is on; -1: unknown */
void wf__leave_cpu(int cpu);  /* moves the calling thread to another one that it may use, if there is one */
uint64_t wf__ram_bytes(void); /* memory this process may use: installed, or the cgroup's limit if that is less */
size_t wf__page_size(void);
int64_t wf__process_id(void);
uint64_t wf__random64(void);                                      /* for file names, not for secrets */
const char *wf__errno_text(int error, char *buffer, size_t size); /* what strerror says, from any thread */
const char *wf__getenv(const char *name); /* NULL if unset or empty, or in a set-user-id program */

/* ---- pages ---- */
#define WF__HUGE_PAGE ((size_t)2 << 20)
/* Zeroed pages straight from the system, aligned to WF__HUGE_PAGE, huge pages asked for. `bytes` is any size > 0 and
 * the same for the release. NULL when there are none. */
void *wf__pages_alloc(size_t bytes);
void wf__pages_free(void *p, size_t bytes);

/* ---- dynamic libraries: NULL and a message appended to `error` (which may be NULL) on failure ---- */
void *wf__dl_open(const char *name, wf__str *error); /* NULL name: this program itself */
void *wf__dl_symbol(void *library, const char *name, wf__str *error);
void wf__dl_close(void *library);
/* Appends the folder, with a last '/', of the library or program that this code is in. false: unknown, or no memory. */
bool wf__dl_own_folder(wf__str *out);

/* ---- folders and files: `dir` is a folder handle, or WF__CWD for names relative to the working folder ---- */
#define WF__CWD AT_FDCWD

/* Creates a folder and its parents with mode 0700; existing ones are fine. */
bool wf__make_dirs(const char *path);
int wf__dir_open(const char *path); /* -1: errno says why */
void wf__fd_close(int fd);

/* One entry of a folder. */
typedef struct wf__dir_entry {
    const char *name; /* borrowed during the call */
    uint64_t size;
    int64_t mtime; /* on wf__wall_clock */
    bool regular;  /* an ordinary file (links are not followed) */
    bool own;      /* it belongs to this user, and nobody else may write it */
} wf__dir_entry;
/* Calls `each` for every entry but "." and ".."; stops early when it returns false. */
bool wf__dir_list(int dir, bool (*each)(void *user, const wf__dir_entry *entry), void *user);
bool wf__dir_writable(int dir);  /* may this user make files in it? If not, errno says why */
bool wf__owns(const char *path); /* does this path (links followed) belong to this user? */
bool wf__unlink(int dir, const char *name);

/* Opens a file for reading only if it is an ordinary file of this user that nobody else may write; never follows a link
 * in the last part of the name, never blocks. -1 otherwise. `info->name` is not set. */
int wf__open_own(int dir, const char *name, wf__dir_entry *info);
/* Reads exactly n bytes from the current place. */
bool wf__read_exact(int fd, void *at, size_t n);
bool wf__touch_fd(int fd); /* modified now */

typedef struct wf__piece {
    const void *at;
    size_t n;
} wf__piece;
/* Writes the pieces, one after the other, as a new file `name` (mode 0600) that appears whole or not at all: a
 * temporary file in the same folder, then a rename over whatever `name` was. `durable`: synced to disk first. No
 * signal is raised at a file size limit. */
bool wf__publish(int dir, const char *name, const wf__piece *pieces, int count, bool durable);
#define WF__TEMP_PREFIX ".tmp-" /* of temporary files that a killed process may leave */
#endif
