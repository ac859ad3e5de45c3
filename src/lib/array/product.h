/* product.h - products of matrices: of arrays of one process (product.c), and of distributed ones (product_distributed.c), which
 * multiply blocks by the former. matmul.c chooses. */
#ifndef WEFT_ARRAY_PRODUCT_H
#define WEFT_ARRAY_PRODUCT_H
#include "array_internal.h"

/* Sets the dtype and shape of a * b; false, with an error of `function`, if they do not fit. */
bool wfl_product_of(const char *function, const wf_array *a, const wf_array *b, wf_dtype *dtype, wf_shape *shape);
wf_dtype wfl_dot_dtype(wf_dtype t); /* in which wf_array_dot multiplies and adds elements of dtype t */
/* Returns the product of ordinary arrays of matrices with elements, whose shape is `out`. Sums are in order of k also where the
 * result has one row or one column. */
wf_array *wfl_matrix_product(const wf_array *a, const wf_array *b, const wf_shape *out, wf_dtype dtype);
/* Returns the product of a matrix and a vector, ordinary arrays, which adds up as wf_array_dot does. */
wf_array *wfl_vector_product(const wf_array *a, const wf_array *b, const wf_shape *out, wf_dtype dtype);
/* Collective: the product of arrays of which one or both are distributed. */
wf_array *wfl_distributed_product(const wf_array *a, const wf_array *b, const wf_shape *out, wf_dtype dtype);
#endif
