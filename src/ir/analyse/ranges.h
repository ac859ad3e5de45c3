/* ranges.h - interval analysis: bounds on the integers that nodes compute (ranges.c). */
#ifndef WEFT_IR_RANGES_H
#define WEFT_IR_RANGES_H
#include "ir/ir.h"

typedef struct wf__range { /* lo <= value <= hi, if known */
    int64_t lo, hi;
    bool known;
} wf__range;

typedef struct wf__range_leaves {
    /* Returns the bounds of an INDEX, EXTENT, DIM, THREAD or PARAM. */
    wf__range (*of)(const void *user, const wf__node *n);
    const void *user;
    int64_t least, most; /* values that may lie beyond are unknown; within +-2^62 */
    bool counters;       /* counters of loops have bounds, too */
    bool dtypes;         /* so do narrow integers of any origin: those of their dtypes */
    bool limits; /* so do remainders and clamped values of integers without bounds; off where code narrows integers
                            with bounds, as their operands must have bounds, too */
} wf__range_leaves;

/* Sets of[] ([nodes], zeroed) for integers up to i64. Of narrower arithmetic, which may wrap, counters alone have bounds.
 * False = out of memory. */
bool wf__ranges(const wf__ir *ir, const wf__range_leaves *leaves, wf__range *of);
#endif
