/* copies.h - private memory of a stage's accumulations (plan/kernel.h: wf__private), and joining it with the arrays. */
#ifndef WEFT_COPIES_H
#define WEFT_COPIES_H
#include "plan/plan.h"
#include "run/memory/array_memory.h"
#include "run/thread/pool.h"

typedef struct wf__copies {
    const wf__stage *stage;
    wf__mem_cache *memory;
    int64_t n;       /* copies; users of different ones do not disturb one another */
    size_t each;     /* bytes of one */
    char *base;      /* of the first, 64-byte aligned; NULL: all are the array itself */
    wf__mem *mem;    /* [n][slots] */
    uint8_t *filled; /* [n] */
} wf__copies;

/* How many copies of at most `wanted` memory is spent on; 1 at least. */
int64_t wf__copies_most(const wf__stage *stage, int64_t wanted);
/* `mem`: of the stage's slots. false: no memory. */
bool wf__copies_begin(wf__copies *c, wf__mem_cache *memory, const wf__stage *stage, const wf__mem *mem, int64_t n);
/* The slots for whoever uses copy i, which is made at its first use. */
const wf__mem *wf__copies_use(wf__copies *c, int64_t i);
/* Joins all copies with the arrays: one with another in their order, then the array with the result. */
void wf__copies_join(wf__copies *c, wf__pool *pool, int threads, const wf__mem *mem);
void wf__copies_end(wf__copies *c);
#endif
