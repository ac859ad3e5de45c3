/* text.h - operator text inside the library: text -> tokens (lex.c) -> trees (parse.c) in statements (statement.c) ->
 * recording calls (record.h). words.c has the names of dtypes and border modes, for parsing too; value.c has the rules of
 * operands. All of it uses only the public headers and src/base. docs/text.md describes the language.
 *
 * Trees are one flat array in which operands stand before their users, and statements another in which blocks are
 * marked by their beginning and end, so recording is a loop, not a recursion: long texts need no stack. Only nesting
 * (brackets, unary operators, ?:, **, blocks) recurses in the parser, and is bounded. Memory is proportional to the
 * text.
 */
#ifndef WEFT_API_TEXT_H
#define WEFT_API_TEXT_H
#include "base/base.h"
#include "weft/weft.h"

enum {
    WF__TEXT_LOCALS = 1000, /* the most typed locals and global arrays of a text */
    WF__TEXT_ARGUMENTS = 16 /* the most arguments of a call, and indices */
};

/* Tokens: an operator of one character is that character; the others: */
enum {
    WF__TOK_END = 256,
    WF__TOK_NUMBER,
    WF__TOK_NAME,
    WF__TOK_BAD, /* the text has failed already */
    WF__TOK_OROR,
    WF__TOK_ANDAND,
    WF__TOK_EQ,
    WF__TOK_NE,
    WF__TOK_LE,
    WF__TOK_GE,
    WF__TOK_SHL,
    WF__TOK_SHR,
    WF__TOK_POW,
    WF__TOK_ASSIGN_OP /* += and its like; `op` is the operator */
};

/* A number as written. `real`: with a point or an exponent. `big`: an integer of 2^53 or more, which `bits` holds. */
typedef struct wf__literal {
    double value;
    uint64_t bits;
    bool real, big;
} wf__literal;

typedef struct wf__token {
    int kind, op;
    uint32_t at, len; /* its place in the text */
    wf__literal number;
} wf__token;

typedef enum wf__tree_kind {
    WF__TREE_NONE,
    WF__TREE_NUMBER, /* number */
    WF__TREE_NAME,
    WF__TREE_CALL,   /* name; list `a`, length `n`; axes after ';' in the bits of `b`; from the end, of `c` (0: last) */
    WF__TREE_READ,   /* name; index list `a`, length `n`; border; b: value outside or 0 */
    WF__TREE_UNARY,  /* op ('-' '!' '~'); a */
    WF__TREE_BINARY, /* op (a token); a, b */
    WF__TREE_SELECT, /* a ? b : c */
    WF__TREE_PICK    /* one of the other results of the call `a`, after which its PICK nodes stand in order */
} wf__tree_kind;

typedef struct wf__tree {
    uint8_t kind, border; /* of a CALL: of spline_filter, WF_BORDER_NONE = none is named */
    uint8_t between; /* READ: how positions between elements are read, a wf_interpolation plus 1; 0: they are indices */
    bool enclosed;   /* it stands in brackets */
    bool seeded;     /* CALL of grad: the last argument is a seed, which stands after ';' */
    int16_t op;
    uint32_t at, len; /* the operator or name in the text: where a caret points */
    uint32_t a, b, c, n;
    wf__literal number;
} wf__tree;

typedef enum wf__stmt_kind {
    WF__STMT_ASSIGN, /* name = value, or name op= value */
    WF__STMT_LOCAL,  /* dtype name = value; no value: 0. With a list: dtype name[list] = value, an array */
    WF__STMT_WRITE,  /* name[list] = value, or op= */
    WF__STMT_GLOBAL, /* global dtype name[list] = value; no value: 0 */
    WF__STMT_SCOPE,  /* { of no other statement */
    WF__STMT_IF,     /* value: the condition */
    WF__STMT_ELSE,
    WF__STMT_WHILE,
    WF__STMT_FOR, /* then its beginning, 0 or 1 statement; its step, 0 or 1, at `step`; its body at `body` */
    WF__STMT_END,
    WF__STMT_BREAK,
    WF__STMT_CONTINUE
} wf__stmt_kind;

