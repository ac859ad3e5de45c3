/* gen.h - the generator's state, values and registers, and the functions that its files share.
 *
 * The files form layers; each calls only those before it: text.c; cast.c, ranges.c; op.c, element.c; value.c, index.c,
 * warp.c; watch.c; memory.c; vector.c, update.c, packet.c; body.c (walks the nodes); points.c, join.c; reduce.c,
 * private.c, thread_block.c (give points to threads); kernel.c (the whole module).
 *
 * Registers are untyped (.b16, .b32, .b64, .pred), so that reinterpreting bits costs nothing. In registers
 *   - a bool is a predicate, f16 and bf16 have 16 bits, a complex number has two registers;
 *   - an integer below 32 bits is always extended to 32 bits by its sign or by zeros;
 *   - an i64 that provably fits 32 bits may be held in 32 ("narrow", ranges.c).
 */
#ifndef WEFT_PTX_GEN_H
#define WEFT_PTX_GEN_H
#include "ptx/ptx.h"

typedef enum wf__ptx_kind { V_NONE, V_P, V_H, V_R, V_D, V_INT, V_F32, V_F64, V_LABEL, V_TEXT } wf__ptx_kind;
typedef struct wf__ptx_val {
    uint32_t kind;
    union {
        uint32_t number; /* register or label */
        uint64_t bits;   /* immediate */
        const char *text;
    };
} val;

typedef struct wf__ptx_gen {
    const wf__ir *ir; /* IR that is being emitted: the body, a cold body or the joiner */
    const wf__ptx_options *options;
    wf__ptx_code *code;
    wf__str head, body;             /* head: values that the kernel computes once, before any control flow */
    wf__str *out;                   /* current destination: &head or &body */
    uint32_t regs[V_D + 1], labels; /* numbers of registers, by kind, and of labels */
    struct {                        /* one per node */
        val v, more; /* more: imaginary part; of a narrow value the 64-bit copy, V_NONE until it exists */
        bool narrow, in_head;
    } * node;
    uint32_t *widened, widened_n; /* nodes whose 64-bit copy is valid in the current region */
    val index[WF_MAX_RANK];       /* indices of the current point */
    val thread[WF_MAX_RANK + 1]
              [2];  /* thread blocks: number of the thread along an axis, and count of threads; last: of all axes */
    val shared;     /* address of shared memory; V_NONE until it is needed */
    val *acc;       /* accumulators, one per reduction */
    val mask;       /* predicate that guards updates of accumulators; V_NONE = always */
    const val *arg; /* arguments of a cold body or joiner */
    val field[WF__PTX_MOST_FIELDS][2]; /* loaded kernel parameters: all 64 bits, and the low 32 */
    bool inner;                        /* `ir` is a cold body, a joiner or options->post */
    bool post;                         /* `ir` is options->post */
    int width, column;                 /* points per thread (vector.c), and the one that is being emitted */
    val *wide;                         /* 4 registers per node, for accesses of all columns; NULL outside of these */
    struct wf__ptx_packet *packets;    /* packet.c */
    uint32_t *packet_of, packets_n;    /* packet_of: 1 + packet of a node; 0 = none */
    wf__str list;                      /* text of the last register list */
    wf__failure *failure;
} gen;

/* ---- text.c ---- */
static inline bool wf__ptx_is_sound(const gen *g) { return g->failure->status == WF_OK; }
void wf__ptx_fail(gen *g, wf_status status, const char *format, ...) WF__PRINTF(3, 4); /* keeps the first failure */
static inline val v_int(int64_t x) { return (val){ .kind = V_INT, .bits = (uint64_t)x }; }
static inline val v_text(const char *t) { return (val){ .kind = V_TEXT, .text = t }; }
val wf__ptx_reg(gen *g, wf__ptx_kind kind);
val wf__ptx_new_label(gen *g);
void wf__ptx_place_label(gen *g, val label);
/* Writes one instruction. $0 to $9 in the template stand for the values. */
void wf__ptx_line(gen *g, const char *template, const val *v);
#define EMIT(g, template, ...) wf__ptx_line(g, template, (const val[]){ __VA_ARGS__ })
/* A field of the kernel's parameter, loaded once, in the head. */
val wf__ptx_field_value(gen *g, wf__ptx_what what, uint32_t number, int axis, bool narrow);

