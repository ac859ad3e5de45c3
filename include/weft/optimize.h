/* optimize.h - parameters for which a loss is least, whose recording wf_grad differentiates, and fixed points.
 * Reference: docs/reference/optimize.md */
#ifndef WF_OPTIMIZE_H
#define WF_OPTIMIZE_H
#include "weft/derivative.h"
#include "weft/functions.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Records a loss into an array graph and returns it, a real value of one element. params[i] has the dtype and shape of
 * array i of the call; other arrays are read as usual. Called once for each minimization; it may poison the graph. */
typedef wf_val wf_loss(wf_graph *graph, const wf_val *params, void *user);

typedef enum wf_minimizer {
    WF_MINIMIZE_LBFGS,   /* limited-memory BFGS; steps satisfy the strong Wolfe conditions */
    WF_MINIMIZE_ADAM,    /* Adam, with `weight_decay` AdamW */
    WF_MINIMIZE_DESCENT, /* steps along the gradient, with `momentum` */
    WF_MINIMIZE_INT32 = 0x7fffffff
} wf_minimizer;
/* Why a minimization ended. */
typedef enum wf_minimize_end {
    WF_END_GRADIENT,   /* no element of the gradient is beyond the tolerance */
    WF_END_LOSS,       /* a step changed the loss by no more than the tolerance */
    WF_END_ITERATIONS, /* all iterations were done */
    WF_END_SEARCH,     /* no step in the direction of descent lowers the loss beyond its rounding */
    WF_END_NOT_FINITE, /* a step of WF_MINIMIZE_ADAM or _DESCENT gave a loss or gradient that is not finite */
    WF_END_CALLBACK,   /* `each` returned false */
    WF_END_INT32 = 0x7fffffff
} wf_minimize_end;
typedef struct wf_minimum {
    size_t size;            /* sizeof(wf_minimum), set by the caller */
    double loss, gradient;  /* the loss and the largest magnitude of an element of its gradient */
    int64_t iterations;     /* steps taken */
    int64_t evaluations;    /* of the loss with its gradient */
    wf_minimize_end reason; /* in `each`: WF_END_ITERATIONS */
} wf_minimum;
/* Options; 0 means the default in brackets. */
typedef struct wf_minimize_options {
    size_t size;
    wf_minimizer method;
    int64_t iterations;        /* largest number of steps [1000] */
    double gradient_tolerance; /* largest element of the gradient that counts as 0 [1e-5]; below 0: not tested */
    double loss_tolerance;     /* change of the loss, relative to the larger of it and 1 [not tested] */
    int32_t history;           /* L-BFGS: pairs of differences that are kept, up to 64 [10] */
    double rate;               /* length of a step: Adam [1e-3], descent [1e-2] */
    double beta1, beta2;       /* Adam: decay of the means of the gradient [0.9] and of its square [0.999] */
    double epsilon;            /* Adam: beside the root of the mean square [1e-8] */
    double weight_decay;       /* Adam, descent: each step takes rate * weight_decay of the parameters away */
    double momentum;           /* descent: how much of the last step's direction stays, below 1 */
    /* Called before each step, when the arrays hold the parameters that `now` describes; false ends it. */
    bool (*each)(void *user, const wf_minimum *now);
    void *user; /* for `each` */
} wf_minimize_options;
/* Changes the contents of `params`, f32 or f64 of any shapes, so that the loss is least nearby.
 * Aliasing: the arrays share no memory, and `loss` reads them by `params` alone. `found` may be NULL.
 * Errors: WF_ERR_ARG: not finite at the start, bad options; WF_ERR_DTYPE, WF_ERR_SHAPE; those of the recording.
 * Threads: as wf_run. Waits: for the result. Not within frozen sequences. Cost: L-BFGS: 3 launches a step and 2 for each
 * point it tries, memory of 2 history + 5 times the parameters; others: 2 launches a step, 3 or 4 times the parameters.
 * Source: Nocedal and Wright, Numerical Optimization, algorithms 7.4, 7.5, 3.5, 3.6; Kingma and Ba, Adam. */
WF_API wf_status wf_minimize_with(wf_context *ctx, wf_arrays params, wf_loss *loss, void *user, wf_minimum *found,
                                  const wf_minimize_options *options);

/* ---- fixed points ---------------------------------------------------------------------------------------------- */
typedef struct wf_iteration {
    size_t size;
    wf_rule_hook
        *step; /* sets result[0 .. n_out - 1], the next unknowns, from in[]: the unknowns, then the parameters */
    void *user;
    /* Where no unknown changes by more than this times itself, the iteration ends; 0: all turns are recorded one by one. */
    double tolerance;
    int32_t turns; /* at most so many [100] */
} wf_iteration;
/* Sets out[] to x = step(x, params), by iteration from the start. Its derivatives are those of the solution, by iteration.
 * With a tolerance each point goes on by itself, in a loop: the step has no reductions. In wf_adjoint: without one.
 * Shapes, dtypes: those of the start, and of the step. At most 15 values: twice the unknowns, and params.
 * Owns: borrows `how` as long as derivatives may be asked for (wf_rule.user). Cost: the turns; a derivative: as many.
 * Source: Christianson, Reverse accumulation and attractive fixed points (1994).
 * Example: wf_fixed_point(g, &kepler, WF_VALS(m), WF_VALS(m, e), &anomaly); */
WF_API void wf_fixed_point(wf_graph *graph, const wf_iteration *how, wf_vals start, wf_vals params, wf_val *out);

#ifdef __cplusplus
}
#else
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif
#define wf_minimize(ctx, params, loss, user, ...)                     \
    wf_minimize_with(ctx, params, loss, user, WF__FIRST(__VA_ARGS__), \
                     &(wf_minimize_options){ WF__REST(__VA_ARGS__, .size = sizeof(wf_minimize_options)) })
#endif
#endif
