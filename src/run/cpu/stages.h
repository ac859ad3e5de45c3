/* stages.h - a stage in flight (launch.c), for what runs several together (per_block.c) or one as quickly as can be
 * (prepared.c). */
#ifndef WEFT_LAUNCH_H
#define WEFT_LAUNCH_H
#include "run/cpu/copies.h"
#include "run/engine_internal.h"
#include "run/cpu/partials.h"

typedef struct wf__launch { /* one stage in flight */
    wf__engine *engine;
    const wf__stage *stage;
    wf__entry *entry; /* NULL: interpret */
    const wf__interp *interp;
    void *scratch;
    wf__call call;
    wf__partials partials;
    /* a fused stage */
    struct wf__launch *then; /* follows box by box; NULL: none does */
    char *kept;              /* [workers][kept_bytes]: results of the box at hand */
    size_t kept_bytes;
    size_t at[WF__MOST_FUSED]; /* of reduction k's in it */
    int workers;
    int threads;        /* at most */
    bool parallel;      /* if compiled */
    wf__copies *copies; /* NULL: none. in_order: one for each group of blocks, else for each worker */
    wf__note *note;     /* NULL: nobody wants to know */
} wf__launch;

bool wf__out_of_memory(wf__failure *f, const char *what); /* false */
/* The points of a block; returns which part of the reduced axes it is. */
int64_t wf__points_of_box(const wf__stage *stage, int64_t block, int64_t *lo, int64_t *hi);
void wf__run_one(const wf__launch *l, int64_t block, int64_t copy, int worker);
int wf__threads_of(const wf__engine *e, const wf__limits *limits);
bool wf__is_large(const wf__stage *stage, const wf__limits *limits);
bool wf__is_parallel(const wf__engine *e, const wf__stage *stage, const wf__limits *limits); /* if compiled */
/* Blocks that one call to a worker's function does, at least and, so many times as many, at most. */
int64_t wf__least_of_call(const wf__stage *stage);
/* Code for the stage's slots in l->call, or the interpreter. */
bool wf__choose_code(wf__launch *l, wf__stage *stage, bool interpret, wf__failure *f);
/* Minus the seconds that compiling this stage, and the next one if it may be fused, has taken so far. */
double wf__compiling(const wf__note *note, const wf__stage *next);
/* prepared.c. A stage that is cut along one axis (stage->slabs) and has code, by all threads. */
void wf__run_slabs(const wf__launch *l);
/* per_block.c. stage->chain stages from this one on. */
bool wf__run_chain(wf__engine *e, const wf__plan *plan, wf__stage *stage, char *const *base, uint64_t *param,
                   const wf__limits *limits, bool interpret, wf__note *notes, wf__failure *f);
#endif
