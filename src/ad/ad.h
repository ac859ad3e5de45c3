/* ad.h - derivatives: transformations that append to a recording the nodes which compute derivatives of its values.
 *
 * The result is an ordinary recording. Planner, backends, caches and the history treat the appended nodes as they treat
 * all others, and the appended nodes can be differentiated again. Rules are written in the operations of ops.def, before
 * any expansion: the derivative of tanh contains cosh, which is expanded later.
 *
 * The files, from the bottom to the top. A file calls files to its left or above it.
 *
 *     terms                nodes whose derivatives are sums of terms
 *     rules.def rule       the rule of each operation, and how a rule becomes nodes
 *     whole                functions of complex numbers
 *     count                the number of turns of a loop
 *     factors              what joins of values have to do with each of them
 *     active stores        which nodes lie between the wanted values and the results; which elements loops store and read
 *     copies               copies of nodes that the sweeps walk over
 *     index before         border modes and gathers as indices; reads of contents from before a block
 *     shapes               sums over broadcast axes
 *     hoist sums           stores of loops as variables; accumulations of blocks as sums
 *     loops                blocks as straight code
 *     parts                sums of contributions and the points that take part
 *     views joins updates  derivatives of views, reductions and scans, accumulations
 *     effects              stores and accumulations in loops that stay loops
 *     custom               derivatives that the program gives
 *     turn outputs tape    loops that stay loops: copies of their turns, what they contribute, reverse mode through them
 *     forward              forward mode
 *     second               reverse mode of what reverse mode records for a loop that is kept
 *     reverse              reverse mode
 *     space emit           derivatives of operators over index spaces, and their values in the recordings of kernels
 *
 * Source of the method: Griewank and Walther, Evaluating Derivatives (SIAM 2008). Conventions where several answers are
 * possible: docs/derivatives.md.
 */
#ifndef WEFT_AD_H
#define WEFT_AD_H
#include "ir/ir.h"

typedef struct wf__custom_call { /* a derivative by a rule of the program; lists are those of the rule's hooks */
    const wf__custom *rule;
    const char *function;
    const wf__ref *in, *out; /* values; an output is 0 if the recording does not have it */
    /* Derivatives that are given: reverse mode [outputs] of the rule, forward mode [ins]; 0 = the derivative is 0. */
    const wf__ref *seed;
    uint32_t ins;
    bool reverse;
} wf__custom_call;

typedef struct wf__ad_task {
    const char *function; /* the public function, for messages */
    const wf__ref *out;   /* [outs] results that are differentiated */
    const wf__ref *wrt;   /* [wrts] values with respect to which they are differentiated */
    /* Reverse mode: [outs] the derivatives of the loss with respect to the results, each of a shape that broadcasts to
     * the result's, in the result's dtype. Forward mode: [wrts] directions, likewise. */
    const wf__ref *seed;
    uint32_t outs, wrts;
    /* True if two arrays, by their objects, share memory; NULL = none do. */
    bool (*share)(const void *user, uint32_t object, uint32_t other);
    /* Sets the derivatives of the inputs, in reverse mode, or of the outputs: values whose shapes broadcast to those of
     * their values, or for inputs the other way round; 0 = the derivative is 0. False = the ir has failed. NULL = rules of
     * the program have no derivatives. */
    bool (*record)(void *user, wf__ir *ir, const wf__custom_call *call, wf__ref *result);
    void *user;
    /* Index spaces: [objects] 1 + the slot of the derivative of an array; 0 = reads of the array are not wanted. Reads by
     * index in loops that are kept use it: reverse mode accumulates there what they contribute, in the loop that goes back,
     * and forward mode reads their directions. NULL = no array is wanted. */
    const uint32_t *derivative;
    /* [objects] not 0: all reads of the array depend on wanted values, whatever else the recording shows. NULL = the
     * recording shows all that depend on them. */
    const uint8_t *varies;
    /* [objects] not 0: results depend on what is stored and accumulated in the array; NULL = the recording shows it. Index
     * spaces, effects in loops that are kept: 1 + the slot of the array's derivative, which reverse mode reads, or of its
     * tangent, which forward mode changes as the effect changes the array. */
    const uint32_t *effects;
    bool turn;    /* a walk over a turn of a loop that is kept */
    bool stays;   /* loops that are short by now stay loops, too: reverse mode or wf__straighten has kept them */
    bool forward; /* forward mode; forward.c sets it */
} wf__ad_task;

/* Sets grad[i] to the derivative with respect to wrt[i]: a value of its shape, in wf__adjoint_dtype of its dtype; a
 * literal 0 if no result depends on it. False = the ir has failed. */
bool wf__ad_reverse(wf__ir *ir, const wf__ad_task *task, wf__ref *grad);
/* Sets tangent[i] to the derivative of out[i] in the direction of the seeds, likewise. */
bool wf__ad_forward(wf__ir *ir, const wf__ad_task *task, wf__ref *tangent);
/* True if a result depends on a wanted value through operations that have a derivative, or through memory. False without
 * memory: the ir has failed. */
