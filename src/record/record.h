/* record.h - recordings: what a graph holds while it records, and the program that a finished one is.
 *
 * The files of src/record, from the bottom to the top. A file calls files to its left or above it, never to its right
 * or below (tools/check_circles holds this against the objects of a build); block.h is shared by control.c and lanes.c.
 *
 *     message program compact dead_arrays contract      names in messages, a finished recording, checks of its nodes
 *     failure hook                                      the first error; hooks that run
 *     pair values                                       numbers and operations on values
 *     lanes thread_ids index                            where a point is: in control flow, on a device, in the space
 *     variable view_values local                        what is built of values
 *     beside                                            how results are distributed
 *     access update watch                               memory
 *     control call reduce custom derive                 blocks, calls, sections, derivatives
 *     graph evaluate                                    a recording from its beginning to its end
 */
#ifndef WEFT_RECORD_H
#define WEFT_RECORD_H
#include "ad/ad.h"
#include "object/object.h"

typedef struct wf__graphs { /* the recordings of a context, under its lock */
    wf_graph *open;         /* in progress */
    wf_graph *spare;        /* recordings that have ended, kept for their memory */
    uint32_t spares;
    double ids; /* the largest id of the recordings that have ended; the ids of the next recording are larger */
} wf__graphs;

/* ---- recordings ---- */
typedef struct wf__object {    /* an array named by a recording */
    wf_array *array;           /* retained */
    uint32_t element, indexed; /* 1 + the slot of accesses of that kind; 0 = none */
    bool made;                 /* wf_eval has changed the array's contents */
} wf__object;

enum { WF__CONTRACT_INPUT = 1, WF__CONTRACT_OUTPUT = 2 };
typedef struct wf__variable {
    uint8_t dtype, join;
    uint8_t contract;                 /* WF__CONTRACT_INPUT or _OUTPUT of an operator that declared it, else 0 */
    bool set;                         /* a path of the recording has set the variable */
    uint32_t operand;                 /* number for messages, and bit of an output in wf_graph.surely_set */
    int32_t red;                      /* number of the reduction; -1 = no reduction */
    wf__ref value;                    /* node in WF_SECTION_CALL; 0 = none */
    uint64_t initial[2];              /* bits of the initial parts of a product of complex numbers */
    wf__ref other[WF_SECTION_DEINIT]; /* nodes in the other sections, from WF_SECTION_POST on */
} wf__variable;

typedef struct wf__named_param {
    char *name;
    uint64_t initial; /* bits */
    wf_dtype dtype;   /* dtype that the caller named. A complex parameter is recorded as a real one */
} wf__named_param;

struct wf__program { /* a finished recording, with all that launches need */
    wf__recording rec;
    wf__object *object;
    uint32_t object_n, object_cap;
    wf__named_param *param;
    uint32_t param_n, param_cap;
    uint32_t initial_cap; /* capacity of rec.initial */

    /* where and how it runs */
    wf_device device;
    bool placed; /* the device is final: the caller named it, or an array has decided it */
    wf__limits limits;

    /* for messages and the history */
    char *name;
    const char *here; /* place in the caller's source, borrowed; NULL in a kernel */
    double record_s;  /* seconds of recording, with WF_FLAG_HISTORY; else 0 */

    /* if wf_eval runs the program as a part of a recording; else NULL */
    const struct wf__program *whole; /* the whole recording */
    const wf__ref *part_of;          /* node of `whole` -> node of the part */
};

typedef struct wf__block wf__block; /* block.h */

struct wf_graph {
    wf_context *ctx;
    wf_graph *next, *prev; /* neighbours in wf__graphs.open */
    wf__program program;

    /* set when the recording begins (graph.c) */
    const char *here;  /* place in the caller's source, borrowed; NULL = unknown */
    wf_stream *stream; /* stream of the caller; NULL = the thread's current one, if any */
    double begun;      /* time of the beginning, with WF_FLAG_HISTORY; else 0 */
    double first_id;   /* ids of values and variables of earlier recordings are at most this */
    double last_id;    /* ids of this recording are at most this, once it is finished */
    bool reducing;     /* the recording reduces axes of its space */
    bool ended;        /* wf_run, wf_compile or another function has consumed the recording */

