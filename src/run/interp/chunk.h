/* chunk.h - the interpreter's current chunk of lanes: the walk over the nodes of an IR (chunk.c), and accesses to
 * memory (memory.c).
 *
 * A chunk has WF__LANES lanes, one for each virtual accumulator of the reduction contract. Where the order of points
 * cannot matter, a chunk has several times as many, since the work of a node then costs more than finding it. */
#ifndef WEFT_CHUNK_H
#define WEFT_CHUNK_H
#include "run/debug/watch.h"

enum { WF__ROW = WF__LANES * 16 }; /* bytes of an accumulator's lanes, and of a node's values in most bodies */

typedef struct wf__cold_path { /* the body of a COLD node, and the node of its result */
    wf__ir ir;
    wf__ref result;
} wf__cold_path;
struct wf__interp {
    const wf__ir *body;
    wf__cold_path *cold; /* [WF__COLD_COUNT]; all zero = unused */
    uint32_t most_nodes_in_cold;
    uint32_t lanes; /* most lanes of a chunk, a multiple of WF__LANES */
    uint32_t width; /* bytes of a lane in a node's values */
    size_t *local;  /* [node] of a LOCAL: where its elements begin in the local memory of a chunk */
    size_t local_bytes;
};

typedef struct wf__chunk { /* one evaluation of one IR over one chunk */
    const wf__interp *interp;
    const wf__ir *ir;
    unsigned char *value; /* [node][row], then the local memory: [element][WF__LANES] for each LOCAL */
    size_t row;           /* bytes of a node's values */
    const wf__call *call;
    int64_t index[WF_MAX_RANK];    /* indices of the chunk's first lane */
    uint32_t lanes;                /* lanes that are evaluated, a multiple of WF__LANES */
    uint32_t first, n;             /* lanes first .. first + n - 1 are live */
    bool has_constants;            /* nodes that are equal in all chunks of the run have their values */
    unsigned char *acc;            /* [reduction][WF__ROW] */
    const void *const *arg;        /* arguments of cold bodies */
    unsigned char *cold;           /* scratch of cold bodies */
    void **pairs;                  /* [2 * reductions], then scratch of the join */
    struct wf__lockstep *lockstep; /* the chunks of the box, in lockstep; NULL = one chunk after the other */
    wf__shows shows;               /* stores that the walk shows to wf_watch */
} wf__chunk;

static inline void *wf__chunk_at(const wf__chunk *f, wf__ref r) { return f->value + (size_t)r * f->row; }

/* Sets the first n elements to the value of these bits. */
static inline void wf__splat(void *out, unsigned dtype, uint64_t bits, size_t n)
{
    unsigned size = wf__size(dtype);
    for (size_t i = 0; i < n; ++i)
        memcpy((unsigned char *)out + i * size, &bits, size); /* little-endian: the low bytes come first */
}

/* True if the node's value is the same in all lanes and chunks of a run. */
static inline bool wf__is_constant_of_run(const wf__node *n)
{
    return n->op == WF__CONST || n->op == WF__PARAM || n->op == WF__EXTENT || n->op == WF__THREAD || n->op == WF__DIM;
}
/* Evaluates these nodes for all chunks of the run. */
void wf__chunk_constants(wf__chunk *f);

/* Evaluate a LOAD, a STORE, an update or a CHECK for the chunk's live lanes (memory.c). r: number of the node. */
void wf__chunk_load(const wf__chunk *f, wf__ref r, const wf__node *n);
void wf__chunk_store(const wf__chunk *f, const wf__node *n);
void wf__chunk_update(const wf__chunk *f, wf__ref r, const wf__node *n);
void wf__chunk_check(const wf__chunk *f, wf__ref r, const wf__node *n);
/* Evaluate a PUT or a GET. */
void wf__chunk_put(const wf__chunk *f, const wf__node *n);
void wf__chunk_get(const wf__chunk *f, wf__ref r, const wf__node *n);

/* Evaluates the nodes from .. to - 1, each for all chunks before the next node (chunk.c). Returns false if a callback
 * of wf_watch ended the run. */
bool wf__chunk_walk(const wf__chunk *f, size_t chunks, wf__ref from, wf__ref to);
#endif
