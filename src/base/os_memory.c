/* os_memory.c - pages of memory from the system. */
#include "base/os.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

size_t wf__page_size(void)
{
    long n = sysconf(_SC_PAGESIZE);
    return n > 0 ? (size_t)n : 4096;
}

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
    /* The aligned middle stays. */
    size_t head = (size_t)(-(uintptr_t)p & (WF__HUGE_PAGE - 1));
    size_t tail = total & ~(page - 1);
    tail = tail - head - rounded;
    if (head)
        munmap(p, head);
    if (tail)
        munmap(p + head + rounded, tail);
#if defined(MADV_HUGEPAGE)
    madvise(p + head, rounded, MADV_HUGEPAGE); /* the system may refuse */
#endif
    return p + head;
}

/* Opens a new file without a name. */
static int open_nameless(const char *folder)
{
#ifdef O_TMPFILE
    int fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
#endif
    char name[PATH_MAX];
    int length = snprintf(name, sizeof name, "%s/" WF__TEMP_PREFIX "XXXXXX", folder);
    if (length < 0 || (size_t)length >= sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int named = mkstemp(name);
    if (named >= 0)
        unlink(name);
    return named;
}

void *wf__pages_in_file(const char *folder, size_t bytes)
{
    int fd = open_nameless(folder);
    if (fd < 0)
        return NULL;
    void *p = MAP_FAILED;
    int code = bytes > (size_t)INT64_MAX ? EFBIG : posix_fallocate(fd, 0, (off_t)bytes);
    if (!code && (p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
        code = errno;
    close(fd);
    errno = code;
    return code ? NULL : p;
}

static size_t whole_pages(size_t bytes) { return (bytes + wf__page_size() - 1) & ~(wf__page_size() - 1); }

void wf__pages_free(void *p, size_t bytes)
{
    if (p)
        munmap(p, whole_pages(bytes));
}

/* ---- between pages without access ---- */

void *wf__fenced_alloc(size_t bytes, bool behind)
{
    const size_t page = wf__page_size(), body = whole_pages(bytes);
    char *p = mmap(NULL, body + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (mprotect(p + page, body, PROT_READ | PROT_WRITE)) {
        munmap(p, body + 2 * page);
        return NULL;
    }
    return p + page + (behind ? (body - bytes) & ~(size_t)7 : 0);
}

void wf__fenced_free(void *p, size_t bytes)
{
    const size_t page = wf__page_size();
    char *first = (char *)p - ((uintptr_t)p & (page - 1));
    munmap(first - page, whole_pages(bytes) + 2 * page);
}