    /* where recording is now */
    wf_section_id section;
    wf__variable *var;
    uint32_t var_n, var_cap;
    wf__block *block; /* open blocks, the outermost first (control.c) */
    uint32_t block_n, block_cap;
    wf__ref *state; /* states of the variables in the open blocks */
    uint32_t state_n, state_cap;
    uint64_t surely_set; /* outputs of an operator with a contract that every path to here sets, one bit each */
    bool accumulates;    /* the recording accumulates into an array by index (update.c) */

    /* arrays that the recording makes */
    wf_array **kept; /* retained; ready once the recording has run */
    uint32_t kept_n, kept_cap;
    wf_array **scratch; /* scratch of blocks and local arrays; retained */
    uint32_t scratch_n, scratch_cap;
    uint32_t locals; /* number of local arrays */

    uint32_t hooks; /* number of hooks that run, each called by the one before (hook.c) */

    /* evaluations while recording goes on */
    bool evaluated;     /* wf_eval has run, and has taken nodes out of use */
    uint32_t moved;     /* number of nodes whose ids are in `id` (compact.c); 0 = no node has moved */
    double *id;         /* [moved] ids of the first nodes */
    double id_distance; /* id of a later node minus its number; first_id at first */

    wf__str key; /* scratch of wf_run */
};

/* ---- the state of a recording ---- */
/* Returns the IR of the current section. */
static inline wf__ir *wf__graph_ir(wf_graph *g)
{
    WF__ASSERT(g);
    return &g->program.rec.section[g->section];
}
/* Returns where a variable's value in the current section is kept; the value 0 = none. */
static inline wf__ref *wf__holds(const wf_graph *g, wf__variable *var)
{
    return g->section == WF_SECTION_CALL ? &var->value : &var->other[g->section - 1];
}
/* True if the graph can record: it exists, and its current section has not failed. */
static inline bool wf__is_recording(wf_graph *g) { return g && wf__graph_ir(g)->status == WF_OK; }
/* Returns poison: the value of an operation that failed. */
static inline wf_val wf__no_value(wf_graph *g) { return (wf_val){ { 0, g } }; }
/* True if the mask names an axis that the rank does not have. WF_ALL_AXES suits any rank. */
static inline bool wf__axes_beyond(wf_axes axes, int rank) { return axes != WF_ALL_AXES && axes >> rank; }

/* ---- message.c: names of recordings, operations and arrays in messages ---- */
/* Sets the context's error: the text, and behind it, in brackets, the operation that it is about and the recording:
 * "wf_add: shapes (3) and (4) do not broadcast [operation %3 'sum': wf_add('x', 2), in gain begun at a.c:12]". Numbers
 * are those of WF_DUMP_TRACE. Returns status. */
wf_status wf__program_error(wf_context *ctx, const wf__program *p, wf_status status, const char *text,
                            wf_section_id section, const wf__culprit *about);
/* Adds " [in gain begun at a.c:12]" to the text, if the recording has a name or place. */
void wf__add_where(const wf__program *p, wf__str *out);
/* Sets the names and numbers of bind[0 .. object_n - 1], by which plans call the arrays. */
void wf__name_arrays(const wf__program *p, wf__bind *bind);
/* Writes the name of an array for messages into `text`, as wf__called does, and returns `text`. `as` is the array bound
 * to it, or the same one. The recording need not have the array yet. */
const char *wf__array_called(const wf__program *p, const wf_array *array, const wf_array *as, char text[WF__CALLED]);

/* ---- program.c ---- */
void wf__program_clear(wf__program *p); /* releases the arrays, keeps the IR's memory */
void wf__program_free(wf__program *p);
bool wf__program_writes(const wf__program *p, uint32_t object); /* true if the program stores to the object */

/* ---- hook.c ---- */
enum { WF__MOST_CALLS = 1000 }; /* hooks that run at once, each called by the one before */
/* Begins and ends the run of a hook, which may neither end nor evaluate the recording. wf__hook_begin returns false after
 * poisoning: there are too many; no end follows then. `here`: a place in the caller's source; NULL = unknown. */
