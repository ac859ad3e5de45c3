/* record.h - recordings: what a graph holds while it records, and the program that a finished one is. */
#ifndef WEFT_RECORD_H
#define WEFT_RECORD_H
#include "object/object.h"

typedef struct wf__graphs { /* the recordings of a context, under its lock */
    wf_graph *open;         /* in progress */
    wf_graph *spare;        /* empty ones, kept for their memory */
    uint32_t spares;
} wf__graphs;

/* ---- recordings ---- */
typedef struct wf__object {    /* an array named by a recording */
    wf_array *array;           /* retained */
    uint32_t element, indexed; /* slot + 1 */
} wf__object;

enum { WF__CONTRACT_INPUT = 1, WF__CONTRACT_OUTPUT = 2 };
typedef struct wf__variable {
    uint8_t dtype, join;
    uint8_t contract;                 /* WF__CONTRACT_INPUT or _OUTPUT of an operator that declared it, else 0 */
    bool set;                         /* since it was made */
    uint32_t operand;                 /* its number, for messages; of an output, its bit in wf_graph.surely_set */
    int32_t red;                      /* reduction number, or -1 */
    wf__ref value;                    /* in the section it was last set in */
    uint64_t initial[2];              /* of a product of complex numbers: bits of its parts */
    wf__ref other[WF_SECTION_DEINIT]; /* its values in the other sections, from WF_SECTION_POST on */
} wf__variable;

typedef struct wf__named_param {
    char *name;
    uint64_t initial; /* bits */
    wf_dtype dtype;   /* as it was asked for: a complex parameter is a real one with an imaginary part of 0 */
} wf__named_param;

/* What a finished recording needs to be launched. */
struct wf__program {
    wf__recording rec;
    wf__object *object;
    uint32_t object_n, object_cap;
    wf__named_param *param;
    uint32_t param_n, param_cap;
    uint32_t initial_cap;
    wf_device device;
    wf__limits limits;
    bool placed; /* the device was asked for, or an array has decided it */
    char *name;
    const char *here; /* while it is recorded: for messages; borrowed */
    double record_s;  /* with WF_FLAG_HISTORY */
    /* Of a part that wf_eval runs: the recording that it is of, and node of that -> node of the part. Else NULL. */
    const struct wf__program *whole;
    const wf__ref *part_of;
};

/* ---- what messages call things (message.c) ---- */
/* Sets the context's error: the text, and behind it, in brackets, the operation that it is about and the recording:
 * "wf_add: shapes (3) and (4) do not broadcast [operation %3 'sum': wf_add('x', 2), in gain begun at a.c:12]". Numbers
 * are those of WF_DUMP_TRACE. Returns status. */
wf_status wf__program_error(wf_context *ctx, const wf__program *p, wf_status status, const char *text,
                            wf_section_id section, const wf__culprit *about);
/* Adds what stands in these brackets of the recording alone, " [in gain begun at a.c:12]", if it has a name or place. */
void wf__add_where(const wf__program *p, wf__str *out);
/* How plans call the arrays of a program: names and numbers of bind[0 .. object_n - 1]. */
void wf__name_arrays(const wf__program *p, wf__bind *bind);
/* wf__called of an array, which need not be in the recording yet; `as` is bound to it, or is the same one. */
const char *wf__array_called(const wf__program *p, const wf_array *array, const wf_array *as, char text[WF__CALLED]);

typedef struct wf__block wf__block; /* control.c */

struct wf_graph {
    wf_context *ctx;
    wf_graph *next, *prev; /* in ctx->open */
    wf__program program;
    wf__variable *var;
    uint32_t var_n, var_cap;
    wf__block *block; /* open ones, the outermost first */
    uint32_t block_n, block_cap;
    uint64_t surely_set; /* outputs of an operator under the contract that are set on every path to here */
    wf__ref *state;      /* of their variables */
    uint32_t state_n, state_cap;
    wf_array **kept; /* retained; ready once the recording has run */
    uint32_t kept_n, kept_cap;
    const char *here;
    wf_stream *stream; /* given; NULL: the current one, if any */
    bool reducing, accumulates;
    wf_section_id section;
    wf_array **scratch; /* of blocks, and local arrays; retained */
    uint32_t scratch_n, scratch_cap, locals;
    wf__str key;      /* scratch of wf_run */
    double begun;     /* with WF_FLAG_HISTORY; else 0 */
    bool evaluated;   /* by wf_eval: not all nodes are what was recorded */
    uint32_t settled; /* compact.c: nodes that have moved, and their ids; 0: none has */
    double *id, id_distance;
};
bool wf__decides_gpu(wf_graph *g); /* thread_ids.c: does it run on a GPU? From now on the device is fixed */

