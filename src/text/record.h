/* record.h - the recorder of operator text. Each of these files uses only those before it:
 *
 *   mistake.c   errors with their place in the text
 *   words.c     the words of the language: dtypes, borders, reductions
 *   names.c     arguments, assigned names, coordinates, constants
 *   order.c     functions of whole arrays whose elements are computed first: sorting, histograms
 *   library.c   functions of whole arrays of the libraries: transforms, filters, geometry
 *   fold.c      functions of whole arrays
 *   derivative.c  grad and tangent, and the texts whose derivative would be wrong
 *   read.c      elements by index
 *   eval.c      expressions
 *   space.c     the index space of a text
 *   assign.c    assignments, declarations, writes by index
 *   loop.c      loops
 *   program.c   all statements
 *   parts.c     cuts a text into parts, each of which is one recording
 *   run.c       runs the parts one after the other
 *   step.c      wf_text_step: the steps of indices by which a result reads an array
 *   text.c      the other public functions
 *
 * A run of a text goes through them from the end of the list to its beginning. text.c calls run.c, which calls parts.c
 * once. Then, for each part, run.c calls parts.c for the functions of whole arrays inside of a program, space.c for the
 * shape, and program.c. This file walks the statements: loop.c and assign.c record them, eval.c records their
 * expressions, and read.c, fold.c, library.c, order.c and names.c record what stands in these.
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
    wf_array *array; /* the local array of this name; NULL: the name has none */
    wf_array *whole; /* all its elements: those of a global array, or those after an earlier part; owned; NULL: none */
    bool stored;     /* true if `whole` is its value in this part; else `value` is */
    bool own;        /* true if no other name has the memory of `whole` */
    bool gone;       /* the name of a local array that ended with an earlier part */
} wf__text_name;

typedef struct wf__text_part { /* statements [first, end) run as one recording */
    uint32_t first, end;
    bool points; /* true: the part needs an index space; false: an array recording */
} wf__text_part;

typedef struct wf__text_ready { /* the value of a node that an earlier recording has computed; owned */
    uint32_t first, node;       /* the node, and the first one of its operands */
    wf_array *array;
} wf__text_ready;

/* An array with a value that was computed outside of the recording: by an earlier part of the text, or by or for a
 * function that is no recording. What it was computed from, only the text shows. */
typedef struct wf__text_source {
    wf_array *array;      /* owned */
    uint32_t first, last; /* the nodes of its value; if there are none, those of the statements that assign its name */
    uint32_t at, len;     /* the function or name in the text */
    uint32_t end;         /* its value is made by statements before this one */
    bool operand;         /* the array is an operand of the function, and was computed first */
} wf__text_source;

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
    /* Parts of the text; empty: the text is recorded as one. */
    wf__text_part *part;
    uint32_t part_n, part_cap;
    uint32_t first, end; /* statements of the present part; both 0 = the whole text (see wf__text_end) */
    wf__text_ready *ready;
    uint32_t ready_n, ready_cap;
    wf_array **held; /* arrays that the recording uses; owned */
    uint32_t held_n, held_cap;
    wf__text_source *source; /* in texts with derivatives */
    uint32_t source_n, source_cap;
    bool runs;         /* true if elements may be computed while the text is recorded */
    bool older_error;  /* true if the context had an error before the text was run */
    bool written;      /* true if the recording has assigned an array since it was last evaluated */
    wf_device device;  /* of the results; 0: the device of the arrays */
    bool prepares;     /* true if nothing runs: results begin with undefined contents */
    size_t before;     /* with `prepares`: number of recordings until the one whose kernel is wanted */
    wf_kernel *kernel; /* that kernel; NULL: not reached yet */
    bool indexed;      /* true if values are elements at a point, not arrays */
    bool spaced;       /* true if the recording has an index space of a given shape */
    wf_shape space;    /* the shape of the index space; rank 0 = none */
    bool failed, stepping;
    wf__tctx convert;
    wf_shape common; /* shape of coordinates in array recordings */
    bool fits;       /* true if there is such a shape: the array arguments broadcast, or something else gives it */
    bool shaped;     /* true if an argument has a shape */
    wf__text_name *name;
    uint32_t name_n, name_cap;
    uint32_t visible; /* number of names, from the first, that a lookup finds */
    wf__tval *value;  /* [node of the tree] */
    wf__text_block block[WF__TEXT_NESTED];
    uint32_t level, blocks, repeated; /* number of open blocks, of all blocks so far, of nodes recorded again */
    uint32_t now;                     /* the current statement */
} wf__recorder;