bool wf__hook_begin(wf_graph *g, const char *function, const char *here);
void wf__hook_end(wf_graph *g);
/* True if the recording goes on and none of its hooks runs, so that `function` may end or evaluate it. Else false with an
 * error of the context. */
bool wf__may_end(wf_graph *g, const char *function);

/* ---- compact.c: ids of nodes ---- */
#define WF__SECTION_IDS 1125899906842624.0 /* 2^50: ids of values of section s begin at s times this */
/* Returns the index in g->var of the variable with the id; g->var_n or more for a variable of an earlier recording. The
 * id, wf_var.num, is below 0. */
static inline uint32_t wf__variable_number(const wf_graph *g, double id)
{
    const double n = -id - g->first_id - 1;
    return n >= 0 && n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}
double wf__id_of(const wf_graph *g, wf__ref r);
wf__ref wf__node_of(const wf_graph *g, double id);
void wf__compact(wf_graph *g); /* removes the nodes that are out of use */

/* ---- dead_arrays.c ---- */
/* Removes effects on arrays that the program has released. `goes_on`: recording continues and may use any value. */
void wf__drop_unseen(wf_graph *g, bool goes_on);

/* ---- contract.c ---- */
/* Fails the recording where a reduced variable is used otherwise than by joining. */
void wf__check_reductions(wf_graph *g);
/* Fails an index space that accumulates into an array and also writes it. */
void wf__check_accumulation(wf_graph *g);

/* ---- failure.c ---- */
/* Fails the current section, unless it has failed before. `g` may be NULL. */
void wf__poison(wf_graph *g, wf_status status, const char *format, ...) WF__PRINTF(3, 4);
/* True unless a list of n entries is NULL; false after poisoning. `g` may be NULL. */
bool wf__is_list(wf_graph *g, const void *list, size_t n, const char *function);
/* Returns the section that failed first, in the order of recording; NULL = none. */
const wf__ir *wf__failed_section(const wf_graph *g);
/* Makes the failure of a section the context's error. Returns its status. */
wf_status wf__graph_failure(wf_graph *g, const wf__ir *failed);
/* Ends the group of ranks over which arrays of the recording are distributed, if there are any. */
void wf__end_group(const wf__program *p, const char *text);
/* Makes an error that there is no memory to begin a launch of the recording. Returns WF_ERR_MEMORY. This function and
 * wf__graph_failure end the group of ranks if there is no memory: the others wait for this rank. */
wf_status wf__cannot_begin(wf_context *ctx, const wf__program *p, const char *text);

/* ---- pair.c: complex numbers made of two C numbers (wf_complex(0, 1)), weakly typed ---- */
/* True if the value is such a pair: `num` is its real part, and in place of the graph's address are the bits of its
 * imaginary part, complemented. User space's addresses have zeros in the upper 16 bits; these bits never have, as a NaN
 * is stored as the one without sign. */
static inline bool wf__is_pair(wf_val v) { return (uint64_t)(uintptr_t)v.h.graph >> 48 != 0; }
/* Returns the recording of a value; NULL for a number or a pair. */
static inline wf_graph *wf__graph_of(wf_val v) { return wf__is_pair(v) ? NULL : v.h.graph; }
/* NULL = not a variable of the recording that goes on. */
static inline wf__variable *wf__variable_of(wf_var var)
{
    const wf_graph *g = wf__graph_of((wf_val){ var });
    const uint32_t number = g && var.num < 0 ? wf__variable_number(g, var.num) : UINT32_MAX;
    return g && number < g->var_n ? &g->var[number] : NULL;
}
double wf__pair_imag(wf_val v);
/* Computes an operation of numbers and pairs in c128. Returns NaN where the operation has no complex form. */
wf_val wf__on_pairs(unsigned op, const wf_val *v);
wf__ref wf__pair_as(wf_graph *g, wf_val v, unsigned dtype, const char *function); /* 0 after poisoning */

