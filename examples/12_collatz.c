/* Collatz lengths of 1..n: a condition in a loop, over an index space. */
#include "weft/weft.h"
#include <stdio.h>

static wf_status collatz(wf_context *ctx, wf_array *steps_out)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(steps_out));
    wf_var x = wf_local(g, WF_I64, wf_add(wf_index(g, 0), 1)), steps = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_gt(x, 1)) {
        WF_IF (g, wf_eq(wf_and(x, 1), 0)) {
            wf_set(x, wf_shr(x, 1));
        }
        WF_ELSE(g) { wf_set(x, wf_add(wf_mul(x, 3), 1)); }
        WF_END(g);
        wf_inc(steps, 1);
    }
    WF_END(g);
    wf_out(g, steps_out, steps);
    return wf_run(g);
}

int main(void)
{
    enum { N = 10000 };
    static int32_t steps[N];
    int64_t sum = 0;
    wf_context *ctx = wf_context_new(NULL);
    wf_array *out = wf_wrap(ctx, steps, WF_I32, WF_SHAPE(N), NULL, NULL);
    wf_status status = collatz(ctx, out);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    for (int i = 0; i < N; ++i)
        sum += steps[i];
    printf("27 takes %d steps; 1 to %d take %lld\n", (int)steps[26], (int)N, (long long)sum);
    wf_release(out);
    wf_context_free(ctx);
    return !(status == WF_OK && steps[26] == 111 && sum == 849666);
}
