/* Triad, two forms: (1) recorded in place, (2) operator text. Both compile to the same kernel. */
#include "weft/weft.h"
#include <stdio.h>

static wf_status triad_recorded(wf_context *ctx, wf_array *a, wf_array *b, wf_array *c, wf_array *out)
{
    wf_graph *g = wf_begin(ctx);
    wf_out(g, out, wf_add(wf_mul(wf_in(g, a), wf_in(g, b)), wf_in(g, c)));
    return wf_run(g);
}

static wf_status triad_text(wf_context *ctx, wf_array *a, wf_array *b, wf_array *c, wf_array *out)
{
    return wf_text(ctx, "out = a*b + c", out, a, b, c);
}

int main(void)
{
    enum { N = 1000 };
    static float want[N], got[N];
    for (int i = 0; i < N; ++i)
        want[i] = (float)i * 0.5f + (float)(N - i); /* exact in f32 */

    wf_context *ctx = wf_context_new(NULL);
    wf_array *a = wf_array_arange(ctx, WF_F32, N, 0, 1), *b = wf_full(ctx, WF_F32, WF_SHAPE(N), 0.5);
    wf_array *c = wf_array_arange(ctx, WF_F32, N, N, -1), *out = wf_like(a);
    int wrong = 0;
    for (int form = 0; form < 2; ++form) {
        wf_status status = (form ? triad_text : triad_recorded)(ctx, a, b, c, out);
        if (status == WF_OK)
            status = wf_download(out, got, sizeof got);
        if (status != WF_OK)
            fprintf(stderr, "%s\n", wf_last_message(ctx));
        for (int i = 0; i < N; ++i)
            wrong += status != WF_OK || got[i] != want[i];
    }
    printf("triad: %d wrong of %d\n", wrong, 2 * N);

    wf_array *all[] = { a, b, c, out };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
    wf_context_free(ctx);
    return wrong != 0;
}
