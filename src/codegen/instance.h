/* instance.h - one instantiation of the body inside the loops, and the LLVM values of its nodes.
 *
 * The body is emitted up to three times. INTERIOR is a tile of points with full vectors and no tests. BORDER is one
 * vector of points: lanes may lie beyond the end of the row, and every border mode is tested. PREFETCH runs within
 * INTERIOR's loop and computes the indices of later points only, to prefetch their memory.
 *
 * A value has a level, which is where it is computed: level k < rank-1 is the k-th shared loop (0 = before all loops),
 * rank-1 is once per row of the instance, rank is the innermost loop. Uniform values are scalars and varying values
 * are vectors. An affine value is a scalar, its value at lane 0; a vector of it is made on demand.
 *
 * wf__get_scalar and wf__get_vector return the value of an operand. Most nodes have been emitted before, in the order
 * of in->order. Constants, loop indices, affine values and splats are emitted on demand: making an affine value gets
 * the scalars of its own operands. This is the only recursion of the code generator. It ends because operands have
 * lower numbers than their users.
 */
#ifndef WEFT_INSTANCE_H
#define WEFT_INSTANCE_H
#include "codegen/kernel_emitter.h"

typedef enum wf__instance_kind { WF__INTERIOR, WF__BORDER, WF__PREFETCH } wf__instance_kind;

/* ---- the value cache: values derived from other values, each emitted once ---- */
typedef enum wf__cached_kind {
    WF__CACHED_SUM /* a + b * c */,
    WF__CACHED_IN_RANGE /* mask of the lanes l with 0 <= a + l < b */,
    WF__CACHED_BELOW /* a < b */,
    WF__CACHED_ALL_LANES /* mask with a in every lane */,
    WF__CACHED_BOTH /* a and b */,
    WF__CACHED_INSIDE /* true if all active lanes from a on are inside b elements */,
    WF__CACHED_MAPPED /* + border mode: index a mapped into b elements; must be the last kind */
} wf__cached_kind;
enum { WF__CACHE_HEADS = 256 };
typedef struct wf__cached_value {
    int kind; /* wf__cached_kind, plus a border mode */
    val a, b, c, made;
    uint32_t next; /* in the chain of one head; 0 = end */
} wf__cached_value;
typedef struct wf__value_cache {
    wf__cached_value *value; /* value[1 .. n] */
    uint32_t n, cap, head[WF__CACHE_HEADS];
} wf__value_cache;

/* A loop whose body is being emitted. Values made on demand in the body are dropped at its end, since the body may
 * not have run. */
typedef struct wf__open_loop {
    wf__ref loop;
    bb before, header, after;         /* a condition has no header */
    uint32_t cached_n, made_n;        /* numbers of values before the loop */
    val index_vector, index_vector32; /* as before the loop */
    wf__ref guard;                    /* the only guard, if uniform: true inside the body; 0 = none */
    val guard_value;                  /* its value outside the body */
    wf__ref test[4];                  /* uniform tests of the header, true inside the body */
    uint32_t test_n;
} wf__open_loop;

/* Accesses that differ only in a constant last index, emitted as one (find_packets.c). */
enum { WF__MOST_PARTS = 64 };
typedef struct wf__packet {
    wf__ref part[WF__MOST_PARTS];
    uint32_t n;
    wf__ref at; /* the part in whose place all are emitted */
} wf__packet;
int64_t wf__packet_part(const wf__ir *ir, const wf__node *n); /* the constant last index of such an access */

/* What loads of a slot share whose index along the row is the lane index plus a constant, with one border mode. */
typedef struct wf__edge_run {
    uint32_t slot;
    int axis, rank; /* the slot's axis along the row, and its number of axes */
    unsigned border;
    int64_t constant;
    /* Of the current vector: */
    val base;                   /* the index of lane 0 */
    val first, end, count;      /* active lanes: [0, first) lie before the row, [first, end) inside, the rest behind */
    val before, inside, behind; /* masks of these */
    val some_before, some_behind; /* whether there are any */
    /* Of the vector that has the elements of all lanes: */
    val window;              /* the index of its first element; NULL = the three parts are loaded apart */
    val loaded, permutation; /* which of it to load, and the element of each lane */
} wf__edge_run;
enum { WF__MOST_EDGE_RUNS = 32 };

