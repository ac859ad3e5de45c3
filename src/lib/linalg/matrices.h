/* matrices.h - what the functions of arrays of matrices share: the matrices of a call, copies of them, results, and the
 * messages that name a matrix (matrices.c). Their decompositions by the functions of values (by_values.c) and by LAPACK
 * (by_lapack.c), between which arrays.c chooses. Matrices are [count, rows, columns] there, the axes before the last two as one.
 */
#ifndef WEFT_LINALG_MATRICES_H
#define WEFT_LINALG_MATRICES_H
#include "lapack.h"

/* The matrices of a call. */
typedef struct wfl_job {
    wf_context *ctx;
    const char *function;
    wf_device device;
    wf_dtype dtype;
    wf_shape batch; /* the axes before the last two of results */
    int64_t count;  /* their product */
    wfl_lapack lapack;
} wfl_job;

/* Checks one array of matrices, and makes its batch the job's. */
bool wfl_job_begin(wfl_job *j, const char *function, const char *name, const wf_array *a, bool square);
/* Checks the right-hand sides, [..., rows, k], and broadcasts the batches. */
bool wfl_job_begin_with(wfl_job *j, const wf_array *a, const wf_array *b);
/* The shape [batch..., rows, columns]; columns -1: of vectors; rows -1, too: of numbers. */
wf_shape wfl_job_shape(const wfl_job *j, int64_t rows, int64_t columns);
/* Returns the shape of which the functions of matrices see `array`, [count, ...]. */
wf_shape wfl_job_flat_shape(const wfl_job *j, const wf_shape *shape);
/* Returns x broadcast over the batch and packed, [count, rows, columns] or, turned, [count, columns, rows], in the job's
 * dtype. It may be x itself. */
wf_array *wfl_job_packed(const wfl_job *j, const wf_array *x, bool turned);
/* Returns new memory on the device of the call, [batch..., rows, columns], and in *flat its view as matrices. */
wf_array *wfl_job_result(const wfl_job *j, wf_dtype dtype, int64_t rows, int64_t columns, wf_array **flat);

/* ---- matrices that have no result ---- */
extern const char *const wfl_not_finite;
/* Sets the error that names matrix i: "FUNCTION: matrix [2, 5] of `a` WHY". */
void wfl_job_refuse(const wfl_job *j, int64_t i, const char *why);
/* False, with an error, if an element of the matrices, [count, rows, columns], is not finite. */
bool wfl_job_is_finite(const wfl_job *j, const wf_array *x, const char *why);

/* ---- by the functions of values ---- */
wf_array *wfl_small_solve(const wfl_job *j, const wf_array *a, const wf_array *b, int n, int64_t k);
wf_array *wfl_small_cholesky(const wfl_job *j, const wf_array *a, int n);
bool wfl_small_eigh(const wfl_job *j, const wf_array *a, int n, wf_array **values, wf_array **vectors);

/* ---- by LAPACK ---- */
wf_array *wfl_large_solve(wfl_job *j, const wf_array *a, const wf_array *b, int64_t n, int64_t k);
wf_array *wfl_large_cholesky(wfl_job *j, const wf_array *a, int64_t n);
bool wfl_large_eigh(wfl_job *j, const wf_array *a, int64_t n, wf_array **values, wf_array **vectors);
/* Sets out[0..2] to u, s and vh; without `vectors` to s alone, out[1]. */
bool wfl_large_svd(wfl_job *j, const wf_array *a, int64_t m, int64_t n, bool vectors, wf_array *out[3]);
wf_array *wfl_large_lstsq(wfl_job *j, const wf_array *a, const wf_array *b, int64_t n, double least);
/* Sets out[0] and out[1] to the signs and logarithms of determinants. */
bool wfl_large_slogdet(wfl_job *j, const wf_array *a, int64_t n, wf_array *out[2]);
/* Sets out[0] and out[1] to q, [batch..., m, k], and r, [batch..., k, n]. */
bool wfl_large_qr(wfl_job *j, const wf_array *a, int64_t m, int64_t n, int64_t k, wf_array *out[2]);
#endif
