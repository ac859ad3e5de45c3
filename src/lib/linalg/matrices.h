/* matrices.h - what the functions of arrays of matrices share: the matrices of a call, copies of them, results, and the
 * messages that name a matrix (matrices.c). Their decompositions by the functions of values (by_values.c) and by LAPACK
 * (by_lapack.c), between which arrays.c chooses. Matrices are [count, rows, columns] there, the axes before the last two as one.
 */
#ifndef WEFT_LINALG_MATRICES_H
#define WEFT_LINALG_MATRICES_H
#include "lapack.h"

/* Why a matrix has no result, in the order in which a call finds it: of all matrices first the one, then the other. */
typedef enum wfl_refusal {
    WFL_NOT_REFUSED,
    WFL_NOT_FINITE,
    WFL_RIGHT_NOT_FINITE,
    WFL_SINGULAR,
    WFL_NOT_POSITIVE,
    WFL_NO_EIGENVALUES,
    WFL_NO_SINGULAR_VALUES,
} wfl_refusal;

/* A result, [batch..., rows, columns]; columns -1: vectors; rows -1, too: numbers. */
typedef struct wfl_wanted {
    wf_dtype dtype; /* WF_NONE: it is not wanted */
    int64_t rows, columns;
} wfl_wanted;

enum { WFL_JOB_RESULTS = 3 };

/* The matrices of a call. */
typedef struct wfl_job {
    wf_context *ctx;
    const char *function;
    wf_device device;
    wf_dtype dtype;
    wf_shape batch;           /* the axes before the last two of results */
    int64_t count;            /* their product */
    int64_t rows, columns, k; /* of `a`; columns of `b`, or of the identity */
    wfl_wanted want[WFL_JOB_RESULTS];
    double least;               /* wf_lstsq: singular values up to this part of the largest one are 0 */
    wf_shape whole;             /* the batch of the call, of which this one is a part */
    int64_t first[WF_MAX_RANK]; /* where the part begins */
    wfl_refusal refusal;        /* of the first matrix without a result */
    int64_t refused;            /* its place in the batch of the call */
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
/* Notes that matrix i of this part of the batch has none. */
void wfl_job_refuse(wfl_job *j, int64_t i, wfl_refusal why);
/* Sets the error that names the noted matrix: "FUNCTION: matrix [2, 5] of `a` is singular". */
void wfl_job_report(const wfl_job *j);
/* False, with an error or a note, if an element of the matrices, [count, rows, columns], is not finite. */
bool wfl_job_is_finite(wfl_job *j, const wf_array *x, wfl_refusal why);

/* ---- by the functions of values ---- */
wf_array *wfl_small_solve(wfl_job *j, const wf_array *a, const wf_array *b, int n, int64_t k);
wf_array *wfl_small_cholesky(wfl_job *j, const wf_array *a, int n);
bool wfl_small_eigh(wfl_job *j, const wf_array *a, int n, wf_array **values, wf_array **vectors);

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

/* ---- distributed arrays ---- */
/* Computes the results of a job of ordinary arrays; b NULL: the call has none. False: an error, or a note. */
typedef bool wfl_compute(wfl_job *j, const wf_array *a, const wf_array *b, wf_array *out[WFL_JOB_RESULTS]);
/* Collective: the same of arrays of which one is distributed, each rank for the matrices of its block of the results. */
bool wfl_job_distributed(wfl_job *j, wfl_compute *compute, const wf_array *a, const wf_array *b,
                         wf_array *out[WFL_JOB_RESULTS]);
#endif
