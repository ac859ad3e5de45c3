/* The contract of an operator (.vectorize). Without the contract, an operator may write its inputs and read its
 * outputs. With the contract, that is an error while recording, and nothing runs. */
#include "weft/weft.h"
#include <stdio.h>

static void zero(const wf_site *s) /* over any number of operands */
{
    for (int i = 0; i < s->n_in; ++i)
        wf_set(s->in[i], 0);
    for (int i = 0; i < s->n_out; ++i)
        wf_set(s->out[i], 0);
}
static void increment(const wf_site *s) { wf_inc(s->out[0], 1); } /* reads the output */

static int check(wf_context *ctx, const char *what, wf_status got, wf_status want)
{
    printf("%-28s %s  %s\n", what, wf_status_name(got), wf_last_message(ctx));
    wf_clear_error(ctx);
    return got != want;
}

int main(void)
{
    wf_context *ctx = wf_context_new(NULL);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(4, 5), 3);
    int wrong = 0;
    wrong +=
        check(ctx, "writes its input", wf_apply(ctx, WF_ARRAYS(a), WF_NO_ARRAYS, WF_OPERATOR(.call = zero)), WF_OK);
    wrong +=
        check(ctx, "the same under the contract",
              wf_apply(ctx, WF_ARRAYS(a), WF_NO_ARRAYS, WF_OPERATOR(.call = zero, .vectorize = true), .name = "zero"),
              WF_ERR_CONTRACT);
    wrong += check(ctx, "sets its output",
                   wf_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(a), WF_OPERATOR(.call = zero, .vectorize = true)), WF_OK);
    wrong += check(ctx, "reads its output", wf_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(a), WF_OPERATOR(.call = increment)),
                   WF_OK);
    wrong += check(ctx, "the same under the contract",
                   wf_apply(ctx, WF_NO_ARRAYS, WF_ARRAYS(a), WF_OPERATOR(.call = increment, .vectorize = true)),
                   WF_ERR_CONTRACT);
    float x[20];
    wrong += wf_download(a, x, sizeof x) != WF_OK;
    for (int i = 0; i < 20; ++i)
        wrong += x[i] != 1;
    wf_release(a);
    wf_context_free(ctx);
    return wrong != 0;
}
