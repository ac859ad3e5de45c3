/* os_machine.c - the machine and the process: clocks, processors, memory limits, environment. */
#include "base/os.h"
#include "base/floats.h"
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/random.h>
#endif

/* ---- clocks ---- */
static WF__APART double to_seconds(struct timespec t) { return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }

double wf__now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    wf__floats floats = wf__floats_begin(); /* the sum is inexact, which may trap */
    double now = to_seconds(t);
    wf__floats_end(floats);
    return now;
}

int64_t wf__wall_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- small files of the system ---- */
const char *wf__system_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
    text[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
    return text;
}

/* ---- processors and memory ---- */
#if defined(__linux__)
/* The processors that the calling thread may use. The caller frees the set by CPU_FREE; NULL = unknown. */
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
        if (error != EINVAL) /* EINVAL = the machine has more than `cpus` processors */
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

/* The folder of this process in the unified cgroup tree; "" = none. */
static void cgroup_folder(char *out, int size)
{
    char line[PATH_MAX];
    const char *at = strstr(wf__system_text("/proc/self/cgroup", line, sizeof line), "0::/");
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

/* The least limit among this cgroup and its parents. `read_limit` returns a number > 0; 0 = no limit. */
static double cgroup_limit(const char *file, double (*read_limit)(const char *text))
{
    char folder[PATH_MAX], path[PATH_MAX + 64], line[128];
    double least = 0;
    cgroup_folder(folder, sizeof folder);
    while (strlen(folder) >= strlen("/sys/fs/cgroup")) {
        snprintf(path, sizeof path, "%s/%s", folder, file);
        double limit = read_limit(wf__system_text(path, line, sizeof line));
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

/* The limit of version 1 cgroups. Only the container's own limit counts, which is mounted as the root. */
static double old_cpu_limit(void)
{
    char line[128];
    double quota = number_limit(wf__system_text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", line, sizeof line));
    double period = number_limit(wf__system_text("/sys/fs/cgroup/cpu/cpu.cfs_period_us", line, sizeof line));
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

/* ---- the process ---- */
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
    const char *value = getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
#endif
    return value && *value ? value : NULL;
}

bool wf__getenv_number(const char *name, uint64_t most, uint64_t *number, const char **wrong)
{
    const char *text = wf__getenv(name), *at = text;
    uint64_t n = 0;
    while (at && *at >= '0' && *at <= '9' && n <= most / 10 && 10 * n <= most - (uint64_t)(*at - '0'))
        n = 10 * n + (uint64_t)(*at++ - '0');
    *wrong = at && !*at ? NULL : text;
    if (!text || *wrong)
        return false;
    *number = n;
    return true;
}

const char *wf__errno_text(int error, char *buffer, size_t size)
{
#if defined(__GLIBC__)
    return strerror_r(error, buffer, size);
#else
    return strerror_r(error, buffer, size) == 0 ? buffer : "unknown error";
#endif
}
