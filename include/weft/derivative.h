/* derivative.h - derivatives of values, in reverse and forward mode, as values of the same recording.
 * Dtypes: floats and complex numbers; f32 for f16 and bf16, c64 for c32, else that of the value.
 * Complex, L real: dL/dRe(z) + i dL/dIm(z), which a descent step subtracts. Conventions: docs/derivatives.md.
 * Errors: poison, and the graph fails; the message names the operation that has no derivative.
 * Reference: docs/reference/derivative.md */
#ifndef WF_DERIVATIVE_H
#define WF_DERIVATIVE_H
#include "weft/error.h"
#include "weft/macros.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Sets out[i] to the derivative of a loss with respect to wrt[i]: a wf_in, which stands for the contents of its array at
 * that place, however they are read; a parameter; or any other value. Index spaces: values of each point only.
 * Shapes: the loss has one element; out[i] has the shape of wrt[i], and is a literal 0 if nothing depends on it.
 * Source: reverse mode (Griewank and Walther, Evaluating Derivatives). Cost: a small multiple of the loss's operations.
 * Example: wf_grad(wf_sum(wf_mul(x, x), WF_ALL_AXES), WF_VALS(x), &dx); */
WF_API void wf_grad_n(wf_val loss, wf_vals wrt, wf_val *out);
/* As wf_grad, for results of any shape: out[i] is the sum over k of the derivative of outs[k] with respect to wrt[i],
 * transposed, times seeds[k]. Shapes: seeds[k] broadcasts to outs[k]. */
WF_API void wf_vjp_n(wf_vals outs, wf_vals seeds, wf_vals wrt, wf_val *out);
/* Sets out[k] to the derivative of outs[k] in the direction in which each wrt[i] changes by directions[i].
 * Shapes: directions[i] broadcasts to wrt[i]; out[k] has the shape of outs[k].
 * Source: forward mode. Cost: a small multiple of the operations of outs, for any number of outs. */
WF_API void wf_jvp_n(wf_vals outs, wf_vals wrt, wf_vals directions, wf_val *out);

/* Runs the adjoint of an operator over an index space or of elements: grads[i] becomes the derivative of a loss with
 * respect to the contents of wrt[i] before it, from upstream[k], that with respect to outs[k], which the operator stores.
 * Shapes: those of outs and wrt. Dtypes: floats. Aliasing: grads overlap no other array; points read stored arrays at
 * their own element, before they store it. Consumes the graph, which does not run. Waits: as wf_run for each kernel.
 * Cost: where indices are those of the point, shifted, scaled or permuted, grads are computed element by element, as a
 * stencil is; sums over all points for elements that all points read; else as wf_accumulate. */
WF_API wf_status wf_adjoint(wf_graph *graph, wf_arrays outs, wf_arrays upstream, wf_arrays wrt, wf_arrays grads);

/* Runs the forward derivative of such an operator: tangents[k] becomes the derivative of outs[k], which the
 * operator stores, in the direction in which each wrt[i] changes by directions[i]. It stores where the operator does.
 * Shapes, dtypes, graph, waits: as wf_adjoint. Cost: one kernel, a small multiple of the operator. */
WF_API wf_status wf_tangent(wf_graph *graph, wf_arrays wrt, wf_arrays directions, wf_arrays outs, wf_arrays tangents);

/* ---- through launches ------------------------------------------------------------------------------------------ */
typedef struct wf_tape wf_tape;
/* Begins a tape on the calling thread: until wf_tape_end its launches run as usual, and those that compute with a watched
 * array, or with what was computed from one, are noted. Contents are kept by copies on write.
 * Owns: the caller frees the tape. Errors: NULL, and wf_last_message explains. */
WF_API wf_tape *wf_tape_begin(wf_context *ctx, wf_arrays watched);
/* Ends noting; the tape stays usable. NULL is a no-op. */
WF_API void wf_tape_end(wf_tape *tape);
/* Sets grads[i] to the derivative of the loss, an array of one real number, with respect to wrt[i]: watched arrays as they
 * were at wf_tape_begin. Shapes: those of wrt. May be called again, and while the tape notes; its own launches are not noted.
 * Errors: WF_ERR_ARG: no noted launch computes the loss from a watched array, or wrt[i] is not one or a view of one.
 * WF_ERR_UNSUPPORTED names a launch without a derivative: one with WF_SECTION_INIT, WF_SECTION_DEINIT or scratch; wf_upload
 * to, or wf_copy_to of, an array that depends on a watched one. Writes through wf_map are not seen. Waits: as wf_run.
 * Cost: each noted launch once more, and its adjoint. */
WF_API wf_status wf_tape_grad(wf_tape *tape, const wf_array *loss, wf_arrays wrt, wf_arrays grads);
/* True if the calling thread has a tape that notes, and the array depends on one that it watches: for functions that
 * have a derivative, as launches or as a rule (wf_custom_arrays), in another way than without a tape. NULL: false. */
WF_API bool wf_is_taped(const wf_array *array);
/* True if the calling thread has a tape of the context that notes: for functions that call a hook, which may read arrays that
 * depend on a watched one. NULL: false. */
