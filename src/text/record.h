/* record.h - the recorder of operator text. Each of these files uses only those before it:
 *
 *   mistake.c   errors with their place in the text
 *   words.c     the words of the language: dtypes, borders, reductions
 *   names.c     arguments, assigned names, coordinates, constants
 *   fold.c      reductions of whole arrays
 *   eval.c      expressions
 *   space.c     the index space of a text
 *   assign.c    assignments, declarations, writes by index
 *   loop.c      loops
 *   program.c   all statements
 *   text.c      the public functions
 */
#ifndef WEFT_API_TEXT_RECORD_H
#define WEFT_API_TEXT_RECORD_H
#include "text/text.h"

enum { WF__TEXT_NESTED = 256 };       /* open blocks; the parser allows fewer */
#define WF__TEXT_HERE "operator text" /* the place of blocks, for messages about open ones: text closes all */

typedef struct wf__text_name { /* assigned by a statement */
    uint32_t at, len;          /* in the text */
    uint32_t level;            /* number of blocks around */
    uint8_t dtype;             /* of a typed local; else NONE */
    bool constant;
    wf__tval value;  /* its value; of a typed local that is not constant, the variable */
    wf_array *array; /* the local array of this name; NULL: it is none */
} wf__text_name;

typedef struct wf__text_block { /* an open block */
    uint32_t stmt;              /* its first statement; for an ELSE, that of the IF */
    uint32_t outer;             /* number of names outside of it */
    uint32_t inner;             /* number of names that its step sees: those outside and the counter */
    bool stepped;               /* a FOR whose step is recorded here, because wf_for_ does not do it */
} wf__text_block;

typedef struct wf__recorder {
    wf_graph *graph;
    const wf__text *text;
    wf_args args;
    const char *const *want; /* names whose assignments make new arrays, even if an argument has the name */
    size_t want_n;
    /* In index spaces, the array of each wanted name; NULL until it is assigned. The caller owns them. */
    wf_array **made;
    wf_device device; /* of the results; 0: the device of the arrays */
    bool prepares;    /* nothing runs: results begin with undefined contents */
    bool indexed;     /* values are lanes, not arrays */
    bool spaced;      /* the recording has an index space of a given shape */
    wf_shape space;   /* that shape; else rank 0 */
    bool failed, stepping;
    wf__tctx convert;
    wf_shape common; /* shape of coordinates in array recordings */
    bool fits;       /* there is such a shape: the array arguments broadcast, or something else gives it */
    int32_t shaped;  /* number of arguments that have a shape */
    wf__text_name *name;
    uint32_t name_n, name_cap;
    uint32_t visible; /* number of names, from the first, that a lookup finds */
    wf__tval *value;  /* [node of the tree] */
    wf__text_block block[WF__TEXT_NESTED];
    uint32_t level, blocks, repeated; /* number of open blocks, of all blocks so far, of nodes recorded again */
    uint32_t now;                     /* the current statement */
} wf__recorder;

/* Fails the recording with the message, the source line and a caret under `at`; the first failure is kept. Returns
 * poison. */
wf__tval wf__text_mistake(wf__recorder *r, wf_status status, uint32_t at, const char *format, ...) WF__PRINTF(4, 5);

/* If the recording has failed since the last check, adds this place to its message. */
void wf__text_check(wf__recorder *r, uint32_t at);
wf__tval wf__text_poison(const wf__recorder *r);

/* Records the nodes of a statement into r->value. */
void wf__text_evaluate(wf__recorder *r, const wf__stmt *s);
/* The device and dtype of a new array for this value. */
wf_device wf__text_result_device(const wf__recorder *r);
wf_dtype wf__text_result_dtype(const wf__recorder *r, wf__tval value);
/* Records all statements. Afterwards r->name holds the last value of each name. */
void wf__text_record(wf__recorder *r);
void wf__text_recorder_free(wf__recorder *r);
/* Records an assignment, a declaration or a write by index. */
void wf__text_assign(wf__recorder *r, const wf__stmt *s);
/* At the end: a local with the name of a result or of an array argument is stored as the point's element of it. */
void wf__text_store_locals(wf__recorder *r);
/* Records the assignment that begins a loop or is its step, which sees the first so many names. */
void wf__text_step(wf__recorder *r, uint32_t number, uint32_t visible);
/* Declares the local variable or array of the statement, whose expressions have been recorded. */
void wf__text_declare(wf__recorder *r, const wf__stmt *s, wf_dtype dtype);
/* Writes the n values of a list, as indices, to out; false, and r has the message, if one is no integer. */
bool wf__text_indices(wf__recorder *r, uint32_t list, uint32_t n, wf__tval *out);
/* True if `n` indices are as many as the array has axes; false: r has the message. */
bool wf__text_as_many(wf__recorder *r, uint32_t at, uint32_t len, const wf_array *array, uint32_t n);
wf__text_name *wf__text_new_name(wf__recorder *r, uint32_t at, uint32_t len);
/* Describes the block that the current statement opens in r->block; false, and r has the message, if there are too
 * many. */
bool wf__text_open(wf__recorder *r);
void wf__text_while(wf__recorder *r, const wf__stmt *s);
uint32_t wf__text_for(wf__recorder *r, const wf__stmt *s); /* returns the first statement of the body */

/* Sets *shape to the index space of a text that needs one; false, and r has the message, if nothing gives it. */
bool wf__text_space(wf__recorder *r, wf_shape *shape);
bool wf__text_same_shape(const wf_shape *a, const wf_shape *b);
/* Broadcasts *common and s into *common; false if they do not broadcast. An extent below 0 is open (a formal). */
bool wf__text_join_shape(wf_shape *common, wf_shape s);

/* Sets r->common to the broadcast shape of all array arguments. */
void wf__text_common_shape(wf__recorder *r);
/* Sets r->common to the shape of coordinates in an array recording. */
void wf__text_array_shape(wf__recorder *r);
const wf_arg *wf__text_arg(const wf__recorder *r, uint32_t at, uint32_t len); /* NULL: none of that name */
bool wf__text_args_differ(wf__recorder *r); /* false: two arguments have one name, and the recording has failed */
wf__text_name *wf__text_assigned(const wf__recorder *r, uint32_t at, uint32_t len);
int wf__text_wanted(const wf__recorder *r, uint32_t at, uint32_t len);  /* its index in r->want, or -1 */
bool wf__text_coordinate(const wf__text *t, uint32_t at, uint32_t len); /* x, y, z, i0 ... */

/* Returns the value of a name: an assigned one, an argument, or a built-in (pi, x, nx, i0, ...). */
wf__tval wf__text_lookup(wf__recorder *r, const wf__tree *node);
/* Returns the index along an axis of the common shape or space; `from_end` 1 is the last axis. */
wf__tval wf__text_own_index(wf__recorder *r, uint32_t at, int from_end);
/* Fails with "unknown ...; did you mean ...?"; `call`: the name stands for a function. */
wf__tval wf__text_unknown(wf__recorder *r, const wf__tree *node, bool call);

/* Reductions of whole arrays. */
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
    WF__FOLD_MEAN, /* from here on: divided by the number of elements */
    WF__FOLD_VAR,
    WF__FOLD_STD
} wf__text_fold;
wf__text_fold wf__text_fold_named(const char *name, size_t len, uint32_t arguments);
const char *wf__text_fold_name(size_t i); /* NULL past the last */
static inline bool wf__text_fold_has_ddof(wf__text_fold kind) { return kind >= WF__FOLD_VAR; }
wf__tval wf__text_fold_value(wf__recorder *r, wf__text_fold kind, const wf__tree *node, const wf__tval *args);
#endif
