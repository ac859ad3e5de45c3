/* program.h - a recording of a given number of operations, for the rows that measure recording and compiling.
 * v = x, then op k of { v*x, v+y, v-c, max(v, x), min(v, y) } in turn, c a different number each time. */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H
#include "weft/weft.h"

static inline wf_val bench_program(wf_val x, wf_val y, int ops, double salt)
{
    wf_val v = x;
    for (int k = 0; k < ops; ++k)
        switch (k % 5) {
        case 0:
            v = wf_mul(v, x);
            break;
        case 1:
            v = wf_add(v, y);
            break;
        case 2:
            v = wf_sub(v, salt + 1e-3 * k);
            break;
        case 3:
            v = wf_max(v, x);
            break;
        default:
            v = wf_min(v, y);
            break;
        }
    return v;
}

static inline double bench_program_value(double x, double y, int ops, double salt)
{
    double v = x;
    for (int k = 0; k < ops; ++k)
        switch (k % 5) {
        case 0:
            v = v * x;
            break;
        case 1:
            v = v + y;
            break;
        case 2:
            v = v - (salt + 1e-3 * k);
            break;
        case 3:
            v = v > x ? v : x;
            break;
        default:
            v = v < y ? v : y;
            break;
        }
    return v;
}
#endif