/* The ir that is being recorded into (the section's). */
static inline wf__ir *wf__graph_ir(wf_graph *g) { return &g->program.rec.section[g->section]; }
/* What a variable holds in the current section; 0: nothing. */
static inline wf__ref *wf__holds(const wf_graph *g, wf__variable *var)
{
    return g->section == WF_SECTION_CALL ? &var->value : &var->other[g->section - 1];
}
#define WF__POST_BASE 2147483648.0            /* ids of values of section s begin at s times this */
void wf__end_section(wf_graph *g, bool last); /* record/access.c: checks, and finishes what WF_SECTION_JOIN records */
void wf__graph_free(wf_graph *g);             /* one that is not in any list any more */
/* A complex number made of two C numbers (wf_complex(0, 1)), weakly typed: `num` is its real part, and where an address
 * of a recording would be are the bits of its imaginary part, complemented. User space's addresses have zeros in the
 * upper 16 bits; these bits never have, as a NaN is the one without sign (pair.c). */
static inline bool wf__is_pair(wf_val v) { return (uint64_t)(uintptr_t)v.h.graph >> 48 != 0; }
/* NULL: of no recording; a number, or a pair of them. */
static inline wf_graph *wf__graph_of(wf_val v) { return wf__is_pair(v) ? NULL : v.h.graph; }
wf_val wf__pair(double re, double im);
double wf__pair_imag(wf_val v);
wf_val wf__on_pairs(unsigned op,
                    const wf_val *v); /* numbers and pairs: in c128; NaN where the operation is not for them */
wf__ref wf__pair_as(wf_graph *g, wf_val v, unsigned dtype, const char *function); /* 0 after poisoning */
/* Is there something to record into? */
static inline bool wf__is_recording(wf_graph *g) { return g && wf__graph_ir(g)->status == WF_OK; }
static inline wf_val wf__no_value(wf_graph *g) { return (wf_val){ { 0, g } }; } /* poison */
wf__variable *wf__variable_of(wf_var var);                                      /* NULL: it is none */
wf_var wf__new_variable(wf_graph *g, wf__variable var);                         /* poison without memory */
/* control.c: a bool, the lanes that take part where the recording is now; 0: all. Was the variable declared outside
 * the innermost block? A block left open poisons. */
wf__ref wf__lanes_on(const wf_graph *g);
bool wf__is_outer(const wf_graph *g, uint32_t var);
void wf__check_blocks(wf_graph *g);
bool wf__may_branch(wf_graph *g, const char *function); /* else it is poisoned */
/* A condition, to be ended by wf_end_, whose lanes are these: its LOOP, or 0. */
wf__ref wf__open_condition(wf_graph *g, const char *here, wf__ref lanes);
/* As a condition, a bool: numbers and values that are not 0 hold (NaN, too, as in C). 0 after poisoning. */
wf__ref wf__truth(wf_graph *g, wf_val v, const char *function);
/* update.c: where an effect takes place, 0: everywhere; the condition (NULL: none), and in a block its lanes. */
bool wf__condition_of(wf_graph *g, const wf_val *condition, const char *function, wf__ref *out);
/* Array graphs: do value, what a variable holds and the lanes that are on broadcast? False after poisoning, with the
 * block's line. And: is no block open? */
bool wf__fits_block(wf_graph *g, wf__ref value, wf__ref holder, const char *function);
bool wf__no_block(wf_graph *g, const char *function, const char *instead);
/* watch.c: NULL: no-op. And what is watched takes the shape that it has got by the end of a block. */
void wf__shown_free(wf_context *ctx, wf__shown *shown);
void wf__shown_grow(wf_graph *g);
/* local.c: access of a local array. join 0: what was there does not count. */
wf_val wf__local_read(wf_graph *g, const wf_array *array, wf_border border, wf_val other, wf_vals index,
                      const char *function);
