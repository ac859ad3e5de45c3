/* adjoint_reduce.h - an operator that reduces, split into operators without reductions (adjoint_reduce.c). */
#ifndef WEFT_ADJOINT_REDUCE_H
#define WEFT_ADJOINT_REDUCE_H
#include "launch/adjoint.h"
#include "launch/again.h"

typedef struct wf__contribution { /* of a point to a reduced variable */
    uint32_t red;
    wf__ref value, when; /* nodes of wf__split.call; when 0 = always */
} wf__contribution;

typedef struct wf__reduced { /* a reduced variable, and arrays of the kept axes */
    uint8_t dtype, join;
    bool real;            /* it has derivatives */
    wf_array *result;     /* its values */
    wf_array *target;     /* what the operator of the points adds to; without contents; custom joins: NULL */
    wf_array *derivative; /* of the loss with respect to it, or of it in the direction */
    wf_array *count;      /* extremes: contributions that are the result; products: zeros */
    wf_array *product;    /* products: of the contributions that are not 0 */
    /* Custom joins: the node of wf__split.call with the partial result of a point alone; 0 = the initial value. */
    wf__ref partial;
} wf__reduced;

typedef struct wf__level wf__level; /* adjoint_join.c */
typedef struct wf__split wf__split;
struct wf__split {
    const wf__derive *d;
    wf_graph *g; /* the operator */
    const wf__program *p;
    wf_context *ctx;
    wf_shape space, kept;
    int place[WF_MAX_RANK]; /* axis of the space -> axis of `kept`; -1 = it is reduced */
    wf_axes axes;           /* reduced ones */
    wf__ir call;            /* WF_SECTION_CALL as straight code */
    uint32_t n;             /* its nodes, before contributions were found */
    uint8_t *chain;         /* [n] the node depends on a reduced variable that has no custom join */
    /* Records something in place of such a node; NULL = nothing. */
    void (*replace)(const wf__split *s, wf__again *a, wf__ref r);
    uint8_t *reached; /* [n] the node is joined to the variable */
    wf__ref *when;    /* [n] where; 0 = always */
    wf__contribution *part;
    uint32_t part_n, part_cap;
    wf__reduced *red;
    wf_array **array; /* of the recording's objects */
    /* [level_n] partial results of custom joins: of each point, ..., of each point of the kept axes. */
    wf__level *level;
    uint32_t level_n;
};

/* ---- adjoint_parts.c: contributions and values ---- */
wf_status wf__split_no_memory(const wf__split *s);
/* Sets the contributions. If one is not known, s->call fails. */
void wf__find_contributions(wf__split *s);
/* Begins a recording over a space, with the operator's parameters. */
wf_graph *wf__split_graph(const wf__split *s, const wf_shape *shape, wf_axes reduce);
static inline wf_status wf__run_recorded(wf_graph *g) { return g ? wf_run(g) : WF_ERR_MEMORY; }
/* Records the points again, without their joins; variables of custom joins have their initial values. */
void wf__record_points(const wf__split *s, wf__again *a, bool stores);
/* Records the store of a value, as the array's dtype, at the indices; 0 = at the point's own element. value 0: nothing. */
void wf__store_to_array(wf_graph *g, const char *function, const wf_array *array, uint32_t tuple, wf__ref value,
                        wf__ref when);
/* The indices of a point along the kept axes. */
uint32_t wf__kept_tuple(const wf__split *s, wf__ir *ir);
static inline bool wf__is_extreme(const wf__reduced *red)
{
    return red->real && (red->join == WF_JOIN_MIN || red->join == WF_JOIN_MAX);
}
/* Returns where a contribution to a minimum or maximum is the result, or NaN, as the result then is. */
wf__ref wf__is_extreme_at(const wf__split *s, const wf__again *a, const wf__contribution *of);
/* Returns the product of all other contributions. */
wf__ref wf__product_of_others(const wf__split *s, const wf__again *a, const wf__contribution *of);
wf_array *wf__split_array(const wf__split *s, unsigned dtype, const wf_shape *shape);
/* Makes the arrays of the reduced variables, and computes those of their values that derivatives need. */
wf_status wf__make_reduced(const wf__split *s);

/* ---- adjoint_updates.c ---- */
/* As wf__derive_operator, also for operators that accumulate by minimum, maximum or product. */
wf_status wf__derive_updates(wf_graph *graph, const wf__derive *d);

/* ---- adjoint_join.c: custom joins ---- */
/* Makes the partial results of custom joins, if there are any, and computes them. */
wf_status wf__levels_begin(wf__split *s);
void wf__levels_end(wf__split *s); /* also after failure */
/* The partial results of the points of a variable with a custom join, and their derivatives; NULL = it has none. */
wf_array *wf__point_partial(const wf__split *s, uint32_t red);
wf_array *wf__point_derivative(const wf__split *s, uint32_t red);
/* Records the stores of the points' partial results. */
void wf__store_partials(const wf__split *s, wf__again *a);
/* Reverse mode: takes the derivatives of the loss from the results of custom joins back to the partial results of the
 * points. Forward mode: takes the derivatives of these on to the results. */
wf_status wf__derive_levels(const wf__split *s);
#endif
