/* blas.h - matrix products by a BLAS, which is opened when the first large product needs one, and is never linked. */
#ifndef WEFT_ARRAY_BLAS_H
#define WEFT_ARRAY_BLAS_H
#include "array_internal.h"

/* True: the product was the BLAS's to do, and *result is it, or NULL with an error. False: there is none, or it is no
 * faster for such matrices. `out` is the shape of the result, `dtype` its dtype. */
bool wfl_blas_product(const wf_array *a, const wf_array *b, const wf_shape *out, wf_dtype dtype, wf_array **result);
#endif
