/* The caller's memory without copying, and a view of it: Weft computes in place and gives the memory back once. */
#include "weft/weft.h"
#include <stdio.h>
#include <stdlib.h>

enum { H = 64, W = 100 };

static int released;
static void give_back(void *user)
{
    free(user);
    ++released;
}

int main(void)
{
    int wrong = 0;
    float *data = malloc(H * W * sizeof *data);
    if (!data)
        return 1;
    for (int k = 0; k < H * W; ++k)
        data[k] = (float)k;

    wf_context *ctx = wf_context_new(NULL);
    wf_array *a =
        wf_wrap(ctx, data, WF_F32, WF_SHAPE(H, W), give_back, data); /* owned by Weft from here, also on error */
    wf_array *left = wf_view_slice(a, 1, 0, W / 2, 1);               /* shares the memory */
    wf_array *flipped = wf_view_slice(a, 0, -1, WF_END_INDEX, -1);   /* last row first */

    wf_graph *g = wf_begin(ctx);
    wf_out(g, left, wf_mul(wf_in(g, left), 2)); /* in place; the right half stays as it is */
    wf_status status = wf_run(g);

    void *first = NULL;
    int64_t stride[2] = { 0, 0 };
    if (status == WF_OK)
        status = wf_map(flipped, &first, stride);
    if (status == WF_OK) {
        wrong += first != data + (H - 1) * W || stride[0] != -W || stride[1] != 1;
        for (int k = 0; k < H * W; ++k)
            wrong += data[k] != (float)k * (k % W < W / 2 ? 2.f : 1.f);
    } else {
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    }
    wf_release(a);
    wf_release(left);
    wrong += released != 0; /* the other view still uses it */
    wf_release(flipped);
    wrong += released != 1;
    wf_context_free(ctx);
    printf("user memory: %d wrong\n", wrong);
    return !(status == WF_OK && wrong == 0);
}
