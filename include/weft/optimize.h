/* optimize.h - parameters for which a loss is least, whose recording wf_grad differentiates; checks; fixed points.
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

/* ---- checks ------------------------------------------------------------------------------------------------------ */
/* What a check of a gradient has compared: the derivative along a direction, or by one element. */
typedef struct wf_gradient_finding {
    size_t size;
    size_t array;                         /* number among the parameters */
    int64_t element;                      /* its number, in C order; -1 = along a random direction */
    bool imaginary;                       /* by the imaginary part of the element */
    bool differs;                         /* beyond the tolerance */
    double gradient, forward, difference; /* forward: NaN = not computed, as by single elements */
    double beyond;                        /* how far they differ beyond what is allowed; 0 and less: they agree */
    char text[280];                       /* array, element and the numbers, in words */
} wf_gradient_finding;
/* A loss that is no recording: functions that compute with the contents of arrays of f64 or c128. */
typedef struct wf_gradient_functions {
    wf_status (*loss)(void *user, wf_arrays params, double *loss);
    wf_status (*gradient)(void *user, wf_arrays params, wf_arrays grads);
    /* The derivative in the direction in which one of the arrays changes; may be NULL. */
    wf_status (*tangent)(void *user, wf_arrays params, size_t which, const wf_array *direction, double *slope);
} wf_gradient_functions;
/* Options; 0 means the default in brackets. */
typedef struct wf_gradient_options {
    size_t size;
    double tolerance;             /* relative, beside twice the error of the differences [1e-6] */
    double step;                  /* of differences, relative to the mean magnitude of the array's elements [1e-4] */
    int32_t directions, elements; /* of each array: random directions, and at most about so many elements [2, 16] */
    int64_t seed;                 /* of the directions [1] */
    const wf_gradient_functions *functions; /* with `loss` NULL */
    void (*each)(void *user, const wf_gradient_finding *found);
    void *user; /* for `each` */
} wf_gradient_options;
/* Compares the gradient of a loss with central differences, and with wf_jvp, at copies of `params` in f64 or c128.
 * *worst, which may be NULL and has its size set, becomes the comparison that is furthest beyond what is allowed.
 * Errors: WF_OK also if they differ. WF_ERR_ARG, WF_ERR_DTYPE: integers, no arrays, bad options; those of the loss.
 * Waits: for results. Cost: 4 evaluations of the loss for each direction and element.
 * Example: wf_check_gradient(ctx, WF_ARRAYS(a), misfit, NULL, &worst); if (worst.differs) puts(worst.text); */
WF_API wf_status wf_check_gradient_with(wf_context *ctx, wf_arrays params, wf_loss *loss, void *user,
                                        wf_gradient_finding *worst, const wf_gradient_options *options);

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
 * With a tolerance each point goes on by itself, in a loop: the step has no reductions.
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
#define wf_check_gradient(ctx, params, loss, user, ...)                     \
    wf_check_gradient_with(ctx, params, loss, user, WF__FIRST(__VA_ARGS__), \
                           &(wf_gradient_options){ WF__REST(__VA_ARGS__, .size = sizeof(wf_gradient_options)) })
#endif
#endif
