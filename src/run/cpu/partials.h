/* partials.h - what the boxes of a stage with reductions leave, and how it becomes the results (partials.c). */
#ifndef WEFT_PARTIALS_H
#define WEFT_PARTIALS_H
#include "plan/plan.h"
#include "run/memory/array_memory.h"

typedef struct wf__partials {
    const wf__stage *stage;
    uint64_t *at; /* NULL: none. [blocks][reductions]; with kept axes [parts][reductions]: addresses of results */
    void **pairs; /* [2 * reductions], then scratch of the join */
    char *parts;  /* the results of all parts but the first */
    size_t parts_bytes;
} wf__partials;

/* Room for what blocks write; where axes are kept: for the results of each part, the first being the final ones.
 * `base`: addresses of all objects. false: no memory; end it all the same. */
bool wf__partials_begin(wf__partials *p, const wf__stage *stage, wf__mem_cache *memory, char *const *base);
/* Joins them. `result`: where all axes are reduced, with the initial values joined in. */
void wf__partials_finish(const wf__partials *p, uint64_t *result);
void wf__partials_end(wf__partials *p, wf__mem_cache *memory);
/* Neutral elements where a box with kept lanes accumulates: the addresses of `result`. */
void wf__partials_clear(const wf__stage *stage, const int64_t *lo, const int64_t *hi, const uint64_t *result);
#endif
