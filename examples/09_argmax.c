/* Argmax over the last axis: two reduced variables and a custom join. A traced helper is a plain C function, so call
 * and join share it. Ties go to the first index, whatever the order of merging. */
#include "weft/weft.h"
#include <stdio.h>
#include <string.h>

static void consider(wf_var best, wf_var at, wf_val v, wf_val i) /* at < 0: nothing seen yet */
{
    wf_val better = wf_or(wf_gt(v, best), wf_and(wf_eq(v, best), wf_lt(i, at)));
    wf_val take = wf_and(wf_ge(i, 0), wf_or(wf_lt(at, 0), better));
    wf_set(best, wf_select(take, v, best));
    wf_set(at, wf_select(take, i, at));
}

static wf_status argmax_rows(wf_context *ctx, const wf_array *x, wf_array *value, wf_array *where)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(x), .reduce = WF_AXES(1));
    wf_var best = wf_reduced(g, WF_F32, 0, WF_JOIN_CUSTOM), at = wf_reduced(g, WF_I64, -1, WF_JOIN_CUSTOM);
    consider(best, at, wf_in(g, x), wf_index(g, 1));

    wf_section(g, WF_SECTION_JOIN);
    consider(best, at, wf_get(wf_other(best)), wf_get(wf_other(at)));

    wf_section(g, WF_SECTION_POST);
    wf_out(g, value, best);
    wf_out(g, where, at);
    return wf_run(g);
}

int main(void)
{
    enum { N = 35, W = 5184 };
    static float x[N * W], value[N];
    static int64_t where[N];
    for (int i = 0; i < N * W; ++i)
        x[i] = (float)(i * 7919LL % 10007) / 300;
    for (int r = 0; r < N; ++r)
        x[r * W + 137 * r] = 51; /* planted */
    x[3 * W + 5000] = 51;        /* a tie, further on */

    wf_context *ctx = wf_context_new(NULL);
    wf_array *in = wf_wrap(ctx, x, WF_F32, WF_SHAPE(N, W), NULL, NULL);
    wf_array *v = wf_wrap(ctx, value, WF_F32, WF_SHAPE(N), NULL, NULL),
             *w = wf_wrap(ctx, where, WF_I64, WF_SHAPE(N), NULL, NULL);
    wf_status status = argmax_rows(ctx, in, v, w);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    int wrong = status != WF_OK;
    for (int r = 0; r < N; ++r)
        wrong += value[r] != 51 || where[r] != 137 * r;
    printf("argmax of %d rows: row 3 has %g at %lld; %d wrong\n", N, (double)value[3], (long long)where[3], wrong);
    wf_release(in);
    wf_release(v);
    wf_release(w);
    wf_context_free(ctx);
    return wrong != 0;
}
