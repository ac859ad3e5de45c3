/* algebra.h - computations with arrays of matrices, [..., m, n], of which the derivatives of arrays.c consist. */
#ifndef WEFT_LINALG_ALGEBRA_H
#define WEFT_LINALG_ALGEBRA_H
#include "lib/array/array_internal.h"
#include "weft/functions.h"

enum { WFL_MOST_MADE = 64 };

typedef struct wfl_algebra { /* a computation: after a failure its functions return NULL */
    wf_context *ctx;
    const char *function;
    wf_array *made[WFL_MOST_MADE]; /* its results, released in the end */
    int n;
    bool failed;
} wfl_algebra;

/* Begins one with the operands of a rule. */
wfl_algebra wfl_mat_begin(wf_arrays in, const char *function);
/* Releases all results. Returns the context's error after a failure. */
wf_status wfl_mat_end(wfl_algebra *l);
/* Takes a result; NULL is a failure. */
wf_array *wfl_mat_made(wfl_algebra *l, wf_array *x);
wf_graph *wfl_mat_graph(const wfl_algebra *l);
/* Runs the recording, and returns the value as an array. */
wf_array *wfl_mat_value(wfl_algebra *l, wf_graph *g, wf_val v);

wf_array *wfl_mat_turned(wfl_algebra *l, wf_array *x); /* x^H */
wf_array *wfl_mat_product(wfl_algebra *l, wf_array *x, wf_array *y);
/* x + factor y; y may be real beside a complex x. */
wf_array *wfl_mat_sum(wfl_algebra *l, wf_array *x, double factor, wf_array *y);
/* The part of a derivative by a Hermitian matrix, of which functions read the lower triangle, that belongs to this triangle. */
wf_array *wfl_mat_lower_part(wfl_algebra *l, wf_array *x);
/* Adds to a derivative that is wanted: x summed over the batches of which the operand has one matrix, without the imaginary
 * part if the operand is real. */
void wfl_mat_give(wfl_algebra *l, wf_array *grad, wf_array *x);

/* The places of matrices: where rows are below columns, and where they are equal. */
wf_val wfl_mat_below(wf_graph *g, wf_shape shape);
wf_val wfl_mat_diagonal(wf_graph *g, wf_shape shape);
/* The lower triangles of values that have the shape and dtype of x, with half of the diagonals. */
wf_val wfl_mat_lower_half(wf_graph *g, const wf_array *x, wf_val v);
/* A vector [..., n] as [..., n, 1] for `rows`, else as [..., 1, n]: factors of the rows or the columns of matrices. */
wf_val wfl_mat_beside(wf_graph *g, const wf_array *x, bool rows);
#endif
