/* body.h - a kernel in the making: the function around the loops (frame) and one instantiation of a body inside them
 * (inst). There are two instantiations: FAST, a tile of points with full vectors and no tests, and SAFE, one vector of
 * points whose lanes may be beyond the end, with every border test. Within FAST's loop there may be a third, AHEAD, of
 * the indices of points further on.
 *
 * Where a value is computed: level k < rank-1 in the k-th shared loop (0: before all loops), rank-1 once a row of its
 * instantiation, rank in the innermost loop. Uniform values are scalars; affine ones are a scalar (their value at lane
 * 0) from which a vector is made only if one is asked for; varying ones are vectors.
 */
#ifndef WEFT_BODY_H
#define WEFT_BODY_H
#include "codegen/gen.h"

/* Things that are made from other values once, however often they are asked for. */
typedef enum wf__memo_kind {
    WF__SUM /* a + b * c */,
    WF__IN_RANGE /* lanes with a <= .. < b */,
    WF__BELOW /* a < b */,
    WF__ALL_LANES /* a in every lane */,
    WF__BOTH /* a and b */,
    WF__WHOLE /* all lanes that are on inside b elements from a */,
    WF__MAPPED /* + border mode: the index inside b elements that a stands for; last */
} wf__memo_kind;
enum { WF__MEMO_HEADS = 256 };
typedef struct wf__memo {
    int kind;
    val a, b, c, made;
    uint32_t next;
} wf__memo;

typedef struct wf__slot_code {
    val base, stride[WF_MAX_RANK] /* bytes */, dim[WF_MAX_RANK];
} wf__slot_code;

typedef struct wf__frame {
    wf__gen *g;
    const wf__ir *body;
    int rank, rows, columns; /* of a FAST tile */
    val call, acc;           /* parameters */
    uint32_t stores;         /* of a point */
    val lo[WF_MAX_RANK], hi[WF_MAX_RANK];
    val inner_lo[WF_MAX_RANK], inner_hi[WF_MAX_RANK]; /* box in which FAST is right; NULL: no bound */
    int64_t narrow_limit;                             /* lane indices below it fit FAST's 32-bit arithmetic */
    block entry, top;                                 /* first block; level 0 */
    block level[WF_MAX_RANK];                         /* shared levels 0 .. rank-2 */
    wf__slot_code *slot;
    val extent[WF_MAX_RANK];
    val memory, params, nowhere; /* nowhere: stack bytes that lanes which are off may touch */
    val *accumulator;            /* of each reduction: stack array of `instances` vectors; if lanes are kept: unused */
    val *result;                 /* where each reduction's results are; only if axes are kept */
    val table, constants;        /* constants in memory, 64 bits each; their address; NULL: none yet */
    val *constant;               /* what it holds */
    uint32_t constant_n, constant_cap;
    int instances;
    val turn[3]; /* stack room for vectors of 16-byte elements whose lanes take turns; NULL: not made yet */
    int turns;   /* of lanes, written out so far */
} wf__frame;

/* A loop whose body is being emitted. What is made in it on demand is forgotten after it: it may not have run. */
typedef struct wf__open_loop {
    wf__ref loop;
    block before, header, after; /* of a condition: no header */
    uint32_t memo_n, made_n;     /* what there was before it */
    val index_vector, index_vector32;
    wf__ref guard; /* the only one, if it is uniform: true in the body; 0: not so */
    val guard_value;
} wf__open_loop;

/* Nodes that differ in a constant last index alone, emitted as one (packet.c). */
enum { WF__MOST_PARTS = 64 };
typedef struct wf__packet {
    wf__ref part[WF__MOST_PARTS];
    uint32_t n;
    wf__ref at; /* the part in whose place they are emitted */
} wf__packet;

typedef struct wf__inst {
    wf__frame *f;
    wf__gen *g;
    const wf__ir *ir;
    bool safe, ahead;
    wf__vary *vary;
    uint8_t *level, *live; /* per node */
    val *scalar, *vector;
    uint32_t *order, order_n;             /* nodes of the innermost loop, in the order of emission */
    block row, inner;                     /* levels rank-1 and rank */
    val index[WF_MAX_RANK];               /* of the loops around; the last: of lane 0 */
    val lane_count, lane_bits, lane_mask; /* SAFE: the lanes that are on: how many, as bits of an i64, as a vector */
    bool tables;                          /* constants are many: they are read from memory where they are used */
    bool parks;                           /* masks of border tests are many: they live on the stack */
    val *red, *red_phi; /* FAST: current accumulators and those at the loop's start, [reduction][instance] */
    val *red_row;       /* of kept lanes: address of the row's results */
    val index_vector, index_vector32; /* the last index in every lane, without the lane number */
    wf__memo *memo;
    uint32_t memo_n, memo_cap, memo_head[WF__MEMO_HEADS];
    wf__open_loop open[WF__MOST_NESTED];
    wf__packet *packet;
    uint32_t packet_n, *packet_of; /* packet_of: [node], 1 + its packet's number, or 0; NULL: there are none */
    uint32_t depth;                /* loops that are open */
    val **made;                    /* in them: scalars and vectors made on demand */
    uint32_t made_n, made_cap;
} wf__inst;

