/* accumulate.h - modes, numbers whose sums are exact, and conversions, for the tests of accumulation and of atomic
 * operations. */
#ifndef WEFT_ACCUMULATE_H
#define WEFT_ACCUMULATE_H
#include "on_devices.h"

static const wf_mode modes[] = { WF_MODE_AUTO, WF_MODE_DIRECT, WF_MODE_LOCAL, WF_MODE_EXPAND };

static inline bool is_float(wf_dtype t) { return t >= WF_F16 && t <= WF_F64; }

static inline bool joinable(wf_join join, wf_dtype t)
{
    return t == WF_BOOL ? join >= WF_JOIN_AND : is_float(t) ? join <= WF_JOIN_MAX : true;
}

/* Small whole numbers, so that sums are exact in every dtype and order; factors of floats are 1 and -1. */
static inline int64_t number(wf_join join, wf_dtype t, uint64_t random)
{
    if (!is_float(t))
        return (int64_t)random;
    if (join == WF_JOIN_MUL)
        return random % 2 ? 1 : -1;
    return join == WF_JOIN_ADD ? (int64_t)(random % 3) - 1 : (int64_t)(random % 100) - 50;
}

static inline wf_array *as(wf_array *a, wf_dtype t) /* converted */
{
    wf_graph *g = wf_begin(ctx);
    wf_array *r = wf_keep(wf_cast(wf_in(g, a), t));
    OK(ctx, wf_run(g));
    return r;
}

static inline wf_array *converted(wf_array *a, wf_dtype t) /* takes a */
{
    wf_array *r = as(a, t);
    wf_release(a);
    return r;
}
#endif