typedef struct wf__stmt {
    uint8_t kind, dtype;
    bool constant;        /* LOCAL */
    bool bare;            /* ASSIGN: a last expression without a name, assigned to "out" */
    bool joined;          /* ASSIGN: a further name of the statement before: a, b = grad(...); its value is a PICK */
    int16_t op;           /* ASSIGN, WRITE: the operator before '=', or 0 */
    uint32_t at, len;     /* the name, or the keyword */
    uint32_t op_at;       /* where the operator stands */
    uint32_t first, last; /* nodes of its expressions: [first, last) */
    uint32_t value;       /* node; 0: none */
    uint32_t a, n;        /* WRITE: index list; LOCAL, GLOBAL: of extents */
    uint32_t step, body, end;
} wf__stmt;

/* Returns the change of the number of open blocks: -1, 0 or 1. */
static inline int wf__stmt_opens(const wf__stmt *s)
{
    return s->kind == WF__STMT_END                                                            ? -1
           : s->kind >= WF__STMT_SCOPE && s->kind <= WF__STMT_FOR && s->kind != WF__STMT_ELSE ? 1
                                                                                              : 0;
}

/* True if the statement gives a name, or an element of it, a value. */
static inline bool wf__stmt_assigns(const wf__stmt *s)
{
    return s->kind == WF__STMT_ASSIGN || s->kind == WF__STMT_LOCAL || s->kind == WF__STMT_WRITE ||
           s->kind == WF__STMT_GLOBAL;
}

typedef struct wf__text {
    const char *src; /* the caller's text, or `own` */
    uint32_t len;
    char *own;        /* a copy of the text followed by "out", for a last expression without a name; else NULL */
    uint32_t bare_at; /* where that expression begins */
    wf__tree *node;   /* node[0] is NONE */
    uint32_t n, cap;
    uint32_t *list; /* the arguments and indices of all nodes */
    uint32_t list_n, list_cap;
    wf__stmt *stmt;
    uint32_t stmt_n, stmt_cap;
    uint32_t locals;     /* number of typed locals and global arrays */
    bool derives;        /* it has derivatives: grad, tangent */
    bool program;        /* it has typed locals, blocks or writes by index, which need an index space */
    uint32_t program_at; /* the place of the first of these */
    /* scanning */
    uint32_t at, nesting, depth, loops, blocks;
    bool expression; /* the text is one expression, in which line ends are blanks */
    wf__token token; /* the next token, not yet taken */
    int before;      /* the kind of the token before it */
    /* the first error */
    wf_status status;
    uint32_t error_at;
    char error[200];
} wf__text;

/* Parses statements, or one expression, which becomes stmt[0] with an empty name. On false t->status, t->error and
 * t->error_at describe the error. */
bool wf__text_parse(wf__text *t, const char *src, bool expression);
void wf__text_free(wf__text *t);

/* Reads the next token into t->token. */
void wf__text_next(wf__text *t);
void wf__text_fail(wf__text *t, wf_status status, uint32_t at, const char *format, ...) WF__PRINTF(4, 5);
/* Appends "line 3, column 7:", the source line, and a caret under `at`, on three lines. */
void wf__text_caret(const wf__text *t, uint32_t at, wf__str *out);
/* Returns the dtype of that name, or of that name in C; WF_NONE: there is none. */
wf_dtype wf__text_dtype_named(const char *name, size_t len);
/* Border modes by their names in text, in the order of messages; WF_BORDER_VALUE without a value is "zero". */
#define WF__TEXT_BORDER_LIST(X)     \
    X(WF_BORDER_CLAMP, "clamp")     \
    X(WF_BORDER_MIRROR, "mirror")   \
    X(WF_BORDER_REFLECT, "reflect") \
    X(WF_BORDER_PERIODIC, "periodic")
#define WF__TEXT_AND_BORDER(border, name) ", " name
#define WF__TEXT_BORDERS "zero" WF__TEXT_BORDER_LIST(WF__TEXT_AND_BORDER) /* for messages */
wf_border wf__text_border_named(const char *name, size_t len);            /* WF_BORDER_NONE: it names none */
/* Interpolations by their names in text. */
#define WF__TEXT_INTERPOLATION_LIST(X)     \
    X(WF_INTERPOLATE_NEAREST, "nearest")   \
    X(WF_INTERPOLATE_LINEAR, "linear")     \
    X(WF_INTERPOLATE_CUBIC, "cubic")       \
    X(WF_INTERPOLATE_BSPLINE, "bspline")   \
    X(WF_INTERPOLATE_LANCZOS4, "lanczos4") \
    X(WF_INTERPOLATE_LANCZOS6, "lanczos6") \
    X(WF_INTERPOLATE_LANCZOS8, "lanczos8")