/* ---- mistake.c ---- */

/* Fails the recording with the message, the source line and a caret under `at`; the first failure is kept. Returns
 * poison. */
wf__tval wf__text_mistake(wf__recorder *r, wf_status status, uint32_t at, const char *format, ...) WF__PRINTF(4, 5);
/* If the recording has failed since the last check, adds this place to its message. */
void wf__text_check(wf__recorder *r, uint32_t at);
wf__tval wf__text_poison(const wf__recorder *r);

/* ---- words.c ---- */

/* Functions of whole arrays. */
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
    WF__FOLD_MEAN, /* from here to STD: divided by the number of elements */
    WF__FOLD_VAR,
    WF__FOLD_STD,
    WF__FOLD_CUMSUM, /* from here on: along one axis */
    WF__FOLD_CUMPROD,
    WF__FOLD_CUMMIN,
    WF__FOLD_CUMMAX,
    WF__FOLD_SORT, /* from here on: of elements that are computed before the recording goes on */
    WF__FOLD_ARGSORT,
    WF__FOLD_MEDIAN, /* along any axes */
    WF__FOLD_QUANTILE,
    WF__FOLD_HISTOGRAM, /* of all elements */
    WF__FOLD_GRAD,      /* derivatives, recorded like reductions */
    WF__FOLD_TANGENT,
    WF__FOLD_LIBRARY, /* none; those of library.def follow */
#define FUNCTION(name, arrays, least, most, axes, keeps, bools) WF__FOLD_##name,
#include "text/library.def"
#undef FUNCTION
} wf__text_fold;
/* Returns the function of whole arrays that this name and number of arguments calls; WF__FOLD_NONE: none. */
wf__text_fold wf__text_fold_named(const char *name, size_t len, uint32_t arguments);
/* True if the function of whole arrays takes so many arguments; sets the least and the largest number. */
bool wf__text_fold_takes(const char *name, size_t len, uint32_t arguments, int *least, int *most);
const char *wf__text_fold_name(size_t i);     /* NULL past the last */
bool wf__text_fold_keeps(wf__text_fold kind); /* true if the result has the shape of the operand */

/* ---- names.c ---- */

bool wf__text_args_differ(wf__recorder *r); /* false: two arguments have one name, and the recording has failed */
const wf_arg *wf__text_arg(const wf__recorder *r, uint32_t at, uint32_t len); /* NULL: none of that name */
wf__text_name *wf__text_assigned(const wf__recorder *r, uint32_t at, uint32_t len);
wf__text_name *wf__text_new_name(wf__recorder *r, uint32_t at, uint32_t len);
int wf__text_wanted(const wf__recorder *r, uint32_t at, uint32_t len);  /* its index in r->want, or -1 */
bool wf__text_coordinate(const wf__text *t, uint32_t at, uint32_t len); /* x, y, z, i0 ... */
/* Returns the end of the statements of the present part. */
static inline uint32_t wf__text_end(const wf__recorder *r) { return r->end ? r->end : r->text->stmt_n; }
/* Returns the last statement of [first, end) that changes the name; NULL: none does. */
const wf__stmt *wf__text_change(const wf__text *t, uint32_t first, uint32_t end, uint32_t at, uint32_t len);
/* Returns the first node of the subtree: operands stand before their users, the first one first. */
uint32_t wf__text_first_node(const wf__text *t, uint32_t node);
typedef enum wf__text_place { WF__TEXT_SAME_ELEMENT, WF__TEXT_OTHER_ELEMENT, WF__TEXT_ANY_ELEMENT } wf__text_place;
/* Returns which element of an array the node reads by index, compared with the one that the statement writes at the same
 * point: ANY if indices of other forms than a coordinate plus a number differ. */
