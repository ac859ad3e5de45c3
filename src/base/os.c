/* os.c - the only door to the operating system: threads, clock, dynamic libraries, pages, folders and files. */
#include "base/os.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/random.h>
#endif

/* ---- threads ---- */

bool wf__mutex_init(wf__mutex *m) { return pthread_mutex_init(m, NULL) == 0; }

void wf__mutex_free(wf__mutex *m) { pthread_mutex_destroy(m); }

void wf__mutex_lock(wf__mutex *m) { pthread_mutex_lock(m); }

bool wf__mutex_try(wf__mutex *m) { return pthread_mutex_trylock(m) == 0; }

void wf__mutex_unlock(wf__mutex *m) { pthread_mutex_unlock(m); }

bool wf__cond_init(wf__cond *c) { return pthread_cond_init(c, NULL) == 0; }

void wf__cond_free(wf__cond *c) { pthread_cond_destroy(c); }

void wf__cond_wait(wf__cond *c, wf__mutex *m) { pthread_cond_wait(c, m); }

void wf__cond_signal(wf__cond *c) { pthread_cond_signal(c); }
void wf__cond_broadcast(wf__cond *c) { pthread_cond_broadcast(c); }

bool wf__thread_start(wf__thread *out, void *(*fn)(void *), void *user)
{
    if (wf__alloc_fails()) {
        errno = EAGAIN;
        return false;
    }
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    wf__thread t;
    int error = pthread_create(&t, NULL, fn, user);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error) {
        errno = error;
        return false;
    }
    *out = t;
    return true;
}

void wf__thread_name(const char *name)
{
#if defined(__linux__)
    pthread_setname_np(pthread_self(), name);
#else
    pthread_setname_np(name);
#endif
}

void wf__thread_join(wf__thread t) { pthread_join(t, NULL); }

void wf__yield(void) { sched_yield(); }

/* ---- machine ---- */

double wf__now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int64_t wf__wall_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

const char *wf__errno_text(int error, char *buffer, size_t size)
{
#if defined(__GLIBC__)
    return strerror_r(error, buffer, size);
#else
    return strerror_r(error, buffer, size) == 0 ? buffer : "unknown error";
#endif
}

#if defined(__linux__)
/* The processors that the calling thread may use, to be freed by CPU_FREE; NULL: unknown. */
static cpu_set_t *affinity(size_t *bytes)
{
    for (int cpus = 1024; cpus <= 1 << 16; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        if (!set)
            return NULL;
        *bytes = CPU_ALLOC_SIZE((size_t)cpus);
        if (sched_getaffinity(0, *bytes, set) == 0)
            return set;
        int error = errno;
        CPU_FREE(set);
        if (error != EINVAL) /* EINVAL: the machine has more than `cpus` */
            return NULL;
    }
    return NULL;
}

static int affinity_count(void)
{
    size_t bytes;
    cpu_set_t *set = affinity(&bytes);
    int count = set ? CPU_COUNT_S(bytes, set) : 0;
    if (set)
        CPU_FREE(set);
    return count;
}

int wf__this_cpu(void) { return sched_getcpu(); }

void wf__leave_cpu(int cpu)
{
    size_t bytes;
    cpu_set_t *set = affinity(&bytes);
    if (set && cpu >= 0 && CPU_ISSET_S((size_t)cpu, bytes, set) && CPU_COUNT_S(bytes, set) > 1) {
        CPU_CLR_S((size_t)cpu, bytes, set);
        bool left = sched_setaffinity(0, bytes, set) == 0;
        CPU_SET_S((size_t)cpu, bytes, set);
        if (left)
            sched_setaffinity(0, bytes, set);
    }
    if (set)
        CPU_FREE(set);
}

/* Reads one line of a small system file; "" if there is none. */
static const char *system_line(const char *path, char *line, int size)
{
    line[0] = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return line;
    ssize_t n = read(fd, line, (size_t)size - 1);
    line[n > 0 ? n : 0] = 0;
    close(fd);
    return line;
}

/* Folder of this process in the unified cgroup tree; "" if there is none. */
static void cgroup_folder(char *out, int size)
{
    char line[PATH_MAX];
    const char *at = strstr(system_line("/proc/self/cgroup", line, sizeof line), "0::/");
    out[0] = 0;
    if (!at || (at != line && at[-1] != '\n'))
        return;
    at += 3;
    int n = snprintf(out, (size_t)size, "/sys/fs/cgroup%.*s", (int)strcspn(at, "\n"), at);
    if (n < 0 || n >= size)
        out[0] = 0;
    else if (out[n - 1] == '/') /* the root */
        out[n - 1] = 0;
}

/* The least of a limit over this cgroup and its parents. `read_limit` returns a number > 0, or 0 for no limit. */
static double cgroup_limit(const char *file, double (*read_limit)(const char *text))
{
    char folder[PATH_MAX], path[PATH_MAX + 64], line[128];
    double least = 0;
    cgroup_folder(folder, sizeof folder);
    while (strlen(folder) >= strlen("/sys/fs/cgroup")) {
        snprintf(path, sizeof path, "%s/%s", folder, file);
        double limit = read_limit(system_line(path, line, sizeof line));
        if (limit > 0 && (least <= 0 || limit < least))
            least = limit;
        *strrchr(folder, '/') = 0;
    }
    return least;
}

