/* node.h - C declarations of the nodes and fields that node.def and ops.def list. */
#ifndef WEFT_IR_NODE_H
#define WEFT_IR_NODE_H
#include "base/base.h"
#include "weft/weft.h"

typedef enum wf__op {
#define WF_NODE(NAME, ...) WF__##NAME,
#include "ir/node.def"
#undef WF_NODE
#define WF_OP(name, ...) WF__OP_##name,
#include "ir/ops.def"
#undef WF_OP
} wf__op;

enum { /* number of structural nodes, which the first operation of ops.def follows; number of all nodes */
       WF__NODES = 0
#define WF_NODE(...) +1
#include "ir/node.def"
#undef WF_NODE
       ,
       WF__OP_COUNT = WF__NODES
#define WF_OP(...) +1
#include "ir/ops.def"
#undef WF_OP
};

/* ---- properties ---- */
enum wf__property { /* P(...) of node.def */
                    WF__IS_EFFECT = 1 << 0,
                    WF__IS_VALUE = 1 << 1,
                    WF__IS_STORE = 1 << 2,
                    WF__IS_UPDATE = 1 << 3,
                    WF__IS_ACCESS = 1 << 4,
                    WF__IS_BLOCK = 1 << 5,
                    WF__IS_NUMBERED = 1 << 6,
                    WF__IS_MOVES = 1 << 7,
                    WF__IS_ONCE = 1 << 8
};
enum { WF__IN_GRAPHS = 1, WF__IN_BODIES = 2, WF__IN_BOTH = 3 };
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
    const char *name;     /* in text: "add" */
    const char *function; /* name of the node in messages, usually the function that records it: "wf_add" */
    const char *doc;
    uint16_t is;   /* some of wf__property */
    uint8_t where; /* WF__IN_... */
    uint8_t arity; /* number of value operands in a, b, c; 0 for nodes that compute nothing */
    uint8_t types; /* wf__types of these operands */
    bool to_bool;
    uint8_t flags; /* WF__COMM, ... */
    bool refers;   /* some field refers to nodes */
} wf__op_info;
extern const wf__op_info wf__op_table[WF__OP_COUNT];

/* True if the node computes a value from its operands a, b, c alone. */
static inline bool wf__op_is_pure(unsigned op) { return op >= WF__CAST; }
/* Returns the number of value operands in a, b and c. */
static inline unsigned wf__arity(unsigned op)
{
    unsigned arity = wf__op_table[op].arity;
    WF__ASSERT(arity <= 3 && (arity > 0) == wf__op_is_pure(op));
    return arity;
}
static inline bool wf__op_is(unsigned op, unsigned property) { return (wf__op_table[op].is & property) != 0; }
static inline bool wf__op_is_effect(unsigned op) { return wf__op_is(op, WF__IS_EFFECT); }
static inline bool wf__op_has_value(unsigned op) { return wf__op_is(op, WF__IS_VALUE); }
static inline bool wf__op_is_store(unsigned op) { return wf__op_is(op, WF__IS_STORE); }
static inline bool wf__op_is_update(unsigned op) { return wf__op_is(op, WF__IS_UPDATE); }
static inline bool wf__op_is_access(unsigned op) { return wf__op_is(op, WF__IS_ACCESS); }
bool wf__op_names_slot(unsigned op); /* true if field a is a slot */
/* True if the value is an element of memory. */
static inline bool wf__op_gives_element(unsigned op) { return wf__op_is_access(op) && wf__op_has_value(op); }
static inline bool wf__is_loop_op(unsigned op) { return wf__op_is(op, WF__IS_BLOCK); }
const char *wf__function_name(unsigned op);
int wf__op_named(const char *name, size_t len); /* finds an operation of ops.def; -1 = none */

/* ---- fields ---- */
/* Places of a field in a node. `join` and `mode` are halves of aux. `otherwise` and `when` are fields of LOAD, which
 * share places with others (wf__otherwise, wf__when). */
typedef enum wf__field_at {
    WF__AT_NONE, /* the end of a row */
    WF__AT_a,
    WF__AT_b,
    WF__AT_c,
    WF__AT_d,
    WF__AT_aux,
    WF__AT_join,
    WF__AT_mode,
    WF__AT_otherwise,
    WF__AT_when
} wf__field_at;

/* How a field is printed, parsed and copied. */
typedef enum wf__form {
    WF__FORM_REF,      /* operand: %1 */
    WF__FORM_OPTIONAL, /* operand or 0: word %1 */
    WF__FORM_LIST,     /* tuple of operands or 0: [%1 %2]; with a word, never 0 */
    WF__FORM_LINK,     /* node that is no operand: %1 */
    WF__FORM_SLOT,     /* s1 */
    WF__FORM_NUMBER,   /* 1; with a word: word 1 */
    WF__FORM_NAME,     /* a name of the kind's list; with a word: word name, nothing for the first */
    WF__FORM_FLAG,     /* a bit of aux: word, or nothing */
    WF__FORM_BITS,     /* 64 bits in a and b */
    WF__FORM_HIDDEN    /* not in the text */
} wf__form;

