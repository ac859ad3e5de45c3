/* rule.c - functions that a tape notes as one step, with a rule in place of the launches that they consist of. */
#include "array_internal.h"
#include "weft/derivative.h"

/* The numbers are an array beside the input, since they have to live as long as the tape. */
wf_status wfl_run_noted(const wf_array_rule *rule, wf_array *y, const wf_array *x, const double *number, int n)
{
    wf_context *ctx = wf_array_context(y);
    wf_array *numbers = wf_empty(ctx, WF_F64, WF_SHAPE(n), .device = WF_CPU);
    wf_status status = numbers ? wf_upload(numbers, number, (size_t)n * sizeof *number) : wfl_array_error(ctx);
    if (status == WF_OK)
        status = wf_custom_arrays(ctx, rule, WF_ARRAYS((wf_array *)x, numbers), WF_ARRAYS(y));
    wf_release(numbers);
    return status;
}

wf_status wfl_noted_numbers(wf_arrays in, double *number, int n)
{
    return wf_download(in.at[1], number, (size_t)n * sizeof *number);
}
