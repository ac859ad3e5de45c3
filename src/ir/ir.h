/* ir.h - the intermediate representation: one flat array of nodes in program order, and the builder that makes it.
 *
 * Everything that records (the C interface, operator text, math expansions, passes) appends through the builder. The
 * builder folds constants, applies algebraic rules and numbers values while it appends. All backends (interpreter,
 * LLVM, PTX) walk the array from front to back. A reference is a 32-bit node id, 0 = none; as a value, 0 is poison. An
 * operand is always an earlier node. node.def lists the nodes and their fields, ops.def the pure operations.
 *
 * A recording of an index space describes one point, or lane, of a space of `rank` axes; vectors run along the last
 * axis. Array graphs use the same nodes: a value is a whole array there, and tuple 0 means element by element.
 */
#ifndef WEFT_IR_H
#define WEFT_IR_H
#include "ir/node.h"

/* ---- dtypes ---- */
static inline bool wf__is_half(unsigned t) { return t == WF_F16 || t == WF_BF16; } /* computed in f32: half.c */
static inline bool wf__is_float(unsigned t) { return t >= WF_F16 && t <= WF_F64; }
static inline bool wf__is_complex(unsigned t) { return t >= WF_C32 && t <= WF_C128; } /* pairs of reals: complex.c */
static inline unsigned wf__part_dtype(unsigned t) /* dtype of the parts of a complex dtype; WF_NONE for others */
{
    return t == WF_C32 ? WF_F16 : t == WF_C64 ? WF_F32 : t == WF_C128 ? WF_F64 : WF_NONE;
}
static inline unsigned wf__complex_dtype(unsigned t) /* the complex dtype with parts of dtype t; WF_NONE = none */
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
/* The dtype of values that are joined with an element of dtype t. f16 and bf16 are joined in f32, and rounded after each
 * join. */
static inline unsigned wf__update_dtype(unsigned t, unsigned join)
{
    return wf__is_half(t) && join <= WF_JOIN_XOR ? WF_F32 : t;
}
/* True if joins of elements of dtype t give the same bits in any order: all joins of integers, minima and maxima. */
static inline bool wf__any_order(unsigned t, unsigned join)
{
    return !(wf__is_float(t) || wf__is_complex(t)) || join == WF_JOIN_MIN || join == WF_JOIN_MAX;
}
static inline unsigned wf__align(unsigned t) { return wf__is_complex(t) ? wf__size(t) / 2 : wf__size(t); }
static inline unsigned wf__mantissa(unsigned t) /* stored mantissa bits of a float dtype */
{
    return t == WF_F16 ? 10 : t == WF_BF16 ? 7 : t == WF_F32 ? 23 : 52;
}
static inline unsigned wf__bias(unsigned t) /* exponent bias of a float dtype */
{
    return t == WF_F16 ? 15 : t == WF_F64 ? 1023 : 127;
}
bool wf__computable(wf_dtype t); /* not WF_NONE, and in range */
/* The dtypes that each of wf__types allows, one bit per dtype. */
extern const uint32_t wf__types_mask[];
static inline bool wf__types_allow(unsigned types, unsigned t) { return wf__types_mask[types] >> t & 1; }
/* True if an operation takes operands of dtype t, complex ones included. */
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
    uint8_t dtype; /* of the value, or of the element or accumulator that an effect changes */
    uint8_t aux;   /* small fields: node.def */
    uint32_t a, b, c, d;
    union {
        uint32_t shape; /* array graphs: index into wf__ir.shape, 0 = scalar */
        uint32_t when;  /* index spaces: condition of a LOAD, 0 = always; 0 for other nodes */
    };
} wf__node; /* 24 bytes: a larger node slows recording (value_numbering.h) */

enum { WF__MOST_SPREAD = 32 };
enum { WF__EPOCH_LATE = 255 };
static inline unsigned wf__node_join(const wf__node *n) { return n->aux & 15; }
static inline unsigned wf__node_mode(const wf__node *n) { return n->aux >> 4; }
static inline bool wf__has_no_conflict(const wf__node *n)
{
    return n->op == WF__ACCUM && wf__node_mode(n) == WF__MODE_NO_CONFLICT;
}

/* The operation that an error is about. */
typedef struct wf__culprit {
    wf__ref ref;   /* 0 = an operation that could not be recorded */
    wf__node node; /* NOP = the error is about no operation */
} wf__culprit;

/* A new field that code depends on also belongs into the keys (add_ir in launch/key.c, body_key in run/engine.c) and
 * into the text (text_print.c, text_parse.c). wf__copy_tables copies every field but those that it resets. */
