/* code_memory.c - arenas of executable memory, shared by all contexts of the process.
 *
 * The pages of an arena are mapped twice: code is written through one address and runs at the other. So new code takes
 * no call of the system, where making written pages executable takes ten microseconds, and three times that while
 * threads run on other processors, which are then interrupted.
 *
 * A piece of an arena is given out once: whoever remembers instructions by address (a processor's pipeline, an
 * emulator) never sees other ones there. When an arena is used up, its pages go one by one with their last code, and it
 * goes with the last of all. The child of a fork runs what is in its parent's arenas, but takes new memory from its own.
 *
 * Where the system allows no such pages, or another thread is taking some, code gets a mapping of its own.
 */
#include "run/memory/code_memory.h"
#include "base/os.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* since Linux 6.3, which may refuse to run what is made without it */
#endif

enum { ARENA = 128 << 10, LARGE = ARENA / 4, LINE = 64, PAGE = 4096, PAGES = ARENA / PAGE };

typedef struct wf__code_arena {
    unsigned char *write, *run;
    size_t top;        /* of what is given out; under the lock */
    int64_t process;   /* who may write */
    uint64_t forks;    /* when it was made; UINT64_MAX: nobody counts them */
    atomic_uint users; /* pieces in use; one more while it is the current one */
    atomic_bool used_up;
    atomic_uint pieces[PAGES]; /* in use, that have a part on that page */
} arena;

static wf__mutex forking = WF__MUTEX_INIT; /* held while this process forks */
static uint64_t forks;                     /* in this process and those before it; under that lock */
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
    if (atomic_fetch_sub_explicit(&a->users, 1, memory_order_acq_rel) == 1)
        unmap(a);
}

/* Where no code is left on it. Not of an arena that a child may run code in; where the system's pages are larger, the
 * arena keeps them. */
static void give_back(const arena *a, size_t page)
{
    wf__mutex_lock(&forking);
    if (a->forks == forks && wf__page_size() == PAGE)
        madvise(a->write + page * PAGE, PAGE, MADV_REMOVE);
    wf__mutex_unlock(&forking);
}

/* Nobody takes memory from it any more. */
static void retire(arena *a)
{
    atomic_store(&a->used_up, true);
    for (size_t page = 0; page < PAGES; ++page)
        if (atomic_load(&a->pieces[page]) == 0)
            give_back(a, page);
    let_go(a);
}

static void free_piece(arena *a, const wf__code_memory *m)
{
    size_t first = (size_t)(m->run - a->run), last = first + m->bytes - 1;
    for (size_t page = first / PAGE; page <= last / PAGE; ++page)
        if (atomic_fetch_sub(&a->pieces[page], 1) == 1 && atomic_load(&a->used_up))
            give_back(a, page);
    let_go(a);
}

static void before_fork(void)
{
    wf__mutex_lock(&forking);
    ++forks;
}
static void after_fork(void) { wf__mutex_unlock(&forking); }

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

/* How many there were; from now on they are counted. Under the lock of arenas. */
static uint64_t count_forks(void)
{
    static bool counted;
    counted = counted || pthread_atfork(before_fork, after_fork, after_fork) == 0;
    wf__mutex_lock(&forking);
    uint64_t n = counted ? forks : UINT64_MAX;
    wf__mutex_unlock(&forking);
    return n;
}

static unsigned char *map(int fd, int protection)
{
    void *at = mmap(NULL, ARENA, protection, MAP_SHARED | MAP_POPULATE, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Under the lock. NULL: there is no memory, or there can be no arenas. */
static arena *new_arena(void)
{
    arena *a = wf__alloc0(sizeof *a);
    if (!a)
        return NULL;
    int fd = anonymous_file();
    if (fd >= 0) {
        a->write = map(fd, PROT_READ | PROT_WRITE);
        a->run = map(fd, PROT_READ | PROT_EXEC);
        close(fd);
    }
    if (a->write && a->run) {
        a->process = wf__process_id();
        a->forks = count_forks();
        atomic_init(&a->users, 1);
        return a;
    }
    impossible = true;
    unmap(a);
    return NULL;
}

/* Under the lock. */
static bool take(wf__code_memory *m, size_t bytes, size_t align)
{
    arena *a = current;
    size_t at = a ? (a->top + align - 1) & ~(align - 1) : 0;
    if (!a || a->process != wf__process_id() || at > ARENA - bytes) {
        if (a)
            retire(a);
        current = a = new_arena();
        at = 0;
    }
    if (!a)
        return false;
    a->top = at + bytes;
    for (size_t page = at / PAGE; page <= (at + bytes - 1) / PAGE; ++page)
        atomic_fetch_add_explicit(&a->pieces[page], 1, memory_order_relaxed);
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
        free_piece(m->arena, m);
    else if (m->run)
        munmap(m->run, m->bytes);
    *m = (wf__code_memory){ 0 };
}
