/* ir.h - the intermediate representation: one flat array of nodes in program order, and the builder that makes it.
 *
 * Every way in (C recording, operator text, math expansions, rewriting passes) appends through the builder, which folds
 * constants, applies algebraic rules and numbers values while it appends; every way out (interpreter, LLVM, PTX) walks
 * the same array from front to back. References are 32-bit node ids; 0 is "none" (a value: poison). An operand is
 * always an earlier node.
 *
 * One recording describes one point ("lane") of an index space of `rank` axes; the last axis is the one that vectors
 * run along. Array graphs use the same nodes: there a value is a whole array and tuple 0 means "element by element".
 */
#ifndef WEFT_IR_H
#define WEFT_IR_H
#include "base/base.h"
#include "weft/weft.h"

/* ---- the op table ---- */
typedef enum wf__op {
    WF__NOP, /* node 0, and removed nodes */
    /* structural nodes; fields as the comment says */
    WF__CONST,  /* a | b << 32: the value's bits (bool 0/1; smaller integers zero-extended) */
    WF__PARAM,  /* a: run-time parameter number; uniform */
    WF__INDEX,  /* a: axis. i64 index of the current point */
    WF__EXTENT, /* a: axis. i64 extent of the space; uniform */
    WF__DIM,    /* a: slot, b: axis. i64 extent of the slot's array; uniform */
    WF__ARG,    /* a: argument number of a cold body */
    WF__LOAD,   /* a: slot, b: tuple of i64 indices (0: element-wise), c: value outside (or 0), aux: wf_border,
                   d: epoch (stores to this memory that came before), when: bool predicate or 0 (always); where it is
                   false, nothing is read and the value is that outside. Array graphs have it in c, without a border:
                   ask wf__when and wf__otherwise */
    WF__STORE, /* a: slot, b: tuple (0: element-wise), c: value, d: bool predicate or 0 (always), aux: epoch of the slot
                   from then on, WF__EPOCH_LATE: that or later. Effect */
    WF__ACCUM, /* a: slot, b: tuple (0: of a slot of rank 0), c: value of wf__update_dtype, d: bool predicate or 0,
                   aux: join | mode << 4 (wf__node_join, wf__node_mode). The element becomes join(element, value).
                   Effect */
    WF__ATOMIC, /* the same, aux: join or WF_JOIN_EXCH. Effect whose value is what the element held before; 0 where
                   off */
    WF__CAS,    /* a: slot, b: tuple, c: tuple of expected and desired, d: as before. Where the bits of the element are
                   the expected ones they become the desired ones. Effect; its value is as ATOMIC's */
    WF__RED,    /* a: reduction, b: instance. Its value so far in this lane's accumulator */
    WF__SETRED, /* a: reduction, b: instance, c: value. Effect */
    WF__COLD,   /* a: bool condition, b: value where it is false, c: enum wf__cold_id, d: tuple of arguments.
                   Where the condition holds: the value of the cold body. Backends branch around it when no lane needs
                   it */
    /* A loop (loop.c): LOOP, its STATEs, a body, its NEXTs, END. The body runs while any lane has a guard that is true,
     * for all lanes: what it does must depend on the guard where that matters. Values of the body are not seen
     * outside */
    WF__LOOP,   /* aux: 1 if the body runs once at most (a condition): its guards' NEXTs are false */
    WF__STATE,  /* a: LOOP, b: initial value, aux: 1 for a guard (bool). In the body its value at the start of the turn,
                  after END the last one. Array graphs: of the shape of all it ever holds and of the loop's guards */
    WF__NEXT,   /* a: STATE, b: its value in the next turn. All take place together at END. Effect */
    WF__END,    /* a: LOOP. Effect */
    WF__REDUCE, /* array graphs only. a: value, b: wf_join, c: wf_axes, bits of the value's axes only */
    WF__IOTA,   /* array graphs only. a: axis of the node's shape. i64 */
    WF__SCAN,   /* array graphs only. a: value, b: wf_join, c: axis, aux: some of wf__scan_flags. Each element joined
                   with those before it along the axis */
    WF__VIEW, /* array graphs only (view.c). a: value whose elements it is made of, aux: wf__view_kind, b: tuple of CONST
                   i64, the numbers of the kind (GATHER: of i64 indices, one for each axis of the value), c: of GATHER,
                   the value where an index is out of range (0: none is) */
    /* Blocks of threads (GPUs). Elsewhere a thread is a block of its own */
    WF__THREAD,  /* a: axis of the space, or WF_MAX_RANK: of all. i64: which thread of its block this is, from 0; aux:
                    how many there are */
    WF__BARRIER, /* All threads of the block come before any goes on. aux: 1: the section that runs before the points of
                    the block ends here, 2: that after them begins; 0: of the recording. Effect */
    WF__CAST,    /* a: value; converts to the node's dtype. Float to integer: truncates, saturates, NaN to 0. To bool:
                   != 0. Integers wrap. Float to smaller float: nearest even */
    WF__CHECK,   /* a: bool, b: an i64 index, c: the extent that it should be below, d: local array | axis << 16, aux: 1
                    for a write. The index; where `a` is false, debug mode reports it */
    WF__BITCAST, /* a: value of a dtype of the same size */
/* pure operations; a, b, c: operands */
#define WF_OP(name, ...) WF__OP_##name,
#include "ir/ops.def"
#undef WF_OP
    WF__OP_COUNT
} wf__op;