typedef struct wf__slot { /* memory that a recording names */
    /* ---- declaration ---- */
    uint32_t object; /* number of the array in the recording's list of objects */
    uint32_t shape;  /* array graphs: id of the array's shape */
    uint8_t dtype, rank;
    bool element;    /* accessed with tuple 0; after lowering, by the indices of the point */
    bool grows;      /* array graphs: the array takes the shape of its only store */
    bool zeroed;     /* scratch memory that is 0 when its block begins */
    uint8_t scratch; /* 1 + leading axes that select the block, for memory of blocks; 0 = other memory */

    /* ---- state of recording ---- */
    bool read, written; /* accessed by a node so far */
    uint32_t epoch;     /* number of stores to the memory so far */
    uint32_t later;     /* while copying: number of epochs by which the copy is ahead of the original */
    wf__ref last_store; /* STORE whose value a LOAD of the same tuple has; 0 = none */

    /* ---- layout ---- */
    uint8_t step[WF_MAX_RANK]; /* wf__step of each axis; ANY before layout */
    /* Strides in elements that are constants of the code; 0 = the code reads the stride from the call. */
    int32_t stride[WF_MAX_RANK];
    bool may_alias;     /* another slot may name the same memory, and one of the two is written */
    bool large_indexed; /* accessed by index, and larger than the caches of one core */
    bool prefetch_rows; /* read in rows, by code that accesses other memory at random places */
    bool rows;          /* stored to by index, all lanes of a vector in one row, at the lane's index */
    /* Number of lanes that have private copies of the memory (0 = not private). Above 1, the last index is the
     * lane's, modulo this number. Several ACCUMs of the slot differ in a constant last index only. They have mode
     * EXPAND, unless the threads of a block share the memory (`shared`). */
    uint8_t spread;
    /* Number of elements of the last axis that form one record (0 = none). Constant last indices below this number
     * are in range. The elements of a record lie side by side, and no element has two indices. In private memory a
     * record is the whole last axis. */
    uint8_t record;
    /* For `shared` memory on processors: 1 + the axis of the space along which index k counts, if the memory begins
     * where the block does; 0 = index and memory begin together. */
    uint8_t shift[WF_MAX_RANK];
    uint32_t shared; /* 1 + offset in the block's own memory; 0 = elsewhere */
} wf__slot;

/* True if neighbouring lanes lie apart in memory, while neighbouring rows lie side by side. */
static inline bool wf__is_crossed(const wf__slot *s)
{
    return s->element && s->rank > 1 && s->step[s->rank - 1] == WF__STEP_ANY && s->step[s->rank - 2] == WF__STEP_UNIT &&
           !wf__is_complex(s->dtype);
}

typedef struct wf__reduction {
    uint8_t dtype, join; /* wf_join; not f16 or bf16 */
    uint8_t instances;   /* accumulators that a lane's code addresses, 1 before tiling */
    uint64_t start;      /* bits of an accumulator's first value, for a custom join */
} wf__reduction;

typedef struct wf__label { /* the user's name of a value or array (wf__array_ref), for dumps and messages */
    wf__ref ref;
    char text[60];
} wf__label;
static inline wf__ref wf__array_ref(uint32_t slot) { return (uint32_t)1 << 31 | slot; }

/* A node that is a part of f(z), for a function f of complex numbers. complex.c records f with selects and powers of two,
 * whose derivative node by node is not that of f; src/ad reads this. */
typedef struct wf__whole {
    wf__ref node;
    uint16_t op;        /* abs, sqrt, exp, log, rcp, div or pow */
    bool imag;          /* the node is the imaginary part */
    wf__ref part[2][2]; /* real and imaginary part of each operand, earlier nodes; 0 = the part is 0 */
} wf__whole;

/* The derivative of a DERIVED node: hooks of the program, which record it (wf_rule). */
typedef struct wf__custom {
    void (*jvp)(const wf_rule_site *site), (*vjp)(const wf_rule_site *site);
    void *user;
    uint32_t outs;
    char name[44];
} wf__custom;

