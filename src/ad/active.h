/* active.h - which nodes lie between the wanted values and the results. */
#ifndef WEFT_AD_ACTIVE_H
#define WEFT_AD_ACTIVE_H
#include "ad/ad.h"

/* The outermost blocks (loops and conditions) on the way. Either nodes first..last compute what nodes loop..end do, or the
 * block is kept as a loop. */
typedef struct wf__region {
    wf__ref loop, end, first, last;
    bool kept;
    uint32_t most; /* of a kept block: it has so many turns at most; 0 = unknown */
} wf__region;
typedef struct wf__loops {
    wf__region *block; /* in program order */
    uint32_t block_n, block_cap;
    wf__ref *final; /* [n] STATE of a block that was written out -> the node that has its last value; 0 = none */
    uint32_t n;     /* nodes before */
} wf__loops;
static inline wf__ref wf__final(const wf__loops *loops, wf__ref state)
{
    return loops && loops->final && state < loops->n ? loops->final[state] : 0;
}

enum {
    WF__VARIES = 1, /* the value depends on a wanted value, by operations that have derivatives */
    WF__COUNTS = 2, /* a result depends on the value, likewise */
    WF__ACTIVE = WF__VARIES | WF__COUNTS
};
typedef struct wf__activity {
    uint8_t *node;  /* [nodes] marks */
    uint8_t *array; /* [objects] marks of the memory of an array, at any time */
} wf__activity;

/* Marks the nodes that the ir has. In an array graph memory takes part: a read by index of a wanted array varies, and so
 * does what was stored. `loops`: NULL = no block was written out. False = out of memory: the ir has failed. */
bool wf__find_active(wf__ir *ir, const wf__ad_task *task, const wf__loops *loops, wf__activity *out);
/* False, and the ir has failed, if a derivative passes through memory that two arrays share: the sweeps take each array
 * for memory of its own. */
bool wf__check_shared(wf__ir *ir, const wf__ad_task *task, const wf__activity *active);
void wf__activity_free(wf__activity *active);
/* Returns the number of arrays, and the array that an access names. */
uint32_t wf__objects_of(const wf__ir *ir);
static inline uint32_t wf__object_of(const wf__ir *ir, const wf__node *access) { return ir->slot[access->a].object; }
/* True for a value that stands for the contents of its array: an element-wise read in an array graph. */
static inline bool wf__is_contents(const wf__ir *ir, wf__ref r)
{
    const wf__node *n = &ir->node[r];
    return ir->arrays && n->op == WF__LOAD && !n->b && !wf__when(ir, n);
}
/* A DERIVED node by this rule is an output of the adjoint of a loop that is kept (second.c): what the loop contributes to
 * the adjoint of an input. Output k < WF__LOOP_STATES belongs to the initial value of state k, the others to a value from
 * before the loop or to the contents of an array, for which a read of them stands. The arguments are the input, state 0, a
 * literal with bit k set if state k has an adjoint after the loop, these adjoints, and SCATTERs in the loop, each
 * followed by its adjoint. */
enum { WF__LOOP_RULE = INT32_MAX, WF__LOOP_ARGUMENTS = 3 };
enum { WF__LOOP_STATES = 32, WF__LOOP_VALUE = WF__LOOP_STATES, WF__LOOP_CONTENTS };
static inline bool wf__is_of_loop(const wf__node *n) { return n->op == WF__DERIVED && n->c == WF__LOOP_RULE; }
/* True if both nodes are outputs of one call of a rule of the program, in this order, or of the adjoint of one loop. */
bool wf__same_call(const wf__ir *ir, wf__ref first, wf__ref second);
#define WF__STOP_OF_READ "; wf_stop of what is read is a constant"
/* Fails the ir: the node has no derivative. */
void wf__no_derivative(wf__ir *ir, const wf__ad_task *task, const wf__node *n, const char *why);
#endif
