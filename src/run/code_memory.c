/* code_memory.c - arenas of executable memory, shared by all contexts of the process.
 *
 * The pages of an arena are mapped twice: code is written through one address and runs at the other. So new code takes
 * no call of the system, where making written pages executable takes ten microseconds, and three times that while
 * threads run on other processors, which are then interrupted.
 *
 * A piece of an arena is given out once: whoever remembers instructions by address (a processor's pipeline, an
 * emulator) never sees other ones there. An arena goes when it is used up and its last code is freed. The child of a
 * fork runs what is in its parent's arenas, but takes new memory from its own.
 *
 * Where the system allows no such pages, or another thread is taking some, code gets a mapping of its own.
 */
#include "run/code_memory.h"
#include "base/os.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* since Linux 6.3, which may refuse to run what is made without it */
#endif

enum { ARENA = 128 << 10, LARGE = ARENA / 4, LINE = 64 };

typedef struct wf__code_arena {
    unsigned char *write, *run;
    size_t top;        /* of what is given out; under the lock */
    int64_t process;   /* who may write */
    atomic_uint users; /* pieces in use; one more while it is the current one */
} arena;

static wf__mutex lock = WF__MUTEX_INIT;
static arena *current;  /* under the lock */
static bool impossible; /* the system lets nobody map pages twice; under the lock */

static void unmap(arena *a)
{
    if (a->run)
        munmap(a->run, ARENA);
    if (a->write)
        munmap(a->write, ARENA);
    wf__free(a);
}

static void let_go(arena *a)
{
    if (a && atomic_fetch_sub_explicit(&a->users, 1, memory_order_acq_rel) == 1)
        unmap(a);
}

/* -1: there is none. A limit on the size of files would end the program with a signal. */
static int anonymous_file(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < ARENA)
        return -1;
    int fd = memfd_create("weft code", MFD_CLOEXEC | MFD_EXEC);
    if (fd < 0)
        fd = memfd_create("weft code", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, ARENA)) {
        close(fd);
        return -1;
    }
    return fd;
}

static unsigned char *map(int fd, int protection)
{
    void *at = mmap(NULL, ARENA, protection, MAP_SHARED | MAP_POPULATE, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

static arena *new_arena(void)
{
    arena *a = wf__alloc0(sizeof *a);
    int fd = a ? anonymous_file() : -1;
    if (fd >= 0) {
        a->write = map(fd, PROT_READ | PROT_WRITE);
        a->run = map(fd, PROT_READ | PROT_EXEC);
        close(fd);
    }
    if (a && a->write && a->run) {
        a->process = wf__process_id();
        atomic_init(&a->users, 1);
        return a;
    }
    if (a)
        unmap(a);
    return NULL;
}

/* Under the lock. */
static bool take(wf__code_memory *m, size_t bytes, size_t align)
{
    arena *a = current;
    size_t at = a ? (a->top + align - 1) & ~(align - 1) : 0;
    if (!a || a->process != wf__process_id() || at > ARENA - bytes) {
        let_go(a);
        current = a = new_arena();
        impossible = !a;
        at = 0;
    }
    if (!a)
        return false;
    a->top = at + bytes;
    atomic_fetch_add_explicit(&a->users, 1, memory_order_relaxed);
    *m = (wf__code_memory){ a->write + at, a->run + at, bytes, a };
    return true;
}

static bool own_mapping(wf__code_memory *m, size_t bytes)
{
    size_t page = wf__page_size();
    if (!wf__add_size(bytes, page - 1, &bytes))
        return false;
    bytes &= ~(page - 1);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    *m = (wf__code_memory){ at, at, bytes, NULL };
    return true;
}

bool wf__code_memory_new(wf__code_memory *m, size_t bytes, size_t align)
{
    bool taken = false;
    /* Nobody waits: the thread that holds the lock may be one that a fork left behind. */
    if (bytes <= LARGE && wf__mutex_try(&lock)) {
        taken = !impossible && take(m, (bytes + LINE - 1) & ~(size_t)(LINE - 1), align < LINE ? LINE : align);
        wf__mutex_unlock(&lock);
    }
    return taken || own_mapping(m, bytes);
}

bool wf__code_memory_finish(wf__code_memory *m)
{
    if (!m->arena && mprotect(m->run, m->bytes, PROT_READ | PROT_EXEC))
        return false;
    __builtin___clear_cache((char *)m->run, (char *)m->run + m->bytes);
    m->write = NULL;
    return true;
}

void wf__code_memory_free(wf__code_memory *m)
{
    if (m->arena)
        let_go(m->arena);
    else if (m->run)
        munmap(m->run, m->bytes);
    *m = (wf__code_memory){ 0 };
}
