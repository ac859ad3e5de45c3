/* os_process.c - machines and processes by name: whether another process has ended. */
#include "base/os.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void wf__host_name(char *out, size_t cap)
{
    char name[256]; /* gethostname does not cut a name that is too long, but fails */
    if (gethostname(name, sizeof name) != 0)
        name[0] = 0;
    name[sizeof name - 1] = 0;
    snprintf(out, cap, "%s", name);
}

uint64_t wf__host_id(void)
{
    char name[256], start[64], processes[64];
    wf__host_name(name, sizeof name);
    wf__system_text("/proc/sys/kernel/random/boot_id", start, sizeof start);
    ssize_t n = readlink("/proc/self/ns/pid", processes, sizeof processes - 1);
    processes[n > 0 ? n : 0] = 0;
    uint64_t id = wf__hash64(name, strlen(name), 1);
    id = wf__hash64(start, strlen(start), id);
    return wf__hash64(processes, strlen(processes), id);
}

/* What /proc says about a process. */
typedef struct process_facts {
    char state;
    unsigned long long threads, start;
} process_facts;

/* False = unknown. */
static bool look_up(int64_t pid, process_facts *out)
{
    enum { STATE = 3, THREADS = 20, START = 22 }; /* fields of proc(5) */
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    const char *at =
        strrchr(wf__system_text(path, line, sizeof line), ')'); /* the name before it may contain anything */
    if (!at || at[1] != ' ' || !at[2])
        return false;
    at += 2;
    out->state = *at;
    for (int field = STATE; field < START; field++) {
        at = strchr(at, ' ');
        if (!at)
            return false;
        at++;
        if (field + 1 == THREADS)
            out->threads = strtoull(at, NULL, 10);
    }
    out->start = strtoull(at, NULL, 10);
    return true;
}

uint64_t wf__process_start(int64_t pid)
{
    process_facts facts;
    return look_up(pid, &facts) ? facts.start : 0;
}

bool wf__process_alive(int64_t pid, uint64_t start)
{
    process_facts facts;
    if (pid <= 0 || pid > INT_MAX || (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
        return false;
    if (!look_up(pid, &facts))
        return true;
    /* The state is that of the first thread, which may end before the others. */
    bool ended = (facts.state == 'Z' || facts.state == 'X') && facts.threads <= 1;
    return !ended && (start == 0 || start == facts.start);
}