enum { WF__COMM = 1, WF__ASSOC = 2, WF__EXPAND = 4, WF__CPLX = 8, WF__EXPAND_FLT = 16 };
typedef enum wf__types {
    WF__T_NONE,
    WF__T_NUM,
    WF__T_INT,
    WF__T_FLT,
    WF__T_BITS,
    WF__T_ANY,
    WF__T_FIRST_BOOL,
    WF__T_CPLX /* complex.c decides */
} wf__types;
typedef struct wf__op_info {
    const char *name; /* "add" */
    uint8_t arity;    /* number of value operands in a, b, c */
    uint8_t types;    /* wf__types; WF__T_NONE for structural nodes */
    bool to_bool;
    uint8_t flags;
    const char *doc;
} wf__op_info;
extern const wf__op_info wf__op_table[WF__OP_COUNT];
static inline bool wf__op_is_pure(unsigned op) { return op >= WF__CAST; } /* from the table, casts included */
/* Changes memory that other points may change, too. */
static inline bool wf__op_is_update(unsigned op) { return op == WF__ACCUM || op == WF__ATOMIC || op == WF__CAS; }
static inline bool wf__op_is_store(unsigned op) { return op == WF__STORE || wf__op_is_update(op); }
static inline bool wf__op_is_access(unsigned op) { return op == WF__LOAD || wf__op_is_store(op); }
static inline bool wf__op_is_effect(unsigned op)
{
    return wf__op_is_store(op) || op == WF__SETRED || op == WF__BARRIER;
}
static inline bool wf__op_has_value(unsigned op)
{
    bool loop = op >= WF__LOOP && op <= WF__END && op != WF__STATE;
    return op != WF__NOP && op != WF__STORE && op != WF__SETRED && op != WF__ACCUM && op != WF__BARRIER && !loop;
}
const char *wf__function_name(unsigned op);     /* that records it, for messages: "wf_add" */
int wf__op_named(const char *name, size_t len); /* -1: none. Pure operations only, without casts */

/* ---- dtypes ---- */
static inline bool wf__is_half(unsigned t) { return t == WF_F16 || t == WF_BF16; } /* computed in f32: half.c */
static inline bool wf__is_float(unsigned t) { return t >= WF_F16 && t <= WF_F64; }
static inline bool wf__is_complex(unsigned t) { return t >= WF_C32 && t <= WF_C128; } /* pairs of reals: complex.c */
static inline unsigned wf__part_dtype(unsigned t) /* of a complex dtype; else WF_NONE */
{
    return t == WF_C32 ? WF_F16 : t == WF_C64 ? WF_F32 : t == WF_C128 ? WF_F64 : WF_NONE;
}
static inline unsigned wf__complex_dtype(unsigned t) /* with parts of dtype t; WF_NONE: there is none */
{
    return t == WF_F16 ? WF_C32 : t == WF_F32 ? WF_C64 : t == WF_F64 ? WF_C128 : WF_NONE;
}
static inline bool wf__is_int(unsigned t) { return t >= WF_I8 && t <= WF_U64; }
static inline bool wf__is_signed(unsigned t) { return t == WF_I8 || t == WF_I16 || t == WF_I32 || t == WF_I64; }
static inline unsigned wf__size(unsigned t) /* bytes; only computable dtypes */
{
    return t == WF_BOOL || t == WF_I8 || t == WF_U8                   ? 1
           : t == WF_I16 || t == WF_U16 || wf__is_half(t)             ? 2
           : t == WF_I32 || t == WF_U32 || t == WF_F32 || t == WF_C32 ? 4
           : t == WF_C128                                             ? 16
                                                                      : 8;
}
/* What a value is joined in with an element of dtype t; f16 and bf16 are rounded after each join. */
static inline unsigned wf__update_dtype(unsigned t, unsigned join)
{
    return wf__is_half(t) && join <= WF_JOIN_XOR ? WF_F32 : t;
}
/* Are the bits of what is joined in elements of dtype t the same in any order? Integers do not mind, nor do minima and
 * maxima. */