/* ---- values.c ---- */
wf_val wf__value(wf_graph *g, wf__ref ref); /* returns the value of a node; ref 0 = poison */
/* Returns the node of a value; 0 after poisoning, and for a number, with *number = true: v.h.num is the number. */
wf__ref wf__resolve(wf_graph *g, wf_val v, const char *function, bool *number);
/* Returns the node of a variable; 0 after poisoning, if wf_eval has put the node out of use. */
wf__ref wf__usable(wf_graph *g, wf__ref ref, const char *function);
/* Returns a number as a constant of `dtype`; 0 after poisoning, if it does not fit. */
wf__ref wf__number(wf_graph *g, double value, unsigned dtype, const char *function);
/* wf_number_fits, for callers in the default floating-point environment. */
bool wf__number_fits(double value, wf_dtype dtype);
bool wf__is_whole(double value); /* true for an integer */
/* Returns a value or number converted to `dtype`; 0 after poisoning. */
wf__ref wf__converted(wf_graph *g, wf_val v, unsigned dtype, const char *function);

/* ---- lanes.c ---- */
wf__ref wf__lanes_on(const wf_graph *g);            /* returns the lanes that take part now, as a bool; 0 = all */
bool wf__is_outer(const wf_graph *g, uint32_t var); /* true for a variable from outside the innermost block */
/* Returns a value as a condition: true if it is not 0, as in C (NaN is true). 0 after poisoning. */
wf__ref wf__truth(wf_graph *g, wf_val v, const char *function);
/* Sets *out to the lanes where an effect takes place: `condition` (NULL = none) and the block's lanes; 0 = everywhere.
 * False after poisoning. */
bool wf__condition_of(wf_graph *g, const wf_val *condition, const char *function, wf__ref *out);
/* True if a value, that of `holder` and the block's lanes broadcast. Always true outside of blocks, and in recordings
 * that are not array graphs. False after poisoning. */
bool wf__fits_block(wf_graph *g, wf__ref value, wf__ref holder, const char *function);
/* True if no block is open. False after poisoning. */
bool wf__no_block(wf_graph *g, const char *function, const char *instead);

/* ---- thread_ids.c ---- */
/* Makes the device of the recording final. True if it is a GPU. */
bool wf__decides_gpu(wf_graph *g);
wf__ref wf__block_index(wf_graph *g, int axis); /* returns the index of the point's block; axis -1 = linear */

/* ---- index.c ---- */
/* Sets *out to the tuple of a value's indices, one for each axis. `any`: indices may be any integers, and those of u64
 * from 2^63 on become 2^63 - 1. False after poisoning. */
bool wf__index_tuple(wf_graph *g, wf_vals index, size_t rank, bool any, const char *function, uint32_t *out);
/* Sets *out to the tuple of an array's indices; in a block's scratch, behind those of the block. False after
 * poisoning. */
bool wf__array_tuple(wf_graph *g, const wf_array *array, wf_vals index, bool any, const char *function, uint32_t *out);
/* Makes a negative axis count from the end. False after poisoning: there is no such axis. */
bool wf__axis_of(wf_graph *g, int *axis, int rank, const char *function);

/* ---- variable.c ---- */
wf_var wf__new_variable(wf_graph *g, wf__variable var); /* poison without memory */
/* The contract of an operator (launch/apply.c). wf__set_contract makes a variable part of it. wf__was_set: true if a
 * path has set the variable; wf__surely_set: true if every path to here has. */
void wf__set_contract(wf_var var, uint8_t contract, uint32_t operand);
bool wf__was_set(wf_var var);
bool wf__surely_set(wf_var var);

/* ---- view_values.c ---- */
/* Returns the node of a value in an array graph, outside of blocks; 0 after poisoning, and for numbers. `elsewhere` and
 * `block` are the ends of the messages, with what to do instead. */
wf__ref wf__whole_value(wf_val v, const char *function, const char *elsewhere, const char *block);

/* ---- local.c: access of a local array ---- */
wf_val wf__local_read(wf_graph *g, const wf_array *array, wf_border border, wf_val other, wf_vals index,
                      const char *function);
