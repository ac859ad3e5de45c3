/* affine.h - values that are sums of multiples of indices (affine.c). */
#ifndef WEFT_IR_AFFINE_H
#define WEFT_IR_AFFINE_H
#include "ir/ir.h"

/* Computes the growth of the result of an operation on 64-bit integers whose operands grow by x and y. `a` and `b`:
 * the operands if they are known, else NULL. False if the growth is not one number, or too large. */
bool wf__growth(unsigned op, int64_t x, int64_t y, const int64_t *a, const int64_t *b, int64_t *out);

typedef struct wf__affine { /* start + sum of step[d] * index d + sum of number[d] * number d of the block */
    int64_t start, step[WF_MAX_RANK], number[WF_MAX_RANK];
} wf__affine;

/* Adds x * m to *to. False if a number becomes too large. */
bool wf__affine_add(wf__affine *to, const wf__affine *x, int64_t m);
/* True if the value is such a sum, as far as `depth` levels of operations show. `numbers`: 1 + the first of the
 * parameters, one for each axis, that are the numbers of the block; 0 = none. */
bool wf__as_affine(const wf__ir *ir, wf__ref r, uint32_t numbers, int depth, wf__affine *out);
/* True if the value is a positive multiple of index[axis] + multiples of the indices of outer axes + a constant, the form
 * that border splitting understands. axis: -1 = the value is a constant. */
bool wf__as_shifted(const wf__ir *ir, wf__ref r, int *axis, wf__affine *out);
#endif
