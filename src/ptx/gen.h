/* gen.h - what the files of the PTX generator share: values, registers, and text made from templates.
 *
 * Registers are untyped (.b16, .b32, .b64, .pred), so that reinterpreting bits costs nothing. In registers
 *   - a bool is a predicate, f16 and bf16 are 16 bits, complex numbers are two registers;
 *   - integers below 32 bits are extended to 32 by their sign or zeros, always;
 *   - an i64 that surely fits 32 bits may be held in 32 ("narrow", ranges.c).
 */
#ifndef WEFT_PTX_GEN_H
#define WEFT_PTX_GEN_H
#include "ptx/ptx.h"

typedef enum wf__ptx_kind { V_NONE, V_P, V_H, V_R, V_D, V_INT, V_F32, V_F64, V_LABEL, V_TEXT } wf__ptx_kind;
typedef struct wf__ptx_val {
    uint32_t kind;
    union {
        uint32_t number; /* of a register or label */
        uint64_t bits;   /* of an immediate */
        const char *text;
    };
} val;

typedef struct wf__ptx_gen {
    const wf__ir *ir; /* being emitted: the body, a cold body or the joiner */
    const wf__ptx_options *options;
    wf__ptx_code *code;
    wf__str head, body; /* head: what is computed once, before any control flow */
    wf__str *out;       /* of these */
    uint32_t regs[V_D + 1], labels;
    struct {         /* one per node */
        val v, more; /* more: the imaginary part; of narrow ones the 64-bit value, once it was needed */
        bool narrow, in_head;
    } * node;
    uint32_t *widened, widened_n; /* nodes whose 64-bit value is known, as long as the block that made it is open */
    val index[WF_MAX_RANK];       /* of the current point */
    val thread[WF_MAX_RANK + 1]
              [2];  /* of teams: which one this is along an axis, and how many there are; last: of all */
    val shared;     /* address of shared memory, once it was asked for */
    val *acc;       /* of reductions, two each where complex */
    val mask;       /* V_NONE, or a predicate: where it is false, accumulators stay what they are */
    const val *arg; /* of cold bodies and joiners */
    val field[WF__PTX_MOST_FIELDS][2]; /* 64 bits, and the low 32 of them */
    bool inner;                        /* ir is not the body */
    bool post;                         /* but options->post */
    int width, column;                 /* points of a thread (vector.c), and which one is being emitted */
    val *wide;                         /* while all of them are: what is read and written at once, 4 for each node */
    struct wf__ptx_packet *packets;    /* packet.c */
    uint32_t *packet_of, packets_n;    /* of a node: 1 + its packet; 0: none */
    wf__str list;                      /* registers of the last one */
    wf_status status;
    wf__str *error;
} gen;

/* ---- text.c ---- */
static inline val v_int(int64_t x) { return (val){ .kind = V_INT, .bits = (uint64_t)x }; }
static inline val v_text(const char *t) { return (val){ .kind = V_TEXT, .text = t }; }
val wf__ptx_reg(gen *g, wf__ptx_kind kind);
val wf__ptx_new_label(gen *g);
void wf__ptx_label(gen *g, val label); /* here */
/* One instruction: $0 to $9 are the values. */
void wf__ptx_line(gen *g, const char *template, const val *v);
#define EMIT(g, template, ...) wf__ptx_line(g, template, (const val[]){ __VA_ARGS__ })
void wf__ptx_fail(gen *g, wf_status status, const char *format, ...) WF__PRINTF(3, 4);
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
static inline val wf__ptx_type(unsigned t) /* of arithmetic */
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
val wf__ptx_new(gen *g, unsigned dtype);                  /* a register for it; of complex ones, for a part */
val wf__ptx_const(gen *g, unsigned dtype, uint64_t bits); /* an immediate where there are such */

/* ---- ranges.c ---- */
bool wf__ptx_ranges(gen *g); /* sets node[].narrow; false without memory */

/* ---- op.c, cast.c: to a new register, from values as kept in registers. `dtype` of the operands ---- */
val wf__ptx_op(gen *g, unsigned op, unsigned dtype, const val *x);
val wf__ptx_cast(gen *g, unsigned to, unsigned from, val x);
val wf__ptx_bitcast(gen *g, unsigned to, unsigned from, val x);
void wf__ptx_normalise(gen *g, unsigned dtype, val r); /* extends a small integer again */
val wf__ptx_select(gen *g, unsigned dtype, val when, val a, val b);

/* ---- body.c ---- */
/* The value of a node as its dtype says (i64: 64 bits). */
val wf__ptx_use(gen *g, wf__ref r);
bool wf__ptx_uses_narrow(const gen *g, wf__ref r);
static inline val wf__ptx_as_is(const gen *g, wf__ref r) { return g->node[r].v; }
void wf__ptx_walk(gen *g, wf__ref from, wf__ref to); /* nodes from .. to - 1 */
void wf__ptx_forget(gen *g, uint32_t widened);       /* 64-bit values that were made since there were so many */
/* options->post, where `leads` holds; accumulators hold the results. */
void wf__ptx_post(gen *g, val leads);
/* acc = join(acc, other) of all reductions. */
void wf__ptx_join(gen *g, const val *other);