static inline bool wf__any_order(unsigned t, unsigned join)
{
    return !(wf__is_float(t) || wf__is_complex(t)) || join == WF_JOIN_MIN || join == WF_JOIN_MAX;
}
static inline unsigned wf__align(unsigned t) { return wf__is_complex(t) ? wf__size(t) / 2 : wf__size(t); }
static inline unsigned wf__mantissa(unsigned t) /* of a float: bits stored */
{
    return t == WF_F16 ? 10 : t == WF_BF16 ? 7 : t == WF_F32 ? 23 : 52;
}
static inline unsigned wf__bias(unsigned t) { return t == WF_F16 ? 15 : t == WF_F64 ? 1023 : 127; } /* of a float */
bool wf__computable(wf_dtype t); /* not WF_NONE, and in range */
/* Whether operands of dtype t are allowed by the class: one bit per dtype. */
extern const uint32_t wf__types_mask[];
static inline bool wf__types_allow(unsigned types, unsigned t) { return wf__types_mask[types] >> t & 1; }
/* The same of an op, with complex dtypes. */
static inline bool wf__op_allows(unsigned op, unsigned t)
{
    const wf__op_info *info = &wf__op_table[op];
    bool pairs = wf__is_complex(t) ? info->flags & WF__CPLX : info->types == WF__T_CPLX && wf__complex_dtype(t);
    return wf__types_allow(info->types, t) || pairs;
}

/* ---- nodes ---- */
typedef uint32_t wf__ref;
typedef struct wf__node {
    uint16_t op;
    uint8_t dtype; /* of the result; of the stored value for STORE */
    uint8_t aux;
    uint32_t a, b, c, d;
    union {
        uint32_t shape; /* array graphs: index into shapes; 0 elsewhere and for scalars */
        uint32_t when;  /* index spaces: of a LOAD; 0 elsewhere */
    };
} wf__node;

/* Of SCAN: not the element itself; from the other end. */
enum wf__scan_flags { WF__EXCLUSIVE = 1, WF__REVERSED = 2 };

/* Kinds of VIEW and their numbers. Extents of the result follow from those of the value. */
typedef enum wf__view_kind {
    WF__VIEW_SLICE,     /* axis, start, stop, step: as wf_view_slice has them */
    WF__VIEW_PERMUTE,   /* axis d of the result is axis p[d] of the value */
    WF__VIEW_RESHAPE,   /* the extents; one of -1 follows from the others */
    WF__VIEW_BROADCAST, /* the extents */
    WF__VIEW_TILE,      /* how often the value is repeated along each axis */
    WF__VIEW_REPEAT,    /* axis, how often each element is repeated along it */
    WF__VIEW_GATHER
} wf__view_kind;

enum { WF__MOST_SPREAD = 32 };
/* Modes of ACCUM. In a stage's body there is no AUTO, and ALONE in debug mode only. */
enum { WF__MODE_AUTO, WF__MODE_DIRECT, WF__MODE_LOCAL, WF__MODE_EXPAND, WF__MODE_ALONE };
enum { WF__EPOCH_LATE = 255 };
static inline unsigned wf__node_join(const wf__node *n) { return n->aux & 15; }
static inline unsigned wf__node_mode(const wf__node *n) { return n->aux >> 4; }
static inline bool wf__is_alone(const wf__node *n) { return n->op == WF__ACCUM && wf__node_mode(n) == WF__MODE_ALONE; }

/* How index axis k of a slot steps through memory, as far as code depends on it. */
typedef enum wf__step { WF__STEP_ANY, WF__STEP_ZERO, WF__STEP_UNIT, WF__STEP_BACK } wf__step; /* BACK: -1 */

/* The operation that an error is about: of what was recorded, or that which could not be. */
typedef struct wf__culprit {
    wf__ref ref;   /* 0: it is not in the recording */
    wf__node node; /* NOP: the error is about none */
} wf__culprit;

enum { WF__BORDERS = WF_BORDER_REFLECT + 1 }; /* modes */

/* A field more: here, and in what makes keys of slots (add_ir in src/launch/key.c, body_key in src/run/engine.c) and text
 * (print.c, parse.c), if it means something there. wf__copy_tables copies all but what it resets. */
