/* A first program: memory in, one operator, memory out. docs/guide.md shows it. */
#include <stdio.h>
#include <weft/weft.h>

int main(void)
{
    float in[2][3] = { { 1, 4, 9 }, { 16, 25, 36 } }, out[2][3];
    wf_context *ctx = wf_context_new(NULL);
    wf_array *x = wf_empty(ctx, WF_F32, WF_SHAPE(2, 3));   /* contents undefined */
    wf_array *y = wf_full(ctx, WF_F32, WF_SHAPE(2, 3), 0); /* zeros */
    wf_upload(x, in, sizeof in);

    wf_graph *g = wf_begin(ctx);
    wf_out(g, y, wf_add(wf_in(g, y), wf_sqrt(wf_in(g, x)))); /* y += sqrt(x) */
    wf_run(g);
    wf_download(y, out, sizeof out);

    wf_status status = wf_last_status(ctx); /* the first thing that went wrong, if any did */
    if (status == WF_OK)
        printf("%g %g %g\n%g %g %g\n", out[0][0], out[0][1], out[0][2], out[1][0], out[1][1], out[1][2]);
    else
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    wf_release(x);
    wf_release(y);
    wf_context_free(ctx);
    return status == WF_OK ? 0 : 1;
}
