/* logaddexp.c - the logarithm of a sum of exponentials. */
#include "weft/traced.h"

/* Equal operands, infinite ones too, have the difference 0; so the derivative by each of them is one half. */
wf_val(wf_logaddexp)(wf_val a, wf_val b)
{
    const wf_dtype t = wf_val_dtype(wf_add(a, b));
    const bool half = t == WF_F16 || t == WF_BF16;
    if (half) {
        a = wf_cast(a, WF_F32);
        b = wf_cast(b, WF_F32);
    }
    wf_val apart = wf_select(wf_eq(a, b), 0, wf_sub(a, b)), less = wf_neg(wf_abs(apart));
    wf_val r = wf_add(wf_max(a, b), wf_log1p(wf_exp(less)));
    return half ? wf_cast(r, t) : r;
}