typedef struct wf__slot { /* memory that a recording names */
    uint8_t dtype, rank;
    bool read, written;
    bool element; /* accessed with tuple 0 (rank: that of the space, after lowering) */
    bool far;     /* after layout: by index, and larger than the caches of one core */
    bool flows;   /* after layout: read in rows by code that touches other memory here and there */
    bool rows;    /* after layout: by index, stores go where the lane's index is the last, in one row for all */
    bool meets;   /* after layout: another slot may name the same memory, and one of them is written */
    uint8_t step[WF_MAX_RANK]; /* wf__step of each axis; ANY until a layout is known */
    /* Not 0: private memory for ACCUMs that differ in a constant last index, if there are several; of mode EXPAND,
     * but for `shared`: there the threads of a block meet. Beyond 1: the last index, the lane's along its axis, counts
     * modulo this. */
    uint8_t spread;
    /* Not 0, after layout: constants below it are inside the last axis, whose elements lie side by side, and no element
     * has two indices. Private memory: then the whole last axis, before which lanes come. */
    uint8_t record;
    uint8_t scratch; /* memory of blocks: 1 + the axes in front, which say whose; else 0 */
    bool zeroed;     /* of scratch: 0 before the block begins */
    bool grows;      /* while recording array graphs: the array will have the shape of what is stored there, once */
    uint32_t shared; /* 1 + where it begins in memory that a block has to itself; 0: it is elsewhere */
    /* Then, on processors: not 0 where index k counts from the beginning of axis shift[k] - 1 of the space, but memory from
     * that of the block. */
    uint8_t shift[WF_MAX_RANK];
    uint32_t epoch;     /* stores so far to this memory */
    uint32_t later;     /* while copying: by how much epochs are later than in the original */
    wf__ref last_store; /* the STORE whose value a LOAD of the same tuple would see, or 0 */
    uint32_t shape;     /* array graphs: id of the array's shape */
    uint32_t object;    /* the api's own number for the array behind it */
} wf__slot;

/* Lanes lie apart in its memory, and the neighbours of an element are those of the rows beside it. */
static inline bool wf__is_crossed(const wf__slot *s)
{
    return s->element && s->rank > 1 && s->step[s->rank - 1] == WF__STEP_ANY && s->step[s->rank - 2] == WF__STEP_UNIT &&
           !wf__is_complex(s->dtype);
}

typedef struct wf__reduction {
    uint8_t dtype, join; /* wf_join; not f16 or bf16 */
    uint8_t instances;   /* accumulators that a lane's code addresses, 1 before tiling */
    uint64_t start;      /* of a custom join: what accumulators begin with, as bits */
} wf__reduction;

typedef struct wf__label { /* what the user calls a value, or an array (wf__array_ref); for dumps and messages */
    wf__ref ref;
    char text[60];
} wf__label;
static inline wf__ref wf__array_ref(uint32_t slot) { return (uint32_t)1 << 31 | slot; }

typedef struct wf__ir {
    wf__node *node; /* node[0] is a NOP */
    uint32_t n, node_cap;
    uint32_t *table;                /* value numbering: build.c */
    uint32_t table_size, table_cap; /* entries in use, a power of two or 0; allocated */
    uint32_t table_most;            /* nodes beyond which it grows; 0: nothing is numbered, or recording has failed */
    uint32_t *tuple;                /* interned lists: tuple[t] = length, then the refs. Id 0 is reserved */
    uint32_t tuple_n, tuple_cap;
    uint32_t *tuple_table; /* where each tuple is, by its contents */
    uint32_t tuple_table_size, tuples;
    uint32_t loops;   /* LOOP nodes */
    uint32_t *closed; /* pairs: first and last node of a loop's body that has ended; ascending, the outermost only */
    uint32_t closed_n, closed_cap;
    wf__slot *slot;
    uint32_t slot_n, slot_cap;
    wf__reduction *red;
    uint32_t red_n, red_cap;
    uint8_t *param; /* dtype of each run-time parameter */
    uint32_t param_n, param_cap;
    wf_shape *shape; /* shape[0] is rank 0 */
    wf__label *label;
    uint32_t label_n, label_cap;
    uint32_t shape_n, shape_cap;
    int32_t rank; /* axes of the index space; array graphs: 0 */
    /* Of bodies with custom joins, borrowed: joins what two accumulators hold. Pure nodes, ARG k and ARG red_n + k
     * (reduction k of the one and of the other) and a SETRED for each reduction with a custom join */
    const struct wf__ir *joiner;
    uint8_t kept;              /* of bodies with reductions: the outermost axes that they keep (kernel.h) */
    bool kept_lane;            /* and they keep the lane axis, too */
    bool arrays;               /* an array graph: nodes have shapes, pure operations broadcast */
    uint32_t flags;            /* some of WF__IR_FLAGS */
    uint32_t merged;           /* functions of tables that were equal to others */
    uint32_t folded, numbered; /* operations that became a constant or an operand, or an equal one, instead of a node */
    /* Of lowered bodies: assignments that a later one hides, variables of loops that nobody uses, and those that no
     * turn changes; loops written out, and conditions whose body is done by all lanes; counters that all running lanes
     * hold alike. */
    uint32_t hidden, unused, invariant, written_out, in_lockstep;
    wf_status status; /* first error; WF_OK while none. Builders return 0 from then on */
    char error[768];
    wf__culprit about;
} wf__ir;

