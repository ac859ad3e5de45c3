/* text_numbers.h - results of operator texts beside the numbers that they should have. */
#ifndef WEFT_TEXT_NUMBERS_H
#define WEFT_TEXT_NUMBERS_H
#include "on_devices.h"

/* Fails unless result `name` of a text has n elements, each of which differs from the number in its place by at most
 * tolerance * (1 + |number|). */
static inline void expect_result(const char *text, wf_args args, const char *name, const double *want, int64_t n,
                                 double tolerance)
{
    wf_array *out = NULL;
    wf_clear_error(ctx);
    if (wf_text_create(ctx, text, args, 0, &name, 1, &out) != WF_OK)
        fail_msg("%s: %s", text, wf_last_message(ctx));
    if (wf_array_count(out) != n)
        fail_msg("%s: %d elements, not %d", text, (int)wf_array_count(out), (int)n);
    double *got = contents_as(out, WF_F64);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i]))))
            fail_msg("%s: element %d is %.9g, not %.9g", text, (int)i, got[i], want[i]);
    free(got);
    wf_release(out);
}
#endif