/* Joins the value to an element; join 0 = the value replaces the element. */
void wf__local_write(wf_graph *g, const wf_val *condition, unsigned join, const wf_array *array, wf_val v,
                     wf_vals index, const char *function);

/* ---- beside.c ---- */
/* Finds how a result of this shape is distributed that is computed from a value (0 = from all that the recording has read), or as
 * one of the n other arrays. out->like NULL = each rank has all of it. False = out of memory. */
bool wf__beside_value(const wf_graph *g, wf__ref value, const wf_array *const *other, size_t n, const wf_shape *shape,
                      wf__beside *out);

/* ---- access.c ---- */
/* Sets *slot to the slot of an array's elements, or of its accesses by index. False after poisoning. */
bool wf__array_slot(wf_graph *g, const wf_array *array, bool element, bool writes, const char *function,
                    uint32_t *slot);
/* Sets the slot and index tuple of an update. False after poisoning. */
bool wf__update_target(wf_graph *g, const wf_array *array, wf_vals index, const char *function, uint32_t *slot,
                       uint32_t *tuple);
/* Notes a store or update of a slot: overlapping memory is read anew from then on. */
void wf__note_store(wf_graph *g, uint32_t slot);
/* Reads the contents of an array before an accumulation in an array graph, outside of blocks, whose derivative needs them.
 * What does not use the read drops it. */
void wf__note_contents(wf_graph *g, const wf_array *array, unsigned join);
/* Makes a value of an array graph a new lazy array, as wf_keep does. NULL without memory: the context's error names
 * `function`, and the recording has not failed. */
wf_array *wf__keep_value(wf_graph *g, wf__ref value, const char *function);

/* ---- watch.c ---- */
void wf__shown_free(wf_context *ctx, wf__shown *shown); /* NULL: no-op */
/* Gives watched arrays the shape of their values at the end of a block. */
void wf__shown_grow(wf_graph *g);

/* ---- control.c ---- */
bool wf__may_branch(wf_graph *g, const char *function); /* false after poisoning: the section has no control flow */
/* Opens a condition for these lanes, which wf_end_ ends. Returns its LOOP; 0 after poisoning. */
wf__ref wf__open_condition(wf_graph *g, const char *here, wf__ref lanes);
void wf__check_blocks(wf_graph *g); /* fails the recording if a block is open */

/* ---- reduce.c ---- */
/* Declares the reductions of another recording under their numbers. join: its section WF_SECTION_JOIN. */
void wf__reductions_again(wf_graph *g, const wf__ir *call, const wf__ir *join, const uint64_t *initial);
void wf__end_section(wf_graph *g, bool last); /* checks the section, and finishes what WF_SECTION_JOIN records */

/* ---- custom.c ---- */
/* Sets *out to a value in the dtype of the derivatives of the node `of`. Its shape broadcasts to that of the node or, with
 * `sums`, that of the node to its shape. False after poisoning; `what` names the value. */
bool wf__derivative_of(wf_graph *g, wf_val v, wf__ref of, bool sums, const char *function, const char *what,
                       wf__ref *out);
/* wf__ad_task.record: calls a hook of the program. user: the recording, whose ir this may be; else the ir has its arrays. */
bool wf__record_custom(void *user, wf__ir *ir, const wf__custom_call *call, wf__ref *result);

/* ---- graph.c ---- */
/* Ends recording before a run: reduced variables hand over their values, and the contract of an operator is checked. */
wf_status wf__graph_finish(wf_graph *g);
bool wf__graph_launchable(wf_graph *g, const char *function); /* false = it names a formal, which is an error */
/* Declares the parameters of another recording under their numbers. dtype: those of its IR. */
void wf__params_again(wf_graph *g, const wf__named_param *param, const uint8_t *dtype, uint32_t n);
void wf__release_kept(wf_graph *g);
void wf__graph_retire(wf_graph *g); /* closes the graph, and keeps its memory for the next recording */
void wf__graph_free(wf_graph *g);   /* the graph must be in no list */

/* ---- evaluate.c ---- */
/* Runs the pending effects. The graph must not have failed, nor name a formal. */
wf_status wf__graph_evaluate(wf_graph *g);
#endif
