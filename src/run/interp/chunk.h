/* chunk.h - a chunk of lanes that the interpreter is at, shared by interp.c (walking) and interp/memory.c. */
#ifndef WEFT_CHUNK_H
#define WEFT_CHUNK_H
#include "plan/kernel.h"

enum { WF__ROW = WF__LANES * 16 }; /* bytes per node's buffer */

typedef struct wf__chunk { /* one evaluation of one ir over one chunk */
    const wf__interp *interp;
    const wf__ir *ir;
    unsigned char *value; /* [node][WF__ROW] */
    const wf__call *call;
    int64_t index[WF_MAX_RANK];    /* of the chunk's first lane */
    uint32_t first, n;             /* lanes first .. first+n-1 are live */
    unsigned char *acc;            /* [reduction][WF__ROW] */
    const void *const *arg;        /* cold bodies: buffers of the arguments */
    unsigned char *cold;           /* scratch of cold bodies */
    void **pairs;                  /* [2 * reductions], then scratch of the join */
    struct wf__together *together; /* the chunks of the box, which take each turn together; NULL: one after the other */
} wf__chunk;

static inline void *wf__chunk_at(const wf__chunk *f, wf__ref r) { return f->value + (size_t)r * WF__ROW; }

/* interp/memory.c. Nodes LOAD, STORE, updates and CHECK, whose number is r, for the chunk's live lanes. */
void wf__chunk_load(const wf__chunk *f, wf__ref r, const wf__node *n);
void wf__chunk_store(const wf__chunk *f, const wf__node *n);
void wf__chunk_update(const wf__chunk *f, wf__ref r, const wf__node *n);
void wf__chunk_check(const wf__chunk *f, wf__ref r, const wf__node *n);

/* interp.c. Nodes from .. to-1, each for all of the chunks before the next one. false: who looks has ended the run. */
bool wf__chunk_walk(const wf__chunk *f, size_t chunks, wf__ref from, wf__ref to);
#endif