/* ---- memory.c ---- */
void wf__ptx_load(gen *g, wf__ref r);
typedef struct wf__ptx_pair {
    val re, im;
} wf__ptx_pair;
/* Registers for what is read, with the value outside where `ok` may not hold; the value of the node. */
wf__ptx_pair wf__ptx_load_begin(gen *g, wf__ref r, val ok);
void wf__ptx_load_end(gen *g, wf__ref r, wf__ptx_pair read);
void wf__ptx_store(gen *g, const wf__node *n);
val wf__ptx_address(gen *g, const wf__node *n, val *ok); /* ok: a predicate, or V_NONE: always */
val wf__ptx_memory_type(unsigned dtype);                 /* of a load or store of a dtype, or of a part */
const char *wf__ptx_read_space(const wf__ir *ir, const wf__slot *slot); /* and how: what follows ld */
val wf__ptx_in_register(gen *g, unsigned dtype, val v);                 /* immediates are not everywhere allowed */
val wf__ptx_stored(gen *g, unsigned dtype, val v);                      /* a register with what goes to memory */
static inline const char *wf__ptx_space(const wf__slot *slot) { return slot->shared ? "shared" : "global"; }
val wf__ptx_shared(gen *g); /* where shared memory begins */
void wf__ptx_load_element(gen *g, unsigned dtype, val address, const char *space, val when, val re, val im);
void wf__ptx_store_element(gen *g, unsigned dtype, val address, const char *space, val when, val re, val im);
/* ---- update.c ---- */
void wf__ptx_update(gen *g, wf__ref r);
/* An element of global memory = join(it, a value of its update dtype), atomically. */
void wf__ptx_join_element(gen *g, unsigned join, unsigned dtype, val address, val re, val im);
/* ---- kernel.c: of the dtype of indices ---- */
typedef struct wf__ptx_span {
    val lo[WF_MAX_RANK], hi[WF_MAX_RANK];
} wf__ptx_span;
static inline unsigned wf__ptx_index_dtype(const gen *g) { return g->options->narrow ? WF_I32 : WF_I64; }
val wf__ptx_new_index(gen *g);
val wf__ptx_index_type(const gen *g);
val wf__ptx_index_field(gen *g, wf__ptx_what what, int axis);
val wf__ptx_special(gen *g, const char *name);
val wf__ptx_block_number(gen *g);
val wf__ptx_take_digit(gen *g, val *rest, val count); /* rest % count; rest becomes rest / count */
void wf__ptx_leave_if(gen *g, val a, val limit, val exit);
/* Blocks go along the lane axis first; returns the row. */
val wf__ptx_row_and_tile(gen *g, bool rows, val block, val exit, val *tile);
void wf__ptx_find_lane(gen *g, val tile, val exit);
/* The indices of axes first .. end - 1 from the number of a row. */
void wf__ptx_outer_indices(gen *g, val row, int first, int end);
void wf__ptx_points(gen *g, val block, val exit); /* those of a block; who has none, or has done them, goes to `exit` */
/* for (i = first; i < end; i += step) */
typedef struct wf__ptx_turns {
    val i, again, next, done;
} wf__ptx_turns;
wf__ptx_turns wf__ptx_begin_turns(gen *g, val first, val end);
void wf__ptx_end_turns(gen *g, const wf__ptx_turns *t, val step); /* `next` is here */
/* ---- private.c ---- */
void wf__ptx_private(gen *g);
/* ---- reduce.c ---- */
/* The box of axes first .. end - 1 whose number is the low digits of *rest; the number. */
val wf__ptx_take_box(gen *g, val *rest, int first, int end, wf__ptx_span *s);
void wf__ptx_by_warps(gen *g, val exit);
void wf__ptx_by_threads(gen *g, val exit);
/* ---- join.c ---- */
void wf__ptx_join_rows(gen *g);                           /* the kernel of wf__ptx_options.join */
uint32_t wf__ptx_join_shared(const wf__ir *body);         /* bytes of shared memory that it takes */
val wf__ptx_with_initial(gen *g, uint32_t k, val joined); /* of reduction k, options->initial joined in */
/* ---- vector.c ---- */
int wf__ptx_width(const wf__ir *body, int columns, wf__ptx_code *code); /* points of a thread; 1: as ever */
void wf__ptx_vectors(gen *g, val tile, val exit);
bool wf__ptx_wide_node(gen *g, wf__ref r); /* is it part of an access for all columns? Then it is done */
/* ---- packet.c ---- */
void wf__ptx_find_packets(gen *g);
bool wf__ptx_packet_node(gen *g, wf__ref r); /* is it part of an access of several? Then it is done, or will be */
/* ---- warp.c ---- */
/* What another lane holds: `by` further ("down"), of the lane with that bit other ("bfly"), or lane `by` ("idx"). */
val wf__ptx_from_lane(gen *g, unsigned dtype, val v, const char *how, val by, val members);
/* Of the lanes here with the same address one leads, and has the values of all of them joined. */
val wf__ptx_meet(gen *g, val address, unsigned join, unsigned dtype, val v, val *leads);
/* ---- watch.c: debug mode ---- */
bool wf__ptx_watches(const gen *g);
/* Where `when` holds (V_NONE: always) and the index of an access is not inside. */
void wf__ptx_watch_index(gen *g, const wf__node *n, val when, val inside);
void wf__ptx_watch_local(gen *g, const wf__node *n); /* a CHECK */
/* Before a store to an address where `when` holds, or an update by a value of that dtype: where it takes place. */
val wf__ptx_watch_store(gen *g, const wf__node *n, val address, val when, val re, val im);
val wf__ptx_watch_update(gen *g, const wf__node *n, unsigned dtype, val when, val re, val im);
/* ---- team.c ---- */
void wf__ptx_team(gen *g, val exit);
#endif