/* ---- frame.c ---- */
val wf__frame_base(wf__frame *f, uint32_t slot);
val wf__frame_stride(wf__frame *f, uint32_t slot, int axis); /* bytes */
val wf__frame_dim(wf__frame *f, uint32_t slot, int axis);
val wf__frame_extent(wf__frame *f, int axis);
val wf__frame_param(wf__frame *f, uint32_t number, unsigned dtype);  /* a load at the current place */
val wf__frame_constant(wf__frame *f, unsigned dtype, uint64_t bits); /* a load of a constant at the current place */
bool wf__frame_finish(wf__frame *f);                                 /* fills the table of constants */
val wf__frame_room(wf__frame *f, LLVMTypeRef type);                  /* on the stack */
val wf__frame_nowhere(wf__frame *f);

/* ---- inst.c ---- */
typedef enum wf__inst_kind { WF__FAST, WF__SAFE, WF__AHEAD } wf__inst_kind;
bool wf__inst_init(wf__inst *in, wf__frame *f, const wf__ir *ir, wf__inst_kind kind);
void wf__inst_free(wf__inst *in);
void wf__inst_level(wf__inst *in, int level); /* emits all nodes of that level */
val wf__inst_scalar(wf__inst *in, wf__ref r); /* uniform or affine */
val wf__inst_vector(wf__inst *in, wf__ref r);
block *wf__inst_block(wf__inst *in, int level);
val wf__inst_recall(wf__inst *in, int kind, val a, val b, val c); /* NULL: not made yet */
void wf__inst_forget(wf__inst *in, uint32_t n);                   /* all but the first n */
val wf__inst_keep(wf__inst *in, int kind, val a, val b, val c, val made);

/* ---- address.c ---- */
typedef enum wf__way { WF__AT_POINT, WF__ALONG, WF__AGAINST, WF__STRIDED, WF__SCATTERED } wf__way;
typedef struct wf__where {
    wf__way way;
    val base;    /* address of lane 0; SCATTERED: to which offsets are added */
    val stride;  /* STRIDED: bytes from lane to lane */
    val offset;  /* SCATTERED: vector of i64 */
    bool scaled; /* offsets count elements, not bytes */
} wf__where;
/* `mapped`: replacements of indices by border modes (NULL: none), scalars where mapped_wide is false. */
wf__where wf__address(wf__inst *in, uint32_t slot, uint32_t tuple, const val *mapped, const bool *mapped_wide);
void wf__lane_pointers(wf__gen *g, unsigned dtype, const wf__where *at, val out[WF__LANES]);

/* An affine index as lane index * coef + constant, when it is just that. */
bool wf__as_lane(const wf__inst *in, wf__ref r, int64_t *coef, int64_t *constant);

/* ---- narrow.c: lane indices in 32 bits, in FAST ---- */
bool wf__narrow(const wf__inst *in, wf__ref r); /* may node r be computed from 32-bit lane indices? */
int64_t wf__narrow_limit(const wf__inst *in);   /* the lane indices below it allow all that wf__narrow says */
val wf__emit_narrow(wf__inst *in, wf__ref r);   /* node r, for which wf__narrow holds */
/* Is r 0 <= *index < *extent, of an index that varies and an extent that does not? */
bool wf__within(const wf__inst *in, wf__ref r, wf__ref *index, wf__ref *extent);
val wf__emit_within(wf__inst *in, wf__ref index, wf__ref extent);

/* ---- memory.c, border.c ---- */
void wf__emit_load(wf__inst *in, wf__ref r);
void wf__emit_store(wf__inst *in, const wf__node *n);
typedef struct wf__guard { /* which lanes may touch memory: the conjunction of what is not NULL */
    val scalar, vector;
    bool early;   /* the scalar is known once a row */
    bool uniform; /* of a load that is done once for all lanes, in whatever loop */
} wf__guard;
bool wf__has_masked(const wf__gen *g, unsigned dtype); /* accesses that leave out lanes */
val wf__load_masked(wf__gen *g, LLVMTypeRef vector, val p, unsigned align, val mask, val other);
void wf__store_masked(wf__gen *g, val v, val p, unsigned align, val mask);
/* The lanes that load n is for, once it is known which are inside; NULL: all. */
val wf__load_mask(wf__inst *in, const wf__node *n, wf__guard *guard);
val wf__load_vector(wf__gen *g, unsigned dtype, const wf__where *at, val mask, val other, val nowhere);
val wf__outside(wf__inst *in, const wf__node *load); /* the value outside, as it is in memory, in every lane */
val wf__border_map(wf__gen *g, unsigned border, val index, val dim, int w); /* dim >= 1 */
/* edge.c: loads along a row that may reach beyond its ends. False: not such a load. */
bool wf__emit_edge_load(wf__inst *in, wf__ref r);
val wf__guard_mask(wf__inst *in, const wf__guard *guard); /* NULL: all */
/* Tests and maps the indices of a LOAD with a border mode. */
void wf__border(wf__inst *in, const wf__node *n, wf__guard *guard, val *mapped, bool *wide);