bool wf__ad_depends(wf__ir *ir, const wf__ad_task *task);

enum { WF__AD_OPERANDS = 48 }; /* the most that wf__ad_operands gives */
/* Sets operand[] to the values that the derivative of node r follows, and returns their number: its operands, those of the
 * function of complex numbers that it is a part of, the inputs of a rule, or what the adjoint of a loop depends on. */
uint32_t wf__ad_operands(const wf__ir *ir, wf__ref r, bool forward, wf__ref operand[WF__AD_OPERANDS]);

/* ---- DERIVED nodes whose derivatives are sums of terms (terms.c) ---- */
enum { WF__LAST_TERM_RULE = INT32_MAX - 1, WF__TERM_RULES = WF__LAST_TERM_RULE - 15, WF__MOST_TERMS = 3 };
static inline bool wf__has_terms(const wf__node *n)
{
    return n->op == WF__DERIVED && n->c >= WF__TERM_RULES && n->c <= WF__LAST_TERM_RULE;
}
/* The derivative of the operand times the factor, where the condition holds. 0 = 1, everywhere. */
typedef struct wf__term {
    wf__ref of, factor, where;
} wf__term;
/* Records the terms of a node, and returns their number. */
uint32_t wf__terms_of(wf__ir *ir, wf__ref r, wf__term term[WF__MOST_TERMS]);
/* Sets the operands of the terms alone. */
uint32_t wf__term_operands(const wf__ir *ir, wf__ref r, wf__ref *operand);
/* Returns the product with the derivative of a product whose second factor is a constant. Unlike a value that wf_stop made, the
 * factor has a derivative where this derivative is differentiated. */
wf__ref wf__by_factor(wf__ir *ir, wf__ref value, wf__ref factor);
/* Returns a value other than 0, where the logarithm of its absolute value has the derivative of `logarithm`. */
wf__ref wf__by_logarithm(wf__ir *ir, wf__ref value, wf__ref logarithm);
/* Returns x, and 0 where g is 0: there is no 0 * infinity where nothing depends on the result. Where x is a number, it has its own
 * derivative, as g may be 0 and vary. */
wf__ref wf__guarded(wf__ir *ir, wf__ref g, wf__ref x);
/* Returns 1 if x is 0, with the derivative of x, and else 0, without one. zero: the condition. */
wf__ref wf__zero_of(wf__ir *ir, wf__ref x);
wf__ref wf__is_zero(wf__ir *ir, wf__ref x, wf__ref zero);
/* Returns a value with the derivative of x^2 where x is 0. */
wf__ref wf__with_square(wf__ir *ir, wf__ref value, wf__ref x);
/* Returns the product of `rest` and of as many factors of 0 as `zeros` says. sum, squares: values with the derivatives of the sum
 * of these factors and of their squares. squares 0 = not known: third derivatives of the whole product are then NaN beside
 * two zeros or more, as fourth ones are beside three zeros. */
wf__ref wf__beside_zeros(wf__ir *ir, wf__ref rest, wf__ref zeros, wf__ref sum, wf__ref squares);

/* ---- elements that many values are joined into, by minimum, maximum or product (factors.c) ---- */
/* True for an accumulation of floats by such a join. */
static inline bool wf__is_join_update(const wf__node *n)
{
    const unsigned join = n->op == WF__ACCUM && wf__is_float(n->dtype) ? wf__node_join(n) : WF_JOIN_ADD;
    return join == WF_JOIN_MIN || join == WF_JOIN_MAX || join == WF_JOIN_MUL;
}
/* A factor m 2^e other than 0, with m between 0.7 and 1.4 by size; or 0. Of products, m is the product of the others' and e and
 * zero their sums. */
typedef struct wf__factor {
    wf__ref m, e, zero; /* zero: 1 for 0, else 0 */
} wf__factor;
wf__factor wf__factor_of(wf__ir *ir, wf__ref x);
wf__ref wf__product_of(wf__ir *ir, wf__factor all);
/* Returns the product `all` without one of its factors. */
wf__ref wf__product_without(wf__ir *ir, wf__factor all, wf__factor one);
/* Returns where a value is the minimum or maximum, or NaN, as the result then is. */
wf__ref wf__is_result(wf__ir *ir, wf__ref x, wf__ref result);

/* True for dtypes that have derivatives. */
static inline bool wf__has_adjoint(unsigned t) { return wf__is_float(t) || wf__is_complex(t); }
/* Dtype of the derivatives of a value: f32 for f16 and bf16, and c64 for c32, which are rounded once, when stored. */
static inline unsigned wf__adjoint_dtype(unsigned t) { return wf__is_half(t) ? WF_F32 : t == WF_C32 ? WF_C64 : t; }

#endif