typedef struct wf__ir {
    wf__node *node; /* node[0] is a NOP */
    uint32_t n, node_cap;
    uint32_t *table;                /* nodes by their contents: value_numbering.h */
    uint32_t table_size, table_cap; /* entries in use (a power of two or 0), and allocated */
    uint32_t table_most;            /* nodes beyond which the table grows; 0 = no numbering, or recording has failed */
    uint32_t *tuple;                /* interned lists: tuple[t] is a length, and the refs follow; id 0 = empty */
    uint32_t tuple_n, tuple_cap;
    uint32_t *tuple_table; /* tuple ids by contents */
    uint32_t tuple_table_size, tuples;
    uint32_t loops;   /* LOOP nodes */
    uint32_t *closed; /* first and last node of each outermost loop body that has ended, ascending */
    uint32_t closed_n, closed_cap;
    wf__slot *slot;
    uint32_t slot_n, slot_cap;
    wf__reduction *red;
    uint32_t red_n, red_cap;
    uint8_t *param; /* dtype of each run-time parameter */
    uint32_t param_n, param_cap;
    wf_shape *shape; /* shape[0] is rank 0 */
    uint32_t shape_n, shape_cap;
    wf__label *label;
    uint32_t label_n, label_cap;
    wf__whole *whole; /* by ascending node; in recordings, and of no effect on code */
    uint32_t whole_n, whole_cap;
    wf__custom *custom; /* rule k of DERIVED nodes is custom[k - 1]; of no effect on code */
    uint32_t custom_n, custom_cap;
    bool derived; /* there may be DERIVED nodes */
    int32_t rank; /* axes of the index space; array graphs: 0 */
    /* Recording, borrowed, that joins two accumulators, for bodies with custom joins. Its nodes are pure ones, ARG k and
     * ARG red_n + k (reduction k of the one and of the other), and a SETRED for each reduction with a custom join. */
    const struct wf__ir *joiner;
    uint8_t kept;   /* outermost axes that the reductions keep (kernel.h) */
    bool kept_lane; /* the reductions also keep the lane axis */
    bool arrays;    /* an array graph: nodes have shapes, pure operations broadcast */
    uint32_t flags; /* some of WF__IR_FLAGS */
    /* Statistics of recording. */
    uint32_t merged;   /* functions of tables that are equal to others */
    uint32_t folded;   /* operations that became an existing value */
    uint32_t numbered; /* loads and operations that are equal to an earlier node */
    /* Statistics of lowering. */
    uint32_t hidden;      /* stores that a later one hides */
    uint32_t unused;      /* loop variables without a use */
    uint32_t invariant;   /* loop variables that no turn changes */
    uint32_t written_out; /* loops written out, and conditions with a body that all lanes execute */
    uint32_t in_lockstep; /* counters that are equal in all running lanes */
    wf_status status;     /* first error, WF_OK = none; after an error builders return 0 */
    char error[768];
    wf__culprit about;
} wf__ir;

/* Flag of wf__ir.flags: passes keep nodes without a use, and stores that later ones hide (WF_FLAG_DEAD_CODE is off). */
enum { WF__KEEP_DEAD = 1 << 16 };
enum {
    WF__IR_FLAGS = WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING | WF_FLAG_CALL_OPT | WF_FLAG_LOOP_OPT | WF_FLAG_PACKETS |
                   WF_FLAG_FAST_MATH | WF_FLAG_DEBUG | WF_FLAG_TRAP_NAN | WF_FLAG_TIERED | WF_FLAG_INTERPRET_FIRST |
                   WF_FLAG_ORDER_BY_SHAPE | WF__KEEP_DEAD
};
void wf__ir_init(wf__ir *ir, int rank, uint32_t flags);
void wf__ir_reset(wf__ir *ir, int rank, uint32_t flags); /* keeps the memory */
/* Allocates memory for `nodes` nodes at once. If that fails, the next builder reports the error. */
void wf__ir_reserve(wf__ir *ir, uint32_t nodes);
void wf__ir_free(wf__ir *ir);
/* Copies a finished body with its joiner, without the tables of value numbering: nothing can be recorded into the copy.
 * wf__ir_free_copy frees it. false = out of memory, with an empty copy. */
bool wf__ir_copy(const wf__ir *body, wf__ir *copy);
void wf__ir_free_copy(wf__ir *copy);
void wf__ir_fail(wf__ir *ir, wf_status status, const char *format, ...) WF__PRINTF(3, 4); /* keeps the first error */
/* As wf__ir_fail, for an error about the operation n, which need not be recorded. */
void wf__ir_fail_at(wf__ir *ir, const wf__node *n, wf_status status, const char *format, ...) WF__PRINTF(4, 5);

/* ---- builder ----
 * Operands are nodes of this ir that are not closed. An operand of 0 gives 0: its error is set already. Dtypes fit the
 * operation, as front ends convert first; a mismatch is WF_ERR_DTYPE. Each builder returns the new node, an equal one or
 * a simpler one; 0 = error. */