enum {
    WF__IR_FLAGS = WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING | WF_FLAG_CALL_OPT | WF_FLAG_DEAD_CODE | WF_FLAG_LOOP_OPT |
                   WF_FLAG_PACKETS | WF_FLAG_FAST_MATH | WF_FLAG_DEBUG | WF_FLAG_TRAP_NAN | WF_FLAG_TIERED
};
void wf__ir_init(wf__ir *ir, int rank, uint32_t flags);
void wf__ir_reset(wf__ir *ir, int rank, uint32_t flags); /* empties it, keeps its memory */
void wf__ir_reserve(wf__ir *ir, uint32_t nodes); /* memory for so many, all at once; without it, it is said later */
void wf__ir_free(wf__ir *ir);
void wf__ir_fail(wf__ir *ir, wf_status status, const char *format, ...) WF__PRINTF(3, 4); /* the first wins */
/* The same about an operation, recorded or to be. */
void wf__ir_fail_at(wf__ir *ir, const wf__node *n, wf_status status, const char *format, ...) WF__PRINTF(4, 5);

/* ---- builder ----
 * Operands must be live refs of this ir; a 0 operand poisons silently (its error is set already).
 * Dtypes must fit the op (front ends convert first): a mismatch is WF_ERR_DTYPE. All return the new (or an equal, or
 * a simpler) node, or 0. */
wf__ref wf__const_bits(wf__ir *ir, unsigned dtype, uint64_t bits);
wf__ref wf__const_f64(wf__ir *ir, unsigned dtype, double value); /* converted as a cast from f64 would */
wf__ref wf__param(wf__ir *ir, unsigned dtype);                   /* a new parameter */
wf__ref wf__param_at(wf__ir *ir, uint32_t number);               /* an existing one */
wf__ref wf__index(wf__ir *ir, int axis);
wf__ref wf__extent(wf__ir *ir, int axis);
wf__ref wf__thread_of(wf__ir *ir, int axis, bool count);
/* Values that were recorded before one that parts sections are not found again after it. */
void wf__barrier(wf__ir *ir, unsigned section);
wf__ref wf__dim(wf__ir *ir, uint32_t slot, int axis);
wf__ref wf__arg(wf__ir *ir, uint32_t number, unsigned dtype);
wf__ref wf__op1(wf__ir *ir, unsigned op, wf__ref a);
wf__ref wf__op2(wf__ir *ir, unsigned op, wf__ref a, wf__ref b);
wf__ref wf__op3(wf__ir *ir, unsigned op, wf__ref a, wf__ref b, wf__ref c);
/* For callers that know: nothing has failed, the operands are live and of one dtype that the op allows. */
wf__ref wf__op1_fitting(wf__ir *ir, unsigned op, wf__ref a);
wf__ref wf__op2_fitting(wf__ir *ir, unsigned op, wf__ref a, wf__ref b);
wf__ref wf__cast(wf__ir *ir, wf__ref a, unsigned dtype);
wf__ref wf__bitcast(wf__ir *ir, wf__ref a, unsigned dtype);
/* `like` is a CHECK whose operands are not these; the index itself where `right` is known to hold. */
wf__ref wf__check(wf__ir *ir, const wf__node *like, wf__ref right, wf__ref index);
wf__ref wf__load(wf__ir *ir, uint32_t slot, uint32_t tuple, wf_border border, wf__ref other);
wf__ref wf__load_when(wf__ir *ir, uint32_t slot, uint32_t tuple, wf_border border, wf__ref other, wf__ref when);
void wf__store(wf__ir *ir, uint32_t slot, uint32_t tuple, wf__ref value, wf__ref predicate);
/* The store `n` of another recording. A load there that is of the epoch which `n` began sees what it stored; of a
 * later one, something else has been stored in between, perhaps through another slot. */
void wf__store_again(wf__ir *ir, const wf__node *n, uint32_t tuple, wf__ref value, wf__ref predicate);
void wf__accum(wf__ir *ir, uint32_t slot, uint32_t tuple, unsigned join, unsigned mode, wf__ref value,
               wf__ref predicate);
