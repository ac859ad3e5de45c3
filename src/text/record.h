/* record.h - the recorder of operator text: shared by text.c (the public functions), text/space.c (the space of a
 * text), text/program.c (walks the statements, with text/loop.c for loops), eval.c (walks the trees), text/fold.c
 * (functions of whole arrays) and names.c (knows names).
 */
#ifndef WEFT_API_TEXT_RECORD_H
#define WEFT_API_TEXT_RECORD_H
#include "text/text.h"

enum { WF__TEXT_NESTED = 256 }; /* more than the parser lets through */

typedef struct wf__text_name { /* assigned by a statement */
    uint32_t at, len;          /* in the text */
    uint32_t level;            /* number of blocks around */
    uint8_t dtype;             /* of a typed local; else NONE */
    bool constant;
    wf__tval value;  /* typed: a variable, unless constant */
    wf_array *array; /* then: a local array; else NULL */
} wf__text_name;

typedef struct wf__text_block { /* an open one */
    uint32_t stmt;              /* its first statement; of an ELSE that of the IF */
    uint32_t outer;             /* names that there are outside of it */
    uint32_t inner;             /* names its step sees: and the counter */
    bool stepped;               /* a FOR whose step the text does, not the recording */
} wf__text_block;

typedef struct wf__recorder {
    wf_graph *graph;
    const wf__text *text;
    wf_args args;
    const char *const *want; /* names whose assignments make new arrays, also where an argument has the name */
    size_t want_n;
    wf_array **made;  /* index spaces: per wanted name, or NULL until it is assigned. Owned by the caller */
    wf_device device; /* asked for; 0: that of the arrays */
    bool indexed;     /* values are lanes, not arrays */
    bool spaced;      /* the recording has an index space of a given shape */
    wf_shape space;   /* that shape; else rank 0 */
    bool failed, stepping;
    wf__tctx convert;
    wf_shape common; /* of all array arguments, broadcast; array recordings only */
    bool fits;       /* they broadcast together */
    int32_t shaped;  /* number of arguments that have a shape */
    wf__text_name *name;
    uint32_t name_n, name_cap;
    uint32_t visible; /* names that are looked at: the first so many */
    wf__tval *value;  /* per node of the tree */
    wf__text_block block[WF__TEXT_NESTED];
    uint32_t level, blocks, repeated; /* open blocks; all so far; nodes recorded more than once */
    uint32_t now;                     /* the statement */
} wf__recorder;

/* The first mistake: message, source line and caret. Returns poison. */
wf__tval wf__text_mistake(wf__recorder *r, wf_status status, uint32_t at, const char *format, ...) WF__PRINTF(4, 5);

/* Did the recording fail at this place? Then the message gets it. */
void wf__text_check(wf__recorder *r, uint32_t at);
wf__tval wf__text_poison(const wf__recorder *r);

/* Records the nodes of a statement: r->value. */
void wf__text_evaluate(wf__recorder *r, const wf__stmt *s);
/* The device and dtype of a new array of this value. */
wf_device wf__text_result_device(const wf__recorder *r);
wf_dtype wf__text_result_dtype(const wf__recorder *r, wf__tval value);
/* Records all statements. Afterwards r->value and r->name have what was assigned last. */
void wf__text_record(wf__recorder *r);
void wf__text_recorder_free(wf__recorder *r);
/* Records an assignment, a declaration or a write by index. */
void wf__text_assign(wf__recorder *r, const wf__stmt *s);
/* At the end: a local with the name of a result or of an array argument is stored as the point's element of it. */
void wf__text_store_locals(wf__recorder *r);
/* Records the assignment that begins a loop or is its step, which sees the first so many names. */
void wf__text_step(wf__recorder *r, uint32_t number, uint32_t visible);
void wf__text_declare(wf__recorder *r, const wf__stmt *s, wf_dtype dtype);
/* The indices, of nodes that have been recorded; false: r has the message. */
bool wf__text_indices(wf__recorder *r, uint32_t list, uint32_t n, wf__tval *out);
/* True if `n` indices are as many as the array has axes; false: r has the message. */
bool wf__text_as_many(wf__recorder *r, uint32_t at, uint32_t len, const wf_array *array, uint32_t n);
wf__text_name *wf__text_new_name(wf__recorder *r, uint32_t at, uint32_t len);
/* Blocks: the first statement of one. The recording's own block is opened and `block` describes it. */
bool wf__text_open(wf__recorder *r);
void wf__text_while(wf__recorder *r, const wf__stmt *s);
uint32_t wf__text_for(wf__recorder *r, const wf__stmt *s); /* the statement to go on with: the body's first */

/* The index space of a text that needs one, into *shape; false: r has the message. */
bool wf__text_space(wf__recorder *r, wf_shape *shape);
bool wf__text_same_shape(const wf_shape *a, const wf_shape *b);
/* Joins s into *common, aligned at the last axis. An extent below 0 is open (a formal). */
bool wf__text_join_shape(wf_shape *common, wf_shape s);

void wf__text_common_shape(wf__recorder *r);
const wf_arg *wf__text_arg(const wf__recorder *r, uint32_t at, uint32_t len); /* NULL: none of that name */
wf__text_name *wf__text_assigned(const wf__recorder *r, uint32_t at, uint32_t len);
int wf__text_wanted(const wf__recorder *r, uint32_t at, uint32_t len);  /* its number, or -1 */
bool wf__text_coordinate(const wf__text *t, uint32_t at, uint32_t len); /* x, y, z, i0 ... */

/* The value of a name: assigned, argument, or built in (pi, x, nx, i0, ...). */
wf__tval wf__text_lookup(wf__recorder *r, const wf__tree *node);
/* Index along the axis that is `from_end` from the last (1) of the common shape or space. */
wf__tval wf__text_own_index(wf__recorder *r, uint32_t at, int from_end);
/* "unknown ...; did you mean ...?". `call`: among functions. */
wf__tval wf__text_unknown(wf__recorder *r, const wf__tree *node, bool call);

/* Functions that are not of the op table: dtypes, and reductions of whole arrays. */
typedef enum wf__text_fold {
    WF__FOLD_NONE,
    WF__FOLD_SUM,
    WF__FOLD_PROD,
    WF__FOLD_MIN,
    WF__FOLD_MAX,
    WF__FOLD_ANY,
    WF__FOLD_ALL,
    WF__FOLD_COUNT,
    WF__FOLD_ARGMIN,
    WF__FOLD_ARGMAX,
    WF__FOLD_MEAN, /* these divide by the number of elements: */
    WF__FOLD_VAR,
    WF__FOLD_STD
} wf__text_fold;
wf__text_fold wf__text_fold_named(const char *name, size_t len, uint32_t arguments);
const char *wf__text_fold_name(size_t i); /* NULL past the last */
static inline bool wf__text_fold_has_ddof(wf__text_fold kind) { return kind >= WF__FOLD_VAR; }
wf__tval wf__text_fold_value(wf__recorder *r, wf__text_fold kind, const wf__tree *node, const wf__tval *args);
#endif