wf__ref wf__const_bits(wf__ir *ir, unsigned dtype, uint64_t bits);
wf__ref wf__const_f64(wf__ir *ir, unsigned dtype, double value); /* converted as a cast from f64 would */
wf__ref wf__param(wf__ir *ir, unsigned dtype);                   /* a new parameter */
wf__ref wf__param_at(wf__ir *ir, uint32_t number);               /* an existing one */
wf__ref wf__index(wf__ir *ir, int axis);
wf__ref wf__extent(wf__ir *ir, int axis);
wf__ref wf__thread_of(wf__ir *ir, int axis, bool count);
/* section: 1 = the section that runs before the points of the block ends; 2 = the section after them begins; 0 = a
 * barrier inside a section. Value numbering finds no node across a barrier that ends or begins a section. */
void wf__barrier(wf__ir *ir, unsigned section);
wf__ref wf__dim(wf__ir *ir, uint32_t slot, int axis);
wf__ref wf__arg(wf__ir *ir, uint32_t number, unsigned dtype);
wf__ref wf__op1(wf__ir *ir, unsigned op, wf__ref a);
wf__ref wf__op2(wf__ir *ir, unsigned op, wf__ref a, wf__ref b);
wf__ref wf__op3(wf__ir *ir, unsigned op, wf__ref a, wf__ref b, wf__ref c);
/* As wf__op1 and wf__op2, without checks. The caller guarantees that no error has occurred, and that the operands
 * have one dtype that the operation allows. */
wf__ref wf__op1_fitting(wf__ir *ir, unsigned op, wf__ref a);
wf__ref wf__op2_fitting(wf__ir *ir, unsigned op, wf__ref a, wf__ref b);
wf__ref wf__cast(wf__ir *ir, wf__ref a, unsigned dtype);
wf__ref wf__bitcast(wf__ir *ir, wf__ref a, unsigned dtype);
/* Records a CHECK with the fields of `like` and these operands. Returns the index itself if `right` is the constant
 * true. */
wf__ref wf__check(wf__ir *ir, const wf__node *like, wf__ref right, wf__ref index);
wf__ref wf__load(wf__ir *ir, uint32_t slot, uint32_t tuple, wf_border border, wf__ref other);
wf__ref wf__load_when(wf__ir *ir, uint32_t slot, uint32_t tuple, wf_border border, wf__ref other, wf__ref when);
/* border.c. Sets *tuple to the indices of the elements that a read by index with this border mode gives, and *inside to
 * where they are elements; 0 = everywhere. extent: that of the array along each axis, i64. */
bool wf__elements_read(wf__ir *ir, uint32_t indices, wf_border border, const wf__ref *extent, uint32_t *tuple,
                       wf__ref *inside);
wf__ref wf__both(wf__ir *ir, wf__ref a, wf__ref b);                  /* a and b; 0 stands for true */
wf__ref wf__index_op(wf__ir *ir, unsigned op, wf__ref a, int64_t b); /* an operation of an i64 value and a constant */
void wf__store(wf__ir *ir, uint32_t slot, uint32_t tuple, wf__ref value, wf__ref predicate);
/* Records the store `n` of another recording, and gives the slot the epoch of that recording. A later load has this
 * epoch only if no store through this or another slot lies in between. */
void wf__store_again(wf__ir *ir, const wf__node *n, uint32_t tuple, wf__ref value, wf__ref predicate);
void wf__accum(wf__ir *ir, uint32_t slot, uint32_t tuple, unsigned join, unsigned mode, wf__ref value,
               wf__ref predicate);
wf__ref wf__atomic(wf__ir *ir, uint32_t slot, uint32_t tuple, unsigned join, wf__ref value, wf__ref predicate);
wf__ref wf__cas(wf__ir *ir, uint32_t slot, uint32_t tuple, wf__ref expected, wf__ref desired, wf__ref predicate);
wf__ref wf__red(wf__ir *ir, uint32_t red, uint32_t instance);
void wf__setred(wf__ir *ir, uint32_t red, uint32_t instance, wf__ref value);
wf__ref wf__cold(wf__ir *ir, wf__ref condition, wf__ref otherwise, uint32_t cold_id, const wf__ref *args, uint32_t n);
/* local.c. elements: a power of two up to WF__MOST_LOCAL. element: a u32. when: a condition; 0 = always. */
wf__ref wf__local(wf__ir *ir, unsigned dtype, uint32_t elements, uint32_t shape); /* shape: array graphs */
wf__ref wf__put(wf__ir *ir, wf__ref local, wf__ref element, wf__ref value, wf__ref when);
wf__ref wf__get(wf__ir *ir, wf__ref local, wf__ref element);
wf__ref wf__local_of(const wf__ir *ir, wf__ref r); /* the LOCAL of a local memory; 0 for other values */