typedef struct wf__instance {
    wf__gen *g;
    wf__kernel_emitter *kernel;
    const wf__ir *ir;
    wf__instance_kind kind;

    /* instance.c: analysis, complete before the first node is emitted */
    wf__vary *vary;
    uint8_t *level, *live;
    bool *common;             /* of LOCAL nodes: the memory is the same in all lanes */
    uint32_t *order, order_n; /* nodes of the innermost loop, in the order of emission; schedule.c changes it */
    bool early_cold;          /* COLD nodes branch where their condition is complete; their value is made on demand */
    bool constants_in_memory; /* many constants: vectors of them are loaded at each use */
    bool spills_masks;        /* many masks of border tests: they live on the stack */
    struct {                  /* find_packets.c */
        wf__packet *all;
        uint32_t n, *of; /* of: 1 + the number of each node's packet, 0 = none; NULL = no packets */
    } packets;

    /* loops.c: the current position */
    bb row, inner;             /* levels rank-1 and rank */
    val index[WF_MAX_RANK];    /* of the enclosing loops; the last one is the index of lane 0 */
    struct {                   /* BORDER: the active lanes */
        val count, bits, mask; /* as a number, as bits of an i64, as a vector of bools */
    } lanes;

    /* emit_edge_load.c, of BORDER: what loads along the row need, made once for each vector */
    struct {
        wf__edge_run run[WF__MOST_EDGE_RUNS];
        uint32_t n;
    } edges;

    /* values.c: NULL = not emitted yet */
    val *scalar, *vector;
    val *place;                       /* of LOCAL nodes: address */
    val *rare;                        /* with `early_cold`, of COLD nodes: values of the rare path; poison without it */
    val index_vector, index_vector32; /* the last index in every lane, without the lane number */
    wf__value_cache cache;

    /* emit_reduce.c */
    struct {
        val *current, *phi; /* INTERIOR: accumulators now and at the start of the loop, [reduction][instance] */
        val *row;           /* lane axis kept: address of the row's results */
    } red;

    /* emit_loop.c */
    struct {
        wf__open_loop open[WF__MOST_NESTED];
        uint32_t depth; /* open loops */
        val **made;     /* scalars and vectors made on demand inside them */
        uint32_t made_n, made_cap;
    } loops;
} wf__instance;

/* ---- instance.c ---- */
/* Returns false when out of memory. The caller frees the instance in either case. */
bool wf__init_instance(wf__instance *in, wf__kernel_emitter *kernel, const wf__ir *ir, wf__instance_kind kind);
void wf__free_instance(wf__instance *in);
bool wf__tuple_varies(const wf__ir *ir, const wf__vary *vary, uint32_t tuple); /* true if any index does */
/* True for a LOAD of a PREFETCH instance that stands for memory to prefetch. */
bool wf__is_prefetch(const wf__instance *in, wf__ref r);

/* ---- linear_index.c ---- */
/* An affine index: coef * lane index + the sum of scale[i] * term[i] + constant. */
typedef struct wf__linear {
    int64_t coef, constant;
    wf__ref term[4]; /* uniform nodes */
    int64_t scale[4];
    int n;       /* terms */
    bool failed; /* the index has another form, or a number overflows */
} wf__linear;
wf__linear wf__split_index(const wf__instance *in, wf__ref r);
/* True if r is affine and exactly lane index * coef + constant. */
bool wf__match_lane_index(const wf__instance *in, wf__ref r, int64_t *coef, int64_t *constant);

/* ---- values.c ---- */
val wf__get_scalar(wf__instance *in, wf__ref r); /* of a uniform or affine node; else of lane 0 */
val wf__get_vector(wf__instance *in, wf__ref r);
bb *wf__bb_of_level(wf__instance *in, int level);
val wf__find_cached(wf__instance *in, int kind, val a, val b, val c);           /* NULL = not made yet */
val wf__cache_value(wf__instance *in, int kind, val a, val b, val c, val made); /* returns `made` */
void wf__drop_cached(wf__instance *in, uint32_t n);                             /* all but the first n */
/* A pure node from the values of its operands. */
val wf__emit_pure_scalar(wf__instance *in, wf__ref r);
val wf__emit_pure_vector(wf__instance *in, wf__ref r);
#endif