wf__text_place wf__text_place_of(const wf__recorder *r, const wf__stmt *write, const wf__tree *read);
/* True in an index space where the part changes the name, up to the end of the present block. */
bool wf__text_changes(const wf__recorder *r, uint32_t at, uint32_t len);
/* True if a statement of [first, end) assigns the name or has it in an expression; reads by index count with `reads`. */
bool wf__text_has_name(const wf__text *t, uint32_t first, uint32_t end, const wf__text_name *name, bool reads);
/* Returns the value of a name: an assigned one, an argument, or a built-in (pi, x, nx, i0, ...). */
wf__tval wf__text_lookup(wf__recorder *r, const wf__tree *node);
/* Returns the element of the array at the point; in an array recording, the whole array. The name stands in messages. */
wf__tval wf__text_element(wf__recorder *r, uint32_t at, uint32_t len, const wf_array *array);
/* Returns the index along an axis of the common shape or space; `from_end` 1 is the last axis. */
wf__tval wf__text_own_index(wf__recorder *r, uint32_t at, int from_end);
/* Fails with "unknown ...; did you mean ...?"; `call`: the name stands for a function. */
wf__tval wf__text_unknown(wf__recorder *r, const wf__tree *node, bool call);
/* Fails because the name is that of a local array which ended with an earlier part. */
wf__tval wf__text_gone(wf__recorder *r, uint32_t at, uint32_t len);
/* Gives the array `whole` of a name that name, for messages and dumps. */
void wf__text_label(const wf__recorder *r, const wf__text_name *name);
/* Returns the value as an array, which the recording computes. If nothing runs, later recordings can read the array all
 * the same. */
wf_array *wf__text_keep(wf__recorder *r, wf_val value);
/* Owns the array until the part of the text has run; NULL is fine where nothing has failed. False: r has the message. */
bool wf__text_hold(wf__recorder *r, wf_array *array, uint32_t at);

/* Notes, for derivatives, that the array holds the value of a node that is a call or a read, or what has been assigned to
 * a name. False: r has the message. */
bool wf__text_note(wf__recorder *r, const wf_array *array, wf__text_source source);

/* ---- order.c ---- */

/* Returns argument i of a call. */
const wf__tree *wf__text_argument(const wf__recorder *r, const wf__tree *node, int i);
/* Sets *number to a number, or to the value of one element, which is computed now. False: r has the message; `what` names
 * the number. */
bool wf__text_number(wf__recorder *r, const wf__tree *node, wf__tval value, const char *what, double *number);
/* Sets array[n] to arrays that hold the first n operands of a call, computed now; operand[n] are their values, which may
 * have been converted. False: r has the message. */
bool wf__text_elements(wf__recorder *r, const wf__tree *node, const wf__tval *operand, uint32_t n,
                       const wf_array **array);
/* Returns the value as an array whose elements are computed now. NULL: r has the message. */
const wf_array *wf__text_computed(wf__recorder *r, const wf__tree *node, wf__tval value);
/* Returns the result of a call as a value, and owns it. NULL: r or the context has the message. */
wf__tval wf__text_made(wf__recorder *r, const wf__tree *node, wf_array *result);
/* Records a function whose elements must be computed first: sorting, medians, quantiles, histograms. */
wf__tval wf__text_order_value(wf__recorder *r, wf__text_fold kind, const wf__tree *node, const wf__tval *args,
                              wf_axes axes);

/* ---- library.c ---- */

/* Calls a function of library.def with arrays and numbers; axes: those that the call names, or WF_ALL_AXES. */
/* False for functions of the libraries that take no axes after a semicolon. */
bool wf__text_library_has_axes(wf__text_fold kind);
wf__tval wf__text_library_value(wf__recorder *r, wf__text_fold kind, const wf__tree *node, const wf__tval *args,
                                wf_axes axes);

/* ---- fold.c ---- */

/* Records a function of whole arrays. */
wf__tval wf__text_fold_value(wf__recorder *r, wf__text_fold kind, const wf__tree *node, const wf__tval *args);
/* Returns the first of the axes. */
static inline int wf__text_first_axis(wf_axes axes)
{
    int axis = 0;
    while (axis < WF_MAX_RANK - 1 && !(axes >> axis & 1))
        axis++;
    return axis;
}

/* ---- derivative.c ---- */

/* Records grad or tangent, node `node`, and sets the values of the PICK nodes behind it. */
wf__tval wf__text_derive(wf__recorder *r, wf__text_fold kind, uint32_t node, const wf__tval *args);
/* Notes the arrays that the statements of the present part have written. */
void wf__text_note_written(wf__recorder *r);

/* ---- read.c ---- */

/* Records a read by index, a[y-1, x], of an array, a local array or a value. */
wf__tval wf__text_read(wf__recorder *r, const wf__tree *node);
/* Writes the n values of a list, as indices, to out; false, and r has the message, if one is no integer. */
bool wf__text_indices(wf__recorder *r, uint32_t list, uint32_t n, wf__tval *out);
/* True if `n` indices are as many as the array has axes; false: r has the message. */
bool wf__text_as_many(wf__recorder *r, uint32_t at, uint32_t len, const wf_array *array, uint32_t n);

