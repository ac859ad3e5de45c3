/* affine.h - values that are sums of multiples of a point's indices (affine.c). */
#ifndef WEFT_PLAN_AFFINE_H
#define WEFT_PLAN_AFFINE_H
#include "ir/ir.h"

typedef struct wf__affine { /* start + sum of step[d] * index d + sum of number[d] * number d of the block */
    int64_t start, step[WF_MAX_RANK], number[WF_MAX_RANK];
} wf__affine;

/* to += x * m; false: a number is too large. */
bool wf__affine_add(wf__affine *to, const wf__affine *x, int64_t m);
/* Is the value such a sum, looked at `depth` operations deep? `numbers`: 0, or 1 + the first of the parameters, one for
 * each axis, that are the numbers of the block. */
bool wf__as_affine(const wf__ir *ir, wf__ref r, uint32_t numbers, int depth, wf__affine *out);
#endif
