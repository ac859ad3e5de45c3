/* literal_kernels.h - kernels that differ in a literal, for tests of what is compiled when. */
#ifndef WEFT_LITERAL_KERNELS_H
#define WEFT_LITERAL_KERNELS_H
#include "weft_test.h"

/* out = a function of a and the literal: another kernel for each literal. */
static inline void record_literal(wf_graph *g, wf_array *a, wf_array *out, double literal)
{
    wf_val x = wf_in(g, a);
    wf_out(g, out, wf_add(wf_exp(wf_mul(x, literal)), wf_sqrt(wf_abs(x))));
}

static inline void run_literal(wf_context *ctx, wf_array *a, wf_array *out, double literal)
{
    wf_graph *g = wf_begin(ctx);
    record_literal(g, a, out, literal);
    OK(ctx, wf_run(g));
}
#endif