/* ---- eval.c ---- */

/* Records the nodes of a statement into r->value. */
void wf__text_evaluate(wf__recorder *r, const wf__stmt *s);
/* Returns the value that an earlier recording has computed for the call whose nodes begin with this one; NULL: none. */
static inline const wf__text_ready *wf__text_ready_at(const wf__recorder *r, uint32_t node)
{
    for (uint32_t i = 0; i < r->ready_n; i++)
        if (r->ready[i].first == node)
            return &r->ready[i];
    return NULL;
}

/* ---- space.c ---- */

/* Sets *shape to the index space of a text that needs one; false, and r has the message, if nothing gives it. */
bool wf__text_space(wf__recorder *r, wf_shape *shape);
/* Sets r->common to the shape of coordinates in an array recording. */
void wf__text_array_shape(wf__recorder *r);
/* True if both shapes are the same. An extent below 0 is open (a formal). */
bool wf__text_same_shape(const wf_shape *a, const wf_shape *b);

/* ---- assign.c ---- */

/* Records an assignment, a declaration or a write by index. */
void wf__text_assign(wf__recorder *r, const wf__stmt *s);
/* Declares the local variable or array of the statement, whose expressions have been recorded. */
void wf__text_declare(wf__recorder *r, const wf__stmt *s, wf_dtype dtype);
/* Records statement `number`, the assignment that begins a loop or is its step. Only the first `visible` names are seen. */
void wf__text_loop_step(wf__recorder *r, uint32_t number, uint32_t visible);
/* Stores, at the end, each local with the name of an array argument as the point's element of that argument. With
 * `results`, does the same for locals with the name of a result. */
void wf__text_store_locals(wf__recorder *r, bool results);
/* Returns a new array for the value at each point: distributed by what it is computed from (in a block, by all that the part
 * has read), or as an array argument with as many axes. */
wf_array *wf__text_space_array(const wf__recorder *r, wf_val value, wf_dtype dtype);
/* Return the device and the dtype of a new array for this value. */
wf_device wf__text_result_device(const wf__recorder *r);
wf_dtype wf__text_result_dtype(const wf__recorder *r, wf__tval value);

/* ---- loop.c ---- */

/* Describes the block that the current statement opens in r->block; false, and r has the message, if there are too
 * many. */
bool wf__text_open(wf__recorder *r);
void wf__text_while(wf__recorder *r, const wf__stmt *s);
uint32_t wf__text_for(wf__recorder *r, const wf__stmt *s); /* returns the first statement of the body */

/* ---- program.c ---- */

/* Begins to record into r->graph. False: r has the message. */
bool wf__text_enter(wf__recorder *r);
/* Records the statements of the present part. Afterwards r->name holds the last value of each name. */
void wf__text_record(wf__recorder *r);
/* Releases the arrays that only the present part needs. */
void wf__text_end_part(wf__recorder *r);
void wf__text_recorder_free(wf__recorder *r);

/* ---- parts.c ---- */

/* Cuts the text into r->part. False: r has the message. */
bool wf__text_cut(wf__recorder *r);
/* True if a statement of the present part calls a function of whole arrays. */
bool wf__text_has_calls(const wf__recorder *r);
/* Records the functions of whole arrays of the present part, whose values become r->ready. */
void wf__text_compute_calls(wf__recorder *r);

/* ---- run.c ---- */

/* Begins the recording of the part [r->first, r->end) as r->graph. If the part needs an index space and none is found,
 * the recording has failed, with the message in r. NULL only without memory. */
wf_graph *wf__text_begin(wf_context *ctx, wf__recorder *r, bool points, const wf_space *options);
/* Runs the parsed text r->text, part by part, and makes the wanted results. */
wf_status wf__text_run(wf_context *ctx, wf__recorder *r, const char *function);
/* Prepares the recordings of the parsed text up to the one after r->before others, and returns its kernel. Makes the
 * wanted results if that is the last one. NULL: the context has the error, or there are fewer recordings. */
wf_kernel *wf__text_prepare_part(wf_context *ctx, wf__recorder *r, const char *function);
/* Prepares the parsed text, which must be one recording, and makes arrays for the results. NULL: the context has the
 * error. */
wf_kernel *wf__text_prepare(wf_context *ctx, wf__recorder *r, const char *function);
#endif
