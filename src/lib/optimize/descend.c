/* descend.c - Adam and descent with momentum: steps whose lengths the options give. Two launches make a step: the
 * evaluation, and one that changes the point and the means.
 */
#include "optimize_internal.h"
#include <math.h>

/* m = beta1 m + (1 - beta1) g, s = beta2 s + (1 - beta2) g^2, x -= rate (m mean / (sqrt(s square) + epsilon) + decay x) */
static wf_kernel *adam(const wfl_problem *p, wf_array *mean, wf_array *square)
{
    const wf_minimize_options *o = p->options;
    wf_graph *g = wfl_begin(p->ctx, WFL_MINIMIZE);
    wf_val x = wf_in(g, p->at), slope = wf_in(g, p->gradient);
    wf_val m = wf_add(wf_mul(wf_in(g, mean), o->beta1), wf_mul(slope, 1 - o->beta1));
    wf_val s = wf_add(wf_mul(wf_in(g, square), o->beta2), wf_mul(wf_mul(slope, slope), 1 - o->beta2));
    wf_val root = wf_add(wf_sqrt(wf_mul(s, wf_param(g, "square", p->dtype, 1))), o->epsilon);
    wf_val step = wf_div(wf_mul(m, wf_param(g, "mean", p->dtype, 1)), root);
    wf_out(g, mean, m);
    wf_out(g, square, s);
    wf_out(g, p->at, wf_sub(x, wf_mul(wf_add(step, wf_mul(x, o->weight_decay)), o->rate)));
    return wf_compile(g);
}

/* m = momentum m + g, x -= rate (m + decay x) */
static wf_kernel *descent(const wfl_problem *p, wf_array *mean)
{
    const wf_minimize_options *o = p->options;
    wf_graph *g = wfl_begin(p->ctx, WFL_MINIMIZE);
    wf_val x = wf_in(g, p->at), m = wf_add(wf_mul(wf_in(g, mean), o->momentum), wf_in(g, p->gradient));
    wf_out(g, mean, m);
    wf_out(g, p->at, wf_sub(x, wf_mul(wf_add(m, wf_mul(x, o->weight_decay)), o->rate)));
    return wf_compile(g);
}

wf_status wfl_descend(wfl_problem *p, double stats[WFL_STATS])
{
    const wf_minimize_options *o = p->options;
    bool is_adam = o->method == WF_MINIMIZE_ADAM, done = false;
    wf_array *mean = wfl_array_zeros_beside(p->at, p->dtype, &WF_SHAPE(p->n));
    wf_array *square = is_adam ? wfl_array_zeros_beside(p->at, p->dtype, &WF_SHAPE(p->n)) : NULL;
    wf_kernel *step = NULL;
    if (mean && (square || !is_adam))
        step = is_adam ? adam(p, mean, square) : descent(p, mean);
    wf_status status = step ? WF_OK : wfl_array_error(p->ctx);
    for (double before = stats[WFL_LOSS]; status == WF_OK;) {
        status = wfl_look(p, p->at, stats, before, &done);
        if (done || status != WF_OK)
            break;
        before = stats[WFL_LOSS];
        double t = (double)(p->found.iterations + 1);
        double of_mean = 1 / (1 - pow(o->beta1, t)), of_square = 1 / (1 - pow(o->beta2, t));
        wf_args bias = WF_ARGS(WF_ARG("mean", of_mean), WF_ARG("square", of_square));
        status = wf_launch(step, is_adam ? bias : ((wf_args){ NULL, 0 }));
        if (status == WF_OK)
            status = wfl_evaluate(p, stats);
        p->found.iterations += status == WF_OK;
    }
    if (status == WF_OK)
        status = wfl_deliver(p, p->at);
    wf_kernel_free(step);
    wf_release(mean);
    wf_release(square);
    return status;
}