static double cpu_limit(const char *text) /* "quota period" or "max period" */
{
    double quota, period;
    return sscanf(text, "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0 ? quota / period : 0;
}

static double number_limit(const char *text) /* a number or "max" */
{
    double bytes;
    return sscanf(text, "%lf", &bytes) == 1 && bytes > 0 ? bytes : 0;
}

/* Of the older cgroups only the container's own: there it is mounted as the root. */
static double old_cpu_limit(void)
{
    char line[128];
    double quota = number_limit(system_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", line, sizeof line));
    double period = number_limit(system_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us", line, sizeof line));
    return quota > 0 && period > 0 ? quota / period : 0;
}
#else
int wf__this_cpu(void) { return -1; }
void wf__leave_cpu(int cpu) { WF__UNUSED(cpu); }
#endif

int wf__cpu_count(void)
{
    long count = 0;
#if defined(__linux__)
    count = affinity_count();
#endif
    if (count < 1)
        count = sysconf(_SC_NPROCESSORS_ONLN);
#if defined(__linux__)
    double quota = cgroup_limit("cpu.max", cpu_limit);
    if (quota <= 0)
        quota = old_cpu_limit();
    if (quota > 0 && quota < (double)count)
        count = quota > 1 ? (long)(quota + 0.99) : 1;
#endif
    return count < 1 ? 1 : count > INT_MAX ? INT_MAX : (int)count;
}

uint64_t wf__ram_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    uint64_t bytes = pages > 0 ? (uint64_t)pages * wf__page_size() : (uint64_t)1 << 30;
#if defined(__linux__)
    double limit = cgroup_limit("memory.max", number_limit);
    if (limit > 0 && limit < (double)bytes)
        bytes = (uint64_t)limit;
#endif
    return bytes;
}

size_t wf__page_size(void)
{
    long n = sysconf(_SC_PAGESIZE);
    return n > 0 ? (size_t)n : 4096;
}

int64_t wf__process_id(void) { return (int64_t)getpid(); }

uint64_t wf__random64(void)
{
    uint64_t r = 0;
#if defined(__linux__)
    if (getrandom(&r, sizeof r, GRND_NONBLOCK) == (ssize_t)sizeof r)
        return r;
#endif
    static _Thread_local unsigned count;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t mix[4] = { (uint64_t)t.tv_nsec, (uint64_t)t.tv_sec, (uint64_t)getpid(), (uint64_t)(uintptr_t)&count };
    return wf__hash64(mix, sizeof mix, r + ++count);
}

const char *wf__getenv(const char *name)
{
#if defined(__GLIBC__)
    const char *value = secure_getenv(name);
#else
    const char *value = getuid() == geteuid() ? getenv(name) : NULL;
#endif
    return value && *value ? value : NULL;
}

/* ---- pages ---- */

void *wf__pages_alloc(size_t bytes)
{
    size_t page = wf__page_size(), rounded, total;
    if (!wf__add_size(bytes, page - 1, &rounded) || !wf__add_size(rounded, WF__HUGE_PAGE, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    rounded &= ~(page - 1);
    char *p = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    /* Keep the aligned middle. */
    size_t head = (size_t)(-(uintptr_t)p & (WF__HUGE_PAGE - 1));
    size_t tail = total & ~(page - 1);
    tail = tail - head - rounded;
    if (head)
        munmap(p, head);
    if (tail)
        munmap(p + head + rounded, tail);
#if defined(MADV_HUGEPAGE)
    madvise(p + head, rounded, MADV_HUGEPAGE); /* advice: the kernel may know better */
#endif
    return p + head;
}

void wf__pages_free(void *p, size_t bytes)
{
    size_t page = wf__page_size();
    if (p)
        munmap(p, (bytes + page - 1) & ~(page - 1));
}

/* ---- dynamic libraries ---- */

static void add_dl_error(wf__str *error)
{
    const char *why = dlerror();
    if (error)
        wf__str_add(error, why ? why : "unknown error of the dynamic linker");
}

void *wf__dl_open(const char *name, wf__str *error)
{
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        add_dl_error(error);
    return library;
}

void *wf__dl_symbol(void *library, const char *name, wf__str *error)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        add_dl_error(error);
    return symbol;
}

void wf__dl_close(void *library)
{
    if (library)
        dlclose(library);
}

bool wf__dl_own_folder(wf__str *out)
{
    static const char here;
    Dl_info info = { 0 };
    char path[PATH_MAX] = "";
    if (dladdr(&here, &info) && info.dli_fname && *info.dli_fname == '/')
        snprintf(path, sizeof path, "%s", info.dli_fname);
    else { /* of the program itself, dladdr may give what its caller called it */
        ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
        path[n > 0 ? n : 0] = 0;
    }
    char *last = strrchr(path, '/');
    if (!last)
        return false;
    last[1] = 0;
    wf__str_add(out, path);
    return !out->failed;
}

/* ---- folders and files ---- */

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
                return false; /* what cannot be made may exist all the same: the last mkdir tells */
            part[i] = '/';
        }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
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
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* a place of its own to read from */
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
            continue; /* gone in between */
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

int wf__open_own(int dir, const char *name, wf__dir_entry *info)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    struct stat s;
    if (fstat(fd, &s) == 0) {
        wf__dir_entry entry = describe(&s);
        if (entry.regular && entry.own) {
            *info = entry;
            return fd;
        }
    }
    close(fd);
    errno = EPERM;
    return -1;
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

/* A write beyond the file size limit raises SIGXFSZ, which would end the program: hold it back and take it away. */
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

bool wf__publish(int dir, const char *name, const wf__piece *pieces, int count, bool durable)
{
    char temp[64];
    snprintf(temp, sizeof temp, WF__TEMP_PREFIX "%lld-%016llx", (long long)getpid(),
             (unsigned long long)wf__random64());
    int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool ok = write_pieces(fd, pieces, count) && (!durable || fsync(fd) == 0);
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