enum wf__scan_flags { WF__EXCLUSIVE = 1, WF__REVERSED = 2 };
/* X(kind, form, word, number, doc). number: the bit of a FLAG, or the number of values that a NUMBER may have; 0 =
 * any, or not a fixed number. */
#define WF__FIELD_KINDS(X)                                                                              \
    X(BITS, BITS, "", 0, "low half of a number's bits")                                                 \
    X(HIGH_BITS, HIDDEN, "", 0, "high half of a number's bits")                                         \
    X(VALUE, REF, "", 0, "value of the node's dtype")                                                   \
    X(OPERAND, REF, "", 0, "value of any dtype")                                                        \
    X(TEST, REF, "", 0, "bool")                                                                         \
    X(JOINED, REF, "", 0, "value of the dtype that the join takes (wf__update_dtype)")                  \
    X(STATE, REF, "", 0, "STATE of the innermost loop")                                                 \
    X(OTHER, OPTIONAL, "other", 0, "value of the node's dtype where an index is out of range")          \
    X(CONDITION, OPTIONAL, "if", 0, "bool; 0 = always")                                                 \
    X(INDICES, LIST, "", 0, "i64 indices, one for each axis of the slot; 0 = element by element")       \
    X(NUMBERS, LIST, "", 0, "i64 constants of the kind of view, or indices of a gather or scatter")     \
    X(ARGUMENTS, LIST, "", 0, "values of any dtype")                                                    \
    X(PAIR, LIST, "swap", 0, "two values of the node's dtype")                                          \
    X(LOOP, LINK, "", 0, "the innermost LOOP")                                                          \
    X(SLOT, SLOT, "", 0, "slot")                                                                        \
    X(PARAMETER, NUMBER, "", 0, "parameter")                                                            \
    X(AXIS, NUMBER, "", 0, "axis of the index space")                                                   \
    X(SLOT_AXIS, NUMBER, "", 0, "axis of the slot")                                                     \
    X(SHAPE_AXIS, NUMBER, "", 0, "axis of the node's shape")                                            \
    X(THREAD_AXIS, NUMBER, "", 0, "axis of the index space, or WF_MAX_RANK")                            \
    X(VALUE_AXIS, NUMBER, "axis", 0, "axis of the value in a")                                          \
    X(AXES, NUMBER, "axes", 0, "wf_axes of the value in a")                                             \
    X(ARGUMENT, NUMBER, "", 8, "argument of a cold body or joiner")                                     \
    X(COLD_BODY, NUMBER, "", 0, "wf__cold_id")                                                          \
    X(REDUCTION, NUMBER, "", 0, "reduction of the node's dtype")                                        \
    X(INSTANCE, NUMBER, "", 0, "instance of the reduction")                                             \
    X(EPOCH, NUMBER, "epoch", 0, "stores to the slot's memory before the load")                         \
    X(STORED_EPOCH, HIDDEN, "", 0, "epoch of the slot after the store, WF__EPOCH_LATE = that or later") \
    X(NUMBER, NUMBER, "", 0, "any number")                                                              \
    X(ELEMENTS, NUMBER, "", 0, "number of elements: a power of two up to WF__MOST_LOCAL")               \
    X(LOCAL, REF, "", 0, "local memory of the node's dtype")                                            \
    X(ELEMENT, REF, "", 0, "u32 index of an element, modulo their number")                              \
    X(COUNT, NUMBER, "", 2, "1 for the number of threads in place of the own number")                   \
    X(SECTION, NUMBER, "", 3, "1 = the section before the points ends, 2 = that after them begins")     \
    X(JOIN, NAME, "", 0, "a join")                                                                      \
    X(UPDATE_JOIN, NAME, "", 0, "a join")                                                               \
    X(SCATTER_JOIN, NAME, "join", 0, "WF_JOIN_MUL, MIN or MAX; 0 = WF_JOIN_ADD")                        \
    X(MODE, NAME, "", 0, "a mode")                                                                      \
    X(BORDER, NAME, "border", 0, "a border mode")                                                       \
    X(VIEW_KIND, NAME, "", 0, "a kind of view")                                                         \
    X(ONCE, FLAG, "once", 1, "the body runs once at most")                                              \
    X(GUARD, FLAG, "guard", 1, "a bool that lets the body run")                                         \
    X(WRITES, FLAG, "write", 1, "the access writes")                                                    \
    X(EXCLUSIVE, FLAG, "exclusive", WF__EXCLUSIVE, "without the element itself")                        \
    X(REVERSED, FLAG, "reversed", WF__REVERSED, "from the other end")

typedef enum wf__field_kind {
#define X(kind, ...) WF__##kind##_FIELD,
    WF__FIELD_KINDS(X)
#undef X
} wf__field_kind;
enum { /* 1: fields of the kind refer to nodes */
#define X(kind, form, ...) WF__##kind##_REFERS = WF__FORM_##form <= WF__FORM_LINK,
       WF__FIELD_KINDS(X)
#undef X
};