/* ---- dtypes ---- */
static inline wf__ptx_kind wf__ptx_class(unsigned t)
{
    return t == WF_BOOL                                                ? V_P
           : wf__is_half(t) || t == WF_C32                             ? V_H
           : t == WF_I64 || t == WF_U64 || t == WF_F64 || t == WF_C128 ? V_D
                                                                       : V_R;
}
static inline bool wf__ptx_wide(unsigned t) { return wf__ptx_class(t) == V_D; }
static inline val wf__ptx_type(unsigned t) /* the type of arithmetic */
{
    return v_text(t == WF_F32        ? "f32"
                  : t == WF_F64      ? "f64"
                  : t == WF_I64      ? "s64"
                  : t == WF_U64      ? "u64"
                  : wf__is_signed(t) ? "s32"
                                     : "u32");
}
static inline val wf__ptx_bits(unsigned t)
{
    wf__ptx_kind c = wf__ptx_class(t);
    return v_text(c == V_P ? "pred" : c == V_H ? "b16" : c == V_R ? "b32" : "b64");
}
val wf__ptx_new(gen *g, unsigned dtype); /* a register for a value; for complex dtypes, of one part */
/* An immediate where PTX allows one, else a register. */
val wf__ptx_const(gen *g, unsigned dtype, uint64_t bits);

/* ---- ranges.c ---- */
bool wf__ptx_ranges(gen *g); /* sets node[].narrow; false = out of memory */

/* ---- op.c, cast.c: results in new registers. `dtype` is the operands' ---- */
val wf__ptx_op(gen *g, unsigned op, unsigned dtype, const val *x);
val wf__ptx_cast(gen *g, unsigned to, unsigned from, val x);
val wf__ptx_bitcast(gen *g, unsigned to, unsigned from, val x);
void wf__ptx_normalise(gen *g, unsigned dtype, val r); /* extends a small integer again */
val wf__ptx_select(gen *g, unsigned dtype, val when, val a, val b);

/* ---- value.c ---- */
val wf__ptx_use(gen *g, wf__ref r); /* a node's value in its full width: an i64 in 64 bits */
bool wf__ptx_uses_narrow(const gen *g, wf__ref r);
static inline val wf__ptx_as_is(const gen *g, wf__ref r) { return g->node[r].v; }
/* Drops 64-bit copies beyond the first `widened`: control flow may bypass the code that made them. */
void wf__ptx_forget(gen *g, uint32_t widened);
void wf__ptx_set_leaf(gen *g, wf__ref r); /* a constant, parameter or extent: emitted in the head */

/* ---- element.c ---- */
val wf__ptx_memory_type(unsigned dtype);                /* type of a load or store of a dtype, or of a complex part */
val wf__ptx_in_register(gen *g, unsigned dtype, val v); /* copies an immediate to a register */
val wf__ptx_stored(gen *g, unsigned dtype, val v);      /* a register in the form that memory has: bool as a byte */
static inline const char *wf__ptx_space(const wf__slot *slot) { return slot->shared ? "shared" : "global"; }
val wf__ptx_shared(gen *g); /* address of the kernel's shared memory */
void wf__ptx_load_element(gen *g, unsigned dtype, val address, const char *space, val when, val re, val im);
void wf__ptx_store_element(gen *g, unsigned dtype, val address, const char *space, val when, val re, val im);

/* ---- memory.c ---- */
void wf__ptx_load(gen *g, wf__ref r);
void wf__ptx_local(gen *g, wf__ref r); /* LOCAL, PUT, GET (local.c) */
typedef struct wf__ptx_pair {
    val re, im;
} wf__ptx_pair;
/* A load in two steps: its registers, preset to the value outside where `ok` may be false, and the node's value. */
wf__ptx_pair wf__ptx_load_begin(gen *g, wf__ref r, val ok);
void wf__ptx_load_end(gen *g, wf__ref r, wf__ptx_pair read);
void wf__ptx_store(gen *g, const wf__node *n);
val wf__ptx_address(gen *g, const wf__node *n, val *ok); /* ok: predicate of the access; V_NONE = always */
/* The state space and qualifiers of a load from the slot: the text after "ld.". */
const char *wf__ptx_read_space(const wf__ir *ir, const wf__slot *slot);

/* ---- update.c ---- */
void wf__ptx_update(gen *g, wf__ref r);
/* Atomically: element of global memory = join(element, value of its update dtype). */
void wf__ptx_join_element(gen *g, unsigned join, unsigned dtype, val address, val re, val im);

