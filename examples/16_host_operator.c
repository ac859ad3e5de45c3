/* Code that cannot be traced still runs over arrays: it gets runs of elements, not elements, from several threads. */
#include "weft/weft.h"
#include <math.h>
#include <stdio.h>

static void legacy(const wf_chunk *c, void *user)
{
    const double *x = c->in[0];
    double *y = c->out[0], scale = *(const double *)user;
    for (int64_t i = 0; i < c->n; ++i)
        y[i] = scale * cbrt(x[i]);
}

int main(void)
{
    enum { N = 100000 };
    double scale = 2;
    wf_context *ctx = wf_context_new(NULL);
    wf_array *x = wf_array_arange(ctx, WF_F64, N, 0, 0.5), *y = wf_like(x);
    wf_array *back = wf_view_slice(y, 0, -1, WF_END_INDEX, -1); /* any strides */
    wf_status status = wf_host_apply(ctx, WF_ARRAYS(x), WF_ARRAYS(back), legacy, &scale);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    double *at = NULL;
    int wrong = status != WF_OK || wf_map(y, (void **)&at, NULL) != WF_OK;
    for (int i = 0; !wrong && i < N; ++i)
        wrong = at[N - 1 - i] != scale * cbrt(0.5 * i);
    printf("a host operator over %d elements: %s\n", N, wrong ? "wrong" : "right");
    wf_release(back);
    wf_release(x);
    wf_release(y);
    wf_context_free(ctx);
    return wrong;
}
