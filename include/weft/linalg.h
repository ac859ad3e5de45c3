/* linalg.h - linear algebra: on small matrices of values, and on arrays of matrices of any size.
 * Reference: docs/reference/linalg.md */
#ifndef WF_LINALG_H
#define WF_LINALG_H
#include "weft/functions.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- matrices of values -----------------------------------------------------------------------------------------
 * They record into the user's own kernel and need no memory. Matrices are C arrays of real values or numbers, row by
 * row, of 1 to 6 rows and columns; results may be the operands. Singular matrices are no errors: all results are NaN.
 * Functions work as those of traced.h; a size that is not possible poisons the graph.
 * Dtypes: those of operations on the operands; numbers as in ops.h. */
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

/* ---- arrays of matrices -----------------------------------------------------------------------------------------
 * As functions.h, of the last two axes; axes before are a batch. Real matrices of up to WF_MAT_MOST rows are computed by
 * the functions above, on the arrays' device, others one by one by a LAPACK, which the first use opens: OpenBLAS, MKL,
 * libflame or liblapack, or what WEFT_LAPACK names. Dtypes: f64, c128; f32, c64 also of f16, bf16, c32; f64 of integers.
 * Errors: a matrix without a result or with an element that is not finite is WF_ERR_ARG, and the message names it;
 * WF_ERR_UNSUPPORTED: no LAPACK. Waits: for the result. Not within frozen sequences. Of distributed arrays: collective. */
/* x of a x = b: a is [..., n, n], b [..., n, k], whose batches broadcast; b NULL: the identity, for the inverse.
 * Errors: a singular matrix. Source: LU factors with partial pivoting (LAPACK getrf, getrs).
 * Example: wf_array *x = wf_solve(a, b); */
WF_API wf_array *wf_solve(const wf_array *a, const wf_array *b);
/* The lower triangular l with l l^H = a, [..., n, n], which is symmetric or Hermitian; its lower triangle is read.
 * Errors: a matrix that is not positive definite. Source: LAPACK potrf. */
WF_API wf_array *wf_cholesky(const wf_array *a);
/* Eigenvalues [..., n] of symmetric or Hermitian matrices [..., n, n], in rising order and real; the lower triangle is
 * read. Column j of *vectors, [..., n, n], belongs to value j and has length 1; `vectors` may be NULL.
 * Source: LAPACK syevd, heevd. Example: wf_status status = wf_eigh(covariance, &values, &vectors); */
WF_API wf_status wf_eigh(const wf_array *a, wf_array **values, wf_array **vectors);
/* Singular values a = u diag(s) vh of [..., m, n]: *s is real, [..., k], in falling order, k the least of m and n; *u is
 * [..., m, k] and *vh [..., k, n], or both pointers are NULL. Source: LAPACK gesdd.
 * Example: wf_status status = wf_svd(images, &u, &s, &vh); */
WF_API wf_status wf_svd(const wf_array *a, wf_array **u, wf_array **s, wf_array **vh);
/* Determinants of [..., n, n]: *sign, [...], has the absolute value 1, or is 0, and *log, [...] and real, is the logarithm
 * of the absolute value, -infinity for a singular matrix. Source: LAPACK getrf, for every size.
 * Example: wf_status status = wf_slogdet(covariance, &sign, &log); */
WF_API wf_status wf_slogdet(const wf_array *a, wf_array **sign, wf_array **log);
/* a = q r of [..., m, n]: *q is [..., m, k] with orthonormal columns, *r [..., k, n] an upper triangle; k is the least of m
 * and n, or m if `complete`. Source: LAPACK geqrf, orgqr and ungqr, for every size. */
WF_API wf_status wf_qr(const wf_array *a, bool complete, wf_array **q, wf_array **r);
/* x, [..., n, k], that makes the length of each column of a x - b least: a is [..., m, n], b [..., m, k]; of several
 * the shortest. Singular values up to `tolerance`, at most 1, of the largest count as 0; a tolerance of 0 or less is the
 * precision times the larger of m and n. Source: LAPACK gelsd, for every size. */
WF_API wf_array *wf_lstsq(const wf_array *a, const wf_array *b, double tolerance);

#ifdef __cplusplus
}
#endif
#endif