WF_API bool wf_is_taping(wf_context *ctx);
/* Frees a tape and ends it before; NULL is a no-op. */
WF_API void wf_tape_free(wf_tape *tape);

/* A function of arrays whose derivative the program gives, such as code of the host or of another library. */
typedef struct wf_array_rule {
    size_t size;
    const char *name;                                           /* for messages */
    wf_status (*call)(void *user, wf_arrays in, wf_arrays out); /* sets all elements of out[] */
    /* Sets grads[i], at first 0, to the derivative of a loss by in[i], from upstream[k], that by out[k], and the contents
     * that in[] had before the call and out[] after it. It changes grads alone. grads[i] is NULL if it is not wanted. */
    wf_status (*vjp)(void *user, wf_arrays in, wf_arrays out, wf_arrays upstream, wf_arrays grads);
    void *user; /* lives until wf_tape_free */
} wf_array_rule;
/* Calls rule->call and, if a tape of the thread depends on the arrays, notes the rule in place of what the call does.
 * Aliasing: an array may be input and output. Errors: WF_ERR_ARG; those of .call; in wf_tape_grad those of .vjp, and
 * WF_ERR_UNSUPPORTED without it. Cost: on a tape, copies on write of the arrays.
 * Example: wf_custom_arrays(ctx, &sort_rule, WF_ARRAYS(a), WF_ARRAYS(b)); */
WF_API wf_status wf_custom_arrays(wf_context *ctx, const wf_array_rule *rule, wf_arrays in, wf_arrays out);

/* The same value, which derivatives take for a constant. */
WF_API wf_val wf_stop(wf_val value);
/* The value of `value`, with the derivative of `of`, which need not be computed for it.
 * Shapes: that of `of` broadcasts to that of the value, which is the result's. Dtypes: both real or both complex.
 * Example: q = wf_replace_gradient(wf_round(x), x), a rounding whose derivative is 1. */
WF_API wf_val wf_replace_gradient(wf_val value, wf_val of);

/* ---- rules: functions whose derivatives the program gives ------------------------------------------------------ */
typedef struct wf_rule_site { /* filled by the library, read by hooks, which set result[] */
    wf_graph *graph;
    void *user;
    const wf_val *in, *out; /* [n_in] and [n_out] the rule's inputs and outputs; out: not in .call */
    /* .vjp: [n_out] derivatives of a loss with respect to the outputs. .jvp: [n_in] directions in which the inputs change.
     * Each has the shape of its value, or is the number 0. */
    const wf_val *seed;
    wf_val *result; /* .call, .jvp: [n_out]; .vjp: [n_in]; the number 0 at first */
    int32_t n_in, n_out;
} wf_rule_site;
typedef void wf_rule_hook(const wf_rule_site *site);
typedef struct wf_rule {
    size_t size;
    const char *name; /* for messages, of which 43 characters are kept */
    wf_rule_hook *call;
    wf_rule_hook *jvp, *vjp; /* forward and reverse mode; NULL: a derivative of that mode is an error */
    void *user;              /* lives as long as derivatives may be asked for: with a tape, until wf_tape_free */
    int32_t outs;            /* number of outputs; 0 = 1 */
} wf_rule;
/* Records .call on the inputs, and sets out[] to its results. Derivatives with respect to the inputs are what .vjp and
 * .jvp record when asked for, and may be differentiated again; they follow nothing else that .call uses.
 * Shapes: result[k] of .jvp broadcasts to out[k]; that of .vjp to in[k], or in[k] to it: it is added up then.
 * At most 15 inputs and 15 outputs. A number among the inputs is a constant of the first value's dtype.
 * Operators over an index space: hooks read no other arrays than the operator.
 * Example: wf_custom(WF_CUSTOM_RULE(.name = "clip", .call = clip, .vjp = clip_back), WF_VALS(x), &y); */
WF_API void wf_custom_n(const wf_rule *rule, wf_vals in, wf_val *out);

/* True if derivatives of the value with respect to one of the others need not be 0. */
WF_API bool wf_depends_n(wf_val value, wf_vals on);

#ifdef __cplusplus
}
#else
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif
/* C: lists are made by WF_VALS: wf_grad(loss, WF_VALS(a, b), out) */
#define wf_grad(loss, wrt, out) wf_grad_n(WF_V(loss), wrt, out)
#define wf_vjp(outs, seeds, wrt, out) wf_vjp_n(outs, seeds, wrt, out)
#define wf_jvp(outs, wrt, directions, out) wf_jvp_n(outs, wrt, directions, out)
#define wf_stop(v) wf_stop(WF_V(v))
#define wf_replace_gradient(v, of) wf_replace_gradient(WF_V(v), WF_V(of))
#define WF_CUSTOM_RULE(...) (&(wf_rule){ .size = sizeof(wf_rule), __VA_ARGS__ })
#define wf_custom(rule, in, out) wf_custom_n(rule, in, out)
#define wf_depends(v, on) wf_depends_n(WF_V(v), on)
#endif
#endif
