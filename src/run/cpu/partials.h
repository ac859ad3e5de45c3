/* partials.h - partial results of the boxes of a stage with reductions, and joining them (partials.c). */
#ifndef WEFT_PARTIALS_H
#define WEFT_PARTIALS_H
#include "plan/plan.h"
#include "run/memory/array_memory.h"

typedef struct wf__partials {
    const wf__stage *stage;
    /* [boxes][reductions]; with kept axes [parts][reductions] addresses of results; NULL = no reductions */
    uint64_t *at;
    void **pairs; /* [2 * reductions], then scratch of the join */
    char *parts;  /* the results of all parts but the first */
    size_t parts_bytes;
} wf__partials;

/* Allocates the partial results. With kept axes, the first part's results are the final ones. base: addresses of all
 * objects. false = out of memory; wf__partials_end must follow in any case. */
bool wf__partials_begin(wf__partials *p, const wf__stage *stage, wf__mem_cache *memory, char *const *base);
/* Joins the partial results of row `from` into those of row `to`. */
void wf__partials_join_pair(const wf__partials *p, int64_t to, int64_t from);
int64_t wf__partials_rows(const wf__stage *stage);
void *wf__partial_of(const wf__partials *p, int64_t row, uint32_t k); /* the address of partial result k of a row */
/* Joins the partial results of all rows, in the order of plan/join_order.h, into row 0, and sets the results. */
void wf__partials_finish(const wf__partials *p, uint64_t *result);
/* Sets the results from row 0: without kept axes, joins the initial values, and sets `result`. */
void wf__partials_set(const wf__partials *p, uint64_t *result);
void wf__partials_end(wf__partials *p, wf__mem_cache *memory);
/* Writes neutral elements to the results of a box with kept lanes. result: their addresses. */
void wf__partials_clear(const wf__stage *stage, const int64_t *lo, const int64_t *hi, const uint64_t *result);
#endif