wf__ref wf__atomic(wf__ir *ir, uint32_t slot, uint32_t tuple, unsigned join, wf__ref value, wf__ref predicate);
wf__ref wf__cas(wf__ir *ir, uint32_t slot, uint32_t tuple, wf__ref expected, wf__ref desired, wf__ref predicate);
wf__ref wf__red(wf__ir *ir, uint32_t red, uint32_t instance);
void wf__setred(wf__ir *ir, uint32_t red, uint32_t instance, wf__ref value);
wf__ref wf__cold(wf__ir *ir, wf__ref condition, wf__ref otherwise, uint32_t cold_id, const wf__ref *args, uint32_t n);
enum { WF__MOST_NESTED = 64 }; /* loops */
/* loop.c. The states follow the loop at once, the nexts come right before the end. */
wf__ref wf__loop(wf__ir *ir, bool once);
wf__ref wf__state(wf__ir *ir, wf__ref loop, wf__ref initial, bool guard);
void wf__next(wf__ir *ir, wf__ref state, wf__ref value);
void wf__end(wf__ir *ir, wf__ref loop);
bool wf__in_closed(const wf__ir *ir, wf__ref r); /* in the body of a loop that has ended */
static inline bool wf__is_closed(const wf__ir *ir, wf__ref r) { return ir->closed_n && wf__in_closed(ir, r); }
wf__ref wf__loop_end(const wf__ir *ir, wf__ref loop); /* its END */
static inline bool wf__is_loop_op(unsigned op) { return op >= WF__LOOP && op <= WF__END; }
uint32_t wf__slot_new(wf__ir *ir, unsigned dtype, int rank, bool element, uint32_t object);
uint32_t wf__red_new(wf__ir *ir, unsigned dtype, wf_join join);
uint32_t wf__tuple(wf__ir *ir, const wf__ref *refs, uint32_t n); /* interned; 0 for n = 0 */
uint32_t wf__shape_id(wf__ir *ir, const wf_shape *shape);        /* interned; 0 for rank 0 */
bool wf__shape_known(const wf__ir *ir, uint32_t shape);          /* no extent is -1 */
/* Elements of a shape; false: an extent is negative or there are more than 2^63 - 1. */
bool wf__shape_count(const wf_shape *shape, int64_t *out);
/* NumPy's rule; an extent of -1 is unknown and fits anything. false: they do not fit. */
bool wf__broadcast(const wf_shape *a, const wf_shape *b, wf_shape *out);
/* The same on interned shapes of operands of n; fails the ir, and gives 0. */
uint32_t wf__broadcast_id(wf__ir *ir, const wf__node *n, uint32_t a, uint32_t b);
void wf__bad_shape_text(const wf_shape *shape, char *buf, size_t cap); /* as the caller gave it: "(3, -4)" */
void wf__renumber(wf__ir *ir); /* after nodes were changed in place: equal ones are found by what they are now */
const char *wf__label_of(const wf__ir *ir, wf__ref r);       /* NULL: none */
void wf__set_label(wf__ir *ir, wf__ref r, const char *text); /* NULL: no-op */
/* In debug mode recordings keep labels through all passes: that of `from`, if it has one, for `to` in out. */
void wf__copy_label(const wf__ir *in, wf__ref from, wf__ir *out, wf__ref to);
/* view.c. The value itself where nothing changes. GATHER: indices are i64 and as many as the value has axes. */
wf__ref wf__view(wf__ir *ir, unsigned kind, const int64_t *numbers, uint32_t n, wf__ref value);
wf__ref wf__gather(wf__ir *ir, wf__ref value, uint32_t tuple, wf__ref other);
wf__ref wf__as_literal(const wf__ir *ir, wf__ref r); /* the CONST that is broadcast there; else r */
uint32_t wf__view_numbers(const wf__ir *ir, const wf__node *view, int64_t out[WF_MAX_RANK]); /* how many */
bool wf__view_fits(unsigned kind, const int64_t *numbers, uint32_t n, const wf_shape *in);   /* numbers and axes */
/* The shape of such a view, not of GATHER; false: extents do not fit. Those of -1 are unknown. */
bool wf__view_shape(unsigned kind, const int64_t *numbers, uint32_t n, const wf_shape *in, wf_shape *out);
/* Python's slice of n elements: how many, and the first one in *start. */
int64_t wf__slice_range(int64_t n, int64_t *start, int64_t stop, int64_t step);
/* Have they as many elements? Fills in one extent of -1. */
bool wf__reshape_fits(const wf_shape *from, wf_shape *to);
/* Appends a node as it is, numbered if pure; for passes that copy. */
wf__ref wf__append(wf__ir *ir, const wf__node *node);