void wf__local_write(wf_graph *g, const wf_val *condition, unsigned join, const wf_array *array, wf_val v,
                     wf_vals index, const char *function);
/* variable.c: the contract of an operator (apply.c) */
void wf__set_contract(wf_var var, uint8_t contract, uint32_t operand);
bool wf__was_set(wf_var var);
bool wf__surely_set(wf_var var);
/* WF_ALL_AXES is right for any rank. */
static inline bool wf__axes_beyond(wf_axes axes, int rank) { return axes != WF_ALL_AXES && axes >> rank; }
/* record/access.c: the slot and index tuple of an update; false after poisoning. And what to do after recording it. */
bool wf__update_target(wf_graph *g, const wf_array *array, wf_vals index, const char *function, uint32_t *slot,
                       uint32_t *tuple);
/* The tuple of a value's or array's indices, one for each axis; false after poisoning. */
bool wf__index_tuple(wf_graph *g, wf_vals index, size_t rank, const char *function, uint32_t *out);
void wf__update_noted(wf_graph *g, uint32_t slot);
/* contract.c: fails the recording where a reduced variable is used otherwise than by joining. */
void wf__check_reductions(wf_graph *g);
/* The same of an index space that accumulates into an array and writes it. */
void wf__check_accumulation(wf_graph *g);
wf__ref wf__block_index(wf_graph *g, int axis); /* thread_ids.c: of the block that the point is in; axis -1: linear */
wf_val wf__value(wf_graph *g, wf__ref ref);     /* 0: poison */
wf__ref wf__resolve(wf_graph *g, wf_val v, const char *function, bool *number); /* *number: v.h.num is one */
wf__ref wf__usable(wf_graph *g, wf__ref ref, const char *function); /* of a variable; 0 if wf_eval put it out of use */
/* view_values.c: the node of a value in an array graph, outside of blocks; 0 after poisoning, and for numbers.
 * `elsewhere` and `block` end the messages, by saying what to do instead. */
wf__ref wf__whole_value(wf_val v, const char *function, const char *elsewhere, const char *block);
/* record/access.c: a value of an array graph as a new lazy array, which is wf_keep; NULL without memory, which
 * wf_last_message says in the name of `function`: the recording is none the worse for it. */
wf_array *wf__keep_value(wf_graph *g, wf__ref value, const char *function);
wf__ref wf__number(wf_graph *g, double value, unsigned dtype, const char *function); /* must fit */
/* A value or number as `dtype`, converting. */
wf__ref wf__converted(wf_graph *g, wf_val v, unsigned dtype, const char *function);
void wf__poison(wf_graph *g, wf_status status, const char *format, ...) WF__PRINTF(3, 4);

/* ---- evaluation (eval.c) ---- */
wf_status wf__graph_evaluate(wf_graph *g); /* runs what is pending; the graph has not failed and names no formal */
wf_status wf__graph_failure(wf_graph *g, const wf__ir *failed); /* graph.c: reports it as the context's error */
const wf__ir *wf__failed_section(const wf_graph *g);            /* graph.c: the section that failed; NULL: none */
bool wf__graph_launchable(wf_graph *g, const char *function);
void wf__release_kept(wf_graph *g);
void wf__settle(wf_graph *g); /* compact.c: nodes that are out of use go */
double wf__id_of(const wf_graph *g, wf__ref r);
wf__ref wf__node_of(const wf_graph *g, double id);
/* dead_arrays.c. Effects on arrays that the program has released are none. `goes_on`: recording does, and may use any
 * value. */
void wf__drop_unseen(wf_graph *g, bool goes_on);
/* Ends recording before a run: reduced variables hand their values over, and what the operator promised is checked. */
wf_status wf__graph_finish(wf_graph *g);
/* Takes the graph off the list of open ones and keeps its memory for the next recording. */
void wf__graph_retire(wf_graph *g);
void wf__program_clear(wf__program *p); /* releases arrays, keeps the ir's memory */
void wf__program_free(wf__program *p);
bool wf__program_writes(const wf__program *p, uint32_t object);
#endif
