/* block.h - the open blocks of a recording: control.c opens and closes them, lanes.c reads them. */
#ifndef WEFT_RECORD_BLOCK_H
#define WEFT_RECORD_BLOCK_H
#include "record/record.h"

typedef enum block_kind { IF, ELSE, LOOP, FOR } block_kind;

struct wf__block {
    block_kind kind;
    const char *here;
    wf__ref loop, condition;       /* condition: of an IF, for its ELSE */
    uint32_t vars, states;         /* variables that there were before; where their states begin in g->state */
    uint32_t guard, on;            /* numbers of variables */
    uint32_t counter;              /* FOR: the variable */
    uint64_t set_before, set_then; /* wf_graph.surely_set before it; of an ELSE, after its IF */
    uint64_t set_left;             /* LOOP: what all lanes had set that have left so far */
    wf__ref hi, step;
};

/* Returns the innermost open block; NULL = none. */
static inline wf__block *wf__innermost(const wf_graph *g) { return g->block_n ? &g->block[g->block_n - 1] : NULL; }
#endif
