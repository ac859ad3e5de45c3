/* adjoint.h - derivatives of operators: adjoint.c runs those of operators without reductions, of which adjoint_reduce.c
 * makes those of operators that reduce. adjoint_twice.c notes them on a tape.
 */
#ifndef WEFT_ADJOINT_H
#define WEFT_ADJOINT_H
#include "launch/launch.h"

typedef struct wf__derive { /* what is wanted */
    const char *function;   /* the public function, for messages */
    bool reverse;
    wf_arrays outs, wrt;
    wf_arrays seeds, results; /* upstream arrays and derivatives of wrt; or directions and derivatives of outs */
} wf__derive;

/* Runs the derivative of an operator without reductions, and consumes the graph. A tape of the thread notes it. */
wf_status wf__derive_operator(wf_graph *graph, const wf__derive *d);
/* For wf__derive_by: runs that derivative. */
wf_status wf__derive_run(wf_graph *graph, const wf__derive *d);
/* Returns the kernel of that derivative in forward mode as a recording that can be differentiated; NULL: the context's error
 * is set. The graph is finished. */
wf_graph *wf__tangent_kernel(wf_graph *graph, const wf__derive *d);
/* Finishes the recording, calls `work` if it can be launched and the arrays suit each other, and consumes the graph. */
wf_status wf__derive_by(wf_graph *graph, const wf__derive *d, wf_status (*work)(wf_graph *graph, const wf__derive *d));
/* False, and the context's error is set, if the arrays do not suit each other. */
bool wf__derive_check(wf_graph *graph, const wf__derive *d);
/* Sets the space of an operator; that of elements has the shape that the operands broadcast to. False: the context's
 * error is set. */
bool wf__derive_space(const wf_graph *graph, wf_shape *out);
#endif