/* The lanes that a store or update with this predicate (0: none) is for; NULL: all. */
val wf__effect_mask(wf__inst *in, wf__ref predicate);
void wf__store_vector(wf__inst *in, unsigned dtype, const wf__where *at, val mask, val v); /* v: as it is in memory */
val wf__to_memory(wf__gen *g, unsigned dtype, int w, val v);
val wf__from_memory(wf__gen *g, unsigned dtype, int w, val v);

/* ---- update.c: ACCUM, ATOMIC, CAS ---- */
void wf__emit_update(wf__inst *in, wf__ref r);
/* Addresses of all lanes; those of lanes that are off (mask; NULL: none) are nowhere. */
void wf__far_pointers(wf__inst *in, unsigned dtype, const wf__where *at, val mask, val out[WF__LANES]);

/* ---- ahead.c ---- */
/* A body that has but the indices of scattered accesses, each as a LOAD, which is a place: what FAST asks for before it
 * comes there. It may be empty. false: no memory. The caller frees it either way. */
bool wf__find_ahead(const wf__ir *body, wf__ir *out);
/* Which points it is for: further on than lane `lane`, `last` at most. */
void wf__ahead_index(wf__inst *in, val lane, val last);
bool wf__is_place(const wf__inst *in, wf__ref r);
void wf__emit_place(wf__inst *in, wf__ref r);
/* Beside a LOAD at `at`: of a slot that flows, asks for what comes later in the row. */
void wf__ask_further_on(wf__inst *in, const wf__node *load, const wf__where *at);

/* ---- packet.c ---- */
bool wf__find_packets(wf__inst *in); /* once the order is settled; false: no memory */
void wf__emit_packet_load(wf__inst *in, const wf__packet *packet);
void wf__emit_packet_store(wf__inst *in, const wf__packet *packet);
void wf__emit_packet_update(wf__inst *in, const wf__packet *packet);

/* ---- cold.c ---- */
enum { WF__MOST_SITES = 8 };
uint32_t wf__cold_run(const wf__inst *in, const uint32_t *order,
                      uint32_t n); /* COLD nodes at its start that can share */
/* The pure nodes of a body; value: [node], arg: what ARG nodes stand for. */
void wf__emit_pure_nodes(wf__gen *g, const wf__ir *ir, const val *arg, int w, val *value);
void wf__emit_cold(wf__inst *in, const uint32_t *order, uint32_t n); /* emits such a run */

/* ---- loop.c ---- */
void wf__emit_loop(wf__inst *in, wf__ref r);  /* LOOP with its STATEs, or END with its NEXTs */
void wf__inst_made(wf__inst *in, val *where); /* *where was made on demand */

/* ---- reduce.c: accumulators live on the stack between rows, in registers (phis) through FAST's inner loop; those of
 * kept lanes are the results in memory, in registers for one turn of the loop ---- */
bool wf__red_begin(wf__frame *f);                           /* in the entry block: room */
void wf__red_clear(wf__frame *f);                           /* puts neutral elements there */
void wf__red_row(wf__inst *in);                             /* at the start of a row */
void wf__red_enter(wf__inst *in, block before, block loop); /* at the start of `loop`, which `before` branches to */
void wf__red_turn(wf__inst *in, block latch);               /* the loop's back edge comes from `latch` */
void wf__red_leave(wf__inst *in);                           /* after the loop */
void wf__emit_red(wf__inst *in, wf__ref r);
void wf__emit_setred(wf__inst *in, const wf__node *n);
/* Joins the lanes and stores the result of the point at `index` of the kept axes; NULL: there are none. */
void wf__red_end(wf__frame *f, const val *index);
static inline bool wf__keeps_lane(const wf__frame *f) { return f->body->red_n && f->body->kept_lane; }

/* ---- box.c, loops.c, tiling.c, order.c ---- */
bool wf__find_box(wf__frame *f); /* sets inner_lo and inner_hi, at level 0 */
/* rows x columns: of a FAST tile; 0 x 0: SAFE does everything. */
bool wf__emit_kernel(wf__gen *g, const wf__ir *body, int rows, int columns);
int wf__choose_width(const wf__ir *body, const wf__vary *vary, const uint8_t *live, const wf__target *target);
void wf__choose_tile(wf__gen *g, const wf__ir *body, const wf__vary *vary, const uint8_t *live, int *rows,
                     int *columns);
void wf__order(wf__inst *in, int registers);
/* Is each vector of a tile finished before the next one is begun (wf__tile)? So where little is computed and stored past
 * the cache: what memory then does takes 0.86 to 0.96 of the time for a triad of 2^26, 0.93 to 1 with one or two arrays
 * (Zen 4, four vectors a step). In the cache it is no gain, and with more to compute a loss. */
bool wf__in_turn(const wf__gen *g, const wf__ir *body);
#endif
