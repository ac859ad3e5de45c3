/* borders.h - which element a border mode reads, for the tests of all functions that take one. */
#ifndef WEFT_TEST_BORDERS_H
#define WEFT_TEST_BORDERS_H
#include "ir/ir.h"

/* Returns the index inside an axis of n >= 1 elements that index i stands for, or -1 if it stands for the value
 * outside. Goes there step by step, as the drawings in record.h show. */
static inline int64_t border_index(wf_border border, int64_t i, int64_t n)
{
    while (i < 0 || i >= n)
        switch (border) { /* no default: compilers find a missing mode */
        case WF_BORDER_NONE:
        case WF_BORDER_VALUE:
            return -1;
        case WF_BORDER_CLAMP:
            return i < 0 ? 0 : n - 1;
        case WF_BORDER_PERIODIC:
            i += i < 0 ? n : -n;
            break;
        case WF_BORDER_MIRROR:
            i = i < 0 ? -1 - i : 2 * n - 1 - i;
            break;
        case WF_BORDER_REFLECT:
            i = n == 1 ? 0 : i < 0 ? -i : 2 * n - 2 - i;
            break;
        }
    return i;
}
#endif