enum { WF__MOST_NESTED = 64 }; /* loops */
/* loop.c. The states stand right behind the loop, the nexts right before the end. */
wf__ref wf__loop(wf__ir *ir, bool once);
wf__ref wf__state(wf__ir *ir, wf__ref loop, wf__ref initial, bool guard);
void wf__next(wf__ir *ir, wf__ref state, wf__ref value);
void wf__end(wf__ir *ir, wf__ref loop);
bool wf__in_closed(const wf__ir *ir, wf__ref r); /* true in the body of a loop that has ended */
static inline bool wf__is_closed(const wf__ir *ir, wf__ref r) { return ir->closed_n && wf__in_closed(ir, r); }
/* True if the node belongs to a loop that has ended and has no value behind it. */
static inline bool wf__is_hidden(const wf__ir *ir, wf__ref r)
{
    return wf__is_closed(ir, r) && ir->node[r].op != WF__SCATTER;
}
wf__ref wf__loop_body(const wf__ir *ir, wf__ref loop); /* the first node behind its states */
wf__ref wf__loop_end(const wf__ir *ir, wf__ref loop);  /* its END */
/* Sets block[] to the LOOP of the outermost loop or condition around each node, its frame included; 0 = none. */
void wf__find_blocks(const wf__ir *ir, wf__ref *block);
/* Returns the END of the outermost loop around r that is not a condition; 0 = none. */
wf__ref wf__turns_end(const wf__ir *ir, wf__ref r);
/* Closes nodes first..end, the body of a loop that has ended: they are no operands of later nodes (wf__is_closed). */
void wf__close_range(wf__ir *ir, wf__ref first, wf__ref end);
/* Spreads marks along the loops from node first to node last. Live parts keep their loop, a live loop keeps its end
 * and guards, and a live state its next value. Returns true if there are new marks. */
bool wf__mark_loops(const wf__ir *ir, uint8_t *live, wf__ref first, wf__ref last);
uint32_t wf__slot_new(wf__ir *ir, unsigned dtype, int rank, bool element, uint32_t object);
uint32_t wf__red_new(wf__ir *ir, unsigned dtype, wf_join join);
uint32_t wf__tuple(wf__ir *ir, const wf__ref *refs, uint32_t n); /* interned; 0 for n = 0 */
uint32_t wf__shape_id(wf__ir *ir, const wf_shape *shape);        /* interned; 0 for rank 0 */
bool wf__shape_known(const wf__ir *ir, uint32_t shape);          /* no extent is -1 */
static inline bool wf__same_shape(const wf_shape *a, const wf_shape *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}
/* Returns the shape with extent 1 along the reduced axes. */
wf_shape wf__kept_shape(const wf_shape *shape, wf_axes reduce);
/* Number of elements. False if an extent is negative or there are more than 2^63 - 1. */
bool wf__shape_count(const wf_shape *shape, int64_t *out);
/* Broadcasts as NumPy does; an extent of -1 is unknown and fits any other. False if the shapes do not fit. */
bool wf__broadcast(const wf_shape *a, const wf_shape *b, wf_shape *out);
/* As wf__broadcast, for interned shapes of operands of n. Shapes that do not fit are an error of the ir, and the
 * result is 0. */
