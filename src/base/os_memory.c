/* os_memory.c - pages of memory from the system. */
#include "base/os.h"
#include <errno.h>
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

void wf__pages_free(void *p, size_t bytes)
{
    size_t page = wf__page_size();
    if (p)
        munmap(p, (bytes + page - 1) & ~(page - 1));
}
