/* optimize_internal.h - what the methods of optimize.h share: a problem, whose parameters are one vector. The files from
 * the bottom to the top: problem (the kernel of an evaluation), lbfgs and descend (the methods), minimize; beside them
 * check_gradient and fixed_point. */
#ifndef WEFT_OPTIMIZE_INTERNAL_H
#define WEFT_OPTIMIZE_INTERNAL_H
#include "lib/array/array_internal.h"
#include "weft/optimize.h"

#define WFL_MINIMIZE "wf_minimize" /* the function that messages name */

/* What an evaluation gives. */
enum { WFL_LOSS, WFL_LARGEST, WFL_SQUARES, WFL_SLOPE, WFL_STATS };

typedef struct wfl_problem {
    wf_context *ctx;
    wf_arrays params;
    const wf_minimize_options *options; /* with defaults in place of 0 */
    wf_dtype dtype;                     /* of all vectors */
    int64_t n;                          /* elements of a vector */
    double rounding;                    /* relative, of the loss */
    wf_array *at, *gradient;            /* the point that an evaluation is about, and its result */
    wf_array *direction;                /* NULL: evaluations give no slope */
    wf_array *stats;                    /* f64 [WFL_STATS] of the evaluation */
    wf_kernel *evaluate;
    wf_minimum found;
} wfl_problem;

static inline wf_array *wfl_vector(const wfl_problem *p)
{
    return wfl_array_beside(p->params.at[0], p->dtype, &WF_SHAPE(p->n));
}
/* Copies all parameters to a vector, or back. */
wf_status wfl_transfer(const wfl_problem *p, wf_array *vector, bool back);
/* Records and prepares the kernel of an evaluation. */
wf_status wfl_prepare(wfl_problem *p, wf_loss *loss, void *user);
/* Calls the program's function that records a loss, as a hook of the recording. */
wf_val wfl_call_loss(wf_graph *g, wf_loss *loss, const wf_val *params, void *user, const char *function);
/* True for a loss: a real value of one element. False: the graph is poisoned, by a message that begins with `function`. */
bool wfl_is_loss(wf_graph *g, wf_val loss, const char *function);
/* Evaluates the loss at p->at; *stats become numbers. */
wf_status wfl_evaluate(wfl_problem *p, double stats[WFL_STATS]);
/* Copies a vector to the parameters. */
wf_status wfl_deliver(const wfl_problem *p, const wf_array *vector);
/* Notes an evaluation at the point `vector`, delivers it if there is a callback, and sets the reason if nothing more is to
 * be done. `before` is the loss before the last step. */
wf_status wfl_look(wfl_problem *p, const wf_array *vector, const double *stats, double before, bool *done);

/* The methods go on from an evaluation at p->at, whose result is `stats`, and deliver the last point. */
wf_status wfl_lbfgs(wfl_problem *p, double stats[WFL_STATS]);
wf_status wfl_descend(wfl_problem *p, double stats[WFL_STATS]);
#endif
