/* program.h - recordings that weft-bench and weft-bench-gpu share. */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H
#include "kernels.h"
#include "weft/weft.h"

/* Records `ops` operations, for the rows that measure recording and compiling: v = x, then v*x, v+y, v-c, max(v, x),
 * min(v, y) in turn, with another number c each time. */

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

/* The operations of plain_ten. */
static inline wf_val bench_ten(wf_val a, wf_val b, wf_val c)
{
    for (int k = 0; k < 5; ++k)
        a = wf_add(wf_mul(a, b), c);
    return a;
}

/* The operations of plain_mandelbrot, at a point of the index space [side, side]. */
static inline wf_val bench_escape(wf_graph *g, int64_t side, int limit)
{
    const float scale = MANDELBROT_SIZE / (float)side;
    wf_val cx = wf_fma(wf_cast(wf_index(g, 1), WF_F32), scale, MANDELBROT_X);
    wf_val cy = wf_fma(wf_cast(wf_index(g, 0), WF_F32), scale, MANDELBROT_Y);
    wf_var x = wf_local(g, WF_F32, 0), y = wf_local(g, WF_F32, 0), n = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_and(wf_lt(n, limit), wf_le(wf_add(wf_mul(x, x), wf_mul(y, y)), 4))) {
        wf_val t = wf_add(wf_sub(wf_mul(x, x), wf_mul(y, y)), cx);
        wf_set(y, wf_fma(wf_mul(x, 2), y, cy));
        wf_set(x, t);
        wf_inc(n, 1);
    }
    WF_END(g);
    return wf_get(n);
}
#endif
