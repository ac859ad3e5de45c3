/* blas.h - matrix products by a BLAS. The library is never linked: the first large product opens it. */
#ifndef WEFT_ARRAY_BLAS_H
#define WEFT_ARRAY_BLAS_H
#include "array_internal.h"

/* True if a BLAS was used: *result is the product, or NULL with an error. False if there is no BLAS, or it is no faster
 * for such matrices. `out` is the shape of the result, `dtype` its dtype. */
bool wfl_blas_product(const wf_array *a, const wf_array *b, const wf_shape *out, wf_dtype dtype, wf_array **result);
#endif
