/* linalg.h - linear algebra on small matrices of values, which records into the user's own kernel and needs no memory.
 * Matrices are arrays of real values or numbers, row by row, of 1 to 6 rows and columns; results may be the operands.
 * Singular matrices are no errors: all results are NaN. Functions work as those of traced.h; a size that is not possible
 * poisons the graph. Dtypes: those of operations on the operands; numbers as in ops.h.
 * Reference: docs/reference/linalg.md */
#ifndef WF_LINALG_H
#define WF_LINALG_H
#include "weft/weft.h"
#ifdef __cplusplus
extern "C" {
#endif

#define WF_MAT_MOST 6
/* Sets x, [n, columns], to the solution of a x = b; a is [n, n]. Source: Gauss's elimination with partial pivoting.
 * NaN: a pivot is 0. Example: wf_mat_solve(g, 2, a, 1, b, x); */
WF_API void wf_mat_solve(wf_graph *graph, int n, const wf_val *a, int columns, const wf_val *b, wf_val *x);
/* Sets out to the inverse, as wf_mat_solve of the identity. */
WF_API void wf_mat_inverse(wf_graph *graph, int n, const wf_val *a, wf_val *out);
/* The determinant, by the same elimination; 0 if a pivot is 0. */
WF_API wf_val wf_mat_determinant(wf_graph *graph, int n, const wf_val *a);
/* Sets l to the lower triangular matrix with l l^T = a, which is symmetric; its lower triangle is read.
 * NaN: from the row on where a is not positive definite. */
WF_API void wf_mat_cholesky(wf_graph *graph, int n, const wf_val *a, wf_val *l);
/* Sets x to the solution of l l^T x = b, l as of wf_mat_cholesky. */
WF_API void wf_mat_cholesky_solve(wf_graph *graph, int n, const wf_val *l, int columns, const wf_val *b, wf_val *x);
/* Eigenvalues of a symmetric matrix, whose lower triangle is read, in rising order; column j of `vectors`, [n, n],
 * belongs to value j and has length 1. `vectors` may be NULL.
 * Dtypes: f64 if an operand is, else f32. Source: Jacobi's rotations, until nothing is left beside the diagonal. */
WF_API void wf_mat_eigh(wf_graph *graph, int n, const wf_val *a, wf_val *values, wf_val *vectors);
/* Sets x, [n], to what makes |a x - b| least; a is [m, n], n <= m <= 16. Source: Householder's reflections.
 * NaN: the columns are linearly dependent, exactly. */
WF_API void wf_mat_lstsq(wf_graph *graph, int m, int n, const wf_val *a, const wf_val *b, wf_val *x);

#ifdef __cplusplus
}
#endif
#endif