typedef struct wf__field {
    uint8_t at;   /* wf__field_at */
    uint8_t kind; /* wf__field_kind */
} wf__field;

typedef struct wf__field_info {
    const char *name, *word, *doc;
    uint8_t form; /* wf__form */
    uint8_t number;
} wf__field_info;
extern const wf__field_info wf__field_table[];
const char *const *
wf__field_names(unsigned kind, unsigned *n); /* names of a NAME field, and their number in *n; NULL for other fields */

enum { WF__MOST_FIELDS = 6, WF__MOST_LOCAL = 1 << 16 };
/* Returns the fields of a node in the order of its text. `at` of the entry behind the last one is WF__AT_NONE. */
const wf__field *wf__fields_of(unsigned op);

/* ---- lists of what fields name: enumerator, name in text ---- */
#define WF__JOIN_LIST(X)        \
    X(WF_JOIN_CUSTOM, "custom") \
    X(WF_JOIN_ADD, "add")       \
    X(WF_JOIN_MUL, "mul")       \
    X(WF_JOIN_MIN, "min")       \
    X(WF_JOIN_MAX, "max")       \
    X(WF_JOIN_AND, "and")       \
    X(WF_JOIN_OR, "or")         \
    X(WF_JOIN_XOR, "xor")       \
    X(WF_JOIN_EXCH, "exch") /* ATOMIC only */
#define WF__BORDER_LIST(X)            \
    X(WF_BORDER_NONE, "none")         \
    X(WF_BORDER_VALUE, "value")       \
    X(WF_BORDER_CLAMP, "clamp")       \
    X(WF_BORDER_PERIODIC, "periodic") \
    X(WF_BORDER_MIRROR, "mirror")     \
    X(WF_BORDER_REFLECT, "reflect")
/* Modes of ACCUM. In a lowered body there is no AUTO, and NO_CONFLICT in debug mode only. */
#define WF__MODE_LIST(X)         \
    X(WF__MODE_AUTO, "auto")     \
    X(WF__MODE_DIRECT, "direct") \
    X(WF__MODE_LOCAL, "local")   \
    X(WF__MODE_EXPAND, "expand") \
    X(WF__MODE_NO_CONFLICT, "no-conflict")
/* Kinds of VIEW, with the function that records each; b holds the numbers that the comment lists. The extents of the
 * result follow from those of the value (view.c). */
#define WF__VIEW_LIST(X)                                                                                             \
    X(WF__VIEW_SLICE, "slice", "wf_slice")             /* axis, start, stop, step, as wf_view_slice has them */      \
    X(WF__VIEW_PERMUTE, "permute", "wf_permute")       /* p: axis d of the result is axis p[d] of the value */       \
    X(WF__VIEW_RESHAPE, "reshape", "wf_reshape")       /* the extents; one of -1 follows from the others */          \
    X(WF__VIEW_BROADCAST, "broadcast", "wf_broadcast") /* the extents */                                             \
    X(WF__VIEW_TILE, "tile", "wf_tile")                /* for each axis, how often the value is repeated along it */ \
    X(WF__VIEW_REPEAT, "repeat", "wf_repeat")          /* axis, how often each element is repeated along it */       \
    X(WF__VIEW_GATHER, "gather", "wf_gather")          /* no numbers: i64 values, the index along each axis */
/* How an index axis of a slot steps through memory, as far as code depends on it. BACK: -1. */
#define WF__STEP_LIST(X)     \
    X(WF__STEP_ANY, "any")   \
    X(WF__STEP_ZERO, "zero") \
    X(WF__STEP_UNIT, "unit") \
    X(WF__STEP_BACK, "back")

#define WF__ENUMERATOR(enumerator, ...) enumerator,
#define WF__ONE_MORE(...) +1
enum { WF__MODE_LIST(WF__ENUMERATOR) };
typedef enum wf__view_kind { WF__VIEW_LIST(WF__ENUMERATOR) } wf__view_kind;
typedef enum wf__step { WF__STEP_LIST(WF__ENUMERATOR) } wf__step;
enum { /* lengths of the lists */
       WF__JOINS = 0 WF__JOIN_LIST(WF__ONE_MORE),
       WF__BORDERS = 0 WF__BORDER_LIST(WF__ONE_MORE),
       WF__MODES = 0 WF__MODE_LIST(WF__ONE_MORE),
       WF__VIEWS = 0 WF__VIEW_LIST(WF__ONE_MORE),
       WF__STEPS = 0 WF__STEP_LIST(WF__ONE_MORE)
};
#undef WF__ENUMERATOR
#undef WF__ONE_MORE
_Static_assert(WF__JOINS == WF_JOIN_EXCH + 1, "each join has a name");
_Static_assert(WF__BORDERS == WF_BORDER_REFLECT + 1, "each border mode has a name");
extern const char *const wf__join_names[WF__JOINS],
    *const wf__border_names[WF__BORDERS], *const wf__mode_names[WF__MODES], *const wf__view_names[WF__VIEWS],
                                                                                *const wf__step_names[WF__STEPS];
#endif
