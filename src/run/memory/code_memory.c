/* code_memory.c - arenas of executable memory, shared by all contexts of the process.
 *
 * The pages of an arena are mapped twice: code is written at one address and runs at the other. So new code needs no
 * call of the system, which would take long and interrupt the threads on other processors.
 *
 * A piece of an arena is used once: instructions at an address never change, for pipelines and emulators that remember
 * them. Once an arena is used up, each page is released with its last code, and the arena with its last page. The child
 * of a fork runs code in its parent's arenas, but allocates from its own.
 *
 * If the system refuses such pages, or another thread is allocating, code gets a mapping of its own.
 */
#include "run/memory/code_memory.h"
#include "base/os.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* since Linux 6.3, which may require it for executable mappings */
#endif

enum { ARENA = 128 << 10, LARGE = ARENA / 4, LINE = 64, PAGE = 4096, PAGES = ARENA / PAGE };
enum { SKIP = 64 }; /* pieces with mappings of their own between two requests for an arena that the system refuses */

typedef struct wf__code_arena {
    unsigned char *write, *run;
    size_t top;        /* end of the allocated pieces; under the lock */
    int64_t process;   /* the process that may write */
    uint64_t forks;    /* `forks` when the arena was made; UINT64_MAX = unknown */
    atomic_uint users; /* pieces in use, plus 1 while the arena is the current one */
    atomic_bool used_up;
    atomic_uint pieces[PAGES]; /* pieces in use with a part on the page */
} arena;

static wf__mutex forking = WF__MUTEX_INIT; /* held while this process forks */
static uint64_t forks;                     /* number of forks of this process and its ancestors, under `forking` */
static wf__mutex lock = WF__MUTEX_INIT;
static arena *current; /* arena of new code, under the lock */
static int skip;       /* the system refused an arena: number of pieces until it is asked again; under the lock */

static void free_arena(arena *a)
{
    if (a->run)
        munmap(a->run, ARENA);
    if (a->write)
        munmap(a->write, ARENA);
    wf__free(a);
}

static void release_arena(arena *a)
{
    if (atomic_fetch_sub_explicit(&a->users, 1, memory_order_acq_rel) == 1)
        free_arena(a);
}

/* Returns a page without code to the system. Keeps the page if a forked child may run code of the arena, or if the
 * system's pages are larger. */
static void release_page(const arena *a, size_t page)
{
    wf__mutex_lock(&forking);
    if (a->forks == forks && wf__page_size() == PAGE)
        madvise(a->write + page * PAGE, PAGE, MADV_REMOVE);
    wf__mutex_unlock(&forking);
}

/* Ends allocation from an arena. */
static void retire_arena(arena *a)
{
    atomic_store(&a->used_up, true);
    for (size_t page = 0; page < PAGES; ++page)
        if (atomic_load(&a->pieces[page]) == 0)
            release_page(a, page);
    release_arena(a);
}

static void free_piece(arena *a, const wf__code_memory *m)
{
    size_t first = (size_t)(m->run - a->run), last = first + m->bytes - 1;
    for (size_t page = first / PAGE; page <= last / PAGE; ++page)
        if (atomic_fetch_sub(&a->pieces[page], 1) == 1 && atomic_load(&a->used_up))
            release_page(a, page);
    release_arena(a);
}

static void before_fork(void)
{
    wf__mutex_lock(&forking);
    ++forks;
}
static void after_fork(void) { wf__mutex_unlock(&forking); }

/* Opens a file without a name; -1 = none. Checks the limit on file sizes first, since the limit would end the program
 * by a signal. */
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

bool wf__code_memory_guard(void)
{
    static wf__fork_handlers handlers = WF__FORK_HANDLERS(before_fork, after_fork, after_fork);
    return wf__handle_forks(&handlers);
}

/* Returns the number of forks so far, counted from the first call on; UINT64_MAX = unknown. */
static uint64_t count_forks(void)
{
    bool counted = wf__code_memory_guard();
    wf__mutex_lock(&forking);
    uint64_t n = counted ? forks : UINT64_MAX;
    wf__mutex_unlock(&forking);
    return n;
}

static unsigned char *map_arena(int fd, int protection, int populate)
{
    void *at = mmap(NULL, ARENA, protection, MAP_SHARED | populate, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Under the lock. NULL = out of memory, or the system refuses an arena. The pages of the first arena become memory one by one,
 * since most processes run few kernels; those of later arenas all at once. */
static arena *new_arena(void)
{
    static bool later;
    arena *a = wf__alloc0(sizeof *a);
    if (!a)
        return NULL;
    int fd = anonymous_file();
    if (fd >= 0) {
        a->write = map_arena(fd, PROT_READ | PROT_WRITE, later ? MAP_POPULATE : 0);
        a->run = map_arena(fd, PROT_READ | PROT_EXEC, later ? MAP_POPULATE : 0);
        close(fd);
    }
    if (a->write && a->run) {
        later = true;
        a->process = wf__process_id();
        a->forks = count_forks();
        atomic_init(&a->users, 1);
        return a;
    }
    skip = SKIP;
    free_arena(a);
    return NULL;
}

/* Under the lock. Allocates a piece of an arena. */
static bool alloc_piece(wf__code_memory *m, size_t bytes, size_t align)
{
    arena *a = current;
    size_t at = a ? (a->top + align - 1) & ~(align - 1) : 0;
    if (!a || a->process != wf__process_id() || at > ARENA - bytes) {
        if (a)
            retire_arena(a);
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

static bool alloc_mapping(wf__code_memory *m, size_t bytes)
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
    /* Never waits: in the child of a fork, the thread that holds the lock may not exist. */
    if (bytes <= LARGE && wf__mutex_try(&lock)) {
        if (skip)
            skip--;
        else
            taken = alloc_piece(m, (bytes + LINE - 1) & ~(size_t)(LINE - 1), align < LINE ? LINE : align);
        wf__mutex_unlock(&lock);
    }
    return taken || alloc_mapping(m, bytes);
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
