/* lapack.h - decompositions of one matrix by a LAPACK, which the first use opens. LAPACK stores matrices by columns; the
 * comments here speak of rows, as everywhere in Weft.
 */
#ifndef WEFT_LINALG_LAPACK_H
#define WEFT_LINALG_LAPACK_H
#include "lib/array/array_internal.h"
#include "lib/array/fortran.h"

enum { WFL_LAPACK_WORK = 4, WFL_LAPACK_FAILED = INT32_MIN };

/* A LAPACK for matrices of one dtype (f32, f64, c64, c128) and size, and the memory that it works in. */
typedef struct wfl_lapack {
    wf_context *ctx;
    const char *function; /* for messages */
    int kind;             /* s, d, c, z */
    size_t size;          /* of an element */
    void *routine[WFL_FORTRAN_MOST];
    wf_array *memory[WFL_LAPACK_WORK];
    void *work[WFL_LAPACK_WORK]; /* elements; integers; reals; elements or pivots */
    int64_t lwork[3];
} wfl_lapack;

/* Opens a LAPACK. False, with an error that says what was tried: there is none. */
bool wfl_lapack_begin(wfl_lapack *l, wf_context *ctx, const char *function, wf_dtype dtype);
void wfl_lapack_end(wfl_lapack *l);

/* Each of these returns 0, a number above 0 if the matrix has no such result, -i if LAPACK refuses its argument i, or
 * WFL_LAPACK_FAILED, with an error, without memory. The first call of an opened LAPACK allocates memory, so all calls
 * have the same routine and sizes.
 *
 * Replaces b, [k, n] (the right-hand sides as rows), by the solutions x of a x = b; a is [n, n] and is overwritten. */
int wfl_lapack_solve(wfl_lapack *l, int64_t n, int64_t k, void *a, void *b);
/* Sets sign[0] + i sign[1] to the determinant of a, [n, n], divided by its absolute value, and *log to the logarithm of
 * the absolute value; 0 and -infinity if a is singular, for which the function returns 0, too. a is overwritten. */
int wfl_lapack_slogdet(wfl_lapack *l, int64_t n, void *a, double sign[2], double *log);
/* Finds a = q r. Sets q, [k, m], to the orthonormal columns of q, and r, [k, n]; k is m or the lesser of m and n. at,
 * [n, m], is the transposed a, and is overwritten. */
int wfl_lapack_qr(wfl_lapack *l, int64_t m, int64_t n, int64_t k, void *at, void *q, void *r);
/* Replaces the lower triangle of a, [n, n], by the l with l l^H = a. The upper one is not touched. */
int wfl_lapack_cholesky(wfl_lapack *l, int64_t n, void *a);
/* Sets values, [n], of the real dtype, and with `vectors` replaces a, [n, n], whose lower triangle is read, by the
 * conjugates of the eigenvectors, as rows. */
int wfl_lapack_eigh(wfl_lapack *l, int64_t n, bool vectors, void *a, void *values);
/* Sets s, [least of m and n], of the real dtype, and, unless NULL, u, [m, least], and vh, [least, n]. a is [m, n] and is
 * overwritten. */
int wfl_lapack_svd(wfl_lapack *l, int64_t m, int64_t n, void *a, void *s, void *u, void *vh);
/* Replaces the first n elements of each row of b, [k, largest of m and n], by the shortest x for which a x is nearest to
 * b; at, [n, m], is the transposed a, and is overwritten. Singular values below `least` of the largest are 0. */
int wfl_lapack_lstsq(wfl_lapack *l, int64_t m, int64_t n, int64_t k, double least, void *at, void *b);
#endif
