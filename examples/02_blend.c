/* Three inputs and two outputs in one pass. The inputs are views of one buffer: a view is an array that shares memory,
 * and is released as any array. One check at the end reports every error. */
#include "weft/weft.h"
#include <math.h>
#include <stdio.h>

static wf_status blend(wf_context *ctx, float o0_out[100], float o1_out[100])
{
    wf_array *line = wf_array_arange(ctx, WF_F32, 300, 1, 1);
    wf_array *buffer = wf_view_reshape(line, WF_SHAPE(3, 1, 10, 10));
    wf_array *lhs = wf_view_at(buffer, 0, 0), *mhs = wf_view_at(buffer, 0, 1), *rhs = wf_view_at(buffer, 0, 2);
    wf_array *o0 = wf_empty(ctx, WF_F32, WF_SHAPE(1, 10, 10)), *o1 = wf_like(o0);

    wf_graph *g = wf_begin(ctx);
    wf_val l = wf_in(g, lhs), m = wf_in(g, mhs), r = wf_in(g, rhs);
    wf_out(g, o0, wf_add(l, wf_mul(m, 2)));
    wf_out(g, o1, wf_cos(wf_add(wf_div(m, l), r)));
    wf_status status = wf_run(g);

    if (status == WF_OK)
        status = wf_download(o0, o0_out, 100 * sizeof(float));
    if (status == WF_OK)
        status = wf_download(o1, o1_out, 100 * sizeof(float));
    wf_array *all[] = { line, buffer, lhs, mhs, rhs, o0, o1 };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
    return status;
}

int main(void)
{
    float o0[100], o1[100];
    wf_context *ctx = wf_context_new(NULL);
    wf_status status = blend(ctx, o0, o1);
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    int wrong = status != WF_OK;
    for (int i = 0; i < 100 && status == WF_OK; ++i) {
        float l = 1.f + (float)i, m = l + 100, r = l + 200;
        wrong += o0[i] != l + 2 * m || fabsf(o1[i] - cosf(m / l + r)) > 1e-6f;
    }
    printf("blend: %d wrong of 200\n", wrong);
    wf_context_free(ctx);
    return wrong != 0;
}