uint8_t wf__text_interpolation_named(const char *name, size_t len); /* plus 1; 0: it names none */
static inline bool wf__text_is(const wf__text *t, uint32_t at, uint32_t len, const char *name)
{
    return strlen(name) == len && memcmp(t->src + at, name, len) == 0;
}

/* True if the texts at both places are equal. */
static inline bool wf__text_same(const wf__text *t, uint32_t at, uint32_t len, uint32_t other, uint32_t other_len)
{
    return len == other_len && memcmp(t->src + at, t->src + other, len) == 0;
}

/* The length at which messages cut a name. */
static inline int wf__text_shown(uint32_t len) { return len < 40 ? (int)len : 40; }

/* ---- dtypes and values ---- */
static inline bool wf__text_is_int(wf_dtype t)
{
    return wf_dtype_kind(t) == WF_KIND_SIGNED || wf_dtype_kind(t) == WF_KIND_UNSIGNED;
}
static inline bool wf__text_is_signed(wf_dtype t) { return wf_dtype_kind(t) == WF_KIND_SIGNED; }
static inline bool wf__text_is_float(wf_dtype t) { return wf_dtype_kind(t) == WF_KIND_FLOAT; }
static inline bool wf__text_is_complex(wf_dtype t) { return wf_dtype_kind(t) == WF_KIND_COMPLEX; }
/* True for a complex number that belongs to no recording: wf_complex(1, 2). */
static inline bool wf__text_is_pair(wf_val v) { return v.h.graph && wf_val_number(v, NULL, NULL); }
/* True for a variable of a recording. */
static inline bool wf__text_is_variable(wf_val v) { return v.h.num < 0 && !wf_val_number(v, NULL, NULL); }

/* ---- the parser's parts, for statements (parse.c) ---- */
uint32_t wf__text_expression(wf__text *t); /* parses an expression and returns its node */
uint32_t wf__text_add_node(wf__text *t, wf__tree node);
/* Parses expressions up to `close` or ';'; returns their place in t->list, and their number in *count. */
uint32_t wf__text_list(wf__text *t, int close, uint32_t *count);
bool wf__text_take(wf__text *t, int kind, const char *what);
void wf__text_expected(wf__text *t, const char *what);
bool wf__text_deeper(wf__text *t); /* counts one level of nesting; the caller ends it by t->depth-- */

/* ---- values (value.c) ---- */
typedef struct wf__tval {
    wf_val v;
    bool real; /* of a number: it is not meant as an integer */
} wf__tval;

typedef struct wf__tctx { /* the context of conversions */
    wf_graph *graph;
    wf_dtype real; /* the dtype of numbers that meet no array: f64 if an array argument is f64, else f32 */
    char why[160]; /* the message of a mistake that the text's own rules find; else empty */
} wf__tctx;

static inline bool wf__tval_is_number(wf__tval a) { return a.v.h.graph == NULL; }
wf__tval wf__tval_number(double value, bool real);
wf__tval wf__tval_node(wf_val v);
/* All return a poison value on failure; c->why has the message if a rule of the text's own was broken. */
wf__tval wf__tval_unary(wf__tctx *c, int op, wf__tval a);
wf__tval wf__tval_binary(wf__tctx *c, int op, wf__tval a, wf__tval b);
wf__tval wf__tval_select(wf__tctx *c, wf__tval cond, wf__tval a, wf__tval b);
wf__tval wf__tval_cast(wf__tctx *c, wf__tval a, wf_dtype to);
/* Returns the float dtype of a number that meets no array: c->real, or f64 for a whole number that f32 would round. */
wf_dtype wf__tval_real(const wf__tctx *c, wf__tval a);
/* Calls a function of the op table; args holds as many arguments as it takes. */
wf__tval wf__tval_call(wf__tctx *c, int function, const wf__tval *args);
/* Returns the value as an integer, for an index; a number must be whole. */
wf__tval wf__tval_integer(wf__tctx *c, wf__tval a);
/* Returns an index as i64. One of u64 from 2^63 on becomes 2^63 - 1. */
wf__tval wf__tval_index(wf__tctx *c, wf__tval a);
int wf__tval_function(const char *name, size_t len); /* -1: none */
int wf__tval_arity(int function);
const char *wf__tval_function_name(int function); /* NULL past the last */
#endif