uint32_t wf__broadcast_id(wf__ir *ir, const wf__node *n, uint32_t a, uint32_t b);
/* Writes the shape as the caller gave it: "(3, -4)". */
void wf__bad_shape_text(const wf_shape *shape, char *buf, size_t cap);
/* Rebuilds the table of value numbering, after nodes were changed in place. */
void wf__renumber(wf__ir *ir);
const char *wf__label_of(const wf__ir *ir, wf__ref r);       /* NULL = none */
void wf__set_label(wf__ir *ir, wf__ref r, const char *text); /* NULL = no change */
/* In debug mode, gives `to` in `out` the label of `from`, if there is one. */
void wf__copy_label(const wf__ir *in, wf__ref from, wf__ir *out, wf__ref to);
/* Returns what the node is a part of; NULL = of nothing. */
const wf__whole *wf__whole_of(const wf__ir *ir, wf__ref r);
/* Notes it, unless the node is a constant, older than an operand, or noted already. */
void wf__set_whole(wf__ir *ir, const wf__whole *whole);
/* Notes of `to` in `out` what `from` is a part of, if all operands have copies. */
void wf__copy_whole(const wf__ir *in, wf__ref from, const wf__ref *map, wf__ir *out, wf__ref to);
/* Records a DERIVED: output number `output` of rule `rule` on the values of a tuple. */
wf__ref wf__derived(wf__ir *ir, wf__ref value, uint32_t tuple, uint32_t rule, uint32_t output);
/* Returns the number of a rule, 1 for the first; 0 = the ir has failed. */
uint32_t wf__custom_rule(wf__ir *ir, const wf__custom *rule);
/* view.c. A view that changes nothing is the value itself. */
wf__ref wf__view(wf__ir *ir, unsigned kind, const int64_t *numbers, uint32_t n, wf__ref value);
wf__ref wf__gather(wf__ir *ir, wf__ref value, uint32_t tuple, wf__ref other);
/* Returns a SCATTER node, as wf__scatter_joined records it. */
wf__node wf__scatter_node(const wf__ir *ir, wf_join join, wf__ref value, uint32_t shape, uint32_t tuple, wf__ref when);
/* Records a SCATTER into an array of this shape. when: a condition; 0 = always. */
wf__ref wf__scatter(wf__ir *ir, wf__ref value, uint32_t shape, uint32_t tuple, wf__ref when);
/* The same by WF_JOIN_ADD, MUL, MIN or MAX: elements that get no value are neutral for the join. */
wf__ref wf__scatter_joined(wf__ir *ir, wf_join join, wf__ref value, uint32_t shape, uint32_t tuple, wf__ref when);
static inline wf_join wf__scatter_join(const wf__node *scatter)
{
    return scatter->aux ? (wf_join)scatter->aux : WF_JOIN_ADD;
}
wf__ref wf__as_literal(const wf__ir *ir, wf__ref r); /* the CONST if r broadcasts one, else r */
uint32_t wf__view_numbers(const wf__ir *ir, const wf__node *view, int64_t out[WF_MAX_RANK]); /* returns how many */
/* True if the numbers are valid for a view of this kind. */
bool wf__view_fits(unsigned kind, const int64_t *numbers, uint32_t n, const wf_shape *in);
/* The shape of a view whose numbers fit; GATHER has none. False if extents do not fit; extents of -1 are unknown. */
bool wf__view_shape(unsigned kind, const int64_t *numbers, uint32_t n, const wf_shape *in, wf_shape *out);
/* Returns the number of elements in Python's slice of n elements. *start becomes the index of the first one. */
int64_t wf__slice_range(int64_t n, int64_t *start, int64_t stop, int64_t step);
/* True if both shapes have as many elements, after filling in one extent of -1. */
bool wf__reshape_fits(const wf_shape *from, wf_shape *to);
/* Appends a node as it is, or returns its equal. */
wf__ref wf__append(wf__ir *ir, const wf__node *node);
/* Between the two calls value numbering is off: each node that is recorded is a new one. */
typedef struct wf__numbering {
    uint32_t flags, table_most;
} wf__numbering;
wf__numbering wf__stop_numbering(wf__ir *ir);
void wf__resume_numbering(wf__ir *ir, wf__numbering saved);

/* The function that recorded the node, for messages: wf_in for a LOAD without indices, ... */
const char *wf__function_of(const wf__node *n);
static inline const wf__node *wf__at(const wf__ir *ir, wf__ref r) { return &ir->node[r]; }
static inline unsigned wf__dtype(const wf__ir *ir, wf__ref r) { return ir->node[r].dtype; }
/* Id of a value's shape; 0 in index spaces. */
static inline uint32_t wf__shape_of(const wf__ir *ir, wf__ref r) { return ir->arrays ? ir->node[r].shape : 0; }
/* `when` and `otherwise` of a LOAD. In array graphs a LOAD has only one of them, in c: a border has no condition, as it
 * keeps every lane in range. */
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
/* Read and set the field at a wf__field_at. Setting a field that the node does not have changes nothing. */
uint32_t wf__field_of(const wf__ir *ir, const wf__node *n, unsigned at);
void wf__set_field(const wf__ir *ir, wf__node *n, unsigned at, uint32_t to);
/* False for one of `when` and `otherwise` of a LOAD in an array graph: the one that c does not hold. */
bool wf__has_field(const wf__ir *ir, const wf__node *n, unsigned at);
enum { WF__MAX_OPERANDS = 16 };
/* Sets out[] to the values that a node uses: those of its fields, then those of its list of indices. Returns how many. */
uint32_t wf__operands(const wf__ir *ir, const wf__node *n, wf__ref out[WF__MAX_OPERANDS]);
static inline uint64_t wf__bits(const wf__node *n) { return n->a | (uint64_t)n->b << 32; } /* of a CONST */
static inline uint32_t wf__tuple_len(const wf__ir *ir, uint32_t t) { return t ? ir->tuple[t] : 0; }
static inline const wf__ref *wf__tuple_at(const wf__ir *ir, uint32_t t) { return ir->tuple + t + 1; }
/* Returns the last value operand of a node that computes. */
static inline wf__ref wf__last_operand(const wf__node *n)
{
    unsigned arity = wf__arity(n->op);
    return arity == 3 ? n->c : arity == 2 ? n->b : n->a;
}
bool wf__is_const(const wf__ir *ir, wf__ref r, double value); /* a constant equal to value (-0 is not 0) */