/* The function that a node comes from: wf_in where the load is of elements, ... */
const char *wf__function_of(const wf__node *n);
static inline const wf__node *wf__at(const wf__ir *ir, wf__ref r) { return &ir->node[r]; }
static inline unsigned wf__dtype(const wf__ir *ir, wf__ref r) { return ir->node[r].dtype; }
/* Id of a value's shape; 0 in index spaces, where loads have their condition in that place. */
static inline uint32_t wf__shape_of(const wf__ir *ir, wf__ref r) { return ir->arrays ? ir->node[r].shape : 0; }
static inline bool wf__when_is_c(const wf__ir *ir, const wf__node *load)
{
    return ir->arrays && load->aux == WF_BORDER_NONE;
}
static inline wf__ref wf__when(const wf__ir *ir, const wf__node *load)
{
    return !ir->arrays ? load->when : wf__when_is_c(ir, load) ? load->c : 0;
}
static inline wf__ref wf__otherwise(const wf__ir *ir, const wf__node *load)
{
    return wf__when_is_c(ir, load) ? 0 : load->c;
}
static inline uint64_t wf__bits(const wf__node *n) { return n->a | (uint64_t)n->b << 32; } /* of a CONST */
static inline uint32_t wf__tuple_len(const wf__ir *ir, uint32_t t) { return t ? ir->tuple[t] : 0; }
static inline const wf__ref *wf__tuple_at(const wf__ir *ir, uint32_t t) { return ir->tuple + t + 1; }
bool wf__is_const(const wf__ir *ir, wf__ref r, double value); /* a CONST equal to value (and -0 is not 0) */

/* ---- meaning: what each pure op does to n values; constant folder and interpreter in one. Arrays are packed, of the
 * operands' dtypes; bools are bytes 0 or 1. `dtype`: of the operands (of the last one for select). ---- */
void wf__eval(unsigned op, unsigned dtype, void *out, const void *a, const void *b, const void *c, size_t n);
void wf__eval_cast(unsigned to, unsigned from, void *out, const void *a, size_t n);
/* The neutral element of a join as bits of dtype (add 0, mul 1, min +inf or largest, ...). */
uint64_t wf__join_neutral(wf_join join, unsigned dtype);
unsigned wf__join_op(wf_join join);                            /* WF_JOIN_ADD: WF__OP_add, ...; 0 for custom */
static inline uint64_t wf__red_start(const wf__reduction *red) /* what accumulators begin with */
{
    return red->join == WF_JOIN_CUSTOM ? red->start : wf__join_neutral((wf_join)red->join, red->dtype);
}
/* One element joined with n values, or (CAS) exchanged; complex numbers by parts. Scalars in memory of dtype t;
 * `value` of wf__update_dtype. For interpreters and merges: `*element = join(*element, value)`. */
void wf__update(unsigned join, unsigned t, void *element, const void *value);
unsigned wf__join_op(wf_join join);              /* WF_JOIN_ADD: WF__OP_add, ...; 0 for custom */
bool wf__updates(unsigned join, unsigned dtype); /* can elements of that dtype be accumulated so? */

/* ---- expansion: ops as other ops, built through the builder ---- */
static inline bool wf__op_expands(unsigned op, unsigned dtype) /* dtype: of the (last) operand */
{
    unsigned flags = wf__op_table[op].flags;
    return flags & WF__EXPAND || (flags & WF__EXPAND_FLT && wf__is_float(dtype));
}
/* Whether backends do not get a pure node like this: EXPAND ops, and all of f16 and bf16 but select, bitcast,
 * complex and casts from and to f32. `dtype`: of the (last) operand, `to`: of the result. */
static inline bool wf__expands(unsigned op, unsigned dtype, unsigned to)
{
    if (op == WF__CAST)
        return (wf__is_half(dtype) && to != WF_F32) || (wf__is_half(to) && dtype != WF_F32);
    bool moves = op == WF__BITCAST || op == WF__OP_select || op == WF__OP_complex;
    return wf__op_expands(op, dtype) || (wf__is_half(dtype) && !moves);
}
/* `real`, `imag`, `complex`: what is recorded of complex arithmetic. */
static inline bool wf__op_is_parts(unsigned op)
{
    return op == WF__OP_real || op == WF__OP_imag || op == WF__OP_complex;
}
/* Operations that meet complex numbers, recorded as operations on the parts (complex.c); the builder comes here by
 * itself. */
wf__ref wf__complex_op(wf__ir *ir, unsigned op, const wf__ref x[3]);
wf__ref wf__complex_cast(wf__ir *ir, wf__ref z, unsigned to);
wf__ref wf__real(wf__ir *ir, wf__ref z);
wf__ref wf__imag(wf__ir *ir, wf__ref z);
wf__ref wf__complex(wf__ir *ir, wf__ref re, wf__ref im);
/* Of a product of complex numbers, whose parts are reductions k and k + 1 with custom joins (starts 1 and 0): sets
 * them to what they hold times z. And records that join in a joiner, which has the reductions. */