/* ---- index.c: values of the dtype of indices ---- */
typedef struct wf__ptx_span {
    val lo[WF_MAX_RANK], hi[WF_MAX_RANK];
} wf__ptx_span;
static inline unsigned wf__ptx_index_dtype(const gen *g) { return g->options->narrow ? WF_I32 : WF_I64; }
val wf__ptx_new_index(gen *g);
val wf__ptx_index_type(const gen *g);
val wf__ptx_index_field(gen *g, wf__ptx_what what, int axis);
val wf__ptx_special(gen *g, const char *name);
val wf__ptx_block_number(gen *g);
val wf__ptx_take_digit(gen *g, val *rest, val count);      /* returns rest % count; rest becomes rest / count */
void wf__ptx_leave_if(gen *g, val a, val limit, val exit); /* if (a >= limit) goto exit */
/* The tile along the lane axis and the row of this thread. Threads beyond the last row go to `exit`. */
val wf__ptx_row_and_tile(gen *g, bool rows, val block, val exit, val *tile);
void wf__ptx_find_lane(gen *g, val tile, val exit); /* sets the index along the lane axis */
/* Sets the indices of axes first .. end - 1 from the number of a row. */
void wf__ptx_outer_indices(gen *g, val row, int first, int end);
/* Sets the bounds, along axes first .. end - 1, of the box whose number the low digits of *rest hold. Returns that
 * number; *rest keeps the high digits. */
val wf__ptx_find_box(gen *g, val *rest, int first, int end, wf__ptx_span *s);
/* for (i = first; i < end; i += step); `next` is the label before the step. */
typedef struct wf__ptx_loop {
    val i, again, next, done;
} wf__ptx_loop;
wf__ptx_loop wf__ptx_begin_loop(gen *g, val first, val end);
void wf__ptx_end_loop(gen *g, const wf__ptx_loop *l, val step);

/* ---- body.c ---- */
void wf__ptx_walk(gen *g, wf__ref from, wf__ref to); /* emits nodes from .. to - 1 */
/* Emits options->post, for threads where `leads` holds. The accumulators hold the results. */
void wf__ptx_emit_post(gen *g, val leads);
/* acc = join(acc, other), for every reduction. */
void wf__ptx_join_accumulators(gen *g, const val *other);

/* ---- points.c ---- */
/* Emits the points of one block. Threads without a point, or done with theirs, go to `exit`. */
void wf__ptx_emit_points(gen *g, val block, val exit);
/* ---- private.c ---- */
void wf__ptx_emit_private(gen *g);
/* ---- reduce.c ---- */
void wf__ptx_reduce_by_warps(gen *g, val exit);
void wf__ptx_reduce_by_threads(gen *g, val exit);
/* ---- join.c ---- */
void wf__ptx_emit_join(gen *g);                   /* the kernel of wf__ptx_options.join */
uint32_t wf__ptx_join_shared(const wf__ir *body); /* bytes of shared memory of that kernel */
/* Joins options->initial with the value of reduction k. */
val wf__ptx_with_initial(gen *g, uint32_t k, val joined);
/* ---- thread_block.c ---- */
void wf__ptx_emit_thread_block(gen *g, val exit);

/* ---- vector.c ---- */
enum { WF__PTX_MOST_COLUMNS = 4 };
int wf__ptx_width(const wf__ir *body, int columns, wf__ptx_code *code); /* points per thread; 1 = plain accesses */
bool wf__ptx_is_wide(const wf__ir *ir, const wf__node *n);              /* may one access do all columns? */
/* Emits the access of node r for `count` columns from `column` on. */
void wf__ptx_move_columns(gen *g, wf__ref r, int column, int count);
/* True: node r is an access of all columns, which this call has handled. */
bool wf__ptx_emit_wide(gen *g, wf__ref r);
/* ---- packet.c ---- */
void wf__ptx_find_packets(gen *g);
/* True: node r is part of a packet. The packet is emitted at one of its nodes. */
bool wf__ptx_emit_packet(gen *g, wf__ref r);
/* ---- warp.c ---- */
/* The value of another lane. `how`: "down": the lane `by` further on; "bfly": the lane whose number differs by the
 * bits of `by`; "idx": lane `by`. */
val wf__ptx_from_lane(gen *g, unsigned dtype, val v, const char *how, val by, val members);
/* Joins the values of active lanes with equal addresses. *leads holds in one lane of each such group, which has the
 * joined value. */
val wf__ptx_join_lanes(gen *g, val address, unsigned join, unsigned dtype, val v, val *leads);
/* ---- watch.c: debug mode ---- */
bool wf__ptx_watches(const gen *g);
/* Reports an index that is not inside, where `when` holds (V_NONE = always). */
void wf__ptx_watch_index(gen *g, const wf__node *n, val when, val inside);
void wf__ptx_watch_local(gen *g, const wf__node *n); /* a CHECK */
/* Checks a store, or an update by a value of `dtype`. Return the predicate under which the access takes place. */
val wf__ptx_watch_store(gen *g, const wf__node *n, val address, val when, val re, val im);
val wf__ptx_watch_update(gen *g, const wf__node *n, unsigned dtype, val when, val re, val im);
#endif
