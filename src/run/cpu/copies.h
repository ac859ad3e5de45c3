/* copies.h - private memory of a stage's accumulations (plan/kernel.h: wf__private), and joining it with the arrays. */
#ifndef WEFT_COPIES_H
#define WEFT_COPIES_H
#include "plan/plan.h"
#include "run/memory/array_memory.h"
#include "run/thread/pool.h"

typedef struct wf__copies {
    const wf__stage *stage;
    wf__mem_cache *memory;
    int64_t n;       /* copies; different threads may use different copies at the same time */
    size_t each;     /* bytes of one copy */
    char *base;      /* the first copy, 64-byte aligned; NULL = the array itself is the only copy */
    wf__mem *mem;    /* [n][slots] */
    uint8_t *filled; /* [n]: 1 = holds neutral elements or sums */
} wf__copies;

/* Returns the number of copies, at least 1 and at most `wanted`, that are worth their memory. */
int64_t wf__copies_most(const wf__stage *stage, int64_t wanted);
/* Allocates n copies. mem: memory of the stage's slots. false = out of memory. */
bool wf__copies_begin(wf__copies *c, wf__mem_cache *memory, const wf__stage *stage, const wf__mem *mem, int64_t n);
/* Returns the slots of copy i. The first use of a copy fills it. */
const wf__mem *wf__copies_use(wf__copies *c, int64_t i);
/* Joins the copies in their order, then the arrays with the results. `joined`: the first copy already holds the values of
 * all. */
void wf__copies_join(const wf__copies *c, wf__pool *pool, int threads, const wf__mem *mem, bool joined);
/* Joins all of copy `from` into copy `to`. */
void wf__copies_join_pair(const wf__copies *c, int64_t to, int64_t from);
/* Copies the values of copy i to (`out`) or from packed memory. Returns their bytes. packed: NULL = only counts them. */
size_t wf__copies_move(wf__copies *c, int64_t i, char *packed, bool out);
void wf__copies_end(wf__copies *c);
/* Fills n elements with what joins leave alone. */
void wf__fill_neutral(unsigned join, char *to, unsigned dtype, size_t n);
/* Sets a = join(a, b) for n packed elements. Elements of f16 and bf16 are joined in f32. */
void wf__join_packed(unsigned join, unsigned dtype, char *a, const char *b, size_t n);
#endif