/* ---- meaning ----
 * Applies a pure operation to n values, for the constant folder and the interpreter. Arrays are packed. Bools are bytes
 * 0 or 1. `dtype` is that of the operands (of the last one for select). */
void wf__eval(unsigned op, unsigned dtype, void *out, const void *a, const void *b, const void *c, size_t n);
/* Evaluates a node that computes and that lowering leaves as it is. `from` is the dtype of its last operand. */
void wf__eval_node(const wf__node *node, unsigned from, void *out, const void *a, const void *b, const void *c,
                   size_t n);
/* True for a pure node that folds from the bits of its operands before lowering. */
bool wf__has_bits(const wf__ir *ir, const wf__node *n);
uint64_t wf__eval_bits(const wf__ir *ir, const wf__node *n, const uint64_t x[3]); /* x: bits of its operands */
void wf__eval_cast(unsigned to, unsigned from, void *out, const void *a, size_t n);
/* The neutral element of a join as bits of dtype (add 0, mul 1, min +inf or largest, ...). */
uint64_t wf__join_neutral(wf_join join, unsigned dtype);
static inline uint64_t wf__red_start(const wf__reduction *red) /* first value of an accumulator */
{
    return red->join == WF_JOIN_CUSTOM ? red->start : wf__join_neutral((wf_join)red->join, red->dtype);
}
/* *element = join(*element, *value), complex numbers by parts. The element has dtype t, the value wf__update_dtype. */
void wf__update(unsigned join, unsigned t, void *element, const void *value);
unsigned wf__join_op(wf_join join);              /* WF_JOIN_ADD: WF__OP_add, ...; 0 = none */
bool wf__updates(unsigned join, unsigned dtype); /* true if elements of the dtype can be accumulated by the join */

/* ---- expansion: ops as other ops, built through the builder ---- */
static inline bool wf__op_expands(unsigned op, unsigned dtype) /* dtype: of the (last) operand */
{
    unsigned flags = wf__op_table[op].flags;
    return flags & WF__EXPAND || (flags & WF__EXPAND_FLT && wf__is_float(dtype));
}
/* True if lowering replaces a pure node by others: EXPAND operations, and all of f16 and bf16 but select, bitcast,
 * complex and casts from and to f32. `dtype` is the last operand's, `to` the result's. */
static inline bool wf__expands(unsigned op, unsigned dtype, unsigned to)
{
    if (op == WF__CAST)
        return (wf__is_half(dtype) && to != WF_F32) || (wf__is_half(to) && dtype != WF_F32);
    bool moves = op == WF__BITCAST || op == WF__OP_select || op == WF__OP_complex;
    return wf__op_expands(op, dtype) || (wf__is_half(dtype) && !moves);
}
/* Complex arithmetic is recorded as arithmetic on the parts, and these operations. */
static inline bool wf__op_is_parts(unsigned op)
{
    return op == WF__OP_real || op == WF__OP_imag || op == WF__OP_complex;
}
/* complex.c: these record operations on complex numbers as operations on the parts. The builder calls them itself. */
wf__ref wf__complex_op(wf__ir *ir, unsigned op, const wf__ref x[3]);
wf__ref wf__complex_cast(wf__ir *ir, wf__ref z, unsigned to);
wf__ref wf__real(wf__ir *ir, wf__ref z);
wf__ref wf__imag(wf__ir *ir, wf__ref z);
wf__ref wf__complex(wf__ir *ir, wf__ref re, wf__ref im);
/* The parts of a product of complex numbers are reductions k and k + 1 with custom joins (starts 1 and 0). The first
 * function multiplies both by z, the second records the join in a joiner. */