void wf__red_times(wf__ir *ir, uint32_t k, wf__ref z);
void wf__join_product(wf__ir *joiner, uint32_t k);
/* Such a node as other ones (half.c). */
wf__ref wf__expand(wf__ir *ir, unsigned op, unsigned to, const wf__ref x[3]);
/* expand.c, math_*.c: EXPAND ops; each of f32 and f64 */
wf__ref wf__expand1(wf__ir *ir, unsigned op, wf__ref a);
wf__ref wf__expand2(wf__ir *ir, unsigned op, wf__ref a, wf__ref b);
wf__ref wf__expand3(wf__ir *ir, unsigned op, wf__ref a, wf__ref b, wf__ref c);
/* Cold bodies: rare paths (arguments beyond the fast reduction), kept out of line. */
typedef enum wf__cold_id {
    WF__COLD_NONE,
    WF__COLD_SIN_F32,
    WF__COLD_COS_F32,
    WF__COLD_TAN_F32, /* (x f32) */
    WF__COLD_SIN_F64,
    WF__COLD_COS_F64,
    WF__COLD_TAN_F64, /* (x f64) */
    WF__COLD_ERFINV_F32,
    WF__COLD_TGAMMA_F32,
    WF__COLD_LGAMMA_F32, /* (x f32) */
    WF__COLD_ERFINV_F64,
    WF__COLD_TGAMMA_F64,
    WF__COLD_LGAMMA_F64, /* (x f64) */
    WF__COLD_MOD_F32,
    WF__COLD_MOD_F64, /* (x, y) */
    WF__COLD_COUNT
} wf__cold_id;
/* Builds the body's result from its arguments (ARG nodes, or constants when folding). Must not contain COLD nodes. */
wf__ref wf__cold_body(wf__ir *ir, wf__cold_id id, const wf__ref *args, uint32_t n);

/* ---- passes over a whole ir: into `out` (initialised by the callee; the caller frees it). Return false with
 * out->status set on failure ---- */
bool wf__pass_lower(const wf__ir *in, wf__ir *out); /* expands EXPAND ops; drops dead nodes and dead stores */
bool wf__pass_is_lowered(const wf__ir *ir);         /* would lowering only copy it? */
/* A lowered body, in place: counters that all running lanes of a loop hold alike become uniform. For backends whose lanes
 * are those of vectors. */
bool wf__pass_lockstep(wf__ir *ir);

/* ---- checking, printing, parsing ---- */
bool wf__verify(const wf__ir *ir, wf__str *error); /* every invariant of this header; error->failed: no memory */
void wf__print(const wf__ir *ir, wf__str *out);
void wf__number_text(const wf__node *n, wf__str *out); /* of a CONST, as drawings and messages have it */
/* The nodes and edges of a Graphviz graph. slot_name: [slot_n], NULL where there is none, or NULL; `id` begins every
 * name. */
void wf__print_dot(const wf__ir *ir, const char *const *slot_name, const char *id, wf__str *out);
bool wf__parse(const char *text, wf__ir *out, wf__str *error); /* print(parse(print(x))) == print(x) */

/* ---- analysis: how a value varies over the space ---- */
typedef enum wf__kind { WF__UNIFORM, WF__AFFINE, WF__VARYING } wf__kind;
typedef struct wf__vary {
    uint8_t kind;  /* along the lane axis: UNIFORM, AFFINE (value = base + lane, coefficient `coef`), VARYING */
    uint8_t level; /* innermost loop needed: 0 none, k: axis k-1 and axes outside it; rank: the lane axis */
    int64_t coef;  /* AFFINE: per lane, a known constant, not 0 */
} wf__vary;
/* One entry per node. Lane axis: ir->rank - 1. */
void wf__analyse(const wf__ir *ir, wf__vary *out);

/* Marks, one byte per node, the values that something in memory decides. */
void wf__mark_read(const wf__ir *ir, uint8_t *read);
/* May the lanes of an access by these indices be anywhere, as something in memory says? */
bool wf__is_scattered(const wf__ir *ir, const wf__vary *vary, const uint8_t *read, uint32_t tuple);

/* A tuple component as index[axis] + offset, when it is exactly that (offset a constant): the form that border
 * splitting, alias tests and tiling understand. axis -1: a constant alone. */
bool wf__as_offset(const wf__ir *ir, wf__ref r, int *axis, int64_t *offset);
/* A load with a border mode whose every index is such a form: inside a box of points it needs no test. */
bool wf__load_splits(const wf__ir *ir, const wf__node *load);
#endif
