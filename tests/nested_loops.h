/* nested_loops.h - loops in loops, left by break and continue inside conditions: in C, and recorded. */
#ifndef WEFT_NESTED_LOOPS_H
#define WEFT_NESTED_LOOPS_H
#include "weft/weft.h"

static inline int32_t nested_loops(int64_t turns, int64_t shift)
{
    int32_t sum = 0;
    for (int32_t a = 0; a < turns % 9; ++a) {
        if (a == 5)
            continue;
        for (int32_t b = 20; b > a; b -= 3) {
            if ((a + b + (int32_t)shift) % 11 == 0)
                break;
            if (b % 2)
                continue;
            sum += a * b + 1;
        }
        if (sum > 300)
            break;
        sum += 1000 * a;
    }
    return sum;
}

/* The same of turns = shift = i, which is i32. */
static inline wf_var record_nested_loops(wf_graph *g, wf_val i)
{
    wf_val a, b;
    wf_var sum = wf_local(g, WF_I32, 0);
    WF_FOR (g, a, 0, wf_mod(i, 9), 1) {
        WF_IF (g, wf_eq(a, 5)) {
            wf_continue(g);
        }
        WF_END(g);
        WF_FOR (g, b, 20, a, -3) {
            WF_IF (g, wf_eq(wf_mod(wf_add(wf_add(a, b), i), 11), 0)) {
                wf_break(g);
            }
            WF_END(g);
            WF_IF (g, wf_ne(wf_mod(b, 2), 0)) {
                wf_continue(g);
            }
            WF_END(g);
            wf_inc(sum, wf_add(wf_mul(a, b), 1));
        }
        WF_END(g);
        WF_IF (g, wf_gt(sum, 300)) {
            wf_break(g);
        }
        WF_END(g);
        wf_inc(sum, wf_mul(a, 1000));
    }
    WF_END(g);
    return sum;
}
#endif