void wf__red_times(wf__ir *ir, uint32_t k, wf__ref z);
void wf__join_product(wf__ir *joiner, uint32_t k);
/* Records other nodes in place of a node for which wf__expands is true (half.c, expand.c). */
wf__ref wf__expand(wf__ir *ir, unsigned op, unsigned to, const wf__ref x[3]);
/* Record EXPAND operations of f32 or f64 as other operations (expand.c, math/). */
wf__ref wf__expand1(wf__ir *ir, unsigned op, wf__ref a);
wf__ref wf__expand2(wf__ir *ir, unsigned op, wf__ref a, wf__ref b);
wf__ref wf__expand3(wf__ir *ir, unsigned op, wf__ref a, wf__ref b, wf__ref c);
/* Cold bodies: rare paths, such as large arguments of sin, kept out of line. */
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
    WF__COLD_LGAMMA_F32,
    WF__COLD_DIGAMMA_F32,
    WF__COLD_TRIGAMMA_F32, /* (x f32) */
    WF__COLD_ERFINV_F64,
    WF__COLD_TGAMMA_F64,
    WF__COLD_LGAMMA_F64,
    WF__COLD_DIGAMMA_F64,
    WF__COLD_TRIGAMMA_F64, /* (x f64) */
    WF__COLD_MOD_F32,
    WF__COLD_MOD_F64, /* (x, y) */
    WF__COLD_COUNT
} wf__cold_id;
/* Records the body's result from its arguments (ARG nodes, or constants when folding), without COLD nodes. */
wf__ref wf__cold_body(wf__ir *ir, wf__cold_id id, const wf__ref *args, uint32_t n);

/* ---- passes over a whole ir ----
 * A pass initialises `out`, which the caller frees, also on failure. A pass that fails returns false and sets
 * out->status. A pass in place replaces the ir, and sets the status of the ir that it leaves. */
/* Replaces the operations for which wf__expands is true by others, simplifies loops, and drops dead nodes and stores. */
bool wf__pass_lower(const wf__ir *in, wf__ir *out);
bool wf__pass_lower_in_place(wf__ir *ir); /* does nothing if lowering would only copy */
/* Drops loops whose variables a later loop of the body has, too (merge.c), in place, if WF_FLAG_LOOP_OPT is on. */
bool wf__pass_merge_loops(wf__ir *ir);
/* Makes counters uniform that are equal in all running lanes of a loop. Changes a lowered body in place, for backends
 * that run lanes as vectors. */
bool wf__pass_lockstep(wf__ir *ir);

/* ---- checking, printing, parsing ---- */
bool wf__verify(const wf__ir *ir, wf__str *error); /* every invariant of this header; error->failed = no memory */
void wf__print(const wf__ir *ir, wf__str *out);
void wf__number_text(const wf__node *n, wf__str *out); /* the number of a CONST, for drawings and messages */
/* The nodes and edges of a Graphviz graph. slot_name: a name or NULL for each slot, or NULL. Every name begins with
 * `id`. */
void wf__print_dot(const wf__ir *ir, const char *const *slot_name, const char *id, wf__str *out);
bool wf__parse(const char *text, wf__ir *out, wf__str *error); /* print(parse(print(x))) == print(x) */

/* ---- analysis: how a value varies over the space ---- */
typedef enum wf__kind { WF__UNIFORM, WF__AFFINE, WF__VARYING } wf__kind;
typedef struct wf__vary {
    uint8_t kind;  /* along the lane axis; AFFINE: value = base + coef * lane */
    uint8_t level; /* innermost loop that the value needs: 0 = none, k = axis k - 1; rank = the lane axis */
    int64_t coef;  /* of AFFINE, not 0 */
} wf__vary;
/* out: one entry for each node. The lane axis is ir->rank - 1. */
void wf__analyse(const wf__ir *ir, wf__vary *out);

/* True if the bool `whole` is `part` or a conjunction with it, nested at most `depth` deep: false wherever `part` is. */
bool wf__is_conjunct(const wf__ir *ir, wf__ref whole, wf__ref part, int depth);
/* Marks the LOCALs whose memory is the same in all lanes, since no PUT varies. common: [nodes], all false. */
void wf__mark_common_memory(const wf__ir *ir, const wf__vary *vary, bool *common);
/* Marks the values that depend on memory, one byte for each node. */
void wf__mark_read(const wf__ir *ir, uint8_t *read);
/* True if an index varies from lane to lane and depends on memory. */
bool wf__is_scattered(const wf__ir *ir, const wf__vary *vary, const uint8_t *read, uint32_t tuple);

/* True if a value is index[axis] + offset with a constant offset, the form that alias tests and tiling understand.
 * axis: -1 = the value is the offset alone. */
bool wf__as_offset(const wf__ir *ir, wf__ref r, int *axis, int64_t *offset);
/* True for a load with a border mode whose indices are those of wf__as_shifted: some box of points needs no border
 * test. */
bool wf__load_splits(const wf__ir *ir, const wf__node *load);
#endif
