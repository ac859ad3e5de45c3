/* block.h - the open blocks of a recording: control.c opens and closes them, lanes.c reads them. */
#ifndef WEFT_RECORD_BLOCK_H
#define WEFT_RECORD_BLOCK_H
#include "record/record.h"

typedef enum block_kind { IF, ELSE, LOOP, FOR } block_kind;

struct wf__block {
    block_kind kind;
    const char *here;              /* place in the caller's source */
    wf__ref loop;                  /* the LOOP node */
    wf__ref condition;             /* condition of an IF, for its ELSE */
    uint32_t vars;                 /* number of variables that are older than the block */
    uint32_t states;               /* index in g->state of the first state of these variables */
    uint32_t guard, on;            /* hidden variables: lanes that take the next turn; lanes that take part now */
    uint32_t counter;              /* counting variable of a FOR */
    uint64_t set_before, set_then; /* wf_graph.surely_set before the block, and for an ELSE, after its IF */
    uint64_t set_left;             /* outputs that all lanes which have left the LOOP so far had set */
    wf__ref hi, step;              /* end and step of a FOR */
};

/* Returns the innermost open block; NULL = none. */
static inline wf__block *wf__innermost(const wf_graph *g) { return g->block_n ? &g->block[g->block_n - 1] : NULL; }
#endif
